"""Lists of numbers by marshal: all of one type of Python's, or None."""

from __future__ import annotations

import enum
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.parameter_ids import named
from tfrecord_lite.convert.types import plain_numbers, rounded

INT32 = st.integers(-(2**31), 2**31 - 1)


class Number(enum.IntEnum):
    """An integer of a subclass."""

    ONE = 1


class Half(float):
    """A float of a subclass."""


@given(st.one_of(st.lists(INT32, min_size=32), st.lists(st.floats(), min_size=32)), st.booleans())
def test_numbers_of_one_type(values: list[Any], is_tuple: bool) -> None:
    found = plain_numbers(tuple(values) if is_tuple else values)

    assert found is not None
    assert found.dtype == ("i4" if type(values[0]) is int else "f8")
    assert struct.pack(f"{len(values)}d", *values) == found.astype(float).tobytes()


ODD = [
    True, None, 2**31, -(2**31) - 1, 2**70, 0.5, 1, "i", b"i", b"iiii", "iiii", [], (), [1], Number.ONE, Half(1), 1j,
    np.int32(1), np.float64(1), np.array(1), np.ma.masked, np.zeros(5, "u1"), object(), {}, ..., StopIteration,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=named)
@pytest.mark.parametrize("place", [0, 1, 39])
@pytest.mark.parametrize("usual", [7, 7.5])
def test_anything_else_among_them(odd: Any, place: int, usual: Any) -> None:
    values = [usual] * 40
    values[place] = odd

    assert (plain_numbers(values) is None) == (type(odd) is not type(usual) or abs(odd) >= 2**31)


@given(st.lists(st.one_of(INT32, st.just(7), st.sampled_from(ODD)), min_size=32))
def test_integers_are_found_only_where_all_are(values: list[Any]) -> None:
    found = plain_numbers(values)

    assert found is None or [*map(type, values)] == [type(values[0])] * len(values)
    assert found is None or found.tolist() == values


def test_few_are_left_to_others() -> None:
    assert plain_numbers([]) is None
    assert plain_numbers([1] * 31) is None


@given(st.lists(st.floats(), min_size=1))
def test_floats_are_rounded_as_by_struct(values: list[float]) -> None:
    try:
        wanted = struct.pack(f"<{len(values)}f", *values)
    except OverflowError:
        with pytest.raises(FloatingPointError):
            rounded(np.array(values))
    else:
        assert rounded(np.array(values)).astype("<f4").tobytes() == wanted
