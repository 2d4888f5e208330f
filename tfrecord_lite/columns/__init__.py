"""Columns: the parts of a parsed batch that plain arrays cannot hold.

``bytes``, ``ragged`` and ``sparse`` have a class each. They only give meaning to arrays: constructing one copies nothing, attributes cannot
be reassigned (but changing an underlying array changes the column), and columns may be
shared between threads. ``==`` compares whole columns and returns a single bool.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns.bytes import BytesColumn, fill_value
from tfrecord_lite.columns.ragged import RaggedTensor, RaggedValues
from tfrecord_lite.columns.sparse import SparseTensor

__all__ = ["BytesColumn", "Column", "RaggedTensor", "RaggedValues", "SparseTensor", "to_dense"]

Column: TypeAlias = AnyArray | BytesColumn | RaggedTensor | SparseTensor
"""The values of one feature for a batch of records; all have `shape` and `dtype`."""


def to_dense(column: Column, default_value: Any = None) -> AnyArray:
    """Return a column of any type as one NumPy array.

    Parameters
    ----------
    column : ndarray, BytesColumn, RaggedTensor or SparseTensor
        As parsing and loading return them.
    default_value : optional
        Fills the ends of shorter rows, missing coordinates and masked elements. By default 0 or
        ``b""``.

    Returns
    -------
    ndarray
        A plain array itself, otherwise a new array; of objects for byte strings.

    Raises
    ------
    InvalidArgumentError, TypeError
        If `default_value` does not fit the column's dtype and shape.

    Examples
    --------
    >>> to_dense(RaggedTensor.from_row_lengths([1, 2, 3], [1, 2]), default_value=-1)
    array([[ 1, -1],
           [ 2,  3]])
    """
    if isinstance(column, BytesColumn):
        return column.to_numpy()
    if isinstance(column, RaggedTensor):
        return column.to_tensor(default_value)
    if isinstance(column, SparseTensor):
        return column.to_dense(default_value)
    if isinstance(column, np.ma.MaskedArray):
        return column.filled(fill_value(default_value, column.dtype, ()))
    return column
