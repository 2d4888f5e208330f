"""Which columns float32 does not hold, and the warning about them.

A float list has numbers of 32 bits. Floats of more bits are rounded to them, and whoever knows the columns says in which ones
that changed a number. What float32 holds exactly, NaN and infinities are the same afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfrecord_lite.convert.arrow import open_series
from tfrecord_lite.convert.lists import Lists, SparseLists, cleared
from tfrecord_lite.convert.lossless import is_narrowed
from tfrecord_lite.convert.normalize import flattened
from tfrecord_lite.errors import levels_to_caller
from tfrecord_lite.schema import Schema


def rounded_columns(columns: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, None]:
    """Return the names of the columns of float64 that a schema stores as float32, and of which that changes a number."""
    items = schema.to_items() if isinstance(schema, Schema) else {}
    return {
        name: None
        for name, item in items.items()
        if is_narrowed(item)
        and (column := columns.get(name)) is not None
        and is_rounded(name, column)
    }


def is_rounded(key: str, column: Any) -> bool:
    """Return whether a column of numbers, in any form, has some that are others as float32."""
    values: Any = column if type(column) is np.ndarray else _values_of(key, column)
    if values.dtype == object:
        numbers = [value for value in flattened(key, values) if value is not None]
        values = np.array(numbers, np.float64)
    if values.dtype.kind != "f" or values.dtype.itemsize <= 4:
        return False
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        changed = values[values.astype(np.float32) != values]
    return not np.isnan(changed).all()


def _values_of(key: str, column: Any) -> Any:
    """Return the values of a column as an array, without those that are masked; of lists as objects."""
    if isinstance(column, SparseLists):
        column = column.values
    if isinstance(column, Lists):
        flat = cleared(column).flat
        return flat if isinstance(flat, np.ndarray) else np.zeros(0)
    if isinstance(column, list | tuple):
        return np.fromiter(column, object, len(column))
    opened = open_series(key, column)
    column = column if opened is None else opened.values
    return np.ma.compressed(getattr(column, "flat_values", getattr(column, "values", column)))


def warn_of_rounding(place: str, names: Iterable[str], way: str = "lossless=True") -> None:
    """Warn of the columns in which a number is another one as float32, if there are any; `way` keeps every bit."""
    if found := ", ".join(map(repr, names)):
        text = f"{place}: float64 was rounded to float32 in {found}; {way} keeps every bit"
        warnings.warn(text, UserWarning, stacklevel=levels_to_caller())
