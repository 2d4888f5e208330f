"""The content of a compressed file, piece by piece, in constant memory.

Strict about how a stream ends, after everything that could be inflated was returned: it is an error if
the file ends before the trailer (TensorFlow takes that for the end, rule C3), or if bytes follow that are
not a further stream (TensorFlow ignores them after zlib streams, rule C5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tfrecord_lite.errors import DataLossError, Reason
from tfrecord_lite.files.compression import Codec, detect

PIECE_BYTES = 64 * 1024
"""Bytes of the file read at once."""
MAGIC_BYTES = 4
"""By which the start of a stream is known."""
_CAREFUL_BYTES = 256
"""Bytes read at once near damage, before it is located byte by byte."""
_RATIO_FROM_BYTES = 1024 * 1024
"""Content from which on the ratio counts; less is not a bomb, and may be very even."""


class InflationLimits(NamedTuple):
    """How much a compressed file may inflate to; checked in `ReadSettings`."""

    max_bytes: int | None = None
    """Of content in all."""
    max_ratio: float | None = None
    """Bytes of content per byte of the file that was read."""
    ahead_bytes: int = 0
    """Bytes of the file that count as read before they are."""

    def excess(self, n_bytes: int, n_read: int) -> str | None:
        """Say which limit `n_bytes` of content exceed after `n_read` of the file; None if none."""
        most, ratio = self.max_bytes, self.max_ratio
        if most is not None and n_bytes > most:
            return f"more than {most} bytes; raise max_inflated_bytes to read more"
        n_read += self.ahead_bytes
        if ratio is not None and n_bytes > max(ratio * n_read, _RATIO_FROM_BYTES):
            inflated = f"{n_read} bytes of the file inflate to {n_bytes} or more, over {ratio:g}"
            return f"{inflated} times as many; raise max_inflated_ratio to read more"
        return None


@dataclass(eq=False, repr=False)
class Inflated:
    """The content of a compressed stream `raw`, an InputFile, read piece by piece.

    Memory is constant whatever the ratio: no call inflates more than it was asked for. A
    decompressor that meets corrupt data drops what it had inflated in that call. If `raw` can be
    rewound, it starts again, and reads small pieces and then single bytes near the damage.
    """

    _raw: Any
    _codec: Codec
    _source: str | None = None
    _limits: InflationLimits | None = None
    _furthest: int = 0  # raw bytes read, counted once even if read again
    _offset: int = 0  # bytes returned
    _error: DataLossError | None = None
    _careful_from: int = 0  # a raw offset
    _step: int = PIECE_BYTES  # from there

    def __post_init__(self) -> None:
        """Begin with a decompressor."""
        self._begin()

    def _begin(self) -> None:
        self._decompressor = self._codec.decompressor()
        self.ahead: bytes = b""  # raw bytes not passed to the decompressor
        self._is_fresh = True  # nothing was passed to this decompressor
        self._raw_offset = 0  # after `ahead`
        self._handed = range(0)  # raw offsets of the last bytes passed to the decompressor
        self._skip = 0  # bytes to inflate and drop, since they were returned before

    @property
    def position(self) -> int:
        """Bytes inflated from what was read of `raw`."""
        return self._offset - self._skip

    @property
    def raw_position(self) -> int:
        """Offset in `raw` of the first byte that was read, but not taken by the decompressor."""
        return self._raw_offset - len(self.ahead)

    @property
    def is_between(self) -> bool:
        """Whether a stream ended with the last byte that was read."""
        return self._decompressor.eof and not self.ahead

    def readinto(self, view: memoryview) -> int:
        """Inflate the next bytes into `view`; return how many, 0 at the end of a stream, which may grow.

        `offset` of errors is the number of inflated bytes before the damage.
        """
        while True:
            if self._error is not None:
                raise self._error
            if not self._has_work():
                return 0
            if self.ahead:
                self._handed = range(self._raw_offset - len(self.ahead), self._raw_offset)
            try:
                data = self._decompressor.decompress(self.ahead, self._room(len(view)))
            except self._codec.errors():
                self._redo_or_fail()
                continue
            self._is_fresh = self._is_fresh and not self.ahead
            self.ahead = b""
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            if len(data) > dropped:
                n_bytes = len(data) - dropped
                self._check_limits(self._offset + n_bytes)
                view[:n_bytes] = data[dropped:]
                self._offset += n_bytes
                return n_bytes

    def _room(self, n_bytes: int) -> int:
        """Return how much to inflate at once: up to the limit, then the one byte beyond it."""
        if self._limits is None or self._limits.max_bytes is None or self._skip:
            return n_bytes
        return max(1, min(n_bytes, self._limits.max_bytes - self._offset))

    def _check_limits(self, offset: int) -> None:
        """Raise, now and from then on, if content up to `offset` exceeds a limit."""
        if self._limits is not None and (detail := self._limits.excess(offset, self._furthest)):
            self._error = self._loss(Reason.INFLATED_TOO_LARGE, detail)
            raise self._error

    def _has_work(self) -> bool:
        decompressor = self._decompressor
        if decompressor.eof:
            self.ahead = decompressor.unused_data
            self._read_piece(MAGIC_BYTES)
            if not self.ahead:
                return False
            if not (self._codec.joinable and self._codec.is_start(self.ahead)):
                name, joinable = self._codec.name, self._codec.joinable
                only = f"; a {name} file holds one stream only"
                detail = f"the {name} stream is followed by {len(self.ahead)} or more bytes"
                detail += " that are not another stream" if joinable else only
                self._error = self._loss(Reason.TRAILING_DATA, detail)
                raise self._error
            self._decompressor, self._is_fresh = self._codec.decompressor(), True
            return True
        if not decompressor.needs_input:
            return True
        self._read_piece(1 if self._offset or not self._is_fresh else MAGIC_BYTES)
        if not self.ahead and not self._is_fresh:
            detail = "the file ends before its compressed stream does"
            raise self._loss(Reason.COMPRESSED_TRUNCATED, detail)
        if self._is_fresh and self.ahead and not self._codec.is_start(self.ahead):
            actual = detect(self.ahead) or "uncompressed, or not a TFRecord file"
            detail = f"not a {self._codec.name} stream; by its first bytes it is {actual}"
            raise self._loss(Reason.COMPRESSION, detail)
        return bool(self.ahead)

    def _read_piece(self, n_bytes: int) -> None:
        """Add raw bytes to the piece until it has `n_bytes` or the raw stream ends."""
        while len(self.ahead) < n_bytes:
            n_before = self._careful_from - self._raw_offset
            more = self._raw.read(min(n_before, PIECE_BYTES) if n_before > 0 else self._step)
            if not more:
                return
            self.ahead += more
            self._raw_offset += len(more)
            self._furthest = max(self._furthest, self._raw_offset)

    def _redo_or_fail(self) -> None:
        """Start again, with smaller steps from the error on; fail if these are single bytes."""
        handed = self._handed
        if self._step == 1 or not self._raw.rewindable:
            detail = f"the {self._codec.name} stream is corrupt: from here on it cannot be "
            detail += "inflated, or its checksum is wrong"
            self._error = self._loss(Reason.COMPRESSED_CORRUPT, detail)
            return
        self._careful_from = handed.start
        # A piece may hold what two reads brought, and be longer than a step.
        self._step = _CAREFUL_BYTES if min(self._step, len(handed)) > _CAREFUL_BYTES else 1
        offset = self._offset
        self._raw.rewind()
        self._begin()
        self._skip = offset

    def _loss(self, reason: Reason, detail: str) -> DataLossError:
        return DataLossError(reason, self._offset, self._source, detail=detail)
