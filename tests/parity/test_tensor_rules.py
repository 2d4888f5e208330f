"""Serialised tensors: rules T1 to T8, asked of both."""

import random
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.parity.answers import ask
from tests.parity.parsing import bits
from tests.parity.rules import deviation, parameters, rule
from tests.parity.tensors import Tensors
from tests.support.errors import raised
from tests.tensors.tensor_messages import NUMBERS, content, dims, len_field, proto, typed
from tfrecord_lite import BytesColumn, RaggedTensor, SparseTensor, parse_tensor, serialize_tensor
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.parse import parse_tensors

NAMES = {name: number for number, (name, _, _) in NUMBERS.items()}
WIDTHS = {name: width for name, _, width in NUMBERS.values()}
# Of these TensorFlow reads tensors, but writes none.
READ_ONLY = [name for number, (name, _, _) in NUMBERS.items() if number >= 24]
WRITTEN = [name for name in NAMES if name not in READ_ONLY]
NUMERIC = [name for name in NAMES if name != "string"]
SUB_BYTE = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
SHAPES = [(), (1,), (2, 3), (0,), (2, 0, 3), (1, 1, 1, 1), (200,)]


def dtype_of(name: str) -> Any:
    if hasattr(ml_dtypes, name):
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(object if name == "string" else name)


def random_array(name: str, shape: tuple[int, ...]) -> Any:
    source, n = random.Random(f"{name}{shape}"), int(np.prod(shape))
    if name == "string":
        words = [source.randbytes(source.choice([0, 1, 5, 200])) for _ in range(n)]
        return np.array([*words, None], object)[:-1].reshape(shape)
    data = source.randbytes(n * WIDTHS[name])
    if name == "bool":
        data = bytes(byte & 1 for byte in data)
    if name in SUB_BYTE:
        data = bytes(byte & (1 << SUB_BYTE[name]) - 1 for byte in data)
    return np.frombuffer(bytearray(data), dtype_of(name)).reshape(shape)


@rule("T1")
@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_bytes_are_tensorflows(tensors: Tensors, name: str, shape: tuple[int, ...]) -> None:
    array = random_array(name, shape)
    data = tensors.serialize(array)
    assert bits(tensors.parse(data, name)) == bits(array)
    if array.ndim > 1:
        tensors.serialize(array.T)
        tensors.serialize(np.asfortranarray(array)[..., ::-1])


@deviation("T1")
@pytest.mark.parametrize("name", READ_ONLY)
def test_small_numbers_are_written_too(tensors: Tensors, name: str) -> None:
    for shape in SHAPES:
        array = random_array(name, shape)
        theirs = ask(tensors.tf.io.serialize_tensor, array)
        assert type(theirs.error).__name__ == "NotFoundError"
        assert bits(tensors.parse(serialize_tensor(array), name)) == bits(array)


@rule("T2")
@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, True, 1j, "aé", b"\xff", [1, 2.5], ["a", b"b"], [], [[], []], [[1, 2], (3, 4)],
        2**31 - 1, -(2**31) - 1, [1, 2**40], range(3), [1j, 2j], float("nan"), 3.4028234e38,
        np.float64(1), np.int64(3), np.bytes_(b"q"), np.str_("q"), np.array(["a", "bc"]),
        np.array([b"a", b"bc"]), np.array([b"a", "b"], object), np.array(b"x", object),
        np.array([], object), np.array([1], ">i4"), [np.array(b"x", object), np.array("y", object)],
        [np.array(0.5, np.float32)] * 2, [np.array(7, np.int32)] * 2,
    ],
    ids=repr,
)  # fmt: skip
def test_values_of_python_and_numpy(tensors: Tensors, value: Any) -> None:
    tensors.serialize(value)


@rule("T2")
@pytest.mark.parametrize("value", [
    [True, 1], [1, "a"], [1e300], 2**63, [[1], [2, 3]], "\ud800", np.array([1], np.longdouble),
    np.zeros(1, [("a", "i4")]),
], ids=repr)  # fmt: skip
def test_values_that_are_no_tensor(tensors: Tensors, value: Any) -> None:
    theirs, ours = ask(tensors.tf.io.serialize_tensor, value), ask(serialize_tensor, value)
    assert isinstance(theirs.error, ValueError)
    assert isinstance(ours.error, ValueError)


