"""DataFrames, Series, indexes and extension arrays of pandas, to columns and back.

A type in JSON is the name of a dtype of NumPy, or of pandas' own that may have missing values
(``"int64"``, ``"Int64"``, ``"boolean"``), or an object::

    {"datetime": "ns", "zone": "UTC"}            also "pytz" or "zoneinfo": true
    {"string": "pyarrow", "missing": "nan"}
    {"category": TYPE}                           of the categories, which are in the schema
    {"arrow": TYPE}                              as of a Table
    {"object": "list", "missing": "None"}        what the objects are, and what stands for none
    {"object": "time"}                           datetime, date or timedelta of Python

A description also has the ``"index"``: a list of levels, or ``{"range": [start, stop, step]}``.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.dataframes import arrow
from tfrecord_lite.convert.dataframes.common import (
    TEXT,
    UNUSABLE,
    Opened,
    as_frame_column,
    chosen,
    codes_of,
    has,
    is_text,
    library,
    masked,
    misfit_error,
    objects,
    parts_of,
    ticks_in,
    time_unit,
    type_error,
    with_none,
)
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason
from tfrecord_lite.schema import Original

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.arrays import BoolArray

is_frame: Callable[[Any], bool] = has("iloc", "columns", "to_numpy")
is_series: Callable[[Any], bool] = has("isna", "to_numpy", "dtype")

_PLAIN = "biufcMm"
_OTHERS = ("period", "interval", "sparse")
_LEVEL = "__index_level_{}__"
"""The feature of an index level without a name, as Arrow and Parquet have it."""
_EXTENSIONS = {
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "boolean"),
}
_NESTED = (list, tuple, np.ndarray)
_SEQUENCES = {"list", "tuple", "array"} | {"nested list", "nested tuple", "nested array"}
_KINDS: dict[str, Any] = {
    "bool": bool | np.bool,
    "int": int | np.integer,
    "float": float | np.floating,
    "complex": complex | np.complexfloating,
    "str": str,
    "bytes": bytes | bytearray | memoryview,
    "time": date | timedelta,
}
_TITLES = Original("string", (), "str")
_NULLABLE = {"float16": "Float32", "bool": "boolean"}


def imported() -> Any:
    """Return the library; ImportError if it is not installed."""
    return library("pandas")


def names_of(frame: Any) -> list[Any]:
    """Return the names of a frame's columns."""
    return list(frame.columns)


def column_of(frame: Any, name: str) -> Any:
    """Return one column."""
    return frame[name]


def index_of(frame: Any) -> dict[str, Any]:
    """Return the levels of the index by the names of their features; none of a RangeIndex."""
    index = getattr(frame, "index", None)
    if index is None or _is_range(index):
        return {}
    levels: dict[str, Any] = {}
    for i, name in enumerate(index.names):
        if not isinstance(name, str | None):
            raise TypeError(f"a level of the index must have a str as its name, not {name!r}")
        feature = _LEVEL.format(i) if name is None else name
        if feature in levels:
            raise column_error(feature, "two levels of the index have this name; rename one")
        levels[feature] = index.get_level_values(i)
    return levels


