"""TFRecord files and the tf.train messages in them, without TensorFlow.

What programs type is imported from here; a name's module is loaded when the name is first used, so
that reading and writing records loads neither the engine nor the protobuf runtime. The rest has
modules of its own::

    tfrecord_lite.errors      errors, reasons and reports
    tfrecord_lite.messages    the protobuf messages: Example, Feature, ...
    tfrecord_lite.options     the keywords of readers and writers
    tfrecord_lite.apps        statistics, images, events, rearrange, tfds, tables, notebook
    tfrecord_lite.integrations    Ray, Beam, Spark, Dask, torch, Grain, Keras, DuckDB
    tfrecord_lite.tf          TensorFlow's names
    tfrecord_lite.testing     strategies for property-based tests
"""

from importlib import import_module as _import_module

from tfrecord_lite import texts as _texts
from tfrecord_lite.lazy import names_from as _names_from

__version__ = "0.1.0.dev0"

_EXPORTS = {
    "apps.rearrange": ("split_records", "unique_records"),
    "apps.tables.table": ("TFRecordTable", "scan"),
    "apps.tfds": ("load_tfds",),
    "apps.viewer.page": ("view",),
    "block": ("Block",),
    "columns": ("BytesColumn", "RaggedTensor", "SparseTensor", "to_dense"),
    "convert.lossless": ("schema_of",),
    "dataset": ("Dataset", "TFRecordDataset", "read_batches"),
    "described.sidecar": ("load_schema",),
    "errors": ("TFRecordError",),
    "example.encode.columns": ("encode_example", "encode_examples"),
    "example.parse": ("ExampleParser", "parse_example", "parse_single_example"),
    "example.sequence.encode": ("encode_sequence_example", "encode_sequence_examples"),
    "example.sequence.parse": ("SequenceExampleParser", "parse_sequence_example", "parse_single_sequence_example"),
    "example.to_dicts": ("decode_example", "decode_examples", "decode_sequence_example", "decode_sequence_examples"),
    "index.counting": ("count_records",),
    "index.file": ("TFRecordFile",),
    "reader": ("TFRecordReader",),
    "recovery.recover": ("recover",),
    "recovery.verify": ("verify",),
    "schema": (
        "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "RawFeature", "Schema",
        "SequenceSchema", "SparseFeature", "VarLenFeature",
    ),
    "storage": ("load", "save"),
    "storage.infer": ("infer_schema", "summarize"),
    "tensors.parse": ("decode_raw", "parse_tensor"),
    "tensors.serialize": ("serialize_tensor",),
    "writer": ("ShardedTFRecordWriter", "TFRecordWriter"),
}  # fmt: skip
"""The public names, by the module that defines them; ``__init__.pyi`` is made of this."""

_SUBMODULES = ("apps", "errors", "integrations", "messages", "options", "testing", "tf")

_INSTEAD = {
    "open": "TFRecordReader(paths) reads records, TFRecordWriter(path) writes them",
    "read": "load(paths) reads columns, read_batches(paths) batches, TFRecordReader(paths) records",
    "write": "save(path, data) writes columns, TFRecordWriter(path) records",
}
"""What to call where other libraries have another name."""

_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - a list

# What IPython calls for ``%load_ext tfrecord_lite``.
_MODULE_OF |= dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "apps.notebook")


_load = _names_from(__name__, _MODULE_OF)


def __getattr__(name: str) -> object:
    """Load a public name, or a public module, when it is first used."""
    if name in _SUBMODULES:
        return _import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        hint = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    return _load(name)


def _html_of(thing: object) -> str:
    """Return an object as notebooks show it."""
    return str(_import_module(f"{__name__}.apps.notebook").html_of(thing))


def _content_of(value: bytes) -> str | None:
    """Return what an image, a sound or an array is; None for other bytes."""
    text: str | None = _import_module(f"{__name__}.sniff").content_text(value)
    return text


_texts.html_of, _texts.content_of = _html_of, _content_of


def __dir__() -> list[str]:
    return [*__all__, *_SUBMODULES, "__version__"]
