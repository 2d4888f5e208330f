"""ArrayRecord files: records as they are, both ways, and files that are damaged."""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.corpus import CorpusFile, corpus_files
from tfrecord_lite import TFRecordReader, TFRecordWriter, encode_example, load, save
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.options import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.needs("arrayrecord")

RECORDS = [encode_example({"n": i, "x": [0.5, float(i)], "s": b"s%d" % i}) for i in range(500)]


def converted(source: Path | str, target: Path | str, **settings: Any) -> Any:
    from tfrecord_lite.apps.tables.conversion import Request, convert

    summary = convert(Request((str(source),), str(target), **settings), progress=False)
    for _, error in summary.failures:
        raise error
    return target


def write(path: Path, records: Sequence[bytes]) -> Path:
    with TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def library() -> Any:
    return importlib.import_module("array_record.python.array_record_module")


def read_by_library(path: Path) -> tuple[list[bytes], str]:
    reader = library().ArrayRecordReader(str(path))
    found = reader.read_all() if reader.num_records() else []
    options = reader.writer_options_string()
    reader.close()
    return found, options


def test_records_are_the_same_both_ways(tmp_path: Path) -> None:
    source_bytes = write(tmp_path / "frames.tfrecord", RECORDS[:3]).read_bytes()
    records = [*RECORDS, b"", b"\xff not an Example", source_bytes]
    source = write(tmp_path / "a.tfrecord", records)
    made = converted(source, tmp_path / "a.array_record")
    found, options = read_by_library(made)
    assert found == records
    assert "group_size:1," in options
    back = converted(made, tmp_path / "b.tfrecord")
    assert back.read_bytes() == source.read_bytes()
    made_names = {path.name for path in tmp_path.iterdir()} - {"frames.tfrecord"}
    assert made_names == {"a.array_record", "a.tfrecord", "b.tfrecord"}


@pytest.mark.parametrize("sample", corpus_files())
def test_every_corpus_file(sample: CorpusFile, tmp_path: Path) -> None:
    made = converted(sample.path, tmp_path / "a.array_record")
    assert read_by_library(made)[0] == list(TFRecordReader(sample.path))


def test_group_size_and_compression(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord", RECORDS)
    made = converted(source, tmp_path / "a.arrayrecord", group_size=100, compression="none")
    found, options = read_by_library(made)
    assert found == RECORDS
    assert "group_size:100" in options
    assert "uncompressed" in options
    assert list(TFRecordReader(converted(made, tmp_path / "b.tfrecord"))) == RECORDS
    with pytest.raises(InvalidArgumentError, match="ArrayRecord"):
        converted(source, tmp_path / "c.tfrecord", group_size=3)
    with pytest.raises(InvalidArgumentError, match="webdataset"):
        converted(source, tmp_path / "c.array_record", key="n")
    with pytest.raises(InvalidArgumentError, match="only none, zstd"):
        converted(source, tmp_path / "c.array_record", compression="gz")


def test_shards_have_every_record_once(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord", RECORDS)
    converted(source, tmp_path / "s.array_record", num_shards=3, num_jobs=2)
    shards = sorted(tmp_path.glob("s-*.array_record"))
    assert [record for shard in shards for record in read_by_library(shard)[0]] == RECORDS
    converted(tmp_path / "s-*.array_record", tmp_path / "b.tfrecord", num_shards=2)
    found = [r for path in sorted(tmp_path.glob("b-*.tfrecord")) for r in TFRecordReader(path)]
    assert found == RECORDS


def test_an_empty_file(tmp_path: Path) -> None:
    made = converted(write(tmp_path / "a.tfrecord", []), tmp_path / "a.array_record")
    assert read_by_library(made)[0] == []
    assert list(TFRecordReader(converted(made, tmp_path / "b.tfrecord"))) == []


@pytest.mark.needs("arrayrecord", "arrow")
def test_examples_become_tables_and_tables_examples(tmp_path: Path) -> None:
    columns = {"n": [1, 2, 3], "x": [[1.0, 2.0]] * 3, "s": [b"a", b"b", b"c"]}
    save(tmp_path / "a.tfrecord", columns)
    converted(tmp_path / "a.tfrecord", tmp_path / "a.array_record")
    converted(tmp_path / "a.array_record", tmp_path / "a.parquet")
    converted(tmp_path / "a.parquet", tmp_path / "b.array_record")
    found = list(TFRecordReader(tmp_path / "a.tfrecord"))
    assert read_by_library(tmp_path / "b.array_record")[0] == found
    converted(tmp_path / "b.array_record", tmp_path / "c.tfrecord", columns=("s", "n"), limit=2)
    found_columns: dict[str, Any] = dict(load(tmp_path / "c.tfrecord"))
    assert {name: list(column) for name, column in found_columns.items()} == {
        "s": [b"a", b"b"],
        "n": [1, 2],
    }
    bad = write(tmp_path / "bad.tfrecord", [*RECORDS, b"\xff"])
    converted(bad, tmp_path / "bad.array_record")
    with pytest.raises(InvalidArgumentError, match=r"bad\.array_record") as raised:
        converted(tmp_path / "bad.array_record", tmp_path / "bad.parquet", sample=10)
    assert raised.value.index == 500


def test_a_file_that_is_damaged_is_an_error_that_names_it(tmp_path: Path) -> None:
    made = converted(write(tmp_path / "a.tfrecord", RECORDS), tmp_path / "a.array_record")
    data = made.read_bytes()
    bad = tmp_path / "bad.array_record"
    for damaged in (data[:-10], data[: len(data) // 2], data[:65536], b"", b"text" * 50_000):
        bad.write_bytes(damaged)
        with pytest.raises(DataLossError, match=r"bad\.array_record: .*damaged"):
            converted(bad, tmp_path / "b.tfrecord")
        assert not (tmp_path / "b.tfrecord").exists()
    changed = bytearray(data)
    changed[3000] ^= 255
    bad.write_bytes(changed)
    with pytest.raises(DataLossError, match="hash mismatch") as raised:
        converted(bad, tmp_path / "b.tfrecord")
    assert raised.value.index is not None
    with pytest.raises(FileNotFoundError):
        converted(tmp_path / "none.array_record", tmp_path / "b.tfrecord")


def test_streams_are_copied(tmp_path: Path) -> None:
    from tfrecord_lite.apps.tables.byte_files import Reading
    from tfrecord_lite.apps.tables.conversion import Request, convert
    from tfrecord_lite.apps.tables.formats import open_source

    source = write(tmp_path / "a.tfrecord", RECORDS)
    buffer = io.BytesIO()
    convert(Request((str(source),), buffer, to="arrayrecord"), progress=False)
    buffer.seek(0)
    opened: Any = open_source(buffer, "arrayrecord", Reading(as_records=True))
    assert [r for block in opened.batches(3) for r in block] == RECORDS[3:]
    opened.close()


def test_a_record_above_the_limit_is_an_error(tmp_path: Path) -> None:
    from tfrecord_lite.apps.tables.byte_files import Reading
    from tfrecord_lite.apps.tables.formats import open_source

    made = converted(
        write(tmp_path / "a.tfrecord", [b"x", bytes(5000)]), tmp_path / "a.array_record"
    )
    reading = Reading(as_records=True, options=ReadSettings(max_record_bytes=4000))
    opened: Any = open_source(str(made), "arrayrecord", reading)
    with pytest.raises(DataLossError, match="limit") as raised:
        list(opened.batches())
    assert raised.value.index == 1
    opened.close()
