"""Strategies for columns: single ones as parsing returns them, and tables to be written.

Tables have columns in every form that :func:`~tfrecord_lite.encode_examples` and a writer
accept. Sizes are often such that a length takes one more byte in some records than in others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import Kind
from tfrecord_lite.testing.features import sparse_indices
from tfrecord_lite.testing.messages import (
    array_of,
    byte_strings,
    float32s,
    int64s,
    keys,
    lists_of,
    put,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfrecord_lite.arrays import AnyArray

    Rows = list[list[Any] | None]

_FORMS = ("dense", "ragged", "ragged", "list", "missing", "sparse")


@st.composite
def bytes_columns(draw: DrawFn, max_size: int = 6, max_bytes: int = 12) -> BytesColumn:
    """Draw a BytesColumn whose strings may be only a part of its data.

    Parameters
    ----------
    max_size : int, optional
        Maximum number of strings.
    max_bytes : int, optional
        Maximum length of a string.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import bytes_columns
    >>> @given(bytes_columns())
    ... def test_a_list_of_a_column_has_its_length(column):
    ...     assert len(column.to_list()) == len(column)
    >>> test_a_list_of_a_column_has_its_length()
    """
    values = draw(st.lists(st.binary(max_size=max_bytes), max_size=max_size))
    column = BytesColumn.from_list([b"before", *values, b"after"])
    return BytesColumn(column.offsets[1:-1], column.data)


def _draw_array(draw: DrawFn, n_values: int) -> AnyArray:
    """Draw values of any kind, shape (n_values,)."""
    kind = draw(st.sampled_from([Kind.INT64, Kind.FLOAT, Kind.BYTES]))
    return array_of(kind, draw(lists_of(kind, n_values)))


@st.composite
def ragged_tensors(draw: DrawFn, max_rank: int = 3, max_rows: int = 3) -> RaggedTensor:
    """Draw a RaggedTensor of one or more ragged dimensions; rows may be empty.

    Parameters
    ----------
    max_rank : int, optional
        Maximum number of ragged dimensions.
    max_rows : int, optional
        Maximum number of rows, and of values in a row.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import ragged_tensors
    >>> @given(ragged_tensors(max_rank=1))
    ... def test_row_lengths_add_up(ragged):
    ...     assert ragged.row_lengths().sum() == len(ragged.values)
    >>> test_row_lengths_add_up()
    """
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    n_rows, splits = draw(st.integers(0, max_rows)), []
    for _ in range(draw(st.integers(1, max_rank))):
        lengths = draw(st.lists(st.integers(0, max_rows), min_size=n_rows, max_size=n_rows))
        splits.append(np.cumsum([0, *lengths], dtype=dtype))
        n_rows = sum(lengths)
    result: Any = _draw_array(draw, n_rows)
    for row_splits in reversed(splits):
        result = RaggedTensor(result, row_splits)
    return result  # type: ignore[no-any-return]


@st.composite
def sparse_tensors(draw: DrawFn, max_rank: int = 3, max_size: int = 5) -> SparseTensor:
    """Draw a SparseTensor with different coordinates inside its shape, in ascending order.

    Parameters
    ----------
    max_rank : int, optional
        Maximum number of dimensions, at least 1.
    max_size : int, optional
        Maximum size of a dimension, and maximum number of values.

    Examples
    --------
    >>> from hypothesis import given
    >>> from tfrecord_lite.testing import sparse_tensors
    >>> @given(sparse_tensors())
    ... def test_a_sparse_tensor_becomes_an_array_of_its_shape(sparse):
    ...     assert sparse.to_dense().shape == tuple(sparse.dense_shape)
    >>> test_a_sparse_tensor_becomes_an_array_of_its_shape()
    """
    shape = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_rank))
    found = sorted(draw(sparse_indices(shape, max_size)))
    indices = np.array(found, np.int64).reshape(len(found), len(shape))
    return SparseTensor(indices, _draw_array(draw, len(found)), np.array(shape, np.int64))


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
