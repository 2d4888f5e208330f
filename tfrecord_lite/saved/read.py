"""The records of a saved data set as Lists, one per component.

A block of ``n`` elements has ``n x k`` records; those of component ``c`` are ``block[c::k]``, TensorProtos.
Numbers of one shape are copied at once (:func:`~tfrecord_lite.parse_tensors`). Ragged, sparse and optional
components are variants: messages of a type name, metadata and tensors, inside a string tensor's content.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, ByteItems, ByteRanges, Int64Array, gather, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import SparseTensor
from tfrecord_lite.convert.lists import Joiner, Lists, SparseLists, row_of, scattered
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.restore import outer_rank, result, sparse_result
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason, plural
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.saved.folder import SavedData
from tfrecord_lite.saved.spec import VARIANT, Component, Shape, fields
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import Type
from tfrecord_lite.tensors.dtypes import tensor_type
from tfrecord_lite.tensors.parse import parse_tensor, parse_tensors
from tfrecord_lite.wire.scalar import WireError, read_varint

_BLOCK_BYTES = 4 * 1024 * 1024
"""About the bytes of records that are parsed at once."""
_SCALAR_STRING = b"\x08\x07\x12\x00\x22"
"""How the TensorProto of one string begins, before the lengths of its content."""
_SHORT = 126
"""The longest string whose own length, and that of the content with it, take a byte each."""

Values: TypeAlias = Any
"""Lists, or SparseLists."""


def columns_of(
    data: SavedData,
    names: Sequence[str] | None = None,
    num_records: int | None = None,
    options: ReadSettings | None = None,
) -> dict[str, Any]:
    """Return whole columns of a saved data set, by the names of their components."""
    parts = {component.name: Joiner() for component in data.chosen(names)}
    left = num_records
    with closing(lists_of(data, options or ReadSettings(), names)) as blocks:
        for n, lists in blocks:
            for name, own in lists.items():
                parts[name].add(own if left is None or n <= left else own.cut([0, left])[0])
            left = None if left is None else left - n
            if left is not None and left <= 0:
                break
    columns = {}
    for component in data.chosen(names):
        whole = parts.pop(component.name).joined()
        columns[component.name] = column_of(empty(component) if whole is None else whole)
    return columns


def column_of(lists: Any) -> Any:
    """Return Lists as what users hold."""
    is_sparse = isinstance(lists, SparseLists)
    return (sparse_result if is_sparse else result)(lists, with_objects=True)


def lists_of(
    data: SavedData, options: ReadSettings, names: Sequence[str] | None = None
) -> Generator[tuple[int, dict[str, Values]], None, None]:
    """Yield numbers of elements, and the values of their components; shard by shard."""
    resolve(data, options)
    chosen = {component.name for component in data.chosen(names)}
    k = len(data.components)
    for block in _blocks(data, data.files, options):
        yield (
            len(block) // k,
            {
                component.name: parsed(component, block[c::k])
                for c, component in enumerate(data.components)
                if component.name in chosen
            },
        )


def elements_of(
    data: SavedData, options: ReadSettings, cycle_length: int = 1
) -> Generator[dict[str, Any], None, None]:
    """Yield one element after the other: shard by shard, or in turns of so many shards, as TensorFlow does.

    TensorFlow takes one element of each of as many shards as there are processors; when one ends, the next takes its place.
    """
    resolve(data, options)
    waiting = iter(data.shards)
    live = [_rows(data, files, options) for files in islice(waiting, cycle_length)]
    at = 0
    while live:
        at %= len(live)
        element = next(live[at], None)
        if element is not None:
            yield element
            at += 1
        elif (files := next(waiting, None)) is not None:
            live[at] = _rows(data, files, options)
        else:
            live.pop(at)


def _rows(data: SavedData, files: Sequence[str], options: ReadSettings) -> Iterator[dict[str, Any]]:
    k = len(data.components)
    for block in _blocks(data, files, options):
        columns = {c.name: column_of(parsed(c, block[i::k])) for i, c in enumerate(data.components)}
        for number in range(len(block) // k):
            rows = {name: row_of(column, number) for name, column in columns.items()}
            yield {name: row if row.shape else row[()] for name, row in rows.items()}


def _blocks(data: SavedData, files: Sequence[str], options: ReadSettings) -> Iterator[Block]:
    """Yield the records of whole elements, about a few megabytes at once."""
    k = len(data.components)
    for file in files if k else ():
        with closing(RecordStream(file, replace(options, compression="infer"))) as stream:
            n = 1
            while (block := stream.next_block(n * k)) is not None:
                if len(block) % k:
                    detail = f"the file ends after {plural(len(block) % k, 'record')} of an element, which has {k}"
                    raise DataLossError(Reason.TRUNCATED, source=file, detail=detail)
                yield block
                n = max(_BLOCK_BYTES * len(block) // k // max(block.nbytes, 1), 1)


def resolve(data: SavedData, options: ReadSettings) -> None:
    """Find out by the records what the spec leaves open: shapes in a snapshot, the sizes of sparse tensors."""
    unknown = {
        c: component
        for c, component in enumerate(data.components)
        if component.shape is None or (component.form == "sparse" and None in component.shape)
    }
    if not unknown:
        return
    seen: dict[int, list[Any]] = {c: [] for c in unknown}
    k = len(data.components)
    for block in _blocks(data, data.files, options):
        for c, component in unknown.items():
            records = block[c::k]
            if component.form == "sparse":
                seen[c] += _sizes([_variants(record) for record in records])
            elif component.dtype is None or component.form != "tensor":
                detail = "nothing says what these variants are: a snapshot has no spec"
                raise InvalidArgumentError(Reason.UNSUPPORTED, key=component.name, detail=detail)
            else:
                rank = parse_tensor(records[0]).ndim
                seen[c] += _of_any_shape(records, component.dtype, rank)[0].tolist()
    for c, component in unknown.items():
        sizes = np.array(seen[c] or [[1] * len(component.shape or ())], np.int64)
        if component.form == "sparse":
            known = component.shape or (None,) * sizes.shape[1]
            shape: Shape = tuple(
                int(n) if size is None else size
                for n, size in zip(sizes.max(0), known, strict=True)
            )
        else:
            is_one = (sizes == sizes[:1]).all(0)
            shape = tuple(int(n) if one else None for n, one in zip(sizes[0], is_one, strict=True))
        data.components[c] = component._replace(shape=shape)


# -------------------------------------------------------------------------- one component


def parsed(component: Component, records: Block) -> Values:
    """Return the values of one component in some elements."""
    try:
        if component.form == "tensor":
            return _tensors(records, component.dtype, component.shape)
        variants = [_variants(record) for record in records]
        return _FORMS[component.form](component, variants)
    except InvalidArgumentError as error:
        raise error.at(key=component.name) from None
    except (WireError, IndexError, StopIteration, ValueError, KeyError) as error:
        place = records.place(0) if len(records) else ""
        detail = f"a record is not the {component.form} that the spec says ({type(error).__name__}, after {place})"
        raise InvalidArgumentError(Reason.MALFORMED, key=component.name, detail=detail) from None


def _type(dtype: str | None, shape: Shape | None, *, missing: bool = False) -> Type:
    numbers = tensor_type(dtype).dtype
    own: Any = opened("", np.empty(0, numbers), "strict")
    kind = Kind.BYTES if numbers.hasobject else own.type.kind
    return Type(kind, tensor_type(dtype).name, shape, missing=missing)


def empty(component: Component) -> Values:
    """Return a component of no elements."""
    none = Block.from_records([])
    if component.form in ("tensor", "optional"):
        return _tensors(
            none, component.dtype, component.shape or (), missing=component.form == "optional"
        )
    return _FORMS[component.form](component, [])


def _tensors(
    records: Block, dtype: str | None, shape: Shape | None, *, missing: bool = False
) -> Lists:
    """Parse plain tensors; those of several shapes in groups of one length each."""
    kind, n = tensor_type(dtype), len(records)
    if shape == () and kind.name == "string":
        flat = _short_strings(records)
        if flat is not None:
            return Lists(n, _type(dtype, (), missing=missing), (), flat)
    if shape is not None and None not in shape:
        array = parse_tensors(records, kind.name, shape=shape)  # type: ignore[arg-type]
        return Lists(n, _type(dtype, shape, missing=missing), shape, _flat(array))  # type: ignore[arg-type]
    sizes, flat = _of_any_shape(records, kind.name, len(shape or ()))
    _check_sizes(records, sizes, shape)
    rank = outer_rank(shape or ())
    levels: list[Any] = []
    for dim, size in enumerate(shape or ()):
        if dim >= rank and size is not None:
            levels.append(size)
        else:
            n_rows = np.prod(sizes[:, :dim], axis=1, dtype=np.int64)
            levels.append(np.repeat(sizes[:, dim], n_rows))
    # Dimensions before the last one that varies are all rows of a RaggedTensor.
    varying = (*[None] * rank, *(shape or ())[rank:])
    return Lists(n, _type(dtype, varying), tuple(levels), flat)


def _check_sizes(records: Block, sizes: Int64Array, shape: Shape | None) -> None:
    for dim, size in enumerate(shape or ()):
        wrong = np.flatnonzero((sizes[:, dim] != size) & (size is not None))
        if wrong.size:
            found = sizes[wrong[0]].tolist()
            detail = f"the tensor has shape {found}, expected {[-1 if s is None else s for s in shape or ()]}"
            raise records.place(int(wrong[0])).locate(
                InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
            )


def _short_strings(records: Block) -> ByteRanges | None:
    """Return where the strings of scalar tensors are, if all are short; None otherwise."""
    offsets, lengths = records.offsets, records.lengths
    n_prefix = len(_SCALAR_STRING) + 2
    if not len(records) or lengths.min() < n_prefix or lengths.max() > n_prefix + _SHORT:
        return None
    heads = records.data[offsets[:, None] + np.arange(n_prefix)]
    size = lengths - n_prefix
    is_plain = (heads[:, :-2] == np.frombuffer(_SCALAR_STRING, np.uint8)).all()
    if is_plain and (heads[:, -2] == size + 1).all() and (heads[:, -1] == size).all():
        splits = row_splits(size)
        return ByteRanges(gather(records.data, offsets + n_prefix, size, splits), splits[:-1], size)
    return None


def _flat(array: AnyArray) -> Any:
    flat = array.reshape(-1)
    return ByteItems.of(flat.tolist()) if flat.dtype.hasobject else flat


def _of_any_shape(records: Block, dtype: str, rank: int) -> tuple[Int64Array, Any]:
    """Return the shape of each tensor, and all values."""
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
            groups += [
                (numbers[i : i + 1], parse_tensors(records[numbers[i : i + 1]], dtype))
                for i in range(len(numbers))
            ]
    sizes = np.zeros((len(records), rank), np.int64)
    for numbers, array in groups:
        if array.ndim - 1 != rank:
            detail = f"the tensor has {plural(array.ndim - 1, 'dimension')}, expected {rank}"
            misfit = InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
            raise records.place(int(numbers[0])).locate(misfit)
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


def _variants(record: bytes) -> tuple[tuple[int, ...], list[Variant]]:
    """Return the shape of a variant tensor, and its elements."""
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


def _ragged(component: Component, records: list[tuple[tuple[int, ...], list[Variant]]]) -> Lists:
    """Return ragged tensors: of an element, or of each row of a batch, with as many splits less."""
    shape, n_splits = component.shape, component.ragged_rank
    if shape is None or None in shape[n_splits + 1 :]:
        detail = "ragged tensors whose inner dimensions vary, or are not known, cannot be read"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
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
    own = replace(values.type, shape=(*[None] * (n_splits + 1), *shape[n_splits + 1 :]))
    return Lists(len(records), own, tuple(levels), values.flat)


def _sparse(
    component: Component, records: list[tuple[tuple[int, ...], list[Variant]]]
) -> SparseLists:
    """Return sparse tensors: three tensors of an element, or of each row of a batch."""
    indices, values = [np.empty((0, len(component.shape or ()) + 1), np.int64)], []
    for number, (dims, variants) in enumerate(records):
        for row in range(len(variants) // 3):
            places, own, _ = (
                parse_tensor(tensors[0]) for _, _, tensors in variants[3 * row : 3 * row + 3]
            )
            before = [number] if len(dims) == 1 else [number, row]
            indices.append(np.hstack([np.tile(np.array(before), (len(places), 1)), places]))
            values.append(own)
    flat = np.concatenate([np.empty(0, tensor_type(component.dtype).dtype), *values])
    sizes = [1 if size is None else size for size in component.shape or ()]
    column = SparseTensor(np.concatenate(indices), flat, [len(records), *sizes])
    lists: Any = opened(component.name, column, "strict")
    values_type = _type(component.dtype, lists.values.type.shape)
    return SparseLists(lists.values.with_(type=values_type), lists.places, lists.sizes)


def _sizes(records: list[tuple[tuple[int, ...], list[Variant]]]) -> list[list[int]]:
    """Return the dense shapes of sparse tensors; those of batches with their rows."""
    return [
        [*[len(variants) // 3] * (len(dims) - 1), *parse_tensor(tensors[0]).tolist()]
        for dims, variants in records
        for _, _, tensors in variants[2::3]
    ]


def _optional(component: Component, records: list[tuple[tuple[int, ...], list[Variant]]]) -> Lists:
    """Return values of which some are missing."""
    if component.shape is None or None in component.shape:
        detail = (
            "optional values whose shape varies cannot be read: a missing one is not an empty one"
        )
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    tensors = [variants[0][2] for _, variants in records]
    present = np.array([bool(own) for own in tensors], np.bool_)
    lists = _tensors(
        Block.from_records([own[0] for own in tensors if own]),
        component.dtype,
        component.shape,
        missing=True,
    )
    return scattered(lists, present)


_FORMS: dict[str, Any] = {"ragged": _ragged, "sparse": _sparse, "optional": _optional}
