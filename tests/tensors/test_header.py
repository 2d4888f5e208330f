"""A byte string is recognised as a tensor, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite.messages.tensor_pb2 import TensorProto
from tfrecord_lite.tensors.dtypes import TYPES
from tfrecord_lite.tensors.header import read_header
from tfrecord_lite.tensors.serialize import serialize_tensor


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "complex64", "object"])
def test_tensors_as_they_are_serialised(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.full(shape, b"x" if dtype == "object" else 1, dtype)

    header = read_header(serialize_tensor(array))

    assert header is not None
    assert header.dtype == ("string" if dtype == "object" else dtype)
    assert header.shape == shape


@pytest.mark.needs("dtypes")
@pytest.mark.parametrize("name", [kind.name for kind in TYPES if kind.is_extra])
def test_small_dtypes(name: str) -> None:
    kind = next(kind for kind in TYPES if kind.name == name)

    header = read_header(serialize_tensor(np.zeros(3, kind.dtype)))

    assert header is not None
    assert str(header) == f"{name} [3]"


def test_listed_and_repeated_elements() -> None:
    message = TensorProto(dtype=1, float_val=[1])
    message.tensor_shape.dim.add(size=100)

    assert str(read_header(message.SerializeToString())) == "float32 [100]"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08\x01",
        b"\x08\x01\x12\x00",  # one element, but none stored
        bytes.fromhex("0801 1200 2203 000000"),  # three bytes of four
        bytes.fromhex("0863 1200 2204 00000000"),  # an unknown dtype
        bytes.fromhex("0801 1202 0801 2204 00000000"),  # a shape without a dimension in it
        bytes.fromhex("0801 120b 1209 08ffffffffffffffff 2204 00000000"),  # cut in a dimension
        bytes.fromhex("0801 120d 120b 08ffffffffffffffffff01 2204 00000000"),  # a size of -1
        b"\x89PNG\r\n\x1a\n" + bytes(30),
        b"hello, world",
    ],
)
def test_other_bytes(data: bytes) -> None:
    assert read_header(data) is None


@given(st.binary(max_size=40).map(lambda data: b"\x08\x01" + data) | st.binary(max_size=40))
def test_any_bytes(data: bytes) -> None:
    read_header(data)  # does not raise
