"""load: TFRecord files as the columns they were saved from.

The columns of SequenceExamples are named by part: ``context/label``, ``feature_lists/frames``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Literal, Unpack

from tfrecord_lite.block import Block
from tfrecord_lite.convert.arrow import Library, check_library, joined_frame, table_for
from tfrecord_lite.convert.lists import Joiner, Lists, SparseLists
from tfrecord_lite.described import columns as described_columns
from tfrecord_lite.described import inferred as inference
from tfrecord_lite.described.columns import known_columns, with_text
from tfrecord_lite.described.frames import index_names
from tfrecord_lite.described.inferred import SAMPLE, first_of
from tfrecord_lite.described.sidecar import SchemaLike, Sidecar
from tfrecord_lite.described.sources import described_by
from tfrecord_lite.described.structure import rebuild
from tfrecord_lite.errors import argument_error, optional_int
from tfrecord_lite.example.parse import ExampleParser, parser_of_all
from tfrecord_lite.example.sequence.parse import ListsParser, SequenceExampleParser
from tfrecord_lite.example.survey import check_of_either, reject_sequences
from tfrecord_lite.files.names import Sources, expand, is_saved, name_of
from tfrecord_lite.options import ReadOptions, ReadSettings, read_settings
from tfrecord_lite.progress import Progress, check_progress, reported, title_of
from tfrecord_lite.reader import reader_of
from tfrecord_lite.saved import SavedData, columns_of, elements_of
from tfrecord_lite.schema import Schema, SequenceSchema


def load(
    paths: Sources,
    columns: Sequence[str] | None = None,
    *,
    schema: SchemaLike | None = None,
    num_records: int | None = None,
    text: bool | Sequence[str] = False,
    as_: Library | None = None,
    order: Literal["shards", "tensorflow"] = "shards",
    num_processors: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Any:
    """Load what :func:`save` saved, or any file of Examples or SequenceExamples.

    Parameters
    ----------
    paths : str, PathLike, file object, or a list of them
        One file or many, patterns included, as for :class:`TFRecordReader`.
    columns : sequence of str, optional
        The features to load; the others are not parsed. Of nested data and SequenceExamples these
        are paths, such as ``"box/x"`` and ``"context/label"``; the result is a flat dict of them.
    schema : Schema, SequenceSchema, dict of specifications, or path, optional
        How to parse the records, or a schema file as for :func:`load_schema`. By default the
        ``.schema.json`` beside each file, or the files of TensorFlow Datasets in the same folder;
        without any the schema is inferred, which reads the files twice.
    num_records : int, optional
        Load only this many records from the start.
    text : bool or sequence of str, default False
        The columns of byte strings that are text, as for :func:`scan`.
    as_ : {"pandas", "polars", "arrow"}, optional
        Return a DataFrame of pandas or Polars, or a Table of pyarrow. A frame that was saved from the same library
        comes back as it was; any other data become the types that are closest.
    order : {"shards", "tensorflow"}, default "shards"
        The order of a data set that ``tf.data`` saved: shard by shard, or as TensorFlow loads it, in
        turns of as many shards as there are processors.
    num_processors : int, optional
        The number of processors of the machine whose order that is; by default, this machine's.
    progress : bool or callable, optional
        As for :func:`save`; the total is not known before the end.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    dict of str to column
        In the structure that was saved, with the original dtypes and shapes: ndarray;
        masked array where records lack the value; RaggedTensor where lengths vary. Byte
        strings are object arrays, which NumPy prints in full: print
        :func:`show(data) <tfrecord_lite.apps.notebook.show>` instead. Without a sidecar or schema,
        a dict of float32, int64 and byte strings. Of SequenceExamples, ``{"context": {...}, "feature_lists": {...}}``: lists
        are RaggedTensors of steps, or SparseTensors for a VarLenFeature. With `as_` a data frame.

    Raises
    ------
    FileNotFoundError
        If there is no such data file, or no such schema file.
    DataLossError
        If a file is damaged.
    InvalidArgumentError
        For a record that does not fit the schema: ``MISSING``, ``WRONG_KIND``, ``WRONG_COUNT``,
        ``MALFORMED``; ``BAD_ARGUMENT`` for files with incompatible
        sidecars, a sidecar of other data, unless it is given as
        `schema`, and an unknown name in `columns`; ``UNSUPPORTED`` for SequenceExamples with a
        Schema, and a column that the library of `as_` has no type for.
    ImportError
        If the library of `as_` is not installed.

    Notes
    -----
    Needs memory for the columns, twice for a column of strings while it is joined.

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
    num_records = optional_int("num_records", num_records, 1)
    num_turns = _num_turns(order, num_processors)
    columns = None if columns is None else described_columns.names_of(columns)
    settings = read_settings(options)
    sources = expand(paths, settings.storage_options)
    is_plain = (schema, as_, text) == (None, None, False) and len(sources) == 1
    if is_plain and is_saved(name_of(sources[0])):
        data = SavedData(name_of(sources[0]), settings.storage_options)
        return _load_saved(data, columns, num_records, settings, num_turns)
    if order != "shards":
        detail = "order='tensorflow' is for one data set that tf.data saved, without schema, "
        raise argument_error(f"{detail}text and as_")
    if (described := described_by(schema, sources, settings)) is None:
        names = described_columns.names_asked_for(columns, text)
        ahead = first_of(inference.blocks_ahead(sources, settings), num_records)
        bar = False if callable(progress) else progress
        blocks = reported(ahead, bar, title_of(sources))
        described = Sidecar(inference.inferred(blocks, inference.WHOLE, sources, names))
    if as_ is not None:
        described = with_text(described, described.texts, list)
    if text is not False:
        n_sampled = min(num_records or SAMPLE, SAMPLE)
        sample = partial(inference.first_blocks, sources, settings, n_sampled)
        described = with_text(described, text, sample, columns)
    loader = Loader(described, columns, as_)
    blocks = first_of(reader_of(sources, settings.dropping(loader.part_of)).blocks(), num_records)
    return loader.whole(reported(blocks, progress, title_of(sources)))


