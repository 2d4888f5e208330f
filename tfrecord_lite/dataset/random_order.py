"""Random order by a rule: the same on every machine, and from any point on.

A key (seed, epoch, ...) makes a generator, NumPy's PCG64, of which only raw 64-bit
words are used; these stay the same for all versions of NumPy. Word number t can be computed
without those before it, so a shuffle is resumed without its past.

**Shuffle with a buffer** of b slots and n elements, in order:

1. the buffer is filled: slot i holds element i;
2. step t, for t = 0, 1, ...: slot ``floor(b * u_t)`` is drawn, where ``u_t`` is the upper 53
   bits of word t, as a fraction of 1. Its element goes out, element ``b + t`` comes in;
3. when there is no element ``b + t``: what the buffer holds goes out, ordered by the words
   of a second generator, each slot's word its sorting key.

Every element that is in the buffer is as likely as any other to go out next.

**Shuffle of all** n elements: their numbers, ordered by the words 0 to n - 1, one each.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint64Array

Key = tuple[int, ...]

_STEPS, _REST, _ALL = 0, 1, 2
"""Purpose of a generator: the last number of its key."""
_LEAST_WINDOW = 4096


def seed_of(seed: int | None) -> int:
    """Return a seed as 64 bits; draw one if it is None."""
    return secrets.randbits(63) if seed is None else int(seed) % 2**64


def _words(key: Key, purpose: int, first: int, n_words: int) -> Uint64Array:
    # Two words for each number, after their count: different keys never look the same.
    words = [word for number in (*key, purpose) for word in (number & 0xFFFFFFFF, number >> 32)]
    generator = np.random.PCG64(np.random.SeedSequence([len(words), *words]))
    generator.advance(first)
    return generator.random_raw(n_words)


def draws(key: Key, n_slots: int, first: int, n_steps: int) -> Int64Array:
    """Return the slots drawn in the steps from `first` on: int64, shape (n_steps,)."""
    fractions = (_words(key, _STEPS, first, n_steps) >> np.uint64(11)) * 2.0**-53
    return (fractions * n_slots).astype(np.int64)


def origins(slots: Int64Array, n_slots: int) -> Int64Array:
    """Return where the elements that go out in some steps come from: int64, shape (n_steps,).

    Below `n_slots`: what the slot of that number held before these steps. From there on: what
    came in with step ``value - n_slots``. `slots` are the slots drawn, shape (n_steps,).

    >>> origins(np.array([1, 0, 1, 1]), 3).tolist()
    [1, 0, 3, 5]
    """
    # Sorted by slot, and within a slot by step, each step stands right after the one that drew
    # its slot last. NumPy sorts short integers many times as fast.
    is_short = n_slots <= np.iinfo(np.uint16).max
    order = np.argsort(slots.astype(np.uint16) if is_short else slots, kind="stable")
    out = slots.copy()
    is_again = slots[order[1:]] == slots[order[:-1]]
    out[order[1:][is_again]] = n_slots + order[:-1][is_again]
    return out


def buffer_at(key: Key, n_slots: int, n_steps: int) -> Int64Array:
    """Return which element each slot holds after `n_steps` steps: int64, shape (n_slots,).

    Looks back only to the last draw of the slot that was not drawn for the longest time: about
    ``n_slots * log(n_slots)`` steps.
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


def permutation(key: Key, n: int, *, of_buffer: bool = False) -> Int64Array:
    """Return the numbers 0 to n - 1 in a random order, each order as likely as any other.

    With `of_buffer` the order in which a buffer is emptied, rather than that of a shuffle of all.
    """
    return np.argsort(_words(key, _REST if of_buffer else _ALL, 0, n), kind="stable")
