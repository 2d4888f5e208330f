"""Schemas that become wider: one for what was stored by either of two.

How a column is stored depends on its dtype and on how many of its dimensions vary, but not on the
size of its first dimension, nor on whether values are missing. So a schema may become wider after
records have been written by it, and they remain readable:

=======================================  ==============================================
before and now                           wider
=======================================  ==============================================
(3,) and (5,)                            any length
always there, and sometimes missing      a masked array
int32 and uint8; float16 and float32     the dtype that holds both, if stored alike
``U3`` and ``U5``                        ``U5``
``U3`` and str; ``S3`` and bytes         str; bytes
=======================================  ==============================================

The schemas of several files are merged in the same way, except that a feature which a file lacks is missing there, or
an empty row where lengths vary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lossless import specification_of
from tfrecord_lite.convert.restore import original_dtype
from tfrecord_lite.schema import (
    Kind,
    Original,
    SchemaItem,
    SparseFeature,
)
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS

MISSING_ROW = "a value is missing where lengths vary; give an empty list instead"


class IncompatibleError(Exception):
    """No schema fits both batches, for the reason in the text; users never see this error."""


def is_empty_lists(column: object) -> bool:
    """Return whether rows are empty lists, and nothing tells what they are lists of."""
    return isinstance(column, RaggedTensor) and is_untyped(column) and len(column.values) == 0


def is_untyped(column: object) -> bool:
    """Return whether nothing tells what a ragged column's values are."""
    if not isinstance(column, RaggedTensor):
        return False
    flat = column.flat_values
    return isinstance(flat, np.ndarray) and flat.dtype == object and not len(flat)


def widened(
    name: str, old: SchemaItem, new: SchemaItem, *, missing_as_empty: bool = False
) -> SchemaItem:
    """Return the item that reads what was stored by either of two, or raise IncompatibleError.

    A missing value, where lengths vary, is an error, or an empty row.
    """
    if old == new:
        return old
    before, after = old.original, new.original
    if (
        before is None
        or after is None
        or SparseFeature in (type(old.spec), type(new.spec))
        or (old.kind, old.is_raw) != (new.kind, new.is_raw)
    ):
        raise IncompatibleError(f"{new} here, but {old} before")
    dtype = _dtype(before, after, raw=old.is_raw)
    text = _text(before, after)
    shape = _shape(before, after)
    missing = before.missing or after.missing
    traits = _traits(before, after)
    if missing and None in shape:
        if not missing_as_empty:
            raise IncompatibleError(MISSING_ROW)
        missing = False
    return _stored(name, old.kind, Original(dtype, shape, text, missing, **traits))


def _stored(
    name: str, kind: Kind, original: Original, splits_dtype: npt.DTypeLike = np.int64
) -> SchemaItem:
    """Return the item of an original that was wider from some record on."""
    return SchemaItem(specification_of(name, kind, original, splits_dtype), original)


def as_missing(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that a record may lack."""
    original = item.original
    if original is None or original.shape is None or isinstance(item.spec, SparseFeature):
        raise IncompatibleError("a value is missing, which this column cannot store")
    lacking = replace(original, missing=True)
    return widened(name, item, item._replace(original=lacking))


def as_absent(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that whole files lack: missing values, or empty rows."""
    original = item.original
    if isinstance(item.spec, SparseFeature):
        return item
    if original is not None and None in (original.shape or ()):
        return as_ragged(name, item)
    return as_missing(name, item)


def as_ragged(name: str, item: SchemaItem, *, missing_as_empty: bool = False) -> SchemaItem:
    """Return the item for a feature that may be an empty list in some records."""
    original = item.original
    if original is None or not original.shape:
        raise IncompatibleError("an empty list in a column of single values")
    empty = replace(original, shape=(None, *original.shape[1:]))
    if original != empty:
        varying = item._replace(original=empty)
        return widened(name, item, varying, missing_as_empty=missing_as_empty)
    return _stored(name, item.kind, empty, getattr(item.spec, "row_splits_dtype", np.int64))


def _traits(before: Original, after: Original) -> dict[str, Any]:
    """Return the time zone and the categories that fit both."""
    if before.zone != after.zone:
        zones = [original.zone or "no time zone" for original in (after, before)]
        raise IncompatibleError(f"times with {zones[0]} here, but with {zones[1]} before")
    if before.categories is None or after.categories is None:  # any values go with plain ones
        return {"zone": before.zone}
    both = tuple(dict.fromkeys((*before.categories, *after.categories)))
    is_ordered = before.ordered or after.ordered
    if is_ordered and (before.ordered, before.categories) != (after.ordered, after.categories):
        raise IncompatibleError("other categories here than before, or in another order")
    return {"zone": before.zone, "categories": both, "ordered": is_ordered}


def _dtype(before: Original, after: Original, *, raw: bool) -> str:
    """Return the dtype that holds both."""
    names = {before.dtype, after.dtype}
    if len(names) == 1:
        return cast("str", before.dtype)
    families = {_family(name) for name in names}
    incompatible = IncompatibleError(f"{after.dtype} here, but {before.dtype} before")
    if raw or len(families) > 1 or families == {None}:
        raise incompatible
    if names & EXTRA_FLOATS:
        return "float32"
    names = {name.rstrip("124") + "8" if name in EXTRA_INTEGERS else name for name in names}
    both = np.result_type(*map(original_dtype, names))
    if _family(both.name) not in families:
        raise incompatible
    return both.name


def _family(name: str) -> str | None:
    """Return the family of dtypes within which one may be widened."""
    if name in ("float16", "float32") or name in EXTRA_FLOATS:
        return "float"
    return "int" if name.startswith(("int", "uint")) else None


def _text(before: Original, after: Original) -> str | None:
    """Return the type of strings that holds both."""
    old, new = before.text, after.text
    if old == new:
        return old
    if old and new and old[0] == new[0]:  # S, or U
        return max(old, new, key=lambda text: int(text[1:]))
    are_bytes = {text is None or text[0] == "S" for text in (old, new)}
    if len(are_bytes) == 1:  # of several types, objects of Python's
        return None if True in are_bytes else "str"
    raise IncompatibleError(f"strings of {new or 'bytes'} here, but of {old or 'bytes'} before")


def _shape(before: Original, after: Original) -> tuple[int | None, ...]:
    """Return the shape that fits both; only the first dimension may vary."""
    old, new = before.shape, after.shape
    if old == new and old is not None:
        return cast("tuple[int | None, ...]", old)
    if old and new and old[1:] == new[1:]:
        return (None, *old[1:])
    raise IncompatibleError(
        f"the shape {list(new or ())} here, but {list(old or ())} before; "
        "only the first dimension may vary between batches"
    )
