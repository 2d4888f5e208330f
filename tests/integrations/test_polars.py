"""Record files as lazy frames of Polars."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integrations.scanned_files import (
    damaged,
    exact,
    files,
    on_disk,
    record,
    with_a_bad_feature,
)
from tests.support.small_files import write
from tfrecord_lite import FixedLenFeature, save, scan
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason

pytestmark = pytest.mark.needs("dataframes")

FEATURES = {"label": FixedLenFeature([], "int64"), "name": FixedLenFeature([], "string")}
ENGINES = pytest.mark.parametrize("engine", ["in-memory", "streaming"])


def lazy(path: Any, *args: Any, **options: Any) -> Any:
    return scan(path, *args, **options).to_polars(lazy=True)


def pl() -> Any:
    return importlib.import_module("polars")


def has_empty_shapes(schema: Any) -> bool:
    return any(0 in getattr(spec, "shape", ()) for spec in schema.values())


@given(files().filter(lambda drawn: not has_empty_shapes(drawn[0])))
def test_any_file_has_the_values_that_arrow_has(drawn: tuple[Any, list[bytes]]) -> None:
    schema, records = drawn
    with on_disk(records) as path:
        table = scan(path, schema=schema)
        frame = lazy(path, schema=schema)
        found = frame.collect()
        assert frame.collect_schema() == found.schema == table.to_polars().schema
        assert exact(found.to_dicts()) == exact(table.to_arrow().to_pylist())


@given(files().filter(lambda drawn: not has_empty_shapes(drawn[0])), st.data())
def test_any_columns_of_any_rows_are_those_of_the_whole(drawn: Any, data: st.DataObject) -> None:
    schema, records = drawn
    with on_disk(records) as path:
        table = scan(path, schema=schema).to_arrow()
        names = data.draw(st.lists(st.sampled_from(table.column_names), min_size=1, unique=True))
        limit = data.draw(st.integers(0, len(records) + 1))
        indices = [table.column_names.index(name) for name in names]
        query = lazy(path, schema=schema).head(limit).select(pl().nth(i) for i in indices)
        expected = table.slice(0, limit).select(names).to_pylist()
        for engine in ("in-memory", "streaming"):
            assert exact(query.collect(engine=engine).to_dicts()) == exact(expected)


@given(
    labels=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
    least=st.integers(-(2**63), 2**63 - 1),
    limit=st.integers(0, 5),
)
def test_filters_and_limits_keep_rows(labels: list[int | None], least: int, limit: int) -> None:
    records = [
        record(n=[i], **({} if label is None else {"label": [label]}))
        for i, label in enumerate(labels)
    ]
    expected = [i for i, label in enumerate(labels) if label is not None and label >= least]
    features: Any = {"n": FixedLenFeature([], "int64")}
    with on_disk(records) as path:
        frame = lazy(path, schema=scan(path, sample=None).schema if records else features)
        if "label" not in frame.collect_schema():
            return
        is_kept = pl().col("label") >= least
        for engine in ("in-memory", "streaming"):
            for query, wanted in (
                (frame.filter(is_kept), expected),
                (frame.filter(is_kept).head(limit), expected[:limit]),
                (frame.head(limit).filter(is_kept), [i for i in expected if i < limit]),
                (frame.filter(is_kept).filter(pl().col("n") % 2 == 0), expected_even(expected)),
            ):
                assert query.select("n").collect(engine=engine)["n"].to_list() == wanted


def expected_even(rows: list[int]) -> list[int]:
    return [i for i in rows if i % 2 == 0]


def is_before_2() -> bool:
    """Return whether Polars reads a column to count rows, and wraps errors of a source in its own."""
    return int(pl().__version__.partition(".")[0]) < 2


def wrapped() -> type[Exception]:
    error: type[Exception] = pl().exceptions.ComputeError
    return error if is_before_2() else InvalidArgumentError


@ENGINES
def test_columns_that_a_query_does_not_name_are_not_parsed(tmp_path: Path, engine: Any) -> None:
    path = write(tmp_path / "x", with_a_bad_feature(5, 5))
    frame = lazy(path, schema=FEATURES)
    assert frame.select("label").collect(engine=engine).height == 11
    if not is_before_2():
        assert frame.select(pl().len()).collect(engine=engine).item() == 11
    assert frame.filter(pl().col("label") > 4).select("label").collect(engine=engine).height == 6
    with pytest.raises(
        (InvalidArgumentError, wrapped()), match=r"record 5, .*feature 'name'"
    ) as caught:
        frame.filter(pl().col("name") == b"n1").select("label").collect(engine=engine)
    if isinstance(caught.value, InvalidArgumentError):
        assert (caught.value.reason, caught.value.source) == (Reason.WRONG_KIND, path)


@ENGINES
def test_reading_stops_at_the_limit(tmp_path: Path, engine: Any) -> None:
    path = damaged(tmp_path)
    frame = lazy(path, schema=FEATURES, batch_size=10)  # Polars reads some batches ahead
    assert frame.head(1500).collect(engine=engine)["label"].to_list() == list(range(1500))
    if engine == "streaming":  # the other engine hands no limit over a filter
        query = frame.filter(pl().col("label") > 7).head(2).select("label")
        assert query.collect(engine=engine).rows() == [(8,), (9,)]
    with pytest.raises((DataLossError, wrapped()), match=r"record 2999, .*data CRC") as caught:
        frame.select("label").collect(engine=engine)
    if isinstance(caught.value, DataLossError):
        assert (caught.value.reason, caught.value.index) == (Reason.DATA_CRC, 2999)
    skipping = lazy(path, schema=FEATURES, on_error=lambda _: None)
    assert skipping.select("label").collect(engine=engine).height == 2999


def test_shapes_without_values_are_an_error_instead_of_a_panic(tmp_path: Path) -> None:
    path = write(tmp_path / "x", [record(label=[1])])
    with pytest.raises(InvalidArgumentError) as caught:
        lazy(path, schema={"label": "int64", "x": FixedLenFeature([2, 0], "int64", [[], []])})
    assert (caught.value.reason, caught.value.key) == (Reason.UNSUPPORTED, "x")


def test_names_that_polars_takes_for_patterns(tmp_path: Path) -> None:
    names = ["^a.*$", "*", "ab", "image/class"]
    save(tmp_path / "x", {name: [i] for i, name in enumerate(names)})
    frame = lazy(tmp_path / "x")
    assert frame.collect().to_dicts() == [{name: i for i, name in enumerate(names)}]
    assert frame.select(pl().nth(1)).collect().rows() == [(1,)]
    assert frame.filter(pl().nth(0) == 0).select(pl().nth(3)).collect().rows() == [(3,)]
