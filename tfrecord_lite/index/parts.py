"""Parts of files, cut at borders of records: what a task, a worker or a rank reads.

Where a record begins is known from the index beside a file, from a hop from length to length, or from an earlier
reading. It is never searched for: the data of a record may hold whole frames with right CRCs. A file in which no
border is known (compressed, remote without an index, damaged) is one part.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.arrays import BoolArray, Int64Array, row_splits
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.files.ahead import ReadAhead
from tfrecord_lite.files.names import Sources, expand, is_url, local_size, name_of
from tfrecord_lite.files.remote import for_each_file
from tfrecord_lite.index.handles import AnyHandle, FileStamp, RemoteHandle, open_handle
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamagedSpans, DamageLog, SkippingStream
from tfrecord_lite.records.framing import is_header, read_headers
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural

PART_BYTES = 128 * 1024 * 1024
RUN_BYTES = 1024 * 1024
"""About the largest size of the runs that readers of large files take in turns."""
_MARK_BYTES = 64 * 1024
_FIRST_RECORDS, _LARGE_BYTES = 64, 16 * 1024
"""Records that are looked at to estimate how large they are; the mean size from which on they are large."""
_WINDOW_BYTES = 256 * 1024
_MANY_HEADERS = 17
"""In a window; with fewer, headers are read one by one."""
_DEFAULTS = ReadSettings()
_length_at = struct.Struct("<Q").unpack_from


class FilePart(NamedTuple):
    """Records of one file that follow each other; by default all of them."""

    source: str
    start: int = 0
    """Bytes from the start of the file to the first record's header."""
    stop: int | None = None
    """Bytes from the start of the file to where the part ends; None for the end of the file."""
    first: int = 0
    """Number of the first record in the file."""
    n_records: int | None = None
    """Number of records, damaged ones included; None if it is not known without reading."""
    nbytes: int = 0
    """Bytes of the file in the part; 0 if unknown."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file, which may be compressed then."""
        return self.start == 0 and self.stop is None

    def after(self, n: int, options: ReadSettings) -> tuple[FilePart, int]:
        """Return what follows the first `n` records, and how many of them it still begins with.

        Only their lengths are read, if the file is local and uncompressed.
        """
        if options.codec_name or local_size(self.source) is None:
            return self, n
        handle = open_handle(self.source)
        borders = _hop(handle, self.start, self.stop, options.max_record_bytes, most=n)
        n_hopped = borders.size - 1
        n_left = None if self.n_records is None else self.n_records - n_hopped
        first = self.first + n_hopped
        return FilePart(self.source, int(borders[-1]), self.stop, first, n_left), n - n_hopped


