"""What is in data that come without a schema: summarize, infer_schema.

::

    path, pattern, TFRecordReader ─┐
    Block, list of bytes ──────────┼─> blocks ── ExampleSurvey ──> Summary ──> Schema
    columns, rows, a data frame ───┘  (encoded)

Values are looked at, many records at a time; nothing is built of them, so this takes as
long as parsing all features into columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.convert.dataframes import columns_of_dataframe
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int
from tfrecord_lite.example.encode.columns import encode_column_batches
from tfrecord_lite.example.survey import ExampleSurvey
from tfrecord_lite.files.names import is_file_object
from tfrecord_lite.reader import TFRecordReader, reader_with
from tfrecord_lite.records.options import ReadOptions
from tfrecord_lite.schema import RaggedFeature, Schema, Summary

if TYPE_CHECKING:
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources, StorageOptions
    from tfrecord_lite.schema import Variable

    Source: TypeAlias = Sources | TFRecordReader | Block | Sequence[bytes] | Mapping[str, Any]

__all__ = ["closed", "infer_schema", "summarize"]

_RECORDS_AT_A_TIME = 4096


def summarize(
    data: Source | Any,
    *,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    storage_options: StorageOptions = None,
) -> Summary:
    """Look at data and say what features they have.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, or dataframe
        Files as :class:`TFRecordReader` takes them (a str or PathLike, a pattern, a file
        object, a list of these), read one after the other and never held in memory; or a
        reader; or serialised Examples. Or what is to be encoded: a dict of columns, an
        iterable of dicts, a DataFrame of pandas or polars, a Table of pyarrow; these are
        held in memory, and summarised as the Examples they would become.
    max_records : int, optional
        Look at the first so many records only; what comes behind them is not read.
    compression : str, int, TFRecordOptions or None, optional
    storage_options : dict, optional
        How to read files, as for :class:`TFRecordReader`.

    Returns
    -------
    Summary
        Of every feature: kinds, how many records have it, lengths, least and greatest
        values. Features are sorted by name. Print it for a table, add those of several
        shards, call :meth:`Summary.schema` for a schema.

    Raises
    ------
    DataLossError
        If a file is damaged within what was read of it.
    InvalidArgumentError
        ``MALFORMED`` for a record that is no Example, or for Examples mixed with
        SequenceExamples; ``UNSUPPORTED`` for SequenceExamples alone; ``BAD_ARGUMENT`` for a
        `max_records` that is not positive.
    TypeError
        For a source of another type; a single ``bytes`` could be a path or a record. For a
        row that is no dict among dicts, and a `max_records` that is no int.

    Notes
    -----
    Takes as long as parsing all features into columns, and memory of one read: about a
    megabyte.

    Examples
    --------
    >>> from tfrecord_lite import Example
    >>> ages, records = [7, 31, 19], []
    >>> for age in ages:
    ...     example = Example()
    ...     example.features.feature["age"].int64_list.value.append(age)
    ...     example.features.feature["tags"].bytes_list.value.extend([b"x"] * (age % 2))
    ...     records.append(example.SerializeToString())
    >>> summary = summarize(records)
    >>> print(summary)
    3 records, 2 features
    name  kind    records  length  values
    ----  ------  -------  ------  -------
    age   int64   all      1       7 .. 31
    tags  string  all      1       1 byte
    >>> summary["age"].n_records
    3
    """
    max_records = None if max_records is None else require_int("max_records", max_records, 1)
    survey = ExampleSurvey()
    left = max_records
    columns, data = _columns(data, max_records)
    if columns is not None:
        blocks = encode_column_batches(columns, schema_of(columns, lossless=False))
    else:
        blocks = _blocks(data, ReadOptions(compression, storage_options=storage_options))
    with closed(blocks):
        for block in blocks:
            survey.add(block if left is None else block[:left])
            left = None if left is None else left - len(block)
            if left is not None and left <= 0:
                break
    return survey.summary()


def infer_schema(
    data: Source | Summary | Any,
    *,
    variable: Variable = "ragged",
    defaults: Mapping[str, Any] | None = None,
    max_records: int | None = None,
    compression: CompressionType = "infer",
    storage_options: StorageOptions = None,
) -> Schema:
    """Infer the features to parse data with from the data themselves.

    Parameters
    ----------
    data : path, TFRecordReader, Block, list of bytes, columns, rows, dataframe, Summary
        As for :func:`summarize`; or what it returned, maybe of several shards, added.
    variable : {"ragged", "varlen", "padded"}, optional
        What a feature becomes whose length varies, or which some record lacks:
        RaggedFeature, VarLenFeature or FixedLenSequenceFeature. A record that lacks it has
        no values in the result.
    defaults : mapping of str to value, optional
        For features of one length that some records lack: the value those get.
    max_records : int, optional
        Infer from the first so many records; a later one may not fit.
    compression : str, int, TFRecordOptions or None, optional
    storage_options : dict, optional
        How to read files, as for :class:`TFRecordReader`.

    Returns
    -------
    Schema
        FixedLenFeature for what every record has with one number of values, of shape []
        for 1 and [n] for n; for the others, what `variable` says. Columns have shapes and
        dtypes, and keep them: it is what ``schema_of(columns, lossless=False)`` says.

    Raises
    ------
    DataLossError, TypeError
        As :func:`summarize`.
    InvalidArgumentError
        As :func:`summarize`; ``WRONG_KIND`` for a feature of several kinds; ``BAD_ARGUMENT``
        if there is no record, or none with a feature, and for defaults that do not fit.

    Examples
    --------
    >>> from tfrecord_lite import Example
    >>> records = []
    >>> for tags in [b"a"], [b"b", b"c"], []:
    ...     example = Example()
    ...     example.features.feature["n"].int64_list.value.append(len(tags))
    ...     example.features.feature["tags"].bytes_list.value.extend(tags)
    ...     records.append(example.SerializeToString())
    >>> infer_schema(records)
    Schema of 2 features
    name  specification    dtype   shape
    ----  ---------------  ------  -----
    n     FixedLenFeature  int64   []
    tags  RaggedFeature    string
    """
    if isinstance(data, Summary):
        return data.schema(variable=variable, defaults=defaults)
    max_records = None if max_records is None else require_int("max_records", max_records, 1)
    columns, data = _columns(data, max_records)
    summary = summarize(
        data if columns is None else columns,
        max_records=max_records,
        compression=compression,
        storage_options=storage_options,
    )
    schema = summary.schema(variable=variable, defaults=defaults)
    if columns is None:
        return schema
    described = schema_of(columns, lossless=False)
    specs = described.features
    for name, spec in specs.items():
        # What is ragged in one level, or missing, is of varying length to Examples as well.
        varies = isinstance(spec, RaggedFeature) and not spec.partitions
        if varies and name in schema and (variable != "ragged" or name in (defaults or {})):
            specs[name] = schema[name]
    return Schema(specs, described.originals)


def _columns(source: Any, max_records: int | None) -> tuple[dict[str, Any] | None, Any]:
    """Return the columns of what is to be encoded, the first so many records; None for others.

    And the source, of which nothing is taken where there are none.
    """
    if isinstance(source, Summary | Block | TFRecordReader):
        return None, source
    columns = columns_of_dataframe(source)
    if columns is None and isinstance(source, Mapping):
        columns = dict(source)
    if columns is None and _is_iterable(source):
        items = iter(source)
        head = list(islice(items, 1))
        if not head or not isinstance(head[0], Mapping):
            return None, source if isinstance(source, Sequence) else chain(head, items)
        columns = _columns_of_rows(list(islice(chain(head, items), max_records)))
    if columns is None:
        return None, source
    made = {name: normalize(name, column, "strict") for name, column in columns.items()}
    if max_records is not None:
        made = {name: _first(name, column, max_records) for name, column in made.items()}
    return made, source


def _is_iterable(source: Any) -> bool:
    """Whether it may be one of rows: neither a path, nor a file, nor an array."""
    others = (str, bytes, bytearray, memoryview, os.PathLike, np.ndarray)
    is_other = isinstance(source, others) or is_file_object(source)
    return not is_other and isinstance(source, Iterable)


def _columns_of_rows(rows: list[Any]) -> dict[str, Any]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {i} must be a dict like those before it, not {_type(row)}")
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _type(value: object) -> str:
    return type(value).__name__


def _first(name: str, column: Any, n_records: int) -> Any:
    if isinstance(column, SparseTensor):
        detail = "max_records of a SparseTensor, which has no rows to take"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return column[:n_records]


@contextmanager
def closed(blocks: Iterator[Block]) -> Iterator[None]:
    """Close the file of an iteration that ends early, be it by an error.

    Left to itself it stays open for as long as somebody holds the error's traceback.
    """
    try:
        yield
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            close()


def _blocks(source: Any, options: ReadOptions) -> Iterator[Block]:
    """Yield the records of a source, many at a time."""
    if isinstance(source, Block):
        return iter([source])
    if isinstance(source, TFRecordReader):
        return source.blocks()
    if isinstance(source, (str, os.PathLike)) or is_file_object(source):
        return reader_with(source, options).blocks()
    if isinstance(source, (bytes, bytearray, memoryview)):
        detail = "a single bytes object may be a path or a record; give a str, or [record]"
        raise TypeError(detail)
    if not isinstance(source, Iterable):
        raise TypeError(f"nothing to infer a schema from: {_type(source)}")
    items = iter(source)
    head = list(islice(items, 1))
    if not head or isinstance(head[0], (bytes, bytearray, memoryview, np.bytes_)):
        return _blocks_of_records(head, items)
    return reader_with([*head, *items], options).blocks()


def _blocks_of_records(head: list[Any], rest: Iterator[Any]) -> Iterator[Block]:
    """Yield blocks of records from memory."""
    while head:
        head += islice(rest, _RECORDS_AT_A_TIME - len(head))
        yield Block.from_records(head)
        head = list(islice(rest, 1))
