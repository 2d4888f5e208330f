"""``--skip-damage``: the verbs that read records go on, and say what was lost."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.cli.samples import damage, flower, write
from tfrecord_lite import save
from tfrecord_lite.records.framing import frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

VERBS = ["info", "head", "cat", "schema"]
SIZE = len(flower(0)) + 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file of 10 records, of which number 2 and number 6 are damaged."""
    file = write(tmp_path / "damaged", [flower(0)] * 10)
    return damage(file, 2 * SIZE + 20, 6 * SIZE + 2)


@pytest.mark.parametrize("verb", VERBS)
def test_one_line_says_what_was_lost(run: Run, tmp_path: Path, path: Path, verb: str) -> None:
    intact = write(tmp_path / "intact", [flower(1)])

    done = run(verb, "--skip-damage", *["-n", 99] * (verb == "head"), path, intact)

    assert done.status == 1
    (line,) = done.err
    assert line.startswith(
        f"tfrecord: skipped 2 damaged places ({2 * SIZE:,} bytes) in 1 of 2 files, "
    )
    assert "and read 9 records; the first: " in line


@pytest.mark.parametrize("verb", VERBS)
def test_sound_files_are_read_as_ever(run: Run, tmp_path: Path, verb: str) -> None:
    intact = write(tmp_path / "intact", [flower(1)] * 5)

    assert run(verb, "--skip-damage", intact) == run(verb, intact)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_damage_is_said_as_ever(run: Run, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(frame([flower(0)]) + b"damage" + frame([flower(1)] * 1000)))

    done = run(
        verb, "--skip-damage", "--max-inflated-bytes", 20_000, *["-n", 99] * (verb == "head"), path
    )

    assert done.status == 2
    assert any("max_inflated_bytes" in line for line in done.err)
    assert any("skipped" in line for line in done.err)
    assert run(verb, "--skip-damage", tmp_path / "missing").status == 2


@pytest.mark.needs("arrow")
@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    save(path, {"x": np.arange(5000) / 10})
    path.write_bytes(path.read_bytes()[:-30])

    done = run("convert", "--skip-damage", path, tmp_path / "a.csv")

    assert (done.status, len(done.err)) == (1, 2)
    text = "not the bytes that its sidecar was written for, which is used all the same"
    assert done.err[0] == f"tfrecord: {path}: {text}"
