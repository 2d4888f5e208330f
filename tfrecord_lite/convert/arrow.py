"""The one entry for tables and data frames: pyarrow is imported here alone, other libraries by name.

::

    frame ─adapter──┐
    table, stream ──┴─ open_column ──┬─> Lists ──> records
                                     └─> words ──describe──> description ──> sidecar
    Lists, description ── array_of ──> Table ─adapter──> frame

Whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__`` is read by pyarrow. The frames of another
library have an *adapter*, whose functions are

===================================  ================================================================
``is_frame``, ``is_series``          whether an object of the library is one
``columns_of(frame)``                its columns, and the levels of its index, by name
``paths_of(name, series)``           the columns that one becomes: itself, or the fields of its structs by their paths
``open_column(name, series)``        of each of these Lists and word; of Python's objects an array instead of Lists
``describe(frame, columns, words)``  a word per column, and what else makes a frame: JSON
``target(name, word)``               the Arrow type for a column that is to become what the word says
``frame_of(table, ...)``             the frame
===================================  ================================================================

What a column becomes, and is made of again:

=============================  ===================================================================
boolean, integer, floating     values as they are; a null (NA, None) is a record without the feature, NaN a value
timestamp                      datetime64, in UTC; its type has the time zone
time                           timedelta64 since midnight
list; list of a fixed size     a level of lengths; a number as a level
dictionary                     the values; their type has the categories
struct; list of structs, map   a column per field, ``point/x``; with a list each, ``map/key``, ``map/value``
decimal without digits         int64
=============================  ===================================================================

The word of an Arrow type is pyarrow's alias, such as ``"timestamp[us]"``, or ``{"ipc": ...}``: a schema with a field of
the type in Arrow's IPC format, in base64.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteRanges, first_true, row_splits
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.convert import types
from tfrecord_lite.convert.lists import AnyLists, Lists, SparseLists, scattered
from tfrecord_lite.convert.restore import outer_rank
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, errors_at, warn_user
from tfrecord_lite.schema import Kind, Original, Schema, SequenceSchema
from tfrecord_lite.schema.kinds import nearest_of_numpy
from tfrecord_lite.schema.types import Type
from tfrecord_lite.texts import nearest

Library: TypeAlias = Literal["pandas", "polars", "arrow"]
"""The libraries of data frames, by the words of `as_`."""
Description: TypeAlias = "dict[str, Any]"
"""A frame's library, a word per column, and its index: JSON."""
Word: TypeAlias = "str | dict[str, Any] | None"
"""What a library says of a column besides its values, as JSON."""
Array: TypeAlias = Any
"""An array of pyarrow, in one chunk or several."""
ArrowType: TypeAlias = Any
ArrowSchema: TypeAlias = Any
Table: TypeAlias = Any
"""A Table or RecordBatch of pyarrow, which has no types of its own for checkers."""
Source: TypeAlias = Any
"""What may be a data frame, a table, a stream or a column of any library."""

_ADAPTERS = {
    "arrow": __name__,
    "pandas": "tfrecord_lite.integrations.pandas",
    "polars": "tfrecord_lite.integrations.polars",
}
_USES = {
    "pyarrow": ("Arrow tables, data frames and Parquet files need", "pyarrow"),
    "pandas": ("data frames of pandas need", "pandas pyarrow"),
    "polars": ("data frames of Polars need", "polars pyarrow"),
    "duckdb": ("SQL needs", "duckdb pyarrow"),
    "dask": ("this needs", "'dask[dataframe]' pyarrow"),
    "torch": ("tensors need", "torch"),
}
"""What the optional libraries are needed for, and what to install."""

SCHEMA_KEY = b"tfrecord_lite"
"""The key in the metadata of an Arrow schema whose value is this package's schema, as JSON."""

UNUSABLE: tuple[type[Exception], ...] = (
    *(TypeError, ValueError, LookupError, AttributeError, StopIteration),
    *(ArithmeticError, RecursionError),
)
"""What making a type may raise if the sidecar has none that there is."""

_ROWS_PER_TABLE = 1000
_INSTEAD = {
    "period": "convert it with dt.to_timestamp(), or to texts",
    "sparse[": "convert it with sparse.to_dense()",
}


class _Frame(Protocol):
    @property
    def columns(self) -> Any: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


DataFrame: TypeAlias = _Frame | _ArrowStream | _ArrowArray
"""A data frame, or whatever has the methods of Arrow's PyCapsule protocol."""


class Frame(NamedTuple):
    """The columns of a data frame, or of a mapping with columns of these libraries."""

    columns: Any
    """Lists by name, or arrays of objects; what else a mapping has as it is."""
    carried: Schema | None = None
    """The schema that came along with Arrow data."""
    n_rows: int = 0
    described: Callable[[], Description] | None = None
    """Returns the types of a data frame; may raise about values that would not come back."""


