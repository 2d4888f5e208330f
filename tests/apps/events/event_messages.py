"""Events for tests, and what the protobuf runtime makes of them."""

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tfrecord_lite import Block, parse_tensor, serialize_tensor, testing
from tfrecord_lite.apps.events.parse import Tags, parse_events
from tfrecord_lite.apps.events.series import decode
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.messages import Event, HistogramProto, Summary, SummaryMetadata
from tfrecord_lite.messages.tensor_pb2 import TensorProto, TensorShapeProto
from tfrecord_lite.testing import damaged_messages, encodings

FORMS = ("simple_value", "image", "histo", "audio", "tensor")


class Row(NamedTuple):
    """A value."""

    tag: str
    step: int
    wall_time: bytes
    """The bits of the float64."""
    form: str
    content: Any
    """float32 for a number; the serialised message; a tensor's dtype, shape and content."""


def metadata(plugin: str) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))


def tensor(array: Any) -> TensorProto:
    return TensorProto.FromString(serialize_tensor(array))


def float_tensor(number: float) -> TensorProto:
    """Return a scalar as programs other than TensorFlow write it."""
    bits = int.from_bytes(struct.pack("<f", number), "little")
    return TensorProto(dtype=1, tensor_shape=TensorShapeProto(), float_val=[bits])


def event(step: int, *values: Summary.Value, wall_time: float = 0.0) -> bytes:
    summary = Summary(value=values)
    return Event(wall_time=wall_time, step=step, summary=summary).SerializeToString()


VERSION = Event(wall_time=1.5e9, file_version="brain.Event:2").SerializeToString()

TENSORS = [
    tensor(np.float32(0.5)), float_tensor(-2), tensor(np.float64(0.1)), tensor(np.int32(1)),
    tensor(np.ones(1, np.float32)), tensor(np.ones((2, 3))), tensor(np.zeros(40)),
    tensor(np.array([b"4", b"3", b"png"], object)), tensor("text"), TensorProto(),
    TensorProto(dtype=1, tensor_content=b"abc"), TensorProto(dtype=1, tensor_content=bytes(8)),
    TensorProto(dtype=3, tensor_content=bytes(4)), TensorProto(tensor_content=bytes(4)),
    TensorProto(dtype=1), TensorProto(dtype=99), TensorProto(dtype=1, float_val=[1, 2]),
    TensorProto(dtype=1, float_val=[1], tensor_content=b"\0\0\x80?"),
    TensorProto(dtype=1, double_val=[1]),
]  # fmt: skip
"""Tensors that are a single float, and others that nearly are."""

_tensors = st.one_of(
    testing.float32s().map(np.float32).map(tensor),
    testing.float32s().map(float_tensor),
    st.sampled_from(TENSORS),
)
_tags = st.one_of(st.sampled_from(["loss", "a/b", "", "\N{SNOWMAN}", "t" * 300]), testing.keys())


@st.composite
def values(draw: DrawFn) -> Summary.Value:
    value = Summary.Value(tag=draw(_tags))
    if draw(st.booleans()):
        plugins = ["scalars", "images", "text", "histograms", "audio", "mine"]
        value.metadata.CopyFrom(metadata(draw(st.sampled_from(plugins))))
    match draw(st.sampled_from([*FORMS, "oldest", "none", "simple_value", "tensor", "tensor"])):
        case "simple_value":
            value.simple_value = draw(testing.float32s())
        case "image":
            value.image.CopyFrom(Summary.Image(width=3, encoded_image_string=b"png"))
        case "histo":
            value.histo.CopyFrom(HistogramProto(min=-1, max=2, bucket=[1, 0], bucket_limit=[1, 2]))
        case "audio":
            value.audio.CopyFrom(Summary.Audio(encoded_audio_string=b"wav"))
        case "tensor":
            value.tensor.CopyFrom(draw(_tensors))
        case "oldest":
            value.obsolete_old_style_histogram = b"old"
    return value


@st.composite
def events(draw: DrawFn) -> Event:
    message = Event(wall_time=draw(st.floats()), step=draw(testing.int64s()))
    match draw(st.sampled_from(["summary", "summary", "summary", "graph", "version", "none"])):
        case "summary":
            message.summary.CopyFrom(Summary(value=draw(st.lists(values(), max_size=3))))
        case "graph":
            message.graph_def = b"graph"
        case "version":
            message.file_version = "brain.Event:2"
    return message


@st.composite
def batches(draw: DrawFn, *, damaged: bool = False) -> list[bytes]:
    """Return serialised events: a few different ones, in numbers that are read in lockstep."""
    some = []
    for _ in range(draw(st.integers(1, 4))):
        message = draw(events())
        ways = [st.just(message.SerializeToString()), encodings(message)]
        if damaged:
            ways += [damaged_messages(message), st.binary(max_size=20)]
        some.append(draw(st.one_of(ways)))
    order = st.lists(st.integers(0, len(some) - 1), max_size=60)
    return [*some, *(some[i] for i in draw(order))]


def accepts(message: bytes) -> bool:
    try:
        Event.FromString(message)
    except (DecodeError, UnicodeDecodeError):
        return False
    return True


def _outcome(serialized: bytes | np.float32) -> Any:
    """Return a tensor, or why it is not one."""
    try:
        array = (
            parse_tensor(serialized)
            if isinstance(serialized, bytes)
            else decode("tensors", 8, serialized)
        )
    except InvalidArgumentError as error:
        return error.reason
    return array.dtype.str, array.shape, array.tolist() if array.dtype == object else repr(array)


def rows_of_runtime(messages: Iterable[bytes]) -> list[Row]:
    found = []
    for message in messages:
        parsed = Event.FromString(message)
        parsed.DiscardUnknownFields()
        for value in parsed.summary.value:
            form = value.WhichOneof("value")
            if form not in FORMS:
                continue
            content = getattr(value, form)
            if form == "simple_value":
                content = repr(np.float32(content))
            else:
                content = content.SerializeToString(deterministic=True)
                content = _outcome(content) if form == "tensor" else content
            time = struct.pack("<d", parsed.wall_time)
            found.append(Row(value.tag, parsed.step, time, form, content))
    return found


_FIELDS = {2: "simple_value", 4: "image", 5: "histo", 6: "audio", 8: "tensor"}
_CLASSES: dict[str, Any] = {"image": Summary.Image, "histo": HistogramProto, "audio": Summary.Audio}


def rows_of_engine(block: Block) -> list[Row]:
    """Read the values of events with the package, and bring them into the same form."""
    tags = Tags()
    found = []
    values = parse_events(block, tags)
    for i in range(len(values)):
        form = _FIELDS[int(values.form[i])]
        number = np.float32(values.number[i])
        if form == "simple_value":
            assert values.is_number[i]
            content: Any = repr(number)
        elif form == "tensor":
            content = _outcome(number if values.is_number[i] else values.stored[i])
        else:
            message = _CLASSES[form].FromString(values.stored[i])
            message.DiscardUnknownFields()
            content = message.SerializeToString(deterministic=True)
        time = struct.pack("<d", values.wall_time[i])
        found.append(Row(tags.names[values.tag[i]], int(values.step[i]), time, form, content))
    return found
