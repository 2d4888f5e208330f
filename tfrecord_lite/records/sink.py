"""RecordSink: one open file that records are written to.

Framing one record costs nearly as much as framing a thousand, so a sink collects records.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfrecord_lite.arrays import Buffer
from tfrecord_lite.block import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, Block
from tfrecord_lite.errors import FailedPreconditionError, Reason
from tfrecord_lite.files.compression import CompressionType, TFRecordOptions, codec_named
from tfrecord_lite.files.output import OutputFile
from tfrecord_lite.records.framing import frame, frame_in_place, frame_pieces, frames_of

BUFFER_BYTES = 1024 * 1024
"""How many bytes of records a sink collects before it frames and writes them."""
_LARGE_BLOCK_BYTES = 128 * 1024
"""From this size on a block is written alone."""
_SMALL_BLOCK_BYTES = 32 * 1024
"""A smaller block's records are collected one by one, so that no small pieces are written."""
_MAX_KEPT_BUFFERS = 8
"""Memory for a record larger than this many buffers is not kept for the next."""


class RecordSink:
    """Write records to a file, framed, and compressed if asked.

    It collects up to `buffer_bytes`; :meth:`finish` or :meth:`abandon` closes the file. It belongs
    to one thread of one process.

    An added record belongs to the sink, even if the call raises. A write that fails (a full
    disk) raises :class:`OSError` and loses nothing: the next call tries again.
    """

    def __init__(
        self, file: OutputFile, options: CompressionType, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        self._file = file
        self._buffer_bytes = buffer_bytes
        self.compression: str = TFRecordOptions.get_compression_type_string(options)
        codec = codec_named(self.compression)
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._compressor = None if codec is None else codec.compressor(options)
        self._records: list[Buffer] = []
        self._n_bytes = 0  # of the pending records, framed
        self._n_framed = 0  # records that are not pending any more
        self._large = bytearray()
        self._unwritten: list[bytes | bytearray | memoryview] = []  # for the end of the file
        self._is_ended = False  # the end of the file is made: no record can be added
        self._process = os.getpid()

    @property
    def n_records(self) -> int:
        """Number of records added."""
        return self._n_framed + len(self._records)

    @property
    def belongs_here(self) -> bool:
        """Whether this process opened it, and not one it was forked from."""
        return os.getpid() == self._process

    def add(self, record: Buffer) -> None:
        """Add one record; write if there are enough."""
        self._records.append(record)
        self._n_bytes += len(record) + OVERHEAD_BYTES
        if self._n_bytes >= self._buffer_bytes:
            self._drain()

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
        self._n_bytes += sum(map(len, records)) + len(records) * OVERHEAD_BYTES
        if self._n_bytes >= self._buffer_bytes:
            self._drain()

    def add_shared(self, records: Sequence[Buffer] | Block) -> None:
        """Add many records as :meth:`add_all`, without writing to the memory of a block."""
        if not isinstance(records, Block):
            self.add_all(records)
        elif records.nbytes < _SMALL_BLOCK_BYTES:
            self.add_all(records.to_list())
        else:
            self._write_frames(frames_of(records), len(records))

    def add_framed(self, block: Block) -> None:
        """Write a block's records as they were read: in intact frames that follow each other."""
        stop = int(block.offsets[-1] + block.lengths[-1]) + FOOTER_BYTES
        frames = memoryview(block.data)  # type: ignore[arg-type]
        self._write_frames(frames[int(block.offsets[0]) - HEADER_BYTES : stop], len(block))

    def add_pieces(self, pieces: Sequence[Buffer]) -> None:
        """Write one large record, given in pieces, which are copied."""
        n_bytes = sum(map(len, pieces)) + OVERHEAD_BYTES
        buffer, self._large = self._large, bytearray()
        if n_bytes > len(buffer):
            buffer = bytearray(n_bytes)
        self._write_frames(frame_pieces(pieces, buffer), 1)
        # It was written; the next record may use the memory.
        if n_bytes <= _MAX_KEPT_BUFFERS * self._buffer_bytes:
            self._large = buffer

    def _write_frames(self, frames: bytearray | memoryview, n_records: int) -> None:
        self._take_pending()
        self._take(frames, n_records)
        self._file.write(self._unwritten)

    def _drain(self) -> None:
        self._take_pending()
        self._file.write(self._unwritten)

    def _take_pending(self) -> None:
        if self._records:
            records, self._records, self._n_bytes = self._records, [], 0
            self._take(frame(records), len(records))

    def _take(self, frames: bytearray | memoryview, n_records: int) -> None:
        """Put frames after what is unwritten, compressed if asked."""
        if self._is_ended:
            detail = "the writer is closed; open another"
            raise FailedPreconditionError(Reason.CLOSED, source=self._file.name, detail=detail)
        compressor = self._compressor
        self._unwritten.append(frames if compressor is None else compressor.compress(frames))
        self._n_framed += n_records

    def flush(self) -> None:
        """Make every record readable that was added so far (rule O6)."""
        self._drain()
        if self._compressor is not None:
            self._unwritten.append(self._compressor.flush())
            self._file.write(self._unwritten)
        self._file.flush()

    def finish(self) -> None:
        """Write what is pending and the end of the compressed stream, and close the file.

        After a failure it can be called again, but then maybe no more records can be added.
        """
        self._drain()
        if self._compressor is not None:
            self._unwritten.append(self._compressor.finish())
            self._compressor = None
        self._is_ended, self._buffer_bytes = True, 0
        self._file.write(self._unwritten)
        self._file.finish()

    def commit(self) -> None:
        """Rename the finished file, if it was written under a temporary name."""
        self._file.commit()

    def abandon(self) -> None:
        """Close the file without the pending records; remove it if its name is temporary."""
        self._file.abandon()