def library(name: str = "pyarrow") -> ModuleType:
    """Import a library, by default pyarrow, or a module of it; ImportError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        first = name.partition(".")[0]
        what, packages = _USES.get(first, ("this needs", first))
        raise ImportError(f"{what} {first}: pip install {packages}") from None


imported = library


class _Lazy:
    """A module of pyarrow, imported when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of tools that look at all names of a module
            raise AttributeError(name)
        return getattr(imported(self._name), name)


pa: Any = _Lazy("pyarrow")
compute: Any = _Lazy("pyarrow.compute")


@lru_cache(1024)
def form_of(kind: ArrowType) -> str:
    """Return one word for an Arrow type, such as ``"list"``; ``"other"`` if none fits."""
    for form, words in _FORMS.items():
        if any(getattr(pa.types, f"is_{word}")(kind) for word in words):
            return form
    return "other"


_FORMS = {
    "number": ("boolean", "integer", "floating"),
    "text": ("string", "large_string", "string_view"),
    "bytes": ("binary", "large_binary", "binary_view", "fixed_size_binary"),
    "time": ("timestamp", "duration", "date", "time"),
    "decimal": ("decimal",),
    "list": ("list", "large_list"),
    "fixed list": ("fixed_size_list",),
    "dictionary": ("dictionary",),
    "struct": ("struct",),
    "map": ("map",),
    "runs": ("run_end_encoded",),
    "null": ("null",),
}


# ----------------------------------------------------------------------- which library it is


def _has(data: Source, *names: str) -> bool:
    # Ask the class: a module or a mock may have an attribute of any name.
    return all(hasattr(type(data), name) for name in names)


def _origin(data: Source) -> str:
    """Return the library of an object by where its class is: Arrow for all that have no adapter."""
    names = {cls.__module__.partition(".")[0] for cls in type(data).__mro__}
    return next((name for name in ("pandas", "polars") if name in names), "arrow")


def adapter(name: str) -> ModuleType:
    """Return the module for the frames of a library."""
    return sys.modules[__name__] if name == "arrow" else import_module(_ADAPTERS[name])


def _library_of(data: Source) -> str | None:
    if isinstance(data, dict | list | tuple | np.ndarray):
        return None
    name = _origin(data)
    is_one = _is_source(data) if name == "arrow" else adapter(name).is_frame(data)
    return name if is_one else None


def is_frame(data: Source) -> bool:
    """Return whether data are a data frame."""
    return _library_of(data) is not None


def is_series(data: Source) -> bool:
    """Return whether data are a single column of one of the libraries."""
    if isinstance(data, np.ndarray | list | tuple):
        return False
    name = _origin(data)
    return _is_array(data) if name == "arrow" else bool(adapter(name).is_series(data))


def is_stream(data: Source) -> bool:
    """Return whether data are Arrow data that are read batch by batch, as they may not be in memory."""
    is_one = _is_array(data) or _has(data, "column", "to_pylist")  # an array, or a table
    is_read = _has(data, *_FORMATS) or (_has(data, "__arrow_c_stream__") and not is_one)
    return is_read and _library_of(data) == "arrow"


def check_library(name: object) -> None:
    """Raise if this is not the name of a library, or if it is not installed."""
    if name not in [*_ADAPTERS]:
        hint = nearest(str(name), _ADAPTERS)
        if name in ("torch", "pt", "tensor"):
            hint = "; as_tensors of tfrecord_lite.integrations.torch makes tensors of columns"
        names = "'pandas', 'polars', 'arrow', or None for NumPy"
        raise argument_error(f"as_ must be {names}, not {name!r}{hint}")
    imported()
    if name != "arrow":
        library(name)


# -------------------------------------------------------------------------- frames to columns


def open_columns(data: Source, *, is_later: bool = False) -> Frame:
    """Return the columns of a frame, or of a mapping that may have Series as columns, as Lists.

    A stream is read whole. A warning says that structs become columns, but not of a later part of the same table.
    """
    if isinstance(data, Frame):
        return data
    name = _library_of(data)
    if name is None:
        if not hasattr(data, "items"):
            actual = f"not {type(data).__name__}; rows go to save, or TFRecordWriter.write_examples"
            raise TypeError(f"columns must be a dict, with one column per feature, {actual}")
        columns = data
    else:
        data = table_of(data) if name == "arrow" else data
        columns = adapter(name).columns_of(data)
    series = {key: column for key, column in columns.items() if is_series(column)}
    if name is None and not series:
        return Frame(data)
    paths = {key: adapter(_origin(column)).paths_of(key, column) for key, column in series.items()}
    check_names([path for key in columns for path in paths.get(key, [key])])
    if not is_later:
        _warn_of_structs(paths)
    opened: dict[str, Any] = {}
    words: dict[str, Word] = {}
    for key, column in columns.items():
        if key not in paths:
            opened[key] = column
            continue
        for path, (values, word) in adapter(_origin(column)).open_column(key, column).items():
            opened[path], words[path] = values, word
    if name is None:
        return Frame(opened)
    leaves = {path: columns[key] for key, own in paths.items() for path in own}
    carried = _carried_schema(data) if name == "arrow" else None

    def described() -> Description:
        return {"library": name, **adapter(name).describe(data, leaves, words)}

    return Frame(opened, carried, len(data), described)


