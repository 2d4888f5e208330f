"""The values of features to results: dense, padded, sparse and ragged.

::

    Lists ─────────┬─> dense     FixedLenFeature           (n, *shape)
                   ├─> padded    FixedLenSequenceFeature   (n, longest, *shape)
                   ├─> var_len   VarLenFeature             SparseTensor
                   ├─> sparse    SparseFeature             SparseTensor, of several columns
                   └─> ragged    RaggedFeature             RaggedTensor, of several columns

Each function takes the columns of a batch, and the prepared specification. With `single` the
batch is one message, and the result is that of the single-example call, without the batch
dimension (rule E1).

Raises :class:`~.first_error.MisfitError` about the first message that does not fit the feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteItems,
    ByteRanges,
    ByteStrings,
    Int64Array,
    ObjectArray,
    place_all,
    ranges,
    row_splits,
    views,
)
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.columns.bytes import FlatValues, as_array
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural
from tfrecord_lite.example.decode.first_error import MisfitError
from tfrecord_lite.schema import RaggedFeature, RawFeature
from tfrecord_lite.schema.features import KeyedPartition
from tfrecord_lite.schema.prepare import Dense, Padded, Ragged, Sparse

_SHORT_BYTES = 256
_ALIGN = 8
"""Arrays of any type may begin at a multiple of this."""
_MAX_GAPS, _MAX_MEAN_GAPS = 2**20, 2**10
"""Most empty rows that the row ids of a batch may leave, and how many more per message: one wrong
number must not make the result huge."""


_NOT_NEGATIVE = {
    RaggedFeature.RowLengths: "row_lengths must not be negative",
    RaggedFeature.RowSplits: "row_splits must neither decrease nor be negative",
    RaggedFeature.RowLimits: "row_limits must neither decrease nor be negative",
    RaggedFeature.RowStarts: "row_starts must neither decrease nor exceed the number of values",
}
"""What a partition must be, that no row has a negative length."""


def reject(key: str, wrong: BoolArray, reason: Reason, detail_of: Callable[[int], str]) -> None:
    """Raise MisfitError for the first message that is wrong, given its number's detail."""
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise MisfitError(first, reason, key, detail_of(first))


def shown(lists: Lists, message: int, noun: str = "value", nouns: str | None = None) -> str:
    """Return the number of values in a message, with their noun."""
    return plural(int(lists.lengths[message]), noun, nouns)


def reject_sizes(key: str, lists: Lists, wrong: BoolArray, feature: Dense | Padded) -> None:
    """Raise MisfitError for the first message that is wrong: its values do not fit a shape."""
    shape = f"expected {feature.size:,} for shape {list(feature.shape)}"
    how = "RaggedFeature and VarLenFeature take any number"
    reject(key, wrong, Reason.WRONG_COUNT, lambda i: f"found {shown(lists, i)}, {shape}; {how}")


def strings(stored: ByteStrings, *, as_column: bool) -> ObjectArray | BytesColumn:
    """Copy byte strings out of their buffer: an object each, or one column of all."""
    if as_column:
        splits = row_splits(stored.lengths)
        return BytesColumn(splits, stored.joined(splits))
    out = np.empty(len(stored), object)
    if isinstance(stored, ByteItems):
        out[:] = stored.items
        return out
    starts, lengths = stored.starts, stored.lengths
    if int(lengths.sum()) < _SHORT_BYTES * starts.size:
        # Slices of bytes are cheaper than views of an array, and the copy is small.
        splits = row_splits(lengths).tolist()
        copied = stored.joined().tobytes()
        out[:] = [copied[a:b] for a, b in pairwise(splits)]
        return out
    view = memoryview(stored.data)  # type: ignore[arg-type]
    stops = (starts + lengths).tolist()
    out[:] = [view[a:b].tobytes() for a, b in zip(starts.tolist(), stops, strict=True)]
    return out


def strings_in_place(stored: ByteRanges) -> BytesColumn:
    """Move byte strings, which are in order, end to end in their own buffer, and make a column of it."""
    data, starts, lengths = stored.data, stored.starts, stored.lengths
    splits = row_splits(lengths)
    first = int(starts[0]) & -_ALIGN  # in the record's header at the least
    place_all(data, splits[:-1] + first, views(data, starts, lengths))
    return BytesColumn(splits, data[first : first + int(splits[-1])])


