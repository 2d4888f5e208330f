r"""schema_of and restore: columns as lists that every reader has, and brought back as what they were.

An Example has three kinds of lists; a column has a dtype and a shape. :func:`schema_of`
says how each column is stored, and what it was, its *original*:

=======================  ======================================  =========================
column                   feature                                 comes back as
=======================  ======================================  =========================
array (n, \*shape)        FixedLenFeature                         array
masked array             RaggedFeature, nothing where masked     masked array
array stored raw         RawFeature                              array
RaggedTensor, lists      RaggedFeature; the lengths of inner     RaggedTensor
                         rows in ``name/row_lengths_1``, ...
SparseTensor             SparseFeature; ``name/values``,         SparseTensor
                         ``name/indices_0``, ...
BytesColumn, strings     FixedLenFeature                         object array of bytes,
                                                                 or the strings they were
=======================  ======================================  =========================

===============================  ====================================================
original dtype                   stored as
===============================  ====================================================
bool, integers up to 63 bits     int64 list; ml_dtypes' int4 and smaller too
uint8 of two dimensions or more  raw, from 16 values on: the bytes of each row as one string, as
in a record                      ``tf.io.decode_raw`` reads them
uint64                           int64 list, in two's complement
float16, float32                 float list; ml_dtypes' bfloat16, float8 and smaller too
datetime64, timedelta64          int64 list: counts of the unit, NaT too
float64                          float list, rounded; a finite value beyond float32 is an error
complex                          raw: the little-endian bytes of each innermost row
``S``, ``U``, StringDType, str   bytes list, UTF-8
===============================  ====================================================

With ``lossless=True`` float64 is stored raw, too, and so are all bools, int8 and uint8 of 16 values or more.

That depends on dtypes and shapes alone, never on values, so the schema of one batch fits the next. Only
the flat values change; the division into rows does not. No wire format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, ByteStrings, Int64Array, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import as_array
from tfrecord_lite.convert.arrow import (
    DataFrame,
    Frame,
    frame_of_types,
    is_stream,
    is_text,
    open_columns,
    with_traits,
)
from tfrecord_lite.convert.lists import (
    MaskedBytes,
    MaskedRows,
    TextColumn,
    masked_rows,
    missing_row_error,
    with_values,
)
from tfrecord_lite.convert.normalize import normalize, text_objects
from tfrecord_lite.convert.types import (
    at_records,
    column_error,
    extra_floats_back,
    kind_of_dtype,
    ranges_of,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason, plural
from tfrecord_lite.schema import (
    FeatureSpec,
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    RawFeature,
    Schema,
    SchemaItem,
    SparseFeature,
    is_raw,
)
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS, numpy_dtype

__all__ = ["restore", "schema_of"]

RAW = frozenset({"float64", "complex64", "complex128"})
"""The dtypes that no list holds exactly; complex numbers no list at all."""

_BYTE_SIZED = frozenset({"bool", "int8", "uint8"})
_RAW_VALUES = 16
"""From how many values on an array of these is stored as its bytes: as a list, it takes a hundred times as long."""

SMALL_FLOATS = frozenset({"float16", *EXTRA_FLOATS})
"""The floats that do not have every float32."""


def schema_of(columns: Mapping[str, Any] | DataFrame, *, lossless: bool = False) -> Schema:
    """Return the schema that stores columns, and from which they come back as what they were.

    Parameters
    ----------
    columns : mapping of str to column, or data frame
        As :func:`~tfrecord_lite.encode_examples` takes them. A stream of Arrow data is not read: its
        types decide, columns that may have nulls may be missing, and categories are not known.
    lossless : bool, default False
        True: keep every bit. float64 is stored raw, as its bytes, and so are bools, int8 and uint8 of 16 values or more. By default float64
        becomes a list of float32, rounded, which other programs read; encoding a finite value beyond float32 is then an
        error. Complex numbers are always stored raw, as no list holds them.

    Returns
    -------
    Schema
        With an Original for each feature; for ``encode_examples(columns, schema)``, then
        ``restore(parse_example(block, schema), schema)``.

    Raises
    ------
    InvalidArgumentError
        ``UNREPRESENTABLE`` for objects of several kinds and for missing records in a column
        whose rows vary in length; ``UNSUPPORTED`` for a dtype or shape that cannot be
        stored; with the column's name in `key`.
    TypeError
        If `columns` is not a dict.

    Notes
    -----
    Not kept: the byte order, the dtype and uniform length of a RaggedTensor's rows where
    they are stored raw, and that numbers were objects.

    Examples
    --------
    >>> schema_of({"x": np.zeros((2, 3)), "n": np.zeros(2, np.uint8)})
    Schema of 2 features
    name  specification    dtype    shape  original
    ----  ---------------  -------  -----  -----------
    x     FixedLenFeature  float32  [3]    float64 [3]
    n     FixedLenFeature  int64    []     uint8 []
    >>> schema_of({"x": np.zeros((2, 3))}, lossless=True)
    Schema of 1 feature
    name  specification  dtype    shape
    ----  -------------  -------  -----
    x     RawFeature     float64  [3]
    """
    frame = frame_of_types(columns) if is_stream(columns) else open_columns(columns)
    if not hasattr(frame.columns, "items"):
        found = type(columns).__name__
        raise TypeError(f"columns must be a dict, with one column per feature, not {found}")
    items = {}
    for name, column in frame.columns.items():
        item = item_of(name, normalize(name, column, "strict"), lossless=lossless)
        if frame.traits.get(name, {}).get("missing"):
            item = item._replace(spec=RaggedFeature(item.kind.dtype))
        items[name] = item
    return with_traits(Schema.of_items(items), frame.traits)


def item_of(
    name: str, column: Any, *, lossless: bool = False, raw_images: bool = True
) -> SchemaItem:
    """Return how a normalized column is stored, and what it was; images as lists if nothing is to tell their shape."""
    values: Any = column
    shape: tuple[int | None, ...] = ()
    match column:
        case np.ma.MaskedArray():
            is_plain = column.dtype.names is None  # the mask of records with parts has parts, too
            values, shape = column.compressed() if is_plain else column.data, column.shape[1:]
        case np.ndarray():
            shape = column.shape[1:]
        case MaskedBytes():
            values = column.values
        case RaggedTensor():
            values = column.flat_values
            inner = values.shape[1:]
            shape = (None,) * column.ragged_rank + inner
            if 0 in inner:
                detail = f"rows of values of shape {inner} hold nothing, so they cannot be counted"
                raise column_error(name, detail, None, Reason.UNSUPPORTED)
        case SparseTensor():
            values, shape = column.values, column.shape[1:]
            if not shape:
                detail = "a SparseTensor of rank 1 has no dimension besides that of records"
                raise column_error(name, detail, None, Reason.UNSUPPORTED)
        case BytesColumn():
            pass
        case _:
            detail = f"a {type(column).__name__} is not a column"
            raise column_error(name, detail, None, Reason.UNSUPPORTED)
    is_dense = not isinstance(column, SparseTensor)
    size = math.prod(dim for dim in shape if dim is not None) if is_dense else 1
    is_image = raw_images and values.dtype == np.uint8 and len(shape) > 1
    kind = _stored_as(name, values.dtype, size, lossless=lossless, is_image=is_image)
    missing = isinstance(column, np.ma.MaskedArray | MaskedBytes)
    original = _original(values, shape, missing=missing)
    if isinstance(column, SparseTensor):
        keys = tuple(f"{name}/indices_{i}" for i in range(len(shape)))
        return SchemaItem(SparseFeature(keys, f"{name}/values", kind.dtype, shape), original)
    splits_dtype = column.row_splits.dtype if isinstance(column, RaggedTensor) else np.int64
    return SchemaItem(specification_of(name, kind, original, splits_dtype), original)


def specification_of(
    name: str, kind: Kind, original: Original, splits_dtype: Any = np.int64
) -> FeatureSpec:
    """Return the specification that reads values of an original, stored as a kind."""
    raw = is_raw(original, kind)
    rank = ragged_rank(original)
    if original.missing:
        return RaggedFeature(kind.dtype)
    if raw and not rank:
        return RawFeature(original.shape, original_dtype(original.dtype))
    if raw and rank == 1:  # a row is one string; one without values may be left out
        return FixedLenFeature((), kind.dtype, b"")
    if not rank:
        return FixedLenFeature(original.shape, kind.dtype)
    levels = range(1, rank - raw)
    partitions = [RaggedFeature.RowLengths(f"{name}/row_lengths_{level}") for level in levels]
    return RaggedFeature(
        kind.dtype, partitions=partitions, row_splits_dtype=splits_dtype, validate=True
    )


def ragged_rank(original: Original) -> int:
    """Return how many dimensions of an original vary: the first ones."""
    shape = original.shape or ()
    return next((i for i, dim in enumerate(shape) if dim is not None), len(shape))


def _stored_as(
    name: str, dtype: np.dtype[Any], size: int, *, lossless: bool, is_image: bool
) -> Kind:
    """Return the list for rows of a dtype, of at least `size` values: that of bytes for numbers stored raw."""
    if dtype.name in RAW and (lossless or dtype.kind == "c"):
        return Kind.BYTES
    if dtype.name in _BYTE_SIZED and size >= _RAW_VALUES and (lossless or is_image):
        return Kind.BYTES
    kind = kind_of_dtype(dtype)
    if kind is None or (dtype.kind == "f" and dtype.itemsize > 8):
        wider = {"f": "float64", "c": "complex128"}.get(dtype.kind)
        hint = (
            f"convert it with astype({wider!r})" if wider else "give each part a column of its own"
        )
        detail = f"{dtype.name} has no form that every machine reads; {hint}"
        raise column_error(name, detail, None, Reason.UNSUPPORTED)
    return kind


def stored_alike(name: str, old: SchemaItem, new: SchemaItem) -> SchemaItem:
    """Return one-byte numbers as they are stored already, raw or as a list, which their size decided."""
    one, other = old.original, new.original
    if one is None or other is None or other.dtype not in _BYTE_SIZED:
        return new
    if old.kind is Kind.INT64 or (old.is_raw and one.dtype in _BYTE_SIZED):
        return SchemaItem(specification_of(name, old.kind, other), other)
    return new


def _original(values: Any, shape: tuple[int | None, ...], *, missing: bool) -> Original:
    """Return what flat values were."""
    dtype = values.dtype
    text = "str" if isinstance(values, TextColumn) else None
    if dtype.kind in "SU":
        text = f"{dtype.kind}{max(dtype.itemsize // (1 if dtype.kind == 'S' else 4), 1)}"
    elif dtype.kind == "T":
        text = "T"
    elif dtype.kind == "O" and isinstance(values, np.ndarray):
        text = "str" if any(isinstance(item, str) for item in values.flat) else None
    return Original("string" if text else dtype, shape, text, missing)


def original_dtype(name: str) -> np.dtype[Any]:
    """Return a dtype by the name an Original has for it; ImportError without ml_dtypes."""
    return np.dtype(object) if name == "string" else numpy_dtype(name)


# -------------------------------------------------------------------------------- restoring


def restore(columns: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Bring columns back to the dtypes and shapes they had before they were stored.

    Whatever this package parses with a Schema is restored. This is for columns that were parsed otherwise: by
    TensorFlow, to which a RawFeature is a byte string, or with ``schema.features``.

    Parameters
    ----------
    columns : mapping of str to column
        What ``parse_example(records, schema.features)`` returned, or some of it.
    schema : Schema
        Its originals say what to make of the columns; a feature without one stays as it is.

    Returns
    -------
    dict of str to column
        In the order given. Arrays own their memory, or are the ones given.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` for a record whose values do not make up the original's shape, with
        `key` and `index`; ``UNREPRESENTABLE`` for a value that the original's dtype does not
        have, or a string that is longer; ``BAD_ARGUMENT`` for a string that is not UTF-8,
        where the original is a text.
    ImportError
        For a dtype of ml_dtypes, if that is not installed.

    Examples
    --------
    >>> columns = {"x": np.array([0.1, 0.2]), "flag": np.array([True, False])}
    >>> schema = schema_of(columns)
    >>> parsed = parse_example(encode_examples(columns, schema), schema.features)
    >>> restore(parsed, schema)
    {'x': array([0.1, 0.2]), 'flag': array([ True, False])}
    """
    return restored(columns, schema.to_items(), with_objects=True)


