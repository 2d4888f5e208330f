"""All values of a repeated field of N messages, in whatever form they are stored.

::

    packed      tag length v v v v      numbers only: one chunk, values end to end
    unpacked    tag v  tag v  tag v     numbers; strings and messages always
    mixed       tag v  tag length v v   all values count, in order

Nearly every message with such a field is one chunk, or one string, and nothing else. That form is
read without splitting messages into fields; the others go through :func:`~.fields.tokenise`. In both
cases values come as *runs* of bytes: a packed chunk is a run of many values, an unpacked value a run
of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecord_lite import jit
from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    Uint32Array,
    gather,
    lanes,
    row_splits,
    short_lanes,
)
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise
from tfrecord_lite.wire.scalar import I32, LEN, MAX_VARINT_BYTES, VARINT, WireError
from tfrecord_lite.wire.varint import SHORT_BYTES, decode_run, read_short, read_varints

_GROUP_BYTES = 64 * 1024
_GROUP_VALUES = 8 * 1024
"""Bytes and values decoded at once, so that intermediate arrays stay in the cache."""


def repeated_len(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, ByteRanges]:
    """Find the values of a repeated string, bytes or message field.

    The arguments are those of :func:`~.fields.tokenise`, and the field's number, below 16.
    Returns the number of values in each message, and all values by message.
    """
    single = _single_chunks(data, starts, stops, number)
    if single is not None:
        begin, is_single = single
        if is_single.all():
            return np.ones(starts.size, np.int64), ByteRanges(data, begin, stops - begin)
    fields = tokenise(data, starts, stops, depth)
    fields = fields.only((fields.number == number) & (fields.wire_type == LEN))
    counts = np.bincount(fields.owner, minlength=starts.size).astype(np.int64, copy=False)
    return counts, ByteRanges(data, fields.start, fields.stop - fields.start)


def repeated_varint(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, Int64Array]:
    """Read all values of a repeated ``int64`` or ``uint64`` field, as int64.

    Takes what :func:`repeated_len` takes. Returns the number of values in each message, and all
    values end to end, which own their memory. Also raises WireError for a chunk that ends inside
    a value, or has a value of more than 10 bytes.
    """
    owner, begin, length = _runs(data, starts, stops, number, VARINT, depth)
    with renumbered(owner):
        per_run, values = varint_runs(ByteRanges(data, begin, length))
    return _per_message(owner, starts.size, per_run), values


def varint_runs(runs: ByteRanges) -> tuple[Int64Array, Int64Array]:
    """Decode runs of varints, such as the packed chunks of many messages.

    Returns the number of values in each run, and all values end to end, which own their memory.
    Raises WireError with the number of the run, as :func:`repeated_varint`.
    """
    if jit.kernels is not None and (found := _compiled_runs(jit.kernels, runs)) is not None:
        return found
    starts, lengths = runs.starts, runs.lengths
    single = _one_each(runs)
    if single is not None:
        return np.ones(starts.size, np.int64), single
    counts = np.empty(starts.size, np.int64)
    pieces: list[AnyArray] = []  # as narrow as they were decoded, until their number is known
    first = 0
    for last in _groups(lengths):
        run = slice(first, last)
        try:
            counts[run], some = _decode_runs(runs.take(run).joined(), lengths[run])
        except WireError as error:
            number = first + error.message
            raise WireError(number, int(starts[number]), error.detail) from None
        pieces.append(some)
        first = last
    values = np.empty(sum(map(len, pieces)), np.int64)
    return counts, np.concatenate(pieces, out=values, casting="same_kind")


def _compiled_runs(kernels: Any, runs: ByteRanges) -> tuple[Int64Array, Int64Array] | None:
    """Decode runs by kernels; None if those are not sure of one."""
    counts = np.empty(len(runs), np.int64)
    n_values = kernels.count_varints(runs.data, runs.starts, runs.lengths, counts)
    if n_values < 0:
        return None
    values = np.empty(n_values, np.uint64)
    if not kernels.decode_varints(runs.data, runs.starts, runs.lengths, values):
        return None
    return counts, values.view(np.int64)


def _one_each(runs: ByteRanges) -> Int64Array | None:
    """Decode runs of one varint each; None if some run is anything else."""
    data, starts, lengths = runs.data, runs.starts, runs.lengths
    longest = int(lengths.max(initial=0))
    if not 0 < longest <= MAX_VARINT_BYTES or int(lengths.min()) < 1:
        return None
    values = np.empty(starts.size, np.int64)
    words, short = lanes(data), short_lanes(data)
    for first in range(0, starts.size, _GROUP_VALUES):
        some = slice(first, first + _GROUP_VALUES)
        if longest <= SHORT_BYTES:
            found = read_short(short[starts[some]], lengths[some].astype(np.uint32))
            if found is None:
                return None
            values[some] = found
            continue
        numbers, sizes = read_varints(words, starts[some])
        if (sizes != lengths[some]).any():
            return None
        values[some] = numbers.view(np.int64)
    return values


def _groups(lengths: Int64Array) -> list[int]:
    """Divide runs into groups that fit the cache; return the end of each group."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    if total <= _GROUP_BYTES:
        return [lengths.size]
    cuts = np.searchsorted(ends, np.arange(_GROUP_BYTES, total, _GROUP_BYTES))
    return [*sorted(set(cuts.tolist())), lengths.size]


