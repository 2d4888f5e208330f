"""The records that are rearranged: blocks of a reader, and the schema beside its files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from tfrecord_lite.block import Block
from tfrecord_lite.convert.arrow import without_numbers
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.files.names import (
    Source,
    Sources,
    StorageOptions,
    is_file_object,
    is_url,
    name_of,
    position_of,
)
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.progress import (
    SILENT,
    Meter,
    Progress,
    check_progress,
    metered,
    title_of,
    total_bytes,
)
from tfrecord_lite.reader import TFRecordReader, bytes_read, reader_with
from tfrecord_lite.records.framing import checked
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.described import sidecars_of
from tfrecord_lite.storage.sidecar import Sidecar


class Input:
    """The records of a reader, or of files."""

    def __init__(
        self, sources: Sources | TFRecordReader, storage_options: StorageOptions, progress: Progress
    ) -> None:
        check_progress(progress)
        if not isinstance(sources, TFRecordReader):
            is_one = isinstance(sources, (str, bytes, os.PathLike)) or is_file_object(sources)
            is_list = not is_one and hasattr(sources, "__iter__")
            items: list[Any] = list(sources) if is_list else [sources]  # type: ignore[arg-type]
            has_url = any(not is_file_object(item) and is_url(name_of(item)) for item in items)
            sources = TFRecordReader(items, storage_options=storage_options if has_url else None)
        self._reader = sources
        self.sources: list[Source] = self._reader.sources
        self._options: ReadSettings = self._reader._options  # noqa: SLF001 - of this package
        self._progress = progress
        self._meter = SILENT
        self._total: int | None = None
        self._num_passes = 1
        self._n_before = 0  # bytes of the passes before this one
        self.num_read: int = 0

    @contextmanager
    def metered(self, num_passes: int = 1) -> Iterator[Meter]:
        """Show the progress of reading all files; if several times, each byte counts a part each time."""
        with metered(self._progress, title_of(self.sources), "bytes") as meter:
            self._total = total_bytes(self.sources) if meter.is_on else None
            self._meter, self._num_passes = meter, num_passes
            yield meter

    def _advance(self, n_bytes: int) -> None:
        if self._meter.is_on:
            self._meter.update((self._n_before + n_bytes) // self._num_passes, self._total)

    def advance_written(self, num_written: int) -> None:
        """Show the progress of a second pass, over records that were read in the first."""
        if self.num_read:
            self._advance(int(self._n_before * num_written / self.num_read))

    @property
    def is_rereadable(self) -> bool:
        """Whether the records can be read twice."""
        return all(
            position_of(source) is not None
            if is_file_object(source)
            else is_url(name := name_of(source)) or os.path.isfile(name)  # noqa: PTH113
            for source in self.sources
        )

    def blocks(self) -> Generator[Block, None, None]:
        """Yield the records, in blocks whose checksums are right."""
        self.num_read = 0
        found: Any = self._reader.blocks()
        with closing(found):
            for block in found:
                yield checked(block)
                self.num_read += len(block)
                self._advance(bytes_read(self._reader))
        self._n_before += bytes_read(self._reader)

    def count(self) -> int:
        """Count the records, in a reading of its own; damage is reported by another one."""
        may_skip = self._options.on_error != "raise"
        quiet: Any = (lambda span: None) if may_skip else "raise"  # noqa: ARG005
        options = replace(self._options, verify=may_skip, on_error=quiet, max_errors=None)
        count = 0
        reader = reader_with(self.sources, options)
        found: Any = reader.blocks()
        with closing(found):
            for block in found:
                count += len(block)
                self._advance(bytes_read(reader))
        self._n_before += bytes_read(reader)
        return count

    def described(self) -> Sidecar | None:
        """Return what the sidecars of all files say, as one; warn if they do not go together."""
        if self._options.on_error == "raise":
            for source in self.sources:  # raises if one is stale
                sidecar.read_beside(source, self._options.storage_options)
        try:
            found = sidecars_of(self.sources, self._options)
        except InvalidArgumentError as error:
            reason = str(error).partition("; ")[0]
            text = f"the new files get no sidecar, since those beside the old do not fit: {reason}"
            warnings.warn(text, UserWarning, stacklevel=4)
            return None
        return None if found is None else found._replace(dataframe=without_numbers(found.dataframe))
