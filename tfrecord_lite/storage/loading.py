"""load: TFRecord files as the columns they were saved from.

::

    schema, sidecars, or infer_schema ──> Schema, structure
                                                   │
    TFRecordReader ── blocks ── ExampleParser ── restore ── join ── rebuild ──> data

SequenceExamples go the same way, with a SequenceSchema and a SequenceExampleParser. Their columns
are named by part: ``context/label``, ``feature_lists/frames``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import as_array
from tfrecord_lite.columns.join import join
from tfrecord_lite.convert.arrow import (
    check_library,
    index_names,
    joined_frame,
    merged_description,
    table_for,
    without_labels,
)
from tfrecord_lite.convert.lossless import restored
from tfrecord_lite.errors import (
    InvalidArgumentError,
    Reason,
    TFRecordError,
    argument_error,
)
from tfrecord_lite.example.parse import ExampleParser, parser_of_all
from tfrecord_lite.example.sequence.parse import SequenceExampleParser
from tfrecord_lite.example.survey import reject_sequences
from tfrecord_lite.files.names import expand, name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import check_progress, reported, title_of
from tfrecord_lite.reader import reader_with
from tfrecord_lite.schema import Schema, SchemaItem, SequenceSchema
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.infer import infer_schema
from tfrecord_lite.storage.sidecar import Sidecar
from tfrecord_lite.storage.structure import is_flat_dict, rebuild
from tfrecord_lite.storage.structure import merged as merged_structures
from tfrecord_lite.storage.widening import (
    IncompatibleError,
    as_absent,
    as_ragged,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Unpack

    from tfrecord_lite.convert.arrow import Library
    from tfrecord_lite.files.names import Source, Sources
    from tfrecord_lite.options import ReadOptions
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.reader import TFRecordReader
    from tfrecord_lite.storage.sidecar import SchemaLike
    from tfrecord_lite.storage.structure import Structure

_SHOWN_NAMES = 8
"""Most names in the error about an unknown one that is like none of them."""


def load(
    paths: Sources,
    columns: Sequence[str] | None = None,
    *,
    schema: SchemaLike | None = None,
    as_: Library | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Any:
    """Load what :func:`save` saved, or any file of Examples or SequenceExamples.

    Parameters
    ----------
    paths : str, PathLike, file object, or a list of them
        One file or many, patterns included, as for :class:`TFRecordReader`.
    columns : sequence of str, optional
        The names of the features to load; the others are not parsed. Of nested data these
        are paths, such as ``"box/x"``, and so they are of SequenceExamples, such as
        ``"context/label"``; the result is a flat dict with these names as keys.
    schema : Schema, SequenceSchema, dict of specifications, or path, optional
        How to parse the records, or a schema file as for :func:`load_schema`. By default the
        ``.schema.json`` beside each file; without one the schema is inferred, which reads the
        files twice.
    as_ : {"pandas", "polars", "arrow"}, optional
        Return a DataFrame of pandas or Polars, or a Table of pyarrow, with one column per
        feature, instead of a dict. A frame that was saved from the same library comes back as
        it was; any other data become the types that are closest.
    progress : bool or callable, optional
        As for :func:`save`; the total is not known before the end. Inferring a schema has a bar
        of its own, and calls nothing.
    **options
        How files are read, see :class:`ReadOptions`. A record that does not fit the schema is
        not damage.

    Returns
    -------
    dict of str to column
        In the structure that was saved, with the original dtypes and shapes: ndarray;
        masked array where records lack the value; RaggedTensor where lengths vary. Byte
        strings are object arrays. Without a sidecar or schema, a dict of float32, int64 and
        byte strings. Of SequenceExamples, ``{"context": {...}, "feature_lists": {...}}``: lists
        are RaggedTensors of steps, or SparseTensors for a VarLenFeature. With `as_` a data frame.

    Raises
    ------
    FileNotFoundError
        If there is no such data file, or no such schema file.
    DataLossError
        If a file is damaged.
    InvalidArgumentError
        For a record that does not fit the schema: ``MISSING``, ``WRONG_KIND``, ``WRONG_COUNT``,
        ``MALFORMED``, with its file, number and key; ``BAD_ARGUMENT`` for files with incompatible
        sidecars, for a sidecar beside other data than it was written for, unless it is given as
        `schema`, and for an unknown name in `columns`; ``UNSUPPORTED`` for SequenceExamples with a
        Schema, and a column that the library of `as_` has no type for. For schema files, as
        :func:`load_schema`.
    ImportError
        If the library of `as_` is not installed.

    Notes
    -----
    Needs memory for the columns, for one of them twice while it is joined, and for a megabyte
    of records. For batches see :func:`read_batches` and :meth:`TFRecordReader.batches`.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = load("people.tfrecord")
    >>> people["name"], people["age"].mean()
    (array(['Ada', 'Alan', 'Grace'], dtype=object), np.float64(38.0))
    """
    if as_ is not None:
        check_library(as_)
    check_progress(progress)
    settings = ReadSettings(**options)
    sources = expand(paths, settings.storage_options)
    reader = reader_with(sources, settings)
    ahead = False if callable(progress) else progress
    described = described_by(schema, sources, settings) or Sidecar(
        infer_schema(reader_ahead(sources, settings), progress=ahead)
    )
    blocks = reported(reader.blocks(), progress, title_of(sources))
    return loader_of(described, columns, as_).whole(blocks)


def described_by(
    schema: SchemaLike | None, sources: list[Source], options: ReadSettings
) -> Sidecar | None:
    """Return the schema that is given, or those beside the files as one; None without any."""
    if schema is None:
        return _sidecar_of(sources, options)
    return sidecar.resolve_schema(schema, options.storage_options)


def reader_ahead(sources: list[Source], options: ReadSettings) -> TFRecordReader:
    """Return a reader for a first look; damage is reported when the data are read, not before."""
    return (
        reader_with(sources, options)
        if options.on_error == "raise"
        else _silent_reader(sources, options)
    )


def loader_of(
    described: Sidecar,
    columns: Sequence[str] | None,
    as_: Library | None,
    *,
    with_objects: bool = True,
    rejects_others: bool = False,
) -> Loader:
    """Return the loader of all features, or of some in the order asked for.

    Without objects, byte strings are BytesColumns, or MaskedBytes. It may reject Examples with
    values of features that are not in the schema.
    """
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        if as_ is not None:
            detail = "SequenceExamples have no data frame; load them with as_=None"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        return _SequenceLoader(schema, columns, with_objects=with_objects)
    if columns is not None:
        # The index of a frame comes along.
        index = [] if as_ is None else index_names(described.dataframe)
        names = dict.fromkeys([*_known(columns, schema), *index])
        described = Sidecar(schema.select(names), dataframe=described.dataframe)
    if as_ is None:
        return Loader(described, with_objects=with_objects, rejects_others=rejects_others)
    return _FrameLoader(described, as_)


def _known(columns: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the columns asked for; raise if one is not among the names."""
    columns = names_of(columns)
    if not all(name in names for name in columns):
        raise _unknown_error(columns, names)
    return columns


