"""Columns in every form that can be written, and the Examples they stand for.

What :func:`~tfrecord_lite.encode_examples` and a writer take: arrays, masked arrays, lists,
RaggedTensor, SparseTensor, BytesColumn. Sizes are often such that lengths take one byte more
in some records than in others.
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
from tfrecord_lite.testing.features import put
from tfrecord_lite.testing.messages import byte_strings, float32s, int64s, keys

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from tfrecord_lite.arrays import AnyArray

    Rows = list[list[Any] | None]

__all__ = ["tables"]

_FORMS = ("dense", "ragged", "ragged", "list", "missing", "sparse")


@st.composite
def tables(
    draw: DrawFn, min_rows: int = 1, max_rows: int = 20, *, allow_nan: bool = True
) -> tuple[dict[str, Any], list[Example]]:
    """Draw columns in any form, and the Examples they stand for.

    Parameters
    ----------
    min_rows, max_rows : int, optional
        How many records.
    allow_nan : bool, optional
        Whether floats may be NaN, which is not equal to itself.

    Returns
    -------
    columns : dict of str to column
        For :func:`~tfrecord_lite.encode_examples`; one to five.
    examples : list of Example
        What it should make of them, one a record.
    """
    sizes = [n for n in (min_rows, 1, 2, 5, max_rows) if min_rows <= n <= max_rows]
    n_rows = draw(st.sampled_from(sizes))
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
    """Draw a column with as many values in every record, some of which may be masked."""
    shape = draw(st.sampled_from([(), (), (1,), (2, 2), (0,), (31,)]))
    values = _values(draw, kind, n_rows * int(np.prod(shape, dtype=int)), allow_nan=allow_nan)
    array = _array(kind, values).reshape(n_rows, *shape)
    rows: Rows = list(array.reshape(n_rows, -1).tolist()) if array.size else [[]] * n_rows
    if form == "dense":
        is_column = kind is Kind.BYTES and shape == () and draw(st.booleans())
        return (BytesColumn.from_list(values) if is_column else array), rows
    if not array.size:  # nothing is there that could be masked
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
        places = np.array(indices, np.int64).reshape(-1, 2)
        return SparseTensor(places, _array(kind, values), [n_rows, most]), list(rows)
    if form == "list" and values and kind is not Kind.FLOAT:
        return rows, list(rows)
    return RaggedTensor(_array(kind, values), splits), list(rows)


def _values(draw: DrawFn, kind: Kind, count: int, *, allow_nan: bool) -> list[Any]:
    """Draw values: often all small, or all alike, which is other code than for any mixture."""
    of: dict[Kind, list[SearchStrategy[Any]]] = {
        Kind.INT64: [int64s(), st.integers(0, 127), st.integers(0, 2**14), st.just(300)],
        Kind.FLOAT: [float32s(allow_nan=allow_nan)],
        Kind.BYTES: [byte_strings(), st.binary(max_size=3), st.just(b"abc")],
    }
    one = draw(st.sampled_from(of[kind]))
    return draw(st.lists(one, min_size=count, max_size=count))


def _array(kind: Kind, values: list[Any]) -> AnyArray:
    array: AnyArray = np.empty(len(values), kind.dtype)
    array[:] = values
    return array
