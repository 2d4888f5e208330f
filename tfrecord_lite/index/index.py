"""RecordIndex: where each record of one file is, from a scan or from an index file.

Index files have DALI's text form (``tfrecord2idx``): one line per record, its offset in the data
file and its size with header and footer, in bytes. The form does not say what the data file looked
like, so a loaded index is checked against it: it must not be older (remote files are not compared),
its records must follow each other to the file's end, and it must have the first record's length.
"""

from __future__ import annotations

import array
import os
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.block import OVERHEAD_BYTES
from tfrecord_lite.files.input import open_seekable
from tfrecord_lite.files.names import INDEX_SUFFIX, StorageOptions, companion, is_url
from tfrecord_lite.files.output import open_output
from tfrecord_lite.index.handles import FileStamp
from tfrecord_lite.progress import SILENT, Meter
from tfrecord_lite.records.framing import is_header
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.texts import plural

_LINES_AT_ONCE = 65_536


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
        fits = self.offsets.shape == self.sizes.shape and self.offsets.ndim == 1
        fits = fits and bool((self.offsets >= 0).all() and (self.sizes >= OVERHEAD_BYTES).all())
        # So that their sum cannot wrap around.
        if not fits or max(self.offsets.max(initial=0), self.sizes.max(initial=0)) >= 2**62:
            detail = "expected two vectors of one length: "
            raise errors.argument_error(f"{detail}offsets from 0, sizes from {OVERHEAD_BYTES}")

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


def scan(stream: RecordStream, meter: Meter = SILENT) -> RecordIndex:
    """Index an open file by reading it to its end; raises ``UNSUPPORTED`` for a compressed one."""
    if stream.compression:
        stream.next_block(1)  # raises if there is more to say of the file
        detail = f"random access needs an uncompressed file, this one is {stream.compression}; "
        detail += "read it in order (TFRecordReader, TFRecordDataset), or write its records to an "
        detail += "uncompressed file (TFRecordWriter)"
        raise errors.FailedPreconditionError(
            errors.Reason.UNSUPPORTED, source=stream.name, detail=detail
        )
    # These grow in place, so the scan takes no more than 16 bytes of memory per record.
    offsets, sizes = array.array("q"), array.array("q")
    while (block := stream.next_block()) is not None:
        if block.places is not None:
            offsets.frombytes(block.places[:, 2].tobytes())
        sizes.frombytes((block.lengths + OVERHEAD_BYTES).tobytes())
        meter.advance(int(block.lengths.sum()) + len(block) * OVERHEAD_BYTES)
    return RecordIndex(np.frombuffer(offsets, np.int64), np.frombuffer(sizes, np.int64))


def save_index(index: RecordIndex, name: str, storage_options: StorageOptions = None) -> None:
    """Write an index file; an older one is replaced when the new one is complete."""
    output = open_output(name, atomic=True, storage_options=storage_options)
    try:
        for first in range(0, len(index), _LINES_AT_ONCE):
            part = slice(first, first + _LINES_AT_ONCE)
            pairs = zip(index.offsets[part].tolist(), index.sizes[part].tolist(), strict=True)
            text = "".join(["%d %d\n" % pair for pair in pairs])  # noqa: UP031 - twice as fast as an f-string
            output.write([text.encode()])
        output.finish()
        output.commit()
    except BaseException:
        output.abandon()
        raise


def load_index(name: str, storage_options: StorageOptions = None) -> RecordIndex:
    """Read an index file; raises ``MALFORMED``, or as :class:`RecordIndex`."""
    with closing(open_seekable(name, storage_options)) as file:
        text = file.read().strip()
    is_text = not text.translate(None, b"0123456789 \t\r\n")
    numbers = np.fromstring(text, np.int64, sep=" ") if is_text else np.empty(1, np.int64)
    n_lines = text.count(b"\n") + bool(text)
    if numbers.size != 2 * n_lines or numbers.max(initial=0) == np.iinfo(np.int64).max:
        detail = "not an index; expected lines of two numbers: 'offset size'"
        raise errors.InvalidArgumentError(errors.Reason.MALFORMED, source=name, detail=detail)
    return RecordIndex(numbers[::2].copy(), numbers[1::2].copy())


def beside(
    name: str, stamp: FileStamp, storage_options: StorageOptions = None
) -> RecordIndex | None:
    """Load the index beside a file; None if there is none that fits: it was not asked for."""
    place = companion(name, INDEX_SUFFIX)
    if not (is_url(name) or os.path.exists(place)):  # noqa: PTH110 - as every name here
        return None
    try:
        return load_checked(place, stamp, name, storage_options)
    except (OSError, errors.TFRecordError):
        return None


def load_checked(
    name: str, stamp: FileStamp, source: str, storage_options: StorageOptions = None
) -> RecordIndex:
    """Read the index file `name` of the data file `source`; ``STALE_INDEX`` if it does not fit `stamp`."""
    index = load_index(name, storage_options)
    starts = np.cumsum(index.sizes) - index.sizes
    fits = index.end == stamp.file_bytes and (index.offsets == starts).all()
    if fits and len(index):  # of the first record, too
        length = int.from_bytes(stamp.header[:8], "little")
        fits = is_header(stamp.header) and length + OVERHEAD_BYTES == index.sizes[0]
    is_local = isinstance(stamp.version, int) and not is_url(name)
    if not fits or (is_local and os.stat(name).st_mtime_ns < stamp.version):  # type: ignore[operator]  # noqa: PTH116
        detail = f"index {name} is not of the file as it is now; write a new index"
        raise errors.FailedPreconditionError(
            errors.Reason.STALE_INDEX, source=source, detail=detail
        )
    return index
