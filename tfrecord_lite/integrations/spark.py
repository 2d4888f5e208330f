"""Record files as a data source of Spark: ``spark.read.format("tfrecord")``, ``df.write.format("tfrecord")``.

::

    register(spark)               once per session
    TFRecordDataSource            options ──> schema, reader or writer, on the driver
      TFRecordBatchReader         partitions: ranges of files; read: record batches, in a task
      TFRecordBatchWriter         write: staged files, in a task; commit or abort, on the driver

    schema     ours, or from .schema(...) ──> Original, feature ──> Arrow ──> exactly Spark's Arrow types

The options are those of spark-tfrecord (``recordType``, ``codec``), Spark's for files, and ours, in any
letter case, with or without underscores: ``onError`` is `on_error`. Where files are, and how they appear
after a write, is in ``spark_files``; options and types are in ``spark_options`` and ``spark_types``.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.apps.tables.batches import RecordBatches
from tfrecord_lite.apps.tables.parts import write_part
from tfrecord_lite.apps.tables.table import TFRecordTable
from tfrecord_lite.convert.arrow import SCHEMA_KEY, imported
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.names import SIDECAR_SUFFIX, is_url
from tfrecord_lite.files.remote import remote_place
from tfrecord_lite.index.ranges import RangeReader, record_ranges
from tfrecord_lite.integrations.spark_files import (
    DataFile,
    Job,
    column_type,
    data_files,
    folder_of,
)
from tfrecord_lite.integrations.spark_options import PARTS, SparkReadSettings, WriteSettings
from tfrecord_lite.integrations.spark_types import (
    arrow_schema_of,
    as_steps,
    converted,
    depth_of,
    feature_of,
    is_list_type,
    is_nested_array,
    leaf_of,
    spark_type,
    with_leaf,
    with_type,
    without_decimals,
    without_nulls,
)
from tfrecord_lite.records.damage import warn_of_damage
from tfrecord_lite.schema import (
    Original,
    RaggedFeature,
    Schema,
    SequenceSchema,
)
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.storage.sidecar import Sidecar
from tfrecord_lite.storage.widening import SchemaItem, items_of, schema_of_items

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        InputPartition,
        WriterCommitMessage,
    )
except ImportError:  # register says so
    DataSource = DataSourceArrowWriter = DataSourceReader = object
    InputPartition = WriterCommitMessage = object

if TYPE_CHECKING:

    class _Foreign:
        """What type checkers see of Spark's classes, which have no annotations."""

        def __init__(self, *arguments: Any, **options: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    _SourceBase = _Foreign
    _ReaderBase = _Foreign
    _WriterBase = _Foreign
    _MessageBase = _Foreign
else:
    _SourceBase = DataSource
    _ReaderBase = DataSourceReader
    _WriterBase = DataSourceArrowWriter
    _MessageBase = WriterCommitMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfrecord_lite.errors import DamageReport
    from tfrecord_lite.index.ranges import RecordRange
    from tfrecord_lite.options import ReadSettings

__all__ = [
    "TFRecordBatchReader",
    "TFRecordBatchWriter",
    "TFRecordDataSource",
    "register",
]

_PACKED_BYTES = 32 * 1024 * 1024
_OPENING_BYTES = 4 * 1024 * 1024
"""Small files share a task up to this size; opening one counts as so many bytes, as Spark has it."""
_FLUSHED_BYTES, _HELD_BYTES = 64 * 1024 * 1024, 256 * 1024 * 1024
"""When rows of one folder, and of all folders together, are written to a file."""
_BYTE_ARRAY = "byteArray"
_TEXT_ROWS = 1000
"""Rows from which it is found out which byte strings of SequenceExamples are text."""


def register(spark: Any) -> None:
    """Make the format ``"tfrecord"`` known to a session of Spark.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The package must be installed for the Python of the driver and of all executors.

    Raises
    ------
    ImportError
        If pyspark 4.1 or later, or pyarrow, is not installed (the extra ``spark``).

    Notes
    -----
    The page "Spark" of the documentation lists the options. Reading: the driver lists the files, infers the schema
    from a sample, and divides the files; each task reads ranges of files, and is repeated as Spark likes. Writing: each
    attempt of a task writes into a hidden folder of its own, and the driver moves the files of those attempts that
    Spark counts, so that tasks which are retried, killed or speculative neither double nor lose rows.

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
    imported()
    if DataSource is object:
        detail = "Spark needs pyspark, pandas and pyarrow: pip install 'tfrecord-numpy[spark]'"
        raise ImportError(detail)
    spark.dataSource.register(TFRecordDataSource)


class TFRecordDataSource(_SourceBase):
    """The format ``"tfrecord"``, for ``spark.dataSource.register``; made by Spark, with its options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "tfrecord"

    def schema(self) -> Any:
        """Infer the columns: those of the records, then those that folders name. Called on the driver.

        Raises
        ------
        FileNotFoundError, InvalidArgumentError, DataLossError
            As :func:`scan`; ``BAD_ARGUMENT`` for an unknown option.
        """
        settings = SparkReadSettings.of(self.options)
        self._found = _Files.of(settings)
        return self._found.spark_schema()

    def reader(self, schema: Any) -> TFRecordBatchReader:
        """Return the reader of the columns that a schema names; called on the driver.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a type that no record can have.
        """
        found = getattr(self, "_found", None)
        if found is None:  # the schema is given, so nothing need be inferred
            settings = SparkReadSettings.of(self.options)
            if settings.columns is not None:
                raise argument_error("give the option columns, or .schema(...), not both")
            found = _Files.of(settings, schema)
        return TFRecordBatchReader(found, schema)

    def writer(self, schema: Any, overwrite: bool) -> TFRecordBatchWriter:  # noqa: FBT001 - Spark's
        """Return the writer of rows; called on the driver.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for an unknown option, ``UNSUPPORTED`` for a column that a record cannot hold.
        """
        return TFRecordBatchWriter(WriteSettings.of(self.options), schema, overwrite=overwrite)


# ------------------------------------------------------------------------------------ reading


class _Files:
    """The files of a read, and the table that they are."""

    def __init__(self, settings: SparkReadSettings, files: list[DataFile], table: Any) -> None:
        self.settings = settings
        self.files = files
        self.table: TFRecordTable | None = table
        """None for records as they are."""
        self.texts: frozenset[str] = frozenset()
        """Columns of SequenceExamples that are text."""
        self.columns: dict[str, str] = {}
        """Names of Spark's columns, and those of the table."""
        if table is not None:
            self._name_columns(table)

    @classmethod
    def of(cls, settings: SparkReadSettings, schema: Any = None) -> _Files:
        """List the files; open their table with a schema of Spark's, or infer it."""
        files = data_files(settings.paths, settings.options.storage_options, **settings.listing)
        if settings.record_type == "ByteArray":
            return cls(settings, files, None)
        features, text = settings.given_features(), settings.text
        is_described = features is not None or _has_schema(files[0].name, settings)
        if schema is not None and not is_described:
            keys = {name for name, _ in files[0].keys}
            fields = [field for field in schema if field.name not in keys]
            features, text = settings.features_of(files, fields), False
        elif text is None:
            text = not is_described  # a sidecar says what is text
        table = settings.scan(files, features, text=text)
        if not is_described and schema is None:
            table = _with_varying_lists(table)
        if settings.record_type == "Example" and isinstance(table.schema, SequenceSchema):
            detail = (
                "the records are SequenceExamples: give .option('recordType', 'SequenceExample')"
            )
            raise InvalidArgumentError(Reason.UNSUPPORTED, source=files[0].name, detail=detail)
        return cls(settings, files, table)

    def _name_columns(self, table: TFRecordTable) -> None:
        """Name columns as spark-tfrecord does; those that would have one name, by their part too."""
        if not isinstance(table.schema, SequenceSchema):
            self.columns = {name: name for name in table.column_names}
            return
        short = [name.partition("/")[2] for name in table.column_names]
        for name, key in zip(table.column_names, short, strict=True):
            is_clear = short.count(key) == 1 and not key.startswith(PARTS)
            self.columns[key if is_clear else name] = name
        strings = [f.name for f in table.arrow_schema if "binary" in str(f.type)]
        if strings and self.settings.text is not False:
            self.texts = _texts(table.select(strings).head(_TEXT_ROWS))

    @property
    def keys(self) -> dict[str, list[str | None]]:
        """The columns that folders name, with the text of each file."""
        names = [name for name, _ in self.files[0].keys]
        return {name: [file.keys[i][1] for file in self.files] for i, name in enumerate(names)}

    def spark_schema(self) -> Any:
        """Return the inferred schema, all of it nullable."""
        from pyspark.sql.types import (  # noqa: PLC0415
            ArrayType,
            BinaryType,
            StringType,
            StructField,
            StructType,
            _parse_datatype_json_string,
        )

        found: dict[str, Any] = {}
        if self.table is None:
            found[_BYTE_ARRAY] = BinaryType()
        else:
            types = {field.name: field.type for field in self.table.arrow_schema}
            for name, column in self.columns.items():
                kind = spark_type(name, types[column])
                if column in self.texts:
                    kind = with_leaf(kind, StringType())
                is_list = column.startswith(PARTS[1]) and isinstance(
                    self.table.schema, SequenceSchema
                )
                found[name] = (
                    ArrayType(
                        kind.elementType
                        if depth_of(types[column]) > 1
                        else ArrayType(kind.elementType)
                    )
                    if is_list
                    else kind
                )
        words = {"int": "integer", "bigint": "long"}
        for name, texts in self.keys.items():
            word = column_type(texts)
            found[name] = _parse_datatype_json_string(json.dumps(words.get(word, word)))
        return StructType([StructField(n, found[n]) for n in self._chosen(list(found))])

    def _chosen(self, names: list[str]) -> list[str]:
        chosen = names if self.settings.columns is None else self.settings.columns
        for name in chosen:
            if name not in names:
                raise argument_error(f"no column {name!r}{nearest(name, names)}")
        return chosen


def _with_varying_lists(table: TFRecordTable) -> TFRecordTable:
    """Return an inferred table whose lists may have any length, not only that of those in the sample."""
    if isinstance(table.schema, SequenceSchema):
        return table
    items = items_of(table.schema)
    for name, item in items.items():
        original = item.original or Original(item.spec.dtype, getattr(item.spec, "shape", ()))  # type: ignore[attr-defined]
        if original.shape and None not in original.shape:
            varying = replace(original, shape=(None,), missing=False)
            items[name] = SchemaItem(RaggedFeature(item.kind.dtype), varying)
    batches = RecordBatches(Sidecar(schema_of_items(items)), hint=table._batches._hint)  # noqa: SLF001
    return TFRecordTable(batches, table._reading)  # noqa: SLF001


def _has_schema(name: str, settings: SparkReadSettings) -> bool:
    """Return whether a schema is beside a file."""
    beside = f"{name}{SIDECAR_SUFFIX}"
    if is_url(name):
        filesystem, path = remote_place(beside, settings.options.storage_options)
        return bool(filesystem.exists(path))
    folder = os.path.dirname(name)  # noqa: PTH120
    return any(
        map(os.path.exists, (beside, f"{folder}/features.json", f"{folder}/dataset_info.json"))
    )


def _texts(table: Any) -> frozenset[str]:
    """Return the columns of byte strings of a table that are UTF-8, and not all empty."""
    pa, found = imported(), []
    for name in table.column_names:
        column = table[name].combine_chunks()
        while is_list_type(column.type):
            column = column.flatten()
        try:
            strings = column.cast(pa.large_string())
        except pa.ArrowInvalid:
            continue
        if any(strings.to_pylist()):
            found.append(name)
    return frozenset(found)


@dataclass(frozen=True)
class _Column:
    """A column that Spark gets."""

    name: str
    kind: Any
    """The Arrow type."""
    nullable: bool
    source: str | None
    """The column of the table; None for one that is not in the records."""
    steps: bool = False
    """Whether it is that of a feature list."""

    def of(self, batch: Any, place: str, first: int | None) -> Any:
        """Return the values in a batch, of a file and from a number of record on."""
        pa = imported()
        array = pa.nulls(len(batch), self.kind)
        try:
            if self.source is not None:
                array = batch.column(self.source)
                array = as_steps(array, depth_of(self.kind)) if self.steps else array
                array = converted(array, self.kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._misfit_error(array, place, first, str(error)) from None
        if array.null_count and not self.nullable:
            row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            index = None if first is None else first + row
            detail = "no value, but the column is not nullable in the schema"
            raise InvalidArgumentError(Reason.MISSING, None, place, index, self.name, detail)
        return array

    def _misfit_error(
        self, array: Any, place: str, first: int | None, cause: str
    ) -> InvalidArgumentError:
        """Return the error about the first value that is not of the type."""
        low, high = 0, len(array)  # array[:low] fits, array[:high] does not
        while high - low > 1:
            middle = (low + high) // 2
            try:
                part = array[low:middle]
                converted(as_steps(part, depth_of(self.kind)) if self.steps else part, self.kind)
            except imported().ArrowException:
                high = middle
            else:
                low = middle
        detail = f"a value that is not {self.kind}: {cause}"
        index = None if first is None else first + low
        return InvalidArgumentError(Reason.WRONG_KIND, None, place, index, self.name, detail)


class _FilesPartition(InputPartition):  # type: ignore[misc]
    """Ranges of files that one task reads."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


@dataclass(frozen=True)
class _BytesPart:
    """A range of a file whose records are read as they are."""

    range: RecordRange
    options: ReadSettings

    def read(self) -> _BytesReader:
        """Return an iterator of batches."""
        return _BytesReader(self)


class _BytesReader:
    """Iterator of batches of the column byteArray."""

    def __init__(self, part: _BytesPart) -> None:
        self._reader = RangeReader(part.range, part.options)

    @property
    def report(self) -> DamageReport | None:
        """What was skipped so far."""
        return self._reader.report

    def __iter__(self) -> Iterator[Any]:
        pa = imported()
        for block in self._reader.blocks():
            yield pa.record_batch({_BYTE_ARRAY: pa.array(block.to_list(), pa.binary())})


class TFRecordBatchReader(_ReaderBase):
    """Reads files of records in ranges, as record batches; made by :class:`TFRecordDataSource`."""

    def __init__(self, found: _Files, schema: Any) -> None:
        arrow = arrow_schema_of(schema)
        keys = found.keys
        self._schema = arrow
        known = {_BYTE_ARRAY: _BYTE_ARRAY} if found.table is None else found.columns
        self._columns = []
        for field in arrow:
            source = None if field.name in keys else known.get(field.name)
            is_list = (source or "").startswith(PARTS[1]) and found.columns is known
            is_list &= found.table is not None and isinstance(found.table.schema, SequenceSchema)
            self._columns.append(_Column(field.name, field.type, field.nullable, source, is_list))
        self._values = {
            name: {
                file.name: _scalar(name, text, arrow.field(name).type)
                for file, text in zip(found.files, texts, strict=True)
            }
            for name, texts in keys.items()
            if name in arrow.names
        }
        self._found = found

    def __getstate__(self) -> dict[str, Any]:
        """Leave what only the driver needs; partitions have their part of it."""
        return {name: value for name, value in self.__dict__.items() if name != "_found"}

    def partitions(self) -> list[Any]:
        """Divide the files among tasks, at borders of records; called on the driver."""
        settings, table = self._found.settings, self._found.table
        sizes = settings.max_partition_bytes, settings.num_partitions
        parts: list[Any]
        if table is None:
            names = [file.name for file in self._found.files]
            ranges = record_ranges(names, settings.options, max_bytes=sizes[0], num_ranges=sizes[1])
            parts = [_BytesPart(part, settings.options) for part in ranges]
        else:
            wanted = [column.source for column in self._columns if column.source is not None]
            # The whole table notices features that are not in the sample; a selection does not.
            chosen = table if set(wanted) == set(table.column_names) else table.select(wanted)
            parts = list(chosen.partitions(*sizes))
        return _packed(parts, settings.num_partitions) or [_FilesPartition([])]

    def read(self, partition: Any) -> Iterator[Any]:
        """Yield the record batches of a partition; called in a task.

        Raises
        ------
        DataLossError, InvalidArgumentError
            With file, record, byte and feature.
        """
        for part in partition.parts:
            place, n_before = part.range.source, part.range.first
            reader = part.read()
            for batch in reader:
                # What is skipped has a number too, so only without that they are known.
                first = n_before if reader.report is None else None
                yield self._batch(batch, place, first)
                n_before += len(batch)
            if reader.report is not None:
                warn_of_damage(reader.report)

    def _batch(self, batch: Any, place: str, first: int | None) -> Any:
        arrays = []
        for column in self._columns:
            if column.name in self._values:
                arrays.append(_repeated(self._values[column.name][place], len(batch)))
            else:
                arrays.append(column.of(batch, place, first))
        return imported().RecordBatch.from_arrays(arrays, schema=self._schema)


def _scalar(name: str, text: str | None, kind: Any) -> Any:
    """Return the value that the name of a folder has, in the type of its column."""
    pa = imported()
    if text is None:
        return pa.scalar(None, kind)
    try:
        return pa.scalar(text.lstrip("+") if pa.types.is_integer(kind) else text, pa.string()).cast(
            kind
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        detail = f"the folder {folder_of(name, text)!r} has a value that is not {kind}"
        raise argument_error(detail, key=name) from None


def _repeated(value: Any, size: int) -> Any:
    return imported().repeat(value, size)


def _packed(parts: list[Any], num_partitions: int | None) -> list[Any]:
    """Return partitions in which small files that follow each other share a task."""
    costs = [
        part.range.nbytes + (_OPENING_BYTES if num_partitions is None else 0) for part in parts
    ]
    most: float = _PACKED_BYTES if num_partitions is None else max(sum(costs) / num_partitions, 1)
    packed: list[list[Any]] = []
    left = 0.0
    for part, cost in zip(parts, costs, strict=True):
        if not packed or cost > left + cost / 2:
            packed.append([])
            left = most
        packed[-1].append(part)
        left -= cost
    return [_FilesPartition(group) for group in packed]


# ------------------------------------------------------------------------------------ writing


@dataclass
class _Written(_MessageBase):
    """What an attempt of a task has written: its folder, and the files in it."""

    folder: str
    files: list[str]
    n_records: int


class TFRecordBatchWriter(_WriterBase):
    """Writes rows as files of records; made by :class:`TFRecordDataSource`."""

    def __init__(self, settings: WriteSettings, schema: Any, *, overwrite: bool) -> None:
        self._settings = settings
        self._job = Job.of(
            settings.path,
            uuid.uuid4().hex[:12],
            overwrite=overwrite,
            storage_options=settings.storage_options,
        )
        _check_folders(settings.partition_by, schema)
        fields = [field for field in schema if field.name not in settings.partition_by]
        if not fields:
            raise argument_error("partitionBy has all columns; none is left for the records")
        self._rows = _rows_of(fields, settings)

    def write(self, iterator: Iterator[Any]) -> _Written:
        """Write the batches of a task into a hidden folder of this attempt; called in a task.

        Raises
        ------
        InvalidArgumentError
            For a value that a record cannot hold, with the column.
        """
        from pyspark import TaskContext  # noqa: PLC0415

        context: Any = TaskContext.get()
        task, attempt = context.partitionId(), context.taskAttemptId()
        written = _Written(self._job.attempt(task, attempt), [], 0)
        stem = f"part-{task:05d}-{self._job.name}"
        if self._settings.partition_by:
            held = _Held(self._settings.partition_by)
            for folder, batches, number in held.batches(iterator):
                self._put(written, f"{folder}/{stem}-c{number:03d}", batches)
        else:
            # The first task leaves a file even without rows, so that the schema is known.
            self._put(written, f"{stem}-c000", iterator, is_first=task == 0)
        return written

    def _put(
        self, written: _Written, stem: str, batches: Iterable[Any], *, is_first: bool = False
    ) -> None:
        settings = self._settings
        name = f"{stem}.tfrecord{settings.ending}"
        self._job.make_folder(f"{written.folder}/{name}")
        made = write_part(
            f"{written.folder}/{name}",
            map(self._rows.of, batches),
            schema=self._rows.schema if is_first else None,
            compression=settings.compression,
            lossless=settings.lossless,
            sidecar=settings.sidecar and settings.record_type != "ByteArray",
            storage_options=settings.storage_options,
        )
        if made is not None:
            if settings.sidecar and settings.record_type != "ByteArray":
                written.files.append(f"{name}{SIDECAR_SUFFIX}")
            written.files.append(name)
            written.n_records += made.n_records

    def commit(self, messages: list[Any]) -> None:
        """Move the files of the attempts that count to their places; called on the driver."""
        self._job.commit((each.folder, name) for each in messages if each for name in each.files)

    def abort(self, messages: list[Any]) -> None:
        """Remove what all attempts have written; called on the driver."""
        self._job.abort()


def _check_folders(names: list[str], schema: Any) -> None:
    """Raise if columns cannot be the names of folders."""
    for name in names:
        if name not in schema.names:
            raise argument_error(f"no column {name!r}{nearest(name, schema.names)} in partitionBy")
        kind = schema[name].dataType
        if kind.typeName() in ("binary", "array", "map", "struct"):
            raise argument_error(
                f"{kind.simpleString()} in partitionBy cannot name folders", key=name
            )


class _Held:
    """Rows by the values of columns, held until there are enough for a file."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._rows: dict[str, list[Any]] = {}
        self._sizes: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def batches(self, iterator: Iterable[Any]) -> Iterator[tuple[str, list[Any], int]]:
        """Yield folders, rows for a file in each, and the number of the file there."""
        for batch in iterator:
            for folder, rows in self._divided(batch):
                self._rows.setdefault(folder, []).append(rows)
                self._sizes[folder] = self._sizes.get(folder, 0) + rows.nbytes
                if self._sizes[folder] >= _FLUSHED_BYTES:
                    yield self._taken(folder)
            while sum(self._sizes.values()) >= _HELD_BYTES:
                yield self._taken(max(self._sizes, key=self._sizes.__getitem__))
        for folder in list(self._rows):
            yield self._taken(folder)

    def _taken(self, folder: str) -> tuple[str, list[Any], int]:
        number = self._numbers.get(folder, 0)
        self._numbers[folder] = number + 1
        del self._sizes[folder]
        return folder, self._rows.pop(folder), number

    def _divided(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """Yield the folders of a batch's rows, and the rows of each, in their order."""
        numbers = np.zeros(len(batch), np.int64)  # of each row's folder
        folders = [""]
        for name in self._names:
            found = batch.column(name).dictionary_encode()
            texts = [folder_of(name, value) for value in [*found.dictionary.to_pylist(), None]]
            codes = found.indices.fill_null(len(texts) - 1).to_numpy()
            used, numbers = np.unique(numbers * len(texts) + codes, return_inverse=True)
            pairs = [divmod(int(one), len(texts)) for one in used]
            folders = [f"{folders[outer]}/{texts[inner]}" for outer, inner in pairs]
        rows = batch.select([name for name in batch.schema.names if name not in self._names])
        for number, folder in enumerate(folders):
            yield folder[1:], rows.take(imported().array(np.flatnonzero(numbers == number)))


_STORED_AS_NUMBERS = ("date", "timestamp", "timestamp_ntz")


def _rows_of(fields: list[Any], settings: WriteSettings) -> _Rows:
    """Return what makes records of batches; raise if a column cannot be in them."""
    from pyspark.sql.types import StructType  # noqa: PLC0415

    if settings.record_type == "ByteArray":
        if len(fields) != 1 or fields[0].dataType.typeName() not in ("binary", "string"):
            found = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in fields)
            detail = f"recordType=ByteArray writes one column of binary, not {found}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        return _Rows("ByteArray", None)
    is_sequence = settings.record_type == "SequenceExample"
    if is_sequence and settings.lossless:
        raise argument_error("lossless is for Examples; expected recordType=Example")
    items = []
    for field in fields:
        is_nested = is_sequence and is_nested_array(field.dataType)
        step = with_type(field, field.dataType.elementType) if is_nested else field
        items.append(feature_of(step, is_step=is_nested))
        _check_stored(field, settings)
    schema = arrow_schema_of(StructType(fields))
    kinds = [without_decimals(kind) for kind in schema.types]
    if is_sequence:
        return _sequence_rows(fields, items, kinds)
    pa = imported()
    # The bytes of a row are one string, which is there or not.
    is_raw = [settings.lossless and is_list_type(k) and k.value_type == pa.float64() for k in kinds]
    named = list(zip(schema.names, kinds, strict=True))
    filled = frozenset(name for name, raw in zip(schema.names, is_raw, strict=True) if raw)
    return _Rows("Example", pa.schema([pa.field(n, k) for n, k in named]), filled)


def _check_stored(field: Any, settings: WriteSettings) -> None:
    """Raise about values that would come back as something else."""
    word, shown = leaf_of(field.dataType).typeName(), field.dataType.simpleString()
    detail = None
    if word in _STORED_AS_NUMBERS and not settings.sidecar:
        detail = (
            f"a column of {shown} is stored as plain numbers, which only a sidecar explains: "
            "cast it, or give .option('sidecar', 'true')"
        )
    if word == "decimal" and settings.lossless:
        detail = f"a column of {shown} is stored as floats, which is not lossless: cast it"
    if detail is not None:
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)


def _sequence_rows(fields: list[Any], items: list[SchemaItem], kinds: list[Any]) -> _Rows:
    """Return what makes SequenceExamples of batches: arrays of arrays are feature lists."""
    pa = imported()
    names = [_part_of(field) for field in fields]
    context: dict[str, SchemaItem] = {}
    lists: dict[str, Any] = {}
    for i, (name, item) in enumerate(zip(names, items, strict=True)):
        if name in names[:i]:
            raise argument_error(f"two columns would be {name!r} of the SequenceExample")
        part, _, key = name.partition("/")
        if part == "context":
            context[key] = item
        else:
            lists[key] = RaggedFeature(item.spec.dtype)  # type: ignore[attr-defined]
    features = SequenceSchema(schema_of_items(context), Schema(lists))
    named = [pa.field(n, k) for n, k in zip(names, kinds, strict=True)]
    schema = pa.schema(named, {SCHEMA_KEY: features.to_json(None).encode()})
    return _Rows("SequenceExample", schema, frozenset(n for n in names if n.startswith(PARTS[1])))


def _part_of(field: Any) -> str:
    """Return the name of a column with its part of a SequenceExample."""
    name, is_list = field.name, is_nested_array(field.dataType)
    part = PARTS[is_list]
    if name.startswith(PARTS[not is_list]):
        detail = (
            f"{field.dataType.simpleString()} is for {part.rstrip('/')}, which the name contradicts"
        )
        raise argument_error(detail, key=name)
    return str(name) if name.startswith(part) else f"{part}{name}"


@dataclass(frozen=True)
class _Rows:
    """Makes what a file is written from out of Spark's batches."""

    record_type: str
    schema: Any
    """The Arrow schema of rows; None for records as they are."""
    filled: frozenset[str] = frozenset()
    """Columns of lists in which null is stored as an empty list, as a missing one cannot be."""

    def of(self, batch: Any) -> Any:
        """Return rows of the schema, or records."""
        pa = imported()
        if self.schema is None:
            column = batch.column(0)
            if column.null_count:
                detail = "a null, which is not a record; drop it"
                raise InvalidArgumentError(Reason.MISSING, key=batch.schema.names[0], detail=detail)
            return column.cast(pa.binary()).to_pylist()
        arrays = []
        for field, array in zip(self.schema, batch.columns, strict=True):
            is_filled = field.name in self.filled and array.null_count
            made = converted(without_nulls(array) if is_filled else array, field.type)
            arrays.append(made)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
