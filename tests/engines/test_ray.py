"""Ray Data itself, with two workers: what it reads and writes is what the local reader has."""

import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import ray
from ray.exceptions import RayTaskError

from tests.engines.engine_files import check_example, damage, kill_once, rows_of, write_shards
from tests.support.errors import raised
from tfrecord_lite import TFRecordFile, TFRecordWriter, encode_example, save, scan
from tfrecord_lite.errors import DataLossError, DataLossWarning, InvalidArgumentError
from tfrecord_lite.integrations.ray import (
    TFRecordDatasink,
    TFRecordDatasource,
    read_tfrecords,
    write_tfrecords,
)

# Ray's own, which are not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    logging.getLogger("ray.data").setLevel("CRITICAL")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "records")


def rows_in(ds: Any, by: str | None = "row") -> list[dict[str, Any]]:
    tables = [ray.get(block) for block in ds.to_arrow_refs()]
    rows = [row for table in tables for row in table.to_pylist()]
    return rows if by is None else sorted(rows, key=lambda row: row[by])


@pytest.mark.parametrize("num_blocks", [None, 8])
def test_every_row_comes_once(folder: Path, num_blocks: int | None) -> None:
    ds = read_tfrecords(folder, override_num_blocks=num_blocks)
    assert rows_in(ds) == rows_of(str(folder / "*"))
    assert ds.count() == 3000
    assert ds.schema().base_schema.equals(scan(str(folder / "*")).arrow_schema)


def test_the_numbers_of_rows_come_from_indexes_alone(folder: Path) -> None:
    paths = sorted(folder.glob("*.tfrecord"))
    tasks = TFRecordDatasource(folder).get_read_tasks(2)
    assert [task.metadata.num_rows for task in tasks] == [None] * 3  # nothing is read for it
    TFRecordFile(paths).save_index()
    tasks = TFRecordDatasource(folder).get_read_tasks(2)
    assert [task.metadata.num_rows for task in tasks] == [1000] * 3
    assert [task.metadata.input_files for task in tasks] == [(str(path),) for path in paths]
    limited = TFRecordDatasource(folder).get_read_tasks(2, per_task_row_limit=10)
    assert [task.metadata.num_rows for task in limited] == [10] * 3
    assert [sum(len(block) for block in task()) for task in limited] == [10] * 3
    skipping = TFRecordDatasource(folder, on_error="skip").get_read_tasks(2)
    assert [task.metadata.num_rows for task in skipping] == [None] * 3  # Ray would trust it


def test_only_the_columns_that_are_used_are_parsed(folder: Path) -> None:
    with TFRecordWriter(folder / "other.tfrecord") as writer:  # its text cannot be parsed
        writer.write(encode_example({"row": [9999], "text": [1]}))
    schema = scan(str(folder / "data-*")).schema
    chosen = read_tfrecords(folder, schema=schema, columns=["row"])
    pruned = read_tfrecords(folder, schema=schema).select_columns(["row"])
    assert [row["row"] for row in rows_in(chosen)] == [*range(3000), 9999]
    assert rows_in(pruned) == rows_in(chosen)
    assert pruned.schema().names == ["row"]
    assert read_tfrecords(folder, schema=schema).count() == 3001
    with pytest.raises(InvalidArgumentError, match="record 0, byte 0, feature 'text'"):
        read_tfrecords(folder, schema=schema).materialize()


def test_fixed_shapes_are_tensors_if_asked(folder: Path) -> None:
    batch = read_tfrecords(folder, tensors=True).take_batch(4)
    assert batch["vector"].dtype == np.float32
    assert batch["vector"].shape == (4, 3)
    assert batch["row"].shape == (4,)
    plain = read_tfrecords(folder).take_batch(4)
    assert plain["vector"].dtype == object


def test_columns_may_get_other_names(folder: Path) -> None:
    expected = [row["row"] for row in rows_of(str(folder / "*"))]
    renamed = read_tfrecords(folder).rename_columns({"row": "text", "text": "row"})
    assert [row["text"] for row in rows_in(renamed, by="text")] == expected
    # Before 2.60 Ray has the source rename.
    source = TFRecordDatasource(folder)
    source._projection_map = {"row": "text", "text": "row"}
    blocks = [block for task in source.get_read_tasks(3) for block in task()]
    assert all(block.column_names == ["text", "row"] for block in blocks)
    assert [row["text"] for block in blocks for row in block.to_pylist()] == expected


