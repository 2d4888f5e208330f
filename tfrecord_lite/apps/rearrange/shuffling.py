"""shuffle_records: all records in random order, in a bounded amount of memory.

::

    pass 1   blocks ──> memory ──full──> sorted by key, to a temporary file: a sorted run
                          └─ if it is never full, there is no second pass
    pass 2   of every run the records with keys in one range ──> memory ──> sorted by key

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
from contextlib import closing
from dataclasses import dataclass
from typing import IO, TypeAlias, Unpack

import numpy as np

from tfrecord_lite.apps.rearrange.transfer import Outputs, Rearranged, TargetOptions
from tfrecord_lite.arrays import Int64Array, Uint8Array, Uint64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, SPARE_BYTES, Block
from tfrecord_lite.errors import DataLossError, Reason, require_int
from tfrecord_lite.extension import (
    OrderKey,
    Source,
    Sources,
    folder_of,
    frames_of,
    order_words,
    seed_of,
)
from tfrecord_lite.progress import Progress
from tfrecord_lite.reader import TFRecordReader

MEMORY_BYTES = 1024**3
LEAST_MEMORY_BYTES = 1024**2
_RANGE_BITS = 10
_N_RANGES = 2**_RANGE_BITS
"""Ranges of keys; what the second pass holds at a time is one of them or more."""

_RECORD_BYTES = 32
"""Memory for a record besides its frame: key, length, offset and number, as for two while sorting."""

_PIECE_BYTES = 1024 * 1024
"""How much is copied at a time."""


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

    Parameters
    ----------
    sources, target : optional
        As for :func:`merge_files`. The records of all sources are shuffled together.
    seed : int, optional
        The order depends on the seed and the number of records, and on nothing else; it is the
        same on every machine. None draws a seed, which the result has.
    memory_bytes : int, optional
        How much memory to use for records. If they do not fit, they are written to a temporary
        file too, uncompressed, in the folder of the target (for URLs and file objects, in
        that of Python's ``tempfile``). It is removed however the process ends.
    progress : bool or callable, optional
        As for :func:`merge_files`; half is done when all records are in their temporary file.
    **options
        As for :func:`merge_files`.

    Returns
    -------
    Rearranged
        The files, how much is in them, and the seed.

    Raises
    ------
    TypeError
        If `seed` or `memory_bytes` is not an integer.
    InvalidArgumentError
        ``BAD_ARGUMENT`` too if `memory_bytes` is less than a megabyte.
    DataLossError, FileExistsError, OSError
        As :func:`merge_files`.

    Notes
    -----
    Every order is equally likely: record i gets word i of a generator (PCG64) as its key, and the
    records are sorted by their keys. The first pass sorts as many records as fit into memory at a
    time, and writes them; the second reads those with keys in one range of each of these
    runs. Both read and write large pieces in order, which a disk does many times as fast as
    reading one record after the other from random places.

    A thousandth of the data has to fit into `memory_bytes`, and so does each record; more memory is used
    otherwise. What the process needs besides (NumPy, buffers of files) is about 80 MB.

    Examples
    --------
    >>> from tfrecord_lite.apps.rearrange import shuffle_records
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> shuffled = shuffle_records("names.tfrecord", "shuffled.tfrecord", seed=7)
    >>> list(TFRecordReader("shuffled.tfrecord"))
    [b'Alan', b'Grace', b'Ada']
    """
    seed = seed_of(seed)
    memory_bytes = require_int("memory_bytes", memory_bytes, LEAST_MEMORY_BYTES)
    outputs = Outputs(target, options)
    read = outputs.read(sources, progress)
    with (
        read.metered(2) as meter,
        outputs,
        closing(RandomOrder((seed, 0), memory_bytes, folder_of(target))) as order,
    ):
        with closing(read.blocks()) as blocks:
            for block in blocks:
                order.add(block)
        outputs.n_records = order.n_records
        num_written = 0
        with closing(order.blocks()) as blocks:
            for block in blocks:
                outputs.put(block)
                num_written += len(block)
                read.advance_written(num_written)
        meter.finish()
        return outputs.result(seed=seed)


_Part: TypeAlias = tuple[Uint64Array, Int64Array, Uint8Array]
"""Records: their keys, their lengths, and their frames end to end."""


