"""store: lists of any type to those that an Example has, one per key that a schema's features read.

================================  =====  ==========================================================
type                              list   values
================================  =====  ==========================================================
bool, integers up to 63 bits      int64  as they are
uint64, datetime64, timedelta64   int64  two's complement; counts of the unit, NaT too
float32 and smaller               float  widened
float64                           float  rounded; a finite value beyond float32 is an error
complex, images; float64 and      bytes  raw: the little-endian bytes of each innermost row, so the
one-byte numbers if lossless             last dimension that varies goes, or all if none does
strings                           bytes  in UTF-8
================================  =====  ==========================================================

Values of another dtype than the schema's all come back as they were, or one is an error.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.convert import restore, types
from tfrecord_lite.convert.lists import AnyLists, Lists, SparseLists, cleared, missing_row_error
from tfrecord_lite.convert.normalize import Rounded, opened, rows_of_sparse
from tfrecord_lite.convert.types import column_error
from tfrecord_lite.errors import InvalidArgumentError, Reason, errors_at, warn_user
from tfrecord_lite.schema import Kind, RaggedFeature, Schema
from tfrecord_lite.schema.features import Features
from tfrecord_lite.schema.prepare import Dense, Padded, Prepared, Ragged, Shaped, Sparse, prepare
from tfrecord_lite.schema.schema import known_items
from tfrecord_lite.schema.types import WIRE, Shape, Type
from tfrecord_lite.texts import nearest, plural

RAW = frozenset({"float64", "complex64", "complex128"})
"""The dtypes that no list holds exactly; complex numbers no list at all."""

BYTE_SIZED = frozenset({"bool", "int8", "uint8"})
_RAW_VALUES = 16
"""From how many values on an array of these is stored as its bytes: as a list, it takes a hundred times as long."""


def type_of(key: str, lists: AnyLists, *, lossless: bool = False, raw_images: bool = True) -> Type:
    """Return what lists are and how they are stored: by their dtype and levels alone, never by values."""
    if isinstance(lists, SparseLists):
        own = lists.values.type._replace(shape=lists.sizes)
        if not own.shape:
            detail = "a SparseTensor of rank 1 has no dimension besides the records"
            raise column_error(key, detail, None, Reason.UNSUPPORTED)
        size = 1
    else:
        own = lists.type
        size = math.prod(dim for dim in own.shape or () if dim is not None)
        if own.rank and not size:
            inner = (own.shape or ())[own.rank :]
            detail = f"rows of values of shape {inner} hold nothing, so they cannot be counted"
            raise column_error(key, detail, None, Reason.UNSUPPORTED)
    dtype = own.dtype
    is_long_complex = dtype.startswith(("complex192", "complex256"))
    if is_long_complex or (dtype.startswith("float") and dtype[5:] in ("80", "96", "128")):
        wider = "float64" if dtype.startswith("float") else "complex128"
        detail = f"{dtype} has no form that every machine reads; convert it with astype({wider!r})"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    is_raw = dtype.startswith("complex") or (lossless and dtype in RAW)
    is_image = raw_images and dtype == "uint8" and len(own.shape or ()) > 1
    is_raw |= size >= _RAW_VALUES and (is_image or (lossless and dtype in BYTE_SIZED))
    if is_raw and own.kind is not None:
        return own._replace(kind=Kind.BYTES)
    if own.categories and own.kind is Kind.FLOAT:  # rounded as the values
        listed = np.array(own.categories, np.float32).astype(own.dtype)
        return own._replace(categories=tuple(dict.fromkeys(listed.tolist())))
    return own


# -------------------------------------------------------------------------- all columns of a schema


def stored(
    columns: Mapping[str, Any], schema: Features, rounded: Rounded = None
) -> dict[str, Lists]:
    """Return columns as the lists to write, one per key that the schema's features read."""
    for name in columns:
        if name not in schema:
            detail = f"this column is not in the schema{nearest(name, schema)}"
            raise column_error(str(name), detail)
    stored_lists: dict[str, Lists] = {}
    for name, feature, own in _plan(schema):
        column = columns.get(name)
        if column is None:
            if isinstance(feature, Dense) and feature.default is None and feature.size:
                raise column_error(name, "required, but without a column", None, Reason.MISSING)
            continue
        lists = _opened(name, column, own, feature)
        for key, part in store(name, lists, own, feature, rounded).items():
            if key in stored_lists:
                raise column_error(key, f"two features write this key; one of them is {name!r}")
            stored_lists[key] = part
    return stored_lists


