"""Lists of Python's numbers to arrays, all at once.

A look at the types of a list's values takes longer than to pack them. marshal does both in one
pass: it writes a tag before each value, and a list's head is as long as an integer::

    [7, 300]     [ 2,0,0,0   i 7,0,0,0   i 44,1,0,0        5 bytes each: int, up to 32 bits
    [0.5]        [ 1,0,0,0   g (a float of 8 bytes)        9 bytes each: float

If the length is right, and there is the same tag at every step, all values are of that type:
subclasses, booleans, NumPy's numbers and large integers have other tags, or none.
"""

from __future__ import annotations

import marshal
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, Float32Array

_VERSION = 2
"""Without references, which would take the place of values that occur twice."""
_HEAD_BYTES = 5
_CELLS: dict[type, tuple[bytes, np.dtype[np.void]]] = {
    int: (b"i", np.dtype([("tag", "u1"), ("value", "<i4")])),
    float: (b"g", np.dtype([("tag", "u1"), ("value", "<f8")])),
}
_FEW = 32
"""For fewer values other ways are as fast."""


def plain_numbers(values: list[Any] | tuple[Any, ...]) -> AnyArray | None:
    """Return a list's int or float values as int32 or float64; None if there is anything else."""
    n_values = len(values)
    if n_values < _FEW or type(values[0]) not in _CELLS:
        return None
    tag, dtype = _CELLS[type(values[0])]
    try:
        data = marshal.dumps(values, _VERSION)
    except ValueError:  # a type that marshal does not know
        return None
    if len(data) != _HEAD_BYTES + n_values * dtype.itemsize:
        return None
    if data[_HEAD_BYTES :: dtype.itemsize] != tag * n_values:
        return None
    numbers: AnyArray = np.frombuffer(data, dtype, n_values, _HEAD_BYTES)["value"]
    return numbers


def rounded(values: AnyArray) -> Float32Array:
    """Return float32 values; raise FloatingPointError for a finite one that is too large."""
    with np.errstate(over="raise", under="ignore", invalid="ignore"):
        return values.astype(np.float32)
