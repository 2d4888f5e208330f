"""The message classes: their shape, their pool, and what the runtime makes of values."""

import copy
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.internal import api_implementation
from google.protobuf.message import Message

from tests.support import golden
from tests.support.skips import in_c
from tests.support.subprocesses import run_fresh
from tfrecord_lite import messages
from tfrecord_lite.messages import (
    BytesList,
    Event,
    Example,
    ExampleListWithContext,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    HistogramProto,
    Int64List,
    SequenceExample,
    Summary,
    SummaryMetadata,
    example_pb2,
    feature_pb2,
)
from tfrecord_lite.messages._pool import POOL

IN_C = api_implementation.Type() != "python"

EXAMPLE = Example(
    features=Features(
        feature={
            "image": Feature(bytes_list=BytesList(value=[b"\x89PNG", b""])),
            "label": Feature(int64_list=Int64List(value=[-1, 0, 2**63 - 1])),
            "score": Feature(float_list=FloatList(value=[0.5, float("inf")])),
            "empty": Feature(int64_list=Int64List()),
            "unset": Feature(),
        }
    )
)
SEQUENCE = SequenceExample(
    context=EXAMPLE.features,
    feature_lists=FeatureLists(
        feature_list={
            "steps": FeatureList(feature=[Feature(int64_list=Int64List(value=[7])), Feature()]),
            "none": FeatureList(),
        }
    ),
)
SAMPLES: list[Message] = [
    EXAMPLE, SEQUENCE, EXAMPLE.features, EXAMPLE.features.feature["image"], SEQUENCE.feature_lists,
    SEQUENCE.feature_lists.feature_list["steps"], BytesList(value=[b"a"]), FloatList(value=[1.5]),
    Int64List(value=[3]),
    Event(wall_time=1.5, step=-1, summary=Summary(value=[Summary.Value(tag="a")])),
    Summary(value=[Summary.Value(tag="a", simple_value=0.5), Summary.Value()]),
    SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars")),
    HistogramProto(min=-1, max=1, bucket_limit=[0.5, 1], bucket=[2, 3]),
    ExampleListWithContext(examples=[EXAMPLE, Example()], context=EXAMPLE),
]  # fmt: skip
CLASSES = [type(sample) for sample in SAMPLES]


def test_all_messages_are_exported_and_nothing_else() -> None:
    assert sorted(messages.__all__) == sorted(cls.__name__ for cls in CLASSES)
    for cls in CLASSES:
        assert getattr(messages, cls.__name__) is cls
        assert POOL.FindMessageTypeByName(cls.DESCRIPTOR.full_name) is cls.DESCRIPTOR
        assert cls.DESCRIPTOR.file.pool is POOL


def described(field: Any) -> tuple[int, str, str]:
    """Return a field's number, how often it occurs, and its type."""
    names = dict(
        zip((1, 2, 3, 9, 12), ("double", "float", "int64", "string", "bytes"), strict=True)
    )
    # `is_repeated` is there from protobuf 6.31 on, after which `label` warns.
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
    oneof = field.containing_oneof.name if field.containing_oneof else "single"
    kind = (
        field.message_type.full_name.removeprefix("tensorflow.")
        if field.message_type
        else names[field.type]
    )
    return field.number, "repeated" if repeated else oneof, kind


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_pickling_gives_an_equal_message_of_the_same_class(sample: Message) -> None:
    cls = type(sample)
    for again in (pickle.loads(pickle.dumps(sample)), copy.deepcopy(sample)):
        assert type(again) is cls
        assert again == sample
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert getattr(sys.modules[cls.__module__], cls.__qualname__) is cls
    entry = Features.FeatureEntry
    assert (entry.__module__, entry.__qualname__) == (feature_pb2.__name__, "Features.FeatureEntry")


def test_a_pickle_opens_in_a_process_that_has_imported_nothing() -> None:
    out = run_fresh(
        "import pickle\n"
        f"message = pickle.loads({pickle.dumps(EXAMPLE)!r})\n"
        "print(type(message).__module__, message.features.feature['label'].int64_list.value)"
    )
    assert out == f"{example_pb2.__name__} [-1, 0, {2**63 - 1}]\n"


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_the_default_pool_stays_free_of_our_messages(implementation: str) -> None:
    out = run_fresh(
        "from tfrecord_lite import messages\n"
        "from google.protobuf import descriptor_pb2, descriptor_pool\n"
        "from google.protobuf.internal import api_implementation\n"
        "pool = descriptor_pool.Default()\n"
        # Somebody else's files of the same names, with other contents.
        "for stem in 'feature', 'example':\n"
        "    file = descriptor_pb2.FileDescriptorProto(name=stem + '.proto', package='tensorflow')\n"
        "    file.message_type.add(name=stem.capitalize())\n"
        "    pool.AddSerializedFile(file.SerializeToString())\n"
        "assert pool.FindMessageTypeByName('tensorflow.Example').fields_by_name == {}\n"
        "assert messages.Example().features.feature['a'].WhichOneof('kind') is None\n"
        "print(api_implementation.Type())",
        PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=implementation,
    )
    assert out == f"{implementation}\n"


@in_c
def test_p2_p3_floats_are_rounded_and_the_bits_of_nans_kept() -> None:
    for value, stored in ((16777217, 2.0**24), (1e-46, 0.0), (-1e39, -np.inf), (True, 1.0)):
        assert FloatList(value=[value]).value[0] == stored
    wire = b"\x0a\x04" + struct.pack("<I", 0x7FA12345)
    assert FloatList.FromString(wire).SerializeToString() == wire


def fields_of(name: str) -> dict[str, tuple[int, str, str]]:
    descriptor = POOL.FindMessageTypeByName(f"tensorflow.{name}")
    fields = sorted(descriptor.fields, key=lambda field: field.number)
    return {field.name: described(field) for field in fields}


def test_fields_are_tensorflows_and_values_are_taken_or_refused() -> None:
    golden.check(Path(__file__).with_name("values.txt"), globals())
