"""Look up which of some known byte strings stands at each of many offsets.

Every string is folded, eight bytes at a time, into a 64-bit fingerprint, in one NumPy pass
per word of the longest key. The fingerprint selects the one candidate key, and comparing all words
confirms it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfrecord_lite.arrays import LANE_BYTES, ByteRanges, Int64Array, Uint64Array, lanes

_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(LANE_BYTES + 1)], np.uint64)
"""Entry n is the mask of the low n bytes of a word."""

_LONG_BYTES = 256
"""Longer keys have no fingerprint; they are compared one by one."""

_MULTIPLIER = 0x9E3779B97F4A7C15
_SHIFT = np.uint64(29)


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
        short = [number for number, key in enumerate(self.keys) if len(key) <= _LONG_BYTES]
        self._long_lengths = {len(key) for key in self.keys if len(key) > _LONG_BYTES}
        lengths = np.array([len(self.keys[number]) for number in short], np.int64)
        self._n_words = -(-int(lengths.max(initial=0)) // LANE_BYTES)
        self._is_length = np.zeros(_LONG_BYTES + 2, np.bool_)  # the last entry: longer than any
        self._is_length[lengths] = True
        n_bytes = self._n_words * LANE_BYTES
        padded = b"".join(self.keys[number].ljust(n_bytes, b"\0") for number in short)
        words = np.frombuffer(padded, "<u8").reshape(len(short), self._n_words)
        self._multiplier = np.uint64(_MULTIPLIER)
        while True:
            prints = self._seed(lengths)
            for column in words.T:
                prints = self._fold(prints, column)
            order = np.argsort(prints)
            ascending = prints[order]
            if (ascending[1:] > ascending[:-1]).all():
                break
            self._multiplier += np.uint64(2)  # two keys have one fingerprint: fold in another way
        # The short keys, in the order of their fingerprints.
        self._prints, self._words, self._lengths = ascending, words[order], lengths[order]
        self._numbers = np.array(short, np.int64)[order]

    def _seed(self, lengths: Int64Array) -> Uint64Array:
        """Start fingerprints with the lengths, so that some multiplier tells any two keys apart."""
        return lengths.astype(np.uint64) * self._multiplier

    def _fold(self, prints: Uint64Array, words: Uint64Array) -> Uint64Array:
        prints = (prints ^ words) * self._multiplier
        prints ^= prints >> _SHIFT
        return prints

    def find(self, strings: ByteRanges) -> Int64Array:
        """Return the number of the key that each string is, -1 for none; int64, shape (n,).

        In their buffer 8 bytes or more must follow the last string.
        """
        data, starts, lengths = strings.data, strings.starts, strings.lengths
        ids = np.full(starts.size, -1, np.int64)
        if self._long_lengths:
            self._find_long(strings, ids)
        if not self._prints.size:
            return ids
        fits = self._is_length[np.minimum(lengths, self._is_length.size - 1)]
        some = np.flatnonzero(fits)
        starts, lengths = starts[some], lengths[some]
        words = lanes(data)
        found = []
        prints = self._seed(lengths)
        for place in range(self._n_words):
            left = np.clip(lengths - place * LANE_BYTES, 0, LANE_BYTES)
            # Where no bytes are left any word will do; the start is inside the buffer for sure.
            at = np.where(left > 0, starts + place * LANE_BYTES, starts)
            word = words[at] & _LOW_BYTES[left]
            found.append(word)
            prints = self._fold(prints, word)
        guess = np.minimum(np.searchsorted(self._prints, prints), self._prints.size - 1)
        is_key = self._lengths[guess] == lengths
        for column, word in zip(self._words.T, found, strict=True):
            is_key &= column[guess] == word
        ids[some[is_key]] = self._numbers[guess[is_key]]
        return ids

    def _find_long(self, strings: ByteRanges, ids: Int64Array) -> None:
        """Look up long keys one by one: a buffer cannot hold many."""
        view = memoryview(strings.data)  # type: ignore[arg-type]
        for place in np.flatnonzero(strings.lengths > _LONG_BYTES).tolist():
            start, length = int(strings.starts[place]), int(strings.lengths[place])
            if length in self._long_lengths:
                ids[place] = self.index.get(view[start : start + length].tobytes(), -1)
