# Made of the table in __init__.py: pytest --update-golden tests/test_import.py
from tfrecord_lite.apps.rearrange import split_records as split_records, unique_records as unique_records
from tfrecord_lite.apps.tables.table import TFRecordTable as TFRecordTable, scan as scan
from tfrecord_lite.apps.tfds import load_tfds as load_tfds
from tfrecord_lite.apps.viewer.page import view as view
from tfrecord_lite.block import Block as Block
from tfrecord_lite.columns import BytesColumn as BytesColumn, RaggedTensor as RaggedTensor, SparseTensor as SparseTensor, to_dense as to_dense
from tfrecord_lite.convert.lossless import schema_of as schema_of
from tfrecord_lite.dataset import Dataset as Dataset, TFRecordDataset as TFRecordDataset, read_batches as read_batches
from tfrecord_lite.described.sidecar import load_schema as load_schema
from tfrecord_lite.errors import TFRecordError as TFRecordError
from tfrecord_lite.example.encode.columns import encode_example as encode_example, encode_examples as encode_examples
from tfrecord_lite.example.parse import ExampleParser as ExampleParser, parse_example as parse_example, parse_single_example as parse_single_example
from tfrecord_lite.example.sequence.encode import encode_sequence_example as encode_sequence_example, encode_sequence_examples as encode_sequence_examples
from tfrecord_lite.example.sequence.parse import SequenceExampleParser as SequenceExampleParser, parse_sequence_example as parse_sequence_example, parse_single_sequence_example as parse_single_sequence_example
from tfrecord_lite.example.to_dicts import decode_example as decode_example, decode_examples as decode_examples, decode_sequence_example as decode_sequence_example, decode_sequence_examples as decode_sequence_examples
from tfrecord_lite.index.counting import count_records as count_records
from tfrecord_lite.index.file import TFRecordFile as TFRecordFile
from tfrecord_lite.reader import TFRecordReader as TFRecordReader
from tfrecord_lite.recovery.recover import recover as recover
from tfrecord_lite.recovery.verify import verify as verify
from tfrecord_lite.schema import FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature, RaggedFeature as RaggedFeature, RawFeature as RawFeature, Schema as Schema, SequenceSchema as SequenceSchema, SparseFeature as SparseFeature, VarLenFeature as VarLenFeature
from tfrecord_lite.storage import load as load, save as save
from tfrecord_lite.storage.infer import infer_schema as infer_schema, summarize as summarize
from tfrecord_lite.tensors.parse import decode_raw as decode_raw, parse_tensor as parse_tensor
from tfrecord_lite.tensors.serialize import serialize_tensor as serialize_tensor
from tfrecord_lite.writer import ShardedTFRecordWriter as ShardedTFRecordWriter, TFRecordWriter as TFRecordWriter
from tfrecord_lite import apps as apps, errors as errors, integrations as integrations, messages as messages, options as options, testing as testing, tf as tf

__version__: str
__all__ = ['Block', 'BytesColumn', 'Dataset', 'ExampleParser', 'FixedLenFeature', 'FixedLenSequenceFeature', 'RaggedFeature', 'RaggedTensor', 'RawFeature', 'Schema', 'SequenceExampleParser', 'SequenceSchema', 'ShardedTFRecordWriter', 'SparseFeature', 'SparseTensor', 'TFRecordDataset', 'TFRecordError', 'TFRecordFile', 'TFRecordReader', 'TFRecordTable', 'TFRecordWriter', 'VarLenFeature', 'count_records', 'decode_example', 'decode_examples', 'decode_raw', 'decode_sequence_example', 'decode_sequence_examples', 'encode_example', 'encode_examples', 'encode_sequence_example', 'encode_sequence_examples', 'infer_schema', 'load', 'load_schema', 'load_tfds', 'parse_example', 'parse_sequence_example', 'parse_single_example', 'parse_single_sequence_example', 'parse_tensor', 'read_batches', 'recover', 'save', 'scan', 'schema_of', 'serialize_tensor', 'split_records', 'summarize', 'to_dense', 'unique_records', 'verify', 'view']
