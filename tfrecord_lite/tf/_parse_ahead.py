"""Parse a record together with its neighbours.

Scripts parse record by record, ``dataset.map(parse)``, although parsing one record costs nearly
as much as parsing a hundred together. So each record, or batch of records, that ``map`` passes on
from a file is a tensor that knows its block. The first call that parses a record parses a group of
the block's records, and later calls return their rows of the result; groups grow as more records are
asked for. If a group cannot be parsed, its records are parsed alone, so that each raises its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np

from tfrecord_lite import ExampleParser
from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.dataset.chunks import BatchChunk
from tfrecord_lite.errors import TFRecordError
from tfrecord_lite.schema import FeatureSpec, FixedLenFeature, VarLenFeature
from tfrecord_lite.tf._tensor import Tensor

Row = dict[str, Any]
RowOf = Callable[[int], Row]

_FIRST, _LARGEST = 4, 1024
"""Number of records in the first group of a block, and in the largest groups."""
_MAX_GROUP_BYTES = 1024 * 1024
_MAX_GROUPS = 4
"""Groups that are kept: several threads may be parsing."""


class RecordTensor(Tensor):
    """A record that knows its place in a chunk."""

    __slots__ = ("_groups", "_number")

    def __init__(self, value: bytes, groups: ParsedGroups, number: int) -> None:
        super().__init__(value)
        self._groups = groups
        self._number = number

    def parsed(self, parser: ExampleParser[Any]) -> Row | None:
        """Return the features of the record; None if it must be parsed alone."""
        return self._groups.row(parser, self._number)


class BatchTensor(Tensor):
    """One batch of records, still in their buffer; byte strings are made only when needed."""

    __slots__ = ("_chunk", "_tensor")

    def __init__(self, chunk: BatchChunk) -> None:
        self._chunk = chunk
        self._tensor: Any = None

    @property
    def _value(self) -> Any:
        if self._tensor is None:
            (self._tensor,) = self._chunk.to_list()
        return self._tensor

    def parsed(self, parser: ExampleParser[Any], names: Any) -> Row:
        """Parse the batch into columns."""
        return parser(self._chunk.records, names)


class ParsedGroups:
    """The records of a chunk, parsed in groups."""

    def __init__(self, chunk: Block) -> None:
        self._chunk = chunk
        self._groups: dict[tuple[int, int], tuple[ExampleParser[Any], RowOf | None]] = {}
        self._lock = Lock()
        n_bytes = max(chunk.nbytes // max(len(chunk), 1), 1)
        self._largest = min(max(_MAX_GROUP_BYTES // n_bytes, 1), _LARGEST)

    def row(self, parser: ExampleParser[Any], number: int) -> Row | None:
        """Return the features of one record, copied; None if its group cannot be parsed."""
        start, stop = _group_of(number, self._largest)
        with self._lock:
            key = (id(parser), start)  # unique, since the group keeps the parser alive
            if key not in self._groups:
                while len(self._groups) >= _MAX_GROUPS:
                    del self._groups[next(iter(self._groups))]
                cut = None
                with suppress(TFRecordError):
                    cut = _cutter(parser(self._chunk[start:stop]))
                self._groups[key] = parser, cut
            cut = self._groups[key][1]
        return None if cut is None else cut(number - start)


def _group_of(number: int, largest: int) -> tuple[int, int]:
    """Return start and stop of a record's group. Groups start at 0, 4, 20, 84, 340, 1364, 2388, ..."""
    start, size = 0, min(_FIRST, largest)
    while start + size <= number and size < largest:
        start, size = start + size, min(4 * size, largest)
    start += (number - start) // size * size
    return start, start + size


def can_be_cut(features: Mapping[str, FeatureSpec]) -> bool:
    """Return whether columns of these features can be cut into rows."""
    return all(isinstance(spec, (FixedLenFeature, VarLenFeature)) for spec in features.values())


def _cutter(columns: dict[str, Any]) -> RowOf:
    """Return a function that copies one row out of the columns of a batch."""
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
