"""RecordStream: one open file that records are read from.

::

    file ──> InputFile ──(Inflated)──> FrameDecoder ──> blocks, or bytes per record

Writing is :class:`tfrecord_lite.records.sink.RecordSink`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tfrecord_lite.errors import STREAM_DAMAGE, DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.files.compression import codec_named, detect
from tfrecord_lite.files.inflate import Inflated
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import name_of, opening_error
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.decoder import FrameDecoder
from tfrecord_lite.records.framing import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    is_header,
)
from tfrecord_lite.records.resync import RecordFinder
from tfrecord_lite.sniff import HEAD_BYTES, looks_like

if TYPE_CHECKING:
    from tfrecord_lite.block import Block
    from tfrecord_lite.files.inflate import InflationLimits
    from tfrecord_lite.files.input import InputFile
    from tfrecord_lite.files.names import Source

_DEFAULTS = ReadSettings()

_LARGE_RECORD_BYTES = 32 * 1024
"""From this size on a record is read straight into its own bytes object."""

_SKIP_BYTES = 64 * 1024

_PEEK_BYTES = 512


class RecordStream:
    """Read the records of one open file.

    Damage is raised, whatever `options` say about it; see :meth:`skip_damage`. `limits` on what
    a compressed file inflates to replace those of the options. If records are large and no number
    is asked for, a block has room for `block_records`.

    At the end of the file every method returns None, and can be called again: if the
    file has grown, it returns the new records (rule R8).
    """

    def __init__(
        self,
        source: Source,
        options: ReadSettings = _DEFAULTS,
        *,
        limits: InflationLimits | None = None,
        block_records: int = 64,
    ) -> None:
        self.name: str = name_of(source)
        self._block_records = block_records
        try:
            self._file: InputFile = open_input(source, options.storage_options)
        except OSError as error:
            raise opening_error(error, self.name) from None
        try:
            named = options.codec_name
            self.compression: str = _detect(self._file) if named is None else named
            codec = codec_named(self.compression)
            limits = limits or options.inflation
            self._content = (
                self._file if codec is None else Inflated(self._file, codec, self.name, limits)
            )
        except BaseException:
            self._file.close()
            raise
        self.reuses_memory: bool = False
        """Whether the next call may overwrite a block: for callers that copy what they need."""
        self._is_closed = False
        self.broke_off: bool = False  # whether damage of the compressed stream was skipped: the end
        self._is_at_end = False  # nothing more is read, whatever the file has
        self._stop: int | None = None  # what follows this offset is not read
        self._read_error: OSError | None = None  # to be raised by the next read
        self._finder: RecordFinder | None = None  # of records after damage
        self._decoder = FrameDecoder(
            verify=options.verify, max_record_bytes=options.max_record_bytes, source=self.name
        )

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Return the next block, of `n_records` if the file has them; None at its end.

        Without a number, a block is what one read brings: a megabyte, or more if records are
        large. Raises DataLossError for damage right after the records given out so far;
        ``TRUNCATED`` for a file that ends inside a record (rules R2, R3); ``NOT_A_TFRECORD`` for
        one that begins as files of another format do.
        """
        try:
            return self._next_block(n_records)
        except DataLossError as error:
            raise self._explained(error) from None

    def _next_block(self, n_records: int | None) -> Block | None:
        decoder = self._decoder
        while (block := decoder.next_block(n_records)) is None:
            if self.reuses_memory:
                decoder.recycle(n_records or self._block_records)
            try:
                goes_on = self._fill(n_records or self._block_records)
            except DataLossError:
                # Return the records before it first; the next call meets the error again.
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

    def next_block_after_damage(self, n_records: int) -> Block | None:
        """Return the next block as :meth:`next_block`, maybe a smaller one.

        Records in bytes that were searched already are judged by the search: the megabytes that
        many forged headers promise are read once for all of them, not once for each.
        """
        decoder, finder = self._decoder, self._finder
        if finder is None or not self.is_searched or not decoder.verify:
            return self.next_block(n_records)
        n_intact = finder.n_intact(decoder.offset, n_records)
        if n_intact or not is_header(decoder.pending[:HEADER_BYTES].tobytes()):
            return self.next_block(n_intact or 1)
        start, n_bytes, is_end = decoder.offset, decoder.damaged_bytes, False
        while (found := finder.find(decoder.pending, start, start, is_end=is_end)) is None:
            is_end = not self._fill_after_damage()
        is_whole = n_bytes <= min(decoder.pending_bytes, decoder.max_record_bytes + OVERHEAD_BYTES)
        if is_whole and found != start:
            detail = "data CRC mismatch, found in the search after other damage"
            place = (start, self.name, decoder.n_records)
            raise DataLossError(Reason.DATA_CRC, *place, None, detail)
        return self.next_block(1)

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed."""
        return self._is_closed

    @property
    def has_pending(self) -> bool:
        """Whether bytes were read that are not given out yet."""
        return self._decoder.pending_bytes > 0

    @property
    def is_exhausted(self) -> bool:
        """Whether skipped damage reaches to the end of the file."""
        return self._is_at_end and not self._decoder.pending_bytes

    @property
    def is_searched(self) -> bool:
        """Whether the search for a record after damage covers the next bytes."""
        return self._finder is not None and self.offset < self._finder.scanned

    def next_records(self) -> list[bytes] | None:
        """Return the next records, at least one, each as ``bytes``; None at the end of the file.

        Raises as :meth:`next_block`.
        """
        try:
            return self._next_records()
        except DataLossError as error:
            raise self._explained(error) from None

    def _next_records(self) -> list[bytes] | None:
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
        """Number of records given out so far; each skipped damage counts as one."""
        return self._decoder.n_records

    @property
    def offset(self) -> int:
        """Bytes from the start of the decompressed stream to the next record."""
        return self._decoder.offset

    @property
    def file_offset(self) -> int:
        """Bytes of the file that were read for the records given out so far."""
        return self.offset if self._content is self._file else self.inflated.raw_position

    @property
    def inflated(self) -> Inflated:
        """The content of a compressed file."""
        return cast("Inflated", self._content)

    def begin_at(self, offset: int, n_records: int) -> None:
        """Start at this offset of the stream, after `n_records`; before anything is read.

        The skipped bytes are not checked, and take constant memory; they are read only if the
        file is compressed, where damage is raised, or cannot seek.
        """
        self._decoder.begin_at(offset, n_records)
        if self._content is self._file:
            self._file.skip(offset)
            return
        room = memoryview(bytearray(min(offset, _SKIP_BYTES)))
        while offset and (n_bytes := self._content.readinto(room[:offset])):
            offset -= n_bytes

    def end_at(self, offset: int | None) -> None:
        """End at this offset, where a record ends, as at the end of a file; None for its own end."""
        self._stop = offset

    def skip_damage(self, error: DataLossError) -> int:
        """Continue after damage, with the next intact record or at the end of the file.

        A record whose length is right and whose data is wrong is skipped, if another record or
        the end of the file is where its length says. If bytes were removed from it, its length
        may reach to the end of a later record: a run of intact records inside it that ends exactly
        where it does is not skipped. Records in the data of a record end before its footer.

        Otherwise nothing is known about what follows: all offsets after the start of the damaged record are searched for the first
        record whose length and data both have the right CRC. It may be one that was part of a
        damaged record's data; that cannot be told apart.

        `error` is the one raised last. After damage of the compressed stream only the bytes
        inflated before it can be read. Returns the number of bytes skipped; it can be 0 there.
        """
        decoder, start = self._decoder, self._decoder.offset
        self.broke_off = self.broke_off or error.reason in STREAM_DAMAGE
        self._is_at_end = self.broke_off or error.reason is Reason.TRUNCATED
        after = self._end_of_record() if error.reason is Reason.DATA_CRC else None
        if self._finder is None:
            self._finder = RecordFinder(decoder.max_record_bytes)
        if after is not None:
            after = self._finder.find_run(decoder.pending, start, start + 1, after)
        else:
            # The length was chance or forged: search as far as it reaches.
            n_bytes = decoder.damaged_bytes if error.reason is Reason.DATA_CRC else 0
            after = self._find(self._finder, start + 1, start + n_bytes)
        decoder.go_to(after)
        decoder.count_damage()
        return after - start

    def _end_of_record(self) -> int | None:
        """Return where the damaged record ends, if another one or the end of the file is there."""
        n_bytes = self._decoder.damaged_bytes
        while len(ahead := self._decoder.pending[n_bytes : n_bytes + HEADER_BYTES]) < HEADER_BYTES:
            if not self._fill_after_damage():
                break
        follows = is_header(ahead.tobytes()) or not len(ahead)
        return self._decoder.offset + n_bytes if follows else None

    def _find(self, finder: RecordFinder, first: int, through: int) -> int:
        """Return where the next intact record starts, or the end of what can be read."""
        decoder, is_end = self._decoder, False
        while True:
            found = finder.find(
                decoder.pending, decoder.offset, first, is_end=is_end, through=through
            )
            if found is not None:
                return found
            if finder.wanted_from > decoder.offset:
                decoder.go_to(min(finder.wanted_from, decoder.offset + decoder.pending_bytes))
            is_end = not self._fill_after_damage()

    def _fill_after_damage(self) -> bool:
        """Read more of the file as :meth:`_fill`; an error ends it, and is met again later."""
        try:
            return self._fill(None)
        except DataLossError:
            return False

    def _is_large(self, length: int) -> bool:
        """Whether to read the next record directly; only if the file is long enough for it."""
        is_raw = self._content is self._file and not self._is_closed and self._stop is None
        return length >= _LARGE_RECORD_BYTES and is_raw and self._file.remaining() >= length

    def _fill(self, n_records: int | None) -> bool:
        """Read more of the file into the decoder; False at its end."""
        if self._is_closed:
            detail = "the file is closed"
            raise FailedPreconditionError(Reason.CLOSED, source=self.name, detail=detail)
        if self._read_error is not None:
            error, self._read_error = self._read_error, None
            raise error
        if self._is_at_end:
            return False
        decoder = self._decoder
        room = decoder.writable(n_records)
        if self._stop is not None:
            room = room[: max(self._stop - decoder.offset - decoder.pending_bytes, 0)]
        try:
            n_bytes = self._content.readinto(room) if room else 0
        except DataLossError as error:
            # Damage of the stream is located by the record that it is in, as other damage.
            is_limit = error.reason is Reason.INFLATED_TOO_LARGE and error.offset is not None
            offset = error.offset if is_limit else decoder.offset
            raise error.at(offset=offset, index=decoder.n_records) from None
        decoder.advance(n_bytes)
        return n_bytes > 0

    def _explained(self, error: DataLossError) -> DataLossError:
        """Return an error about the first bytes as one that says what they look like, if known."""
        is_start = not self.offset and (
            error.reason in (Reason.LENGTH_CRC, Reason.COMPRESSION)
            or (error.reason is Reason.TRUNCATED and self._decoder.pending_bytes < HEADER_BYTES)
        )
        if not is_start:
            return error
        if error.reason is Reason.COMPRESSION:
            ahead = self.inflated.ahead
            found = looks_like(ahead, is_whole=len(ahead) < HEADER_BYTES)
            detail = f"not a {self.compression} stream, nor a TFRecord file; it looks like {found}"
            return error.at(detail=detail) if found else error
        decoder, is_whole = self._decoder, False
        try:
            while decoder.pending_bytes < HEAD_BYTES and not is_whole:
                is_whole = not self._fill(None)
            is_whole = is_whole or not self._fill(None)
        except OSError:  # the next read raises it
            pass
        except DataLossError as loss:
            if loss.reason is Reason.COMPRESSED_CORRUPT:  # so may be what was inflated before
                return error
        found = looks_like(decoder.pending.tobytes(), is_whole=is_whole)
        if found is None:
            return error
        inside = f", compressed with {self.compression}" * bool(self.compression)
        detail = f"{Reason.NOT_A_TFRECORD}; it looks like {found}{inside}"
        return DataLossError(Reason.NOT_A_TFRECORD, source=self.name, detail=detail)

    def close(self) -> None:
        """Close the file; records that were read from it already can still be given out."""
        self._is_closed = True
        self._file.close()


def _detect(file: InputFile) -> str:
    """Find a file's compression; the CRC of the first length proves that there is none."""
    first = file.peek(HEADER_BYTES)
    name = "" if is_header(first) else detect(first)
    # The first bytes of some texts could also be those of a compressed stream.
    # A few bytes of text are text, unless all of them are the magic of BZ2, which is text too.
    is_whole = len(first) < HEADER_BYTES and name != "BZ2"
    is_text = name and first.isascii() and looks_like(file.peek(_PEEK_BYTES), is_whole=is_whole)
    return "" if is_text else name
