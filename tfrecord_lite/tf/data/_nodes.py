"""Nodes of plans that only tf.data has: arrays, functions, data sets of data sets, padded batches.

The state of a source is the number of elements yielded, or the states of its inputs. Methods are
those of :class:`PlanNode`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.dataset.batching import Batch, stack
from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk
from tfrecord_lite.dataset.cutting import Feed, Pair, State, elements
from tfrecord_lite.dataset.plan import Content, PlanNode, Run, Source, Stage
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.dataset.sources import Files
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tf._parse_ahead import BatchTensor, ParsedGroups, RecordTensor
from tfrecord_lite.tf._tensor import as_array, map_structure
from tfrecord_lite.tf._unavailable import shape_error, unsupported

_CHUNK_SIZE = 1024
_MAX_FILES = 10_000
_OF_FILES = "names", "n_records", "marks"


def rows_of(structure: Any) -> int:
    """Return the size of the first dimension, which all leaves must share."""
    sizes: set[int] = set()

    def add(leaf: Any) -> None:
        if isinstance(leaf, bytes) or not leaf.shape:
            raise shape_error("a single value cannot be sliced; give an array")
        sizes.add(leaf.shape[0])

    map_structure(add, structure)
    if len(sizes) != 1:
        detail = f"arrays to slice have the lengths {sorted(sizes)}, expected the same length"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    return sizes.pop()


class Slices(Source):
    """The rows of arrays."""

    gives: ClassVar[Content | None] = "objects"
    arrays: Any
    n_rows: int

    def size(self) -> int | None:
        return len(range(self.number, self.n_rows, self.n_parts))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        first = state["next"] if state else self.number
        step = self.n_parts * _CHUNK_SIZE
        for start in range(first, self.n_rows, step):
            stop = min(start + step, self.n_rows)
            rows = [self._row(i) for i in range(start, stop, self.n_parts)]
            yield ObjectChunk(rows), {"next": start + len(rows) * self.n_parts}

    def _row(self, i: int) -> Any:
        return map_structure(lambda array: array[i], self.arrays)


class Calls(Source):
    """The elements that a function yields, called again for each epoch."""

    gives: ClassVar[Content | None] = "objects"
    function: Callable[[], Any]

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        done = state["done"] if state else 0
        for i, element in enumerate(self.function()):
            if i >= done and i % self.n_parts == self.number:
                yield ObjectChunk([element]), {"done": i + 1}


class Records(Stage):
    """Records, and batches of records, as tensors that know their block."""

    gives: ClassVar[Content | None] = "objects"
    is_one_to_one: ClassVar[bool] = True

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        with self.feed(run, state) as feed:
            while (chunk := feed.take()) is not None:
                yield ObjectChunk(_with_blocks(chunk)), {"feed": feed.state()}


def _with_blocks(chunk: Chunk) -> list[Any]:
    if isinstance(chunk, BatchChunk):
        return [BatchTensor(chunk[i : i + 1]) for i in range(len(chunk))]
    items = chunk.to_list()
    if not isinstance(chunk, Block):
        return items
    groups = ParsedGroups(chunk)
    return [RecordTensor(item, groups, i) for i, item in enumerate(items)]


class Interleave(Stage):
    """The elements of many data sets, one made from each input element, in turns.

    `cycle_length` slots take turns, each with `block_length` elements of its data set. When
    a data set ends, its slot gets the next one at its next turn.
    """

    gives: ClassVar[Content | None] = "objects"
    counts: ClassVar[bool] = True
    function: Callable[[Any], PlanNode]
    cycle_length: int
    block_length: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        done = state["done"] if state else 0
        feed = self.feed(run, None)
        slots: list[Feed | None] = [None] * self.cycle_length
        try:
            for i, element in enumerate(self._in_turns(run, elements(feed), slots), 1):
                if i > done:
                    yield ObjectChunk([element]), {"done": i}
        finally:
            for open_feed in (feed, *slots):
                if open_feed is not None:
                    open_feed.close()

    def _in_turns(self, run: Run, inputs: Iterator[Any], slots: list[Feed | None]) -> Iterator[Any]:
        is_at_end, turn = False, 0
        while not is_at_end or any(slot is not None for slot in slots):
            if slots[turn] is None and not is_at_end:
                opened = next(inputs, None)
                is_at_end = opened is None
                if opened is not None:
                    slots[turn] = Feed(partial(self.function(opened[0]).chunks, run))
            slot = slots[turn]
            for _ in range(self.block_length):
                chunk = slot.take(1) if slot is not None else None
                if chunk is None:
                    slots[turn] = None
                    break
                yield chunk.to_list()[0]
            turn = (turn + 1) % self.cycle_length


class Unbatch(Stage):
    """The rows of each element."""

    gives: ClassVar[Content | None] = "objects"
    counts: ClassVar[bool] = True

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        with self.feed(run, state) as feed:
            for element, _, _, after in elements(feed):
                rows = _rows_of(Slices(arrays=element, n_rows=rows_of(element)))
                if rows:
                    yield ObjectChunk(rows), {"feed": after}


def _rows_of(slices: Slices) -> list[Any]:
    return [row for chunk, _ in slices.chunks(Run(), None) for row in chunk.to_list()]


def files_of(plan: PlanNode, function: Callable[[Any], PlanNode]) -> Files | None:
    """Return the plan of the files that a function opens, target their names; None for other plans.

    Files are then interleaved by the library itself, which is much faster.
    """
    slices: PlanNode = plan
    order: dict[str, Any] = {}
    if isinstance(plan, Shuffle) and isinstance(plan.input, Slices):
        slices = plan.input
        if plan.buffer_size >= slices.n_rows:
            order = {name: getattr(plan, name) for name in ("seed", "is_seeded", "reshuffles")}
    if not isinstance(slices, Slices) or (slices is not plan and not order):
        return None
    if not isinstance(slices.arrays, np.ndarray) or not 0 < slices.n_rows <= _MAX_FILES:
        return None
    rows = _rows_of(slices)
    if not all(isinstance(row, bytes) for row in rows):
        return None
    results = [function(row) for row in rows]
    first = results[0]
    if not isinstance(first, Files) or first.seed is not None or first.cycle_length != 1:
        return None
    names: list[str] = []
    for result in results:
        if not isinstance(result, Files) or _settings(result) != _settings(first):
            return None
        names += result.names
    return replace(first, names=tuple(names), **order)


def _settings(files: Files) -> dict[str, Any]:
    """Return what a plan says of its files, besides their names and what is known of their records."""
    return {name: value for name, value in vars(files).items() if name not in _OF_FILES}


class StackedBatch(Batch):
    """Batches of elements, sparse tensors included."""

    def _cut(self, chunk: Any) -> Any:
        if isinstance(chunk, ObjectChunk):
            return ObjectChunk([stack(chunk.items, _stacked)])
        return super()._cut(chunk)


def _stacked(parts: list[Any]) -> SparseTensor:
    """Stack sparse tensors along a new first dimension; the other sizes are the largest of all parts."""
    if not isinstance(parts[0], SparseTensor):
        detail = "ragged tensors cannot be stacked; parse whole batches, by batch before map"
        raise unsupported(detail)
    if len({part.rank for part in parts}) != 1:
        raise shape_error("the sparse tensors of a batch must have the same number of dimensions")
    counts = [len(part.indices) for part in parts]
    numbers = np.repeat(np.arange(len(parts)), counts)  # the part that each value belongs to
    indices = np.column_stack([numbers, np.concatenate([part.indices for part in parts])])
    shape = np.max([part.dense_shape for part in parts], axis=0)
    values: Any = np.concatenate([np.asarray(part.values) for part in parts])
    return SparseTensor(indices, values, [len(parts), *shape.tolist()])


class PaddedBatch(Batch):
    """Batches of elements, whose arrays are padded to one shape."""

    gives: ClassVar[Content | None] = "objects"
    shapes: Any
    """The shapes, in the structure of an element or a part of it; None for the largest sizes."""
    fills: Any
    """The padding, likewise; None for zeros and empty strings."""

    def _cut(self, chunk: Any) -> Any:
        return ObjectChunk([_padded(chunk.to_list(), self.shapes, self.fills)])


def _padded(elements: list[Any], shapes: Any, fills: Any) -> Any:
    first = elements[0]
    if isinstance(first, dict):
        columns = {key: [element[key] for element in elements] for key in first}
        return {k: _padded(c, _of(shapes, k), _of(fills, k)) for k, c in columns.items()}
    if isinstance(first, tuple):
        parts = enumerate(zip(*elements, strict=True))
        return tuple(_padded(list(p), _of(shapes, i), _of(fills, i)) for i, p in parts)
    if isinstance(first, (SparseTensor, RaggedTensor)):
        raise unsupported("padded_batch needs dense tensors; use tf.sparse.to_dense first")
    return _filled(elements, shapes, fills)


def _of(structure: Any, key: Any) -> Any:
    """Return the part of a structure with that key; a single value is for all keys."""
    is_parts = isinstance(structure, dict if isinstance(key, str) else tuple)
    return structure[key] if is_parts else structure


def _filled(elements: list[Any], shape: Any, fill: Any) -> Any:
    arrays = list(map(as_array, elements))
    dtype = arrays[0].dtype
    if fill is None:
        fill = b"" if dtype.kind == "O" else dtype.type(0)
    out = np.full((len(arrays), *_sizes([array.shape for array in arrays], shape)), fill, dtype)
    for i, array in enumerate(arrays):
        place: tuple[Any, ...] = (i, *map(slice, array.shape))
        out[place] = array
    return out


def _sizes(shapes: list[tuple[int, ...]], padded_shape: Any) -> list[int]:
    """Return the padded shape; None and -1 stand for the largest size."""
    if len({len(shape) for shape in shapes}) != 1:
        raise shape_error("the arrays of a batch must have the same number of dimensions")
    largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
    if padded_shape is None:
        return largest
    target = [-1 if size is None else int(size) for size in padded_shape]
    sizes = [most if size < 0 else size for size, most in zip(target, largest, strict=False)]
    if len(target) != len(largest) or any(map(operator.lt, sizes, largest)):
        raise shape_error(f"arrays of up to {largest} do not fit the padded shape {target}")
    return sizes
