"""Save every intact record of a damaged file to a new file, and report what is lost.

Of a compressed file, the parts that can be inflated are saved (:mod:`.members`). A record whose
CRCs are wrong is never written. The damaged file is opened for reading only. The new file is
written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from tfrecord_lite.errors import (
    DamagedSpan,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    Reason,
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
from tfrecord_lite.options import MAX_RECORD_BYTES, ReadSettings
from tfrecord_lite.progress import check_progress, metered, total_bytes
from tfrecord_lite.records.damage import (
    MAX_SPANS,
    DamageLog,
    DamageReport,
    FileReport,
)
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.recovery.members import Edges, FilePart, MemberSearch, framed_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Source, StorageOptions
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.progress import Meter, Progress
    from tfrecord_lite.recovery.members import Reading


def recover(
    path: str | bytes | os.PathLike[str],
    output_path: str | bytes | os.PathLike[str],
    compression: CompressionType = "infer",
    output_compression: CompressionType = "infer",
    *,
    overwrite: bool = False,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> DamageReport:
    """Write every intact record of a damaged file to a new one.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local path, or a URL whose file can seek. Never changed. A pattern must match one file.
    output_path : str, bytes or PathLike
        The new file; it appears when it is complete. None is written if the file is damaged and
        not one intact record is found in it.
    compression : str, int, TFRecordOptions or None, optional
        Of the damaged file, as for :class:`TFRecordReader`. Name it if the first bytes are
        damaged.
    output_compression : str, int, TFRecordOptions or None, optional
        Of the new file, as for :class:`TFRecordWriter`; but ``"infer"`` means that of the
        damaged file if the new name's ending does not choose one.
    overwrite : bool, optional
        Replace an existing file, if a new one is written.
    max_record_bytes : int, optional
        Leave out larger records.
    max_inflated_bytes, max_inflated_ratio : int and float, optional
        Limits on what a compressed file inflates to, in all and in proportion, as for
        :class:`TFRecordReader`.
    progress : bool or callable, optional
        Show a progress bar; by default for work of more than a second, on a terminal or in a
        notebook, if tqdm is installed (the extra ``cli``). A callable is called with the bytes of
        the damaged file that were read, and their total or None, the last time with both equal;
        what it raises ends the work. Compressed files are read twice, so each time half counts.
    storage_options : dict, optional
        Options for fsspec, which opens URLs, here of either file.

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
        ``BAD_ARGUMENT`` if both are one file, for a pattern of several, an unknown compression, a limit out of
        range, or `storage_options` without a URL.
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
    check_storage_options(storage_options, path, target)
    source = _one_file(path, storage_options)
    options = ReadSettings(
        compression=compression,
        max_record_bytes=max_record_bytes,
        max_inflated_bytes=max_inflated_bytes,
        max_inflated_ratio=max_inflated_ratio,
        storage_options=storage_options,
    )
    compression_to_write(target, output_compression)  # checked before anything is read
    _check_apart(source, target, storage_options)
    if not is_url(source) and stat.S_ISFIFO(os.stat(source).st_mode):
        detail = "a pipe can be read only once; copy it into a file first"
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=source, detail=detail)
    with closing(RecordStream(source, options)) as stream:
        options = replace(options, compression=stream.compression)
    if is_infer(output_compression) and not compression_of_name(target):
        output_compression = options.compression
    file = open_output(target, atomic=True, storage_options=storage_options)
    try:
        _check_free(file, overwrite=overwrite)
        sink = RecordSink(file, compression_to_write(target, output_compression))
        account = Account(source)
        with metered(progress, source, "bytes") as meter:
            copier = Copier(account, sink, options.max_inflated_bytes)
            _copy(source, options, copier, meter)
            _check_format(account)
            meter.finish()
        if account.n_damaged and not account.n_records:
            sink.abandon()
        else:
            sink.finish()
            _check_free(file, overwrite=overwrite)
            sink.commit()
    except BaseException:
        file.abandon()
        raise
    return DamageReport((account.report(),))


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
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, source=name_of(path), detail=detail)
    return name_of(files[0])


def _check_apart(source: str, target: str, storage_options: StorageOptions) -> None:
    """Raise if the new file would replace the damaged one, also under another name."""
    if is_same_file(source, target, storage_options):
        detail = "the new file would replace the damaged one; give another name"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, source=target, detail=detail)


def _check_free(file: OutputFile, *, overwrite: bool) -> None:
    if file.replaces(file.name) and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file.name)


