"""The tree of fields of a message of any type: as the protobuf runtime reads it, or by the names of its class."""

import struct
from typing import Any

import numpy as np
import pytest
from google.protobuf import empty_pb2
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.samples import JPEG, TENSOR
from tests.support.foreign_messages import CLASSES, RECORDS, Frame
from tfrecord_lite.apps.outline import leaves, message_tree, raw_tree, tree_of
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.content import ContentType, detect, parse_message
from tfrecord_lite.messages import Event
from tfrecord_lite.sniff import recognize_value, text_of
from tfrecord_lite.wire.scalar import END_GROUP, I32, I64, LEN, START_GROUP, VARINT, varint


def parsed(data: bytes) -> Any:
    """Return the fields of a message of an unknown type, by the protobuf runtime; None if it is none."""
    try:
        found: Any = UnknownFieldSet(empty_pb2.Empty.FromString(data))
    except DecodeError:
        return None
    # upb takes a field of number 0, which protoc and the specification do not.
    return None if any(field.field_number == 0 for field in found) else found


def check(expected: Any, tree: Any, depth: int = 0) -> None:
    """Compare a tree with the fields that the runtime finds: all, in order, of bytes those of messages."""
    assert [name for name, _ in tree] == [str(field.field_number) for field in expected]
    for field, (_, value) in zip(expected, tree, strict=True):
        data = field.data
        if field.wire_type == VARINT:
            assert value == data
        elif field.wire_type in (I32, I64):
            size = 4 if field.wire_type == I32 else 8
            assert value.tobytes() == data.to_bytes(size, "little")
            assert value.dtype.kind in "fu"
        elif field.wire_type == START_GROUP:
            check(data, value, depth)
        elif isinstance(value, list):
            check(parsed(data), value, depth + 1)
        else:
            assert value == data
            is_message = bool(data) and parsed(data) is not None and depth < 10
            is_more = recognize_value(data).label != "bytes" and not data.startswith(b"\n")
            assert is_more or not is_message


def tagged(number: int, wire_type: int, content: bytes) -> bytes:
    head = varint(number << 3 | wire_type)
    if wire_type == LEN:
        return head + varint(len(content)) + content
    return head + content + (varint(number << 3 | END_GROUP) if wire_type == START_GROUP else b"")


NUMBERS = st.integers(1, 40) | st.integers(1, 2**29 - 1)
PLAIN = st.one_of(
    st.tuples(st.just(VARINT), st.integers(0, 2**64 - 1).map(varint)),
    st.tuples(st.just(I32), st.binary(min_size=4, max_size=4)),
    st.tuples(st.just(I32), st.floats(width=32).map(lambda x: struct.pack("<f", x))),
    st.tuples(st.just(I64), st.floats().map(lambda x: struct.pack("<d", x))),
    st.tuples(st.just(LEN), st.binary(max_size=20) | st.text(max_size=20).map(str.encode)),
    st.tuples(st.just(LEN), st.sampled_from([JPEG[:100], TENSOR])),
)
MESSAGES = st.recursive(
    st.lists(st.tuples(NUMBERS, PLAIN)).map(
        lambda fields: b"".join(tagged(n, *field) for n, field in fields)
    ),
    lambda inner: st.lists(
        st.tuples(NUMBERS, st.sampled_from([LEN, START_GROUP]), inner), max_size=4
    ).map(lambda fields: b"".join(tagged(*field) for field in fields)),
)


@given(MESSAGES)
def test_a_tree_is_what_the_runtime_finds(data: bytes) -> None:
    check(parsed(data), raw_tree(data))


@given(st.binary(max_size=60))
def test_other_bytes_are_no_tree(data: bytes) -> None:
    expected, tree = parsed(data), raw_tree(data)
    assert (tree is None) == (expected is None)


def test_a_message_that_begins_with_a_string_is_no_text() -> None:
    name = b"a name of more than 32 characters, all of them text"
    assert raw_tree(tagged(3, LEN, tagged(1, LEN, name))) == [("3", [("1", name)])]
    assert raw_tree(tagged(3, LEN, b"\n" + name)) == [("3", b"\n" + name)]


