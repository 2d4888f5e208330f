"""Arrays of bytes and integers: loads at any offset, and copies of many byte ranges.

NumPy reads the items of an array at multiples of the item's size; a view that *overlaps itself* lifts that limit::

    bytes             0  1  2  3  4  5  6  7  8  9 ..
    lanes(data)[0]    └──────────────────────┘            8 bytes as a number
    lanes(data)[1]       └──────────────────────┘
    rows(data, 3)[4]              └─────┘                 3 bytes as one item

A load may run past the end of a message; buffers have spare bytes for that
(:data:`tfrecord_lite.block.SPARE_BYTES`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

AnyArray: TypeAlias = np.ndarray[Any, Any]
Buffer: TypeAlias = bytes | bytearray | memoryview
BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Float32Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Float64Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
Int64Array: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
ObjectArray: TypeAlias = np.ndarray[Any, np.dtype[np.object_]]
Uint8Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Uint32Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]
Uint64Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


class ByteRanges:
    """Many byte ranges of one buffer, which is held, not copied.

    Range ``i`` is ``data[starts[i] : starts[i] + lengths[i]]``; `starts` and `lengths` are int64,
    shape (n_ranges,).
    """

    __slots__ = ("data", "lengths", "starts")

    def __init__(self, data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> None:
        self.data: Uint8Array = data
        self.starts: Int64Array = starts
        self.lengths: Int64Array = lengths

    def __len__(self) -> int:
        """Return the number of ranges."""
        return self.starts.size

    def take(self, indices: Int64Array | slice) -> ByteRanges:
        """Pick ranges by index, from the same buffer."""
        return ByteRanges(self.data, self.starts[indices], self.lengths[indices])

    def to_ranges(self) -> ByteRanges:
        """Return the same ranges."""
        return self

    def joined(self, splits: Int64Array | None = None) -> Uint8Array:
        """Copy the ranges end to end; `splits` are the :func:`row_splits` of the lengths, if known."""
        return gather(self.data, self.starts, self.lengths, splits)

    def packed(self, splits: Int64Array | None = None) -> Uint8Array:
        """Return the ranges end to end: the buffer itself if they are all that it has, in order."""
        splits = row_splits(self.lengths) if splits is None else splits
        is_packed = self.data.size == splits[-1] and np.array_equal(self.starts, splits[:-1])
        return self.data if is_packed else self.joined(splits)


class ByteItems:
    """Byte strings that are objects: large ones, to be copied only to where they go, or a few.

    `items` are bytes-like; `lengths` is int64, shape (n_items,).
    """

    __slots__ = ("items", "lengths")

    def __init__(self, items: list[Any], lengths: Int64Array) -> None:
        self.items: list[Any] = items
        self.lengths: Int64Array = lengths

    @classmethod
    def of(cls, items: list[Any]) -> ByteItems:
        """Measure bytes-like objects."""
        return cls(items, np.fromiter(map(len, items), np.int64, len(items)))

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.items)

    def take(self, indices: Int64Array | slice) -> ByteItems:
        """Pick strings by index."""
        if isinstance(indices, slice):
            return ByteItems(self.items[indices], self.lengths[indices])
        return ByteItems([self.items[i] for i in indices.tolist()], self.lengths[indices])

    def to_ranges(self) -> ByteRanges:
        """Copy the strings into one buffer."""
        return ByteRanges(self.joined(), row_splits(self.lengths)[:-1], self.lengths)

    def joined(self, splits: Int64Array | None = None) -> Uint8Array:
        """Copy the strings end to end; `splits` is not needed."""
        return np.frombuffer(b"".join(self.items), np.uint8)

    packed = joined


ByteStrings: TypeAlias = ByteRanges | ByteItems
"""Many byte strings, in either form."""

LANE_BYTES = 8
SHORT_LANE_BYTES = 4

_MAPPED_BYTES = (32 << 20) - (64 << 10)
"""Just below the largest block that moves glibc's thresholds."""


@cache
def keep_freed_pages() -> None:
    """Have glibc hand out the memory of freed arrays again, instead of fresh pages.

    A fresh page costs a page fault, up to a microsecond per KB. When glibc's ``free`` gets a mapped block of up to
    32 MB, it serves later blocks of that size from its heap, and keeps twice as much free memory at the
    heap's top (``M_MMAP_THRESHOLD`` in mallopt(3)). So one array is made and freed; its memory is never touched.
    Nothing happens where the user has set these thresholds, or with another allocator.
    """
    np.empty(_MAPPED_BYTES, np.uint8)


def at_every_byte(buffer: Uint8Array, dtype: np.dtype[Any]) -> AnyArray:
    """View a buffer as overlapping items, one from every byte on."""
    return np.ndarray((buffer.size - dtype.itemsize + 1,), dtype, buffer, strides=(1,))


def lanes(data: Uint8Array) -> Uint64Array:
    """View a buffer as little-endian 64-bit words, one from every byte on; shape (n_bytes - 7,)."""
    return np.ndarray((data.size - LANE_BYTES + 1,), "<u8", data, strides=(1,))


def short_lanes(data: Uint8Array) -> Uint32Array:
    """View a buffer as little-endian 32-bit words, one from every byte on; shape (n_bytes - 3,)."""
    return np.ndarray((data.size - SHORT_LANE_BYTES + 1,), "<u4", data, strides=(1,))


