"""Data frames, Series and Arrow arrays as columns to be encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfrecord_lite import (
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordReader,
    TFRecordWriter,
    decode_examples,
    encode_examples,
    infer_schema,
    load,
    parse_example,
    restore,
    save,
    schema_of,
    summarize,
)
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.needs("dataframes")

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")

BIG = 2**60 + 1
"""An integer that float64 has not."""

WITH_NULLS = [
    pl.Series([BIG, None]),
    pa.array([BIG, None]),
    pa.chunked_array([[BIG], [None]]),
    pd.Series([BIG, None], dtype="Int64"),
    pd.Series([BIG, None], dtype=pd.ArrowDtype(pa.int64())),
    pd.array([BIG, None], dtype="Int64"),
    pd.Index([BIG, None], dtype="Int64"),
    pd.Categorical.from_codes([0, -1], categories=[BIG]),
    *([pl.Series([BIG, None], dtype=pl.Int128)] if hasattr(pl, "Int128") else []),
]
named = pytest.mark.parametrize(
    "column", WITH_NULLS, ids=lambda column: f"{type(column).__module__}.{type(column).__name__}"
)


@named
def test_nulls_of_a_series_are_masked(tmp_path: Path, column: Any) -> None:
    for found in (normalize("x", column, "strict"), load_saved(tmp_path, {"x": column})["x"]):
        assert isinstance(found, np.ma.MaskedArray)
        assert found.dtype == np.int64
        assert found.tolist() == [BIG, None]
    assert schema_of({"x": column})["x"] == schema_of({"x": [BIG, None]})["x"]


@named
def test_nulls_of_a_series_are_missing_features(tmp_path: Path, column: Any) -> None:
    expected = list(encode_examples({"x": [BIG, None]}))

    assert list(encode_examples({"x": column})) == expected
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples({"x": column})
    assert list(TFRecordReader(tmp_path / "d")) == expected


@named
def test_a_series_fits_a_schema_as_its_values_do(column: Any) -> None:
    features = {"x": FixedLenFeature([], "int64", 7)}

    block = encode_examples({"x": column}, features)

    assert parse_example(block, features)["x"].tolist() == [BIG, 7]


def load_saved(folder: Path, data: Any) -> Any:
    save(folder / "saved", data)
    return load(folder / "saved")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.Series(["a", None]), ["a", None]),
        (pa.array([b"a", None]), [b"a", None]),
        (pl.Series([0.1, None]), [0.1, None]),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
        (pd.Series([0.5, None], dtype="Float32"), [0.5, None]),
        (pd.Series(["a", None], dtype="category"), ["a", None]),
        (pl.Series([[1], [2, 3]]), [[1], [2, 3]]),
        (pa.array([[[1]], [[], [2]]]), [[[1]], [[], [2]]]),
        (pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)), [[1, 2], [None, None]]),
    ],
    ids=repr,
)
def test_a_series_alone_or_in_a_dictionary_is_saved(
    tmp_path: Path, column: Any, expected: Any
) -> None:
    for found in (
        load_saved(tmp_path, {"x": {"y": column}})["x"]["y"],
        load_saved(tmp_path, column),
    ):
        values = found.to_list() if isinstance(found, RaggedTensor) else found.tolist()
        assert values == expected


def test_a_series_has_the_zone_and_categories_of_its_own(tmp_path: Path) -> None:
    times = pd.Series(pd.to_datetime([0, 1]).tz_localize("UTC").tz_convert("Europe/Berlin"))
    columns = {"t": times, "c": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"]))}

    for schema in (schema_of(columns), save(tmp_path / "d", columns)):
        assert schema.originals["t"].zone == "Europe/Berlin"
        assert schema.originals["c"].categories == ("b", "a")
    found = load(tmp_path / "d", as_="pandas")
    pd.testing.assert_series_equal(found["t"], times, check_names=False)
    assert found["c"].cat.categories.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("column", "reason", "index"),
    [
        (pd.Series(pd.period_range("2020", periods=1, freq="D")), Reason.UNSUPPORTED, None),
        (pd.arrays.SparseArray([0, 1]), Reason.UNSUPPORTED, None),
        (pd.interval_range(0, 2), Reason.UNSUPPORTED, None),
        (pa.array([1], pa.decimal128(5, 2)), Reason.UNSUPPORTED, None),
        (pl.Series([{"a": 1}]), Reason.UNSUPPORTED, None),
        (pl.Series([[None]], dtype=pl.List(pl.Int8)), Reason.UNREPRESENTABLE, None),
        *(
            [(pl.Series([1, 2**70], dtype=pl.Int128), Reason.UNREPRESENTABLE, 1)]
            if hasattr(pl, "Int128")
            else []
        ),
    ],
)
def test_a_series_that_has_no_list_is_named(column: Any, reason: Reason, index: int | None) -> None:
    for encode in (encode_examples, schema_of):
        with pytest.raises(InvalidArgumentError) as caught:
            encode({"x": column})
        assert (caught.value.key, caught.value.reason) == ("x", reason)
        assert caught.value.index == index


# ------------------------------------------------------------------------------ whole frames

DATA: dict[str, list[Any]] = {"i": [BIG, None, 3], "s": ["a", "b", None], "f": [0.5, 1.0, 2.0]}
FRAMES = [
    pd.DataFrame(DATA | {"i": pd.array(DATA["i"], "Int64")}),
    pl.DataFrame(DATA),
    pa.table(DATA),
    pa.RecordBatch.from_pydict(DATA),
]
framed = pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)


@framed
def test_frames_are_encoded_as_their_columns(tmp_path: Path, frame: Any) -> None:
    expected = list(encode_examples(DATA))

    assert list(encode_examples(frame)) == expected
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples(frame)
        writer.write_examples(frame, {"i": FixedLenFeature([], "int64", 0)} | _others())
    assert list(TFRecordReader(tmp_path / "d")) == [*expected, *expected]
    with ShardedTFRecordWriter(tmp_path / "s@1") as sharded:
        sharded.write_examples(frame)
    (file,) = tmp_path.glob("s*")
    assert list(TFRecordReader(file)) == expected


def _others() -> dict[str, Any]:
    return {"s": FixedLenFeature([], bytes, b""), "f": FixedLenFeature([], "float32")}


@framed
def test_frames_have_a_schema_and_come_back_by_it(frame: Any) -> None:
    schema = schema_of(frame)

    columns: Any = restore(parse_example(encode_examples(frame, schema), schema), schema)

    assert columns["i"].tolist() == DATA["i"]
    assert columns["s"].tolist() == DATA["s"]
    assert columns["f"].dtype == np.float64
    assert list(infer_schema(frame)) == list(DATA)
    assert summarize(frame)["i"].n_records == 2
    assert summarize(frame, max_records=1).n_records == 1


def test_an_index_that_is_not_a_range_is_encoded_too() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="key"))

    rows = list(decode_examples(encode_examples(frame)))

    assert [sorted(row) for row in rows] == [["key", "x"]] * 2
    assert list(schema_of(frame)) == ["x", "key"]
    assert schema_of(frame).originals["key"] == Original("string", (), "str")
    assert list(schema_of(frame.reset_index(drop=True))) == ["x"]
    assert list(schema_of(frame.set_axis([5, 6]))) == ["x", "__index_level_0__"]


def test_times_with_a_zone_are_encoded_in_utc() -> None:
    times = pd.to_datetime(["2024-03-31 01:30", "2024-10-27 01:30"]).tz_localize("UTC")
    ticks = times.tz_localize(None).to_numpy()

    for zoned in (
        times.tz_convert("Europe/Berlin"),
        pl.Series(times).dt.convert_time_zone("Asia/Tokyo"),
    ):
        found = normalize("t", zoned, "strict")
        assert (found == ticks).all()
        assert list(encode_examples({"t": zoned})) == list(encode_examples({"t": found}))


def test_columns_without_a_value_have_the_type_of_the_frame(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"s": [None, None], "l": [[], []]}, schema={"s": pl.String, "l": pl.List(pl.String)}
    )

    assert schema_of(frame).originals["s"].text == "str"
    found: Any = load_saved(tmp_path, frame)
    assert found["s"].tolist() == [None, None]
    assert schema_of(frame).originals["l"].text == "str"
