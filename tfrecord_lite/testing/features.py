"""Strategies for feature specifications, Examples and columns that fit them, and tables.

No key is read by two of the specifications drawn together. An Example drawn for them
parses with them: it has the right numbers of values of the right kinds, sparse coordinates
inside the shape, and partitions that fit the values. Optional features are sometimes missing,
and steps without values sometimes have no kind. The same holds for SequenceExamples.

Tables have columns in every form that :func:`~tfrecord_lite.encode_examples` and a writer
accept. Sizes are often such that a length takes one more byte in some records than in others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Kind,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.schema.prepare import prepare, prepare_sequence
from tfrecord_lite.testing.messages import (
    array_of,
    byte_strings,
    float32s,
    int64s,
    keys,
    lists_of,
    put,
    values_of,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    Lists: TypeAlias = dict[str, tuple[Kind, list[Any]]]
    """The kind and values of each list of an Example, by key."""
    Rows = list[list[Any] | None]


_PARTITIONS = (
    RaggedFeature.RowSplits,
    RaggedFeature.RowLengths,
    RaggedFeature.RowStarts,
    RaggedFeature.RowLimits,
    RaggedFeature.ValueRowIds,
)
_MAX_ROW_LENGTH = 3


_MAX_KEYS = 5
"""Maximum number of keys that one specification reads, its own name included."""
_IN_CONTEXT = [FixedLenFeature, VarLenFeature, RaggedFeature]


def _draw_spec(draw: DrawFn, cls: type[Any], names: list[str]) -> FeatureSpec:
    """Draw a specification of a class; the keys that it reads are taken from the list."""
    kind = draw(st.sampled_from(list(Kind)))
    if cls is FixedLenFeature:
        shape = draw(st.lists(st.integers(0, 3), max_size=2))
        default = draw(st.one_of(st.none(), lists_of(kind, prod(shape), allow_nan=False)))
        if default is not None:
            default = array_of(kind, default).reshape(shape)
        return FixedLenFeature(shape, kind.label, default)
    if cls is FixedLenSequenceFeature:
        default = draw(st.one_of(st.none(), values_of(kind, allow_nan=False)))
        shape = draw(st.lists(st.integers(1, 2), max_size=2))
        return FixedLenSequenceFeature(shape, kind.label, allow_missing=True, default_value=default)
    if cls is VarLenFeature:
        return VarLenFeature(kind.label)
    is_checked = draw(st.booleans())
    if cls is SparseFeature:
        size: Any = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))
        value_key = names.pop()
        index_key: Any = [names.pop() for _ in size]
        if len(size) == 1 and draw(st.booleans()):
            (index_key,), (size,) = index_key, size
        return SparseFeature(index_key, value_key, kind.label, size, already_sorted=is_checked)
    partitions: list[Any] = []
    for partition in draw(st.lists(st.sampled_from([*_PARTITIONS, None]), max_size=3)):
        if partition is None:
            length = draw(st.integers(1, _MAX_ROW_LENGTH))
            partitions.append(RaggedFeature.UniformRowLength(length))
        else:
            partitions.append(partition(names.pop()))
    splits_dtype = draw(st.sampled_from([np.int32, np.int64]))
    ragged = RaggedFeature(kind.label, None, partitions, splits_dtype, validate=is_checked)
    has_own_key = bool(partitions) or draw(st.booleans())
    return replace(ragged, value_key=names.pop()) if has_own_key else ragged


def _draw_specs(
    draw: DrawFn, classes: list[type[Any]], min_size: int, max_size: int
) -> dict[str, FeatureSpec]:
    """Draw names, and for each a specification of one of the classes."""
    chosen = draw(st.lists(st.sampled_from(classes), min_size=min_size, max_size=max_size))
    n_keys = _MAX_KEYS * len(chosen)
    # The empty key is a valid name, but not a valid index, value or partition key.
    one = keys().filter(bool)
    names = draw(st.lists(one, min_size=n_keys, max_size=n_keys, unique=True))
    return {names.pop(): _draw_spec(draw, cls, names) for cls in chosen}


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
    classes = [*_IN_CONTEXT, FixedLenSequenceFeature, SparseFeature]
    return _draw_specs(draw, classes, min_size, max_size)


def _draw_lists(draw: DrawFn, name: str, spec: Any, *, allow_nan: bool) -> Lists:
    """Draw kind and values of each list that a specification reads, by key; none if missing."""
    if isinstance(spec, RawFeature):
        n_bytes = spec.n_bytes
        return {name: (Kind.BYTES, [draw(st.binary(min_size=n_bytes, max_size=n_bytes))])}
    kind = spec.kind
    lists: Lists = {}
    key = name
    match spec:
        case FixedLenFeature():
            # A default without values counts as no default.
            may_be_missing = spec.default_value is not None and np.size(spec.default_value) > 0
            count = -1 if may_be_missing and draw(st.booleans()) else prod(spec.shape)
        case FixedLenSequenceFeature():
            n_blocks = draw(st.integers(-1, 3))
            count = -1 if n_blocks < 0 else n_blocks * prod(spec.shape)
        case VarLenFeature():
            count = draw(st.integers(-1, 4))
        case SparseFeature():
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
            count = draw(st.integers(0, _MAX_ROW_LENGTH))
            for partition in spec.partitions:
                if isinstance(partition, RaggedFeature.UniformRowLength):
                    count *= partition.length
                    continue
                one = st.integers(0, _MAX_ROW_LENGTH)
                lengths = draw(st.lists(one, min_size=count, max_size=count))
                if lengths and isinstance(partition, RaggedFeature.ValueRowIds):
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
    classes = [FixedLenSequenceFeature, VarLenFeature, RaggedFeature]
    lists = _draw_specs(draw, classes, 0 if context else 1, max_size)
    for name, spec in lists.items():
        if isinstance(spec, FixedLenSequenceFeature):
            lists[name] = replace(spec, allow_missing=draw(st.booleans()), default_value=None)
    return context, lists


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
        may_be_missing = getattr(spec, "allow_missing", not isinstance(spec, RawFeature))
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
    if isinstance(spec, FixedLenSequenceFeature):
        one = lists_of(kind, prod(spec.shape), allow_nan=allow_nan)
        return [(name, kind, [draw(one) for _ in range(n_steps)])]
    kinds = {name: kind}
    if isinstance(spec, RaggedFeature):
        kinds = {part.key: Kind.INT64 for part in spec.partitions if hasattr(part, "key")}
        kinds[spec.value_key or name] = kind
    steps = [_draw_lists(draw, name, spec, allow_nan=allow_nan) for _ in range(n_steps)]
    return [
        (key, kind, [step[key][1] if key in step else [] for step in steps])
        for key, kind in kinds.items()
    ]


# --- tables: columns in every form that can be written

_FORMS = ("dense", "ragged", "ragged", "list", "missing", "sparse")


@st.composite
def tables(
    draw: DrawFn, min_rows: int = 1, max_rows: int = 20, *, allow_nan: bool = True
) -> tuple[dict[str, Any], list[Example]]:
    """Draw columns in any form that can be written, and the Examples they stand for.

    Parameters
    ----------
    min_rows, max_rows : int, optional
        Number of records.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    columns : dict of str to column
        For :func:`~tfrecord_lite.encode_examples`: arrays, masked arrays, lists,
        RaggedTensor, SparseTensor or BytesColumn; one to five.
    examples : list of Example
        The records they should be encoded to.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import tables
    >>> @given(tables())
    ... def test_columns_become_one_example_per_row(table):
    ...     columns, expected = table
    ...     assert len(encode_examples(columns)) == len(expected)
    >>> test_columns_become_one_example_per_row()
    """
    n_rows = draw(st.sampled_from([min_rows, max_rows]) | st.integers(min_rows, max_rows))
    columns: dict[str, Any] = {}
    examples = [Example() for _ in range(n_rows)]
    for example in examples:
        example.features.SetInParent()
    for name in draw(st.lists(keys(), min_size=1, max_size=5, unique=True)):
        kind = draw(st.sampled_from(list(Kind)))
        form = draw(st.sampled_from(_FORMS))
        draw_column = _in_shape if form in ("dense", "missing") else _in_rows
        columns[name], rows = draw_column(draw, kind, form, n_rows, allow_nan=allow_nan)
        for example, values in zip(examples, rows, strict=True):
            if values is not None:
                put(example.features.feature[name], kind, values)
    return columns, examples


def _in_shape(
    draw: DrawFn, kind: Kind, form: str, n_rows: int, *, allow_nan: bool
) -> tuple[Any, Rows]:
    """Draw a column with the same number of values in every record; some records may be masked."""
    shape = draw(st.sampled_from([(), (), (1,), (2, 2), (0,), (31,)]))
    values = _values(draw, kind, n_rows * int(np.prod(shape, dtype=int)), allow_nan=allow_nan)
    array = array_of(kind, values).reshape(n_rows, *shape)
    rows: Rows = list(array.reshape(n_rows, -1).tolist()) if array.size else [[]] * n_rows
    if form == "dense":
        is_column = kind is Kind.BYTES and shape == () and draw(st.booleans())
        return (BytesColumn.from_list(values) if is_column else array), rows
    if not array.size:  # there is nothing to mask
        return np.ma.MaskedArray(array, np.ones(array.shape, np.bool_)), rows
    is_missing = draw(hnp.arrays(np.bool_, n_rows))
    mask = np.broadcast_to(is_missing.reshape(-1, *[1] * len(shape)), array.shape).copy()
    rows = [None if gone else row for gone, row in zip(is_missing, rows, strict=True)]
    return np.ma.MaskedArray(array, mask), rows


def _in_rows(
    draw: DrawFn, kind: Kind, form: str, n_rows: int, *, allow_nan: bool
) -> tuple[Any, Rows]:
    """Draw a column with any number of values in each record."""
    most = draw(st.sampled_from([1, 3, 40]))
    counts = draw(st.lists(st.integers(0, most), min_size=n_rows, max_size=n_rows))
    values = _values(draw, kind, sum(counts), allow_nan=allow_nan)
    splits = np.cumsum([0, *counts], dtype=np.int64)
    rows = [values[start:stop] for start, stop in pairwise(splits)]
    if form == "sparse":
        indices = [(i, k) for i, row in enumerate(rows) for k in range(len(row))]
        coordinates = np.array(indices, np.int64).reshape(-1, 2)
        return SparseTensor(coordinates, array_of(kind, values), [n_rows, most]), list(rows)
    if form == "list" and values and kind is not Kind.FLOAT:
        return rows, list(rows)
    return RaggedTensor(array_of(kind, values), splits), list(rows)


def _values(draw: DrawFn, kind: Kind, count: int, *, allow_nan: bool) -> list[Any]:
    """Draw values: often all small or all equal, which are encoded by code of their own."""
    choices: dict[Kind, list[SearchStrategy[Any]]] = {
        Kind.INT64: [int64s(), st.integers(0, 127), st.integers(0, 2**14), st.just(300)],
        Kind.FLOAT: [float32s(allow_nan=allow_nan)],
        Kind.BYTES: [byte_strings(), st.binary(max_size=3), st.just(b"abc")],
    }
    one = draw(st.sampled_from(choices[kind]))
    return draw(st.lists(one, min_size=count, max_size=count))
