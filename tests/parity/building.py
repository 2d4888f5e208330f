"""Examples and SequenceExamples byte by byte, for forms that no protobuf runtime writes.

::

    example(entry("a", floats(1.5)), entry("b", ints(1, 2)))

Everything is bytes, so forms are mixed by adding them up: ``floats(1) + ints(2)`` is a
Feature with two kinds set.
"""

import struct

from tests.tensors.tensor_messages import field, varint

__all__ = [
    "NO_KIND", "chunk", "entry", "example", "field", "floats", "ints", "ints_one_by_one", "key_of",
    "list_of", "packed_floats", "packed_ints", "sequence", "strings", "value_of", "varint",
]  # fmt: skip

NO_KIND = b""
"""A Feature without a list in it."""


def chunk(number: int, data: bytes, length: int | None = None) -> bytes:
    """Return a length-delimited field; with `length`, one that lies about it."""
    return field(number, 2, varint(len(data) if length is None else length) + data)


def packed_floats(*values: float) -> bytes:
    return chunk(1, struct.pack(f"<{len(values)}f", *values))


def packed_ints(*values: int) -> bytes:
    return chunk(1, b"".join(map(varint, values)))


def floats(*values: float) -> bytes:
    return chunk(2, packed_floats(*values) if values else b"")


def ints(*values: int) -> bytes:
    return chunk(3, packed_ints(*values) if values else b"")


def ints_one_by_one(*values: int) -> bytes:
    """Return a Feature of integers that are not packed."""
    return chunk(3, b"".join(field(1, 0, varint(value)) for value in values))


def strings(*values: bytes) -> bytes:
    return chunk(1, b"".join(chunk(1, value) for value in values))


def key_of(key: str | bytes) -> bytes:
    return chunk(1, key.encode() if isinstance(key, str) else key)


def value_of(feature: bytes) -> bytes:
    return chunk(2, feature)


def entry(key: str | bytes, feature: bytes) -> bytes:
    return chunk(1, key_of(key) + value_of(feature))


def example(*entries: bytes) -> bytes:
    return chunk(1, b"".join(entries))


def list_of(key: str | bytes, *features: bytes) -> bytes:
    """Return the map entry of a feature list with these steps."""
    return chunk(1, key_of(key) + value_of(b"".join(chunk(1, feature) for feature in features)))


def sequence(context: bytes = b"", lists: bytes = b"") -> bytes:
    """Return a SequenceExample of these map entries."""
    return chunk(1, context) * bool(context) + chunk(2, lists) * bool(lists)
