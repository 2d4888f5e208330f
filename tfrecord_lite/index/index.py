"""RecordIndex: where each record of one file is, and how to tell that this is still so.

An index is made by one scan, which hops from head to head as every reader does, and
checks the lengths' CRCs; the data is not looked at.
"""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import FailedPreconditionError, InvalidArgumentError, Reason
from tfrecord_lite.records.framing import HEADER_BYTES, MAX_RECORD_BYTES, OVERHEAD_BYTES, is_header
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.index.pread import Handle


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looked like when its index was made: a changed file looks otherwise."""

    file_bytes: int
    mtime_ns: int
    """Time of the last change, nanoseconds since 1970."""
    head: bytes
    """The first record's head, 12 bytes; fewer if the file is shorter."""

    @classmethod
    def of(cls, handle: Handle) -> Stamp:
        """Look at a file."""
        status = handle.stat()
        return cls(status.st_size, status.st_mtime_ns, handle.read(HEADER_BYTES, 0))

    def check(self, handle: Handle) -> None:
        """Compare with the file as it is now.

        Raises
        ------
        FailedPreconditionError
            ``STALE_INDEX`` if it has changed.
        """
        now = Stamp.of(handle)
        if now == self:
            return
        found = [
            f"{what} was {was!r}, is {is_!r}"
            for what, was, is_ in (
                ("its size", self.file_bytes, now.file_bytes),
                ("its time of change", self.mtime_ns, now.mtime_ns),
            )
            if was != is_
        ] or ["its first record's head is another"]
        detail = f"{', '.join(found)}; make a new TFRecordFile"
        raise FailedPreconditionError(Reason.STALE_INDEX, source=handle.name, detail=detail)


@dataclass(frozen=True, slots=True, eq=False)
class RecordIndex:
    """Where the records of one file are.

    Parameters
    ----------
    offsets : int64, shape (n_records,)
        Bytes from the start of the file to each record's head.
    sizes : int64, shape (n_records,)
        Bytes of each record in the file: its data, and 16 of head and foot.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the arrays differ in length, or hold what no file can.

    Examples
    --------
    >>> index = RecordIndex(np.array([0, 19]), np.array([19, 21]))
    >>> len(index), index.end
    (2, 40)
    """

    offsets: Int64Array
    sizes: Int64Array

    def __post_init__(self) -> None:
        """Check the arrays."""
        if self.offsets.shape != self.sizes.shape or self.offsets.ndim != 1:
            detail = f"{self.offsets.shape} offsets for {self.sizes.shape} sizes"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if not self.offsets.size:
            return
        # Each alone first, so that their sum cannot wrap around.
        is_odd = self.offsets.min() < 0 or self.sizes.min() < OVERHEAD_BYTES
        if is_odd or max(self.offsets.max(), self.sizes.max()) > np.iinfo(np.int64).max // 2:
            detail = f"an offset below 0, or a size below {OVERHEAD_BYTES}, or beyond any file"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)

    def __len__(self) -> int:
        """Return the number of records."""
        return self.offsets.size

    @property
    def end(self) -> int:
        """Bytes from the start of the file to the end of the last record."""
        return int((self.offsets + self.sizes).max(initial=0))

    def misfit(self, stamp: Stamp) -> str | None:
        """Say how the index does not fit a file that looks so; None if nothing is wrong."""
        if self.end > stamp.file_bytes:
            return f"it ends at byte {self.end}, the file has {stamp.file_bytes}"
        first = np.flatnonzero(self.offsets == 0)[:1]
        if first.size:
            size = int(self.sizes[first[0]])
            length = int.from_bytes(stamp.head[:8], "little")
            if not is_header(stamp.head) or length + OVERHEAD_BYTES != size:
                return f"it says the first record takes {size} bytes, its head says otherwise"
        return None

    def is_whole(self, stamp: Stamp) -> bool:
        """Whether the records follow each other from the file's first byte to its last."""
        ends = np.cumsum(self.sizes)
        at_end = int(ends[-1]) if ends.size else 0
        return at_end == stamp.file_bytes and bool((self.offsets == ends - self.sizes).all())


def scan(stream: RecordStream) -> RecordIndex:
    """Read an open file to its end, and note where its records are.

    Raises
    ------
    FailedPreconditionError
        ``UNSUPPORTED`` for a compressed file, of which no place can be read without
        all that is before it.
    DataLossError
        As for reading.
    """
    if stream.compression:
        detail = (
            f"its compression is {stream.compression}, and a record in it can only be reached "
            "through all before it; read it in order (TFRecordReader, TFRecordDataset), or "
            "write its records again uncompressed (TFRecordWriter)"
        )
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=stream.name, detail=detail)
    # These grow in place: 16 bytes a record are all that is ever taken.
    offsets, sizes = array.array("q"), array.array("q")
    while (block := stream.next_block()) is not None:
        base = block.spans[0].base
        offsets.frombytes((block.offsets + (base or 0)).tobytes())
        sizes.frombytes((block.lengths + OVERHEAD_BYTES).tobytes())
    return RecordIndex(np.frombuffer(offsets, np.int64), np.frombuffer(sizes, np.int64))


def scan_file(name: str, max_record_bytes: int = MAX_RECORD_BYTES) -> RecordIndex:
    """Open a file and :func:`scan` it, without looking at the data."""
    stream = RecordStream(name, verify=False, max_record_bytes=max_record_bytes)
    try:
        return scan(stream)
    finally:
        stream.close()
