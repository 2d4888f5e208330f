"""The exceptions: their family, their text, and that they survive a change of process."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import TFRecordError
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    errors_at,
)

CLASSES = [DataLossError, FailedPreconditionError, InvalidArgumentError]
every_class = pytest.mark.parametrize("cls", CLASSES)

numbers = st.none() | st.integers(0, 2**64)
texts = st.none() | st.text(max_size=10)


@every_class
def test_each_is_one_of_ours_and_a_value_error(cls: type[TFRecordError]) -> None:
    assert issubclass(cls, TFRecordError)
    assert issubclass(cls, ValueError)
    assert cls.__mro__[1] is TFRecordError


@every_class
@given(data=st.tuples(st.sampled_from(Reason), numbers, texts, numbers, texts, texts))
def test_errors_survive_pickling_and_copying(cls: type[TFRecordError], data: Any) -> None:
    error = cls(*data)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
            assert type(again) is cls
            fields = (again.reason, again.offset, again.source)
            assert (*fields, again.index, again.key, again.detail) == data
            assert again.reason is data[0]
            assert str(again) == str(error)


@pytest.mark.parametrize(("error", "text"), [
    (DataLossError(Reason.TRUNCATED), "truncated"),
    (DataLossError(Reason.TRUNCATED, 7), "byte 7: truncated"),
    (DataLossError(Reason.TRUNCATED, 0, "a.tfrecord"), "a.tfrecord: byte 0: truncated"),
    (
        DataLossError(Reason.DATA_CRC, 7, "a.tfrecord", 2, None, "stored 1, computed 2"),
        "a.tfrecord: record 2, byte 7: stored 1, computed 2",
    ),
    (
        InvalidArgumentError(Reason.BAD_ARGUMENT, key="label", detail="expected int64"),
        "feature 'label': expected int64",
    ),
    (FailedPreconditionError(Reason.CLOSED, source="a.tfrecord"), "a.tfrecord: closed"),
])  # fmt: skip
def test_the_text_says_what_where_and_the_detail(error: TFRecordError, text: str) -> None:
    assert str(error) == text


def test_reasons_are_told_apart_by_their_text() -> None:
    assert len({reason.value for reason in Reason}) == len(Reason)
    assert all(str(reason) == reason.value for reason in Reason)


def test_a_place_is_added_to_the_same_exception() -> None:
    error = InvalidArgumentError(Reason.WRONG_COUNT, index=2, detail="too short")
    error.add_note("a hint")
    with (
        pytest.raises(InvalidArgumentError) as raised,
        errors_at(source="a.tfrecord", index=lambda number: 10 + number),
        errors_at(key="x"),
    ):
        raise error from OSError("gone")
    assert raised.value is error
    assert str(error) == "a.tfrecord: record 12, feature 'x': too short"
    assert error.__notes__ == ["a hint"]
    assert isinstance(error.__cause__, OSError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
