"""Example messages with plain entries, in any order: all entries of a batch at once.

An entry is *plain* if it is short, and encoded as programs do. Then its length is one byte, and so
the next entry is found without reading it::

    0a n | 0a L  0a K  key ...  12 r  (0a | 12 | 1a) r-2  list ... | 0a L ...
                       K bytes        r bytes, up to the end of the entry

1. Walk: ``at += data[at + 1] + 2`` in all messages, until they end. Nothing is checked yet.
2. A few bytes of each entry show which of the :class:`KnownKeys` it must have. Then the whole of it, from its
   tag up to the value's, is compared with that one.
3. In the entries asked for, four bytes more are the tags and lengths of the list and its chunk.

A message with anything else (a long entry, an unknown field, a key that is not known or there twice) is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import LANE_BYTES, AnyArray, BoolArray, Int64Array, Uint8Array
from tfrecord_lite.convert.lists import Level, Lists
from tfrecord_lite.example import proto
from tfrecord_lite.example.decode.entries import LIST_READERS, Flat, GeneralMessages, chunk_values
from tfrecord_lite.example.decode.layout import bodies
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.fields import renumbered
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.varint import read_sized

MOST_KEYS = 2500
"""More keys are not known: a hash that separates them would take too long to find."""
_AT_ONCE = 2048
"""Messages that are walked together."""
_ENTRIES_AT_ONCE = 20 * 1024
"""Entries that are read together; they stay in the cache."""
_MOST_STEPS = 4096
"""Messages with more entries are left to the general way."""
_LEFT = 8
"""The last messages of a walk, one in so many, are left too: each step costs as much for few."""
_FURTHEST = 256
"""Bytes that may be read from an entry on; a block has more of them to spare."""
_MAX_ONE_BYTE_LENGTH = 0x7F
_KEY_PLACE = 4
"""Where the key begins in an entry, after its length."""
_HEAD_BYTES = 4
"""Bytes around the key that the entry's length counts: two tags, two lengths."""
_LONGEST_KEY = _MAX_ONE_BYTE_LENGTH - _HEAD_BYTES
_MOST_SLOT_BITS = 20


