"""summarize and infer_schema, for data that come without a schema.

::

    path, pattern, TFRecordReader ─┐
    Block, list of bytes ──────────┼─> blocks ── Survey ──> Summary ──> Schema
    columns, rows, a dataframe ────┘  (encoded)

Values are examined, many records at a time, but no columns are built; this takes as long as
parsing all features.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.convert.dataframes import open_columns, with_traits
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int
from tfrecord_lite.example.encode.columns import encode_column_batches, is_columns
from tfrecord_lite.example.survey import Survey
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import check_progress, reported, title_of
from tfrecord_lite.reader import TFRecordReader, reader_with, share_read
from tfrecord_lite.schema import RaggedFeature, Schema, SequenceSummary, Summary

if TYPE_CHECKING:
    from tfrecord_lite.convert.dataframes import Traits
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources, StorageOptions
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.schema import SequenceSchema, Variable

    Source: TypeAlias = Sources | TFRecordReader | Block | Sequence[bytes] | Mapping[str, Any]

_RECORDS_AT_A_TIME = 4096


def summarize(
    data: Source | Any,
    *,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> Summary | Any:
    """Summarise the features of data: their kinds, lengths and values.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, or dataframe
        Files as :class:`TFRecordReader` takes them (a str or PathLike, a pattern, a file
        object, a list of these), read one after the other and never held in memory; or a
        reader; or serialised Examples or SequenceExamples. Or data to be encoded: a dict of columns, an iterable
        of dicts, a DataFrame of pandas or polars, Arrow data of any library; these are held in
        memory, and summarised as the Examples that they would become.
    max_records : int, optional
        Examine only this many records from the start; later ones are not read.
    compression : str, int, TFRecordOptions or None, optional
        How to read files, as for :class:`TFRecordReader`.
    progress : bool or callable, optional
        As for :func:`load`; counts records.
    storage_options : dict, optional
        As for :class:`TFRecordReader`.

    Returns
    -------
    Summary, or SequenceSummary
        For every feature its kinds, the number of records with it, its lengths, and its
        smallest and largest values, sorted by name. Print it as a table, add the summaries of
        several shards, or call :meth:`Summary.schema` for a schema. Of SequenceExamples a
        SequenceSummary, which has the same for the context, and the feature lists.

    Raises
    ------
    DataLossError
        If a file is damaged in the part that is read.
    InvalidArgumentError
        ``MALFORMED`` for a record that is neither an Example nor a SequenceExample, or for
        Examples mixed with SequenceExamples; ``UNSUPPORTED`` for lists of Examples;
        ``BAD_ARGUMENT`` if `max_records` is not positive.
    TypeError
        For data of another type, such as a single ``bytes``, which could be a path or a record;
        for a row that is not a dict among dicts; if `max_records` is not an int.

    Notes
    -----
    Takes as long as parsing all features into columns, and the memory of one read: about a
    megabyte.

    The first record that is not empty decides whether the records are Examples or
    SequenceExamples. A SequenceExample without feature lists has the bytes of an Example, and
    counts as one.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> summary = summarize(people)
    >>> print(summary)
    3 records, 2 features
    name  kind    records     length  values
    ----  ------  ----------  ------  ------------
    age   int64   2 (66.7 %)  1       36 .. 41
    name  string  all         1       3 .. 5 bytes
    >>> summary["age"].n_records
    2
    """
    max_records = None if max_records is None else require_int("max_records", max_records, 1)
    check_progress(progress)
    survey = Survey()
    options = ReadSettings(compression, storage_options=storage_options)
    # Otherwise the file would stay open for as long as an error's traceback is referenced.
    with closing(blocks_of(data, options, max_records, progress)) as blocks:
        for block in blocks:
            survey.add(block)
    return survey.summary()


def blocks_of(
    data: Source | Any,
    options: ReadSettings,
    max_records: int | None = None,
    progress: Progress = None,
) -> Generator[Block, None, None]:
    """Yield the records of data as :func:`summarize` takes it, the first `max_records` only."""
    readers: list[TFRecordReader] = []
    blocks = _first_blocks(data, options, max_records, readers)
    is_whole = max_records is None
    yield from reported(
        blocks,
        progress,
        _title(data),
        lambda: share_read(readers[0]) if readers and is_whole else lambda: None,
    )


def _title(data: Any) -> str:
    """Return what a bar calls the reading of data."""
    if isinstance(data, TFRecordReader):
        return title_of(data.sources)
    if isinstance(data, (str, os.PathLike)):
        return name_of(data)
    is_list = isinstance(data, list | tuple) and data and isinstance(data[0], (str, os.PathLike))
    return title_of(data) if is_list else "records"


def _first_blocks(
    data: Any, options: ReadSettings, max_records: int | None, readers: list[TFRecordReader]
) -> Generator[Block, None, None]:
    """Yield the first records; the reader of files is put into a list."""
    columns, _, data = _columns_of(data, max_records)
    left = max_records
    blocks: Any
    if columns is not None:
        blocks = encode_column_batches(columns, schema_of(columns, lossless=False))
    else:
        blocks = _blocks(data, options, readers)
    with closing(blocks):
        for block in blocks:
            yield block if left is None else block[:left]
            left = None if left is None else left - len(block)
            if left is not None and left <= 0:
                return


@overload
def infer_schema(
    data: SequenceSummary,
    *,
    variable: Variable = "ragged",
    defaults: Mapping[str, Any] | None = None,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> SequenceSchema: ...
@overload
def infer_schema(
    data: Source | Summary | Any,
    *,
    variable: Variable = "ragged",
    defaults: Mapping[str, Any] | None = None,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> Schema | Any: ...
def infer_schema(
    data: Source | Summary | SequenceSummary | Any,
    *,
    variable: Variable = "ragged",
    defaults: Mapping[str, Any] | None = None,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> Any:
    """Infer a schema to parse data with from the data.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, dataframe, or summary
        As for :func:`summarize`; or its result, possibly the sum for several shards.
    variable : {"ragged", "varlen", "padded"}, optional
        For features whose length varies, or that some record lacks: RaggedFeature,
        VarLenFeature or FixedLenSequenceFeature. A record without the feature has no values in
        the result.
    defaults : mapping of str to value, optional
        For features of one length that some records lack: the value for such records.
    max_records : int, optional
        Infer from this many records at the start; a later one may not fit.
    compression : str, int, TFRecordOptions or None, optional
        How to read files, as for :class:`TFRecordReader`.
    progress : bool or callable, optional
        As for :func:`load`; counts records.
    storage_options : dict, optional
        As for :class:`TFRecordReader`.

    Returns
    -------
    Schema, or SequenceSchema
        FixedLenFeature for features that every record has with the same number of values, of
        shape [] for 1 and [n] for n; the others as `variable` has it. Columns keep their shapes
        and dtypes, as in ``schema_of(columns, lossless=False)``. Of SequenceExamples a
        SequenceSchema, see :meth:`SequenceSummary.schema`:
        ``parse_sequence_example(records, *schema)``.

    Raises
    ------
    DataLossError, TypeError
        As :func:`summarize`.
    InvalidArgumentError
        As :func:`summarize`; ``WRONG_KIND`` for a feature of several kinds; ``BAD_ARGUMENT``
        if no record has a feature, and for defaults that do not fit.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan"], "scores": [[0.5, 0.75], [1.0]]})
    >>> infer_schema(people)
    Schema of 2 features
    name    specification    dtype    shape
    ------  ---------------  -------  -----
    name    FixedLenFeature  string   []
    scores  RaggedFeature    float32
    """
    if isinstance(data, Summary | SequenceSummary):
        return data.schema(variable=variable, defaults=defaults)
    max_records = None if max_records is None else require_int("max_records", max_records, 1)
    columns, traits, data = _columns_of(data, max_records)
    summary = summarize(
        data if columns is None else columns,
        max_records=max_records,
        compression=compression,
        progress=progress,
        storage_options=storage_options,
    )
    schema = summary.schema(variable=variable, defaults=defaults)
    if columns is None:
        return schema
    described = schema_of(columns, lossless=False)
    specs = described.features
    for name, spec in specs.items():
        # Ragged in one level, or missing in some records: to Examples, of varying length.
        varies = isinstance(spec, RaggedFeature) and not spec.partitions
        if varies and name in schema and (variable != "ragged" or name in (defaults or {})):
            specs[name] = schema[name]
    return with_traits(Schema(specs, described.originals), traits)


def _columns_of(source: Any, max_records: int | None) -> tuple[dict[str, Any] | None, Traits, Any]:
    """Return the columns of data to be encoded, up to `max_records`; None for other sources.

    Also return their traits and the source, with the item that had to be taken from an iterator put back.
    """
    if isinstance(source, Summary | SequenceSummary | Block | TFRecordReader):
        return None, {}, source
    traits: Traits = {}
    columns = None
    if is_columns(source):
        columns, traits, *_ = open_columns(source)
    if columns is None and _may_be_rows(source):
        items = iter(source)
        head = list(islice(items, 1))
        if not head or not isinstance(head[0], Mapping):
            return None, {}, source if isinstance(source, Sequence) else chain(head, items)
        columns = _columns_of_rows(list(islice(chain(head, items), max_records)))
    if columns is None:
        return None, {}, source
    made = {name: normalize(name, column, "strict") for name, column in columns.items()}
    if max_records is not None:
        made = {name: _first_rows(name, column, max_records) for name, column in made.items()}
    return made, traits, source


def _may_be_rows(source: Any) -> bool:
    """Return whether a source is an iterable, but not a path, file or array."""
    others = (str, bytes, bytearray, memoryview, os.PathLike, np.ndarray)
    is_other = isinstance(source, others) or is_file_object(source)
    return not is_other and isinstance(source, Iterable)


def _columns_of_rows(rows: list[Any]) -> dict[str, Any]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            found = type(row).__name__
            raise TypeError(f"row {i} must be a dict like those before it, not {found}")
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _first_rows(name: str, column: Any, n_records: int) -> Any:
    if isinstance(column, SparseTensor):
        detail = "a SparseTensor has no rows to cut to max_records; leave max_records out"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return column[:n_records]


def _blocks(source: Any, options: ReadSettings, readers: list[TFRecordReader]) -> Iterator[Block]:
    """Yield the records of a source; put the reader of files into a list."""
    if isinstance(source, Block):
        yield source
        return
    if isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError("a single bytes object may be a path or a record; give a str or [record]")
    if not (isinstance(source, (Iterable, str, os.PathLike)) or is_file_object(source)):
        raise TypeError(
            f"data must be files, records, columns or rows, not {type(source).__name__}"
        )
    if not isinstance(source, (TFRecordReader, str, os.PathLike)) and not is_file_object(source):
        items = iter(source)
        head = list(islice(items, 1))
        if not head or isinstance(head[0], (bytes, bytearray, memoryview, np.bytes_)):
            while head:
                head += islice(items, _RECORDS_AT_A_TIME - len(head))
                yield Block.from_records(head)
                head = list(islice(items, 1))
            return
        source = [*head, *items]
    reader = source if isinstance(source, TFRecordReader) else reader_with(source, options)
    readers.append(reader)
    yield from reader.blocks()