def restored(
    columns: Mapping[str, Any], items: Mapping[str, SchemaItem], *, with_objects: bool
) -> dict[str, Any]:
    """Restore columns; without objects, strings stay as they were parsed, or MaskedBytes."""
    found = {}
    for name, parsed in columns.items():
        column, item = parsed, items[name]
        original, raw = item.original, item.is_raw
        is_array = isinstance(column, np.ndarray) and column.dtype != object
        # Of a RawFeature the parser has made an array; others parse strings.
        if original is None or (isinstance(item.spec, RawFeature) and is_array):
            found[name] = column
            continue
        if not with_objects and original.dtype == "string":  # as they are parsed
            original = replace(original, text=None, categories=None, ordered=False)
        is_masked = original.missing and isinstance(column, RaggedTensor)
        if is_masked and not with_objects:
            complete = _complete_rows(column, original, raw=raw)
            if complete is not None:
                column, is_masked = complete, False
            elif original.shape == () and original.dtype == "string":
                _check_counts(name, np.maximum(np.diff(column.row_splits), 1), 1, original)
                found[name] = MaskedBytes.of_rows(column)
                continue
        if is_masked:
            found[name] = _masked_back(name, column, original, raw=raw)
        elif isinstance(column, SparseTensor):
            found[name] = _sparse_back(name, column, original, raw=raw)
        elif isinstance(column, RaggedTensor) or (raw and not _is_whole(original)):
            rows = _unpacked(name, column, original) if raw else column
            found[name] = _ragged_back(name, rows, original)
        else:
            size = math.prod(original.shape or ()) if raw else 0
            values = _values_back(name, column, original, size, raw=raw)
            is_array = isinstance(values, np.ndarray) and _is_whole(original)
            found[name] = values.reshape(len(column), *original.shape) if is_array else values
    return found


