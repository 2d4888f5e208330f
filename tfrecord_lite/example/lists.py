"""N Example messages to the value lists of their features, in any legal encoding.

::

    Example    1 features ─> Features   1 feature ─> entry  1 key    ─> string
                                                            2 value  ─> Feature
    Feature    1 bytes_list, 2 float_list, 3 int64_list ─> 1 value, repeated

Each level is split into fields for all messages at once; at the level of map
entries all N x K entries are one flat batch. What counts is what the protobuf
runtime makes of the same bytes:

- several ``features`` are merged, the last of several entries with a key counts;
- several ``value`` in an entry are merged, the last of several ``key`` counts;
- of several kinds in a Feature the last counts, and a kind that comes again
  adds its values, unless another came between;
- an entry without key has the key "", one without value has no kind;
- unknown fields are skipped, but an entry that has one is an unknown field itself:
  so has it the runtime's C core;
- keys must be UTF-8.

Only the features asked for are looked into; the others, as far as their keys.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import LEN, Fields, WireError, tokenise
from tfrecord_lite.wire.ragged import gather, ranges, row_splits
from tfrecord_lite.wire.repeated import (
    Extents,
    repeated_fixed32,
    repeated_len,
    repeated_varint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from tfrecord_lite.wire.keys import KeyTable

__all__ = ["LIST_READERS", "LIST_VALUE", "AnyEncoding", "Flat", "Values"]

FEATURES = 1
ENTRY = 1
KEY, VALUE = 1, 2
LIST_VALUE = 1


Flat: TypeAlias = "npt.NDArray[np.float32] | npt.NDArray[np.int64] | Extents"


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The values of some lists, end to end."""

    counts: npt.NDArray[np.int64] | int
    """Values of each list; a plain number if all have as many."""
    flat: Flat
    """All of them; for bytes, where they are in the buffer, or an object array."""


@contextmanager
def _errors_of(owner: npt.NDArray[np.int64]) -> Iterator[None]:
    """Make the number in a :class:`WireError` that of the message one level up."""
    try:
        yield
    except WireError as error:
        raise WireError(int(owner[error.message]), error.offset, error.detail) from None


def _submessages(fields: Fields, number: int) -> Fields:
    return fields.only((fields.number == number) & (fields.wire_type == LEN))


class AnyEncoding:
    """The lists of some features in many messages, however they are encoded.

    A *cell* is one feature of one message; its number is
    ``feature * n_messages + message``.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
    starts, stops : int64, shape (n_messages,)
        The extent of each message in `data`.
    table : KeyTable
        The keys of the features.

    Raises
    ------
    WireError
        For a message the protobuf runtime would refuse, as far as it was looked
        into. Values are looked into when they are asked for.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        stops: npt.NDArray[np.int64],
        table: KeyTable,
    ) -> None:
        self._data = data
        self.n_messages = starts.size
        entries = _entries(data, starts, stops)
        with _errors_of(entries.owner):
            parts = tokenise(data, entries.start, entries.stop, depth=2)
        ids, is_void, self._unknown = _keys(data, parts, entries, table)

        # The last entry with a key counts: of several writes to one place, the last remains.
        last = np.full(len(table.keys) * self.n_messages, -1, np.int64)
        known = np.flatnonzero((ids >= 0) & ~is_void)
        last[ids[known] * self.n_messages + entries.owner[known]] = known
        filled = np.flatnonzero(last >= 0)
        values = _values_of(_submessages(parts, VALUE), last[filled], entries.owner.size)
        with _errors_of(entries.owner[last[filled[values.owner]]]):
            found = tokenise(data, values.start, values.stop, depth=3)
        self._set_lists(found, filled[values.owner[found.owner]], last.size)
        counts = np.zeros(ids.size, np.bool_)
        counts[last[filled]] = True
        put_aside = np.flatnonzero((ids >= 0) & ~counts)
        if put_aside.size:
            self._check(_submessages(parts, VALUE), put_aside, entries.owner)
        self._values: dict[Kind, tuple[npt.NDArray[np.int64], Flat]] = {}

    def _set_lists(self, found: Fields, cell: npt.NDArray[np.int64], n_cells: int) -> None:
        """Keep the lists that count, of all that were found in each cell's Feature."""
        is_list = (found.number <= Kind.INT64) & (found.wire_type == LEN)
        if not is_list.all():
            found, cell = found.only(is_list), cell[is_list]
        kind = np.zeros(n_cells, np.uint8)
        kind[cell] = found.number  # again, the last remains
        is_other = found.number != kind[cell]
        if is_other.any():  # a list counts if no other kind comes behind it
            last_other = np.full(n_cells, -1, np.int64)
            last_other[cell[is_other]] = np.flatnonzero(is_other)
            counts = np.arange(cell.size) > last_other[cell]
            self._check_lists(found.only(~counts), cell[~counts] % self.n_messages)
            found, cell = found.only(counts), cell[counts]
        self._kind = kind
        self._lists = found
        self._cell = cell

    def _check(
        self, values: Fields, entries: npt.NDArray[np.int64], message: npt.NDArray[np.int64]
    ) -> None:
        """Refuse malformed values that do not count; so does the runtime."""
        values = _values_of(values, entries, message.size)
        owner = message[entries[values.owner]]
        with _errors_of(owner):
            found = tokenise(self._data, values.start, values.stop, depth=3)
        found = found.only((found.number <= Kind.INT64) & (found.wire_type == LEN))
        self._check_lists(found, owner[found.owner])

    def _check_lists(self, lists: Fields, message: npt.NDArray[np.int64]) -> None:
        """Refuse malformed lists that do not count."""
        for kind, read in LIST_READERS.items():
            chosen = np.flatnonzero(lists.number == kind)
            some = lists.take(chosen)
            with _errors_of(message[chosen]):
                read(self._data, some.start, some.stop, LIST_VALUE, 4)

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the keys that are not in the table, so many at the most."""
        view = memoryview(self._data)  # type: ignore[arg-type]
        starts, stops = self._unknown.start, self._unknown.start + self._unknown.length
        found: dict[bytes, None] = {}
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            found[view[start:stop].tobytes()] = None
            if len(found) > limit:
                break
        return list(found)

    def kinds(self, feature: int) -> npt.NDArray[np.uint8]:
        """Return the :class:`Kind` of a feature in each message, 0 for none."""
        return self._kind[feature * self.n_messages : (feature + 1) * self.n_messages]

    def values(self, feature: int, kind: Kind) -> Values:
        """Read the values of a feature in each message; no values where it is of another kind.

        Raises
        ------
        WireError
        """
        if kind not in self._values:
            self._values[kind] = self._read(kind)
        splits, flat = self._values[kind]
        splits = splits[feature * self.n_messages : (feature + 1) * self.n_messages + 1]
        return Values(np.diff(splits), _part(flat, int(splits[0]), int(splits[-1])))

    def _read(self, kind: Kind) -> tuple[npt.NDArray[np.int64], Flat]:
        """Read the values of all lists of one kind; return where each cell's start, and all."""
        chosen = self._lists.number == kind
        lists, cell = self._lists.only(chosen), self._cell[chosen]
        with _errors_of(cell % self.n_messages if self.n_messages else cell):
            per_list, flat = LIST_READERS[kind](self._data, lists.start, lists.stop, LIST_VALUE, 4)
        counts = np.zeros(self._kind.size, np.int64)
        if (cell[1:] > cell[:-1]).all():
            counts[cell] = per_list
        else:  # several lists of one cell, to be merged
            np.add.at(counts, cell, per_list)
        return row_splits(counts), flat.view("<f4") if kind is Kind.FLOAT else flat


