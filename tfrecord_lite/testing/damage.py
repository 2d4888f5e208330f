"""Bytes that were damaged: a bit flipped, a byte set, cut, inserted, deleted, spliced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfrecord_lite.testing.reencode import Below

__all__ = ["mutate"]

# Bytes that mean something to somebody: ends of varints, tags of the first fields.
_TELLING_BYTES = (0, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0C, 0x12, 0x1A, 0x08, 0x0D)


def mutate(below: Below, message: bytes, other: bytes = b"") -> bytes:
    """Damage bytes in one place.

    Parameters
    ----------
    below : callable
        Takes the decisions: returns a number from 0 to n - 1, given n.
    message : bytes
    other : bytes, optional
        The end of which may take the place of the end of `message`.

    Returns
    -------
    bytes
        Seldom the same as before.
    """
    out = bytearray(message)
    at = below(len(out) + 1)
    match below(7):
        case 0 if at < len(out):
            out[at] ^= 1 << below(8)
        case 1 if at < len(out):
            out[at] = _TELLING_BYTES[below(len(_TELLING_BYTES))]
        case 2:
            del out[at:]
        case 3:
            out[at:at] = bytes(below(256) for _ in range(1 + below(3)))
        case 4:
            del out[at : at + 1 + below(3)]
        case 5:
            out[at:] = other[below(len(other) + 1) :]
        case _:
            if at < len(out):
                out[at] = (out[at] + (1, 255)[below(2)]) % 256
    return bytes(out)
