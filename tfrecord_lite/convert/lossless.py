"""schema_of and restore: how each column is stored, and what it was, its *original*.

:mod:`.store` has the list for each dtype. It depends on dtypes and shapes alone, never on values, so the
schema of one batch fits the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.lists import AnyLists, Lists, SparseLists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.restore import as_strings, restore_values, result, values_of
from tfrecord_lite.convert.restore import restore as restore_lists
from tfrecord_lite.convert.store import type_of
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason, errors_at
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import Kind, Original, Schema, SchemaItem
from tfrecord_lite.schema.features import FixedLenFeature, RaggedFeature, RawFeature, SparseFeature
from tfrecord_lite.schema.kinds import nearest_of_numpy
from tfrecord_lite.schema.types import WIRE, Shape, Type


@hinted
def schema_of(columns: Mapping[str, Any] | arrow.DataFrame, *, lossless: bool = False) -> Schema:
    """Return the schema that stores columns, and with which they are restored.

    Parameters
    ----------
    columns : mapping of str to column, or data frame
        As for :func:`~tfrecord_lite.encode_examples`. A stream of Arrow data is not read: its types decide.
    lossless : bool, default False
        True: keep every bit. float64 is stored raw, as its bytes, and so are bools, int8 and uint8 of 16 values or more.
        By default float64 becomes a list of float32, rounded, which other programs read; encoding a finite value beyond
        float32 is then an error. Complex numbers are always stored raw.

    Returns
    -------
    Schema
        With an Original for each feature.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for objects of several kinds and for missing records in a column
        whose rows vary in length; ``UNSUPPORTED`` for a dtype or shape that cannot be
        stored; with the column's name in `key`.
    TypeError
        If `columns` is not a dict.

    Examples
    --------
    >>> schema_of({"x": np.zeros((2, 3)), "n": np.zeros(2, np.uint8)})
    Schema of 2 features
    name  specification    dtype    shape  original
    ----  ---------------  -------  -----  -----------
    x     FixedLenFeature  float32  [3]    float64 [3]
    n     FixedLenFeature  int64    []     uint8 []
    """
    frame = (
        arrow.frame_of_types(columns) if arrow.is_stream(columns) else arrow.open_columns(columns)
    )
    items = {}
    for name, column in frame.columns.items():
        lists = opened(name, column, "strict")
        items[name] = item_of(name, lists, splits_dtype_of(column), lossless=lossless)
    return Schema.of_items(items)


def item_of(
    name: str,
    lists: AnyLists,
    splits_dtype: Any = np.int64,
    *,
    lossless: bool = False,
    raw_images: bool = True,
) -> SchemaItem:
    """Return how lists are stored, and what they were; images as lists if nothing will record their shape."""
    own = type_of(name, lists, lossless=lossless, raw_images=raw_images)
    if isinstance(lists, SparseLists):
        keys = tuple(f"{name}/indices_{i}" for i in range(len(lists.sizes)))
        dtype = (own.kind or Kind.BYTES).dtype
        return SchemaItem(SparseFeature(keys, f"{name}/values", dtype, lists.sizes), own.original)
    return own.item(name, splits_dtype)


def splits_dtype_of(column: Any) -> Any:
    """Return the dtype of a column's row splits."""
    return column.row_splits.dtype if isinstance(column, RaggedTensor) else np.int64


# -------------------------------------------------------------------------------- restoring


