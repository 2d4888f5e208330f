"""Interrupts (Ctrl-C) at a chosen step of the package's code.

Python raises KeyboardInterrupt when a function begins, and when a function in C has
returned, in which case its result is lost. A profiler is called at the same moments, and
may raise too: so tests can interrupt at each of them, one run after the other.
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
    """Whether an interrupt came.

    Attributes
    ----------
    came : bool
        False if the work had fewer steps.
    """

    came = False


def _is_deleting(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def interrupt_at(step: int) -> Iterator[Interrupt]:
    """Raise KeyboardInterrupt at a step of the package's code, and suppress it at the end."""
    outcome, left = Interrupt(), step

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        code = frame.f_code
        # A dropped generator is entered once more to end it; errors raised then are lost.
        if code.co_name == "<genexpr>" or not code.co_filename.startswith(_PACKAGE):
            return
        if event in {"call", "c_return"}:
            if left == 0:
                if _is_deleting(frame):  # errors raised there are lost
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
