"""Files of one data set: their types depend on the schema, never on what a file holds."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.untyped import load
from tfrecord_lite import (
    BytesColumn,
    FixedLenFeature,
    InvalidArgumentError,
    RaggedTensor,
    Reason,
    Schema,
    SparseTensor,
    TFRecordReader,
    TFRecordWriter,
    VarLenFeature,
    load_schema,
    parse_example,
    save,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hypothesis.strategies import DrawFn

# Shards of one data set, each saved on its own: what they hold differs.
SHARDS: dict[str, list[dict[str, Any]]] = {
    "values": [{"n": 1, "tags": ["a"], "h": 1.5}, {"n": 2, "tags": ["b", "c"], "h": 2.0}],
    "missing": [{"n": 3, "tags": None, "h": None}],
    "empty": [{"n": 4, "tags": [], "h": None}],
    "lacking": [{"n": 5}],
    "nothing": [],
}


@pytest.mark.parametrize("n_shards", [2, 3, 5])
def test_shards_saved_by_themselves_load_as_one_in_any_order(tmp_path: Path, n_shards: int) -> None:
    for name, rows in SHARDS.items():
        save(tmp_path / name, rows)

    for names in itertools.permutations(SHARDS, n_shards):
        if "values" not in names:
            continue
        found = load([tmp_path / name for name in names])
        rows = [row for name in names for row in SHARDS[name]]
        assert found["n"].tolist() == [row["n"] for row in rows]
        assert isinstance(found["tags"], RaggedTensor)
        assert found["tags"].to_list() == [row.get("tags") or [] for row in rows]
        assert found["h"].dtype == np.float64
        assert found["h"].tolist() == [row.get("h") for row in rows]


def test_nested_shards_may_lack_features_too(tmp_path: Path) -> None:
    save(tmp_path / "0", [{"box": {"x": 1}, "pair": (1, 2)}])
    save(tmp_path / "1", [{"box": {"x": 2, "y": 0.5}, "pair": (3, 4)}])

    found = load([tmp_path / "0", tmp_path / "1"])

    assert found["box"]["x"].tolist() == [1, 2]
    assert found["box"]["y"].tolist() == [None, 0.5]
    assert [column.tolist() for column in found["pair"]] == [[1, 3], [2, 4]]


def test_a_file_without_records_goes_with_any_others(tmp_path: Path) -> None:
    save(tmp_path / "0", {"x": [], "y": np.zeros((0, 3), np.uint8)})
    save(tmp_path / "1", {"x": [[1, 2], [3]]})

    for paths in ([tmp_path / "0", tmp_path / "1"], [tmp_path / "1", tmp_path / "0"]):
        found = load(paths)
        assert list(found) == ["x"]
        assert found["x"].to_list() == [[1, 2], [3]]


def test_shards_without_a_sidecar_are_inferred_together(tmp_path: Path) -> None:
    for name in ("missing", "values", "lacking"):
        save(tmp_path / name, SHARDS[name], tmp_path / "schema")

    found = load([tmp_path / name for name in ("missing", "values", "lacking")])

    assert found["tags"].to_list() == [[], [b"a"], [b"b", b"c"], []]
    assert np.ma.getmaskarray(found["h"]).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("one", "other", "key", "text"),
    [
        ({"x": [1]}, {"y": [1]}, None, "none of the features"),
        ({"x": [1], "y": {"z": [1]}}, {"x": [1], "y": ([1],)}, None, "nested differently"),
        ({"x": [1]}, {"x": [0.5]}, "x", "schema="),
        ({"x": [1]}, {"x": [[]]}, "x", "an empty list"),
    ],
)
def test_shards_that_are_stored_in_other_ways_are_rejected(
    tmp_path: Path, one: Any, other: Any, key: str | None, text: str
) -> None:
    save(tmp_path / "0", one)
    save(tmp_path / "1", other)

    with pytest.raises(InvalidArgumentError, match=text) as caught:
        load([tmp_path / "0", tmp_path / "1"])

    error = caught.value
    assert (error.reason, error.key) == (Reason.BAD_ARGUMENT, key)
    assert error.source == str(tmp_path / "1")


# ------------------------------------------------------------------- one schema for all


def alike(one: Any, other: Any) -> None:
    """Assert that two columns, or nested data, have the same containers, dtypes and row shapes."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            alike(one[key], other[key])
    elif isinstance(one, RaggedTensor):
        assert one.row_splits.dtype == other.row_splits.dtype
        alike(one.values, other.values)
    elif isinstance(one, SparseTensor):
        assert one.dense_shape[1:].tolist() == other.dense_shape[1:].tolist()
        alike(one.values, other.values)
    else:
        assert (one.dtype, one.shape[1:]) == (other.dtype, other.shape[1:])
        if one.dtype == object and len(one) and len(other):
            assert type(np.asarray(one).flat[0]) is type(np.asarray(other).flat[0])


def to_lists(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: to_lists(column) for key, column in data.items()}
    return data.to_list() if isinstance(data, RaggedTensor) else data.tolist()


