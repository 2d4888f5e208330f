"""TFRecord files and the tf.train messages in them, without TensorFlow.

Every public name can be imported from here. A name's module is loaded when the name is
first used, so that reading and writing records loads neither the engine nor the protobuf
runtime. ``tfrecord_lite.tf`` has TensorFlow's names; ``tfrecord_lite.testing`` helps with tests;
``tfrecord_lite.apps.rearrange`` merges, splits, shuffles, samples and filters files;
``tfrecord_lite.apps.statistics`` says how the values of features are distributed.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

__version__ = "0.1.0.dev0"

if _TYPE_CHECKING:  # for type checkers: the same names as in _MODULES
    from tfrecord_lite.block import Block as Block
    from tfrecord_lite.columns import (
        BytesColumn as BytesColumn,
        RaggedTensor as RaggedTensor,
        SparseTensor as SparseTensor,
        to_dense as to_dense,
    )
    from tfrecord_lite.convert.lossless import restore as restore, schema_of as schema_of
    from tfrecord_lite.dataset import (
        Dataset as Dataset,
        TFRecordDataset as TFRecordDataset,
        read_batches as read_batches,
    )
    from tfrecord_lite.errors import (
        DamagedSpan as DamagedSpan,
        DataLossError as DataLossError,
        DataLossWarning as DataLossWarning,
        FailedPreconditionError as FailedPreconditionError,
        InvalidArgumentError as InvalidArgumentError,
        Reason as Reason,
        TFRecordError as TFRecordError,
    )
    from tfrecord_lite.apps.events import (
        find_runs as find_runs,
        follow_events as follow_events,
        read_events as read_events,
    )
    from tfrecord_lite.example.encode.columns import (
        encode_example as encode_example,
        encode_examples as encode_examples,
    )
    from tfrecord_lite.example.parse import (
        ExampleParser as ExampleParser,
        parse_example as parse_example,
        parse_single_example as parse_single_example,
    )
    from tfrecord_lite.example.sequence.encode import (
        encode_sequence_example as encode_sequence_example,
        encode_sequence_examples as encode_sequence_examples,
    )
    from tfrecord_lite.example.sequence.parse import (
        SequenceExampleParser as SequenceExampleParser,
        parse_sequence_example as parse_sequence_example,
        parse_single_sequence_example as parse_single_sequence_example,
    )
    from tfrecord_lite.example.to_dicts import (
        decode_example as decode_example,
        decode_examples as decode_examples,
        decode_sequence_example as decode_sequence_example,
        decode_sequence_examples as decode_sequence_examples,
    )
    from tfrecord_lite.files.compression import (
        TFRecordCompressionType as TFRecordCompressionType,
        TFRecordOptions as TFRecordOptions,
    )
    from tfrecord_lite.index import (
        TFRecordFile as TFRecordFile,
        tf_record_random_reader as tf_record_random_reader,
    )
    from tfrecord_lite.apps.images.image import (
        decode_image as decode_image,
        encode_image as encode_image,
        image_row as image_row,
    )
    from tfrecord_lite.apps.images.lists import ImageReport as ImageReport
    from tfrecord_lite.apps.images.pack import pack_images as pack_images
    from tfrecord_lite.apps.images.unpack import unpack_images as unpack_images
    from tfrecord_lite.apps.notebook import show as show
    from tfrecord_lite.jit import enable_jit as enable_jit
    from tfrecord_lite.messages import (
        BytesList as BytesList,
        Example as Example,
        Feature as Feature,
        FeatureList as FeatureList,
        FeatureLists as FeatureLists,
        Features as Features,
        FloatList as FloatList,
        Int64List as Int64List,
        SequenceExample as SequenceExample,
    )
    from tfrecord_lite.reader import (
        TFRecordReader as TFRecordReader,
        tf_record_iterator as tf_record_iterator,
    )
    from tfrecord_lite.errors import DamageReport as DamageReport, FileReport as FileReport
    from tfrecord_lite.recovery.recover import recover as recover
    from tfrecord_lite.recovery.verify import verify as verify
    from tfrecord_lite.schema import (
        FixedLenFeature as FixedLenFeature,
        FixedLenSequenceFeature as FixedLenSequenceFeature,
        RaggedFeature as RaggedFeature,
        Schema as Schema,
        SequenceSchema as SequenceSchema,
        SequenceSummary as SequenceSummary,
        SparseFeature as SparseFeature,
        Summary as Summary,
        VarLenFeature as VarLenFeature,
    )
    from tfrecord_lite.sharded import ShardedTFRecordWriter as ShardedTFRecordWriter
    from tfrecord_lite.apps.statistics import (
        Statistics as Statistics,
        compute_statistics as compute_statistics,
    )
    from tfrecord_lite.apps.tfds.info import TfdsInfo as TfdsInfo, tfds_info as tfds_info
    from tfrecord_lite.apps.tfds.loading import load_tfds as load_tfds
    from tfrecord_lite.storage import load as load, load_schema as load_schema, save as save
    from tfrecord_lite.storage.infer import infer_schema as infer_schema, summarize as summarize
    from tfrecord_lite.apps.tables.partitions import (
        PartitionReader as PartitionReader,
        TablePartition as TablePartition,
    )
    from tfrecord_lite.apps.tables.table import TFRecordTable as TFRecordTable, scan as scan
    from tfrecord_lite.tensors.parse import (
        parse_tensor as parse_tensor,
        parse_tensors as parse_tensors,
    )
    from tfrecord_lite.tensors.raw import decode_raw as decode_raw
    from tfrecord_lite.tensors.serialize import serialize_tensor as serialize_tensor
    from tfrecord_lite.apps.viewer.page import view as view
    from tfrecord_lite.writer import TFRecordWriter as TFRecordWriter

_MODULES = {
    "block": "Block",
    "columns": "BytesColumn RaggedTensor SparseTensor to_dense",
    "convert.lossless": "restore schema_of",
    "dataset": "Dataset TFRecordDataset read_batches",
    "errors": "DamagedSpan DataLossError DataLossWarning FailedPreconditionError InvalidArgumentError Reason TFRecordError",
    "apps.events": "find_runs follow_events read_events",
    "example.encode.columns": "encode_example encode_examples",
    "example.parse": "ExampleParser parse_example parse_single_example",
    "example.sequence.encode": "encode_sequence_example encode_sequence_examples",
    "example.sequence.parse": "SequenceExampleParser parse_sequence_example parse_single_sequence_example",
    "example.to_dicts": "decode_example decode_examples decode_sequence_example decode_sequence_examples",
    "files.compression": "TFRecordCompressionType TFRecordOptions",
    "index": "TFRecordFile tf_record_random_reader",
    "apps.images.image": "decode_image encode_image image_row",
    "apps.images.lists": "ImageReport",
    "apps.images.pack": "pack_images",
    "apps.images.unpack": "unpack_images",
    "apps.notebook": "show",
    "jit": "enable_jit",
    "messages": "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample",
    "reader": "TFRecordReader tf_record_iterator",
    "records.damage": "DamageReport FileReport",
    "recovery.recover": "recover",
    "recovery.verify": "verify",
    "schema": "FixedLenFeature FixedLenSequenceFeature RaggedFeature Schema SequenceSchema SequenceSummary SparseFeature Summary VarLenFeature",
    "sharded": "ShardedTFRecordWriter",
    "apps.statistics": "Statistics compute_statistics",
    "apps.tfds.info": "TfdsInfo tfds_info",
    "apps.tfds.loading": "load_tfds",
    "storage": "load load_schema save",
    "storage.infer": "infer_schema summarize",
    "apps.tables.partitions": "PartitionReader TablePartition",
    "apps.tables.table": "TFRecordTable scan",
    "tensors.parse": "parse_tensor parse_tensors",
    "tensors.raw": "decode_raw",
    "tensors.serialize": "serialize_tensor",
    "apps.viewer.page": "view",
    "writer": "TFRecordWriter",
}
"""The public names, by the module that defines them."""

_PUBLIC_MODULES = ("errors", "messages", "testing", "tf")

_HOOKS = ("load_ipython_extension", "unload_ipython_extension")
"""What IPython calls for ``%load_ext tfrecord_lite``."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - a list


def __getattr__(name: str) -> object:
    """Load a public name, or a public module, when it is first used."""
    if name in _PUBLIC_MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _HOOKS:
        return getattr(_import_module(f"{__name__}.apps.notebook"), name)
    if name not in _MODULE_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(_import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_PUBLIC_MODULES, "__version__"]
