"""sample_records: some records, drawn without replacement.

Record number i has the key i, a word of 64 random bits; the sample is the records with the smallest
keys. The records are read twice: the first reading counts them, which gives the largest of these
keys (:func:`threshold`), and the second picks the records.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from fractions import Fraction
from typing import Unpack

import numpy as np

from tfrecord_lite.apps.rearrange.transfer import Input, Outputs, Rearranged, TargetOptions
from tfrecord_lite.block import Block
from tfrecord_lite.errors import FailedPreconditionError, Reason, argument_error, require_int
from tfrecord_lite.extension import OrderKey, Source, Sources, name_of, order_words, seed_of
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader

_N_WORDS = 2**20
"""How many keys are made at a time, at least."""


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

    Parameters
    ----------
    sources, target : optional
        As for :func:`merge_files`.
    n : int, optional
        How many records; all if there are fewer.
    fraction : float, optional
        Instead of `n`: this part of the records, from 0 to 1; the number is rounded to the nearest
        integer, halves to the even one.
    seed : int, optional
        The same records of the same files are drawn for the same seed, on every machine. None
        draws a seed, which the result has.
    progress : bool or callable, optional
        As for :func:`merge_files`. Files are read twice, and each time half of their bytes counts.
    **options
        As for :func:`merge_files`.

    Returns
    -------
    Rearranged
        The files, how many records were read and drawn, and the seed.

    Raises
    ------
    TypeError
        If an argument is not a number.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too unless exactly one of `n` and `fraction` is given, in its range.
    FailedPreconditionError
        ``NOT_SEEKABLE`` for what can be read only once, such as a pipe.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Notes
    -----
    Every set of `n` records is equally likely.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import sample_records
    >>> with TFRecordWriter("all.tfrecord") as writer:
    ...     for number in range(100):
    ...         writer.write(b"%d" % number)
    >>> drawn = sample_records("all.tfrecord", "few.tfrecord", 3, seed=1)
    >>> list(TFRecordReader("few.tfrecord"))
    [b'0', b'28', b'87']
    """
    seed = seed_of(seed)
    share = _check(n, fraction)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    if not read.is_rereadable:
        detail = "the records are read twice, first to count them; save them to a file first"
        source = name_of(read.sources[0])
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=source, detail=detail)
    with read.metered(2) as meter, outputs:
        total = read.count()
        n_drawn = min(n or 0, total) if share is None else round(share * total)
        outputs.n_records = n_drawn
        with closing(_picked(read, (seed, 1), n_drawn, total)) as drawn:
            for block in drawn:
                outputs.put(block)
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


def _picked(read: Input, key: OrderKey, n: int, total: int) -> Generator[Block, None, None]:
    """Read the records again, and yield those that are drawn."""
    most, n_left = threshold(key, n, total), n
    with closing(read.blocks()) as blocks:
        for block in blocks:
            keys = order_words(key, read.num_read, len(block))
            # More only if two keys are equal.
            chosen = np.flatnonzero(keys <= most)[:n_left]
            n_left -= chosen.size
            yield block[chosen]


def threshold(key: OrderKey, n: int, total: int) -> int:
    """Return the `n`-th smallest of `total` keys, in the memory of `n` of them; 0 if `n` is 0."""
    if n == 0:
        return 0
    smallest = np.empty(0, np.uint64)
    n_words = max(_N_WORDS, n)  # so that each key is compared a few times only
    for first in range(0, total, n_words):
        smallest = np.concatenate([smallest, order_words(key, first, min(n_words, total - first))])
        if smallest.size > n:
            smallest = np.partition(smallest, n - 1)[:n]
    return int(smallest.max())
