"""A stream of frames to blocks of records, without I/O.

Reading takes three steps, and only the first is a Python loop: hop from header to header, trusting each
length for now; check the CRCs of all lengths at once, where the first that is wrong ends the records, since
every hop after it was a guess; check the data, with one CRC call per record, or a single one over many short ones.

Memory that was given out is never overwritten, and no room is made for a record because its length says so: a
record larger than the buffer grows it step by step, as the bytes arrive (rule R6).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import repeat
from typing import cast

import numpy as np

from tfrecord_lite.arrays import Buffer, Uint8Array, keep_freed_pages
from tfrecord_lite.block import (
    FOOTER_BYTES,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    SPARE_BYTES,
    Block,
    block_of,
)
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.options import MAX_RECORD_BYTES
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.framing import first_bad_data, frame_error, is_header, read_headers

CHUNK_BYTES = 1024 * 1024
"""How much a decoder asks for at a time; one fits the processor's cache."""
LARGE_BYTES = 32 * 1024
"""From this size on a record may be read straight into its own bytes object."""
_MIN_ROOM_BYTES = 64 * 1024
"""A buffer with less room than this is full, and a new one takes its place."""
_MAX_AHEAD_BYTES = 64 * 1024 * 1024
"""At most this much room is made for requested records that have not been read yet."""
_read_length = struct.Struct("<Q").unpack_from


