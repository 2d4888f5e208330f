"""Data frames that are saved and loaded: each comes back equal, or an error names what cannot."""

import datetime as dt
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.support import golden
from tests.support.errors import raised
from tfrecord_lite import (
    ExampleParser,
    FixedLenFeature,
    FixedLenSequenceFeature,
    TFRecordWriter,
    encode_examples,
    infer_schema,
    load,
    save,
    scan,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original, Schema

pytestmark = pytest.mark.needs("dataframes")

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]
UNITS = ["s", "ms", "us", "ns"]


def again(frame: Any, library: str, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frame.tfrecord"
        save(path, frame, lossless=True)
        load(path)  # also without any library
        return load(path, as_=library, **options)  # type: ignore[arg-type]


def same_pandas(found: Any, frame: Any) -> None:
    pd.testing.assert_frame_equal(found, frame, check_exact=True, check_index_type="exact")


def same_arrow(found: Any, table: Any) -> None:
    assert found.schema.equals(table.schema)
    # NaN is no value of Arrow's.
    assert found.equals(table) or found.to_pylist() == table.to_pylist()


def same_polars(found: Any, frame: Any) -> None:
    from polars.testing import assert_frame_equal

    assert_frame_equal(found, frame, check_exact=True, categorical_as_str=True)


def named(error: InvalidArgumentError, key: str | None = None) -> None:
    """Assert that an error is about a column, or about the one of that name."""
    assert error.key is not None
    assert key in (None, error.key)


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


WHOLE = {
    f"{sign}int{bits}": st.integers(
        0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1
    )
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
TICKS = st.integers(-(2**31), 2**31) | st.sampled_from([1711846799, 1711846800, 1729990800])
"""Among them the hours at which Berlin's clocks change."""


def capital(word: str) -> str:
    return word.replace("uint", "UInt").replace("int", "Int").replace("float", "Float")


@st.composite
def numbers(draw: st.DrawFn, n: int) -> Any:
    """Return a Series of numbers: of NumPy's dtypes, with missing values, or of Arrow's."""
    word = draw(st.sampled_from([*WHOLE, "float32", "float64", "bool"]))
    others = {"bool": st.booleans(), "float32": st.floats(width=32), "float64": st.floats()}
    values: Any = {**WHOLE, **others}[word]
    form = draw(st.sampled_from(["numpy", "nullable", "arrow"]))
    if form == "numpy":
        return pd.Series(draw(st.lists(values, min_size=n, max_size=n)), dtype=word)
    items = draw(st.lists(st.none() | values, min_size=n, max_size=n))
    if form == "nullable":
        return pd.Series(items, dtype="boolean" if word == "bool" else capital(word))
    kind = {"bool": pa.bool_(), "float32": pa.float32(), "float64": pa.float64()}.get(word)
    return pd.Series(items, dtype=pd.ArrowDtype(kind or getattr(pa, word)()))


@st.composite
def strings(draw: st.DrawFn, n: int) -> Any:
    """Return a Series of texts or byte strings, of any dtype that has them."""
    dtypes: list[Any] = [object, "string[python]", "string[pyarrow]"]
    dtypes += [pd.ArrowDtype(pa.string()), pd.ArrowDtype(pa.large_string()), None]
    dtype = draw(st.sampled_from(dtypes))
    items: Any = draw(st.lists(st.none() | texts(), min_size=n, max_size=n))
    if dtype is object and draw(st.booleans()):
        items = [None if item is None else item.encode() for item in items]
    if dtype is object and draw(st.booleans()):
        items = [np.nan if item is None else item for item in items]
    return pd.Series(items, dtype=dtype) if dtype is not None else pd.Series(items or [""] * n)


@st.composite
def times(draw: st.DrawFn, n: int) -> Any:
    unit = draw(st.sampled_from(UNITS))
    ticks = draw(st.lists(st.none() | TICKS, min_size=n, max_size=n))
    array = np.array(["NaT" if t is None else t for t in ticks], f"M8[{unit}]")
    zone = draw(st.sampled_from([None, *ZONES, "+05:30"]))
    form = draw(st.sampled_from(["naive", "aware", "duration", "arrow"]))
    if form == "duration":
        return pd.Series(array.view(f"m8[{unit}]"))
    if form == "arrow":
        return pd.Series(ticks, dtype=pd.ArrowDtype(pa.timestamp(unit, zone)))
    series = pd.Series(array)
    if form == "naive" or zone is None:
        return series
    return series.dt.tz_localize("UTC").dt.tz_convert(zone)


@st.composite
def categories(draw: st.DrawFn, n: int) -> Any:
    values: Any = draw(st.sampled_from([texts(), st.integers(-9, 9), st.floats(0, 1)]))
    listed = draw(st.lists(values, unique=True, max_size=4))
    codes = draw(st.lists(st.integers(-1, len(listed) - 1), min_size=n, max_size=n))
    dtype = pd.CategoricalDtype(listed, ordered=draw(st.booleans()))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))


