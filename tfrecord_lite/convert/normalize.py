"""normalize: columns of any form to value lists, or to arrays that keep what they are.

There is one pipeline, and two policies for Python's values in it::

                          lenient                        strict
    who asks              encode_example(s), write_...   schema_of, save
    gives                 value lists                    the column as arrays
    [True, 2]             int64 1, 2                     error: no array equals it
    [0.1, 2]              float32, 0.1 rounded           float64
    float64 arrays        float32, rounded               as they are
    [0.1, 2**53 + 1]      error: not exact in float32    error: nor in float64
    ["a", b"b"]           two byte strings               error
    [[1, [2]], [3]]       flattened: 1 2, 3              error
    [[[1], [2]], []]      flattened: 1 2, nothing        a RaggedTensor of two levels
    [None, 7]             missing, 7                     a masked array

Lenient accepts what protobuf does; strict accepts what would come back as it is. Arrays,
RaggedTensors, SparseTensors and BytesColumns are typed already: strict keeps them, lenient
converts them by their dtype. :mod:`.types` says what becomes of the values themselves.

Faster ways for some values (:mod:`tfrecord_lite.example.encode.one` and ``rows``, and the
steps of sequences) must agree with this one, which ``tests/convert/test_fast_paths.py`` checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.ragged import check_splits
from tfrecord_lite.convert.arrow import is_frame, open_series
from tfrecord_lite.convert.lists import (
    Lists,
    Masked,
    MaskedBytes,
    MaskedRows,
    masked_rows,
    missing_row_error,
    with_present,
)
from tfrecord_lite.convert.types import (
    MISSING_VALUE,
    array_of_objects,
    at_records,
    column_error,
    flat_list,
    has_any,
    list_of_objects,
    ranges_of,
    unmasked,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE

if TYPE_CHECKING:
    Policy: TypeAlias = Literal["lenient", "strict"]

_SEQUENCES = (list, tuple, np.ndarray)
_MAX_LEVELS = 64
"""Levels of nested lists; NumPy has no more dimensions either."""
_NO_RECORDS = "a column needs a leading dimension, with one row per record"
_MIXED = "single values and lists are mixed"


@overload
def normalize(key: str, column: Any, policy: Literal["lenient"] = "lenient") -> Lists: ...
@overload
def normalize(key: str, column: Any, policy: Literal["strict"]) -> Any: ...


def normalize(key: str, column: Any, policy: Policy = "lenient") -> Any:
    """Return a column as the value lists to write; strict: as arrays that keep what it is.

    Those are an array, masked array, RaggedTensor, SparseTensor, BytesColumn or MaskedBytes; an
    object array in it holds only ``bytes``, or only ``str``. Views where possible. Errors have `key` and, where one
    record is at fault, its `index`.
    """
    if not isinstance(column, _COLUMNS):
        opened = open_series(key, column)
        if opened is None and is_frame(column):
            try:
                return normalize(key, np.asarray(column), policy)
            except InvalidArgumentError as error:
                detail = f"{error.detail}; the columns of a data frame go beside the others, as in "
                detail += "{**df, 'image': images}, or **df.to_dict() of Polars"
                raise error.at(detail=detail) from None
        column = np.asarray(column) if opened is None else opened.values
    if policy == "strict":
        return _arrays(key, column)
    convert = next(convert for cls, convert in _TO_LISTS.items() if isinstance(column, cls))
    return convert(key, column)


def _check_depth(key: str, values: Collection[Any], n_levels: int = _MAX_LEVELS) -> None:
    """Reject sequences nested without end, or too deeply to recurse into them."""
    inner: dict[int, Any] = {}  # each object once: lists may hold themselves twice
    for sequence in values if has_any(values, _SEQUENCES) else ():
        if isinstance(sequence, np.ndarray):
            is_object = sequence.dtype.kind == "O"
            items: Any = np.asarray(sequence).ravel().tolist() if is_object else ()
        else:
            items = sequence if isinstance(sequence, _SEQUENCES) else ()
        if has_any(items, _SEQUENCES):
            inner |= {id(v): v for v in items if isinstance(v, _SEQUENCES)}
    if inner and n_levels == 1:
        raise column_error(key, f"values nested too deeply: more than {_MAX_LEVELS} levels")
    if inner:
        _check_depth(key, inner.values(), n_levels - 1)


# ------------------------------------------------------------------- lenient: to value lists


def _lists_of_array(key: str, array: AnyArray) -> Lists:
    if array.ndim == 0:
        raise column_error(key, _NO_RECORDS)
    if array.dtype.kind == "O":
        return _lists_of_objects(key, array)
    n_records = len(array)
    count = array.size // n_records if n_records else int(np.prod(array.shape[1:], dtype=np.int64))
    starts = np.arange(n_records + 1, dtype=np.int64) * count
    kind, flat = flat_list(key, array, starts)
    return Lists(n_records, WIRE[kind], (count,), flat)


def _lists_of_masked(key: str, column: np.ma.MaskedArray[Any, Any]) -> Lists:
    if column.dtype.names is not None:
        return _lists_of_array(key, np.asarray(column.data))
    present = present_records(key, column)
    if present is None:
        return normalize(key, np.asarray(column.data))
    data = column.data.copy()
    # Masked values may be anything, and are not looked at.
    fill = np.zeros(1, data.dtype)
    if data.dtype.kind == "O":
        fill[0] = _filler(data[present].ravel().tolist())
    data[~present] = fill
    return with_present(normalize(key, data), present)


def present_records(key: str, column: np.ma.MaskedArray[Any, Any]) -> BoolArray | None:
    """Return which records of a masked array are there, None for all; none may be so in part."""
    if column.ndim == 0 or not column.size or column.mask is np.ma.nomask:
        return None
    mask = np.ma.getmaskarray(column).reshape(len(column), -1)
    missing = mask.all(axis=1)
    partly = np.flatnonzero(mask.any(axis=1) != missing)
    if partly.size:
        detail = "some values of the record are masked; a feature is there, or missing, as a whole"
        raise column_error(key, detail, int(partly[0]), Reason.UNREPRESENTABLE)
    return np.logical_not(missing) if missing.any() else None


def _lists_of_ragged(key: str, column: RaggedTensor) -> Lists:
    values: Any = column
    splits = np.arange(len(column) + 1)
    while isinstance(values, RaggedTensor):
        inner = values.row_splits.astype(np.int64)
        try:
            check_splits(inner, len(values.values))
        except InvalidArgumentError as error:
            raise column_error(key, error.detail or "", None, Reason.BAD_PARTITION) from None
        splits, values = inner[splits], values.values
    if not isinstance(values, BytesColumn):
        splits = splits * int(np.prod(values.shape[1:], dtype=np.int64))
    kind, flat = flat_list(key, values, splits)
    return Lists(splits.size - 1, WIRE[kind], (np.diff(splits),), flat)


def _lists_of_sparse(key: str, column: SparseTensor) -> Lists:
    """Take what a VarLenFeature gives: rows of values without gaps."""
    if column.rank != 2:
        detail = "only a SparseTensor of rank 2 is one feature; give a schema with a SparseFeature"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    n_records = column.shape[0]
    order = np.argsort(column.indices[:, 0], kind="stable")
    records, places = column.indices[order].T
    if records.size and not 0 <= records[0] <= records[-1] < n_records:
        raise column_error(key, "an index is outside of dense_shape", None, Reason.BAD_INDEX)
    counts = np.bincount(records, minlength=n_records).astype(np.int64)
    splits = row_splits(counts)
    gaps = np.flatnonzero(places != np.arange(records.size) - np.repeat(splits[:-1], counts))
    if gaps.size:
        detail = (
            "the indices leave gaps or are out of order, which a list cannot hold; "
            "give a schema with a SparseFeature, as schema_of(columns) does"
        )
        raise column_error(key, detail, int(records[gaps[0]]), Reason.UNREPRESENTABLE)
    kind, flat = flat_list(key, column.values.take(order), splits)
    return Lists(n_records, WIRE[kind], (counts,), flat)


def _lists_of_objects(key: str, column: Any) -> Lists:
    """Take one object per record, a scalar or a sequence, and None for a missing one."""
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
            raise column_error(key, MISSING_VALUE, index, Reason.UNREPRESENTABLE)
        present = np.fromiter((item is not None for item in items), np.bool_, n_records)
        types.discard(type(None))
        fill = _filler(items)
        items = [fill if item is None else item for item in items]
    if any(issubclass(cls, _SEQUENCES) for cls in types):
        return with_present(_lists_of_sequences(key, items), present)
    splits = np.arange(n_records + 1, dtype=np.int64) * count
    if isinstance(column, np.ndarray) and not items:
        kind, flat = flat_list(key, column, splits)
    else:
        kind, flat = list_of_objects(key, items, types, splits)
    return Lists(n_records, WIRE[kind], (count,), flat, present)


def _filler(items: list[Any]) -> Any:
    """Return a value that goes with others, for where one is missing; it is not written."""
    first = next((item for item in items if item is not None), b"")
    if isinstance(first, np.ndarray):
        return np.zeros(0, first.dtype)
    if isinstance(first, list | tuple | str | bytes | bytearray | memoryview):
        return first[:0]
    if isinstance(first, np.generic) and not isinstance(first, np.bool):
        return np.zeros((), first.dtype)[()]
    return 0.0 if isinstance(first, float) else 0


def _lists_of_sequences(key: str, items: list[Any]) -> Lists:
    """Take one sequence per record, of any length; deeper levels are flattened."""
    for i, item in enumerate(items):
        if not isinstance(item, _SEQUENCES):
            raise column_error(key, _MIXED, i, Reason.UNREPRESENTABLE)
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    if (
        len(arrays) == len(items)
        and len({a.dtype for a in arrays}) == 1
        and arrays[0].dtype != object
    ):
        counts = np.array([item.size for item in items], np.int64)
        joined = np.concatenate([item.ravel() for item in items])
        kind, flat = flat_list(key, joined, row_splits(counts))
        return Lists(len(items), WIRE[kind], (counts,), flat)
    lists = [flattened(key, item) for item in items]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = list(chain.from_iterable(lists))
    kind, flat = list_of_objects(key, values, set(map(type, values)), row_splits(counts))
    return Lists(len(items), WIRE[kind], (counts,), flat)


def flattened(key: str, item: Any) -> list[Any]:
    """Return the values of nested sequences, end to end; those of arrays as NumPy's scalars."""
    values = _opened(item)
    if has_any(values, _SEQUENCES):
        _check_depth(key, values)
    while has_any(values, _SEQUENCES):
        parts = (_opened(v) if isinstance(v, _SEQUENCES) else [v] for v in values)
        values = list(chain.from_iterable(parts))
    return values


