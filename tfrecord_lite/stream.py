"""One open file of records: the way in, and the way out.

::

    file ──> InputFile ──(Inflated)──> FrameDecoder ──> Block, or bytes a record
    records ──frame──> frames ──(compressor)──> OutputFile ──> file

:class:`RecordStream` reads; the compression is given or found from the first
bytes. :class:`RecordSink` writes; it collects records and frames them many at a
time, since framing one costs nearly as much as framing a thousand.
"""

from __future__ import annotations

import operator
import os
import weakref
from itertools import islice
from typing import TYPE_CHECKING, Protocol, cast

from tfrecord_lite.compression import codec_named, detect
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.framing import (
    FOOT_BYTES,
    HEAD_BYTES,
    MAX_RECORD_BYTES,
    OVERHEAD_BYTES,
    FrameDecoder,
    frame,
    frame_in_place,
    frame_pieces,
    is_head,
)
from tfrecord_lite.infile import open_input
from tfrecord_lite.inflate import Inflated
from tfrecord_lite.options import TFRecordOptions
from tfrecord_lite.resync import RecordFinder
from tfrecord_lite.sources import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from tfrecord_lite.block import Block
    from tfrecord_lite.compression import Call
    from tfrecord_lite.infile import InputFile
    from tfrecord_lite.inflate import InflationLimits
    from tfrecord_lite.options import CompressionType
    from tfrecord_lite.outfile import OutputFile
    from tfrecord_lite.sources import Source

__all__ = ["BUFFER_BYTES", "RecordSink", "RecordStream"]

BUFFER_BYTES = 1024 * 1024
"""How many bytes of records a sink collects before it frames and writes them."""

_LARGE_BLOCK_BYTES = 128 * 1024
"""From this size on a block is written by itself."""

_LARGEST_KEPT_BYTES = 8 * 1024 * 1024
"""Memory for a larger record is given back."""

_LARGE_RECORD_BYTES = 32 * 1024
"""From this size on a record is read straight into its own bytes object."""

_SKIP_BYTES = 64 * 1024

_STREAM_DAMAGE = (
    Reason.COMPRESSED_TRUNCATED,
    Reason.COMPRESSED_CORRUPT,
    Reason.TRAILING_DATA,
)


