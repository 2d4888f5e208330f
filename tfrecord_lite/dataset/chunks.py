"""Chunks: what flows between the stages of a pipeline, many elements at a time.

::

    RecordChunk    serialised records: byte ranges of a buffer, and where each came from
    BatchChunk     batches of those
    ColumnChunk    batches of columns, as the parser returns them
    ObjectChunk    anything else: columns, results of functions, ...

All have ``len``, slices, ``take`` (elements by number, in any order) and ``join``, so a stage need not
know which one it has. Python objects are made by ``elements`` only, at the end of the pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import Int64Array, ObjectArray, Uint8Array, gather, row_splits
from tfrecord_lite.block import OVERHEAD_BYTES, SPARE_BYTES, Block
from tfrecord_lite.columns.bytes import owned_slice
from tfrecord_lite.errors import TFRecordError

__all__ = ["BatchChunk", "Chunk", "ObjectChunk", "RecordChunk"]


@dataclass(frozen=True, slots=True, eq=False)
class RecordChunk:
    """Serialised records."""

    names: Sequence[str]
    """The files of the data set."""
    data: Uint8Array
    """The buffer, with a block's spare bytes; shared with other chunks."""
    offsets: Int64Array
    """Where in the buffer each record starts, shape (n,)."""
    lengths: Int64Array
    """Bytes of each record, shape (n,)."""
    places: Int64Array
    """File number, record index and offset of the header of each record, shape (n, 3)."""

    def __len__(self) -> int:
        """Return the number of records."""
        return self.offsets.size

    def __getitem__(self, key: slice | Int64Array) -> RecordChunk:
        """Return records, by a slice or by their numbers in any order, on the same buffer."""
        offsets, lengths = self.offsets[key], self.lengths[key]
        return RecordChunk(self.names, self.data, offsets, lengths, self.places[key])

    def take(self, numbers: Int64Array) -> RecordChunk:
        """Copy records, in any order, into a buffer of their own."""
        offsets, lengths = self.offsets[numbers], self.lengths[numbers]
        splits = row_splits(lengths)
        data = np.empty(int(splits[-1]) + SPARE_BYTES, np.uint8)
        data[: splits[-1]] = gather(self.data, offsets, lengths)
        data[splits[-1] :] = 0
        return RecordChunk(self.names, data, splits[:-1], lengths, self.places[numbers])

    def compacted(self, held_bytes: int) -> RecordChunk:
        """Copy the records if they fill less than half of `held_bytes`; otherwise return self."""
        n_bytes = int(self.lengths.sum()) + OVERHEAD_BYTES * len(self)
        return self.take(np.arange(len(self))) if held_bytes > 2 * n_bytes else self

    def stretch(self) -> tuple[int, int]:
        """Return start and stop of the smallest part of the buffer that holds all records."""
        return int(self.offsets.min()), int((self.offsets + self.lengths).max())

    @property
    def block(self) -> Block:
        """The records as a block, without their places."""
        return Block(self.data, self.offsets, self.lengths)

    def elements(self) -> list[Any]:
        """Copy each record into a ``bytes`` of its own."""
        return self.block.to_list()

    def where(self, number: int) -> str:
        """Say where a record came from."""
        file, index, offset = map(int, self.places[number])
        return f"record {index}, byte {offset} of {self.names[file]}"

    def located(self, error: TFRecordError) -> TFRecordError:
        """Return an error about record ``error.index`` of this chunk, with its place in its file."""
        if error.index is None:
            return error
        file, index, offset = map(int, self.places[error.index])
        return error.at(source=self.names[file], offset=offset, index=index)


@dataclass(frozen=True, slots=True, eq=False)
class BatchChunk:
    """Batches of records."""

    records: RecordChunk
    splits: Int64Array
    """Row splits of the batches among the records, shape (n + 1,)."""

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
        return BatchChunk(_join_records(parts) if parts else self.records[:0], splits)

    def elements(self) -> list[Any]:
        """Make an object array of ``bytes`` of each batch."""
        return [
            objects(self.records[a:b].elements())
            for a, b in zip(self.splits[:-1].tolist(), self.splits[1:].tolist(), strict=True)
        ]

    def where(self, number: int) -> str:
        """Say where the first record of a batch came from."""
        return f"the batch that begins with {self.records.where(int(self.splits[number]))}"


