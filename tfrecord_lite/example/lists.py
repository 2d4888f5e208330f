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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.example.entries import Entries, errors_of
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import LEN, Fields
from tfrecord_lite.wire.ragged import row_splits
from tfrecord_lite.wire.repeated import (
    Extents,
    repeated_fixed32,
    repeated_len,
    repeated_varint,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tfrecord_lite.wire.keys import KeyTable

__all__ = ["LIST_READERS", "LIST_VALUE", "AnyEncoding", "Flat", "Values"]

LIST_VALUE = 1


Flat: TypeAlias = "npt.NDArray[np.float32] | npt.NDArray[np.int64] | Extents"


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The values of some lists, end to end."""

    counts: npt.NDArray[np.int64] | int
    """Values of each list; a plain number if all have as many."""
    flat: Flat
    """All of them; for bytes, where they are in the buffer, or an object array."""


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
        entries = Entries(data, starts, stops)
        ids = table.find(data, entries.key.start, entries.key.length)
        entries.check_keys(ids >= 0)
        unknown = np.flatnonzero(ids < 0)
        self._unknown = Extents(entries.key.start[unknown], entries.key.length[unknown])

        # The last entry with a key counts: of several writes to one place, the last remains.
        last = np.full(len(table.keys) * self.n_messages, -1, np.int64)
        is_known = ids >= 0
        known = np.flatnonzero(is_known & ~entries.is_void)
        last[ids[known] * self.n_messages + entries.message[known]] = known
        filled = np.flatnonzero(last >= 0)
        found = entries.features(last[filled])
        self._set_lists(found, filled[found.owner], last.size)
        is_known[last[filled]] = False
        put_aside = np.flatnonzero(is_known)
        if put_aside.size:
            self._check(entries, put_aside)
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

    def _check(self, entries: Entries, put_aside: npt.NDArray[np.int64]) -> None:
        """Refuse malformed Features of entries that do not count; so does the runtime."""
        found = entries.features(put_aside)
        found = found.only((found.number <= Kind.INT64) & (found.wire_type == LEN))
        self._check_lists(found, entries.message[put_aside[found.owner]])

    def _check_lists(self, lists: Fields, message: npt.NDArray[np.int64]) -> None:
        """Refuse malformed lists that do not count."""
        for kind, read in LIST_READERS.items():
            chosen = np.flatnonzero(lists.number == kind)
            some = lists.take(chosen)
            with errors_of(message[chosen]):
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
        with errors_of(cell % self.n_messages if self.n_messages else cell):
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


LIST_READERS: dict[Kind, Callable[..., tuple[npt.NDArray[np.int64], Any]]] = {
    Kind.BYTES: repeated_len,
    Kind.FLOAT: repeated_fixed32,
    Kind.INT64: repeated_varint,
}
