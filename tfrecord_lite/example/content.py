r"""What a record holds, detected from its bytes.

A record does not say what it is, and protobuf is lenient: almost any message parses as
almost any other, with the rest kept as unknown fields, and several messages that matter here
share their first field::

    Example                  1: Features {1: map<string, Feature>}
    SequenceExample          1: Features                  2: FeatureLists {1: map<string, FeatureList>}
    ExampleListWithContext   1: Example, repeated         2: Example
    Event (TensorBoard)      1: double wall_time          2: int64 step      3: string file_version, ...
    TensorProto              1: DataType                  2: TensorShapeProto

So a record counts as one of the first two only if it has no unknown fields, a feature has a
kind or all have a value without one, and no name begins with the byte ``\n``, the tag of a field: such names
appear when an ExampleListWithContext is read as something else. A SequenceExample without feature lists has
the same bytes as an Example, and is reported as one. Whether a record is text, or any protobuf message
at all, is a guess.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.proto import FEATURES_TAG
from tfrecord_lite.sniff import recognize_value, text_of
from tfrecord_lite.wire.scalar import LEN, START_GROUP, WireError, walk

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tfrecord_lite.block import Block, Place
    from tfrecord_lite.messages import Example, ExampleListWithContext, SequenceExample


_EVENT_FIELDS = {1: 1, 2: 0, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 2, 10: 2}  # wire types
_MAX_WALL_TIME = 2.0**35  # seconds; a time beyond the year 3000 is not a wall time
_N_FIRST = 8
"""So many records show whether a record that cannot be read is of another type, or damaged alone."""
_MAX_FIELDS = 1000  # that many well-formed fields are proof enough
_MAX_FIELD_NUMBER = 1000  # larger numbers are rarer in messages than by chance


class ContentType(StrEnum):
    """What a record holds."""

    EXAMPLE = "tf.train.Example"
    SEQUENCE_EXAMPLE = "tf.train.SequenceExample"
    EXAMPLE_LIST = "ExampleListWithContext"
    EVENT = "TensorBoard event"
    TENSOR = "serialized tensor"
    PROTOBUF = "other protobuf?"
    TEXT = "text"
    EMPTY = "empty"
    UNKNOWN = "unknown"


_MESSAGES = (ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE, ContentType.EXAMPLE_LIST)
"""The types whose messages have a class here, by their names."""

_TYPES = {
    "tensorflow.Example": (ContentType.EXAMPLE,),
    "tensorflow.SequenceExample": (ContentType.SEQUENCE_EXAMPLE, ContentType.EXAMPLE),
    "tensorflow.serving.ExampleListWithContext": (ContentType.EXAMPLE_LIST,),
}
"""What records of these classes may hold."""

_OTHERS = {
    ContentType.SEQUENCE_EXAMPLE: "have feature lists, so they are SequenceExamples, not {expected}s; "
    "read them with sequence_examples(), batches of them with read_batches or parse_sequence_example",
    ContentType.EXAMPLE_LIST: "look like lists of Examples with a context; read them with "
    "TFRecordReader(path).messages(tfrecord_lite.messages.ExampleListWithContext)",
    ContentType.EVENT: "are TensorBoard events, not {expected}s; tfrecord_lite.apps.events.read_events reads them",
    ContentType.TENSOR: "are serialized tensors, not {expected}s; {way_on}",
    ContentType.PROTOBUF: "look like messages of another type, not like {expected}s; "
    "TFRecordReader(path).messages(YourMessage) reads them, tfrecord head shows their fields",
    ContentType.TEXT: "look like text, not like {expected}s; tfrecord cat prints them",
    ContentType.UNKNOWN: "are no messages, so no {expected}s; iterating over TFRecordReader(path) returns their bytes",
}
"""What to say of records of another type than the wanted one."""


Message: TypeAlias = "Example | SequenceExample | ExampleListWithContext"
"""A message whose record has known content."""


class Content(NamedTuple):
    """A record, what it holds, and the message if it is one of the first three types."""

    type: ContentType
    record: bytes
    message: Message | None = None


def detect(record: bytes, likely: ContentType | None = None) -> Content:
    """Detect what a record holds.

    `likely` is what the records around it hold; it decides about an empty record, for instance, which is
    also an Example without features.
    """
    if likely is not None and (message := _parse(record, likely)) is not None:
        return Content(likely, record, message)
    if not record:
        return Content(ContentType.EMPTY, record)
    for type_ in (ContentType.SEQUENCE_EXAMPLE, ContentType.EXAMPLE, ContentType.EXAMPLE_LIST):
        message = _parse(record, type_)
        if message is not None and _is_plausible(message, len(record)):
            return Content(type_, record, message)
    fields = _fields(record, _MAX_FIELDS)
    if fields and _is_event(fields):
        return Content(ContentType.EVENT, record)
    if recognize_value(record).label.endswith(" tensor"):
        return Content(ContentType.TENSOR, record)
    # Text can parse as a message by chance; a message is more likely only if the record
    # begins with a string field.
    if not (fields and record.startswith(FEATURES_TAG)) and text_of(record) is not None:
        return Content(ContentType.TEXT, record)
    return Content(ContentType.PROTOBUF if fields else ContentType.UNKNOWN, record)


def detect_all(records: Iterable[bytes]) -> list[ContentType]:
    """Return what some records hold: each type once, the most frequent first."""
    types = [detect(record).type for record in records]
    kinds = sorted(dict.fromkeys(types), key=types.count, reverse=True)
    if ContentType.EXAMPLE in kinds and ContentType.SEQUENCE_EXAMPLE in kinds:
        kinds.remove(ContentType.EXAMPLE)  # SequenceExamples with a context only
    if ContentType.EMPTY in kinds and len(kinds) > 1:
        kinds.remove(ContentType.EMPTY)
    return kinds


def type_error(block: Block, number: int, *expected: ContentType) -> InvalidArgumentError | None:
    """Return the error about a record of another type; None if it is of a wanted one, or damaged.

    It is damaged if there is an Example among the first records of the block.
    """
    other = _other_type(block[number], expected)
    if other is None:
        return None
    is_guess = other in (ContentType.PROTOBUF, ContentType.UNKNOWN)
    firsts = block[:_N_FIRST] if is_guess else ()
    if any(record and not _other_type(record, expected) for record in firsts):
        return None
    return error_about(block.place(number), other, expected[0])


def check_class(block: Block, message_class: Any) -> None:
    """Raise if the first record is an Example that is not of this protobuf class, or the reverse."""
    name, record = message_class.DESCRIPTOR.full_name, block[0]
    types = _TYPES.get(name, ())
    if types and (error := type_error(block, 0, *types)) is not None:
        raise error
    actual = detect(record).type
    is_other = actual in (ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE) and actual not in types
    if not is_other or _has_features(message_class.DESCRIPTOR, record[0] >> 3):
        return
    reader = "examples()" if actual is ContentType.EXAMPLE else "sequence_examples()"
    detail = f"the records look like {actual}s, not like {name} messages; TFRecordReader(path).{reader} reads them"
    raise block.place(0).locate(InvalidArgumentError(Reason.MALFORMED, detail=detail))


def _has_features(descriptor: Any, number: int) -> bool:
    """Return whether a field of a class can hold Features, or FeatureLists: messages with entries that have a name."""
    for level, field_number in enumerate((number, 1, 1)):
        field = descriptor.fields_by_number.get(field_number)
        if field is None or field.type == field.TYPE_BYTES:
            return field is not None
        descriptor = field.message_type
        if descriptor is None:
            return level == 2 and field.type == field.TYPE_STRING
    return False


def error_about(
    place: Place, actual: ContentType, expected: ContentType = ContentType.EXAMPLE
) -> InvalidArgumentError:
    """Return the error about records of another type than the wanted one."""
    name, way_on = expected.removeprefix("tf.train."), way_on_of_tensors(place.source or "")
    detail = f"the records {_OTHERS[actual].format(expected=name, way_on=way_on)}"
    return place.locate(InvalidArgumentError(Reason.MALFORMED, detail=detail))


def way_on_of_tensors(source: str) -> str:
    """Say what reads the tensors of a file, which may be a shard of a saved data set."""
    shard = re.fullmatch(r"(.+)/([^/]+/[^/]+\.shard/[^/]+\.snapshot|chunks/chunk_\w+)", source)
    if shard is not None:
        return f"load({shard[1]!r}) reads the data set of which they are a part"
    return "parse_tensors(records) reads them, parse_tensor(record) one of them"


def _other_type(record: bytes, expected: Collection[ContentType]) -> ContentType | None:
    """Return the type of a record if it is not wanted; None if it is not known to be another."""
    if _is_plain_example(record):
        return None
    actual = detect(record).type
    if actual in expected or actual not in _OTHERS:
        return None
    if actual is ContentType.UNKNOWN and record.startswith(FEATURES_TAG):
        return None  # the beginning of an Example
    if actual is ContentType.PROTOBUF:
        for type_ in expected:
            # An Example may be without a value, or have fields that are not known here.
            odd = _parse(record, type_, with_unknown=True)
            if odd is not None and (_is_plausible(odd) or _parse(record, type_) is not None):
                return None
    return actual


def _is_plain_example(record: bytes) -> bool:
    """Return whether a record is one field of features, by its first name, without the protobuf runtime."""
    start, stop = 0, len(record)
    try:
        for part in "features", "entry", "key":
            number, wire_type, start, stop = next(walk(record, start, stop))
            if (number, wire_type) != (1, LEN) or (part == "features" and stop != len(record)):
                return False
    except (WireError, StopIteration):
        return False
    return not record.startswith(FEATURES_TAG, start)


def parse_message(record: bytes, message_class: Any) -> Any:
    """Parse a record by a protobuf class; raise InvalidArgumentError if it is not such a message."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    try:
        return message_class.FromString(record)
    except (DecodeError, UnicodeDecodeError):
        raise misfit_error(record, message_class) from None


