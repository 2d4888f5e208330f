"""split_records: parts such as train, validation and test, which do not change when data are added.

A record's digest, see :mod:`tfrecord_lite.example.digests`, is a place between 0 and 1; the places
from 0 to the first fraction are the first part, those up to the sum of two the second, and so on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, closing
from fractions import Fraction
from itertools import accumulate
from typing import Unpack

import numpy as np

from tfrecord_lite.apps.rearrange.transfer import Outputs, Rearranged, TargetOptions, place_of
from tfrecord_lite.arrays import Uint64Array
from tfrecord_lite.errors import argument_error
from tfrecord_lite.extension import Digests, Source, Sources, is_file_object, name_of
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.texts import plural

_NEARLY_1 = 1e-6
"""How far the sum of fractions may be from 1: three times 0.333333 is meant as thirds."""


def split_records(
    sources: Sources | TFRecordReader,
    targets: Sequence[Source],
    fractions: Sequence[float],
    *,
    by: str | Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> tuple[Rearranged, ...]:
    """Divide records into parts of about these fractions, such as train, validation and test.

    A hash of each record, or of the values of a feature, decides where it goes. So a record is in the same part
    whatever other records there are, in whichever order and files: when data are added, nothing changes its part.

    Parameters
    ----------
    sources : optional
        As for :func:`merge_files`.
    targets : sequence of str, PathLike or binary file object
        One for each part, as for :func:`merge_files`; they may be shards, such as ``"train@8.tfrecord"``.
    fractions : sequence of float
        The fraction of records for each part; above 0, with the sum 1.
    by : str or sequence of str, optional
        Go by the values of this feature, or of several, instead of the whole record: records with equal values are in
        the same part, for example all pictures of one patient; so are all without a value. Of SequenceExamples, a
        feature of the context.
    seed : int, default 0
        Another one divides in another way.
    progress : bool or callable, optional
        As for :func:`merge_files`.
    **options
        As for :func:`merge_files`, for each of the parts.

    Returns
    -------
    tuple of Rearranged
        For each part, the files, and how many records were written and read.

    Raises
    ------
    TypeError
        If an argument is not of these types.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too for other fractions, if two parts have the same name, or if no record has a value of `by`.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`. After any error, no new file has appeared.

    Notes
    -----
    Fractions are met on average: of n records, a part with fraction p has about n p, give or take the square root of
    n p (1 - p). With `by` it is the different values that are divided so, and values with many records weigh more.

    The hash is BLAKE2b of 16 bytes, its key the seed in decimal digits. The first 8 bytes, as a big-endian integer
    over 2**64, are a place from 0 to 1. It will stay so in later versions. For a feature it is taken of one letter for the kind
    (b, i or f), the number of values and the values; numbers and lengths as little-endian int64, floats
    as float32 (-0.0 as 0.0), and each byte string after its length; of the letter n alone without a value. So the int64 1 and the float 1.0 differ, while ``"a"`` and
    ``b"a"`` are stored alike, and are equal. How an encoder wrote the message does not matter for features, but for whole records.

    A part without records, as there are too few groups, is written, and a warning (UserWarning) says so.

    Examples
    --------
    >>> patients = ["Ada", "Alan", "Grace", "Ada"]
    >>> _ = save("visits.tfrecord", {"patient": patients, "year": [1, 2, 3, 4]})
    >>> targets = ["train.tfrecord", "test.tfrecord"]
    >>> train, test = split_records("visits.tfrecord", targets, [0.7, 0.3], by="patient", seed=4)
    >>> load("train.tfrecord")["patient"], load("test.tfrecord")["patient"]
    (array(['Alan'], dtype=object), array(['Ada', 'Grace', 'Ada'], dtype=object))
    >>> import hashlib
    >>> value = b"b" + (1).to_bytes(8, "little") + (4).to_bytes(8, "little") + b"Alan"
    >>> digest = hashlib.blake2b(value, digest_size=16, key=b"4").digest()
    >>> int.from_bytes(digest[:8], "big") / 2**64 < 0.7
    True
    """
    if isinstance(targets, str | bytes) or not isinstance(targets, Sequence):
        raise TypeError("targets must be a sequence, with one for each of the parts")
    limits = _limits_of(fractions)
    if len(targets) != limits.size + 1:
        n_fractions = plural(limits.size + 1, "fraction")
        raise argument_error(f"there are {plural(len(targets), 'target')} for {n_fractions}")
    digests = Digests(by, seed)
    parts = [Outputs(target, options) for target in targets]
    _check_different(parts)
    read = parts[0].read(sources, progress, *parts[1:])
    with ExitStack() as stack:
        meter = stack.enter_context(read.metered())
        for part in parts:
            stack.enter_context(part)
        with closing(read.blocks()) as blocks:
            for block in blocks:
                of_records = np.searchsorted(limits, digests(block)[:, 0], side="right")
                for number, part in enumerate(parts):
                    part.put(block[of_records == number])
        digests.check()
        for part in parts:
            part.prepare()
        _check_different(parts)
        meter.finish()
        try:
            for part in parts:
                part.commit()
        except BaseException:
            for part in parts:
                part.take_back()
            raise
        done = tuple(part.placed(read.num_read) for part in parts)
    for one in done:
        if by is not None and read.num_read and not one.num_records:
            groups = f"groups of {by if isinstance(by, str) else ', '.join(by)!r}"
            warnings.warn(f"part {one.paths[0]} is empty: too few {groups}", stacklevel=2)
    return done


def _limits_of(fractions: Sequence[float]) -> Uint64Array:
    """Return the first words of digests that are in the next part; uint64, one fewer than there are parts."""
    listed = list(fractions)
    for fraction in listed:
        if isinstance(fraction, str) or not hasattr(fraction, "__float__"):
            raise TypeError(f"a fraction must be a number, not {type(fraction).__name__}")
    values = list(map(float, listed))
    is_whole = math.isclose(sum(values), 1, abs_tol=_NEARLY_1)
    if not is_whole or not all(0 < value <= 1 for value in values):
        text = ", ".join(map(str, values)) or "none"
        detail = "expected numbers above 0 whose sum is 1, such as 0.8, 0.1, 0.1"
        raise argument_error(f"fractions are {text}; {detail}")
    # As they are written: 0.1 is a tenth, not the binary fraction next to it.
    ends = accumulate(Fraction(str(value)) for value in values[:-1])
    return np.array([min(int(end * 2**64), 2**64 - 1) for end in ends], np.uint64)


def _check_different(parts: Sequence[Outputs]) -> None:
    """Raise if two parts have a file of the same name."""
    places: set[str] = set()
    for part in parts:
        names = {name_of(name) for name in part.names if not is_file_object(name)}
        for name in sorted(names):
            if place_of(name) in places:
                raise argument_error("two parts have this name; give each its own", source=name)
        places |= set(map(place_of, names))
