"""Records to files in the order in which they are read: all of them, some, or divided into parts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import accumulate
from typing import Unpack

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.rearrange import transfer
from tfrecord_lite.apps.rearrange.transfer import Input, Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import BoolArray, Uint64Array
from tfrecord_lite.block import Block
from tfrecord_lite.errors import FailedPreconditionError, Reason, argument_error, require_int
from tfrecord_lite.extension import Source, Sources
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.texts import plural

_N_WORDS = 2**20
"""How many keys are made at a time, at least."""
_NEARLY_1 = 1e-6
"""How far the sum of fractions may be from 1: three times 0.333333 is meant as thirds."""


def merge_files(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records of many files to one, or to fewer.

    Parameters
    ----------
    sources : str, PathLike, file object, a list of them, or TFRecordReader
        The files, patterns included, one after the other. A reader says how to read them: their
        compression, limits, and what to do about damage.
    target : str, PathLike or binary file object
        The new file, a path or URL. Or its shards: ``"train@8.tfrecord"``, or with an option for them
        a name with ``{shard}``, or a plain name, in which the number goes before
        the ending: ``"train-00000-of-00008.tfrecord"``. All appear when all are complete.
    progress : bool or callable, optional
        As for :func:`load`; the unit is bytes of the sources. If they are read twice, each time half
        counts: dividing records evenly counts them first.
    **options
        How records are divided and files written, see
        :class:`~tfrecord_lite.apps.rearrange.TargetOptions`; `storage_options` are for the sources
        too, unless they are a reader.

    Returns
    -------
    Rearranged
        The files, and how much is in them.

    Raises
    ------
    DataLossError
        If a source is damaged, unless the reader skips that.
    FileExistsError
        If a file of the target exists, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the target is one of the sources, more than one argument says how to
        divide it, the name does not go with it, or a sidecar is not of the data beside it.
    OSError
        If a file cannot be read or written. After any error, no new file has appeared.

    Warns
    -----
    UserWarning
        If the schemas beside the sources do not go together: the new files get none.

    Notes
    -----
    Records keep the checksums that they were read with: these are verified, and never made anew, so what
    was damaged on its way cannot look intact.

    If there are sidecars beside the sources, there is one beside each new file, so that
    :func:`~tfrecord_lite.load` loads the same types. Row numbers that were the index of a data
    frame are counted anew from 0.

    Examples
    --------
    >>> for name in ("ada.tfrecord", "alan.tfrecord.gz"):
    ...     with TFRecordWriter(name) as writer:
    ...         writer.write(name.partition(".")[0])
    >>> merged = merge_files(["ada.*", "alan.*"], "names.tfrecord")
    >>> merged.num_records, list(TFRecordReader("names.tfrecord"))
    (2, [b'ada', b'alan'])
    """
    outputs = Outputs(target, options)
    return _copy(outputs.read(sources, progress), outputs)


