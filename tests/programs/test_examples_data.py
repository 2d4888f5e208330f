"""The examples about whole data sets do what they say, run as a user would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.effort import some
from tfrecord_lite import TFRecordReader, TFRecordWriter
from tfrecord_lite.apps.images import decode_image, encode_image, image_row

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if "_parquet" not in path.name)
"""Those of engines are run in tests/engines, by the engines, and told of in docs/how-to/big-jobs.md."""


def run(program: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run an example, which has to end with an exit status, and never with a traceback."""
    command = [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLES / program)]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("program", some(2, PROGRAMS))
def test_each_says_what_it_takes(program: str) -> None:
    assert "usage:" in run(program, "--help").stdout


@pytest.mark.needs("examples")
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_runs_with_the_extra_examples(program: str) -> None:
    """In .ci/run the environment has no other."""
    done = run(program)

    assert done.stdout
    assert "not installed" not in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_is_told_of_in_the_documentation(program: str) -> None:
    page = (EXAMPLES.parent / "docs" / "tutorial" / "programs.md").read_text(encoding="utf-8")

    assert f"examples/{program}" in page


# ------------------------------------------------------------------------ image pipelines


@pytest.mark.needs("image")
def test_an_image_pipeline_splits_reads_and_decodes() -> None:
    done = run("imagenet_pipeline.py", "--size", 16)

    assert "train: 18 files" in done.stdout
    assert "180 images, the last batch float32 of shape (20, 16, 16, 3)" in done.stdout
    assert "labels [0, 1, 2, 3]" in done.stdout
    assert "validate: 2 files" in done.stdout


@pytest.mark.needs("image")
@pytest.mark.full
def test_an_image_pipeline_takes_files_and_says_what_is_wrong_with_them(tmp_path: Path) -> None:
    for i in range(2):
        with TFRecordWriter(tmp_path / f"good-{i}") as writer:
            writer.write_example(image_row(np.full((3, 4, 3), 200, np.uint8)))
    with TFRecordWriter(tmp_path / "bad") as writer:
        writer.write_example({"image/encoded": b"not an image"})

    done = run("imagenet_pipeline.py", tmp_path / "good-*", "--unlabelled", "--size", 8)
    assert done.stdout.count("1 images, the last batch float32 of shape (1, 8, 8, 3)") == 2
    for arguments, text in (
        ([tmp_path / "good-*"], "image/class/label"),
        ([tmp_path / "bad", "--unlabelled"], "not an image"),
        ([tmp_path / "absent-*"], "absent-"),
        ([tmp_path / "good-*", "--batch", 0, "--unlabelled"], "batch_size"),
    ):
        assert text in run("imagenet_pipeline.py", *arguments, code=1).stderr


@pytest.mark.needs("image")
@pytest.mark.parametrize("n_files", [1, 2])
def test_an_image_pipeline_says_that_files_are_empty(tmp_path: Path, n_files: int) -> None:
    names = [tmp_path / f"empty-{i}" for i in range(n_files)]
    for name in names:
        name.write_bytes(b"")

    error = run("imagenet_pipeline.py", *names, "--size", 8, code=1).stderr

    assert "no records" in error
    assert str(names[0]) in error
    assert len(error.splitlines()) == 1


@pytest.mark.needs("image")
def test_a_folder_of_images_comes_back() -> None:
    done = run("image_folder.py")

    assert "packed 6 images of 2 classes" in done.stdout
    assert "skipped 2" in done.stdout
    assert "absent.png" in done.stderr
    assert "broken.jpeg" in done.stderr
    assert "every image is unchanged, byte for byte" in done.stdout