def _part(flat: Flat, start: int, stop: int) -> Flat:
    if isinstance(flat, Extents):
        return Extents(flat.start[start:stop], flat.length[start:stop])
    return flat[start:stop]


def _entries(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> Fields:
    """Find the map entries of all messages; the owner of each is its message."""
    features = _submessages(tokenise(data, starts, stops), FEATURES)
    with _errors_of(features.owner):
        entries = tokenise(data, features.start, features.stop, depth=1)
    entries = _submessages(entries, ENTRY)
    owner = features.owner[entries.owner]
    return Fields(owner, entries.number, entries.wire_type, entries.start, entries.stop)


def _keys(
    data: npt.NDArray[np.uint8], parts: Fields, entries: Fields, table: KeyTable
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], Extents]:
    """Find the number of each entry's key, -1 for one not in the table; check all of them.

    Also return which entries are void for an unknown field in them, and where the keys
    are that are not in the table.
    """
    is_known = (parts.wire_type == LEN) & ((parts.number == KEY) | (parts.number == VALUE))
    is_void = np.zeros(entries.owner.size, np.bool_)
    is_void[parts.owner[~is_known]] = True
    keys = _submessages(parts, KEY)
    start = entries.start.copy()
    length = np.zeros_like(start)  # an entry without key has the key ""
    start[keys.owner] = keys.start
    length[keys.owner] = keys.stop - keys.start
    ids = table.find(data, start, length)
    is_unsure = ids[keys.owner] < 0
    if keys.owner.size > 1:  # all but the last key of an entry
        is_unsure[:-1] |= keys.owner[1:] == keys.owner[:-1]
    unsure = keys.only(is_unsure)
    with _errors_of(entries.owner[unsure.owner]):
        _check_utf8(data, unsure.start, unsure.stop - unsure.start)
    unknown = np.flatnonzero(ids < 0)
    return ids, is_void, Extents(start[unknown], length[unknown])


def _check_utf8(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> None:
    """Refuse keys that are not UTF-8 (rule W8).

    Raises
    ------
    WireError
        Its `message` is the number of the key.
    """
    joined = gather(data, starts, lengths)
    if joined.size == 0 or int(joined.max()) < 0x80:
        return
    view = memoryview(data)  # type: ignore[arg-type]
    for i, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        try:
            str(view[start : start + length], "utf-8")
        except UnicodeDecodeError:
            raise WireError(i, start, "a feature's key is not UTF-8") from None


def _values_of(values: Fields, chosen: npt.NDArray[np.int64], n_entries: int) -> Fields:
    """Return the values of the chosen entries, in that order; the owner is a number in `chosen`."""
    if values.owner.size == n_entries and (values.owner[1:] > values.owner[:-1]).all():
        picked, owner = chosen, np.arange(chosen.size)  # one value each
    else:
        counts = np.bincount(values.owner, minlength=n_entries)
        first = np.cumsum(counts) - counts
        picked = ranges(first[chosen], counts[chosen])
        owner = np.repeat(np.arange(chosen.size), counts[chosen])
    return replace(values.take(picked), owner=owner)


LIST_READERS: dict[Kind, Callable[..., tuple[npt.NDArray[np.int64], Any]]] = {
    Kind.BYTES: repeated_len,
    Kind.FLOAT: repeated_fixed32,
    Kind.INT64: repeated_varint,
}
