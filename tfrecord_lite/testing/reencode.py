"""The same messages in unusual but legal encodings, and bytes damaged in one place.

One message has many encodings, and a reader must accept all of them:

- repeated numbers packed, one by one, or mixed; in one chunk or several;
- fields in any order, as long as fields with the same number keep their order;
- a field twice, of which the last counts; a member of a oneof before the one that counts; a
  map entry before another with its key;
- a map entry without its key or value, if that is the default;
- a nested message in several parts, which merge;
- unknown fields, groups included, and known ones with a wire type they cannot have;
- tags, lengths and numbers in more bytes than they need.

Values are copied as bytes, so NaNs keep every bit. A function ``below(n)`` makes every choice, a number from 0
to n - 1. 0 is always the plain choice, so a counterexample shrinks to the plainest message that still shows it.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tfrecord_lite.wire import scalar
from tfrecord_lite.wire.scalar import I32, I64, LEN, START_GROUP, VARINT, read_varint, varint

Below: TypeAlias = Callable[[int], int]
"""Returns a number from 0 to n - 1, given n."""

UNKNOWN_NUMBERS = (4, 15, 16, 2047, 2048, 2**28, 2**29 - 1)
"""Field numbers of unknown fields, unless the message knows them."""

_STRING, _GROUP, _MESSAGE, _BYTES, _ENUM = 9, 10, 11, 12, 14
# By FieldDescriptor.type: from double, 1, to sint64, 18.
_WIRE_TYPES = (
    VARINT, I64, I32, VARINT, VARINT, VARINT, I64, I32, VARINT, LEN,
    START_GROUP, LEN, LEN, VARINT, VARINT, I32, I64, VARINT, VARINT,
)  # fmt: skip


def len_field(number: int, content: bytes) -> bytes:
    """Encode a field of bytes, a string or a message."""
    return varint(number << 3 | LEN) + varint(len(content)) + content


class _Field(NamedTuple):
    """A field; the content is without tag and length, of a group with its end tag."""

    number: int
    wire_type: int
    content: bytes


def chooser(draw: DrawFn) -> Below:
    """Return a source of choices that Hypothesis controls."""
    return lambda n: draw(st.integers(0, n - 1))


def _fields(data: bytes) -> list[_Field]:
    fields = []
    for number, wire_type, start, stop in scalar.walk(data, 0, len(data)):
        if wire_type == START_GROUP:
            start = read_varint(data, start, stop)[1]  # noqa: PLW2901 - after the tag
        fields.append(_Field(number, wire_type, data[start:stop]))
    return fields


def _is_repeated(field: Any) -> bool:
    # `label` is deprecated where there is `is_repeated`.
    is_repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if is_repeated is None else is_repeated)


def _is_map_entry(message: Any) -> bool:
    return bool(message.GetOptions().map_entry)


def _known(descriptor: Any) -> dict[int, set[int]]:
    known = {}
    for field in descriptor.fields:
        wire_type = _WIRE_TYPES[field.type]
        known[field.number] = {wire_type, LEN} if _is_repeated(field) else {wire_type}
    return known


def _is_default(field: _Field, descriptor: Any) -> bool:
    """Return whether a map entry without this field means the same."""
    if descriptor.fields_by_number[field.number].type == _ENUM:  # its default need not be 0
        return False
    return not (field.content if field.wire_type == LEN else any(field.content))


@dataclass
class Reencoder:
    """Rewrites messages in unusual but legal encodings.

    One choice in `oddity` is the unusual one. `length_bytes` is the longest varint for a length:
    protobuf 7 accepts 5 bytes, older ones 10.
    """

    below: Below
    oddity: int = 6
    length_bytes: int = 5
    with_unknown_fields: bool = True

    # --- parts of fields, fields, and their order

    def sometimes(self) -> bool:
        """Decide whether to do the unusual."""
        return self.below(self.oddity) == self.oddity - 1

    def varint(self, number: int, max_bytes: int = 10) -> bytes:
        """Write a number, maybe in more bytes than it needs."""
        return varint(number, 1 + self.below(max_bytes) if self.sometimes() else 1)

    def tag(self, number: int, wire_type: int) -> bytes:
        """Write a tag."""
        return self.varint(number << 3 | wire_type, 5)

    def len_field(self, number: int, content: bytes) -> bytes:
        """Write a field of bytes."""
        return self.tag(number, LEN) + self.varint(len(content), self.length_bytes) + content

    def unknown(self, known: dict[int, set[int]], depth_left: int = 3) -> bytes:
        """Write a field with an unknown number, or with a wire type that `known` has not for it."""
        types = [VARINT, LEN, I32, I64] + ([START_GROUP] if depth_left > 0 else [])
        wire_type = types[self.below(len(types))]
        numbers = [n for n in UNKNOWN_NUMBERS if n not in known]
        numbers += [n for n, types in known.items() if wire_type not in types]
        number = numbers[self.below(len(numbers))]
        tag = self.tag(number, wire_type)
        if wire_type == VARINT:
            return tag + self.varint(self.below(2 ** (1 + self.below(64))))
        if wire_type == START_GROUP:
            inner = [self.unknown({}, depth_left - 1) for _ in range(self.below(3))]
            return tag + b"".join(inner) + self.tag(number, scalar.END_GROUP)
        length = {LEN: self.below(20), I32: 4, I64: 8}[wire_type]
        content = bytes(self.below(256) for _ in range(length))
        return self.len_field(number, content) if wire_type == LEN else tag + content

    def with_unknown(self, parts: Iterable[bytes], known: dict[int, set[int]]) -> bytes:
        """Join fields, with unknown ones between them."""
        out = bytearray()
        for part in [*parts, b""]:
            while self.with_unknown_fields and self.sometimes():
                out += self.unknown(known)
            out += part
        return bytes(out)

    def pieces(self, n: int) -> list[slice]:
        """Cut n items into consecutive slices, some maybe empty."""
        cuts = [0]
        while self.sometimes():
            cuts.append(min(n, cuts[-1] + self.below(n + 1)))
        return [slice(a, b) for a, b in pairwise([*cuts, n])]

    def _interleaved(self, strands: Iterable[list[bytes]]) -> list[bytes]:
        left = [strand[:] for strand in strands if strand]
        out = []
        while left:
            out.append(left[self.below(len(left)) if self.sometimes() else 0].pop(0))
            left = [strand for strand in left if strand]
        return out

    # --- whole messages

    def message(self, serialized: bytes, descriptor: Any) -> bytes:
        """Rewrite a message, given as the protobuf runtime writes it: each singular field once.

        The runtime keeps unknown fields; without them (``DiscardUnknownFields``) the parsed
        messages are equal.
        """
        return self._message(_fields(serialized), descriptor)

    def _message(self, fields: list[_Field], descriptor: Any) -> bytes:
        is_entry = _is_map_entry(descriptor)
        if is_entry:
            fields = [f for f in fields if not (_is_default(f, descriptor) and self.sometimes())]
        by_number: dict[int, list[_Field]] = {}
        for field in fields:
            by_number.setdefault(field.number, []).append(field)
        known = descriptor.fields_by_number.get
        parts = self._interleaved(self._written(known(n), group) for n, group in by_number.items())
        # The runtime ignores map entries with unknown fields.
        return b"".join(parts) if is_entry else self.with_unknown(parts, _known(descriptor))

    def _written(self, known: FieldDescriptor | None, fields: list[_Field]) -> list[bytes]:
        if known is None or known.type == _GROUP:
            return [self._value(*field) for field in fields]
        if not _is_repeated(known):
            return self._singular(known, fields[-1])
        if known.type == _MESSAGE:
            strands = [self._element(known, _fields(field.content)) for field in fields]
            if _is_map_entry(known.message_type):
                return self._interleaved(strands)
            return [part for strand in strands for part in strand]
        if known.type in {_STRING, _BYTES}:
            return [self._value(*field) for field in fields]
        return self._numbers(known, fields)

    def _value(self, number: int, wire_type: int, content: bytes) -> bytes:
        if wire_type == LEN:
            return self.len_field(number, content)
        return self.tag(number, wire_type) + self._number(content, wire_type)

    def _number(self, content: bytes, wire_type: int) -> bytes:
        if wire_type != VARINT:
            return content
        return self.varint(read_varint(content, 0, len(content))[0])

    def _element(self, known: Any, fields: list[_Field]) -> list[bytes]:
        """Write a repeated message; a map entry maybe after overruled ones with the same key."""
        of = known.message_type
        contents = [fields]
        while _is_map_entry(of) and self.sometimes():
            key = [field for field in fields if field.number == 1]
            contents.insert(0, [*key, *_fields(self.filled(of.fields_by_number[2]))])
        return [self.len_field(known.number, self._message(content, of)) for content in contents]

    def _numbers(self, known: FieldDescriptor, fields: list[_Field]) -> list[bytes]:
        wire_type = _WIRE_TYPES[known.type]
        values: list[bytes] = []
        for field in fields:
            at, content = 0, field.content
            while at < len(content):
                stop = at + 4 if wire_type == I32 else at + 8
                if wire_type == VARINT:
                    stop = read_varint(content, at, len(content))[1]
                values.append(content[at:stop])
                at = stop
        are_packed = fields[0].wire_type == LEN
        parts: list[bytes] = []
        for piece in self.pieces(len(values)):
            numbers = [self._number(value, wire_type) for value in values[piece]]
            if self.sometimes() is are_packed:
                parts += (self.tag(known.number, wire_type) + number for number in numbers)
            elif numbers or self.sometimes():
                parts.append(self.len_field(known.number, b"".join(numbers)))
        return parts

    def _singular(self, known: FieldDescriptor, field: _Field) -> list[bytes]:
        """Write a field, maybe after overruled ones; a message maybe in parts."""
        parts = []
        while self.sometimes():
            parts += self._decoy(known)
        if known.type != _MESSAGE:
            return [*parts, self._value(*field)]
        fields = _fields(field.content)
        for piece in self.pieces(len(fields)):
            content = self._message(fields[piece], known.message_type)
            parts.append(self.len_field(known.number, content))
        return parts

    def _decoy(self, known: FieldDescriptor) -> list[bytes]:
        """Write fields that the next one overrules: the same, or another of its oneof."""
        others = list(known.containing_oneof.fields) if known.containing_oneof else [known]
        other = others[self.below(len(others))]
        if {known.type, other.type} & {_GROUP, _ENUM}:  # an enumeration's numbers are not known
            return []
        if other is not known:
            return [self.filled(field) for field in ([known] if self.sometimes() else []) + [other]]
        # The same message merges, so its decoy is empty.
        return [self.len_field(other.number, b"") if other.type == _MESSAGE else self.filled(other)]

    def filled(self, known: Any) -> bytes:
        """Write a field with any value; a message has a field, or none."""
        if known.type == _MESSAGE:
            inner = [one for one in known.message_type.fields if one.type not in {_GROUP, _ENUM}]
            chosen = self.below(len(inner) + 1)
            return self.len_field(known.number, self.filled(inner[chosen - 1]) if chosen else b"")
        wire_type = _WIRE_TYPES[known.type]
        contents = {LEN: b"decoy", I32: b"\1\2\3\4", I64: b"\1\2\3\4\5\6\7\1", VARINT: b"\1"}
        return self._value(known.number, wire_type, contents[wire_type])


# Ends of varints, and tags of the first fields.
_SPECIAL_BYTES = (0, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0C, 0x12, 0x1A, 0x08, 0x0D)


def mutate(below: Below, message: bytes, other: bytes = b"") -> bytes:
    """Damage bytes in one place; their end may become the end of `other`. Rarely they stay the same."""
    out = bytearray(message)
    at = below(len(out) + 1)
    match below(7):
        case 0 if at < len(out):
            out[at] ^= 1 << below(8)
        case 1 if at < len(out):
            out[at] = _SPECIAL_BYTES[below(len(_SPECIAL_BYTES))]
        case 2:
            del out[at:]
        case 3:
            out[at:at] = bytes(below(256) for _ in range(1 + below(3)))
        case 4:
            del out[at : at + 1 + below(3)]
        case 5:
            out[at:] = other[below(len(other) + 1) :]
        case _:
            if at < len(out):
                out[at] = (out[at] + (1, 255)[below(2)]) % 256
    return bytes(out)
