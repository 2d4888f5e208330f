"""TensorProtos byte by byte, of any form that protobuf allows, and of some that it does not.

::

    proto(1, (2,), content(struct.pack("<2f", 1, 2)))       float32, shape (2,)
    proto(3, (2,), typed("int_val", [7]))                   int32, [7, 7]

Everything is bytes, so forms are mixed by adding them up. :func:`random_proto` makes
one of many sorts; enough of them are valid that both sides of a comparison have work to do.
"""

import struct
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from tfrecord_lite.testing.reencode import len_field
from tfrecord_lite.wire.scalar import varint

__all__ = [
    "FIELDS", "NUMBERS", "content", "dims", "field", "len_field", "proto", "random_proto", "typed",
    "varint",
]  # fmt: skip

# dtype number: name, typed field, bytes an element (0: strings)
NUMBERS = {
    1: ("float32", "float_val", 4), 2: ("float64", "double_val", 8), 3: ("int32", "int_val", 4),
    4: ("uint8", "int_val", 1), 5: ("int16", "int_val", 2), 6: ("int8", "int_val", 1),
    7: ("string", "string_val", 0), 8: ("complex64", "scomplex_val", 8),
    9: ("int64", "int64_val", 8), 10: ("bool", "bool_val", 1), 14: ("bfloat16", "half_val", 2),
    17: ("uint16", "int_val", 2), 18: ("complex128", "dcomplex_val", 16),
    19: ("float16", "half_val", 2), 22: ("uint32", "uint32_val", 4),
    23: ("uint64", "uint64_val", 8), 24: ("float8_e5m2", "float8_val", 1),
    25: ("float8_e4m3fn", "float8_val", 1), 26: ("float8_e4m3fnuz", "float8_val", 1),
    27: ("float8_e4m3b11fnuz", "float8_val", 1), 28: ("float8_e5m2fnuz", "float8_val", 1),
    29: ("int4", "int_val", 1), 30: ("uint4", "int_val", 1), 31: ("int2", "int_val", 1),
    32: ("uint2", "int_val", 1), 33: ("float4_e2m1fn", "float8_val", 1),
}  # fmt: skip

# typed field: number, and how a value is written
FIELDS = {
    "float_val": (5, "<I"), "double_val": (6, "<Q"), "int_val": (7, "varint"),
    "string_val": (8, "bytes"), "scomplex_val": (9, "<I"), "int64_val": (10, "varint"),
    "bool_val": (11, "varint"), "dcomplex_val": (12, "<Q"), "half_val": (13, "varint"),
    "uint32_val": (16, "varint"), "uint64_val": (17, "varint"), "float8_val": (18, "whole"),
}  # fmt: skip


def field(number: int, wire_type: int, data: bytes = b"") -> bytes:
    return varint(number << 3 | wire_type) + data


def content(data: bytes) -> bytes:
    return len_field(4, data)


def dims(sizes: Iterable[int], extra: bytes = b"") -> bytes:
    """Return a shape, of which every size is written, zeros too."""
    return len_field(2, b"".join(len_field(2, field(1, 0, varint(size))) for size in sizes) + extra)


def typed(name: str, values: Any, split: int | None = None) -> bytes:
    """Return a typed field: of values up to `split` a packed run, then one by one.

    Values are numbers; of floats, the bits. With `split` None, all are packed.
    """
    number, form = FIELDS[name]
    if form == "whole":
        return len_field(number, bytes(values))
    if form == "bytes":
        return b"".join(len_field(number, value) for value in values)
    split = len(values) if split is None else split
    wire_type = {"varint": 0, "<I": 5, "<Q": 1}[form]
    written = [varint(v) if form == "varint" else struct.pack(form, v) for v in values]
    packed = len_field(number, b"".join(written[:split])) if split else b""
    return packed + b"".join(field(number, wire_type, value) for value in written[split:])


def proto(number: int, shape: Iterable[int] | None = None, *parts: bytes) -> bytes:
    """Return a TensorProto; shape None leaves it out."""
    head = field(1, 0, varint(number)) if number else b""
    return head + (b"" if shape is None else dims(shape)) + b"".join(parts)


