"""The types of elements that data sets promise: checked by mypy, and held against what they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import numpy as np

from tests.support.small_files import FEATURES, number_of, write_files
from tfrecord_lite import Dataset, FixedLenFeature, TFRecordDataset, VarLenFeature, read_batches
from tfrecord_lite.arrays import AnyArray, Int64Array, ObjectArray
from tfrecord_lite.dataset import DatasetIterator

if TYPE_CHECKING:
    from pathlib import Path

    from tfrecord_lite.columns import Column
    from tfrecord_lite.dataset.dataset import Columns

    Arrays = dict[str, AnyArray]
else:
    Arrays = Columns = Column = Any


def half(number: int) -> float:
    return number / 2


def pair(record: bytes) -> tuple[int, str]:
    return len(record), "x"


def total(number: int, text: str) -> float:
    return number + len(text)


def test_elements_are_of_the_type_that_was_promised(tmp_path: Path) -> None:
    names = write_files(tmp_path, [5])
    records = TFRecordDataset(names)
    assert_type(iter(records), DatasetIterator[bytes])
    assert_type(next(iter(records)), bytes)
    assert_type(records.shuffle(3).repeat(2).take(3).skip(1).cache().prefetch(), Dataset[bytes])
    assert_type(records.shuffle_all(1).shard(2, 0), TFRecordDataset)
    assert_type(records.enumerate(), Dataset[tuple[int, bytes]])
    assert type(next(iter(records))) is bytes
    numbers = records.map(number_of)
    assert_type(numbers, Dataset[int])
    assert_type(numbers.map(half).filter(bool).in_processes(0), Dataset[float])
    assert_type(records.map(pair).map(total), Dataset[float])
    assert_type(records.map(pair).filter(total), Dataset[tuple[int, str]])
    assert next(iter(records.map(pair).map(total))) == total(*pair(next(iter(records))))
    assert_type(records.batch(2), Dataset[ObjectArray])
    assert_type(numbers.batch(2), Dataset[AnyArray])
    assert isinstance(next(iter(numbers.batch(2))), np.ndarray)


def test_columns_are_of_the_type_that_was_promised(tmp_path: Path) -> None:
    names = write_files(tmp_path, [5])
    batches = TFRecordDataset(names).batch(2)
    assert_type(batches.parse_example(FEATURES), Dataset[Arrays])
    assert_type(read_batches(names, FEATURES, 2, seed=1), Dataset[Arrays])
    labelled = batches.parse_example(FEATURES, label_key="n")
    assert_type(labelled, Dataset[tuple[Arrays, AnyArray]])
    assert_type(read_batches(names, FEATURES, 2, label_key="n"), Dataset[tuple[Arrays, AnyArray]])
    assert_type(
        batches.parse_sequence_example(FEATURES),
        Dataset[tuple[Columns, Columns, dict[str, Int64Array]]],
    )
    some = {"n": FixedLenFeature([], int), "s": VarLenFeature(bytes)}
    assert_type(read_batches(names, some, 2), Dataset[Columns])
    columns, label = next(iter(labelled))
    assert set(columns) == {"s"}
    assert isinstance(label, np.ndarray)


def test_a_data_set_without_a_type_has_any_elements(tmp_path: Path) -> None:
    def made() -> Dataset:
        return TFRecordDataset(write_files(tmp_path, [2]))

    assert_type(made(), Dataset[Any])
    assert len(next(iter(made()))) > 0
