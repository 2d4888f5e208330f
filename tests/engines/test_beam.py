"""Pipelines of Beam: each record once, however the work is split or repeated; shards as Beam names them."""

import itertools
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner

import tfrecord_lite
from tests.engines.engine_files import check_example
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tests.support.http_files import serving
from tests.support.small_files import example
from tfrecord_lite import (
    FixedLenFeature,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    encode_examples,
    save,
    scan,
)
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.integrations.beam import (
    ReadAllExamples,
    ReadAllTFRecords,
    ReadExamples,
    ReadTFRecords,
    WriteExamples,
    WriteTFRecords,
)
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.records.framing import frame


def load(paths: Any) -> dict[str, Any]:
    columns: Any = tfrecord_lite.load(paths)
    found: dict[str, Any] = columns
    return found


FOUND: dict[int, list[Any]] = {}
"""What pipelines gave: the runners used here run them in this process."""
_keys = itertools.count()
ONE_PROCESS = "FnApiRunner"


def keep(key: int, element: Any) -> None:
    FOUND[key].append(element)


def collect(transform: Any, runner: Any = ONE_PROCESS) -> list[Any]:
    return run(transform, runner)[0]


def run(transform: Any, runner: Any = ONE_PROCESS) -> tuple[list[Any], Any]:
    key = next(_keys)
    FOUND[key] = []
    with beam.Pipeline(runner=runner) as pipeline:
        _ = pipeline | transform | "Keep" >> beam.Map(partial(keep, key))
    return FOUND.pop(key), pipeline.result


def counters(result: Any) -> dict[str, int]:
    found = result.metrics().query()["counters"]
    return {
        each.key.metric.name: each.committed
        for each in found
        if each.key.metric.namespace == "tfrecord_lite"
    }


def written(path: Path, records: list[bytes]) -> str:
    path.write_bytes(bytes(frame(records)))
    return str(path)


def shards(prefix: Path, suffix: str = "") -> list[str]:
    return sorted(path.name for path in prefix.parent.glob(f"{prefix.name}*{suffix}"))


@pytest.mark.parametrize("sample", corpus_files("example"))
def test_examples_are_those_of_the_local_reader(sample: CorpusFile) -> None:
    table = scan(sample.path)
    tables = collect(ReadExamples(sample.path))
    records = collect(ReadTFRecords(sample.path))
    assert all(isinstance(each, pa.Table) for each in tables)
    assert pa.concat_tables([table.arrow_schema.empty_table(), *tables]).equals(table.to_arrow())
    assert records == list(TFRecordReader(sample.path))


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = np.arange(3000)
    columns = {
        "i": rows,
        "name": [f"n{i}" for i in rows],
        "x": np.float32(rows[:, None]) * np.ones(4, np.float32),
    }
    save(tmp_path / "data.tfrecord", columns)
    return str(tmp_path / "data.tfrecord")


def test_files_are_cut(path: str) -> None:
    for max_bytes in (None, 100_000, 3000, 1):
        if max_bytes == 1:
            written(Path(path), list(TFRecordReader(path))[:50])
        found = collect(ReadTFRecords([path, path], max_bytes=max_bytes))
        assert sorted(found) == sorted(list(TFRecordReader(path)) * 2)


def test_every_form_of_elements_has_the_same_values(path: str) -> None:
    local = scan(path).to_arrow().to_pylist()
    (table,) = collect(ReadExamples(path, elements="arrow"))
    (columns,) = collect(ReadExamples(path, elements="columns"))
    rows = collect(ReadExamples(path, elements="rows"))
    assert table.to_pylist() == local
    assert columns["i"].dtype == np.int64
    assert columns["x"].shape == (3000, 4)
    assert columns["name"].tolist() == load(path)["name"].tolist()
    assert collect(ReadExamples(path, elements="dicts")) == local
    assert [row._asdict() for row in rows] == local


