"""Record files in pipelines of Apache Beam: read in parts, written in its shards. Needs the extra ``beam``."""

from __future__ import annotations

import contextlib
import keyword
import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.record_format import RowEncoder, encoder_of
from tfrecord_lite.apps.tables.table import ScanOptions, TFRecordTable, fitting_blocks, scan
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.extension import CompressionType, FilePart, Sidecar, Sources, expand
from tfrecord_lite.integrations import engines
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.schema import FeatureSpec
from tfrecord_lite.writer import TFRecordWriter

try:
    import apache_beam as beam
    import pyarrow as pa
    from apache_beam.io.filebasedsink import FileBasedSink
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.metrics import Metrics
    from apache_beam.typehints.row_type import RowTypeConstraint
except ImportError as _error:
    _detail = "Apache Beam is needed: pip install apache-beam pyarrow"
    raise ImportError(_detail, name=_error.name) from _error

if TYPE_CHECKING:
    _TransformBase = engines.Foreign
    _FileSinkBase = engines.Foreign
else:
    _TransformBase = beam.PTransform
    _FileSinkBase = FileBasedSink

Elements: TypeAlias = Literal["arrow", "columns", "rows", "dicts"]
_Maker: TypeAlias = Callable[[Block], Iterable[Any]]
"""What makes the elements of a block of records."""

__all__ = [
    "ReadAllExamples", "ReadAllTFRecords", "ReadExamples", "ReadTFRecords", "WriteExamples", "WriteTFRecords",
]  # fmt: skip

_ROWS_AT_ONCE = 8192
_SEQUENCE = {"context", "feature_lists"}
"""The parts of a SequenceExample."""


# ------------------------------------------------------------------------------- reading


class _Read(_TransformBase):
    """Reads the files of a PCollection of paths, or those that are named, as elements of `type_`."""

    def __init__(
        self, paths: Sources | None, make: _Maker, type_: Any, max_bytes: int | None, options: Any
    ) -> None:
        super().__init__()
        settings = {n: value for n, value in options.items() if n in ReadOptions.__annotations__}
        how, size = ReadSettings(**settings), options.get("batch_size")
        self._paths = None
        if paths is not None:
            self._paths = [ext.name_of(source) for source in expand(paths, how.storage_options)]
            for path in self._paths:
                if not ext.is_url(path):
                    os.stat(path)  # raises if there is no such file
        self._cut = beam.FlatMap(lambda path: ext.file_parts(path, how, max_bytes=max_bytes))
        read = beam.FlatMap(lambda part: _elements_in(part, how, size, make))
        self._read = read.with_output_types(type_)

    def expand(self, begin: Any) -> Any:
        """Return the elements."""
        paths = begin if self._paths is None else begin | "Files" >> beam.Create(self._paths)
        return paths | "Cut" >> self._cut | beam.Reshuffle() | "Read" >> self._read


def _elements_in(
    part: FilePart, how: ReadSettings, size: int | None, make: _Maker
) -> Iterator[Any]:
    count = partial(Metrics.counter, "tfrecord_lite")
    reader = ext.PartReader(part, how)
    for block in fitting_blocks(reader, size):
        count("records").inc(len(block))
        yield from make(block)
    if reader.report is not None:
        count("damaged_spans").inc(reader.report.num_damaged)
        count("lost_bytes").inc(reader.report.lost_bytes)


class ReadTFRecords(_Read):
    """Read the records of files as ``bytes``, in the place of ``beam.io.ReadFromTFRecord``, which does not split files.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        As for :class:`TFRecordReader`.
    max_bytes : int or None, default 128 MiB
        Workers cut uncompressed files that are larger into parts of about this size.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`; `max_errors` is per part.

    Raises
    ------
    FileNotFoundError
        At once, if there is no such file; by a worker for a URL.
    DataLossError
        By a worker, for damage.

    Notes
    -----
    Beam's counters ``records``, ``damaged_spans`` and ``lost_bytes`` (namespace ``tfrecord_lite``) count committed work
    only: a repeated task counts once.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import ReadTFRecords
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(b"Ada")
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     _ = pipeline | ReadTFRecords("names.tfrecord") | beam.Map(print)
    b'Ada'
    """

    def __init__(
        self,
        paths: Sources,
        *,
        max_bytes: int | None = ext.PART_BYTES,
        **options: Unpack[ReadOptions],
    ) -> None:
        super().__init__(paths, iter, bytes, max_bytes, options)


