"""decode_raw: laws that hold for all strings, in whatever form they come."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tensors.test_tensors import every_form, refusal
from tfrecord_lite import BytesColumn, decode_raw
from tfrecord_lite.errors import Reason

ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs the extra dtypes")

DTYPES = [
    *("float16", "float32", "float64", "complex64", "complex128", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]
dtypes = st.sampled_from(DTYPES)


def numpys(data: bytes, dtype: str, *, little_endian: bool) -> Any:
    """Return what NumPy makes of the bytes of one string, in the machine's byte order."""
    if dtype == "bool":
        return np.frombuffer(data, np.uint8) != 0
    ordered = np.dtype(dtype).newbyteorder("<" if little_endian else ">")
    return np.frombuffer(data, ordered).astype(dtype)


@every_form
@given(st.data(), dtypes, st.integers(0, 5), st.integers(1, 6), st.booleans())
def test_numbers_are_those_of_numpy(
    form: Any, data: st.DataObject, dtype: str, n: int, n_strings: int, little_endian: bool
) -> None:
    n_bytes = n * np.dtype(dtype).itemsize
    one = st.binary(min_size=n_bytes, max_size=n_bytes)
    strings = data.draw(st.lists(one, min_size=n_strings, max_size=n_strings))
    found = decode_raw(form(strings), dtype, little_endian)
    assert found.dtype == dtype
    assert found.shape == (n_strings, n)
    assert found.flags.writeable
    for row, string in zip(found, strings, strict=True):
        np.testing.assert_array_equal(row, numpys(string, dtype, little_endian=little_endian))


@every_form
@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=8),
    st.sampled_from([d for d in DTYPES if d not in {"bool", "complex64", "complex128"}]),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_length(form: Any, strings: list[bytes], dtype: str, n: int, little_endian: bool) -> None:
    n_bytes = n * np.dtype(dtype).itemsize
    cut = [string[:n_bytes].ljust(n_bytes, b"\0") for string in strings]
    found = decode_raw(form(strings), dtype, little_endian, n_bytes)
    np.testing.assert_array_equal(found, decode_raw(cut, dtype, little_endian))
    assert found.flags.writeable


@given(st.lists(st.binary(min_size=4, max_size=4), min_size=6, max_size=6))
def test_the_shape_of_the_strings_is_kept(strings: list[bytes]) -> None:
    flat = decode_raw(strings, np.int16)
    array = np.array([*strings, None], object)[:-1].reshape(3, 1, 2)
    for shaped in (array, array.tolist()):
        found = decode_raw(shaped, np.int16)
        assert found.shape == (3, 1, 2, 2)
        assert found.tolist() == flat.reshape(3, 1, 2, 2).tolist()
    assert decode_raw(strings[0], np.int16).tolist() == flat[0].tolist()


@every_form
def test_the_strings_are_not_changed(form: Any) -> None:
    strings = [bytes(range(8)), bytes(range(8, 16))]
    given_strings = form(strings)
    found = decode_raw(given_strings, np.int32, little_endian=False)
    found[:] = 0
    assert [bytes(string) for string in given_strings] == strings


@every_form
def test_strings_of_several_sizes_are_rejected(form: Any) -> None:
    error = refusal(decode_raw, form([b"ab", b"cd", b"abcd", b"a"]), np.int16)
    assert (error.reason, error.index) == (Reason.WRONG_COUNT, 2)
    error = refusal(decode_raw, form([b"abc", b"def"]), np.int16)
    assert (error.reason, error.index) == (Reason.WRONG_COUNT, 0)


def test_of_steps_of_several_sizes_the_record_and_the_step_are_named() -> None:
    steps = np.array([[b"ab", b"cd", b"ef"], [b"ab", b"cd", b""]], object)
    for strings, place in (steps, "record 1: step 2:"), (steps[:, None], "record 1: step 0, 2:"):
        error = refusal(decode_raw, strings, np.int16)
        assert (error.reason, error.index) == (Reason.WRONG_COUNT, 1)
        assert str(error).startswith(f"{place} the string has 0 bytes, expected 2")
        assert "RawFeature" in str(error)


def test_a_column_need_not_begin_at_the_start_of_its_data() -> None:
    data = np.arange(40, dtype=np.uint8)
    column = BytesColumn(np.array([4, 8, 12]), data[::2])
    assert decode_raw(column, np.uint8).tolist() == [[8, 10, 12, 14], [16, 18, 20, 22]]
    assert decode_raw(column, np.uint8, fixed_length=5)[1].tolist() == [16, 18, 20, 22, 0]


def test_bfloat16_is_ml_dtypes() -> None:
    values = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    found = decode_raw(values.tobytes(), "bfloat16")
    assert found.dtype == ml_dtypes.bfloat16
    assert found.tolist() == [1.5, -2.0]
