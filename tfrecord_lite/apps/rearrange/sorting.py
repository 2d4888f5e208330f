"""shuffle_records and unique_records: records, or their digests, sorted in a bounded amount of memory.

::

    pass 1   blocks ──> memory ──full──> sorted by key, to a temporary file: a sorted run
                          └─ if it is never full, there is no second pass
    pass 2   of every run what has keys in one range ──> memory ──> sorted by key

Beside each run is a table of where each range of all possible keys begins; so what the second pass reads of
a run is one piece, as large as the memory allows. The file has no name (on Windows: is removed when it is
closed), so that nothing is left of it, however the process ends.

Record number i of a shuffle has the key i, a word of 64 random bits, so the order depends on nothing but the
seed and the number of records. A run is the keys, the lengths and the frames of its records, with the
checksums that they were read with. Of unique records, a run has the digests, 24 bytes with the number of
the record, and a last pass reads the records again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import IO, Any, TypeAlias, Unpack

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.rearrange.transfer import Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array, Uint64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES, Block
from tfrecord_lite.errors import DataLossError, Reason, require_int
from tfrecord_lite.extension import Source, Sources
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader

MEMORY_BYTES = 1024**3
LEAST_MEMORY_BYTES = 1024**2

_RECORD_BYTES = 32
"""Memory for a record besides its frame: key, length, offset and number, as for two while sorting."""
_PIECE_BYTES = 1024 * 1024
"""How much is copied at a time."""
_MEMORY_PER_ROW = 96
"""Memory for the row of a digest while rows are sorted."""


class _Runs:
    """Sorted runs in a temporary file, and what is held in memory until it is one."""

    range_bits: int
    """The highest bits of a key, by which its range is known."""

    def __init__(self, most: int, folder: str | None) -> None:
        self._most, self._folder = most, folder
        self._held: list[Any] = []
        self._n_held = 0
        self._runs: list[Any] = []
        self._file: IO[bytes] | None = None

    def _begin_run(self, keys: Uint64Array) -> tuple[IO[bytes], int, Int64Array]:
        """Return the file, where a run begins in it, and the number of the first key of each range, and of all."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed in close
        self._held, self._n_held = [], 0
        limits = np.arange(1, 2**self.range_bits, dtype=np.uint64)
        firsts = np.searchsorted(keys, limits << np.uint64(64 - self.range_bits))
        return self._file, self._file.seek(0, 2), np.concatenate(([0], firsts, [len(keys)]))

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()


def _read(file: IO[bytes], place: int, kind: Any, count: int) -> Any:
    """Read an array from the temporary file."""
    file.seek(place)
    data = file.read(count * np.dtype(kind).itemsize)
    if len(data) != count * np.dtype(kind).itemsize:
        detail = "a temporary file is shorter than what was written to it"
        raise DataLossError(Reason.TRUNCATED, detail=detail)
    return np.frombuffer(data, kind)


