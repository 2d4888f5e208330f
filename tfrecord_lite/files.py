"""Open a path, URL or file object, and find what a pattern names: the only I/O.

::

    what the user gave ──expand──> sources ──open_input──> InputFile: read, readinto, peek
                                           ──open_output─> OutputFile: write, sync, commit

A *source* is a local path, a URL (``scheme://``, through fsspec, the extra
``remote``) or an open binary file object. Local files are read with ``pread``:
the offset belongs to the reader, not to the file descriptor, so a reader that
is forked into several processes reads right in each.

Files are written as they are, or beside their place and renamed when complete
(``atomic``), so that nobody ever sees half of one.

Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import os
import re
import stat
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "InputFile",
    "OutputFile",
    "Source",
    "Sources",
    "expand",
    "is_file_object",
    "local_size",
    "name_of",
    "open_input",
    "open_output",
    "position_of",
    "seek_to",
    "shard_names",
]

Source: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes] | IO[bytes]"
Sources: TypeAlias = "Source | Iterable[Source]"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")
_SHARDED = re.compile(r"(?P<stem>.*)@(?P<count>\d+)(?P<suffix>[^@/]*)")
_PATTERN = re.compile(r"[*?\[]")


def shard_names(pattern: str, num_shards: int | None = None) -> list[str] | None:
    """Return the names of all shards that a pattern stands for.

    Parameters
    ----------
    pattern : str
        ``"train@10"``, ``"train@10.tfrecord"``, or with the fields ``{shard}``
        and, if wanted, ``{num_shards}``, as in
        ``"train-{shard:05d}-of-{num_shards:05d}.tfrecord"``.
    num_shards : int, optional
        Needed when the pattern does not say it.

    Returns
    -------
    list of str, or None
        None if `pattern` has neither form.

    Examples
    --------
    >>> shard_names("train@2.tfrecord")
    ['train-00000-of-00002.tfrecord', 'train-00001-of-00002.tfrecord']
    """
    sharded = _SHARDED.fullmatch(pattern)
    if "{shard" in pattern:
        count = num_shards or 0
        return [pattern.format(shard=shard, num_shards=count) for shard in range(count)]
    if sharded is None:
        return None
    stem, suffix, count = sharded["stem"], sharded["suffix"], int(sharded["count"])
    return [f"{stem}-{shard:05d}-of-{count:05d}{suffix}" for shard in range(count)]


def name_of(source: Source) -> str:
    """Return what errors call a source: its path or URL, or the name of a file object."""
    if isinstance(source, (str, bytes, os.PathLike)):
        return os.fsdecode(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


def is_file_object(source: Sources) -> bool:
    """Whether a source is an open file object, and no path or URL."""
    return hasattr(source, "read") and not isinstance(source, (str, bytes, os.PathLike))


def position_of(source: Source) -> int | None:
    """Return where a file object stands; None if it cannot seek, or for a path or URL."""
    try:
        file = cast("IO[bytes]", source)
        return file.tell() if file.seekable() else None
    except (AttributeError, OSError):
        return None


def seek_to(source: Source, position: int | None) -> None:
    """Put a file object where it stood before.

    Raises
    ------
    FailedPreconditionError
        ``NOT_SEEKABLE`` if `position` is None.
    """
    if position is None:
        detail = "the file object cannot seek, so it can be read once only"
        raise FailedPreconditionError(Reason.NOT_SEEKABLE, source=name_of(source), detail=detail)
    cast("IO[bytes]", source).seek(position)


def expand(sources: Sources) -> list[Source]:
    """List every file that paths, patterns and lists of them name.

    Parameters
    ----------
    sources : source, or iterable of sources
        A path or URL may hold ``*``, ``?`` and ``[...]``, or name shards as
        ``train@10``. A file that has exactly that name goes first.

    Returns
    -------
    list of source
        The matches of each pattern sorted, in the order the patterns were given.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing, or nothing was given.
    TypeError
        For anything that is no path, URL or binary file object.
    """
    if isinstance(sources, (str, bytes, os.PathLike)) or is_file_object(sources):
        return _matches(cast("Source", sources))
    try:
        items = list(sources)
    except TypeError:
        raise TypeError(_not_a_source(sources)) from None
    if not items:
        detail = "an empty list of files was given; expected at least one path"
        raise FileNotFoundError(detail)
    return [match for item in items for match in _matches(item)]


def _not_a_source(value: object) -> str:
    return f"expected a path, URL or binary file object, got {type(value).__name__}"


def _matches(source: Source) -> list[Source]:
    if not isinstance(source, (str, bytes, os.PathLike)):
        if not is_file_object(source):
            raise TypeError(_not_a_source(source))
        return [source]
    path = os.fsdecode(source)
    is_url = _URL.match(path) is not None
    if not is_url and os.path.lexists(path):
        return [path]
    if _PATTERN.search(path):
        matches = _remote_glob(path) if is_url else sorted(glob.glob(path, recursive=True))
        if not matches:
            detail = f"no file matches the pattern {path!r}"
            raise FileNotFoundError(detail)
        return list(matches)
    return list(shard_names(path) or [path]) if _SHARDED.fullmatch(path) else [path]


def _fsspec() -> Any:
    try:
        import fsspec  # noqa: PLC0415 - optional
    except ImportError:
        detail = "URLs need an extra package: pip install 'tfrecord-numpy[remote]'"
        raise ImportError(detail) from None
    return fsspec


def _remote_glob(url: str) -> list[str]:
    filesystem, path = _fsspec().core.url_to_fs(url)
    return sorted(filesystem.unstrip_protocol(match) for match in filesystem.glob(path))


def local_size(source: Source) -> int | None:
    """Return the size in bytes of a local file; None if it is not there or not local."""
    if not isinstance(source, (str, bytes, os.PathLike)) or not os.path.isfile(source):
        return None
    return os.path.getsize(source)


class InputFile(Protocol):
    """The bytes of one file, in order. What :func:`open_input` returns."""

    name: str
    rewindable: bool

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes into `view`; return how many, 0 at the end of the file."""

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end of the file."""

    def peek(self, n_bytes: int) -> bytes:
        """Return the next bytes, fewer only at the end of the file, without taking them."""

    def remaining(self) -> int:
        """Return how many bytes follow, unless the file was cut; 0 if that is not known."""

    def rewind(self) -> None:
        """Go back to the first byte."""

    def close(self) -> None:
        """Close what was opened here; a file object that the user gave stays open."""


class _LocalInput:
    """A regular file, read at an offset of our own."""

    rewindable = True

    def __init__(self, name: str, file: io.FileIO) -> None:
        self.name = name
        self._file = file
        self._offset = 0
        self._size = 0  # when last looked at

    def readinto(self, view: memoryview) -> int:
        n_bytes = os.preadv(self._file.fileno(), [view], self._offset)
        self._offset += n_bytes
        return n_bytes

    def read(self, n_bytes: int) -> bytes:
        data = os.pread(self._file.fileno(), n_bytes, self._offset)
        self._offset += len(data)
        return data

    def peek(self, n_bytes: int) -> bytes:
        return os.pread(self._file.fileno(), n_bytes, self._offset)

    def remaining(self) -> int:
        if self._size <= self._offset:
            self._size = os.fstat(self._file.fileno()).st_size
        return max(self._size - self._offset, 0)

    def rewind(self) -> None:
        self._offset = 0

    def close(self) -> None:
        self._file.close()


class _ObjectInput:
    """A file object, a pipe or a remote file; it need not be able to seek."""

    def __init__(self, name: str, file: IO[bytes], *, owned: bool) -> None:
        self.name = name
        self._file = file
        self._owned = owned
        self._ahead = b""  # peeked at and not taken
        self._start = position_of(file)
        self.rewindable = self._start is not None

    def readinto(self, view: memoryview) -> int:
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, n_bytes: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
            return data
        data = self._file.read(n_bytes)
        if not isinstance(data, bytes):
            found = "nothing yet (non-blocking)" if data is None else type(data).__name__
            detail = f"{self.name} must give bytes when read, gave {found}; open it in binary mode"
            raise TypeError(detail)
        return data

    def peek(self, n_bytes: int) -> bytes:
        while len(self._ahead) < n_bytes:
            ahead, self._ahead = self._ahead, b""
            more = self.read(n_bytes - len(ahead))
            self._ahead = ahead + more
            if not more:
                break
        return self._ahead[:n_bytes]

    def remaining(self) -> int:
        return 0

    def rewind(self) -> None:
        self._ahead = b""
        seek_to(self._file, self._start)

    def close(self) -> None:
        if self._owned:
            self._file.close()


def open_input(source: Source) -> InputFile:
    """Open one source for reading.

    Parameters
    ----------
    source : source
        One that :func:`expand` returned.

    Returns
    -------
    InputFile
        At the first byte; at the current one for a file object.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    ImportError
        For a URL, if fsspec is not installed.
    """
    name = name_of(source)
    if not isinstance(source, (str, bytes, os.PathLike)):
        return _ObjectInput(name, source, owned=False)
    if _URL.match(name):
        return _ObjectInput(name, _fsspec().open(name, "rb").open(), owned=True)
    file = io.FileIO(name, "rb")
    if hasattr(os, "preadv") and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return _LocalInput(name, file)
    return _ObjectInput(name, cast("IO[bytes]", file), owned=True)


class OutputFile:
    """A file being written. What :func:`open_output` returns.

    Parameters
    ----------
    name : str
        Path or URL, for errors.
    file : binary file object
        Where the bytes go.
    owned : bool
        Whether to close it.
    commit : callable, optional
        Puts a file that was written beside its place there, given the place.
    discard : callable, optional
        Removes a file that was written beside its place.
    """

    def __init__(
        self,
        name: str,
        file: IO[bytes],
        *,
        owned: bool = True,
        commit: Callable[[str], None] | None = None,
        discard: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._file = file
        self._owned = owned
        self._commit = commit
        self._discard = discard
        # Where the next write goes in a local file; None where that is not for us to say.
        self._offset = position_of(file) if owned and isinstance(file, io.FileIO) else None

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write `data`; on failure take back what was written of it, if possible.

        Returns
        -------
        int
            How many bytes were written: all of them, but before a failure in what
            cannot be taken back (a pipe), which the next call meets.

        Raises
        ------
        OSError
            With the file's name. A local file is as long as it was before.
        """
        left = memoryview(data)
        try:
            if self._offset is not None:  # an interrupted write is written over
                self._file.seek(self._offset)
            while left:
                n_bytes = self._file.write(left)
                left = left[len(left) if n_bytes is None else n_bytes :]
        except OSError as error:
            if self._offset is not None:
                with contextlib.suppress(OSError):  # a device cannot be cut
                    self._file.truncate(self._offset)
            elif len(left) < len(data):
                return len(data) - len(left)
            raise self._named(error) from None
        if self._offset is not None:
            self._offset += len(data)
        return len(data)

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
        """Close the file; one written beside its place is on the disk now, but not in its place.

        Twice is fine.
        """
        if self._owned and self._file.closed:
            return
        self.flush()
        try:
            if self._commit is not None and isinstance(self._file, io.FileIO):
                os.fsync(self._file.fileno())
            if self._owned:
                self._file.close()
        except OSError as error:
            raise self._named(error) from None

    def commit(self, name: str | None = None) -> None:
        """Put a finished file that was written beside its place there, under `name` if given."""
        if self._commit is not None:
            self._commit(name or self.name)

    def abandon(self) -> None:
        """Close the file; if it was written beside its place, remove it."""
        if self._owned:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._discard is not None:
            self._discard()


