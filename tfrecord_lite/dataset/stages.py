"""The simple stages: some of the elements, or all: numbered, changed, repeated, kept, made ahead."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk, compacted
from tfrecord_lite.dataset.cutting import Demand, Feed, Pair, State, elements
from tfrecord_lite.dataset.plan import Content, Memory, Run, Stage, feed_of


class Take(Stage):
    """The first elements."""

    counts = True
    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else min(size, self.n)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them, and take no more from the input."""
        taken = state["taken"] if state else 0
        demand = Demand()
        with self.feed(run, state, demand) as feed:
            while taken < self.n:
                left = self.n - taken
                demand.n = run.demand.n and min(run.demand.n, left)
                if (chunk := feed.take(left)) is None:
                    return
                taken += len(chunk)
                yield chunk, {"taken": taken, "feed": feed.state()}


class Skip(Stage):
    """All but the first elements."""

    counts = True
    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else max(size - self.n, 0)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        left = 0 if state else self.n
        with self.feed(run, state) as feed:
            while (chunk := feed.take(left or None)) is not None:
                if left:
                    left -= len(chunk)
                    continue
                yield chunk, {"feed": feed.state()}


class Shard(Stage):
    """Every `n_parts`-th element, from `number` on."""

    counts = True
    n_parts: int
    number: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else len(range(self.number, size, self.n_parts))

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        seen = state["seen"] if state else 0
        with self.feed(run, state) as feed:
            while (chunk := feed.take()) is not None:
                first = (self.number - seen) % self.n_parts
                mine = chunk.take(np.arange(first, len(chunk), self.n_parts))
                seen = (seen + len(chunk)) % self.n_parts
                if len(mine):
                    yield mine, {"seen": seen, "feed": feed.state()}


class Enumerate(Stage):
    """Pairs of a number and an element."""

    counts = True
    gives: ClassVar[Content | None] = "objects"
    is_one_to_one = True
    start: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        number = state["number"] if state else self.start
        with self.feed(run, state) as feed:
            while (chunk := feed.take()) is not None:
                items: list[Any] = list(enumerate(chunk.to_list(), number))
                number += len(items)
                yield ObjectChunk(items), {"number": number, "feed": feed.state()}


class Map(Stage):
    """The results of a function called with each element, in order."""

    gives: ClassVar[Content | None] = "objects"
    is_one_to_one = True
    function: Callable[..., Any]
    n_threads: int = 1

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one, since each may be slow to make."""
        with self.feed(run, state) as feed:
            if self.n_threads > 1:
                yield from self._in_threads(feed)
                return
            for element, chunk, i, after in elements(feed):
                yield ObjectChunk([_call(self.function, element, chunk, i)]), {"feed": after}

    def _in_threads(self, feed: Feed) -> Iterator[Pair]:
        pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tfrecord-map")
        error = None
        try:
            waiting: deque[Any] = deque()
            todo = elements(feed)
            while True:
                try:
                    n_free = 2 * self.n_threads - len(waiting)
                    for element, chunk, i, after in itertools.islice(todo, n_free):
                        future = pool.submit(_call, self.function, element, chunk, i)
                        waiting.append((future, after))
                except Exception as raised:  # noqa: BLE001 - raised after the elements before it
                    error = raised
                if not waiting:
                    break
                future, after = waiting.popleft()
                yield ObjectChunk([future.result()]), {"feed": after}
            if error is not None:
                raise error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Filter(Stage):
    """The elements for which a function returns true."""

    function: Callable[..., Any]

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one; records remain records."""
        with self.feed(run, state) as feed:
            for element, chunk, i, after in elements(feed):
                if _call(self.function, element, chunk, i):
                    yield chunk[i : i + 1], {"feed": after}


def _call(function: Callable[..., Any], element: Any, chunk: Chunk, number: int) -> Any:
    """Call a function with an element, or with the parts of a tuple; errors note its record."""
    try:
        return function(*element) if type(element) is tuple else function(element)
    except Exception as error:
        if isinstance(chunk, Block):
            error.add_note(f"The function was called with {chunk.place(number)}")
        if isinstance(chunk, BatchChunk):
            place = chunk.records.place(int(chunk.splits[number]))
            error.add_note(f"The function was called with the batch that begins with {place}")
        raise