@st.composite
def objects(draw: st.DrawFn, n: int) -> Any:
    """Return a Series of Python's objects: numbers, or lists, tuples and arrays of them."""
    values: Any = draw(st.sampled_from([st.integers(-9, 9), st.floats(0, 1), texts()]))
    form = draw(st.sampled_from(["values", "lists", "nested", "tuples", "arrays"]))
    if form == "values":
        items = draw(st.lists(st.none() | values, min_size=n, max_size=n))
    else:
        rows: Any = st.lists(
            st.lists(values, max_size=2) if form == "nested" else values, max_size=3
        )
        items = draw(st.lists(rows, min_size=n, max_size=n))
    if form == "tuples":
        items = list(map(tuple, items))
    if form == "arrays":
        dtype = np.array(draw(values)).dtype
        dtype = np.dtype(object) if dtype.kind == "U" else dtype
        items = [np.array(item, dtype) for item in items]
    series = np.empty(n, object)
    series[:] = items
    return pd.Series(series, dtype=object)


@st.composite
def pandas_frames(draw: st.DrawFn) -> Any:
    n = draw(st.integers(0, 4))
    some = numbers(n) | strings(n) | times(n) | categories(n) | objects(n)
    names = draw(st.lists(texts(), unique=True, max_size=3))
    flat = numbers(n) | strings(n) | times(n) | categories(n)
    levels = draw(st.lists(flat, max_size=2))
    index: Any = pd.RangeIndex(3, 3 + 2 * n, 2, name=draw(st.sampled_from([None, "n"])))
    titles = [draw(st.sampled_from([None, f"level {i}"])) for i in range(len(levels))]
    if len(levels) == 1:
        index = pd.Index(levels[0], name=titles[0])
    elif levels:
        try:
            index = pd.MultiIndex.from_arrays(levels, names=titles)
        except (TypeError, ValueError, NotImplementedError):  # pandas has none of these
            index = pd.RangeIndex(n)
    data = {name: draw(some).set_axis(index) for name in names}
    return pd.DataFrame(data, index=index)


@given(pandas_frames())
def test_frames_of_pandas_come_back_equal(frame: Any) -> None:
    same_pandas(again(frame, "pandas"), frame)


@given(pandas_frames())
def test_frames_of_pandas_are_read_by_the_others(frame: Any) -> None:
    for library in ("polars", "arrow"):
        try:
            found = again(frame, library)
        except InvalidArgumentError as error:  # times beyond the range, or a zone of another form
            named(error)
        else:
            assert len(found) == len(frame) or not len(frame.columns)
            names = list(getattr(found, "column_names", found.columns))
            assert names[: len(frame.columns)] == list(frame.columns)


def day_frame(**options: Any) -> Any:
    index = pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin", **options)
    return pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": pd.Categorical(["b", "a", "b"])}, index)


