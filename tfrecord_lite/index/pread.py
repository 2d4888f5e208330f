"""Local files that are read at any offset, by any thread, and in forked children.

``pread`` takes the offset as an argument, so nobody shares a place in the file. A
handle closes its file when nothing refers to it any more: whoever reads from one
that was put out of the pool meanwhile still may.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

from tfrecord_lite.errors import FailedPreconditionError, Reason

if TYPE_CHECKING:
    from tfrecord_lite.index.index import Stamp

__all__ = ["Handle", "Pool"]

_MOST_OPEN = 64
"""How many files a pool keeps open."""
_MOST_AT_ONCE = 1 << 30
"""Linux reads no more than 2 GiB with one call."""


class Handle:
    """One open local file.

    Parameters
    ----------
    name : str
        Its path.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe or a device.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        mode = self.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(mode):
            detail = "random access needs a regular file; copy it into one"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)

    def stat(self) -> os.stat_result:
        """Return size, times and mode as they are now."""
        return os.fstat(self._fd)

    def read(self, n_bytes: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file."""
        return os.pread(self._fd, n_bytes, offset)

    def readinto(self, view: memoryview, offset: int) -> int:
        """Fill `view` from an offset on; return how many bytes there were."""
        done = 0
        while done < len(view):
            part = view[done : done + _MOST_AT_ONCE]
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


class Pool:
    """The open files of a reader, opened when first needed, the longest unused closed.

    Parameters
    ----------
    names : list of str
    stamps : list of Stamp
        What each file looked like when its index was made.
    """

    def __init__(self, names: list[str], stamps: list[Stamp]) -> None:
        self._names = names
        self._stamps = stamps
        self._open: dict[int, Handle] = {}
        self._lock = threading.Lock()

    def handle(self, number: int) -> Handle:
        """Return file `number`, open.

        Raises
        ------
        FailedPreconditionError
            ``STALE_INDEX`` if it is not the file that the index was made of.
        """
        # A child that was forked while a thread held the lock makes a pool of its own
        # (``TFRecordFile`` looks at the process), so this never waits for a thread that is gone.
        with self._lock:
            handle = self._open.pop(number, None)
            if handle is None:
                handle = Handle(self._names[number])
                self._stamps[number].check(handle)
            self._open[number] = handle  # now the youngest
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
            return handle

    def close(self) -> None:
        """Let go of all files; they are opened again when needed."""
        with self._lock:
            self._open.clear()
