"""The data files of one ``save``: one file, or the shards of a set, which appear together.

::

    blocks ──put──> RecordSink ── FingerprintingFile ── OutputFile, under a temporary name
                    one per shard                              │
                    (a Spool first, if it is not               │
                    known how many records come)               │
                                                      commit ──╯ sidecars first, then data
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, argument_error, require_int
from tfrecord_lite.files.compression import compression_of_name
from tfrecord_lite.files.names import is_file_object, is_url, shard_names
from tfrecord_lite.files.output import open_output
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.records.sink import BUFFER_BYTES, RecordSink
from tfrecord_lite.records.stream import RecordStream
from tfrecord_lite.storage.sidecar import FingerprintingFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfrecord_lite.files.compression import TFRecordOptions
    from tfrecord_lite.files.names import Source, StorageOptions
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.progress import Meter
    from tfrecord_lite.storage.sidecar import Fingerprint

_BUFFERS_BYTES = 32 * 1024 * 1024
_SMALLEST_BUFFER_BYTES = 64 * 1024


def data_names(name: str, num_shards: int | None) -> list[str]:
    """Return the names of the data files: `name` itself, or the shards that it stands for.

    Without ``@`` and ``{shard}``, a shard's number goes before the ending of the name:
    ``train.tfrecord.gz`` to ``train-00000-of-00002.tfrecord.gz``.
    """
    if num_shards is None:
        return _names_without_number(name)
    num_shards = require_int("num_shards", num_shards, 1)
    try:
        names = shard_names(name, num_shards)
        if names is None:
            stem, ending = os.path.splitext(name)  # noqa: PTH122 - may be a URL
            if compression_of_name(name):
                stem, inner = os.path.splitext(stem)  # noqa: PTH122
                ending = inner + ending
            names = shard_names(f"{stem}@{num_shards}{ending}")
    except InvalidArgumentError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError):  # of str.format
        names = None
    if names is None or len(set(names)) != num_shards:
        detail = (
            f"the name does not stand for num_shards={num_shards} files; expected a plain name, "
            f"'name@{num_shards}', or '{{shard}}' in it"
        )
        raise argument_error(detail, source=name)
    _check_shadow(name)
    return names


def _names_without_number(name: str) -> list[str]:
    """Return the shards of a name with ``@``, and any other name itself."""
    if "{shard" in name:
        raise argument_error("the name has {shard} in it; give num_shards too", source=name)
    try:
        names = shard_names(name)
    except InvalidArgumentError:  # more than can be numbered, such as a date: the name of a file
        names = None
    if not names:
        return [name]
    _check_shadow(name)
    return names


def _check_shadow(name: str) -> None:
    """Raise if readers would take a file for the shards."""
    if "@" in name and os.path.lexists(name):
        detail = "a file has exactly this name, and would be read instead of the shards; remove it"
        raise argument_error(detail, source=name)


def buffer_bytes_of(n_files: int) -> int:
    """Return how much each of several sinks is to collect."""
    return min(max(_BUFFERS_BYTES // n_files, _SMALLEST_BUFFER_BYTES), BUFFER_BYTES)


class FileSet:
    """Files of records that are written under temporary names, and appear together.

    Each has the sink that writes to it, and a fingerprint. A file object is written to as it is.
    """

    def __init__(
        self, options: TFRecordOptions, storage_options: StorageOptions, buffer_bytes: int
    ) -> None:
        self._options = options
        self._storage_options = storage_options
        self._buffer_bytes = buffer_bytes
        self._files: list[OutputFile] = []
        self._targets: list[FingerprintingFile] = []
        self._sinks: list[RecordSink] = []

    def open(self, name: Source) -> None:
        """Open one more file."""
        atomic = not is_file_object(name)
        file = open_output(name, atomic=atomic, storage_options=self._storage_options)
        self._files.append(file)
        target = FingerprintingFile(file)
        self._targets.append(target)
        output = open_output(cast("Any", target))
        self._sinks.append(RecordSink(output, self._options, self._buffer_bytes))

    def finish_file(self, i: int) -> None:
        """Write what is pending for one file, and close it."""
        self._sinks[i].finish()
        self._files[i].finish()

    def finish(self) -> list[Fingerprint]:
        """Write what is pending, close the files, and return their fingerprints."""
        for i in range(len(self._files)):
            self.finish_file(i)
        return [target.fingerprint for target in self._targets]

    def commit(self, sidecars: list[OutputFile]) -> None:
        """Let all files appear, the sidecars first: one per data file, or one for all.

        Beside other data a sidecar is rejected, while our data without it would be read as byte
        strings. After a failure, files that replaced none are taken back.
        """
        everything = [*sidecars, *self._files]
        new = [file for file in everything if not file.replaces(file.name)]
        try:
            for file in everything:
                file.commit()
        except BaseException:
            # All data may be in place already when an interrupt comes; then everything stays.
            if not all(file.is_placed for file in self._files):
                self._take_back(new, sidecars)
            raise

    def _take_back(self, new: list[OutputFile], sidecars: list[OutputFile]) -> None:
        for file in self._files:
            if file in new:
                with contextlib.suppress(OSError):  # the first error is raised
                    file.take_back()
        for i, file in enumerate(sidecars):
            described = self._files if len(sidecars) == 1 else [self._files[i]]
            if file in new and not any(data.is_placed for data in described):
                with contextlib.suppress(OSError):
                    file.take_back()

    def abandon(self) -> None:
        """Remove all files that are not in their place."""
        with contextlib.ExitStack() as stack:  # one failure does not stop the others
            for file in self._files:
                stack.callback(file.abandon)
            for sink in self._sinks:
                stack.callback(sink.abandon)


class Spool:
    """Records in a nameless temporary file, until it is known how many there are.

    Only then it is known which shard each belongs to, if shards have records that follow each other.
    """

    def __init__(self, name: str) -> None:
        """Open the file, on the file system of a local file of this name."""
        folder = None if is_url(name) else str(Path(name).resolve().parent)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._sink = RecordSink(open_output(self._file), "")

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Add records; the memory of a block is not written to."""
        if isinstance(records, Block):
            self._sink.add_block(records)
        else:
            self._sink.add_all(records)

    def blocks(self) -> Iterator[Block]:
        """Yield all records."""
        self._sink.finish()
        self._file.seek(0)
        stream = RecordStream(self._file, ReadSettings(compression=""))
        while (block := stream.next_block()) is not None:
            yield block

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class DataFiles(FileSet):
    """Files to which records are written, under temporary names.

    Each shard has records that follow each other. Set `n_records` before :meth:`put` if it is known;
    otherwise all are written to a :class:`Spool` first.
    """

    def __init__(
        self,
        names: list[str],
        options: TFRecordOptions,
        storage_options: StorageOptions,
        meter: Meter,
    ) -> None:
        super().__init__(options, storage_options, buffer_bytes_of(len(names)))
        self.n_records: int | None = None
        self._meter = meter
        self._n_put = 0
        self._spool: Spool | None = None
        try:
            for name in names:
                self.open(name)
        except BaseException:
            self.abandon()
            raise

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Write records, each to its shard."""
        if len(self._sinks) == 1:
            self._sinks[0].add_all(records)
        elif self.n_records is None:
            self._spool = self._spool or Spool(self._files[0].name)
            self._spool.put(records)
        else:
            self._divide(records, self._n_put)
        self._n_put += len(records)
        self._meter.update(self._n_put, self.n_records)

    def _divide(self, records: Block | Sequence[bytes], first: int) -> None:
        """Write records to their shards, of which the first has this number."""
        last = first + len(records)
        for shard, sink in enumerate(self._sinks):
            start, stop = (max(b, first) - first for b in self._bounds(shard, last))
            if start == 0 and stop >= len(records):
                sink.add_all(records)
            elif start < stop:
                # One by one; those of a block as views, as others share its memory.
                items: Sequence[Any] = records.views() if isinstance(records, Block) else records
                sink.add_all(items[start:stop])

    def _bounds(self, shard: int, last: int) -> tuple[int, int]:
        """Return the numbers of a shard's first record, and of the next shard's; up to `last`."""
        total, n_shards = self.n_records or 0, len(self._sinks)
        start, stop = (total * (shard + i) // n_shards for i in (0, 1))
        return min(start, last), last if shard == n_shards - 1 else min(stop, last)

    def rows_of(self, shard: int) -> range:
        """Return the numbers of the records in a shard, after all were written in order."""
        return range(*self._bounds(shard, self._n_put))

    def finish(self) -> list[Fingerprint]:
        """Write what is pending, close the files, and return their fingerprints."""
        if self._spool is not None:
            self.n_records, first = self._n_put, 0
            for block in self._spool.blocks():
                self._divide(block, first)
                first += len(block)
            self._spool.close()
        fingerprints = super().finish()
        self._meter.expect(self._n_put)
        self._meter.finish()
        return fingerprints

    def abandon(self) -> None:
        """Remove all files that are not in their place."""
        if self._spool is not None:
            self._spool.close()
        super().abandon()
