"""Batches of similar lengths, and packed blocks: against plain lists, and resumed anywhere."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.small_files import FEATURES, numbers, plain, rest_after, write, write_files
from tfrecord_lite import (
    Dataset,
    RaggedFeature,
    RaggedTensor,
    TFRecordDataset,
    TFRecordWriter,
    read_batches,
)
from tfrecord_lite.errors import InvalidArgumentError

sequences = st.lists(st.lists(st.integers(1, 99), max_size=9), min_size=1, max_size=15)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=sequences,
    length=st.integers(1, 12),
    batch_size=st.integers(1, 4),
    drop_remainder=st.booleans(),
    n_given=st.integers(0, 30),
)
def test_blocks_are_the_sequences_end_to_end(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[int]],
    length: int,
    batch_size: int,
    n_given: int,
    *,
    drop_remainder: bool,
) -> None:
    path = tmp_path_factory.mktemp("p") / "a"
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write_example({"t": np.array(row, np.int64)})

    def make() -> Dataset:
        batches = read_batches(path, {"t": RaggedFeature(int)}, batch_size)
        return batches.pack(length, "t", drop_remainder)

    tokens = [(i, value) for i, row in enumerate(rows) for value in row]
    expected = []
    for start in range(0, len(tokens), length):
        block = tokens[start : start + length]
        if len(block) < length and drop_remainder:
            break
        groups = [list(group) for _, group in itertools.groupby(block, lambda token: token[0])]
        rest = [0] * (length - len(block))
        expected.append(
            {
                "values": [value for _, value in block] + rest,
                "segment_ids": [i for i, group in enumerate(groups, 1) for _ in group] + rest,
                "positions": [i for group in groups for i in range(len(group))] + rest,
            }
        )
    assert list(map(plain, make())) == expected
    n_given = min(n_given, len(expected))
    assert rest_after(make, n_given) == expected[n_given:]


def test_what_cannot_be_packed(tmp_path: Path) -> None:
    records = TFRecordDataset(write_files(tmp_path, [2]))
    raised(InvalidArgumentError, records.pack, 0, match="length is 0")
    raised(InvalidArgumentError, list, records.pack(3), match="pack needs numbers")
    levels = RaggedTensor.from_nested_row_splits([1, 2], [[0, 1], [0, 2]])
    raised(InvalidArgumentError, list, records.map(lambda _: levels).pack(3), match="pack needs")
    texts = RaggedTensor.from_row_lengths([b"a"], [1])
    raised(InvalidArgumentError, list, records.map(lambda _: texts).pack(3), match="pack needs")


def test_rows_of_vectors_are_packed(tmp_path: Path) -> None:
    rows = RaggedTensor.from_row_lengths([[1, 2], [3, 4], [5, 6]], [2, 1])
    (block, rest) = TFRecordDataset(write_files(tmp_path, [1])).map(lambda _: rows).pack(2)
    assert block["values"].tolist() == [[1, 2], [3, 4]]
    assert rest["values"].tolist() == [[5, 6], [0, 0]]
    assert rest["segment_ids"].tolist() == [1, 0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 20), max_size=30),
    are_objects=st.booleans(),
    drop_remainder=st.booleans(),
    n_given=st.integers(0, 30),
)
def test_batches_have_similar_lengths_and_each_element_once(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    n_given: int,
    *,
    are_objects: bool,
    drop_remainder: bool,
) -> None:
    items = [b"%03d" % i + b"x" * size for i, size in enumerate(sizes)]
    name = write(tmp_path_factory.mktemp("b") / "a", items)

    def make() -> Dataset:
        records: Dataset[Any] = TFRecordDataset(name)
        records = records.map(bytes) if are_objects else records
        return records.bucket_by_length([5, 12], [3, 2, 1], drop_remainder=drop_remainder)

    waiting: list[list[bytes]] = [[], [], []]
    expected = []
    for item in items:
        bucket = sum(len(item) >= edge for edge in (5, 12))
        waiting[bucket].append(item)
        if len(waiting[bucket]) == (3, 2, 1)[bucket]:
            expected.append(waiting[bucket])
            waiting[bucket] = []
    expected += [batch for batch in waiting if batch and not drop_remainder]

    assert [batch.tolist() for batch in make()] == expected
    n_given = min(n_given, len(expected))
    assert [list(batch) for batch in rest_after(make, n_given)] == expected[n_given:]


def test_batches_by_length_are_parsed_and_resume_after_a_shuffle(tmp_path: Path) -> None:
    names = write_files(tmp_path, [40])

    def make() -> Dataset:
        batches = TFRecordDataset(names).shuffle(9, 1).bucket_by_length([30], [4, 3])
        return batches.parse_example(FEATURES)

    whole = list(map(plain, make()))
    assert sorted(numbers([{"n": np.array(batch["n"])} for batch in whole])) == list(range(40))
    for n_given in range(len(whole) + 1):
        assert rest_after(make, n_given) == whole[n_given:]
    with pytest.raises(InvalidArgumentError, match="one size more"):
        TFRecordDataset(names).bucket_by_length([3, 2], [1, 1, 1])