def _num_turns(order: str, num_processors: int | None) -> int:
    if order not in ("shards", "tensorflow"):
        raise argument_error(f"order is {order!r}, expected 'shards' or 'tensorflow'")
    num_processors = optional_int("num_processors", num_processors, 1)
    if order != "shards":
        return num_processors or os.cpu_count() or 1
    if num_processors is not None:
        raise argument_error("num_processors= belongs to order='tensorflow'")
    return 1


def _load_saved(
    data: SavedData, names: list[str] | None, n_rows: int | None, settings: ReadSettings, turns: int
) -> Any:
    if names is not None:
        names = known_columns(names, [component.name for component in data.components])
    Sidecar(Schema({}), refused=data.refused).check_readable(names)
    columns = columns_of(data, names, n_rows, settings, turns)
    return columns if names is not None else rebuild(data.structure, columns)


def num_saved_shards(place: str) -> int:
    """Return how many shards a folder of ``tf.data.Dataset.save`` has."""
    return len(SavedData(place).shards)


def saved_elements(place: str, num_turns: int, shard: int | None = None) -> Iterator[Any]:
    """Yield the elements of such a folder, in turns of shards, or of one shard."""
    data = SavedData(place)
    Sidecar(Schema({}), refused=data.refused).check_readable(None)
    for element in elements_of(data, ReadSettings(), num_turns, shard):
        yield rebuild(data.structure, element)


# ---------------------------------------------------------------------- blocks to columns


class Loader:
    """Turns blocks of records into the data that were saved, or into a data frame.

    Columns are named by path, of SequenceExamples by part: ``context/label``. It may reject Examples with
    values of features that are not in the schema.
    """

    def __init__(
        self,
        described: Sidecar,
        columns: Sequence[str] | None = None,
        library: Library | None = None,
        *,
        rejects_others: bool = False,
    ) -> None:
        described.check_readable(columns)
        whole = described.schema
        schema = (
            whole
            if isinstance(whole, Schema)
            else Schema.of_items(described_columns.items_of(whole))
        )
        self._library, self._dataframe = library, described.dataframe
        self._is_sequence = isinstance(whole, SequenceSchema)
        self._structure = described.nesting
        if isinstance(whole, SequenceSchema):
            parts = whole._asdict()
            self._structure = {p: {n: f"{p}/{n}" for n in specs} for p, specs in parts.items()}
        if columns is not None:
            names = known_columns(columns, schema)
            # The index of a frame is loaded, too.
            index = [] if library is None else index_names(described.dataframe)
            schema = schema.select(dict.fromkeys([*names, *index]))
            self._structure = {name: name for name in names}
        self._schema: Schema = schema
        self._parse: Any = None
        if schema and self._is_sequence:
            chosen: Any = described_columns.schema_like(whole, schema.to_items())
            self._parse = ListsParser(SequenceExampleParser(*chosen, pad=False))
        elif schema:
            make = parser_of_all if rejects_others else ExampleParser
            self._parse = ListsParser(make(schema))
        self._is_first, self._check_type = True, check_of_either()

    def whole(self, blocks: Iterator[Block]) -> Any:
        """Return the records of all blocks; a Table in as many chunks."""
        parts = {name: Joiner() for name in self._schema}
        tables = []
        n_rows = 0
        with closing(blocks):  # type: ignore[type-var]
            for block in blocks:
                n_rows += len(block)
                if self._library is not None:
                    tables.append(self._table(block))
                    continue
                for name, lists in self.lists_of(block).items():
                    parts[name].add(lists)
        if self._library is not None:
            tables = tables if n_rows else [self._table(Block.from_records([]))]
            return joined_frame(self._library, tables, self._schema.originals, self._dataframe)
        if not n_rows:
            return rebuild(self._structure, self.columns_of(Block.from_records([])))
        # Parts are dropped: only one column is in memory twice, if any.
        columns = {n: self._parse.result(n, parts.pop(n).joined()) for n in list(parts)}
        return rebuild(self._structure, columns)

    def _table(self, block: Block) -> Any:
        library: Any = self._library
        return table_for(library, self.lists_of(block), self._dataframe, len(block))

    def part_of(self, block: Block) -> Any:
        """Return what a block alone becomes, or raise about a record that does not fit."""
        return self.columns_of(block) if self._library is None else self._table(block)

    def columns_of(self, block: Block) -> dict[str, Any]:
        """Return the columns of a block, with their original types."""
        return {n: self._parse.result(n, lists) for n, lists in self.lists_of(block).items()}

    def lists_of(self, block: Block) -> dict[str, Lists | SparseLists]:
        """Return the values of a block as they were before they were stored."""
        if not self._is_sequence:
            self._check_type(block)
            reject_sequences(block, is_first=self._is_first)
            self._is_first = False
        return {} if self._parse is None else self._parse(block)
