"""Read one file a record at a time, by TensorFlow's rules.

:func:`tf_record_iterator` is ``tf.compat.v1.io.tf_record_iterator``: one name, no pattern;
the compression is what it is told; the end of the file is not final, since a
:class:`RecordIterator` goes on when the file has grown, and can be closed and opened again
where it was (rule R8). All else is :class:`tfrecord_lite.reader.TFRecordReader`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.options import TFRecordOptions
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import Self

    from tfrecord_lite.files.options import CompressionType

__all__ = ["RecordIterator", "tf_record_iterator"]


class RecordIterator:
    """An open file's records, one at a time: what :func:`tf_record_iterator` returns."""

    def __init__(self, path: str | bytes | os.PathLike[str], compression: str) -> None:
        self._stream: RecordStream | None = None
        self._path = path
        self._compression = compression
        self._stream = RecordStream(path, compression)
        self._ready: Iterator[bytes] = iter(())
        self._place = 0, 0  # when closed: the offset of the next record, and its number

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> bytes:
        """Return the next record.

        Raises
        ------
        StopIteration
            At the end of the file; a later call finds what was added since (rule R8).
        DataLossError
            A later call gives the same error again (rule R7), or the record, if
            it was only cut and has been completed since.
        """
        for record in self._ready:
            return record
        if self._stream is None:
            raise StopIteration
        records = self._stream.next_records()
        if records is None:
            raise StopIteration
        self._ready = iter(records)
        return next(self)

    def close(self) -> None:
        """Close the file; the next record is then StopIteration. Twice is fine."""
        if self._stream is not None:
            self._stream.close()
            left = [len(record) + OVERHEAD_BYTES for record in self._ready]
            self._place = self._stream.offset - sum(left), self._stream.n_records - len(left)
        self._stream = None
        self._ready = iter(())

    def __del__(self) -> None:
        """Close the file: a loop that runs to its end does not."""
        if self._stream is not None:
            self._stream.close()

    def reopen(self) -> None:
        """Open the path again, after close, and go on behind the record returned last (R8).

        That is, at the same offset in bytes, whatever is before it now.

        Raises
        ------
        FailedPreconditionError
            If the iterator is not closed.
        DataLossError
            If a compressed file is damaged before that place.
        """
        if self._stream is not None:
            detail = "the iterator is open; close it first"
            raise FailedPreconditionError(
                Reason.UNSUPPORTED, source=self._stream.name, detail=detail
            )
        stream = RecordStream(self._path, self._compression)
        try:
            stream.begin_at(*self._place)
        except BaseException:
            stream.close()
            raise
        self._stream = stream


def tf_record_iterator(
    path: str | bytes | os.PathLike[str], options: CompressionType = None
) -> RecordIterator:
    """Iterate over the records of one file, as ``tf.compat.v1.io.tf_record_iterator``.

    Parameters
    ----------
    path : str, bytes or PathLike
        One local path or URL; no pattern.
    options : TFRecordOptions, str, int or None, optional
        The compression; nothing is found out: None is none (rules C1, O9).

    Returns
    -------
    RecordIterator
        Yields ``bytes``; has ``close`` and ``reopen``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once, not at the first record (rule R9).

    See Also
    --------
    TFRecordReader : several files, compression found out, blocks.
    """
    if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
        detail = f"path must be str, bytes or PathLike, not {type(path).__name__}"
        raise TypeError(detail)
    return RecordIterator(path, TFRecordOptions.get_compression_type_string(options))