def _groups(costs: Any, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of groups that cost `most` at most, or have one member."""
    ends = np.cumsum(costs)
    low = done = 0
    while low < ends.size:
        high = max(int(np.searchsorted(ends, done + most, side="right")), low + 1)
        yield low, high
        low, done = high, int(ends[high - 1])


# -------------------------------------------------------------------------------- a shuffle


def shuffle_records(
    sources: Sources | TFRecordReader,
    target: Source,
    *,
    seed: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    progress: Progress = None,
    **options: Unpack[TargetOptions],
) -> Rearranged:
    """Write the records of files in random order, also if they are larger than memory.

    Every order is equally likely.

    Parameters
    ----------
    sources, target, progress, **options
        As for :func:`merge_files`. The records of all sources are shuffled together.
    seed : int, optional
        The order depends on the seed and the number of records, and on nothing else; it is the
        same on every machine. None draws a seed, which the result has.
    memory_bytes : int, optional
        How much memory to use for records. If they do not fit, they are written to a temporary
        file too, uncompressed, in the folder of the target (for URLs and file objects, in
        that of Python's ``tempfile``). It is removed however the process ends.

    Returns
    -------
    Rearranged
        The files, how much is in them, and the seed.

    Raises
    ------
    TypeError
        If `seed` or `memory_bytes` is not an integer.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte.

    Notes
    -----
    Records that do not fit are sorted by random keys (words of PCG64) in parts, which are merged. Both
    passes read and write large pieces in order, many times as fast as reading records from random places.

    A thousandth of the data has to fit into `memory_bytes`, and so does each record; more memory is used
    otherwise. What the process needs besides (NumPy, buffers of files) is about 80 MB.

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> shuffled = shuffle_records("names.tfrecord", "shuffled.tfrecord", seed=7)
    >>> list(TFRecordReader("shuffled.tfrecord"))
    [b'Alan', b'Grace', b'Ada']
    """
    seed = ext.seed_of(seed)
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    runs = RandomOrder((seed, 0), memory_bytes, ext.folder_of(target))
    with read.metered(2) as meter, outputs, closing(runs) as order:
        for block in read.blocks():
            order.add(block)
        outputs.n_records = order.n_records
        num_written = 0
        for block in order.blocks():
            outputs.put(block)
            num_written += len(block)
            read.advance_written(num_written)
        meter.finish()
        return outputs.result(seed=seed)


_Part: TypeAlias = tuple[Uint64Array, Int64Array, Uint8Array]
"""Records: their keys, their lengths, and their frames end to end."""


@dataclass(frozen=True)
class _Run:
    start: int
    firsts: Int64Array
    """Number of the first record of each range of keys, and of all records; shape (1025,)."""
    edges: Int64Array
    """Where the frames of each range begin within the run, and end; shape (1025,)."""

    def read(self, file: IO[bytes], low: int, high: int) -> _Part:
        """Read the records of some ranges of keys."""
        first, last = int(self.firsts[low]), int(self.firsts[high])
        start, stop = int(self.edges[low]), int(self.edges[high])
        n_records = int(self.firsts[-1])
        of_lengths, of_frames = self.start + n_records * 8, self.start + n_records * 16
        keys = _read(file, self.start + first * 8, np.uint64, last - first)
        lengths = _read(file, of_lengths + first * 8, np.int64, last - first)
        return keys, lengths, _read(file, of_frames + start, np.uint8, stop - start)


class RandomOrder(_Runs):
    """Records that are added block by block, and returned in random order."""

    range_bits = 10

    def __init__(self, key: ext.OrderKey, memory_bytes: int, folder: str | None) -> None:
        # What is held is joined to be sorted, which takes as much again.
        super().__init__(memory_bytes * 3 // 8, folder)
        self._key = key
        self.n_records: int = 0

    def add(self, block: Block) -> None:
        """Add the records of a block; write a run before, if there is no room for them."""
        if not len(block):
            return
        frames = np.array(np.frombuffer(ext.frames_of(block), np.uint8))
        n_bytes = frames.size + len(block) * _RECORD_BYTES
        if self._held and self._n_held + n_bytes > self._most:
            self._write_run()
        keys = ext.order_words(self._key, self.n_records, len(block))
        self._held.append((keys, block.lengths, frames))
        self._n_held += n_bytes
        self.n_records += len(block)

    def blocks(self) -> Iterator[Block]:
        """Yield all records in random order, in blocks of about a megabyte; can be called once."""
        if self._file is not None:
            self._write_run()
            runs = self._runs
            costs = sum(np.diff(run.edges) + np.diff(run.firsts) * _RECORD_BYTES for run in runs)
            for low, high in _groups(costs, self._most):
                yield from _pieces_of(_sorted([run.read(self._file, low, high) for run in runs])[1])
        elif self._held:
            yield from _pieces_of(_sorted(self._held)[1])

    def _write_run(self) -> None:
        keys, block = _sorted(self._held)
        file, start, firsts = self._begin_run(keys)
        file.write(memoryview(keys).cast("B"))  # type: ignore[arg-type]
        file.write(memoryview(block.lengths).cast("B"))  # type: ignore[arg-type]
        for piece in _pieces_of(block):
            file.write(ext.frames_of(piece))
        edges = row_splits(block.lengths + OVERHEAD_BYTES)[firsts]
        self._runs.append(_Run(start, firsts, edges))


def _sorted(parts: list[_Part]) -> tuple[Uint64Array, Block]:
    """Return the keys in order, and the records in the same order; equal keys keep their order."""
    keys, lengths, frames = (list(arrays) for arrays in zip(*parts, strict=True))
    all_keys, all_lengths = np.concatenate(keys), np.concatenate(lengths)
    data = np.concatenate([*frames, np.zeros(SPARE_BYTES, np.uint8)])
    order = np.argsort(all_keys, kind="stable")
    offsets = row_splits(all_lengths + OVERHEAD_BYTES)[:-1] + HEADER_BYTES
    return all_keys[order], Block(data, offsets[order], all_lengths[order], is_framed=True)


def _pieces_of(block: Block) -> Iterator[Block]:
    for first, stop in _groups(block.lengths + OVERHEAD_BYTES, _PIECE_BYTES):
        yield block[first:stop]


# -------------------------------------------------------------------------- the first ones


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
    sources, target, progress, **options
        As for :func:`merge_files`. Duplicates are looked for in all sources together, which are read twice.
    by : str or sequence of str, optional
        Records are equal if they have the same values of this feature, or of several; by default, if all their bytes
        are equal. Records without a value are equal in it. Of SequenceExamples, a feature of the context.
    memory_bytes : int, optional
        How much memory to use for digests: about 100 bytes for each record. If they do not fit, they are sorted
        through a temporary file, with 24 bytes for each record, in the folder of the target (for URLs and file
        objects, in the folder of Python's ``tempfile``), and another one of a byte for each record is mapped into memory.

    Returns
    -------
    Rearranged
        The files, and how many records were read and written: `num_read` minus `num_records` were left out.

    Raises
    ------
    TypeError
        If an argument is not of these types.
    InvalidArgumentError, DataLossError, FileExistsError, OSError
        As :func:`merge_files`; ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte, or if no record has
        a value of `by`.

    Notes
    -----
    Digests of 128 bits are compared, as :func:`split_records` uses them with the seed 0. Two different records would
    be taken for equal with a probability of about n**2 / 2**129. What can be read only once, such as a pipe, waits
    in a temporary file.

    Examples
    --------
    >>> _ = save("all.tfrecord", {"name": ["Ada", "Alan", "Ada"], "age": [36, 41, 37]})
    >>> kept = unique_records("all.tfrecord", "people.tfrecord", by="name")
    >>> kept.num_read - kept.num_records, load("people.tfrecord")["age"]
    (1, array([36, 41]))
    """
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    digests = ext.Digests(by)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    runs = _FirstOnes(memory_bytes // _MEMORY_PER_ROW, ext.folder_of(target))
    with read.metered(2) as meter, outputs, closing(runs) as first_ones, ExitStack() as stack:
        spool = None if read.is_rereadable else stack.enter_context(closing(ext.Spool(target)))
        for block in read.blocks():
            first_ones.add(digests(block))
            if spool is not None:
                spool.put(block)
        digests.check()
        mask, num_read = first_ones.mask(), read.num_read
        outputs.n_records = int(np.count_nonzero(mask))
        number = 0
        for block in read.blocks_again() if spool is None else spool.blocks():
            outputs.put(block[np.array(mask[number : number + len(block)])])
            number += len(block)
        meter.finish()
        return outputs.result(num_read)


class _FirstOnes(_Runs):
    """Which of many digests are the first of equal ones; held are rows of two words of the digest, and its number."""

    range_bits = 12
    _n = 0

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
        file, start, firsts = self._begin_run(rows[:, 0])
        file.write(rows.tobytes())
        self._runs.append((start, firsts))

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
        for low, high in _groups(sum(np.diff(firsts) for _, firsts in self._runs), self._most):
            parts = []
            for start, firsts in self._runs:
                first, last = int(firsts[low]), int(firsts[high])
                words = _read(self._file, start + first * 24, np.uint64, (last - first) * 3)
                parts.append(words.reshape(-1, 3))
            mask[_first_of_equal(parts)[:, 2]] = True
        return mask


def _first_of_equal(parts: list[Uint64Array]) -> Uint64Array:
    """Sort rows by their digests; return the first of those with equal ones."""
    rows = np.concatenate([np.empty((0, 3), np.uint64), *parts])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]  # stable: equal ones stay in their order
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[is_first]
