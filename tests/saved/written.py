"""Columns for saved data sets of tf.data, and what must be equal."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tfrecord_lite import RaggedTensor, SparseTensor
from tfrecord_lite.tensors.dtypes import tensor_type

DTYPES = (
    *("float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64"),
    *("int64", "bool", "bfloat16", "uint16", "complex128", "float16", "uint32", "uint64"),
)


def values(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "string":
        flat = [
            bytes(rng.integers(0, 256, int(rng.choice([0, 1, 5, 130])), np.uint8))
            for _ in range(int(np.prod(shape)))
        ]
        return np.array([*flat, None], object)[:-1].reshape(shape)
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(tensor_type(dtype).dtype)


@st.composite
def columns(draw: st.DrawFn, n: int) -> Any:
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 999))
    inner = draw(st.sampled_from([(), (2,), (3, 2)]))
    form = draw(st.sampled_from(["dense", "dense", "ragged", "sparse", "missing"]))
    if form == "dense":
        return values(dtype, (n, *inner), seed)
    rng = np.random.default_rng(seed)
    if form == "missing" and dtype != "bfloat16":  # NumPy's masked arrays have no fill value for it
        mask = np.broadcast_to(rng.integers(0, 2, (n, *[1] * len(inner))) > 0, (n, *inner))
        return np.ma.MaskedArray(values(dtype, (n, *inner), seed), mask.copy())
    if form == "sparse":
        places = np.argwhere(rng.integers(0, 3, (n, 2, 4)) == 0)
        return SparseTensor(places, values(dtype, (len(places),), seed), [n, 2, 4])
    lengths, rows = [], n
    for _ in range(draw(st.integers(1, 3))):
        lengths.append(rng.integers(0, 4, rows))
        rows = int(lengths[-1].sum())
    column: Any = values(dtype, (rows, *inner), seed)
    for each in reversed(lengths):
        column = RaggedTensor.from_row_lengths(column, each)
    return column


def data_sets() -> st.SearchStrategy[dict[str, Any]]:
    def of_rows(n: int) -> st.SearchStrategy[dict[str, Any]]:
        one = columns(n)
        return st.fixed_dictionaries(
            {"z": one, "a": st.tuples(one, st.fixed_dictionaries({"x": one}))}
        )

    return st.integers(0, 9).flatmap(of_rows)


def assert_same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert list(got) == sorted(wanted)
        for name, item in wanted.items():
            assert_same(got[name], item)
    elif isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, RaggedTensor | SparseTensor):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert got == wanted
    else:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        mask = np.ma.getmaskarray(wanted)
        assert np.array_equal(np.ma.getmaskarray(got), mask)
        assert np.array_equal(np.ma.getdata(got)[~mask], np.ma.getdata(wanted)[~mask])