def _warn_of_structs(paths: Mapping[str, list[str]]) -> None:
    divided = {key: ", ".join(map(repr, own)) for key, own in paths.items() if own != [key]}
    if divided:
        listed = "; ".join(f"{key!r} as {own}" for key, own in divided.items())
        warn_user(f"an Example has no structs; their fields are columns: {listed}")


def open_frames(stream: Source) -> Generator[Frame]:
    """Yield the batches of a stream; first one without rows, for which nothing is read."""
    n_rows = 0
    schema, batches = reader_of(stream)
    with closing(batches), errors_at(index=lambda number: n_rows + number):
        yield open_columns(_without_rows(schema))
        try:
            for batch in batches:
                yield open_columns(batch, is_later=True)
                n_rows += batch.num_rows
        except pa.ArrowException as error:
            cause = str(error).partition("\n")[0]
            detail = f"the Arrow stream failed after {n_rows:,} records: {cause}"
            raise argument_error(detail) from None


def frame_of_types(stream: Source) -> Frame:
    """Return a stream's columns without rows, and which may have nulls; no batch is read, nor are categories known."""
    # Most streams can be opened again after that.
    has_schema = _has(stream, "__arrow_c_schema__")
    table = _without_rows(pa.schema(stream) if has_schema else reader_of(stream)[0])
    frame = open_columns(table)
    required = describe(table, {}, {})["required"]
    for name, lists in frame.columns.items():
        shape = lists.type.shape or ()
        may_lack = name not in required and None not in shape and 0 not in shape
        lists.type = lists.type._replace(missing=may_lack, categories=None, ordered=False)
    return frame


def open_series(key: str, column: Array) -> Lists | AnyArray:
    """Return the values of a Series or Arrow array; Python's objects as an array."""
    fields: dict[str, tuple[Lists | AnyArray, Word]]
    fields = adapter(_origin(column)).open_column(key, column)
    if key not in fields:
        raise type_error(key, getattr(column, "dtype", None) or column.type)
    return fields[key][0]


def check_names(names: Sequence[object]) -> None:
    """Raise about a column's name that is not a str, or that there is twice."""
    for i, name in enumerate(names):
        if not isinstance(name, str):
            detail = f"a column's name must be a str, not {name!r}"
            raise TypeError(f"{detail}; rename it, such as with df.columns = df.columns.map(str)")
        if name in names[:i]:
            raise column_error(name, "two columns have this name; rename one of them")


def is_text(own: Original | Type | None) -> bool:
    """Return whether byte strings of a type are text; NumPy's ``S`` are bytes."""
    return own is not None and own.text is not None and own.text[0] != "S"


# ------------------------------------------------------------------------------------ tables

_FORMATS = ("with_format", "iter", "features", "column_names")
"""The methods of data sets of Hugging Face's."""


def _is_array(data: Source) -> bool:
    return _has(data, "null_count", "to_pylist", "type")


def _is_source(data: Source) -> bool:
    """Return whether data are a table in Arrow's terms: of pyarrow, or from any other library."""
    if _is_array(data):
        return str(data.type).startswith("struct<")
    methods = ("__arrow_c_stream__",), ("__arrow_c_array__",), _FORMATS
    return any(_has(data, *pair) for pair in methods)


def table_of(data: Source) -> Table:
    """Return a source as one Table."""
    if is_stream(data):
        schema, batches = reader_of(data)
        with closing(batches):
            return pa.Table.from_batches(list(batches), schema)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data
    array = data if _is_array(data) else pa.array(data)
    if form_of(array.type) != "struct":
        raise argument_error(f"Arrow data must have columns, not be one array of {array.type}")
    return pa.Table.from_struct_array(array)  # a null makes all of its fields null


def reader_of(data: Source) -> tuple[ArrowSchema, Generator[Table]]:
    """Return the schema of a stream, and an iterator of its RecordBatches that can be closed."""
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, (batch for batch in data)  # which leaves the caller's reader open
    if _has(data, "to_batches", "arrow_schema"):  # ours: no error is to pass through the C stream
        return data.arrow_schema, data.to_batches()
    if _has(data, *_FORMATS):
        return _formatted(data)
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        raise argument_error(f"Arrow data must be a stream of tables: {error}") from None
    if type(data).__module__.partition(".")[0] in {"duckdb", "_duckdb"}:  # of 2 and of 1
        schema = without_decimals(reader.schema)
        return schema, (batch.cast(schema) for batch in reader)
    return reader.schema, reader


