"""One open file of records: the way out.

::

    records ──frame──> frames ──(compressor)──> OutputFile ──> file

:class:`RecordSink` collects records and frames them many at a time, since framing
one costs nearly as much as framing a thousand. What was taken in and is not
written yet outlives failures, interrupts and forks. The way in is
:class:`tfrecord_lite.records.stream.RecordStream`.
"""

from __future__ import annotations

import operator
import os
import weakref
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.compression import TFRecordOptions, codec_named
from tfrecord_lite.records.framing import (
    FOOTER_BYTES,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    frame,
    frame_in_place,
    frame_pieces,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.block import Block
    from tfrecord_lite.files.compression import Call, CompressionType
    from tfrecord_lite.files.output import OutputFile

BUFFER_BYTES = 1024 * 1024
"""How many bytes of records a sink collects before it frames and writes them."""

_LARGE_BLOCK_BYTES = 128 * 1024
"""From this size on a block is written by itself."""

_LARGEST_KEPT_BYTES = 8 * 1024 * 1024
"""Memory for a larger record is given back."""


class Lender(Protocol):
    """Who has records until they are taken from it."""

    is_taken: bool


class RecordSink:
    """Collects records and writes them to a file, framed, and compressed if asked.

    Parameters
    ----------
    file : OutputFile
        Where to write; closed by :meth:`finish` or :meth:`abandon`.
    options : TFRecordOptions, str, int or None
        The compression and its settings.
    buffer_bytes : int
        How much to collect at the most.

    Notes
    -----
    A write that fails (a full disk) raises :class:`OSError` and loses nothing:
    the records stay pending, the file is as it was before, and the next call
    tries again. Not thread-safe.

    An interrupt (Ctrl-C) loses nothing either, and repeats nothing. What is on
    its way to the file is at any time in one of three places: records, a call of
    the compressor, what is unwritten of the file. It moves on in steps that
    Python does not interrupt: assignments with no call between them, and
    functions in C that call each other. What remains is a pipe or a file object, whose
    own ``write`` may be interrupted after it took something: that is
    written a second time.
    """

    def __init__(
        self, file: OutputFile, options: CompressionType, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self._file = file
        self._buffer_bytes = buffer_bytes
        codec = codec_named(TFRecordOptions.get_compression_type_string(options))
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._compressor = None if codec is None else codec.compressor(options.settings())
        self._records: list[Buffer] = []
        self._n_bytes = 0  # of the pending records, framed
        self._large = bytearray()
        self._calls: list[Call] = []  # of the compressor; one at the most
        # Of the file, behind what is written.
        self._unwritten: list[bytes | bytearray | memoryview] = []
        self._is_ended = False  # nothing can follow what was taken in
        _SINKS.add(self)

    def add(self, record: Buffer) -> None:
        """Take one record in; write if there are enough."""
        self._records.append(record)
        self._n_bytes += len(record) + OVERHEAD_BYTES  # type: ignore[arg-type]
        if self._n_bytes >= self._buffer_bytes:
            self._drain()

    def hold(self, record: Buffer) -> None:
        """Take one record in, in one step that no interrupt divides."""
        self._records += (record,)

    def write_if_full(self) -> None:
        """Write if there are enough records, behind :meth:`hold`."""
        self._n_bytes += len(self._records[-1]) + OVERHEAD_BYTES  # type: ignore[arg-type]
        if self._n_bytes >= self._buffer_bytes:
            self._drain()

    def add_all(self, records: Sequence[Buffer], lender: Lender | None = None) -> None:
        """Take many records in, bytes-like and in order; write if there are enough.

        They are held until they are written, and must not change before. `lender` is who
        had them until now, if they must not be there and here.
        """
        self._hold(records, lender)
        if self._n_bytes >= self._buffer_bytes:
            self._drain()

    def _hold(self, records: Sequence[Buffer], lender: Lender | None = None) -> None:
        self._records += records
        if lender is not None:  # no call in between, so that an interrupt finds them in one place
            lender.is_taken = True
        self._n_bytes += sum(map(len, records)) + len(records) * OVERHEAD_BYTES  # type: ignore[arg-type]

    def _drain_before(
        self, records: Callable[[], Sequence[Buffer]], lender: Lender | None = None
    ) -> None:
        """Write what is pending; if that fails, hold the records that come next as well."""
        try:
            self._drain()
        except BaseException:
            self._hold(records(), lender)
            raise

    def add_block(self, block: Block, lender: Lender | None = None) -> None:
        """Take a block's records in; one made for this, whose memory is the sink's from now on.

        A large block is framed in its own memory and written at once; the records of a
        small one wait with others.
        """
        if block.data.size < _LARGE_BLOCK_BYTES:
            self.add_all(block.views(), lender)
            return
        self._drain_before(block.views, lender)
        frames = frame_in_place(block)
        if frames is None:
            self.add_all(block.views(), lender)
        else:
            self._take_frames(frames, lender)

    def add_framed(self, block: Block) -> None:
        """Take a block's records in as they were read, one behind the other in sound frames."""
        self._drain_before(block.views)
        stop = int(block.offsets[-1] + block.lengths[-1]) + FOOTER_BYTES
        frames = memoryview(block.data)  # type: ignore[arg-type]
        self._take_frames(frames[int(block.offsets[0]) - HEADER_BYTES : stop])

    def add_pieces(self, pieces: Sequence[Buffer]) -> None:
        """Take one large record in, in pieces, and write it.

        They are copied once, to memory that is used again for the next.
        """
        self._drain_before(lambda: [b"".join(pieces)])
        n_bytes = sum(map(len, pieces)) + OVERHEAD_BYTES  # type: ignore[arg-type]
        if n_bytes > len(self._large):
            self._large = bytearray(n_bytes)
        frames = frame_pieces(pieces, self._large)
        if n_bytes > _LARGEST_KEPT_BYTES:
            self._large = bytearray()
        self._take_frames(frames)

    def _drain(self) -> None:
        """Frame, compress and write what is pending."""
        self._check_open()
        self._work_off()
        if self._records:
            self._take_frames(frame(self._records))

    def refuse(self) -> None:
        """Have every later record refused, since the process that the file belongs to is another."""
        self._records, self._buffer_bytes = [], 0

    def _check_open(self) -> None:
        """Refuse records that the file cannot take."""
        self.check_process()
        if self._is_ended and self._records:
            self._records = []
            raise FailedPreconditionError(Reason.CLOSED, source=self._file.name)

    def _take_frames(self, frames: bytearray | memoryview, lender: Lender | None = None) -> None:
        """Compress and write frames, which no records are pending before or besides."""
        if self._is_ended:
            if lender is not None:
                lender.is_taken = True
            raise FailedPreconditionError(Reason.CLOSED, source=self._file.name)
        if self._compressor is None:
            self._unwritten, self._records, self._n_bytes = [frames], [], 0
        else:
            call = self._compressor.compress(frames)
            self._calls, self._records, self._n_bytes = [call], [], 0
        if lender is not None:
            lender.is_taken = True
        self._work_off()

    def check_process(self) -> None:
        """Refuse to go on in a process forked from the one that opened the file."""
        if not self.belongs_here:
            self.refuse()
            detail = "the writer was opened in another process, which has its pending records"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=self._file.name, detail=detail)

    def _work_off(self) -> None:
        """Make the compressor's call, and write all of the file that there is."""
        # From the taking of the call to the keeping of its result this is one call into C.
        calls = islice(iter(self._calls.pop, None), len(self._calls))
        self._unwritten.extend(map(operator.call, calls))
        self._file.write(self._unwritten)

    def flush(self) -> None:
        """Make every record readable that was added so far (rule O6)."""
        self._drain()
        if self._compressor is not None:
            self._calls = [self._compressor.flush()]
            self._work_off()
        self._file.flush()

    def finish(self) -> None:
        """Write what is pending and the end of the compressed stream, and close the file.

        After a failure it can be called again, but no more records can be added if
        only the end was left to write.
        """
        self._drain()
        if self._compressor is not None:
            self._calls, self._compressor = [self._compressor.finish()], None
        self._is_ended, self._buffer_bytes = True, 0
        self._work_off()
        self._file.finish()

    def commit(self, name: str | None = None) -> None:
        """Put the finished file in its place, if it was written beside it."""
        self._file.commit(name)

    def replaces(self, name: str) -> bool:
        """Whether :meth:`commit` would put the file in the place of another."""
        return self._file.replaces(name)

    def take_back(self) -> None:
        """Undo :meth:`commit`."""
        self._file.take_back()

    def abandon(self) -> None:
        """Close the file without the pending records; remove it if it was beside its place.

        Nothing happens in a process that was forked from the one that opened it.
        """
        self._file.abandon()

    @property
    def belongs_here(self) -> bool:
        """Whether this process opened it, and not one it was forked from."""
        return self._file.belongs_here


_SINKS: weakref.WeakSet[RecordSink] = weakref.WeakSet()


def _refuse_all() -> None:
    """Have the sinks of a process that was just forked refuse records: its parent writes them.

    To ask at each record which process this is would take half as long as writing it.
    """
    for sink in list(_SINKS):
        sink.refuse()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_refuse_all)
