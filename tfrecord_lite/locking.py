"""Advisory locks on local files, so that no two writers add to one of them.

The lock is ``flock``'s: it belongs to the open file, not to the process, so a second writer
of the same process meets it too, and another reader of the file, when it is closed, does not
let it go, as it would with POSIX's record locks. It ends with the process, however that ends.

There is none on Windows, nor on file systems that have no such locks.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from tfrecord_lite.errors import FailedPreconditionError, Reason

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import io

__all__ = ["hold", "let_go", "lock"]


def lock(file: io.FileIO, name: str) -> None:
    """Lock a file that was just opened, or refuse to.

    Parameters
    ----------
    file : io.FileIO
        The file; the lock ends when it is closed in all processes that have it from this one,
        or by :func:`let_go`.
    name : str
        Its path.

    Raises
    ------
    FailedPreconditionError
        ``IN_USE`` if it is locked already, or another file has taken its place meanwhile.
    """
    if fcntl is None:
        return
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
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def let_go(file: io.FileIO) -> None:
    """End a lock at once, also in processes that were forked and have the file still."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)
