"""Many records from anywhere in a file into one buffer, and the check of what came.

Records that lie side by side in the file are read with one call. Every record is held
against its index: the length in its head must be right by its CRC, and the one that
the index says. So a wrong index cannot give wrong records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.arrays.lanes import lanes
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.framing import FOOT_BYTES, HEAD_BYTES, OVERHEAD_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.index.pread import Handle

__all__ = ["data_of", "first_wrong", "loss", "read"]


def read(
    handle: Handle,
    offsets: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
    at: int,
) -> npt.NDArray[np.int64]:
    """Read frames of one file into a buffer, end to end, in the order they have in the file.

    Parameters
    ----------
    handle : Handle
    offsets, sizes : int64, shape (n,)
        Of the frames, in any order.
    out : uint8, shape (n_bytes,)
        Written to, from `at` on; what the file does not have is zero.
    at : int

    Returns
    -------
    int64, shape (n,)
        Where in `out` each frame starts.
    """
    order = np.argsort(offsets, kind="stable")
    starts, lengths = offsets[order], sizes[order]
    stops = np.cumsum(lengths)
    places = np.empty_like(offsets)
    places[order] = at + stops - lengths
    is_run = np.empty(starts.size, np.bool_)  # whether a frame does not follow the one before
    is_run[:1] = True
    np.not_equal(starts[1:], starts[:-1] + lengths[:-1], out=is_run[1:])
    firsts = np.flatnonzero(is_run)
    begins = places[order][firsts]
    ends = np.append(begins[1:], at + stops[-1:])
    view = memoryview(out)  # type: ignore[arg-type]
    runs = zip(begins.tolist(), ends.tolist(), starts[firsts].tolist(), strict=True)
    for begin, end, offset in runs:
        n_bytes = handle.readinto(view[begin:end], offset)
        if n_bytes < end - begin:
            out[begin + n_bytes : end] = 0
    return places


def first_wrong(
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    *,
    verify: bool,
) -> int | None:
    """Return which frame is the first that is not what it should be; None if all are.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        A block's buffer.
    places, sizes : int64, shape (n,)
        Of the frames in it.
    verify : bool
        Look at the data's CRCs too.
    """
    words = lanes(data)
    lengths = words[places]
    is_wrong = lengths != (sizes - OVERHEAD_BYTES).astype(np.uint64)
    is_wrong |= words[places + 8].astype(np.uint32) != crc32c.length_crcs(lengths)
    heads = np.flatnonzero(is_wrong)
    n_frames = int(heads[0]) if heads.size else places.size
    if verify:
        view = memoryview(data)  # type: ignore[arg-type]
        starts, stops = places[:n_frames] + HEAD_BYTES, (places + sizes)[:n_frames] - FOOT_BYTES
        pieces = (view[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True))
        stored = words[stops].astype(np.uint32)
        feet = np.flatnonzero(stored != crc32c.crcs_of(pieces, n_frames))
        if feet.size:
            return int(feet[0])
    return n_frames if heads.size else None


def data_of(frame: bytes, size: int, *, verify: bool) -> bytes | None:
    """Return the data of one frame; None if it is not what it should be."""
    length, crc = int.from_bytes(frame[:8], "little"), int.from_bytes(frame[8:12], "little")
    if length != size - OVERHEAD_BYTES or len(frame) != size:
        return None
    data = frame[HEAD_BYTES:-FOOT_BYTES]
    if crc32c.masked_crc32c(frame[:8]) != crc:
        return None
    if verify and crc32c.masked_crc32c(data) != int.from_bytes(frame[-FOOT_BYTES:], "little"):
        return None
    return data


def loss(
    frame: bytes, size: int, *, name: str, index: int, offset: int
) -> DataLossError | FailedPreconditionError:
    """Say what is wrong with a frame.

    Parameters
    ----------
    frame : bytes
        What is at the place, maybe less than there should be.
    size : int
        What the index says it takes.
    name, index, offset
        Whose record it is, which, and where.
    """
    where = (offset, name, index, None)
    if len(frame) < size:
        detail = f"the record takes {size} bytes, {len(frame)} are left"
        return DataLossError(Reason.TRUNCATED, *where, detail)
    stored = int.from_bytes(frame[8:HEAD_BYTES], "little")
    computed = crc32c.masked_crc32c(frame[:8])
    if stored != computed:
        return DataLossError(Reason.LENGTH_CRC, *where, _crcs(stored, computed))
    length = int.from_bytes(frame[:8], "little")
    if length != size - OVERHEAD_BYTES:
        detail = f"the index says {size - OVERHEAD_BYTES} bytes of data, the record {length}"
        return FailedPreconditionError(Reason.STALE_INDEX, *where, detail)
    stored = int.from_bytes(frame[-FOOT_BYTES:], "little")
    computed = crc32c.masked_crc32c(frame[HEAD_BYTES:-FOOT_BYTES])
    return DataLossError(Reason.DATA_CRC, *where, _crcs(stored, computed))


def _crcs(stored: int, computed: int) -> str:
    return f"stored {stored:#010x}, computed {computed:#010x}"
