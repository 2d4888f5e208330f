"""Columns made of Python objects to columns made of arrays.

A list of numbers becomes an array, a list of lists a RaggedTensor, a list of arrays of one
shape an array with one more dimension; None among them masks a record. Byte strings and
texts stay objects, each kind by itself. What is an array already stays as it is.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.types import AMONG, refusal, refuse, refuse_deep, rows_of, unmasked
from tfrecord_lite.errors import Reason

_SEQUENCES = (list, tuple, np.ndarray)


def regular(key: str, column: Any) -> Any:
    """Return a column as an array, masked array, RaggedTensor, SparseTensor or BytesColumn.

    Parameters
    ----------
    key : str
        For errors.
    column : any column

    Returns
    -------
    column
        The same, if it is none of objects. An object array holds only ``bytes``, or only
        ``str``.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for objects of several kinds, for a missing record where the
        others vary in length, and for a missing value within a row; ``BAD_ARGUMENT`` for
        lists that are nested too deeply.
    """
    if isinstance(column, SparseTensor | BytesColumn):
        return column
    if isinstance(column, RaggedTensor):
        with rows_of(column.row_splits):
            inner = _whole(key, regular(key, column.values))
        return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
    if isinstance(column, np.ma.MaskedArray):
        if column.dtype.kind != "O":
            return column
        mask = np.ma.getmaskarray(column)
        items = column.data.copy()
        items[mask] = None
        refuse_deep(key, [items])
        return _of_objects(key, items.ravel().tolist(), column.shape)
    if isinstance(column, list | tuple):
        refuse_deep(key, column)
        return _of_objects(key, list(column), (len(column),))
    array = np.asarray(column)
    if array.ndim == 0:
        refuse(key, "a column needs a leading dimension, one row a record")
    if array.dtype.kind != "O":
        return array
    refuse_deep(key, [array])
    return _of_objects(key, array.ravel().tolist(), array.shape)


def _of_objects(key: str, items: list[Any], shape: tuple[int, ...]) -> Any:
    """Return objects as one array of a shape; or as rows, if they are sequences."""
    items = unmasked(key, items)
    mask = np.fromiter((item is None for item in items), np.bool_, len(items))
    kept = [item for item in items if item is not None] if mask.any() else items
    if any(isinstance(item, _SEQUENCES) for item in kept):
        return _of_sequences(key, kept, mask)
    values = _values(key, kept)
    if not mask.any():
        return values.reshape(shape)
    whole = np.full(len(items), b"" if values.dtype == object else 0, values.dtype)
    whole[~mask] = values
    return np.ma.MaskedArray(whole.reshape(shape), mask.reshape(shape))


def _values(key: str, items: list[Any]) -> AnyArray:
    """Return single values of one kind as an array."""
    types = set(map(type, items))
    for kinds in ((bytes, bytearray, memoryview), (str,)):
        if all(issubclass(cls, kinds) for cls in types):
            array = np.empty(len(items), object)
            array[:] = items if kinds == (str,) else list(map(bytes, items))
            return array
    numbers = (int, float, complex, np.generic)
    is_bool = {issubclass(cls, bool | np.bool) for cls in types}
    is_text = any(issubclass(cls, bytes | str) for cls in types)
    if not is_text and len(is_bool) == 1 and all(issubclass(cls, numbers) for cls in types):
        # NumPy makes float64 of large integers, and of some together with others.
        is_whole = all(issubclass(cls, int | np.integer | np.bool) for cls in types)
        is_large = is_whole and max(map(int, items)) >= 2**63 and min(map(int, items)) >= 0
        try:
            array = np.array(items, np.uint64 if is_large else None)
        except OverflowError:
            array = np.empty(0, object)
        is_same = len(types) == 1 and not is_whole
        if array.dtype.kind != "O" and (is_same or _equal(array.tolist(), items)):
            return array
    names = ", ".join(sorted(cls.__name__ for cls in types))
    raise refusal(
        key, f"values that no array holds together: {names}", None, Reason.UNREPRESENTABLE
    )


def _equal(values: list[Any], others: list[Any]) -> bool:
    """Whether numbers are the same, NaN and NaT included."""
    return all(a == b or (a != a and b != b) for a, b in zip(values, others, strict=True))  # noqa: PLR0124


def _of_sequences(key: str, rows: list[Any], mask: AnyArray) -> Any:
    """Return rows as a RaggedTensor; as an array, if all are arrays of one shape."""
    for row in rows:
        if not isinstance(row, _SEQUENCES) or (isinstance(row, np.ndarray) and row.ndim == 0):
            refuse(key, "single values and rows are mixed", None, Reason.UNREPRESENTABLE)
    arrays = [row for row in rows if isinstance(row, np.ndarray)]
    if len(arrays) == len(rows) and len({(a.shape, a.dtype) for a in arrays}) == 1:
        stacked = np.stack(arrays)
        if not mask.any():
            return regular(key, stacked)
        whole = np.zeros((mask.size, *stacked.shape[1:]), stacked.dtype)
        whole[~mask] = stacked
        spread = mask.reshape(-1, *[1] * (stacked.ndim - 1))
        return np.ma.MaskedArray(whole, np.broadcast_to(spread, whole.shape).copy())
    if mask.any():
        detail = "a missing record among rows of any length would come back as an empty row"
        refuse(key, detail, int(mask.argmax()), Reason.UNREPRESENTABLE)
    splits = row_splits(np.fromiter(map(len, rows), np.int64, len(rows)))
    if len(arrays) == len(rows):
        if len({(a.shape[1:], a.dtype) for a in arrays}) != 1:
            detail = "arrays of several dtypes, or of shapes that differ in more than the first"
            refuse(key, detail, None, Reason.UNREPRESENTABLE)
        with rows_of(splits):
            return RaggedTensor(_whole(key, regular(key, np.concatenate(arrays))), splits)
    values = list(chain.from_iterable(rows))
    with rows_of(splits):
        return RaggedTensor(_whole(key, _of_objects(key, values, (len(values),))), splits)


def _whole(key: str, values: Any) -> Any:
    """Return the values of rows, none of which may be missing: a row has nowhere to say so."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if mask.any():
            refuse(key, AMONG, int(np.argwhere(mask)[0][0]), Reason.UNREPRESENTABLE)
        return np.asarray(values.data)
    return values
