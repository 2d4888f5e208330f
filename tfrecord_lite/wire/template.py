"""Messages that look alike: their common bytes are checked, not parsed.

A program writes its messages alike: the same fields in the same order, with
lengths of as many bytes. Of such a message nearly every byte is known before it
is read. A :class:`Template` is a stretch of it::

    known bytes   0a ..   0a 05 l a b e l   12 ..   1a ..   0a ..   then n bytes
                     │                         │       │       │    ╰─ payload
    holes            n + 13                    n + 4   n + 2   n

the bytes that must be there, and the *holes*: lengths of nested fields around one
payload, each of which is the payload's length n plus a constant, in a known number
of bytes. A stretch may hold several payloads of fixed size, which are copied out
of it, and ends with one of variable size, or none.

Matching it against N messages is one gather of N rows and a comparison of whole
words under a mask. A message that does not match is left for the general way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfrecord_lite.arrays import LANE_BYTES, BoolArray, Int64Array, Uint8Array, Uint64Array, rows
from tfrecord_lite.wire.varint import decode_words, squeeze

MAX_TEMPLATE_BYTES = 256
"""Longest stretch; a row of it and two words more stay inside a block's spare bytes."""

_AHEAD_BYTES = 2 * LANE_BYTES


@dataclass(frozen=True, slots=True)
class Hole:
    """A length in a template."""

    place: int
    """Where in the stretch it is."""
    width: int
    """How many bytes it has, 1 to 5."""
    more: int
    """By how much it is larger than the payload's length."""


class Template:
    """A stretch of messages that look alike.

    Parameters
    ----------
    known : bytes
        The bytes of the stretch; those of holes and payloads mean nothing.
    unknown : list of (int, int)
        Place and length of each payload of fixed size in the stretch.
    holes : list of Hole
        The lengths around the payload that follows the stretch, the innermost
        last; empty if none follows.
    """

    def __init__(self, known: bytes, unknown: list[tuple[int, int]], holes: list[Hole]) -> None:
        self.n_bytes = len(known)
        self.holes = holes
        self.row_bytes = -(-(self.n_bytes + _AHEAD_BYTES) // LANE_BYTES) * LANE_BYTES
        mask = np.zeros(self.row_bytes, np.uint8)
        want = np.zeros(self.row_bytes, np.uint8)
        mask[: self.n_bytes] = 0xFF
        want[: self.n_bytes] = np.frombuffer(known, np.uint8)
        for place, length in unknown:
            mask[place : place + length] = 0
        for hole in holes:  # its top bits say how many bytes it has
            mask[hole.place : hole.place + hole.width] = 0x80
            want[hole.place : hole.place + hole.width] = [0x80] * (hole.width - 1) + [0]
        n_words = -(-self.n_bytes // LANE_BYTES)
        self._mask = mask.view("<u8")[:n_words]
        self._want = (want & mask).view("<u8")[:n_words]

    def match(self, data: Uint8Array, at: Int64Array) -> Rows:
        """Compare the stretch with what stands at many places.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
            `row_bytes` bytes follow each place.
        at : int64, shape (n,)

        Returns
        -------
        Rows
        """
        return Rows(self, rows(data, self.row_bytes)[at].view(np.uint8).reshape(at.size, -1))

    def differing(self, cells: Uint8Array) -> BoolArray | None:
        """Say which rows do not hold the known bytes; None if all do."""
        words = cells.view("<u8")[:, : self._mask.size]
        wrong = words & self._mask
        wrong ^= self._want
        if not wrong.any():
            return None
        differs: BoolArray = wrong.any(axis=1)
        return differs


class Rows:
    """A template's stretch, as it stands at many places.

    Parameters
    ----------
    template : Template
    cells : uint8, shape (n, row_bytes)
        The bytes from each place on; owned.
    """

    def __init__(self, template: Template, cells: Uint8Array) -> None:
        self._template = template
        self._cells = cells
        self.wrong = template.differing(cells)
        """Which rows do not match, so far as they were looked at; None for none of them."""

    def _words_at(self, place: int) -> Uint64Array:
        """View 8 bytes at a place of every row."""
        stride = self._cells.strides[0]
        return np.ndarray((len(self._cells),), "<u8", self._cells, place, (stride,))

    def fixed(self, place: int, length: int) -> Uint8Array:
        """Copy a payload of fixed size out of every row; shape (n, length)."""
        return np.ascontiguousarray(self._cells[:, place : place + length])

    def lengths(self) -> Int64Array:
        """Read the length of the payload behind the stretch, and check the holes against it."""
        *outer, inner = self._template.holes
        n_bytes = self._length_in(inner)
        for hole in outer:
            self.refuse(self._length_in(hole) != n_bytes + hole.more)
        return n_bytes

    def refuse(self, differs: BoolArray) -> None:
        """Count some rows as not matching."""
        if differs.any():
            self.wrong = differs if self.wrong is None else self.wrong | differs

    def _length_in(self, hole: Hole) -> Int64Array:
        if hole.width == 1:
            return self._cells[:, hole.place].astype(np.int64)
        kept = np.uint64(int.from_bytes(b"\x7f" * hole.width, "little"))
        return squeeze(self._words_at(hole.place) & kept, hole.width).view(np.int64)

    def varints(self) -> tuple[Int64Array, Int64Array]:
        """Decode the varint that follows the stretch: values, and bytes of each."""
        place = self._template.n_bytes
        follow = self._words_at(place + LANE_BYTES)
        values, sizes = decode_words(self._words_at(place).copy(), lambda some: follow[some])
        return values.view(np.int64), sizes
