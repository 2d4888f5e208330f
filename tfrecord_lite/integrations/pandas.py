"""DataFrames, Series, indexes and extension arrays of pandas: a bridge of ``convert/arrow``.

The word of a column is the name of a dtype of NumPy, or of pandas' own that may have missing values
(``"int64"``, ``"Int64"``, ``"boolean"``), or an object::

    {"datetime": "ns", "zone": "UTC"}
    {"string": "pyarrow", "missing": "nan"}
    {"category": WORD}                           of the categories, which are in the schema
    {"arrow": WORD}                              as of a Table
    {"object": "list", "missing": "None"}        what the objects are, and what stands for none

A description also has the ``"index"``: a list of levels, ``[feature, name]``, which have words as columns
do, or ``{"ranges": [[start, stop, step]]}``; and the ``"header"``, the word and name of the columns' index.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.arrow import (
    TEXT,
    UNUSABLE,
    Opened,
    check_names,
    chosen,
    form_of,
    library,
    masked,
    misfit_error,
    objects,
    type_error,
)
from tfrecord_lite.convert.lists import TextColumn, values_and_mask
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason, argument_error
from tfrecord_lite.schema import Original

_LEVEL = "__index_level_{}__"
"""The feature of an index level without a name, as Arrow and Parquet have it."""
_NULLABLE = {
    **{
        f"{kind}{bits}".lower(): f"{kind}{bits}"
        for kind in ("Int", "UInt")
        for bits in (8, 16, 32, 64)
    },
    "float16": "Float32",
    "float32": "Float32",
    "float64": "Float64",
    "bool": "boolean",
}
"""The dtypes of numbers of which some may be missing."""
_NESTED = {"list", "tuple", "array", "nested"}
_SCALARS = {bool, int, float, str, bytes}
_KINDS: dict[str, Any] = {
    "bool": bool | np.bool,
    "int": int | np.integer,
    "float": float | np.floating,
    "str": str,
    "bytes": bytes | bytearray | memoryview,
    "time": date | timedelta,
}


def is_frame(data: Any) -> bool:
    """Return whether an object of pandas is a DataFrame."""
    return isinstance(data, library("pandas").DataFrame)


def is_series(data: Any) -> bool:
    """Return whether an object of pandas is a column."""
    pd = library("pandas")
    return isinstance(data, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)


def columns_of(frame: Any) -> dict[str, Any]:
    """Return a frame's columns, and the levels of its index if that is no range, by feature."""
    check_names(list(frame.columns))
    columns = {name: frame[name] for name in frame.columns}
    for feature, _, level in _levels(frame.index):
        if feature in columns:
            detail = "a level of the index and a column, or two levels, have this name; rename one"
            raise column_error(feature, detail)
        columns[feature] = level
    return columns


def _is_range(index: Any) -> bool:
    return isinstance(index, library("pandas").RangeIndex)


def _levels(index: Any) -> list[tuple[str, str | None, Any]]:
    """Return the feature, the name, and the labels of each level of an index; none of a range."""
    names = [] if _is_range(index) else list(index.names)
    return [
        (_LEVEL.format(i) if _name_of(name) is None else name, name, index.get_level_values(i))
        for i, name in enumerate(names)
    ]


def _name_of(name: Any) -> str | None:
    if not isinstance(name, str | None):
        raise TypeError(
            f"an index, and each of its levels, must have a str as its name, not {name!r}"
        )
    return name


# -------------------------------------------------------------------------------- to columns


