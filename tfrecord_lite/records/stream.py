"""RecordStream: one open file that records are read from."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from tfrecord_lite.block import HEADER_BYTES, Block
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.files.ahead import AheadInput, ReadAhead
from tfrecord_lite.files.compression import CODECS, SNAPPY, codec_named, detect, ending_not_written
from tfrecord_lite.files.inflate import Inflated, InflationLimits
from tfrecord_lite.files.input import InputFile, open_input
from tfrecord_lite.files.names import Source, name_of, opening_error
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.decoder import LARGE_BYTES, FrameDecoder
from tfrecord_lite.records.framing import is_header

_DEFAULTS = ReadSettings()
_PEEK_BYTES, _LOOK_BYTES = 512, 64 * 1024
_BZ2_BLOCK = b"1AY&SY"


class RecordStream:
    """Read the records of one open file.

    Damage is raised, whatever `options` say. `limits` on what a compressed file inflates to replace those of the
    options. If records are large and no number is asked for, a block has room for `block_records`. `ahead` fetches
    this file with others. At the end of the file every method returns None, or new records if it has grown (rule R8).
    """

    def __init__(
        self,
        source: Source,
        options: ReadSettings = _DEFAULTS,
        *,
        limits: InflationLimits | None = None,
        block_records: int = 64,
        ahead: ReadAhead | None = None,
    ) -> None:
        self.name: str = name_of(source)
        self._block_records = block_records
        try:
            file = open_input(source, options.storage_options, ahead, options.read_ahead)
        except OSError as error:
            raise opening_error(error, self.name) from None
        self._file: InputFile = file
        try:
            self._limits = limits or options.inflation
            self._short_head: int | None = None  # bytes of a file too short to see its compression
            self._open_content(options.codec_name)
        except BaseException:
            self._file.close()
            raise
        self.is_closed: bool = False
        self._end: int | None = None  # what follows this offset is not read
        self._read_error: OSError | None = None  # to be raised by the next read
        self.decoder: FrameDecoder = FrameDecoder(
            verify=options.verify, max_record_bytes=options.max_record_bytes, source=self.name
        )

    def _open_content(self, name: str | None = None) -> None:
        """Read the file as this compression, or the one of its first bytes."""
        if name is None:
            name, self._short_head = _detect(self._file)
        self.compression: str = name
        codec = SNAPPY if name == SNAPPY.name else codec_named(name)
        self._content = (
            self._file if codec is None else Inflated(self._file, codec, self.name, self._limits)
        )

    def next_block(self, n_records: int | None = None) -> Block | None:
        """Return the next block, of `n_records` if the file has them; None at its end.

        Without a number, a block is what one read brings: a megabyte, or more if records are
        large. Damage is raised right after the records before it; ``TRUNCATED`` for a file that ends inside
        a record (rules R2, R3); ``NOT_A_TFRECORD`` for one that begins as files of another format do.
        """
        decoder = self.decoder
        try:
            while (block := decoder.next_block(n_records)) is None:
                try:
                    goes_on = self.fill(n_records or self._block_records)
                except (DataLossError, OSError) as error:
                    # Return the records before it first; the next call repeats the error.
                    if not len(rest := decoder.rest()):
                        raise
                    self._read_error = error if isinstance(error, OSError) else None
                    return rest
                if not goes_on:
                    if len(rest := decoder.rest()):
                        return rest
                    decoder.close()
                    return None
        except DataLossError as error:
            raise self._explained(error) from None
        return block

    def next_records(self) -> Block | list[bytes] | None:
        """Return the next records as :meth:`next_block`; large ones as ``bytes``, read without a copy."""
        decoder = self.decoder
        records: Block | list[bytes] | None
        try:
            while (records := decoder.next_block()) is None:
                # Nobody has set an end, and the file's own is known.
                is_raw = self._content is self._file and not self.is_closed and self._end is None
                if is_raw and (decoder.next_length or 0) >= LARGE_BYTES:
                    records = decoder.large_batch(self._file.read, self._file.remaining())
                    if records is not None:
                        break
                if not self.fill(None):
                    decoder.close()
                    break
        except DataLossError as error:
            raise self._explained(error) from None
        return records

    @property
    def n_records(self) -> int:
        """Number of records given out so far; each skipped damage counts as one."""
        return self.decoder.n_records

    @property
    def offset(self) -> int:
        """Bytes from the start of the decompressed stream to the next record."""
        return self.decoder.offset

    @property
    def file_offset(self) -> int:
        """Bytes of the file that were read for the records given out so far."""
        return self.offset if self._content is self._file else self.inflated.raw_position

    @property
    def inflated(self) -> Inflated:
        """The content of a compressed file."""
        return cast("Inflated", self._content)

    @property
    def remote_bytes(self) -> int:
        """The size of a file of a store when it was opened; 0 of others, or if unknown."""
        return self._file.size if isinstance(self._file, AheadInput) else 0

    def begin_at(self, offset: int, n_records: int) -> None:
        """Start an uncompressed file at this offset, after `n_records`."""
        self.decoder.begin_at(offset, n_records)
        self._file.skip(offset)

    def end_at(self, offset: int | None) -> None:
        """End at this offset, where a record ends; None for the end of the file."""
        self._end = offset
        if isinstance(self._file, AheadInput):
            self._file.end_at(offset)

    def end_here(self) -> None:
        """Read nothing more of the file."""
        self._end = self.offset + self.decoder.pending_bytes

    def fill(self, n_records: int | None) -> bool:
        """Read more of the file into the decoder; False at its end."""
        if self.is_closed:
            detail = "the file is closed"
            raise FailedPreconditionError(Reason.CLOSED, source=self.name, detail=detail)
        if self._read_error is not None:
            error, self._read_error = self._read_error, None
            raise error
        decoder = self.decoder
        end = self._end
        if self._short_head is not None and not decoder.offset:
            self._detect_again()
            if self._short_head is not None:  # no more than was looked at
                end = self._short_head if end is None else min(end, self._short_head)
        room = decoder.writable(n_records)
        if end is not None:
            room = room[: max(end - decoder.offset - decoder.pending_bytes, 0)]
        try:
            n_bytes = self._content.readinto(room) if room else 0
        except DataLossError as error:
            # Damage of the stream is located by the record that it is in, as other damage.
            is_limit = error.reason is Reason.INFLATED_TOO_LARGE and error.offset is not None
            offset = error.offset if is_limit else decoder.offset
            raise error.at(offset=offset, index=decoder.n_records) from None
        decoder.advance(n_bytes)
        return n_bytes > 0

    def _detect_again(self) -> None:
        """Detect the compression of a file that was too short, and may have grown."""
        n_bytes = self.decoder.pending_bytes
        if n_bytes:
            self._file.rewind()
        self._open_content()
        if self._short_head is None:
            self.decoder.retract()
        else:
            self._file.skip(n_bytes)

    def _explained(self, error: DataLossError) -> DataLossError:
        """Return an error about the first bytes as one that says what they look like, if known."""
        if isinstance(self._file, AheadInput):
            self._file.check()
        is_start = not self.offset and (
            error.reason in (Reason.LENGTH_CRC, Reason.COMPRESSION)
            or (error.reason is Reason.TRUNCATED and self.decoder.pending_bytes < HEADER_BYTES)
        )
        if not is_start:
            return error
        from tfrecord_lite.sniff import HEAD_BYTES, looks_like  # noqa: PLC0415 - many patterns

        if error.reason is Reason.COMPRESSION:
            ahead = self.inflated.ahead
            content = looks_like(ahead, is_whole=len(ahead) < HEADER_BYTES)
            detail = f"not a {self.compression} stream, nor a TFRecord file; "
            return error.at(detail=f"{detail}it looks like {content}") if content else error
        decoder, is_whole = self.decoder, False
        try:
            while decoder.pending_bytes < HEAD_BYTES and not is_whole:
                is_whole = not self.fill(None)
            is_whole = is_whole or not self.fill(None)
        except OSError:  # the next read raises it
            pass
        except DataLossError as loss:
            if loss.reason is Reason.COMPRESSED_CORRUPT:  # so may be what was inflated before
                return error
        head = (decoder.pending if is_whole else decoder.pending[:_LOOK_BYTES]).tobytes()
        content = looks_like(head, is_whole=is_whole)
        inside = f", compressed with {self.compression}" if self.compression else ""
        inner = (name for name in CODECS if _begins_with_record(head, CODECS[name].decompressor))
        if self.compression and (name := next(inner, None)) is not None:
            content = f"records compressed twice, with {name}, then with {self.compression}"
            inside = "; inflate the file once"
        elif _begins_with_record(head, lambda: zlib.decompressobj(-zlib.MAX_WBITS)):
            content = "records compressed with DEFLATE, without a header (zlib.decompress(data, -15) inflates them)"
        if content is None:
            ending = ending_not_written(self.name)
            hint = f"; if it is compressed as {ending} says, unpack it first" if ending else ""
            return error.at(detail=f"{error.detail}{hint}")
        detail = f"{Reason.NOT_A_TFRECORD}; it looks like {content}{inside}"
        return DataLossError(Reason.NOT_A_TFRECORD, source=self.name, detail=detail)

    def close(self) -> None:
        """Close the file; records that were read from it already can still be given out."""
        self.is_closed = True
        self._file.close()


def _begins_with_record(head: bytes, decompressor: Callable[[], Any]) -> bool:
    with suppress(Exception):  # what decompressors raise, or that one is not installed
        return is_header(decompressor().decompress(head, HEADER_BYTES))
    return False


def _detect(file: InputFile) -> tuple[str, int | None]:
    """Return a file's compression, and None; or its few bytes, if later ones may show another.

    The CRC of the first length proves that there is none.
    """
    first = file.peek(HEADER_BYTES)
    if is_header(first):
        return "", None
    from importlib.util import find_spec  # noqa: PLC0415 - not for uncompressed files

    from tfrecord_lite.sniff import SNAPPY_BLOCKS, looks_like  # noqa: PLC0415 - many patterns

    name = detect(first)
    if not name and len(first) == HEADER_BYTES and SNAPPY.is_start(first):
        is_snappy = looks_like(file.peek(_PEEK_BYTES), is_whole=False) == SNAPPY_BLOCKS
        return SNAPPY.name if is_snappy and find_spec("cramjam") else "", None
    # Some texts begin as compressed streams do. A few bytes of text are text, unless they are the magic of BZ2.
    is_short = len(first) < HEADER_BYTES
    may_be_text = name and first.isascii() and first[4:10] != _BZ2_BLOCK
    if may_be_text and looks_like(file.peek(_PEEK_BYTES), is_whole=is_short and name != "BZ2"):
        name = ""
    may_grow = is_short and file.rewindable and not isinstance(file, AheadInput)
    return name, len(first) if may_grow and not name else None
