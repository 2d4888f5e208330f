"""Arrow data of any form to records: held to the values in Python, streams held to tables."""

import datetime as dt
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import write_records
from tests.support.specifications import tables
from tfrecord_lite import (
    FixedLenFeature,
    RaggedFeature,
    RaggedTensor,
    Schema,
    ShardedTFRecordWriter,
    TFRecordReader,
    TFRecordWriter,
    decode_examples,
    encode_examples,
    infer_schema,
    load,
    parse_example,
    save,
    scan,
    summarize,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import Original

pytestmark = [
    pytest.mark.needs("arrow"),
    pytest.mark.filterwarnings("ignore:an Example has no structs"),
]

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

BIG = 2**63 - 1


class Exported:
    """A table of another library, which has nothing but Arrow's protocol."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.data.__arrow_c_stream__(requested_schema)


class ExportedArray:
    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.data.__arrow_c_array__(requested_schema)


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.integers(low, high)


TICKS = st.integers(-(2**31), 2**31)
UNITS = ["s", "ms", "us", "ns"]
LEAVES: list[tuple[Any, Any]] = [
    *((getattr(pa, f"int{bits}")(), whole(bits)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), whole(bits, signed=False)) for bits in (8, 16, 32)),
    (pa.uint64(), st.integers(0, BIG)), (pa.bool_(), st.booleans()),
    (pa.float16(), st.floats(width=16, allow_nan=False).map(np.float16)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(width=32, allow_nan=False)),
    *((kind, texts()) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, st.binary(max_size=4)) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    *((kind, whole(64).map(Decimal)) for kind in (pa.decimal128(38), pa.decimal256(40))),
    *((pa.timestamp(unit, zone), TICKS) for unit in UNITS for zone in (None, "UTC", "+02:00")),
    (pa.timestamp("us", "Europe/Berlin"), TICKS), *((pa.duration(unit), TICKS) for unit in UNITS),
    (pa.date32(), st.integers(-99999, 99999)),
    (pa.date64(), st.integers(-9999, 9999).map(lambda days: days * 86_400_000)),
    (pa.time32("s"), st.integers(0, 86399)), (pa.time64("ns"), st.integers(0, 86399 * 10**9)),
    (pa.dictionary(pa.int8(), pa.string()), texts()),
    (pa.dictionary(pa.int8(), pa.binary()), st.binary(max_size=3)),
    (pa.dictionary(pa.int32(), pa.int64(), ordered=True), whole(64)),
]  # fmt: skip


@st.composite
def columns_of(draw: st.DrawFn, n: int, depth: int = 2) -> tuple[Any, list[Any], bool]:
    """Draw a type, the values of a column of it with nulls, and whether they are lists of any length."""
    form = draw(st.sampled_from(["leaf", "leaf", "list", "fixed", "struct", "null"]))
    if form == "null":
        return pa.null(), [None] * n, False
    if form == "struct" and depth:
        names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True))
        inner = [draw(columns_of(n, depth - 1)) for _ in names]
        present = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        rows = [
            {name: values[i] for name, (_, values, _) in zip(names, inner, strict=True)}
            if present[i]
            else None
            for i in range(n)
        ]
        kind = pa.struct([(name, kind) for name, (kind, _, _) in zip(names, inner, strict=True)])
        return kind, rows, any(varies for _, _, varies in inner)
    kind, leaf = draw(st.sampled_from(LEAVES))
    values: Any = leaf
    if form == "list":
        for _ in range(draw(st.integers(1, 2))):
            name = draw(st.sampled_from(["item", "element"]))
            kind = draw(st.sampled_from([pa.list_, pa.large_list]))(pa.field(name, kind))
            values = st.lists(values, max_size=3)
    elif form == "fixed":
        kind, values = pa.list_(kind, 2), st.lists(values, min_size=2, max_size=2)
    items = draw(st.lists(st.none() | values, min_size=n, max_size=n))
    return kind, items, form == "list"


@st.composite
def arrow_tables(draw: st.DrawFn) -> tuple[Any, list[dict[str, Any]]]:
    n = draw(st.integers(0, 5))
    names = draw(st.lists(st.sampled_from("vwxyz"), min_size=1, max_size=3, unique=True))
    drawn = [draw(columns_of(n)) for _ in names]
    arrays = [pa.array(values, kind) for kind, values, _ in drawn]
    rows = [{name: v[i] for name, (_, v, _) in zip(names, drawn, strict=True)} for i in range(n)]
    fields = [
        pa.field(name, kind, nullable=None in values or kind == pa.null() or draw(st.booleans()))
        for name, (kind, values, _) in zip(names, drawn, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields)), rows


def leaves_of(row: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested dictionaries that are there, with their paths."""
    for key, value in row.items():
        path = f"{name}/{key}" if name else key
        if isinstance(value, dict):
            yield from leaves_of(value, path)
        elif value is not None:
            yield path, value


def stored(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [inner for each in value for inner in stored(each)]
    value = int(value) if isinstance(value, Decimal) else value
    return [value.encode() if isinstance(value, str) else value]


def divided(draw: Any, table: Any) -> Any:
    """Return an equal table: cut from a longer one, in chunks, dictionaries of their own."""
    n = table.num_rows
    long = pa.concat_tables([table, table, table])
    cut = draw(st.integers(0, n))
    parts = [long[n : n + cut], long[2 * n + cut : 3 * n]]
    return pa.concat_tables(parts) if draw(st.booleans()) else long[n : 2 * n]


def decoded(records: Any) -> list[dict[str, list[Any]]]:
    return [{key: v.tolist() for key, v in row.items()} for row in decode_examples(records)]


@given(arrow_tables(), st.data())
def test_records_have_the_values_of_the_rows(drawn: Any, data: Any) -> None:
    table, rows = drawn
    expected = [{path: stored(value) for path, value in leaves_of(row)} for row in rows]
    block = encode_examples(table)
    assert decoded(block) == expected
    other = divided(data.draw, table)
    assert other.to_pylist() == table.to_pylist()
    for same in (other, other.combine_chunks(), Exported(other), other.to_reader()):
        assert list(encode_examples(same)) == list(block)
    if table.num_rows:
        batch = table.combine_chunks().to_batches()[0]
        for same in (batch, batch.to_struct_array(), ExportedArray(batch)):
            assert list(encode_examples(same)) == list(block)


@st.composite
def lists_of_structs(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    fields = st.fixed_dictionaries({"key": texts(), "value": st.lists(whole(8), max_size=2)})
    pair = pa.struct([("key", pa.string()), ("value", pa.list_(pa.int8()))])
    kind, size = draw(
        st.sampled_from(
            [
                (pa.list_(pair), None),
                (pa.large_list(pair), None),
                (pa.list_(pair, 2), 2),
                (pa.map_(pair[0].type, pair[1].type), None),
                (pa.list_(pa.list_(pair)), None),
            ]
        )
    )
    rows: Any = st.lists(fields, min_size=size or 0, max_size=size or 3)
    if kind == pa.list_(pa.list_(pair)):
        rows = st.lists(rows, max_size=2)
    values = draw(st.lists(st.none() | rows, max_size=5))
    if pa.types.is_map(kind):
        pairs = [None if row is None else [(i["key"], i["value"]) for i in row] for row in values]
        return pa.array(pairs, kind), values
    return pa.array(values, kind), values


def field_of(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, dict) else [field_of(each, name) for each in value]


@given(lists_of_structs(), st.data())
def test_a_list_of_structs_is_a_list_per_field(drawn: Any, data: Any) -> None:
    array, values = drawn
    table = divided(data.draw, pa.table({"x": array}))
    for form in (table, table.to_reader()):
        rows: Any = decoded(encode_examples(form))
        assert rows == [
            {}
            if value is None
            else {f"x/{name}": stored(field_of(value, name)) for name in ("key", "value")}
            for value in values
        ]
    if None not in values:
        with tempfile.TemporaryDirectory() as folder:
            save(f"{folder}/d", table)
            columns: Any = load(f"{folder}/d", as_="arrow")
        for name in ("key", "value"):
            expected = [field_of(value, name) for value in values]
            assert columns[f"x/{name}"].to_pylist() == expected


def test_structs_are_columns_of_their_fields_with_one_warning(tmp_path: Path) -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    table = pa.table({"i": [1, 2], "s": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]})
    structs = pd.Series(pd.arrays.ArrowExtensionArray(table["s"]))
    forms = {
        "table": table, "stream": table.to_reader(max_chunksize=1), "polars": pl.from_arrow(table),
        "pandas": pd.DataFrame({"i": [1, 2], "s": structs}),
        "columns": {"i": [1, 2], "s": table["s"]},
        "series": {"i": [1, 2], "s": pl.Series([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])},
    }  # fmt: skip
    for name, data in forms.items():
        with pytest.warns(UserWarning, match="'s' as 's/a', 's/b'") as caught:
            save(tmp_path / name, data)
        assert len(caught) == 1
        found: Any = load(tmp_path / name, as_="arrow")
        assert found.to_pylist() == [{"i": 1, "s/a": 1, "s/b": "x"}, {"i": 2, "s/a": 2, "s/b": "y"}]


def test_a_field_does_not_take_the_name_of_another_column(tmp_path: Path) -> None:
    structs = pa.array([{"a": 1}, {"a": 2}])
    forms: list[Any] = [
        {"x": structs, "x/a": [3, 4]},
        {"x/a": [3, 4], "x": structs},
        pa.table({"x": structs, "x/a": [3, 4]}),
    ]
    for data in forms:
        with pytest.raises(InvalidArgumentError, match="two columns have this name") as caught:
            save(tmp_path / "d", data)
        assert caught.value.key == "x/a"
        assert not (tmp_path / "d").exists()


def test_categories_in_lists_of_structs_have_a_dictionary_per_chunk(tmp_path: Path) -> None:
    def chunk(text: str) -> Any:
        words = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array([text, None]))
        return pa.ListArray.from_arrays([0, 1], pa.StructArray.from_arrays([words], ["c"]))

    save(tmp_path / "d", pa.table({"x": pa.chunked_array([chunk("u"), chunk("w")])}))
    columns: Any = load(tmp_path / "d", as_="arrow")
    assert columns["x/c"].to_pylist() == [["u"], ["w"]]


def test_lists_of_no_structs_are_lists_of_no_values(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("a", pa.int64())]), 0)
    save(tmp_path / "d", pa.table({"x": pa.array([[], []], kind)}))
    columns: Any = load(tmp_path / "d", as_="arrow")
    assert columns["x/a"].to_pylist() == [[], []]


