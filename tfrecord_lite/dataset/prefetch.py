"""Work ahead in a thread.

The thread ends when it has nothing left to do, when the run is closed, and when nothing
refers to the run any more. An error goes through the queue like an element. Waiting for
the thread can be interrupted (Ctrl-C), and never outlives it: the queue says when it ends.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfrecord_lite.dataset.plan import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Feed, Pair, State
    from tfrecord_lite.dataset.plan import Context


@dataclass(frozen=True, kw_only=True)
class Prefetch(Stage):
    """The same elements, of which so many are made ahead."""

    n: int

    def size(self) -> int | None:
        """Return the number of elements."""
        return self.input.size()

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed = self.feed(context, state["feed"] if state else None)
        queue = _Queue(self.n)
        thread = threading.Thread(
            target=_work, args=(feed, queue), name="tfrecord-prefetch", daemon=True
        )
        process = os.getpid()
        try:
            thread.start()
            while (pair := queue.get()) is not None:
                yield pair
        finally:
            if os.getpid() == process:  # a fork has no such thread, and maybe its lock for ever
                queue.stop()
                # One that was interrupted in its start ends by itself.
                with contextlib.suppress(RuntimeError):
                    thread.join()


class _Queue:
    """Chunks made ahead: room for so many elements, and for one chunk at least."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pairs: deque[tuple[Pair, int]] = deque()
        self._n_elements = 0
        self._changed = threading.Condition()
        self._is_stopped = False
        self._has_ended = False
        self._error: BaseException | None = None

    def put(self, pair: Pair) -> bool:
        """Wait for room and add a chunk; False if nobody wants it."""
        with self._changed:
            while self._n_elements >= self._most and not self._is_stopped:
                self._changed.wait()
            self._pairs.append((pair, len(pair[0])))
            self._n_elements += len(pair[0])
            self._changed.notify_all()
            return not self._is_stopped

    def end(self, error: BaseException | None) -> None:
        """Say that nothing more will come."""
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
        """Say that nothing more is wanted."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


def _work(feed: Feed, queue: _Queue) -> None:
    error: BaseException | None = None
    try:
        while (chunk := feed.take()) is not None:
            if not queue.put((chunk, {"feed": feed.state()})):
                break
    except BaseException as raised:  # noqa: BLE001 - whatever it is, the taker gets it
        error = raised
    finally:
        feed.close()
        queue.end(error)