@rule("T2")
def test_ragged_and_sparse_tensors_are_rejected(tensors: Tensors) -> None:
    tf = tensors.tf
    splits, indices = np.array([0, 1]), np.zeros((1, 1), np.int64)
    values, shape = np.array([1.0]), np.array([1])
    for theirs, ours in (
        (tf.ragged.constant([[1.0]]), RaggedTensor(values, splits)),
        (tf.sparse.SparseTensor(indices, values, shape), SparseTensor(indices, values, shape)),
    ):
        assert isinstance(ask(tf.io.serialize_tensor, theirs).error, ValueError)
        found = ask(serialize_tensor, ours).error
        assert isinstance(found, InvalidArgumentError)
        assert found.reason is Reason.UNSUPPORTED


@deviation("T2")
def test_where_dtypes_are_not_guessed(tensors: Tensors) -> None:
    theirs = tensors.tf.io.serialize_tensor
    # A bool among numbers counts as one, if it is not the first; here it is rejected.
    assert theirs([1, True]).numpy() == serialize_tensor(np.array([1, 1], np.int32))
    raised(InvalidArgumentError, serialize_tensor, [1, True])
    # NumPy's integers in a list lose their dtype; here they keep it.
    assert theirs([np.int64(3)]).numpy() == serialize_tensor(np.array([3], np.int32))
    assert serialize_tensor([np.int64(3)]) == serialize_tensor(np.array([3], np.int64))
    # A mask is lost; here it is rejected.
    masked = np.ma.array([1, 2], mask=[False, True])
    assert theirs(masked).numpy() == serialize_tensor(masked.data)
    raised(InvalidArgumentError, serialize_tensor, masked)
    # TensorFlow treats buffers as integers; here they are rejected.
    assert theirs(bytearray(b"a")).numpy() == serialize_tensor([97])
    raised(TypeError, serialize_tensor, bytearray(b"a"))


GOOD = proto(3, (1,), typed("int_val", [7]))
PAIR = proto(3, (2,), typed("int_val", [7, 8]))
WRAPPING = [300, -56, 200, 70000, -(2**31), 2**31 - 1, 2**32 + 5]
NANS: dict[int, list[int]] = {
    4: [0x7F800001, 0xFFC00001, 0x7FA00000, 0xFFFFFFFF],
    8: [0x7FF0000000000001, 0xFFF8000000000001, 2**64 - 1, 0x7FF4 << 48],
    2: [0x7C01, 0xFE01, 0xFFFF, 0x7F81],
}


