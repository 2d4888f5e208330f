"""The examples do what they say, run as a user would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tfrecord_lite import Example, TFRecordReader

DIGITS = Path(__file__).parent.parent / "examples" / "digits.py"


def run_digits(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::ResourceWarning", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_digits_writes_shards_and_reads_them_back(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")

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


def test_digits_needs_no_folder() -> None:
    pytest.importorskip("sklearn")

    done = run_digits(str(DIGITS))

    assert done.returncode == 0, done.stderr
    assert "1,797" in done.stdout


def test_digits_says_how_to_install_what_is_missing(tmp_path: Path) -> None:
    block = f"import runpy, sys; sys.modules['sklearn'] = None; sys.argv[1:] = ['--output', {str(tmp_path)!r}]"
    done = run_digits("-c", f"{block}; runpy.run_path({str(DIGITS)!r}, run_name='__main__')")

    assert done.returncode == 1
    assert done.stderr == "This example needs scikit-learn: pip install '.[examples]'\n"
    assert not list(tmp_path.iterdir())


SEQUENCES = DIGITS.with_name("sequences.py")
DICTIONARIES = DIGITS.with_name("dictionaries.py")


def test_sequences_are_written_and_read_back(tmp_path: Path) -> None:
    for arguments in ([], ["--output", str(tmp_path / "new")]):
        done = run_digits(str(SEQUENCES), *arguments)
        assert done.returncode == 0, done.stderr
        assert "Every sequence is as it was written." in done.stdout
    rows = list(TFRecordReader(tmp_path / "new" / "sequences.tfrecord").sequence_examples())
    assert [row["context"]["length"].tolist() for row in rows] == [[3], [3], [2]]


def test_dictionaries_are_written_and_read_back(tmp_path: Path) -> None:
    for arguments in ([], ["--output", str(tmp_path / "new")]):
        done = run_digits(str(DICTIONARIES), *arguments)
        assert done.returncode == 0, done.stderr
        assert "Read 2 Examples and 2 SequenceExamples" in done.stdout
    assert len(list((tmp_path / "new").iterdir())) == 2
