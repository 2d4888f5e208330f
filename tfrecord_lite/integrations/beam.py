"""Record files in pipelines of Apache Beam: read in parts that it may split further, written in its shards.

::

    paths ──ReadTFRecords, ReadExamples──> cut at borders of records ──> bytes, tables, columns or rows
    ReadAllTFRecords, ReadAllExamples      the same, paths from a PCollection
    bytes, dicts, rows or tables ──WriteTFRecords, WriteExamples──> shards, by Beam's file sink

Beam may split the work on a part while it is read. A record is in the piece in which its header
begins, and the headers are found by following the lengths from the start of the part, where a record is known
to begin: never by a search for what looks like a record.

Needs the extra ``beam``.
"""

from __future__ import annotations

import contextlib
import errno
import keyword
import os
import re
import typing
from collections.abc import Mapping
from contextlib import closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.apps.tables.batches import LEAST, fitting_size
from tfrecord_lite.apps.tables.record_format import RecordTarget
from tfrecord_lite.apps.tables.table import scan
from tfrecord_lite.convert import arrow
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.compression import compression_to_write
from tfrecord_lite.files.names import expand, is_url, name_of
from tfrecord_lite.index.ranges import RANGE_BYTES, RangeReader, record_ranges
from tfrecord_lite.options import ReadOptions, ReadSettings
from tfrecord_lite.storage.loading import loader_of
from tfrecord_lite.storage.sidecar import Sidecar
from tfrecord_lite.writer import TFRecordWriter

try:
    import apache_beam as beam
    from apache_beam.io.filebasedsink import (
        FileBasedSink,
    )
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
    from apache_beam.metrics import Metrics
    from apache_beam.transforms.core import RestrictionProvider
    from apache_beam.typehints.row_type import RowTypeConstraint
except ImportError as _error:
    _detail = "Apache Beam is needed: pip install 'tfrecord-numpy[beam]'"
    raise ImportError(_detail, name=_error.name) from _error