@pytest.mark.parametrize("frame", [
    day_frame(),
    day_frame(name="day").rename_axis(columns="what"),
    pd.DataFrame(),
    pd.DataFrame(index=range(3)),
    pd.DataFrame(index=["a", "b"]),
    pd.DataFrame({"x": []}),
    pd.DataFrame({"z": [1], "a": ["x"], "m": [2]}),
    pd.DataFrame({"x": np.array([1, 2], ">i4"), "h": np.array([1, -0.0], "f2")}),
    pd.DataFrame({"t": pd.to_datetime([1]).tz_localize(dt.timezone(dt.timedelta(hours=2)))}),
    pd.DataFrame({"x": [1]}, index=pd.RangeIndex(9, 8, -1)),
    pd.DataFrame({"x": [1, 2]}, pd.MultiIndex.from_arrays([["a", "b"]], names=["k"])),
    pd.DataFrame({"f": pd.Series([2**60 + 1, None], dtype="Int64")}),
    pd.DataFrame({"x": pd.Series(["a", pd.NA], dtype=object)}),
    pd.DataFrame({"x": pd.Series([1, pd.NA], dtype=object)}),
    pd.DataFrame({"x": pd.Series([dt.date(2020, 1, 1), None], dtype=object)}),
    pd.DataFrame(
        {"x": pd.Series([np.datetime64("9999-12-31T23:59:59.999999").item()], dtype=object)}
    ),
    pd.DataFrame({"x": pd.Series([dt.timedelta(1, 2, 3)] * 2, dtype=object)}),
    pd.DataFrame({"x": pd.Series([b"\xff", None, b"\0"], dtype="category")}),
], ids=lambda frame: "-".join(map(str, frame.dtypes)) or f"{len(frame)} rows")  # fmt: skip
def test_a_frame_comes_back_with_its_index_and_all(frame: Any) -> None:
    same_pandas(again(frame, "pandas"), frame)


def test_an_offset_is_a_time_zone_to_every_library(tmp_path: Path) -> None:
    times = pd.to_datetime([0]).tz_localize("UTC").tz_convert(dt.timezone(dt.timedelta(hours=-2)))
    save(tmp_path / "a", pd.DataFrame({"t": times}))
    assert load(tmp_path / "a", as_="arrow").schema.field("t").type.tz == "-02:00"
    for frame in (load(tmp_path / "a", as_="polars"), scan(tmp_path / "a").to_polars()):
        assert frame["t"].dt.convert_time_zone("UTC").dt.timestamp("ms").to_list() == [0]


@pytest.mark.parametrize("array", [
    pa.array([np.float16(1), None, np.float16(-0.0)], pa.float16()),
    pa.array([[], [], []], pa.list_(pa.int8(), 0)),
    pa.chunked_array([], pa.dictionary(pa.int8(), pa.string())),
    pa.array([[["a"]], [], [["b"], ["c"]]], pa.list_(pa.list_(pa.string(), 1))),
    pa.array([["a"], None, ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()), 1)),
], ids=lambda array: f"{array.type} {len(array)}")  # fmt: skip
def test_an_array_comes_back_as_its_type(array: Any) -> None:
    table = pa.table({"x": array})
    same_arrow(again(table, "arrow"), table)
    if len(array):
        batch = pa.record_batch({"x": array})
        same_arrow(again(batch, "arrow"), table)


ALL_INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
SCALARS: list[tuple[Any, Any]] = [
    *((dtype, WHOLE[str(dtype).lower()]) for dtype in ALL_INTEGERS),
    (pl.Float32, st.floats(width=32)),
    (pl.Float64, st.floats()),
    (pl.Boolean, st.booleans()),
    (pl.String, texts()),
    (pl.Binary, st.binary(max_size=3)),
    (pl.Date, st.dates()),
    (pl.Time, st.times()),
    *(
        (pl.Duration(unit), st.timedeltas(dt.timedelta(-99), dt.timedelta(99)))
        for unit in UNITS[1:]
    ),
    *((pl.Datetime(u, z), TICKS) for u in UNITS[1:] for z in (None, *ZONES)),
    (pl.Enum(["c", "a", "b"]), st.sampled_from("abc")),
    (pl.Categorical(), texts()),
    *((getattr(pl, n), v) for n, v in [("Int128", WHOLE["int64"])] if hasattr(pl, n)),
]


