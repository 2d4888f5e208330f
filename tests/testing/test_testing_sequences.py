"""SequenceExamples drawn for features parse with them, to what the protobuf runtime has in them."""

from __future__ import annotations

import random
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.testing.test_testing import some
from tfrecord_lite import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SequenceExampleParser,
    SparseFeature,
    SparseTensor,
    VarLenFeature,
    parse_sequence_example,
    parse_single_sequence_example,
    testing,
)
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.schema import kind_of
from tfrecord_lite.testing import assert_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tfrecord_lite.messages import SequenceExample

# --- what the runtime has in a message


def values_in(features: Mapping[str, Any], key: str) -> list[Any]:
    """Return the values of a feature; none if it is missing, or has no kind."""
    kind = features[key].WhichOneof("kind") if key in features else None
    return list(getattr(features[key], kind).value) if kind else []


def ragged_value(spec: Any, name: str, features: Mapping[str, Any]) -> list[Any]:
    """Divide the values of a RaggedFeature as its partitions say, from the innermost outwards."""
    items = values_in(features, spec.value_key or name)
    for partition in reversed(spec.partitions):
        stored = values_in(features, getattr(partition, "key", ""))
        match partition:
            case RaggedFeature.RowSplits():
                ends = stored
            case RaggedFeature.RowLengths():
                ends = np.cumsum([0, *stored]).tolist()
            case RaggedFeature.RowStarts():
                ends = [*stored, len(items)]
            case RaggedFeature.RowLimits():
                ends = [0, *stored]
            case RaggedFeature.UniformRowLength():
                ends = list(range(0, len(items) + 1, partition.length))
            case _:
                n_rows = max(stored, default=-1) + 1
                ends = np.searchsorted(stored, range(n_rows + 1)).tolist()
        items = [items[start:stop] for start, stop in pairwise(ends)]
    return items


def dense(spec: Any, values: list[Any], *sizes: int) -> np.ndarray[Any, Any]:
    out = np.empty(len(values), kind_of(spec.dtype).dtype)
    out[:] = values
    return out.reshape((*sizes, *spec.shape))


def in_context(spec: Any, name: str, message: SequenceExample) -> Any:
    """Return what a context feature of one message is: an array, or nested lists."""
    features = message.context.feature
    match spec:
        case FixedLenFeature():
            is_there = name in features
            values = (
                values_in(features, name) if is_there else np.ravel(spec.default_value).tolist()
            )
            return dense(spec, values)
        case VarLenFeature():
            return values_in(features, name)
        case _:
            return ragged_value(spec, name, features)


def in_lists(spec: Any, name: str, message: SequenceExample) -> Any:
    """Return what a feature list of one message is: an array, or a list a step."""
    lists = message.feature_lists.feature_list
    key = getattr(spec, "value_key", None) or name
    n_steps = len(lists[key].feature) if key in lists else 0
    steps = [
        {each: found.feature[i] for each, found in lists.items() if i < len(found.feature)}
        for i in range(n_steps)
    ]
    match spec:
        case FixedLenSequenceFeature():
            return dense(
                spec, list(chain.from_iterable(values_in(step, key) for step in steps)), n_steps
            )
        case VarLenFeature():
            return [values_in(step, key) for step in steps]
        case _:
            return [ragged_value(spec, name, step) for step in steps]


# --- what the parser has


