"""Damage to bytes: a bit flipped, a byte set, bytes cut off, inserted, deleted or spliced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfrecord_lite.testing.reencode import Below


# Ends of varints, and tags of the first fields.
_SPECIAL_BYTES = (0, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0C, 0x12, 0x1A, 0x08, 0x0D)


def mutate(below: Below, message: bytes, other: bytes = b"") -> bytes:
    """Damage bytes in one place.

    Parameters
    ----------
    below : callable
        Makes the choices: returns a number from 0 to n - 1, given n.
    message : bytes
    other : bytes, optional
        The end of `message` may be replaced by the end of these bytes.

    Returns
    -------
    bytes
        Rarely the same as `message`.

    Examples
    --------
    >>> import random
    >>> from tfrecord_lite.testing import mutate
    >>> changed = mutate(random.Random(7).randrange, b"Ada and Alan")
    >>> changed == b"Ada and Alan"
    False
    """
    out = bytearray(message)
    at = below(len(out) + 1)
    match below(7):
        case 0 if at < len(out):
            out[at] ^= 1 << below(8)
        case 1 if at < len(out):
            out[at] = _SPECIAL_BYTES[below(len(_SPECIAL_BYTES))]
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
