"""Columns: the parts of a parsed batch that plain arrays cannot hold.

=====================  =========================================================
:class:`BytesColumn`   byte strings of any length, without one object per value
:class:`RaggedTensor`  rows of any length, nested to any depth
:class:`SparseTensor`  values and their coordinates
=====================  =========================================================

All three only give meaning to arrays: constructing one copies nothing, attributes cannot
be reassigned (but changing an underlying array changes the column), and columns may be
shared between threads. ``==`` compares whole columns and returns a single bool.

The modules: ``bytes``, ``ragged`` and ``sparse`` hold the three classes, ``dense`` the type of any
column, and its dense form.

No I/O, no protobuf runtime.
"""

from __future__ import annotations

from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.dense import Column, to_dense
from tfrecord_lite.columns.ragged import RaggedTensor, RaggedValues
from tfrecord_lite.columns.sparse import SparseTensor

__all__ = ["BytesColumn", "Column", "RaggedTensor", "RaggedValues", "SparseTensor", "to_dense"]
