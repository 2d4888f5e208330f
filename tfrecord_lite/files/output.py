"""Open a path, URL or file object to write bytes to it.

Files are written in place, or under a temporary name and moved to their place when complete
(``atomic``, :mod:`tfrecord_lite.files.atomic`), so that nobody ever sees half of one.
Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import reprlib
import stat
from typing import IO, TYPE_CHECKING, cast

from tfrecord_lite.errors import InvalidArgumentError, Reason, plural
from tfrecord_lite.files import locking
from tfrecord_lite.files.atomic import LocalTemporary, RemoteTemporary
from tfrecord_lite.files.names import (
    check_binary,
    is_url,
    name_of,
    not_a_source,
    position_of,
)
from tfrecord_lite.files.remote import remote_file, remote_place

if TYPE_CHECKING:
    from tfrecord_lite.files.atomic import TemporaryFile
    from tfrecord_lite.files.names import Source, StorageOptions


class OutputFile:
    """A file being written, atomically if it has a temporary name."""

    def __init__(
        self,
        name: str,
        file: IO[bytes],
        *,
        owned: bool = True,
        temporary: TemporaryFile | None = None,
    ) -> None:
        self.name = name  # path or URL, for errors
        self._file = file
        self._owned = owned  # to be closed here
        self._temporary = temporary
        self._place: str | None = None  # where commit has moved it, or was about to
        self._is_done = False
        self._sync_error: OSError | None = None
        self._process = os.getpid()
        # Where the next write goes in a local file; None for others, which know it themselves.
        self._offset = position_of(file) if owned and isinstance(file, io.FileIO) else None

    def keep(self, n_bytes: int) -> None:
        """Keep the first `n_bytes` of a file to append to, and write after them."""
        size = os.fstat(self._file.fileno()).st_size
        if n_bytes < size:  # what cannot be cut need not be: a device
            self._file.truncate(n_bytes)
        self._offset = self._file.seek(n_bytes) if self._offset is not None else None

    def write(self, pending: list[bytes | bytearray | memoryview]) -> None:
        """Write all of `pending`, and remove each item from the list when it is written.

        After a failure, the next call continues with the items that are left.

        Raises
        ------
        OSError
            With the file's name; a local file then ends after the last item written whole.
            BlockingIOError if a non-blocking file takes no more at the moment.
        """
        while pending:
            left = memoryview(pending[0])
            try:
                if self._offset is not None:  # overwrite an interrupted write
                    self._file.seek(self._offset)
                while left:
                    left = left[self._put(left) :]
                    if self._offset is None:  # a pipe's bytes cannot be overwritten
                        pending[0] = left
            except OSError as error:
                if self._offset is not None:
                    with contextlib.suppress(OSError):  # a device cannot be cut
                        self._file.truncate(self._offset)
                raise self._named(error) from None
            n_bytes = len(pending[0])
            # No call from here on, so that an interrupt finds both done, or neither.
            if self._offset is not None:
                self._offset += n_bytes
            del pending[0]

    def _put(self, data: memoryview) -> int:
        """Hand bytes to the file; return how many it took, at least one."""
        try:
            n_bytes = self._file.write(data)
        except BlockingIOError as error:  # of a buffer that has room for a part only
            if not error.characters_written:
                raise
            return error.characters_written
        if n_bytes is None and isinstance(self._file, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "non-blocking, and takes no more now")
        if n_bytes == 0:
            detail = f"its write() has taken none of {plural(len(data), 'byte')}"
            raise OSError(errno.EIO, detail)
        if n_bytes is not None and not (hasattr(n_bytes, "__index__") and n_bytes > 0):
            detail = f"its write() returned {reprlib.repr(n_bytes)}, expected a number of bytes"
            raise OSError(errno.EIO, detail)
        # Objects that return None have taken all.
        return len(data) if n_bytes is None else n_bytes

    def _named(self, error: OSError) -> OSError:
        if error.errno is None or error.filename is not None:
            return error
        return OSError(error.errno, error.strerror, self.name)

    def flush(self) -> None:
        """Hand everything to the operating system or the remote store's client."""
        try:
            if hasattr(self._file, "flush"):
                self._file.flush()
        except OSError as error:
            raise self._named(error) from None

    def finish(self) -> None:
        """Close the file, an atomic one after a sync to the disk. May be called twice.

        Raises
        ------
        OSError
            If it cannot be closed or synced. A failed sync is final: the system may have
            dropped what it could not store, and report success when asked again.
        """
        if self._sync_error is not None:
            raise self._sync_error
        if self._owned and self._file.closed:
            return
        self.flush()
        if self._temporary is not None and isinstance(self._file, io.FileIO):
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                self._sync_error = self._named(error)
                raise self._sync_error from None
        try:
            self._close()
        except OSError as error:
            raise self._named(error) from None

    def _close(self) -> None:
        if self._owned:
            if isinstance(self._file, io.FileIO) and not self._file.closed:
                locking.unlock(self._file)
            self._file.close()

    def commit(self, name: str | None = None) -> None:
        """Move a finished atomic file to its place, or to `name`.

        May be called twice, also if the first call was interrupted anywhere.
        """
        if self._temporary is not None and not self._is_done and self.belongs_here:
            self._place = name or self.name
            self._temporary.move_to(self._place)
            self._is_done = True

    def replaces(self, name: str) -> bool:
        """Whether :meth:`commit` would replace a file."""
        return self._temporary is not None and self._temporary.is_taken(name)

    @property
    def is_placed(self) -> bool:
        """Whether :meth:`commit` has moved it to its place, even if interrupted then."""
        if self._temporary is None or self._place is None:
            return False
        return self._temporary.is_at(self._place)

    def take_back(self) -> None:
        """Undo :meth:`commit`, even one that was interrupted."""
        if self._temporary is not None and self._place is not None:
            self._is_done = False
            self._temporary.move_back(self._place)
            self._place = None

    def abandon(self) -> None:
        """Close the file; remove an atomic one that was not committed.

        Do nothing in a process that was forked from the one that opened it.
        """
        if not self.belongs_here:
            return
        try:
            with contextlib.suppress(OSError):
                self._close()
        finally:
            if self._temporary is not None:
                self._temporary.remove()

    @property
    def belongs_here(self) -> bool:
        """Whether this process opened the file, not one that it was forked from."""
        return os.getpid() == self._process


