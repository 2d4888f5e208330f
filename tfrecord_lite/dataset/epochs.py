"""Epochs: which one is next, also for the worker processes that were started before it was said.

A worker of torch has a copy of the data set, from when it was started. One that stays
(``persistent_workers=True``) would never hear of a later ``set_epoch``. So a process that
is about to start others, by a fork or by pickling, puts into shared memory what it says::

    here      set(5)  ─────────>  shared: epoch 5, said 2 times
    a worker  its next epoch  <─  was something said since?

Each process has such memory of its own, made when it first starts another. Ranks that are
forks of one process do not hear each other, but each is heard by its workers.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.context
import os
import sys
import weakref
from typing import Any

_alive: weakref.WeakValueDictionary[int, Epochs] = weakref.WeakValueDictionary()


class Epochs:
    """The number of the next epoch.

    Notes
    -----
    A worker's first epoch is what it was when the worker was started, whatever was said since.
    """

    def __init__(self) -> None:
        self._next = 0
        self._n_said = 0
        self._shared: Any = None  # the epoch said last, and how often one was
        self._shared_by: int | None = None
        self._heard: Any = None  # the same, of the process that started this one
        self._begun_in: int | None = None
        _alive[id(self)] = self

    @property
    def is_said(self) -> bool:
        """Whether the numbers are somebody's wish, rather than counted from 0."""
        return self._n_said > 0

    def say(self, epoch: int) -> None:
        """Make this the next one, here and in the workers of this process."""
        self._next, self._n_said = epoch, self._n_said + 1
        if self._shared_by == os.getpid():
            self._shared[:] = epoch, self._n_said

    def begin(self, *, is_worker: bool) -> int:
        """Return the number of the epoch that begins now."""
        process = os.getpid()
        heard = self._heard if self._shared_by == process else self._shared
        if is_worker and self._begun_in == process and heard is not None:
            epoch, n_said = heard
            if n_said != self._n_said:
                self._next, self._n_said = epoch, n_said
        self._begun_in = process
        epoch, self._next = self._next, self._next + 1
        return epoch

    def have_begun(self, epoch: int) -> None:
        """Go on with the next one behind an epoch, which a run that is resumed may change."""
        self._next = epoch + 1

    def share(self) -> None:
        """Be heard by the processes that this one starts from now on."""
        if self._shared_by != os.getpid():
            self._heard = self._shared
            self._shared = multiprocessing.RawArray(ctypes.c_int64, [self._next, self._n_said])
            self._shared_by = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the shared memory behind, unless a process is being started."""
        state = {**self.__dict__, "_begun_in": None, "_heard": None}
        if multiprocessing.context.get_spawning_popen() is None:
            return {**state, "_shared": None, "_shared_by": None}
        self.share()
        return {**state, "_shared": self._shared, "_shared_by": self._shared_by}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be one of those that are shared before a fork."""
        self.__dict__.update(state)
        _alive[id(self)] = self


def _share_all() -> None:
    if "torch.utils.data" in sys.modules:  # nobody else keeps workers
        for epochs in list(_alive.values()):
            epochs.share()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_share_all)