def _is_range(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


# -------------------------------------------------------------------------------- to columns


def _class_of(dtype: Any) -> str:
    return type(dtype).__name__


def open_column(name: str, series: Any) -> Opened:
    """Return the values and traits of a Series, index or extension array."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _open_numpy(series)
    array = getattr(series, "array", series)
    if getattr(dtype, "tz", None) is not None:
        utc = array.tz_convert("UTC").tz_localize(None)
        return Opened(utc.to_numpy(), {"zone": str(dtype.tz)})
    if hasattr(dtype, "pyarrow_dtype"):
        return arrow.open_column(name, array.__arrow_array__())
    if _class_of(dtype) == "CategoricalDtype":
        codes = np.asarray(array.codes)
        categories = open_column(name, array.categories).values
        return chosen(name, categories, codes, codes < 0, ordered=bool(array.ordered))
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "biuf":
        mask = np.asarray(series.isna())
        fill: Any = False if numpy_dtype.kind == "b" else 0
        return Opened(masked(array.to_numpy(numpy_dtype, na_value=fill), mask), {})
    if _class_of(dtype) == "StringDtype":
        return Opened(_objects(array), TEXT)
    if str(dtype).lower().startswith(_OTHERS):
        raise type_error(name, dtype)
    return Opened(_objects(array), {})


def _open_numpy(series: Any) -> Opened:
    if series.dtype.kind in _PLAIN:
        return Opened(series.to_numpy(), {})
    values = _objects(series)
    texts = any(isinstance(item, str) for item in values)
    return Opened(values, TEXT if texts else {})


def _objects(values: Any) -> Any:
    """Return objects, with None for what is missing."""
    found = np.array(values.to_numpy(dtype=object), object)
    found[np.asarray(values.isna())] = None
    return found


# ------------------------------------------------------------------------------------ types


def describe(frame: Any) -> dict[str, Any]:
    """Return the types of all columns and of the index as JSON."""
    described: dict[str, Any] = {"columns": {}}
    for name in names_of(frame):
        described["columns"][name] = _type_of(name, column_of(frame, name))
    index = getattr(frame, "index", None)
    if index is None:
        return described
    name = {} if index.name is None else {"name": index.name}
    if _is_range(index):
        if not isinstance(index.name, str | None):
            raise TypeError(f"an index must have a str as its name, not {index.name!r}")
        described["index"] = {"range": [index.start, index.stop, index.step], **name}
    else:
        described["index"] = [
            {"feature": feature, "name": title, "type": _type_of(feature, level)}
            for title, (feature, level) in zip(index.names, index_of(frame).items(), strict=True)
        ]
        if type(index).__name__ == "MultiIndex":
            described["multiindex"] = True
        freq = getattr(index, "freqstr", None)
        described |= {} if freq is None else {"freq": freq}
    return described | {"header": _header(frame.columns)}


def _header(columns: Any) -> dict[str, Any]:
    """Return the type and name of the index of columns."""
    if not isinstance(columns.name, str | None):
        raise TypeError(f"the columns must have a str as their name, not {columns.name!r}")
    kind = "range" if _is_range(columns) else _type_of("columns", columns)
    if isinstance(kind, dict) and "category" in kind:
        detail = "the names of columns are categories; make them texts, with df.columns.astype(str)"
        raise column_error("columns", detail, None, Reason.UNSUPPORTED)
    return {"type": kind, "name": columns.name}


def _type_of(name: str, series: Any) -> Any:
    """Return a dtype as JSON."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return _objects_of(name, series)
        return dtype.name if dtype.isnative else dtype.str
    if getattr(dtype, "tz", None) is not None:
        return _zoned_type(name, dtype)
    if hasattr(dtype, "pyarrow_dtype"):
        return {"arrow": arrow.type_of(dtype.pyarrow_dtype)}
    if _class_of(dtype) == "CategoricalDtype":
        return {"category": _type_of(name, dtype.categories)}
    if _class_of(dtype) == "StringDtype":
        is_nan = isinstance(dtype.na_value, float)
        return {"string": dtype.storage, "missing": "nan" if is_nan else "NA"}
    if str(dtype) not in _EXTENSIONS:
        raise type_error(name, dtype)
    return str(dtype)


def is_fitting(found: Any, original: Original) -> bool:
    """Return whether a type in JSON can have what an original says."""
    if isinstance(found, str):
        return not original.missing or found in _EXTENSIONS or found.lstrip("<>")[0] in "dtMm"
    return arrow.is_fitting(found, original)


def _zoned_type(name: str, dtype: Any) -> Any:
    """Return a dtype of times with a zone as JSON; raise if its zone cannot be made again."""
    kind = {"datetime": dtype.unit, "zone": str(dtype.tz)}
    for more in ({}, {"zoneinfo": True}, {"pytz": True}):
        try:
            if _zoned_dtype(kind | more) == dtype:
                return kind | more
        except (ValueError, ImportError, KeyError, TypeError, OSError):
            continue
    detail = f"the time zone {dtype.tz!r} cannot be kept; use dt.tz_convert with its name"
    raise column_error(name, detail, None, Reason.UNSUPPORTED)


def _zoned_dtype(found: Any) -> Any:
    zone = found["zone"]
    if found.get("zoneinfo"):
        zone = ZoneInfo(zone)
    elif found.get("pytz"):
        zone = library("pytz").timezone(zone)
    return imported().DatetimeTZDtype(found["datetime"], zone)


def _objects_of(name: str, series: Any) -> Any:
    """Return what the objects of a column are: single values or sequences, and what is missing."""
    items = series.to_numpy().tolist()
    mask = np.asarray(series.isna()).tolist()
    absent: Any = None
    forms: Any = None
    for i, (item, is_missing) in enumerate(zip(items, mask, strict=True)):
        word = _form_of(item, missing=is_missing)
        before = absent if is_missing else forms
        if before is None:
            absent, forms = (word, forms) if is_missing else (absent, word)
        elif word != before:
            kinds = "missing values" if is_missing else "objects"
            detail = f"{kinds} of several kinds in one column: {word} here, but {before} before"
            raise column_error(name, detail, i, Reason.UNREPRESENTABLE)
    if forms is not None and forms.startswith("nested"):
        detail = (
            f"a {forms.removeprefix('nested ')} that holds arrays or tuples; make all of them lists"
        )
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE)
    found = {"object": forms if forms in _SEQUENCES | {"time"} else "value"}
    return found | ({} if absent in (None, "None") else {"missing": absent})


