"""Open a path, URL or file object to write bytes to it.

Files are written in place, or under a temporary name and moved to their place when complete (``atomic``).
That name, ``.name.77-5a6b7c8d.1f2e3d4c.tmp``, has the number of the process (77) and of the machine, so that the
next atomic write in the folder removes what processes of this machine have left that are gone.

Local files are locked while they are written (``flock``, where there is such a thing), so that no
two writers append to one file; a lock ends with its process, however that ends.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import platform
import re
import stat
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, cast

from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.files import names
from tfrecord_lite.files.remote import as_os_errors, os_error, remote_place
from tfrecord_lite.files.urls import hint, split_name

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]


class _LocalFiles:
    exists = staticmethod(os.path.lexists)
    rm = staticmethod(os.remove)

    @staticmethod
    def mv(old: str, new: str) -> None:
        """Give a file another name, which outlives a power cut if possible."""
        os.replace(old, new)
        if not hasattr(os, "O_DIRECTORY"):
            return
        with contextlib.suppress(OSError):
            directory = os.open(os.path.dirname(new), os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)


class _StoreFiles:
    """The file system of a store, in which a name is never a pattern."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self.exists: Callable[[str], bool] = filesystem.exists

    def rm(self, path: str) -> None:
        try:
            self._filesystem.rm_file(path)
        except NotImplementedError:
            self._filesystem.rm(path)

    def mv(self, old: str, new: str) -> None:
        """Give a file another name; the `mv` of stores would move it into a folder of that name."""
        if "mv" in vars(type(self._filesystem)) and not self._filesystem.async_impl:
            self._filesystem.mv(old, new)
        else:
            self._filesystem.cp_file(old, new)
            self._filesystem.rm_file(old)


class OpenFiles:
    """The local files being written that are open: at most `most`, the last ones used.

    The descriptor of another is closed, and opened again for its next write.
    """

    def __init__(self, most: int = 128) -> None:
        self._most = most
        self._open: dict[OutputFile, None] = {}  # the least recently used first

    def use(self, file: OutputFile) -> None:
        """Count a file as used last; let others rest if there are too many."""
        self._open.pop(file, None)
        self._open[file] = None
        while len(self._open) > self._most:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.rest()


