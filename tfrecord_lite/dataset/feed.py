"""Feed: what a stage takes its elements from; and the state that goes on where it stands.

A stage is a generator of pairs: a chunk, and the state behind it. A *state* is plain
data (dictionaries, lists, numbers, texts, None) from which the same stage, started
anew, gives exactly what follows. How many elements a chunk has is nobody's business: a
feed cuts chunks as its taker needs them, and its own state is that of the stage before
the chunk at hand, and how many elements to skip::

    stage    |  chunk 0     |  chunk 1     |  chunk 2 ...
    states   None           s1             s2
    taken    ------------------------->
    feed's   {"at": s1, "skip": 9}

So states are made once a chunk, and still fit between any two elements.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from tfrecord_lite.dataset.chunks import Chunk, join
from tfrecord_lite.errors import FailedPreconditionError, Reason

if TYPE_CHECKING:
    from typing import Self

State: TypeAlias = dict[str, Any] | None
"""Where a stage stands; None at its beginning."""
Pair: TypeAlias = tuple[Chunk, State]
Start: TypeAlias = Callable[[State], Iterator[Pair]]
"""Starts a stage at a state."""

_MANY = 64
"""Elements in a chunk that did not come one by one."""


class Feed:
    """The elements of a stage, as many at a time as the taker likes.

    Parameters
    ----------
    start : callable
        Starts the stage.
    state : dict, optional
        What :meth:`state` returned once; None to begin at the beginning.
    kept : dict, optional
        What the caches of the stage had kept when it was started: part of the state while that
        is of the beginning.

    Notes
    -----
    An error of the stage comes when what was before it has been taken, and again
    whenever more is asked for: a generator that has raised would look like one that
    has ended.

    A run belongs to the process that began it. In one that was forked meanwhile its files
    would be read from the same place, each process missing what the other took, and its
    threads are not there.
    """

    def __init__(
        self, start: Start, state: State = None, kept: dict[str, Any] | None = None
    ) -> None:
        self._before: State = state["at"] if state else None
        self._after: State = self._before
        self._to_skip: int = state["skip"] if state else 0
        self._kept = kept
        self._pairs = start(self._before)
        self._chunk: Chunk | None = None
        self._n_taken = 0  # of the chunk
        self._peeked: Chunk | None = None
        self._error: BaseException | None = None
        detail = "the run was interrupted; start another from its state_dict"
        self._interrupted = FailedPreconditionError(Reason.CLOSED, detail=detail)
        self._process = os.getpid()

    def state(self) -> dict[str, Any]:
        """Return where the feed stands: what follows is what was not taken."""
        state = {"at": self._before, "skip": self._n_taken + self._to_skip}
        return state if self._before or self._kept is None else {**state, "kept": self._kept}

    def take(self, most: int | None = None) -> Chunk | None:
        """Return the next elements: one or more, at most so many; None at the end."""
        piece: Any = self.peek()
        if piece is None:
            return None
        if most is not None and len(piece) > most:
            self._n_taken += most
            return piece[:most]  # type: ignore[no-any-return]
        self.drop(piece)
        return piece  # type: ignore[no-any-return]

    def peek(self) -> Chunk | None:
        """Return the next elements, one or more, which stay; None at the end."""
        if self._chunk is None and not self._next_chunk():
            return None
        chunk: Any = self._chunk
        piece: Chunk = chunk[self._n_taken :] if self._n_taken else chunk
        self._peeked = piece
        return piece

    def drop(self, piece: Chunk | None) -> None:
        """Count as taken what `peek` returned last; twice is once."""
        if piece is not None and piece is self._peeked:
            self._before, self._chunk, self._n_taken, self._peeked = self._after, None, 0, None

    def gather(self, wanted: int, times: int = 1, first: Chunk | None = None) -> Chunk | None:
        """Return the next elements, exactly so many, fewer only at the end or before an error.

        None if there are none at all. As long as they come many at a time, up to so many times
        that number; what comes one by one may be long in coming. What was taken first is counted.
        """
        pieces = [] if first is None else [first]
        n_taken, goal = sum(map(len, pieces)), wanted * times
        while n_taken < goal:
            try:
                piece = self.take(goal - n_taken)
            except Exception as error:
                if pieces and error is self._error:  # it comes again
                    break
                raise
            if piece is None:
                break
            pieces.append(piece)
            n_taken += len(piece)
            if len(piece) < _MANY:
                goal = -(-n_taken // wanted) * wanted
        return join(pieces) if pieces else None

    def _next_chunk(self) -> bool:
        """Get a chunk of which something is left to take; False at the end."""
        if self._error is not None:
            raise self._error
        if self._process != os.getpid():
            detail = (
                f"the run was begun by process {self._process}, of which this is a fork; "
                "start another here, from its state_dict if it is to go on"
            )
            raise FailedPreconditionError(Reason.UNSUPPORTED, detail=detail)
        # An interruption may come behind any call here: what it leaves is this error.
        self._error = self._interrupted
        try:
            while (pair := next(self._pairs, None)) is not None:
                chunk, after = pair
                n_skipped = min(self._to_skip, len(chunk))
                to_skip = self._to_skip - n_skipped
                if n_skipped < len(chunk):
                    self._chunk, self._after, self._n_taken = chunk, after, n_skipped
                    self._to_skip, self._error = to_skip, None
                    return True
                self._before, self._to_skip = after, to_skip
        except Exception as error:
            self._error = error
            raise
        self._error = self._misfit() if self._to_skip else None
        if self._error is not None:
            raise self._error
        return False

    def _misfit(self) -> FailedPreconditionError:
        detail = (
            "the state of the run does not fit: what it was made of had more elements than "
            "there are now"
        )
        return FailedPreconditionError(Reason.STALE_INDEX, detail=detail)

    def close(self) -> None:
        """End the stage: its files, threads and processes go."""
        if self._process != os.getpid():
            return
        close = getattr(self._pairs, "close", None)
        if close is not None:
            close()


class Cursor:
    """The elements of a feed, one Python object at a time.

    Parameters
    ----------
    feed : Feed
        Nobody else may take from it.

    Notes
    -----
    A signal's handler may raise an error behind any call (Ctrl-C). So what is at hand stays in
    the feed until all of it was given, and an element is counted and returned with no call
    between: whenever the cursor is interrupted, it goes on with the next element, or fails.
    """

    def __init__(self, feed: Feed) -> None:
        self._follow(feed)

    def _follow(self, feed: Feed) -> None:
        self._feed = feed
        self._before = feed.state()
        self._chunk: Chunk | None = None
        self._ready: list[Any] = []
        self._n_taken = 0

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next element."""
        if self._n_taken == len(self._ready):
            self._make_ready()
        item = self._ready[self._n_taken]
        self._n_taken += 1
        return item

    def _make_ready(self) -> None:
        """Make the elements of the next chunk."""
        self._feed.drop(self._chunk)
        before = self._feed.state()
        self._before, self._chunk, self._ready, self._n_taken = before, None, [], 0
        chunk = self._feed.peek()
        if chunk is None:
            raise StopIteration
        ready = chunk.elements()
        self._chunk, self._ready = chunk, ready

    def _where(self) -> dict[str, Any]:
        """Return where the iterator stands, as a state of the feed."""
        return {**self._before, "skip": self._before["skip"] + self._n_taken}


class Elements(Cursor):
    """A cursor for stages."""

    def last(self) -> tuple[Any, int]:
        """Return the chunk of the element that came last, and its number there."""
        return self._chunk, self._n_taken - 1

    def state(self) -> dict[str, Any]:
        """Return where the iterator stands, as a state of the feed."""
        return self._where()
