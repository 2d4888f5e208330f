"""Tables, RecordBatches, Arrays and ChunkedArrays of pyarrow, to columns and back.

A type in JSON is the alias that pyarrow has for it, such as ``"timestamp[us]"``, or an object::

    {"timestamp": "us", "zone": "UTC"}    {"fixed_size_binary": 5}
    {"list": TYPE}   {"large_list": TYPE}   {"fixed_size_list": TYPE, "size": 3}
    {"dictionary": TYPE, "index": TYPE, "ordered": false}

List types also have the ``"item"`` name and ``"nullable"``, unless these are the usual ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor
from tfrecord_lite.convert.dataframes.common import (
    UNUSABLE,
    as_frame_column,
    codes_of,
    has,
    is_text,
    misfit_error,
    parts_of,
    ticks_in,
    time_unit,
    with_none,
)
from tfrecord_lite.convert.dataframes.from_arrow import LISTS, TICKS, imported, open_column
from tfrecord_lite.convert.lists import MaskedBytes
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfrecord_lite.arrays import AnyArray, BoolArray
    from tfrecord_lite.schema import Original

__all__ = ["imported", "open_column"]

is_frame: Callable[[Any], bool] = has("column_names", "column", "to_pylist")
is_series: Callable[[Any], bool] = has("null_count", "to_pylist", "type")


def names_of(table: Any) -> list[str]:
    """Return the names of a table's columns."""
    return list(table.column_names)


def column_of(table: Any, name: str) -> Any:
    """Return one column."""
    return table.column(name)


def index_of(table: Any) -> dict[str, Any]:  # noqa: ARG001 - tables have none
    """Return the levels of the index."""
    return {}


# ------------------------------------------------------------------------------------ types


def describe(table: Any) -> dict[str, Any]:
    """Return the types of all columns as JSON; metadata and chunks are not kept."""
    described: dict[str, Any] = {
        "columns": {field.name: type_of(field.type) for field in table.schema}
    }
    required = [field.name for field in table.schema if not field.nullable]
    return described | ({"required": required} if required else {})


def type_of(kind: Any) -> Any:
    """Return a type as JSON."""
    word = str(kind)
    if word.startswith("timestamp") and kind.tz is not None:
        return {"timestamp": kind.unit, "zone": kind.tz}
    if word.startswith("fixed_size_binary"):
        return {"fixed_size_binary": kind.byte_width}
    if word.startswith("dictionary<"):
        index, values = type_of(kind.index_type), type_of(kind.value_type)
        return {"dictionary": values, "index": index, "ordered": bool(kind.ordered)}
    if not word.startswith(LISTS):
        return word
    made = {word.partition("<")[0]: type_of(kind.value_type)}
    made |= {"size": kind.list_size} if word.startswith("fixed") else {}
    field = kind.value_field
    made |= {} if field.name == "item" else {"item": field.name}
    return made | ({} if field.nullable else {"nullable": False})


def is_fitting(found: Any, original: Original) -> bool:
    """Return whether a type in JSON can have what an original says."""
    if not isinstance(found, dict):
        return True
    if "dictionary" in found:
        largest = int(np.iinfo(found["index"]).max)
        return len(original.categories or ()) <= largest + 1
    return all(is_fitting(inner, original) for inner in found.values())


def _made_type(pa: Any, found: Any) -> Any:
    """Return the type that JSON describes."""
    if isinstance(found, str):
        return pa.type_for_alias(found)
    first = next(iter(found))
    if first == "timestamp":
        return pa.timestamp(found[first], found["zone"])
    if first == "fixed_size_binary":
        return pa.binary(found[first])
    if first == "dictionary":
        index = _made_type(pa, found["index"])
        return pa.dictionary(index, _made_type(pa, found[first]), bool(found["ordered"]))
    kinds = {"list": pa.list_, "large_list": pa.large_list, "fixed_size_list": pa.list_}
    inner = _made_type(pa, found[first])
    field = pa.field(found.get("item", "item"), inner, nullable=found.get("nullable", True))
    return kinds[first](field, *([found["size"]] if first == "fixed_size_list" else []))


def made_type(name: str, found: Any) -> Any:
    """Return the type that JSON describes; raise if there is none."""
    pa = imported()
    try:
        return _made_type(pa, found)
    except UNUSABLE:
        raise misfit_error(name, found) from None


