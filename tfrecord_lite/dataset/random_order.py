"""Random order: as a rule that gives the same on every machine, from any point on.

A key (seed, epoch, ...) makes a generator, NumPy's PCG64, of which only raw 64-bit
words are used; these stay the same for all versions of NumPy. Word number t can be had
without those before it, so a shuffle is resumed without its past.

**Shuffle with a buffer**, of b slots and n elements, gives in order:

1. the buffer is filled: slot i holds element i;
2. step t, for t = 0, 1, ...: slot ``floor(b * u_t)`` is drawn, where ``u_t`` is the upper 53
   bits of word t, as a fraction of 1. Its element goes out, element ``b + t`` comes in;
3. when there is no element ``b + t``: what the buffer holds goes out, ordered by the words
   of a second generator, each slot's word its sorting key.

Every element that is in the buffer is as likely as any other to go out next.

**Shuffle of all** n elements: their numbers, ordered by the words 0 to n - 1, one each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint64Array


Key = tuple[int, ...]

_STEPS, _REST, _ALL = 0, 1, 2
"""What a generator is for; the last number of its key."""
_LEAST_WINDOW = 4096


def _words(key: Key, purpose: int, first: int, n_words: int) -> Uint64Array:
    # Two words for each number, and how many numbers: different keys never look the same.
    words = [word for number in (*key, purpose) for word in (number & 0xFFFFFFFF, number >> 32)]
    generator = np.random.PCG64(np.random.SeedSequence([len(words), *words]))
    generator.advance(first)
    return generator.random_raw(n_words)


def draws(key: Key, n_slots: int, first: int, n_steps: int) -> Int64Array:
    """Return the slots drawn in so many steps from step `first` on.

    Returns
    -------
    int64, shape (n_steps,)
        Each from 0 to ``n_slots - 1``.
    """
    fractions = (_words(key, _STEPS, first, n_steps) >> np.uint64(11)) * 2.0**-53
    return (fractions * n_slots).astype(np.int64)


def sources(slots: Int64Array, n_slots: int) -> Int64Array:
    """Say where the elements that go out in some steps come from.

    Parameters
    ----------
    slots : int64, shape (n_steps,)
        The slots drawn.
    n_slots : int

    Returns
    -------
    int64, shape (n_steps,)
        Below `n_slots`: what the slot of that number held before these steps; from there
        on: what came in with step ``value - n_slots``.

    Examples
    --------
    >>> sources(np.array([1, 0, 1, 1]), 3).tolist()
    [1, 0, 3, 5]
    """
    # Sorted by slot, and within a slot by step, each step stands behind the one that drew
    # its slot last.
    # NumPy sorts short integers many times as fast.
    is_short = n_slots <= np.iinfo(np.uint16).max
    order = np.argsort(slots.astype(np.uint16) if is_short else slots, kind="stable")
    out = slots.copy()
    is_again = slots[order[1:]] == slots[order[:-1]]
    out[order[1:][is_again]] = n_slots + order[:-1][is_again]
    return out


def buffer_at(key: Key, n_slots: int, n_steps: int) -> Int64Array:
    """Return which element each slot holds after so many steps.

    Returns
    -------
    int64, shape (n_slots,)

    Notes
    -----
    Looks back only as far as the slot that was not drawn for the longest time, which is
    about ``n_slots * log(n_slots)`` steps.
    """
    held = np.full(n_slots, -1)
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

    Parameters
    ----------
    key : tuple of int
    n : int
    of_buffer : bool
        The order in which a buffer is emptied, rather than that of a shuffle of all.
    """
    return np.argsort(_words(key, _REST if of_buffer else _ALL, 0, n), kind="stable")
