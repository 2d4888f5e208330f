"""Columns of any form to the value lists of a feature: what NumPy and Python have, as lists.

An array, a masked array, a RaggedTensor, a SparseTensor, a BytesColumn and a list all are
values end to end, and how many of them each record has. What the values may be is the
business of :mod:`.runs`; here a value that would not come back gets the number of its record.

Nothing here knows of schemas, or of bytes on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.partitions import check_splits
from tfrecord_lite.convert.types import (
    AMONG,
    Flat,
    LargeStrings,
    Strings,
    bytes_run,
    object_run,
    refuse,
    refuse_deep,
    run,
    strings_of,
    unmasked,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    Counts: TypeAlias = Int64Array | int


@dataclass(frozen=True, slots=True, eq=False)
class Outgoing:
    """One feature of N records, as it is to be written."""

    n_records: int
    kind: Kind | None
    """None where there are no values at all to tell: the feature is written without a kind."""
    counts: Counts
    """Values of each record, int64, shape (n_records,); a plain number if all have as many."""
    flat: Any
    """int64 or float32, shape (n_values,), Strings or LargeStrings: the values of all records end to end, also of those that are to go without."""
    present: BoolArray | None = None
    """Which records have the feature; None for all."""

    @property
    def is_single(self) -> bool:
        """Whether every record has one value."""
        return isinstance(self.counts, int) and self.counts == 1

    @property
    def n_bytes(self) -> int:
        """About how many bytes the values take."""
        if isinstance(self.flat, Strings | LargeStrings):
            return int(self.flat.lengths.sum())
        return int(self.flat.nbytes)

    def part(self, first: int, last: int) -> Outgoing:
        """Return the lists of some of the records; views."""
        if isinstance(self.counts, int):
            counts: Counts = self.counts
            low, high = first * counts, last * counts
        else:
            counts = self.counts[first:last]
            low = int(self.counts[:first].sum())
            high = low + int(counts.sum())
        flat = self.flat
        if isinstance(flat, Strings):
            flat = Strings(flat.data, flat.starts[low:high], flat.lengths[low:high])
        elif isinstance(flat, LargeStrings):
            flat = LargeStrings(flat.items[low:high], flat.lengths[low:high])
        else:
            flat = flat[low:high]
        present = None if self.present is None else self.present[first:last]
        return Outgoing(last - first, self.kind, counts, flat, present)

    def counts_array(self) -> Int64Array:
        """Return the counts as an array."""
        return np.broadcast_to(np.asarray(self.counts, np.int64), (self.n_records,))


def outgoing(key: str, column: Any) -> Outgoing:
    """Turn a column into the lists that will be written.

    Parameters
    ----------
    key : str
        The feature, for errors.
    column : array-like, RaggedTensor, SparseTensor, BytesColumn, list
        With a leading record dimension; see the head of this module.

    Returns
    -------
    Outgoing
        Views of the column's memory where that is possible.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for a value that would not come back, ``BAD_ARGUMENT`` for a
        column without records or with splits that do not fit, each with `key` and, where
        one record is at fault, its `index`; ``UNSUPPORTED`` for a dtype without a list.
    """
    for cls, convert in _CONVERTERS.items():
        if isinstance(column, cls):
            return convert(key, column)
    return _from_array(key, np.asarray(column))


def empty(n_records: int, kind: Kind) -> Outgoing:
    """Return an empty list of a kind for each record."""
    none = np.zeros(0, np.int64)
    strings = Strings(np.zeros(0, np.uint8), none, none)
    flats: dict[Kind, Flat] = {Kind.BYTES: strings, Kind.FLOAT: none.astype(np.float32)}
    return Outgoing(n_records, kind, 0, flats.get(kind, none))


def exact_floats(key: str, out: Outgoing) -> Outgoing:
    """Return integers as floats, where they are to be that.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for one that no float32 holds.
    """
    whole: Any = out.flat
    narrow = whole.astype(np.float32)
    # Not compared as they are: NumPy would round the integers for that.
    fits = narrow < 2.0**63
    fits &= np.where(fits, narrow, 0).astype(np.int64) == whole
    splits = row_splits(out.counts_array())
    wrong = np.flatnonzero(~fits)
    if wrong.size:
        index = int(np.searchsorted(splits, wrong[0], "right")) - 1
        refuse(key, "an integer that no float32 holds", index, Reason.UNREPRESENTABLE)
    return replace(out, kind=Kind.FLOAT, flat=narrow)


# -------------------------------------------------------------------- one converter a class


def _from_array(key: str, array: AnyArray) -> Outgoing:
    if array.ndim == 0:
        refuse(key, "a column needs a leading dimension, one row a record")
    if array.dtype.kind == "O":
        return _from_objects(key, array)
    n_records = len(array)
    count = array.size // n_records if n_records else int(np.prod(array.shape[1:], dtype=np.int64))
    starts = np.arange(n_records + 1, dtype=np.int64) * count
    kind, flat = run(key, array, starts)
    return Outgoing(n_records, kind, count, flat)


def _from_masked(key: str, column: np.ma.MaskedArray[Any, Any]) -> Outgoing:
    if column.dtype.names is not None:
        return _from_array(key, np.asarray(column.data))
    present = _present(key, column)
    if present is None:
        return outgoing(key, np.asarray(column.data))
    data = column.data.copy()
    # What is masked may be anything, and is looked at no more.
    data[~present] = b"" if data.dtype.kind == "O" else np.zeros((), data.dtype)
    return replace(outgoing(key, data), present=present)


def _present(key: str, column: np.ma.MaskedArray[Any, Any]) -> BoolArray | None:
    """Say which records of a masked array are there; a record is masked as a whole."""
    if column.ndim == 0 or not column.size or column.mask is np.ma.nomask:
        return None
    mask = np.ma.getmaskarray(column).reshape(len(column), -1)
    missing = mask.all(axis=1)
    partly = np.flatnonzero(mask.any(axis=1) != missing)
    if partly.size:
        detail = "some values of the record are masked; a feature is there, or missing, as a whole"
        refuse(key, detail, int(partly[0]), Reason.UNREPRESENTABLE)
    return np.logical_not(missing) if missing.any() else None


def _from_ragged(key: str, column: RaggedTensor) -> Outgoing:
    splits, values = column.row_splits.astype(np.int64), column.values
    _check_splits(key, splits, len(values))
    while isinstance(values, RaggedTensor):
        inner = values.row_splits.astype(np.int64)
        _check_splits(key, inner, len(values.values))
        splits, values = inner[splits], values.values
    if not isinstance(values, BytesColumn):
        splits = splits * int(np.prod(values.shape[1:], dtype=np.int64))
    kind, flat = run(key, values, splits)
    return Outgoing(splits.size - 1, kind, np.diff(splits), flat)


def _check_splits(key: str, splits: Int64Array, n_values: int) -> None:
    try:
        check_splits(splits, n_values)
    except InvalidArgumentError as error:
        refuse(key, error.detail or "", None, Reason.BAD_PARTITION)


def _from_sparse(key: str, column: SparseTensor) -> Outgoing:
    """Take what a VarLenFeature gives: rows of values without gaps."""
    if column.rank != 2:
        detail = (
            "a SparseTensor of rank 2 is a feature; for others give a schema with SparseFeature"
        )
        refuse(key, detail, None, Reason.UNSUPPORTED)
    n_records = column.shape[0]
    order = np.argsort(column.indices[:, 0], kind="stable")
    records, places = column.indices[order].T
    if records.size and not 0 <= records[0] <= records[-1] < n_records:
        refuse(key, "an index is outside of dense_shape", None, Reason.BAD_INDEX)
    counts = np.bincount(records, minlength=n_records).astype(np.int64)
    splits = row_splits(counts)
    gaps = np.flatnonzero(places != np.arange(records.size) - np.repeat(splits[:-1], counts))
    if gaps.size:
        detail = (
            "the indices leave gaps or are out of order, which a list cannot hold; "
            "give a schema with SparseFeature, as schema_of(columns) does"
        )
        refuse(key, detail, int(records[gaps[0]]), Reason.UNREPRESENTABLE)
    in_order = np.array_equal(order, np.arange(order.size))
    values = column.values
    if not in_order:
        values = values.take(order)
    kind, flat = run(key, values, splits)
    return Outgoing(n_records, kind, counts, flat)


def _from_bytes_column(key: str, column: BytesColumn) -> Outgoing:  # noqa: ARG001
    return Outgoing(len(column), Kind.BYTES, 1, strings_of(column))


def _from_objects(key: str, column: Any) -> Outgoing:
    """Take objects, one a record: scalars or sequences of one kind, and None for missing."""
    if isinstance(column, np.ndarray):
        shape = column.shape
        items = column.ravel().tolist() if column.ndim > 1 else list(column)
        count = int(np.prod(shape[1:], dtype=np.int64))
        n_records = shape[0]
    else:
        items, count, n_records = list(column), 1, len(column)
    items = unmasked(key, items)
    types = set(map(type, items))
    present = None
    if type(None) in types:
        if count != 1:
            index = items.index(None) // count
            refuse(key, AMONG, index, Reason.UNREPRESENTABLE)
        present = np.fromiter((item is not None for item in items), np.bool_, n_records)
        types.discard(type(None))
        fill = _filler(types)
        items = [fill if item is None else item for item in items]
    if any(issubclass(cls, list | tuple | np.ndarray) for cls in types):
        nested = _from_nested(key, items)
        return replace(nested, present=present)
    splits = np.arange(n_records + 1, dtype=np.int64) * count
    if isinstance(column, np.ndarray) and not items:
        kind, flat = bytes_run(items)
    else:
        kind, flat = object_run(key, items, types, splits)
    return Outgoing(n_records, kind, count, flat, present)


def _filler(types: set[type]) -> Any:
    """Return what stands for None among values of some types; it is not written."""
    for cls in types:
        if issubclass(cls, list | tuple | np.ndarray):
            return ()
        if issubclass(cls, str | bytes | bytearray | memoryview):
            return cls() if cls is str else b""
    return 0 if any(issubclass(t, int | np.integer) for t in types) else 0.0 if types else b""


def _from_nested(key: str, items: list[Any]) -> Outgoing:
    """Take a sequence a record, of any length; deeper levels are flattened."""
    for i, item in enumerate(items):
        if not isinstance(item, list | tuple | np.ndarray):
            refuse(key, "single values and lists are mixed", i, Reason.UNREPRESENTABLE)
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    if (
        len(arrays) == len(items)
        and len({a.dtype for a in arrays}) == 1
        and arrays[0].dtype != object
    ):
        counts = np.array([item.size for item in items], np.int64)
        joined = np.concatenate([item.ravel() for item in items])
        kind, flat = run(key, joined, row_splits(counts))
        return Outgoing(len(items), kind, counts, flat)
    lists = [_flattened(key, item) for item in items]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = list(chain.from_iterable(lists))
    kind, flat = object_run(key, values, set(map(type, values)), row_splits(counts))
    return Outgoing(len(items), kind, counts, flat)


def _flattened(key: str, item: Any) -> list[Any]:
    """Return the values of nested sequences, end to end; those of arrays as NumPy's scalars."""
    values = _opened(item)
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        refuse_deep(key, values)
    while any(isinstance(value, list | tuple | np.ndarray) for value in values):
        parts = (_opened(v) if isinstance(v, list | tuple | np.ndarray) else [v] for v in values)
        values = list(chain.from_iterable(parts))
    return values


def _opened(item: Any) -> list[Any]:
    """Return what is in a sequence, with None for what is masked."""
    if isinstance(item, np.ma.MaskedArray) and item.dtype.names is None:
        masks = np.ma.getmaskarray(item).ravel().tolist()
        pairs = zip(np.asarray(item.data).ravel(), masks, strict=True)
        return [None if is_masked else value for value, is_masked in pairs]
    if isinstance(item, np.ndarray):
        return list(np.asarray(item).ravel())
    return list(item)


_CONVERTERS: dict[type, Callable[[str, Any], Outgoing]] = {
    np.ma.MaskedArray: _from_masked,
    np.ndarray: _from_array,
    RaggedTensor: _from_ragged,
    SparseTensor: _from_sparse,
    BytesColumn: _from_bytes_column,
    list: _from_objects,
    tuple: _from_objects,
}
