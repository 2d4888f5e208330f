"""A saved data set as TensorFlow loads it: shards of TensorProtos, the spec, and the metadata."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, row_splits
from tfrecord_lite.block import SPARE_BYTES, Block, block_of
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.restore import outer_rank, result
from tfrecord_lite.errors import argument_error
from tfrecord_lite.files.names import SAVED, StorageOptions
from tfrecord_lite.files.output import open_output
from tfrecord_lite.files.urls import is_url
from tfrecord_lite.records.sink import RecordSink
from tfrecord_lite.saved.spec import VARIANT, Component, message, order_of, spec_of
from tfrecord_lite.tensors.dtypes import TensorType, tensor_type
from tfrecord_lite.tensors.serialize import leading_bytes, serialize_tensor
from tfrecord_lite.wire.scalar import varint

_ROWS_AT_ONCE = 4096


def write_columns(
    folder: str,
    structure: Any,
    columns: Mapping[str, Any],
    *,
    num_shards: int = 1,
    shard_sizes: Mapping[int, int] | None = None,
    compression: str = "",
    storage_options: StorageOptions = None,
    wrote: Callable[[int], object] = lambda _: None,
) -> None:
    """Write columns as a new run of a saved data set, to which the metadata are switched at the end.

    The rows go to equal shards, or to shards of these numbers and sizes.
    """
    values = {name: opened(name, column, "strict") for name, column in columns.items()}
    components = {name: _component(name, lists) for name, lists in values.items()}
    order = order_of(structure)
    counts = {name: values[name].n for name in order}
    if len(set(counts.values())) > 1:
        raise argument_error(f"the columns have several numbers of rows: {counts}")
    n = next(iter(counts.values()), 0)
    run = str(secrets.randbits(63))
    edges = [n * shard // num_shards for shard in range(num_shards + 1)]
    sizes = shard_sizes or (dict(enumerate(b - a for a, b in pairwise(edges))) if n else {})
    start = 0
    for shard, size in sizes.items():
        place = f"{folder}/{run}/{shard % 2**64:08}.shard"
        if not is_url(place):
            os.makedirs(place, exist_ok=True)  # noqa: PTH103 - may be a URL
        file = open_output(f"{place}/00000000.snapshot", storage_options=storage_options)
        sink = RecordSink(file, compression)
        with ExitStack() as stack:
            stack.callback(sink.abandon)
            for first in range(start, start + size, _ROWS_AT_ONCE):
                last = min(first + _ROWS_AT_ONCE, start + size)
                rows = {name: values[name].copies([first, last])[0] for name in order}
                parts = [_records(components[name], lists) for name, lists in rows.items()]
                sink.add_all(_interleaved(parts))
                wrote(last - first)
            sink.finish()
            stack.pop_all()
        sink.commit()
        start += size
    own = [components[name] for name in order]
    numbers = [tensor_type(c.dtype).number if c.form == "tensor" else VARIANT for c in own]
    dtypes, now = b"".join(map(varint, numbers)), time.time_ns() // 1000
    n_field = [(6, n)] if n else []
    metadata = message((2, run.encode()), (3, now), (4, 2), (5, dtypes), *n_field, (1000, 1))
    if not is_url(folder):
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - may be a URL
    for name, content in (("dataset_spec.pb", spec_of(structure, components)), (SAVED, metadata)):
        output = open_output(f"{folder}/{name}", atomic=True, storage_options=storage_options)
        output.write([content])
        output.finish()
        output.commit()


def _component(name: str, lists: Lists | SparseLists) -> Component:
    if isinstance(lists, SparseLists):
        return Component(name, "sparse", lists.values.type.dtype, lists.sizes)
    own, shape = lists.type, lists.type.shape or ()
    dtype = "string" if own.kind is None else own.dtype
    tensor_type(dtype)
    rank = outer_rank(shape)
    if rank > 1:
        return Component(name, "ragged", dtype, (*[None] * rank, *shape[rank:]), rank - 1)
    return Component(name, "optional" if own.missing else "tensor", dtype, shape)


def _interleaved(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    whole = Block.concat(parts)
    return whole.take(np.arange(len(whole)).reshape(len(parts), -1).T.reshape(-1))


def _records(component: Component, lists: Lists | SparseLists) -> Block:
    if isinstance(lists, SparseLists):
        return Block.from_records(list(_sparse(component, lists)))
    shape = component.shape or ()
    kind = tensor_type(component.dtype)
    if component.form == "tensor" and None not in shape and kind.name != "string":
        return _alike(np.ascontiguousarray(lists.flat).reshape(lists.n, -1), kind, shape)
    if component.form == "ragged":
        return Block.from_records(list(_ragged(component, lists)))
    column = result(lists, with_objects=True)
    if component.form == "optional":
        rows = zip(np.ma.getdata(column), lists.mask, strict=True)
        name = b"tensorflow::data::Optional"
        own = [(b"\x01", [_tensor(row, kind)]) if is_set else (b"\0", []) for row, is_set in rows]
        return Block.from_records([_variant((), [(name, *each)]) for each in own])
    return Block.from_records([_tensor(row, kind) for row in column])


def _alike(rows: AnyArray, kind: TensorType, shape: tuple[Any, ...]) -> Block:
    """Return tensors of one dtype and shape: the same bytes before the contents of each."""
    little = rows.dtype.newbyteorder("<")
    contents = np.empty((len(rows), 0), np.uint8)
    if rows.size:
        contents = rows.astype(little, copy=False).view(np.uint8).reshape(len(rows), -1)
    prefix = np.frombuffer(leading_bytes(kind, shape, contents.shape[1]), np.uint8)
    n_bytes = prefix.size + contents.shape[1]
    data = np.zeros(len(rows) * n_bytes + SPARE_BYTES, np.uint8)
    records = data[: len(rows) * n_bytes].reshape(len(rows), n_bytes)
    records[:, : prefix.size] = prefix
    records[:, prefix.size :] = contents
    lengths = np.full(len(rows), n_bytes, np.int64)
    return block_of(data, row_splits(lengths)[:-1], lengths)


def _tensor(value: Any, kind: TensorType) -> bytes:
    # Strings as objects: NumPy's own lose NULs at their ends.
    return serialize_tensor(np.asarray(value, kind.dtype))


def _variant(shape: tuple[int, ...], variants: list[tuple[bytes, bytes, list[bytes]]]) -> bytes:
    parts = []
    for name, metadata, tensors in variants:
        own = [(2, metadata)] if metadata else []
        parts.append(message((1, name), *own, *((3, tensor) for tensor in tensors)))
    dims = message(*((2, message((1, size))) for size in shape))
    content = b"".join([varint(len(part)) for part in parts] + parts)
    return message((1, VARIANT), (2, dims), (4, content))


def _ragged(component: Component, lists: Lists) -> Iterator[bytes]:
    kind = tensor_type(component.dtype)
    inner = (component.shape or ())[component.ragged_rank + 1 :]
    for i in range(lists.n):
        row = lists.part(i, i + 1)
        splits, n_rows = [], 1
        for level in row.levels[: component.ragged_rank + 1]:
            lengths = np.full(n_rows, level) if isinstance(level, int) else level
            splits.append(row_splits(np.asarray(lengths, np.int64)))
            n_rows = int(splits[-1][-1])
        flat = _values(row, (n_rows, *inner), kind)
        tensors = [_tensor(each, tensor_type("int64")) for each in splits[1:]]
        yield _variant((), [(b"RaggedTensorVariant", b"", [*tensors, _tensor(flat, kind)])])


def _values(lists: Lists, shape: tuple[Any, ...], kind: Any) -> AnyArray:
    if kind.name != "string":
        return np.asarray(lists.flat).reshape(shape)
    flat = lists.flat.to_ranges()
    extents = zip(flat.starts.tolist(), flat.lengths.tolist(), strict=True)
    items = [flat.data[a : a + n].tobytes() for a, n in extents]
    return np.array([*items, None], object)[:-1].reshape(shape)


def _sparse(component: Component, lists: SparseLists) -> Iterator[bytes]:
    kind, int64 = tensor_type(component.dtype), tensor_type("int64")
    splits = row_splits(lists.values.lengths).tolist()
    places = np.stack([axis.flat for axis in lists.coordinates], 1)
    size = _tensor(np.array(lists.sizes, np.int64), int64)
    for i, (start, stop) in enumerate(pairwise(splits)):
        values = _values(lists.values.part(i, i + 1), (stop - start,), kind)
        tensors = [_tensor(places[start:stop], int64), _tensor(values, kind), size]
        yield _variant((3,), [(b"tensorflow::Tensor", b"", [tensor]) for tensor in tensors])
