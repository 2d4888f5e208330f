"""The number of runs of each test of mishaps: kills, power cuts, full disks.

A handful, or as many as the environment variable ``TFRECORD_MISHAPS`` says.
"""

import os

__all__ = ["N_RUNS", "share"]

N_RUNS = int(os.environ.get("TFRECORD_MISHAPS") or 5)


def share(n_kinds: int) -> int:
    """Return the number of runs of each of that many kinds, at least one."""
    return -(-N_RUNS // n_kinds)