def _plan(schema: Features) -> list[tuple[str, Prepared, Type]]:
    """Return the features of a schema, as they are prepared, and the types of their values."""
    if isinstance(schema, Schema) and schema.plan is not None:
        return schema.plan  # type: ignore[no-any-return]
    original_types = {name: Type.of(item) for name, item in known_items(schema).items()}
    prepared = prepare(schema).items()
    plan = [(name, own, original_types.get(name, WIRE[own.kind])) for name, own in prepared]
    if isinstance(schema, Schema):
        schema.plan = plan
    return plan


def _opened(key: str, column: Any, own: Type, feature: Prepared) -> AnyLists:
    if isinstance(column, Lists):
        _check_type(key, column.type, own)
    is_object = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    is_plain = own is WIRE[own.kind] and not getattr(feature, "partitions", ())
    if is_plain and (is_object or isinstance(column, list | tuple)):
        return opened(key, column)
    lists: AnyLists = opened(key, column, "strict", own)
    return lists


def _check_type(key: str, own: Type, expected: Type) -> None:
    """Raise if a column of a data frame would come back with another zone or order of categories."""
    are_times = own.dtype.startswith("datetime64") and expected.dtype.startswith("datetime64")
    if are_times and own.zone != expected.zone:
        here = "times without a time zone" if own.zone is None else f"times in {own.zone}"
        zone_text = "have no time zone" if expected.zone is None else f"are in {expected.zone}"
        detail = f"{here}, but the schema's {zone_text}; convert them to it"
        raise column_error(key, detail, None, Reason.WRONG_KIND)
    if expected.categories is not None and own.ordered:
        order = {value: i for i, value in enumerate(expected.categories)}
        places = [order[value] for value in own.categories or () if value in order]
        if not expected.ordered or places != sorted(places):
            detail = "categories with an order, but in the schema they have none, or another; "
            detail += "change their order, or make the schema from this column"
            raise column_error(key, detail, None, Reason.WRONG_KIND)


def store(
    key: str, lists: AnyLists, own: Type, feature: Prepared, rounded: Rounded = None
) -> dict[str, Lists]:
    """Return lists as a feature of this type is stored: one key, with partitions or coordinates several."""
    if isinstance(feature, Sparse):
        return _sparse(key, lists, own, feature, rounded)
    if isinstance(lists, SparseLists):
        lists = rows_of_sparse(key, lists)
    partitions = feature.partitions if isinstance(feature, Ragged) else ()
    if lists.kind is None:
        lists = _without_values(lists, own)
    is_formed = own.shape is not None and own is not WIRE[own.kind]
    if is_formed and isinstance(feature, Dense | Ragged):
        lists = _shaped(key, lists, own.shape or ())
        if lists.present is not None and 0 in (own.shape or ()):
            raise missing_row_error(key, ~lists.present)
    if own.categories is not None:
        _check_categories(key, lists, own)
    if isinstance(feature, Shaped):
        keys = f"{feature.key!r} and {feature.shape_key!r}"
        detail = f"a feature with a shape_key is only read; write {keys} as features of their own"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    n_levels = 1 + len(partitions) if own.rank and isinstance(feature, Ragged) else 0
    values = _values(key, lists, own, rounded, n_levels)
    out = values.one_level()
    if isinstance(feature, Dense):
        return {feature.key: _dense(key, lists, out, feature, own)}
    if isinstance(feature, Padded):
        size = feature.size
        detail = f"the number of values is not a multiple of {size}, as the shape requires"
        _require(key, out.lengths % size != 0, Reason.WRONG_COUNT, detail)
    if not partitions:
        return {feature.key: out}
    rank = own.rank if is_formed else lists.type.rank
    if own.is_raw or len(own.shape or ()) == n_levels:  # partitions of one length, too
        rank = n_levels
    return {feature.key: out, **_divided_by(key, values, rank, partitions)}


