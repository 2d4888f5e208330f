"""Dask itself, on all its schedulers: what it reads and writes is what the local reader has."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.engines.engine_files import check_example, damage, kill_once, rows_of, write_shards
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tfrecord_lite import TFRecordReader, TFRecordWriter, decode_example, encode_example, save, scan
from tfrecord_lite.errors import DataLossError, DataLossWarning, InvalidArgumentError
from tfrecord_lite.integrations.dask import read_records, read_tfrecord, to_tfrecord

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "records")


@pytest.fixture
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def rows_in(frame: Any) -> list[dict[str, Any]]:
    found = frame.compute() if hasattr(frame, "compute") else frame
    rows: list[dict[str, Any]] = pa.Table.from_pandas(found, preserve_index=False).to_pylist()
    return rows


@pytest.mark.parametrize("blocksize", [None, "128MiB", "50kiB", 3000])
@pytest.mark.parametrize("backend", [None, "pyarrow"])
def test_every_row_comes_once(folder: Path, blocksize: Any, backend: Any) -> None:
    frame = read_tfrecord(folder, blocksize=blocksize, dtype_backend=backend)
    assert frame.npartitions == {None: 3, "128MiB": 3}.get(blocksize, frame.npartitions)
    assert frame.npartitions > 3 or blocksize in (None, "128MiB")
    assert rows_in(frame) == rows_of(str(folder / "*"))
    assert len(frame) == 3000


@pytest.mark.parametrize("sample", corpus_files("example"))
def test_corpus(sample: CorpusFile) -> None:
    for backend in None, "pyarrow":
        frame = read_tfrecord(str(sample.path), blocksize=10_000, dtype_backend=backend)
        assert list(map(repr, rows_in(frame))) == list(map(repr, rows_of(sample.path)))
        for i in range(min(frame.npartitions, 3)):  # what Dask believes is so
            part = frame.get_partition(i).compute()
            assert part.dtypes.equals(frame._meta.dtypes)


def test_dtypes_do_not_depend_on_the_values(tmp_path: Path) -> None:
    for i in range(2):
        columns = {"b": [True, None], "s": ["a", None], "x": [1.5, None]}
        save(tmp_path / f"{i}.tfrecord", pa.table({"n": [1, None] if i else [1, 2], **columns}))
    with TFRecordWriter(tmp_path / "2.tfrecord") as writer:
        writer.write(encode_example({"n": [3], "s": ["c"]}))
    frame = read_tfrecord(tmp_path, schema=scan(str(tmp_path / "1*")).schema)
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "boolean", "string", "float64"]
    for i in range(3):
        assert frame.get_partition(i).compute().dtypes.equals(frame.dtypes)
    assert frame.n.sum().compute() == 7
    times = pd.DataFrame({"t": pd.to_datetime(["2026-01-01"]), "c": pd.Categorical(["a"])})
    save(tmp_path / "times", times)
    other = read_tfrecord(tmp_path / "times")
    assert other.compute().dtypes.equals(other._meta.dtypes)


def test_only_the_columns_that_are_used_are_parsed(folder: Path) -> None:
    schema = scan(str(folder / "data-*")).schema
    with TFRecordWriter(folder / "other.tfrecord") as writer:  # its text cannot be parsed
        writer.write(encode_example({"row": [9999], "text": [1]}))
    frame = read_tfrecord(folder, schema=schema)
    assert frame[["row"]].compute().row.tolist() == [*range(3000), 9999]
    assert frame[frame.row > 2000].row.count().compute() == 1000
    assert len(read_tfrecord(folder, schema=schema, columns=[])) == 3001
    assert read_tfrecord(folder, schema=schema, columns=["row"]).columns.tolist() == ["row"]
    raised(InvalidArgumentError, frame.compute, match="record 0, byte 0, feature 'text'")


def test_the_path_is_a_column_if_asked(folder: Path) -> None:
    frame = read_tfrecord(folder, include_path_column=True)
    paths = [str(path) for path in sorted(folder.glob("*d"))]
    assert sorted(frame.path.unique().compute()) == paths
    assert frame[["path", "row"]].compute().columns.tolist() == ["path", "row"]
    assert read_tfrecord(folder, include_path_column="file").columns[-1] == "file"
    with pytest.raises(InvalidArgumentError, match="column 'row' already"):
        read_tfrecord(folder, include_path_column="row")


def test_a_file_that_has_changed_has_other_keys(tmp_path: Path) -> None:
    """A cluster hands out what it has under a key, and does not look at the file."""
    path = tmp_path / "a"
    save(path, {"row": [1, 2, 3]})
    frame, bag = read_tfrecord(path), read_records(path)
    assert read_tfrecord(path)._name == frame._name
    assert read_records(path).name == bag.name
    save(path, {"row": [7, 8, 9]})
    assert read_tfrecord(path)._name != frame._name
    assert read_records(path).name != bag.name


def test_paths_are_local(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    frame, bag = read_tfrecord("data-*.tfrecord"), read_records("data-00000-of-00003.tfrecord")
    later = to_tfrecord(frame, "../out", compute=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(frame) == 3000
    assert bag.count().compute(scheduler="sync") == 1000
    assert [Path(part.path).parent for part in later.compute()] == [tmp_path / "out"] * 3


def test_bad_arguments(folder: Path) -> None:
    raised(InvalidArgumentError, read_tfrecord, folder, columns=["rows"], match="no column 'rows'")
    with pytest.raises(InvalidArgumentError, match="dtype_backend is 'numpy'"):
        read_tfrecord(folder, dtype_backend="numpy")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="num_workers is for one machine"):
        read_tfrecord(folder, num_workers=2)
    with pytest.raises(TypeError, match=r"expected a dask.dataframe.DataFrame, not DataFrame"):
        to_tfrecord(pd.DataFrame(), folder)


def test_records(folder: Path) -> None:
    expected = list(TFRecordReader(str(folder / "*")))
    bag = read_records(folder, blocksize="30kiB")
    assert bag.npartitions > 3
    assert bag.compute() == expected
    rows = bag.map(decode_example).filter(lambda row: row["row"][0] % 1000 == 0)
    assert [int(row["row"][0]) for row in rows.compute(scheduler="threads")] == [0, 1000, 2000]


def test_damage(folder: Path) -> None:
    schema = scan(str(folder / "*")).schema
    damage(folder / "data-00001-of-00003.tfrecord", [100, 900])
    reader = TFRecordReader(str(folder / "*"), on_error=lambda _: None)
    n_records = sum(map(len, reader.blocks()))
    with pytest.raises(DataLossError, match=r"data-00001-of-00003.tfrecord: record 100, byte"):
        read_tfrecord(folder, schema=schema).compute()
    frame = read_tfrecord(folder, schema=schema, on_error="skip", blocksize="30kiB")
    with pytest.warns(DataLossWarning, match="data-00001-of-00003.tfrecord: record 100, byte"):
        assert len(frame.compute(scheduler="sync")) == n_records == 2998
    with pytest.warns(DataLossWarning):
        assert len(frame) == n_records
    bag = read_records(folder, on_error="skip")
    with pytest.warns(DataLossWarning):
        assert bag.count().compute(scheduler="sync") == n_records
    with pytest.raises(DataLossError, match="max_errors=0"):
        read_tfrecord(folder, schema=schema, on_error="skip", max_errors=0).compute()


@pytest.mark.parametrize(("compression", "scheduler"), [(None, "threads"), ("GZIP", "processes")])
def test_what_is_written_comes_back(
    folder: Path, tmp_path: Path, compression: str | None, scheduler: str
) -> None:
    out = tmp_path / "out"
    how = {"scheduler": scheduler}
    parts = to_tfrecord(read_tfrecord(folder), out, compression=compression, compute_kwargs=how)
    ending = ".tfrecord.gz" if compression else ".tfrecord"
    assert [Path(part.path).name for part in parts] == [f"part.0000{i}{ending}" for i in range(3)]
    assert [part.n_records for part in parts] == [1000] * 3
    assert rows_of(str(out / "*")) == rows_of(str(folder / "*"))
    assert scan(str(out / "*")).arrow_schema.equals(scan(str(folder / "*")).arrow_schema)


def test_names_and_empty_partitions(folder: Path, tmp_path: Path) -> None:
    frame = read_tfrecord(folder)
    some = frame[frame.row < 1500]
    parts = to_tfrecord(some, tmp_path / "out")
    assert [part.n_records for part in parts] == [1000, 500]
    assert [Path(part.path).name for part in parts] == [f"part.0000{i}.tfrecord" for i in range(2)]


def test_frames_of_pandas(tmp_path: Path) -> None:
    data = {"i": [1, 2, 3], "s": ["a", "b", "c"], "x": [0.5, 0.1, 1.5], "b": [True, False, True]}
    frame = dd.from_pandas(pd.DataFrame(data, index=[5, 6, 7]), npartitions=2)
    to_tfrecord(frame, tmp_path / "a", lossless=True)
    assert rows_of(str(tmp_path / "a/*")) == pd.DataFrame(data).to_dict("records")
    with pytest.warns(UserWarning, match="b: float64 was rounded to float32 in 'x'; lossless=True"):
        rounded = to_tfrecord(frame, tmp_path / "b")
    assert [part.rounded for part in rounded] == [("x",), ()]
    assert [row["x"] for row in rows_of(str(tmp_path / "b/*"))] == [0.5, np.float32(0.1), 1.5]
    with pytest.raises(InvalidArgumentError, match="without a sidecar, what lossless=True stores"):
        to_tfrecord(frame, tmp_path / "c", lossless=True, sidecar=False)
    indexed = dd.from_pandas(pd.DataFrame(data).set_index("i"), npartitions=2)
    to_tfrecord(indexed, tmp_path / "c", write_index=True, lossless=True)
    assert [row["i"] for row in rows_of(str(tmp_path / "c/*"))] == [1, 2, 3]


def test_what_is_there_is_replaced_when_all_is_complete(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    to_tfrecord(read_tfrecord(folder, blocksize="30kiB"), out)
    with pytest.raises(FileExistsError, match="the directory has files"):
        to_tfrecord(read_tfrecord(folder), out)
    later = to_tfrecord(read_tfrecord(folder), out, overwrite=True, compute=False)
    assert len(list(out.glob("*.tfrecord"))) > 3
    later.compute()
    assert len(list(out.glob("*.tfrecord"))) == len(list(out.glob("*.json"))) == 3
    for _ in range(2):  # what is replaced is what is read, the second time under the same names
        to_tfrecord(read_tfrecord(out).repartition(npartitions=2), out, overwrite=True)
        assert [row["row"] for row in rows_of(str(out / "*"))] == list(range(3000))
    assert len(list(out.glob("*.tfrecord"))) == 2


def test_nothing_of_before_is_lost_if_a_partition_fails(tmp_path: Path) -> None:
    to_tfrecord(dd.from_pandas(pd.DataFrame({"x": [1, 2, 3, 4]}), npartitions=2), tmp_path / "a")

    def failing(frame: Any) -> Any:
        if 4 in frame.x.tolist():
            raise KeyError("theirs")
        return frame + 10

    frame = read_tfrecord(tmp_path / "a").map_partitions(failing, meta={"x": "int64"})
    other = dd.from_delayed(frame.to_delayed(), meta=frame._meta)
    raised(KeyError, to_tfrecord, other, tmp_path / "a", overwrite=True, match="theirs")
    old = rows_of(str(tmp_path / "a" / "part.*"))
    assert [row["x"] for row in old] == [1, 2, 3, 4]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_write_that_fails_leaves_nothing_of_its_own(tmp_path: Path, overwrite: bool) -> None:
    out = tmp_path / "a"
    if overwrite:
        to_tfrecord(dd.from_pandas(pd.DataFrame({"x": [7]}), npartitions=1), out)
    before = sorted(out.rglob("*"))

    def work(frame: Any) -> Any:
        x = frame.x.tolist()
        time.sleep(0.1 * len(x) * (x[0] > 4))  # of some that end after the error
        if 4 in x:
            raise KeyError("theirs")
        return frame

    data = dd.from_pandas(pd.DataFrame({"x": range(1, 9)}), npartitions=8)
    frame = data.map_partitions(work, meta={"x": "int64"})
    for scheduler in "threads", "synchronous":
        kwargs = {"scheduler": scheduler}
        with pytest.raises(KeyError, match="theirs"):
            to_tfrecord(frame, out, overwrite=overwrite, compute_kwargs=kwargs)
        time.sleep(0.5)
        assert sorted(path for path in out.rglob("*")) == before
    assert len(to_tfrecord(data, out, overwrite=overwrite)) == 8
    assert len(list(out.glob("*"))) == len(list(out.glob("*.tfrecord"))) * 2


def test_not_a_number_is_not_missing(tmp_path: Path) -> None:
    frame = dd.from_pandas(pd.DataFrame({"x": np.array([1, np.nan, 3], np.float32)}), npartitions=1)
    to_tfrecord(frame, tmp_path / "a")
    rows = [decode_example(record) for record in TFRecordReader(str(tmp_path / "a/*"))]
    assert [len(row["x"]) for row in rows] == [1, 1, 1]


def test_an_error_names_the_column(tmp_path: Path) -> None:
    lists = pd.Series([[1, 2], [3, None]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    frame = dd.from_pandas(pd.DataFrame({"x": lists}), npartitions=1)
    with pytest.raises(InvalidArgumentError, match=r"part.00000.tfrecord: record 1, feature 'x'"):
        to_tfrecord(frame, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.usefixtures("client")
def test_workers_that_are_killed_double_and_lose_nothing(folder: Path, tmp_path: Path) -> None:
    read, written = str(tmp_path / "read"), str(tmp_path / "written")

    def work(frame: Any, flag: str) -> Any:
        if len(frame) and 1500 in frame.row.tolist():
            time.sleep(0.2)  # others are done by now, and have to be done again if they were here
            kill_once(flag)
        return frame

    frame = read_tfrecord(folder, blocksize="30kiB")
    frame = frame.map_partitions(work, read, meta=frame._meta)
    parts = to_tfrecord(frame, tmp_path / "out")
    assert Path(read).exists()
    assert sum(part.n_records for part in parts) == 3000
    assert rows_of(str(tmp_path / "out/*")) == rows_of(str(folder / "*"))
    again = read_tfrecord(tmp_path / "out").map_partitions(work, written, meta=frame._meta)
    assert rows_in(again) == rows_of(str(folder / "*"))
    assert Path(written).exists()


def test_the_example_goes_to_parquet_and_back(tmp_path: Path) -> None:
    check_example("dask", tmp_path)