def test_bytes_are_looked_at_ten_deep() -> None:
    data = b"\x08\x01"
    for _ in range(13):
        data = tagged(1, LEN, data)
    tree, depth = raw_tree(data), 0
    while isinstance(tree, list):
        tree, depth = tree[0][1], depth + 1
    assert depth == 11
    assert tree == b"\n\x04\n\x02\x08\x01"


@pytest.mark.parametrize(("value", "expected"), [
    (0.0, "f"), (1.5, "f"), (1e17, "f"), (1e-11, "f"), (1e19, "u"), (float("nan"), "u"),
    (5e-324, "u"), (float("-inf"), "u"),
])  # fmt: skip
def test_a_fixed_number_is_a_float_of_usual_size(value: float, expected: str) -> None:
    (double,) = raw_tree(tagged(1, I64, struct.pack("<d", value))) or [("", None)]
    (single,) = raw_tree(tagged(1, I32, struct.pack("<f", value))) or [("", None)]
    assert [double[1].dtype.str, single[1].dtype.str[1]] == [
        f"<{expected}8",
        expected if abs(value) != 5e-324 else "f",
    ]


@pytest.mark.parametrize("name", RECORDS)
def test_real_messages_without_and_with_their_class(name: str) -> None:
    record = RECORDS[name](1)
    content, message = detect(record), CLASSES[name].FromString(record)
    assert content.type is ContentType.PROTOBUF
    check(parsed(record), tree_of(content))
    assert tree_of(content) == raw_tree(record)
    for field, value in message.ListFields():
        if field.message_type is None:
            values = [value] if isinstance(value, (str, int, float)) else [*value]
            assert leaves(message_tree(message))[field.name] == values


def test_names_of_a_class() -> None:
    found = leaves(message_tree(Frame.FromString(RECORDS["Frame"](1))))
    assert found["context.stats.location"] == ["location_sf"]
    assert found["images.image"] == [JPEG, JPEG]
    assert found["images.pose.transform"] == [1.0, 0.0, 0.0, 0.5] * 2
    assert isinstance(found["images.shutter"][0], np.float32)


def test_maps_enums_and_tensors() -> None:
    from google.protobuf import struct_pb2, type_pb2

    value = struct_pb2.Struct()
    value.update({"a": 1.5, "b": {"c": None}})
    assert sorted(message_tree(value)) == [
        ("fields['a']", [("number_value", 1.5)]),
        ("fields['b']", [("struct_value", [("fields['c']", [("null_value", "NULL_VALUE")])])]),
    ]
    with pytest.raises(
        InvalidArgumentError, match=r"the 1 byte.* are not a google.protobuf.ListValue"
    ):
        tree_of(detect(b"x"), struct_pb2.ListValue)
    assert tree_of(detect(b"\x08\x01"), struct_pb2.ListValue) == [("1", 1)]
    event = Event(wall_time=2.0)
    assert message_tree(event) == [("wall_time", 2.0), ("step", 0)]
    assert message_tree(Event()) == []
    assert ("kind", "TYPE_UNKNOWN") in message_tree(type_pb2.Field(name="f"))
    event.summary.value.add(tag="t").tensor.ParseFromString(TENSOR)
    record = event.SerializeToString()
    assert leaves(tree_of(detect(record)) or [])["summary.value.tensor"] == [TENSOR]
    assert parse_message(record, Event) == event
    # An event whose text is none is shown by number.
    broken = record + b"\x1a\x02\xff\xfe"
    assert ("3", b"\xff\xfe") in (tree_of(detect(broken)) or [])


def test_what_is_no_other_message_has_no_tree() -> None:
    for record in (b"some text", b"", JPEG, RECORDS["Frame"](0)[:-3]):
        assert tree_of(detect(record)) is None
    assert text_of(b"some text") is not None
    assert len(raw_tree(RECORDS["NoteSequence"](0), most=2) or []) == 2
