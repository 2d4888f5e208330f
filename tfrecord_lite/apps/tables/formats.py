"""Files of several formats as streams of record batches of Arrow, both ways.

::

    name, or its first bytes ──format_of──> "tfrecord", "parquet", "arrow", "csv", "jsonl"
    file ──open_source──> RowSource ── batches of one schema ──> open_target ──> file

A source yields its rows from any row on, in batches of some megabytes; one of TFRecords can
yield blocks of records instead, which a target of TFRecords writes as they are. A target's file appears
when it is committed. Text formats may be compressed as a whole, as TFRecords; what needs random
access (Parquet, Arrow's file format) is put into a temporary file first if it is compressed, a
URL or a pipe.
"""

from __future__ import annotations

import contextlib
import os
import re
from itertools import chain
from typing import Any, TypeAlias

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables import columnar_formats as columnar
from tfrecord_lite.apps.tables.byte_files import Content, RowTarget
from tfrecord_lite.apps.tables.columnar_formats import ArrowSource, ParquetSource
from tfrecord_lite.apps.tables.record_format import RecordSource, RecordTarget
from tfrecord_lite.apps.tables.table import TFRecordTable
from tfrecord_lite.apps.tables.text_formats import CsvSource, JsonSource, TextWriter
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.errors import DataLossError, argument_error
from tfrecord_lite.extension import Source
from tfrecord_lite.options import ReadSettings

RowSource: TypeAlias = RecordSource | ParquetSource | ArrowSource | CsvSource | JsonSource

ENDINGS: dict[str, tuple[str, ...]] = {
    "tfrecord": (".tfrecord", ".tfrecords", ".tfrec", ".tfr"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "jsonl": (".jsonl", ".ndjson"),
}
"""Endings of the names of files, by format; the first is the usual one."""

FORMATS = tuple(ENDINGS)
_ALIASES = {"feather": "arrow", "ndjson": "jsonl", "ipc": "arrow"}
_OF_LOADERS = {
    "webdataset": ("webdataset", "wds", "tar"),
    "ArrayRecord": ("arrayrecord", "array_record"),
}
"""Formats with a library of their own, and the words and endings that name them."""
UNTYPED = ("csv", "tsv", "jsonl")
"""Formats that have no types of their own, and may be compressed as a whole."""
_SHARD_NUMBER = re.compile(r"-\d+-of-\d+$")
_ENDING = re.compile(rf"(?i)({'|'.join(map(re.escape, chain(*ENDINGS.values())))})(-\d+-of-\d+)?$")


def format_named(name: str) -> str:
    """Return the format of a name such as ``feather``; raise if there is none."""
    kind = _ALIASES.get(name.lower().lstrip("."), name.lower().lstrip("."))
    check_not_of_loader(f".{kind}")
    if kind not in FORMATS:
        known = ", ".join([*FORMATS, "feather"])
        raise argument_error(f"unknown format {name!r}, expected one of {known}")
    return kind


def check_not_of_loader(name: str) -> None:
    """Raise, with the way to go, if a file's name has the ending of another loader's format."""
    ending = _SHARD_NUMBER.sub("", _without_codec(name).lower()).rpartition(".")[2]
    for title, words in _OF_LOADERS.items():
        if ending in words:
            detail = f"{title} is read and written by its own library, and not converted here; "
            detail += "the guide 'From and to the files of other loaders' has a recipe of ten lines"
            raise argument_error(detail, source=name)


def format_of(name: str) -> str | None:
    """Return the format by the ending of a file's name; None without a known one.

    >>> format_of("train-00000-of-00002.csv.gz"), format_of("a.tfrecord-00000-of-00002")
    ('csv', 'tfrecord')
    """
    match = _ENDING.search(re.sub(r"@\d+$", "", _without_codec(name)))
    if match is None:
        return None
    return next(kind for kind, endings in ENDINGS.items() if match[1].lower() in endings)


def stem_of(name: str) -> str:
    """Return a file's base name without the endings of its format and compression."""
    return _ENDING.sub(r"\2", os.path.basename(_without_codec(name)))  # noqa: PTH119 - may be a URL


def is_numbered(name: str) -> bool:
    """Return whether a name ends like a shard's, maybe compressed, with no other ending."""
    return _SHARD_NUMBER.search(_without_codec(name)) is not None


def _without_codec(name: str) -> str:
    return name if not ext.compression_of_name(name) else os.path.splitext(name)[0]  # noqa: PTH122


def format_of_file(source: Source) -> str | None:
    """Return the format of a file, by its name, or by its first bytes, decompressed."""
    kind = format_of(ext.name_of(source))
    if kind is not None or ext.is_file_object(source):
        return kind
    with contextlib.closing(Content(source, ReadSettings())) as content:
        try:
            head = content.read(HEADER_BYTES) or b""
        except (DataLossError, OSError):  # of what only begins as a compressed file
            return None
    for magic, known in ((b"PAR1", "parquet"), (b"ARROW1", "arrow")):
        if head.startswith(magic):
            return known
    return "tfrecord" if ext.is_header(head) else None


def open_source(
    source: Source, kind: str, options: ReadSettings, table: TFRecordTable | None, types: Any
) -> RowSource:
    """Open a file of a format to read its rows.

    It has `names`, of all columns; `columns`, of those to read, which may be set first; `schema`, of
    the batches (None if they are blocks of records); ``batches(first_row=0)``; and ``count()`` of the
    rows, after which only ``close()`` follows. TFRecords are read as
    `table` says; text has the `types` of a pyarrow.Schema, or by default the types of its first block.
    """
    if kind == "tfrecord":
        return RecordSource(source, options, table)
    if kind in ("parquet", "arrow"):
        return (ParquetSource if kind == "parquet" else ArrowSource)(source, options)
    if kind == "jsonl":
        return JsonSource(source, options, types)
    return CsvSource(source, options, types, "\t" if kind == "tsv" else "")


def open_target(
    target: Source, kind: str, schema: Any, compression: str | None, *, lossless: bool = False
) -> RowTarget | RecordTarget:
    """Open a file of a format to write rows of a schema; None for blocks of records.

    `compression` is a codec of the format's own for Parquet and Arrow, one of whole files for
    others; None for the usual one, or what the ending of the name says. Examples are made as
    `lossless` says.
    """
    if kind == "tfrecord":
        return RecordTarget(target, schema, compression, lossless=lossless)
    codec = "" if ext.is_file_object(target) else ext.compression_of_name(ext.name_of(target))
    if kind in UNTYPED and compression is not None:
        codec = ext.COMPRESSION_WORDS[compression]
    file = RowTarget(target, codec)
    try:
        if kind == "parquet":
            file.writer = columnar.ParquetWriter(file, schema, compression)
        elif kind == "arrow":
            is_stream = ext.is_file_object(target) or ext.name_of(target).endswith(".arrows")
            file.writer = columnar.arrow_writer(file, schema, compression, is_stream=is_stream)
        else:
            file.writer = TextWriter(file, schema, kind)
    except BaseException:
        file.abandon()
        raise
    return file


_OWN_CODECS = {
    "parquet": ("none", "snappy", "gzip", "brotli", "zstd", "lz4"),
    "arrow": ("none", "lz4", "zstd"),
}


def check_compression(kind: str, compression: str | None) -> None:
    """Raise unless files of a format can have a compression."""
    known = _OWN_CODECS.get(kind, ("none", *(codec.lower() for codec in ext.CODECS)))
    if compression is not None and compression not in known:
        words = ", ".join(known)
        raise argument_error(f"{kind} files cannot be compressed as {compression!r}, only {words}")
