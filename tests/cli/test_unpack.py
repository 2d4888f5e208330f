"""``tfrecord unpack``: what it prints, and its exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import damage, tiny_png, write
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


def test_as_json(run: Run) -> None:
    (summary,) = map(json.loads, run("unpack", "--json", "a", "out").out)

    assert summary.pop("seconds") >= 0
    assert summary == {
        "output": "out",
        "manifest": "out/manifest.csv",
        "images": 4,
        "image_bytes": sum(len(tiny_png(i)) for i in range(4)),
        "classes": ["rose"],
        "problems": 0,
        "left_out": ["box"],
    }


def test_a_damaged_file(run: Run) -> None:
    damage(Path("a"), 40)

    done = run("unpack", "a", "out")

    assert (done.status, done.out) == (1, [])
    assert done.err[0].startswith("tfrecord: a: record 0, byte 0: data CRC mismatch")
    assert not Path("out").exists()
    done = run("unpack", "--skip-damage", "a", "out")
    assert (done.status, done.err) == (1, [])
    assert done.out[0].startswith("skipped 1 damaged place")
    assert done.out[-1].startswith("out: wrote 3 images")


def test_records_without_an_image(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "b", [encode_example({"x": 1}), encode_example({"image/encoded": tiny_png(0)})]
    )

    done = run("unpack", "b", "out")
    assert done.status == 1
    assert "b: record 0" in done.err[0]
    done = run("unpack", "--skip-damage", "b", "out")
    assert done.status == 1
    assert done.out[0] == "b: record 0: the feature 'image/encoded' is missing"
    assert run("unpack", "--image-key", "x", "--skip-damage", "a", "c").status == 2


@pytest.mark.parametrize("skip", [[], ["--skip-damage"]])
def test_a_file_without_images(run: Run, tmp_path: Path, skip: list[str]) -> None:
    write(tmp_path / "b", [encode_example({"de": "eins", "en": "one"})] * 3)

    done = run("unpack", *skip, "b", "out")

    text = "no image in 3 records; in the first the feature 'image/encoded' is missing"
    line = f"tfrecord: b: {text}; give image_key, one of: 'de', 'en'"
    assert done == (2, [], [line])
    assert not Path("out").exists()


def test_the_keys(run: Run, tmp_path: Path) -> None:
    row = {"a": tiny_png(0), "b": "n", "c": 5, "d": "k", "e": "png"}
    write(tmp_path / "b", [encode_example(row)])
    keys = zip(["image", "filename", "label", "text", "format"], "abcde", strict=True)

    done = run("unpack", *(f"--{name}-key={key}" for name, key in keys), "b", "out")

    assert done.status == 0
    assert Path("out/k/n.png").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["missing", "out"], "missing: No such file or directory"),
        (["a", "missing/out"], "missing/out: No such file or directory"),
        (["a", "."], "not empty"),
        (["a", "a"], "a: File exists"),
        (["--manifest", "x", "a", "out"], "expected the name of a .csv or .jsonl file"),
        (["--max-record-bytes", "2", "a", "out"], "max_record_bytes"),
    ],
)
def test_failures_are_one_line(run: Run, arguments: list[str], text: str) -> None:
    done = run("unpack", *arguments)

    (line,) = done.err
    assert done.status == 2 or "max_" in text
    assert text in line
    assert [path.name for path in Path().iterdir()] == ["a"]


def test_a_file_of_the_object_detection_api(run: Run) -> None:
    folder = corpus_path()
    if folder is None:
        pytest.skip("no sample corpus")
    (path,) = folder.glob("files/*/tests/assets/tf_detection_api_dataset/train.tfrecord")

    done = run("unpack", "--manifest", "m.jsonl", path, "out")

    assert done.status == 0
    written = [path for path in Path("out").iterdir() if path.name != "m.jsonl"]
    assert len(written) == len(Path("out/m.jsonl").read_text().splitlines())
