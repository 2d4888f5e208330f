"""Strategies for feature specifications, and for Examples and columns that fit them.

The specifications are such as the library takes, and each reads keys of its own. An
Example that was drawn for some parses with them: it has as many values as they say, in
the kinds they say, sparse coordinates inside the shape, and partitions that divide the
values. A feature that may be missing sometimes is.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    Kind,
    RaggedFeature,
    Schema,
    SparseFeature,
    VarLenFeature,
    kind_of,
)
from tfrecord_lite.testing.messages import float32s, int64s, keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfrecord_lite.schema import FeatureSpec

    Lists: TypeAlias = dict[str, tuple[Kind, list[Any]]]

__all__ = ["columns", "examples_for", "feature_specs", "schemas"]

_LISTS = {Kind.BYTES: "bytes_list", Kind.FLOAT: "float_list", Kind.INT64: "int64_list"}
_PARTITIONS = (
    RaggedFeature.RowSplits,
    RaggedFeature.RowLengths,
    RaggedFeature.RowStarts,
    RaggedFeature.RowLimits,
    RaggedFeature.ValueRowIds,
)
_LARGEST_ROW = 3


def _values(kind: Kind, count: int, *, allow_nan: bool = True) -> SearchStrategy[list[Any]]:
    one: SearchStrategy[Any] = st.binary(max_size=8)
    if kind is not Kind.BYTES:
        one = int64s() if kind is Kind.INT64 else float32s(allow_nan=allow_nan)
    return st.lists(one, min_size=count, max_size=count)


_kinds = st.sampled_from(list(Kind))
_shapes = st.lists(st.integers(0, 3), max_size=2)
_block_shapes = st.lists(st.integers(1, 2), max_size=2)


def _fixed_len(draw: DrawFn, _names: list[str]) -> FixedLenFeature:
    kind, shape = draw(_kinds), draw(_shapes)
    default = draw(st.one_of(st.none(), _values(kind, prod(shape), allow_nan=False)))
    if default is not None:
        given = np.empty(len(default), kind.dtype)
        given[:] = default
        default = given.reshape(shape)
    return FixedLenFeature(shape, kind.label, default)


def _fixed_len_sequence(draw: DrawFn, _names: list[str]) -> FixedLenSequenceFeature:
    kind = draw(_kinds)
    default = draw(st.one_of(st.none(), _values(kind, 1, allow_nan=False).map(lambda v: v[0])))
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
            length = draw(st.integers(1, _LARGEST_ROW))
            partitions.append(RaggedFeature.UniformRowLength(length))
        else:
            partitions.append(partition(names.pop()))
    value_key = names.pop() if bool(partitions) or draw(st.booleans()) else None
    splits_dtype = draw(st.sampled_from([np.int32, np.int64]))
    is_checked = draw(st.booleans())
    return RaggedFeature(
        draw(_kinds).label, value_key, partitions, splits_dtype, validate=is_checked
    )


_MOST_KEYS = 5
"""How many keys one specification reads at the most, its own name included."""


@st.composite
def feature_specs(draw: DrawFn, min_size: int = 1, max_size: int = 4) -> dict[str, FeatureSpec]:
    """Draw features to ask for: names, and a specification of any class each.

    Parameters
    ----------
    min_size, max_size : int, optional
        How many features.

    Returns
    -------
    dict of str to feature specification
        For :class:`ExampleParser`; no key is read by two of them.
    """
    makers: list[Callable[[DrawFn, list[str]], FeatureSpec]] = [
        _fixed_len,
        _var_len,
        _fixed_len_sequence,
        _sparse,
        _ragged,
    ]
    chosen = draw(st.lists(st.sampled_from(makers), min_size=min_size, max_size=max_size))
    n_keys = _MOST_KEYS * len(chosen)
    # The empty key is a name like any other, but no index, value or partition may have it.
    one = keys().filter(bool)
    names = draw(st.lists(one, min_size=n_keys, max_size=n_keys, unique=True))
    return {names.pop(): make(draw, names) for make in chosen}


def schemas(min_size: int = 1, max_size: int = 4) -> SearchStrategy[Schema]:
    """Return a strategy for Schemas of such features as :func:`feature_specs` draws."""
    return feature_specs(min_size, max_size).map(Schema)


def _lists_of_fixed_len(
    draw: DrawFn, name: str, spec: FixedLenFeature, values: Callable[..., Any]
) -> Lists:
    # A default without values is none.
    may_be_missing = spec.default_value is not None and np.size(spec.default_value) > 0
    if may_be_missing and draw(st.booleans()):
        return {}
    kind = kind_of(spec.dtype)
    return {name: (kind, draw(values(kind, prod(spec.shape))))}


def _lists_of_sequence(
    draw: DrawFn, name: str, spec: FixedLenSequenceFeature, values: Callable[..., Any]
) -> Lists:
    kind, n_blocks = kind_of(spec.dtype), draw(st.integers(-1, 3))
    return {} if n_blocks < 0 else {name: (kind, draw(values(kind, n_blocks * prod(spec.shape))))}


def _lists_of_var_len(
    draw: DrawFn, name: str, spec: VarLenFeature, values: Callable[..., Any]
) -> Lists:
    kind, n_values = kind_of(spec.dtype), draw(st.integers(-1, 4))
    return {} if n_values < 0 else {name: (kind, draw(values(kind, n_values)))}


def _lists_of_sparse(
    draw: DrawFn, _name: str, spec: SparseFeature, values: Callable[..., Any]
) -> Lists:
    index_keys = [spec.index_key] if isinstance(spec.index_key, str) else spec.index_key
    sizes = spec.size if isinstance(spec.size, list) else [spec.size]
    cell = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    cells = draw(st.lists(cell, max_size=4, unique=True))
    if spec.already_sorted:
        cells.sort()
    kind = kind_of(spec.dtype)
    lists: Lists = {spec.value_key: (kind, draw(values(kind, len(cells))))}
    for axis, key in enumerate(index_keys):
        lists[key] = (Kind.INT64, [cell[axis] for cell in cells])
    return lists


def _lists_of_ragged(
    draw: DrawFn, name: str, spec: RaggedFeature, values: Callable[..., Any]
) -> Lists:
    kind = kind_of(spec.dtype)
    lists: Lists = {}
    n_rows = draw(st.integers(0, _LARGEST_ROW))
    for partition in spec.partitions:
        if isinstance(partition, RaggedFeature.UniformRowLength):
            n_rows *= partition.length
            continue
        lengths = draw(st.lists(st.integers(0, _LARGEST_ROW), min_size=n_rows, max_size=n_rows))
        if lengths and isinstance(partition, RaggedFeature.ValueRowIds):
            lengths[-1] = max(lengths[-1], 1)  # rows behind the last value are not known of
        lists[partition.key] = (Kind.INT64, _divided(partition, lengths))
        n_rows = sum(lengths)
    lists[spec.value_key or name] = (kind, draw(values(kind, n_rows)))
    return lists


def _divided(partition: Any, lengths: list[int]) -> list[int]:
    """Return what a partition stores for rows of these lengths."""
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
    """Draw an Example that parses with some features.

    Parameters
    ----------
    features : mapping of str to feature specification
        A dict, as :func:`feature_specs` draws it or your own, or a Schema.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    Example
    """

    def values(kind: Kind, count: int) -> SearchStrategy[list[Any]]:
        return _values(kind, count, allow_nan=allow_nan)

    example = Example()
    for name, spec in features.items():
        for key, (kind, found) in _LISTS_OF[type(spec)](draw, name, spec, values).items():
            feature = getattr(example.features.feature[key], _LISTS[kind])
            feature.SetInParent()
            feature.value.extend(found)
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
    """Draw a batch of columns: what parsing some Examples with these features gives.

    Parameters
    ----------
    features : mapping of str to feature specification
    min_rows, max_rows : int, optional
        How many records.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    dict of str to ndarray, RaggedTensor or SparseTensor
    """
    one = examples_for(features, allow_nan=allow_nan)
    messages = draw(st.lists(one, min_size=min_rows, max_size=max_rows))
    return ExampleParser(features)([message.SerializeToString() for message in messages])
