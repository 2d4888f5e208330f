"""Example messages in any legal encoding to the values of their features.

Each level (:mod:`~tfrecord_lite.example.proto`) is split into fields for all messages at once;
the map entries of N messages with K features are one flat batch of N x K entries. The result
is what the protobuf runtime makes of the same bytes:

- several ``features`` are merged, the last of several entries with a key counts;
- several ``value`` in an entry are merged, the last of several ``key`` counts;
- an entry without key has the key "", one without value has no kind;
- unknown fields are skipped, but an entry that has one is an unknown field itself, as for the
  runtime's C core;
- keys must be UTF-8;
- a Feature is what :mod:`.oneof` says.

Features that are not asked for are only read as far as their keys.
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
    """The values of some features in many messages, in any encoding.

    `starts` and `stops` are the extents of the messages, `table` has the keys of the features. A
    *cell* is one feature of one message; its number is ``feature * n_messages + message``.

    Raises WireError for a message that the protobuf runtime would reject, as far as it was read.
    Values are read when they are asked for.
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        n_messages = starts.size
        self.n_messages: int = n_messages
        entries = MapEntries(data, submessages(tokenise(data, starts, stops), FEATURES))
        located = entries.locate(table, n_messages)
        self._unknown = located.unknown
        self._filled = located.cell
        self._n_cells = len(table.keys) * n_messages
        found = entries.features(located.entry)
        found = replace(found, owner=located.cell[found.owner])
        self._merged = MergedFeatures(
            data, found, self._n_cells, lambda cells: cells % n_messages, _LIST_DEPTH
        )
        aside = located.aside
        if aside.size:  # the runtime rejects what is malformed there, too
            found = entries.features(aside)
            MergedFeatures(
                data, found, aside.size, lambda some: entries.message[aside[some]], _LIST_DEPTH
            ).check()

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, up to one more than the limit."""
        return distinct(self._unknown, limit)

    def present(self, feature: int) -> BoolArray:
        """Return which messages have a feature, with or without a kind; shape (n_messages,)."""
        is_filled = np.zeros(self._n_cells, np.bool_)
        is_filled[self._filled] = True
        return is_filled[feature * self.n_messages : (feature + 1) * self.n_messages]

    def kinds(self, feature: int) -> Uint8Array:
        """Return the :class:`Kind` of a feature in each message, 0 for none."""
        return self._merged.kind[feature * self.n_messages : (feature + 1) * self.n_messages]

    def values(self, feature: int, kind: Kind) -> ListValues:
        """Read the values of a feature in each message; none where it is of another kind."""
        first = feature * self.n_messages
        return self._merged.values(first, first + self.n_messages, kind)