def open_output(
    target: Source, *, atomic: bool = False, append_at: int | None = None
) -> OutputFile:
    """Open a file for writing.

    Parameters
    ----------
    target : source
        A path or URL, which is created or emptied at once (rule O3), or a
        writable binary file object, which stays open afterwards.
    atomic : bool, optional
        Write beside the place and rename when the file is closed, so that it
        appears complete or not at all.
    append_at : int, optional
        Keep the first so many bytes of a local file and write behind them; with 0, the
        file need not exist.

    Returns
    -------
    OutputFile

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    InvalidArgumentError
        ``UNSUPPORTED`` for `atomic` or `append_at` where they cannot be had.
    """
    name = name_of(target)
    is_path = isinstance(target, (str, bytes, os.PathLike))
    is_url = is_path and _URL.match(name) is not None
    if append_at is not None and (atomic or is_url or not is_path):
        detail = "only a local file that is written in place can be appended to"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    if not is_path:
        if atomic:
            detail = "a file object cannot be renamed when it is complete; give a path"
            raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
        if not hasattr(target, "write"):
            raise TypeError(_not_a_source(target))
        return OutputFile(name, cast("IO[bytes]", target), owned=False)
    if is_url:
        return _remote_output(name, atomic=atomic)
    if append_at:
        file = io.FileIO(name, "r+b")
        file.truncate(append_at)
        file.seek(append_at)
        return OutputFile(name, cast("IO[bytes]", file))
    if not atomic:
        return OutputFile(name, cast("IO[bytes]", io.FileIO(name, "wb")))
    return _beside(name)


