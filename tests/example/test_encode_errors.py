"""What cannot be encoded is refused: with the reason, the feature, and the record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.parameter_ids import named
from tfrecord_lite import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    InvalidArgumentError,
    RaggedFeature,
    RaggedTensor,
    Reason,
    SparseFeature,
    SparseTensor,
    VarLenFeature,
    encode_example,
    encode_examples,
    encode_sequence_example,
    schema_of,
)
from tfrecord_lite.arrays import ByteRanges
from tfrecord_lite.wire.emit import emit_fields
from tfrecord_lite.wire.parts import Part
from tfrecord_lite.wire.scalar import WireError

NONE = None
ma = np.ma.MaskedArray
UNREPRESENTABLE, BAD_ARGUMENT, UNSUPPORTED = (
    Reason.UNREPRESENTABLE,
    Reason.BAD_ARGUMENT,
    Reason.UNSUPPORTED,
)
MISSING, WRONG_KIND, WRONG_COUNT = Reason.MISSING, Reason.WRONG_KIND, Reason.WRONG_COUNT
BAD_PARTITION, BAD_INDEX = Reason.BAD_PARTITION, Reason.BAD_INDEX


def refused(*arguments: Any) -> tuple[Reason, str | None, int | None]:
    with pytest.raises(InvalidArgumentError) as caught:
        encode_examples(*arguments)
    assert caught.value.detail
    return caught.value.reason, caught.value.key, caught.value.index


@pytest.mark.parametrize(
    ("column", "reason", "index"),
    [
        (np.array([0, 1, 2**63], np.uint64), UNREPRESENTABLE, 2),
        (np.array([[0, 1], [2, 2**63]], np.uint64), UNREPRESENTABLE, 1),
        (np.array([0.5, 1e39]), UNREPRESENTABLE, 1),
        (np.array([1e300]), UNREPRESENTABLE, 0),
        (np.array([0, 1e39], np.longdouble), UNREPRESENTABLE, 1),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), UNREPRESENTABLE, 1),
        (np.array([1j]), UNSUPPORTED, NONE),
        (np.zeros(2, "V3"), UNSUPPORTED, NONE),
        (np.zeros(2, [("a", "i4")]), UNSUPPORTED, NONE),
        (np.float32(1), BAD_ARGUMENT, NONE),
        (np.array([1, "a"], object), UNREPRESENTABLE, 1),
        (np.array([b"a", b"b", 1.5], object), UNREPRESENTABLE, 2),
        ([True, 0.5], UNREPRESENTABLE, 0),
        ([0.5, True], UNREPRESENTABLE, 1),
        ([object()], UNSUPPORTED, 0),
        ([1, 2**63], UNREPRESENTABLE, 1),
        ([0, -(2**63) - 1], UNREPRESENTABLE, 1),
        ([0.5, 1e39], UNREPRESENTABLE, 1),
        ([0.5, np.float64(-1e39)], UNREPRESENTABLE, 1),
        ([0.5, 2**24 + 1], UNREPRESENTABLE, 1),
        ([0.5, 10**400], UNREPRESENTABLE, 1),
        (["a", "\ud800"], UNREPRESENTABLE, 1),
        (["a", b"a", "\ud800"], UNREPRESENTABLE, 2),
        (np.array(["a", "b\udfff"]), UNREPRESENTABLE, 1),
        ([[1], [2, None]], UNREPRESENTABLE, 1),
        ([[1], 2], UNREPRESENTABLE, 1),
        ([np.float32(1), np.float16(1), np.complex64(1)], UNREPRESENTABLE, NONE),
        (np.array([[None, b"a"]], object), UNREPRESENTABLE, NONE),
        (ma(np.zeros((3, 2)), np.array([[0, 0], [1, 1], [0, 1]], np.bool_)), UNREPRESENTABLE, 2),
        (RaggedTensor(np.array([1, 2, 3]), [0, 2]), BAD_PARTITION, NONE),
        (RaggedTensor(np.array([0.5, 1e39]), [0, 0, 1, 2]), UNREPRESENTABLE, 2),
        (RaggedTensor(RaggedTensor(np.array([0.5, 1e39]), [0, 1, 2]), [0, 1, 2]), UNREPRESENTABLE, 1),
        (SparseTensor([[0, 0, 0]], [1], [1, 1, 1]), UNSUPPORTED, NONE),
        (SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 2]), UNREPRESENTABLE, 2),
        (SparseTensor([[0, 0], [5, 0]], [1, 2], [3, 2]), BAD_INDEX, NONE),
    ],
    ids=named,
)  # fmt: skip
def test_a_column_that_would_not_come_back(column: Any, reason: Reason, index: int | None) -> None:
    found = refused({"x": column})

    assert found[:2] == (reason, "x")
    if index is not None:
        assert found[2] == index


def test_columns_of_different_lengths_and_no_columns() -> None:
    assert refused({"a": [1, 2], "b": [1]}) == (BAD_ARGUMENT, "b", None)
    assert refused({}) == (BAD_ARGUMENT, None, None)
    assert refused({"a": None}) == (BAD_ARGUMENT, None, None)


def test_keys_that_are_none() -> None:
    assert refused({"\ud800": [1]}) == (BAD_ARGUMENT, "\ud800", None)
    for encode in (encode_examples, encode_example):
        with pytest.raises(TypeError):
            encode({1: [1]})  # type: ignore[dict-item]
    for row in (None, [1], "row"):
        with pytest.raises(TypeError):
            encode_example(row)  # type: ignore[arg-type]


dense = FixedLenFeature([2], "int64")
optional = FixedLenFeature([2], "int64", [0, 0])
blocks = FixedLenSequenceFeature([2], "int64", allow_missing=True)
sparse = SparseFeature("i", "v", "int64", 4)
levels = RaggedFeature("int64", "v", [RaggedFeature.RowLengths("n")])
ragged = RaggedTensor(np.array([1, 2, 3]), [0, 2, 3])


@pytest.mark.parametrize(
    ("spec", "column", "reason", "index"),
    [
        (dense, ragged, WRONG_COUNT, 1),
        (dense, np.zeros((3, 3), np.int64), WRONG_COUNT, 0),
        (dense, [[1, 2], [3]], WRONG_COUNT, 1),
        (FixedLenFeature([2, 3], "int64"), np.zeros((1, 3, 2), np.int64), WRONG_COUNT, NONE),
        (dense, [[1, 2], None], MISSING, 1),
        (dense, None, MISSING, NONE),
        (dense, [[1.5, 2.5]], WRONG_KIND, NONE),
        (dense, [[b"a", b"b"]], WRONG_KIND, NONE),
        (optional, [[1, 2], [1]], WRONG_COUNT, 1),
        (FixedLenFeature([], "float32"), np.array([1, 2**24 + 1]), UNREPRESENTABLE, 1),
        (FixedLenFeature([], "float32"), np.array([1, 2**63 - 1]), UNREPRESENTABLE, 1),
        (FixedLenFeature([], "float32"), np.array([0.5, 1e39]), UNREPRESENTABLE, 1),
        (VarLenFeature(bytes), [[1]], WRONG_KIND, NONE),
        (blocks, [[1, 2], [3]], WRONG_COUNT, 1),
        (sparse, [[1]], WRONG_KIND, NONE),
        (sparse, SparseTensor([[0, 0]], [1], [1, 5]), WRONG_COUNT, NONE),
        (sparse, SparseTensor([[0, 0], [1, 4]], [1, 2], [2, 4]), BAD_INDEX, 1),
        (levels, ragged, BAD_PARTITION, NONE),
        (levels, [[1]], BAD_PARTITION, NONE),
    ],
    ids=named,
)
def test_a_record_that_does_not_fit_the_schema(
    spec: Any, column: Any, reason: Reason, index: int | None
) -> None:
    found = refused({"x": column, "other": None}, {"x": spec, "other": VarLenFeature("int64")})

    assert found == (reason, "x", index)


def test_columns_and_schemas_that_do_not_go_together() -> None:
    assert refused({"colour": [1]}, {"color": VarLenFeature(int)}) == (BAD_ARGUMENT, "colour", None)
    twice = {"a": RaggedFeature("int64", "v"), "b": RaggedFeature("int64", "v")}
    assert refused({"a": [[1]], "b": [[2]]}, twice) == (BAD_ARGUMENT, "v", None)


def test_what_a_schema_allows() -> None:
    features = {"x": optional, "y": VarLenFeature("int64"), "z": FixedLenFeature([], "float32")}

    block = encode_examples({"x": [None, [1, 2]], "z": [1, 2]}, features)

    assert len(block) == 2


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ([1, "a"], UNREPRESENTABLE),
        ([b"a", "a"], UNREPRESENTABLE),
        ([2**64], UNREPRESENTABLE),
        ([2**62 + 1, 0.5], UNREPRESENTABLE),
        ([2**64 - 1, -1], UNREPRESENTABLE),
        ([True, 1], UNREPRESENTABLE),
        ([None, [1]], UNREPRESENTABLE),
        ([[1], 2], UNREPRESENTABLE),
        ([np.zeros((1, 2)), np.zeros((1, 3))], UNREPRESENTABLE),
        ([object()], UNREPRESENTABLE),
        (np.float64(1), BAD_ARGUMENT),
        (np.zeros(2, np.longdouble), UNSUPPORTED),
        (np.zeros(2, "V3"), UNSUPPORTED),
        (RaggedTensor(np.zeros((3, 0)), [0, 3]), UNSUPPORTED),
        (SparseTensor([[0]], [1], [2]), UNSUPPORTED),
    ],
    ids=named,
)
def test_a_column_that_has_no_schema(column: Any, reason: Reason) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        schema_of({"x": column})

    assert (caught.value.reason, caught.value.key) == (reason, "x")


@pytest.mark.parametrize(
    ("row", "reason", "key", "index", "text"),
    [
        ({"steps": {}}, BAD_ARGUMENT, "steps", NONE, "'feature_lists' only"),
        ({"context": {"x": 2**63}}, UNREPRESENTABLE, "x", 0, "int64"),
        ({"feature_lists": {"x": [[1], [2**63]]}}, UNREPRESENTABLE, "x", 0, "in step 1 "),
        ({"feature_lists": {"x": [[1], [], [b"a"]]}}, UNREPRESENTABLE, "x", 0, "in step 2 "),
    ],
)
def test_a_sequence_that_would_not_come_back(
    row: Any, reason: Reason, key: str, index: int | None, text: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=text) as caught:
        encode_sequence_example(row)

    assert (caught.value.reason, caught.value.key, caught.value.index) == (reason, key, index)


@pytest.mark.parametrize(
    "row", [None, {"context": [1]}, {"feature_lists": {"x": 1}}, {"feature_lists": {"x": b"ab"}}]
)
def test_a_sequence_of_the_wrong_type(row: Any) -> None:
    with pytest.raises(TypeError):
        encode_sequence_example(row)


def test_a_message_that_protobuf_cannot_read_is_refused_before_memory_is_asked_for() -> None:
    starts = np.zeros(2, np.int64)
    huge = ByteRanges(np.zeros(1, np.uint8), starts, np.array([1, 2**31 - 3]))

    with pytest.raises(WireError) as caught:
        emit_fields([(b"\x0a", [Part((b"\x0a",), huge)])], 2)

    assert caught.value.message == 1


@pytest.mark.parametrize(
    ("column", "index"),
    [
        ([[1], [1, None]], 1),
        ([[1.5], [], [None, 0.5]], 2),
        ([[True, None]], 0),
        ([[None, None], [None]], 0),
        ([[[1], [2]], [[], [3, None]]], 1),
        ([[1], (2, np.ma.masked)], 1),
        ([[b"a"], [b"b", None]], 1),
        ([np.array([1, 2], object), np.array([1, None, 2], object)], 1),
        ([[1], ma([1, 2], [False, True])], 1),
        (RaggedTensor(np.array([1, 2, None], object), [0, 1, 3]), 1),
    ],
    ids=named,
)
def test_what_is_missing_within_a_row_is_never_a_value(column: Any, index: int) -> None:
    for call in (lambda: schema_of({"x": column}), lambda: encode_examples({"x": column})):
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        error = caught.value
        assert (error.reason, error.key, error.index) == (UNREPRESENTABLE, "x", index)


def endless(kind: str) -> Any:
    if kind == "array":
        array = np.empty(1, object)
        array[0] = array
        return array
    nested: list[Any] = []
    if kind == "deep":
        for _ in range(3000):
            nested = [nested]
    else:
        nested += [nested] * (1 if kind == "itself" else 5)
    return nested


@pytest.mark.parametrize("kind", ["itself", "itself often", "deep", "array"])
def test_lists_without_end_are_refused(kind: str) -> None:
    value = endless(kind)
    for call in (
        lambda: encode_example({"x": value}),
        lambda: encode_examples({"x": value}),
        lambda: encode_examples({"x": [value, [1]]}),
        lambda: schema_of({"x": value}),
        lambda: schema_of({"x": [[1], value]}),
        lambda: encode_sequence_example({"feature_lists": {"x": [value]}}),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert (caught.value.reason, caught.value.key) == (BAD_ARGUMENT, "x")


def test_columns_that_are_no_dictionary() -> None:
    features = {"x": FixedLenFeature([], "int64")}
    some: list[Any] = [None, [{"x": 1}], np.zeros(3)]
    for columns in some:
        for call in (encode_examples, schema_of, lambda c: encode_examples(c, features)):
            with pytest.raises(TypeError, match="dict"):
                call(columns)
    with pytest.raises(TypeError, match="dict"):
        encode_example(None, features)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_records", [0, 2])
def test_records_of_fields_are_no_values(n_records: int) -> None:
    column = ma(np.zeros(n_records, [("a", "i4")]), True)
    assert refused({"x": column}) == (UNSUPPORTED, "x", None)
    if n_records:
        assert refused({"x": list(column)})[1] == "x"
        assert refused({"x": [column, column]})[1] == "x"
    with pytest.raises(InvalidArgumentError):
        schema_of({"x": column})


def test_a_refusal_of_a_row_shows_the_way_out() -> None:
    value: Any
    for value in (1j, [1j], np.complex64(1), np.array([1j])):
        with pytest.raises(InvalidArgumentError, match="schema_of"):
            encode_example({"x": value})
    for value in ([1, None], [1, np.ma.masked], [None]):
        with pytest.raises(InvalidArgumentError, match="leave the feature out"):
            encode_example({"x": value})


class Convertible:
    def __array__(self, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
        return np.arange(2)


@pytest.mark.parametrize(
    "value", [range(3), {1, 2}, RaggedTensor([1, 2], [0, 2]), Convertible(), iter([1])], ids=named
)
def test_objects_that_no_row_may_hold(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="list or an array") as caught:
        encode_example({"x": value})
    assert (caught.value.reason, caught.value.key) == (UNSUPPORTED, "x")


@pytest.mark.parametrize(
    ("values", "number"),
    [
        ([1j, "a"], 0),
        (["a", 1j, 2j], 1),
        (["a", 1, 1j], 2),
        ([np.complex64(1), "a"], 0),
        (["a", b"b", 1], 2),
        ([1, 2, "a"], 2),
    ],
)
def test_of_values_of_several_kinds_the_first_that_does_not_fit_is_named(
    values: list[Any], number: int
) -> None:
    with pytest.raises(InvalidArgumentError, match="several kinds") as caught:
        list(encode_examples({"x": values}))
    assert (caught.value.index, caught.value.reason) == (number, Reason.UNREPRESENTABLE)