def _is_whole(original: Original) -> bool:
    """Return whether all records have one shape."""
    return original.shape is not None and None not in original.shape


def _complete_rows(column: RaggedTensor, original: Original, *, raw: bool) -> Any:
    """Return the values, shape (n_records, n_values), or (n_records,) of one each; None if some are missing."""
    size = 1 if raw else math.prod(original.shape or ())
    values: Any = column.values
    splits = column.row_splits
    if not size or splits[-1] != size * (splits.size - 1) or (np.diff(splits) != size).any():
        return None
    if isinstance(values, BytesColumn) and original.shape and not raw:
        values = values.to_numpy()
    return values if size == 1 else values.reshape(-1, size)


def _unpacked(name: str, column: Any, original: Original, splits_dtype: Any = np.int64) -> Any:
    """Return raw strings as rows of their values, so with one level more."""
    if isinstance(column, RaggedTensor):
        splits = column.row_splits
        with at_records(splits):
            return RaggedTensor(_unpacked(name, column.values, original, splits.dtype), splits)
    values, counts = from_raw(name, column, original)
    return RaggedTensor(values, row_splits(counts).astype(splits_dtype, copy=False))


def _values_back(name: str, values: Any, original: Original, size: int, *, raw: bool) -> Any:
    """Return flat values as they were; raw strings hold `size` of them each."""
    if not raw:
        return _from_stored(name, values, original)
    rows = _unpacked(name, values, original)
    _check_counts(name, np.diff(rows.row_splits), size, original)
    return rows.values


