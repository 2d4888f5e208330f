"""``tfrecord sample``."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import write
from tfrecord_lite import TFRecordReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

RECORDS = [b"%03d" % i for i in range(200)]


@pytest.mark.parametrize(
    ("arguments", "count"), [(["-n", "30"], 30), (["-n", "999"], 200), (["--fraction=0.1"], 20)]
)
def test_how_many(run: Run, tmp_path: Path, arguments: list[str], count: int) -> None:
    path = write(tmp_path / "a", RECORDS)

    done = run("sample", "--seed=1", *arguments, path, tmp_path / "x")

    found = list(TFRecordReader(tmp_path / "x"))
    assert found == sorted(set(found) & set(RECORDS))
    assert len(found) == count
    assert done.out == [f"{tmp_path / 'x'}: wrote {count} of 200 records, {3 * count} bytes"]


def test_a_seed_is_drawn_and_told(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", RECORDS)

    (line,) = run("sample", "-n=9", path, tmp_path / "1").out
    run("sample", "-n=9", *line.split("; ")[1].split()[:2], path, tmp_path / "2")

    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_fraction_of_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))

    done = run("sample", "--fraction=0.5", "-", tmp_path / "x")

    assert (done.status, done.out) == (2, [])
    assert done.err[0].startswith("tfrecord: <stdin>: a fraction needs the number of records")
    assert not list(tmp_path.iterdir())