def without_decimals(schema: ArrowSchema) -> ArrowSchema:
    """Return a schema of DuckDB's, whose literals are decimals, with float64 for those with digits."""
    double = pa.float64()
    return changed_schema(
        schema, lambda kind: double if form_of(kind) == "decimal" and kind.scale > 0 else kind
    )


def changed_schema(schema: ArrowSchema, change: Callable[[ArrowType], ArrowType]) -> ArrowSchema:
    """Return a schema whose types a function has changed, at any depth."""
    fields = [field.with_type(changed_type(field.type, change)) for field in schema]
    return pa.schema(fields, schema.metadata)


def changed_type(kind: ArrowType, change: Callable[[ArrowType], ArrowType]) -> ArrowType:
    """Return a type in which a function has changed each type that is not made of others."""
    form = form_of(kind)
    if form in ("list", "fixed list"):
        return _with_values(kind, changed_type(kind.value_type, change))
    if form == "struct":
        return pa.struct([field.with_type(changed_type(field.type, change)) for field in kind])
    if form == "map":
        return pa.map_(changed_type(kind.key_type, change), changed_type(kind.item_type, change))
    return change(kind)


def _formatted(data: Source) -> tuple[ArrowSchema, Generator[Table]]:
    """Return the schema and batches of a data set of Hugging Face's, in the order of its rows."""
    tables = (_stored(table) for table in data.with_format("arrow").iter(_ROWS_PER_TABLE))
    first = next(tables, None)
    if first is None:
        if data.features is None:
            raise argument_error("a data set without rows or features has no columns")
        first = _stored(data.features.arrow_schema.empty_table())
    whole = (batch for table in chain([first], tables) for batch in table.to_batches())
    return first.schema, whole


def _stored(table: Table) -> Table:
    """Return a table whose columns of extension types are what stores them."""
    for i, field in enumerate(table.schema):
        if hasattr(field.type, "storage_type"):
            parts = [chunk.storage for chunk in table.column(i).chunks]
            storage = pa.chunked_array(parts, field.type.storage_type)
            table = table.set_column(i, field.name, storage)
    return table


def _without_rows(schema: ArrowSchema) -> Table:
    """Return a table of a schema without rows; UNSUPPORTED for a type that pyarrow cannot make."""
    for field in schema:
        try:
            pa.array([], field.type)
        except pa.ArrowNotImplementedError:
            raise type_error(field.name, field.type) from None
    return schema.empty_table()


def _carried_schema(table: Table) -> Schema | None:
    """Return the schema of ours that came along in a table's metadata."""
    document = (table.schema.metadata or {}).get(SCHEMA_KEY)
    if document is None:
        return None
    try:
        return Schema.from_json(document)
    except InvalidArgumentError as error:
        with suppress(InvalidArgumentError):
            SequenceSchema.from_json(document)
            return None
        detail = f"the schema in the Arrow metadata is not one of ours: {error.detail}; give "
        detail += "another one, or none: table.replace_schema_metadata()"
        raise argument_error(detail) from None


def rows_alone(n_rows: int) -> Table:
    """Return a Table of rows without columns."""
    return pa.table({"rows": pa.nulls(n_rows)}).select([])


def columns_of(table: Table) -> dict[str, Array]:
    """Return a table's columns by name."""
    check_names(table.column_names)
    return dict(zip(table.column_names, table.columns, strict=True))


# --------------------------------------------------------------------------- arrays to columns


def fields_of(
    name: str, kind: ArrowType, *, is_nullable: bool = True
) -> Iterator[tuple[str, ArrowType, bool]]:
    """Yield path and type of each column that one becomes, and whether it may have nulls."""
    form = form_of(kind)
    if form == "struct" and kind.num_fields:  # one without fields cannot be opened
        for field in kind:
            may_lack = is_nullable or field.nullable
            yield from fields_of(f"{name}/{field.name}", field.type, is_nullable=may_lack)
    elif form == "runs":
        yield from fields_of(name, kind.value_type, is_nullable=is_nullable)
    elif form == "map":
        yield from fields_of(name, _pairs(kind), is_nullable=is_nullable)
    elif form in ("list", "fixed list"):
        for path, inner, _ in fields_of(name, kind.value_type):
            yield path, _with_values(kind, inner), is_nullable
    else:
        yield name, kind, is_nullable


def paths_of(name: str, column: Array) -> list[str]:
    """Return the names of the columns that one becomes."""
    return [path for path, *_ in fields_of(name, column.type)]


