"""The program that trains, on data of its own and on a user's."""

from pathlib import Path

import numpy as np
import pytest

from tests.programs.test_examples import run
from tfrecord_lite import TFRecordWriter

pytestmark = pytest.mark.needs("examples")


def write_table(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    with TFRecordWriter(path) as writer:
        writer.write_examples({"x": x, "class": (x[:, 0] > 0).astype(int), "id": ["a"] * n})


def test_torch_learns_from_files(tmp_path: Path) -> None:
    write_table(tmp_path / "table", 500)
    write_table(tmp_path / "short", 3)
    with TFRecordWriter(tmp_path / "negative") as writer:
        writer.write_examples({"x": np.ones(9), "class": np.full(9, -1)})
    done = run("train_torch.py", tmp_path / "table", "--label", "class", "--workers", 2)
    assert done.stdout.startswith("500 records, 3 numbers each, 2 classes")
    assert float(done.stdout.split(" % right")[-2].split()[-1]) > 90
    for arguments, text in (
        ([tmp_path / "short", "--label", "class"], "at least 5"),
        ([tmp_path / "negative", "--label", "class"], "from 0 on"),
    ):
        assert text in run("train_torch.py", *arguments, code=1).stderr


def test_torch_learns_the_digits() -> None:
    done = run("train_torch.py", "--epochs", 4)
    assert done.stdout.startswith("1797 records, 64 numbers each, 10 classes")
    assert float(done.stdout.split(" % right")[-2].split()[-1]) > 90