def open_column(name: str, series: Any) -> Opened:
    """Return the values, traits and word of a Series, index or extension array; no word of objects."""
    pd, dtype = library("pandas"), series.dtype
    array = getattr(series, "array", series)
    if isinstance(dtype, np.dtype):
        if dtype.kind != "O":
            return Opened(series.to_numpy(), {}, dtype.name if dtype.isnative else dtype.str)
        return _open_objects(series)
    if isinstance(dtype, pd.DatetimeTZDtype):
        zone = str(dtype.tz)
        try:
            pd.DatetimeTZDtype(dtype.unit, zone)
        except (ValueError, ImportError, KeyError, TypeError, OSError):
            detail = f"the time zone {dtype.tz!r} cannot be kept; use dt.tz_convert with its name"
            raise column_error(name, detail, None, Reason.UNSUPPORTED) from None
        ticks = array.tz_convert("UTC").tz_localize(None).to_numpy()
        return Opened(ticks, {"zone": zone}, {"datetime": dtype.unit, "zone": zone})
    if isinstance(dtype, pd.CategoricalDtype):
        codes, inner = np.asarray(array.codes), open_column(name, array.categories)
        values = inner.values
        if isinstance(values, TextColumn):
            values = objects(values.to_list())
        elif isinstance(values, BytesColumn):
            values = values.to_numpy()
        made = chosen(name, values, codes, codes < 0, ordered=bool(array.ordered))
        return made._replace(word={"category": _whole_word(name, array.categories, inner)})
    if isinstance(dtype, pd.ArrowDtype):
        word = {"arrow": arrow.word_of(dtype.pyarrow_dtype)}
        return arrow.open_column(name, array.__arrow_array__())._replace(word=word)
    if isinstance(dtype, pd.StringDtype):
        missing = "nan" if isinstance(dtype.na_value, float) else "NA"
        try:
            opened = arrow.open_column(name, array.__arrow_array__())
        except UnicodeError:  # of surrogates: the error with the number of the record comes later
            opened = _open_objects(series)
        return opened._replace(word={"string": dtype.storage, "missing": missing})
    if str(dtype) not in _NULLABLE.values():
        raise type_error(name, dtype)
    fill: Any = False if dtype.numpy_dtype.kind == "b" else 0
    values = masked(array.to_numpy(dtype.numpy_dtype, na_value=fill), series.isna())
    return Opened(values, {}, str(dtype))


def _open_objects(series: Any) -> Opened:
    """Return objects, with None for what is missing."""
    found = np.array(series.to_numpy(dtype=object), object)
    found[np.asarray(series.isna())] = None
    return Opened(found, TEXT if any(isinstance(item, str) for item in found) else {})


# ------------------------------------------------------------------------------------ words


def describe(frame: Any, opened: Mapping[str, Opened]) -> dict[str, Any]:
    """Return the words of all columns, the index, and the header as JSON."""
    index, header = frame.index, frame.columns
    words = {
        name: _whole_word(name, each, opened[name]) for name, each in columns_of(frame).items()
    }
    described: dict[str, Any] = {"columns": words}
    if _is_range(index):
        name = {} if _name_of(index.name) is None else {"name": index.name}
        described["index"] = {"ranges": [[index.start, index.stop, index.step]], **name}
    else:
        described["index"] = [[feature, name] for feature, name, _ in _levels(index)]
        described |= {"multiindex": True} if isinstance(index, library("pandas").MultiIndex) else {}
        freq = getattr(index, "freqstr", None)
        described |= {} if freq is None else {"freq": freq}
    word = "range"
    if not _is_range(header):
        word = _whole_word("columns", header, open_column("columns", header))
    if isinstance(word, dict) and "category" in word:
        detail = "the names of columns are categories; make them texts, with df.columns.astype(str)"
        raise column_error("columns", detail, None, Reason.UNSUPPORTED)
    return described | {"header": {"word": word, "name": _name_of(header.name)}}


def _whole_word(name: str, series: Any, opened: Opened) -> Any:
    """Return the word of a column; raise if one of its objects would not come back."""
    if series.dtype.kind == "c":
        raise type_error(name, series.dtype)
    return _word_of_objects(name, series) if opened.word is None else opened.word


def _word_of_objects(name: str, series: Any) -> Any:
    """Return what the objects of a column are, and what is missing: one form of each."""
    items, missing = series.to_numpy().tolist(), np.asarray(series.isna()).tolist()
    types = {*map(type, items)} - {type(None)}
    if len(types) == 1 and types <= {bool, int, str, bytes}:  # a faster way for most columns
        return {"object": "value"}
    if (
        types in ({list}, {tuple})
        and {*map(type, chain.from_iterable(filter(None, items)))} <= _SCALARS
    ):
        return {"object": types.pop().__name__}
    found: list[str | None] = [None, None]  # of objects, and of what is missing
    for i, (item, is_missing) in enumerate(zip(items, missing, strict=True)):
        form = _form_of_missing(item) if is_missing else _form_of(item)
        before = found[is_missing]
        if before not in (None, form):
            kinds = "missing values" if is_missing else "objects"
            detail = f"{kinds} of several kinds in one column: {form} here, but {before} before"
            raise column_error(name, detail, i, Reason.UNREPRESENTABLE)
        found[is_missing] = form
        if form == "nested":
            detail = f"a {type(item).__name__} that holds arrays or tuples; make all of them lists"
            raise column_error(name, detail, i, Reason.UNREPRESENTABLE)
    kind, absent = found
    word = {"object": kind if kind in (*_NESTED, "time") else "value"}
    return word | ({} if absent in (None, "None") else {"missing": absent})


