"""The Examples of files by number, parsed: what the data sources of torch and Grain have in common."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from tfrecord_lite import ExampleParser, TFRecordFile
from tfrecord_lite.columns import Column
from tfrecord_lite.errors import TFRecordError, argument_error
from tfrecord_lite.extension import Indices, SchemaLike, Sources, is_dense, parser_of, row_of
from tfrecord_lite.options import ReadOptions


def file_of(file: TFRecordFile | Sources, options: ReadOptions) -> TFRecordFile:
    """Return the file that was opened already, or open one."""
    if not isinstance(file, TFRecordFile):
        return TFRecordFile(file, **options)
    if options:
        raise argument_error(f"{', '.join(options)}: give it to the TFRecordFile, which is open")
    return file


class IndexedExamples:
    """A :class:`TFRecordFile` and a parser."""

    def __init__(
        self,
        file: TFRecordFile | Sources,
        schema: SchemaLike | ExampleParser[Any] | None = None,
        **options: Unpack[ReadOptions],
    ) -> None:
        self.file: TFRecordFile = file_of(file, options)
        self._parser = parser_of(self.file, schema)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.file)

    def __repr__(self) -> str:
        """Name files and features; Grain's ``DataLoader`` compares it with that in a checkpoint."""
        return f"{type(self).__name__}({self.file!r}, {self._parser!r})"

    def _columns(self, indices: Indices) -> dict[str, Column]:
        return self.file.parse(indices, self._parser)

    def _rows(self, indices: Any) -> list[dict[str, Any]]:
        """Return many Examples, each as ``parse_single`` does, but with None for what is missing."""
        if len(indices) > 1 and is_dense(self._parser.features):
            columns: dict[str, Any] = self._columns(indices)
            numbers = range(len(indices))
            return [{name: row_of(c, i) for name, c in columns.items()} for i in numbers]
        rows, block = [], self.file.block(indices)
        for number, record in enumerate(block):
            try:
                row = self._parser.parse_single(record)
            except TFRecordError as error:
                raise block.place(number).locate(error) from None
            rows.append({name: _present(value) for name, value in row.items()})
        return rows


def _present(value: Any) -> Any:
    if not isinstance(value, np.ma.MaskedArray):
        return value
    return None if np.ma.getmaskarray(value).any() else value.data