@dataclass(frozen=True)
class _Run:
    """Where sorted records are in the temporary file."""

    start: int
    n_records: int
    firsts: Int64Array
    """Number of the first record of each range of keys, and of all records; shape (1025,)."""
    edges: Int64Array
    """Where the frames of each range begin within the run, and end; shape (1025,)."""

    def read(self, file: IO[bytes], low: int, high: int) -> _Part:
        """Read the records of some ranges of keys."""
        first, last = int(self.firsts[low]), int(self.firsts[high])
        start, stop = int(self.edges[low]), int(self.edges[high])
        keys, lengths = np.empty(last - first, np.uint64), np.empty(last - first, np.int64)
        frames = np.empty(stop - start, np.uint8)
        of_lengths, of_frames = self.start + self.n_records * 8, self.start + self.n_records * 16
        places = (self.start + first * 8, of_lengths + first * 8, of_frames + start)
        for place, into in zip(places, (keys, lengths, frames), strict=True):
            view = memoryview(into).cast("B")  # type: ignore[arg-type]
            file.seek(place)
            if file.readinto(view) != len(view):  # type: ignore[attr-defined]
                detail = "the temporary file of a shuffle is shorter than what was written to it"
                raise DataLossError(Reason.TRUNCATED, detail=detail)
        return keys, lengths, frames


class RandomOrder:
    """Records that are added block by block, and returned in random order."""

    def __init__(self, key: OrderKey, memory_bytes: int, folder: str | None) -> None:
        self._key = key
        self._folder = folder
        # What is held is joined to be sorted, which takes as much again.
        self._most = memory_bytes * 3 // 8
        self._held: list[_Part] = []
        self._n_bytes = 0
        self._runs: list[_Run] = []
        self._file: IO[bytes] | None = None
        self.n_records: int = 0

    def add(self, block: Block) -> None:
        """Add the records of a block; write a run before, if there is no room for them."""
        if not len(block):
            return
        frames = np.array(np.frombuffer(frames_of(block), np.uint8))
        n_bytes = frames.size + len(block) * _RECORD_BYTES
        if self._held and self._n_bytes + n_bytes > self._most:
            self._write_run()
        self._held.append(
            (order_words(self._key, self.n_records, len(block)), block.lengths, frames)
        )
        self._n_bytes += n_bytes
        self.n_records += len(block)

    def blocks(self) -> Generator[Block, None, None]:
        """Yield all records in random order, in blocks of about a megabyte; can be called once."""
        if self._file is None:
            yield from _pieces_of(_sorted(self._held)[1] if self._held else Block.from_records([]))
            return
        self._write_run()
        for low, high in self._groups():
            parts = [run.read(self._file, low, high) for run in self._runs]
            yield from _pieces_of(_sorted(parts)[1])

    def _write_run(self) -> None:
        """Write the records that are held to the temporary file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed in close
        file, (keys, block) = self._file, _sorted(self._held)
        self._held, self._n_bytes = [], 0
        start = file.seek(0, 2)
        file.write(memoryview(keys).cast("B"))  # type: ignore[arg-type]
        file.write(memoryview(block.lengths).cast("B"))  # type: ignore[arg-type]
        for piece in _pieces_of(block):
            file.write(frames_of(piece))
        limits = np.arange(1, _N_RANGES, dtype=np.uint64) << np.uint64(64 - _RANGE_BITS)
        firsts = np.concatenate(([0], np.searchsorted(keys, limits), [keys.size]))
        edges = row_splits(block.lengths + OVERHEAD_BYTES)[firsts]
        self._runs.append(_Run(start, keys.size, firsts, edges))

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of keys, low and high, whose records fit into the memory."""
        costs = sum(np.diff(run.edges) + np.diff(run.firsts) * _RECORD_BYTES for run in self._runs)
        ends = np.cumsum(costs)
        low = done = 0
        while low < _N_RANGES:
            high = int(np.searchsorted(ends, done + self._most, side="right"))
            high = max(high, low + 1)
            yield low, high
            low, done = high, int(ends[high - 1])

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()


def _sorted(parts: list[_Part]) -> tuple[Uint64Array, Block]:
    """Return the keys in order, and the records in the same order; equal keys keep their order."""
    keys = np.concatenate([keys for keys, _, _ in parts])
    lengths = np.concatenate([lengths for _, lengths, _ in parts])
    data = np.concatenate([*(frames for _, _, frames in parts), np.zeros(SPARE_BYTES, np.uint8)])
    order = np.argsort(keys, kind="stable")
    offsets = row_splits(lengths + OVERHEAD_BYTES)[:-1] + HEADER_BYTES
    return keys[order], Block(data, offsets[order], lengths[order], is_framed=True)


def _pieces_of(block: Block) -> Iterator[Block]:
    """Cut a block into pieces of about a megabyte."""
    ends = np.cumsum(block.lengths + OVERHEAD_BYTES)
    first = 0
    while first < len(block):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + _PIECE_BYTES, side="right")), first + 1)
        yield block[first:last]
        first = last
