"""TFRecord files and the tf.train messages in them, without TensorFlow."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.options import TFRecordCompressionType, TFRecordOptions
from tfrecord_lite.reader import TFRecordReader, tf_record_iterator
from tfrecord_lite.writer import ShardedTFRecordWriter, TFRecordWriter

if TYPE_CHECKING:
    from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
    from tfrecord_lite.dataset import (
        Dataset,
        TFRecordDataset,
        make_batched_features_dataset,
        read_batches,
    )
    from tfrecord_lite.example.decode import decode_example, decode_examples
    from tfrecord_lite.example.parse import ExampleParser, parse_example, parse_single_example
    from tfrecord_lite.index import TFRecordFile, tf_record_random_reader
    from tfrecord_lite.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from tfrecord_lite.schema import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        Schema,
        SparseFeature,
        VarLenFeature,
    )

__all__ = [
    "Block",
    "BytesColumn",
    "BytesList",
    "DataLossError",
    "Dataset",
    "Example",
    "ExampleParser",
    "FailedPreconditionError",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "Int64List",
    "InvalidArgumentError",
    "RaggedFeature",
    "RaggedTensor",
    "Reason",
    "Schema",
    "SequenceExample",
    "ShardedTFRecordWriter",
    "SparseFeature",
    "SparseTensor",
    "TFRecordCompressionType",
    "TFRecordDataset",
    "TFRecordError",
    "TFRecordFile",
    "TFRecordOptions",
    "TFRecordReader",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_example",
    "decode_examples",
    "make_batched_features_dataset",
    "parse_example",
    "parse_single_example",
    "read_batches",
    "tf_record_iterator",
    "tf_record_random_reader",
]

# What is loaded when it is first asked for, and from where: reading and writing records
# needs neither the engine nor the protobuf runtime.
_LAZY = {
    "columns": ("BytesColumn", "RaggedTensor", "SparseTensor"),
    "dataset": (
        "Dataset",
        "TFRecordDataset",
        "make_batched_features_dataset",
        "read_batches",
    ),
    "example.decode": ("decode_example", "decode_examples"),
    "example.parse": ("ExampleParser", "parse_example", "parse_single_example"),
    "index": ("TFRecordFile", "tf_record_random_reader"),
    "messages": (
        "BytesList",
        "Example",
        "Feature",
        "FeatureList",
        "FeatureLists",
        "Features",
        "FloatList",
        "Int64List",
        "SequenceExample",
    ),
    "schema": (
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "RaggedFeature",
        "Schema",
        "SparseFeature",
        "VarLenFeature",
    ),
}


def __getattr__(name: str) -> Any:
    """Load what is not loaded by the import."""
    for module, names in _LAZY.items():
        if name in names:
            value = getattr(_import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
