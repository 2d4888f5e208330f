"""TFRecords as a stream of batches, or of blocks as they are, both ways.

Columns that came from records are stored as the schema says that came along; others by their types, where
float64 becomes float32. A file of :func:`write_part` appears complete or not at all, and replaces one of its
name: a task that is repeated leaves what one run of it leaves.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.table import PANDAS_KEY, TFRecordTable, fitting_size, with_pandas
from tfrecord_lite.block import Block
from tfrecord_lite.errors import FileReport, InvalidArgumentError, errors_at
from tfrecord_lite.extension import CompressionType, Sidecar, Source, StorageOptions
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.schema import FixedLenFeature, RaggedFeature, Schema, SchemaItem, SequenceSchema

_MARK_BYTES = 4 * 1024 * 1024


class RecordSource:
    """A TFRecord file, as batches of a table, or as blocks of records as they are.

    `mark` is the number and offset of a record to begin at.
    """

    def __init__(self, source: Source, options: ReadSettings, table: TFRecordTable | None) -> None:
        self.name: str = ext.name_of(source)
        self.names: list[str] = [] if table is None else table.column_names
        self._source, self._options, self._table = source, options, table
        self._log = ext.DamageLog.begin(options)
        self._stream: ext.RecordStream | None = None
        self.marks: list[tuple[int, int]] = []

    @property
    def columns(self) -> list[str] | None:
        """Those to read; None for all."""
        return None if self._table is None else self._table.column_names

    @columns.setter
    def columns(self, chosen: list[str]) -> None:
        # The table itself notices features that first occur after the sample; a selection does not.
        if self._table is not None and chosen != self.names:
            self._table = self._table.select(chosen)

    @property
    def schema(self) -> Any:
        """The types of the columns that are read; None for blocks."""
        return None if self._table is None else self._table.arrow_schema

    def with_pandas(self, schema: Any) -> Any:
        """Return a schema of these columns with what the sidecar says of a frame, for files that pandas reads."""
        if self._table is None:
            return schema
        return with_pandas(schema, self._table._batches.described)  # noqa: SLF001 - of this app

    @property
    def damage(self) -> tuple[FileReport, ...]:
        """What was skipped so far; nothing if damage is raised."""
        return () if self._log is None else self._log.report().files

    def count(self) -> int:
        """Count the records; note where some of them are, and what was skipped."""
        quick = replace(self._options, verify=False) if self._log is None else self._options
        n_rows = last = 0
        self._stream = ext.RecordStream(self._source, quick)
        for block in self._blocks():
            offset = block.place(0).offset
            if self._log is None and offset is not None and offset >= last:
                self.marks.append((n_rows, offset))
                last = self.marks[-1][1] + _MARK_BYTES
            n_rows += len(block)
        self.marks = [] if self._stream.compression else self.marks
        self.close()
        return n_rows

    def batches(self, first_row: int = 0, mark: tuple[int, int] | None = None) -> Iterator[Any]:
        """Yield the records from one on."""
        self._stream = ext.RecordStream(self._source, self._options)
        n_rows = 0
        if mark is not None:
            n_rows = mark[0]
            self._stream.begin_at(mark[1], n_rows)
        for block in self._blocks():
            if n_rows + len(block) > first_row:
                kept = block[max(first_row - n_rows, 0) :] if n_rows < first_row else block
                yield kept if self._table is None else self._table.to_batch(kept)
            n_rows += len(block)

    def _blocks(self) -> Iterator[Block]:
        stream: Any = self._stream if self._log is None else self._log.skipping(self._stream)  # type: ignore[arg-type]
        # One read brings few records if they are compressed; the first shows how many are enough.
        size: int | None = None
        while (block := stream.next_block(size)) is not None:
            if size is None and self._table is not None:
                size = fitting_size(block, 1)
            yield block

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


class RecordTarget:
    """A TFRecord file that is written, with a sidecar if it is made of batches."""

    def __init__(
        self,
        target: Source,
        schema: Any,
        compression: str | None,
        described: Sidecar | None = None,
        *,
        lossless: bool = False,
        with_sidecar: bool = True,
        storage_options: StorageOptions = None,
    ) -> None:
        self._target, self._sidecar, self._storage_options = target, described, storage_options
        self.n_rows: int = 0
        self.n_bytes: int = 0
        options = ext.compression_to_write(target, "infer" if compression is None else compression)
        self._is_named = not ext.is_file_object(target)
        self._has_sidecar = with_sidecar and self._is_named
        self._encoder: Any = None
        if schema is not None:
            self._encoder = encoder_of(schema, lossless=lossless, has_sidecar=self._has_sidecar)
        self._files = ext.DataFiles([target], options, storage_options)
        self._files.open_through(0)

    @property
    def rounded(self) -> tuple[str, ...]:
        """The columns with a float64 that was not exact in float32."""
        return tuple(getattr(self._encoder, "rounded", ()))

    def write_batch(self, batch: Any) -> None:
        """Write a batch, or a block of records as they are."""
        if self._encoder is None:
            self._files.put(batch)
        else:
            with errors_at(index=self.n_rows.__add__):
                for block in self._encoder.blocks(batch):
                    self._files.put(block)
        self.n_rows += len(batch)

    def finish(self) -> None:
        """Write the end of the file, and the sidecar."""
        (fingerprint,) = self._files.finish()
        self.n_bytes = fingerprint["bytes"]
        description = self._sidecar if self._encoder is None else self._encoder.described()
        if description is not None and self._has_sidecar:
            place = ext.companion(ext.name_of(self._target), ext.SIDECAR_SUFFIX)
            self._files.add_sidecar(place, description._replace(fingerprint=fingerprint))

    def commit(self) -> None:
        """Let the files appear, the sidecar first; without one, a sidecar of other data is removed."""
        self._files.commit()
        if self._is_named and not self._files.beside:
            ext.remove_stale(ext.name_of(self._target), self._storage_options)

    def abandon(self) -> None:
        """Remove what is not committed."""
        self._files.abandon()


def encoder_of(
    schema: Any, *, lossless: bool, has_sidecar: bool
) -> _ExampleEncoder | _SequenceEncoder:
    """Return what makes records of batches of an Arrow schema."""
    text = (schema.metadata or {}).get(ext.SCHEMA_KEY)
    if text is not None:
        with contextlib.suppress(InvalidArgumentError):
            sequences = SequenceSchema.from_json(text)
            if {name.partition("/")[0] for name in schema.names} <= {"context", "feature_lists"}:
                return _SequenceEncoder(sequences, schema)
    return _ExampleEncoder(schema, lossless=lossless, has_sidecar=has_sidecar)


def _encoded(columns: Any, schema: Schema, rounded: Any, n_rows: int) -> Iterator[Any]:
    """Yield rows as Examples, which are empty without columns."""
    if columns:
        return ext.encode_column_batches(columns, schema, rounded)
    return iter([Block.from_records([b""] * n_rows)])


class _ExampleEncoder:
    def __init__(self, schema: Any, *, lossless: bool, has_sidecar: bool) -> None:
        pa = ext.imported()
        self._schema = pa.schema([_without_categories(field) for field in schema], schema.metadata)
        options: Any = {"lossless": lossless, "raw_images": has_sidecar}
        self._frames = ext.SchemaBuilder(null_as_empty=True, **options)
        self.rounded: dict[str, None] = self._frames.rounded
        frame = ext.open_columns(pa.RecordBatch.from_pylist([], self._schema))
        self._frames.add_frame(frame)
        self._types = frame.described() if frame.described is not None else None
        from_pandas = (schema.metadata or {}).get(PANDAS_KEY)
        if from_pandas is not None and self._types is not None:  # for Parquet made of it again
            self._types = {**self._types, "pandas": json.loads(from_pandas)}

    def blocks(self, batch: Any) -> Iterator[Any]:
        """Return the records of a batch."""
        if batch.schema != self._schema:
            batch = batch.cast(self._schema)
        columns, schema = self._frames.add_frame(ext.open_columns(batch, is_later=True))
        return _encoded(columns, schema, self.rounded, len(batch))

    def described(self) -> Sidecar:
        """Return what the sidecar says of all batches."""
        return Sidecar(self._frames.schema, None, dataframe=self._types)


class RowEncoder:
    """Encodes dictionaries as Examples, by a schema or the first of them."""

    def __init__(self, schema: Any = None, *, lossless: bool = False) -> None:
        features = None if schema is None else Schema(schema)
        self._builder = ext.SchemaBuilder(features, lossless=lossless)
        self.rounded: dict[str, None] = self._builder.rounded
        self._names: dict[str, None] = {}

    def blocks(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
        """Return the records of some rows; where one lacks a feature, that is missing."""
        self._names |= dict.fromkeys(chain.from_iterable(rows))
        whole = [{name: row.get(name) for name in self._names} for row in rows]
        columns, schema = self._builder.add_rows(whole)
        return _encoded(columns, schema, self.rounded, len(rows))

    def described(self) -> Sidecar | None:
        """Return what the sidecar says of all rows; None without any."""
        return Sidecar(self._builder.schema, self._builder.structure) if self._names else None


def _without_categories(field: Any) -> Any:
    """Return a field with values for categories, unless these are texts or integers."""
    types, kind = ext.imported().types, field.type
    if ext.form_of(kind) != "dictionary":
        return field
    is_kept = types.is_integer(kind.value_type) or ext.form_of(kind.value_type) == "text"
    return field if is_kept else field.with_type(kind.value_type)


class _SequenceEncoder:
    def __init__(self, sequences: Any, schema: Any) -> None:
        context, lists = (
            part.select(name for name in part if f"{title}/{name}" in schema.names)
            for title, part in zip(("context", "feature_lists"), sequences, strict=True)
        )
        self._schema = SequenceSchema(context, lists)
        self._raw = {name: item for name, item in lists.to_items().items() if item.is_raw}

    def blocks(self, batch: Any) -> Iterator[Any]:
        """Yield the records of a batch."""
        from tfrecord_lite import encode_sequence_examples  # noqa: PLC0415

        parts: dict[str, dict[str, Any]] = {"context": {}, "feature_lists": {}}
        for name, column in ext.open_columns(batch, is_later=True).columns.items():
            part, _, key = name.partition("/")
            parts[part][key] = column
        for key, item in self._raw.items():
            parts["feature_lists"][key] = _raw_steps(key, parts["feature_lists"][key], item)
        yield encode_sequence_examples(**parts)

    def described(self) -> Sidecar:
        """Return what the sidecar says of all batches."""
        return Sidecar(self._schema)


def _raw_steps(key: str, lists: ext.Lists, item: SchemaItem) -> ext.Lists:
    """Return steps that are arrays as the byte strings that the schema says they are stored as."""
    spec = item.spec if isinstance(item.spec, RaggedFeature) else FixedLenFeature([], bytes)
    steps = ext.stored({key: lists.below()}, Schema.of_items({key: item._replace(spec=spec)}))[key]
    return steps.above(lists.lengths, lists.present)


# --------------------------------------------------------------------------------- parts

_RECORDS_AT_ONCE = 8192


def part_ending(compression: CompressionType) -> str:
    """Return the ending of names of files with a compression, such as ``.tfrecord.gz``."""
    options = ext.compression_to_write(None, compression)
    codec = ext.CODECS.get(ext.TFRecordOptions.get_compression_type_string(options))
    return f".tfrecord{codec.endings[0]}" if codec is not None else ".tfrecord"


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A file that a task wrote."""

    path: str
    """Path or URL."""
    n_records: int
    nbytes: int
    """Bytes of the file."""
    rounded: tuple[str, ...] = ()
    """Columns with a float64 that was not exact in float32."""