def _form_of(item: Any, *, missing: bool) -> str:
    """Return a word for what an object is."""
    if missing:
        return {float: "nan", type(None): "None"}.get(type(item), str(item).strip("<>"))
    if isinstance(item, np.ndarray):
        is_nested = item.dtype == object and any(isinstance(v, _NESTED) for v in item.flat)
        return "nested array" if is_nested else "array"
    if not isinstance(item, list | tuple):
        return next((word for word, kind in _KINDS.items() if isinstance(item, kind)), "object")
    inner = {_form_of(each, missing=False) for each in item}
    if isinstance(item, tuple):
        return "nested tuple" if inner & _SEQUENCES else "tuple"
    return "list" if not inner & (_SEQUENCES - {"list"}) else "nested list"


# ------------------------------------------------------------------------------------- back


def frame_of(
    columns: Mapping[str, Any],
    originals: Mapping[str, Original],
    description: dict[str, Any],
    rows: range,
) -> Any:
    """Return columns as a DataFrame."""
    pd = imported()
    index = _index(columns, originals, description, rows)
    levels = description.get("index")
    taken = {level["feature"] for level in levels} if isinstance(levels, list) else set()
    types = description.get("columns", {})
    data = {
        name: _made(
            pd.Series, array_of(name, column, types.get(name), originals.get(name)), index=index
        )
        for name, column in columns.items()
        if name not in taken
    }
    frame = pd.DataFrame(data, index=index, copy=False)
    header = description.get("header")
    if isinstance(header, dict):
        kind = header.get("type")
        if kind != "range" or data:
            kind = None if kind == "range" else kind
            titles = array_of("columns", objects(list(data)), kind, _TITLES)
            frame.columns = _made(pd.Index, titles)
        frame.columns.name = _title(header)
    return frame


def _made(make: Any, array: Any, **arguments: Any) -> Any:
    """Return an array as a Series or index of its dtype, which pandas guesses from objects."""
    return make(array, dtype=array.dtype, copy=False, **arguments)


def _title(found: Any) -> Any:
    """Return the name of an index."""
    name = found.get("name")
    return name if isinstance(name, str) else None


def _index(
    columns: Mapping[str, Any],
    originals: Mapping[str, Original],
    description: dict[str, Any],
    rows: range,
) -> Any:
    """Return the index of these rows."""
    pd = imported()
    found = description.get("index", {"range": [0, 0, 1]})
    if isinstance(found, dict):
        return _range_index(pd, found, rows)
    levels = []
    for level in found:
        name = level["feature"]
        kind, original = level.get("type"), originals.get(name)
        array = array_of(name, columns[name], kind, original)
        levels.append(_made(pd.Index, array, name=_title(level)))
    if len(levels) > 1 or description.get("multiindex") is True:
        return pd.MultiIndex.from_arrays(levels)
    return _with_freq(levels[0], description.get("freq"))


