"""Skip damage, drop records that do not fit, and report what was read and what was lost.

A :class:`SkippingStream` wraps a stream, and does nothing until that raises: intact files are
read by the same code, at the same speed, either way. Nothing is skipped silently: each
damaged span is counted, kept for the report, and passed to the caller's function, or else
summed up in one warning at the end.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.block import HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.options import OnError, OnMisfit, ReadSettings
from tfrecord_lite.records.framing import is_header
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural

_FEW_RECORDS, _MANY_RECORDS = 16, 4096
"""Records decoded at a time right after damage; four times as many each time, up to the second."""

NEVER_SKIPPED = (errors.Reason.COMPRESSION, errors.Reason.INFLATED_TOO_LARGE)
_NO_RECORD_AT_START = f"{errors.Reason.LENGTH_CRC}: the file does not begin with a record"
NOT_DAMAGE = (*NEVER_SKIPPED, errors.Reason.NOT_A_TFRECORD)
"""Errors about a file that is not a damaged TFRecord file, or one that was read as it should not be."""


@dataclass(eq=False, repr=False)
class DamageLog:
    """The damage that one iteration over files meets.

    `on_error` is "raise", "skip", or a callable that is called with each :class:`DamagedSpan` and may
    raise; so is `on_misfit` for records that fail the `check`. `n_left` is the number of damaged spans
    and such records to leave out, None for any number.
    """

    on_error: OnError
    n_left: int | None
    on_misfit: OnMisfit = "raise"
    check: Callable[[Block], object] | None = None
    is_over: bool = False  # one damaged span too many was raised
    # In the order of their opening.
    _files: list[errors.FileReport | SkippingStream] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)  # openings that may still be read

    @classmethod
    def begin(cls, options: ReadSettings) -> DamageLog | None:
        """Return a log for an iteration; None if it stops at damage, and at records that do not fit."""
        if not options.leaves_out:
            return None
        return cls(options.on_error, options.max_errors, options.on_misfit, options.check)

    def skipping(self, stream: RecordStream, *, may_be_torn: bool = False) -> SkippingStream:
        """Return a stream that skips the damage of this one; several may be open."""
        for i in self._open:
            opened = self._files[i]
            if isinstance(opened, SkippingStream) and opened.stream.is_closed:
                self._files[i] = opened.report()  # a report keeps no buffer alive
        self._open = [i for i in self._open if isinstance(self._files[i], SkippingStream)]
        self._open.append(len(self._files))
        skipping = SkippingStream(stream, self, may_be_torn=may_be_torn)
        self._files.append(skipping)
        return skipping

    def admit(self, error: errors.TFRecordError) -> None:
        """Raise if this damage, or this record, is one too many to leave out."""
        if self.n_left is None:
            return
        if self.n_left:
            self.n_left -= 1
            return
        self.is_over = True
        limit, report = "max_errors=0 allows nothing to be left out", self.report()
        damaged, misfits = report.num_damaged, report.num_message_errors
        counts = (damaged, "damaged place"), (misfits, "misfit")
        places = [plural(count, noun) for count, noun in counts if count]
        if places:
            were = "was" if damaged + misfits == 1 else "were"
            limit = f"{' and '.join(places)} before it {were} skipped, the limit of max_errors"
        raise error.at(detail=f"{error.detail or error.reason}; {limit}") from None

    def tell(self, lost: errors.DamagedSpan | errors.InvalidArgumentError) -> None:
        """Pass a span, or the error about a record, to the caller's function, if there is one."""
        teller: Any = self.on_error if isinstance(lost, errors.DamagedSpan) else self.on_misfit
        if callable(teller):
            teller(lost)

    def report(self) -> errors.DamageReport:
        """Return what was read and lost so far."""
        files = self._files
        reports = [file.report() if isinstance(file, SkippingStream) else file for file in files]
        return errors.DamageReport(tuple(reports))

    def give_warning(self) -> None:
        """Warn of what was left out, unless the caller knows of it already."""
        if self.is_over:
            return
        tellers = {"num_damaged": self.on_error, "num_message_errors": self.on_misfit}
        known: Any = {name: 0 for name, teller in tellers.items() if callable(teller)}
        report = self.report()
        warn_of_damage(errors.DamageReport(tuple(replace(file, **known) for file in report.files)))


@dataclass(eq=False, repr=False)
class DamagedSpans:
    """The damaged spans of one file, in order: records that are neighbours are one span."""

    kept: list[errors.DamagedSpan] = field(default_factory=list)
    _last: errors.DamagedSpan | None = None  # also if it is one too many to keep
    _n_spans: int = 0
    num_damaged: int = 0
    lost_bytes: int = 0

    def add(self, span: errors.DamagedSpan) -> None:
        """Add the next one."""
        joined = self._last.joined(span) if self._last is not None else None
        self._last = joined or span
        self._n_spans += joined is None
        if self._n_spans <= errors.MAX_SPANS:
            self.kept[self._n_spans - 1 :] = [self._last]
        self.num_damaged += span.num_records
        self.lost_bytes += span.length

    def report(self, source: str, n_records: int, record_bytes: int) -> errors.FileReport:
        """Return the report on the file, by its intact records so far, and their bytes."""
        spans = [replace(s, records_after=n_records - s.records_before) for s in self.kept]
        lost = self.num_damaged, self.lost_bytes
        return errors.FileReport(source, n_records, record_bytes, tuple(spans), *lost)


