"""The record format: what is around the data of a record, and records put into frames.

A record (rule F1)::

    +----------------+------------------+--------------+----------------+
    | length, uint64 | masked CRC of    | data         | masked CRC of  |
    | little-endian  | those 8 bytes    | length bytes | the data       |
    +----------------+------------------+--------------+----------------+
    |<------- head, 12 bytes ---------->|              |<-- foot, 4 --->|

Records follow each other with nothing between, before or behind them: no magic,
no alignment, no footer (F3), so files can be joined end to end (F4).

:func:`frame` writes many records at once; :func:`frame_in_place` those of a block in
its own memory, :func:`frame_pieces` one that comes in pieces. The other way goes
:class:`tfrecord_lite.records.decoder.FrameDecoder`. No I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.block import Block, as_bytes_like
from tfrecord_lite.records import crc32c

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Buffer

    from tfrecord_lite.arrays import Uint8Array
    from tfrecord_lite.errors import Reason

HEADER_BYTES = 12
FOOTER_BYTES = 4
OVERHEAD_BYTES = HEADER_BYTES + FOOTER_BYTES

MAX_RECORD_BYTES = 2**31
"""The default limit on one record: no protobuf message is larger."""

HEADER = np.dtype([("length", "<u8"), ("crc", "<u4")])
FOOTER = np.dtype("<u4")


def at_every_byte(buffer: Uint8Array, dtype: np.dtype[Any]) -> np.ndarray:
    """View a buffer as overlapping items of `dtype`, one starting at every byte."""
    return np.ndarray((buffer.size - dtype.itemsize + 1,), dtype, buffer, strides=(1,))


def is_header(data: bytes) -> bool:
    """Whether 12 bytes are the head of a record: a length and its CRC."""
    if len(data) != HEADER_BYTES:
        return False
    return crc32c.masked_crc32c(data[:8]) == int.from_bytes(data[8:HEADER_BYTES], "little")


def frame_in_place(block: Block) -> memoryview | None:
    """Put a block's records into frames where they are, if there is just the room for them.

    Parameters
    ----------
    block : Block
        In memory of its own, which is written to: between, before and behind the records.

    Returns
    -------
    memoryview or None
        The frames, as :func:`frame` gives them, in the block's memory. None if the records
        are not as far apart as frames need it; the block is as it was.
    """
    if not len(block) or block.offsets[0] < HEADER_BYTES:
        return None
    stops = block.offsets + block.lengths
    if (block.offsets[1:] != stops[:-1] + OVERHEAD_BYTES).any():
        return None
    heads = np.empty(len(block), HEADER)
    heads["length"] = block.lengths
    heads["crc"] = crc32c.length_crcs(heads["length"])
    at_every_byte(block.data, HEADER)[block.offsets - HEADER_BYTES] = heads
    at_every_byte(block.data, FOOTER)[stops] = crc32c.crcs_of(block.views(), len(block))
    first, last = int(block.offsets[0]) - HEADER_BYTES, int(stops[-1]) + FOOTER_BYTES
    return memoryview(block.data)[first:last]  # type: ignore[arg-type]


def frame_pieces(pieces: Sequence[Buffer], buffer: bytearray) -> memoryview:
    r"""Put one record, given in pieces, into a frame.

    Parameters
    ----------
    pieces : sequence of bytes-like
    buffer : bytearray
        Where to; as long as the frame, or longer.

    Returns
    -------
    memoryview
        The frame, in `buffer`.

    Examples
    --------
    >>> bytes(frame_pieces([b"one", b"two"], bytearray(100))) == frame([b"onetwo"])
    True
    """
    view = memoryview(buffer)
    stop = HEADER_BYTES
    for piece in pieces:
        start, stop = stop, stop + len(piece)  # type: ignore[arg-type]
        view[start:stop] = piece
    length = (stop - HEADER_BYTES).to_bytes(8, "little")
    view[:8] = length
    for place, data in ((8, length), (stop, view[HEADER_BYTES:stop])):
        crc = crc32c.masked_crc32c(data)
        view[place : place + FOOTER_BYTES] = crc.to_bytes(FOOTER_BYTES, "little")
    return view[: stop + FOOTER_BYTES]


def frame(records: Sequence[Buffer] | Block) -> bytearray:
    r"""Put many records into frames, end to end, as a file holds them.

    Parameters
    ----------
    records : sequence of bytes-like, or Block
        Neither copied more than once nor changed; see :meth:`Block.from_records`.

    Returns
    -------
    bytearray
        The frames; nothing before, between or behind them.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a buffer that is not contiguous.
    TypeError
        For what is no buffer.

    Examples
    --------
    >>> bytes(frame([b""])).hex()
    '000000000000000029039807d8ea82a2'
    """
    records = records.views() if isinstance(records, Block) else as_bytes_like(records)
    n_records = len(records)
    lengths = np.fromiter(map(len, records), np.int64, n_records)  # type: ignore[arg-type]
    # One join copies all records and leaves room between them for a foot and the next head.
    # With an empty item at each end there is room before the first and behind the last too.
    out = bytearray(OVERHEAD_BYTES).join([b"", *records, b""])
    del out[len(out) - HEADER_BYTES :], out[:FOOTER_BYTES]
    if not n_records:
        return bytearray()
    stops = np.cumsum(lengths + OVERHEAD_BYTES)
    heads = np.empty(n_records, HEADER)
    heads["length"] = lengths
    heads["crc"] = crc32c.length_crcs(heads["length"])
    buffer = np.frombuffer(out, np.uint8)
    at_every_byte(buffer, HEADER)[stops - lengths - OVERHEAD_BYTES] = heads
    at_every_byte(buffer, FOOTER)[stops - FOOTER_BYTES] = crc32c.crcs_of(records, n_records)
    return out


def crc_detail(reason: Reason, stored: int, computed: int) -> str:
    """Return the text of an error about a wrong checksum."""
    return f"{reason}: stored {stored:#010x}, computed {computed:#010x}"
