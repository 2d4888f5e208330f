"""What byte strings are, in a word and a line."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfrecord_lite.example.value_content import recognize_value
from tfrecord_lite.tensors.serialize import serialize_tensor

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
DTYPES = st.sampled_from(
    ["float32", "float64", "int8", "int32", "uint16", "bool", "complex64", "float16", "uint64"]
)


@given(DTYPES, SHAPES)
def test_tensors_are_known_by_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)

    found = recognize_value(serialize_tensor(array))

    assert found.label == f"{dtype} tensor"
    assert found.shape == shape
    assert found.n_bytes == array.nbytes


@given(st.lists(st.binary(max_size=20), max_size=300))
def test_tensors_of_strings_are_known(items: list[bytes]) -> None:
    serialized = serialize_tensor(np.array([*items, None], object)[:-1])

    found = recognize_value(serialized)

    assert (found.label, found.shape) == ("string tensor", (len(items),))
    assert found.n_bytes == len(serialized)


@given(st.sampled_from(["<f4", ">i2", "|u1", "<U5", "|b1", "|S3"]), SHAPES, st.booleans())
def test_arrays_of_numpy_are_known(dtype: str, shape: tuple[int, ...], is_fortran: bool) -> None:
    array = np.zeros(shape, dtype, order="F" if is_fortran else "C")
    out = io.BytesIO()
    np.save(out, array)

    found = recognize_value(out.getvalue())

    assert (found.label, found.shape) == (f"{array.dtype.name} array", shape)
    assert found.n_bytes == array.nbytes


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
@example("é" * 40_000)
@example("a" + "\N{GRINNING FACE}" * 40_000)
def test_texts_are_text(text: str) -> None:
    found = recognize_value(text.encode())

    assert found.label == "text" or found.media is not None


@given(st.one_of(st.binary(), st.binary().map(b"\x08\x01\x12".__add__)))
@example(b"\x93NUMPY" + b"('" * 3000)
@example(b"\x93NUMPY\1\0v\0{'descr': '<f4', 'shape': (" + b"9" * 4000)
@example(b"\x93NUMPY\1\0v\0{'descr': '<q99', 'shape': ()")
@example(b"\x93NUMPY\1\0v\0{'descr': '|U9999', 'shape': (" + b"999999999999999999," * 64 + b")")
def test_any_bytes_are_something(data: bytes) -> None:
    found = recognize_value(data)

    assert found.label
    assert str(found).startswith(found.label) or found.label == "bytes"
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    "data",
    [
        b"\x08\x01",  # no shape
        b"\x08\x63\x12\x00",  # no dtype
        b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x01a",  # two floats in one byte
        b"\x08\x01\x12\x00",  # no element
        b"\x08\x01\x12\x00\x2d",  # cut
        b"\x08\x01\x12\x00\x1a\x00",  # a field that tensors do not have
        b"\x08\x01\x12\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01",  # a size of -1
        b"\x08\x01\x12\x04\x1a\x02\x08\x02",  # a dimension of another number
    ],
)
def test_what_is_nearly_a_tensor_is_bytes(data: bytes) -> None:
    assert recognize_value(data).label == "bytes"


def test_a_tensor_of_a_repeated_value_is_not_built() -> None:
    size = b"\x12\x06\x08\x80\x80\x80\x80\x04"  # 2**30
    begin = time.process_time()

    found = recognize_value(b"\x08\x01\x12\x08" + size + b"\x2a\x04" + bytes(4))

    assert str(found) == "float32 tensor [1073741824], 4.0 GiB"
    assert time.process_time() - begin < 0.1


def test_many_listed_values_are_not_all_read() -> None:
    begin = time.process_time()

    assert recognize_value(b"\x08\x07\x12\x00" + b"\x42\x00" * 5_000_000).label == "string tensor"
    dimension = b"\x12\x80\xad\xe2\x04" + b"\x08\x01" * 5_000_000
    assert recognize_value(b"\x08\x01\x12\x85\xad\xe2\x04" + dimension).label == "bytes"
    assert recognize_value(b"\x08\x63" + b"\x42\x00" * 5_000_000).label == "bytes"
    assert time.process_time() - begin < 0.2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", "empty"),
        (b"hello", "text, 5 bytes"),
        (b"\xff", "1 byte"),
        (b"GIF89a\x80\x02\xe0\x01" + bytes(43_000), "GIF 640 x 480, 42.0 KiB"),
        (serialize_tensor(np.zeros((3, 4), np.float32)), "float32 tensor [3, 4], 48 bytes"),
        (serialize_tensor(np.zeros(0, np.float32)), "float32 tensor [0], 0 bytes"),
        (serialize_tensor(np.zeros((1,) * 9, np.int8)), "int8 tensor [1, 1, 1, 1, 1, 1, 1, 1, ...], 1 byte"),
    ],
)  # fmt: skip
def test_lines(value: bytes, text: str) -> None:
    assert str(recognize_value(value)) == text
