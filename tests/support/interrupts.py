"""Interrupts (Ctrl-C) at a chosen step of what the package does.

Python raises KeyboardInterrupt when a function begins, and when a function in C has
returned, in which case what it returned is lost. A profiler is told of the same moments, and
may raise too: so an interrupt can be had at each of them, one run after the other.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import tfrecord_lite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["Interrupt", "interrupt_at"]

_PACKAGE = str(Path(tfrecord_lite.__file__).parent)


class Interrupt:
    """What became of an interrupt.

    Attributes
    ----------
    came : bool
        Whether the work had so many steps.
    """

    came = False


def _is_deleting(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def interrupt_at(step: int) -> Iterator[Interrupt]:
    """Raise KeyboardInterrupt at a step of the package's own code, and suppress it in the end."""
    outcome, left = Interrupt(), step

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        code = frame.f_code
        # A generator that is forgotten is entered to be ended, and what is raised then is lost.
        if code.co_name == "<genexpr>" or not code.co_filename.startswith(_PACKAGE):
            return
        if event in {"call", "c_return"}:
            if left == 0:
                if _is_deleting(frame):  # what is raised there is lost
                    return
                sys.setprofile(None)
                outcome.came = True
                raise KeyboardInterrupt
            left -= 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield outcome
    except KeyboardInterrupt:
        if not outcome.came:
            raise
    finally:
        sys.setprofile(before)