class ReadAllTFRecords(_Read):
    """Read the records of the files whose paths or patterns are the elements of a PCollection.

    Parameters
    ----------
    max_bytes, **options
        As for :class:`ReadTFRecords`.

    Raises
    ------
    FileNotFoundError
        By a worker, for a path or pattern without a file.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import ReadAllTFRecords
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(b"Ada")
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     paths = pipeline | beam.Create(["names.tfrecord"])
    ...     _ = paths | ReadAllTFRecords() | beam.Map(print)
    b'Ada'
    """

    def __init__(
        self, *, max_bytes: int | None = ext.PART_BYTES, **options: Unpack[ReadOptions]
    ) -> None:
        super().__init__(None, iter, bytes, max_bytes, options)


def _elements_of(table: TFRecordTable, elements: Elements) -> tuple[_Maker, Any]:
    if elements == "arrow":
        whole = pa.Table
        return lambda block: [whole.from_batches([table.to_batch(block)])], whole
    if elements == "columns":
        loader = ext.Loader(Sidecar(table.schema), table.column_names, None)
        return lambda block: [loader.columns_of(block)], dict[str, Any]

    def rows(block: Block) -> Iterable[tuple[Any, ...]]:
        columns = [column.to_pylist() for column in table.to_batch(block).columns]
        return zip(*columns, strict=True) if columns else [()] * len(block)

    if elements == "dicts":
        make_dict = partial(zip, table.column_names)
        return lambda block: map(dict, map(make_dict, rows(block))), dict[str, Any]
    if elements != "rows":
        detail = f"elements is {elements!r}, expected one of arrow, columns, dicts, rows"
        raise argument_error(detail)
    fields: dict[str, Any] = {}
    for column in table.arrow_schema:
        # Names must be identifiers in Python.
        name = re.sub(r"\W", "_", column.name).lstrip("_")
        name = name if name.isidentifier() and not keyword.iskeyword(name) else f"f_{name}"
        if name in fields:
            detail = f"two columns would have the field {name!r} in rows; take elements='dicts', or columns"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=column.name, detail=detail)
        fields[name] = typing.Optional[_row_type(column.type)]  # noqa: UP045 - Beam's form
    type_ = RowTypeConstraint.from_fields(list(fields.items())).user_type
    return lambda block: map(type_._make, rows(block)), type_


def _row_type(type_: Any) -> Any:
    """Return the type of a column in Beam's schemas; Any where they have none."""
    types, form = pa.types, ext.form_of(type_)
    if form == "dictionary":
        return _row_type(type_.value_type)
    if form in ("list", "fixed list"):
        return typing.Sequence[_row_type(type_.value_type)]  # type: ignore[misc]
    if form in ("text", "bytes"):
        return str if form == "text" else bytes
    if types.is_boolean(type_):
        return bool
    if types.is_integer(type_) and type_ != pa.uint64():
        return np.int64
    if types.is_floating(type_):
        return np.float64 if type_.bit_width == 64 else np.float32
    return Any


class ReadExamples(_Read):
    """Read files of Examples or SequenceExamples, in batches of columns or row by row.

    Parameters
    ----------
    paths, max_bytes : optional
        As for :class:`ReadTFRecords`, as are Beam's counters.
    columns : sequence of str, optional
    schema : path, mapping of str to feature specification, or SequenceSchema, optional
        As for :func:`scan`, which settles the schema now, where the pipeline is made.
    elements : {"arrow", "columns", "rows", "dicts"}, default "arrow"
        Batches of about 4 MB: ``"arrow"``, each a ``pyarrow.Table``, as for ``WriteToParquetBatched``; ``"columns"``,
        each a dict of arrays as from :func:`load`. Or one element per record: ``"rows"``, named tuples with a schema of
        Beam's, for ``to_dataframe``, ``SqlTransform`` or ``GroupBy("name")``, where ``image/encoded`` is
        ``image_encoded``; or ``"dicts"``.
    **options
        As for :func:`scan`; `num_workers` has no effect, and `max_errors` is per part.

    Attributes
    ----------
    table : TFRecordTable
        The files as a table, with their `schema`.

    Raises
    ------
    FileNotFoundError, InvalidArgumentError, DataLossError
        At once, as :func:`scan`; ``UNSUPPORTED`` for two columns that would have the same name in rows.
        By a worker, as :meth:`TFRecordTable.to_batches`, with file, number and feature.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import ReadExamples
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     people = pipeline | ReadExamples("people.tfrecord", elements="rows")
    ...     _ = people | beam.Filter(lambda row: row.age > 40) | beam.Map(lambda row: print(row.name))
    Alan
    """

    def __init__(
        self,
        paths: Sources,
        columns: Sequence[str] | None = None,
        *,
        schema: Any = None,
        elements: Elements = "arrow",
        max_bytes: int | None = ext.PART_BYTES,
        **options: Unpack[ScanOptions],
    ) -> None:
        self.table: TFRecordTable = scan(paths, columns, schema=schema, **options)
        parts = _elements_of(self.table, elements)
        super().__init__(self.table.sources, *parts, max_bytes, options)

    @property
    def arrow_schema(self) -> Any:
        """The ``pyarrow.Schema`` of all batches, which ``WriteToParquetBatched`` needs."""
        return self.table.arrow_schema


