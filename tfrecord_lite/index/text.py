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
(``FILE.idx``) if that fits; otherwise a new one, from a scan. The ages of remote files are not
compared.
"""

from __future__ import annotations

import io
import os
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
    TFRecordError,
    argument_error,
    plural,
)
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import INDEX_SUFFIX, is_file_object, is_url, name_of
from tfrecord_lite.files.output import open_output
from tfrecord_lite.index.index import RecordIndex, scan_file
from tfrecord_lite.progress import SILENT

if TYPE_CHECKING:
    from tfrecord_lite.files.names import Source, StorageOptions
    from tfrecord_lite.index.pread import FileStamp
    from tfrecord_lite.progress import Meter

_LINES_AT_ONCE = 65_536


def save(index: RecordIndex, name: str, storage_options: StorageOptions = None) -> None:
    """Write an index file; an older one is replaced when the new one is complete."""
    output = open_output(name, atomic=True, storage_options=storage_options)
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


def load(name: str, storage_options: StorageOptions = None) -> RecordIndex:
    """Read an index file; raises ``MALFORMED``, or as :class:`RecordIndex`."""
    with closing(open_seekable(name, storage_options)) as file:
        content = io.BytesIO(file.read())
    try:
        if not content.getbuffer():  # loadtxt warns about it
            rows = np.empty((0, 2), np.int64)
        else:
            rows = np.loadtxt(content, np.int64, comments=None, ndmin=2, encoding="ascii")
    except (ValueError, OverflowError):
        rows = np.empty((1, 0), np.int64)
    if rows.shape[1] != 2:
        detail = "not an index; expected lines of two numbers: 'offset size'"
        raise InvalidArgumentError(Reason.MALFORMED, source=name, detail=detail)
    return RecordIndex(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1]))


def load_checked(
    name: str, stamp: FileStamp, source: str, storage_options: StorageOptions = None
) -> RecordIndex:
    """Read the index file `name` of the data file `source`, which looks like `stamp` now.

    Raises ``STALE_INDEX`` if it does not fit or, of local files, is older; otherwise as
    :func:`load`.
    """
    index = load(name, storage_options)
    wrong = index.misfit(stamp)
    if wrong is None and not index.is_whole(stamp):
        wrong = f"has records that do not follow each other from byte 0 to {stamp.file_bytes}"
    if wrong is None and isinstance(stamp.version, int) and _is_older(name, stamp.version):
        wrong = "is older than the file"
    if wrong is None:
        return index
    detail = f"index {name} {wrong}; write a new index"
    raise FailedPreconditionError(Reason.STALE_INDEX, source=source, detail=detail)


def _is_older(name: str, mtime_ns: int) -> bool:
    """Whether an index was changed before that time; of a remote one that is not asked."""
    return not is_url(name) and os.stat(name).st_mtime_ns < mtime_ns  # noqa: PTH116 - as every name here


def path_of(source: Source) -> str:
    """Return the path or URL of a source; raise ``UNSUPPORTED`` for a file object."""
    name = name_of(source)
    if is_file_object(source):
        detail = "random access needs a path, not a file object, whose position is shared"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)
    return name


def wanted_indexes(index: object, n_files: int) -> list[str | None]:
    """Return the index asked for, per file: a path, ``auto`` or None."""
    if index is None or index == "auto":
        return [index] * n_files
    paths = [index] if isinstance(index, (str, bytes, os.PathLike)) else list(index)  # type: ignore[call-overload]
    if len(paths) != n_files:
        detail = (
            f"{plural(len(paths), 'index', 'indexes')} for {plural(n_files, 'file')}; give one each"
        )
        raise argument_error(detail)
    return [os.fsdecode(path) for path in paths]


def index_of(
    name: str,
    stamp: FileStamp,
    wanted: str | None,
    max_record_bytes: int,
    storage_options: StorageOptions = None,
    meter: Meter = SILENT,
) -> RecordIndex:
    """Load the index of a file, or make it; either adds the bytes of the file to a meter."""
    if wanted is not None and wanted != "auto":
        options = storage_options if is_url(wanted) else None
        index = load_checked(wanted, stamp, name, options)
        meter.advance(stamp.file_bytes)
        return index
    beside = name + INDEX_SUFFIX
    if wanted == "auto" and (is_url(name) or os.path.exists(beside)):  # noqa: PTH110 - as every name here
        try:
            index = load_checked(beside, stamp, name, storage_options)
        except (OSError, TFRecordError):
            pass  # it was not asked for, so it need not be good
        else:
            meter.advance(stamp.file_bytes)
            return index
    return scan_file(name, max_record_bytes, storage_options, meter)
