"""Records that know their neighbours, so that parsing one parses many.

A script parses record by record, ``dataset.map(parse)``, and a batch of one costs nearly as
much as one of a hundred. So a record that comes to a function straight from a file is a
tensor that knows the block it is part of; the first call that parses it parses a group of
the records there, and the calls for the others find their rows done. Groups become larger
as more of a block is asked for. If a group holds anything that cannot be parsed, its records
are parsed one by one, so errors come where they belong. A batch of records is a tensor on their
block as well.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.errors import TFRecordError
from tfrecord_lite.schema import FixedLenFeature, VarLenFeature
from tfrecord_lite.tf._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.dataset.chunks import BatchChunk, RecordChunk
    from tfrecord_lite.example.parse import ExampleParser
    from tfrecord_lite.schema import FeatureSpec

    Row = dict[str, Any]

__all__ = ["BatchTensor", "Neighbours", "RecordTensor", "can_be_cut"]

_FIRST, _LARGEST = 4, 1024
"""Records in the first group of a block, and in the largest ones."""
_MOST_BYTES = 1024 * 1024
"""Groups are smaller if their records would be larger than that together."""
_KEPT = 4
"""Groups that are remembered: several threads may be at work."""


class RecordTensor(Tensor):
    """A record, and where it is among others."""

    __slots__ = ("_neighbours", "_number")

    def __init__(self, value: bytes, neighbours: Neighbours, number: int) -> None:
        super().__init__(value)
        self._neighbours = neighbours
        self._number = number

    def parsed(self, parser: ExampleParser) -> Row | None:
        """Return the features of the record; None if it has to be parsed by itself."""
        return self._neighbours.row(parser, self._number)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the record alone."""
        return Tensor, (self._value,)


class BatchTensor(Tensor):
    """A batch of records still in their buffer: strings are made only if somebody asks for them.

    Parameters
    ----------
    chunk : BatchChunk
        Of one batch.
    """

    __slots__ = ("_chunk", "_made")

    def __init__(self, chunk: BatchChunk) -> None:
        self._chunk = chunk
        self._made: Any = None

    @property
    def _value(self) -> Any:
        if self._made is None:
            (self._made,) = self._chunk.elements()
        return self._made

    def parsed(self, parser: ExampleParser, names: Any) -> Row:
        """Return the columns of the batch."""
        try:
            return parser(self._chunk.records.block, names)
        except TFRecordError as error:
            raise self._chunk.records.placed(error) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the records alone."""
        return Tensor, (self._value,)


class Neighbours:
    """The records of a chunk, parsed in groups.

    Parameters
    ----------
    chunk : RecordChunk
    """

    def __init__(self, chunk: RecordChunk) -> None:
        self._chunk = chunk
        self._groups: dict[tuple[int, int], tuple[ExampleParser, Callable[[int], Row] | None]] = {}
        self._lock = Lock()
        n_bytes = max(int(chunk.lengths.sum()) // max(len(chunk), 1), 1)
        self._largest = min(max(_MOST_BYTES // n_bytes, 1), _LARGEST)

    def row(self, parser: ExampleParser, number: int) -> Row | None:
        """Return the features of one record, which belong to the caller; None if not known."""
        start, stop = _group_of(number, self._largest)
        with self._lock:
            key = (id(parser), start)  # of a parser that the group keeps alive
            if key not in self._groups:
                while len(self._groups) >= _KEPT:
                    del self._groups[next(iter(self._groups))]
                self._groups[key] = parser, self._parsed(parser, start, stop)
            cut = self._groups[key][1]
        return None if cut is None else cut(number - start)

    def _parsed(self, parser: ExampleParser, start: int, stop: int) -> Callable[[int], Row] | None:
        try:
            return _cutter(parser(self._chunk[start:stop].block))
        except TFRecordError:
            return None


def _group_of(number: int, largest: int) -> tuple[int, int]:
    """Return where the group of a record starts and ends: 0, 4, 20, 84, 340, 1364, 2388, ..."""
    start, size = 0, min(_FIRST, largest)
    while start + size <= number and size < largest:
        start, size = start + size, min(4 * size, largest)
    start += (number - start) // size * size
    return start, start + size


def can_be_cut(features: Mapping[str, FeatureSpec]) -> bool:
    """Return whether the result of a batch shows those of its records."""
    return all(isinstance(spec, (FixedLenFeature, VarLenFeature)) for spec in features.values())


def _cutter(columns: dict[str, Any]) -> Callable[[int], Row]:
    """Return what cuts one row out of the columns of a batch."""
    cuts = {name: _cut(column) for name, column in columns.items()}
    return lambda number: {name: cut(number) for name, cut in cuts.items()}


def _cut(column: Any) -> Callable[[int], Any]:
    if not isinstance(column, SparseTensor):
        return column.__getitem__ if column.ndim == 1 else lambda i: column[i].copy()
    values = np.asarray(column.values)
    splits = np.searchsorted(column.indices[:, 0], np.arange(column.dense_shape[0] + 1))

    def sparse(i: int) -> SparseTensor:
        part = values[splits[i] : splits[i + 1]].copy()
        return SparseTensor(np.arange(part.size)[:, None], part, [part.size])

    return sparse
