# Made of the table in extension.py: pytest --update-golden tests/test_import.py
from tfrecord_lite.convert.arrow import SCHEMA_KEY as SCHEMA_KEY, Library as Library, adapter as adapter, array_of as array_of, changed_schema as changed_schema, changed_type as changed_type, check_library as check_library, form_of as form_of, imported as imported, joined_frame as joined_frame, library as library, open_columns as open_columns, pairs_of as pairs_of, target as target, type_error as type_error, without_decimals as without_decimals
from tfrecord_lite.convert.lists import Lists as Lists, SparseLists as SparseLists, row_of as row_of
from tfrecord_lite.convert.store import stored as stored, warn_of_rounding as warn_of_rounding
from tfrecord_lite.dataset.batching import is_dense as is_dense
from tfrecord_lite.dataset.plan import current_worker as current_worker, part_of as part_of, register_with_torch as register_with_torch
from tfrecord_lite.dataset.random_order import OrderKey as OrderKey, order_words as order_words, permutation as permutation, seed_of as seed_of
from tfrecord_lite.described.columns import items_of as items_of, names_asked_for as names_asked_for, names_of as names_of, schema_like as schema_like, with_text as with_text
from tfrecord_lite.described.frames import index_names as index_names, without_numbers as without_numbers
from tfrecord_lite.described.inferred import FOR_TABLES as FOR_TABLES, SAMPLE as SAMPLE, WHOLE as WHOLE, blocks_ahead as blocks_ahead, feature_names as feature_names, first_blocks as first_blocks, first_of as first_of, inferred as inferred
from tfrecord_lite.described.sidecar import FingerprintingFile as FingerprintingFile, SchemaLike as SchemaLike, Sidecar as Sidecar, content_to_write as content_to_write, parse_sidecar as parse_sidecar, read_beside as read_beside, remove_stale as remove_stale
from tfrecord_lite.described.sources import carried_by as carried_by, described_by as described_by, dropping as dropping, originals_of as originals_of, row_restorer as row_restorer
from tfrecord_lite.example.content import Content as Content, ContentType as ContentType, Message as Message, detect as detect, detect_all as detect_all, is_list as is_list, is_sequence as is_sequence, parse_message as parse_message, way_on_of_tensors as way_on_of_tensors
from tfrecord_lite.example.digests import Digests as Digests
from tfrecord_lite.example.encode.columns import encode_column_batches as encode_column_batches
from tfrecord_lite.example.survey import Survey as Survey
from tfrecord_lite.example.to_dicts import SequenceRow as SequenceRow
from tfrecord_lite.files.compression import CODECS as CODECS, COMPRESSION_WORDS as COMPRESSION_WORDS, CompressionType as CompressionType, TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions, compression_of_name as compression_of_name, compression_to_write as compression_to_write
from tfrecord_lite.files.names import INDEX_SUFFIX as INDEX_SUFFIX, SIDECAR_SUFFIX as SIDECAR_SUFFIX, Source as Source, Sources as Sources, StorageOptions as StorageOptions, check_storage_options as check_storage_options, companion as companion, expand as expand, is_companion as is_companion, is_data as is_data, is_file_object as is_file_object, is_folder as is_folder, is_hidden as is_hidden, is_pipe as is_pipe, is_same_file as is_same_file, is_saved as is_saved, is_url as is_url, listing as listing, local_size as local_size, name_of as name_of, position_of as position_of, shard_names as shard_names, without_companions as without_companions
from tfrecord_lite.files.output import open_output as open_output, remove as remove
from tfrecord_lite.files.remote import remote_place as remote_place
from tfrecord_lite.index.counting import count_each as count_each
from tfrecord_lite.index.file import Indices as Indices, parser_of as parser_of
from tfrecord_lite.index.parts import PART_BYTES as PART_BYTES, FilePart as FilePart, PartReader as PartReader, file_parts as file_parts
from tfrecord_lite.index.sampling import Sample as Sample, draw_sample as draw_sample
from tfrecord_lite.records.damage import NOT_DAMAGE as NOT_DAMAGE, DamageLog as DamageLog, SkippingStream as SkippingStream, warn_of_damage as warn_of_damage
from tfrecord_lite.records.decoder import FrameDecoder as FrameDecoder
from tfrecord_lite.records.framing import frames_of as frames_of, is_header as is_header
from tfrecord_lite.records.shard_set import Spool as Spool, folder_of as folder_of
from tfrecord_lite.records.stream import RecordStream as RecordStream
from tfrecord_lite.recovery.verify import verify_each as verify_each
from tfrecord_lite.schema.prepare import prepare as prepare, prepare_sequence as prepare_sequence
from tfrecord_lite.schema.text import json_value as json_value, shortest as shortest, table_rows as table_rows
from tfrecord_lite.schema.types import as_missing as as_missing
from tfrecord_lite.storage.builder import SchemaBuilder as SchemaBuilder
from tfrecord_lite.storage.data_files import DataFiles as DataFiles, data_names as data_names
from tfrecord_lite.storage.infer import DataLike as DataLike, blocks_of as blocks_of
from tfrecord_lite.storage.loading import Loader as Loader
__all__ = ['CODECS', 'COMPRESSION_WORDS', 'CompressionType', 'Content', 'ContentType', 'DamageLog', 'DataFiles', 'DataLike', 'Digests', 'FOR_TABLES', 'FilePart', 'FingerprintingFile', 'FrameDecoder', 'INDEX_SUFFIX', 'Indices', 'Library', 'Lists', 'Loader', 'Message', 'NOT_DAMAGE', 'OrderKey', 'PART_BYTES', 'PartReader', 'RecordStream', 'SAMPLE', 'SCHEMA_KEY', 'SIDECAR_SUFFIX', 'Sample', 'SchemaBuilder', 'SchemaLike', 'SequenceRow', 'Sidecar', 'SkippingStream', 'Source', 'Sources', 'SparseLists', 'Spool', 'StorageOptions', 'Survey', 'TFRecordCompressionType', 'TFRecordOptions', 'WHOLE', 'adapter', 'array_of', 'as_missing', 'blocks_ahead', 'blocks_of', 'carried_by', 'changed_schema', 'changed_type', 'check_library', 'check_storage_options', 'companion', 'compression_of_name', 'compression_to_write', 'content_to_write', 'count_each', 'current_worker', 'data_names', 'described_by', 'detect', 'detect_all', 'draw_sample', 'dropping', 'encode_column_batches', 'expand', 'feature_names', 'file_parts', 'first_blocks', 'first_of', 'folder_of', 'form_of', 'frames_of', 'imported', 'index_names', 'inferred', 'is_companion', 'is_data', 'is_dense', 'is_file_object', 'is_folder', 'is_header', 'is_hidden', 'is_list', 'is_pipe', 'is_same_file', 'is_saved', 'is_sequence', 'is_url', 'items_of', 'joined_frame', 'json_value', 'library', 'listing', 'local_size', 'name_of', 'names_asked_for', 'names_of', 'open_columns', 'open_output', 'order_words', 'originals_of', 'pairs_of', 'parse_message', 'parse_sidecar', 'parser_of', 'part_of', 'permutation', 'position_of', 'prepare', 'prepare_sequence', 'read_beside', 'register_with_torch', 'remote_place', 'remove', 'remove_stale', 'row_of', 'row_restorer', 'schema_like', 'seed_of', 'shard_names', 'shortest', 'stored', 'table_rows', 'target', 'type_error', 'verify_each', 'warn_of_damage', 'warn_of_rounding', 'way_on_of_tensors', 'with_text', 'without_companions', 'without_decimals', 'without_numbers']
