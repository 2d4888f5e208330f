"""normalize: the entry for columns of Python, NumPy and this package; they become Lists.

There are two policies for Python's values::

                          lenient                        strict
    who asks              encode_example(s), write_...   schema_of, save, columns with a schema
    gives                 lists as they are stored       every level, and values of any dtype
    [True, 2]             int64 1, 2                     error: no array equals it
    [0.1, 2]              float32, 0.1 rounded           float64
    float64 arrays        float32, rounded               float64
    [0.1, 2**53 + 1]      error: not exact in float32    error: nor in float64
    ["a", b"b"]           two byte strings               error
    [[1, [2]], [3]]       flattened: 1 2, 3              error
    [[[1], [2]], []]      flattened: 1 2, nothing        two levels
    [None, 7]             missing, 7                     missing, 7

Lenient accepts what protobuf does; strict accepts what would come back as it is. Columns with a dtype keep it under
strict. :mod:`.types` says what becomes of the values themselves.

In rows of arrays, those without values have no part in the dtype, and several dtypes are widened step by step, as
batches are, so that it does not matter where a batch ends.

Faster ways for some values (:mod:`tfrecord_lite.example.encode.one` and ``rows``, and the
steps of sequences) must agree with this one, which ``tests/convert/test_fast_paths.py`` checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array, first_true, row_splits
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.ragged import check_splits
from tfrecord_lite.convert import types
from tfrecord_lite.convert.arrow import is_frame, is_series, open_series
from tfrecord_lite.convert.lists import Lists, SparseLists, cleared, missing_row_error, scattered
from tfrecord_lite.convert.types import column_error, type_of_dtype
from tfrecord_lite.errors import InvalidArgumentError, Reason, errors_at
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.kinds import array_of, is_float
from tfrecord_lite.schema.types import WIRE, IncompatibleError, Type

Maker: TypeAlias = "Callable[[str, list[Any], set[type]], Lists]"
"""Makes lists of Python's objects, one per record and none missing, given their types."""
Leaf: TypeAlias = "Callable[[list[Any], set[type]], tuple[Type, Any]]"
"""Converts objects that are not sequences to their type and flat values."""

Rounded: TypeAlias = "dict[str, None] | None"
"""The columns in which a number is another one as float32, to be added to."""

_SEQUENCES = (list, tuple, np.ndarray)
_MAX_LEVELS = 64
"""Levels of nested lists; NumPy has no more dimensions either."""
_NO_RECORDS = "a column needs a leading dimension, with one row per record; a single record is a row, [record]"
_MIXED = "single values and lists are mixed"


@overload
def opened(key: str, column: object, *, rounded: Rounded = None) -> Lists: ...
@overload
def opened(key: str, column: list[Any], policy: Literal["strict"]) -> Lists: ...
@overload
def opened(
    key: str, column: object, policy: Literal["strict"], expected: Type | None = None
) -> Lists | SparseLists: ...


def opened(
    key: str,
    column: object,
    policy: Literal["lenient", "strict"] = "lenient",
    expected: Type | None = None,
    rounded: Rounded = None,
) -> Lists | SparseLists:
    """Return a column as the lists to write; strict: with all levels, and values as they are.

    Views where possible. `expected` is the type that a schema has: Python's floats are rounded to it, integers
    among them exactly, and a record may lack a row of any length. Lenient lists add their key to `rounded`.
    """
    source = column
    if not isinstance(column, _COLUMNS):
        column = open_series(key, column) if is_series(column) else array_of(column, key)
    try:
        lists: Lists | SparseLists
        if isinstance(column, Lists | SparseLists):
            lists = column
        elif isinstance(column, SparseTensor):
            lists = _of_sparse(key, column)
        elif type(column) is np.ndarray and column.dtype.kind != "O":
            lists = _of_array(key, column)
        elif policy == "lenient":
            lists = _lists(key, column, _flattened_rows)
        else:
            lists = _lists(key, column, partial(_rows, leaf=_leaf(expected)))
        if policy == "lenient":
            rows = rows_of_sparse(key, lists) if isinstance(lists, SparseLists) else lists
            return as_stored(key, rows, rounded)
    except InvalidArgumentError as error:
        detail = error.detail
        if column is not source and is_frame(source):
            detail = f"{detail}; the columns of a data frame go beside the others, as in "
            detail += "{**df, 'image': images}, or **df.to_dict() of Polars"
        raise error.at(key=key, detail=detail) from None
    if expected is not None or isinstance(lists, SparseLists) or lists.present is None:
        return lists
    if lists.type.rank:
        raise missing_row_error(key, ~lists.present)
    return lists