def _opened(item: Any) -> list[Any]:
    """Return the items of a sequence, with None for what is masked."""
    if isinstance(item, np.ma.MaskedArray) and item.dtype.names is None:
        masks = np.ma.getmaskarray(item).ravel().tolist()
        pairs = zip(np.asarray(item.data).ravel(), masks, strict=True)
        return [None if is_masked else value for value, is_masked in pairs]
    if isinstance(item, np.ndarray):
        return list(np.asarray(item).ravel())
    return list(item)


_TO_LISTS: dict[type, Callable[[str, Any], Lists]] = {
    np.ma.MaskedArray: _lists_of_masked,
    np.ndarray: _lists_of_array,
    RaggedTensor: _lists_of_ragged,
    SparseTensor: _lists_of_sparse,
    BytesColumn: lambda _, column: Lists(len(column), WIRE[Kind.BYTES], (1,), ranges_of(column)),
    Masked: lambda key, c: with_present(normalize(key, c.values), ~c.mask),
    list: _lists_of_objects,
    tuple: _lists_of_objects,
}


_COLUMNS = tuple(_TO_LISTS)


# ------------------------------------------------------------------------ strict: to arrays


def _arrays(key: str, column: Any) -> Any:
    """Return a column as an array, masked array, RaggedTensor, SparseTensor or strings."""
    if isinstance(column, SparseTensor | BytesColumn | MaskedBytes):
        return column
    if isinstance(column, MaskedRows):
        raise missing_row_error(key, column.mask)
    if isinstance(column, RaggedTensor):
        with at_records(column.row_splits):
            inner = _without_missing(key, _arrays(key, column.values))
        return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
    if isinstance(column, np.ma.MaskedArray):
        if column.dtype.kind != "O":
            return column
        items = column.data.copy()
        items[np.ma.getmaskarray(column)] = None
        column = items
    if isinstance(column, list | tuple):
        _check_depth(key, column)
        return _array_of_objects(key, list(column), (len(column),))
    array = np.asarray(column)
    if array.ndim == 0:
        raise column_error(key, _NO_RECORDS)
    if array.dtype.kind != "O":
        return array
    _check_depth(key, [array])
    return _array_of_objects(key, array.ravel().tolist(), array.shape)


