"""What the processes of a run have passed over in files, put together where the run is.

::

    worker   DamageLog ──news──> Outbox ──with each chunk, through the pipe──┐
    here     dataset.report, a warning at the end <── Losses <───────────────┘

A worker may be stopped, or killed, at any time. So what it has met goes with every chunk
that it has made of it: what was given out is accounted for, however the run ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tfrecord_lite.dataset.plan import chain
from tfrecord_lite.dataset.records import Files
from tfrecord_lite.records.damage import (
    MAX_SPANS,
    DamageReport,
    FileReport,
    too_many_error,
    warn_of_damage,
)

if TYPE_CHECKING:
    from tfrecord_lite.dataset.plan import Source
    from tfrecord_lite.records.damage import Damage, DamagedSpan, DamageLog, FileUpdate

News: TypeAlias = "tuple[list[tuple[int, FileUpdate]], bool]"
"""What is new of files, each with the number of the pass over them; and whether one of these
has raised damage since there was too much of it."""


class Outbox:
    """In a worker: what it has met since it was asked last; nobody is warned here.

    Parameters
    ----------
    plan : Source
        What the worker runs, of its own.
    """

    def __init__(self, plan: Source) -> None:
        self._logs: dict[int, DamageLog] = {}
        self._n_begun = 0
        damage = damage_of(plan)
        if damage is not None:
            damage.watcher = self._watch

    def _watch(self, log: DamageLog) -> None:
        log.is_quiet = True
        self._logs[self._n_begun] = log
        self._n_begun += 1

    def news(self) -> News | None:
        """Return what there is to be sent; None if there is nothing."""
        last = self._n_begun - 1
        logs = list(self._logs.items())
        news = [(number, item) for number, log in logs for item in log.news()]
        is_over = any(log.is_over for _, log in logs)
        self._logs = {number: log for number, log in self._logs.items() if number >= last}
        return (news, is_over) if news or is_over else None


class Losses:
    """Where the run is: what all workers have met, each file once.

    A file that several workers read, each to take its part of the records, or that is read
    several times, counts as it is known from whoever got furthest.

    Parameters
    ----------
    damage : Damage
        What to do about it. Its `max_errors` is for all workers together.
    """

    def __init__(self, damage: Damage) -> None:
        self._is_told = callable(damage.on_error)
        self._max_errors = damage.max_errors
        self._files: dict[int, FileReport] = {}
        self._open: dict[tuple[object, int, int], FileReport] = {}

    @classmethod
    def of(cls, plan: Source) -> Losses | None:
        """Return an account for a run of a plan, which knows of it; None if it is to stop at damage."""
        damage = damage_of(plan)
        if damage is None:
            return None
        if damage.on_error == "raise":
            damage.log = None
            return None
        losses = cls(damage)
        damage.log = losses
        return losses

    def add(self, worker: object, news: News) -> None:
        """Take what a worker has sent.

        Raises
        ------
        DataLossError
            If that is more damage than is to be passed over.
        """
        items, is_over = news
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
                # Behind the most that are kept only their number is known, and the last one.
                is_worse = found.n_damaged > (best.n_damaged if best else 0)
                spans += item.report.spans or (found.spans[-1:] if is_worse else ())
        self._check(files, spans)
        self._files = files  # unless that is too much: what was made of it is not given out

    def _check(self, files: dict[int, FileReport], spans: list[DamagedSpan]) -> None:
        """Raise what is one too many, of these."""
        most = self._max_errors
        if most is None or not spans:
            return
        n_damaged = sum(file.n_damaged for file in files.values())
        if n_damaged > most:
            self._is_told = True
            raise too_many_error(spans[-min(n_damaged - most, len(spans))], most)

    def report(self) -> DamageReport:
        """Return what was read and lost so far, of the files in the order they were given in."""
        return DamageReport(tuple(_settled(self._files[number]) for number in sorted(self._files)))

    def give_warning(self) -> None:
        """Warn of what was lost, if anything was, and the caller was not told of it before."""
        if not self._is_told:
            warn_of_damage(self.report())


def damage_of(plan: Source) -> Damage | None:
    """Return what a plan does about damage; None if there is nothing it could be asked to do."""
    source = chain(plan)[0]
    return source.damage if isinstance(source, Files) else None


def _extent(file: FileReport) -> tuple[int, int]:
    """Return how far a file was read, for comparison."""
    return file.records + file.n_damaged, file.record_bytes + file.lost_bytes


def _settled(file: FileReport) -> FileReport:
    """Return a report whose spans know how many records are behind them by now."""
    spans = [replace(s, records_after=file.records - s.records_before) for s in file.spans]
    return replace(file, spans=tuple(spans))