@dataclass(eq=False, repr=False)
class OutputFile:
    """A file being written, under the name `temporary` until :meth:`commit` if it is to appear complete.

    For a remote one `filesystem` is fsspec's, and `place_of` returns the place of a URL in it.
    """

    name: str  # path or URL, for errors
    _file: IO[bytes]
    owned: bool = True  # to be closed here
    temporary: str | None = None
    filesystem: Any = _LocalFiles
    place_of: Callable[[str], str] = os.path.realpath
    open_files: OpenFiles | None = None
    place: str | None = None  # where commit has moved it
    _is_resting: bool = False  # its descriptor is closed
    _final_error: Exception | None = None

    def __post_init__(self) -> None:
        """Count it as open."""
        is_local = self.owned and isinstance(self._file, io.FileIO)
        # Where the next write goes in a local file; None for others.
        self._offset = names.position_of(self._file) if is_local else None
        self._wake()

    def rest(self) -> None:
        """Close the descriptor until the next write."""
        if not self._file.closed:
            self._file.close()
            self._is_resting = True

    def _wake(self) -> None:
        """Open the descriptor again if it rests, and count the file as used."""
        if self._is_resting:
            file = io.FileIO(cast("str", self.temporary), "r+b")
            file.seek(cast("int", self._offset))
            self._file, self._is_resting = cast("IO[bytes]", file), False
        if self.open_files is not None and not self._file.closed:
            self.open_files.use(self)

    def keep(self, n_bytes: int) -> None:
        """Keep the first `n_bytes` of a file to append to, and write after them."""
        size = os.fstat(self._file.fileno()).st_size
        if n_bytes < size:  # what cannot be cut need not be: a device
            self._file.truncate(n_bytes)
        self._offset = self._file.seek(n_bytes) if self._offset is not None else None

    def write(self, pending: list[bytes | bytearray | memoryview]) -> None:
        """Write all of `pending`, and remove each item from the list when it is written.

        After a failure a local file ends after the last item written whole, and the next call
        continues with the items that are left. Raises BlockingIOError if a non-blocking file
        takes no more at the moment.
        """
        if pending:
            self._wake()
        while pending:
            left = memoryview(pending[0])
            try:
                while left:
                    left = left[self._put(left) :]
                    if self._offset is None:  # what a pipe has taken cannot be written over
                        pending[0] = left
            except Exception as error:  # noqa: BLE001 - clients of stores raise any
                if self._offset is not None:
                    with contextlib.suppress(OSError):  # a device cannot be cut
                        self._file.truncate(self._offset)
                        self._file.seek(self._offset)
                named = self._final_error or self._named(error)
                if names.is_url(self.name):  # whose client has given up, and may have kept a part
                    self._final_error = named
                raise named from None
            if self._offset is not None:
                self._offset += len(pending[0])
            del pending[0]

    def _put(self, data: memoryview) -> int:
        n_bytes = self._file.write(data)
        if n_bytes is None and isinstance(self._file, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "non-blocking, and takes no more now")
        if n_bytes == 0:
            raise OSError(errno.EIO, "its write() has taken nothing")
        # Objects that return None have taken all.
        return len(data) if n_bytes is None else n_bytes

    def _named(self, error: Exception) -> Exception:
        if names.is_url(self.name):
            return os_error(error, self.name)
        if not isinstance(error, OSError) or error.filename is not None or error.errno is None:
            return error
        return OSError(error.errno, error.strerror, self.name)

    def flush(self) -> None:
        """Hand everything to the operating system or the remote store's client."""
        try:
            if hasattr(self._file, "flush") and not self._is_resting:
                self._file.flush()
        except Exception as error:  # noqa: BLE001 - clients of stores raise any
            raise self._named(error) from None

    def finish(self) -> None:
        """Close the file, an atomic one after a sync to the disk. May be called twice.

        A failed sync is final: the system may have dropped what it could not store, and report
        success when asked again.
        """
        if self._final_error is not None:
            raise self._final_error
        if self.owned and self._file.closed and not self._is_resting:
            return
        self._wake()
        self.flush()
        try:
            if self.temporary is not None and isinstance(self._file, io.FileIO):
                try:
                    os.fsync(self._file.fileno())
                except OSError as error:
                    self._final_error = self._named(error)
                    raise
            self._close()
        except Exception as error:  # noqa: BLE001 - clients of stores raise any
            raise self._named(error) from None

    def _close(self) -> None:
        self._is_resting = False
        if self.owned and not self._file.closed:
            if fcntl is not None and isinstance(self._file, io.FileIO):
                with contextlib.suppress(OSError):  # at once, whoever else has the open file
                    fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
            self._file.close()

    def commit(self) -> None:
        """Move a finished atomic file to its place. May be called twice."""
        if self.temporary is not None and self.place is None:
            place = self.place_of(self.name)
            with as_os_errors(self.name) if names.is_url(self.name) else contextlib.nullcontext():
                self.filesystem.mv(self.temporary, place)
            self.place = place

    def replaces(self, name: str) -> bool:
        """Whether :meth:`commit` would replace a file of this name."""
        return self.temporary is not None and self.filesystem.exists(self.place_of(name))

    def take_back(self) -> None:
        """Undo :meth:`commit`."""
        if self.place is not None:
            self.filesystem.mv(self.place, self.temporary)
            self.place = None

    def abandon(self) -> None:
        """Close the file; remove what was not committed, also from a store."""
        try:
            with contextlib.suppress(Exception):
                if names.is_url(self.name):
                    self._close_incomplete()
                self._close()
        finally:
            if self.temporary is not None and self.place is None:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self.filesystem.rm(self.temporary)

    def _close_incomplete(self) -> None:
        """Close the file of a store so that nothing of it appears there."""
        from fsspec.implementations.cached import LocalTempFile  # noqa: PLC0415 - loaded for a URL
        from fsspec.spec import AbstractBufferedFile  # noqa: PLC0415

        file: Any = self._file
        if isinstance(file, AbstractBufferedFile | LocalTempFile):  # appears when it is closed
            if not file.closed:
                file.closed = True
                file.discard()
        elif self.temporary is None:
            self._close()
            self.filesystem.rm(self.place_of(self.name))


def open_output(
    target: names.Source,
    *,
    atomic: bool = False,
    append: bool = False,
    storage_options: names.StorageOptions = None,
    open_files: OpenFiles | None = None,
) -> OutputFile:
    """Open a path or URL, which is created or emptied at once (rule O3), or wrap a file object.

    An atomic local file may be among `open_files`. With `append`, what a local file holds is kept, and
    the file is locked; call :meth:`OutputFile.keep` before the first write.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    InvalidArgumentError
        ``UNSUPPORTED`` for `atomic` or `append` where they are not possible.
    FailedPreconditionError
        ``IN_USE`` for `append` to a file that another writer has open.
    """
    name = names.name_of(target)
    is_path = isinstance(target, (str, bytes, os.PathLike))
    is_remote = is_path and names.is_url(name)
    if append and (atomic or is_remote or not is_path):
        detail = "appending needs a local file that is written in place"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    if not is_path:
        if atomic:
            detail = "a file object cannot be renamed when it is complete; give a path"
            raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
        if not hasattr(target, "write"):
            raise TypeError(names.not_a_source(target))
        names.check_binary(target, "wb")
        return OutputFile(name, cast("IO[bytes]", target), owned=False)
    try:
        if is_remote:
            return _remote_output(name, storage_options, atomic=atomic)
        return _atomic_output(name, open_files) if atomic else _plain_output(name, append=append)
    except FileNotFoundError as error:
        raise _with_hint(error, name) from None


def _with_hint(error: FileNotFoundError, name: str) -> OSError:
    return OSError(error.errno, f"{error.strerror}{hint(name)}", name)


