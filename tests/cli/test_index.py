"""``tfrecord index``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.samples import write
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