def _form_of_missing(item: Any) -> str:
    return {float: "nan", type(None): "None"}.get(type(item), str(item).strip("<>"))


def _form_of(item: Any) -> str:
    """Return a word for what an object is."""
    if isinstance(item, np.ndarray):
        inner = item.flat if item.dtype == object else ()
        return "array" if _NESTED.isdisjoint(map(_form_of, inner)) else "nested"
    if not isinstance(item, list | tuple):
        return next((word for word, kind in _KINDS.items() if isinstance(item, kind)), "object")
    word = "list" if isinstance(item, list) else "tuple"
    others = {_form_of(each) for each in item} - ({"list"} if word == "list" else set())
    return word if _NESTED.isdisjoint(others) else "nested"


def target(name: str, word: Any, original: Original | None) -> tuple[Any, Original | None]:
    """Return the type of Arrow for a column; None for its natural one."""
    is_arrow = isinstance(word, dict) and "arrow" in word
    return arrow.target(name, word["arrow"] if is_arrow else None, original)


# ------------------------------------------------------------------------------------- back


def frame_of(
    table: Any, originals: Mapping[str, Original], description: Mapping[str, Any], rows: range
) -> Any:
    """Return a Table as a DataFrame."""
    pd = library("pandas")
    words = description.get("columns", {})
    arrays = {
        name: _array_of(name, column, words.get(name), originals.get(name))
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    try:
        index = _index_of(arrays, description, rows)
    except UNUSABLE:
        raise argument_error("the index of a sidecar's dataframe is none") from None
    series = {name: _made(pd.Series, array, index=index) for name, array in arrays.items()}
    frame = pd.DataFrame(series, index=index, copy=False)
    header = description.get("header")
    if header is not None:
        if header["word"] != "range" or arrays:
            word = None if header["word"] == "range" else header["word"]
            pa = arrow.imported()
            titles = pa.chunked_array([pa.array(list(arrays), pa.large_string())])
            frame.columns = _made(pd.Index, _array_of("columns", titles, word, None))
        frame.columns.name = header["name"]
    return frame


def _made(make: Any, array: Any, **arguments: Any) -> Any:
    """Return an array as a Series or index of its dtype, which pandas guesses from objects."""
    return make(array, dtype=array.dtype, copy=False, **arguments)


def _index_of(arrays: dict[str, Any], description: Mapping[str, Any], rows: range) -> Any:
    """Return the index of these rows; take its levels out of the arrays."""
    pd = library("pandas")
    found = description.get("index", {"ranges": [[0, 0, 1]]})
    if isinstance(found, dict):
        return _range_index(pd, found["ranges"], found.get("name"), rows)
    levels = [_made(pd.Index, arrays.pop(feature), name=name) for feature, name in found]
    if len(levels) > 1 or description.get("multiindex"):
        return pd.MultiIndex.from_arrays(levels)
    try:
        if "freq" in description:
            levels[0].freq = description["freq"]
    except (ValueError, TypeError, AttributeError):  # some of the rows only, or several frames
        levels[0].freq = None
    return levels[0]


def _range_index(pd: Any, ranges: Any, name: str | None, rows: range) -> Any:
    """Return the labels of rows: a RangeIndex where they follow each other, or the numbers."""
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
        return pd.RangeIndex(parts[0], name=name)
    return pd.Index(np.concatenate(list(map(np.array, parts))), name=name)


def _array_of(name: str, column: Any, word: Any, original: Original | None) -> Any:
    """Return a column of Arrow as an array of the dtype that a word says, or of the natural one."""
    is_missing = bool(column.null_count) or (original is not None and original.missing)
    try:
        is_plain = isinstance(word, str) and word not in _NULLABLE.values()
        if word is None or (is_missing and is_plain and np.dtype(word).kind in "biuf"):
            word = _natural_word(column.type, is_missing=is_missing)
        return _array(name, column, word)
    except UNUSABLE as error:
        if getattr(error, "key", None) is not None:
            raise
        raise misfit_error(name, word) from None


def _natural_word(kind: Any, *, is_missing: bool) -> Any:
    """Return the word for a column that was not one of pandas'."""
    form, pd = form_of(kind), library("pandas")
    if form in ("list", "fixed list"):
        is_nested = form == "list" and form_of(kind.value_type) in ("list", "fixed list")
        return {"object": "list" if is_nested else "array"}
    if form == "dictionary":
        return {"category": _natural_word(kind.value_type, is_missing=False)}
    if form == "text":
        return {"string": "default"}
    if form == "time" and getattr(kind, "tz", None) is not None:
        return {"datetime": kind.unit, "zone": kind.tz}
    if form == "time":
        unit = "s" if arrow.imported().types.is_date(kind) else kind.unit
        is_span = arrow.imported().types.is_duration(kind)
        return f"{'timedelta64' if is_span else 'datetime64'}[{unit}]"
    if form != "number":
        return {"object": "value"}
    dtype = np.dtype(kind.to_pandas_dtype()).name
    return _NULLABLE[dtype] if is_missing else pd.api.types.pandas_dtype(dtype).name


def _array(name: str, column: Any, word: Any) -> Any:
    pd, form = library("pandas"), form_of(column.type)
    if isinstance(word, dict) and "object" in word:
        return _objects(name, column, word)
    if not isinstance(word, dict | str) or (form in ("list", "fixed list") and "arrow" not in word):
        raise misfit_error(name, word)
    if isinstance(word, dict) and "category" in word:
        whole = arrow.whole_dictionary(name, column)
        categories = _made(
            pd.Index, _array_of(name, _chunked(whole.dictionary), word["category"], None)
        )
        dtype = pd.CategoricalDtype(categories, column.type.ordered)
        codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if isinstance(word, dict) and "arrow" in word:
        if form in ("text", "bytes"):  # of categories, or the names of columns
            column = column.cast(arrow.target(name, word["arrow"], None)[0])
        return pd.arrays.ArrowExtensionArray(column)
    if isinstance(word, dict) and "string" in word:
        dtype = _string_dtype(word)
        if not hasattr(dtype, "__from_arrow__"):  # pandas 2 has objects
            return _objects(name, column, {"object": "value"})
    elif isinstance(word, dict):
        dtype = pd.DatetimeTZDtype(word["datetime"], word["zone"])
    else:
        dtype = pd.api.types.pandas_dtype(word)
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(column)
    values = column.to_numpy()
    if dtype.kind not in "biufMm":
        raise misfit_error(name, word)
    if dtype.kind in "Mm":
        wanted = np.dtype(f"{dtype.kind}8[{np.datetime_data(dtype)[0]}]")
        if values.dtype.kind != dtype.kind:
            raise misfit_error(name, word)
        return values.astype(wanted).astype(dtype, copy=False)
    return values.astype(dtype, copy=not values.flags.writeable)


def _chunked(array: Any) -> Any:
    return arrow.imported().chunked_array([array])


def _string_dtype(word: Any) -> Any:
    pd = library("pandas")
    if word["string"] == "default":
        return pd.Series(["a"]).dtype  # what pandas gives texts by itself
    if word["missing"] != "nan":
        return pd.StringDtype(word["string"])
    try:
        return pd.StringDtype(word["string"], na_value=np.nan)
    except TypeError:  # pandas 2.2
        return pd.StringDtype("pyarrow_numpy")


def _objects(name: str, column: Any, word: Any) -> Any:
    """Return rows as an object array, which is a column of dtype object."""
    pd, kind = library("pandas"), column.type
    absent = {"nan": np.nan, "NA": pd.NA, "NaT": pd.NaT}.get(word.get("missing"))
    form = word["object"]
    if form == "array" and form_of(kind) in ("list", "fixed list"):
        return objects(_arrays(name, column, absent))
    rows = column.to_pylist()
    if form == "tuple":
        rows = [row if row is None else tuple(row) for row in rows]
    return objects(rows if absent is None else [absent if row is None else row for row in rows])


def _arrays(name: str, column: Any, absent: Any) -> list[Any]:
    """Return lists as arrays."""
    values, mask = values_and_mask(arrow.open_column(name, column).values)
    if isinstance(values, RaggedTensor):
        flat: Any = values.values
        if isinstance(flat, RaggedTensor):
            return [np.array(row, object) for row in column.to_pylist()]
        flat = objects(flat.to_list()) if isinstance(flat, BytesColumn) else flat
        rows = [flat[a:b] for a, b in pairwise(values.row_splits.tolist())]
    else:
        rows = list(values)
    if mask is None:
        return rows
    return [absent if m else row for row, m in zip(rows, mask.tolist(), strict=True)]
