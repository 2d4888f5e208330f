"""Schemas that become wider: one item for what was stored by either of two, see :meth:`.Type.widened`.

The schemas of several files are merged in the same way, except that a feature which a file lacks is missing there, or
an empty row where lengths vary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.schema import SchemaItem, SparseFeature
from tfrecord_lite.schema.types import IncompatibleError, Type

if TYPE_CHECKING:
    import numpy.typing as npt


def widened(
    name: str, old: SchemaItem, new: SchemaItem, *, missing_as_empty: bool = False
) -> SchemaItem:
    """Return the item that reads what was stored by either of two, or raise IncompatibleError.

    A missing value, where lengths vary, is an error, or an empty row.
    """
    if old == new:
        return old
    is_known = old.original is not None and new.original is not None
    if not is_known or SparseFeature in (type(old.spec), type(new.spec)):
        raise IncompatibleError(f"{new} here, but {old} before")
    return _stored(name, Type.of(old).widened(Type.of(new), missing_as_empty=missing_as_empty))


def _stored(name: str, both: Type, splits_dtype: npt.DTypeLike = np.int64) -> SchemaItem:
    """Return the item of a type that was wider from some record on."""
    return SchemaItem(both.specification(name, splits_dtype), both.original)


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
        return widened(name, item, item._replace(original=empty), missing_as_empty=missing_as_empty)
    lists = Type.of(item._replace(original=empty))
    return _stored(name, lists, getattr(item.spec, "row_splits_dtype", np.int64))
