"""The schema that came along with Arrow data: which of its features the columns still are.

A table made from records has their schema in its metadata. It may have been changed since: a
column that is gone, or of another type, is no longer what the schema says, and is stored by its own
type. No wire format.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.convert.dataframes import Frame, with_traits
from tfrecord_lite.convert.lists import MaskedRows
from tfrecord_lite.convert.lossless import schema_of, with_values
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason
from tfrecord_lite.schema import (
    FixedLenFeature,
    Original,
    RaggedFeature,
    Schema,
    SparseFeature,
    VarLenFeature,
    kind_of,
)
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS

if TYPE_CHECKING:
    from tfrecord_lite.schema import FeatureSpec

_TIMES = ("datetime64[", "timedelta64[")
_UNITS = ("D", "s", "ms", "us", "ns")
"""Of times in Arrow, the coarsest first."""


def with_carried(frame: Frame) -> tuple[Frame, Schema]:
    """Return a frame, and the features of the schema that came along with it which still fit.

    A feature that records must have, but some lack, is one that may be missing; times get the
    unit of their original.
    """
    specs: dict[str, FeatureSpec] = {}
    originals: dict[str, Original] = {}
    columns = dict(frame.columns)
    given = Schema({}) if frame.carried is None else frame.carried
    for name, spec in given.items():
        if name not in columns or isinstance(spec, SparseFeature):
            continue
        wanted = _expected(spec, given.originals.get(name))
        found = _natural(name, columns[name], frame.traits.get(name, {}))
        if not _is_alike(found, wanted):
            continue
        if wanted.dtype.startswith(_TIMES):
            columns[name] = _in_unit(name, columns[name], wanted.dtype)
        specs[name] = spec
        if name in given.originals:
            originals[name] = given.originals[name]
        if found.missing and isinstance(spec, FixedLenFeature) and spec.default_value is None:
            specs[name] = RaggedFeature(spec.dtype)
            originals[name] = replace(wanted, missing=True)
    return frame._replace(columns=columns), Schema(specs, originals)


def _natural(name: str, column: Any, traits: dict[str, Any]) -> Original:
    """Return the original that a column has by itself."""
    rows = column.rows if isinstance(column, MaskedRows) else column
    return with_traits(schema_of({name: rows}), {name: traits}).originals[name]


def _expected(spec: Any, original: Original | None) -> Original:
    """Return the original that a column has if it was made by a specification."""
    if original is not None and original.shape is not None:
        return original
    if isinstance(spec, RaggedFeature):
        inner = [getattr(each, "length", None) for each in spec.partitions]
        shape: tuple[int | None, ...] = (None, *inner)
    elif isinstance(spec, VarLenFeature):
        shape = (None,)
    else:
        shape = spec.shape if isinstance(spec, FixedLenFeature) else (None, *spec.shape)
    if original is not None:
        return replace(original, shape=shape)
    return Original(kind_of(spec.dtype).dtype, shape)


def _is_alike(found: Original, wanted: Original) -> bool:
    """Return whether a column has the type that Arrow data have for an original."""
    if wanted.text is not None and found.text is None:
        return False
    if wanted.categories is not None:
        ours, theirs = found.categories, wanted.categories
        if ours is None or found.ordered != wanted.ordered or not set(ours) <= set(theirs):
            return False
    if (found.shape, found.zone) != (wanted.shape, wanted.zone):
        return False
    if wanted.dtype.startswith(_TIMES):
        return _is_time_like(found.dtype, wanted.dtype)
    return bool(found.dtype == _dtype_in_arrow(wanted.dtype))


def _dtype_in_arrow(name: str) -> str:
    """Return the dtype of Arrow data for an original's, the nearest that there is."""
    if name in EXTRA_FLOATS:
        return "float32"
    if name in EXTRA_INTEGERS:
        return "uint8" if name.startswith("u") else "int8"
    return name


def _is_time_like(found: str, wanted: str) -> bool:
    """Return whether times are those of an original, in the unit that Arrow or Parquet has for it."""
    if found == wanted:
        return True
    if found.partition("[")[0] != wanted.partition("[")[0]:
        return False
    ours, (theirs, count) = np.datetime_data(np.dtype(found))[0], np.datetime_data(np.dtype(wanted))
    if theirs not in _UNITS or count > 1:  # hours, weeks, ...
        return ours in ("s", "ms")
    # Parquet has no seconds. A coarser unit, such as of dates, is exact in a finer one.
    return (ours, theirs) == ("ms", "s") or _UNITS.index(ours) < _UNITS.index(theirs)


def _in_unit(name: str, column: Any, dtype: str) -> Any:
    """Return times in another unit; raise about one that is not exact in it."""

    def change(values: Any) -> Any:
        made = values.astype(dtype)
        wrong = (made.astype(values.dtype) != values) & ~np.isnat(values)
        if wrong.any():
            detail = f"a time that is not exact in {dtype}, which the schema has that came along; "
            detail += "give another schema"
            raise column_error(name, detail, None, Reason.UNREPRESENTABLE)
        return made

    if isinstance(column, MaskedRows):
        return MaskedRows(with_values(column.rows, change), column.mask)
    return with_values(column, change)
