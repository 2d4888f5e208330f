"""Schemas that other programs wrote: a text in, a Schema out.

Most programs store tensors in an Example as a flat list of the nearest kind: bools and integers
become int64, floats float32, and strings stay as they are. The shape is not stored, but in the schema.
"""

from __future__ import annotations

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, RaggedFeature, SchemaItem
from tfrecord_lite.schema.kinds import is_float
from tfrecord_lite.schema.types import Shape


def nearest_kind(name: str, dtype: str) -> Kind:
    """Return the kind of list that stores values of a dtype; raise for complex and unknown ones."""
    try:
        known = Original(dtype).dtype
    except (TypeError, InvalidArgumentError):
        known = "complex"
    if known == "string":
        return Kind.BYTES
    if is_float(known):
        return Kind.FLOAT
    if known.startswith("complex"):
        detail = f"values of dtype {dtype!r} cannot be stored as int64, float32 or strings"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    return Kind.INT64


def specification(name: str, dtype: str, shape: Shape, *, optional: bool = False) -> SchemaItem:
    """Return the specification of a tensor that was stored flat, and its original if it differs."""
    kind = nearest_kind(name, dtype)
    if shape.count(None) > 1:
        detail = f"only one dimension of the shape may be unknown, but the shape is {list(shape)}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    is_plain = dtype == kind.label
    if None not in shape and not optional:
        spec = FixedLenFeature(shape, kind.dtype)
        return SchemaItem(spec, None if is_plain else Original(dtype, shape))
    # The original's shape says how values divide into rows.
    missing = None not in shape
    is_plain = is_plain and not missing and len(shape) == 1
    original = None if is_plain else Original(dtype, shape, missing=missing)
    return SchemaItem(RaggedFeature(kind.dtype, row_splits_dtype=np.int64), original)
