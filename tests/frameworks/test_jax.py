"""Columns in JAX: plain arrays are all it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from tests.support.small_files import FEATURES, write_files
from tfrecord_lite import read_batches

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_go_to_a_device(tmp_path: Path) -> None:
    names = write_files(tmp_path, [5, 9])
    total = jax.jit(lambda batch: batch["n"].sum())

    batches: Any = read_batches(names, {"n": FEATURES["n"]}, 4, shuffle=7, seed=1)
    sums = [int(total(jax.device_put(batch))) for batch in batches]

    assert len(sums) == 4
    assert sum(sums) == sum(range(14))
