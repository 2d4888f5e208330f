"""Daft and Modin themselves take tables; the recipes are those of docs/how-to/dask.md."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import daft
import pytest

from tests.engines.engine_files import rows_of, write_frames_in_records, write_shards
from tfrecord_lite import scan

pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "dask.md").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "records")


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (block,) = re.findall(r"```python\n(import daft\n.*?)```", PAGE, re.DOTALL)
    namespace: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(block.partition("\nframe = ")[0], namespace)  # noqa: S102 - what the page says
    return namespace


def test_daft_takes_a_table(folder: Path) -> None:
    frame = daft.from_arrow(scan(str(folder / "*")))
    assert frame.to_pylist() == rows_of(str(folder / "*"))


def test_the_recipe_reads_every_row_once(folder: Path, recipe: dict[str, Any]) -> None:
    frame = recipe["Records"](scan(str(folder / "*"))).read()
    assert frame.sort("row").to_pylist() == rows_of(str(folder / "*"))
    assert frame.count_rows() == 3000
    held = write_frames_in_records(folder.parent / "a")
    assert recipe["Records"](scan(held)).read().sort("row").to_pylist() == rows_of(held)


@pytest.mark.parametrize("engine", ["python", "dask"])
def test_modin(folder: Path, tmp_path: Path, engine: str) -> None:
    (block,) = re.findall(r"```python\n(import modin.*?)```", PAGE, re.DOTALL)
    first, _, second = block.partition("\n# ")
    program = tmp_path / "program.py"
    pattern = str(folder / "data-*.tfrecord")
    second = second.partition("\n")[2] if engine == "dask" else ""
    lines = (
        f"{first}\nassert frame.row.sum() == 4498500, frame\n{second}\nassert len(frame) == 3000"
    )
    lines = lines.replace("train-*.tfrecord", pattern).replace("\n", "\n    ")
    program.write_text(
        "from tfrecord_lite.integrations.dask import read_tfrecord\n"
        f"if __name__ == '__main__':\n    {lines}\n    print('whole')\n"
    )
    environment = {**os.environ, "MODIN_ENGINE": engine, "MODIN_CPUS": "2", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )
    assert done.stdout.endswith("whole\n"), done.stderr[-3000:]