def names_of(columns: Sequence[str]) -> list[str]:
    """Return a choice of columns as a list; raise for a single name, and for a description of features."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, not the str {columns!r}")
    if isinstance(columns, (Mapping, SequenceSchema)):
        found = type(columns).__name__
        raise TypeError(f"columns must be a list of names, not a {found}; give it as schema=")
    return list(columns)


def _unknown_error(columns: list[str], known: Collection[str]) -> InvalidArgumentError:
    """Return the error about the first name that is not a feature, with those that are."""
    name = next(name for name in columns if name not in known)
    names = list(known)
    shown = ", ".join(map(repr, names[:_SHOWN_NAMES])) + ", ..." * (len(names) > _SHOWN_NAMES)
    nested = next((each for each in names if "/" in each), None)
    paths = "" if nested is None else f"; nested names are paths, such as {nested!r}"
    choices = nearest(name, names) or f"; there are {shown}"
    return argument_error(f"no feature {name!r}{choices}{paths}")


def _silent_reader(sources: Sources, options: ReadSettings) -> TFRecordReader:
    """Return a reader for a first look at the data, which skips damage and does not report it."""
    silent = replace(options, on_error=lambda span: None, max_errors=None)  # noqa: ARG005
    return reader_with(sources, silent)


# --------------------------------------------------------- one schema from many sidecars


def _sidecar_of(sources: list[Source], options: ReadSettings) -> Sidecar | None:
    """Merge the sidecars of all files; None if there are none."""
    may_skip = options.on_error != "raise"
    found = [
        (s, sidecar.read_beside(s, options.storage_options, may_be_damaged=may_skip))
        for s in sources
    ]
    if not any(one for _, one in found):
        return None
    alike = [None if one is None else _without_labels(one) for _, one in found]
    if any(one != alike[0] for one in alike):
        # A file without records goes with any others.
        found = [pair for pair in found if not _is_empty(pair[0], options)] or found
    merged: Sidecar | None = None
    for source, one in found:
        if one is None:
            detail = "this file has no sidecar, but others have; give schema"
            raise argument_error(detail, source=name_of(source))
        if merged is None:
            merged = one
        elif _without_labels(merged) == _without_labels(one):
            described = merged_description(merged.dataframe, one.dataframe)
            merged = merged._replace(dataframe=described)
        else:
            merged = _merged(merged, one, source)
    return merged


def _without_labels(one: Sidecar) -> Sidecar:
    """Return what the sidecars of a frame's shards have in common."""
    return one._replace(dataframe=without_labels(one.dataframe))


