"""unique_records: the first of equal records, in a bounded amount of memory.

::

    pass 1   blocks ──> digests ──full──> sorted, the first of equal ones: a run in a temporary file
    pass 2   of every run the digests in one range ──> sorted ──> which records are the first
    pass 3   blocks ──> the first ones ──> target

A record is 24 bytes in a run: its digest, and its number.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import IO, Unpack

import numpy as np

from tfrecord_lite.apps.rearrange.shuffling import LEAST_MEMORY_BYTES, MEMORY_BYTES
from tfrecord_lite.apps.rearrange.transfer import Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import BoolArray, Int64Array, Uint64Array
from tfrecord_lite.errors import require_int
from tfrecord_lite.extension import Digests, Source, Sources, Spool, folder_of
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader

_ROW_BYTES = 24
_MEMORY_PER_ROW = 96
"""Memory for a row while rows are sorted."""
_RANGE_BITS = 12


def unique_records(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    by: str | Sequence[str] | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write each record once: the first of those that are equal, in the order in which they are read.

    Parameters
    ----------
    sources, target : optional
        As for :func:`merge_files`. Duplicates are looked for in all sources together.
    by : str or sequence of str, optional
        Records are equal if they have the same values of this feature, or of several; by default, if all their bytes
        are equal. Records without a value are equal in it. Of SequenceExamples, a feature of the context.
    memory_bytes : int, optional
        How much memory to use for digests: about 100 bytes for each record. If they do not fit, they are sorted through a temporary file, with
        24 bytes for each record, in the folder of the target (for URLs and file objects, in the folder of Python's ``tempfile``).
    progress : bool or callable, optional
        As for :func:`merge_files`. Files are read twice, and each time half of their bytes counts.
    **options
        As for :func:`merge_files`.

    Returns
    -------
    Rearranged
        The files, and how many records were read and written: `num_read` minus `num_records` were left out.

    Raises
    ------
    TypeError
        If an argument is not of these types.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte, or if no record has a value of `by`.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Notes
    -----
    Digests of 128 bits are compared, as :func:`split_records` uses them with the seed 0, so the int64 1 and the float 1.0 differ. Two different records would be taken for equal with a
    probability of about n**2 / 2**129. Records are read a second time; what can be read only once, such as a pipe,
    waits in a temporary file.

    Besides `memory_bytes`, one byte for each record is in a temporary file that is mapped into memory, if the digests did not fit.

    Examples
    --------
    >>> _ = save("all.tfrecord", {"name": ["Ada", "Alan", "Ada"], "age": [36, 41, 37]})
    >>> kept = unique_records("all.tfrecord", "people.tfrecord", by="name")
    >>> kept.num_read - kept.num_records, load("people.tfrecord")["age"]
    (1, array([36, 41]))
    """
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    digests = Digests(by)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    with ExitStack() as stack:
        meter = stack.enter_context(read.metered(2))
        stack.enter_context(outputs)
        most = memory_bytes // _MEMORY_PER_ROW
        first_ones = stack.enter_context(closing(_FirstOnes(most, folder_of(target))))
        spool = None if read.is_rereadable else stack.enter_context(closing(Spool(target)))
        with closing(read.blocks()) as blocks:
            for block in blocks:
                first_ones.add(digests(block))
                if spool is not None:
                    spool.put(block)
        digests.check()
        mask, num_read = first_ones.mask(), read.num_read
        outputs.n_records = int(np.count_nonzero(mask))
        number = 0
        with closing(read.blocks_again() if spool is None else spool.blocks()) as blocks:
            for block in blocks:
                outputs.put(block[np.array(mask[number : number + len(block)])])
                number += len(block)
        meter.finish()
        return outputs.result(num_read)


class _FirstOnes:
    """Which of many digests are the first of equal ones; `most` are held in memory at a time."""

    def __init__(self, most: int, folder: str | None) -> None:
        self._most, self._folder = most, folder
        self._held: list[Uint64Array] = []  # rows: two words of the digest, and its number
        self._n_held = self._n = 0
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, Int64Array]] = []
        """Where each run begins in the file, and the first of its rows in each range of digests."""

    def add(self, digests: Uint64Array) -> None:
        """Add the digests of a block."""
        numbers = np.arange(self._n, self._n + len(digests), dtype=np.uint64)
        self._held.append(np.column_stack([digests, numbers]))
        self._n += len(digests)
        self._n_held += len(digests)
        if self._n_held > self._most:
            rows = _first_of_equal(self._held)
            self._held, self._n_held = [rows], len(rows)
            if len(rows) > self._most // 2:
                self._write_run(rows)

    def _write_run(self, rows: Uint64Array) -> None:
        """Write rows that are sorted to the temporary file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed in close
        start = self._file.seek(0, 2)
        self._file.write(rows.tobytes())
        limits = np.arange(1, 2**_RANGE_BITS, dtype=np.uint64) << np.uint64(64 - _RANGE_BITS)
        firsts = np.concatenate(([0], np.searchsorted(rows[:, 0], limits), [len(rows)]))
        self._runs.append((start, firsts))
        self._held, self._n_held = [], 0

    def mask(self) -> BoolArray:
        """Return which digests are the first, shape (n,); after all were added."""
        rows = _first_of_equal(self._held)
        if self._file is None:
            mask = np.zeros(self._n, np.bool_)
            mask[rows[:, 2]] = True
            return mask
        self._write_run(rows)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            mask = np.memmap(file, np.bool_, "w+", shape=(self._n,))
        ends = np.cumsum(sum(np.diff(firsts) for _, firsts in self._runs))
        low = done = 0
        while low < ends.size:
            high = max(int(np.searchsorted(ends, done + self._most, side="right")), low + 1)
            parts = [_rows(self._file, at, firsts[low], firsts[high]) for at, firsts in self._runs]
            mask[_first_of_equal(parts)[:, 2]] = True
            low, done = high, int(ends[high - 1])
        return mask

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()


def _rows(file: IO[bytes], start: int, first: int, last: int) -> Uint64Array:
    """Read some rows of the run that starts there."""
    file.seek(start + int(first) * _ROW_BYTES)
    return np.frombuffer(file.read(int(last - first) * _ROW_BYTES), np.uint64).reshape(-1, 3)


def _first_of_equal(parts: list[Uint64Array]) -> Uint64Array:
    """Sort rows by their digests; return the first of those with equal ones."""
    rows = np.concatenate([np.empty((0, 3), np.uint64), *parts])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]  # stable: equal ones stay in their order
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[is_first]