if TYPE_CHECKING:

    class _Foreign:
        """What type checkers see of Beam's classes, which have no annotations."""

        def __init__(self, *arguments: Any, **options: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __rrshift__(self, label: str) -> Any: ...

    _TransformBase = _Foreign
    _FileSinkBase = _Foreign
else:
    _TransformBase = beam.PTransform
    _FileSinkBase = FileBasedSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Literal, TypeAlias, Unpack

    from tfrecord_lite.apps.tables.table import ScanOptions, TFRecordTable
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources
    from tfrecord_lite.index.ranges import RecordRange
    from tfrecord_lite.schema import FeatureLike, FeatureSpec, SequenceSchema

    Features: TypeAlias = str | os.PathLike[str] | Mapping[str, FeatureLike] | SequenceSchema | None
    Elements: TypeAlias = Literal["arrow", "columns", "rows", "dicts"]

__all__ = [
    "ReadAllExamples",
    "ReadAllTFRecords",
    "ReadExamples",
    "ReadTFRecords",
    "WriteExamples",
    "WriteTFRecords",
]

_ROWS_AT_ONCE = 8192
_COMPRESSIONS = {
    "auto": "infer",
    "bzip2": "BZ2",
    "deflate": "ZLIB",
    "gzip": "GZIP",
    "uncompressed": "",
    "zstd": "ZSTD",
}
"""Ours for Beam's ``CompressionTypes``."""


def _compression(compression: Any) -> Any:
    """Return a compression, which may be one of Beam's names, by a name of ours."""
    is_name = isinstance(compression, str)
    return _COMPRESSIONS.get(compression, compression) if is_name else compression


# ------------------------------------------------------------------------------- reading


def _with_our_names(options: Any) -> Any:
    """Return options whose compression may be one of Beam's names."""
    given = options.get("compression")
    return {**options, "compression": _compression(given)} if given is not None else options


def _read_options(options: Any) -> ReadSettings:
    """Return the options about files, out of all."""
    names = {field.name for field in fields(ReadSettings)} & options.keys()
    return ReadSettings(**{name: _with_our_names(options)[name] for name in names})


class _Tracker(OffsetRestrictionTracker):  # type: ignore[misc]
    """Claims records, many at a time, by the offsets of their headers.

    What is claimed stays; a split takes what begins after the last record claimed.
    """

    def try_claim(self, position: Int64Array) -> int:
        """Claim records that follow each other; return how many of the first ones are claimed.

        If not all are, the others belong to another piece, and no more can be claimed.
        """
        n_claimed = int(np.searchsorted(position, self.stop_position()))
        for i in {n_claimed - 1, n_claimed} & set(range(len(position))):
            super().try_claim(int(position[i]))
        return n_claimed


class _ReadParts(beam.DoFn, RestrictionProvider):  # type: ignore[misc]
    """Reads ranges of files, each in as many pieces as Beam likes.

    A restriction holds the offsets at which records may begin. A range that cannot be split has a
    single one, 0: it is read whole, or not.
    """

    def __init__(self, form: _Form, options: ReadSettings, size: int | None) -> None:
        super().__init__()
        self._form, self._options, self._size = form, options, size

    def initial_restriction(self, part: RecordRange) -> Any:
        """Return all of a range."""
        return OffsetRange(part.start, part.stop) if self._is_divisible(part) else OffsetRange(0, 1)

    def create_tracker(self, restriction: Any) -> Any:
        """Return what knows which records are claimed."""
        return _Tracker(restriction)

    def restriction_size(self, part: RecordRange, restriction: Any) -> int:
        """Return the number of bytes to read."""
        return restriction.size() if self._is_divisible(part) else part.nbytes

    def _is_divisible(self, part: RecordRange) -> bool:
        # Where records begin is only known if none was found damaged; and a report is of a whole range.
        return part.n_records is not None and self._options.on_error == "raise"

    def process(
        self,
        part: RecordRange,
        tracker: Any = beam.DoFn.RestrictionParam(),  # noqa: B008 - Beam's form
    ) -> Iterator[Any]:
        """Yield the elements of a piece of a range."""
        if not self._is_divisible(part):
            if tracker.try_claim(np.zeros(1, np.int64)):
                yield from self._whole(part)
            return
        piece = _piece(part, tracker.current_restriction().start, self._options)
        if piece is not None:
            for block in _blocks(RangeReader(piece, self._options), self._size):
                n_claimed = tracker.try_claim(_starts(block))
                yield from self._elements(block[:n_claimed])
                if n_claimed < len(block):
                    return
        tracker.try_claim(np.array([part.stop]))

    def _whole(self, part: RecordRange) -> Iterator[Any]:
        reader = RangeReader(part, self._options)
        for block in _blocks(reader, self._size):
            yield from self._elements(block)
        report = reader.report
        if report is not None:
            Metrics.counter("tfrecord_lite", "damaged_spans").inc(report.num_damaged)
            Metrics.counter("tfrecord_lite", "lost_bytes").inc(report.lost_bytes)

    def _elements(self, block: Block) -> Iterable[Any]:
        Metrics.counter("tfrecord_lite", "records").inc(len(block))
        return self._form.elements(block) if len(block) else ()


def _starts(block: Block) -> Int64Array:
    """Return where in the file the headers of a block's records begin."""
    return block.offsets + (block.spans[0].base or 0)


def _piece(part: RecordRange, start: int, options: ReadSettings) -> RecordRange | None:
    """Return the records of a range that begin at an offset or after it; None if there are none."""
    if start <= part.start:
        return part
    n_before = 0
    unchecked: Any = RangeReader(part, replace(options, verify=False)).blocks()
    with closing(unchecked) as blocks:
        for block in blocks:
            starts = _starts(block)
            i = int(np.searchsorted(starts, start))
            n_before += i
            if i < len(starts):
                n_left = (part.n_records or 0) - n_before
                first = part.first + n_before
                return replace(part, start=int(starts[i]), first=first, n_records=n_left)
    return None


def _blocks(reader: RangeReader, size: int | None) -> Iterator[Block]:
    """Yield the records of a range, in blocks of about 4 MB if no size is given."""
    with closing(reader):
        while (block := reader.next_block(size)) is not None:
            size = size or fitting_size(block, LEAST)
            for first in range(0, len(block), size):
                yield block[first : first + size]


class _Cut(beam.DoFn):  # type: ignore[misc]
    """Cuts files into ranges."""

    def __init__(self, options: ReadSettings, max_bytes: int | None) -> None:
        super().__init__()
        self._options, self._max_bytes = options, max_bytes

    def process(self, path: str) -> Iterable[RecordRange]:
        """Return the ranges of the files that a path or pattern names."""
        return record_ranges(path, self._options, max_bytes=self._max_bytes)


class _Read(_TransformBase):
    """Reads the files of a PCollection of paths, or those that are named."""

    def __init__(
        self,
        paths: Sources | None,
        form: _Form,
        options: ReadSettings,
        *,
        max_bytes: int | None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__()
        self._paths = None
        if paths is not None:
            self._paths = [name_of(each) for each in expand(paths, options.storage_options)]
            for path in self._paths:
                if not (is_url(path) or os.path.exists(path)):
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._form = form
        self._cut = _Cut(options, max_bytes)
        self._read = _ReadParts(form, options, batch_size)

    def expand(self, given: Any) -> Any:
        """Return the elements."""
        paths = given if self._paths is None else given | "Files" >> beam.Create(self._paths)
        ranges = paths | "Cut" >> beam.ParDo(self._cut) | beam.Reshuffle()
        return ranges | "Read" >> beam.ParDo(self._read).with_output_types(self._form.type)


class _Form:
    """What elements are made of records."""

    type: Any = Any

    def elements(self, block: Block) -> Iterable[Any]:
        """Return the elements of a block of records."""
        raise NotImplementedError


class _Records(_Form):
    """Each record as bytes."""

    type = bytes

    def elements(self, block: Block) -> Iterable[Any]:
        """Return the records."""
        return block


class _Tables(_Form):
    """Batches of records as ``pyarrow.Table``, as Beam's transforms for Parquet have them."""

    def __init__(self, table: TFRecordTable) -> None:
        self._table = table
        self.type: Any = arrow.imported().Table

    def elements(self, block: Block) -> Iterable[Any]:
        """Return one table."""
        return [arrow.imported().Table.from_batches([self._table.to_batch(block)])]


class _TableCoder(beam.coders.Coder):  # type: ignore[misc]
    """Tables as Arrow's IPC streams; their size is known without encoding them, as pickle would."""

    def encode(self, value: Any) -> bytes:
        """Return a stream."""
        pa = arrow.imported()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, value.schema) as writer:
            writer.write_table(value)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]

    def decode(self, encoded: bytes) -> Any:
        """Return the table of a stream."""
        return arrow.imported().ipc.open_stream(encoded).read_all()

    def estimate_size(self, value: Any) -> int:
        """Return the number of bytes of the values."""
        return value.nbytes  # type: ignore[no-any-return]

    def is_deterministic(self) -> bool:
        """Return that tables are no keys."""
        return False


