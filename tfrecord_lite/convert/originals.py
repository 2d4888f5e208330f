"""What columns were before they were stored, and the way there and back.

===============================  ====================================================
original                         stored as
===============================  ====================================================
bool, integers up to 63 bits     int64 list
uint64                           int64 list, in two's complement
float16, bfloat16, float32       float list
datetime64, timedelta64          int64 list: counts of the unit, NaT too
float64, complex                 raw: little-endian bytes, one string a row of values
float64, in a float32 feature    float list, rounded: who writes such a schema asks for it
``S``, ``U``, StringDType, str   bytes list, UTF-8
===============================  ====================================================

A column is changed here in place of its flat values, whatever divides those into rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.normalize import regular
from tfrecord_lite.convert.types import LargeStrings, Strings, refuse, ticks
from tfrecord_lite.errors import Reason
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.schema import Original

__all__ = [
    "RAW",
    "from_raw",
    "from_stored",
    "is_raw",
    "original_dtype",
    "outside",
    "to_raw",
    "to_storable",
    "too_long",
    "with_values",
]

RAW = frozenset({"float64", "complex64", "complex128"})
"""The dtypes that are stored as their bytes, unless they are asked to be rounded."""


def original_dtype(name: str) -> np.dtype[Any]:
    """Return a dtype by the name an Original has for it.

    Raises
    ------
    ImportError
        For bfloat16, if ml_dtypes is not installed.
    """
    found: np.dtype[Any]
    if name != "bfloat16":
        found = np.dtype(object if name == "string" else name)
        return found
    try:
        from ml_dtypes import bfloat16  # noqa: PLC0415 - an extra
    except ImportError:
        hint = "bfloat16 needs ml_dtypes: pip install 'tfrecord-numpy[dtypes]'"
        raise ImportError(hint) from None
    found = np.dtype(bfloat16)
    return found


def is_raw(original: Original | None, kind: Kind) -> bool:
    """Whether values are stored as their bytes: numbers in a feature of strings."""
    return original is not None and kind is Kind.BYTES and original.dtype != "string"


def with_values(column: Any, change: Callable[[Any], Any]) -> Any:
    """Return a column with its flat values changed one by one; rows and mask stay."""
    match column:
        case RaggedTensor():
            inner = with_values(column.values, change)
            return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
        case SparseTensor():
            return SparseTensor(column.indices, change(column.values), column.dense_shape)
        case np.ma.MaskedArray():
            data = change(np.asarray(column.data))
            return np.ma.MaskedArray(data, np.ma.getmaskarray(column))
        case _:
            return change(column)


# ---------------------------------------------------------------------------------- storing


def to_storable(key: str, column: Any, original: Original, kind: Kind) -> Any:
    """Return a column as numbers that a list holds, where its own are none.

    Parameters
    ----------
    key : str
        For errors.
    column : any column
    original : Original
    kind : Kind
        Of the list.
    """
    change = _STORABLE.get((kind, original.dtype.partition("[")[0]))
    return column if change is None else with_values(regular(key, column), change)


def _rounded(values: Any) -> Any:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(np.float32) if values.dtype.kind == "f" else values


def _wrapped(values: Any) -> Any:
    return values.astype(np.uint64).view(np.int64) if values.dtype.kind == "u" else values


def _ticks(values: Any) -> Any:
    return ticks(values) if values.dtype.kind in "Mm" else values


_STORABLE: dict[tuple[Kind, str], Callable[[Any], Any]] = {
    (Kind.FLOAT, "float64"): _rounded,
    (Kind.INT64, "uint64"): _wrapped,
    (Kind.INT64, "datetime64"): _ticks,
    (Kind.INT64, "timedelta64"): _ticks,
}


def to_raw(key: str, column: Any, original: Original) -> Any:
    """Return a column of byte strings: of each innermost row its values, little-endian.

    Parameters
    ----------
    key : str
        For errors.
    column : ndarray, masked array, RaggedTensor or SparseTensor
    original : Original
        Of the dtype to store.

    Returns
    -------
    BytesColumn, masked array, RaggedTensor or SparseTensor
    """
    dtype = original_dtype(original.dtype).newbyteorder("<")
    values: Any
    match column:
        case RaggedTensor(values=RaggedTensor()):
            inner = to_raw(key, column.values, original)
            return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
        case RaggedTensor():
            values = _as_dtype(key, column.values, dtype)
            n_bytes = dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
            return BytesColumn(column.row_splits.astype(np.int64) * n_bytes, _bytes_of(values))
        case SparseTensor():
            values = _strings(_as_dtype(key, column.values, dtype))
            return SparseTensor(column.indices, values, column.dense_shape)
        case np.ma.MaskedArray():
            n_values = int(np.prod(column.shape[1:], dtype=np.int64))
            mask = np.ma.getmaskarray(column).reshape(len(column), n_values)
            strings = _strings(_as_dtype(key, np.asarray(column.data), dtype))
            missing = mask.all(axis=1) if mask.shape[1] else np.zeros(len(mask), np.bool_)
            if (mask.any(axis=1) != missing).any():
                detail = "some values of the record are masked, not all"
                index = int((mask.any(axis=1) != missing).argmax())
                refuse(key, detail, index, Reason.UNREPRESENTABLE)
            return np.ma.MaskedArray(strings.to_numpy(), missing)
        case _:
            return _strings(_as_dtype(key, np.asarray(column), dtype))


def _as_dtype(key: str, values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return values as a dtype that holds all of them exactly."""
    if values.dtype != dtype and not np.can_cast(values.dtype, dtype, "safe"):
        detail = f"the schema stores {dtype.name}, the column is {values.dtype.name}"
        refuse(key, detail, None, Reason.WRONG_KIND)
    return np.ascontiguousarray(values.astype(dtype, copy=False))