def _check_format(account: Account) -> None:
    """Raise if nothing was found because the file is of another format."""
    is_foreign = account.spans and account.spans[0].reason is Reason.NOT_A_TFRECORD
    if is_foreign and not account.n_records:
        raise account.spans[0].error()


def _copy(source: str, options: ReadSettings, copier: Copier, meter: Meter) -> None:
    """Write what is intact in the source."""
    size = total_bytes([source])

    def opened(file: str | FilePart, limits: InflationLimits | None = None) -> RecordStream:
        return RecordStream(cast("IO[bytes]", file), options, limits=limits)

    codec = codec_named(options.codec_name or "")
    if codec is None or not codec.joinable:
        with closing(opened(source)) as stream:
            copier.copy_stream(stream, lambda: meter.update(stream.file_offset, size))
        return
    # The search reads in smaller pieces than those for which a ratio is computed.
    lax = replace(options.inflation, ahead_bytes=PIECE_BYTES)
    with closing(open_seekable(source, options.storage_options)) as plain:
        file, searched = _Passes(plain, meter, size).files()
        search = MemberSearch(searched, source, codec, lambda part: opened(part, lax))
        for reading in search.readings():
            if reading.start and not (copier.account.n_records or copier.account.n_damaged):
                detail = f"the first {reading.start} bytes are not a {codec.name} stream"
                copier.account.add_damage(Reason.COMPRESSION, detail)
            copier.copy_reading(file, reading, opened)
    if search.n_untried:
        detail = (
            f"{search.n_untried} places that look like the start of another stream were not "
            "tried: there are too many"
        )
        copier.account.add_damage(Reason.COMPRESSED_CORRUPT, detail)


