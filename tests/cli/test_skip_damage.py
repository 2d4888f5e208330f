"""``--skip-damage``: the verbs that read records go on, and say what was lost."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.cli.samples import damage, flower, write
from tfrecord_lite import TFRecordReader, save
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


def test_records_have_the_numbers_that_verify_gives_them(run: Run, path: Path) -> None:
    done = run("cat", "--skip-damage", path)

    numbers = [int(n) for n in re.findall(r"^record (\d+):", "\n".join(done.out), re.MULTILINE)]
    assert numbers == [0, 1, 3, 4, 5, 7, 8, 9]


def test_json_has_every_intact_record(run: Run, path: Path) -> None:
    done = run("cat", "--json", "--skip-damage", path)

    assert len(done.out) == len(list(TFRecordReader(path, on_error=str))) == 8
    assert all(json.loads(line)["label"] == [0] for line in done.out)


def test_head_looks_no_further_than_asked(run: Run, path: Path) -> None:
    assert run("head", "-n", 2, "--skip-damage", path).status == 0
    done = run("head", "-n", 3, "--skip-damage", path)

    assert [line[:9] for line in done.out if line.startswith("record ")] == [
        "record 0:",
        "record 1:",
        "record 3:",
    ]
    assert done.status == 1


def test_info_counts_what_is_intact_and_marks_the_file(run: Run, path: Path) -> None:
    (found,) = map(json.loads, run("info", "--json", "--skip-damage", path).out)
    page = run("info", "--skip-damage", path).out

    assert found["records"] == 8
    assert found["record_bytes"] == 8 * len(flower(0))
    assert (found["damage"]["index"], found["damage"]["reason"]) == (2, "DATA_CRC")
    assert page[1] == "  records       8 (intact)"
    assert run("info", "--skip-damage", path, path).out[1].endswith(f"{path} (DAMAGED)")


def test_schema_is_that_of_the_intact_records(run: Run, path: Path) -> None:
    assert run("schema", "--skip-damage", path).out[0] == "8 records, 4 features"


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