def _check_counts(name: str, counts: Any, size: int, original: Original) -> None:
    wrong = np.flatnonzero(counts != size)
    if wrong.size:
        found = plural(int(counts[wrong[0]]), "value")
        detail = f"{found}, but the shape {original.shape} holds {size:,}"
        raise column_error(name, detail, int(wrong[0]), Reason.WRONG_COUNT)


def _rows(name: str, values: Any, counts: Any, inner: tuple[int, ...]) -> RaggedTensor:
    """Return values as rows of given counts, whose items have one shape."""
    size = int(np.prod(inner, dtype=np.int64))
    wrong = np.flatnonzero(counts % size)
    if wrong.size:
        found = plural(int(counts[wrong[0]]), "value")
        detail = f"{found} cannot be divided into rows of the shape {inner}"
        raise column_error(name, detail, int(wrong[0]), Reason.WRONG_COUNT)
    if inner:
        flat = as_array(values) if isinstance(values, BytesColumn) else values
        values, counts = flat.reshape(-1, *inner), counts // size
    return RaggedTensor.from_row_lengths(text_objects(values), counts)


def _ragged_back(name: str, column: RaggedTensor, original: Original) -> Any:
    with at_records(column.row_splits):
        if isinstance(column.values, RaggedTensor):
            return RaggedTensor(_ragged_back(name, column.values, original), column.row_splits)
        values = _from_stored(name, column.values, original)
    inner_shape = (original.shape or ())[ragged_rank(original) :]
    rows = _rows(name, values, np.diff(column.row_splits), inner_shape)
    return RaggedTensor(rows.values, rows.row_splits.astype(column.row_splits.dtype))