def write_part(
    path: str,
    batches: Iterable[Any],
    *,
    schema: Any = None,
    compression: CompressionType = "infer",
    lossless: bool = False,
    sidecar: bool = True,
    storage_options: StorageOptions = None,
) -> WrittenPart | None:
    """Write one file of records in a folder, which is created; return None if there was nothing to write.

    Rows of Arrow batches or tables become Examples, or SequenceExamples if the schema in the metadata says so; all
    have the schema of the first one. Blocks and lists of bytes are records as they are. Without a `schema`, nothing
    is written if there are no batches. `compression` and `storage_options` as for :class:`TFRecordWriter`, `lossless`
    as for :func:`save`; errors name the record in this file. After an error there is no file, or the previous one.
    """
    rest = iter(batches)
    first = next(rest, None)
    if first is None and schema is None:
        return None
    is_rows = schema is not None or not isinstance(first, Block | list)
    if is_rows and schema is None:
        schema = first.schema  # type: ignore[union-attr]
    if not ext.is_url(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    codec: Any = "" if compression is None else compression
    options: Any = {"lossless": lossless, "with_sidecar": sidecar}
    target = RecordTarget(path, schema, codec, storage_options=storage_options, **options)
    try:
        for batch in rest if first is None else chain([first], rest):
            for part in _bounded(batch) if is_rows else (batch,):
                target.write_batch(part)
        target.finish()
        target.commit()
    except InvalidArgumentError as error:
        target.abandon()
        raise (error if error.source else error.at(source=path)) from None
    except BaseException:
        target.abandon()
        raise
    return WrittenPart(path, target.n_rows, target.n_bytes, target.rounded)


def _bounded(batch: Any) -> Any:
    whole = ext.imported().Table
    table = batch if isinstance(batch, whole) else whole.from_batches([batch])
    return table.to_batches(max_chunksize=_RECORDS_AT_ONCE)


def file_system(name: str, storage_options: StorageOptions) -> tuple[Any, str]:
    """Return the ``pyarrow.fs.FileSystem`` of a path or URL, and the path there."""
    fs = ext.imported("pyarrow.fs")
    if not ext.is_url(name):
        return fs.LocalFileSystem(), name
    remote, path = ext.remote_place(name, storage_options)
    return fs.PyFileSystem(fs.FSSpecHandler(remote)), path


class PartFolder:
    """The files in the directory, or at the URL, that tasks write to."""

    def __init__(self, name: str, storage_options: StorageOptions) -> None:
        self._name, self._storage_options = name, storage_options

    def names(self, *, hidden: bool = False) -> list[str]:
        """Return the names of the files, hidden ones if asked; none if there is no such directory."""
        system, path = file_system(self._name, self._storage_options)
        selector = ext.imported("pyarrow.fs").FileSelector(path, allow_not_found=True)
        names = [info.base_name for info in system.get_file_info(selector) if info.is_file]
        return sorted(name for name in names if hidden or not name.startswith("."))

    def add(self, name: str) -> None:
        """Add a file of one byte."""
        if not ext.is_url(self._name):
            os.makedirs(self._name, exist_ok=True)
        file = ext.open_output(f"{self._name}/{name}", storage_options=self._storage_options)
        file.write([b"-"])
        file.finish()

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, some of which may be gone."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                ext.remove(f"{self._name}/{name}", self._storage_options)
