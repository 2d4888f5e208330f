"""Strategies for feature specifications, and for Examples and columns that fit them.

No key is read by two of the specifications drawn together. An Example drawn for them
parses with them: it has the right numbers of values of the right kinds, sparse coordinates
inside the shape, and partitions that fit the values. Optional features are sometimes missing,
and steps without values sometimes have no kind. The same holds for SequenceExamples.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    Kind,
    RaggedFeature,
    Schema,
    SparseFeature,
    VarLenFeature,
    kind_of,
    prepare,
    prepare_sequence,
)
from tfrecord_lite.testing.messages import array_of, keys, lists_of, put

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfrecord_lite.schema import FeatureSpec

    Lists: TypeAlias = dict[str, tuple[Kind, list[Any]]]
    """The kind and values of each list of an Example, by key."""
    Values: TypeAlias = Callable[[Kind, int], SearchStrategy[list[Any]]]
    """Returns a strategy for that many values of a kind."""


_PARTITIONS = (
    RaggedFeature.RowSplits,
    RaggedFeature.RowLengths,
    RaggedFeature.RowStarts,
    RaggedFeature.RowLimits,
    RaggedFeature.ValueRowIds,
)
_MAX_ROW_LENGTH = 3


_kinds = st.sampled_from(list(Kind))
_shapes = st.lists(st.integers(0, 3), max_size=2)
_block_shapes = st.lists(st.integers(1, 2), max_size=2)


def _fixed_len(draw: DrawFn, _names: list[str]) -> FixedLenFeature:
    kind, shape = draw(_kinds), draw(_shapes)
    default = draw(st.one_of(st.none(), lists_of(kind, prod(shape), allow_nan=False)))
    if default is not None:
        default = array_of(kind, default).reshape(shape)
    return FixedLenFeature(shape, kind.label, default)


def _fixed_len_sequence(draw: DrawFn, _names: list[str]) -> FixedLenSequenceFeature:
    kind = draw(_kinds)
    default = draw(st.one_of(st.none(), lists_of(kind, 1, allow_nan=False).map(lambda v: v[0])))
    shape = draw(_block_shapes)
    return FixedLenSequenceFeature(shape, kind.label, allow_missing=True, default_value=default)


def _var_len(draw: DrawFn, _names: list[str]) -> VarLenFeature:
    return VarLenFeature(draw(_kinds).label)


def _sparse(draw: DrawFn, names: list[str]) -> SparseFeature:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))
    value_key = names.pop()
    index_keys = [names.pop() for _ in sizes]
    is_sorted = draw(st.booleans())
    if len(sizes) == 1 and draw(st.booleans()):
        dtype = draw(_kinds).label
        return SparseFeature(index_keys[0], value_key, dtype, sizes[0], already_sorted=is_sorted)
    return SparseFeature(index_keys, value_key, draw(_kinds).label, sizes, already_sorted=is_sorted)


def _ragged(draw: DrawFn, names: list[str]) -> RaggedFeature:
    partitions: list[Any] = []
    for _ in range(draw(st.integers(0, 3))):
        partition = draw(st.sampled_from([*_PARTITIONS, None]))
        if partition is None:
            length = draw(st.integers(1, _MAX_ROW_LENGTH))
            partitions.append(RaggedFeature.UniformRowLength(length))
        else:
            partitions.append(partition(names.pop()))
    value_key = names.pop() if bool(partitions) or draw(st.booleans()) else None
    splits_dtype = draw(st.sampled_from([np.int32, np.int64]))
    is_checked = draw(st.booleans())
    return RaggedFeature(
        draw(_kinds).label, value_key, partitions, splits_dtype, validate=is_checked
    )


_MAX_KEYS = 5
"""Maximum number of keys that one specification reads, its own name included."""

_Maker: TypeAlias = "Callable[[DrawFn, list[str]], FeatureSpec]"
"""Draws a specification that reads keys taken from the list."""

_IN_CONTEXT: list[_Maker] = [_fixed_len, _var_len, _ragged]


def _draw_specs(
    draw: DrawFn, makers: list[_Maker], min_size: int, max_size: int
) -> dict[str, FeatureSpec]:
    """Draw names, and for each a specification by one of the makers."""
    chosen = draw(st.lists(st.sampled_from(makers), min_size=min_size, max_size=max_size))
    n_keys = _MAX_KEYS * len(chosen)
    # The empty key is a valid name, but not a valid index, value or partition key.
    one = keys().filter(bool)
    names = draw(st.lists(one, min_size=n_keys, max_size=n_keys, unique=True))
    return {names.pop(): make(draw, names) for make in chosen}


@st.composite
def feature_specs(draw: DrawFn, min_size: int = 1, max_size: int = 4) -> dict[str, FeatureSpec]:
    """Draw features: names, and for each a specification of any class.

    Parameters
    ----------
    min_size, max_size : int, optional
        Number of features.

    Returns
    -------
    dict of str to feature specification
        For :class:`ExampleParser`. No key is read by two of them.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import feature_specs
    >>> @given(feature_specs())
    ... def test_a_schema_comes_back_from_json(features):
    ...     schema = Schema(features)
    ...     assert Schema.from_json(schema.to_json()) == schema
    >>> test_a_schema_comes_back_from_json()
    """
    return _draw_specs(draw, [*_IN_CONTEXT, _fixed_len_sequence, _sparse], min_size, max_size)


def schemas(min_size: int = 1, max_size: int = 4) -> SearchStrategy[Schema]:
    """Return a strategy for Schemas of the features that :func:`feature_specs` draws.

    Parameters
    ----------
    min_size, max_size : int, optional
        Number of features.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import schemas
    >>> @given(schemas(max_size=2))
    ... def test_a_schema_has_at_most_two_features(schema):
    ...     assert 1 <= len(schema) <= 2
    >>> test_a_schema_has_at_most_two_features()
    """
    return feature_specs(min_size, max_size).map(Schema)


def _lists_of_fixed_len(draw: DrawFn, name: str, spec: FixedLenFeature, values: Values) -> Lists:
    # A default without values counts as no default.
    may_be_missing = spec.default_value is not None and np.size(spec.default_value) > 0
    if may_be_missing and draw(st.booleans()):
        return {}
    kind = kind_of(spec.dtype)
    return {name: (kind, draw(values(kind, prod(spec.shape))))}


def _lists_of_sequence(
    draw: DrawFn, name: str, spec: FixedLenSequenceFeature, values: Values
) -> Lists:
    kind, n_blocks = kind_of(spec.dtype), draw(st.integers(-1, 3))
    return {} if n_blocks < 0 else {name: (kind, draw(values(kind, n_blocks * prod(spec.shape))))}


def _lists_of_var_len(draw: DrawFn, name: str, spec: VarLenFeature, values: Values) -> Lists:
    kind, n_values = kind_of(spec.dtype), draw(st.integers(-1, 4))
    return {} if n_values < 0 else {name: (kind, draw(values(kind, n_values)))}


def sparse_indices(sizes: list[int], max_size: int) -> SearchStrategy[list[tuple[int, ...]]]:
    """Return a strategy for different indices into a shape, in any order."""
    one = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    return st.lists(one, max_size=max_size, unique=True)


def _lists_of_sparse(draw: DrawFn, _name: str, spec: SparseFeature, values: Values) -> Lists:
    index_keys = [spec.index_key] if isinstance(spec.index_key, str) else spec.index_key
    sizes = spec.size if isinstance(spec.size, list) else [spec.size]
    indices = draw(sparse_indices(sizes, max_size=4))
    if spec.already_sorted:
        indices.sort()
    kind = kind_of(spec.dtype)
    lists: Lists = {spec.value_key: (kind, draw(values(kind, len(indices))))}
    for axis, key in enumerate(index_keys):
        lists[key] = (Kind.INT64, [index[axis] for index in indices])
    return lists


def _lists_of_ragged(draw: DrawFn, name: str, spec: RaggedFeature, values: Values) -> Lists:
    kind = kind_of(spec.dtype)
    lists: Lists = {}
    n_rows = draw(st.integers(0, _MAX_ROW_LENGTH))
    for partition in spec.partitions:
        if isinstance(partition, RaggedFeature.UniformRowLength):
            n_rows *= partition.length
            continue
        lengths = draw(st.lists(st.integers(0, _MAX_ROW_LENGTH), min_size=n_rows, max_size=n_rows))
        if lengths and isinstance(partition, RaggedFeature.ValueRowIds):
            lengths[-1] = max(lengths[-1], 1)  # rows after the last value cannot be expressed
        lists[partition.key] = (Kind.INT64, _divided(partition, lengths))
        n_rows = sum(lengths)
    lists[spec.value_key or name] = (kind, draw(values(kind, n_rows)))
    return lists


def _divided(partition: Any, lengths: list[int]) -> list[int]:
    """Return the values that a partition stores for rows of these lengths."""
    ends: list[int] = np.cumsum([0, *lengths]).tolist()
    match partition:
        case RaggedFeature.RowSplits():
            return ends
        case RaggedFeature.RowLengths():
            return lengths
        case RaggedFeature.RowStarts():
            return ends[:-1]
        case RaggedFeature.RowLimits():
            return ends[1:]
        case _:
            return [row for row, length in enumerate(lengths) for _ in range(length)]


_LISTS_OF: dict[type[Any], Callable[..., Lists]] = {
    FixedLenFeature: _lists_of_fixed_len,
    FixedLenSequenceFeature: _lists_of_sequence,
    VarLenFeature: _lists_of_var_len,
    SparseFeature: _lists_of_sparse,
    RaggedFeature: _lists_of_ragged,
}


@st.composite
def examples_for(
    draw: DrawFn, features: Mapping[str, FeatureSpec], *, allow_nan: bool = True
) -> Example:
    """Draw an Example that parses with the given features.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dict, your own or drawn by :func:`feature_specs`, or a Schema.
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
        for key, (kind, found) in _draw_lists(draw, name, spec, allow_nan=allow_nan).items():
            put(example.features.feature[key], kind, found)
    return example


