"""Advisory locks on local files, so that no two writers append to one file.

The lock is ``flock``'s. It belongs to the open file, not to the process: a second writer of the
same process meets it too, and closing another reader of the file does not release it, as it
would with POSIX's record locks. It ends with the process, however that ends.

A forked process shares the open files of its parent, and would keep their locks when the parent
ends. So it closes its copies at once, which leaves the parent's open; writers of the parent
cannot be used there in any case, see :class:`tfrecord_lite.records.sink.RecordSink`.

There are no locks on Windows, nor on file systems without them.
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
"""The files that this process has locked, or is about to."""


def lock(file: io.FileIO, name: str) -> None:
    """Lock the file `name` that was just opened, until it is closed or :func:`unlock` is called.

    A process forked from this one finds the file closed.

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
        detail = "another writer has the file open; append when that writer is closed"
        raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail) from None
    except OSError:  # a file system without locks
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
            return
    detail = "another file has taken the file's place since it was opened; try again"
    raise FailedPreconditionError(Reason.IN_USE, source=name, detail=detail)


def lock_if_possible(file: io.FileIO) -> None:
    """Lock a file if that can be done, so that :func:`lock` raises in others."""
    if fcntl is not None and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        _FILES.add(file)
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(file: io.FileIO) -> None:
    """End a lock at once, whoever else has the open file; never in a forked process."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _close_all() -> None:
    """Close a forked process's copies of the locked files; unlocking would unlock the parent's."""
    for file in list(_FILES):
        with contextlib.suppress(OSError):
            file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
