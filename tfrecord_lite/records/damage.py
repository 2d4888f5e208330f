"""Going on past damage: what was lost, where, and who is told.

::

    RecordStream ──DataLossError──> SkippingStream ──skip_damage──> RecordStream
                                       │
                                       ╰─ DamagedSpan ─> on_error, DamageReport, a warning

:class:`SkippingStream` is put around a stream by those who are asked to go on. It does nothing
until the stream raises, so a sound file is read by the same code, at the same speed, either
way. Nothing is passed over in silence: each damaged span is counted, kept for the report,
and told to the caller's function, or of all together by one warning at the end.

What was read of files, and what was lost: the words in which damage is reported.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tfrecord_lite.errors import DataLossError, DataLossWarning, Reason
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.block import Block
    from tfrecord_lite.errors import InvalidArgumentError
    from tfrecord_lite.records.stream import RecordStream

__all__ = [
    "MAX_SPANS",
    "NEVER_SKIPPED",
    "Damage",
    "DamageLog",
    "DamageReport",
    "DamagedSpan",
    "FileReport",
    "FileUpdate",
    "Log",
    "OnError",
    "SkippingStream",
    "too_many_error",
    "warn_of_damage",
]

_FEW_RECORDS, _MANY_RECORDS = 16, 4096
"""Right behind damage, records are decoded so few at a time, then more, up to so many."""


NEVER_SKIPPED = (Reason.COMPRESSION, Reason.INFLATED_TOO_LARGE)
"""What is raised in any case: another compression than the one named, and a limit."""


OnError: TypeAlias = "Literal['raise', 'skip'] | Callable[[DamagedSpan], object]"


@dataclass(frozen=True, slots=True)
class FileUpdate:
    """What a log has met in one file since it was asked last."""

    opening: int
    """Which file of the log; the same file may be opened again."""
    number: int
    """Of the file, as whoever opened it counts."""
    report: FileReport
    """What there is to say of it so far; its spans are those that are new."""
    is_last: bool
    """Whether there will be no more."""


class DamageLog:
    """What one iteration over files does about damage, and has met so far.

    Parameters
    ----------
    on_error : "skip" or callable
        A callable is given each :class:`DamagedSpan`, and may raise.
    max_errors : int or None
        How many damaged places to pass over; the next one is raised.

    Attributes
    ----------
    is_quiet : bool
        Whether somebody else warns of what was lost.
    is_over : bool
        Whether there was one damaged place too many, which was raised.
    """

    def __init__(self, on_error: OnError, max_errors: int | None) -> None:
        self._on_error = on_error
        self._left = max_errors
        self.is_quiet = callable(on_error)
        self.is_over = False
        self._files: list[FileReport | SkippingStream] = []
        self._numbers: list[int] = []
        self._open: list[int] = []  # which of them may still be read
        self._unsaid: dict[int, tuple[int, int]] = {}  # of which of them there may be news: behind
        # which span, and which offset

    def skipping(
        self, stream: RecordStream, number: int = 0, *, may_be_torn: bool = False
    ) -> SkippingStream:
        """Return a file's stream as one that goes on behind damage; several may be open."""
        for i in self._open:
            going = self._files[i]
            if isinstance(going, SkippingStream) and going.is_closed:
                self._files[i] = going.report()  # which keeps no buffer alive
        self._open = [i for i in self._open if isinstance(self._files[i], SkippingStream)]
        self._open.append(len(self._files))
        self._numbers.append(number)
        self._unsaid[len(self._files)] = 0, -1
        going = SkippingStream(stream, self, may_be_torn=may_be_torn)
        self._files.append(going)
        return going

    def admit(self, error: DataLossError) -> None:
        """Raise the error if it is one too many."""
        if self._left is None:
            return
        if self._left == 0:
            self.is_over = True
            raise too_many_error(error, self.report().n_damaged) from None
        self._left -= 1

    def tell(self, span: DamagedSpan) -> None:
        """Tell the caller of a span, if asked to."""
        if callable(self._on_error):
            self._on_error(span)

    def report(self) -> DamageReport:
        """Return what was read and lost so far."""
        reports = (
            file.report() if isinstance(file, SkippingStream) else file for file in self._files
        )
        return DamageReport(tuple(reports))

    def news(self) -> list[FileUpdate]:
        """Return what was met of each file since the last call; a thread may be reading."""
        news = []
        for i, (n_said, offset) in list(self._unsaid.items()):
            file = self._files[i]
            is_last = isinstance(file, FileReport) or file.is_closed  # before the rest is looked at
            if not is_last and isinstance(file, SkippingStream) and file.offset == offset:
                continue
            now = file.offset if isinstance(file, SkippingStream) else offset
            new = (
                file.report(n_said)
                if isinstance(file, SkippingStream)
                else replace(file, spans=file.spans[n_said:])
            )
            news.append(FileUpdate(i, self._numbers[i], new, is_last))
            self._unsaid[i] = n_said + len(new.spans), now
            if is_last:
                del self._unsaid[i]
        return news

    def give_warning(self) -> None:
        """Warn of what was lost, if anything was, and the caller was not told of it before."""
        if not self.is_quiet and not self.is_over:
            warn_of_damage(self.report())


