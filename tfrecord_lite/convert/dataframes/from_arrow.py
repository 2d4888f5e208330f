"""Arrow data to columns: the tables and streams of any library, and the values of each array.

Whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__`` is read by pyarrow. Fields of structs become
columns of their own, ``point/x``; a null struct makes all of them null. Strings are taken by their
offsets, without an object per value.
"""

from __future__ import annotations

from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import row_splits
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.convert.dataframes.common import (
    TEXT,
    Opened,
    category_error,
    chosen,
    fixed_rows,
    has,
    library,
    masked,
    null_error,
    objects,
    rows_of,
    time_values,
    type_error,
)
from tfrecord_lite.convert.lists import MaskedBytes, TextColumn
from tfrecord_lite.convert.types import at_records, column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural
from tfrecord_lite.schema import Schema, SequenceSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tfrecord_lite.arrays import AnyArray, BoolArray

NUMBERS = ("bool", "int", "uint", "float", "double", "halffloat")
TEXTS = ("string", "large_string", "string_view")
BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
TICKS = ("timestamp", "duration", "date", "time")
LISTS = ("list<", "large_list<", "fixed_size_list<")
"""How the names of types begin."""

SCHEMA_KEY = b"tfrecord_lite"
"""Where the metadata of an Arrow schema have ours, as JSON."""

_ROWS_PER_TABLE = 1000

_has_stream: Callable[[Any], bool] = has("__arrow_c_stream__")
_has_array: Callable[[Any], bool] = has("__arrow_c_array__")
_is_array: Callable[[Any], bool] = has("null_count", "to_pylist", "type")
_has_formats: Callable[[Any], bool] = has("with_format", "iter", "features", "column_names")
_has_batches: Callable[[Any], bool] = has("to_batches", "arrow_schema")


def imported(module: str = "pyarrow") -> Any:
    """Return the library, or a module of it; ImportError if it is not installed."""
    return library(module, "arrow")


# ---------------------------------------------------------------------------------- tables


def is_source(data: Any) -> bool:
    """Return whether data are a table in Arrow's terms: of pyarrow, or from any other library."""
    if _is_array(data):
        return str(data.type).startswith("struct<")
    return _has_stream(data) or _has_array(data) or _has_formats(data)


def is_stream(data: Any) -> bool:
    """Return whether a source is read batch by batch, as it may not be in memory."""
    if _has_formats(data):
        return True
    return _has_stream(data) and not _is_array(data) and not has("column", "to_pylist")(data)


def table_of(data: Any) -> Any:
    """Return a source as one Table, whose columns are not structs."""
    pa = imported()
    if is_stream(data):
        schema, batches = reader_of(data)
        with closing(batches):
            return _flat(pa.Table.from_batches(list(batches), schema))
    if isinstance(data, pa.Table):
        return _flat(data)
    if hasattr(data, "chunks"):  # of structs
        return _flat(pa.Table.from_batches(map(_batch_of, data.chunks), _schema_of(data.type)))
    return _flat(pa.Table.from_batches([_batch_of(data)]))


def _schema_of(struct: Any) -> Any:
    return imported().schema([struct.field(i) for i in range(struct.num_fields)])


def _batch_of(data: Any) -> Any:
    """Return an array of structs, of any library, as a RecordBatch; a null makes its fields null."""
    pa = imported()
    if isinstance(data, pa.RecordBatch):
        return data
    array = data if isinstance(data, pa.Array) else pa.array(data)
    if not str(array.type).startswith("struct<"):
        raise argument_error(f"Arrow data must have columns, not be one array of {array.type}")
    if not array.type.num_fields:
        return pa.record_batch({"rows": pa.nulls(len(array))}).select([])
    return pa.RecordBatch.from_arrays(array.flatten(), schema=_schema_of(array.type))


def reader_of(data: Any) -> tuple[Any, Any]:
    """Return the schema of a stream, and an iterator of its RecordBatches that can be closed."""
    pa = imported()
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, (batch for batch in data)  # which leaves the caller's reader open
    if _has_batches(data):  # ours: its errors are not to pass through the C stream
        return data.arrow_schema, data.to_batches()
    if _has_formats(data):
        return _formatted(data)
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        raise argument_error(f"Arrow data must be a stream of tables: {error}") from None
    return reader.schema, reader


def _formatted(data: Any) -> tuple[Any, Generator[Any]]:
    """Return the schema and batches of a data set of Hugging Face's, in the order of its rows."""
    tables = (_stored(table) for table in data.with_format("arrow").iter(_ROWS_PER_TABLE))
    first = next(tables, None)
    if first is None:
        if data.features is None:
            raise argument_error("a data set without rows or features has no columns")
        first = _stored(data.features.arrow_schema.empty_table())
    whole = (batch for table in chain([first], tables) for batch in table.to_batches())
    return first.schema, whole


def _stored(table: Any) -> Any:
    """Return a table whose columns of extension types are what stores them."""
    for i, field in enumerate(table.schema):
        if hasattr(field.type, "storage_type"):
            pa, column = imported(), table.column(i)
            parts = [chunk.storage for chunk in column.chunks]
            table = table.set_column(
                i, field.name, pa.chunked_array(parts, field.type.storage_type)
            )
    return table


