"""Data frames to columns: pandas and polars DataFrames, pyarrow Tables and RecordBatches.

They are told by what they can do; none of the libraries is imported. What is missing in a
column (null, NA, None) is masked; NaN in a column of plain floats is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["columns_of_frame"]

_PLAIN = "biufcMm"


def columns_of_frame(frame: Any) -> dict[str, Any] | None:
    """Return a data frame's columns; None if it is no data frame.

    Parameters
    ----------
    frame : DataFrame, Table, or anything else

    Returns
    -------
    dict of str to column, or None
        Arrays, views where the library allows; masked arrays where something is missing;
        lists where a column holds texts or lists.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for two columns of one name.
    TypeError
        For a column whose name is no str.
    """
    for is_one, names_of, column_of in _LIBRARIES:
        if is_one(frame):
            columns: dict[str, Any] = {}
            for name in names_of(frame):
                if not isinstance(name, str):
                    raise TypeError(f"a column's name must be a str, not {name!r}")
                if name in columns:
                    detail = "two columns of one name"
                    raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=name, detail=detail)
                columns[name] = None
            return {name: column_of(frame, name) for name in columns}
    return None


def _masked(values: Any, mask: Any) -> Any:
    mask = np.asarray(mask, np.bool_)
    return np.ma.MaskedArray(values, mask) if mask.any() else values


def _of_pandas(frame: Any, name: str) -> Any:
    series = frame[name]
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in _PLAIN:
        return series.to_numpy()
    dtype = getattr(series.dtype, "numpy_dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        mask = series.isna().to_numpy()
        filled = series.fillna(0) if mask.any() else series
        return _masked(filled.to_numpy(dtype), mask)
    missing = series.isna().to_numpy().tolist()
    return [None if gone else item for item, gone in zip(series.tolist(), missing, strict=True)]


def _of_polars(frame: Any, name: str) -> Any:
    series = frame[name]
    if series.dtype.is_numeric() or str(series.dtype) == "Boolean":
        mask = series.is_null().to_numpy()
        return _masked(series.fill_null(strategy="zero").to_numpy(), mask)
    if series.dtype.is_temporal() and not series.null_count():
        return series.to_numpy()
    return series.to_list()


def _of_arrow(frame: Any, name: str) -> Any:
    column = frame.column(name)
    word = str(column.type)
    if not column.null_count and word.startswith(("timestamp", "duration", "date")):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if not word.startswith(("bool", "int", "uint", "float", "double", "halffloat")):
        return column.to_pylist()
    if not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    mask = column.is_null().to_numpy(zero_copy_only=False)
    zero: Any = False if word == "bool" else 0
    return _masked(np.asarray(column.fill_null(zero).to_numpy(zero_copy_only=False)), mask)


def _has(*names: str) -> Callable[[Any], bool]:
    # The class is asked: a module or a mock may answer to any name.
    return lambda frame: all(hasattr(type(frame), name) for name in names)


_LIBRARIES: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[..., Any]], ...] = (
    (_has("column_names", "column", "to_pylist"), lambda frame: frame.column_names, _of_arrow),
    (_has("get_columns", "columns", "lazy"), lambda frame: frame.columns, _of_polars),
    (_has("iloc", "columns", "to_numpy"), lambda frame: list(frame.columns), _of_pandas),
)
