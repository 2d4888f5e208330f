"""Our messages and TensorFlow's: in one process, and byte for byte the same."""

import os
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.messages.test_messages import EXAMPLE, IN_C
from tests.parity.answers import ask, assert_same
from tests.parity.building import (
    chunk,
    entry,
    example,
    field,
    ints,
    ints_one_by_one,
    key_of,
    strings,
)
from tests.parity.rules import rule
from tfrecord_lite import messages, testing
from tfrecord_lite.messages import Event, Example, SequenceExample

OURS = "from tfrecord_lite.messages import Example as Ours"
THEIRS = "from tensorflow.train import Example as Theirs"
EXCHANGE = f"""
wire = {EXAMPLE.SerializeToString(deterministic=True)!r}
ours, theirs = Ours.FromString(wire), Theirs.FromString(wire)
assert Ours is not Theirs
assert ours.SerializeToString(deterministic=True) == wire
assert theirs.SerializeToString(deterministic=True) == wire
assert Ours.DESCRIPTOR.full_name == Theirs.DESCRIPTOR.full_name == "tensorflow.Example"
assert Ours.DESCRIPTOR.file.pool is not Theirs.DESCRIPTOR.file.pool
print("both")
"""


@pytest.mark.parametrize("imports", [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "tensorflow"])
def test_both_live_in_one_process_whichever_comes_first(imports: tuple[str, str]) -> None:
    code = "\n".join([*imports, EXCHANGE])
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "both\n"


# The runtime in Python keeps neither sign nor payload of a NaN.
@given(testing.examples(allow_nan=IN_C) | testing.sequence_examples(allow_nan=IN_C))
def test_messages_are_the_same_bytes_on_both_sides(tf: Any, message: Any) -> None:
    ours = message.SerializeToString(deterministic=True)
    theirs = getattr(tf.train, type(message).__name__).FromString(ours)
    assert theirs.SerializeToString(deterministic=True) == ours
    back = type(message).FromString(theirs.SerializeToString())
    assert back.SerializeToString(deterministic=True) == ours
    assert str(theirs) == str(message)


@pytest.mark.parametrize("ours", [Example, SequenceExample, Event])
def test_descriptors_agree_field_by_field(tf: Any, ours: Any) -> None:
    # Enumerations are plain numbers here, and some floats of tensors their bits.
    same_wire = {14: 5, 2: 7, 1: 6}

    def walk(descriptor: Any, seen: dict[str, Any]) -> dict[str, Any]:
        if descriptor.full_name not in seen:
            is_event, is_tensor = ours is Event, descriptor.full_name == "tensorflow.TensorProto"
            seen[descriptor.full_name] = {
                (f.number, same_wire.get(f.type, f.type) if is_tensor or f.type == 14 else f.type)
                if is_event
                else (f.name, f.number, f.type, f.has_presence, f.is_packed)
                for f in descriptor.fields
            }
            for inner in descriptor.fields:
                if inner.message_type and not is_tensor:
                    walk(inner.message_type, seen)
        return seen

    theirs = tf.compat.v1.Event if ours is Event else getattr(tf.train, ours.__name__)
    assert walk(ours.DESCRIPTOR, {}) == walk(theirs.DESCRIPTOR, {})


def wire_of(module: Any, kind: str, values: Any) -> bytes:
    """Build a list and return its bytes."""
    return bytes(getattr(module, kind)(value=values).SerializeToString(deterministic=True))