def test_structs_in_an_index_are_columns(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    structs = pd.arrays.ArrowExtensionArray(pa.chunked_array([[{"a": 1}, {"a": 2}]]))
    save(tmp_path / "d", pd.DataFrame({"y": [3, 4]}, index=pd.Index(structs, name="i")))
    frame: Any = load(tmp_path / "d", as_="pandas")
    assert frame.to_dict("list") == {"i/a": [1, 2], "y": [3, 4]}


def test_a_decimal_beyond_int64_has_its_record() -> None:
    table = pa.table({"x": pa.array([Decimal(2**63 - 1), Decimal(2**63)], pa.decimal128(38))})
    for form in (table, table.to_reader(max_chunksize=1)):
        error = raised(InvalidArgumentError, encode_examples, form)
        assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 1)


def test_decimals_with_digits_are_refused_with_one_sentence() -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    number = Decimal("1.5")
    forms: list[Any] = [
        {"x": [number]}, {"x": pa.array([number])}, {"x": pl.Series([number])},
        pa.table({"x": [[number]]}), pd.DataFrame({"x": [number]}),
    ]  # fmt: skip
    for data in forms:
        for call in (encode_examples, schema_of):
            assert "cast them to float64" in str(raised(InvalidArgumentError, call, data))


def written(write: Callable[[Path], Any], path: Path) -> tuple[Any, ...]:
    try:
        schema = write(path)
    except InvalidArgumentError as error:
        return error.key, error.reason, error.index
    return schema, path.read_bytes(), Path(f"{path}.schema.json").read_bytes()


