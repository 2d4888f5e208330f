"""The stages that pass elements on: some of them, numbered, or changed by a function."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable  # noqa: TC003 - of a dataclass
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tfrecord_lite.dataset.chunks import ObjectChunk
from tfrecord_lite.dataset.feed import Elements
from tfrecord_lite.dataset.plan import Context, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.chunks import Chunk
    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.dataset.plan import Kind


def call(function: Callable[..., Any], element: Any, chunk: Chunk, number: int) -> Any:
    """Call a function with an element; the parts of a tuple are its arguments.

    Parameters
    ----------
    function : callable
    element : object
    chunk : Chunk
    number : int
        Where the element was: an error says which record it was made of, if that is known.
    """
    try:
        return function(*element) if type(element) is tuple else function(element)
    except Exception as error:
        where = chunk.where(number)
        if where is not None:
            error.add_note(f"The function was called with {where}")
        raise


@dataclass(frozen=True, kw_only=True)
class Take(Stage):
    """The first elements."""

    counts: ClassVar[bool] = True
    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else min(size, self.n)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them, and ask for no more."""
        taken = state["taken"] if state else 0
        feed = self.feed(context, state["feed"] if state else None)
        try:
            while taken < self.n and (chunk := feed.take(self.n - taken)) is not None:
                taken += len(chunk)
                yield chunk, {"taken": taken, "feed": feed.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class Skip(Stage):
    """All but the first elements."""

    counts: ClassVar[bool] = True
    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else max(size - self.n, 0)

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        left = 0 if state else self.n
        feed = self.feed(context, state["feed"] if state else None)
        try:
            while (chunk := feed.take(left or None)) is not None:
                if left:
                    left -= len(chunk)
                    continue
                yield chunk, {"feed": feed.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class Shard(Stage):
    """Every n-th element."""

    counts: ClassVar[bool] = True
    n_parts: int
    number: int

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return None if size is None else len(range(self.number, size, self.n_parts))

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        seen = state["seen"] if state else 0
        feed = self.feed(context, state["feed"] if state else None)
        try:
            while (chunk := feed.take()) is not None:
                mine: Any = chunk[(self.number - seen) % self.n_parts :: self.n_parts]
                seen = (seen + len(chunk)) % self.n_parts
                if len(mine):
                    yield mine, {"seen": seen, "feed": feed.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class Enumerate(Stage):
    """Pairs of a number and an element."""

    counts: ClassVar[bool] = True
    start: int

    @property
    def kind(self) -> Kind:
        """Say that these are pairs."""
        return "objects"

    def size(self) -> int | None:
        """Return the number of elements."""
        return self.input.size()

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        number = state["number"] if state else self.start
        feed = self.feed(context, state["feed"] if state else None)
        try:
            while (chunk := feed.take()) is not None:
                items: list[Any] = list(enumerate(chunk.elements(), number))
                number += len(items)
                yield ObjectChunk(items), {"number": number, "feed": feed.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class Map(Stage):
    """What a function makes of each element, in their order; in threads if asked for."""

    function: Callable[..., Any]
    n_threads: int = 1

    @property
    def kind(self) -> Kind:
        """Say that these may be anything."""
        return "objects"

    def size(self) -> int | None:
        """Return the number of elements."""
        return self.input.size()

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them one by one, since nobody knows what one costs."""
        feed = self.feed(context, state["feed"] if state else None)
        try:
            elements = Elements(feed)
            if self.n_threads > 1:
                yield from self._in_threads(elements)
                return
            for element in elements:
                made = call(self.function, element, *elements.last())
                yield ObjectChunk([made]), {"feed": elements.state()}
        finally:
            feed.close()

    def _in_threads(self, elements: Elements) -> Iterator[Pair]:
        pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tfrecord-map")
        error, process = None, os.getpid()
        try:
            waiting: deque[Any] = deque()
            while True:
                try:
                    for element in itertools.islice(elements, 2 * self.n_threads - len(waiting)):
                        future = pool.submit(call, self.function, element, *elements.last())
                        waiting.append((future, elements.state()))
                except Exception as raised:  # noqa: BLE001 - after what came before it
                    error = raised
                if not waiting:
                    break
                future, after = waiting.popleft()
                yield ObjectChunk([future.result()]), {"feed": after}
            if error is not None:
                raise error
        finally:
            if os.getpid() == process:  # a fork has no such threads
                pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, kw_only=True)
class Filter(Stage):
    """The elements of which a function says so."""

    function: Callable[..., Any]

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them one by one; records stay records."""
        feed = self.feed(context, state["feed"] if state else None)
        try:
            elements = Elements(feed)
            for element in elements:
                chunk, i = elements.last()
                if call(self.function, element, chunk, i):
                    yield chunk[i : i + 1], {"feed": elements.state()}
        finally:
            feed.close()


@dataclass(frozen=True, kw_only=True)
class Repeat(Stage):
    """All elements, so many times, or for ever; each time is an epoch of its own."""

    n: int | None

    def size(self) -> int | None:
        """Return the number of elements."""
        size = self.input.size()
        return 0 if self.n == 0 else None if self.n is None or size is None else size * self.n

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        epoch = state["epoch"] if state else 0
        where = state["feed"] if state else None
        while self.n is None or epoch < self.n:
            inner = replace(context, epoch=(*context.epoch, epoch))
            # What was kept is said of the first round; by the next, caches may have been filled.
            feed = self.feed(replace(inner, kept=None) if epoch else inner, where)
            is_empty = where is None
            try:
                while (chunk := feed.take()) is not None:
                    is_empty = False
                    yield chunk, {"epoch": epoch, "feed": feed.state()}
            finally:
                feed.close()
            if is_empty and self.n is None:
                return  # nothing, for ever
            epoch, where = epoch + 1, None
