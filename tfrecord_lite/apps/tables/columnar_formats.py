"""Parquet, and Arrow's own format (Feather): files of columns as streams of batches, both ways."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from tfrecord_lite.apps.tables.formats import RowTarget, reading_of, seekable_file, undone_by
from tfrecord_lite.extension import Source, imported, name_of
from tfrecord_lite.options import ReadSettings

_BATCH_BYTES, _BATCH_ROWS = 8 * 1024 * 1024, 64 * 1024
"""About as much a batch has, where the format leaves that open."""
_GROUP_BYTES, _GROUP_ROWS = 32 * 1024 * 1024, 128 * 1024
"""A row group of Parquet that is written has about so much."""


def _fitting(n_bytes: int, n_rows: int) -> int:
    return max(1, min(_BATCH_BYTES * max(n_rows, 1) // max(n_bytes, 1), _BATCH_ROWS))


class _ColumnSource:
    """A file of columns, opened where it can seek."""

    columns: list[str] | None = None
    """Those to read; None for all."""
    _open: Callable[[], Any]
    """Opens the file, and returns its schema."""
    _batches: Callable[[int], Iterator[tuple[int, Any]]]
    """Yields batches, each after the number of its first row; those before some row may be left out."""

    def __init__(self, source: Source, options: ReadSettings) -> None:
        self.name: str = name_of(source)
        self._file: Any = seekable_file(source, options)
        with undone_by(self.close), reading_of(self.name):
            self._whole = self._open()
        self.names: list[str] = list(self._whole.names)

    @property
    def schema(self) -> Any:
        """The types of the columns that are read."""
        chosen = self.names if self.columns is None else self.columns
        return pa.schema([self._whole.field(name) for name in chosen], self._whole.metadata)

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the rows from one row on."""
        with reading_of(self.name):
            for row, batch in self._batches(first_row):
                chosen = batch if self.columns is None else batch.select(self.columns)
                chosen = chosen[max(first_row - row, 0) :]
                size = _fitting(chosen.nbytes, len(chosen))
                for start in range(0, len(chosen), size):
                    yield chosen[start : start + size]

    def close(self) -> None:
        """Close the file."""
        if not isinstance(self._file, str):
            self._file.close()


class ParquetSource(_ColumnSource):
    """A Parquet file, read by row groups."""

    _reader: Any = None

    def _open(self) -> Any:
        self._reader = imported("pyarrow.parquet").ParquetFile(self._file)
        return self._reader.schema_arrow

    def count(self) -> int:
        """Count the rows."""
        return int(self._reader.metadata.num_rows)

    def _batches(self, first_row: int) -> Iterator[tuple[int, Any]]:
        row, metadata = 0, self._reader.metadata
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            if row + group.num_rows <= first_row:
                row += group.num_rows
                continue
            size = _fitting(group.total_byte_size, group.num_rows)
            for batch in self._reader.iter_batches(size, [i], self.columns):
                yield row, batch
                row += len(batch)

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close(force=True)
        super().close()


class ArrowSource(_ColumnSource):
    """The file format of Arrow (and Feather), or its stream."""

    def _open(self) -> Any:
        ipc = imported("pyarrow.ipc")
        if isinstance(self._file, str) and os.path.getsize(self._file):
            self._file = pa.memory_map(self._file)  # which no empty file can be
        head = b"" if isinstance(self._file, str) else self._file.read(6)
        self._is_stream = head not in (b"", b"ARROW1")
        if self._is_stream:
            self._file.seek(0)
        self._reader = (ipc.open_stream if self._is_stream else ipc.open_file)(self._file)
        return self._reader.schema

    def count(self) -> int:
        """Count the rows."""
        return sum(len(batch) for _, batch in self._batches(0))

    def _batches(self, first_row: int) -> Iterator[tuple[int, Any]]:
        row = 0
        n_batches = 0 if self._is_stream else self._reader.num_record_batches
        whole = self._reader if self._is_stream else map(self._reader.get_batch, range(n_batches))
        for batch in whole:
            yield row, batch
            row += len(batch)


class ParquetWriter:
    """Writes row groups of some megabytes.

    A thread writes a row group while the next one is made: pyarrow leaves Python free meanwhile.
    """

    def __init__(self, file: RowTarget, schema: Any, compression: str | None) -> None:
        parquet = imported("pyarrow.parquet")
        self._writer = parquet.ParquetWriter(file, schema, compression=compression or "snappy")
        self._schema = schema
        self._pending: list[Any] = []
        self._thread = ThreadPoolExecutor(1)
        self._writing: Any = None

    def write_batch(self, batch: Any) -> None:
        """Write a batch."""
        self._pending.append(batch)
        n_rows = sum(map(len, self._pending))
        if n_rows >= _GROUP_ROWS or sum(part.nbytes for part in self._pending) >= _GROUP_BYTES:
            self._put()

    def _put(self) -> None:
        if self._writing is not None:
            self._writing.result()
        if self._pending:
            table = pa.Table.from_batches(self._pending, self._schema)
            n_rows, self._pending = max(len(table), 1), []
            write = self._writer.write_table
            self._writing = self._thread.submit(write, table, row_group_size=n_rows)

    def close(self) -> None:
        """Write the rest, and the end."""
        try:
            self._put()
            self._put()
        finally:
            self._thread.shutdown()
            self._writer.close()


def arrow_writer(file: RowTarget, schema: Any, compression: str | None, *, is_stream: bool) -> Any:
    """Return pyarrow's writer of a file of Arrow's format, or of a stream."""
    ipc = imported("pyarrow.ipc")
    codec = None if compression in (None, "none") else compression
    make = ipc.new_stream if is_stream else ipc.new_file
    return make(file, schema, options=ipc.IpcWriteOptions(compression=codec))
