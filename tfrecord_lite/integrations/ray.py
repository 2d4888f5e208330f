"""Record files as data sets of Ray Data, and data sets as record files.

The schema is settled on the driver, so all blocks agree. A task that is repeated, since its worker died,
reads the same records, and replaces the file that it may have left.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from tfrecord_lite.apps.tables.record_format import WrittenPart, part_ending, write_part
from tfrecord_lite.apps.tables.table import ScanOptions, TablePartition, TFRecordTable
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, optional_int
from tfrecord_lite.extension import Sources, first_of
from tfrecord_lite.integrations import engines
from tfrecord_lite.options import WriteOptions, check_keywords

try:
    import pyarrow as pa
    import ray
    from ray.data.block import BlockAccessor, BlockMetadata
    from ray.data.datasource import Datasink, Datasource, ReadTask
    from ray.data.extensions import ArrowTensorArray, get_arrow_extension_tensor_types
except ImportError as _error:
    _detail = f"Ray Data is needed: pip install 'ray[data]' pandas pyarrow: {_error}"
    raise ImportError(_detail) from None

if TYPE_CHECKING:
    _SourceBase = engines.Foreign
    _SinkBase = engines.Foreign
else:
    _SourceBase = Datasource
    _SinkBase = Datasink


__all__ = ["TFRecordDatasink", "TFRecordDatasource", "read_tfrecords", "write_tfrecords"]

_MOST_TASKS = 200
"""More only if parts would be larger than a table's usually are."""
_LEAST_TASK_BYTES = 16 * 1024 * 1024
"""Below it, more tasks cost more than they gain, unless they are asked for."""
_ROWS_ALONE = "__bsp_stub"
"""Ray's name of the column that keeps the number of rows of a block without columns."""


def read_tfrecords(
    paths: Sources,
    columns: Sequence[str] | None = None,
    *,
    schema: Any = None,
    tensors: bool = False,
    include_paths: bool = False,
    override_num_blocks: int | None = None,
    concurrency: int | None = None,
    remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[ScanOptions],
) -> Any:
    """Make a ``ray.data.Dataset`` of files of Examples or SequenceExamples.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
        Files, patterns, directories (all files in them) and URLs (a directory's ends in ``/``), which the workers
        have to see under the same names.
    columns : sequence of str, optional
        Only these columns; others are not parsed. ``ds.select_columns`` has the same effect.
    schema : path, mapping of str to feature specification, or SequenceSchema, optional
        As for :func:`scan`.
    tensors : bool, default False
        Make tensors of columns of numbers with a fixed shape, so that batches of NumPy and torch have
        arrays of shape ``(n, *shape)``. Otherwise they are ``fixed_size_list``, which other libraries know.
    include_paths : bool, default False
        Add a column ``path`` with the file that each row is from.
    override_num_blocks : int, optional
        About the number of tasks, if there are not more files. By default a task reads a file, or 16 to 128 MiB of it.
    concurrency, remote_args : optional
        As for ``ray.data.read_datasource``: the largest number of tasks at a time, and arguments such as
        ``{"num_cpus": 2}`` for each.
    **options
        As for :func:`scan`; `max_errors` is per task. With ``on_error="skip"`` each task that skips something warns
        (``DataLossWarning``) in the driver's log; a function is called in the task.

    Returns
    -------
    ray.data.Dataset
        Lazy; only the schema was read so far.

    Raises
    ------
    FileNotFoundError, InvalidArgumentError, DataLossError
        As :func:`scan`. What is wrong in a record is raised by whatever runs the data set, as Ray's ``RayTaskError``,
        which is an instance of our error's class too.

    Notes
    -----
    Uncompressed files are divided at borders of records, remote ones only with an index beside them (``tfrecord
    index``). With indexes beside all files, ``count()`` reads nothing.

    Examples
    --------
    >>> from tfrecord_lite.integrations.ray import read_tfrecords
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> people = read_tfrecords("people.tfrecord", columns=["age"])
    >>> sorted(people.map_batches(lambda batch: {"decade": batch["age"] // 10}).unique("decade"))
    [3, 4]
    """
    form: Any = {"schema": schema, "tensors": tensors, "include_paths": include_paths}
    source = TFRecordDatasource(paths, columns, num_tasks=override_num_blocks, **form, **options)
    return ray.data.read_datasource(
        source,
        concurrency=concurrency,
        # If it knows the number of blocks, Ray does not divide what a task gives into smaller ones.
        override_num_blocks=override_num_blocks or len(source.get_read_tasks(_MOST_TASKS)),
        **(remote_args or {}),
    )


