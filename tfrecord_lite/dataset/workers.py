"""A pipeline in several processes, whose arrays come back through shared memory.

Each worker runs the plan on its part of the records, and hands over what it made::

    worker   elements ─pickle, protocol 5─> head, through a pipe
                            └─ arrays' bytes ─> its shared memory, a ring of slots
    here     head + a copy of the arrays' bytes ─> elements, in turns from each worker

The bytes of arrays are never pickled. They are copied out of the shared memory at once, so
what the user gets is ordinary memory, and a slot is free again. What does not fit a slot
goes through the pipe.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from dataclasses import dataclass
from itertools import cycle
from multiprocessing import shared_memory
from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset.chunks import ColumnChunk, ObjectChunk
from tfrecord_lite.dataset.feed import Feed
from tfrecord_lite.dataset.plan import Context, Source, Stage
from tfrecord_lite.dataset.spread import worker_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.dataset.plan import Kind

__all__ = ["Processes"]

_SLOTS = 3
_SLOT_BYTES = 4 * 1024 * 1024
_ALIGN = 64
_PATIENCE_SECONDS = 1.0
"""How often a worker that waits looks whether anybody waits for it."""


@dataclass(frozen=True, kw_only=True)
class Processes(Stage):
    """The same elements, made by so many processes, in turns from each."""

    n_workers: int
    start_method: str | None = None

    @property
    def kind(self) -> Kind:
        """Say that these are objects."""
        return "objects"

    def run(self, context: Context, state: State) -> Iterator[Pair]:
        """Yield them; the processes end with the run."""
        states = state["workers"] if state else [None] * self.n_workers
        turn = state["turn"] if state else 0
        workers: list[_Worker] = []
        try:
            for i in range(self.n_workers):
                plan = worker_part(self.input, self.n_workers, i)
                workers.append(_Worker(plan, context, states[i], self.start_method))
            has_more = [True] * self.n_workers
            while any(has_more):
                now, turn = turn, (turn + 1) % self.n_workers
                chunk = workers[now].feed.take(1) if has_more[now] else None
                has_more[now] = chunk is not None
                if chunk is not None:
                    yield chunk, {"turn": turn, "workers": [w.feed.state() for w in workers]}
        finally:
            for worker in workers:
                worker.stop()


class _Worker:
    """One process, seen from here."""

    def __init__(
        self,
        plan: Source,
        context: Context,
        state: dict[str, Any] | None,
        start_method: str | None,
    ) -> None:
        self._plan = plan
        self._context = context
        self._processes: Any = multiprocessing.get_context(start_method)
        self._memory = shared_memory.SharedMemory(create=True, size=_SLOTS * _SLOT_BYTES)
        self.feed = Feed(self._start, state)

    def _start(self, state: State) -> Iterator[Pair]:
        """Start the process; what it makes comes from the iterator."""
        self._free = self._processes.Semaphore(_SLOTS)
        self._inlet, outlet = self._processes.Pipe(duplex=False)
        job = (self._plan, self._context, state, self._memory, self._free, outlet)
        self._process = self._processes.Process(target=_work, args=job, daemon=True)
        self._process.start()
        outlet.close()  # the process has its own, so its end is noticed here
        return self._receive()

    def _receive(self) -> Iterator[Pair]:
        while True:
            try:
                kind, *message = self._inlet.recv()
            except EOFError:
                self._process.join()
                detail = f"a worker process ended with exit code {self._process.exitcode}"
                raise RuntimeError(detail) from None
            if kind == "end":
                return
            if kind == "error":
                raise message[0]
            head, places, after = message
            if places is None:
                buffers: list[Any] = self._inlet.recv()
            else:
                view: Any = self._memory.buf
                buffers = [bytearray(view[a:b]) for a, b in places]
                self._free.release()
            yield pickle.loads(head, buffers=buffers), after  # noqa: S301 - our own

    def stop(self) -> None:
        """End the process, and give its memory back."""
        if self._process.is_alive():
            self._process.terminate()
        self._process.join()
        self._inlet.close()
        self._memory.close()
        self._memory.unlink()


def _work(
    plan: Source,
    context: Context,
    state: State,
    memory: shared_memory.SharedMemory,
    free: Any,
    outlet: Connection,
) -> None:
    """Run a plan, and send what it gives: the whole life of a worker process."""
    # Ctrl-C goes to all processes of a terminal; the one that waits decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    slots = cycle(range(0, _SLOTS * _SLOT_BYTES, _SLOT_BYTES))
    with contextlib.suppress(BrokenPipeError):
        try:
            for chunk, after in plan.run(context, state):
                buffers: list[pickle.PickleBuffer] = []
                # Records are bytes objects at the edge; what has arrays is sent as it is.
                sent = chunk if isinstance(chunk, ColumnChunk) else ObjectChunk(chunk.elements())
                head = pickle.dumps(sent, 5, buffer_callback=buffers.append)
                views = [buffer.raw() for buffer in buffers]
                if sum(view.nbytes + _ALIGN for view in views) > _SLOT_BYTES:
                    outlet.send(("made", head, None, after))
                    outlet.send([bytearray(view) for view in views])
                    continue
                while not free.acquire(timeout=_PATIENCE_SECONDS):
                    if os.getppid() != parent:
                        return
                places = _copy(views, memory.buf, next(slots))
                outlet.send(("made", head, places, after))
            outlet.send(("end",))
        except Exception as error:  # noqa: BLE001 - raised again where the elements are wanted
            outlet.send(("error", _sendable(error)))


def _copy(views: list[memoryview], memory: Any, at: int) -> list[tuple[int, int]]:
    """Copy arrays into the shared memory from `at` on; return where each is."""
    places = []
    for view in views:
        memory[at : at + view.nbytes] = view
        places.append((at, at + view.nbytes))
        at += -(-view.nbytes // _ALIGN) * _ALIGN
    return places


def _sendable(error: Exception) -> Exception:
    """Return the error, or one that says the same if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling runs anybody's code
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
