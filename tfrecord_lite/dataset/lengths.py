"""Stages for sequences of different lengths: blocks packed full, and batches of similar ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.dataset.batching import stack
from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk, join
from tfrecord_lite.dataset.cutting import Pair, State, elements
from tfrecord_lite.dataset.plan import Content, Run, Stage
from tfrecord_lite.errors import InvalidArgumentError, Reason


class Pack(Stage):
    """Blocks of `length` values from sequences end to end."""

    gives: ClassVar[Content | None] = "objects"
    length: int
    key: str | None
    drop_remainder: bool

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one."""
        n_used = state["used"] if state else 0  # values of the next element that are given already
        values: list[AnyArray] = []
        lengths: list[Int64Array] = []
        n_ready = 0
        with self.feed(run, state) as feed:
            before = feed.state()
            for element, _, _, after in elements(feed):
                flat, sizes = _sequences(element, self.key)
                ends = np.cumsum(sizes)
                sizes = np.diff(np.maximum(ends - n_used, 0), prepend=0)
                n_left = len(flat) - n_used
                values.append(flat[n_used:])
                lengths.append(sizes[sizes > 0])
                n_ready += n_left
                while n_ready >= self.length:
                    n_ready -= self.length
                    block, values, lengths = _cut(values, lengths, self.length)
                    is_used_up = n_ready == 0
                    feed_state, used = (after, 0) if is_used_up else (before, len(flat) - n_ready)
                    yield ObjectChunk([block]), {"used": used, "feed": feed_state}
                before, n_used = after, 0
            if n_ready and not self.drop_remainder:
                block = _cut(values, lengths, self.length)[0]
                yield ObjectChunk([block]), {"used": 0, "feed": before}


def _sequences(element: Any, key: str | None) -> tuple[AnyArray, Int64Array]:
    column = element if key is None else element[key]
    if isinstance(column, RaggedTensor) and column.ragged_rank == 1 and column.dtype.kind != "O":
        return np.asarray(column.values), np.asarray(column.row_lengths(), np.int64)
    is_ragged = isinstance(column, RaggedTensor)
    array = column if is_ragged else np.asarray(column)
    if is_ragged or len(array.shape) not in (1, 2) or array.dtype.kind not in "iufb":
        detail = f"pack needs numbers of one dimension, or rows of them, not {array.dtype} of "
        detail += f"shape {array.shape}; name a feature by key, or map takes the numbers out"
        raise InvalidArgumentError(Reason.BAD_SHAPE, key=key, detail=detail)
    n_rows = 1 if array.ndim == 1 else len(array)
    return array.reshape(-1), np.full(n_rows, array.size // max(n_rows, 1), np.int64)


def _cut(
    values: list[AnyArray], lengths: list[Int64Array], length: int
) -> tuple[dict[str, AnyArray], list[AnyArray], list[Int64Array]]:
    """Return a block, and the values and lengths of sequences that are left."""
    flat, sizes = np.concatenate(values), np.concatenate(lengths)
    splits = row_splits(sizes)
    starts = splits[:-1][splits[:-1] < length]  # of the sequences in the block
    n = min(len(flat), length)
    segments = np.zeros(length, np.int64)
    segments[starts] = 1
    segments = np.cumsum(segments)
    positions = np.arange(length) - starts[segments - 1]
    is_value = np.arange(length) < n
    out = np.zeros((length, *flat.shape[1:]), flat.dtype)
    out[:n] = flat[:n]
    segments, positions = np.where(is_value, segments, 0), np.where(is_value, positions, 0)
    packed = {"values": out, "segment_ids": segments, "positions": positions}
    rest = np.diff(np.maximum(splits - length, 0))
    return packed, [flat[n:]], [rest[rest > 0]]


class Buckets(Stage):
    """Batches of elements whose lengths lie between the same boundaries.

    The state has the number of elements in each bucket: the last ones of its lengths among those that are
    read again.
    """

    gives: ClassVar[Content | None] = "batches"
    method = "bucket_by_length"
    length: Callable[[Any], int]
    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    drop_remainder: bool

    def settings(self) -> dict[str, Any]:
        """Return what identifies this stage in a state."""
        sizes = {"boundaries": list(self.boundaries), "batch_sizes": list(self.batch_sizes)}
        return {**super().settings(), **sizes}

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield a batch when its bucket is full; at the end those that are not."""
        buckets: list[deque[tuple[int, Chunk, dict[str, Any]]]]
        buckets = [deque() for _ in self.batch_sizes]
        counts, n_again = (state["counts"], state["again"]) if state else ([], 0)
        number = 0
        with self.feed(run, state) as feed:

            def batch(bucket: int) -> Pair:
                pieces: list[Any] = [chunk for _, chunk, _ in buckets[bucket]]
                buckets[bucket].clear()
                waiting = [held[0] for held in buckets if held]
                first, _, at = min(waiting, key=lambda held: held[0], default=(number, None, after))
                state = {"counts": list(map(len, buckets)), "again": number - first, "feed": at}
                return _batch(pieces), state

            before = after = feed.state()
            for element, chunk, i, after in elements(feed):
                bucket = int(np.searchsorted(self.boundaries, self.length(element), side="right"))
                held = chunk[i : i + 1] if isinstance(chunk, Block) else ObjectChunk([element])
                buckets[bucket].append((number, held, before))
                number, before = number + 1, after
                if number <= n_again:
                    if len(buckets[bucket]) > counts[bucket]:
                        buckets[bucket].popleft()
                elif len(buckets[bucket]) == self.batch_sizes[bucket]:
                    yield batch(bucket)
            for bucket, of_length in enumerate(buckets):
                if of_length and not self.drop_remainder:
                    yield batch(bucket)


def _batch(pieces: list[Any]) -> Chunk:
    if isinstance(pieces[0], Block):
        return BatchChunk(join(pieces), np.array([0, len(pieces)]))  # type: ignore[arg-type]
    return ObjectChunk([stack([item for piece in pieces for item in piece.items])])
