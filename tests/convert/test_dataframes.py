"""Data frames, Series and Arrow arrays as columns to be encoded."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecord_lite as tl
from tests.support.errors import raised
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original

pytestmark = pytest.mark.needs("dataframes")

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")

BIG = 2**60 + 1
"""An integer that float64 has not."""


def library_and_class(value: Any) -> str:
    """Return the id of a parameter; the repr of an Arrow array has its address."""
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


WITH_NULLS = [
    pl.Series([BIG, None]), pa.array([BIG, None]), pa.chunked_array([[BIG], [None]]),
    pd.Series([BIG, None], dtype="Int64"), pd.Series([BIG, None], dtype=pd.ArrowDtype(pa.int64())),
    pd.array([BIG, None], dtype="Int64"), pd.Index([BIG, None], dtype="Int64"),
    pd.Categorical.from_codes([0, -1], categories=[BIG]),
    *([pl.Series([BIG, None], dtype=pl.Int128)] if hasattr(pl, "Int128") else []),
]  # fmt: skip
named = pytest.mark.parametrize("column", WITH_NULLS, ids=library_and_class)


@named
def test_a_series_is_what_its_values_are(tmp_path: Path, column: Any) -> None:
    values = {"x": [BIG, None]}
    lists: Any = opened("x", column, "strict")
    assert lists.type.missing
    assert lists.present.tolist() == [True, False]
    assert lists.flat[:1].tolist() == [BIG]
    found = load_saved(tmp_path, {"x": column})["x"]
    assert isinstance(found, np.ma.MaskedArray)
    assert found.dtype == np.int64
    assert found.tolist() == [BIG, None]
    assert schema_of({"x": column})["x"] == schema_of(values)["x"]
    for schema in (None, {"x": tl.FixedLenFeature([], "int64", 7)}):
        assert list(tl.encode_examples({"x": column}, schema)) == list(
            tl.encode_examples(values, schema)
        )


def load_saved(folder: Path, data: Any) -> Any:
    tl.save(folder / "saved", data, lossless=True)
    return tl.load(folder / "saved")


@pytest.mark.parametrize(("column", "expected"), [
    (pl.Series(["a", None]), ["a", None]), (pa.array([b"a", None]), [b"a", None]),
    (pl.Series([0.1, None]), [0.1, None]), (pd.Series([True, None], dtype="boolean"), [True, None]),
    (pd.Series([0.5, None], dtype="Float32"), [0.5, None]),
    (pd.Series(["a", None], dtype="category"), ["a", None]),
    (pl.Series([[1], [2, 3]]), [[1], [2, 3]]), (pa.array([[[1]], [[], [2]]]), [[[1]], [[], [2]]]),
    (pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)), [[1, 2], [None, None]]),
], ids=library_and_class)  # fmt: skip
def test_a_series_alone_or_in_a_dict_is_saved(tmp_path: Path, column: Any, expected: Any) -> None:
    for found in (
        load_saved(tmp_path, {"x": {"y": column}})["x"]["y"],
        load_saved(tmp_path, column),
    ):
        values = found.to_list() if isinstance(found, RaggedTensor) else found.tolist()
        assert values == expected


def test_a_series_has_the_zone_and_categories_of_its_own(tmp_path: Path) -> None:
    times = pd.Series(pd.to_datetime([0, 1]).tz_localize("UTC").tz_convert("Europe/Berlin"))
    columns = {"t": times, "c": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"]))}
    for schema in (schema_of(columns), tl.save(tmp_path / "d", columns)):
        assert schema.originals["t"].zone == "Europe/Berlin"
        assert schema.originals["c"].categories == ("b", "a")
    found = tl.load(tmp_path / "d", as_="pandas")
    pd.testing.assert_series_equal(found["t"], times, check_names=False)
    assert found["c"].cat.categories.tolist() == ["b", "a"]


DATA: dict[str, list[Any]] = {"i": [BIG, None, 3], "s": ["a", "b", None], "f": [0.5, 1.0, 2.0]}
FRAMES = [
    pd.DataFrame(DATA | {"i": pd.array(DATA["i"], "Int64")}), pl.DataFrame(DATA), pa.table(DATA),
    pa.RecordBatch.from_pydict(DATA),
]  # fmt: skip
framed = pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)


@framed
def test_frames_are_encoded_as_their_columns(tmp_path: Path, frame: Any) -> None:
    expected = list(tl.encode_examples(DATA))
    assert list(tl.encode_examples(frame)) == expected
    with tl.TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples(frame)
        specs: list[Any] = [
            tl.FixedLenFeature([], int, 0), tl.FixedLenFeature([], bytes, b""), "float32",
        ]  # fmt: skip
        writer.write_examples(frame, dict(zip(DATA, specs, strict=True)))
    assert list(tl.TFRecordReader(tmp_path / "d")) == [*expected, *expected]
    with tl.ShardedTFRecordWriter(tmp_path / "s@1") as sharded:
        sharded.write_examples(frame)
    (file,) = tmp_path.glob("s*")
    assert list(tl.TFRecordReader(file)) == expected
    assert list(tl.infer_schema(frame)) == list(DATA)
    assert tl.summarize(frame)["i"].n_records == 2
    assert tl.summarize(frame, num_records=1).n_records == 1


def test_an_index_that_is_not_a_range_is_encoded_too() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    rows = list(tl.decode_examples(tl.encode_examples(frame)))
    assert [sorted(row) for row in rows] == [["key", "x"]] * 2
    assert list(schema_of(frame)) == ["x", "key"]
    assert schema_of(frame).originals["key"] == Original("string", (), "str")
    assert list(schema_of(frame.reset_index(drop=True))) == ["x"]
    assert list(schema_of(frame.set_axis([5, 6]))) == ["x", "__index_level_0__"]


DICTIONARIES: list[tuple[list[Any], list[Any]]] = [
    ([7, None], [7, None, None]), ([None, "a"], [None, "a", None]),
    ([True, None], [True, None, None]), ([None, 0.5], [None, 0.5, None]),
    ([b"a", None], [b"a", None, None]),
]  # fmt: skip


def with_null(items: list[Any]) -> Any:
    """Return an array whose dictionary has a null, and whose last index is one."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(items))


