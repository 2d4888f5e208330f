"""restore: stored lists as what they were; result: lists of any type as what a user holds.

::

    Lists, as stored           Lists, as they were            result
    int64 0 1 1   ─ restore ─> bool no yes yes  ─ result ─>   array, masked array, RaggedTensor,
    strings of 8 bytes         float64                        BytesColumn, objects

The levels are divided already. Each string that is stored raw is one row more. Texts stay UTF-8, which is checked here,
until the result is made.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import FlatValues, as_array
from tfrecord_lite.convert import types
from tfrecord_lite.convert.lists import Lists, SparseLists, scattered
from tfrecord_lite.convert.types import column_error, not_utf8
from tfrecord_lite.errors import Reason, errors_at
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS, numpy_dtype
from tfrecord_lite.schema.types import Shape, Type
from tfrecord_lite.texts import plural

SMALL_FLOATS = frozenset({"float16", *EXTRA_FLOATS})
"""The floats that do not have every float32."""

_SHORT_BYTES = 256


@cache
def original_dtype(name: str) -> np.dtype[Any]:
    """Return a dtype by the name an Original has for it; ImportError without ml_dtypes."""
    return np.dtype(object) if name == "string" else numpy_dtype(name)


# ------------------------------------------------------------------------------------ restore


def restore(key: str, lists: Lists, kind: Type) -> Lists:
    """Return lists as they were before they were stored: with the dtype, levels and mask of a type.

    Without a shape in the type the levels stay. ``UNREPRESENTABLE`` for a value that the type does not have,
    ``WRONG_COUNT`` for values that do not make up its shape, ``BAD_ARGUMENT`` for a text that is not UTF-8.
    """
    shape, stored = kind.shape, lists.type.shape or ()
    is_dense = None not in stored
    if kind.is_raw:
        lists, stored = unpacked(key, lists, kind), (*stored, None)
    elif kind.dtype == "string":
        _check_strings(key, lists, kind.text)
    else:
        lists = lists.with_(flat=_from_stored(key, lists, kind))
    if shape == stored and is_dense:
        return Lists(lists.n, kind, lists.levels, lists.flat)
    if shape is not None and None not in shape:
        if is_dense:
            _check_counts(key, lists, kind)
            return lists.with_(type=kind, levels=shape)
        if kind.missing:
            return _with_fillers(key, lists, kind)
    if shape is None or None not in stored:
        return lists.with_(type=kind._replace(shape=stored))
    return _regrouped(key, lists, kind, stored)


def restore_values(key: str, lists: Lists, kind: Type) -> Lists:
    """Return lists with their values as they were, and levels as they are; a raw string is one value."""
    plain = kind._replace(shape=(), missing=False)
    values = Lists(len(lists.flat), lists.type._replace(shape=()), (), lists.flat)
    with errors_at(index=lists.record_of):
        values = restore(key, values, plain)
    return lists.with_(flat=values.flat, type=plain._replace(shape=lists.type.shape))


def _regrouped(key: str, lists: Lists, kind: Type, stored: Shape) -> Lists:
    """Divide the rows of the last dimension that varies anew: into values of the type's inner shape."""
    shape: Any = kind.shape
    rank = outer_rank(stored)
    own, inner = shape[rank - 1 :], shape[outer_rank(shape) :]
    if own.count(None) == 1:  # maybe not the first one
        place = own.index(None)
        lead, inner = own[:place], own[place + 1 :]
    else:
        lead = ()
    is_whole = kind.is_raw and 0 < shape.count(None) == rank - 1  # strings of one shape
    if is_whole:
        inner = own
    size = math.prod((*lead, *inner))
    *outer, last = lists.levels[:rank]
    counts: Any = last * math.prod(cast("tuple[int, ...]", lists.levels[rank:]))
    wrong = counts != size if is_whole else (counts % size if size else counts) != 0
    if (first := arrays.first_true(np.ravel(wrong))) is not None:
        actual = plural(int(np.ravel(counts)[first]), "value")
        rows = lists.with_(levels=tuple(outer))
        detail = f"{actual} cannot be divided into rows of the shape {(*lead, *inner)}"
        raise rows.error(key, detail, first, Reason.WRONG_COUNT)
    n_rows: Any = counts // size if size else counts
    if isinstance(n_rows, np.ndarray):  # not the same in all lists
        n_rows = np.repeat(n_rows, math.prod(lead))
    varying = () if is_whole else (n_rows,)
    dims = (*stored[: rank - 1], *lead, *[None for _ in varying], *inner)
    return lists.with_(type=kind._replace(shape=dims), levels=(*outer, *lead, *varying, *inner))


