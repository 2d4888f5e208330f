"""Lists: the values of one feature in many records, whatever they came from and wherever they go.

::

    column      [[5, 6], None, [7]]
    n           3                     records
    levels      ([2 0 1],)            lengths of the rows of each dimension, outermost first;
                                      one int if all rows are alike
    flat        5 6 7                 values end to end: an array of any dtype, or byte strings
    present     yes no yes            which records have the feature; None for all

A feature list has one level more, its steps: ``[[[5, 6], [7]], [[8]]]`` has the levels ``[2 1], [2 1 1]``. The sum of a
level's lengths is the number of rows of the next one, at the end ``len(flat)``.

- A number instead of lengths says nothing about the type: only ``type.shape`` says which
  dimensions vary. Equal lengths as an array mean the same.
- A record without the feature may have values, which mean nothing: fillers under a number,
  usually none under lengths. No check looks at them.
- Stored lists have one level, feature lists two; their values are int64 or float32 of the
  machine's byte order, or byte strings.
- `flat` may be a caller's array, or lie in the read buffer: results copy it (:meth:`Lists.owned`).
- ``type.kind`` is None only if there are no values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteItems, ByteRanges, Int64Array, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import owned_slice
from tfrecord_lite.convert.types import column_error, record_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import Type

Level: TypeAlias = "Int64Array | int"


@dataclass(slots=True, eq=False)
class Lists:
    """The values of one feature in many records; whoever made it may change it until it is passed on."""

    n: int
    """The number of records; of steps, if the records are steps."""
    type: Type
    """What the values are; on the wire one of ``WIRE[kind]``."""
    levels: tuple[Level, ...]
    """The lengths of the rows of each dimension, int64, outermost first; () for one value per record."""
    flat: Any
    """All values end to end: an array, shape (n_values,), or ByteStrings."""
    present: BoolArray | None = None
    """Which records have the feature, shape (n,); None for all."""

    @property
    def kind(self) -> Kind | None:
        """The list of an Example that holds the values; None if there were no values."""
        return self.type.kind

    @property
    def lengths(self) -> Int64Array:
        """The lengths of the first level, shape (n,); do not change them."""
        level = self.levels[0] if self.levels else 1
        return np.full(self.n, level) if isinstance(level, int) else level

    @property
    def mask(self) -> BoolArray:
        """Which records have the feature, shape (n,); do not change it."""
        return np.ones(self.n, np.bool_) if self.present is None else self.present

    @property
    def is_single(self) -> bool:
        """Whether every record is known to have one value, in lists of one level."""
        return isinstance(self.levels[0], int) and self.levels[0] == 1

    @property
    def n_bytes(self) -> int:
        """About how many bytes the values take."""
        flat = self.flat
        return int(flat.nbytes) if isinstance(flat, np.ndarray) else int(flat.lengths.sum())

    def counts(self) -> Level:
        """Return the number of values of each record, over all levels; one number if all levels are."""
        if len(self.levels) == 1:
            return self.levels[0]
        numbers = [level for level in self.levels if isinstance(level, int)]
        return math.prod(numbers) if len(numbers) == len(self.levels) else np.diff(self.splits())

    def splits(self) -> Int64Array:
        """Return where the values of each record start, over all levels, and the last end; shape (n + 1,)."""
        splits: Int64Array | None = None
        for level in self.levels:
            if isinstance(level, int):
                splits = (np.arange(self.n + 1) if splits is None else splits) * level
            else:
                splits = row_splits(level) if splits is None else row_splits(level)[splits]
        return np.arange(self.n + 1) if splits is None else splits

    def record_of(self, value: int) -> int:
        """Return the number of the record that has a value, given the value's number."""
        return record_of(self.splits(), value)

    def error(
        self, key: str, detail: str, value: int, reason: Reason = Reason.UNREPRESENTABLE
    ) -> InvalidArgumentError:
        """Return the error about one of the values, which names its record."""
        return column_error(key, detail, self.record_of(value), reason)

    def with_(self, **fields: Any) -> Lists:
        """Return a copy with some fields changed: `flat`, `type`, `levels`, `present`."""
        return replace(self, **fields)

    def one_level(self) -> Lists:
        """Return the values of each record as one list, as the wire has them."""
        return Lists(self.n, self.type, (self.counts(),), self.flat, self.present)

    def below(self) -> Lists:
        """Return the rows of the first level as records of their own: steps, elements of lists."""
        return Lists(n_values(self.n, self.levels[0]), self.type, self.levels[1:], self.flat)

    def above(self, lengths: Int64Array, present: BoolArray | None = None) -> Lists:
        """Return records of which these are the rows, given how many each has."""
        return Lists(lengths.size, self.type, (lengths, *self.levels), self.flat, present)

    def part(self, first: int, stop: int) -> Lists:
        """Return some of the records; their lengths and values are views."""
        return self.views([first, stop])[0]

    def views(self, splits: Sequence[int]) -> list[Lists]:
        """Return the records between each two splits; their lengths and values are views."""
        pieces = []
        for a, b in pairwise(splits):
            present = None if self.present is None else self.present[a:b]
            pieces.append(Lists(b - a, self.type, (), None, present))
        bounds = [*splits]  # of the rows of a level
        for level in self.levels:
            for piece, (a, b) in zip(pieces, pairwise(bounds), strict=True):
                own = level if isinstance(level, int) else level[a:b]
                piece.levels = (*piece.levels, own)
            if isinstance(level, int):
                bounds = [level * bound for bound in bounds]
            else:
                bounds = row_splits(level)[bounds].tolist()
        is_strings = isinstance(self.flat, ByteRanges | ByteItems)
        for piece, (a, b) in zip(pieces, pairwise(bounds), strict=True):
            piece.flat = self.flat.take(slice(a, b)) if is_strings else self.flat[a:b]
        return pieces

    def copies(self, splits: Sequence[int]) -> list[Lists]:
        """Return the records between each two splits, with lengths and values of their own."""
        pieces = self.views(splits)
        for piece in pieces:
            levels = (level if isinstance(level, int) else level.copy() for level in piece.levels)
            piece.levels, piece.flat = tuple(levels), _owned(piece.flat)
            piece.present = None if piece.present is None else piece.present.copy()
        return pieces

    def owned(self) -> Lists:
        """Return a copy that shares no memory with a read buffer, or with a caller's array."""
        return self.copies([0, self.n])[0]

    @staticmethod
    def join(parts: Sequence[Lists]) -> Lists:
        """Return the records of all parts, one after the other; of one type, and as many levels.

        A part without a kind has no values, and is ignored for the type.
        """
        if len(parts) == 1:
            return parts[0]
        typed = [part for part in parts if part.kind is not None] or parts
        may_lack = any(part.present is not None for part in parts)
        present = np.concatenate([part.mask for part in parts]) if may_lack else None
        levels: list[Level] = []
        rows = [part.n for part in parts]  # of the level, in each part
        for own in zip(*[part.levels for part in parts], strict=True):
            levels.append(_joined_level(rows, own))
            rows = list(map(n_values, rows, own))
        flat = _joined_flat([part.flat for part in typed])
        return Lists(sum(part.n for part in parts), typed[0].type, tuple(levels), flat, present)


