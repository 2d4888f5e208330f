"""Example messages in any legal encoding: their map entries, and the values of their features.

Each level (:mod:`~tfrecord_lite.example.proto`) is split into fields for all messages at once. The result
is what the protobuf runtime makes of the same bytes:

- several ``features`` are merged, the last of several entries with a key counts;
- several ``value`` in an entry are merged, the last of several ``key`` counts;
- an entry without key has the key "", one without value has no kind;
- unknown fields are skipped, but an entry that has one is an unknown field itself, as for the
  runtime's C core;
- keys must be UTF-8;
- of the lists in a Feature the last kind counts, as below.

Features that are not asked for are only read as far as their keys.

Nearly every entry of a Feature is *plain*: short, and encoded as programs do. Then one comparison
decides whether its bytes, except for the key, the kind and the values, are right::

    0a K  key ...  12 r-2  (0a | 12 | 1a) r-4  list ...
          K bytes  r bytes, up to the end of the entry

The others are split into fields, as messages are. Of the lists of each *owner*, one feature of one Example
or one step of a feature list, those count that have the kind of the last and no other kind after them; their
values are joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.convert.lists import Level, Lists
from tfrecord_lite.example import proto
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire import repeated
from tfrecord_lite.wire.fields import Fields, join, only_field, renumbered, tokenise
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.repeated import sums_of, varint_runs
from tfrecord_lite.wire.scalar import LEN, WireError

Flat: TypeAlias = arrays.Float32Array | Int64Array | ByteRanges


NO_VALUES: dict[Kind, Flat] = {
    Kind.BYTES: ByteRanges(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)),
    Kind.FLOAT: np.empty(0, np.float32),
    Kind.INT64: np.empty(0, np.int64),
}


def kinds_in(kinds: Uint8Array | int, n_messages: int) -> list[tuple[Kind, Int64Array | None]]:
    """Return which of the `kinds` that a feature has in messages there are, with the messages that have each.

    None means all messages.
    """
    if isinstance(kinds, int):
        return [(Kind(kinds), None)] if kinds and n_messages else []
    having = [(kind, np.flatnonzero(kinds == kind)) for kind in Kind]
    return [(kind, numbers) for kind, numbers in having if numbers.size]


class Features(Protocol):
    """Some features of some messages; a feature is the number of its key in a table.

    Raises WireError about a message that is malformed, not always the first, when it is made or
    asked for values.
    """

    def present(self, feature: int) -> BoolArray | bool:
        """Return which messages have a feature, with or without a kind, shape (n_messages,); or one for all."""

    def kinds(self, feature: int) -> Uint8Array | int:
        """Return the :class:`Kind` of a feature in each message, 0 for none; one number if all agree."""

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Return the values of one kind of a feature; empty lists for messages that have none of it.

        Byte strings are in the read buffer, or objects; numbers are not in the buffer.
        """

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table; a reader may stop above `limit`."""


class MergedFeatures:
    """The Features of many owners, each reduced to the lists that count.

    `lists` has the fields of all Features, by owner. `message_of` returns the messages that some owners are in,
    for errors; `depth` is how many messages the lists are nested in. Raises WireError for a malformed list
    that does not count; those that count are read when their values are asked for.
    """

    def __init__(
        self,
        data: Uint8Array,
        lists: Fields,
        n_owners: int,
        message_of: Callable[[Int64Array], Int64Array],
        depth: int,
    ) -> None:
        self._data = data
        self._message_of = message_of
        self._depth = depth
        lists = lists.only((lists.number <= Kind.INT64) & (lists.wire_type == LEN))
        self.kind: Uint8Array = np.zeros(n_owners, np.uint8)
        """The :class:`Kind` of each owner, 0 for none; shape (n_owners,)."""
        self.kind[lists.owner] = lists.number  # of several assignments to one place, the last stays
        is_other = lists.number != self.kind[lists.owner]
        if is_other.any():  # a list counts if no other kind follows
            last_other = np.full(n_owners, -1, np.int64)
            last_other[lists.owner[is_other]] = np.flatnonzero(is_other)
            is_counting = np.arange(lists.owner.size) > last_other[lists.owner]
            for kind in Kind:
                self._read_lists(lists.only(~is_counting & (lists.number == kind)), kind)
            lists = lists.only(is_counting)
        self._lists = lists
        self._values: dict[Kind, tuple[Int64Array, Flat]] = {}

    def _read_lists(self, lists: Fields, kind: Kind) -> tuple[Int64Array, Any]:
        """Read the values of lists of one kind: the count of each list, and all values."""
        try:
            with renumbered(lists.owner):
                read = LIST_READERS[kind]
                return read(self._data, lists.start, lists.stop, proto.LIST_VALUE, self._depth)
        except WireError as error:
            message = self._message_of(np.array([error.message]))
            raise WireError(int(message[0]), error.offset, error.detail) from None

    def check(self) -> None:
        """Read all lists, only to raise WireError if one is malformed."""
        for kind in Kind:
            self._read(kind)

    def lists(self, first: int, stop: int, kind: Kind) -> Lists:
        """Read the values of a range of owners; none where one is of another kind."""
        if kind not in self._values:
            self._values[kind] = self._read(kind)
        splits, flat = self._values[kind]
        splits = splits[first : stop + 1]
        span = slice(int(splits[0]), int(splits[-1]))
        flat = flat.take(span) if isinstance(flat, ByteRanges) else flat[span]
        return Lists(stop - first, WIRE[kind], (np.diff(splits),), flat)

    def _read(self, kind: Kind) -> tuple[Int64Array, Flat]:
        """Read the values of all lists of one kind: the row splits of the owners, and all values."""
        lists = self._lists.only(self._lists.number == kind)
        per_list, flat = self._read_lists(lists, kind)
        return arrays.row_splits(sums_of(lists.owner, self.kind.size, per_list)), flat


def merge(kind: Kind, n_lists: int, parts: list[tuple[Int64Array, Lists]]) -> Lists:
    """Merge values that were read apart: pairs (numbers of some lists, their values)."""
    counts = np.zeros(n_lists, np.int64)  # of the values of each list
    for numbers, lists in parts:
        counts[numbers] = lists.levels[0]
    filled = [(numbers, lists) for numbers, lists in parts if len(lists.flat)]
    if not filled:
        return Lists(n_lists, WIRE[kind], (counts,), NO_VALUES[kind])
    splits = arrays.row_splits(counts)
    # The destination of each value of the parts, end to end; and the source of each destination.
    places = [arrays.ranges(splits[numbers], counts[numbers]) for numbers, _ in filled]
    place = np.concatenate(places)
    order = np.empty_like(place)
    order[place] = np.arange(place.size)
    flat = Lists.join([lists for _, lists in filled]).flat.take(order)
    return Lists(n_lists, WIRE[kind], (counts,), flat)


def chunk_values(kind: Kind, chunks: ByteRanges) -> tuple[Level, Flat]:
    """Read one string, or one packed chunk, of each message: how many values each has, and all of them."""
    if kind is Kind.BYTES:
        return 1, chunks
    if kind is Kind.FLOAT:
        return chunks.lengths >> 2, chunks.joined().view("<f4")
    return varint_runs(chunks)


LIST_READERS: dict[Kind, Callable[..., tuple[Int64Array, Any]]]
LIST_READERS = {
    Kind.BYTES: repeated.repeated_len,
    Kind.FLOAT: repeated.repeated_float,
    Kind.INT64: repeated.repeated_varint,
}


# A plain entry: the known bits of its first two bytes, a tag and a length below 0x80; and of the
# four after its key, from which r bytes are left: 0x12 + ((r - 2) << 8) + ((r - 4) << 24), with any
# kind at bit 16. That is `_BODY` for r = 0, and `_BODY_PER_BYTE` more for each byte.
_HEAD_KNOWN, _HEAD = np.uint64(0x80FF), np.uint64(proto.KEY_TAG[0])
_BODY_KNOWN, _KIND_SHIFT, _BYTE = np.uint64(0xFF00FFFF), np.uint64(16), np.uint64(0xFF)
_BODY_PER_BYTE = np.uint64((1 << 8) | (1 << 24))
_BODY = np.uint64((proto.VALUE_TAG[0] - (2 << 8) - (4 << 24)) % 2**64)
_MIN_BODY, _MAX_BODY = 4, 0x7F + 2  # of r: r - 2 fits in one byte


def submessages(fields: Fields, number: int) -> Fields:
    """Return the LEN fields with this number."""
    return fields.only((fields.number == number) & (fields.wire_type == LEN))


class LocatedEntries(NamedTuple):
    """The entries that have the keys asked for.

    A *cell* is one feature, by its number in the table, of one message: ``feature * n_messages + message``.
    """

    cell: Int64Array
    """The cells that have an entry, ascending."""
    entry: Int64Array
    """The entry that counts in each of them, which is the last."""
    aside: Int64Array
    """The entries with a key asked for that do not count."""
    unknown: ByteRanges
    """All other keys."""


_PlainEntries: TypeAlias = tuple[ByteRanges, Uint8Array, Int64Array]
"""What is read of entries as if they were plain: key, kind (0 for an entry that is not plain), and start of the list."""


class MapEntries:
    """The map entries of many messages, by message, then in the order stored.

    `maps` are the ``Features`` or ``FeatureLists`` of the messages, whose number is the owner. Raises WireError
    for a message with malformed entries; their values are not read.
    """

    def __init__(self, data: Uint8Array, maps: Fields, *, of_features: bool = True) -> None:
        self._data = data
        with renumbered(maps.owner):
            entries = tokenise(data, maps.start, maps.stop, depth=1)
        entries = submessages(entries, proto.ENTRY)
        self.message: Int64Array = maps.owner[entries.owner]
        """The message of each entry."""
        self._stop = entries.stop
        self.key: ByteRanges
        """The key of each entry: the last of several, and "" if there is none."""
        read_plain = self._plain_features if of_features else self._plain_lists
        self.key, self._kind, self._list_start = read_plain(entries)
        self.is_void: BoolArray = np.zeros(self.message.size, np.bool_)
        """Which entries have an unknown field: the runtime skips them as unknown."""
        self._odd = np.flatnonzero(self._kind == 0)  # the entries that are not plain
        self._odd_keys = self._odd_values = entries.take(self._odd[:0])
        if self._odd.size:
            self._split(entries.take(self._odd))

    def _heads(self, entries: Fields) -> tuple[arrays.Uint64Array, ByteRanges, Int64Array]:
        """Return the first bytes of entries; and if they are plain, the key, and where the value's tag is."""
        head = arrays.lanes(self._data)[entries.start]
        length = ((head >> np.uint64(8)) & _BYTE).view(np.int64)
        start = entries.start + 2
        return head, ByteRanges(self._data, start, length), start + length

    def _plain_features(self, entries: Fields) -> _PlainEntries:
        """Return the key, the kind and the list of each plain entry; kind 0 for the others."""
        head, key, value_at = self._heads(entries)
        # A key of up to 255 bytes ends within the spare bytes.
        body = arrays.lanes(self._data)[value_at]
        n_left = (entries.stop - value_at).view(np.uint64)
        is_plain = (body & _BODY_KNOWN) == n_left * _BODY_PER_BYTE + _BODY
        is_plain &= (head & _HEAD_KNOWN) == _HEAD
        # Less than the shortest wraps around to a large number.
        is_plain &= n_left - np.uint64(_MIN_BODY) <= np.uint64(_MAX_BODY - _MIN_BODY)
        kind = proto.KIND_OF_TAG[((body >> _KIND_SHIFT) & _BYTE).view(np.int64)]
        kind *= is_plain
        return key, kind, value_at + 4

    def _plain_lists(self, entries: Fields) -> _PlainEntries:
        """Return the key and the FeatureList of each plain entry, as kind 1; 0 for the others."""
        head, key, value_at = self._heads(entries)
        begin, is_plain = only_field(self._data, value_at, entries.stop, proto.VALUE_TAG[0])
        is_plain &= (head & _HEAD_KNOWN) == _HEAD
        return key, is_plain.astype(np.uint8), begin

    def _split(self, odd: Fields) -> None:
        """Split the entries that are not plain into fields, and find their keys."""
        with renumbered(self.message[self._odd]):
            parts = tokenise(self._data, odd.start, odd.stop, depth=2)
        is_part = (parts.number == proto.KEY) | (parts.number == proto.VALUE)
        is_known = (parts.wire_type == LEN) & is_part
        self.is_void[self._odd[parts.owner[~is_known]]] = True
        self._odd_values = submessages(parts, proto.VALUE)
        self._odd_keys = submessages(parts, proto.KEY)
        self.key.starts[self._odd], self.key.lengths[self._odd] = odd.start, 0
        # Of several assignments to one place, the last stays.
        owner = self._odd[self._odd_keys.owner]
        self.key.starts[owner] = self._odd_keys.start
        self.key.lengths[owner] = self._odd_keys.stop - self._odd_keys.start

    def locate(self, table: KeyTable, n_messages: int) -> LocatedEntries:
        """Look up all keys; raises WireError for one that is not UTF-8 (rule W8)."""
        ids = table.find(self.key)
        is_known = ids >= 0
        self._check_keys(is_known)
        unknown = np.flatnonzero(~is_known)
        # The last entry with a key counts: of several assignments to one place, the last stays.
        last = np.full(len(table.keys) * n_messages, -1, np.int64)
        known = np.flatnonzero(is_known & ~self.is_void)
        last[ids[known] * n_messages + self.message[known]] = known
        cell = np.flatnonzero(last >= 0)
        entry = last[cell]
        is_aside = is_known
        is_aside[entry] = False
        return LocatedEntries(cell, entry, np.flatnonzero(is_aside), self.key.take(unknown))

    def _check_keys(self, is_known: BoolArray) -> None:
        """Raise WireError if a key is not UTF-8; the known ones are."""
        unsure = np.flatnonzero(~is_known)
        # Of an entry with several keys, self.key has the last only; check the others, too.
        keys = self._odd_keys
        hidden = np.flatnonzero(keys.owner[1:] == keys.owner[:-1])
        entry = np.concatenate([unsure, self._odd[keys.owner[hidden]]])
        starts = np.concatenate([self.key.starts[unsure], keys.start[hidden]])
        lengths = np.concatenate([self.key.lengths[unsure], (keys.stop - keys.start)[hidden]])
        with renumbered(self.message[entry]):
            _check_utf8(ByteRanges(self._data, starts, lengths))

    def _plain(self, chosen: Int64Array) -> Fields:
        """Return the list of each plain entry among some; its number is the kind."""
        kind = self._kind[chosen]
        plain = np.flatnonzero(kind)
        entry = chosen[plain]
        types = np.full(plain.size, LEN, np.uint8)
        numbers = kind[plain].astype(np.int32)
        return Fields(plain, numbers, types, self._list_start[entry], self._stop[entry])

    def values(self, chosen: Int64Array) -> Fields:
        """Return the values of some entries, in their order; the owner is an index into `chosen`.

        An entry may have several values, which are to be merged, or none.
        """
        odd = np.flatnonzero(self._kind[chosen] == 0)
        places = np.searchsorted(self._odd, chosen[odd])
        odd_fields = _values_of(self._odd_values, places, self._odd.size)
        if odd.size == chosen.size:
            return odd_fields
        fields = self._plain(chosen)
        if not odd.size:
            return fields
        return join([fields, odd_fields._replace(owner=odd[odd_fields.owner])])

    def features(self, chosen: Int64Array) -> Fields:
        """Return the fields of some entries' Features; the owner is an index into `chosen`."""
        fields = self._plain(chosen)
        if fields.owner.size == chosen.size:
            return fields
        odd = np.flatnonzero(self._kind[chosen] == 0)
        values = self.values(chosen[odd])
        owner = odd[values.owner]  # of each value, in `chosen`
        with renumbered(self.message[chosen[owner]]):
            inner = tokenise(self._data, values.start, values.stop, depth=3)
        return join([fields, inner._replace(owner=owner[inner.owner])])