def open_column(name: str, column: Array) -> dict[str, tuple[Lists, Word]]:
    """Return the values and words of the columns that an array becomes; views where nothing is missing."""
    opened = dict(_opened(name, column))
    return {path: (opened[path], word_of(kind)) for path, kind, _ in fields_of(name, column.type)}


def _opened(name: str, column: Array) -> Iterator[tuple[str, Lists]]:
    form, kind = form_of(column.type), column.type
    if form == "struct" and kind.num_fields:
        for field, inner in zip(kind, column.flatten(), strict=True):
            yield from _opened(f"{name}/{field.name}", inner)
    elif form == "runs":
        yield from _opened(name, compute.run_end_decode(column))
    elif form == "map":
        yield from _opened(name, pairs_of(column))
    elif form in ("list", "fixed list"):
        yield from _rows(name, column)
    else:
        yield name, _lists_of(name, column)


def pairs_of(column: Array) -> Array:
    """Return an array of maps as lists of structs, each of a ``key`` and a ``value``."""
    return column.cast(_pairs(column.type))


def _pairs(kind: ArrowType) -> ArrowType:
    return pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))


def _lists_of(name: str, column: Array) -> Lists:
    form, kind = form_of(column.type), column.type
    if form in ("text", "bytes", "null"):
        return _strings(name, column)
    if form == "dictionary":
        return _categories(name, column)
    if form == "decimal":
        return _lists_of(name, _integers(name, column))
    present, zone = _present(column), getattr(kind, "tz", None)
    if form == "time":
        flat = _times(name, column)
    elif form == "number":
        if present is not None and kind != pa.float16():  # some versions cannot fill it
            column = column.fill_null(False if kind == pa.bool_() else 0)
        flat = column.to_numpy(zero_copy_only=False)
    else:
        raise type_error(name, kind)
    return lists_of_array(flat, present, zone)


def lists_of_array(
    flat: AnyArray, present: BoolArray | None = None, zone: str | None = None
) -> Lists:
    """Return an array with one number or time per record as Lists; a view."""
    own = types.type_of_dtype(flat.dtype)
    if present is not None or zone is not None:
        own = own._replace(missing=present is not None, zone=zone)
    return Lists(flat.size, own, (), flat, present)


def _present(column: Array) -> BoolArray | None:
    """Return which values are not null; None for all."""
    if not column.null_count:
        return None
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _tick_type(kind: ArrowType) -> tuple[str, ArrowType]:
    tick = "D" if kind == pa.date32() else "ms" if kind == pa.date64() else kind.unit
    letter = "M" if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else "m"
    return f"{letter}8[{tick}]", pa.int32() if kind.bit_width == 32 else pa.int64()


def _times(name: str, column: Array) -> AnyArray:
    dtype, counts = _tick_type(column.type)
    whole = column.cast(counts)
    ticks = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    if (first := first_true(np.isnat(ticks.view(dtype)))) is not None:
        detail = "the time -2**63, which NumPy has as NaT; make it a null"
        raise column_error(name, detail, first, Reason.UNREPRESENTABLE)
    return ticks.view(dtype)


def _integers(name: str, column: Array) -> Array:
    kind = column.type
    if kind.scale > 0:
        raise column_error(name, f"a column of {kind}; {types.DECIMALS}", None, Reason.UNSUPPORTED)
    try:  # wider first, since not all widths can be cast to integers
        return column.cast(pa.decimal256(76, kind.scale)).cast(pa.int64())
    except pa.ArrowInvalid:
        items = enumerate(column.to_pylist())
        number = next(i for i, v in items if v is not None and not -(2**63) <= v < 2**63)
        detail = f"{column[number].as_py()} does not fit into int64, as which a {kind} is stored; "
        detail += "cast the column to float64 or text"
        raise column_error(name, detail, number, Reason.UNREPRESENTABLE) from None


def _strings(name: str, column: Array) -> Lists:
    """Return strings where they are; a column without values has no kind."""
    n, present = len(column), _present(column)
    text = "str" if form_of(column.type) == "text" else None
    if present is not None and not present.any():
        nothing = ByteRanges(np.zeros(0, np.uint8), *np.zeros((2, n), np.int64))
        return Lists(n, Type(None, "string", (), text, missing=True), (), nothing, present)
    array = _whole(_cast(column, pa.large_binary()))
    strings = _ranges_of(array)
    if present is not None and strings.lengths[~present].any():  # anything may be there
        strings = _ranges_of(array.fill_null(b""))
    if text is not None:
        try:
            column.validate(full=True)  # which nothing else does
        except pa.ArrowException as error:
            detail = f"an array of {column.type} that is not valid: {error}"
            index = types.not_utf8(strings)
            raise column_error(name, detail, index, Reason.UNREPRESENTABLE) from None
    own = Type(Kind.BYTES, "string", (), text, missing=present is not None)
    return Lists(n, own, (), strings, present)


def _cast(column: Array, kind: ArrowType) -> Array:
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), kind)


