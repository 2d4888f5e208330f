"""The record format: put records into frames, and check frames.

A frame is a record with its header and footer (rule F1)::

    +----------------+------------------+--------------+----------------+
    | length, uint64 | masked CRC of    | data         | masked CRC of  |
    | little-endian  | those 8 bytes    | length bytes | the data       |
    +----------------+------------------+--------------+----------------+
    |<------ header, 12 bytes --------->|              |<- footer, 4 -->|

Frames follow each other with nothing before, between or after them: no magic,
no alignment (F3), so files can be joined end to end (F4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    Buffer,
    Int64Array,
    Uint8Array,
    Uint64Array,
    at_every_byte,
    gather,
    row_splits,
)
from tfrecord_lite.block import (
    FOOTER_BYTES,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    SPARE_BYTES,
    Block,
    as_bytes_like,
)
from tfrecord_lite.errors import DataLossError, FailedPreconditionError, Reason
from tfrecord_lite.records import crc32c

HEADER = np.dtype([("length", "<u8"), ("crc", "<u4")])
FOOTER = np.dtype("<u4")

_FEW_RECORDS, _LONG_RECORD_BYTES = 64, 4096

_RUN_RECORDS, _COPIED_RECORDS = 4096, 384
"""How many short records are checked at once, and how many in a copy, which stays in the cache."""


def frame_in_place(block: Block) -> memoryview | None:
    """Write headers and footers around a block's records, in the block's own memory.

    Returns None, and the block unchanged, if the gaps between its records are not a footer and a header long.
    """
    if not len(block) or block.offsets[0] < HEADER_BYTES:
        return None
    stops = block.offsets + block.lengths
    if (block.offsets[1:] != stops[:-1] + OVERHEAD_BYTES).any():
        return None
    at_every_byte(block.data, HEADER)[block.offsets - HEADER_BYTES] = _headers(block.lengths)
    at_every_byte(block.data, FOOTER)[stops] = crc32c.crcs_of(block.views(), len(block))
    first, last = int(block.offsets[0]) - HEADER_BYTES, int(stops[-1]) + FOOTER_BYTES
    return memoryview(block.data)[first:last]  # type: ignore[arg-type]


def frames_of(block: Block) -> bytearray | memoryview:
    """Return a block's records in frames, end to end, without writing to its memory.

    The frames of a block that was read are copied at most. If their CRCs are not known to be right, they are
    checked, all at once, which costs less than making new ones. Frames that do not fit are made anew.
    """
    has_headers = _has_lengths(block) if block.is_framed else _has_header(block).all()
    if not has_headers or not len(block):
        return frame(block)
    frames, starts, sizes = _frames_in(block)
    is_intact = block.is_framed or first_bad_frame(frames, starts, sizes) is None
    return memoryview(frames) if is_intact else frame(block)  # type: ignore[arg-type]


def compact(block: Block) -> Block:
    """Copy a block's records, in frames as :func:`frames_of` returns them."""
    frames = np.frombuffer(frames_of(block), np.uint8)
    data = np.concatenate([frames, np.zeros(SPARE_BYTES, np.uint8)])
    offsets = row_splits(block.lengths + OVERHEAD_BYTES)[:-1] + HEADER_BYTES
    return Block(data, offsets, block.lengths, is_framed=True)


def checked(block: Block) -> Block:
    """Return a block that was read without checking its data as one that was read with.

    Raises ``DATA_CRC`` for the first record that is damaged: it must not get a new CRC. Records
    from memory, or whose extents were changed, have no CRC to be checked.
    """
    if block.is_framed or block.places is None:
        return block
    numbers = np.flatnonzero(_has_header(block))
    chosen = block if numbers.size == len(block) else block[numbers]
    if not len(chosen):
        return block
    frames, starts, sizes = _frames_in(chosen)
    bad = first_bad_frame(frames, starts, sizes)
    if bad is not None and chosen.place(bad).offset is not None:
        place, start, size = chosen.place(bad), int(starts[bad]), int(sizes[bad])
        data = frames[start : start + size].tobytes()
        raise frame_error(data, size, place.offset or 0, place.source, place.index)
    if bad is not None or chosen is not block:
        return block
    return replace(block, is_framed=True)


