"""Raw bytes to numbers: rules D1 to D6, asked of both."""

import random
from typing import Any

import numpy as np
import pytest

from tests.parity.rules import deviation, rule
from tests.parity.tensors import Tensors
from tfrecord_lite import BytesColumn, RawFeature, decode_raw, encode_examples, parse_example
from tfrecord_lite.errors import Reason

FIXED = ["float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16"]
ALL = [*FIXED, "float16", "bool", "complex64", "complex128"]
OURS = ["uint32", "uint64"]
every_dtype = pytest.mark.parametrize("dtype", ALL)
both_orders = pytest.mark.parametrize("little_endian", [True, False])


def some_bytes(n_bytes: int, n: int) -> list[bytes]:
    source = random.Random(n_bytes * n)
    return [source.randbytes(n_bytes) for _ in range(n)]


@rule("D1", "D3", "D4")
@every_dtype
def test_numbers_of_every_dtype(tensors: Tensors, dtype: str) -> None:
    strings = [*some_bytes(48, 5), bytes(48), b"\xff" * 48, bytes(range(48))]
    given: Any
    for given, shape in (
        (strings, (8,)), (strings[0], ()), ([strings[:2], strings[2:4]], (2, 2)), (b"", ()),
        (np.array(strings[:6], object).reshape(1, 3, 2), (1, 3, 2)), ([b"", b""], (2,)),
    ):  # fmt: skip
        for little_endian in (True, False):
            found = tensors.raw(given, dtype, little_endian=little_endian)
            n_bytes = len(given if isinstance(given, bytes) else np.ravel(given)[0])
            assert found.shape == (*shape, n_bytes // found.dtype.itemsize)
            assert found.dtype.name == dtype
            assert found.flags.writeable or not found.size
    found = tensors.raw(strings, dtype)
    assert decode_raw(BytesColumn.from_list(strings), dtype).tobytes() == found.tobytes()
    for shape in ((0,), (2, 0)):
        assert tensors.raw(np.empty(shape, object), dtype).shape == (*shape, 0)


@rule("D2")
@every_dtype
def test_all_strings_are_of_one_size_and_of_whole_values(tensors: Tensors, dtype: str) -> None:
    long, short = bytes(32), bytes(16)
    for strings, index in (([long, short], 1), ([short, short, b"", long], 2)):
        assert tensors.raw_rejected(strings, dtype, Reason.WRONG_COUNT).index == index
    if dtype not in {"int8", "uint8", "bool"}:
        for part in (b"abc", [b"abc", b"abc"], [b"a"]):
            tensors.raw_rejected(part, dtype, Reason.WRONG_COUNT)


@rule("D3")
@every_dtype
def test_a_raw_feature_is_decode_raw_of_a_string(tensors: Tensors, dtype: str) -> None:
    strings = [*some_bytes(48, 5), b"\0\1\2" * 16]
    expected = tensors.raw(strings, dtype)
    spec = RawFeature([expected.shape[1] // 3, 3], dtype)
    found = parse_example(encode_examples({"x": strings}), {"x": spec})["x"]
    assert found.dtype.name == dtype
    assert found.tobytes() == expected.tobytes()
    again = encode_examples({"x": found}, {"x": spec})
    assert dtype == "bool" or list(again) == list(encode_examples({"x": strings}))


@rule("D3")
@pytest.mark.parametrize("dtype", ["string", "float8_e5m2", "int4", "qint8"])
def test_other_dtypes_are_rejected(tensors: Tensors, dtype: str) -> None:
    tensors.raw_rejected([b"abcd"], dtype, Reason.UNSUPPORTED)
    tensors.raw_rejected([b"abcd"], dtype, Reason.UNSUPPORTED, fixed_length=4)


@deviation("D3")
@pytest.mark.parametrize("dtype", OURS)
@both_orders
def test_large_unsigned_integers_agree(tensors: Tensors, dtype: str, little_endian: bool) -> None:
    strings = some_bytes(16, 3)
    signed = dtype.removeprefix("u")
    for named in ({}, {"fixed_length": 8}):
        theirs, ours = tensors.ask_raw(strings, dtype, little_endian=little_endian, **named)
        assert type(theirs.error).__name__ == "InvalidArgumentError"
        same = tensors.raw(strings, signed, little_endian=little_endian, **named)
        assert ours.value.dtype == dtype
        assert ours.value.view(signed).tolist() == same.tolist()


@rule("D5")
@pytest.mark.parametrize("dtype", FIXED)
@both_orders
def test_strings_are_cut_and_padded(tensors: Tensors, dtype: str, little_endian: bool) -> None:
    ragged = [b"", b"a", b"abc", bytes(range(16)), bytes(range(1, 60))]
    for strings in (ragged, [ragged[1:3], ragged[3:]], ragged[2], [b"", b""], ragged[4:]):
        for n_bytes in (16, 48):
            named: Any = {"fixed_length": n_bytes, "little_endian": little_endian}
            found = tensors.raw(strings, dtype, **named)
            if isinstance(strings, list) and isinstance(strings[0], bytes):
                column = BytesColumn.from_list(strings)
                assert decode_raw(column, dtype, **named).tobytes() == found.tobytes()
    assert tensors.raw(np.empty(0, object), dtype, fixed_length=16).shape[0] == 0


@rule("D5")
def test_a_fixed_length_is_a_positive_multiple(tensors: Tensors) -> None:
    for n_bytes in (0, -2, 3, 2**31, 2**40):
        tensors.raw_rejected([b"ab"], "int16", Reason.BAD_ARGUMENT, fixed_length=n_bytes)
        tensors.raw_rejected(
            np.empty(0, object), "int16", Reason.BAD_ARGUMENT, fixed_length=n_bytes
        )
    for wrong in ("x", 2.0):
        theirs, ours = tensors.ask_raw([b"ab"], "int16", fixed_length=wrong)
        assert isinstance(theirs.error, TypeError)
        assert isinstance(ours.error, TypeError)


@rule("D6")
@pytest.mark.parametrize("dtype", ["bool", "complex64", "complex128"])
def test_no_bools_and_complex_numbers_of_fixed_length(tensors: Tensors, dtype: str) -> None:
    tensors.raw_rejected([bytes(16)], dtype, Reason.UNSUPPORTED, fixed_length=16)


@deviation("D6")
@both_orders
def test_half_floats_of_fixed_length(tensors: Tensors, little_endian: bool) -> None:
    strings = [bytes(range(6)), b"\x01", b""]
    named: Any = {"fixed_length": 4, "little_endian": little_endian}
    theirs, ours = tensors.ask_raw(strings, "float16", **named)
    assert type(theirs.error).__name__ == "NotFoundError"
    assert ours.value.dtype == np.float16
    same = tensors.raw(strings, "uint16", **named)
    assert ours.value.view(np.uint16).tolist() == same.tolist()


@deviation("D1")
@pytest.mark.parametrize("buffer", [bytearray(b"ab"), memoryview(b"ab")])
def test_other_buffers_are_taken(tensors: Tensors, buffer: Any) -> None:
    theirs, ours = tensors.ask_raw([buffer], "int8")
    assert theirs.error is not None
    assert ours.value.tolist() == [[97, 98]]