def misfit_error(record: bytes, message_class: Any) -> InvalidArgumentError:
    """Return the error about a record that is not a message of a class."""
    name = message_class.DESCRIPTOR.full_name
    detail = f"the {len(record)} bytes of the record are not a {name}"
    return InvalidArgumentError(Reason.MALFORMED, detail=detail)


def is_sequence(message: Example | SequenceExample) -> TypeIs[SequenceExample]:
    """Return whether a message is a SequenceExample, without importing the class."""
    return hasattr(message, "feature_lists")


def is_list(message: Message) -> TypeIs[ExampleListWithContext]:
    """Return whether a message is an ExampleListWithContext, without importing the class."""
    return hasattr(message, "examples")


def _parse(record: bytes, type_: ContentType, *, with_unknown: bool = False) -> Message | None:
    """Parse a record as one type of message; None if it is not one, or has unknown fields."""
    from tfrecord_lite import messages  # noqa: PLC0415 - not light

    if type_ not in _MESSAGES:
        return None
    cls = getattr(messages, type_.removeprefix("tf.train."))
    try:
        message: Message = parse_message(record, cls)
    except InvalidArgumentError:
        return None
    if with_unknown:
        return message
    message.DiscardUnknownFields()
    n_bytes = message.ByteSize()
    # A message may take another number of bytes than it came in, if a list was not packed; so
    # parse it again. (The runtime in Python caches a message's size when it is first asked.)
    is_known = n_bytes == len(record) or n_bytes == cls.FromString(record).ByteSize()
    return message if is_known else None


