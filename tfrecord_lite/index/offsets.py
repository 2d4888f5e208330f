"""tf_record_random_reader: one record at an offset that the caller knows (rule R10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.files.names import name_of
from tfrecord_lite.index import frames
from tfrecord_lite.index.pread import Handle
from tfrecord_lite.records.framing import HEAD_BYTES, MAX_RECORD_BYTES, OVERHEAD_BYTES, is_head

if TYPE_CHECKING:
    import os

__all__ = ["RandomReader", "tf_record_random_reader"]


class RandomReader:
    """What :func:`tf_record_random_reader` returns."""

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self._name = name_of(path)
        self._handle: Handle | None = Handle(self._name)

    def read(self, offset: int) -> tuple[bytes, int]:
        """Return the record that starts at an offset, and the offset behind it.

        Parameters
        ----------
        offset : int
            Bytes from the start of the file to the record's head.

        Raises
        ------
        IndexError
            If the file ends at that offset, or before it.
        DataLossError
            ``LENGTH_CRC`` if no record starts there, ``DATA_CRC``, ``TRUNCATED``,
            ``RECORD_TOO_LARGE``.
        FailedPreconditionError
            ``CLOSED`` after :meth:`close`.
        """
        if self._handle is None:
            raise FailedPreconditionError(Reason.CLOSED, source=self._name)
        head = self._handle.read(HEAD_BYTES, offset) if offset >= 0 else b""
        if not head:
            detail = f"Out of range at reading offset {offset}"
            raise IndexError(detail)
        n_bytes = int.from_bytes(head[:8], "little")
        size = n_bytes + OVERHEAD_BYTES
        if not is_head(head):
            frame, size = head, HEAD_BYTES
        elif n_bytes > MAX_RECORD_BYTES:
            detail = f"its length says {n_bytes} bytes, the limit is {MAX_RECORD_BYTES}"
            raise DataLossError(Reason.RECORD_TOO_LARGE, offset, self._name, None, None, detail)
        else:  # no memory is made for more than the file has
            left = self._handle.stat().st_size - offset
            frame = self._handle.read(min(size, left), offset)
        data = frames.data_of(frame, size, verify=True)
        if data is not None:
            return data, offset + size
        error = frames.loss(frame, size, name=self._name, index=0, offset=offset)
        raise DataLossError(error.reason, offset, self._name, None, None, error.detail)

    def close(self) -> None:
        """Close the file. Twice is fine."""
        self._handle = None


def tf_record_random_reader(path: str | bytes | os.PathLike[str]) -> RandomReader:
    """Read records of an uncompressed file at known offsets, as TensorFlow's of that name.

    Parameters
    ----------
    path : str, bytes or PathLike
        A local file.

    Returns
    -------
    RandomReader
        With ``read(offset)``, which returns ``(record, next_offset)``, and ``close``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        At once.

    See Also
    --------
    TFRecordFile : by the record's number.

    Examples
    --------
    >>> with TFRecordWriter("two.tfrecord") as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"three")
    >>> reader = tf_record_random_reader("two.tfrecord")
    >>> reader.read(0), reader.read(19)
    ((b'one', 19), (b'three', 40))
    """
    return RandomReader(path)