def _ranges_of(array: Array) -> ByteRanges:
    """Return the strings of an array of large_binary; views of its buffers, which are checked."""
    _, offsets, data = array.buffers()
    splits = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    bytes_of_all = np.frombuffer(b"" if data is None else data, np.uint8)
    return types.ranges_of(BytesColumn(splits, bytes_of_all))


def _chunks(column: Array) -> list[Array]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _whole(column: Array) -> Array:
    chunks = _chunks(column)
    return chunks[0] if len(chunks) == 1 else column.combine_chunks()


def _categories(name: str, column: Array) -> Lists:
    """Return the values of codes; a null in a dictionary is not a category."""
    kind = column.type
    if form_of(kind.value_type) not in ("number", "text", "bytes", "null"):
        raise category_error(name)
    try:
        decoded = column.cast(kind.value_type)
    except pa.ArrowException as error:
        detail = f"a code that the dictionary lacks: {error}"
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE) from None
    parts = [chunk.dictionary.drop_null() for chunk in _chunks(column)]
    listed = pa.chunked_array(parts, kind.value_type).unique().to_pylist()
    is_repeated = any(len(part.unique()) < len(part) for part in parts)
    # Zeros of both signs are two values to Arrow, and NaN does not equal itself.
    if is_repeated or len({*listed}) < len(listed) or any(c != c for c in listed):  # noqa: PLR0124
        raise category_error(name)
    lists = _lists_of(name, decoded)
    own = lists.type._replace(categories=tuple(listed), ordered=bool(kind.ordered))
    return lists.with_(type=own)


def _rows(name: str, column: Array) -> Iterator[tuple[str, Lists]]:
    """Yield the columns that lists become, with a level more than their values have."""
    present = _present(column)
    lengths = np.asarray(compute.list_value_length(column).fill_null(0)).astype(np.int64)
    # flatten leaves out the values of null lists; drop_null takes wrong ones of slices. By chunk, as all chunks
    # have no flatten that goes down one level only, and dictionaries with nulls cannot be joined.
    flat = pa.chunked_array([c.flatten() for c in _chunks(column)], column.type.value_type)
    with types.at_records(row_splits(lengths)):
        columns = dict(_opened(name, flat))
        for path, below in columns.items():
            if below.present is not None:
                detail = "a null within a list, which a feature cannot store; fill or drop it"
                number = int(np.argmin(below.present))
                raise column_error(path, detail, number, Reason.UNREPRESENTABLE)
    for path, below in columns.items():
        own, inner = below.type, below.type.shape or ()
        if form_of(column.type) == "list" or None in inner:
            below.type = own._replace(shape=(None, *inner))
            yield path, below.above(lengths, present)
            continue
        size = column.type.list_size
        own = own._replace(shape=(size, *inner), missing=present is not None)
        n_lists = len(column) if present is None else int(np.count_nonzero(present))
        lists = Lists(n_lists, own, (size, *below.levels), below.flat)
        if present is not None and 0 in (size, *inner):
            detail = "a missing list among lists without values cannot be distinguished from them"
            raise column_error(path, detail, int(np.argmin(present)), Reason.UNREPRESENTABLE)
        yield path, lists if present is None else scattered(lists, present)


def _with_values(kind: ArrowType, inner: ArrowType) -> ArrowType:
    field = kind.value_field.with_type(inner)
    if form_of(kind) == "fixed list":
        return pa.list_(field, kind.list_size)
    return (pa.large_list if pa.types.is_large_list(kind) else pa.list_)(field)


def type_error(name: str, dtype: object) -> InvalidArgumentError:
    """Return the error about a column whose type has no array or list of values."""
    word = str(dtype)
    ways = (way for start, way in _INSTEAD.items() if word.lower().startswith(start))
    way = "cast it to numbers, texts, bytes, times or lists of them, or give its parts as columns"
    return column_error(name, f"a column of {word}; {next(ways, way)}", None, Reason.UNSUPPORTED)


def category_error(name: str) -> InvalidArgumentError:
    """Return the error about categories that differ from an original's."""
    detail = "categories that are not different texts, bytes, numbers or bools; convert the column"
    return column_error(name, detail, None, Reason.UNSUPPORTED)


def misfit_error(name: str, word: object) -> InvalidArgumentError:
    """Return the error about a type in a sidecar that its column does not fit."""
    detail = f"the sidecar's dataframe has the type {word}, which this column does not fit"
    return column_error(name, detail)


# --------------------------------------------------------------------------------- Arrow's types


def describe(table: Table, _columns: Mapping[str, Array], words: Mapping[str, Word]) -> Description:
    """Return the types of all columns as JSON; metadata and chunks are not kept."""
    required = []
    for field in table.schema:
        paths = fields_of(field.name, field.type, is_nullable=field.nullable)
        required += [path for path, _, may_lack in paths if not may_lack]
    return {"columns": dict(words), "required": required}