def test_only_some_columns_are_read(path: str) -> None:
    rows = collect(ReadExamples(path, columns=["name", "i"], elements="rows", batch_size=100))
    assert rows[7]._asdict() == {"name": "n7", "i": 7}
    tables = collect(ReadExamples(path, columns=["i"], batch_size=1000))
    assert [len(table) for table in tables] == [1000, 1000, 1000]
    assert len(collect(ReadExamples(path, columns=[], elements="dicts"))) == 3000
    assert sum(map(len, collect(ReadExamples(path, columns=[])))) == 3000


def test_paths_come_from_a_collection(path: str, tmp_path: Path) -> None:
    written(tmp_path / "b", [example(i) for i in range(5)])
    written(tmp_path / "c", [example(i) for i in range(5, 9)])
    paths = beam.Create([str(tmp_path / "b"), str(tmp_path / "c*")])
    rows = collect(paths | ReadAllExamples(scan(tmp_path / "b"), elements="dicts"))
    records = collect(paths | ReadAllTFRecords(max_bytes=100))
    assert sorted(row["n"] for row in rows) == list(range(9))
    assert sorted(records) == sorted(example(i) for i in range(9))
    with pytest.raises(Exception, match="absent"):
        collect(beam.Create([str(tmp_path / "absent")]) | ReadAllTFRecords())
    assert path


def test_rows_have_a_schema_of_beams(path: str) -> None:
    rows = ReadExamples(path, columns=["i", "name"], elements="rows")
    sums = beam.GroupBy(last=last_digit).aggregate_field("i", sum, "total")
    found = collect(rows | sums)
    assert {row.last: row.total for row in found} == {k: sum(range(k, 3000, 10)) for k in range(10)}


def last_digit(row: Any) -> int:
    return int(row.i % 10)


def test_rows_of_any_types_pass_between_processes(tmp_path: Path) -> None:
    columns = {
        "image/encoded": [b"a", b"bc"], "class": [True, False],
        "when": np.array(["2026-01-02", "NaT"], "datetime64[s]"), "lists": [[1, 2], []],
        "texts": [["a"], ["b", "c"]], "half": np.array([0.5, 2], np.float16),
        "double": np.array([0.1, 2]), "small": np.array([1, 2], np.uint8),
        "large": np.array([1, 2**63], np.uint64), "none": np.ma.masked_array([1, 2], [False, True]),
        "matrix": np.arange(8, dtype=np.float32).reshape(2, 2, 2),
    }  # fmt: skip
    save(tmp_path / "a", columns, lossless=True)
    local = scan(tmp_path / "a").to_arrow().to_pylist()
    names = {name: name.replace("/", "_") for name in columns} | {"class": "f_class"}
    rows = collect(ReadExamples(tmp_path / "a", elements="rows") | beam.Reshuffle())
    found = {row.image_encoded: row._asdict() for row in rows}
    for row in local:
        assert found[row["image/encoded"]] == {names[name]: row[name] for name in row}


def test_rows_need_names_of_their_own(tmp_path: Path) -> None:
    save(tmp_path / "a", {"image/x": [1], "image.x": [2]})
    with pytest.raises(InvalidArgumentError, match=r"'image.x'.*would have the field"):
        ReadExamples(tmp_path / "a", elements="rows")
    assert collect(ReadExamples(tmp_path / "a", elements="dicts")) == [{"image/x": 1, "image.x": 2}]


def test_sequence_examples(tmp_path: Path) -> None:
    with TFRecordWriter(tmp_path / "a") as writer:
        for i in range(4):
            writer.write_sequence_example(
                {"context": {"id": i}, "feature_lists": {"steps": [[i, i]] * i}}
            )
    local = scan(tmp_path / "a").to_arrow()
    (table,) = collect(ReadExamples(tmp_path / "a"))
    assert table.equals(local)
    assert collect(ReadExamples(tmp_path / "a", elements="dicts")) == local.to_pylist()
    (columns,) = collect(ReadExamples(tmp_path / "a", elements="columns"))
    assert columns["context/id"].ravel().tolist() == [0, 1, 2, 3]
    (row,) = collect(ReadExamples(tmp_path / "a", elements="rows") | beam.Filter(has_id_3))
    assert list(row.feature_lists_steps) == local["feature_lists/steps"].to_pylist()[3]
    collect(ReadExamples(tmp_path / "a") | WriteExamples(str(tmp_path / "b")))
    records = TFRecordReader(tmp_path / "b-00000-of-00001")
    assert [SequenceExample.FromString(each) for each in records] == [
        SequenceExample.FromString(each) for each in TFRecordReader(tmp_path / "a")
    ]


