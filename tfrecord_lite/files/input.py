"""Open a path, URL or file object to read its bytes in order.

Local files are read with ``pread``: the offset belongs to the reader, not to the file
descriptor, so a reader that is forked reads correctly in each process.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from importlib import import_module
from typing import IO, TypeAlias, cast

from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.files import names
from tfrecord_lite.files.ahead import AheadInput, ReadAhead
from tfrecord_lite.files.remote import RemoteFile

_PIECE_BYTES = 1024 * 1024


class _LocalInput:
    rewindable = True

    def __init__(self, name: str, file: io.FileIO) -> None:
        self.name = name
        self._file = file
        self._offset = 0
        self._size = 0  # when last looked at
        self._begin = 0  # the first offset read

    def readinto(self, view: memoryview) -> int:
        n_bytes = os.preadv(self._file.fileno(), [view], self._offset)
        if n_bytes == 0:
            self._check_end()
        self._offset += n_bytes
        return n_bytes

    def read(self, n_bytes: int) -> bytes:
        data = os.pread(self._file.fileno(), n_bytes, self._offset)
        if not data:
            self._check_end()
        self._offset += len(data)
        return data

    def _check_end(self) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size < self._offset and self._begin < self._offset:
            now = f"it now has {size} bytes, fewer than before"
            detail = f"the file was cut while it was read: {now}"
            raise DataLossError(Reason.TRUNCATED, source=self.name, detail=detail)

    def peek(self, n_bytes: int) -> bytes:
        return os.pread(self._file.fileno(), n_bytes, self._offset)

    def skip(self, n_bytes: int) -> None:
        self._offset += n_bytes
        self._begin = self._offset

    def remaining(self) -> int:
        """Return how many bytes follow, unless the file is cut; 0 if that is not known."""
        if self._size <= self._offset:
            self._size = os.fstat(self._file.fileno()).st_size
        return max(self._size - self._offset, 0)

    def rewind(self) -> None:
        self._offset = self._begin = 0

    def close(self) -> None:
        self._file.close()


class _ObjectInput:
    """A file object, a pipe or a remote file; it need not be able to seek."""

    def __init__(self, name: str, file: IO[bytes], *, owned: bool) -> None:
        self.name = name
        self._file = file
        self._owned = owned
        self._ahead = b""  # peeked at, but not taken
        self._start = names.position_of(file)
        self.rewindable: bool = self._start is not None

    def readinto(self, view: memoryview) -> int:
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, n_bytes: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
            return data
        return self._read_on(n_bytes)

    def _read_on(self, n_bytes: int) -> bytes:
        data = self._file.read(n_bytes)
        if data is None:
            detail = "the file object is non-blocking and has no data yet"
            raise BlockingIOError(errno.EAGAIN, detail, self.name)
        if not isinstance(data, bytes):
            detail = f"{self.name} must return bytes, not {type(data).__name__}"
            raise TypeError(f'{detail}; open it in binary mode, "rb"')
        return data

    def peek(self, n_bytes: int) -> bytes:
        while len(self._ahead) < n_bytes:
            more = self._read_on(n_bytes - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:n_bytes]

    def skip(self, n_bytes: int) -> None:
        while n_bytes and (self._ahead or not self.rewindable):
            data = self.read(min(n_bytes, _PIECE_BYTES))
            n_bytes = n_bytes - len(data) if data else 0
        if n_bytes:
            self._file.seek(n_bytes, io.SEEK_CUR)

    def remaining(self) -> int:
        return 0

    def rewind(self) -> None:
        self._ahead = b""
        names.seek_to(self._file, self._start)

    def close(self) -> None:
        if self._owned:
            self._file.close()


InputFile: TypeAlias = "_LocalInput | _ObjectInput | AheadInput"


def open_seekable(
    name: str,
    storage_options: names.StorageOptions = None,
    block_bytes: int | None = None,
    *,
    is_fresh: bool = False,
) -> IO[bytes]:
    """Open a path or URL to read at any offset: ``read``, ``seek``, ``tell`` and ``close``.

    Of a URL, `block_bytes` beyond what is read are fetched, or what its client finds right; what the client
    keeps of folders is good enough, unless `is_fresh`. Raises, also when it is read, as :func:`open_input`.
    """
    if not names.is_url(name):
        return cast("IO[bytes]", io.FileIO(name, "rb"))
    return cast("IO[bytes]", RemoteFile(name, storage_options, block_bytes, is_fresh=is_fresh))


def open_input(
    source: names.Source,
    storage_options: names.StorageOptions = None,
    ahead: ReadAhead | None = None,
    read_ahead: int | None = None,
) -> InputFile:
    """Open one source of :func:`expand` at its first byte; a file object at its position.

    A URL belongs to the files that `ahead` fetches; without one it is fetched alone, `read_ahead` bytes ahead.
    Raises as Python's ``open``; for a URL what its client raises, with the URL as `filename`, ImportError if what
    it needs is not installed, and ValueError if no file system takes it.
    """
    name = names.name_of(source)
    if not isinstance(source, (str, bytes, os.PathLike)):
        names.check_binary(source, "rb")
        return _ObjectInput(name, source, owned=False)
    if names.is_saved(name):
        # Imported by name: what makes Examples of tensors is in a higher layer.
        file = import_module("tfrecord_lite.saved.read").ExampleFile(name, storage_options)
        return _ObjectInput(name, file, owned=True)
    if names.is_url(name):
        is_owner = ahead is None
        ahead = ahead or ReadAhead(storage_options=storage_options, max_bytes=read_ahead)
        block_bytes = None if read_ahead == 0 else 0
        return ahead.open(name, is_owner=is_owner) or _ObjectInput(
            name, open_seekable(name, storage_options, block_bytes, is_fresh=True), owned=True
        )
    file = io.FileIO(name, "rb")
    if hasattr(os, "preadv") and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return _LocalInput(name, file)
    return _ObjectInput(name, cast("IO[bytes]", file), owned=True)
