"""What a reader of messages gives: kinds and values of each feature, asked for one by one.

::

    message          0               1           2       3
    feature "x"      int64 [5, 6]    missing     {}      bytes [b"a"]      ({}: without a kind)

    present          yes             no          yes     yes
    kinds            INT64           0           0       BYTES
    lists INT64      [5, 6]          []          []      []                Lists of one level
    lists BYTES      []              []          []      [b"a"]

Four readers give this, each for the messages that it can read; :class:`~.batch.MessageBatch` gives
it for all messages of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array
    from tfrecord_lite.convert.lists import Lists


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