def _masked_back(name: str, column: RaggedTensor, original: Original, *, raw: bool) -> Any:
    """Return a masked array, with the records that are there and those that are not."""
    shape: Any = original.shape or ()
    size = math.prod(shape)
    present = np.diff(column.row_splits) > 0
    if raw:
        _check_counts(name, np.maximum(np.diff(column.row_splits), 1), 1, original)
        rows = _unpacked(name, column, original)
        column = RaggedTensor(rows.values.values, rows.values.row_splits[column.row_splits])
    with at_records(column.row_splits):
        values = _from_stored(name, column.values, original)
    values = values.to_numpy() if isinstance(values, BytesColumn) else values
    _check_counts(name, np.where(present, np.diff(column.row_splits), size), size, original)
    values = values.reshape(np.count_nonzero(present), *shape)
    return masked_rows(values, ~present, "" if original.text == "str" else b"")


def _sparse_back(name: str, column: SparseTensor, original: Original, *, raw: bool) -> Any:
    try:
        values = _values_back(name, column.values, original, 1, raw=raw)
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        raise error.at(index=int(column.indices[error.index, 0])) from None
    return SparseTensor(column.indices, values, column.dense_shape)


def _from_stored(key: str, values: Any, original: Original) -> Any:
    """Return flat values, ndarray or BytesColumn, as they were before they were stored."""
    if original.dtype == "string":
        return _texts(key, values, original.text)
    dtype = original_dtype(original.dtype)
    if dtype == values.dtype:
        return values
    wrong = outside(values, original)
    if wrong is not None:
        number = int(np.argwhere(wrong)[0][0])
        detail = (
            f"{values[wrong].flat[0]} is not a {dtype.name}, which the schema says it was; "
            "leave out restore, or give a schema with an Original of a wider dtype"
        )
        raise column_error(key, detail, number, Reason.UNREPRESENTABLE)
    if dtype.name in EXTRA_FLOATS:
        return extra_floats_back(values, dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(dtype)  # int64 to uint64 undoes two's complement


def outside(values: Any, original: Original) -> BoolArray | None:
    """Find the stored numbers, int64 or float32, that the original's dtype does not have.

    None if it has all.
    """
    dtype = original_dtype(original.dtype)
    is_whole = values.dtype.kind in "iu"
    wrong: BoolArray
    if dtype.name in SMALL_FLOATS:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            back = values.astype(dtype).astype(np.float32)
        wrong = (back != values) & ~(np.isnan(back) & np.isnan(values))
        return wrong if wrong.any() else None
    if dtype.name in EXTRA_INTEGERS:
        n_bits, is_signed = int(dtype.name[-1]), dtype.name[0] != "u"
        low, high = -(is_signed << (n_bits - 1)), (1 << (n_bits - is_signed)) - 1
    elif dtype.kind == "b":
        low, high = 0, 1
    elif dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    else:
        return None
    if is_whole and dtype.itemsize == 8:  # two's complement
        return None
    if is_whole and (not values.size or (values.min() >= low and values.max() <= high)):
        return None
    # Not `<= high`: a float32 has no number just below 2**63.
    wrong = ~((values >= low) & (values < high + 1) & (values == np.trunc(values)))
    return wrong if wrong.any() else None


def _texts(key: str, values: Any, text: str | None) -> Any:
    """Return strings as the type of strings they were."""
    if text is None:
        return values
    array = values.to_numpy() if isinstance(values, BytesColumn) else values
    column = BytesColumn.from_list(array.reshape(-1))
    if (wrong := too_long(ranges_of(column), text)) is not None:  # NumPy would cut them off
        detail = f"a string that is longer than {text}, which the schema says it was; "
        detail += "leave out restore, or give a schema with a wider Original"
        number = int(np.argwhere(wrong.reshape(array.shape))[0][0])
        raise column_error(key, detail, number, Reason.UNREPRESENTABLE)
    if text.startswith("S"):
        return array.astype(text)
    decoded = np.empty(array.size, object)
    decoded[:] = column.to_string_dtype().tolist()
    dtype = np.dtype(object if text == "str" else np.dtypes.StringDType() if text == "T" else text)
    return decoded.astype(dtype).reshape(array.shape)


def too_long(strings: ByteStrings, text: str | None) -> BoolArray | None:
    """Find the strings that are longer than their original; None if none is."""
    if text is None or text[0] not in "SU":
        return None
    width = int(text[1:])
    wrong: BoolArray = strings.lengths > width
    if text[0] == "U" and wrong.any():  # in bytes; now in code points
        strings = strings.to_ranges()
        is_first = (strings.data & 0xC0) != 0x80
        before = np.concatenate([[0], np.cumsum(is_first)])
        wrong = before[strings.starts + strings.lengths] - before[strings.starts] > width
    return wrong if wrong.any() else None


def from_raw(key: str, strings: Any, original: Original) -> tuple[AnyArray, Int64Array]:
    """Return the values of raw strings end to end, and the number of values in each."""
    column = strings if isinstance(strings, BytesColumn) else BytesColumn.from_list(strings)
    dtype = original_dtype(original.dtype)
    wrong = np.flatnonzero(column.lengths % dtype.itemsize)
    if wrong.size:
        detail = f"{column.lengths[wrong[0]]} bytes do not make up values of {dtype.name}"
        raise column_error(key, detail, int(wrong[0]), Reason.WRONG_COUNT)
    if dtype == np.bool:
        return column.data[column.offsets[0] : column.offsets[-1]] != 0, column.lengths
    # A copy: it is to be aligned, and writable.
    data = np.array(column.data[column.offsets[0] : column.offsets[-1]])
    # Viewed as the native dtype once more, which is the same one, but prints as float64.
    values = data.view(dtype.newbyteorder("<")).astype(dtype, copy=False).view(dtype)
    return values, column.lengths // dtype.itemsize


# ------------------------------------------------------- the schema that came along with Arrow data
# A table made from records has their schema in its metadata. It may have been changed since: a
# column that is gone, or of another type, is no longer what the schema says, and is stored by its
# own type.

_TIMES = ("datetime64[", "timedelta64[")
_UNITS = ("D", "s", "ms", "us", "ns")
"""Of times in Arrow, the coarsest first."""


def with_carried(frame: Frame, *, any_category: bool = False) -> tuple[Frame, Schema]:
    """Return a frame, and the features of the schema that came along with it which still fit.

    A feature that records must have, or have a default of, but some lack, is one that may be missing;
    times get the unit of their original. With `any_category`, values need not be among the categories:
    which features fit then depends on types alone, and is the same for all batches of a stream.
    """
    columns = dict(frame.columns)
    items: dict[str, SchemaItem] = {}
    for name, item in () if frame.carried is None else frame.carried.to_items().items():
        if name not in columns or isinstance(item.spec, SparseFeature):
            continue
        if any_category and item.original is not None:
            item = item._replace(original=replace(item.original, categories=None, ordered=False))  # noqa: PLW2901
        wanted = _expected(item)
        column = columns[name]
        rows = column.values if isinstance(column, MaskedRows) else column
        traits = {name: frame.traits.get(name, {})}
        own = with_traits(schema_of({name: rows}, lossless=True), traits)
        found = own.originals[name]
        if not _is_alike(found, wanted):
            continue
        if wanted.dtype.startswith(_TIMES):
            columns[name] = with_values(column, partial(_in_unit, name, dtype=wanted.dtype))
        if found.missing and isinstance(item.spec, FixedLenFeature | RawFeature):  # not its default
            item = SchemaItem(RaggedFeature(item.kind.dtype), replace(wanted, missing=True))  # noqa: PLW2901
        items[name] = item
    return frame._replace(columns=columns), Schema.of_items(items)


def check_rows(columns: Mapping[str, Any], schema: Schema) -> None:
    """Raise about null lists, which the carried features would not give back."""
    for name, item in schema.to_items().items():
        shape = None if item.original is None else item.original.shape
        column = columns[name]
        if isinstance(column, MaskedRows) and (shape is None or None in shape):
            raise missing_row_error(name, column.mask)


def is_narrowed(item: SchemaItem) -> bool:
    """Return whether float64 is stored as float32."""
    return (
        item.original is not None and item.original.dtype == "float64" and item.kind is Kind.FLOAT
    )


def _expected(item: SchemaItem) -> Original:
    """Return the original that a column has if it was made by a specification."""
    spec: Any = item.spec
    original = item.original or Original(item.kind.label)
    if original.shape is not None:
        return original
    if isinstance(spec, FixedLenFeature):
        return replace(original, shape=spec.shape)
    inner = [getattr(each, "length", None) for each in getattr(spec, "partitions", ())]
    return replace(original, shape=(None, *inner, *getattr(spec, "shape", ())))


def _is_alike(found: Original, wanted: Original) -> bool:
    """Return whether a column has the type that Arrow data have for an original."""
    if is_text(wanted) and not is_text(found):
        return False
    if wanted.text is not None and is_text(found) and not is_text(wanted):
        return False
    if wanted.categories is not None:
        ours, theirs = found.categories, wanted.categories
        if ours is None or found.ordered != wanted.ordered or not set(ours) <= set(theirs):
            return False
    if (found.shape, found.zone) != (wanted.shape, wanted.zone):
        return False
    if wanted.dtype.startswith(_TIMES):
        return _is_time_like(found.dtype, wanted.dtype)
    nearest = "float32" if wanted.dtype in EXTRA_FLOATS else wanted.dtype
    if wanted.dtype in EXTRA_INTEGERS:
        nearest = "uint8" if wanted.dtype.startswith("u") else "int8"
    return bool(found.dtype == nearest)


def _is_time_like(found: str, wanted: str) -> bool:
    """Return whether times are those of an original, in the unit that Arrow or Parquet has for it."""
    if found == wanted:
        return True
    if found.partition("[")[0] != wanted.partition("[")[0]:
        return False
    ours, (theirs, count) = np.datetime_data(np.dtype(found))[0], np.datetime_data(np.dtype(wanted))
    if theirs not in _UNITS or count > 1:  # hours, weeks, ...
        return ours in ("s", "ms")
    # Parquet has no seconds. A coarser unit, such as of dates, is exact in a finer one.
    return (ours, theirs) == ("ms", "s") or _UNITS.index(ours) < _UNITS.index(theirs)


def _in_unit(name: str, values: Any, dtype: str) -> Any:
    """Return times in another unit; raise about one that is not exact in it."""
    made = values.astype(dtype)
    wrong = (made.astype(values.dtype) != values) & ~np.isnat(values)
    if wrong.any():
        detail = f"a time that is not exact in {dtype}, which the schema has that came along; "
        raise column_error(name, detail + "give another schema", None, Reason.UNREPRESENTABLE)
    return made