VALUES: dict[str, tuple[str, list[Any]]] = {
    "P1": ("Int64List", [
        0, 1, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70, True, False, np.int8(-1),
        np.int64(-5), np.uint64(7), np.uint64(2**63), np.True_, 1.0, 1.5, np.float32(1),
        np.float64(1), "1", b"1", None, 1j, [1],
    ]),
    "P2": ("FloatList", [
        0, 1, -0.0, 0.1, 16777217, 1e-46, 3.4028234663852886e38, 3.4028235677973365e38,
        3.4028235677973366e38, 1e39, -1e39, float("inf"), float("nan"), 10**300, 10**400, True,
        np.True_, np.float16(1.5), np.float32(0.1), np.float64(0.1), np.int64(3), "1", b"1", 1j,
        None, [1.0],
    ]),
    "P3": ("FloatList", [
        np.uint32(bits).view(np.float32)
        for bits in (0x7FC00000, 0x7FE12345, 0xFFC00001, 0x7FA12345, 0xFF800001)
    ]),
    "P4": ("BytesList", [
        b"", b"\xff\0", np.bytes_(b"numpy"), "text", "", bytearray(b"b"), memoryview(b"m"), 1, None,
        1.0, [b"list"], np.array(b"array"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "values"), [pytest.param(*row, marks=rule(name)) for name, row in VALUES.items()]
)
def test_which_values_a_list_takes_and_how(tf: Any, kind: str, values: Any) -> None:
    for found in [*([value] for value in values), b"not a list"]:
        assert_built_alike(tf, kind, found)
        if kind == "FloatList" and isinstance(found[0], np.float32):  # parsing keeps any NaN
            wire = struct.pack("<BBI", 0x0A, 4, int(found[0].view(np.uint32)))
            for module in (tf.train, messages):
                assert module.FloatList.FromString(wire).SerializeToString() == wire


def assert_built_alike(tf: Any, kind: str, values: Any) -> None:
    assert_same(ask(wire_of, tf.train, kind, values), ask(wire_of, messages, kind, values))


@rule("P5")
def test_numbers_are_packed_and_an_empty_list_keeps_its_kind(tf: Any) -> None:
    for kind in ("Int64List", "FloatList"):
        for values in ([], [0], [1, 2, 300], list(range(1000))):
            assert_built_alike(tf, kind, values)
    assert wire_of(messages, "Int64List", [1, 300]) == b"\x0a\x03\x01\xac\x02"
    for module in (tf.train, messages):
        feature = module.Feature(int64_list=module.Int64List())
        assert feature.SerializeToString() == b"\x1a\x00"
        assert module.Feature().SerializeToString() == b""
        assert module.Feature.FromString(b"\x1a\x00").WhichOneof("kind") == "int64_list"
        assert module.Feature.FromString(b"").WhichOneof("kind") is None


@rule("P6")
def test_deterministic_bytes_have_one_order(tf: Any) -> None:
    names = [f"{number * 7919 % 101}" for number in range(101)]

    def wire(module: Any, order: list[str]) -> bytes:
        features = {name: module.Feature() for name in order}
        example = module.Example(features=module.Features(feature=features))
        return bytes(example.SerializeToString(deterministic=True))

    ours = wire(messages, names)
    assert ours == wire(messages, names[::-1]) == wire(tf.train, names)
    # In the C core a name comes after the longer names that begin with it.
    behind = b"\xff" if IN_C else b""
    in_order = sorted((name.encode() for name in names), key=lambda name: name + behind)
    places = [ours.index(b"\x0a" + bytes([len(name)]) + name) for name in in_order]
    assert places == sorted(places)


ONE = example(entry("a", ints(1)))
WIRES = {
    "same name twice": example(entry("a", ints(1)), entry("a", ints(2))),
    "features twice": ONE + example(entry("b", ints(2))),
    "same kind twice": example(entry("a", ints(1) + ints(2))),
    "two kinds": example(entry("a", ints(1) + strings(b"x"))),
    "unknown field": ONE + chunk(15, b"x"),
    "unknown group": ONE + field(15, 3) + field(1, 0, b"\x01") + field(15, 4),
    "unpacked": example(entry("a", ints_one_by_one(1, 2))),
    "no UTF-8": example(entry(b"\xff", ints(1))), "no value": example(chunk(1, key_of("a"))),
    "no message": b"bogus", "cut": ONE[:-1], "nothing": b"",
}  # fmt: skip


@rule("P7")
@pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
def test_odd_wires_are_parsed_alike(tf: Any, wire: bytes) -> None:
    def parsed(module: Any) -> bytes:
        message = module.Example.FromString(wire)
        return bytes(message.SerializeToString(deterministic=True))

    assert_same(ask(parsed, tf.train), ask(parsed, messages))
