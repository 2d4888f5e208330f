"""summarize and infer_schema, for data without a schema."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any, TypeAlias, Unpack

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.convert.arrow import open_columns
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.types import rows_of
from tfrecord_lite.described.inferred import first_of
from tfrecord_lite.errors import errors_at, optional_int
from tfrecord_lite.example.encode.columns import encode_column_batches, is_columns
from tfrecord_lite.example.survey import Survey
from tfrecord_lite.files.names import Sources, is_file_object, name_of
from tfrecord_lite.options import ReadOptions, ReadSettings, read_settings
from tfrecord_lite.progress import Progress, check_progress, reported, title_of
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.schema import RaggedFeature, Schema, SequenceSummary, Summary, Variable

DataLike: TypeAlias = "Sources | TFRecordReader | Block | Sequence[bytes] | Mapping[str, Any]"
"""Records or columns that :func:`summarize` accepts; data frames besides."""

_RECORDS_AT_A_TIME = 4096


def summarize(
    data: DataLike | Any,
    *,
    num_records: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Any:
    """Summarise the features of data: their kinds, lengths and values.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, or dataframe
        Files as :class:`TFRecordReader` takes them, never held in memory; or a
        reader; or serialised Examples or SequenceExamples. Or data to be encoded, and held in memory: a dict of columns,
        an iterable of dicts, a DataFrame, Arrow data of any library.
    num_records : int, optional
        Examine only this many records from the start.
    progress : bool or callable, optional
        As for :func:`load`; counts records.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    Summary, or SequenceSummary
        For every feature its kinds, the number of records with it, its lengths, and its
        smallest and largest values, sorted by name. Print it as a table, add the summaries of
        several shards, or call :meth:`Summary.schema`.

    Raises
    ------
    DataLossError
        If a file is damaged in the part that is read.
    InvalidArgumentError
        ``MALFORMED`` for a record that is neither an Example nor a SequenceExample;
        ``BAD_ARGUMENT`` if `num_records` is not positive.
    TypeError
        For other data, such as a single ``bytes``, which could be a path or a record, or a row that is not a dict.

    Notes
    -----
    Takes as long as parsing all features into columns, and about 1 MB.

    If any record has feature lists, all are SequenceExamples: one without lists has the bytes of an
    Example, whose features are its context.

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
    num_records = optional_int("num_records", num_records, 1)
    check_progress(progress)
    survey = Survey()
    # Otherwise the file would stay open for as long as an error's traceback is referenced.
    with closing(blocks_of(data, read_settings(options), num_records, progress)) as blocks:
        for block in blocks:
            survey.add(block)
    return survey.summary()


def blocks_of(
    data: Any, options: ReadSettings, num_records: int | None = None, progress: Progress = None
) -> Generator[Block, None, None]:
    """Yield the records of data as :func:`summarize` takes it."""
    columns, data = _opened(data, num_records)
    title = "records"
    blocks: Iterator[Block]
    if columns is not None:
        blocks = encode_column_batches(columns, schema_of(columns, lossless=False))
    elif isinstance(data, Block):
        blocks = (block for block in [data])
    elif isinstance(data, _Records):
        groups = iter(lambda: list(islice(data, _RECORDS_AT_A_TIME)), [])
        blocks = (Block.from_records(group) for group in groups)
    else:
        reader = data if isinstance(data, TFRecordReader) else reader_with(data, options)
        title, blocks = title_of(reader.sources), reader.blocks()
    yield from reported(first_of(blocks, num_records), progress, title)


class _Records(islice):  # type: ignore[type-arg]
    """Records that are given one by one; an islice of a user's may be of anything."""


def _opened(
    source: Any, num_records: int | None
) -> tuple[dict[str, Lists | SparseLists] | None, Any]:
    """Return the columns of data to be encoded.

    Of other data None, and the data: a Block, _Records, or what a reader takes.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError("a single bytes object may be a path or a record; give a str or [record]")
    files = (TFRecordReader, str, os.PathLike)
    if isinstance(source, (Block, _Records, *files)) or is_file_object(source):
        return None, source
    if is_columns(source):
        columns = open_columns(source).columns
    elif not isinstance(source := rows_of(source), Iterable):
        actual = type(source).__name__
        raise TypeError(f"data must be files, records, columns or rows, not {actual}")
    else:
        items = iter(source)
        head = list(islice(items, 1))
        if not head or isinstance(head[0], (bytes, bytearray, memoryview, np.bytes_)):
            return None, _Records(chain(head, items), num_records)
        if not isinstance(head[0], Mapping):
            return None, [*head, *items]
        rows = list(islice(chain(head, items), num_records))
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                actual = type(row).__name__
                raise TypeError(f"row {i} must be a dict like those before it, not {actual}")
        names = dict.fromkeys(chain.from_iterable(rows))
        columns = {name: [row.get(name) for row in rows] for name in names}
    return {n: opened(n, column, "strict") for n, column in columns.items()}, source


def infer_schema(
    data: DataLike | Summary | SequenceSummary | Any,
    *,
    variable: Variable = "ragged",
    defaults: Mapping[str, Any] | None = None,
    num_records: int | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> Any:
    """Infer a schema to parse data with from the data.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, dataframe, or summary
        As for :func:`summarize`; or its result, possibly the sum for several shards.
    variable : {"ragged", "varlen", "padded"}, optional
        For features whose length varies, or that some record lacks: RaggedFeature,
        VarLenFeature or FixedLenSequenceFeature.
    defaults : mapping of str to value, optional
        For features of one length that some records lack: the value for such records.
    num_records : int, optional
        Infer from this many records at the start; a later one may not fit.
    progress : bool or callable, optional
        As for :func:`load`; counts records.
    **options
        How files are read, see :class:`ReadOptions`.

    Returns
    -------
    Schema, or SequenceSchema
        FixedLenFeature for features that every record has with the same number of values, of
        shape [] for 1 and [n] for n; the others as `variable` has it. Columns keep their shapes
        and dtypes, as in ``schema_of(columns, lossless=False)``. Of SequenceExamples a
        SequenceSchema: ``parse_sequence_example(records, *schema)``.

    Raises
    ------
    DataLossError, TypeError, InvalidArgumentError
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
    num_records = optional_int("num_records", num_records, 1)
    columns, data = _opened(data, num_records)
    source = data if columns is None else columns
    summary = summarize(source, num_records=num_records, progress=progress, **options)
    with errors_at(source=name_of(data) if isinstance(data, str | os.PathLike) else None):
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
    return Schema(specs, described.originals)
