"""``tfrecord split``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.samples import write
from tfrecord_lite import TFRecordReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]

RECORDS = [b"%d" % i for i in range(10)]


@pytest.mark.parametrize(
    ("arguments", "target", "counts"),
    [
        (["--num-shards", "3"], "x.gz", [3, 3, 4]),
        ([], "x@4", [2, 3, 2, 3]),
        (["--records-per-shard", "4"], "x.tfrecord", [4, 4, 2]),
        (["--bytes-per-shard", "51"], "x-{shard}.of.{num_shards}", [3, 3, 3, 1]),
        (["--bytes-per-shard", "1K"], "x", [10]),
    ],
)
def test_shards(
    run: Run, tmp_path: Path, arguments: list[str], target: str, counts: list[int]
) -> None:
    path = write(tmp_path / "a", RECORDS)

    done = run("split", *arguments, path, tmp_path / target)

    found = sorted(tmp_path.glob("x*"))
    assert [len(list(TFRecordReader(shard))) for shard in found] == counts
    assert list(TFRecordReader(tmp_path / "x*")) == RECORDS
    name = f"{found[0]} to {found[-1].name}" if len(found) > 1 else found[0]
    assert done == (0, [f"{name}: wrote 10 records, 10 bytes"], [])
