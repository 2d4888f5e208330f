"""Lists: the values of one feature in many records, whatever they came from and wherever they go.

::

    column      [[5, 6], None, [7]]
    flat        5 6 7                 values end to end: an array of any dtype, or byte strings
    levels      ([2 0 1],)            lengths of the rows of each dimension, outermost first;
                                      one int where all rows are alike
    present     yes no yes            which records have the feature; None for all

:mod:`.normalize` makes them of columns, and the engine of messages. A number instead of lengths
says nothing about the type: only ``type.shape`` says which dimensions vary. A record without the
feature may have values, which mean nothing: fillers under a number, usually none under lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    row_splits,
)
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import owned_slice
from tfrecord_lite.convert.types import Flat, column_error, inexact_integers, record_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE, Type

if TYPE_CHECKING:
    Level: TypeAlias = Int64Array | int


@dataclass(slots=True, eq=False)
class Lists:
    """The values of one feature in many records."""

    n: int
    """Records."""
    type: Type
    levels: tuple[Level, ...]
    """Of each dimension the lengths of its rows, int64, outermost first; one int if all are alike."""
    flat: Any
    """All values end to end: shape (n_values,), or Strings."""
    present: BoolArray | None = None
    """Which records have the feature; None for all."""

    @property
    def counts(self) -> Level:
        """Values of each record, of lists of one level."""
        return self.levels[0]

    @property
    def lengths(self) -> Int64Array:
        """Values of each record as an array."""
        count = self.levels[0]
        return np.full(self.n, count) if isinstance(count, int) else count

    def splits(self) -> Int64Array:
        """Where the values of each record start, and the last end."""
        count = self.levels[0]
        if isinstance(count, int):
            return np.arange(self.n + 1, dtype=np.int64) * count
        return row_splits(count)

    @property
    def kind(self) -> Kind | None:
        """The list that holds the values; None where there were none to tell it."""
        return self.type.kind

    @property
    def n_records(self) -> int:
        """The number of records."""
        return self.n

    @property
    def is_single(self) -> bool:
        """Whether every record has one value, in lists of one level."""
        count = self.levels[0]
        return isinstance(count, int) and count == 1

    @property
    def n_bytes(self) -> int:
        """About how many bytes the values take."""
        flat = self.flat
        return int(flat.nbytes) if isinstance(flat, np.ndarray) else int(flat.lengths.sum())

    def part(self, first: int, last: int) -> Lists:
        """Return the lists of some of the records; views."""
        count = self.levels[0]
        if isinstance(count, int):
            level: Level = count
            low, high = first * count, last * count
        else:
            level = count[first:last]
            low = int(count[:first].sum())
            high = low + int(level.sum())
        flat = self.flat
        flat = flat[low:high] if isinstance(flat, np.ndarray) else flat.take(slice(low, high))
        present = None if self.present is None else self.present[first:last]
        return Lists(last - first, self.type, (level,), flat, present)

    def counts_array(self) -> Int64Array:
        """Return the counts as an array."""
        return np.broadcast_to(np.asarray(self.levels[0], np.int64), (self.n,))

    def below(self) -> Lists:
        """Return the rows of the first dimension as records of their own, such as steps."""
        level = self.levels[0]
        n = self.n * level if isinstance(level, int) else int(level.sum())
        return Lists(n, self.type, self.levels[1:], self.flat)

    def cut(self, splits: list[int]) -> list[Lists]:
        """Return the lists of some records each, with values of their own."""
        if not self.levels:
            pieces = [
                Lists(b - a, self.type, (), owned_slice(self.flat, a, b))
                for a, b in pairwise(splits)
            ]
        else:
            level = self.levels[0]
            ends = (
                [level * split for split in splits]
                if isinstance(level, int)
                else row_splits(level)[splits].tolist()
            )
            pieces = self.below().cut(ends)
            for piece, a, b in zip(pieces, splits[:-1], splits[1:], strict=True):
                own = level if isinstance(level, int) else level[a:b].copy()
                piece.n, piece.levels = b - a, (own, *piece.levels)
        if self.present is not None:
            for piece, a, b in zip(pieces, splits[:-1], splits[1:], strict=True):
                piece.present = self.present[a:b]
        return pieces


def with_present(lists: Lists, present: BoolArray | None) -> Lists:
    """Return the lists with another mask of records."""
    return Lists(lists.n, lists.type, lists.levels, lists.flat, present)


def with_counts(lists: Lists, count: Level) -> Lists:
    """Return the lists with other counts."""
    return Lists(lists.n, lists.type, (count,), lists.flat, lists.present)


def as_floats(key: str, lists: Lists) -> Lists:
    """Return integers as floats; UNREPRESENTABLE for one that float32 does not hold."""
    narrow = lists.flat.astype(np.float32)
    wrong = np.flatnonzero(inexact_integers(lists.flat, narrow))
    if wrong.size:
        index = record_of(lists.splits(), int(wrong[0]))
        detail = "this integer is not exact in float32"
        raise column_error(key, detail, index, Reason.UNREPRESENTABLE)
    return Lists(lists.n, WIRE[Kind.FLOAT], lists.levels, narrow, lists.present)


def empty_lists(n_records: int, kind: Kind) -> Lists:
    """Return an empty list of a kind for each record."""
    none = np.zeros(0, np.int64)
    strings = ByteRanges(np.zeros(0, np.uint8), none, none)
    flats: dict[Kind, Flat] = {Kind.BYTES: strings, Kind.FLOAT: none.astype(np.float32)}
    return Lists(n_records, WIRE[kind], (0,), flats.get(kind, none))


# ---------------------------------------------------------------------------- missing records


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Values of all records, some of which are missing; without an object per value."""

    values: Any
    """Anything, or an empty row, where one is missing."""
    mask: BoolArray
    """True where it is missing."""

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.mask)

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the records."""
        return type(self)(self.values[rows], self.mask[rows])


class MaskedBytes(Masked):
    """One byte string per record, a BytesColumn."""

    __slots__ = ()
    dtype: np.dtype[Any] = np.dtype(object)

    @classmethod
    def of_rows(cls, rows: RaggedTensor) -> MaskedBytes:
        """Make them of rows with one byte string, or none where it is missing."""
        inner: Any = rows.values
        offsets = inner.offsets[rows.row_splits]
        return cls(BytesColumn(offsets, inner.data), np.diff(rows.row_splits) == 0)


class MaskedRows(Masked):
    """One row of any length per record, a RaggedTensor."""

    __slots__ = ()

    @property
    def flat_values(self) -> Any:
        """The values of all rows."""
        return self.values.flat_values


def values_and_mask(column: Any) -> tuple[Any, BoolArray | None]:
    """Return the values of all records, and which are missing; None for a column without a mask."""
    if isinstance(column, Masked):
        return column.values, column.mask
    if isinstance(column, np.ma.MaskedArray):
        mask: Any = np.ma.getmaskarray(column)
        return np.asarray(column.data), mask.any(axis=tuple(range(1, mask.ndim)))
    return column, None


class TextColumn(BytesColumn):
    """Texts in UTF-8, without an object per value: to schemas, what an array of ``str`` is."""

    __slots__ = ()

    def to_list(self) -> list[Any]:
        """Return the values as ``str``."""
        return list(map(bytes.decode, super().to_list()))


def missing_row_error(key: str, missing: BoolArray) -> InvalidArgumentError:
    """Return the error about the first missing record, where others are rows of any length."""
    detail = "a null among lists of any length would come back as an empty list; "
    detail += "fill it with [], drop the record, or pass a schema with a RaggedFeature, which takes it for []"
    return column_error(key, detail, int(missing.argmax()), Reason.UNREPRESENTABLE)


def masked_rows(rows: AnyArray, missing: BoolArray, fill: Any = b"") -> np.ma.MaskedArray[Any, Any]:
    """Return a masked array of all records, given which are missing and the rows of the others.

    `fill` is for objects; other dtypes have zeros where a record is missing.
    """
    whole = np.zeros((missing.size, *rows.shape[1:]), rows.dtype)
    if rows.dtype == object:
        whole[...] = fill
    whole[~missing] = rows
    masks = missing.reshape(-1, *[1] * (rows.ndim - 1))
    return np.ma.MaskedArray(whole, np.broadcast_to(masks, whole.shape).copy())


def row_of(column: Any, number: int) -> Any:
    """Return one record's part of a column, as an array or a column without the dimension of records."""
    if isinstance(column, SparseTensor):
        own = column.indices[:, 0] == number
        values = column.values[own]
        return SparseTensor(column.indices[own, 1:], values, column.dense_shape[1:])
    if isinstance(column, MaskedBytes):
        column = np.ma.MaskedArray(column.values.to_numpy(), column.mask)
    if isinstance(column, BytesColumn):
        column = column.to_numpy()
    # With an ellipsis a row without dimensions is an array, too.
    return column[number] if isinstance(column, RaggedTensor) else column[number, ...]


def with_values(column: Any, change: Callable[[Any], Any]) -> Any:
    """Return a column with its flat values changed one by one; rows and mask stay."""
    match column:
        case RaggedTensor():
            inner = with_values(column.values, change)
            return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
        case SparseTensor():
            return SparseTensor(column.indices, change(column.values), column.dense_shape)
        case Masked():
            return type(column)(with_values(column.values, change), column.mask)
        case np.ma.MaskedArray():
            data = change(np.asarray(column.data))
            return np.ma.MaskedArray(data, np.ma.getmaskarray(column))
        case _:
            return change(column)
