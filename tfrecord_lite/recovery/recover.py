"""Save every intact record of a damaged file to a new file, and report what is lost.

Of a compressed file, the parts that can be inflated are saved (:mod:`.members`). A record whose
CRCs are wrong is never written. The damaged file is opened for reading only. The new file is
written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from tfrecord_lite.errors import (
    MAX_SPANS,
    DamagedSpan,
    DamageReport,
    DataLossError,
    FailedPreconditionError,
    FileReport,
    Reason,
    argument_error,
)
from tfrecord_lite.files.compression import (
    codec_named,
    compression_of_name,
    compression_to_write,
    is_infer,
)
from tfrecord_lite.files.inflate import PIECE_BYTES, InflationLimits
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import (
    check_storage_options,
    expand,
    is_file_object,
    is_same_file,
    is_url,
    name_of,
)
from tfrecord_lite.files.output import open_output
from tfrecord_lite.progress import check_progress, metered, total_bytes
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.recovery.members import LATE_BYTES, FilePart, MemberSearch, framed_bytes
from tfrecord_lite.recovery.verify import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import Codec, CompressionType
    from tfrecord_lite.files.names import Source, StorageOptions
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.options import ReadOptions, ReadSettings
    from tfrecord_lite.progress import Meter, Progress


def recover(
    path: str | bytes | os.PathLike[str],
    output_path: str | bytes | os.PathLike[str],
    *,
    output_compression: CompressionType = "infer",
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> DamageReport:
    """Write every intact record of a damaged file to a new one.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local path, or a URL whose file can seek. Never changed. A pattern must match one file.
    output_path : str, bytes or PathLike
        The new file; it appears when it is complete. None is written if the file is damaged and
        not one intact record is found in it.
    output_compression : str, int, TFRecordOptions or None, optional
        Of the new file, as for :class:`TFRecordWriter`; but ``"infer"`` means that of the
        damaged file if the new name's ending does not choose one.
    overwrite : bool, optional
        Replace an existing file, if a new one is written.
    progress : bool or callable, optional
        Show a progress bar, as for :func:`load`; compressed files are read twice, so each time half
        counts.
    **options
        How files are read, see :class:`ReadOptions`; `verify`, `on_error` and `max_errors` do not
        apply. Name the `compression` if the first bytes are damaged; a larger record than
        `max_record_bytes` is left out.

    Returns
    -------
    DamageReport
        Of one file: how many records were written (with none and damage, there is no new file),
        and what was lost. Offsets count the bytes
        that could be inflated; bytes between two members that could not be have no length.

    Raises
    ------
    FileExistsError
        If `output_path` exists, without `overwrite`.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if both are one file, for a pattern of several, and for wrong options.
    TypeError
        For a file object, since the damaged file is read more than once, and the new one is
        renamed; for a list of files (:func:`tfrecord_lite.apps.rearrange.merge_files` takes these).
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe.
    DataLossError
        ``NOT_A_TFRECORD`` if it begins as files of another format do, and no record is found in
        it; ``COMPRESSION`` if the file is not of the compression that was named,
        ``INFLATED_TOO_LARGE`` beyond a limit.
    OSError
        If a file cannot be read or written; then there is no new file.

    Examples
    --------
    >>> from pathlib import Path
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> file = Path("names.tfrecord")
    >>> n_bytes = file.write_bytes(file.read_bytes().replace(b"Alan", b"Elan"))
    >>> report = recover("names.tfrecord", "intact.tfrecord")
    >>> report.records, report.lost_bytes, list(TFRecordReader("intact.tfrecord"))
    (2, 20, [b'Ada', b'Grace'])
    """
    if is_file_object(path) or is_file_object(output_path):
        raise TypeError("recover takes paths or URLs, not file objects")
    check_progress(progress)
    target = name_of(output_path)
    settings = settings_of(options)
    storage_options = settings.storage_options
    check_storage_options(storage_options, path, target)
    source = _one_file(path, storage_options)
    compression_to_write(target, output_compression)  # checked before anything is read
    if is_same_file(source, target, storage_options):
        detail = "the new file would replace the damaged one; give another name"
        raise argument_error(detail, source=target)
    if not is_url(source) and stat.S_ISFIFO(os.stat(source).st_mode):
        detail = "a pipe can be read only once; copy it into a file first"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=source, detail=detail)
    with closing(RecordStream(source, settings)) as stream:
        settings = replace(settings, compression=stream.compression)
    if is_infer(output_compression) and not compression_of_name(target):
        output_compression = settings.compression
    file = open_output(target, atomic=True, storage_options=storage_options)
    try:
        _check_free(file, overwrite=overwrite)
        sink = RecordSink(file, compression_to_write(target, output_compression))
        with metered(progress, source, "bytes") as meter:
            copier = Copier(source, settings, sink, meter)
            copier.copy()
            copier.check_format()
            meter.finish()
        if copier.num_damaged and not copier.n_records:
            sink.abandon()
        else:
            sink.finish()
            _check_free(file, overwrite=overwrite)
            sink.commit()
    except BaseException:
        file.abandon()
        raise
    return DamageReport((copier.report(),))


def _one_file(path: Source, storage_options: StorageOptions) -> str:
    """Return the name of the damaged file; raise if there are several."""
    several = (
        "; to save what is left of several in one, use 'tfrecord merge --skip-damage', or "
        "merge_files with a TFRecordReader(files, on_error='skip')"
    )
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(
            f"recover takes the path or URL of one file, not {type(path).__name__}{several}"
        )
    files = expand(path, storage_options)
    if len(files) > 1:
        detail = f"recover takes one file, this names {len(files)}{several}"
        raise argument_error(detail, source=name_of(path))
    return name_of(files[0])


def _check_free(file: OutputFile, *, overwrite: bool) -> None:
    if file.replaces(file.name) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)


class Copier:
    """Write what is intact in a file to a sink, and count it and the damage, as of one stream."""

    def __init__(self, source: str, settings: ReadSettings, sink: RecordSink, meter: Meter) -> None:
        self._source = source
        self._settings = settings
        self._sink = sink
        self._meter = meter
        self.n_records: int = 0
        self.spans: list[DamagedSpan] = []
        self.num_damaged: int = 0
        self._record_bytes = 0
        self._lost_bytes = 0

    def copy(self) -> None:
        """Copy the file."""
        settings, source = self._settings, self._source
        size = total_bytes([source])
        codec = codec_named(settings.codec_name or "")
        if codec is None or not codec.joinable:
            with closing(RecordStream(source, settings)) as stream:
                self._copy_stream(stream, lambda: self._meter.update(stream.file_offset, size))
            return
        with closing(open_seekable(source, settings.storage_options)) as file:
            self.copy_members(file, codec, size)

    def copy_members(self, file: IO[bytes], codec: Codec, size: int | None) -> None:
        """Copy the members of a compressed file that can be inflated."""
        settings, source = self._settings, self._source
        furthest = [0, 0]  # of both passes, which take turns: half of a byte counts in each

        def show(which: int, offset: int) -> None:
            furthest[which] = max(furthest[which], offset)
            self._meter.update(sum(furthest) // 2, size)

        def opened(part: FilePart, limits: InflationLimits | None = None) -> RecordStream:
            return RecordStream(cast("IO[bytes]", part), settings, limits=limits)

        # The search reads in smaller pieces than those for which a ratio is computed.
        lax = replace(settings.inflation, ahead_bytes=PIECE_BYTES)
        search = MemberSearch(file, source, codec, lambda part: opened(part, lax), partial(show, 0))
        for reading in search.readings():
            if reading.start and not (self.n_records or self.num_damaged):
                detail = f"the first {reading.start} bytes are not a {codec.name} stream"
                self._add_damage(Reason.COMPRESSION, detail)
            # Damage shows only with the bytes after it.
            edge = reading.stop + LATE_BYTES
            part = search.part(reading.start, partial(show, 1), edge)
            with closing(opened(part)) as stream:
                self._copy_stream(stream, end=reading.end)
        if search.n_untried:
            detail = (
                f"{search.n_untried} places that look like the start of another stream were not "
                "tried: there are too many"
            )
            self._add_damage(Reason.COMPRESSED_CORRUPT, detail)

    def check_format(self) -> None:
        """Raise if nothing was found because the file is of another format."""
        if self.spans and self.spans[0].reason is Reason.NOT_A_TFRECORD and not self.n_records:
            raise self.spans[0].error()

    def _copy_stream(
        self,
        stream: RecordStream,
        on_block: Callable[[], object] = lambda: None,
        end: tuple[int, int] | None = None,
    ) -> None:
        """Copy a stream to its end, or to where another one begins: in the file, in the content."""
        done = 0  # bytes of the content that are counted

        def on_damage(span: DamagedSpan) -> None:
            nonlocal done
            stop = span.offset + span.length
            if end is None or stop < end[1]:
                self._add_damage(span.reason, span.detail, span.length)
                done = stop

        records = DamageLog(on_damage, None).skipping(stream)
        while (block := records.next_block()) is not None:
            n_whole = len(block)
            if end is not None:
                stops = block.offsets + block.lengths
                stops += stream.offset - int(stops[-1])
                n_whole = int(np.searchsorted(stops, end[1] + LATE_BYTES, side="right"))
                done = int(stops[n_whole - 1]) if n_whole else done
            if n_whole:
                self._write(block[:n_whole])
            if n_whole < len(block):
                break
            on_block()
        if end is not None:
            detail = f"another stream begins at byte {end[0]} of the file, before its end"
            self._add_damage(Reason.COMPRESSED_TRUNCATED, detail, max(end[1] - done, 0))

    def _write(self, block: Block) -> None:
        self._sink.add_framed(block)
        self.n_records += len(block)
        self._record_bytes += framed_bytes(block) - len(block) * OVERHEAD_BYTES
        limits = InflationLimits(self._settings.max_inflated_bytes)  # of all members together
        if detail := limits.excess(self._n_bytes, 0):
            raise DataLossError(
                Reason.INFLATED_TOO_LARGE,
                offset=self._n_bytes,
                source=self._source,
                index=self.n_records,
                detail=detail,
            )

    @property
    def _n_bytes(self) -> int:
        """Bytes so far, after decompression."""
        return self._record_bytes + self.n_records * OVERHEAD_BYTES + self._lost_bytes

    def _add_damage(self, reason: Reason, detail: str | None, length: int = 0) -> None:
        """Count a damaged span that follows everything counted so far."""
        if len(self.spans) < MAX_SPANS:
            span = DamagedSpan(
                self._source,
                offset=self._n_bytes,
                length=length,
                reason=reason,
                detail=detail,
                index=self.n_records + self.num_damaged,
                records_before=self.n_records,
            )
            self.spans.append(span)
        self.num_damaged += 1
        self._lost_bytes += length

    def report(self) -> FileReport:
        """Return what was saved and what was lost."""
        spans = [replace(s, records_after=self.n_records - s.records_before) for s in self.spans]
        return FileReport(
            self._source,
            self.n_records,
            self._record_bytes,
            tuple(spans),
            self.num_damaged,
            self._lost_bytes,
        )
