"""TFRecordReader.messages: records of any protobuf class."""

import io
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from tests.support.parameter_ids import named
from tfrecord_lite import TFRecordReader, TFRecordWriter, testing
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example, Int64List, SequenceExample
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import encodings

BAD = b"\x0a\x05abc"


def file_of(*records: bytes) -> io.BytesIO:
    return io.BytesIO(bytes(frame(records)))


@given(st.lists(testing.examples(allow_nan=False), max_size=5), st.data())
def test_messages_come_back_in_whatever_encoding(items: list[Example], data: st.DataObject) -> None:
    records = [data.draw(encodings(item, unknown_fields=False)) for item in items]

    assert list(TFRecordReader(file_of(*records)).messages(Example)) == items


@pytest.mark.parametrize(
    "message",
    [
        Int64List(value=[1, -1]),
        SequenceExample(),
        FileDescriptorProto(name="a.proto", dependency=["b.proto"]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_any_class_will_do(message: Message) -> None:
    file = file_of(message.SerializeToString(), b"")

    found = list(TFRecordReader(file).messages(type(message)))

    assert found == [message, type(message)()]


def test_a_malformed_record_is_named_after_all_before_it(tmp_path: Path) -> None:
    good = [Int64List(value=[n]).SerializeToString() for n in range(100)]
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for record in [*good, BAD, *good]:
            writer.write(record)
    messages = TFRecordReader(path).messages(Int64List)

    assert [next(messages).value[0] for _ in good] == list(range(100))
    with pytest.raises(InvalidArgumentError) as caught:
        next(messages)
    assert caught.value.reason is Reason.MALFORMED
    assert caught.value.source == str(path)
    assert caught.value.index == 100
    assert caught.value.offset == len(frame(good))


@pytest.mark.parametrize("given", [int, "Example", None, Int64List.FromString], ids=named)
def test_what_is_no_class_of_messages_is_a_type_error_at_once(given: Any) -> None:
    with pytest.raises(TypeError, match="protobuf message class"):
        TFRecordReader(file_of()).messages(given)
