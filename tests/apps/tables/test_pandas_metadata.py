"""Parquet of pandas keeps its index and dtypes on the way through TFRecord files."""

from pathlib import Path

import numpy as np
import pytest

from tfrecord_lite import save
from tfrecord_lite.cli import main

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.needs("arrow")

COLUMNS = {
    "a": pd.array([1, None, 3], "Int64"), "b": pd.array([True, None, False], "boolean"),
    "f": [0.1, np.nan, 0.3], "s": ["x", "y", "z"],
    "t": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
}  # fmt: skip
INDEXES = {
    "range": pd.RangeIndex(3),
    "named": pd.Index(["p", "q", "r"], name="key"),
    "unnamed": pd.Index([7, 8, 9]),
    "levels": pd.MultiIndex.from_arrays([[1, 1, 2], ["u", "v", "w"]], names=["n", "m"]),
}


def convert(source: Path, target: Path, *options: str) -> None:
    assert main(["convert", *options, str(source), str(target)]) == 0


@pytest.mark.parametrize("index", INDEXES)
def test_frames_come_back_from_parquet_by_way_of_records(tmp_path: Path, index: str) -> None:
    frame = pd.DataFrame(COLUMNS, index=INDEXES[index])
    frame.to_parquet(tmp_path / "a.parquet")
    expected = pd.read_parquet(tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.tfrecord", "--lossless")
    save(tmp_path / "c.tfrecord", frame, lossless=True)
    for name in "bc":
        convert(tmp_path / f"{name}.tfrecord", tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), expected)


def test_some_columns_of_a_frame_have_its_dtypes(tmp_path: Path) -> None:
    save(tmp_path / "a.tfrecord", pd.DataFrame(COLUMNS, index=INDEXES["named"]), lossless=True)
    convert(tmp_path / "a.tfrecord", tmp_path / "a.parquet", "--columns", "b,a")
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert frame.dtypes.map(str).to_dict() == {"b": "boolean", "a": "Int64"}
