"""Columns of any dtype and shape, and how two of them are the same."""

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.strategies import DrawFn

from tfrecord_lite import BytesColumn, RaggedTensor, SparseTensor

__all__ = ["DTYPES", "columns_of", "flat_of", "rounded", "same"]

DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    "M8[ns]", "M8[D]", "m8[25s]", "m8[ns]", "S3", "U4",
]  # fmt: skip


def same(ours: Any, theirs: Any) -> None:
    """Assert that two columns, or nests of them, are alike in class, dtype, shape and value; floats by their bits."""
    if isinstance(theirs, BytesColumn):
        theirs = theirs.to_numpy()
    assert type(ours) is type(theirs)
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        theirs, ours = tuple(theirs.values()), tuple(ours.values())
    if isinstance(theirs, tuple):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
        return
    assert ours.shape == theirs.shape
    if isinstance(theirs, RaggedTensor):
        assert ours.row_splits.tolist() == theirs.row_splits.tolist()
        same(ours.values, theirs.values)
    elif isinstance(theirs, SparseTensor):
        same(ours.indices, theirs.indices)
        same(ours.values, theirs.values)
    elif isinstance(theirs, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(theirs)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(np.ma.getmaskarray(ours), mask)
        same(np.asarray(ours.data)[~mask], np.asarray(theirs.data)[~mask])
    else:
        assert ours.dtype == theirs.dtype
        if theirs.dtype.kind in "OUST":
            assert ours.tolist() == theirs.tolist()
            assert list(map(type, ours.ravel())) == list(map(type, theirs.ravel()))
        else:
            assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes()


def flat_of(column: Any) -> Any:
    """Return the numbers or strings of a column, without what is masked."""
    return np.ma.compressed(getattr(column, "flat_values", getattr(column, "values", column)))


def rounded(column: Any) -> Any:
    """Return a column as it is after it was stored in a float list, if it is one of float64."""
    if flat_of(column).dtype != np.float64:
        return column
    if isinstance(column, RaggedTensor):
        return RaggedTensor(rounded(column.values), column.row_splits, column.uniform_row_length)
    if isinstance(column, SparseTensor):
        return SparseTensor(column.indices, rounded(column.values), column.dense_shape)
    with np.errstate(all="ignore"):
        return column.astype(np.float32).astype(np.float64)


@st.composite
def arrays(draw: DrawFn, n_records: int, max_dims: int = 2) -> Any:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 3), max_size=max_dims))
    elements = None
    if dtype.kind == "U":
        elements = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
    return draw(hnp.arrays(dtype, (n_records, *shape), elements=elements))


@st.composite
def masked_arrays(draw: DrawFn, n_records: int) -> Any:
    array = draw(arrays(n_records))
    gone = draw(hnp.arrays(np.bool_, n_records))
    assume(array.size)
    mask = np.broadcast_to(gone.reshape(-1, *[1] * (array.ndim - 1)), array.shape)
    return np.ma.MaskedArray(array, mask.copy())


@st.composite
def ragged(draw: DrawFn, n_records: int) -> RaggedTensor:
    lengths = draw(st.lists(st.integers(0, 3), min_size=n_records, max_size=n_records))
    inner: Any
    if draw(st.booleans()):
        inner = draw(arrays(sum(lengths)))
        assume(0 not in inner.shape[1:])
    else:
        inner = draw(ragged(sum(lengths)))
    return RaggedTensor(inner, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


@st.composite
def strings(draw: DrawFn, n_records: int) -> Any:
    element: Any = draw(st.sampled_from([st.binary(max_size=5), st.text(max_size=5)]))
    values = draw(st.lists(element, min_size=n_records, max_size=n_records))
    array = np.empty(n_records, object)
    array[:] = values
    if n_records and isinstance(values[0], str) and draw(st.booleans()):
        return array.astype(np.dtypes.StringDType())
    return array


@st.composite
def sparse(draw: DrawFn, n_records: int) -> SparseTensor:
    sizes = draw(st.sampled_from([(7,), (2, 3)]))
    indices = np.argwhere(draw(hnp.arrays(np.bool_, (n_records, *sizes))))
    values = draw(arrays(len(indices), 0))
    return SparseTensor(indices, values, (n_records, *sizes))


def columns_of(n_records: int) -> st.SearchStrategy[Any]:
    """Return columns of so many records, in every form that is stored."""
    kinds = (arrays, masked_arrays, ragged, strings, sparse)
    return st.one_of([kind(n_records) for kind in kinds])
