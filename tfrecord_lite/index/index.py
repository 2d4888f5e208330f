"""RecordIndex: where each record of one file is, made by one scan of the file.

The scan hops from header to header as every reader does, and checks the lengths' CRCs; it
does not look at the data.
"""

from __future__ import annotations

import array
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import (
    FailedPreconditionError,
    Reason,
    argument_error,
    plural,
)
from tfrecord_lite.options import MAX_RECORD_BYTES, ReadSettings
from tfrecord_lite.progress import SILENT
from tfrecord_lite.records.framing import OVERHEAD_BYTES, is_header
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.index.pread import FileStamp
    from tfrecord_lite.progress import Meter


@dataclass(frozen=True, slots=True, eq=False)
class RecordIndex:
    """Where the records of one file are.

    Parameters
    ----------
    offsets : int64, shape (n_records,)
        Bytes from the start of the file to each record's header.
    sizes : int64, shape (n_records,)
        Bytes of each record in the file: its data, and 16 of header and footer.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the arrays differ in length, or no file can have such records.

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
            detail = (
                f"offsets have the shape {self.offsets.shape}, sizes {self.sizes.shape}; "
                "expected two vectors of one length"
            )
            raise argument_error(detail)
        if not self.offsets.size:
            return
        # Each alone first, so that their sum cannot wrap around.
        is_odd = self.offsets.min() < 0 or self.sizes.min() < OVERHEAD_BYTES
        if is_odd or max(self.offsets.max(), self.sizes.max()) > np.iinfo(np.int64).max // 2:
            detail = f"offsets must be 0 or more, sizes {OVERHEAD_BYTES} or more, none larger than any file"
            raise argument_error(detail)

    def __len__(self) -> int:
        """Return the number of records."""
        return self.offsets.size

    def __repr__(self) -> str:
        """Count the records, and the bytes up to the last one's end."""
        n_bytes = plural(self.end, "byte")
        return f"<RecordIndex of {plural(len(self), 'record')}, {n_bytes}>"

    @property
    def end(self) -> int:
        """Bytes from the start of the file to the end of the last record."""
        return int((self.offsets + self.sizes).max(initial=0))

    def misfit(self, stamp: FileStamp) -> str | None:
        """Say what the index does that does not fit a file like this; None if it may fit."""
        if self.end > stamp.file_bytes:
            return f"ends at byte {self.end}, but the file at byte {stamp.file_bytes}"
        first = np.flatnonzero(self.offsets == 0)[:1]
        if first.size:
            size = int(self.sizes[first[0]])
            length = int.from_bytes(stamp.header[:8], "little")
            if not is_header(stamp.header) or length + OVERHEAD_BYTES != size:
                return f"says the first record takes {size} bytes, but the file says otherwise"
        return None

    def is_whole(self, stamp: FileStamp) -> bool:
        """Whether the records follow each other from the file's first byte to its last."""
        ends = np.cumsum(self.sizes)
        at_end = int(ends[-1]) if ends.size else 0
        return at_end == stamp.file_bytes and bool((self.offsets == ends - self.sizes).all())


def scan(stream: RecordStream, meter: Meter = SILENT) -> RecordIndex:
    """Index an open file by reading it to its end; raises ``UNSUPPORTED`` for a compressed one.

    The bytes read are added to a meter.
    """
    if stream.compression:
        stream.next_block(1)  # raises if there is more to say of the file
        detail = (
            f"random access needs an uncompressed file, this one is {stream.compression}; read it "
            "in order (TFRecordReader, TFRecordDataset), or write its records to an uncompressed "
            "file (TFRecordWriter)"
        )
        raise FailedPreconditionError(Reason.UNSUPPORTED, source=stream.name, detail=detail)
    # These grow in place, so the scan takes no more than 16 bytes of memory per record.
    offsets, sizes = array.array("q"), array.array("q")
    while (block := stream.next_block()) is not None:
        base = block.spans[0].base
        offsets.frombytes((block.offsets + (base or 0)).tobytes())
        sizes.frombytes((block.lengths + OVERHEAD_BYTES).tobytes())
        meter.advance(int(block.lengths.sum()) + len(block) * OVERHEAD_BYTES)
    return RecordIndex(np.frombuffer(offsets, np.int64), np.frombuffer(sizes, np.int64))


def scan_file(
    name: str,
    max_record_bytes: int = MAX_RECORD_BYTES,
    storage_options: StorageOptions = None,
    meter: Meter = SILENT,
) -> RecordIndex:
    """Open a file and index it by :func:`scan`, without checking the data."""
    options = ReadSettings(
        verify=False, max_record_bytes=max_record_bytes, storage_options=storage_options
    )
    with closing(RecordStream(name, options)) as stream:
        return scan(stream, meter)
