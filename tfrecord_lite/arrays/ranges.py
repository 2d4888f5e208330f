"""Many ranges at once: writing them out, and slicing each of them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    import numpy.typing as npt

    Vector = npt.NDArray[np.int64]

__all__ = ["range_indices", "slice_ranges"]


def range_indices(starts: Vector, lengths: Vector, step: int = 1) -> Vector:
    """Write out many ranges, end to end.

    Parameters
    ----------
    starts, lengths : int64, shape (n_ranges,)
        Range ``i`` is ``starts[i]``, ``starts[i] + step``, and so on, `lengths[i]` numbers.
    step : int, default 1
        The same for all; may be negative.

    Returns
    -------
    int64, shape (sum of lengths,)
        Owns its memory.

    Examples
    --------
    >>> range_indices(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    stops = np.cumsum(lengths, dtype=np.int64)
    total = int(stops[-1]) if stops.size else 0
    # What to add to a counter over all, the same within a range.
    shifts = starts - step * (stops - lengths)
    indices: Vector = step * np.arange(total) + np.repeat(shifts, lengths)
    return indices


def slice_ranges(starts: Vector, sizes: Vector, key: slice) -> tuple[Vector, Vector, int]:
    """Take the same slice of every range, as ``slice.indices`` would of each.

    Parameters
    ----------
    starts, sizes : int64, shape (n_ranges,)
        Range ``i`` is ``starts[i]``, ``starts[i] + 1``, and so on, `sizes[i]` numbers.
    key : slice
        Of ints and None.

    Returns
    -------
    starts, lengths : int64, shape (n_ranges,)
        New arrays.
    step : int
        From each number of a new range to its next.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a step of 0.
    TypeError
        For a slice of anything but ints.

    Examples
    --------
    >>> starts, lengths, step = slice_ranges(np.array([0, 10]), np.array([3, 1]), slice(1, None))
    >>> starts.tolist(), lengths.tolist(), step
    ([1, 11], [2, 0], 1)
    """
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail="a slice's step must not be 0")
    # Where the ends may lie: backwards, a range may end before its first number.
    low, high = (np.zeros_like(sizes), sizes) if step > 0 else (np.full_like(sizes, -1), sizes - 1)
    first, last = (low, high) if step > 0 else (high, low)
    begin = first if key.start is None else np.clip(_from_front(key.start, sizes), low, high)
    end = last if key.stop is None else np.clip(_from_front(key.stop, sizes), low, high)
    lengths = np.maximum((end - begin + step - (1 if step > 0 else -1)) // step, 0)
    return starts + begin, lengths, step


def _from_front(number: int, sizes: Vector) -> Vector:
    """Count one end of a slice from the front of each range."""
    bounded = max(min(operator.index(number), 2**62), -(2**62))
    return sizes + bounded if bounded < 0 else np.full_like(sizes, bounded)
