"""Ways to damage frames, and whether damage leaves a frame intact."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

__all__ = ["IN_PLACE", "PARTS", "Extent", "extent", "is_intact", "pieces_of"]

PARTS = ("length", "length CRC", "data", "data CRC")


class Extent(NamedTuple):
    """Some bytes of a frame."""

    start: int
    stop: int

    @property
    def middle(self) -> int:
        return (self.start + self.stop) // 2


def extent(frame: bytes, part: str) -> Extent:
    """Return the extent of a part of a frame; "record" is the whole frame."""
    end = len(frame) - 4
    return {
        "length": Extent(0, 8),
        "length CRC": Extent(8, 12),
        "data": Extent(12, end),
        "data CRC": Extent(end, end + 4),
        "record": Extent(0, end + 4),
    }[part]


def flip(frame: bytes, at: Extent, choose: random.Random) -> bytes:
    place = choose.randrange(at.start, at.stop)
    return frame[:place] + bytes([frame[place] ^ 1 << choose.randrange(8)]) + frame[place + 1 :]


def insert(frame: bytes, at: Extent, choose: random.Random) -> bytes:
    return frame[: at.middle] + choose.randbytes(choose.randint(1, 9)) + frame[at.middle :]


def delete(frame: bytes, at: Extent, choose: random.Random) -> bytes:
    n_bytes = choose.randint(1, max((at.stop - at.start) // 2, 1))
    return frame[: at.middle] + frame[at.middle + n_bytes :]


def zero(frame: bytes, at: Extent, choose: random.Random) -> bytes:  # noqa: ARG001 - as the others
    return frame[: at.start] + bytes(at.stop - at.start) + frame[at.stop :]


def duplicate(frame: bytes, at: Extent, choose: random.Random) -> bytes:  # noqa: ARG001
    return frame[: at.stop] + frame[at.start : at.stop] + frame[at.stop :]


IN_PLACE: dict[str, Callable[[bytes, Extent, random.Random], bytes]] = {
    "flip": flip, "insert": insert, "delete": delete, "zero": zero, "duplicate": duplicate,
}  # fmt: skip
"""Kinds of damage to one record that leave the others as they are."""


def is_intact(frame: bytes, damaged: bytes) -> bool:
    """Return whether the damaged bytes still hold the whole frame."""
    return frame in damaged


@st.composite
def pieces_of(draw: DrawFn, stream: bytes) -> list[bytes]:
    """Draw bytes cut into pieces, some maybe empty, as a pipe may deliver them."""
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    return [stream[a:b] for a, b in pairwise([0, *cuts, len(stream)])]
