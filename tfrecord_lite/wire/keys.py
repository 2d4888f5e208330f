"""Look up which of some known byte strings is at each of many offsets.

Strings are looked up length by length: those that are as long as some keys are copied as items of that many bytes,
and found among these keys by bisection.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tfrecord_lite.arrays import AnyArray, ByteRanges, Int64Array, rows


class KeyTable:
    """Byte strings, all different, that are looked up at many offsets at once.

    >>> data = np.frombuffer(b"agelabel" + bytes(16), np.uint8)
    >>> table = KeyTable([b"age", b"label"])
    >>> strings = ByteRanges(data, np.array([3, 0, 0]), np.array([5, 3, 2]))
    >>> table.find(strings).tolist()
    [1, 0, -1]
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.keys: tuple[bytes, ...] = tuple(keys)
        self.index: dict[bytes, int] = {key: number for number, key in enumerate(self.keys)}
        by_length: defaultdict[int, list[bytes]] = defaultdict(list)
        for key in sorted(self.keys):
            by_length[len(key)].append(key)
        # Of each length: the keys, ascending, and their numbers. NumPy drops NULs at the end of an item, which
        # does not make keys of one length equal.
        self._by_length: dict[int, tuple[AnyArray, Int64Array]] = {
            length: (np.array(alike, f"S{length or 1}"), np.array([self.index[k] for k in alike]))
            for length, alike in by_length.items()
        }

    def find(self, strings: ByteRanges) -> Int64Array:
        """Return the number of the key that each string is, -1 for none; int64, shape (n,)."""
        data, starts, lengths = strings.data, strings.starts, strings.lengths
        ids = np.full(starts.size, -1, np.int64)
        for length, (keys, numbers) in self._by_length.items():
            alike = np.flatnonzero(lengths == length)  # the strings of this length
            if not length:
                ids[alike] = numbers
            elif alike.size:
                items = rows(data, length)[starts[alike]].view(keys.dtype)
                guess = np.minimum(np.searchsorted(keys, items), keys.size - 1)
                is_key = keys[guess] == items
                ids[alike[is_key]] = numbers[guess[is_key]]
        return ids