class ReadAllExamples(_Read):
    """Read the files whose paths or patterns are the elements of a PCollection.

    Parameters
    ----------
    table : TFRecordTable
        From :func:`scan`, for files like those that will be read, which have its schema and its columns.
    elements, max_bytes, **options
        As for :class:`ReadExamples`; the options of the table itself are not used.

    Raises
    ------
    FileNotFoundError
        By a worker, for a path or pattern without a file.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import ReadAllExamples
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     paths = pipeline | beam.Create(["people.tfrecord"])
    ...     tables = paths | ReadAllExamples(scan("people.tfrecord"))
    ...     _ = tables | beam.Map(lambda table: print(table["age"].to_pylist()))
    [36, 41, 37]
    """

    def __init__(
        self,
        table: TFRecordTable,
        *,
        elements: Elements = "arrow",
        batch_size: int | None = None,
        max_bytes: int | None = ext.PART_BYTES,
        **options: Unpack[ReadOptions],
    ) -> None:
        settings = {**options, "batch_size": batch_size}
        super().__init__(None, *_elements_of(table, elements), max_bytes, settings)


# ------------------------------------------------------------------------------- writing


class _Sink(_FileSinkBase):
    """Beam's files: written under temporary names, and renamed when all are complete."""

    def __init__(
        self,
        names: Sequence[Any],
        compression: CompressionType,
        encoder: Callable[[TFRecordWriter], _Records | _Examples],
    ) -> None:
        prefix, *others = names
        coder, plain = beam.coders.BytesCoder(), CompressionTypes.UNCOMPRESSED  # ours is inside
        super().__init__(prefix, coder, *others, compression_type=plain)
        self._compression, self._encoder = compression, encoder
        ext.compression_to_write("", self._compression)  # raises if it is none

    def open(self, temp_path: str) -> Any:
        """Open a file of its own for each attempt."""
        file = FileSystems.create(temp_path, compression_type=CompressionTypes.UNCOMPRESSED)
        output = SimpleNamespace(name=temp_path, write=lambda parts: list(map(file.write, parts)))
        written = ext.FingerprintingFile(output)
        compression = ext.compression_to_write(temp_path, self._compression)
        writer = TFRecordWriter(written, compression)  # type: ignore[arg-type] # only writes
        return file, written, writer, self._encoder(writer)

    def write_record(self, file_handle: Any, value: Any) -> None:
        """Write an element."""
        file, _, writer, encoder = file_handle
        with _closed_on_error(file, writer):
            encoder.add(value)

    def close(self, file_handle: Any) -> None:
        """Write the end of the file, and its sidecar."""
        file, written, writer, encoder = file_handle
        with _closed_on_error(file, writer):
            described = encoder.finish()
            writer.close()
        file.close()
        if described is not None:
            name, plain = f"{written.name}{ext.SIDECAR_SUFFIX}", CompressionTypes.UNCOMPRESSED
            described = described._replace(fingerprint=written.fingerprint)
            with FileSystems.create(name, compression_type=plain) as beside:
                beside.write(ext.content_to_write(described))

    def pre_finalize(self, init_result: Any, writer_results: Any) -> None:
        """Remove existing files of these names, and their sidecars."""
        super().pre_finalize(init_result, writer_results)  # type: ignore[misc]
        places = f"{self._get_final_name_glob(len(list(writer_results)))}{ext.SIDECAR_SUFFIX}"
        (match,) = FileSystems.match([places])
        FileSystems.delete([file.path for file in match.metadata_list])

    def finalize_write(self, init_result: Any, writer_results: Any, *more: Any) -> Any:
        """Rename the sidecars before the files."""
        for number, source in enumerate(sorted(writer_results)):
            target = self._get_final_name(number, len(writer_results))
            old, new = (f"{place}{ext.SIDECAR_SUFFIX}" for place in (source, target))
            if FileSystems.exists(old):
                FileSystems.rename([old], [new])
        return super().finalize_write(init_result, writer_results, *more)  # type: ignore[misc]


