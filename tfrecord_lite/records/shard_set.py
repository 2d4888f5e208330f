"""Files of records that appear together, and which record goes to which of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from tfrecord_lite.block import OVERHEAD_BYTES, Block
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.files.names import Source, StorageOptions, is_file_object, is_url, name_of
from tfrecord_lite.files.output import OpenFiles, OutputFile, open_output
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.sink import BUFFER_BYTES, RecordSink
from tfrecord_lite.records.stream import RecordStream

_BUFFERS_BYTES = 32 * 1024 * 1024
_SMALLEST_BUFFER_BYTES = 64 * 1024


class ShardSet:
    """Files of records that are written under temporary names, and appear together.

    A file object is written to as it is. `beside` are finished files that describe them: one per file, or one
    for all.
    """

    def __init__(
        self, options: TFRecordOptions, storage_options: StorageOptions, num_files: int
    ) -> None:
        self._options = options
        self._storage_options = storage_options
        most = _BUFFERS_BYTES // max(num_files, 1)
        self._buffer_bytes = min(max(most, _SMALLEST_BUFFER_BYTES), BUFFER_BYTES)
        self._open_files = OpenFiles()
        self.files: list[OutputFile] = []
        self.sinks: list[RecordSink] = []
        self.beside: list[OutputFile] = []
        self._new: list[OutputFile] = []

    def open(self, name: Source, through: Callable[[OutputFile], object] | None = None) -> None:
        """Open one more file; its sink writes to the file object that `through` makes of it."""
        atomic = not is_file_object(name)
        file = open_output(
            name, atomic=atomic, storage_options=self._storage_options, open_files=self._open_files
        )
        self.files.append(file)
        output = file if through is None else open_output(cast("Any", through(file)))
        self.sinks.append(RecordSink(output, self._options, self._buffer_bytes))

    def finish_file(self, i: int) -> None:
        """Write what is pending for one file, and close it."""
        self.sinks[i].finish()
        self.files[i].finish()

    def commit(self) -> None:
        """Let all finished files appear under their names, what describes the data first.

        Beside other data a sidecar is rejected, while data without it would be read as byte
        strings. After a failure, files that replaced none are taken back.
        """
        everything = [*self.beside, *self.files]
        self._new = [file for file in everything if not file.replaces(file.name)]
        try:
            for file in everything:
                file.commit()
        except BaseException:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Take back the files that have replaced no others; errors are ignored."""
        for file in filter(self._new.__contains__, self.files):
            with contextlib.suppress(OSError):  # the first error is raised
                file.take_back()
        for i, file in enumerate(self.beside):
            described = self.files if len(self.beside) == 1 else [self.files[i]]
            if file in self._new and not any(data.place for data in described):
                with contextlib.suppress(OSError):
                    file.take_back()

    def abandon(self) -> None:
        """Remove all files that are not in their place."""
        with contextlib.ExitStack() as stack:  # one failure does not stop the others
            for file in (*self.beside, *self.files):
                stack.callback(file.abandon)
            for sink in self.sinks:
                stack.callback(sink.abandon)


class Evenly:
    """Each shard has as many of `total` records as the others to within one, that follow each other."""

    def __init__(self, num_shards: int, total: int) -> None:
        self._num_shards, self._total = num_shards, total
        self._shard = self._done = 0

    def cut(self, records: Any) -> Iterator[tuple[int, Any]]:
        """Yield the parts of a block or list, each with the number of its shard."""
        while len(records):
            room = self._total * (self._shard + 1) // self._num_shards - self._done
            if self._shard == self._num_shards - 1 or room >= len(records):
                part, records = records, records[:0]  # itself, not a part of its memory
            else:
                part, records = records[:room], records[room:]
            shard = self._shard
            self._shard += len(records) > 0
            self._done += len(part)
            if len(part):
                yield shard, part


class Filling:
    """A shard is full when it has `num_records` records, or `num_bytes` bytes in frames."""

    def __init__(self, num_records: int | None, num_bytes: int | None) -> None:
        self._by_bytes = num_bytes is not None
        self._limit = num_bytes or num_records or 0
        self._shard = self._done = 0  # records, or bytes, in the shard so far

    @property
    def is_full(self) -> bool:
        """Whether the next record goes to the next shard, which :meth:`begin_next` begins."""
        return self._done >= self._limit

    def begin_next(self) -> None:
        """Go on with the next shard."""
        self._shard, self._done = self._shard + 1, 0

    def take(self, records: Any) -> int:
        """Count as many of the next records, at least one, in this shard as fit; return how many."""
        if len(records) == 1:
            self._done += len(records[0]) + OVERHEAD_BYTES if self._by_bytes else 1
            return 1
        is_block = isinstance(records, Block)
        lengths = records.lengths if is_block else np.array([*map(len, records)], np.int64)
        sizes = lengths + OVERHEAD_BYTES if self._by_bytes else np.ones_like(lengths)
        before = self._done + np.cumsum(sizes) - sizes  # in the shard, before each record
        n_taken = int(np.searchsorted(before, self._limit))
        self._done += int(sizes[:n_taken].sum())
        return n_taken

    def cut(self, block: Any) -> Iterator[tuple[int, Any]]:
        """Yield the parts of a block or list, each with the number of its shard."""
        while len(block):
            if self.is_full:
                self.begin_next()
            n_taken = self.take(block)
            yield self._shard, block[:n_taken]
            block = block[n_taken:]


def folder_of(target: Source) -> str | None:
    """Return the folder for a temporary file beside a target; None for the one of ``tempfile``."""
    if is_file_object(target) or is_url(name_of(target)):
        return None
    return str(Path(name_of(target)).resolve().parent)


class Spool:
    """Records in a nameless temporary file, until their number is known, which shards depend on."""

    def __init__(self, target: Source) -> None:
        """Open the file, on the file system of the target if that is a local file."""
        self._file = tempfile.TemporaryFile(dir=folder_of(target))  # noqa: SIM115 - closed by `close`
        self._sink = RecordSink(open_output(self._file), "")

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Add records; the memory of a block is not written to."""
        self._sink.add_shared(records)

    def blocks(self) -> Generator[Block, None, None]:
        """Yield all records."""
        self._sink.finish()
        self._file.seek(0)
        stream = RecordStream(self._file, ReadSettings(compression=""))
        while (block := stream.next_block()) is not None:
            yield block

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
