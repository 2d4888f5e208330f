"""Columns of every kind, with the lists they stand for, and the messages protobuf makes of these."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.messages import Example

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

# Sizes on both sides of where a length takes one byte more, at every level of nesting.
BORDERS = (0, 1, 2, 5, 30, 100, 110, 118, 122, 124, 126, 127, 128, 129, 140, 300)

keys = st.one_of(
    st.sampled_from(["a", "b", "c", "é", "key/1", "k" * 100, "k" * 127, "\0"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
int64s = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 63).map(lambda n: (1 << n) - 1),
    st.integers(0, 62).map(lambda n: 1 << n),
    st.integers(0, 200),
)
floats = st.floats(width=32, allow_nan=False)
strings = st.one_of(st.binary(max_size=12), st.sampled_from(BORDERS).map(lambda n: b"\xff" * n))


@dataclass(frozen=True)
class Meant:
    """A feature of one record: a field of tf.train.Feature, and its values."""

    field: str
    values: tuple[Any, ...]


Row = dict[str, Meant | None]


def message(row: Row) -> Any:
    """Return what the protobuf runtime makes of a record; None is a missing feature."""
    example = Example()
    example.features.SetInParent()
    for key, meant in row.items():
        if meant is not None:
            values = getattr(example.features.feature[key], meant.field)
            values.SetInParent()
            values.value.extend(meant.values)
    return example


def _values(draw: DrawFn, field: str, count: int) -> list[Any]:
    of: st.SearchStrategy[Any]
    if field == "int64_list":
        # Often all small, or all alike: other code than that for any mixture.
        of = draw(
            st.sampled_from([int64s, st.integers(0, 127), st.integers(0, 2**14), st.just(300)])
        )
    elif field == "float_list":
        of = floats
    else:
        of = draw(st.sampled_from([strings, st.binary(max_size=3), st.just(b"abc")]))
    return draw(st.lists(of, min_size=count, max_size=count))


_DTYPES = {"int64_list": np.int64, "float_list": np.float32, "bytes_list": object}


def _array(field: str, values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), _DTYPES[field])
    array[:] = values
    return array


@st.composite
def columns(draw: DrawFn, n_records: int) -> tuple[Any, list[Meant | None]]:
    """Return a column, and what it says of each record."""
    field = draw(st.sampled_from(list(_DTYPES)))
    form = draw(st.sampled_from(["dense", "ragged", "ragged", "list", "missing", "sparse"]))
    if form in ("dense", "missing"):
        shape = draw(st.sampled_from([(), (), (1,), (2, 2), (0,), (31,)]))
        count = int(np.prod(shape, dtype=int))
        values = _values(draw, field, count * n_records)
        meant: list[Meant | None] = [
            Meant(field, tuple(values[i * count : (i + 1) * count])) for i in range(n_records)
        ]
        array = _array(field, values).reshape(n_records, *shape)
        if form == "dense":
            is_column = field == "bytes_list" and shape == () and draw(st.booleans())
            return (BytesColumn.from_list(values) if is_column else array), meant
        if not array.size:  # nothing is there that could be masked
            return np.ma.MaskedArray(array, np.ones(array.shape, np.bool_)), meant
        missing = draw(hnp.arrays(np.bool_, n_records))
        mask = np.broadcast_to(missing.reshape(-1, *[1] * len(shape)), array.shape).copy()
        gone = [None if m else item for m, item in zip(missing, meant, strict=True)]
        return np.ma.MaskedArray(array, mask), gone
    most = draw(st.sampled_from([1, 3, 40]))
    counts = draw(st.lists(st.integers(0, most), min_size=n_records, max_size=n_records))
    values = _values(draw, field, sum(counts))
    splits = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = [values[a:b] for a, b in itertools.pairwise(splits)]
    meant = [Meant(field, tuple(row)) for row in rows]
    if form == "sparse":
        indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        places = np.array(indices, np.int64).reshape(-1, 2)
        return SparseTensor(places, _array(field, values), [n_records, most]), meant
    if form == "list" and values and field != "float_list":
        return rows, meant
    return RaggedTensor(_array(field, values), splits), meant


@st.composite
def tables(draw: DrawFn, fewest: int = 1) -> tuple[dict[str, Any], list[Row]]:
    """Return columns, and the records they stand for; `fewest` may be 0."""
    n_records = draw(st.sampled_from([fewest, 1, 2, 5, 20]))
    names = draw(st.lists(keys, min_size=1, max_size=5, unique=True))
    found = {name: draw(columns(n_records)) for name in names}
    rows = [{name: meant[i] for name, (_, meant) in found.items()} for i in range(n_records)]
    return {name: column for name, (column, _) in found.items()}, rows
