r"""What a record holds, told from its bytes.

A record does not say what it is, and protobuf is lenient: almost any message
parses as almost any other, with what does not fit set aside as unknown fields,
and several that matter here share their first field::

    Example                  1: Features {1: map<string, Feature>}
    SequenceExample          1: Features                  2: FeatureLists {1: map<string, FeatureList>}
    ExampleListWithContext   1: Example, repeated         2: Example
    Event (TensorBoard)      1: double wall_time          2: int64 step      3: string file_version, ...

So a message is taken for one of the first two only if nothing in it is unknown,
a feature has a kind, and no name begins with the byte ``\n``, the tag of a field. The
last tells an ExampleListWithContext apart: read as one of the others, its names do. A SequenceExample without feature lists has the
same bytes as an Example, and is called one.

Whether a record is text, or any protobuf message at all, is a guess.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import TypeIs

    from tfrecord_lite.messages import Example, Feature, SequenceExample

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_EVENT_FIELDS = {1: 1, 2: 0, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 2, 10: 2}  # wire types
_LATEST_SECONDS = 2.0**35  # a wall time beyond the year 3000 is none
_MOST_FIELDS = 1000  # so many that fit are proof enough
_MOST_FIELD_NUMBER = 1000  # messages of greater ones exist, and are rarer than such a chance


class Kind(StrEnum):
    """What a record holds."""

    EXAMPLE = "tf.train.Example"
    SEQUENCE_EXAMPLE = "tf.train.SequenceExample"
    EXAMPLE_LIST = "ExampleListWithContext"
    EVENT = "TensorBoard event"
    PROTOBUF = "other protobuf?"
    TEXT = "text"
    EMPTY = "empty"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ExampleList:
    """An ExampleListWithContext, as learning to rank uses it."""

    context: Example
    examples: list[Example]


Message: TypeAlias = "Example | SequenceExample | ExampleList"


@dataclass(frozen=True, slots=True)
class Content:
    """A record, and what it was told to be."""

    kind: Kind
    record: bytes
    message: Message | None = None
    """For the first three kinds."""


def tell(record: bytes, likely: Kind | None = None) -> Content:
    """Tell what a record holds.

    Parameters
    ----------
    record : bytes
        The whole of it.
    likely : Kind, optional
        What the records around it hold: decides where the bytes leave it open,
        such as for an empty record, which is an Example without features.
    """
    if likely is not None and (message := _parse(record, likely)) is not None:
        return Content(likely, record, message)
    if not record:
        return Content(Kind.EMPTY, record)
    for kind in (Kind.SEQUENCE_EXAMPLE, Kind.EXAMPLE, Kind.EXAMPLE_LIST):
        message = _parse(record, kind)
        if message is not None and _is_plausible(message):
            return Content(kind, record, message)
    fields = list(islice(_fields(record), _MOST_FIELDS))
    is_wire = bool(fields) and None not in fields
    if is_wire and _is_event([field for field in fields if field is not None]):
        return Content(Kind.EVENT, record)
    # A text can pass for a message by chance; only one that begins with a string field
    # is taken for a message first.
    if not (is_wire and record[0] == 0x0A) and text_of(record) is not None:
        return Content(Kind.TEXT, record)
    return Content(Kind.PROTOBUF if is_wire else Kind.UNKNOWN, record)


def guess(records: Iterable[bytes]) -> list[Kind]:
    """Tell what each of some records holds; every kind once, the most frequent first."""
    kinds = [tell(record).kind for record in records]
    found = sorted(dict.fromkeys(kinds), key=kinds.count, reverse=True)
    if Kind.EXAMPLE in found and Kind.SEQUENCE_EXAMPLE in found:
        found.remove(Kind.EXAMPLE)  # those have a context only
    if Kind.EMPTY in found and len(found) > 1:
        found.remove(Kind.EMPTY)
    return found


def is_sequence(message: Example | SequenceExample) -> TypeIs[SequenceExample]:
    """Tell the two apart, without importing them."""
    return hasattr(message, "feature_lists")


def text_of(data: bytes) -> str | None:
    r"""Return bytes as text if they are UTF-8 without control characters but ``\t\n\r``."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _parse(record: bytes, kind: Kind) -> Message | None:
    """Parse a record as one kind of message; None if it is not, or not without unknown fields."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

    from tfrecord_lite.messages import Example, SequenceExample  # noqa: PLC0415 - not light

    if kind is Kind.EXAMPLE_LIST:
        return _parse_list(record)
    if kind not in (Kind.EXAMPLE, Kind.SEQUENCE_EXAMPLE):
        return None
    cls = Example if kind is Kind.EXAMPLE else SequenceExample
    try:
        message = cls.FromString(record)
    except (DecodeError, UnicodeDecodeError):
        return None
    message.DiscardUnknownFields()
    n_bytes = message.ByteSize()
    # A message may take other bytes than it came in, if a list was not packed; so parse it
    # again. (The runtime in Python would not see a change of its size after the first look.)
    is_known = n_bytes == len(record) or n_bytes == cls.FromString(record).ByteSize()
    return message if is_known else None


def _parse_list(record: bytes) -> ExampleList | None:
    """Parse an ExampleListWithContext."""
    from tfrecord_lite.messages import Example  # noqa: PLC0415 - not light

    context, examples = Example(), []
    for field in _fields(record):
        if field is None or field[0] not in (1, 2) or field[1] != 2:
            return None
        message = _parse(field[2], Kind.EXAMPLE)
        if not isinstance(message, Example):
            return None
        if field[0] == 1:
            examples.append(message)
        else:
            context.MergeFrom(message)
    return ExampleList(context, examples)


def _is_plausible(message: Message) -> bool:
    """Whether a message that parses makes sense too."""
    if isinstance(message, ExampleList):
        parts = [part for part in (message.context, *message.examples) if part.ByteSize()]
        return bool(parts) and all(map(_is_plausible, parts))
    if is_sequence(message):
        lists = message.feature_lists.feature_list
        names = [*lists, *message.context.feature]
        return bool(lists) and all(map(_is_name, names))
    features = message.features.feature
    return any(map(_has_kind, features.values())) and all(map(_is_name, features))


def _has_kind(feature: Feature) -> bool:
    return feature.WhichOneof("kind") is not None


def _is_name(name: str) -> bool:
    return not name.startswith("\n")


def _is_event(fields: list[tuple[int, int, bytes]]) -> bool:
    """Whether top-level fields are those of a TensorBoard event."""
    number, wire_type, data = fields[0]
    if number != 1 or wire_type != 1:  # without a wall time there are no events
        return False
    if not 0 <= struct.unpack("<d", data)[0] < _LATEST_SECONDS:
        return False
    return all(_EVENT_FIELDS.get(number) == wire_type for number, wire_type, _ in fields)


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes] | None]:
    """Yield number, wire type and content of a message's fields; None where it is malformed."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        start = at
        if wire_type == 0:
            at = _varint(data, at)[1]
        elif wire_type == 2:
            length, start = _varint(data, at)
            at = start + length
        else:
            at += {1: 8, 5: 4}.get(wire_type, len(data) + 1)
        if not 1 <= number <= _MOST_FIELD_NUMBER or at > len(data):
            yield None
            return
        yield number, wire_type, data[start:at]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint; return it and where it ends, which is out of reach if it does not."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return 0, len(data) + 1
