"""Every fast path gives the lists of the plain pipeline, or the reason of its error."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfrecord_lite import encode_example, encode_sequence_examples
from tfrecord_lite.arrays import ByteItems
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode.rows import RowBuffer
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import Kind

Outcome: TypeAlias = "bytes | Reason | None"
"""A serialised Feature, why there is none, or None for a feature that is missing."""


def outcome_of(call: Callable[[], Outcome]) -> Outcome:
    try:
        return call()
    except InvalidArgumentError as error:
        return error.reason if error.key == "x" else None


def feature(lists: Lists) -> Outcome:
    """Write the lists of one record as a Feature."""
    if lists.present is not None:
        return None
    found = Example().features.feature["x"]
    flat: Any = lists.flat.to_ranges() if isinstance(lists.flat, ByteItems) else lists.flat
    if lists.kind is Kind.BYTES:
        ends = zip(flat.starts.tolist(), flat.lengths.tolist(), strict=True)
        found.bytes_list.value.extend([flat.data[a : a + n].tobytes() for a, n in ends])
    elif lists.kind is not None:
        some = found.float_list if lists.kind is Kind.FLOAT else found.int64_list
        some.SetInParent()
        some.value.extend(flat.tolist())
    return found.SerializeToString()


def plain(value: Any) -> Outcome:
    return outcome_of(lambda: feature(opened("x", [value])))


def in_example(message: Any) -> Outcome:
    features = Example.FromString(bytes(message)).features.feature
    return features["x"].SerializeToString() if "x" in features else None


def one_row(value: Any) -> list[Outcome]:
    return [outcome_of(lambda: in_example(encode_example({"x": value})))]


def row_plan(value: Any) -> list[Outcome]:
    buffer = RowBuffer()

    def add() -> Outcome:
        pieces = buffer.add({"x": value})
        if pieces is not None:
            buffer.add_record(b"".join(pieces))
        return None

    failed = [outcome_of(add) for _ in range(3)]
    messages = iter(buffer.take())
    return [in_example(next(messages)) if one is None else one for one in failed]


def context_of_sequences(value: Any) -> list[Outcome]:
    """Contexts of sequences, which row plans take apart as well."""

    def encode() -> list[bytes]:
        return encode_sequence_examples([{"context": {"x": value}}] * 3).to_list()

    found: list[Outcome] = []

    def collect() -> Outcome:
        for message in encode():
            features = SequenceExample.FromString(message).context.feature
            found.append(features["x"].SerializeToString() if "x" in features else None)
        return None

    failed = outcome_of(collect)
    return found if failed is None else [failed]


def steps_of_sequences(value: Any) -> list[Outcome]:
    """Steps of a feature list, laid end to end; a missing step is an empty one."""
    found: list[Outcome] = []

    def collect() -> Outcome:
        block = encode_sequence_examples([{"feature_lists": {"x": [value, value]}}] * 2)
        for message in block:
            steps = SequenceExample.FromString(message).feature_lists.feature_list["x"].feature
            assert len(steps) == 2
            found.extend(step.SerializeToString() or None for step in steps)
        return None

    failed = outcome_of(collect)
    return found if failed is None else [failed]


FAST_PATHS: dict[str, Callable[[Any], list[Outcome]]] = {
    "one row": one_row, "row plan": row_plan, "context of sequences": context_of_sequences,
    "steps of sequences": steps_of_sequences,
}  # fmt: skip

integers = st.one_of(
    st.integers(-300, 300),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 2**24 + 1]),
)
floats = st.one_of(
    st.floats(allow_nan=False), st.floats(width=32, allow_nan=False), st.just(3.5e38)
)
texts = st.text(max_size=4)  # lone surrogates too
strings = st.one_of(st.binary(max_size=4), st.binary(min_size=1022, max_size=1026))
numpy_scalars = st.builds(
    lambda dtype, number: np.dtype(dtype).type(number),
    st.sampled_from(["?", "i1", "i8", "u1", "u8", "f2", "f4", "f8", "c8"]),
    st.sampled_from([0, 1, 100, 0.5, 0.1]),
)
scalars = st.one_of(
    integers,
    floats,
    texts,
    strings,
    st.booleans(),
    numpy_scalars,
    st.sampled_from([bytearray(b"a"), memoryview(b"bc"), np.str_("u"), np.bytes_(b"s")]),
    st.sampled_from([np.datetime64("2024-02-29"), np.datetime64("NaT", "D"), 1j, object()]),
    st.sampled_from([np.timedelta64(3, "s"), np.timedelta64("NaT", "D"), np.longlong(5)]),
    st.sampled_from([None, np.ma.masked, np.ma.MaskedArray(5, True), np.ma.MaskedArray(5, False)]),
)
of_one_type = st.sampled_from([integers, floats, texts, strings, st.booleans()]).flatmap(
    lambda some: st.lists(some, max_size=12)
)
long_lists = st.builds(
    lambda usual, odd, place: [*usual[:place], odd, *usual[place:]],
    st.one_of(st.lists(st.floats(width=32, allow_nan=False), min_size=32), st.just([7] * 40)),
    scalars,
    st.sampled_from([0, 1, 32]),
)
lists = st.one_of(
    long_lists,
    long_lists.map(tuple),
    of_one_type,
    of_one_type.map(tuple),
    st.lists(scalars, max_size=4),
    st.lists(st.integers(-5, 300), min_size=30, max_size=70),
    st.recursive(st.lists(integers, max_size=2), lambda some: st.lists(some, max_size=2)),
)
DTYPES = "? i1 <i2 >i4 i8 u1 u4 u8 f2 <f4 >f4 f8 c8 S3 U2 M8[s] m8[D]"
dtypes = st.sampled_from(DTYPES.split())
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        st.one_of(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.just((66,))),
        elements=hnp.from_dtype(np.dtype(dtype), allow_nan=False),
    )
)
object_arrays = of_one_type.map(lambda some: np.array([*some, None], object)[:-1])
values = st.one_of(scalars, lists, arrays, object_arrays)


@pytest.mark.parametrize("path", FAST_PATHS)
@given(value=values)
@example(value=[True, 2])
@example(value=[0.1, 2])
@example(value=[0.5] * 20 + [True])
@example(value=["a", b"b"])
@example(value=[])
@example(value=np.zeros(0, np.float32))
@example(value=np.array([1, None], object))
@example(value=np.array([3], "M8[s]"))
@example(value=np.array([True, False]))
@example(value=np.array([1j], "c8"))
def test_a_fast_path_gives_what_the_plain_one_gives(path: str, value: Any) -> None:
    expected = plain(value)
    found = FAST_PATHS[path](value)
    if path == "steps of sequences" and expected == b"":  # without a kind
        expected = None
    assert set(found) == {expected}


@given(arrays)
def test_arrays_give_what_their_values_give_one_by_one(array: np.ndarray[Any, Any]) -> None:
    if array.size == 0:
        return  # nothing but the dtype tells the kind then
    expected = plain(list(array.ravel()))
    assert plain(array) == expected
    assert outcome_of(lambda: feature(opened("x", array[None]))) == expected


@given(values, st.integers(0, 2))
def test_missing_records_beside_a_value_change_nothing(value: Any, place: int) -> None:
    expected = plain(value)
    column: list[Any] = [None, None]
    column.insert(place, value)

    def among_missing() -> Outcome:
        found = opened("x", column)
        assert found.present is not None
        assert np.count_nonzero(found.present) == found.present[place]
        one = found.part(place, place + 1)
        return feature(one.with_(present=None)) if found.present[place] else None

    assert outcome_of(among_missing) == expected


@given(st.one_of(of_one_type, st.lists(of_one_type, max_size=4), arrays))
def test_what_the_strict_policy_takes_has_the_same_lists(column: Any) -> None:
    if isinstance(column, np.ndarray) and column.ndim == 0:
        return
    try:
        arrays = opened("x", column, "strict")
        found = opened("x", arrays)
        expected = opened("x", column)
    except InvalidArgumentError:
        return  # Python's floats are rounded by the lenient policy only
    for number in range(expected.n):
        one, other = (lists.part(number, number + 1) for lists in (expected, found))
        if one.kind is not None:  # empty lists have a kind once they are arrays
            assert feature(one) == feature(other)
