"""Files of other formats as streams of batches, and what comes back from them."""

import csv
import gzip
import json
import math
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.file_objects import Pipe
from tfrecord_lite import Schema, TFRecordReader, TFRecordWriter, decode_example, load, save, scan
from tfrecord_lite.apps.endings import format_of, is_numbered
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.options import ReadSettings

pytestmark = pytest.mark.needs("arrow")

ENDINGS = [
    "parquet", "feather", "arrows", "csv", "tsv", "jsonl", "csv.gz", "jsonl.bz2", "parquet.gz",
    pytest.param("jsonl.zst", marks=pytest.mark.needs("arrow", "zstd")),
]  # fmt: skip


def opened(path: Path, columns: Sequence[str] | None = None, types: Any = None) -> Any:
    from tfrecord_lite.apps.tables import formats

    kind = format_of(str(path))
    assert kind is not None
    table = scan(path) if kind == "tfrecord" else None
    source: Any = formats.open_source(str(path), kind, ReadSettings(), table=table, types=types)
    if columns is not None:
        source.columns = list(columns)
    return source


def read(path: Path, first_row: int = 0, **reading: Any) -> list[dict[str, Any]]:
    source = opened(path, **reading)
    rows = [row for batch in source.batches(first_row) for row in batch.to_pylist()]
    source.close()
    return rows


def write(path: Path, batches: Sequence[Any], compression: str | None = None) -> Path:
    from tfrecord_lite.apps.tables import formats

    kind = format_of(str(path))
    assert kind is not None
    target = formats.open_target(str(path), kind, batches[0].schema, compression)
    try:
        for batch in batches:
            target.write_batch(batch)
        target.finish()
        assert not path.exists()
        target.commit()
    except BaseException:
        target.abandon()
        raise
    return path


def copied(source: Path, target: Path) -> Path:
    opened_source = opened(source)
    batches = list(opened_source.batches())
    opened_source.close()
    return write(target, batches)


def records_of(path: Path) -> list[dict[str, list[Any]]]:
    """Return the values of all records; of a list without values only that there is none."""
    return [
        {
            key: values.tolist()
            for key, values in sorted(decode_example(record).items())
            if values.size
        }
        for record in TFRecordReader(path)
    ]


class TestNames:
    @pytest.mark.parametrize(("name", "kind"), [
        ("a.tfrecord", "tfrecord"), ("a.tfrecord-00000-of-00010", "tfrecord"),
        ("A.PARQUET", "parquet"), ("a.pq", "parquet"), ("x/a.feather", "arrow"), ("a-00000-of-00002.csv.gz", "csv"),
        ("a.jsonl.zst", "jsonl"), ("a@10.tfrecord", "tfrecord"), ("a.txt", None), ("csv", None),
    ])  # fmt: skip
    def test_tell_the_format(self, name: str, kind: str | None) -> None:
        assert format_of(name) == kind

    def test_content_tells_it_where_the_name_does_not(self, tmp_path: Path) -> None:
        import pyarrow as pa

        from tfrecord_lite.apps.tables.formats import format_of_file

        batch = pa.record_batch({"x": [1]})
        for ending, kind in ("parquet", "parquet"), ("feather", "arrow"), ("tfrecord", "tfrecord"):
            path = write(tmp_path / f"a.{ending}", [batch]).rename(tmp_path / ending)
            assert format_of_file(str(path)) == kind

    @pytest.mark.parametrize("name", ["data_tfrecord-00000-of-00001.gz", "train-00000-of-00001"])
    def test_names_of_tfx(self, tmp_path: Path, name: str) -> None:
        from tfrecord_lite.apps.tables.formats import format_of_file

        path = tmp_path / name
        with TFRecordWriter(path) as writer:
            writer.write_example({"x": 1})
        assert (format_of_file(str(path)), is_numbered(str(path))) == ("tfrecord", True)
        path.write_bytes(path.read_bytes()[:11])
        assert format_of_file(str(path)) is None
        path.write_bytes(gzip.compress(b"notes"))
        assert format_of_file(str(path)) is None


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
float32s = st.floats(width=32) | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 1.0, 1e-45])
int64s = st.integers(-(2**63), 2**63 - 1) | st.just(2**63 - 1)
rows_of_kinds = st.fixed_dictionaries(
    {"n": int64s, "f": float32s, "b": st.binary(max_size=8), "t": texts},
    optional={"o": int64s, "p": texts},
) | st.fixed_dictionaries({"n": int64s, "f": float32s, "b": st.binary(max_size=8), "t": texts})


