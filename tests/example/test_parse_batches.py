"""Several batches parsed at once are what each batch is by itself."""

import io
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.specifications import feature_specs, sequence_feature_specs
from tfrecord_lite.block import Block
from tfrecord_lite.errors import DataLossError, InvalidArgumentError
from tfrecord_lite.records import decoder
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import assert_same, examples_for, sequence_examples_for

sizes = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def splits_of(batch_sizes: list[int]) -> list[int]:
    return [0, *np.cumsum(batch_sizes).tolist()]


def assert_batches_are_same(parser: Any, block: Block, splits: list[int]) -> None:
    found = parser.parse_batches(block, splits)
    assert len(found) == len(splits) - 1
    for number, (start, stop) in enumerate(pairwise(splits)):
        assert_same(found[number], parser(block[start:stop]), f"batch {number}")


@pytest.mark.parametrize("is_sequence", [False, True])
@given(data=st.data(), batch_sizes=sizes, flag=st.booleans())
def test_any_messages(data: st.DataObject, is_sequence: bool, batch_sizes: Any, flag: bool) -> None:
    parser: Any
    if is_sequence:
        specs = data.draw(sequence_feature_specs())
        one: Any = sequence_examples_for(*specs)
        parser = tl.SequenceExampleParser(*specs, pad=flag)
    else:
        features = data.draw(feature_specs())
        one = examples_for(features)
        parser = tl.ExampleParser(features, strings="ndarray" if flag else "BytesColumn")
    few = [data.draw(one).SerializeToString() for _ in range(3)]
    splits = splits_of(batch_sizes)
    messages = [few[i % 3] for i in range(splits[-1])]
    assert_batches_are_same(parser, Block.from_records(messages), splits)


FEATURES: dict[str, Any] = {
    "n": tl.FixedLenFeature([], "int64"), "x": tl.FixedLenFeature([1], "float32"),
    "name": tl.FixedLenFeature([], "string"), "tokens": tl.RaggedFeature("int64"),
    "padded": tl.FixedLenSequenceFeature([], "int64", allow_missing=True),
    "none": tl.VarLenFeature("string"),
}  # fmt: skip
SEQUENCE_PARSER = tl.SequenceExampleParser(
    {"n": tl.FixedLenFeature([], "int64", 0)},
    {
        "pairs": tl.FixedLenSequenceFeature([2], "float32"),
        "tokens": tl.FixedLenSequenceFeature([], "int64"),
        "rows": tl.RaggedFeature("int64"),
    },
)


def messages_of(count: int) -> list[bytes]:
    n = range(count)
    columns: Any = {"n": n, "x": [i / 2 for i in n], "name": [b"%d" % i for i in n]}
    return tl.encode_examples(columns | {"tokens": [[i] * (i % 7) for i in n]}).to_list()


def sequences(n_messages: int) -> Block:
    steps: Any = [[[n, n + 0.5]] * (n % 3) for n in range(n_messages)]
    tokens: Any = [[[n]] * (n % 4) for n in range(n_messages)]
    return tl.encode_sequence_examples({}, {"pairs": steps, "tokens": tokens, "rows": tokens})


@pytest.mark.parametrize("splits", [[0, 0, 9], [0, 9, 9], [0, 4, 4, 4, 9]])
def test_a_batch_may_be_empty(splits: list[int]) -> None:
    examples = Block.from_records(messages_of(9))
    assert_batches_are_same(tl.ExampleParser(FEATURES), examples, splits)
    assert_batches_are_same(SEQUENCE_PARSER, sequences(9), splits)


@pytest.mark.parametrize("splits", [[], [0], [0, 8], [1, 9], [0, 10], [0, 5, 3, 9], [-1, 9]])
def test_splits_that_leave_out_messages_are_refused(splits: list[int]) -> None:
    examples = Block.from_records(messages_of(9))
    with pytest.raises(InvalidArgumentError, match="ascend from 0 to the number of messages, 9"):
        tl.ExampleParser(FEATURES).parse_batches(examples, splits)
    with pytest.raises(InvalidArgumentError, match="ascend from 0 to the number of messages, 9"):
        SEQUENCE_PARSER.parse_batches(sequences(9), splits)


IMAGES: dict[str, Any] = {
    "high": tl.FixedLenFeature([], "int64"), "image": tl.FixedLenFeature([], "string"),
    "label": tl.FixedLenFeature([], "string"), "vector": tl.RawFeature([700], "float64"),
}  # fmt: skip


def images(lengths: list[int]) -> list[bytes]:
    random = np.random.default_rng(0)
    columns = {
        "high": np.arange(len(lengths)),
        "image": [random.bytes(length) for length in lengths],
        "label": [b"%d" % length for length in lengths],
        "vector": [random.bytes(5600) for _ in lengths],
    }
    return tl.encode_examples(columns).to_list()


