"""Stages that only the tf namespace has: elements from memory, and data sets inside of one.

They say where they stand by the number of elements given, and are run again up to there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable  # noqa: TC003 - of a dataclass
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.columns import RaggedTensor, SparseTensor
from tfrecord_lite.dataset import batching
from tfrecord_lite.dataset.batching import Batch
from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk, RecordChunk
from tfrecord_lite.dataset.feed import Elements, Feed
from tfrecord_lite.dataset.plan import Context, Kind, Source, Stage
from tfrecord_lite.dataset.records import Files
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.dataset.stages import Shard
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tf._record import BatchTensor, Neighbours, RecordTensor
from tfrecord_lite.tf._tensor import map_structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Pair, State

__all__ = [
    "Calls",
    "Concatenated",
    "Interleave",
    "PaddedBatch",
    "Records",
    "Slices",
    "StackedBatch",
    "Unbatch",
    "Zipped",
    "files_of",
    "rows_of",
]

_MOST_ELEMENTS = 1024


def rows_of(structure: Any) -> int:
    """Return the size that the first dimensions of all leaves have.

    Raises
    ------
    InvalidArgumentError
        ``WRONG_COUNT`` if they differ; ``BAD_SHAPE`` if a leaf has no dimensions.
    """
    sizes: set[int] = set()

    def add(leaf: Any) -> None:
        if isinstance(leaf, bytes) or not leaf.shape:
            detail = "slices are made of arrays; a single value has none"
            raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
        sizes.add(leaf.shape[0])

    map_structure(add, structure)
    if len(sizes) != 1:
        detail = f"slices of arrays that are {sorted(sizes)} long, expected one length"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    return sizes.pop()


@dataclass(frozen=True, kw_only=True)
class _Numbered(Source):
    """Elements that are known by number: every n-th of them."""

    n_parts: int = 1
    number: int = 0

    @property
    def kind(self) -> Kind:
        """Say that these may be anything."""
        return "objects"

    def part(self, n_parts: int, number: int) -> Source:
        """Return every n-th of these."""
        step, first = self.n_parts * n_parts, self.number + self.n_parts * number
        return replace(self, n_parts=step, number=first)


@dataclass(frozen=True, kw_only=True)
class Slices(_Numbered):
    """The rows of arrays."""

    arrays: Any
    n_rows: int

    def size(self) -> int | None:
        """Return the number of rows."""
        return len(range(self.number, self.n_rows, self.n_parts))

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        first = state["next"] if state else self.number
        step = self.n_parts * _MOST_ELEMENTS
        for start in range(first, self.n_rows, step):
            stop = min(start + step, self.n_rows)
            rows = [self._row(i) for i in range(start, stop, self.n_parts)]
            yield ObjectChunk(rows), {"next": start + len(rows) * self.n_parts}

    def _row(self, i: int) -> Any:
        return map_structure(lambda array: array[i], self.arrays)


@dataclass(frozen=True, kw_only=True)
class Calls(_Numbered):
    """What a function yields, called anew for each epoch."""

    function: Callable[[], Any]

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield it."""
        done = state["done"] if state else 0
        for i, element in enumerate(self.function()):
            if i >= done and i % self.n_parts == self.number:
                yield ObjectChunk([element]), {"done": i + 1}


@dataclass(frozen=True, kw_only=True)
class _Several(Source):
    """Elements of several plans. Whoever wants a part of them has to count them all."""

    inputs: tuple[Source, ...]

    @property
    def kind(self) -> Kind:
        """Say that these may be anything."""
        return "objects"

    def sizes(self) -> list[int] | None:
        """Return the number of elements of each; None if that is not known for all."""
        sizes = [size for each in self.inputs if (size := each.size()) is not None]
        return sizes if len(sizes) == len(self.inputs) else None

    def part(self, n_parts: int, number: int) -> Source:
        """Return every n-th of the elements."""
        return Shard(input=self, n_parts=n_parts, number=number)


@dataclass(frozen=True, kw_only=True)
class Concatenated(_Several):
    """The elements of one, and then of the next."""

    def size(self) -> int | None:
        """Return the number of elements."""
        sizes = self.sizes()
        return None if sizes is None else sum(sizes)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        first, where = (state["input"], state["feed"]) if state else (0, None)
        for i in range(first, len(self.inputs)):
            feed = Feed(partial(self.inputs[i].run, context), where if i == first else None)
            try:
                while (chunk := feed.take()) is not None:
                    yield ObjectChunk(chunk.elements()), {"input": i, "feed": feed.state()}
            finally:
                feed.close()


