r"""Many messages written at once: the same fields in each, nested, of any lengths.

The parts of :mod:`.parts` are stored from left to right, each in all N messages at once::

    stretch   prefixes and payloads of fixed size, joined to rows of up to 256 bytes
    spill     a short payload is stored with the bytes after it in its row; the next part,
              stored later, overwrites them, and after the last part there is a gap
    ranges    long payloads are copied out of their buffer, in pieces that overlap

No row or value is ever handled by Python on its own.
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
from tfrecord_lite.wire.pack import varint_rows
from tfrecord_lite.wire.parts import (
    GAP_BYTES,
    WIDEST_ROW_BYTES,
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

    Counts: TypeAlias = Int64Array | int

MAX_MESSAGE_BYTES = 2**31 - 1
"""The largest message that the protobuf runtime reads."""

_WIDEST_STRETCH_BYTES = 256


def emit_run(
    levels: tuple[bytes, ...], payload: Payload, n_messages: int
) -> tuple[Uint8Array, Int64Array]:
    """Write one field after the other, with nothing between them.

    `levels` are those of a :class:`Part`; few, so that short payloads have one prefix. Returns the
    data, owned, with a few unused bytes at the end; and the bytes of each field.
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


def emit_fields(
    fields: Sequence[tuple[bytes, Sequence[Part]]], n_messages: int
) -> tuple[Uint8Array, Int64Array, Int64Array]:
    """Write messages of several fields, each with a tag and the parts it holds, in order.

    With the tag b"" the parts stand in the message itself. Returns the data, owned, and offsets and
    lengths of the messages in it, in order. GAP_BYTES are before, between and after the messages;
    a block's spare bytes follow.

    Raises WireError for a message larger than MAX_MESSAGE_BYTES, before memory is allocated.
    """
    sized = [_sized_field(tag, parts, n_messages) for tag, parts in fields]
    lengths = np.zeros(n_messages, np.int64)
    for field, parts in sized:
        for one in parts if field is None else [field]:
            lengths += one.sizes
    if n_messages and lengths.max() > MAX_MESSAGE_BYTES:
        number = int((lengths > MAX_MESSAGE_BYTES).argmax())
        detail = f"{lengths[number]} bytes, but protobuf reads at most {MAX_MESSAGE_BYTES}"
        raise WireError(number, 0, detail)
    splits = row_splits(lengths + GAP_BYTES)
    data = np.empty(int(splits[-1]) + GAP_BYTES + SPARE_BYTES, np.uint8)
    offsets = splits[:-1] + GAP_BYTES
    if n_messages:
        pen = _Pen(data, offsets)
        for field, parts in sized:
            if field is not None:
                pen.prefix(field)
            for one in parts:
                pen.part(one)
        pen.flush()
    return data, offsets, lengths


