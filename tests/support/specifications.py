"""Strategies for feature specifications, and for tables of columns with the Examples they stand for.

No key is read by two of the specifications drawn together. Tables have columns in every form that
``encode_examples`` and a writer accept. Sizes are often such that a length takes one more byte in
some records than in others.
"""

from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.strategies import DrawFn, SearchStrategy

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Kind,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.testing.strategies import (
    MAX_ROW_LENGTH,
    byte_strings,
    float32s,
    int64s,
    keys,
    lists_of,
    put,
    values_of,
)

Rows = list[list[Any] | None]

_PARTITIONS = (
    RaggedFeature.RowSplits, RaggedFeature.RowLengths, RaggedFeature.RowStarts,
    RaggedFeature.RowLimits, RaggedFeature.ValueRowIds,
)  # fmt: skip


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
            default = np.fromiter(default, kind.dtype).reshape(shape)
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
            length = draw(st.integers(1, MAX_ROW_LENGTH))
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
    classes = [*_IN_CONTEXT, FixedLenSequenceFeature, SparseFeature]
    return _draw_specs(draw, classes, min_size, max_size)


@st.composite
def sequence_feature_specs(
    draw: DrawFn, max_size: int = 3
) -> tuple[dict[str, FeatureSpec], dict[str, FeatureSpec]]:
    context = _draw_specs(draw, _IN_CONTEXT, 0, max_size)
    classes = [FixedLenSequenceFeature, VarLenFeature, RaggedFeature]
    lists = _draw_specs(draw, classes, 0 if context else 1, max_size)
    for name, spec in lists.items():
        if isinstance(spec, FixedLenSequenceFeature):
            lists[name] = replace(spec, allow_missing=draw(st.booleans()), default_value=None)
    return context, lists


_FORMS = ("dense", "ragged", "ragged", "list", "missing", "sparse")


@st.composite
def tables(
    draw: DrawFn, min_rows: int = 1, max_rows: int = 20, *, allow_nan: bool = True
) -> tuple[dict[str, Any], list[Example]]:
    """Draw columns in any form that can be written, and the Examples they stand for."""
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
    array = np.fromiter(values, kind.dtype).reshape(n_rows, *shape)
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
        return SparseTensor(coordinates, np.fromiter(values, kind.dtype), [n_rows, most]), list(
            rows
        )
    if form == "list" and values and kind is not Kind.FLOAT:
        return rows, list(rows)
    return RaggedTensor(np.fromiter(values, kind.dtype), splits), list(rows)


def _values(draw: DrawFn, kind: Kind, count: int, *, allow_nan: bool) -> list[Any]:
    """Draw values: often all small or all equal, which are encoded by code of their own."""
    choices: dict[Kind, list[SearchStrategy[Any]]] = {
        Kind.INT64: [int64s(), st.integers(0, 127), st.integers(0, 2**14), st.just(300)],
        Kind.FLOAT: [float32s(allow_nan=allow_nan)],
        Kind.BYTES: [byte_strings(), st.binary(max_size=3), st.just(b"abc")],
    }
    one = draw(st.sampled_from(choices[kind]))
    return draw(st.lists(one, min_size=count, max_size=count))
