"""conform: columns, and rows as columns, to value lists for the keys that a schema's features read.

Values alone do not tell types: a batch may have no value of a feature, or rows that happen to be of one
length. The schema tells them: its originals have each column's dtype and shape, and whether a record may lack it.

A dense or variable-length feature reads one key; a sparse one reads its values and its coordinates,
a ragged one with several levels its values and how they are divided. A column that does not fit
raises an error with its key and record. No wire format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteStrings, Int64Array, ranges, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.arrow import is_text
from tfrecord_lite.convert.lists import (
    Lists,
    MaskedBytes,
    MaskedRows,
    TextColumn,
    as_floats,
    empty_lists,
    masked_rows,
    missing_row_error,
    with_counts,
    with_present,
    with_values,
)
from tfrecord_lite.convert.normalize import flattened, normalize, present_records
from tfrecord_lite.convert.restore import (
    SMALL_FLOATS,
    numbers_of,
    original_dtype,
    outside,
    too_long,
)
from tfrecord_lite.convert.types import (
    WHOLE,
    at_records,
    column_error,
    has_any,
    inexact_integers,
    not_utf8,
    record_of,
    ticks,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason, plural
from tfrecord_lite.schema import (
    FeatureLike,
    Kind,
    Original,
    RaggedFeature,
    RawFeature,
    Schema,
    is_raw,
)
from tfrecord_lite.schema.prepare import Dense, Padded, Prepared, Ragged, Sparse, prepare
from tfrecord_lite.schema.text import nearest

Conformed: TypeAlias = "list[tuple[str, Lists]]"
"""The keys that a feature reads, and what they are to hold."""


def conform(columns: Mapping[str, Any], schema: Mapping[str, FeatureLike]) -> dict[str, Lists]:
    """Turn columns into value lists, one per key that the schema's features read."""
    for name in columns:
        if name not in schema:
            detail = f"this column is not in the schema{nearest(name, schema)}"
            raise column_error(str(name), detail)
    raw = {name: spec for name, spec in schema.items() if isinstance(spec, RawFeature)}
    originals = (schema if isinstance(schema, Schema) else Schema(raw)).originals
    found: dict[str, Lists] = {}
    for name, feature in prepare(schema).items():
        column = columns.get(name)
        if column is None:
            if isinstance(feature, Dense) and feature.default is None and feature.size:
                raise column_error(name, "required, but without a column", None, Reason.MISSING)
            continue
        original = originals.get(name)
        if original is not None and not isinstance(column, MaskedRows):
            column = _in_form(name, column, feature, original)
        conformed: Conformed
        match feature:
            case Dense():
                conformed = [(name, _dense(name, column, feature, original))]
            case Sparse():
                conformed = _sparse(name, column, feature, original)
            case Ragged():
                conformed = _ragged(name, column, feature, original)
            case _:
                out = _lists(name, column, feature.kind, original)
                size = feature.size if isinstance(feature, Padded) else 1
                detail = f"the number of values is not a multiple of {size}, as the shape requires"
                _require(name, out.lengths % size != 0, Reason.WRONG_COUNT, detail)
                conformed = [(name, out)]
        for key, lists in conformed:
            if key in found:
                raise column_error(key, f"two features write this key; one of them is {name!r}")
            found[key] = lists
    return found


def _lists(name: str, column: Any, kind: Kind, original: Original | None) -> Lists:
    """Return a column as lists of a kind."""
    if isinstance(column, MaskedRows):
        return with_present(_lists(name, column.values, kind, original), ~column.mask)
    is_signed = False
    if original is not None and is_raw(original, kind):
        column = _to_raw(name, normalize(name, column, "strict"), original)
    elif original is not None and kind is Kind.INT64 and original.dtype.startswith(_COUNTED):
        column = normalize(name, column, "strict")
        dtype = getattr(column, "flat_values", getattr(column, "values", column)).dtype
        is_signed = original.dtype == "uint64" and dtype.kind == "i"
        if dtype.kind in "Mm" and original.dtype not in ("uint64", dtype.name):
            detail = f"the column is {dtype.name}, but the schema stores {original.dtype}; "
            detail += f"convert it with astype({original.dtype!r})"
            raise column_error(name, detail, None, Reason.WRONG_KIND)
        if dtype.kind in "uMm":
            column = with_values(column, _as_int64)
    out = normalize(name, column)
    if out.kind is Kind.INT64 and kind is Kind.FLOAT:
        out = as_floats(name, out)
    if out.kind is kind:
        if original is not None and not is_raw(original, kind):
            _check_original(name, out, original, is_signed=is_signed)
        if original is not None and original.categories is not None:
            _check_categories(name, out, original)
        return out
    if out.kind is not None and out.lengths.any():
        detail = f"the column holds {out.kind.label}, but the schema says {kind.label}"
        raise column_error(name, detail, None, Reason.WRONG_KIND)
    return with_present(empty_lists(out.n, kind), out.present)


