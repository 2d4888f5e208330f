"""TFRecord files and the tf.train messages in them, without TensorFlow."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.errors import (
    DataLossError,
    DataLossWarning,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.files.compression import TFRecordCompressionType, TFRecordOptions
from tfrecord_lite.reader import TFRecordReader, tf_record_iterator
from tfrecord_lite.records.damage import DamagedSpan, DamageReport, FileReport
from tfrecord_lite.sharded import ShardedTFRecordWriter
from tfrecord_lite.writer import TFRecordWriter

if TYPE_CHECKING:
    from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
    from tfrecord_lite.convert.lossless import restore, schema_of
    from tfrecord_lite.dataset import (
        Dataset,
        TFRecordDataset,
        make_batched_features_dataset,
        read_batches,
    )
    from tfrecord_lite.events import find_runs, follow_events, read_events
    from tfrecord_lite.example.encode.columns import encode_example, encode_examples
    from tfrecord_lite.example.example_list import (
        ExampleListParser,
        decode_example_list,
        decode_example_lists,
    )
    from tfrecord_lite.example.parse import ExampleParser, parse_example, parse_single_example
    from tfrecord_lite.example.sequence.encode import (
        encode_sequence_example,
        encode_sequence_examples,
    )
    from tfrecord_lite.example.sequence.parse import (
        SequenceExampleParser,
        parse_sequence_example,
        parse_single_sequence_example,
    )
    from tfrecord_lite.example.sequence.to_dicts import (
        decode_sequence_example,
        decode_sequence_examples,
    )
    from tfrecord_lite.example.to_dicts import decode_example, decode_examples
    from tfrecord_lite.index import TFRecordFile, tf_record_random_reader
    from tfrecord_lite.integrations.image import decode_image, encode_image, image_row
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
    from tfrecord_lite.recovery.recover import recover
    from tfrecord_lite.recovery.verify import verify
    from tfrecord_lite.schema import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        Schema,
        SparseFeature,
        Summary,
        VarLenFeature,
    )
    from tfrecord_lite.storage import load, load_schema, save
    from tfrecord_lite.storage.infer import infer_schema, summarize
    from tfrecord_lite.tensors.parse import parse_tensor, parse_tensors
    from tfrecord_lite.tensors.raw import decode_raw
    from tfrecord_lite.tensors.serialize import serialize_tensor

__all__ = [
    "Block",
    "BytesColumn",
    "BytesList",
    "DamageReport",
    "DamagedSpan",
    "DataLossError",
    "DataLossWarning",
    "Dataset",
    "Example",
    "ExampleListParser",
    "ExampleParser",
    "FailedPreconditionError",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FileReport",
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
    "SequenceExampleParser",
    "ShardedTFRecordWriter",
    "SparseFeature",
    "SparseTensor",
    "Summary",
    "TFRecordCompressionType",
    "TFRecordDataset",
    "TFRecordError",
    "TFRecordFile",
    "TFRecordOptions",
    "TFRecordReader",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_example",
    "decode_example_list",
    "decode_example_lists",
    "decode_examples",
    "decode_image",
    "decode_raw",
    "decode_sequence_example",
    "decode_sequence_examples",
    "encode_example",
    "encode_examples",
    "encode_image",
    "encode_sequence_example",
    "encode_sequence_examples",
    "find_runs",
    "follow_events",
    "image_row",
    "infer_schema",
    "load",
    "load_schema",
    "make_batched_features_dataset",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "parse_tensors",
    "read_batches",
    "read_events",
    "recover",
    "restore",
    "save",
    "schema_of",
    "serialize_tensor",
    "summarize",
    "tf_record_iterator",
    "tf_record_random_reader",
    "verify",
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
    "events": ("find_runs", "follow_events", "read_events"),
    "example.to_dicts": ("decode_example", "decode_examples"),
    "example.encode.columns": ("encode_example", "encode_examples"),
    "example.example_list": ("ExampleListParser", "decode_example_list", "decode_example_lists"),
    "example.parse": ("ExampleParser", "parse_example", "parse_single_example"),
    "index": ("TFRecordFile", "tf_record_random_reader"),
    "example.sequence.to_dicts": ("decode_sequence_example", "decode_sequence_examples"),
    "example.sequence.encode": ("encode_sequence_example", "encode_sequence_examples"),
    "example.sequence.parse": (
        "SequenceExampleParser",
        "parse_sequence_example",
        "parse_single_sequence_example",
    ),
    "integrations.image": ("decode_image", "encode_image", "image_row"),
    "convert.lossless": ("restore", "schema_of"),
    "storage.infer": ("infer_schema", "summarize"),
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
    "recovery.recover": ("recover",),
    "recovery.verify": ("verify",),
    "schema": (
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "RaggedFeature",
        "Schema",
        "SparseFeature",
        "Summary",
        "VarLenFeature",
    ),
    "tensors.parse": ("parse_tensor", "parse_tensors"),
    "tensors.raw": ("decode_raw",),
    "tensors.serialize": ("serialize_tensor",),
    "storage": ("load", "load_schema", "save"),
}


def __getattr__(name: str) -> Any:
    """Load what is not loaded by the import."""
    for module, names in _LAZY.items():
        if name in names:
            value = getattr(_import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    if name == "tf":  # TensorFlow's names, a package of its own
        return _import_module(f"{__name__}.tf")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