@st.composite
def polars_series(draw: st.DrawFn, n: int) -> Any:
    dtype, values = draw(st.sampled_from(SCALARS))
    leaf, is_rows = dtype, False
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            dtype, values, is_rows = pl.List(dtype), st.lists(values, max_size=3), True
        else:
            size = draw(st.integers(1, 3))
            dtype, values = pl.Array(dtype, size), st.lists(values, min_size=size, max_size=size)
    items = draw(st.lists(values if is_rows else st.none() | values, min_size=n, max_size=n))
    if isinstance(leaf, pl.Datetime):  # from counts, so that all hours can be had
        physical = pl.Int64
        for word in reversed(_nesting(dtype)):
            physical = pl.List(physical) if word is None else pl.Array(physical, word)
        return pl.Series(items, dtype=physical).cast(dtype)
    try:
        return pl.Series(items, dtype=dtype)
    except pl.exceptions.InvalidOperationError:  # earlier versions have no arrays of categories
        return reject()


def _nesting(dtype: Any) -> list[int | None]:
    found: list[int | None] = []
    while isinstance(dtype, pl.List | pl.Array):
        found.append(dtype.size if isinstance(dtype, pl.Array) else None)
        dtype = dtype.inner
    return found


@st.composite
def polars_frames(draw: st.DrawFn) -> Any:
    n = draw(st.integers(0, 4))
    names = draw(st.lists(texts(), unique=True, min_size=1, max_size=3))
    return pl.DataFrame([draw(polars_series(n)).alias(name) for name in names])


@given(polars_frames())
def test_frames_of_polars_come_back_equal(frame: Any) -> None:
    try:
        found = again(frame, "polars")
    except InvalidArgumentError as error:
        if "Polars cannot" not in str(error) or not pl.__version__.startswith("1."):
            raise
        reject()  # of early versions
    same_polars(found, frame)


@given(polars_frames())
def test_frames_of_polars_are_read_by_the_others(frame: Any) -> None:
    same = again(frame, "arrow")
    assert same.num_rows == len(frame)
    assert same.column_names == frame.columns
    assert len(again(frame, "pandas")) == len(frame)


def test_named_categories_and_empty_frames_of_polars() -> None:
    if hasattr(pl, "Categories"):
        dtype = pl.Categorical(pl.Categories("mine", "here", pl.UInt8))
        frame = pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=dtype)})
        same_polars(again(frame, "polars"), frame)
    same_polars(again(pl.DataFrame(), "polars"), pl.DataFrame())
    frame = pl.DataFrame({"n": pl.Series([None, None], dtype=pl.Null)})
    same_polars(again(frame, "polars"), frame)


def test_numpy_sees_utc_and_the_categories_values(tmp_path: Path) -> None:
    schema = save(tmp_path / "d", day_frame())
    columns: Any = load(tmp_path / "d")
    assert columns["c"].tolist() == ["b", "a", "b"]
    days: Any = columns["__index_level_0__"]
    assert str(days[0].astype("M8[h]")) == "2024-03-29T23"
    assert schema.originals["c"] == Original("string", (), "str", categories=("a", "b"))
    assert schema.originals["__index_level_0__"].zone == "Europe/Berlin"
    assert infer_schema(day_frame()).originals["c"].categories == ("a", "b")
    assert "string [] str of 2 categories" in str(schema)
    assert "Europe/Berlin" in str(schema)


@pytest.mark.needs("dtypes")
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_numbers_of_ml_dtypes_become_the_nearest(tmp_path: Path, library: str) -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    small = np.array([0.5, -2], ml_dtypes.bfloat16)
    rows = [np.array([1, -2], ml_dtypes.int4), np.array([], ml_dtypes.int4)]
    save(tmp_path / "d", {"x": small, "m": np.ma.MaskedArray(small, [False, True]), "r": rows})
    frame = load(tmp_path / "d", as_=library)  # type: ignore[arg-type]
    columns = frame.to_pydict() if library == "arrow" else frame
    assert list(columns["x"]) == [0.5, -2]
    assert columns["m"][0] == 0.5
    assert [list(row) for row in columns["r"]] == [[1, -2], []]


