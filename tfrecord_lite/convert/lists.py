"""Value lists: one feature of many records, as it is to be written.

::

    column      [[5, 6], None, [7]]
    flat        5 6 7                 int64, float32 or byte strings, end to end
    counts      2 0 1                 values per record
    present     yes no yes            which records have the feature

:mod:`.normalize` makes them of columns. No schemas or wire format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteRanges, Int64Array, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.types import ByteItems, Flat, column_error, inexact_integers, record_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    Counts: TypeAlias = Int64Array | int


@dataclass(frozen=True, slots=True, eq=False)
class ValueLists:
    """One feature of many records, as it is to be written."""

    n_records: int
    kind: Kind | None
    """None where there are no values to tell it: the feature is written without a kind."""
    counts: Counts
    """Values of each record, int64, shape (n_records,); a plain int if all have as many."""
    flat: Any
    """The values of all records end to end, also of those that go without the feature: int64
    or float32, shape (n_values,), ByteRanges or ByteItems."""
    present: BoolArray | None = None
    """Which records have the feature; None for all."""

    @property
    def is_single(self) -> bool:
        """Whether every record has one value."""
        return isinstance(self.counts, int) and self.counts == 1

    @property
    def n_bytes(self) -> int:
        """About how many bytes the values take."""
        if isinstance(self.flat, ByteRanges | ByteItems):
            return int(self.flat.lengths.sum())
        return int(self.flat.nbytes)

    def part(self, first: int, last: int) -> ValueLists:
        """Return the lists of some of the records; views."""
        if isinstance(self.counts, int):
            counts: Counts = self.counts
            low, high = first * counts, last * counts
        else:
            counts = self.counts[first:last]
            low = int(self.counts[:first].sum())
            high = low + int(counts.sum())
        flat = self.flat
        if isinstance(flat, ByteRanges):
            flat = ByteRanges(flat.data, flat.starts[low:high], flat.lengths[low:high])
        elif isinstance(flat, ByteItems):
            flat = ByteItems(flat.items[low:high], flat.lengths[low:high])
        else:
            flat = flat[low:high]
        present = None if self.present is None else self.present[first:last]
        return ValueLists(last - first, self.kind, counts, flat, present)

    def counts_array(self) -> Int64Array:
        """Return the counts as an array."""
        return np.broadcast_to(np.asarray(self.counts, np.int64), (self.n_records,))

    def splits(self) -> Int64Array:
        """Return where each record's values start in `flat`, and the last record's end."""
        return row_splits(self.counts_array())

    def as_floats(self, key: str) -> ValueLists:
        """Return integers as floats; UNREPRESENTABLE for one that float32 does not hold."""
        narrow = self.flat.astype(np.float32)
        wrong = np.flatnonzero(inexact_integers(self.flat, narrow))
        if wrong.size:
            index = record_of(self.splits(), int(wrong[0]))
            detail = "this integer is not exact in float32"
            raise column_error(key, detail, index, Reason.UNREPRESENTABLE)
        return replace(self, kind=Kind.FLOAT, flat=narrow)


def empty_lists(n_records: int, kind: Kind) -> ValueLists:
    """Return an empty list of a kind for each record."""
    none = np.zeros(0, np.int64)
    strings = ByteRanges(np.zeros(0, np.uint8), none, none)
    flats: dict[Kind, Flat] = {Kind.BYTES: strings, Kind.FLOAT: none.astype(np.float32)}
    return ValueLists(n_records, kind, 0, flats.get(kind, none))


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