@contextlib.contextmanager
def _closed_on_error(file: Any, writer: TFRecordWriter) -> Iterator[None]:
    """Close a file after an error: Beam removes it then, and does not close it."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            writer.close()
        file.close()
        raise


class _Records:
    def __init__(self, writer: TFRecordWriter) -> None:
        self._writer = writer

    def add(self, value: Any) -> None:
        if not isinstance(value, bytes):
            detail = f"expected records as bytes, not {type(value).__name__}"
            raise TypeError(f"{detail}; WriteExamples takes dictionaries, rows and tables")
        self._writer.write(value)

    def finish(self) -> None:
        """Return None: there is no sidecar."""


class _Examples:
    """Writes dictionaries, rows and tables to a file; with a sidecar, all of one schema."""

    def __init__(
        self, writer: TFRecordWriter, *, schema: Any, lossless: bool, sidecar: bool
    ) -> None:
        self._writer, self._schema = writer, schema
        self._lossless, self._sidecar = lossless, sidecar
        self._of_tables: Any = None
        self._of_rows = RowEncoder(schema, lossless=lossless)
        self._rows: list[Mapping[str, Any]] = []
        self._rounded: dict[str, None] = {}

    def add(self, value: Any) -> None:
        """Write an element, now or with others."""
        if hasattr(value, "to_pylist") and hasattr(value, "schema"):
            self._add_table(value)
        elif (row := _row_of(value)).keys() == _SEQUENCE:
            self._writer.write_sequence_example(row)
        elif not self._sidecar:
            self._writer.write_example(row, self._schema)
        else:
            self._rows.append(row)
            if len(self._rows) == _ROWS_AT_ONCE:
                self._write_rows()

    def _add_table(self, value: Any) -> None:
        """Write a table or batch of Arrow; for a sidecar, by the encoder of those before."""
        parts = {name.partition("/")[0] for name in value.schema.names}
        if not (self._sidecar or parts <= _SEQUENCE):
            # How its columns were stored is only readable with a sidecar, and none is written.
            value = value.replace_schema_metadata(None)
        table = value if isinstance(value, pa.Table) else pa.table(value)
        if self._of_tables is None or not self._sidecar:
            form = {"lossless": self._lossless, "has_sidecar": self._sidecar}
            self._of_tables = encoder_of(table.schema, **form)
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            self._writer.write_blocks(self._of_tables.blocks(batch))
        self._rounded |= getattr(self._of_tables, "rounded", {})

    def _write_rows(self) -> None:
        self._writer.write_blocks(self._of_rows.blocks(self._rows))
        self._rows.clear()

    def finish(self) -> Sidecar | None:
        """Write the rows that are left, warn of what was rounded, and return what the sidecar says."""
        if self._rows:
            self._write_rows()
        ext.warn_of_rounding("WriteExamples", self._rounded | self._of_rows.rounded)
        if not self._sidecar:
            return None
        of_rows = self._of_rows.described()
        if self._of_tables is None:
            return of_rows
        if of_rows is not None:
            detail = "tables among dictionaries or rows, whose types do not fit into one sidecar; "
            raise argument_error(detail + "give sidecar=False")
        return self._of_tables.described()  # type: ignore[no-any-return]


def _row_of(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    as_dict = getattr(value, "_asdict", None) or getattr(value, "as_dict", None)
    if as_dict is None:
        kind = type(value).__name__
        detail = f"expected a dict, a row of Beam's, or a table or batch of pyarrow, not {kind}"
        raise TypeError(f"{detail}; bytes are for WriteTFRecords")
    return as_dict()  # type: ignore[no-any-return]


class _Write(_TransformBase):
    def __init__(self, sink: _Sink) -> None:
        super().__init__()
        self._sink = sink

    def expand(self, elements: Any) -> Any:
        """Return the paths of the files."""
        return elements | beam.io.Write(self._sink)


class WriteTFRecords(_Write):
    """Write records, each of them ``bytes``, to shards, in the place of ``beam.io.WriteToTFRecord``.

    Parameters
    ----------
    file_path_prefix : str
        Path or URL with which the names of the files begin; written by Beam's file systems (``gs://``, ...).
    file_name_suffix : str, default ""
        With which they end, such as ``".tfrecord.gz"``.
    num_shards : int, default 0
        Number of files; 0 leaves it to the runner, which is faster.
    shard_name_template : str, optional
        What is between prefix and suffix, by default ``"-SSSSS-of-NNNNN"``; "" for a single file without a number.
    compression : str, int or TFRecordOptions, default "infer"
        As for :class:`TFRecordWriter`; inferred from the suffix.

    Returns
    -------
    PCollection of str
        The paths of the files, when they are complete.

    Raises
    ------
    InvalidArgumentError
        At once, for an unknown compression.
    TypeError
        By a worker, for an element that is not bytes.

    Notes
    -----
    When all tasks have succeeded, one temporary file of each is renamed, so repeated tasks neither double nor lose
    records. Existing files of the same names are replaced.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import WriteTFRecords
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     names = pipeline | beam.Create([b"Ada", b"Alan", b"Grace"])
    ...     _ = names | WriteTFRecords("names", ".tfrecord.gz", num_shards=1)
    >>> sorted(TFRecordReader("names-00000-of-00001.tfrecord.gz"))
    [b'Ada', b'Alan', b'Grace']
    """

    def __init__(
        self,
        file_path_prefix: str,
        file_name_suffix: str = "",
        num_shards: int = 0,
        shard_name_template: str | None = None,
        *,
        compression: CompressionType = "infer",
    ) -> None:
        names = file_path_prefix, file_name_suffix, num_shards, shard_name_template
        super().__init__(_Sink(names, compression, _Records))


class WriteExamples(_Write):
    """Write rows, or batches of them, as Examples to shards.

    The elements are dictionaries as for :meth:`TFRecordWriter.write_example`, rows with a schema of Beam's, or
    ``pyarrow.Table`` and ``RecordBatch`` objects of one schema, whose rows are SequenceExamples if its metadata says so.
    ``{"context": {...}, "feature_lists": {...}}`` is a SequenceExample. For columns, use
    ``beam.FlatMap(encode_examples) | WriteTFRecords(...)``.

    Parameters
    ----------
    file_path_prefix, file_name_suffix, num_shards, shard_name_template, compression : optional
        As for :class:`WriteTFRecords`, as are the result and retries.
    schema : Schema, or mapping of str to feature specification, optional
        For dictionaries and rows: kinds and shapes are checked, and empty lists and integers among floats have the kind
        that it says. Slower without `sidecar`.
    lossless : bool, default False
        As for :func:`save`, by the first rows of each file; needs the sidecar. The worker warns of columns of float64
        in which float32 changed a number.
    sidecar : bool, default True
        Write ``FILE.schema.json`` beside each file of Examples, with which readers restore types and shapes.

    Raises
    ------
    InvalidArgumentError
        By a worker, for a value that cannot be stored, with its column or feature.
    TypeError
        By a worker, for other elements.

    Examples
    --------
    >>> import apache_beam as beam
    >>> from tfrecord_lite.integrations.beam import WriteExamples
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     people = pipeline | beam.Create([{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}])
    ...     _ = people | WriteExamples("people", ".tfrecord", num_shards=1)
    >>> sorted(load("people-*.tfrecord")["age"].tolist())
    [36, 41]
    """

    def __init__(
        self,
        file_path_prefix: str,
        file_name_suffix: str = "",
        num_shards: int = 0,
        shard_name_template: str | None = None,
        *,
        schema: Mapping[str, FeatureSpec] | None = None,
        lossless: bool = False,
        sidecar: bool = True,
        compression: CompressionType = "infer",
    ) -> None:
        engines.check_lossless(lossless=lossless, sidecar=sidecar)
        names = file_path_prefix, file_name_suffix, num_shards, shard_name_template
        encoder = partial(_Examples, schema=schema, lossless=lossless, sidecar=sidecar)
        super().__init__(_Sink(names, compression, encoder))
