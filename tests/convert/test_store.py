"""store: what columns become by a schema, however their lists are laid out and wherever batches end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support.columns import columns_of, same
from tests.support.errors import raised
from tests.support.untyped import load
from tfrecord_lite import (
    FixedLenFeature,
    RaggedFeature,
    RaggedTensor,
    encode_examples,
    parse_example,
    save,
)
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.store import store, type_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original, Schema
from tfrecord_lite.schema.prepare import prepare
from tfrecord_lite.schema.types import Type
from tfrecord_lite.storage.builder import SchemaBuilder


def with_lengths(lists: Lists) -> Lists:
    """The same records, with lengths instead of each number."""
    levels: list[Any] = []
    n_rows = lists.n
    for level in lists.levels:
        levels.append(np.full(n_rows, level) if isinstance(level, int) else level)
        n_rows = int(levels[-1].sum())
    return lists.with_(levels=tuple(levels))


def stored(lists: Lists | SparseLists, schema: Schema) -> dict[str, Lists]:
    own = Type.of(schema.to_items()["x"])
    return store("x", lists, own, prepare(schema)["x"])


@given(columns_of(3))
def test_numbers_and_equal_lengths_are_the_same(column: Any) -> None:
    lists = opened("x", column, "strict")
    schema = schema_of({"x": column}, lossless=True)
    if isinstance(lists, SparseLists):
        return
    other = with_lengths(lists)
    assert type_of("x", other) == type_of("x", lists)
    assert list(encode_examples({"x": other}, schema)) == list(
        encode_examples({"x": lists}, schema)
    )
    assert list(encode_examples({"x": column}, schema)) == list(
        encode_examples({"x": lists}, schema)
    )


@given(columns_of(3))
def test_columns_come_back_by_their_schema(column: Any) -> None:
    schema = schema_of({"x": column}, lossless=True)
    same(parse_example(encode_examples({"x": column}, schema), schema)["x"], column)


@given(columns_of(3))
def test_stored_lists_have_one_level_and_the_values_of_their_kind(column: Any) -> None:
    schema = schema_of({"x": column}, lossless=True)
    dtypes = {"int64": np.int64, "float32": np.float32}
    for lists in stored(opened("x", column, "strict"), schema).values():
        assert len(lists.levels) == 1
        assert lists.kind is not None
        if lists.kind.label in dtypes:
            assert lists.flat.dtype == dtypes[lists.kind.label]
            assert lists.flat.dtype.isnative
        assert np.sum(lists.lengths) == len(lists.flat)


FILLERS = {
    "float64": np.inf, "float32": np.nan, "uint64": 2**64 - 1, "int64": 2**62,
    "datetime64[s]": "NaT", "complex128": np.nan, "U3": "\ud800", "S2": b"\xff",
}  # fmt: skip
ORIGINALS = ["int8", "bool", "float16", "float32", "datetime64[s]", "uint64", "string"]


@pytest.mark.parametrize("dtype", FILLERS)
@pytest.mark.parametrize("original", [None, *ORIGINALS])
def test_fillers_of_absent_records_are_never_checked(dtype: str, original: str | None) -> None:
    """Any values may be where a mask says that none is; they are not written."""
    plain = np.zeros(3, dtype)
    filled = plain.copy()
    if dtype != "U3":
        filled[1] = FILLERS[dtype]
    mask = [False, True, False]
    columns = [{"x": np.ma.MaskedArray(values, mask)} for values in (plain, filled)]
    schema = None
    if original is not None:
        text = "str" if original == "string" else None
        own = Type.of(schema_of(columns[0]).to_items()["x"])
        kind = {"float16": "float32", "float32": "float32", "string": bytes}.get(original, "int64")
        if (own.dtype == "string") != (original == "string") or own.is_raw:
            return
        schema = Schema(
            {"x": RaggedFeature(kind)}, {"x": Original(original, (), text, missing=True)}
        )
    outcomes: list[Any] = []
    for column in columns:
        try:
            outcomes.append(list(encode_examples(column, schema)))
        except InvalidArgumentError as error:
            outcomes.append([error.reason, error.detail])
    assert outcomes[0] == outcomes[1]


DTYPES = ["i1", "i4", "i8", "u1", "u4", "f2", "f4", "f8", "S2", "U2", "?", "M8[s]"]


@st.composite
def rows_of_arrays(draw: DrawFn) -> list[Any]:
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=2))
    count = st.integers(0, 2)
    row = st.builds(lambda dtype, n: np.ones(n, dtype), st.sampled_from([*dtypes, "f8"]), count)
    return draw(st.lists(row, min_size=2, max_size=4))


def schema_of_batches(batches: list[list[Any]]) -> Any:
    """The schema of rows, and their values as they are written; None if they do not go together."""
    builder = SchemaBuilder()
    values = []
    for batch in batches:
        try:
            columns, _ = builder.add_rows([{"x": row} for row in batch])
        except InvalidArgumentError:
            return None
        if "x" in columns:
            values.append(columns["x"].flat)
    return builder.schema, values


def is_float(row: Any) -> bool:
    return bool(row.dtype.kind == "f" and row.size)


@given(rows_of_arrays(), st.integers(1, 3))
def test_it_makes_no_difference_where_a_batch_ends(rows: list[Any], place: int) -> None:
    filled = [is_float(row) for row in rows if row.size]
    whole = schema_of_batches([rows])
    parts = schema_of_batches([rows[:place], rows[place:]] if place < len(rows) else [rows])
    if filled and not filled[0] and any(filled):  # integers that are written cannot become floats
        return
    assert (whole is None) == (parts is None)
    if whole is not None and any(row.size for row in rows):
        assert whole[0] == parts[0]


@pytest.mark.parametrize("place", [1, 1024])
@pytest.mark.parametrize(("first", "then", "dtype"), [
    (np.ones(2, np.int32), np.ones(2, np.int64), "int64"),
    (np.ones(2, np.float32), np.ones(2, np.int64), "float32"),
    (np.ones(2, np.int8), np.ones(1, np.uint8), "int16"),
    (np.array([]), np.ones(2, np.int32), "int32"), (np.array([]), np.array(["a", "b"]), "object"),
    (np.ones(2, np.int32), np.array([]), "int32"), ([], np.ones(2, np.int32), "int64"),
])  # fmt: skip
def test_dtypes_are_widened(tmp_path: Path, place: int, first: Any, then: Any, dtype: str) -> None:
    rows = [first] * place + [then] * 2
    save(tmp_path / "x", ({"x": row} for row in rows))
    found = load(tmp_path / "x")["x"]
    assert [list(row) for row in found] == [list(row) for row in rows]
    if not isinstance(first, list) or place == 1024:
        assert found.dtype == (np.dtype(np.int32) if isinstance(first, list) else np.dtype(dtype))


@pytest.mark.parametrize("place", [3, 1024])
def test_a_float_after_integers(tmp_path: Path, place: int) -> None:
    """Within a batch they are floats; later the integers are written, and the text says what helps."""
    rows = [{"x": 1}] * place + [{"x": 1.5}]
    if place < 1024:
        save(tmp_path / "x", rows)
        assert load(tmp_path / "x")["x"].tolist() == [1.0] * place + [1.5]
        return
    with pytest.raises(InvalidArgumentError, match="a float in the first record") as caught:
        save(tmp_path / "x", rows)
    assert (caught.value.reason, caught.value.key, caught.value.index) == (
        Reason.WRONG_KIND,
        "x",
        place,
    )


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1])
def test_an_original_that_cannot_hold_a_value_is_an_error(value: int) -> None:
    schema = Schema({"x": FixedLenFeature([], "int64")}, {"x": Original("float64", ())})
    error = raised(InvalidArgumentError, encode_examples, {"x": [1, value]}, schema)
    assert (error.reason, error.index) == (Reason.UNREPRESENTABLE, 1)
    caught = raised(InvalidArgumentError, parse_example, encode_examples({"x": [1, value]}), schema)
    assert (caught.reason, caught.index) == (Reason.UNREPRESENTABLE, 1)


def test_byte_strings_that_are_text_only_together() -> None:
    """Each string has to be UTF-8 by itself, not only all of them end to end."""
    schema = Schema({"x": FixedLenFeature([], bytes)}, {"x": Original("string", (), "str")})
    error = raised(InvalidArgumentError, encode_examples, {"x": [b"a", b"\xc3", b"\xa9"]}, schema)
    assert (error.reason, error.index) == (Reason.UNREPRESENTABLE, 1)


def test_masked_strings_with_nothing_masked(tmp_path: Path) -> None:
    for dtype in ("U1", "S1", object):
        column = np.ma.MaskedArray(np.array(["a", "b"], dtype))
        save(tmp_path / "x", {"x": column})
        found = load(tmp_path / "x")["x"]
        assert isinstance(found, np.ma.MaskedArray)
        assert found.tolist() == column.tolist()


def test_ragged_rows_of_fixed_size_keep_their_levels() -> None:
    values = np.arange(12, dtype=np.int32).reshape(6, 2)
    column = RaggedTensor(RaggedTensor(values, np.array([0, 1, 3, 6])), np.array([0, 2, 3]))
    schema = schema_of({"x": column}, lossless=True)
    lists = stored(opened("x", column, "strict"), schema)
    assert lists["x/row_lengths_1"].flat.tolist() == [2, 4, 6]  # values, as in TensorFlow
    assert lists["x"].lengths.tolist() == [6, 6]
    same(parse_example(encode_examples({"x": column}, schema), schema)["x"], column)
