"""Columns: the parts of a parsed batch that plain arrays cannot hold.

All three classes only give meaning to arrays: constructing one copies nothing, attributes cannot
be reassigned (but changing an underlying array changes the column), and columns may be
shared between threads. ``==`` compares whole columns and returns a single bool.
"""

from __future__ import annotations

from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.dense import Column, to_dense
from tfrecord_lite.columns.ragged import RaggedTensor, RaggedValues
from tfrecord_lite.columns.sparse import SparseTensor

__all__ = ["BytesColumn", "Column", "RaggedTensor", "RaggedValues", "SparseTensor", "to_dense"]
