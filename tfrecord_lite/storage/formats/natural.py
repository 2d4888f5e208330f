"""Tensors as most programs store them in an Example: as a flat list of the nearest kind.

bools and integers become int64, floats float32, and strings stay as they are. The shape is not
stored; a schema has it, from which the specification is made here.
"""

from __future__ import annotations

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import FeatureSpec, FixedLenFeature, Kind, Original, RaggedFeature

Shape = tuple[int | None, ...]
"""Shape of one example's value, with None for a dimension that varies."""

_NATURAL = frozenset({"int64", "float32", "string"})


def nearest_kind(name: str, dtype: str) -> Kind:
    """Return the kind of list that stores values of a dtype; raise for complex and unknown ones."""
    try:
        known = Original(dtype).dtype
    except (TypeError, InvalidArgumentError):
        known = "complex"
    if known == "string":
        return Kind.BYTES
    if known == "bfloat16" or "float" in known:
        return Kind.FLOAT
    if known.startswith("complex"):
        detail = f"values of dtype {dtype!r} cannot be stored as int64, float32 or strings"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return Kind.INT64


def specification(
    name: str, dtype: str, shape: Shape, *, optional: bool = False
) -> tuple[FeatureSpec, Original | None]:
    """Return the specification of a tensor that was stored flat, and its original if it differs.

    FixedLenFeature for a known shape; RaggedFeature without partitions if the first dimension
    varies, or the feature is `optional`.
    """
    kind = nearest_kind(name, dtype)
    if None in shape[1:]:
        detail = f"only the first dimension of the shape may be unknown, not those of {list(shape)}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    if None not in shape and not optional:
        original = None if dtype in _NATURAL else Original(dtype, shape)
        return FixedLenFeature(shape, kind.dtype), original
    # The original's shape says how values divide into rows.
    spec = RaggedFeature(kind.dtype, row_splits_dtype=np.int64)
    if None not in shape:
        return spec, Original(dtype, shape, missing=True)
    return spec, None if dtype in _NATURAL and len(shape) == 1 else Original(dtype, shape)
