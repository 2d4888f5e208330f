"""scan: files as lazy Arrow tables, held to load, to the messages, and to real libraries."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.small_files import write_records
from tests.support.specifications import tables
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.messages import Example

pytestmark = pytest.mark.needs("arrow")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.tfrecord"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with tl.TFRecordWriter(path) as writer:
        writer.write_examples(rows)
    return path


def rows_of(table: tl.TFRecordTable) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_arrow().to_pylist()
    return found


def alike(a: Any, b: Any) -> bool:
    """Compare values; NaN equals NaN, -0.0 is not 0.0, and a masked row is as None."""
    if a is None and isinstance(b, list):
        return all(alike(None, each) for each in b)
    if isinstance(a, list | np.ndarray) or isinstance(b, list | np.ndarray):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)  # noqa: PLR0124
    return bool(a == b)


@given(drawn=tables())
def test_a_table_has_the_values_of_the_messages(drawn: Any, tmp_path_factory: Any) -> None:
    _, examples = drawn
    path = tmp_path_factory.mktemp("table") / "x.tfrecord"
    write_records(path, (example.SerializeToString() for example in examples))
    if not any(feature_values(e, key) for e in examples for key in e.features.feature):
        return
    found = tl.scan(path)
    assert found.count_rows() == len(examples)
    for row, example in zip(rows_of(found), examples, strict=True):
        for name, value in row.items():
            expected = feature_values(example, name)
            values = [] if value is None else value if isinstance(value, list) else [value]
            assert alike(values, expected), name
    kept = set(found.column_names)
    assert kept == {k for e in examples for k in e.features.feature if kind_of(e, k)}


def kind_of(example: Example, key: str) -> str | None:
    feature: Any = example.features.feature[key]
    kind: str | None = feature.WhichOneof("kind")
    return kind


def feature_values(example: Example, key: str) -> list[Any]:
    if key not in example.features.feature:
        return []
    kind = kind_of(example, key)
    return [] if kind is None else list(getattr(example.features.feature[key], kind).value)


@given(drawn=tables(allow_nan=False))
def test_a_saved_table_has_the_values_that_load_has(drawn: Any, tmp_path_factory: Any) -> None:
    columns, _ = drawn
    path = tmp_path_factory.mktemp("table") / "x.tfrecord"
    try:
        tl.save(path, columns)
    except InvalidArgumentError:  # what the strict policy does not store
        return
    loaded: Any = tl.load(path)
    # The column "" is stored under another name, as a path is not empty.
    if "" in loaded or any(isinstance(column, tl.SparseTensor) for column in loaded.values()):
        return
    expected = {
        name: column.to_list() if hasattr(column, "to_list") else column.tolist()
        for name, column in loaded.items()
    }
    assert alike_columns(tl.scan(path).to_arrow().to_pydict(), expected)


def alike_columns(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return {*found} == {*expected} and all(alike(found[name], expected[name]) for name in expected)


def test_original_types_are_arrows(path: Path) -> None:
    import pyarrow as pa

    box = "fixed_size_list<item: fixed_size_list<item: uint8>[2]>[2]"
    whole: dict[str, tuple[Any, str]] = {
        "float64": (np.array([0.1, math.pi]), "double"),
        "uint64": (np.array([1, 2**64 - 1], np.uint64), "uint64"),
        "int8": (np.array([-128, 127], np.int8), "int8"),
        "bool": (np.array([True, False]), "bool"),
        "half": (np.array([1.5, np.nan], np.float16), "halffloat"),
        "time": (np.array(["2020-02-29T12:34:56.789", "NaT"], "M8[ms]"), "timestamp[ms]"),
        "span": (np.array([1, -1], "m8[us]"), "duration[us]"),
        "text": (["ü", ""], "large_string"),
        "bytes": ([b"\xff\0", b""], "large_binary"),
        "image": (np.arange(8, dtype=np.uint8).reshape(2, 2, 2), box),
        "deep": ([[[0.5], []], []], "list<item: list<item: double>>"),
        "texts": ([["a"], ["b", ""]], "list<item: large_string>"),
        "missing": ([None, "x"], "large_string"),
        "most": (np.ma.MaskedArray([2**63 - 1, 0], [False, True]), "int64"),
    }
    tl.save(path, {name: column for name, (column, _) in whole.items()}, lossless=True)
    table = tl.scan(path)

    assert [str(field.type) for field in table.arrow_schema] == [word for _, word in whole.values()]
    found = table.to_arrow()
    assert found.column("uint64").to_pylist() == [1, 2**64 - 1]
    assert found.column("time").cast(pa.int64()).to_pylist() == [1582979696789, None]
    assert found.column("image").to_pylist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert found.column("deep").to_pylist() == [[[0.5], []], []]
    assert found.column("most").to_pylist() == [2**63 - 1, None]
    assert found.column("missing").to_pylist() == [None, "x"]


def test_specifications_that_depend_on_the_batch_are_lists(path: Path) -> None:
    write(path, [{"a": [1], "i": [2], "v": [0.5]}, {"a": [1, 2, 3, 4], "i": [], "v": []}])
    table = tl.scan(
        path,
        schema={
            "a": tl.VarLenFeature("int64"),
            "p": tl.FixedLenSequenceFeature([2], "int64", allow_missing=True),
            "s": tl.SparseFeature("i", "v", "float32", 4),
        },
    )
    assert table.column_names == ["a", "p", "i", "v"]
    assert rows_of(table) == [
        {"a": [1], "p": [], "i": [2], "v": [0.5]},
        {"a": [1, 2, 3, 4], "p": [], "i": [], "v": []},
    ]
    assert str(table.arrow_schema.field("p").type) == "list<item: fixed_size_list<item: int64>[2]>"


def test_sparse_columns_keep_the_types_of_their_values(path: Path) -> None:
    indices, shape = np.array([[0, 1], [1, 0]]), np.array([2, 3])
    numbers, texts = np.array([1, 255], np.uint8), np.array(["a", "ü"], object)
    tl.save(
        path, {k: tl.SparseTensor(indices, v, shape) for k, v in (("n", numbers), ("t", texts))}
    )
    table = tl.scan(path)
    assert rows_of(table) == [
        {"n/indices_0": [1], "n/values": [1], "t/indices_0": [1], "t/values": ["a"]},
        {"n/indices_0": [0], "n/values": [255], "t/indices_0": [0], "t/values": ["ü"]},
    ]
    assert str(table.arrow_schema.field("n/values").type) == "list<item: uint8>"
    tl.save(path, {"x": tl.SparseTensor(indices, np.array([0.1, 0.2]), shape)}, lossless=True)
    assert tl.scan(path).to_arrow().column("x/values").to_pylist() == [[[0.1]], [[0.2]]]


def test_partitions_are_lists_of_lists(path: Path) -> None:
    write(path, [{"v": [1, 2, 3], "n": [2, 1]}, {"v": [], "n": [0]}])
    spec = tl.RaggedFeature("int64", "v", [tl.RaggedFeature.RowLengths("n")])
    assert rows_of(tl.scan(path, schema={"x": spec})) == [{"x": [[1, 2], [3]]}, {"x": [[]]}]


def test_sequences_are_lists_of_lists(path: Path) -> None:
    rows = tl.encode_sequence_examples(
        context={"label": [1, 2]},
        feature_lists={"ids": [[[1], [2, 3]], []], "words": [[[b"a"]], [[b"b"], [b"c"]]]},
    )
    with tl.TFRecordWriter(path) as writer:
        writer.write_blocks([rows])
    table = tl.scan(path)
    assert isinstance(table.schema, tl.SequenceSchema)
    assert table.column_names == ["context/label", "feature_lists/ids", "feature_lists/words"]
    assert table.to_arrow().to_pydict()["feature_lists/ids"] == [[[1], [2, 3]], []]
    assert table.select(["context/label"]).to_arrow().to_pydict() == {"context/label": [1, 2]}


def test_a_given_schema_a_file_of_one_and_specifications_are_taken(path: Path) -> None:
    write(path, [{"x": 1.5, "y": 2}])
    schema = tl.infer_schema(path)
    document = path.parent / "schema.json"
    document.write_text(schema.to_json())
    for features in (schema, document, str(document), {"x": tl.FixedLenFeature([], "float32")}):
        assert rows_of(tl.scan(path, ["x"], schema=features)) == [{"x": 1.5}]


def test_the_schema_is_in_the_metadata(path: Path) -> None:
    tl.save(path, {"x": [0.1], "n": [None], "i": np.zeros(1, np.uint8)}, lossless=True)
    table = tl.scan(path)
    assert tl.Schema.from_json(table.arrow_schema.metadata[b"tfrecord_lite"]) == tl.load_schema(
        f"{path}.schema.json"
    )
    chosen = table.select(["i"])
    assert [*tl.Schema.from_json(chosen.arrow_schema.metadata[b"tfrecord_lite"])] == ["i"]
    assert [*chosen.schema] == ["i"]


def test_what_the_sample_has_and_later_records_lack_is_null(path: Path) -> None:
    write(path, [{"x": 1, "v": [1.0, 2.0], "s": "a"}, {}, {"x": 3, "s": "b"}])
    table = tl.scan(path, sample=1)
    assert rows_of(table) == [
        {"x": 1, "v": [1.0, 2.0], "s": b"a"},
        {"x": None, "v": None, "s": None},
        {"x": 3, "v": None, "s": b"b"},
    ]


def test_a_feature_that_comes_after_the_sample_is_not_lost(path: Path) -> None:
    rows: list[dict[str, Any]] = [{"x": i, "e": []} for i in range(5000)]
    write(path, [*rows, {"x": 0, "late": 1}, *rows])
    table = tl.scan(path, sample=10)
    error = raised(InvalidArgumentError, table.to_arrow, match=r"not in the schema; .*sample")
    assert (error.key, error.index) == ("late", 5000)
    assert table.select(["x"]).to_arrow().num_rows == 10_001
    assert tl.scan(path, schema={"x": int}).to_arrow().num_rows == 10_001
    assert tl.scan(path, sample=None).column_names == ["late", "x"]
    write(path, [*rows, {"x": 0, "e": 1}])
    with pytest.raises(InvalidArgumentError, match="not in the schema") as caught:
        tl.scan(path, sample=10, num_workers=1).to_arrow()
    assert (caught.value.key, caught.value.index) == ("e", 5000)


@pytest.mark.filterwarnings("ignore:feature .* holds")
@pytest.mark.parametrize(
    ("row", "detail"), [({"x": [1, 2]}, "2 values"), ({"x": 0.5}, "float"), ({"x": b"a"}, "string")]
)
def test_a_late_misfit_says_what_to_do(path: Path, row: dict[str, Any], detail: str) -> None:
    write(path, [{"x": 1}, row])
    error = raised(InvalidArgumentError, tl.scan(path, sample=1).to_arrow, match=detail)
    assert (error.key, error.index, error.source) == ("x", 1, str(path))
    assert "sample" in str(error)


@pytest.mark.parametrize("sample", [None, 10])
def test_no_record_at_all_is_a_table_without_columns(path: Path, sample: int | None) -> None:
    write(path, [])
    with pytest.warns(UserWarning, match=f"{path.name}: no records, .* give schema"):
        table = tl.scan(path, sample=sample)
    assert (table.to_arrow().shape, table.count_rows()) == ((0, 0), 0)
    assert tl.scan(path, schema={"x": int}).to_arrow().shape == (0, 1)


def test_text_is_what_the_sample_shows_or_what_is_named(path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"a": "é", "b": b"\xff", "c": [b"x", b""], "d": b"\1", "e": 1},
        {"a": "", "b": b"b", "c": [b"z"], "d": b"d", "e": 2},
    ]
    write(path, rows)
    words = {"large_string", "list<item: large_string>"}

    def texts(**options: Any) -> list[str]:
        table = tl.scan(path, **options)
        return [f.name for f in table.arrow_schema if str(f.type) in words]

    assert texts() == []
    assert texts(text=True) == ["a", "c"]
    assert texts(text=["d"]) == ["d"]
    assert rows_of(tl.scan(path, text=True))[0]["c"] == ["x", ""]


def test_bytes_in_a_column_of_text_name_their_record(path: Path) -> None:
    write(path, [{"a": "x"}, {"a": "y"}, {"a": b"\xff"}])
    error = raised(InvalidArgumentError, tl.scan(path, text=["a"]).to_arrow, match="not UTF-8")
    assert (error.index, error.key, error.source) == (2, "a", str(path))


def test_text_names_must_be_columns_of_byte_strings(path: Path) -> None:
    write(path, [{"name": "x", "n": 1}])
    raised(InvalidArgumentError, tl.scan, path, text=["nam"], match="nearest: 'name'")
    raised(InvalidArgumentError, tl.scan, path, text=["n"], match="'n' in text")
    raised(TypeError, tl.scan, path, text="name", match="not the str")


def test_columns_come_in_the_order_asked_for(path: Path) -> None:
    write(path, [{"a": 1, "b": 2, "c": 3}])
    assert tl.scan(path).select(["c", "a"]).column_names == ["c", "a"]
    assert rows_of(tl.scan(path, columns=["b"])) == [{"b": 2}]
    assert tl.scan(path).select([]).to_arrow().num_rows == 1
    for names, detail in ((["x"], "no column 'x'"), (["a", "a"], "twice")):
        raised(InvalidArgumentError, tl.scan(path).select, names, match=detail)
    raised(TypeError, tl.scan(path).select, "abc", match="not the str")


def test_columns_that_are_not_selected_are_not_parsed(path: Path) -> None:
    write(path, [{"good": i, "bad": i if i != 2 else [1, 2]} for i in range(4)])
    table = tl.scan(path, schema={"good": int, "bad": int})
    assert table.select(["good"]).to_arrow().column("good").to_pylist() == [0, 1, 2, 3]
    raised(InvalidArgumentError, table.to_arrow)


def test_head_does_not_read_what_comes_after(path: Path) -> None:
    import pyarrow as pa

    write(path, [{"x": i} for i in range(1000)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    table = tl.scan(path, sample=10)
    assert table.head().column("x").to_pylist() == [0, 1, 2, 3, 4]
    assert table.head(0).num_rows == 0
    assert table.head(0).schema == table.arrow_schema
    assert table.head(998).num_rows == 998
    assert isinstance(table.head(2), pa.Table)
    raised(DataLossError, table.to_arrow)


def test_damage_comes_after_the_rows_before_it(path: Path) -> None:
    write(path, [{"x": i} for i in range(1000)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found, n_rows = tl.scan(path, sample=10).to_batches(), 0
    with pytest.raises(DataLossError) as caught:  # noqa: PT012 - batches come before it
        while True:
            n_rows += next(found).num_rows
    assert n_rows == caught.value.index
    kept = tl.scan(path, sample=10, on_error=lambda span: None)  # noqa: ARG005
    assert kept.to_arrow().num_rows == 999


def test_batches_have_the_size_asked_for(path: Path) -> None:
    write(path, [{"x": i} for i in range(10)])
    assert [len(b) for b in tl.scan(path).to_batches(4)] == [4, 4, 2]
    assert [len(b) for b in tl.scan(path, batch_size=5).to_batches()] == [5, 5]
    raised(InvalidArgumentError, tl.scan, path, batch_size=0, match="batch_size")


def test_a_file_object_cannot_be_read_twice(path: Path) -> None:
    write(path, [{"x": 1}])
    with path.open("rb") as file, pytest.raises(TypeError, match="opened again"):
        tl.scan(file)


def test_workers_give_all_rows_in_some_order(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"x-{i}.tfrecord", [{"n": 1000 * i + j, "s": "a"} for j in range(1000)])
    table = tl.scan(tmp_path / "x-*", num_workers=2, text=True)
    assert tl.scan(tmp_path / "x-*").to_arrow().column("n").to_pylist() == list(range(3000))
    assert sorted(table.to_arrow().column("n").to_pylist()) == list(range(3000))
    assert table.head(2).column("n").to_pylist() == [0, 1]
    assert max(len(batch) for batch in table.to_batches(100)) <= 100
    one = tl.scan(tmp_path / "x-1.tfrecord", columns=["n"], num_workers=2)
    assert sorted(one.to_arrow().column("n").to_pylist()) == list(range(1000, 2000))


def test_errors_in_workers_name_the_record(tmp_path: Path) -> None:
    for i in range(2):
        rows = [{"n": 0 if (i, j) != (1, 7) else [1, 2]} for j in range(50)]
        write(tmp_path / f"x-{i}.tfrecord", rows)
    with pytest.raises(InvalidArgumentError, match="sample") as caught:
        tl.scan(tmp_path / "x-*", num_workers=2, sample=5).to_arrow()
    assert (caught.value.source, caught.value.index) == (str(tmp_path / "x-1.tfrecord"), 7)


def query(text: str, table_of_records: tl.TFRecordTable) -> list[Any]:  # noqa: ARG001 - by name
    import duckdb

    relation: Any = duckdb.sql(text)
    found: list[Any] = relation.fetchall()
    return found


@pytest.mark.needs("tables")
def test_libraries_read_it_as_it_is(path: Path) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    tl.save(path, {"x": [1, None, 2**63 - 1], "s": ["a", None, "ü"], "l": [[1.5], [], [2.5, 3.5]]})
    table = tl.scan(path)
    expected = {"x": [1, None, 2**63 - 1], "s": ["a", None, "ü"], "l": [[1.5], [], [2.5, 3.5]]}

    assert pa.table(table).to_pydict() == expected
    assert pa.schema(table) == table.arrow_schema
    assert pl.DataFrame(table).to_dict(as_series=False) == expected
    assert table.to_polars().to_dict(as_series=False) == expected
    if hasattr(pd.DataFrame, "from_arrow"):  # from pandas 3 on
        assert pd.DataFrame.from_arrow(table).shape == (3, 3)
    assert query("select * from table_of_records", table) == list(
        zip(*expected.values(), strict=True)
    )
    found = query("select count(*), max(x) from table_of_records", table)
    assert found == [(3, 2**63 - 1)]
    frame = table.to_pandas()
    assert str(frame["x"].dtype) == "Int64"
    assert frame["x"].tolist()[::2] == [1, 2**63 - 1]


@pytest.mark.needs("tables")
def test_frames_that_were_saved_come_back(path: Path) -> None:
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame({"x": [1, 2], "s": ["a", "b"]}, index=pd.Index([5, 7], name="key"))
    tl.save(path, frame)
    pd.testing.assert_frame_equal(tl.scan(path).to_pandas(), frame)
    pd.testing.assert_frame_equal(tl.scan(path).select(["s"]).to_pandas(), frame[["s"]])
    assert tl.scan(path).column_names == ["x", "s", "key"]
    polars = pl.DataFrame({"x": [1, None], "c": pl.Series(["a", "b"], dtype=pl.Categorical)})
    tl.save(path, polars)
    assert tl.scan(path).to_polars().equals(polars)
    assert tl.scan(path).to_polars().schema == polars.schema
