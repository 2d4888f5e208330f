"""Record files as lazy frames of Polars: only the columns and rows that a query needs are read.

::

    scan_tfrecord    files as a LazyFrame
    lazy_frame       the same of a table of ``scan``

A query's columns, its row limit and its filters arrive here: columns that it does not name are not
parsed, reading stops at the limit, and rows that a filter drops leave with their batch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.tables.table import scan
from tfrecord_lite.convert.dataframes.common import library
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from tfrecord_lite.apps.tables.table import ScanOptions, TFRecordTable
    from tfrecord_lite.files.names import Sources
    from tfrecord_lite.schema import FeatureLike, SequenceSchema

__all__ = ["lazy_frame", "scan_tfrecord"]

_FEW_ROWS = 1000


def scan_tfrecord(
    paths: Sources,
    features: str | os.PathLike[str] | Mapping[str, FeatureLike] | SequenceSchema | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[ScanOptions],
) -> Any:
    """Open files of Examples or SequenceExamples as a ``polars.LazyFrame``.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
    features : path, mapping of str to feature specification, or SequenceSchema, optional
    columns : sequence of str, optional
    **options
        As for :func:`scan`: `text`, `sample`, `batch_size`, `compression`, `on_error`, `max_errors`,
        `max_record_bytes`, `max_inflated_bytes`, `max_inflated_ratio`, `storage_options`, `num_workers`.

    Returns
    -------
    polars.LazyFrame
        Only the schema was read so far. A query parses the columns that it uses, stops reading at
        its row limit, and applies its filters batch by batch; each reads the files anew.

    Raises
    ------
    ImportError
        If polars or pyarrow is not installed (the extra ``dataframes``).
    FileNotFoundError, InvalidArgumentError, DataLossError
        As :func:`scan`, and :func:`~tfrecord_lite.integrations.polars.lazy_frame`; and what is wrong in
        a record, when a query comes to it.

    See Also
    --------
    scan : the same as a table that every library with Arrow's C stream reads.

    Examples
    --------
    >>> import polars as pl
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = scan_tfrecord("people.tfrecord")
    >>> people.filter(pl.col("age") > 36).select("name").collect().to_dicts()
    [{'name': 'Alan'}, {'name': 'Grace'}]
    """
    return lazy_frame(scan(paths, features, columns, **options))


def lazy_frame(table: TFRecordTable) -> Any:
    """Return a table as a ``polars.LazyFrame``.

    Parameters
    ----------
    table : TFRecordTable
        Of :func:`scan`.

    Returns
    -------
    polars.LazyFrame
        As that of :func:`scan_tfrecord`.

    Raises
    ------
    ImportError
        If polars is not installed.
    InvalidArgumentError
        ``UNSUPPORTED`` for a column of a shape without values, such as ``[0]``, which Polars cannot read.

    Examples
    --------
    >>> import polars as pl
    >>> from tfrecord_lite.integrations.polars import lazy_frame
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = lazy_frame(scan("people.tfrecord"))
    >>> people.filter(pl.col("age") > 36).collect().rows()
    [('Alan', 41), ('Grace', 37)]
    """
    for field in table.arrow_schema:
        if "[0]" in str(field.type):
            detail = "a shape without values, which Polars cannot read; leave it out of columns="
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)
    register = library("polars.io.plugins").register_io_source
    return register(partial(_frames, table), schema=_frame(table.head(0)).schema)


def _frames(
    table: TFRecordTable,
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


def _first(table: TFRecordTable, n_rows: int | None) -> Iterator[Any]:
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
