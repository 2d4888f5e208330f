"""Recognise a TensorProto among other byte strings, without parsing its elements.

A byte string does not say that it is a tensor. It counts as one if its fields are those of a
TensorProto, the dtype comes first, there is a shape, and the elements are as many as the shape
asks for: all in the content, or at least one in the list for the dtype (rule T5 repeats the last).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import prod

from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.tensors.dtypes import MOST_DIMS, STRING, TensorType, type_of_number
from tfrecord_lite.wire.scalar import I32, I64, LEN, VARINT, WireError, read_varint, walk

_DTYPE_TAG, _DTYPE, _SHAPE, _VERSION, _CONTENT = 0x08, 1, 2, 3, 4
_MAX_FIELDS = 200  # that many well-formed fields are proof enough
_LISTS = range(5, 19)


@dataclass(frozen=True, slots=True)
class TensorHeader:
    """What a TensorProto says of its elements."""

    dtype: str
    """The dtype's name, as NumPy, ml_dtypes and TensorFlow have it."""
    shape: tuple[int, ...]
    nbytes: int | None = None
    """Bytes of its elements; None for strings."""

    def __str__(self) -> str:
        """Return dtype and shape: ``float32 [2, 3]``."""
        return f"{self.dtype} {list(self.shape)}"


def read_header(data: bytes) -> TensorHeader | None:
    """Return dtype and shape if `data` is a TensorProto of a supported dtype; otherwise None.

    >>> str(read_header(bytes.fromhex("0801 1200 2204 0000c03f")))
    'float32 []'
    """
    if len(data) < 4 or data[0] != _DTYPE_TAG:
        return None
    try:
        number, _ = read_varint(data, 1, len(data))
        kind = type_of_number(number)
        fields = list(islice(walk(data, 0, len(data)), _MAX_FIELDS))
        shape = _shape_of(data, fields)
    except (InvalidArgumentError, WireError):
        return None
    if shape is None or not all(_is_field(n, wire) for n, wire, _, _ in fields):
        return None
    if not _fits(kind, prod(shape), fields):
        return None
    n_bytes = None if kind is STRING else prod(shape) * _item_bytes(kind)
    return TensorHeader(kind.name, shape, n_bytes)


def _is_field(number: int, wire_type: int) -> bool:
    """Return whether a TensorProto has this field."""
    if number in _LISTS:
        return wire_type in {VARINT, I32, I64, LEN}
    return wire_type == {_DTYPE: VARINT, _SHAPE: LEN, _VERSION: VARINT, _CONTENT: LEN}.get(number)


def _shape_of(data: bytes, fields: list[tuple[int, int, int, int]]) -> tuple[int, ...] | None:
    """Return the shape in a TensorProto's fields; None if there is none, or not one."""
    found = [
        (start, stop) for number, wire, start, stop in fields if (number, wire) == (_SHAPE, LEN)
    ]
    if len(found) != 1:
        return None
    shape = []
    for number, wire, start, stop in islice(walk(data, *found[0]), MOST_DIMS + 1):
        if (number, wire) != (2, LEN):
            return None
        sizes = [
            read_varint(data, a, b)[0]
            for n, w, a, b in islice(walk(data, start, stop), _MAX_FIELDS)
            if (n, w) == (1, VARINT)
        ]
        shape.append(sizes[-1] if sizes else 0)
    is_shape = len(shape) <= MOST_DIMS and prod(filter(None, shape)) < 2**63
    return tuple(shape) if is_shape else None


def _fits(kind: TensorType, n_elements: int, fields: list[tuple[int, int, int, int]]) -> bool:
    """Return whether the elements stored are as many as the shape asks for."""
    contents = [stop - start for number, _, start, stop in fields if number == _CONTENT]
    if any(contents):
        return kind is not STRING and contents[-1] == n_elements * _item_bytes(kind)
    return n_elements == 0 or any(number in _LISTS for number, _, _, _ in fields)


def _item_bytes(kind: TensorType) -> int:
    """Return the bytes of an element, also where ml_dtypes is not installed."""
    if not kind.is_extra:
        return kind.dtype.itemsize
    return 2 if kind.name == "bfloat16" else 1
