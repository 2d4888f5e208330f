"""Processes that run a plan together, and send arrays back through shared memory.

::

    worker   elements ─pickle, protocol 5─> a pickle, and the bytes of arrays
                            └─> its shared memory, a ring of slots; their places, through a pipe
    main     pickle + a copy of the arrays' bytes ─> elements, in turns from each worker

The copy frees the slot at once. What does not fit a slot goes through the pipe. The shared memory has no name
that could be left behind, and is not in /dev/shm on Linux, which containers often bound to 64 MB; of its slots
only written pages take memory.

A worker's pipe breaks when its elements are not wanted any more: only the process that began the run
keeps the read end; forks of it close their copies.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import traceback
import weakref
from collections.abc import Iterator
from itertools import cycle
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from tfrecord_lite.dataset.chunks import Chunk, ColumnChunk, ObjectChunk
from tfrecord_lite.dataset.cutting import Feed, Pair, State
from tfrecord_lite.dataset.plan import Content, PlanNode, Run, Stage, sources_of, worker_part
from tfrecord_lite.errors import FailedPreconditionError, Reason

_SLOTS = 3
_LARGE_SLOT_BYTES = 64 * 1024 * 1024
_SMALL_SLOT_BYTES = 4 * 1024 * 1024
"""Where shared memory is an array of multiprocessing, all of which is written at once."""
_ALIGN = 64
_PATIENCE_SECONDS = 1.0
"""Interval at which each side checks that the other still runs."""
_inlets: weakref.WeakValueDictionary[int, Connection] = weakref.WeakValueDictionary()
"""The read ends of the pipes of all workers; forks must not keep them open."""


def _close_inlets() -> None:
    for inlet in list(_inlets.values()):
        inlet.close()
    _inlets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inlets)


class Processes(Stage):
    """The same elements, made by processes, in turns from each."""

    gives: ClassVar[Content | None] = "objects"
    method = "in_processes"
    n_workers: int
    start_method: str | None = None

    def size(self) -> int | None:
        """Return the number of elements of all workers."""
        parts = [worker_part(self.input, self.n_workers, i).size() for i in range(self.n_workers)]
        sizes = [size for size in parts if size is not None]
        return sum(sizes) if len(sizes) == self.n_workers else None

    def chunks(self, run: Run, state: State) -> Iterator[Pair]:
        """Yield them; the processes end with the run."""
        if multiprocessing.current_process().daemon:
            detail = "a worker process cannot start other processes; leave out in_processes "
            detail += (
                "(num_workers) in a torch DataLoader's workers, and inside another in_processes"
            )
            raise FailedPreconditionError(Reason.UNSUPPORTED, detail=detail)
        process = os.getpid()
        workers: list[_Worker] = []
        feeds: list[Feed] = []
        try:
            for source in sources_of(self.input):
                source.prepare(run, self.n_workers)
            for i in range(self.n_workers):
                plan = worker_part(self.input, self.n_workers, i)
                workers.append(_Worker(plan, run, self.start_method))
                feeds.append(Feed(workers[i].start, state["workers"][i] if state else None))
            yield from _in_turns(feeds, state["turn"] if state else 0)
        finally:
            if os.getpid() == process:  # a fork does not own the workers
                for feed in feeds:
                    feed.close()
                for worker in workers:
                    worker.stop()


def _in_turns(feeds: list[Feed], turn: int) -> Iterator[Pair]:
    ended: set[int] = set()
    while len(ended) < len(feeds):
        now, turn = turn, (turn + 1) % len(feeds)
        if now not in ended and (chunk := feeds[now].take(1)) is not None:
            yield chunk, {"turn": turn, "workers": [feed.state() for feed in feeds]}
        else:
            ended.add(now)


class _SharedMemory:
    """A ring of slots that processes share: a file of Linux without a name, or an array of multiprocessing.

    Not multiprocessing.shared_memory: its blocks are in /dev/shm, and have names.
    """

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        is_file = isinstance(shared, Connection)
        self.buffer = mmap.mmap(shared.fileno(), 0) if is_file else memoryview(shared).cast("B")

    @classmethod
    def new(cls) -> _SharedMemory:
        if not hasattr(os, "memfd_create"):
            return cls(multiprocessing.RawArray("B", _SLOTS * _SMALL_SLOT_BYTES))
        fd = os.memfd_create("tfrecord-worker")
        os.ftruncate(fd, _SLOTS * _LARGE_SLOT_BYTES)
        return cls(Connection(fd))  # which closes it, and can be sent to a process that starts

    def __reduce__(self) -> Any:
        return _SharedMemory, (self._shared,)


class _Worker:
    """One process, seen from the run."""

    def __init__(self, plan: PlanNode, run: Run, start_method: str | None) -> None:
        self._plan = plan
        self._run = run
        self._processes: Any = multiprocessing.get_context(start_method)
        # A fork has no module to import first.
        self._has_begun = self._processes.get_start_method() == "fork"
        self._memory: Any = _SharedMemory.new()
        self._process: Any = None
        self._inlet: Any = None

    def start(self, state: State) -> Iterator[Pair]:
        """Start the process; return the chunks that it makes."""
        self._free = self._processes.Semaphore(_SLOTS)
        self._inlet, outlet = self._processes.Pipe(duplex=False)
        _inlets[id(self._inlet)] = self._inlet
        job = (self._plan, self._run, state, self._memory, self._free, outlet)
        self._process = self._processes.Process(target=_work, args=job, daemon=True)
        try:
            self._process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            detail = f"what worker processes run cannot be pickled: {error}; use functions and classes of a "
            detail += 'module instead of lambdas and local ones, or in_processes(..., start_method="fork")'
            raise FailedPreconditionError(Reason.UNSUPPORTED, detail=detail) from error
        finally:
            outlet.close()  # the process has its own copy; when it ends, the pipe does
        return self._receive()

    def _receive(self) -> Iterator[Pair]:
        # An error's traceback may keep this call's variables, which must not keep the memory.
        with memoryview(self._memory.buffer) as memory:
            while True:
                kind, *message = self._next()
                if kind == "end":
                    return
                if kind == "error":
                    error, text = message
                    error.add_note(f"In a worker process:\n{text}")
                    raise error
                if kind == "sizes":
                    self._run.sizes.update(*message)
                elif kind == "made":
                    places, is_cut, after = message
                    if places is None:
                        chunk = _copied(self._next(), is_cut=is_cut)
                    else:
                        chunk = _copied([memory[a:b] for a, b in places], is_cut=is_cut)
                        self._free.release()
                    yield chunk, after

    def _next(self) -> Any:
        """Wait for a message; raise RuntimeError if the process dies."""
        is_alive = True
        with contextlib.suppress(EOFError, OSError):  # an OSError if it died while it wrote
            while is_alive:
                is_alive = self._process.is_alive()
                if self._inlet.poll(_PATIENCE_SECONDS if is_alive else 0):
                    message = self._inlet.recv()
                    self._has_begun = True
                    return message
        self._process.join()
        raise _death_error(self._process.exitcode, has_begun=self._has_begun)

    def stop(self) -> None:
        if self._inlet is not None:
            self._inlet.close()
        if self._process is not None and self._process.pid is not None:
            self._process.terminate()
            self._process.join()
        self._process = self._memory = None  # the last references; closes their descriptors


def _copied(pieces: list[Any], *, is_cut: bool) -> Chunk:
    """Make a chunk of a pickle and copies of its arrays; elements that it `is_cut` into are copies, too."""
    head, *arrays = pieces
    if is_cut:
        return ObjectChunk(pickle.loads(head, buffers=arrays).to_list())  # noqa: S301 - our own
    return pickle.loads(head, buffers=map(bytearray, arrays))  # type: ignore[no-any-return]  # noqa: S301


def _death_error(code: int, *, has_begun: bool) -> RuntimeError:
    text = f"a worker process ended with exit code {code}"
    if code == 1 and not has_begun:
        text += " while it imported the program, or looked there for what it runs; what starts worker processes belongs "
        text += 'below if __name__ == "__main__":, and functions into a module, not a shell or notebook, unless '
        text += 'in_processes has start_method="fork"'
    if code < 0:
        with contextlib.suppress(ValueError):
            text += f" ({signal.Signals(-code).name})"
    if -code == getattr(signal, "SIGKILL", 9):
        text += "; the system kills processes that take too much memory"
    return RuntimeError(text)


def _work(
    plan: PlanNode, run: Run, state: State, memory: _SharedMemory, free: Any, outlet: Connection
) -> None:
    """Run a plan and send its elements: the main function of a process."""
    # Ctrl-C goes to all processes of a terminal; the main process decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A handler that the parent has set must not keep this process from being stopped.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    slot_bytes = len(memory.buffer) // _SLOTS
    slots = cycle(range(0, len(memory.buffer), slot_bytes))
    n_sizes = 0
    with contextlib.suppress(BrokenPipeError):
        try:
            for chunk, after in plan.chunks(run, state):
                if len(run.sizes) > n_sizes:
                    n_sizes = len(run.sizes)
                    outlet.send(("sizes", dict(run.sizes)))
                buffers: list[pickle.PickleBuffer] = []
                # Records become bytes objects anyway; columns are sent as they are.
                is_cut = isinstance(chunk, ColumnChunk)
                sent = chunk if is_cut else ObjectChunk(chunk.to_list())
                head = pickle.dumps(sent, 5, buffer_callback=buffers.append)
                views = [memoryview(head), *(buffer.raw() for buffer in buffers)]
                if sum(view.nbytes + _ALIGN for view in views) > slot_bytes:
                    outlet.send(("made", None, is_cut, after))
                    outlet.send([bytearray(view) for view in views])
                    continue
                while not free.acquire(timeout=_PATIENCE_SECONDS):
                    outlet.send(("waiting",))  # fails if nobody reads any more
                outlet.send(("made", _copy(views, memory.buffer, next(slots)), is_cut, after))
            outlet.send(("end",))
        except BaseException as error:  # noqa: BLE001 - raised again where the elements are wanted
            outlet.send(("error", _sendable(error), traceback.format_exc()))


def _copy(views: list[memoryview], memory: Any, at: int) -> list[tuple[int, int]]:
    places = []
    for view in views:
        memory[at : at + view.nbytes] = view
        places.append((at, at + view.nbytes))
        at += -(-view.nbytes // _ALIGN) * _ALIGN
    return places


def _sendable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling may run any code
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