_SIZES = (0, 1, 1, 2, 2, 3, 5)
_INTS = (0, 1, 2, 127, 128, 255, 300, 2**16 + 7, 2**31 - 1, -1, -2, -128, -(2**31))
_LONGS = (*_INTS, 2**32 - 1, 2**32 + 5, 2**63 - 1, -(2**63), 2**64 - 1)
_FLOATS = (0, 0x3F800000, 0x7F800001, 0xFFC00001, 0x7FC00000, 0xFF800000, 1, 0x80000000)
_WORDS = (b"", b"a", b"\0", b"one", b"\xff\xfe", b"x" * 130)


def _number(random: Random) -> int:
    kind = random.random()
    if kind < 0.93:
        return random.choice(list(NUMBERS))
    return random.choice([0, 11, 12, 13, 15, 16, 20, 21, 34, 99, 101, 107, 133, 2**31 - 1, -1])


def _shape(random: Random) -> tuple[int, ...] | None:
    kind = random.random()
    if kind < 0.08:
        return None
    if kind < 0.11:
        return random.choice([(-1,), (2, -3), (2**40,), (2**62, 2**62), (0, 2**40), (2**63 - 1, 0)])
    if kind < 0.13:
        return (1,) * random.choice([63, 64])
    return tuple(random.choice(_SIZES) for _ in range(random.choice([0, 1, 1, 2, 3])))


def _count(shape: Sequence[int] | None) -> int:
    n = 1
    for size in shape or ():
        n *= max(size, 0)
    return n if n < 1000 else 3


def _content(random: Random, number: int, n: int) -> bytes:
    _, _, width = NUMBERS.get(number, ("", "", 4))
    if not width:
        words = [random.choice(_WORDS) for _ in range(n)]
        data = b"".join(varint(len(word)) for word in words) + b"".join(words)
    elif number == 10:
        data = bytes(random.choice([0, 1]) for _ in range(n))
    else:
        data = random.randbytes(n * width)
    kind = random.random()
    if kind < 0.05 and data:
        data = data[: random.randrange(len(data))]
    elif kind < 0.1:
        data += random.randbytes(random.choice([1, 4, 8]))
    return content(data)


def _listed(random: Random, number: int, n: int) -> bytes:
    name = NUMBERS.get(number, ("", "float_val", 4))[1]
    if random.random() < 0.1:
        name = random.choice(list(FIELDS))
    form = FIELDS[name][1]
    kind = random.random()
    if kind < 0.5:
        n = random.randrange(n + 1)
    elif kind < 0.6:
        n += random.randrange(1, 4)
    if "complex" in name and random.random() < 0.8:
        n *= 2
    pool: Sequence[Any] = {
        "varint": _LONGS,
        "<I": _FLOATS,
        "<Q": [value << 32 | value for value in _FLOATS],
        "bytes": _WORDS,
        "whole": range(256),
    }[form]
    values = [random.choice(pool) for _ in range(n)]
    return typed(name, values, random.choice([None, 0, n // 2]))


def random_proto(random: Random) -> tuple[bytes, int]:
    """Return the bytes of a TensorProto, mostly valid, and the number of the dtype meant."""
    number, shape = _number(random), _shape(random)
    n = _count(shape)
    parts = [field(1, 0, varint(number))]
    if shape is not None:
        extra = b"\x18\x01" if random.random() < 0.05 else b""
        parts.append(dims(shape, extra))
    kind = random.random()
    if kind < 0.45 or kind > 0.95:
        parts.append(_content(random, number, n))
    if kind > 0.45:
        parts.append(_listed(random, number, n))
    if random.random() < 0.15:
        parts.append(
            random.choice(
                [
                    field(3, 0, b"\x07"),  # version_number
                    len_field(99, b"unknown"),
                    b"\xa3\x06\x08\x01\xa4\x06",  # an unknown group
                    len_field(14, len_field(1, b"device")),
                    len_field(15, len_field(2, b"metadata")),
                    dims((1,)),
                    dims((), len_field(2, field(1, 0, b"\x01") + len_field(2, b"name"))),
                ]
            )
        )
    if random.random() < 0.3:
        random.shuffle(parts)
    return b"".join(parts), number
