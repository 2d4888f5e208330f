"""An Example message at its slowest and plainest: one field at a time, by the book.

This is the oracle of the engine's tests, next to the protobuf runtime itself. It
shares no code with the package and does without NumPy.

The runtimes in C of protobuf 5 to 7 agree on all of it but two questions, which
a :class:`Dialect` answers.
"""

from typing import NamedTuple

VARINT, I64, LEN, START_GROUP, END_GROUP, I32 = range(6)
NO_KIND, BYTES, FLOAT, INT64 = range(4)

DEEPEST = 100
"""How deep messages and groups may nest in the outermost message."""


class RejectedError(ValueError):
    """Bytes that are not an Example."""


class Dialect(NamedTuple):
    """What protobuf runtimes disagree on."""

    length_bytes: int
    """Longest varint that may be a length: 10 up to protobuf 6, then 5."""
    zero_in_groups: bool
    """Whether a group that is skipped may hold fields with the number 0: since protobuf 7."""


PACKAGE = Dialect(length_bytes=10, zero_in_groups=False)
"""What the package holds to."""


class Field(NamedTuple):
    """A field of a message; a group is one field, `start` at its tag, `stop` after its end."""

    number: int
    wire_type: int
    start: int
    stop: int


class Feature(NamedTuple):
    kind: int
    values: tuple[int, ...] | tuple[bytes, ...]


ABSENT = Feature(NO_KIND, ())


def varint(data: bytes, at: int, most: int = 10) -> tuple[int, int]:
    number = 0
    for size, byte in enumerate(data[at : at + most]):
        number |= (byte & 0x7F) << 7 * size
        if byte < 0x80:
            return number % 2**64, at + size + 1
    raise RejectedError("a varint that does not end")


def varints(data: bytes) -> list[int]:
    at, found = 0, []
    while at < len(data):
        number, at = varint(data, at)
        found.append(number)
    return found


def tag(data: bytes, at: int) -> tuple[int, int, int]:
    word, at = varint(data, at, 5)
    if word >= 2**32:
        raise RejectedError("a tag of more than 32 bits")
    return word >> 3, word & 7, at


def fields(data: bytes, dialect: Dialect = PACKAGE, depth: int = 0) -> list[Field]:
    at, found = 0, []
    while at < len(data):
        start = at
        number, wire_type, at = tag(data, at)
        if number == 0:
            raise RejectedError("a field with the number 0")
        begin, at = value(data, number, wire_type, at, dialect, depth)
        found.append(Field(number, wire_type, start if wire_type == START_GROUP else begin, at))
    return found


def value(
    data: bytes, number: int, wire_type: int, at: int, dialect: Dialect, depth: int
) -> tuple[int, int]:
    """Return where a field's value starts and stops."""
    length = 0
    match wire_type:
        case 0:
            return at, varint(data, at)[1]
        case 1:
            length = 8
        case 2:
            length, at = varint(data, at, dialect.length_bytes)
        case 3:
            return at, end_of_group(data, number, at, dialect, depth + 1)
        case 5:
            length = 4
        case _:
            raise RejectedError("a group that ends without a start, or an unknown wire type")
    if at + length > len(data):
        raise RejectedError("a value that does not end in its message")
    return at, at + length


def end_of_group(data: bytes, group: int, at: int, dialect: Dialect, depth: int) -> int:
    if depth > DEEPEST:
        raise RejectedError("groups nested too deep")
    while True:
        number, wire_type, at = tag(data, at)
        if wire_type == END_GROUP and number == group:
            return at
        if number == 0 and not dialect.zero_in_groups:
            raise RejectedError("a field with the number 0")
        _, at = value(data, number, wire_type, at, dialect, depth)


def submessages(data: bytes, number: int, dialect: Dialect, depth: int) -> list[bytes]:
    return [
        data[field.start : field.stop]
        for field in fields(data, dialect, depth)
        if field.number == number and field.wire_type == LEN
    ]


