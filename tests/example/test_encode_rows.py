"""Rows, one by one and many at a time: the same records, in order, and none is lost."""

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.errors import raised
from tfrecord_lite import (
    FixedLenFeature,
    ShardedTFRecordWriter,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    encode_examples,
    testing,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode.rows import RowBuffer, encode_rows, rows_at_once

scalars = st.sampled_from(
    [
        lambda r: r.randrange(-5, 2**40), lambda r: r.random(), lambda r: r.random() < 0.5,
        lambda r: b"x" * r.randrange(20), lambda r: "ü" * r.randrange(3),
        lambda r: [r.randrange(9)], lambda r: [r.random(), 0.5],
        lambda r: [b"a", b"bc" * r.randrange(3)], lambda _: ["ü", b"c"], lambda _: (1, 2, 3),
        lambda _: [], lambda _: None, lambda r: list(range(r.randrange(30))),
        lambda r: [0.5] * r.randrange(30), lambda r: np.float32(r.random()),
        lambda r: np.int16(r.randrange(9)), lambda _: np.float64(0.5),
        lambda r: np.arange(r.randrange(4)), lambda r: np.full((2, 2), r.random(), np.float32),
        lambda r: np.array(r.randrange(5)),
        lambda r: np.zeros(r.choice([1, 70, 5000]), r.choice(["f4", "i2", "f8"])),
        lambda r: b"x" * r.choice([1, 5000, 20000]),
        lambda r: r.choice([list, tuple])([b"x" * r.choice([1, 5000, 20000])]),
        lambda r: np.array([b"x" * r.choice([1, 5000, 20000])], object),
        lambda r: [r.choice([7, 2**40, 0.5])] * r.choice([31, 32, 3000]), lambda _: [[1, 2], [3]],
        lambda r: np.array([b"x" * r.randrange(9)] * r.randrange(3), object),
        lambda r: np.array(["a", b"c"][: r.randrange(3)], object),
        lambda r: np.array([b"a" * r.randrange(3), "ü"][: r.randrange(3)], object),
        lambda r: np.array([r.randrange(9)], object), lambda r: np.array(r.random(), object),
        lambda r: np.full((1, r.randrange(3)), r.random(), object),
        lambda r: np.full(r.randrange(3), r.random()),
        lambda r: np.full((r.randrange(3), 2), r.random(), np.float32),
    ]
)  # fmt: skip
forms = st.lists(st.dictionaries(testing.keys(), scalars, max_size=4), min_size=1, max_size=4)


def collected(buffer: RowBuffer) -> list[bytes]:
    return [bytes(record) for record in buffer.take()]


@given(forms, st.lists(st.integers(0, 40), max_size=60), st.integers(0, 2**16))
def test_collected_rows_agree(kinds: list[dict[str, Any]], order: list[int], seed: int) -> None:
    chance = random.Random(seed)
    buffer = RowBuffer()
    wanted = []
    for number in order:
        if number == 40:
            buffer.add_record(b"a record between")
            wanted.append(b"a record between")
            continue
        row = {key: make(chance) for key, make in kinds[number % len(kinds)].items()}
        pieces = buffer.add(row)
        wanted.append(encode_example(row))
        if pieces is not None:
            assert len(buffer) == 0
            buffer.add_record(b"".join(pieces))
        for value in row.values():
            if isinstance(value, np.ndarray):
                value.fill(7)  # what was taken is a copy

    assert len(buffer) == len(wanted)
    assert collected(buffer) == wanted
    assert len(buffer) == 0
    assert collected(buffer) == []


def arrays_of(i: int) -> dict[str, Any]:
    row: dict[str, Any] = {f"x{k}": np.full(k + (i % 5 == k), i, np.float32) for k in range(4)}
    row |= {f"n{k}": np.arange(i, i + k) for k in range(4)}
    row |= {f"d{k}": np.full((1, k), i / 3) for k in range(1, 4)}
    return row | {"s": np.array([b"s" * (i % 4)], object), "t": np.array(["t", b""], object)}


@pytest.mark.parametrize("is_even", [False, True])
def test_arrays_are_taken_by_a_plan(monkeypatch: pytest.MonkeyPatch, *, is_even: bool) -> None:
    rows = [arrays_of(0 if is_even else i) for i in range(20)]
    wanted = [encode_example(row) for row in rows]
    buffer = RowBuffer()
    buffer.add(rows[0])
    monkeypatch.setattr("tfrecord_lite.example.encode.rows.encode_features", None)
    for row in rows[1:]:
        buffer.add(row)
    assert collected(buffer) == wanted


BAD = [
    2**63, 1e39, "\ud800", object(), 1j, [1, b"a"], [0.5] * 20 + [1e39], [1] * 20 + [2**63],
    np.array([1e39]), np.float64(1e39), np.array([0.1] * 70 + [-1e39]), [1] * 20 + ["a"],
    (1, "\ud800"), [1, None], [1] * 20 + [np.ma.masked], [1, np.ma.MaskedArray(5, True)],
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:20])
@pytest.mark.parametrize("n_before", [0, 1, 5])
def test_a_bad_row_is_refused_by_its_call_and_the_others_stay(bad: Any, n_before: int) -> None:
    good = {"n": 1, "x": type(bad)(bad[:1]) if isinstance(bad, list) else 0.5}
    buffer = RowBuffer()
    for _ in range(n_before):
        buffer.add(good)
    error = raised(InvalidArgumentError, buffer.add, {"n": 1, "x": bad})
    buffer.add(good)
    assert error.key == "x"
    assert collected(buffer) == [encode_example(good)] * (n_before + 1)


