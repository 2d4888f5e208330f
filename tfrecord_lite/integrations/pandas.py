"""DataFrames, Series, indexes and extension arrays of pandas: an adapter of ``convert/arrow``.

The word of a column is the name of a dtype of NumPy, or of pandas' own that may have missing values
(``"int64"``, ``"Int64"``, ``"boolean"``), or an object::

    {"datetime": "ns", "zone": "UTC"}
    {"string": "pyarrow", "missing": "nan"}
    {"category": WORD}                           of the categories, which are in the schema
    {"arrow": WORD}                              as of a Table
    {"object": "list", "missing": "None"}        what the objects are, and what stands for none

A description also has the ``"index"``: a list of levels, ``[feature, name]``, which have words as columns
do; or the ``"ranges"`` of its labels, ``[[start, stop, step]]``, and their ``"name"``; and the ``"header"``, the
word and name of the columns' index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tfrecord_lite.arrays import ObjectArray, objects
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.arrow import UNUSABLE, Word, lists_of_array, misfit_error
from tfrecord_lite.convert.restore import result
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason, argument_error
from tfrecord_lite.extension import Lists, form_of, library, type_error
from tfrecord_lite.schema import Original

_LEVEL = "__index_level_{}__"
"""The feature of an index level without a name, as Arrow and Parquet have it."""
_NULLABLE = {"float16": "Float32", "float32": "Float32", "float64": "Float64", "bool": "boolean"}
_NULLABLE |= {f"int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)}
_NULLABLE |= {f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)}
"""The dtypes of numbers that may be missing."""
_NESTED = {"list", "tuple", "array", "nested"}
_SCALARS = {bool, int, float, str, bytes}
_MISSING = {float: "nan", type(None): "None"}
"""Words for what stands for a missing value, by its type; others are as they print."""


def is_frame(data: Any) -> bool:
    """Return whether an object of pandas is a DataFrame."""
    return isinstance(data, library("pandas").DataFrame)


def is_series(data: Any) -> bool:
    """Return whether an object of pandas is a column."""
    pd = library("pandas")
    return isinstance(data, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)


def columns_of(frame: Any) -> dict[str, Any]:
    """Return a frame's columns, and the levels of its index if that is not a range, by feature."""
    arrow.check_names(list(frame.columns))
    columns = {name: frame[name] for name in frame.columns}
    for feature, _, level in _levels(frame.index):
        if feature in columns:
            detail = "a level of the index and a column, or two levels, have this name; rename one"
            raise column_error(feature, detail)
        columns[feature] = level
    return columns


def _levels(index: Any) -> Iterator[tuple[str, str | None, Any]]:
    """Yield the feature, the name, and the labels of each level of an index; none of a range."""
    names = [] if isinstance(index, library("pandas").RangeIndex) else list(index.names)
    for i, name in enumerate(names):
        feature = _LEVEL.format(i) if _name_of(name) is None else name
        yield feature, name, index.get_level_values(i)


def _name_of(name: Any) -> str | None:
    if not isinstance(name, str | None):
        detail = "an index, and each of its levels, must have a str as its name"
        raise TypeError(f"{detail}, not {name!r}")
    return name


# -------------------------------------------------------------------------------- to columns


def paths_of(name: str, series: Any) -> list[str]:
    """Return the names of the columns that a Series becomes."""
    kind = getattr(series.dtype, "pyarrow_dtype", None)
    return [name] if kind is None else [path for path, *_ in arrow.fields_of(name, kind)]


