"""RecordSink: one open file that records are written to.

::

    records ──frame──> frames ──(compressor)──> bytes ──> OutputFile
    pending            many at a time           unwritten

Framing one record costs nearly as much as framing a thousand, so a sink collects records.
Reading is :class:`tfrecord_lite.records.stream.RecordStream`'s.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
import weakref
from itertools import islice
from typing import TYPE_CHECKING

from tfrecord_lite.block import Block
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.compression import TFRecordOptions, codec_named
from tfrecord_lite.records.framing import (
    FOOTER_BYTES,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    frame,
    frame_in_place,
    frame_pieces,
    frames_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from typing_extensions import Buffer

    from tfrecord_lite.files.compression import Call, CompressionType
    from tfrecord_lite.files.output import OutputFile

BUFFER_BYTES = 1024 * 1024
"""How many bytes of records a sink collects before it frames and writes them."""

_LARGE_BLOCK_BYTES = 128 * 1024
"""From this size on a block is written by itself."""

_SMALL_BLOCK_BYTES = 32 * 1024
"""A smaller block's records are collected one by one, so that no small pieces are written."""

_MAX_KEPT_BYTES = 8 * 1024 * 1024
"""Memory for a larger record is not kept for the next."""


class Turn:
    """A context for one thread at a time, which may enter it again; another one gets an error.

    An interrupt (Ctrl-C) as a thread enters or leaves may leave the turn with this thread.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self.reset()

    def reset(self) -> None:
        """Start anew, in a process that was just forked."""
        self.lock: threading.RLock = threading.RLock()

    def __enter__(self) -> Self:
        """Enter; raise ``IN_USE`` if another thread is inside."""
        if not self.lock.acquire(blocking=False):
            raise self.error()
        return self

    def error(self) -> FailedPreconditionError:
        """Return the error about a second thread."""
        detail = (
            "another call is using the writer, of another thread or one that a signal has "
            "interrupted; give each thread a writer of its own, or hold one lock around all calls"
        )
        return FailedPreconditionError(Reason.IN_USE, source=self._source, detail=detail)

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self.lock.release()


class RecordSink:
    """Write records to a file, framed, and compressed if asked.

    It collects up to `buffer_bytes`; :meth:`finish` or :meth:`abandon` closes the file.

    An added record belongs to the sink, even if the call raises. A write that fails (a full
    disk) raises :class:`OSError` and loses nothing: the file is as it was before, and the next
    call tries again.

    One call at a time may write to the file (`turn`, which the sinks of one writer share): another
    thread, or a signal handler that interrupts such a call, gets an error. :meth:`add` is open to
    all of them and needs no check, since an append to a list is one step: a record that comes
    while another call writes is pending.

    An interrupt (Ctrl-C) leaves a file without torn frames or a torn compressed stream, and a
    sink that can be used, finished or abandoned. What was flushed is in the file. Records that
    were pending may be lost, each as a whole; none is written twice. (A pipe or a file object
    may get bytes twice, if its own ``write`` was interrupted after it took some.)
    """

    def __init__(
        self,
        file: OutputFile,
        options: CompressionType,
        buffer_bytes: int = BUFFER_BYTES,
        turn: Turn | None = None,
    ) -> None:
        self._file = file
        self.turn: Turn = turn or Turn(file.name)
        self._buffer_bytes = buffer_bytes
        self._compression = TFRecordOptions.get_compression_type_string(options)
        codec = codec_named(self._compression)
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._compressor = None if codec is None else codec.compressor(options.settings())
        self._records: list[Buffer] = []
        self._n_bytes = 0  # of the pending records, framed; about, if threads add at once
        self._n_framed = 0  # records that are not pending any more
        self._large = bytearray()
        self._calls: list[Call] = []  # of the compressor; at most one
        self._unwritten: list[bytes | bytearray | memoryview] = []  # for the end of the file
        self._is_ended = False  # the end of the file is made: no record can be added
        self._is_disowned = False  # this is a copy in another process
        self._is_writing = False  # a call is between taking what is pending and having written it
        _SINKS.add(self)

    @property
    def compression(self) -> str:
        """The compression, "" for none."""
        return self._compression

    @property
    def n_records(self) -> int:
        """Number of records added."""
        return self._n_framed + len(self._records)

    def add(self, record: Buffer) -> None:
        """Add one record; write if there are enough."""
        self._records.append(record)
        self._n_bytes += len(record) + OVERHEAD_BYTES  # type: ignore[arg-type]
        if self._n_bytes >= self._buffer_bytes:
            self._drain_if_free()

    def add_all(self, records: Sequence[Buffer] | Block) -> None:
        """Add many records, which must not change until they are written; write if enough.

        A block becomes the sink's own: a large one is framed in its own memory.
        """
        if isinstance(records, Block):
            frames = frame_in_place(records) if records.data.size >= _LARGE_BLOCK_BYTES else None
            if frames is not None:
                self._write_frames(frames, len(records))
                return
            records = records.views()
        self._records += records
        self._n_bytes += sum(map(len, records)) + len(records) * OVERHEAD_BYTES  # type: ignore[arg-type]
        if self._n_bytes >= self._buffer_bytes:
            self._drain_if_free()

    def add_block(self, block: Block) -> None:
        """Add the records of a block that others may hold too; its memory is not written to."""
        if block.nbytes < _SMALL_BLOCK_BYTES:
            self.add_all(block.to_list())
        else:
            self._write_frames(frames_of(block), len(block))

    def add_framed(self, block: Block) -> None:
        """Write a block's records as they were read: in intact frames that follow each other."""
        stop = int(block.offsets[-1] + block.lengths[-1]) + FOOTER_BYTES
        frames = memoryview(block.data)  # type: ignore[arg-type]
        self._write_frames(frames[int(block.offsets[0]) - HEADER_BYTES : stop], len(block))

    def add_pieces(self, pieces: Sequence[Buffer]) -> None:
        """Write one large record, given in pieces, which are copied."""
        with self.turn:
            n_bytes = sum(map(len, pieces)) + OVERHEAD_BYTES  # type: ignore[arg-type]
            buffer, self._large = self._large, bytearray()
            if n_bytes > len(buffer):
                buffer = bytearray(n_bytes)
            self._write_frames(frame_pieces(pieces, buffer), 1)
            if n_bytes <= _MAX_KEPT_BYTES:  # it was written; the next record may use the memory
                self._large = buffer

    def _drain_if_free(self) -> None:
        """Write what is pending; leave it to the next call if another one is writing."""
        is_last = not self._buffer_bytes  # the file is being closed, which is worth waiting for
        if not self.turn.lock.acquire(blocking=is_last):
            return
        try:
            if is_last or not self._is_writing:
                with self._alone():
                    self._drain()
        finally:
            self.turn.lock.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Raise ``IN_USE`` in another thread, and in a call that interrupts one of this thread."""
        with self.turn:
            if self._is_writing:
                raise self.turn.error()
            try:
                self._is_writing = True
                yield
            finally:
                self._is_writing = False

    def _drain(self) -> None:
        """Frame, compress and write what is pending."""
        self._check_open(has_more=bool(self._records))
        self._take_pending()
        self._write()

    def _write_frames(self, frames: bytearray | memoryview, n_records: int) -> None:
        """Write what is pending, then these frames."""
        with self._alone():
            self._check_open(has_more=True)
            self._take_pending()
            self._n_framed += n_records
            self._take(frames)
            self._write()

    def _take_pending(self) -> None:
        # Another thread may append meanwhile: the list stays the same, and keeps its record.
        if records := self._records[:]:
            frames = frame(records)
            del self._records[: len(records)]
            self._n_bytes = 0
            self._n_framed += len(records)
            self._take(frames)

    def _take(self, frames: bytearray | memoryview) -> None:
        """Put frames after what is unwritten, compressed if asked."""
        if self._compressor is None:
            self._unwritten.append(frames)
        else:
            self._compress()  # a call that an interrupt left
            self._calls = [self._compressor.compress(frames)]
            self._compress()

    def _compress(self) -> None:
        """Make the compressor's call, if there is one, and keep what it returns."""
        # Taking the call, making it and keeping its result is one call into C: an interrupt in
        # between would tear the compressed stream.
        calls = islice(iter(self._calls.pop, None), len(self._calls))
        self._unwritten.extend(map(operator.call, calls))

    def _write(self) -> None:
        self._compress()
        self._file.write(self._unwritten)

    def flush(self) -> None:
        """Make every record readable that was added so far (rule O6)."""
        with self._alone():
            self._drain()
            if self._compressor is not None:
                self._calls = [self._compressor.flush()]
                self._write()
            self._file.flush()

    def finish(self) -> None:
        """Write what is pending and the end of the compressed stream, and close the file.

        After a failure it can be called again, but no more records can be added if
        only the end was left to write.
        """
        with self._alone():
            # From here on a record that another thread adds waits until the file is closed, and is
            # rejected then if it came too late.
            buffer_bytes, self._buffer_bytes = self._buffer_bytes, 0
            try:
                self._drain()
            except BaseException:
                self._buffer_bytes = buffer_bytes
                raise
            if self._compressor is not None:
                self._calls, self._compressor = [self._compressor.finish()], None
            self._is_ended = True
            self._write()
            self._file.finish()

    def _check_open(self, *, has_more: bool) -> None:
        """Raise in another process, or if there is more to write after the end of the file."""
        if not self.belongs_here:
            self.disown()
        self.check_process()
        if self._is_ended and has_more:
            self._records.clear()
            detail = "the writer is closed; open another"
            raise FailedPreconditionError(Reason.CLOSED, source=self._file.name, detail=detail)

    def check_process(self) -> None:
        """Raise in a process forked from the one that opened the file."""
        if self._is_disowned:
            detail = "the writer was opened in another process, which has its pending records"
            raise FailedPreconditionError(Reason.UNSUPPORTED, source=self._file.name, detail=detail)

    def disown(self) -> None:
        """Leave pending records to the process that opened the file, and reject later ones."""
        self._records, self._buffer_bytes, self._is_disowned = [], 0, True
        self._is_writing = False  # the call that was at it is not in this process

    @property
    def belongs_here(self) -> bool:
        """Whether this process opened it, and not one it was forked from."""
        return self._file.belongs_here

    def commit(self, name: str | None = None) -> None:
        """Rename the finished file, if it was written under a temporary name."""
        self._file.commit(name)

    def replaces(self, name: str) -> bool:
        """Whether :meth:`commit` would replace a file."""
        return self._file.replaces(name)

    def take_back(self) -> None:
        """Undo :meth:`commit`."""
        self._file.take_back()

    def abandon(self) -> None:
        """Close the file without the pending records; remove it if its name is temporary.

        Does nothing in a process that was forked from the one that opened it.
        """
        self._file.abandon()


_SINKS: weakref.WeakSet[RecordSink] = weakref.WeakSet()


def _disown_all() -> None:
    """In a process that was just forked, leave all pending records to its parent.

    Checking the process at each record would take half as long as writing it.
    """
    for sink in list(_SINKS):
        sink.disown()
        sink.turn.reset()  # the thread that had it is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