def split_files(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Divide the records of a file, or of several, among shards.

    Takes, returns and raises the same as :func:`merge_files`; InvalidArgumentError (``BAD_ARGUMENT``) too
    if nothing says how to divide the records.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> parts = split_files("names.tfrecord", "part.tfrecord", num_shards=2)
    >>> [list(TFRecordReader(path)) for path in parts.paths]
    [[b'Ada'], [b'Alan', b'Grace']]
    """
    outputs = Outputs(target, options)
    if not outputs.is_divided:
        detail = "nothing says how to divide the records; give num_shards, bytes_per_shard or "
        raise argument_error(f"{detail}records_per_shard, or a name such as 'train@8.tfrecord'")
    return _copy(outputs.read(sources, progress), outputs)


def _copy(read: Input, outputs: Outputs) -> Rearranged:
    is_counted = outputs.is_even and read.is_rereadable
    with read.metered(1 + is_counted) as meter, outputs:
        if is_counted:
            outputs.n_records = read.count()
        for block in read.blocks():
            outputs.put(block)
        meter.finish()
        return outputs.result()


def filter_records(
    sources: Sources | TFRecordReader,
    target: Source,
    keep: Callable[[Block], BoolArray],
    *,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records that a function picks.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`.
    keep : callable
        Called with each Block of records; returns which to keep, as bool, shape (n_records,).

    Returns
    -------
    Rearranged
        The files, how many records were read, and how many of them were kept.

    Raises
    ------
    TypeError
        If `keep` is not callable, or returns anything but bools.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `keep` returns another number of them.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> parse = ExampleParser({"age": int})
    >>> kept = filter_records(
    ...     "people.tfrecord", "older.tfrecord", lambda block: parse(block)["age"] > 36
    ... )
    >>> kept.num_records, kept.num_read
    (2, 3)
    """
    if not callable(keep):
        raise TypeError(f"keep must be a function of a Block, not {type(keep).__name__}")
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    with read.metered() as meter, outputs:
        for block in read.blocks():
            mask = np.asarray(keep(block))
            if mask.dtype != np.bool_:
                detail = f"keep must return an array of bool, one per record, not {mask.dtype}"
                raise TypeError(detail)
            if mask.shape != (len(block),):
                shape = f"keep returned the shape {mask.shape}"
                raise argument_error(f"{shape} for {plural(len(block), 'record')}")
            outputs.put(block if mask.all() else block[mask])
        meter.finish()
        return outputs.result(read.num_read)


# ------------------------------------------------------------------------------- a sample


def sample_records(
    sources: Sources | TFRecordReader,
    target: Source,
    n: int | None = None,
    *,
    fraction: float | None = None,
    seed: int | None = None,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write some records, chosen at random without replacement, in the order in which they are read.

    Every set of `n` records is equally likely. The files are read twice.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`.
    n : int, optional
        How many records; all if there are fewer.
    fraction : float, optional
        Instead of `n`: this part of the records, from 0 to 1; the number is rounded to the nearest
        integer, halves to the even one.
    seed : int, optional
        The same records of the same files are drawn for the same seed, on every machine. None
        draws a seed, which the result has.

    Returns
    -------
    Rearranged
        The files, how many records were read and drawn, and the seed.

    Raises
    ------
    TypeError
        If an argument is not a number.
    FailedPreconditionError
        ``NOT_SEEKABLE`` for what can be read only once, such as a pipe.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too unless exactly one of `n` and `fraction` is given,
        in its range.

    Examples
    --------
    >>> with TFRecordWriter("all.tfrecord") as writer:
    ...     for number in range(100):
    ...         writer.write(b"%d" % number)
    >>> drawn = sample_records("all.tfrecord", "few.tfrecord", 3, seed=1)
    >>> list(TFRecordReader("few.tfrecord"))
    [b'0', b'28', b'87']
    """
    seed = ext.seed_of(seed)
    share = _check(n, fraction)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    if not read.is_rereadable:
        detail = "the records are read twice, first to count them; save them to a file first"
        source = ext.name_of(read.sources[0])
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=source, detail=detail)
    with read.metered(2) as meter, outputs:
        total = read.count()
        n_left = outputs.n_records = min(n or 0, total) if share is None else round(share * total)
        # Record number i has the key i, a word of 64 random bits; those with the smallest keys are drawn.
        most = threshold((seed, 1), n_left, total)
        for block in read.blocks():
            keys = ext.order_words((seed, 1), read.num_read, len(block))
            # More only if two keys are equal.
            chosen = np.flatnonzero(keys <= most)[:n_left]
            n_left -= chosen.size
            outputs.put(block[chosen])
        meter.finish()
        return outputs.result(read.num_read, seed)


def _check(n: int | None, fraction: float | None) -> Fraction | None:
    """Check how many records are asked for; return a fraction as an exact one."""
    if (n is None) == (fraction is None):
        raise argument_error("give either n or fraction")
    if fraction is None:
        require_int("n", n, 0)
        return None
    if not hasattr(fraction, "__float__"):
        raise TypeError(f"fraction must be a number, not {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise argument_error(f"fraction is {fraction}, expected 0 to 1")
    # As it is written: 0.1 is a tenth, not the binary fraction next to it.
    return Fraction(str(float(fraction)))


def threshold(key: ext.OrderKey, n: int, total: int) -> int:
    """Return the `n`-th smallest of `total` keys, in the memory of `n` of them; 0 if `n` is 0."""
    if n == 0:
        return 0
    smallest = np.empty(0, np.uint64)
    n_words = max(_N_WORDS, n)  # so that each key is compared a few times only
    for first in range(0, total, n_words):
        smallest = np.concatenate(
            [smallest, ext.order_words(key, first, min(n_words, total - first))]
        )
        if smallest.size > n:
            smallest = np.partition(smallest, n - 1)[:n]
    return int(smallest.max())


# ---------------------------------------------------------------------------------- parts


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
    sources, progress
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
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too for other fractions, if two parts have the same name, or
        if no record has a value of `by`. After any error, no new file has appeared.

    Warns
    -----
    UserWarning
        If a part has no records, as there are too few groups; it is written all the same.

    Notes
    -----
    Fractions are met on average: of n records, a part with fraction p has about n p, give or take the square root of
    n p (1 - p). With `by` it is the different values that are divided so, and values with many records weigh more.

    The hash is BLAKE2b of 16 bytes, its key the seed in decimal digits. The first 8 bytes, as a big-endian integer
    over 2**64, are a place from 0 to 1, which the sums of the fractions divide among the parts. It will stay so in
    later versions. For a feature it is taken of one letter for the kind (b, i or f), the number of values and the
    values; numbers and lengths as little-endian int64, floats as float32 (-0.0 as 0.0), and each byte string after
    its length; of the letter n alone without a value. So the int64 1 and the float 1.0 differ, while ``"a"`` and
    ``b"a"`` are equal. How an encoder wrote the message matters for whole records only.

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
    digests = ext.Digests(by, seed)
    parts = [Outputs(target, options) for target in targets]
    _check_different(parts)
    read = parts[0].read(sources, progress, *parts[1:])
    with read.metered() as meter, ExitStack() as stack:
        for part in parts:
            stack.enter_context(part)
        for block in read.blocks():
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
    ends = accumulate(Fraction(str(value)) for value in values[:-1])  # as they are written
    return np.array([min(int(end * 2**64), 2**64 - 1) for end in ends], np.uint64)


def _check_different(parts: Sequence[Outputs]) -> None:
    places: set[str] = set()
    for part in parts:
        names = {ext.name_of(name) for name in part.names if not ext.is_file_object(name)}
        for name in sorted(names):
            if transfer.place_of(name) in places:
                raise argument_error("two parts have this name; give each its own", source=name)
        places |= set(map(transfer.place_of, names))
