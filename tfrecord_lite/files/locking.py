"""Advisory locks on local files, so that no two writers add to one of them.

The lock is ``flock``'s: it belongs to the open file, not to the process, so a second writer
of the same process meets it too, and another reader of the file, when it is closed, does not
let it go, as it would with POSIX's record locks. It ends with the process, however that ends.

A process that is forked shares the open files of its parent, and would keep their locks when
that ends. So it closes its copies at once, which leaves the parent's as they are: its writers
are refused there in any case, see :class:`tfrecord_lite.records.sink.RecordSink`.

There is none on Windows, nor on file systems that have no such locks.
"""

from __future__ import annotations

import contextlib
import os
import stat
import weakref
from typing import TYPE_CHECKING

from tfrecord_lite.errors import FailedPreconditionError, Reason

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import io

_FILES: weakref.WeakSet[io.FileIO] = weakref.WeakSet()
"""What this process has locked, or is about to."""


def lock(file: io.FileIO, name: str) -> None:
    """Lock a file that was just opened, or refuse to.

    Parameters
    ----------
    file : io.FileIO
        The file; the lock ends when it is closed, by :func:`let_go`, or with the process.
        A process forked from this one finds the file closed.
    name : str
        Its path.

    Raises
    ------
    FailedPreconditionError
        ``IN_USE`` if it is locked already, or another file has taken its place meanwhile.
    """
    if fcntl is None:
        return
    _FILES.add(file)  # before it is locked, since another thread may fork
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        detail = "another writer has it open; add to it when that one is closed"
        raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail) from None
    except OSError:  # a file system without locks
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            return
    detail = "another file has taken its place since it was opened; try again"
    raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail)


def hold(file: io.FileIO) -> None:
    """Lock a file if that can be done, so that :func:`lock` refuses it to others."""
    if fcntl is not None and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        _FILES.add(file)
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def let_go(file: io.FileIO) -> None:
    """End a lock at once, whoever else has the open file.

    A forked process must not call this: the lock that ends is its parent's.
    """
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _close_all() -> None:
    """Close a forked process's copies of the locked files; to unlock would unlock them all."""
    for file in list(_FILES):
        with contextlib.suppress(OSError):
            file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
