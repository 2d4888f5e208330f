"""Packed varints to numbers, by planes of bytes: byte k of all values is one *plane*.

::

    bytes      [00] 05 | ac 02 | 80 80 01 | 07        a byte below 0x80 ends a value
    plane 0         05   ac      80         07
    plane 1              02      80                   0 for values that have ended before
    plane 2                      01

A zero is prepended, so that the first value too begins after a byte that ends one. A plane is one
``take`` of bytes, 0.7 ns a value, where a gather of words costs 5 ns. Planes are joined as 7 + 7 bits in 16,
14 + 14 bits in 32; values of more than four bytes are decoded in the same way from the fifth, and the ninth.

Bits after the 64th are dropped, as protobuf's own decoders do (rule W16).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import AnyArray, ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.wire.scalar import MAX_VARINT_BYTES, WireError
from tfrecord_lite.wire.varint import read_sized

_GROUP_BYTES = 192 * 1024
"""Runs are decoded together up to this size, so that planes stay in the cache."""

_FEW_RUNS, _GROUP_RUNS = 64, 8 * 1024
"""Runs of one value each that are decoded at once: the first few, then the others."""

_BYTES_PER_LEVEL = 4
_TOP_BIT, _LOW_BITS = np.uint8(0x80), np.uint8(0x7F)


class _TooLongError(Exception):
    """A varint has more than ten bytes."""


def varint_runs(runs: ByteRanges) -> tuple[Int64Array, Int64Array]:
    """Decode runs of varints: the number of values in each run, and all values end to end, owned.

    Raises WireError, with the number of the run, if one ends inside a value or has a value of more than 10 bytes.
    """
    single = _one_each(runs)
    if single is not None:
        return np.ones(len(runs), np.int64), single
    splits = arrays.row_splits(runs.lengths)
    counts = np.empty(len(runs), np.int64)
    pieces: list[AnyArray] = []  # as narrow as they were decoded, until their number is known
    ends = np.searchsorted(splits, np.arange(_GROUP_BYTES, splits[-1], _GROUP_BYTES)).tolist()
    first = 0
    for last in [*sorted({*ends}), len(runs)]:
        span = slice(first, last)
        local = splits[first : last + 1] - splits[first]
        try:
            counts[span], values = _decode_group(runs.take(span), local)
        except WireError as error:
            number = first + error.message
            raise WireError(number, int(runs.starts[number]), error.detail) from None
        pieces.append(values)
        first = last
    values = np.empty(sum(map(len, pieces)), np.int64)
    return counts, np.concatenate(pieces, out=values, casting="unsafe")


def _one_each(runs: ByteRanges) -> Int64Array | None:
    """Decode runs of one varint each; None if some run is anything else."""
    if not 0 < int(runs.lengths.max(initial=0)) <= MAX_VARINT_BYTES:
        return None
    words, sizes = arrays.lanes(runs.data), runs.lengths.astype(np.uint8)
    values = np.empty(sizes.size, np.int64)
    # The first few show whether the others are worth a try.
    for first, last in pairwise([0, *range(_FEW_RUNS, sizes.size, _GROUP_RUNS), sizes.size]):
        span = slice(first, last)
        values[span], differs = read_sized(words, runs.starts[span], sizes[span])
        if differs is not None:
            return None
    return values


def _decode_group(runs: ByteRanges, splits: Int64Array) -> tuple[Int64Array, AnyArray]:
    """Decode runs, given their row splits: counts and values, as :func:`varint_runs`."""
    data = np.zeros(int(splits[-1]) + 1, np.uint8)
    data[1:] = runs.joined(splits)
    is_last = data < _TOP_BIT
    if np.count_nonzero(is_last) == data.size:
        return np.diff(splits), data[1:]
    lasts = is_last.nonzero()[0]  # of the zero too: value i begins after lasts[i]
    bad = np.flatnonzero(~is_last[splits[1:]] & (splits[1:] > splits[:-1]))[:1].tolist()
    values: AnyArray = lasts
    try:
        values = _decode(data, lasts[:-1], np.ones(lasts.size - 1, np.bool_), 0)
    except _TooLongError:
        long = int(np.flatnonzero(np.diff(lasts) > MAX_VARINT_BYTES)[0])
        bad.append(int(np.searchsorted(splits, lasts[long + 1] - 1, side="right")) - 1)
    if bad:
        detail = "a packed number does not end inside its chunk, or within 10 bytes"
        raise WireError(min(bad), 0, detail)
    return np.diff(np.searchsorted(lasts, splits, side="right")), values


def _decode(data: Uint8Array, before: Int64Array, goes_on: AnyArray, at: int) -> AnyArray:
    """Decode values from their byte `at` on, as narrow as they are.

    Each value begins after the byte at `before`, and has a byte `at` where it `goes_on`, which is overwritten.
    """
    plane = np.empty(before.size, np.uint8)

    def read_plane(k: int) -> bool:
        """Read byte k of all values; return whether one goes on after it."""
        data[at + k + 1 :].take(before, out=plane, mode="clip")
        np.multiply(plane, goes_on.view(np.uint8), out=plane)
        np.greater_equal(plane, _TOP_BIT, out=goes_on)
        np.bitwise_and(plane, _LOW_BITS, out=plane)
        return bool(goes_on.any())

    if not read_plane(0):
        return plane
    first = plane.astype(np.uint16)
    more = read_plane(1)
    pair = plane.astype(np.uint16)
    pair <<= np.uint16(7)
    pair |= first
    if not more:
        return pair
    if at == 2 * _BYTES_PER_LEVEL:
        raise _TooLongError
    more = read_plane(2)
    word = plane.astype(np.uint32)
    if more:
        more = read_plane(3)
        fourth = plane.astype(np.uint32)
        fourth <<= np.uint32(7)
        word |= fourth
    word <<= np.uint32(14)
    word |= pair
    if not more:
        return word
    values = word.astype(np.uint64)
    are_most_long = 2 * np.count_nonzero(goes_on) > before.size
    longer: Any = slice(None) if are_most_long else goes_on.nonzero()[0]
    rest = _decode(data, before[longer], goes_on[longer], at + _BYTES_PER_LEVEL)
    values[longer] |= rest.astype(np.uint64) << np.uint64(28)
    return values
