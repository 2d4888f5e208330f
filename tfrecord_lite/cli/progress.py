"""The progress bar: on a terminal, for work that takes more than a moment, with tqdm.

Without tqdm (the extra ``cli``) there is none, and nothing else changes.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Never, Self

    from tqdm import tqdm

__all__ = ["Progress"]

DELAY_SECONDS = 1.0
"""Work that is done by then shows no bar."""


class Progress:
    """How much of one file was read.

    Parameters
    ----------
    name : str
        The file's.
    n_bytes : int or None
        How many bytes there are to read; None if that is not known.
    """

    def __init__(self, name: str, n_bytes: int | None) -> None:
        self._bar: tqdm[Never] | None = None
        if sys.stderr is None or not sys.stderr.isatty():
            return
        try:
            from tqdm import tqdm  # noqa: PLC0415 - optional
        except ImportError:
            return
        self._bar = tqdm(
            desc=os.path.basename(name) or name,  # noqa: PTH119 - may be a URL
            total=n_bytes,
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            delay=DELAY_SECONDS,
            leave=False,
            dynamic_ncols=True,
            file=sys.stderr,
        )

    def advance(self, n_bytes: int) -> None:
        """Say that so many bytes more were read."""
        if self._bar is not None:
            self._bar.update(n_bytes)

    def clear(self) -> None:
        """Take the bar away for the moment: something is about to be printed."""
        if self._bar is not None:
            self._bar.clear()

    def __enter__(self) -> Self:
        """Return the bar itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