def _array_of_objects(key: str, items: list[Any], shape: tuple[int, ...]) -> Any:
    """Return objects as one array of a shape, or as rows if they are sequences."""
    items = unmasked(key, items)
    if np.ndarray in set(map(type, items)):  # those without dimensions are scalars
        items = [
            item[()] if isinstance(item, np.ndarray) and not item.ndim else item for item in items
        ]
    mask = np.fromiter((item is None for item in items), np.bool_, len(items))
    kept = [item for item in items if item is not None] if mask.any() else items
    if has_any(kept, _SEQUENCES):
        return _array_of_sequences(key, kept, mask)
    try:
        values = array_of_objects(kept)
    except InvalidArgumentError as error:
        index = error.index
        if index is not None:  # of a value; records have one, or those of the other dimensions
            index = int(np.flatnonzero(~mask)[index]) // max(math.prod(shape[1:]), 1)
        raise error.at(index=index, key=key) from None
    return masked_rows(values, mask).reshape(shape) if mask.any() else values.reshape(shape)


def _array_of_sequences(key: str, rows: list[Any], mask: BoolArray) -> Any:
    """Return rows as a RaggedTensor; as an array, if all are arrays of one shape.

    The mask says which of all records are missing; they are not among the rows.
    """
    for i, row in enumerate(rows):
        if not isinstance(row, _SEQUENCES):
            raise column_error(key, _MIXED, int(np.flatnonzero(~mask)[i]), Reason.UNREPRESENTABLE)
    arrays = [row for row in rows if isinstance(row, np.ndarray)]
    if len(arrays) == len(rows) and len({(a.shape, _joinable(a.dtype)) for a in arrays}) == 1:
        stacked = np.stack(arrays)
        if mask.any() and not stacked.size:  # nothing would tell missing records from empty ones
            raise missing_row_error(key, mask)
        return masked_rows(stacked, mask) if mask.any() else _arrays(key, stacked)
    if mask.any():
        raise missing_row_error(key, mask)
    splits = row_splits(np.fromiter(map(len, rows), np.int64, len(rows)))
    with at_records(splits):
        if len(arrays) < len(rows):
            values = list(chain.from_iterable(rows))
            flat = _array_of_objects(key, values, (len(values),))
        elif len({(a.shape[1:], _joinable(a.dtype)) for a in arrays}) == 1:
            flat = _arrays(key, np.concatenate(arrays))
        else:
            detail = "arrays of several dtypes, or of shapes that differ in more than the first"
            raise column_error(key, detail, None, Reason.UNREPRESENTABLE)
        return RaggedTensor(text_objects(_without_missing(key, flat)), splits)


def _joinable(dtype: np.dtype[Any]) -> Any:
    """Return what arrays have in common that can be joined: a dtype, or strings of any width."""
    return dtype.kind if dtype.kind in "SU" else dtype


def text_objects(values: Any) -> Any:
    """Return arrays of text as objects: a RaggedTensor would make byte strings of them."""
    is_text = isinstance(values, np.ndarray) and values.dtype.kind in "UT"
    return values.astype(object) if is_text else values


def _without_missing(key: str, values: Any) -> Any:
    """Return the values of rows; none may be missing, since a row has no way to say so."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if mask.any():
            index = int(np.argwhere(mask)[0][0])
            raise column_error(key, MISSING_VALUE, index, Reason.UNREPRESENTABLE)
        return np.asarray(values.data)
    return values