@dataclass(frozen=True, slots=True, eq=False)
class ObjectChunk:
    """Python objects."""

    items: list[Any]

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.items)

    def __getitem__(self, key: slice) -> ObjectChunk:
        """Return a range of the objects."""
        return ObjectChunk(self.items[key])

    def take(self, numbers: Int64Array) -> ObjectChunk:
        """Return objects, in any order."""
        return ObjectChunk([self.items[i] for i in numbers.tolist()])

    def elements(self) -> list[Any]:
        """Return the objects."""
        return self.items


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChunk:
    """Batches of columns, each column whole for all batches."""

    columns: dict[str, Any]
    """Arrays or BytesColumns with the rows of all batches."""
    splits: Int64Array
    """Row splits of the batches among the rows, shape (n + 1,)."""
    label_key: str | None
    """A column to take out: elements are then (columns, label)."""

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.splits.size - 1

    def __getitem__(self, key: slice) -> ColumnChunk:
        """Return a range of batches of the same columns."""
        start, stop, _ = key.indices(len(self))
        splits = self.splits[start : max(stop, start) + 1]
        return ColumnChunk(self.columns, splits, self.label_key)

    def take(self, numbers: Int64Array) -> ObjectChunk:
        """Cut batches out, in any order."""
        items = self.elements()
        return ObjectChunk([items[i] for i in numbers.tolist()])

    def elements(self) -> list[Any]:
        """Cut the columns into batches, each with its own memory."""
        splits = self.splits.tolist()
        out: list[Any] = [{} for _ in splits[1:]]
        for name, column in self.columns.items():
            for piece, a, b in zip(out, splits[:-1], splits[1:], strict=True):
                piece[name] = owned_slice(column, a, b)
        if self.label_key is None:
            return out
        return [(piece, piece.pop(self.label_key)) for piece in out]


Chunk: TypeAlias = RecordChunk | BatchChunk | ColumnChunk | ObjectChunk
"""Elements that go from one stage to the next together."""


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Put one or more chunks end to end."""
    if len(chunks) == 1:
        return chunks[0]
    if all(isinstance(chunk, RecordChunk) for chunk in chunks):
        return _join_records(chunks)  # type: ignore[arg-type]
    if all(isinstance(chunk, BatchChunk) for chunk in chunks):
        records = _join_records([chunk.records for chunk in chunks])  # type: ignore[union-attr]
        sizes = np.concatenate([np.diff(chunk.splits) for chunk in chunks])  # type: ignore[union-attr]
        return BatchChunk(records, row_splits(sizes))
    return ObjectChunk([item for chunk in chunks for item in chunk.elements()])


def _join_records(chunks: Sequence[RecordChunk]) -> RecordChunk:
    """Copy the stretches of the buffers that hold the records into one buffer."""
    first = chunks[0]
    chunks = [chunk for chunk in chunks if len(chunk)] or [first]
    if len(chunks) == 1:
        return chunks[0]
    lengths = np.concatenate([chunk.lengths for chunk in chunks])
    places = np.concatenate([chunk.places for chunk in chunks])
    if all(chunk.data is first.data for chunk in chunks):
        offsets = np.concatenate([chunk.offsets for chunk in chunks])
        return RecordChunk(first.names, first.data, offsets, lengths, places)
    parts, offsets_of, at = [], [], 0
    for held in chunks:
        low, high = held.stretch()
        chunk = held.compacted(high - low)
        low, high = chunk.stretch()
        parts.append(chunk.data[low:high])
        offsets_of.append(chunk.offsets + (at - low))
        at += high - low
    data = np.concatenate([*parts, np.zeros(SPARE_BYTES, np.uint8)])
    return RecordChunk(first.names, data, np.concatenate(offsets_of), lengths, places)


def record_chunk(names: Sequence[str], items: Sequence[bytes], places: Int64Array) -> RecordChunk:
    """Copy records into a new buffer; `places` as in a RecordChunk."""
    data = np.frombuffer(bytearray().join([*items, bytes(SPARE_BYTES)]), np.uint8)
    splits = row_splits(np.fromiter(map(len, items), np.int64, len(items)))
    return RecordChunk(names, data, splits[:-1], np.diff(splits), places)


def objects(items: Sequence[Any]) -> ObjectArray:
    """Make an object array with one dimension, whatever the objects are."""
    out = np.empty(len(items), np.object_)
    out[:] = items
    return out
