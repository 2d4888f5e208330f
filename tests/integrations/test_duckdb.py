"""DuckDB over record files."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import InvalidArgumentError, Reason
from tfrecord_lite.convert.dataframes.arrow import imported
from tfrecord_lite.integrations.duckdb import where

pytestmark = pytest.mark.needs("sql")

NAMES = ["label", "image/class/label", "name", "Row", "scores", "raw"]


def batch() -> Any:
    pa = imported()
    return pa.record_batch(
        {
            "label": pa.array([3, None, 2**63 - 1, -1]),
            "image/class/label": pa.array([[1], [], None, [2, 3]], pa.list_(pa.int64())),
            "name": pa.array(["rose", "Löwenzahn", None, "tulip"], pa.large_string()),
            "Row": pa.array([1.5, float("nan"), 0.0, None], pa.float32()),
            "scores": pa.array(
                [[0.5, 1.5], None, [9.0, 0.0], [1.0, 2.0]], pa.list_(pa.float32(), 2)
            ),
            "raw": pa.array([b"\x00\xff", b"", None, b"abc"], pa.large_binary()),
        }
    )


@pytest.mark.every
@pytest.mark.parametrize(
    ("expression", "columns", "rows"),
    [
        ("label > 2", ["label"], [0, 2]),
        ("label = 9223372036854775807", ["label"], [2]),
        ("LABEL is null", ["label"], [1]),
        ("not (label > 2)", ["label"], [3]),
        ('"image/class/label"[1] = 1', ["image/class/label"], [0]),
        ("name like '%zahn' or row = 1.5 -- a comment", ["name", "Row"], [0, 1]),
        ("scores[2] > 1", ["scores"], [0, 3]),
        ("raw = '\\x00\\xFF'::blob", ["raw"], [0]),
        ("octet_length(raw) = 0", ["raw"], [1]),
        ("len(list_filter(scores, lambda x: x > 1)) = 1", ["scores"], [0, 2, 3]),
        ("name in (select 'tulip')", ["name"], [3]),
        ("columns(*) is not null", NAMES, [0]),
        ("true", [], [0, 1, 2, 3]),
        ("null", [], []),
    ],
)
def test_a_condition_is_true_of_rows(expression: str, columns: list[str], rows: list[int]) -> None:
    condition = where(expression, NAMES)
    assert condition.columns == columns
    used = batch().select(columns) if columns else batch()
    mask = condition.mask(used)
    assert mask.dtype == np.bool_
    assert np.flatnonzero(mask).tolist() == rows
    assert condition.mask(batch()).tolist() == mask.tolist()
    assert condition.mask(batch()[:0]).tolist() == []


@given(values=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)), least=st.integers(-9, 9))
def test_masks_are_those_of_pyarrow(values: list[int | None], least: int) -> None:
    pa = imported()
    column = pa.array(values, pa.int64())
    mask = where(f"x >= {least}", ["x"]).mask(pa.record_batch({"x": column}))
    assert mask.tolist() == [value is not None and value >= least for value in values]


@pytest.mark.every
@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("lable = 3", "there is no column 'lable'; the nearest: 'label'"),
        ("image/class/label = 3", 'write "image/class/label" in double quotes'),
        ("label = ", "syntax error"),
        (" ", "it is empty"),
        ("label = 1; drop table batch", "syntax error"),
        ("label = 1) limit (1", "nothing more"),
        ("label = 1) group by (label", "nothing more"),
        ("1) union select (2", "nothing more"),
    ],
)
def test_a_wrong_condition_is_rejected_at_once(expression: str, text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        where(expression, NAMES)
    assert caught.value.reason is Reason.BAD_ARGUMENT
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("count(*) > 1", "aggregates"),
        ("label = 'many'", "many"),
        ("raw like 'a%'", "No function matches"),
    ],
)
def test_what_only_values_tell_is_an_error_of_one_line(expression: str, text: str) -> None:
    condition = where(expression, NAMES)
    with pytest.raises(InvalidArgumentError, match=text) as caught:
        condition.mask(batch())
    assert "\n" not in str(caught.value)


def test_columns_that_differ_in_case_only_are_told_apart() -> None:
    found = imported().record_batch({"Label": [1, 2], "label": [3, 1]})
    for name, expected in {"Label": [True, False], "label": [False, True]}.items():
        condition = where(f"{name} = 1", ["Label", "label"])
        assert condition.columns == [name]
        assert condition.mask(found).tolist() == expected
    with pytest.raises(InvalidArgumentError, match="differ only in case"):
        where("Label = label", ["Label", "label"])


def test_a_condition_goes_to_other_processes_and_threads() -> None:
    condition = pickle.loads(pickle.dumps(where("label > 2", NAMES)))

    with ThreadPoolExecutor(4) as pool:
        masks = list(pool.map(lambda _: condition.mask(batch()).tolist(), range(40)))
    assert masks == [[True, False, True, False]] * 40


def test_without_duckdb_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"pip install 'tfrecord-numpy\[sql\]'"):
        where("x > 1", ["x"])
