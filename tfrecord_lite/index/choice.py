"""Which index a file is read by: the one that was named, the one beside it, or a new one.

An index that was named must fit the file. One that merely lies beside it, under its name and
``.idx``, is taken if it fits and is whole; otherwise the file is scanned, as without one.
Only a local file that was given by its path has an index.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
)
from tfrecord_lite.files.names import is_file_object, name_of
from tfrecord_lite.index import text
from tfrecord_lite.index.index import scan_file

if TYPE_CHECKING:
    from tfrecord_lite.index.index import RecordIndex, Stamp

__all__ = ["index_of", "local_name", "wanted_of"]


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
        return text.load_checked(wanted, stamp, name)
    beside = name + text.SUFFIX
    if wanted == "auto" and os.path.exists(beside):  # noqa: PTH110 - as every name here
        try:
            index = text.load_checked(beside, stamp, name)
        except (OSError, TFRecordError):
            pass  # it was not asked for, so it need not be good
        else:
            if index.is_whole(stamp):
                return index
    return scan_file(name, max_record_bytes)
