"""Sources that only tf.data has: arrays, functions, and other data sets, zipped or concatenated.

The state of a source is the number of elements yielded, or the states of its inputs. Methods are
those of :class:`PlanNode`.
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - of a dataclass
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tfrecord_lite.dataset.chunks import ObjectChunk
from tfrecord_lite.dataset.feed import elements
from tfrecord_lite.dataset.plan import Content, PlanNode, Run, feed_of
from tfrecord_lite.dataset.stages import Shard
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tf._tensor import map_structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Pair, State


_CHUNK_SIZE = 1024


def rows_of(structure: Any) -> int:
    """Return the size of the first dimension, which all leaves must share."""
    sizes: set[int] = set()

    def add(leaf: Any) -> None:
        if isinstance(leaf, bytes) or not leaf.shape:
            detail = "a single value cannot be sliced; give an array"
            raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
        sizes.add(leaf.shape[0])

    map_structure(add, structure)
    if len(sizes) != 1:
        detail = f"arrays to slice have the lengths {sorted(sizes)}, expected the same length"
        raise InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
    return sizes.pop()


@dataclass(frozen=True, kw_only=True)
class _Numbered(PlanNode):
    """Elements by number, of which every n-th is taken."""

    gives: ClassVar[Content | None] = "objects"
    n_parts: int = 1
    number: int = 0

    def part(self, n_parts: int, number: int) -> PlanNode:
        step, first = self.n_parts * n_parts, self.number + self.n_parts * number
        return replace(self, n_parts=step, number=first)


@dataclass(frozen=True, kw_only=True)
class Slices(_Numbered):
    """The rows of arrays."""

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


@dataclass(frozen=True, kw_only=True)
class Calls(_Numbered):
    """The elements that a function yields, called again for each epoch."""

    function: Callable[[], Any]

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        done = state["done"] if state else 0
        for i, element in enumerate(self.function()):
            if i >= done and i % self.n_parts == self.number:
                yield ObjectChunk([element]), {"done": i + 1}


@dataclass(frozen=True, kw_only=True)
class _Several(PlanNode):
    """Elements of several plans; a shard of them is found by counting all."""

    gives: ClassVar[Content | None] = "objects"
    inputs: tuple[PlanNode, ...]

    def sizes(self) -> list[int] | None:
        """Return the number of elements of each plan; None unless all are known."""
        sizes = [size for each in self.inputs if (size := each.size()) is not None]
        return sizes if len(sizes) == len(self.inputs) else None

    def part(self, n_parts: int, number: int) -> PlanNode:
        return Shard(input=self, n_parts=n_parts, number=number)


@dataclass(frozen=True, kw_only=True)
class Concatenated(_Several):
    """The elements of one plan after the other."""

    def size(self) -> int | None:
        sizes = self.sizes()
        return None if sizes is None else sum(sizes)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        first, where = (state["input"], state["feed"]) if state else (0, None)
        for i in range(first, len(self.inputs)):
            with feed_of(self.inputs[i], run, where if i == first else None) as feed:
                while (chunk := feed.take()) is not None:
                    yield ObjectChunk(chunk.elements()), {"input": i, "feed": feed.state()}


@dataclass(frozen=True, kw_only=True)
class Zipped(_Several):
    """Tuples of one element from each plan, up to the shortest."""

    def size(self) -> int | None:
        sizes = self.sizes()
        return None if sizes is None else min(sizes)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        starts = state["feeds"] if state else [None] * len(self.inputs)
        pairs = zip(self.inputs, starts, strict=True)
        feeds = [feed_of(plan, run, start) for plan, start in pairs]
        try:
            for found in zip(*map(elements, feeds), strict=False):
                items = tuple(element for element, _, _, _ in found)
                yield ObjectChunk([items]), {"feeds": [after for _, _, _, after in found]}
        finally:
            for feed in feeds:
                feed.close()
