"""How often the tests of sudden ends try each of them: kills, power cuts, full disks.

There are 40 runs of each by default, and ``TFRECORD_MISHAPS`` of them where that is set.
"""

from __future__ import annotations

import os

__all__ = ["N_RUNS", "share"]

N_RUNS = int(os.environ.get("TFRECORD_MISHAPS", "40"))


def share(n_kinds: int) -> int:
    """Return how many runs there are of each of some kinds, one at least."""
    return -(-N_RUNS // n_kinds)
