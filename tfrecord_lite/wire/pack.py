"""Numbers to base-128 varints, many at a time: the other way round of :mod:`.varint`.

::

    spread     open gaps for the top bits, in three steps: 56 -> 28+28, 28 -> 14+14, 14 -> 7+7
    continue   set the top bit of all bytes but the last
    place      store whole words, each over what the one before it had too much

A number below 2**56 becomes one 64-bit word that way; the ninth and tenth byte of the
few others come in a second word. All varints are minimal, as protobuf writes them.

Format: https://protobuf.dev/programming-guides/encoding/#varints
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.arrays import (
    LANE_BYTES,
    AnyArray,
    Int64Array,
    Uint8Array,
    Uint32Array,
    Uint64Array,
    row_splits,
)
from tfrecord_lite.wire.scalar import varint_size

if TYPE_CHECKING:
    import numpy.typing as npt

Words = TypeVar("Words", "Uint64Array", "Uint32Array")

_RUN_VALUES = 8 * 1024
"""Values that are encoded in one go; what lies between them and the result stays in the cache."""

# Each step of _spread parts groups of bits: what stays, what moves up, by how much.
_STEPS = (
    (1 << 28, 0x000000000FFFFFFF, 0x00FFFFFFF0000000, 4),
    (1 << 14, 0x00003FFF00003FFF, 0x0FFFC0000FFFC000, 2),
    (1 << 7, 0x007F007F007F007F, 0x3F803F803F803F80, 1),
)
_IN_32_BITS = 1 << 28
_IN_64_BITS = 1 << 56
# Top bits of all bytes but the last, by the number of bytes.
_CONTINUED = np.array(
    [int.from_bytes(b"\x80" * max(min(n - 1, LANE_BYTES), 0), "little") for n in range(11)],
    np.uint64,
)
_CONTINUED_32 = _CONTINUED[:5].astype(np.uint32)


def varint_sizes(values: npt.NDArray[np.unsignedinteger[Any]]) -> Uint8Array:
    """Return how many bytes each of many numbers takes.

    Parameters
    ----------
    values : unsigned, shape (n,)
        Negative numbers as two's complement.

    Returns
    -------
    uint8, shape (n,)
        From 1 to 10; owned.
    """
    sizes = np.ones(values.shape, np.uint8)
    largest = int(values.max(initial=0))
    for n_bits in range(7, 64, 7):
        if largest >> n_bits == 0:
            break
        sizes += (values >= values.dtype.type(1 << n_bits)).view(np.uint8)
    return sizes


def _spread(values: Words, largest: int) -> Words:
    """Put 7 bits into each byte; of numbers below 2**56, or 2**28 for uint32."""
    word, mask = values.dtype.type, int(~values.dtype.type(0))
    for bound, low, high, shift in _STEPS:
        if largest >= bound and high & mask:
            values = values & word(low & mask) | (values & word(high & mask)) << word(shift)
    return values


def varint_cells(
    values: Int64Array,
) -> tuple[Uint8Array, Uint8Array]:
    """Encode numbers, each in a row of its own.

    Parameters
    ----------
    values : int64, shape (n,)

    Returns
    -------
    cells : uint8, shape (n, 8 or 16)
        A varint at the begin of each row, zeros behind it; owned.
    sizes : uint8, shape (n,)
        Bytes of each, from 1 to 10.
    """
    unsigned = values.view(np.uint64)
    sizes = varint_sizes(unsigned)
    largest = int(unsigned.max(initial=0))
    if largest < _IN_64_BITS:
        words = _spread(unsigned, largest) | _CONTINUED.take(sizes, mode="clip")
        return words.view(np.uint8).reshape(-1, LANE_BYTES), sizes
    cells = np.zeros((values.size, 2 * LANE_BYTES), np.uint8)
    words = cells.view(np.uint64)
    below = unsigned & np.uint64(_IN_64_BITS - 1)
    words[:, 0] = _spread(below, _IN_64_BITS - 1) | _CONTINUED.take(sizes, mode="clip")
    above = unsigned >> np.uint64(56)
    words[:, 1] = (above & np.uint64(0x7F)) | (above >> np.uint64(7)) * np.uint64(0x180)
    return cells, sizes


def varint_run(
    values: Int64Array,
) -> tuple[Uint8Array, Uint8Array | int]:
    r"""Encode numbers end to end, as a packed field stores them.

    Parameters
    ----------
    values : int64, shape (n,)

    Returns
    -------
    data : uint8, shape (n_bytes,)
        Owns its memory.
    sizes : uint8, shape (n,), or int
        Bytes of each; a plain number if all have as many.

    Examples
    --------
    >>> data, sizes = varint_run(np.array([1, 300]))
    >>> data.tobytes(), sizes.tolist()
    (b'\x01\xac\x02', [1, 2])
    """
    unsigned = values.view(np.uint64)
    largest = int(unsigned.max(initial=0))
    if largest < 1 << 7:
        return unsigned.astype(np.uint8), 1
    sizes = np.empty(values.size, np.uint8)
    out = np.empty(values.size * varint_size(largest) + 2 * LANE_BYTES, np.uint8)
    n_bytes = 0
    for first in range(0, values.size, _RUN_VALUES):
        some = slice(first, first + _RUN_VALUES)
        n_bytes += _encode_into(out[n_bytes:], unsigned[some], sizes[some])
    data = out[:n_bytes]
    # What was set aside may be several times as large.
    return data.copy() if 2 * n_bytes < out.size else data, sizes


def _encode_into(out: Uint8Array, values: Uint64Array, sizes: Uint8Array) -> int:
    """Encode numbers end to end, and fill in their sizes; return the bytes of all."""
    largest = int(values.max(initial=0))
    if largest < _IN_32_BITS:
        narrow: Uint32Array = values.astype(np.uint32)
        sizes[:] = varint_sizes(narrow)
        spread = _spread(narrow, largest)
        cells: AnyArray = spread | _CONTINUED_32.take(sizes, mode="clip")
    elif largest < _IN_64_BITS:
        sizes[:] = varint_sizes(values)
        cells = _spread(values, largest) | _CONTINUED.take(sizes, mode="clip")
    else:
        wide, sizes[:] = varint_cells(values.view(np.int64))
        cells = wide.view(np.dtype((np.void, 2 * LANE_BYTES)))[:, 0]
    splits = row_splits(sizes.astype(np.int64))
    # Each is stored with zeros behind it, and the next one over those.
    width = cells.dtype.itemsize
    np.ndarray((out.size - width + 1,), cells.dtype, out, strides=(1,))[splits[:-1]] = cells
    return int(splits[-1])