class Repeat(Stage):
    """All elements `n` times (None: for ever), each in an epoch of its own."""

    n: int | None

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return 0 if self.n == 0 else None if self.n is None or size is None else size * self.n

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        epoch = state["epoch"] if state else 0
        while self.n is None or epoch < self.n:
            is_empty = state is None
            with self.feed(replace(run, epoch=(*run.epoch, epoch)), state, run.demand) as feed:
                while (chunk := feed.take()) is not None:
                    is_empty = False
                    yield chunk, {"epoch": epoch, "feed": feed.state()}
            if is_empty and self.n is None:
                return  # otherwise an endless loop
            epoch, state = epoch + 1, None


class Cache(Stage):
    """The elements of epoch 0 in every epoch, kept in memory once all of them were made.

    It gives copies of arrays and containers, so changing a batch in place does not change the next epoch.
    """

    is_one_to_one = True
    key: Memory = field(default_factory=Memory)

    def with_input(self, node: Any) -> Cache:
        """Return a cache of other elements, empty."""
        return Cache(input=node)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        n_given, at = state["given"] if state else 0, 0
        kept = self.key.value
        for chunk in self._made(run) if kept is None else kept:
            at += len(chunk)
            if at > n_given:
                yield _copy(chunk[max(n_given - at, -len(chunk)) :]), {"given": at}

    def _made(self, run: Run) -> Iterator[Chunk]:
        """Yield the elements as they are made, and keep them at the end."""
        chunks: list[Chunk] = []
        with feed_of(self.input, Run((0,), run.sizes, damage=run.damage), None) as feed:
            while (chunk := feed.take()) is not None:
                chunks.append(_lean(chunk))
                yield chunks[-1]
        self.key.value = chunks


def _lean(chunk: Chunk) -> Chunk:
    """Return the same elements, copied if most of their buffer holds something else."""
    if isinstance(chunk, Block):
        return compacted(chunk, chunk.data.size)
    if isinstance(chunk, BatchChunk):
        return BatchChunk(compacted(chunk.records, chunk.records.data.size), chunk.splits)
    return chunk


def _copy(item: Any) -> Any:
    """Copy containers and arrays, which may be changed in place."""
    if isinstance(item, ObjectChunk):  # other chunks make new objects each time they are asked
        return ObjectChunk(_copy(item.items))
    if isinstance(item, np.ndarray):
        return item.copy()
    if type(item) is dict:
        return {key: _copy(value) for key, value in item.items()}
    if type(item) in (tuple, list):
        return type(item)(map(_copy, item))
    return item


class Prefetch(Stage):
    """The same elements, `n` of them made ahead, in a thread that ends with the run."""

    is_one_to_one = True
    words: ClassVar[Mapping[str, str]] = {"n": "buffer_size"}
    n: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed, pairs, most = self.feed(run, state), queue.SimpleQueue[Any](), self.n
        room, is_stopped = threading.Semaphore(most), threading.Event()

        def fill() -> None:
            """Make chunks while there is room; then put None, or the error."""
            try:
                with feed:
                    while (chunk := feed.take(most)) is not None:
                        for _ in range(len(chunk)):
                            room.acquire()
                        if is_stopped.is_set():
                            break
                        pairs.put((chunk, {"feed": feed.state()}))
                pairs.put(None)
            except BaseException as error:  # noqa: BLE001 - raised again where the elements are wanted
                pairs.put(error)

        # It holds no reference to this generator, which may be forgotten before it ends.
        thread = threading.Thread(None, fill, "tfrecord-prefetch", daemon=True)
        process = os.getpid()
        thread.start()
        try:
            while (pair := pairs.get()) is not None:
                if isinstance(pair, BaseException):
                    raise pair
                room.release(len(pair[0]))
                yield pair
        finally:
            if os.getpid() == process:  # a fork has no such thread
                is_stopped.set()
                room.release(most)  # for a thread that waits
                thread.join()
