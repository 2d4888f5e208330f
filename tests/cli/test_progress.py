"""Bars of the verbs, on a terminal that is real."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import terminal
from tests.support.extras import is_installed
from tfrecord_lite import save

pytestmark = pytest.mark.needs("cli")

RUN = """
import sys
from tfrecord_lite.cli import main
from tfrecord_lite import progress
progress.DELAY_SECONDS = progress.INTERVAL_SECONDS = 0
sys.exit(main(sys.argv[1:]))
"""
VERBS: dict[str, list[str]] = {
    "info": ["a"], "stats": ["a"], "view": ["a", "-o", "page.html"], "schema": ["a"],
    "verify": ["a"], "recover": ["a", "new"], "index": ["a"], "merge": ["a", "new"],
    "split": ["--num-shards", "2", "a", "new"], "unique": ["a", "new"], "shuffle": ["a", "new"],
    "sample": ["-n", "9", "a", "new"], "filter": ["--where", "n > 3", "a", "new"],
    "convert": ["a", "new.parquet"], "unpack": ["images", "out"], "pack": ["folder", "new"],
}  # fmt: skip
NEEDED = {"filter": "sql", "view": "view", "convert": "arrow", "pack": "image", "unpack": "image"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(1)
    save(tmp_path / "a", {"x": rng.random((3000, 300)).astype(np.float32), "n": np.arange(3000)})
    save(tmp_path / "b", {"x": rng.random((3000, 300)).astype(np.float32), "n": np.arange(3000)})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_images(folder: Path) -> None:
    from tfrecord_lite.apps.images import encode_image

    (folder / "folder" / "cat").mkdir(parents=True)
    for i in range(30):
        picture = encode_image(np.zeros((4, 6), np.uint8))
        (folder / "folder" / "cat" / f"{i}.png").write_bytes(picture)
    rows = {"image/encoded": [picture] * 3000, "image/format": [b"png"] * 3000}
    save(folder / "images", rows)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_long_work_shows_rate_and_time_left_and_then_nothing(folder: Path, verb: str) -> None:
    if verb in NEEDED and not is_installed(NEEDED[verb]):
        pytest.skip("needs an extra")
    if verb in ("pack", "unpack"):
        add_images(folder)
    shown = terminal.on_terminal("-c", RUN, verb, *VERBS[verb])
    assert shown.status == 0, shown.text
    assert "/s]" in shown.text
    if verb not in ("convert", "unpack"):  # which do not know how many there are
        assert "%|" in shown.text
        assert "<" in shown.text
    assert not [line for line in terminal.screen(shown.text) if "%|" in line or "/s]" in line]
    assert "".join(terminal.screen(shown.text))


@pytest.mark.slow
def test_lines_that_are_printed_meanwhile_stay_whole(folder: Path) -> None:
    data = (folder / "a").read_bytes()
    half = len(data) // 2
    for i in range(9):
        (folder / f"bad{i}").write_bytes(data[:half] + b"damage" + data[half:])
    for verb, *more in (["verify", "--jobs", "2"], ["index"], ["info", "--json"]):
        shown = terminal.on_terminal(
            "-c", RUN, verb, *more, *(f"bad{i}" for i in range(9)), "a", "b"
        )
        lines = [line for line in terminal.screen(shown.text) if line]
        assert "%|" in shown.text
        starts = ("bad", "a", "b", "total of", "tfrecord: bad", '{"file": "', "  ")
        assert len(lines) >= 11, lines
        assert all(line.startswith(starts) for line in lines), lines
        assert not [line for line in lines if "%|" in line or "/s]" in line]


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TQDM_DISABLE": "1"}])
def test_it_can_be_switched_off(folder: Path, variables: Any) -> None:  # noqa: ARG001
    shown = terminal.on_terminal("-c", RUN, "verify", "a", **variables)
    assert shown.text.startswith("a: ok: 3,000 intact records")
