"""Which columns float32 does not hold, and the warning about them.

A float list has numbers of 32 bits. Floats of more bits are rounded to them, and whoever knows the columns says in which ones
that changed a number. What float32 holds exactly, NaN and infinities are the same afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfrecord_lite.convert.arrow import open_series
from tfrecord_lite.convert.normalize import flattened
from tfrecord_lite.records.damage import levels_to_caller


def is_rounded(key: str, column: Any) -> bool:
    """Return whether a column of numbers, in any form, has some that are others as float32."""
    if isinstance(column, list | tuple):
        values: Any = _array_of(flattened(key, column))
    else:
        opened = open_series(key, column)
        column = column if opened is None else opened.values
        values = getattr(column, "flat_values", getattr(column, "values", column))
        values = np.ma.compressed(values)
        values = _array_of(flattened(key, values)) if values.dtype == object else values
    if values.dtype.kind != "f" or values.dtype.itemsize <= 4:
        return False
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        changed = values[values.astype(np.float32) != values]
    return not np.isnan(changed).all()


def _array_of(values: list[Any]) -> Any:
    return np.array([value for value in values if value is not None], np.float64)


def warn_of_rounding(place: str, names: Iterable[str], way: str = "lossless=True") -> None:
    """Warn of the columns in which a number is another one as float32, if there are any; `way` keeps every bit."""
    if found := ", ".join(map(repr, names)):
        text = f"{place}: float64 was rounded to float32 in {found}; {way} keeps every bit"
        warnings.warn(text, UserWarning, stacklevel=levels_to_caller())
