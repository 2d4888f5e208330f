"""Progress of long work: a callable of the user's, or tqdm's bar.

``progress=True`` shows a bar on standard error if tqdm is installed (the extra ``cli``), and nothing
without it. A callable gets the records done and their total, None while that is not known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.block import Block

Report: TypeAlias = Callable[[int, "int | None"], object]
Progress: TypeAlias = "bool | Report"


def check_progress(progress: object) -> None:
    """Raise TypeError unless an argument is a bool or a callable."""
    if not isinstance(progress, bool) and not callable(progress):
        found = type(progress).__name__
        raise TypeError(f"progress must be True, False or a callable, not {found}")


@contextmanager
def reporting(progress: Progress, name: str) -> Iterator[Report]:
    """Yield a function to call with the records done and their total."""
    if progress is False:
        yield lambda done, total: None  # noqa: ARG005
    elif callable(progress):
        yield progress
    else:
        with _bar(name) as report:
            yield report


@contextmanager
def _bar(name: str) -> Iterator[Report]:
    try:
        from tqdm import tqdm  # noqa: PLC0415 - optional
    except ImportError:
        yield lambda done, total: None  # noqa: ARG005
        return
    bar: Any
    with tqdm(desc=os.path.basename(name) or name, unit=" records", unit_scale=True) as bar:  # noqa: PTH119 - may be a URL

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def reported(blocks: Any, progress: Progress, name: str) -> Iterator[Block]:
    """Yield blocks; report each when the next one is asked for, and the total at the end."""
    done = 0
    with closing(blocks), reporting(progress, name) as report:
        for block in blocks:
            yield block
            done += len(block)
            report(done, None)
        report(done, done)
