"""Files of one data set: their types depend on the schema, never on what a file holds."""

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.strategies import DrawFn

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.untyped import load
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.files.output import OutputFile
from tfrecord_lite.schema import Original
from tfrecord_lite.storage import builder

# Shards of one data set, each saved on its own: what they hold differs.
SHARDS: dict[str, list[dict[str, Any]]] = {
    "values": [{"n": 1, "tags": ["a"], "h": 1.5}, {"n": 2, "tags": ["b", "c"], "h": 2.0}],
    "missing": [{"n": 3, "tags": None, "h": None}], "empty": [{"n": 4, "tags": [], "h": None}],
    "lacking": [{"n": 5}], "nothing": [],
}  # fmt: skip


@pytest.mark.parametrize("n_shards", [2, 3, 5])
def test_shards_saved_by_themselves_load_as_one_in_any_order(tmp_path: Path, n_shards: int) -> None:
    for name, rows in SHARDS.items():
        tl.save(tmp_path / name, rows)
    for names in itertools.permutations(SHARDS, n_shards):
        if "values" not in names:
            continue
        found = load([tmp_path / name for name in names])
        rows = [row for name in names for row in SHARDS[name]]
        assert found["n"].tolist() == [row["n"] for row in rows]
        assert isinstance(found["tags"], tl.RaggedTensor)
        assert found["tags"].to_list() == [row.get("tags") or [] for row in rows]
        assert found["h"].dtype == np.float64
        assert found["h"].tolist() == [row.get("h") for row in rows]


ROWS: list[Any] = [[[1, 2], [3]], [[0.5, 1.5], [2.5]], [["a"], ["b", "c"]]]
BOXES: list[Any] = [[{"box": {"x": 1}}], [{"box": {"x": 2, "y": 0.5}}]]


@pytest.mark.parametrize(("one", "other", "expected"), [
    (*BOXES, {"box": {"x": [1, 2], "y": [None, 0.5]}}),
    ([{"p": (1, 2)}], [{"p": (3, 4)}], {"p": ([1, 3], [2, 4])}),
    ({"x": [], "y": np.zeros((0, 3), np.uint8)}, {"x": [[1, 2], [3]]}, {"x": [[1, 2], [3]]}),
    *(([{"x": []}] * 2, {"x": rows}, {"x": [[], [], *rows]}) for rows in ROWS),
    ([{"x": None}], [{"x": 5}], {"x": [None, 5]}),
])  # fmt: skip
def test_columns_of_shards_join(tmp_path: Path, one: Any, other: Any, expected: Any) -> None:
    tl.save(tmp_path / "0", one)
    tl.save(tmp_path / "1", other)
    found = load([tmp_path / "0", tmp_path / "1"])
    assert to_lists(found) == expected
    if "p" not in found:
        alike(found, load([tmp_path / "1", tmp_path / "0"]))


@pytest.mark.parametrize(("one", "other", "key", "text"), [
    ({"x": [1]}, {"y": [1]}, None, "none of the features"),
    ({"x": [1]}, ([1],), None, "none of the features"),
    ({"x": [1], "y": {"z": [1]}}, {"x": [1], "y": ([1],)}, None, "nested differently"),
    ([{"a/b": 1, "c": 1}], [{"a": {"b": 1}, "c": 1}], None, "nested differently"),
    ({"x": [1]}, {"x": [0.5]}, "x", "schema="), ({"x": [1]}, {"x": [[]]}, "x", "an empty list"),
    ({"x": [1]}, {"x": np.zeros(1, np.float32)}, "x", "float32"),
    ({"x": [1]}, {"x": np.zeros((1, 2, 2), int)}, "x", "shape"),
])  # fmt: skip
def test_shards_that_are_stored_in_other_ways_are_rejected(
    tmp_path: Path, one: Any, other: Any, key: str | None, text: str
) -> None:
    tl.save(tmp_path / "0", one)
    tl.save(tmp_path / "1", other)
    error = raised(InvalidArgumentError, load, [tmp_path / "0", tmp_path / "1"], match=text)
    assert (error.reason, error.key) == (Reason.BAD_ARGUMENT, key)
    assert error.source == str(tmp_path / "1")