def _is_empty(source: Source, options: ReadSettings) -> bool:
    """Return whether a file has no records."""
    blocks: Any = _silent_reader(source, options).blocks(1)
    with closing(blocks):
        return next(blocks, None) is None


def _merged(merged: Sidecar, one: Sidecar, source: Source) -> Sidecar:
    """Merge the sidecar of one more file into that of the files before."""
    if isinstance(merged.schema, SequenceSchema) or isinstance(one.schema, SequenceSchema):
        detail = "this file's schema differs from that of the files before; give schema"
        raise argument_error(detail, source=name_of(source))
    ours, theirs = merged.schema.to_items(), one.schema.to_items()
    if ours and theirs and not ours.keys() & theirs.keys():
        detail = "this file has none of the features of those before it"
        raise argument_error(detail, source=name_of(source))
    structure = merged_structures(*(_structure_of(each) for each in (merged, one)))
    if structure is None:
        detail = "this file's data are nested differently than those before it"
        raise argument_error(detail, source=name_of(source))
    items = {}
    for name in {**ours, **theirs}:
        try:
            if name in ours and name in theirs:
                items[name] = _widened(name, ours[name], theirs[name])
            else:
                items[name] = as_absent(name, ours.get(name) or theirs[name])
        except IncompatibleError as error:
            detail = f"{error}; shards that are saved with one schema= always go together"
            raise argument_error(detail, source=name_of(source), key=name) from None
    structure = None if is_flat_dict(structure) else structure
    dataframe = merged_description(merged.dataframe, one.dataframe)
    return Sidecar(Schema.of_items(items), structure, dataframe=dataframe)


def _widened(name: str, ours: SchemaItem, theirs: SchemaItem) -> SchemaItem:
    """Return the item that fits the files before and one more.

    A feature without any value was saved as byte strings, as nothing told its type; if such a file
    does have byte strings, its records will not fit.
    """
    try:
        return widened(name, ours, theirs, missing_as_empty=True)
    except IncompatibleError as error:
        reason = error
    for item, other in (ours, theirs), (theirs, ours):
        lacking = other.original
        if lacking is None or lacking.dtype != "string" or lacking.text is not None:
            continue
        try:
            if lacking.missing:
                return as_absent(name, item)
            if lacking.shape == (None,):
                return as_ragged(name, item, missing_as_empty=True)
        except IncompatibleError as error:
            reason = error
    raise reason


def _structure_of(described: Sidecar) -> Structure:
    """Return the structure of data, also that of a flat dict."""
    names: Structure = {name: name for name in described.schema}
    return names if described.structure is None else described.structure


# ---------------------------------------------------------------------- blocks to columns


