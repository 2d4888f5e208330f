"""DataFrames of pandas from record files and back."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.test_dataframes import pandas_frames, pd, same_pandas
from tests.support.scanned_files import exact, files, on_disk, record
from tests.support.small_files import write
from tfrecord_lite import FixedLenFeature, load, read_tfrecord, save, scan, to_tfrecord

pytestmark = pytest.mark.needs("dataframes")

INT64S = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63 - 1, 2**53 + 1])


@given(pandas_frames())
def test_a_frame_comes_back_as_it_was(frame: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.tfrecord"
        assert to_tfrecord(frame, path) == save(Path(folder) / "other", frame)
        same_pandas(read_tfrecord(path), frame)
        same_pandas(scan(path).to_pandas(), frame)


def plain(value: Any) -> Any:
    """Return what pandas has for lists, texts, times and nulls in Python's own types."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if value is pd.NA or value is pd.NaT else value


@given(files())
def test_any_file_has_the_values_that_arrow_has(drawn: tuple[Any, list[bytes]]) -> None:
    schema, records = drawn
    with on_disk(records) as path:
        table = scan(path, schema).to_arrow()
        frame = read_tfrecord(path, schema)
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
        for name, column in zip(table.column_names, table.columns, strict=True):
            wanted = column.to_pylist()
            found = [plain(value) for value in frame[name].tolist()]
            if str(column.type) == "float":  # in which a null is a NaN
                found = [None if wanted[i] is None else value for i, value in enumerate(found)]
            assert exact(found) == exact(wanted)


@given(st.lists(st.none() | INT64S, max_size=9).filter(lambda values: None in values))
def test_integers_with_nulls_stay_exact_without_a_sidecar(values: list[int | None]) -> None:
    records = [record(k=[0], **({} if v is None else {"n": [v]})) for v in values]
    with on_disk(records) as path:
        features: Any = {"k": FixedLenFeature([], "int64")}
        if any(value is not None for value in values):
            features = scan(path, sample=None).schema
            frame = read_tfrecord(path, features)
            assert str(frame["n"].dtype) == "Int64"
            assert [None if v is pd.NA else int(v) for v in frame["n"]] == values
        assert str(read_tfrecord(path, features, ["k"])["k"].dtype) == "int64"


def test_columns_and_text_are_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "x", [record(a=[1], name=["Öl".encode()]), record(a=[2], name=[b""])])
    assert read_tfrecord(path, columns=["name"])["name"].tolist() == ["Öl".encode(), b""]
    frame = read_tfrecord(path, columns=["name", "a"], text=True)
    assert list(frame.columns) == ["name", "a"]
    assert frame["name"].tolist() == ["Öl", ""]


def test_shards_and_options_are_those_of_save(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.array([2**63 - 1, None, 3], dtype="Int64")}, index=list("xyz"))
    to_tfrecord(frame, tmp_path / "x@2.tfrecord.gz")
    assert len(list(tmp_path.glob("x-0000?-of-00002.tfrecord.gz"))) == 2
    same_pandas(read_tfrecord(tmp_path / "x@2.tfrecord.gz"), frame)
    same_pandas(load(tmp_path / "x@2.tfrecord.gz", as_="pandas"), frame)


def test_other_data_than_a_frame_are_a_type_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="save"):
        to_tfrecord({"a": [1]}, tmp_path / "x")
    other: Any = type("DataFrame", (), {"__module__": "polars.dataframe.frame"})()
    with pytest.raises(TypeError, match=r"a pandas\.DataFrame, not polars\.DataFrame; save"):
        to_tfrecord(other, tmp_path / "x")
    with pytest.raises(TypeError, match="not dict; save"):
        to_tfrecord({"a": [1]}, tmp_path / "x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        read_tfrecord(tmp_path / "x")


def test_the_options_are_those_of_scan_and_save() -> None:
    given, taken = (inspect.signature(function).parameters for function in (scan, read_tfrecord))
    assert list(given.values()) == [one for one in taken.values() if one.name != "progress"]
    given, taken = (inspect.signature(function).parameters for function in (save, to_tfrecord))
    assert {*given} - {"data", "schema_path"} == {*taken} - {"frame"}
    with pytest.raises(
        TypeError, match=r"^to_tfrecord\(\) got an unexpected keyword argument 'index'"
    ):
        to_tfrecord(pd.DataFrame(), "x", index=False)  # type: ignore[call-arg]


@pytest.mark.parametrize("options", [{}, {"num_workers": 1}, {"columns": ["x"]}])
def test_progress_counts_records(tmp_path: Path, options: dict[str, Any]) -> None:
    seen: list[tuple[int, int | None]] = []
    paths = [tmp_path / "frame", tmp_path / "rows"]
    to_tfrecord(pd.DataFrame({"x": range(3000)}), paths[0], progress=lambda *now: seen.append(now))
    assert seen[-1] == (3000, 3000)
    save(paths[1], [{"x": i} for i in range(3000)])

    for path in paths:
        seen.clear()
        frame = read_tfrecord(path, progress=lambda *now: seen.append(now), **options)
        assert len(frame) == 3000
        assert seen[-1] == (3000, 3000)
        scan(path, **options).to_arrow(progress=lambda *now: seen.append(now))
        assert seen[-1] == (3000, 3000)
    with pytest.raises(TypeError, match="progress must be"):
        read_tfrecord(paths[0], progress=1)  # type: ignore[arg-type]
