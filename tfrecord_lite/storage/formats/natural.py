"""How nearly everybody stores a tensor in an Example: as a list of the nearest kind.

bool and integers become int64, floats float32, strings stay as they are; the values are
stored flat, and the shape is somebody else's knowledge. Here that knowledge becomes a
specification.
"""

from __future__ import annotations

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import (
    FeatureSpec,
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
)

Shape = tuple[int | None, ...]
"""Of one example's value; None for a dimension that varies."""

_NATURAL = frozenset({"int64", "float32", "string"})


def nearest_kind(name: str, dtype: str) -> Kind:
    """Return the kind of list that values of a dtype are stored in.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for complex numbers, which have none, and for what is no dtype.
    """
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
    """Return how to read a tensor that was stored flat, and what it was.

    Parameters
    ----------
    name : str
        The feature, for errors.
    dtype : str
        What the values were: a NumPy name, ``"bfloat16"`` or ``"string"``.
    shape : tuple of int or None
        Of one example's value.
    optional : bool, optional
        Whether an example may lack it.

    Returns
    -------
    spec : FeatureSpec
        FixedLenFeature for a shape that is known; RaggedFeature, of values without further
        rows, if the first dimension varies, or the feature is optional.
    original : Original or None
        None if there is nothing to restore.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for a dtype that no list can hold, and a shape of which another
        dimension than the first is unknown: it cannot be told from the values alone.
    """
    kind = nearest_kind(name, dtype)
    if None in shape[1:]:
        detail = f"only the first dimension may be unknown, not those of {list(shape)}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, key=name, detail=detail)
    if None not in shape and not optional:
        original = None if dtype in _NATURAL else Original(dtype, shape)
        return FixedLenFeature(shape, kind.dtype), original
    # What rows there are in the values, the original shape says.
    spec = RaggedFeature(kind.dtype, row_splits_dtype=np.int64)
    if None not in shape:
        return spec, Original(dtype, shape, missing=True)
    return spec, None if dtype in _NATURAL and len(shape) == 1 else Original(dtype, shape)
