"""Files read at any offset, by any thread and in forked children.

``pread`` takes the offset as an argument, so readers share no position in a local file; frames that are
adjacent are read with one call. Every request to a remote file takes tens of milliseconds however little
it asks for, so frames with a small gap between them are fetched by one request, and all requests of a
call are made at once, also those to several files.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from tfrecord_lite.arrays import ByteRanges, Int64Array, Uint8Array, scatter
from tfrecord_lite.block import HEADER_BYTES
from tfrecord_lite.errors import FailedPreconditionError, Reason, TFRecordError
from tfrecord_lite.files import remote
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import StorageOptions, is_saved, is_url, opening_error

AnyError = TypeVar("AnyError", OSError, TFRecordError)

_MAX_READ_BYTES = 1 << 30
"""Linux reads no more than 2 GiB with one call."""
MAX_GAP_BYTES = 64 * 1024
"""Frames with at most this many bytes between them are fetched together."""
MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""A request for several frames asks for about this much."""
_COPY_BYTES = 1024 * 1024


class Handle:
    """One open local file; raises as :func:`open`, and ``UNSUPPORTED`` for a pipe or device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        mode = os.fstat(self._fd).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(mode):
            detail = "random access needs a regular file; copy it into one"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)

    def size(self) -> int:
        """Return the current size in bytes."""
        return os.fstat(self._fd).st_size

    def version(self) -> int:
        """Return the time of the last change, nanoseconds since 1970."""
        return os.fstat(self._fd).st_mtime_ns

    def read(self, n_bytes: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file."""
        return os.pread(self._fd, n_bytes, offset)

    def readinto(self, view: memoryview, offset: int) -> int:
        """Fill `view` from an offset on; return how many bytes there were."""
        done = 0
        while done < len(view):
            n_bytes = os.preadv(self._fd, [view[done : done + _MAX_READ_BYTES]], offset + done)
            if n_bytes == 0:
                break
            done += n_bytes
        return done

    def explained(self, error: AnyError) -> AnyError:
        """Return an error about what was read."""
        return error

    def __del__(self) -> None:
        """Close the file."""
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)


