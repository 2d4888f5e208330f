"""DataFrames and Series of Polars, an adapter of ``convert/arrow``, and lazy frames of record files.

The word of a column is the name of its dtype, such as ``"Int8"``, or ``{"ipc": ...}``: a column of it
without rows, as an Arrow IPC file in base64.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.arrow import UNUSABLE, Word, check_names, misfit_error
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason
from tfrecord_lite.extension import Lists, first_of, form_of, library, type_error
from tfrecord_lite.schema import Original

_FEW_ROWS = 1000
_WIDE = {"Int128": "Int64", "UInt128": "UInt64"}


def is_frame(data: Any) -> bool:
    """Return whether an object of Polars is a DataFrame."""
    if isinstance(data, library("polars").LazyFrame):
        raise TypeError("a LazyFrame has no data yet; give lazy_frame.collect()")
    return isinstance(data, library("polars").DataFrame)


def is_series(data: Any) -> bool:
    """Return whether an object of Polars is a column."""
    return isinstance(data, library("polars").Series)


def columns_of(frame: Any) -> dict[str, Any]:
    """Return a frame's columns by name."""
    check_names(frame.columns)
    return {series.name: series for series in frame.get_columns()}


# -------------------------------------------------------------------------------- to columns


def paths_of(name: str, series: Any) -> list[str]:
    """Return the names of the columns that a Series becomes."""
    pl, pa = library("polars"), arrow.imported()
    try:
        return arrow.paths_of(name, pl.Series([], dtype=_stored(series.dtype)).to_arrow())
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError):
        return [name]  # which cannot be opened


def open_column(name: str, series: Any) -> dict[str, tuple[Lists, Word]]:
    """Return the values and words of the columns that a Series becomes."""
    pl, pa = library("polars"), arrow.imported()
    stored, original = _stored(series.dtype), series
    series = series.alias("")  # a NUL in a name ends Polars
    if original.dtype == pl.Object:
        raise type_error(name, original.dtype)
    try:
        values = (series if series.dtype == stored else series.cast(stored)).to_arrow()
    except pl.exceptions.PolarsError as error:
        wrong = (series.cast(stored, strict=False).is_null() & series.is_not_null()).to_numpy()
        index = int(wrong.argmax()) if wrong.any() else None
        detail = f"Polars cannot make {stored} of this {series.dtype}: {error}"
        raise column_error(name, detail, index, Reason.UNREPRESENTABLE) from None
    except (pa.ArrowException, TypeError):
        raise type_error(name, series.dtype) from None
    words = {}
    for path, kind, _ in arrow.fields_of(name, values.type):
        _check_shape(path, kind)
        words[path] = _word_of(original if path == name else pl.from_arrow(pa.array([], kind)))
    return {p: (lists, words[p]) for p, (lists, _) in arrow.open_column(name, values).items()}


def _stored(dtype: Any) -> Any:
    """Return the dtype in which values are stored: integers have 64 bits at most."""
    pl = library("polars")
    if isinstance(dtype, pl.List):
        return pl.List(_stored(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_stored(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _stored(field.dtype) for field in dtype.fields})
    return getattr(pl, _WIDE[str(dtype)]) if str(dtype) in _WIDE else dtype


# ------------------------------------------------------------------------------------ words


def describe(_frame: Any, _columns: Any, words: Mapping[str, Word]) -> dict[str, Any]:
    """Return the words of all columns as JSON."""
    return {"columns": dict(words)}


def _word_of(series: Any) -> Word:
    name = str(series.dtype)
    if getattr(library("polars"), name, None) == series.dtype:
        return name
    file = io.BytesIO()
    series.clear().alias("x").to_frame().write_ipc(file)
    return {"ipc": base64.b64encode(file.getvalue()).decode()}


def _dtype_of(name: str, word: Any) -> Any:
    pl = library("polars")
    try:
        if isinstance(word, str):
            return pl.Series([], dtype=getattr(pl, word)).dtype
        return pl.read_ipc(base64.b64decode(word["ipc"]))["x"].dtype
    except (*UNUSABLE, pl.exceptions.PolarsError, OSError):
        raise misfit_error(name, word) from None


def target(name: str, word: Any) -> Any:
    """Return the type of Arrow for a column; None for its natural one."""
    if word is None:
        return None
    return library("polars").Series([], dtype=_stored(_dtype_of(name, word))).to_arrow().type


# ------------------------------------------------------------------------------------- back


def frame_of(table: Any, originals: Mapping[str, Original], description: Mapping[str, Any]) -> Any:
    """Return a Table as a DataFrame; one without columns has no rows in earlier versions."""
    pl = library("polars")
    if not table.column_names:
        try:
            return pl.DataFrame(height=table.num_rows)
        except TypeError:
            return pl.DataFrame()
    words = description.get("columns", {})
    columns = zip(table.column_names, table.columns, strict=True)
    series = {n: _series(n, column, words.get(n), originals.get(n)) for n, column in columns}
    return pl.DataFrame(series)


def _series(name: str, column: Any, word: Any, original: Original | None) -> Any:
    pl = library("polars")
    _check_shape(name, column.type)
    if column.type == arrow.imported().float16() and not hasattr(pl, "Float16"):
        column = column.cast(arrow.imported().float32())
    dtype: Any = column.type
    if form_of(dtype) == "dictionary" and form_of(dtype.value_type) != "text":
        column = column.cast(dtype.value_type)  # Polars has categories of texts only
    try:
        series = pl.from_arrow(column)
        dtype = series.dtype
        if word is not None:
            dtype = _dtype_of(name, word)
        elif form_of(column.type) == "dictionary" and original is not None:
            dtype = pl.Enum(original.categories) if original.ordered else pl.Categorical()
        return series if series.dtype == dtype else series.cast(dtype)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise column_error(name, f"values that are not of the type {dtype}: {error}") from None


def _check_shape(name: str, kind: Any) -> None:
    while form_of(kind) in ("list", "fixed list"):
        if getattr(kind, "list_size", None) == 0:
            detail = "a shape without values, which Polars cannot read; leave the column out"
            raise column_error(name, detail, None, Reason.UNSUPPORTED)
        kind = kind.value_type


# -------------------------------------------------------------------------------- lazy frames


def lazy_frame(table: Any) -> Any:
    """Return a table of ``scan`` as a ``polars.LazyFrame``."""
    for field in table.arrow_schema:
        _check_shape(field.name, field.type)
    register = library("polars.io.plugins").register_io_source
    return register(partial(_frames, table), schema=_frame(table.head(0)).schema)


def _frames(
    table: Any, columns: list[str] | None, predicate: Any, n_rows: int | None, _batch_size: Any
) -> Iterator[Any]:
    """Yield what a query asks for: some columns of the first rows, those for which a predicate holds."""
    chosen = table.column_names if columns is None else columns
    used = chosen if predicate is None else [*chosen, *predicate.meta.root_names()]
    table = table.select([name for name in dict.fromkeys(used) if name in table.column_names])
    yield _frame(table.head(0))[:, : len(chosen)]  # Polars wants a frame at least
    # Few rows are one small batch; more than one read would wait for all of them.
    size = n_rows if n_rows is not None and 0 < n_rows < _FEW_ROWS else None
    for batch in first_of(table.to_batches(size), n_rows):
        frame = _frame(batch)
        # Not by name: Polars takes one such as ^a$ or * for a pattern.
        yield (frame if predicate is None else frame.filter(predicate))[:, : len(chosen)]


def _frame(batch: Any) -> Any:
    return library("polars").from_arrow(batch, rechunk=False)