def _is_plausible(message: Message, n_bytes: int | None = None) -> bool:
    """Return whether a message that parses, from so many bytes, also makes sense."""
    if is_list(message):
        parts = [part for part in (message.context, *message.examples) if part.ByteSize()]
        return bool(parts) and all(map(_is_plausible, parts))
    if is_sequence(message):
        lists = message.feature_lists.feature_list
        return bool(lists) and all(map(_is_name, [*lists, *message.context.feature]))
    features = message.features.feature
    has_kind = any(feature.WhichOneof("kind") is not None for feature in features.values())
    # Without any kind: features have values, if empty ones, where other messages have none at all.
    return (has_kind or message.ByteSize() == n_bytes) and all(map(_is_name, features))


def _is_name(name: str) -> bool:
    """Return whether a name is one, and not the entry of a map, as in a message of one more level."""
    if not name.startswith("\n"):
        return True
    data = name.encode()
    try:
        return not {field[:2] for field in walk(data, 0, len(data))} <= {(1, LEN), (2, LEN)}
    except WireError:
        return True


def _is_event(fields: list[tuple[int, int, bytes]]) -> bool:
    """Return whether top-level fields fit a TensorBoard event."""
    number, wire_type, data = fields[0]
    if number != 1 or wire_type != 1:  # every event has a wall time
        return False
    if not 0 <= struct.unpack("<d", data)[0] < _MAX_WALL_TIME:
        return False
    return all(_EVENT_FIELDS.get(number) == wire_type for number, wire_type, _ in fields)


def _fields(record: bytes, most: int | None = None) -> list[tuple[int, int, bytes]] | None:
    """Return number, wire type and content of a message's fields; None if it is not a message."""
    try:
        fields = list(islice(walk(record, 0, len(record)), most))
    except WireError:
        return None
    if any(n > _MAX_FIELD_NUMBER or wire_type == START_GROUP for n, wire_type, _, _ in fields):
        return None
    return [(number, wire_type, record[a:b]) for number, wire_type, a, b in fields]
