"""save: columns or rows as a TFRecord file and its sidecar."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from tfrecord_lite import errors
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.store import stored, warn_of_rounding
from tfrecord_lite.convert.types import rows_of
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.frames import fitting_description, part_of
from tfrecord_lite.described.sidecar import SchemaLike, Sidecar
from tfrecord_lite.described.structure import Structure, flatten
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, errors_at
from tfrecord_lite.example.encode.columns import count_records, encode_column_batches
from tfrecord_lite.files import names as file_names
from tfrecord_lite.files.compression import TFRecordOptions, compression_to_write
from tfrecord_lite.files.names import SAVED, check_storage_options, is_same_file, name_of
from tfrecord_lite.files.output import remove
from tfrecord_lite.options import ReadSettings, WriteOptions, check_keywords
from tfrecord_lite.progress import Progress, check_progress, metered
from tfrecord_lite.saved import SavedData, schema_of_saved, write_columns
from tfrecord_lite.schema import Schema, SequenceSchema
from tfrecord_lite.storage.builder import SchemaBuilder, first_misfit, row_batches
from tfrecord_lite.storage.data_files import DataFiles, append, data_names, described_by_sidecar

_OTHER_FORMAT = re.compile(r"\.(parquet|feather|csv|json)l?(\.(gz|zst|bz2))?$")
"""Endings of files that nobody takes for TFRecords."""
_NO_FEATURES = b"\n\0"
"""An Example without features, as the encoder writes it."""
_Write = Callable[[DataFiles, SchemaBuilder], Sidecar]
_COLUMNS = (Mapping, tuple, np.ndarray, RaggedTensor, SparseTensor, BytesColumn)


def save(
    path: str | os.PathLike[str],
    data: Any,
    schema_path: str | os.PathLike[str] | None = None,
    *,
    schema: SchemaLike | None = None,
    lossless: bool = False,
    num_shards: int | None = None,
    format: Literal["tfrecord", "tf.data"] = "tfrecord",  # noqa: A002 - as pandas, and TensorFlow's file formats
    mode: Literal["w", "a"] = "w",
    progress: Progress = None,
    **options: Unpack[WriteOptions],
) -> Schema:
    r"""Save columns or rows to a TFRecord file, with a sidecar from which they are restored.

    Numbers are stored as every reader of Examples has them, float64 as float32; dtypes and shapes come back from the
    sidecar.

    Parameters
    ----------
    path : str or PathLike
        The file, which appears complete or not at all.
    data : dict, tuple, array, dataframe, or iterable of rows
        *Columns*: a dict of columns, as for :func:`~tfrecord_lite.encode_examples`, a tuple of columns, or a single
        ndarray, RaggedTensor, SparseTensor or BytesColumn. Dicts and tuples may be nested. Or a
        DataFrame of pandas or Polars, a Table or RecordBatch of pyarrow, which
        ``load(path, as_=...)`` returns as it was; or anything with ``__arrow_c_stream__`` or
        ``__arrow_c_array__``, which is written batch by batch if it is not in memory. The fields
        of structs are features such as ``point/x``.

        *Rows*: any other iterable, or a map-style data set such as torch's, with
        one dict, tuple or value per record, possibly nested. It is read once, and never held in memory. None is a
        missing value.
    schema_path : str or PathLike, optional
        The file for the sidecar, also of shards; by default `path` + ``.schema.json``.
    schema : Schema, dict of specifications, or path, optional
        How to store the data: what an earlier ``save``, :func:`schema_of` or :func:`load_schema` returned, or a
        schema file. By default the data decide, and for columns of Arrow data the schema in their metadata, if they
        still have its types.
    lossless : bool, default False
        True keeps every bit: float64, and arrays of 16 or more bools, int8 or uint8, are stored as bytes. By default
        float64 is rounded, with a warning if that changes a number; one beyond float32 is an error. A `schema` alone
        decides.
    num_shards : int, optional
        Write this many files, named as by :class:`ShardedTFRecordWriter`: `path` is
        ``"train@8.tfrecord"``, which needs no `num_shards`, a name with ``{shard}``, or a plain name:
        ``"train-00000-of-00008.tfrecord"``. Each has a sidecar with the one schema of all. Records
        are divided evenly, in order; rows without ``len`` wait in a temporary file.
    format : {"tfrecord", "tf.data"}, default "tfrecord"
        ``"tf.data"``: make `path` a folder that ``tf.data.Dataset.load`` of TensorFlow reads, and :func:`load`, without
        a sidecar or `schema`; `compression` is none, or GZIP or ZLIB, which TensorFlow must be given. Rows are all held
        in memory. Existing data are replaced, though their files stay.
    mode : {"w", "a"}, default "w"
        ``"a"``: append to a local file of ``save``, which is read through first, by the schema of its sidecar; or write
        it, if there is none. If the data do not fit, the file stays as before.
    progress : bool or callable, optional
        Show a progress bar; by default for work of more than a second, on a terminal or in a
        notebook, if tqdm is installed (the extra ``cli``). A callable is called with the number of
        records done, and their total or None, at most ten times a second, and the last time with
        both equal; what it raises ends the work, and no file appears.
    **options
        How files are written, see :class:`WriteOptions`.

    Returns
    -------
    Schema
        The schema in the sidecar.

    Raises
    ------
    InvalidArgumentError
        For a value that cannot be stored (``UNREPRESENTABLE``, ``UNSUPPORTED``) or does not
        fit the rows before it, or the `schema` (``WRONG_KIND``, ``WRONG_COUNT``, ``MISSING``,
        ``BAD_ARGUMENT``), with its `key` and `index`; for a `path` that does not go with other arguments, or is the
        name of shards and of a file. No file has appeared then.
    TypeError
        If the data are neither columns nor rows, or a key is not a str.

    Notes
    -----
    The first 1,024 rows (or 4 MB of them) decide how a column is stored; integers may come
    after floats, not before. The first dimension of an array may vary from row to row. A column
    of nothing but None, or of empty lists, is one of byte strings until a value comes. An empty list is a feature
    without values, None no feature.

    With a `schema`, a row may lack a feature, and None is a masked value if the schema's original
    says so, an empty row where lengths vary, and an error elsewhere. Floats are rounded to float32
    where the schema stores that; other values must fit as they are.

    Examples
    --------
    >>> save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    Schema of 2 features
    name  specification    dtype   shape  original
    ----  ---------------  ------  -----  -------------
    name  FixedLenFeature  string  []     string [] str
    age   FixedLenFeature  int64   []     int64 []
    >>> rows = ({"x": i / 4, "tags": ["odd"] * (i % 2)} for i in range(3))
    >>> _ = save("rows.tfrecord", rows)
    >>> load("rows.tfrecord")["tags"]
    <RaggedTensor [[], ['odd'], []]>
    """
    sidecar.check_path("path", path)
    check_progress(progress)
    name = name_of(path)
    _check_place(name, format, mode, num_shards, schema_path)
    if format == "tf.data":
        if (schema, schema_path, lossless) != (None, None, False):
            raise argument_error("a saved data set of tf.data has no schema, sidecar or rounding")
        check_keywords(options, WriteOptions)
        return save_elements(path, data, progress, num_shards=num_shards or 1, **options)
    names = data_names(name, num_shards)
    beside = [file_names.companion(name, file_names.SIDECAR_SUFFIX) for name in names]
    if schema_path is not None:
        sidecar.check_path("schema_path", schema_path)
    schema_paths = beside if schema_path is None else [name_of(schema_path)]
    check_keywords(options, WriteOptions)
    storage_options = options.get("storage_options")
    compression = options.get("compression", "infer")
    record_options = compression_to_write(path, compression)
    check_storage_options(storage_options, path, *schema_paths)
    target = None if schema_path is None else schema_paths[0]
    if target and any(is_same_file(name, target, storage_options) for name in names):
        raise argument_error("schema_path must be another file than the data", source=name)
    resolved = None if schema is None else sidecar.resolve_schema(schema, storage_options).schema
    if isinstance(resolved, SequenceSchema):
        raise argument_error("save writes Examples, and a SequenceSchema is for SequenceExamples")
    write = _writer_of(data)
    if mode == "a" and (own := _append(name, write, resolved, compression, progress)) is not None:
        return own
    builder = SchemaBuilder(resolved, lossless=lossless)
    with (
        metered(progress, name, "records") as meter,
        DataFiles(names, record_options, storage_options, meter) as files,
    ):
        files.open_through(0)
        with errors_at(source=name):
            written = write(files, builder)
        _finish(files, written, schema_paths)
    warn_of_rounding(name, builder.rounded)
    if builder.negative:
        negative = ", ".join(map(repr, builder.negative))
        text = f"{name}: uint64 from 2**63 on is stored as negative numbers in {negative}"
        warnings.warn(text, UserWarning, stacklevel=errors.levels_to_caller())
    for place in beside:
        if not any(is_same_file(place, own, storage_options) for own in schema_paths):
            remove(place, storage_options)
    return written.schema


def _check_place(
    name: str, format_name: str, mode: str, num_shards: int | None, schema_path: Any
) -> None:
    if other := _OTHER_FORMAT.search(name):
        detail = f"save writes TFRecords; {other[1]} is written by the to_{other[1]} of a data frame, or "
        detail += "by `tfrecord convert` from a TFRecord"
        raise argument_error(detail, source=name)
    if mode not in ("w", "a"):
        raise argument_error(f"mode is {mode!r}, expected 'w' or 'a'")
    is_beside = schema_path is None and not file_names.is_url(name)
    is_one = is_beside and data_names(name, num_shards) == [name]
    if mode == "a" and (format_name != "tfrecord" or not is_one):
        detail = "mode 'a' is for one local file with its sidecar beside it; give each part a file of its own"
        raise argument_error(detail, Reason.UNSUPPORTED, source=name)
    if format_name not in ("tfrecord", "tf.data"):
        raise argument_error(f"unknown format {format_name!r}, expected 'tfrecord' or 'tf.data'")


def _writer_of(data: Any) -> _Write:
    if isinstance(data, _COLUMNS) or arrow.is_frame(data) or arrow.is_series(data):
        return partial(_write_columns, data)
    rows = rows_of(data)
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes | np.generic):
        return partial(_write_rows, rows)
    hint = "; give its batches: pyarrow.RecordBatchReader.from_batches(schema, batches)"
    hint = hint if hasattr(rows, "iter_batches") else ""
    raise TypeError(f"data must be columns or rows, not {type(rows).__name__}{hint}")


def _append(
    name: str, write: _Write, schema: Schema | None, compression: Any, progress: Progress
) -> Schema | None:
    """Append to a file, and return its schema; None if there is no file."""
    if (described := described_by_sidecar(name)) is None:
        return None
    if schema is not None and schema != described.schema:
        detail = "the schema differs from the sidecar's, by which the file is read; omit it"
        raise argument_error(detail, source=name)
    builder = SchemaBuilder(described.schema)
    with metered(progress, name, "records") as meter:
        append(name, described, lambda files: write(files, builder), compression, meter)
    warn_of_rounding(name, builder.rounded)
    return described.schema


def _finish(files: DataFiles, written: Sidecar, schema_paths: list[str]) -> None:
    fingerprints: list[Any] = files.finish()
    if len(schema_paths) < len(fingerprints):
        fingerprints = [None]
    for i, (place, fingerprint) in enumerate(zip(schema_paths, fingerprints, strict=True)):
        frame = written.dataframe
        if len(schema_paths) > 1 and frame is not None:
            frame = part_of(frame, files.rows_of(i))
        files.add_sidecar(place, written._replace(fingerprint=fingerprint, dataframe=frame))
    files.commit()


def save_elements(
    path: str | os.PathLike[str],
    data: Any,
    progress: Progress = None,
    *,
    num_shards: int = 1,
    shard_sizes: Mapping[int, int] | None = None,
    **options: Unpack[WriteOptions],
) -> Schema:
    """Write a folder of ``tf.data.Dataset.save``, in equal shards, or shards of these numbers."""
    folder, storage_options = name_of(path).rstrip("/"), options.get("storage_options")
    check_storage_options(storage_options, path)
    compression = TFRecordOptions.get_compression_type_string(options.get("compression") or "")
    structure, columns = elements_of(data)
    with metered(progress, folder, "records") as meter, errors_at(source=folder):
        own: dict[str, Any] = {"compression": compression, "storage_options": storage_options}
        own |= {
            "num_shards": errors.require_int("num_shards", num_shards, 1),
            "wrote": meter.advance,
        }
        write_columns(folder, structure, columns, shard_sizes=shard_sizes, **own)
    written = SavedData(f"{folder}/{SAVED}", storage_options)
    return schema_of_saved(written, ReadSettings(storage_options=storage_options))


def elements_of(data: Any) -> tuple[Structure, dict[str, Any]]:
    """Return the structure and the columns of data."""
    if arrow.is_frame(data) or arrow.is_stream(data):
        frame = dict(arrow.open_columns(data).columns)
        return {name: name for name in frame}, frame
    if isinstance(data, _COLUMNS) or arrow.is_series(data):
        return flatten(data)
    structure: Structure = {}
    rows: dict[str, list[Any]] = {}
    for number, row in enumerate(rows_of(data)):
        own, leaves = flatten(row)
        if number and own != structure:
            raise argument_error("the rows must all be nested alike").at(index=number)
        structure = own
        for name, value in leaves.items():
            rows.setdefault(name, []).append(value)
    return structure, dict(rows)


def _write_columns(data: Any, files: DataFiles, builder: SchemaBuilder) -> Sidecar:
    if arrow.is_stream(data):
        with contextlib.closing(arrow.open_frames(data)) as frames:
            return _write_frames(files, frames, builder)
    structure, columns = (None, data) if arrow.is_frame(data) else flatten(data)
    written = _write_frames(files, [arrow.open_columns(columns)], builder)
    return written if structure is None else written._replace(structure=builder.nested(structure))


def _write_frames(
    files: DataFiles, frames: Iterable[arrow.Frame], builder: SchemaBuilder
) -> Sidecar:
    """Write columns batch by batch; the columns of a list are one frame."""
    described: arrow.Description | None = None
    first = 0
    for frame in frames:
        described = None if frame.described is None else frame.described()
        with errors_at(index=first.__add__):
            columns, schema = builder.add_frame(frame)
            known = frame.columns | columns
            n_rows = frame.n_rows or (count_records(known.items()) if known else 0)
            if isinstance(frames, list):
                files.n_records = n_rows
            _put_columns(files, columns, schema, n_rows, builder.rounded)
        first += n_rows
    if builder.given_schema is not None:
        described = fitting_description(described, builder.given_schema, builder.originals)
    return Sidecar(builder.schema, None, dataframe=described)


def _write_rows(rows: Iterable[Any], files: DataFiles, builder: SchemaBuilder) -> Sidecar:
    if isinstance(rows, Sized):
        with contextlib.suppress(TypeError):  # a data set may not know its length
            files.n_records = len(rows)
    first = 0
    for batch in row_batches(rows):
        if arrow.is_frame(batch[0]):
            detail = f"a {type(batch[0]).__name__} in place of a row; give the tables as one stream"
            detail += ": pyarrow.RecordBatchReader.from_batches(schema, batches)"
            raise argument_error(detail).at(index=first)
        columns, schema = builder.add_rows(batch)
        with errors_at(index=first.__add__):
            try:
                _put_columns(files, columns, schema, len(batch), builder.rounded)
            except InvalidArgumentError as error:
                key = error.key
                if key is None or key not in columns or builder.given_schema is None:
                    raise
                encode = partial(_encode_alone, key, builder.given_schema.select([key]))
                number, cause = first_misfit(columns[key], encode, error)
                raise cause.at(index=number) from None
        first += len(batch)
    return Sidecar(builder.schema, builder.structure)


def _encode_alone(name: str, schema: Schema, values: list[Any]) -> None:
    stored({name: values}, schema)


def _put_columns(
    files: DataFiles, columns: Mapping[str, Any], schema: Schema, n_rows: int, rounded: Any
) -> None:
    if not columns:
        files.put([_NO_FEATURES] * n_rows)
    for block in encode_column_batches(columns, schema, rounded) if columns else ():
        files.put(block)
