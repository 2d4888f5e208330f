"""Damage that costs little to make; for where atheris, which looks at coverage, is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

__all__ = ["mutated"]

_BYTES = (0, 1, 2, 0x0A, 0x12, 0x7F, 0x80, 0xFE, 0xFF)
_NUMBERS = (0, 1, 2**7, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def mutated(rng: Random, data: bytes, other: bytes) -> bytes:
    """Return an input with one to four things done to it; some take a piece of another one."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(out) + 1)
        size = rng.choice((1, 1, 2, 4, 8, 40))
        match rng.randrange(8):
            case 0 | 1 if out:
                out[at - 1] ^= 1 << rng.randrange(8)
            case 2 if out:
                out[at - 1] = rng.choice(_BYTES)
            case 3:
                del out[at : at + size]
            case 4:
                out[at:at] = rng.randbytes(size)
            case 5:
                out[at:at] = out[at : at + size]
            case 6:
                number = rng.choice(_NUMBERS) + rng.randrange(-1, 2)
                width = rng.choice((4, 8))
                out[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, "little")
            case _:
                start = rng.randrange(len(other) + 1)
                out[at : at + size] = other[start : start + size]
    return bytes(out)
