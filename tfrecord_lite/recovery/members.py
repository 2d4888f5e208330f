"""Find what of a damaged compressed file can be inflated: from where to where.

::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     inflates      up to #    cannot be       found by its first bytes

A deflate stream cannot be entered in its middle, so behind damage nothing of it can be
inflated. A further member (rule C5: what appending adds, what ``cat a.gz b.gz`` joins) is
looked for by its magic bytes, its *place*. There are places that are none: by chance, one in
16 MB of compressed data, which give no record; and in a record that is itself a compressed
file, where the member stores it as it is. Such a place is inside of what became a sound
record, and so it is passed over.

To know what became of a place, the file is read in pieces that end at each place. Then
the number of bytes inflated so far is where it is in the content.

Behind damage, bytes may be taken for something else than they are: a stored block whose end
is missing takes the next member for its data, and the records which that one stores come out
of it as well. So a place that gives records of its own makes a *hole* in the reading it is
in. What the reading makes of the bytes in the hole is left out, and what it makes of those
behind is kept::

    reading   [records . . . torn][records, once more][records]
    hole                          [records, all of them]
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

_PIECE_BYTES, _LEAST_PIECE_BYTES = 64 * 1024, 512
"""How many bytes are looked through at once for a place; twice as many each time there is none."""

_LATE_BYTES = 8
"""A decompressor may keep back so many bytes that it could give."""

_MOST_TIMES, _FREE_COST, _PIECE_COST = 8, 64 * 1024 * 1024, 4096
"""Readings from several places may overlap, without end if somebody made them so. Each costs the
bytes it reads and inflates, and so many for each piece. Those that were in vain may cost so many
times what the file has, and so much more. Then what was read is not read again: the work is
linear, whatever is in the file."""

_MOST_PLACES, _MOST_HOLES, _MOST_DEPTH = 100_000, 1000, 8
"""How many places and holes of one reading are kept, and how deep holes are in each other."""


class Places:
    """Where the first bytes of a member are in a file."""

    def __init__(self, file: IO[bytes], magic: bytes) -> None:
        self._file = file
        self._magic = magic
        self._known = range(0)  # offsets that are no place; behind them there may be one

    def first(self, start: int, stop: int | None = None) -> int | None:
        """Return the first place from an offset on, and before another one."""
        at = self._known.stop if start in self._known else start
        n_bytes = _LEAST_PIECE_BYTES
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
    """Where a reading ends, and its holes begin and end; as :class:`Places`."""

    def __init__(self, reading: Reading) -> None:
        edges = {edge for hole in reading.holes for edge in (hole.start, hole.end)}
        # The damage shows with the bytes behind it.
        self._edges = sorted({reading.stop + _LATE_BYTES, *edges})

    def first(self, start: int, stop: int) -> int | None:
        """Return the first edge from an offset on, and before another one."""
        i = bisect_left(self._edges, start)
        return self._edges[i] if i < len(self._edges) and self._edges[i] < stop else None


class FilePart:
    """The end of a file as a file object, read in pieces none of which goes beyond a place.

    Parameters
    ----------
    file : binary file object
        The file; it can seek.
    name : str
        Of the file.
    start : int
        The first byte.
    places : Places or Edges
        Where pieces end.

    Attributes
    ----------
    n_read, n_pieces : int
        How many bytes and pieces were read, those read again included.
    on_place : callable
        Told of each place where a piece begins, before that is read.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        start: int,
        places: Places | Edges,
    ) -> None:
        self.name = name
        self._file = file
        self._start = start
        self._at = start
        self._places = places
        self.n_read = self.n_pieces = 0
        self.on_place: Callable[[int], object] = lambda _: None

    def seekable(self) -> bool:
        """Return that it can seek."""
        return True

    def tell(self) -> int:
        """Return where it stands, in the file."""
        return self._at

    def seek(self, offset: int) -> int:
        """Go to an offset in the file."""
        self._at = offset
        return offset

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most so many."""
        at, places = self._at, self._places
        if at > self._start and places.first(at, at + 1) is not None:
            self.on_place(at)
        stop = places.first(at + 1, at + n_bytes) or at + n_bytes
        self._file.seek(at)
        data = self._file.read(stop - at)
        self._at += len(data)
        self.n_read += len(data)
        self.n_pieces += 1
        return data


@dataclass(slots=True)
class Reading:
    """What reading a file from a place on gives, up to damage or the end."""

    start: int
    stop: int = 0
    """Where in the file reading ended."""
    broke_off: bool = False
    """Whether it ended with damage of the compressed stream."""
    has_records: bool = False
    """Whether a sound one came."""
    cost: int = 0
    places: array[int] = field(default_factory=partial(array, "q"))
    """Where another member may start, in what was read."""
    n_left_out: int = 0
    """Places beyond those that are kept."""
    holes: list[Reading] = field(default_factory=list)
    """Readings of their own, in order."""
    _met: deque[tuple[int, int]] = field(default_factory=deque)
    _last: int = -1
    _run: range = range(0)
    """Of the content, the last stretch of sound records that follow each other."""

    @property
    def end(self) -> int:
        """Where in the file this reading and its holes end."""
        return max(self.stop, self.holes[-1].end) if self.holes else self.stop

    def meet(self, content: Inflated, place: int) -> None:
        """Note a place that comes next, and how far the content is."""
        if place > self._last and not content.is_between:
            if len(self._met) < _MOST_PLACES:
                self._met.append((place, content.position))
            else:
                self.n_left_out += 1
        self._last = max(self._last, place)

    def add(self, start: int, stop: int) -> None:
        """Note sound records, from one offset of the content to another."""
        is_gap = start != self._run.stop
        if is_gap:
            self._keep_until(start)
        self._run = range(start if is_gap else self._run.start, stop)
        self.has_records = True
        while self._met and self._met[0][1] < stop - _LATE_BYTES:
            self._met.popleft()  # inside of sound records

    def _keep_until(self, offset: int | None) -> None:
        """Keep the places met that are before an offset of the content, in no sound record."""
        while self._met and (offset is None or self._met[0][1] <= offset):
            place, _ = self._met.popleft()
            if len(self.places) < _MOST_PLACES:
                self.places.append(place)
            else:
                self.n_left_out += 1

    def finish(self, part: FilePart, content: Inflated, *, broke_off: bool) -> None:
        """Note the end."""
        self._keep_until(None)
        self.stop, self.broke_off = self.start + content.raw_position, broke_off
        self.cost = part.n_read + content.position + _PIECE_COST * part.n_pieces


class MemberSearch:
    """Finds what of a compressed file can be inflated.

    Parameters
    ----------
    file : binary file object
        The file; it can seek, and is read several times.
    name : str
        Of the file, for errors.
    magic : bytes
        The first bytes of a member.
    open_stream : callable
        Makes a stream of records of a part.

    Attributes
    ----------
    n_untried : int
        How many places were not looked at, since that would have taken too long.
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
        self._budget = _MOST_TIMES * file.seek(0, io.SEEK_END) + _FREE_COST
        self.n_untried = 0

    def readings(self) -> Iterator[Reading]:
        """Yield what can be read, in order; each from a place behind the damage of the last."""
        reading: Reading | None = self._read(self._places.first(0) or 0)
        while reading is not None:
            self._find_holes(reading, 0)
            yield reading
            reading = self._behind(reading.end)

    def _find_holes(self, reading: Reading, depth: int) -> None:
        """Try the places in a reading that has ended with damage."""
        if not reading.broke_off:
            return
        end = reading.start
        for place in reading.places:
            if place < end:
                continue
            if self._budget <= 0 or depth == _MOST_DEPTH or len(reading.holes) == _MOST_HOLES:
                self.n_untried += 1
                continue
            hole = self._read(place)
            self._budget -= min(hole.cost, reading.cost) if hole.has_records else hole.cost
            if hole.has_records:
                self._find_holes(hole, depth + 1)
                reading.holes.append(hole)
                end = hole.end
        self.n_untried += reading.n_left_out
        reading.places = array("q")

    def _behind(self, offset: int) -> Reading | None:
        """Return the first reading that gives anything, from an offset of the file on."""
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
        """Read from a place on, for what there is."""
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
                # If it counts, who reads it meets the limit again.
            reading.finish(part, content, broke_off=stream.broke_off)
        return reading


def framed_bytes(block: Block) -> int:
    """Return how many bytes a block's records had in their frames, one behind the other."""
    return int(block.offsets[-1] + block.lengths[-1] - block.offsets[0]) + OVERHEAD_BYTES
