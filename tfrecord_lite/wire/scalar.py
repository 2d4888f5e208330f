"""One number and one message at a time, in plain Python.

A message is a sequence of fields: a tag (a varint: field number x 8 + wire type), then
the value, whose form the wire type gives::

    0 VARINT   a varint                 3 START_GROUP  fields up to the matching 4
    1 I64      8 bytes                  4 END_GROUP
    2 LEN      a varint n, n bytes      5 I32          4 bytes

:func:`walk` rejects what the protobuf runtime rejects: a field number 0, a wire type 6 or
7, a group that does not end or ends unopened, a length or value that leaves the message, a
tag above 32 bits or a varint above 10 bytes. Varints longer than they need to be, within
those limits, are fine.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, I64, LEN, START_GROUP, END_GROUP, I32 = range(6)

MAX_VARINT_BYTES = 10
MAX_TAG_BYTES = 5
MAX_LENGTH_BYTES = 5
"""Bytes of a length below 2**35; longer ones are read by :func:`walk` only."""
_MAX_DEPTH = 100


class WireError(ValueError):
    """Bytes that are not a message: its number in the batch, where the malformed field is, and why."""

    def __init__(self, message: int, offset: int, detail: str) -> None:
        super().__init__(message, offset, detail)
        self.message: int = message
        self.offset: int = offset
        self.detail: str = detail


def len_tag(number: int) -> bytes:
    """Return the tag of a LEN field with a number below 16."""
    return bytes([number << 3 | LEN])


def varint(value: int, at_least: int = 1) -> bytes:
    r"""Encode a number of 64 bits (negative: two's complement), in at least that many bytes.

    >>> varint(300)
    b'\xac\x02'
    """
    if value < 0x80:
        if value >= 0 and at_least == 1:  # most lengths
            return bytes((value,))
        value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    if at_least > 1 and len(out) < at_least:
        out[-1] |= 0x80
        out += b"\x80" * (at_least - len(out) - 1) + b"\0"
    return bytes(out)


def varint_size(value: int) -> int:
    """Return how many bytes a number takes, 0 or more.

    >>> varint_size(0), varint_size(127), varint_size(128)
    (1, 1, 2)
    """
    return max(-(-value.bit_length() // 7), 1)


def read_varint(data: bytes | memoryview, start: int, stop: int) -> tuple[int, int]:
    r"""Return the varint at `start` and where it ends, -1 if not by `stop` or after 10 bytes.

    >>> read_varint(b"\xac\x02", 0, 2), read_varint(b"\xac\x02", 0, 1)
    ((300, 2), (0, -1))
    """
    value = 0
    for place in range(min(MAX_VARINT_BYTES, stop - start)):
        byte = data[start + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, start + place + 1
    return 0, -1


def read_length(data: memoryview, start: int) -> tuple[int, int]:
    """Return the length of the LEN field at `start`, whose tag is one byte, and where it ends.

    The end is -1 if the length is cut or takes more than :data:`MAX_LENGTH_BYTES`.
    """
    if start + 1 < len(data) and data[start + 1] < 0x80:  # most lengths
        return data[start + 1], start + 2
    return read_varint(data, start + 1, min(start + 1 + MAX_LENGTH_BYTES, len(data)))


def content_start(data: memoryview, start: int, stop: int | None, tag: int) -> int | None:
    """Return where the content of the LEN field at `start` begins; None if there is no such field.

    If `stop` is given, the field must end there.
    """
    if start + 1 >= len(data) or data[start] != tag:
        return None
    length, content = data[start + 1], start + 2
    if length >= 0x80:
        length, content = read_length(data, start)
    is_whole = content >= 0 and stop in (None, content + length)
    return content if is_whole else None


def walk(  # noqa: PLR0912 - a case for each wire type
    data: bytes | memoryview, start: int, stop: int, message: int = 0, depth: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, wire type, start and stop of each field; errors name `message`.

    A value starts after its tag, and after its length if it has one. A group is one field, from
    its start tag to the end of its end tag. `depth` is how many messages this one is nested in;
    messages and groups may nest 100 deep.
    """
    groups: list[int] = []  # numbers of the groups that are open
    group_start = at = start
    while at < stop:
        begin = at
        tag, at = read_varint(data, at, stop)
        number, wire_type = tag >> 3, tag & 7
        if at < 0 or at - begin > MAX_TAG_BYTES or tag >= 2**32 or number == 0:
            raise WireError(message, begin, what_is_wrong(number if at > 0 else 1, LEN))
        value = at
        if wire_type == VARINT:
            _, at = read_varint(data, at, stop)
        elif wire_type == LEN:
            length, value = read_varint(data, at, stop)
            at = value + length  # -1 if the length, 0 then, does not end
        elif wire_type == I64:
            at += 8
        elif wire_type == I32:
            at += 4
        elif wire_type == START_GROUP:
            group_start = begin if not groups else group_start
            groups.append(number)
            if len(groups) + depth > _MAX_DEPTH:
                raise WireError(message, begin, f"groups nest deeper than {_MAX_DEPTH}")
        elif wire_type == END_GROUP and groups and groups[-1] == number:
            groups.pop()
            if not groups:
                yield number, START_GROUP, group_start, at
            continue
        else:
            raise WireError(message, begin, what_is_wrong(number, wire_type))
        if at < 0 or at > stop:
            raise WireError(message, begin, what_is_wrong(number, LEN))
        if not groups:
            yield number, wire_type, value, at
    if groups:
        raise WireError(message, group_start, f"group {groups[-1]} does not end in its message")


def what_is_wrong(number: int, wire_type: int) -> str:
    """Explain why a field with this number and wire type is rejected."""
    if number == 0:
        return "a field has the number 0"
    if wire_type == END_GROUP:
        return f"group {number} ends, but did not start"
    if wire_type > I32:
        return f"field {number} has the wire type {wire_type}, expected 0 to 5"
    return f"field {number} does not end inside its message"