@given(arrow_tables(), st.data())
def test_a_stream_is_saved_as_the_table(drawn: Any, data: Any) -> None:
    table, _ = drawn
    table = divided(data.draw, table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d"
        whole = written(lambda path: save(path, table), path)
        streamed = written(lambda path: save(path, table.to_reader()), path)
        if len(whole) == 3 and isinstance(whole[0], Schema):
            assert streamed == whole
            found = load(path, as_="arrow")
            rows = [dict(leaves_of(row)) for row in table.to_pylist()]
            assert [dict(leaves_of(row)) for row in found.to_pylist()] == rows
            if not any(map(pa.types.is_struct, table.schema.types)):
                assert found.schema.equals(table.schema)
        else:
            assert streamed[:2] == whole[:2]
            assert not path.exists()


@given(arrow_tables())
def test_the_schema_of_a_stream_fits_its_batches(drawn: Any) -> None:
    table, _ = drawn
    reader = table.to_reader()
    schema = schema_of(reader)
    assert reader.read_all().equals(table)  # nothing was read
    assert schema_of(Exported(table)) == schema
    try:
        block = encode_examples(table, schema)
    except InvalidArgumentError:
        raised(InvalidArgumentError, encode_examples, table, schema_of(table))
        return
    found: Any = parse_example(block, schema) if len(schema) else {}
    assert {name: len(c) for name, c in found.items()} == dict.fromkeys(schema, table.num_rows)


def test_numbers_stay_as_they_are(tmp_path: Path) -> None:
    nans = np.array([0x7FC00001, 0xFFC12345, 0x7F800000], np.uint32).view(np.float32)
    wide = np.array([0x7FF8000000000001, 0xFFF8000000012345, 1], np.uint64).view(np.float64)
    table = pa.table(
        {
            "nan": pa.array(nans),
            "wide": pa.array(wide),
            "big": pa.array([BIG, -BIG - 1, None]),
            "huge": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "day": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
            "time": pa.array([BIG, -BIG, None], pa.timestamp("ns", "Asia/Kathmandu")),
            "span": pa.array([-BIG, None, 0], pa.duration("s")),
        }
    )
    pieces = [table, table.to_reader(max_chunksize=1), Exported(table)]
    for i, data in enumerate(pieces):
        save(tmp_path / f"{i}", data, lossless=True)
        found: Any = load(tmp_path / f"{i}")
        assert found["nan"].view(np.uint32).tolist() == nans.view(np.uint32).tolist()
        assert found["wide"].view(np.uint64).tolist() == wide.view(np.uint64).tolist()
        assert found["huge"].dtype == np.uint64
        again = load(tmp_path / f"{i}", as_="arrow")
        assert again.schema == table.schema
        assert again.drop_columns(["nan", "wide"]).equals(table.drop_columns(["nan", "wide"]))
    error = raised(InvalidArgumentError, encode_examples, table.select(["huge"]))
    assert (error.key, error.index) == ("huge", 0)


def test_strings_are_taken_where_they_are() -> None:
    for kind in (pa.large_string(), pa.large_binary()):
        array = pa.array(["a", "", "ccc"] * 5, kind)[2:9]
        lists: Any = opened("x", array, "strict")
        assert lists.type.text == ("str" if kind == pa.large_string() else None)
        assert lists.flat.data.ctypes.data == array.buffers()[2].address
        assert schema_of({"x": array}) == schema_of({"x": array.to_pylist()})


def test_values_of_null_lists_are_left_out_of_slices(tmp_path: Path) -> None:
    """Also where the values begin within an array, of which Arrow's drop_null takes others."""
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(range(36)), 3)[2:8]
    mask = pa.array([False, True, False])
    arrays = [
        pa.FixedSizeListArray.from_arrays(fixed, 2, mask=mask),
        pa.ListArray.from_arrays([0, 2, 4, 6], fixed, mask=mask),
        pa.LargeListArray.from_arrays([0, 2, 4, 6], fixed, mask=mask),
    ]
    wanted = [[[6, 7, 8], [9, 10, 11]], None, [[18, 19, 20], [21, 22, 23]]]
    for array in arrays:
        assert array.to_pylist() == wanted
        table = pa.table({"x": pa.chunked_array([array, array[1:]])})
        expected = [{} if row is None else {"x": stored(row)} for row in [*wanted, *wanted[1:]]]
        assert decoded(encode_examples(table)) == expected
        assert decoded(encode_examples(table.to_reader(2))) == expected
    save(tmp_path / "d", pa.table({"x": arrays[0]}))
    assert load(tmp_path / "d", as_="arrow")["x"].to_pylist() == wanted


