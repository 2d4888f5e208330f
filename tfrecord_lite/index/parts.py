"""Cut files at borders of records, and read the parts, each in a task of its own.

::

    paths ──record_ranges──> RecordRange, RecordRange, ...   to other processes and machines
                                  │
    RangeReader(range, options) ──┴──> blocks, and a report of what was skipped
    reports of ranges ──join_reports──> one report per file

Where a record begins is known from the index beside a file, or from a hop from length to length, from
the start of the file. It is never searched for: the data of a record may hold whole frames with right CRCs. A file
in which no border is known (compressed, remote without an index, damaged) is one range.
"""

from __future__ import annotations

import array
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.errors import (
    DamageReport,
    FailedPreconditionError,
    FileReport,
    Reason,
    argument_error,
    plural,
    require_int,
)
from tfrecord_lite.files.names import Sources, expand, is_url, name_of
from tfrecord_lite.index.handles import (
    AnyHandle,
    FileStamp,
    RemoteHandle,
    for_each_file,
    open_handle,
)
from tfrecord_lite.index.index import beside
from tfrecord_lite.options import MAX_RECORD_BYTES, ReadSettings
from tfrecord_lite.records.damage import DamagedSpans, DamageLog, SkippingStream
from tfrecord_lite.records.framing import is_header, read_headers
from tfrecord_lite.records.stream import RecordStream

RANGE_BYTES = 128 * 1024 * 1024
"""About the size of a range, unless another one is asked for."""
_WINDOW_BYTES, _SMALL_WINDOW_BYTES = 256 * 1024, 4096
_MANY_HEADERS = 8
"""In a window; with fewer the next one is small."""
_DEFAULTS = ReadSettings()
_length_at = struct.Struct("<Q").unpack_from


@dataclass(frozen=True, slots=True)
class RecordRange:
    """Records of one file that follow each other."""

    source: str
    """Path or URL."""
    start: int = 0
    """Bytes from the start of the file to the first record's header."""
    stop: int | None = None
    """Bytes from the start of the file to where the range ends; None for the end of the file."""
    first: int = 0
    """Number of the first record in the file."""
    n_records: int | None = None
    """Number of records, damaged ones included; None if it is not known without reading."""
    nbytes: int = 0
    """Bytes of the file in the range; 0 if that is not known."""


