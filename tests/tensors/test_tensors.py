"""Serialised tensors: laws that hold for every array and for all bytes."""

from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support import golden
from tests.support.errors import raised
from tests.support.subprocesses import run_fresh
from tests.tensors.reference_tensor import TensorProto, agrees, n_values_of, reference
from tests.tensors.tensor_messages import NUMBERS, content, proto, random_proto, typed
from tfrecord_lite import (
    Block,
    BytesColumn,
    TFRecordError,
    TFRecordReader,
    TFRecordWriter,
    decode_raw,
    parse_tensor,
    serialize_tensor,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.dtypes import TYPES, tensor_type, type_of_number
from tfrecord_lite.tensors.parse import parse_tensors
from tfrecord_lite.testing import assert_same
from tfrecord_lite.testing.reencode import mutate

ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs the extra dtypes")

NUMERIC = [kind for kind in TYPES if kind.name != "string"]

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
words = st.binary(max_size=12)
seeds = st.integers(0, 2**32)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Return an array of any dtype that tensors have, of any bits."""
    kind, shape = draw(st.sampled_from(TYPES)), draw(shapes)
    n = prod(shape)
    if kind.name == "string":
        items = draw(st.lists(words, min_size=n, max_size=n))
        return np.array([*items, None], object)[:-1].reshape(shape)
    data = draw(st.binary(min_size=n * kind.dtype.itemsize, max_size=n * kind.dtype.itemsize))
    if kind.name == "bool":
        data = bytes(byte & 1 for byte in data)
    return np.frombuffer(bytearray(data), kind.dtype).reshape(shape)


def bits(array: Any) -> tuple[Any, ...]:
    data = array.ravel().tolist() if array.dtype == object else array.tobytes()
    return array.dtype, array.shape, data


def refusal(function: Any, *arguments: Any, **named: Any) -> InvalidArgumentError:
    return raised(InvalidArgumentError, function, *arguments, **named)


@given(arrays())
def test_every_array_comes_back_bit_for_bit(array: Any) -> None:
    data = serialize_tensor(array)
    back = parse_tensor(data, array.dtype)
    assert bits(back) == bits(array)
    assert back.flags.writeable
    assert not back.size or not np.shares_memory(back, parse_tensor(data))


@given(arrays())
def test_the_bytes_are_those_of_the_protobuf_runtime(array: Any) -> None:
    kind = tensor_type(array.dtype)
    message = TensorProto(dtype=kind.number)
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if kind.name == "string":
        message.string_val.extend(array.ravel().tolist())
    else:
        message.tensor_content = array.tobytes()
    assert serialize_tensor(array) == message.SerializeToString(deterministic=True)


@given(arrays())
def test_how_an_array_lies_in_memory_changes_nothing(array: Any) -> None:
    turned = np.moveaxis(np.flip(array), 0, -1) if array.ndim else array
    assert serialize_tensor(turned) == serialize_tensor(
        np.ascontiguousarray(turned).reshape(turned.shape)
    )
    if array.dtype.kind in "iufc" and array.dtype.type.__module__ == "numpy":
        swapped = array.astype(array.dtype.newbyteorder())
        assert serialize_tensor(swapped)[:9] == serialize_tensor(array)[:9]
        plain = parse_tensor(serialize_tensor(swapped))
        assert plain.dtype.isnative
        np.testing.assert_array_equal(plain, array)


@given(seeds, st.booleans())
def test_parsing_gives_what_the_reference_gives(seed: int, is_damaged: bool) -> None:
    random = Random(seed)
    data, _ = random_proto(random)
    if is_damaged:
        data = mutate(random.randrange, data)
    wanted = reference(data) if n_values_of(data) < 10_000 else None
    if wanted is None:
        raised(TFRecordError, parse_tensor, data, max_bytes=10_000)
        return
    found = parse_tensor(data)
    assert agrees(found, wanted)


@given(st.one_of(st.binary(max_size=40), seeds))
def test_any_bytes_are_a_tensor_or_an_error_of_ours(given_bytes: bytes | int) -> None:
    if isinstance(given_bytes, int):
        random = Random(given_bytes)
        data = mutate(random.randrange, mutate(random.randrange, random_proto(random)[0]))
    else:
        data = given_bytes
    for parse in (parse_tensor, lambda *a, **k: parse_tensors([serialize_tensor(1), *a], **k)):
        try:
            found = parse(data, max_bytes=1000)
        except TFRecordError:
            continue
        assert found.nbytes <= max(1000, 8 * (len(data) + 10))


FORMS = {
    "list": list, "tuple": tuple, "array": lambda items: np.array([*items, None], object)[:-1],
    "column": BytesColumn.from_list,
    "part of a column": lambda items: BytesColumn.from_list([b"before", *items, b"after"])[1:-1],
    "block": Block.from_records,
}  # fmt: skip
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@every_form
@given(arrays(), st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_a_batch_is_its_tensors_stacked(form: Any, array: Any, forms: list[int]) -> None:
    number, shape = tensor_type(array.dtype).number, array.shape
    plain = serialize_tensor(array)
    others = [
        plain,
        plain + b"\x18\x07",  # a version number after it
        serialize_tensor(np.zeros(shape, array.dtype) if array.dtype != object else array),
        proto(number, shape),
    ]
    items = [others[i] for i in forms]
    found = parse_tensors(form(items), array.dtype)
    assert found.shape == (len(items), *shape)
    assert found.flags.writeable
    for i, item in enumerate(items):
        assert bits(found[i, ...]) == bits(parse_tensor(item))


@every_form
@pytest.mark.parametrize("n_bytes", [1, 300, 5000])
def test_batches_of_every_size_of_tensor(form: Any, n_bytes: int) -> None:
    wanted = np.random.default_rng(n_bytes).integers(0, 256, (50, n_bytes), np.uint8)
    items = [serialize_tensor(row) for row in wanted]
    assert (parse_tensors(form(items)) == wanted).all()
    items[7] = proto(4, (n_bytes,), typed("int_val", wanted[7].tolist()))
    assert (parse_tensors(form(items)) == wanted).all()


def test_a_batch_has_the_shape_of_the_strings() -> None:
    nested = [[serialize_tensor([i, j]) for j in range(3)] for i in range(2)]
    found = parse_tensors(nested)
    assert found.shape == (2, 3, 2)
    assert found[1, 2].tolist() == [1, 2]
    assert parse_tensors(np.array(nested, object)).tolist() == found.tolist()
    assert parse_tensors(nested[1][2]).tolist() == [1, 2]


@every_form
def test_the_first_tensor_that_does_not_fit_is_named(form: Any) -> None:
    good = [serialize_tensor(np.full((2, 2), i, np.float32)) for i in range(5)]
    flags, unsound = (proto(10, (2,), content(data)) for data in (b"\0\1", b"\0\2"))
    for wrong in (unsound, b"bogus", proto(10, (3,))):
        found = refusal(parse_tensors, form([flags, flags, wrong, b"bogus", unsound, flags]))
        assert found.index == 2
    assert parse_tensors(form([flags, proto(10, (2,)), flags])).sum() == 2
    for bad, reason in (
        (serialize_tensor(np.zeros((4,), np.float32)), Reason.BAD_SHAPE),
        (serialize_tensor(np.zeros((2, 2), np.int32)), Reason.WRONG_DTYPE),
        (good[0][:-1], Reason.MALFORMED),
        (proto(1, (2, 2), content(b"abc")), Reason.WRONG_COUNT),
        (b"", Reason.UNSUPPORTED),
    ):
        for later in (bad, b"bogus", unsound):
            error = refusal(parse_tensors, form([*good, bad, later, *good]))
            assert (error.reason, error.index) == (reason, 5)
        error = refusal(parse_tensors, form([bad, *good]), np.float32, shape=(2, 2))
        assert (error.reason, error.index) == (reason, 0)


def test_an_error_in_a_block_says_where_the_record_is(tmp_path: Any) -> None:
    path = str(tmp_path / "tensors")
    records = [serialize_tensor([i]) for i in range(3)] + [b"bogus"]
    with TFRecordWriter(path) as writer:
        writer.write(Block.from_records(records))
    error = refusal(parse_tensors, next(TFRecordReader(path).blocks()))
    assert (error.reason, error.index, error.source) == (Reason.MALFORMED, 3, path)
    assert error.offset == sum(len(record) + 16 for record in records[:3])


def test_large_tensors_are_believed_as_far_as_bytes_are_there() -> None:
    for shape in ((2**40,), (2**20, 2**20), (2**31, 2, 2)):
        for number in NUMBERS:
            error = refusal(parse_tensor, proto(number, shape))
            assert error.reason is Reason.TENSOR_TOO_LARGE
            error = refusal(parse_tensor, proto(number, shape, content(b"\0")))
            assert error.reason in {Reason.WRONG_COUNT, Reason.MALFORMED}
    small = proto(4, (1000,))
    assert parse_tensor(small, max_bytes=1000).size == 1000
    assert refusal(parse_tensor, small, max_bytes=999).reason is Reason.TENSOR_TOO_LARGE
    many = [small] * 10
    assert parse_tensors(many, max_bytes=10_000).size == 10_000
    assert refusal(parse_tensors, many, max_bytes=9_999).reason is Reason.TENSOR_TOO_LARGE
    stored = [serialize_tensor(np.ones(1000, np.uint8))] * 10
    assert parse_tensors([*stored, small], max_bytes=1000).size == 11_000
    assert refusal(parse_tensors, [*stored, small], max_bytes=0).index == 10


def test_the_last_string_is_repeated_with_all_its_bytes() -> None:
    message = TensorProto(dtype=7, string_val=[b"a", b"b\0"])
    message.tensor_shape.dim.add(size=4)
    assert parse_tensor(message.SerializeToString()).tolist() == [b"a", *[b"b\0"] * 3]


def test_no_message_of_two_gigabytes_is_begun() -> None:
    for n_values in (2**31, 2**45):
        vast = np.broadcast_to(np.uint8(0), n_values)
        assert refusal(serialize_tensor, vast).reason is Reason.TENSOR_TOO_LARGE


def nested(depth: int) -> list[Any]:
    value: list[Any] = [1]
    for _ in range(depth - 1):
        value = [value]
    return value


def test_as_many_levels_as_an_array_has_are_a_tensor_and_more_are_rejected() -> None:
    assert parse_tensor(serialize_tensor(nested(64))).shape == (1,) * 64
    assert serialize_tensor([[], []]) == serialize_tensor(np.zeros((2, 0), np.float32))
    itself: list[Any] = []
    itself.extend([itself] * 3)
    for value in (nested(65), nested(100_000), itself):
        for call in (serialize_tensor, lambda v: decode_raw(v, np.uint8), parse_tensors):
            error = refusal(call, value)
            assert error.reason is Reason.BAD_SHAPE
            assert "nested too deeply" in str(error)


def test_columns_and_things_that_become_arrays_are_tensors() -> None:
    class Like:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.5], np.float32)

    assert serialize_tensor(Like()) == serialize_tensor(np.array([1.5], np.float32))
    column = BytesColumn.from_list([b"a", b""])
    assert parse_tensor(serialize_tensor(column)).tolist() == [b"a", b""]
    names = np.array(["é", "b"], np.dtypes.StringDType())
    assert parse_tensor(serialize_tensor(names)).tolist() == ["é".encode(), b"b"]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_a_dtype_by_its_number_its_name_and_itself(kind: Any) -> None:
    assert type_of_number(kind.number) is kind
    assert NUMBERS[kind.number][:2] == (kind.name, kind.field)
    for given_dtype in (kind.number, kind.name, kind.dtype, kind.dtype.type):
        assert tensor_type(given_dtype) is kind


def test_writing_tensors_needs_neither_protobuf_nor_ml_dtypes() -> None:
    out = run_fresh(
        "import sys, numpy as np, tfrecord_lite\n"
        "tfrecord_lite.serialize_tensor(np.zeros(3)); tfrecord_lite.decode_raw(b'ab', np.int16)\n"
        "print('google.protobuf' in sys.modules, 'ml_dtypes' in sys.modules)\n"
        "tfrecord_lite.parse_tensor(tfrecord_lite.serialize_tensor(1))\n"
        "print('google.protobuf' in sys.modules, 'ml_dtypes' in sys.modules)"
    )
    assert out == "False False\nTrue False\n"


def test_tensors_as_parsed_records_have_them() -> None:
    arrays = [np.arange(3), np.arange(3) + 5]
    single: list[Any] = [np.array(serialize_tensor(array), object) for array in arrays]
    assert_same(parse_tensor(single[0]), arrays[0])
    assert_same(parse_tensors(single), np.stack(arrays))


def test_what_is_refused_and_what_is_taken() -> None:
    golden.check(Path(__file__).with_name("errors.txt"), globals())