def _require(key: str, wrong: arrays.AnyArray, reason: Reason, detail: str) -> None:
    if wrong.any():
        raise column_error(key, detail, int(wrong.argmax()), reason)


# ---------------------------------------------------------------------------------------- shapes


def _without_values(lists: Lists, own: Type) -> Lists:
    """Give lists that have no values the type of a schema; absent records may have fillers."""
    n_values = len(lists.flat)
    if own.dtype == "string":
        flat: Any = arrays.ByteRanges(np.zeros(0, np.uint8), *np.zeros((2, n_values), np.int64))
    else:
        flat = np.zeros(n_values, restore.original_dtype(own.dtype))
    return lists.with_(type=own._replace(shape=lists.type.shape), flat=flat)


def _shaped(key: str, lists: Lists, shape: Shape) -> Lists:
    """Return lists with a level per dimension, and a number for each that does not vary."""
    pairs = list(zip(lists.levels, shape, strict=False))
    are_equal = (n is None or (isinstance(level, int) and level == n) for level, n in pairs)
    if len(lists.levels) == len(shape) and all(are_equal):
        return lists
    n_rows, present = lists.n, lists.present
    if not lists.levels and present is not None and not present.any():  # nothing but fillers
        inner = [n or 0 for n in shape[1:]]
        flat = lists.flat[:0] if isinstance(lists.flat, np.ndarray) else lists.flat.take(slice(0))
        return lists.with_(levels=(np.zeros(n_rows, np.int64), *inner), flat=flat)
    levels: list[Any] = []
    for level, dim in pairs:
        wrong = np.broadcast_to(False if dim is None else np.not_equal(level, dim), n_rows)
        wrong = wrong if present is None else wrong & present
        if (row := arrays.first_true(wrong)) is not None:
            counted = plural(int(np.broadcast_to(level, n_rows)[row]), "value")
            detail = f"{counted} in a dimension of {dim}, which the schema has"
            index = lists.with_(levels=tuple(levels)).record_of(row)
            raise column_error(key, detail, index, Reason.WRONG_COUNT)
        is_even = dim is not None and (present is None or isinstance(level, int))
        levels.append(dim if is_even else level)
        present = None if present is None else np.repeat(present, level)
        n_rows = n_rows * level if isinstance(level, int) else int(level.sum())
    if not n_rows:
        levels += [n or 0 for n in shape[len(levels) :]]
    elif len(lists.levels) != len(shape):
        detail = f"records of another shape than {list(shape)}, which the schema has"
        raise column_error(key, detail, None, Reason.WRONG_COUNT)
    return lists.with_(levels=tuple(levels))


def _dense(key: str, lists: Lists, out: Lists, feature: Dense, own: Type) -> Lists:
    """Check the values of each record; `out` are the lists as they are stored."""
    shape: Any = lists.type.shape or ()
    is_other = None not in shape and shape not in (feature.shape, (feature.size,))
    if own is WIRE[own.kind] and is_other and math.prod(shape) == feature.size:
        detail = f"records of shape {shape}, but the schema says {feature.shape}"
        raise column_error(key, detail, None, Reason.WRONG_COUNT)
    present: Any = np.True_ if out.present is None else out.present
    if out.present is not None and feature.default is None and feature.size:
        detail = f"required feature {key!r} is missing and has no default; "
        detail += "give every record a value, or the schema a default_value"
        _require(key, ~present, Reason.MISSING, detail)
    count = out.levels[0]
    if not isinstance(count, int) or count != feature.size:
        wrong = (out.lengths != feature.size) & present
        if wrong.any():
            counted = plural(int(out.lengths[wrong.argmax()]), "value")
            detail = f"{counted}, but the shape {feature.shape} holds {feature.size:,}"
            _require(key, wrong, Reason.WRONG_COUNT, detail)
        if out.n and out.present is None:
            out.levels = (feature.size,)  # all alike: which is stored faster
    if feature.raw is not None:
        expected = f"{feature.raw.dtype_name} {list(feature.raw.shape)}"
        detail = f"an array of another shape than {expected}"
        wrong = (out.flat.lengths != feature.raw.n_bytes) & present
        _require(key, wrong, Reason.WRONG_COUNT, detail)
    return out


