"""The measurements of :mod:`benchmarks.tables`, run by :mod:`benchmarks.measure`.

All sides turn a file into the same record batches of Arrow: one column per feature, numbers and
byte strings plain, vectors as fixed-size lists, ragged features as lists. What is done with the
batches is the same too: drop them, write them to Parquet, or sum their values up, to compare.
The libraries of the others are imported only when they are measured.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Result = dict[str, Any]

_VECTOR = 512
_STEP = 8
_GROUP_ROWS = 128 * 1024
_GROUP_BYTES = 64 * 1024 * 1024
"""Size of the row groups of Parquet, as ``tfrecord convert`` has them."""
_SEQUENCE = "##SEQUENCE##"
"""The column in which tfx-bsl has all feature lists."""


# ------------------------------------------------------------------------- this package


def features_ours(data_set: str) -> Any:
    """Return the features of a data set, for this package."""
    import tfrecord_lite
    from benchmarks.measure import features_of
    from benchmarks.sequencers import features_of_sequences

    dtypes = ("float32", "int64", "string")
    if data_set == "sequences":
        return tfrecord_lite.SequenceSchema(*features_of_sequences(tfrecord_lite, dtypes))
    return tfrecord_lite.Schema(features_of(data_set, tfrecord_lite, dtypes))


def batches_ours(path: str, data_set: str, size: int | None = None) -> Iterator[Any]:
    """Yield the record batches of a lazy table."""
    from tfrecord_lite import scan

    yield from scan(path, features_ours(data_set)).to_batches(size)


def parsed_ours(path: str, data_set: str, size: int | None = None) -> Result:
    """Parse a file into columns, without Arrow: what Arrow is compared with."""
    from benchmarks.measure import timed_sum
    from tfrecord_lite import ExampleParser, SequenceExampleParser, TFRecordReader

    def parse() -> Iterator[int]:
        features: Any = features_ours(data_set)
        make: Any = SequenceExampleParser if data_set == "sequences" else ExampleParser
        given = tuple(features) if data_set == "sequences" else (features,)
        parser = make(*given, strings="BytesColumn")
        for block in TFRecordReader(path).blocks(size):
            parser(block)
            yield len(block)

    return timed_sum(parse)


# ------------------------------------------------------------------------------- tf.data


def batches_tensorflow(
    path: str, data_set: str, size: int, *, autotune: bool, joined: bool
) -> Iterator[Any]:
    """Parse with tf.data, and make arrays of Arrow from those of NumPy.

    With `joined`, TensorFlow joins the strings of a column to one; without, each is an object.
    """
    import pyarrow as pa
    import tensorflow as tf

    threads = tf.data.AUTOTUNE if autotune else None
    compression = "GZIP" if path.endswith(".gz") else ""
    records = tf.data.TFRecordDataset(path, compression).batch(size)
    batches = records.map(lambda s: _tensors(tf, s, data_set, joined=joined), threads)
    for columns in batches.prefetch(threads) if autotune else batches:
        arrays = {name: _from_tensors(pa, name, found) for name, found in columns.items()}
        yield pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def _tensors(tf: Any, records: Any, data_set: str, *, joined: bool) -> dict[str, Any]:
    """Return a batch as tensors, all that TensorFlow can do in its graph."""
    from benchmarks.measure import features_of
    from benchmarks.sequencers import features_of_sequences

    dtypes = (tf.float32, tf.int64, tf.string)
    if data_set == "sequences":
        context, _ = features_of_sequences(tf.io, dtypes)
        lists = {
            "tokens": tf.io.RaggedFeature(tf.int64),
            "vectors": tf.io.RaggedFeature(tf.float32),
        }
        found, steps, _ = tf.io.parse_sequence_example(records, context, lists)
        columns = {**found, **steps}
    else:
        columns = tf.io.parse_example(records, features_of(data_set, tf.io, dtypes))
    made = {}
    for name, column in columns.items():
        if isinstance(column, tf.RaggedTensor):
            made[name] = (column.row_splits, column.flat_values)
        elif column.dtype == tf.string and joined:
            made[name] = (tf.strings.length(column), tf.strings.reduce_join(column))
        else:
            made[name] = column
    return made


def _from_tensors(pa: Any, name: str, found: Any) -> Any:
    """Return the array of a column."""
    import numpy as np

    if isinstance(found, tuple) and not found[1].shape.rank:  # strings, joined
        offsets = np.zeros(len(found[0]) + 1, np.int64)
        np.cumsum(found[0].numpy(), out=offsets[1:])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(found[1].numpy())]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(found[0]), buffers)
    if isinstance(found, tuple):
        values = pa.array(found[1].numpy())
        if name == "vectors":
            values = pa.FixedSizeListArray.from_arrays(values, _STEP)
            return pa.LargeListArray.from_arrays(found[0].numpy(), values)
        return pa.LargeListArray.from_arrays(found[0].numpy(), values)
    column = found.numpy()
    if column.dtype == object:
        return pa.array(column, pa.large_binary())
    if column.ndim > 1:
        return pa.FixedSizeListArray.from_arrays(pa.array(column.ravel()), column.shape[1])
    return pa.array(column)


# ------------------------------------------------------------------------------- tfx-bsl


def batches_tfx_bsl(path: str, data_set: str, size: int, reader: str) -> Iterator[Any]:
    """Decode with tfx-bsl what TensorFlow reads, with either of its readers."""
    import pyarrow as pa
    from tfx_bsl.coders import example_coder, sequence_example_coder

    schema = _schema_proto(data_set).SerializeToString()
    if data_set == "sequences":
        decoder = sequence_example_coder.SequenceExamplesToRecordBatchDecoder(_SEQUENCE, schema)
    else:
        decoder = example_coder.ExamplesToRecordBatchDecoder(schema)
    for records in _RAW_READERS[reader](path, size):
        batch = decoder.DecodeBatch(records)
        arrays = {
            name: _without_lists(pa, name, batch.column(i))
            for i, name in enumerate(batch.schema.names)
        }
        yield pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def _from_dataset(path: str, size: int) -> Iterator[Any]:
    import tensorflow as tf

    compression = "GZIP" if path.endswith(".gz") else ""
    yield from tf.data.TFRecordDataset(path, compression).batch(size).as_numpy_iterator()


def _from_iterator(path: str, size: int) -> Iterator[Any]:
    from itertools import islice

    from tensorflow import compat

    options = compat.v1.io.TFRecordOptions("GZIP" if path.endswith(".gz") else "")
    records = compat.v1.io.tf_record_iterator(path, options)
    while batch := list(islice(records, size)):
        yield batch


_RAW_READERS: dict[str, Callable[[str, int], Iterator[Any]]] = {
    "dataset": _from_dataset,
    "iterator": _from_iterator,
}


def _schema_proto(data_set: str) -> Any:
    """Return the features of a data set as a Schema of TensorFlow Metadata."""
    from tensorflow_metadata.proto.v0 import schema_pb2

    from benchmarks.measure import features_of
    from benchmarks.sequencers import features_of_sequences

    made = schema_pb2.Schema()

    def add(owner: Any, name: str, dtype: str, sizes: tuple[int, int] | None) -> None:
        feature = owner.add(name=name, type=getattr(schema_pb2, dtype))
        if sizes is not None:
            feature.value_count.min, feature.value_count.max = sizes

    names = ("FLOAT", "INT", "BYTES")
    if data_set == "sequences":
        context, _ = features_of_sequences(_Specs, names)
        steps = made.feature.add(name=_SEQUENCE, type=schema_pb2.STRUCT).struct_domain
        add(steps.feature, "tokens", "INT", (1, 1))
        add(steps.feature, "vectors", "FLOAT", (_STEP, _STEP))
    else:
        context = features_of(data_set, _Specs, names)
    for name, (dtype, size) in context.items():
        add(made.feature, name, dtype, None if size is None else (size, size))
    return made


class _Specs:
    """The names and arguments of specifications, as pairs of dtype and number of values."""

    @staticmethod
    def FixedLenFeature(shape: list[int], dtype: str) -> tuple[str, int]:  # noqa: N802 - its name
        return dtype, shape[0] if shape else 1

    FixedLenSequenceFeature = FixedLenFeature

    @staticmethod
    def RaggedFeature(dtype: str) -> tuple[str, None]:  # noqa: N802 - its name
        return dtype, None


def _without_lists(pa: Any, name: str, array: Any) -> Any:
    """Return a column without the list of one value that tfx-bsl has for each; nothing is copied."""
    if name in {_SEQUENCE, "tokens"}:
        return array
    if name == "embedding":
        return pa.FixedSizeListArray.from_arrays(array.values, _VECTOR)
    return array.values


# ------------------------------------------------------------------- what is done with batches

_SIDES: dict[str, Callable[..., Iterator[Any]]] = {
    "ours": batches_ours,
    "tensorflow": batches_tensorflow,
    "tfx_bsl": batches_tfx_bsl,
}


def tables_arrow(side: str, **arguments: Any) -> Result:
    """Make batches, and drop them."""
    from benchmarks.measure import timed_sum

    return timed_sum(lambda: map(len, _SIDES[side](**arguments)))


def tables_parquet(side: str, target: str, **arguments: Any) -> Result:
    """Write batches to Parquet with pyarrow's writer."""
    from benchmarks.measure import timed_sum

    Path(target).unlink(missing_ok=True)
    return timed_sum(lambda: _written(_SIDES[side](**arguments), target))


