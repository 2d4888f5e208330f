"""What is encoded here is read by TensorFlow, and is what its own Python API writes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from tests.parity.parsing import Parsing
from tests.support.columns import columns_of, flat_of, rounded
from tests.support.specifications import tables
from tfrecord_lite import (
    FixedLenFeature,
    RaggedTensor,
    RawFeature,
    Schema,
    SparseTensor,
    TFRecordWriter,
    encode_example,
    encode_examples,
)
from tfrecord_lite.convert.lossless import restore, schema_of
from tfrecord_lite.messages import Example
from tfrecord_lite.testing import assert_same

FEW = settings(max_examples=100)


def ours(result: Any) -> Any:
    """Return a result of TensorFlow's as this package has it."""
    if hasattr(result, "row_splits"):
        return RaggedTensor(ours(result.values), result.row_splits.numpy())
    if hasattr(result, "dense_shape"):
        return SparseTensor(
            *(part.numpy() for part in (result.indices, result.values, result.dense_shape))
        )
    return result.numpy()


def through_tensorflow(tf: Any, column: Any, *, lossless: bool) -> Any:
    """Return a column that was encoded here, parsed there, and restored."""
    schema = schema_of({"x": column}, lossless=lossless)
    strings = FixedLenFeature([], "string")
    specs = {name: strings if isinstance(s, RawFeature) else s for name, s in schema.items()}
    records = encode_examples({"x": column}, schema).to_list()
    found = tf.io.parse_example(records, Parsing(tf).features(specs))
    return restore({name: ours(result) for name, result in found.items()}, schema)["x"]


@FEW
@given(columns_of(4))
def test_any_column_comes_back_through_tensorflow(tf: Any, column: Any) -> None:
    assert_same(through_tensorflow(tf, column, lossless=True), column)


@FEW
@given(columns_of(4))
def test_tensorflow_reads_the_numbers_of_any_column(tf: Any, column: Any) -> None:
    after = flat_of(rounded(column))
    assume(after.dtype != np.float64 or np.isfinite(after).all())
    assert_same(through_tensorflow(tf, column, lossless=False), rounded(column))
    items = schema_of({"x": column}).to_items()
    is_raw = items["x"].is_raw
    assert not is_raw or after.dtype.kind == "c" or after.dtype == np.uint8
    kind = tf.string if is_raw or after.dtype.kind in "OSUT" else tf.float32
    kind = kind if after.dtype.kind in "fcOSUT" or is_raw else tf.int64
    key = getattr(items["x"].spec, "value_key", None) or "x"
    records = encode_examples({"x": column}, Schema.of_items(items)).to_list()
    parsed = tf.io.parse_example(records, {key: tf.io.VarLenFeature(kind)})[key]
    if not is_raw and after.dtype.kind in "fiu" and after.dtype != np.uint64:
        are_floats = after.dtype.kind == "f"
        assert np.array_equal(parsed.values.numpy(), after, equal_nan=are_floats)


def test_bfloat16_is_tensorflows(tf: Any) -> None:
    values = tf.constant([1.5, 3.25], tf.bfloat16).numpy()
    assert_same(through_tensorflow(tf, values, lossless=False), values)


@FEW
@given(tables(allow_nan=False))
def test_tensorflow_has_the_same_messages(tf: Any, table: tuple[Any, list[Example]]) -> None:
    columns, examples = table
    for record, example in zip(encode_examples(columns), examples, strict=True):
        wanted = tf.train.Example.FromString(example.SerializeToString())
        assert tf.train.Example.FromString(record) == wanted
        assert len(record) == wanted.ByteSize()


def test_tensorflow_reads_a_file_of_rows(tf: Any, tmp_path: Path) -> None:
    rows = [{"i": i, "x": i / 2, "s": b"%d" % i, "v": [1.0] * (i % 3)} for i in range(3000)]
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write_example(row)
        writer.write_examples({"i": np.arange(3000)})
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(path))]
    features = {"i": tf.io.FixedLenFeature([], tf.int64), "v": tf.io.RaggedFeature(tf.float32)}
    found = tf.io.parse_example(records, features)
    assert found["i"].numpy().tolist() == [*range(3000), *range(3000)]
    assert found["v"].to_list() == [row["v"] for row in rows] + [[]] * 3000
    assert records[:3000] == [encode_example(row) for row in rows]


@pytest.mark.parametrize("values", [[], [[]], [[], []]])
def test_a_list_without_values_is_missing_for_any_dtype(tf: Any, values: Any) -> None:
    record = encode_example({"x": values})
    for dtype in (tf.int64, tf.float32, tf.string):
        found = tf.io.parse_single_example(record, {"x": tf.io.VarLenFeature(dtype)})
        assert found["x"].dense_shape.numpy().tolist() == [0]