def _with_wide_codes(kind: Any) -> Any:
    """Return a type whose dictionaries can have any number of categories."""
    pa, word = imported(), str(kind)
    if word.startswith("dictionary<"):
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    field = kind.value_field.with_type(_with_wide_codes(kind.value_type))
    if word.startswith("fixed"):
        return pa.list_(field, kind.list_size)
    return pa.large_list(field) if word.startswith("large") else pa.list_(field)


def natural_type(name: str, column: Any, original: Original | None) -> Any:
    """Return the type for a column that was not one of Arrow's."""
    pa = imported()
    if isinstance(column, RaggedTensor):
        is_large = len(column.values) >= 2**31
        inner = natural_type(name, column.values, original)
        return pa.large_list(inner) if is_large else pa.list_(inner)
    kind: Any
    dtype = np.dtype(object) if isinstance(column, MaskedBytes) else column.dtype
    if original is not None and original.categories is not None:
        kind = pa.dictionary(pa.int32(), _flat_type(name, dtype, original), original.ordered)
    else:
        kind = _flat_type(name, dtype, original)
    for size in () if isinstance(column, MaskedBytes) else reversed(column.shape[1:]):
        kind = pa.list_(kind, size)
    return kind


def _flat_type(name: str, dtype: np.dtype[Any], original: Original | None) -> Any:
    pa = imported()
    if dtype.kind in "OSUT":
        return pa.large_string() if is_text(original) else pa.large_binary()
    if dtype.kind in "Mm":
        unit = time_unit(name, dtype)
        if dtype.kind == "m":
            return pa.duration(unit)
        zone = None if original is None else original.zone
        return pa.date32() if dtype == "M8[D]" else pa.timestamp(unit, zone)
    if dtype.kind in "biuf":
        return pa.from_numpy_dtype(dtype)
    raise column_error(name, f"Arrow has no type for {dtype.name}", None, Reason.UNSUPPORTED)


# ------------------------------------------------------------------------------------- back


def frame_of(
    columns: Mapping[str, Any],
    originals: Mapping[str, Original],
    description: dict[str, Any],
    rows: range,
) -> Any:
    """Return columns as a Table."""
    pa = imported()
    types = description.get("columns", {})
    required = description.get("required", [])
    fields, arrays = [], []
    for name, found in columns.items():
        array = array_of(name, found, types.get(name), originals.get(name))
        arrays.append(array)
        fields.append(pa.field(name, array.type, nullable=name not in required))
    if not fields:
        # A table's number of rows without columns can be had in this way only.
        return pa.table({"rows": pa.nulls(len(rows))}).select([])
    return pa.table(arrays, schema=pa.schema(fields))


def array_of(name: str, column: Any, found: Any, original: Original | None) -> Any:
    """Return a column as an array of the type that JSON describes, or of its natural one."""
    if not isinstance(column, MaskedBytes):
        column = as_frame_column(name, column)
    if found is None:
        return array_as(name, column, natural_type(name, column, original), original)
    kind = made_type(name, found)
    if original is not None and not is_fitting(found, original):  # such as of two files together
        kind = _with_wide_codes(kind)
    return array_as(name, column, kind, original)


def array_as(name: str, column: Any, kind: Any, original: Original | None) -> Any:
    """Return a column as an array of a type."""
    pa = imported()
    values: Any
    mask: BoolArray | None
    if isinstance(column, MaskedBytes):
        values, mask = column.values, column.mask
    else:
        values, mask = parts_of(column)
    try:
        return _array(name, values, mask, kind, original)
    except (pa.ArrowException, TypeError) as error:
        detail = f"values that are not of the type {kind}, which the sidecar has: {error}"
        raise column_error(name, detail) from None


