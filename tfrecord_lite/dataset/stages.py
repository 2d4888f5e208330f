"""The simple stages: some of the elements, or all, numbered, repeated or changed by a function."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable  # noqa: TC003 - of a dataclass
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tfrecord_lite.dataset.chunks import ObjectChunk
from tfrecord_lite.dataset.feed import elements
from tfrecord_lite.dataset.plan import Content, Run, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.chunks import Chunk
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
        with self.feed(run, state) as feed:
            while taken < self.n and (chunk := feed.take(self.n - taken)) is not None:
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
        with self.feed(run, state) as feed:
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
        with self.feed(run, state) as feed:
            if self.n_threads > 1:
                yield from self._in_threads(feed)
                return
            for element, chunk, i, after in elements(feed):
                made = _call(self.function, element, chunk, i)
                yield ObjectChunk([made]), {"feed": after}

    def _in_threads(self, feed: Feed) -> Iterator[Pair]:
        pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tfrecord-map")
        error, process = None, os.getpid()
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
            if os.getpid() == process:  # a fork does not have these threads
                pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, kw_only=True)
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
