"""The elements of one TensorProto: all in its content, or listed in the field of its dtype.

If there is content, it counts, and must hold exactly the elements of the shape (rule T4). A typed
field may hold fewer: the last one is repeated for all that follow, and without one all are zero or
empty (rule T5). So a few bytes may stand for a tensor of any size, and repeated values have a limit.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, plural
from tfrecord_lite.tensors.dtypes import STRING, TensorType, check_shape, from_bytes
from tfrecord_lite.wire.scalar import read_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfrecord_lite.arrays import AnyArray, ObjectArray
    from tfrecord_lite.messages.tensor_pb2 import TensorProto

LARGEST_FACTOR = 8
"""The most bytes in an array per byte of the message, if no value is repeated."""

_LENGTH_BYTES = 5


def array_of(message: TensorProto, kind: TensorType, limit: int) -> AnyArray:
    """Make an array of a parsed message of dtype `kind`; it owns its memory.

    `limit` is the most bytes that it may have if the message repeats a value. Raises
    BAD_SHAPE, WRONG_COUNT, MALFORMED or TENSOR_TOO_LARGE.
    """
    dtype = kind.dtype
    shape = tuple(dim.size for dim in message.tensor_shape.dim)  # without one, a scalar (T7)
    check_shape(shape, dtype.itemsize)
    n_values = prod(shape)
    if not n_values:
        return np.empty(shape, dtype)
    content = message.tensor_content
    if content and kind is STRING:
        return _strings_in(content, n_values).reshape(shape)
    if content:
        return _numbers_in(content, n_values, kind).reshape(shape)
    listed = _FIELD_READERS[kind.field](getattr(message, kind.field), dtype)
    if listed.size < n_values:
        check_fill(n_values * dtype.itemsize, limit)
        listed = _filled(listed, n_values, dtype)
    return listed[:n_values].reshape(shape)


def check_fill(n_bytes: int, limit: int) -> None:
    """Raise if an array of repeated values would be larger than the limit."""
    if n_bytes > limit:
        detail = f"repeated values would take {n_bytes} bytes, the limit max_bytes is {limit}"
        raise InvalidArgumentError(Reason.TENSOR_TOO_LARGE, detail=detail)


def _numbers_in(content: bytes, n_values: int, kind: TensorType) -> AnyArray:
    n_bytes = n_values * kind.dtype.itemsize
    if len(content) != n_bytes:
        found = f"the content has {plural(len(content), 'byte')}"
        detail = f"{found}, expected {n_bytes:,} for {plural(n_values, 'value')} of {kind.name}"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    raw = np.frombuffer(bytearray(content), np.uint8)
    if kind.name == "bool" and raw.max() > 1:
        detail = "the content of a bool tensor has bytes other than 0 and 1"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail)
    return from_bytes(raw, kind)


def _strings_in(content: bytes, n_values: int) -> ObjectArray:
    """Read the lengths of all strings, varints of 32 bits, and the strings after them."""
    place, lengths = 0, []
    for _ in range(min(n_values, len(content) + 1)):
        length, place = read_varint(content, place, min(place + _LENGTH_BYTES, len(content)))
        if place < 0:
            detail = "the length of a string is cut short, or longer than 5 bytes"
            raise InvalidArgumentError(Reason.MALFORMED, detail=detail)
        lengths.append(length & 0xFFFFFFFF)
    if place + sum(lengths) != len(content):
        detail = (
            f"{plural(len(content), 'byte')} of content do not make {plural(n_values, 'string')}"
        )
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    out = np.empty(n_values, object)
    for i, length in enumerate(lengths):
        out[i] = content[place : place + length]
        place += length
    return out


def _filled(listed: AnyArray, n_values: int, dtype: np.dtype[Any]) -> AnyArray:
    """Repeat the last value; without one, zeros or empty strings."""
    if not listed.size:
        return np.full(n_values, b"", object) if dtype.hasobject else np.zeros(n_values, dtype)
    out = np.empty(n_values, dtype)
    out[: listed.size] = listed
    out[listed.size :] = listed[-1]
    return out


def _bits(width: int, n_parts: int = 1) -> Callable[[Sequence[int], np.dtype[Any]], Any]:
    """Return a reader of numbers listed as bits; it drops an incomplete number (rule T5)."""

    def read(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
        whole = np.fromiter(listed, f"u{width}", len(listed))
        return whole[: whole.size // n_parts * n_parts].view(dtype)

    return read


def _plain(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    return np.fromiter(listed, dtype, len(listed))


def _narrow(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """Read numbers of up to 32 bits; narrow ones wrap around (rule T6)."""
    return np.fromiter(listed, np.int32, len(listed)).astype(dtype)


def _half(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """Read 16-bit floats listed as bits; higher bits are dropped (rule T6)."""
    return np.fromiter(listed, np.int32, len(listed)).astype(np.uint16).view(dtype)


def _small(listed: bytes, dtype: np.dtype[Any]) -> AnyArray:
    return np.frombuffer(bytearray(listed), dtype)


def _objects(listed: Sequence[bytes], dtype: np.dtype[Any]) -> AnyArray:
    return np.array([*listed, None], dtype)[:-1]


# Readers of the typed fields (rule T5). Our message class declares floats as integers, so that
# the bits of every NaN survive (rule T8).
_FIELD_READERS: dict[str, Callable[[Any, np.dtype[Any]], AnyArray]] = {
    "float_val": _bits(4),
    "double_val": _bits(8),
    "scomplex_val": _bits(4, 2),
    "dcomplex_val": _bits(8, 2),
    "int_val": _narrow,
    "half_val": _half,
    "float8_val": _small,
    "bool_val": _plain,
    "int64_val": _plain,
    "uint32_val": _plain,
    "uint64_val": _plain,
    "string_val": _objects,
}
