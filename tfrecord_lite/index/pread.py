"""Local files read at any offset, by any thread and in forked children.

Remote ones are :mod:`tfrecord_lite.index.remote`'s; handles and stamps are the same for both.

``pread`` takes the offset as an argument, so readers share no position in the file. A handle
closes its file when the last reference to it is dropped, so a thread can finish reading with a
handle that the pool has dropped.

:func:`read_frames` reads many frames into one buffer, with one call per run of frames that are
adjacent in the file. :func:`~tfrecord_lite.records.framing.first_bad_frame` checks the result.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.names import is_url, opening_error
from tfrecord_lite.index.remote import RemoteHandle
from tfrecord_lite.records.framing import HEADER_BYTES

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint8Array
    from tfrecord_lite.files.names import StorageOptions

_MAX_OPEN = 64
"""How many files a pool keeps open."""
_MAX_READ_BYTES = 1 << 30
"""Linux reads no more than 2 GiB with one call."""


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
        """Return the size in bytes as it is now."""
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
            part = view[done : done + _MAX_READ_BYTES]
            n_bytes = os.preadv(self._fd, [part], offset + done)
            if n_bytes == 0:
                break
            done += n_bytes
        return done

    def __del__(self) -> None:
        """Close the file."""
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)


AnyHandle: TypeAlias = "Handle | RemoteHandle"


def open_handle(name: str, storage_options: StorageOptions = None) -> AnyHandle:
    """Open a path or URL."""
    if is_url(name):
        return RemoteHandle(name, storage_options)
    try:
        return Handle(name)
    except OSError as error:
        raise opening_error(error, name) from None


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file looked like at some time, to detect that it has changed."""

    file_bytes: int
    version: int | str | None
    """Of a local file, the time of the last change, nanoseconds since 1970; of a remote one what
    its server says, an entity tag for instance; None if it says nothing."""
    header: bytes
    """The first record's header, 12 bytes; fewer if the file is shorter."""

    @classmethod
    def of(cls, handle: AnyHandle) -> FileStamp:
        """Take the stamp of a file as it is now; of a remote one, as it was when it was opened."""
        return cls(handle.size(), handle.version(), handle.read(HEADER_BYTES, 0))

    def check(self, handle: AnyHandle) -> None:
        """Raise ``STALE_INDEX`` if the file does not look like this now."""
        now = FileStamp.of(handle)
        if now == self:
            return
        if now.file_bytes != self.file_bytes:
            what = f"its size was {self.file_bytes} bytes, now it is {now.file_bytes}"
        elif now.version != self.version:
            what = f"its modification time or version was {self.version}, now it is {now.version}"
        else:
            what = "its first record's header is another"
        detail = f"the file has changed since it was indexed ({what}); make a new TFRecordFile"
        raise FailedPreconditionError(Reason.STALE_INDEX, source=handle.name, detail=detail)


class HandlePool:
    """The open files of a reader: opened when first needed, the least recently used closed.

    A file must look like its stamp when it is opened.
    """

    def __init__(
        self, names: list[str], stamps: list[FileStamp], storage_options: StorageOptions
    ) -> None:
        self._names = names
        self._stamps = stamps
        self._storage_options = storage_options
        self._open: dict[int, Handle] = {}
        self._remote: dict[int, RemoteHandle] = {}  # these take requests to open, and no descriptor
        self._lock = threading.Lock()

    def keep(self, handles: list[RemoteHandle | None]) -> None:
        """Use remote files that looked like their stamps just now."""
        self._remote = {i: handle for i, handle in enumerate(handles) if handle is not None}

    def handle(self, number: int) -> AnyHandle:
        """Return file `number`, open; ``STALE_INDEX`` if it has changed."""
        # A child forked while a thread held the lock would wait for it forever, if
        # ``TFRecordFile`` did not make a new pool in each process.
        if number in self._remote:
            return self._remote[number]
        if is_url(self._names[number]):
            remote = RemoteHandle(self._names[number], self._storage_options)
            self._stamps[number].check(remote)
            return self._remote.setdefault(number, remote)
        with self._lock:
            handle = self._open.pop(number, None)
            if handle is None:
                handle = Handle(self._names[number])
                self._stamps[number].check(handle)
            self._open[number] = handle  # now the most recently used
            if len(self._open) > _MAX_OPEN:
                del self._open[next(iter(self._open))]
            return handle

    def close(self) -> None:
        """Drop all files; they are opened again when needed."""
        with self._lock:
            self._open.clear()
            self._remote.clear()


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
    # A run of frames that are adjacent in the file is read with one call.
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
