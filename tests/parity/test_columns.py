"""Ragged and sparse tensors compared with TensorFlow's: the same calls, the same answers.

Rows, dtypes, shapes and error classes are compared. Where this library differs on
purpose, the test says so in its name and holds both answers.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parity.answers import Answer, ask, assert_same_error
from tfrecord_lite.columns import RaggedTensor, SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Return what makes a tensor, of either side, from values and nested splits."""
    return lambda cls: cls.from_nested_row_splits(values, splits)


TENSORS: dict[str, Callable[[Any], Any]] = {
    "one level": flat(VALUES, [0, 2, 2, 6]),
    "int32 splits": flat(VALUES, np.array([0, 2, 2, 6], np.int32)),
    "two levels": flat(VALUES, [0, 2, 3], [0, 2, 2, 6]),
    "three levels": flat(VALUES, [0, 0, 2], [0, 2, 3], [0, 2, 2, 6]),
    "floats": flat(VALUES.astype(np.float32), [0, 1, 6]),
    "strings": flat(np.array([b"a", b"", b"\xff"], object), [0, 1, 1, 3]),
    "arrays": flat(np.arange(8, dtype=np.int64).reshape(4, 2), [0, 1, 4]),
    "uniform": lambda cls: cls.from_uniform_row_length(VALUES, 2),
    "uniform over ragged": lambda cls: cls.from_uniform_row_length(
        cls.from_row_splits(VALUES, [0, 1, 1, 3, 6]), 2
    ),
    "rows alike": flat(VALUES, [0, 3, 6]),
    "empty rows": flat(VALUES[:0], [0, 0, 0]),
    "no rows": flat(VALUES[:0], [0]),
}


@pytest.fixture(params=list(TENSORS.values()), ids=list(TENSORS))
def pair(request: pytest.FixtureRequest, tf: Any) -> tuple[Any, RaggedTensor]:
    """Return one tensor as both have it."""
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


INDICES = [0, 1, -1, 5, -5]
SLICES = [
    ALL, slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2),
    slice(-2, None), slice(0, 0), slice(1, 9), slice(3, 0, -2),
]  # fmt: skip


@pytest.mark.parametrize("first", [*INDICES, *SLICES], ids=str)
def test_rows_and_slices_are_the_same(pair: tuple[Any, RaggedTensor], first: Any) -> None:
    theirs, ours = pair

    keys = [(first,), *((first, second) for second in (*INDICES, *SLICES))]
    for key in keys:
        assert_same_item(theirs, ours, key)
    for second, third in itertools.product([0, ALL, slice(1, None)], [0, -1, slice(1, None)]):
        if len(ours.shape) >= 3:
            assert_same_item(theirs, ours, (first, second, third))
    assert_same_item(theirs, ours, (..., slice(1, None)))


def assert_same_item(theirs: Any, ours: RaggedTensor, key: Any) -> None:
    one, other = (asked(lambda t: t[key], tensor) for tensor in (theirs, ours))
    if one.error is not None and type(one.error).__name__ == "InvalidArgumentError":
        # Indices that are out of range surface in one of two ways there, in one here.
        assert isinstance(other.error, IndexError | ValueError), f"{key}: {one}; {other}"
        return
    assert_same_error(one, other)
    assert other.value == one.value, f"{key}: {one}; {other}"