def alike(one: Any, other: Any) -> None:
    """Assert that two columns, or nested data, have the same containers, dtypes and row shapes."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            alike(one[key], other[key])
    elif isinstance(one, tl.RaggedTensor):
        assert one.row_splits.dtype == other.row_splits.dtype
        alike(one.values, other.values)
    elif isinstance(one, tl.SparseTensor):
        assert one.dense_shape[1:].tolist() == other.dense_shape[1:].tolist()
        alike(one.values, other.values)
    else:
        assert (one.dtype, one.shape[1:]) == (other.dtype, other.shape[1:])
        if one.dtype == object and len(one) and len(other):
            assert type(np.asarray(one).flat[0]) is type(np.asarray(other).flat[0])


def to_lists(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: to_lists(column) for key, column in data.items()}
    if isinstance(data, tuple):
        return tuple(map(to_lists, data))
    return data.to_list() if isinstance(data, tl.RaggedTensor) else data.tolist()


small = st.integers(-(2**7), 2**7 - 1)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": small, "float": st.floats(allow_nan=False),
    "array": hnp.arrays(np.float64, (2,), elements=st.floats(allow_nan=False)),
    "uint8": hnp.arrays(np.uint8, (2, 3)), "texts": st.lists(texts, max_size=3),
    "bytes": st.lists(st.binary(max_size=3), max_size=2),
    "nested": st.lists(st.lists(small, max_size=2), max_size=2),
    "floats": st.lists(st.floats(allow_nan=False), max_size=3), "none": st.none() | small,
    "no_float": st.none() | st.floats(allow_nan=False), "no_text": st.none() | texts,
    "no_array": st.none() | hnp.arrays(np.int16, (2,)),
    "scalar": st.builds(np.float32, st.floats(width=32, allow_nan=False)), "bool": st.booleans(),
    "varying": hnp.arrays(np.float64, st.integers(1, 3), elements=st.floats(allow_nan=False)),
}  # fmt: skip
# A row with all values: the schema of rows does not depend on which of them come.
EXAMPLE = {
    "int": 1, "float": 0.5, "array": np.zeros(2), "uint8": np.zeros((2, 3), np.uint8),
    "texts": ["a"], "bytes": [b"a"], "nested": [[1]], "floats": [0.5], "none": None,
    "no_float": None, "no_text": None, "no_array": None, "scalar": np.float32(1), "bool": True,
    "varying": np.zeros(2),
}  # fmt: skip
FLOATS = ("float", "array", "floats", "no_float", "varying")
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
@given(table=tables())
def test_every_shard_and_batch_of_a_schema_has_the_same_types(
    as_columns: bool,
    table: tuple[list[dict[str, Any]], list[int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows, cuts = table
    folder = tmp_path_factory.mktemp("shards")
    names = list(rows[0]) if rows else ["int", "no_text", "nested"]
    varying = {
        "texts": [], "bytes": [], "nested": [[], [1]], "floats": [], "varying": np.zeros(3)
    }  # fmt: skip
    seen = [{name: each.get(name) for name in names} for each in (FULL, FULL | varying, EXAMPLE)]
    schema = tl.save(folder / "seen", seen, lossless=True)

    paths = []
    for number, (first, last) in enumerate(itertools.pairwise([0, *cuts, len(rows)])):
        part: Any = rows[first:last]
        if as_columns:
            part = {name: [row[name] for row in part] for name in names}
        paths.append(folder / f"part-{number}")
        assert tl.save(paths[-1], part, schema=schema) == schema
    tl.save(folder / "whole", rows, schema=schema)

    expected = load(folder / "seen")
    whole = load(folder / "whole")
    alike(whole, expected)
    assert to_lists(load(paths)) == to_lists(whole)
    for path in paths:
        alike(load(path), expected)
        if records := list(tl.TFRecordReader(path)):
            stored = tl.parse_example(records[:1], schema)
            alike(stored, tl.parse_example(list(tl.TFRecordReader(folder / "seen")), schema))
    for name in names:
        values = [row[name] for row in rows]
        values = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        if name == "no_array":  # masked as a whole
            values = [[None, None] if value is None else value for value in values]
        assert to_lists(whole)[name] == values


@given(table=tables(), size=st.integers(1, 3))
def test_rows_are_stored_alike_wherever_a_batch_ends(
    table: tuple[list[dict[str, Any]], list[int]],
    size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # Of empty lists in lists, the first batch decides what they are.
    rows = [{name: row[name] for name in row if name != "nested"} for row in table[0]]
    floats = [
        np.ravel(row[n]).astype(float)
        for row in rows
        for n in {*FLOATS} & {*row}
        if row[n] is not None
    ]
    assume(all((abs(numbers[np.isfinite(numbers)]) < 3e38).all() for numbers in floats))
    folder = tmp_path_factory.mktemp("batches")
    for lossless in (False, True):
        kinds = [{name: FULL[name] for name in rows[0]}] if rows else []
        for part in (rows, kinds + rows):
            with warnings.catch_warnings(action="ignore"):  # of what is rounded
                schema = tl.save(folder / "whole", part, lossless=lossless)
                with mock.patch.object(builder, "_BATCH_ROWS", size):
                    assert tl.save(folder / "batches", iter(part), lossless=lossless) == schema
            assert to_lists(load(folder / "batches")) == to_lists(load(folder / "whole"))
        # Where an earlier row tells the kind of an empty list, the records are the same.
        assert (folder / "batches").read_bytes() == (folder / "whole").read_bytes()


GIVEN = {
    "n": np.arange(2, dtype=np.int8), "f": np.zeros((2, 3)), "s": np.array(["a", "bc"]),
    "r": tl.RaggedTensor(np.zeros((3, 2)), np.array([0, 1, 3])),
    "m": np.ma.MaskedArray([1.5, 2], [True, False], np.float32),
}  # fmt: skip


@pytest.mark.parametrize(("change", "reason", "key"), [
    ({"n": 200}, Reason.UNREPRESENTABLE, "n"), ({"n": None}, Reason.MISSING, "n"),
    ({"n": [1]}, Reason.UNREPRESENTABLE, "n"), ({"f": np.zeros(2)}, Reason.WRONG_COUNT, "f"),
    ({"f": 1.5}, Reason.UNREPRESENTABLE, "f"), ({"f": [1, 2]}, Reason.WRONG_COUNT, "f"),
    ({"s": "abc"}, Reason.UNREPRESENTABLE, "s"), ({"s": b"\xff"}, Reason.UNREPRESENTABLE, "s"),
    ({"r": [[1, 2], [3]]}, Reason.WRONG_COUNT, "r"),
    ({"r": np.zeros((4, 3))}, Reason.WRONG_COUNT, "r"), ({"m": 1e300}, Reason.UNREPRESENTABLE, "m"),
    ({"m": [1.0]}, Reason.UNREPRESENTABLE, "m"), ({"k": 1}, Reason.BAD_ARGUMENT, "k"),
])  # fmt: skip
def test_a_row_that_does_not_fit_the_schema_is_named(
    tmp_path: Path, change: dict[str, Any], reason: Reason, key: str
) -> None:
    schema = tl.save(tmp_path / "d", GIVEN)
    row = {"n": 1, "f": [1.0, 2, 3], "s": "a", "r": [[1, 2.5]], "m": 0.1}
    with pytest.raises(InvalidArgumentError) as caught:
        tl.save(tmp_path / "rows", [row] * 1500 + [row | change], schema=schema)
    assert (caught.value.reason, caught.value.key) == (reason, key)
    assert caught.value.index in (None, 1500)
    assert not (tmp_path / "rows").exists()


def test_byte_strings_are_text_if_they_are_utf8(tmp_path: Path) -> None:
    schema = tl.save(tmp_path / "d", {"x": ["a"]})
    for items in ([b"a", b"\xe4"], [b"a", "ä".encode()]):
        for column in (items, np.array(items, "S2"), tl.BytesColumn.from_list(items)):
            if b"\xe4" not in items:
                tl.save(tmp_path / "d", {"x": column}, schema=schema)
                assert load(tmp_path / "d")["x"].tolist() == ["a", "ä"]
                continue
            with pytest.raises(InvalidArgumentError, match="not UTF-8") as caught:
                tl.save(tmp_path / "d", {"x": column}, schema=schema)
            error = caught.value
            assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 1)


LARGE = 2**24 + 1
"""The first integer that float32 does not hold."""


@pytest.mark.parametrize(("example", "column"), [
    (np.zeros(1, np.float32), [0.5, LARGE]), (np.zeros((1, 2), np.float32), [[0.5, 1], [2, LARGE]]),
    (tl.RaggedTensor(np.zeros(0, np.float32), [0]), [[0.5, 2.0], [LARGE]]),
    (np.ma.MaskedArray(np.zeros(2, np.float32), [False, True]), [None, LARGE, 0.5]),
    (np.zeros(1, np.complex64), [1j, LARGE]),
])  # fmt: skip
@pytest.mark.parametrize("form", ["columns", "rows"])
def test_integers_are_never_rounded(tmp_path: Path, example: Any, column: Any, form: str) -> None:
    schema = schema_of({"x": example})
    data = {"x": column} if form == "columns" else [{"x": value} for value in column]
    with pytest.raises(InvalidArgumentError, match="not exact") as caught:
        tl.save(tmp_path / "d", data, schema=schema)
    assert (caught.value.reason, caught.value.key) == (Reason.UNREPRESENTABLE, "x")
    assert caught.value.index == 1
    assert not (tmp_path / "d").exists()
    rounded = schema_of({"x": np.zeros(1)})
    raw = tl.Schema({"x": tl.FixedLenFeature([], bytes)}, {"x": Original("float32", [])})
    for each in (rounded, raw):
        with pytest.raises(InvalidArgumentError, match="not exact"):
            tl.save(tmp_path / "d", {"x": [0.5, LARGE]}, schema=each)
    with pytest.warns(UserWarning, match="rounded to float32 in 'x'"):
        tl.save(tmp_path / "d", {"x": [0.5, LARGE - 1, float(LARGE)]}, schema=rounded)
    assert load(tmp_path / "d")["x"].tolist() == [0.5, LARGE - 1, LARGE - 1]


@pytest.mark.parametrize(("dtype", "value"), [("S2", b"a\0"), ("S2", b"\0"), ("U2", "a\0")])
def test_strings_that_numpy_cuts_are_rejected(tmp_path: Path, dtype: str, value: Any) -> None:
    schema = schema_of({"x": np.zeros(1, dtype)})
    objects = np.array([b"ab" if dtype == "S2" else "ab", value], object)
    for data in ({"x": objects.tolist()}, {"x": objects}, [{"x": item} for item in objects]):
        with pytest.raises(InvalidArgumentError, match="NULs at the end") as caught:
            tl.save(tmp_path / "d", data, schema=schema)
        assert (caught.value.reason, caught.value.index) == (Reason.UNREPRESENTABLE, 1)
    raised(
        InvalidArgumentError, tl.encode_examples, {"x": objects}, schema, match="NULs at the end"
    )
    tl.save(tmp_path / "d", {"x": objects.astype(dtype)}, schema=schema)
    assert load(tmp_path / "d")["x"].tolist() == objects.astype(dtype).tolist()


def test_a_schema_of_another_program_is_kept(tmp_path: Path) -> None:
    features = {"x": tl.FixedLenFeature([2], np.float32), "y": tl.VarLenFeature(bytes)}
    schema = tl.save(tmp_path / "d", [{"x": [0.1, 2], "y": None}, {"x": [3, 4]}], schema=features)
    assert schema == tl.load_schema(f"{tmp_path}/d.schema.json") == tl.Schema(features)
    found = load(tmp_path / "d")
    assert (found["x"].dtype, found["x"].shape) == (np.float32, (2, 2))
    assert isinstance(found["y"], tl.SparseTensor)
    for rows in ([{"y": "a"}], [{"x": None}]):
        raised(
            InvalidArgumentError, tl.save, tmp_path / "d", rows, schema=features, match="required"
        )
    with pytest.raises(TypeError, match="schema must be a Schema, a dict of"):
        tl.save(tmp_path / "d", rows, schema=[1])  # type: ignore[arg-type]


def test_what_a_schema_adds_is_nested_as_its_path(tmp_path: Path) -> None:
    schema = tl.save(tmp_path / "0", [{"n": 1, "box": {"x": None, "tags": ["a"]}}])
    tl.save(tmp_path / "1", [{"n": 2}], schema=schema)
    tl.save(tmp_path / "2", [], schema=schema)
    tl.save(tmp_path / "4", {"n": [None, None]}, schema={"n": tl.VarLenFeature(int)})
    for name in "12":
        alike(load(tmp_path / name), load(tmp_path / "0"))
    assert load([tmp_path / name for name in "012"])["box"]["tags"].to_list() == [["a"], []]
    assert load(tmp_path / "4")["n"].shape[0] == 2
    with pytest.raises(InvalidArgumentError, match="no place for this feature"):
        tl.save(tmp_path / "5", [(1, 2)], schema={n: tl.VarLenFeature(int) for n in "012"})


COLUMNS = {
    "n": np.arange(10),
    "r": tl.RaggedTensor(np.arange(45), np.array([0, 0, 1, 3, 6, 10, 15, 21, 28, 36, 45])),
    "m": np.ma.MaskedArray(np.arange(10.0), np.arange(10) % 3 == 0),
    "s": tl.SparseTensor(np.array([[1, 0], [4, 2], [9, 1]]), np.array([1.5, 2, 3]), (10, 3)),
}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("num_shards", [1, 3, 10, 12])
def test_columns_are_divided_evenly_and_in_order(tmp_path: Path, num_shards: int) -> None:
    schema = tl.save(tmp_path / "train.tfrecord", COLUMNS, num_shards=num_shards)
    paths = sorted(tmp_path.glob("train-*.tfrecord"))
    assert [path.name for path in paths] == [
        f"train-{i:05d}-of-{num_shards:05d}.tfrecord" for i in range(num_shards)
    ]
    tl.save(tmp_path / "whole", COLUMNS)
    whole = load(tmp_path / "whole")
    for source in (f"{tmp_path}/train-*", f"{tmp_path}/train@{num_shards}.tfrecord", paths):
        found = load(source)
        alike(found, whole)
        for name in ("n", "r", "m"):
            assert to_lists(found[name]) == to_lists(whole[name])
        assert tl.to_dense(found["s"]).tolist() == tl.to_dense(whole["s"]).tolist()
    sizes = [len(load(path)["n"]) for path in paths]
    assert max(sizes) - min(sizes) <= 1
    for path in paths:
        alike(load(path), whole)
        assert tl.load_schema(f"{path}.schema.json") == schema


@pytest.mark.parametrize("n_rows", [0, 1, 5, 2500])
def test_rows_keep_their_order(tmp_path: Path, n_rows: int) -> None:
    rows = [{"n": i, "tags": ["x"] * (i % 3)} for i in range(n_rows)]
    tl.save(tmp_path / "a@3.tfrecord", rows, num_shards=3)
    tl.save(tmp_path / "b@3.tfrecord", iter(rows), num_shards=3)
    for name in ("a", "b") if n_rows else ():
        assert load(tmp_path / f"{name}@3.tfrecord")["n"].tolist() == list(range(n_rows))
    files = [[path.read_bytes() for path in sorted(tmp_path.glob(f"{c}-*.tfrecord"))] for c in "ab"]
    assert files[0] == files[1]
    assert len(names_in(tmp_path)) == 12


@pytest.mark.parametrize(("name", "num_shards", "first", "n_files"), [
    ("a", 2, "a-00000-of-00002", 4), ("a.tfrecord", 2, "a-00000-of-00002.tfrecord", 4),
    ("a-1.5.tfrecord.gz", 2, "a-1.5-00000-of-00002.tfrecord.gz", 4),
    ("a.GZ", 2, "a-00000-of-00002.GZ", 4), ("a-{shard}-{num_shards}", 2, "a-0-2", 4),
    ("a@2.tfrecord", None, "a-00000-of-00002.tfrecord", 4), ("a@2", 2, "a-00000-of-00002", 4),
    ("backup@20240131", None, "backup@20240131", 2), ("a@0", None, "a@0", 2),
    ("a@b", None, "a@b", 2),
])  # fmt: skip
def test_shards(tmp_path: Path, name: str, num_shards: Any, first: str, n_files: int) -> None:
    tl.save(tmp_path / name, {"n": np.arange(3)}, num_shards=num_shards)
    assert load(tmp_path / first)["n"].tolist() == [0, 1, 2][: 1 if n_files == 4 else 3]
    assert len(names_in(tmp_path)) == n_files


@pytest.mark.parametrize(
    ("name", "num_shards", "error"),
    [
        ("a-{shard}.tfrecord", None, InvalidArgumentError),
        ("there@2", None, InvalidArgumentError),  # a file of this name would hide the shards
        ("there@2", 2, InvalidArgumentError),
        ("a{shard:x}{shard}{y}", 2, InvalidArgumentError),
        ("a@2@3.x", 2, InvalidArgumentError),
        ("a", 0, InvalidArgumentError),
        ("a", 2.5, TypeError),
    ],
)
def test_wrong_names(tmp_path: Path, name: str, num_shards: Any, error: type[Exception]) -> None:
    (tmp_path / "there@2").touch()
    raised(error, tl.save, tmp_path / name, {"n": [1]}, num_shards=num_shards)
    assert names_in(tmp_path) == ["there@2"]


def test_shards_may_share_a_schema_file(tmp_path: Path) -> None:
    tl.save(tmp_path / "d", COLUMNS, num_shards=2)
    tl.save(tmp_path / "d", COLUMNS, tmp_path / "schema", num_shards=2)
    assert names_in(tmp_path) == ["d-00000-of-00002", "d-00001-of-00002", "schema"]
    assert load(tmp_path / "d@2", schema=tmp_path / "schema")["n"].tolist() == list(range(10))
    with pytest.raises(InvalidArgumentError, match="another file than the data"):
        tl.save(tmp_path / "d", COLUMNS, tmp_path / "d-00001-of-00002", num_shards=2)


def test_a_pattern_does_not_mix_shards_of_two_saves(tmp_path: Path) -> None:
    for num_shards in (4, 2):
        tl.save(tmp_path / "d.tfrecord", COLUMNS, num_shards=num_shards)
    for pattern in ("d-*.tfrecord", "*"):
        error = raised(InvalidArgumentError, load, tmp_path / pattern, match=r"d@2.*d@4")
        assert error.reason is Reason.BAD_ARGUMENT
    for pattern in ("d@2.tfrecord", "d-*-of-00004.tfrecord"):
        assert load(tmp_path / pattern)["n"].tolist() == list(range(10))


def test_a_missing_file_whose_shards_are_there_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.tfrecord"
    tl.save(path, COLUMNS, num_shards=4)
    for read in (load, tl.TFRecordFile, tl.infer_schema, lambda p: list(tl.TFRecordReader(p))):
        assert raised(FileNotFoundError, read, path, match=r"p@4\.tfrecord").filename == str(path)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("is_new", [True, False])
def test_shards_that_cannot_appear_leave_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, is_new: bool
) -> None:
    if not is_new:
        tl.save(tmp_path / "d", {"old": [1]}, num_shards=3)
    commit, calls = OutputFile.commit, itertools.count()

    def failing(file: OutputFile) -> None:
        if next(calls) == at:
            raise OSError(28, "no space")
        commit(file)

    monkeypatch.setattr(OutputFile, "commit", failing)
    raised(OSError, tl.save, tmp_path / "d", COLUMNS, num_shards=3, match="no space")

    names = names_in(tmp_path)
    assert not [name for name in names if name.endswith(".tmp")]
    if is_new:
        assert names == []
        return
    # What is there is whole, and never read by another's schema.
    for path in tmp_path.glob("*[0-9]"):
        with contextlib.suppress(InvalidArgumentError):
            assert list(load(path)) in (["old"], list(COLUMNS))


def test_an_error_leaves_no_shard(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"n": i} for i in range(3000))
        raise KeyboardInterrupt

    raised(KeyboardInterrupt, tl.save, tmp_path / "d", rows(), num_shards=3)
    raised(FileNotFoundError, tl.save, tmp_path / "none/{shard}", [{"n": 1}], num_shards=3)
    (tmp_path / "e-00001-of-00002").mkdir()
    raised(IsADirectoryError, tl.save, tmp_path / "e", [{"n": 1}], num_shards=2)
    assert names_in(tmp_path) == ["e-00001-of-00002"]
