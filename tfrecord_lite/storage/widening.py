"""The schemas of two batches to one that fits both, as long as both are stored alike.

How a column is stored depends on its dtype and on how many of its dimensions vary, but not
on the size of its first dimension, nor on whether a record may lack it. So a schema may
become wider after records have been written by it:

=======================================  ==============================================
(3,) and (5,)                            any length
always there, and missing somewhere      a masked array
int32 and uint8; float16 and float32     the dtype that holds both, if stored alike
``U3`` and ``U5``                        ``U5``
=======================================  ==============================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfrecord_lite.convert.originals import is_raw, original_dtype
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    SparseFeature,
    kind_of,
)

if TYPE_CHECKING:
    from tfrecord_lite.schema import FeatureSpec

__all__ = ["Conflict", "as_missing", "as_ragged", "widened"]

Feature = tuple["FeatureSpec", "Original | None"]


class Conflict(Exception):  # noqa: N818 - not an error a user sees, but the makings of one
    """Two batches that one schema cannot fit; its text says why."""


def widened(name: str, old: Feature, new: Feature) -> Feature:
    """Return a feature's specification and original that fit what two others fit.

    Raises
    ------
    Conflict
        If what is stored by the one cannot be read by any that the other is read by.
    """
    if old == new:
        return old
    (spec, before), (other, after) = old, new
    if before is None or after is None or SparseFeature in (type(spec), type(other)):
        raise Conflict(f"{_text(after, other)}, where others are {_text(before, spec)}")
    kind = kind_of(spec.dtype)  # type: ignore[attr-defined]
    raw = is_raw(before, kind)
    stored = (kind_of(other.dtype), is_raw(after, kind_of(other.dtype)))  # type: ignore[attr-defined]
    if stored != (kind, raw):
        raise Conflict(f"{_text(after, other)}, where others are {_text(before, spec)}")
    dtype = _dtype(before, after, raw=raw)
    text = _strings(before, after)
    shape = _shape(before, after)
    missing = before.missing or after.missing
    if missing and None in shape:
        raise Conflict("missing here or before, and of varying length; give an empty list")
    splits = [getattr(s, "row_splits_dtype", None) for s in (spec, other)]
    longest = np.int64 if np.dtype(np.int64) in splits else None
    original = Original(dtype, shape, text, missing)
    return _specification(name, kind, original, longest, raw=raw), original


def as_missing(name: str, feature: Feature) -> Feature:
    """Return a feature that a record may lack."""
    spec, original = feature
    if original is None or original.shape is None or isinstance(spec, SparseFeature):
        raise Conflict("missing, where that cannot be stored")
    if None in original.shape:
        raise Conflict("missing, where others vary in length; give an empty list")
    lacking = Original(original.dtype, original.shape, original.text, missing=True)
    return widened(name, feature, (spec, lacking))


def as_ragged(name: str, feature: Feature) -> Feature:
    """Return a feature of which a record may be an empty list."""
    spec, original = feature
    if original is None or not original.shape:
        raise Conflict("an empty list, where others are single values")
    empty = Original(original.dtype, (None, *original.shape[1:]), original.text, original.missing)
    if original != empty:
        return widened(name, feature, (spec, empty))
    kind = kind_of(spec.dtype)  # type: ignore[attr-defined]
    splits_dtype = getattr(spec, "row_splits_dtype", None)
    raw = is_raw(empty, kind)
    return _specification(name, kind, empty, splits_dtype, raw=raw), empty


def _text(original: Original | None, spec: FeatureSpec) -> str:
    if original is None:
        return type(spec).__name__
    word = "missing" if original.missing else original.text or original.dtype
    shape = ", ".join("?" if dim is None else str(dim) for dim in original.shape or ())
    return f"{word} [{shape}]"


def _dtype(before: Original, after: Original, *, raw: bool) -> str:
    """Return the dtype that holds both."""
    names = {before.dtype, after.dtype}
    if len(names) == 1:
        return cast("str", before.dtype)
    families = {_family(name) for name in names}
    if raw or len(families) > 1 or families == {None}:
        raise Conflict(f"{after.dtype}, where others are {before.dtype}")
    if "bfloat16" in names:
        return "float32"
    both: Any = np.result_type(*map(original_dtype, names))
    if _family(both.name) not in families:
        raise Conflict(f"{after.dtype}, where others are {before.dtype}")
    return cast("str", both.name)


def _family(name: str) -> str | None:
    """Return what a dtype may be widened within."""
    if name in ("bfloat16", "float16", "float32"):
        return "float"
    return "int" if name.startswith(("int", "uint")) else None


def _strings(before: Original, after: Original) -> str | None:
    """Return which strings hold both."""
    old, new = before.text, after.text
    if old == new:
        return old
    if old and new and old[0] == new[0] in ("S", "U"):
        return max(old, new, key=lambda text: int(text[1:]))
    raise Conflict(f"strings of {new or 'bytes'}, where others are {old or 'bytes'}")


def _shape(before: Original, after: Original) -> tuple[int | None, ...]:
    """Return the shape that fits both; only the first dimension may vary."""
    old, new = before.shape, after.shape
    if old == new and old is not None:
        return cast("tuple[int | None, ...]", old)
    if old and new and len(old) == len(new) and old[1:] == new[1:]:
        return (None, *old[1:])
    raise Conflict(
        f"the shape {list(new or ())}, where others are {list(old or ())}; "
        "only the first dimension may vary between batches"
    )


def _specification(
    name: str, kind: Kind, original: Original, splits_dtype: Any, *, raw: bool
) -> FeatureSpec:
    """Return how such values are stored, as schema_of has it."""
    shape = original.shape
    rank = next((i for i, dim in enumerate(shape) if dim is not None), len(shape))
    if original.missing:
        return RaggedFeature(kind.dtype)
    if rank == 0:
        return FixedLenFeature(() if raw else shape, kind.dtype)
    if raw and rank == 1:
        # Rows of nothing, before it was known of what, have been written without the feature.
        return FixedLenFeature([], bytes, b"")
    partitions = [
        RaggedFeature.RowLengths(f"{name}/row_lengths_{level}") for level in range(1, rank - raw)
    ]
    dtype = np.int64 if splits_dtype is None else splits_dtype
    return RaggedFeature(kind.dtype, partitions=partitions, row_splits_dtype=dtype, validate=True)
