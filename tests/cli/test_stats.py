"""``tfrecord stats``."""

from __future__ import annotations

import io
import json
import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.cli.samples import damage, flower, odd, sequence, write
from tests.support.corpus import corpus_files
from tfrecord_lite import compute_statistics, encode_example, encode_examples
from tfrecord_lite.cli import main
from tfrecord_lite.statistics import sampling

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done
    from tests.support.corpus import CorpusFile

    Run = Callable[..., Done]


@pytest.mark.parametrize("sample", corpus_files(kind="example"))
def test_json_is_what_is_computed(run: Run, sample: CorpusFile) -> None:
    done = run("stats", "--json", sample.path)

    assert done.status == 0
    expected = compute_statistics(sample.path).describe()
    assert json.loads(done.out[0]) == {**json.loads(json.dumps(expected)), "sample": None}


def test_files_are_one_data_set(run: Run, tmp_path: Path) -> None:
    rows = [{"a": i, "b": [i] * (i % 3)} for i in range(20)]
    write(tmp_path / "0", map(encode_example, rows[:10]))
    write(tmp_path / "1", map(encode_example, rows[10:]), "GZIP")

    (line,) = run("stats", "--json", tmp_path / "*").out

    assert json.loads(line)["features"]["a"]["numbers"]["count"] == 20


def test_what_is_said_of_each_feature(run: Run, tmp_path: Path) -> None:
    numbers = np.array([0, 0, 1, 2, math.nan, math.inf, 3, 4], np.float32)
    rows = {
        "x": numbers,
        "word": [b"a", b"a", b"a", b"\xff\x00", b"b\x1b[31m", b"", b"c", b"d"],
        "some": [[], [1], [], [2, 3], [], [], [], []],
    }
    path = write(tmp_path / "d", encode_examples(rows))

    lines = run("stats", path).out
    text = " ".join(map(str.strip, lines))

    assert lines[0] == "8 records, 3 features"
    assert lines[2].split() == ["name", "kind", "records", "length"]
    for said in (
        "0 .. inf, mean 1.667",
        "quartiles 0 1 2",
        "25.0 % zeros, 12.5 % NaN, 12.5 % infinite",
        "0 .. 6 bytes",
        "6 different, 'a' 37.5 %",
    ):
        assert said in text
    assert text.isprintable()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    run_in = run("stats", path)  # the fixture's own width
    monkeypatch.setenv("COLUMNS", str(width))

    lines = run("stats", path).out

    assert max(map(len, lines)) <= width
    assert " ".join(lines).split() == " ".join(run_in.out).split()


def test_without_utf8_there_are_no_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    shown = []
    for encoding in ("utf-8", "ascii"):
        out = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["stats", "--features", "label,petals", str(path)]) == 0
        shown.append(out.buffer.getvalue().decode(encoding))

    assert "███  0 .. 2" in shown[0]
    assert "    0 .. 2" in shown[1]
    assert shown[1].isascii()


def test_sequences_have_two_tables(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", map(sequence, range(5)))

    lines = run("stats", path).out

    assert [line for line in lines if line.endswith(":")] == ["context:", "feature lists:"]
    assert any(line.split()[3:7] == ["0", "..", "4,", "mean"] for line in lines)


def test_some_features(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [odd()])

    done = run("stats", "--json", "--features", "ratio,zro", path)

    assert done.status == 2
    assert done.err == ["tfrecord: --features: no feature 'zro'; the nearest: 'zero'"]
    assert list(json.loads(done.out[0])["features"]) == ["ratio"]


def test_a_sample(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", map(flower, range(60)))
    whole = run("stats", "--sample", 10, path)
    monkeypatch.setattr(sampling, "draw_sample", partial(sampling.draw_sample, max_bytes=50_000))

    done = run("stats", "--sample", 10, path)
    described: dict[str, Any] = json.loads(run("stats", "--json", "--sample", 10, path).out[0])

    assert whole.out == run("stats", path).out
    assert "10 records, 4 features; records at 2 places, of about " in done.out[0]
    assert described["records"] == 10
    drawn = described["sample"]
    assert drawn["method"] == "records at 2 places"
    assert (drawn["is_whole"], drawn["is_estimate"]) == (False, True)


@pytest.mark.parametrize("how", [["--skip-damage"], ["--sample", "5"]])
def test_damage_is_skipped_and_reported(run: Run, tmp_path: Path, how: list[str]) -> None:
    path = damage(write(tmp_path / "d", [flower(0)] * 9), 2000)

    done = run("stats", *how, path)

    assert done.status == 1
    assert done.out[0] == "8 records, 4 features"
    assert "skipped 1 damaged place" in done.err[0]


def test_damage_ends_a_file(run: Run, tmp_path: Path) -> None:
    path = damage(write(tmp_path / "d", [flower(0)] * 9), 2000)

    done = run("stats", path)

    assert (done.status, done.out[0], len(done.err)) == (1, "1 record, 4 features", 1)


@pytest.mark.parametrize("how", [[], ["--sample", "5"]])
def test_other_records_are_named(run: Run, tmp_path: Path, how: list[str]) -> None:
    path = write(tmp_path / "d", [b"some text"] * 9)

    done = run("stats", *how, path)

    assert (done.status, done.out) == (2, [])
    assert "look like text" in done.err[0]


def test_names_of_nothing_but_terminal_control(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d", [encode_example({"\x1b[2J": 1, "\u202e": b"x\x07"})])

    assert all(line.isprintable() for line in run("stats", path).out)


@pytest.mark.parametrize("how", [[], ["--sample", "5"]])
def test_a_missing_file(run: Run, tmp_path: Path, how: list[str]) -> None:
    done = run("stats", *how, tmp_path / "none")

    assert (done.status, done.out) == (2, [])
    assert done.err == [f"tfrecord: {tmp_path / 'none'}: No such file or directory"]
