"""Find what of a damaged compressed file can be inflated: from where to where.

::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     inflates      up to #    cannot be       found by its first bytes

A deflate stream cannot be entered in its middle, so behind damage nothing of it can be
inflated. A further member (rule C5: what appending adds, what ``cat a.gz b.gz`` joins) is
looked for by its magic bytes, its *place*. There are places that are none:

- by chance, one in 16 MB of compressed data: they give no record;
- in a record that is itself a compressed file, where the member stores it as it is. Such a
  place is inside of what became a sound record, and so it is passed over;

and what is behind damage may be read as something else than it is: a stored block whose
end is missing takes the next member for its data, and records that this one stores as
they are come out of it as well. So of two readings of the same bytes, the one that gives
more bytes of sound records is right.

To know what became of a place, the file is read in pieces that end at each place. Then
the number of bytes inflated so far is where it is in the content.
"""

from __future__ import annotations

import io
from array import array
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING

from tfrecord_lite.damage import DamageLog
from tfrecord_lite.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.inflate import Inflated
    from tfrecord_lite.stream import RecordStream

__all__ = ["FilePart", "MemberSearch"]

_PIECE_BYTES, _LEAST_PIECE_BYTES = 64 * 1024, 512
"""How many bytes are looked through at once for a place; twice as many each time there is none."""

_LATE_BYTES = 8
"""A decompressor may keep back so many bytes that it could give."""

_MOST_TIMES, _FREE_BYTES, _TRY_BYTES = 8, 64 * 1024 * 1024, 256
"""Readings from several places may overlap, without end if somebody made them so. So many times
the size of the file, and so many bytes more, are read of it twice or more often, each place
counted as so many bytes besides. Then what was read is not read again: the work is linear,
whatever is in the file."""

_MOST_PLACES = 100_000
"""How many places are kept of one reading."""


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


class FilePart:
    """A part of a file as a file object, read in pieces none of which goes beyond a place.

    Parameters
    ----------
    file : binary file object
        The file; it can seek.
    name : str
        Of the file.
    start : int
        The first byte.
    stop : int, optional
        The byte behind the last one; None for the end of the file.
    places : Places, optional
        Where pieces end; None for anywhere.

    Attributes
    ----------
    start, stop : int
        As given.
    n_read : int
        How many bytes were read, those read again included.
    on_place : callable
        Told of each place where a piece begins, before that is read.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        start: int,
        stop: int | None = None,
        places: Places | None = None,
    ) -> None:
        self.name = name
        self._file = file
        self.start = start
        self.stop = stop
        self._at = start
        self._places = places
        self.n_read = 0
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
        stop = self._at + n_bytes
        if self.stop is not None:
            stop = min(stop, self.stop)
        if self._places is not None:
            if self._at > self.start and self._places.first(self._at, self._at + 1) is not None:
                self.on_place(self._at)
            stop = self._places.first(self._at + 1, stop) or stop
        self._file.seek(self._at)
        data = self._file.read(stop - self._at)
        self._at += len(data)
        self.n_read += len(data)
        return data


@dataclass(slots=True)
class _Reading:
    """What reading a file from a place on gives, up to damage or the end."""

    start: int
    stop: int = 0
    """Where in the file reading ended."""
    broke_off: bool = False
    """Whether it ended with damage of the compressed stream."""
    sound_bytes: int = 0
    """Of records, in their frames."""
    places: array[int] = field(default_factory=partial(array, "q"))
    """Where another member may start, in what was read."""
    sound_before: array[int] = field(default_factory=partial(array, "q"))
    """For each of them, the `sound_bytes` that came before it."""
    n_left_out: int = 0
    """Places beyond those that are kept."""
    _met: deque[tuple[int, int]] = field(default_factory=deque)
    _last: int = -1
    _run: range = range(0)
    """Of the content, the last stretch of sound records that follow each other."""

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
        self.sound_bytes += stop - start
        while self._met and self._met[0][1] < stop - _LATE_BYTES:
            self._met.popleft()  # inside of sound records

    def _keep_until(self, offset: int | None) -> None:
        """Keep the places met that are before an offset of the content, in no sound record."""
        while self._met and (offset is None or self._met[0][1] <= offset):
            place, _ = self._met.popleft()
            if len(self.places) < _MOST_PLACES:
                self.places.append(place)
                self.sound_before.append(self.sound_bytes)
            else:
                self.n_left_out += 1

    def end(self, stop: int, *, broke_off: bool) -> None:
        """Note the end."""
        self._keep_until(None)
        self.stop, self.broke_off = stop, broke_off


class MemberSearch:
    """Finds the parts of a compressed file that can be inflated.

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
        self._budget = _MOST_TIMES * file.seek(0, io.SEEK_END) + _FREE_BYTES
        self.n_untried = 0

    def parts(self) -> Iterator[FilePart]:
        """Yield each part as a file of its own, in order.

        A part holds the members that follow each other, up to damage; and what is behind
        that, up to the next part. So none overlap, and reading one ends with the damage.
        """
        reading: _Reading | None = self._read(self._places.first(0) or 0)
        while reading is not None:
            following = self._following(reading)
            stop = None if following is None else following.start
            yield FilePart(self._file, self._name, reading.start, stop)
            reading = following

    def _following(self, reading: _Reading) -> _Reading | None:
        """Return the reading that goes on behind the damage that has ended one."""
        if not reading.broke_off:
            return None
        for place, sound_before in zip(reading.places, reading.sound_before, strict=True):
            if self._budget <= 0:
                self.n_untried += 1
                continue
            other = self._read(place)
            if other.sound_bytes > reading.sound_bytes - sound_before:
                return other
        self.n_untried += reading.n_left_out
        return self._behind(reading.stop)

    def _behind(self, offset: int) -> _Reading | None:
        """Return the first reading that gives anything, from an offset of the file on."""
        while (place := self._places.first(offset)) is not None:
            reading = self._read(place)
            if reading.sound_bytes:
                return reading
            offset = place + 1
            if self._budget <= 0:
                self.n_untried += len(reading.places) + reading.n_left_out
                offset = max(reading.stop, offset)
        return None

    def _read(self, start: int) -> _Reading:
        """Read from a place on, for what there is."""
        part = FilePart(self._file, self._name, start, places=self._places)
        reading = _Reading(start)
        with closing(self._open_stream(part)) as stream:
            if stream.inflated is not None:
                part.on_place = partial(reading.meet, stream.inflated)
            going_on = DamageLog("skip", None).going_on(stream)
            while (block := going_on.next_block()) is not None:
                reading.add(stream.offset - framed_bytes(block), stream.offset)
            reading.end(part.tell(), broke_off=stream.broke_off)
        self._budget -= part.n_read + _TRY_BYTES
        return reading


def framed_bytes(block: Block) -> int:
    """Return how many bytes a block's records had in their frames, one behind the other."""
    return int(block.offsets[-1] + block.lengths[-1] - block.offsets[0]) + OVERHEAD_BYTES
