"""Files of several formats as streams of record batches of Arrow, both ways.

::

    name, or its first bytes ──format_of_file──> "tfrecord", "parquet", "arrow", "csv", "jsonl"
    file ──open_source──> a source ── batches of one schema ──> open_target ──> file

A source yields its rows from any row on, in batches of some megabytes; one of TFRecords can yield blocks of
records instead, which a target of TFRecords writes as they are. A target's file appears when it is committed.
Text formats may be compressed as a whole, as TFRecords.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import UNTYPED, format_of
from tfrecord_lite.apps.tables.record_format import RecordSource, RecordTarget
from tfrecord_lite.apps.tables.table import TFRecordTable
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.errors import DataLossError, argument_error
from tfrecord_lite.extension import Source
from tfrecord_lite.files.compression import codec_named, detect
from tfrecord_lite.files.inflate import MAGIC_BYTES, Inflated
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import opening_error
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
    from tfrecord_lite.apps.tables import table_formats as tables  # noqa: PLC0415 - needs pyarrow

    if kind in ("parquet", "arrow"):
        return (tables.ParquetSource if kind == "parquet" else tables.ArrowSource)(source, options)
    if kind == "jsonl":
        return tables.JsonSource(source, options, types)
    return tables.CsvSource(source, options, types, "\t" if kind == "tsv" else "")


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
    from tfrecord_lite.apps.tables import table_formats as tables  # noqa: PLC0415 - needs pyarrow

    codec = "" if ext.is_file_object(target) else ext.compression_of_name(ext.name_of(target))
    if kind in UNTYPED and compression is not None:
        codec = ext.COMPRESSION_WORDS[compression]
    file = RowTarget(target, codec)
    with undone_by(file.abandon):
        if kind == "parquet":
            file.writer = tables.ParquetWriter(file, schema, compression)
        elif kind == "arrow":
            is_stream = ext.is_file_object(target) or ext.name_of(target).endswith(".arrows")
            file.writer = tables.arrow_writer(file, schema, compression, is_stream=is_stream)
        else:
            file.writer = tables.TextWriter(file, schema, kind)
    return file


def check_compression(kind: str, compression: str | None) -> None:
    """Raise unless files of a format can have a compression."""
    known = _OWN_CODECS.get(kind, ("none", *(codec.lower() for codec in ext.CODECS)))
    if compression is not None and compression not in known:
        words = ", ".join(known)
        raise argument_error(f"{kind} files cannot be compressed as {compression!r}, only {words}")


# ---------------------------------------------------------------------- files as bytes


class Content(io.RawIOBase):
    """The decompressed content of a file, in order, as a file object; a read brings all it asks for.

    ZLIB and BZ2 are known by the file's name, since text can begin as their streams do.
    """

    def __init__(self, source: Source, options: ReadSettings) -> None:
        self.name: str = ext.name_of(source)
        try:
            self._file = open_input(source, options.storage_options)
        except OSError as error:
            raise opening_error(error, self.name) from None
        name = options.codec_name
        if name is None:
            name = detect(self._file.peek(MAGIC_BYTES))
            if name not in ("GZIP", "ZSTD") and not ext.compression_of_name(self.name):
                name = ""
        codec = codec_named(name)
        self.is_plain: bool = codec is None
        self._content: Any = self._file
        if codec is not None:
            self._content = Inflated(self._file, codec, self.name, options.inflation)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes; fewer than asked for only at the end."""
        view, n_bytes = memoryview(buffer).cast("B"), 0
        while n_bytes < len(view) and (more := self._content.readinto(view[n_bytes:])):
            n_bytes += more
        return n_bytes

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


class RowTarget(io.RawIOBase):
    """A file that is written by a writer of its format, to which it is a file object, compressed if asked.

    It appears at :meth:`commit`.
    """

    writer: Any = None
    """The writer of the format; set by the opener of the file."""

    def __init__(self, target: Source, compression: str = "") -> None:
        is_atomic = isinstance(target, str | os.PathLike) and not ext.is_pipe(target)
        self._output: Any = ext.open_output(target, atomic=is_atomic)
        codec = codec_named(compression)
        self._compressor = None if codec is None else codec.compressor(ext.TFRecordOptions())
        self._n_bytes = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes."""
        view = memoryview(data).cast("B")
        self._put(view if self._compressor is None else self._compressor.compress(view))
        return len(view)

    def _put(self, data: Any) -> None:
        if len(data):
            self._n_bytes += len(data)
            self._output.write([data])

    def tell(self) -> int:
        """Return the number of bytes written; without a compressor, as Arrow's writers need it."""
        return self._n_bytes

    def write_batch(self, batch: Any) -> None:
        """Write a batch."""
        self.writer.write_batch(batch)

    def finish(self) -> None:
        """Write the end of the file, and what the system still holds."""
        self.writer.close()
        if self._compressor is not None:
            self._put(self._compressor.finish())
        self._output.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._output.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        with contextlib.suppress(Exception):  # of a file that is being removed
            self.writer.close()
        self._output.abandon()


@contextlib.contextmanager
def undone_by(close: Callable[[], object]) -> Iterator[None]:
    """Call a function after an error."""
    try:
        yield
    except BaseException:
        close()
        raise
