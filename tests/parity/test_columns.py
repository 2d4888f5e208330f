"""Ragged and sparse tensors compared with TensorFlow's: the same calls, the same answers."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parity.answers import Answer, ask, assert_same_error
from tfrecord_lite.columns import RaggedTensor, SparseTensor

VALUES = np.array([1, 2, 3, 4, 5, 6], np.int32)
ALL = slice(None)


def plain(result: Any) -> Any:
    """Return a result of either side as dtype, shape and nested lists."""
    if hasattr(result, "row_splits"):
        splits = [np.asarray(s) for s in result.nested_row_splits]
        shape = tuple(result.shape)
        return ("ragged", shape, [s.dtype for s in splits], result.to_list())
    if isinstance(result, tuple | list):
        return [plain(part) for part in result]
    array = np.array(result, object) if isinstance(result, bytes) else np.asarray(result)
    return (array.dtype, array.shape, array.tolist())


def asked(function: Callable[..., Any], *arguments: Any, **named: Any) -> Answer:
    return ask(lambda: plain(function(*arguments, **named)))


def assert_alike(theirs: Answer, ours: Answer) -> None:
    assert_same_error(theirs, ours)
    assert ours.value == theirs.value


def make(cls: Any, name: str, *arguments: Any, **named: Any) -> Any:
    return getattr(cls, f"from_{name}")(*arguments, **named)


def flat(values: Any, *splits: Any) -> Callable[[Any], Any]:
    return lambda cls: cls.from_nested_row_splits(values, splits)


TENSORS: list[Callable[[Any], Any]] = [
    flat(VALUES, [0, 2, 2, 6]), flat(VALUES, np.array([0, 2, 2, 6], np.int32)),
    flat(VALUES, [0, 0, 2], [0, 2, 3], [0, 2, 2, 6]),
    flat(np.array([b"a", b"", b"\xff"], object), [0, 1, 1, 3]),
    flat(np.arange(8, dtype=np.int64).reshape(4, 2), [0, 1, 4]),
    lambda cls: cls.from_uniform_row_length(VALUES, 2),
    lambda cls: cls.from_uniform_row_length(cls.from_row_splits(VALUES, [0, 1, 1, 3, 6]), 2),
    flat(VALUES, [0, 3, 6]), flat(VALUES[:0], [0, 0, 0]), flat(VALUES[:0], [0]),
]  # fmt: skip


@pytest.fixture(params=TENSORS, ids=str)
def pair(request: pytest.FixtureRequest, tf: Any) -> tuple[Any, RaggedTensor]:
    return request.param(tf.RaggedTensor), request.param(RaggedTensor)


def test_rows_dtypes_and_shapes_are_the_same(pair: tuple[Any, RaggedTensor]) -> None:
    theirs, ours = pair
    assert plain(ours) == plain(theirs)
    assert ours.dtype == theirs.dtype.as_numpy_dtype
    assert ours.ragged_rank == theirs.ragged_rank
    assert ours.shape == tuple(theirs.shape)
    assert ours.nrows() == int(theirs.nrows())
    for name in ("flat_values", "nested_row_splits", "values", "row_splits"):
        assert plain(getattr(ours, name)) == plain(getattr(theirs, name)), name
    for name in ("value_rowids", "row_starts", "row_limits", "nested_row_lengths"):
        assert plain(getattr(ours, name)()) == plain(getattr(theirs, name)()), name
    assert plain(ours.bounding_shape()) == plain(theirs.bounding_shape())
    length = theirs.uniform_row_length
    assert ours.uniform_row_length == (None if length is None else int(length))


def test_numpy_is_the_same(pair: tuple[Any, RaggedTensor]) -> None:
    theirs, ours = (tensor.numpy() for tensor in pair)

    def nested(item: Any) -> Any:
        if isinstance(item, bytes):
            return item
        rows = [nested(row) for row in item] if item.dtype == object else item.tolist()
        return (item.dtype, item.shape, rows)

    if theirs.size or theirs.dtype == object:
        assert nested(ours) == nested(theirs)
    else:
        assert ours.size == 0


indices = st.integers(-5, 5)
bounds = st.none() | indices
slices = st.builds(slice, bounds, bounds, bounds.filter(lambda step: step != 0))
keys = st.lists(indices | slices, min_size=1, max_size=3).map(tuple) | slices.map(
    lambda s: (..., s)
)
sizes = st.lists(st.none() | st.integers(-1, 6), min_size=1, max_size=4)


@given(st.sampled_from(TENSORS), st.lists(st.integers(0, 4), max_size=6), keys)
def test_rows_and_slices_are_the_same(tf: Any, make_it: Any, lengths: list[int], key: Any) -> None:
    def random_rows(cls: Any) -> Any:
        values = np.arange(sum(lengths), dtype=np.int32)
        return cls.from_row_lengths(values, np.array(lengths, np.int64))

    for make_one in (make_it, random_rows):
        theirs, ours = (make_one(cls) for cls in (tf.RaggedTensor, RaggedTensor))
        if len(key) <= len(ours.shape):
            assert_same_item(theirs, ours, key)


def assert_same_item(theirs: Any, ours: RaggedTensor, key: Any) -> None:
    one, other = (asked(lambda t: t[key], tensor) for tensor in (theirs, ours))
    if one.error is not None and type(one.error).__name__ == "InvalidArgumentError":
        # Indices that are out of range surface in one of two ways there, in one here.
        assert isinstance(other.error, IndexError | ValueError), f"{key}: {one}; {other}"
        return
    assert_same_error(one, other)
    assert other.value == one.value, f"{key}: {one}; {other}"


@given(st.sampled_from(TENSORS), st.none() | sizes, st.booleans(), st.integers(-(2**31), 2**31 - 1))
def test_padding_is_same(tf: Any, make_it: Any, shape: Any, is_default: bool, number: int) -> None:
    theirs, ours = (make_it(cls) for cls in (tf.RaggedTensor, RaggedTensor))
    default = None if is_default else b"x" if ours.dtype == object else number
    assert_alike(*(asked(t.to_tensor, default_value=default, shape=shape) for t in (theirs, ours)))


PARTITIONS = ("row_splits", "row_lengths", "row_starts", "row_limits", "value_rowids")
numbers = st.lists(st.integers(-1, 4), max_size=5) | st.lists(st.integers(0, 6)).map(sorted)


@given(st.sampled_from(PARTITIONS), numbers, st.integers(0, 6), st.sampled_from(["i4", "i8"]))
def test_numbers_make_rows(tf: Any, name: str, found: list[int], n_values: int, dtype: str) -> None:
    partition = np.array(found, dtype)
    if name == "row_starts" and not found and n_values:
        return  # dropped there and rejected here
    theirs, ours = (
        asked(make, cls, name, VALUES[:n_values], partition)
        for cls in (tf.RaggedTensor, RaggedTensor)
    )
    assert_alike(theirs, ours)


NONE = np.array([], np.int64)
FITTING: list[tuple[Any, ...]] = [
    *(("row_splits", VALUES, np.array([0, 6], dtype)) for dtype in ("i4", "i2", "u1")),
    *(("row_splits", values, [0, 2]) for values in ([1.5, 2.5], ["a", b"b"])),
    ("value_rowids", VALUES, [0, 0, 2, 2, 2, 3], 6), ("uniform_row_length", VALUES, 2),
    ("uniform_row_length", VALUES[:0], 0), ("uniform_row_length", VALUES[:0], 0, 3),
    ("uniform_row_length", VALUES, 2, 3), ("nested_row_splits", VALUES, [[0, 2], [0, 2, 6]]),
]  # fmt: skip
IMPOSSIBLE: list[tuple[Any, ...]] = [
    *(("row_splits", VALUES, splits) for splits in ([], [0.0, 6.0], [[0, 6]], 0)),
    ("row_splits", 1, [0, 1]), ("value_rowids", VALUES, [0, 0, 2]),
    ("value_rowids", VALUES, [-1, 2, 2, 2, 2, 3]), ("value_rowids", VALUES[:0], NONE, -1),
    ("value_rowids", VALUES, [0, 0, 2, 2, 2, 3], 2), ("value_rowids", VALUES, [0] * 6, 2.0),
    ("nested_row_splits", VALUES, [np.array([0, 2], np.int32), np.array([0, 2, 6], np.int64)]),
]  # fmt: skip
UNCHECKED: list[tuple[Any, ...]] = [
    ("row_splits", VALUES, [0, 2, 5]), ("row_lengths", VALUES, [7, -1]),
    ("row_starts", VALUES, [0, 9]), ("row_limits", VALUES, [4, 2, 6]),
    ("value_rowids", VALUES, [0, 2, 0, 2, 2, 3]), ("uniform_row_length", VALUES, 4),
    ("uniform_row_length", VALUES, 0), ("nested_row_splits", VALUES, [[0, 1], [0, 2, 6]]),
]  # fmt: skip
"""What is rejected only if it is to be validated."""


@pytest.mark.parametrize("validate", [True, False])
def test_partitions_make_the_same_tensors_or_none(tf: Any, validate: bool) -> None:
    tables = ((FITTING, False), (IMPOSSIBLE, True), (UNCHECKED, validate))
    for arguments, is_bad in [(row, is_bad) for table, is_bad in tables for row in table]:
        theirs, ours = (
            ask(make, cls, *arguments, validate=validate) for cls in (tf.RaggedTensor, RaggedTensor)
        )
        assert_same_error(theirs, ours)
        assert (ours.error is not None) == is_bad, arguments
        if not is_bad:
            assert ours.value.to_list() == theirs.value.to_list()
            assert plain(ours.value.nested_row_splits) == plain(theirs.value.nested_row_splits)


def test_values_without_starts_are_dropped_there_and_rejected_here(tf: Any) -> None:
    theirs, ours = (ask(c.from_row_starts, VALUES, NONE) for c in (tf.RaggedTensor, RaggedTensor))
    assert theirs.value.to_list() == []
    assert isinstance(ours.error, ValueError)


def test_a_default_that_does_not_fit_is_cut_there_and_rejected_here(tf: Any) -> None:
    theirs, ours = (
        ask(cls.from_row_lengths(VALUES, [1, 5]).to_tensor, 2**40 + 1)
        for cls in (tf.RaggedTensor, RaggedTensor)
    )
    assert theirs.value.numpy()[0].tolist() == [1, 1, 1, 1, 1]
    assert isinstance(ours.error, ValueError)


SPARSE: list[tuple[Any, Any, Any]] = [
    ([[0, 1], [1, 0]], [1, 2], [2, 2]),
    ([[1]], [1.5], [3]),
    ([[0, 1]], [b"a"], [1, 2]),
    (np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [0, 3]),
    (np.array([[0]], np.int32), [1], [2]),
    ([[0, 2]], [1], [2, 2]),  # a column that is too high
    ([[-1, 0]], [1], [2, 2]),
    ([[0, 1], [0, 1]], [1, 2], [2, 2]),
    ([[1, 1], [0, 1]], [1, 2], [2, 2]),
    ([[0, 1]], [1, 2], [1, 2]),
    ([[0, 1]], [1], [1, 2, 3]),
    ([0], [1], [2]),
    ([[0.0]], [1], [2]),
    ([[0]], [1], [-2]),
    ([[0, 0]], [1], [2**62, 2**62]),
]


@pytest.mark.parametrize("parts", SPARSE)
def test_sparse_tensors_become_the_same_arrays(tf: Any, parts: tuple[Any, Any, Any]) -> None:
    indices, values, shape = parts
    if isinstance(values, list):
        values = np.array(values, object if values == [b"a"] else np.float32)
    defaults = [None, b"x" if values.dtype == object else 9, [1, 2]]
    if np.prod(np.array(shape, np.float64)) < 2**60:
        defaults.append(9 if values.dtype == object else b"x")  # both wrong there: one is named
    for validate, default in itertools.product((True, False), defaults):

        def theirs(validate: bool = validate, default: Any = default) -> Any:
            made = tf.SparseTensor(indices, values, shape)
            return plain(tf.sparse.to_dense(made, default, validate_indices=validate))

        def ours(validate: bool = validate, default: Any = default) -> Any:
            made = SparseTensor(indices, values, shape)
            return plain(made.to_dense(default, validate_indices=validate))

        assert_alike(ask(theirs), ask(ours))


def test_sparse_parts_are_the_same(tf: Any) -> None:
    theirs = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    ours = SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    assert ours.shape == tuple(theirs.shape)
    assert ours.rank == theirs.shape.rank
    for name in ("indices", "dense_shape"):
        assert plain(getattr(ours, name)) == plain(getattr(theirs, name))