class TestRoundTrips:
    @pytest.mark.parametrize("ending", ENDINGS)
    @given(rows=st.lists(rows_of_kinds, min_size=1, max_size=12), lists=st.data())
    def test_records_come_back(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        ending: str,
        rows: list[dict[str, Any]],
        lists: st.DataObject,
    ) -> None:
        folder = tmp_path_factory.mktemp("trip")
        # The first row has bytes that no text has, so that text formats know the column for what it is.
        rows[0] |= {"b": b"\xff", "t": "text", "o": 1, "p": "q"}
        for row in rows:
            if ending[1:3] == "sv":  # whose cells are text
                row["b"] = row["b"].hex()
            row["l"] = lists.draw(st.lists(int64s, max_size=3))
            row["v"] = np.array(lists.draw(st.lists(float32s, min_size=2, max_size=2)), np.float32)
        rows[0]["l"] = [1, 2]
        if "parquet" in ending and int(metadata.version("pyarrow").split(".")[0]) < 25:
            rows.append(
                {**rows[0], "l": [3]}
            )  # it cannot read lists of one length of which some are null
        with TFRecordWriter(folder / "a.tfrecord") as writer:
            writer.write_examples(rows)
        copied(folder / "a.tfrecord", folder / f"b.{ending}")
        back = copied(folder / f"b.{ending}", folder / "c.tfrecord")
        expected = records_of(folder / "a.tfrecord")
        assert str(records_of(back)) == str(expected)  # in which NaN is NaN
        assert (folder / "c.tfrecord.schema.json").exists()

    @pytest.mark.parametrize("ending", ["parquet", "feather"])
    def test_what_was_saved_loads_as_it_was(self, tmp_path: Path, ending: str) -> None:
        columns = {
            "exact": np.array([0.1, 1e300]),
            "small": np.array([1, 2], np.uint8),
            "when": np.array(["2024-01-01T00:00:01", "1969-12-31"], "M8[us]"),
            "flag": np.array([True, False]),
            "image": np.arange(12, dtype=np.uint8).reshape(2, 2, 3),
        }
        save(tmp_path / "a.tfrecord", columns, lossless=True)
        copied(tmp_path / "a.tfrecord", tmp_path / f"b.{ending}")
        back = copied(tmp_path / f"b.{ending}", tmp_path / "c.tfrecord")
        assert list(TFRecordReader(back)) == list(TFRecordReader(tmp_path / "a.tfrecord"))
        found: Any = load(back)
        for name, column in columns.items():
            assert found[name].dtype == column.dtype
            assert np.array_equal(found[name], column)

    def test_types_of_parquet_come_back(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"a": pa.int32(), "b": pa.string(), "c": pa.list_(pa.float32()), "d": pa.date32()}
        rows = {"a": [1, None, 3], "b": ["x", None, ""], "c": [[1.5], None, []], "d": [1, 2, None]}
        table = pa.table(rows, pa.schema(types))
        pq.write_table(table, tmp_path / "a.parquet")
        copied(tmp_path / "a.parquet", tmp_path / "b.tfrecord")
        copied(tmp_path / "b.tfrecord", tmp_path / "c.parquet")
        found = pq.read_table(tmp_path / "c.parquet")
        assert found.schema.types == table.schema.types
        expected = table.to_pylist()
        expected[1]["c"] = []  # a list that a record lacks is read as an empty one
        assert found.to_pylist() == expected

    @pytest.mark.parametrize("ending", ["parquet", "feather"])
    @pytest.mark.parametrize("values", [["a", "b", None, "c"], [3, None, 2, 5], [b"\xff", None]])
    def test_categories_come_back(self, tmp_path: Path, values: list[Any], ending: str) -> None:
        import pyarrow as pa

        batches = [
            pa.record_batch({"d": pa.array(part).dictionary_encode(), "n": [0] * len(part)})
            for part in (values, values[::-1], [values[0]] * 3)
        ]
        path = tmp_path / f"a.{ending}"
        rows = [row for batch in batches for row in batch.to_pylist()]
        if ending == "feather":  # which needs one dictionary for all batches
            table = pa.Table.from_batches(batches).unify_dictionaries()
            batches = table.to_batches()
        write(path, batches)
        copied(path, tmp_path / "b.tfrecord")
        copied(tmp_path / "b.tfrecord", tmp_path / "c.parquet")
        assert read(tmp_path / "b.tfrecord") == rows
        assert read(tmp_path / "c.parquet") == rows
        if isinstance(values[0], str):
            assert pa.types.is_dictionary(opened(tmp_path / "b.tfrecord").schema.field("d").type)


