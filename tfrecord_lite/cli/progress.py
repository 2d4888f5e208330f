"""The progress bar: on a terminal, for work that takes more than a moment, with tqdm.

Without tqdm (the extra ``cli``) there is none, and nothing else changes.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tfrecord_lite.files.names import local_size, name_of
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Never, Self

    from tqdm import tqdm

    from tfrecord_lite.files.names import Source

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
        if not _is_shown():
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

    @classmethod
    def of(cls, sources: Sequence[Source], compression: str | None) -> Self:
        """Return the bar of reading some files, all of them together."""
        names = [name_of(source) for source in sources]
        name = names[0] if len(names) == 1 else f"{len(names)} files"
        if not _is_shown():
            return cls(name, None)
        sizes = [_plain_size(source, compression) for source in sources]
        known = [size for size in sizes if size is not None]
        return cls(name, sum(known) if len(known) == len(sizes) else None)

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


def _is_shown() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _plain_size(source: Source, compression: str | None) -> int | None:
    """Return how many bytes of records a file has at the most; None if that is not known."""
    size = local_size(source)
    if size is None or compression:
        return None
    if compression is None:
        try:
            stream = RecordStream(source)
        except OSError:  # the work will say so
            return None
        stream.close()
        return None if stream.compression else size
    return size
