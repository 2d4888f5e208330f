"""The bytes of sources and targets as file objects: decompressed, compressed, able to seek.

Text formats may be compressed as a whole, as TFRecords. What needs random access (Parquet, Arrow's
file format) is copied to a temporary file first if it is compressed, a URL or a pipe.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from tfrecord_lite.convert.dataframes.arrow import imported
from tfrecord_lite.errors import argument_error
from tfrecord_lite.files.compression import Settings, codec_named, compression_of_name, detect
from tfrecord_lite.files.inflate import MAGIC_BYTES, Inflated
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import is_file_object, is_url, name_of, opening_error
from tfrecord_lite.files.output import open_output
from tfrecord_lite.options import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.files.names import Source
    from tfrecord_lite.files.output import OutputFile


@dataclass(frozen=True)
class Reading:
    """How to read sources: the same for all files of a conversion; picklable."""

    features: Any = None
    """As for ``scan``: a Schema, or the path of a schema file; None to infer it."""
    columns: tuple[str, ...] | None = None
    """Columns to read; None for all."""
    features_given: frozenset[str] = frozenset()
    """Columns whose types the user gave."""
    text: Any = False
    sample: int | None = 10_000
    """As for ``scan``."""
    table: Any = None
    """The TFRecordTable whose schema all files of TFRecords have; None if each has its own."""
    as_records: bool = False
    """Whether to yield the blocks of TFRecords as they are."""
    types: Any = None
    """A pyarrow.Schema that files have, which have no types of their own."""
    options: ReadSettings = field(default_factory=ReadSettings)


class Content(io.RawIOBase):
    """The decompressed content of a file, in order, as a file object.

    ZLIB and BZ2 are known by the file's name, since text can begin as their streams do.
    """

    def __init__(self, source: Source, options: ReadSettings) -> None:
        self.name: str = name_of(source)
        self.n_read = 0  # bytes of the file
        try:
            self._file = open_input(source, options.storage_options)
        except OSError as error:
            raise opening_error(error, self.name) from None
        codec = codec_named(self._codec_name(options))
        raw = cast("Any", _Counted(self._file, self))
        self._content: Any = raw
        if codec is not None:
            self._content = Inflated(raw, codec, self.name, options.inflation)

    def _codec_name(self, options: ReadSettings) -> str:
        named = options.codec_name
        if named is not None:
            return named
        found = detect(self._file.peek(MAGIC_BYTES))
        return found if found in ("GZIP", "ZSTD") else compression_of_name(self.name) and found

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        return int(self._content.readinto(memoryview(buffer).cast("B")))

    def read_up_to(self, n_bytes: int) -> bytes:
        """Return the next bytes; fewer than asked for only at the end."""
        parts = []
        while n_bytes and (data := self.read(n_bytes)):
            parts.append(data)
            n_bytes -= len(data)
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()


class Resumed(io.RawIOBase):
    """A content whose first bytes were read, from its start."""

    def __init__(self, head: bytes, content: Content) -> None:
        self._head, self._content = memoryview(head), content

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        view = memoryview(buffer).cast("B")
        if not len(self._head):
            return self._content.readinto(view)
        n_bytes = min(len(view), len(self._head))
        view[:n_bytes], self._head = self._head[:n_bytes], self._head[n_bytes:]
        return n_bytes


class _Counted:
    """An input that counts the bytes read of it."""

    def __init__(self, file: Any, content: Content) -> None:
        self._file, self._counter = file, content
        self.rewindable = file.rewindable
        self.rewind = file.rewind

    def read(self, n_bytes: int) -> bytes:
        data: bytes = self._file.read(n_bytes)
        self._counter.n_read += len(data)
        return data

    def readinto(self, view: memoryview) -> int:
        n_bytes: int = self._file.readinto(view)
        self._counter.n_read += n_bytes
        return n_bytes


def seekable_file(source: Source, options: ReadSettings) -> Any:
    """Return a path or a file object that can seek: the file itself, or a temporary copy."""
    name = name_of(source)
    if not is_file_object(source) and not is_url(name):
        with contextlib.closing(open_input(source)) as file:
            is_plain = detect(file.peek(MAGIC_BYTES)) not in ("GZIP", "ZSTD", "BZ2")
        if is_plain and not compression_of_name(name):
            return name
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever reads it
    with contextlib.closing(Content(source, options)) as content:
        shutil.copyfileobj(content, copy, 1024 * 1024)
    copy.seek(0)
    return copy


class TargetFile(io.RawIOBase):
    """An output as a file object, compressed if asked; nothing appears before :meth:`commit`."""

    def __init__(self, target: Source, compression: str = "", level: int | None = None) -> None:
        is_path = isinstance(target, (str, os.PathLike))
        is_device = is_path and not is_url(name_of(target)) and _is_special(name_of(target))
        self._output: OutputFile = open_output(target, atomic=is_path and not is_device)
        codec = codec_named(compression)
        settings = Settings(compression_level=level)
        self._compressor = None if codec is None else codec.compressor(settings)
        self._n_bytes = 0
        self.is_ended: bool = False

    @property
    def n_bytes(self) -> int:
        """Bytes in the file so far."""
        return self._n_bytes

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes."""
        view = memoryview(data).cast("B")
        out = view if self._compressor is None else self._compressor.compress(view)
        self._put(out)
        return len(view)

    def _put(self, data: Any) -> None:
        if len(data):
            self._n_bytes += len(data)
            self._output.write([data])

    def tell(self) -> int:
        """Return the number of bytes written; without a compressor, as Arrow's writers need it."""
        return self._n_bytes

    def finish(self) -> None:
        """Write the end of the compressed stream, and what the system still holds."""
        if self._compressor is not None and not self.is_ended:
            self._put(self._compressor.finish())
        self.is_ended = True
        self._output.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._output.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        self._output.abandon()


def _is_special(name: str) -> bool:
    """Return whether a path is of a device or pipe."""
    is_there = os.path.exists(name)  # noqa: PTH110
    return is_there and not (os.path.isfile(name) or os.path.isdir(name))  # noqa: PTH112, PTH113


@contextlib.contextmanager
def reading_of(name: str) -> Iterator[None]:
    """Raise what pyarrow says of a file as an error that names it."""
    pa = imported()
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        detail = f"the file cannot be read: {str(error).strip()}"
        raise argument_error(detail, source=name) from None
