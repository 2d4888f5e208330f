"""Loads at any byte offset, many at once.

NumPy can only gather items of an array, at multiples of the item's size. An
array that *overlaps itself* lifts that: 8-byte items at a stride of one byte
make ``lanes(data)[offsets]`` load 8 bytes from any offsets, and rows of n bytes at
a stride of one byte make ``rows(data, n)[offsets]`` copy n bytes from each.

A load may run past the end of a message; the buffer has spare bytes for that
(:data:`tfrecord_lite.block.SPARE_BYTES`).

Copies of many byte ranges, out of one array or into one, and the arithmetic of ragged rows.

Many ranges at once: writing them out, and slicing each of them.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer

    Vector = npt.NDArray[np.int64]

__all__ = [
    "gather",
    "lanes",
    "place_all",
    "range_indices",
    "ranges",
    "row_splits",
    "rows",
    "scatter",
    "short_lanes",
    "slice_ranges",
]

LANE_BYTES = 8
SHORT_LANE_BYTES = 4


def lanes(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """View a buffer as little-endian 64-bit words, one starting at every byte.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        Contiguous; at least 8 bytes.

    Returns
    -------
    uint64, shape (n_bytes - 7,)
        A view.
    """
    return np.ndarray((data.size - LANE_BYTES + 1,), "<u8", data, strides=(1,))


def short_lanes(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """View a buffer as little-endian 32-bit words, one starting at every byte.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        Contiguous; at least 4 bytes.

    Returns
    -------
    uint32, shape (n_bytes - 3,)
        A view.
    """
    return np.ndarray((data.size - SHORT_LANE_BYTES + 1,), "<u4", data, strides=(1,))


def rows(data: npt.NDArray[np.uint8], n_bytes: int) -> npt.NDArray[Any]:
    """View a buffer as rows of `n_bytes`, one starting at every byte.

    Parameters
    ----------
    data : uint8, shape (n,)
        Contiguous; at least `n_bytes` bytes.
    n_bytes : int
        Bytes a row; one or more.

    Returns
    -------
    void, shape (n - n_bytes + 1,)
        A view. Indexed with many offsets it gives a copy of those rows, at the
        cost of a memcpy a row; ``.view(np.uint8)`` makes bytes of it.
    """
    return np.ndarray((data.size - n_bytes + 1,), np.dtype((np.void, n_bytes)), data, strides=(1,))


_WIDEST_ROW_BYTES = 256
_WIDEST_EVEN_ROW_BYTES = 4096
"""Longer ranges are copied as rows too, if they are of about the same length."""
_LARGE_BYTES = 4096
_PIECES_BYTES = 256 * 1024
"""So many bytes of pieces are on their way at once; they stay in the cache."""


def row_splits(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where each of many rows starts, and the last ends, given their lengths.

    Parameters
    ----------
    counts : int64, shape (n,)

    Returns
    -------
    int64, shape (n + 1,)
    """
    splits = np.empty(counts.size + 1, np.int64)
    splits[0] = 0
    np.cumsum(counts, out=splits[1:])
    return splits


def ranges(
    starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], step: int = 1
) -> npt.NDArray[np.int64]:
    """Return the numbers of many ranges, end to end.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    splits = row_splits(counts)
    numbers = np.arange(splits[-1])
    numbers *= step
    numbers += np.repeat(starts - splits[:-1] * step, counts)
    return numbers


def gather(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Copy byte ranges of a buffer end to end.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The longest range's length past each start may be read, as far as the buffer goes.
    starts, lengths : int64, shape (n,)

    Returns
    -------
    uint8, shape (lengths.sum(),)
        Owns its memory.
    """
    splits = row_splits(lengths)
    widest = int(lengths.max(initial=0))
    if widest == 0:
        return np.empty(0, np.uint8)
    out = np.empty(int(splits[-1]) + widest, np.uint8)
    is_even = widest <= _WIDEST_EVEN_ROW_BYTES and widest * lengths.size <= 2 * int(splits[-1])
    if int(starts.max()) + widest > data.size or (widest > _WIDEST_ROW_BYTES and not is_even):
        view = memoryview(data)  # type: ignore[arg-type]
        parts = [view[a : a + n] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]
        return np.frombuffer(bytearray().join(parts), np.uint8)
    # Each row is copied with what follows it, and the next row is written over that.
    rows(out, widest)[splits[:-1]] = rows(data, widest)[starts]
    return out[: splits[-1]]


def scatter(
    out: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    """Copy byte ranges of a buffer to many places of another, and nothing beside them.

    Parameters
    ----------
    out : uint8, shape (n_out,)
        Where to.
    places : int64, shape (n,)
        Where in `out` each range goes.
    data : uint8, shape (n_bytes,)
        Where from.
    starts, lengths : int64, shape (n,)

    Notes
    -----
    A range is copied in two pieces of one width, the second moved back so that it ends with
    the range: of 100 bytes 0 to 64 and 36 to 100. Ranges are dealt with by the power of two
    in their length, so there are a dozen steps, however many ranges. Those of 4 KB and more
    are copied one by one, which then costs next to nothing and saves a copy.
    """
    longest = int(lengths.max(initial=0))
    width = 1
    while width <= min(longest, _LARGE_BYTES - 1):
        chosen = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        if chosen.size:
            to, source = places[chosen], starts[chosen]
            _copy_pieces(out, to, data, source, width)
            rest = lengths[chosen] - width
            _copy_pieces(out, to + rest, data, source + rest, width)
        width *= 2
    if longest >= _LARGE_BYTES:
        chosen = np.flatnonzero(lengths >= _LARGE_BYTES)
        view = memoryview(data)  # type: ignore[arg-type]
        ends = zip(starts[chosen].tolist(), lengths[chosen].tolist(), strict=True)
        place_all(out, places[chosen], [view[a : a + n] for a, n in ends])


def place_all(
    out: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], items: Sequence[Buffer]
) -> None:
    """Copy bytes-like objects to many places of a buffer, one by one.

    Parameters
    ----------
    out : uint8, shape (n_out,)
    places : int64, shape (n,)
        Where in `out` each goes.
    items : sequence of bytes-like
        Large ones, so that the loop over them costs little beside the copies.
    """
    view = memoryview(out)  # type: ignore[arg-type]
    for place, item in zip(places.tolist(), items, strict=True):
        view[place : place + len(item)] = item  # type: ignore[arg-type]


def _copy_pieces(
    out: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    width: int,
) -> None:
    """Copy pieces of one width."""
    to, source = rows(out, width), rows(data, width)
    step = max(_PIECES_BYTES // width, 1)
    for first in range(0, places.size, step):
        some = slice(first, first + step)
        to[places[some]] = source[starts[some]]


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
