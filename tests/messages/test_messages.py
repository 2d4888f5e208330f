"""The message classes: their shape, their pool, and what the runtime makes of values.

Rules P1 to P5 (docs/reference/semantics.md) are the protobuf runtime's doing, not ours. They
are tested because users rely on them, and so that a new runtime that decides
otherwise is noticed. Where the supported runtimes differ, the test says so.
"""

from __future__ import annotations

import copy
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import google.protobuf
import numpy as np
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal import api_implementation

from tests.support import golden
from tests.support.skips import in_c
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

if TYPE_CHECKING:
    from google.protobuf.message import Message

RUNTIME = int(google.protobuf.__version__.split(".")[0])
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
by_class = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)


def run(code: str, **environ: str) -> str:
    """Run code in a fresh interpreter in which every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bits(value: float) -> int:
    """Return the 32 bits of a float32 as the message holds them."""
    wire = FloatList(value=[value]).SerializeToString()
    return int(struct.unpack("<I", wire[2:])[0])


class TestShape:
    def test_all_messages_are_exported_and_nothing_else(self) -> None:
        assert sorted(messages.__all__) == sorted(cls.__name__ for cls in CLASSES)
        for cls in CLASSES:
            assert getattr(messages, cls.__name__) is cls

    def test_names_are_tensorflows_in_full(self) -> None:
        assert Example.DESCRIPTOR.full_name == "tensorflow.Example"
        assert Feature.DESCRIPTOR.full_name == "tensorflow.Feature"


def described(field: Any) -> tuple[int, str, str]:
    """Return a field's number, how often it occurs, and its type."""
    names = {
        FieldDescriptor.TYPE_BYTES: "bytes",
        FieldDescriptor.TYPE_STRING: "string",
        FieldDescriptor.TYPE_DOUBLE: "double",
        FieldDescriptor.TYPE_FLOAT: "float",
        FieldDescriptor.TYPE_INT64: "int64",
    }
    # `is_repeated` is there from protobuf 6.31 on, after which `label` warns.
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
    oneof = field.containing_oneof.name if field.containing_oneof else "single"
    kind = (
        field.message_type.full_name.removeprefix("tensorflow.")
        if field.message_type
        else names[field.type]
    )
    return field.number, "repeated" if repeated else oneof, kind


class TestCopies:
    @by_class
    def test_pickling_gives_an_equal_message_of_the_same_class(self, sample: Message) -> None:
        cls = type(sample)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(sample, protocol))
            assert type(again) is cls
            assert again == sample
        assert pickle.loads(pickle.dumps(cls)) is cls
        assert getattr(sys.modules[cls.__module__], cls.__qualname__) is cls
        entry = Features.FeatureEntry
        assert (entry.__module__, entry.__qualname__) == (
            feature_pb2.__name__,
            "Features.FeatureEntry",
        )

    def test_a_pickle_opens_in_a_process_that_has_imported_nothing(self) -> None:
        out = run(
            "import pickle\n"
            f"message = pickle.loads({pickle.dumps(EXAMPLE)!r})\n"
            "print(type(message).__module__, message.features.feature['label'].int64_list.value)"
        )

        assert out == f"{example_pb2.__name__} [-1, 0, {2**63 - 1}]\n"

    @by_class
    def test_deep_copies_are_equal_and_independent(self, sample: Message) -> None:
        again = copy.deepcopy(sample)

        assert type(again) is type(sample)
        assert again == sample

        again.Clear()

        assert again != sample


class TestPool:
    def test_all_classes_are_of_the_private_pool(self) -> None:
        for cls in CLASSES:
            found = POOL.FindMessageTypeByName(cls.DESCRIPTOR.full_name)
            assert found.full_name == cls.DESCRIPTOR.full_name
            assert cls.DESCRIPTOR.file.pool is POOL

    @pytest.mark.parametrize("implementation", ["upb", "python"])
    def test_the_default_pool_stays_free_of_our_messages(self, implementation: str) -> None:
        out = run(
            "from tfrecord_lite import messages\n"
            "from google.protobuf import descriptor_pb2, descriptor_pool\n"
            "from google.protobuf.internal import api_implementation\n"
            "pool = descriptor_pool.Default()\n"
            "for name in messages.__all__:\n"
            "    try:\n"
            "        pool.FindMessageTypeByName('tensorflow.' + name)\n"
            "    except KeyError:\n"
            "        continue\n"
            "    raise AssertionError(name)\n"
            # Somebody else's files of the same names, with other contents.
            "for stem in 'feature', 'example':\n"
            "    file = descriptor_pb2.FileDescriptorProto(\n"
            "        name=stem + '.proto', package='tensorflow')\n"
            "    file.message_type.add(name=stem.capitalize())\n"
            "    pool.AddSerializedFile(file.SerializeToString())\n"
            "assert pool.FindMessageTypeByName('tensorflow.Example').fields_by_name == {}\n"
            "assert messages.Example().features.feature['a'].WhichOneof('kind') is None\n"
            "print(api_implementation.Type())",
            PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=implementation,
        )

        assert out == f"{implementation}\n"


class TestWire:
    def test_p6_deterministic_means_sorted_keys(self) -> None:
        named = {key: Feature(int64_list=Int64List(value=[1])) for key in "zebra"}
        wire = Features(feature=named).SerializeToString(deterministic=True)

        # An entry is 0a 0b, key (0a 01 x), value (12 05 ...): the key is the fifth byte.
        assert [wire[i + 4 : i + 5] for i in range(0, len(wire), len(wire) // 5)] == [
            b"a", b"b", b"e", b"r", b"z",
        ]  # fmt: skip


class TestInt64List:
    @pytest.mark.parametrize("value", [True, np.True_])
    @pytest.mark.skipif(RUNTIME < 7, reason="older runtimes take bools")
    def test_p1_bools_are_type_errors(self, value: Any) -> None:
        with pytest.raises(TypeError):
            Int64List(value=[value])


class TestFloatList:
    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            (16777217, 16777216.0), (0.1, float(np.float32(0.1))), (1e-46, 0.0),
            pytest.param(3.4028235677973366e38, float("inf"), marks=in_c), (-1e39, float("-inf")),
            (True, 1.0), (np.float16(0.5), 0.5),
        ],
    )  # fmt: skip
    def test_p2_values_are_rounded_to_float32(self, value: Any, stored: float) -> None:
        assert FloatList(value=[value]).value[0] == stored

    @in_c
    def test_p2_an_int_beyond_a_float_is_an_overflow_error(self) -> None:
        with pytest.raises(OverflowError):
            FloatList(value=[10**400])

    @in_c
    def test_p3_building_quietens_a_signalling_nan_and_keeps_a_quiet_ones_payload(self) -> None:
        signalling, quiet = np.array([0x7FA12345, 0x7FE12345], np.uint32).view(np.float32)

        assert bits(signalling) == 0x7FE12345
        assert bits(quiet) == 0x7FE12345

    @in_c
    def test_p3_parsing_keeps_a_signalling_nan(self) -> None:
        wire = b"\x0a\x04" + struct.pack("<I", 0x7FA12345)

        assert FloatList.FromString(wire).SerializeToString() == wire


def fields_of(name: str) -> dict[str, tuple[int, str, str]]:
    descriptor = POOL.FindMessageTypeByName(f"tensorflow.{name}")
    fields = sorted(descriptor.fields, key=lambda field: field.number)
    return {field.name: described(field) for field in fields}


def test_fields_are_tensorflows_and_values_are_taken_or_refused() -> None:
    golden.check(Path(__file__).with_name("values.txt"), globals())
