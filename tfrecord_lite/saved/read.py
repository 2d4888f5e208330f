"""The records of a saved data set as Lists, one per component.

Of ``k`` components, ``block[c::k]`` are the TensorProtos of component ``c``. Ragged, sparse and optional
components are variants: messages of a type name, metadata and tensors, inside a string tensor's content.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite import arrays, errors
from tfrecord_lite.arrays import AnyArray, Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.convert.lists import Joiner, Lists, SparseLists, row_of, scattered
from tfrecord_lite.convert.lossless import item_of
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.restore import result, sparse_result
from tfrecord_lite.convert.store import stored
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.example.encode.columns import encode_lists
from tfrecord_lite.files.names import StorageOptions
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.framing import frame
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.saved.spec import CHUNKS, VARIANT, Component, SavedData, Shape, fields
from tfrecord_lite.schema import Kind, Schema
from tfrecord_lite.schema.types import Type
from tfrecord_lite.tensors.dtypes import tensor_type
from tfrecord_lite.tensors.parse import parse_tensor, parse_tensors
from tfrecord_lite.texts import plural
from tfrecord_lite.wire.scalar import WireError, read_varint

_BLOCK_BYTES = 4 * 1024 * 1024
"""About the bytes of records that are parsed at once."""
_SCALAR_STRING = b"\x08\x07\x12\x00\x22"
"""How the TensorProto of one string begins, before the lengths of its content."""
_NO_FEATURES = b"\n\0"
_SHORT = 126
"""The longest string whose own length, and the length of the content with it, take a byte each."""

Values: TypeAlias = Any
"""Lists, or SparseLists."""


def columns_of(
    data: SavedData,
    names: Sequence[str] | None = None,
    num_records: int | None = None,
    options: ReadSettings | None = None,
    cycle_length: int = 1,
) -> dict[str, Any]:
    """Return whole columns of a saved data set, by name."""
    parts = {component.name: Joiner() for component in data.chosen(names)}
    left = num_records
    with closing(lists_of(data, options or ReadSettings(), names, cycle_length)) as blocks:
        for n, lists in blocks:
            for name, own in lists.items():
                parts[name].add(own if left is None or n <= left else own.copies([0, left])[0])
            left = None if left is None else left - n
            if left is not None and left <= 0:
                break
    columns = {}
    for component in data.chosen(names):
        whole = parts.pop(component.name).joined()
        lists = empty(component) if whole is None else _settled(component, whole)
        columns[component.name] = column_of(lists)
    return columns


def column_of(lists: Any) -> Any:
    """Return Lists as what users hold."""
    is_sparse = isinstance(lists, SparseLists)
    return (sparse_result if is_sparse else result)(lists, with_objects=True)


def lists_of(
    data: SavedData,
    options: ReadSettings,
    names: Sequence[str] | None = None,
    cycle_length: int = 1,
    shard: int | None = None,
) -> Generator[tuple[int, dict[str, Values]], None, None]:
    """Yield numbers of elements, and the values of their components: shard by shard, or in turns of so many shards.

    TensorFlow takes one element of each of as many shards as there are processors.
    """
    chosen = {component.name for component in data.chosen(names)}
    places = [(c, place) for place, c in enumerate(data.components) if c.name in chosen]
    k = len(data.components)
    blocks = _blocks(data, data.files if shard is None else data.shards[shard], options)
    if cycle_length > 1:
        shards = [_blocks(data, files, options) for files in data.shards]
        blocks = _in_turns(shards, cycle_length, k)
    for block in blocks:
        yield len(block) // k, {c.name: parsed(c, block[place::k]) for c, place in places}


def elements_of(
    data: SavedData, options: ReadSettings, cycle_length: int = 1, shard: int | None = None
) -> Generator[dict[str, Any], None, None]:
    """Yield elements in the order of :func:`lists_of`, or those of one shard."""
    resolve(data, options)
    for n, lists in lists_of(data, options, None, cycle_length, shard):
        columns = {name: column_of(own) for name, own in lists.items()}
        for number in range(n):
            rows = {name: row_of(column, number) for name, column in columns.items()}
            yield {name: row if row.shape else row[()] for name, row in rows.items()}


def _blocks(data: SavedData, files: Sequence[str], options: ReadSettings) -> Iterator[Block]:
    k = len(data.components)
    for file in files if k else ():
        with closing(RecordStream(file, replace(options, compression="infer"))) as stream:
            n = 1
            while (block := stream.next_block(n * k)) is not None:
                if len(block) % k:
                    detail = f"the file ends after {plural(len(block) % k, 'record')} of an element, which has {k}"
                    raise errors.DataLossError(Reason.TRUNCATED, source=file, detail=detail)
                yield block
                n = max(_BLOCK_BYTES * len(block) // k // max(block.nbytes, 1), 1)


def _in_turns(shards: list[Iterator[Block]], cycle_length: int, k: int) -> Iterator[Block]:
    """Yield the elements of `k` records of some shards in turns, of so many shards at a time.

    A shard that has ended still has a turn, without an element; then the next shard takes its place.
    """
    waiting, nothing = iter(shards), Block.from_records([])
    slots = [(shard, nothing) for shard in islice(waiting, cycle_length)]
    while slots:
        slots = [(shard, block if len(block) else next(shard, nothing)) for shard, block in slots]
        blocks = [block for _, block in slots if len(block)]
        # Records of each; as many as all have, unless one has just ended.
        n = min(map(len, blocks)) if len(blocks) == len(slots) else k
        if blocks:
            order = np.arange(n * len(blocks)).reshape(len(blocks), n // k, k)
            joined = Block.concat([block[:n] for block in blocks])
            yield joined.take(order.transpose(1, 0, 2).reshape(-1))
        left = []
        for shard, block in slots:
            if len(block):
                left.append((shard, block[n:]))
            elif (following := next(waiting, None)) is not None:
                left.append((following, nothing))
        slots = left


def resolve(data: SavedData, options: ReadSettings) -> None:
    """Find out by the records what the spec leaves open: shapes in a snapshot, the sizes of sparse tensors.

    That takes reading them once more; whole columns do without.
    """
    if unknown := tuple(c.name for c in data.components if not c.is_settled):
        # Only a run's name is its own.
        read = _shapes.__wrapped__ if data.run == CHUNKS else _shapes
        shapes = read(data.place, data.run, unknown, options)
        data.components = [
            c if c.is_settled else c._replace(shape=shapes.get(c.name, (1,) * len(c.shape or ())))
            for c in data.components
        ]


@lru_cache(maxsize=16)
def _shapes(
    place: str, _run: str, names: tuple[str, ...], options: ReadSettings
) -> dict[str, Shape]:
    shapes: dict[str, Any] = {}
    for _, lists in lists_of(SavedData(place, options.storage_options), options, names):
        for name, own in lists.items():
            if isinstance(own, SparseLists):
                shapes[name] = tuple(map(max, shapes.get(name, own.sizes), own.sizes))
            else:
                shape = tuple(map(_size, own.levels))
                pairs = zip(shapes.get(name, shape), shape, strict=True)
                shapes[name] = tuple(one if one == other else None for one, other in pairs)
    return shapes


def _size(level: Any) -> int | None:
    """Return the length of all rows; None if they have several, and 0 of none."""
    if isinstance(level, int):
        return level
    return int(level[0]) if level.size and (level == level[0]).all() else None


def _settled(component: Component, lists: Values) -> Values:
    """Fix the dimensions that no element of a snapshot varies."""
    if component.shape is not None:
        return lists
    shape = tuple(map(_size, lists.levels))
    pairs = zip(lists.levels, shape, strict=True)
    levels = [level if size is None else size for level, size in pairs]
    return lists.with_(levels=tuple(levels), type=lists.type._replace(shape=shape))


# -------------------------------------------------------------------------- one component


def parsed(component: Component, records: Block) -> Values:
    """Return the values of one component in some elements."""
    try:
        if component.form == "tensor":
            return _tensors(records, component.dtype, component.shape)
        return _FORMS[component.form](component, [_variants(record) for record in records])
    except InvalidArgumentError as error:
        raise error.at(key=component.name) from None
    except (WireError, IndexError, StopIteration, ValueError, KeyError) as error:
        place = records.place(0) if len(records) else ""
        detail = f"a record is not the {component.form} that the spec says ({type(error).__name__}, after {place})"
        raise argument_error(detail, Reason.MALFORMED, key=component.name) from None


def _type(dtype: str | None, shape: Shape | None, *, missing: bool = False) -> Type:
    numbers = tensor_type(dtype).dtype
    own: Any = opened("", np.empty(0, numbers), "strict")
    kind = Kind.BYTES if numbers.hasobject else own.type.kind
    return Type(kind, tensor_type(dtype).name, shape, missing=missing)


def empty(component: Component) -> Values:
    """Return a component of no elements."""
    none = Block.from_records([])
    if component.form in ("tensor", "optional"):
        missing = component.form == "optional"
        return _tensors(none, component.dtype, component.shape or (), missing=missing)
    return _FORMS[component.form](component, [])


def _tensors(
    records: Block, dtype: str | None, shape: Shape | None, *, missing: bool = False
) -> Lists:
    kind, n = tensor_type(dtype), len(records)
    if shape is None:
        shape = (None,) * (parse_tensor(records[0]).ndim if n else 0)
    if shape == () and kind.name == "string" and (flat := _short_strings(records)) is not None:
        return Lists(n, _type(dtype, (), missing=missing), (), flat)
    if None not in shape:
        array = parse_tensors(records, kind.name, shape=shape)  # type: ignore[arg-type]
        return Lists(n, _type(dtype, shape, missing=missing), shape, _flat(array))  # type: ignore[arg-type]
    sizes, flat = _of_any_shape(records, kind.name, len(shape))
    _check_sizes(records, sizes, shape)
    levels: list[Any] = []
    for dim, size in enumerate(shape):
        n_rows = np.prod(sizes[:, :dim], axis=1, dtype=np.int64)
        levels.append(np.repeat(sizes[:, dim], n_rows) if size is None else size)
    return Lists(n, _type(dtype, shape), tuple(levels), flat)


def _check_sizes(records: Block, sizes: Int64Array, shape: Shape) -> None:
    expected = np.array([-1 if size is None else size for size in shape], np.int64)
    first = arrays.first_true(((sizes != expected) & (expected >= 0)).any(axis=1))
    if first is not None:
        detail = f"the tensor has shape {sizes[first].tolist()}, expected {expected.tolist()}"
        raise records.place(first).locate(argument_error(detail, Reason.BAD_SHAPE))


def _short_strings(records: Block) -> arrays.ByteRanges | None:
    """Return where the strings of scalar tensors are, if all are short."""
    offsets, lengths = records.offsets, records.lengths
    n_prefix = len(_SCALAR_STRING) + 2
    if not len(records) or lengths.min() < n_prefix or lengths.max() > n_prefix + _SHORT:
        return None
    heads = records.data[offsets[:, None] + np.arange(n_prefix)]
    size = lengths - n_prefix
    is_plain = (heads[:, :-2] == np.frombuffer(_SCALAR_STRING, np.uint8)).all()
    if is_plain and (heads[:, -2] == size + 1).all() and (heads[:, -1] == size).all():
        splits = row_splits(size)
        data = arrays.gather(records.data, offsets + n_prefix, size, splits)
        return arrays.ByteRanges(data, splits[:-1], size)
    return None


def _flat(array: AnyArray) -> Any:
    flat = array.reshape(-1)
    return arrays.ByteItems.of(flat.tolist()) if flat.dtype.hasobject else flat


def _of_any_shape(records: Block, dtype: str, rank: int) -> tuple[Int64Array, Any]:
    groups: list[tuple[AnyArray, AnyArray]] = []
    lengths, members = np.unique(records.lengths, return_inverse=True)
    order = np.argsort(members, kind="stable")
    bounds = row_splits(np.bincount(members, minlength=len(lengths)).astype(np.int64))
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        numbers = order[start:stop]
        try:
            groups.append((numbers, parse_tensors(records[numbers], dtype)))
        except InvalidArgumentError as error:
            if error.reason is not Reason.BAD_SHAPE:
                raise
            single = [numbers[i : i + 1] for i in range(len(numbers))]
            groups += [(number, parse_tensors(records[number], dtype)) for number in single]
    sizes = np.zeros((len(records), rank), np.int64)
    for numbers, array in groups:
        if array.ndim - 1 != rank:
            detail = f"the tensor has {plural(array.ndim - 1, 'dimension')}, expected {rank}"
            raise records.place(int(numbers[0])).locate(argument_error(detail, Reason.BAD_SHAPE))
        sizes[numbers] = array.shape[1:]
    splits = row_splits(np.prod(sizes, axis=1, dtype=np.int64))
    flat = np.empty(splits[-1], tensor_type(dtype).dtype)
    for numbers, array in groups:
        values = array.reshape(len(numbers), -1)
        flat[splits[numbers][:, None] + np.arange(values.shape[1])] = values
    return sizes, _flat(flat)


# ------------------------------------------------------------------------------- variants

Variant = tuple[bytes, bytes, list[bytes]]
"""A type name, metadata, and serialised tensors."""
Records = list[tuple[tuple[int, ...], list[Variant]]]
"""The shape of each variant tensor, and its elements."""


def _variants(record: bytes) -> tuple[tuple[int, ...], list[Variant]]:
    found: dict[int, Any] = dict(fields(record))
    dims = [dict(fields(dim)).get(1, 0) for n, dim in fields(found.get(2, b"")) if n == 2]
    if found.get(1) != VARIANT:
        raise ValueError("not a variant")
    content, at, lengths = found.get(4, b""), 0, []
    for _ in range(int(np.prod(dims, dtype=np.int64))):
        length, at = read_varint(content, at, len(content))
        lengths.append(length)
    variants = []
    for length in lengths:
        own = list(fields(content[at : at + length]))
        at += length
        parts = dict(own)
        tensors = [value for number, value in own if number == 3]
        variants.append((parts.get(1, b""), parts.get(2, b""), tensors))
    return tuple(dims), variants


def _ragged(component: Component, records: Records) -> Lists:
    """Return ragged tensors: of an element, or of each row of a batch."""
    shape, n_splits = component.shape or (), component.ragged_rank
    n_outer = len(records[0][0]) if records else 0
    n_own = n_splits - n_outer  # splits in each variant
    if n_own < 0 or any(len(dims) != n_outer for dims, _ in records):
        raise ValueError("variants of several ranks")
    tensors = [tensors for _, variants in records for _, _, tensors in variants]
    serialized = Block.from_records([own[n_own] for own in tensors])
    values = _tensors(serialized, component.dtype, (None, *shape[n_splits + 1 :]))
    levels: list[Any] = []
    for dim in range(n_outer):  # the rows of a batch, and of batches of them
        n_rows = [math.prod(dims[:dim]) for dims, _ in records]
        levels.append(np.repeat(np.array([dims[dim] for dims, _ in records], np.int64), n_rows))
    for level in range(n_own):
        splits = [parse_tensor(own[level], np.int64) for own in tensors]
        if not level:
            levels.append(np.array([each.size - 1 for each in splits], np.int64))
        levels.append(np.concatenate([np.empty(0, np.int64), *map(np.diff, splits)]))
    levels += values.levels[1:] if n_own else values.levels
    own = values.type._replace(shape=(*[None] * (n_splits + 1), *shape[n_splits + 1 :]))
    return Lists(len(records), own, tuple(levels), values.flat)


def _sparse(component: Component, records: Records) -> SparseLists:
    """Return sparse tensors, three tensors each; unknown sizes are the largest."""
    rank = len(component.shape or ())
    indices, values, dense = [], [], list[list[int]]()
    for number, (dims, variants) in enumerate(records):
        is_batch = len(dims) > 1
        for row in range(len(variants) // 3):
            three = variants[3 * row : 3 * row + 3]
            places, own, size = (parse_tensor(tensors[0]) for _, _, tensors in three)
            before = [number, row] if is_batch else [number]
            indices.append(np.hstack([np.tile(np.array(before), (len(places), 1)), places]))
            values.append(own)
            dense.append([len(variants) // 3, *size.tolist()] if is_batch else size.tolist())
    rank = len(dense[0]) if dense else rank
    known = component.shape or (None,) * rank
    largest = np.array(dense or [[1] * rank], np.int64).max(0).tolist()
    sizes = [most if size is None else size for most, size in zip(largest, known, strict=True)]
    flat = np.concatenate([np.empty(0, tensor_type(component.dtype).dtype), *values])
    whole = np.concatenate([np.empty((0, rank + 1), np.int64), *indices])
    lists: Any = opened(component.name, SparseTensor(whole, flat, [len(records), *sizes]), "strict")
    values_type = _type(component.dtype, lists.values.type.shape)
    return SparseLists(lists.values.with_(type=values_type), lists.coordinates, lists.sizes)


def _optional(component: Component, records: Records) -> Lists:
    tensors = [variants[0][2] for _, variants in records]
    present = np.array([bool(own) for own in tensors], np.bool_)
    own = Block.from_records([items[0] for items in tensors if items])
    return scattered(_tensors(own, component.dtype, component.shape, missing=True), present)


_FORMS: dict[str, Any] = {"ragged": _ragged, "sparse": _sparse, "optional": _optional}


# ------------------------------------------------------------------- a file of Examples


def schema_of_saved(data: SavedData, options: ReadSettings) -> Schema:
    """Return how the Examples of a saved data set are parsed."""
    resolve(data, options)
    items = {c.name: item_of(c.name, empty(c), lossless=True) for c in data.chosen(None)}
    return Schema.of_items(items)


def examples_of(data: SavedData, options: ReadSettings) -> Generator[Block, None, None]:
    """Yield the elements as Examples."""
    schema = schema_of_saved(data, options)
    for n, lists in lists_of(data, options):
        none = [_NO_FEATURES] * n
        yield encode_lists(stored(lists, schema), n) if schema else Block.from_records(none)


class ExampleFile:
    """The Examples of a saved data set: a file that can only be read on."""

    def __init__(self, place: str, storage_options: StorageOptions = None) -> None:
        self.name = place
        settings = ReadSettings(storage_options=storage_options)
        self._blocks = examples_of(SavedData(place, storage_options), settings)
        self._ready = memoryview(b"")
        self._is_closed = False

    def read(self, n_bytes: int) -> bytes:
        """Return the next bytes, none at the end."""
        if self._is_closed:
            detail = "the file is closed"
            raise errors.FailedPreconditionError(Reason.CLOSED, source=self.name, detail=detail)
        while not self._ready:
            if (block := next(self._blocks, None)) is None:
                return b""
            self._ready = memoryview(frame(block))
        data, self._ready = self._ready[:n_bytes], self._ready[n_bytes:]
        return data.tobytes()

    def close(self) -> None:
        """Close the file that is being read."""
        self._is_closed = True
        self._blocks.close()