def open_column(name: str, series: Any) -> dict[str, tuple[Lists | ObjectArray, Word]]:
    """Return the values and words of the columns that a Series, index or extension array becomes; objects have no word."""
    pd, dtype = library("pandas"), series.dtype
    array = getattr(series, "array", series)
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return {name: (_objects_of(series), None)}
        word: Word = dtype.name if dtype.isnative else dtype.str
        return {name: (lists_of_array(series.to_numpy()), word)}
    if isinstance(dtype, pd.DatetimeTZDtype):
        zone = str(dtype.tz)
        try:
            pd.DatetimeTZDtype(dtype.unit, zone)
        except (ValueError, ImportError, KeyError, TypeError, OSError):
            detail = f"the time zone {dtype.tz!r} cannot be kept; use dt.tz_convert with its name"
            raise column_error(name, detail, None, Reason.UNSUPPORTED) from None
        ticks = array.tz_convert("UTC").tz_localize(None).to_numpy()
        return {name: (lists_of_array(ticks, zone=zone), {"datetime": dtype.unit, "zone": zone})}
    if isinstance(dtype, pd.CategoricalDtype):
        _, word = open_column(name, array.categories)[name]
        word = {"category": {"object": "value"} if word is None else word}
    elif isinstance(dtype, pd.ArrowDtype):
        word = None  # those of its fields
    elif isinstance(dtype, pd.StringDtype):
        missing = "nan" if isinstance(dtype.na_value, float) else "NA"
        word = {"string": dtype.storage, "missing": missing}
    elif str(dtype) in _NULLABLE.values():
        word = str(dtype)
    else:
        raise type_error(name, dtype)
    try:
        values = arrow.imported().array(array)
    except UnicodeError:  # of surrogates: the error with the number of the record is raised later
        return {name: (_objects_of(series), word)}
    except UNUSABLE:  # of categories only
        raise arrow.category_error(name) from None
    parts = arrow.open_column(name, values)
    return {path: (lists, word or {"arrow": own}) for path, (lists, own) in parts.items()}


def _objects_of(series: Any) -> ObjectArray:
    """Return objects, with None for what is missing."""
    objects = np.array(series.to_numpy(dtype=object), object)
    objects[np.asarray(series.isna())] = None
    return objects


# ------------------------------------------------------------------------------------ words


def describe(frame: Any, columns: Mapping[str, Any], words: Mapping[str, Word]) -> dict[str, Any]:
    """Return the words of all columns, the index, and the header as JSON."""
    pd, index, header = library("pandas"), frame.index, frame.columns
    whole = {name: _whole_word(name, each, words[name]) for name, each in columns.items()}
    described: dict[str, Any] = {"columns": whole}
    if isinstance(index, pd.RangeIndex):
        described["ranges"] = [[index.start, index.stop, index.step]]
        described["name"] = _name_of(index.name)
    else:
        levels = [[feature, name] for feature, name, _ in _levels(index)]
        described["index"] = [level for level in levels if level[0] in columns]  # structs are none
        described["multiindex"] = isinstance(index, pd.MultiIndex)
        described["freq"] = getattr(index, "freqstr", None)
    word: Word = "range"
    if not isinstance(header, pd.RangeIndex):
        word = _whole_word("columns", header, open_column("columns", header)["columns"][1])
    if isinstance(word, dict) and "category" in word:
        detail = "the names of columns are categories; make them texts, with df.columns.astype(str)"
        raise column_error("columns", detail, None, Reason.UNSUPPORTED)
    return described | {"header": {"word": word, "name": _name_of(header.name)}}


def _whole_word(name: str, series: Any, word: Word) -> Word:
    """Return the word of a column; raise if one of its objects would not come back."""
    if series.dtype.kind == "c":
        raise type_error(name, series.dtype)
    return _word_of_objects(name, series) if word is None else word