def _plain_output(name: str, *, append: bool) -> OutputFile:
    keeps = append and (os.path.isfile(name) or not os.path.exists(name))
    file = io.FileIO(name, "r+b", opener=_open_or_create) if keeps else io.FileIO(name, "wb")
    try:
        _lock(file, name, is_required=keeps)
    except BaseException:
        file.close()
        raise
    return OutputFile(name, cast("IO[bytes]", file))


def _lock(file: io.FileIO, name: str, *, is_required: bool) -> None:
    """Lock a regular file that was just opened; raise ``IN_USE`` if that is required, but fails."""
    if fcntl is None or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if is_required:
            detail = "another writer has the file open; append when that writer is closed"
            raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail) from None
        return
    except OSError:  # a file system without locks
        return
    if not is_required:
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            return
    detail = "another file has taken the file's place since it was opened; try again"
    raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail)


def lock_set(name: str) -> io.FileIO:
    """Lock a set of files by a hidden file beside its first one, until :func:`unlock_set`."""
    directory, base = os.path.split(os.path.realpath(name))
    place = os.path.join(directory, f".{base}.lock")
    try:
        file = io.FileIO(place, "r+b", opener=_open_or_create)
    except FileNotFoundError as error:
        raise _with_hint(error, name) from None
    try:
        _lock(file, place, is_required=True)
    except FailedPreconditionError:
        file.close()
        detail = "another writer has these shards open; write to others, or wait until it is closed"
        raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail) from None
    return file


def unlock_set(file: io.FileIO) -> None:
    """Remove the file of a lock, and end the lock. May be called twice."""
    if not file.closed:
        with contextlib.suppress(OSError):
            os.remove(file.name)
        file.close()


def _open_or_create(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_CREAT, 0o666)


def _atomic_output(name: str, open_files: OpenFiles | None) -> OutputFile:
    place = os.path.realpath(name)
    mode = os.stat(place).st_mode if os.path.exists(place) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if mode is not None and not stat.S_ISREG(mode):
        detail = "a device or pipe cannot be replaced; write to it without atomic"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    # The leading dot keeps it out of patterns such as "train-*".
    directory, base = os.path.split(place)
    _remove_leftovers(directory)
    path = os.path.join(directory, f".{base}.{os.getpid()}-{_MACHINE}.{os.urandom(4).hex()}.tmp")
    try:
        file = cast("IO[bytes]", io.FileIO(path, "xb"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None
    if mode is not None:  # as if the old file had been written to
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(mode))
    return OutputFile(name, file, temporary=path, open_files=open_files)


def _machine() -> str:
    """Return a number for this machine, or container, in which the number of a process is unique."""
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(f'{platform.node()} {space}'.encode()):08x}"


_MACHINE = _machine()
_LEFTOVER = re.compile(rf"\..+\.(\d+)-{_MACHINE}\.[0-9a-f]{{8}}\.tmp")
_next_look: dict[str, float] = {}
"""When a folder may be looked through again, which takes at most a twentieth of the time."""


def _remove_leftovers(directory: str) -> None:
    start = time.monotonic()
    if fcntl is None or start < _next_look.get(directory, 0):
        return
    with contextlib.suppress(OSError), os.scandir(directory or ".") as entries:
        for entry in entries:
            match = _LEFTOVER.fullmatch(entry.name)
            if match is not None and not _is_alive(int(match[1])):
                os.remove(entry.path)
    _next_look[directory] = start + 20 * (time.monotonic() - start)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError)
    return True


def remove(name: str | os.PathLike[str], storage_options: names.StorageOptions = None) -> None:
    """Remove a file, if it exists."""
    name = names.name_of(name)
    with contextlib.suppress(FileNotFoundError):
        if names.is_url(name):
            filesystem, path = remote_place(name, storage_options)
            _StoreFiles(filesystem).rm(path)
        else:
            os.remove(name)


def _remote_output(url: str, storage_options: names.StorageOptions, *, atomic: bool) -> OutputFile:
    try:
        filesystem, path = remote_place(url, storage_options)
        directory, slash, base = path.rpartition("/")
        if split_name(url)[0].endswith("/") or not (slash or "::" in url):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)
        temporary = f"{directory}{slash}.{base}.{os.urandom(4).hex()}.tmp" if atomic else None
        with as_os_errors(url, NotImplementedError, ValueError):
            try:
                file = filesystem.open(temporary or path, "wb")
            except FileNotFoundError:  # no store, where a new name is enough, but folders
                filesystem.makedirs(directory, exist_ok=True)
                file = filesystem.open(temporary or path, "wb")

        def place_of(name: str) -> str:
            return remote_place(name, storage_options)[1]

        own: dict[str, Any] = {"filesystem": _StoreFiles(filesystem), "place_of": place_of}
        return OutputFile(url, file, temporary=temporary, **own)
    except NotImplementedError:
        scheme = url.partition(":")[0]
        detail = f"{scheme} URLs cannot be written to; write a local file and upload it"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=url, detail=detail) from None
