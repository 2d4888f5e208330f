"""Find the parts of a damaged compressed file that can be inflated.

::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     inflates      up to #    cannot be       found by its first bytes

A deflate stream cannot be entered in its middle, so nothing of it can be inflated after damage.
A further member (rule C5: appending writes one, and ``cat a.gz b.gz`` joins them) is looked for
by its magic bytes, its *place*. Some places are not the start of a member: those by chance, one
in 16 MB of compressed data, which give no record; and those in a record that is itself a
compressed file, where the member stores it as it is. Such a place is inside what inflated to an
intact record, and is skipped.

To know what became of a place, the file is read in pieces that end at each place. Then
the number of bytes inflated so far is where it is in the content.

After damage, bytes may be mistaken for others: a stored block whose end is missing takes the next
member for its data, and the records that one stores come out of it as well. So a place that
gives records of its own makes a *hole* in the reading it is in. What the reading makes of the
bytes in the hole is left out, and what it makes of those after it is kept::

    reading   [records . . . torn][records, once more][records]
    hole                          [records, all of them]

Holes have no holes: if another stream begins in the damage of a hole, the hole ends there, and
that stream is the next hole.
"""

from __future__ import annotations

import io
from array import array
from bisect import bisect_left
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING

from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.inflate import Inflated
    from tfrecord_lite.records.stream import RecordStream

_PIECE_BYTES, _MIN_PIECE_BYTES = 64 * 1024, 512
"""How many bytes are searched at once for a place; twice as many each time there is none."""

_LATE_BYTES = 8
"""A decompressor may keep back this many bytes that it could give."""

_MAX_TIMES, _FREE_COST, _PIECE_COST = 8, 64 * 1024 * 1024, 4096
"""Readings from several places may overlap, without end in a hostile file. Each costs the bytes it
reads and inflates, and some for each piece. Those in vain may cost a multiple of the file's size,
and a constant more. After that nothing is read twice, so the work is linear for any file."""

_MAX_PLACES, _MAX_HOLES = 100_000, 1000
"""How many places and holes of one reading are kept."""


class Places:
    """The offsets of a file at which a member's first bytes are."""

    def __init__(self, file: IO[bytes], magic: bytes) -> None:
        self._file = file
        self._magic = magic
        self._known = range(0)  # offsets without a place; there may be one after them

    def first(self, start: int, stop: int | None = None) -> int | None:
        """Return the first place from an offset on, and before another one."""
        at = self._known.stop if start in self._known else start
        n_bytes = _MIN_PIECE_BYTES
        found = -1
        while found < 0 and (stop is None or at < stop):
            self._file.seek(at)
            data = self._file.read(n_bytes)
            found = data.find(self._magic)
            at += found if found >= 0 else max(len(data) - len(self._magic) + 1, 0)
            if len(data) < len(self._magic):
                break
            n_bytes = min(2 * n_bytes, _PIECE_BYTES)
        self._known = range(start, at)
        return at if found >= 0 and (stop is None or at < stop) else None


class Edges:
    """The offsets at which a reading ends, and its holes start and end; as :class:`Places`."""

    def __init__(self, reading: Reading) -> None:
        edges = {edge for hole in reading.holes for edge in (hole.start, hole.stop)}
        # Damage shows only with the bytes after it.
        self._edges = sorted({reading.stop + _LATE_BYTES, *edges})

    def first(self, start: int, stop: int) -> int | None:
        """Return the first edge from an offset on, and before another one."""
        i = bisect_left(self._edges, start)
        return self._edges[i] if i < len(self._edges) and self._edges[i] < stop else None


class FilePart:
    """A file from an offset on, as a file object that reads pieces which end at each place.

    Attributes
    ----------
    n_read, n_pieces : int
        Bytes and pieces read so far, those read again included.
    on_place : callable
        Called with each place where a piece begins, before that is read.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        start: int,
        places: Places | Edges,
        stop: int | None = None,
    ) -> None:
        self.name = name
        self._file = file
        self._start = start
        self._at = start
        self._places = places
        self._stop = stop
        self.n_read = self.n_pieces = 0
        self.on_place: Callable[[int], object] = lambda _: None

    def seekable(self) -> bool:
        """Return that it can seek."""
        return True

    def tell(self) -> int:
        """Return the offset in the file."""
        return self._at

    def seek(self, offset: int) -> int:
        """Go to an offset in the file."""
        self._at = offset
        return offset

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most that many."""
        at, places = self._at, self._places
        if at > self._start and places.first(at, at + 1) is not None:
            self.on_place(at)
        stop = places.first(at + 1, at + n_bytes) or at + n_bytes
        if self._stop is not None:
            stop = min(stop, self._stop)
        self._file.seek(at)
        data = self._file.read(max(stop - at, 0))
        self._at += len(data)
        self.n_read += len(data)
        self.n_pieces += 1
        return data