def _word_of_objects(name: str, series: Any) -> Word:
    """Return what the objects of a column are, and what is missing: one form of each."""
    items, missing = series.to_numpy().tolist(), np.asarray(series.isna()).tolist()
    types = {*map(type, items)} - {type(None)}
    if len(types) == 1 and types <= {bool, int, str, bytes}:  # a faster way for most columns
        return {"object": "value"}
    are_rows = types in ({list}, {tuple})
    if are_rows and {*map(type, chain.from_iterable(filter(None, items)))} <= _SCALARS:
        return {"object": types.pop().__name__}
    words: dict[bool, str] = {}  # of objects, and of what is missing
    for i, (item, is_missing) in enumerate(zip(items, missing, strict=True)):
        form = _form_of(item) if not is_missing else _MISSING.get(type(item), str(item).strip("<>"))
        if form != (before := words.setdefault(is_missing, form)):
            kinds = "missing values" if is_missing else "objects"
            detail = f"{kinds} of several kinds in one column: {form} here, but {before} before"
            raise column_error(name, detail, i, Reason.UNREPRESENTABLE)
        if form == "nested":
            detail = f"a {type(item).__name__} that holds arrays or tuples; make all of them lists"
            raise column_error(name, detail, i, Reason.UNREPRESENTABLE)
    kind = words.get(False)
    word = {"object": kind if kind in _NESTED else "value"}
    return word | ({} if words.get(True, "None") == "None" else {"missing": words[True]})


def _form_of(item: Any) -> str:
    if isinstance(item, np.ndarray):
        inner = item.flat if item.dtype == object else ()
        return "array" if _NESTED.isdisjoint(map(_form_of, inner)) else "nested"
    if not isinstance(item, list | tuple):
        return type(item.item() if isinstance(item, np.generic) else item).__name__
    word = "list" if isinstance(item, list) else "tuple"
    others = {_form_of(value) for value in item} - ({"list"} if word == "list" else set())
    return word if _NESTED.isdisjoint(others) else "nested"


def target(name: str, word: Any) -> Any:
    """Return the type of Arrow for a column; None for its natural one."""
    return arrow.target(name, word["arrow"] if isinstance(word, dict) and "arrow" in word else None)


# ------------------------------------------------------------------------------------- back


def frame_of(table: Any, originals: Mapping[str, Original], description: Mapping[str, Any]) -> Any:
    """Return a Table as a DataFrame."""
    pd, pa = library("pandas"), arrow.imported()
    words = description.get("columns", {})
    arrays = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_missing = name in originals and originals[name].missing
        arrays[name] = _array_of(name, column, words.get(name), is_missing=is_missing)
    try:
        index = _index_of(arrays, description, table.num_rows)
    except UNUSABLE:
        raise argument_error("the index of a sidecar's dataframe is none") from None
    series = {name: _made(pd.Series, array, index=index) for name, array in arrays.items()}
    frame = pd.DataFrame(series, index=index, copy=False)
    header = description.get("header")
    if header is not None:
        if header["word"] != "range" or arrays:
            word = {"object": "value"} if header["word"] == "range" else header["word"]
            titles = pa.chunked_array([pa.array(list(arrays), pa.large_string())])
            frame.columns = _made(pd.Index, _array_of("columns", titles, word))
        frame.columns.name = header["name"]
    return frame


def _made(make: Any, array: Any, **arguments: Any) -> Any:
    """Return an array as a Series or index of its dtype, which pandas guesses from objects."""
    return make(array, dtype=array.dtype, copy=False, **arguments)


def _index_of(arrays: dict[str, Any], description: Mapping[str, Any], n_rows: int) -> Any:
    pd = library("pandas")
    if levels := description.get("index"):
        levels = [_made(pd.Index, arrays.pop(feature), name=name) for feature, name in levels]
        if len(levels) > 1 or description.get("multiindex"):
            return pd.MultiIndex.from_arrays(levels)
        # It may be of some of the rows only, or of several frames.
        with suppress(ValueError, TypeError, AttributeError):
            levels[0].freq = description.get("freq")
        return levels[0]
    # The labels of several frames, one after the other. The default labels of pandas go on, and
    # nothing records how many rows the last frame has: the schema may be for other data.
    ranges, name = description.get("ranges", [[0, 0, 1]]), description.get("name")
    first, _, step = ranges[0]
    if not (len(ranges) == 1 or all(start == 0 and by == 1 for start, _, by in ranges)):
        start, _, by = ranges[-1]
        parts = [np.arange(*bounds) for bounds in ranges[:-1]]
        n_last = max(n_rows - sum(map(len, parts)), 0)
        labels = np.concatenate([*parts, start + by * np.arange(n_last)])[:n_rows]
        steps = set(np.diff(labels).tolist()) or {1}
        if len(steps) > 1:
            return pd.Index(labels, name=name)
        first, step = labels[0] if n_rows else 0, steps.pop()
    return pd.RangeIndex(first, first + n_rows * step, step, name=name)