@given(
    lengths=st.lists(st.integers(0, 60_000), min_size=1, max_size=40),
    batch_size=st.integers(1, 20),
    names=st.lists(st.sampled_from(list(IMAGES)), min_size=1, max_size=4, unique=True),
    damaged=st.integers(0, 80),
)
def test_large_strings_stay_in_the_buffer_they_were_read_into(
    lengths: list[int], batch_size: int, names: list[str], damaged: int
) -> None:
    messages = images(lengths)
    data = bytearray(frame(messages))
    if damaged < len(lengths):
        data[len(frame(messages[: damaged + 1])) - 3] ^= 1
    files = [io.BytesIO(data), io.BytesIO(frame(messages))]
    parser = tl.ExampleParser({name: IMAGES[name] for name in names}, strings="BytesColumn")
    found: list[Any] = []

    def read() -> None:
        for batch in tl.TFRecordReader(files).batches(parser, batch_size):
            for one, other in product(memory_of(batch), chain(*map(memory_of, found))):
                assert not np.may_share_memory(one, other)
            found.append(batch)

    with patch.object(tl.reader, "_PARSED_BYTES", 1), patch.object(decoder, "CHUNK_BYTES", 1):
        if damaged < len(lengths):
            raised(DataLossError, read, match=f"record {damaged},")
        else:
            read()
    intact = messages[:damaged] if damaged < len(lengths) else messages * 2
    expected = [parser(intact[f : f + batch_size]) for f in range(0, len(intact), batch_size)]
    assert_same(found, expected)


def memory_of(batch: Any) -> list[Any]:
    """Return the arrays that can be written to: Python keeps the one byte string of each byte."""
    arrays = [c.data if isinstance(c, tl.BytesColumn) else c for c in batch.values()]
    return [array for array in arrays if array.flags.writeable]


@pytest.mark.parametrize("batch_size", [1, 3, 64, 99, 100, 101, 1000])
@pytest.mark.parametrize("drop_remainder", [False, True])
def test_a_reader_makes_batches(tmp_path: Path, batch_size: int, drop_remainder: bool) -> None:
    messages = messages_of(300)
    for n in range(3):
        (tmp_path / f"{n}.tfrecord").write_bytes(frame(messages[100 * n : 100 * n + 100]))
    records = tl.TFRecordReader(f"{tmp_path}/*.tfrecord")
    parser = tl.ExampleParser(FEATURES)
    found = list(records.batches(FEATURES, batch_size, drop_remainder=drop_remainder))
    stop = 300 // batch_size * batch_size if drop_remainder else 300
    expected = [parser(messages[at : at + batch_size]) for at in range(0, stop, batch_size)]
    assert_same(found, expected)
    assert_same(list(records.batches(parser, batch_size, drop_remainder=drop_remainder)), expected)
    dataset = tl.TFRecordDataset(records.sources).batch(batch_size, drop_remainder)  # type: ignore[arg-type]
    assert_same(list(dataset.parse_example(FEATURES)), expected)


def test_the_error_is_about_the_first_wrong_message_of_all_batches() -> None:
    tokens = [[number] * 3 for number in range(20)]
    tokens[17] = tokens[19] = [1, 2]
    examples = tl.encode_examples({"tokens": tokens})
    steps = tl.encode_sequence_examples({}, {"tokens": [[row] * 2 for row in tokens]})
    three = {"tokens": tl.FixedLenFeature([3], "int64")}
    three_a_step = {"tokens": tl.FixedLenSequenceFeature([3], "int64")}
    parsers: Any = (
        (tl.ExampleParser(three), examples),
        (tl.SequenceExampleParser({}, three_a_step), steps),
    )
    for parser, block in parsers:
        with pytest.raises(InvalidArgumentError, match=r"record 17, feature 'tokens': .*found 2"):
            parser.parse_batches(block, [0, 8, 16, 20])
    with pytest.raises(InvalidArgumentError, match="record 20,"):  # which is of another type
        tl.ExampleParser(three).parse_batches(
            Block.concat([examples[:17], examples[:3], steps]), [0, 4, 40]
        )


@pytest.mark.parametrize("is_damaged", [False, True])
def test_what_comes_before_a_wrong_record_comes_first(is_damaged: bool) -> None:
    messages = messages_of(50)
    data = bytearray(frame(messages))
    if is_damaged:
        data[len(frame(messages[:33])) + 20] ^= 1
    else:
        data = bytearray(frame([*messages[:33], b"", *messages[34:]]))
    batches = tl.TFRecordReader(io.BytesIO(data)).batches(FEATURES, 8)
    sizes = [8, 8, 8, 8, *[1] * is_damaged]
    assert [len(next(batches)["n"]) for _ in sizes] == sizes
    raised(DataLossError if is_damaged else InvalidArgumentError, next, batches, match="record 33")


def test_wrong_arguments_are_refused_at_once() -> None:
    records = tl.TFRecordReader(io.BytesIO(b""))
    raised(InvalidArgumentError, records.batches, FEATURES, 0, match="batch_size")
    raised(InvalidArgumentError, records.batches, FEATURES, 1, strings="list", match="strings")
    assert list(records.batches(FEATURES, 5)) == []