def has_id_3(row: Any) -> bool:
    return bool(row.context_id in (3, [3]))


def test_wrong_arguments_are_errors_at_once(path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="expected one of arrow, columns, dicts, rows"):
        ReadExamples(path, elements="pandas")  # type: ignore[arg-type]
    raised(FileNotFoundError, ReadTFRecords, path + "-absent")
    raised(InvalidArgumentError, ReadExamples, path, columns=["j"], match="no column 'j'")
    raised(InvalidArgumentError, WriteTFRecords, path, compression="lzma", match="lzma")
    raised(InvalidArgumentError, ReadTFRecords, path, compression="lzma", match="lzma")


def test_workers_may_be_other_processes(path: str, tmp_path: Path) -> None:
    flags = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    with beam.Pipeline(runner=ONE_PROCESS, options=PipelineOptions(flags)) as pipeline:
        rows = pipeline | ReadExamples(path, elements="rows", max_bytes=20_000)
        _ = rows | beam.Reshuffle() | WriteExamples(str(tmp_path / "out"), num_shards=3)
    names = [f"out-0000{i}-of-00003" for i in range(3)]
    assert shards(tmp_path / "out") == sorted([*names, *(f"{name}.schema.json" for name in names)])
    assert sorted(load(f"{tmp_path}/out-*")["i"].tolist()) == list(range(3000))


@pytest.fixture
def damaged(tmp_path: Path) -> list[str]:
    one = bytearray(frame([example(i) for i in range(100)]))
    one[len(frame([example(i) for i in range(40)])) + 14] ^= 1
    (tmp_path / "one").write_bytes(bytes(one))
    (tmp_path / "two").write_bytes(bytes(frame([example(i) for i in range(200)]))[:-3])
    return [str(tmp_path / "one"), str(tmp_path / "two")]


def test_damage_ends_the_pipeline_and_is_located(damaged: list[str]) -> None:
    with pytest.raises(Exception, match=r"one: record 40, byte \d+: .*CRC") as caught:
        collect(ReadTFRecords(damaged))
    assert "DataLossError" in str(caught.value) + type(caught.value).__name__


@pytest.mark.parametrize("max_bytes", [None, 700])
def test_skipped_damage_is_counted_once(damaged: list[str], max_bytes: int | None) -> None:
    local = TFRecordReader(damaged, on_error="skip")
    with pytest.warns(match="skipped 2 damaged places"):
        records = list(local)
    found, result = run(ReadTFRecords(damaged, on_error="skip", max_bytes=max_bytes))
    assert local.report is not None
    assert sorted(found) == sorted(records)
    assert counters(result) == {
        "records": 298,
        "damaged_spans": 2,
        "lost_bytes": local.report.lost_bytes,
    }


def test_a_range_may_have_some_damaged_places(damaged: list[str]) -> None:
    with pytest.raises(Exception, match="max_errors"):
        collect(ReadExamples(damaged, schema={"n": int}, on_error="skip", max_errors=0))
    rows = collect(ReadExamples(damaged, schema={"n": int}, elements="rows", on_error="skip"))
    assert len(rows) == 298


class FailsOnce(beam.DoFn):  # type: ignore[misc]
    attempts: ClassVar[dict[int, int]] = {}

    def __init__(self, key: int) -> None:
        super().__init__()
        self.key = key

    def process(self, element: Any) -> Iterator[Any]:
        count = FailsOnce.attempts[self.key] = FailsOnce.attempts.get(self.key, 0) + 1
        if count == 150:
            raise RuntimeError("once")
        yield element