def _leaf(expected: Type | None) -> Leaf:
    if expected is None:
        return types.values_of_objects
    if expected.kind is Kind.FLOAT or expected.dtype in ("float32", "string"):
        return _stored_values  # rounded once, and strings of several types
    return _rounded_complex if expected.dtype == "complex64" else types.values_of_objects


def _stored_values(items: list[Any], classes: set[type]) -> tuple[Type, Any]:
    kind, flat = types.values_for_list(items, classes)
    if kind is not Kind.BYTES:
        return _PLAIN[kind], flat
    text = "str" if all(issubclass(cls, str) for cls in classes) else None
    return type_of_dtype(_OBJECT, text=text), flat


_OBJECT = np.dtype(object)
_PLAIN = {kind: Type(kind, own.dtype, ()) for kind, own in WIRE.items()}


def _rounded_complex(items: list[Any], classes: set[type]) -> tuple[Type, Any]:
    """Round Python's complex numbers; integers among them must be exact."""
    flat: Any
    own, flat = types.values_of_objects(items, classes)
    if own.dtype not in ("float64", "complex128") or types.has_any(items, np.generic):
        return own, flat
    for number, item in enumerate(items):
        if isinstance(item, int) and float(np.float32(item)) != item:
            detail = f"this integer, {item}, is not exact in float32, which the schema stores"
            raise InvalidArgumentError(Reason.UNREPRESENTABLE, index=number, detail=detail)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = flat.astype(np.complex64)
    if (first := first_true(np.isinf(narrow) & ~np.isinf(flat))) is not None:
        detail = "a number that is too large for complex64, which the schema stores"
        raise InvalidArgumentError(Reason.UNREPRESENTABLE, index=first, detail=detail)
    return type_of_dtype(narrow.dtype), narrow


def _check_depth(key: str, values: Collection[Any], n_levels: int = _MAX_LEVELS) -> None:
    """Reject sequences nested without end, or too deeply to recurse into them."""
    inner: dict[int, Any] = {}  # each object once: lists may hold themselves twice
    for sequence in values if types.has_any(values, _SEQUENCES) else ():
        items: Any = sequence if isinstance(sequence, list | tuple) else ()
        if isinstance(sequence, np.ndarray) and sequence.dtype.kind == "O":
            items = np.asarray(sequence).ravel().tolist()
        if types.has_any(items, _SEQUENCES):
            inner |= {id(v): v for v in items if isinstance(v, _SEQUENCES)}
    if inner and n_levels == 1:
        raise column_error(key, f"values nested too deeply: more than {_MAX_LEVELS} levels")
    if inner:
        _check_depth(key, inner.values(), n_levels - 1)


# ----------------------------------------------------------------------------- columns to lists