def _array_of(name: str, column: Any, word: Any, *, is_missing: bool = False) -> Any:
    """Return a column of Arrow as an array of the dtype that a word says, or of the natural one."""
    kind, form = column.type, form_of(column.type)
    is_missing = is_missing or bool(column.null_count)
    may_lack = isinstance(word, str) and word in _NULLABLE and is_missing  # which NumPy's cannot
    if form == "number" and (word is None or may_lack):
        name_of_dtype = np.dtype(kind.to_pandas_dtype()).name
        word = _NULLABLE[name_of_dtype] if is_missing else name_of_dtype
    elif word is None and form in ("list", "fixed list"):
        is_nested = form == "list" and form_of(kind.value_type) in ("list", "fixed list")
        word = {"object": "list" if is_nested else "array"}
    try:
        return _array(name, column, word)
    except UNUSABLE as error:
        if getattr(error, "key", None) is not None:
            raise
        raise misfit_error(name, word) from None


def _array(name: str, column: Any, word: Any) -> Any:  # noqa: PLR0912 - a case for each word
    pd, pa, form = library("pandas"), arrow.imported(), form_of(column.type)
    match word:
        case {"object": kind}:
            absent = {"nan": np.nan, "NA": pd.NA, "NaT": pd.NaT}.get(word.get("missing"))
            is_array = kind == "array" and form in ("list", "fixed list")
            rows = _arrays(name, column) if is_array else column.to_pylist()
            if kind == "tuple":
                rows = [row if row is None else tuple(row) for row in rows]
            return objects([absent if row is None else row for row in rows])
        case {"arrow": kind}:
            if form in ("text", "bytes"):  # of categories, or the names of columns
                column = column.cast(arrow.target(name, kind))
            return pd.arrays.ArrowExtensionArray(column)
        case _ if form in ("list", "fixed list"):
            raise misfit_error(name, word)
        case None:
            column = column.cast(pa.timestamp("s")) if pa.types.is_date(column.type) else column
            return column.to_pandas().array
        case {"category": inner}:
            whole = column.combine_chunks()
            values = _array_of(name, pa.chunked_array([whole.dictionary]), inner)
            codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            dtype = pd.CategoricalDtype(_made(pd.Index, values), column.type.ordered)
            return pd.Categorical.from_codes(codes, dtype=dtype)
        case {"string": storage, "missing": "nan"}:
            try:
                dtype = pd.StringDtype(storage, na_value=np.nan)
            except TypeError:  # pandas 2.2
                dtype = pd.StringDtype("pyarrow_numpy")
        case {"string": storage}:
            dtype = pd.StringDtype(storage)
        case {"datetime": unit, "zone": zone}:
            dtype = pd.DatetimeTZDtype(unit, zone)
        case _:
            dtype = pd.api.types.pandas_dtype(word)
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(column)
    values = column.to_numpy()
    return values.astype(dtype, copy=not values.flags.writeable)


def _arrays(name: str, column: Any) -> list[Any]:
    lists, _ = arrow.open_column(name, column)[name]
    rows = result(lists, with_objects=True)
    if isinstance(rows, RaggedTensor):
        flat: Any = rows.values
        if isinstance(flat, RaggedTensor):
            return [np.array(row, object) for row in column.to_pylist()]
        rows = [flat[a:b] for a, b in pairwise(rows.row_splits.tolist())]
    if lists.present is None:
        return list(rows)
    rows = np.ma.getdata(rows) if isinstance(rows, np.ma.MaskedArray) else rows
    return [row if is_there else None for row, is_there in zip(rows, lists.present, strict=True)]
