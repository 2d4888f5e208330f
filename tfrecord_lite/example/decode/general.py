"""N Example messages to the value lists of their features, in any legal encoding.

::

    Example    1 features ─> Features   1 feature ─> entry  1 key    ─> string
                                                            2 value  ─> Feature

Each level is split into fields for all messages at once; at the level of map
entries all N x K entries are one flat batch. What counts is what the protobuf
runtime makes of the same bytes:

- several ``features`` are merged, the last of several entries with a key counts;
- several ``value`` in an entry are merged, the last of several ``key`` counts;
- an entry without key has the key "", one without value has no kind;
- unknown fields are skipped, but an entry that has one is an unknown field itself:
  so has it the runtime's C core;
- keys must be UTF-8;
- of a Feature, what :mod:`.cells` says.

Only the features asked for are looked into; the others, as far as their keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.example.decode.entries import MapEntries, distinct, submessages
from tfrecord_lite.example.decode.oneof import MergedFeatures
from tfrecord_lite.example.proto import FEATURES
from tfrecord_lite.wire.fields import tokenise

if TYPE_CHECKING:
    from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array
    from tfrecord_lite.example.decode.oneof import ListValues
    from tfrecord_lite.schema import Kind
    from tfrecord_lite.wire.keys import KeyTable

_LIST_DEPTH = 4


class GeneralMessages:
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
        into. ListValues are looked into when they are asked for.
    """

    def __init__(
        self,
        data: Uint8Array,
        starts: Int64Array,
        stops: Int64Array,
        table: KeyTable,
    ) -> None:
        self._data = data
        self.n_messages = n_messages = starts.size
        entries = MapEntries(data, submessages(tokenise(data, starts, stops), FEATURES))
        located = entries.locate(table, n_messages)
        self._unknown = located.unknown
        self._filled = located.cell
        self._n_cells = len(table.keys) * n_messages
        found = entries.features(located.entry)
        found = replace(found, owner=located.cell[found.owner])
        self._cells = MergedFeatures(
            data, found, self._n_cells, lambda cells: cells % n_messages, _LIST_DEPTH
        )
        aside = located.aside
        if aside.size:  # the runtime refuses what is malformed there, too
            found = entries.features(aside)
            MergedFeatures(
                data, found, aside.size, lambda some: entries.message[aside[some]], _LIST_DEPTH
            ).check()

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the keys that are not in the table, so many at the most."""
        return distinct(self._unknown, limit)

    def present(self, feature: int) -> BoolArray:
        """Return whether each message has a feature, be it without a kind."""
        is_filled = np.zeros(self._n_cells, np.bool_)
        is_filled[self._filled] = True
        return is_filled[feature * self.n_messages : (feature + 1) * self.n_messages]

    def kinds(self, feature: int) -> Uint8Array:
        """Return the :class:`Kind` of a feature in each message, 0 for none."""
        return self._cells.kind[feature * self.n_messages : (feature + 1) * self.n_messages]

    def values(self, feature: int, kind: Kind) -> ListValues:
        """Read the values of a feature in each message; no values where it is of another kind.

        Raises
        ------
        WireError
        """
        first = feature * self.n_messages
        return self._cells.values(first, first + self.n_messages, kind)
