"""Rows appended to a file that ``save`` wrote, by the sidecar beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfrecord_lite.block import Block
from tfrecord_lite.described.frames import merged_description
from tfrecord_lite.described.sidecar import Sidecar
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.files.compression import TFRecordOptions
from tfrecord_lite.progress import Meter
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage.data_files import DataFiles
from tfrecord_lite.writer import TFRecordWriter
from tfrecord_lite.writer.beside import describing


class _AppendedFile(DataFiles):
    """The file of a writer that appends."""

    def __init__(self, writer: TFRecordWriter, meter: Meter) -> None:
        super().__init__([], TFRecordOptions(), None, meter)
        self._writer = writer

    def put(self, records: Block | Sequence[bytes]) -> None:
        """Write records."""
        self._writer.write(records if isinstance(records, Block) else Block.from_records(records))
        self._n_put += len(records)
        self._meter.update(self._n_put, self.n_records)

    def count(self) -> int:
        """Return how many records were written, which are all."""
        self._meter.expect(self._n_put)
        self._meter.finish()
        return self._n_put


def described_by_sidecar(name: str, size: int) -> Sidecar | None:
    """Return the sidecar of a file to append to; None if there is nothing in it yet.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if no sidecar describes the file, or it is of SequenceExamples.
    """
    described = describing(name)
    if not size and (described is None or not described.schema):
        return None
    if described is None:
        detail = "no sidecar describes this file, so it was not written by save, or changed since; "
        detail += "TFRecordWriter(path, mode='a') appends to any file"
        raise argument_error(detail, source=name)
    if not isinstance(described.schema, Schema):
        detail = "the file has SequenceExamples; TFRecordWriter(path, mode='a') appends them"
        raise argument_error(detail, source=name)
    return described


def append(
    name: str,
    described: Sidecar,
    write: Callable[[DataFiles], Sidecar],
    compression: Any,
    meter: Meter,
) -> None:
    """Append what a function writes; the file is as before if anything fails, or does not fit the sidecar."""
    writer = TFRecordWriter(name, mode="a", compression=compression)
    try:
        files = _AppendedFile(writer, meter)
        written = write(files)
        if files.count():
            writer.described = _merged(described, written, is_first=not writer.end.n_records)
        writer.close()
    except BaseException as error:
        writer.abandon()
        if isinstance(error, InvalidArgumentError):
            raise error.at(source=name) from None
        raise


def _merged(described: Sidecar, written: Sidecar, *, is_first: bool) -> Sidecar:
    """Return the sidecar for the rows of a file, and those after them."""
    if written.dataframe is not None:
        frames = merged_description(described.dataframe, written.dataframe)
        described = described._replace(dataframe=frames)
    if is_first:  # without rows, nothing showed how they are nested
        return described._replace(structure=written.structure)
    if written.structure is not None and written.nesting != described.nesting:
        raise argument_error("the data are nested differently from those in the file")
    return described
