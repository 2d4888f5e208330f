"""Default values: what the user gave, as an array of the feature's dtype (rule X7).

TensorFlow's rules, which are neither NumPy's nor Python's: Python floats are no int64,
but arrays of floats are; numbers are no strings; bools are numbers. Where TensorFlow
cuts a value off to make it fit (1.5 to 1, 2^63 to -2^63), this raises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.kinds import Kind

__all__ = ["default_array"]

_INT64 = np.iinfo(np.int64)


def default_array(key: str, value: Any, kind: Kind, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Convert a default value to an array of the feature's dtype and shape.

    Parameters
    ----------
    key : str
        The feature, for error texts.
    value : array-like
        A scalar, nested lists or tuples, an array. str is encoded as UTF-8.
    kind : Kind
        What to convert to.
    shape : tuple of int
        What to reshape to; nothing is broadcast.

    Returns
    -------
    kind.dtype, shape (*shape,)
        Owns its memory; read-only.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for another number of values than `shape` has, nested lists of
        unequal lengths, and numbers outside of int64.
    TypeError
        For values of another kind.
    """
    given = _as_array(key, value)
    flat = _CONVERTERS[kind](key, given.ravel())
    if flat.size != math.prod(shape):
        detail = f"default_value has {flat.size} values, but shape {shape} holds {math.prod(shape)}"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    # A copy, or what the caller does to his array later would change the default.
    array = np.array(flat, kind.dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _as_array(key: str, value: Any) -> np.ndarray[Any, Any]:
    """Return arrays as they are, and everything else as an array of Python objects."""
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if isinstance(value, bytearray | memoryview):
        raise TypeError(f"default_value of feature {key!r}: give bytes, not {type(value).__name__}")
    try:
        array = np.array(value, object)
    except ValueError:  # nested lists whose lengths differ in a place NumPy does not allow
        array = np.array([[]], object)
        ragged = True
    else:
        ragged = any(isinstance(item, list | tuple) for item in array.flat)
    if ragged:
        detail = "the lists in default_value differ in length"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    return array


def _wrong_kind(key: str, found: Any, wanted: str) -> Exception:
    """Return the error for a value of another kind; for no value at all, another class."""
    name = found.name if isinstance(found, np.dtype) else type(found).__name__
    if isinstance(found, np.dtype | str | bytes | int | float | complex | np.generic):
        return TypeError(f"default_value of feature {key!r} must be {wanted}, not {name}")
    detail = f"default_value must be {wanted}, not {name}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


def _floats(key: str, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert to float32; what is too large becomes infinite."""
    if flat.dtype == object:
        for item in flat:
            if not isinstance(item, int | float | np.bool | np.integer | np.floating):
                raise _wrong_kind(key, item, "float32")
        try:
            flat = np.array([float(item) for item in flat], np.float64)
        except OverflowError as error:
            raise _out_of_range(key, "float32") from error
    if flat.dtype.kind not in "biuf":
        raise _wrong_kind(key, flat.dtype, "float32")
    with np.errstate(over="ignore"):
        return flat.astype(np.float32)


def _integers(key: str, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert to int64 without changing a value."""
    if flat.dtype == object:
        for item in flat:
            if not isinstance(item, int | np.bool | np.integer):
                raise _wrong_kind(key, item, "int64")
            if not _INT64.min <= int(item) <= _INT64.max:
                raise _out_of_range(key, "int64")
        return flat.astype(np.int64)
    if flat.dtype.kind not in "biuf":
        raise _wrong_kind(key, flat.dtype, "int64")
    if flat.dtype.kind in "uf" and flat.size:
        # 2^63 is a float, the largest int64 is not: so below it, not up to that.
        fits = (flat >= _INT64.min) & (flat < np.float64(2.0**63))
        if flat.dtype.kind == "u":
            fits = flat <= np.uint64(_INT64.max)
        if not fits.all():
            raise _out_of_range(key, "int64")
        if (flat != np.trunc(flat)).any():
            detail = "default_value must be int64, but has a fraction"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)
    return flat.astype(np.int64)


def _strings(key: str, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert to an object array of bytes."""
    if flat.dtype.kind not in "OSUT":
        raise _wrong_kind(key, flat.dtype, "bytes or str")
    array = np.empty(flat.size, object)
    for i, item in enumerate(flat.tolist()):
        if not isinstance(item, bytes | str):
            raise _wrong_kind(key, item, "bytes or str")
        try:
            array[i] = item.encode() if isinstance(item, str) else bytes(item)
        except UnicodeEncodeError as error:
            detail = "default_value is a str that has no UTF-8 form"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail) from error
    return array


def _out_of_range(key: str, name: str) -> InvalidArgumentError:
    detail = f"default_value does not fit into {name}"
    return InvalidArgumentError(Reason.BAD_ARGUMENT, key=key, detail=detail)


_CONVERTERS = {Kind.BYTES: _strings, Kind.FLOAT: _floats, Kind.INT64: _integers}