def test_a_bad_column_writes_nothing_and_a_bad_row_what_came_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    good, bad = {"x": 1}, {"x": 2**63}
    with TFRecordWriter(path) as writer:
        error = raised(InvalidArgumentError, writer.write_examples, {"x": [1] * 5000 + [2**63]})
        assert error.index == 5000
        caught = raised(InvalidArgumentError, writer.write_examples, iter([good, good, bad, good]))
        assert (caught.key, caught.index) == ("x", 2)
    assert list(TFRecordReader(path)) == [encode_example(good)] * 2


def test_rows_can_be_held_to_a_schema(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    schema = {"x": FixedLenFeature([2], "float32"), "n": FixedLenFeature([], "int64", 0)}
    rows: list[dict[str, Any]] = [{"x": [i, 0.5]} for i in range(1000)]
    with TFRecordWriter(path) as writer:
        writer.write_examples(rows, schema)
        writer.write_example({"x": [1, 2], "n": 3}, schema)
        with pytest.raises(InvalidArgumentError) as caught:
            writer.write_examples([*rows[:700], {"x": [1]}, *rows], schema)
        assert (caught.value.reason, caught.value.index) == (Reason.WRONG_COUNT, 700)
    as_floats = [{"x": [float(v) for v in row["x"]]} for row in rows]
    wanted: list[dict[str, Any]] = [*as_floats, {"x": [1.0, 2.0], "n": 3}, *as_floats[:700]]
    assert list(TFRecordReader(path)) == [encode_example(row) for row in wanted]


@pytest.mark.parametrize("how", [{"num_shards": 3}, {"bytes_per_shard": 5000}])
def test_shards_get_rows_as_they_get_records(tmp_path: Path, how: dict[str, Any]) -> None:
    rows: list[Any] = [
        {"i": i, "s": b"%d" % i} if i % 7 else {"x": [i] * (i % 12)} for i in range(1500)
    ]
    records = [encode_example(row) for row in rows]
    with ShardedTFRecordWriter(tmp_path / "a{shard}", **how) as writer:
        for row in rows[:700]:
            writer.write_example(row)
        writer.write(b"between")
        writer.write_examples(rows[700:])
        writer.write_examples({"x": [1, 2, 3]})
    with ShardedTFRecordWriter(tmp_path / "b{shard}", **how) as other:
        for record in [
            *records[:700], b"between", *records[700:], *encode_examples({"x": [1, 2, 3]}),
        ]:  # fmt: skip
            other.write(record)
    assert len(writer.paths) == len(other.paths) > 2
    for one, two in zip(writer.paths, other.paths, strict=True):
        assert list(TFRecordReader(one)) == list(TFRecordReader(two))


def written(rows: list[Any], between: dict[str, Any] | None = None) -> list[bytes]:
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        if between is not None:
            writer.write_example(between)
        writer.write_examples(rows)
        if between is not None:
            writer.write_example(between)
    return list(TFRecordReader(io.BytesIO(file.getvalue())))


@pytest.mark.filterwarnings("ignore:feature .* holds")
@given(forms, st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), max_size=4), st.randoms())
def test_lists_of_rows_are_written_as_each_by_itself(kinds: Any, runs: Any, chance: Any) -> None:
    rows = [
        {key: make(chance) for key, make in kinds[number % len(kinds)].items()}
        for number, n_rows in runs
        for _ in range(n_rows)
    ]
    between = {"between": 1}
    found = written(rows, between)
    assert found == [encode_example(row) for row in [between, *rows, between]]


