r"""The parts of N messages: payloads, and the lengths around them.

A :class:`Part` is one field of N messages: known bytes and lengths, one inside the other,
around one payload::

    known     0a    0a 05 l a b e l 12    1a    0a    then n bytes
    lengths      n+13                  n+4   n+2   n     ╰─ payload

How many bytes the lengths take depends on n alone, and only in steps. So a part has one
:class:`Prefix` if all payloads are of similar length, and else a few. The sizes of all parts
give every byte its place; :mod:`.emit` stores them there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.arrays import rows as rows_of
from tfrecord_lite.wire.scalar import varint_size
from tfrecord_lite.wire.template import Hole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    Counts: TypeAlias = Int64Array | int

GAP_BYTES = 16
"""Bytes between two messages: a record's footer, and the header of the next record."""

WIDEST_ROW_BYTES = 64
"""Wider payloads are stored from where they are, without a copy into a stretch."""


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Payloads of one size, in rows."""

    rows: Uint8Array
    """uint8, shape (n_messages, n_bytes); contiguous along the last axis."""

    @property
    def lengths(self) -> Counts:
        """Bytes of each payload."""
        return int(self.rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """Payloads of several sizes, in rows with room for the longest."""

    rows: Uint8Array
    """uint8, shape (n_messages, width); at most GAP_BYTES wider than the shortest payload."""
    lengths: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Large payloads, an object each."""

    items: Sequence[Buffer]
    lengths: Int64Array


Payload: TypeAlias = Fixed | Short | ByteRanges | Objects


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One field of N messages."""

    levels: tuple[bytes, ...]
    """The bytes before each length, outermost first: a tag, or fields and a tag."""
    payload: Payload
    present: BoolArray | None = None
    """Which messages have the field, shape (n_messages,); None for all."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The bytes before payloads of similar lengths."""

    known: bytes
    """All of them, with zeros in the holes."""
    holes: tuple[Hole, ...]
    largest: int
    """The longest payload that has this prefix."""


@lru_cache(maxsize=4096)
def prefix_of(levels: tuple[bytes, ...], n_bytes: int) -> Prefix:
    """Return the prefix of a payload of `n_bytes`."""
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
    return Prefix(inner, tuple(holes), largest)


def filled(prefix: Prefix, n_bytes: int) -> bytes:
    """Return a prefix with its holes filled in for one payload."""
    known = bytearray(prefix.known)
    for hole in prefix.holes:
        for i in range(hole.width):
            known[hole.place + i] |= (n_bytes + hole.more) >> 7 * i & 0x7F
    return bytes(known)


def prefix_bytes(levels: tuple[bytes, ...], n_bytes: int) -> bytes:
    r"""Return the bytes before one payload: the known ones, and the lengths.

    >>> prefix_bytes((b"\x0a", b"\x12"), 300)
    b'\n\xaf\x02\x12\xac\x02'
    """
    return filled(prefix_of(levels, n_bytes), n_bytes)


class SizedPart:
    """A part, its prefixes, and how many bytes it has in each message."""

    def __init__(self, part: Part) -> None:
        self.part = part
        lengths = part.payload.lengths
        if isinstance(lengths, int):
            low = high = lengths
        else:
            low, high = int(lengths.min(initial=1 << 62)), int(lengths.max(initial=0))
        self.prefixes: list[Prefix] = [prefix_of(part.levels, min(low, high))]
        while self.prefixes[-1].largest < high:
            self.prefixes.append(prefix_of(part.levels, self.prefixes[-1].largest + 1))
        self.numbers: Int64Array | None = None
        """Which prefix each message has; None if all have the first."""
        prefix_sizes: Counts = len(self.prefixes[0].known)
        if len(self.prefixes) > 1:
            bounds = np.array([prefix.largest for prefix in self.prefixes[:-1]])
            self.numbers = np.searchsorted(bounds, lengths).astype(np.int64)
            prefix_sizes = np.array([len(prefix.known) for prefix in self.prefixes])[self.numbers]
        self.prefix_sizes = prefix_sizes
        self.sizes: Counts = lengths + prefix_sizes
        if part.present is not None:
            self.sizes = np.where(part.present, self.sizes, 0)

    @property
    def is_plain(self) -> bool:
        """Whether all messages have it, with one prefix."""
        return self.numbers is None and self.part.present is None


def compact(data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> Payload:
    """Return byte ranges as the payload that is stored fastest; short ones are copied."""
    longest = int(lengths.max(initial=0))
    shortest = int(lengths.min()) if lengths.size else 0
    is_even = longest == shortest
    if longest > WIDEST_ROW_BYTES or longest - shortest > GAP_BYTES or not starts.size:
        return ByteRanges(data, starts, lengths)
    if longest == 0:
        return Fixed(np.zeros((starts.size, 0), np.uint8))
    if int(starts.max()) + longest > data.size:
        data = np.concatenate([data, np.zeros(longest, np.uint8)])
    cells = rows_of(data, longest)[starts].view(np.uint8).reshape(-1, longest)
    return Fixed(cells) if is_even else Short(cells, lengths)
