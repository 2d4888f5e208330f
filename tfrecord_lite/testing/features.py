"""Strategies for Examples, SequenceExamples and columns that fit given features.

An Example drawn for features parses with them: it has the right numbers of values of the right
kinds, sparse coordinates inside the shape, and partitions that fit the values. Optional features are
sometimes missing, and steps without values sometimes have no kind. The same holds for SequenceExamples.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tfrecord_lite import ExampleParser
from tfrecord_lite import schema as specs
from tfrecord_lite.extension import prepare, prepare_sequence
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import FeatureSpec, Kind
from tfrecord_lite.testing.messages import lists_of, put

Lists: TypeAlias = dict[str, tuple[Kind, list[Any]]]
"""The kind and values of each list of an Example, by key."""

MAX_ROW_LENGTH = 3


def _draw_lists(draw: DrawFn, name: str, spec: Any, *, allow_nan: bool) -> Lists:
    """Draw kind and values of each list that a specification reads, by key; none if missing."""
    if isinstance(spec, specs.RawFeature):
        n_bytes = spec.n_bytes
        return {name: (Kind.BYTES, [draw(st.binary(min_size=n_bytes, max_size=n_bytes))])}
    kind = spec.kind
    lists: Lists = {}
    key = name
    match spec:
        case specs.FixedLenFeature():
            # A default without values counts as no default.
            may_be_missing = spec.default_value is not None and np.size(spec.default_value) > 0
            count = -1 if may_be_missing and draw(st.booleans()) else prod(spec.shape)
        case specs.FixedLenSequenceFeature():
            n_blocks = draw(st.integers(-1, 3))
            count = -1 if n_blocks < 0 else n_blocks * prod(spec.shape)
        case specs.VarLenFeature():
            count = draw(st.integers(-1, 4))
        case specs.SparseFeature():
            index_keys = [spec.index_key] if isinstance(spec.index_key, str) else spec.index_key
            sizes = spec.size if isinstance(spec.size, list) else [spec.size]
            one_index = st.tuples(*(st.integers(0, size - 1) for size in sizes))
            indices = draw(st.lists(one_index, max_size=4, unique=True))
            if spec.already_sorted:
                indices.sort()
            for axis, index_key in enumerate(index_keys):
                lists[index_key] = (Kind.INT64, [index[axis] for index in indices])
            key, count = spec.value_key, len(indices)
        case _:
            count = draw(st.integers(0, MAX_ROW_LENGTH))
            for partition in spec.partitions:
                if isinstance(partition, specs.RaggedFeature.UniformRowLength):
                    count *= partition.length
                    continue
                one = st.integers(0, MAX_ROW_LENGTH)
                lengths = draw(st.lists(one, min_size=count, max_size=count))
                if lengths and isinstance(partition, specs.RaggedFeature.ValueRowIds):
                    lengths[-1] = max(lengths[-1], 1)  # rows after the last value are not stored
                lists[partition.key] = (Kind.INT64, _divided(partition, lengths))
                count = sum(lengths)
            key = spec.value_key or name
    if count >= 0:
        lists[key] = (kind, draw(lists_of(kind, count, allow_nan=allow_nan)))
    return lists


def _divided(partition: Any, lengths: list[int]) -> list[int]:
    """Return the values that a partition stores for rows of these lengths."""
    ends: list[int] = np.cumsum([0, *lengths]).tolist()
    forms = {"RowSplits": ends, "RowStarts": ends[:-1], "RowLimits": ends[1:]}
    forms["RowLengths"] = lengths
    rows = [row for row, length in enumerate(lengths) for _ in range(length)]
    return forms.get(type(partition).__name__, rows)


@st.composite
def examples_for(
    draw: DrawFn, features: Mapping[str, FeatureSpec], *, allow_nan: bool = True
) -> Example:
    """Draw an Example that parses with the given features.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dict, or a Schema.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    Example

    Raises
    ------
    InvalidArgumentError, TypeError
        For features that :class:`ExampleParser` does not accept.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import examples_for
    >>> features = {"age": FixedLenFeature([], int)}
    >>> @given(examples_for(features))
    ... def test_every_person_has_an_age(person):
    ...     parsed = parse_single_example(person.SerializeToString(), features)
    ...     assert parsed["age"].shape == ()
    >>> test_every_person_has_an_age()
    """
    prepare(features)
    example = Example()
    for name, spec in features.items():
        for key, (kind, values) in _draw_lists(draw, name, spec, allow_nan=allow_nan).items():
            put(example.features.feature[key], kind, values)
    return example


@st.composite
def columns(
    draw: DrawFn,
    features: Mapping[str, FeatureSpec],
    min_rows: int = 1,
    max_rows: int = 5,
    *,
    allow_nan: bool = True,
) -> dict[str, Any]:
    """Draw a batch of columns, as parsing Examples with these features returns it.

    Parameters
    ----------
    features : mapping of str to feature specification
    min_rows, max_rows : int, optional
        Number of records.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    dict of str to ndarray, RaggedTensor or SparseTensor

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import assert_same, columns
    >>> features = {"name": FixedLenFeature([], bytes), "scores": RaggedFeature(float)}
    >>> @given(columns(features, allow_nan=False))
    ... def test_columns_come_back(batch):
    ...     assert_same(parse_example(encode_examples(batch, features), features), batch)
    >>> test_columns_come_back()
    """
    one = examples_for(features, allow_nan=allow_nan)
    messages = draw(st.lists(one, min_size=min_rows, max_size=max_rows))
    return ExampleParser(features)([message.SerializeToString() for message in messages])


# --- SequenceExamples


@st.composite
def sequence_examples_for(
    draw: DrawFn,
    context_features: Mapping[str, FeatureSpec] | None = None,
    sequence_features: Mapping[str, FeatureSpec] | None = None,
    max_steps: int = 3,
    *,
    allow_nan: bool = True,
) -> SequenceExample:
    """Draw a SequenceExample that parses with the given features.

    Parameters
    ----------
    context_features, sequence_features : mapping of str to feature specification, optional
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
        may_be_missing = getattr(spec, "allow_missing", not isinstance(spec, specs.RawFeature))
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
    if n_steps < 0:
        return []
    kind = spec.kind
    if isinstance(spec, specs.FixedLenSequenceFeature):
        one = lists_of(kind, prod(spec.shape), allow_nan=allow_nan)
        return [(name, kind, [draw(one) for _ in range(n_steps)])]
    kinds = {name: kind}
    if isinstance(spec, specs.RaggedFeature):
        kinds = {part.key: Kind.INT64 for part in spec.partitions if hasattr(part, "key")}
        kinds[spec.value_key or name] = kind
    steps = [_draw_lists(draw, name, spec, allow_nan=allow_nan) for _ in range(n_steps)]
    return [
        (key, kind, [step[key][1] if key in step else [] for step in steps])
        for key, kind in kinds.items()
    ]
