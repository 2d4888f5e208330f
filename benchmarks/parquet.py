"""Parquet files, written with pyarrow's writer in the same way for every library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_GROUP_ROWS = 128 * 1024
_GROUP_BYTES = 64 * 1024 * 1024
"""Size of row groups, as ``tfrecord convert`` has them."""


def write(batches: Iterable[Any], target: str) -> None:
    """Write record batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    pending: list[Any] = []
    n_rows = n_bytes = 0

    def put() -> None:
        nonlocal writer
        table = pa.Table.from_batches(pending)
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema)
        writer.write_table(table, row_group_size=max(len(table), 1))

    for batch in batches:
        pending.append(batch)
        n_rows, n_bytes = n_rows + len(batch), n_bytes + batch.nbytes
        if n_rows >= _GROUP_ROWS or n_bytes >= _GROUP_BYTES:
            put()
            pending, n_rows, n_bytes = [], 0, 0
    if pending:
        put()
    writer.close()


def source(data: str, n_records: int, target: str) -> str:
    """Write a data set of single values as Parquet, and return the name of the file."""
    import pyarrow as pa

    from benchmarks.data import tables

    path = f"{target}.parquet"
    write((pa.RecordBatch.from_pydict(table) for table in tables(data, n_records)), path)
    return path