def record_ranges(
    paths: Sources,
    options: ReadSettings = _DEFAULTS,
    *,
    max_bytes: int | None = RANGE_BYTES,
    num_ranges: int | None = None,
) -> list[RecordRange]:
    """Cut files into ranges: each record is in exactly one.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        As for :class:`TFRecordReader`, but no file objects.
    options : ReadSettings, optional
        With which the ranges will be read.
    max_bytes : int or None, default 128 MiB
        Cut uncompressed files that are larger into ranges of about this size, if borders of their records are
        known; None leaves all files whole.
    num_ranges : int, optional
        Cut finer, until there are about as many ranges.

    Returns
    -------
    list of RecordRange
        In the order of the files and their records.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        At once.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an argument that is out of range, or a file object.

    Notes
    -----
    Damage is left to those who read: a file is cut up to it, and the rest is one range.
    """
    if max_bytes is not None:
        require_int("max_bytes", max_bytes, 1)
    if num_ranges is not None:
        require_int("num_ranges", num_ranges, 1)
    sources = expand(paths, options.storage_options)
    for source in sources:
        if not isinstance(source, (str, bytes, os.PathLike)):
            raise argument_error("file objects cannot be read in several tasks; give paths")
    names = list(map(name_of, sources))

    def opened(name: str) -> tuple[str, int, RemoteHandle | None]:
        try:
            handle = open_handle(name, options.storage_options)
        except FailedPreconditionError:  # a pipe, or a server without range requests
            return name, 0, None
        # Of local files no handle stays open, since there may be thousands.
        return name, handle.size(), handle if isinstance(handle, RemoteHandle) else None

    files = for_each_file(names, names, opened)
    total = sum(nbytes for _, nbytes, _ in files)
    if num_ranges is not None and total:
        finer = -(-total // num_ranges)
        max_bytes = finer if max_bytes is None else min(finer, max_bytes)
    found = for_each_file(names, files, lambda file: _ranges(*file, options, max_bytes))
    return [each for ranges in found for each in ranges]


def _ranges(
    name: str,
    nbytes: int,
    remote: RemoteHandle | None,
    options: ReadSettings,
    max_bytes: int | None,
) -> list[RecordRange]:
    """Return the ranges of one file; `remote` if it is a URL that can be read at any offset."""
    whole = [RecordRange(name, nbytes=nbytes)]
    is_small = max_bytes is None or nbytes <= max_bytes
    is_remote = is_url(name)
    if options.codec_name or not nbytes or (is_remote and (is_small or not remote)):
        return whole
    handle = remote or open_handle(name)
    stamp = FileStamp.of(handle)
    if not is_header(stamp.header):
        return whole
    index = beside(name, stamp, options.storage_options)
    if index is not None and (index.sizes - OVERHEAD_BYTES <= options.max_record_bytes).all():
        borders = np.append(index.offsets, index.end)
    elif is_small or is_remote:
        return whole
    else:
        borders = _hop(handle, options.max_record_bytes)
    # What follows the last border is damaged, if anything does.
    ends_well = int(borders[-1]) == stamp.file_bytes
    size = stamp.file_bytes if is_small or max_bytes is None else max_bytes
    return _cut(name, borders, stamp.file_bytes, size, is_whole=ends_well)


def _hop(handle: AnyHandle, max_record_bytes: int = MAX_RECORD_BYTES) -> Int64Array:
    """Return where the records of a local file begin, and where the last one ends.

    Lengths whose CRCs are right are followed from the first byte on; int64, shape (n_records + 1,). What
    lies between the headers is not read if records are large.
    """
    size, at, n_bytes = handle.size(), 0, _WINDOW_BYTES
    borders = array.array("q")
    while size - at >= HEADER_BYTES:
        window = handle.read(n_bytes, at)
        starts, step = [], 0
        last = min(len(window) - HEADER_BYTES, size - at - OVERHEAD_BYTES)
        while step <= last:
            starts.append(step)
            step += _length_at(window, step)[0] + OVERHEAD_BYTES
        if not starts:
            break
        places = np.array(starts, np.int64)
        lengths, is_wrong = read_headers(np.frombuffer(window, np.uint8), places)
        is_wrong |= lengths > min(max_record_bytes, size)
        is_wrong[-1] |= at + step > size
        n_right = int(is_wrong.argmax()) if is_wrong.any() else places.size
        borders.frombytes((places[:n_right] + at).tobytes())
        if n_right < places.size:
            at += starts[n_right]
            break
        at += step
        n_bytes = _WINDOW_BYTES if len(starts) >= _MANY_HEADERS else _SMALL_WINDOW_BYTES
    borders.append(at)
    return np.frombuffer(borders, np.int64)


def _cut(
    name: str, borders: Int64Array, file_bytes: int, max_bytes: int, *, is_whole: bool
) -> list[RecordRange]:
    """Return ranges of about the same size, up to one; the last goes to the end of the file."""
    end = int(borders[-1])
    n_ranges = max(-(-end // max_bytes), 1)
    targets = np.arange(1, n_ranges, dtype=np.float64) * (end / n_ranges)
    edges = np.unique(np.searchsorted(borders, targets))
    edges = np.unique(np.append(edges, (0, borders.size - 1)))
    if not is_whole and edges.size > 1:  # what follows the last border is damaged
        edges = edges[:-1]
    ranges = []
    for i, edge in enumerate(edges.tolist()):
        start = int(borders[edge])
        if i + 1 < edges.size:
            after = int(edges[i + 1])
            stop = int(borders[after])
            ranges.append(RecordRange(name, start, stop, edge, after - edge, stop - start))
        elif not is_whole:
            ranges.append(RecordRange(name, start, None, edge, None, file_bytes - start))
    return ranges


class RangeReader:
    """Read the records of one range.

    Parameters
    ----------
    part : RecordRange
    options : ReadSettings, optional
        Skipped damage is reported in :attr:`report`, not warned of; `max_errors` is of this range.
    """

    def __init__(self, part: RecordRange, options: ReadSettings = _DEFAULTS) -> None:
        self._range = part
        self._is_part = part.start > 0 or part.stop is not None
        self._options = replace(options, compression="") if self._is_part else options
        self._log = DamageLog.begin(options.on_error, options.max_errors)
        self._stream: RecordStream | None = None
        self._skipping: SkippingStream | None = None

    @property
    def report(self) -> DamageReport | None:
        """What was read and skipped so far, by this range alone; None if damage is raised."""
        if self._log is None:
            return None
        report = self._log.report()
        # Without a file it is not opened yet.
        return report if report.files else DamageReport((FileReport(self._range.source, 0, 0),))

    def next_block(self, num_records: int | None = None) -> Block | None:
        """Return the next records, `num_records` or what one read brings; None at the end.

        The first call opens the file.

        Raises
        ------
        DataLossError, OSError
            As :class:`TFRecordReader`, after all records before.
        FailedPreconditionError
            ``STALE_INDEX`` if the file has changed since it was cut.
        """
        part = self._range
        if self._stream is None:
            self._stream = RecordStream(part.source, self._options)
            if self._is_part:
                self._stream.begin_at(part.start, part.first)
                self._stream.end_at(part.stop)
            if self._log is not None:
                self._skipping = self._log.skipping(self._stream)
        stream = self._stream
        if (block := (self._skipping or stream).next_block(num_records)) is not None:
            return block
        # Records may be missing, or there may be others, if the file has changed.
        n_read, what = stream.n_records - part.first, ""
        if part.stop is not None and stream.offset != part.stop:
            what = f"the part ends at byte {part.stop}, but the file at byte {stream.offset}"
        elif self._log is None and part.n_records is not None and part.n_records != n_read:
            what = f"the part had {plural(part.n_records, 'record')}, but {n_read} are there"
        if what:
            detail = f"the file has changed since it was divided among tasks ({what}); start again"
            raise FailedPreconditionError(Reason.STALE_INDEX, source=part.source, detail=detail)
        return None

    def blocks(self, num_records: int | None = None) -> Iterator[Block]:
        """Yield the records in blocks, as :meth:`next_block`, and close the file."""
        with closing(self):
            while (block := self.next_block(num_records)) is not None:
                yield block

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


def join_reports(reports: Iterable[DamageReport]) -> DamageReport:
    """Join the reports of ranges, in any order: what was read and skipped of each file.

    Each range must be there once.
    """
    by_file: dict[str, list[FileReport]] = {}
    for report in reports:
        for file in report.files:
            by_file.setdefault(file.source, []).append(file)
    return DamageReport(tuple(_joined(by_file[name]) for name in sorted(by_file)))


def _joined(files: list[FileReport]) -> FileReport:
    """Join the reports of ranges of one file."""
    n_records = sum(file.records for file in files)
    spans = sorted((span for file in files for span in file.spans), key=lambda span: span.offset)
    damage = DamagedSpans()
    for span in spans:
        # In the number of a record, damaged ones before it are counted.
        n_before = span.records_before if span.index is None else span.index - damage.num_damaged
        damage.add(replace(span, records_before=n_before))
    return FileReport(
        files[0].source,
        n_records,
        sum(file.record_bytes for file in files),
        tuple(replace(s, records_after=n_records - s.records_before) for s in damage.kept),
        sum(file.num_damaged for file in files),
        sum(file.lost_bytes for file in files),
        failure=next((file.failure for file in files if file.failure), None),
    )
