"""tfx-bsl: its compiled decoders of Examples and SequenceExamples to Arrow, over TensorFlow's records.

The lists of one value that it makes of each number are opened without a copy.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders import example_coder, sequence_example_coder

from benchmarks import check, data, parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Run = Callable[[], Any]

DISTRIBUTION = "tfx-bsl"
_KINDS = {"float": "FLOAT", "int": "INT", "bytes": "BYTES"}
_SEQUENCE = "##SEQUENCE##"


def _schema(data_name: str) -> bytes:
    made = schema_pb2.Schema()

    def add(owner: Any, features: Mapping[str, tuple[str, int | None]]) -> None:
        for name, (kind, size) in features.items():
            feature = owner.add(name=name, type=getattr(schema_pb2, _KINDS[kind]))
            if size is not None:
                feature.value_count.min = feature.value_count.max = size

    if data_name == "sequences":
        add(made.feature, data.CONTEXT)
        steps = made.feature.add(name=_SEQUENCE, type=schema_pb2.STRUCT).struct_domain
        add(steps.feature, data.STEPS)
    else:
        add(made.feature, data.features_of(data_name))
    found: bytes = made.SerializeToString()
    return found


def _records(path: str, batch: int, reader: str) -> Iterator[Any]:
    compression = "GZIP" if path.endswith(".gz") else ""
    if reader == "dataset":
        yield from tf.data.TFRecordDataset(path, compression).batch(batch).as_numpy_iterator()
        return
    options = tf.compat.v1.io.TFRecordOptions(compression)
    records = tf.compat.v1.io.tf_record_iterator(path, options)
    while some := list(islice(records, batch)):
        yield some


def columns(
    path: str, data: str, batch: int, select: list[str] | None = None, reader: str = "dataset"
) -> Run:
    """Decode to Arrow, which are its columns."""
    schema = _schema(data)
    if data == "sequences":
        decoder = sequence_example_coder.SequenceExamplesToRecordBatchDecoder(_SEQUENCE, schema)
    else:
        decoder = example_coder.ExamplesToRecordBatchDecoder(schema)
    return lambda: map(decoder.DecodeBatch, _records(path, batch, reader))


def arrow(path: str, data: str, batch: int, reader: str = "dataset") -> Run:
    """Decode to record batches without needless lists."""
    decode = columns(path, data, batch, None, reader)
    return lambda: map(_without_lists, decode())


def _without_lists(batch: Any) -> Any:
    arrays = {}
    for i, name in enumerate(batch.schema.names):
        array = batch.column(i)
        if name == "embedding":
            array = pa.FixedSizeListArray.from_arrays(array.values, 512)
        elif name not in {_SEQUENCE, "tokens"}:
            array = array.values
        arrays[name] = array
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def to_parquet(target: str, path: str, data: str, batch: int, reader: str = "dataset") -> Run:
    """Write the record batches to Parquet."""
    decode = arrow(path, data, batch, reader)
    return lambda: parquet.write(decode(), target)


def flat(op: str, items: Iterable[Any], args: dict[str, Any]) -> Iterator[check.Flat]:
    """Yield record batches as columns."""
    return check.arrow(items)


def settings(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return the readers to try, and the batch sizes where the task leaves them open."""
    sizes = (
        [args["batch"]]
        if args["batch"]
        else (64, 256)
        if args["data"] == "images"
        else (1024, 4096)
    )
    return {
        f"{reader}, {size:,}": {"batch": size, "reader": reader}
        for size in sizes
        for reader in ("dataset", "iterator")
    }


OPERATIONS = {"columns": columns, "arrow": arrow, "to_parquet": to_parquet}
