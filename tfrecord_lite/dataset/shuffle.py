"""Shuffle with a buffer, by the rule in :mod:`tfrecord_lite.dataset.random_order`.

Small records are byte ranges of one buffer, to which chunks are appended; when it is full, the records in the
slots are copied to a new one. Large records are one object each.

From the number of steps in the state and the key follows which elements the buffer held
(:func:`~tfrecord_lite.dataset.random_order.buffer_at`); to resume, these are read again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tfrecord_lite.arrays import Int64Array, gather, row_splits
from tfrecord_lite.block import SPARE_BYTES, Block, block_of, origin_of
from tfrecord_lite.dataset import random_order as order
from tfrecord_lite.dataset.chunks import Chunk, ObjectChunk, join
from tfrecord_lite.dataset.cutting import Demand, Feed, Pair, State
from tfrecord_lite.dataset.plan import Run, Stage

_MOST_STEPS = 4096
_FEW = 64
"""Least number of elements to take in at a time."""
_LEAST_ROOM_BYTES = 1024 * 1024
_SMALL_POOL_BYTES = 64 * 1024 * 1024
_LARGE_RECORD_BYTES = 4096
"""Mean length from which on records are held one by one."""


class Shuffle(Stage):
    """Elements in random order, as far as a buffer of `buffer_size` allows."""

    is_one_to_one = True
    words: ClassVar[Mapping[str, str]] = {**Stage.words, "number": "number"}
    buffer_size: int
    seed: int
    is_seeded: bool
    reshuffles: bool = True
    number: int = 1
    """Number among the shuffles of its plan, so that two with the same seed differ."""

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        key = run.key(self.seed, self.number, reshuffles=self.reshuffles)
        with self.feed(run, state) as feed:
            yield from _Buffer(feed, key, self.buffer_size, run.demand).shuffled(state)


class _Buffer:
    def __init__(self, feed: Feed, key: order.OrderKey, n_slots: int, demand: Demand) -> None:
        self._feed = feed
        self._demand = demand
        self._key = key
        self._n_slots = n_slots
        self._n_read = 0  # elements taken from the feed, by their number in the input
        self._step = 0
        self._contents: _HeldElements | None = None
        self._held = np.empty(0, np.int64)  # number of the element in each slot
        # (element number, the feed's state before it): where the elements in the buffer are read again.
        self._marks: deque[tuple[int, dict[str, Any]]] = deque()

    def shuffled(self, state: State) -> Iterator[Pair]:
        self._step, self._n_read = (state["step"], state["first"]) if state else (0, 0)
        drained = state["drained"] if state else 0
        self._fill()
        while pieces := self._read(min(self._demand.n or _MOST_STEPS, _MOST_STEPS)):
            n_before, self._step = self._step, self._n_read - self._n_slots
            slots = order.draws(self._key, self._n_slots, n_before, self._step - n_before)
            yield self._swap(pieces, slots), self._state(0)
        rest = order.permutation(self._key, self._held.size, of_buffer=True)
        while drained < rest.size and self._contents is not None:
            most = _MOST_STEPS if isinstance(self._contents, _HeldRecords) else _FEW
            slots = rest[drained : drained + most]
            drained += slots.size
            yield self._contents.take(slots), self._state(drained)

    def _state(self, drained: int) -> State:
        oldest = int(self._held.min())
        while len(self._marks) > 1 and self._marks[1][0] <= oldest:
            self._marks.popleft()
        first, feed = self._marks[0]
        return {"step": self._step, "drained": drained, "first": first, "feed": feed}

    def _read(self, most: int) -> list[Chunk]:
        """Take elements from the feed, and note its state before them."""
        self._marks.append((self._n_read, self._feed.state()))
        most = min(most, max(self._n_slots, _FEW))
        if (first := self._feed.take(most)) is None:
            self._marks.pop()
            return []
        is_small = not isinstance(first, Block) or first.nbytes < _LARGE_RECORD_BYTES
        n_elements, times = (min(most, _FEW), 1) if is_small else (1, most)
        # Small records are taken at once, also where a file's turn ends; some large ones are enough.
        are_small = isinstance(first, Block) and first.nbytes < _LARGE_RECORD_BYTES * len(first)
        pieces = self._feed.pieces(n_elements, times, first=first, many=1 if are_small else _FEW)
        self._n_read += sum(map(len, pieces))
        if not isinstance(first, Block):
            return [ObjectChunk([item for piece in pieces for item in piece.to_list()])]
        return pieces

    def _fill(self) -> None:
        held = order.buffer_at(self._key, self._n_slots, self._step)
        stop = self._n_slots + self._step  # number of elements read so far
        kept_numbers = np.sort(held)
        chunks: list[Chunk] = []
        numbers: list[Int64Array] = []  # of the elements in `chunks`
        while self._n_read < stop:
            first = self._n_read
            if not (pieces := self._read(min(stop - first, _MOST_STEPS))):
                break
            low, high = kept_numbers.searchsorted([first, self._n_read])
            if low < high:
                numbers.append(kept_numbers[low:high])
                chunks.append(join(pieces).take(kept_numbers[low:high] - first))
        if not chunks:
            return
        # Slot i holds element held[i]; if the input was shorter, the last slots are empty.
        kept = np.concatenate(numbers)
        self._held = held[held < self._n_read]
        self._contents = _hold(chunks, kept.searchsorted(self._held))

    def _swap(self, pieces: list[Chunk], slots: Int64Array) -> Chunk:
        """Put each element into its slot; return the elements that go out."""
        contents: Any = self._contents
        out: Chunk = contents.swap(pieces, order.origins(slots, self._n_slots), slots)
        self._held[slots] = np.arange(self._n_read - slots.size, self._n_read)
        return out


def _hold(elements: list[Any], places: Int64Array) -> _HeldElements:
    """Fill slot i with element ``places[i]`` of all chunks; empty the list of them."""
    are_records = all(isinstance(chunk, Block) for chunk in elements)
    n_bytes = sum(chunk.nbytes for chunk in elements) if are_records else 0
    if are_records and n_bytes < _LARGE_RECORD_BYTES * sum(map(len, elements)):
        chunk: Any = join(elements)
        elements.clear()
        return _HeldRecords(chunk[places])
    sources, where = origin_of(elements) if are_records else ((), None)
    items: list[Any] = []
    while elements:  # release each chunk after its records are copied
        items += elements.pop(0).to_list()
    where = None if where is None else where[places]
    return _HeldItems([items[i] for i in places.tolist()], sources, where)


class _HeldItems:
    """Objects in the slots, or large records, as one ``bytes`` each, with where they came from.

    As in the class below, ``take`` returns the elements of some slots, and ``swap`` puts those
    of chunks in, one per step, and returns those that go out, given by ``random_order.origins``.
    """

    def __init__(
        self, items: list[Any], sources: Sequence[str | None], where: Int64Array | None
    ) -> None:
        self._items, self._sources, self._where = items, sources, where

    def take(self, slots: Int64Array) -> Block | ObjectChunk:
        items = [self._items[i] for i in slots.tolist()]
        return self._chunk(items, None if self._where is None else self._where[slots])

    def swap(
        self, pieces: Sequence[Any], origins: Int64Array, slots: Int64Array
    ) -> Block | ObjectChunk:
        fresh, where = [item for piece in pieces for item in piece.to_list()], None
        both = self._items + fresh
        items = [both[i] for i in origins.tolist()]
        if self._where is not None:
            n_held = len(self._items)
            none = np.zeros(n_held, np.int64)
            held = block_of(np.empty(0, np.uint8), none, none, self._sources, self._where)
            self._sources, places = origin_of([held, *pieces])  # of those held, then of the fresh
            if places is not None:
                where, self._where = places[origins], places[:n_held].copy()
                self._where[slots] = places[n_held:]
        for slot, item in zip(slots.tolist(), fresh, strict=True):
            self._items[slot] = item
        return self._chunk(items, where)

    def _chunk(self, items: list[Any], where: Int64Array | None) -> Block | ObjectChunk:
        if where is None:
            return ObjectChunk(items)
        block = Block.from_records(items)
        return block_of(block.data, block.offsets, block.lengths, self._sources, where)


class _HeldRecords:
    def __init__(self, records: Block) -> None:
        self._records = records
        self._stop = self._renew(0)

    def _renew(self, room: int) -> int:
        """Copy the records to a new buffer with `room` bytes for more; return where they end."""
        records = self._records
        splits = row_splits(records.lengths)
        stop = int(splits[-1])
        free = 2 * stop if stop < _SMALL_POOL_BYTES else stop // 2
        data = np.empty(stop + free + max(2 * room, _LEAST_ROOM_BYTES) + SPARE_BYTES, np.uint8)
        data[:stop] = gather(records.data, records.offsets, records.lengths)
        lengths, places = records.lengths, records.places
        self._records = block_of(data, splits[:-1], lengths, records.sources, places)
        return stop

    def take(self, slots: Int64Array) -> Block:
        return self._records.take(slots)

    def swap(self, pieces: Sequence[Block], origins: Int64Array, slots: Int64Array) -> Block:
        offsets = np.concatenate([piece.offsets for piece in pieces])
        lengths = np.concatenate([piece.lengths for piece in pieces])
        sizes = np.array([piece.lengths.size for piece in pieces])
        firsts = np.cumsum(sizes) - sizes  # of each piece among the records
        # The part of each piece's buffer that holds its records, and where that goes.
        lows = np.minimum.reduceat(offsets, firsts)
        highs = np.maximum.reduceat(offsets + lengths, firsts)
        splits = row_splits(highs - lows)
        room = int(splits[-1])
        if self._stop + room > self._records.data.size - SPARE_BYTES:
            self._stop = self._renew(room)
        held, splits = self._records, splits + self._stop
        spans = np.stack([lows, highs, splits[:-1], splits[1:]], axis=1).tolist()
        for piece, (low, high, start, stop) in zip(pieces, spans, strict=True):
            held.data[start:stop] = piece.data[low:high]
        self._stop += room
        offsets += np.repeat(splits[:-1] - lows, sizes)
        origin = origin_of([held, *pieces])
        offsets, lengths = np.append(held.offsets, offsets), np.append(held.lengths, lengths)
        both = block_of(held.data, offsets, lengths, *origin)
        out = both.take(origins)
        # No chunk shares these arrays. Of equal slots, the last one counts.
        n_held, sources, places = len(held), both.sources, both.places
        held.offsets[slots] = both.offsets[n_held:]
        held.lengths[slots] = both.lengths[n_held:]
        if places is not None:
            if sources is not held.sources:  # pieces of another data set were added
                origin = sources, places[:n_held].copy()
                held = self._records = block_of(held.data, held.offsets, held.lengths, *origin)
            held.places[slots] = places[n_held:]  # type: ignore[index]
        return out


_HeldElements: TypeAlias = _HeldItems | _HeldRecords
