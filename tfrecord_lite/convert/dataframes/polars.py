"""DataFrames and Series of Polars, to columns and back.

A type in JSON is its name, such as ``"Int8"``, or an object::

    {"Datetime": "us", "zone": "UTC"}    {"Duration": "ms"}
    {"List": TYPE}    {"Array": TYPE, "size": 3}
    {"Categorical": {"name": "", "namespace": "", "physical": "UInt32"}}

The categories of an Enum are in the schema, those of a Categorical are its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.dataframes.common import (
    TEXT,
    UNUSABLE,
    Opened,
    as_frame_column,
    fixed_rows,
    has,
    is_text,
    library,
    masked,
    misfit_error,
    null_error,
    objects,
    parts_of,
    rows_of,
    ticks_in,
    time_unit,
    time_values,
    type_error,
    with_none,
)
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array
    from tfrecord_lite.schema import Original

is_frame: Callable[[Any], bool] = has("get_columns", "columns", "lazy")
is_lazy: Callable[[Any], bool] = has("collect", "columns", "lazy")
is_series: Callable[[Any], bool] = has("is_null", "to_physical", "dtype")

_WIDE = {"Int128": "Int64", "UInt128": "UInt64"}
_NUMBERS = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float16", "Float32", "Float64", *_WIDE),
)
_SIMPLE = {*_NUMBERS, "Boolean", "String", "Binary", "Date", "Time", "Null", "Object", "Enum"}
_NUMPY_NAMES = {"bool": "Boolean"}


def imported() -> Any:
    """Return the library; ImportError if it is not installed."""
    return library("polars")


def names_of(frame: Any) -> list[str]:
    """Return the names of a frame's columns."""
    return list(frame.columns)


def column_of(frame: Any, name: str) -> Any:
    """Return one column."""
    return frame[name]


def index_of(frame: Any) -> dict[str, Any]:  # noqa: ARG001 - frames of Polars have none
    """Return the levels of the index."""
    return {}


# -------------------------------------------------------------------------------- to columns


def _word(dtype: Any) -> str:
    """Return the name of a type, without its parameters."""
    return str(dtype).partition("(")[0]


def open_column(name: str, series: Any) -> Opened:
    """Return the values and traits of a Series."""
    try:
        return _opened(name, series, _word(series.dtype))
    except imported().exceptions.PolarsError as error:  # versions differ in what they can do
        detail = f"Polars cannot take a column of {series.dtype} apart: {error}"
        raise column_error(name, detail, None, Reason.UNSUPPORTED) from None


def _opened(name: str, series: Any, word: str) -> Opened:
    if word in ("Categorical", "Enum"):
        return _open_categories(series, word)
    if word in ("List", "Array"):
        return _open_lists(name, series, word)
    if word in ("String", "Utf8"):
        return Opened(objects(series.to_list()), TEXT)
    if word in ("Binary", "Null", "Object"):
        return Opened(objects(series.to_list()), {})
    mask = series.is_null().to_numpy()
    if word in ("Date", "Datetime", "Duration", "Time"):
        unit = {"Date": "D", "Time": "ns"}.get(word) or series.dtype.time_unit
        kind = "M8" if word.startswith("Date") else "m8"
        ticks = series.to_physical().fill_null(0).to_numpy().astype(np.int64)
        zone = getattr(series.dtype, "time_zone", None)
        values = time_values(name, ticks, f"{kind}[{unit}]", mask)
        return Opened(values, {} if zone is None else {"zone": zone})
    if word == "Boolean":
        filled = series.fill_null(value=False) if mask.any() else series
        return Opened(masked(filled.to_numpy(), mask), {})
    if word not in _NUMBERS:
        raise type_error(name, series.dtype)
    series = _narrowed(name, series, _WIDE[word]) if word in _WIDE else series
    return Opened(masked(series.fill_null(strategy="zero").to_numpy(), mask), {})


def _narrowed(name: str, series: Any, word: str) -> Any:
    """Return integers of 128 bits in 64."""
    narrow = series.cast(getattr(imported(), word), strict=False)
    wrong = (narrow.is_null() & series.is_not_null()).to_numpy()
    if wrong.any():
        detail = f"this {series.dtype} does not fit into {word}, the widest that can be stored"
        raise column_error(name, detail, int(wrong.argmax()), Reason.UNREPRESENTABLE)
    return narrow


def _open_categories(series: Any, word: str) -> Opened:
    texts = series.cast(imported().String)
    kept = texts.drop_nulls().unique(maintain_order=True)
    listed = kept.to_list() if word == "Categorical" else list(series.dtype.categories)
    return Opened(objects(texts.to_list()), {**TEXT, "categories": tuple(listed)})