@pytest.mark.parametrize(("items", "expected"), DICTIONARIES, ids=library_and_class)
def test_a_null_in_a_dictionary_is_missing(tmp_path: Path, items: Any, expected: Any) -> None:
    array = with_null(items)
    frame = pd.DataFrame({"x": pd.Series(array, dtype=pd.ArrowDtype(array.type))})
    assert list(tl.encode_examples({"x": array})) == list(tl.encode_examples({"x": expected}))
    for data, kind in ((pa.table({"x": array}), "arrow"), (frame, "pandas")):
        assert load_saved(tmp_path, data)["x"].tolist() == expected
        found: Any = tl.load(tmp_path / "saved", as_=kind)  # type: ignore[arg-type]
        column = found["x"] if kind == "arrow" else found["x"].array.__arrow_array__()
        assert column.to_pylist() == expected
        assert column.type == array.type


ZONED = [None, "Europe/Berlin", "UTC"]


@pytest.mark.parametrize("ours", ZONED)
@pytest.mark.parametrize("wanted", ZONED)
def test_times_have_the_schemas_zone(tmp_path: Path, ours: str | None, wanted: str | None) -> None:
    noon = pd.Series(pd.to_datetime(["2024-06-01 12:00"]).as_unit("us"))
    schema = schema_of(pd.DataFrame({"t": noon.dt.tz_localize(wanted)}))
    frame = pd.DataFrame({"t": noon.dt.tz_localize(ours)})
    table = pa.table(frame)

    for data in (
        frame, {"t": frame["t"]}, pl.from_pandas(frame), table, {"t": rows_of(table["t"])},
    ):  # fmt: skip
        for call in (tl.encode_examples, lambda d, s: tl.save(tmp_path / "d", d, schema=s)):
            if ours == wanted and isinstance(data, dict) and data["t"] is not frame["t"]:
                continue  # lists are not of this schema
            if ours == wanted:
                call(data, schema)
                continue
            error = raised(InvalidArgumentError, call, data, schema, match="times")
            assert (error.key, error.reason) == ("t", Reason.WRONG_KIND)
            assert str(ours or "without") in str(error)
            assert str(wanted or "no time zone") in str(error)
    utc = np.array(["2024-06-01T12:00"], "M8[us]")  # NumPy's are in UTC
    tl.save(tmp_path / "u", {"t": utc}, schema=schema)
    assert tl.load(tmp_path / "u")["t"] == utc


