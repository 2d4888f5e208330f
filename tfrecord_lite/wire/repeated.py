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

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.wire.fields import only_field, renumbered, tokenise
from tfrecord_lite.wire.packed import varint_runs
from tfrecord_lite.wire.scalar import I32, LEN, VARINT, WireError


def repeated_len(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, ByteRanges]:
    """Find the values of a repeated string, bytes or message field.

    The arguments are as for :func:`~.fields.tokenise`, and the field's number, below 16.
    Returns the number of values in each message, and all values by message.
    """
    owner, begin, length = _runs(data, starts, stops, number, LEN, depth)
    counts = np.bincount(owner, minlength=starts.size).astype(np.int64, copy=False)
    return counts, ByteRanges(data, begin, length)


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


def repeated_float(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, number: int, depth: int = 0
) -> tuple[Int64Array, arrays.Float32Array]:
    """Read all values of a repeated ``float`` field.

    As :func:`repeated_varint`; raises WireError for a chunk whose length is not a multiple of 4.
    """
    owner, begin, length = _runs(data, starts, stops, number, I32, depth)
    if (run := arrays.first_true(length & 3 != 0)) is not None:
        detail = f"a packed chunk of floats has {length[run]} bytes, expected a multiple of 4"
        raise WireError(int(owner[run]), int(begin[run]), detail)
    return _per_message(owner, starts.size, length >> 2), arrays.gather(data, begin, length).view(
        "<f4"
    )


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