class FrameDecoder:
    """Turn a stream of frames, cut anywhere, into blocks of records.

    Bytes go in by :meth:`feed`, or without a copy by :meth:`writable` and
    :meth:`advance`; :meth:`next_block` and :meth:`rest` return blocks.

    The CRCs of the data are checked if `verify`; the CRCs of the lengths always, since after a
    damaged length it is unknown where the next record is. `source`, a path or URL, is for errors.

    Blocks share the memory of a buffer that is only appended to, and lives as long as a block of it does.
    An error is raised after every intact record before it, and asking again repeats it (R7). Not thread-safe.
    """

    def __init__(
        self,
        *,
        verify: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
        source: str | None = None,
    ) -> None:
        keep_freed_pages()
        self.verify = verify
        self.max_record_bytes = max_record_bytes
        self.source = source
        self._sources = (source,)
        self._buffer = np.empty(SPARE_BYTES, np.uint8)
        self._view = memoryview(self._buffer)  # type: ignore[arg-type]
        self._stop = 0  # in the buffer: the end of what came in
        # In the buffer: where whole records that are not given out start, and where the last ends.
        self._edges = np.zeros(1, np.int64)
        self.next_length: int | None = None  # of the record at `_next`, once it is checked
        self._base = 0  # offset in the stream of the buffer's first byte
        self.n_records: int = 0  # given out so far
        self._mean_bytes = 0  # per record of the last block, frame included
        self._error: DataLossError | None = None  # about the record at `_next`

    @property
    def _start(self) -> int:
        """In the buffer: the first byte not given out."""
        return int(self._edges[0])

    @property
    def _next(self) -> int:
        """In the buffer: the header after all whole records."""
        return int(self._edges[-1])

    def _continue_at_place(self, start: int) -> None:
        self._edges = np.array([start], np.int64)
        self.next_length, self._error = None, None

    @property
    def offset(self) -> int:
        """Bytes from the start of the stream to the first record not given out."""
        return self._base + self._start

    @property
    def pending_bytes(self) -> int:
        """Bytes that came in and were not given out in a block."""
        return self._stop - self._start

    @property
    def pending(self) -> Uint8Array:
        """The bytes from `offset` on; a view, valid until the next call."""
        return self._buffer[self._start : self._stop]

    @property
    def next_frame_bytes(self) -> int:
        """Bytes of the next frame, by its length, which is right."""
        return int(_read_length(self._view, self._next)[0]) + OVERHEAD_BYTES

    def begin_at(self, offset: int, n_records: int) -> None:
        """Count bytes and records at the start of the stream that are not read."""
        self._base, self.n_records = offset, n_records

    def writable(self, n_records: int | None = None) -> memoryview:
        """Return room for the next bytes, more of it if `n_records` are wanted; valid until the next call.

        Write to its beginning, then call :meth:`advance` with how much.
        """
        size = CHUNK_BYTES
        if n_records is not None:
            n_whole = self._edges.size - 1
            mean = self._mean_bytes or (self._next - self._start) // max(n_whole, 1)
            expected = n_records * mean
            expected += expected >> 5  # a little short would cost a second buffer, and a copy
            size = max(size, min(expected - self.pending_bytes, _MAX_AHEAD_BYTES))
        if self.next_length is not None:
            # A record that outgrows the buffer at most doubles it, whatever its length says.
            missing = self._next + self.next_length + OVERHEAD_BYTES - self._stop
            size = max(size, min(missing, self.pending_bytes))
        elif n_records is None:  # after damage much may be pending, and more and more is wanted
            size = max(size, self.pending_bytes)
        room = self._buffer.size - SPARE_BYTES - self._stop
        if room < _MIN_ROOM_BYTES:
            start, pending = self._start, self.pending
            self._buffer = np.empty(pending.size + size + SPARE_BYTES, np.uint8)
            self._buffer[: pending.size] = pending
            self._view = memoryview(self._buffer)  # type: ignore[arg-type]
            self._edges, self._base = self._edges - start, self._base + start
            self._stop = pending.size
        return self._view[self._stop : self._buffer.size - SPARE_BYTES]

    def advance(self, n_bytes: int) -> None:
        """Take in `n_bytes` that were written to what :meth:`writable` returned."""
        self._stop += n_bytes

    def feed(self, data: Buffer) -> Block:
        """Copy the next bytes in, and give out the records they complete, as :meth:`rest`."""
        left = memoryview(data).cast("B")
        while left:
            room = self.writable()
            n_bytes = min(len(room), len(left))
            room[:n_bytes] = left[:n_bytes]
            self.advance(n_bytes)
            left = left[n_bytes:]
        return self.rest()

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Give out the next `n_records` records, without a number all that are whole, at least one.

        Returns None if more bytes are needed, and fewer records before a damaged one. If that is the next,
        raises ``LENGTH_CRC``, ``DATA_CRC`` or ``RECORD_TOO_LARGE``. Its `offset` is the record's, also for
        ``DATA_CRC``, where TensorFlow gives the offset of the data (R5).
        """
        self._scan(n_records)
        n_whole = self._edges.size - 1
        n_given = min(n_whole, n_records or n_whole)
        if n_given < (n_records or 1):  # fewer only before damage
            if self._error is None:
                return None
            if not n_given:
                raise self._error
        bounds, self._edges = self._edges[: n_given + 1], self._edges[n_given:]
        places = np.empty((n_given, 3), np.int64)  # of each: the file, its number, its offset
        places[:, 0] = 0
        places[:, 1] = np.arange(self.n_records, self.n_records + n_given)
        np.add(bounds[:-1], self._base, places[:, 2])
        self.n_records += n_given
        self._mean_bytes = int(bounds[-1] - bounds[0]) // n_given + 1
        offsets, lengths = bounds[:-1] + HEADER_BYTES, np.diff(bounds) - OVERHEAD_BYTES
        return block_of(self._buffer, offsets, lengths, self._sources, places, self.verify)

    def large_batch(self, read: Callable[[int], bytes], n_left: int) -> list[bytes] | Block | None:
        """Read the next records, if they are large, straight into ``bytes`` of their own, past the buffer.

        `read(n)` returns the next bytes of the stream, at most n, out of the `n_left` bytes of the source.
        Returns about a megabyte of records; None if the next one cannot be read this way.
        """
        length = self.next_length or 0
        came = self.pending_bytes - HEADER_BYTES  # bytes of its data
        if self._edges.size > 1 or not LARGE_BYTES <= length <= n_left + came or came > length:
            return None
        records: list[bytes] = []
        offset, n_bytes = self.offset, 0
        # Whenever reading ends, head + data + after are what came in from `offset` on. `head` is a header,
        # at first with what came of the data, `after` the footer and the header that follows.
        head, data, after = self.pending.tobytes(), b"", b""
        try:
            while True:
                data = read(length - came)
                after = read(OVERHEAD_BYTES) if len(data) == length - came else b""
                if came:
                    head, data, came = head[:HEADER_BYTES], head[HEADER_BYTES:] + data, 0
                stored = int.from_bytes(after[:FOOTER_BYTES], "little")
                if len(after) < FOOTER_BYTES:
                    break
                if self.verify and stored != crc32c.masked_crc32c(data):
                    break
                records.append(data)
                head, data, after = after[FOOTER_BYTES:], b"", b""
                offset += length + OVERHEAD_BYTES
                n_bytes += length
                n_left -= length + OVERHEAD_BYTES
                length = int.from_bytes(head[:8], "little")
                is_next = LARGE_BYTES <= length <= min(n_left, self.max_record_bytes)
                if n_bytes >= CHUNK_BYTES or not is_next or not is_header(head):
                    break
        except (OSError, DataLossError):  # met again by the next call
            if not records:
                raise
        finally:
            # Keep what was read of a record that is damaged or not whole.
            self._base, self.n_records = offset, self.n_records + len(records)
            self._restart(head + data + after)
        return records or self.next_block()

    def _restart(self, pending: bytes) -> None:
        """Make `pending`, which starts with a record, all that came in and was not given out."""
        self._continue_at_place(0)
        if len(pending) > self._buffer.size - SPARE_BYTES:
            self._buffer = np.empty(len(pending) + SPARE_BYTES, np.uint8)
            self._view = memoryview(self._buffer)  # type: ignore[arg-type]
        self._view[: len(pending)] = pending
        self._stop = len(pending)
        if is_header(pending):
            length = _read_length(pending)[0]
            self.next_length = length if length <= self.max_record_bytes else None

    def retract(self) -> None:
        """Forget the bytes that were read and not returned: they will be read again."""
        self._stop = self._start

    def go_to(self, offset: int) -> None:
        """Continue at a later offset of what came in, where a record starts: after damage."""
        self._continue_at_place(offset - self._base)

    def rest(self) -> Block:
        """Give out all whole records, maybe none; raises as :meth:`next_block`."""
        return self.next_block() or Block.from_records([])

    def close(self) -> None:
        """Check that the stream may end here.

        Raises ``TRUNCATED`` inside a record, even inside the header, where TensorFlow sees a clean end (rule R2).
        """
        self._scan(None)
        if self._error is not None:
            raise self._error
        if self._next < self._stop:
            length = self.next_length
            raise self._damage(HEADER_BYTES if length is None else length + OVERHEAD_BYTES)

    def _scan(self, n_records: int | None) -> None:
        """Find whole records, up to `n_records`."""
        if self._error is not None:
            return
        n_known = self._edges.size - 1
        turns = repeat(None) if n_records is None else repeat(None, n_records - n_known)
        view = self._view
        at, last = self._next, self._stop - OVERHEAD_BYTES
        offsets: list[int] = []
        # The loop that takes longest of all reading.
        for _ in turns:
            if at > last:
                break
            offsets.append(at)
            at += _read_length(view, at)[0] + OVERHEAD_BYTES
        if at > self._stop:  # the last one is not whole
            at = offsets.pop()
        if not offsets and self.next_length is not None:
            return
        offsets.append(at)
        more = np.fromiter(offsets, np.int64, len(offsets))
        self._edges = np.concatenate([self._edges[:-1], more])
        self.next_length = None
        self._check_headers(n_known, has_next=self._stop - at >= HEADER_BYTES)
        if self.verify:
            self._check_data(n_known)

    def _check_headers(self, n_known: int, *, has_next: bool) -> None:
        """Check new headers; the first that is wrong ends the records before it."""
        starts = self._edges[n_known : None if has_next else -1]
        if not starts.size:
            return
        lengths, is_wrong = read_headers(self._buffer, starts)
        bad = np.flatnonzero(is_wrong | (lengths > self.max_record_bytes))
        if bad.size == 0:
            if has_next:
                self.next_length = int(lengths[-1])
            return
        first = int(bad[0])
        self._edges = self._edges[: n_known + first + 1]
        if is_wrong[first]:
            self._error = self._damage(HEADER_BYTES)
            return
        detail = f"its length says {lengths[first]} bytes, the limit is {self.max_record_bytes}; "
        detail += "raise max_record_bytes to read larger records"
        offset, index = self._base + self._next, self.n_records + self._edges.size - 1
        reason = Reason.RECORD_TOO_LARGE
        self._error = DataLossError(reason, offset, self.source, index, detail=detail)

    def _check_data(self, n_known: int) -> None:
        edges = self._edges[n_known:]
        if edges.size == 1:
            return
        starts, stops = edges[:-1] + HEADER_BYTES, edges[1:] - FOOTER_BYTES
        bad = first_bad_data(self._buffer, starts, stops, is_owned=True)
        if bad is not None:
            self._edges = self._edges[: n_known + bad + 1]
            self.next_length = None
            self._error = self._damage(int(edges[bad + 1] - edges[bad]))

    def _damage(self, n_bytes: int) -> DataLossError:
        frame = self._view[self._next : min(self._next + n_bytes, self._stop)]
        index = self.n_records + self._edges.size - 1
        error = frame_error(frame, n_bytes, self._base + self._next, self.source, index)
        return cast("DataLossError", error)  # no index can disagree here, so it is damage
