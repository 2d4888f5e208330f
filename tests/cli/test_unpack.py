"""``tfrecord unpack``: what it prints, and its exit statuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import tiny_png, write
from tests.support.corpus import corpus_path
from tfrecord_lite import encode_example

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "image/encoded": tiny_png(i),
            "image/filename": f"{i}.png",
            "image/class/text": "rose",
            "box": [0.5, 1.0],
        }
        for i in range(4)
    ]
    write(tmp_path / "a", map(encode_example, rows))


def test_what_is_written(run: Run) -> None:
    done = run("unpack", "a", "out")

    assert done.status == 0
    assert done.out == [
        "out/manifest.csv: left out box",
        f"out: wrote 4 images of 1 class, {sum(len(tiny_png(i)) for i in range(4))} bytes",
    ]
    assert Path("out/rose/2.png").read_bytes() == tiny_png(2)
    assert run("unpack", "--manifest", "m.jsonl", "a", "lists").out[0].startswith("lists: wrote")


def test_the_keys(run: Run, tmp_path: Path) -> None:
    row = {"a": tiny_png(0), "b": "n", "c": 5, "d": "k", "e": "png"}
    write(tmp_path / "b", [encode_example(row)])
    keys = zip(["image", "filename", "label", "text", "format"], "abcde", strict=True)

    done = run("unpack", *(f"--{name}-key={key}" for name, key in keys), "b", "out")

    assert done.status == 0
    assert Path("out/k/n.png").exists()


def test_a_file_of_the_object_detection_api(run: Run) -> None:
    folder = corpus_path()
    if folder is None:
        pytest.skip("no sample corpus")
    (path,) = folder.glob("files/*/tests/assets/tf_detection_api_dataset/train.tfrecord")

    done = run("unpack", "--manifest", "m.jsonl", path, "out")

    assert done.status == 0
    written = [path for path in Path("out").iterdir() if path.name != "m.jsonl"]
    assert len(written) == len(Path("out/m.jsonl").read_text().splitlines())