def outer_rank(shape: Sequence[int | None]) -> int:
    """Return how many dimensions there are up to the last that varies."""
    return max((i + 1 for i, dim in enumerate(shape) if dim is None), default=0)


def _check_counts(key: str, lists: Lists, kind: Type) -> None:
    """Raise about the first record whose values do not make up the type's shape, if it has any."""
    shape, size, counts = kind.shape, kind.size, lists.counts()
    if isinstance(counts, int) and counts == size:
        return
    wrong = np.broadcast_to(np.not_equal(counts, size), lists.n)
    if (first := arrays.first_true(wrong & lists.mask)) is not None:
        actual = plural(int(np.broadcast_to(counts, lists.n)[first]), "value")
        detail = f"{actual}, but the shape {shape} holds {size:,}"
        raise column_error(key, detail, first, Reason.WRONG_COUNT)


def _with_fillers(key: str, lists: Lists, kind: Type) -> Lists:
    """Return rows of one shape, or none where a record lacks the feature, with fillers in their place."""
    if kind.is_raw:
        strings = lists.with_(levels=lists.levels[:1], present=lists.lengths > 0)
        _check_counts(key, strings, kind._replace(shape=()))
    present = lists.lengths > 0
    lists = lists.with_(type=kind, present=None if present.all() else present)
    _check_counts(key, lists, kind)
    if lists.present is None:
        return lists.with_(levels=kind.shape)
    shape: Any = kind.shape
    return scattered(Lists(int(np.count_nonzero(present)), kind, shape, lists.flat), present)


