"""Dense arrays from columns: flat values as NumPy arrays, and the fill for gaps.

Ragged and sparse tensors both end in *flat values*, an array or a :class:`BytesColumn`, and
both fill the places without a value when they become dense.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.errors import argument_error

FlatValues: TypeAlias = AnyArray | BytesColumn


def as_array(values: FlatValues) -> AnyArray:
    """Return flat values as an array; byte strings as objects."""
    return values.to_numpy() if isinstance(values, BytesColumn) else values


def fill_value(default: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Check a default value and convert it to the value to fill an array with.

    `default` is None for zero or ``b""``; a scalar; or an array that broadcasts to `shape`, the
    shape of one value, without adding dimensions. Nothing is changed to make it fit.
    """
    if dtype.kind == "O":
        if not isinstance(default, bytes | str | None):
            raise TypeError(f"default_value must be bytes, not {type(default).__name__}")
        return default.encode() if isinstance(default, str) else default or b""
    given = np.asarray(0 if default is None else default)
    # Bools and integers are accepted for any dtype; floats not for integers, complex not for floats.
    kinds = "biufc"
    if given.dtype.kind not in kinds or kinds.index(given.dtype.kind) > max(
        kinds.index(dtype.kind), kinds.index("u")
    ):
        raise TypeError(f"default_value must be {dtype}, not {given.dtype}")
    try:
        fits = given.ndim <= len(shape) and np.broadcast_shapes(given.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise argument_error(
            f"default_value has shape {given.shape}, which does not fit values of shape {shape}"
        )
    if dtype.kind in "iu" and given.size:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not (low <= int(given.min()) and int(given.max()) <= high):
            raise argument_error(f"default_value does not fit into {dtype}")
    with np.errstate(over="ignore"):
        return given.astype(dtype)


def owned_slice(values: Any, start: int, stop: int) -> Any:
    """Copy a range of values, an array or a BytesColumn."""
    if not isinstance(values, BytesColumn):
        return values[start:stop].copy()
    offsets = values.offsets[start : stop + 1]
    low, high = int(offsets[0]), int(offsets[-1])
    return BytesColumn(offsets - low, values.data[low:high].copy())