def _written(batches: Iterable[Any], target: str) -> Iterator[int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    pending: list[Any] = []
    n_rows = n_bytes = 0

    def put() -> None:
        nonlocal writer
        table = pa.Table.from_batches(pending)
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema)
        writer.write_table(table, row_group_size=max(len(table), 1))

    for batch in batches:
        pending.append(batch)
        n_rows, n_bytes = n_rows + len(batch), n_bytes + batch.nbytes
        if n_rows >= _GROUP_ROWS or n_bytes >= _GROUP_BYTES:
            put()
            pending, n_rows, n_bytes = [], 0, 0
        yield len(batch)
    if pending:
        put()
    writer.close()


def tables_sums(side: str, **arguments: Any) -> Result:
    """Return what the values of batches sum up to."""
    return _sums(_SIDES[side](**arguments))


def tables_sums_parquet(path: str) -> Result:
    """Return what the values of one Parquet file, or all in a folder, sum up to."""
    import pyarrow.parquet as pq

    files = sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else [Path(path)]
    return _sums(batch for file in files for batch in pq.ParquetFile(file).iter_batches())


def _sums(batches: Iterable[Any]) -> Result:
    columns: dict[str, _Sum] = {}
    n_records = 0
    for batch in batches:
        n_records += len(batch)
        for i, name in enumerate(batch.schema.names):
            for inner, array in _parts(name, batch.column(i)):
                columns.setdefault(inner, _Sum()).add(array)
    return {"n_records": n_records, **{name: columns[name].value() for name in sorted(columns)}}


