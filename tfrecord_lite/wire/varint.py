"""Base-128 varints to numbers, many at a time; :mod:`.pack` is the other direction.

A varint stores a number 7 bits per byte, lowest first; the top bit of a byte says that
another follows. Ten bytes hold 64 bits, so a negative ``int64`` takes ten.

A varint of up to 8 bytes is decoded in one 64-bit word, without a loop over its bytes::

    load       8 bytes from its start
    cut        the lowest clear top bit ends it: what is above is masked off
    squeeze    drop the top bits in three steps: 7+7 -> 14, 14+14 -> 28, 28+28 -> 56

The ninth and tenth byte, for the few numbers that have them, come with one more load.

Bits after the 64th are dropped, as protobuf's own decoders do (rule W16).

Format: https://protobuf.dev/programming-guides/encoding/#varints
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.arrays import (
    LANE_BYTES,
    BoolArray,
    Int64Array,
    Uint8Array,
    Uint32Array,
    Uint64Array,
)
from tfrecord_lite.wire.scalar import MAX_VARINT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable


Words = TypeVar("Words", "Uint64Array", "Uint32Array")

SHORT_BYTES = 4
"""Bytes of the varints that :func:`read_short` decodes."""

TOO_LONG = MAX_VARINT_BYTES + 1
"""Stands for the size of a varint that has not ended after 10 bytes."""

_TOP_BITS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
_ALL_BUT_LAST = np.uint64(0x0080808080808080)
# Each step of squeeze joins pairs of groups: shift, bits of the lower one, of the upper one.
_STEPS: dict[int, list[tuple[int, Any, Any, Any]]] = {
    word(0).itemsize: [
        (reach, word(reach), word(low & int(~word(0))), word(high & int(~word(0))))
        for reach, low, high in (
            (1, 0x007F007F007F007F, 0x7F007F007F007F00),
            (2, 0x00003FFF00003FFF, 0x3FFF00003FFF0000),
            (4, 0x000000000FFFFFFF, 0x0FFFFFFF00000000),
        )
    ]
    for word in (np.uint32, np.uint64)
}


def squeeze(words: Words, n_bytes: int = 8) -> Words:
    """Drop the top bit of each byte of words, and close the gaps; in place.

    At most the `n_bytes` low bytes of a word are not zero; of one byte alone the top bit is clear.
    Returns words of 7 bits per byte.
    """
    moved = np.empty_like(words)
    for reach, shift, low, high in _STEPS[words.itemsize]:
        if n_bytes > reach:
            np.bitwise_and(words, high, out=moved)
            moved >>= shift
            words &= low
            words |= moved
    return words


def read_varints(words: Uint64Array, offsets: Int64Array) -> tuple[Uint64Array, Int64Array]:
    """Read one varint at each of many offsets: values (uint64), and bytes of each (int64).

    `words` is the buffer as :func:`~tfrecord_lite.arrays.lanes`, with 16 bytes after each offset.
    A varint that has not ended after 10 bytes has the size :data:`TOO_LONG`, and no value. The
    caller checks that each ends within its message.
    """
    return decode_words(words[offsets], lambda some: words[offsets[some] + 8])


def decode_words(
    loaded: Uint64Array, next_words: Callable[[Int64Array], Uint64Array]
) -> tuple[Uint64Array, Int64Array]:
    """Decode the varint at the start of each of many 64-bit words, as :func:`read_varints`.

    `next_words` returns the next eight bytes of some of them, given their indices.
    """
    ends = ~loaded & _TOP_BITS
    below = (ends - _ONE) & ~ends  # the bits below the lowest top bit that is clear
    small = (np.bitwise_count(below) + np.uint8(1)) >> np.uint8(3)
    values = squeeze(loaded & below, int(small.max(initial=1)))
    long = np.flatnonzero(small == 8)
    long = long[ends[long] == 0]
    sizes = small.astype(np.int64)
    if long.size:
        rest = next_words(long)
        values[long] = squeeze(loaded[long]) | (rest & np.uint64(0x7F)) << np.uint64(56)
        values[long] |= (rest & np.uint64(0x100)) << np.uint64(55)
        ninth, tenth = rest & np.uint64(0x80) == 0, rest & np.uint64(0x8000) == 0
        sizes[long] = np.where(ninth, 9, np.where(tenth, 10, TOO_LONG))
        values[long[ninth]] &= np.uint64(0x7FFFFFFFFFFFFFFF)
    return values, sizes


def read_short(words: Uint32Array, sizes: Uint32Array) -> Uint32Array | None:
    """Decode varints of known size, 1 to 4 bytes, each at the start of a 32-bit word.

    Overwrites both arrays. None if the bytes of some are anything else than one varint.
    """
    sizes <<= np.uint32(3)
    unused = np.subtract(np.uint32(32), sizes, out=sizes)
    words <<= unused
    words >>= unused
    continued = np.uint32(0x00808080) >> unused  # the top bits of all bytes but the last
    if (words & np.uint32(0x80808080) != continued).any():
        return None
    return squeeze(words, SHORT_BYTES)


def read_sized(
    words: Uint64Array, offsets: Int64Array, sizes: Uint8Array
) -> tuple[Int64Array, BoolArray | None]:
    """Read one varint at each of many offsets, given the bytes of each: values, and which are wrong.

    As :func:`read_varints`, but faster. Anything but one varint of that size is wrong, and has any
    value; None if none is.
    """
    longest = int(np.maximum.reduce(sizes, initial=0))
    if longest <= LANE_BYTES:
        return decode_sized(words[offsets], sizes.astype(np.uint64), longest)
    values, found = read_varints(words, offsets)
    differs = found != sizes
    return values.view(np.int64), differs if np.count_nonzero(differs) else None


def decode_sized(
    loaded: Uint64Array, sizes: Uint64Array, longest: int
) -> tuple[Int64Array, BoolArray | None]:
    """Decode varints of known size, up to eight bytes, each at the start of a word; as :func:`read_sized`.

    Overwrites both arrays; `longest` is the largest size.
    """
    is_empty = sizes == 0
    sizes <<= np.uint64(3)
    unused = np.subtract(np.uint64(64), sizes, out=sizes)
    loaded <<= unused
    loaded >>= unused
    differs = loaded & _TOP_BITS != _ALL_BUT_LAST >> unused
    differs |= is_empty
    values = squeeze(loaded, longest).view(np.int64)
    return values, differs if np.count_nonzero(differs) else None
