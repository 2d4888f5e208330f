"""Batches of Examples with every key they have, when nobody has said which.

A table of keys grows with what turns out not to be in it. What was found stays for
the batches that follow, so that nearly all of them are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.example.batch import Batch
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from tfrecord_lite.block import Block
    from tfrecord_lite.example.layout import Layout

__all__ = ["KeyFinder"]

_MOST_KEYS = 20_000
_MOST_CELLS = 4_000_000
"""Limits on the table of a batch: keys, and keys times messages."""


class KeyFinder:
    """Reads batches with all the keys they have; remembers these, and how messages look.

    Notes
    -----
    Not thread-safe; one a thread is cheap.
    """

    def __init__(self) -> None:
        self._table = KeyTable([])
        self._layouts: list[Layout] = []

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys of the batch that was read last, and maybe more; UTF-8."""
        return self._table.keys

    def batch(self, block: Block) -> Batch | None:
        """Read a batch.

        Returns
        -------
        Batch or None
            Feature number ``i`` of it is ``keys[i]``. None if it has too many keys for
            one table: then read it in parts, each of which has fewer.

        Raises
        ------
        WireError
            For a message that is malformed.
        """
        stops = block.offsets + block.lengths
        limit = min(_MOST_KEYS, _MOST_CELLS // max(len(block), 1))
        is_fresh = not self._table.keys
        while True:
            batch = Batch(block.data, block.offsets, stops, self._table, self._layouts)
            unknown = batch.unknown_keys(limit)
            if not unknown:
                return batch
            keys = [*self._table.keys, *unknown]
            if len(keys) > limit:
                keys = []  # forget those of earlier batches
                if is_fresh:
                    self._table, self._layouts = KeyTable([]), []
                    return None
                is_fresh = True
            self._table, self._layouts = KeyTable(keys), []