def _open_lists(name: str, series: Any, word: str) -> Opened:
    mask = series.is_null().to_numpy()
    kept = series.drop_nulls()
    if word == "Array":
        width = series.dtype.size
        lengths = np.full(len(kept), width)
    else:
        lengths = kept.list.len().to_numpy()
    flat = kept.filter(imported().Series(lengths > 0)).explode()
    flat = flat.cast(series.dtype.inner) if not len(flat) else flat
    if flat.null_count():
        raise null_error(name)
    inner, traits = open_column(name, flat)
    if word == "Array":
        return Opened(fixed_rows(name, inner, len(kept), width, mask), traits)
    return Opened(rows_of(inner, lengths, mask), traits)


# ------------------------------------------------------------------------------------ types


def describe(frame: Any) -> dict[str, Any]:
    """Return the types of all columns as JSON."""
    return {"columns": {name: _type_of(dtype) for name, dtype in frame.schema.items()}}


def _type_of(dtype: Any) -> Any:
    """Return a type as JSON."""
    word = _word(dtype)
    if word == "Datetime":
        return {"Datetime": dtype.time_unit, "zone": dtype.time_zone}
    if word == "Duration":
        return {"Duration": dtype.time_unit}
    if word == "List":
        return {"List": _type_of(dtype.inner)}
    if word == "Array":
        return {"Array": _type_of(dtype.inner), "size": dtype.size}
    if word != "Categorical":
        return word
    found: Any = getattr(dtype, "categories", None)
    if not hasattr(found, "namespace"):  # before there were named categories
        ordering = getattr(dtype, "ordering", None)
        return {"Categorical": {"ordering": ordering or "physical"}}
    if found.is_global():
        return {"Categorical": {}}
    members = {"name": found.name(), "namespace": found.namespace()}
    return {"Categorical": members | {"physical": _word(found.physical())}}


def is_fitting(found: Any, original: Original) -> bool:  # noqa: ARG001 - all types have nulls
    """Return whether a type in JSON can have what an original says."""
    return True


def _made_type(pl: Any, found: Any, original: Original | None) -> Any:
    """Return the type that JSON describes."""
    if found == "Enum":
        return pl.Enum(original.categories)  # type: ignore[union-attr]
    if isinstance(found, str):
        if found not in _SIMPLE:
            raise KeyError(found)
        return getattr(pl, found)
    match next(iter(found)):
        case "Datetime":
            return pl.Datetime(found["Datetime"], found["zone"])
        case "Duration":
            return pl.Duration(found["Duration"])
        case "List":
            return pl.List(_made_type(pl, found["List"], original))
        case "Array":
            return pl.Array(_made_type(pl, found["Array"], original), found["size"])
        case _:
            return _made_categorical(pl, found["Categorical"])


def _made_categorical(pl: Any, found: Any) -> Any:
    if "name" in found and hasattr(pl, "Categories"):
        physical = getattr(pl, found["physical"])
        named = pl.Categories(found["name"], found["namespace"], physical)
        return pl.Categorical(named)
    if found.get("ordering") == "lexical" and not hasattr(pl, "Categories"):
        return pl.Categorical("lexical")
    return pl.Categorical()


def _natural_type(name: str, column: Any, original: Original | None) -> Any:
    """Return the type for a column that was not one of Polars'."""
    pl = imported()
    if isinstance(column, RaggedTensor):
        return pl.List(_natural_type(name, column.values, original))
    kind = _flat_type(pl, name, column.dtype, original)
    for size in reversed(column.shape[1:]):
        kind = pl.Array(kind, size)
    return kind


def _flat_type(pl: Any, name: str, dtype: np.dtype[Any], original: Original | None) -> Any:
    if original is not None and original.categories is not None and is_text(original):
        return pl.Enum(original.categories) if original.ordered else pl.Categorical()
    if dtype.kind in "OSUT":
        return pl.String if is_text(original) else pl.Binary
    if dtype.kind in "Mm":
        if dtype == "M8[D]":
            return pl.Date
        unit = time_unit(name, dtype)
        unit = "ms" if unit == "s" else unit
        if dtype.kind == "m":
            return pl.Duration(unit)
        return pl.Datetime(unit, None if original is None else original.zone)
    word = _NUMPY_NAMES.get(dtype.name, dtype.name.replace("uint", "UInt").capitalize())
    word = word.replace("Uint", "UInt")
    if dtype.name == "float16" and not hasattr(pl, "Float16"):
        word = "Float32"
    if word not in _SIMPLE:
        raise column_error(name, f"Polars has no type for {dtype.name}", None, Reason.UNSUPPORTED)
    return getattr(pl, word)


