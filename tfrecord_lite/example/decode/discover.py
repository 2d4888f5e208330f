"""Batches with every key they have, when nobody has said which.

A table of keys grows with what turns out not to be in it. What was found stays for
the batches that follow, so that nearly all of them are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from tfrecord_lite.example.decode.batch import Memory
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Keys"]

_MOST_KEYS = 20_000
_MOST_CELLS = 4_000_000
"""Limits on the table of a batch: keys, and keys times messages."""
_FEW_KEYS = 256
_BYTES_A_KEY = 2
"""Beyond so few, keys must be in many of the messages, or a table of all is nearly empty: not
more of them than messages have pairs of bytes on average."""
_ANY_NUMBER = 2**63


class _HasKeys(Protocol):
    def unknown_keys(self, limit: int) -> list[bytes]: ...


AnyBatch = TypeVar("AnyBatch", bound=_HasKeys)


class Keys:
    """The keys that batches were seen to have.

    Attributes
    ----------
    table : KeyTable
        The keys of the last batch, at least.
    """

    def __init__(self) -> None:
        self.table = KeyTable([])
        self._memory = Memory()

    def read(
        self,
        n_messages: int,
        read: Callable[[KeyTable, Memory], AnyBatch],
        n_bytes: int | None = None,
    ) -> AnyBatch | None:
        """Read a batch with all the keys it has; None if those are too many for several.

        With `n_bytes`, the size of all messages, also None if few messages have each key.
        """
        limit = min(_MOST_KEYS, _MOST_CELLS // n_messages) if n_messages > 1 else _ANY_NUMBER
        if n_messages > 1 and n_bytes is not None:
            limit = min(limit, max(_FEW_KEYS, n_bytes // (n_messages * _BYTES_A_KEY)))
        is_fresh = not self.table.keys
        while True:
            batch = read(self.table, self._memory)
            unknown = batch.unknown_keys(limit)
            if not unknown:
                return batch
            keys = [*self.table.keys, *unknown]
            if len(keys) > limit:
                keys = []  # forget those of earlier batches
                if is_fresh:
                    self.table, self._memory = KeyTable([]), Memory()
                    return None
                is_fresh = True
            self.table, self._memory = KeyTable(keys), Memory()
