"""Messages that look alike: their common bytes are checked, not parsed.

A program writes its messages alike: the same fields in the same order, with lengths of as
many bytes. Of such a message nearly every byte is known before it is read. A
:class:`Template` is a stretch of it::

    known bytes   0a ..   0a 05 l a b e l   12 ..   1a ..   0a ..   then n bytes
                     │                         │       │       │    ╰─ payload
    holes            n + 13                    n + 4   n + 2   n

It has the bytes that must be there, and *holes*: the lengths of nested fields around one payload,
each of which is the payload's length n plus a constant, in a known number of bytes. A stretch may
hold several payloads of fixed size, and one of variable size may follow it.

Matching N messages is one gather of N rows and a comparison of whole words under a mask. A
message that does not match is left to the general way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfrecord_lite.arrays import LANE_BYTES, BoolArray, Int64Array, Uint8Array, rows
from tfrecord_lite.wire.varint import squeeze

MAX_TEMPLATE_BYTES = 256
"""Longest stretch; a row of it and two words more stay within a block's spare bytes."""

_AHEAD_BYTES = 2 * LANE_BYTES


class Hole(NamedTuple):
    """A length in a template."""

    offset: int
    """Where it is in the stretch."""
    width: int
    """Its bytes, 1 to 5."""
    more: int
    """By how much the length is larger than the payload's."""


class Template:
    """A stretch of messages that look alike.

    `known` has its bytes; the bytes of holes and payloads have no meaning. `unknown` has the offset and
    length of each payload of fixed size in it; `holes` the lengths around the payload after it,
    innermost last, empty if none follows.
    """

    def __init__(self, known: bytes, unknown: list[tuple[int, int]], holes: list[Hole]) -> None:
        self.n_bytes: int = len(known)
        self.holes = holes
        self.row_bytes: int = -(-(self.n_bytes + _AHEAD_BYTES) // LANE_BYTES) * LANE_BYTES
        mask = np.zeros(self.row_bytes, np.uint8)
        expected = np.zeros(self.row_bytes, np.uint8)
        mask[: self.n_bytes] = 0xFF
        expected[: self.n_bytes] = np.frombuffer(known, np.uint8)
        for place, length in unknown:
            mask[place : place + length] = 0
        for hole in holes:  # the top bits of its bytes give its width
            mask[hole.offset : hole.offset + hole.width] = 0x80
            expected[hole.offset : hole.offset + hole.width] = [0x80] * (hole.width - 1) + [0]
        n_words = -(-self.n_bytes // LANE_BYTES)
        self._mask = mask.view("<u8")[:n_words]
        self._expected = (expected & mask).view("<u8")[:n_words]

    def bytes_at(self, data: Uint8Array, at: Int64Array) -> Uint8Array:
        """Copy the `row_bytes` bytes from each of many places on; owned, shape (n, row_bytes)."""
        return rows(data, self.row_bytes)[at].view(np.uint8).reshape(at.size, -1)

    def match(self, cells: Uint8Array) -> tuple[Int64Array, BoolArray]:
        """Compare rows; return the length of the payload after each, and which do not match.

        The outer lengths around the payload are checked against its own.
        """
        words = cells.view("<u8")[:, : self._mask.size]
        wrong: BoolArray = ((words & self._mask) != self._expected).any(1)
        *outer, inner = self.holes
        n_bytes = _length_in(cells, inner)
        for hole in outer:
            wrong |= _length_in(cells, hole) != n_bytes + hole.more
        return n_bytes, wrong


def _length_in(cells: Uint8Array, hole: Hole) -> Int64Array:
    """Read a length in every row."""
    if hole.width == 1:
        return cells[:, hole.offset].astype(np.int64)
    kept = np.uint64(int.from_bytes(b"\x7f" * hole.width, "little"))
    words = np.ndarray((len(cells),), "<u8", cells, hole.offset, cells.strides[:1])
    return squeeze(words & kept, hole.width).view(np.int64)