def _sized_field(
    tag: bytes, parts: Sequence[Part], n_messages: int
) -> tuple[SizedPart | None, list[SizedPart]]:
    """Return a field of each message as a part whose payload is its content, and its parts."""
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

    The next part of message i goes to ``at[i]``; `at` has the shape (n_messages,).
    """

    def __init__(self, data: Uint8Array, at: Int64Array) -> None:
        self._data = data
        self._at = at
        self._shift = 0  # added to all of `_at` the next time they are used
        self._known = bytearray()  # the stretch that is not stored yet
        self._holes: list[tuple[int, Uint8Array]] = []  # to fill in: offset in the stretch, bytes

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
            content = _assemble(bytes(self._known), self._holes, self._at.size)
            self._store(content, self._places())
            self._shift = len(self._known)
            self._known, self._holes = bytearray(), []

    def _store(self, content: Uint8Array, at: Int64Array) -> None:
        """Store a row in each of many places."""
        rows(self._data, content.shape[1])[at] = _as_items(content)

    def _room_for(self, n_bytes: int) -> None:
        if len(self._known) + n_bytes > _WIDEST_STRETCH_BYTES:
            self.flush()

    def prefix(self, one: SizedPart) -> None:
        """Write the prefix of a part, and move on to its payload."""
        lengths = one.part.payload.lengths
        if one.is_plain:
            prefix = one.prefixes[0]
            self._room_for(len(prefix.known))
            begin = len(self._known)
            if isinstance(lengths, int):
                self._known += filled(prefix, lengths)
                return
            self._known += prefix.known
            self._holes += [(begin + hole.place, _digits(hole, lengths)) for hole in prefix.holes]
            return
        self.flush()
        at = self._places()
        for number, prefix in enumerate(one.prefixes):
            is_chosen = np.ones(at.size, np.bool_)
            if one.part.present is not None:
                is_chosen = one.part.present
            if one.numbers is not None:
                is_chosen = is_chosen & (one.numbers == number)
            chosen = np.flatnonzero(is_chosen)
            if chosen.size:
                some = lengths if isinstance(lengths, int) else lengths[chosen]
                holes = [(hole.place, _digits(hole, some)) for hole in prefix.holes]
                self._store(_assemble(prefix.known, holes, chosen.size), at[chosen])
        sizes = one.prefix_sizes
        self._advance(sizes if one.part.present is None else np.where(one.part.present, sizes, 0))

    def part(self, one: SizedPart) -> None:
        """Write a part, and move on to the next."""
        self.prefix(one)
        payload, present = one.part.payload, one.part.present
        lengths = payload.lengths
        match payload:
            case Fixed(content) if present is None and content.shape[1] <= WIDEST_ROW_BYTES:
                self._room_for(content.shape[1])
                self._holes.append((len(self._known), content))
                self._known += bytes(content.shape[1])
                return
            case Short(content) if present is None:
                self._room_for(content.shape[1])
                self._holes.append((len(self._known), content))
                self._known += bytes(content.shape[1])
                self.flush()
                self._shift -= content.shape[1]
            case _:
                self.flush()
                self._store_chosen(payload, present)
        if present is not None:
            lengths = np.where(present, lengths, 0)
        self._advance(lengths)

    def _store_chosen(self, payload: Payload, present: BoolArray | None) -> None:
        """Store payloads on their own, of all messages or of those that have the part."""
        at = self._places()
        chosen = slice(None) if present is None else np.flatnonzero(present)
        match payload:
            case Fixed(content) | Short(content):
                if content.shape[1]:
                    self._store(content[chosen], at[chosen])
            case ByteRanges():
                scatter(self._data, at[chosen], payload.take(chosen))
            case Objects(items):
                if present is not None:
                    items = [items[i] for i in np.flatnonzero(present).tolist()]
                place_all(self._data, at[chosen], items)


def _as_items(content: Uint8Array) -> AnyArray:
    """View rows of bytes as one item each, of a number's type where there is one."""
    n_bytes = content.shape[1]
    name = {1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}.get(n_bytes, f"V{n_bytes}")
    return content.view(name)[:, 0]


def _assemble(known: bytes, parts: Sequence[tuple[int, Uint8Array]], n_rows: int) -> Uint8Array:
    """Make rows of known bytes, and fill in the parts that differ."""
    width = len(known)
    whole = np.empty(n_rows, np.dtype((np.void, width)))
    whole[:] = np.frombuffer(known, whole.dtype)
    for place, content in parts:
        if content.shape[1]:
            items = _as_items(content)
            np.ndarray((n_rows,), items.dtype, whole, place, (width,))[:] = items
    return whole.view(np.uint8).reshape(n_rows, width)


def _digits(hole: Hole, lengths: Counts) -> Uint8Array:
    """Return a length for each row, as it stands in the hole."""
    if isinstance(lengths, int):
        lengths = np.full(1, lengths)
    numbers = lengths + hole.more
    if hole.width == 1:
        return numbers.astype(np.uint8).reshape(-1, 1)
    content, _ = varint_rows(numbers)
    return content[:, : hole.width]
