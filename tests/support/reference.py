"""The record format at its slowest and plainest: one byte, one record at a time.

This is the oracle of the tests: what the package does with whole blocks must equal
what these few lines do. They share no code with the package but the names of the
reasons, and no table, no NumPy, no shortcut.
"""

from typing import NamedTuple

from tfrecord_lite.errors import Reason

HEAD = 12
FOOT = 4


class Loss(NamedTuple):
    """Why decoding stopped, and at which record."""

    reason: Reason
    offset: int
    # In the way of tuple.index, which nobody asks of a loss.
    index: int  # type: ignore[assignment]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`, bit by bit (rule F2)."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the CRC rotated right by 15 bits, plus a constant (rule F2)."""
    crc = crc32c(data)
    rotated = crc >> 15 | crc << 32 - 15 & 0xFFFFFFFF
    return (rotated + 0xA282EAD8) % 2**32


def encode_header(length: int) -> bytes:
    field = length.to_bytes(8, "little")
    return field + masked_crc32c(field).to_bytes(4, "little")


def encode_record(data: bytes) -> bytes:
    return encode_header(len(data)) + data + masked_crc32c(data).to_bytes(4, "little")


def encode(records: list[bytes]) -> bytes:
    """Return records as a file holds them: end to end (rule F3)."""
    return b"".join(map(encode_record, records))


def decode(
    stream: bytes, *, verify: bool = True, max_record_bytes: int = 2**31
) -> tuple[list[bytes], Loss | None]:
    """Return the records of a whole stream, and what ended it if not its end.

    A stream that stops inside a head is damaged here (rule R2), and every loss
    has the offset of its record's head (rule R5).
    """
    records: list[bytes] = []
    offset = 0
    while offset < len(stream):

        def loss(reason: Reason, offset: int = offset) -> tuple[list[bytes], Loss]:
            return records, Loss(reason, offset, len(records))

        head = stream[offset : offset + HEAD]
        if len(head) < HEAD:
            return loss(Reason.TRUNCATED)
        if masked_crc32c(head[:8]) != int.from_bytes(head[8:], "little"):
            return loss(Reason.LENGTH_CRC)
        length = int.from_bytes(head[:8], "little")
        if length > max_record_bytes:
            return loss(Reason.RECORD_TOO_LARGE)
        if len(stream) - offset < HEAD + length + FOOT:
            return loss(Reason.TRUNCATED)
        data = stream[offset + HEAD : offset + HEAD + length]
        offset += HEAD + length
        if verify and masked_crc32c(data) != int.from_bytes(stream[offset : offset + 4], "little"):
            return loss(Reason.DATA_CRC, offset - HEAD - length)
        records.append(data)
        offset += FOOT
    return records, None


class Span(NamedTuple):
    """Bytes that were passed over."""

    reason: Reason
    offset: int
    length: int


def decode_on(stream: bytes, *, max_record_bytes: int = 2**31) -> tuple[list[bytes], list[Span]]:
    """Return all records that are found when damage is passed over, and where it is.

    Behind a record whose data alone is damaged, the next one has to start, or the stream to
    end; then it is passed over, up to the first byte where intact records begin that follow each
    other to exactly its end. If neither is so, or the length is damaged, the next record is the
    first, at any byte, whose length and data are intact. Neighbours with damaged data are one place.
    """
    records: list[bytes] = []
    spans: list[Span] = []
    offset = 0
    while True:
        more, loss = decode(stream[offset:], max_record_bytes=max_record_bytes)
        records += more
        if loss is None:
            return records, spans
        offset += loss.offset
        behind = offset + HEAD + FOOT + int.from_bytes(stream[offset : offset + 8], "little")
        if loss.reason is not Reason.DATA_CRC or not _may_go_on_at(stream, behind):
            places = range(offset + 1, len(stream))
            behind = next(
                (at for at in places if _is_sound_at(stream, at, max_record_bytes)), len(stream)
            )
        else:
            places = range(offset + 1, behind)
            behind = next(
                (at for at in places if _are_sound(stream[at:behind], max_record_bytes)), behind
            )
        length = behind - offset
        if spans and spans[-1].reason is loss.reason is Reason.DATA_CRC and not more:
            length += spans.pop().length
        spans.append(Span(loss.reason, behind - length, length))
        offset = behind


def _may_go_on_at(stream: bytes, offset: int) -> bool:
    head = stream[offset : offset + HEAD]
    return offset == len(stream) or encode_header(int.from_bytes(head[:8], "little")) == head


def _are_sound(stream: bytes, max_record_bytes: int) -> bool:
    return decode(stream, max_record_bytes=max_record_bytes)[1] is None


def _is_sound_at(stream: bytes, offset: int, max_record_bytes: int) -> bool:
    head = stream[offset : offset + HEAD]
    length = int.from_bytes(head[:8], "little")
    if encode_header(length) != head or length > max_record_bytes:
        return False
    data = stream[offset + HEAD : offset + HEAD + length]
    foot = stream[offset + HEAD + length : offset + HEAD + length + FOOT]
    return masked_crc32c(data).to_bytes(4, "little") == foot
