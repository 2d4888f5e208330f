"""Record files as a data source of Spark: ``spark.read.format("tfrecord")``, ``df.write.format("tfrecord")``.

The options are ours, and spark-tfrecord's ``recordType``, in any letter case, with or without underscores:
``onError`` is `on_error`. Where files are, and how they appear after a write, is in ``spark_files``.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SequenceSchema
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.record_format import file_system, part_ending, write_part
from tfrecord_lite.apps.tables.table import TablePartition, TFRecordTable, scan, with_varying_lists
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.integrations import engines
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.schema import Original, Schema, SchemaItem
from tfrecord_lite.texts import nearest

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark import TaskContext
    from pyspark.sql import datasource, types
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

    from tfrecord_lite.integrations import spark_files
except ImportError as _error:
    _detail = "Spark needs pyspark, pandas and pyarrow: pip install pyspark pandas pyarrow"
    raise ImportError(f"{_detail}: {_error}") from None

if TYPE_CHECKING:
    _SourceBase = engines.Foreign
    _ReaderBase = engines.Foreign
    _WriterBase = engines.Foreign
else:
    _SourceBase = datasource.DataSource
    _ReaderBase = datasource.DataSourceReader
    _WriterBase = datasource.DataSourceArrowWriter

Parsers = dict[str, Callable[[str], Any]]

__all__ = ["TFRecordBatchReader", "TFRecordBatchWriter", "TFRecordDataSource", "register"]

_PACKED_BYTES = 32 * 1024 * 1024
_OPENING_BYTES = 4 * 1024 * 1024
"""Small files share a task up to this size; opening one counts as so many bytes, as Spark has it."""
_HELD_BYTES = 256 * 1024 * 1024
"""The rows of partitioned folders that are kept until they are written, to a file in each folder."""
_OF_FILES = "compression", "lossless", "sidecar", "storage_options"
"""The options of a write that are about each file."""
_BYTE_ARRAY = "byteArray"
_CONTEXT, _LISTS = "context/", "feature_lists/"
"""How names of columns of SequenceExamples begin."""


def register(spark: Any) -> None:
    """Make the format ``"tfrecord"`` known to a session of Spark.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The package must be installed for the Python of the driver and of all executors.

    Notes
    -----
    The page "Spark" of the documentation lists the options. The driver infers the schema from a sample, and divides
    the files into ranges. Each attempt of a task writes into a hidden folder of its own, and the driver moves the files
    of those that Spark counts: tasks which are retried, killed or speculative neither double nor lose rows.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from tfrecord_lite.integrations.spark import register
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> spark = SparkSession.builder.master("local[1]").getOrCreate()
    >>> register(spark)
    >>> people = spark.read.format("tfrecord").load("people.tfrecord")
    >>> [row.name for row in people.filter("age > 36").orderBy("age").collect()]
    ['Grace', 'Alan']
    >>> spark.stop()
    """
    spark.dataSource.register(TFRecordDataSource)


class TFRecordDataSource(_SourceBase):
    """The format ``"tfrecord"``, for ``spark.dataSource.register``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "tfrecord"

    def schema(self) -> Any:
        """Infer the columns of the records, then the ones that folders name.

        Raises the same errors as :func:`scan`, and ``BAD_ARGUMENT`` for an unknown option.
        """
        self._files = _Files(_read_options(self.options))
        return self._files.spark_schema()

    def reader(self, schema: Any) -> TFRecordBatchReader:
        """Return the reader of the columns that a schema names; ``BAD_ARGUMENT`` for a type that no record can have."""
        files = getattr(self, "_files", None)
        if files is None:  # the schema is given, so nothing need be inferred
            files = _Files(_read_options(self.options), schema)
            if "columns" in files.options:
                raise argument_error("give the option columns, or .schema(...), not both")
        return TFRecordBatchReader(files, schema)

    def writer(self, schema: Any, overwrite: bool) -> TFRecordBatchWriter:  # noqa: FBT001 - Spark's
        """Return the writer of rows; ``BAD_ARGUMENT`` for an option, ``UNSUPPORTED`` for a column."""
        return TFRecordBatchWriter(_write_options(self.options), schema, overwrite=overwrite)


