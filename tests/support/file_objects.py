"""File objects that do as little, or fail as badly, as a file object may."""

from __future__ import annotations

import errno
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Pipe(io.RawIOBase):
    """A pipe: bytes once, in order, at most `most` at a time."""

    def __init__(self, data: bytes, most: int = 2**20) -> None:
        self._data = io.BytesIO(data)
        self._most = most

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        raise AssertionError("a pipe was asked to seek")

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        data = self._data.read(min(len(view), self._most))
        view[: len(data)] = data
        return len(data)


class Bare:
    """The minimum of a readable binary file: ``read``, and nothing else."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, n_bytes: int) -> bytes:
        return self._data.read(n_bytes)


class Device(io.RawIOBase):
    """A device with room for that many bytes; None for no limit."""

    def __init__(self, room: int | None = None) -> None:
        self.written = bytearray()
        self.room = room

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        taken = memoryview(data).cast("B")
        if self.room is not None:
            if taken and not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            taken = taken[: self.room]
            self.room -= len(taken)
        self.written += taken
        return len(taken)


class LostConnection(io.BufferedReader):
    """A remote file that raises an error after its first bytes, and when asked for its end."""

    def __init__(self, data: bytes, n_good: int, error: Exception) -> None:
        super().__init__(io.BytesIO(data))
        self._n_good = n_good
        self._error = error

    def read(self, n_bytes: int | None = -1) -> bytes:
        if self.tell() >= self._n_good:
            raise self._error
        return super().read(n_bytes)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == io.SEEK_END:
            raise self._error
        return super().seek(offset, whence)
