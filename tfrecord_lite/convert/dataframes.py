"""Data frames to columns: pandas and polars DataFrames, pyarrow Tables and RecordBatches.

They are recognised by their methods; none of the libraries is imported. A missing value (null,
NA, None) is masked; NaN in a column of plain floats is a value. Lists of numbers keep their
dtype: lists of any length are rows of a RaggedTensor, those of a fixed length an array with one
more dimension. Times with a zone become UTC, as datetime64 has no zones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import row_splits
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.normalize import masked_rows, missing_row_error
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.errors import InvalidArgumentError

_PLAIN = "biufcMm"
_INSTEAD = {
    "decimal": "cast it to floats, integers or texts",
    "struct": "give its fields as columns of their own (unnest, flatten)",
    "map": "give its keys and values as two columns of lists",
    "time": "cast it to integers or texts",
    "union": "give its members as columns of their own",
    "object": "give numbers, texts, bytes, or lists of them",
}


def columns_of_dataframe(data: Any) -> dict[str, Any] | None:
    """Return a data frame's columns, or None if it is something else.

    Columns are arrays, views where the library allows; masked arrays where something is missing;
    lists where they hold texts or lists. Raises UNSUPPORTED for columns of types such as decimals
    and structs, UNREPRESENTABLE for lists with nulls in them.
    """
    for is_one, names_of, column_of in _LIBRARIES:
        if is_one(data):
            columns: dict[str, Any] = {}
            for name in names_of(data):
                if not isinstance(name, str):
                    raise TypeError(f"a column's name must be a str, not {name!r}")
                if name in columns:
                    raise column_error(name, "two columns have this name")
                columns[name] = None
            return {name: column_of(data, name) for name in columns}
    return None


def _masked(values: Any, mask: Any) -> Any:
    mask = np.asarray(mask, np.bool_)
    return np.ma.MaskedArray(values, mask) if mask.any() else values


def _type_error(name: str, dtype: Any) -> InvalidArgumentError:
    """Return the error about a column whose type has no array or list of values."""
    word = str(dtype)
    way = next(way for start, way in _INSTEAD.items() if word.lower().startswith(start))
    return column_error(name, f"a column of {word}; {way}", None, Reason.UNSUPPORTED)


def _null_error(name: str) -> InvalidArgumentError:
    detail = "a null within a list, which a feature cannot store; fill or drop it"
    return column_error(name, detail, None, Reason.UNREPRESENTABLE)


def _is_unsupported(dtype: Any) -> bool:
    word = str(dtype).lower()
    return not word.startswith("timestamp") and word.startswith(tuple(_INSTEAD))


def _rows(name: str, values: Any, lengths: Any, mask: Any) -> Any:
    """Return the values of lists as rows; none of the lists may be missing."""
    if np.any(mask):
        raise missing_row_error(name, mask)
    return RaggedTensor(values, row_splits(np.asarray(lengths, np.int64)))


def _of_pandas(dataframe: Any, name: str) -> Any:
    series = dataframe[name]
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in _PLAIN:
        return series.to_numpy()
    if getattr(series.dtype, "tz", None) is not None:
        return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    arrow = getattr(series.dtype, "pyarrow_dtype", None)
    if arrow is not None and _is_nested_or_time(arrow):
        return _arrow_column(name, series.array.__arrow_array__())
    dtype = getattr(series.dtype, "numpy_dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        mask = series.isna().to_numpy()
        filled = series.fillna(0) if mask.any() else series
        return _masked(filled.to_numpy(dtype), mask)
    missing = series.isna().to_numpy().tolist()
    return [None if gone else item for item, gone in zip(series.tolist(), missing, strict=True)]


def _of_polars(dataframe: Any, name: str) -> Any:
    return _polars_column(name, dataframe[name])


def _polars_column(name: str, series: Any) -> Any:
    word = str(series.dtype)
    if word != "Object" and _is_unsupported(series.dtype):
        raise _type_error(name, series.dtype)
    if series.dtype.is_numeric() or word == "Boolean":
        mask = series.is_null().to_numpy()
        if word == "Boolean" and mask.any():
            return _masked(series.fill_null(value=False).to_numpy(), mask)
        return _masked(series.fill_null(strategy="zero").to_numpy(), mask)
    if series.dtype.is_temporal():
        mask = series.is_null().to_numpy()
        # Dates with nulls come as times, and times with a zone as UTC without it.
        values = series.to_numpy()
        return _masked(values.astype("datetime64[D]") if word == "Date" else values, mask)
    if word.startswith(("List(", "Array(")):
        mask = series.is_null().to_numpy()
        kept = series.drop_nulls()
        lists = kept.list if word.startswith("List(") else kept.arr
        lengths = lists.len().to_numpy()
        flat = kept.filter(lengths > 0).explode()
        inner = _polars_column(name, flat)
        if isinstance(inner, np.ma.MaskedArray) or flat.null_count():
            raise _null_error(name)
        if not isinstance(inner, np.ndarray | RaggedTensor):
            return series.to_list()
        if word.startswith("List("):
            return _rows(name, inner, lengths, mask)
        if isinstance(inner, np.ndarray):
            return _filled_in(inner.reshape(len(kept), series.dtype.size, *_inner(inner)), mask)
        return _rows(name, inner, lengths, mask)
    return series.to_list()


def _inner(array: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = array.shape[1:]
    return shape


def _filled_in(array: Any, mask: Any) -> Any:
    """Return an array with masked records where the mask says so."""
    return masked_rows(array, np.asarray(mask, np.bool_)) if np.any(mask) else array


def _is_nested_or_time(arrow_type: Any) -> bool:
    starts = ("list", "large_list", "fixed_size_list", "timestamp", "date", "duration")
    return str(arrow_type).startswith(starts) or _is_unsupported(arrow_type)


def _of_arrow(table: Any, name: str) -> Any:
    return _arrow_column(name, table.column(name))


def _arrow_column(name: str, column: Any) -> Any:
    word = str(column.type)
    if _is_unsupported(column.type):
        raise _type_error(name, column.type)
    if word.startswith(("timestamp", "duration", "date")):
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        values = values.astype("datetime64[D]") if word.startswith("date32") else values
        return _masked(values, column.is_null().to_numpy(zero_copy_only=False))
    if word.startswith(("list<", "large_list<", "fixed_size_list<")):
        return _arrow_lists(name, column, is_fixed=word.startswith("fixed"))
    if not word.startswith(("bool", "int", "uint", "float", "double", "halffloat")):
        return column.to_pylist()
    if not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    mask = column.is_null().to_numpy(zero_copy_only=False)
    zero: Any = False if word == "bool" else 0
    return _masked(np.asarray(column.fill_null(zero).to_numpy(zero_copy_only=False)), mask)


def _arrow_lists(name: str, column: Any, *, is_fixed: bool) -> Any:
    mask = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    kept = column.drop_null()
    chunks = getattr(kept, "chunks", None)
    if chunks is not None:
        # As one array: chunks have no flatten that goes down one level only.
        kept = kept.combine_chunks() if len(chunks) != 1 else chunks[0]
    flat = kept.flatten()
    if flat.null_count:
        raise _null_error(name)
    inner = _arrow_column(name, flat)
    if not isinstance(inner, np.ndarray | RaggedTensor):
        return column.to_pylist()
    if is_fixed and isinstance(inner, np.ndarray):
        width = column.type.list_size
        return _filled_in(inner.reshape(len(kept), width, *_inner(inner)), mask)
    size = column.type.list_size if is_fixed else None
    lengths = np.full(len(kept), size) if is_fixed else np.diff(np.asarray(kept.offsets))
    return _rows(name, inner, lengths, mask)


def _has(*names: str) -> Callable[[Any], bool]:
    # Ask the class: a module or a mock may have an attribute of any name.
    return lambda data: all(hasattr(type(data), name) for name in names)


_LIBRARIES: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[..., Any]], ...] = (
    (_has("column_names", "column", "to_pylist"), lambda data: data.column_names, _of_arrow),
    (_has("get_columns", "columns", "lazy"), lambda data: data.columns, _of_polars),
    (_has("iloc", "columns", "to_numpy"), lambda data: list(data.columns), _of_pandas),
)