SHAPES: list[Any] = [
    None, [None, None], [2, 3], [5, 5], [None, 2], [None, 0], [0, None], [1, None], [3], [3, 3, 3],
    [None, -1], [2, None, 3], [None, 1, None], [1, None, None], [None, None, 2], [None, None, 5],
    [None, 2, None, 2],
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_padding_is_the_same(pair: tuple[Any, RaggedTensor], shape: Any) -> None:
    theirs, ours = pair

    for default in (None, b"x" if ours.dtype == object else 7):
        one = asked(theirs.to_tensor, default_value=default, shape=shape)
        other = asked(ours.to_tensor, default_value=default, shape=shape)
        assert_alike(one, other)


int32s = st.integers(-(2**31), 2**31 - 1)
sizes = st.none() | st.integers(0, 6)
bounds = st.none() | st.integers(-5, 5)
slices = st.builds(slice, bounds, bounds, bounds.filter(lambda step: step != 0))


@given(st.lists(st.integers(0, 4), max_size=6), st.tuples(sizes, sizes), slices, slices, int32s)
def test_random_rows_slice_and_pad_the_same(
    tf: Any, lengths: list[int], shape: Any, outer: slice, inner: slice, default: int
) -> None:
    values = np.arange(sum(lengths), dtype=np.int32)
    sides = [
        cls.from_row_lengths(values, np.array(lengths, np.int64))
        for cls in (tf.RaggedTensor, RaggedTensor)
    ]

    for question in (
        lambda t: t[outer],
        lambda t: t[outer, inner],
        lambda t: t.to_tensor(default, shape=shape),
    ):
        theirs, ours = (asked(question, side) for side in sides)
        assert_alike(theirs, ours)


def empty(dtype: Any = np.int64) -> Any:
    return np.array([], dtype)


FITTING: dict[str, tuple[Any, ...]] = {
    "splits": ("row_splits", VALUES, [0, 2, 6]),
    "splits int32": ("row_splits", VALUES, np.array([0, 6], np.int32)),
    "splits int16": ("row_splits", VALUES, np.array([0, 6], np.int16)),
    "splits uint8": ("row_splits", VALUES, np.array([0, 6], np.uint8)),
    "values list": ("row_splits", [1.5, 2.5], [0, 2]),
    "values strings": ("row_splits", ["a", b"b"], [0, 2]),
    "lengths": ("row_lengths", VALUES, [2, 0, 4]),
    "lengths int32": ("row_lengths", VALUES, np.array([2, 4], np.int32)),
    "no lengths": ("row_lengths", VALUES[:0], empty()),
    "rowids": ("value_rowids", VALUES, [0, 0, 2, 2, 2, 3]),
    "rowids and nrows": ("value_rowids", VALUES, [0, 0, 2, 2, 2, 3], 6),
    "no rowids": ("value_rowids", VALUES[:0], empty()),
    "starts": ("row_starts", VALUES, [0, 2, 2]),
    "no starts": ("row_starts", VALUES[:0], empty()),
    "limits": ("row_limits", VALUES, [2, 2, 6]),
    "no limits": ("row_limits", VALUES[:0], empty()),
    "uniform": ("uniform_row_length", VALUES, 2),
    "uniform 0": ("uniform_row_length", VALUES[:0], 0),
    "uniform 0 and nrows": ("uniform_row_length", VALUES[:0], 0, 3),
    "uniform and nrows": ("uniform_row_length", VALUES, 2, 3),
    "nested": ("nested_row_splits", VALUES, [[0, 2], [0, 2, 6]]),
}
MISFITS: dict[str, tuple[Any, ...]] = {
    "splits begin late": ("row_splits", VALUES, [1, 2, 6]),
    "splits end early": ("row_splits", VALUES, [0, 2, 5]),
    "splits end late": ("row_splits", VALUES, [0, 2, 9]),
    "splits fall": ("row_splits", VALUES, [0, 4, 2, 6]),
    "lengths too few": ("row_lengths", VALUES, [1, 1]),
    "lengths too many": ("row_lengths", VALUES, [9]),
    "lengths negative": ("row_lengths", VALUES, [7, -1]),
    "rowids fall": ("value_rowids", VALUES, [0, 2, 0, 2, 2, 3]),
    "starts begin late": ("row_starts", VALUES, [1, 2, 2]),
    "starts too high": ("row_starts", VALUES, [0, 9]),
    "starts fall": ("row_starts", VALUES, [0, 4, 2]),
    "limits too low": ("row_limits", VALUES, [2, 5]),
    "limits fall": ("row_limits", VALUES, [4, 2, 6]),
    "no limits for values": ("row_limits", VALUES, empty()),
    "uniform uneven": ("uniform_row_length", VALUES, 4),
    "uniform 0 for values": ("uniform_row_length", VALUES, 0),
    "nested outer": ("nested_row_splits", VALUES, [[0, 1], [0, 2, 6]]),
}
IMPOSSIBLE: dict[str, tuple[Any, ...]] = {
    "splits empty": ("row_splits", VALUES, []),
    "splits floats": ("row_splits", VALUES, [0.0, 6.0]),
    "splits of rank 2": ("row_splits", VALUES, [[0, 6]]),
    "splits of rank 0": ("row_splits", VALUES, 0),
    "values of rank 0": ("row_splits", 1, [0, 1]),
    "rowids too few": ("value_rowids", VALUES, [0, 0, 2]),
    "rowids negative": ("value_rowids", VALUES, [-1, 2, 2, 2, 2, 3]),
    "nrows too few": ("value_rowids", VALUES, [0, 0, 2, 2, 2, 3], 2),
    "nrows negative": ("value_rowids", VALUES[:0], empty(), -1),
    "nrows float": ("value_rowids", VALUES, [0] * 6, 2.0),
    "nested dtypes": (
        "nested_row_splits",
        VALUES,
        [np.array([0, 2], np.int32), np.array([0, 2, 6], np.int64)],
    ),
}


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("name", [*FITTING, *IMPOSSIBLE])
def test_partitions_make_the_same_tensors_or_none(tf: Any, name: str, validate: bool) -> None:
    arguments = (FITTING | IMPOSSIBLE)[name]
    theirs, ours = (
        asked(make, cls, *arguments, validate=validate) for cls in (tf.RaggedTensor, RaggedTensor)
    )

    assert (theirs.error is None) == (name in FITTING)
    assert_alike(theirs, ours)


@pytest.mark.parametrize("arguments", MISFITS.values(), ids=MISFITS.keys())
def test_partitions_that_do_not_fit_are_rejected_or_kept_alike(
    tf: Any, arguments: tuple[Any, ...]
) -> None:
    for validate in (True, False):
        theirs, ours = (
            ask(make, cls, *arguments, validate=validate) for cls in (tf.RaggedTensor, RaggedTensor)
        )
        assert_same_error(theirs, ours)
        assert (ours.error is None) is not validate

    assert ours.value.to_list() == theirs.value.to_list()
    assert plain(ours.value.nested_row_splits) == plain(theirs.value.nested_row_splits)


def test_values_without_starts_are_dropped_there_and_rejected_here(tf: Any) -> None:
    theirs, ours = (
        ask(cls.from_row_starts, VALUES, empty()) for cls in (tf.RaggedTensor, RaggedTensor)
    )

    assert theirs.value.to_list() == []
    assert isinstance(ours.error, ValueError)


def test_a_default_that_does_not_fit_is_cut_there_and_rejected_here(tf: Any) -> None:
    theirs, ours = (
        ask(cls.from_row_lengths(VALUES, [1, 5]).to_tensor, 2**40 + 1)
        for cls in (tf.RaggedTensor, RaggedTensor)
    )

    assert theirs.value.numpy()[0].tolist() == [1, 1, 1, 1, 1]
    assert isinstance(ours.error, ValueError)


# ---------------------------------------------------------------------------- SparseTensor

SPARSE: dict[str, tuple[Any, Any, Any]] = {
    "matrix": ([[0, 1], [1, 0]], [1, 2], [2, 2]),
    "vector": ([[1]], [1.5], [3]),
    "strings": ([[0, 1]], [b"a"], [1, 2]),
    "nothing": (np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [0, 3]),
    "no values": (np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [2, 3]),
    "int32 indices": (np.array([[0]], np.int32), [1], [2]),
    "column too high": ([[0, 2]], [1], [2, 2]),
    "row negative": ([[-1, 0]], [1], [2, 2]),
    "repeated": ([[0, 1], [0, 1]], [1, 2], [2, 2]),
    "out of order": ([[1, 1], [0, 1]], [1, 2], [2, 2]),
    "too few indices": ([[0, 1]], [1, 2], [1, 2]),
    "another rank": ([[0, 1]], [1], [1, 2, 3]),
    "indices of rank 1": ([0], [1], [2]),
    "float indices": ([[0.0]], [1], [2]),
    "negative shape": ([[0]], [1], [-2]),
    "huge shape": ([[0, 0]], [1], [2**62, 2**62]),
}


@pytest.mark.parametrize("parts", SPARSE.values(), ids=SPARSE.keys())
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