def word_of(kind: ArrowType) -> Word:
    """Return a type as JSON."""
    with suppress(ValueError):
        if pa.type_for_alias(str(kind)) == kind:
            return str(kind)
    return {"ipc": base64.b64encode(pa.schema([("", kind)]).serialize()).decode()}


def target(name: str, word: Word) -> ArrowType:
    """Return the type that JSON describes, None without any; raise if there is none."""
    try:
        if isinstance(word, dict):
            return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(word["ipc"]))).field(0).type
        return None if word is None else pa.type_for_alias(word)
    except UNUSABLE:
        raise misfit_error(name, word) from None


def _natural_type(name: str, lists: Lists) -> ArrowType:
    own = lists.type
    shape = own.shape or ()
    rank = outer_rank(shape)
    kind = _flat_type(name, lists)
    if own.categories is not None:
        kind = pa.dictionary(pa.int32(), kind, own.ordered)
    for size in reversed(shape[rank:]):
        kind = pa.list_(kind, size)
    n_rows, rows = [], lists
    for _ in range(rank):
        rows = rows.below()
        n_rows.append(rows.n)
    for n in reversed(n_rows):
        kind = pa.large_list(kind) if n >= 2**31 else pa.list_(kind)
    return kind


def _flat_type(name: str, lists: Lists) -> ArrowType:
    own = lists.type
    if not isinstance(lists.flat, np.ndarray):
        return pa.large_string() if is_text(own) else pa.large_binary()
    dtype = lists.flat.dtype
    if dtype.kind in "Mm":
        if dtype == "M8[D]":
            return pa.date32()
        unit, count = np.datetime_data(dtype)
        is_calendar = dtype.kind == "m" and unit in ("Y", "M")
        tick = "s" if unit in ("Y", "M", "W", "D", "h", "m") and not is_calendar else unit
        if tick not in ("s", "ms", "us", "ns") or (count != 1 and tick == unit):
            detail = f"no data frame has times of the dtype {dtype.name}; load them with as_=None"
            raise column_error(name, detail, None, Reason.UNSUPPORTED)
        zone = own.zone
        if zone is not None and zone.startswith(("UTC+", "UTC-")):  # as only pandas writes it
            zone = zone.removeprefix("UTC")
        return pa.duration(tick) if dtype.kind == "m" else pa.timestamp(tick, zone)
    if dtype.kind in "biuf":
        return pa.from_numpy_dtype(dtype)
    raise column_error(name, f"Arrow has no type for {dtype.name}", None, Reason.UNSUPPORTED)


# --------------------------------------------------------------------------- columns to arrays


def table_for(
    name: str, columns: Mapping[str, AnyLists], description: Description | None, n_rows: int
) -> Table:
    """Return columns as a Table for the data frame of a library; a description of another library is not used."""
    own_table = adapter(name)
    known = description if description and description.get("library") == name else {}
    words, required = known.get("columns", {}), known.get("required", [])
    targets = {key: own_table.target(key, words.get(key)) for key in columns}
    arrays = {key: array_of(key, lists, targets[key]) for key, lists in columns.items()}
    fields = [pa.field(k, array.type, nullable=k not in required) for k, array in arrays.items()]
    return pa.table(list(arrays.values()), pa.schema(fields)) if fields else rows_alone(n_rows)


def joined_frame(
    name: str,
    tables: Sequence[Table],
    originals: Mapping[str, Original],
    description: Description | None,
) -> Any:
    """Return Tables of :func:`table_for` as one data frame."""
    has_columns = bool(tables[0].column_names)
    table = pa.concat_tables(tables) if has_columns else rows_alone(sum(map(len, tables)))
    known = description if description and description.get("library") == name else {}
    return adapter(name).frame_of(table, originals, known)


def frame_of(table: Table, *_: object) -> Table:
    """Return a Table, which is the data frame of Arrow."""
    return table


def array_of(name: str, lists: AnyLists, kind: ArrowType = None) -> Array:
    """Return lists as an array of a type, or of their natural one."""
    rows = lists.values if isinstance(lists, SparseLists) else lists
    is_sparse = isinstance(lists, SparseLists) and len(lists.coordinates) != 1
    if is_sparse or len(rows.levels) != len(rows.type.shape or ()):
        detail = "a SparseTensor is not a column of a data frame; load it with as_=None"
        raise column_error(name, detail, None, Reason.UNSUPPORTED)
    present = rows.present if rows.type.missing else None
    rows = rows.with_(flat=_plain(rows.flat), present=present)
    kind = _natural_type(name, rows) if kind is None else kind
    try:
        return _array(name, rows, kind)
    except (pa.ArrowException, TypeError) as error:
        detail = f"values that are not of the type {kind}, which the sidecar has: {error}"
        raise column_error(name, detail) from None


