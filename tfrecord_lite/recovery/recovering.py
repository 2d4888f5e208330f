"""Save what is sound in a damaged file: every intact record, to a new file.

Of a compressed file::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     all records   up to #    cannot be       found by its first bytes:
                              inflated        all records

A deflate stream cannot be entered in its middle, so behind damage nothing of it can be
inflated. A further member (rule C5: what appending adds, what ``cat a.gz b.gz`` joins) is
looked for by its magic bytes, from the start of the damaged one on, and inflated. Bytes
that only look like a member give no records, since none is taken whose CRCs are wrong.

The source is opened for reading only. The new file is written beside its place and renamed
when it is complete.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import closing
from dataclasses import replace
from typing import IO, TYPE_CHECKING, cast

from tfrecord_lite.compression import codec_named
from tfrecord_lite.damage import MOST_SPANS, DamagedSpan, DamageLog, DamageReport, FileReport
from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.framing import MAX_RECORD_BYTES, OVERHEAD_BYTES
from tfrecord_lite.options import TFRecordOptions
from tfrecord_lite.outfile import open_output
from tfrecord_lite.sources import fsspec_module, is_file_object, is_same_file, is_url, name_of
from tfrecord_lite.stream import RecordSink, RecordStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.options import CompressionType
    from tfrecord_lite.outfile import OutputFile

__all__ = ["recover"]

_PIECE_BYTES = 1024 * 1024

_MOST_TIMES, _FREE_BYTES, _LEAST_BYTES = 8, 64 * 1024 * 1024, 64 * 1024
"""Damaged members may overlap, as what looks like one does in another. So many times the size
of a file, and so many bytes more, are inflated from wherever a member may start, each counted
as so many bytes at the least. Then only what nothing was inflated of is looked at: the work is
linear, whatever is in the file."""


def recover(
    src: str | bytes | os.PathLike[str],
    dst: str | bytes | os.PathLike[str],
    compression: CompressionType = None,
    options: CompressionType = None,
    *,
    overwrite: bool = False,
    max_record_bytes: int = MAX_RECORD_BYTES,
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
    on_progress : callable, optional
        Told how many bytes more were read, after decompression.

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
        ``BAD_ARGUMENT`` if `dst` is `src` itself, or for an unknown compression.
    TypeError
        For a file object: `src` is read more than once, and `dst` is renamed.
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe.
    DataLossError
        ``COMPRESSION`` if `src` is no file of the compression that was named.
    OSError
        If a file cannot be read or written; then there is no new file.

    Examples
    --------
    >>> import os, tempfile
    >>> from tfrecord_lite import TFRecordReader
    >>> from tfrecord_lite.framing import frame
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
    if compression is not None:
        compression = TFRecordOptions.get_compression_type_string(compression)
    with closing(RecordStream(source, compression)) as stream:
        found = stream.compression
    file = open_output(dst, atomic=True)
    try:
        _check_free(file, overwrite=overwrite)
        sink = RecordSink(file, found if options is None else options)
        parts: list[FileReport] = []
        for at, part in _parts(source, found, max_record_bytes):
            if at and not parts:
                parts.append(_nothing_before(at, part))
            parts.append(_copy(part, sink, on_progress))
        sink.finish()
        _check_free(file, overwrite=overwrite)
        sink.commit()
    except BaseException:
        file.abandon()
        raise
    return DamageReport((_joined(source, parts),))


def _check_apart(source: str, target: str) -> None:
    """Refuse to write over what is read, by whatever name."""
    if is_same_file(source, target):
        detail = "the new file would take the place of the damaged one; give another name"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, source=target, detail=detail)


def _check_free(file: OutputFile, *, overwrite: bool) -> None:
    if file.replaces(file.name) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)


def _parts(
    source: str, compression: str, max_record_bytes: int
) -> Iterator[tuple[int, RecordStream]]:
    """Yield streams of what can be read, and where in the file each starts.

    Each is to be read to its end before the next is asked for.
    """
    codec = codec_named(compression)
    if codec is None or not codec.joinable:
        with closing(
            RecordStream(source, compression, max_record_bytes=max_record_bytes)
        ) as stream:
            yield 0, stream
        return
    with closing(_open(source)) as file:
        most = _MOST_TIMES * file.seek(0, io.SEEK_END) + _FREE_BYTES
        places = _places(file, codec.magic)
        at: int | None = next(places, 0)
        while at is not None:
            file.seek(at)
            stream = RecordStream(file, compression, max_record_bytes=max_record_bytes)
            yield at, stream
            if not stream.broke_off:
                return
            n_read = max(file.tell() - at, _LEAST_BYTES)
            most -= n_read
            behind = at + (stream.member_start + 1 if most > 0 else n_read)
            at = next((place for place in places if place >= behind), None)


def _open(source: str) -> IO[bytes]:
    if is_url(source):
        return cast("IO[bytes]", fsspec_module().open(source, "rb").open())
    return cast("IO[bytes]", io.FileIO(source, "rb"))


def _places(file: IO[bytes], magic: bytes) -> Iterator[int]:
    """Yield each offset where some bytes are in a file, which is read once for all of them."""
    start, data = 0, b""
    while True:
        file.seek(start + len(data))
        more = file.read(_PIECE_BYTES)
        if not more:
            return
        data += more
        place = data.find(magic)
        while place >= 0:
            yield start + place
            place = data.find(magic, place + 1)
        n_done = max(len(data) - len(magic) + 1, 0)
        start, data = start + n_done, data[n_done:]


def _copy(
    stream: RecordStream, sink: RecordSink, on_progress: Callable[[int], object] | None
) -> FileReport:
    """Write the sound records of a stream."""
    going_on, offset = DamageLog("skip", None).going_on(stream), 0
    while (block := going_on.next_block()) is not None:
        sink.add_framed(block)
        if on_progress is not None:
            on_progress(stream.offset - offset)
            offset = stream.offset
    return going_on.report()


def _nothing_before(n_bytes: int, stream: RecordStream) -> FileReport:
    """Return a report of the first bytes of a file, which are no stream."""
    detail = f"the first {n_bytes} bytes are no {stream.compression} stream"
    span = DamagedSpan(stream.name, 0, 0, Reason.COMPRESSION, detail, 0, 0)
    return FileReport(stream.name, 0, 0, (span,), 1, 0)


def _joined(source: str, parts: list[FileReport]) -> FileReport:
    """Return one report of the parts of a file, without those that only looked like a member."""
    whole = FileReport(source, 0, 0)
    for part in [*parts[:1], *(part for part in parts[1:] if part.records)]:
        base = whole.record_bytes + whole.records * OVERHEAD_BYTES + whole.lost_bytes
        spans = [
            replace(
                span,
                source=source,
                offset=base + span.offset,
                index=whole.records + whole.n_damaged + span.index,
                records_before=whole.records + span.records_before,
            )
            for span in part.spans
        ]
        whole = FileReport(
            source,
            whole.records + part.records,
            whole.record_bytes + part.record_bytes,
            (*whole.spans, *spans)[:MOST_SPANS],
            whole.n_damaged + part.n_damaged,
            whole.lost_bytes + part.lost_bytes,
        )
    spans = [replace(s, records_after=whole.records - s.records_before) for s in whole.spans]
    return replace(whole, spans=tuple(spans))
