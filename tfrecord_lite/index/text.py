"""An index as text: DALI's form, which ``tfrecord2idx`` writes and others read.

::

    0 309
    309 311
    620 304

A line a record: its offset in the file, and its size with head and foot, both in bytes.
The form has no room for what the file looked like, so an index that was loaded is held
against the file: it must not be older, must end where the file ends, and must know the
first record's length.

Which index a file is read by: the one that was named, the one beside it, or a new one.

An index that was named must fit the file. One that merely lies beside it, under its name and
``.idx``, is taken if it fits and is whole; otherwise the file is scanned, as without one.
Only a local file that was given by its path has an index.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.files.output import open_output
from tfrecord_lite.index.index import RecordIndex, scan_file

if TYPE_CHECKING:
    from tfrecord_lite.index.index import Stamp

SUFFIX = ".idx"
"""What a file's name is followed by in the name of its index."""

_LINES_AT_ONCE = 65_536


def save(index: RecordIndex, name: str) -> None:
    """Write an index; a file of that name is replaced, when the new one is complete.

    Parameters
    ----------
    index : RecordIndex
    name : str
        Path of the index.
    """
    output = open_output(name, atomic=True)
    try:
        for first in range(0, len(index), _LINES_AT_ONCE):
            part = slice(first, first + _LINES_AT_ONCE)
            pairs = zip(index.offsets[part].tolist(), index.sizes[part].tolist(), strict=True)
            text = "".join(["%d %d\n" % pair for pair in pairs])  # noqa: UP031 - twice as fast as an f-string
            output.write([text.encode()])
        output.finish()
        output.commit()
    except BaseException:
        output.abandon()
        raise


def load(name: str) -> RecordIndex:
    """Read an index.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if it is not lines of two numbers, or ``BAD_ARGUMENT`` if those
        are no offsets and sizes.
    """
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - as every name here
            is_empty = not file.read(1)
        # A file without lines makes loadtxt warn.
        shape = (0, 2)
        rows = (
            np.empty(shape, np.int64)
            if is_empty
            else np.loadtxt(name, np.int64, comments=None, ndmin=2, encoding="ascii")
        )
    except (ValueError, OverflowError):
        rows = np.empty((1, 0), np.int64)
    if rows.shape[1] != 2:
        detail = "expected lines of two numbers: 'offset size'"
        raise InvalidArgumentError(Reason.MALFORMED, source=name, detail=detail)
    return RecordIndex(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1]))


def load_checked(name: str, stamp: Stamp, source: str) -> RecordIndex:
    """Read an index and hold it against the file it is of.

    Parameters
    ----------
    name : str
        Path of the index.
    stamp : Stamp
        How the file looks now.
    source : str
        Path of the file, for errors.

    Raises
    ------
    FailedPreconditionError
        ``STALE_INDEX`` if it does not fit, or is older than the file.
    InvalidArgumentError
        As :func:`load`.
    """
    index = load(name)
    detail = index.misfit(stamp)
    if detail is None and not index.is_whole(stamp):
        detail = f"its records are not one behind the other from byte 0 to {stamp.file_bytes}"
    if detail is None and os.stat(name).st_mtime_ns < stamp.mtime_ns:  # noqa: PTH116 - as every name here
        detail = "it is older than the file"
    if detail is None:
        return index
    detail = f"the index {name} is not this file's, or not any more: {detail}; make it again"
    raise FailedPreconditionError(Reason.STALE_INDEX, source=source, detail=detail)


def local_name(source: object) -> str:
    """Return the path of a source; only a file that was given by its path can be opened here."""
    name = name_of(source)  # type: ignore[arg-type]
    if is_file_object(source):  # type: ignore[arg-type]
        detail = "random access needs a path; a file object has one place only"
    elif "://" in name:
        detail = "random access needs a local file; copy it first, or read it in order"
    else:
        return name
    raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)


def wanted_of(index: object, n_files: int) -> list[str | None]:
    """Return the index that was asked for of each file: a path, ``auto`` or None."""
    if index is None or index == "auto":
        return [index] * n_files
    paths = [index] if isinstance(index, (str, bytes, os.PathLike)) else list(index)  # type: ignore[call-overload]
    if len(paths) != n_files:
        detail = f"{len(paths)} indexes were given for {n_files} files"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return [os.fsdecode(path) for path in paths]


def index_of(name: str, stamp: Stamp, wanted: str | None, max_record_bytes: int) -> RecordIndex:
    """Load the index of a file, or make it."""
    if wanted is not None and wanted != "auto":
        return load_checked(wanted, stamp, name)
    beside = name + SUFFIX
    if wanted == "auto" and os.path.exists(beside):  # noqa: PTH110 - as every name here
        try:
            index = load_checked(beside, stamp, name)
        except (OSError, TFRecordError):
            pass  # it was not asked for, so it need not be good
        else:
            if index.is_whole(stamp):
                return index
    return scan_file(name, max_record_bytes)
