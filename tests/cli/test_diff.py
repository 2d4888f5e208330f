"""``tfrecord diff``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.samples import flower, sequence, write
from tfrecord_lite.apps.statistics import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

    Run = Callable[..., Done]


def test_what_is_found_is_printed_in_lines(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(flower, range(60))), write(tmp_path / "b", [flower(0)] * 60)

    done = run("diff", a, b)

    assert (done.status, done.err) == (1, [])
    assert done.out == str(compare(a, b)).splitlines()
    assert sum(line.startswith("petals ") for line in done.out) == 1


def test_json_is_the_description(run: Run, tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", map(sequence, range(9))), write(tmp_path / "b", [sequence(2)] * 9)

    done = run("diff", "--json", a, b)

    assert done.status == 1
    assert json.loads(done.out[0]) == json.loads(json.dumps(compare(a, b).describe()))