def _divided_by(key: str, lists: Lists, rank: int, partitions: tuple[Any, ...]) -> dict[str, Lists]:
    """Return how the values of each record are divided, by the keys of the partitions."""
    if rank != 1 + len(partitions):
        detail = f"{plural(rank, 'ragged level')}, but the schema has {1 + len(partitions)}"
        raise column_error(key, detail, None, Reason.BAD_PARTITION)
    lengths_by_key = {}
    rows = lists
    bounds = rows.with_(levels=rows.levels[:1]).splits()  # of each record, in rows of the level
    for partition in partitions:
        rows = rows.below()
        is_last = partition is partitions[-1]
        # Dimensions that do not vary are part of the last level.
        splits = (rows if is_last else rows.with_(levels=rows.levels[:1])).splits()
        if isinstance(partition, RaggedFeature.UniformRowLength):
            wrong = np.flatnonzero(np.diff(splits) != partition.length)
            if wrong.size:
                index = int(np.searchsorted(bounds, wrong[0], "right")) - 1
                detail = f"a row that does not have {plural(partition.length, 'value')}"
                raise column_error(key, detail, index, Reason.WRONG_COUNT)
        else:
            numbers, ends = _divided(partition, splits, bounds)
            own = Lists(lists.n, WIRE[Kind.INT64], (np.diff(ends),), numbers, lists.present)
            lengths_by_key[partition.key] = own
        bounds = splits[bounds]
    return lengths_by_key


def _divided(
    partition: Any, splits: arrays.Int64Array, bounds: arrays.Int64Array
) -> tuple[arrays.Int64Array, arrays.Int64Array]:
    """Return the numbers to store, which count from the record's start, and their splits by record.

    `splits` are of all rows of a batch, `bounds` of each record among the rows.
    """
    counts = np.diff(bounds)
    starts = splits[bounds[:-1]]  # of each record's first row
    match partition:
        case RaggedFeature.RowLengths():
            return np.diff(splits), bounds
        case RaggedFeature.RowStarts():
            return splits[:-1] - np.repeat(starts, counts), bounds
        case RaggedFeature.RowLimits():
            return splits[1:] - np.repeat(starts, counts), bounds
        case RaggedFeature.RowSplits():  # one more than rows
            rows = arrays.ranges(bounds[:-1], counts + 1)
            return splits[rows] - np.repeat(starts, counts + 1), arrays.row_splits(counts + 1)
        case _:
            numbers = np.arange(splits.size - 1) - np.repeat(bounds[:-1], counts)
            return np.repeat(numbers, np.diff(splits)), splits[bounds]


def _sparse(
    key: str, sparse: AnyLists, own: Type, feature: Sparse, rounded: Rounded
) -> dict[str, Lists]:
    if not isinstance(sparse, SparseLists):
        detail = "a SparseFeature is written from a SparseTensor, not from rows of values"
        raise column_error(key, detail, None, Reason.WRONG_KIND)
    pairs = zip_longest(sparse.sizes, feature.sizes)
    if any(own is None or size not in (own, -1) for own, size in pairs):
        detail = f"rows of the dense shape {sparse.sizes}, but the schema says {feature.sizes}"
        raise column_error(key, detail, None, Reason.WRONG_COUNT)
    rows = sparse.values
    single = own if own is WIRE[own.kind] else own._replace(shape=())
    with types.at_records(rows.splits()):
        below = rows.below() if rows.kind is not None else _without_values(rows.below(), single)
        values = _values(key, below, single, rounded)
    by_key = {feature.value_key: Lists(rows.n, WIRE[feature.kind], rows.levels, values.flat)}
    for index_key, axis in zip(feature.index_keys, sparse.coordinates, strict=True):
        if index_key in by_key:
            raise column_error(index_key, f"two features write this key; one of them is {key!r}")
        by_key[index_key] = axis
    return by_key


