"""Columns to SequenceExamples: the bytes are the protobuf runtime's, the values come back."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfrecord_lite import (
    Block,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedTensor,
    SequenceExampleParser,
    decode_sequence_examples,
    encode_sequence_example,
    encode_sequence_examples,
)
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.messages import SequenceExample

DTYPES: dict[str, Any] = {"int": np.int64, "float": np.float32, "bytes": object}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1)),
    "float": st.floats(width=32, allow_nan=False),
    "bytes": st.one_of(st.binary(max_size=5), st.binary(min_size=60, max_size=140)),
}
kinds = st.sampled_from(sorted(VALUES))


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[list[list[Any]]]]:
    """Return a kind, and the values of each step of some records."""
    kind = draw(kinds)
    n_records = draw(st.integers(1, 6))
    shape = draw(st.sampled_from([None, 0, 1, 1, 2, 40]))
    n_steps = st.integers(0, 4)
    step = st.lists(VALUES[kind], max_size=4)
    if shape is not None:
        step = st.lists(VALUES[kind], min_size=shape, max_size=shape)
    return kind, [[draw(step) for _ in range(draw(n_steps))] for _ in range(n_records)]


def ragged(kind: str, records: list[list[list[Any]]]) -> RaggedTensor:
    steps = [step for record in records for step in record]
    flat = np.empty(sum(map(len, steps)), DTYPES[kind])
    flat[:] = [value for step in steps for value in step]
    inner = RaggedTensor.from_row_lengths(flat, np.array([len(step) for step in steps], np.int64))
    return RaggedTensor.from_row_lengths(inner, np.array([len(r) for r in records], np.int64))


def assert_records_are(block: Block, name: str, records: list[list[list[Any]]]) -> None:
    """Check the bytes against the runtime's, and the values."""
    assert len(block) == len(records)
    for data, expected in zip(block, records, strict=True):
        message = SequenceExample.FromString(data)
        assert message.SerializeToString(deterministic=True) == data
        found = [
            list(getattr(step, kind).value) if (kind := step.WhichOneof("kind")) else []
            for step in message.feature_lists.feature_list[name].feature
        ]
        assert found == expected


@given(columns())
def test_any_column_is_written_as_by_the_runtime(column: tuple[str, list[list[list[Any]]]]) -> None:
    kind, records = column
    assert_records_are(encode_sequence_examples(None, {"a": ragged(kind, records)}), "a", records)
    assert_records_are(encode_sequence_examples(None, {"a": records}), "a", records)
    as_arrays = [[np.array(step, DTYPES[kind]) for step in record] for record in records]
    assert_records_are(encode_sequence_examples(None, {"a": as_arrays}), "a", records)
    sizes = {len(step) for record in records for step in record}
    if len(sizes) != 1:
        return
    (size,) = sizes
    lengths = np.array([len(record) for record in records])
    padded = np.full(
        (len(records), int(lengths.max()), size), b"" if kind == "bytes" else 0, DTYPES[kind]
    )
    for i, record in enumerate(records):
        for k, step in enumerate(record):
            padded[i, k] = step
    assert_records_are(encode_sequence_examples(None, {"a": padded}, {"a": lengths}), "a", records)
    if size == 1:
        flat = {"a": padded[:, :, 0]}
        assert_records_are(encode_sequence_examples(None, flat, {"a": lengths}), "a", records)


def test_what_a_parser_gives_is_written_back() -> None:
    context = {"id": np.arange(5)}
    tokens = np.arange(15).reshape(5, 3)
    vectors = np.arange(30, dtype=np.float32).reshape(5, 3, 2)
    lengths = {"tokens": [3, 0, 2, 1, 3], "vectors": [1, 2, 3, 0, 0]}
    block = encode_sequence_examples(context, {"tokens": tokens, "vectors": vectors}, lengths)
    pairs = FixedLenSequenceFeature([2], "float32")
    lists = {"tokens": FixedLenSequenceFeature([], "int64"), "vectors": pairs}
    parser = SequenceExampleParser({"id": FixedLenFeature([], "int64")}, lists)
    parsed = parser(block)
    assert {name: found.tolist() for name, found in parsed[2].items()} == lengths
    assert encode_sequence_examples(*parsed).to_list() == block.to_list()


def test_lists_and_features_may_be_missing() -> None:
    block = encode_sequence_examples(
        {"a": [1, None, 3]}, {"s": [[1], None, []], "t": [None] * 3, "u": None}
    )
    assert len(encode_sequence_examples({"a": []}, {"s": np.empty((0, 3)), "t": []})) == 0
    rows = decode_sequence_examples(block)
    assert [sorted(row["context"]) for row in rows] == [["a"], [], ["a"]]
    assert [sorted(row["feature_lists"]) for row in rows] == [["s"], [], ["s"]]
    assert encode_sequence_examples({"a": [1]}).to_list() == [
        encode_sequence_example({"context": {"a": 1}})
    ]
    assert encode_sequence_examples({}, {"s": [[]]}).to_list() == [
        encode_sequence_example({"context": {}, "feature_lists": {"s": []}})
    ]


def test_a_long_list_and_large_values() -> None:
    steps = [[b"x" * 5000], [b"y" * 300], [b""]] * 50
    block = encode_sequence_examples(None, {"s": [steps, steps[:1]]})
    assert_records_are(block, "s", [steps, steps[:1]])


NUMBERS = st.sampled_from([0, 300, 2**24 + 1, 2**63, True, 0.5, 1e300])
STEPS = st.one_of(
    NUMBERS,
    st.lists(NUMBERS, max_size=3),
    st.none(),
    st.sampled_from([np.ma.masked, (), (1, 0.25)]),
)


def outcome(steps: Any, *, single: bool) -> Any:
    """Return the message of a record with these steps, or what is said of them."""
    try:
        if single:
            return encode_sequence_example({"feature_lists": {"a": steps}})
        return encode_sequence_examples(None, {"a": [steps]})[0]
    except InvalidArgumentError as error:
        return error.reason, error.key, error.index


@given(st.lists(STEPS, max_size=4))
def test_numbers_of_several_kinds_are_the_same_in_a_dictionary_and_a_column(steps: Any) -> None:
    assert outcome(steps, single=True) == outcome(steps, single=False)


def test_ints_among_floats_are_floats() -> None:
    for steps, floats in (
        ([1, 2.5], [1.0, 2.5]),
        ([[1, 2], None, [0.5]], [[1.0, 2.0], None, [0.5]]),
    ):
        assert outcome(steps, single=True) == outcome(floats, single=True)
