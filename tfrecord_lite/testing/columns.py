"""Strategies for columns by themselves: byte strings, ragged rows, sparse values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.testing.messages import float32s, int64s

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from tfrecord_lite.arrays import AnyArray

__all__ = ["bytes_columns", "ragged_tensors", "sparse_tensors"]


@st.composite
def bytes_columns(draw: DrawFn, max_size: int = 6, max_bytes: int = 12) -> BytesColumn:
    """Draw a BytesColumn, which need not begin at its first byte nor end at its last."""
    values = draw(st.lists(st.binary(max_size=max_bytes), max_size=max_size))
    column = BytesColumn.from_list([b"before", *values, b"behind"])
    return BytesColumn(column.offsets[1:-1], column.data)


def _array(draw: DrawFn, n_values: int) -> AnyArray:
    """Draw numbers or byte strings, as Examples have them."""
    elements, dtype = draw(
        st.sampled_from(
            [(int64s(), np.int64), (float32s(), np.float32), (st.binary(max_size=8), object)]
        )
    )
    array = np.empty(n_values, dtype)
    array[:] = draw(st.lists(elements, min_size=n_values, max_size=n_values))
    return array


@st.composite
def ragged_tensors(draw: DrawFn, max_rank: int = 3, max_rows: int = 3) -> RaggedTensor:
    """Draw a RaggedTensor of one to `max_rank` ragged dimensions, some rows maybe empty.

    Parameters
    ----------
    max_rank : int, optional
        Most ragged dimensions.
    max_rows : int, optional
        Most rows, and most values in one.
    """
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    n_rows, splits = draw(st.integers(0, max_rows)), []
    for _ in range(draw(st.integers(1, max_rank))):
        lengths = draw(st.lists(st.integers(0, max_rows), min_size=n_rows, max_size=n_rows))
        splits.append(np.cumsum([0, *lengths], dtype=dtype))
        n_rows = sum(lengths)
    result: Any = _array(draw, n_rows)
    for row_splits in reversed(splits):
        result = RaggedTensor(result, row_splits)
    return result  # type: ignore[no-any-return]


@st.composite
def sparse_tensors(draw: DrawFn, max_rank: int = 3, max_size: int = 5) -> SparseTensor:
    """Draw a SparseTensor; coordinates are inside its shape, ascending, each once.

    Parameters
    ----------
    max_rank : int, optional
        Most dimensions; one or more.
    max_size : int, optional
        Largest dimension, and most values.
    """
    shape = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_rank))
    cell = st.tuples(*(st.integers(0, size - 1) for size in shape))
    cells = sorted(draw(st.lists(cell, max_size=max_size, unique=True)))
    indices = np.array(cells, np.int64).reshape(len(cells), len(shape))
    return SparseTensor(indices, _array(draw, len(cells)), np.array(shape, np.int64))
