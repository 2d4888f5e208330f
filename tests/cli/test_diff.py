"""``tfrecord diff``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import damage, flower, sequence, write
from tfrecord_lite import encode_example
from tfrecord_lite.apps.statistics import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


def test_the_same_data_in_other_files(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a-00000-of-00002", map(flower, range(40)))
    write(tmp_path / "a-00001-of-00002", map(flower, range(40, 60)))
    whole = write(tmp_path / "b", map(flower, range(60)), "GZIP")

    for name in ("a@2", "a-*"):
        done = run("diff", tmp_path / name, whole)
        assert (done.status, len(done.out), done.err) == (0, 1, [])
        assert done.out[0].endswith("4 features, each record")


def test_what_is_found_is_printed_in_lines(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(flower, range(60))), write(tmp_path / "b", [flower(0)] * 60)

    done = run("diff", a, b)

    assert (done.status, done.err) == (1, [])
    assert done.out == str(compare(a, b)).splitlines()
    assert sum(line.startswith("petals ") for line in done.out) == 1


def test_json_is_the_description(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(sequence, range(9))), write(tmp_path / "b", [sequence(2)] * 9)

    done = run("diff", "--json", a, b)

    assert done.status == 1
    assert json.loads(done.out[0]) == json.loads(json.dumps(compare(a, b).describe()))


def test_records_need_not_be_compared(run: Run, tmp_path: Path) -> None:
    rows = [encode_example({"a": i}) for i in range(60)]
    a, b = write(tmp_path / "a", rows), write(tmp_path / "b", rows[::-1])

    assert run("diff", a, b).status == 1
    done = run("diff", "--no-records", a, b)
    assert done.status == 0
    assert done.out[0].endswith("1 feature; records not compared one by one")


def test_thresholds(run: Run, tmp_path: Path) -> None:
    a, b = (write(tmp_path / name, map(flower, range(n))) for name, n in (("a", 60), ("b", 50)))

    done = run("diff", a, b)
    assert done.status == 1
    assert " ".join(done.out[-1].split()).endswith("0.0616 > 0.05")
    assert run("diff", "--threshold", "distance=0.1", a, b).status == 0


def test_damage_is_trouble(run: Run, tmp_path: Path) -> None:
    a = write(tmp_path / "a", [flower(0)] * 9)
    b = damage(write(tmp_path / "b", [flower(0)] * 9), 2000)

    stopped, skipped = run("diff", a, b), run("diff", "--skip-damage", a, b)

    assert (stopped.status, stopped.out, len(stopped.err)) == (2, [], 1)
    assert f"{b}: record 1" in stopped.err[0]
    assert skipped.status == 2
    assert len(skipped.err) == 1
    assert "(9 records) and " in skipped.out[0]


@pytest.mark.parametrize(
    "arguments",
    [*(f"--threshold {given} a a" for given in ("x=1", "range=-1", "range", "range=much")),
     "a none", "none a", "t a"],
)  # fmt: skip
def test_failures_are_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a", [flower(0)])
    write(tmp_path / "t", [b"some text"])

    done = run("diff", *arguments.split())

    assert (done.status, done.out, len(done.err)) == (2, [], 1)


@pytest.mark.full
def test_standard_input(tmp_path: Path) -> None:
    a = write(tmp_path / "a", map(flower, range(60)))
    shell = f"{sys.executable} -m tfrecord_lite diff"

    def shown(arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            ["/bin/sh", "-c", f"cat {a} | {shell} {arguments}"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    assert shown(f"--no-records - {a}")[0] == 0
    status, text = shown(f"--no-records {a} -")
    assert (status, "and <stdin> (60 records): no difference" in text) == (0, True)
    status, text = shown(f"{a} -")
    assert status == 2
    assert "--no-records" in text
    assert shown("- -") == (2, "tfrecord: only one of A and B can be standard input")
