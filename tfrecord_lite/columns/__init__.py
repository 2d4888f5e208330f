"""Columns: what a parsed batch is, when a plain array does not do.

=====================  =====================================================
:class:`BytesColumn`   byte strings of any length, without an object a value
:class:`RaggedTensor`  rows of any length, in any number of levels
:class:`SparseTensor`  values and their coordinates
=====================  =====================================================

All three are arrays with a meaning, and nothing else: they copy nothing when they are
made, they are immutable as far as Python can tell (whoever changes the arrays below
them changes them), and they may be shared between threads. ``==`` compares whole
columns and gives one bool.

No I/O, no protobuf runtime.
"""

from __future__ import annotations

from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.ragged import RaggedTensor, Values
from tfrecord_lite.columns.sparse import SparseTensor

__all__ = ["BytesColumn", "RaggedTensor", "SparseTensor", "Values"]