# ------------------------------------------------------------------------------------- back


def frame_of(
    columns: Mapping[str, Any],
    originals: Mapping[str, Original],
    description: dict[str, Any],
    rows: range,
) -> Any:
    """Return columns as a DataFrame; one without columns has no rows, as Polars has it."""
    pl = imported()
    types = description.get("columns", {})
    made = {
        name: _series(name, column, types.get(name), originals.get(name))
        for name, column in columns.items()
    }
    if not made and len(rows):
        try:
            return pl.DataFrame(height=len(rows))
        except TypeError:  # earlier versions have no rows without columns
            return pl.DataFrame()
    return pl.DataFrame(made)


def _series(name: str, column: Any, found: Any, original: Original | None) -> Any:
    pl = imported()
    column = as_frame_column(name, column)
    try:
        dtype = None if found is None else _made_type(pl, found, original)
    except UNUSABLE:
        raise misfit_error(name, found) from None
    dtype = _natural_type(name, column, original) if dtype is None else dtype
    values, mask = parts_of(column)
    try:
        series = _physical(name, values, mask, dtype)
        series = series if series.dtype == dtype else series.cast(dtype)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise column_error(name, f"values that are not of the type {dtype}: {error}") from None
    return series


def _physical(name: str, values: Any, mask: BoolArray | None, dtype: Any) -> Any:
    """Return a Series that only needs a cast to be of a type."""
    pl = imported()
    word = _word(dtype)
    if word == "List":
        return _list_series(name, values, dtype)
    if word == "Array":
        return _array_series(name, values, mask, dtype)
    if isinstance(values, RaggedTensor) or values.ndim != 1:
        raise misfit_error(name, dtype)
    if word == "Null":
        return pl.Series([None] * len(values), dtype=pl.Null)
    if values.dtype.kind in "OSUT":
        given = values if mask is None else np.ma.MaskedArray(values, mask)
        items = with_none(given)
        if word == "Object":
            return pl.Series(items, dtype=pl.Object)
        return pl.Series(items, dtype=pl.Binary if word == "Binary" else pl.String)
    if word == "Object":
        given = values if mask is None else np.ma.MaskedArray(values, mask)
        return pl.Series(given.tolist(), dtype=pl.Object)
    if word in ("Date", "Datetime", "Duration", "Time"):
        unit = {"Date": "D", "Time": "ns"}.get(word) or dtype.time_unit
        missing = np.isnat(values)
        mask = missing if mask is None else mask | missing
        values = np.where(mask, 0, ticks_in(name, values, unit))
    if values.dtype == np.float16 and word != "Float16":
        values = values.astype(np.float32)
    series = pl.Series(np.ascontiguousarray(values))
    return series if mask is None or not mask.any() else _with_nulls(series, mask)


def _with_nulls(series: Any, mask: AnyArray) -> Any:
    """Return a Series with nulls where the mask says so."""
    pl = imported()
    frame = pl.DataFrame([series.alias("v"), pl.Series("m", mask)])
    return frame.select(pl.when(~pl.col("m")).then(pl.col("v"))).to_series()


def _list_series(name: str, values: Any, dtype: Any) -> Any:
    if not isinstance(values, RaggedTensor):
        raise misfit_error(name, dtype)
    flat = _physical(name, values.values, None, dtype.inner)
    return _lists(flat, np.diff(values.row_splits).astype(np.int64))


def _lists(flat: Any, counts: Int64Array) -> Any:
    """Return values as lists of given lengths."""
    pl = imported()
    rows = pl.Series("r", np.repeat(np.arange(len(counts)), counts))
    full = pl.DataFrame([rows, flat.alias("v")]).group_by("r", maintain_order=True).agg("v")
    every = pl.DataFrame({"r": np.arange(len(counts))}).join(full, on="r", how="left").sort("r")
    empty = pl.Series("e", [[]], dtype=pl.List(flat.dtype))
    return every.select(pl.col("v").fill_null(pl.lit(empty))).to_series()


def _array_series(name: str, values: Any, mask: BoolArray | None, dtype: Any) -> Any:
    """Return rows of one length as lists, which become arrays when they are cast."""
    width, n_rows = dtype.size, len(values)
    if isinstance(values, RaggedTensor):
        values = values.values
    elif values.ndim > 1:
        values = values.reshape(n_rows * values.shape[1], *values.shape[2:])
    if len(values) != n_rows * width:
        raise misfit_error(name, dtype)
    inner_mask = None if mask is None else np.repeat(mask, width)
    flat = _physical(name, values, inner_mask, dtype.inner)
    series = _lists(flat, np.full(n_rows, width))
    return series if mask is None or not mask.any() else _with_nulls(series, mask)
