"""Sides of a task, which take turns, and the figures of what they took.

A side is an operation of a contender in its process. A round runs each side once, in turn, so that
other work on the machine affects all. Figures are medians over the rounds; ratios are
taken within each round, and their median, lowest and highest are kept.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.check import DifferentError, compare
from benchmarks.contenders import LIBRARIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.tasks import Side, Task

ROOT = Path(__file__).resolve().parent.parent


_LONG = 8.0
"""A side that takes more seconds than this is measured only once."""


class FailedError(RuntimeError):
    """A contender answered with an error, or did not answer."""


class Worker:
    """The process of a contender, asked over a pipe."""

    def __init__(self, name: str, python: str, folder: str = "") -> None:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir(), "tfrecord-bytecode"))
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", name, *([folder] if folder else [])],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises
        ------
        FailedError
            If there is an error instead.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(json.dumps({"do": do, **request}) + "\n")
            requests.flush()
        except BrokenPipeError:
            raise FailedError(self._printed()) from None
        line = answers.readline()
        if not line:
            raise FailedError(self._printed())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise FailedError(answer["error"])
        return answer

    def _printed(self) -> str:
        self._errors.seek(0)
        return f"the process ended:\n{self._errors.read()[-4000:]}"

    def close(self) -> None:
        """End the process."""
        try:
            self._process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._errors.close()

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self.close()


@dataclass(slots=True)
class Row:
    """A side of a task, and what it took in each round."""

    section: str
    task: str
    side: str
    setting: str
    unit: str
    n_items: int
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    value: float | None = None
    """What was measured, where it is not time."""
    error: str = ""
    axis: tuple[str, int] | None = None

    @property
    def microseconds(self) -> float:
        """Median time per item."""
        return 1e6 * statistics.median(self.seconds) / self.n_items

    @property
    def cpu_microseconds(self) -> float:
        """Median processor time per item, of all threads."""
        return 1e6 * statistics.median(self.cpu_seconds) / self.n_items

    def figures(self) -> dict[str, Any]:
        """Return this row for JSON."""
        found = asdict(self)
        if self.seconds:
            found["us_per_item"] = self.microseconds
            found["cpu_us_per_item"] = self.cpu_microseconds
        return found


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast one side is as another."""

    median: float
    low: float
    high: float
    cpu: float
    """By processor time."""
    cpu_low: float
    cpu_high: float


def ratio(rival: Row, ours: Row) -> Ratio:
    """Return the time of `rival` relative to that of `ours`; above 1, ours is faster."""
    if not ours.seconds:  # bytes, say
        found = (rival.value or 0) / (ours.value or 1)
        return Ratio(found, found, found, found, found, found)
    per = ours.n_items / rival.n_items
    each = [per * theirs / own for theirs, own in zip(rival.seconds, ours.seconds, strict=False)]
    cpu = statistics.median(rival.cpu_seconds) / max(statistics.median(ours.cpu_seconds), 1e-9)
    in_rounds = zip(rival.cpu_seconds, ours.cpu_seconds, strict=False)
    cpus = [per * theirs / max(own, 1e-9) for theirs, own in in_rounds]
    middle = statistics.median(each)
    return Ratio(middle, min(each), max(each), per * cpu, min(cpus), max(cpus))


