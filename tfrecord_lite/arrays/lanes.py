"""Loads at any byte offset, many at once.

NumPy can only gather items of an array, at multiples of the item's size. An
array that *overlaps itself* lifts that: 8-byte items at a stride of one byte
make ``lanes(data)[offsets]`` load 8 bytes from any offsets, and rows of n bytes at
a stride of one byte make ``rows(data, n)[offsets]`` copy n bytes from each.

A load may run past the end of a message; the buffer has spare bytes for that
(:data:`tfrecord_lite.block.SPARE_BYTES`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["lanes", "rows", "short_lanes"]

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
