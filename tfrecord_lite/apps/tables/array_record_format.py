"""ArrayRecord files, the format that Grain reads at random: records as they are, both ways.

The library reads and writes local files only, so that other sources are copied to a temporary file
first, and a target is written to one. It has threads, and what it raises becomes an error with the
file's name.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfrecord_lite.block import Block
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.files.names import is_file_object, is_url, name_of
from tfrecord_lite.writer import TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.apps.tables.byte_files import Reading, TargetFile
    from tfrecord_lite.files.names import Source

_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_RECORDS = 16 * 1024
_SAMPLE_BYTES = 64 * 1024 * 1024
_COPIED_AT_ONCE = 1024 * 1024


def _library() -> Any:
    try:
        return importlib.import_module("array_record.python.array_record_module")
    except ImportError as error:
        detail = f"ArrayRecord files need the package array_record ({error}): pip install "
        detail += "'tfrecord-numpy[arrayrecord]'"
        raise ImportError(detail) from None


class ArrayRecordSource:
    """An ArrayRecord file; blocks of records as they are, or batches of their Examples."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.name: str = name_of(source)
        self._reading = reading
        self._max_bytes = reading.options.max_record_bytes
        self._next = 0
        self._copy: Any = None
        self._reader: Any = None
        try:
            self._open(source)
            self._table = None if reading.as_records else self._table_of()
            self.schema: Any = None if self._table is None else self._table.arrow_schema
        except BaseException:
            self.close()
            raise

    def _open(self, source: Source) -> None:
        library = _library()
        path = name_of(source)
        if is_file_object(source) or is_url(path):
            self._copy = _copied(source, self._reading)
            path = self._copy.name
        else:
            with open(path, "rb"):  # noqa: PTH123 - raises what the system says
                pass
        self._n_bytes = os.path.getsize(path)  # noqa: PTH202
        try:
            self._reader = library.ArrayRecordReader(path)
            if not self._reader.ok():
                self._reader.close()  # raises why
        except (RuntimeError, ValueError) as error:
            raise self._damaged(error) from None
        self._n_records = int(self._reader.num_records())

    def _table_of(self) -> Any:
        """Return the table whose schema is given, or that of the first records."""
        from tfrecord_lite.apps.tables.record_format import table_of  # noqa: PLC0415 - needs pyarrow

        reading = replace(self._reading, table=None)
        names = reading.columns
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sample.tfrecord")  # noqa: PTH118
            with TFRecordWriter(path) as writer:
                writer.write_blocks(self._sample() if reading.features is None else ())
            try:
                table = table_of([path], reading)
            except (DataLossError, InvalidArgumentError) as error:
                raise error.at(source=self.name) from None
        return table if names is None or list(names) == table.column_names else table.select(names)

    def _sample(self) -> Iterator[Block]:
        left = self._n_records if self._reading.sample is None else self._reading.sample
        n_bytes = 0
        for block in self._blocks(0):
            yield block[:left]
            left -= len(block)
            n_bytes += block.nbytes
            if left <= 0 or (self._reading.sample is not None and n_bytes >= _SAMPLE_BYTES):
                return

    @property
    def position(self) -> int:
        """Bytes of the file that were read, about."""
        return int(self._n_bytes * self._next // max(self._n_records, 1))

    def count(self) -> int:
        """Return the number of records, which the file's end has."""
        return self._n_records

    def batches(self, first_row: int = 0) -> Iterator[Any]:
        """Yield the records from one on."""
        for block in self._blocks(first_row):
            if self._table is None:
                yield block
                continue
            try:
                batch = self._table.to_batch(block)
            except InvalidArgumentError as error:
                index = None if error.index is None else self._next - len(block) + error.index
                raise error.at(source=self.name, index=index) from None
            yield batch

    def _blocks(self, first: int) -> Iterator[Block]:
        size = 1
        while first < self._n_records:
            stop = min(first + size, self._n_records)
            try:
                records = self._reader.read(first, stop)
            except (RuntimeError, ValueError, IndexError) as error:
                raise self._damaged(error, first) from None
            if len(records) != stop - first:
                detail = f"{len(records)} records, expected {stop - first}"
                raise self._damaged(ValueError(detail), first)
            n_bytes = max(map(len, records))
            if n_bytes > self._max_bytes:
                index = first + next(i for i, r in enumerate(records) if len(r) > self._max_bytes)
                detail = f"a record of {n_bytes:,} bytes, above the limit of {self._max_bytes:,}"
                raise DataLossError(Reason.RECORD_TOO_LARGE, None, self.name, index, detail=detail)
            block = Block.from_records(records)
            self._next = first = stop
            yield block
            fitting = _BATCH_BYTES * len(records) // max(block.nbytes, 1)
            size = max(1, min(fitting, _BATCH_RECORDS, 8 * size))

    def _damaged(self, error: Exception, index: int | None = None) -> DataLossError:
        where = "" if index is None else ", or one soon after it"
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        detail = f"the ArrayRecord file is damaged here{where}: {lines[-1] if lines else error!r}"
        return DataLossError(Reason.MALFORMED, None, self.name, index, detail=detail)

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            with contextlib.suppress(RuntimeError):  # what was wrong is told
                self._reader.close()
        if self._copy is not None:
            self._copy.close()
        self._reader = self._copy = None


def _copied(source: Source, reading: Reading) -> Any:
    from tfrecord_lite.apps.tables.byte_files import Content  # noqa: PLC0415 - needs pyarrow

    copy = tempfile.NamedTemporaryFile(suffix=".array_record")  # noqa: SIM115 - closed with the source
    plain = replace(reading.options, compression="")
    with contextlib.closing(Content(source, plain)) as content:
        shutil.copyfileobj(content, copy, _COPIED_AT_ONCE)
    copy.flush()
    return copy


class ArrayRecordTarget:
    """An ArrayRecord file being written, of blocks as they are or of batches as Examples."""

    def __init__(
        self,
        target: Source,
        file: TargetFile,
        schema: Any,
        compression: str | None,
        *,
        group_size: int = 1,
        is_exact: bool = False,
    ) -> None:
        self._file, self._encoder = file, None
        self._n_rows = 0
        self._writer: Any = None
        library = _library()
        if schema is not None:
            from tfrecord_lite.apps.tables.record_format import encoder_of  # noqa: PLC0415 - needs pyarrow

            self._encoder = encoder_of(schema, is_exact=is_exact)
        path = name_of(target)
        is_local = not is_file_object(target) and not is_url(path)
        folder = os.path.dirname(os.path.abspath(path)) if is_local else None  # noqa: PTH100, PTH120
        self._copy = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed when it was copied
            dir=folder, prefix=".", suffix=".array_record"
        )
        word = {None: "", "none": ",uncompressed"}.get(compression, f",{compression}")
        try:
            self._writer = library.ArrayRecordWriter(
                self._copy.name, f"group_size:{group_size}{word}"
            )
        except BaseException:
            self._copy.close()
            raise

    @property
    def rounded(self) -> tuple[str, ...]:
        """The columns of which a float64 was not exact in float32."""
        return tuple(getattr(self._encoder, "rounded", ()))

    def write(self, batch: Any) -> None:
        """Write a batch, or a block of records as they are."""
        try:
            blocks = [batch] if self._encoder is None else self._encoder.blocks(batch)
            for block in blocks:
                self._put(block)
        except InvalidArgumentError as error:
            index = None if error.index is None else self._n_rows + error.index
            raise error.at(index=index) from None
        self._n_rows += len(batch)

    def _put(self, block: Any) -> None:
        write = self._writer.write
        try:
            for record in block:
                write(record)
        except RuntimeError as error:
            raise OSError(str(error)) from None

    def finish(self) -> None:
        """Write the end of the file, and copy it to the target."""
        try:
            self._writer.close()
        except RuntimeError as error:
            raise OSError(str(error)) from None
        finally:
            self._writer = None
        with open(self._copy.name, "rb") as made:  # noqa: PTH123
            shutil.copyfileobj(made, self._file, _COPIED_AT_ONCE)
        self._copy.close()
        self._file.finish()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()

    def abandon(self) -> None:
        """Remove what is not committed."""
        if self._writer is not None:
            with contextlib.suppress(RuntimeError):
                self._writer.close()
            self._writer = None
        self._copy.close()
        self._file.abandon()
