"""Snappy as TensorFlow and the package tfrecords frame it; only to read.

Each raw block follows its size, 4 bytes in big-endian order, and begins with the length of what it holds, a
varint. It has no checksum, and nothing ends the file. So each block is a stream of its own here.
"""

from __future__ import annotations

from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason

_HEADER_BYTES = 4
_MOST_HEADER_BYTES = 9
_MOST_EXPANSION = 32
"""More than a block can expand: 3 bytes copy 64 at most."""


def _cramjam() -> Any:
    import cramjam  # noqa: PLC0415 - optional; without it no file is taken for such a one

    return cramjam


def _plain_size(block: bytes) -> tuple[int, int]:
    """Return how many bytes a block says that it holds, a varint, and where its first part begins."""
    size = 0
    for at, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return size, at + 1
    return 0, 0


def is_start(head: bytes) -> bool:
    """Check the lengths of a block below 16 MiB; its first part is a literal, as there is nothing to copy yet."""
    if len(head) < _MOST_HEADER_BYTES:
        return head[:1] in (b"", b"\0")
    size = int.from_bytes(head[:_HEADER_BYTES], "big")
    plain, at = _plain_size(head[_HEADER_BYTES:])
    is_size = 0 < plain <= size * _MOST_EXPANSION < 2**24 * _MOST_EXPANSION
    at += _HEADER_BYTES
    is_size = is_size and size <= plain + plain // 6 + 37
    return is_size and at < len(head) and head[at] & 3 == 0


class Decompressor:
    """Inflates one block, with the interface of :class:`bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._piece = b""
        self._ready: memoryview | None = None
        self.unused_data: bytes = b""

    @property
    def eof(self) -> bool:
        """Whether the whole block was given out."""
        return self._ready is not None and not self._ready

    @property
    def needs_input(self) -> bool:
        """Whether more of the block is needed."""
        return self._ready is None

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take `data` in, and return what is inflated, at most `max_length` bytes."""
        if self._ready is None:
            self._piece += data
            stop = _HEADER_BYTES + int.from_bytes(self._piece[:_HEADER_BYTES], "big")
            if len(self._piece) < max(stop, _HEADER_BYTES + 1):
                return b""
            block, self.unused_data = self._piece[_HEADER_BYTES:stop], self._piece[stop:]
            if _plain_size(block)[0] > len(block) * _MOST_EXPANSION:
                raise ValueError("a block of Snappy says that it holds more than it can")
            self._ready = memoryview(bytes(_cramjam().snappy.decompress_raw(block)))
        out, self._ready = self._ready[:max_length], self._ready[max_length:]
        return out.tobytes()


def errors() -> tuple[type[Exception], ...]:
    """Return what it raises for corrupt data."""
    return (ValueError, _cramjam().DecompressionError)


def compressor(_: Any) -> Any:
    """Raise: files are written with compressions that every reader has."""
    detail = "SNAPPY is only read; write GZIP, ZLIB or ZSTD"
    raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
