"""Features of SequenceExamples are of every sort, and what is drawn for them parses with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    VarLenFeature,
    parse_single_sequence_example,
    testing,
)
from tfrecord_lite.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.messages import SequenceExample


@given(testing.sequence_feature_specs(), st.data())
def test_sequence_examples_for_features_parse_with_them(
    specs: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    one = testing.sequence_examples_for(*specs)
    messages = data.draw(st.lists(one, min_size=1, max_size=4))
    serialized = [message.SerializeToString() for message in messages]

    context, lists, _ = SequenceExampleParser(*specs)(serialized)

    assert (context.keys(), lists.keys()) == tuple(spec.keys() for spec in specs)
    for message in serialized:
        parse_single_sequence_example(message, *specs)


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
