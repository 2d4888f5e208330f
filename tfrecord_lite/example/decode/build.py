"""From columns to checked Lists (:func:`divided`), and from Lists to results (:func:`finished`).

::

    Lists, one per key ─┬─> dense     FixedLenFeature          ─┐
                        ├─> in_blocks FixedLenSequenceFeature   ├─> Lists ─┬─> array, ragged
                        ├─> sparse    SparseFeature             │          ├─> padded
                        └─> ragged    RaggedFeature            ─┘          └─> SparseTensor
                                          divided                 restore, join     finished

Between the two, lists may be joined to other batches' values. Raises :class:`~.first_error.MisfitError` about
the first message that does not fit the feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, BoolArray, Int64Array, first_true, ranges, row_splits
from tfrecord_lite.columns import Column, SparseTensor
from tfrecord_lite.columns.bytes import as_array
from tfrecord_lite.convert import restore
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.example.decode.first_error import MisfitError, misfits
from tfrecord_lite.schema import Kind, RaggedFeature, RawFeature
from tfrecord_lite.schema.features import KeyedPartition
from tfrecord_lite.schema.prepare import Dense, Padded, Prepared, Ragged, Shaped, Sparse, VarLen
from tfrecord_lite.schema.types import WIRE, Type
from tfrecord_lite.texts import plural

_MAX_GAPS, _MAX_MEAN_GAPS = 2**20, 2**10
"""Most empty rows that the row ids of a batch may leave, and how many more per message: one wrong
number must not make the result huge. The rows of one shape in a message are limited to the latter, too."""

_NOT_NEGATIVE = {
    RaggedFeature.RowLengths: "row_lengths must not be negative",
    RaggedFeature.RowSplits: "row_splits must neither decrease nor be negative",
    RaggedFeature.RowLimits: "row_limits must neither decrease nor be negative",
    RaggedFeature.RowStarts: "row_starts must neither decrease nor exceed the number of values",
}
"""The error about a row of negative length."""


def shown(lists: Lists, message: int, noun: str = "value", nouns: str | None = None) -> str:
    """Return the number of values in a message, with their noun."""
    return plural(int(lists.lengths[message]), noun, nouns)


def reject_sizes(key: str, lists: Lists, wrong: BoolArray, feature: Dense | Padded) -> None:
    """Raise MisfitError for the first message that is wrong: its values do not fit a shape."""
    if (i := first_true(wrong)) is not None:
        shape = f"expected {feature.size:,} for shape {list(feature.shape)}"
        advice = "RaggedFeature and VarLenFeature take any number"
        detail = f"found {shown(lists, i)}, {shape}; {advice}"
        raise MisfitError(i, Reason.WRONG_COUNT, key, detail)


def own_type(feature: Prepared) -> Type:
    """Return what the values of a feature are by its specification."""
    kind, raw_spec = feature.kind, getattr(feature, "raw", None)
    dtype = kind.label if raw_spec is None else raw_spec.dtype_name
    shape: tuple[int | None, ...] = (None,)
    match feature:
        case Dense() | Padded():
            inner = feature.shape if raw_spec is None else raw_spec.shape
            shape = inner if isinstance(feature, Dense) else (None, *inner)
        case Ragged():
            shape += tuple(getattr(partition, "length", None) for partition in feature.partitions)
        case Shaped():
            shape = feature.raw.shape
    return Type(kind, dtype, shape)


def divided(
    feature: Prepared, own: Type, column_of: Callable[[str], Lists], *, single: bool
) -> Lists | SparseLists:
    """Check the columns of a feature, and divide its values into lists of its :func:`own_type`.

    With `single` the batch is one message, for which single-example calls check more (rules G4, G5).
    """
    match feature:
        case Dense():
            return dense(column_of(feature.key), feature, own)
        case Padded():
            return in_blocks(column_of(feature.key), feature, own)
        case VarLen():
            return column_of(feature.key)
        case Sparse():
            indices = {key: column_of(key) for key in feature.index_keys}
            return sparse(column_of(feature.value_key), indices, feature)
        case Ragged():
            partitions = {key: column_of(key) for key, _ in feature.reads()[1:]}
            return ragged(column_of(feature.key), partitions, feature, own, single=single)
        case Shaped():
            return shaped(column_of(feature.key), column_of(feature.shape_key), feature, own)


def dense(lists: Lists, feature: Dense, own: Type) -> Lists:
    """Check the values of a FixedLenFeature, and fill in its default (rules X1, X3 to X5)."""
    key, counts, present, flat = feature.key, lists.levels[0], lists.present, lists.flat
    if present is not None or not isinstance(counts, int) or counts != feature.size:
        present = np.ones(lists.n, np.bool_) if present is None else present
        if feature.default is None and (i := first_true(~present)) is not None:
            detail = f"required feature {key!r} is missing and has no default; "
            detail += "pass default_value=, or use VarLenFeature"
            raise MisfitError(i, Reason.MISSING, key, detail)
        reject_sizes(key, lists, present & (lists.lengths != feature.size), feature)
        if feature.default is not None and not present.all():
            flat = _filled(lists, present, feature.default)
    if feature.raw is not None:
        flat = raw(flat, feature.raw, key)
    return Lists(lists.n, own, cast("tuple[int, ...]", own.shape), flat)


def restored(feature: Prepared, lists: Lists | SparseLists, original: Type) -> Lists | SparseLists:
    """Return lists as they were before they were stored; errors as of :func:`.restore`."""
    name = feature.name if isinstance(feature, Sparse | Ragged) else feature.key
    if isinstance(lists, SparseLists):
        return lists._replace(values=restore.restore_values(name, lists.values, original))
    if isinstance(feature, Padded | VarLen):
        return restore.restore_values(name, lists, original)
    return restore.restore(name, lists, original)


def finished(feature: Prepared, lists: Lists | SparseLists, *, with_objects: bool) -> Column:
    """Make the result of a feature: of one batch, or of several that were joined."""
    if isinstance(lists, SparseLists):
        return restore.sparse_result(lists, with_objects=with_objects)
    if isinstance(feature, Padded):
        return padded(lists, feature, with_objects=with_objects)
    if isinstance(feature, VarLen):
        return var_len(lists, with_objects=with_objects)
    return in_rows(feature, lists, with_objects=with_objects)


def in_rows(feature: Prepared, lists: Lists, *, with_objects: bool) -> Column:
    """Make the result of lists whose type has all dimensions."""
    dtype = feature.splits_dtype if isinstance(feature, Ragged) else np.int64
    try:
        return restore.result(lists, with_objects=with_objects, splits_dtype=dtype)  # type: ignore[no-any-return]
    except ValueError as error:  # from NumPy
        detail = f"no array can have the shape {lists.type.shape}: {error}"
        raise argument_error(detail, key=feature.reads()[0][0]) from None


def _filled(lists: Lists, present: BoolArray, default: AnyArray) -> Any:
    """Return the values of all messages, given the values of the `present` ones: the others have the default."""
    size, fill = default.size, cast("Any", default.reshape(-1))
    fill = restore.as_strings(fill) if lists.kind is Kind.BYTES else fill
    both = Lists.join([lists, Lists(1, lists.type, (size,), fill)]).flat
    # Which of these values each message has.
    order = np.empty((present.size, size), np.int64)
    order[present] = np.arange(len(lists.flat)).reshape(-1, size)
    order[~present] = len(lists.flat) + np.arange(size)
    return both.take(order.ravel())


def raw(strings: Any, spec: RawFeature, key: str) -> AnyArray:
    """Unpack one array per string, all of one shape; return their values, end to end."""
    if (i := first_true(strings.lengths != spec.n_bytes)) is not None:
        n_bytes, dims = plural(int(strings.lengths[i]), "byte"), list(spec.shape)
        detail = f"found {n_bytes}, expected {spec.n_bytes:,} for {spec.dtype_name} {dims}"
        raise MisfitError(i, Reason.WRONG_COUNT, key, detail)
    return restore.numbers_of(strings.joined(), spec.dtype)  # rule D3


def shaped(strings: Lists, shapes: Lists, feature: Shaped, own: Type) -> Lists:
    """Unpack one array per string; its shape gives the levels."""
    key, dims = feature.key, own.shape or ()
    shape_spec = Dense(feature.shape_key, Kind.INT64, (len(dims),), None)
    strings = dense(strings, Dense(key, Kind.BYTES, (), None), Type(Kind.BYTES, shape=()))
    with misfits():
        values = restore.unpacked(key, strings, own)
    shapes = dense(shapes, shape_spec, Type(Kind.INT64, shape=shape_spec.shape))
    sizes = shapes.flat.reshape(shapes.n, len(dims))
    wrong = (sizes < 0).any(axis=1)
    for size, dim in zip(sizes.T, dims, strict=True):
        if dim is not None:
            wrong |= size != dim
    # The rows down to each dimension; as floats, so that no product overflows.
    n_rows = np.cumprod(sizes, axis=1, dtype=np.float64)
    wrong |= n_rows[:, -1] != values.lengths
    # Rows of arrays without values are limited, too.
    wrong |= n_rows.max(axis=1) > np.maximum(values.lengths, _MAX_MEAN_GAPS)
    if (i := first_true(wrong)) is not None:
        actual = f"the shape {sizes[i].tolist()} for {shown(values, i)}"
        detail = f"{actual}, expected {list(dims)}".replace("None", "any")
        raise MisfitError(i, Reason.WRONG_COUNT, shape_spec.key, detail)
    counts = np.ones(shapes.n, np.int64)
    levels: list[Any] = []
    for size, dim in zip(sizes.T, dims, strict=True):
        levels.append(np.repeat(size, counts) if dim is None else dim)
        counts = counts * size
    return Lists(values.n, own, tuple(levels), values.flat)


def in_blocks(lists: Lists, feature: Padded, own: Type) -> Lists:
    """Divide the values of a FixedLenSequenceFeature into blocks of its shape (rules S2, S3)."""
    size, counts = feature.size, lists.levels[0]
    if size > 1 and (i := first_true(lists.lengths % size != 0)) is not None:
        detail = f"found {shown(lists, i)}, expected a multiple of {size:,}"
        raise MisfitError(i, Reason.WRONG_COUNT, feature.key, detail)
    return Lists(lists.n, own, (counts // size, *feature.shape), lists.flat)


def padded(lists: Lists, feature: Padded, *, with_objects: bool) -> AnyArray:
    r"""Build the result of a FixedLenSequenceFeature: shape (n, longest, \*shape) (rule S4)."""
    flat = as_array(restore.values_of(lists, with_objects=with_objects))
    fill = padding_of(lists, feature, flat.dtype)
    return with_padding(flat, lists.lengths, feature.shape, fill, feature)


def with_padding(
    flat: AnyArray, counts: Int64Array, shape: tuple[int, ...], fill: AnyArray, feature: Padded
) -> AnyArray:
    r"""Divide values into blocks of a shape, `counts` per message, padded: shape (n, longest, \*shape)."""
    n, longest, size = counts.size, int(counts.max(initial=0)), math.prod(shape)
    whole = (n, longest, *shape)
    if (counts == longest).all():
        return flat.reshape(whole)
    # A block of numbers is one item, copied as its bytes.
    block = np.dtype((np.void, size * flat.itemsize))
    out: AnyArray
    try:
        # Fresh memory is 0 already, and costs nothing until it is written.
        if flat.dtype != object and not any(fill.tobytes()):
            out = np.zeros((n, longest, size), flat.dtype)
        else:
            out = np.full((n, longest, size), fill, flat.dtype)
    except (MemoryError, ValueError):  # for a size that no array can have
        detail = f"padding {n} messages to the length {longest} of this one takes more memory than there is; "
        detail += "parse fewer at a time, or use RaggedFeature, which is not padded"
        largest = int(counts.argmax())
        raise MisfitError(largest, Reason.TENSOR_TOO_LARGE, feature.key, detail) from None
    is_block = np.arange(longest) < counts[:, None]
    if flat.dtype == object:
        out[is_block] = flat.reshape(-1, size)
    else:
        out_blocks = out.view(block).reshape(is_block.shape)
        out_blocks[is_block] = np.ascontiguousarray(flat).reshape(-1).view(block)
    return out.reshape(whole)


def padding_of(lists: Lists, feature: Padded, dtype: np.dtype[Any]) -> AnyArray:
    """Return the padding, restored as the values were: an array of one value, as NumPy drops NULs of a byte string."""
    padding: AnyArray = feature.padding.reshape(1)
    if dtype == padding.dtype and lists.type.text is None:
        return padding
    stored: Any = restore.as_strings(padding) if feature.kind is Kind.BYTES else padding
    single = Lists(1, Type(feature.kind, shape=()), (), stored)
    single = restore.restore(feature.key, single, lists.type._replace(shape=()))
    return as_array(restore.values_of(single, with_objects=True))


def var_len(lists: Lists, *, with_objects: bool) -> SparseTensor:
    """Build the result of a VarLenFeature: a dimension for the messages, and one per level (rules V1, L4)."""
    coordinates = [np.arange(lists.n)]  # of each row of a level, then of each value
    dense_shape = [lists.n]
    rows = lists
    for _ in lists.levels:
        counts = rows.lengths
        coordinates = [np.repeat(axis, counts) for axis in coordinates]
        coordinates.append(ranges(np.zeros_like(counts), counts))
        dense_shape.append(int(counts.max(initial=0)))
        rows = rows.below()
    flat = as_array(restore.values_of(lists, with_objects=with_objects))
    return SparseTensor(np.stack(coordinates, 1), flat, np.array(dense_shape))


def sparse(values: Lists, indices: dict[str, Lists], feature: Sparse) -> SparseLists:
    """Check the coordinates of a SparseFeature, and sort the values by them (rules Z1 to Z4)."""
    counts = values.lengths
    for key, index in indices.items():
        if (i := first_true(index.lengths != counts)) is not None:
            detail = f"{shown(index, i, 'index', 'indices')} for the {shown(values, i)} "
            detail += f"of {feature.value_key!r}; expected one each"
            raise MisfitError(i, Reason.BAD_INDEX, key, detail)
    coordinates = [np.asarray(index.flat) for index in indices.values()]
    for key, axis, size in zip(indices, coordinates, feature.sizes, strict=True):
        is_unknown = size == -1
        wrong = axis < 0 if is_unknown else (axis < 0) | (axis >= size)
        if (i := first_true(wrong)) is not None:
            bounds = "0 or more" if is_unknown else f"0 to {size - 1}"
            detail = f"an index is {axis[i]}, expected {bounds}"
            raise MisfitError(values.record_of(i), Reason.BAD_INDEX, key, detail)
    if not feature.already_sorted:
        order = np.lexsort([*reversed(coordinates), np.repeat(np.arange(values.n), counts)])
        coordinates = [axis[order] for axis in coordinates]
        values = values.with_(flat=values.flat.take(order))
    axes = [values.with_(flat=axis, type=WIRE[Kind.INT64]) for axis in coordinates]
    return SparseLists(values, tuple(axes), feature.sizes)


def ragged(
    values: Lists, partitions: dict[str, Lists], feature: Ragged, own: Type, *, single: bool
) -> Lists:
    """Divide the values of a RaggedFeature by its partitions, which must agree, from the innermost outwards (rules G1 to G8)."""
    if not feature.partitions:
        return values
    levels: list[Any] = []
    items = values.lengths
    for partition in reversed(feature.partitions):
        if isinstance(partition, RaggedFeature.UniformRowLength):
            is_plain = all(isinstance(level, int) for level in levels)
            level: Any = partition.length
            items = _uniform(feature.key, values, items, level, single=single, is_plain=is_plain)
        else:
            column = partitions[partition.key]
            if single and isinstance(partition, RaggedFeature.RowSplits):
                # In a batch, values before the first row are dropped (rule G5).
                first_split = np.asarray(column.flat[:1]).astype(feature.splits_dtype)
                if first_split.any():
                    detail = f"the first split is {first_split[0]}, expected 0"
                    raise MisfitError(0, Reason.BAD_PARTITION, partition.key, detail)
            level, rows = _partition(partition, column, items, feature.splits_dtype)
            _check(partition, level, rows, items)
            items = rows
        levels.insert(0, level)
    return Lists(values.n, own, (items, *levels), values.flat)


def _uniform(
    key: str, values: Lists, items: Int64Array, length: int, *, single: bool, is_plain: bool
) -> Int64Array:
    """Divide items into rows of one length, and return the rows of each message (rule G3).

    For length 0 there may be no values: one row, if no inner partition is ragged, else none.
    """
    if length:
        if (i := first_true(items % length != 0)) is not None:
            detail = f"{shown(values, i)} cannot be divided into rows of {length:,}"
            raise MisfitError(i, Reason.BAD_PARTITION, key, detail)
        return items // length
    if not single:  # nothing says how many there are in each message (rule G4)
        detail = "a batch cannot have rows of length 0, since they cannot be counted"
        raise InvalidArgumentError(Reason.BAD_PARTITION, key=key, detail=detail)
    if (i := first_true((values.lengths if is_plain else items) != 0)) is not None:
        detail = f"{shown(values, i)} cannot make rows of length 0"
        raise MisfitError(i, Reason.BAD_PARTITION, key, detail)
    return np.full_like(items, is_plain)


def _firsts(counts: Int64Array) -> Int64Array:
    """Return the place of the first number of each message that has any, given how many each has."""
    return row_splits(counts)[:-1][counts > 0]


def _partition(
    partition: KeyedPartition, column: Lists, items: Int64Array, dtype: np.dtype[Any]
) -> tuple[Int64Array, Int64Array]:
    """Return the lengths of all rows, and the number of rows of each message (rules G2, G5)."""
    # The cast wraps, as TensorFlow's does (rule G2).
    numbers = np.asarray(column.flat).astype(dtype).astype(np.int64)
    counts = column.lengths
    firsts = _firsts(counts)
    match partition:
        case RaggedFeature.RowLengths():
            return numbers, counts
        case RaggedFeature.RowSplits():  # the first split only marks the start of the first row
            rows = np.maximum(counts - 1, 0)
            return _differences(np.delete(numbers, firsts), rows), rows
        case RaggedFeature.RowLimits():
            return _differences(numbers, counts), counts
        case RaggedFeature.RowStarts():
            if (i := first_true(numbers[firsts] != 0)) is not None:
                message = int(np.flatnonzero(counts)[i])
                detail = f"the first row starts at {numbers[firsts[i]]}, expected 0"
                raise MisfitError(message, Reason.BAD_PARTITION, partition.key, detail)
            stops = np.roll(numbers, -1)  # the next start, or for the last the end of its message
            stops[firsts + counts[counts > 0] - 1] = items[counts > 0]
            return stops - numbers, counts
        case _:
            return _row_ids(partition.key, column, numbers, items)


def _differences(limits: Int64Array, rows: Int64Array) -> Int64Array:
    """Return each limit minus the one before it in its message; the first as it is."""
    lengths = np.diff(limits, prepend=0)
    firsts = _firsts(rows)
    lengths[firsts] = limits[firsts]
    return lengths


def _row_ids(
    key: str, column: Lists, ids: Int64Array, items: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Count the items of each row, given the row of each item; gaps make empty rows."""
    if (i := first_true(column.lengths != items)) is not None:
        n_values = plural(int(items[i]), "value")
        detail = f"{shown(column, i, 'row id')} for {n_values}; expected one each"
        raise MisfitError(i, Reason.BAD_PARTITION, key, detail)
    message = np.repeat(np.arange(items.size), items)
    falls = np.diff(ids, prepend=0) < 0
    falls[_firsts(items)] = False
    if (first := first_true(falls | (ids < 0))) is not None:
        detail = "row ids must neither decrease nor be negative"
        raise MisfitError(int(message[first]), Reason.BAD_PARTITION, key, detail)
    highest = np.full_like(items, -1)
    is_filled = items > 0
    highest[is_filled] = ids[row_splits(items)[1:][is_filled] - 1]
    # As floats, so that no sum overflows.
    n_empty_so_far = np.maximum(highest + 1.0 - items, 0.0).cumsum()
    if (i := first_true(n_empty_so_far > _MAX_GAPS + _MAX_MEAN_GAPS * items.size)) is not None:
        detail = f"{shown(column, i, 'row id')} leave too many rows empty: "
        detail += f"over {_MAX_GAPS:,} in the batch up to here"
        raise MisfitError(i, Reason.BAD_PARTITION, key, detail)
    rows = highest + 1
    row = row_splits(rows)[message] + ids  # of each item, in the batch
    return np.bincount(row, minlength=int(rows.sum())), rows


def _check(
    partition: KeyedPartition, lengths: Int64Array, rows: Int64Array, items: Int64Array
) -> None:
    """Raise MisfitError for rows that drop values, or take other rows' values (rules G4, G6)."""
    message = np.repeat(np.arange(rows.size), rows)
    taken = np.bincount(message, lengths, minlength=rows.size)  # floats, exact where it is right
    negative = np.zeros(rows.size, np.bool_)
    negative[message[lengths < 0]] = True
    if (first := first_true(negative | (taken != items))) is not None:
        described = plural(int(taken[first]), "item")
        detail = f"this partition describes {described}, found {items[first]:,}"
        if negative[first]:
            detail = _NOT_NEGATIVE[type(partition)]
        raise MisfitError(first, Reason.BAD_PARTITION, partition.key, detail)
