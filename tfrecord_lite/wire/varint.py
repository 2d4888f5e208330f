"""Base-128 varints to numbers and back, many at a time.

A varint stores a number 7 bits per byte, lowest first; the top bit of a byte says that another follows. Up to
8 bytes are decoded in one 64-bit word, without a loop over the bytes; the ninth and tenth need one more load::

    load       8 bytes from its start
    cut        the lowest clear top bit ends it: what is above is masked off
    squeeze    drop the top bits in three steps: 7+7 -> 14, 14+14 -> 28, 28+28 -> 56

From numbers to bytes, in one 32-bit word below 2**28, a 64-bit word below 2**56, else two; always minimal::

    spread     open gaps for the top bits, in three steps: 56 -> 28+28, 28 -> 14+14, 14 -> 7+7
    continue   set the top bit of all bytes but the last
    compact    copy the bytes that are used end to end

Bits after the 64th are dropped, as protobuf's own decoders do (rule W16).
Format: https://protobuf.dev/programming-guides/encoding/#varints
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import LANE_BYTES, BoolArray, Int64Array, Uint8Array, Uint64Array
from tfrecord_lite.wire.scalar import MAX_VARINT_BYTES

Words = TypeVar("Words", Uint64Array, arrays.Uint32Array)

TOO_LONG = MAX_VARINT_BYTES + 1
"""Stands for the size of a varint that has not ended after 10 bytes."""

_TOP_BITS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
_CONTINUED = np.uint64(0x0080808080808080)
"""The top bits of the bytes of a varint of 8 bytes: all set but the last."""
# Each step of squeeze joins pairs of groups: shift, bits of the lower one, of the upper one.
_STEPS = [
    (np.uint64(1), np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00)),
    (np.uint64(2), np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000)),
    (np.uint64(4), np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000)),
]


def squeeze(words: Uint64Array, n_bytes: int = 8) -> Uint64Array:
    """Drop the top bit of each byte of words, and close the gaps; in place. Returns words of 7 bits per byte.

    At most the `n_bytes` low bytes of a word are not zero; of one byte alone the top bit is clear.
    """
    moved = np.empty_like(words)
    for shift, low, high in _STEPS:
        if n_bytes > shift:
            np.bitwise_and(words, high, out=moved)
            moved >>= shift
            words &= low
            words |= moved
    return words


class Hole(NamedTuple):
    """A length of known width among known bytes, in many messages."""

    offset: int
    """Where it is among the bytes."""
    width: int
    """Its bytes, 1 to 5."""
    more: int
    """By how much the length is larger than that of the payload inside."""

    def lengths(self, byte_rows: Uint8Array) -> Int64Array:
        """Read the length in each message, given a row of its bytes."""
        if self.width == 1:
            return byte_rows[:, self.offset].astype(np.int64)
        kept = np.uint64(int.from_bytes(b"\x7f" * self.width, "little"))
        words = np.ndarray((len(byte_rows),), "<u8", byte_rows, self.offset, byte_rows.strides[:1])
        return squeeze(words & kept, self.width).view(np.int64)


def read_varints(lanes: Uint64Array, offsets: Int64Array) -> tuple[Uint64Array, Int64Array]:
    """Read one varint at each of many offsets: values (uint64), and bytes of each (int64).

    `lanes` is the buffer as words, one from every byte on (:func:`~tfrecord_lite.arrays.lanes`), with 16 bytes
    after each offset. A varint that has not ended after 10 bytes has the size :data:`TOO_LONG`, and no value.
    """
    loaded = lanes[offsets]
    ends = ~loaded & _TOP_BITS
    below = (ends - _ONE) & ~ends  # the bits below the lowest top bit that is clear
    small = (np.bitwise_count(below) + np.uint8(1)) >> np.uint8(3)
    values = squeeze(loaded & below, int(small.max(initial=1)))
    long = np.flatnonzero(small == 8)
    long = long[ends[long] == 0]
    sizes = small.astype(np.int64)
    if long.size:
        rest = lanes[offsets[long] + LANE_BYTES]
        values[long] = squeeze(loaded[long]) | (rest & np.uint64(0x7F)) << np.uint64(56)
        values[long] |= (rest & np.uint64(0x100)) << np.uint64(55)
        ninth, tenth = rest & np.uint64(0x80) == 0, rest & np.uint64(0x8000) == 0
        sizes[long] = np.where(ninth, 9, np.where(tenth, 10, TOO_LONG))
        values[long[ninth]] &= np.uint64(0x7FFFFFFFFFFFFFFF)
    return values, sizes


def read_sized(
    lanes: Uint64Array, offsets: Int64Array, sizes: Uint8Array
) -> tuple[Int64Array, BoolArray | None]:
    """Read one varint at each of many offsets, given the bytes of each: values, and which are wrong.

    As :func:`read_varints`, but faster. Anything but one varint of that size is wrong, and has any
    value; None if none is.
    """
    longest = int(np.maximum.reduce(sizes, initial=0))
    if longest > LANE_BYTES:
        values, sizes_read = read_varints(lanes, offsets)
        differs = sizes_read != sizes
        return values.view(np.int64), differs if np.count_nonzero(differs) else None
    loaded, n_bits = lanes[offsets], sizes.astype(np.uint64)
    is_empty = n_bits == 0
    n_bits <<= np.uint64(3)
    unused = np.subtract(np.uint64(64), n_bits, out=n_bits)
    loaded <<= unused
    loaded >>= unused
    differs = loaded & _TOP_BITS != _CONTINUED >> unused
    differs |= is_empty
    return squeeze(loaded, longest).view(np.int64), differs if np.count_nonzero(differs) else None


_RUN_VALUES = 32 * 1024
"""Values encoded at once, so that intermediate arrays stay in the cache."""

# Each step of _spread splits groups of bits: bound, bits that stay, bits that move, by how much.
_SPREAD_STEPS = (
    (1 << 28, 0x000000000FFFFFFF, 0x00FFFFFFF0000000, 4),
    (1 << 14, 0x00003FFF00003FFF, 0x0FFFC0000FFFC000, 2),
    (1 << 7, 0x007F007F007F007F, 0x3F803F803F803F80, 1),
)
_IN_32_BITS = 1 << 28
_IN_64_BITS = 1 << 56


def _spread(values: Words, largest: int) -> Words:
    """Put 7 bits into each byte of numbers below 2**56, or 2**28 for uint32; in place."""
    word, mask = values.dtype.type, int(~values.dtype.type(0))
    moved = np.empty_like(values)
    for bound, low, high, shift in _SPREAD_STEPS:
        if largest >= bound and high & mask:
            np.bitwise_and(values, word(high & mask), out=moved)
            moved <<= word(shift)
            values &= word(low & mask)
            values |= moved
    return values


def _continue(words: Words, largest: int) -> Words:
    """Set the top bit of all bytes but the last of spread numbers; return 1 for each byte that is used, else 0."""
    word, mask = words.dtype.type, int(~words.dtype.type(0))
    above = words >> word(8)  # byte k is not 0 if any byte above byte k of a number is not
    for bound, n_bits in ((1 << 14, 8), (1 << 21, 16), (1 << 35, 32)):
        if largest >= bound:
            above |= above >> word(n_bits)
    above += word(0x7F7F7F7F7F7F7F7F & mask)
    above &= word(0x8080808080808080 & mask)
    words |= above
    above <<= word(1)
    above |= word(1)
    return above


def varint_rows(values: Int64Array) -> tuple[Uint8Array, Uint8Array]:
    """Encode int64 numbers, each at the start of a row: shape (n, 8 or 16); and the bytes of each, shape (n,)."""
    unsigned = values.view(np.uint64)
    largest = int(unsigned.max(initial=0))
    words = _spread(unsigned & np.uint64(_IN_64_BITS - 1), min(largest, _IN_64_BITS - 1))
    sizes = np.bitwise_count(_continue(words, largest))
    if largest < _IN_64_BITS:
        return words.view(np.uint8).reshape(-1, LANE_BYTES), sizes
    above = unsigned >> np.uint64(56)
    words |= (above > 0) * _TOP_BITS
    np.bitwise_count(words & _TOP_BITS, out=sizes)
    tenth = above >> np.uint64(7)
    sizes += tenth.astype(np.uint8)
    sizes += np.uint8(1)
    cells = np.zeros((values.size, 2 * LANE_BYTES), np.uint8)
    pairs = cells.view(np.uint64)
    pairs[:, 0] = words
    pairs[:, 1] = (above & np.uint64(0x7F)) | tenth * np.uint64(0x180)
    return cells, sizes


def varint_run(values: Int64Array) -> tuple[Uint8Array, Uint8Array | int]:
    r"""Encode int64 numbers end to end; return the bytes of each varint too, a plain number if all have as many.

    >>> data, sizes = varint_run(np.array([1, 300]))
    >>> data.tobytes(), sizes.tolist()
    (b'\x01\xac\x02', [1, 2])
    """
    unsigned = values.view(np.uint64)
    if int(unsigned.max(initial=0)) < 1 << 7:
        return unsigned.astype(np.uint8), 1
    sizes = np.empty(values.size, np.uint8)
    pieces = []
    for first in range(0, values.size, _RUN_VALUES):
        span = slice(first, first + _RUN_VALUES)
        pieces.append(_encode_some(unsigned[span], sizes[span]))
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces), sizes


def _encode_some(values: Uint64Array, sizes: Uint8Array) -> Uint8Array:
    """Encode numbers end to end, and fill in their sizes."""
    largest = int(values.max())
    if largest < _IN_64_BITS:
        word: Any = np.uint32 if largest < _IN_32_BITS else np.uint64
        words = _spread(values.astype(word), largest)
        is_used = _continue(words, largest)
        np.bitwise_count(is_used, out=sizes)
        return words.view(np.uint8).take(is_used.view(np.bool_).nonzero()[0])
    cells, sizes[:] = varint_rows(values.view(np.int64))
    splits = arrays.row_splits(sizes.astype(np.int64))
    out = np.empty(int(splits[-1]) + 2 * LANE_BYTES, np.uint8)
    # Each is stored with the zeros after it, and the next one over those.
    arrays.rows(out, 2 * LANE_BYTES)[splits[:-1]] = cells.view((np.void, 2 * LANE_BYTES))[:, 0]
    return out[: splits[-1]]
