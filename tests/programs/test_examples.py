"""The examples do what they say, run as a user would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfrecord_lite import TFRecordReader
from tfrecord_lite.apps.images import encode_image
from tfrecord_lite.messages import Example

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits.py"
IMAGE_BYTES = DIGITS.with_name("image_bytes.py")


def run_digits(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::ResourceWarning", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.needs("examples")
def test_digits_writes_shards_and_reads_them_back(tmp_path: Path) -> None:
    done = run_digits(str(DIGITS), "--output", str(tmp_path / "new"))

    assert done.returncode == 0, done.stderr
    assert "every image equals its original" in done.stdout
    paths = sorted((tmp_path / "new").iterdir())
    assert [path.name for path in paths] == [
        f"digits-{shard:05d}-of-00004.tfrecord.gz" for shard in range(4)
    ]
    records = list(TFRecordReader(paths, "GZIP"))
    assert len(records) == 1797
    assert list(Example.FromString(records[0]).features.feature["shape"].int64_list.value) == [8, 8]


@pytest.mark.needs("examples")
def test_digits_needs_no_folder() -> None:
    done = run_digits(str(DIGITS))

    assert done.returncode == 0, done.stderr
    assert "1,797" in done.stdout


def test_digits_says_how_to_install_what_is_missing(tmp_path: Path) -> None:
    block = f"import runpy, sys; sys.modules['sklearn'] = None; sys.argv[1:] = ['--output', {str(tmp_path)!r}]"
    done = run_digits("-c", f"{block}; runpy.run_path({str(DIGITS)!r}, run_name='__main__')")

    assert done.returncode == 1
    assert done.stderr == "This example needs scikit-learn: pip install '.[examples]'\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("image")
def test_image_bytes_come_back_in_their_shapes(tmp_path: Path) -> None:
    path = tmp_path / "images.tfrecord"
    done = run_digits(str(IMAGE_BYTES), "--output", str(path))

    assert done.returncode == 0, done.stderr
    assert "label 0: uint8 of shape (12, 24, 3)\nlabel 1: uint8 of shape (6, 30, 1)" in done.stdout
    features = [Example.FromString(record).features.feature for record in TFRecordReader(path)]
    assert [len(feature["image"].bytes_list.value[0]) for feature in features] == [864, 180]
    assert features[1]["shape"].bytes_list.value[0] == bytes([6, 0, 0, 0, 30, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.full
@pytest.mark.needs("image")
def test_image_bytes_takes_files_and_says_what_is_missing_or_no_image(tmp_path: Path) -> None:
    good, bad, absent = tmp_path / "good.png", tmp_path / "bad.png", tmp_path / "absent.png"
    good.write_bytes(encode_image(np.full((3, 4), 200, np.uint8)))
    bad.write_bytes(b"no image")

    done = run_digits(str(IMAGE_BYTES), str(good))
    assert done.returncode == 0, done.stderr
    assert "label 0: uint8 of shape (3, 4, 1)" in done.stdout
    for path, text in ((bad, "8 bytes are not an image"), (absent, "absent.png")):
        done = run_digits(str(IMAGE_BYTES), str(path))
        assert done.returncode == 1
        assert text in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.needs("yaml")
def test_super_serial_saves_and_loads_everything(tmp_path: Path) -> None:
    program = DIGITS.parent / "super_serial.py"

    done = run_digits(str(program), "--output", str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert "1,000 samples were restored" in done.stdout
    assert "a tuple was restored as a tuple" in done.stdout
    assert "a file of Super Serial's was read by its header" in done.stdout
    assert (tmp_path / "samples.tfrecord.schema.json").is_file()
    assert len(list(TFRecordReader(tmp_path / "samples.tfrecord"))) == 1000


SEQUENCES = DIGITS.with_name("sequences.py")
DICTIONARIES = DIGITS.with_name("dictionaries.py")


def test_sequences_are_written_and_read_back(tmp_path: Path) -> None:
    for arguments in ([], ["--output", str(tmp_path / "new")]):
        done = run_digits(str(SEQUENCES), *arguments)
        assert done.returncode == 0, done.stderr
        assert "Every sequence is equal to the one written." in done.stdout
    rows = list(TFRecordReader(tmp_path / "new" / "sequences.tfrecord").sequence_examples())
    assert [row["context"]["length"].tolist() for row in rows] == [[3], [3], [2]]


def test_dictionaries_are_written_and_read_back(tmp_path: Path) -> None:
    for arguments in ([], ["--output", str(tmp_path / "new")]):
        done = run_digits(str(DICTIONARIES), *arguments)
        assert done.returncode == 0, done.stderr
        assert "Read 2 Examples and 2 SequenceExamples" in done.stdout
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.parametrize("engine", ["ray", "beam", "spark", "dask"])
def test_the_programs_of_engines_are_short_and_in_the_guide(engine: str) -> None:
    program = DIGITS.with_name(f"{engine}_parquet.py")
    guide = DIGITS.parents[1] / "docs" / "how-to" / "big-jobs.md"

    assert len(program.read_text().splitlines()) < 25
    assert f"```{{literalinclude}} ../../examples/{program.name}\n" in guide.read_text()
