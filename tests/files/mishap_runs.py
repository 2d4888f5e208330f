"""The number of runs of each test of mishaps: kills, power cuts, full disks.

A handful in a short run, 40 in a full one, or the environment variable ``TFRECORD_MISHAPS``.
"""

from __future__ import annotations

import os

from tests.support.effort import pick

__all__ = ["N_RUNS", "share"]

N_RUNS = int(os.environ.get("TFRECORD_MISHAPS") or pick(5, 40))


def share(n_kinds: int) -> int:
    """Return the number of runs of each of that many kinds, at least one."""
    return -(-N_RUNS // n_kinds)
