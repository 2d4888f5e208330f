"""One file of many that tasks write, each its own, and again if a task is repeated.

The file appears complete or not at all, and replaces one of its name: a task that is repeated under the
same name leaves what one run of it leaves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tfrecord_lite.apps.tables.record_format import RecordTarget
from tfrecord_lite.block import Block
from tfrecord_lite.convert.arrow import imported
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.files.compression import (
    CODECS,
    CompressionType,
    TFRecordOptions,
    compression_to_write,
)
from tfrecord_lite.files.names import StorageOptions, is_url
from tfrecord_lite.files.output import remove
from tfrecord_lite.files.remote import remote_place

__all__ = ["PartFolder", "WrittenPart", "file_system", "part_ending", "write_part"]

_RECORDS_AT_ONCE = 8192


def part_ending(compression: CompressionType) -> str:
    """Return the ending of names of files with a compression, such as ``.tfrecord.gz``.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown compression.
    """
    options = compression_to_write(None, compression)
    codec = CODECS.get(TFRecordOptions.get_compression_type_string(options))
    return f".tfrecord{codec.endings[0]}" if codec is not None else ".tfrecord"


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A file that a task wrote."""

    path: str
    """Path or URL."""
    n_records: int
    nbytes: int
    """Bytes of the file."""
    rounded: tuple[str, ...] = ()
    """Columns of which a float64 was not exact in float32."""


def write_part(
    path: str,
    batches: Iterable[Any],
    *,
    schema: Any = None,
    compression: CompressionType = "infer",
    lossless: bool = True,
    sidecar: bool = True,
    storage_options: StorageOptions = None,
) -> WrittenPart | None:
    """Write one file of records.

    Parameters
    ----------
    path : str
        Path or URL. The folder is made if it is not there.
    batches : iterable of pyarrow.RecordBatch or pyarrow.Table, or of Block or list of bytes
        Rows, of which each becomes an Example, or a SequenceExample if the schema in the metadata says so; all batches have
        the schema of the first one. Or records as they are.
    schema : pyarrow.Schema, optional
        That of all batches; without it, nothing is written if there are no batches.
    compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordWriter`.
    lossless : bool, default True
        As for :func:`save`; columns that were rounded are in the result.
    sidecar : bool, default True
        Write ``PATH.schema.json`` too, from which columns come back with their types.
    storage_options : dict, optional
        As for :class:`TFRecordWriter`.

    Returns
    -------
    WrittenPart or None
        None if there was nothing to write.

    Raises
    ------
    InvalidArgumentError
        As :func:`save`, with the number of the record in this file and the column.
    OSError
        As for writing. After any error there is no file, or the one that was there before.
    """
    given = iter(batches)
    first = next(given, None)
    if first is None and schema is None:
        return None
    is_rows = schema is not None or not isinstance(first, Block | list)
    if is_rows and schema is None:
        schema = first.schema  # type: ignore[union-attr]
    if not is_url(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    target = RecordTarget(
        path,
        schema,
        "" if compression is None else compression,  # type: ignore[arg-type]
        is_exact=lossless,
        with_sidecar=sidecar,
        storage_options=storage_options,
    )
    n_records = 0
    try:
        for batch in given if first is None else chain([first], given):
            n_records += _write(target, batch, is_rows=is_rows)
        target.finish()
        target.commit()
    except InvalidArgumentError as error:
        target.abandon()
        raise (error if error.source else error.at(source=path)) from None
    except BaseException:
        target.abandon()
        raise
    return WrittenPart(path, n_records, target.n_bytes, target.rounded)


def _write(target: RecordTarget, batch: Any, *, is_rows: bool) -> int:
    """Write a batch, and return how many records it has."""
    for part in _bounded(batch) if is_rows else (batch,):
        target.write(part)
    return len(batch)


def _bounded(batch: Any) -> Iterator[Any]:
    """Yield a batch or table in batches of so many rows at most, whatever its chunks are."""
    table = batch if isinstance(batch, imported().Table) else imported().Table.from_batches([batch])
    yield from table.to_batches(max_chunksize=_RECORDS_AT_ONCE)


def file_system(name: str, storage_options: StorageOptions) -> tuple[Any, str]:
    """Return the ``pyarrow.fs.FileSystem`` of a path or URL, and the path there."""
    fs = imported("pyarrow.fs")
    if not is_url(name):
        return fs.LocalFileSystem(), name
    remote, path = remote_place(name, storage_options)
    return fs.PyFileSystem(fs.FSSpecHandler(remote)), path


class PartFolder:
    """The files in the directory, or at the URL, that tasks write to."""

    def __init__(self, name: str, storage_options: StorageOptions) -> None:
        self._name, self._storage_options = name, storage_options

    def names(self, *, hidden: bool = False) -> list[str]:
        """Return the names of the files, hidden ones if asked; none if there is no such directory."""
        system, path = file_system(self._name, self._storage_options)
        selector = imported("pyarrow.fs").FileSelector(path, allow_not_found=True)
        names = [info.base_name for info in system.get_file_info(selector) if info.is_file]
        return sorted(name for name in names if hidden or not name.startswith("."))

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, of which some may be gone."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                remove(f"{self._name}/{name}", self._storage_options)
