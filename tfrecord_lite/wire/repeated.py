"""All values of a repeated field of N messages, in whatever form they are stored.

::

    packed      tag length v v v v      numbers only: one chunk, values end to end
    unpacked    tag v  tag v  tag v     numbers; strings and messages always
    mixed       tag v  tag length v v   all values count, in order

Nearly every message with such a field is one chunk, or one string, and nothing else; only the others are
split into fields. Values are in *runs* of bytes: a packed chunk is a run of many values, an unpacked value
a run of one.

Packed varints are decoded by planes of bytes: byte k of all values is one *plane*::

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
from tfrecord_lite.wire.fields import only_field, renumbered, tokenise
from tfrecord_lite.wire.scalar import I32, LEN, MAX_VARINT_BYTES, VARINT, WireError
from tfrecord_lite.wire.varint import read_sized


def repeated_len(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, ByteRanges]:
    """Find the values of a repeated string, bytes or message field, whose number is below 16.

    Returns the number of values in each message, and all values by message.
    """
    owner, begin, length = _runs(data, starts, stops, number, LEN, depth)
    counts = np.bincount(owner, minlength=starts.size).astype(np.int64, copy=False)
    return counts, ByteRanges(data, begin, length)


def repeated_varint(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, Int64Array]:
    """Read all values of a repeated ``int64`` or ``uint64`` field: how many each message has, and all, as int64.

    Also raises WireError for a chunk that ends inside a value, or has a value of more than 10 bytes.
    """
    owner, begin, length = _runs(data, starts, stops, number, VARINT, depth)
    with renumbered(owner):
        per_run, values = varint_runs(ByteRanges(data, begin, length))
    return sums_of(owner, starts.size, per_run), values


def repeated_float(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, arrays.Float32Array]:
    """Read all values of a repeated ``float`` field; WireError for a chunk whose length is not a multiple of 4."""
    owner, begin, length = _runs(data, starts, stops, number, I32, depth)
    if (run := arrays.first_true(length & 3 != 0)) is not None:
        detail = f"a packed chunk of floats has {length[run]} bytes, expected a multiple of 4"
        raise WireError(int(owner[run]), int(begin[run]), detail)
    return sums_of(owner, starts.size, length >> 2), arrays.gather(data, begin, length).view("<f4")


def sums_of(owner: Int64Array, n_owners: int, numbers: Int64Array) -> Int64Array:
    """Add up the numbers of each owner."""
    sums = np.zeros(n_owners, np.int64)
    if (owner[1:] > owner[:-1]).all():  # at most one each
        sums[owner] = numbers
    else:
        np.add.at(sums, owner, numbers)
    return sums


def _runs(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, unpacked: int, depth: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Find the runs of values in each message: owner, start and length of each run."""
    everyone = np.arange(starts.size)
    if not everyone.size:
        return everyone, everyone, everyone
    begin, is_single = only_field(data, starts, stops, number << 3 | LEN)
    room = stops - begin
    if is_single.all():
        return everyone, begin, room
    rest, kept = np.flatnonzero(~is_single & (starts < stops)), np.flatnonzero(is_single)
    if rest.size == 0:
        return kept, begin[kept], room[kept]
    with renumbered(rest):
        fields = tokenise(data, starts[rest], stops[rest], depth)
    is_value = (fields.wire_type == LEN) | (fields.wire_type == unpacked)
    fields = fields.only((fields.number == number) & is_value)
    owner = np.concatenate([kept, rest[fields.owner]])
    order = np.argsort(owner, kind="stable")
    starts_of_runs = np.concatenate([begin[kept], fields.start])[order]
    lengths_of_runs = np.concatenate([room[kept], fields.stop - fields.start])[order]
    return owner[order], starts_of_runs, lengths_of_runs


# ------------------------------------------------------------------------------ packed varints

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
