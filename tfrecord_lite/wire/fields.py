"""N messages to their fields, in lockstep.

Step k of the loop reads field k of every message that has one, so N messages of K fields
take K steps::

    step          1       2       3
    message 0     tag n.. tag n.. tag n..
    message 1     tag n.. tag n..
    message 2     tag n..                    done: its next field would start at its end

When only a few messages have fields left, :func:`~.scalar.walk` reads the rest, as it does for a message in
which a group starts. Both reject the same bytes; :mod:`.scalar` says which, and describes the wire types.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array
from tfrecord_lite.wire import scalar
from tfrecord_lite.wire.scalar import LEN, WireError
from tfrecord_lite.wire.varint import TOO_LONG, read_varints

_BYTE = np.uint64(0xFF)
_WIRE_TYPES = (scalar.VARINT, scalar.I64, LEN, scalar.START_GROUP, scalar.I32)
_FEW = 24
"""With fewer messages left, a step in lockstep costs more than walking them one by one."""


@contextmanager
def renumbered(owner: Int64Array | int) -> Iterator[None]:
    """Make the message number of a :class:`WireError` one of the enclosing batch.

    `owner` holds that number for each message parsed inside; if they are consecutive, it is
    the number of the first.
    """
    try:
        yield
    except WireError as error:
        number = owner + error.message if isinstance(owner, int) else int(owner[error.message])
        raise WireError(number, error.offset, error.detail) from None


class Fields(NamedTuple):
    """The fields of many messages, by message, then in the order stored.

    Each array has the shape (n_fields,).
    """

    owner: Int64Array
    """Number of the message."""
    number: arrays.Int32Array
    """Field number."""
    wire_type: Uint8Array
    """VARINT to I32 without END_GROUP; a group is one field, its content is not listed."""
    start: Int64Array
    """Where in the buffer the value starts: for LEN, after the length."""
    stop: Int64Array
    """Where it ends."""

    def take(self, chosen: Int64Array) -> Fields:
        """Pick fields by their index among these."""
        owner, number, types, start, stop = self
        return Fields(owner[chosen], number[chosen], types[chosen], start[chosen], stop[chosen])

    def only(self, chosen: BoolArray) -> Fields:
        """Keep the fields where the mask is True; without a copy if it is True everywhere."""
        return self if chosen.all() else self.take(np.flatnonzero(chosen))


def only_field(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, tag: int
) -> tuple[Int64Array, BoolArray]:
    """Return where each message's content begins if it is one LEN field, and which messages are.

    The tag is one byte. Costs much less than :func:`tokenise`, and suffices for most messages.
    """
    lengths, sizes = read_varints(arrays.lanes(data), starts + 1)
    begin = starts + 1 + sizes
    room = stops - begin
    is_field = (data[starts] == tag) & (room >= 0) & (lengths == room.view(np.uint64))
    is_field &= sizes <= scalar.MAX_VARINT_BYTES
    return begin, is_field


def tokenise(data: Uint8Array, starts: Int64Array, stops: Int64Array, depth: int = 0) -> Fields:
    """Split messages into fields; WireError about a malformed message, not always the first.

    At least 16 bytes of `data` follow the last message. `depth` is how many messages these are nested in.
    """
    words = arrays.lanes(data)
    live = np.flatnonzero(starts < stops)
    at, end = starts[live], stops[live]
    steps: list[Fields] = []
    walked: list[tuple[int, int, int]] = []
    while live.size > _FEW:
        fields = _step(words, live, at, end)
        following = fields.stop
        groups = np.flatnonzero(fields.wire_type == scalar.START_GROUP)
        if groups.size:
            walked += zip(*(a[groups].tolist() for a in (live, at, end)), strict=True)
            following[groups] = end[groups]
            fields = fields.only(fields.wire_type != scalar.START_GROUP)
        steps.append(fields)
        more = following < end
        if more.all():
            at = following
        else:
            live, at, end = live[more], following[more], end[more]
    walked += zip(live.tolist(), at.tolist(), end.tolist(), strict=True)
    rest = _walk_all(data, walked, depth)
    return join([*steps, rest]) if steps else rest


def _step(words: arrays.Uint64Array, live: Int64Array, at: Int64Array, end: Int64Array) -> Fields:
    """Read one field of each message; a group's value starts and stops after its tag."""
    loaded = words[at]
    tag = int(loaded[0]) & 0xFF
    # The usual case: the same tag of one byte in all.
    if tag < 0x80 and ((loaded & _BYTE) == tag).all():
        begin = at + 1
        number, wire_type = tag >> 3, tag & 7
        numbers = np.full(at.size, number, np.int32)
        types = np.full(at.size, wire_type, np.uint8)
        bad = np.full(at.size, number == 0 or wire_type not in _WIRE_TYPES)
    else:
        tags, tag_sizes = read_varints(words, at)
        begin = at + tag_sizes
        types = (tags & np.uint64(7)).astype(np.uint8)
        numbers = (tags >> np.uint64(3)).astype(np.int32)
        bad = (tag_sizes > scalar.MAX_TAG_BYTES) | (tags >= 2**32) | (numbers == 0)
        bad |= (types > scalar.I32) | (types == scalar.END_GROUP)
    lengths, sizes = read_varints(words, begin)
    is_len = types == LEN
    if is_len.all():
        begin += sizes
        bad |= sizes == TOO_LONG
    else:
        begin += np.where(is_len, sizes, 0)
        bad |= (sizes == TOO_LONG) & (is_len | (types == scalar.VARINT))
        fixed = np.where(types == scalar.I64, 8, np.where(types == scalar.I32, 4, 0))
        others = np.where(types == scalar.VARINT, sizes, fixed).astype(np.uint64)
        lengths = np.where(is_len, lengths, others)
    # Compared with the room that is left, since a length may be anything up to 2**64 - 1.
    room = end - begin
    bad |= (room < 0) | (lengths > room.view(np.uint64))
    if (first := arrays.first_true(bad)) is not None:
        detail = scalar.what_is_wrong(int(numbers[first]), int(types[first]))
        raise WireError(int(live[first]), int(at[first]), detail)
    return Fields(live, numbers, types, begin, begin + lengths.view(np.int64))


def join(parts: list[Fields]) -> Fields:
    """Concatenate fields, in the order of their owners."""
    columns = ([getattr(part, name) for part in parts] for name in Fields._fields)
    joined = Fields(*map(np.concatenate, columns))
    return joined.take(np.argsort(joined.owner, kind="stable"))


def _walk_all(data: Uint8Array, walked: list[tuple[int, int, int]], depth: int) -> Fields:
    """Walk messages, given as (number, start, stop), from where the lockstep left each."""
    view = memoryview(data)  # type: ignore[arg-type]
    parts = [(message, scalar.walk(view, a, b, message, depth)) for message, a, b in walked]
    fields = [(message, *field) for message, own in parts for field in own]
    owner, number, wire_type, begin, end = np.array(fields, np.int64).reshape(-1, 5).T.copy()
    return Fields(owner, number.astype(np.int32), wire_type.astype(np.uint8), begin, end)