class _Passes:
    """Shows how far a file has been read, in two passes that may take turns: half of a byte in each."""

    def __init__(self, file: IO[bytes], meter: Meter, total: int | None) -> None:
        self._file, self._meter, self._total = file, meter, total
        self._furthest = [0, 0]

    def files(self) -> tuple[IO[bytes], IO[bytes]]:
        """Return the file for either pass."""
        if not self._meter.is_on:
            return self._file, self._file
        first, second = (_PassFile(self._file, partial(self._show, i)) for i in range(2))
        return cast("IO[bytes]", first), cast("IO[bytes]", second)

    def _show(self, i: int, offset: int) -> None:
        self._furthest[i] = max(self._furthest[i], offset)
        self._meter.update(sum(self._furthest) // 2, self._total)


class _PassFile:
    """A file that tells how far it was read."""

    def __init__(self, file: IO[bytes], show: Callable[[int], None]) -> None:
        self._file, self._show, self._at = file, show, 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = self._file.seek(offset, whence)
        return self._at

    def read(self, n_bytes: int) -> bytes:
        data = self._file.read(n_bytes)
        self._at += len(data)
        if data:
            self._show(self._at)
        return data


@dataclass(slots=True)
class Account:
    """Count what was saved of a file and what was lost, as if it were one stream."""

    source: str
    n_records: int = 0
    record_bytes: int = 0
    spans: list[DamagedSpan] = field(default_factory=list)
    n_damaged: int = 0
    lost_bytes: int = 0

    @property
    def n_bytes(self) -> int:
        """Bytes so far, after decompression."""
        return self.record_bytes + self.n_records * OVERHEAD_BYTES + self.lost_bytes

    def add_records(self, block: Block) -> None:
        """Count records that were saved."""
        self.n_records += len(block)
        self.record_bytes += framed_bytes(block) - len(block) * OVERHEAD_BYTES

    def add_damage(self, reason: Reason, detail: str | None, length: int = 0) -> None:
        """Count a damaged span that follows everything counted so far."""
        if len(self.spans) < MAX_SPANS:
            index = self.n_records + self.n_damaged
            place = (self.source, self.n_bytes, length)
            self.spans.append(DamagedSpan(*place, reason, detail, index, self.n_records))
        self.n_damaged += 1
        self.lost_bytes += length

    def report(self) -> FileReport:
        """Return the account as a report."""
        spans = [replace(s, records_after=self.n_records - s.records_before) for s in self.spans]
        return FileReport(
            self.source,
            self.n_records,
            self.record_bytes,
            tuple(spans),
            self.n_damaged,
            self.lost_bytes,
        )


class Copier:
    """Write intact records to a sink, and count them and the damage; `max_bytes` limits the content."""

    def __init__(
        self,
        account: Account,
        sink: RecordSink,
        max_bytes: int | None,
    ) -> None:
        self.account = account
        self._sink = sink
        self._limits = InflationLimits(max_bytes)

    def copy_stream(
        self, stream: RecordStream, on_block: Callable[[], object] = lambda: None
    ) -> None:
        """Write the intact records of a stream; call `on_block` after each block."""

        def tell(span: DamagedSpan) -> None:
            self.account.add_damage(span.reason, span.detail, span.length)

        self._copy(stream, tell, lambda block: block, on_block)

    def copy_reading(
        self,
        file: IO[bytes],
        reading: Reading,
        open_stream: Callable[[FilePart], RecordStream],
    ) -> None:
        """Write the intact records of a reading, those of inner readings in their places."""

        def copy_inner(inner: Reading) -> None:
            stop = inner.stop if inner.is_cut else None
            part = FilePart(file, self.account.source, inner.start, Edges(inner), stop)
            with closing(open_stream(part)) as stream:
                self.copy_stream(stream)

        part = FilePart(file, self.account.source, reading.start, Edges(reading))
        with closing(open_stream(part)) as stream:
            outer = _Outer(self.account, reading, stream, part, copy_inner)
            self._copy(stream, outer.tell, outer.records_of)
            outer.finish()

    def _copy(
        self,
        stream: RecordStream,
        on_damage: Callable[[DamagedSpan], None],
        chosen: Callable[[Block], Block],
        on_block: Callable[[], object] = lambda: None,
    ) -> None:
        """Write the records that `chosen` returns of each block."""
        records = DamageLog(on_damage, None).skipping(stream)
        while (block := records.next_block()) is not None:
            block = chosen(block)
            if len(block):
                self._write(block)
            on_block()

    def _write(self, block: Block) -> None:
        """Write the records of a block."""
        self._sink.add_framed(block)
        self.account.add_records(block)
        if detail := self._limits.excess(self.account.n_bytes, 0):
            place = (self.account.n_bytes, self.account.source, self.account.n_records)
            raise DataLossError(Reason.INFLATED_TOO_LARGE, *place, None, detail)


class _Outer:
    """The records and the damage of a reading outside its inner readings.

    Inner readings, which begin in damage, are copied in their places. Their offsets in the content
    are known before that damage is reported, since the file is read ahead of the records.
    """

    def __init__(
        self,
        account: Account,
        reading: Reading,
        stream: RecordStream,
        part: FilePart,
        copy_inner: Callable[[Reading], None],
    ) -> None:
        self._account = account
        self._copy_inner = copy_inner
        self._stream = stream
        self._inner = deque(reading.inner)
        self._offsets: dict[int, int] = {}  # offset in the content, by edge in the file
        self._end: int | None = None  # in the file, of the inner reading copied last
        part.on_edge = self._meet

    def _meet(self, edge: int) -> None:
        self._offsets.setdefault(edge, self._stream.inflated.position)

    def tell(self, span: DamagedSpan) -> None:
        """Count the damage outside inner readings, and copy those that begin in it."""
        start, stop = span.offset, span.offset + span.length
        while True:
            if self._end is not None:
                after = self._offsets.get(self._end)
                if after is None:
                    return
                start = max(start, after)
                self._end = None if stop > after else self._end
            if not self._inner or self._offsets.get(self._inner[0].start, stop + 1) > stop:
                break
            self._copy_next(max(self._offsets[self._inner[0].start] - start, 0))
        if self._end is None:
            self._account.add_damage(span.reason, span.detail, stop - start)

    def _copy_next(self, n_lost: int) -> None:
        inner = self._inner.popleft()
        detail = f"another stream begins at byte {inner.start} of the file, before its end"
        self._account.add_damage(Reason.COMPRESSED_TRUNCATED, detail, n_lost)
        self._copy_inner(inner)
        self._end = inner.stop

    def records_of(self, block: Block) -> Block:
        """Return the records of a block that end outside inner readings."""
        if self._end is None:
            return block
        after = self._offsets.get(self._end)
        if after is None:
            return block[:0]
        # The ends of the records' data, in the content.
        stops = block.offsets + block.lengths
        stops += self._stream.offset - int(stops[-1])
        n_inside = int(np.searchsorted(stops, after, side="right"))
        if n_inside < len(block):
            self._end = None
        return block[n_inside:]

    def finish(self) -> None:
        """Copy the inner readings that no damage was reported for."""
        while self._inner:
            self._copy_next(0)
