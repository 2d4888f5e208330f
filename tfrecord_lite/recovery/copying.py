"""Copy the sound records of one file, and keep account of them and of what is lost."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.files.inflate import InflationLimits
from tfrecord_lite.records.damage import MOST_SPANS, DamagedSpan, DamageLog, FileReport
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.recovery.members import Edges, FilePart, framed_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.block import Block
    from tfrecord_lite.records.sink import RecordSink
    from tfrecord_lite.records.stream import RecordStream
    from tfrecord_lite.recovery.members import Reading

__all__ = ["Account", "Copier"]


@dataclass(slots=True)
class Account:
    """What was saved of a file, and what was lost; as if all of it had been one stream."""

    source: str
    n_records: int = 0
    record_bytes: int = 0
    spans: list[DamagedSpan] = field(default_factory=list)
    n_damaged: int = 0
    lost_bytes: int = 0

    @property
    def n_bytes(self) -> int:
        """Return how many bytes there were, after decompression."""
        return self.record_bytes + self.n_records * OVERHEAD_BYTES + self.lost_bytes

    def add_records(self, block: Block) -> None:
        """Count records that were saved."""
        self.n_records += len(block)
        self.record_bytes += framed_bytes(block) - len(block) * OVERHEAD_BYTES

    def add_damage(self, reason: Reason, detail: str | None, length: int = 0) -> None:
        """Count a damaged place, which is behind everything that was counted so far."""
        if len(self.spans) < MOST_SPANS:
            index = self.n_records + self.n_damaged
            place = (self.source, self.n_bytes, length)
            self.spans.append(DamagedSpan(*place, reason, detail, index, self.n_records))
        self.n_damaged += 1
        self.lost_bytes += length

    def report(self) -> FileReport:
        """Return it."""
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
    """Writes what is sound to a sink.

    Parameters
    ----------
    account : Account
        Is told of everything.
    sink : RecordSink
        Takes the records.
    max_bytes : int or None
        Refuse more content than this.
    on_progress : callable or None
        Told how many bytes more were read.
    """

    def __init__(
        self,
        account: Account,
        sink: RecordSink,
        max_bytes: int | None,
        on_progress: Callable[[int], object] | None,
    ) -> None:
        self.account = account
        self._sink = sink
        self._limits = InflationLimits(max_bytes)
        self._on_progress = on_progress

    def copy_stream(self, stream: RecordStream) -> None:
        """Write the sound records of a stream."""

        def tell(span: DamagedSpan) -> None:
            self.account.add_damage(span.reason, span.detail, span.length)

        going_on, offset = DamageLog(tell, None).going_on(stream), 0
        while (block := going_on.next_block()) is not None:
            self.write(block, stream.offset - offset)
            offset = stream.offset

    def copy_reading(
        self,
        file: IO[bytes],
        reading: Reading,
        open_stream: Callable[[FilePart], RecordStream],
    ) -> None:
        """Write the sound records of a reading, those of each hole in its place."""
        part = FilePart(file, self.account.source, reading.start, Edges(reading))
        with closing(open_stream(part)) as stream:

            def copy_hole(hole: Reading) -> None:
                self.copy_reading(file, hole, open_stream)

            around = _Around(self.account, reading, stream, part, copy_hole)
            going_on, offset = DamageLog(around.tell, None).going_on(stream), 0
            while (block := going_on.next_block()) is not None:
                block = around.outside(block)
                if len(block):
                    self.write(block, stream.offset - offset)
                offset = stream.offset
            around.finish()

    def write(self, block: Block, n_bytes: int) -> None:
        """Write the records of a block, for which so many bytes were read."""
        self._sink.add_framed(block)
        self.account.add_records(block)
        if detail := self._limits.excess(self.account.n_bytes, 0):
            place = (self.account.n_bytes, self.account.source, self.account.n_records)
            raise DataLossError(Reason.INFLATED_TOO_LARGE, *place, None, detail)
        if self._on_progress is not None:
            self._on_progress(n_bytes)


class _Around:
    """What a reading has around its holes.

    A hole begins in damage, and its place in the content is known before that is told of:
    the reading is ahead of its records.
    """

    def __init__(
        self,
        account: Account,
        reading: Reading,
        stream: RecordStream,
        part: FilePart,
        copy_hole: Callable[[Reading], None],
    ) -> None:
        self._account = account
        self._copy_hole = copy_hole
        self._stream = stream
        self._holes = deque(reading.holes)
        self._offsets: dict[int, int] = {}  # in the content, of the edges of holes in the file
        self._end: int | None = None  # in the file, of the hole that was copied last
        part.on_place = self._meet

    def _meet(self, place: int) -> None:
        self._offsets.setdefault(place, self._stream.inflated.position)

    def tell(self, span: DamagedSpan) -> None:
        """Count what is damaged outside of holes, and copy those that begin there."""
        start, stop = span.offset, span.offset + span.length
        while True:
            if self._end is not None:
                behind = self._offsets.get(self._end)
                if behind is None:
                    return
                start = max(start, behind)
                self._end = None if stop > behind else self._end
            if not self._holes or self._offsets.get(self._holes[0].start, stop + 1) > stop:
                break
            self._begin_hole(max(self._offsets[self._holes[0].start] - start, 0))
        if self._end is None:
            self._account.add_damage(span.reason, span.detail, stop - start)

    def _begin_hole(self, n_lost: int) -> None:
        hole = self._holes.popleft()
        detail = f"another stream begins at byte {hole.start} of the file, before its end"
        self._account.add_damage(Reason.COMPRESSED_TRUNCATED, detail, n_lost)
        self._copy_hole(hole)
        self._end = hole.end

    def outside(self, block: Block) -> Block:
        """Return the records of a block that are in no hole; those that leave one count."""
        if self._end is None:
            return block
        behind = self._offsets.get(self._end)
        if behind is None:
            return block[:0]
        stops = block.offsets + block.lengths + (self._stream.offset - _stop_of(block))
        n_inside = int(np.searchsorted(stops, behind, side="right"))
        if n_inside < len(block):
            self._end = None
        return block[n_inside:]

    def finish(self) -> None:
        """Copy holes that no damage was told of."""
        while self._holes:
            self._begin_hole(0)


def _stop_of(block: Block) -> int:
    return int(block.offsets[-1] + block.lengths[-1])
