"""scan: files of Examples or SequenceExamples as one lazy table of Arrow.

::

    schema, sidecars, features.json, or a sample ────> Schema ──> Arrow schema
                                                         │
    TFRecordReader ── blocks ── ExampleParser ── restore ┴─> RecordBatch, one per block

A block becomes a batch without an object per value: numbers and byte strings are the buffers of
the parsed columns.

::

    TFRecordTable ──partitions──> TablePartition, ...  ──pickle──>  PartitionReader: record batches, a report
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite import extension as ext
from tfrecord_lite import schema as specs
from tfrecord_lite.block import Block
from tfrecord_lite.dataset.chunks import ObjectChunk
from tfrecord_lite.dataset.cutting import Pair, State
from tfrecord_lite.dataset.plan import Content, Run, Stage
from tfrecord_lite.dataset.tfrecords import dataset_of, files_of
from tfrecord_lite.errors import DamageReport, InvalidArgumentError, argument_error, require_int
from tfrecord_lite.extension import FilePart, PartReader, SchemaLike, Sidecar, Source, Sources
from tfrecord_lite.options import ReadOptions, ReadSettings, hinted, read_settings
from tfrecord_lite.progress import Progress, check_progress, reported, title_of
from tfrecord_lite.reader import reader_with
from tfrecord_lite.schema import Schema, SchemaItem, SequenceSchema
from tfrecord_lite.texts import abridged, choices, nearest, plural, repr_html

__all__ = ["PartitionReader", "ScanOptions", "TFRecordTable", "TablePartition", "scan"]


class ScanOptions(ReadOptions, total=False):
    """The options of ``scan`` that its callers pass on."""

    text: bool | Sequence[str]
    sample: int | None
    batch_size: int | None
    num_workers: int


def scan(
    paths: Sources,
    columns: Sequence[str] | None = None,
    *,
    schema: SchemaLike | None = None,
    text: bool | Sequence[str] = False,
    sample: int | None = ext.SAMPLE,
    batch_size: int | None = None,
    num_workers: int = 0,
    **options: Unpack[ReadOptions],
) -> TFRecordTable:
    """Open files of Examples or SequenceExamples as a lazy table.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        One file or many, patterns included, as for :class:`TFRecordReader`.
    columns : sequence of str, optional
        The names of the columns, as for :meth:`TFRecordTable.select`.
    schema : Schema, SequenceSchema, dict of specifications, or path, optional
        How to parse the records, or a schema file as for :func:`load_schema`. By default the
        ``.schema.json`` beside each file, or the files of TensorFlow Datasets in the same folder;
        without any, the schema is inferred from a sample. Without any record either, there are no
        columns, and a warning says so.
    text : bool or sequence of str, default False
        The columns of byte strings that are text, besides those of the schema: names; or True for all
        whose strings in the sample are printable UTF-8.
    sample : int or None, default 10,000
        Records at the start from which the schema is inferred, 64 MiB of them at most; None for
        all records. A later record with values of another feature is an error, unless columns
        are selected; one that lacks a feature has a null.
    batch_size : int, optional
        Records per RecordBatch; by default about 4 MB, and 8,192 records at most.
    num_workers : int, default 0
        Parse in this many processes, each its part of the files, or of the records of a single one. Their batches
        alternate, so the rows are in another order; ``head`` and ``count_rows`` use none.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    TFRecordTable

    Raises
    ------
    ImportError
        If pyarrow is not installed (the extra ``arrow``).
    FileNotFoundError
        If there is no such file.
    InvalidArgumentError
        As :func:`load` about schemas; ``BAD_ARGUMENT`` for an unknown name in `columns` or `text`;
        ``UNSUPPORTED`` for a feature that Arrow has no type for.
    DataLossError
        For damage in the sample.

    Notes
    -----
    A column of numbers or strings is null where a record lacks the feature; a list is empty. Lists of any
    length are ``list``, fixed shapes ``fixed_size_list``; byte strings are ``large_binary``, texts
    ``large_string``; other dtypes are the original ones. A VarLenFeature is a list of its values; a SparseFeature
    has a column for each of its keys. Columns of SequenceExamples are named by part, such as ``context/label``;
    those of feature lists have an item per step.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> scan("people.tfrecord")  # pyarrow, pandas, Polars and DuckDB take it as it is
    <TFRecordTable of 1 file>
    name: large_string
    age: int64
    """
    ext.imported()
    errors.optional_int("batch_size", batch_size, 1)
    require_int("num_workers", num_workers, 0)
    errors.optional_int("sample", sample, 1)
    columns = None if columns is None else ext.names_of(columns)
    settings = read_settings(options)
    sources = ext.expand(paths, settings.storage_options)
    if any(map(ext.is_file_object, sources)):
        raise TypeError("paths must be paths: files are opened again for each reading of the table")
    looked = cache(lambda: ext.first_blocks(sources, settings, sample))
    described, hint = ext.described_by(schema, sources, settings), None
    if described is not None:
        described = ext.with_text(_as_lists(described), described.texts, list)
    else:
        policy = ext.WHOLE if sample is None else ext.FOR_TABLES
        blocks = iter(ext.blocks_ahead(sources, settings) if sample is None else looked())
        names, hint = ext.names_asked_for(columns, text), policy.hint
        first = next(blocks, None)
        if first is None:
            described = Sidecar(Schema({}))
            files = ext.name_of(sources[0]) if len(sources) == 1 else plural(len(sources), "file")
            if columns:
                raise argument_error(NO_RECORDS, source=files)
            errors.warn_user(f"{files}: {NO_RECORDS}")
        else:
            described = Sidecar(ext.inferred(chain([first], blocks), policy, sources, names))
    if text is not False:
        described = ext.with_text(described, text, looked, columns)
    batches = RecordBatches(described, columns, hint)
    reading = _Reading(sources, settings.dropping(batches.of), batch_size, num_workers)
    return TFRecordTable(batches, reading)


def hint_of(table: TFRecordTable) -> str:
    """Return what ends an error about an unknown column: that they come from a sample, if they do."""
    hint = table._batches.hint  # noqa: SLF001 - the same module
    return f"; {hint}" if hint and table.column_names else ""


NO_RECORDS = "no records, so the columns are not known; give schema, which says what they are"
_LOOK_BYTES = 256 * 1024
"""What is fetched of a store ahead of a look at the first records."""


@dataclass(frozen=True)
class _Reading:
    sources: list[Source]
    options: ReadSettings
    batch_size: int | None
    num_workers: int

    def blocks(self, size: int | None, *, progress: Progress = False) -> Any:
        """Return the records of all files."""
        reader = reader_with(self.sources, self.options)
        return reported(reader.blocks(size), progress, title_of(self.sources))

    @cached_property
    def usual_size(self) -> int:
        """Number of records in a batch of the usual size, by the records of the first read."""
        most = self.options.read_ahead
        look = replace(self.options, read_ahead=_LOOK_BYTES if most is None else most)
        with closing(ext.blocks_ahead(self.sources, look)) as blocks:
            first = next(blocks, Block.from_records([b""]))
        return fitting_size(first, LEAST)


@hinted
class TFRecordTable:
    """Files of Examples or SequenceExamples as a table, read when it is asked for.

    Made by :func:`scan`; each reading opens the files anew. Whatever takes Arrow's C stream takes it as it is: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``pandas.DataFrame.from_arrow(t)``, ``duckdb.sql("from t")``.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> import pyarrow as pa
    >>> pa.table(scan("people.tfrecord"))["age"].to_pylist()
    [36, 41, 37]
    """

    def __init__(self, batches: RecordBatches, reading: _Reading) -> None:
        self._batches = batches
        self._reading = reading

    @property
    def schema(self) -> Schema | SequenceSchema:
        """The schema with which the records are parsed."""
        return self._batches.features

    @property
    def arrow_schema(self) -> Any:
        """The ``pyarrow.Schema``; its metadata have :attr:`schema` as JSON, under ``tfrecord_lite``."""
        return self._batches.schema

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._batches.schema.names)

    @property
    def sources(self) -> list[Source]:
        """The files, in the order in which they are read."""
        return list(self._reading.sources)

    def select(self, names: Sequence[str]) -> TFRecordTable:
        """Return a table of some columns, in this order; the others are not parsed.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a name that is not a column, or that occurs twice.
        TypeError
            If `names` is a single str.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> scan("people.tfrecord").select(["age"]).to_arrow().to_pydict()
        {'age': [36, 41, 37]}
        """
        return TFRecordTable(self._batches.select(names), self._reading)

    def to_batches(self, size: int | None = None) -> Iterator[Any]:
        """Yield the records as ``pyarrow.RecordBatch`` objects, which own their memory.

        Parameters
        ----------
        size : int, optional
            Records per batch, from workers at most; by default the table's `batch_size`.

        Raises
        ------
        DataLossError
            As :class:`TFRecordReader`, after the records before the damage.
        InvalidArgumentError
            For a record that does not fit the schema, with its file, number and key.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> for batch in scan("people.tfrecord").to_batches(2):
        ...     print(batch.to_pydict())
        {'name': ['Ada', 'Alan'], 'age': [36, 41]}
        {'name': ['Grace'], 'age': [37]}
        """
        size = self._reading.batch_size if size is None else require_int("size", size, 1)
        return self._batches_of(size)

    def _batches_of(self, size: int | None, *, progress: Progress = False) -> Iterator[Any]:
        check_progress(progress)
        if not self._reading.num_workers:
            return self._in_turn(size, progress=progress)
        paths: Any = self._reading.sources
        files = files_of(paths, self._reading.options)
        most = size or self._reading.usual_size
        stage = _ToBatches(input=files, batches=self._batches, most=most)
        batches: Any = iter(dataset_of(stage).in_processes(self._reading.num_workers))
        return reported(batches, progress, title_of(paths))

    def _in_turn(self, size: int | None, *, progress: Progress = False) -> Iterator[Any]:
        size = size or self._reading.usual_size
        with closing(self._reading.blocks(size, progress=progress)) as blocks:
            for block in blocks:
                yield self._batches.of(block)

    def partitions(
        self, max_bytes: int | None = ext.PART_BYTES, num_partitions: int | None = None
    ) -> list[TablePartition]:
        """Divide the table into parts that other processes, or other machines, read.

        Parameters
        ----------
        max_bytes : int or None, default 128 MiB
            Divide uncompressed files that are larger into parts of about this size, if they have an index or are
            local: their lengths are followed from the start (some 0.4 s for a million records). None leaves every
            file whole.
        num_partitions : int, optional
            Divide further, until there are about as many parts.

        Returns
        -------
        list of TablePartition
            In the order of the rows; each row is in exactly one. `num_workers` has no effect on them.

        Raises
        ------
        FileNotFoundError, PermissionError
            If a file no longer exists.
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a number below 1.

        Examples
        --------
        >>> _ = save("numbers.tfrecord", {"digit": np.arange(1000) % 10})
        >>> parts = scan("numbers.tfrecord").partitions(num_partitions=4)
        >>> [part.num_rows for part in parts]
        [250, 250, 250, 250]
        >>> sum(len(batch) for part in parts for batch in part.read())
        1000
        """
        options, paths = self._reading.options, self._reading.sources
        parts = ext.file_parts(paths, options, max_bytes=max_bytes, num_parts=num_partitions)
        size = self._reading.batch_size
        return [TablePartition(part, self._batches, options, size) for part in parts]

    @property
    def options(self) -> ReadSettings:
        """How files are read: if records are dropped, those that do not fit all columns that were scanned."""
        return self._reading.options

    def to_batch(self, block: Block) -> Any:
        """Return records that were read already as a ``pyarrow.RecordBatch``.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = scan("people.tfrecord")
        >>> with TFRecordFile("people.tfrecord") as file:
        ...     people.to_batch(file.block([2, 0])).to_pydict()
        {'name': ['Grace', 'Ada'], 'age': [37, 36]}
        """
        return self._batches.of(block)

    def head(self, n: int = 5) -> Any:
        """Return the first `n` rows as a ``pyarrow.Table``; the rest is not read.

        Its own ``to_pandas`` makes floats of integers with nulls, unlike this method.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> scan("people.tfrecord").head(2).to_pydict()
        {'name': ['Ada', 'Alan'], 'age': [36, 41]}
        """
        n = require_int("n", n, 0)
        batches = ext.first_of(self._in_turn(min(n, self._reading.batch_size or n)), n)
        return ext.imported().Table.from_batches(batches, self.arrow_schema)

    def to_arrow(self, *, progress: Progress = None) -> Any:
        """Return all rows as a ``pyarrow.Table``, a chunk per batch; `progress` as for :func:`load`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = scan("people.tfrecord").to_arrow()
        >>> people.filter(people["age"].to_numpy() > 36)["name"].to_pylist()
        ['Alan', 'Grace']
        """
        batches = self._batches_of(self._reading.batch_size, progress=progress)
        return ext.imported().Table.from_batches(batches, self.arrow_schema)

    def to_pandas(self, *, progress: Progress = None) -> Any:
        """Return all rows as a pandas DataFrame; `progress` as for :func:`load`.

        One that was saved comes back as it was, index included. In other data, integers and bools with
        nulls have nullable dtypes, so that no value changes.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> scan("people.tfrecord").to_pandas()
            name  age
        0    Ada   36
        1   Alan   41
        2  Grace   37
        """
        if (frame := self._as_saved("pandas", progress)) is not None:
            return frame
        return ext.adapter("pandas").frame_of(self.to_arrow(progress=progress), {}, {})

    def to_polars(self, *, lazy: bool = False, progress: Progress = None) -> Any:
        """Return all rows as a Polars DataFrame; one that was saved comes back as it was.

        `progress` as for :func:`load`. With `lazy`, a LazyFrame, for which nothing is read yet: a query parses
        the columns that it uses, stops reading at its row limit, and applies its filters batch by batch.

        Examples
        --------
        >>> import polars as pl
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> people = scan("people.tfrecord")
        >>> people.to_polars().rows()
        [('Ada', 36), ('Alan', 41), ('Grace', 37)]
        >>> people.to_polars(lazy=True).filter(pl.col("age") > 36).select("name").collect().to_dicts()
        [{'name': 'Alan'}, {'name': 'Grace'}]
        """
        if lazy:
            return ext.adapter("polars").lazy_frame(self)
        if (frame := self._as_saved("polars", progress)) is not None:
            return frame
        return ext.library("polars").from_arrow(self.to_arrow(progress=progress))

    def count_rows(self) -> int:
        """Count the records, all checksums verified, without parsing them.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> scan("people.tfrecord").count_rows()
        3
        """
        with closing(self._reading.blocks(None)) as blocks:
            return sum(map(len, blocks))

    def __arrow_c_schema__(self) -> object:
        """Return a PyCapsule with an Arrow schema."""
        return self.arrow_schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a PyCapsule with a stream of record batches, which opens the files."""
        stream = ext.imported().RecordBatchReader.from_batches(self.arrow_schema, self.to_batches())
        return stream.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Name the columns and their types."""
        fields = "\n".join(f"{field.name}: {field.type}" for field in self.arrow_schema)
        n_files = plural(len(self._reading.sources), "file")
        return abridged(f"<TFRecordTable of {n_files}>\n{fields}")

    _repr_html_ = repr_html

    def _as_saved(self, name: ext.Library, progress: Progress) -> Any:
        """Return all rows as a frame, if one of the library was saved."""
        check_progress(progress)
        if (self._batches.described.dataframe or {}).get("library") != name:
            return None
        loader = ext.Loader(self._batches.described, self.column_names, name)
        return loader.whole(self._reading.blocks(None, progress=progress))


# ------------------------------------------------------------------------------- batches

_BATCH_BYTES = 4 * 1024 * 1024
PANDAS_KEY = b"pandas"
"""Where Arrow's schemas, and so Parquet, have what pandas says of a frame."""
ROUNDED_KEY = b"tfrecord_lite.rounded"
"""Where they have the names of float64 columns that were rounded to float32, for fewer digits in texts."""
LEAST, _MOST = 64, 8192
"""Bytes of records in a batch, about, and bounds of their number."""