def _beside(name: str) -> OutputFile:
    """Open a new local file that takes the place of `name` when it is committed."""
    place = os.path.realpath(name)
    mode = os.stat(place).st_mode if os.path.exists(place) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if mode is not None and not stat.S_ISREG(mode):
        detail = "a device or pipe cannot be replaced; write in place, without atomic"
        raise InvalidArgumentError(Reason.UNSUPPORTED, source=name, detail=detail)
    # The leading dot keeps it out of patterns such as "train-*".
    directory, base = os.path.split(place)
    temporary = os.path.join(directory, f".{base}.{os.urandom(4).hex()}.tmp")

    def commit(final: str) -> None:
        os.replace(temporary, os.path.realpath(final))
        _sync_directory(directory)

    def discard() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)

    try:
        file = cast("IO[bytes]", io.FileIO(temporary, "xb"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None
    if mode is not None:  # as if the old file had been written to
        with contextlib.suppress(OSError):
            os.chmod(temporary, stat.S_IMODE(mode))
    return OutputFile(name, file, commit=commit, discard=discard)


def _sync_directory(path: str) -> None:
    """Make a new name in a directory as durable as the file's content, where that can be done."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):
        os.fsync(directory)
    os.close(directory)


def _remote_output(url: str, *, atomic: bool) -> OutputFile:
    if not atomic:
        return OutputFile(url, _fsspec().open(url, "wb").open())
    filesystem, path = _fsspec().core.url_to_fs(url)
    directory, _, base = path.rpartition("/")
    temporary = f"{directory}/.{base}.{os.urandom(4).hex()}.tmp"

    def commit(final: str) -> None:
        filesystem.mv(temporary, _fsspec().core.url_to_fs(final)[1])

    def discard() -> None:
        with contextlib.suppress(FileNotFoundError):
            filesystem.rm(temporary)

    return OutputFile(url, filesystem.open(temporary, "wb"), commit=commit, discard=discard)
