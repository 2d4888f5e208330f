"""Signals that ask a process to end, answered as Ctrl-C is.

By default they end it at once, and a file that was being written keeps its hidden name.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """The process was asked to end.

    Attributes
    ----------
    status : int
        What it ends with: 128 and the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def answered() -> Iterator[None]:
    """Raise :class:`Terminated` where a signal comes that would end the process.

    A signal that is ignored, as with nohup, or that the program answers itself is left
    alone; so are all in another thread than the first, where none can be answered.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, _end)
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: object) -> None:
    raise Terminated(number)
