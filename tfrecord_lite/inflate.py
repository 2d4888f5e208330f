"""The content of a compressed file, piece by piece, in constant memory.

:class:`Inflated` is strict about how a stream ends:

- one that stops before its trailer is an error, where TensorFlow takes the
  end of the file for the end of the stream (rule C3);
- what follows the last stream and is no further one is an error, where
  TensorFlow ignores anything behind a zlib stream (rule C5).

Both come after everything that could be inflated was handed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tfrecord_lite.compression import detect
from tfrecord_lite.errors import DataLossError, Reason

if TYPE_CHECKING:
    from tfrecord_lite.compression import Codec

__all__ = ["Inflated", "RawInput"]

_PIECE_BYTES = 64 * 1024
_MAGIC_BYTES = 4


class RawInput(Protocol):
    """What :class:`Inflated` reads from."""

    rewindable: bool

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, at most `n_bytes`, none at the end."""

    def rewind(self) -> None:
        """Go back to the first byte."""


class Inflated:
    """The content of a compressed stream, read piece by piece.

    Parameters
    ----------
    raw : RawInput
        The compressed bytes, at their first one. Not closed here.
    codec : Codec
        Their compression.
    source : str, optional
        Path or URL, for errors.

    Notes
    -----
    Memory is constant whatever the ratio: no call inflates more than it was
    asked for. A decompressor that meets corrupt data drops what it had inflated
    in that call; if `raw` can be rewound, that stretch is done again a byte at
    a time, so that all there is before the damage comes out.
    """

    def __init__(self, raw: RawInput, codec: Codec, source: str | None = None) -> None:
        self._raw = raw
        self._codec = codec
        self._source = source
        self._offset = 0  # bytes given out
        self._error: DataLossError | None = None
        self._careful_from: int | None = None  # raw offset from which to go byte by byte
        self._begin()

    def _begin(self) -> None:
        self._decompressor = self._codec.decompressor()
        self._piece = b""  # raw bytes not handed to the decompressor
        self._is_fresh = True  # nothing was handed to this decompressor
        self._raw_offset = 0  # behind _piece
        self._skip = 0  # bytes to inflate and drop, given out before

    def readinto(self, view: memoryview) -> int:
        """Inflate the next bytes.

        Parameters
        ----------
        view : memoryview
            Where to put them; one byte at least.

        Returns
        -------
        int
            How many; 0 at the end of the stream. A stream that grows later can be
            read on.

        Raises
        ------
        DataLossError
            ``COMPRESSION`` if the stream does not start as its codec says,
            ``COMPRESSED_CORRUPT``, ``COMPRESSED_TRUNCATED``, ``TRAILING_DATA``.
            `offset` is the number of inflated bytes before the damage.
        """
        while True:
            if self._error is not None:
                raise self._error
            if not self._has_work():
                return 0
            try:
                data = self._decompressor.decompress(self._piece, len(view))
            except self._codec.errors() as error:
                self._redo_or_fail(error)
                continue
            self._is_fresh = self._is_fresh and not self._piece
            self._piece = b""
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            if len(data) > dropped:
                n_bytes = len(data) - dropped
                view[:n_bytes] = data[dropped:]
                self._offset += n_bytes
                return n_bytes

    def _has_work(self) -> bool:
        """Get the next piece if one is needed; say whether the stream goes on."""
        decompressor = self._decompressor
        if decompressor.eof:
            self._piece = decompressor.unused_data
            self._read_piece(_MAGIC_BYTES)
            if not self._piece:
                return False
            if not (self._codec.joinable and self._codec.is_start(self._piece)):
                detail = f"{len(self._piece)} bytes or more follow, and are no further stream"
                self._error = self._loss(Reason.TRAILING_DATA, detail)
                raise self._error
            self._decompressor, self._is_fresh = self._codec.decompressor(), True
            return True
        if not decompressor.needs_input:
            return True
        self._read_piece(1 if self._offset or not self._is_fresh else _MAGIC_BYTES)
        if not self._piece and not self._is_fresh:
            detail = "the file ends before the stream does; what is before it was read"
            raise self._loss(Reason.COMPRESSED_TRUNCATED, detail)
        if self._is_fresh and self._piece and not self._codec.is_start(self._piece):
            found = detect(self._piece) or "none, or no TFRecord file"
            detail = f"not a {self._codec.name} stream; by its first bytes: {found}"
            raise self._loss(Reason.COMPRESSION, detail)
        return bool(self._piece)

    def _read_piece(self, n_bytes: int) -> None:
        """Add raw bytes to the piece until it has `n_bytes` or the raw stream ends."""
        while len(self._piece) < n_bytes:
            careful = self._careful_from is not None and self._raw_offset >= self._careful_from
            more = self._raw.read(1 if careful else _PIECE_BYTES)
            if not more:
                return
            self._piece += more
            self._raw_offset += len(more)

    def _redo_or_fail(self, error: Exception) -> None:
        """Start again, to go byte by byte where the error was; the second time, fail."""
        if self._careful_from is None and self._raw.rewindable:
            careful_from = max(self._raw_offset - len(self._piece) - _PIECE_BYTES, 0)
            given = self._offset
            self._raw.rewind()
            self._begin()
            self._careful_from, self._skip = careful_from, given
            return
        self._error = self._loss(Reason.COMPRESSED_CORRUPT, str(error))

    def _loss(self, reason: Reason, detail: str) -> DataLossError:
        return DataLossError(reason, self._offset, self._source, None, None, detail)