def test_a_task_that_is_repeated_writes_once(tmp_path: Path) -> None:
    key = next(_keys)
    records = [example(i) for i in range(300)]
    fails = beam.ParDo(FailsOnce(key))
    collect(
        beam.Create(records) | fails | WriteTFRecords(str(tmp_path / "w"), num_shards=2),
        BundleBasedDirectRunner(),
    )
    assert FailsOnce.attempts[key] > 300
    assert sorted(TFRecordReader(str(tmp_path / "w-*"))) == sorted(records)
    assert shards(tmp_path / "w") == ["w-00000-of-00002", "w-00001-of-00002"]


@pytest.mark.needs("remote")
def test_urls_are_read(path: str) -> None:
    with serving() as server:
        server.files["/a"] = Path(path).read_bytes()
        server.files["/a.idx"] = index_of(path)
        found = collect(ReadTFRecords(f"{server.url}/a", max_bytes=30_000))
        rows = collect(ReadExamples(f"{server.url}/a", elements="rows", max_bytes=30_000))
    assert sorted(found) == sorted(TFRecordReader(path))
    assert sorted(row.i for row in rows) == list(range(3000))


def index_of(path: str) -> bytes:
    TFRecordFile(path).save_index()
    return Path(f"{path}.idx").read_bytes()


def test_records_are_written_as_they_are(path: str, tmp_path: Path) -> None:
    records = list(TFRecordReader(path))
    prefix = str(tmp_path / "out")
    paths = collect(beam.Create(records) | WriteTFRecords(prefix, ".tfrecord", num_shards=3))
    assert sorted(paths) == [f"{prefix}-0000{i}-of-00003.tfrecord" for i in range(3)]
    assert sorted(TFRecordReader(f"{prefix}-*")) == sorted(records)
    beams = beam.io.ReadFromTFRecord(f"{prefix}-*")
    assert sorted(collect(beams)) == sorted(records)
    collect(beam.Create(records[:3]) | WriteTFRecords(prefix, shard_name_template=""))
    assert sorted(TFRecordReader(prefix)) == sorted(records[:3])


def test_compressed_files_are_valid(tmp_path: Path) -> None:
    kinds: list[tuple[str, Any, str]] = [
        (".gz", "infer", "GZIP"), ("", "GZIP", "GZIP"), ("", CompressionTypes.GZIP, "GZIP"),
        (".gz", CompressionTypes.UNCOMPRESSED, ""),
        ("", CompressionTypes.DEFLATE, "ZLIB"), ("", CompressionTypes.BZIP2, "BZ2"),
    ]  # fmt: skip
    for suffix, compression, name in kinds:
        write = WriteTFRecords(str(tmp_path / "a"), suffix, 1, compression=compression)
        (path,) = collect(beam.Create([b"one", b"two"]) | write)
        assert sorted(TFRecordReader(path, name)) == [b"one", b"two"]
        assert sorted(collect(ReadTFRecords(path, compression=compression))) == [b"one", b"two"]


@pytest.mark.parametrize("elements", ["arrow", "rows", "dicts"])
def test_examples_come_back(path: str, tmp_path: Path, elements: Any) -> None:
    read = ReadExamples(path, elements=elements, max_bytes=30_000)
    collect(read | WriteExamples(str(tmp_path / "out"), ".tfrecord.gz", num_shards=2))
    found = scan(str(tmp_path / "out-*")).to_arrow().sort_by("i")
    assert found.to_pylist() == scan(path).to_arrow().to_pylist()


def test_examples_are_written_by_a_schema(tmp_path: Path) -> None:
    schema = {"x": FixedLenFeature([], "float32")}
    rows = beam.Create([{"x": 1}, beam.Row(x=2.5), {"x": 3}])
    collect(rows | WriteExamples(str(tmp_path / "a"), schema=schema))
    assert sorted(load(str(tmp_path / "a-*"))["x"].tolist()) == [1, 2.5, 3]
    with pytest.raises(Exception, match="'x'"):
        collect(beam.Create([{"x": [1, 2]}]) | WriteExamples(str(tmp_path / "b"), schema=schema))
    assert shards(tmp_path / "b-") == []