def n_values(n: int, level: Level) -> int:
    """Return the sum of a level's lengths, given how many there are."""
    return n * level if isinstance(level, int) else int(level.sum())


def _joined_level(rows: list[int], own: Sequence[Level]) -> Level:
    """Join the lengths of one level in several parts, given how many there are in each."""
    filled = [(n, level) for n, level in zip(rows, own, strict=True) if n] or [(0, own[0])]
    numbers = {level if isinstance(level, int) else None for _, level in filled}
    if len(numbers) == 1 and None not in numbers:
        return filled[0][1]
    levels = [np.full(n, level) if isinstance(level, int) else level for n, level in filled]
    return np.concatenate(levels)


def _joined_flat(flats: list[Any]) -> Any:
    if isinstance(flats[0], np.ndarray):
        return np.concatenate(flats)
    if all(isinstance(flat, ByteItems) for flat in flats):
        lengths = np.concatenate([flat.lengths for flat in flats])
        return ByteItems([item for flat in flats for item in flat.items], lengths)
    ranges = [flat.to_ranges() for flat in flats]
    lengths = np.concatenate([flat.lengths for flat in ranges])
    if all(flat.data is ranges[0].data for flat in ranges):
        return ByteRanges(ranges[0].data, np.concatenate([f.starts for f in ranges]), lengths)
    data = np.concatenate([flat.packed() for flat in ranges])
    return ByteRanges(data, row_splits(lengths)[:-1], lengths)


def _owned(flat: Any) -> Any:
    if not isinstance(flat, ByteRanges | ByteItems):
        return owned_slice(flat, 0, len(flat))
    lengths = flat.lengths.copy()
    splits = row_splits(lengths)
    return ByteRanges(flat.joined(splits), splits[:-1], lengths)


class SparseLists(NamedTuple):
    """The values of a SparseTensor, record by record, and where they are."""

    values: Lists
    """The values, of one level."""
    coordinates: tuple[Lists, ...]
    """For each dimension after the records, the int64 indices; of the same level."""
    sizes: tuple[int, ...]
    """The dense shape of a record."""

    @property
    def n(self) -> int:
        """The number of records."""
        return self.values.n

    def copies(self, splits: Sequence[int]) -> list[SparseLists]:
        """Do as :meth:`Lists.copies`."""
        every = (lists.copies(splits) for lists in (self.values, *self.coordinates))
        parts = zip(*every, strict=True)
        return [SparseLists(values, tuple(axes), self.sizes) for values, *axes in parts]

    def owned(self) -> SparseLists:
        """Do as :meth:`Lists.owned`."""
        return self.copies([0, self.n])[0]

    @staticmethod
    def join(parts: Sequence[SparseLists]) -> SparseLists:
        """Do as :meth:`Lists.join`, in the largest sizes."""
        values = Lists.join([part.values for part in parts])
        coordinates = zip(*(part.coordinates for part in parts), strict=True)
        sizes = map(max, *(part.sizes for part in parts)) if len(parts) > 1 else parts[0].sizes
        return SparseLists(values, tuple(map(Lists.join, coordinates)), tuple(sizes))


