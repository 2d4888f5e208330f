"""The rule of random order: the same on every machine, and resumable at any point.

A key (seed, number of the shuffle, epoch, ...) seeds NumPy's PCG64 generator. Only its raw 64-bit
words are used, which are the same in all versions of NumPy. Word number t can be computed without
those before it, so a shuffle can go on from any step.

**Shuffle with a buffer** of b slots and n elements, in order:

1. the buffer is filled: slot i holds element i;
2. step t, for t = 0, 1, ...: slot ``floor(b * u_t)`` is drawn, where ``u_t`` is the upper 53
   bits of word t, as a fraction of 1. Its element is returned, element ``b + t`` takes its place;
3. when there is no element ``b + t``, the rest of the buffer is returned, sorted by the words of a
   second generator (word i for slot i).

Each element in the buffer is equally likely to be next.

**Shuffle of all** n elements: sorted by the words of a generator, word i for element i.
"""

from __future__ import annotations

import os

import numpy as np

from tfrecord_lite.arrays import Float64Array, Int64Array, Uint64Array
from tfrecord_lite.errors import require_int

OrderKey = tuple[int, ...]
"""The seed of a random order, and numbers that distinguish the orders of one seed."""

_STEPS, _REST, _ALL = 0, 1, 2
"""Purpose of a generator: the last number of its key."""
_LEAST_WINDOW = 4096
MIX = 2**32
"""Number of a mixture in keys, where shuffles have theirs."""


def seed_of(seed: int | None) -> int:
    """Return a seed as 64 bits; draw one if it is None."""
    return int.from_bytes(os.urandom(8)) >> 1 if seed is None else require_int("seed", seed) % 2**64


def _words(key: OrderKey, purpose: int, first: int, n_words: int) -> Uint64Array:
    # The count of words, then two words per number: different keys give different seeds.
    words = [word for number in (*key, purpose) for word in (number & 0xFFFFFFFF, number >> 32)]
    generator = np.random.PCG64(np.random.SeedSequence([len(words), *words]))
    generator.advance(first)
    return generator.random_raw(n_words)


def fractions(key: OrderKey, first: int, n_steps: int) -> Float64Array:
    """Return the fractions of 1 that are drawn in the steps from `first` on: float64, shape (n_steps,)."""
    return (_words(key, _STEPS, first, n_steps) >> np.uint64(11)) * np.float64(2.0**-53)


def draws(key: OrderKey, n_slots: int, first: int, n_steps: int) -> Int64Array:
    """Return the slots drawn in the steps from `first` on: int64, shape (n_steps,)."""
    return (fractions(key, first, n_steps) * n_slots).astype(np.int64)


def origins(slots: Int64Array, n_slots: int) -> Int64Array:
    """Return which elements go out in some steps: int64, shape (n_steps,).

    A value below `n_slots` is the element that this slot held before the first of the steps; any
    other, the element that came in with step ``value - n_slots``. `slots` are the slots drawn,
    shape (n_steps,).

    >>> origins(np.array([1, 0, 1, 1]), 3).tolist()
    [1, 0, 3, 5]
    """
    # Sorted by slot and then by step, each step follows the previous one that drew the
    # same slot. NumPy sorts 16-bit integers many times as fast.
    is_short = n_slots <= np.iinfo(np.uint16).max
    order = np.argsort(slots.astype(np.uint16) if is_short else slots, kind="stable")
    out = slots.copy()
    is_again = slots[order[1:]] == slots[order[:-1]]
    out[order[1:][is_again]] = n_slots + order[:-1][is_again]
    return out


def buffer_at(key: OrderKey, n_slots: int, n_steps: int) -> Int64Array:
    """Return which element each slot holds after `n_steps` steps: int64, shape (n_slots,).

    Looks back until each slot was drawn: about ``n_slots * log(n_slots)`` steps.
    """
    held = np.full(n_slots, -1)  # the element in each slot; -1 where it is not known yet
    stop, window = n_steps, max(_LEAST_WINDOW, 2 * n_slots)
    while stop and (held < 0).any():
        start = max(stop - window, 0)
        slots = draws(key, n_slots, start, stop - start)
        last = np.full(n_slots, -1)
        last[slots] = np.arange(start, stop)  # of equal slots, the last one counts
        is_new = (held < 0) & (last >= 0)
        held[is_new] = n_slots + last[is_new]
        stop = start
    return np.where(held < 0, np.arange(n_slots), held)


def permutation(key: OrderKey, n: int, *, of_buffer: bool = False) -> Int64Array:
    """Return 0 to n - 1 in random order, for a shuffle of all or (`of_buffer`) to empty a buffer."""
    return np.argsort(_words(key, _REST if of_buffer else _ALL, 0, n), kind="stable")


def order_words(key: OrderKey, first: int, n_words: int) -> Uint64Array:
    """Return words by which a shuffle of all is sorted: uint64, shape (n_words,)."""
    return _words(key, _ALL, first, n_words)
