"""Records from places all over an uncompressed file, found without an index.

::

    file       [------------------------------------------------------------]
    strata     -------|-------------------|-------------------|--------------
    windows       [=====]       [=====]                  [=====]
    records       a  b  c        k  l  m                  s  t  u

The file is a circle, which is turned by a random number of bytes and cut into strata of equal length, with a
*window* at a random place of each; one that goes beyond the end of the file goes on at its start. A
window gives the intact records that **start** in it, each whole, even if its end is beyond the
window. The first is found by its CRCs (:func:`~tfrecord_lite.records.resync.find_headers`), the
others follow it.

Every byte is as likely to be in a window as any other, and so is every record, whatever its length:
there is one byte at which it starts.
(An offset falls *into* a long record more often than into a short one, and a window *has room* for a
short one more often than for a long one; neither decides here.) And the starts in windows of a
fixed width, times the part of the file that is in windows, estimate the number of records without
bias. Windows are all of the same width, so regions of short records weigh as many records as they
have.

Bytes before the first record of a window are the rest of another record, not damage. Nor is a window
without a record damaged if a record that begins up to 4 MiB before it reaches beyond it, or if records
are as long as that.

A file inside a record, uncompressed, is full of bytes that prove themselves records. Where one ends,
and a record of the file follows within less than a frame, what came before is dropped; a window that
lies in it altogether cannot tell.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from tfrecord_lite.arrays import at_every_byte
from tfrecord_lite.block import SPARE_BYTES, Block, Span
from tfrecord_lite.dataset.random_order import words
from tfrecord_lite.errors import DamagedSpan, DataLossError, Reason
from tfrecord_lite.index.remote import RemoteFrames, RemoteHandle, read_frames
from tfrecord_lite.progress import SILENT
from tfrecord_lite.records.crc32c import length_crcs
from tfrecord_lite.records.damage import MAX_SPANS, DamageLog, FileReport
from tfrecord_lite.records.framing import (
    FOOTER,
    FOOTER_BYTES,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    data_of_frame,
    is_header,
)
from tfrecord_lite.records.resync import find_headers
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.dataset.random_order import Key
    from tfrecord_lite.index.pread import AnyHandle
    from tfrecord_lite.options import ReadSettings
    from tfrecord_lite.progress import Meter
    from tfrecord_lite.records.damage import SkippingStream

_MAX_PLACES = 64
"""How many windows a file has at most."""
_LEAST_BYTES = 64 * 1024
"""Windows are not narrower than this, unless that is more than half of what may be read."""
_REMOTE_BYTES = 128 * 1024
"""Windows of remote files are not wider: all of them are fetched at once."""
_MAX_READ = 4
"""Records that reach beyond their window may bring what is read to this many times the budget."""
_LOOK_BACK_BYTES = 4 * 1024 * 1024
"""How far before an empty window to look for the record that it is in."""
_MAX_DAMAGE = 100
"""A window is left after so many damaged places."""
_MAX_TRIES = 16
"""How many headers of damaged data are looked at for the first record of a window."""
_PIECE_BYTES = 64 * 1024
_MAX_LOOKS_BACK = 8
"""For how many windows that is done."""


@dataclass(frozen=True, slots=True)
class Found:
    """What windows have shown of a file."""

    blocks: list[Block]
    n_records: int
    """Of the file, estimated."""
    n_places: int
    report: FileReport


class Window:
    """A file object for the bytes of a file from `start` up to `stop`, read when they are asked for.

    Offsets are those in the file.
    """

    def __init__(self, handle: AnyHandle, start: int, stop: int) -> None:
        self.name: str = handle.name
        self.start = start
        self.stop: int = min(stop, handle.size())
        self.is_at_end: bool = self.stop == handle.size()
        self.data: bytes = b""
        self.n_read: int = 0
        """How many bytes were read."""
        self._handle = handle
        self._at = 0

    def grow(self) -> None:
        """Read all of it, unless that was done."""
        if not self.data:
            self.data = self._handle.read(self.stop - self.start, self.start)
            self.n_read += len(self.data)

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end."""
        self.grow()
        first = self._at - self.start
        data = self.data[first : first + n_bytes]
        self._at += len(data)
        return data

    def header_at(self, offset: int) -> bytes:
        """Return the header at an offset, fewer bytes at the end of the file."""
        self.grow()
        header = self.data[offset - self.start :][:HEADER_BYTES]
        return header if len(header) == HEADER_BYTES else self._handle.read(HEADER_BYTES, offset)

    def frame_at(self, offset: int, size: int) -> bytes | None:
        """Return the frame of these many bytes at an offset; None if it is damaged."""
        frame = self.data[offset - self.start :][:size]
        if len(frame) < size:
            if offset + size > self._handle.size():
                return None
            frame = self._handle.read(size, offset)
            self.n_read += size
        return None if data_of_frame(frame, size) is None else frame

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset."""
        self._at = offset + (self._at if whence == io.SEEK_CUR else 0)
        return self._at

    def seekable(self) -> bool:
        """Whether it can seek."""
        return True

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._at


def look(
    handle: AnyHandle, options: ReadSettings, max_bytes: int, key: Key, meter: Meter = SILENT
) -> Found:
    """Take the records of windows of about `max_bytes` together; `key` is for random places."""
    size = handle.size()
    n_places = max(2, min(_MAX_PLACES, max_bytes // _LEAST_BYTES))
    width = max(min(max_bytes, size) // n_places, 1)
    if isinstance(handle, RemoteHandle):
        width = min(width, _REMOTE_BYTES)
    header = handle.read(HEADER_BYTES, 0)
    first = int.from_bytes(header[:8], "little") if is_header(header) else 0
    if not first:
        report = _take(Window(handle, 0, width), width, options, max_bytes).report
        if any(span.reason is Reason.NOT_A_TFRECORD for span in report.spans):
            return Found([], 0, 1, report)
    starts, stops = _edges(size, n_places, width, key)
    left = _MAX_READ * max_bytes
    takings: list[_Taking] = []
    for start, stop, data in zip(
        starts.tolist(), stops.tolist(), _ahead(handle, starts, stops), strict=True
    ):
        window = Window(handle, start, stop)
        window.data = data
        takings.append(_take(window, stop, options, max_bytes))
        meter.advance(sum(block.nbytes for block in takings[-1].blocks))
        left -= window.n_read
        if left <= width:
            break
    starts, stops = starts[: len(takings)], stops[: len(takings)]
    empty = _damaged_windows(handle, takings, starts, stops, first)
    seen = sum(taking.n_starts for taking in takings) / int((stops - starts).sum())
    blocks = [block for taking in takings for block in taking.blocks]
    n_records = max(round(seen * size), sum(map(len, blocks)), int(is_header(header)))
    n_seen = min(len(takings), n_places)
    return Found(blocks, n_records, n_seen, _joined(handle.name, takings, empty))


def _edges(size: int, n_places: int, width: int, key: Key) -> tuple[Int64Array, Int64Array]:
    """Return where the windows begin and end, in the order of the file; one may be cut in two."""
    turn, *fractions = ((words(key, 0, n_places + 1) >> np.uint64(11)) * 2.0**-53).tolist()
    stride = size / n_places
    places = (turn + np.arange(n_places)) * stride + np.array(fractions) * (stride - width)
    starts = np.sort(places.astype(np.int64) % size)
    stops = starts + width
    beyond = int(stops[-1]) - size
    if beyond > 0:
        starts, stops = np.append(0, starts), np.append(beyond, stops.clip(max=size))
    return starts, stops


def _ahead(handle: AnyHandle, starts: Int64Array, stops: Int64Array) -> list[bytes]:
    """Return what was read of each window together: all of a remote file's, none of a local one's."""
    if not isinstance(handle, RemoteHandle):
        return [b""] * starts.size
    sizes = stops - starts
    ends = np.cumsum(sizes)
    out = np.empty(int(ends[-1]), np.uint8)
    read_frames([RemoteFrames(handle, starts, sizes, ends - sizes)], out)
    return [part.tobytes() for part in np.split(out, ends[:-1])]


@dataclass(frozen=True, slots=True)
class _Taking:
    """What one window gave."""

    blocks: list[Block]
    n_starts: int
    """Of records, also of one that is too long to be read."""
    report: FileReport
    longest: int = 0
    """Bytes of the longest record."""


def _take(window: Window, edge: int, options: ReadSettings, max_bytes: int) -> _Taking:
    """Take the records that start before `edge`, each whole; `window` ends there."""
    first, wrong = _first_record(window, edge, options, max_bytes) if window.start else (0, None)
    if first is None:
        spans = () if wrong is None else (wrong,)
        n_lost = sum(span.length for span in spans)
        return _Taking([], len(spans), FileReport(window.name, 0, 0, spans, len(spans), n_lost))
    log = DamageLog(lambda span: None, _MAX_DAMAGE)  # noqa: ARG005 - told by the report
    source = cast("IO[bytes]", window)
    stream = RecordStream(source, replace(options, compression=""))
    stream.begin_at(first, 0)
    skipping = log.skipping(stream, may_be_torn=not window.is_at_end)
    blocks: list[Block] = []
    size = None
    try:
        while skipping.offset < edge and (size := _size_beyond(window, skipping.offset)) is None:
            if (block := skipping.next_block()) is None:
                break
            blocks.append(block)
    except DataLossError:
        if not log.is_over:
            raise
    report = skipping.report()
    if size is not None and size <= max_bytes:  # the last one, of which the window has a part
        frame = window.frame_at(skipping.offset, size)
        if frame is not None:
            blocks.append(_block_of(frame, window.name, skipping))
        else:
            report, size = _with_last_damaged(report, skipping, size), None
    taking = _as_taking(window, blocks, size is not None, report)
    longest = max((int(block.lengths.max()) for block in blocks), default=0)
    return replace(taking, longest=max(longest, size or 0))


def _with_last_damaged(report: FileReport, skipping: SkippingStream, size: int) -> FileReport:
    """Return a report with the record that follows, which is damaged."""
    place = skipping.name, skipping.offset, size
    span = DamagedSpan(*place, Reason.DATA_CRC, None, skipping.n_records, report.records)
    return replace(
        report,
        spans=(*report.spans, span),
        n_damaged=report.n_damaged + 1,
        lost_bytes=report.lost_bytes + size,
    )


def _first_record(
    window: Window, edge: int, options: ReadSettings, max_bytes: int
) -> tuple[int | None, DamagedSpan | None]:
    """Return where the first intact record before `edge` starts; or what is there instead, if anything.

    Few headers are tried: in data that are not made for it, what looks like one is one.
    """
    most = min(options.max_record_bytes, max_bytes)
    tried = 0
    window.grow()
    data = np.frombuffer(window.data, np.uint8)
    for at in range(0, max(data.size, 1), _PIECE_BYTES):
        starts, lengths = find_headers(data[at : at + _PIECE_BYTES + HEADER_BYTES - 1], most)
        for start, length in zip(
            (starts + (window.start + at)).tolist(), lengths.tolist(), strict=True
        ):
            if start >= edge:
                break
            frame = window.frame_at(start, length + OVERHEAD_BYTES)
            if frame is not None:
                return start, None
            tried += 1
            if tried == _MAX_TRIES:
                return None, _empty_span(window.name, window.start, edge, Reason.DATA_CRC)
    return None, _empty_span(window.name, window.start, edge, Reason.DATA_CRC) if tried else None


def _empty_span(name: str, start: int, stop: int, reason: Reason) -> DamagedSpan:
    """Return the damage of a whole window."""
    detail = "no intact record was found in these bytes, of which a sample was taken"
    return DamagedSpan(name, start, stop - start, reason, detail, None, 0)


def _size_beyond(window: Window, offset: int) -> int | None:
    """Return the bytes of the record at an offset, with its frame, if it ends after the window."""
    if window.is_at_end:
        return None
    header = window.header_at(offset)
    size = int.from_bytes(header[:8], "little") + OVERHEAD_BYTES
    return size if is_header(header) and offset + size > window.stop else None


def _block_of(frame: bytes, name: str, skipping: SkippingStream) -> Block:
    """Return a block of the next record of a stream."""
    data = np.frombuffer(frame + bytes(SPARE_BYTES), np.uint8)
    base = skipping.offset - HEADER_BYTES
    span = Span(0, name, skipping.n_records, base, is_framed=True)
    lengths = np.array([len(frame) - OVERHEAD_BYTES])
    return Block(data, np.array([HEADER_BYTES]), lengths, (span,))


def _as_taking(
    window: Window,
    blocks: list[Block],
    has_last: bool,  # noqa: FBT001
    report: FileReport,
) -> _Taking:
    """Return what a window gave, without what came from a file inside a record.

    `has_last` tells that a record starts in it and ends after it, whether it was taken or not.
    """
    spans, n_damaged, n_lost = report.spans, report.n_damaged, report.lost_bytes
    if window.start and spans and spans[0].length < OVERHEAD_BYTES:
        blocks, n_damaged, n_lost = (
            _without(blocks, spans[0].offset),
            n_damaged - 1,
            n_lost - spans[0].length,
        )
        spans = spans[1:]
    if window.start:  # the numbers of these records are not known
        blocks = [
            replace(b, spans=tuple(replace(s, is_numbered=False) for s in b.spans)) for b in blocks
        ]
        spans = tuple(replace(span, index=None) for span in spans)
    n_records, n_bytes = sum(map(len, blocks)), sum(block.nbytes for block in blocks)
    found = FileReport(report.source, n_records, n_bytes, spans, n_damaged, n_lost)
    n_whole = n_records - (has_last and bool(blocks) and _end_of(blocks[-1]) > window.stop)
    return _Taking(blocks, n_whole + n_damaged + has_last, found)


def _end_of(block: Block) -> int:
    """Return the offset after the last record of a block."""
    end = int(block.offsets[-1] + block.lengths[-1]) + FOOTER_BYTES
    return end + (block.spans[0].base or 0) + HEADER_BYTES


def _without(blocks: list[Block], offset: int) -> list[Block]:
    """Leave out the records before an offset."""
    kept = []
    for block in blocks:
        starts = block.offsets + (block.spans[0].base or 0)
        kept.append(block[int(np.searchsorted(starts, offset)) :])
    return [block for block in kept if len(block)]


def _damaged_windows(
    handle: AnyHandle,
    takings: list[_Taking],
    starts: Int64Array,
    stops: Int64Array,
    first: int,
) -> list[DamagedSpan]:
    """Return the windows that have no record and are in none; `first` is the length of the file's first."""
    if (
        max(first, *(taking.longest for taking in takings)) > _LOOK_BACK_BYTES // 2
    ):  # then it cannot be told
        return []
    chosen = [
        (start, stop)
        for start, stop, taking in zip(starts.tolist(), stops.tolist(), takings, strict=True)
        if not taking.n_starts and not taking.report.spans
    ]
    return [
        _empty_span(handle.name, start, stop, Reason.LENGTH_CRC)
        for start, stop in chosen[:_MAX_LOOKS_BACK]
        if not _is_in_record(handle, start, stop)
    ]