beam.coders.registry.register_coder(arrow.imported().Table, _TableCoder)


class _Columns(_Form):
    """Batches of records as dictionaries of columns."""

    type = dict[str, Any]

    def __init__(self, table: TFRecordTable) -> None:
        self._loader = loader_of(Sidecar(table.schema), table.column_names, None)

    def elements(self, block: Block) -> Iterable[Any]:
        """Return one dictionary."""
        return [self._loader.columns_of(block)]


class _Dicts(_Form):
    """Each record as a dictionary."""

    type = dict[str, Any]

    def __init__(self, table: TFRecordTable) -> None:
        self._table = table

    def elements(self, block: Block) -> Iterable[Any]:
        """Return a dictionary per record."""
        names = self._table.column_names
        return (dict(zip(names, row, strict=True)) for row in self._rows(block))

    def _rows(self, block: Block) -> Iterable[tuple[Any, ...]]:
        columns = [_values(column) for column in self._table.to_batch(block).columns]
        return zip(*columns, strict=True) if columns else [()] * len(block)


class _Rows(_Dicts):
    """Each record as a named tuple with a schema of Beam's."""

    def __init__(self, table: TFRecordTable) -> None:
        super().__init__(table)
        names = _row_names(table.column_names)
        types = [typing.Optional[_row_type(field.type)] for field in table.arrow_schema]  # noqa: UP045 - Beam's form
        found = RowTypeConstraint.from_fields(list(zip(names, types, strict=True)))
        self.type: Any = found.user_type

    def elements(self, block: Block) -> Iterable[Any]:
        """Return a row per record."""
        return map(self.type._make, self._rows(block))


def _values(array: Any) -> list[Any]:
    """Return the values of an Arrow array as Python objects."""
    types = arrow.imported().types
    if not array.null_count and (types.is_integer(array.type) or types.is_floating(array.type)):
        return array.to_numpy().tolist()  # type: ignore[no-any-return] # a fraction of the time
    return array.to_pylist()  # type: ignore[no-any-return]