class Turns:
    """The workers of a run, and how long a task may take."""

    def __init__(self, pythons: dict[str, str], folders: dict[str, str], rounds: int) -> None:
        self.pythons, self.folders, self.rounds = pythons, folders, rounds
        self._workers: dict[str, Worker] = {}

    def worker(self, contender: str) -> Worker:
        """Return the process of a contender, started if it is not there."""
        if contender not in self._workers:
            self._workers[contender] = self.fresh(contender)
        return self._workers[contender]

    def fresh(self, contender: str) -> Worker:
        """Return a new process of a contender."""
        library = LIBRARIES[contender]
        folder = self.folders.get(contender, "")
        module = library.module or contender
        return Worker(module, self.pythons[contender], folder)

    def close(self) -> None:
        """End all processes; the next task starts new ones."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def run(self, task: Task, sides: list[Side], seconds: float) -> list[Row]:
        """Check that all sides return the same, then let them take turns; return a row for each.

        A side that fails has a row that says so, and the others go on. Rounds end early, but not
        before the third, when the task took that many seconds.

        Raises
        ------
        Different
            If a side returns other values than the first one.
        """
        start = time.monotonic()
        if task.what in {"peak", "first", "size"}:
            return self._costs(task, sides)
        rows: dict[str, Row] = {}
        requests: dict[str, tuple[str, dict[str, Any]]] = {}
        expected: dict[str, Any] | None = None
        first = ""
        for side in sides:
            row = rows[side.title] = Row(
                task.section, task.name, side.title, "", task.unit, round(task.n_items * side.share)
            )
            row.axis = task.axis
            try:
                args = task.args_of(side)
                if task.is_checked and side.is_checked:
                    found = self._values(task, side)
                    expected, first = (found, side.title) if expected is None else (expected, first)
                    compare(first, expected, found)
                row.setting, args = self._best(side, args)
            except (FailedError, DifferentError) as error:
                row.error = f"{type(error).__name__}: {error}"
                if "NotImplementedError" in row.error:
                    del rows[side.title]
                continue
            requests[side.title] = (side.contender, {"op": side.op, "args": args})
        for number in range(self.rounds):
            if number >= 3 and time.monotonic() - start > seconds:
                break
            for title, (contender, request) in list(requests.items()):
                try:
                    took = self.worker(contender).ask("time", **request)
                except FailedError as error:
                    rows[title].error = str(error)
                    del requests[title]
                    continue
                rows[title].seconds.append(took["seconds"])
                rows[title].cpu_seconds.append(took["cpu_seconds"])
                if took["seconds"] > _LONG:
                    del requests[title]
        for worker in self._workers.values():
            worker.ask("forget")
        for side in sides if task.what == "both" else ():
            with self.fresh(side.contender) as worker:
                found = worker.ask("peak", op=side.op, args=task.args_of(side))
                rows[side.title].value = found["bytes"]
        return list(rows.values())

    def _costs(self, task: Task, sides: Iterable[Side]) -> list[Row]:
        """Measure what is not the time of an operation, each in new processes."""
        rows = []
        for side in sides:
            row = Row(task.section, task.name, side.title, "", task.unit, task.n_items)
            rows.append(row)
            try:
                request = {"op": side.op, "args": task.args_of(side)}
                for _ in range(min(self.rounds, 3) if task.what == "first" else 1):
                    with self.fresh(side.contender) as worker:
                        found = (
                            worker.ask("about")
                            if task.what == "size"
                            else worker.ask(task.what, **request)
                        )
                    if task.what == "first":
                        row.seconds.append(found["seconds"])
                        row.cpu_seconds.append(found["cpu_seconds"])
                    else:
                        row.value = found["bytes"]
            except FailedError as error:
                row.error = str(error)
        return [row for row in rows if "NotImplementedError" not in row.error]

    def _values(self, task: Task, side: Side) -> dict[str, Any]:
        """Return checksums of what a side returns, or of what it wrote, read by this package."""
        worker, args = self.worker(side.contender), task.args_of(side)
        args |= {"path": task.sample} if task.sample else {}
        choices = worker.ask("settings", op=side.op, args=args)
        args |= next(iter(choices.values()))
        found = worker.ask("check", op=side.op, args=args)
        if "target" not in args:
            return found
        op, read = task.read_back(args)
        return self.worker("tfrecord_lite").ask("check", op=op, args=read)

    def _best(self, side: Side, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Try the settings of a side, which also warms it up; return the fastest, and its name."""
        worker = self.worker(side.contender)
        choices = worker.ask("settings", op=side.op, args=args)
        took: dict[str, float] = {}
        for name, choice in choices.items():
            found = worker.ask("time", op=side.op, args={**args, **choice})
            took[name] = found["seconds"]
        best = min(took, key=took.__getitem__)
        return best, {**args, **choices[best]}
