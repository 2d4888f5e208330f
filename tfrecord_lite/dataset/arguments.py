"""The arguments that all methods of data sets check alike."""

from __future__ import annotations

import os
import secrets


def seed_of(seed: int | None) -> int:
    """Return a seed as 64 bits; draw one if there is none."""
    return secrets.randbits(63) if seed is None else int(seed) % 2**64


def processors() -> int:
    """Return how many processors there are."""
    return os.cpu_count() or 1
