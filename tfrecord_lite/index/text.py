"""Index files in DALI's text form (``tfrecord2idx``), and choosing the index for a data file.

::

    0 309
    309 311
    620 304

One line per record: its offset in the data file and its size with header and footer, in bytes.
The form does not say what the data file looked like, so a loaded index is checked against it:
the index must not be older, its records must follow each other to the file's end, and it must
have the first record's length.

The index for a data file is the one that was named, which must fit; otherwise the one beside it
(``FILE.idx``) if that fits; otherwise a new one, from a scan. Only local paths have an index.
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
    plural,
)
from tfrecord_lite.files.names import INDEX_SUFFIX, is_file_object, name_of
from tfrecord_lite.files.output import open_output
from tfrecord_lite.index.index import RecordIndex, scan_file

if TYPE_CHECKING:
    from tfrecord_lite.index.pread import FileStamp

_LINES_AT_ONCE = 65_536


def save(index: RecordIndex, name: str) -> None:
    """Write an index file; an older one is replaced when the new one is complete."""
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
    """Read an index file; raises ``MALFORMED``, or as :class:`RecordIndex`."""
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - as every name here
            is_empty = not file.read(1)
        if is_empty:  # loadtxt warns about it
            rows = np.empty((0, 2), np.int64)
        else:
            rows = np.loadtxt(name, np.int64, comments=None, ndmin=2, encoding="ascii")
    except (ValueError, OverflowError):
        rows = np.empty((1, 0), np.int64)
    if rows.shape[1] != 2:
        detail = "not an index; expected lines of two numbers: 'offset size'"
        raise InvalidArgumentError(Reason.MALFORMED, source=name, detail=detail)
    return RecordIndex(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1]))


def load_checked(name: str, stamp: FileStamp, source: str) -> RecordIndex:
    """Read the index file `name` of the data file `source`, which looks like `stamp` now.

    Raises ``STALE_INDEX`` if it does not fit or is older; otherwise as :func:`load`.
    """
    index = load(name)
    wrong = index.misfit(stamp)
    if wrong is None and not index.is_whole(stamp):
        wrong = f"has records that do not follow each other from byte 0 to {stamp.file_bytes}"
    if wrong is None and os.stat(name).st_mtime_ns < stamp.mtime_ns:  # noqa: PTH116 - as every name here
        wrong = "is older than the file"
    if wrong is None:
        return index
    detail = f"index {name} {wrong}; write a new index"
    raise FailedPreconditionError(Reason.STALE_INDEX, source=source, detail=detail)


def local_name(source: object) -> str:
    """Return the path of a source; raise ``UNSUPPORTED`` if it is not a local path."""
    name = name_of(source)  # type: ignore[arg-type]
    if is_file_object(source):  # type: ignore[arg-type]
        detail = "random access needs a path, not a file object, whose position is shared"
    elif "://" in name:
        detail = "random access needs a local file; copy it first, or read it in order"
    else:
        return name
    raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)


def wanted_indexes(index: object, n_files: int) -> list[str | None]:
    """Return the index asked for, per file: a path, ``auto`` or None."""
    if index is None or index == "auto":
        return [index] * n_files
    paths = [index] if isinstance(index, (str, bytes, os.PathLike)) else list(index)  # type: ignore[call-overload]
    if len(paths) != n_files:
        detail = (
            f"{plural(len(paths), 'index', 'indexes')} for {plural(n_files, 'file')}; give one each"
        )
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return [os.fsdecode(path) for path in paths]


def index_of(name: str, stamp: FileStamp, wanted: str | None, max_record_bytes: int) -> RecordIndex:
    """Load the index of a file, or make it."""
    if wanted is not None and wanted != "auto":
        return load_checked(wanted, stamp, name)
    beside = name + INDEX_SUFFIX
    if wanted == "auto" and os.path.exists(beside):  # noqa: PTH110 - as every name here
        try:
            return load_checked(beside, stamp, name)
        except (OSError, TFRecordError):
            pass  # it was not asked for, so it need not be good
    return scan_file(name, max_record_bytes)