def batches_of(data: Any) -> Generator[Any]:
    """Yield a stream's batches as Tables, first one without rows; nothing is read for that one."""
    pa = imported()
    schema, batches = reader_of(data)
    yield _flat(schema.empty_table())
    n_rows = 0
    try:
        with closing(batches):
            for batch in batches:
                yield _flat(pa.Table.from_batches([batch]))
                n_rows += batch.num_rows
    except pa.ArrowException as error:
        cause = str(error).partition("\n")[0]
        raise argument_error(f"the Arrow stream failed after {n_rows:,} records: {cause}") from None


def empty_table(data: Any) -> Any:
    """Return a stream's columns without rows; most streams can be opened again after that."""
    pa = imported()
    schema = getattr(data, "schema", None) if isinstance(data, pa.RecordBatchReader) else None
    if schema is None and has("__arrow_c_schema__")(data):
        schema = pa.schema(data)
    return _flat((reader_of(data)[0] if schema is None else schema).empty_table())


def carried_schema(table: Any) -> Schema | None:
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
        detail = (
            f"the schema in the Arrow metadata is not one of ours: {error.detail}; give another "
        )
        detail += "one, or none: table.replace_schema_metadata()"
        raise argument_error(detail) from None


def _flat(table: Any) -> Any:
    """Return a table with the fields of structs as columns, and runs as plain values."""
    pa = imported()
    words = [str(field.type) for field in table.schema]
    if not any(word.startswith(("struct<", "run_end_encoded<")) for word in words):
        return table
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        for name, nullable, array in _leaves(field.name, field.nullable, column):
            fields.append(pa.field(name, array.type, nullable))
            columns.append(array)
    if not columns:
        return pa.table({"rows": pa.nulls(table.num_rows)}).select([])
    return pa.table(columns, pa.schema(fields, table.schema.metadata))


def _leaves(name: str, nullable: bool, column: Any) -> Iterator[tuple[str, bool, Any]]:  # noqa: FBT001
    """Yield the fields of a struct, at any depth, with their paths; another column as it is."""
    kind = column.type
    if str(kind).startswith("run_end_encoded<"):
        decoded = imported("pyarrow.compute").run_end_decode(column)
        yield from _leaves(name, nullable, decoded)
    elif not str(kind).startswith("struct<"):
        yield name, nullable, column
    else:
        for i, inner in enumerate(column.flatten()):
            field = kind.field(i)
            yield from _leaves(f"{name}/{field.name}", nullable or field.nullable, inner)


# --------------------------------------------------------------------------------- columns


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
        mask = _nulls(column)
        if mask.any() and word != "halffloat":  # which earlier versions cannot fill
            column = column.fill_null(False if word == "bool" else 0)
        return Opened(masked(column.to_numpy(zero_copy_only=False), mask), {})
    if word not in TEXTS and not word.startswith((*BYTES, "null")):
        raise type_error(name, column.type)
    return Opened(_strings(name, column), TEXT if word in TEXTS else {})


