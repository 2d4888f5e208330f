"""Plans that join several: one after the other, side by side, or mixed at random."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from tfrecord_lite.arrays import Int64Array
from tfrecord_lite.block import Block
from tfrecord_lite.dataset import plan as plans
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import Chunk, ObjectChunk, join
from tfrecord_lite.dataset.cutting import Feed, Pair, State
from tfrecord_lite.dataset.plan import Content, PlanNode, Run, Source, feed_of
from tfrecord_lite.dataset.stages import Shard

_MANY, _FEW = 256, 16
"""Elements that are drawn at a time: records, and objects."""


class Joined(Source):
    """Elements of several plans."""

    inputs: tuple[PlanNode, ...]

    @property
    def content(self) -> Content:
        """Which chunks it gives: records if all its inputs do."""
        are_records = {plan.content for plan in self.inputs} == {"records"}
        return self.gives or ("records" if are_records else "objects")

    def settings(self) -> dict[str, Any]:
        """Return its own settings, and its inputs' settings."""
        return {**super().settings(), "inputs": [plans.describe(plan) for plan in self.inputs]}

    def size(self) -> int | None:
        """Return the number of elements of all plans; None unless all are known."""
        sizes = [plan.size() for plan in self.inputs]
        return None if None in sizes else self.joined_size(sizes)  # type: ignore[arg-type]

    def joined_size(self, sizes: list[int]) -> int | None:
        """Return the number of elements, of so many in each plan."""
        return sum(sizes)

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Any:
        """Divide each input."""
        parts = tuple(plans.worker_part(plan, n_workers, worker) for plan in self.inputs)
        return replace(self, inputs=parts)

    def part(self, n_parts: int, number: int) -> Any:
        """Return every `n_parts`-th of these elements."""
        return Shard(input=self, n_parts=n_parts, number=number)

    def feeds(self, stack: ExitStack, run: Run, states: list[State] | None) -> list[Feed]:
        """Start all inputs, until the stack is closed."""
        pairs = zip(self.inputs, states or [None] * len(self.inputs), strict=True)
        return [stack.enter_context(feed_of(plan, run, state)) for plan, state in pairs]

    def _chunk(self, chunk: Chunk) -> Chunk:
        """Return a chunk of one kind for all inputs."""
        return chunk if self.content == "records" else ObjectChunk(chunk.to_list())


class Concatenated(Joined):
    """The elements of one plan after the other."""

    method = "concatenate"

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        first, where = (state["input"], state["feed"]) if state else (0, None)
        for i in range(first, len(self.inputs)):
            with feed_of(self.inputs[i], run, where if i == first else None) as feed:
                while (chunk := feed.take()) is not None:
                    yield self._chunk(chunk), {"input": i, "feed": feed.state()}


class Zipped(Joined):
    """Tuples of one element from each plan, up to the shortest."""

    method = "zip"
    gives: ClassVar[Content | None] = "objects"

    def joined_size(self, sizes: list[int]) -> int:
        """Return the number of elements of the shortest."""
        return min(sizes)

    def worker_part(self, n_workers: int, worker: int, *, repeats: bool) -> Any:
        """Divide the tuples."""
        return self.part(n_workers, worker)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one, since each may be slow to make."""
        with ExitStack() as stack:
            feeds = self.feeds(stack, run, state["feeds"] if state else None)
            while True:
                parts = [feed.take(1) for feed in feeds]
                if not parts or None in parts:
                    return
                item = tuple(part.to_list()[0] for part in parts if part is not None)
                yield ObjectChunk([item]), {"feeds": [feed.state() for feed in feeds]}


class Mixed(Joined):
    """Elements drawn from plans at random, by weights.

    Step t draws the plan in which the upper 53 bits of word t, as a fraction, fall.
    """

    method = "mix"
    weights: tuple[float, ...]
    seed: int
    is_seeded: bool
    stop: Literal["first", "all"]

    def settings(self) -> dict[str, Any]:
        """Return its own settings, and its inputs' settings."""
        return {**super().settings(), "weights": list(self.weights)}

    def joined_size(self, sizes: list[int]) -> int | None:
        """Return the number of elements, if all are given."""
        return sum(sizes) if self.stop == "all" else None

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        key = run.key(self.seed, order.MIX, reshuffles=True)
        step, is_over = (state["step"], state["over"]) if state else (0, [False] * len(self.inputs))
        is_over, edges = list(is_over), np.cumsum(self.weights) / sum(self.weights)
        n = _MANY if self.content == "records" else _FEW
        with ExitStack() as stack:
            feeds = self.feeds(stack, run, state["feeds"] if state else None)
            while not all(is_over) and not (self.stop == "first" and any(is_over)):
                draws = np.searchsorted(edges[:-1], order.fractions(key, step, n), side="right")
                draws = draws[~np.array(is_over)[draws]]
                chunk, error = self._draw(feeds, draws, is_over)
                step += n
                if chunk is not None:
                    feed_states = [feed.state() for feed in feeds]
                    yield chunk, {"step": step, "over": list(is_over), "feeds": feed_states}
                if error is not None:
                    raise error

    def _draw(
        self, feeds: list[Feed], draws: Int64Array, is_over: list[bool]
    ) -> tuple[Chunk | None, Exception | None]:
        """Take elements in the order of `draws`; note inputs that end, and the first error in that order."""
        pieces, rows, stop, error = [], [], draws.size, None
        for i, feed in enumerate(feeds):
            places = np.flatnonzero(draws == i)  # of this input's elements among all
            piece = feed.gather(places.size) if places.size else None
            n_found = 0 if piece is None else len(piece)
            if piece is not None:
                pieces.append(self._chunk(piece))
                rows.append(places[:n_found])
            if n_found < places.size:
                try:
                    feed.take(1)
                    is_over[i] = True
                    end = int(places[n_found]) if self.stop == "first" else draws.size
                except Exception as raised:  # noqa: BLE001 - raised after the elements before it
                    end, error = int(places[n_found]), raised if places[n_found] < stop else error
                stop = min(stop, end)
        if not pieces:
            return None, error
        places = np.concatenate(rows)
        numbers = np.argsort(places, kind="stable")
        numbers = numbers[places[numbers] < stop]
        if not numbers.size:
            return None, error
        whole: Any = join(pieces)
        return (whole[numbers] if isinstance(whole, Block) else whole.take(numbers)), error
