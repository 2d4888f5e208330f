"""Batches as tf.data makes them: sparse tensors stacked, arrays padded."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.dataset import batching
from tfrecord_lite.dataset.batching import Batch
from tfrecord_lite.dataset.chunks import ObjectChunk
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from tfrecord_lite.dataset.plan import Content


@dataclass(frozen=True, kw_only=True)
class StackedBatch(Batch):
    """Batches of elements, sparse tensors included."""

    def _cut(self, chunk: Any) -> Any:
        if isinstance(chunk, ObjectChunk):
            return ObjectChunk([_stacked(chunk.items)])
        return super()._cut(chunk)


def _stacked(elements: list[Any]) -> Any:
    first = elements[0]
    if isinstance(first, dict) and all(
        type(each) is dict and each.keys() == first.keys() for each in elements
    ):
        return {key: _stacked([each[key] for each in elements]) for key in first}
    if isinstance(first, tuple) and not hasattr(first, "_fields"):
        return tuple(_stacked(list(parts)) for parts in zip(*elements, strict=True))
    if isinstance(first, SparseTensor):
        return _stacked_sparse(elements)
    if isinstance(first, RaggedTensor):
        detail = "ragged tensors cannot be stacked; parse whole batches, by batch before map"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return batching.stack(elements)


def _stacked_sparse(parts: list[SparseTensor]) -> SparseTensor:
    """Stack along a new first dimension; the other sizes are the largest of all parts."""
    if len({part.rank for part in parts}) != 1:
        detail = "the sparse tensors of a batch must have the same number of dimensions"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    counts = [len(part.indices) for part in parts]
    numbers = np.repeat(np.arange(len(parts)), counts)  # the part that each value belongs to
    indices = np.column_stack([numbers, np.concatenate([part.indices for part in parts])])
    shape = np.max([part.dense_shape for part in parts], axis=0)
    values: Any = np.concatenate([np.asarray(part.values) for part in parts])
    return SparseTensor(indices, values, [len(parts), *shape.tolist()])


@dataclass(frozen=True, kw_only=True)
class PaddedBatch(Batch):
    """Batches of elements, whose arrays are padded to one shape."""

    gives: ClassVar[Content | None] = "objects"
    shapes: Any
    """The shapes, in the structure of an element or a part of it; None for the largest sizes."""
    fills: Any
    """The padding, likewise; None for zeros and empty strings."""

    def _cut(self, chunk: Any) -> Any:
        return ObjectChunk([_padded(chunk.elements(), self.shapes, self.fills)])


def _padded(elements: list[Any], shapes: Any, fills: Any) -> Any:
    first = elements[0]
    if isinstance(first, dict):
        return {
            key: _padded([each[key] for each in elements], _of(shapes, key), _of(fills, key))
            for key in first
        }
    if isinstance(first, tuple):
        return tuple(
            _padded(list(parts), _of(shapes, i), _of(fills, i))
            for i, parts in enumerate(zip(*elements, strict=True))
        )
    if isinstance(first, (SparseTensor, RaggedTensor)):
        detail = "padded_batch needs dense tensors; use tf.sparse.to_dense first"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return _filled(elements, shapes, fills)


def _of(structure: Any, key: Any) -> Any:
    """Return the part of a structure with that key; a single value is for all keys."""
    is_parts = isinstance(structure, dict if isinstance(key, str) else tuple)
    return structure[key] if is_parts else structure


def _filled(elements: list[Any], shape: Any, fill: Any) -> Any:
    arrays = [np.asarray(each, object if isinstance(each, bytes) else None) for each in elements]
    dtype = arrays[0].dtype
    if fill is None:
        fill = b"" if dtype.kind == "O" else dtype.type(0)
    out = np.full((len(arrays), *_sizes([array.shape for array in arrays], shape)), fill, dtype)
    for i, array in enumerate(arrays):
        place: tuple[Any, ...] = (i, *map(slice, array.shape))
        out[place] = array
    return out


def _sizes(found: list[tuple[int, ...]], wanted: Any) -> list[int]:
    """Return the padded shape; None and -1 stand for the largest size."""
    if len({len(shape) for shape in found}) != 1:
        detail = "the arrays of a batch must have the same number of dimensions"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    largest = [max(sizes) for sizes in zip(*found, strict=True)]
    if wanted is None:
        return largest
    given = [-1 if size is None else int(size) for size in wanted]
    sizes = [most if size < 0 else size for size, most in zip(given, largest, strict=False)]
    if len(given) != len(largest) or any(map(operator.lt, sizes, largest)):
        detail = f"arrays of up to {largest} do not fit the padded shape {given}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    return sizes
