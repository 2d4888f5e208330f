"""The parts of a table: each row in one of them, all of one schema, in any process; and what tasks write."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecord_lite import TFRecordFile, TFRecordReader, save, scan
from tfrecord_lite.apps.tables.record_format import WrittenPart, write_part
from tfrecord_lite.apps.tables.table import TablePartition
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.messages import Example

pa = pytest.importorskip("pyarrow")

N_ROWS = 20_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = np.arange(N_ROWS)
    columns = {
        "i": rows,
        "name": [f"n{i}" for i in rows],
        "x": np.float32(rows[:, None]) * np.ones(4, np.float32),
    }
    save(tmp_path / "data.tfrecord", columns)
    return str(tmp_path / "data.tfrecord")


def joined(parts: list[TablePartition], size: int | None = None) -> Any:
    batches = [batch for part in parts for batch in part.read(size)]
    return pa.Table.from_batches(batches, parts[0].arrow_schema)


@pytest.mark.parametrize("num_partitions", [1, 2, 7, 100])
def test_partitions_hold_the_rows_of_the_table(path: str, num_partitions: int) -> None:
    table = scan([path, path])
    parts = table.partitions(num_partitions=num_partitions)
    assert max(num_partitions, 2) <= len(parts) <= num_partitions + 1
    assert joined(pickle.loads(pickle.dumps(parts))).equals(table.to_arrow())
    assert all(batch.schema == table.arrow_schema for part in parts for batch in part.read(500))
    if num_partitions > 2:
        assert sum(part.num_rows or 0 for part in parts) == 2 * N_ROWS


def test_columns_are_selected(path: str) -> None:
    part = scan(path, columns=["x", "i"]).partitions(num_partitions=3)[1]
    assert part.arrow_schema.names == ["x", "i"]
    assert list(part.schema) == ["x", "i"]
    assert part.select(["i"]).arrow_schema.names == ["i"]
    assert part.select([]).read().__next__().num_rows
    (batch,) = part.select(["i"]).read(10_000)
    assert np.unique(np.diff(batch.column("i"))) == [1]
    with pytest.raises(InvalidArgumentError, match="no column 'j'"):
        part.select(["j"])


def test_the_size_of_batches(path: str) -> None:
    table = scan(path)
    assert max(map(len, table.partitions()[0].read())) <= 8192
    assert {len(batch) for batch in table.partitions()[0].read(1000)} == {1000}
    assert {len(b) for b in scan(path, batch_size=500).partitions()[0].read()} == {500}


def test_damage_that_is_skipped_is_reported_by_partition(path: str) -> None:
    schema = scan(path).schema
    data = bytearray(Path(path).read_bytes())
    index = TFRecordFile(path).indexes[0]
    for record in 100, 15_000:
        data[index.offsets[record] + 20] ^= 1
    Path(path).write_bytes(data)
    parts = scan(path, schema=schema, on_error="skip").partitions(num_partitions=4)
    readers = [part.read() for part in parts]
    n_rows = [sum(map(len, reader)) for reader in readers]
    assert {part.num_rows for part in parts} == {None}
    assert sum(n_rows) == N_ROWS - 2
    reports: list[Any] = [reader.report for reader in readers]
    assert [report.num_damaged for report in reports] == [1, 0, 1, 0]
    assert [report.records for report in reports] == n_rows


def test_a_file_that_has_changed(path: str) -> None:
    parts = scan(path).partitions(num_partitions=4)
    save(path, {"i": [1], "name": ["a"], "x": np.zeros((1, 4), np.float32)})
    with pytest.raises(FailedPreconditionError) as raised:
        list(parts[0].read())
    assert raised.value.reason is Reason.STALE_INDEX


def test_tasks_write_files_that_come_back(path: str, tmp_path: Path) -> None:
    table = scan(path)
    parts = table.partitions(num_partitions=3)
    written = [
        write_part(str(tmp_path / f"out/part-{i}.tfrecord.gz"), part.read())
        for i, part in enumerate(parts)
    ]
    assert [w.n_records for w in written if w] == [part.num_rows for part in parts]
    assert [w.nbytes for w in written if w] == [os.stat(w.path).st_size for w in written if w]  # noqa: PTH116
    back = scan(str(tmp_path / "out/*.gz"))
    assert back.to_arrow().equals(table.to_arrow())
    again = write_part(str(tmp_path / "out/part-0.tfrecord.gz"), parts[0].read())  # a repeated task
    assert again == written[0]
    assert back.to_arrow().equals(table.to_arrow())


def test_records_are_written_as_they_are(tmp_path: Path) -> None:
    records = [b"one", b"two", b"three"]
    written = write_part(str(tmp_path / "a"), [records[:2], records[2:]], compression=None)
    assert written == WrittenPart(str(tmp_path / "a"), 3, 11 + 48)
    assert list(TFRecordReader(tmp_path / "a")) == records
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208


def test_floats_are_rounded_if_asked(tmp_path: Path) -> None:
    batch = pa.table({"x": [0.5, 0.1], "y": [0.5, 1.5]})
    for lossless, rounded, x in (False, ("x",), float(np.float32(0.1))), (True, (), 0.1):
        written = write_part(str(tmp_path / "a"), [batch], lossless=lossless)
        assert written is not None
        assert written.rounded == rounded
        assert scan(tmp_path / "a").to_arrow()["x"].to_pylist() == [0.5, x]


def test_images_are_bytes_where_a_sidecar_tells_their_shape(tmp_path: Path) -> None:
    image = [[1, 2, 3, 4]] * 4
    square = pa.list_(pa.list_(pa.uint8(), 4), 4)
    table = pa.table({"x": pa.array([image], square)})
    for sidecar, kind in (True, "bytes_list"), (False, "int64_list"):
        write_part(str(tmp_path / "a"), [table], sidecar=sidecar)
        (record,) = TFRecordReader(tmp_path / "a")
        assert Example.FromString(record).features.feature["x"].WhichOneof("kind") == kind


def test_a_null_list_stays_out_and_an_empty_one_has_its_kind(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([[0.5], None, []]), "y": pa.array([None, [["a"]], []])})
    for lossless, kind in (False, "float_list"), (True, "bytes_list"):
        write_part(str(tmp_path / "a"), [table], lossless=lossless)
        features = [Example.FromString(r).features.feature for r in TFRecordReader(tmp_path / "a")]
        kinds = [each["x"].WhichOneof("kind") if "x" in each else None for each in features]
        assert kinds == [kind, None, kind]
        assert [sorted(each) for each in features] == [
            ["x"],
            ["y", "y/row_lengths_1"],
            ["x", "y", "y/row_lengths_1"],
        ]
        assert scan(tmp_path / "a").to_arrow()["x"].to_pylist() == [[0.5], [], []]


def test_without_batches_a_schema_makes_an_empty_file(tmp_path: Path) -> None:
    assert write_part(str(tmp_path / "a"), []) is None
    assert os.listdir(tmp_path) == []  # noqa: PTH208
    written = write_part(str(tmp_path / "a"), [], schema=pa.schema({"x": pa.int64()}))
    assert written == WrittenPart(str(tmp_path / "a"), 0, 0)
    assert scan(tmp_path / "a").column_names == ["x"]


def test_after_an_error_there_is_what_was_there_before(tmp_path: Path) -> None:
    target = str(tmp_path / "a")
    write_part(target, [pa.table({"x": [1]})])
    before = sorted(os.listdir(tmp_path)), (tmp_path / "a").read_bytes()  # noqa: PTH208
    batches = [pa.table({"x": [[1]]}), pa.table({"x": [[2, None]]})]
    with pytest.raises(InvalidArgumentError, match=r"a: record 1, feature 'x': a null"):
        write_part(target, batches)

    def failing() -> Any:
        yield batches[0]
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        write_part(target, failing())
    assert (sorted(os.listdir(tmp_path)), (tmp_path / "a").read_bytes()) == before  # noqa: PTH208