def test_columns_are_chosen_and_the_index_comes_along(tmp_path: Path) -> None:
    frame = day_frame()
    save(tmp_path / "d", frame)
    same_pandas(load(tmp_path / "d", columns=["c"], as_="pandas"), frame[["c"]])
    assert load(tmp_path / "d", columns=["c"], as_="polars").columns == ["c", "__index_level_0__"]
    assert list(load(tmp_path / "d", columns=["c"])) == ["c"]


def test_several_files_are_one_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b"]), "x": pd.array([1, None], "Int64")})
    other = pd.DataFrame({"c": pd.Categorical(["z", "b"]), "x": pd.array([3, 4], "Int64")})
    save(tmp_path / "0", frame)
    save(tmp_path / "1", other.set_axis(pd.RangeIndex(2, 4)))
    found = load([tmp_path / "0", tmp_path / "1"], as_="pandas")
    assert found["x"].tolist() == [1, pd.NA, 3, 4]
    assert found.index.equals(pd.RangeIndex(4))
    assert found["c"].tolist() == ["a", "b", "z", "b"]
    assert found["c"].cat.categories.tolist() == ["a", "b", "z"]
    save(tmp_path / "1", other.assign(x=[1.5, 2]))
    raised(InvalidArgumentError, load, [tmp_path / "0", tmp_path / "1"], as_="pandas")
    save(tmp_path / "1", other.assign(c=other["c"].cat.as_ordered()))
    error = raised(InvalidArgumentError, load, [tmp_path / "0", tmp_path / "1"], match="categories")
    assert error.key == "c"


def test_times_of_several_zones_do_not_go_together(tmp_path: Path) -> None:
    for i, zone in enumerate(["UTC", "Europe/Berlin"]):
        frame = pd.DataFrame({"t": pd.to_datetime([1, 2]).tz_localize("UTC").tz_convert(zone)})
        save(tmp_path / str(i), frame)
    with pytest.raises(InvalidArgumentError, match="Europe/Berlin here, but with UTC before"):
        load([tmp_path / "0", tmp_path / "1"])


def test_plain_values_and_categories_go_together_as_plain_ones(tmp_path: Path) -> None:
    save(tmp_path / "0", pd.DataFrame({"c": pd.Categorical(["a", "b"])}))
    save(tmp_path / "1", {"c": ["z", "b"]})
    found = load([tmp_path / "0", tmp_path / "1"], as_="pandas")
    assert found["c"].tolist() == ["a", "b", "z", "b"]
    assert not isinstance(found["c"].dtype, pd.CategoricalDtype)


def test_shards_are_one_frame(tmp_path: Path) -> None:
    frame = day_frame().reset_index(names="when").set_axis(pd.RangeIndex(5, 11, 2))
    save(tmp_path / "d", frame, num_shards=2)
    same_pandas(load(tmp_path / "d-*", as_="pandas"), frame)
    save(tmp_path / "n", frame[[]], num_shards=2)
    same_pandas(load(tmp_path / "n-*", as_="pandas"), frame[[]])


def test_files_of_any_ranges_have_their_labels(tmp_path: Path) -> None:
    ranges = {"a": range(10, 12), "b": range(50, 52), "c": range(3, 3), "d": range(12, 14)}
    ranges["e"] = range(0, -2, -1)
    for name, labels in ranges.items():
        frame = pd.DataFrame({"x": np.array(labels)}, index=pd.RangeIndex(labels))
        save(tmp_path / name, frame)
    for names in ("ab", "ba", "acb", "ca", "ad", "acd", "aa", "dea", "ee", "c", "cc"):
        found = load([tmp_path / name for name in names], as_="pandas")
        expected = [label for name in names for label in ranges[name]]
        assert found.index.tolist() == found["x"].tolist() == expected
        assert isinstance(found.index, pd.RangeIndex) == (names in ("ca", "ad", "acd", "c", "cc"))


def test_files_with_the_default_index_are_numbered_on(tmp_path: Path) -> None:
    for i, size in enumerate([2, 3, 2]):
        save(tmp_path / str(i), pd.DataFrame({"x": range(size)}))
    for order in ([0, 1, 2], [2, 0], [1, 1]):
        found = load([tmp_path / str(i) for i in order], as_="pandas")
        assert found.index.equals(pd.RangeIndex(len(found)))
        assert isinstance(found.index, pd.RangeIndex)


