"""The map entries of many messages: the key of each, and the Feature or FeatureList.

Nearly every entry of a Feature is short and written as programs write it. Then all of it
but its key, its kind and its values follows from its extent, and one look says whether it
is so::

    0a K  key ...  12 r-2  (0a | 12 | 1a) r-4  list ...
          K bytes  r bytes, up to the end of the entry

The others are split into fields, as messages are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.arrays import (
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    lanes,
    ranges,
)
from tfrecord_lite.example.proto import ENTRY, KEY, KEY_TAG, KIND_OF_TAG, VALUE, VALUE_TAG
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise
from tfrecord_lite.wire.scalar import LEN, MAX_VARINT_BYTES, WireError
from tfrecord_lite.wire.varint import read_varints

if TYPE_CHECKING:
    from tfrecord_lite.wire.keys import KeyTable

    _Looked = tuple[ByteRanges, Uint8Array, Int64Array]

# A plain entry: what is known of its first two bytes, and of the four behind its key,
# which is linear in the number of bytes r from there to the end.
_HEAD_KNOWN, _HEAD = np.uint64(0x80FF), np.uint64(KEY_TAG[0])
_BODY_KNOWN = np.uint64(0xFF00FFFF)
_BODY_PER_BYTE = np.uint64(1 << 8 | 1 << 24)
_BODY = np.uint64((VALUE_TAG[0] - (2 << 8) - (4 << 24)) % 2**64)
_SHORTEST, _LONGEST = 4, 0x7F + 2


def submessages(fields: Fields, number: int) -> Fields:
    """Return the LEN fields with a number."""
    return fields.only((fields.number == number) & (fields.wire_type == LEN))


def join(parts: list[Fields]) -> Fields:
    """Bring fields from several places into the order of their owners."""
    columns = ([getattr(part, name) for part in parts] for name in Fields.__slots__)
    joined = Fields(*map(np.concatenate, columns))
    return joined.take(np.argsort(joined.owner, kind="stable"))


@dataclass(frozen=True, slots=True, eq=False)
class LocatedEntries:
    """Which entries have the keys that were asked for.

    A *cell* is one key in one message; its number is ``key * n_messages + message``.
    """

    cell: Int64Array
    """The cells that have an entry, ascending; shape (n,)."""
    entry: Int64Array
    """The number of the entry that counts in each of them: the last; shape (n,)."""
    aside: Int64Array
    """The entries with such a key that do not count; shape (m,)."""
    unknown: ByteRanges
    """All other keys."""


class MapEntries:
    """The map entries of many messages, by message, then in the order stored.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer; a block's spare bytes follow the last message.
    maps : Fields
        The messages that hold the maps, ``Features`` or ``FeatureLists``; the owner is the
        number of the message that has it.
    of_features : bool, optional
        Whether the values are Features, of which most can be told with one look.

    Raises
    ------
    WireError
        For a message whose entries are malformed; their values are not looked into.
    """

    def __init__(self, data: Uint8Array, maps: Fields, *, of_features: bool = True) -> None:
        self._data = data
        with renumbered(maps.owner):
            entries = tokenise(data, maps.start, maps.stop, depth=1)
        entries = submessages(entries, ENTRY)
        self.message = maps.owner[entries.owner]
        """Number of the message of each entry."""
        self._stop = entries.stop
        look = self._look if of_features else self._look_at_lists
        self.key, self._kind, self._list_start = look(entries)
        """Where the key of each entry is: the last one, and "" if there is none."""
        self.is_void = np.zeros(self.message.size, np.bool_)
        """Whether an entry has an unknown field; it is one itself then, for the runtime."""
        self._odd = np.flatnonzero(self._kind == 0)
        self._keys = self._values = entries.take(self._odd[:0])
        if self._odd.size:
            self._split(entries.take(self._odd))

    def _look(self, entries: Fields) -> _Looked:
        """Find the key, the kind and the list of each plain entry, kind 0 for the others."""
        words = lanes(self._data)
        head = words[entries.start]
        length = ((head >> np.uint64(8)) & np.uint64(0xFF)).view(np.int64)
        start = entries.start + 2
        value = start + length
        body = words[value]  # a key of up to 255 bytes ends within the spare bytes
        room = (entries.stop - value).view(np.uint64)
        is_plain = body & _BODY_KNOWN == room * _BODY_PER_BYTE + _BODY
        is_plain &= head & _HEAD_KNOWN == _HEAD
        is_plain &= room - np.uint64(_SHORTEST) <= np.uint64(_LONGEST - _SHORTEST)
        kind = KIND_OF_TAG[((body >> np.uint64(16)) & np.uint64(0xFF)).view(np.int64)]
        kind *= is_plain
        return ByteRanges(self._data, start, length), kind, value + 4

    def _look_at_lists(self, entries: Fields) -> _Looked:
        """Find the key and the FeatureList of each plain entry; not its kind, which is 1."""
        words = lanes(self._data)
        head = words[entries.start]
        length = ((head >> np.uint64(8)) & np.uint64(0xFF)).view(np.int64)
        start = entries.start + 2
        value = start + length
        lengths, sizes = read_varints(words, value + 1)
        begin = value + 1 + sizes
        room = entries.stop - begin
        is_plain = head & _HEAD_KNOWN == _HEAD
        is_plain &= self._data[value] == VALUE_TAG[0]
        is_plain &= (room >= 0) & (lengths == room.view(np.uint64)) & (sizes <= MAX_VARINT_BYTES)
        return ByteRanges(self._data, start, length), is_plain.astype(np.uint8), begin

    def _split(self, odd: Fields) -> None:
        """Split the entries that are not plain into fields; find their keys."""
        with renumbered(self.message[self._odd]):
            parts = tokenise(self._data, odd.start, odd.stop, depth=2)
        is_known = (parts.wire_type == LEN) & ((parts.number == KEY) | (parts.number == VALUE))
        self.is_void[self._odd[parts.owner[~is_known]]] = True
        self._values = submessages(parts, VALUE)
        self._keys = submessages(parts, KEY)
        self.key.starts[self._odd], self.key.lengths[self._odd] = odd.start, 0
        owner = self._odd[self._keys.owner]  # of several writes to one place, the last remains
        self.key.starts[owner] = self._keys.start
        self.key.lengths[owner] = self._keys.stop - self._keys.start

    def locate(self, table: KeyTable, n_messages: int) -> LocatedEntries:
        """Look up all keys.

        Parameters
        ----------
        table : KeyTable
            The keys asked for.
        n_messages : int

        Returns
        -------
        LocatedEntries

        Raises
        ------
        WireError
            For a key that is not UTF-8 (rule W8).
        """
        ids = table.find(self.key)
        is_known = ids >= 0
        self._check_keys(is_known)
        unknown = np.flatnonzero(~is_known)
        # The last entry with a key counts: of several writes to one place, the last remains.
        last = np.full(len(table.keys) * n_messages, -1, np.int64)
        known = np.flatnonzero(is_known & ~self.is_void)
        last[ids[known] * n_messages + self.message[known]] = known
        cell = np.flatnonzero(last >= 0)
        is_known[last[cell]] = False
        return LocatedEntries(
            cell,
            last[cell],
            np.flatnonzero(is_known),
            self.key.take(unknown),
        )

    def _check_keys(self, is_known: BoolArray) -> None:
        """Refuse keys that are not UTF-8; the known ones surely are."""
        unsure = np.flatnonzero(~is_known)
        # All keys of an entry but the last are nowhere else.
        keys = self._keys
        hidden = np.flatnonzero(keys.owner[1:] == keys.owner[:-1])
        starts = np.concatenate([self.key.starts[unsure], keys.start[hidden]])
        lengths = np.concatenate([self.key.lengths[unsure], (keys.stop - keys.start)[hidden]])
        with renumbered(self.message[np.concatenate([unsure, self._odd[keys.owner[hidden]]])]):
            _check_utf8(ByteRanges(self._data, starts, lengths))

    def values(self, chosen: Int64Array) -> Fields:
        """Return the values of some entries.

        Parameters
        ----------
        chosen : int64, shape (n,)
            Numbers of entries.

        Returns
        -------
        Fields
            In the order of `chosen`; the owner is a number in it. An entry may have
            several, which are to be merged, or none.
        """
        is_odd = self._kind[chosen] == 0
        odd = np.flatnonzero(is_odd)
        found = _values_of(self._values, np.searchsorted(self._odd, chosen[odd]), self._odd.size)
        if odd.size == chosen.size:
            return found
        plain = np.flatnonzero(~is_odd)
        types = np.full(plain.size, LEN, np.uint8)
        numbers = np.full(plain.size, VALUE, np.int32)
        owner = chosen[plain]
        fields = Fields(plain, numbers, types, self._list_start[owner], self._stop[owner])
        return join([fields, replace(found, owner=odd[found.owner])]) if odd.size else fields

    def features(self, chosen: Int64Array) -> Fields:
        """Return the fields of some entries' Features.

        Parameters
        ----------
        chosen : int64, shape (n,)
            Numbers of entries.

        Returns
        -------
        Fields
            The owner is a number in `chosen`.

        Raises
        ------
        WireError
        """
        kind = self._kind[chosen]
        plain = np.flatnonzero(kind)
        owner = chosen[plain]
        types = np.full(plain.size, LEN, np.uint8)
        numbers = kind[plain].astype(np.int32)
        fields = Fields(plain, numbers, types, self._list_start[owner], self._stop[owner])
        if plain.size == chosen.size:
            return fields
        odd = np.flatnonzero(kind == 0)
        values = self.values(chosen[odd])
        with renumbered(self.message[chosen[odd[values.owner]]]):
            found = tokenise(self._data, values.start, values.stop, depth=3)
        return join([fields, replace(found, owner=odd[values.owner[found.owner]])])


def distinct(keys: ByteRanges, limit: int) -> list[bytes]:
    """Return the different keys, up to one more than the limit."""
    view = memoryview(keys.data)  # type: ignore[arg-type]
    starts, stops = keys.starts, keys.starts + keys.lengths
    found: dict[bytes, None] = {}
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        found[view[start:stop].tobytes()] = None
        if len(found) > limit:
            break
    return list(found)


def _check_utf8(strings: ByteRanges) -> None:
    """Raise WireError with the number of the first string that is not UTF-8."""
    joined = strings.joined()
    if joined.size == 0 or int(joined.max()) < 0x80:
        return
    view = memoryview(strings.data)  # type: ignore[arg-type]
    extents = zip(strings.starts.tolist(), strings.lengths.tolist(), strict=True)
    for i, (start, length) in enumerate(extents):
        try:
            str(view[start : start + length], "utf-8")
        except UnicodeDecodeError:
            raise WireError(i, start, "a feature's key is not UTF-8") from None


def _values_of(values: Fields, chosen: Int64Array, n_entries: int) -> Fields:
    """Return the values of the chosen entries, in that order; the owner is a number in `chosen`."""
    if values.owner.size == n_entries and (values.owner[1:] > values.owner[:-1]).all():
        picked, owner = chosen, np.arange(chosen.size)  # one value each
    else:
        counts = np.bincount(values.owner, minlength=n_entries)
        first = np.cumsum(counts) - counts
        picked = ranges(first[chosen], counts[chosen])
        owner = np.repeat(np.arange(chosen.size), counts[chosen])
    return replace(values.take(picked), owner=owner)