def read_alike() -> Iterator[tuple[Any, ...]]:
    """Give rule, TensorProto, dtype, and the array as nested lists or bytes (None: as TensorFlow)."""
    merged = PAIR + proto(3, (2,), typed("int_val", [9], 0))
    yield "T3", merged, "int32", [[7, 8], [9, 9]]
    yield "T3", proto(1, None) + PAIR, "int32", [7, 8]
    yield "T3", PAIR + proto(2**32 + 3), "int32", [7, 8]
    yield "T3", proto(1, (1,), content(b"\0\0\x80?"), content(b"\0\0\0@")), "float32", [2.0]
    yield "T3", proto(1, (1,) * 63, typed("float_val", [0])), "float32"
    for name in NUMERIC:
        number, (_, listed, width) = NAMES[name], NUMBERS[NAMES[name]]
        stored = bytes(index & 1 for index in range(3 * width))
        values = typed(listed, b"\1\1\1" if listed == "float8_val" else [1, 1, 1])
        yield "T4", proto(number, (3,), content(stored), values), name, stored
        yield "T4", proto(number, (3,), content(b""), values), name
        yield "T4", proto(number, (0,), content(b"\0")), name, b""
    yield "T4", proto(7, (2,), content(b"\x81\0\1ab")), "string", [b"a", b"b"]
    yield "T4", proto(7, (0,), content(b"abc")), "string", []
    for name, number in NAMES.items():
        listed, parts = NUMBERS[number][1], 2 if name.startswith("complex") else 1
        sources: Any = {"float8_val": b"\1\2\3\4", "string_val": [b"a", b"", b"b", b"c"]}
        for count, split in ((0, None), (1, 0), (2, None), (4, 1)):
            some = sources.get(listed, [1, 0, 5, 0] * parts)[: count * parts]
            for shape in ((), (2, 2), (0,)):
                yield "T5", proto(number, shape, typed(listed, some, split)), name
    yield "T6", proto(5, (7,), typed("int_val", WRAPPING)), "int16"
    yield "T6", proto(4, (2,), typed("int_val", WRAPPING)), "uint8", [44, 200]
    yield "T6", proto(19, (3,), typed("half_val", [0x3C00, 0x13C01, -1])), "float16"
    yield "T6", proto(10, (3,), typed("bool_val", [2, 256, 0])), "bool", [True, True, False]
    three, unknown = typed("float_val", [0x3F800000] * 3), b"\x18\1"
    yield "T7", proto(1, None, len_field(2, unknown), content(b"\0\0\x80?")), "float32", 1.0
    # Unknown or not, sizes that are there count.
    yield "T7", proto(1, None, dims((3, 1), unknown), three), "float32", [[1.0]] * 3
    for name in ("float32", "float64", "float16", "bfloat16", "complex64"):
        width = 4 if name == "complex64" else WIDTHS[name]
        data = b"".join(pattern.to_bytes(width, "little") for pattern in NANS[width])
        shape = (len(data) // WIDTHS[name],)
        values = typed(NUMBERS[NAMES[name]][1], NANS[width])
        yield "T8", proto(NAMES[name], shape, values), name, data
        yield "T8", serialize_tensor(np.frombuffer(data, dtype_of(name))), name, data


@pytest.mark.parametrize(("data", "dtype", "expected"), parameters(read_alike(), None))
def test_both_read_the_same(tensors: Tensors, data: bytes, dtype: str, expected: Any) -> None:
    found = tensors.parse(data, dtype)
    if expected is not None:
        assert (found.tobytes() if isinstance(expected, bytes) else found.tolist()) == expected


def rejected() -> Iterator[tuple[Any, ...]]:
    """Give rule, TensorProto, dtype and reason."""
    for bad in (GOOD[:-1], GOOD + b"\xa4\x06", GOOD + b"\0\0", GOOD + b"\x72\x02\xff\xff"):
        yield "T3", bad, "int32", Reason.MALFORMED
    not_text = dims((), len_field(2, len_field(2, b"\xff")))
    for bad in (len_field(14, len_field(1, b"\xff")), not_text):
        yield "T3", GOOD + bad, "int32", Reason.MALFORMED
    yield "T3", b"", "float32", Reason.UNSUPPORTED
    for number in (0, 34, 101, -1, 2**31 - 1):
        yield "T3", proto(number, (1,), content(bytes(4))), "float32", Reason.UNSUPPORTED
    for shape in ((-1,), (2, -3), (2**62, 2**62), (2**62, 2**62, 0), (0, 2**62, 2**62), (1,) * 65):
        for part in (content(bytes(4)), typed("float_val", [0]), b""):
            yield "T3", proto(1, shape, part), "float32", Reason.BAD_SHAPE
    for name, number in NAMES.items():
        yield "T3", proto(number, (0,)), "uint8" if name != "uint8" else "int8", Reason.WRONG_DTYPE
    for name in NUMERIC:
        data = bytes(3 * WIDTHS[name])
        for wrong in (data[:-1], data + b"\0", b"\0"):
            yield "T4", proto(NAMES[name], (3,), content(wrong)), name, Reason.WRONG_COUNT
    for data in (b"\0\2", b"\xff\1"):
        yield "T4", proto(10, (2,), content(data)), "bool", Reason.MALFORMED
    yield "T4", proto(7, (2,), content(b"\1\2abcd")), "string", Reason.WRONG_COUNT
    for data in (b"\1", b"\x81\x80\x80\x80\x80\0\1ab"):
        yield "T4", proto(7, (2,), content(data)), "string", Reason.MALFORMED


@pytest.mark.parametrize(("data", "dtype", "reason"), parameters(rejected()))
def test_both_reject(tensors: Tensors, data: bytes, dtype: str, reason: Reason) -> None:
    tensors.rejected(data, dtype, reason)


@rule("T4")
def test_a_batch_of_bools_names_the_first_that_is_none() -> None:
    good, bad = (proto(10, (2,), content(data)) for data in (b"\0\1", b"\0\2"))
    for batch in ([good, good, bad, bad], BytesColumn.from_list([good, good, bad])):
        error = ask(parse_tensors, batch).error
        assert isinstance(error, InvalidArgumentError)
        assert (error.reason, error.index) == (Reason.MALFORMED, 2)


@rule("T3")
def test_one_serialised_tensor_is_a_scalar(tensors: Tensors) -> None:
    data = serialize_tensor([1.5])
    given: Any
    for given in ([data], np.array([data], object), [[]], []):
        theirs, ours = tensors.ask_parse(given, "float32")
        assert type(theirs.error).__name__ == "InvalidArgumentError"
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.BAD_SHAPE
    text = serialize_tensor(np.int8(5)).decode()
    for given in (text, np.array(data, object), np.bytes_(data)):
        tensors.agree(*tensors.ask_parse(given, "int8" if given is text else "float32"))
    for given in (5, 3.5):
        theirs, ours = tensors.ask_parse(given, "float32")
        assert isinstance(theirs.error, TypeError)
        assert isinstance(ours.error, TypeError)


@rule("T3")
@pytest.mark.parametrize(
    "dtype", [np.float32, "float32", float, np.dtype(">f4"), 1, "half", "junk"]
)
def test_ways_to_say_a_dtype(tensors: Tensors, dtype: Any) -> None:
    data = serialize_tensor(np.float32(1.5))
    theirs = ask(tensors.tf.io.parse_tensor, data, dtype)
    tensors.agree(theirs, ask(parse_tensor, data, dtype))


@deviation("T3")
def test_more_that_may_be_given(tensors: Tensors) -> None:
    data = serialize_tensor(np.float32(1.5))
    for given in (bytearray(data), memoryview(data)):
        theirs, ours = tensors.ask_parse(given, "float32")
        assert isinstance(theirs.error, TypeError)
        assert ours.value == 1.5
    assert isinstance(ask(tensors.tf.io.parse_tensor, data, None).error, TypeError)
    assert parse_tensor(data).dtype == np.float32


@deviation("T3")
def test_odd_tags_are_as_to_protobuf_in_python(tensors: Tensors) -> None:
    from tensorflow.core.framework.tensor_pb2 import TensorProto

    good = GOOD
    beyond_32_bits = good + b"\x82\x84\xe6\x93\x4f\x01\x03"
    theirs, ours = tensors.ask_parse(beyond_32_bits, "int32")
    assert theirs.error is None
    assert type(ask(TensorProto.FromString, beyond_32_bits).error).__name__ == "DecodeError"
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.MALFORMED
    zero_in_a_group = good + b"\xa3\x06\x00\x01\xa4\x06"
    theirs, ours = tensors.ask_parse(zero_in_a_group, "int32")
    assert type(theirs.error).__name__ == "InvalidArgumentError"
    assert TensorProto.FromString(zero_in_a_group).int_val == [7]
    assert ours.value.tolist() == [7]


@deviation("T4")
@pytest.mark.parametrize("number", [11, 12, 13, 15, 16, 20, 21])
def test_quantized_dtypes_and_what_lives_in_a_process(tensors: Tensors, number: int) -> None:
    n_bytes = {13: 4, 15: 2, 16: 2}.get(number, 1)
    data = proto(number, (1,), b"" if number >= 20 else content(bytes(n_bytes)))
    theirs = ask(tensors.tf.io.parse_tensor, data, number)
    assert theirs.error is None
    for ours in (ask(parse_tensor, data), ask(parse_tensor, data, number)):
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.UNSUPPORTED


@deviation("T5")
def test_repetition_has_a_limit(tensors: Tensors) -> None:
    data = proto(9, (1000,), typed("int64_val", [7]))
    assert parse_tensor(data, max_bytes=8000).tolist() == [7] * 1000
    assert tensors.parse(data, "int64").size == 1000
    for ours in (
        ask(parse_tensor, data, max_bytes=7999),
        ask(parse_tensors, [data, data], max_bytes=8000),
        ask(parse_tensor, proto(9, (2**40,), typed("int64_val", [7]))),
        ask(parse_tensor, proto(7, (2**40,))),
    ):
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.TENSOR_TOO_LARGE
    stored = proto(9, (1000,), typed("int64_val", [7] * 1000))
    assert parse_tensor(stored, max_bytes=0).size == 1000
