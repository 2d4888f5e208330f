"""Record files as data frames and bags of Dask, and data frames as record files.

A task that is repeated, since its worker died, reads the same records, and replaces the file that it may have left.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from tfrecord_lite.apps.tables.record_format import PartFolder, WrittenPart, part_ending, write_part
from tfrecord_lite.apps.tables.table import ScanOptions, TablePartition, TFRecordTable
from tfrecord_lite.errors import argument_error
from tfrecord_lite.extension import Sources, file_parts, imported, is_url, library
from tfrecord_lite.integrations import engines
from tfrecord_lite.options import ReadOptions, ReadSettings, WriteOptions, read_settings
from tfrecord_lite.schema import Original, SequenceSchema

__all__ = ["read_records", "read_tfrecord", "to_tfrecord"]

_BLOCKSIZE = "128MiB"


def read_tfrecord(
    paths: Sources,
    columns: Sequence[str] | None = None,
    *,
    schema: Any = None,
    blocksize: int | str | None = _BLOCKSIZE,
    dtype_backend: Literal["pyarrow"] | None = None,
    include_path_column: bool | str = False,
    **options: Unpack[ScanOptions],
) -> Any:
    """Make a ``dask.dataframe.DataFrame`` of files of Examples or SequenceExamples.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        Files, patterns, directories (all files in them) and URLs (a directory's ends in ``/``), which the workers
        have to see under the same names.
    columns : sequence of str, optional
        Only these columns. Columns that an expression does not use are not parsed either way, but ``len`` of a frame
        parses all of its columns: with ``columns=[]`` it parses none.
    schema : path, mapping of str to feature specification, or SequenceSchema, optional
        As for :func:`scan`.
    blocksize : int, str or None, default "128MiB"
        About the bytes of a file in a partition; uncompressed files are divided at borders of records, see
        :meth:`TFRecordTable.partitions`. None for a partition per file.
    dtype_backend : "pyarrow", optional
        Make all columns ``pandas.ArrowDtype``. By default numbers have NumPy's dtypes, or nullable ones (``Int64``,
        ``boolean``) if records may lack them; texts are ``string[pyarrow]``; byte strings, lists and fixed shapes are
        ``pandas.ArrowDtype``.
    include_path_column : bool or str, default False
        Add a column with the file that each row is from: ``path``, or this name.
    **options
        As for :func:`scan`; `max_errors` is per partition. With ``on_error="skip"`` each task that skips something
        warns (``DataLossWarning``) where it runs.

    Returns
    -------
    dask.dataframe.DataFrame
        Lazy; only the schema was read so far. Each partition has an index of its own, from 0.

    Raises
    ------
    FileNotFoundError, InvalidArgumentError, DataLossError
        As :func:`scan`; what is wrong in a record, when it is computed.

    Examples
    --------
    >>> from tfrecord_lite.integrations.dask import read_tfrecord
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = read_tfrecord("people.tfrecord")
    >>> people[people.age > 36].name.compute().tolist()
    ['Alan', 'Grace']
    """
    dataframe = library("dask.dataframe")
    if dtype_backend not in (None, "pyarrow"):
        raise argument_error(f"dtype_backend is {dtype_backend!r}, expected 'pyarrow' or None")
    table = engines.scan_for_workers(paths, columns, schema, options)
    path_column = "path" if include_path_column is True else include_path_column or None
    if path_column in table.column_names:
        detail = f"there is a column {path_column!r} already; include_path_column='NAME'"
        raise argument_error(f"{detail} names another")
    parts = table.partitions(max_bytes=_bytes_of(blocksize))
    empty = imported().Table.from_batches([], table.arrow_schema)
    form: dict[str, Any] = {"dtypes": _dtypes(table, dtype_backend), "path_column": path_column}
    # Texts have their dtype already, and Dask's own conversion would keep it from pruning columns.
    with library("dask.config").set({"dataframe.convert-string": False}):
        return dataframe.from_map(
            _frame_of,
            parts,
            meta=_frame(empty, 0, "", None, **form),
            label="read-tfrecord",
            enforce_metadata=False,
            _state=_state_of(part.source for part in parts),
            **form,
        )


def _frame_of(part: TablePartition, columns: Sequence[str], *, _state: str, **form: Any) -> Any:
    """Read a partition; Dask names the columns that an expression needs, and `_state` is in the key of the task."""
    names = set(columns)
    part = engines.with_columns(part, [name for name in part.arrow_schema.names if name in names])
    batches = list(engines.batches_of(part))
    table = imported().Table.from_batches(batches, part.arrow_schema)
    n_rows = sum(map(len, batches))  # which a table without columns does not have
    return _frame(table, n_rows, part.source, columns, **form)


def _frame(
    table: Any, n_rows: int, path: str, columns: Any, *, dtypes: Any, path_column: str | None
) -> Any:
    """Return a table as a data frame whose dtypes do not depend on its values."""
    pandas = library("pandas")
    columns_read = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        dtype = dtypes[name]
        is_category = isinstance(dtype, pandas.CategoricalDtype)
        mapper = None if dtype is None or is_category else {column.type: dtype}.get
        series = column.to_pandas(types_mapper=mapper)
        columns_read[name] = series.astype(dtype) if is_category else series
    if path_column is not None and (columns is None or path_column in columns):
        columns_read[path_column] = pandas.Series([path] * n_rows, dtype="string[pyarrow]")
    frame = pandas.DataFrame(columns_read, index=pandas.RangeIndex(n_rows))
    return frame if columns is None else frame[list(columns)]


def _dtypes(table: TFRecordTable, backend: str | None) -> dict[str, Any]:
    if backend == "pyarrow":
        arrow_dtype = library("pandas").ArrowDtype
        return {field.name: arrow_dtype(field.type) for field in table.arrow_schema}
    if isinstance(table.schema, SequenceSchema):
        context = table.schema.context.originals
        originals = {f"context/{name}": original for name, original in context.items()}
    else:
        originals = dict(table.schema.originals)
    return {f.name: _dtype_of(f.type, originals.get(f.name)) for f in table.arrow_schema}


def _dtype_of(type_: Any, original: Original | None) -> Any:
    pandas, types = library("pandas"), imported().types
    if types.is_string(type_) or types.is_large_string(type_):
        return pandas.StringDtype("pyarrow")
    if types.is_dictionary(type_):
        if original is None or original.categories is None:
            return None
        return pandas.CategoricalDtype(original.categories, original.ordered)
    if types.is_boolean(type_) or types.is_integer(type_):
        # Records may lack it, and the dtype must not depend on whether the records of a partition do.
        if original is None or not original.missing:
            return None
        name = str(type_).replace("i", "I").replace("u", "U")
        return pandas.array([], "boolean" if types.is_boolean(type_) else name).dtype
    if types.is_floating(type_) or types.is_temporal(type_):
        return None
    return pandas.ArrowDtype(type_)


# ------------------------------------------------------------------------------- records


def read_records(
    paths: Sources, *, blocksize: int | str | None = _BLOCKSIZE, **options: Unpack[ReadOptions]
) -> Any:
    """Make a ``dask.bag.Bag`` of the records of files, each as bytes.

    Parameters
    ----------
    paths, blocksize
        As for :func:`read_tfrecord`.
    **options
        How files are read: :class:`~tfrecord_lite.options.ReadOptions`; `max_errors` is per partition.

    Returns
    -------
    dask.bag.Bag
        With a partition per file, or per part of a large one.

    Raises
    ------
    FileNotFoundError, InvalidArgumentError
        As :func:`read_tfrecord`.

    Examples
    --------
    >>> from tfrecord_lite.integrations.dask import read_records
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> ages = read_records("people.tfrecord").map(decode_example).map(lambda row: row["age"][0])
    >>> int(ages.sum().compute(scheduler="threads"))
    114
    """
    bag, how = library("dask.bag"), read_settings(options)
    parts = file_parts(engines.absolute(paths), how, max_bytes=_bytes_of(blocksize))
    state = _state_of(part.source for part in parts)
    return bag.from_sequence(parts, npartitions=len(parts)).map_partitions(_records, how, state)


def _records(parts: Any, options: ReadSettings, _state: str) -> list[bytes]:
    blocks = (block for part in parts for block in engines.blocks_of(part, options))
    return [record for block in blocks for record in block.to_list()]


def _state_of(sources: Iterable[str]) -> str:
    """Return what distinguishes files from earlier files of the same names, for the keys of tasks."""
    names = sorted(set(sources))
    if any(map(is_url, names)):
        return uuid.uuid4().hex
    stats = [os.stat(name) for name in names]
    files = [(status.st_ino, status.st_size, status.st_mtime_ns) for status in stats]
    return str(library("dask.base").tokenize(names, files))


def _bytes_of(blocksize: int | str | None) -> int | None:
    return None if blocksize is None else library("dask.utils").parse_bytes(blocksize)


# --------------------------------------------------------------------------------- write


def to_tfrecord(
    frame: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    write_index: bool = False,
    lossless: bool = False,
    sidecar: bool = True,
    compute: bool = True,
    compute_kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[WriteOptions],
) -> Any:
    """Write a ``dask.dataframe.DataFrame`` as files of Examples into a directory, one per partition.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Its columns are of types that :func:`save` stores.
    path : str or PathLike
        The directory, or a URL, which the workers have to see under this name; it is created if it does not exist.
    overwrite : bool, default False
        Remove the existing files, once the new ones are complete, under other names. Otherwise there must be none. The
        frame may be read from this directory, and is gone with its files then.
    write_index : bool, default False
        Store the index, too, as columns.
    lossless : bool, default False
        As for :func:`save`; needs the sidecar. A warning, and `rounded` of the results, name the columns of float64
        in which float32 changed a number.
    sidecar : bool, default True
        Write ``FILE.schema.json`` beside each file, with which readers restore types and shapes.
    compute : bool, default True
        Whether to write now, and not return a ``Delayed``, which does not warn.
    compute_kwargs : dict, optional
        For ``compute``, such as ``{"scheduler": "processes"}``.
    **options
        How files are written: :class:`~tfrecord_lite.options.WriteOptions`; not compressed by default.

    Returns
    -------
    list of WrittenPart, or Delayed
        The files, in the order of the partitions; none for an empty partition.

    Raises
    ------
    FileExistsError
        If the directory has files, without `overwrite`.
    InvalidArgumentError
        For a value or a type of column that cannot be stored, with file, record and column.
    TypeError
        If this is not a DataFrame of Dask.

    Notes
    -----
    A file appears when it is complete. If a partition fails, nothing of this call stays, and all of before does; with
    ``compute=False`` the files of other partitions stay, too.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from tfrecord_lite.integrations.dask import read_tfrecord, to_tfrecord
    >>> people = dd.from_pandas(pd.DataFrame({"age": [36, 41, 37]}), npartitions=2)
    >>> [part.n_records for part in to_tfrecord(people, "people")]
    [2, 1]
    >>> int(read_tfrecord("people").age.sum().compute())
    114
    """
    delayed = library("dask").delayed
    if not isinstance(frame, library("dask.dataframe").DataFrame):
        raise TypeError(f"expected a dask.dataframe.DataFrame, not {type(frame).__name__}")
    engines.check_lossless(lossless=lossless, sidecar=sidecar)
    ending = part_ending(options.get("compression"))
    folder, files = engines.folder_to_write(path, options.get("storage_options"))
    before = files.names()
    if before and not overwrite:
        raise engines.files_there_error(folder, "overwrite=True replaces them")
    partitions = frame.to_delayed()
    names = [f"part.{i:05d}{ending}" for i in range(len(partitions))]
    if set(names) & set(before):  # files of before stay until all new ones are complete
        write_id = uuid.uuid4().hex
        names = [f"{write_id}-{name}" for name in names]
    settings = {**options, "lossless": lossless, "sidecar": sidecar}
    job = Job(files, f".{uuid.uuid4().hex}.job", names) if compute else None
    write = delayed(_write)
    paths = [f"{folder}/{name}" for name in names]
    parts = [write(*one, write_index, settings, job) for one in zip(partitions, paths, strict=True)]
    done = delayed(_finish)(parts, files, before)
    if job is None:
        return done
    files.add(job.mark)
    try:
        written = done.compute(**(compute_kwargs or {}))
    except BaseException:
        job.take_back()
        raise
    files.remove([job.mark])
    engines.warn_of_parts(folder, written)
    return written


@dataclass(frozen=True)
class Job:
    """A call of :func:`to_tfrecord`; while it goes on there is a hidden file, its mark."""

    files: PartFolder
    mark: str
    names: list[str]

    def take_back(self) -> None:
        """Remove what there is of it; tasks that end later find no mark, and remove theirs."""
        self.files.remove([self.mark])
        own = {*self.names, *(f"{name}.schema.json" for name in self.names)}
        unfinished = tuple(f".{name}." for name in own)
        names = self.files.names(hidden=True)
        self.files.remove(name for name in names if name in own or name.startswith(unfinished))

    def check(self, path: str) -> None:
        """Remove a file that was just written if the job is over."""
        if self.mark not in self.files.names(hidden=True):
            name = os.path.basename(path)
            self.files.remove([name, f"{name}.schema.json"])


def _write(frame: Any, path: str, with_index: Any, options: Any, job: Any) -> WrittenPart | None:
    if not len(frame):
        return None
    table = imported().Table.from_pandas(frame, preserve_index=with_index)
    # NaN is a number, which Arrow takes for a missing value in columns of NumPy's dtypes.
    for i, name in enumerate(table.column_names):
        dtype = frame.dtypes.get(name)
        if isinstance(dtype, np.dtype) and dtype.kind == "f" and table.column(i).null_count:
            table = table.set_column(i, name, imported().array(frame[name].to_numpy()))
    part = write_part(path, [table.replace_schema_metadata(None)], **options)
    if job is not None:
        job.check(path)
    return part


def _finish(parts: list[Any], files: PartFolder, before: list[str]) -> list[WrittenPart]:
    """Remove what was there before, and return what was written."""
    written = [part for part in parts if part is not None]
    new = {os.path.basename(part.path) for part in written}
    new |= {f"{name}.schema.json" for name in new}
    files.remove([name for name in before if name not in new])
    return written