def rows(data: Uint8Array, n_bytes: int) -> AnyArray:
    """View a buffer as rows of `n_bytes`, one from every byte on; void, shape (n - n_bytes + 1,).

    Indexed with many offsets it copies those rows, at the cost of a memcpy per row;
    ``.view(np.uint8)`` turns the copy into bytes.
    """
    return at_every_byte(data, np.dtype((np.void, n_bytes)))


def row_floats(
    cells: AnyArray, place: int, n_bytes: int, n_runs: int = 1, step: int = 0
) -> AnyArray:
    """View runs of `n_bytes` bytes in every row as floats; shape (n_runs, n_rows, n_bytes / 4).

    The first is at a place of the row, the others `step` bytes further each. `cells` has one row per index
    of its first dimension, and must outlive the view.
    """
    shape, strides = (n_runs, len(cells), n_bytes // 4), (step, cells.strides[0], 4)
    return np.ndarray(shape, "<f4", cells, place, strides)


def row_splits(counts: Int64Array) -> Int64Array:
    """Return where each row starts, and the last ends, given their lengths; shape (n + 1,)."""
    splits = np.empty(counts.size + 1, np.int64)
    splits[0] = 0
    np.cumsum(counts, out=splits[1:])
    return splits


def objects(items: Sequence[Any]) -> ObjectArray:
    """Return objects as an array of one dimension, even if they are lists."""
    array = np.empty(len(items), object)
    array[:] = items
    return array


def first_true(flags: Any) -> int | None:
    """Return the place of the first flag that is set, bool, shape (n,); None if none is."""
    return int(flags.argmax()) if flags.any() else None


def ranges(starts: Int64Array, counts: Int64Array, step: int = 1) -> Int64Array:
    """Return the numbers of many ranges, end to end.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    splits = row_splits(counts)
    numbers = np.arange(splits[-1])
    numbers *= step
    numbers += np.repeat(starts - splits[:-1] * step, counts)
    return numbers


_WIDEST_ROW_BYTES = 256
_WIDEST_EVEN_ROW_BYTES = 4096
"""Longer ranges are copied as rows too, if they are of about the same length."""


def gather(
    data: Uint8Array, starts: Int64Array, lengths: Int64Array, splits: Int64Array | None = None
) -> Uint8Array:
    """Copy byte ranges of a buffer end to end; the result owns its memory.

    From each start on as many bytes as the longest range has may be read, within the buffer.
    `splits` are the :func:`row_splits` of the lengths, if known.
    """
    if splits is None:
        splits = row_splits(lengths)
    widest = int(np.maximum.reduce(lengths, initial=0))
    if widest == 0:
        return np.empty(0, np.uint8)
    out = np.empty(int(splits[-1]) + widest, np.uint8)
    is_even = widest <= _WIDEST_EVEN_ROW_BYTES and widest * lengths.size <= 2 * int(splits[-1])
    if int(np.maximum.reduce(starts)) + widest > data.size or (
        widest > _WIDEST_ROW_BYTES and not is_even
    ):
        # NumPy's own memory: unlike a bytearray's, much of it comes in large pages.
        out = out[: splits[-1]]
        place_all(out, splits[:-1], views(data, starts, lengths))
        return out
    # Each row is copied with the bytes after it, and the next row overwrites those.
    rows(out, widest)[splits[:-1]] = rows(data, widest)[starts]
    return out[: splits[-1]]


_LARGE_BYTES = 4096
_PIECES_BYTES = 256 * 1024
"""Bytes of pieces copied at once, so that they stay in the cache."""


def scatter(out: Uint8Array, places: Int64Array, source: ByteRanges) -> None:
    """Copy byte ranges to many places of `out`, without touching other bytes.

    A range is copied in two pieces of one width, the second moved back so that it ends with the
    range: 100 bytes as 0 to 64 and 36 to 100. Ranges are grouped by the highest power of two in their
    length, so there are a dozen steps however many ranges. Ranges of 4 KB and more are copied one by
    one, which then costs next to nothing and saves a copy.
    """
    data, starts, lengths = source.data, source.starts, source.lengths
    longest = int(lengths.max(initial=0))
    width = 1
    while width <= min(longest, _LARGE_BYTES - 1):
        chosen = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        if chosen.size:
            to, start = places[chosen], starts[chosen]
            _copy_pieces(out, to, data, start, width)
            rest = lengths[chosen] - width
            _copy_pieces(out, to + rest, data, start + rest, width)
        width *= 2
    if longest >= _LARGE_BYTES:
        chosen = np.flatnonzero(lengths >= _LARGE_BYTES)
        place_all(out, places[chosen], views(data, starts[chosen], lengths[chosen]))


def views(data: Uint8Array, starts: Int64Array, lengths: Int64Array) -> list[memoryview]:
    """Return a view of each byte range of a buffer."""
    view = memoryview(data)  # type: ignore[arg-type]
    return [view[a : a + n] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]


def place_all(out: Uint8Array, places: Int64Array, items: Sequence[Buffer]) -> None:
    """Copy bytes-like objects to many places of a buffer, one by one; meant for large ones."""
    view = memoryview(out)  # type: ignore[arg-type]
    for place, item in zip(places.tolist(), items, strict=True):
        view[place : place + len(item)] = item


def _copy_pieces(
    out: Uint8Array, places: Int64Array, data: Uint8Array, starts: Int64Array, width: int
) -> None:
    to, source = rows(out, width), rows(data, width)
    step = max(_PIECES_BYTES // width, 1)
    for first in range(0, places.size, step):
        span = slice(first, first + step)
        to[places[span]] = source[starts[span]]