class Loader:
    """Turns blocks of Examples into the data that were saved."""

    def __init__(
        self, described: Sidecar, *, with_objects: bool = True, rejects_others: bool = False
    ) -> None:
        schema = described.schema
        self._schema: Schema = schema
        self._with_objects = with_objects
        self._structure = _structure_of(described)
        self._names: Sequence[str] = list(schema)
        self._raw = {name for name, item in schema.to_items().items() if item.is_raw}
        # Raw values must be in one column; one object per string would only slow this down.
        make: Any = parser_of_all if rejects_others else ExampleParser
        self._parse: Any = make(schema, strings="BytesColumn") if schema else None
        self._is_first = True

    def whole(self, blocks: Iterator[Block]) -> Any:
        """Return the records of all blocks."""
        parts: dict[str, list[Any]] = {name: [] for name in self._names}
        n_records = 0
        for columns, n_rows in self._columns(blocks):
            n_records += n_rows
            for name, column in columns.items():
                parts[name].append(column)
        if not any(parts.values()):
            return self._data(self.columns_of(Block.from_records([])), range(n_records))
        # Parts are dropped once joined, so that only one column is in memory twice.
        whole = {name: join(parts.pop(name)) for name in list(parts)}
        return self._data(whole, range(n_records))

    def _data(self, columns: dict[str, Any], rows: range) -> Any:
        """Return columns as the data that were saved; the range is of all rows."""
        return rebuild(self._structure, columns)

    def _columns(self, blocks: Any) -> Iterator[tuple[dict[str, Any], int]]:
        with closing(blocks):
            for block in blocks:
                yield self.columns_of(block), len(block)

    def columns_of(self, block: Block) -> dict[str, Any]:
        """Return the columns of a block."""
        reject_sequences(block, is_first=self._is_first)
        self._is_first = False
        return self._originals(self._parse(block), block) if self._parse else {}

    def _originals(self, found: dict[str, Any], block: Block) -> dict[str, Any]:
        """Give the columns of a block their original types."""
        parsed = {
            name: column if name in self._raw else self._finished(column)
            for name, column in found.items()
        }
        try:
            columns = restored(parsed, self._schema, with_objects=self._with_objects)
        except InvalidArgumentError as error:
            if error.index is None:
                raise
            raise block.place(error.index).locate(error) from None
        except TFRecordError:
            raise
        except (ValueError, OverflowError) as error:
            # From NumPy, about shapes that no array can have.
            raise argument_error(f"no array can have the schema's originals: {error}") from None
        return {name: self._finished(column) for name, column in columns.items()}

    def _finished(self, column: Any) -> Any:
        return _as_objects(column) if self._with_objects else column


class _FrameLoader(Loader):
    """Turns blocks of Examples into data frames."""

    def __init__(self, described: Sidecar, library: Library) -> None:
        super().__init__(described, with_objects=False)
        self._library = library
        self._dataframe = described.dataframe

    def whole(self, blocks: Iterator[Block]) -> Any:
        """Return the records of all blocks; a Table in as many chunks."""
        tables, n_rows = [], 0
        for columns, n_records in self._columns(blocks):
            tables.append(self._table(columns, range(n_records)))
            n_rows += n_records
        if not tables:
            tables = [self._table(self.columns_of(Block.from_records([])), range(0))]
        return self._frame(tables, range(n_rows))

    def _data(self, columns: dict[str, Any], rows: range) -> Any:
        return self._frame([self._table(columns, rows)], rows)

    def _table(self, columns: dict[str, Any], rows: range) -> Any:
        originals = self._schema.originals
        return table_for(self._library, columns, originals, self._dataframe, rows)

    def _frame(self, tables: list[Any], rows: range) -> Any:
        return joined_frame(self._library, tables, self._schema.originals, self._dataframe, rows)


class _SequenceLoader(Loader):
    """Turns blocks of SequenceExamples into data; the columns are named by part."""

    def __init__(
        self, schema: SequenceSchema, columns: Sequence[str] | None, *, with_objects: bool = True
    ) -> None:
        parts = dict(zip(schema._fields, schema, strict=True))
        paths = {f"{part}/{name}": (part, name) for part, specs in parts.items() for name in specs}
        structure: Structure = {
            part: {name: f"{part}/{name}" for name in specs} for part, specs in parts.items()
        }
        if columns is not None:
            names = _known(columns, paths)
            structure = {name: name for name in names}
            chosen = [paths[name] for name in names]
            schema = SequenceSchema(
                *(specs.select(n for p, n in chosen if p == part) for part, specs in parts.items())
            )
        chosen_names = list(paths if columns is None else names)
        super().__init__(Sidecar(schema.context, structure), with_objects=with_objects)
        self._names = chosen_names
        has_some = schema.context or schema.feature_lists
        self._parse = (
            SequenceExampleParser(*schema, strings="BytesColumn", pad=False) if has_some else None
        )

    def columns_of(self, block: Block) -> dict[str, Any]:
        if self._parse is None:
            return {}
        context, lists, _ = self._parse.parse_block(block)
        columns = {f"context/{n}": c for n, c in self._originals(context, block).items()}
        return columns | {f"feature_lists/{n}": self._finished(c) for n, c in lists.items()}


def _as_objects(column: Any) -> Any:
    """Return a column with byte strings as objects."""
    if isinstance(column, RaggedTensor):
        inner = _as_objects(column.values)
        return RaggedTensor(inner, column.row_splits, column.uniform_row_length)
    if isinstance(column, SparseTensor):
        return SparseTensor(column.indices, _as_objects(column.values), column.dense_shape)
    return as_array(column)
