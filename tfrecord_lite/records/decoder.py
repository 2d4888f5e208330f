"""A stream of frames to blocks of records, without I/O.

Reading takes three steps, and only the first is a Python loop:

1. *scan*: hop from head to head, believing each length for the moment;
2. *check the heads*: the CRCs of all lengths at once. The first that is wrong
   ends the block, since every hop behind it was a guess;
3. *check the data*: one CRC call a record, or for many short ones a single call
   over all of them (:mod:`tfrecord_lite.records.crc_combine`).

:class:`FrameDecoder` does this for a stream that comes in pieces of any size. What a
frame is, and the other way, is in :mod:`tfrecord_lite.records.framing`.

What it never does: open a file, give out a view of memory that is overwritten
later, or make room for a record because its length says so. A record larger
than the buffer grows it step by step, as the bytes come in (rule R6).
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.block import SPARE_BYTES, Block, Span
from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.crc_combine import MAX_RUN_BYTES, run_matches
from tfrecord_lite.records.framing import (
    FOOTER,
    FOOTER_BYTES,
    HEADER,
    HEADER_BYTES,
    MAX_RECORD_BYTES,
    OVERHEAD_BYTES,
    at_every_byte,
    crc_detail,
    is_header,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.arrays import Int64Array, Uint8Array

CHUNK_BYTES = 1024 * 1024
"""How much a decoder asks for at a time; one fits the processor's cache."""

_LEAST_ROOM_BYTES = 64 * 1024
"""A buffer with less room than this is full, and a new one takes its place."""

_MOST_AHEAD_BYTES = 64 * 1024 * 1024
"""How much room is made at the most for records that are wanted but not there yet."""

_FEW_RECORDS, _LONG_RECORD_BYTES = 64, 4096
"""With fewer records, or longer ones, each is checked by itself."""

_RUN_RECORDS = 4096
"""How many short records are checked at once."""

_read_length = struct.Struct("<Q").unpack_from