def dense(key: str, lists: Lists, feature: Dense, *, single: bool) -> AnyArray | BytesColumn:
    r"""Build the result of a FixedLenFeature: shape (n, \\*shape) (rules X1, X3 to X5)."""
    flat, counts, present = lists.flat, lists.levels[0], lists.present
    if present is None and isinstance(counts, int) and counts == feature.size:
        return shaped(flat, feature, lists.n, single=single)
    present = np.ones(lists.n, np.bool_) if present is None else present
    if feature.default is None:
        detail = (
            f"required feature {key!r} is missing and has no default; "
            "pass default_value=, or use VarLenFeature"
        )
        reject(key, ~present, Reason.MISSING, lambda _: detail)
    reject_sizes(key, lists, present & (lists.lengths != feature.size), feature)
    if feature.default is not None and not present.all():
        filled = np.empty((lists.n, feature.size), feature.kind.dtype)
        filled[present] = as_array(flat).reshape(-1, feature.size)
        filled[~present] = feature.default.reshape(1, feature.size)
        is_column = isinstance(flat, BytesColumn)
        flat = BytesColumn.from_list(filled.ravel().tolist()) if is_column else filled
    return shaped(flat, feature, lists.n, single=single)


def shaped(
    flat: FlatValues, feature: Dense, n_messages: int, *, single: bool
) -> AnyArray | BytesColumn:
    """Give values the shape of a FixedLenFeature, of which every message has as many as it takes."""
    if feature.raw is not None:
        array = raw(flat, feature.raw, feature.key)
        return array[0] if single else array
    shape = feature.shape if single else (n_messages, *feature.shape)
    if isinstance(flat, BytesColumn):
        if len(shape) == 1:
            return flat
        flat = as_array(flat)  # a column has one dimension
    return flat.reshape(shape)


def raw(strings: Any, spec: RawFeature, key: str) -> AnyArray:
    r"""View a column of byte strings as the arrays they are: shape (n_strings, \\*shape)."""
    wrong = np.flatnonzero(strings.lengths != spec.n_bytes)
    if wrong.size:
        found, wanted = plural(int(strings.lengths[wrong[0]]), "byte"), list(spec.shape)
        detail = f"found {found}, expected {spec.n_bytes:,} for {spec.dtype_name} {wanted}"
        raise MisfitError(int(wrong[0]), Reason.WRONG_COUNT, key, detail)
    data = strings.data[strings.offsets[0] : strings.offsets[-1]]
    array: AnyArray
    if spec.dtype == np.bool:
        array = data != 0  # rule D3
        return array.reshape(len(strings), *spec.shape)
    data = data if data.flags.writeable else data.copy()
    array = data.view(spec.dtype.newbyteorder("<")).astype(spec.dtype, copy=False)
    array = array.reshape(len(strings), *spec.shape)
    return array.view(spec.dtype)  # the native dtype, which prints as float64