# ------------------------------------------------------------------------------------ options


def _names(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        return [str(name) for name in json.loads(text)]
    return [name.strip() for name in text.split(",") if name.strip()]


def _flag(text: str) -> bool:
    return {"true": True, "false": False, "1": True, "0": False}[text.lower()]


def _number(text: str) -> int | None:
    return None if text.lower() in ("none", "null", "") else int(text)


def _compression(text: str) -> str:
    return ext.COMPRESSION_WORDS[text.lower() or "none"]


_RECORD_TYPES = {name.lower(): name for name in ("Example", "SequenceExample", "ByteArray")}
_WHERE: Parsers = {"path": str, "storageOptions": json.loads}
_WHERE["recordType"] = lambda text: _RECORD_TYPES[text.lower()]
_READ: Parsers = {
    **_WHERE,
    "compression": lambda text: "infer" if text.lower() == "infer" else _compression(text),
    "paths": json.loads,
    "features": str,
    "columns": _names,
    "text": lambda text: _flag(text) if text.lower() in ("true", "false") else _names(text),
    "sample": _number,
    "batchSize": int,
    "onError": lambda text: {"raise": "raise", "skip": "skip"}[text.lower()],
    "maxErrors": _number,
    "maxRecordBytes": int,
    "maxInflatedBytes": _number,
    "maxInflatedRatio": float,
    "numPartitions": int,
    "maxPartitionBytes": _number,
}
_WRITE: Parsers = {**_WHERE, "compression": _compression, "partitionBy": _names}
_WRITE |= {"lossless": _flag, "sidecar": _flag}


def _parsed(options: Mapping[str, str], known: Parsers) -> dict[str, Any]:
    """Return the values of options by the names that they have in Python; raise for unknown ones."""
    values: dict[str, Any] = {}
    usual = {name.lower(): name for name in known}
    for word, text in options.items():
        name = usual.get(word.lower().replace("_", ""))
        if name is None:
            raise argument_error(f"unknown option {word!r}{nearest(word, list(known))}")
        try:
            values[re.sub("([A-Z])", r"_\1", name).lower()] = known[name](text)
        except (KeyError, ValueError, TypeError):
            raise argument_error(f"the option {name} cannot be {text!r}") from None
    return values


def _read_options(texts: Mapping[str, str]) -> dict[str, Any]:
    options = _parsed(texts, _READ)
    path = options.pop("path", "")
    options["paths"] = [*options.get("paths", ()), *([path] if path else [])]
    if not options["paths"]:
        raise argument_error("no path: expected .load(path), or .load([path, ...])")
    if not any(map(ext.is_url, options["paths"])):
        options.pop("storage_options", None)
    return options


def _write_options(texts: Mapping[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {"path": "", "compression": "", "storage_options": None}
    options |= {"record_type": "Example", "partition_by": [], "lossless": False}
    options |= _parsed(texts, _WRITE)
    if not options["path"]:
        raise argument_error("no path: expected .save(path)")
    record_type, lossless = options["record_type"], options["lossless"]
    is_example = record_type == "Example"
    if lossless and record_type == "SequenceExample":
        raise argument_error("lossless is for Examples; expected recordType=Example")
    options["sidecar"] = options.get("sidecar", is_example) and record_type != "ByteArray"
    engines.check_lossless(lossless=lossless and is_example, sidecar=options["sidecar"])
    if not ext.is_url(options["path"]):
        options["storage_options"] = None
    return options


# ------------------------------------------------------------------------------------ reading


class _Files:
    def __init__(self, options: Mapping[str, Any], schema: Any = None) -> None:
        self.options = options
        settings = {n: value for n, value in options.items() if n in ReadOptions.__annotations__}
        self.settings: ReadSettings = ReadSettings(**settings)
        files = spark_files.data_files(options["paths"], self.settings.storage_options)
        self.names: list[str] = [name for name, _ in files]
        self.keys: dict[str, list[str | None]] = {
            key: [keys[key] for _, keys in files] for key in files[0][1]
        }
        """The columns that folders name, with the text of each file."""
        self.table: TFRecordTable | None = None
        """None for records as they are."""
        if options.get("record_type") != "ByteArray":
            self._open(schema)

    def _open(self, schema: Any) -> None:
        features, text = self.options.get("features"), self.options.get("text")
        if features is not None and features.lstrip().startswith("{"):
            features = ext.parse_sidecar("features", features.encode()).schema
        described = ext.described_by(features, list(self.names), self.settings)
        if described is not None:  # which says what is text, too
            features, text = described.schema, text or False
        elif schema is not None:
            fields = [field for field in schema if field.name not in self.keys]
            of_sequences = any(field.name.startswith((_CONTEXT, _LISTS)) for field in fields)
            columns = {f.name: _feature_of(f, of_sequences=of_sequences) for f in fields}
            features, text = _features_of(columns, of_sequences=of_sequences), False
        elif text is None:
            text = True
        try:
            table = self._scan(features, text=text)
        except InvalidArgumentError as error:
            if error.reason is not Reason.UNSUPPORTED:
                raise
            table = self._scan(features)  # of SequenceExamples, whose byte strings are binary
        if not table.column_names and features is None:
            raise argument_error("cannot infer a schema: there are no records; give schema")
        self.table = table if features is not None else with_varying_lists(table)

    def _scan(self, features: Any, **options: Any) -> TFRecordTable:
        names = ("sample", "batch_size", *ReadOptions.__annotations__)
        reading = {name: self.options[name] for name in names if name in self.options}
        return scan(self.names, schema=features, **{**reading, **options})

    def spark_schema(self) -> Any:
        """Return the inferred schema, all of it nullable."""
        if self.table is None:
            columns: dict[str, Any] = {_BYTE_ARRAY: types.BinaryType()}
        else:
            arrow_schema = self.table.arrow_schema
            columns = {field.name: _spark_type(field.name, field.type) for field in arrow_schema}
        for key, texts in self.keys.items():
            columns[key] = _spark_type(key, spark_files.column_type(texts))
        names = self.options.get("columns", columns)
        for name in names:
            if name not in columns:
                raise argument_error(f"no column {name!r}{nearest(name, list(columns))}")
        return types.StructType([types.StructField(name, columns[name]) for name in names])


def _features_of(columns: Mapping[str, tuple[SchemaItem, bool]], *, of_sequences: bool) -> Any:
    """Return the features of columns, as :func:`_feature_of` has them, by name: those of SequenceExamples by part."""
    items = {name: item for name, (item, _) in columns.items()}
    if not of_sequences:
        return Schema.of_items(items)
    context, lists = {}, {}
    for name, item in items.items():
        if name.startswith(_LISTS):
            stored, (_, is_nested) = item.kind.dtype, columns[name]
            spec = RaggedFeature(stored) if is_nested else FixedLenSequenceFeature([], stored)
            lists[name.removeprefix(_LISTS)] = spec
        else:
            context[name.removeprefix(_CONTEXT)] = item
    return SequenceSchema(Schema.of_items(context), Schema(lists))


class _Partition(datasource.InputPartition):  # type: ignore[misc]
    """What one task reads: parts of a table, or ranges of records as they are."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts = list(parts)


class TFRecordBatchReader(_ReaderBase):
    """Reads files of records in ranges, as record batches."""

    def __init__(self, files: _Files, schema: Any) -> None:
        self._schema = _arrow_schema_of(schema)
        known = [_BYTE_ARRAY] if files.table is None else files.table.column_names
        self._columns = [n for n in known if n in schema.names and n not in files.keys]
        self._values: dict[str, dict[str, Any]] = {}
        for key in files.keys.keys() & set(schema.names):
            kind = self._schema.field(key).type
            values = [_scalar(key, text, kind) for text in files.keys[key]]
            self._values[key] = dict(zip(files.names, values, strict=True))
        self._settings = files.settings
        self._files = files

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what only the driver needs."""
        return {name: value for name, value in self.__dict__.items() if name != "_files"}

    def partitions(self) -> list[Any]:
        """Divide the files among tasks, at borders of records, on the driver."""
        options, table = self._files.options, self._files.table
        max_bytes = options.get("max_partition_bytes", ext.PART_BYTES)
        number = options.get("num_partitions")
        parts: Sequence[Any]
        if table is None:
            limits: Any = {"max_bytes": max_bytes, "num_parts": number}
            parts = ext.file_parts(self._files.names, self._settings, **limits)
        else:
            parts = engines.with_columns(table, self._columns).partitions(max_bytes, number)
        # Parts that follow each other share a task if the middles of both are in its share of all bytes.
        opening = _OPENING_BYTES if number is None else 0
        costs = np.array([part.nbytes + opening for part in parts], np.float64)
        most = _PACKED_BYTES if number is None else max(costs.sum() / number, 1)
        tasks = ((np.cumsum(costs) - costs / 2) // most).tolist()
        groups = itertools.groupby(zip(tasks, parts, strict=True), key=lambda pair: pair[0])
        return [_Partition(part for _, part in group) for _, group in groups] or [_Partition([])]

    def read(self, partition: Any) -> Iterator[Any]:
        """Yield the record batches of a partition, in a task; errors have file, record, byte and feature."""
        for part in partition.parts:
            if isinstance(part, TablePartition):
                batches = engines.batches_of(part)
            else:
                batches = (
                    pa.record_batch({_BYTE_ARRAY: pa.array(block.to_list(), pa.binary())})
                    for block in engines.blocks_of(part, self._settings)
                )
            for batch in batches:
                arrays = [self._array(field, batch, part.source) for field in self._schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: Any, batch: Any, source: str) -> Any:
        """Return a column of a batch of a file, of exactly the type that Spark wants."""
        name, kind = field.name, field.type
        place: dict[str, Any] = {"source": source, "key": name}
        if name in self._values:
            return pa.repeat(self._values[name][source], len(batch))
        if name not in self._columns:
            array = pa.nulls(len(batch), kind)
        else:
            try:
                array = _converted(batch.column(name), kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                place["detail"] = f"a value that is not {kind}: {error}"
                raise InvalidArgumentError(Reason.WRONG_KIND, **place) from None
        if array.null_count and not field.nullable:
            place["detail"] = "no value, but the column is not nullable in the schema"
            raise InvalidArgumentError(Reason.MISSING, **place)
        return array


def _scalar(name: str, text: str | None, kind: Any) -> Any:
    """Return the value that the name of a folder has, in the type of its column."""
    try:
        return pa.array([text], pa.string()).cast(kind)[0]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        detail = f"the folder {spark_files.folder_of(name, text)!r} has a value that is not {kind}"
        raise argument_error(detail, key=name) from None


# ------------------------------------------------------------------------------------ writing


@dataclass
class _Written(datasource.WriterCommitMessage):  # type: ignore[misc]
    folder: str
    files: list[str]
    rounded: list[str]
    """Columns with a float64 that was not exact in float32."""


class TFRecordBatchWriter(_WriterBase):
    """Writes rows as files of records."""

    def __init__(self, options: Mapping[str, Any], schema: Any, *, overwrite: bool) -> None:
        self._options = options
        name = uuid.uuid4().hex[:12]
        folder = spark_files.plain(options["path"])
        self._job = spark_files.Job(folder, name, overwrite, options["storage_options"])
        names = options["partition_by"]
        for name in names:
            if name not in schema.names:
                detail = f"no column {name!r}{nearest(name, schema.names)} in partitionBy"
                raise argument_error(detail)
            kind = schema[name].dataType
            if kind.typeName() in ("binary", "array", "map", "struct"):
                detail = f"{kind.simpleString()} in partitionBy cannot name folders"
                raise argument_error(detail, key=name)
        fields = [field for field in schema if field.name not in names]
        if not fields:
            raise argument_error("partitionBy has all columns; none is left for the records")
        self._schema = _schema_of(fields, options)

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write batches into a hidden folder of this attempt of a task; errors name the column."""
        context: Any = TaskContext.get()
        task = context.partitionId()
        written = _Written(self._job.attempt(task, context.taskAttemptId()), [], [])
        stem = f"part-{task:05d}-{self._job.name}"
        if self._options["partition_by"]:
            for number, held in enumerate(_by_folder(iterator, self._options["partition_by"])):
                for folder, batches in held.items():
                    self._put(written, f"{folder}/{stem}-c{number:03d}", batches)
        else:
            # The first task leaves a file even without rows, so that the schema is known.
            self._put(written, f"{stem}-c000", iterator, is_first=task == 0)
        return written

    def _put(self, written: _Written, stem: str, batches: Any, *, is_first: bool = False) -> None:
        options = self._options
        # Hadoop knows ZLIB by this ending only.
        is_zlib = options["compression"] == "ZLIB"
        ending = ".tfrecord.deflate" if is_zlib else part_ending(options["compression"])
        name = f"{stem}{ending}"
        path = f"{self._job.folder}/{written.folder}/{name}"
        # Some of fsspec's file systems do not make folders of their own accord.
        if ext.is_url(path):
            system, place = file_system(path, options["storage_options"])
            system.create_dir(os.path.dirname(place))
        form = {name: options[name] for name in _OF_FILES}
        rows = (_rows(batch, self._schema) for batch in batches)
        part = write_part(path, rows, schema=self._schema if is_first else None, **form)
        if part is not None:
            written.rounded += part.rounded
            written.files += [f"{name}{ext.SIDECAR_SUFFIX}", name] if options["sidecar"] else [name]

    def commit(self, messages: list[Any]) -> None:
        """Move the files of the attempts that count to their places, on the driver."""
        rounded = dict.fromkeys(name for task in messages if task for name in task.rounded)
        ext.warn_of_rounding(self._job.folder, rounded)
        self._job.commit((task.folder, name) for task in messages if task for name in task.files)

    def abort(self, messages: list[Any]) -> None:
        """Remove what all attempts have written, on the driver."""
        self._job.abort()


def _by_folder(iterator: Iterable[Any], names: list[str]) -> Iterator[dict[str, list[Any]]]:
    """Yield rows by the folder that values of columns name, when there are enough for files."""
    held: dict[str, list[Any]] = defaultdict(list)
    n_bytes = 0
    for batch in iterator:
        columns = [batch.column(name).to_pylist() for name in names]
        numbers: dict[Any, int] = {}  # of folders, by the values
        keys = zip(*columns, strict=True)
        codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
        rows = batch.drop_columns(names)
        for key, number in numbers.items():
            folder = "/".join(map(spark_files.folder_of, names, key))
            held[folder].append(rows.take(pa.array(np.flatnonzero(codes == number))))
        n_bytes += rows.nbytes
        if n_bytes >= _HELD_BYTES:
            yield held
            held, n_bytes = defaultdict(list), 0
    yield held


def _schema_of(fields: list[Any], options: Mapping[str, Any]) -> Any:
    record_type = options["record_type"]
    if record_type == "ByteArray":
        if len(fields) != 1 or fields[0].dataType.typeName() not in ("binary", "string"):
            others = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
            detail = f"recordType=ByteArray writes one column of binary, not {others}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        return None
    of_sequences = record_type == "SequenceExample"
    columns: dict[str, tuple[SchemaItem, bool]] = {}
    for field in fields:
        item, is_list = _feature_of(field, of_sequences=of_sequences)
        _check_stored(field, options)
        part = (_LISTS if is_list else _CONTEXT) if of_sequences else ""
        name = f"{part}{field.name.removeprefix(part)}"
        if name in columns:
            raise argument_error(f"two columns would be {name} of the SequenceExample")
        columns[name] = item, is_list
    whole = _arrow_schema_of(types.StructType(fields))
    double, is_decimal = pa.float64(), pa.types.is_decimal  # which spark-tfrecord stores as floats
    kinds = ext.changed_schema(whole, lambda kind: double if is_decimal(kind) else kind).types
    metadata = None
    if of_sequences:
        metadata = {ext.SCHEMA_KEY: _features_of(columns, of_sequences=True).to_json(None).encode()}
    return pa.schema([pa.field(*pair) for pair in zip(columns, kinds, strict=True)], metadata)


def _check_stored(field: Any, options: Mapping[str, Any]) -> None:
    """Raise about values that would come back as something else."""
    leaf = field.dataType
    while leaf.typeName() == "array":
        leaf = leaf.elementType
    word, has_sidecar = leaf.typeName(), options["sidecar"]
    is_time = word.startswith(("date", "timestamp"))
    if (is_time and not has_sidecar) or (word == "decimal" and has_sidecar):
        detail = f"a column of {field.dataType.simpleString()} is stored as plain numbers: "
        detail += f"cast it, or give .option{('sidecar', 'true' if is_time else 'false')}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)


def _rows(batch: Any, schema: Any) -> Any:
    if schema is None:
        column = batch.column(0)
        if column.null_count:
            detail = "a null, which is not a record; drop it"
            raise InvalidArgumentError(Reason.MISSING, key=batch.schema.names[0], detail=detail)
        return column.cast(pa.binary()).to_pylist()
    arrays = []
    for field, column in zip(schema, batch.columns, strict=True):
        array = _converted(column, field.type)
        of_steps = schema.metadata is not None and not field.name.startswith(_CONTEXT)
        if _is_list(field.type) and of_steps:  # a list of no steps is as good as none
            array = pc.coalesce(array, pa.scalar([], field.type))
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# ------------------------------------------------------------------------------------ types

_DTYPES = {
    "boolean": ("bool", np.int64),
    "byte": ("int8", np.int64),
    "short": ("int16", np.int64),
    "integer": ("int32", np.int64),
    "long": ("int64", np.int64),
    # What a FloatList has, then widened.
    **dict.fromkeys(("float", "double", "decimal"), ("float32", np.float32)),
    **dict.fromkeys(("string", "char", "varchar", "binary"), ("string", bytes)),
    "date": ("datetime64[D]", np.int64),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ("datetime64[us]", np.int64)),
}
"""For each type of Spark: the dtype of values, and the list that has them."""


def _feature_of(field: Any, *, of_sequences: bool = False) -> tuple[SchemaItem, bool]:
    """Return the feature that stores a column of Spark's, and whether it is a feature list: an array per step."""
    kind = field.dataType
    is_list = kind.typeName() == "array"
    kind = kind.elementType if is_list else kind
    is_nested = is_list and kind.typeName() == "array"
    kind = kind.elementType if is_nested and of_sequences else kind
    word = kind.typeName()
    if word not in _DTYPES:
        detail = f"a column of {field.dataType.simpleString()}"
        is_step = is_nested and not of_sequences
        needs = " needs recordType=SequenceExample"
        detail += needs if is_step else ", which an Example cannot hold"
        if word in ("udt", "vectorudt"):
            detail += "; pyspark.ml.functions.vector_to_array makes an array of a vector"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)
    dtype, stored = _DTYPES[word]
    text = "str" if word in ("string", "char", "varchar") else None
    zone = "UTC" if word == "timestamp" else None
    if is_list:
        item = SchemaItem(RaggedFeature(stored), Original(dtype, (None,), text, zone=zone))
        return item, is_nested
    item = SchemaItem(FixedLenFeature([], stored), Original(dtype, (), text, zone=zone))
    return ext.as_missing(field.name, item) if field.nullable else item, False


def _spark_type(name: str, kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if _is_list(kind):
        return types.ArrayType(_spark_type(name, kind.value_type))
    wider = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64()}
    wider |= {"uint64": pa.decimal128(20, 0), "halffloat": pa.float32()}
    try:
        return from_arrow_type(wider.get(str(kind), kind), prefer_timestamp_ntz=True)
    except Exception:  # noqa: BLE001 - Spark's errors, of many classes
        detail = f"Spark has no type for {kind}; leave it out of the option columns"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail) from None


def _arrow_schema_of(schema: Any) -> Any:
    """Return exactly the Arrow schema that Spark wants batches of a schema to have."""
    has_zone = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if has_zone else {}))


def _converted(array: Any, kind: Any) -> Any:
    """Return an array as one of exactly a type of Spark's; raises pyarrow's errors."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_list(kind) and not _is_list(array.type):  # one value is a list of one
        splits = pa.array(np.arange(len(array) + 1, dtype=np.int32))
        mask = array.is_null() if array.null_count else None
        array = pa.ListArray.from_arrays(splits, array, mask=mask)
    return array.cast(kind)


def _is_list(kind: Any) -> bool:
    return ext.form_of(kind) in ("list", "fixed list")
