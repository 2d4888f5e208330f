"""datetime, date and timedelta of Python: kept by save, rejected by the lenient policy."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import RaggedTensor, encode_example, encode_examples, load, parse_example, save
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime.fromisoformat("2020-02-29T12:00:00.000001")
LONGEST = timedelta(days=2**63 // (86_400 * 10**6) - 1)


class Finer(datetime):
    """A subclass may know more than microseconds, as that of pandas does."""


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (st.datetimes(), "datetime64[us]"),
        (st.dates(), "datetime64[D]"),
        (st.timedeltas(-LONGEST, LONGEST), "timedelta64[us]"),
    ],
    ids=["datetime", "date", "timedelta"],
)
@given(data=st.data())
def test_they_come_back_as_the_dtype_that_counts_like_them(
    values: st.SearchStrategy[Any], dtype: str, data: st.DataObject
) -> None:
    column = {"t": data.draw(st.lists(values, min_size=1, max_size=4))}
    schema = schema_of(column)

    found: Any = parse_example(encode_examples(column, schema), schema)["t"]

    assert found.dtype == dtype
    assert found.tolist() == column["t"]


def test_save_keeps_them_in_any_form(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"t": NOON, "d": date.max, "s": None},
        {"t": NOON, "d": date.min, "s": LONGEST},
    ]
    for i, data in enumerate(
        [rows, iter(rows), {name: [row[name] for row in rows] for name in "tds"}]
    ):
        save(tmp_path / str(i), data)

        found: Any = load(tmp_path / str(i))
        assert found["t"].tolist() == [NOON, NOON]
        assert found["d"].tolist() == [date.max, date.min]
        assert found["s"].tolist() == [None, LONGEST]


def test_lists_of_them_are_ragged(tmp_path: Path) -> None:
    save(tmp_path / "r", {"t": [[NOON], []]})

    found = load(tmp_path / "r")["t"]

    assert isinstance(found, RaggedTensor)
    assert found.to_list() == [[NOON], []]


@pytest.mark.parametrize(
    ("column", "index", "said"),
    [
        ([NOON, NOON.replace(tzinfo=UTC)], 1, "this datetime has a time zone"),
        ([timedelta.max], 0, "too long for timedelta64"),
        (
            [NOON, date.max],
            1,
            "give np.datetime64 or np.timedelta64 of one unit, or pd.to_datetime",
        ),
        ([NOON, np.datetime64("2020")], 1, "give np.datetime64"),
        ([Finer(2020, 1, 1)], 0, "type Finer; give np.datetime64"),
        ([time(12)], 0, "no dtype holds these values of type time"),
    ],
)
def test_what_would_not_come_back_is_an_error(column: list[Any], index: int, said: str) -> None:
    with pytest.raises(InvalidArgumentError) as info:
        schema_of({"t": column})

    assert (info.value.reason, info.value.index, info.value.key) == (
        Reason.UNREPRESENTABLE,
        index,
        "t",
    )
    assert said in str(info.value)


@pytest.mark.parametrize("value", [NOON, date.max, LONGEST])
def test_without_a_schema_the_error_names_what_is_stored(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"np\.datetime64 .*the count of its unit"):
        encode_example({"t": value})
