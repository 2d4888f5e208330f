"""What is encoded here is read by TensorFlow, and is what its own Python API writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.parity.parsing import Parsing
from tfrecord_lite import (
    FixedLenFeature,
    RaggedTensor,
    RawFeature,
    SparseTensor,
    TFRecordWriter,
    encode_example,
    encode_examples,
    parse_example,
    testing,
)
from tfrecord_lite.convert.lossless import restore, schema_of
from tfrecord_lite.testing import assert_same

if TYPE_CHECKING:
    from pathlib import Path

    from tfrecord_lite import Block, Schema
    from tfrecord_lite.messages import Example

FEW = settings(max_examples=50)

DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[ns]",
    "m8[s]", "S3", "U2",
]  # fmt: skip


def ours(result: Any) -> Any:
    """Return a result of TensorFlow's as this package has it."""
    if hasattr(result, "row_splits"):
        return RaggedTensor(ours(result.values), result.row_splits.numpy())
    if hasattr(result, "dense_shape"):
        return SparseTensor(
            *(part.numpy() for part in (result.indices, result.values, result.dense_shape))
        )
    return result.numpy()


def parsed_by_tensorflow(tf: Any, block: Block, schema: Schema) -> dict[str, Any]:
    strings = FixedLenFeature([], "string")
    specs = {name: strings if isinstance(s, RawFeature) else s for name, s in schema.items()}
    found = tf.io.parse_example(block.to_list(), Parsing(tf).features(specs))
    return {name: ours(result) for name, result in found.items()}


def elements(dtype: str) -> Any:
    texts: dict[str, Any] = {
        "S": st.binary(max_size=3).map(lambda value: value.rstrip(b"\0")),
        "U": st.text("abü", max_size=2),
        "f": st.floats(width=16, allow_nan=False),
        "c": st.integers(-9, 9).map(complex),
        "M": st.integers(0, 10**6).map(lambda n: np.array(n, dtype)[()]),
        "m": st.integers(0, 10**6).map(lambda n: np.array(n, dtype)[()]),
    }
    return texts.get(dtype[0])


@FEW
@given(
    st.data(),
    st.sampled_from(DTYPES),
    st.sampled_from(["dense", "masked", "ragged", "levels", "sparse"]),
)
def test_any_column_comes_back_through_tensorflow(
    tf: Any, data: st.DataObject, dtype: str, form: str
) -> None:
    def draw(shape: Any) -> Any:
        return data.draw(hnp.arrays(dtype, shape, elements=elements(dtype), fill=st.nothing()))

    column: Any
    if form == "sparse":
        column = SparseTensor([[0, 5, 1], [2, 0, 0], [2, 3, 0], [2, 4, 1]], draw(4), [4, 7, 2])
    elif form == "levels":
        column = RaggedTensor.from_nested_row_splits(draw((5, 2)), [[0, 1, 1, 3], [0, 0, 3, 5]])
    elif form == "ragged":
        lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        column = RaggedTensor.from_row_lengths(draw((sum(lengths), 2)), np.array(lengths))
    else:
        column = draw(data.draw(hnp.array_shapes(max_dims=3, max_side=3)))
    if form == "masked":
        mask = np.zeros(column.shape, np.bool_)
        mask[::2] = True
        column = np.ma.MaskedArray(column, mask)
    schema = schema_of({"x": column})

    block = encode_examples({"x": column}, schema)

    assert_same(restore(parsed_by_tensorflow(tf, block, schema), schema)["x"], column)
    assert_same(parse_example(block, schema)["x"], column)


@FEW
@given(testing.tables(allow_nan=False))
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


def test_bfloat16_is_tensorflows(tf: Any) -> None:
    values = tf.constant([1.5, 3.25], tf.bfloat16).numpy()
    schema = schema_of({"x": values})

    found = restore(
        parsed_by_tensorflow(tf, encode_examples({"x": values}, schema), schema), schema
    )

    assert found["x"].dtype == values.dtype
    assert found["x"].tolist() == [1.5, 3.25]
