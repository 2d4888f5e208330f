r"""What is written in each of many messages: payloads, and the lengths around them.

A :class:`Part` is one field of N messages: known bytes and lengths, one inside the other,
around one payload::

    known     0a    0a 05 l a b e l 12    1a    0a    then n bytes
    lengths      n+13                  n+4   n+2   n     ╰─ payload

How many bytes the lengths take depends on n alone, and only in steps. So a part has one
*head* if all payloads are about as long, and a few for all lengths there are. The sizes of
all parts give every byte its place; :mod:`.emit` stores them there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array, rows
from tfrecord_lite.wire.scalar import varint_size
from tfrecord_lite.wire.template import Hole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    Cells: TypeAlias = Uint8Array
    Counts: TypeAlias = Int64Array | int

GAP_BYTES = 16
"""Bytes between one message and the next: as many as a record's frame takes there."""

WIDEST_CELL_BYTES = 64
"""Wider payloads are stored from where they are, without a copy into a stretch."""


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A payload of one size, in rows."""

    cells: Cells
    """uint8, shape (n_messages, n_bytes); rows may be apart, their bytes not."""

    @property
    def lengths(self) -> Counts:
        """Bytes of each."""
        return int(self.cells.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """A payload of several sizes, in rows with room for the longest."""

    cells: Cells
    """uint8, shape (n_messages, width); at most GAP_BYTES wider than the shortest payload."""
    sizes: Int64Array

    @property
    def lengths(self) -> Counts:
        """Bytes of each."""
        return self.sizes


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """A payload that is large, an object each."""

    items: Sequence[Buffer]
    sizes: Int64Array

    @property
    def lengths(self) -> Counts:
        """Bytes of each."""
        return self.sizes


Payload: TypeAlias = Fixed | Short | ByteRanges | Objects


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One field of N messages."""

    levels: tuple[bytes, ...]
    """What stands before each length, outermost first: a tag, or more than one field."""
    payload: Payload
    present: BoolArray | None = None
    """Which messages have the field, shape (n_messages,); None for all."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before payloads of some lengths."""

    known: bytes
    """All of it, with zeros for the numbers."""
    holes: tuple[Hole, ...]
    largest: int
    """The longest payload that has this head."""


@lru_cache(maxsize=4096)
def head_of(levels: tuple[bytes, ...], n_bytes: int) -> Head:
    """Return the head of a payload of so many bytes."""
    more, largest = 0, 1 << 62
    inner = b""
    holes: list[Hole] = []
    for level in reversed(levels):
        width = varint_size(n_bytes + more)
        largest = min(largest, (1 << 7 * width) - 1 - more)
        begin = len(level)
        holes = [Hole(h.place + begin + width, h.width, h.more) for h in holes]
        holes.insert(0, Hole(begin, width, more))
        inner = level + b"\x80" * (width - 1) + b"\0" + inner
        more += begin + width
    return Head(inner, tuple(holes), largest)


def filled(head: Head, n_bytes: int) -> bytes:
    """Return a head with the numbers for one length in it."""
    known = bytearray(head.known)
    for hole in head.holes:
        for i in range(hole.width):
            known[hole.place + i] |= (n_bytes + hole.more) >> 7 * i & 0x7F
    return bytes(known)


def head(levels: tuple[bytes, ...], n_bytes: int) -> bytes:
    r"""Return what stands before one payload: known bytes and lengths.

    Parameters
    ----------
    levels : tuple of bytes
        As those of a :class:`Part`.
    n_bytes : int
        Of the payload.

    Examples
    --------
    >>> head((b"\x0a", b"\x12"), 300)
    b'\n\xaf\x02\x12\xac\x02'
    """
    return filled(head_of(levels, n_bytes), n_bytes)


class SizedPart:
    """A part, its heads, and how many bytes it has in each message."""

    def __init__(self, part: Part) -> None:
        self.part = part
        lengths = part.payload.lengths
        if isinstance(lengths, int):
            low = high = lengths
        else:
            low, high = int(lengths.min(initial=1 << 62)), int(lengths.max(initial=0))
        self.heads = [head_of(part.levels, min(low, high))]
        while self.heads[-1].largest < high:
            self.heads.append(head_of(part.levels, self.heads[-1].largest + 1))
        self.numbers: Int64Array | None = None
        """Which head each message has; None if all have the first."""
        head_sizes: Counts = len(self.heads[0].known)
        if len(self.heads) > 1:
            bounds = np.array([head.largest for head in self.heads[:-1]])
            self.numbers = np.searchsorted(bounds, lengths).astype(np.int64)
            head_sizes = np.array([len(head.known) for head in self.heads])[self.numbers]
        self.head_sizes = head_sizes
        self.sizes: Counts = lengths + head_sizes
        if part.present is not None:
            self.sizes = np.where(part.present, self.sizes, 0)

    @property
    def is_plain(self) -> bool:
        """Whether all messages have it, with one head."""
        return self.numbers is None and self.part.present is None


def compact(data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> Payload:
    """Return byte ranges as the kind of payload that is stored fastest.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        Held, or copied if the ranges are short.
    starts, lengths : int64, shape (n_messages,)
    """
    longest, shortest = (
        int(lengths.max(initial=0)),
        int(lengths.min(initial=0 if not lengths.size else 1 << 62)),
    )
    is_even = longest == shortest
    if longest > WIDEST_CELL_BYTES or longest - shortest > GAP_BYTES or not starts.size:
        return ByteRanges(data, starts, lengths)
    if longest == 0:
        return Fixed(np.zeros((starts.size, 0), np.uint8))
    if int(starts.max()) + longest > data.size:
        data = np.concatenate([data, np.zeros(longest, np.uint8)])
    cells = rows(data, longest)[starts].view(np.uint8).reshape(-1, longest)
    return Fixed(cells) if is_even else Short(cells, lengths)