def of_dictionary(codes: list[Any], values: list[Any], **options: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values), **options)


def test_a_null_in_the_dictionary_of_one_chunk_is_a_null(tmp_path: Path) -> None:
    chunks = [of_dictionary([0, None, 1], ["a", None]), of_dictionary([0, 1], ["b", "c"])]
    table = pa.table({"x": pa.chunked_array([*chunks, of_dictionary([0], [None, "d"])])})
    for data in (table, table.to_reader()):
        save(tmp_path / "d", data)
        found = load(tmp_path / "d", as_="arrow")["x"].to_pylist()
        assert found == ["a", None, None, "b", "c", None]
    rows = [pa.ListArray.from_arrays([0, 1], chunk[:1]) for chunk in chunks]
    rows.append(pa.ListArray.from_arrays([0, 0], of_dictionary([1], ["z", None])))
    lists = pa.chunked_array(rows)
    assert decoded(encode_examples({"x": lists})) == [{"x": [b"a"]}, {"x": [b"b"]}, {"x": []}]
    lists = pa.ListArray.from_arrays([0, 2], of_dictionary([0, 1], ["a", None]))
    raised(InvalidArgumentError, encode_examples, {"x": lists}, match="a null within a list")


@pytest.mark.parametrize("code", [2, -1])
def test_a_code_that_the_dictionary_lacks_is_an_error(code: int) -> None:
    wrong = of_dictionary([0, code, 1], ["a", "b"], safe=False)
    chunks = pa.chunked_array([of_dictionary([0, 1], ["a", "b"]), wrong])
    with pytest.raises(InvalidArgumentError, match="the dictionary lacks: ") as caught:
        encode_examples(pa.table({"x": chunks}))
    assert caught.value.key == "x"


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}, {"a": 2}], ["a", "a"]])
def test_what_cannot_be_categories_is_named(tmp_path: Path, values: list[Any]) -> None:
    array = of_dictionary([0, 1], values)
    for data in (array, pa.chunked_array([array, array])):
        with pytest.raises(InvalidArgumentError, match="categories that are not different"):
            save(tmp_path / "d", pa.table({"x": data}))


def test_bytes_in_place_of_a_null_are_not_written() -> None:
    data = pa.py_buffer(b"secret")
    offsets, valid = pa.py_buffer(np.array([0, 6, 6], np.int32)), pa.py_buffer(b"\x02")
    array = pa.Array.from_buffers(pa.binary(), 2, [valid, offsets, data])
    assert array.to_pylist() == [None, b""]
    assert decoded(encode_examples({"x": array})) == [{}, {"x": [b""]}]
    lists = pa.ListArray.from_arrays([0, 2], array)
    raised(InvalidArgumentError, encode_examples, {"x": lists}, match="null within a list")


def test_texts_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    array = pa.array([b"good", b"\xff", b"\xfe"])
    texts = pa.Array.from_buffers(pa.string(), 3, array.buffers())
    chunks = pa.chunked_array([pa.array(["a", "b"]), texts])
    for data in (pa.table({"x": chunks}), pa.table({"x": chunks}).to_reader()):
        error = raised(InvalidArgumentError, save, tmp_path / "d", data)
        assert (error.key, error.index) == ("x", 3)


