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

:class:`Reencoder` rewrites a serialised message in such a way, given its descriptor. Values
are copied as bytes, so NaNs keep every bit. Every choice is made by a function ``below(n)``,
which returns a number from 0 to n - 1: a random generator's, or one that draws from
Hypothesis. 0 is always the plain choice, so a counterexample shrinks to the plainest message
that still shows it.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tfrecord_lite.wire.scalar import (
    END_GROUP,
    I32,
    I64,
    LEN,
    START_GROUP,
    VARINT,
    read_varint,
    varint,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.descriptor import FieldDescriptor


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


def _fields(data: bytes) -> list[_Field]:
    """Split a well-formed message into its fields."""
    found = []
    for number, wire_type, start, stop in walk(data, 0, len(data)):
        if wire_type == START_GROUP:
            start = read_varint(data, start, stop)[1]  # noqa: PLW2901 - after the tag
        found.append(_Field(number, wire_type, data[start:stop]))
    return found


def _is_repeated(field: Any) -> bool:
    # `label` is deprecated where there is `is_repeated`.
    is_repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if is_repeated is None else is_repeated)


def _is_map_entry(message: Any) -> bool:
    return bool(message.GetOptions().map_entry)


def _known(descriptor: Any) -> dict[int, set[int]]:
    """Return the wire types that a message accepts, by field number."""
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