def test_rows_and_columns_of_any_kind_are_written(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": None}, beam.Row(a=2, b="x"), pa.table({"a": [3, 4]})]
    write = WriteExamples(str(tmp_path / "a"), num_shards=1, sidecar=False)
    (path,) = collect(beam.Create(rows) | write)
    assert sorted(row["a"].item() for row in TFRecordReader(path).examples()) == [1, 2, 3, 4]
    with pytest.raises(Exception, match="tables among dictionaries"):
        collect(beam.Create(rows) | WriteExamples(str(tmp_path / "a"), num_shards=1))
    sequence = {"context": {"i": 1}, "feature_lists": {}}
    (path,) = collect(beam.Create([sequence]) | WriteExamples(str(tmp_path / "s"), num_shards=1))
    (record,) = TFRecordReader(path)
    assert SequenceExample.FromString(record).context.feature["i"].int64_list.value == [1]
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, None]})
    (path,) = collect(beam.Create([batch]) | WriteExamples(str(tmp_path / "b")))
    assert load(path)["a"].tolist() == [1, 2, None]
    columns = beam.Create([{"a": np.arange(5)}]) | beam.FlatMap(encode_examples)
    (path,) = collect(columns | WriteTFRecords(str(tmp_path / "c"), num_shards=1))
    assert sorted(load(path)["a"].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "elements",
    [[{"x": 0.1, "s": "a"}, {"x": 0.5}], [pa.table({"x": [0.1, 0.5], "s": ["a", None]})]],
)
@pytest.mark.filterwarnings("ignore:.*float64 was rounded")
def test_dtypes_come_back_by_a_sidecar_or_every_bit(tmp_path: Path, elements: list[Any]) -> None:
    prefix = str(tmp_path / "a")
    rounded = float(np.float32(0.1))
    for lossless, sidecar, x in (
        (True, True, 0.1), (False, False, rounded), (False, True, rounded),
    ):  # fmt: skip
        write = WriteExamples(prefix, num_shards=1, lossless=lossless, sidecar=sidecar)
        (path,) = collect(beam.Create(elements) | write)
        found = load(path)
        assert Path(f"{path}.schema.json").exists() == sidecar
        assert found["x"].dtype == (np.float64 if sidecar else np.float32)
        assert sorted(found["x"].tolist()) == [x, 0.5]
        assert sorted(map(str, found["s"].tolist())) == ["None", "a" if sidecar else "b'a'"]
    with pytest.raises(InvalidArgumentError, match="without a sidecar, what lossless=True stores"):
        WriteExamples(prefix, lossless=True, sidecar=False)
    assert sorted(os.listdir(tmp_path)) == [Path(path).name, f"{Path(path).name}.schema.json"]  # noqa: PTH208


@pytest.mark.parametrize(("elements", "text"), [
    ([7], "expected a dict, a row of Beam's, or a table or batch of pyarrow, not int"),
    ([b"a"], "bytes are for WriteTFRecords"), ([{"a": object()}], "'a'"),
    ([{"a": 1}, {"a": ["x", 1]}], "'a'"),
])  # fmt: skip
def test_what_cannot_be_written_is_named(tmp_path: Path, elements: list[Any], text: str) -> None:
    with pytest.raises(Exception, match=re.escape(text)):
        collect(beam.Create(elements) | WriteExamples(str(tmp_path / "a"), num_shards=1))
    with pytest.raises(Exception, match="expected records as bytes, not dict"):
        collect(beam.Create([{}]) | WriteTFRecords(str(tmp_path / "a")))
    assert shards(tmp_path / "a-") == []


def test_the_example_goes_to_parquet_and_back(tmp_path: Path) -> None:
    check_example("beam", tmp_path)