@pytest.mark.parametrize(("values", "kind", "index"), [
    ([[1], None, [2, None]], pa.list_(pa.int8()), 2), ([[1], [None]], pa.list_(pa.int8(), 1), 1),
    ([["a"], [], ["b", None]], pa.list_(pa.string()), 2),
    ([[[1]], [[2], None]], pa.list_(pa.list_(pa.int8())), 1),
    ([[[1], [2]], [], [[], [3, None]]], pa.list_(pa.list_(pa.int8())), 2),
    ([["a"], ["b", None]], pa.list_(pa.dictionary(pa.int8(), pa.string())), 1),
])  # fmt: skip
def test_the_record_of_a_null_is_named(tmp_path: Path, values: Any, kind: Any, index: int) -> None:
    array = pa.array(values, kind)
    chunks = pa.chunked_array([array[:1], array[1:]])
    for data in ({"x": array}, pa.table({"x": chunks}), pa.table({"x": chunks}).to_reader()):
        caught = raised(InvalidArgumentError, encode_examples, data, match="a null within a list")
        assert (caught.key, caught.index) == ("x", index)
    error = raised(InvalidArgumentError, save, tmp_path / "d", pa.table({"x": chunks}).to_reader())
    assert error.index is not None


def test_with_a_schema_a_null_list_is_an_empty_row_or_missing(tmp_path: Path) -> None:
    table = pa.table({"r": [[1], None, [2, 3]], "f": [[1, 2], None, [3, 4]]})
    schema = Schema(
        {"r": RaggedFeature("int64"), "f": RaggedFeature("int64")},
        {"r": Original("int64", [None]), "f": Original("int64", [2], missing=True)},
    )
    for data in (table, table.to_reader(max_chunksize=1)):
        save(tmp_path / "d", data, schema=schema)
        found: Any = load(tmp_path / "d")
        assert found["r"].to_list() == [[1], [], [2, 3]]
        assert found["f"].tolist() == [[1, 2], [None, None], [3, 4]]
    nested = Schema({"r": RaggedFeature("int64", partitions=[RaggedFeature.RowLengths("n")])})
    rows = pa.table({"r": [[[1], [2, 3]], None]})
    assert decoded(encode_examples(rows, nested)) == [{"r": [1, 2, 3], "n": [1, 2]}, {}]


def batch_of(i: int, size: int = 1000) -> Any:
    words = pa.array([None if k % 7 == 0 else f"{i}-{k}" for k in range(size)])
    numbers = pa.array(np.arange(i * size, (i + 1) * size))
    return pa.record_batch([numbers, words], ["n", "s"])


@pytest.mark.parametrize("form", ["write", "save"])
def test_memory_does_not_grow_with_a_stream(tmp_path: Path, form: str) -> None:
    def peak(n_batches: int) -> int:
        most = 0

        def batches() -> Iterator[Any]:
            nonlocal most
            for i in range(n_batches):
                most = max(most, pa.total_allocated_bytes())
                yield batch_of(i, 4000)

        reader = pa.RecordBatchReader.from_batches(batch_of(0).schema, batches())
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        if form == "save":
            save(tmp_path / "d", reader)
        else:
            with TFRecordWriter(tmp_path / "d") as writer:
                writer.write_examples(reader)
        _, traced = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return int(traced + most - before)

    peak(2)
    assert peak(15) < 1.3 * peak(4) + 500_000


def test_records_are_numbered_through_the_stream(tmp_path: Path) -> None:
    good = pa.record_batch({"x": pa.array([1, 2], pa.uint64())})
    bad = pa.record_batch({"x": pa.array([3, 2**64 - 1], pa.uint64())})
    schema = {"x": FixedLenFeature([], "int64")}
    for given_schema in (None, schema):
        with TFRecordWriter(tmp_path / "w") as writer:
            reader = pa.RecordBatchReader.from_batches(good.schema, [good, good, bad])
            error = raised(InvalidArgumentError, writer.write_examples, reader, given_schema)
        assert (error.key, error.index) == ("x", 5)
        assert len(list(TFRecordReader(tmp_path / "w"))) == 4
    ragged = pa.array([[1], None], pa.list_(pa.int8()))
    lists = [pa.record_batch({"x": part}) for part in (ragged[:1], ragged[:1], ragged)]
    with pytest.raises(InvalidArgumentError, match="a null among lists") as caught:
        save(tmp_path / "s", pa.RecordBatchReader.from_batches(lists[0].schema, lists))
    assert (caught.value.key, caught.value.index) == ("x", 3)
    assert not (tmp_path / "s").exists()


def test_streams_are_saved_in_shards_and_by_a_schema(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array(range(10), pa.int16()), "s": list("abcdefghij")})
    save(tmp_path / "d@3", table.to_reader(max_chunksize=4))
    names = sorted(path for path in tmp_path.glob("d*") if not path.name.endswith("json"))
    assert len(names) == 3
    found: Any = load(names, as_="arrow")
    assert found.schema == table.schema
    assert sorted(found["x"].to_pylist()) == list(range(10))
    schema = schema_of(table)
    assert save(tmp_path / "e", table.to_reader(max_chunksize=4), schema=schema) == schema
    assert load(tmp_path / "e", as_="arrow").equals(table)
    with ShardedTFRecordWriter(tmp_path / "f@2") as writer:
        writer.write_examples(table.to_reader(max_chunksize=3))
    assert len(list(TFRecordReader(sorted(tmp_path.glob("f*"))))) == 10