def _range_index(pd: Any, found: Any, rows: range) -> Any:
    """Return the labels of rows: a RangeIndex where they follow each other, or the numbers."""
    ranges = found["ranges"] if "ranges" in found else [found["range"]]
    if all(start == 0 and step == 1 for start, _, step in ranges):  # which pandas gives by itself
        ranges = [[0, 0, 1]]
    parts: list[range] = []
    first = 0
    for i, (start, stop, step) in enumerate(ranges):
        # Nothing tells how many rows the last frame has: the schema may be for other data.
        last = rows.stop if i == len(ranges) - 1 else first + len(range(start, stop, step))
        low, high = max(rows.start, first), min(rows.stop, last)
        if low < high or (i == len(ranges) - 1 and not parts):
            part = range(start + (low - first) * step, start + (high - first) * step, step)
            if parts and parts[-1].stop == part.start and parts[-1].step == step:
                part = range(parts.pop().start, part.stop, step)
            parts.append(part)
        first = last
    if len(parts) == 1:
        return pd.RangeIndex(parts[0], name=_title(found))
    return pd.Index(np.concatenate(list(map(np.array, parts))), name=_title(found))


def _with_freq(index: Any, freq: Any) -> Any:
    """Return an index with its frequency, if its times have it."""
    if freq is None:
        return index
    try:
        index.freq = freq
    except (ValueError, TypeError, AttributeError):  # some of the rows only, or several frames
        index.freq = None
    return index


def array_of(name: str, column: Any, found: Any, original: Original | None) -> Any:
    """Return a column as an array of the dtype that JSON describes, or of its natural one."""
    column = as_frame_column(name, column)
    kind = _natural_type(name, column, original) if found is None else found
    try:
        return _array(name, column, kind, original)
    except UNUSABLE as error:
        if getattr(error, "key", None) is not None:
            raise
        raise misfit_error(name, kind) from None


def _array(name: str, column: Any, kind: Any, original: Original | None) -> Any:
    pd = imported()
    if isinstance(kind, dict) and "arrow" in kind:
        made = arrow.array_of(name, column, kind["arrow"], original)
        return pd.arrays.ArrowExtensionArray(arrow.imported().chunked_array([made]))
    if isinstance(kind, dict) and "object" in kind:
        return _object_array(pd, column, kind)
    if isinstance(column, RaggedTensor) or column.ndim != 1:
        raise misfit_error(name, kind)
    values, mask = parts_of(column)
    if isinstance(kind, dict) and "category" in kind:
        return _categorical(pd, name, column, kind, original)
    if isinstance(kind, dict) and "datetime" in kind:
        dtype = _zoned_dtype(kind)
        ticks = _ticks(name, values, mask, kind["datetime"])
        utc = pd.DatetimeIndex(ticks.view(f"M8[{kind['datetime']}]")).tz_localize("UTC")
        return utc.tz_convert(dtype.tz).array
    if isinstance(kind, dict):
        return _strings(pd, with_none(column), kind)
    if kind in _EXTENSIONS:
        dtype = pd.api.types.pandas_dtype(kind)
        data = np.array(values.astype(dtype.numpy_dtype))
        missing = np.zeros(len(data), np.bool_) if mask is None else mask
        return dtype.construct_array_type()(data, missing.copy())
    return _plain(name, values, mask, np.dtype(kind))


def _plain(name: str, values: Any, mask: BoolArray | None, dtype: np.dtype[Any]) -> Any:
    """Return values as an array of a dtype of NumPy's."""
    if dtype.kind not in _PLAIN:
        raise misfit_error(name, dtype)
    if dtype.kind in "Mm":
        unit = np.datetime_data(dtype)[0]
        return _ticks(name, values, mask, unit).view(f"{dtype.kind}8[{unit}]").astype(dtype)
    if mask is not None and mask.any():  # some of the frames read together lack the column
        return _array(name, np.ma.MaskedArray(values, mask), _nullable(dtype.name), None)
    return values.astype(dtype, copy=False)


