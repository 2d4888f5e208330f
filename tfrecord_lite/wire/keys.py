"""Look up which of some known byte strings stands at each of many offsets.

Every string is folded, eight bytes at a time, into a 64-bit fingerprint, in one NumPy pass
per word of the longest key. The fingerprint selects the one candidate key, and comparing all words
confirms it.

:class:`HeadTable` does the same for few short keys, whose words were loaded before: a hash that has no
collisions among them, found by trial, is the index of the candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tfrecord_lite.arrays import (
    LANE_BYTES,
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint64Array,
    lanes,
)

_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(LANE_BYTES + 1)], np.uint64)
"""Entry n is the mask of the low n bytes of a word."""

_LONG_BYTES = 256
"""Longer keys have no fingerprint; they are compared one by one."""

_TOP_BITS = np.uint64(0x8080808080808080)
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

    @cached_property
    def heads(self) -> HeadTable | None:
        """The same keys by rows of words; None if they are too many or too long for that."""
        return HeadTable.of(self.keys)

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


HEAD_BYTES = 4
"""Bytes before a key in the rows that a :class:`HeadTable` looks up; the last is the key's length."""
_MOST_HEADS = 256
_LONGEST_HEAD_KEY = 8 * LANE_BYTES - HEAD_BYTES
_TRIALS = 64
_MOST_SLOT_BITS = 16
_KEY_SIZES = 0x80


class HeadTable:
    """Keys that are looked up by rows of words, which have a key's length in the fourth byte.

    >>> heads = HeadTable.of([b"age", b"label"])
    >>> rows = np.frombuffer(b"....age.........", np.uint8).copy()
    >>> rows[3] = 3
    >>> heads.find(rows.view("<u8").reshape(2, 1), np.array([3]))[0].tolist()
    [0]
    """

    def __init__(self, keys: Sequence[bytes], multipliers: Uint64Array, slot_bits: int) -> None:
        self.n_words: int = multipliers.size
        self._multipliers = multipliers
        self._shift = 64 - slot_bits
        sizes = np.arange(_KEY_SIZES)
        firsts = LANE_BYTES * np.arange(self.n_words)[:, None] - HEAD_BYTES
        self._masks = _LOW_BYTES[np.clip(sizes - firsts, 0, LANE_BYTES)]
        """By word and length of a key: its bytes in that word."""
        self._masks[0] = _LOW_BYTES[
            1 + np.minimum(sizes, HEAD_BYTES)
        ]  # once shifted: the length too
        self._capacity = self.n_words * LANE_BYTES - HEAD_BYTES
        width = self.n_words * LANE_BYTES
        rows = b"".join((bytes([0, 0, 0, len(key)]) + key).ljust(width, b"\0") for key in keys)
        padded = np.frombuffer(rows, "<u8").reshape(-1, self.n_words)
        words, _ = self._words(padded.T, np.array([len(key) for key in keys], np.int64))
        none = np.full((self.n_words, 1), ~np.uint64(0))  # what no row can have as its first word
        self._keys = np.concatenate([np.array(words).reshape(self.n_words, -1), none], axis=1)
        self._numbers = np.full(1 << slot_bits, len(keys), np.int16)
        self._numbers[self._slots(words)] = np.arange(len(keys))
        self.is_perfect: bool = bool((self._numbers < len(keys)).sum() == len(keys))
        """Whether no two keys have one slot."""

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> HeadTable | None:
        """Make the table; None if the keys are too many or too long for it."""
        longest = max(map(len, keys), default=0)
        if not keys or len(keys) > _MOST_HEADS or longest > _LONGEST_HEAD_KEY:
            return None
        n_words = next(n for n in (2, 4, 8) if longest <= n * LANE_BYTES - HEAD_BYTES)
        random = np.random.default_rng(len(keys))
        # With so many slots about one pair of keys collides, and so every third trial succeeds.
        slot_bits = min((len(keys) ** 2 // 2).bit_length() + 1, _MOST_SLOT_BITS)
        for _ in range(_TRIALS):
            odd = random.integers(0, 2**63, n_words).astype(np.uint64) * np.uint64(2)
            table = cls(keys, odd + np.uint64(1), slot_bits)
            if table.is_perfect:
                return table
        return None

    @property
    def tables(self) -> tuple[AnyArray, Uint64Array, int, AnyArray, AnyArray]:
        """What a kernel needs to look keys up as :meth:`find` does: masks, hash, words, numbers."""
        return self._masks, self._multipliers, self._shift, self._keys, self._numbers

    def _words(self, rows: AnyArray, sizes: Int64Array) -> tuple[list[Uint64Array], Uint64Array]:
        """Return the words of keys with nothing else in them, the first with the length; and all bits."""
        words = [(rows[0] >> np.uint64(24)) & self._masks[0].take(sizes)]
        bits = words[0].copy()
        for place in range(1, self.n_words):
            words.append(rows[place] & self._masks[place].take(sizes))
            bits |= words[-1]
        return words, bits

    def _slots(self, words: list[Uint64Array]) -> Int64Array:
        hashed = words[0] * self._multipliers[0]
        for word, multiplier in zip(words[1:], self._multipliers[1:], strict=True):
            hashed += word * multiplier
        slots: Int64Array = (hashed >> np.uint64(self._shift)).view(np.int64)
        return slots

    def find(self, rows: AnyArray, sizes: Int64Array) -> tuple[Int64Array, BoolArray]:
        """Return the number of the key in each row, -1 for none; and which are sure to be ASCII.

        `rows` are words, shape (n_words, n); `sizes` the lengths of the keys, below 128.
        """
        words, bits = self._words(rows, sizes)
        numbers = self._numbers.take(self._slots(words)).astype(np.int64)
        differs = self._keys[0].take(numbers) != words[0]
        for keys, word in zip(self._keys[1:], words[1:], strict=True):
            differs |= keys.take(numbers) != word
        numbers[differs] = -1
        # Of a longer key a row has a part only.
        is_ascii = (bits & _TOP_BITS == 0) & (sizes <= self._capacity)
        return numbers, is_ascii
