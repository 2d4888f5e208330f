"""Chunks: many elements that flow from stage to stage, until ``to_list`` makes Python objects.

All have ``len``, slices, ``take`` (elements by number, in any order) and ``join``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import Int64Array, objects, row_splits
from tfrecord_lite.block import OVERHEAD_BYTES, Block, block_of, origin_of
from tfrecord_lite.columns.bytes import owned_slice


class BatchChunk:
    """Batches of records; `splits` are the row splits of the batches among them, shape (n + 1,)."""

    __slots__ = ("records", "splits")

    def __init__(self, records: Block, splits: Int64Array) -> None:
        self.records: Block = records
        self.splits: Int64Array = splits

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.splits.size - 1

    def __getitem__(self, key: slice) -> BatchChunk:
        """Return a range of batches on the same buffer."""
        start, stop, _ = key.indices(len(self))
        splits = self.splits[start : max(stop, start) + 1]
        return BatchChunk(self.records[splits[0] : splits[-1]], splits - splits[0])

    def take(self, numbers: Int64Array) -> BatchChunk:
        """Copy batches, in any order."""
        parts = [self.records[self.splits[i] : self.splits[i + 1]] for i in numbers.tolist()]
        splits = row_splits(np.array([len(part) for part in parts], np.int64))
        return BatchChunk(join_records(parts) if parts else self.records[:0], splits)

    def to_list(self) -> list[Any]:
        """Make an object array of ``bytes`` of each batch."""
        return [objects(self.records[a:b].to_list()) for a, b in pairwise(self.splits.tolist())]


class ObjectChunk:
    """Python objects."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items: list[Any] = items

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.items)

    def __getitem__(self, key: slice) -> ObjectChunk:
        """Return a range of the objects."""
        return ObjectChunk(self.items[key])

    def take(self, numbers: Int64Array) -> ObjectChunk:
        """Return objects, in any order."""
        return ObjectChunk([self.items[i] for i in numbers.tolist()])

    def to_list(self) -> list[Any]:
        """Return the objects."""
        return self.items


class ColumnChunk:
    """Batches of columns: arrays or BytesColumns with the rows of all batches.

    `splits` are the row splits of the batches among the rows, shape (n + 1,). The column `label_key` is taken
    out, if there is one: elements are then (columns, label).
    """

    __slots__ = ("columns", "label_key", "splits")

    def __init__(self, columns: dict[str, Any], splits: Int64Array, label_key: str | None) -> None:
        self.columns: dict[str, Any] = columns
        self.splits: Int64Array = splits
        self.label_key: str | None = label_key

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.splits.size - 1

    def __getitem__(self, key: slice) -> ColumnChunk:
        """Return a range of batches of the same columns."""
        start, stop, _ = key.indices(len(self))
        return ColumnChunk(self.columns, self.splits[start : max(stop, start) + 1], self.label_key)

    def take(self, numbers: Int64Array) -> ObjectChunk:
        """Cut batches out, in any order."""
        items = self.to_list()
        return ObjectChunk([items[i] for i in numbers.tolist()])

    def to_list(self) -> list[Any]:
        """Cut the columns into batches, each with its own memory."""
        splits = self.splits.tolist()
        out: list[Any] = [{} for _ in splits[1:]]
        for name, column in self.columns.items():
            for piece, a, b in zip(out, splits[:-1], splits[1:], strict=True):
                piece[name] = owned_slice(column, a, b)
        if self.label_key is None:
            return out
        return [(piece, piece.pop(self.label_key)) for piece in out]


Chunk: TypeAlias = Block | BatchChunk | ColumnChunk | ObjectChunk
"""Elements that go from one stage to the next together."""


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Put one or more chunks end to end."""
    if len(chunks) == 1:
        return chunks[0]
    if all(isinstance(chunk, Block) for chunk in chunks):
        return join_records(chunks)  # type: ignore[arg-type]
    if all(isinstance(chunk, BatchChunk) for chunk in chunks):
        records = join_records([chunk.records for chunk in chunks])  # type: ignore[union-attr]
        sizes = np.concatenate([np.diff(chunk.splits) for chunk in chunks])  # type: ignore[union-attr]
        return BatchChunk(records, row_splits(sizes))
    return ObjectChunk([item for chunk in chunks for item in chunk.to_list()])


def join_records(blocks: Sequence[Block]) -> Block:
    """Put one or more blocks end to end, on the buffer that they share, or a new one."""
    first = blocks[0]
    blocks = [block for block in blocks if len(block)] or [first]
    if len(blocks) > 1 and all(block.data is first.data for block in blocks):
        offsets = np.concatenate([block.offsets for block in blocks])
        lengths = np.concatenate([block.lengths for block in blocks])
        return block_of(first.data, offsets, lengths, *origin_of(blocks))
    if len(blocks) == 1:
        return blocks[0]
    held = [stop - start for start, stop in map(stretch, blocks)]
    return Block.concat([compacted(*pair) for pair in zip(blocks, held, strict=True)])


def stretch(block: Block) -> tuple[int, int]:
    """Return start and stop of the part of the buffer that holds all records."""
    return int(block.offsets.min()), int((block.offsets + block.lengths).max())


def compacted(block: Block, held_bytes: int) -> Block:
    """Copy the records if they fill less than half of `held_bytes`; otherwise return the block."""
    n_bytes = block.nbytes + OVERHEAD_BYTES * len(block)
    return block.take(np.arange(len(block))) if held_bytes > 2 * n_bytes else block