def open_output(
    target: Source,
    *,
    atomic: bool = False,
    append: bool = False,
    storage_options: StorageOptions = None,
) -> OutputFile:
    """Open a path or URL, which is created or emptied at once (rule O3), or wrap a file object.

    To append keeps what a local file holds, if it exists, and locks it; call
    :meth:`OutputFile.keep` before the first write.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    InvalidArgumentError
        ``UNSUPPORTED`` for `atomic` or `append` where they are not possible.
    FailedPreconditionError
        ``IN_USE`` for `append` to a file that another writer has open.
    """
    name = name_of(target)
    is_path = isinstance(target, (str, bytes, os.PathLike))
    is_remote = is_path and is_url(name)
    if append and (atomic or is_remote or not is_path):
        detail = "appending needs a local file that is written in place"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    if not is_path:
        if atomic:
            detail = "a file object cannot be renamed when it is complete; give a path"
            raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
        if not hasattr(target, "write"):
            raise TypeError(not_a_source(target))
        check_binary(target, "wb")
        return OutputFile(name, cast("IO[bytes]", target), owned=False)
    if is_remote:
        return _remote_output(name, storage_options, atomic=atomic)
    if atomic:
        return _atomic_output(name)
    if append and (os.path.isfile(name) or not os.path.exists(name)):
        file = io.FileIO(name, "r+b", opener=_open_or_create)
        try:
            locking.lock(file, name)
        except BaseException:
            file.close()
            raise
    else:
        file = io.FileIO(name, "wb")
        locking.lock_if_possible(file)
    return OutputFile(name, cast("IO[bytes]", file))


def _open_or_create(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_CREAT, 0o666)


def _atomic_output(name: str) -> OutputFile:
    """Open a new local file that replaces `name` when it is committed."""
    place = os.path.realpath(name)
    mode = os.stat(place).st_mode if os.path.exists(place) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if mode is not None and not stat.S_ISREG(mode):
        detail = "a device or pipe cannot be replaced; write to it without atomic"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    # The leading dot keeps it out of patterns such as "train-*".
    directory, base = os.path.split(place)
    path = os.path.join(directory, f".{base}.{os.urandom(4).hex()}.tmp")
    temporary = LocalTemporary(path)
    try:
        try:
            file = cast("IO[bytes]", io.FileIO(path, "xb"))
        except OSError as error:
            raise OSError(error.errno, error.strerror, name) from None
        if mode is not None:  # as if the old file had been written to
            with contextlib.suppress(OSError):
                os.chmod(path, stat.S_IMODE(mode))
        return OutputFile(name, file, temporary=temporary)
    except BaseException:
        temporary.remove()
        raise


def remove(name: str | os.PathLike[str], storage_options: StorageOptions = None) -> None:
    """Remove a file, if it exists."""
    name = name_of(name)
    with contextlib.suppress(FileNotFoundError):
        if is_url(name):
            filesystem, path = remote_place(name, storage_options)
            filesystem.rm(path)
        else:
            os.remove(name)


def _remote_output(url: str, storage_options: StorageOptions, *, atomic: bool) -> OutputFile:
    try:
        return _remote_file(url, storage_options, atomic=atomic)
    except NotImplementedError:
        detail = (
            f"{url.partition(':')[0]} URLs cannot be written to; write a local file and upload it"
        )
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=url, detail=detail) from None


def _remote_file(url: str, storage_options: StorageOptions, *, atomic: bool) -> OutputFile:
    if not atomic:
        file = remote_file(url, "wb", storage_options)
        return OutputFile(url, file.open())
    filesystem, path = remote_place(url, storage_options)
    directory, _, base = path.rpartition("/")
    temporary = f"{directory}/.{base}.{os.urandom(4).hex()}.tmp"
    return OutputFile(
        url,
        filesystem.open(temporary, "wb"),
        temporary=RemoteTemporary(filesystem, temporary, storage_options),
    )
