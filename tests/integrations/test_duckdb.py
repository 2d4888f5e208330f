"""DuckDB over record files."""

import importlib
import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.integrations.scanned_files import (
    damaged,
    exact,
    files,
    on_disk,
    record,
    with_a_bad_feature,
)
from tests.support.errors import raised
from tests.support.small_files import write
from tfrecord_lite import FixedLenFeature, TFRecordWriter, load, save, scan
from tfrecord_lite.apps.tables.formats import open_target
from tfrecord_lite.convert.arrow import imported, library
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.integrations.duckdb import sql, where

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


@pytest.mark.parametrize(("expression", "columns", "rows"), [
    ("label > 2", ["label"], [0, 2]), ("label = 9223372036854775807", ["label"], [2]),
    ("LABEL is null", ["label"], [1]), ("not (label > 2)", ["label"], [3]),
    ('"image/class/label"[1] = 1', ["image/class/label"], [0]),
    ("name like '%zahn' or row = 1.5 -- a comment", ["name", "Row"], [0, 1]),
    ("scores[2] > 1", ["scores"], [0, 3]), ("raw = '\\x00\\xFF'::blob", ["raw"], [0]),
    ("octet_length(raw) = 0", ["raw"], [1]),
    ("len(list_filter(scores, lambda x: x > 1)) = 1", ["scores"], [0, 2, 3]),
    ("name in (select 'tulip')", ["name"], [3]), ("columns(*) is not null", NAMES, [0]),
    ("true", [], [0, 1, 2, 3]), ("null", [], []),
])  # fmt: skip
def test_a_condition_is_true_of_rows(expression: str, columns: list[str], rows: list[int]) -> None:
    condition = pickle.loads(pickle.dumps(where(expression, NAMES)))
    assert condition.columns == columns
    used = batch().select(columns) if columns else batch()
    mask = condition.mask(used)
    assert mask.dtype == np.bool_
    assert np.flatnonzero(mask).tolist() == rows
    assert condition.mask(batch()).tolist() == mask.tolist()
    assert condition.mask(batch()[:0]).tolist() == []


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("lable = 3", "there is no column 'lable'; the nearest: 'label'"),
        ("image/class/label = 3", 'write "image/class/label" in double quotes'),
        ("label = ", "syntax error"),
        (" ", "it is empty"),
        ("label = 1; drop table batch", "syntax error"),
        ("label = 1) or (true", "syntax error"),
        ("label = 1) group by (label", "syntax error"),
        ("1) union select (2", "syntax error"),
        ("label = 1 limit 1", "syntax error"),
        # What only values tell comes with the first batch.
        ("count(*) > 1", "aggregates"),
        ("label = 'many'", "many"),
        ("raw like 'a%'", "No function matches"),
    ],
)
def test_a_wrong_condition_is_rejected(expression: str, text: str) -> None:
    call: Any = partial(where, expression, NAMES)
    if text in ("aggregates", "many", "No function matches"):
        call = partial(call().mask, batch())
    error = raised(InvalidArgumentError, call)
    assert error.reason is Reason.BAD_ARGUMENT
    assert text in str(error)
    assert "\n" not in str(error)


def test_columns_that_differ_in_case_only_are_told_apart() -> None:
    found = imported().record_batch({"Label": [1, 2], "label": [3, 1]})
    for name, expected in {"Label": [True, False], "label": [False, True]}.items():
        condition = where(f"{name} = 1", ["Label", "label"])
        assert condition.columns == [name]
        assert condition.mask(found).tolist() == expected
    with pytest.raises(InvalidArgumentError, match="differ only in case"):
        where("Label = label", ["Label", "label"])


FEATURES = {"label": FixedLenFeature([], "int64"), "name": FixedLenFeature([], "string")}


def duckdb() -> Any:
    return importlib.import_module("duckdb")


def rows(query: str, **tables: Any) -> list[tuple[Any, ...]]:
    with duckdb().connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return found