class SkippingStream:
    """A stream of records, not yet read, that skips damage; otherwise as :class:`RecordStream`.

    With `may_be_torn`, a file may end inside a record, with `torn_bytes` of it.
    """

    def __init__(self, stream: RecordStream, log: DamageLog, *, may_be_torn: bool = False) -> None:
        self.name: str = stream.name
        self.stream = stream
        self._decoder = stream.decoder
        self._may_be_torn = may_be_torn
        self.torn_bytes: int = 0
        self.broke_off: bool = False  # a compressed stream was damaged, which is its end
        self._log = log
        from tfrecord_lite.records.resync import RecordFinder  # noqa: PLC0415 - for damage alone

        self._finder = RecordFinder(stream.decoder.max_record_bytes)
        self._damage = DamagedSpans()
        self._misfits: list[errors.InvalidArgumentError] = []
        self._n_misfits = self._misfit_bytes = 0
        self._last_misfit: errors.InvalidArgumentError | None = None  # one too many
        self._begin, self._first = stream.offset, stream.n_records
        self._most_records: int | None = None  # to take at a time; None for any number

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Return the next records that are intact and fit; fewer than asked for before and after others."""
        while self._last_misfit is None:
            block = self._next_intact(n_records)
            if block is not None and self._log.check is not None:
                block = self._fitting(block, self._log.check)
            if block is None or len(block):
                return block
        raise self._last_misfit

    def _fitting(self, block: Block, check: Callable[[Block], object]) -> Block:
        """Return the records of a block that pass the check; note the others.

        If several things are wrong, the check may find another wrong record first: so it is repeated.
        """
        while True:
            misfits = dict(misfits_in(block, check))
            if not misfits:
                return block
            for i, error in misfits.items():
                try:
                    self._log.admit(error)
                except errors.InvalidArgumentError as last:  # after the records before
                    self._last_misfit = last
                    return block[[n for n in range(i) if n not in misfits]]
                self._n_misfits += 1
                self._misfit_bytes += int(block.lengths[i])
                if self._n_misfits <= errors.MAX_SPANS:
                    self._misfits.append(error)
                self._log.tell(error)
            block = block[np.delete(np.arange(len(block)), list(misfits))]

    def _next_intact(self, n_records: int | None) -> Block | None:
        """Return the next intact records.

        After damage, the decoder's buffer is decoded again, up to the next damage. So only a few
        records are asked for there, then more and more.
        """
        while True:
            most = self._most_records
            try:
                if most is None:
                    return self.stream.next_block(n_records)
                block = self._next_searched(min(n_records or most, most))
            except errors.DataLossError as error:
                self._skip(error)
                continue
            is_over = most >= _MANY_RECORDS and not self._is_searched
            self._most_records = None if is_over else min(4 * most, _MANY_RECORDS)
            return block

    def next_records(self) -> Block | list[bytes] | None:
        """Return the next records as :meth:`next_block`; large ones maybe as ``bytes``."""
        while self._most_records is None and self._log.check is None:
            try:
                return self.stream.next_records()
            except errors.DataLossError as error:
                self._skip(error)
        return self.next_block()

    @property
    def _is_searched(self) -> bool:
        return self.stream.offset < self._finder.scanned

    def _next_searched(self, n_records: int) -> Block | None:
        """Return the next block, maybe a smaller one.

        Records in bytes that were searched are judged by the search: the megabytes that many forged
        headers promise are read once for all of them.
        """
        stream, decoder, finder = self.stream, self._decoder, self._finder
        if not self._is_searched or not decoder.verify:
            return stream.next_block(n_records)
        n_intact = finder.n_intact(decoder.offset, n_records)
        if n_intact or not is_header(decoder.pending[:HEADER_BYTES].tobytes()):
            return stream.next_block(n_intact or 1)
        start, n_bytes, is_end = decoder.offset, decoder.next_frame_bytes, False
        while (place := finder.find(decoder.pending, start, start, is_end=is_end)) is None:
            is_end = not self._fill()
        is_whole = n_bytes <= min(decoder.pending_bytes, decoder.max_record_bytes + OVERHEAD_BYTES)
        if is_whole and place != start:
            detail = "data CRC mismatch, found in the search after other damage"
            reason, number = errors.Reason.DATA_CRC, decoder.n_records
            raise errors.DataLossError(reason, start, stream.name, number, detail=detail)
        return stream.next_block(1)

    def _skip(self, error: errors.DataLossError) -> None:
        """Continue after damage, with the next intact record or at the end of the file."""
        if error.reason in NEVER_SKIPPED or self._log.on_error == "raise":
            self._log.is_over = self._log.is_over or self._log.on_error == "raise"
            raise error
        stream, decoder = self.stream, self._decoder
        n_before, index, offset = self._n_records, stream.n_records, stream.offset
        is_torn = self._may_be_torn and error.reason is errors.Reason.TRUNCATED
        if not is_torn:
            self._log.admit(error)
        self.broke_off = self.broke_off or error.reason in errors.STREAM_DAMAGE
        if self.broke_off or error.reason is errors.Reason.TRUNCATED:
            stream.end_here()
        after = self._next_place(error)
        length = after - offset
        decoder.go_to(after)
        decoder.n_records += 1  # a damaged span counts as one
        if is_torn:
            if not decoder.pending_bytes:
                self.torn_bytes = length
                return
            self._log.admit(error)
        reason, detail = error.reason, error.detail
        if reason is errors.Reason.NOT_A_TFRECORD and decoder.pending_bytes:
            reason, detail = errors.Reason.LENGTH_CRC, _NO_RECORD_AT_START
        span = errors.DamagedSpan(stream.name, offset, length, reason, detail, index, n_before)
        self._damage.add(span)
        self._most_records = _FEW_RECORDS
        self._log.tell(span)

    def _next_place(self, error: errors.DataLossError) -> int:
        """Return where the next intact record after damage starts, or the end of what can be read.

        A record whose length is right and whose data is wrong is skipped, if another record or
        the end of the file is where its length says; but not a run of intact records inside it that ends
        exactly there: if bytes were removed from it, its length may reach to the end of a later one.

        Otherwise all offsets after its start are searched for the first record whose length and data both
        have the right CRC. It may be part of a damaged record's data; the two cannot be distinguished.
        """
        decoder, finder, start, through = self._decoder, self._finder, self._decoder.offset, 0
        if error.reason is errors.Reason.DATA_CRC:
            n_bytes = decoder.next_frame_bytes
            while len(ahead := decoder.pending[n_bytes : n_bytes + HEADER_BYTES]) < HEADER_BYTES:
                if not self._fill():
                    break
            if is_header(ahead.tobytes()) or not len(ahead):
                return finder.find_run(decoder.pending, start, start + 1, start + n_bytes)
            through = start + n_bytes  # the length was chance or forged: search as far as it goes
        is_end = False
        while True:
            pending, at = decoder.pending, decoder.offset
            place = finder.find(pending, at, start + 1, is_end=is_end, through=through)
            if place is not None:
                return place
            if finder.wanted_from > at:
                decoder.go_to(min(finder.wanted_from, at + decoder.pending_bytes))
            is_end = not self._fill()

    def _fill(self) -> bool:
        """Read more of the file; False at its end, or if its stream is damaged."""
        try:
            return self.stream.fill(None)
        except errors.DataLossError:
            return False

    @property
    def compression(self) -> str:
        """The compression of the file."""
        return self.stream.compression

    @property
    def n_records(self) -> int:
        """The number of the next record: each damaged span before it counts as one."""
        return self.stream.n_records

    @property
    def _n_records(self) -> int:
        n_records = self.stream.n_records - self._first
        return n_records - self._damage.num_damaged - (self.torn_bytes > 0)

    def report(self) -> errors.FileReport:
        """Return what was read and lost so far."""
        n_records, misfits = self._n_records, self._n_misfits
        n_bytes = self.stream.offset - self._begin - self.torn_bytes - self._damage.lost_bytes
        n_bytes -= n_records * OVERHEAD_BYTES
        report = self._damage.report(self.name, n_records, n_bytes)
        report = replace(report, message_errors=tuple(self._misfits), num_message_errors=misfits)
        n_bytes -= self._misfit_bytes
        return replace(report, records=n_records - misfits, record_bytes=n_bytes)


def misfits_in(
    block: Block, check: Callable[[Block], object]
) -> Iterator[tuple[int, errors.InvalidArgumentError]]:
    """Yield the number in the block, and the error, of each record that fails a check.

    After a wrong record, records are checked in groups that double in size.
    """
    at, n_records = 0, len(block)
    while at < len(block):
        part = block[at : at + n_records]
        try:
            check(part)
        except errors.InvalidArgumentError as error:
            number = error.index
            if part.places is not None and error.offset is not None:
                number = int(np.searchsorted(part.places[:, 2], error.offset))
            if number is None:
                raise
            at += number
            yield at, error
            at, n_records = at + 1, 1
        else:
            at, n_records = at + n_records, 2 * n_records


def warn_of_damage(report: errors.DamageReport) -> None:
    """Warn of what was left out, if anything was; the warning points to the caller's code."""
    if report.num_damaged or report.num_message_errors:
        from tfrecord_lite.progress import bars_hidden  # noqa: PLC0415 - for damage alone

        with bars_hidden(sys.stderr):
            text = report.summary()
            warnings.warn(text, errors.DataLossWarning, stacklevel=errors.levels_to_caller())
