"""Feeds: the elements of a plan's node, cut to any size, and the position of a run between any two.

A node runs as a generator of pairs: a chunk, and the state after it. A *state* is plain data
(dictionaries, lists, numbers, strings, None); started from it, the same node gives exactly what
follows. A feed's own state is the node's state before the current chunk, and the number of elements to skip::

    node     |  chunk 0     |  chunk 1     |  chunk 2 ...
    states   None           s1             s2
    taken    ------------------------->
    feed's   {"at": s1, "skip": 9}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeAlias

from tfrecord_lite.dataset.chunks import Chunk, join
from tfrecord_lite.errors import FailedPreconditionError, Reason

State: TypeAlias = dict[str, Any] | None
"""The position of a node; None at its beginning."""
Pair: TypeAlias = tuple[Chunk, State]
"""Elements, and the state after them."""
Start: TypeAlias = Callable[[State], Iterator[Pair]]
"""Starts a node at a state."""

_MANY = 64
"""A chunk of fewer elements than this may have been slow to make."""


class Demand:
    """How many elements a stage wants next."""

    n: int | None = None


class Feed:
    """Elements of a node that was started with `start`, any number at a time.

    An error of the node is raised after all elements before it, and again by each later call: a
    generator that has raised would otherwise look like one that has ended.

    A run belongs to the process that began it: its threads and processes do not exist for a fork,
    which would wait for them, and files would be read from offsets that both move.
    """

    def __init__(self, start: Start, state: State = None) -> None:
        self._before: State = state["at"] if state else None  # of the node, before the chunk
        self._after: State = self._before
        self._to_skip: int = state["skip"] if state else 0
        self._pairs = start(self._before)
        self._chunk: Chunk | None = None
        self._n_taken = 0  # of the chunk
        self._error: BaseException | None = None
        self._process = os.getpid()

    def state(self) -> dict[str, Any]:
        """Return the state before the first element that was not taken yet."""
        return {"at": self._before, "skip": self._n_taken + self._to_skip}

    def take(self, most: int | None = None) -> Chunk | None:
        """Return the next elements, one or more, at most `most`; None at the end."""
        if self._chunk is None and not self._next_chunk():
            return None
        chunk: Any = self._chunk
        piece: Chunk = chunk[self._n_taken :] if self._n_taken else chunk
        if most is not None and len(piece) > most:
            self._n_taken += most
            return piece[:most]
        self._before, self._chunk, self._n_taken = self._after, None, 0
        return piece

    def gather(self, n_wanted: int, times: int = 1, demand: Demand | None = None) -> Chunk | None:
        """Return `n_wanted` elements in one chunk, as :meth:`pieces`; None at the end."""
        pieces = self.pieces(n_wanted, times, demand)
        return join(pieces) if pieces else None

    def pieces(
        self,
        n_wanted: int,
        times: int = 1,
        demand: Demand | None = None,
        first: Chunk | None = None,
        many: int = _MANY,
    ) -> list[Chunk]:
        """Return `n_wanted` elements; fewer only at the end or before an error.

        If elements come `many` at a time, return up to ``n_wanted * times`` of them; those that come
        one by one may be slow. A `demand` receives what is left. `first` was taken before, and counts.
        """
        pieces = [] if first is None else [first]
        n_taken, goal = sum(map(len, pieces)), n_wanted * times
        while n_taken < goal:
            if demand is not None:
                demand.n = goal - n_taken
            try:
                piece = self.take(goal - n_taken)
            except Exception as error:
                if pieces and error is self._error:  # the next call raises it again
                    break
                raise
            if piece is None:
                break
            pieces.append(piece)
            n = len(piece)
            n_taken += n
            if n < many:
                goal = -(-n_taken // n_wanted) * n_wanted
        return pieces

    def _next_chunk(self) -> bool:
        """Get a chunk with elements left to take; False at the end."""
        if self._error is not None:
            raise self._error
        if self._process != os.getpid():
            detail = f"process {self._process}, of which this one is a fork, began this iteration; "
            detail += "start another one here, from the first one's state_dict to go on"
            raise FailedPreconditionError(Reason.UNSUPPORTED, detail=detail)
        try:
            while (pair := next(self._pairs, None)) is not None:
                chunk, after = pair
                n, n_skipped = len(chunk), self._to_skip
                if n_skipped < n:
                    self._to_skip = 0
                    self._chunk, self._after, self._n_taken = chunk, after, n_skipped
                    return True
                self._to_skip -= n
                self._before = after
        except BaseException as error:  # an interrupt too must not look like the end of the data
            self._error = error
            raise
        if self._to_skip:
            detail = "there are fewer elements than when the state was taken"
            self._error = FailedPreconditionError(Reason.STALE_INDEX, detail=detail)
            raise self._error
        return False

    def close(self) -> None:
        """End the run of the node."""
        close = getattr(self._pairs, "close", None)
        if close is not None and self._process == os.getpid():
            close()

    def __enter__(self) -> Self:
        """Return the feed, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the feed."""
        self.close()


def elements(feed: Feed) -> Iterator[tuple[Any, Chunk, int, dict[str, Any]]]:
    """Yield each element with its chunk, its number in that, and the feed's state after it."""
    while True:
        before = feed.state()
        if (chunk := feed.take()) is None:
            return
        for i, element in enumerate(chunk.to_list()):
            yield element, chunk, i, further(before, i + 1)


def further(state: dict[str, Any], n: int) -> dict[str, Any]:
    """Return a feed's state after the next `n` elements of the same chunk."""
    return {**state, "skip": state["skip"] + n}
