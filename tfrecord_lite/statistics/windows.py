"""Records from places all over an uncompressed file, found without an index.

::

    strata     |-------------------|-------------------|-------------------|
    windows    [=====]                   [=====]          [=====]
    records    a  b  c                    k  l  m           s  t  u

The file is cut into strata of equal length, with a *window* in each: the first begins with the
file, the others at a random byte. A window gives the intact records that **start** in it, each
whole, even if its end is beyond the window. The first is found by its CRCs
(:class:`~tfrecord_lite.records.resync.RecordFinder`), the others follow it.

So a record is as likely as any other, whatever its length: there is one byte at which it starts.
(An offset falls *into* a long record more often than into a short one, and a window *has room* for a
short one more often than for a long one; neither decides here.) And the starts in windows of a
fixed width, times the part of the file that is in windows, estimate the number of records without
bias. Windows are all of the same width, so regions of short records weigh as many records as they
have.

Bytes before the first record of a window are the rest of another record, not damage. Nor is a window
without a record damaged if a record that begins before it reaches beyond it.

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
from tfrecord_lite.dataset.random_order import words
from tfrecord_lite.errors import Reason
from tfrecord_lite.index.remote import RemoteFrames, RemoteHandle, read_frames
from tfrecord_lite.records.crc32c import length_crcs
from tfrecord_lite.records.damage import DamagedSpan, DamageLog, FileReport
from tfrecord_lite.records.framing import FOOTER, HEADER_BYTES, OVERHEAD_BYTES, is_header
from tfrecord_lite.records.resync import RecordFinder
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.block import Block
    from tfrecord_lite.dataset.random_order import Key
    from tfrecord_lite.index.pread import AnyHandle
    from tfrecord_lite.records.options import ReadOptions

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

    Offsets are those in the file. At most `stop` - `start` bytes are held.
    """

    def __init__(self, handle: AnyHandle, start: int, stop: int, n_bytes: int) -> None:
        self.name: str = handle.name
        self.start = start
        self.stop: int = min(stop, handle.size())
        self.is_at_end: bool = self.stop == handle.size()
        self.data: bytes = b""
        self._handle = handle
        self._n_first = n_bytes
        self._at = 0

    @property
    def end(self) -> int:
        """The offset after the bytes that were read."""
        return self.start + len(self.data)

    @property
    def is_full(self) -> bool:
        """Whether there is no more to read."""
        return self.end >= self.stop

    def grow(self) -> None:
        """Read as many bytes again as are there."""
        n_bytes = min(max(self._n_first, len(self.data)), self.stop - self.end)
        more = self._handle.read(n_bytes, self.end)
        self.data += more
        if not more:  # the file was cut
            self.stop = self.end

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end."""
        while self._at >= self.end and not self.is_full:
            self.grow()
        first = self._at - self.start
        data = self.data[first : first + n_bytes]
        self._at += len(data)
        return data

    def header_at(self, offset: int) -> bytes:
        """Return the header at an offset, fewer bytes at the end."""
        while self.end < offset + HEADER_BYTES and not self.is_full:
            self.grow()
        return self.data[offset - self.start :][:HEADER_BYTES]

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


def look(handle: AnyHandle, options: ReadOptions, max_bytes: int, key: Key) -> Found:
    """Take the records of windows of about `max_bytes` together; `key` is for random places."""
    size = handle.size()
    n_places = max(2, min(_MAX_PLACES, max_bytes // _LEAST_BYTES))
    width = max(min(max_bytes, size) // n_places, 1)
    if isinstance(handle, RemoteHandle):
        width = min(width, _REMOTE_BYTES)
    starts = _starts(size, n_places, width, key)
    read = _ahead(handle, starts, width)
    left = _MAX_READ * max_bytes
    takings: list[_Taking] = []
    for start, data in zip(starts.tolist(), read, strict=True):
        window = Window(handle, start, start + min(width + max_bytes, left), width)
        window.data = data
        takings.append(_take(window, start + width, options))
        left -= len(window.data)
        is_foreign = any(s.reason is Reason.NOT_A_TFRECORD for s in takings[-1].report.spans)
        if is_foreign or left <= width:
            break
    empty = _damaged_windows(handle, takings, starts, width)
    seen = sum(taking.n_starts for taking in takings) / (width * len(takings))
    blocks = [block for taking in takings for block in taking.blocks]
    n_records = max(round(seen * size), sum(map(len, blocks)))
    return Found(blocks, n_records, len(takings), _joined(handle.name, takings, empty))


def _starts(size: int, n_places: int, width: int, key: Key) -> Int64Array:
    """Return where the windows begin: the first with the file, the others anywhere in their strata."""
    fractions = (words(key, 0, n_places) >> np.uint64(11)) * 2.0**-53
    fractions[0] = 0
    length = size / n_places
    return (np.arange(n_places) * length + fractions * (length - width)).astype(np.int64)


def _ahead(handle: AnyHandle, starts: Int64Array, width: int) -> list[bytes]:
    """Return what was read of each window together: all of a remote file's, none of a local one's."""
    if not isinstance(handle, RemoteHandle):
        return [b""] * starts.size
    out = np.empty(starts.size * width, np.uint8)
    places = np.arange(starts.size) * width
    read_frames([RemoteFrames(handle, starts, np.full_like(starts, width), places)], out)
    return [out[place : place + width].tobytes() for place in places.tolist()]


@dataclass(frozen=True, slots=True)
class _Taking:
    """What one window gave."""

    blocks: list[Block]
    n_starts: int
    """Of records, also of one that is too long to be read."""
    report: FileReport

    @property
    def longest(self) -> int:
        """Bytes of the longest record."""
        return max((int(block.lengths.max()) for block in self.blocks), default=0)


def _take(window: Window, edge: int, options: ReadOptions) -> _Taking:
    """Take the records that start before `edge`, each whole."""
    first = _first_record(window, edge, options.max_record_bytes) if window.start else 0
    if first is None:
        return _Taking([], 0, FileReport(window.name, 0, 0))
    log = DamageLog(lambda span: None, None)  # noqa: ARG005 - told by the report
    source = cast("IO[bytes]", window)
    stream = RecordStream(source, replace(options, compression=""))
    stream.begin_at(first, 0)
    skipping = log.skipping(stream, may_be_torn=not window.is_at_end)
    blocks: list[Block] = []
    n_left_out = 0
    while skipping.offset < edge:
        if _leads_out(window, skipping.offset):
            n_left_out = 1
            break
        if (block := skipping.next_block()) is None:
            break
        starts = block.offsets + (block.spans[0].base or 0)
        blocks.append(block[: int(np.searchsorted(starts, edge))])
    return _as_taking(
        window, [block for block in blocks if len(block)], n_left_out, skipping.report()
    )


def _first_record(window: Window, edge: int, max_record_bytes: int) -> int | None:
    """Return where the first intact record starts; None if there is none before `edge`."""
    finder = RecordFinder(min(max_record_bytes, window.stop - window.start))
    while True:
        if window.end < edge and not window.is_full:
            window.grow()
        data = np.frombuffer(window.data, np.uint8)
        found = finder.find(data, window.start, window.start, is_end=window.is_full)
        if found is not None:
            return found if found < min(edge, window.end) else None
        if finder.wanted_from >= edge:
            return None
        window.grow()


def _leads_out(window: Window, offset: int) -> bool:
    """Whether the record at an offset has a part that is not read, as the window may not grow more."""
    if window.is_at_end:
        return False
    header = window.header_at(offset)
    if len(header) < HEADER_BYTES:
        return True
    length = int.from_bytes(header[:8], "little")
    return is_header(header) and offset + length + OVERHEAD_BYTES > window.stop


def _as_taking(window: Window, blocks: list[Block], n_left_out: int, report: FileReport) -> _Taking:
    """Return what a window gave, without what came from a file inside a record."""
    spans = report.spans
    if window.start and spans and spans[0].length < OVERHEAD_BYTES:
        blocks, spans = _without(blocks, spans[0].offset), spans[1:]
    if window.start:  # the numbers of these records are not known
        blocks = [
            replace(b, spans=tuple(replace(s, is_numbered=False) for s in b.spans)) for b in blocks
        ]
        spans = tuple(replace(span, index=None) for span in spans)
    n_records, n_bytes = sum(map(len, blocks)), sum(block.nbytes for block in blocks)
    n_lost = sum(span.length for span in spans)
    found = FileReport(report.source, n_records, n_bytes, spans, len(spans), n_lost)
    return _Taking(blocks, n_records + len(spans) + n_left_out, found)


def _without(blocks: list[Block], offset: int) -> list[Block]:
    """Leave out the records before an offset."""
    kept = []
    for block in blocks:
        starts = block.offsets + (block.spans[0].base or 0)
        kept.append(block[int(np.searchsorted(starts, offset)) :])
    return [block for block in kept if len(block)]


def _damaged_windows(
    handle: AnyHandle, takings: list[_Taking], starts: Int64Array, width: int
) -> list[DamagedSpan]:
    """Return the windows that have no record and are in none."""
    longest = max(taking.longest for taking in takings)
    if longest > _LOOK_BACK_BYTES // 2:  # then it cannot be told
        return []
    is_empty = [not taking.n_starts and not taking.report.spans for taking in takings]
    chosen = [start for start, empty in zip(starts.tolist(), is_empty, strict=False) if empty]
    detail = "no intact record starts in these bytes, of which a sample was taken"
    return [
        DamagedSpan(handle.name, start, width, Reason.LENGTH_CRC, detail, None, 0)
        for start in chosen[:_MAX_LOOKS_BACK]
        if not _is_in_record(handle, start, start + width)
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
        tuple(spans),
        sum(report.n_damaged for report in reports) + len(empty),
        sum(report.lost_bytes for report in reports) + sum(span.length for span in empty),
    )