@given(files())
def test_any_file_has_the_values_that_arrow_has(drawn: tuple[Any, list[bytes]]) -> None:
    schema, records = drawn
    names = [name.lower() for name in schema]
    assume(all(names) and len(set(names)) == len(names))
    with on_disk(records) as path:
        table = scan(path, schema=schema)
        expected = [list(row.values()) for row in table.to_arrow().to_pylist()]
        assert exact(rows("from t", t=table)) == exact(expected)
        name = path.replace("'", "''")
        found = sql(f"from '{name}'", schema=schema, text=False).read_all().to_pylist()
        assert exact([list(row.values()) for row in found]) == exact(expected)


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    t = scan(damaged(tmp_path), schema=FEATURES, batch_size=10)
    assert rows("select label from t limit 3", t=t) == [(0,), (1,), (2,)]
    query = f"select label from '{tmp_path / 'damaged'}' limit 2"
    assert sql(query, schema=FEATURES, text=False, batch_size=10).read_all().num_rows == 2


def test_the_text_of_an_error_comes_through(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    with pytest.raises(duckdb().Error, match=f"{path}: record 2999, byte .*data CRC mismatch"):
        rows("select max(label) from t", t=scan(path, schema=FEATURES))
    with pytest.raises(DataLossError) as caught:
        sql(f"select max(label) from '{path}'", schema=FEATURES).read_all()
    error = caught.value
    assert (error.reason, error.index, error.source) == (Reason.DATA_CRC, 2999, str(path))
    kept = sql(f"select max(label) m from '{path}'", schema=FEATURES, on_error=lambda _: None)
    assert kept.read_all().to_pylist() == [{"m": 2998}]


def test_only_the_columns_that_a_query_uses_are_parsed(tmp_path: Path) -> None:
    path = write(tmp_path / "x", with_a_bad_feature(5, 5))
    for query, found in {
        "select count(*) n from '{}'": [{"n": 11}],
        'select max(label) n from "{}" where label < 8': [{"n": 7}],
        "select t.label n from '{}' t join '{}' u using (label) order by 1 desc limit 1": [
            {"n": 9}
        ],
    }.items():
        read = sql(query.replace("{}", path), schema=FEATURES, text=False).read_all()
        assert read.to_pylist() == found
    with pytest.raises(InvalidArgumentError) as caught:
        sql(f"select label from '{path}' where name = 'n1'", schema=FEATURES, text=False).read_all()
    assert (caught.value.index, caught.value.key) == (5, "name")


@given(
    values=st.lists(st.none() | st.floats(width=32), max_size=9),
    least=st.floats(width=32),
    sign=st.sampled_from([">=", "<", "=", "<>"]),
)
def test_pushed_filters_are_duckdbs(values: list[float | None], least: float, sign: str) -> None:
    records = [record(n=[i], **({} if x is None else {"x": [x]})) for i, x in enumerate(values)]
    features: Any = {"n": "int64", "x": "float32"}
    with on_disk(records) as path:
        if not any(value is not None for value in values):
            return
        features = scan(path, sample=None).schema
        query = f"select n from t where x {sign} '{least}'::float order by n"
        table = scan(path, schema=features).to_arrow()
        expected = [n for (n,) in rows(query, t=rows_of(table))]
        found = sql(query.replace(" t ", f" '{path}' "), schema=features).read_all()
        assert found.column("n").to_pylist() == expected


def rows_of(table: Any) -> Any:
    """Return a table without what DuckDB could push a filter into."""
    return table.to_reader()


def test_files_of_all_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for i in range(2):
        save(f"train-0000{i}-of-00002", {"k": np.arange(3) + i, "s": ["ä", "b", "c"]})
    (tmp_path / "names.csv").write_text("k,v\n3,three\n")
    save("it's", {"image/label": [5]})
    for query, found in {
        "select count(*) n, sum(k) s from 'train-*'": [{"n": 6, "s": 9}],
        "select count(*) n from 'train@2' where s = 'ä'": [{"n": 2}],
        "select v from 'train@2' join 'names.csv' using (k)": [{"v": "three"}],
        "select \"image/label\" n from 'it''s'": [{"n": 5}],
        "with t as (from 'train@2') select max(k) n from t": [{"n": 3}],
        "select column_name n from (describe 'it''s')": [{"n": "image/label"}],
    }.items():
        assert sql(query).read_all().to_pylist() == found


@pytest.mark.parametrize(("query", "kind", "text"), [
    ("select lable from 'x'", InvalidArgumentError, "no column 'lable'; the nearest: 'label'"),
    ("select image/x from 'x'", InvalidArgumentError, 'write "image/x" in double quotes'),
    ("select from 'x' where", InvalidArgumentError, "Parser Error"),
    ("select 1 from 'none.tfrecord'", FileNotFoundError, "none.tfrecord"),
    ("select 1 from 'text.txt'", DataLossError, "not a TFRecord"),
    ("select error('own') from 'x'", InvalidArgumentError, "own"), (3, TypeError, "must be a str"),
])  # fmt: skip
def test_errors(tmp_path: Path, monkeypatch: Any, query: Any, kind: Any, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    save("x", {"label": [1], "image/x": [2]})
    (tmp_path / "text.txt").write_text("hello, world. " * 9)
    error = raised(kind, lambda: sql(query).read_all())
    assert text in str(error)
    assert "\n" not in str(error)


def test_a_feature_after_the_sample_is_an_error_of_a_query_for_everything(tmp_path: Path) -> None:
    with TFRecordWriter(tmp_path / "x") as writer:
        writer.write_examples([{"x": 1, "y": 2}] * 5 + [{"x": 1, "late": 3}])
    with pytest.raises(InvalidArgumentError, match="not in the schema") as caught:
        sql(f"select * from '{tmp_path}/x'", sample=3).read_all()
    assert (caught.value.key, caught.value.index) == ("late", 5)
    found = sql(f"select sum(x) as n from '{tmp_path}/x'", sample=3).read_all()
    assert found.to_pylist() == [{"n": 6}]


def test_sums_and_literals_are_numbers(tmp_path: Path) -> None:
    save(tmp_path / "d.tfrecord", {"i": np.arange(5)})
    query = f"select sum(i) s, 1.5 x, [sum(i) * 0.5] l from '{tmp_path / 'd.tfrecord'}'"
    expected = [{"s": 10, "x": 1.5, "l": [5.0]}]
    assert sql(query).read_all().to_pylist() == expected
    relation = library("duckdb").sql("select sum(i) s, 1.5 x, [sum(i) * 0.5] l from range(5) t(i)")
    for name, data in {"ours": sql(query), "its": relation}.items():
        save(tmp_path / name, data)
        found: Any = load(tmp_path / name)
        assert (found["s"].dtype, found["x"].dtype) == (np.dtype(np.int64), np.dtype(np.float64))
        assert load(tmp_path / name, as_="arrow").to_pylist() == expected


@pytest.mark.parametrize("expression", ["union_value(n := 1)", "interval 1 day"])
def test_a_type_without_a_form_is_an_error_with_its_column(tmp_path: Path, expression: str) -> None:
    relation = library("duckdb").sql(f"select {expression} x")
    error = raised(InvalidArgumentError, save, tmp_path / "d", relation, match="cast it")
    assert (error.reason, error.key) == (Reason.UNSUPPORTED, "x")
    file = open_target(tmp_path / "d.jsonl", "jsonl", sql(f"select {expression} x").schema, None)
    with pytest.raises(InvalidArgumentError, match="cast it") as caught:
        file.write_batch(sql(f"select {expression} x").read_next_batch())
    file.abandon()
    assert (caught.value.reason, caught.value.key) == (Reason.UNSUPPORTED, "x")


def test_maps_are_lists_of_pairs_in_text(tmp_path: Path) -> None:
    rows = sql("select map {'k': 1, 'l': 2} m")
    file = open_target(tmp_path / "d.jsonl", "jsonl", rows.schema, None)
    file.write_batch(rows.read_next_batch())
    file.finish()
    file.commit()
    (line,) = (tmp_path / "d.jsonl").read_text().splitlines()
    assert json.loads(line) == {"m": [{"key": "k", "value": 1}, {"key": "l", "value": 2}]}
