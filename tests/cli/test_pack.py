"""``tfrecord pack``: what it prints, and its exit statuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.samples import draw_images
from tfrecord_lite import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

pytestmark = pytest.mark.needs("image")


@pytest.fixture(autouse=True)
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw_images(tmp_path / "photos")


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def test_what_cannot_be_packed_is_listed(run: Run) -> None:
    done = run("pack", "photos", "a@2.tfrecord")

    assert done.status == 1
    assert done.out == [
        "photos/rose/cut.png: the png image is damaged (cut off before its end)",
        "photos: left out 1 image, 1 other file",
        "a@2.tfrecord: wrote 5 images of 2 classes, 350 bytes in 2 files",
    ]
    assert names() == [
        "a-00000-of-00002.tfrecord",
        "a-00000-of-00002.tfrecord.schema.json",
        "a-00001-of-00002.tfrecord",
        "a-00001-of-00002.tfrecord.schema.json",
        "labels.txt",
        "photos",
    ]


def test_sound_images(run: Run) -> None:
    Path("photos/rose/cut.png").unlink()
    Path("photos/notes.txt").unlink()

    done = run("pack", "--strict", "photos", "a")

    assert done == (0, ["a: wrote 5 images of 2 classes, 350 bytes"], [])


@pytest.mark.needs("arrow")
def test_the_options(run: Run) -> None:
    Path("list.csv").write_text("img,kind,a,b\nphotos/rose/0.png,rose,1,2\n")
    Path("names.txt").write_text("tulip\nrose\n")
    arguments = "--path-column img --label-column kind --columns b --label-offset 1 --jobs 1"
    arguments += " --labels names.txt --no-check --no-shuffle --seed 3 --num-shards 2"

    assert run("pack", *arguments.split(), "list.csv", "a.tfrecord.gz").status == 0

    columns: Any = load("a@2.tfrecord.gz")
    assert columns["image/class/label"].tolist() == [2]
    assert columns["b"].tolist() == [2]
    assert "a" not in columns
    assert run("pack", "--root", "photos/rose", "list.csv", "b").status == 1
    assert (
        run("pack", "--bytes-per-shard", "1K", "photos", "c", "--overwrite")
        .out[-1]
        .startswith("c: ")
    )