small = st.integers(-(2**7), 2**7 - 1)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": small,
    "float": st.floats(allow_nan=False),
    "array": hnp.arrays(np.float64, (2,), elements=st.floats(allow_nan=False)),
    "uint8": hnp.arrays(np.uint8, (2, 3)),
    "texts": st.lists(texts, max_size=3),
    "bytes": st.lists(st.binary(max_size=3), max_size=2),
    "nested": st.lists(st.lists(small, max_size=2), max_size=2),
    "floats": st.lists(st.floats(allow_nan=False), max_size=3),
    "none": st.none() | small,
    "no_float": st.none() | st.floats(allow_nan=False),
    "no_text": st.none() | texts,
    "no_array": st.none() | hnp.arrays(np.int16, (2,)),
    "scalar": st.builds(np.float32, st.floats(width=32, allow_nan=False)),
    "bool": st.booleans(),
}
# A row with all values: the schema of rows does not depend on which of them come.
EXAMPLE = {
    "int": 1, "float": 0.5, "array": np.zeros(2), "uint8": np.zeros((2, 3), np.uint8),
    "texts": ["a"], "bytes": [b"a"], "nested": [[1]], "floats": [0.5], "none": None,
    "no_float": None, "no_text": None, "no_array": None, "scalar": np.float32(1), "bool": True,
}  # fmt: skip
FULL = {**EXAMPLE, "none": 1, "no_float": 0.5, "no_text": "a", "no_array": np.zeros(2, np.int16)}


