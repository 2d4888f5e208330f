"""Find the parts of a damaged compressed file that can be inflated.

::

    [member 1   ][member 2 # ? ? ? ? ? ? ? ][member 3   ]
     inflates      up to #    cannot be       found by its first bytes

A deflate stream cannot be entered in its middle, so nothing of it can be inflated after damage.
A further member (rule C5: appending writes one, and ``cat a.gz b.gz`` joins them) is looked for
by its magic bytes. An offset with these is a *candidate*; those in a record that is itself a
compressed file, stored unchanged, are inside bytes that inflated to an intact record, and are skipped.

A *reading* is one pass over the file, from a candidate up to damage. It may run into the next
member: a stored block whose end is missing takes that member for its data, and the records stored
there come out of it as well. So if a candidate in the damage gives records, and this reading has
none after it or cannot be read farther, the next reading begins there, and this one ends before::

    reading       [records . . . torn][records, once more]#
    the next one                      [records, all of them . . .

To know where a candidate is in the content, the file is read in pieces that end at
candidates: the number of bytes inflated up to there is the offset in the content.
"""

from __future__ import annotations

import io
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.files.inflate import MAGIC_BYTES
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import Codec
    from tfrecord_lite.records.stream import RecordStream

_MIN_PIECE_BYTES, _PIECE_BYTES = 512, 64 * 1024
"""How many bytes are searched at once for a candidate: twice as many each time, up to the second."""

LATE_BYTES = 8
"""A decompressor may keep back this many bytes that it could give."""

_MAX_TIMES, _FREE_COST, _PIECE_COST = 8, 64 * 1024 * 1024, 4096
"""Readings may overlap, without end in a hostile file. Each costs the bytes it reads and inflates,
and some more per piece. Those in vain may cost a multiple of the file's size plus a constant; after
that nothing is read twice, so the work is linear for any file."""

_MAX_CANDIDATES = 100_000
"""How many candidates of one reading are kept."""


