"""tf.sparse: sparse tensors, the results of VarLenFeature and SparseFeature."""

from __future__ import annotations

from typing import Any

from tfrecord_lite.tf._tensor import SparseTensor, unwrap, wrap
from tfrecord_lite.tf._unavailable import Unavailable, unavailable

__all__ = ["SparseTensor", "to_dense"]


def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: Any = None
) -> Any:
    """Return a dense tensor, as :meth:`tfrecord_lite.SparseTensor.to_dense`."""
    default = None if default_value is None else unwrap(default_value)
    return wrap(unwrap(sp_input).to_dense(default, validate_indices=validate_indices))


__getattr__: Unavailable = unavailable(__name__)