def list_values(
    data: bytes, kind: int, dialect: Dialect = PACKAGE, depth: int = 4
) -> tuple[int, ...] | tuple[bytes, ...]:
    """Return the values of a BytesList, FloatList or Int64List, packed or not."""
    strings: list[bytes] = []
    numbers: list[int] = []
    for number, wire_type, start, stop in fields(data, dialect, depth):
        content = data[start:stop]
        if number != 1:
            continue
        if kind == BYTES and wire_type == LEN:
            strings.append(content)
        elif kind == FLOAT and wire_type in {LEN, I32}:
            if len(content) % 4:
                raise RejectedError("part of a float")
            cuts = range(0, len(content), 4)
            numbers += (int.from_bytes(content[i : i + 4], "little") for i in cuts)
        elif kind == INT64 and wire_type in {LEN, VARINT}:
            numbers += (n - 2**64 if n >= 2**63 else n for n in varints(content))
    return tuple(strings) if kind == BYTES else tuple(numbers)


def feature(contents: list[bytes], dialect: Dialect = PACKAGE, depth: int = 3) -> Feature:
    """Return what several Feature messages make, merged."""
    kind: int = NO_KIND
    values: tuple[int, ...] | tuple[bytes, ...] = ()
    for content in contents:
        for number, wire_type, start, stop in fields(content, dialect, depth):
            if wire_type == LEN and number in {BYTES, FLOAT, INT64}:
                more = list_values(content[start:stop], number, dialect, depth + 1)
                values = (*values, *more) if number == kind else more
                kind = number
    return Feature(kind, values)


class Entry(NamedTuple):
    """A map entry."""

    key: bytes
    values: list[bytes]
    """Features, or FeatureLists."""
    counts: bool
    """Whether the entry counts: the runtime puts one with an unknown field aside, whole."""


def entries(data: bytes, dialect: Dialect = PACKAGE, number: int = 1) -> list[Entry]:
    """Return the map entries of an Example, or in a field of another, as they are stored."""
    found = []
    for features in submessages(data, number, dialect, depth=0):
        for content in submessages(features, 1, dialect, depth=1):
            key, values, counts = b"", [], True
            for part, wire_type, start, stop in fields(content, dialect, depth=2):
                if part == 1 and wire_type == LEN:
                    key = content[start:stop]
                    check_utf8(key)
                elif part == 2 and wire_type == LEN:
                    values.append(content[start:stop])
                else:
                    counts = False
            found.append(Entry(key, values, counts))
    return found


def check_utf8(key: bytes) -> None:
    try:
        key.decode()
    except UnicodeDecodeError:
        raise RejectedError("a key that is not UTF-8") from None


def parse(
    data: bytes, asked: set[bytes] | None = None, dialect: Dialect = PACKAGE
) -> dict[bytes, Feature]:
    """Return the features of an Example, the last of each key.

    With `asked`, only those; the others are not looked into.
    """
    found = {}
    for key, contents, counts in entries(data, dialect):
        if asked is None or key in asked:
            parsed = feature(contents, dialect)
            if counts:
                found[key] = parsed
    return found


class Sequence(NamedTuple):
    context: dict[bytes, Feature]
    lists: dict[bytes, list[Feature]]


def parse_sequence(
    data: bytes,
    context: set[bytes] | None = None,
    lists: set[bytes] | None = None,
    dialect: Dialect = PACKAGE,
) -> Sequence:
    """Return the context and the feature lists of a SequenceExample, the last of each key.

    With `context` and `lists`, only those; the others are not looked into.
    """
    found = {}
    for key, contents, counts in entries(data, dialect, number=2):
        if lists is None or key in lists:
            steps = [
                feature([step], dialect, depth=4)
                for content in contents
                for step in submessages(content, 1, dialect, depth=3)
            ]
            if counts:
                found[key] = steps
    # Both messages have their Features in field 1.
    return Sequence(parse(data, context, dialect), found)
