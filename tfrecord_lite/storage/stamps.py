"""Of which data a sidecar speaks: their size, and a checksum of how they begin.

Two files cannot appear at once. A sidecar that names its data can appear first: whatever
a crash leaves, other data than its own are told, and never read by it.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import local_size, remote_place

if TYPE_CHECKING:
    from tfrecord_lite.files.output import OutputFile

__all__ = ["Stamp", "Stamped", "stamp_of"]

Stamp: TypeAlias = dict[str, int]
"""``bytes``, the size of the file; ``crc32_of_head``, of its first 64 KiB."""

_HEAD_BYTES = 64 * 1024


class Stamped:
    """A file object to write to, that makes the stamp of what is written.

    Parameters
    ----------
    file : OutputFile
    """

    def __init__(self, file: OutputFile) -> None:
        self.name = file.name
        self._file = file
        self._n_bytes = 0
        self._crc32 = 0
        self._is_wanted = True

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of `data`."""
        view = memoryview(data).cast("B")
        if self._is_wanted:
            self._file.write([view])
            if self._n_bytes < _HEAD_BYTES:
                self._crc32 = zlib.crc32(view[: _HEAD_BYTES - self._n_bytes], self._crc32)
            self._n_bytes += len(view)
        return len(view)

    def abandon(self) -> None:
        """Remove the file; what is written from now on goes nowhere."""
        self._is_wanted = False
        self._file.abandon()

    @property
    def stamp(self) -> Stamp:
        """Of what was written so far."""
        return {"bytes": self._n_bytes, "crc32_of_head": self._crc32}


def stamp_of(name: str) -> Stamp:
    """Return the stamp of a file, by its path or URL.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    """
    file = open_input(name)
    n_bytes = crc32 = 0
    try:
        while n_bytes < _HEAD_BYTES and (data := file.read(_HEAD_BYTES - n_bytes)):
            crc32 = zlib.crc32(data, crc32)
            n_bytes += len(data)
    finally:
        file.close()
    if n_bytes == _HEAD_BYTES:
        n_bytes = _size_of(name)
    return {"bytes": n_bytes, "crc32_of_head": crc32}


def _size_of(name: str) -> int:
    size = local_size(name)
    if size is not None:
        return size
    filesystem, path = remote_place(name)
    return int(filesystem.size(path))
