"""Columns of several batches as one, for comparison with the whole."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor


def join(columns: Sequence[Any]) -> Any:
    """Concatenate columns along the dimension of records; a single column is returned itself.

    All are of one class and dtype: ndarray, masked array, RaggedTensor, SparseTensor or
    BytesColumn. Arrays may differ in their second dimension, as padded batches do: the shorter
    ones are padded with 0 or ``b""``.

    >>> join([RaggedTensor([1, 2], [0, 2]), RaggedTensor([3], [0, 0, 1])])
    <RaggedTensor [[1, 2], [], [3]]>
    """
    if len(columns) == 1:
        return columns[0]
    return next(make for cls, make in _JOINERS if isinstance(columns[0], cls))(columns)


def _masked(columns: Sequence[Any]) -> Any:
    data = np.concatenate([np.asarray(column.data) for column in columns])
    mask = np.concatenate([np.ma.getmaskarray(column) for column in columns])
    return np.ma.MaskedArray(data, mask)


def _arrays(columns: Sequence[AnyArray]) -> AnyArray:
    widths = {column.shape[1:2] for column in columns}
    if len(widths) > 1:
        widest = max(width[0] for width in widths)
        padded = []
        for column in columns:
            fill: Any = b"" if column.dtype == object else 0
            out = np.full((len(column), widest, *column.shape[2:]), fill, column.dtype)
            out[:, : column.shape[1]] = column
            padded.append(out)
        columns = padded
    return np.concatenate(columns)


def _ragged(columns: Sequence[RaggedTensor]) -> RaggedTensor:
    values = join([column.values for column in columns])
    splits = [column.row_splits for column in columns]
    # Where the values of each column start among all values, and where the last end.
    starts = row_splits(np.array([len(column.values) for column in columns], np.int64))
    whole = np.concatenate([[0], *(p[1:] + s for p, s in zip(splits, starts[:-1], strict=True))])
    # All splits of a RaggedTensor have one dtype, so inner rows may require int64 as well.
    dtype: Any = splits[0].dtype if starts[-1] <= np.iinfo(splits[0].dtype).max else np.int64
    if isinstance(values, RaggedTensor):
        if values.row_splits.dtype == np.int64:
            dtype = np.int64
        values = _with_splits(values, dtype)
    return RaggedTensor(values, whole.astype(dtype))


def _with_splits(column: RaggedTensor, dtype: Any) -> RaggedTensor:
    inner = column.values
    if isinstance(inner, RaggedTensor):
        inner = _with_splits(inner, dtype)
    splits = column.row_splits.astype(dtype, copy=False)
    return RaggedTensor(inner, splits, column.uniform_row_length)


def _sparse(columns: Sequence[SparseTensor]) -> SparseTensor:
    rows = np.cumsum([0, *(column.shape[0] for column in columns)])
    indices = np.concatenate([column.indices for column in columns])
    indices[:, 0] += np.repeat(rows[:-1], [len(column.values) for column in columns])
    shape = np.max([column.dense_shape for column in columns], axis=0)
    shape[0] = rows[-1]
    return SparseTensor(indices, join([column.values for column in columns]), shape)


def _bytes(columns: Sequence[BytesColumn]) -> BytesColumn:
    lengths = np.concatenate([column.lengths for column in columns])
    data = [column.data[column.offsets[0] : column.offsets[-1]] for column in columns]
    return BytesColumn(row_splits(lengths), np.concatenate(data))


_JOINERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (np.ma.MaskedArray, _masked), (np.ndarray, _arrays), (RaggedTensor, _ragged),
    (SparseTensor, _sparse), (BytesColumn, _bytes),
)  # fmt: skip