@dataclass(slots=True)
class Reading:
    """What can be read of a file from a place on, up to damage or the end."""

    start: int
    stop: int = 0
    """Where in the file reading ended."""
    is_cut: bool = False
    """Whether it ends there because the next stream begins."""
    broke_off: bool = False
    """Whether it ended with damage of the compressed stream."""
    has_records: bool = False
    """Whether it has an intact record."""
    cost: int = 0
    places: array[int] = field(default_factory=partial(array, "q"))
    """Where another member may start, in what was read."""
    n_left_out: int = 0
    """Number of places beyond those that are kept."""
    holes: list[Reading] = field(default_factory=list)
    """Other streams in it, in order."""
    _met: deque[tuple[int, int]] = field(default_factory=deque)  # places, and where in the content
    _last: int = -1
    _run: range = range(0)
    """The last stretch of the content with intact records that follow each other."""

    @property
    def end(self) -> int:
        """Where in the file this reading and its holes end."""
        return max(self.stop, self.holes[-1].stop) if self.holes else self.stop

    def meet(self, content: Inflated, place: int) -> None:
        """Note a place that comes next, and the position of the content there."""
        if place > self._last and not content.is_between:
            if len(self._met) < _MAX_PLACES:
                self._met.append((place, content.position))
            else:
                self.n_left_out += 1
        self._last = max(self._last, place)

    def add(self, start: int, stop: int) -> None:
        """Note intact records, from one offset of the content to another."""
        is_gap = start != self._run.stop
        if is_gap:
            self._keep_until(start)
        self._run = range(start if is_gap else self._run.start, stop)
        self.has_records = True
        while self._met and self._met[0][1] < stop - _LATE_BYTES:
            self._met.popleft()  # inside intact records

    def _keep_until(self, offset: int | None) -> None:
        """Keep the places before an offset of the content, which are in no intact record."""
        while self._met and (offset is None or self._met[0][1] <= offset):
            place, _ = self._met.popleft()
            if len(self.places) < _MAX_PLACES:
                self.places.append(place)
            else:
                self.n_left_out += 1

    def finish(self, part: FilePart, content: Inflated, *, broke_off: bool) -> None:
        """Note the end."""
        self._keep_until(None)
        self.stop, self.broke_off = self.start + content.raw_position, broke_off
        self.cost = part.n_read + content.position + _PIECE_COST * part.n_pieces


class MemberSearch:
    """Find the parts of a compressed file that can be inflated.

    `file` can seek, and is read several times; `magic` are the first bytes of a member;
    `open_stream` opens a part as a stream of records.

    Attributes
    ----------
    n_untried : int
        Number of places that were not tried, since that would have taken too long.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        magic: bytes,
        open_stream: Callable[[FilePart], RecordStream],
    ) -> None:
        self._file = file
        self._name = name
        self._open_stream = open_stream
        self._places = Places(file, magic)
        self._budget = _MAX_TIMES * file.seek(0, io.SEEK_END) + _FREE_COST
        self.n_untried = 0

    def readings(self) -> Iterator[Reading]:
        """Yield what can be read, in order; each from a place after the damage of the last."""
        reading: Reading | None = self._read(self._places.first(0) or 0)
        while reading is not None:
            self._find_holes(reading)
            yield reading
            reading = self._next(reading.end)

    def _find_holes(self, reading: Reading) -> None:
        """Find the streams in a reading that has ended with damage."""
        while (hole := self._stream_in(reading, reading.holes)) is not None:
            reading.holes.append(hole)
            # A stream that begins in the damage of a hole cuts that off, and is the next hole.
            while (other := self._stream_in(hole, reading.holes)) is not None:
                hole.stop, hole.is_cut, hole.places = other.start, True, array("q")
                reading.holes.append(other)
                hole = other
            reading.places = array("q", [place for place in reading.places if place >= hole.stop])

    def _stream_in(self, reading: Reading, holes: list[Reading]) -> Reading | None:
        """Return the first stream with records in the damage of a reading; forget its places."""
        if not reading.broke_off:
            return None
        for i, place in enumerate(reading.places):
            if self._budget <= 0 or len(holes) == _MAX_HOLES:
                self.n_untried += len(reading.places) - i
                break
            found = self._read(place)
            self._budget -= min(found.cost, reading.cost) if found.has_records else found.cost
            if found.has_records:
                reading.places = reading.places[i + 1 :]
                return found
        self.n_untried += reading.n_left_out
        reading.places, reading.n_left_out = array("q"), 0
        return None

    def _next(self, offset: int) -> Reading | None:
        """Return the first reading with records, from an offset of the file on."""
        while (place := self._places.first(offset)) is not None:
            reading = self._read(place)
            if reading.has_records:
                return reading
            self._budget -= reading.cost
            offset = place + 1
            if self._budget <= 0:
                self.n_untried += len(reading.places) + reading.n_left_out
                offset = max(reading.stop, offset)
        return None

    def _read(self, start: int) -> Reading:
        """Read from a place on, as far as that goes."""
        part = FilePart(self._file, self._name, start, self._places)
        reading = Reading(start)
        with closing(self._open_stream(part)) as stream:
            content = stream.inflated
            part.on_place = partial(reading.meet, content)
            records = DamageLog("skip", None).skipping(stream)
            try:
                while (block := records.next_block()) is not None:
                    reading.add(stream.offset - framed_bytes(block), stream.offset)
            except DataLossError as error:
                if error.reason is not Reason.INFLATED_TOO_LARGE:
                    raise
                # If the limit matters, copying this reading meets it again.
            reading.finish(part, content, broke_off=stream.broke_off)
        return reading


def framed_bytes(block: Block) -> int:
    """Return the bytes of a block's frames, which follow each other."""
    return int(block.offsets[-1] + block.lengths[-1] - block.offsets[0]) + OVERHEAD_BYTES
