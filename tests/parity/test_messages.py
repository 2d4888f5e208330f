"""Our messages beside TensorFlow's: in one process, and byte for byte the same."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from tests.test_messages import EXAMPLE, SEQUENCE, examples, sequences
from tfrecord_lite.messages import Example, SequenceExample

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


@given(example=examples)
def test_examples_are_the_same_bytes_on_both_sides(tf: Any, example: Example) -> None:
    ours = example.SerializeToString(deterministic=True)
    theirs = tf.train.Example.FromString(ours)

    assert theirs.SerializeToString(deterministic=True) == ours
    assert (
        Example.FromString(theirs.SerializeToString()).SerializeToString(deterministic=True) == ours
    )
    assert str(theirs) == str(example)


@given(sequence=sequences)
def test_sequence_examples_are_the_same_bytes_on_both_sides(
    tf: Any, sequence: SequenceExample
) -> None:
    ours = sequence.SerializeToString(deterministic=True)
    theirs = tf.train.SequenceExample.FromString(ours)

    assert theirs.SerializeToString(deterministic=True) == ours
    back = SequenceExample.FromString(theirs.SerializeToString())
    assert back.SerializeToString(deterministic=True) == ours


def test_tensorflow_parses_what_we_serialise(tf: Any) -> None:
    parsed = tf.io.parse_single_example(
        EXAMPLE.SerializeToString(),
        {
            "label": tf.io.FixedLenFeature([3], tf.int64),
            "image": tf.io.FixedLenFeature([2], tf.string),
            "score": tf.io.FixedLenFeature([2], tf.float32),
        },
    )

    assert parsed["label"].numpy().tolist() == [-1, 0, 2**63 - 1]
    assert parsed["image"].numpy().tolist() == [b"\x89PNG", b""]
    assert parsed["score"].numpy().tolist() == [0.5, float("inf")]


def test_tensorflow_parses_our_sequences(tf: Any) -> None:
    _, lists = tf.io.parse_single_sequence_example(
        SEQUENCE.SerializeToString(),
        sequence_features={"none": tf.io.FixedLenSequenceFeature([], tf.int64)},
    )

    assert lists["none"].shape == (0,)


@pytest.mark.parametrize("ours", [Example, SequenceExample])
def test_descriptors_agree_field_by_field(tf: Any, ours: Any) -> None:
    def walk(descriptor: Any, seen: dict[str, Any]) -> dict[str, Any]:
        if descriptor.full_name not in seen:
            seen[descriptor.full_name] = [
                (f.name, f.number, f.type, f.has_presence, f.is_packed) for f in descriptor.fields
            ]
            for field in descriptor.fields:
                if field.message_type:
                    walk(field.message_type, seen)
        return seen

    theirs = getattr(tf.train, ours.__name__)
    assert walk(ours.DESCRIPTOR, {}) == walk(theirs.DESCRIPTOR, {})
