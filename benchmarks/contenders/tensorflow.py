"""TensorFlow: its compiled iterator for records, tf.data for columns.

Strings are tensors, without a Python object each. Threads of tf.data are one of {sequential, AUTOTUNE,
two parallel calls}, whichever is fastest in a task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from benchmarks import check, data, parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Run = Callable[[], Any]

DISTRIBUTION = "tensorflow-cpu"
_DTYPES = {"float": tf.float32, "int": tf.int64, "bytes": tf.string}
_THREADS = {"sequential": None, "AUTOTUNE": tf.data.AUTOTUNE, "2 calls": 2}
_BEST = {"images": (64, 256)}


def _compression_of(path: str) -> str:
    return "GZIP" if path.endswith(".gz") else ""


# ------------------------------------------------------------------------------- reading


def read(path: str) -> Run:
    """Iterate with the compiled iterator, which is faster than a data set."""
    options = tf.compat.v1.io.TFRecordOptions(_compression_of(path))
    return lambda: iter(tf.compat.v1.io.tf_record_iterator(path, options))


def dicts(path: str, data: str, lists: bool = False) -> Run:  # noqa: FBT001, FBT002 - from JSON
    """Parse each record with the message class, and make a dictionary of arrays, or of lists."""
    dtypes = {"float_list": np.float32, "int64_list": np.int64, "bytes_list": object}

    def values_of(feature: Any) -> Any:
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value
        return list(values) if lists else np.array(values, dtypes[kind])

    def examples() -> Iterator[dict[str, Any]]:
        for record in read(path)():
            features = tf.train.Example.FromString(record).features.feature
            yield {name: values_of(feature) for name, feature in features.items()}

    def sequences() -> Iterator[dict[str, Any]]:
        for record in read(path)():
            message = tf.train.SequenceExample.FromString(record)
            yield {
                "context": {k: values_of(f) for k, f in message.context.feature.items()},
                "feature_lists": {
                    name: [values_of(step) for step in steps.feature]
                    for name, steps in message.feature_lists.feature_list.items()
                },
            }

    return sequences if data == "sequences" else examples


def _features(features: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tf.io.RaggedFeature(_DTYPES[kind])
        if size is None
        else tf.io.FixedLenFeature([] if size == 1 else [size], _DTYPES[kind])
        for name, (kind, size) in features.items()
    }


def _parser(data_name: str, select: list[str] | None = None) -> Callable[[Any], Any]:
    if data_name == "sequences":
        context = _features(data.CONTEXT)
        steps = {
            name: tf.io.FixedLenSequenceFeature([] if size == 1 else [size], _DTYPES[kind])
            for name, (kind, size) in data.STEPS.items()
        }
        return lambda records: tf.io.parse_sequence_example(records, context, steps)
    features = _features(data.features_of(data_name, select))
    return lambda records: tf.io.parse_example(records, features)


def columns(
    path: str,
    data: str,
    batch: int,
    select: list[str] | None = None,
    threads: str = "sequential",
    as_numpy: bool = False,  # noqa: FBT001, FBT002 - from JSON
) -> Run:
    """Parse a file into tensors, that many records at a time."""
    calls = _THREADS[threads]
    batches = tf.data.TFRecordDataset(path, _compression_of(path)).batch(batch)
    parsed = batches.map(_parser(data, select), calls)  # which makes its graph, once
    parsed = parsed.prefetch(tf.data.AUTOTUNE) if calls else parsed
    return (lambda: map(_as_numpy, parsed)) if as_numpy else (lambda: iter(parsed))


def _as_numpy(columns: dict[str, Any]) -> Any:
    return {
        name: (column.flat_values.numpy(), column.row_splits.numpy())
        if isinstance(column, tf.RaggedTensor)
        else column.numpy()
        for name, column in columns.items()
    }


def parse(path: str, data: str, batch: int, select: list[str] | None = None) -> Run:
    """Parse records that are in memory."""
    parser = tf.function(_parser(data, select))
    found = list(tf.data.TFRecordDataset(path).batch(batch))
    return lambda: map(parser, found)


def random_reads(path: str, numbers: list[int]) -> Run:
    """Read all records in order, and keep the wanted ones: there is no other way."""

    def run() -> Iterator[bytes]:
        wanted = set(numbers)
        kept = {i: record for i, record in enumerate(read(path)()) if i in wanted}
        return iter([kept[i] for i in numbers])

    return run


# ------------------------------------------------------------------------------- tables


def arrow(
    path: str,
    data: str,
    batch: int,
    threads: str = "sequential",
    joined: bool = False,  # noqa: FBT001, FBT002 - from JSON
) -> Run:
    """Parse, and make arrays of Arrow of those of NumPy.

    With `joined`, TensorFlow joins the strings of a column to one; without, each is an object.
    """
    calls = _THREADS[threads]
    batches = tf.data.TFRecordDataset(path, _compression_of(path)).batch(batch)
    parsed = batches.map(lambda records: _plain_tensors(records, data, joined=joined), calls)
    parsed = parsed.prefetch(tf.data.AUTOTUNE) if calls else parsed
    return lambda: map(_record_batch, parsed)


def _plain_tensors(records: Any, data_name: str, *, joined: bool) -> dict[str, Any]:
    """Return a batch as tensors: a pair is ragged (row splits, values) or strings (lengths, one)."""
    if data_name == "sequences":
        steps = {
            "tokens": tf.io.RaggedFeature(tf.int64),
            "vectors": tf.io.RaggedFeature(tf.float32),
        }
        context, found, _ = tf.io.parse_sequence_example(records, _features(data.CONTEXT), steps)
        columns = {**context, **found}
    else:
        columns = tf.io.parse_example(records, _features(data.features_of(data_name)))
    return {
        name: (column.row_splits, column.flat_values)
        if isinstance(column, tf.RaggedTensor)
        else (tf.strings.length(column), tf.strings.reduce_join(column))
        if joined and column.dtype == tf.string
        else column
        for name, column in columns.items()
    }


def _record_batch(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    def array_of(name: str, found: Any) -> Any:
        if isinstance(found, tuple) and not found[1].shape.rank:
            offsets = np.zeros(len(found[0]) + 1, np.int64)
            np.cumsum(found[0].numpy(), out=offsets[1:])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(found[1].numpy())]
            return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(found[0]), buffers)
        if isinstance(found, tuple):
            values = pa.array(found[1].numpy())
            size = data.STEPS[name][1] if name == "vectors" else 1
            values = pa.FixedSizeListArray.from_arrays(values, size) if size != 1 else values
            return pa.LargeListArray.from_arrays(found[0].numpy(), values)
        column = found.numpy()
        if column.dtype == object:
            return pa.array(column, pa.large_binary())
        if column.ndim > 1:
            return pa.FixedSizeListArray.from_arrays(pa.array(column.ravel()), column.shape[1])
        return pa.array(column)

    arrays = [array_of(name, found) for name, found in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def to_parquet(target: str, path: str, data: str, batch: int, **setting: Any) -> Run:
    """Write the record batches to Parquet."""
    batches = arrow(path, data, batch, **setting)
    return lambda: parquet.write(batches(), target)


def from_parquet(target: str, data: str, n_records: int) -> Run:
    """Make a message of each row of a Parquet file, and write it."""
    import pyarrow.parquet as pq

    source = parquet.source(data, n_records, target)

    def run() -> None:
        with tf.io.TFRecordWriter(target) as writer:
            for batch in pq.ParquetFile(source).iter_batches(1024):
                for row in batch.to_pylist():
                    writer.write(_example(row).SerializeToString())

    return run


# ------------------------------------------------------------------------------- writing


def write(target: str, size: int, n_records: int) -> Run:
    """Write records of one size."""
    records = data.raw_records(size)

    def run() -> None:
        with tf.io.TFRecordWriter(target) as writer:
            left = n_records
            while left:
                for record in records[:left]:
                    writer.write(record)
                left -= min(left, len(records))

    return run


_MESSAGES = {
    bytes: ("bytes_list", tf.train.BytesList),
    float: ("float_list", tf.train.FloatList),
    int: ("int64_list", tf.train.Int64List),
}


def _feature(value: Any) -> Any:
    values = value if type(value) is list else data.as_list(value)  # what is fastest to read
    field, cls = _MESSAGES[type(values[0])]
    return tf.train.Feature(**{field: cls(value=values)})


def _example(row: dict[str, Any]) -> Any:
    features = {name: _feature(value) for name, value in row.items()}
    return tf.train.Example(features=tf.train.Features(feature=features))


def _sequence_example(row: dict[str, Any]) -> Any:
    context = {name: _feature(value) for name, value in row["context"].items()}
    steps = {
        name: tf.train.FeatureList(feature=list(map(_feature, values)))
        for name, values in row["feature_lists"].items()
    }
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(feature_list=steps),
    )


def write_dicts(target: str, data: str, n_records: int, form: str) -> Run:
    """Make a message of each dictionary, and write it."""
    from benchmarks.data import rows

    given = rows(data, n_records, form)
    message_of = _sequence_example if data == "sequences" else _example

    def run() -> None:
        with tf.io.TFRecordWriter(target) as writer:
            for row in given:
                writer.write(message_of(row).SerializeToString())

    return run


def write_columns(target: str, data: str, n_records: int) -> Run:
    """Make a message of each row of the columns, the only way there is, and write it.

    The columns are lists of Python numbers already, which is not measured.
    """
    return write_dicts(target, data, n_records, "values" if data == "sequences" else "lists")


# ----------------------------------------------------------------------------- pipelines


def pipeline(
    files: list[str], data: str, batch: int, buffer: int, threads: str = "AUTOTUNE"
) -> Run:
    """Interleave files, shuffle, batch and parse."""
    calls = _THREADS[threads]
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=calls
    )
    records = records.shuffle(buffer, seed=1) if buffer else records
    batches = records.batch(batch).map(_parser(data), calls).prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)


# ------------------------------------------------------------------------------- tensors


def parse_tensors(shape: list[int], n_records: int) -> Run:
    """Parse one serialised tensor after the other, the only way, and stack them."""
    items = [tf.io.serialize_tensor(array) for array in data.arrays(shape, n_records)]

    def run() -> Any:
        return iter([np.stack([tf.io.parse_tensor(item, tf.float32).numpy() for item in items])])

    return run


def decode_raw(n_bytes: int, n_records: int) -> Run:
    """Decode a tensor of strings of raw numbers."""
    strings = tf.constant([row.tobytes() for row in data.arrays([n_bytes // 4], n_records)])
    return lambda: iter([tf.io.decode_raw(strings, tf.float32)])


# ---------------------------------------------------------------------------------- main


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield what an operation returned in the form that is compared."""
    if op in {"read", "random_reads"}:
        return check.records(items)
    if op in {"parse_tensors", "decode_raw"}:
        return ({"tensor": check.flat(np.asarray(item))} for item in items)
    if op == "dicts":
        return check.sequence_rows(items) if args["data"] == "sequences" else check.rows(items)
    if op == "arrow":
        return check.arrow(items)
    return map(_flat_columns, items)