def _draw_lists(draw: DrawFn, name: str, spec: FeatureSpec, *, allow_nan: bool) -> Lists:
    """Draw kind and values of each list that a specification reads, by key; none if missing."""

    def values(kind: Kind, count: int) -> SearchStrategy[list[Any]]:
        return lists_of(kind, count, allow_nan=allow_nan)

    return _LISTS_OF[type(spec)](draw, name, spec, values)


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


def _list_of_fixed_len(draw: DrawFn, _names: list[str]) -> FixedLenSequenceFeature:
    shape = draw(st.lists(st.integers(1, 2), max_size=2))
    dtype = draw(st.sampled_from(list(Kind))).label
    return FixedLenSequenceFeature(shape, dtype, allow_missing=draw(st.booleans()))


_IN_LISTS = [_list_of_fixed_len, *_IN_CONTEXT[1:]]


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
    context = _draw_specs(draw, _IN_CONTEXT, 0, max_size)
    return context, _draw_specs(draw, _IN_LISTS, 0 if context else 1, max_size)


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
        lists = [_draw_lists(draw, name, spec, allow_nan=allow_nan) for _ in range(n_steps)]
        steps = [{key: values for key, (_, values) in found.items()} for found in lists]
    found = {key: kind}
    if isinstance(spec, RaggedFeature):
        partitions = [part for part in spec.partitions if hasattr(part, "key")]
        found = {**{part.key: Kind.INT64 for part in partitions}, **found}
    return [
        (key, kind, [s.get(key, []) for s in steps]) for key, kind in found.items() if n_steps >= 0
    ]
