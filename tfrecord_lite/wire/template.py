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

from dataclasses import dataclass

import numpy as np

from tfrecord_lite.arrays import LANE_BYTES, BoolArray, Int64Array, Uint8Array, Uint64Array, rows
from tfrecord_lite.wire.varint import squeeze

MAX_TEMPLATE_BYTES = 256
"""Longest stretch; a row of it and two words more stay within a block's spare bytes."""

_AHEAD_BYTES = 2 * LANE_BYTES


@dataclass(frozen=True, slots=True)
class Hole:
    """A length in a template."""

    place: int
    """Offset in the stretch."""
    width: int
    """Its bytes, 1 to 5."""
    more: int
    """By how much the length is larger than the payload's."""


class Template:
    """A stretch of messages that look alike.

    `known` has its bytes; those of holes and payloads have no meaning. `unknown` has the offset and
    length of each payload of fixed size in it; `holes` the lengths around the payload after it,
    innermost last, empty if none follows.
    """

    def __init__(self, known: bytes, unknown: list[tuple[int, int]], holes: list[Hole]) -> None:
        self.n_bytes: int = len(known)
        self.holes = holes
        self.row_bytes: int = -(-(self.n_bytes + _AHEAD_BYTES) // LANE_BYTES) * LANE_BYTES
        mask = np.zeros(self.row_bytes, np.uint8)
        want = np.zeros(self.row_bytes, np.uint8)
        mask[: self.n_bytes] = 0xFF
        want[: self.n_bytes] = np.frombuffer(known, np.uint8)
        for place, length in unknown:
            mask[place : place + length] = 0
        for hole in holes:  # the top bits of its bytes give its width
            mask[hole.place : hole.place + hole.width] = 0x80
            want[hole.place : hole.place + hole.width] = [0x80] * (hole.width - 1) + [0]
        n_words = -(-self.n_bytes // LANE_BYTES)
        self._mask = mask.view("<u8")[:n_words]
        self._want = (want & mask).view("<u8")[:n_words]

    def match(self, data: Uint8Array, at: Int64Array) -> TemplateRows:
        """Compare the stretch with the `row_bytes` bytes from each of many places on."""
        return TemplateRows(
            self, rows(data, self.row_bytes)[at].view(np.uint8).reshape(at.size, -1)
        )

    def differing(self, cells: Uint8Array) -> BoolArray | None:
        """Return which rows lack the known bytes; None if none does."""
        words = cells.view("<u8")[:, : self._mask.size]
        wrong = words & self._mask
        wrong ^= self._want
        if not wrong.any():
            return None
        differs: BoolArray = wrong.any(axis=1)
        return differs


class TemplateRows:
    """The bytes at many places, compared with a template; owned, shape (n, row_bytes)."""

    def __init__(self, template: Template, cells: Uint8Array) -> None:
        self._template = template
        self.cells = cells
        self.wrong = template.differing(cells)
        """Which rows do not match as far as they were checked; None if all do."""

    def _words_at(self, place: int) -> Uint64Array:
        """View the 8 bytes at an offset of every row."""
        stride = self.cells.strides[0]
        return np.ndarray((len(self.cells),), "<u8", self.cells, place, (stride,))

    def lengths(self) -> Int64Array:
        """Read the length of the payload after the stretch, and check the outer holes against it."""
        *outer, inner = self._template.holes
        n_bytes = self._length_in(inner)
        for hole in outer:
            self.mark_wrong(self._length_in(hole) != n_bytes + hole.more)
        return n_bytes

    def mark_wrong(self, differs: BoolArray) -> None:
        """Mark rows as not matching."""
        if differs.any():
            self.wrong = differs if self.wrong is None else self.wrong | differs

    def _length_in(self, hole: Hole) -> Int64Array:
        if hole.width == 1:
            return self.cells[:, hole.place].astype(np.int64)
        kept = np.uint64(int.from_bytes(b"\x7f" * hole.width, "little"))
        return squeeze(self._words_at(hole.place) & kept, hole.width).view(np.int64)