def _lists(key: str, column: Any, make: Maker) -> Lists:
    match column:
        case list() | tuple():
            return _of_items(key, list(column), make)
        case RaggedTensor():
            return _of_ragged(key, column, make)
        case BytesColumn():
            return Lists(len(column), type_of_dtype(_OBJECT), (), types.ranges_of(column))
        case np.ma.MaskedArray() if column.dtype.kind == "O":
            items = np.array(column.data)
            items[np.ma.getmaskarray(column)] = None
            return _masked(_lists(key, items, make), None)
        case np.ma.MaskedArray() if column.dtype.names is None:
            return _masked(_of_array(key, np.asarray(column.data)), _present_records(key, column))
        case _ if column.dtype.kind == "O" and column.ndim and column.size:
            with errors_at(index=lambda number: number // math.prod(column.shape[1:])):
                lists = _of_items(key, column.ravel().tolist(), make)
            return lists if column.ndim == 1 else _in_shape(key, lists, column.shape)
        case _:
            return _of_array(key, np.asarray(column))


def _of_array(key: str, array: AnyArray) -> Lists:
    if array.ndim == 0:
        raise column_error(key, _NO_RECORDS)
    shape = array.shape[1:]
    own = type_of_dtype(array.dtype, shape)
    flat: Any = array.reshape(-1)
    if array.dtype.kind in "SUTO":
        with errors_at(index=lambda number: number // math.prod(shape), key=key):
            flat = types.flat_values(flat)
    return Lists(len(array), own, shape, flat)


def _masked(lists: Lists, present: BoolArray | None) -> Lists:
    """Return lists marked as records that may lack the feature, whether or not one of these does."""
    both = lists.present if present is None or present.all() else present
    return lists.with_(type=lists.type._replace(missing=True), present=both)


def _present_records(key: str, column: np.ma.MaskedArray[Any, Any]) -> BoolArray | None:
    """Return which records of a masked array have values, None for all; none may be so in part."""
    if column.ndim == 0 or not column.size or column.mask is np.ma.nomask:
        return None
    return _whole(key, ~np.ma.getmaskarray(column).reshape(len(column), -1))


_PARTLY = "some values of the record are masked; a feature is there, or missing, as a whole"


def _whole(key: str, is_there: BoolArray, detail: str = _PARTLY) -> BoolArray | None:
    """Return which rows have values, given which of these are not masked; None for all, none may be so in part."""
    present = np.asarray(is_there.all(axis=1))
    if (first := first_true(is_there.any(axis=1) != present)) is not None:
        raise column_error(key, detail, first, Reason.UNREPRESENTABLE)
    return None if present.all() else present


def _in_shape(key: str, lists: Lists, shape: tuple[int, ...]) -> Lists:
    own, present, outer = lists.type, lists.present, shape[1:]
    below = own.shape or ()
    if present is not None:
        present = _whole(key, present.reshape(shape[0], -1), types.MISSING_VALUE)
    varying = (None,) * len(outer) if None in below else outer
    whole = Type(own.kind, own.dtype, (*varying, *below), own.text, own.missing)
    return Lists(shape[0], whole, (*outer, *lists.levels), lists.flat, present)


def _of_ragged(key: str, column: RaggedTensor, make: Maker) -> Lists:
    splits = column.row_splits
    try:
        check_splits(splits, len(column.values))
    except InvalidArgumentError as error:
        raise column_error(key, error.detail or "", None, Reason.BAD_PARTITION) from None
    with types.at_records(splits):
        below = _required(key, _lists(key, column.values, make))
    return _raised(below, np.diff(splits).astype(np.int64, copy=False))


def _raised(below: Lists, lengths: Int64Array) -> Lists:
    own = below.type
    rows = Type(own.kind, own.dtype, (None, *(own.shape or ())), own.text)
    return Lists(lengths.size, rows, (lengths, *below.levels), below.flat)


def _native(key: str, items: list[Any]) -> list[Any]:
    """Return items, with tensors of other libraries as arrays."""
    classes = set(map(type, items))
    foreign = {cls for cls in classes if hasattr(cls, "__array__") and not issubclass(cls, _OWN)}
    if not foreign:
        return items
    return [array_of(x, key, i) if type(x) in foreign else x for i, x in enumerate(items)]


def _required(key: str, lists: Lists) -> Lists:
    """Return the values of rows; none may be missing, since a row has no way to say so."""
    if lists.present is not None:
        index = int(np.argmin(lists.present))
        raise column_error(key, types.MISSING_VALUE, index, Reason.UNREPRESENTABLE)
    return lists


def _of_items(key: str, items: list[Any], make: Maker) -> Lists:
    items = _native(key, items)
    classes = set(map(type, items))
    if any(issubclass(cls, np.ndarray) for cls in classes):  # those without dimensions are scalars
        own = types.unmasked(key, items)
        items = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in own]
        classes = set(map(type, items))
    if type(None) not in classes:
        return make(key, items, classes)
    present = np.fromiter((item is not None for item in items), np.bool_, len(items))
    classes.discard(type(None))
    with errors_at(index=lambda number: int(np.flatnonzero(present)[number])):
        lists = make(key, [item for item in items if item is not None], classes)
    if 0 in (lists.type.shape or ()):  # nothing would distinguish missing records from empty ones
        raise missing_row_error(key, ~present)
    return _masked(scattered(lists, present), present)


def _are_sequences(key: str, items: list[Any], classes: set[type]) -> bool:
    """Return whether objects are sequences; they may not be so in part."""
    are = [issubclass(cls, _SEQUENCES) for cls in classes]
    if any(are) and not all(are):
        number = next(i for i, item in enumerate(items) if not isinstance(item, _SEQUENCES))
        raise column_error(key, _MIXED, number, Reason.UNREPRESENTABLE)
    return any(are)


def _rows(
    key: str, items: list[Any], classes: set[type], leaf: Leaf, *, is_inner: bool = False
) -> Lists:
    if not _are_sequences(key, items, classes):
        own, flat = leaf(items, classes)
        return Lists(len(items), own, (), flat)
    if not is_inner:
        _check_depth(key, items)
    if all(issubclass(cls, np.ndarray) for cls in classes):
        return _of_arrays(key, items, leaf)
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    values = list(chain.from_iterable(items))
    with types.at_records(row_splits(lengths)):
        below = _required(key, _of_items(key, values, partial(_rows, leaf=leaf, is_inner=True)))
    return _raised(below, lengths)


def _of_arrays(key: str, arrays: Sequence[AnyArray], leaf: Leaf) -> Lists:
    """Return arrays, one per record; those without values have no part in the dtype."""
    filled = [array for array in arrays if array.size] or arrays[:1]
    inner = filled[0].shape[1:]
    if any(array.shape[1:] != inner for array in filled):
        detail = "arrays of shapes that differ in more than the first dimension cannot be one column; store each as a "
        detail += "byte string: pictures with encode_image of tfrecord_lite.apps.images, others with serialize_tensor, "
        detail += "or array.tobytes() with the shape in another feature"
        raise column_error(key, detail, None, Reason.UNREPRESENTABLE)
    counts = np.fromiter((array.size for array in arrays), np.int64, len(arrays))
    with types.at_records(row_splits(counts)):
        own, flat = _joined(key, filled, leaf)
    if not counts.any() and 0 in {array.shape[0] for array in arrays}:
        nothing = Type(None, own.dtype, (None,), own.text)
        return Lists(len(arrays), nothing, (np.zeros(len(arrays), np.int64),), flat)
    dim: int | None = filled[0].shape[0]
    lengths: Int64Array | int = filled[0].shape[0]
    if any(array.shape != filled[0].shape for array in arrays):
        lengths, dim = counts // max(math.prod(inner), 1), None
    whole = Type(own.kind, own.dtype, (dim, *inner), own.text)
    return Lists(len(arrays), whole, (lengths, *inner), flat)


def _joined(key: str, arrays: Sequence[AnyArray], leaf: Leaf) -> tuple[Type, Any]:
    dtypes = list(dict.fromkeys(array.dtype for array in arrays))
    ends = [array.reshape(-1) for array in arrays]
    if any(dtype.kind == "O" for dtype in dtypes):
        values = list(chain.from_iterable(ends))
        below = _required(key, _of_items(key, values, partial(_rows, leaf=leaf)))
        if below.levels:
            detail = "arrays of sequences among the rows; give lists"
            raise column_error(key, detail, 0, Reason.UNREPRESENTABLE)
        return below.type, below.flat
    if len(dtypes) > 1 and {dtype.kind for dtype in dtypes} not in ({"S"}, {"U"}):
        ends = _alike(ends, dtypes)
    flat = np.concatenate(ends)
    return type_of_dtype(flat.dtype), types.flat_values(flat)


def _alike(ends: list[AnyArray], dtypes: list[np.dtype[Any]]) -> list[AnyArray]:
    """Return arrays of several dtypes in the one that batches of each would be stored as."""
    own_types = [type_of_dtype(dtype) for dtype in dtypes]
    # Integers go into floats that hold them.
    integers = [own for own, dtype in zip(own_types, dtypes, strict=True) if dtype.kind in "iu"]
    floats = [own for own in own_types if own not in integers]
    if not all(is_float(own.dtype) or own.dtype.startswith("complex") for own in floats):
        floats = []
    try:
        both = reduce(Type.widened, floats or own_types)
    except IncompatibleError:
        names = ", ".join(sorted(own.text or own.dtype for own in own_types))
        detail = f"arrays of several dtypes, which no list holds together: {names}"
        raise InvalidArgumentError(Reason.UNREPRESENTABLE, detail=detail) from None
    dtype = next((d for d in dtypes if d.name == both.dtype), None) or np.dtype(both.dtype)
    start, alike = 0, []
    for array in ends:
        alike.append(types.exact(array, dtype, start=start))
        start += array.size
    return alike


def _of_sparse(key: str, column: SparseTensor) -> SparseLists:
    """Return values and places in the order of records, which may be out of order, or have gaps."""
    n_records = column.shape[0]
    outside = ((column.indices < 0) | (column.indices >= column.dense_shape)).any(axis=1)
    if (number := first_true(outside)) is not None:
        detail = f"the index of value {number} is outside of dense_shape"
        index = int(column.indices[number, 0])
        raise column_error(key, detail, index if 0 <= index < n_records else None, Reason.BAD_INDEX)
    order = np.argsort(column.indices[:, 0], kind="stable")
    indices = column.indices[order]
    counts = np.bincount(indices[:, 0], minlength=n_records).astype(np.int64)
    with types.at_records(row_splits(counts)):
        values, make = column.values.take(order), partial(_rows, leaf=types.values_of_objects)
        below = _required(key, _lists(key, values, make))
    flats = [np.ascontiguousarray(own, np.int64) for own in indices.T[1:]]
    coordinates = tuple(Lists(n_records, WIRE[Kind.INT64], (counts,), flat) for flat in flats)
    return SparseLists(_raised(below, counts), coordinates, column.shape[1:])


# ------------------------------------------------------------------- lenient: as they are stored


def as_stored(key: str, lists: Lists, rounded: Rounded = None) -> Lists:
    """Return lists of one level, with the values that their dtype has in an Example."""
    lists = cleared(lists)
    kind, flat = lists.kind, lists.flat
    if isinstance(flat, np.ndarray) and kind is not None:
        with errors_at(index=lists.record_of, key=key):
            kind, flat = types.flat_list(flat)
    if rounded is not None and kind is Kind.FLOAT and types.is_rounded(lists.flat, flat):
        rounded[key] = None
    return Lists(lists.n, WIRE[kind], (lists.counts(),), flat, lists.present)


def rows_of_sparse(key: str, sparse: SparseLists) -> Lists:
    """Return what a VarLenFeature gives: rows of values without gaps."""
    if len(sparse.coordinates) != 1:
        detail = "only a SparseTensor of rank 2 is one feature; give a schema with a SparseFeature"
        raise column_error(key, detail, None, Reason.UNSUPPORTED)
    splits, counts = sparse.values.splits(), sparse.values.lengths
    columns = sparse.coordinates[0].flat
    gaps = columns != np.arange(columns.size) - np.repeat(splits[:-1], counts)
    if (first := first_true(gaps)) is not None:
        detail = "the indices leave gaps or are out of order, which a list cannot hold; give a "
        detail += "schema with a SparseFeature, as schema_of(columns) does"
        raise column_error(key, detail, sparse.values.record_of(first), Reason.UNREPRESENTABLE)
    return sparse.values


def _flattened_rows(key: str, items: list[Any], classes: set[type]) -> Lists:
    """Return objects under the lenient policy: values, or sequences, flattened."""
    if not _are_sequences(key, items, classes):
        kind, flat = types.values_for_list(items, classes)
        return Lists(len(items), WIRE[kind], (), flat)
    dtypes = {item.dtype if isinstance(item, np.ndarray) else None for item in items}
    if len(dtypes) == 1 and None not in dtypes and _OBJECT not in dtypes:
        counts = np.fromiter((item.size for item in items), np.int64, len(items))
        flat = np.concatenate([item.reshape(-1) for item in items])
        if flat.size or flat.dtype != np.float64:  # np.array([]) has NumPy's default
            own = type_of_dtype(flat.dtype, (None,))
            return Lists(len(items), own, (counts,), types.flat_values(flat))
    lists = [flattened(key, item) for item in items]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = list(chain.from_iterable(lists))
    with types.at_records(row_splits(counts)):
        kind, flat = types.values_for_list(values, set(map(type, values)))
    return Lists(len(items), WIRE[kind], (counts,), flat)


def flattened(key: str, item: Any) -> list[Any]:
    """Return the values of nested sequences, end to end; items of arrays as NumPy's scalars."""
    values = _native(key, _values_of(item))
    if types.has_any(values, _SEQUENCES):
        _check_depth(key, values)
    while types.has_any(values, _SEQUENCES):
        parts = (_values_of(v) if isinstance(v, _SEQUENCES) else [v] for v in values)
        values = _native(key, list(chain.from_iterable(parts)))
    return values


def _values_of(item: Any) -> list[Any]:
    """Return the items of a sequence, with None for what is masked."""
    if isinstance(item, np.ma.MaskedArray) and item.dtype.names is None:
        masks = np.ma.getmaskarray(item).ravel().tolist()
        pairs = zip(np.asarray(item.data).ravel(), masks, strict=True)
        return [None if is_masked else value for value, is_masked in pairs]
    return list(np.asarray(item).ravel()) if isinstance(item, np.ndarray) else list(item)


_OWN = (np.ndarray, np.generic, RaggedTensor, SparseTensor, BytesColumn)
_COLUMNS = (np.ndarray, RaggedTensor, SparseTensor, BytesColumn, Lists, SparseLists, list, tuple)
