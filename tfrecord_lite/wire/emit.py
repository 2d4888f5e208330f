r"""Many messages written at once: the same fields in each, nested, of any lengths.

Parts are stored from left to right, each in all N messages at once::

    stretch   prefixes and payloads of fixed size, joined to rows of up to 256 bytes
    spill     a short payload is stored with the bytes after it in its row; the next part,
              stored later, overwrites them, and after the last part there is a gap
    ranges    long payloads are copied out of their buffer, in pieces that overlap

A :class:`Part` is one field of N messages: known bytes and lengths, one inside the other,
around one payload::

    known     0a    0a 05 l a b e l 12    1a    0a    then n bytes
    lengths      n+13                  n+4   n+2   n     ╰─ payload

How many bytes the lengths take depends on n alone, and only in steps. So a part has one
:class:`Prefix` if all payloads are of similar length, and else a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from typing import NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.block import OVERHEAD_BYTES, SPARE_BYTES
from tfrecord_lite.wire.scalar import WireError, varint_size
from tfrecord_lite.wire.varint import Hole, varint_rows

Counts: TypeAlias = "Int64Array | int"

_WIDEST_ROW = 64
"""Wider payloads are stored from where they are, without a copy into a stretch."""


class Fixed(NamedTuple):
    """Payloads of one size, in rows."""

    rows: Uint8Array
    """uint8, shape (n_messages, n_bytes); contiguous along the last axis."""

    @property
    def lengths(self) -> Counts:
        """Bytes of each payload."""
        return int(self.rows.shape[1])


class Short(NamedTuple):
    """Payloads of several sizes, in rows with room for the longest."""

    rows: Uint8Array
    """uint8, shape (n_messages, width); at most OVERHEAD_BYTES wider than the shortest payload."""
    lengths: Int64Array


class Objects(NamedTuple):
    """Large payloads, an object each."""

    items: Sequence[arrays.Buffer]
    lengths: Int64Array


Payload: TypeAlias = Fixed | Short | ByteRanges | Objects


class Prefix(NamedTuple):
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
        holes = [Hole(h.offset + begin + width, h.width, h.more) for h in holes]
        holes.insert(0, Hole(begin, width, more))
        inner = level + b"\x80" * (width - 1) + b"\0" + inner
        more += begin + width
    return Prefix(inner, tuple(holes), largest)


def filled(prefix: Prefix, n_bytes: int) -> bytes:
    """Return a prefix with its holes filled in for one payload."""
    known = bytearray(prefix.known)
    for hole in prefix.holes:
        for i in range(hole.width):
            known[hole.offset + i] |= (n_bytes + hole.more) >> 7 * i & 0x7F
    return bytes(known)


def prefix_bytes(levels: tuple[bytes, ...], n_bytes: int) -> bytes:
    r"""Return the bytes before one payload: the known ones, and the lengths.

    >>> prefix_bytes((b"\x0a", b"\x12"), 300)
    b'\n\xaf\x02\x12\xac\x02'
    """
    return filled(prefix_of(levels, n_bytes), n_bytes)


class Part:
    """One field of N messages, the prefixes it has, and its bytes in each message.

    `levels` has the bytes before each length, outermost first: a tag, or fields and a tag. `present` says which
    messages have the field, shape (n_messages,); None for all.
    """

    def __init__(
        self, levels: tuple[bytes, ...], payload: Payload, present: BoolArray | None = None
    ) -> None:
        self.payload = payload
        self.present = present
        lengths = payload.lengths
        if isinstance(lengths, int):
            low = high = lengths
        else:
            low, high = int(lengths.min(initial=1 << 62)), int(lengths.max(initial=0))
        self.prefixes: list[Prefix] = [prefix_of(levels, min(low, high))]
        while self.prefixes[-1].largest < high:
            self.prefixes.append(prefix_of(levels, self.prefixes[-1].largest + 1))
        self.numbers: Int64Array | None = None
        """Which prefix each message has; None if all have the first."""
        self.prefix_sizes: Counts = len(self.prefixes[0].known)
        if len(self.prefixes) > 1:
            bounds = np.array([prefix.largest for prefix in self.prefixes[:-1]])
            self.numbers = np.searchsorted(bounds, lengths).astype(np.int64)
            prefix_sizes = np.array([len(prefix.known) for prefix in self.prefixes])
            self.prefix_sizes = prefix_sizes[self.numbers]
        self.sizes: Counts = self.only_present(lengths + self.prefix_sizes)

    def only_present(self, sizes: Counts) -> Counts:
        """Return sizes, 0 for messages without the field."""
        return sizes if self.present is None else np.where(self.present, sizes, 0)


def compact(data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> Payload:
    """Return byte ranges as the payload that is stored fastest; short ones are copied."""
    longest = int(lengths.max(initial=0))
    shortest = int(lengths.min()) if lengths.size else 0
    is_even = longest == shortest
    if longest > _WIDEST_ROW or longest - shortest > OVERHEAD_BYTES or not starts.size:
        return ByteRanges(data, starts, lengths)
    if longest == 0:
        return Fixed(np.zeros((starts.size, 0), np.uint8))
    if int(starts.max()) + longest > data.size:
        data = np.concatenate([data, np.zeros(longest, np.uint8)])
    cells = arrays.rows(data, longest)[starts].view(np.uint8).reshape(-1, longest)
    return Fixed(cells) if is_even else Short(cells, lengths)


MAX_MESSAGE_BYTES = 2**31 - 1
"""The largest message that the protobuf runtime reads."""

_WIDEST_STRETCH_BYTES = 256


def emit_run(part: Part, n_messages: int) -> tuple[Uint8Array, Int64Array]:
    """Write one field after the other, with nothing between them; few levels, so that short payloads have one prefix.

    Returns the data, owned, with a few unused bytes at the end; and the bytes of each field.
    """
    sizes = np.broadcast_to(np.asarray(part.sizes, np.int64), (n_messages,))
    splits = arrays.row_splits(sizes)
    data = np.empty(int(splits[-1]) + OVERHEAD_BYTES, np.uint8)
    if n_messages:
        pen = _Pen(data, splits[:-1])
        pen.part(part)
        pen.flush()
    return data, sizes


def emit_fields(
    fields: Sequence[tuple[bytes, Sequence[Part]]], n_messages: int
) -> tuple[Uint8Array, Int64Array, Int64Array]:
    """Write messages of several fields, each with a tag and the parts it holds, in order.

    With the tag b"" the parts are in the message itself. Returns the data, owned, and offsets and
    lengths of the messages in it, in order. OVERHEAD_BYTES are before, between and after the messages;
    a block's spare bytes follow.

    Raises WireError for a message larger than MAX_MESSAGE_BYTES, before memory is allocated.
    """
    arrays.keep_freed_pages()
    wholes: list[Part | None] = []  # each field with all its parts as one payload
    lengths = np.zeros(n_messages, np.int64)
    for tag, parts in fields:
        within = np.zeros(n_messages, np.int64)  # bytes of the content of the field in each message
        for part in parts:
            within += part.sizes
        no_rows = np.zeros((n_messages, 0), np.uint8)
        wholes.append(Part((tag,), Short(no_rows, within)) if tag else None)
        lengths += within if wholes[-1] is None else wholes[-1].sizes
    if (number := arrays.first_true(lengths > MAX_MESSAGE_BYTES)) is not None:
        detail = f"{lengths[number]} bytes, but protobuf reads at most {MAX_MESSAGE_BYTES}"
        raise WireError(number, 0, detail)
    splits = arrays.row_splits(lengths + OVERHEAD_BYTES)
    data = np.empty(int(splits[-1]) + OVERHEAD_BYTES + SPARE_BYTES, np.uint8)
    offsets = splits[:-1] + OVERHEAD_BYTES
    if n_messages:
        pen = _Pen(data, offsets)
        for whole, (_, parts) in zip(wholes, fields, strict=True):
            if whole is not None:
                pen.prefix(whole)
            for part in parts:
                pen.part(part)
        pen.flush()
    return data, offsets, lengths


class _Pen:
    """Stores parts in all messages at once, from left to right: the next part of message i at ``at[i]``."""

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
        arrays.rows(self._data, content.shape[1])[at] = _as_items(content)

    def _room_for(self, n_bytes: int) -> None:
        if len(self._known) + n_bytes > _WIDEST_STRETCH_BYTES:
            self.flush()

    def prefix(self, part: Part) -> None:
        """Write the prefix of a part, and move on to its payload."""
        lengths = part.payload.lengths
        if part.numbers is None and part.present is None:
            prefix = part.prefixes[0]
            self._room_for(len(prefix.known))
            begin = len(self._known)
            if isinstance(lengths, int):
                self._known += filled(prefix, lengths)
                return
            self._known += prefix.known
            self._holes += [(begin + hole.offset, _digits(hole, lengths)) for hole in prefix.holes]
            return
        self.flush()
        at = self._places()
        for number, prefix in enumerate(part.prefixes):
            is_chosen = np.ones(at.size, np.bool_) if part.present is None else part.present
            if part.numbers is not None:
                is_chosen = is_chosen & (part.numbers == number)
            chosen = np.flatnonzero(is_chosen)
            if chosen.size:
                chosen_lengths = lengths if isinstance(lengths, int) else lengths[chosen]
                holes = [(hole.offset, _digits(hole, chosen_lengths)) for hole in prefix.holes]
                self._store(_assemble(prefix.known, holes, chosen.size), at[chosen])
        self._advance(part.only_present(part.prefix_sizes))

    def part(self, part: Part) -> None:
        """Write a part, and move on to the next."""
        self.prefix(part)
        payload, present = part.payload, part.present
        match payload:
            case Fixed(cells) | Short(cells) if present is None and cells.shape[1] <= _WIDEST_ROW:
                width = cells.shape[1]
                self._room_for(width)
                self._holes.append((len(self._known), cells))
                self._known += bytes(width)
                if isinstance(payload, Fixed):
                    return
                self.flush()
                self._shift -= width
            case _:
                self.flush()
                self._store_chosen(payload, present)
        self._advance(part.only_present(payload.lengths))

    def _store_chosen(self, payload: Payload, present: BoolArray | None) -> None:
        """Store payloads on their own, of all messages or of those that have the part."""
        at = self._places()
        chosen = slice(None) if present is None else np.flatnonzero(present)
        match payload:
            case Fixed(content) | Short(content):
                if content.shape[1]:
                    self._store(content[chosen], at[chosen])
            case ByteRanges():
                arrays.scatter(self._data, at[chosen], payload.take(chosen))
            case Objects(items):
                if present is not None:
                    items = list(compress(items, present.tolist()))
                arrays.place_all(self._data, at[chosen], items)


def _as_items(content: Uint8Array) -> arrays.AnyArray:
    """View rows of bytes as one item each, of a number's type where there is one."""
    n_bytes = content.shape[1]
    return content.view({1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}.get(n_bytes, f"V{n_bytes}"))[:, 0]


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
    """Return a length for each row, as the hole holds it."""
    if isinstance(lengths, int):
        lengths = np.full(1, lengths)
    numbers = lengths + hole.more
    if hole.width == 1:
        return numbers.astype(np.uint8).reshape(-1, 1)
    content, _ = varint_rows(numbers)
    return content[:, : hole.width]