def test_paths_are_local(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)  # the workers are elsewhere
    assert read_tfrecords("records").materialize().count() == 3000
    assert read_tfrecords("records/data-*", columns=["row"]).materialize().count() == 3000
    written = write_tfrecords(read_tfrecords("records"), "out")
    assert {Path(part.path).parent for part in written} == {tmp_path / "out"}
    assert sum(part.n_records for part in written) == len(rows_of("out/*")) == 3000
    raised(FileExistsError, write_tfrecords, read_tfrecords("records"), "out", mode="error")


def test_paths_are_a_column_if_asked(folder: Path) -> None:
    rows = rows_in(read_tfrecords(folder, include_paths=True, columns=["row"]))
    assert [row["path"] for row in rows[::1000]] == [str(p) for p in sorted(folder.glob("*d"))]
    only = read_tfrecords(folder, include_paths=True).select_columns(["path"])
    assert only.count() == 3000
    assert set(rows_in(only, by="path")[0]) == {"path"}
    save(folder.parent / "p.tfrecord", {"path": ["a"]})
    with pytest.raises(InvalidArgumentError, match="column 'path' already"):
        read_tfrecords(folder.parent / "p.tfrecord", include_paths=True)


def test_bad_arguments(folder: Path) -> None:
    raised(InvalidArgumentError, read_tfrecords, folder, columns=["rows"], match="no column 'rows'")
    raised(FileNotFoundError, read_tfrecords, folder / "none")
    with pytest.raises(InvalidArgumentError, match="num_workers is for one machine"):
        read_tfrecords(folder, num_workers=2)
    with pytest.raises(InvalidArgumentError, match="override_num_blocks"):
        read_tfrecords(folder, override_num_blocks=0)


def test_damage_is_an_error_that_names_the_place(folder: Path) -> None:
    schema = scan(str(folder / "*")).schema
    damage(folder / "data-00001-of-00003.tfrecord", [500])
    with pytest.raises(DataLossError, match=r"data-00001-of-00003.tfrecord: record 500, byte") as e:
        read_tfrecords(folder, schema=schema).materialize()
    assert isinstance(e.value, RayTaskError)


