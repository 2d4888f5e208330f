"""Parquet, and Arrow's own format (Feather): files of columns as streams of batches, both ways."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.tables.byte_files import reading_of, seekable_file
from tfrecord_lite.convert.dataframes.arrow import imported
from tfrecord_lite.errors import argument_error
from tfrecord_lite.files.names import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from tfrecord_lite.apps.tables.byte_files import Reading, TargetFile
    from tfrecord_lite.files.names import Source

BATCH_BYTES = 8 * 1024 * 1024
"""About as much a batch has, where the format leaves that open."""
_MAX_BATCH_ROWS = 64 * 1024
_GROUP_BYTES = 32 * 1024 * 1024
_GROUP_ROWS = 128 * 1024
"""A row group of Parquet that is written has about so much."""


class ParquetSource:
    """A Parquet file, read by row groups."""

    def __init__(self, source: Source, reading: Reading) -> None:
        file = seekable_file(source, reading.options)
        self._copy = None if isinstance(file, str) else file
        try:
            with reading_of(name_of(source)):
                self._file = imported("pyarrow.parquet").ParquetFile(file)
        except BaseException:
            self._close_copy()
            raise
        self._size = self._file.metadata.num_rows
        self._columns = reading.columns
        self._n_bytes = _size_of(file)
        self._done = 0
        whole = self._file.schema_arrow
        self.schema: Any = whole if reading.columns is None else _selected(whole, reading.columns)
        self.name: str = name_of(source)

    @property
    def position(self) -> int:
        """Bytes of the file that were read, about."""
        return int(self._n_bytes * self._done // max(self._size, 1))

    def count(self) -> int:
        """Count the rows."""
        return int(self._size)

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        metadata = self._file.metadata
        groups, skipped = range(metadata.num_row_groups), 0
        while groups and skipped + metadata.row_group(groups[0]).num_rows <= first_row:
            skipped += metadata.row_group(groups[0]).num_rows
            groups = groups[1:]
        self._done = skipped
        names = None if self._columns is None else list(self._columns)
        for group in groups:
            size = _rows_per_batch(metadata.row_group(group))
            with reading_of(self.name):
                yield from _after(
                    self._counted(self._file.iter_batches(size, [group], names)),
                    first_row - skipped,
                )
            skipped = min(first_row, skipped + metadata.row_group(group).num_rows)

    def _counted(self, batches: Any) -> Iterator[Any]:
        for batch in batches:
            self._done += len(batch)
            yield batch if self._columns is None else batch.select(list(self._columns))

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)
        self._close_copy()

    def _close_copy(self) -> None:
        if self._copy is not None:
            self._copy.close()


def _rows_per_batch(group: Any) -> int:
    bytes_per_row = max(group.total_byte_size // max(group.num_rows, 1), 1)
    return int(max(1, min(BATCH_BYTES // bytes_per_row, _MAX_BATCH_ROWS)))


def _selected(schema: Any, columns: tuple[str, ...]) -> Any:
    return imported().schema([schema.field(name) for name in columns], schema.metadata)


def _after(batches: Iterator[Any], n_rows: int) -> Iterator[Any]:
    """Yield batches without their first rows."""
    for batch in batches:
        if n_rows < len(batch):
            yield batch[n_rows:] if n_rows > 0 else batch
        n_rows -= len(batch)


def _size_of(file: Any) -> int:
    if isinstance(file, str):
        return os.path.getsize(file)  # noqa: PTH202
    return int(file.seek(0, os.SEEK_END) + file.seek(0) * 0)


class ParquetTarget:
    """A Parquet file being written, with row groups of some megabytes.

    A thread writes a row group while the next one is made: pyarrow leaves Python free meanwhile.
    """

    def __init__(self, file: TargetFile, schema: Any, compression: str | None) -> None:
        pq = imported("pyarrow.parquet")
        self._file, self._schema = file, schema
        self._writer = pq.ParquetWriter(file, schema, compression=compression or "snappy")
        self._pending: list[Any] = []
        self._n_rows = self._n_bytes = 0
        self._thread = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def write(self, batch: Any) -> None:
        """Write a batch."""
        self._pending.append(batch)
        self._n_rows += len(batch)
        self._n_bytes += batch.nbytes
        if self._n_rows >= _GROUP_ROWS or self._n_bytes >= _GROUP_BYTES:
            self._put()

    def _put(self) -> None:
        if self._pending:
            table = imported().Table.from_batches(self._pending, self._schema)
            self._wait()
            write, n_rows = self._writer.write_table, max(self._n_rows, 1)
            self._writing = self._thread.submit(write, table, row_group_size=n_rows)
        self._pending, self._n_rows, self._n_bytes = [], 0, 0

    def _wait(self) -> None:
        """Wait until the row group before is written; raise what went wrong with it."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def finish(self) -> None:
        """Write the end of the file."""
        self._put()
        self._wait()
        self._thread.shutdown()
        self._writer.close()
        self._file.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        self._pending = []
        self._thread.shutdown()
        with contextlib.suppress(Exception):  # of a file that is being removed
            self._writer.close()
        self._file.abandon()


