"""Arrays of bytes and integers: loads at any offset, and copies of many byte ranges.

NumPy gathers the items of an array at multiples of the item's size. An array that
*overlaps itself* lifts that limit: with 8-byte items at a stride of one byte,
``lanes(data)[offsets]`` loads 8 bytes from any offsets; with rows of n bytes at a stride of
one byte, ``rows(data, n)[offsets]`` copies n bytes from each offset.

A load may run past the end of a message; buffers have spare bytes for that
(:data:`tfrecord_lite.block.SPARE_BYTES`).

No I/O, no knowledge of what the bytes mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

AnyArray: TypeAlias = np.ndarray[Any, Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Float32Array: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
ObjectArray: TypeAlias = npt.NDArray[np.object_]
Uint8Array: TypeAlias = npt.NDArray[np.uint8]
Uint32Array: TypeAlias = npt.NDArray[np.uint32]
Uint64Array: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ByteRanges:
    """Many byte ranges of one buffer.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        Held, not copied.
    starts, lengths : int64, shape (n_ranges,)
        Range ``i`` is ``data[starts[i] : starts[i] + lengths[i]]``.
    """

    data: Uint8Array
    starts: Int64Array
    lengths: Int64Array

    def __len__(self) -> int:
        """Return the number of ranges."""
        return self.starts.size

    def take(self, indices: Int64Array | slice) -> ByteRanges:
        """Pick ranges by number, from the same buffer."""
        return ByteRanges(self.data, self.starts[indices], self.lengths[indices])

    def joined(self) -> Uint8Array:
        """Copy the ranges end to end."""
        return gather(self.data, self.starts, self.lengths)


LANE_BYTES = 8
SHORT_LANE_BYTES = 4


def lanes(data: Uint8Array) -> Uint64Array:
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


def short_lanes(data: Uint8Array) -> Uint32Array:
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


def rows(data: Uint8Array, n_bytes: int) -> AnyArray:
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


def row_splits(counts: Int64Array) -> Int64Array:
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


def ranges(starts: Int64Array, counts: Int64Array, step: int = 1) -> Int64Array:
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


def gather(data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> Uint8Array:
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
    out: Uint8Array,
    places: Int64Array,
    data: Uint8Array,
    starts: Int64Array,
    lengths: Int64Array,
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


def place_all(out: Uint8Array, places: Int64Array, items: Sequence[Buffer]) -> None:
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
    out: Uint8Array,
    places: Int64Array,
    data: Uint8Array,
    starts: Int64Array,
    width: int,
) -> None:
    """Copy pieces of one width."""
    to, source = rows(out, width), rows(data, width)
    step = max(_PIECES_BYTES // width, 1)
    for first in range(0, places.size, step):
        some = slice(first, first + step)
        to[places[some]] = source[starts[some]]