class TFRecordDatasource(_SourceBase):
    """Files of records as a source of Ray Data; parameters as for :func:`read_tfrecords`."""

    def __init__(
        self,
        paths: Sources,
        columns: Sequence[str] | None = None,
        *,
        schema: Any = None,
        tensors: bool = False,
        include_paths: bool = False,
        num_tasks: int | None = None,
        **options: Unpack[ScanOptions],
    ) -> None:
        super().__init__()
        self._projection_map: dict[str, str] | None = None  # which the base class reads
        optional_int("override_num_blocks", num_tasks, 1)
        table = engines.scan_for_workers(paths, columns, schema, options)
        if include_paths and "path" in table.column_names:
            detail = "there is a column 'path' already, so include_paths= cannot add it"
            raise argument_error(detail)
        self._table: TFRecordTable = table
        names = {n: n for n in [*table.column_names, *(["path"] if include_paths else [])]}
        self._form = _BlockForm(table.arrow_schema, names, tensors, include_paths)
        self._num_tasks = num_tasks
        self._partitions: dict[int, list[TablePartition]] = {}  # by the number of tasks

    def get_name(self) -> str:
        """Return the name that Ray's progress and statistics show."""
        return "TFRecords"

    def supports_projection_pushdown(self) -> bool:
        """Return that columns are pruned here."""
        return True

    def estimate_inmemory_data_size(self) -> int | None:
        """Return about the bytes that all values take; None if the size of the files is not known."""
        return sum(part.nbytes for part in self._divided(1)) or None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[Any]:
        """Return a task per file, or per part of one; Ray calls this several times."""
        if self._num_tasks is not None:
            parallelism = self._num_tasks
        else:
            n_bytes = self.estimate_inmemory_data_size() or 0
            parallelism = min(parallelism, max(n_bytes // _LEAST_TASK_BYTES, 1))
        chosen = self.get_projection_map()
        form = self._form if chosen is None else replace(self._form, names=dict(chosen))
        tasks = []
        for part in self._divided(parallelism):
            n_rows, limit = part.num_rows, per_task_row_limit
            n_rows = n_rows if n_rows is None or limit is None else min(n_rows, limit)
            place: Any = {"size_bytes": part.nbytes or None, "input_files": (part.source,)}
            metadata = BlockMetadata(num_rows=n_rows, exec_stats=None, **place)
            read = partial(_read, engines.with_columns(part, form.columns), form, limit)
            tasks.append(ReadTask(read, metadata, schema=form.schema, per_task_row_limit=limit))
        return tasks

    def _divided(self, num_tasks: int) -> list[TablePartition]:
        if num_tasks not in self._partitions:
            self._partitions[num_tasks] = self._table.partitions(num_partitions=num_tasks)
        return self._partitions[num_tasks]


def _read(part: TablePartition, form: _BlockForm, limit: int | None) -> Iterator[Any]:
    # Warnings are shown on the driver.
    for batch in first_of(engines.batches_of(part), limit):
        yield form.table(batch, part.source)


@dataclass(frozen=True)
class _BlockForm:
    """What blocks are made of batches: some columns, tensors, the path."""

    whole: Any
    """The schema of the files."""
    names: dict[str, str]
    """By the name in the files, that in the blocks: releases before 2.60 rename here."""
    tensors: bool
    with_path: bool

    @property
    def columns(self) -> list[str]:
        """The columns of the files."""
        return [name for name in self.names if name in self.whole.names]

    @property
    def schema(self) -> Any:
        """The schema of the blocks."""
        fields = pa.schema([self.whole.field(name) for name in self.columns])
        return self.table(pa.RecordBatch.from_pylist([], fields), "").schema

    def table(self, batch: Any, path: str) -> Any:
        """Return a block of a batch."""
        if not self.names:  # only the number of rows is asked for
            return pa.table({_ROWS_ALONE: pa.nulls(len(batch))})
        arrays = [
            pa.array([path] * len(batch), pa.string())
            if name == "path" and self.with_path
            else self._array(batch.column(name))
            for name in self.names
        ]
        return pa.Table.from_arrays(arrays, list(self.names.values()), metadata=self.whole.metadata)

    def _array(self, array: Any) -> Any:
        shape, flat = [], array
        while self.tensors and pa.types.is_fixed_size_list(flat.type):
            shape.append(flat.type.list_size)
            flat = flat.flatten()
        if not shape or array.null_count or not pa.types.is_primitive(flat.type):
            return array
        values = flat.to_numpy(zero_copy_only=False)
        return ArrowTensorArray.from_numpy(values.reshape(len(array), *shape))


# --------------------------------------------------------------------------------- write


def write_tfrecords(
    ds: Any,
    path: str | os.PathLike[str],
    *,
    mode: Literal["append", "overwrite", "error"] = "append",
    min_rows_per_file: int | None = None,
    lossless: bool = False,
    sidecar: bool = True,
    concurrency: int | None = None,
    remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[WriteOptions],
) -> list[WrittenPart]:
    """Write a ``ray.data.Dataset`` as files of Examples into a directory, one file per task.

    Parameters
    ----------
    ds : ray.data.Dataset
        Rows with numbers, bools, texts, bytes, times, tensors of numbers, and lists of them.
    path : str or PathLike
        The directory, or a URL, which the workers have to see under this name; it is created if it does not exist.
    mode : {"append", "overwrite", "error"}, default "append"
        What to do with existing files: add to them; remove them once the new ones are complete; or raise
        FileExistsError.
    min_rows_per_file : int, optional
        Collect blocks until there are this many rows. Without it, files are as small as the blocks of `ds`.
    lossless : bool, default False
        As for :func:`save`; needs the sidecar. A warning, and `rounded` of the results, name the columns of float64
        in which float32 changed a number.
    sidecar : bool, default True
        Write ``FILE.schema.json`` beside each file, with which readers restore types and shapes.
    concurrency, remote_args : optional
        As for ``ray.data.Dataset.write_datasink``.
    **options
        How files are written: :class:`~tfrecord_lite.options.WriteOptions`; not compressed by default.

    Returns
    -------
    list of WrittenPart
        The files, by name, with their numbers of records and bytes.

    Raises
    ------
    FileExistsError
        With `mode` "error".
    InvalidArgumentError
        ``BAD_ARGUMENT`` for an unknown `mode` or `compression`. In a task, and so as ``RayTaskError``, for a value or a
        type of column that cannot be stored, with file, record and column.

    Notes
    -----
    Files are named ``WRITE-TASK.tfrecord`` with an identifier of this write, and appear whole. If the write fails,
    they are removed, and others are as before.

    Examples
    --------
    >>> import ray
    >>> from tfrecord_lite.integrations.ray import write_tfrecords
    >>> people = ray.data.from_items([{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}])
    >>> parts = write_tfrecords(people, "people", min_rows_per_file=100)
    >>> [part.n_records for part in parts], load("people/*.tfrecord")["age"]
    ([2], array([36, 41]))
    """
    form: Any = {"min_rows_per_file": min_rows_per_file, "lossless": lossless, "sidecar": sidecar}
    sink = TFRecordDatasink(path, mode=mode, **form, **options)
    ds.write_datasink(sink, concurrency=concurrency, ray_remote_args=dict(remote_args or {}))
    return sink.written


class TFRecordDatasink(_SinkBase):
    """Files of Examples as a sink of Ray Data; parameters as for :func:`write_tfrecords`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: str = "append",
        min_rows_per_file: int | None = None,
        lossless: bool = False,
        sidecar: bool = True,
        **options: Unpack[WriteOptions],
    ) -> None:
        if mode not in _MODES:
            raise argument_error(f"mode is {mode!r}, expected one of {', '.join(_MODES)}")
        engines.check_lossless(lossless=lossless, sidecar=sidecar)
        check_keywords(options, WriteOptions)
        self._mode = mode
        self._folder, self._files = engines.folder_to_write(path, options.get("storage_options"))
        optional_int("min_rows_per_file", min_rows_per_file, 1)
        self._min_rows = min_rows_per_file
        self._ending = part_ending(options.get("compression"))
        self._options: dict[str, Any] = {**options, "lossless": lossless, "sidecar": sidecar}
        self.written: list[WrittenPart] = []
        """The files, when all are complete."""
        self._id = uuid.uuid4().hex
        """The id of one write: a sink may write several data sets."""
        self._before: list[str] = []

    @property
    def min_rows_per_write(self) -> int | None:
        """Number of rows that Ray collects for a task."""
        return self._min_rows

    def get_name(self) -> str:
        """Return the name that Ray's progress and statistics show."""
        return "TFRecords"

    def on_write_start(self, schema: Any = None) -> None:
        """Look at what exists, on the driver."""
        # Ray may call this again.
        before = [name for name in self._files.names() if not name.startswith(self._id)]
        if before and self._mode == "error":
            way_out = "mode='append' or 'overwrite' writes all the same"
            raise engines.files_there_error(self._folder, way_out)
        self._before = before

    def write(self, blocks: Iterable[Any], ctx: Any) -> WrittenPart | None:
        """Write the blocks of a task, in a worker."""
        tables = [BlockAccessor.for_block(block).to_arrow() for block in blocks]
        tables = [_without_tensors(table) for table in tables if table.num_rows]
        if not tables:
            return None
        # Blocks may differ, such as in a column that has only nulls in one of them.
        whole = pa.concat_tables(tables, promote_options="permissive")
        name = f"{self._id}_{ctx.task_idx:06d}{self._ending}"
        return write_part(f"{self._folder}/{name}", [whole], **self._options)

    def on_write_complete(self, write_result: Any) -> None:
        """Remove the files that are replaced, on the driver."""
        written = [part for part in write_result.write_returns if part is not None]
        self.written = sorted(written, key=lambda part: part.path)
        engines.warn_of_parts(self._folder, written)
        self._remove_own(f".{self._id}_")  # which workers were writing when they were killed
        if self._mode == "overwrite":
            self._files.remove(self._before)
        self._id = uuid.uuid4().hex

    def on_write_failed(self, error: Exception) -> None:
        """Remove the files of the tasks, complete or not, on the driver."""
        self._remove_own(f".{self._id}_", self._id)
        self._id = uuid.uuid4().hex

    def _remove_own(self, *prefixes: str) -> None:
        names = self._files.names(hidden=True)
        self._files.remove([name for name in names if name.startswith(prefixes)])


_MODES = ("append", "overwrite", "error")


def _without_tensors(table: Any) -> Any:
    """Return a table with lists of fixed sizes in place of Ray's tensors."""
    kinds = get_arrow_extension_tensor_types()
    for i, field in enumerate(table.schema):
        if not isinstance(field.type, kinds):
            continue
        chunks = [chunk.to_numpy(zero_copy_only=False) for chunk in table.column(i).chunks]
        if len({chunk.shape[1:] for chunk in chunks}) != 1 or chunks[0].dtype == object:
            detail = "tensors of several shapes; make bytes of them with serialize_tensor, or lists"
            raise InvalidArgumentError(Reason.UNSUPPORTED, key=field.name, detail=detail)
        array = pa.array(np.concatenate(chunks).ravel())
        for size in reversed(chunks[0].shape[1:]):
            array = pa.FixedSizeListArray.from_arrays(array, size)
        table = table.set_column(i, field.name, array)
    return table
