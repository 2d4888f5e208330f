"""The compressions a TFRecord file may have, as one table, and the options that name them.

A file is compressed as a whole: the record format knows nothing of it (rule C1). All but ZLIB streams may
be joined; TensorFlow reads neither ZSTD (RFC 8878) nor BZ2. Wherever a compression is named, any of
:data:`COMPRESSION_WORDS` in any letter case will do; this package's own arguments say ``"infer"`` too.

ISA-L (the extra ``fast``) inflates GZIP and ZLIB two to three times as fast as zlib. Writing
always uses zlib, so that a file's bytes never depend on what is installed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias, cast

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error

MEM_LEVEL = 9
"""TensorFlow's default, and zlib's highest; zlib's own default is 8 (rule O7)."""


class Codec(NamedTuple):
    """One row of the table."""

    name: str
    is_start: Callable[[bytes], bool]
    """Whether one or more bytes can be the start of a stream."""
    decompressor: Callable[[], Any]
    """Makes a decompressor of one stream, with the interface of :class:`bz2.BZ2Decompressor`."""
    compressor: Callable[[TFRecordOptions], Compressor]
    errors: Callable[[], tuple[type[Exception], ...]]
    """What its decompressor raises for corrupt data."""
    endings: tuple[str, ...]
    """Endings of names, in lower case; the first is the usual one."""
    words: tuple[str, ...]
    """What shells and other libraries call it, in lower case."""
    magic: bytes = b""
    """The first bytes of every stream with content."""
    joinable: bool = True
    """Whether streams may follow each other in one file, and so be appended."""


