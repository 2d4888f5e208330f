"""The simple stages: some of the elements, or all: numbered, changed, repeated, kept, made ahead."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.dataset.chunks import BatchChunk, Chunk, ObjectChunk, RecordChunk
from tfrecord_lite.dataset.feed import Demand, elements
from tfrecord_lite.dataset.plan import Content, MemoryKey, Run, Stage, feed_of

if TYPE_CHECKING:
    from tfrecord_lite.dataset.feed import Feed, Pair, State


@dataclass(frozen=True, kw_only=True)
class Take(Stage):
    """The first elements."""

    counts: ClassVar[bool] = True
    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else min(size, self.n)

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them, and take no more from the input."""
        taken = state["taken"] if state else 0
        demand = Demand()
        with self.feed(replace(run, demand=demand), state) as feed:
            while taken < self.n:
                left = self.n - taken
                demand.n = run.demand.n and min(run.demand.n, left)
                chunk = feed.take(left)
                if chunk is None:
                    return
                taken += len(chunk)
                yield chunk, {"taken": taken, "feed": feed.state()}


@dataclass(frozen=True, kw_only=True)
class Skip(Stage):
    """All but the first elements."""

    counts: ClassVar[bool] = True
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


@dataclass(frozen=True, kw_only=True)
class Shard(Stage):
    """Every `n_parts`-th element, from `number` on."""

    counts: ClassVar[bool] = True
    n_shown: ClassVar[int] = 2
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
                mine: Any = chunk[(self.number - seen) % self.n_parts :: self.n_parts]
                seen = (seen + len(chunk)) % self.n_parts
                if len(mine):
                    yield mine, {"seen": seen, "feed": feed.state()}


@dataclass(frozen=True, kw_only=True)
class Enumerate(Stage):
    """Pairs of a number and an element."""

    counts: ClassVar[bool] = True
    gives: ClassVar[Content | None] = "objects"
    is_one_to_one: ClassVar[bool] = True
    start: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        number = state["number"] if state else self.start
        with self.feed(run.without_demand(), state) as feed:
            while (chunk := feed.take()) is not None:
                items: list[Any] = list(enumerate(chunk.elements(), number))
                number += len(items)
                yield ObjectChunk(items), {"number": number, "feed": feed.state()}


@dataclass(frozen=True, kw_only=True)
class Map(Stage):
    """The results of a function called with each element, in order."""

    gives: ClassVar[Content | None] = "objects"
    is_one_to_one: ClassVar[bool] = True
    function: Callable[..., Any]
    n_threads: int = 1

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one, since each may be slow to make."""
        with self.feed(run.without_demand(), state) as feed:
            if self.n_threads > 1:
                yield from self._in_threads(feed)
                return
            for element, chunk, i, after in elements(feed):
                made = _call(self.function, element, chunk, i)
                yield ObjectChunk([made]), {"feed": after}

    def _in_threads(self, feed: Feed) -> Iterator[Pair]:
        pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tfrecord-map")
        error = None
        try:
            waiting: deque[Any] = deque()
            todo = elements(feed)
            while True:
                try:
                    for element, chunk, i, after in itertools.islice(
                        todo, 2 * self.n_threads - len(waiting)
                    ):
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


@dataclass(frozen=True, kw_only=True)
class Filter(Stage):
    """The elements for which a function returns true."""

    function: Callable[..., Any]

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them one by one; records remain records."""
        with self.feed(run.without_demand(), state) as feed:
            for element, chunk, i, after in elements(feed):
                if _call(self.function, element, chunk, i):
                    yield chunk[i : i + 1], {"feed": after}


def _call(function: Callable[..., Any], element: Any, chunk: Chunk, number: int) -> Any:
    """Call a function with an element, or with the parts of a tuple; errors note its record."""
    try:
        return function(*element) if type(element) is tuple else function(element)
    except Exception as error:
        where = chunk.where(number)
        if where is not None:
            error.add_note(f"The function was called with {where}")
        raise


@dataclass(frozen=True, kw_only=True)
class Repeat(Stage):
    """All elements `n` times (None: for ever); each round is an epoch of its own."""

    n: int | None

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return 0 if self.n == 0 else None if self.n is None or size is None else size * self.n

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        epoch = state["epoch"] if state else 0
        while self.n is None or epoch < self.n:
            # The contents assumed for the caches hold for the first round, which may fill them.
            cached = None if epoch else run.cached
            is_empty = state is None
            with self.feed(replace(run, epoch=(*run.epoch, epoch), cached=cached), state) as feed:
                while (chunk := feed.take()) is not None:
                    is_empty = False
                    yield chunk, {"epoch": epoch, "feed": feed.state()}
            if is_empty and self.n is None:
                return  # otherwise an endless loop
            epoch, state = epoch + 1, None


@dataclass(frozen=True, slots=True)
class _CachedEpoch:
    """The elements of one epoch."""

    of: dict[str, Any]
    """The number of the epoch, and what the caches before this one held when it was made."""
    chunks: list[Chunk]


@dataclass(frozen=True, kw_only=True)
class Cache(Stage):
    """The same elements in every epoch, kept in memory once an epoch is complete.

    It gives copies of arrays and containers, so changing a batch in place does not change the next epoch.
    """

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


@dataclass(frozen=True, kw_only=True)
class Prefetch(Stage):
    """The same elements, `n` of them made ahead, in a thread.

    The thread ends when it has nothing left to do, and when the run is closed or forgotten. An error
    goes through the queue like an element.
    """

    is_one_to_one: ClassVar[bool] = True
    n: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed = self.feed(run, state)  # which the thread closes
        queue, process = _Queue(self.n), os.getpid()
        thread = threading.Thread(
            target=_fill, args=(feed, queue), name="tfrecord-prefetch", daemon=True
        )
        thread.start()
        try:
            while (pair := queue.get()) is not None:
                yield pair
        finally:
            if os.getpid() == process:  # in a fork the queue's lock may stay locked
                queue.stop()
                thread.join()


class _Queue:
    """Chunks made ahead: room for `most` elements, and for one chunk at least."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pairs: deque[tuple[Pair, int]] = deque()
        self._n_elements = 0
        self._changed = threading.Condition()
        self._is_stopped = False
        self._has_ended = False
        self._error: BaseException | None = None

    def put(self, pair: Pair) -> bool:
        """Wait for room and add a chunk; return False if nobody wants it."""
        with self._changed:
            while self._n_elements >= self._most and not self._is_stopped:
                self._changed.wait()
            self._pairs.append((pair, len(pair[0])))
            self._n_elements += len(pair[0])
            self._changed.notify_all()
            return not self._is_stopped

    def end(self, error: BaseException | None) -> None:
        """Note that no more chunks will come."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify_all()

    def get(self) -> Pair | None:
        """Wait for a chunk; None at the end."""
        with self._changed:
            while not self._pairs and not self._has_ended:
                self._changed.wait()
            if self._pairs:
                pair, n_elements = self._pairs.popleft()
                self._n_elements -= n_elements
                self._changed.notify_all()
                return pair
            if self._error is not None:
                raise self._error
            return None

    def stop(self) -> None:
        """Note that no more chunks are wanted."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


def _fill(feed: Feed, queue: _Queue) -> None:
    error: BaseException | None = None
    try:
        while (chunk := feed.take()) is not None:
            if not queue.put((chunk, {"feed": feed.state()})):
                break
    except BaseException as raised:  # noqa: BLE001 - raised again where the elements are wanted
        error = raised
    finally:
        feed.close()
        queue.end(error)