def too_many_error(error: DataLossError | DamagedSpan, n_before: int) -> DataLossError:
    """Return the error of the first damaged place that is not passed over any more."""
    detail = f"{error.detail}; {n_before} damaged places were passed over before it, "
    detail += "as many as max_errors allows"
    return DataLossError(error.reason, error.offset, error.source, error.index, None, detail)


class Log(Protocol):
    """What knows what an iteration has met: a :class:`DamageLog`, or one made of several."""

    def report(self) -> DamageReport:
        """Return what was read and lost so far."""


@dataclass(unsafe_hash=True)
class Damage:
    """What to do about damage, and what was met in the iteration begun last.

    Two are equal that do the same, whatever they met.
    """

    on_error: OnError = "raise"
    max_errors: int | None = None
    log: Log | None = field(default=None, compare=False)
    watcher: Callable[[DamageLog], object] | None = field(default=None, compare=False)
    """Given the log of each iteration when that begins."""

    def begin(self) -> DamageLog | None:
        """Start an iteration; None if it is to stop at damage."""
        if self.on_error == "raise":
            self.log = None
            return None
        log = DamageLog(self.on_error, self.max_errors)
        self.log = log
        if self.watcher is not None:
            self.watcher(log)
        return log

    def report(self) -> DamageReport | None:
        """Return what was read and lost; None before the first, and without going on."""
        return None if self.log is None else self.log.report()

    def __getstate__(self) -> dict[str, object]:
        """Leave the log behind: streams are not sent to other processes."""
        return {**self.__dict__, "log": None, "watcher": None}


class SkippingStream:
    """A stream of records that goes on behind damage; as :class:`RecordStream` otherwise.

    Parameters
    ----------
    stream : RecordStream
        Of which nothing was read.
    log : DamageLog
        Decides about each damage, and is told of it.
    may_be_torn : bool
        Whether it is no damage that the file ends inside a record.

    Attributes
    ----------
    torn_bytes : int
        How many bytes there are at the end of such a record, once that was met.
    """

    def __init__(self, stream: RecordStream, log: DamageLog, *, may_be_torn: bool = False) -> None:
        self._stream = stream
        self._may_be_torn = may_be_torn
        self.torn_bytes = 0
        self._log = log
        self._spans: list[DamagedSpan] = []
        self._n_damaged = 0
        self._lost_bytes = 0
        self._begin = stream.offset
        self._most_records: int | None = None  # to be taken at a time; None for any number

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Return the next sound records; fewer than asked for before damage, and behind it.

        What is behind damage in the decoder's buffer is decoded again, up to the next damage.
        So few records are asked for there, and then more and more: where there is damage
        after damage, the buffer is not gone over for each.
        """
        while True:
            most = self._most_records
            try:
                if most is None:
                    return self._stream.next_block(n_records)
                block = self._stream.next_block_after_damage(min(n_records or most, most))
            except DataLossError as error:
                self._pass_over(error)
                continue
            is_over = most >= _MANY_RECORDS and not self._stream.is_searched
            self._most_records = None if is_over else min(4 * most, _MANY_RECORDS)
            return block

    def next_records(self) -> list[bytes] | None:
        """Return the next sound records, at least one; None at the end of the file."""
        while self._most_records is None:
            try:
                return self._stream.next_records()
            except DataLossError as error:
                self._pass_over(error)
        block = self.next_block()
        return None if block is None else block.to_list()

    def _pass_over(self, error: DataLossError) -> None:
        if error.reason in NEVER_SKIPPED:
            raise error
        stream = self._stream
        n_before, index, offset = self._n_records, stream.n_records, stream.offset
        if self._may_be_torn and error.reason is Reason.TRUNCATED:
            length = stream.skip_damage(error)
            if stream.is_exhausted:
                self.torn_bytes = length
                return
            self._log.admit(error)
        else:
            self._log.admit(error)
            length = stream.skip_damage(error)
        reason, detail = error.reason, error.detail
        span = DamagedSpan(stream.name, offset, length, reason, detail, index, n_before)
        self._n_damaged += 1
        self._lost_bytes += length
        if len(self._spans) < MAX_SPANS:
            self._spans.append(span)
        self._most_records = _FEW_RECORDS
        self._log.tell(span)

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is read."""
        return self._stream.is_closed

    @property
    def name(self) -> str:
        """The path or URL."""
        return self._stream.name

    @property
    def compression(self) -> str:
        """What was given or found."""
        return self._stream.compression

    @property
    def offset(self) -> int:
        """Bytes from the start of the decompressed stream to the next record."""
        return self._stream.offset

    @property
    def n_records(self) -> int:
        """The number of the next record: each damaged span before it counts as one."""
        return self._stream.n_records

    @property
    def _n_records(self) -> int:
        return self._stream.n_records - self._n_damaged - (self.torn_bytes > 0)

    def report(self, first_span: int = 0) -> FileReport:
        """Return what was read and lost so far; without the first so many spans."""
        n_records = self._n_records
        n_bytes = self._stream.offset - self._begin - self.torn_bytes
        spans = tuple(
            replace(span, records_after=n_records - span.records_before)
            for span in self._spans[first_span:]
        )
        return FileReport(
            self._stream.name,
            n_records,
            n_bytes - self._lost_bytes - n_records * OVERHEAD_BYTES,
            spans,
            self._n_damaged,
            self._lost_bytes,
        )