# ---------------------------------------------------------------------------------------- values


def _values(key: str, lists: Lists, own: Type, rounded: Rounded, n_levels: int = 0) -> Lists:
    """Return lists with values as an Example has them; raw, with only as many levels."""
    lists = cleared(lists)
    with errors_at(index=lists.record_of, key=key):
        if own.is_raw:
            return _raw(lists, own, n_levels)
        flat = _strings(lists, own) if own.kind is Kind.BYTES else _numbers(lists, own)
    if rounded is not None and own.dtype == "float64" and types.is_rounded(lists.flat, flat):
        rounded[key] = None
    return Lists(lists.n, WIRE[own.kind], lists.levels, flat, lists.present)


def warn_of_rounding(place: str, names: Iterable[str], way: str = "lossless=True") -> None:
    """Warn about float64 columns that were rounded to float32; `way` says how to keep every bit."""
    if listed_names := ", ".join(map(repr, names)):
        text = f"{place}: float64 was rounded to float32 in {listed_names}; {way} keeps every bit"
        warn_user(text)


def _kind_error(lists: Lists, kind: Kind) -> InvalidArgumentError:
    label = lists.type.dtype if lists.kind is None else lists.kind.label
    detail = f"the column holds {label}, but the schema says {kind.label}"
    return InvalidArgumentError(Reason.WRONG_KIND, detail=detail)


def _value_error(wrong: arrays.BoolArray, detail: str) -> InvalidArgumentError:
    return InvalidArgumentError(Reason.UNREPRESENTABLE, index=int(wrong.argmax()), detail=detail)


def _numbers(lists: Lists, own: Type) -> arrays.AnyArray:  # noqa: PLR0912 - a call for each column
    flat, kind, dtype = lists.flat, own.kind, lists.type.dtype
    if not isinstance(flat, np.ndarray):
        if not lists.flat.lengths.size:
            return np.zeros(0, np.int64 if kind is Kind.INT64 else np.float32)
        raise _kind_error(lists, kind or Kind.BYTES)
    is_known = own is not WIRE[kind]
    if is_known and kind is Kind.INT64:
        if flat.dtype.kind in "mM":
            if own.dtype not in ("uint64", dtype) and own.dtype.startswith(_COUNTED):
                detail = f"the column is {dtype}, but the schema stores {own.dtype}; "
                detail += f"convert it with astype({own.dtype!r})"
                raise InvalidArgumentError(Reason.WRONG_KIND, detail=detail)
            if own.dtype.startswith(_COUNTED):
                return types.ticks(flat)
        elif own.dtype.startswith(_COUNTED) and flat.dtype.kind == "u":
            return flat.astype(np.uint64).view(np.int64)
        elif own.dtype == "uint64" and flat.dtype.kind == "i" and flat.min(initial=0) < 0:
            # In two's complement a negative number would come back as a large one.
            raise _value_error(flat < 0, _misfit(own.dtype))
    stored: Any
    stored_kind, stored = types.flat_list(flat)
    if kind is Kind.FLOAT and stored_kind is Kind.INT64:
        stored = types.exact(stored, np.dtype(np.float32), "this integer is not exact in float32")
    elif stored_kind is not kind:
        if flat.size:
            raise _kind_error(lists, kind or Kind.BYTES)
        return np.zeros(0, np.int64 if kind is Kind.INT64 else np.float32)
    is_other = is_known and dtype != own.dtype
    if (
        is_other
        and (wrong := restore.outside(stored, restore.original_dtype(own.dtype))) is not None
    ):
        detail = _misfit(own.dtype)
        if kind is Kind.FLOAT and own.dtype in restore.SMALL_FLOATS:
            detail += f", or round the column by astype({own.dtype!r})"
        raise _value_error(wrong, detail)
    numbers: arrays.AnyArray = stored
    return numbers


_COUNTED = "uint64", "datetime64", "timedelta64"
"""The dtypes that int64 stores as other numbers."""