def distinct(keys: ByteRanges, limit: int) -> list[bytes]:
    """Return the different keys, up to one more than the limit."""
    unique: dict[bytes, None] = {}
    for view in arrays.views(keys.data, keys.starts, keys.lengths):
        unique[bytes(view)] = None
        if len(unique) > limit:
            break
    return list(unique)


def _check_utf8(strings: ByteRanges) -> None:
    """Raise WireError with the number of the first string that is not UTF-8."""
    joined = strings.joined()
    if joined.size == 0 or int(joined.max()) < 0x80:
        return
    for i, view in enumerate(arrays.views(strings.data, strings.starts, strings.lengths)):
        if not is_utf8(view):
            raise WireError(i, int(strings.starts[i]), "a feature's key is not UTF-8")


def is_utf8(key: memoryview) -> bool:
    """Return whether a key is UTF-8."""
    try:
        str(key, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _values_of(values: Fields, chosen: Int64Array, n_entries: int) -> Fields:
    """Return the values of the chosen entries, in that order; the owner is an index into `chosen`."""
    if values.owner.size == n_entries and (values.owner[1:] > values.owner[:-1]).all():
        picked, owner = chosen, np.arange(chosen.size)  # one value each
    else:
        counts = np.bincount(values.owner, minlength=n_entries)
        first = np.cumsum(counts) - counts
        picked = arrays.ranges(first[chosen], counts[chosen])
        owner = np.repeat(np.arange(chosen.size), counts[chosen])
    return values.take(picked)._replace(owner=owner)


class GeneralMessages(Features):
    """The values of some features in many messages, in any encoding, read when they are asked for.

    Raises WireError for a message that the protobuf runtime would reject, as far as it was read.
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        n_messages = starts.size
        self.n_messages: int = n_messages
        entries = MapEntries(data, submessages(tokenise(data, starts, stops), proto.FEATURES))
        located = entries.locate(table, n_messages)
        self._unknown = located.unknown
        self._filled = located.cell
        lists = entries.features(located.entry)
        lists = lists._replace(owner=located.cell[lists.owner])
        self._merged = MergedFeatures(
            data,
            lists,
            len(table.keys) * n_messages,
            lambda cells: cells % n_messages,
            proto.LIST_DEPTH,
        )
        aside = located.aside
        if aside.size:  # the runtime rejects what is malformed there, too
            lists, messages = entries.features(aside), entries.message[aside]
            MergedFeatures(data, lists, aside.size, messages.take, proto.LIST_DEPTH).check()

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, up to one more than the limit."""
        return distinct(self._unknown, limit)

    def present(self, feature: int) -> BoolArray:
        """Return which messages have a feature, with or without a kind; shape (n_messages,)."""
        cell = feature * self.n_messages
        first, stop = np.searchsorted(self._filled, [cell, cell + self.n_messages])
        present = np.zeros(self.n_messages, np.bool_)
        present[self._filled[first:stop] - cell] = True
        return present

    def kinds(self, feature: int) -> Uint8Array:
        """Return the :class:`Kind` of a feature in each message, 0 for none."""
        return self._merged.kind[feature * self.n_messages : (feature + 1) * self.n_messages]

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Read the values of a feature in each message; none where it is of another kind."""
        first = feature * self.n_messages
        return self._merged.lists(first, first + self.n_messages, kind)
