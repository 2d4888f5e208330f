"""Find the parts of a damaged compressed file that can be inflated.

::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     inflates      up to #    cannot be       found by its first bytes

A deflate stream cannot be entered in its middle, so nothing of it can be inflated after damage.
A further member (rule C5: appending writes one, and ``cat a.gz b.gz`` joins them) is looked for
by its magic bytes. An offset with these is a *candidate*. Some candidates do not start a member:
those by chance, one in 16 MB of compressed data, which give no record; and those in a record that
is itself a compressed file, if the member stores its bytes unchanged. Such a candidate is inside
bytes that inflated to an intact record, and is skipped.

To know where each candidate is in the content, the file is read in pieces that end at
candidates: the number of bytes inflated up to there is the offset in the content.

A *reading* is one pass over the file, from a candidate up to damage. It may run into the next
member: a stored block whose end is missing takes that member for its data, and the records stored
there come out of it as well. So if a candidate in the damage gives records of its own, its
reading is an *inner* one. The outer reading then leaves out what it makes of the same bytes, and
keeps what it makes of those after them::

    outer   [records . . . torn][records, once more][records]
    inner                       [records, all of them]

Inner readings do not nest: if another stream begins in the damage of an inner reading, that
reading ends there, and the stream is the next inner one.
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
from tfrecord_lite.files.inflate import MAGIC_BYTES
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import Codec
    from tfrecord_lite.files.inflate import Inflated
    from tfrecord_lite.records.stream import RecordStream

_PIECE_BYTES, _MIN_PIECE_BYTES = 64 * 1024, 512
"""How many bytes are searched at once for a candidate; twice as many after each vain search."""

_LATE_BYTES = 8
"""A decompressor may keep back this many bytes that it could give."""

_MAX_TIMES, _FREE_COST, _PIECE_COST = 8, 64 * 1024 * 1024, 4096
"""Readings may overlap, without end in a hostile file. Each costs the bytes it reads and inflates,
and some more per piece. Those in vain may cost a multiple of the file's size plus a constant; after
that nothing is read twice, so the work is linear for any file."""

_MAX_CANDIDATES, _MAX_INNER = 100_000, 1000
"""How many candidates and inner readings of one reading are kept."""


class Candidates:
    """The offsets of a file that have a member's first bytes."""

    def __init__(self, file: IO[bytes], magic: bytes) -> None:
        self._file = file
        self._magic = magic
        self._known = range(0)  # offsets without a candidate; the next may be one

    def first(self, start: int, stop: int | None = None) -> int | None:
        """Return the first candidate from `start` on and before `stop`; None if there is none."""
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
    """The offsets where a reading ends, and its inner ones begin and end; as :class:`Candidates`."""

    def __init__(self, reading: Reading) -> None:
        edges = {edge for inner in reading.inner for edge in (inner.start, inner.stop)}
        # Damage shows only with the bytes after it.
        self._edges = sorted({reading.stop + _LATE_BYTES, *edges})

    def first(self, start: int, stop: int) -> int | None:
        """Return the first edge from `start` on and before `stop`; None if there is none."""
        i = bisect_left(self._edges, start)
        return self._edges[i] if i < len(self._edges) and self._edges[i] < stop else None