def _array(
    name: str, values: Any, mask: BoolArray | None, kind: Any, original: Original | None
) -> Any:
    pa = imported()
    word = str(kind)
    if word.startswith(LISTS):
        return _list_array(name, values, mask, kind, original)
    if isinstance(values, BytesColumn):
        return _string_array(name, values, mask, kind, original)
    if isinstance(values, RaggedTensor) or values.ndim != 1:
        raise misfit_error(name, kind)
    if word == "null":
        return pa.nulls(len(values))
    if word.startswith("dictionary<"):
        given = values if mask is None else np.ma.MaskedArray(values, mask)
        codes, missing = codes_of(name, given, original)
        indices = pa.array(codes, kind.index_type, mask=missing)
        listed = () if original is None else original.categories
        categories = pa.array(listed, kind.value_type)
        return pa.DictionaryArray.from_arrays(indices, categories, ordered=kind.ordered)
    if word.startswith(TICKS):
        return _tick_array(name, values, mask, kind)
    if values.dtype.kind in "OSUT":
        given = values if mask is None else np.ma.MaskedArray(values, mask)
        return pa.array(with_none(given), kind)
    return pa.array(values, kind, mask=mask)


def _string_array(
    name: str, values: BytesColumn, mask: BoolArray | None, kind: Any, original: Original | None
) -> Any:
    """Return byte strings as an array that shares their memory, if its type has 64-bit offsets."""
    pa = imported()
    validity = None if mask is None else pa.array(~mask).buffers()[1]
    buffers = [validity, pa.py_buffer(values.offsets), pa.py_buffer(values.data)]
    plain = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(values), buffers)
    if str(kind).startswith("dictionary<"):
        return _chosen_array(name, plain, kind, original)
    try:
        return plain.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(plain.to_pylist(), kind)
    except pa.ArrowInvalid:
        if "string" in str(kind):
            for index, value in enumerate(plain.to_pylist()):
                _check_text(name, index, value)
        raise


def _check_text(name: str, index: int, value: bytes | None) -> None:
    """Raise if a byte string is not UTF-8."""
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        detail = "a byte string that is not UTF-8, but the schema says that these are text"
        raise column_error(name, detail, index) from None


def _chosen_array(name: str, plain: Any, kind: Any, original: Original | None) -> Any:
    """Return byte strings as the places of their categories."""
    pa, compute = imported(), imported("pyarrow.compute")
    listed = () if original is None else original.categories or ()
    categories = pa.array(listed, kind.value_type)
    keys = [value.encode() if isinstance(value, str) else value for value in listed]
    places = compute.index_in(plain, value_set=pa.array(keys, pa.large_binary()))
    if places.null_count != plain.null_count:
        wrong = compute.and_(places.is_null(), plain.is_valid())
        index = wrong.index(pa.scalar(True)).as_py()  # noqa: FBT003 - a value
        detail = f"{plain[index].as_py()!r} is not one of the categories in the schema"
        raise column_error(name, detail, index, Reason.UNREPRESENTABLE)
    indices = places.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, categories, ordered=kind.ordered)


def _tick_array(name: str, values: AnyArray, mask: BoolArray | None, kind: Any) -> Any:
    pa = imported()
    word = str(kind)
    unit = {"date32": "D", "date64": "ms"}.get(word.partition("[")[0])
    ticks = ticks_in(name, values, kind.unit if unit is None else unit)
    narrow = word.startswith(("date32", "time32"))
    missing = np.isnat(values) if mask is None else mask | np.isnat(values)
    ticks = np.where(missing, 0, ticks)
    return pa.array(ticks, pa.int32() if narrow else pa.int64(), mask=missing).cast(kind)


def _list_array(
    name: str, values: Any, mask: BoolArray | None, kind: Any, original: Original | None
) -> Any:
    pa = imported()
    word = str(kind)
    if not word.startswith("fixed"):
        if not isinstance(values, RaggedTensor):
            raise misfit_error(name, kind)
        inner = _array(name, values.values, None, kind.value_type, original)
        is_large = word.startswith("large")
        offsets = pa.array(values.row_splits, pa.int64() if is_large else pa.int32())
        cls = pa.LargeListArray if is_large else pa.ListArray
        return cls.from_arrays(offsets, inner, type=kind)
    size = kind.list_size
    n_rows = len(values)
    if isinstance(values, RaggedTensor):
        values = values.values
    elif values.ndim > 1:
        values = values.reshape(n_rows * values.shape[1], *values.shape[2:])
    if len(values) != n_rows * size:
        raise misfit_error(name, kind)
    if size == 0:
        return pa.array([[]] * n_rows, kind)
    inner_mask = None if mask is None else np.repeat(mask, size)
    inner = _array(name, values, inner_mask, kind.value_type, original)
    missing = None if mask is None else pa.array(mask)
    return pa.FixedSizeListArray.from_arrays(inner, type=kind, mask=missing)
