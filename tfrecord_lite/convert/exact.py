"""Exact comparison of numbers and times: NumPy's ``==`` rounds both sides to a common dtype.

::

    np.int64(2**53 + 1) == 2.0**53                      True     (float64 on both sides)
    first_difference(float64 array, [2**53 + 1])        0

Numbers are compared as Python's, whose comparison is exact; times as counts of attoseconds, or of
months where the unit has no fixed length.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfrecord_lite.arrays import AnyArray

_SMALLER = {"fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
_LARGER = {"m": 60, "h": 3600, "D": 86400, "W": 7 * 86400}
_ATTOSECONDS = {"as": 1, **_SMALLER, **{unit: n * 10**18 for unit, n in _LARGER.items()}}
_DAYS_OF_400_YEARS = 146097


def first_difference(array: AnyArray, items: Iterable[Any]) -> int | None:
    """Return the first of some values that an array has changed; None if it has changed none.

    NaN equals NaN, and NaT equals NaT.

    >>> first_difference(np.array([2.0**53, 0.5]), [2**53 + 1, 0.5])
    0
    """
    pairs = zip(array, items, strict=True)
    return next((i for i, (ours, own) in enumerate(pairs) if exact(ours) != exact(own)), None)


def exact(value: Any) -> tuple[Any, Any]:
    """Return a pair of which Python's comparison is exact: of the same value, and of no other."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _time(value)
    if isinstance(value, complex | np.complexfloating):
        return _real(value.real), _real(value.imag)
    return _real(value), 0


def _real(value: Any) -> Any:
    if isinstance(value, int | np.integer | np.bool):
        return int(value)
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "NaN"
    if isinstance(value, np.longdouble) and np.isfinite(value):
        return Fraction(*value.as_integer_ratio())
    return float(value)  # of ml_dtypes' integers too, which are small


def _time(value: Any) -> tuple[str, Any]:
    word = "interval" if isinstance(value, np.timedelta64) else "time"
    if np.isnat(value):
        return word, "NaT"
    unit, step = np.datetime_data(value.dtype)
    count = int(value.view(np.int64)) * step
    if unit in ("Y", "M"):
        months = 12 * count if unit == "Y" else count
        if word == "interval":
            return "months", months
        return word, _days(months) * _ATTOSECONDS["D"]
    if unit == "generic":
        return unit, count
    return word, count * _ATTOSECONDS[unit]


def _days(months: int) -> int:
    """Return the days from 1970-01-01 to the first of a month, counted from January 1970."""
    years, month = divmod(months, 12)
    cycles, year = divmod(years + 1970, 400)
    start = date(2000 + year, month + 1, 1).toordinal() - date(1970, 1, 1).toordinal()
    return start + (cycles - 5) * _DAYS_OF_400_YEARS