def _flat_columns(columns: Any) -> check.Flat:
    if isinstance(columns, tuple):  # of sequences
        context, steps, lengths = columns
        found = {name: check.padded(steps[name].numpy(), lengths[name].numpy()) for name in steps}
        return {**_flat_columns(context), **found}
    return {name: _flat_column(column) for name, column in columns.items()}


def _flat_column(column: Any) -> Any:
    if isinstance(column, tf.RaggedTensor):
        return column.flat_values.numpy(), column.row_lengths().numpy()
    if isinstance(column, tuple):
        return column[0], np.diff(column[1])
    array = np.asarray(column)
    return check.flat(array)


def settings(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return the threads to try, and the batch sizes where the task leaves them open."""
    if op == "pipeline":
        return {threads: {"threads": threads} for threads in _THREADS}
    if op not in {"columns", "arrow", "to_parquet"}:
        return {}
    if args["batch"] is not None:
        return {threads: {"threads": threads} for threads in _THREADS}
    joins = (False, True) if op != "columns" and args["data"] in {"tabular", "images"} else (None,)
    return {
        f"{threads}, {batch:,}{', joined' * bool(joined)}": {"threads": threads, "batch": batch}
        | ({} if joined is None else {"joined": joined})
        for batch in _BEST.get(args["data"], (1024, 4096))
        for threads in _THREADS
        for joined in joins
    }


OPERATIONS = {
    "read": read,
    "dicts": dicts,
    "columns": columns,
    "parse": parse,
    "random_reads": random_reads,
    "write": write,
    "write_dicts": write_dicts,
    "write_columns": write_columns,
    "pipeline": pipeline,
    "arrow": arrow,
    "to_parquet": to_parquet,
    "from_parquet": from_parquet,
    "parse_tensors": parse_tensors,
    "decode_raw": decode_raw,
}