MAX_SPANS = 10_000
"""How many spans of one file a report keeps; the others are only counted."""


@dataclass(frozen=True, slots=True)
class DamagedSpan:
    """Bytes of a file that were passed over, because what they hold is damaged.

    Examples
    --------
    >>> from tfrecord_lite.errors import Reason
    >>> span = DamagedSpan("a.tfrecord", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
    >>> print(span)
    a.tfrecord: record 1, byte 24: data CRC mismatch; 19 bytes skipped
    """

    source: str
    """Path or URL."""
    offset: int
    """Bytes from the start of the decompressed stream to the first one passed over, which
    is that of a record's header."""
    length: int
    """How many bytes; 0 if it is only the compressed stream that is damaged there."""
    reason: Reason
    """What is wrong with the first record of the span."""
    detail: str | None
    """What was expected, and what was found."""
    index: int
    """Number of that record in the file, each damaged span before it counted as one."""
    records_before: int
    """Sound records of the file before it."""
    records_after: int | None = None
    """Sound records of the file behind it; None while these are not read."""

    def __str__(self) -> str:
        """Return the place, what is wrong there, and how much was skipped, in one line."""
        place = f"{self.source}: record {self.index}, byte {self.offset}"
        return f"{place}: {self.detail or self.reason}; {self.length} bytes skipped"


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was read of one file, and what was lost."""

    source: str
    """Path or URL."""
    records: int
    """Sound records."""
    record_bytes: int
    """Bytes of these, without heads and feet."""
    spans: tuple[DamagedSpan, ...] = ()
    """Where it is damaged; the first :data:`MAX_SPANS` places."""
    n_damaged: int = 0
    """How many places there are."""
    lost_bytes: int = 0
    """Bytes in all of them, of the decompressed stream."""
    message_errors: tuple[InvalidArgumentError, ...] = ()
    """What is wrong with sound records as messages, if that was asked; as many at the most."""
    n_message_errors: int = 0
    """How many such records there are."""
    failure: Exception | None = None
    """Why the file could not be read, or not to its end, if that is no damage."""

    @property
    def is_sound(self) -> bool:
        """Whether the file was read, nothing is damaged, and no message is wrong."""
        return not (self.n_damaged or self.n_message_errors or self.failure)


@dataclass(frozen=True, slots=True)
class DamageReport:
    """What was read of some files, and what was lost.

    Examples
    --------
    >>> report = DamageReport((FileReport("a", 10, 990), FileReport("b", 5, 400)))
    >>> report.records, report.is_sound
    (15, True)
    """

    files: tuple[FileReport, ...]
    """One for each file that was begun, in order."""

    @property
    def records(self) -> int:
        """Sound records of all files."""
        return sum(file.records for file in self.files)

    @property
    def spans(self) -> tuple[DamagedSpan, ...]:
        """The damaged places of all files, as far as they are kept."""
        return tuple(span for file in self.files for span in file.spans)

    @property
    def n_damaged(self) -> int:
        """How many damaged places there are."""
        return sum(file.n_damaged for file in self.files)

    @property
    def lost_bytes(self) -> int:
        """Bytes in all of them."""
        return sum(file.lost_bytes for file in self.files)

    @property
    def is_sound(self) -> bool:
        """Whether all files are."""
        return all(file.is_sound for file in self.files)

    def summary(self) -> str:
        """Say in one line what was passed over.

        Examples
        --------
        >>> from tfrecord_lite.errors import Reason
        >>> span = DamagedSpan("a", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
        >>> DamageReport((FileReport("a", 9, 72, (span,), 1, 19),)).summary().partition(";")[0]
        '1 damaged place with 19 bytes was passed over in 1 of 1 files, and 9 records read'
        """
        n_files = sum(file.n_damaged > 0 for file in self.files)
        places = "damaged place" if self.n_damaged == 1 else "damaged places"
        was = "was" if self.n_damaged == 1 else "were"
        first = f"; the first: {self.spans[0]}" if self.spans else ""
        return (
            f"{self.n_damaged} {places} with {self.lost_bytes} bytes {was} passed over in "
            f"{n_files} of {len(self.files)} files, and {self.records} records read{first}"
        )


def warn_of_damage(report: DamageReport) -> None:
    """Warn of what was lost, if anything was, where the caller's code is."""
    if report.n_damaged:
        warnings.warn(report.summary(), DataLossWarning, stacklevel=_levels_to_caller())


def _levels_to_caller() -> int:
    """Return the `stacklevel` that names the first caller outside the package."""
    package, frame, level = __name__.partition(".")[0], inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
