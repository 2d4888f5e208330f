"""Read what can be inflated of a damaged compressed file.

A deflate stream cannot be entered in its middle, so nothing of it can be inflated after damage.
A further member (rule C5: appending writes one, and ``cat a.gz b.gz`` joins them) is looked for
by its magic bytes. An offset with these is a *candidate*; those in a record that is itself a
compressed file, stored unchanged, are inside bytes that inflated to an intact record, and are skipped.

A member whose end is missing may take the next one for its data, and the records stored there come
out of it as well. So the first candidate in damage that gives a record takes over.

To know where a candidate is in the content, the file is read in pieces that end at
candidates: the number of bytes inflated up to there is the offset in the content.
"""

from __future__ import annotations

import io
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from typing import IO, cast

from tfrecord_lite.block import Block
from tfrecord_lite.errors import DamagedSpan, DataLossError, Reason
from tfrecord_lite.files.compression import CODECS
from tfrecord_lite.files.inflate import MAGIC_BYTES, PIECE_BYTES
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.damage import DamageLog
from tfrecord_lite.records.stream import RecordStream

_MIN_PIECE_BYTES, _PIECE_BYTES = 512, 64 * 1024
"""How many bytes are searched at once for a candidate: twice as many each time, up to the second."""
_LATE_BYTES = 8
"""A decompressor may keep back this many bytes that it could give."""
_MAX_TIMES, _FREE_COST, _PIECE_COST = 8, 64 * 1024 * 1024, 4096
"""What is read twice, or in vain, costs the bytes read and inflated, and some more per piece. It may
cost a multiple of the file's size plus a constant; after that nothing is read twice, so the work is
linear for any file."""
_GZIP_START = b"\x1f\x8b\x08\0"
"""The only four bytes with which writers of records begin a GZIP stream; six more are of no matter."""
_MAX_CANDIDATES = 100_000
"""How many candidates in one damaged place are tried: the last ones."""


@dataclass(eq=False, repr=False)
class _MemberFile:
    """A file from an offset on, as a file object whose reads end where a member may begin."""

    _file: IO[bytes]
    name: str
    _at: int
    _magic: bytes
    _head: bytes  # in place of the first bytes of the file
    _n_ahead: int = _MIN_PIECE_BYTES
    _ahead: bytes = b""  # bytes of the file from _ahead_at on, to look for candidates in
    _ahead_at: int = 0
    _is_end: bool = False  # they reach to the end of the file
    cost: int = 0  # of what was read so far, repetitions included
    # Called with the offset of each candidate, before more is read.
    on_candidate: Callable[[int], object] = lambda _: None

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int) -> int:
        self._at = offset
        return offset

    def read(self, n_bytes: int) -> bytes:
        begin, n_magic = self._at - self._ahead_at, len(self._magic)
        if not 0 <= begin <= len(self._ahead) - n_magic:
            self._file.seek(self._at)
            self._ahead, self._ahead_at, begin = self._file.read(self._n_ahead), self._at, 0
            if self._at < len(self._head):
                self._ahead = self._head[self._at :] + self._ahead[len(self._head) - self._at :]
            self._is_end = len(self._ahead) < self._n_ahead
            self._n_ahead = min(2 * self._n_ahead, _PIECE_BYTES)
        if self._ahead.startswith(self._magic, begin):
            self.on_candidate(self._at)
        stop = self._ahead.find(self._magic, begin + 1)
        if stop < 0:  # the last bytes may be the first ones of a candidate
            stop = max(len(self._ahead) - n_magic + 1, begin)
            if stop == begin or self._is_end:
                stop = len(self._ahead)
        data = self._ahead[begin : min(stop, begin + n_bytes)]
        self._at += len(data)
        self.cost += len(data) + _PIECE_COST
        return data