def _has_header(block: Block) -> BoolArray:
    """Whether each record of a block is after its header; shape (n,)."""
    starts = block.offsets - HEADER_BYTES
    lengths, is_bad = read_headers(block.data, np.maximum(starts, 0))
    is_bad |= (lengths != block.lengths.view(np.uint64)) | (starts < 0)
    return ~is_bad


def _has_lengths(block: Block) -> bool:
    """Whether the extents of a block still match its frames, in a third of the time."""
    if not len(block) or block.offsets.min() < HEADER_BYTES or not block.lengths.min():
        return bool(_has_header(block).all())  # any zeros look like the length 0
    stored = at_every_byte(block.data, np.dtype("<i8"))[block.offsets - HEADER_BYTES]
    return bool((stored == block.lengths).all())


def _frames_in(block: Block) -> tuple[Uint8Array, Int64Array, Int64Array]:
    starts, sizes = block.offsets - HEADER_BYTES, block.lengths + OVERHEAD_BYTES
    if (starts[1:] == starts[:-1] + sizes[:-1]).all():
        frames = block.data[starts[0] : starts[-1] + sizes[-1]]
    else:
        frames = gather(block.data, starts, sizes)
    return frames, np.cumsum(sizes) - sizes, sizes


def frame_pieces(pieces: Sequence[Buffer], buffer: bytearray) -> memoryview:
    """Put one record, given in pieces, into a frame at the start of `buffer`, and return it."""
    view = memoryview(buffer)
    stop = HEADER_BYTES
    for piece in pieces:
        start, stop = stop, stop + len(piece)
        view[start:stop] = piece
    length = (stop - HEADER_BYTES).to_bytes(8, "little")
    view[:8] = length
    for place, data in ((8, length), (stop, view[HEADER_BYTES:stop])):
        crc = crc32c.masked_crc32c(data)
        view[place : place + FOOTER_BYTES] = crc.to_bytes(FOOTER_BYTES, "little")
    return view[: stop + FOOTER_BYTES]


def frame(records: Sequence[Buffer] | Block) -> bytearray:
    """Put many records into frames, end to end, as a file holds them."""
    records = records.views() if isinstance(records, Block) else as_bytes_like(records)
    n_records = len(records)
    lengths = np.fromiter(map(len, records), np.int64, n_records)
    # One join copies all records and leaves room between them for a footer and the next header; an
    # empty item at each end leaves room there.
    out = bytearray(OVERHEAD_BYTES).join([b"", *records, b""])
    del out[len(out) - HEADER_BYTES :], out[:FOOTER_BYTES]
    if not n_records:
        return bytearray()
    stops = np.cumsum(lengths + OVERHEAD_BYTES)  # of the frames
    buffer = np.frombuffer(out, np.uint8)
    at_every_byte(buffer, HEADER)[stops - lengths - OVERHEAD_BYTES] = _headers(lengths)
    at_every_byte(buffer, FOOTER)[stops - FOOTER_BYTES] = crc32c.crcs_of(records, n_records)
    return out


def _headers(lengths: Int64Array) -> AnyArray:
    headers = np.empty(lengths.size, HEADER)
    headers["length"] = lengths
    headers["crc"] = crc32c.length_crcs(headers["length"])
    return headers


def is_header(data: bytes) -> bool:
    """Whether these are the 12 bytes of a record's header: a length and its CRC."""
    if len(data) != HEADER_BYTES:
        return False
    return crc32c.masked_crc32c(data[:8]) == int.from_bytes(data[8:HEADER_BYTES], "little")


def read_headers(buffer: Uint8Array, starts: Int64Array) -> tuple[Uint64Array, BoolArray]:
    """Return the lengths of headers, and whether each one's CRC is wrong; shapes (n,)."""
    headers = at_every_byte(buffer, HEADER)[starts]
    lengths = headers["length"]
    return lengths, crc32c.length_crcs(lengths) != headers["crc"]


def first_bad_data(
    buffer: Uint8Array, starts: Int64Array, stops: Int64Array, *, is_owned: bool = False
) -> int | None:
    """Return the number of the first record whose data has a wrong CRC; None if none has.

    Each record's footer follows its data. A buffer that `is_owned` is written to meanwhile.
    """
    stored = at_every_byte(buffer, FOOTER)[stops]
    if _run_is_intact(buffer, starts, stops, stored, is_owned=is_owned):
        return None
    view = memoryview(buffer)  # type: ignore[arg-type]
    pieces = (view[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True))
    wrong = np.flatnonzero(crc32c.crcs_of(pieces, starts.size) != stored)
    return int(wrong[0]) if wrong.size else None


