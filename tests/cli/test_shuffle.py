"""``tfrecord shuffle``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.samples import write
from tfrecord_lite import TFRecordReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

RECORDS = [b"%06d" % i * 40 for i in range(10_000)]


def test_a_seed_gives_the_same_order_in_any_memory(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", RECORDS)

    done = run("shuffle", "--seed", "7", path, tmp_path / "1")
    run("shuffle", "--seed", "7", "--memory", "1MiB", path, tmp_path / "2")
    run("shuffle", "--seed", "8", path, tmp_path / "3")

    size = "2,400,000 bytes (2.3 MiB)"
    assert done.out[0].startswith(f"{tmp_path / '1'}: wrote 10,000 records, {size}")
    files = [(tmp_path / name).read_bytes() for name in "a123"]
    assert files[1] == files[2]
    assert len(set(files)) == 3
    assert sorted(TFRecordReader(tmp_path / "1")) == RECORDS


def test_a_seed_is_drawn_and_told(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a", RECORDS)

    (line,) = run("shuffle", path, tmp_path / "1").out
    told = re.search(r"; (--seed \d+) draws the same$", line)
    assert told is not None
    run("shuffle", *told[1].split(), path, tmp_path / "2")

    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