@st.composite
def tables(draw: DrawFn) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows, and where to cut them into shards."""
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    n_rows = draw(st.integers(0, 8))
    rows = [{name: draw(VALUES[name]) for name in names} for _ in range(n_rows)]
    cuts = draw(st.lists(st.integers(0, n_rows), max_size=3))
    return rows, sorted(cuts)


@pytest.mark.parametrize("as_columns", [False, True])
@given(table=tables(), batch_size=st.integers(1, 4))
def test_every_shard_and_batch_of_a_schema_has_the_same_types(
    as_columns: bool,
    table: tuple[list[dict[str, Any]], list[int]],
    batch_size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows, cuts = table
    folder = tmp_path_factory.mktemp("shards")
    names = list(rows[0]) if rows else ["int", "no_text", "nested"]
    varying = {"texts": [], "bytes": [], "nested": [[], [1]], "floats": []}
    seen = [{name: each.get(name) for name in names} for each in (FULL, FULL | varying, EXAMPLE)]
    schema = save(folder / "seen", seen)

    paths = []
    for number, (first, last) in enumerate(itertools.pairwise([0, *cuts, len(rows)])):
        part: Any = rows[first:last]
        if as_columns:
            part = {name: [row[name] for row in part] for name in names}
        paths.append(folder / f"part-{number}")
        assert save(paths[-1], part, schema=schema) == schema
    save(folder / "whole", rows, schema=schema)

    expected = load(folder / "seen")
    whole = load(folder / "whole")
    alike(whole, expected)
    assert to_lists(load(paths)) == to_lists(whole)
    for path in paths:
        alike(load(path), expected)
        for batch in load(path, batch_size=batch_size):
            alike(batch, expected)
            stored = parse_example(list(TFRecordReader(path))[:1], schema)
            alike(stored, parse_example(list(TFRecordReader(folder / "seen")), schema))
    for name in names:
        values = [row[name] for row in rows]
        values = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        if name == "no_array":  # masked as a whole
            values = [[None, None] if value is None else value for value in values]
        assert to_lists(whole)[name] == values


def test_inferred_types_are_those_of_every_batch(tmp_path: Path) -> None:
    with TFRecordWriter(tmp_path / "d") as writer:
        writer.write_examples([{"n": 1, "m": 1, "v": [1]}, {"n": 2, "m": 2, "v": [1, 2]}])
        writer.write_examples([{"n": 3, "v": [3]}, {"n": 4, "v": [5]}])

    first, second = load(tmp_path / "d", batch_size=2)

    alike(first, second)
    assert np.ma.getmaskarray(second["m"]).all()


GIVEN = {
    "n": np.arange(2, dtype=np.int8),
    "f": np.zeros((2, 3)),
    "s": np.array(["a", "bc"]),
    "r": RaggedTensor(np.zeros((3, 2)), np.array([0, 1, 3])),
    "m": np.ma.MaskedArray([1.5, 2], [True, False], np.float32),
}


@pytest.mark.parametrize(
    ("change", "reason", "key"),
    [
        ({"n": 200}, Reason.UNREPRESENTABLE, "n"),
        ({"n": None}, Reason.MISSING, "n"),
        ({"n": [1]}, Reason.UNREPRESENTABLE, "n"),
        ({"f": np.zeros(2)}, Reason.WRONG_COUNT, "f"),
        ({"f": 1.5}, Reason.UNREPRESENTABLE, "f"),
        ({"f": [1, 2]}, Reason.WRONG_COUNT, "f"),
        ({"s": "abc"}, Reason.UNREPRESENTABLE, "s"),
        ({"s": b"a"}, Reason.UNREPRESENTABLE, "s"),
        ({"r": [[1, 2], [3]]}, Reason.WRONG_COUNT, "r"),
        ({"r": np.zeros((4, 3))}, Reason.WRONG_COUNT, "r"),
        ({"m": 1e300}, Reason.UNREPRESENTABLE, "m"),
        ({"m": [1.0]}, Reason.UNREPRESENTABLE, "m"),
        ({"k": 1}, Reason.BAD_ARGUMENT, "k"),
    ],
)
def test_a_row_that_does_not_fit_the_schema_is_named(
    tmp_path: Path, change: dict[str, Any], reason: Reason, key: str
) -> None:
    schema = save(tmp_path / "d", GIVEN)
    row = {"n": 1, "f": [1.0, 2, 3], "s": "a", "r": [[1, 2.5]], "m": 0.1}

    with pytest.raises(InvalidArgumentError) as caught:
        save(tmp_path / "rows", [row] * 1500 + [row | change], schema=schema)

    assert (caught.value.reason, caught.value.key) == (reason, key)
    assert caught.value.index in (None, 1500)
    assert not (tmp_path / "rows").exists()


def test_byte_strings_are_not_text(tmp_path: Path) -> None:
    schema = save(tmp_path / "d", {"x": ["a"]})

    for column in ([b"a"], np.array(["a"], "S1"), BytesColumn.from_list([b"a"])):
        with pytest.raises(InvalidArgumentError, match="decode them") as caught:
            save(tmp_path / "d", {"x": column}, schema=schema)
        assert (caught.value.reason, caught.value.key) == (Reason.WRONG_KIND, "x")


def test_rows_take_the_form_of_a_schema(tmp_path: Path) -> None:
    schema = save(tmp_path / "d", GIVEN)
    rows = [
        {"n": 1, "f": [1, 2, 3], "s": "a", "r": [[1, 2.5]], "m": 0.1},
        {"n": np.int64(2), "f": np.ones(3, np.float32), "s": "", "r": None},
        {"n": 1, "f": [0, 0, 0], "s": np.str_("b"), "r": np.ones((2, 2)), "m": None},
    ]

    save(tmp_path / "rows", rows, schema=schema)

    found = load(tmp_path / "rows")
    alike(found, load(tmp_path / "d"))
    assert found["n"].tolist() == [1, 2, 1]
    assert found["r"].to_list() == [[[1, 2.5]], [], [[1, 1], [1, 1]]]
    assert found["m"].tolist() == [pytest.approx(0.1), None, None]


def test_a_schema_of_another_program_is_kept(tmp_path: Path) -> None:
    features = {"x": FixedLenFeature([2], np.float32), "y": VarLenFeature(bytes)}

    schema = save(tmp_path / "d", [{"x": [0.1, 2], "y": None}, {"x": [3, 4]}], schema=features)

    assert schema == load_schema(f"{tmp_path}/d.schema.json") == Schema(features)
    found = load(tmp_path / "d")
    assert (found["x"].dtype, found["x"].shape) == (np.float32, (2, 2))
    assert isinstance(found["y"], SparseTensor)
    for rows in ([{"y": "a"}], [{"x": None}]):
        with pytest.raises(InvalidArgumentError, match="required"):
            save(tmp_path / "d", rows, schema=features)
    with pytest.raises(TypeError, match="features must be a mapping"):
        save(tmp_path / "d", rows, schema=[1])  # type: ignore[arg-type]


def test_what_a_schema_adds_is_nested_as_its_path(tmp_path: Path) -> None:
    schema = save(tmp_path / "0", [{"n": 1, "box": {"x": None, "tags": ["a"]}}])

    save(tmp_path / "1", [{"n": 2}], schema=schema)
    save(tmp_path / "2", [], schema=schema)
    save(
        tmp_path / "3",
        {"n": [None, None], "m": [1, 2]},
        schema={"n": VarLenFeature(int), "m": VarLenFeature(int)},
    )
    save(tmp_path / "4", {"n": [None, None]}, schema={"n": VarLenFeature(int)})

    for name in "12":
        alike(load(tmp_path / name), load(tmp_path / "0"))
    assert load([tmp_path / name for name in "012"])["box"]["tags"].to_list() == [["a"], []]
    assert load(tmp_path / "4")["n"].shape[0] == 2
    with pytest.raises(InvalidArgumentError, match="no place for this feature"):
        save(tmp_path / "5", [(1, 2)], schema={n: VarLenFeature(int) for n in "012"})


def test_flat_and_nested_names_do_not_mix(tmp_path: Path) -> None:
    save(tmp_path / "0", [{"a/b": 1, "c": 1}])
    save(tmp_path / "1", [{"a": {"b": 1}, "c": 1}])

    with pytest.raises(InvalidArgumentError, match="nested differently"):
        load([tmp_path / "0", tmp_path / "1"])