def _row_names(names: Sequence[str]) -> list[str]:
    """Return the names of columns as fields of rows, which must be identifiers in Python."""
    found: dict[str, str] = {}
    for name in names:
        field = re.sub(r"\W", "_", name).lstrip("_")
        field = field if field.isidentifier() and not keyword.iskeyword(field) else f"f_{field}"
        if field in found:
            detail = f"{found[field]!r} would have the same field {field!r} in rows; take elements='dicts', or columns"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
        found[field] = name
    return list(found)


def _row_type(type_: Any) -> Any:
    """Return the type of a column in Beam's schemas; Any where they have none."""
    types = arrow.imported().types
    if types.is_dictionary(type_):
        return _row_type(type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return typing.Sequence[_row_type(type_.value_type)]  # type: ignore[misc]
    if types.is_boolean(type_):
        return bool
    if "binary" in str(type_) or "string" in str(type_):
        return str if "string" in str(type_) else bytes
    if types.is_integer(type_) and type_ != arrow.imported().uint64():
        return np.int64
    if types.is_floating(type_):
        return np.float64 if type_.bit_width == 64 else np.float32
    return Any


class ReadTFRecords(_Read):
    """Read the records of files as ``bytes``.

    In the place of ``beam.io.ReadFromTFRecord``, which does not split files.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        One file or many, patterns included, as for :class:`TFRecordReader`.
    max_bytes : int or None, default 128 MiB
        Cut uncompressed files that are larger into ranges of about this size, as
        :meth:`TFRecordTable.partitions`.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`; `compression` may be one of Beam's
        ``CompressionTypes`` too, and `max_errors` is per range.

    Raises
    ------
    FileNotFoundError
        At once, if there is no such file; of a URL by the worker.
    DataLossError
        By a worker, for damage; Beam repeats the work, if its runner does, and ends the pipeline.

    Notes
    -----
    The files are cut by workers, and each range is read by a worker. Ranges of uncompressed files that were cut, or have
    an index beside them, may be split further by the runner while they are read (dynamic work
    rebalancing), unless damage is skipped. Beam's counters ``records``, ``damaged_spans`` and ``lost_bytes`` of the
    namespace ``tfrecord_lite`` are those of the work that was committed: a repeated task counts once.

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
        max_bytes: int | None = RANGE_BYTES,
        **options: Unpack[ReadOptions],
    ) -> None:
        _read = _read_options(options)
        super().__init__(paths, _Records(), _read, max_bytes=max_bytes)


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
        self,
        *,
        max_bytes: int | None = RANGE_BYTES,
        **options: Unpack[ReadOptions],
    ) -> None:
        _read = _read_options(options)
        super().__init__(None, _Records(), _read, max_bytes=max_bytes)


_FORMS = {"arrow": _Tables, "columns": _Columns, "dicts": _Dicts, "rows": _Rows}


class _ReadExamples(_Read):
    """Reads records with the schema of a table."""

    def __init__(
        self,
        paths: Sources | None,
        table: TFRecordTable,
        elements: Elements,
        options: ScanOptions,
        *,
        max_bytes: int | None,
    ) -> None:
        self.table = table
        if elements not in _FORMS:
            raise argument_error(f"elements is {elements!r}, expected one of {', '.join(_FORMS)}")
        super().__init__(
            paths,
            _FORMS[elements](table),
            _read_options(options),
            max_bytes=max_bytes,
            batch_size=options.get("batch_size"),
        )

    @property
    def arrow_schema(self) -> Any:
        """The ``pyarrow.Schema`` of all batches, which ``WriteToParquetBatched`` needs."""
        return self.table.arrow_schema


class ReadExamples(_ReadExamples):
    """Read files of Examples or SequenceExamples, in batches of columns or row by row.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
    columns : sequence of str, optional
    schema : path, mapping of str to feature specification, or SequenceSchema, optional
        As for :func:`scan`, which settles the schema now, where the pipeline is made.
    elements : {"arrow", "columns", "rows", "dicts"}, default "arrow"
        What the PCollection has. Batches of about 4 MB: ``"arrow"``, each a ``pyarrow.Table``, as
        ``ReadFromParquetBatched`` gives and ``WriteToParquetBatched`` takes them; ``"columns"``, each a dict of
        arrays as :func:`load` returns. Or one element per record: ``"rows"``, named tuples with a schema of
        Beam's, for ``to_dataframe``, ``SqlTransform`` or ``GroupBy("name")``; ``"dicts"``.
    max_bytes : optional
        As for :class:`ReadTFRecords`.
    **options
        As for :func:`scan`; `num_workers` has no effect, and `max_errors` is per range.

    Attributes
    ----------
    table : TFRecordTable
        The files as a table, with their `schema`.

    Raises
    ------
    FileNotFoundError, InvalidArgumentError, DataLossError
        At once, as :func:`scan`: for files that are not there, a wrong schema, damage in the sample. ``UNSUPPORTED``
        for two columns that would have the same name in rows.
        By a worker, as :meth:`TFRecordTable.to_batches`.

    Notes
    -----
    A record that does not fit the schema is an error that names its file, number and feature. Names of columns that are not
    identifiers become such in rows: ``image/encoded`` is ``image_encoded``.

    Split and counted as :class:`ReadTFRecords`.

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
        max_bytes: int | None = RANGE_BYTES,
        **options: Unpack[ScanOptions],
    ) -> None:
        options = _with_our_names(options)
        table = scan(paths, columns, schema=schema, **options)
        super().__init__(table.sources, table, elements, options, max_bytes=max_bytes)


