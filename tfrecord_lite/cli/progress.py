"""The progress of verbs that read files one after the other; bars are :mod:`tfrecord_lite.progress`'s."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfrecord_lite.progress import metered, title_of, total_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfrecord_lite.cli.inputs import Records
    from tfrecord_lite.files.names import Source
    from tfrecord_lite.progress import Meter


class Reading:
    """How far files were read."""

    def __init__(self, meter: Meter, total: int | None) -> None:
        self._meter, self._total = meter, total
        self._stream: Records | None = None
        self._n_bytes = 0  # of the file that is read
        self._n_before = 0  # of those before it

    def show(self, stream: Records) -> None:
        """Show how far the open file was read."""
        if not self._meter.is_on:
            return
        if stream is not self._stream:
            self._stream, self._n_before = stream, self._n_before + self._n_bytes
        self._n_bytes = stream.file_offset
        self._meter.update(self._n_before + self._n_bytes, self._total)


@contextmanager
def reading(sources: Sequence[Source], *, is_shown: bool = True) -> Iterator[Reading]:
    """Show a bar for the bytes of some files, on a terminal, unless it is in the way."""
    title = title_of(sources) if sources else ""
    with metered(None if is_shown else False, title, "bytes") as meter:
        yield Reading(meter, total_bytes(sources) if meter.is_on else None)
