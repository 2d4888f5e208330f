"""Files of other loaders: DALI's indexes, and the recipe for MosaicML; other recipes are run as blocks of the guide."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.corpus import ROOT
from tfrecord_lite import (
    TFRecordReader,
    TFRecordWriter,
    decode_example,
    encode_example,
)
from tfrecord_lite.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.needs("arrow")

JPEG = b"\xff\xd8\xff\xe0 a picture "


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with TFRecordWriter(path) as writer:
        for row in rows:
            writer.write(encode_example(row))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [
        {name: np.asarray(value).tolist() for name, value in decode_example(record).items()}
        for record in TFRecordReader(path)
    ]


def rows_of(number: int) -> list[dict[str, Any]]:
    return [
        {
            "image": JPEG + bytes([i]),
            "caption": f"text {i}".encode(),
            "label": i,
            "weight": 0.5 * i,
            "box": [1.0, 2.0, 3.0, float(i)],
            "tags": [b"a", b"b"] if i % 2 else [b"c"],
        }
        for i in range(number)
    ]


# ------------------------------------------------------------------------------------ recipes


def blocks_of(title: str) -> list[str]:
    """Return the programs of a section of the guide."""
    text = (ROOT / "docs" / "how-to" / "loaders.md").read_text("utf-8")
    section = text.split(f"## {title}", 1)[1].split("\n## ", 1)[0]
    return [part.split("```", 1)[0] for part in section.split("```python\n")[1:]]


@pytest.mark.parametrize("name", ["a.tar", "b-00000-of-00002.array_record", "c.tar.gz"])
def test_their_files_are_recognised_by_name(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "a.tfrecord", [{"x": 1}])
    (tmp_path / name).write_bytes(b"x")
    for arguments in [(source, tmp_path / "new" / name), (tmp_path / name, tmp_path / "b.csv")]:
        assert main(["convert", *map(str, arguments)]) == 2
        assert "the guide 'From and to the files of other loaders' has" in capsys.readouterr().err
    assert main(["convert", str(source), f"{tmp_path}/out/", "--to", "webdataset"]) == 2
    assert "is read and written by its own library" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- DALI


def as_tfrecord2idx(path: Path) -> str:
    """Return what DALI's script of this name writes: each frame's offset and size."""
    lines, data, offset = [], path.read_bytes(), 0
    while offset < len(data):
        size = 8 + 4 + int.from_bytes(data[offset : offset + 8], "little") + 4
        lines.append(f"{offset} {size}\n")
        offset += size
    return "".join(lines)


def test_an_index_is_what_tfrecord2idx_writes(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tfrecord", [*rows_of(20), {}])
    assert main(["index", str(source)]) == 0
    expected = as_tfrecord2idx(source)
    assert (tmp_path / "a.tfrecord.idx").read_text() == expected


# --------------------------------------------------------------------------------- MosaicML


@pytest.mark.needs("mds")
def test_the_recipe_for_mosaicml(tmp_path: Path) -> None:
    """The blocks of the guide run as they are, in one folder."""
    blocks = blocks_of("MosaicML streaming")
    assert len(blocks) == 2
    rows = rows_of(40)
    source = write(tmp_path / "train.tfrecord", rows)
    program = "\n".join(["from pathlib import Path", *blocks])
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    kept = ("image", "caption", "label", "box")
    expected = [{name: row[name] for name in kept} for row in read(source)]
    assert read(tmp_path / "back.tfrecord") == expected