class ReadAllExamples(_ReadExamples):
    """Read the files whose paths or patterns are the elements of a PCollection.

    Parameters
    ----------
    table : TFRecordTable
        Of :func:`scan`, for one or some files like those that will be read: its schema and its columns are theirs.
    elements, max_bytes, **options
        As for :class:`ReadExamples`; the options of the table itself are not used.

    Raises
    ------
    FileNotFoundError
        By a worker, for a path or pattern without a file; others as :class:`ReadExamples`.

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
        max_bytes: int | None = RANGE_BYTES,
        **options: Unpack[ReadOptions],
    ) -> None:
        found: Any = {**options, "batch_size": batch_size}
        super().__init__(None, table, elements, found, max_bytes=max_bytes)


# ------------------------------------------------------------------------------- writing


class _Shard:
    """A file of records that is written."""

    def __init__(self, path: str, compression: Any, schema: Any) -> None:
        self._file = FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED)
        self._compression, self._schema = compression, schema
        self._writer: TFRecordWriter | None = None

    def write(self, value: Any) -> None:
        """Write an element."""
        if not isinstance(value, bytes):
            detail = f"expected records as bytes, not {type(value).__name__}"
            raise TypeError(f"{detail}; WriteExamples takes dictionaries, rows and tables")
        self._opened().write(value)

    def _opened(self) -> TFRecordWriter:
        if self._writer is None:
            self._writer = TFRecordWriter(self._file, self._compression)
        return self._writer

    def close(self) -> None:
        """Write the end of the file."""
        self._opened().close()
        self._file.close()


class _ShardOfExamples(_Shard):
    """A file of dictionaries and rows, or of tables of Arrow."""

    _tables: RecordTarget | None = None

    def write(self, value: Any) -> None:
        """Write an element."""
        is_table = hasattr(value, "to_pylist") and hasattr(value, "schema")
        if self._tables is not None if not is_table else self._writer is not None:
            raise TypeError("a shard gets tables of Arrow or rows, not both; use two transforms")
        if is_table:
            self._write_table(_plain(value))
            return
        row = value if isinstance(value, Mapping) else _as_dict(value)
        if set(row) == {"context", "feature_lists"}:
            self._opened().write_sequence_example(row)
        else:
            self._opened().write_example(row, self._schema)

    def _write_table(self, table: Any) -> None:
        if self._tables is None:
            self._tables = RecordTarget(self._file, table.schema, self._compression)
        for first in range(0, len(table), _ROWS_AT_ONCE):
            for batch in _batches(table[first : first + _ROWS_AT_ONCE]):
                self._tables.write(batch)

    def close(self) -> None:
        """Write the end of the file."""
        if self._tables is None:
            super().close()
        else:
            self._tables.finish()
            self._file.close()


def _plain(table: Any) -> Any:
    """Return a table, or a batch, stored by its types alone.

    What it was stored as in the files that it is from is only readable with their sidecars, and none is written.
    """
    parts = {name.partition("/")[0] for name in table.schema.names}
    is_of_sequences = parts <= {"context", "feature_lists"}
    return table if is_of_sequences else table.replace_schema_metadata(None)


def _batches(table: Any) -> list[Any]:
    """Return a table, or a batch, in batches."""
    return table.to_batches() if hasattr(table, "to_batches") else [table]


def _as_dict(row: Any) -> Mapping[str, Any]:
    """Return a row of Beam's as a dictionary."""
    as_dict = getattr(row, "_asdict", None) or getattr(row, "as_dict", None)
    if as_dict is None:
        found = type(row).__name__
        detail = f"expected a dict, a row of Beam's, or a table or batch of pyarrow, not {found}"
        raise TypeError(f"{detail}; bytes are for WriteTFRecords")
    return as_dict()  # type: ignore[no-any-return]


