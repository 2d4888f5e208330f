"""Generated TensorProtos, intact and damaged: both give the same, or differ by a known rule."""

import os
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parity.answers import ask
from tests.parity.parsing import bits
from tests.parity.tensors import Tensors
from tests.tensors.tensor_messages import NUMBERS, random_proto
from tfrecord_lite import parse_tensor
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.parse import parse_tensors
from tfrecord_lite.testing.reencode import mutate

N_CASES = int(os.environ.get("TFRECORD_PARITY_CASES", "3000"))
MOST_VALUES = 2**20
MOST_DIMS = 64
MOST_DIMS_OF_STRINGS = 32
"""With more, making an array of TensorFlow's strings ends the process."""


def case_of(number: int) -> tuple[bytes, int]:
    """Return a case by its number, the same every time: the bytes, and the dtype meant."""
    random = Random(number)
    data, dtype = random_proto(random)
    return (mutate(random.randrange, data) if random.random() < 0.4 else data), dtype


def judge(tensors: Tensors, proto_class: Any, data: bytes, meant: int) -> None:
    """Ask both, and compare the answers."""
    message = ask(proto_class.FromString, data).value
    dtype = meant if message is None else message.dtype
    shape = [] if message is None else [dim.size for dim in message.tensor_shape.dim]
    if dtype == 7 and len(shape) > MOST_DIMS_OF_STRINGS:
        return
    if prod(shape) > MOST_VALUES and not message.tensor_content:
        error = ask(parse_tensor, data, max_bytes=MOST_VALUES).error
        assert isinstance(error, InvalidArgumentError)
        return
    name = NUMBERS.get(dtype, ("float32",))[0]
    theirs, ours = tensors.ask_parse(data, name)
    if message is None and theirs.error is None:  # rejected, as by protobuf in Python: T3
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.MALFORMED
        return
    if message is not None and "Could not parse" in str(theirs.error):  # the reverse: T3
        if isinstance(ours.error, InvalidArgumentError):
            assert ours.error.reason is not Reason.MALFORMED
        return
    tensors.agree(theirs, ours)
    batch = ask(parse_tensors, [data] * 3, name)
    if isinstance(ours.error, InvalidArgumentError):
        assert isinstance(batch.error, InvalidArgumentError)
        assert (batch.error.reason, batch.error.index) == (ours.error.reason, 0)
        return
    is_vast = prod(size for size in shape if size) > 2**60  # of no elements, then
    if len(shape) == MOST_DIMS or is_vast:
        assert isinstance(batch.error, InvalidArgumentError)
        assert batch.error.reason is Reason.BAD_SHAPE
        return
    for i in range(3):
        assert bits(batch.value[i, ...]) == bits(ours.value)


@pytest.mark.timeout(max(600, N_CASES))
@settings(max_examples=N_CASES)
@given(number=st.integers(0, 2**40))
def test_generated_tensors_come_out_alike(tensors: Tensors, number: int) -> None:
    from tensorflow.core.framework.tensor_pb2 import TensorProto

    judge(tensors, TensorProto, *case_of(number))