def _ticks(name: str, values: Any, mask: BoolArray | None, unit: str) -> Any:
    ticks = ticks_in(name, values, unit)
    return ticks if mask is None else np.where(mask, np.iinfo(np.int64).min, ticks)


def _strings(pd: Any, items: list[Any], kind: Any) -> Any:
    storage = kind["string"]
    if storage == "default":
        return pd.Series(items, dtype=_default_text(pd)).array
    if "pyarrow" in storage:
        try:
            arrow.imported()
        except ImportError:
            storage = "python"
    if kind["missing"] != "nan":
        return pd.array(items, dtype=pd.StringDtype(storage))
    try:
        dtype = pd.StringDtype(storage, na_value=np.nan)
    except TypeError:  # pandas 2.2
        dtype = pd.StringDtype("pyarrow_numpy")
    return pd.array(items, dtype=dtype)


def _default_text(pd: Any) -> Any:
    """Return the dtype that pandas gives texts by itself."""
    return pd.Series(["a"]).dtype


def _categorical(pd: Any, name: str, column: Any, kind: Any, original: Original | None) -> Any:
    codes, mask = codes_of(name, column, original)
    listed = () if original is None else original.categories
    own = None if original is None or original.dtype == "string" else original.dtype
    given = objects(listed) if own is None else np.array(listed, own)
    categories = _made(pd.Index, array_of(name, given, kind["category"], original))
    ordered = original is not None and original.ordered
    dtype = pd.CategoricalDtype(categories, ordered)
    return pd.Categorical.from_codes(np.where(mask, -1, codes), dtype=dtype)


def _object_array(pd: Any, column: Any, kind: Any) -> Any:
    """Return rows as an object array, which is a column of dtype object."""
    absent = {"nan": np.nan, "NA": pd.NA, "NaT": pd.NaT}.get(kind.get("missing"))
    form = kind["object"]
    if isinstance(column, RaggedTensor):
        is_flat = not isinstance(column.values, RaggedTensor)
        if form == "array" and is_flat:
            splits, values = column.row_splits.tolist(), column.values
            rows: list[Any] = [values[a:b] for a, b in pairwise(splits)]
        else:
            rows = column.to_list()
        mask = None
    else:
        values, mask = parts_of(column)
        is_time = values.dtype.kind in "Mm" and form not in ("array", "time")
        rows = list(values) if is_time or values.ndim > 1 else values.tolist()
        if values.ndim > 1 and form != "array":
            rows = values.tolist()
    if form == "tuple":
        rows = list(map(tuple, rows))
    if mask is not None:
        rows = [absent if m else row for m, row in zip(mask.tolist(), rows, strict=True)]
    return objects(rows)


def _natural_type(name: str, column: Any, original: Original | None) -> Any:
    """Return the type for a column that was not one of pandas'."""
    if isinstance(column, RaggedTensor):
        return {"object": "list" if isinstance(column.values, RaggedTensor) else "array"}
    if column.ndim > 1:
        return {"object": "array"}
    if original is not None and original.categories is not None:
        return {"category": _flat_type(name, column.dtype, original, missing=False)}
    missing = isinstance(column, np.ma.MaskedArray) and bool(np.ma.getmaskarray(column).any())
    missing |= original is not None and original.missing
    return _flat_type(name, column.dtype, original, missing=missing)


def _flat_type(name: str, dtype: np.dtype[Any], original: Original | None, *, missing: bool) -> Any:
    if dtype.kind in "OSUT":
        return {"string": "default"} if is_text(original) else {"object": "value"}
    if dtype.kind in "Mm":
        unit = time_unit(name, dtype)
        zone = None if original is None else original.zone
        kind = "datetime64" if dtype.kind == "M" else "timedelta64"
        return f"{kind}[{unit}]" if zone is None else {"datetime": unit, "zone": zone}
    return _nullable(dtype.name) if missing else dtype.name


def _nullable(word: str) -> Any:
    """Return the type for numbers of which some are missing."""
    if word.startswith("complex"):
        return {"object": "value"}
    name = word.replace("uint", "UInt").replace("int", "Int").replace("float", "Float")
    return _NULLABLE.get(word, name)