def fitting_size(block: Block, least: int) -> int:
    """Return the number of records in a batch of the usual size, if they are like the records of a block."""
    return min(max(_BATCH_BYTES * len(block) // max(block.nbytes, 1), least), _MOST)


class RecordBatches:
    """Makes record batches of one schema from blocks of records."""

    def __init__(
        self, described: Sidecar, names: Sequence[str] | None = None, hint: str | None = None
    ) -> None:
        described.check_readable(names)
        if names is not None:
            names = _checked(names, ext.items_of(described.schema), hint)
            described = _selected(described, names)
        self.described = described
        schema = described.schema
        # What nobody chose to leave out is not left out.
        rejects_others = hint is not None and names is None
        self._loader = ext.Loader(described, names, rejects_others=rejects_others)
        frame = described.dataframe or {}
        types = frame.get("columns", {}) if frame.get("library") == "arrow" else {}
        self._names = names
        self.hint = hint
        columns = self._lists(Block.from_records([]))
        kinds = {name: ext.target(name, types.get(name)) for name in columns}
        pa = ext.imported()
        fields = [
            pa.field(name, array.type)
            for name, array in zip(columns, self._arrays(columns, kinds), strict=True)
        ]
        # The schema of the features is in the metadata.
        metadata = {ext.SCHEMA_KEY: schema.to_json(None).encode()}
        rounded = [name for name, item in ext.items_of(schema).items() if item.is_narrowed]
        if rounded:
            metadata[ROUNDED_KEY] = json.dumps(rounded).encode()
        self.schema: Any = pa.schema(fields, metadata)
        self._types = dict(zip(self.schema.names, self.schema.types, strict=True))

    @property
    def features(self) -> Schema | SequenceSchema:
        """The schema with which the records are parsed."""
        schema = self.described.schema
        return schema if isinstance(schema, SequenceSchema) else schema.select(self.schema.names)

    def select(self, names: Sequence[str]) -> RecordBatches:
        """Return the same of some columns; the others are not parsed."""
        chosen = _checked(names, self.schema.names, self.hint)
        return RecordBatches(self.described, chosen, self.hint)

    def of(self, block: Block) -> Any:
        """Return the batch of a block."""
        record_batch = ext.imported().RecordBatch
        is_chosen = self._names is not None or self.hint is None
        if not len(self.schema) and is_chosen:  # of rows without columns only the number is known
            counted = ext.imported().array(np.zeros(len(block), np.bool_))
            return record_batch.from_arrays([counted], ["rows"]).select([])
        try:
            columns = self._lists(block)
            try:
                arrays = self._arrays(columns, self._types)
            except InvalidArgumentError as error:
                raise (
                    error if error.index is None else block.place(error.index).locate(error)
                ) from None
        except InvalidArgumentError as error:
            if self.hint is None or error.key is None:
                raise
            raise error.at(detail=f"{error.detail or error.reason}; {self.hint}") from None
        return record_batch.from_arrays(arrays, schema=self.schema)

    def _lists(self, block: Block) -> dict[str, ext.Lists | ext.SparseLists]:
        lists = self._loader.lists_of(block)
        return lists if self._names is None else {name: lists[name] for name in self._names}

    def _arrays(
        self, columns: Mapping[str, ext.Lists | ext.SparseLists], types: Mapping[str, Any]
    ) -> list[Any]:
        return [ext.array_of(name, lists, types.get(name)) for name, lists in columns.items()]


def rounded_in(schema: Any) -> set[str]:
    """Return the float64 columns of an Arrow schema that were rounded to float32."""
    return set(json.loads((schema.metadata or {}).get(ROUNDED_KEY, b"[]")))


def as_rounded(array: Any) -> Any:
    """Return float64 as the float32 that they all are, at any depth of lists; others as they are."""
    pa = ext.imported()
    flat = array
    while hasattr(flat, "flatten") and ext.form_of(flat.type) in ("list", "fixed list"):
        flat = flat.flatten()
    if flat.type != pa.float64():
        return array
    values = flat.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        if not np.array_equal(values, values.astype(np.float32), equal_nan=True):
            return array
    return array.cast(ext.changed_type(array.type, lambda _: pa.float32()))


def with_pandas(schema: Any, described: Sidecar) -> Any:
    """Return an Arrow schema with the metadata by which pandas restores index and dtypes, if they are known."""
    frame = described.dataframe or {}
    metadata = json.dumps(frame["pandas"]).encode() if "pandas" in frame else None
    if frame.get("library") == "pandas":
        # Of some columns, without the index.
        if not set(ext.index_names(frame)) <= set(schema.names):
            frame = {key: word for key, word in frame.items() if key != "index"}
        with suppress(ImportError):
            tables = [schema.empty_table()]
            empty = ext.joined_frame("pandas", tables, described.schema.originals, frame)
            metadata = ext.imported().Schema.from_pandas(empty).metadata[PANDAS_KEY]
    if metadata is None:
        return schema
    return schema.with_metadata({**(schema.metadata or {}), PANDAS_KEY: metadata})


def check_columns(chosen: Iterable[str], names: Iterable[str], source: str | None = None) -> None:
    """Raise for a column that there is not."""
    names = list(names)
    for name in chosen:
        if name not in names:
            detail = f"there is no column {name!r}{choices(name, names)}"
            raise argument_error(detail, source=source)


def _checked(names: Sequence[str], known: Collection[str], hint: str | None) -> list[str]:
    names = ext.names_of(names)
    for i, name in enumerate(names):
        if name not in known:
            sampled = f"; {hint}" if hint and not nearest(name, known) else ""
            raise argument_error(f"no column {name!r}{choices(name, known)}{sampled}")
        if name in names[:i]:
            raise argument_error(f"the column {name!r} is there twice")
    return names


def _selected(described: Sidecar, names: list[str]) -> Sidecar:
    """Return what describes some columns; a frame of pandas keeps its index."""
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        items = ext.items_of(schema)
        chosen = ext.schema_like(schema, {name: items[name] for name in items if name in names})
        return described._replace(schema=chosen)
    if (described.dataframe or {}).get("library") == "pandas":
        return described  # its loader selects
    return Sidecar(schema.select(names), dataframe=described.dataframe)


# ----------------------------------------------------------------------------- processes


class _ToBatches(Stage):
    gives: ClassVar[Content | None] = "objects"
    batches: RecordBatches
    most: int | None = None

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield one per chunk of records."""
        with self.feed(run, state) as feed:
            while (chunk := feed.take(self.most)) is not None:
                records: Any = chunk
                yield ObjectChunk([self.batches.of(records)]), {"feed": feed.state()}


# -------------------------------------------------------------------------------- schema


def _as_lists(described: Sidecar) -> Sidecar:
    """Return a schema whose features are columns that do not depend on the batch."""
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        lists = {
            name: item._replace(spec=specs.RaggedFeature(item.spec.dtype, item.spec.value_key))
            if isinstance(item.spec, specs.VarLenFeature)
            else item
            for name, item in schema.feature_lists.to_items().items()
        }
        context = _as_lists(Sidecar(schema.context)).schema
        return described._replace(schema=SequenceSchema(context, Schema.of_items(lists)))
    items: dict[str, SchemaItem] = {}
    for name, item in schema.to_items().items():
        spec, original = item.spec, item.original
        if isinstance(spec, specs.SparseFeature):  # the lists of coordinates, and of values
            keys = [spec.index_key] if isinstance(spec.index_key, str) else list(spec.index_key)
            indices = specs.RaggedFeature(np.int64)
            items |= dict.fromkeys(keys, item._replace(spec=indices, original=None))
            name = spec.value_key  # noqa: PLW2901 - under which the values are
            if original is not None:  # a raw value is a string of its own, so a list of one
                original = replace(original, shape=(None, None) if item.is_raw else (None,))
        elif isinstance(spec, specs.FixedLenSequenceFeature):
            original = original or specs.Original(spec.dtype, (None, *spec.shape))
        elif not isinstance(spec, specs.VarLenFeature):
            items[name] = item
            continue
        key = spec.value_key if isinstance(spec, specs.VarLenFeature) else None
        items[name] = item._replace(spec=specs.RaggedFeature(spec.dtype, key), original=original)
    return described._replace(schema=Schema.of_items(items))


def with_varying_lists(table: TFRecordTable) -> TFRecordTable:
    """Return an inferred table whose lists may have any length, not only the length in the sample."""
    if isinstance(table.schema, SequenceSchema):
        return table
    items = table.schema.to_items()
    for name, item in items.items():
        original = item.original or specs.Original(item.kind.dtype, getattr(item.spec, "shape", ()))
        if original.shape and None not in original.shape:
            varying = replace(original, shape=(None,), missing=False)
            items[name] = SchemaItem(specs.RaggedFeature(item.kind.dtype), varying)
    batches = RecordBatches(Sidecar(Schema.of_items(items)), hint=table._batches.hint)  # noqa: SLF001 - the same class
    return TFRecordTable(batches, table._reading)  # noqa: SLF001 - of this module


# ---------------------------------------------------------------------------- partitions


@dataclass(frozen=True, eq=False, repr=False)
class TablePartition:
    """Rows of a table that follow each other in one file; made by :meth:`TFRecordTable.partitions`.

    It can be pickled, and is read wherever the file can be.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> parts = scan("people.tfrecord").partitions(num_partitions=2)
    >>> [batch.to_pydict() for batch in parts[1].read()]
    [{'name': ['Grace'], 'age': [37]}]
    """

    part: FilePart
    """Where in the file the records are."""
    _batches: RecordBatches
    _options: ReadSettings
    _size: int | None

    @property
    def source(self) -> str:
        """The path or URL of the file."""
        return self.part.source

    @property
    def nbytes(self) -> int:
        """Bytes of the file that are read; 0 if that is not known."""
        return self.part.nbytes

    @property
    def num_rows(self) -> int | None:
        """The number of rows if it is known and exact: if nothing is left out; else None."""
        return None if self._options.leaves_out else self.part.n_records

    @property
    def schema(self) -> Schema | SequenceSchema:
        """The schema with which the records are parsed."""
        return self._batches.features

    @property
    def arrow_schema(self) -> Any:
        """The ``pyarrow.Schema`` of all batches."""
        return self._batches.schema

    def select(self, names: Sequence[str]) -> TablePartition:
        """Return the partition with some columns, as :meth:`TFRecordTable.select`.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> next(part.select(["age"]).read()).to_pydict()
        {'age': [36, 41, 37]}
        """
        return replace(self, _batches=self._batches.select(names))

    def read(self, size: int | None = None) -> PartitionReader:
        """Read the rows as ``pyarrow.RecordBatch`` objects.

        Parameters
        ----------
        size : int, optional
            Rows per batch; by default the table's `batch_size`, or about 4 MB of records.

        Returns
        -------
        PartitionReader
            An iterator, which opens the file when it is first asked for a batch, and raises as
            :meth:`TFRecordTable.to_batches`; ``FailedPreconditionError`` (``STALE_INDEX``) if the file
            has changed since the table was divided.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> [len(batch) for batch in part.read(2)]
        [2, 1]
        """
        size = self._size if size is None else require_int("size", size, 1)
        return PartitionReader(PartReader(self.part, self._options), self._batches, size)

    def __repr__(self) -> str:
        """Name the file and the part of it."""
        place = f", bytes {self.part.start} to {self.part.stop or 'the end'}"
        return f"<TablePartition of {self.source}{'' if self.part.is_whole else place}>"


def fitting_blocks(records: PartReader, size: int | None) -> Iterator[Block]:
    """Yield the records of a part in blocks of `size`, or of about 4 MB, and close the file."""
    with closing(records):
        n_records = size
        while (block := records.next_block(n_records)) is not None:
            # The first read shows how many records fit.
            most = size or fitting_size(block, LEAST)
            step = n_records or most
            for first in range(0, len(block), step):
                yield block[first : first + step]
            n_records = most


class PartitionReader:
    """Iterator of the record batches of a partition.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
    >>> next(part.read(2)).to_pydict()
    {'name': ['Ada', 'Alan'], 'age': [36, 41]}
    """

    def __init__(self, records: PartReader, batches: RecordBatches, size: int | None) -> None:
        self._records = records
        self._iterator = self._of_blocks(batches, size)

    def _of_blocks(self, batches: RecordBatches, size: int | None) -> Iterator[Any]:
        for block in fitting_blocks(self._records, size):
            yield batches.of(block)

    @property
    def report(self) -> DamageReport | None:
        """What was read and skipped so far; None if damage is raised."""
        return self._records.report

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next record batch, which owns its memory."""
        return next(self._iterator)

    def close(self) -> None:
        """Close the file; nothing follows.

        Examples
        --------
        >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
        >>> (part,) = scan("people.tfrecord").partitions(num_partitions=1)
        >>> part.read(2).close()
        """
        self._iterator.close()  # type: ignore[attr-defined]
