"""Strategies for features of SequenceExamples, and for SequenceExamples that fit them.

The context is drawn by :mod:`.features`, and the same holds for lists: a SequenceExample
drawn for some features parses with them. Optional lists are sometimes missing, and steps
without values sometimes have no kind.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.schema import (
    FixedLenSequenceFeature,
    Kind,
    RaggedFeature,
    kind_of,
    prepare_sequence,
)
from tfrecord_lite.testing.features import IN_CONTEXT, draw_lists, draw_specs, examples_for
from tfrecord_lite.testing.messages import lists_of, put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn

    from tfrecord_lite.schema import FeatureSpec

    Specs = Mapping[str, FeatureSpec]


def _fixed_len_sequence(draw: DrawFn, _names: list[str]) -> FixedLenSequenceFeature:
    shape = draw(st.lists(st.integers(1, 2), max_size=2))
    dtype = draw(st.sampled_from(list(Kind))).label
    return FixedLenSequenceFeature(shape, dtype, allow_missing=draw(st.booleans()))


_IN_LISTS = [_fixed_len_sequence, *IN_CONTEXT[1:]]


@st.composite
def sequence_feature_specs(
    draw: DrawFn, max_size: int = 3
) -> tuple[dict[str, FeatureSpec], dict[str, FeatureSpec]]:
    """Draw features of SequenceExamples: of the context, and of the feature lists.

    Parameters
    ----------
    max_size : int, optional
        Maximum number of features in each of the two; there is at least one in all.

    Returns
    -------
    context_features, sequence_features : dict of str to feature specification
        For :class:`SequenceExampleParser`. Within each, no key is read by two of them; a
        key may be in both.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import sequence_feature_specs
    >>> @given(sequence_feature_specs())
    ... def test_a_schema_comes_back_from_json(features):
    ...     schema = SequenceSchema(*features)
    ...     assert SequenceSchema.from_json(schema.to_json()) == schema
    >>> test_a_schema_comes_back_from_json()
    """
    context = draw_specs(draw, IN_CONTEXT, 0, max_size)
    return context, draw_specs(draw, _IN_LISTS, 0 if context else 1, max_size)


@st.composite
def sequence_examples_for(
    draw: DrawFn,
    context_features: Specs | None = None,
    sequence_features: Specs | None = None,
    max_steps: int = 3,
    *,
    allow_nan: bool = True,
) -> SequenceExample:
    """Draw a SequenceExample that parses with the given features.

    Parameters
    ----------
    context_features, sequence_features : mapping of str to feature specification, optional
        Your own, or drawn by :func:`sequence_feature_specs`.
    max_steps : int, optional
        Maximum number of steps in a list.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    SequenceExample

    Raises
    ------
    InvalidArgumentError, TypeError
        For features that :class:`SequenceExampleParser` does not accept.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import sequence_examples_for
    >>> features = {"tokens": FixedLenSequenceFeature([], int)}
    >>> @given(sequence_examples_for(sequence_features=features))
    ... def test_tokens_can_be_parsed(example):
    ...     _, lists = parse_single_sequence_example(
    ...         example.SerializeToString(), sequence_features=features
    ...     )
    ...     assert lists["tokens"].ndim == 1
    >>> test_tokens_can_be_parsed()
    """
    prepare_sequence(context_features, sequence_features)
    sequence = SequenceExample()
    if context_features:
        context = draw(examples_for(context_features, allow_nan=allow_nan))
        sequence.context.CopyFrom(context.features)
    for name, spec in (sequence_features or {}).items():
        may_be_missing = not isinstance(spec, FixedLenSequenceFeature) or spec.allow_missing
        n_steps = draw(st.integers(-1 if may_be_missing else 0, max_steps))
        for key, kind, steps in _draw_steps(draw, name, spec, n_steps, allow_nan=allow_nan):
            features = sequence.feature_lists.feature_list[key].feature
            for values in steps:
                feature = features.add()
                has_kind: bool = draw(st.booleans())
                if values or has_kind:
                    put(feature, kind, values)
    return sequence


def _draw_steps(
    draw: DrawFn, name: str, spec: Any, n_steps: int, *, allow_nan: bool
) -> list[tuple[str, Kind, list[list[Any]]]]:
    """Draw key, kind and values per step of each list a specification reads; none if n_steps < 0."""
    kind = kind_of(spec.dtype)
    key = (isinstance(spec, RaggedFeature) and spec.value_key) or name
    if isinstance(spec, FixedLenSequenceFeature):
        one = lists_of(kind, prod(spec.shape), allow_nan=allow_nan)
        steps = [{key: draw(one)} for _ in range(n_steps)]
    else:
        lists = [draw_lists(draw, name, spec, allow_nan=allow_nan) for _ in range(n_steps)]
        steps = [{key: values for key, (_, values) in found.items()} for found in lists]
    found = {key: kind}
    if isinstance(spec, RaggedFeature):
        partitions = [part for part in spec.partitions if hasattr(part, "key")]
        found = {**{part.key: Kind.INT64 for part in partitions}, **found}
    return [
        (key, kind, [s.get(key, []) for s in steps]) for key, kind in found.items() if n_steps >= 0
    ]