def unpacked(key: str, lists: Lists, kind: Type) -> Lists:
    """Return raw strings as rows of their values, so with one level more."""
    strings, dtype = lists.flat, original_dtype(kind.dtype)
    if kind.compression is not None:
        strings = _inflated(key, lists, 0 if kind.rank else kind.size * dtype.itemsize + 1)
    lengths = strings.lengths
    if (first := arrays.first_true(lengths % dtype.itemsize != 0)) is not None:
        detail = f"{lengths[first]} bytes do not make up values of {dtype.name}"
        raise lists.error(key, detail, first, Reason.WRONG_COUNT)
    flat = numbers_of(strings.joined(), dtype)
    return lists.with_(levels=(*lists.levels, lengths // dtype.itemsize), flat=flat)


def _inflated(key: str, lists: Lists, limit: int) -> arrays.ByteItems:
    """Return what zlib compressed to strings; of each at most `limit` bytes, unless that is 0."""
    items = []
    for number, string in enumerate(objects_of(lists.flat)):
        stream, data = zlib.decompressobj(), b""
        with contextlib.suppress(zlib.error):
            data = stream.decompress(string, limit)
        if string and not stream.eof and len(data) != (limit or -1):
            detail = "a byte string that zlib cannot decompress, or that ends too early"
            raise lists.error(key, detail, number, Reason.COMPRESSED_CORRUPT)
        items.append(data)
    return arrays.ByteItems.of(items)


def numbers_of(data: arrays.Uint8Array, dtype: np.dtype[Any]) -> arrays.AnyArray:
    """Return little-endian bytes as numbers; a view if they may be written to."""
    if dtype == np.bool:
        return np.not_equal(data, 0)
    data = data if data.flags.writeable else data.copy()
    # Viewed as the native dtype once more, which is the same one, but prints as float64.
    same: arrays.AnyArray = data.view(dtype.newbyteorder("<")).astype(dtype, copy=False).view(dtype)
    return same


def _from_stored(key: str, lists: Lists, kind: Type) -> arrays.AnyArray:
    values: arrays.AnyArray = lists.flat
    dtype = original_dtype(kind.dtype)
    if dtype == values.dtype:
        return values
    if (wrong := outside(values, dtype)) is not None:
        number = int(wrong.argmax())
        detail = f"{values[number]} is not a {dtype.name}, which the schema says it was; leave out "
        detail += "restore, or give a schema with an Original of a wider dtype"
        raise lists.error(key, detail, number)
    if dtype.name in EXTRA_FLOATS and values.dtype.kind == "f":
        return types.extra_floats_back(values, dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(dtype)  # int64 to uint64 undoes two's complement


def outside(values: arrays.AnyArray, dtype: np.dtype[Any]) -> arrays.BoolArray | None:
    """Find the stored numbers, int64 or float32, that a dtype does not have; None if it has all."""
    is_whole = values.dtype.kind in "iu"
    is_float = dtype.kind in "fc" or dtype.name in EXTRA_FLOATS
    wrong: arrays.BoolArray
    if is_float:
        if not is_whole and dtype.name not in SMALL_FLOATS:
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            back: arrays.AnyArray = values.astype(dtype).real.astype(np.float64)
            if is_whole:  # compared as integers
                wrong = types.inexact_integers(values, np.where(np.isfinite(back), back, np.inf))
            else:
                wrong = (back != values) & ~(np.isnan(back) & np.isnan(values))
        return wrong if wrong.any() else None
    low, high = _bounds(dtype)
    if is_whole and dtype.itemsize == 8 and dtype.kind in "iuMm":  # two's complement
        return None
    if is_whole and (not values.size or (values.min() >= low and values.max() <= high)):
        return None
    # Not `<= high`: a float32 has no number just below 2**63.
    wrong = ~((values >= low) & (values < high + 1) & (values == np.trunc(values)))
    return wrong if wrong.any() else None


def _bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.name in EXTRA_INTEGERS:
        n_bits, is_signed = int(dtype.name[-1]), dtype.name[0] != "u"
        return -(is_signed << (n_bits - 1)), (1 << (n_bits - is_signed)) - 1
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(np.int64 if dtype.kind in "Mm" else dtype)
    return int(info.min), int(info.max)


# -------------------------------------------------------------------------------------- texts


def _check_strings(key: str, lists: Lists, text: str | None) -> None:
    strings: arrays.ByteStrings = lists.flat
    if text is None:
        return
    if text[0] != "S" and (first := not_utf8(strings)) is not None:
        detail = "a byte string that is not UTF-8, but the schema says that these are text"
        raise lists.error(key, detail, first, Reason.BAD_ARGUMENT)
    if (wrong := too_long(strings, text)) is not None:  # NumPy would cut them off
        detail = f"a string that is longer than {text}, which the schema says it was; "
        detail += "leave out restore, or give a schema with a wider Original"
        raise lists.error(key, detail, int(wrong.argmax()))


def too_long(strings: arrays.ByteStrings, text: str | None) -> arrays.BoolArray | None:
    """Find the strings that are longer than their original; None if none is."""
    if text is None or text[0] not in "SU":
        return None
    width = int(text[1:])
    wrong: arrays.BoolArray = strings.lengths > width
    if text[0] == "U" and wrong.any():  # in bytes; now in code points
        strings = strings.to_ranges()
        before = arrays.row_splits(((strings.data & 0xC0) != 0x80).astype(np.int64))
        wrong = before[strings.starts + strings.lengths] - before[strings.starts] > width
    return wrong if wrong.any() else None


# ------------------------------------------------------------------------------------- results


def result(lists: Lists, *, with_objects: bool, splits_dtype: Any = np.int64) -> Any:
    """Return lists as what a user holds: an array, masked array, RaggedTensor or, without objects, BytesColumn."""
    kind = lists.type
    shape: Any = kind.shape or ()
    rank = outer_rank(shape)
    values = values_of(lists, with_objects=with_objects)
    if len(shape) > rank:
        values = as_array(values)  # a column has one dimension
    if rank:
        return _ragged(lists, shape, rank, values, np.dtype(splits_dtype))
    if not kind.missing:
        return values if isinstance(values, BytesColumn) else values.reshape(lists.n, *shape)
    values = as_array(values).reshape(lists.n, *shape)
    mask = np.broadcast_to(~lists.mask.reshape(-1, *[1] * len(shape)), values.shape).copy()
    return np.ma.MaskedArray(values, mask)


def _ragged(lists: Lists, shape: Shape, rank: int, values: FlatValues, dtype: Any) -> RaggedTensor:
    """Return rows whose lengths vary: the first dimensions of a shape, up to `rank`."""
    splits, n_rows = [], lists.n
    for level in lists.levels[:rank]:
        if isinstance(level, int):
            splits.append(np.arange(n_rows + 1, dtype=np.int64) * level)
        else:
            splits.append(arrays.row_splits(level))
        n_rows = int(splits[-1][-1])
    column: Any = values
    if isinstance(values, np.ndarray):
        # Of texts a RaggedTensor would make byte strings.
        column = values.astype(object) if values.dtype.kind in "UT" else values
        column = column.reshape(n_rows, *shape[rank:])
    if any(own[-1] > np.iinfo(dtype).max for own in splits):  # of several blocks together
        dtype = np.dtype(np.int64)
    for level_splits, dim in zip(reversed(splits), reversed(shape[:rank]), strict=True):
        column = RaggedTensor(column, level_splits.astype(dtype, copy=False), dim)
    return column  # type: ignore[no-any-return]


def sparse_result(lists: SparseLists, *, with_objects: bool) -> SparseTensor:
    """Return values and their coordinates as a SparseTensor."""
    values = lists.values
    message = np.repeat(np.arange(values.n), values.lengths)
    coordinates = np.stack([message, *(axis.flat for axis in lists.coordinates)], 1)
    flat = as_array(values_of(values, with_objects=with_objects))
    extents = coordinates.max(axis=0, initial=-1) + 1
    sizes = [n if size == -1 else size for n, size in zip(extents[1:], lists.sizes, strict=True)]
    return SparseTensor(coordinates, flat, np.array([values.n, *sizes]))


def values_of(lists: Lists, *, with_objects: bool) -> FlatValues:
    """Return values that own their memory: byte strings as one column, or objects of their type of text."""
    flat = lists.flat
    if isinstance(flat, BytesColumn):  # made before
        return as_array(flat) if with_objects else flat
    if isinstance(flat, np.ndarray):
        return flat
    if not with_objects:
        splits = arrays.row_splits(flat.lengths)
        return BytesColumn(splits, flat.joined(splits))
    text = lists.type.text
    if text is None:
        return objects_of(flat)
    if text[0] == "S":
        return objects_of(flat).astype(text)
    dtype: Any = np.dtypes.StringDType() if text == "T" else object if text == "str" else text
    return arrays.objects(_decoded(flat)).astype(dtype, copy=False)


def _decoded(strings: arrays.ByteStrings) -> list[str]:
    """Decode strings, all at once: slices of a text cost less than to decode each."""
    splits = arrays.row_splits(strings.lengths)
    data = strings.packed(splits)
    whole = data.tobytes().decode()
    if len(whole) < data.size:  # from bytes to characters
        splits = arrays.row_splits(((data & 0xC0) != 0x80).astype(np.int64))[splits]
    return [whole[a:b] for a, b in pairwise(splits.tolist())]


def objects_of(strings: arrays.ByteStrings) -> arrays.ObjectArray:
    """Copy byte strings out of their buffer: an object each."""
    if isinstance(strings, arrays.ByteItems):
        return arrays.objects(list(map(bytes, strings.items)))
    starts, lengths = strings.starts, strings.lengths
    if int(lengths.sum()) < _SHORT_BYTES * starts.size:
        # Slices of bytes are cheaper than views of an array, and the copy is small.
        splits = arrays.row_splits(lengths)
        copied = strings.packed(splits).tobytes()
        return arrays.objects([copied[a:b] for a, b in pairwise(splits.tolist())])
    return arrays.objects([view.tobytes() for view in arrays.views(strings.data, starts, lengths)])


def as_strings(column: Any) -> arrays.ByteStrings:
    """Return a BytesColumn, or an array of byte strings, as strings end to end."""
    if isinstance(column, BytesColumn):
        return types.ranges_of(column)
    return arrays.ByteItems.of(column.reshape(-1).tolist())