def test_the_given_schema_decides_the_types_of_a_frame(tmp_path: Path) -> None:
    schema = save(tmp_path / "s", pd.DataFrame({"x": pd.array([1, None], "Int64")}))
    for dtype in ("Int64", "int64", "int8", "bool", "boolean", "UInt8"):
        save(tmp_path / dtype, pd.DataFrame({"x": pd.array([1, 0], dtype)}), schema=schema)
        expected = pd.DataFrame({"x": pd.array([1, 0], "Int64")})
        same_pandas(load(tmp_path / dtype, as_="pandas"), expected)
    pairs: list[tuple[Any, Any]] = [
        (pd.Series([0.5], dtype="float64"), pd.Series([0.5], dtype="float32")),
        (pd.Series([1], dtype="int8"), pd.Series([1], dtype="int64")),
        (pd.Series([None]), pd.Series([None], dtype="Int64")),
        (pd.Series([None]), pd.Series([None], dtype="string")),
        (pa.table({"x": [0.5]}), pa.table({"x": pa.array([0.5], pa.float32())})),
        (pa.table({"x": [[1]]}), pa.table({"x": pa.array([[1]], pa.list_(pa.int64(), 1))})),
        (pl.DataFrame({"x": [1]}, {"x": pl.Int8}), pl.DataFrame({"x": [1]})),
        (pl.DataFrame({"x": [[1]]}), pl.DataFrame({"x": [[1]]}, {"x": pl.Array(pl.Int64, 1)})),
    ]
    for data, wanted in pairs:
        frames = [x.to_frame("x") if isinstance(x, pd.Series) else x for x in (data, wanted)]
        save(tmp_path / "d", frames[0], schema=schema_of(frames[1]))
        if isinstance(data, pd.Series):
            found = load(tmp_path / "d", as_="pandas")["x"]
            text = pd.Series(["a"]).dtype  # which is that of pandas 3, or an object
            assert found.dtype in (text, wanted.dtype)
            assert found.isna().all() or found.tolist() == wanted.tolist()
        elif isinstance(data, pl.DataFrame):
            same_polars(load(tmp_path / "d", as_="polars"), wanted)
        else:
            same_arrow(load(tmp_path / "d", as_="arrow"), wanted)


def test_types_that_a_schema_does_not_tell_stay_those_of_the_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "lists": [[1], []],
            "arrow": pd.array([1, 2], dtype=pd.ArrowDtype(pa.int64())),
            "objects": pd.Series([1, 2], dtype=object),
            "strings": pd.array(["a", "b"], dtype="string[python]"),
            "times": pd.to_datetime([1, 2]),
        }
    )
    save(tmp_path / "d", frame, schema=schema_of(frame))
    same_pandas(load(tmp_path / "d", as_="pandas"), frame)
    empty = frame.assign(lists=[[], []])
    save(tmp_path / "d", empty, schema=schema_of(frame))
    same_pandas(load(tmp_path / "d", as_="pandas"), empty)
    small = pa.array(["a"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    many = pa.array([str(i) for i in range(200)] + ["a"]).dictionary_encode()
    save(tmp_path / "d", pa.table({"x": small}), schema=schema_of(pa.table({"x": many})))
    assert load(tmp_path / "d", as_="arrow")["x"].to_pylist() == ["a"]


def test_an_order_of_categories_is_not_lost_by_a_schema(tmp_path: Path) -> None:
    def frame(names: str, values: str, *, ordered: bool) -> Any:
        return pd.DataFrame({"c": pd.Categorical([*values], [*names], ordered=ordered)})

    free, ordered = (schema_of(frame("abc", "a", ordered=is_it)) for is_it in (False, True))
    for data, schema in (
        (frame("abc", "b", ordered=True), free),
        (frame("ba", "b", ordered=True), ordered),
    ):
        with pytest.raises(InvalidArgumentError, match="categories with an order") as caught:
            save(tmp_path / "d", data, schema=schema)
        assert (caught.value.key, caught.value.reason) == ("c", Reason.WRONG_KIND)
    for data in (frame("ac", "a", ordered=True), frame("ba", "a", ordered=False)):
        save(tmp_path / "d", data, schema=ordered)
        same_pandas(load(tmp_path / "d", as_="pandas"), frame("abc", "a", ordered=True))


def test_a_value_that_is_no_category_is_an_error_with_its_row(tmp_path: Path) -> None:
    schema = Schema(
        {"c": FixedLenFeature([], bytes)}, {"c": Original("string", (), "str", categories=["a"])}
    )
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples({"c": ["a", "b"]})
    with pytest.raises(InvalidArgumentError, match="'b' is not one of the categories") as caught:
        load(tmp_path / "d", schema=schema, as_="pandas")
    assert (caught.value.key, caught.value.index) == ("c", 1)


class Nameless(dt.tzinfo):
    def __repr__(self) -> str:
        return "Nameless()"

    def utcoffset(self, when: object) -> dt.timedelta:
        return dt.timedelta(hours=1)

    def dst(self, when: object) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, when: object) -> str:
        return "mine"


def test_what_would_not_come_back_is_named(tmp_path: Path) -> None:
    def put(frame: Any) -> None:
        save(tmp_path / "d", frame)

    def load_as(frame: Any, library: Any) -> Any:
        return again(frame, library)

    golden.check(Path(__file__).with_name("frames.txt"), globals() | locals())
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="a type of later versions")
def test_large_integers_of_polars_are_named(tmp_path: Path) -> None:
    large = pl.Series([1, 2**70], dtype=pl.Int128)
    for call in (encode_examples, schema_of, lambda data: save(tmp_path / "d", data)):
        error = raised(InvalidArgumentError, call, {"x": large})
        assert (error.key, error.index) == ("x", 1)


