"""Arrays of pyarrow to columns: the values and traits of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecord_lite.convert.dataframes.common import (
    TEXT,
    Opened,
    chosen,
    fixed_rows,
    library,
    masked,
    null_error,
    objects,
    rows_of,
    time_values,
    type_error,
)

NUMBERS = ("bool", "int", "uint", "float", "double", "halffloat")
TEXTS = ("string", "large_string", "string_view")
BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
TICKS = ("timestamp", "duration", "date", "time")
LISTS = ("list<", "large_list<", "fixed_size_list<")
"""How the names of types begin."""


def imported(module: str = "pyarrow") -> Any:
    """Return the library, or a module of it; ImportError if it is not installed."""
    return library(module, "arrow")


def open_column(name: str, column: Any) -> Opened:
    """Return the values and traits of an array."""
    word = str(column.type)
    if word.startswith(TICKS):
        zone = getattr(column.type, "tz", None)
        return Opened(_times(name, column, word), {} if zone is None else {"zone": zone})
    if word.startswith("dictionary<"):
        return _open_dictionary(name, column)
    if word.startswith(LISTS):
        return _open_lists(name, column)
    if word.startswith(NUMBERS):
        mask = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        if mask.any() and word != "halffloat":  # which earlier versions cannot fill
            column = column.fill_null(False if word == "bool" else 0)
        return Opened(masked(column.to_numpy(zero_copy_only=False), mask), {})
    if word not in TEXTS and not word.startswith((*BYTES, "null")):
        raise type_error(name, column.type)
    return Opened(objects(column.to_pylist()), TEXT if word in TEXTS else {})


def _times(name: str, column: Any, word: str) -> Any:
    """Return times as datetime64 or timedelta64."""
    pa = imported()
    unit = {"date32": "D", "date64": "ms"}.get(word.partition("[")[0])
    unit = column.type.unit if unit is None else unit
    whole = column.cast(pa.int32() if word.startswith(("date32", "time32")) else pa.int64())
    mask = np.asarray(whole.is_null().to_numpy(zero_copy_only=False))
    ticks = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    kind = "M8" if word.startswith(("timestamp", "date")) else "m8"
    return time_values(name, ticks, f"{kind}[{unit}]", mask)


def _whole(column: Any) -> Any:
    """Return an array of one chunk."""
    if not hasattr(column, "chunks"):
        return column
    # As one array: chunks have no flatten that goes down one level only.
    return column.combine_chunks() if len(column.chunks) != 1 else column.chunks[0]


def _open_dictionary(name: str, column: Any) -> Opened:
    if hasattr(column, "unify_dictionaries"):
        column = column.unify_dictionaries()
    whole = _whole(column)
    mask = np.asarray(whole.indices.is_null().to_numpy(zero_copy_only=False))
    codes = np.asarray(whole.indices.fill_null(0).to_numpy(zero_copy_only=False))
    is_null = np.asarray(whole.dictionary.is_null().to_numpy(zero_copy_only=False))
    if is_null.any():  # a null is not a category: what stands for it is missing
        mask = mask | is_null[codes]
        codes = np.cumsum(~is_null)[codes] - 1
    categories = open_column(name, whole.dictionary.drop_null()).values
    return chosen(name, categories, codes, mask, ordered=bool(column.type.ordered))


def _has_missing(values: Any) -> bool:
    """Return whether a value is missing, such as one that stands for a dictionary's null."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        return any(value is None for value in values.ravel())
    return bool(np.ma.is_masked(values))


def _open_lists(name: str, column: Any) -> Opened:
    is_fixed = str(column.type).startswith("fixed")
    mask = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    kept = _whole(column.drop_null())
    flat = kept.flatten()
    if flat.null_count:
        raise null_error(name)
    inner, traits = open_column(name, flat)
    if _has_missing(inner):
        raise null_error(name)
    if is_fixed:
        return Opened(fixed_rows(name, inner, len(kept), column.type.list_size, mask), traits)
    return Opened(rows_of(name, inner, np.diff(np.asarray(kept.offsets)), mask), traits)