def test_what_is_not_a_table_of_known_types_is_a_clear_error(tmp_path: Path) -> None:
    numbers = Exported(pa.chunked_array([[1, 2]]))
    for call in (encode_examples, schema_of, lambda data: save(tmp_path / "d", data)):
        raised(InvalidArgumentError, call, numbers, match="stream of tables")
    with pytest.raises(InvalidArgumentError, match="one array of int64"):
        encode_examples(ExportedArray(pa.array([1])))
    with (
        pytest.warns(UserWarning, match="'st' as 'st/x'"),
        pytest.raises(InvalidArgumentError, match="a column of struct<>") as caught,
    ):
        encode_examples(pa.table({"st": [{"x": [{}]}]}))
    assert caught.value.key == "st/x"
    twice = pa.table({"a": [{"b": 1}], "a/b": [2]})
    raised(InvalidArgumentError, encode_examples, twice, match="two columns have this name")


def test_a_stream_that_fails_says_after_which_record(tmp_path: Path) -> None:
    def batches() -> Iterator[Any]:
        yield batch_of(0, 5)
        raise ValueError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(batch_of(0).schema, batches())
    with pytest.raises(InvalidArgumentError, match="after 5 records: ") as caught:
        save(tmp_path / "d", Exported(reader))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


class Source:
    """A lazy table that says when it was closed."""

    arrow_schema = batch_of(0).schema

    def __init__(self) -> None:
        self.n_open = 0

    def to_batches(self) -> Iterator[Any]:
        self.n_open += 1
        try:
            for i in range(3):
                yield batch_of(i)
        finally:
            self.n_open -= 1

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise NotImplementedError


def test_a_stream_is_closed_when_something_is_wrong(tmp_path: Path) -> None:
    """Also one that is not read to its end, while its error is still at hand."""
    source, misfit = Source(), {"n": FixedLenFeature([], "float32"), "s": RaggedFeature("int64")}
    with TFRecordWriter(tmp_path / "w") as writer:
        for call in (
            lambda: writer.write_examples(source, misfit),
            lambda: save(tmp_path / "d", source, schema=misfit),
        ):
            assert (raised(InvalidArgumentError, call).key, source.n_open) == ("s", 0)
        writer.write_examples(source)
        assert source.n_open == 0


def test_runs_are_plain_values() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None])
    assert decoded(encode_examples(pa.table({"x": runs}))) == [{"x": [b"a"]}, {"x": [b"a"]}, {}]


def test_streams_are_summarised() -> None:
    table = pa.table({"x": [1, None, 3]})
    assert summarize(table.to_reader())["x"].n_records == 2
    assert summarize(Exported(table), num_records=1).n_records == 1
    assert infer_schema(table.to_reader()) == infer_schema(table)


def features_of(record: bytes) -> dict[str, bytes]:
    """Return the features that have values: of lists in a table nothing tells the others apart."""
    features: Any = Example.FromString(record).features.feature
    found = {}
    for key, feature in features.items():
        kind = feature.WhichOneof("kind")
        if kind is not None and getattr(feature, kind).value:
            found[key] = feature.SerializeToString()
    return found


def same_messages(path: Path, other: Path) -> None:
    ours, theirs = TFRecordReader(path), TFRecordReader(other)
    assert list(map(features_of, ours)) == list(map(features_of, theirs))


def round_trips(path: Path, folder: Path) -> None:
    """Assert that the messages come back through Parquet, and with the files' schema."""
    table = scan(path)
    forms = [table, table.to_arrow().to_reader(2)]
    is_storable = "[0]" not in str(table.arrow_schema)  # lists of no values
    # Earlier versions cannot write null arrays, or not read what they wrote.
    with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
        if is_storable:
            pq.write_table(table.to_arrow(), folder / "t.parquet")
            forms.append(pq.read_table(folder / "t.parquet"))
    for data in forms:
        with TFRecordWriter(folder / "written") as writer:
            writer.write_examples(data)
        same_messages(folder / "written", path)


@given(drawn=tables())
def test_messages_come_back_through_parquet(drawn: Any) -> None:
    _, examples = drawn
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "data"
        write_records(path, (example.SerializeToString() for example in examples))
        if any(map(features_of, TFRecordReader(path))):
            round_trips(path, Path(name))


@given(drawn=tables())
def test_saved_columns_come_back_through_parquet(drawn: Any) -> None:
    columns, _ = drawn
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "data"
        try:
            save(path, columns)
        except InvalidArgumentError:  # what the strict policy does not store
            return
        try:
            scan(path)
        except InvalidArgumentError:  # what Arrow has no type for
            return
        round_trips(path, Path(name))
        save(Path(name) / "again", scan(path))
        same_messages(Path(name) / "again", path)