class KnownKeys:
    """The keys that plain entries may have: the table's, and others that are skipped."""

    def __init__(self, table: KeyTable, others: Sequence[bytes] = ()) -> None:
        self.table = table
        features = [n for n, key in enumerate(table.keys) if len(key) <= _LONGEST_KEY]
        is_short = any(len(key) <= _LONGEST_KEY for key in (*table.keys, *others))
        # With at least one short key, so that no array is empty.
        self.others: Sequence[bytes] = others if is_short else [*others, b""]
        keys = [key for key in (*table.keys, *self.others) if len(key) <= _LONGEST_KEY]
        self.features: Int64Array = np.array(features, np.int64)
        """The number in the table of each key that it has; the others follow these."""
        sizes = np.array([len(key) for key in keys], np.int64)
        self._shortest, longest = int(sizes.min()), int(sizes.max())
        self.value_places: Int64Array = sizes + _KEY_PLACE
        """Where the value's tag is in an entry with this key."""
        self.head_sizes: Uint8Array = (sizes + _HEAD_BYTES).astype(np.uint8)
        """What the length of an entry with this key counts before the Feature."""
        self._least_lengths = _shared(self.head_sizes)
        columns = np.array([[len(key), *key.ljust(longest, b"\0")] for key in keys], np.uint8)
        self._hashed_places = _telling(columns)
        """What is hashed of an entry: 0 is the length of its key, i the byte i of it, from 1 on."""
        slot_bits = min((len(keys) ** 2 // 2).bit_length() + 1, _MOST_SLOT_BITS)
        self._shift = np.uint32(32 - slot_bits)
        self._number_of_hash = np.zeros(1 << slot_bits, np.int16)
        """The number of the key with each hash."""
        random = np.random.default_rng(0)
        hash_input = columns[:, self._hashed_places]
        while True:  # every third trial or so separates the keys
            odd = 2 * random.integers(0, 2**31, hash_input.shape[1], np.uint32) + np.uint32(1)
            hashed = (hash_input * odd).sum(axis=1, dtype=np.uint32) >> self._shift
            if np.unique(hashed).size == len(keys):
                break
        self._multipliers: list[np.uint32] = list(odd)
        self._number_of_hash[hashed] = np.arange(len(keys))
        self._n_words = -(-(_KEY_PLACE + longest + 2) // LANE_BYTES)
        shape = 4, len(keys), self._n_words * LANE_BYTES
        mask, expected, per_length, at_value_length = np.zeros(shape, np.uint8)
        for number, key in enumerate(keys):
            size = bytes([len(key)])
            head = proto.ENTRY_TAG + b"\0" + proto.KEY_TAG + size + key + proto.VALUE_TAG
            mask[number, : len(head) + 1] = 0xFF
            expected[number, : len(head)] = np.frombuffer(head, np.uint8)
            per_length[number, [1, len(head)]] = at_value_length[number, len(head)] = 1
        views = (words.view("<u8") for words in (mask, expected, per_length, at_value_length))
        mask, expected, per_length, at_value_length = views
        expected = expected - at_value_length * self.head_sizes[:, None].astype(np.uint64)
        in_words = zip(mask.T, expected.T, per_length.T, strict=True)
        self._words = [tuple(map(_shared, words)) for words in in_words]
        """For each word of an entry, up to the value's length: which bits are known; what they must be, less
        `per_length` for each byte of the entry; and `per_length`. Each is one number, or one per key."""

    def numbers(self, data: Uint8Array, at: Int64Array) -> Int64Array:
        """Return which of the keys each entry must have, if it has one of them."""
        # From an entry's place on: the length of its key, then the key.
        hashed_bytes = data[_KEY_PLACE - 1 :]
        hashed = np.zeros(at.size, np.uint32)
        for place, multiplier in zip(self._hashed_places, self._multipliers, strict=True):
            taken = hashed_bytes[place:].take(at)
            if place > self._shortest:  # some keys end before
                taken *= hashed_bytes.take(at) >= place
            hashed += taken.astype(np.uint32) * multiplier
        hashed >>= self._shift
        return self._number_of_hash.take(hashed.astype(np.int64)).astype(np.int64)

    def differing(
        self, data: Uint8Array, at: Int64Array, lengths: Uint8Array, numbers: Int64Array
    ) -> BoolArray:
        """Return which entries differ, before the Feature, from one of this length with this key."""

        def of_each(values: AnyArray) -> Any:
            return values.take(numbers) if values.size > 1 else values[0]

        wrong: BoolArray = lengths > _MAX_ONE_BYTE_LENGTH
        wrong |= lengths < of_each(self._least_lengths)
        words = arrays.rows(data, self._n_words * LANE_BYTES)[at].view("<u8").reshape(at.size, -1)
        wide = lengths.astype(np.uint64)
        for place, (mask, expected, per_length) in enumerate(self._words):
            word = words[:, place] & of_each(mask)
            word -= of_each(expected)
            if per_length.any():
                word -= wide * of_each(per_length)
            wrong |= word != 0
        return wrong


def _shared(values: AnyArray) -> AnyArray:
    """Return values, or only one if all are equal."""
    return values[:1].copy() if (values == values[0]).all() else values.copy()


def _telling(columns: Uint8Array) -> list[int]:
    """Choose a few columns in which no two rows are equal."""
    chosen: list[int] = []
    classes = np.zeros(len(columns), np.int64)
    while classes.size and int(classes.max()) + 1 < len(columns):
        pairs = (classes[:, None] << 8) + columns
        ordered = np.sort(pairs, axis=0)
        chosen.append(int(np.count_nonzero(ordered[1:] != ordered[:-1], axis=0).argmax()))
        classes = np.unique(pairs[:, chosen[-1]], return_inverse=True)[1]
    return chosen


class PlainMatch:
    """The values of some features in the messages that have plain entries only, with known keys.

    A *cell* is one feature of one message; the arrays have the shape (n_features, n_messages).
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, keys: KnownKeys
    ) -> None:
        self._data, self._keys = data, keys
        shape = len(keys.table.keys), starts.size
        self._starts = np.empty(shape, np.int64)
        """Where the list begins."""
        self._sizes = np.empty(shape, np.uint8)
        """Bytes of the list."""
        self._kinds = np.empty(shape, np.uint8)
        self._are_chunks = np.empty(shape, np.bool_)
        """Whether the list is one chunk, or one string."""
        at, wrong = bodies(data, starts, stops)
        bad = np.zeros(starts.size, np.bool_) if wrong is None else wrong
        for first in range(0, starts.size, _AT_ONCE):
            self._read(slice(first, first + _AT_ONCE), at, stops, bad)
        self.is_read: BoolArray = ~bad
        """Which messages were read; the arrays have only these."""
        if np.count_nonzero(bad):
            good = np.flatnonzero(self.is_read)
            starts, stops = starts[good], stops[good]
            self._starts, self._sizes = self._starts[:, good], self._sizes[:, good]
            self._kinds, self._are_chunks = self._kinds[:, good], self._are_chunks[:, good]
        self._extents = starts, stops
        self.n_messages: int = starts.size

    def _read(self, span: slice, at: Int64Array, stops: Int64Array, bad: BoolArray) -> None:
        """Fill in the cells of some messages, and mark as bad those that are left."""
        data, keys, bad = self._data, self._keys, bad[span]
        places, lengths, owners = _walk(data, at[span], stops[span], bad)
        value_at = np.full((len(self._starts), bad.size), -1, np.int64)
        feature_sizes = np.zeros(value_at.shape, np.uint8)
        first_cells = keys.features * bad.size
        asked_owners = []
        for first in range(0, places.size, _ENTRIES_AT_ONCE):
            part = slice(first, first + _ENTRIES_AT_ONCE)
            place, length, owner = places[part], lengths[part], owners[part]
            number = keys.numbers(data, place)
            wrong = keys.differing(data, place, length, number)
            if np.count_nonzero(wrong):
                bad[owner[wrong]] = True
            if keys.features.size < keys.value_places.size:
                asked = (number < keys.features.size).nonzero()[0]
                number, owner = number.take(asked), owner.take(asked)
                place, length = place.take(asked), length.take(asked)
            cell = first_cells.take(number)
            cell += owner
            place = place + keys.value_places.take(number)
            value_at.reshape(-1)[cell] = place
            feature_sizes.reshape(-1)[cell] = length - keys.head_sizes.take(number)
            asked_owners.append(owner)
        is_there = value_at >= 0
        if np.count_nonzero(is_there) != sum(map(len, asked_owners)):  # a key twice
            n_asked = np.bincount(np.concatenate(asked_owners), minlength=bad.size)
            bad |= np.count_nonzero(is_there, axis=0) != n_asked
        np.maximum(value_at, 0, out=value_at)
        kinds = proto.KIND_OF_TAG.take(data[2:].take(value_at))
        sizes = feature_sizes - np.uint8(2)
        is_list = (kinds != 0) & (feature_sizes >= 2)
        is_list &= data[3:].take(value_at) == sizes
        bad |= np.any(is_there & ~is_list, axis=0)
        is_chunk = is_there & (feature_sizes >= 4)
        is_chunk &= data[4:].take(value_at) == proto.LIST_VALUE_TAG[0]
        is_chunk &= data[5:].take(value_at) == feature_sizes - np.uint8(4)
        kinds *= is_there
        self._starts[:, span], self._sizes[:, span] = value_at + 4, sizes
        self._kinds[:, span], self._are_chunks[:, span] = kinds, is_chunk

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, about `limit` at the most."""
        if not self._keys.others:
            return []
        # Few ask, and none again before the table has these keys.
        return GeneralMessages(self._data, *self._extents, self._keys.table).unknown_keys(limit)

    def present(self, feature: int) -> BoolArray:
        """Return which messages have a feature; shape (n_messages,)."""
        is_present: BoolArray = self._kinds[feature] != 0
        return is_present

    @cached_property
    def _one_kind(self) -> list[int]:
        """The kind of each feature in every message, -1 if they differ."""
        lowest, highest = self._kinds.min(axis=1), self._kinds.max(axis=1)
        kinds: list[int] = np.where(lowest == highest, lowest.astype(np.int64), -1).tolist()
        return kinds

    def kinds(self, feature: int) -> Uint8Array | int:
        """Return the :class:`Kind` of a feature in each message, 0 for none; one number if all agree."""
        kind = self._one_kind[feature]
        return self._kinds[feature] if kind < 0 else kind

    @cached_property
    def _one_chunk(self) -> list[bool]:
        """Whether each feature is a chunk in every message that has it."""
        is_chunk: list[bool] = (self._are_chunks | (self._kinds == 0)).all(axis=1).tolist()
        return is_chunk

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Read the values of a feature in each message, none where it is of another kind; may raise WireError."""
        counts: Level
        if self._one_kind[feature] == kind:
            counts, flat = self._values(feature, kind, slice(None))
        else:
            chosen = np.flatnonzero(self._kinds[feature] == kind)
            counts = np.zeros(self.n_messages, np.int64)
            with renumbered(chosen):
                counts[chosen], flat = self._values(feature, kind, chosen)
        return Lists(self.n_messages, WIRE[kind], (counts,), flat)

    def _values(self, feature: int, kind: Kind, chosen: Int64Array | slice) -> tuple[Level, Flat]:
        """Read the lists of one kind in some messages, which all have one."""
        data = self._data
        starts, sizes = self._starts[feature][chosen], self._sizes[feature][chosen]
        # A list is two bytes, its chunk's tag and length, and floats.
        is_odd = kind is Kind.FLOAT and np.count_nonzero(sizes & 3 != 2)
        if is_odd or not self._one_chunk[feature]:
            read = LIST_READERS[kind]
            return read(data, starts, starts + sizes, proto.LIST_VALUE, proto.LIST_DEPTH)
        starts = starts + 2
        sizes = sizes - np.uint8(2)
        if kind is Kind.INT64 and 0 < int(np.maximum.reduce(sizes, initial=0)) <= LANE_BYTES:
            values, wrong = read_sized(arrays.lanes(data), starts, sizes)
            if wrong is None:
                return 1, values
        if kind is Kind.FLOAT and np.count_nonzero(sizes == 4) == sizes.size:
            return 1, arrays.short_lanes(data)[starts].view("<f4")
        return chunk_values(kind, arrays.ByteRanges(data, starts, sizes.astype(np.int64)))


def _walk(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, bad: BoolArray
) -> tuple[Int64Array, Uint8Array, Int64Array]:
    """Find all entries: place, length and message of each; mark the messages that are left as bad."""
    places: list[AnyArray] = [np.empty(0, np.int64)]
    lengths: list[AnyArray] = [np.empty(0, np.uint8)]
    owners: list[AnyArray] = [np.empty(0, np.int64)]
    at, owner = starts, np.arange(starts.size)
    while owner.size and len(places) <= _MOST_STEPS:
        more = at < stops
        if np.count_nonzero(more) < more.size:
            bad[owner[at > stops]] = True
            at, owner, stops = at[more], owner[more], stops[more]
            if owner.size <= starts.size // _LEFT:
                break
        length = data[1:].take(at, mode="clip")
        places.append(at)
        lengths.append(length)
        owners.append(owner)
        at = at + length
        at += 2
    bad[owner] = True
    place = np.concatenate(places)
    np.minimum(place, data.size - _FURTHEST, out=place)  # those of bad messages may be anywhere
    return place, np.concatenate(lengths), np.concatenate(owners)
