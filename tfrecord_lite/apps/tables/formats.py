"""Files of several formats as streams of record batches of Arrow, both ways.

::

    name, or its first bytes ──format_of_file──> "tfrecord", "parquet", "arrow", "csv", "jsonl"
    file ──open_source──> RowSource ── batches of one schema ──> open_target ──> file

A source yields its rows from any row on, in batches of some megabytes; one of TFRecords can
yield blocks of records instead, which a target of TFRecords writes as they are. A target's file appears
when it is committed.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import UNTYPED, format_of
from tfrecord_lite.apps.tables.byte_files import Content, RowTarget, undone_by
from tfrecord_lite.apps.tables.record_format import RecordSource, RecordTarget
from tfrecord_lite.apps.tables.table import TFRecordTable
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.errors import DataLossError, argument_error
from tfrecord_lite.extension import Source
from tfrecord_lite.options import ReadSettings

_OWN_CODECS = {
    "parquet": ("none", "snappy", "gzip", "brotli", "zstd", "lz4"),
    "arrow": ("none", "lz4", "zstd"),
}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


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
    if ext.is_header(head):
        return "tfrecord"
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def open_source(
    source: Source, kind: str, options: ReadSettings, table: TFRecordTable | None, types: Any
) -> Any:
    """Open a file of a format to read its rows.

    It has `names`, of all columns; `columns`, of those to read, which may be set first; `schema`, of
    the batches (None if they are blocks of records); ``batches(first_row=0)``; and ``count()`` of the
    rows, after which only ``close()`` follows. TFRecords are read as
    `table` says; text has the `types` of a pyarrow.Schema, or by default the types of its first block.
    """
    if kind == "tfrecord":
        return RecordSource(source, options, table)
    ext.imported()
    from tfrecord_lite.apps.tables import columnar_formats as columnar  # noqa: PLC0415 - needs pyarrow
    from tfrecord_lite.apps.tables import text_formats as text  # noqa: PLC0415 - needs pyarrow

    if kind in ("parquet", "arrow"):
        return (columnar.ParquetSource if kind == "parquet" else columnar.ArrowSource)(
            source, options
        )
    if kind == "jsonl":
        return text.JsonSource(source, options, types)
    return text.CsvSource(source, options, types, "\t" if kind == "tsv" else "")


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
    ext.imported()
    from tfrecord_lite.apps.tables import columnar_formats as columnar  # noqa: PLC0415 - needs pyarrow
    from tfrecord_lite.apps.tables.text_formats import TextWriter  # noqa: PLC0415 - needs pyarrow

    codec = "" if ext.is_file_object(target) else ext.compression_of_name(ext.name_of(target))
    if kind in UNTYPED and compression is not None:
        codec = ext.COMPRESSION_WORDS[compression]
    file = RowTarget(target, codec)
    with undone_by(file.abandon):
        if kind == "parquet":
            file.writer = columnar.ParquetWriter(file, schema, compression)
        elif kind == "arrow":
            is_stream = ext.is_file_object(target) or ext.name_of(target).endswith(".arrows")
            file.writer = columnar.arrow_writer(file, schema, compression, is_stream=is_stream)
        else:
            file.writer = TextWriter(file, schema, kind)
    return file


def check_compression(kind: str, compression: str | None) -> None:
    """Raise unless files of a format can have a compression."""
    known = _OWN_CODECS.get(kind, ("none", *(codec.lower() for codec in ext.CODECS)))
    if compression is not None and compression not in known:
        words = ", ".join(known)
        raise argument_error(f"{kind} files cannot be compressed as {compression!r}, only {words}")
