"""Random damage, for fuzzing without atheris and its guidance by coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.testing.reencode import mutate

if TYPE_CHECKING:
    from random import Random

__all__ = ["mutated"]

_NUMBERS = (0, 1, 2**7, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def mutated(rng: Random, data: bytes, other: bytes) -> bytes:
    """Return an input damaged one to four times, sometimes by numbers near limits."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.randrange(7):
            data = mutate(rng.randrange, data, other)
            continue
        at, width = rng.randrange(len(data) + 1), rng.choice((4, 8))
        number = (rng.choice(_NUMBERS) + rng.randrange(-1, 2)) % 2 ** (8 * width)
        data = data[:at] + number.to_bytes(width, "little") + data[at + width :]
    return data