def file_parts(
    paths: Sources,
    options: ReadSettings = _DEFAULTS,
    *,
    max_bytes: int | None = PART_BYTES,
    num_parts: int | None = None,
) -> list[FilePart]:
    """Cut files into parts: each record is in exactly one.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        As for :class:`TFRecordReader`, but no file objects.
    options : ReadSettings, optional
        With which the parts will be read.
    max_bytes : int or None, default 128 MiB
        Cut uncompressed files that are larger into parts of about this size, if borders of their records are
        known; None leaves all files whole.
    num_parts : int, optional
        Cut finer, until there are about as many parts.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        At once.
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an argument that is out of range, or a file object.

    Notes
    -----
    Damage is left to those who read: a file is cut up to it, and the rest is one part.
    """
    for name, number in (("max_bytes", max_bytes), ("num_parts", num_parts)):
        errors.optional_int(name, number, 1)
    sources = expand(paths, options.storage_options)
    for source in sources:
        if not isinstance(source, (str, bytes, os.PathLike)):
            raise errors.argument_error("file objects cannot be read in several tasks; give paths")
    names = list(map(name_of, sources))

    def opened(name: str) -> tuple[str, int, RemoteHandle | None]:
        try:
            handle = open_handle(name, options.storage_options)
        except errors.FailedPreconditionError:  # a pipe, or a server without range requests
            return name, 0, None
        # Of local files no handle stays open, since there may be thousands.
        return name, handle.size(), handle if isinstance(handle, RemoteHandle) else None

    files = for_each_file(names, names, opened)
    total = sum(nbytes for _, nbytes, _ in files)
    if num_parts is not None and total:
        finer = -(-total // num_parts)
        max_bytes = finer if max_bytes is None else min(finer, max_bytes)
    by_file = for_each_file(names, files, lambda file: _parts(file, options, max_bytes))
    return [part for parts in by_file for part in parts]


def _parts(
    file: tuple[str, int, RemoteHandle | None], options: ReadSettings, max_bytes: int | None
) -> list[FilePart]:
    """Return the parts of one file: its name, size and, if a URL can be read at any offset, handle."""
    name, nbytes, remote = file
    whole = [FilePart(name, nbytes=nbytes)]
    is_small = max_bytes is None or nbytes <= max_bytes
    is_remote = is_url(name)
    if options.codec_name or not nbytes or (is_remote and (is_small or not remote)):
        return whole
    handle = remote or open_handle(name)
    stamp = FileStamp.of(handle)
    if not is_header(stamp.header):
        return whole
    index = _index_beside(name, stamp, options)
    if index is not None and (index.sizes - OVERHEAD_BYTES <= options.max_record_bytes).all():
        borders = np.append(index.offsets, index.end)
    elif is_small or is_remote:
        return whole
    else:
        borders = _hop(handle, max_record_bytes=options.max_record_bytes)
    # What follows the last border is damaged, if anything does.
    ends_well = int(borders[-1]) == stamp.file_bytes
    size = stamp.file_bytes if is_small or max_bytes is None else max_bytes
    return _cut(name, borders, stamp.file_bytes, size, is_whole=ends_well)


def _hop(
    handle: AnyHandle,
    start: int = 0,
    stop: int | None = None,
    max_record_bytes: int | None = None,
    most: int = sys.maxsize,
) -> Int64Array:
    """Return where the records of a local file begin, and where the last one ends.

    Lengths whose CRCs are right are followed from `start`, where a record begins, to `stop` or the end of the
    file, for `most` records; int64, shape (n_records + 1,). What lies between the headers is not read if records
    are large.
    """
    from array import array  # noqa: PLC0415 - for it alone

    size, at, are_large = stop or handle.size(), start, False
    most_bytes = min(max_record_bytes or size, size)
    borders = array("q")
    while size - at >= HEADER_BYTES and len(borders) < most:
        if are_large:
            header = handle.read(HEADER_BYTES, at)
            length = _length_at(header)[0] if is_header(header) else size
            if length > min(most_bytes, size - at - OVERHEAD_BYTES):
                break
            borders.append(at)
            at += length + OVERHEAD_BYTES
            are_large = length * _MANY_HEADERS > _WINDOW_BYTES
            continue
        window = handle.read(min(_WINDOW_BYTES, size - at), at)
        starts, step = [], 0
        last = min(len(window) - HEADER_BYTES, size - at - OVERHEAD_BYTES)
        while step <= last:
            starts.append(step)
            step += _length_at(window, step)[0] + OVERHEAD_BYTES
        if not starts:
            break
        places = np.array(starts, np.int64)
        lengths, is_wrong = read_headers(np.frombuffer(window, np.uint8), places)
        is_wrong |= lengths > most_bytes
        is_wrong[-1] |= at + step > size
        n_right = int(is_wrong.argmax()) if is_wrong.any() else places.size
        borders.frombytes((places[:n_right] + at).tobytes())
        if n_right < places.size:
            at += starts[n_right]
            break
        at += step
        are_large = len(starts) < _MANY_HEADERS
    borders.append(at)
    return np.frombuffer(borders, np.int64)[: most + 1]


def _cut(
    name: str, borders: Int64Array, file_bytes: int, max_bytes: int, *, is_whole: bool
) -> list[FilePart]:
    end = int(borders[-1])
    n_parts = max(-(-end // max_bytes), 1)
    targets = np.arange(1, n_parts, dtype=np.float64) * (end / n_parts)
    edges = np.unique(np.append(np.searchsorted(borders, targets), (0, borders.size - 1)))
    if not is_whole and edges.size > 1:  # what follows the last border is damaged
        edges = edges[:-1]
    places = list(zip(edges.tolist(), borders[edges].tolist(), strict=True))
    parts = [
        FilePart(name, start, stop, first, after - first, stop - start)
        for (first, start), (after, stop) in pairwise(places)
    ]
    if not is_whole:
        first, start = places[-1]
        parts.append(FilePart(name, start, None, first, None, file_bytes - start))
    return parts


class FileMarks(NamedTuple):
    """Where a file can be cut: the first record of each 64 KiB."""

    source: str
    offsets: Int64Array
    """Bytes from the start of the file to each of these records, and to the end of the last, shape (n + 1,)."""
    numbers: Int64Array
    """The numbers of these records in the file, and the number of all records, shape (n + 1,)."""

    @classmethod
    def of(cls, source: str, borders: Int64Array) -> FileMarks:
        """Mark a file whose borders of records are all known, shape (n_records + 1,)."""
        numbers = np.append(marks_in(borders[:-1]), borders.size - 1)
        return cls(source, borders[numbers], numbers)

    def part(self, first: int, stop: int) -> FilePart:
        """Return records `first` to before `stop`; raises ``STALE_INDEX`` if the file lacks them."""
        start, end = self._offset(first), self._offset(stop)
        return FilePart(self.source, start, end, first, stop - first, end - start)

    def _offset(self, number: int) -> int:
        i = int(self.numbers.searchsorted(number, side="right")) - 1
        offset, n_hops = int(self.offsets[i]), number - int(self.numbers[i])
        if not n_hops:
            return offset
        borders = _hop(open_handle(self.source), offset, int(self.offsets[i + 1]), most=n_hops)
        if borders.size <= n_hops:
            raise _changed_error(self.source, f"it had {number} records or more")
        return int(borders[n_hops])

    @property
    def run_starts(self) -> BoolArray:
        """Whether a run begins at each mark, shape (n,): 64 runs in a file, but of 64 KiB to 1 MiB."""
        run_bytes = min(max(int(self.offsets[-1]) // 64, _MARK_BYTES), RUN_BYTES)
        is_start: BoolArray = np.diff(self.offsets[:-1] // run_bytes, prepend=-1) != 0
        return is_start


def marks_in(offsets: Int64Array, before: int = -1) -> Int64Array:
    """Return which records are the first of their 64 KiB, by where they and the one `before` begin."""
    return np.flatnonzero(np.diff(offsets // _MARK_BYTES, prepend=before // _MARK_BYTES))


def _index_beside(name: str, stamp: FileStamp, options: ReadSettings) -> Any:
    from tfrecord_lite.index.index import beside  # noqa: PLC0415 - not for whole files

    return beside(name, stamp, options.storage_options)


def file_marks(name: str, options: ReadSettings, *, is_first: bool) -> FileMarks | None:
    """Return where a file can be cut; None if that is not known.

    For the `is_first` reading of a file its index must be there, or its records must be large. For others
    the lengths of all records are read.
    """
    try:
        handle = open_handle(name, options.storage_options)
    except errors.FailedPreconditionError:  # a pipe, or a server without range requests
        return None
    stamp = FileStamp.of(handle)
    if options.codec_name or (stamp.file_bytes and not is_header(stamp.header)):
        return None
    index = _index_beside(name, stamp, options) if stamp.file_bytes else None
    if index is not None:
        borders = np.append(index.offsets, index.end)
    elif is_url(name) or (is_first and not _has_large_records(handle)):
        return None
    else:
        borders = _hop(handle, max_record_bytes=options.max_record_bytes)
    if int(borders[-1]) != stamp.file_bytes:  # damaged
        return None
    return FileMarks.of(name, borders)


def _has_large_records(handle: AnyHandle) -> bool:
    borders = _hop(handle, most=_FIRST_RECORDS)
    return bool(borders[-1] >= _LARGE_BYTES * (borders.size - 1))


def deal(
    files: Sequence[FileMarks],
    ranks: tuple[int, int],
    workers: tuple[int, int] = (1, 0),
    even: Literal["", "pad", "drop"] = "",
) -> list[list[FilePart]]:
    """Return one reader's parts of each file that it has any of: runs in turns, counted over all files.

    A reader is one worker of one rank; both are (how many there are, which one this is). Ranks have equal numbers of
    records, to within one, and so have readers: what a reader has too few, it takes from the runs of the one before.
    To be `even`, those that have one less also read a record of the one before, or the others leave one out.
    """
    n_readers = ranks[0] * workers[0]
    number = ranks[1] * workers[0] + workers[1]
    turns = np.arange(n_readers).reshape(workers[0], ranks[0]).T.reshape(-1)  # of each reader
    # Of records, from mark to mark.
    counts = np.concatenate([np.diff(file.numbers) for file in files])
    firsts = np.concatenate([file.numbers[:-1] for file in files])
    places = np.repeat(np.arange(len(files)), [file.numbers.size - 1 for file in files])
    runs = np.cumsum(np.concatenate([file.run_starts for file in files])) - 1
    order = np.argsort(runs % n_readers, kind="stable")
    splits = row_splits(counts[order])
    size, rest = divmod(int(splits[-1]), n_readers)
    sizes = size + (turns < (0 if even == "drop" else rest))
    low, high = row_splits(sizes)[number : number + 2].tolist()
    if even == "pad" and rest and turns[number] >= rest:
        low -= 1
    begins = np.maximum(low - splits[:-1], 0)
    ends = np.minimum(high - splits[:-1], counts[order])
    rows = np.flatnonzero(begins < ends)
    rows = rows[np.argsort(order[rows], kind="stable")]
    stretches = order[rows]
    begins, ends = firsts[stretches] + begins[rows], firsts[stretches] + ends[rows]
    parts: list[list[FilePart]] = []
    is_new_file = np.diff(places[stretches], prepend=-1) != 0
    is_new_part = is_new_file | np.append(True, begins[1:] != ends[:-1])[: rows.size]
    starts = np.flatnonzero(is_new_part)
    stops = np.append(starts[1:], rows.size)[: starts.size]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if is_new_file[start]:
            parts.append([])
        file = files[int(places[stretches[start]])]
        parts[-1].append(file.part(int(begins[start]), int(ends[stop - 1])))
    return parts


class PartReader:
    """Read the records of one part.

    part : FilePart
    options : ReadSettings, optional
    log : DamageLog, optional
        Of what is skipped in several parts. By default of this part: reported in :attr:`report`, not warned of;
        `max_errors` is of the part.
    block_records : int, optional
        As for RecordStream.
    ahead : ReadAhead, optional
        As for RecordStream.
    """

    def __init__(
        self,
        part: FilePart,
        options: ReadSettings = _DEFAULTS,
        log: DamageLog | None = None,
        block_records: int = 64,
        ahead: ReadAhead | None = None,
    ) -> None:
        self._part = part
        if options.on_misfit != "raise" and options.check is None:
            from tfrecord_lite.example.survey import check_either  # noqa: PLC0415 - loads the engine

            options = options.dropping(check_either)
        self._options = options if part.is_whole else replace(options, compression="")
        self._log = log or DamageLog.begin(options)
        self._reading: Any = {"block_records": block_records, "ahead": ahead}
        self._stream: RecordStream | None = None
        self._skipping: SkippingStream | None = None

    @property
    def report(self) -> errors.DamageReport | None:
        """What was read and skipped so far; None if damage is raised."""
        if self._log is None:
            return None
        report = self._log.report()
        # Without a file it is not opened yet.
        empty = errors.FileReport(self._part.source, 0, 0)
        return report if report.files else errors.DamageReport((empty,))

    @property
    def remote_bytes(self) -> int:
        """The size of a file of a store, once it was opened; 0 of others, or if it is not known."""
        return 0 if self._stream is None else self._stream.remote_bytes

    def next_block(self, num_records: int | None = None) -> Block | None:
        """Return the next records, `num_records` or what one read brings; None at the end.

        Raises
        ------
        DataLossError, OSError
            As :class:`TFRecordReader`, after all records before.
        FailedPreconditionError
            ``STALE_INDEX`` if the file has changed since it was cut.
        """
        part = self._part
        if self._stream is None:
            self._stream = RecordStream(part.source, self._options, **self._reading)
            if not part.is_whole:
                self._stream.begin_at(part.start, part.first)
                self._stream.end_at(part.stop)
            if self._log is not None:
                self._skipping = self._log.skipping(self._stream)
        stream = self._stream
        if (block := (self._skipping or stream).next_block(num_records)) is not None:
            return block
        # Records may be missing, or there may be others, if the file has changed.
        n_read = stream.n_records - part.first
        if part.stop is not None and stream.offset != part.stop:
            what = f"the part ends at byte {part.stop}, but the file at byte {stream.offset}"
            raise _changed_error(part.source, what)
        if self._log is None and part.n_records is not None and part.n_records != n_read:
            had = plural(part.n_records, "record")
            raise _changed_error(part.source, f"the part had {had}, but {n_read} are there")
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


def _changed_error(source: str, what: str) -> errors.FailedPreconditionError:
    detail = f"the file has changed since it was divided among tasks ({what}); start again"
    return errors.FailedPreconditionError(errors.Reason.STALE_INDEX, source=source, detail=detail)


def join_reports(reports: Iterable[errors.DamageReport]) -> errors.DamageReport:
    """Join the reports of parts, each once, in any order: what was read and skipped of each file."""
    by_file: dict[str, list[errors.FileReport]] = {}
    for file in (file for report in reports for file in report.files):
        by_file.setdefault(file.source, []).append(file)
    return errors.DamageReport(tuple(_joined(by_file[name]) for name in sorted(by_file)))


def _joined(files: list[errors.FileReport]) -> errors.FileReport:
    n_records = sum(file.records for file in files)
    spans = sorted((span for file in files for span in file.spans), key=lambda span: span.offset)
    damage = DamagedSpans()
    for span in spans:
        # In the number of a record, damaged ones before it are counted.
        n_before = span.records_before if span.index is None else span.index - damage.num_damaged
        damage.add(replace(span, records_before=n_before))
    record_bytes = sum(file.record_bytes for file in files)
    kept = tuple(replace(s, records_after=n_records - s.records_before) for s in damage.kept)
    lost = sum(file.num_damaged for file in files), sum(file.lost_bytes for file in files)
    failure = next((file.failure for file in files if file.failure), None)
    return errors.FileReport(files[0].source, n_records, record_bytes, kept, *lost, failure=failure)