class TestColumns:
    @pytest.mark.parametrize("ending", ENDINGS)
    def test_rows_from_one_on_of_some_columns(self, tmp_path: Path, ending: str) -> None:
        import pyarrow as pa

        batches = [
            pa.record_batch({"x": range(i, i + 100), "y": ["a"] * 100}) for i in range(0, 1000, 100)
        ]
        path = write(tmp_path / f"a.{ending}", batches)
        assert [row["x"] for row in read(path)] == list(range(1000))
        assert read(path, 950, columns=("y", "x"))[0] == {"y": "a", "x": 950}
        assert read(path, 1000) == []
        source = opened(path)
        assert source.count() == 1000
        source.close()

    def test_of_parquet_other_row_groups_are_not_read(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = tmp_path / "a.parquet"
        with pq.ParquetWriter(path, pa.schema({"x": pa.int64()})) as writer:
            for i in range(5):
                writer.write_table(pa.table({"x": range(10 * i, 10 * i + 10)}))
        for first in (0, 5, 10, 29, 30, 49, 50):
            assert [row["x"] for row in read(path, first)] == list(range(first, 50))

    def test_records_begin_at_a_mark(self, tmp_path: Path) -> None:
        with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
            writer.write_examples({"x": np.arange(300), "b": [b"x" * 50_000] * 300})
        source = opened(tmp_path / "a.tfrecord")
        assert source.count() == 300
        assert len(source.marks) > 2
        row, offset = source.marks[2]
        source = opened(tmp_path / "a.tfrecord")
        batches = source.batches(row + 3, (row, offset))
        assert next(batches).column("x")[0].as_py() == row + 3 > 10
        source.close()


class TestCsv:
    def test_is_read_by_the_module_of_python(self, tmp_path: Path) -> None:
        import pyarrow as pa

        values = ["", 'a"b', "x,y", "l\nm", "r\rs", " pad ", None, "é"]
        batch = pa.record_batch({"s": values, "n": range(8), "l": [[1, 2]] * 8})
        path = write(tmp_path / "a.csv", [batch])
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["s", "n", "l"]
        assert [row[0] for row in rows[1:]] == [value or "" for value in values]
        assert json.loads(rows[1][2]) == [1, 2]
        assert [row["s"] for row in read(path)] == values

    def test_bytes_that_are_not_text_are_an_error(self, tmp_path: Path) -> None:
        import pyarrow as pa

        batch = pa.record_batch({"n": range(3), "b": [b"text", None, b"\xff\x00"]})
        with pytest.raises(InvalidArgumentError, match="bytes that are not text") as caught:
            write(tmp_path / "a.csv", [batch])
        assert (caught.value.key, caught.value.index) == ("b", 2)
        assert list(tmp_path.iterdir()) == []

    def test_a_row_of_another_width(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4,5\n")
        with pytest.raises(
            InvalidArgumentError, match="row 2 after the header: 3 values, but there are 2 columns"
        ):
            read(tmp_path / "a.csv")

    @pytest.mark.parametrize(
        ("text", "error"),
        [("", "the file is empty"), ("a,a\n1,2\n", "two columns have the name 'a'")],
    )
    def test_what_is_not_a_table(self, tmp_path: Path, text: str, error: str) -> None:
        (tmp_path / "a.csv").write_text(text)
        raised(InvalidArgumentError, read, tmp_path / "a.csv", match=error)

    def test_lists_that_end(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("a,l\n" + '1,"[1, 2]"\n' * 3 + "1,[]\n")
        assert [row["l"] for row in read(tmp_path / "a.csv")] == [[1, 2]] * 3 + [[]]
        (tmp_path / "a.csv").write_text('l\n"1,5"\n2\n')
        assert [row["l"] for row in read(tmp_path / "a.csv")] == ["1,5", "2"]
        (tmp_path / "a.csv").write_text("a,l\n1,[1]\n2,word\n")
        assert [row["l"] for row in read(tmp_path / "a.csv")] == ["[1]", "word"]

    def test_types_that_are_given(self, tmp_path: Path) -> None:
        import pyarrow as pa

        (tmp_path / "a.csv").write_text("n,l,b\n1,[1],a\n")
        types = pa.schema(
            {"n": pa.large_string(), "l": pa.list_(pa.float32()), "b": pa.large_binary()}
        )
        assert read(tmp_path / "a.csv", types=types) == [{"n": "1", "l": [1.0], "b": b"a"}]
        (tmp_path / "a.csv").write_text("n,l,b\n1,[1],a\n2,3,b\n")
        with pytest.raises(
            InvalidArgumentError, match=r"row 2 after the header: '3' is not of the column's type"
        ):
            read(tmp_path / "a.csv", types=types)
        (tmp_path / "a.csv").write_text("n\n1\n-1e39\n")
        with pytest.raises(InvalidArgumentError, match="row 2 after the header: '-1e39' is not of"):
            read(tmp_path / "a.csv", types=pa.schema({"n": pa.float32()}))

    @pytest.mark.parametrize(("cells", "kind"), [
        (["12:30", "23:59:59"], "time32[s]"), (["2024-01-01", "1969-12-31"], "date32[day]"),
        (["2024-01-01 10:00:00", "2024-01-01"], "timestamp[s]"),
        (["2024-01-01T10:00:00.5", "2024-01-01"], "timestamp[ns]"),
        (["2024-01-01T10:00:00Z"], "timestamp[s, tz=UTC]"), (["true", "False"], "bool"),
        (["1", "true"], "bool"), (["5", '"01234"'], "string"),
        (["9223372036854775808", "5"], "string"),
        (["9223372036854775807", "-9223372036854775808"], "int64"),
        (["99999999999999999999", "1.5"], "string"), (["9007199254740993", "0.5"], "string"),
        (["0.5", "9007199254740992"], "double"), (["1e400", "0.5"], "string"),
        (["1e39", "-inf", "nan"], "double"), (["0.5", "0"], "double"),
        (["0", " 7 ", "-0"], "int64"), (["0x10"], "string"),
    ])  # fmt: skip
    def test_numbers_keep_their_digits(self, tmp_path: Path, cells: list[str], kind: str) -> None:
        path = tmp_path / "a.csv"
        path.write_text("".join(f"{cell},x\n" for cell in ["n", *cells]))
        source = opened(path)
        assert str(source.schema.field("n").type) == kind
        source.close()
        found = [row["n"] for row in read(path)]
        make: Any = {"int64": int, "bool": lambda c: c != "False", "string": lambda c: c.strip('"')}
        assert kind not in make or found == list(map(make[kind], cells))

    @pytest.mark.parametrize(("first", "late", "kind"), [
        ("1", "007", "text"), ("1", "9223372036854775808", "text"), ("1", "1.5", "float32"),
        ("0.5", "9007199254740993", "text"), ("0.5", "1e400", "text"), ("true", "2", "text"),
        ("2024-01-01", "yesterday", "text"), ("", "1", "text"),
    ])  # fmt: skip
    def test_a_later_cell_loses_nothing(
        self, tmp_path: Path, first: str, late: str, kind: str
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text("n,pad\n" + f'{first},"x\n{"x" * 100}"\n' * 30_000 + f"{late},\n")
        with pytest.raises(
            InvalidArgumentError, match=f"row 30,001 after the header: '{late}' is not of"
        ) as info:
            read(path)
        assert f"--features n:{kind}" in str(info.value)
        assert info.value.key == "n"

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_the_header_tells_the_delimiter(self, tmp_path: Path, delimiter: str) -> None:
        path = tmp_path / "a.csv"
        path.write_text(delimiter.join(["a", '"b,c;d"', "e"]) + "\n")
        with path.open("a") as file:
            file.write(delimiter.join(["1", '"x,y;z"', "2.5"]) + "\n")
        assert read(path) == [{"a": 1, "b,c;d": "x,y;z", "e": 2.5}]

    def test_names_with_delimiters_come_back(self, tmp_path: Path) -> None:
        import pyarrow as pa

        for row in {"a;b": 1}, {"a\tb": 1}, {"x": 1, "a;b;c": 2}, {"x,y": 1, 'q"': 2}:
            path = write(tmp_path / "a.csv", [pa.RecordBatch.from_pylist([row])])
            assert read(path) == [row]
            path.unlink()

    def test_of_a_pipe_that_brings_little_at_once(self) -> None:
        from tfrecord_lite.apps.tables.table_formats import CsvSource

        lines = b"".join(b"%d;%s\n" % (i, b"x" * 100) for i in range(30_000))
        pipe: Any = Pipe(b"n;s\n" + lines, 5_000)
        source = CsvSource(pipe, ReadSettings())
        found = [n for batch in source.batches() for n in batch["n"].to_pylist()]
        assert found == list(range(30_000))


class TestJsonLines:
    def test_lines_of_cat_are_read(self, tmp_path: Path) -> None:
        row = {"x": 3, "f": np.float32(0.1), "b": b"\xff", "t": "text", "l": [1, 2]}
        with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
            writer.write_example({**row, "nan": math.nan})
        (tmp_path / "a.jsonl").write_text(
            '{"b": [{"base64": "/w=="}], "f": [0.1], "l": [1, 2], "nan": [{"float": "NaN"}], '
            '"t": ["text"], "x": [3]}\n'
        )
        copied(tmp_path / "a.jsonl", tmp_path / "b.tfrecord")
        assert list(TFRecordReader(tmp_path / "b.tfrecord")) == list(
            TFRecordReader(tmp_path / "a.tfrecord")
        )

    def test_lines_are_those_of_python(self, tmp_path: Path) -> None:
        import pyarrow as pa

        rows = [
            {"s": 'a"\\\n\u2028é\x01', "f": 1.0, "n": 2**63 - 1, "l": [["x"], []], "z": None},
            {"s": None, "f": 0.1, "n": -1, "l": None, "z": {"k": True}},
        ]
        path = write(tmp_path / "a.jsonl", [pa.RecordBatch.from_pylist(rows)])
        lines = path.read_text(encoding="utf-8").split("\n")
        assert [json.loads(line) for line in lines[:2]] == rows
        assert lines[0] == json.dumps(rows[0], ensure_ascii=False)

    @pytest.mark.parametrize(("lines", "error"), [
        (['{"x": 1}'] * 9 + ['{"x": "a"}'], "(?s)line 10: .*--features x:text"),
        (['{"x": 1}', "", "{x"], "line 3: not JSON"),
        (['{"x": 1}', "[1]"], "line 2: expected an object"),
        (['{"x": {"base64": "?"}}'], "line 1: '\\?' is not base64"),
        (['{"x": 1}', '{"base64": "//4="}'], "line 2: a whole record as base64"),
        (['{"x": 18446744073709551616}'], "line 1: values of several types, or too large"),
    ])  # fmt: skip
    def test_errors_have_their_line(self, tmp_path: Path, lines: list[str], error: str) -> None:
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        raised(InvalidArgumentError, read, tmp_path / "a.jsonl", match=error)

    def test_what_differs_after_the_first_batch(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        filler = '{"x": 1, "pad": "' + "." * 1000 + '"}\n'
        path.write_text(filler * 5000 + '{"x": 1.5, "pad": ""}\n')
        raised(InvalidArgumentError, read, path, match="line 5,001: a value that is not of")
        path.write_text(filler * 5000 + '{"x": 1, "new": 1}\n')
        raised(InvalidArgumentError, read, path, match="line 5,001: this key is in no line before")
        assert len(read(path, columns=("x",))) == 5001


class TestFeatures:
    def test_short_forms(self) -> None:
        from tfrecord_lite.cli.convert import parse_features

        schema = parse_features("x:int64,image:uint8[2, 3],tags:text[?],box:float32[4]?,a:b:bytes")
        assert isinstance(schema, Schema)
        assert list(schema) == ["x", "image", "tags", "box", "a:b"]
        originals = schema.originals
        assert (originals["image"].dtype, originals["image"].shape) == ("uint8", (2, 3))
        assert (originals["tags"].shape, originals["tags"].text is None) == ((None,), False)
        assert originals["box"].missing
        assert originals["a:b"].text is None
