"""Example messages with plain entries, in any order: all entries of a batch at once.

An entry is *plain* if it is short, and encoded as programs do. Then its length is one byte, and so
the next entry is found without reading it::

    0a n | 0a L  0a K  key ...  12 r-2  (0a | 12 | 1a) r-4  list ... | 0a L ...
                       K bytes  r bytes, up to the end of the entry

1. Walk: ``at += data[at + 1] + 2`` in all messages, until they end. Nothing is checked yet.
2. Some thousand entries at a time: the words of head and key are gathered, and a
   :class:`~tfrecord_lite.wire.keys.HeadTable` tells which of the keys asked for it is.
3. Two words after the key have the tags and lengths of Feature and list, which are linear in r, so
   that one masked comparison checks them; and the first eight bytes of the values.

A message with anything else (a long entry, unknown fields, a key twice) is left to the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from tfrecord_lite import jit
from tfrecord_lite.arrays import (
    LANE_BYTES,
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    Uint64Array,
    lanes,
    row_splits,
    rows,
)
from tfrecord_lite.example.decode.entries import LIST_READERS, ListValues, distinct
from tfrecord_lite.example.decode.layout import bodies
from tfrecord_lite.example.proto import (
    ENTRY_TAG,
    KEY_TAG,
    KIND_OF_TAG,
    LIST_VALUE,
    LIST_VALUE_TAG,
    VALUE_TAG,
)
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered
from tfrecord_lite.wire.keys import HEAD_BYTES, HeadTable, KeyTable
from tfrecord_lite.wire.packed import varint_runs
from tfrecord_lite.wire.varint import decode_sized

_AT_ONCE = 4096
"""Entries that are read at once; they stay in the cache."""
_MOST_STEPS = 4096
"""Messages with more entries are left to the general way."""
_LEFT = 8
"""The last messages of a walk, one in so many, are left too: each step costs as much for few."""
_LIST_DEPTH = 4
_FURTHEST = 256
"""Bytes that may be read from an entry on; a block has more of them to spare."""
_SHORTEST, _SHORTEST_CHUNK = 4, 6
"""Bytes after the key of an entry with a list, and of one with a chunk."""


def _u64(*low_bytes: int) -> np.uint64:
    """Return a word with these bytes, lowest first."""
    return np.uint64(int.from_bytes(bytes(low_bytes), "little"))


# Of the head: the tags, and that both lengths are one byte.
_HEAD_KNOWN, _HEAD = _u64(0xFF, 0x80, 0xFF, 0x80), _u64(ENTRY_TAG[0], 0, KEY_TAG[0], 0)
# After the key: tags and lengths of the Feature and the list, then of its one chunk, if it has
# room r. What they should be is known + r * per byte.
_VALUE_KNOWN, _VALUE_PER_BYTE = _u64(0xFF, 0xFF), _u64(0, 1)
_VALUE = np.uint64((VALUE_TAG[0] - (2 << 8)) % 2**64)
_LIST_KNOWN, _LIST_PER_BYTE = _u64(0xFF, 0xFF, 0, 0xFF), _u64(0, 1, 0, 1)
_LIST = np.uint64((VALUE_TAG[0] - (2 << 8) - (4 << 24)) % 2**64)
_CHUNK_KNOWN, _CHUNK_PER_BYTE = _u64(0, 0, 0, 0, 0xFF, 0xFF), _u64(0, 0, 0, 0, 0, 1)
_CHUNK = np.uint64(((LIST_VALUE_TAG[0] << 32) - (6 << 40)) % 2**64)
_BYTE, _SEVEN_BITS = np.uint64(0xFF), np.uint64(0x7F)

# A cell: the first eight bytes of the values, and a word of these.
_ROOM_BITS = np.uint64(40)
_PLACE = np.uint64((1 << 40) - 1)
_KIND_BITS, _CHUNK_BITS = np.uint64(48), np.uint64(56)


class PlainMatch:
    """The values of some features in the messages that have plain entries only.

    A *cell* is one feature of one message; the arrays have the shape (n_features, n_messages).
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        self._data = data
        n_features = len(table.keys)
        at, wrong = bodies(data, starts, stops)
        bad = np.zeros(starts.size, np.bool_) if wrong is None else wrong
        cells: AnyArray = np.zeros((n_features, starts.size, 2), np.uint64)
        self._unknown: list[tuple[ByteRanges, Int64Array]] = []
        self._find_unknown: Callable[[], None] | None = None
        if jit.kernels is None or table.heads is None:
            self._fill(at, stops, bad, table, cells)
        else:
            self._fill_compiled(jit.kernels, at, stops, bad, table.heads, cells)
        self._is_read = ~bad
        self.chosen: Int64Array | None = None
        """The messages that were read; None for all."""
        if np.count_nonzero(bad):
            self.chosen = np.flatnonzero(~bad)
            cells = cells[:, self.chosen]
        self.n_messages: int = cells.shape[1]
        self._words, packed = cells[:, :, 0], cells[:, :, 1]
        """The first eight bytes of the values in their chunk."""
        self._starts = (packed & _PLACE).view(np.int64)
        """Where the list begins."""
        self._rooms = ((packed >> _ROOM_BITS) & _BYTE).view(np.int64)
        """Bytes from after the key to the end of the entry; 0 for no entry."""
        self._kinds = ((packed >> _KIND_BITS) & _BYTE).astype(np.uint8)
        self._are_chunks = packed >> _CHUNK_BITS != 0
        """Whether the list is one chunk, or one string."""

    def _fill(
        self, at: Int64Array, stops: Int64Array, bad: BoolArray, table: KeyTable, cells: AnyArray
    ) -> None:
        """Fill in the cells of all messages, and mark as bad those that are left."""
        n_messages = bad.size
        places, owners = _walk(self._data, at, stops, bad)
        known: list[Int64Array] = []
        for first in range(0, places.size, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            entries = _Entries(self._data, places[some], owners[some], table)
            bad[entries.owner[entries.is_wrong]] = True
            known.append(entries.fill(cells, n_messages))
            self._unknown.append((entries.unknown, entries.owner[entries.others]))
        if np.count_nonzero(cells[:, :, 1]) != sum(map(len, known)):  # a key twice
            n_known = np.bincount(np.concatenate(known), minlength=n_messages)
            bad |= np.count_nonzero(cells[:, :, 1], axis=0) != n_known

    def _fill_compiled(
        self,
        kernels: Any,
        at: Int64Array,
        stops: Int64Array,
        bad: BoolArray,
        heads: HeadTable,
        cells: AnyArray,
    ) -> None:
        """Do the same by a kernel."""
        words, tables = lanes(self._data), heads.tables
        keys = np.empty((0, 3), np.int64)
        n_unknown = kernels.plain_entries(words, at, stops, bad, tables, KIND_OF_TAG, cells, keys)

        def find() -> None:
            keys = np.empty((n_unknown, 3), np.int64)
            again = at, stops, bad.copy(), tables, KIND_OF_TAG, np.zeros_like(cells), keys
            found = keys[: kernels.plain_entries(words, *again)]
            ranges = ByteRanges(self._data, found[:, 0].copy(), found[:, 1].copy())
            self._unknown.append((ranges, found[:, 2]))

        self._find_unknown = find if n_unknown else None

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, about `limit` at the most."""
        if self._find_unknown is not None:  # few ask, and a kernel that only counts them is faster
            self._find_unknown()
            self._find_unknown = None
        found: list[bytes] = []
        for keys, owner in self._unknown:
            found += distinct(keys.take(np.flatnonzero(self._is_read[owner])), limit)
        return list(dict.fromkeys(found))

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
        """Whether each feature is a chunk wherever it is there."""
        is_chunk: list[bool] = (self._are_chunks | (self._kinds == 0)).all(axis=1).tolist()
        return is_chunk

    def even(self, feature: int, kind: Kind) -> ListValues | None:
        """Return the values of a feature if every message has as many; None if one may not."""
        if self._one_kind[feature] != kind or self.n_messages == 0:
            return None
        found = self.values(feature, kind)
        return found if isinstance(found.counts, int) else None

    def values(self, feature: int, kind: Kind) -> ListValues:
        """Read the values of a feature in each message; none where it is of another kind.

        Raises WireError for a malformed value.
        """
        if self._one_kind[feature] == kind:
            return self._lists(feature, kind, slice(None))
        chosen = np.flatnonzero(self._kinds[feature] == kind)
        with renumbered(chosen):
            found = self._lists(feature, kind, chosen)
        counts = np.zeros(self.n_messages, np.int64)
        counts[chosen] = found.counts
        return ListValues(counts, found.flat)

    def _lists(self, feature: int, kind: Kind, chosen: Int64Array | slice) -> ListValues:
        """Read the lists of one kind in some messages, which all have one."""
        starts, rooms = self._starts[feature][chosen], self._rooms[feature][chosen]
        is_odd = kind is Kind.FLOAT and np.count_nonzero(rooms & 3 != _SHORTEST_CHUNK & 3)
        if is_odd or not self._one_chunk[feature]:
            stops = starts + (rooms - _SHORTEST)
            counts, flat = LIST_READERS[kind](self._data, starts, stops, LIST_VALUE, _LIST_DEPTH)
            return ListValues(counts, flat.view("<f4") if kind is Kind.FLOAT else flat)
        # Chunks, whose first words are known.
        lengths = rooms - _SHORTEST_CHUNK
        words = self._words[feature][chosen]
        ranges = ByteRanges(self._data, starts + (_SHORTEST_CHUNK - _SHORTEST), lengths)
        if kind is Kind.BYTES:
            return ListValues(1, ranges)
        if kind is Kind.FLOAT:
            if (lengths == 4).all():
                return ListValues(1, words.astype("<u4").view("<f4"))
            return ListValues(lengths >> 2, ranges.joined().view("<f4"))
        longest = int(np.maximum.reduce(lengths, initial=0))
        if 0 < longest <= LANE_BYTES:
            values, wrong = decode_sized(words.copy(), lengths.astype(np.uint64), longest)
            if wrong is None:
                return ListValues(1, values)
        return ListValues(*varint_runs(ranges))


def _walk(
    data: Uint8Array, at: Int64Array, stops: Int64Array, bad: BoolArray
) -> tuple[Int64Array, Int64Array]:
    """Return the place and the message of each entry; mark the messages that are left as bad."""
    length_at = data[1:]
    owner = np.arange(at.size)
    places: list[Int64Array] = []
    owners: list[Int64Array] = []
    while owner.size and len(places) < _MOST_STEPS:
        places.append(at)
        owners.append(owner)
        at = at + length_at.take(at, mode="clip")
        at += 2
        more = at < stops
        if np.count_nonzero(more) == more.size:
            continue
        bad[owner[at > stops]] = True
        at, owner, stops = at[more], owner[more], stops[more]
        if owner.size <= bad.size // _LEFT:
            break
    bad[owner] = True
    place = np.concatenate([*places, at[:0]])
    np.minimum(place, data.size - _FURTHEST, out=place)  # those of bad messages may be anywhere
    return place, np.concatenate([*owners, owner[:0]])


def _words(data: Uint8Array, places: Int64Array, n_words: int) -> AnyArray:
    """Copy the first words at many places; uint64, shape (n_words, n), so that each is contiguous."""
    found = rows(data, n_words * LANE_BYTES)[places].view("<u8").reshape(-1, n_words)
    return np.ascontiguousarray(found.T)


class _Entries:
    """Some entries: their keys are looked up, and all bytes but the values are checked."""

    def __init__(
        self, data: Uint8Array, places: Int64Array, owner: Int64Array, table: KeyTable
    ) -> None:
        self.owner = owner
        heads = table.heads
        row_words = 2 if heads is None else heads.n_words
        words = _words(data, places, row_words)
        head = words[0]
        sizes = ((head >> np.uint64(24)) & _SEVEN_BITS).view(np.int64)
        # Bytes after the key; a huge number if that does not end within the entry.
        room = ((head >> np.uint64(8)) & _SEVEN_BITS) - np.uint64(2) - sizes.view(np.uint64)
        self.is_wrong: BoolArray = head & _HEAD_KNOWN != _HEAD
        self.is_wrong |= room - np.uint64(2) > _SEVEN_BITS
        keys = ByteRanges(data, places + HEAD_BYTES, sizes)
        if heads is None:
            number = table.find(keys)
            is_ascii = number >= 0
        else:
            number, is_ascii = heads.find(words, sizes)
        value = keys.starts + sizes
        self.others = np.flatnonzero(number < 0)
        """The entries whose keys are not in the table."""
        self.unknown = keys.take(self.others)
        """Those keys."""
        if self.others.size:
            # Whether they are sound as far as their Feature.
            others = self.others
            found = lanes(data)[value[others]] & _VALUE_KNOWN
            self.is_wrong[others] |= found != room[others] * _VALUE_PER_BYTE + _VALUE
            unsure = others[~is_ascii[others]]
            if unsure.size:
                # Whether they are UTF-8 is for the general way to say.
                long = keys.take(unsure)
                splits = row_splits(long.lengths)
                high = row_splits((long.joined(splits) >> 7).astype(np.int64))
                self.is_wrong[unsure] |= high[splits[1:]] > high[splits[:-1]]
        known = np.flatnonzero(number >= 0)
        if known.size < number.size:
            value, room, number = value[known], room[known], number[known]
        self._known, self._number = known, number
        self._read_lists(data, value, room)

    def _read_lists(self, data: Uint8Array, value: Int64Array, room: Uint64Array) -> None:
        """Check Feature and list of the entries asked for; make their cells."""
        body, following = _words(data, value, 2)
        kind = KIND_OF_TAG.take(((body >> np.uint64(16)) & _BYTE).view(np.int64))
        wrong = body & _LIST_KNOWN != room * _LIST_PER_BYTE + _LIST
        wrong |= kind == 0
        wrong |= room < np.uint64(_SHORTEST)
        self.is_wrong[self._known] |= wrong
        is_chunk = body & _CHUNK_KNOWN == room * _CHUNK_PER_BYTE + _CHUNK
        is_chunk &= room >= np.uint64(_SHORTEST_CHUNK)
        self._cells = np.empty((value.size, 2), np.uint64)
        following <<= np.uint64(16)
        body >>= np.uint64(48)
        np.bitwise_or(body, following, out=self._cells[:, 0])
        packed = (value + _SHORTEST).view(np.uint64)
        packed |= room << _ROOM_BITS
        packed |= kind.astype(np.uint64) << _KIND_BITS
        packed |= is_chunk.astype(np.uint64) << _CHUNK_BITS
        self._cells[:, 1] = packed

    def fill(self, cells: AnyArray, n_messages: int) -> Int64Array:
        """Put what was found into the cells of all messages; return the message of each entry used."""
        owner = self.owner[self._known]
        place = self._number * n_messages + owner
        pair = np.dtype((np.void, 2 * LANE_BYTES))
        cells.reshape(-1, 2).view(pair)[place, 0] = self._cells.view(pair)[:, 0]
        return owner