class MemberReader:
    """Read the records of a compressed file, past damage; `show` is called with the offset that is reached."""

    def __init__(
        self, file: IO[bytes], name: str, settings: ReadSettings, show: Callable[[int], object]
    ) -> None:
        self._file = file
        self._name = name
        self._codec = CODECS[settings.codec_name or ""]
        self._settings = settings
        self._show = show
        self._budget = _MAX_TIMES * file.seek(0, io.SEEK_END) + _FREE_COST
        self._is_complete = True  # every candidate was tried that should be
        self._head = b""  # to be read in place of damaged first bytes

    def _open(self, start: int) -> tuple[_MemberFile, RecordStream]:
        part = _MemberFile(self._file, self._name, start, self._codec.magic, self._head)
        # It is read in smaller pieces than those for which a ratio is computed.
        limits = self._settings.inflation._replace(ahead_bytes=PIECE_BYTES)
        return part, RecordStream(cast("IO[bytes]", part), self._settings, limits=limits)

    def parts(self) -> Iterator[Block | DamagedSpan]:
        """Yield intact records and damage, in the order of the file; the place of a span is relative to its stream."""
        self._file.seek(0)
        head = self._file.read(MAGIC_BYTES)
        # The first member may be one without content, as ZSTD has them, with another magic.
        is_start = bool(head) and self._codec.is_start(head)
        start: int | None = 0 if is_start else next(self._candidates(0), 0)
        is_odd = self._codec.name == "GZIP" and len(head) == MAGIC_BYTES and head != _GZIP_START
        if is_odd and not (is_start and self._first_with_records([0]) == 0):
            self._head = _GZIP_START
            if self._first_with_records([0]) == 0:
                start = 0
                yield self._span(Reason.COMPRESSION, "the first bytes are not a GZIP header")
            else:
                self._head = b""
        if start:
            detail = f"the first {start} bytes are not a {self._codec.name} stream"
            yield self._span(Reason.COMPRESSION, detail)
        while start is not None:
            start = yield from self._read(start)
        if not self._is_complete:
            detail = "some places that look like the start of another stream were not tried: "
            detail += "there are too many"
            yield self._span(Reason.COMPRESSED_CORRUPT, detail)

    def _span(self, reason: Reason, detail: str, length: int = 0) -> DamagedSpan:
        return DamagedSpan(self._name, 0, length, reason, detail, None, 0)

    def _read(self, start: int) -> Generator[Block | DamagedSpan, None, int | None]:
        """Yield what can be read from an offset on; return where to go on, None at the end."""
        part, stream = self._open(start)
        spans: list[DamagedSpan] = []
        # After the last intact record: offsets in the file, and in the content.
        met: deque[tuple[int, int]] = deque(maxlen=_MAX_CANDIDATES)
        last = start

        def meet(at: int) -> None:
            nonlocal last
            if at > last and not content.is_between:
                met.append((at, content.position))
            last = max(last, at)

        with closing(stream):
            content = stream.inflated
            part.on_candidate = meet
            records = DamageLog(spans.append, None).skipping(stream)
            while (block := records.next_block()) is not None or spans:
                for span in spans:
                    is_last = block is None and span is spans[-1]
                    end = math.inf if is_last else span.offset + span.length
                    position = dict(takewhile(lambda place, end=end: place[1] <= end, met))  # type: ignore[misc]
                    if (taken := self._first_with_records(position, may_skip=False)) is not None:
                        self._budget -= part.tell() - taken + _PIECE_COST * len(met)
                        self._budget -= content.position - position[taken]
                        detail = (
                            f"another stream begins at byte {taken} of the file, before its end"
                        )
                        length = max(position[taken] - span.offset, 0)
                        yield self._span(Reason.COMPRESSED_TRUNCATED, detail, length)
                        return taken
                    for _ in position:
                        met.popleft()
                    yield span
                spans.clear()
                if block is None:
                    break
                while met and met[0][1] < stream.offset - _LATE_BYTES:
                    met.popleft()  # inside intact records
                self._show(part.tell())
                yield block
            if not records.broke_off:
                return None
            return self._first_with_records(self._candidates(start + content.raw_position))

    def _first_with_records(
        self, candidates: Iterable[int], *, may_skip: bool = True
    ) -> int | None:
        """Return the first candidate from which a record can be read.

        Beyond the budget, those are skipped that were read from one before, or all of them.
        """
        stop = 0
        for candidate in candidates:
            if self._budget <= 0 and (candidate < stop or not may_skip):
                self._is_complete = False
                continue
            part, stream = self._open(candidate)
            with closing(stream):
                try:
                    block = DamageLog("skip", None).skipping(stream).next_block()
                except DataLossError as error:
                    if error.reason is not Reason.INFLATED_TOO_LARGE:
                        raise
                    block = None
                if block is not None:
                    return candidate
                self._budget -= part.cost + stream.inflated.position
                stop = candidate + stream.inflated.raw_position
        return None

    def _candidates(self, at: int) -> Iterator[int]:
        n_bytes = _MIN_PIECE_BYTES
        n_magic = len(self._codec.magic)
        while True:
            self._file.seek(at)
            data = self._file.read(n_bytes)
            start = data.find(self._codec.magic)
            if start >= 0:
                yield at + start
                at += start + 1
            elif len(data) < n_magic:
                return
            else:
                at += len(data) - n_magic + 1
                n_bytes = min(2 * n_bytes, _PIECE_BYTES)