def coordinates(rows: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the place and value of each value in nested lists."""
    for i, row in enumerate(rows):
        if isinstance(row, list):
            yield from (((i, *place), value) for place, value in coordinates(row))
        else:
            yield (i,), row


def shape_of(rows: list[Any], rank: int) -> list[int]:
    """Return the length of nested lists, and of the longest at each level inside."""
    sizes = [len(rows)]
    for _ in range(rank - 1):
        sizes.append(most(rows))
        rows = list(chain.from_iterable(rows)) if len(sizes) < rank else []
    return sizes


def assert_is(found: Any, expected: Any) -> None:
    """Check a result against arrays or nested lists; a SparseTensor's shape too."""
    if isinstance(found, SparseTensor):
        places, values = map(tuple, found.indices.tolist()), np.asarray(found.values).tolist()
        assert list(zip(places, values, strict=True)) == list(coordinates(expected))
        assert found.dense_shape.tolist() == shape_of(expected, found.dense_shape.size)
    elif isinstance(expected, np.ndarray):
        assert_same(np.asarray(found), expected)
    else:
        rows: Any = found
        assert (rows.to_list() if hasattr(rows, "to_list") else rows.tolist()) == expected


def encoded(message: SequenceExample, data: st.DataObject) -> bytes:
    """Return an encoding of a message, which comes from a seed: others are tests of encodings."""
    reencoder = testing.Reencoder(random.Random(data.draw(st.integers(0, 2**16))).randrange)
    return reencoder.message(message.SerializeToString(), message.DESCRIPTOR)


def most(lists: Any) -> int:
    return max(map(len, lists), default=0)


@given(testing.sequence_feature_specs(), st.data())
def test_sequence_examples_for_features_parse_to_what_is_in_them(
    specs: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    one = testing.sequence_examples_for(*specs, allow_nan=False)
    messages = data.draw(st.lists(one, min_size=1, max_size=4))
    serialized = [encoded(message, data) for message in messages]

    context, lists, lengths = SequenceExampleParser(*specs)(serialized)

    assert (context.keys(), lists.keys()) == tuple(spec.keys() for spec in specs)
    for name, spec in specs[0].items():
        rows = [in_context(spec, name, message) for message in messages]
        is_array = isinstance(spec, FixedLenFeature)
        assert_is(context[name], np.stack(rows) if is_array else rows)
    for name, spec in specs[1].items():
        rows = [in_lists(spec, name, message) for message in messages]
        if isinstance(spec, FixedLenSequenceFeature):
            assert lengths.pop(name).tolist() == [len(row) for row in rows]
            padding = [b"" if row.dtype == object else 0 for row in rows]
            whole = np.full((len(rows), most(rows), *spec.shape), padding[0], rows[0].dtype)
            for i, row in enumerate(rows):
                whole[i, : len(row)] = row
            assert_is(lists[name], whole)
        else:
            assert_is(lists[name], rows)
    assert not lengths


@given(testing.sequence_feature_specs(), st.data())
def test_one_sequence_example_parses_to_what_is_in_it(
    specs: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    message = data.draw(testing.sequence_examples_for(*specs, allow_nan=False))
    serialized = encoded(message, data)

    context, lists = parse_single_sequence_example(serialized, *specs)

    for name, spec in specs[0].items():
        assert_is(context[name], in_context(spec, name, message))
    for name, spec in specs[1].items():
        assert_is(lists[name], in_lists(spec, name, message))
    assert parse_sequence_example(serialized, *specs)[0].keys() == context.keys()


# --- the strategies draw what they say


def test_features_are_of_every_class() -> None:
    def asks(part: int, cls: type) -> Callable[[Any], bool]:
        return lambda specs: any(isinstance(spec, cls) for spec in specs[part].values())

    def asks_nothing(part: int) -> Callable[[Any], bool]:
        return lambda specs: not specs[part]

    for part, other in enumerate((FixedLenFeature, FixedLenSequenceFeature)):
        for cls in (other, VarLenFeature, RaggedFeature):
            some(testing.sequence_feature_specs(1), asks(part, cls))
        some(testing.sequence_feature_specs(1), asks_nothing(part))


@given(testing.sequence_feature_specs(max_size=1))
def test_no_fewer_and_no_more_features_than_asked_for(
    specs: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    assert 1 <= len(specs[0]) + len(specs[1]) <= 2
    assert max(map(len, specs)) == 1


def steps_of(message: SequenceExample) -> list[Any] | None:
    lists = message.feature_lists.feature_list
    return list(lists["a"].feature) if "a" in lists else None


OPTIONAL = [
    FixedLenSequenceFeature([2], "int64", allow_missing=True),
    VarLenFeature("float32"),
    RaggedFeature("string"),
]


@pytest.mark.parametrize("spec", OPTIONAL, ids=lambda spec: type(spec).__name__)
def test_lists_are_missing_or_of_every_length(spec: Any) -> None:
    one = testing.sequence_examples_for(None, {"a": spec}, max_steps=2)

    def has(n_steps: int | None) -> Callable[[SequenceExample], bool]:
        return lambda message: n_steps_of(message) == n_steps

    def n_steps_of(message: SequenceExample) -> int | None:
        steps = steps_of(message)
        return None if steps is None else len(steps)

    for n_steps in (None, 0, 1, 2):
        some(one, has(n_steps))


REQUIRED = {"a": FixedLenSequenceFeature([2], "int64")}


@given(testing.sequence_examples_for(None, REQUIRED, max_steps=2))
def test_a_list_that_must_be_there_is(message: SequenceExample) -> None:
    steps = steps_of(message)
    assert steps is not None
    assert len(steps) <= 2
    assert all(len(step.int64_list.value) == 2 for step in steps)


def test_steps_without_values_may_have_no_kind() -> None:
    one = testing.sequence_examples_for(None, {"a": VarLenFeature("int64")})

    def kinds(message: SequenceExample) -> set[str | None]:
        steps = steps_of(message) or []
        return {step.WhichOneof("kind") for step in steps if not step.int64_list.value}

    some(one, lambda message: kinds(message) == {None})
    some(one, lambda message: kinds(message) == {"int64_list"})


@pytest.mark.parametrize(
    "specs",
    [
        ({"a": FixedLenSequenceFeature([], "int64")}, None),
        (None, {"a": FixedLenFeature([], "int64")}),
        (None, {"a": SparseFeature("i", "v", "int64", 3)}),
        (None, None),
    ],
)
@given(data=st.data())
def test_features_that_no_parser_takes_are_rejected(specs: Any, data: st.DataObject) -> None:
    with pytest.raises(InvalidArgumentError):
        data.draw(testing.sequence_examples_for(*specs))


@given(st.data())
def test_examples_are_not_drawn_for_features_that_no_parser_takes(data: st.DataObject) -> None:
    with pytest.raises(InvalidArgumentError):
        data.draw(testing.examples_for({"a": FixedLenSequenceFeature([], "int64")}))
