"""What the engines share: how a table is opened for workers, and the folders that tasks write to."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tables.record_format import PartFolder, WrittenPart
from tfrecord_lite.apps.tables.table import ScanOptions, TablePartition, TFRecordTable, scan
from tfrecord_lite.block import Block
from tfrecord_lite.errors import argument_error
from tfrecord_lite.options import ReadSettings

if TYPE_CHECKING:

    class Foreign:
        """What type checkers see of the classes of engines, which have no annotations."""

        def __init__(self, *arguments: Any, **options: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __rrshift__(self, label: str) -> Any: ...


Rows = TypeVar("Rows", "TFRecordTable", "TablePartition")


def absolute(paths: Any) -> Any:
    """Return local paths from the root on, since workers may be in another directory than the driver."""
    if not isinstance(paths, (str, bytes, os.PathLike)):
        is_one = ext.is_file_object(paths) or not isinstance(paths, Iterable)
        return paths if is_one else list(map(absolute, paths))
    name = ext.name_of(paths)
    return name if ext.is_url(name) else os.path.abspath(name)


def scan_for_workers(
    paths: ext.Sources, columns: Sequence[str] | None, schema: Any, options: ScanOptions
) -> TFRecordTable:
    """Return the table of files and directories, under names that workers can open."""
    if options.pop("num_workers", 0):
        raise argument_error("num_workers is for one machine; here the engine's workers read")
    return scan(absolute(paths), columns, schema=schema, **options)


def with_columns(rows: Rows, names: list[str]) -> Rows:
    """Return a table or a partition of it with some columns; a selection does not notice features beyond the sample."""
    return rows if names == rows.arrow_schema.names else rows.select(names)


def batches_of(part: TablePartition) -> Iterator[Any]:
    """Yield the record batches of a partition; warn of what was skipped."""
    with closing(part.read()) as batches:
        yield from batches
        if batches.report is not None:
            ext.warn_of_damage(batches.report)


def blocks_of(part: ext.FilePart, options: ReadSettings) -> Iterator[Block]:
    """Yield the blocks of a part of a file; warn of what was skipped."""
    reader = ext.PartReader(part, options)
    yield from reader.blocks()
    if reader.report is not None:
        ext.warn_of_damage(reader.report)


def folder_to_write(path: Any, storage_options: ext.StorageOptions) -> tuple[str, PartFolder]:
    """Return the name of a directory, or its URL, as workers know it, and the files in it."""
    folder = absolute(os.fspath(path).rstrip("/") or "/")
    return folder, PartFolder(folder, storage_options)


def files_there_error(folder: str, way_out: str) -> FileExistsError:
    """Return the error about a directory that should have no files."""
    return FileExistsError(errno.EEXIST, f"the directory has files; {way_out}", folder)


def warn_of_parts(folder: str, parts: Iterable[WrittenPart]) -> None:
    """Warn of the columns that were rounded in some of the files in a folder."""
    ext.warn_of_rounding(folder, dict.fromkeys(name for part in parts for name in part.rounded))


def check_lossless(*, lossless: bool, sidecar: bool) -> None:
    """Raise if nothing would record how to read what is stored as bytes."""
    if lossless and not sidecar:
        detail = "without a sidecar, what lossless=True stores as bytes cannot be read; leave out "
        raise argument_error(detail + "lossless, which stores float64 as float32")
