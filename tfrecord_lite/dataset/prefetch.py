"""Prefetch: elements made ahead, in a thread.

The thread ends when it has nothing left to do, when the run is closed, and when nothing refers to
the run any more. An error goes through the queue like an element. Ctrl-C ends the wait for the
thread; the thread wakes all waiters when it ends.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tfrecord_lite.dataset.plan import Run, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.dataset.feed import Feed, Pair, State


@dataclass(frozen=True, kw_only=True)
class Prefetch(Stage):
    """The same elements, `n` of them made ahead."""

    is_one_to_one: ClassVar[bool] = True
    n: int

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them."""
        feed = self.feed(run, state)  # which the thread closes
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
            if os.getpid() == process:  # a fork has no such thread, and the lock may stay locked
                queue.stop()
                # If the thread's start was interrupted, it ends by itself.
                with contextlib.suppress(RuntimeError):
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


def _work(feed: Feed, queue: _Queue) -> None:
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
