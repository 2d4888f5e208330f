"""Local files that are read at any offset, by any thread, and in forked children.

``pread`` takes the offset as an argument, so nobody shares a place in the file. A
handle closes its file when nothing refers to it any more: whoever reads from one
that was put out of the pool meanwhile still may.

Many records from anywhere in a file into one buffer, and the check of what came.

Records that lie side by side in the file are read with one call. Every record is held
against its index: the length in its head must be right by its CRC, and the one that
the index says. So a wrong index cannot give wrong records.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.arrays import Int64Array, Uint8Array, lanes
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.records import crc32c
from tfrecord_lite.records.framing import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, crc_detail

if TYPE_CHECKING:
    from tfrecord_lite.index.index import Stamp

_MOST_OPEN = 64
"""How many files a pool keeps open."""
_MOST_AT_ONCE = 1 << 30
"""Linux reads no more than 2 GiB with one call."""


class Handle:
    """One open local file.

    Parameters
    ----------
    name : str
        Its path.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        As Python's ``open``.
    FailedPreconditionError
        ``UNSUPPORTED`` for a pipe or a device.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        mode = self.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(mode):
            detail = "random access needs a regular file; copy it into one"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=name, detail=detail)

    def stat(self) -> os.stat_result:
        """Return size, times and mode as they are now."""
        return os.fstat(self._fd)

    def read(self, n_bytes: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file."""
        return os.pread(self._fd, n_bytes, offset)

    def readinto(self, view: memoryview, offset: int) -> int:
        """Fill `view` from an offset on; return how many bytes there were."""
        done = 0
        while done < len(view):
            part = view[done : done + _MOST_AT_ONCE]
            n_bytes = os.preadv(self._fd, [part], offset + done)
            if n_bytes == 0:
                break
            done += n_bytes
        return done

    def __del__(self) -> None:
        """Close the file."""
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)


class Pool:
    """The open files of a reader, opened when first needed, the longest unused closed.

    Parameters
    ----------
    names : list of str
    stamps : list of Stamp
        What each file looked like when its index was made.
    """

    def __init__(self, names: list[str], stamps: list[Stamp]) -> None:
        self._names = names
        self._stamps = stamps
        self._open: dict[int, Handle] = {}
        self._lock = threading.Lock()

    def handle(self, number: int) -> Handle:
        """Return file `number`, open.

        Raises
        ------
        FailedPreconditionError
            ``STALE_INDEX`` if it is not the file that the index was made of.
        """
        # A child that was forked while a thread held the lock makes a pool of its own
        # (``TFRecordFile`` looks at the process), so this never waits for a thread that is gone.
        with self._lock:
            handle = self._open.pop(number, None)
            if handle is None:
                handle = Handle(self._names[number])
                self._stamps[number].check(handle)
            self._open[number] = handle  # now the youngest
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
            return handle

    def close(self) -> None:
        """Let go of all files; they are opened again when needed."""
        with self._lock:
            self._open.clear()


def read(
    handle: Handle,
    offsets: Int64Array,
    sizes: Int64Array,
    out: Uint8Array,
    at: int,
) -> Int64Array:
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
    data: Uint8Array,
    places: Int64Array,
    sizes: Int64Array,
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
        starts, stops = places[:n_frames] + HEADER_BYTES, (places + sizes)[:n_frames] - FOOTER_BYTES
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
    data = frame[HEADER_BYTES:-FOOTER_BYTES]
    if crc32c.masked_crc32c(frame[:8]) != crc:
        return None
    if verify and crc32c.masked_crc32c(data) != int.from_bytes(frame[-FOOTER_BYTES:], "little"):
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
    stored = int.from_bytes(frame[8:HEADER_BYTES], "little")
    computed = crc32c.masked_crc32c(frame[:8])
    if stored != computed:
        return DataLossError(
            Reason.LENGTH_CRC, *where, crc_detail(Reason.LENGTH_CRC, stored, computed)
        )
    length = int.from_bytes(frame[:8], "little")
    if length != size - OVERHEAD_BYTES:
        detail = f"the index says {size - OVERHEAD_BYTES} bytes of data, the record {length}"
        return FailedPreconditionError(Reason.STALE_INDEX, *where, detail)
    stored = int.from_bytes(frame[-FOOTER_BYTES:], "little")
    computed = crc32c.masked_crc32c(frame[HEADER_BYTES:-FOOTER_BYTES])
    return DataLossError(Reason.DATA_CRC, *where, crc_detail(Reason.DATA_CRC, stored, computed))
