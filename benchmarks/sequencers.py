"""The measurements of :mod:`benchmarks.sequences`, run by :mod:`benchmarks.measure`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Result, timed_sum

if TYPE_CHECKING:
    from collections.abc import Iterator


def features_of_sequences(
    module: Any, dtypes: tuple[Any, Any, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of the data set, with the classes of either side."""
    float32, int64, string = dtypes
    context = {
        "id": module.FixedLenFeature([], int64),
        "length": module.FixedLenFeature([], int64),
        "name": module.FixedLenFeature([], string),
    }
    lists = {
        "tokens": module.FixedLenSequenceFeature([], int64),
        "vectors": module.FixedLenSequenceFeature([8], float32),
    }
    return context, lists


def sequence_columns_ours(path: str, batch: int | None) -> Result:
    """Parse a file into columns."""
    import tfrecord_lite

    features = features_of_sequences(tfrecord_lite, ("float32", "int64", "string"))
    # TensorFlow's strings are tensors, without a Python object each, and so are these.
    parser = tfrecord_lite.SequenceExampleParser(*features, strings="BytesColumn")

    def parse() -> Iterator[int]:
        for block in tfrecord_lite.TFRecordReader(path).blocks(batch):
            yield len(parser(block)[2]["tokens"])

    return timed_sum(parse)


def sequence_columns_tensorflow(path: str, batch: int, *, autotune: bool) -> Result:
    """Parse a file into tensors with tf.data."""
    import tensorflow as tf

    context, lists = features_of_sequences(tf.io, (tf.float32, tf.int64, tf.string))
    threads = tf.data.AUTOTUNE if autotune else None

    def parse() -> Iterator[int]:
        records = tf.data.TFRecordDataset(path).batch(batch)
        batches = records.map(lambda s: tf.io.parse_sequence_example(s, context, lists), threads)
        for _, _, lengths in batches.prefetch(threads) if autotune else batches:
            yield lengths["tokens"].shape[0]

    return timed_sum(parse)


def sequence_dicts_ours(path: str, limit: int) -> Result:
    """Read one dictionary per record, and one value of each array."""
    from tfrecord_lite import TFRecordReader
    from tfrecord_lite.example.sequence import to_dicts as sequence_decode  # noqa: F401 - loads on the first use

    def take() -> Iterator[int]:
        for row in islice(TFRecordReader(path).sequence_examples(), limit):
            for values in row["context"].values():
                values[0]
            for steps in row["feature_lists"].values():
                for values in steps:
                    values[0]
            yield 1

    return timed_sum(take)


def sequence_dicts_tensorflow(path: str, limit: int, *, as_numpy: bool) -> Result:
    """Iterate with TensorFlow, parse each record, and make dictionaries of lists, or arrays."""
    import numpy as np
    import tensorflow as tf

    dtypes = {"float_list": np.float32, "int64_list": np.int64, "bytes_list": object}

    def values_of(feature: Any) -> Any:
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value
        return np.array(values, dtypes[kind]) if as_numpy else list(values)

    def take() -> Iterator[int]:
        for record in islice(tf.compat.v1.io.tf_record_iterator(path), limit):
            message = tf.train.SequenceExample.FromString(record)
            row = {
                "context": {k: values_of(f) for k, f in message.context.feature.items()},
                "feature_lists": {
                    name: [values_of(step) for step in steps.feature]
                    for name, steps in message.feature_lists.feature_list.items()
                },
            }
            yield len(row) // 2

    return timed_sum(take)


def _columns(n_records: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    import numpy as np

    random = np.random.default_rng(7)
    lengths = random.integers(20, 61, n_records)
    context = {
        "id": np.arange(n_records),
        "length": lengths,
        "name": np.array([b"user%d" % (i % 1_000) for i in range(n_records)], object),
    }
    lists = {
        "tokens": random.integers(0, 50_000, (n_records, 60)),
        "vectors": random.standard_normal((n_records, 60, 8), np.float32),
    }
    return context, lists, lengths


def sequence_encode_ours(n_records: int, batch: int) -> Result:
    """Encode padded columns, batch by batch."""
    from tfrecord_lite import encode_sequence_examples

    context, lists, lengths = _columns(n_records)

    def encode() -> Iterator[int]:
        for first in range(0, n_records, batch):
            some = slice(first, first + batch)
            block = encode_sequence_examples(
                {name: column[some] for name, column in context.items()},
                {name: column[some] for name, column in lists.items()},
                dict.fromkeys(lists, lengths[some]),
            )
            yield len(block)

    return timed_sum(encode)


def _rows(n_records: int) -> list[tuple[int, int, bytes, list[int], list[list[float]]]]:
    """Return each record of a batch as lists of Python numbers."""
    columns, lists, _ = _columns(n_records)
    return [
        (number, size, name, tokens[:size], vectors[:size])
        for number, size, name, tokens, vectors in zip(
            *(column.tolist() for column in columns.values()),
            *(column.tolist() for column in lists.values()),
            strict=True,
        )
    ]


def sequence_encode_rows_ours(n_records: int) -> Result:
    """Encode dictionaries, one a record, of lists of Python numbers."""
    from tfrecord_lite import encode_sequence_examples
    from tfrecord_lite.example.sequence import encode as sequence_encode  # noqa: F401 - loads on the first use

    rows = _rows(n_records)

    def encode() -> Iterator[int]:
        made = (
            {
                "context": {"id": number, "length": size, "name": name},
                "feature_lists": {"tokens": tokens, "vectors": vectors},
            }
            for number, size, name, tokens, vectors in rows
        )
        yield len(encode_sequence_examples(made))

    return timed_sum(encode)


def sequence_encode_tensorflow(n_records: int) -> Result:
    """Encode the same with TensorFlow's message classes, from lists of Python numbers."""
    import tensorflow as tf

    train = tf.train
    rows = _rows(n_records)

    def ints(*values: int) -> Any:
        return train.Feature(int64_list=train.Int64List(value=values))

    def encode() -> Iterator[int]:
        for number, size, name, tokens, vectors in rows:
            context = {
                "id": ints(number),
                "length": ints(size),
                "name": train.Feature(bytes_list=train.BytesList(value=[name])),
            }
            steps = [train.Feature(float_list=train.FloatList(value=v)) for v in vectors]
            made = {
                "tokens": train.FeatureList(feature=[ints(token) for token in tokens]),
                "vectors": train.FeatureList(feature=steps),
            }
            message = train.SequenceExample(
                context=train.Features(feature=context),
                feature_lists=train.FeatureLists(feature_list=made),
            )
            yield bool(message.SerializeToString())

    return timed_sum(encode)
