"""ExampleListWithContext: contexts and items as the protobuf runtime and decode_example see them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import CorpusFile, corpus_files
from tests.support.example_messages import is_settled
from tfrecord_lite import (
    Block,
    Example,
    ExampleListParser,
    ExampleParser,
    FixedLenFeature,
    InvalidArgumentError,
    RaggedTensor,
    Reason,
    Schema,
    SparseTensor,
    TFRecordReader,
    TFRecordWriter,
    VarLenFeature,
    decode_example,
    decode_example_list,
    decode_example_lists,
    testing,
)
from tfrecord_lite.messages import ExampleListWithContext
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import assert_same

SCORE = FixedLenFeature([], "int64")
NAME = VarLenFeature("string")


@st.composite
def lists(draw: st.DrawFn, max_size: int = 3) -> ExampleListWithContext:
    message = ExampleListWithContext(
        examples=draw(st.lists(testing.examples(3), max_size=max_size))
    )
    if draw(st.booleans()):
        message.context.CopyFrom(draw(testing.examples(3)))
    return message


def by_runtime(message: bytes) -> tuple[Any, Any]:
    parsed = ExampleListWithContext.FromString(message)
    context = decode_example(parsed.context.SerializeToString())
    return context, [decode_example(item.SerializeToString()) for item in parsed.examples]


def example(**ints: int) -> Example:
    made = Example()
    for key, value in ints.items():
        made.features.feature[key].int64_list.value.append(value)
    return made


def list_of(n_items: int, query: int = 7) -> bytes:
    items = [example(score=score) for score in range(n_items)]
    message = ExampleListWithContext(examples=items, context=example(query=query))
    return message.SerializeToString()


@given(st.lists(lists(), max_size=4), st.integers(1, 15), st.data())
def test_lists_decode_to_what_the_runtime_says(
    messages: list[ExampleListWithContext], times: int, data: st.DataObject
) -> None:
    records = [data.draw(testing.encodings(message)) for message in messages] * times

    found = decode_example_lists(records)

    assert_same([tuple(one) for one in found], [by_runtime(record) for record in records])
    for record in records[: len(messages)]:
        assert_same(tuple(decode_example_list(record)), by_runtime(record))


@given(st.lists(lists(), min_size=1, max_size=4), st.data())
def test_damaged_lists_are_what_the_runtime_says_or_malformed(
    messages: list[ExampleListWithContext], data: st.DataObject
) -> None:
    records = [data.draw(testing.damaged_messages(message)) for message in messages]
    refused = []
    for number, record in enumerate(records):
        try:
            ExampleListWithContext.FromString(record)
        except (DecodeError, UnicodeDecodeError):
            refused.append(number)

    try:
        found = decode_example_lists(records)
    except InvalidArgumentError as caught:
        error = caught
    else:
        assert refused == []
        assert_same([tuple(one) for one in found], list(map(by_runtime, records)))
        return
    assert error.reason is Reason.MALFORMED
    assert error.index in refused or not is_settled(error)


def test_columns_are_those_of_all_contexts_and_of_all_items() -> None:
    records = [list_of(n, query=n * 10) for n in (3, 0, 2, 1)] * 20

    parsed = ExampleListParser({"query": SCORE, "name": NAME}, {"score": SCORE})(records)

    assert_same(parsed.row_splits, np.cumsum([0, *[3, 0, 2, 1] * 20]))
    assert_same(parsed.context["query"], np.array([30, 0, 20, 10] * 20))
    assert isinstance(parsed.context["name"], SparseTensor)
    assert parsed.context["name"].dense_shape[0] == 80
    assert_same(parsed.examples["score"], np.array([0, 1, 2, 0, 1, 0] * 20))
    ragged = RaggedTensor(parsed.examples["score"], parsed.row_splits)
    assert ragged.to_list()[:4] == [[0, 1, 2], [], [0, 1], [0]]


@given(testing.feature_specs(), testing.feature_specs(), st.data())
def test_columns_are_what_the_parser_of_examples_gives(
    of_context: dict[str, Any], of_items: dict[str, Any], data: st.DataObject
) -> None:
    n_items = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    contexts = [data.draw(testing.examples_for(of_context)) for _ in n_items]
    items = [[data.draw(testing.examples_for(of_items)) for _ in range(n)] for n in n_items]
    records = [
        data.draw(testing.encodings(ExampleListWithContext(examples=some, context=context)))
        for some, context in zip(items, contexts, strict=True)
    ]

    parsed = ExampleListParser(of_context, of_items)(records)

    expected = ExampleParser(of_context)([one.SerializeToString() for one in contexts])
    assert_same(parsed.context, expected)
    flat = [one.SerializeToString() for some in items for one in some]
    assert_same(parsed.examples, ExampleParser(of_items)(flat))
    assert_same(parsed.row_splits, np.cumsum([0, *n_items]))


def test_either_may_be_left_out() -> None:
    records = [list_of(2)] * 3

    parsed = ExampleListParser({}, {"score": SCORE})(records)
    assert (parsed.context, parsed.row_splits.tolist()) == ({}, [0, 2, 4, 6])
    assert_same(parsed.examples["score"], np.array([0, 1] * 3))
    parsed = ExampleListParser({"query": SCORE}, {})(records)
    assert (parsed.examples, parsed.row_splits.tolist()) == ({}, [0, 2, 4, 6])
    assert decode_example_lists([]) == []
    assert tuple(decode_example_list(b"")) == ({}, [])


def test_a_context_in_two_parts_is_merged() -> None:
    first = ExampleListWithContext(context=example(a=1, b=1)).SerializeToString()
    second = ExampleListWithContext(context=example(b=2)).SerializeToString()

    for times in (1, 50):
        for found in decode_example_lists([first + second] * times):
            assert_same(found.context, {"a": np.array([1]), "b": np.array([2])})


def test_the_first_wrong_list_is_named_with_its_place(tmp_path: Any) -> None:
    good = [list_of(2) for _ in range(30)]
    no_score = ExampleListWithContext(examples=[example(score=1), example(other=1)])
    no_score.context.CopyFrom(example(query=1))
    no_query = ExampleListWithContext(examples=[example(score=1)]).SerializeToString()
    cut = list_of(3)[:-1]
    path = tmp_path / "lists"
    bad = {
        no_score.SerializeToString(): (Reason.MISSING, "score", "example 1 of the list"),
        no_query: (Reason.MISSING, "query", "the context"),
        cut: (Reason.MALFORMED, None, "does not end"),
        list_of(0) + b"\x0a\x02\x0a\x05": (Reason.MALFORMED, None, "example 0 of the list"),
    }
    parser = ExampleListParser({"query": SCORE}, {"score": SCORE})
    for record, (reason, key, text) in bad.items():
        with TFRecordWriter(path) as writer:
            for each in [*good, record, *good, no_query, cut, no_score.SerializeToString()]:
                writer.write(each)
        (block,) = TFRecordReader(path).blocks()

        with pytest.raises(InvalidArgumentError, match=text) as caught:
            parser(block)

        assert (caught.value.reason, caught.value.key) == (reason, key)
        assert (caught.value.index, caught.value.source) == (30, str(path))
        assert caught.value.offset == len(frame(good))


@pytest.mark.parametrize("nothing", [{}, Schema({})])
def test_a_parser_of_nothing_is_a_parser(nothing: Any) -> None:
    records = [list_of(2), list_of(0)]
    for features in ((nothing, {"score": SCORE}), ({"query": SCORE}, nothing), (nothing, nothing)):
        parser = ExampleListParser(*features)
        if features[0]:
            records = [ExampleListWithContext(context=example(query=1)).SerializeToString()] * 2

        found = parser(records)

        assert found.context.keys() == set(features[0])
        assert found.examples.keys() == set(features[1])
        assert len(found.row_splits) == 3
        assert_same(tuple(pickle.loads(pickle.dumps(parser))(records)), tuple(found))


@pytest.mark.parametrize("sample", corpus_files("elwc"))
def test_real_lists(sample: CorpusFile) -> None:
    records = list(TFRecordReader(sample.path))

    found = [
        one for block in TFRecordReader(sample.path).blocks() for one in decode_example_lists(block)
    ]

    assert len(found) == sample.truth["records"] > 0
    assert_same([tuple(one) for one in found], [by_runtime(record) for record in records])
    assert all(one.context and one.examples for one in found)
    assert_same(decode_example_lists(Block.from_records(records)), found)


def test_a_context_in_very_many_parts_takes_no_time() -> None:
    parts = 200_000
    found = decode_example_list(b"\x12\x02\x1a\x00" * parts)
    assert found.context == {}


def test_errors_of_lists_from_memory_have_no_offset(tmp_path: Any) -> None:
    bad = list_of(1) + b"\x0a\x02\x0a\x05"  # its second example is cut
    split = ExampleListWithContext(context=example(query=1)).SerializeToString() + b"\x12\x01\x0a"
    parser = ExampleListParser({"query": SCORE}, {"score": SCORE})
    path = tmp_path / "lists"
    for wrong in (bad, split, b"\x0e"):
        records = [list_of(2), wrong, list_of(2)]
        with TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        (block,) = TFRecordReader(path).blocks()

        for read in (decode_example_lists, parser):
            with pytest.raises(InvalidArgumentError) as from_memory:
                read(records)
            with pytest.raises(InvalidArgumentError) as from_file:
                read(block)

            assert (from_memory.value.index, from_memory.value.offset) == (1, None)
            assert (from_file.value.index, from_file.value.offset) == (1, len(frame([list_of(2)])))
        with pytest.raises(InvalidArgumentError) as alone:
            decode_example_list(wrong)
        assert (alone.value.index, alone.value.offset) == (0, None)