def _is_in_record(handle: AnyHandle, start: int, stop: int) -> bool:
    """Whether a header here, or before `start`, is of a record that ends at `stop` or later."""
    first = max(start - _LOOK_BACK_BYTES, 0)
    data = np.frombuffer(handle.read(stop - first + HEADER_BYTES, first), np.uint8)
    n_places = data.size - HEADER_BYTES + 1
    if n_places <= 0:
        return False
    lengths = at_every_byte(data, np.dtype("<u8"))[:n_places]
    least = (stop - first - OVERHEAD_BYTES - np.arange(n_places)).clip(0).astype(np.uint64)
    places = np.flatnonzero((lengths >= least) & (lengths <= handle.size()))
    stored = at_every_byte(data, FOOTER)[places + 8]
    return bool((length_crcs(lengths[places]) == stored).any())


def _joined(name: str, takings: list[_Taking], empty: list[DamagedSpan]) -> FileReport:
    """Return one report of a file."""
    reports = [taking.report for taking in takings]
    spans = sorted(
        [*(span for report in reports for span in report.spans), *empty], key=lambda s: s.offset
    )
    return FileReport(
        name,
        sum(report.records for report in reports),
        sum(report.record_bytes for report in reports),
        tuple(spans[:MAX_SPANS]),
        sum(report.n_damaged for report in reports) + len(empty),
        sum(report.lost_bytes for report in reports) + sum(span.length for span in empty),
    )
