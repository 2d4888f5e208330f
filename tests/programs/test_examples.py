"""The examples do what they say, run as a user would run them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfrecord_lite import TFRecordReader, TFRecordWriter
from tfrecord_lite.apps.images import decode_image, encode_image, image_row

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "engine_parquet.py")
"""All but that on engines, which tests/engines runs."""


def run(program: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run an example, which has to end with an exit status, and never with a traceback."""
    command = [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLES / program)]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    return done


PRINTED: dict[str, list[str]] = {
    "dictionaries.py": ["Read 2 Examples and 2 SequenceExamples"],
    "feature_store.py": [
        "raw records: [b'Record A', b'Record B']",
        "2000 rows in 2 epochs",
        "-2.000 x float_col\n  +3.000 x int_col\n  +1.000 x 1",
    ],
    "image_bytes.py": ["label 0: uint8 of shape (12, 24, 3)\nlabel 1: uint8 of shape (6, 30, 1)"],
    "image_folder.py": [
        "packed 6 images of 2 classes",
        "skipped 2",
        "every image is unchanged, byte for byte",
    ],
    "imagenet_pipeline.py": ["train: 18 files", "labels [0, 1, 2, 3]", "validate: 2 files"],
    "sequences.py": ["Every sequence is equal to the one written."],
    "super_serial.py": [
        "1,000 samples were restored",
        "a tuple was restored as a tuple",
        "a file of Super Serial's was read by its header",
    ],
    "tensor_features.py": ["enum     <Size.LARGE: 2>          -> int64_list [2]", "-> the same"],
    "train_torch.py": ["1797 records, 64 numbers each, 10 classes"],
}
"""What each prints when it is given nothing."""
NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("dictionaries.py", "feature_store.py", "sequences.py", "tensor_features.py"), ()
    ),
    **dict.fromkeys(("image_bytes.py", "imagenet_pipeline.py"), ("image",)),
    "image_folder.py": ("arrow", "image"),
    "super_serial.py": ("yaml",),
}
"""What each needs if that is less than the extra "examples"."""
QUICK = ("sequences.py", "super_serial.py")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            name,
            marks=[
                pytest.mark.needs(*NEEDS.get(name, ("examples",))),
                *([] if name in QUICK else [pytest.mark.slow]),
            ],
        )
        for name in PROGRAMS
    ],
)
def test_each_runs_and_is_told_of_in_the_documentation(program: str) -> None:
    printed = run(program).stdout
    assert [text for text in PRINTED[program] if text not in printed] == []
    assert "usage:" in run(program, "--help").stdout
    page = (EXAMPLES.parent / "docs" / "tutorial" / "programs.md").read_text(encoding="utf-8")
    assert f"examples/{program}" in page


def test_a_library_that_is_missing_is_named() -> None:
    block = "import runpy, sys; sys.modules['sklearn'] = None; sys.argv[1:] = []"
    program = f"{block}; runpy.run_path({str(EXAMPLES / 'train_torch.py')!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "sklearn" in done.stderr
    assert "pip install '.[examples]'\n" in done.stderr


@pytest.mark.needs("image")
@pytest.mark.slow
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
    ):
        assert text in run("imagenet_pipeline.py", *arguments, code=1).stderr


@pytest.mark.needs("image")
@pytest.mark.slow
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


@pytest.mark.slow
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
    assert len(inside) == 3
    assert len(written) == 4


@pytest.mark.slow
def test_tensors_of_ones_own(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.zeros((3, 0, 2), np.int8))
    assert "mine     int8 (3, 0, 2)" in run("tensor_features.py", tmp_path / "mine.npy").stdout
    (tmp_path / "bad.npy").write_bytes(b"no array")
    for name in ("bad.npy", "absent.npy"):
        run("tensor_features.py", tmp_path / name, code=1)


@pytest.mark.slow
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
    run("feature_store.py", "--csv", tmp_path / "absent.csv", code=1)
