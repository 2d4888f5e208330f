"""A progress bar on standard error, for work of more than a moment on a terminal.

The bar is tqdm's; without tqdm (the extra ``cli``) there is none, and nothing else changes.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tfrecord_lite.files.compression import INFER
from tfrecord_lite.files.names import local_size, name_of
from tfrecord_lite.records.framing import OVERHEAD_BYTES
from tfrecord_lite.records.stream import RecordStream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never, Self

    from tqdm import tqdm

    from tfrecord_lite.block import Block
    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.files.names import Source

DELAY_SECONDS = 1.0
"""Shorter work shows no bar."""


class Progress:
    """The progress of reading `n_bytes` of one file, or of several; None if not known."""

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
    def of_stream(cls, stream: Records) -> Self:
        """Return the progress of reading one open file."""
        return cls(stream.name, None if stream.compression else local_size(stream.name))

    @classmethod
    def of_sources(cls, sources: Sequence[Source], compression: str, num_passes: int = 1) -> Self:
        """Return the progress of reading several files together, maybe more than once."""
        names = [name_of(source) for source in sources]
        name = names[0] if len(names) == 1 else f"{len(names)} files"
        if not _is_shown():
            return cls(name, None)
        sizes = [_plain_size(source, compression) for source in sources]
        known = [size for size in sizes if size is not None]
        return cls(name, sum(known) * num_passes if len(known) == len(sizes) else None)

    def advance(self, n_bytes: int) -> None:
        """Count bytes that were read."""
        if self._bar is not None:
            self._bar.update(n_bytes)

    def advance_past(self, block: Block) -> None:
        """Count the records of a block."""
        self.advance(block.nbytes + len(block) * OVERHEAD_BYTES)

    def clear(self) -> None:
        """Hide the bar until the next update, since something is about to be printed."""
        if self._bar is not None:
            self._bar.clear()

    def __enter__(self) -> Self:
        """Return the progress itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def _is_shown() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _plain_size(source: Source, compression: str) -> int | None:
    """Return the size of an uncompressed local file; None for any other."""
    size = local_size(source)
    if size is None or compression not in ("", INFER):
        return None
    if compression == INFER:
        try:
            stream = RecordStream(source)
        except OSError:  # which the work itself will report
            return None
        stream.close()
        return None if stream.compression else size
    return size