def _check_original(name: str, out: Lists, original: Original, *, is_signed: bool) -> None:
    """Reject values that the original dtype does not have, so that all come back as they were."""
    wrong: BoolArray | None
    if is_signed:  # in two's complement a negative number would come back as a large one
        wrong = out.flat < 0 if out.flat.min(initial=0) < 0 else None
        what = original.dtype
    elif out.kind is not Kind.BYTES:
        wrong = outside(out.flat, original_dtype(original.dtype))
        what = original.dtype
    else:
        wrong = too_long(out.flat, original.text)
        what = str(original.text)
        if wrong is None:
            wrong = _ends_in_nul(out.flat, original.text)
            what += " (it drops NULs at the end)"
    if wrong is None:
        return
    number = int(wrong.argmax())
    index = record_of(out.splits(), number)
    detail = f"a value that does not fit into {what}, the original dtype in the schema; "
    detail += "make the schema with schema_of, from columns that have all values"
    if out.kind is Kind.FLOAT and original.dtype in SMALL_FLOATS:
        detail += f", or round the column by astype({original.dtype!r})"
    raise column_error(name, detail, index, Reason.UNREPRESENTABLE)


def _check_categories(name: str, out: Lists, original: Original) -> None:
    """Reject values that are not among the categories, of which a data frame could not be made."""
    places = out.splits()  # of the records among the values
    values: Any
    if out.kind is Kind.BYTES:
        strings = out.flat.to_ranges()
        values = BytesColumn(row_splits(strings.lengths), strings.joined())
        if original.dtype != "string":
            dtype = original_dtype(original.dtype)
            values = numbers_of(values.data, dtype)
            places = row_splits(strings.lengths // dtype.itemsize)[places]
    else:
        values = out.flat.astype(original.dtype)
    listed: Any = original.categories
    known = {value.encode() if isinstance(value, str) else value for value in listed}
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if known.issuperset(items):
        return
    wrong = np.array([item not in known for item in items], np.bool_)
    if out.present is not None:
        wrong &= np.repeat(out.present, np.diff(places))
    if wrong.any():
        number = int(wrong.argmax())
        shown = items[number].decode() if original.text is not None else items[number]
        detail = f"{shown!r} is not one of the categories in the schema; "
        detail += "make the schema from a column that has all of them"
        raise column_error(name, detail, record_of(places, number), Reason.UNREPRESENTABLE)


def _require(name: str, wrong: AnyArray, reason: Reason, detail: str) -> None:
    """Raise the error about the first record that is wrong."""
    if wrong.any():
        raise column_error(name, detail, int(wrong.argmax()), reason)


def _dense(name: str, column: Any, feature: Dense, original: Original | None) -> Lists:
    is_array = isinstance(column, np.ndarray) and column.dtype.kind != "O"
    if is_array and not is_raw(original, feature.kind):
        known = [feature.shape, (feature.size,)] + ([original.shape] if original else [])
        if column.shape[1:] not in known and math.prod(column.shape[1:]) == feature.size:
            detail = f"records of shape {column.shape[1:]}, but the schema says {feature.shape}"
            raise column_error(name, detail, None, Reason.WRONG_COUNT)
    out = _lists(name, column, feature.kind, original)
    present: Any = np.True_ if out.present is None else out.present
    if feature.default is None and feature.size:
        detail = f"required feature {name!r} is missing and has no default; "
        detail += "give every record a value, or the schema a default_value"
        _require(name, ~present, Reason.MISSING, detail)
    counts = out.lengths
    wrong = (counts != feature.size) & present
    if wrong.any():
        found = plural(int(counts[wrong.argmax()]), "value")
        detail = f"{found}, but the shape {feature.shape} holds {feature.size:,}"
        _require(name, wrong, Reason.WRONG_COUNT, detail)
    if feature.raw is not None:
        detail = (
            f"an array of another shape than {feature.raw.dtype_name} {list(feature.raw.shape)}"
        )
        wrong = (out.flat.lengths != feature.raw.n_bytes) & present
        _require(name, wrong, Reason.WRONG_COUNT, detail)
    if out.n and not isinstance(out.levels[0], int) and out.present is None:
        out = with_counts(out, feature.size)  # all alike: which is stored faster
    return out


def _sparse(name: str, column: Any, feature: Sparse, original: Original | None) -> Conformed:
    """Write values and coordinates, in the order of records."""
    if not isinstance(column, SparseTensor):
        detail = f"a SparseFeature is written from a SparseTensor, not {type(column).__name__}"
        raise column_error(name, detail, None, Reason.WRONG_KIND)
    if column.shape[1:] != feature.sizes:
        detail = f"rows of the dense shape {column.shape[1:]}, but the schema says {feature.sizes}"
        raise column_error(name, detail, None, Reason.WRONG_COUNT)
    n_records = column.shape[0]
    outside = ((column.indices < 0) | (column.indices >= column.dense_shape)).any(axis=1)
    if outside.any():
        number = int(outside.argmax())
        index = int(column.indices[number, 0])
        detail = f"the index of value {number} is outside of dense_shape"
        raise column_error(name, detail, index, Reason.BAD_INDEX)
    order = np.argsort(column.indices[:, 0], kind="stable")
    indices = column.indices[order]
    splits = row_splits(np.bincount(indices[:, 0], minlength=n_records).astype(np.int64))
    values: Any = column.values
    if is_raw(original, feature.kind) and original is not None:
        values = _to_raw(name, np.asarray(values), original)
        original = None
    rows = RaggedTensor(values.take(order), splits)
    found = [(feature.value_key, _lists(name, rows, feature.kind, original))]
    for i, key in enumerate(feature.index_keys):
        places = RaggedTensor(indices[:, i + 1], splits)
        found.append((key, normalize(key, places)))
    return found


def _ragged(name: str, column: Any, feature: Ragged, original: Original | None) -> Conformed:
    """Write values, and for each level how they are divided."""
    out = _lists(name, column, feature.kind, original)
    if not feature.partitions:
        return [(feature.key, out)]
    if isinstance(column, MaskedRows):
        rows = _ragged(name, column.values, feature, original)
        return [(key, with_present(lists, ~column.mask)) for key, lists in rows]
    column = normalize(name, column, "strict")
    raw = is_raw(original, feature.kind)
    levels = [np.asarray(s, np.int64) for s in getattr(column, "nested_row_splits", ())]
    levels = levels[:-1] if raw else levels
    if len(levels) != 1 + len(feature.partitions):
        found_levels = plural(len(levels), "ragged level")
        detail = f"{found_levels}, but the schema has {1 + len(feature.partitions)}"
        raise column_error(name, detail, None, Reason.BAD_PARTITION)
    if not raw and not isinstance(column.flat_values, BytesColumn):
        levels[-1] = levels[-1] * math.prod(column.flat_values.shape[1:])
    found = [(feature.key, out)]
    bounds = levels[0]  # of each record, in rows of the level
    for splits, partition in zip(levels[1:], feature.partitions, strict=True):
        if isinstance(partition, RaggedFeature.UniformRowLength):
            wrong = np.flatnonzero(np.diff(splits) != partition.length)
            if wrong.size:
                index = record_of(bounds, int(wrong[0]))
                detail = f"a row that does not have {plural(partition.length, 'value')}"
                raise column_error(name, detail, index, Reason.WRONG_COUNT)
        else:
            numbers, counts = _divided(partition, splits, bounds)
            found.append((partition.key, normalize(partition.key, RaggedTensor(numbers, counts))))
        bounds = splits[bounds]
    return found


# ---------------------------------------------------------------------------------- storing

_COUNTED = "uint64", "datetime64", "timedelta64"
"""The dtypes that int64 stores as other numbers."""


def _as_int64(values: Any) -> Int64Array:
    return ticks(values) if values.dtype.kind in "Mm" else values.astype(np.uint64).view(np.int64)


def _to_raw(key: str, column: Any, original: Original) -> Any:
    """Return a column of byte strings: the little-endian values of each innermost row."""
    if isinstance(column, RaggedTensor):
        with at_records(column.row_splits):
            strings = _to_raw(key, column.values, original)
        if isinstance(column.values, RaggedTensor):
            return RaggedTensor(strings, column.row_splits, column.uniform_row_length)
        return BytesColumn(strings.offsets[column.row_splits], strings.data)
    dtype = original_dtype(original.dtype).newbyteorder("<")
    values = _as_dtype(key, np.ma.getdata(column), dtype)
    n_bytes = dtype.itemsize * math.prod(values.shape[1:])
    offsets = np.arange(len(values) + 1, dtype=np.int64) * n_bytes
    strings = BytesColumn(offsets, values.reshape(-1).view(np.uint8))
    if not isinstance(column, np.ma.MaskedArray):
        return strings
    present = present_records(key, column)
    missing = np.zeros(len(column), np.bool_) if present is None else ~present
    return np.ma.MaskedArray(strings.to_numpy(), missing)


def _as_dtype(key: str, values: Any, dtype: np.dtype[Any]) -> AnyArray:
    """Return values as a dtype that holds all of them exactly."""
    are_integers = values.dtype.kind in "iu"
    if not (are_integers and dtype.kind in "iu") and not np.can_cast(values.dtype, dtype, "safe"):
        detail = f"the column is {values.dtype.name}, but the schema stores {dtype.name}"
        raise column_error(key, detail, None, Reason.WRONG_KIND)
    made: AnyArray = np.ascontiguousarray(values.astype(dtype, copy=False))
    if are_integers and values.dtype != dtype:  # safe for NumPy, if not exact
        wrong = made != values if dtype.kind in "iu" else inexact_integers(values, made.real)
        if wrong.any():
            detail = f"the integer {values[wrong].flat[0]} is not exact in {dtype.name}, which the schema stores"
            raise column_error(key, detail, int(np.argwhere(wrong)[0][0]), Reason.UNREPRESENTABLE)
    return made


def _ends_in_nul(strings: ByteStrings, text: str | None) -> BoolArray | None:
    """Find the strings whose last bytes NumPy would drop; None if there are none."""
    if text is None or text[0] not in "SU":
        return None
    strings = strings.to_ranges()
    filled = np.flatnonzero(strings.lengths)
    wrong = np.zeros(strings.lengths.size, np.bool_)
    wrong[filled] = strings.data[(strings.starts + strings.lengths)[filled] - 1] == 0
    return wrong if wrong.any() else None


# ------------------------------------------------------------------- the form of an original


def _in_form(name: str, values: Any, feature: Prepared, original: Original) -> Any:
    """Return a column in the form that its original has; one of another feature as it is."""
    shape, is_known = original.shape, isinstance(feature, Dense | Ragged)
    if shape is None or not is_known or isinstance(values, SparseTensor):
        return values
    if shape == () and original.dtype == "string":
        if is_text(original):
            _check_utf8(name, values, is_flat=True)
        return values
    if _has_form(values, shape):
        return values
    missing, kept = _missing_and_kept(name, values)
    if missing.any() and None in shape:  # where lengths vary, an empty row
        kept, missing = [[] if value is None else value for value in values], missing[:0]
    if missing.any() and 0 in shape:  # nothing would tell it from an empty row
        raise missing_row_error(name, missing)
    stored = original.dtype if is_raw(original, feature.kind) else feature.kind.label
    try:
        made = _typed(name, normalize(name, kept, "strict"), original)
        if stored in ("float32", "complex64"):
            flat = getattr(made, "flat_values", made)
            exact = np.float64(2**24)  # of NumPy: float16 does not hold it
            if flat.dtype.kind in "iuf" and np.any((flat > exact) | (flat < -exact)):
                normalize(name, kept)  # which rejects integers that float32 does not hold
            if flat.dtype.kind == "c" and isinstance(kept, list):
                _check_whole(name, kept)
            if isinstance(kept, list) and not has_any(kept, np.ndarray | np.generic):
                made = with_values(made, lambda flat: _rounded(name, flat))
        made = _shaped(name, made, shape)
    except InvalidArgumentError as error:
        if error.index is None or not missing.any():
            raise
        raise error.at(index=int(np.flatnonzero(~missing)[error.index])) from None
    if not missing.any():
        return made
    if isinstance(values, MaskedBytes) and isinstance(made, BytesColumn):
        return values
    fill = "" if original.text == "str" else b""
    return masked_rows(made.to_numpy() if isinstance(made, BytesColumn) else made, missing, fill)


def _has_form(values: Any, shape: tuple[int | None, ...]) -> bool:
    """Return whether these are numbers with dimensions of this shape after the first, as most columns."""
    if type(values) is RaggedTensor:
        return shape[:1] == (None,) and _has_form(values.values, shape[1:])
    is_array = type(values) in (np.ndarray, np.ma.MaskedArray) and values.dtype.kind in "biufcmM"
    return is_array and values.ndim > 0 and values.shape[1:] == shape and 0 not in shape


def _missing_and_kept(name: str, values: Any) -> tuple[BoolArray, Any]:
    """Return which records are missing, and the values of the others."""
    if isinstance(values, MaskedBytes):
        return values.mask, values.values.take(np.flatnonzero(~values.mask))
    if isinstance(values, np.ma.MaskedArray) and (values.dtype.kind != "O" or values.ndim > 1):
        present = present_records(name, values)
        data = np.asarray(values.data)
        return (np.zeros(0, np.bool_), data) if present is None else (~present, data[present])
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    is_object = isinstance(values, np.ndarray) and values.dtype.kind == "O" and values.ndim == 1
    if not is_object and not isinstance(values, list | tuple):
        return np.zeros(0, np.bool_), values
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return missing, [value for value in values if value is not None]


def _typed(name: str, made: Any, original: Original) -> Any:
    """Give a column without values the dtype of its original; check the type of strings."""
    flat = getattr(made, "flat_values", made)
    is_object = isinstance(flat, np.ndarray) and flat.dtype.kind == "O"
    if is_object and not flat.size:
        dtype = original_dtype(original.dtype)
        return with_values(made, lambda values: np.zeros(values.shape, dtype))
    if is_text(original):
        flat = flat.ravel() if isinstance(flat, np.ndarray) else flat
        _check_utf8(name, flat, is_flat=False)
    return made


def _check_utf8(name: str, values: Any, *, is_flat: bool) -> None:
    """Reject byte strings that are no text; flat ones are those of one record each."""
    if isinstance(values, TextColumn | MaskedBytes) or not has_any(values, bytes):
        return
    if (number := not_utf8(values)) is not None:
        detail = "a byte string that is not UTF-8, but the schema says that these are text"
        index = number if is_flat else None
        raise column_error(name, detail, index, Reason.UNREPRESENTABLE)


def _check_whole(name: str, kept: list[Any]) -> None:
    """Reject an integer among complex numbers that float32 does not hold."""
    for i, row in enumerate(kept):
        for value in flattened(name, [row]):
            if isinstance(value, WHOLE) and float(np.float32(value)) != int(value):
                detail = "this integer is not exact in float32, which the schema stores"
                raise column_error(name, detail, i, Reason.UNREPRESENTABLE)


def _rounded(name: str, flat: Any) -> Any:
    """Return Python's floats as the schema stores them; other values as they are."""
    dtype: Any = {"float64": np.float32, "complex128": np.complex64}.get(str(flat.dtype))
    if dtype is None:
        return flat
    try:
        with np.errstate(over="raise", under="ignore", invalid="ignore"):
            return flat.astype(dtype)
    except FloatingPointError:
        detail = f"a number that is too large for {np.dtype(dtype)}, which the schema stores"
        raise column_error(name, detail, None, Reason.UNREPRESENTABLE) from None


def _shaped(name: str, values: Any, shape: tuple[int | None, ...]) -> Any:
    """Return values with dimensions of this shape after the first; those of None are ragged."""
    n_dims = 2 if isinstance(values, RaggedTensor) else getattr(values, "ndim", 1)
    if not shape or (n_dims < 2 and len(values)):
        if bool(shape) or n_dims > 1:
            detail = f"records of another shape than {list(shape)}, which the schema has"
            raise column_error(name, detail, None, Reason.WRONG_COUNT)
        return values
    if isinstance(values, RaggedTensor):
        splits, below = values.row_splits, values.values
    elif n_dims < 2:
        splits, below = np.zeros(1, np.int64), values
    else:
        n_rows, width = values.shape[:2]
        splits = np.arange(n_rows + 1, dtype=np.int64) * width
        below = values.reshape(n_rows * width, *values.shape[2:])
    with at_records(splits):
        below = _shaped(name, below, shape[1:])
    if shape[0] is None:
        return RaggedTensor(below, splits)
    wrong = np.flatnonzero(np.diff(splits) != shape[0])
    if wrong.size:
        found = int(np.diff(splits)[wrong[0]])
        detail = f"{plural(found, 'value')} in a dimension of {shape[0]}, which the schema has"
        raise column_error(name, detail, int(wrong[0]), Reason.WRONG_COUNT)
    below = below.to_numpy() if isinstance(below, BytesColumn) else below
    return below.reshape(len(splits) - 1, shape[0], *below.shape[1:])


def _divided(
    partition: Any, splits: Int64Array, bounds: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return the numbers to store, which count from the record's start, and their splits by record.

    Given the splits of all rows of a batch, and the bounds of each record among the rows.
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
            rows = ranges(bounds[:-1], counts + 1)
            return splits[rows] - np.repeat(starts, counts + 1), row_splits(counts + 1)
        case _:
            numbers = np.arange(splits.size - 1) - np.repeat(bounds[:-1], counts)
            return np.repeat(numbers, np.diff(splits)), splits[bounds]