def _misfit(what: str) -> str:
    detail = f"a value that does not fit into {what}, the original dtype in the schema; "
    return detail + "make the schema with schema_of, from columns that have all values"


def _strings(lists: Lists, own: Type) -> Any:
    """Return strings whose own type of strings is to be restored."""
    flat, text = lists.flat, lists.type.text
    if isinstance(flat, np.ndarray):
        if flat.size:
            raise _kind_error(lists, Kind.BYTES)
        return arrays.ByteRanges(np.zeros(0, np.uint8), *np.zeros((2, 0), np.int64))
    if own.text in (None, text):
        return flat
    are_bytes = own.text[0] != "S" and (text is None or text[0] == "S")
    if are_bytes and (number := types.not_utf8(flat)) is not None:
        detail = "a byte string that is not UTF-8, but the schema says that these are text"
        raise InvalidArgumentError(Reason.UNREPRESENTABLE, index=number, detail=detail)
    if (wrong := restore.too_long(flat, own.text)) is not None:
        raise _value_error(wrong, _misfit(own.text))
    if (wrong := _ends_in_nul(flat, own.text)) is not None:
        raise _value_error(wrong, _misfit(f"{own.text} (it drops NULs at the end)"))
    return flat


def _ends_in_nul(strings: arrays.ByteStrings, text: str | None) -> arrays.BoolArray | None:
    """Find the strings whose last bytes NumPy would drop; None if there are none."""
    if text is None or text[0] not in "SU":
        return None
    strings = strings.to_ranges()
    filled = np.flatnonzero(strings.lengths)
    wrong = np.zeros(strings.lengths.size, np.bool_)
    wrong[filled] = strings.data[(strings.starts + strings.lengths)[filled] - 1] == 0
    return wrong if wrong.any() else None


def _raw(lists: Lists, own: Type, n_levels: int) -> Lists:
    """Return the little-endian bytes of each row that is below the first levels as a string."""
    flat, dtype = lists.flat, restore.original_dtype(own.dtype).newbyteorder("<")
    if not isinstance(flat, np.ndarray) or not (
        (flat.dtype.kind in "iu" and dtype.kind in "iu") or np.can_cast(flat.dtype, dtype, "safe")
    ):
        detail = f"the column is {lists.type.dtype}, but the schema stores {dtype.name}"
        raise InvalidArgumentError(Reason.WRONG_KIND, detail=detail)
    values = np.ascontiguousarray(types.exact(flat, dtype))
    outer = lists.levels[:n_levels]
    rows = lists
    for _ in outer:
        rows = rows.below()
    n_bytes: Any = rows.counts() * dtype.itemsize
    lengths = np.full(rows.n, n_bytes, np.int64)
    strings = arrays.ByteRanges(values.view(np.uint8), arrays.row_splits(lengths)[:-1], lengths)
    if own.compression is not None:
        items = [zlib.compress(string) for string in restore.objects_of(strings)]
        strings = arrays.ByteItems.of(items).to_ranges()
    return Lists(lists.n, WIRE[Kind.BYTES], outer, strings, lists.present)


def _check_categories(key: str, lists: Lists, own: Type) -> None:
    flat: Any = lists.flat
    if isinstance(flat, np.ndarray):
        stored = flat.astype(np.float32) if own.kind is Kind.FLOAT else flat
        items = stored.astype(own.dtype).tolist()
    else:
        strings = flat.to_ranges()
        items = list(BytesColumn(arrays.row_splits(strings.lengths), strings.joined()))
    known = {value.encode() if isinstance(value, str) else value for value in own.categories or ()}
    if known.issuperset(items):
        return
    wrong = np.array([item not in known for item in items], np.bool_)
    if lists.present is not None:
        wrong &= np.repeat(lists.present, lists.counts())
    if (number := arrays.first_true(wrong)) is not None:
        shown = items[number].decode() if own.text is not None else items[number]
        detail = f"{shown!r} is not one of the categories in the schema; "
        detail += "make the schema from a column that has all of them"
        raise lists.error(key, detail, number)
