"""The benchmark: tables of made-up figures, checks that notice other values, one task run."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import calls, check, instructions
from benchmarks.contenders import LIBRARIES
from benchmarks.data import data_set
from benchmarks.measure import Row, Turns, ratio
from benchmarks.report import Results
from benchmarks.tasks import OURS, SECTIONS, TARGETS, THEIRS, Data, Side, Task


def row(task: str, side: str, *seconds: float, n_items: int = 1_000) -> Row:
    return Row("columns", task, side, "", "record", n_items, list(seconds), list(seconds))


@pytest.fixture
def results() -> Results:
    task = "columns: tabular, 256"
    rows = [row(task, OURS, 0.1, 0.2, 0.1), row(task, THEIRS, 0.3, 0.4, 0.5)]
    rows += [row(task, "tfrecord", 1.0, 1.0, 1.0), row("columns: tokens, best", OURS, 0.1)]
    return Results({"run": "made up"}, rows)


def test_ratios_are_taken_within_a_round(results: Results) -> None:
    ours, theirs = results.rows[:2]
    found = ratio(theirs, ours)
    assert (found.median, found.low, found.high) == pytest.approx((3, 2, 5))


def test_targets_are_met_missed_or_not_measured(results: Results) -> None:
    lines = results.targets().splitlines()
    elapsed, cpu = [line for line in lines if line.startswith("| columns: tabular, 256 |")]
    (absent, _) = [line for line in lines if line.startswith("| columns: embeddings, 256 |")]
    assert elapsed.endswith("| 3.00 x | 2.00 to 5.00 | met |")
    assert "processor time" in cpu
    assert absent.endswith("| not measured |")
    results.rows[0].seconds = [1.0, 1.0, 1.0]
    assert "**missed**" in results.targets()


def fingerprint(*columns: check.Flat) -> dict[str, object]:
    found = check.Fingerprint()
    for some in columns:
        found.add(some)
    return found.value()


@pytest.mark.parametrize("other", [[1.0, 2.5], [1.0]])
def test_other_values_are_noticed(other: list[float]) -> None:
    wanted = fingerprint({"x": check.flat(np.array([1.0, 2.0]))})
    with pytest.raises(check.DifferentError, match="other values of x than first"):
        check.compare("first", wanted, fingerprint({"x": check.flat(np.array(other))}))


@pytest.mark.slow
def test_a_task_runs_and_a_side_with_other_values_is_not_timed(tmp_path: Path) -> None:
    path = str(data_set("tabular", 20, tmp_path))
    args = {"path": path, "data": "tabular", "batch": 8}
    lies = Side("lies", OURS, "columns", {"select": ["f1"]})
    task = Task("columns", "columns: tabular, 8", "columns", 20, args, (lies,))
    turns = Turns({OURS: sys.executable}, {}, 2)
    try:
        sides = list(task.sides({OURS: ["columns"]}, {OURS: OURS}))
        ours, other = turns.run(task, sides, 1.0)
    finally:
        turns.close()
    assert len(ours.seconds) == 2
    assert not ours.error
    assert "DifferentError: other values of f0, f2" in other.error
    assert other.seconds == []


@pytest.mark.slow
def test_the_command_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--tiny", "--libraries", "tfrecord_lite", "--only", "columns: tokens, 256"]
    given += ["--cache", str(tmp_path), "--out", str(tmp_path), "--write-to", str(tmp_path)]
    assert command.main(given) == 0
    assert "columns: tokens, 256" in capsys.readouterr().out
    assert json.loads((tmp_path / "tiny.json").read_text())["rows"][0]["side"] == "tfrecord_lite"


def test_targets_name_tasks_and_sides_that_there_are(tmp_path: Path) -> None:
    names = {}
    for section in SECTIONS.values():
        for task in section(Data("tiny", tmp_path, tmp_path)):
            names[task.name] = {side.title for side in task.also}
    titles = {library.title for library in LIBRARIES.values()}
    for target in TARGETS:
        assert target.task in names
        assert {target.side, target.rival} <= titles | names[target.task]


def test_each_guarded_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "_RECORDS", dict.fromkeys(instructions._RECORDS, 3))
    for task in instructions.TASKS:
        instructions.run(task, 1, str(tmp_path))
    kept = json.loads(instructions.STORED.read_text())
    assert set(kept["counts"]) == set(instructions.TASKS)


def test_calls_are_counted_alike_in_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = set()
    for _ in range(2):
        calls.main(["--functions", "1"])
        outputs.add(capsys.readouterr().out)
    (output,) = outputs
    counts = [int(line.split()[0]) for line in output.splitlines()]
    assert len(counts) == 4  # two tasks, each with its most called function
    assert min(counts) > 0