def _bytes_of(values: np.ndarray[Any, Any]) -> Any:
    return values.reshape(-1).view(np.uint8)


def _strings(values: np.ndarray[Any, Any]) -> BytesColumn:
    """Return the bytes of each row."""
    n_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    return BytesColumn(np.arange(len(values) + 1, dtype=np.int64) * n_bytes, _bytes_of(values))


# ---------------------------------------------------------------------------------- restoring


def from_stored(key: str, values: Any, original: Original) -> Any:
    """Return flat values as they were before :func:`to_storable`.

    Parameters
    ----------
    key : str
        For errors.
    values : ndarray or BytesColumn, any shape
        Of int64, float32 or byte strings.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a string that is not UTF-8 where texts are expected;
        ``UNREPRESENTABLE`` for a value that the original's dtype does not have, with the
        number of its row in `index`.
    """
    if original.dtype == "string":
        return _texts(key, values, original.text)
    dtype = original_dtype(original.dtype)
    wrong = outside(values, original)
    if wrong is not None:
        number = int(np.argwhere(wrong)[0][0])
        detail = (
            f"{values[wrong].flat[0]} was no {dtype.name}, which the schema says it was; "
            "leave out restore, or give a schema with an Original of a wider dtype"
        )
        refuse(key, detail, number, Reason.UNREPRESENTABLE)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(dtype)  # int64 to uint64 undoes two's complement


def outside(values: Any, original: Original) -> np.ndarray[Any, Any] | None:
    """Return which of the numbers that are stored the original's dtype does not have.

    Parameters
    ----------
    values : ndarray of int64 or float32, any shape
    original : Original
        Of numbers.

    Returns
    -------
    ndarray of bool, of the shape of `values`, or None
        None if all fit; a float that is rounded does, one that would become infinite not.
    """
    dtype = original_dtype(original.dtype)
    is_whole = values.dtype.kind in "iu"
    if dtype.name in ("float16", "bfloat16"):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            wrong = np.isinf(values.astype(dtype)) & np.isfinite(values)
    elif dtype.kind not in "biu" or (is_whole and dtype.itemsize == 8):  # two's complement
        return None
    elif is_whole:
        low, high = _limits(dtype)
        if not values.size or (values.min() >= low and values.max() <= high):
            return None
        wrong = (values < low) | (values > high)
    else:
        low, high = _limits(dtype)
        # Not `<= high`: a float32 has no number just below 2**63.
        wrong = ~((values >= low) & (values < high + 1) & (values == np.trunc(values)))
    return wrong if wrong.any() else None


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _texts(key: str, values: Any, text: str | None) -> Any:
    if text is None:
        return values
    array = values.to_numpy() if isinstance(values, BytesColumn) else values
    if text.startswith("S"):
        _check_width(key, array, text)
        return array.astype(text)
    flat = array.reshape(-1)
    decoded = np.empty(flat.size, object)
    decoded[:] = BytesColumn.from_list(flat).to_string_dtype().tolist()
    if text.startswith("U"):
        _check_width(key, decoded.reshape(array.shape), text)
    dtype = np.dtype(object if text == "str" else np.dtypes.StringDType() if text == "T" else text)
    return decoded.astype(dtype).reshape(array.shape)


def too_long(strings: Strings | LargeStrings, text: str | None) -> np.ndarray[Any, Any] | None:
    """Return which strings are longer than their original; None if none is."""
    if text is None or text[0] not in "SU":
        return None
    width = int(text[1:])
    wrong = strings.lengths > width
    if text[0] == "U" and wrong.any():  # in bytes; now in code points
        strings = strings.joined() if isinstance(strings, LargeStrings) else strings
        is_first = (strings.data & 0xC0) != 0x80
        before = np.concatenate([[0], np.cumsum(is_first)])
        wrong = before[strings.starts + strings.lengths] - before[strings.starts] > width
    return wrong if wrong.any() else None


def _check_width(key: str, strings: np.ndarray[Any, Any], text: str) -> None:
    """Refuse strings that NumPy would cut off."""
    width = int(text[1:])
    lengths = np.fromiter(map(len, strings.ravel().tolist()), np.int64, strings.size)
    if lengths.max(initial=0) > width:
        wrong = (lengths > width).reshape(strings.shape)
        detail = f"a string of {lengths.max()}, longer than the {text} that the schema says it was"
        detail += "; leave out restore, or give a schema with a wider Original"
        refuse(key, detail, int(np.argwhere(wrong)[0][0]), Reason.UNREPRESENTABLE)


def from_raw(key: str, strings: Any, original: Original) -> tuple[np.ndarray[Any, Any], Any]:
    """Return the values of raw strings end to end, and how many bytes each string had.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` for a string that is no whole number of values; `index` is its number.
    """
    column = strings if isinstance(strings, BytesColumn) else BytesColumn.from_list(strings)
    dtype = original_dtype(original.dtype)
    wrong = np.flatnonzero(column.lengths % dtype.itemsize)
    if wrong.size:
        detail = f"a string of {column.lengths[wrong[0]]} bytes is no row of {dtype.name}"
        refuse(key, detail, int(wrong[0]), Reason.WRONG_COUNT)
    # A copy: it is to be aligned, and writable.
    data = np.array(column.data[column.offsets[0] : column.offsets[-1]])
    # Seen as the native dtype once more, which is the same one, but writes itself as float64.
    values = data.view(dtype.newbyteorder("<")).astype(dtype, copy=False).view(dtype)
    return values, column.lengths // dtype.itemsize
