"""``tfrecord pack`` and ``unpack``."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.samples import draw_images, tiny_png, write
from tfrecord_lite import encode_example, load


@pytest.mark.needs("image")
@pytest.mark.needs("arrow")
def test_the_options(run: Run) -> None:
    Path("list.csv").write_text("img,kind,a,b\nphotos/rose/0.png,rose,1,2\n")
    Path("names.txt").write_text("tulip\nrose\n")
    arguments = "--path-column img --label-column kind --jobs 1"
    arguments += " --labels names.txt --no-check --no-shuffle --seed 3 --num-shards 2"
    assert run("pack", *arguments.split(), "list.csv", "a.tfrecord.gz").status == 0
    columns: Any = load("a@2.tfrecord.gz")
    assert columns["image/class/label"].tolist() == [1]
    assert columns["b"].tolist() == [2]
    assert run("pack", "--root", "x", "--path-column", "img", "list.csv", "b").status == 1
    assert run("pack", "photos", "c", "--overwrite").out[-1].startswith("c: ")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw_images(tmp_path / "photos")


def test_a_key_that_no_record_has(run: Run) -> None:
    write(Path("b"), [encode_example({"image": tiny_png(0), "label": 1})])
    done = run("unpack", "--label-key=lable", "b", "out")
    detail = "--label-key: no record has a feature 'lable'; the nearest: 'label'"
    assert (done.status, done.err, Path("out").exists()) == (
        2,
        [f"tfrecord: unpack: {detail}"],
        False,
    )


def test_the_keys(run: Run, tmp_path: Path) -> None:
    row = {"a": tiny_png(0), "b": "n", "c": 5, "d": "k"}
    write(tmp_path / "b", [encode_example(row)])
    keys = zip(["image", "filename", "label", "text"], "abcd", strict=True)
    done = run("unpack", *(f"--{name}-key={key}" for name, key in keys), "b", "out")
    assert done.status == 0
    assert Path("out/k/n.png").exists()