class ArrowSource:
    """The file format of Arrow (and Feather), or its stream."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.name: str = name_of(source)
        self._file: Any
        self._reader: Any = None
        self._stream: Any = None
        self._columns = reading.columns
        ipc = imported("pyarrow.ipc")
        file = seekable_file(source, reading.options)
        self._n_bytes = _size_of(file)
        is_mapped = isinstance(file, str) and self._n_bytes > 0
        self._file = imported().memory_map(file) if is_mapped else file
        self._done = 0
        try:
            with reading_of(self.name):
                if self._is_stream():
                    self._stream = ipc.open_stream(self._file)
                else:
                    self._reader = ipc.open_file(self._file)
        except BaseException:
            self.close()
            raise
        whole = (self._stream or self._reader).schema
        self.schema: Any = whole if reading.columns is None else _selected(whole, reading.columns)

    def _is_stream(self) -> bool:
        if isinstance(self._file, str):  # an empty file, which memory cannot map
            return False
        head = self._file.read(6)
        self._file.seek(0)
        if head[:4] == b"FEA1":
            detail = "a Feather file of version 1; write it anew as version 2"
            raise argument_error(detail, source=self.name)
        return bool(head != b"ARROW1")

    @property
    def position(self) -> int:
        """Bytes of the file that were read, about."""
        return self._done

    def count(self) -> int:
        """Count the rows."""
        return sum(len(batch) for batch in self._whole())

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        with reading_of(self.name):
            for batch in _after(self._whole(), first_row):
                chosen = batch if self._columns is None else batch.select(list(self._columns))
                yield from _small(chosen)

    def _whole(self) -> Iterator[Any]:
        if self._stream is not None:
            for batch in self._stream:
                self._done = self._file.tell()
                yield batch
            return
        n_batches = self._reader.num_record_batches
        for i in range(n_batches):
            yield self._reader.get_batch(i)
            self._done = self._n_bytes * (i + 1) // n_batches

    def close(self) -> None:
        """Close the file."""
        if not isinstance(self._file, str):
            self._file.close()


def _small(batch: Any) -> Iterator[Any]:
    """Yield a batch in slices of some megabytes."""
    per_row = max(batch.nbytes // max(len(batch), 1), 1)
    size = max(1, min(BATCH_BYTES // per_row, _MAX_BATCH_ROWS))
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


class ArrowTarget:
    """A file of Arrow's file format, or a stream, being written."""

    def __init__(
        self, file: TargetFile, schema: Any, compression: str | None, *, is_stream: bool
    ) -> None:
        ipc = imported("pyarrow.ipc")
        options = ipc.IpcWriteOptions(
            compression=None if compression in (None, "none") else compression
        )
        self._file = file
        make = ipc.new_stream if is_stream else ipc.new_file
        self._writer = make(file, schema, options=options)

    def write(self, batch: Any) -> None:
        """Write a batch."""
        self._writer.write_batch(batch)

    def finish(self) -> None:
        """Write the end of the file."""
        self._writer.close()
        self._file.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        with contextlib.suppress(Exception):  # of a file that is being removed
            self._writer.close()
        self._file.abandon()
