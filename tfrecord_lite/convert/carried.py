"""The schema that came along with Arrow data: which of its features the columns still are.

A table made from records has their schema in its metadata. It may have been changed since: a
column that is gone, or of another type, is no longer what the schema says, and is stored by its own
type. No wire format.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.dataframes import Frame, with_traits
from tfrecord_lite.convert.dataframes.common import is_text
from tfrecord_lite.convert.lists import MaskedRows, missing_row_error
from tfrecord_lite.convert.lossless import schema_of, with_values
from tfrecord_lite.convert.types import at_records, column_error
from tfrecord_lite.errors import Reason
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    Schema,
    SparseFeature,
    VarLenFeature,
    kind_of,
)
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.schema import FeatureSpec

_TIMES = ("datetime64[", "timedelta64[")
_UNITS = ("D", "s", "ms", "us", "ns")
"""Of times in Arrow, the coarsest first."""


def with_carried(frame: Frame, *, any_category: bool = False) -> tuple[Frame, Schema]:
    """Return a frame, and the features of the schema that came along with it which still fit.

    A feature that records must have, or have a default of, but some lack, is one that may be missing;
    times get the unit of their original. With `any_category`, values need not be among the categories:
    which features fit then depends on types alone, and is the same for all batches of a stream.
    """
    specs: dict[str, FeatureSpec] = {}
    originals: dict[str, Original] = {}
    columns = dict(frame.columns)
    given = Schema({}) if frame.carried is None else frame.carried
    for name, spec in given.items():
        if name not in columns or isinstance(spec, SparseFeature):
            continue
        wanted = _expected(spec, given.originals.get(name))
        if any_category:
            wanted = replace(wanted, categories=None, ordered=False)
        found = _natural(name, columns[name], frame.traits.get(name, {}))
        if not _is_alike(found, wanted):
            continue
        if wanted.dtype.startswith(_TIMES):
            columns[name] = _in_unit(name, columns[name], wanted.dtype)
        specs[name] = spec
        if name in given.originals:
            originals[name] = given.originals[name]
            if any_category:
                originals[name] = replace(originals[name], categories=None, ordered=False)
        if found.missing and isinstance(spec, FixedLenFeature):  # a default would come in its place
            specs[name] = RaggedFeature(spec.dtype)
            originals[name] = replace(wanted, missing=True)
    return frame._replace(columns=columns), Schema(specs, originals)


def check_exact(
    columns: Mapping[str, Any], schema: Mapping[str, Any], originals: Mapping[str, Original]
) -> None:
    """Raise about what the carried features would not give back: null lists, and rounded floats."""
    for name, column in columns.items():
        original = originals.get(name)
        shape = None if original is None else original.shape
        if isinstance(column, MaskedRows) and (shape is None or None in shape):
            raise missing_row_error(name, column.mask)
        is_float = kind_of(schema[name].dtype) is Kind.FLOAT
        if original is not None and original.dtype == "float64" and is_float:
            with at_records(_splits(column)):
                _check_float32(name, getattr(column, "flat_values", column))


def _splits(column: Any) -> Any:
    """Return where the flat values of each record start, and the end."""
    rows = column.rows if isinstance(column, MaskedRows) else column
    if not isinstance(rows, RaggedTensor):
        return np.arange(len(rows) + 1)
    splits = rows.row_splits
    for inner in rows.nested_row_splits[1:]:
        splits = inner[splits]
    return splits


def _check_float32(name: str, values: Any) -> None:
    with np.errstate(over="ignore", under="ignore"):
        wrong = values.astype(np.float32) != values
    wrong = np.ma.filled(wrong & ~np.isnan(values), fill_value=False)
    wrong = wrong.any(axis=tuple(range(1, wrong.ndim)))
    if wrong.any():
        detail = (
            "a number that is not exact in float32, in which the schema that came along stores "
        )
        detail += "it; give another schema, or none: table.replace_schema_metadata()"
        raise column_error(name, detail, int(wrong.argmax()), Reason.UNREPRESENTABLE)


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
    if is_text(wanted) and not is_text(found):
        return False
    if wanted.text is not None and is_text(found) and not is_text(wanted):
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
