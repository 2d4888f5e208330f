"""TFRecordReader.messages: records of any protobuf class."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.errors import raised
from tests.support.parameter_ids import named
from tests.support.small_files import write_records
from tfrecord_lite import TFRecordReader, testing
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.content import ContentType, detect
from tfrecord_lite.messages import Example, ExampleListWithContext, Int64List, SequenceExample
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import encodings

BAD = b"\x0a\x05abc"


def file_of(*records: bytes) -> io.BytesIO:
    return io.BytesIO(bytes(frame(records)))


@given(st.lists(testing.examples(allow_nan=False), max_size=5), st.data())
def test_messages_come_back_in_whatever_encoding(items: list[Example], data: st.DataObject) -> None:
    records = [data.draw(encodings(item, unknown_fields=False)) for item in items]
    assert list(TFRecordReader(file_of(*records)).messages(Example)) == items


@pytest.mark.parametrize("message", [
    Int64List(value=[1, -1]), SequenceExample(),
    FileDescriptorProto(name="a.proto", dependency=["b.proto"]),
], ids=lambda message: type(message).__name__)  # fmt: skip
def test_any_class_will_do(message: Message) -> None:
    file = file_of(message.SerializeToString(), b"")
    found = list(TFRecordReader(file).messages(type(message)))
    assert found == [message, type(message)()]


def test_a_malformed_record_is_named_after_all_before_it(tmp_path: Path) -> None:
    good = [Int64List(value=[n]).SerializeToString() for n in range(100)]
    path = tmp_path / "a.tfrecord"
    write_records(path, [*good, BAD, *good])
    messages = TFRecordReader(path).messages(Int64List)
    assert [next(messages).value[0] for _ in good] == list(range(100))
    error = raised(InvalidArgumentError, next, messages)
    assert (error.reason, error.source, error.index) == (Reason.MALFORMED, str(path), 100)
    assert error.offset == len(frame(good))


def message_class(syntax: str, *kinds: int) -> Any:
    """Return a class whose field 1 is a message whose field 1 is one, ..., of at last another kind."""
    file = FileDescriptorProto(name=f"{syntax}{kinds}.proto", package=syntax, syntax=syntax)
    outer = file.message_type.add(name=f"Level{len(kinds)}")
    for level, kind in enumerate(kinds):
        field = outer.field.add(name="value", number=1, type=kind, label=1)
        if kind == field.TYPE_MESSAGE:
            outer = file.message_type.add(name=f"Part{level}")
            field.type_name = f".{syntax}.{outer.name}"
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{syntax}.Level{len(kinds)}"))


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
@given(testing.examples(allow_nan=False))
def test_examples_are_not_read_as_messages_of_another_shape(syntax: str, item: Example) -> None:
    record, (double, integer, string, message, data) = item.SerializeToString(), (1, 3, 9, 11, 12)
    assume(detect(record).type is ContentType.EXAMPLE)
    others = [(double,), (integer,), (string,), (message, string), (message, message, integer)]
    for kinds in others:
        messages = TFRecordReader(file_of(record)).messages(message_class(syntax, *kinds))
        error = raised(InvalidArgumentError, next, messages, match=r"Examples.*examples\(\) reads")
        assert (error.reason, error.index) == (Reason.MALFORMED, 0)
    for kinds in ((data,), (message, data), (message, message, string)):
        cls = message_class(syntax, *kinds)
        assert list(TFRecordReader(file_of(record)).messages(cls)) == [cls.FromString(record)]


def test_other_messages_are_not_read_as_examples(tmp_path: Path) -> None:
    frame_class = message_class("proto2", 11, 9)
    record = frame_class(value={"value": "segment"}).SerializeToString()
    sequence = SequenceExample()
    sequence.feature_lists.feature_list["x"].feature.add()
    example = Example()
    example.features.feature["x"].int64_list.value.append(1)
    refused = [(Example, record), (SequenceExample, record), (Example, sequence)]
    for cls, other in refused:
        data = other if isinstance(other, bytes) else other.SerializeToString()
        files = [tmp_path / "first", tmp_path / "second"]
        files[0].write_bytes(frame([example.SerializeToString()]))
        files[1].write_bytes(frame([data]))
        messages: Iterator[Any] = TFRecordReader(files).messages(cls)
        next(messages)
        raised(InvalidArgumentError, next, messages, match=r"second: record 0.*not")
    for data in (record, example.SerializeToString()):
        with pytest.raises(InvalidArgumentError, match=r"record 0.*not"):
            next(TFRecordReader(file_of(data)).messages(ExampleListWithContext))
    lists = ExampleListWithContext(examples=[example])
    found = TFRecordReader(file_of(lists.SerializeToString())).messages(ExampleListWithContext)
    assert list(found) == [lists]
    assert list(TFRecordReader(file_of(b"")).messages(Example)) == [Example()]


@pytest.mark.parametrize("given", [int, "Example", None, Int64List.FromString], ids=named)
def test_what_is_no_class_of_messages_is_a_type_error_at_once(given: Any) -> None:
    raised(TypeError, TFRecordReader(file_of()).messages, given, match="protobuf message class")