class FilePart:
    """A file from an offset on, as a file object that reads pieces which end at each edge.

    `on_edge` is called with each edge where a piece begins, before that is read. `n_read` and
    `n_pieces` count what was read so far, repetitions included.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        start: int,
        edges: Candidates | Edges,
        stop: int | None = None,
    ) -> None:
        self.name = name
        self._file = file
        self._start = start
        self._at = start
        self._edges = edges
        self._stop = stop
        self.n_read: int = 0
        self.n_pieces: int = 0
        self.on_edge: Callable[[int], object] = lambda _: None

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
        at, edges = self._at, self._edges
        if at > self._start and edges.first(at, at + 1) is not None:
            self.on_edge(at)
        stop = edges.first(at + 1, at + n_bytes) or at + n_bytes
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
    """One pass over the file from a candidate on, up to damage or the end."""

    start: int
    stop: int = 0
    """Where in the file reading ended."""
    is_cut: bool = False
    """Whether it ends there because the next inner reading begins."""
    broke_off: bool = False
    """Whether it ended with damage of the compressed stream."""
    has_records: bool = False
    """Whether it has an intact record."""
    cost: int = 0
    candidates: array[int] = field(default_factory=partial(array, "q"))
    """Those in its damage."""
    n_left_out: int = 0
    """Number of candidates beyond those that are kept."""
    inner: list[Reading] = field(default_factory=list)
    """Readings of other streams in its damage, in order."""
    _met: deque[tuple[int, int]] = field(default_factory=deque)  # in the file, in the content
    _last: int = -1
    _run: range = range(0)
    """The last stretch of the content with intact records that follow each other."""

    @property
    def end(self) -> int:
        """Where in the file this reading and its inner ones end."""
        return max(self.stop, self.inner[-1].stop) if self.inner else self.stop

    def meet(self, content: Inflated, candidate: int) -> None:
        """Note a candidate that comes next, and the position of the content there."""
        if candidate > self._last and not content.is_between:
            if len(self._met) < _MAX_CANDIDATES:
                self._met.append((candidate, content.position))
            else:
                self.n_left_out += 1
        self._last = max(self._last, candidate)

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
        """Keep the candidates before an offset of the content: they are in no intact record."""
        while self._met and (offset is None or self._met[0][1] <= offset):
            candidate, _ = self._met.popleft()
            if len(self.candidates) < _MAX_CANDIDATES:
                self.candidates.append(candidate)
            else:
                self.n_left_out += 1

    def finish(self, part: FilePart, content: Inflated, *, broke_off: bool) -> None:
        """Note the end."""
        self._keep_until(None)
        self.stop, self.broke_off = self.start + content.raw_position, broke_off
        self.cost = part.n_read + content.position + _PIECE_COST * part.n_pieces


class MemberSearch:
    """Find the parts of a compressed file that can be inflated.

    `file` can seek, and is read several times; members begin as `codec` says; `open_stream` opens a part as a stream of records. `n_untried` counts the candidates that were
    not tried, since that would have taken too long.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        codec: Codec,
        open_stream: Callable[[FilePart], RecordStream],
    ) -> None:
        self._file = file
        self._name = name
        self._codec = codec
        self._open_stream = open_stream
        self._candidates = Candidates(file, codec.magic)
        self._budget = _MAX_TIMES * file.seek(0, io.SEEK_END) + _FREE_COST
        self.n_untried: int = 0

    def readings(self) -> Iterator[Reading]:
        """Yield the outer readings in order; each begins after the damage of the one before."""
        reading: Reading | None = self._read(self._first())
        while reading is not None:
            self._find_inner(reading)
            yield reading
            reading = self._next(reading.end)

    def _first(self) -> int:
        """Return where the first member begins; 0 also for one without content, as ZSTD has them."""
        self._file.seek(0)
        head = self._file.read(MAGIC_BYTES)
        return 0 if head and self._codec.is_start(head) else self._candidates.first(0) or 0

    def _find_inner(self, outer: Reading) -> None:
        """Find the inner readings of one that has ended with damage."""
        while (inner := self._reading_in(outer, outer.inner)) is not None:
            outer.inner.append(inner)
            # A stream that begins in the damage of an inner reading cuts that off.
            while (other := self._reading_in(inner, outer.inner)) is not None:
                inner.stop, inner.is_cut, inner.candidates = other.start, True, array("q")
                outer.inner.append(other)
                inner = other
            left = [candidate for candidate in outer.candidates if candidate >= inner.stop]
            outer.candidates = array("q", left)

    def _reading_in(self, reading: Reading, known: list[Reading]) -> Reading | None:
        """Return the first reading with records in another's damage; drop its earlier candidates."""
        if not reading.broke_off:
            return None
        for i, candidate in enumerate(reading.candidates):
            if self._budget <= 0 or len(known) == _MAX_INNER:
                self.n_untried += len(reading.candidates) - i
                break
            found = self._read(candidate)
            self._budget -= min(found.cost, reading.cost) if found.has_records else found.cost
            if found.has_records:
                reading.candidates = reading.candidates[i + 1 :]
                return found
        self.n_untried += reading.n_left_out
        reading.candidates, reading.n_left_out = array("q"), 0
        return None

    def _next(self, offset: int) -> Reading | None:
        """Return the first reading with records, from an offset of the file on."""
        while (candidate := self._candidates.first(offset)) is not None:
            reading = self._read(candidate)
            if reading.has_records:
                return reading
            self._budget -= reading.cost
            offset = candidate + 1
            if self._budget <= 0:
                self.n_untried += len(reading.candidates) + reading.n_left_out
                offset = max(reading.stop, offset)
        return None

    def _read(self, start: int) -> Reading:
        """Read from an offset on, as far as that is possible."""
        part = FilePart(self._file, self._name, start, self._candidates)
        reading = Reading(start)
        with closing(self._open_stream(part)) as stream:
            content = stream.inflated
            part.on_edge = partial(reading.meet, content)
            records = DamageLog("skip", None).skipping(stream)
            try:
                while (block := records.next_block()) is not None:
                    reading.add(stream.offset - framed_bytes(block), stream.offset)
            except DataLossError as error:
                if error.reason is not Reason.INFLATED_TOO_LARGE:
                    raise
                # If the limit matters, copying this reading raises it again.
            reading.finish(part, content, broke_off=stream.broke_off)
        return reading


def framed_bytes(block: Block) -> int:
    """Return the bytes of a block's frames, which follow each other."""
    return int(block.offsets[-1] + block.lengths[-1] - block.offsets[0]) + OVERHEAD_BYTES