def _nulls(column: Any) -> BoolArray:
    """Return which values are null."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _times(name: str, column: Any, word: str) -> Any:
    """Return times as datetime64 or timedelta64."""
    pa = imported()
    unit = {"date32": "D", "date64": "ms"}.get(word.partition("[")[0])
    unit = column.type.unit if unit is None else unit
    whole = column.cast(pa.int32() if word.startswith(("date32", "time32")) else pa.int64())
    mask = _nulls(whole)
    ticks = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    kind = "M8" if word.startswith(("timestamp", "date")) else "m8"
    return time_values(name, ticks, f"{kind}[{unit}]", mask)


def _strings(name: str, column: Any) -> Any:
    """Return strings where they are, as a BytesColumn; those of no value are objects."""
    pa = imported()
    if column.null_count == len(column):
        return objects([None] * len(column))
    is_text = str(column.type) in TEXTS
    if is_text:
        _check_texts(name, column)
    mask = _nulls(column)
    array = _whole(_cast(column, pa.large_binary()))
    made = _bytes_of(array)
    if mask.any() and made.lengths[mask].any():  # what is there in place of a null may be anything
        made = _bytes_of(array.fill_null(b""))
    made = TextColumn(made.offsets, made.data) if is_text else made
    return MaskedBytes(made, mask) if mask.any() else made


def _cast(column: Any, kind: Any) -> Any:
    """Return strings, or lists of them, as another type; earlier versions cannot cast views."""
    pa = imported()
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), kind)


def _bytes_of(array: Any) -> BytesColumn:
    """Return the strings of an array of large_binary; views of its buffers."""
    _, offsets, data = array.buffers()
    splits = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return BytesColumn(splits, np.frombuffer(b"" if data is None else data, np.uint8))


def _check_texts(name: str, column: Any) -> None:
    """Raise if texts are not UTF-8, which nothing else checks."""
    n_before = 0
    for chunk in _chunks(column):
        try:
            chunk.validate(full=True)
        except imported().ArrowException as error:
            wrong = next((i for i in range(len(chunk)) if not _is_text(chunk[i : i + 1])), None)
            index = None if wrong is None else n_before + wrong
            detail = f"an array of {column.type} that is not valid: {error}"
            raise column_error(name, detail, index, Reason.UNREPRESENTABLE) from None
        n_before += len(chunk)


def _is_text(array: Any) -> bool:
    try:
        array.validate(full=True)
    except imported().ArrowException:
        return False
    return True


def _whole(column: Any) -> Any:
    """Return an array of one chunk."""
    if not hasattr(column, "chunks"):
        return column
    return column.combine_chunks() if len(column.chunks) != 1 else column.chunks[0]


def _open_dictionary(name: str, column: Any) -> Opened:
    pa = imported()
    if not str(column.type.value_type).startswith((*NUMBERS, *TEXTS, *BYTES, *TICKS, "null")):
        raise category_error(name)
    chunks, first = [], 0
    for chunk in _chunks(column):
        chunks.append(_plain_dictionary(name, chunk, first))
        first += len(chunk)
    whole = _whole(pa.chunked_array(chunks, column.type).unify_dictionaries())
    mask = _nulls(whole.indices)
    codes = np.asarray(whole.indices.fill_null(0).to_numpy(zero_copy_only=False))
    categories = open_column(name, whole.dictionary).values
    ordered = bool(column.type.ordered)
    if categories.dtype != object:
        return chosen(name, categories, codes, mask, ordered=ordered)
    _, traits = chosen(name, categories, codes[:0], mask[:0], ordered=ordered)
    if str(column.type.value_type) not in TEXTS:  # which no categories would be, too
        traits = {key: value for key, value in traits.items() if key != "text"}
    if mask.all():
        return Opened(objects([None] * len(mask)), traits)
    values = categories.take(np.where(mask, 0, codes))
    return Opened(MaskedBytes(values, mask) if mask.any() else values, traits)


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _plain_dictionary(name: str, chunk: Any, first: int) -> Any:
    """Return a chunk whose dictionary has no null; raise about what its dictionary lacks."""
    pa, values = imported(), chunk.dictionary
    mask = _nulls(chunk.indices)
    codes = np.asarray(chunk.indices.fill_null(0).to_numpy(zero_copy_only=False))
    wrong = ~mask & ((codes < 0) | (codes >= len(values)))
    if wrong.any():
        index = int(wrong.argmax())
        detail = f"the code {codes[index]} of a dictionary of {plural(len(values), 'value')}"
        raise column_error(name, detail, first + index, Reason.UNREPRESENTABLE)
    with suppress(pa.ArrowNotImplementedError):
        if len(values.unique()) < len(values):
            raise category_error(name)
    is_null = _nulls(values)
    if not is_null.any():
        return chunk
    # A null is not a category: what stands for it is missing.
    codes = np.where(mask, 0, codes)
    missing = mask | is_null[codes]
    codes = np.maximum(np.cumsum(~is_null)[codes] - 1, 0)
    indices = pa.array(codes, chunk.type.index_type, mask=missing)
    kept = values.drop_null()
    return pa.DictionaryArray.from_arrays(indices, kept, ordered=chunk.type.ordered)


def _open_lists(name: str, column: Any) -> Opened:
    is_fixed = str(column.type).startswith("fixed")
    if "_view" in str(column.type):  # which few functions of Arrow take
        column = _cast(column, _without_views(column.type))
    mask = _nulls(column)
    # flatten leaves out those of null lists; drop_null takes wrong ones of slices. By chunk, as all chunks
    # have no flatten that goes down one level only, and dictionaries with nulls cannot be joined.
    flat = imported().chunked_array([c.flatten() for c in _chunks(column)], column.type.value_type)
    if is_fixed:
        lengths = np.where(mask, 0, column.type.list_size)
    else:
        parts = [c.value_lengths().fill_null(0) for c in _chunks(column)]
        lengths = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    with at_records(row_splits(lengths)):
        _check_no_missing(name, _nulls(flat))
        inner, traits = open_column(name, flat)
        _check_no_missing(name, _missing_in(inner))
    if is_fixed:
        inner = inner.to_numpy() if isinstance(inner, BytesColumn) else inner
        return Opened(
            fixed_rows(name, inner, len(mask) - int(mask.sum()), column.type.list_size, mask),
            traits,
        )
    return Opened(rows_of(inner, lengths[~mask], mask), traits)


def _without_views(kind: Any) -> Any:
    """Return a type of lists with strings by offsets."""
    pa, word = imported(), str(kind)
    if not word.startswith(LISTS):
        views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
        return views.get(word, kind)
    inner = _without_views(kind.value_type)
    if word.startswith("fixed"):
        return pa.list_(inner, kind.list_size)
    return pa.large_list(inner) if word.startswith("large") else pa.list_(inner)


def _check_no_missing(name: str, missing: BoolArray) -> None:
    if missing.any():
        raise null_error(name).at(index=int(missing.argmax()))


def _missing_in(values: Any) -> AnyArray:
    """Return which values are missing, such as those that stand for a dictionary's null."""
    if isinstance(values, MaskedBytes):
        return values.mask
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.zeros(0, np.bool_)
