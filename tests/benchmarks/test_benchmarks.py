"""The benchmark: tables of made-up figures, checks that notice other values, one task run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import check, instructions
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


def test_every_figure_is_written_and_read(results: Results, tmp_path: Path) -> None:
    results.rows.append(
        Row("columns", "t", "failed", "", "record", 1, error="Error: no such thing")
    )
    results.write(tmp_path, "run")

    found = json.loads((tmp_path / "run.json").read_text())
    assert [row["seconds"] for row in found["rows"][:2]] == [[0.1, 0.2, 0.1], [0.3, 0.4, 0.5]]
    assert "failed: Error: no such thing" in (tmp_path / "run.md").read_text()
    for theme in ("light", "dark"):
        ET.fromstring((tmp_path / f"run-{theme}.svg").read_text())  # noqa: S314 - ours


# ------------------------------------------------------------------------------- values


def fingerprint(*columns: check.Flat) -> dict[str, object]:
    found = check.Fingerprint()
    for some in columns:
        found.add(some)
    return found.value()


def test_how_values_are_held_makes_no_difference() -> None:
    wanted = fingerprint(
        {
            "x": check.flat(np.arange(6.0, dtype="f4").reshape(3, 2)),
            "s": check.flat([b"a", b"", b"bc"]),
        }
    )
    cut = [np.arange(4.0).reshape(2, 2), np.array([[4.0, 5.0]])]
    strings = [np.array([b"a", b""], object), np.array([b"bc"], object)]
    batches = [{"s": check.flat(s), "x": check.flat(x)} for x, s in zip(cut, strings, strict=True)]
    rows: list[dict[str, Any]] = [
        {"x": [0, 1.0], "s": b"a"},
        {"x": (2.0, 3), "s": [b""]},
        {"s": b"bc", "x": np.array([4.0, 5])},
    ]

    assert fingerprint(*batches) == wanted
    assert (
        fingerprint(*check.rows(iter([{**row, "x": np.asarray(row["x"], "f4")} for row in rows])))
        == wanted
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": check.flat(np.array([1.0, 2.5]))}, "other values of x than first"),
        ({"x": (np.array([1.0, 2.0]), [2, 0])}, "other values of x than first"),
        ({"x": check.flat(np.array([1.0]))}, "other values of x than first"),
        ({"y": check.flat(np.array([1.0, 2.0]))}, "other values of x, y than first"),
    ],
)
def test_other_values_are_noticed(other: check.Flat, message: str) -> None:
    wanted = fingerprint({"x": check.flat(np.array([1.0, 2.0]))})

    with pytest.raises(check.DifferentError, match=message):
        check.compare("first", wanted, fingerprint(other))


# ----------------------------------------------------------------------------- a real run


@pytest.mark.full
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


@pytest.mark.full
def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    args = {"target": str(tmp_path / "new"), "data": "tabular", "n_records": 5, "form": "values"}
    fewer = Side("fewer", OURS, "write_dicts", {"n_records": 4})
    task = Task("write", "write dicts: tabular", "write_dicts", 5, args, (fewer,))
    turns = Turns({OURS: sys.executable}, {}, 1)
    try:
        ours, other = turns.run(task, list(task.sides({OURS: ["write_dicts"]}, {OURS: OURS})), 1.0)
    finally:
        turns.close()

    assert not ours.error
    assert "DifferentError" in other.error


@pytest.mark.full
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


# --------------------------------------------------------------------------- instructions


def test_more_instructions_than_stored_are_a_failure() -> None:
    stored = {"a": 1_000, "b": 1_000}

    assert instructions.compare(stored, {"a": 1_029, "b": 500, "new": 5}) == []
    assert instructions.compare(stored, {"a": 1_031}) == ["a: 1,031 instructions, +3.1% of 1,000"]


def test_each_guarded_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "_RECORDS", dict.fromkeys(instructions._RECORDS, 3))
    for task in instructions.TASKS:
        instructions.run(task, 1, str(tmp_path))

    kept = json.loads(instructions.STORED.read_text())
    assert set(kept["counts"]) == set(instructions.TASKS)
