"""decode_raw: strings of numbers, end to end, without a header.

Such bytes hold neither dtype nor shape; the caller has to know them.
"""

from __future__ import annotations

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, require_int
from tfrecord_lite.options import hinted
from tfrecord_lite.tensors.dtypes import TensorType, check_shape, from_bytes, tensor_type
from tfrecord_lite.tensors.strings import Strings, as_strings

_PADDED = {
    *("float16", "float32", "float64", "bfloat16"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
}
_PLAIN = {*_PADDED, "bool", "complex64", "complex128"}
_MOST_BYTES = 2**31 - 1


@hinted
def decode_raw(
    input_bytes: object,
    out_type: object,
    little_endian: bool = True,  # noqa: FBT001, FBT002 - TensorFlow's signature
    fixed_length: int | None = None,
    name: str | None = None,  # noqa: ARG001
) -> AnyArray:
    r"""Decode strings of numbers, as ``tf.io.decode_raw`` (rules D1 to D6).

    Parameters
    ----------
    input_bytes : bytes, sequence or array of bytes, BytesColumn or Block
        One string, or an array of them of any shape.
    out_type : dtype
        float16, float32, float64, bfloat16, complex64, complex128, bool, or an integer of 8
        to 64 bits.
    little_endian : bool, optional
        The byte order of the numbers; of complex ones, of each half (rule D4).
    fixed_length : int, optional
        Bytes to take of each string: a longer one is cut, a shorter one padded with zeros
        (rule D5). Without it all strings must have the same size. Not for bool and complex
        numbers.
    name : str, optional
        Ignored; TensorFlow names its operation so.

    Returns
    -------
    array of `out_type`, shape (\*shape of the strings, n_values)
        Owns its memory. ``(..., 0)`` if there are no strings.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` for strings of different sizes, with the record of the first that differs as
        `index`, and for a size that is not a whole number of values (rule D2);
        ``UNSUPPORTED`` for another dtype (rules D3, D6); ``BAD_ARGUMENT`` for a
        `fixed_length` that is not positive, 2 GB or more, or not a whole number of values,
        and for an `out_type` that is not in the machine's byte order; ``BAD_SHAPE`` for
        nested lists of different lengths, or an array of 64 dimensions.
    TypeError
        For an argument of the wrong type.
    ImportError
        For bfloat16, if ml_dtypes is not installed.

    Notes
    -----
    The bytes are copied once.

    Examples
    --------
    >>> decode_raw(b"\x01\x00\x02\x00", np.int16)
    array([1, 2], dtype=int16)
    >>> decode_raw([b"abc", b"d"], np.uint8, fixed_length=2)
    array([[ 97,  98],
           [100,   0]], dtype=uint8)
    """
    if isinstance(out_type, np.dtype) and not out_type.isnative:
        detail = f"out_type {out_type.str!r} has a byte order; say little_endian= instead"
        raise argument_error(detail)
    kind = tensor_type(out_type)
    allowed = _PLAIN if fixed_length is None else _PADDED
    if kind.name not in allowed:
        text = f"{kind.name}" if kind.name not in _PLAIN else f"{kind.name} with fixed_length"
        detail = f"cannot decode {text}, expected one of {', '.join(sorted(allowed))}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    if not isinstance(little_endian, bool | np.bool_):
        raise TypeError(f"little_endian must be a bool, not {type(little_endian).__name__}")
    strings = as_strings(input_bytes)
    size = kind.dtype.itemsize
    if fixed_length is None:
        n_bytes = _common_length(strings, kind)
    else:
        n_bytes = require_int("fixed_length", fixed_length, 1)
        if n_bytes > _MOST_BYTES:
            raise argument_error(f"fixed_length is {n_bytes}, expected {_MOST_BYTES} or less")
        if n_bytes % size:
            raise argument_error(f"fixed_length is {n_bytes}, expected a multiple of {size}")
    shape = (*strings.shape, n_bytes // size)
    check_shape(shape, size)
    raw = strings.slices(0, n_bytes) if fixed_length is None else strings.padded(n_bytes)
    return from_bytes(raw, kind, little_endian=bool(little_endian)).reshape(shape)


def _common_length(strings: Strings, kind: TensorType) -> int:
    """Return the size of all strings, in bytes (rule D2); 0 if there are none (rule D1)."""
    lengths = strings.lengths
    if not lengths.size:
        return 0
    n_bytes = int(lengths[0])
    other = np.flatnonzero(lengths != n_bytes)
    if other.size:
        record, *steps = map(int, np.unravel_index(other[0], strings.shape))
        step = f"step {', '.join(map(str, steps))}: " if steps else ""
        detail = f"{step}the string has {int(lengths[other[0]])} bytes, expected {n_bytes} as in the first; "
        detail += "a RawFeature in the schema allows for several lengths, and fixed_length cuts or pads the strings"
        raise InvalidArgumentError(Reason.WRONG_COUNT, index=record, detail=detail)
    if n_bytes % kind.dtype.itemsize:
        size = kind.dtype.itemsize
        detail = f"the string has {n_bytes} bytes, expected a multiple of {size} for {kind.name}"
        raise InvalidArgumentError(Reason.WRONG_COUNT, index=0, detail=detail)
    return n_bytes