PLAIN_VALUES: list[Any] = [
    1, True, np.int16(3), 0.5, np.float64(0.1), float("nan"), b"abc", "ü", "", [1, 2], (0.5,), ["a", b"b"],
    np.arange(3), np.arange(3, dtype=np.uint8), np.zeros(2, np.float16), np.full(2, 0.1), np.array([True]),
    np.array([b"a", "b"], object), None,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN_VALUES, ids=lambda value: repr(value)[:20])
def test_rows_of_a_plain_form_are_encoded_at_once(value: Any) -> None:
    rows = [{"x": value, "y": [n] * (n % 3 + 1), "z": np.ones(n % 3 + 1)} for n in range(20)]
    block = encode_rows(rows)
    assert block is not None
    assert block.to_list() == [encode_example(row) for row in rows]


@pytest.mark.parametrize("odd", [
    {"n": 1}, {"n": 1, "x": 2, "y": 3}, {"n": 1, "x": "a"}, {"n": 1, "x": []}, {"n": None, "x": 1},
    [], None, {"n": 1, "x": np.arange(2)}, {"n": 1, "x": [[1]]},
    {"n": 1, "x": np.ma.array([1], mask=[True])},
], ids=repr)  # fmt: skip
def test_rows_of_several_forms_go_one_by_one(odd: Any) -> None:
    rows: list[Any] = [{"n": number, "x": number} for number in range(20)]
    rows[7] = odd
    assert encode_rows(rows) is None


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:20])
@pytest.mark.parametrize("place", [0, 7, 1500])
def test_a_bad_row_of_a_list_is_named_and_those_before_it_are_written(bad: Any, place: int) -> None:
    good = {"n": 1, "x": type(bad)(bad[:1]) if isinstance(bad, list) else 0.5}
    rows = [good] * 1600
    rows[place] = {"n": 1, "x": bad}
    file = io.BytesIO()
    with TFRecordWriter(file) as writer:
        with pytest.raises(InvalidArgumentError) as caught:
            writer.write_examples(rows)
        writer.write_example(good)
    assert (caught.value.key, caught.value.index) == ("x", place)
    found = list(TFRecordReader(io.BytesIO(file.getvalue())))
    assert found == [encode_example(good)] * (place + 1)


@pytest.mark.parametrize(("small", "times"), [
    (b"a", 3_000_000), ([1], 100_000), ([b"a"], 100_000), (np.ones(1), 240_000),
], ids=["a string", "numbers", "strings in lists", "arrays"])  # fmt: skip
def test_large_rows_after_a_small_one_do_not_make_a_large_batch(small: Any, times: int) -> None:
    large = np.repeat(small, times) if isinstance(small, np.ndarray) else small * times
    rows: list[Any] = [{"x": small}] + [{"x": large}] * 16
    assert encode_rows(rows) is None
    assert written(rows[:3]) == [encode_example(row) for row in rows[:3]]


@pytest.mark.parametrize(("row", "n_rows"), [
    ({"x": b"a" * 8000}, 262), ({"x": "a" * 8000}, 262), ({"x": [1] * 1000}, 262),
    ({"x": np.zeros(1000)}, 262), ({"x": 1, "y": (b"a",) * 999}, 262), ({"x": None}, 1024),
    ({"x": bytes(2**14 - 1)}, 128), ({"x": bytes(2**14)}, 0), ({}, 0), (None, 0),
])  # fmt: skip
def test_so_many_rows_are_taken_at_once_as_fill_two_megabytes(row: Any, n_rows: int) -> None:
    assert rows_at_once(row) == n_rows


@pytest.mark.parametrize(
    ("first", "usual"), [(True, 7), (np.int64(1), 7), (np.int64(1), 7.5), (np.float32(1), 7.5)]
)
def test_a_long_list_may_begin_with_a_number_of_another_type(first: Any, usual: Any) -> None:
    values = [first, *[usual] * 40]
    assert encode_example({"x": values}) == encode_example({"x": np.array(values)})
