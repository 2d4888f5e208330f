"""Damage met by the worker processes of a run, merged in the main process.

::

    worker   DamageLog ──> WorkerDamage ──update with each chunk, through the pipe──┐
    main     iterator.report, a warning at the end <── JoinedDamage <───────────────┘

A worker may be stopped or killed at any time. So an update goes with every chunk, and every chunk
handed out is accounted for, however the run ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tfrecord_lite.dataset.plan import RunDamage, chain
from tfrecord_lite.dataset.records import Files
from tfrecord_lite.errors import MAX_SPANS, DamageReport, FileReport
from tfrecord_lite.records.damage import too_many_error, warn_of_damage

if TYPE_CHECKING:
    from tfrecord_lite.dataset.plan import PlanNode
    from tfrecord_lite.errors import DamagedSpan
    from tfrecord_lite.options import ReadSettings
    from tfrecord_lite.records.damage import DamageLog, FileUpdate

DamageUpdate: TypeAlias = "tuple[list[tuple[int, FileUpdate]], bool]"
"""Updates about files, each with the number of the pass over the files; and whether the worker raised
because there was too much damage."""


class WorkerDamage(RunDamage):
    """Damage that a worker has met since it sent the last update; it warns of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._logs: dict[int, DamageLog] = {}  # by the number of the pass over the files
        self._n_begun = 0

    def begin(self, options: ReadSettings) -> DamageLog | None:
        """Start a log for a pass over the files; None if damage is to be raised."""
        log = super().begin(options)
        if log is not None:
            log.is_quiet = True
            self._logs[self._n_begun] = log
            self._n_begun += 1
        return log

    def update(self) -> DamageUpdate | None:
        """Return what has happened since the last update; None if nothing."""
        last = self._n_begun - 1
        logs = list(self._logs.items())
        news = [(number, item) for number, log in logs for item in log.updates()]
        is_over = any(log.is_over for _, log in logs)
        self._logs = {number: log for number, log in self._logs.items() if number >= last}
        return (news, is_over) if news or is_over else None


class JoinedDamage:
    """Log of the main process: what all workers have met, each file once.

    A file may be read by several workers, each taking its part of the records, or several times. The
    report of the worker that got furthest counts. `max_errors` is for all workers together.
    """

    def __init__(self, files: Files) -> None:
        self._is_told = callable(files.options.on_error)
        self._max_errors = files.options.max_errors
        self._files: dict[int, FileReport] = {}
        self._open: dict[tuple[object, int, int], FileReport] = {}

    @classmethod
    def of(cls, plan: PlanNode) -> JoinedDamage | None:
        """Make a log for a run of a plan; None if damage is to be raised."""
        files = chain(plan)[0]
        return cls(files) if isinstance(files, Files) and files.skips_damage else None

    def add(self, worker: object, update: DamageUpdate) -> None:
        """Add what a worker has sent; raise DataLossError for too much damage."""
        items, is_over = update
        self._is_told = self._is_told or is_over
        files = dict(self._files)
        spans: list[DamagedSpan] = []
        for iteration, item in items:
            key, found = (worker, iteration, item.opening), item.report
            before = self._open.pop(key, None)
            if before is not None:
                kept = before.spans + found.spans if found.spans else before.spans
                found = replace(found, spans=kept[:MAX_SPANS])
            if not item.is_last:
                self._open[key] = found
            best = files.get(item.number)
            if best is None or _extent(found) >= _extent(best):
                files[item.number] = found
                # If a file has more spans than are kept, only their number and the last are known.
                is_worse = found.num_damaged > (best.num_damaged if best else 0)
                spans += item.report.spans or (found.spans[-1:] if is_worse else ())
        self._check(files, spans)
        self._files = files  # not if _check raises: the chunk is not handed out then

    def _check(self, files: dict[int, FileReport], spans: list[DamagedSpan]) -> None:
        """Raise for the first of these spans that is one too many."""
        most = self._max_errors
        if most is None or not spans:
            return
        num_damaged = sum(file.num_damaged for file in files.values())
        if num_damaged > most:
            self._is_told = True
            raise too_many_error(spans[-min(num_damaged - most, len(spans))], most)

    def report(self) -> DamageReport:
        """Report what was read and lost so far, by file in the order of their numbers."""
        return DamageReport(tuple(_settled(self._files[number]) for number in sorted(self._files)))

    def give_warning(self) -> None:
        """Warn of damage, if there was any and the caller was not told before."""
        if not self._is_told:
            warn_of_damage(self.report())


def _extent(file: FileReport) -> tuple[int, int]:
    """Return how far a file was read, to compare reports."""
    return file.records + file.num_damaged, file.record_bytes + file.lost_bytes


def _settled(file: FileReport) -> FileReport:
    """Set the number of records that have come after each span."""
    spans = [replace(s, records_after=file.records - s.records_before) for s in file.spans]
    return replace(file, spans=tuple(spans))
