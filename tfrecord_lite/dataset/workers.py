"""A pipeline in several processes, whose arrays come back through shared memory.

Each worker runs the plan on its part of the records, and hands over what it made::

    worker   elements ─pickle, protocol 5─> head, through a pipe
                            └─ arrays' bytes ─> its shared memory, a ring of slots
    here     head + a copy of the arrays' bytes ─> elements, in turns from each worker

The bytes of arrays are never pickled. They are copied out of the shared memory at once, so
what the user gets is ordinary memory, and a slot is free again. What does not fit a slot
goes through the pipe. The memory has no name that could be left behind: however the
processes end, it goes with the last of them.

A worker knows by its pipe that there is nobody left to make anything for: nobody but the
process that began the run has the end it is read from. Forks, among them the workers,
close their copies.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import traceback
import weakref
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from tfrecord_lite.dataset.chunks import ColumnChunk, ObjectChunk
from tfrecord_lite.dataset.feed import Feed
from tfrecord_lite.dataset.plan import Context, Source, Stage
from tfrecord_lite.dataset.sharding import worker_part
from tfrecord_lite.dataset.worker_damage import Losses, Outbox
from tfrecord_lite.errors import FailedPreconditionError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from tfrecord_lite.dataset.feed import Pair, State
    from tfrecord_lite.dataset.plan import Kind
    from tfrecord_lite.dataset.worker_damage import News

_SLOTS = 3
_SLOT_BYTES = 4 * 1024 * 1024
_ALIGN = 64
_PATIENCE_SECONDS = 1.0
"""How often each side, when it waits, looks whether the other is still there."""
_inlets: weakref.WeakValueDictionary[int, Connection] = weakref.WeakValueDictionary()
"""The ends that the pipes of all workers are read from, which forks must not keep open."""


def _close_inlets() -> None:
    for inlet in list(_inlets.values()):
        inlet.close()
    _inlets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inlets)


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
        if multiprocessing.current_process().daemon:
            detail = (
                "a worker process cannot start more of them: leave out in_processes "
                "(num_workers) in what a torch DataLoader or another in_processes spreads"
            )
            raise FailedPreconditionError(Reason.UNSUPPORTED, detail=detail)
        states = state["workers"] if state else [None] * self.n_workers
        turn = state["turn"] if state else 0
        process = os.getpid()
        losses = Losses.of(self.input)
        workers: list[_Worker] = []
        feeds: list[Feed] = []
        try:
            for i in range(self.n_workers):
                plan = worker_part(self.input, self.n_workers, i)
                workers.append(_Worker(plan, context, self.start_method, losses))
                feeds.append(Feed(workers[i].start, states[i]))
            has_more = [True] * self.n_workers
            while any(has_more):
                now, turn = turn, (turn + 1) % self.n_workers
                chunk = feeds[now].take(1) if has_more[now] else None
                has_more[now] = chunk is not None
                if chunk is not None:
                    yield chunk, {"turn": turn, "workers": [feed.state() for feed in feeds]}
        finally:
            # What was forked meanwhile has no part in it.
            if os.getpid() == process:
                for feed in feeds:
                    feed.close()
                for worker in workers:
                    worker.stop()
                if losses is not None:
                    losses.give_warning()


class _Worker:
    """One process, seen from here. Does not know its feed, so both go with the run."""

    def __init__(
        self,
        plan: Source,
        context: Context,
        start_method: str | None,
        losses: Losses | None,
    ) -> None:
        self._losses = losses
        self._plan = plan
        self._context = context
        self._processes: Any = multiprocessing.get_context(start_method)
        self._memory: Any = self._processes.RawArray(ctypes.c_ubyte, _SLOTS * _SLOT_BYTES)
        self._process: Any = None
        self._inlet: Any = None

    def start(self, state: State) -> Iterator[Pair]:
        """Start the process, and return what it makes."""
        self._free = self._processes.Semaphore(_SLOTS)
        self._inlet, outlet = self._processes.Pipe(duplex=False)
        _inlets[id(self._inlet)] = self._inlet
        job = (self._plan, self._context, state, self._memory, self._free, outlet)
        self._process = self._processes.Process(target=_work, args=job, daemon=True)
        self._process.start()
        outlet.close()  # the process has its own, so its end is noticed here
        return self._receive()

    def _receive(self) -> Iterator[Pair]:
        # The frame may live on in the traceback of an error, which must not keep the memory.
        with memoryview(self._memory) as memory, memory.cast("B") as view:
            while True:
                kind, *message = self._next()
                if kind == "waiting":
                    continue
                if kind == "end":
                    self._note(*message)
                    return
                if kind == "error":
                    error, text, news = message
                    self._note(news)
                    error.add_note(f"In a worker process:\n{text}")
                    raise error
                head, places, after, news = message
                if places is None:
                    buffers: list[Any] = self._next()
                else:
                    buffers = [bytearray(view[a:b]) for a, b in places]
                    self._free.release()
                self._note(news)
                yield pickle.loads(head, buffers=buffers), after  # noqa: S301 - our own

    def _note(self, news: News | None) -> None:
        """Take to the account what the process has met in files."""
        if self._losses is not None and news is not None:
            self._losses.add(self, news)

    def _next(self) -> Any:
        """Wait for a message, as long as there is anybody to send it."""
        is_alive = True
        with contextlib.suppress(EOFError, OSError):  # the latter if it died while it wrote
            while is_alive:
                is_alive = self._process.is_alive()
                if self._inlet.poll(_PATIENCE_SECONDS if is_alive else 0):
                    return self._inlet.recv()
        self._process.join()
        raise RuntimeError(_obituary(self._process.exitcode))

    def stop(self) -> None:
        """End the process, if it was started, and let go of what was shared with it."""
        if self._inlet is not None:
            self._inlet.close()
        if self._process is not None and self._process.pid is not None:
            self._process.terminate()
            self._process.join()
        self._process = self._memory = None  # nobody else has them, so their descriptors go


def _obituary(code: int) -> str:
    """Say how a worker process ended."""
    text = f"a worker process ended with exit code {code}"
    if code >= 0:
        return text
    with contextlib.suppress(ValueError):
        text += f" ({signal.Signals(-code).name})"
    if -code == getattr(signal, "SIGKILL", 9):
        text += "; the system kills processes that take too much memory"
    return text


def _work(
    plan: Source,
    context: Context,
    state: State,
    memory: Any,
    free: Any,
    outlet: Connection,
) -> None:
    """Run a plan, and send what it gives: the whole life of a worker process."""
    # Ctrl-C goes to all processes of a terminal; the one that waits decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler of the parent's must not keep this from being stopped.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    outbox = Outbox(plan)
    shared = memoryview(memory).cast("B")
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
                    outlet.send(("made", head, None, after, outbox.news()))
                    outlet.send([bytearray(view) for view in views])
                    continue
                while not free.acquire(timeout=_PATIENCE_SECONDS):
                    outlet.send(("waiting",))  # fails if nobody is there to read it
                places = _copy(views, shared, next(slots))
                outlet.send(("made", head, places, after, outbox.news()))
            outlet.send(("end", outbox.news()))
        except BaseException as error:  # noqa: BLE001 - raised again where the elements are wanted
            outlet.send(("error", _sendable(error), traceback.format_exc(), outbox.news()))


def _copy(views: list[memoryview], memory: Any, at: int) -> list[tuple[int, int]]:
    """Copy arrays into the shared memory from `at` on; return where each is."""
    places = []
    for view in views:
        memory[at : at + view.nbytes] = view
        places.append((at, at + view.nbytes))
        at += -(-view.nbytes // _ALIGN) * _ALIGN
    return places


def _sendable(error: BaseException) -> BaseException:
    """Return the error, or one that says the same if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling runs anybody's code
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
