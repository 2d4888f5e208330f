"""Many dictionaries to SequenceExamples: as if each were encoded by itself, errors too."""

import io
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import (
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    encode_sequence_example,
    encode_sequence_examples,
)
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.encode import rows as buffer
from tfrecord_lite.example.sequence import encode

INT64 = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))
FLOAT = st.floats(width=32)
TEXT = st.one_of(st.binary(max_size=5), st.binary(min_size=100, max_size=140))
DTYPES = ["?", "i1", "i2", "<i4", "i8", "u1", "u4", "u8", "f2", "<f4", "f8", ">f4", ">i4", "object"]

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int": INT64, "float": FLOAT, "bytes": TEXT, "str": st.text(max_size=4), "bool": st.booleans(),
}  # fmt: skip


def arrays(dtype: str) -> st.SearchStrategy[Any]:
    if dtype == "object":
        values: st.SearchStrategy[Any] = st.one_of(st.lists(TEXT, max_size=3), st.lists(INT64))
    else:
        values = st.lists(st.integers(0, 1 if dtype == "?" else 100), max_size=4)
    return values.map(lambda some: np.array(some, dtype))


def forms_of(scalars: st.SearchStrategy[Any]) -> list[st.SearchStrategy[Any]]:
    lists = st.lists(scalars, max_size=3)
    return [scalars, st.lists(scalars, min_size=1, max_size=3), lists, lists.map(tuple)]


def alternatives() -> list[st.SearchStrategy[Any]]:
    """Return what the values of one key may be in a program: of one type, mostly."""
    found = [form for scalars in SCALARS.values() for form in forms_of(scalars)]
    found += [arrays(dtype) for dtype in DTYPES]
    matrices = [st.just(np.zeros((1, 2), "f4")), st.just(np.array(7)), st.just(np.int64(5))]
    wrong = [st.just(2**64), st.just(1e300), st.just("\ud800"), st.just(object())]
    return [*found, *matrices, *wrong, st.none()]


VALUES = alternatives()
one_type = st.integers(0, len(VALUES) - 1)


@st.composite
def many_rows(draw: st.DrawFn) -> list[Any]:
    usual = draw(st.integers(0, len(VALUES) - 1 - 7)), draw(st.integers(0, len(VALUES) - 1 - 7))
    keys = draw(st.sampled_from([["a"], ["b", "a"], []]))
    names = draw(st.sampled_from([["x"], ["y", "x"], []]))
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        is_odd = draw(st.integers(0, 9)) == 0
        of_list, of_context = (draw(one_type), draw(one_type)) if is_odd else usual
        made: dict[str, Any] = {}
        if keys or not is_odd:
            made["context"] = {key: draw(VALUES[of_context]) for key in keys}
        if names or not is_odd:
            made["feature_lists"] = {n: draw(st.lists(VALUES[of_list], max_size=3)) for n in names}
        rows.append(made)
    return rows


def one_by_one(rows: list[Any]) -> Any:
    """Return what a loop over the records makes, or the error and the record it is about."""
    found = []
    for index, one in enumerate(rows):
        try:
            found.append(encode_sequence_example(one))
        except InvalidArgumentError as error:
            return error.reason, index, error.key, error.detail
        except TypeError as error:
            return str(error)
    return found


def all_at_once(rows: Any) -> Any:
    try:
        return encode_sequence_examples(rows).to_list()
    except InvalidArgumentError as error:
        return error.reason, error.index, error.key, error.detail
    except TypeError as error:
        return str(error)


@given(many_rows(), st.integers(1, 3), st.booleans())
def test_many_records_are_what_each_is(rows: list[Any], times: int, is_iterator: bool) -> None:
    rows = rows * times
    assert all_at_once(iter(rows) if is_iterator else rows) == one_by_one(rows)


def row_of(number: int) -> dict[str, Any]:
    return {
        "context": {"id": number, "name": b"n%d" % number},
        "feature_lists": {
            "ints": [[number, step] for step in range(number % 3 + 1)],
            "arrays": [np.full(2, number + step, np.float32) for step in range(number % 4 + 1)],
            "texts": ["t" * step for step in range(number % 2 + 1)],
            "many": [[number / 3] * 20] * (number % 4 + 1),
            "long": [number] * (30 + number % 5),
            "matrix": np.full((number % 3 + 1, 2), number, np.float32),
            "cube": np.full((2, 2, 3), number, np.int16)[:, ::-1],
            "flags": [True, False],
            "numbers": [np.int64(number), np.int64(2)],
            "halves": [[np.float32(0.5)], [np.float32(number)]],
        },
    }


@pytest.mark.parametrize(
    "steps", [np.zeros((0, 2)), np.zeros((2, 0), "f4"), np.array(5), np.zeros((2, 2), ">f4")]
)
def test_odd_arrays_of_steps(steps: Any) -> None:
    rows = [{"feature_lists": {"x": steps}}] * 3
    assert all_at_once(rows) == one_by_one(rows)


def is_in_columns(rows: list[Any]) -> bool:
    waiting = encode.SequenceRowBuffer()
    return all(map(waiting.take_in, rows))


