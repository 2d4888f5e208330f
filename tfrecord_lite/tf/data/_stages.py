"""Stages that only tf.data has: records with their blocks, interleaved data sets, unbatched rows."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - of a dataclass
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk, RecordChunk
from tfrecord_lite.dataset.feed import Feed, elements
from tfrecord_lite.dataset.plan import Content, PlanNode, Run, Stage
from tfrecord_lite.dataset.records import Files
from tfrecord_lite.dataset.shuffle import Shuffle
from tfrecord_lite.tf._parse_ahead import BatchTensor, ParsedGroups, RecordTensor
from tfrecord_lite.tf.data._sources import Slices, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Pair, State


_MAX_FILES = 10_000


@dataclass(frozen=True, kw_only=True)
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
    items = chunk.elements()
    if not isinstance(chunk, RecordChunk):
        return items
    groups = ParsedGroups(chunk)
    return [RecordTensor(item, groups, i) for i, item in enumerate(items)]


@dataclass(frozen=True, kw_only=True)
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
            for each in (feed, *slots):
                if each is not None:
                    each.close()

    def _in_turns(self, run: Run, inputs: Iterator[Any], slots: list[Feed | None]) -> Iterator[Any]:
        is_at_end = False
        turn = 0
        while not is_at_end or any(slot is not None for slot in slots):
            if slots[turn] is None and not is_at_end:
                found = next(inputs, None)
                is_at_end = found is None
                if found is not None:
                    slots[turn] = Feed(partial(self.function(found[0]).chunks, run))
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

    gives: ClassVar[Content | None] = "objects"
    counts: ClassVar[bool] = True

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        with self.feed(run, state) as feed:
            for element, _, _, after in elements(feed):
                whole = Slices(arrays=element, n_rows=rows_of(element))
                rows = [row for chunk, _ in whole.chunks(run, None) for row in chunk.elements()]
                if rows:
                    yield ObjectChunk(rows), {"feed": after}


def files_of(plan: PlanNode, function: Callable[[Any], PlanNode]) -> Files | None:
    """Return the plan of the files that a function opens, given their names; None for other plans.

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
    rows = [row for chunk, _ in slices.chunks(Run(), None) for row in chunk.elements()]
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