class RemoteHandle:
    """One remote file; raises as the opening of a local one, and ``UNSUPPORTED`` without ranges."""

    def __init__(self, url: str, storage_options: StorageOptions) -> None:
        self.name = url
        self.filesystem: Any
        self.path: str
        with remote.as_os_errors(url, ValueError, ImportError):
            self.filesystem, self.path = remote.remote_place(url, storage_options)
            info: dict[str, Any] = remote.again(lambda: self.filesystem.info(self.path))
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)
        state = remote.FileState.of(info)
        if state.size is None:
            raise _no_ranges_error(url)
        self._size: int = state.size
        self._state = state

    def size(self) -> int:
        """Return the size in bytes, as of when it was opened."""
        return self._size

    def version(self) -> str | None:
        """Return what identifies this content; None if the file system does not say."""
        return self._state.version

    def explained(self, error: AnyError) -> AnyError:
        """Return an error about what was read; it says so if the file is another by now."""
        try:
            remote.forget(self.filesystem, self.path)
            has_changed = remote.FileState.of(self.filesystem.info(self.path)) != self._state
        except Exception:  # noqa: BLE001 - the first error is the one to raise
            has_changed = False
        if not has_changed:
            return error
        change = "the file has changed since it was opened"
        if isinstance(error, TFRecordError):
            return error.at(detail=f"{error.detail or error.reason}; {change}")
        return type(error)(error.errno, f"{error.strerror}; {change}", self.name)

    def read(self, n_bytes: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file."""
        (data,) = _fetch([(self, offset, min(offset + n_bytes, self._size))])
        return data


AnyHandle: TypeAlias = "Handle | RemoteHandle"


class SavedHandle(Handle):
    """The Examples of a saved data set, kept in a file without a name."""

    def __init__(self, name: str) -> None:
        from tempfile import TemporaryFile  # noqa: PLC0415 - for it alone

        super().__init__(name)
        self._version = super().version()
        with TemporaryFile() as file, closing(open_input(name)) as examples:
            while data := examples.read(_COPY_BYTES):
                file.write(data)
            file.flush()
            os.dup2(file.fileno(), self._fd, inheritable=False)

    def version(self) -> int:
        """Return the time of the last change of the data set."""
        return self._version


def local_handle(name: str) -> Handle:
    """Open a path to read records by number."""
    try:
        return SavedHandle(name) if is_saved(name) else Handle(name)
    except OSError as error:
        raise opening_error(error, name) from None


def open_handle(name: str, storage_options: StorageOptions = None) -> AnyHandle:
    """Open a path or URL; ``UNSUPPORTED`` for a saved data set, whose records have no places."""
    if is_saved(name):
        detail = "the records of a saved data set are made while they are read, in order"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)
    return RemoteHandle(name, storage_options) if is_url(name) else local_handle(name)


class FileStamp(NamedTuple):
    """What a file looked like at some time, to detect that it has changed."""

    file_bytes: int
    version: int | str | None
    """For a local file, the time of the last change, nanoseconds since 1970; for a remote one what
    its server says, an entity tag for instance."""
    header: bytes
    """The first record's header, 12 bytes; fewer if the file is shorter."""

    @classmethod
    def of(cls, handle: AnyHandle) -> FileStamp:
        """Take the stamp of a file as it is now; a remote one, as it was when it was opened."""
        return cls(handle.size(), handle.version(), handle.read(HEADER_BYTES, 0))

    def check(self, handle: AnyHandle) -> None:
        """Raise ``STALE_INDEX`` if the file does not look like this now."""
        if FileStamp.of(handle) != self:
            detail = "the file has changed since it was indexed: its size, time or first header; "
            detail += "make a new TFRecordFile"
            raise FailedPreconditionError(Reason.STALE_INDEX, source=handle.name, detail=detail)


def read_frames(
    handle: Handle, offsets: Int64Array, sizes: Int64Array, out: Uint8Array, at: int
) -> Int64Array:
    """Read frames of one file into `out` from `at` on, end to end, in the order of the file.

    `offsets` and `sizes`, shape (n,), are in any order; bytes after the end of the file are zero.
    Returns where in `out` each frame starts, int64, shape (n,).
    """
    order = np.argsort(offsets, kind="stable")
    starts, lengths = offsets[order], sizes[order]
    stops = np.cumsum(lengths)
    places = np.empty_like(offsets)
    places[order] = at + stops - lengths
    is_run_start = np.empty(starts.size, np.bool_)
    is_run_start[:1] = True
    np.not_equal(starts[1:], starts[:-1] + lengths[:-1], out=is_run_start[1:])
    firsts = np.flatnonzero(is_run_start)
    begins = places[order][firsts]  # of each run, in `out`
    ends = np.append(begins[1:], at + stops[-1:])
    view = memoryview(out)  # type: ignore[arg-type]
    runs = zip(begins.tolist(), ends.tolist(), starts[firsts].tolist(), strict=True)
    for begin, end, offset in runs:
        n_bytes = handle.readinto(view[begin:end], offset)
        if n_bytes < end - begin:
            out[begin + n_bytes : end] = 0
    return places


class RemoteFrames(NamedTuple):
    """Frames of one file, and where they go, in any order; the arrays have the shape (n,)."""

    handle: RemoteHandle
    offsets: Int64Array
    sizes: Int64Array
    places: Int64Array


def read_remote_frames(parts: Sequence[RemoteFrames], out: Uint8Array) -> None:
    """Read frames of several files to their places in `out`; bytes after a file's end are zero."""
    plan = [(part, *request) for part in parts for request in _requests(part)]
    ranges = [(part.handle, start, min(stop, part.handle.size())) for part, _, start, stop in plan]
    for (part, frames, start, stop), answer in zip(plan, _fetch(ranges), strict=True):
        data = np.zeros(stop - start, np.uint8)
        data[: len(answer)] = np.frombuffer(answer, np.uint8)
        frame_bytes = ByteRanges(data, part.offsets[frames] - start, part.sizes[frames])
        scatter(out, part.places[frames], frame_bytes)


def _requests(part: RemoteFrames) -> list[tuple[Int64Array, int, int]]:
    """Return what to fetch: the numbers of the frames, the first byte, and the end."""
    order = np.argsort(part.offsets, kind="stable")
    starts = part.offsets[order]
    ends = np.maximum.accumulate(starts + part.sizes[order])  # a frame may be wanted twice
    is_far = starts[1:] > ends[:-1] + MAX_GAP_BYTES
    is_far |= np.diff(starts // MAX_REQUEST_BYTES) > 0
    splits = np.flatnonzero(is_far) + 1
    firsts, lasts = [0, *splits.tolist()], [*(splits - 1).tolist(), -1]
    spans = zip(starts[firsts].tolist(), ends[lasts].tolist(), strict=True)
    return [(group, *span) for group, span in zip(np.split(order, splits), spans, strict=True)]


def _fetch(requests: list[tuple[RemoteHandle, int, int]]) -> list[bytes]:
    answers = [b""] * len(requests)
    by_filesystem: dict[int, list[int]] = {}
    for i, (handle, start, stop) in enumerate(requests):
        if start < stop:
            by_filesystem.setdefault(id(handle.filesystem), []).append(i)
    for chosen in by_filesystem.values():
        handles, starts, stops = zip(*(requests[i] for i in chosen), strict=True)
        paths = [handle.path for handle in handles]
        with remote.as_os_errors(handles[0].name):
            contents = _cat_ranges(handles[0].filesystem, paths, [*starts], [*stops])
        for i, answer in zip(chosen, contents, strict=True):
            answers[i] = _checked(answer, *requests[i])
    return answers


def _cat_ranges(
    filesystem: Any, paths: list[str], starts: list[int], stops: list[int]
) -> list[bytes | Exception]:
    """Fetch ranges of bytes, or errors; what fails for a passing reason is requested again."""
    answers: list[bytes | Exception]
    answers = filesystem.cat_ranges(paths, starts, stops, on_error="return")
    for pause in remote.PAUSES:
        failed = [
            i for i, a in enumerate(answers) if isinstance(a, Exception) and remote.is_passing(a)
        ]
        if not failed:
            break
        time.sleep(pause)
        ranges = ([column[i] for i in failed] for column in (paths, starts, stops))
        retried = filesystem.cat_ranges(*ranges, on_error="return")
        for i, answer in zip(failed, retried, strict=True):
            answers[i] = answer
    return answers


def _checked(answer: bytes | Exception, handle: RemoteHandle, start: int, stop: int) -> bytes:
    if isinstance(answer, Exception):
        raise handle.explained(remote.os_error(answer, handle.name, start)) from answer
    if len(answer) > stop - start:
        raise _no_ranges_error(handle.name)
    if len(answer) < stop - start:
        raise handle.explained(remote.short_error(handle.name, start + len(answer), stop))
    return answer


def _no_ranges_error(url: str) -> FailedPreconditionError:
    detail = "random access needs a server that answers range requests, which this one does not; "
    detail += "download the file, or read it in order"
    return FailedPreconditionError(Reason.UNSUPPORTED, source=url, detail=detail)