class FrameDecoder:
    r"""Turns a stream of frames, cut anywhere, into blocks of records.

    Bytes go in by :meth:`feed`, or without a copy by :meth:`writable` and
    :meth:`advance`; blocks come out of :meth:`next_block` and :meth:`rest`. How
    the stream was cut changes nothing but the borders between blocks.

    Parameters
    ----------
    verify : bool, optional
        Check the CRC of every record's data. The CRCs of the lengths are always
        checked: without them a damaged length sends the scan anywhere.
    max_record_bytes : int, optional
        Refuse a record longer than this.
    source : str, optional
        Path or URL of the stream, for errors.

    Notes
    -----
    Every block owns its memory together with its neighbours: a buffer is only
    ever appended to, and lives as long as a block of it does. Not thread-safe.

    Errors come after all that was sound before them: the records in front of
    the damage are given out first, and asking again repeats the same error (R7).

    Examples
    --------
    >>> from tfrecord_lite.records.framing import frame
    >>> decoder = FrameDecoder()
    >>> stream = bytes(frame([b"one", b"two"]))
    >>> [list(decoder.feed(stream[:25])), list(decoder.feed(stream[25:]))]
    [[b'one'], [b'two']]
    >>> decoder.close()
    """

    def __init__(
        self,
        *,
        verify: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
        source: str | None = None,
    ) -> None:
        self.verify = verify
        self.max_record_bytes = max_record_bytes
        self.source = source
        self._buffer = np.empty(SPARE_BYTES, np.uint8)
        self._view = memoryview(self._buffer)  # type: ignore[arg-type]
        self._start = 0  # in the buffer: the first byte not given out
        self._stop = 0  # in the buffer: the end of what came in
        self._heads: list[int] = []  # in the buffer: whole records not given out, heads checked
        self._next = 0  # in the buffer: the head behind those
        self._next_length: int | None = None  # what that head says, once it is there and checked
        self._base = 0  # offset in the stream of the buffer's first byte
        self._n_given = 0
        self._mean_bytes = 0  # a record of the last block, frame included
        self._error: DataLossError | None = None  # what is wrong with the record at _next

    @property
    def n_records(self) -> int:
        """How many records were given out so far."""
        return self._n_given

    @property
    def offset(self) -> int:
        """Bytes from the start of the stream to the first record not given out."""
        return self._base + self._start

    @property
    def pending_bytes(self) -> int:
        """Bytes that came in and were not given out in a block."""
        return self._stop - self._start

    @property
    def next_length(self) -> int:
        """Bytes of data of the record that has come in in part; 0 if not known."""
        return self._next_length or 0

    def begin_at(self, offset: int, n_records: int) -> None:
        """Say that the first bytes of the stream, and the records in them, do not come in."""
        self._base, self._n_given = offset, n_records

    def writable(self, n_records: int | None = None) -> memoryview:
        """Return room for the next bytes of the stream.

        Parameters
        ----------
        n_records : int, optional
            How many records are wanted; sets how much room there is.

        Returns
        -------
        memoryview
            Write to its beginning, then tell :meth:`advance` how much. Valid
            until the next call of any method.
        """
        wanted = CHUNK_BYTES
        if n_records is not None:
            missing = n_records * self._mean_bytes - self.pending_bytes
            wanted = max(wanted, min(missing, _MOST_AHEAD_BYTES))
        if self._next_length is not None:
            # A record that outgrows the buffer at most doubles it, whatever its length says.
            missing = self._next + self._next_length + OVERHEAD_BYTES - self._stop
            wanted = max(wanted, min(missing, self.pending_bytes))
        elif n_records is None:  # more and more is wanted behind damage, nothing much otherwise
            wanted = max(wanted, self.pending_bytes)
        room = self._buffer.size - SPARE_BYTES - self._stop
        if room < _LEAST_ROOM_BYTES:
            self._move_to(np.empty(self.pending_bytes + wanted + SPARE_BYTES, np.uint8))
        return self._view[self._stop : self._buffer.size - SPARE_BYTES]

    def recycle(self) -> None:
        """Let the memory of all blocks given out so far be written again.

        For a caller that has copied what it needs out of them: memory that is
        used again is in the cache already, and costs no page faults.
        """
        self._move_to(self._buffer)

    def _move_to(self, buffer: Uint8Array) -> None:
        """Go on in `buffer`, with what is pending at its beginning."""
        pending = self._buffer[self._start : self._stop]
        buffer[: pending.size] = pending
        self._buffer, self._view = buffer, memoryview(buffer)  # type: ignore[arg-type]
        self._heads = [head - self._start for head in self._heads]
        self._next -= self._start
        self._base += self._start
        self._start, self._stop = 0, pending.size

    def advance(self, n_bytes: int) -> None:
        """Take in `n_bytes` that were written to what :meth:`writable` returned."""
        self._stop += n_bytes

    def feed(self, data: Buffer) -> Block:
        """Take in bytes and give out the records they complete.

        Parameters
        ----------
        data : bytes-like
            The next bytes of the stream, any number of them; copied.

        Returns
        -------
        Block
            Maybe empty.

        Raises
        ------
        DataLossError
            As :meth:`next_block`.
        """
        left = memoryview(data).cast("B")
        while left:
            room = self.writable()
            n_bytes = min(len(room), len(left))
            room[:n_bytes] = left[:n_bytes]
            self.advance(n_bytes)
            left = left[n_bytes:]
        return self.rest()

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Give out the next records, if they are whole.

        Parameters
        ----------
        n_records : int, optional
            Exactly so many; None for all that are there, at least one.

        Returns
        -------
        Block or None
            None when more bytes are needed. Fewer records than asked for when
            the one behind them is damaged.

        Raises
        ------
        DataLossError
            ``LENGTH_CRC``, ``DATA_CRC`` or ``RECORD_TOO_LARGE``, when the next
            record is the damaged one. `offset` is the record's, also for
            ``DATA_CRC``, where TensorFlow gives that of the data (R5).
        """
        edges = self._next_edges(n_records)
        if edges is None:
            return None
        bounds = np.array(edges, np.int64)
        offsets, lengths = bounds[:-1] + HEADER_BYTES, np.diff(bounds) - OVERHEAD_BYTES
        span = Span(0, self.source, self._n_given, self._base - HEADER_BYTES)
        if self._are_all_sound(offsets, bounds[1:] - FOOTER_BYTES):
            self._give(bounds, offsets.size)
            return Block(self._buffer, offsets, lengths, (span,))
        view = self._view
        records = [view[a + HEADER_BYTES : b - FOOTER_BYTES] for a, b in pairwise(edges)]
        n_sound = self._admit(records, bounds)
        return Block(self._buffer, offsets[:n_sound], lengths[:n_sound], (span,))

    def _are_all_sound(self, starts: Int64Array, stops: Int64Array) -> bool:
        """Check the data of many short records at once; False also where that does not pay."""
        n_records = starts.size
        if not self.verify:
            return True
        if n_records < _FEW_RECORDS or stops[-1] - starts[0] > n_records * _LONG_RECORD_BYTES:
            return False
        plain = crc32c.unmask(at_every_byte(self._buffer, FOOTER)[stops])
        for first in range(0, n_records, _RUN_RECORDS):
            run = slice(first, first + _RUN_RECORDS)
            if stops[run][-1] - starts[first] > MAX_RUN_BYTES:
                return False
            if not run_matches(self._buffer, starts[run], stops[run], plain[run]):
                return False
        return True

    def next_records(self) -> list[bytes] | None:
        """Give out all whole records as :meth:`next_block`, each as ``bytes`` of its own."""
        edges = self._next_edges(None)
        if edges is None:
            return None
        view = self._view
        records = [view[a + HEADER_BYTES : b - FOOTER_BYTES].tobytes() for a, b in pairwise(edges)]
        n_sound = self._admit(records, np.array(edges, np.int64))
        return records if n_sound == len(records) else records[:n_sound]

    def next_large(self, read: Callable[[int], bytes]) -> bytes | None:
        """Read the next record straight into its own ``bytes``, past the buffer.

        Saves a large record one copy of its data. Only its head, and maybe a part
        of its data, have come in; the caller knows that the source still holds
        `next_length` bytes.

        Parameters
        ----------
        read : callable
            Returns the next bytes of the stream, at most as many as it is given.

        Returns
        -------
        bytes or None
            None if the record cannot be had this way: go on with :meth:`next_records`.

        Raises
        ------
        DataLossError
            As :meth:`next_block`.
        """
        length, came = self._next_length, self.pending_bytes - HEADER_BYTES
        if self._heads or length is None or came > length:
            return None
        data = read(length - came)
        if came:
            data = self._view[self._stop - came : self._stop].tobytes() + data
        behind = read(OVERHEAD_BYTES) if len(data) == length else b""
        is_whole = len(behind) >= FOOTER_BYTES
        stored = int.from_bytes(behind[:FOOTER_BYTES], "little")
        if not is_whole or (self.verify and stored != crc32c.masked_crc32c(data)):
            # The source was cut meanwhile, or the data is damaged: keep all bytes, as if
            # they had come in the usual way.
            head = self._view[self._next : self._next + HEADER_BYTES].tobytes()
            self._base += self._start
            self._restart(head + data + behind)
            if is_whole:
                self.next_block(1)  # raises
            return None
        self._base += self._start + length + OVERHEAD_BYTES
        self._n_given += 1
        self._restart(behind[FOOTER_BYTES:])
        return data

    def _restart(self, pending: bytes) -> None:
        """Make `pending`, from the start of a record on, all that came in and was not given."""
        self._start = self._stop = self._next = 0
        self._next_length = None
        if len(pending) > self._buffer.size - SPARE_BYTES:
            self._buffer = np.empty(len(pending) + SPARE_BYTES, np.uint8)
            self._view = memoryview(self._buffer)  # type: ignore[arg-type]
        self._view[: len(pending)] = pending
        self._stop = len(pending)
        if is_header(pending):
            length = _read_length(pending)[0]
            self._next_length = length if length <= self.max_record_bytes else None

    @property
    def pending(self) -> Uint8Array:
        """The bytes from `offset` on that came in; a view, valid until the next call."""
        return self._buffer[self._start : self._stop]

    @property
    def damaged_bytes(self) -> int:
        """How long the next record is, head and foot included, by a length that is right."""
        return int(_read_length(self._view, self._next)[0]) + OVERHEAD_BYTES

    def go_to(self, offset: int) -> None:
        """Go on at a later offset of what came in, where a record starts: behind damage."""
        self._start = self._next = offset - self._base
        self._heads, self._next_length, self._error = [], None, None

    def count_damage(self) -> None:
        """Count a damaged place as a record, for the numbers of those behind it."""
        self._n_given += 1

    def rest(self) -> Block:
        """Give out all whole records that came in, maybe none.

        Raises
        ------
        DataLossError
            As :meth:`next_block`.
        """
        return self.next_block() or Block.from_records([])

    def close(self) -> None:
        """Say that the stream ends here.

        Raises
        ------
        DataLossError
            ``TRUNCATED`` if it ends inside a record, the head included (there
            TensorFlow sees a clean end, rule R2); or as :meth:`next_block`.
        """
        self._scan(None)
        if self._error is not None:
            raise self._error
        left = self._stop - self._next
        if self._next_length is not None:
            detail = f"its length says {self._next_length + OVERHEAD_BYTES} bytes with head and CRC"
        else:
            detail = f"the head of a record takes {HEADER_BYTES} bytes"
        if left:
            raise self._loss(Reason.TRUNCATED, f"{detail}, {left} are left")

    def _scan(self, n_records: int | None) -> None:
        """Find whole records, until there are `n_records` or the bytes end."""
        if self._error is not None:
            return
        view, at = self._view, self._next
        last = self._stop - OVERHEAD_BYTES
        found: list[int] = []
        if n_records is None:
            while at <= last:
                found.append(at)
                at += _read_length(view, at)[0] + OVERHEAD_BYTES
        else:
            for _ in range(n_records - len(self._heads)):
                if at > last:
                    break
                found.append(at)
                at += _read_length(view, at)[0] + OVERHEAD_BYTES
        if at > self._stop:  # the last one is not whole
            at = found.pop()
        if not found and (at == self._next and self._next_length is not None):
            return
        self._next, self._next_length = at, None
        self._heads += found
        self._check_heads(found + [at] * (self._stop - at >= HEADER_BYTES))

    def _check_heads(self, heads: list[int]) -> None:
        """Check lengths just found; the first that is wrong ends the records before it."""
        if not heads:
            return
        starts = np.array(heads, np.int64)
        rows = at_every_byte(self._buffer, HEADER)[starts]
        lengths = rows["length"]
        wrong = crc32c.length_crcs(lengths) != rows["crc"]
        bad = np.flatnonzero(wrong | (lengths > self.max_record_bytes))
        if bad.size == 0:
            if heads[-1] == self._next:
                self._next_length = int(lengths[-1])
            return
        first = int(bad[0])
        self._next, self._next_length = heads[first], None
        while self._heads and self._heads[-1] >= self._next:
            self._heads.pop()
        if not wrong[first]:
            detail = (
                f"its length says {lengths[first]} bytes, the limit is {self.max_record_bytes}; "
                "pass max_record_bytes= to read larger records"
            )
            self._error = self._loss(Reason.RECORD_TOO_LARGE, detail)
            return
        computed = crc32c.length_crcs(lengths[first : first + 1])[0]
        detail = crc_detail(Reason.LENGTH_CRC, rows["crc"][first], computed)
        hint = " (is this a TFRecord file, and this its compression?)"
        self._error = self._loss(Reason.LENGTH_CRC, detail + hint * (self._base + self._next == 0))

    def _next_edges(self, n_records: int | None) -> list[int] | None:
        """Return where the next records start, and where the last ends; None if not there yet."""
        self._scan(n_records)
        if len(self._heads) < (n_records or 1):
            if self._error is None:
                return None
            if not self._heads:
                raise self._error
        edges = [*self._heads, self._next]
        return edges if n_records is None else edges[: n_records + 1]

    def _admit(self, records: Sequence[Buffer], edges: Int64Array) -> int:
        """Check the data of records; count those before the first bad one as given out."""
        n_sound = len(records)
        if self.verify:
            computed = crc32c.crcs_of(records, n_sound)
            stored = at_every_byte(self._buffer, FOOTER)[edges[1:] - FOOTER_BYTES]
            wrong = np.flatnonzero(computed != stored)
            if wrong.size:
                n_sound = int(wrong[0])
                self._heads = self._heads[:n_sound]
                self._next, self._next_length = int(edges[n_sound]), None
                detail = crc_detail(Reason.DATA_CRC, stored[n_sound], computed[n_sound])
                self._error = self._loss(Reason.DATA_CRC, detail)
                if n_sound == 0:
                    raise self._error
        self._give(edges, n_sound)
        return n_sound

    def _give(self, edges: Int64Array, n_sound: int) -> None:
        """Count the first records between these edges as given out."""
        self._heads = self._heads[n_sound:]
        self._n_given += n_sound
        self._mean_bytes = int(edges[n_sound] - edges[0]) // n_sound + 1
        self._start = int(edges[n_sound])

    def _loss(self, reason: Reason, detail: str) -> DataLossError:
        """Build the error of the record at `_next`."""
        index = self._n_given + len(self._heads)
        return DataLossError(reason, self._base + self._next, self.source, index, None, detail)