class Reencoder:
    """Rewrites messages in unusual but legal encodings.

    Parameters
    ----------
    below : callable
        Makes the choices: returns a number from 0 to n - 1, given n.
    oddity : int, optional
        One choice in `oddity` is the unusual one.
    length_bytes : int, optional
        Longest varint for a length: protobuf 7 accepts 5 bytes, older ones 10.
    with_unknown_fields : bool, optional
        Whether there may be unknown fields.

    Examples
    --------
    >>> import random
    >>> from tfrecord_lite.testing import Reencoder
    >>> plain = encode_example({"name": "Ada", "age": 36})
    >>> odd = Reencoder(random.Random(7).randrange, oddity=2).message(plain, Example.DESCRIPTOR)
    >>> odd == plain, decode_example(odd)["age"]
    (False, array([36]))
    """

    def __init__(
        self,
        below: Below,
        oddity: int = 6,
        length_bytes: int = 5,
        *,
        with_unknown_fields: bool = True,
    ) -> None:
        self._below = below
        self._oddity = oddity
        self._length_bytes = length_bytes
        self._with_unknown_fields = with_unknown_fields

    # --- parts of fields, fields, and their order

    def sometimes(self) -> bool:
        """Decide whether to do the unusual.

        Examples
        --------
        >>> from tfrecord_lite.testing import Reencoder
        >>> Reencoder(lambda n: 0).sometimes(), Reencoder(lambda n: n - 1).sometimes()
        (False, True)
        """
        return self._below(self._oddity) == self._oddity - 1

    def varint(self, number: int, max_bytes: int = 10) -> bytes:
        r"""Write a number, maybe in more bytes than it needs.

        Examples
        --------
        >>> from tfrecord_lite.testing import Reencoder
        >>> plain, odd = Reencoder(lambda n: 0), Reencoder(lambda n: n - 1)
        >>> plain.varint(300), odd.varint(300, max_bytes=4)
        (b'\xac\x02', b'\xac\x82\x80\x00')
        """
        if not self.sometimes():
            return varint(number)
        return varint(number, 1 + self._below(max_bytes))

    def tag(self, number: int, wire_type: int) -> bytes:
        r"""Write a tag.

        Examples
        --------
        >>> from tfrecord_lite.testing import Reencoder
        >>> plain, odd = Reencoder(lambda n: 0), Reencoder(lambda n: n - 1)
        >>> plain.tag(1, 2), odd.tag(1, 2)
        (b'\n', b'\x8a\x80\x80\x80\x00')
        """
        return self.varint(number << 3 | wire_type, 5)

    def len_field(self, number: int, content: bytes) -> bytes:
        r"""Write a field of bytes.

        Examples
        --------
        >>> from tfrecord_lite.testing import Reencoder
        >>> Reencoder(lambda n: 0).len_field(1, b"Ada")  # nothing unusual is chosen
        b'\n\x03Ada'
        """
        return self.tag(number, LEN) + self.varint(len(content), self._length_bytes) + content

    def unknown(self, known: dict[int, set[int]], depth_left: int = 3) -> bytes:
        """Write a field with an unknown number, or with the wrong wire type.

        Examples
        --------
        >>> import random
        >>> from tfrecord_lite.testing import Reencoder
        >>> field = Reencoder(random.Random(7).randrange).unknown({1: {2}})
        >>> decode_example(field)
        {}
        """
        types = [VARINT, LEN, I32, I64] + [START_GROUP] * (depth_left > 0)
        wire_type = types[self._below(len(types))]
        numbers = [n for n in UNKNOWN_NUMBERS if n not in known]
        numbers += [n for n, types in known.items() if wire_type not in types]
        number = numbers[self._below(len(numbers))]
        tag = self.tag(number, wire_type)
        if wire_type == VARINT:
            return tag + self.varint(self._below(2 ** (1 + self._below(64))))
        if wire_type == LEN:
            length = self._below(20)
            return self.len_field(number, bytes(self._below(256) for _ in range(length)))
        if wire_type == START_GROUP:
            inner = [self.unknown({}, depth_left - 1) for _ in range(self._below(3))]
            return tag + b"".join(inner) + self.tag(number, END_GROUP)
        length = 4 if wire_type == I32 else 8
        return tag + bytes(self._below(256) for _ in range(length))

    def with_unknown(self, parts: Iterable[bytes], known: dict[int, set[int]]) -> bytes:
        """Join fields, with unknown ones between them.

        Examples
        --------
        >>> import random
        >>> from tfrecord_lite.testing import Reencoder
        >>> ada = encode_example({"age": 36})
        >>> decode_example(Reencoder(random.Random(7).randrange).with_unknown([ada], {1: {2}}))
        {'age': array([36])}
        """
        out = bytearray()
        for part in [*parts, b""]:
            while self._with_unknown_fields and self.sometimes():
                out += self.unknown(known)
            out += part
        return bytes(out)

    def pieces(self, n: int) -> list[slice]:
        """Cut n items into consecutive slices, some maybe empty.

        Examples
        --------
        >>> import random
        >>> from tfrecord_lite.testing import Reencoder
        >>> items = [36, 41, 37]
        >>> [n for piece in Reencoder(random.Random(7).randrange).pieces(3) for n in items[piece]]
        [36, 41, 37]
        """
        cuts = [0]
        while self.sometimes():
            cuts.append(min(n, cuts[-1] + self._below(n + 1)))
        cuts.append(n)
        return [slice(a, b) for a, b in pairwise(cuts)]

    def interleaved(self, strands: list[list[bytes]]) -> list[bytes]:
        """Mix lists of fields, keeping the order within each.

        Examples
        --------
        >>> import random
        >>> from tfrecord_lite.testing import Reencoder
        >>> reencoder = Reencoder(random.Random(7).randrange)
        >>> mixed = reencoder.interleaved([[b"a1", b"a2"], [b"b1"]])
        >>> sorted(mixed), mixed.index(b"a1") < mixed.index(b"a2")
        ([b'a1', b'a2', b'b1'], True)
        """
        strands = [strand[:] for strand in strands if strand]
        out = []
        while strands:
            chosen = self._below(len(strands)) if self.sometimes() else 0
            out.append(strands[chosen].pop(0))
            if not strands[chosen]:
                del strands[chosen]
        return out

    # --- whole messages

    def message(self, serialized: bytes, descriptor: Any) -> bytes:
        """Rewrite a message.

        Parameters
        ----------
        serialized : bytes
            As the protobuf runtime writes it: plainly, each singular field once.
        descriptor : Descriptor
            ``message_class.DESCRIPTOR``.

        Returns
        -------
        bytes
            Another encoding of the same message. The runtime keeps unknown fields;
            without them (``DiscardUnknownFields``) the parsed messages are equal.

        Examples
        --------
        >>> import random
        >>> from tfrecord_lite.testing import Reencoder
        >>> plain = Int64List(value=[36, 41, 37]).SerializeToString()
        >>> odd = Reencoder(random.Random(7).randrange, 2).message(plain, Int64List.DESCRIPTOR)
        >>> odd == plain, Int64List.FromString(odd).value
        (False, [36, 41, 37])
        """
        return self._message(_fields(serialized), descriptor)

    def _message(self, fields: list[_Field], descriptor: Any) -> bytes:
        if _is_map_entry(descriptor):
            fields = [f for f in fields if not (_is_default(f, descriptor) and self.sometimes())]
        strands: dict[int, list[bytes]] = {}
        by_number: dict[int, list[_Field]] = {}
        for field in fields:
            by_number.setdefault(field.number, []).append(field)
        for number, some in by_number.items():
            known = descriptor.fields_by_number.get(number)
            if known is None or known.type == _GROUP:
                strands[number] = [self._copied(field) for field in some]
            elif _is_repeated(known):
                strands[number] = self._repeated(known, some)
            else:
                strands[number] = self._singular(known, some[-1])
        parts = self.interleaved(list(strands.values()))
        if _is_map_entry(descriptor):  # the runtime ignores entries with unknown fields
            return b"".join(parts)
        return self.with_unknown(parts, _known(descriptor))

    def _copied(self, field: _Field) -> bytes:
        if field.wire_type == LEN:
            return self.len_field(field.number, field.content)
        return self.tag(field.number, field.wire_type) + field.content

    def _plain(self, known: FieldDescriptor, content: bytes) -> bytes:
        """Write one value of a field that is not a message."""
        wire_type = _WIRE_TYPES[known.type]
        if wire_type == LEN:
            return self.len_field(known.number, content)
        return self.tag(known.number, wire_type) + self._number(content, wire_type)

    def _number(self, content: bytes, wire_type: int) -> bytes:
        if wire_type != VARINT:
            return content
        return self.varint(read_varint(content, 0, len(content))[0])

    def _repeated(self, known: FieldDescriptor, some: list[_Field]) -> list[bytes]:
        if known.type == _MESSAGE:
            of = known.message_type
            parts = [self._nested(known, [field.content]) for field in some]
            if _is_map_entry(of):
                return self._entries(known, parts, [field.content for field in some])
            return parts
        if known.type in {_STRING, _BYTES}:
            return [self._plain(known, field.content) for field in some]
        return self._numbers(known, some)

    def _numbers(self, known: FieldDescriptor, some: list[_Field]) -> list[bytes]:
        """Write numbers packed, unpacked, or mixed."""
        wire_type = _WIRE_TYPES[known.type]
        values: list[bytes] = []
        for field in some:
            at, content = 0, field.content
            while at < len(content):
                stop = at + 4 if wire_type == I32 else at + 8
                if wire_type == VARINT:
                    stop = read_varint(content, at, len(content))[1]
                values.append(content[at:stop])
                at = stop
        are_packed = some[0].wire_type == LEN
        parts: list[bytes] = []
        for piece in self.pieces(len(values)):
            numbers = [self._number(value, wire_type) for value in values[piece]]
            if self.sometimes() is are_packed:
                parts += (self.tag(known.number, wire_type) + number for number in numbers)
            elif numbers or self.sometimes():
                parts.append(self.len_field(known.number, b"".join(numbers)))
        return parts

    def _entries(
        self, known: FieldDescriptor, parts: list[bytes], contents: list[bytes]
    ) -> list[bytes]:
        """Write map entries in any order, some after overruled ones with the same key."""
        strands = []
        for part, content in zip(parts, contents, strict=True):
            key = [field for field in _fields(content) if field.number == 1]
            decoys = []
            while self.sometimes():
                decoy = self._message(key, known.message_type)
                decoys.append(self.len_field(known.number, decoy))
            strands.append([*decoys, part])
        return self.interleaved(strands)

    def _nested(self, known: FieldDescriptor, contents: list[bytes]) -> bytes:
        fields = [field for content in contents for field in _fields(content)]
        return self.len_field(known.number, self._message(fields, known.message_type))

    def _singular(self, known: FieldDescriptor, field: _Field) -> list[bytes]:
        """Write a field, maybe after overruled ones; a message maybe in parts."""
        parts = []
        while self.sometimes():
            parts += self._decoy(known)
        if known.type != _MESSAGE:
            return [*parts, self._plain(known, field.content)]
        fields = _fields(field.content)
        for piece in self.pieces(len(fields)):
            content = self._message(fields[piece], known.message_type)
            parts.append(self.len_field(known.number, content))
        return parts

    def _decoy(self, known: FieldDescriptor) -> list[bytes]:
        """Write a field that the next one overrules: the same, or another of its oneof."""
        others = [known]
        if known.containing_oneof is not None:
            others = list(known.containing_oneof.fields)
        other = others[self._below(len(others))]
        if other.type == _MESSAGE:  # the same message merges, so its decoy is empty
            content = len_field(1, b"") if other is not known and self.sometimes() else b""
            return [self.len_field(other.number, content)]
        if other.type in {_GROUP, _ENUM}:  # which numbers an enumeration has is not known here
            return []
        contents = {LEN: b"decoy", I32: b"\1\2\3\4", I64: b"\1\2\3\4\5\6\7\1", VARINT: b"\1"}
        return [self._plain(other, contents[_WIRE_TYPES[other.type]])]


# Ends of varints, and tags of the first fields.
_SPECIAL_BYTES = (0, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0C, 0x12, 0x1A, 0x08, 0x0D)


def mutate(below: Below, message: bytes, other: bytes = b"") -> bytes:
    """Damage bytes in one place.

    Parameters
    ----------
    below : callable
        Makes the choices: returns a number from 0 to n - 1, given n.
    message : bytes
    other : bytes, optional
        The end of `message` may be replaced by the end of these bytes.

    Returns
    -------
    bytes
        Rarely the same as `message`.

    Examples
    --------
    >>> import random
    >>> from tfrecord_lite.testing import mutate
    >>> changed = mutate(random.Random(7).randrange, b"Ada and Alan")
    >>> changed == b"Ada and Alan"
    False
    """
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