AnyLists: TypeAlias = Lists | SparseLists


class Joiner:
    """Joins Lists, or SparseLists, one after the other: numbers in one buffer that grows in place.

    So a column is in memory once. Linux moves pages when an array grows; other systems copy it, so there the parts wait
    for the end.
    """

    _GROWS = sys.platform == "linux"

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._flat: AnyArray | None = None
        """The numbers of all parts, and room for more; None while there is one part, or no numbers."""
        self._n = 0

    def add(self, lists: Any) -> None:
        """Add the records that follow: `lists` is emptied; do not use it again."""
        self._parts.append(lists)
        if len(self._parts) > 1 and self._GROWS:
            self._take(self._parts[0])
            self._take(lists)

    def _take(self, lists: Any) -> None:
        flat = None if isinstance(lists, SparseLists) or lists.kind is None else lists.flat
        if not isinstance(flat, np.ndarray) or not flat.size or flat.dtype.hasobject:
            return
        if self._flat is None:
            self._flat = np.empty(0, flat.dtype)
        end = self._n + flat.size
        if end > self._flat.size:
            self._flat.resize(end + self._n // 16, refcheck=False)  # room for more, so seldom
        self._flat[self._n : end] = flat
        self._n = end
        lists.flat = flat[:0].copy()

    def joined(self) -> Any:
        """Return the records of all parts; None if there are none."""
        if not self._parts:
            return None
        whole = type(self._parts[0]).join(self._parts)
        if self._flat is not None:
            self._flat.resize(self._n, refcheck=False)
            whole.flat = self._flat
        return whole


def cleared(lists: Lists) -> Lists:
    """Return lists whose absent records hold zeros or empty strings, which no check rejects."""
    if lists.present is None:
        return lists
    absent = np.repeat(~lists.present, lists.counts())
    if not absent.any():
        return lists
    if isinstance(lists.flat, np.ndarray):
        flat = lists.flat.copy()
        flat[absent] = np.zeros(1, flat.dtype)
        return lists.with_(flat=flat)
    if not lists.flat.lengths[absent].any():
        return lists
    strings = lists.flat.to_ranges()
    lengths = np.where(absent, 0, strings.lengths)
    return lists.with_(flat=ByteRanges(strings.data, strings.starts, lengths))


def scattered(lists: Lists, present: BoolArray) -> Lists:
    """Spread lists of the present records over all, with fillers if every level is a number, else with empty rows."""
    n, flat = present.size, lists.flat
    if not all(isinstance(level, int) for level in lists.levels):
        lengths = np.zeros(n, np.int64)
        lengths[present] = lists.lengths
        return Lists(n, lists.type, (lengths, *lists.levels[1:]), flat, present)
    size = math.prod(cast("tuple[int, ...]", lists.levels))

    def filled(values: AnyArray) -> AnyArray:
        whole = np.zeros((n, size), values.dtype)
        whole[present] = values.reshape(lists.n, size)
        return whole.reshape(-1)

    if isinstance(flat, np.ndarray):
        flat = filled(flat)
    elif isinstance(flat, ByteItems):  # item 0 is the filler
        flat = ByteItems.of([b"", *flat.items]).take(filled(np.arange(1, len(flat) + 1)))
    else:
        flat = ByteRanges(flat.data, filled(flat.starts), filled(flat.lengths))
    return Lists(n, lists.type, lists.levels, flat, present)


def missing_row_error(key: str, missing: BoolArray) -> InvalidArgumentError:
    """Return the error about the first missing record, where others are rows of any length."""
    detail = "a null among lists of any length would come back as an empty list; "
    detail += "fill it with [], drop the record, or pass a schema with a RaggedFeature, which takes it for []"
    return column_error(key, detail, int(missing.argmax()), Reason.UNREPRESENTABLE)


def row_of(column: Any, number: int) -> Any:
    """Return one record's part of a column."""
    if isinstance(column, SparseTensor):
        own = column.indices[:, 0] == number
        return SparseTensor(column.indices[own, 1:], column.values[own], column.dense_shape[1:])
    if isinstance(column, BytesColumn):
        column = column.to_numpy()
    # With an ellipsis a row without dimensions is an array, too.
    return column[number] if isinstance(column, RaggedTensor) else column[number, ...]