def _run_is_intact(
    buffer: Uint8Array, starts: Int64Array, stops: Int64Array, stored: AnyArray, *, is_owned: bool
) -> bool:
    """Check many short frames that lie end to end, at once; False also if that is not worthwhile."""
    n_records = starts.size
    if n_records < _FEW_RECORDS or stops[-1] - starts[0] > n_records * _LONG_RECORD_BYTES:
        return False
    if (starts[1:] - stops[:-1] != OVERHEAD_BYTES).any():
        return False
    plain = crc32c.unmask(stored)
    n_at_once = _RUN_RECORDS if is_owned else _COPIED_RECORDS
    for first in range(0, n_records, n_at_once):
        run = slice(first, first + n_at_once)
        data, begin, end = buffer, starts[run], stops[run]
        if not is_owned:
            data = buffer[begin[0] : end[-1]].copy()
            begin, end = begin - starts[first], end - starts[first]
        if not crc32c.run_matches(data, begin, end, plain[run]):
            return False
    return True


def first_bad_frame(
    buffer: Uint8Array, starts: Int64Array, sizes: Int64Array, *, verify: bool = True
) -> int | None:
    """Return the number of the first frame that is damaged or not of its size; None if none is."""
    lengths, is_bad = read_headers(buffer, starts)
    is_bad |= lengths != (sizes - OVERHEAD_BYTES).astype(np.uint64)
    bad = np.flatnonzero(is_bad)[:1].tolist()
    n_good = bad[0] if bad else starts.size
    if verify and n_good:
        stops = (starts + sizes)[:n_good] - FOOTER_BYTES
        first = first_bad_data(buffer, starts[:n_good] + HEADER_BYTES, stops)
        bad = bad if first is None else [first]
    return bad[0] if bad else None


def data_of_frame(frame: bytes, size: int, *, verify: bool = True) -> bytes | None:
    """Return the data of one frame; None if it is damaged or not of this size."""
    length, crc = int.from_bytes(frame[:8], "little"), int.from_bytes(frame[8:12], "little")
    if length != size - OVERHEAD_BYTES or len(frame) != size:
        return None
    data = frame[HEADER_BYTES:-FOOTER_BYTES]
    if crc32c.masked_crc32c(frame[:8]) != crc:
        return None
    if verify and crc32c.masked_crc32c(data) != int.from_bytes(frame[-FOOTER_BYTES:], "little"):
        return None
    return data


def frame_error(
    frame: bytes | memoryview, size: int, offset: int, source: str | None, index: int | None
) -> DataLossError | FailedPreconditionError:
    """Return the error about a frame that is damaged, not of its size, or cut by the end of its source.

    If the header is wrong, the header alone is enough.
    """
    if len(frame) < size:
        part = "this record" if size > HEADER_BYTES else "a record's header"
        detail = f"the file ends inside {part} ({len(frame)} of {size} bytes)"
        detail += " (is this a TFRecord file?)" if offset == 0 and size == HEADER_BYTES else ""
        return DataLossError(Reason.TRUNCATED, offset, source, index, detail=detail)
    stored, computed = frame[8:HEADER_BYTES], crc32c.masked_crc32c(frame[:8])
    if int.from_bytes(stored, "little") != computed:
        reason, hint = Reason.LENGTH_CRC, " (is this a TFRecord file, and this its compression?)"
        detail = _crc_detail(reason, stored, computed) + hint * (offset == 0)
        return DataLossError(reason, offset, source, index, detail=detail)
    length = int.from_bytes(frame[:8], "little")
    if length != size - OVERHEAD_BYTES:
        detail = f"the index says {size - OVERHEAD_BYTES} bytes of data, the record says {length}"
        return FailedPreconditionError(Reason.STALE_INDEX, offset, source, index, detail=detail)
    computed = crc32c.masked_crc32c(frame[HEADER_BYTES:-FOOTER_BYTES])
    detail = _crc_detail(Reason.DATA_CRC, frame[-FOOTER_BYTES:], computed)
    return DataLossError(Reason.DATA_CRC, offset, source, index, detail=detail)


def _crc_detail(reason: Reason, stored: bytes | memoryview, computed: int) -> str:
    return f"{reason}: stored {int.from_bytes(stored, 'little'):#010x}, computed {computed:#010x}"