class _Sink(_FileSinkBase):
    """Beam's files: written under temporary names, and renamed when all are complete."""

    def __init__(
        self,
        shard: type[_Shard],
        *names: Any,
        compression: CompressionType,
        schema: Mapping[str, FeatureSpec] | None = None,
    ) -> None:
        prefix, suffix, num_shards, template = names
        super().__init__(
            prefix,
            beam.coders.BytesCoder(),
            suffix,
            num_shards,
            template,
            compression_type=CompressionTypes.UNCOMPRESSED,  # ours is inside
        )
        self._shard, self._schema = shard, schema
        self._compression = _compression(compression)
        compression_to_write("", self._compression)  # raises if it is none

    def open(self, temp_path: str) -> _Shard:
        """Open a file of its own for each attempt."""
        compression = compression_to_write(temp_path, self._compression)
        return self._shard(temp_path, compression, self._schema)

    def write_record(self, file_handle: _Shard, value: Any) -> None:
        """Write an element."""
        try:
            file_handle.write(value)
        except BaseException:
            with contextlib.suppress(Exception):  # Beam removes the file, and does not close it
                file_handle.close()
            raise


class _Write(_TransformBase):
    """Writes elements with a sink."""

    def __init__(self, sink: _Sink) -> None:
        super().__init__()
        self._sink = sink

    def expand(self, elements: Any) -> Any:
        """Return the paths of the files."""
        return elements | beam.io.Write(self._sink)


class WriteTFRecords(_Write):
    """Write records, each of them ``bytes``, to shards.

    In the place of ``beam.io.WriteToTFRecord``, with its arguments and names of files.

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
        As for :class:`TFRecordWriter`, by the suffix if it is inferred; Beam's ``CompressionTypes`` too.

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
    Each attempt of a task writes a temporary file of its own. When all tasks have succeeded, one file of each is renamed, so
    repeated tasks neither double nor lose records. Files of the same names that were there before are replaced.

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
        super().__init__(_Sink(_Shard, *names, compression=compression))


class WriteExamples(_Write):
    """Write rows, or batches of them, as Examples to shards.

    The elements are dictionaries as :meth:`TFRecordWriter.write_example` takes them, rows with a schema of Beam's, or
    ``pyarrow.Table`` and ``RecordBatch`` objects of one schema, whose rows become Examples, or SequenceExamples if
    their schema's metadata says so. ``{"context": {...}, "feature_lists": {...}}`` is a SequenceExample.

    Parameters
    ----------
    file_path_prefix, file_name_suffix, num_shards, shard_name_template : optional
    compression : optional
        As for :class:`WriteTFRecords`.
    schema : Schema, or mapping of str to feature specification, optional
        The features that dictionaries and rows are to be read with: kinds and shapes are checked, and empty lists and
        integers among floats have the kind that it says. Slower.

    Returns
    -------
    PCollection of str
        The paths of the files.

    Raises
    ------
    InvalidArgumentError
        By a worker, for a value that cannot be stored, with its column or feature.
    TypeError
        By a worker, for other elements, or tables and rows in one shard.

    Notes
    -----
    Floats of 64 bits become the nearest of 32. No sidecar is written: whoever reads the files infers the schema, or is
    given it. Retries as for :class:`WriteTFRecords`.

    See Also
    --------
    encode_examples : columns to records, for ``beam.FlatMap(encode_examples) | WriteTFRecords(...)``.

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
        compression: CompressionType = "infer",
    ) -> None:
        names = file_path_prefix, file_name_suffix, num_shards, shard_name_template
        how: Any = {"compression": compression, "schema": schema}
        super().__init__(_Sink(_ShardOfExamples, *names, **how))
