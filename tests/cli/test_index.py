"""``tfrecord index``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.samples import damage, write
from tfrecord_lite import TFRecordFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done


def test_each_file_gets_an_index_that_is_used(run: Callable[..., Done], tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [b"one", b"three"]) for name in ("a", "b")]

    done = run("index", *paths)

    assert done.status == 0
    assert done.out == [f"{path}.idx: 2 records" for path in paths]
    for path in paths:
        assert (tmp_path / f"{path.name}.idx").read_text("ascii") == "0 19\n19 21\n"
        assert list(TFRecordFile(path, index=f"{path}.idx")) == [b"one", b"three"]


def test_the_same_for_programs(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path / "a", [])

    done = run("index", "--json", path)

    assert [json.loads(line) for line in done.out] == [
        {"file": str(path), "index": f"{path}.idx", "records": 0}
    ]


def test_no_index_of_what_has_none(run: Callable[..., Done], tmp_path: Path) -> None:
    bad = damage(write(tmp_path / "bad", [b"one", b"two"]), 20)
    packed = write(tmp_path / "packed", [b"one"], "GZIP")
    good = write(tmp_path / "good", [b"one"])

    done = run("index", bad, packed, tmp_path / "absent", good)

    assert done.status == 2
    assert len(done.err) == 3
    assert "TFRecordReader" in done.err[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "good", "good.idx", "packed"]
    assert run("index", bad).status == 1
