"""parse_tensor, parse_tensors, decode_raw: the bytes of TensorProtos, or of plain numbers, to arrays.

The protobuf runtime parses a single TensorProto. Many of one dtype and shape, serialised
alike, differ in their content only::

    08 dtype  12 n  12 n 08 size  12 n 08 size  22 n   content
    ╰────────────── the same in all of them ─────────╯

So the first is parsed, and the contents of all that begin with the same bytes, and have the same length, are
copied at once. The others are parsed one by one.

If there is content, it counts, and must hold exactly the elements of the shape (rule T4). A typed
field may hold fewer: the last one is repeated for all that follow, and without one all are zero or
empty (rule T5). So a few bytes may encode a tensor of any size, and repeated values have a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray, Uint8Array, objects
from tfrecord_lite.block import Block, Place
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, require_int
from tfrecord_lite.options import hinted
from tfrecord_lite.tensors import dtypes
from tfrecord_lite.tensors.dtypes import STRING, TensorType
from tfrecord_lite.tensors.serialize import leading_bytes
from tfrecord_lite.tensors.strings import Strings, as_strings, byte_strings
from tfrecord_lite.texts import plural
from tfrecord_lite.wire.scalar import read_varint

if TYPE_CHECKING:
    from tfrecord_lite.messages.tensor_pb2 import TensorProto


MAX_FILL_BYTES = 2**28
"""The default limit on the bytes of an array of repeated values: 256 MB."""
_LARGEST_FACTOR = 8
"""The most bytes in an array per byte of the message, if no value is repeated."""
_LENGTH_BYTES = 5


@hinted
def parse_tensor(
    serialized: bytes | str,
    out_type: object = None,
    name: str | None = None,  # noqa: ARG001
    *,
    max_bytes: int = MAX_FILL_BYTES,
) -> AnyArray:
    r"""Parse a serialised tensor, as ``tf.io.parse_tensor`` (rules T3 to T8).

    Parameters
    ----------
    serialized : bytes or str
        A TensorProto, in any encoding that protobuf allows.
    out_type : dtype, optional
        The dtype it must have; by default any.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.
    max_bytes : int, optional
        The largest array, in bytes, if the message repeats a value, which takes no space in it
        (rule T5). An array whose elements are all stored is not limited.

    Returns
    -------
    array
        With the tensor's dtype and shape; strings are objects. Owns its memory.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are not a TensorProto, or bools are neither 0 nor 1;
        ``WRONG_DTYPE`` if the tensor has another dtype; ``UNSUPPORTED`` for a dtype that is
        unknown or not supported; ``BAD_SHAPE`` if `serialized` is not a scalar, or no array
        can have the shape; ``WRONG_COUNT`` if the number of elements does not fit the
        shape; ``TENSOR_TOO_LARGE`` above `max_bytes`.
    TypeError
        If `serialized` is not bytes, or `out_type` not a dtype.
    ImportError
        For a dtype of ml_dtypes, if that is not installed.

    Examples
    --------
    >>> parse_tensor(bytes.fromhex("0801 1200 2204 0000c03f"), np.float32)
    array(1.5, dtype=float32)
    """
    if isinstance(serialized, BytesColumn | Block):
        serialized = serialized.to_list()
    shape, items = byte_strings(serialized)
    if shape:
        detail = f"expected one string, got the shape {list(shape)}; use parse_tensors"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    expected = None if out_type is None else dtypes.tensor_type(out_type)
    return _parse(items[0], expected, require_int("max_bytes", max_bytes))[0]


def parse_tensors(
    serialized: object,
    out_type: object = None,
    *,
    shape: Sequence[int] | None = None,
    max_bytes: int = MAX_FILL_BYTES,
) -> AnyArray:
    r"""Parse many serialised tensors of one dtype and shape into one array.

    Parameters
    ----------
    serialized : sequence or array of bytes, BytesColumn or Block
        TensorProtos, in an array of any shape.
    out_type : dtype, optional
        The dtype they must have; by default the first tensor's.
    shape : sequence of int, optional
        The shape each must have; by default the first tensor's.
    max_bytes : int, optional
        As for :func:`parse_tensor`, for the whole array.

    Returns
    -------
    array, shape (\*shape of serialized, \*shape of a tensor)
        Owns its memory.

    Raises
    ------
    InvalidArgumentError, TypeError, ImportError
        As :func:`parse_tensor`, with the number of the tensor, or of the record that was read, as `index`. Also
        ``BAD_SHAPE`` for a tensor of another shape, and ``BAD_ARGUMENT`` for no tensors without `out_type`.

    Examples
    --------
    >>> rows = [serialize_tensor(np.full(2, i, np.int16)) for i in range(3)]
    >>> parse_tensors(rows, np.int16)
    array([[0, 0],
           [1, 1],
           [2, 2]], dtype=int16)
    """
    strings = as_strings(serialized)
    expected = None if out_type is None else dtypes.tensor_type(out_type)
    own_shape = None
    if shape is not None:
        own_shape = tuple([require_int("a size in shape", size) for size in shape])
    limit = require_int("max_bytes", max_bytes)
    n_tensors = prod(strings.shape)
    if not n_tensors:
        if expected is None:
            raise argument_error("without tensors there is no dtype; give out_type")
        stacked = (*strings.shape, *(own_shape or ()))
        dtypes.check_shape(stacked, expected.dtype.itemsize)
        return np.empty(stacked, expected.dtype)

    def parsed(i: int, kind: TensorType | None, shape: tuple[int, ...] | None) -> Any:
        """Parse one, which must have the given dtype and shape, if any; return its dtype too."""
        try:
            return _parse(strings.item(i), kind, limit, shape)
        except InvalidArgumentError as error:
            place = Place(None, i, None) if strings.block is None else strings.block.place(i)
            raise place.locate(error) from None

    first, kind = parsed(0, expected, own_shape)
    stacked = (*strings.shape, *first.shape)
    dtypes.check_shape(stacked, first.dtype.itemsize)
    chosen, contents = _alike(strings, first, kind)
    if chosen.size == n_tensors:
        return dtypes.from_bytes(contents, kind).reshape(stacked)
    _check_fill(n_tensors * first.nbytes, _limit(limit, int(strings.lengths.sum())))
    out = np.empty((n_tensors, first.size), kind.dtype)
    is_left = np.ones(n_tensors, np.bool_)
    is_left[chosen] = False
    for i in np.flatnonzero(is_left).tolist():
        out[i] = parsed(i, kind, first.shape)[0].ravel()
    if chosen.size:
        out[chosen] = dtypes.from_bytes(contents, kind).reshape(chosen.size, -1)
    return out.reshape(stacked)


def _alike(strings: Strings, first: AnyArray, kind: TensorType) -> tuple[Int64Array, Uint8Array]:
    """Find the tensors serialised as we would serialise the first; return their numbers, and contents end to end."""
    n_bytes = first.nbytes
    if kind is STRING or not n_bytes:
        return np.empty(0, np.int64), np.empty(0, np.uint8)
    prefix = leading_bytes(kind, first.shape, n_bytes)
    is_alike = (strings.lengths == len(prefix) + n_bytes) & strings.begin_with(prefix)
    chosen = np.flatnonzero(is_alike)
    numbers = None if chosen.size == len(strings) else chosen
    contents = strings.slices(len(prefix), n_bytes, numbers)
    if kind.name == "bool" and contents.max(initial=0) > 1:  # an error of its own (rule T4)
        contents = contents.reshape(chosen.size, n_bytes)
        is_valid = contents.max(axis=1) <= 1
        return chosen[is_valid], contents[is_valid].ravel()
    return chosen, contents


def _parse(
    serialized: bytes, expected: TensorType | None, limit: int, shape: tuple[int, ...] | None = None
) -> tuple[AnyArray, TensorType]:
    """Parse one tensor; return its dtype too."""
    # Imported late: serialising a tensor does not need the protobuf runtime.
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    from tfrecord_lite.messages.tensor_pb2 import TensorProto  # noqa: PLC0415

    try:
        message = TensorProto.FromString(serialized)
    except DecodeError:
        detail = f"the {len(serialized)} bytes are not a TensorProto"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail) from None
    kind = dtypes.type_of_number(message.dtype)
    if expected is not None and kind is not expected:
        detail = f"the tensor has dtype {kind.name}, expected {expected.name}"
        raise InvalidArgumentError(Reason.WRONG_DTYPE, detail=detail)
    array = _array_of(message, kind, _limit(limit, len(serialized)))
    if shape not in (None, array.shape):
        detail = f"the tensor has shape {list(array.shape)}, expected {list(shape or ())}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    return array, kind


def _limit(max_bytes: int, stored_bytes: int) -> int:
    """Return the most bytes an array may have: all that its messages can store is allowed."""
    return max(max_bytes, _LARGEST_FACTOR * stored_bytes)


def _array_of(message: TensorProto, kind: TensorType, limit: int) -> AnyArray:
    """Make an array of a parsed message, of at most `limit` bytes if it repeats a value; it owns its memory."""
    dtype = kind.dtype
    shape = tuple(dim.size for dim in message.tensor_shape.dim)  # without one, a scalar (T7)
    dtypes.check_shape(shape, dtype.itemsize)
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
        _check_fill(n_values * dtype.itemsize, limit)
        # The last value is repeated; without one, all are zeros, which take no memory yet, or empty strings.
        if not listed.size and not dtype.hasobject:
            return np.zeros(shape, dtype)
        whole = np.empty(n_values, dtype)  # np.full would drop zero bytes at the end of a string
        whole[: listed.size], whole[listed.size :] = listed, listed[-1] if listed.size else b""
        listed = whole
    return listed[:n_values].reshape(shape)


def _check_fill(n_bytes: int, limit: int) -> None:
    """Raise if an array of repeated values would be larger than the limit."""
    if n_bytes > limit:
        detail = f"repeated values would take {n_bytes} bytes, the limit max_bytes is {limit}"
        raise InvalidArgumentError(Reason.TENSOR_TOO_LARGE, detail=detail)


def _numbers_in(content: bytes, n_values: int, kind: TensorType) -> AnyArray:
    n_bytes = n_values * kind.dtype.itemsize
    if len(content) != n_bytes:
        actual = f"the content has {plural(len(content), 'byte')}"
        detail = f"{actual}, expected {n_bytes:,} for {plural(n_values, 'value')} of {kind.name}"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    raw = np.frombuffer(bytearray(content), np.uint8)
    if kind.name == "bool" and raw.max() > 1:
        detail = "the content of a bool tensor has bytes other than 0 and 1"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail)
    return dtypes.from_bytes(raw, kind)


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
        actual = f"{plural(len(content), 'byte')} of content"
        detail = f"{actual} do not make {plural(n_values, 'string')}"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    ends = accumulate(lengths, initial=place)
    return objects([content[start:stop] for start, stop in pairwise(ends)])


def _bits(width: int, n_parts: int = 1) -> Callable[[Sequence[int], np.dtype[Any]], Any]:
    """Return a reader of numbers listed as bits; it drops an incomplete number (rule T5)."""

    def read(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
        whole = np.fromiter(listed, f"u{width}", len(listed))
        return whole[: whole.size // n_parts * n_parts].view(dtype)

    return read


def _plain(listed: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    return np.fromiter(listed, dtype, len(listed))


# Readers of the typed fields (rule T5). Our message class declares floats as integers, so that
# the bits of every NaN survive (rule T8).
_FIELD_READERS: dict[str, Callable[[Any, np.dtype[Any]], AnyArray]] = {
    "float_val": _bits(4),
    "double_val": _bits(8),
    "scomplex_val": _bits(4, 2),
    "dcomplex_val": _bits(8, 2),
    # Numbers of up to 32 bits: narrow ones wrap around, of floats higher bits are dropped (rule T6).
    "int_val": lambda listed, dtype: np.fromiter(listed, np.int32, len(listed)).astype(dtype),
    "half_val": lambda listed, dtype: np.array(listed, np.int32).astype(np.uint16).view(dtype),
    "float8_val": lambda listed, dtype: np.frombuffer(bytearray(listed), dtype),
    "string_val": lambda listed, _: objects(list(listed)),
    **dict.fromkeys(("bool_val", "int64_val", "uint32_val", "uint64_val"), _plain),
}


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
        Ignored: the name of an operation in TensorFlow.

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
    kind = dtypes.tensor_type(out_type)
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
    dtypes.check_shape(shape, size)
    raw = strings.slices(0, n_bytes) if fixed_length is None else strings.padded(n_bytes)
    return dtypes.from_bytes(raw, kind, little_endian=bool(little_endian)).reshape(shape)


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
