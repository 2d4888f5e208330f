r"""Many messages written at once: the same fields in each, nested, of any lengths.

The parts of :mod:`.parts` are stored from left to right, each of all N messages at once::

    stretch   heads and payloads of fixed size, joined to rows of up to 256 bytes
    spill     a short payload goes in with what is behind it in its row; the next
              part, stored later, covers that, and a gap behind each message the last
    ranges    long payloads are copied out of their buffer, in pieces that overlap

No row or value is ever looked at by Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    place_all,
    row_splits,
    rows,
    scatter,
)
from tfrecord_lite.block import SPARE_BYTES
from tfrecord_lite.wire.pack import varint_cells
from tfrecord_lite.wire.parts import (
    GAP_BYTES,
    WIDEST_CELL_BYTES,
    Fixed,
    Objects,
    Part,
    Short,
    SizedPart,
    filled,
)
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.wire.parts import Payload
    from tfrecord_lite.wire.template import Hole

    Cells: TypeAlias = Uint8Array
    Counts: TypeAlias = Int64Array | int

MAX_MESSAGE_BYTES = 2**31 - 1
"""The largest message that the protobuf runtime reads."""

_WIDEST_STRETCH_BYTES = 256


def emit_run(
    levels: tuple[bytes, ...], payload: Payload, n_messages: int
) -> tuple[Uint8Array, Int64Array]:
    """Write one field after the other, with nothing between them.

    Parameters
    ----------
    levels : tuple of bytes
        As those of a :class:`Part`; few, so that all heads of short payloads are alike.
    payload : Payload
    n_messages : int

    Returns
    -------
    data : uint8, shape (n_bytes,)
        Owned; a few bytes more than the fields take.
    sizes : int64, shape (n_messages,)
        Bytes of each field.
    """
    one = SizedPart(Part(levels, payload))
    sizes = np.broadcast_to(np.asarray(one.sizes, np.int64), (n_messages,))
    splits = row_splits(sizes)
    data = np.empty(int(splits[-1]) + GAP_BYTES, np.uint8)
    if n_messages:
        pen = _Pen(data, splits[:-1])
        pen.part(one)
        pen.flush()
    return data, sizes


def emit(
    tag: bytes, parts: Sequence[Part], n_messages: int
) -> tuple[Uint8Array, Int64Array, Int64Array]:
    """Write messages of one field, which holds all parts.

    Parameters
    ----------
    tag : bytes
        The field's tag.
    parts : sequence of Part
        In the order they are to be written.
    n_messages : int

    Returns
    -------
    data : uint8, shape (n_bytes,)
        Owned. GAP_BYTES lie before, between and behind the messages, and then a block's
        spare bytes.
    offsets, lengths : int64, shape (n_messages,)
        Where in `data` the messages are, one behind the other.

    Raises
    ------
    WireError
        For a message larger than MAX_MESSAGE_BYTES, before memory for it is asked for.
    """
    return emit_fields([(tag, parts)], n_messages)


def emit_fields(
    fields: Sequence[tuple[bytes, Sequence[Part]]], n_messages: int
) -> tuple[Uint8Array, Int64Array, Int64Array]:
    """Write messages of several fields, each of which holds some parts.

    Parameters
    ----------
    fields : sequence of (tag, parts)
        In the order they are to be written. Without a tag, b"", the parts stand in the
        message itself.
    n_messages : int

    Returns
    -------
    data, offsets, lengths
        As :func:`emit`.

    Raises
    ------
    WireError
        As :func:`emit`.
    """
    sized = [_sized_field(tag, parts, n_messages) for tag, parts in fields]
    lengths = np.zeros(n_messages, np.int64)
    for head, parts in sized:
        for one in parts if head is None else [head]:
            lengths += one.sizes
    if n_messages and lengths.max() > MAX_MESSAGE_BYTES:
        number = int((lengths > MAX_MESSAGE_BYTES).argmax())
        detail = f"{lengths[number]} bytes, protobuf reads at most {MAX_MESSAGE_BYTES}"
        raise WireError(number, 0, detail)
    splits = row_splits(lengths + GAP_BYTES)
    data = np.empty(int(splits[-1]) + GAP_BYTES + SPARE_BYTES, np.uint8)
    offsets = splits[:-1] + GAP_BYTES
    if n_messages:
        pen = _Pen(data, offsets)
        for head, parts in sized:
            if head is not None:
                pen.heads(head)
            for one in parts:
                pen.part(one)
        pen.flush()
    return data, offsets, lengths


def _sized_field(
    tag: bytes, parts: Sequence[Part], n_messages: int
) -> tuple[SizedPart | None, list[SizedPart]]:
    """Return a field of each message, as if its content were one payload, and what it holds."""
    sized = [SizedPart(part) for part in parts]
    if not tag:
        return None, sized
    within = np.zeros(n_messages, np.int64)
    constant = 0
    for one in sized:
        if isinstance(one.sizes, int):
            constant += one.sizes
        else:
            within += one.sizes
    within += constant
    return SizedPart(Part((tag,), Short(np.zeros((n_messages, 0), np.uint8), within))), sized


class _Pen:
    """Stores parts in all messages at once, from left to right.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
    at : int64, shape (n_messages,)
        Where the first part of each message goes.
    """

    def __init__(self, data: Uint8Array, at: Int64Array) -> None:
        self._data = data
        self._at = at
        self._shift = 0  # how much further all of them are, besides
        self._known = bytearray()  # of the stretch that is not stored yet
        self._cells: list[tuple[int, Cells]] = []  # to fill in, and where

    def _advance(self, sizes: Counts) -> None:
        if isinstance(sizes, int):
            self._shift += sizes
        else:
            self._at = self._at + sizes

    def _places(self) -> Int64Array:
        if self._shift:
            self._at = self._at + self._shift
            self._shift = 0
        return self._at

    def flush(self) -> None:
        """Store the stretch."""
        if self._known:
            cells = _assemble(bytes(self._known), self._cells, self._at.size)
            self._store(cells, self._places())
            self._shift = len(self._known)
            self._known, self._cells = bytearray(), []

    def _store(self, cells: Cells, at: Int64Array) -> None:
        """Store a row in each of many places."""
        rows(self._data, cells.shape[1])[at] = _as_items(cells)

    def _room_for(self, n_bytes: int) -> None:
        if len(self._known) + n_bytes > _WIDEST_STRETCH_BYTES:
            self.flush()

    def heads(self, one: SizedPart) -> None:
        """Write the head of a part, and be behind it."""
        lengths = one.part.payload.lengths
        if one.is_plain:
            head = one.heads[0]
            self._room_for(len(head.known))
            begin = len(self._known)
            if isinstance(lengths, int):
                self._known += filled(head, lengths)
                return
            self._known += head.known
            self._cells += [(begin + hole.place, _digits(hole, lengths)) for hole in head.holes]
            return
        self.flush()
        at = self._places()
        for number, head in enumerate(one.heads):
            is_chosen = np.ones(at.size, np.bool_)
            if one.part.present is not None:
                is_chosen = one.part.present
            if one.numbers is not None:
                is_chosen = is_chosen & (one.numbers == number)
            chosen = np.flatnonzero(is_chosen)
            if chosen.size:
                some = lengths if isinstance(lengths, int) else lengths[chosen]
                holes = [(hole.place, _digits(hole, some)) for hole in head.holes]
                self._store(_assemble(head.known, holes, chosen.size), at[chosen])
        sizes = one.head_sizes
        self._advance(sizes if one.part.present is None else np.where(one.part.present, sizes, 0))

    def part(self, one: SizedPart) -> None:
        """Write a part, and be behind it."""
        self.heads(one)
        payload, present = one.part.payload, one.part.present
        lengths = payload.lengths
        match payload:
            case Fixed(cells) if present is None and cells.shape[1] <= WIDEST_CELL_BYTES:
                self._room_for(cells.shape[1])
                self._cells.append((len(self._known), cells))
                self._known += bytes(cells.shape[1])
                return
            case Short(cells) if present is None:
                self._room_for(cells.shape[1])
                self._cells.append((len(self._known), cells))
                self._known += bytes(cells.shape[1])
                self.flush()
                self._shift -= cells.shape[1]
            case _:
                self.flush()
                self._store_chosen(payload, present)
        if present is not None:
            lengths = np.where(present, lengths, 0)
        self._advance(lengths)

    def _store_chosen(self, payload: Payload, present: BoolArray | None) -> None:
        """Store payloads by themselves, of all messages or of some."""
        at = self._places()
        chosen = slice(None) if present is None else np.flatnonzero(present)
        match payload:
            case Fixed(cells) | Short(cells):
                if cells.shape[1]:
                    self._store(cells[chosen], at[chosen])
            case ByteRanges(data, starts, sizes):
                scatter(self._data, at[chosen], data, starts[chosen], sizes[chosen])
            case Objects(items):
                if present is not None:
                    items = [items[i] for i in np.flatnonzero(present).tolist()]
                place_all(self._data, at[chosen], items)


def _as_items(cells: Cells) -> AnyArray:
    """View rows of bytes as one item each, of a number's type where there is one."""
    n_bytes = cells.shape[1]
    name = {1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}.get(n_bytes, f"V{n_bytes}")
    return cells.view(name)[:, 0]


def _assemble(known: bytes, parts: Sequence[tuple[int, Cells]], n_rows: int) -> Cells:
    """Make rows of known bytes, and fill in what differs."""
    width = len(known)
    whole = np.empty(n_rows, np.dtype((np.void, width)))
    whole[:] = np.frombuffer(known, whole.dtype)
    for place, cells in parts:
        if cells.shape[1]:
            items = _as_items(cells)
            np.ndarray((n_rows,), items.dtype, whole, place, (width,))[:] = items
    return whole.view(np.uint8).reshape(n_rows, width)


def _digits(hole: Hole, lengths: Counts) -> Cells:
    """Return a length for each row, as it stands in the hole."""
    if isinstance(lengths, int):
        lengths = np.full(1, lengths)
    numbers = lengths + hole.more
    if hole.width == 1:
        return numbers.astype(np.uint8).reshape(-1, 1)
    cells, _ = varint_cells(numbers)
    return cells[:, : hole.width]
