"""A slow scalar reference of parse_tensor, over the protobuf runtime.

The message is defined here once more, with the types that TensorFlow's has; the
package's own has others of the same wire format.
"""

import struct
from math import isnan, prod
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from tests.support.made_messages import classes_of
from tests.tensors.tensor_messages import NUMBERS
from tfrecord_lite.tensors.dtypes import tensor_type

__all__ = ["Parsed", "TensorProto", "agrees", "n_values_of", "reference"]

_FIELDS = {
    "Dim": "size=1 int64, name=2 string",
    "Shape": "dim=2* Dim, unknown_rank=3 bool",
    "TensorProto": (
        "dtype=1 int32, tensor_shape=2 Shape, version_number=3 int32, tensor_content=4 bytes, float_val=5* float, "
        "double_val=6* double, int_val=7* int32, string_val=8* bytes, scomplex_val=9* float, int64_val=10* int64, "
        "bool_val=11* bool, dcomplex_val=12* double, half_val=13* int32, handle=14* Handle, variant=15* Variant, "
        "uint32_val=16* uint32, uint64_val=17* uint64, float8_val=18 bytes"
    ),
    # Values of these are not supported, but bytes that are not such a message are not a tensor either.
    "Inner": "f0=1 int32, f1=2 Shape",
    "Handle": "f0=1 string, f1=2 string, f2=3 string, f3=4 uint64, f4=5 string, f5=6* Inner",
    "Variant": "f0=1 string, f1=2 bytes, f2=3* TensorProto",
}  # fmt: skip
TensorProto = classes_of(_FIELDS, syntax="proto3")["TensorProto"]

# How an element of each dtype is unpacked from content; half and smaller floats as their bits.
_FORMATS = {
    "float32": "f", "float64": "d", "int32": "i", "uint8": "B", "int16": "h", "int8": "b",
    "complex64": "ff", "int64": "q", "bool": "B", "uint16": "H", "complex128": "dd",
    "uint32": "I", "uint64": "Q", "float16": "e",
}  # fmt: skip


class Parsed(NamedTuple):
    """What a message means."""

    dtype: str
    shape: tuple[int, ...]
    values: list[Any]


def reference(data: bytes) -> Parsed | None:
    """Parse one tensor; None if it has to be rejected."""
    try:
        message = TensorProto.FromString(data)
    except DecodeError:
        return None
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    if message.dtype not in NUMBERS or min(shape, default=0) < 0 or len(shape) > 64:
        return None
    name, listed, width = NUMBERS[message.dtype]
    if prod(size for size in shape if size) * (width or 8) > 2**63 - 1:
        return None
    n_values = prod(shape)
    if n_values == 0:
        return Parsed(name, shape, [])
    if message.tensor_content:
        values = _stored(name, message.tensor_content, n_values)
        return None if values is None else Parsed(name, shape, values)
    values = _wrapped(name, list(getattr(message, listed)))
    if not values:
        values = [b"" if name == "string" else 0]
    return Parsed(name, shape, [*values, *[values[-1]] * n_values][:n_values])


def _stored(name: str, content: bytes, n_values: int) -> list[Any] | None:
    if name == "string":
        return _strings(content, n_values)
    form = _FORMATS.get(name, {2: "H", 1: "B"}.get(_width(name)))
    assert form is not None
    if len(content) != n_values * struct.calcsize("<" + form):
        return None
    rows = list(struct.iter_unpack("<" + form, content))
    if name == "bool" and max(content) > 1:
        return None
    return [complex(*row) if len(row) == 2 else row[0] for row in rows]


def _width(name: str) -> int:
    return next(width for known, _, width in NUMBERS.values() if known == name)


def _strings(content: bytes, n_values: int) -> list[Any] | None:
    lengths, place = [], 0
    for _ in range(n_values):
        length = 0
        for shift in range(0, 35, 7):
            if place == len(content):
                return None
            byte = content[place]
            place += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            return None
        lengths.append(length & 0xFFFFFFFF)
    if place + sum(lengths) != len(content):
        return None
    stops = [place + sum(lengths[: i + 1]) for i in range(n_values)]
    return [content[stop - n : stop] for stop, n in zip(stops, lengths, strict=True)]


def _wrapped(name: str, values: list[Any]) -> list[Any]:
    if name.startswith("complex"):
        return [complex(*pair) for pair in zip(values[::2], values[1::2], strict=False)]
    if name == "float16":
        return [struct.unpack("<e", struct.pack("<H", value & 0xFFFF))[0] for value in values]
    if name in {"bfloat16", "string"} or name.startswith("float"):
        return [value & 0xFFFF for value in values] if name == "bfloat16" else values
    if name in {"int32", "int64", "uint32", "uint64", "bool"}:
        return values
    bits = int(name.lstrip("uint"))
    low = [value & (1 << bits) - 1 for value in values]
    return low if name[0] == "u" else [v - (v >> bits - 1 << bits) for v in low]


_SUB_BYTE = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}
# Floats whose values the reference has as their bits.
_AS_BITS = {name for _, (name, _, width) in NUMBERS.items() if name[:5] == "float" and width == 1}
_AS_BITS.add("bfloat16")


def n_values_of(data: bytes) -> int:
    """Return the number of values that a message claims; 0 if it is not a tensor."""
    try:
        message = TensorProto.FromString(data)
    except DecodeError:
        return 0
    return int(abs(prod(dim.size for dim in message.tensor_shape.dim)))


def agrees(found: Any, wanted: Parsed) -> bool:
    """Whether an array is what the reference says."""
    name, values = wanted.dtype, wanted.values
    if found.shape != wanted.shape or found.dtype != tensor_type(name).dtype:
        return False
    if name in _AS_BITS:
        found = found.view(f"u{found.dtype.itemsize}")
    flat = found.ravel().tolist()
    if name in _SUB_BYTE and name not in _AS_BITS:
        n_bits, is_signed = _SUB_BYTE[name], name[0] == "i"
        low = [int(value) & (1 << n_bits) - 1 for value in values]
        values = [v - (v >> n_bits - 1 << n_bits) if is_signed else v for v in low]
        flat = [int(value) for value in flat]
    return len(flat) == len(values) and all(map(_same, flat, values))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, complex):
        return repr(one) == repr(complex(other))
    return bool(one == other) or (isnan(one) and isnan(other))