def _plain(flat: Any) -> Any:
    """Return the numbers of ml_dtypes, which no library has, as the nearest of NumPy's."""
    if not isinstance(flat, np.ndarray) or flat.dtype.isbuiltin == 1:  # its name takes longer
        return flat
    return flat.astype(nearest_of_numpy(flat.dtype.name), copy=False)


def _array(name: str, lists: Lists, kind: ArrowType) -> Array:
    form, flat = form_of(kind), lists.flat
    if form in ("list", "fixed list"):
        return _list_array(name, lists, kind)
    if lists.levels:
        raise misfit_error(name, kind)
    if form == "dictionary":
        return _chosen_array(name, lists, kind)
    if not isinstance(flat, np.ndarray):
        return _string_array(name, lists, kind)
    if form == "null":
        return pa.nulls(lists.n)
    if form == "time":
        return _tick_array(name, lists, kind)
    mask = None if lists.present is None else ~lists.present
    if form == "decimal":  # wide enough for any int64 first
        return pa.array(flat, mask=mask).cast(pa.decimal256(76, 0)).cast(kind)
    return pa.array(flat, kind, mask=mask)


def _string_array(name: str, lists: Lists, kind: ArrowType) -> Array:
    """Return byte strings as an array that shares their memory if its type has 64-bit offsets."""
    strings = lists.flat
    validity = None if lists.present is None else pa.array(lists.present).buffers()[1]
    splits = row_splits(strings.lengths)
    buffers = [validity, pa.py_buffer(splits), pa.py_buffer(strings.packed(splits))]
    plain = pa.LargeBinaryArray.from_buffers(pa.large_binary(), lists.n, buffers)
    try:
        return _cast(plain, kind)
    except pa.ArrowInvalid:
        if form_of(kind) == "text":
            detail = "a byte string that is not UTF-8, but the schema says that these are text"
            raise column_error(name, detail, types.not_utf8(strings)) from None
        raise


def _chosen_array(name: str, lists: Lists, kind: ArrowType) -> Array:
    """Return values as the places of their categories."""
    if lists.type.categories is None:
        raise misfit_error(name, "categories")
    plain = _array(name, lists, kind.value_type)
    categories = listed = pa.array(lists.type.categories, kind.value_type)
    if pa.types.is_floating(kind.value_type):  # 0.0 for -0.0
        plain, listed = compute.add(plain, 0.0), compute.add(listed, 0.0)
    places = compute.index_in(plain, value_set=listed)
    if places.null_count != plain.null_count:
        wrong = compute.and_(places.is_null(), plain.is_valid())
        index = wrong.index(pa.scalar(True)).as_py()  # noqa: FBT003 - a value
        detail = f"{plain[index].as_py()!r} is not one of the categories in the schema"
        raise column_error(name, detail, index, Reason.UNREPRESENTABLE)
    codes = kind.index_type
    if len(listed) > np.iinfo(codes.to_pandas_dtype()).max + 1:  # of two files, as it may be
        codes = pa.int32()
    return pa.DictionaryArray.from_arrays(places.cast(codes), categories, ordered=kind.ordered)


def _tick_array(name: str, lists: Lists, kind: ArrowType) -> Array:
    values = lists.flat
    dtype, counts = _tick_type(kind)
    if values.dtype.kind != dtype[0]:
        raise misfit_error(name, values.dtype)
    ticks, missing = values.astype(dtype), np.isnat(values)
    if ticks.dtype != values.dtype and (ticks.astype(values.dtype) != values)[~missing].any():
        detail = f"times that do not fit into {ticks.dtype.name}; load them with as_=None"
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE)
    missing = missing if lists.present is None else missing | ~lists.present
    return pa.array(np.where(missing, 0, ticks.view(np.int64)), counts, mask=missing).cast(kind)


def _list_array(name: str, lists: Lists, kind: ArrowType) -> Array:
    present, is_fixed = lists.present, form_of(kind) == "fixed list"
    size = kind.list_size if is_fixed else None
    if not lists.levels or (is_fixed and (lists.lengths != size).any()):
        raise misfit_error(name, kind)
    below = lists.below()
    if present is not None:
        below.present = np.repeat(present, lists.lengths)
    inner = _array(name, below, kind.value_type)
    kind = _with_values(kind, inner.type)
    missing = None if present is None else pa.array(~present)
    if is_fixed:
        if size == 0:
            return pa.array([[]] * lists.n, kind)
        return pa.FixedSizeListArray.from_arrays(inner, type=kind, mask=missing)
    cls = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    of_splits = pa.int64() if cls is pa.LargeListArray else pa.int32()
    offsets = pa.array(row_splits(lists.lengths), of_splits)
    return cls.from_arrays(offsets, inner, type=kind, mask=missing)
