"""Copies of many byte ranges, out of one array or into one, and the arithmetic of ragged rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.arrays.lanes import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer

__all__ = ["gather", "place_all", "ranges", "row_splits", "scatter"]

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