class FilePart:
    """A file from an offset on, as a file object.

    A read ends at the offset `edge`. If `on_candidate` is set, reads end where a member may begin
    (`magic`), and it is called with each such offset before more is read. `n_read` and `n_pieces` count what was read so far,
    repetitions included.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        start: int,
        magic: bytes,
        show: Callable[[int], object],
        edge: int = 0,
    ) -> None:
        self.name = name
        self._file = file
        self._at = start
        self._magic = magic
        self._show = show
        self._edge = edge
        self._n_ahead = _MIN_PIECE_BYTES
        self.n_read: int = 0
        self.n_pieces: int = 0
        self.on_candidate: Callable[[int], object] | None = None
        self._ahead = b""  # bytes of the file from _ahead_at on, to look for candidates in
        self._ahead_at = 0
        self._is_end = False  # it reaches to the end of the file

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
        if self.on_candidate is not None:
            data = self._read_piece(n_bytes)
        else:
            n_before = self._edge - self._at
            data = self._read(min(n_bytes, n_before) if n_before > 0 else n_bytes)
        self._at += len(data)
        self.n_read += len(data)
        self.n_pieces += 1
        self._show(self._at)
        return data

    def _read(self, n_bytes: int) -> bytes:
        self._file.seek(self._at)
        return self._file.read(n_bytes)

    def _read_piece(self, n_bytes: int) -> bytes:
        """Read up to the next candidate at most."""
        begin, n_magic = self._at - self._ahead_at, len(self._magic)
        if not 0 <= begin <= len(self._ahead) - n_magic:
            self._ahead, self._ahead_at, begin = self._read(self._n_ahead), self._at, 0
            self._is_end = len(self._ahead) < self._n_ahead
            self._n_ahead = min(2 * self._n_ahead, _PIECE_BYTES)
        if self.on_candidate is not None and self._ahead.startswith(self._magic, begin):
            self.on_candidate(self._at)
        stop = self._ahead.find(self._magic, begin + 1)
        if stop < 0:  # the last bytes may be the first ones of a candidate
            stop = max(len(self._ahead) - n_magic + 1, begin)
            if stop == begin or self._is_end:
                stop = len(self._ahead)
        return self._ahead[begin : min(stop, begin + n_bytes)]


@dataclass(slots=True)
class Reading:
    """One pass over the file from a candidate on, up to damage or the end."""

    start: int
    stop: int = 0
    """Where in the file reading ended."""
    broke_off: bool = False
    """Whether it ended with damage of the compressed stream."""
    has_records: bool = False
    """Whether it has an intact record."""
    sound_to: int = 0
    """Where in the content its last intact record ends."""
    cost: int = 0
    candidates: list[tuple[int, int]] = field(default_factory=list)
    """Those outside intact records: the offset in the file, and that in the content."""
    n_left_out: int = 0
    """Number of candidates beyond those that are kept."""
    end: tuple[int, int] | None = None
    """The candidate where the next reading begins, if it is before `stop`."""


class MemberSearch:
    """Find the parts of a compressed file that can be inflated.

    `file` can seek, and is read several times; `open_stream` opens a part as a stream of records;
    `show` is called with the offset that is reached. `n_untried` counts the candidates that were
    not tried, since that would have taken too long.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        codec: Codec,
        open_stream: Callable[[FilePart], RecordStream],
        show: Callable[[int], object],
    ) -> None:
        self._file = file
        self._name = name
        self._codec = codec
        self._open_stream = open_stream
        self._show = show
        self._budget = _MAX_TIMES * file.seek(0, io.SEEK_END) + _FREE_COST
        self.n_untried: int = 0

    def readings(self) -> Iterator[Reading]:
        """Yield the readings in order."""
        self._file.seek(0)
        head = self._file.read(MAGIC_BYTES)
        # The first member may be one without content, as ZSTD has them, with another magic.
        first = 0 if head and self._codec.is_start(head) else self._candidate(0) or 0
        reading: Reading | None = self._read(first)
        while reading is not None:
            following = self._taking_over(reading) if reading.broke_off else None
            yield reading
            reading = following or (self._next(reading.stop) if reading.broke_off else None)

    def _taking_over(self, reading: Reading) -> Reading | None:
        """Return the reading of the first candidate in the damage that gives more than this one."""
        for i, candidate in enumerate(reading.candidates):
            if self._budget <= 0:
                self.n_untried += len(reading.candidates) - i
                break
            found = self._read(candidate[0])
            self._budget -= min(found.cost, reading.cost) if found.has_records else found.cost
            is_read_as_far = found.stop + LATE_BYTES >= reading.stop
            has_more = is_read_as_far or candidate[1] >= reading.sound_to
            if found.has_records and has_more:
                reading.end = candidate
                return found
        else:
            self.n_untried += reading.n_left_out
        return None

    def _next(self, offset: int) -> Reading | None:
        """Return the first reading with records, from an offset of the file on."""
        while (candidate := self._candidate(offset)) is not None:
            reading = self._read(candidate)
            if reading.has_records:
                return reading
            self._budget -= reading.cost
            offset = candidate + 1
            if self._budget <= 0:
                self.n_untried += len(reading.candidates) + reading.n_left_out
                offset = max(reading.stop, offset)
        return None

    def _candidate(self, at: int) -> int | None:
        """Return the first candidate from an offset on."""
        n_bytes = _MIN_PIECE_BYTES
        while True:
            self._file.seek(at)
            data = self._file.read(n_bytes)
            found = data.find(self._codec.magic)
            if found >= 0:
                return at + found
            if len(data) < len(self._codec.magic):
                return None
            at += len(data) - len(self._codec.magic) + 1
            n_bytes = min(2 * n_bytes, _PIECE_BYTES)

    def part(self, start: int, show: Callable[[int], object], edge: int = 0) -> FilePart:
        """Return the file from an offset on."""
        return FilePart(self._file, self._name, start, self._codec.magic, show, edge)

    def _read(self, start: int) -> Reading:
        """Read from an offset on, as far as that is possible."""
        reading, part = Reading(start), self.part(start, self._show)
        met: deque[tuple[int, int]] = deque()  # candidates after the last intact record
        last = start

        def meet(at: int) -> None:
            nonlocal last
            if at > last and not content.is_between:
                if len(met) < _MAX_CANDIDATES:
                    met.append((at, content.position))
                else:
                    reading.n_left_out += 1
            last = max(last, at)

        def keep(*, up_to: int | None) -> None:
            """Keep candidates up to an offset of the content: they are in no intact record."""
            while met and (up_to is None or met[0][1] <= up_to):
                candidate = met.popleft()
                if len(reading.candidates) < _MAX_CANDIDATES:
                    reading.candidates.append(candidate)
                else:
                    reading.n_left_out += 1

        with closing(self._open_stream(part)) as stream:
            content = stream.inflated
            part.on_candidate = meet
            records = DamageLog("skip", None).skipping(stream)
            stop = 0  # of the last intact record, in the content
            try:
                while (block := records.next_block()) is not None:
                    first = stream.offset - framed_bytes(block)
                    if first != stop:
                        keep(up_to=first)
                    stop, reading.has_records = stream.offset, True
                    while met and met[0][1] < stop - LATE_BYTES:
                        met.popleft()  # inside intact records
            except DataLossError as error:
                if error.reason is not Reason.INFLATED_TOO_LARGE:
                    raise
                # If the limit matters, copying this reading raises it again.
            keep(up_to=None)
            reading.sound_to = stop
            reading.stop, reading.broke_off = start + content.raw_position, records.broke_off
            reading.cost = part.n_read + content.position + _PIECE_COST * part.n_pieces
        return reading


def framed_bytes(block: Block) -> int:
    """Return the bytes of a block's frames, which follow each other."""
    return int(block.offsets[-1] + block.lengths[-1] - block.offsets[0]) + OVERHEAD_BYTES