def rows_of(times: Any) -> Any:
    return pa.ListArray.from_arrays([0, 1], times.combine_chunks())


CATEGORIES: list[tuple[Any, Any]] = [
    (["a", "é"], "b"), ([b"a", b"b"], b"c"), ([1, 2], 3), ([2**63, 1], 2**63 + 1), ([True], False),
    ([0.1, 0.5], 0.2),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "other"), CATEGORIES, ids=library_and_class)
def test_values_outside_categories_are_named(tmp_path: Path, listed: list[Any], other: Any) -> None:
    schema = schema_of({"x": pd.Categorical([*listed, None], categories=listed)}, lossless=True)
    good, bad = [listed[-1], None, listed[0]], [listed[0], None, listed[-1], other]
    several: list[Any] = [bad, pd.Categorical(bad, categories=[*listed, other])]
    several.append(np.ma.MaskedArray([listed[0], other, other], [False, True, False]))
    for column in several:
        for call in (tl.encode_examples, lambda d, s: tl.save(tmp_path / "d", d, schema=s)):
            with pytest.raises(InvalidArgumentError, match="is not one of the") as caught:
                call({"x": column}, schema)
            assert (caught.value.key, caught.value.index) == ("x", len(column) - 1)
            assert caught.value.reason == Reason.UNREPRESENTABLE
            assert repr(other) in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="is not one of the") as caught:
        tl.save(tmp_path / "d", [{"x": value} for value in bad], schema=schema)
    assert caught.value.index == 3
    hidden = np.ma.MaskedArray([listed[0], other], [False, True])
    for data in ({"x": good}, {"x": hidden}, [{"x": value} for value in good]):
        tl.save(tmp_path / "d", data, schema=schema)
        found = tl.load(tmp_path / "d", as_="pandas")["x"]
        assert found.cat.categories.tolist() == listed


def test_categories_are_rounded_as_their_values(tmp_path: Path) -> None:
    column = pd.Categorical([0.1, 0.5, None, 0.1], categories=[0.7, 0.5, 0.1])
    for data in (pd.DataFrame({"x": column}), {"x": column}):
        with pytest.warns(UserWarning, match="rounded to float32 in 'x'"):
            tl.save(tmp_path / "d", data)
        found = tl.load(tmp_path / "d", as_="pandas")["x"]
        assert found.cat.categories.tolist() == np.array([0.7, 0.5, 0.1], np.float32).tolist()
        assert found.cat.codes.tolist() == [2, 1, -1, 2]


def test_zeros_of_both_signs_are_one_category(tmp_path: Path) -> None:
    schema = schema_of({"x": pd.Categorical([0.0, 1.0])})
    tl.save(tmp_path / "d", {"x": np.array([-0.0, 1.0])}, schema=schema)
    assert tl.load(tmp_path / "d", as_="pandas")["x"].tolist() == [0.0, 1.0]


def test_a_value_of_a_list_that_is_not_one_of_the_categories_is_an_error() -> None:
    for listed, other in CATEGORIES:
        indices = pa.array([0, 0, 0])
        kind = pa.uint64() if other == 2**63 + 1 else None
        values = [pa.array(items, kind) for items in (listed, [other])]
        kinds = [pa.DictionaryArray.from_arrays(indices, each) for each in values]
        good, bad = (pa.ListArray.from_arrays(pa.array([0, 0, 2, 3]), kind) for kind in kinds)
        schema = schema_of({"x": good})
        tl.encode_examples({"x": good}, schema)
        with pytest.raises(InvalidArgumentError, match="is not one of the") as caught:
            tl.encode_examples({"x": bad}, schema)
        assert caught.value.index == 1
