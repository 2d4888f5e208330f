"""Copies of many byte ranges into one array, and the index arithmetic of ragged rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.wire.lanes import rows

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["gather", "ranges", "row_splits"]

_WIDEST_ROW_BYTES = 256
_WIDEST_EVEN_ROW_BYTES = 4096
"""Longer ranges are copied as rows too, if they are of about the same length."""


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
