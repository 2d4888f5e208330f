"""Progress of long work: a callable of the user's, or a bar of tqdm's.

======== ===============================================================================
None     A bar after a second of work, if standard error is a terminal or the code runs in
         a notebook with ipywidgets, tqdm is installed (the extra ``cli``), and this is the
         main process.
True     A bar, wherever that goes.
False    Nothing.
callable Called with what is done and the total, None while that is not known, ten times a second
         at most; once more at the end, with both equal. What it raises ends the work.
======== ===============================================================================

A bar never ends the work: one that cannot be drawn is dropped.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from tfrecord_lite.files.names import Source, local_size, name_of
from tfrecord_lite.texts import plural, printable

if TYPE_CHECKING:
    from tfrecord_lite.block import Block


Report: TypeAlias = Callable[[int, "int | None"], object]
Progress: TypeAlias = "bool | Report | None"
"""What a `progress` argument may be."""

DELAY_SECONDS = 1.0
"""Shorter work shows no bar, unless one is asked for."""

INTERVAL_SECONDS = 0.1


class Meter:
    """Receives how much is done, and shows it at a bounded rate."""

    error: BaseException | None = None
    """What the callable has raised: not about a file, whatever its class."""

    def __init__(self, show: Report | None = None, delay: float = 0) -> None:
        self.is_on: bool = show is not None
        """Whether anyone wants to know."""
        self._show = show
        self._lock = threading.Lock()
        self._done = 0
        self._total: int | None = None
        self._next = time.monotonic() + delay  # when it is shown again

    def update(self, done: int, total: int | None = None) -> None:
        """Note how much is done, and of how much."""
        with self._lock:
            self._done, self._total = max(self._done, done), total
            self._show_if_due()

    def advance(self, more: int) -> None:
        """Note that more is done."""
        with self._lock:
            self._done += more
            self._show_if_due()

    def expect(self, total: int | None) -> None:
        """Note what :meth:`advance` will add up to."""
        self._total = total

    def expect_more(self, more: int) -> None:
        """Note what :meth:`advance` will add to what is done."""
        self._total = self._done + more

    def finish(self) -> None:
        """Note that all is done; before files appear, since a callable may raise."""
        self._next = 0.0
        done = max(self._done, self._total or 0)
        self.update(done, done)

    def _show_if_due(self) -> None:
        if self._show is None or (now := time.monotonic()) < self._next:
            return
        self._next = now + INTERVAL_SECONDS
        # A file may have grown since it was measured.
        total = None if self._total is None else max(self._total, self._done)
        try:
            self._show(self._done, total)
        except BaseException as error:
            self.error = error
            raise


SILENT = Meter()
"""For work that nobody wants to know of."""


@contextmanager
def metered(progress: Progress, name: str, noun: str) -> Iterator[Meter]:
    """Yield what receives the progress of the work on a file."""
    is_silent = progress is False or (progress is None and not _is_seen())
    if is_silent or callable(progress):
        yield Meter(progress) if callable(progress) else SILENT
        return
    bar: Any = None
    started = time.time()

    def draw(done: int, total: int | None) -> None:
        nonlocal bar
        if bar is None and done == total and not progress:
            return  # it would be gone at once
        with suppress(ImportError, OSError, ValueError):  # no tqdm, or nowhere to draw
            if bar is None:
                bar = _bar(name, noun)
                bar.start_t = bar.last_print_t = started
            bar.total = total
            bar.update(done - bar.n)

    try:
        yield Meter(draw, 0 if progress else DELAY_SECONDS)
    finally:
        if bar is not None:
            with suppress(OSError, ValueError):  # the terminal is gone
                bar.close()


def _bar(name: str, noun: str) -> Any:
    """Return a bar of tqdm's, without its thread, which would hinder forks."""
    if _has_widgets():
        from tqdm.notebook import tqdm  # noqa: PLC0415 - optional
    else:
        from tqdm import tqdm  # type: ignore[assignment]  # noqa: PLC0415 - optional
    is_bytes = noun == "bytes"
    return type("Bar", (tqdm,), {"monitor_interval": 0})(
        desc=printable(os.path.basename(name) or name),  # noqa: PTH119 - may be a URL
        unit="B" if is_bytes else f" {noun}",
        unit_divisor=1024 if is_bytes else 1000,
        unit_scale=True,
        delay=1e-9,  # the first drawing has numbers
        mininterval=0,
        miniters=1,
        leave=False,
        dynamic_ncols=True,
    )


def check_progress(progress: object) -> None:
    """Raise TypeError or ImportError about an argument that cannot be used."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        actual = type(progress).__name__
        raise TypeError(f"progress must be True, False, None or a callable, not {actual}")
    if progress is True and find_spec("tqdm") is None:
        raise ImportError("progress=True needs tqdm: pip install tqdm")


def reported(blocks: Any, progress: Progress, name: str) -> Iterator[Block]:
    """Yield blocks, and show the progress in records."""
    with closing(blocks), metered(progress, name, "records") as meter:
        done = 0
        for block in blocks:
            yield block
            done += len(block)
            meter.update(done)
        meter.finish()


def _is_seen() -> bool:
    """Whether somebody sees a bar, and no bars of other processes."""
    is_shown = is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
    processes: Any = sys.modules.get("multiprocessing.process")  # which every worker has loaded
    is_main = processes is None or processes.parent_process() is None
    return (is_shown or _has_widgets()) and is_main


def is_terminal(stream: Any) -> bool:
    """Whether a stream is an open terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _has_widgets() -> bool:
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None and find_spec("ipywidgets") is not None


def bars_hidden(stream: TextIO) -> AbstractContextManager[object]:
    """Hide all bars while something is written to a terminal."""
    tqdm: Any = getattr(sys.modules.get("tqdm"), "tqdm", None)
    if tqdm is None or not is_terminal(stream):
        return nullcontext()
    hidden: AbstractContextManager[object] = tqdm.external_write_mode(stream)
    return hidden


def title_of(sources: Sequence[Source]) -> str:
    """Return what a bar calls the work on some files."""
    return name_of(sources[0]) if len(sources) == 1 else plural(len(sources), "file")


def total_bytes(sources: Sequence[Source]) -> int | None:
    """Return the size of local files; None if one is not local."""
    sizes = [local_size(source) for source in sources]
    return None if None in sizes else sum(filter(None, sizes))
