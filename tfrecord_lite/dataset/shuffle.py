"""Shuffle with a buffer: see :mod:`tfrecord_lite.dataset.random_order` for the rule.

The buffer of records is one stretch of memory, to which chunks are added as they come;
when it is full, what the slots still hold is copied to a new one. So each record is
copied a few times, thousands at once, and no object is made of it. Large records, of
which there are fewer, are held as objects each, so that the buffer takes no more memory
than they do.

The state says how many steps were done. What the buffer held then follows from the key
(:func:`~tfrecord_lite.dataset.random_order.buffer_at`), and is read again: the input goes back
to the oldest element that was in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import Int64Array, gather, row_splits
from tfrecord_lite.block import SPARE_BYTES
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import Chunk, ObjectChunk, RecordChunk, join, record_chunk
from tfrecord_lite.dataset.plan import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Feed, Pair, State
    from tfrecord_lite.dataset.plan import Context

_MOST_STEPS = 4096
_FEW = 64
"""Elements are taken in so many at a time, for one costs nearly as much as all of these."""
_LEAST_ROOM_BYTES = 1024 * 1024
_SMALL_POOL_BYTES = 64 * 1024 * 1024
_LARGE_RECORD_BYTES = 4096
"""From this mean on records are held one by one."""


@dataclass(frozen=True, kw_only=True)
class Shuffle(Stage):
    """Elements in random order, as far as a buffer of so many allows."""

    buffer_size: int
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    number: int = 1
    """Among the shuffles of its plan, so that two of the same seed differ."""

    def size(self) -> int | None:
        """Return the number of elements."""
        return self.input.size()

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        key = (self.seed, self.number, *(context.epoch if self.reshuffles else ()))
        feed = self.feed(context, state["feed"] if state else None)
        try:
            yield from _Buffer(feed, key, self.buffer_size).run(state)
        finally:
            feed.close()


class _Buffer:
    """The state of one shuffle."""

    def __init__(self, feed: Feed, key: order.Key, n_slots: int) -> None:
        self._feed = feed
        self._key = key
        self._n_slots = n_slots
        self._n_read = 0  # elements taken from the feed, by their number in the input
        self._step = 0
        self._pool: _RecordPool | _LargePool | _ObjectPool | None = None
        self._held = np.empty(0, np.int64)  # the element in each slot
        # Where the feed stood before some elements: the way back for those in the buffer.
        self._marks: deque[tuple[int, dict[str, Any]]] = deque()

    def run(self, state: State) -> Iterator[Pair]:
        self._step, self._n_read = (state["step"], state["first"]) if state else (0, 0)
        drained = state["drained"] if state else 0
        self._fill()
        while (chunk := self._read()) is not None:
            slots = order.draws(self._key, self._n_slots, self._step, len(chunk))
            out = self._swap(chunk, slots)
            self._step += len(chunk)
            yield out, self._state(0)
        rest = order.permutation(self._key, self._held.size, of_buffer=True)
        while drained < rest.size and self._pool is not None:
            most = _FEW if isinstance(self._pool, _LargePool) else _MOST_STEPS
            slots = rest[drained : drained + most]
            drained += slots.size
            yield self._pool.take(slots), self._state(drained)

    def _state(self, drained: int) -> State:
        oldest = int(self._held.min())
        while len(self._marks) > 1 and self._marks[1][0] <= oldest:
            self._marks.popleft()
        first, feed = self._marks[0]
        return {"step": self._step, "drained": drained, "first": first, "feed": feed}

    def _read(self, most: int = _MOST_STEPS) -> Chunk | None:
        """Take some elements from the feed, and note where it stood before."""
        self._marks.append((self._n_read, self._feed.state()))
        chunk = self._feed.take(min(most, max(self._n_slots, _FEW)))
        if chunk is None:
            self._marks.pop()
            return None
        if not isinstance(chunk, RecordChunk) or chunk.lengths.sum() < _LARGE_RECORD_BYTES:
            chunk = self._feed.gather(min(most, _FEW), first=chunk) or chunk
        if not isinstance(chunk, RecordChunk):
            chunk = ObjectChunk(chunk.elements())
        self._n_read += len(chunk)
        return chunk

    def _fill(self) -> None:
        """Read what the buffer holds at this step."""
        held = order.buffer_at(self._key, self._n_slots, self._step)
        stop = self._n_slots + self._step  # all that came in
        wanted = np.sort(held)
        found: list[Chunk] = []
        numbers: list[Int64Array] = []
        while self._n_read < stop:
            first = self._n_read
            chunk = self._read(min(stop - first, _MOST_STEPS))
            if chunk is None:
                break
            low, high = wanted.searchsorted([first, self._n_read])
            if low < high:
                numbers.append(wanted[low:high])
                found.append(chunk.take(wanted[low:high] - first))
        if not found:
            return
        # Slot i holds element held[i]; if the input was shorter, the last slots hold nothing.
        kept = np.concatenate(numbers)
        self._held = held[held < self._n_read]
        places = kept.searchsorted(self._held)
        self._pool = _pool_of(found, places)

    def _swap(self, chunk: Chunk, slots: Int64Array) -> Chunk:
        """Do as many steps as the chunk has elements; return what goes out."""
        pool: Any = self._pool
        out: Chunk = pool.swap(chunk, order.sources(slots, self._n_slots), slots)
        first = self._n_read - len(chunk)
        self._held[slots] = np.arange(first, self._n_read)
        return out


def _pool_of(found: list[Chunk], places: Int64Array) -> _RecordPool | _LargePool | _ObjectPool:
    """Return what holds the elements of some chunks, in other places; empties the list."""
    records = [chunk for chunk in found if isinstance(chunk, RecordChunk)]
    if len(records) < len(found):
        return _ObjectPool([item for chunk in found for item in chunk.elements()], places)
    n_bytes = sum(int(chunk.lengths.sum()) for chunk in records)
    if n_bytes >= _LARGE_RECORD_BYTES * sum(map(len, records)):
        found.clear()
        return _LargePool(records, places)
    chunk: Any = join(records)
    found.clear()
    return _RecordPool(chunk.pick(places))


class _ObjectPool:
    """What the slots hold, as objects."""

    def __init__(self, items: list[Any], places: Int64Array) -> None:
        self._items = [items[i] for i in places.tolist()]

    def take(self, slots: Int64Array) -> ObjectChunk:
        """Return what some slots hold."""
        return ObjectChunk([self._items[i] for i in slots.tolist()])

    def swap(self, chunk: ObjectChunk, sources: Int64Array, slots: Int64Array) -> ObjectChunk:
        """Return what goes out, and take a chunk in."""
        both = self._items + chunk.items
        out = ObjectChunk([both[i] for i in sources.tolist()])
        for slot, item in zip(slots.tolist(), chunk.items, strict=True):
            self._items[slot] = item
        return out


class _LargePool:
    """What the slots hold, as one ``bytes`` each."""

    def __init__(self, records: list[RecordChunk], places: Int64Array) -> None:
        self._names = records[0].names
        items: list[bytes] = []
        wheres = np.concatenate([chunk.places for chunk in records])
        while records:  # each chunk goes when its records are copied
            items += records.pop(0).elements()
        self._items = [items[i] for i in places.tolist()]
        self._places = wheres[places]

    def take(self, slots: Int64Array) -> RecordChunk:
        """Return what some slots hold."""
        items = [self._items[i] for i in slots.tolist()]
        return record_chunk(self._names, items, self._places[slots])

    def swap(self, chunk: RecordChunk, sources: Int64Array, slots: Int64Array) -> RecordChunk:
        """Return what goes out, and take a chunk in."""
        fresh = chunk.elements()
        n_held = len(self._items)
        items = [self._items[i] if i < n_held else fresh[i - n_held] for i in sources.tolist()]
        places = np.concatenate([self._places, chunk.places])[sources]
        for slot, item in zip(slots.tolist(), fresh, strict=True):
            self._items[slot] = item
        self._places[slots] = chunk.places
        return record_chunk(self._names, items, places)


class _RecordPool:
    """What the slots hold, as extents in one buffer."""

    def __init__(self, records: RecordChunk) -> None:
        self._records = records
        self._stop = self._renew(0)

    def _renew(self, room: int) -> int:
        """Copy what is held to the start of a new buffer with room for more; return its end."""
        records = self._records
        splits = row_splits(records.lengths)
        stop = int(splits[-1])
        free = 2 * stop if stop < _SMALL_POOL_BYTES else stop // 2
        data = np.empty(stop + free + max(2 * room, _LEAST_ROOM_BYTES) + SPARE_BYTES, np.uint8)
        data[:stop] = gather(records.data, records.offsets, records.lengths)
        names, lengths, where = records.names, records.lengths, records.places
        self._records = RecordChunk(names, data, splits[:-1], lengths, where)
        return stop

    def take(self, slots: Int64Array) -> RecordChunk:
        """Return what some slots hold."""
        return self._records.take(slots)

    def swap(self, chunk: RecordChunk, sources: Int64Array, slots: Int64Array) -> RecordChunk:
        """Return what goes out, and take a chunk in."""
        low, high = int(chunk.offsets.min()), int((chunk.offsets + chunk.lengths).max())
        if self._stop + high - low > self._records.data.size - SPARE_BYTES:
            self._stop = self._renew(high - low)
        held = self._records
        held.data[self._stop : self._stop + high - low] = chunk.data[low:high]
        offsets = chunk.offsets + (self._stop - low)
        self._stop += high - low
        both = RecordChunk(
            held.names,
            held.data,
            np.concatenate([held.offsets, offsets]),
            np.concatenate([held.lengths, chunk.lengths]),
            np.concatenate([held.places, chunk.places]),
        )
        out = both.take(sources)
        # The arrays are this pool's own; of equal slots, the last one counts.
        held.offsets[slots] = offsets
        held.lengths[slots] = chunk.lengths
        held.places[slots] = chunk.places
        return out
