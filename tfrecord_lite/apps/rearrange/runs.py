"""Records sorted by random keys, in a bounded amount of memory.

::

    pass 1   blocks ──> Pool ──full──> sorted by key, to a temporary file: a sorted run
                          └─ if it is never full, there is no second pass
    pass 2   of every run the records with keys in one range ──> Pool ──> sorted by key

Record number i has the key i, a word of 64 random bits, so the order depends on nothing but the
seed and the number of records: not on the memory, nor on how the records are stored. A run has
its records sorted, and a table of where each 1,024th of all possible keys begins; so what the second
pass reads of a run is one piece, as large as the memory allows.

A run in the file is the keys, the lengths and the frames of its records, with the checksums
that they were read with. The file has no name (on Windows: is removed when it is closed), so
that nothing is left of it, however the process ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tfrecord_lite.arrays import Int64Array, Uint64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES, Block, Span
from tfrecord_lite.dataset.random_order import Key, words
from tfrecord_lite.errors import DataLossError, Reason, argument_error, plural
from tfrecord_lite.records.framing import frames_of

_RANGE_BITS = 10
_N_RANGES = 2**_RANGE_BITS
"""Ranges of keys; what the second pass holds at a time is one of them or more."""

_RECORD_BYTES = 64
"""Memory for a record besides its frame: key, length and offset, before and after sorting."""

_PIECE_BYTES = 1024 * 1024
"""How much is copied out of a pool at a time."""


class Pool:
    """Records in one buffer, with their keys; room for about `n_bytes`."""

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes
        try:  # it takes memory where it is written
            self._data = np.empty(n_bytes + SPARE_BYTES, np.uint8)
        except (MemoryError, ValueError):
            detail = f"{plural(n_bytes, 'byte')} of memory are more than there are; give less"
            raise argument_error(detail) from None
        self.clear()

    def clear(self) -> None:
        """Forget all records."""
        self._keys: list[Uint64Array] = []
        self._lengths: list[Int64Array] = []
        self._used = self._n_records = 0

    def add(self, block: Block, keys: Uint64Array) -> int:
        """Add records as long as there is room, at least one to an empty pool; return how many."""
        costs = np.cumsum(block.lengths + (OVERHEAD_BYTES + _RECORD_BYTES))
        room = self._n_bytes - self._used - self._n_records * _RECORD_BYTES
        n_taken = int(np.searchsorted(costs, room, side="right"))
        n_taken = n_taken or int(not self._n_records)
        if n_taken:
            taken = block[:n_taken]
            n_bytes = taken.nbytes + n_taken * OVERHEAD_BYTES
            self.place(n_bytes)[:] = memoryview(frames_of(taken))
            self.count(keys[:n_taken], taken.lengths)
        return n_taken

    def place(self, n_bytes: int) -> memoryview:
        """Return the next bytes of the buffer, which is replaced by a larger one if need be."""
        start, self._used = self._used, self._used + n_bytes
        if self._used + SPARE_BYTES > self._data.size:
            larger = np.empty(self._used + SPARE_BYTES, np.uint8)
            larger[:start] = self._data[:start]
            self._data = larger
        return memoryview(self._data)[start : self._used]  # type: ignore[arg-type]

    def count(self, keys: Uint64Array, lengths: Int64Array) -> None:
        """Note the records whose frames were put in the last place."""
        self._keys.append(keys)
        self._lengths.append(lengths)
        self._n_records += keys.size

    def sorted(self) -> tuple[Uint64Array, Block]:
        """Return the keys in order, and the records in the same order; equal keys as added."""
        keys, lengths = np.concatenate(self._keys), np.concatenate(self._lengths)
        order = np.argsort(keys, kind="stable")
        offsets = row_splits(lengths + OVERHEAD_BYTES)[:-1] + HEADER_BYTES
        span = Span(0, None, 0, None, is_framed=True)
        return keys[order], Block(self._data, offsets[order], lengths[order], (span,))

    def __len__(self) -> int:
        """Return the number of records."""
        return self._n_records


@dataclass(frozen=True)
class _Run:
    """Where sorted records are in the temporary file."""

    start: int
    n_records: int
    firsts: Int64Array
    """Number of the first record of each range of keys, and of all records; shape (1025,)."""
    edges: Int64Array
    """Where the frames of each range begin among those of the run, and end; shape (1025,)."""

    def read(self, file: IO[bytes], low: int, high: int, pool: Pool) -> None:
        """Add the records of some ranges of keys to a pool."""
        first, last = int(self.firsts[low]), int(self.firsts[high])
        if first == last:
            return
        keys = np.empty(last - first, np.uint64)
        lengths = np.empty(last - first, np.int64)
        self._fill(file, self.start + first * 8, keys)
        self._fill(file, self.start + (self.n_records + first) * 8, lengths)
        place = pool.place(int(self.edges[high] - self.edges[low]))
        self._fill(file, self.start + self.n_records * 16 + int(self.edges[low]), place)
        pool.count(keys, lengths)

    @staticmethod
    def _fill(file: IO[bytes], offset: int, into: Any) -> None:
        view = memoryview(into).cast("B")
        file.seek(offset)
        if file.readinto(view) != len(view):  # type: ignore[attr-defined]
            detail = "the temporary file of a shuffle is shorter than what was written to it"
            raise DataLossError(Reason.TRUNCATED, detail=detail)


class RandomOrder:
    """Records that are added block by block, and come out in random order."""

    def __init__(self, key: Key, memory_bytes: int, folder: str | None) -> None:
        self._key = key
        self._folder = folder
        # The rest is for what is on its way in and out.
        self._n_bytes = memory_bytes * 3 // 4
        self._pool = Pool(self._n_bytes)
        self._runs: list[_Run] = []
        self._file: IO[bytes] | None = None
        self.n_records: int = 0

    def add(self, block: Block) -> None:
        """Add the records of a block; write a run if the pool is full."""
        keys = words(self._key, self.n_records, len(block))
        self.n_records += len(block)
        while len(block):
            n_taken = self._pool.add(block, keys)
            block, keys = block[n_taken:], keys[n_taken:]
            if len(block):
                self._write_run()

    def blocks(self) -> Generator[Block, None, None]:
        """Yield all records in random order, in blocks of about a megabyte; can be called once."""
        if self._runs and len(self._pool):
            self._write_run()
        if self._file is None:
            yield from self._pieces()
            return
        for low, high in self._groups():
            for run in self._runs:
                run.read(self._file, low, high, self._pool)
            yield from self._pieces()

    def _pieces(self) -> Iterator[Block]:
        """Yield the records of the pool in order, and empty it."""
        if len(self._pool):
            yield from _pieces_of(self._pool.sorted()[1])
        self._pool.clear()

    def _write_run(self) -> None:
        """Write the records of the pool to the temporary file, and empty it."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed in close
        file, (keys, block) = self._file, self._pool.sorted()
        start = file.seek(0, 2)
        file.write(memoryview(keys).cast("B"))  # type: ignore[arg-type]
        file.write(memoryview(block.lengths).cast("B"))  # type: ignore[arg-type]
        for piece in _pieces_of(block):
            file.write(frames_of(piece))
        limits = np.arange(1, _N_RANGES, dtype=np.uint64) << np.uint64(64 - _RANGE_BITS)
        firsts = np.concatenate(([0], np.searchsorted(keys, limits), [keys.size]))
        edges = row_splits(block.lengths + OVERHEAD_BYTES)[firsts]
        self._runs.append(_Run(start, keys.size, firsts, edges))
        self._pool.clear()

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of keys, low and high, whose records fit into the pool."""
        costs = sum(np.diff(run.edges) + np.diff(run.firsts) * _RECORD_BYTES for run in self._runs)
        ends = np.cumsum(costs)
        low = done = 0
        while low < _N_RANGES:
            high = int(np.searchsorted(ends, done + self._n_bytes, side="right"))
            high = max(high, low + 1)
            yield low, high
            low, done = high, int(ends[high - 1])

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()


def _pieces_of(block: Block) -> Iterator[Block]:
    """Cut a block into pieces of about a megabyte."""
    ends = np.cumsum(block.lengths + OVERHEAD_BYTES)
    first = 0
    while first < len(block):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + _PIECE_BYTES, side="right")), first + 1)
        yield block[first:last]
        first = last
