"""Save what is sound in a damaged file: every intact record, to a new file.

Of a compressed file, what can be inflated is saved: :mod:`tfrecord_lite.recovery.members`.
Whatever was taken for a part of it, no record comes of that whose CRCs are wrong.

The source is opened for reading only. The new file is written beside its place and renamed
when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import closing
from dataclasses import replace
from typing import IO, TYPE_CHECKING, cast

from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.files.compression import codec_named
from tfrecord_lite.files.inflate import PIECE_BYTES
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import is_file_object, is_same_file, is_url, name_of
from tfrecord_lite.files.options import TFRecordOptions
from tfrecord_lite.files.output import open_output
from tfrecord_lite.records.damage import DamageReport
from tfrecord_lite.records.framing import MAX_RECORD_BYTES
from tfrecord_lite.records.limits import ReadingLimits
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.recovery.copying import Account, Copier
from tfrecord_lite.recovery.members import MemberSearch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.files.inflate import InflationLimits
    from tfrecord_lite.files.options import CompressionType
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.recovery.members import FilePart

__all__ = ["recover"]


def recover(
    src: str | bytes | os.PathLike[str],
    dst: str | bytes | os.PathLike[str],
    compression: CompressionType = None,
    options: CompressionType = None,
    *,
    overwrite: bool = False,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> DamageReport:
    """Write every intact record of a damaged file to a new one.

    Parameters
    ----------
    src : str, bytes or PathLike
        A local path, or a URL whose file can seek. Never changed.
    dst : str, bytes or PathLike
        The new file; it appears when it is complete.
    compression : str, optional
        Of `src`; None finds it out from its first bytes. To be named if these are damaged.
    options : TFRecordOptions, str, int or None, optional
        The compression of `dst`; by default that of `src`.
    overwrite : bool, optional
        Replace a file that is there.
    max_record_bytes : int, optional
        Leave out larger records.
    max_inflated_bytes, max_inflated_ratio : int and float, optional
        Refuse a compressed file that becomes larger, in all; or one that anywhere becomes so
        many times as large as it is, as :class:`TFRecordReader` does.
    on_progress : callable, optional
        Told how many bytes more were read, after decompression. A compressed file is read
        once more before.

    Returns
    -------
    DamageReport
        Of one file: how many records were written, and what was lost. Offsets count what
        could be inflated; what lies between two members that could be has no length.

    Raises
    ------
    FileExistsError
        If `dst` is there, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if `dst` is `src` itself, for an unknown compression, and for limits
        that are none.
    TypeError
        For a file object: `src` is read more than once, and `dst` is renamed.
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe.
    DataLossError
        ``COMPRESSION`` if `src` is no file of the compression that was named,
        ``INFLATED_TOO_LARGE`` beyond a limit.
    OSError
        If a file cannot be read or written; then there is no new file.

    Examples
    --------
    >>> import os, tempfile
    >>> from tfrecord_lite import TFRecordReader
    >>> from tfrecord_lite.records.framing import frame
    >>> folder = tempfile.mkdtemp()
    >>> src, dst = (os.path.join(folder, name) for name in ("damaged", "saved"))
    >>> with open(src, "wb") as file:
    ...     n_bytes = file.write(frame([b"one"]) + b"damage" + frame([b"two"]))
    >>> report = recover(src, dst)
    >>> report.records, report.lost_bytes, list(TFRecordReader(dst))
    (2, 6, [b'one', b'two'])
    """
    if is_file_object(src) or is_file_object(dst):
        raise TypeError("recover takes paths or URLs, no file objects")
    source, target = name_of(src), name_of(dst)
    _check_apart(source, target)
    if not is_url(source) and stat.S_ISFIFO(os.stat(source).st_mode):
        detail = "a pipe can be read once only; write what it gives to a file first"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=source, detail=detail)
    limits = ReadingLimits(max_record_bytes, max_inflated_bytes, max_inflated_ratio)
    if compression is not None:
        compression = TFRecordOptions.get_compression_type_string(compression)
    with closing(RecordStream(source, compression)) as stream:
        found = stream.compression
    file = open_output(dst, atomic=True)
    try:
        _check_free(file, overwrite=overwrite)
        sink = RecordSink(file, found if options is None else options)
        account = Account(source)
        copier = Copier(account, sink, limits.max_inflated_bytes, on_progress)
        _copy(source, found, limits, copier)
        sink.finish()
        _check_free(file, overwrite=overwrite)
        sink.commit()
    except BaseException:
        file.abandon()
        raise
    return DamageReport((account.report(),))


def _check_apart(source: str, target: str) -> None:
    """Refuse to write over what is read, by whatever name."""
    if is_same_file(source, target):
        detail = "the new file would take the place of the damaged one; give another name"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, source=target, detail=detail)


def _check_free(file: OutputFile, *, overwrite: bool) -> None:
    if file.replaces(file.name) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)


def _copy(source: str, compression: str, limits: ReadingLimits, copier: Copier) -> None:
    """Write what is sound in the source."""

    def opened(file: str | FilePart, inflation: InflationLimits = limits.inflation) -> RecordStream:
        return RecordStream(
            cast("IO[bytes]", file),
            compression,
            max_record_bytes=limits.max_record_bytes,
            limits=inflation,
        )

    codec = codec_named(compression)
    if codec is None or not codec.joinable:
        with closing(opened(source)) as stream:
            copier.copy_stream(stream)
        return
    # The search reads in smaller pieces than those by which a ratio is measured.
    lax = replace(limits.inflation, ahead_bytes=PIECE_BYTES)
    with closing(open_seekable(source)) as file:
        search = MemberSearch(file, source, codec.magic, lambda part: opened(part, lax))
        for reading in search.readings():
            if reading.start and not (copier.account.n_records or copier.account.n_damaged):
                detail = f"the first {reading.start} bytes are no {compression} stream"
                copier.account.add_damage(Reason.COMPRESSION, detail)
            copier.copy_reading(file, reading, opened)
    if search.n_untried:
        detail = (
            f"{search.n_untried} places that look like the start of a further stream were not "
            "tried: there are too many of them, in what others were read beyond"
        )
        copier.account.add_damage(Reason.COMPRESSED_CORRUPT, detail)