def restore(columns: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Bring columns back to the dtypes and shapes they had before they were stored.

    For columns that TensorFlow parsed, or that were parsed with ``schema.features``: with a Schema, parsers restore.

    Parameters
    ----------
    columns : mapping of str to column
        What ``parse_example(records, schema.features)`` returned, or some of it.
    schema : Schema
        Its originals say what to make of the columns; a feature without one stays as it is.

    Returns
    -------
    dict of str to column
        In the order given. Arrays own their memory, or are the ones given.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` for values that do not make up the original's shape, ``UNREPRESENTABLE`` for
        a value that the original's dtype does not have, or a string that is longer; ``BAD_ARGUMENT``
        for a text that is not UTF-8.
    ImportError
        For a dtype of ml_dtypes, if that is not installed.

    Examples
    --------
    >>> columns = {"flag": np.array([True, False])}
    >>> schema = schema_of(columns)
    >>> restore(parse_example(encode_examples(columns, schema), schema.features), schema)
    {'flag': array([ True, False])}
    """
    restored = {}
    for name, column in columns.items():
        item = schema.to_items()[name]
        # Of a RawFeature the parser has made arrays; others parse strings.
        is_parsed = isinstance(item.spec, RawFeature) and column.dtype != object
        is_whole = item.original is None or is_parsed
        restored[name] = column if is_whole else _restored(name, column, Type.of(item))
    return restored


def _restored(name: str, column: Any, kind: Type) -> Any:
    if isinstance(column, SparseTensor):
        lists = Lists(len(column.values), WIRE[kind.kind], (), _flat(column.values))
        with errors_at(index=lambda number: int(column.indices[number, 0])):
            values = values_of(restore_values(name, lists, kind), with_objects=True)
        return SparseTensor(column.indices, values, column.dense_shape)
    shape: Shape = ()
    levels: list[Any] = []
    splits_dtype: Any = np.int64
    inner = column
    while isinstance(inner, RaggedTensor):
        shape, splits_dtype = (*shape, inner.uniform_row_length), inner.row_splits.dtype
        levels.append(np.diff(inner.row_splits).astype(np.int64))
        inner = inner.values
    shape, levels = (*shape, *inner.shape[1:]), [*levels, *inner.shape[1:]]
    lists = Lists(len(column), Type(kind.kind, "", shape), tuple(levels), _flat(inner))
    return result(restore_lists(name, lists, kind), with_objects=True, splits_dtype=splits_dtype)


def _flat(values: Any) -> Any:
    is_array = isinstance(values, np.ndarray) and values.dtype != object
    return values.reshape(-1) if is_array else as_strings(values)


# ------------------------------------------------------- the schema that came along with Arrow data
# The table may have been changed since: a column of another type is stored by its own type.

_TIMES = ("datetime64[", "timedelta64[")
_UNITS = ("D", "s", "ms", "us", "ns")
"""The units of times in Arrow, the coarsest first."""


def with_carried(frame: arrow.Frame, *, any_category: bool = False) -> tuple[arrow.Frame, Schema]:
    """Return a frame, and the features of the schema that came along with it which still fit.

    A feature that records must have, or have a default of, but some lack, is one that may be missing;
    times get the unit of their original. With `any_category`, values need not be among the categories:
    which features fit then depends on types alone, and is the same for all batches of a stream.
    """
    columns = dict(frame.columns)
    items: dict[str, SchemaItem] = {}
    for name, item in () if frame.carried is None else frame.carried.to_items().items():
        if name not in columns or isinstance(item.spec, SparseFeature):
            continue
        spec, original = item
        if any_category and original is not None:
            original = replace(original, categories=None, ordered=False)
        as_specified, lists = _expected(item._replace(original=original)), columns[name]
        own = type_of(name, lists, lossless=True)
        if not _is_alike(own, as_specified):
            continue
        if as_specified.dtype.startswith(_TIMES):
            columns[name] = _in_unit(name, lists, as_specified.dtype)
        if own.missing and isinstance(spec, FixedLenFeature | RawFeature):  # not its default
            spec, original = RaggedFeature(item.kind.dtype), replace(as_specified, missing=True)
        items[name] = item._replace(spec=spec, original=original)
    return frame._replace(columns=columns), Schema.of_items(items)


def _expected(item: SchemaItem) -> Original:
    """Return the original that a column has if it was made by a specification."""
    spec: Any = item.spec
    original = item.original or Original(item.kind.label)
    if original.shape is not None:
        return original
    if isinstance(spec, FixedLenFeature):
        return replace(original, shape=spec.shape)
    inner = [getattr(partition, "length", None) for partition in getattr(spec, "partitions", ())]
    return replace(original, shape=(None, *inner, *getattr(spec, "shape", ())))


def _is_alike(own: Type, original: Original) -> bool:
    if original.text is not None and arrow.is_text(own) != arrow.is_text(original):
        return False
    if original.categories is not None:
        ours, theirs = own.categories, original.categories
        if ours is None or own.ordered != original.ordered or not set(ours) <= set(theirs):
            return False
    if (own.shape, own.zone) != (original.shape, original.zone):
        return False
    if original.dtype.startswith(_TIMES):
        return _is_time_like(own.dtype, original.dtype)
    return own.dtype == nearest_of_numpy(original.dtype)


def _is_time_like(own: str, original: str) -> bool:
    """Return whether times match an original, in the unit that Arrow or Parquet has for it."""
    if own == original:
        return True
    if own.partition("[")[0] != original.partition("[")[0]:
        return False
    ours, (theirs, count) = np.datetime_data(np.dtype(own))[0], np.datetime_data(np.dtype(original))
    if theirs not in _UNITS or count > 1:  # hours, weeks, ...
        return ours in ("s", "ms")
    # Parquet has no seconds. A coarser unit, such as of dates, is exact in a finer one.
    return (ours, theirs) == ("ms", "s") or _UNITS.index(ours) < _UNITS.index(theirs)


def _in_unit(name: str, lists: Lists, dtype: str) -> Lists:
    flat = lists.flat.astype(dtype)
    wrong = (flat.astype(lists.flat.dtype) != lists.flat) & ~np.isnat(lists.flat)
    if wrong.any():
        detail = f"a time that is not exact in {dtype}, the dtype in the data's own schema; "
        raise column_error(name, detail + "give another schema", None, Reason.UNREPRESENTABLE)
    return lists.with_(flat=flat, type=lists.type._replace(dtype=dtype))