def _decode_runs(data: Uint8Array, lengths: Int64Array) -> tuple[Int64Array, AnyArray]:
    """Decode runs that lie end to end: counts and values, as :func:`varint_runs`."""
    values, lasts = decode_run(data)
    ends = row_splits(lengths)
    is_cut = np.zeros(lengths.size, np.bool_)
    filled = np.flatnonzero(lengths)
    is_cut[filled] = data[ends[1:][filled] - 1] >= 0x80
    # Only values of more than eight bytes come as int64, and few runs have any.
    is_long = np.empty(0, np.int64)
    if values.dtype == np.int64:
        is_long = np.flatnonzero(np.diff(lasts, prepend=-1) > MAX_VARINT_BYTES)
    if is_cut.any() or is_long.size:
        bad = np.flatnonzero(is_cut)[:1].tolist()
        if is_long.size:
            last = int(lasts[is_long[0]])
            bad.append(int(np.searchsorted(ends, last, side="right")) - 1)
        detail = "a packed number does not end inside its chunk, or within 10 bytes"
        raise WireError(min(bad), 0, detail)
    return np.diff(np.searchsorted(lasts, ends)), values


def repeated_fixed32(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, Uint32Array]:
    """Read all values of a repeated ``float`` or ``fixed32`` field, as their 32 bits.

    As :func:`repeated_varint`; raises WireError for a chunk whose length is not a multiple of 4.
    """
    owner, begin, length = _runs(data, starts, stops, number, I32, depth)
    odd = np.flatnonzero(length & 3)
    if odd.size:
        run = int(odd[0])
        detail = f"a packed chunk of floats has {length[run]} bytes, expected a multiple of 4"
        raise WireError(int(owner[run]), int(begin[run]), detail)
    values = gather(data, begin, length).view("<u4")
    return _per_message(owner, starts.size, length >> 2), values


def _per_message(owner: Int64Array, n_messages: int, per_run: Int64Array) -> Int64Array:
    """Add up the values of each message's runs."""
    if owner.size == n_messages and (owner[1:] > owner[:-1]).all():  # one run per message
        return per_run
    counts = np.zeros(n_messages, np.int64)
    np.add.at(counts, owner, per_run)
    return counts


def _runs(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, unpacked: int, depth: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Find the runs of values in each message: owner, start and length of each run."""
    everyone = np.arange(starts.size)
    single = _single_chunks(data, starts, stops, number)
    if single is None:
        return everyone, everyone, everyone
    begin, is_single = single
    if is_single.all():
        return everyone, begin, stops - begin
    rest = np.flatnonzero(~is_single & (starts < stops))
    kept = np.flatnonzero(is_single)
    if rest.size == 0:
        return kept, begin[kept], (stops - begin)[kept]
    fields = _tokenise_some(data, starts, stops, rest, depth)
    is_value = (fields.wire_type == LEN) | (fields.wire_type == unpacked)
    fields = fields.only((fields.number == number) & is_value)
    owner = np.concatenate([kept, rest[fields.owner]])
    order = np.argsort(owner, kind="stable")
    starts_of_runs = np.concatenate([begin[kept], fields.start])[order]
    lengths = np.concatenate([(stops - begin)[kept], fields.stop - fields.start])[order]
    return owner[order], starts_of_runs, lengths


def _tokenise_some(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, some: Int64Array, depth: int
) -> Fields:
    """Tokenise some of the messages; the owner is an index into `some`."""
    with renumbered(some):
        return tokenise(data, starts[some], stops[some], depth)


def _single_chunks(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int
) -> tuple[Int64Array, BoolArray] | None:
    """Find where the value of a message that is one LEN field starts, and which messages are."""
    if starts.size == 0:
        return None
    lengths, sizes = read_varints(lanes(data), starts + 1)
    begin = starts + 1 + sizes
    room = stops - begin
    is_single = (
        (data[starts] == number << 3 | LEN) & (room >= 0) & (lengths == room.astype(np.uint64))
    )
    return begin, is_single & (sizes <= MAX_VARINT_BYTES) & (stops > starts)