class RecordStream:
    """One open file and the decoder of its frames.

    Parameters
    ----------
    source : source
        A path, a URL or a binary file object.
    compression : str or None
        ``""`` for none, a name as in :data:`tfrecord_lite.compression.CODECS`,
        or None to find out from the first bytes.
    verify : bool
        Check the CRC of every record's data.
    max_record_bytes : int
        Refuse larger records.
    limits : InflationLimits, optional
        How much a compressed file may become.
    block_records : int
        A block has room for so many records, if they are large and no number is asked for.

    Attributes
    ----------
    name : str
        The path or URL, for errors.
    compression : str
        What was given or found.
    broke_off : bool
        Whether the compressed stream is damaged, and that damage was skipped: nothing more
        is read.

    Notes
    -----
    At the end of the file every method returns None, and can be called again:
    if the file has grown, the new records come (rule R8).
    """

    def __init__(
        self,
        source: Source,
        compression: str | None = None,
        *,
        verify: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
        limits: InflationLimits | None = None,
        block_records: int = 64,
    ) -> None:
        self.name = name_of(source)
        self._block_records = block_records
        self._file: InputFile = open_input(source)
        try:
            self.compression = _detect(self._file) if compression is None else compression
            codec = codec_named(self.compression)
            self._content = (
                self._file if codec is None else Inflated(self._file, codec, self.name, limits)
            )
        except BaseException:
            self._file.close()
            raise
        self._is_closed = False
        self.broke_off = False
        self._is_at_end = False  # of what is to be read
        self._read_error: OSError | None = None  # to be raised by the next read
        self._finder: RecordFinder | None = None  # of records behind damage
        self._decoder = FrameDecoder(
            verify=verify, max_record_bytes=max_record_bytes, source=self.name
        )

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Return the next block, of so many records if the file has them; None at its end.

        Without a number, a block is what a read brings: a megabyte, or room for some
        records if they are large.

        Raises
        ------
        DataLossError
            For damage right behind the records given out so far; ``TRUNCATED``
            for a file that ends inside a record (rules R2, R3).
        """
        decoder = self._decoder
        while (block := decoder.next_block(n_records)) is None:
            try:
                goes_on = self._fill(n_records or self._block_records)
            except DataLossError:
                # First what came before; the next call meets the error again.
                if len(rest := decoder.rest()):
                    return rest
                raise
            except OSError as error:
                if len(rest := decoder.rest()):
                    self._read_error = error
                    return rest
                raise
            if not goes_on:
                if len(rest := decoder.rest()):
                    return rest
                decoder.close()
                return None
        return block

    def next_block_behind_damage(self, n_records: int) -> Block | None:
        """Return the next block as :meth:`next_block`, maybe a smaller one.

        Where a search has looked already, it decides about records: of forged heads that each
        promise megabytes, these are gone over once for all of them, not once for each.
        """
        decoder, finder = self._decoder, self._finder
        if finder is None or not self.is_searched or not decoder.verify:
            return self.next_block(n_records)
        n_sound = finder.n_sound(decoder.offset, n_records)
        if n_sound or not is_head(decoder.pending[:HEAD_BYTES].tobytes()):
            return self.next_block(n_sound or 1)
        start, n_bytes, is_end = decoder.offset, decoder.damaged_bytes, False
        while (found := finder.find(decoder.pending, start, start, is_end=is_end)) is None:
            is_end = not self._fill_behind_damage()
        is_whole = n_bytes <= min(decoder.pending_bytes, decoder.max_record_bytes + OVERHEAD_BYTES)
        if is_whole and found != start:
            detail = "found in the search behind other damage"
            fields = (start, self.name, decoder.n_records, None, detail)
            raise DataLossError(Reason.DATA_CRC, *fields)
        return self.next_block(1)

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed."""
        return self._is_closed

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left behind damage that was skipped, which reached to the end."""
        return self._is_at_end and not self._decoder.pending_bytes

    @property
    def is_searched(self) -> bool:
        """Whether what comes next was looked at in search of a record behind damage."""
        return self._finder is not None and self.offset < self._finder.scanned

    def next_records(self) -> list[bytes] | None:
        """Return some records, at least one, each as ``bytes``; None at the end of the file.

        Raises
        ------
        DataLossError
            As :meth:`next_block`.
        """
        decoder = self._decoder
        while (records := decoder.next_records()) is None:
            if self._is_large(decoder.next_length):
                record = decoder.next_large(self._file.read)
                if record is not None:
                    return [record]
            decoder.recycle()
            if not self._fill(None):
                decoder.close()
                return None
        return records

    @property
    def n_records(self) -> int:
        """How many records were given out so far."""
        return self._decoder.n_records

    @property
    def offset(self) -> int:
        """Bytes from the start of the decompressed stream to the next record."""
        return self._decoder.offset

    @property
    def inflated(self) -> Inflated:
        """The content of a compressed file."""
        return cast("Inflated", self._content)

    def begin_at(self, offset: int, n_records: int) -> None:
        """Go on at this offset of the stream, behind so many records; before anything is read.

        What is passed over is not looked at: of an uncompressed file that can seek it
        is not even read, and in any case it takes constant memory.

        Raises
        ------
        DataLossError
            If a compressed file is damaged before that place.
        """
        self._decoder.begin_at(offset, n_records)
        if self._content is self._file:
            self._file.skip(offset)
            return
        room = memoryview(bytearray(min(offset, _SKIP_BYTES)))
        while offset and (n_bytes := self._content.readinto(room[:offset])):
            offset -= n_bytes

    def skip_damage(self, error: DataLossError) -> int:
        """Go on behind damage, with the next sound record or at the end of the file.

        A record whose length is right and whose data is wrong is passed over, if another
        one, or the end of the file, is where it says. Otherwise nothing is known of what
        follows: every byte behind the first one of the damaged record is looked at, and the
        first record whose length and data both have the right CRC is the next. That may be
        one which a damaged record held in its data; nobody can tell.

        Parameters
        ----------
        error : DataLossError
            What was raised last. Behind damage in a compressed stream there are only the
            bytes that were inflated before it.

        Returns
        -------
        int
            How many bytes were passed over; maybe 0 if `error` is the compressed stream's.
        """
        decoder, start = self._decoder, self._decoder.offset
        self.broke_off = self.broke_off or error.reason in _STREAM_DAMAGE
        self._is_at_end = self.broke_off or error.reason is Reason.TRUNCATED
        behind = self._behind_record() if error.reason is Reason.DATA_CRC else None
        if behind is None:
            if self._finder is None:
                self._finder = RecordFinder(decoder.max_record_bytes)
            # What a record has that only seems to be one is looked at to its end.
            n_bytes = decoder.damaged_bytes if error.reason is Reason.DATA_CRC else 0
            behind = self._find(self._finder, start + 1, start + n_bytes)
        decoder.go_to(behind)
        decoder.count_damage()
        return behind - start

    def _behind_record(self) -> int | None:
        """Return where the damaged record ends, if another one or the end of the file is there."""
        n_bytes = self._decoder.damaged_bytes
        while len(ahead := self._decoder.pending[n_bytes : n_bytes + HEAD_BYTES]) < HEAD_BYTES:
            if not self._fill_behind_damage():
                break
        follows = is_head(ahead.tobytes()) or not len(ahead)
        return self._decoder.offset + n_bytes if follows else None

    def _find(self, finder: RecordFinder, first: int, through: int) -> int:
        """Find the next sound record from an offset on, or the end of what can be had."""
        decoder, is_end = self._decoder, False
        while True:
            found = finder.find(
                decoder.pending, decoder.offset, first, is_end=is_end, through=through
            )
            if found is not None:
                return found
            if finder.wanted_from > decoder.offset:
                decoder.go_to(min(finder.wanted_from, decoder.offset + decoder.pending_bytes))
            is_end = not self._fill_behind_damage()

    def _fill_behind_damage(self) -> bool:
        """Read more of the file as :meth:`_fill`; what is wrong with it is met again later."""
        try:
            return self._fill(None)
        except DataLossError:
            return False

    def _is_large(self, length: int) -> bool:
        """Whether to read the next record directly; never on the word of its length alone."""
        is_raw = self._content is self._file and not self._is_closed
        return length >= _LARGE_RECORD_BYTES and is_raw and self._file.remaining() >= length

    def _fill(self, n_records: int | None) -> bool:
        """Read more of the file into the decoder; False at its end."""
        if self._is_closed:
            raise FailedPreconditionError(Reason.CLOSED, source=self.name)
        if self._read_error is not None:
            error, self._read_error = self._read_error, None
            raise error
        if self._is_at_end:
            return False
        decoder = self._decoder
        try:
            n_bytes = self._content.readinto(decoder.writable(n_records))
        except DataLossError as error:
            offset = decoder.offset if error.offset is None else error.offset
            fields = (error.reason, offset, error.source, decoder.n_records)
            raise DataLossError(*fields, None, error.detail) from None
        decoder.advance(n_bytes)
        return n_bytes > 0

    def close(self) -> None:
        """Close the file; what came in already can still be had."""
        self._is_closed = True
        self._file.close()


def _detect(file: InputFile) -> str:
    """Find a file's compression. A raw one proves itself by the CRC of its first length."""
    head = file.peek(HEAD_BYTES)
    return "" if is_head(head) else detect(head)


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
        stop = int(block.offsets[-1] + block.lengths[-1]) + FOOT_BYTES
        frames = memoryview(block.data)  # type: ignore[arg-type]
        self._take_frames(frames[int(block.offsets[0]) - HEAD_BYTES : stop])

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
