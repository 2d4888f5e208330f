"""The arguments that all methods of data sets check alike."""

from __future__ import annotations

import operator
import os
import secrets
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason

__all__ = ["processors", "seed_of", "whole"]


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number that is large enough, whatever says that it is one."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        detail = f"{name} must be a whole number, got {type(value).__name__}"
        raise TypeError(detail)
    number = operator.index(value)
    if number < least:
        detail = f"{name} is {number}, expected {least} or more"
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
    return number


def seed_of(seed: int | None) -> int:
    """Return a seed as 64 bits; draw one if there is none."""
    return secrets.randbits(63) if seed is None else int(seed) % 2**64


def processors() -> int:
    """Return how many processors there are."""
    return os.cpu_count() or 1