class _Zlib:
    """A zlib or gzip decompressor, with the interface of bz2's."""

    def __init__(self, window_bits: int) -> None:
        self._window_bits = window_bits
        self._inner: Any = None
        self._was_full = False  # the last call gave all it was allowed to: there may be more

    @property
    def eof(self) -> bool:
        return self._inner is not None and bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return self._inner is None or not (self._inner.unconsumed_tail or self._was_full)

    @property
    def unused_data(self) -> bytes:
        return b"" if self._inner is None else bytes(self._inner.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._inner is None:
            # ISA-L misreads a gzip header that arrives in pieces and has optional parts other
            # than a name (flags, the fourth byte: 8).
            is_plain = self._window_bits < _GZIP_BITS or data[3:4] in (b"\0", b"\x08")
            module = _inflate_module() if is_plain else zlib
            self._inner = module.decompressobj(self._window_bits)
        out = bytes(self._inner.decompress(self._inner.unconsumed_tail + data, max_length))
        self._was_full = len(out) == max_length
        return out


def _inflate_module() -> Any:
    try:
        from isal import isal_zlib  # noqa: PLC0415 - optional, and only to read compressed files
    except ImportError:
        return zlib
    return isal_zlib


def _zlib_errors() -> tuple[type[Exception], ...]:
    return (zlib.error, _inflate_module().error)


@contextlib.contextmanager
def _checking(library: str, options: TFRecordOptions) -> Iterator[None]:
    """Raise a library's error about settings out of range as one of ours."""
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise argument_error(f"{library} rejects {options!r}: {error}") from None


class _FlushedCompressor(NamedTuple):
    """Takes data and returns what is ready of the stream, often nothing; `flush` makes all readable (rule O6)."""

    inner: Any
    flush_mode: int
    end_mode: int

    def compress(self, data: bytes | bytearray | memoryview) -> bytes:
        return bytes(self.inner.compress(data))

    def flush(self) -> bytes:
        return bytes(self.inner.flush(self.flush_mode))

    def finish(self) -> bytes:
        return bytes(self.inner.flush(self.end_mode))


def _zlib_compressor(options: TFRecordOptions, window_bits: int) -> Compressor:
    """Use TensorFlow's defaults (rules O7, O8) for what the options do not say."""
    known = options.flush_mode in (zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)
    flush_mode = cast("int", options.flush_mode) if known else zlib.Z_PARTIAL_FLUSH

    def given(value: int | None, default: int) -> int:
        return default if value is None else value

    with _checking("zlib", options):
        inner = zlib.compressobj(
            given(options.compression_level, -1),
            given(options.compression_method, zlib.DEFLATED),
            given(options.window_bits, window_bits),
            given(options.mem_level, MEM_LEVEL),
            given(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )
    return _FlushedCompressor(inner, flush_mode, zlib.Z_FINISH)


class _Bz2Compressor:
    """A bz2 compressor whose flush ends one stream and begins the next: bz2 has no other."""

    def __init__(self, options: TFRecordOptions) -> None:
        self._level = 9 if options.compression_level is None else options.compression_level
        with _checking("bz2", options):
            self._inner = import_module("bz2").BZ2Compressor(self._level)
        self._is_fresh = True

    def compress(self, data: bytes | bytearray | memoryview) -> bytes:
        self._is_fresh = self._is_fresh and not data
        return bytes(self._inner.compress(data))

    def flush(self) -> bytes:
        if self._is_fresh:
            return b""
        end = bytes(self._inner.flush())
        self._inner, self._is_fresh = import_module("bz2").BZ2Compressor(self._level), True
        return end

    def finish(self) -> bytes:
        return bytes(self._inner.flush())


Compressor: TypeAlias = _FlushedCompressor | _Bz2Compressor


def _zstd_module() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # noqa: PLC0415 - optional
        else:
            from backports import zstd  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError("ZSTD needs backports.zstd: pip install backports.zstd") from None
    return zstd


def _zstd_compressor(options: TFRecordOptions) -> Compressor:
    with _checking("zstd", options):
        inner: Any = _zstd_module().ZstdCompressor(level=options.compression_level)
    return _FlushedCompressor(inner, inner.FLUSH_BLOCK, inner.FLUSH_FRAME)


def _is_zstd_start(head: bytes) -> bool:
    """Check the magic number of a frame, or of a skippable one, which has 16 (RFC 8878, 3.1.2)."""
    if head[:4] == _ZSTD_MAGIC[: len(head)]:
        return True
    return head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18"[: len(head) - 1]


def _is_zlib_start(head: bytes) -> bool:
    return head[0] & 0x8F == 0x08 and (len(head) < 2 or int.from_bytes(head[:2], "big") % 31 == 0)


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_BITS = 16 + zlib.MAX_WBITS

CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in [
        Codec(
            name="GZIP",
            is_start=lambda head: head[:2] == b"\x1f\x8b"[: len(head)],
            decompressor=lambda: _Zlib(_GZIP_BITS),
            compressor=lambda options: _zlib_compressor(options, _GZIP_BITS),
            errors=_zlib_errors,
            endings=(".gz", ".gzip"),
            words=("gzip", "gz"),
            magic=b"\x1f\x8b\x08",
        ),
        Codec(
            name="ZLIB",
            is_start=_is_zlib_start,
            decompressor=lambda: _Zlib(zlib.MAX_WBITS),
            compressor=lambda options: _zlib_compressor(options, zlib.MAX_WBITS),
            errors=_zlib_errors,
            joinable=False,
            endings=(".zlib", ".zz"),
            words=("zlib", "deflate"),
        ),
        Codec(
            name="ZSTD",
            is_start=_is_zstd_start,
            decompressor=lambda: _zstd_module().ZstdDecompressor(),
            compressor=_zstd_compressor,
            errors=lambda: (_zstd_module().ZstdError,),
            endings=(".zst", ".zstd"),
            words=("zstd", "zst"),
            magic=_ZSTD_MAGIC,
        ),
        Codec(
            name="BZ2",
            is_start=lambda head: head[:3] == b"BZh"[: len(head)],
            decompressor=lambda: import_module("bz2").BZ2Decompressor(),
            compressor=_Bz2Compressor,
            errors=lambda: (OSError, ValueError),
            endings=(".bz2",),
            words=("bz2", "bzip2"),
            magic=b"BZh",
        ),
    ]
}
"""Every compression by its name, except ""."""

COMPRESSION_WORDS: dict[str, str] = {
    "none": "",
    "uncompressed": "",
    **{word: codec.name for codec in CODECS.values() for word in codec.words},
}
"""The name in the table of each word for a compression."""


def codec_named(name: str) -> Codec | None:
    """Return the codec of a name, None for ""; raises for an unknown one (rules O2, C8)."""
    if name == "":
        return None
    if name not in CODECS:
        raise _unknown_error(name)
    return CODECS[name]


def _unknown_error(name: object) -> InvalidArgumentError:
    known = ", ".join(map(repr, ["", *CODECS]))
    detail = f"unknown compression {name!r}, expected one of {known}"
    if name in ("w", "a", "wb", "ab"):
        detail += f"; a mode is a keyword: mode={name[0]!r}"
    return argument_error(detail)


def detect(head: bytes) -> str:
    """Return the compression of a stream by its first bytes, 4 or more; "" for none known."""
    is_long = len(head) >= 2
    return next((c.name for c in CODECS.values() if is_long and c.is_start(head)), "")


class TFRecordCompressionType(IntEnum):
    """The compressions TensorFlow knows, by its numbers (rule O1).

    Examples
    --------
    >>> with TFRecordWriter("names.tfrecord", TFRecordCompressionType.ZLIB) as writer:
    ...     writer.write(b"Ada")
    >>> list(TFRecordReader("names.tfrecord", "ZLIB"))
    [b'Ada']
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


CompressionType: TypeAlias = "TFRecordOptions | TFRecordCompressionType | str | int | None"
"""Every way to name a compression: ``"GZIP"``, 2, an options object; ``"infer"`` or None."""

_NOT_WRITTEN = (".deflate", ".xz", ".lzma", ".snappy", ".lz4", ".br")
"""Endings of compressions that are not written."""

INFER = "infer"
"""When reading: by the first bytes of the file. When writing: by the ending of its name; if that
names none, ``recover`` writes the compression of the damaged file."""


@dataclass(eq=False, repr=False)
class TFRecordOptions:
    """How a file is compressed, by TensorFlow's names.

    Parameters
    ----------
    compression_type : str, int, TFRecordCompressionType, TFRecordOptions or None
        ``""`` or None for none, ``"ZLIB"``, ``"GZIP"``; also ``"ZSTD"`` and
        ``"BZ2"``, which TensorFlow cannot read; ``"gz"``, ``"zst"`` and the like in any case.
    flush_mode : int, optional
        What a ``flush`` writes: ``zlib.Z_SYNC_FLUSH`` or ``zlib.Z_FULL_FLUSH``
        instead of ``Z_PARTIAL_FLUSH``, which is TensorFlow's and is the default.
    input_buffer_size, output_buffer_size : int, optional
        Kept, but not used: sizes of TensorFlow's buffers, which do not change a file.
    window_bits : int, optional
        Passed to zlib as it is: 31 makes a ZLIB writer write gzip, a negative number raw
        deflate (rule O8).
    compression_level : int, optional
        0 to 9, or -1 for zlib's default; for ZSTD and BZ2 their own levels.
    compression_method, mem_level, compression_strategy : int, optional
        Passed to zlib as they are.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown `compression_type` (rule O2).

    Notes
    -----
    Readers use the compression type alone (rule O9).

    Examples
    --------
    >>> options = TFRecordOptions("GZIP", compression_level=9)
    >>> TFRecordOptions.get_compression_type_string(options)
    'GZIP'
    """

    compression_type: CompressionType = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    def __post_init__(self) -> None:
        """Check the type of compression."""
        self.get_compression_type_string(self.compression_type)

    @classmethod
    def get_compression_type_string(cls, options: CompressionType) -> str:
        """Return the compression, named in any way, as a string; ``""`` for none (rule O2).

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT``, as ValueError in TensorFlow.

        Examples
        --------
        >>> TFRecordOptions.get_compression_type_string(TFRecordCompressionType.ZLIB)
        'ZLIB'
        """
        while isinstance(options, TFRecordOptions):
            options = options.compression_type
        if not options:
            return ""
        if isinstance(options, str) and options.lower() in COMPRESSION_WORDS:
            return COMPRESSION_WORDS[options.lower()]
        with contextlib.suppress(ValueError):
            number = cast("int", options)  # of any type that equals one
            return TFRecordCompressionType(number).name
        raise _unknown_error(options)

    def __repr__(self) -> str:
        """Return a call that makes these options."""
        values = {k: v for k, v in vars(self).items() if k != "compression_type" and v is not None}
        parts = [repr(self.get_compression_type_string(self))]
        parts += [f"{name}={value!r}" for name, value in values.items()]
        return f"TFRecordOptions({', '.join(parts)})"


def is_infer(compression: CompressionType) -> bool:
    """Whether a compression is to be inferred, from content or name."""
    return isinstance(compression, str) and compression.lower() == INFER


def compression_to_read(compression: CompressionType) -> str | None:
    """Return the name of a compression to read, or None to infer it from the first bytes."""
    if compression is None or is_infer(compression):
        return None
    return TFRecordOptions.get_compression_type_string(compression)


def compression_to_write(name: object, compression: CompressionType) -> TFRecordOptions:
    """Return the options to write a file with; "infer" goes by the ending of a path."""
    if is_infer(compression):
        is_path = isinstance(name, (str, bytes, os.PathLike))
        path = os.fsdecode(name) if is_path else ""  # type: ignore[arg-type]
        compression = compression_of_name(path)
        if ending := ending_not_written(path):
            known = ", ".join(codec.endings[0] for codec in CODECS.values())
            detail = f"cannot compress as {ending} says, only {known}; rename it"
            raise argument_error(f"{detail}, or give the compression, as 'none'", source=path)
    return compression if isinstance(compression, TFRecordOptions) else TFRecordOptions(compression)


def ending_not_written(path: str) -> str:
    """Return the ending of a name if it means a compression that is not written; else ""."""
    ending = os.path.splitext(path)[1]
    return ending if ending.lower() in _NOT_WRITTEN else ""


def compression_of_name(name: str) -> str:
    """Return the compression that the ending of a name means; "" if it is not one of these."""
    return next((c.name for c in CODECS.values() if name.lower().endswith(c.endings)), "")


# ----------------------------------------------------------------------------------- Snappy
#
# As TensorFlow and the package tfrecords frame it, only to read: each raw block follows its size, 4 bytes in
# big-endian order, and begins with the length of what it holds, a varint. It has no checksum, and nothing
# ends the file. So each block is a stream of its own here.

_SNAPPY_HEADER_BYTES = 4
_MOST_HEADER_BYTES = 9
_MOST_EXPANSION = 32
"""More than a block can expand: 3 bytes copy 64 at most."""


def _plain_size(block: bytes) -> tuple[int, int]:
    """Return how many bytes a block says that it holds, a varint, and where its first part begins."""
    size = 0
    for at, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return size, at + 1
    return 0, 0


def _is_snappy_start(head: bytes) -> bool:
    """Check the lengths of a block below 16 MiB; its first part is a literal, as there is nothing to copy yet."""
    if len(head) < _MOST_HEADER_BYTES:
        return head[:1] in (b"", b"\0")
    size = int.from_bytes(head[:_SNAPPY_HEADER_BYTES], "big")
    plain, at = _plain_size(head[_SNAPPY_HEADER_BYTES:])
    is_size = 0 < plain <= size * _MOST_EXPANSION < 2**24 * _MOST_EXPANSION
    at += _SNAPPY_HEADER_BYTES
    is_size = is_size and size <= plain + plain // 6 + 37
    return is_size and at < len(head) and head[at] & 3 == 0


class _Snappy:
    """Inflates one block, with the interface of :class:`bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._piece = b""
        self._ready: memoryview | None = None
        self.unused_data: bytes = b""

    @property
    def eof(self) -> bool:
        return self._ready is not None and not self._ready

    @property
    def needs_input(self) -> bool:
        return self._ready is None

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._ready is None:
            self._piece += data
            stop = _SNAPPY_HEADER_BYTES + int.from_bytes(self._piece[:_SNAPPY_HEADER_BYTES], "big")
            if len(self._piece) < max(stop, _SNAPPY_HEADER_BYTES + 1):
                return b""
            block, self.unused_data = self._piece[_SNAPPY_HEADER_BYTES:stop], self._piece[stop:]
            if _plain_size(block)[0] > len(block) * _MOST_EXPANSION:
                raise ValueError("a block of Snappy says that it holds more than it can")
            self._ready = memoryview(bytes(import_module("cramjam").snappy.decompress_raw(block)))
        out, self._ready = self._ready[:max_length], self._ready[max_length:]
        return out.tobytes()


def _snappy_errors() -> tuple[type[Exception], ...]:
    return (ValueError, import_module("cramjam").DecompressionError)


def _no_snappy_compressor(_: TFRecordOptions) -> Compressor:
    detail = "SNAPPY is only read; write GZIP, ZLIB or ZSTD"
    raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


SNAPPY = Codec(
    name="SNAPPY",
    is_start=_is_snappy_start,
    decompressor=_Snappy,
    compressor=_no_snappy_compressor,
    errors=_snappy_errors,
    endings=(".snappy",),
    words=("snappy",),
)
"""Read where a :class:`~tfrecord_lite.records.stream.RecordStream` recognises it; never named, nor written."""