SIDECARS: list[tuple[Any, str | None]] = [
    ([], None),
    ({"library": "dask", "columns": {}}, None),
    ({"library": "pandas", "columns": {}, "index": [["nope", None]]}, None),
    ({"library": "pandas", "columns": {}, "ranges": "abc"}, None),
    *(({"library": each, "columns": {"x": "nope"}}, "x") for each in ("pandas", "polars", "arrow")),
    ({"library": "pandas", "columns": {"x": {"arrow": 1}}}, "x"),
    ({"library": "arrow", "columns": {"x": {"ipc": "AAAA"}}}, "x"),
]


@pytest.mark.parametrize(("described", "key"), SIDECARS)
def test_no_frame_is_one_clear_error(tmp_path: Path, described: Any, key: str | None) -> None:
    save(tmp_path / "d", {"x": [1, 2]})
    sidecar = tmp_path / "d.schema.json"
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"dataframe": described}))
    with pytest.raises(InvalidArgumentError) as caught:
        load(tmp_path / "d", as_=described["library"] if key else "pandas")
    assert key in (None, caught.value.key)


def test_lists_that_a_parser_pads_are_lists_of_their_own_length_in_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    save(path, {"x": [[1, 2], [3], []]})
    padded = {"x": FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-1)}
    assert load(path, schema=padded)["x"].tolist() == [[1, 2], [3, -1], [-1, -1]]
    table = load(path, schema=padded, as_="arrow")
    assert table.schema.field("x").type == pa.list_(pa.int64())
    assert table["x"].to_pylist() == [[1, 2], [3], []]


def test_byte_strings_that_may_be_missing_are_a_masked_array_in_either_form() -> None:
    schema = schema_of({"s": ["a", None]})
    block = encode_examples({"s": ["b", None, "c"]}, schema)
    forms: Any = ("ndarray", ["b", None, "c"]), ("BytesColumn", [b"b", None, b"c"])
    for strings, values in forms:
        column: Any = ExampleParser(schema, strings=strings)(block)["s"]
        assert isinstance(column, np.ma.MaskedArray)
        assert column.tolist() == values


def test_runs_are_plain_values_in_frames_as_in_tables() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8]))
    series = pd.Series(pd.arrays.ArrowExtensionArray(runs))
    plain = list(encode_examples({"r": [7, 7, 8]}))
    assert list(encode_examples({"r": series})) == plain
    assert list(encode_examples(pa.table({"r": runs}))) == plain