def _parts(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    """Yield the columns of an array, those of a struct one by one, by the same names on all sides."""
    if name == _SEQUENCE:
        for i, field in enumerate(array.type):
            yield field.name, array.field(i)
    else:
        yield name.rpartition("/")[2], array


class _Sum:
    """Checksums of a column's values and of the lengths of its lists and strings.

    Neither how the rows are cut into batches nor lists of the same length each matter.
    """

    def __init__(self) -> None:
        self._values = 0
        self._lengths: list[tuple[int, int, int]] = []

    def add(self, array: Any) -> None:
        """Add the values of a batch."""
        import numpy as np
        import pyarrow as pa

        level = 0
        while pa.types.is_nested(array.type):
            if array.null_count:
                raise ValueError("a null in data that have none")
            if pa.types.is_fixed_size_list(array.type):
                lengths = np.full(len(array), array.type.list_size, np.int64)
            else:
                lengths = np.diff(array.offsets.to_numpy())
            self._add_lengths(level, lengths)
            array, level = array.flatten(), level + 1
        if array.null_count:
            raise ValueError("a null in data that have none")
        if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
            self._values = zlib.crc32(array.to_numpy().tobytes(), self._values)
            return
        array = pa.concat_arrays([array.cast(pa.large_binary())])  # not a slice of another
        offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]
        self._add_lengths(level, np.diff(offsets))
        data = memoryview(array.buffers()[2])[offsets[0] : offsets[-1]]
        self._values = zlib.crc32(data, self._values)

    def _add_lengths(self, level: int, lengths: Any) -> None:
        import numpy as np

        if not len(lengths):
            return
        if level == len(self._lengths):
            self._lengths.append((0, int(lengths[0]), int(lengths[0])))
        found, least, most = self._lengths[level]
        found = zlib.crc32(lengths.astype(np.int64).tobytes(), found)
        least, most = min(least, int(lengths.min())), max(most, int(lengths.max()))
        self._lengths[level] = (found, least, most)

    def value(self) -> int:
        """Return the sum."""
        ragged = [found for found, least, most in self._lengths if least != most]
        return zlib.crc32(repr([self._values, *ragged]).encode())