def padded(key: str, lists: Lists, feature: Padded, *, single: bool) -> AnyArray:
    r"""Build the result of a FixedLenSequenceFeature: shape (n, longest, \\*shape) (S2 to S4)."""
    counts = lists.lengths
    reject(
        key,
        counts % feature.size != 0,
        Reason.WRONG_COUNT,
        lambda i: f"found {shown(lists, i)}, expected a multiple of {feature.size:,}",
    )
    flat = as_array(lists.flat)
    if single:
        return flat.reshape(-1, *feature.shape)
    longest = int(counts.max(initial=0))
    shape = (lists.n, longest // feature.size, *feature.shape)
    if (counts == longest).all():
        return flat.reshape(shape)
    with room_for(counts, feature):
        out = np.full(lists.n * longest, feature.padding, feature.kind.dtype)
    out[ranges(np.arange(lists.n) * longest, counts)] = flat
    return out.reshape(shape)


@contextmanager
def room_for(sizes: Int64Array, feature: Padded) -> Iterator[None]:
    """Turn a lack of memory for padding into a MisfitError about the longest message.

    `sizes` has the values or steps of each message, in proportion to the room each takes.
    """
    try:
        yield
    except (MemoryError, ValueError):  # for a size that no array can have
        longest = int(sizes.argmax())
        detail = (
            f"padding {sizes.size} messages to the length {sizes[longest]} of this one takes more "
            "memory than there is; parse fewer at a time, or use RaggedFeature, which is not padded"
        )
        raise MisfitError(longest, Reason.TENSOR_TOO_LARGE, feature.key, detail) from None


def var_len(lists: Lists, *, single: bool) -> SparseTensor:
    """Build the result of a VarLenFeature (rule V1)."""
    counts = lists.lengths
    place = ranges(np.zeros_like(counts), counts)
    longest = int(counts.max(initial=0))
    if single:
        return SparseTensor(place[:, None], as_array(lists.flat), np.array([longest]))
    message = np.repeat(np.arange(lists.n), counts)
    dense_shape = np.array([lists.n, longest])
    return SparseTensor(np.stack([message, place], 1), as_array(lists.flat), dense_shape)


def sparse(
    values: Lists, indices: dict[str, Lists], feature: Sparse, *, single: bool
) -> SparseTensor:
    """Build the result of a SparseFeature (rules Z1 to Z4, with checked indices)."""
    counts = values.lengths
    for key, index in indices.items():
        differs = np.flatnonzero(index.lengths != counts)
        if differs.size:
            first = int(differs[0])
            found = f"{shown(index, first, 'index', 'indices')} for the {shown(values, first)}"
            detail = f"{found} of {feature.value_key!r}; expected one each"
            raise MisfitError(first, Reason.BAD_INDEX, key, detail)
    message = np.repeat(np.arange(values.n), counts)
    columns = [np.asarray(index.flat) for index in indices.values()]
    for key, column, size in zip(indices, columns, feature.sizes, strict=True):
        wrong = (column < 0) | (column >= size)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            detail = f"an index is {column[first]}, expected 0 to {size - 1}"
            raise MisfitError(int(message[first]), Reason.BAD_INDEX, key, detail)
    flat = as_array(values.flat)
    dense_shape = np.array(feature.sizes if single else (values.n, *feature.sizes))
    places = np.stack(columns if single else [message, *columns], 1)
    if not feature.already_sorted:
        order = np.lexsort([*reversed(columns), message])
        places, flat = places[order], flat[order]
    return SparseTensor(places, flat, dense_shape.astype(np.int64))


def ragged(
    values: Lists, partitions: dict[str, Lists], feature: Ragged, *, single: bool
) -> AnyArray | BytesColumn | RaggedTensor:
    """Build the result of a RaggedFeature (rules G1 to G8, always consistent).

    From the innermost partition outwards: at each level there are `items` in every
    message, and the partition says how many of them each row takes.
    """
    inner: Any = values.flat
    items = values.lengths
    for partition in reversed(feature.partitions):
        uniform = None
        if isinstance(partition, RaggedFeature.UniformRowLength):
            uniform = partition.length
            is_plain = not isinstance(inner, RaggedTensor)
            lengths, rows = _uniform(
                feature.key, values, items, uniform, single=single, is_plain=is_plain
            )
            if is_plain:
                inner = as_array(inner)
                try:
                    inner = inner.reshape(int(rows.sum()), uniform, *inner.shape[1:])
                except ValueError as error:
                    detail = f"cannot make an array with rows of one length: {error}"
                    raise argument_error(detail, key=feature.key) from None
                items = rows
                continue
        else:
            column = partitions[partition.key]
            if single and isinstance(partition, RaggedFeature.RowSplits):
                # In a batch, what comes before the first row is dropped (rule G5).
                first = np.asarray(column.flat[:1]).astype(feature.splits_dtype)
                if first.any():
                    detail = f"the first split is {first[0]}, expected 0"
                    raise MisfitError(0, Reason.BAD_PARTITION, partition.key, detail)
            lengths, rows = _partition(partition, column, items, feature.splits_dtype)
            _check(partition, lengths, rows, items)
        splits = row_splits(lengths).astype(feature.splits_dtype)
        inner = RaggedTensor(inner, splits, uniform)
        items = rows
    if single:
        return inner  # type: ignore[no-any-return]
    splits = row_splits(items).astype(feature.splits_dtype)
    return RaggedTensor.from_row_splits(inner, splits, validate=False)


def _uniform(
    key: str, values: Lists, items: Int64Array, length: int, *, single: bool, is_plain: bool
) -> tuple[Int64Array, Int64Array]:
    """Divide items into rows of one length (rule G3); lengths of rows, rows of each message.

    For length 0, a plain vector is one row, and anything else has no rows.
    """
    if length:
        reject(
            key,
            items % length != 0,
            Reason.BAD_PARTITION,
            lambda i: f"{shown(values, i)} cannot be divided into rows of {length:,}",
        )
        rows = items // length
        return np.full(int(rows.sum()), length), rows
    if not single:  # nothing says how many there are in each message (rule G4)
        detail = "a batch cannot have rows of length 0, since they cannot be counted"
        raise InvalidArgumentError(Reason.BAD_PARTITION, key=key, detail=detail)
    reject(
        key,
        (values.lengths if is_plain else items) != 0,
        Reason.BAD_PARTITION,
        lambda i: f"{shown(values, i)} cannot make rows of length 0",
    )
    return np.empty(0, np.int64), np.full_like(items, is_plain)


def _partition(
    partition: KeyedPartition, column: Lists, items: Int64Array, dtype: np.dtype[Any]
) -> tuple[Int64Array, Int64Array]:
    """Return the lengths of all rows, and the number of rows of each message (rules G2, G5)."""
    # The cast wraps, as TensorFlow's does (rule G2).
    numbers = np.asarray(column.flat).astype(dtype).astype(np.int64)
    counts = column.lengths
    starts = row_splits(counts)[:-1]
    match partition:
        case RaggedFeature.RowLengths():
            return numbers, counts
        case RaggedFeature.RowSplits():  # the first split only marks the start of the first row
            is_limit = np.ones(numbers.size, np.bool_)
            is_limit[starts[counts > 0]] = False
            rows = np.maximum(counts - 1, 0)
            return _differences(numbers[is_limit], rows), rows
        case RaggedFeature.RowLimits():
            return _differences(numbers, counts), counts
        case RaggedFeature.RowStarts():
            is_first = np.zeros(numbers.size, np.bool_)
            is_first[starts[counts > 0]] = True
            bad = np.flatnonzero(is_first & (numbers != 0))
            if bad.size:
                message = int(np.searchsorted(starts, bad[0], side="right")) - 1
                detail = f"the first row starts at {numbers[bad[0]]}, expected 0"
                raise MisfitError(message, Reason.BAD_PARTITION, partition.key, detail)
            stops = np.empty_like(numbers)
            stops[:-1] = numbers[1:]
            last = (starts + counts - 1)[counts > 0]
            stops[last] = items[counts > 0]
            return stops - numbers, counts
        case _:
            return _row_ids(partition.key, column, numbers, items)


def _differences(limits: Int64Array, rows: Int64Array) -> Int64Array:
    """Return each limit minus the one before it in its message; the first as it is."""
    lengths = np.diff(limits, prepend=0)
    firsts = row_splits(rows)[:-1][rows > 0]
    lengths[firsts] = limits[firsts]
    return lengths


def _row_ids(
    key: str, column: Lists, ids: Int64Array, items: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Count the items of each row, given the row of each item; gaps make empty rows."""
    reject(
        key,
        column.lengths != items,
        Reason.BAD_PARTITION,
        lambda i: (
            f"{shown(column, i, 'row id')} for {plural(int(items[i]), 'value')}; expected one each"
        ),
    )
    message = np.repeat(np.arange(items.size), items)
    falls = np.diff(ids, prepend=0) < 0
    falls[row_splits(items)[:-1][items > 0]] = False
    wrong = np.flatnonzero(falls | (ids < 0))
    if wrong.size:
        detail = "row ids must neither decrease nor be negative"
        raise MisfitError(int(message[wrong[0]]), Reason.BAD_PARTITION, key, detail)
    highest = np.full_like(items, -1)
    highest[items > 0] = ids[(row_splits(items)[1:] - 1)[items > 0]]
    empty = np.maximum(highest + 1.0 - items, 0.0).cumsum()  # as floats, so that no sum overflows
    reject(
        key,
        empty > _MAX_GAPS + _MAX_MEAN_GAPS * items.size,
        Reason.BAD_PARTITION,
        lambda i: (
            f"{shown(column, i, 'row id')} leave too many rows empty: "
            f"over {_MAX_GAPS:,} in the batch up to here"
        ),
    )
    rows = highest + 1
    starts = row_splits(rows)[:-1]
    return np.bincount(starts[message] + ids, minlength=int(rows.sum())), rows


def _check(
    partition: KeyedPartition,
    lengths: Int64Array,
    rows: Int64Array,
    items: Int64Array,
) -> None:
    """Raise MisfitError for rows that drop values, or take those of others (rules G4, G6)."""
    message = np.repeat(np.arange(rows.size), rows)
    taken = np.bincount(message, lengths, minlength=rows.size)  # floats, exact where it is right
    negative = np.zeros(rows.size, np.bool_)
    negative[message[lengths < 0]] = True
    wrong = negative | (taken != items)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        described = plural(int(taken[first]), "item")
        detail = f"this partition describes {described}, found {items[first]:,}"
        if negative[first]:
            detail = _NOT_NEGATIVE[type(partition)]
        raise MisfitError(first, Reason.BAD_PARTITION, partition.key, detail)