def original_columns() -> dict[str, Any]:
    n = 4
    return {
        "f4": np.arange(n, dtype=np.float32),
        "f8": np.array([0.1, np.nan, -0.0, 1e300]),
        "u1": np.zeros((n, 2, 3), np.uint8),
        "u8": np.array([2**64 - 1, 0, 1, BIG], np.uint64),
        "masked": np.ma.MaskedArray([0.1] * n, [False, True, False, True]),
        "words": ["a", None, "é", ""],
        "raw": RaggedTensor.from_row_lengths(np.array([0.1, 0.2]), [1, 0, 1, 0]),
        "deep": [[[1], [2, 3]], [], [[]], [[4]]],
        "seconds": np.array([1, 2**40, -3, 4], "M8[s]"),
        "spans": np.array([1, 2, 3, 4], "m8[s]"),
        "hours": np.array([1, 2, 3, 4], "M8[h]"),
        "fixed": np.array(["a", "b", "c", "d"], "U3"),
    }


def test_originals_come_back_through_parquet(tmp_path: Path) -> None:
    path = tmp_path / "data"
    schema = save(path, original_columns(), lossless=True)
    round_trips(path, tmp_path)
    table = scan(path).to_arrow()
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (scan(path), table, pq.read_table(tmp_path / "t.parquet"), table.to_reader(1)):
        assert save(tmp_path / "again", data) == schema
        same_messages(tmp_path / "again", path)
        found: Any = load(tmp_path / "again")
        assert found["f8"].tobytes() == original_columns()["f8"].tobytes()
        assert found["hours"].dtype == "M8[h]"
        assert found["fixed"].dtype == "U3"


def test_columns_that_were_changed_go_by_their_own_type(tmp_path: Path) -> None:
    path = tmp_path / "data"
    save(path, original_columns(), lossless=True)
    table = scan(path).to_arrow()
    compute = pytest.importorskip("pyarrow.compute")
    metadata = table.schema.metadata
    changed = table.drop_columns(["deep", "raw"])
    changed = changed.set_column(0, "f4", compute.cast(table["f4"], pa.float64()))
    place = changed.column_names.index("words")
    changed = changed.set_column(place, "words", pa.array([1, 2, 3, 4]))
    changed = changed.append_column("new", pa.array([["a"], [], ["b", "c"], []]))
    f8 = changed.column_names.index("f8")
    changed = changed.set_column(f8, "f8", pa.array([0.1, None, 0.2, 0.3]))
    changed = changed.replace_schema_metadata(metadata)

    for data in (changed, changed.to_reader(max_chunksize=1)):
        schema = save(tmp_path / "again", data)
        assert list(schema) == changed.column_names
        assert schema.originals["f4"].dtype == "float64"
        assert schema.originals["words"].dtype == "int64"
        assert schema.originals["u8"].dtype == "uint64"
        found: Any = load(tmp_path / "again")
        assert found["f8"].tolist() == [0.1, None, 0.2, 0.3]
        assert found["new"].to_list() == [["a"], [], ["b", "c"], []]
    with TFRecordWriter(tmp_path / "w") as writer:
        writer.write_examples(changed)
    row = decoded([next(iter(TFRecordReader(tmp_path / "w")))])[0]
    assert row["u8"] == [-1]
    assert row["f8"] == [np.float64(0.1).tobytes()]
    assert row["f4"] == [0.0]


def test_metadata_that_are_not_a_schema_are_an_error(tmp_path: Path) -> None:
    table = pa.table({"x": [1]}).replace_schema_metadata({"tfrecord_lite": "{}x"})
    for call in (encode_examples, lambda data: save(tmp_path / "d", data)):
        raised(InvalidArgumentError, call, table, match="Arrow metadata")


def written_and_scanned(path: Path, columns: Any, features: Any = None) -> Any:
    with TFRecordWriter(path) as writer:
        writer.write_examples(columns)
    return scan(path, schema=features).to_arrow()


DEFAULT: Any = {"x": FixedLenFeature([], "int64", default_value=-1)}
VECTOR: Any = {"x": FixedLenFeature([2], "float32", default_value=[0.0, 0.0])}
FLOATS = schema_of({"x": np.zeros(1)})
LISTS = schema_of({"x": RaggedTensor(np.zeros(1), [0, 1])})


@pytest.mark.parametrize(("schema", "first", "values", "wrong"), [
    (DEFAULT, [1, 2, 3], [1, None, 3], None),
    (VECTOR, [[1.0, 1.0]] * 3, [[1.0, 1.0], None, [2.0, 2.0]], None),
    (FLOATS, [1.5, -0.0, 2.5], [0.25, None, np.inf], None),
    (None, [[1], [1, 1], [2]], [[1], None, [2, 2]], (1, r"fill it with \[\]")),
    (FLOATS, [1.5, -0.0, 2.5], [1.5, None, 1e300], (2, "beyond float32.*lossless=True")),
    (LISTS, [[0.5], [], [1.0]], [[0.5], [], [0.25, 1e39]], (2, "beyond float32")),
])  # fmt: skip
def test_values_that_the_schema_that_came_along_does_not_hold(
    tmp_path: Path, schema: Any, first: list[Any], values: list[Any], wrong: Any
) -> None:
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples({"x": first}, schema)
    table = scan(tmp_path / "d", schema=schema).to_arrow()
    table = table.set_column(0, "x", pa.array(values, table["x"].type))
    for data in (table, table.to_reader(max_chunksize=1)):
        if wrong is None:
            save(tmp_path / "again", data)
            assert scan(tmp_path / "again").to_arrow().to_pydict() == table.to_pydict()
            continue
        error = raised(InvalidArgumentError, save, tmp_path / "again", data, match=wrong[1])
        assert (error.key, error.index) == ("x", wrong[0])