@pytest.mark.needs("image")
@pytest.mark.full
def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    for label, shade in (("cats", 10), ("dogs", 200)):
        (tmp_path / "in" / label).mkdir(parents=True)
        image = np.full((4, 4, 3), shade, np.uint8)
        (tmp_path / "in" / label / "a.png").write_bytes(encode_image(image))

    run("image_folder.py", "pack", tmp_path / "in", tmp_path / "out@1.tfrecord")
    rows = list(TFRecordReader(tmp_path / "out-*.tfrecord").examples())
    assert [row["image/class/label"].tolist() for row in rows] == [[0], [1]]
    run("image_folder.py", "unpack", tmp_path / "out-*.tfrecord", tmp_path / "back")
    again = ("unpack", tmp_path / "out-*.tfrecord", tmp_path / "back")
    assert "the folder is not empty" in run("image_folder.py", *again, code=1).stderr

    for label, shade in (("cats", 10), ("dogs", 200)):
        assert decode_image((tmp_path / "back" / label / "a.png").read_bytes())[0, 0, 0] == shade


@pytest.mark.needs("image")
def test_records_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    content = encode_image(np.zeros((4, 4, 3), np.uint8))
    with TFRecordWriter(tmp_path / "x") as writer:
        for name, label in (("../../evil", ".."), ("/etc/evil", "a/../.."), ("..\\evil", ".")):
            text = {"image/filename": name, "image/class/text": label}
            writer.write_example({"image/encoded": content, **text})

    (tmp_path / "to").mkdir()
    run("image_folder.py", "unpack", tmp_path / "x", tmp_path / "to" / "folder")

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    inside = [path for path in written if (tmp_path / "to" / "folder") in path.parents]
    assert len(inside) == 4  # with the list of them
    assert len(written) == 5


@pytest.mark.full
@pytest.mark.needs("image")
def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed" / "labels.csv").write_text("one,two,three\n")

    for folder, text in (("absent", "No such file"), ("empty", "no image"), ("listed", "three")):
        done = run("image_folder.py", "pack", tmp_path / folder, tmp_path / "x", code=1)
        assert text in done.stderr


# ------------------------------------------------------------------------- values and tables


@pytest.mark.full
def test_values_go_to_lists_and_tensors_come_back(tmp_path: Path) -> None:
    done = run("tensor_features.py")
    assert "enum     <Size.LARGE: 2>          -> int64_list [2]" in done.stdout
    assert done.stdout.count("-> the same") == 3

    np.save(tmp_path / "mine.npy", np.zeros((3, 0, 2), np.int8))
    assert "mine     int8 (3, 0, 2)" in run("tensor_features.py", tmp_path / "mine.npy").stdout
    (tmp_path / "bad.npy").write_bytes(b"no array")
    for name in ("bad.npy", "absent.npy"):
        run("tensor_features.py", tmp_path / name, code=1)


def test_a_table_is_stored_read_and_learnt(tmp_path: Path) -> None:
    done = run("feature_store.py", "--output", tmp_path / "new")

    assert "raw records: [b'Record A', b'Record B']" in done.stdout
    assert "2000 rows in 2 epochs" in done.stdout
    assert "-2.000 x float_col\n  +3.000 x int_col\n  +1.000 x 1" in done.stdout
    assert len(list((tmp_path / "new").glob("part-*.tfrecord.gz"))) == 3


@pytest.mark.full
def test_a_table_of_ones_own(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    lines = [f"{i},{'even' if i % 2 == 0 else ''},{5 * i - 2}" for i in range(30)]
    table.write_text("\n".join(["x,kind,y", *lines]) + "\n")

    done = run("feature_store.py", "--csv", table, "--label", "y")
    assert "+5.000 x x\n  -2.000 x 1\nexplains 100.0 %" in done.stdout
    table.write_text("x,y\n1,2\nfour,5\n")
    assert (
        "'x' is a number in some rows"
        in run("feature_store.py", "--csv", table, "--label", "y", code=1).stderr
    )
    for label, content in (("z", "x,y\n1,2\n"), ("y", "x,y\n1,two\n"), ("y", "x,y\n")):
        table.write_text(content)
        assert (
            str(table) in run("feature_store.py", "--csv", table, "--label", label, code=1).stderr
        )
    run("feature_store.py", "--csv", tmp_path / "absent.csv", code=1)


# ------------------------------------------------------------------------------- devices


def test_jax_is_asked_for_politely() -> None:
    done = run("jax_batches.py")

    assert "jax is not installed" in done.stdout or "sum of n: 45,000.0" in done.stdout
