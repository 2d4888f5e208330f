"""Cache: the elements of the first whole epoch, again in each later one.

An epoch is kept once it is complete, never a part of one. It yields copies of arrays and containers,
so changing a batch in place does not change the next epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.dataset.chunks import BatchChunk, ObjectChunk, RecordChunk
from tfrecord_lite.dataset.plan import MemoryKey, Run, Stage, feed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfrecord_lite.dataset.chunks import Chunk
    from tfrecord_lite.dataset.feed import Feed, Pair, State


@dataclass(frozen=True, slots=True)
class _CachedEpoch:
    """The elements of one epoch."""

    of: dict[str, Any]
    """The number of the epoch, and what the caches before this one held when it was made."""
    chunks: list[Chunk]


@dataclass(frozen=True, kw_only=True)
class Cache(Stage):
    """The same elements in every epoch, kept in memory once an epoch is complete."""

    is_one_to_one: ClassVar[bool] = True
    key: MemoryKey = field(default_factory=MemoryKey, compare=False)

    def cached(self) -> dict[str, Any]:
        """Return the number of the epoch kept (None: none), and the same of the cache before."""
        kept: _CachedEpoch | None = self.key.recall()
        return {"epoch": None, "before": self.input.cached()} if kept is None else kept.of

    def with_input(self, node: Any) -> Cache:
        """Return a cache of other elements, empty."""
        return Cache(input=node)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        n_given = state["given"] if state else 0
        of = state["of"] if state else run.cached or self.cached()
        if of["epoch"] is None:  # keep this one
            of = {**of, "epoch": list(run.epoch)}
        kept: _CachedEpoch | None = self.key.recall()
        if kept is not None and kept.of == of:
            yield from _from(n_given, kept.chunks, of)
            return
        made: list[Chunk] = []
        # A state may ask for an earlier epoch than this; its number gives the same random order.
        again = Run(tuple(of["epoch"]), of["before"], run.damage)
        with feed_of(self.input, again, None) as feed:
            yield from _from(n_given, _kept_in(made, feed), of)
        self.key.keep(_CachedEpoch(of, made))


def _from(n_given: int, chunks: Iterable[Chunk], of: dict[str, Any]) -> Iterator[Pair]:
    """Yield the elements after the first `n_given`."""
    at = 0
    for chunk in chunks:
        at += len(chunk)
        if at > n_given:
            yield _fresh(chunk, at - n_given), {"given": at, "of": of}


def _kept_in(made: list[Chunk], feed: Feed) -> Iterator[Chunk]:
    """Yield the chunks of a feed, and add each to a list."""
    while (chunk := feed.take()) is not None:
        made.append(_lean(chunk))
        yield made[-1]


def _lean(chunk: Chunk) -> Chunk:
    """Return the same elements, copied if most of their buffer holds something else."""
    if isinstance(chunk, RecordChunk):
        return chunk.compacted(chunk.data.size)
    if isinstance(chunk, BatchChunk):
        return BatchChunk(chunk.records.compacted(chunk.records.data.size), chunk.splits)
    return chunk


def _fresh(chunk: Any, most: int) -> Chunk:
    """Return the last `most` elements of a chunk, in copies that may be changed in place."""
    out: Chunk = chunk[max(len(chunk) - most, 0) :]
    # The other chunks make new objects each time that their elements are asked for.
    return ObjectChunk([_copy(item) for item in out.items]) if isinstance(out, ObjectChunk) else out


def _copy(item: Any) -> Any:
    """Copy the containers and arrays of an element; share everything else."""
    if isinstance(item, np.ndarray):
        return item.copy()
    if type(item) is dict:
        return {key: _copy(value) for key, value in item.items()}
    if type(item) in (tuple, list):
        return type(item)(map(_copy, item))
    return item