# ------------------------------------------------------------------------------- convert


def has_convert() -> Result:
    """Return whether the command line converts."""
    return {"found": find_spec("tfrecord_lite.cli.convert") is not None}


def tables_convert(sources: list[str], target: str, options: list[str], n_records: int) -> Result:
    """Convert files with the command line's verb, called in this process."""
    from benchmarks.measure import timed_sum
    from tfrecord_lite.cli import app

    def run() -> Iterator[int]:
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):  # noqa: PTH123
            status = app.main(["convert", *options, "--overwrite", *sources, target])
        if status:
            raise SystemExit(f"convert ended with {status}")
        yield n_records

    return timed_sum(run)


def tables_schema(data_set: str, target: str) -> Result:
    """Write the features of a data set to a schema file."""
    Path(target).write_text(features_ours(data_set).to_json())
    return {}


def tables_rows_tensorflow(path: str, target: str) -> Result:
    """Write the rows of a Parquet file as Examples, in a loop."""
    import pyarrow.parquet as pq
    import tensorflow as tf

    from benchmarks.measure import timed_sum

    train = tf.train
    feature_of: dict[str, Callable[[Any], Any]] = {
        "f": lambda value: train.Feature(float_list=train.FloatList(value=[value])),
        "i": lambda value: train.Feature(int64_list=train.Int64List(value=[value])),
        "s": lambda value: train.Feature(bytes_list=train.BytesList(value=[value])),
    }

    def run() -> Iterator[int]:
        with tf.io.TFRecordWriter(target) as writer:
            for batch in pq.ParquetFile(path).iter_batches(1024):
                names = batch.schema.names
                makers = [feature_of[name[0]] for name in names]
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns, strict=True):
                    features = {
                        name: make(value)
                        for name, make, value in zip(names, makers, row, strict=True)
                    }
                    example = train.Example(features=train.Features(feature=features))
                    writer.write(example.SerializeToString())
                yield len(batch)

    return timed_sum(run)


# ------------------------------------------------------------------------- memory, processes


def memory_tables(inner: str, arguments: dict[str, Any]) -> Result:
    """Run another measurement; return the peak of the whole process."""
    from benchmarks.measure import peak_bytes

    return {**MEASUREMENTS[inner](**arguments), "peak_bytes": peak_bytes()}


def first_rows(path: str, target: str, n_rows: int) -> Result:
    """Write the first rows of a Parquet file to another."""
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(path)[:n_rows], target)
    return {}


def versions(packages: list[str]) -> Result:
    """Return the versions of the packages that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def repeat_file(path: str, target: str, times: int) -> Result:
    """Write a file several times after itself: a file of TFRecords, that much longer."""
    with open(target, "wb") as out:  # noqa: PTH123
        out.writelines(Path(path).read_bytes() for _ in range(times))
    return {}


def use_one_core() -> Result:
    """Stay on one core from now on, where the system has such a call."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return {}


MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "parsed_ours": parsed_ours,
    "tables_arrow": tables_arrow,
    "tables_parquet": tables_parquet,
    "tables_sums": tables_sums,
    "tables_sums_parquet": tables_sums_parquet,
    "has_convert": has_convert,
    "tables_convert": tables_convert,
    "tables_schema": tables_schema,
    "tables_rows_tensorflow": tables_rows_tensorflow,
    "memory_tables": memory_tables,
    "first_rows": first_rows,
    "versions": versions,
    "repeat_file": repeat_file,
    "use_one_core": use_one_core,
}
