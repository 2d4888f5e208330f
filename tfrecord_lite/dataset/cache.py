"""Keep what was made, and give it again.

A pass is kept when it is complete, never a part of one. What is given are copies of arrays
and containers: who changes a batch in place, or takes something out of it, finds it whole
in the next epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.dataset.chunks import BatchChunk, ObjectChunk, RecordChunk
from tfrecord_lite.dataset.plan import Context, Stage
from tfrecord_lite.records.framing import OVERHEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.chunks import Chunk
    from tfrecord_lite.dataset.feed import Pair, State


class _Kept:
    """What caches have kept, in this process only: a copy elsewhere starts empty."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] | None = None
        self.of: dict[str, Any] = {}
        """Which epoch it is, and what a cache before this one had kept."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the contents behind."""
        return _Kept, ()


@dataclass(frozen=True, kw_only=True)
class Cache(Stage):
    """The elements of the first pass, each time; kept in memory once a pass is complete."""

    _kept: _Kept = field(default_factory=_Kept, compare=False)

    def size(self) -> int | None:
        """Return the number of elements."""
        return self.input.size()

    def kept(self) -> dict[str, Any]:
        """Return which epoch is kept, or that none is; and the same of a cache before."""
        if self._kept.chunks is not None:
            return self._kept.of
        return {"epoch": None, "before": self.input.kept()}

    def with_input(self, stage: Any) -> Cache:
        """Return a cache of other elements, empty."""
        return Cache(input=stage)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        kept = self._kept
        n_given = state["given"] if state else 0
        of = state["of"] if state else context.kept or self.kept()
        if of["epoch"] is None:  # this one is to be kept
            of = {**of, "epoch": list(context.epoch)}
        if kept.chunks is not None and kept.of == of:
            yield from _again(kept.chunks, n_given, of)
            return
        # The pass that is kept may have been in random order: it is made again by its key.
        chunks: list[Chunk] = []
        feed = self.feed(Context(epoch=tuple(of["epoch"]), kept=of["before"]), None)
        at = 0
        try:
            while (chunk := feed.take()) is not None:
                chunks.append(_kept(chunk))
                at += len(chunk)
                if at > n_given:
                    yield _fresh(chunk, at - n_given), {"given": at, "of": of}
        finally:
            feed.close()
        kept.of, kept.chunks = of, chunks


def _again(chunks: list[Chunk], n_given: int, of: dict[str, Any]) -> Iterator[Pair]:
    at = 0
    for chunk in chunks:
        at += len(chunk)
        if at > n_given:
            yield _fresh(chunk, at - n_given), {"given": at, "of": of}


def _kept(chunk: Chunk) -> Chunk:
    """Return what is kept of a chunk: of a buffer of records, not much more than is needed."""
    if isinstance(chunk, RecordChunk):
        is_lean = chunk.data.size <= 2 * (int(chunk.lengths.sum()) + OVERHEAD_BYTES * len(chunk))
        return chunk if is_lean else chunk.take(np.arange(len(chunk)))
    if isinstance(chunk, BatchChunk):
        records: Any = _kept(chunk.records)
        return BatchChunk(records, chunk.splits)
    return chunk


def _fresh(chunk: Any, most: int) -> Chunk:
    """Return the last elements of a chunk, at most so many, which may be changed in place."""
    out: Chunk = chunk[max(len(chunk) - most, 0) :]
    # Other chunks make new objects of their elements each time.
    return ObjectChunk([_copy(item) for item in out.items]) if isinstance(out, ObjectChunk) else out


def _copy(item: Any) -> Any:
    """Copy the containers and arrays of an element; what else is in them stays the same."""
    if isinstance(item, np.ndarray):
        return item.copy()
    if type(item) is dict:
        return {key: _copy(value) for key, value in item.items()}
    if type(item) in (tuple, list):
        return type(item)(map(_copy, item))
    return item
