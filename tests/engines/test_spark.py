"""Record files as a data source of Spark, with Spark itself in local mode."""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.engines.engine_files import check_example, damage, kill_once
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.http_files import serving
from tests.support.small_files import write
from tfrecord_lite import (
    FixedLenFeature,
    Schema,
    TFRecordReader,
    TFRecordWriter,
    encode_examples,
    save,
    scan,
)
from tfrecord_lite.integrations.spark import (
    TFRecordBatchReader,
    TFRecordBatchWriter,
    TFRecordDataSource,
    register,
)
from tfrecord_lite.records.framing import frame

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of pyspark
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2,2]").config("spark.ui.enabled", "false")
    for name in ("bindAddress", "host"):
        builder = builder.config(f"spark.driver.{name}", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        register(session)
        session.dataSource.register(KillsItself)
        yield session
        session.stop()


def read(spark: Any, path: Any, schema: Any = None, **options: Any) -> Any:
    reader = spark.read.format("tfrecord").options(**options)
    paths = [str(each) for each in path] if isinstance(path, list) else str(path)
    return (reader if schema is None else reader.schema(schema)).load(paths)


def put(frame: Any, path: Path, mode: str = "overwrite", **options: Any) -> list[str]:
    frame.write.format("tfrecord").mode(mode).options(**options).save(str(path))
    return names_in(path)


def names_in(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


def data_files(names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".schema.json")]


def rows(frame: Any) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def error_of(frame: Any) -> str:
    with pytest.raises(Exception, match="tfrecord_lite") as caught:
        frame.collect()
    return str(caught.value)


def numbered(path: Path, count: int, first: int = 0) -> str:
    return write(path, encode_examples({"n": np.arange(first, first + count)}))


@pytest.mark.parametrize("sample", corpus_files("example"))
def test_examples_are_those_that_the_local_reader_has(spark: Any, sample: CorpusFile) -> None:
    expected = scan(sample.path, text=True).to_arrow()
    found = read(spark, sample.path, text="true", numPartitions=3)
    assert found.columns == expected.column_names
    np.testing.assert_equal(rows(found), expected.to_pylist())


@pytest.mark.parametrize("count", [1, 3, 7])
def test_any_number_of_tasks_read_records_once(spark: Any, tmp_path: Path, count: int) -> None:
    inner = bytes(frame([b"a record", b"another"]))  # whole frames, whose CRCs are right
    records = [inner * (i % 5) + b"%d" % i for i in range(500)]
    path = write(tmp_path / "a.tfrecord", records)
    found = read(spark, path, recordType="ByteArray", numPartitions=count)
    assert found.rdd.getNumPartitions() == count
    assert [bytes(row.byteArray) for row in found.collect()] == records


def test_the_types_are_those_of_spark_tfrecord(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write_example({"i": 1, "f": 1.5, "s": "a", "b": b"\xff", "l": [1, 2], "t": ["x"]})
        writer.write_example({"i": 2, "f": 2.5, "s": "é", "b": b"", "l": [], "t": ["y", "z"]})
    found = read(spark, path)
    kinds = ["bigint", "float", "string", "binary", "array<bigint>", "array<string>"]
    assert dict(found.dtypes) == dict(zip("ifsblt", kinds, strict=True))
    assert rows(found)[1] == {"i": 2, "f": 2.5, "s": "é", "b": b"", "l": [], "t": ["y", "z"]}
    assert dict(read(spark, path, text="s").dtypes)["t"] == "array<binary>"


def test_a_given_schema_chooses_columns_and_converts_them(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write_example({"i": 1, "f": 1.5, "s": "a", "l": [1, 2], "o": [7]})
        writer.write_example({"s": "b"})
    schema = "s binary, f double, i int, l array<int>, o array<int>, absent string"
    assert rows(read(spark, path, schema)) == [
        {"s": b"a", "f": 1.5, "i": 1, "l": [1, 2], "o": [7], "absent": None},
        {"s": b"b", "f": None, "i": None, "l": [], "o": [], "absent": None},
    ]
    assert rows(read(spark, path, "i bigint, s string"))[0] == {"i": 1, "s": "a"}


def test_a_sidecar_is_converted_too(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    columns: dict[str, Any] = {
        "u": np.arange(3, dtype=np.uint8), "x": np.array([0.1, 0.2, 0.3]), "b": [True] * 3,
    }  # fmt: skip
    columns |= {"v": np.ones((3, 2)), "d": np.array([0, 1, 2], "M8[D]")}
    save(path, columns, lossless=True)
    found = read(spark, path)
    kinds = ["smallint", "double", "boolean", "array<double>", "date"]
    assert dict(found.dtypes) == dict(zip("uxbvd", kinds, strict=True))
    assert [row["x"] for row in rows(found)] == [0.1, 0.2, 0.3]
    assert rows(read(spark, path, "x float, u bigint"))[2] == {"x": np.float32(0.3), "u": 2}
    assert "feature 'v': a value that is not int32" in error_of(read(spark, path, "v int"))


def test_features_may_be_a_file_or_json(spark: Any, tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.tfrecord", 3)
    schema = Schema({"n": FixedLenFeature([], np.int64), "m": FixedLenFeature([], np.int64, 5)})
    (tmp_path / "features.txt").write_text(schema.to_json())
    for features in (schema.to_json(), str(tmp_path / "features.txt")):
        assert rows(read(spark, path, features=features))[1] == {"n": 1, "m": 5}


def test_errors_tell_file_record_and_feature(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", encode_examples({"n": [1, 2**40], "s": ["a", b"\xff"]}))
    place = f"{path}: record 1, byte"
    assert place in (text := error_of(read(spark, path, "n int")))
    assert "feature 'n': 1099511627776 is not a int32" in text
    assert place in (text := error_of(read(spark, path, "s string")))
    assert "feature 's': a byte string that is not UTF-8" in text
    text = error_of(read(spark, path, "n float"))
    assert "record 0, byte 0, feature 'n': found int64, expected float" in text


def test_what_may_not_be_null_is_an_error(spark: Any, tmp_path: Path) -> None:
    types = __import__("pyspark.sql.types", fromlist=["types"])
    path = tmp_path / "a.tfrecord"
    save(path, [{"n": 1}, {"n": None}])
    required = types.StructType([types.StructField("n", types.LongType(), nullable=False)])
    assert "feature 'n': no value, but the column is not nullable" in error_of(
        read(spark, path, required)
    )
    (tmp_path / "a.tfrecord.schema.json").unlink()
    assert "feature 'n': required feature 'n' is missing" in error_of(read(spark, path, required))


def test_options_that_are_wrong_are_named(spark: Any, tmp_path: Path) -> None:
    path = numbered(tmp_path / "a.tfrecord", 3)
    for options, text in (
        ({"recordTyp": "Example"}, "unknown option 'recordtyp'; the nearest: 'recordType'"),
        ({"recordType": "Record"}, "the option recordType cannot be 'Record'"),
        ({"columns": "m"}, "no column 'm'"),
    ):
        with pytest.raises(Exception, match="InvalidArgumentError") as caught:
            read(spark, path, **options)
        assert text in str(caught.value)
    assert read(spark, path, columns="n", max_record_bytes="100").columns == ["n"]


def test_a_folder_is_read_as_spark_reads_one(spark: Any, tmp_path: Path) -> None:
    for i, day in enumerate(("year=2025/month=12", "year=2026/month=1")):
        folder = tmp_path / day
        folder.mkdir(parents=True)
        save(folder / "a.tfrecord", {"n": np.arange(3) + 3 * i})
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "year=2026" / ".part.crc").write_bytes(b"no records")
    (folder / "a.tfrecord.idx").write_text("0 10\n")
    (tmp_path / "_temporary-1" / "0-0").mkdir(parents=True)
    (tmp_path / "_temporary-1" / "0-0" / "part").write_bytes(b"no records")
    found = read(spark, tmp_path)
    assert found.dtypes == [("n", "bigint"), ("year", "int"), ("month", "int")]
    january = [tuple(row) for row in found.where("month = 1").collect()]
    assert january == [(n, 2026, 1) for n in (3, 4, 5)]
    assert rows(read(spark, tmp_path, "year string, n int"))[0] == {"year": "2025", "n": 0}
    assert read(spark, folder).columns == ["n"]
    assert read(spark, [folder, tmp_path / "year=2025" / "month=12"]).count() == 6
    assert read(spark, tmp_path / "*" / "*").count() == 6


def test_files_without_records(spark: Any, tmp_path: Path) -> None:
    for name in ("a.tfrecord", "b.tfrecord"):
        (tmp_path / name).touch()
    assert read(spark, tmp_path, "n int").count() == 0
    with pytest.raises(Exception, match="there are no records"):
        read(spark, tmp_path)
    numbered(tmp_path / "c.tfrecord", 3)
    assert [row.n for row in read(spark, tmp_path).collect()] == [0, 1, 2]
    with pytest.raises(Exception, match="FileNotFoundError"):
        read(spark, tmp_path / "nothing-*")


def test_urls_are_read_by_tasks(spark: Any, tmp_path: Path) -> None:
    data = Path(numbered(tmp_path / "a.tfrecord", 100)).read_bytes()
    with serving() as server:
        server.files["/a.tfrecord"] = data
        found = read(spark, f"{server.url}/a.tfrecord")
        assert [row.n for row in found.collect()] == list(range(100))
        server.files.clear()
        with pytest.raises(Exception, match=f"{server.url}/a.tfrecord"):
            found.collect()


def test_damage_is_an_error_unless_it_is_skipped(spark: Any, tmp_path: Path) -> None:
    path = Path(numbered(tmp_path / "damaged.tfrecord", 1000))
    damage(path, [100, 900])
    good = [n for n in range(1000) if n not in (100, 900)]
    assert f"{path}: record 100, byte" in error_of(read(spark, path, "n int"))
    for options in ({"onError": "skip"}, {"on_error": "SKIP", "maxErrors": "2"}):
        assert [row.n for row in read(spark, path, **options).collect()] == good
    text = error_of(read(spark, path, "n int", onError="skip", maxErrors="1"))
    assert "record 900" in text
    assert "the limit of max_errors" in text


SCHEMA = (
    "i int, l long, f float, d double, s string, b binary, t boolean, h smallint,"
    "v array<double>, a array<string>, n array<int>"
)
ROWS = [
    (11, 2**40, 10.5, 0.1, "r1", b"\xff", True, 7, [0.1, 2.0], ["a", "b"], [1]),
    (21, -1, 12.0, 15.0, "é", b"", False, -7, [], [], [1, 2]),
    (None,) * 11,
]


@pytest.mark.parametrize("options", [{"lossless": "true"}, {}, {"sidecar": "false"}])
def test_what_is_written_comes_back(spark: Any, tmp_path: Path, options: Any) -> None:
    made = spark.createDataFrame(ROWS, SCHEMA)
    put(made.coalesce(1), tmp_path / "out", **options)
    has_sidecars = options != {"sidecar": "false"}
    found = read(spark, tmp_path / "out", None if has_sidecars else made.schema)
    assert found.dtypes == made.dtypes
    expected = [
        {k: [] if v is None and k in "van" else v for k, v in row.items()} for row in rows(made)
    ]
    if "lossless" not in options:
        for row in expected:
            row["d"] = None if row["d"] is None else float(np.float32(row["d"]))
            row["v"] = [float(np.float32(value)) for value in row["v"]]
    assert rows(found) == expected


@pytest.mark.parametrize(("options", "ending", "name"), [
    ({"compression": "gzip"}, ".gz", "GZIP"), ({"compression": "deflate"}, ".deflate", "ZLIB"),
    ({"compression": "none"}, "", ""), ({}, "", ""),
])  # fmt: skip
def test_compression(spark: Any, tmp_path: Path, options: Any, ending: str, name: str) -> None:
    made = spark.range(5).repartition(2)
    mark, *names = put(made, tmp_path / "out", sidecar="false", **options)
    assert mark == "_SUCCESS"  # and no sidecars
    assert [each[:11] for each in names] == ["part-00000-", "part-00001-"]
    assert all(each.endswith(f"-c000.tfrecord{ending}") for each in names)
    assert len(list(TFRecordReader([tmp_path / "out" / each for each in names], name))) == 5
    assert read(spark, tmp_path / "out", **options).count() == 5


def test_what_cannot_be_written_is_refused_before_any_task(spark: Any, tmp_path: Path) -> None:
    for query, options, text in (
        ("select map(1, 2) x", {}, "feature 'x': a column of map<int,int>"),
        ("select array(array(1)) x", {}, "needs recordType=SequenceExample"),
        ("select date'2026-01-01' x", {"sidecar": "false"}, "sidecar"),
        (
            "select 1 x",
            {"lossless": "true", "sidecar": "false"},
            "without a sidecar, what lossless=True stores",
        ),
        ("select cast(1 as decimal) x", {}, "give .option('sidecar', 'false')"),
        ("select 1 x", {"compression": "snappy"}, "compression cannot be 'snappy'"),
        ("select 1 x", {"partitionBy": "y"}, "no column 'y'"),
        ("select 1 x", {"partitionBy": "x"}, "none is left"),
        ("select 1 x, array(1) y", {"partitionBy": "y"}, "array<int> in partitionBy"),
        ("select 1 x", {"recordType": "ByteArray"}, "writes one column of binary, not x int"),
    ):
        with pytest.raises(Exception, match="InvalidArgumentError") as caught:
            put(spark.sql(query), tmp_path / "out", **options)
        assert text in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_times_come_back_with_a_sidecar(spark: Any, tmp_path: Path) -> None:
    made = spark.sql(
        "select date'2026-01-02' d, timestamp'2026-01-02 03:04:05.678901' t,"
        "timestamp_ntz'2026-01-02 03:04:05' n"
    )
    put(made, tmp_path / "out")
    found = read(spark, tmp_path / "out")
    assert found.dtypes == made.dtypes
    assert rows(found) == rows(made)


def test_sequence_examples_come_back(spark: Any, tmp_path: Path) -> None:
    made = spark.createDataFrame(
        [(1, [1.0], [[1, 2], [], [3]], [["a"], ["b"]]), (None, None, None, [])],
        "id long, f array<float>, ll array<array<long>>, s array<array<string>>",
    )
    put(made.coalesce(1), tmp_path / "out", recordType="SequenceExample")
    names = "`context/id` long, `context/f` array<double>, `feature_lists/ll` array<array<long>>,"
    ddl = names + "`feature_lists/s` array<array<string>>"
    full = {"id": 1, "f": [1.0], "ll": [[1, 2], [], [3]], "s": [["a"], ["b"]]}
    expected = [full, {"id": None, "f": [], "ll": [], "s": []}]
    found = rows(read(spark, tmp_path / "out", ddl))
    assert [{name.partition("/")[2]: row[name] for name in row} for row in found] == expected
    inferred = read(spark, tmp_path / "out")
    assert dict(inferred.dtypes) == {
        "context/id": "bigint",
        "context/f": "float",
        "feature_lists/ll": "array<array<bigint>>",
        "feature_lists/s": "array<string>",
    }
    assert rows(inferred)[0]["feature_lists/s"] == ["a", "b"]
    steps = read(spark, tmp_path / "out", "`feature_lists/s` array<string>")
    assert rows(steps)[0] == {"feature_lists/s": ["a", "b"]}
    wrong = read(spark, tmp_path / "out", "`feature_lists/ll` array<int>")
    assert "found 2 values, expected 1" in error_of(wrong)
    wrong = read(spark, tmp_path / "out", "`feature_lists/s` string")
    assert "feature 'feature_lists/s': a value that is not" in error_of(wrong)


def test_one_name_in_both_parts_of_a_sequence_example(spark: Any, tmp_path: Path) -> None:
    names = "`context/a` long, `feature_lists/a` array<array<long>>, b string"
    made = spark.createDataFrame([(1, [[1, 2]], "x")], names)
    put(made, tmp_path / "out", recordType="SequenceExample")
    (row,) = rows(read(spark, tmp_path / "out"))
    assert row == {"context/a": 1, "feature_lists/a": [[1, 2]], "context/b": "x"}
    put(read(spark, tmp_path / "out"), tmp_path / "again", recordType="SequenceExample")
    assert rows(read(spark, tmp_path / "again")) == [row]


def test_records_as_they_are(spark: Any, tmp_path: Path) -> None:
    made = spark.createDataFrame([(b"abc",), (b"",)], "byteArray binary").coalesce(1)
    (_, name) = put(made, tmp_path / "out", recordType="ByteArray")
    assert list(TFRecordReader(tmp_path / "out" / name)) == [b"abc", b""]
    assert rows(read(spark, tmp_path / "out", recordType="bytearray")) == rows(made)


def test_partitioned_folders(spark: Any, tmp_path: Path) -> None:
    made = spark.createDataFrame(
        [(8, "bat", None), (8, "abc", "x/y=1"), (1, "xyz", "x"), (2, "aaa", "ä")],
        "number int, word string, k string",
    )
    names = put(made.coalesce(1), tmp_path / "out", partitionBy="number,k")
    assert [str(Path(name).parent) for name in data_files(names)] == [
        ".",
        "number=1/k=x",
        "number=2/k=ä",
        "number=8/k=__HIVE_DEFAULT_PARTITION__",
        "number=8/k=x%2Fy%3D1",
    ]
    found = read(spark, tmp_path / "out")
    assert found.dtypes == [("word", "string"), ("number", "int"), ("k", "string")]
    assert sorted(map(json.dumps, rows(found.select(made.columns)))) == sorted(
        map(json.dumps, rows(made))
    )
    assert spark.read.format("text").load(str(tmp_path / "out")).columns == ["value", "number", "k"]


def test_values_of_folders_come_back(spark: Any, tmp_path: Path) -> None:
    made = spark.sql(
        "select explode(array(1, 2, 3)) n, n % 2 = 0 b, date_add(date'2026-01-01', n) d,"
        "n + 0.5D f, cast(n * 3000000000 as bigint) l, if(n = 2, null, 'x') s"
    )
    put(made, tmp_path / "out", partitionBy='["b", "d", "f", "l", "s"]')
    assert rows(read(spark, tmp_path / "out", made.schema).orderBy("n")) == rows(made)
    kinds = dict(made.dtypes) | {"b": "string", "f": "string"}
    assert dict(read(spark, tmp_path / "out").dtypes) == kinds


def test_append_and_overwrite(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = put(spark.range(3), out)
    (out / "_notes").write_text("not ours")
    both = put(spark.range(3, 5), out, "append")
    assert set(first) < set(both)
    assert sorted(row.id for row in read(spark, out).collect()) == [0, 1, 2, 3, 4]
    last = put(read(spark, out).where("id > 3"), out)  # what is read is what is replaced
    assert [row.id for row in read(spark, out).collect()] == [4]
    assert not set(last) & set(both) - {"_SUCCESS", "_notes"}
    assert (out / "_notes").exists()


def test_a_write_that_fails_changes_nothing(spark: Any, tmp_path: Path) -> None:
    before = put(spark.range(3), tmp_path / "out")
    bad = spark.range(10).repartition(2).selectExpr("array(id, if(id = 7, null, 1)) x")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="feature 'x': a null within a list"):
            put(bad, tmp_path / "out", mode)
        assert names_in(tmp_path / "out") == before


def test_urls_are_written_by_tasks(spark: Any, tmp_path: Path) -> None:
    out = f"local://{tmp_path}/out"
    made = spark.createDataFrame([(1, "a"), (2, "b")], "n long, k string")
    for mode in ("overwrite", "append", "overwrite"):
        made.write.format("tfrecord").mode(mode).option("partitionBy", "k").save(out)
    names = data_files(names_in(tmp_path / "out"))
    assert [Path(name).parent.name for name in names] == ["", "k=a", "k=b"]
    found = spark.read.format("tfrecord").load(out)
    assert sorted(tuple(row) for row in found.collect()) == [(1, "a"), (2, "b")]


class KillingWriter(TFRecordBatchWriter):
    """Dies when one task has written its files, but before Spark knows of them."""

    mark = ""

    def write(self, iterator: Iterator[Any]) -> Any:
        written = super().write(iterator)
        kill_once(self.mark)
        return written


class KillingReader(TFRecordBatchReader):
    mark = ""

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in super().read(partition):
            yield batch
            kill_once(self.mark)


class KillsItself(TFRecordDataSource):
    @classmethod
    def name(cls) -> str:
        return "killed"

    def _with_mark(self, made: Any, kind: type) -> Any:
        made.__class__ = kind
        made.mark = f"{self.options['path'].rstrip('/')}.killed-{kind.__name__}"
        return made

    def reader(self, schema: Any) -> Any:
        return self._with_mark(super().reader(schema), KillingReader)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        return self._with_mark(super().writer(schema, overwrite), KillingWriter)


@pytest.mark.parametrize("options", [{}, {"partitionBy": "k"}])
def test_killed_tasks_neither_double_nor_lose(spark: Any, tmp_path: Path, options: Any) -> None:
    out = tmp_path / "out"
    made = spark.range(1000).selectExpr("id", "id % 3 k").repartition(3)
    made.write.format("killed").mode("overwrite").options(**options).save(str(out))
    assert (tmp_path / "out.killed-KillingWriter").exists()
    assert sorted(row.id for row in read(spark, out).collect()) == list(range(1000))
    assert len(data_files(names_in(out))) == 1 + (9 if options else 3)
    found = spark.read.format("killed").option("numPartitions", 3).load(str(out))
    assert sorted(row.id for row in found.collect()) == list(range(1000))
    assert (tmp_path / "out.killed-KillingReader").exists()


def test_the_example_goes_to_parquet_and_back(tmp_path: Path) -> None:
    check_example("spark", tmp_path)
