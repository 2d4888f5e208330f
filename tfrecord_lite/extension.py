"""What apps, integrations and the command line use besides the public names: for authors of extensions.

A program in the manner of ``tfrecord_lite.apps`` or ``tfrecord_lite.integrations`` imports what it needs of the codec
from the package's root and from here. These names may change in any release; the changelog reports it.
Each is imported with its module when it is first used.
"""

from typing import TYPE_CHECKING

from tfrecord_lite.lazy import names_from

_EXPORTS = {
    # Files by name, opened and written.
    "files.compression": (
        "CODECS", "COMPRESSION_WORDS", "CompressionType", "TFRecordCompressionType", "TFRecordOptions",
        "compression_of_name", "compression_to_write",
    ),
    "files.names": (
        "INDEX_SUFFIX", "SIDECAR_SUFFIX", "Source", "Sources", "StorageOptions", "check_storage_options", "companion",
        "expand", "is_companion", "is_data", "is_file_object", "is_folder", "is_hidden", "is_pipe", "is_same_file",
        "is_saved", "is_url", "listing", "local_size", "name_of", "position_of", "shard_names", "without_companions",
    ),
    "files.output": ("open_output", "remove"),
    "files.remote": ("remote_place",),
    # Records in files, intact or damaged.
    "records.damage": ("NOT_DAMAGE", "DamageLog", "SkippingStream", "warn_of_damage"),
    "records.decoder": ("FrameDecoder",),
    "records.framing": ("frames_of", "is_header"),
    "records.shard_set": ("Spool", "folder_of"),
    "records.stream": ("RecordStream",),
    "index.counting": ("count_each",),
    "index.file": ("Indices", "parser_of"),
    "index.parts": ("PART_BYTES", "FilePart", "PartReader", "file_parts"),
    "index.sampling": ("Sample", "draw_sample"),
    "recovery.verify": ("verify_each",),
    # Messages, and what they are.
    "example.content": (
        "Content", "ContentType", "Message", "detect", "detect_all", "is_list", "is_sequence", "parse_message",
        "way_on_of_tensors",
    ),
    "example.digests": ("Digests",),
    "example.encode.columns": ("encode_column_batches",),
    "example.survey": ("Survey",),
    "example.to_dicts": ("SequenceRow",),
    # Values, in the forms between a message and a user.
    "convert.arrow": (
        "SCHEMA_KEY", "Library", "adapter", "array_of", "changed_schema", "changed_type", "check_library", "form_of",
        "imported", "joined_frame", "library", "open_columns", "pairs_of", "target", "type_error", "without_decimals",
    ),
    "convert.lists": ("Lists", "SparseLists", "row_of"),
    "convert.store": ("stored", "warn_of_rounding"),
    "dataset.batching": ("is_dense",),
    "dataset.plan": ("current_worker", "part_of", "register_with_torch"),
    "dataset.random_order": ("OrderKey", "order_words", "permutation", "seed_of"),
    # What describes records.
    "described.columns": ("items_of", "names_asked_for", "names_of", "schema_like", "with_text"),
    "described.frames": ("index_names", "without_numbers"),
    "described.inferred": (
        "FOR_TABLES", "SAMPLE", "WHOLE", "blocks_ahead", "feature_names", "first_blocks", "first_of", "inferred",
    ),
    "described.sidecar": (
        "FingerprintingFile", "SchemaLike", "Sidecar", "content_to_write", "parse_sidecar", "read_beside",
        "remove_stale",
    ),
    "described.sources": ("carried_by", "described_by", "dropping", "originals_of", "row_restorer"),
    "schema.prepare": ("prepare", "prepare_sequence"),
    "schema.text": ("json_value", "shortest", "table_rows"),
    "schema.types": ("as_missing",),
    "storage.builder": ("SchemaBuilder",),
    "storage.data_files": ("DataFiles", "data_names"),
    "storage.infer": ("DataLike", "blocks_of"),
    "storage.loading": ("Loader",),
}  # fmt: skip
"""The names, by the module that defines them; ``extension.pyi`` is made of this."""

_HOMES = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list

if not TYPE_CHECKING:
    __getattr__ = names_from(__name__, _HOMES)