@pytest.mark.parametrize(
    ("schema", "values"), [(FLOATS, [1.5, None, 0.1]), (LISTS, [[0.5], [], [0.25, 1e-300]])]
)
def test_numbers_that_a_schema_rounds_are_told(tmp_path: Path, schema: Any, values: Any) -> None:
    first = [[0.5]] * 3 if schema is LISTS else [1.5, -0.0, 2.5]
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples({"x": first}, schema)
    table = scan(tmp_path / "d", schema=schema).to_arrow()
    table = table.set_column(0, "x", pa.array(values, table["x"].type))
    for data in (table, table.to_reader(max_chunksize=1)):
        with pytest.warns(UserWarning, match="rounded to float32 in 'x'; lossless=True"):
            assert save(tmp_path / "again", data)["x"].dtype_name == "float32"
    for data in (table, table.to_reader(max_chunksize=1)):
        save(tmp_path / "again", data, lossless=True)
        assert scan(tmp_path / "again").to_arrow()["x"].to_pylist() == values


def test_two_columns_are_not_written_under_one_name(tmp_path: Path) -> None:
    rows = {"v": [[1], [2, 3]], "l": [[1], [2]]}
    lengths = RaggedFeature("int64", value_key="v", partitions=[RaggedFeature.RowLengths("l")])
    for spec, name in ((RaggedFeature("int64", value_key="v"), "v"), (lengths, "l")):
        table = written_and_scanned(tmp_path / "d", rows, {"r": spec})
        assert decoded(encode_examples(table))[1]["v"] == [2, 3]
        with pytest.raises(InvalidArgumentError, match="written under this name") as caught:
            encode_examples(table.append_column(name, pa.array([10, 20])))
        assert caught.value.key == name


def test_batches_with_categories_of_their_own_are_written_alike(tmp_path: Path) -> None:
    def categories(codes: list[int], values: list[float]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))

    save(tmp_path / "d", pa.table({"x": categories([0, 1, 0], [0.1, 0.2])}), lossless=True)
    table = scan(tmp_path / "d").to_arrow()
    chunks = [categories([0, 1], [0.1, 0.2]), categories([0], [0.7])]
    table = table.set_column(0, "x", pa.chunked_array(chunks))
    wanted = [{"x": [np.float64(value).tobytes()]} for value in (0.1, 0.2, 0.7)]
    assert decoded(encode_examples(table)) == wanted
    with TFRecordWriter(tmp_path / "w") as writer:
        writer.write_examples(table.to_reader())
    assert decoded(list(TFRecordReader(tmp_path / "w"))) == wanted


@pytest.mark.needs("dataframes")
def test_byte_strings_of_fixed_width_are_bytes(tmp_path: Path) -> None:
    values = [b"\xff\xfe", b"ab"]
    save(tmp_path / "d", {"s": np.array(values, "S2")})
    table = scan(tmp_path / "d").to_arrow()
    assert table["s"].type == pa.large_binary()
    assert table["s"].to_pylist() == values
    for library in ("arrow", "polars", "pandas"):
        found: Any = load(tmp_path / "d", as_=library)
        assert list(found["s"].to_pylist() if library == "arrow" else found["s"]) == values
    assert save(tmp_path / "again", table) == save(tmp_path / "d", load(tmp_path / "d"))


def test_categories_of_several_files_may_be_more_than_each_has_codes_for(tmp_path: Path) -> None:
    paths = [tmp_path / "c", tmp_path / "d"]
    values = [[f"{path.name}{i}" for i in range(100)] for path in paths]
    kinds = [pa.dictionary(pa.int8(), pa.string())]
    kinds.append(pa.list_(kinds[0], 1))
    for path, part in zip(paths, values, strict=True):
        plain = pa.array(part).dictionary_encode().cast(kinds[0])
        one = pa.FixedSizeListArray.from_arrays(plain, 1)
        save(path, pa.table({"x": plain, "l": one}))
        assert load(path, as_="arrow").schema.types[0] == kinds[0]
    for table in (load(paths, as_="arrow"), scan(paths).to_arrow()):
        assert table["x"].type == pa.dictionary(pa.int32(), pa.string())
        assert table["x"].to_pylist() == [*values[0], *values[1]]
        assert table["l"].to_pylist() == [[value] for part in values for value in part]
    assert load(paths, as_="pandas")["x"].tolist() == [*values[0], *values[1]]


def test_tables_that_are_not_one_stream_say_what_to_give(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in ([table], pq.ParquetFile(tmp_path / "t.parquet").iter_batches()):
        with pytest.raises(InvalidArgumentError, match=r"Reader\.from_batches") as caught:
            save(tmp_path / "d", data)
        assert caught.value.index == 0
    with pytest.raises(TypeError, match="not ParquetFile; give its batches"):
        save(tmp_path / "d", pq.ParquetFile(tmp_path / "t.parquet"))
    assert not (tmp_path / "d").exists()
