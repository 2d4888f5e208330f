"""Record files as lazy frames of Polars: only the columns and rows that a query needs are read.

A query's columns, its row limit and its filters arrive here: columns that it does not name are not
parsed, reading stops at the limit, and rows that a filter drops leave with their batch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tfrecord_lite.convert.dataframes.common import library
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator


_FEW_ROWS = 1000


def lazy_frame(table: Any) -> Any:
    """Return a table of ``scan`` as a ``polars.LazyFrame``."""
    for field in table.arrow_schema:
        if "[0]" in str(field.type):
            detail = "a shape without values, which Polars cannot read; leave it out of columns="
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)
    register = library("polars.io.plugins").register_io_source
    return register(partial(_frames, table), schema=_frame(table.head(0)).schema)


def _frames(
    table: Any,
    columns: list[str] | None,
    predicate: Any,
    n_rows: int | None,
    batch_size: int | None,  # noqa: ARG001 - only a hint, and blocks of the file are cheaper
) -> Iterator[Any]:
    """Yield what a query asks for: some columns of the first rows, those for which a predicate holds."""
    wanted = table.column_names if columns is None else columns
    used = wanted if predicate is None else [*wanted, *predicate.meta.root_names()]
    table = table.select([name for name in dict.fromkeys(used) if name in table.column_names])
    yield _frame(table.head(0))[:, : len(wanted)]  # Polars wants a frame at least
    for batch in _first(table, n_rows):
        frame = _frame(batch)
        # Not by name: Polars takes one such as ^a$ or * for a pattern.
        yield (frame if predicate is None else frame.filter(predicate))[:, : len(wanted)]


def _first(table: Any, n_rows: int | None) -> Iterator[Any]:
    """Yield the batches of the first rows, or of all."""
    left = n_rows
    # Few rows come in one small batch; more than a read brings would wait for all of them.
    size = n_rows if n_rows is not None and 0 < n_rows < _FEW_ROWS else None
    for batch in table.to_batches(size) if left != 0 else ():
        yield batch if left is None else batch[:left]
        left = None if left is None else left - len(batch)
        if left is not None and left <= 0:
            return


def _frame(batch: Any) -> Any:
    """Return a table or batch of Arrow as a frame."""
    return library("polars").from_arrow(batch, rechunk=False)