def test_a_task_warns_of_what_it_skips(folder: Path) -> None:
    schema = scan(str(folder / "*")).schema
    damage(folder / "data-00001-of-00003.tfrecord", [100])
    sound, damaged, _ = TFRecordDatasource(folder, schema=schema, on_error="skip").get_read_tasks(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(map(len, sound())) == 1000
    with pytest.warns(DataLossWarning, match="data-00001-of-00003.tfrecord: record 100"):
        assert sum(map(len, damaged())) == 999


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_what_is_written_comes_back(folder: Path, tmp_path: Path, compression: str | None) -> None:
    out = tmp_path / "out"
    written = write_tfrecords(read_tfrecords(folder), out, compression=compression)
    assert sum(part.n_records for part in written) == 3000
    assert [part.nbytes for part in written] == [Path(part.path).stat().st_size for part in written]
    ending = ".tfrecord.gz" if compression else ".tfrecord"
    names = sorted(name for name in os.listdir(out) if not name.endswith(".json"))  # noqa: PTH208
    assert names == [Path(part.path).name for part in written]
    assert all(name.endswith(ending) for name in names)
    assert sorted(rows_of(str(out / "*")), key=lambda row: row["row"]) == rows_of(str(folder / "*"))
    assert scan(str(out / "*")).arrow_schema.equals(scan(str(folder / "*")).arrow_schema)


def test_tensors_are_written_as_fixed_shapes(tmp_path: Path) -> None:
    ds = ray.data.from_numpy(np.arange(24, dtype=np.float32).reshape(4, 2, 3))
    write_tfrecords(ds, tmp_path / "out")
    table = scan(str(tmp_path / "out/*"))
    assert str(table.arrow_schema.field("data").type).count("fixed_size_list") == 2
    found = np.array(table.to_arrow()["data"].to_pylist())
    assert found.tolist() == np.arange(24).reshape(4, 2, 3).tolist()


def test_blocks_may_differ(tmp_path: Path) -> None:
    tables = [pa.table({"x": pa.array([None, None])}), pa.table({"x": pa.array([1, 2])})]
    write_tfrecords(ray.data.from_arrow(tables), tmp_path / "out", min_rows_per_file=4)
    assert scan(str(tmp_path / "out/*")).to_arrow()["x"].to_pylist() == [None, None, 1, 2]
    pandas = pytest.importorskip("pandas")
    frames = [
        pandas.DataFrame({"x": [1.5], "s": ["a"]}),
        pandas.DataFrame({"x": [2.5], "s": ["b"]}),
    ]
    write_tfrecords(ray.data.from_pandas(frames), tmp_path / "other")
    assert rows_of(str(tmp_path / "other/*")) == [{"x": 1.5, "s": "a"}, {"x": 2.5, "s": "b"}]


def test_modes(folder: Path, tmp_path: Path) -> None:
    out, ds = tmp_path / "out", read_tfrecords(folder)
    first = write_tfrecords(ds, out, mode="error")
    raised(FileExistsError, write_tfrecords, ds, out, mode="error", match="the directory has files")
    second = write_tfrecords(ds, out)
    assert len(rows_of(str(out / "*"))) == 6000
    # What is overwritten may be what is read.
    third = write_tfrecords(read_tfrecords(out), out, mode="overwrite")
    assert len(rows_of(str(out / "*"))) == 6000
    there = {str(path) for path in out.glob("*.tfrecord")}
    assert there == {part.path for part in third}
    assert not there & {part.path for part in [*first, *second]}
    with pytest.raises(InvalidArgumentError, match="mode is 'replace'"):
        write_tfrecords(ds, out, mode="replace")  # type: ignore[arg-type]


def test_a_write_that_fails_leaves_what_was_there(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tfrecords(read_tfrecords(folder), out)
    before = sorted(os.listdir(out))  # noqa: PTH208

    def with_null(batch: dict[str, Any]) -> dict[str, Any]:
        bad = int(batch["row"][0]) >= 2000
        return {"x": [[1, None if bad else 2]] * len(batch["row"])}

    ds = read_tfrecords(folder).map_batches(with_null)
    with pytest.raises(InvalidArgumentError, match="feature 'x': a null within a list"):
        write_tfrecords(ds, out, mode="overwrite")
    assert sorted(os.listdir(out)) == before  # noqa: PTH208


def test_a_worker_that_is_killed_while_it_reads_doubles_and_loses_nothing(folder: Path) -> None:
    schema = scan(str(folder / "*")).schema
    damage(folder / "data-00001-of-00003.tfrecord", [100])
    flag = str(folder.parent / "killed")

    def work(batch: dict[str, Any]) -> dict[str, Any]:
        if 1500 in batch["row"]:
            kill_once(flag)
        return batch

    ds = read_tfrecords(folder, schema=schema, on_error="skip").map_batches(work, batch_size=100)
    found = [row["row"] for row in rows_in(ds)]
    assert Path(flag).exists()
    assert found == [row for row in range(3000) if row != 1100]


def test_a_worker_killed_after_it_wrote_doubles_no_record(folder: Path, tmp_path: Path) -> None:
    flag, out = str(folder.parent / "killed"), tmp_path / "out"

    class Killed(TFRecordDatasink):
        def write(self, blocks: Any, ctx: Any) -> Any:
            part = super().write(blocks, ctx)
            if ctx.task_idx == 1:
                kill_once(flag)  # the file is there, but nobody was told
            return part

    sink = Killed(out)
    read_tfrecords(folder).write_datasink(sink)
    assert Path(flag).exists()
    assert sum(part.n_records for part in sink.written) == 3000
    assert sorted(row["row"] for row in rows_of(str(out / "*"))) == list(range(3000))
    assert not list(out.glob(".*"))


def test_the_example_goes_to_parquet_and_back(tmp_path: Path) -> None:
    check_example("ray", tmp_path)