@dataclass(frozen=True, kw_only=True)
class Zipped(_Several):
    """Tuples of an element of each."""

    def size(self) -> int | None:
        """Return the number of tuples."""
        sizes = self.sizes()
        return None if sizes is None else min(sizes)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them, as long as all have one."""
        starts = state["feeds"] if state else [None] * len(self.inputs)
        pairs = zip(self.inputs, starts, strict=True)
        feeds = [Feed(partial(plan.run, context), start) for plan, start in pairs]
        try:
            elements = [Elements(feed) for feed in feeds]
            for items in zip(*elements, strict=False):
                yield ObjectChunk([items]), {"feeds": [each.state() for each in elements]}
        finally:
            for feed in feeds:
                feed.close()


@dataclass(frozen=True, kw_only=True)
class Records(Stage):
    """Records as tensors that know their neighbours; batches of them as tensors on their block."""

    @property
    def kind(self) -> Kind:
        """Say that these are objects."""
        return "objects"

    def size(self) -> int | None:
        """Return the number of records."""
        return self.input.size()

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed = self.feed(context, state["feed"] if state else None)
        try:
            while (chunk := feed.take()) is not None:
                yield ObjectChunk(_with_blocks(chunk)), {"feed": feed.state()}
        finally:
            feed.close()


def _with_blocks(chunk: Chunk) -> list[Any]:
    if isinstance(chunk, BatchChunk):
        return [BatchTensor(chunk[i : i + 1]) for i in range(len(chunk))]
    items = chunk.elements()
    if not isinstance(chunk, RecordChunk):
        return items
    near = Neighbours(chunk)
    return [RecordTensor(item, near, i) for i, item in enumerate(items)]


@dataclass(frozen=True, kw_only=True)
class Interleave(Stage):
    """The elements of data sets, one made of each element of the input, in turns.

    So many slots take turns, each with `block_length` elements of its data set; one whose
    data set has ended is given the next when its turn has come again.
    """

    counts: ClassVar[bool] = True
    function: Callable[[Any], Source]
    cycle_length: int
    block_length: int

    @property
    def kind(self) -> Kind:
        """Say that these may be anything."""
        return "objects"

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        done = state["done"] if state else 0
        feed = self.feed(context, None)
        slots: list[Feed | None] = [None] * self.cycle_length
        try:
            for i, element in enumerate(self._in_turns(context, Elements(feed), slots), 1):
                if i > done:
                    yield ObjectChunk([element]), {"done": i}
        finally:
            for each in (feed, *slots):
                if each is not None:
                    each.close()

    def _in_turns(
        self, context: Context, inputs: Elements, slots: list[Feed | None]
    ) -> Iterator[Any]:
        is_at_end = False
        turn = 0
        while not is_at_end or any(slot is not None for slot in slots):
            if slots[turn] is None and not is_at_end:
                found = next(inputs, self)
                is_at_end = found is self
                if not is_at_end:
                    slots[turn] = Feed(partial(self.function(found).run, context))
            slot = slots[turn]
            for _ in range(self.block_length):
                chunk = slot.take(1) if slot is not None else None
                if chunk is None:
                    slots[turn] = None
                    break
                yield chunk.elements()[0]
            turn = (turn + 1) % self.cycle_length


@dataclass(frozen=True, kw_only=True)
class Unbatch(Stage):
    """The rows of each element."""

    counts: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:
        """Say that these may be anything."""
        return "objects"

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed = self.feed(context, state["feed"] if state else None)
        try:
            elements = Elements(feed)
            for element in elements:
                whole = Slices(arrays=element, n_rows=rows_of(element))
                rows = [row for chunk, _ in whole.run(context, None) for row in chunk.elements()]
                if rows:
                    yield ObjectChunk(rows), {"feed": elements.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class StackedBatch(Batch):
    """So many elements at a time, sparse ones too."""

    def _cut(self, chunk: Any) -> Any:
        if isinstance(chunk, ObjectChunk):
            return ObjectChunk([_stacked(chunk.items)])
        return super()._cut(chunk)


def files_of(plan: Source, function: Callable[[Any], Source]) -> Files | None:
    """Return the files that a function makes of the rows of a plan; None if it is not that.

    Whoever interleaves files gets the library's own way to do that, which is much faster.
    """
    slices: Source = plan
    order: dict[str, Any] = {}
    if isinstance(plan, Shuffle) and isinstance(plan.input, Slices):
        slices = plan.input
        if plan.buffer_size >= slices.n_rows:
            order = {name: getattr(plan, name) for name in ("seed", "is_seeded", "reshuffles")}
    if not isinstance(slices, Slices) or (slices is not plan and not order):
        return None
    if not isinstance(slices.arrays, np.ndarray) or not 0 < slices.n_rows <= _MOST_FILES:
        return None
    rows = [row for chunk, _ in slices.run(Context(), None) for row in chunk.elements()]
    if not all(isinstance(row, bytes) for row in rows):
        return None
    made = [function(row) for row in rows]
    first = made[0]
    if not isinstance(first, Files) or first.seed is not None or first.cycle_length != 1:
        return None
    names: list[str] = []
    for each in made:
        if not isinstance(each, Files) or each != replace(first, names=each.names):
            return None
        names += each.names
    return replace(first, names=tuple(names), **order)


_MOST_FILES = 10_000


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
        detail = "ragged tensors cannot be stacked; parse batches, by batch before map"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return batching.stack(elements)


def _stacked_sparse(parts: list[SparseTensor]) -> SparseTensor:
    """Stack: number the parts by a first dimension; the others are as large as the largest."""
    if len({part.rank for part in parts}) != 1:
        detail = "sparse tensors of one batch must have as many dimensions each"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    counts = [len(part.indices) for part in parts]
    numbers = np.repeat(np.arange(len(parts)), counts)
    indices = np.column_stack([numbers, np.concatenate([part.indices for part in parts])])
    shape = np.max([part.dense_shape for part in parts], axis=0)
    values: Any = np.concatenate([np.asarray(part.values) for part in parts])
    return SparseTensor(indices, values, [len(parts), *shape.tolist()])


@dataclass(frozen=True, kw_only=True)
class PaddedBatch(Batch):
    """So many elements at a time, each array filled up to one shape."""

    shapes: Any
    """A structure like an element's, or part of it; None for the largest of the batch."""
    fills: Any

    @property
    def kind(self) -> Kind:
        """Say that these are arrays."""
        return "objects"

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
        detail = "padded_batch takes dense tensors; use tf.sparse.to_dense first"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return _filled(elements, shapes, fills)


def _of(structure: Any, key: Any) -> Any:
    """Return the part for a key; what is no structure of elements holds for all."""
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
    """Return the shape that is wanted; None and -1 stand for the largest there is."""
    if len({len(shape) for shape in found}) != 1:
        detail = "arrays of one batch must have as many dimensions each"
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