def others() -> list[Any]:
    """Return what has no form, or another than the records above, or is wrong."""
    return [
        {}, {"context": {}, "feature_lists": {}}, {"feature_lists": row_of(1)["feature_lists"]},
        {"feature_lists": {}, "context": row_of(1)["context"]}, {"context": None},
        {"context": {1: 2}}, {"context": {"id": 2**70}}, {"lists": {}},
        {"feature_lists": {"ints": [[1], [2.5]]}}, {"feature_lists": {"ints": [[], [2.5], []]}},
        {"feature_lists": {"ints": [], "texts": [[]]}},
        {"feature_lists": {"ints": [np.empty(0, object)] * 2}},
        {"feature_lists": {"ints": iter([1, 2])}}, {"feature_lists": {"ints": 5}},
        {"feature_lists": {"long": [1.5] * 39 + [1e39]}},
        {"feature_lists": {"long": [1] * 39 + [2**40]}},
        {"feature_lists": {"long": [1] * 39 + [2.5]}},
        {"feature_lists": {"long": [[1]] * 39 + [[None]]}}, {"feature_lists": {"ints": [1, 2**64]}},
        {"feature_lists": {"arrays": np.ones((3, 2), np.float32)}},
        {"feature_lists": {"arrays": np.ma.masked_array([[1, 2]], np.array([[False, True]]))}},
        {"feature_lists": {"\ud800": [1]}}, {"context": {}, "feature_lists": {"x": [1]}}, None, 5,
        sorted,
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(6))
def test_one_record_is_another(place: int) -> None:
    rows = [row_of(number) for number in range(6)]
    assert is_in_columns(rows)
    assert all_at_once(rows) == one_by_one(rows)
    for number in range(len(others())):
        some = [*rows[:place], others()[number], *rows[place:]]
        again = [*rows[:place], others()[number], *rows[place:]]  # steps may come but once
        assert all_at_once(again) == one_by_one(some)


def test_a_record_may_change_after_it_was_taken() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        step = np.zeros(2, np.float32)
        same: dict[str, Any] = {
            "context": {"id": [0]},
            "feature_lists": {"x": [step, step], "y": [step]},
        }
        for number in range(5):
            same["context"]["id"][0] = number
            step[:] = number
            yield same

    expected = [encode_sequence_example(one) for one in rows()]
    assert encode_sequence_examples(rows()).to_list() == expected
    assert len(set(expected)) == 5


def test_more_records_than_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "_MAX_ROWS", 7)
    rows = [row_of(number) for number in range(30)]
    rows[12] = {}
    assert all_at_once(rows) == one_by_one(rows)
    monkeypatch.setattr(buffer, "_MAX_BYTES", 100)
    monkeypatch.setattr(encode, "_LARGE_BYTES", 20)
    assert all_at_once(rows) == one_by_one(rows)
    monkeypatch.setattr("tfrecord_lite.example.encode.rows.MAX_PLANS", 1)
    forms = [{"context": {str(number % 4): number}} for number in range(9)]
    assert all_at_once(forms) == one_by_one(forms)


def items_of(chance: random.Random) -> list[Any]:
    """Return records, rows and sequences in runs, and None where the writer is flushed."""
    items: list[Any] = []
    for _ in range(chance.randrange(6)):
        kind, large = chance.randrange(3), chance.random() < 0.2
        for number in range(chance.randrange(1, 5)):
            example = {"x": number, "large": bytes(20_000 * large)}
            items.append([b"bytes", example, row_of(number)][kind])
        items += [None] * chance.randrange(2)
    return items


def encoded(item: Any) -> bytes:
    if isinstance(item, bytes):
        return item
    return encode_sequence_example(item) if "context" in item else encode_example(item)


def put(writer: TFRecordWriter, item: Any) -> None:
    if isinstance(item, bytes):
        writer.write(item)
    elif "context" in item:
        writer.write_sequence_example(item)
    else:
        writer.write_example(item)


@given(st.integers(0, 2**32))
def test_a_writer_keeps_the_order_of_sequences_and_others(seed: int) -> None:
    items = items_of(random.Random(seed))
    file = io.BytesIO()
    wanted: list[bytes] = []
    with TFRecordWriter(file) as writer:
        for item in items:
            if item is None:
                writer.flush()
                assert list(TFRecordReader(io.BytesIO(file.getvalue()))) == wanted
            else:
                put(writer, item)
                wanted.append(encoded(item))
    assert list(TFRecordReader(io.BytesIO(file.getvalue()))) == wanted


def test_a_writer_collects_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row_of(number) for number in range(3000)]
    wanted = list(map(encode_sequence_example, rows))
    monkeypatch.setattr(encode, "encode_sequence_example", None)
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        writer.write_sequence_examples(rows[:1500])
        for one in rows[1500:]:
            writer.write_sequence_example(one)
            one["feature_lists"]["arrays"][0][:] = 5  # what was taken is a copy
    assert list(TFRecordReader(io.BytesIO(file.getvalue()))) == wanted


def test_a_wrong_sequence_is_named_and_those_before_it_are_written() -> None:
    rows: list[Any] = [row_of(number) for number in range(9)]
    rows[7]["feature_lists"]["ints"] = [[1], [2**64]]
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        writer.write_example({"x": 1})
        raised(InvalidArgumentError, writer.write_sequence_example, rows[7])
        with pytest.raises(InvalidArgumentError) as caught:
            writer.write_sequence_examples(rows)
    assert (caught.value.index, caught.value.key) == (7, "ints")
    wanted = [{"x": 1}, *rows[:7]]
    assert list(TFRecordReader(io.BytesIO(file.getvalue()))) == list(map(encoded, wanted))


@pytest.mark.parametrize(
    "row", [{"context": {"x": bytes(10_000)}}, {"feature_lists": {"x": [bytes(10_000)]}}]
)
def test_the_bytes_of_contexts_and_lists_count(row: Any) -> None:
    waiting = encode.SequenceRowBuffer()
    n_rows = 0
    while not waiting.is_full:
        assert waiting.take_in(row)
        n_rows += 1
    assert n_rows < 250
