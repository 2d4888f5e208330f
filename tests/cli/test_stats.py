"""``tfrecord stats``."""

from __future__ import annotations

import io
import json
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import damage, flower, write
from tests.support.corpus import corpus_files
from tfrecord_lite import encode_examples
from tfrecord_lite.apps.statistics import compute_statistics, sampling
from tfrecord_lite.cli import main

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


@pytest.mark.parametrize(
    ("width", "missing"),
    [
        (120, set()),
        (100, set()),
        (80, {"std"}),
        (70, {"std", "histogram"}),
        (60, {"std", "histogram", "median"}),
        (50, {"std", "histogram", "median", "mean", "zeros"}),
    ],
)
def test_lines_fit_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, missing: set[str]
) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    wide = run("stats", path).out[2].split()
    monkeypatch.setenv("COLUMNS", str(width))

    lines = run("stats", path).out

    assert max(map(len, lines)) <= width
    assert set(wide) - set(lines[2].split()) == missing
    assert "petals" in " ".join(lines)


def test_columns_are_aligned_and_numbers_alike(run: Run, tmp_path: Path) -> None:
    numbers = {"a": [49_999, 1, 3], "b": [1.5, 49_900.25, 2.0], "c": [2**62, 5, 2**61]}
    path = write(tmp_path / "d", encode_examples(numbers))

    lines = run("stats", path).out[2:]

    ends = {line.split()[0]: [end.end() for end in re.finditer(r"\S+", line)] for line in lines}
    assert len({tuple(row[5:9]) for row in ends.values()}) == 1
    columns = dict(zip(lines[0].split(), zip(*map(str.split, lines[1:]), strict=True), strict=True))
    assert columns["max"] == ("49,999", "49,900", "4.612e+18")
    assert columns["mean"] == ("16,668", "16,635", "2.306e+18")


def test_a_few_strings_are_shown_even_once(run: Run, tmp_path: Path) -> None:
    one = write(tmp_path / "one", encode_examples({"format": [b"jpeg"]}))
    many = write(tmp_path / "many", encode_examples({"id": [b"%d" % i for i in range(9)]}))

    assert run("stats", one).out[-1] == "    4 bytes, text, 1 different, 'jpeg' 100 %"
    assert run("stats", many).out[-1] == "    1 byte, text, 9 different"


def test_without_utf8_there_are_no_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", [*map(flower, range(60))])
    shown = []
    for encoding in ("utf-8", "ascii"):
        out = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["stats", "--columns", "label,petals", str(path)]) == 0
        shown.append(out.buffer.getvalue().decode(encoding))

    assert "███" in shown[0]
    assert "histogram" not in shown[1]
    assert shown[1].isascii()


def test_a_sample(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d", map(flower, range(60)))
    whole = run("stats", "--sample", 10, path)
    monkeypatch.setattr(sampling, "draw_sample", partial(sampling.draw_sample, max_bytes=50_000))

    done = run("stats", "--sample", 10, path)
    described: dict[str, Any] = json.loads(run("stats", "--json", "--sample", 10, path).out[0])

    assert whole.out == run("stats", path).out
    assert "10 records, 4 features; records at 2 places" in done.out[0]
    assert described["records"] == 10
    drawn = described["sample"]
    assert drawn["method"] == "records at 2 places"
    assert (drawn["is_whole"], drawn["total_records"]) == (False, None)


SOUND = [flower(i) for i in range(12)]


@pytest.mark.parametrize("how", [[], ["--sample", "50"]])
@pytest.mark.parametrize(
    ("records", "options", "expected"),
    [
        ([*SOUND[:7], b"\x0a\xff", *SOUND[7:]], [], (2, "7 records, 4 features", "record 7")),
        (
            [*SOUND[:7], b"\x0a\xff", b"\x0a\xff", *SOUND[7:]],
            ["--skip-damage"],
            (2, "12 records, 4 features", "left out 2 malformed records; the first: "),
        ),
        (None, ["--skip-damage"], (1, "8 records, 4 features", "skipped 1 damaged place")),
        (None, ["--columns=zro", "--skip-damage"], (2, None, "no feature 'zro'")),
        ([], [], (2, None, "No such file or directory")),
    ],
)
def test_what_is_wrong_is_told(
    run: Run,
    tmp_path: Path,
    how: list[str],
    records: list[bytes] | None,
    options: list[str],
    expected: tuple[int, str | None, str],
) -> None:
    path = tmp_path / "none"
    if records is None:
        path = damage(write(tmp_path / "d", [flower(0)] * 9), 2000)
    elif records:
        path = write(tmp_path / "d", records)

    done = run("stats", *how, *options, path)

    status, first, text = expected
    assert done.status == status
    assert done.out[:1] == ([] if first is None else [first])
    assert text in " ".join(done.err)
