"""save: columns or rows as a TFRecord file and its sidecar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.convert.dataframes import (
    describe_frame,
    is_frame,
    is_series,
    num_rows,
    open_columns,
    with_traits,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, argument_error
from tfrecord_lite.files.compression import compression_to_write
from tfrecord_lite.files.names import SIDECAR_SUFFIX, check_storage_options, is_same_file, name_of
from tfrecord_lite.files.output import open_output, remove
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.given import GivenSchema
from tfrecord_lite.storage.sidecar import FingerprintingFile, Sidecar
from tfrecord_lite.storage.stream_schema import StreamSchema, check_originals, row_batches
from tfrecord_lite.storage.structure import completed, flatten
from tfrecord_lite.writer import TFRecordWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.files.output import OutputFile
    from tfrecord_lite.schema import FeatureSpec

_COLUMNS = (Mapping, tuple, np.ndarray, RaggedTensor, SparseTensor, BytesColumn)


def save(
    path: str | os.PathLike[str],
    data: Any,
    schema_path: str | os.PathLike[str] | None = None,
    *,
    schema: Mapping[str, FeatureSpec] | None = None,
    compression: CompressionType = "infer",
    storage_options: StorageOptions = None,
) -> Schema:
    r"""Save columns or rows to a TFRecord file, with a sidecar from which they are restored.

    Parameters
    ----------
    path : str or PathLike
        The file for the Examples. It appears complete or not at all.
    data : dict, tuple, array, dataframe, or iterable of rows
        *Columns*: a dict of columns, each with one value per record, as for
        :func:`~tfrecord_lite.encode_examples`; a tuple of columns; or a single ndarray,
        RaggedTensor, SparseTensor or BytesColumn. Dicts and tuples may be nested. Or a
        DataFrame of pandas or polars, or a Table of pyarrow.

        *Rows*: any other iterable (a list, a generator) with one dict, tuple or value per
        record, possibly nested. It is read once, and never held in memory. A value may be a
        number, a string, an array or a list; None is a missing value.
    schema_path : str or PathLike, optional
        The file for the sidecar; by default `path` + ``.schema.json``. If it is another, a
        sidecar that older data left under the default name is removed.
    schema : Schema, or mapping of str to feature specification, optional
        How to store the data, such as what an earlier ``save``, :func:`schema_of` or
        :func:`load_schema` returned. Files that are saved with one schema load as the same types,
        whatever each of them holds. By default the data decide.
    compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordWriter`: by default the ending of the name decides.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    Schema
        The schema in the sidecar.

    Raises
    ------
    InvalidArgumentError
        For a value that cannot be stored (``UNREPRESENTABLE``, ``UNSUPPORTED``) or does not
        fit the rows before it, or the `schema` (``WRONG_KIND``, ``WRONG_COUNT``, ``MISSING``,
        ``BAD_ARGUMENT``), with the column
        in `key` and the number of the record in `index`; ``BAD_ARGUMENT`` if `schema_path` is
        the data file. No file has appeared then.
    OSError
        As Python's ``open`` and ``write``.
    TypeError
        If the data are neither columns nor rows, or a key is not a str.

    Notes
    -----
    float64 and complex numbers are stored as their bytes, all integers and bools as int64
    lists, float16 as float32; strings as they are, in UTF-8. See :func:`schema_of`. Byte
    order is not kept.

    The sidecar appears first, with a fingerprint of its data: their size, and a checksum of the
    first 64 KiB. If a crash in between leaves older data beside it, :func:`load` raises an error
    instead of reading them by the wrong schema.

    The first 1,024 rows (or 4 MB of them) decide how a column is stored; integers may come
    after floats, not before. The first dimension of an array may vary from row to row. A column
    of nothing but None, or of empty lists, is one of byte strings until a value comes.

    With a `schema`, a row may lack a feature, and None is a masked value if the schema's original
    says so, an empty row where lengths vary, and an error elsewhere. Python's floats are rounded to
    float32 if that is the schema's dtype; arrays must fit as they are.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
    >>> save(path, ({"x": i / 10, "tags": ["odd"] * (i % 2)} for i in range(3)))
    Schema of 2 features
    name  specification    dtype   shape  original
    ----  ---------------  ------  -----  --------------
    x     FixedLenFeature  string  []     float64 []
    tags  RaggedFeature    string         string [?] str
    >>> columns = load(path)
    >>> columns["x"], columns["tags"]
    (array([0. , 0.1, 0.2]), <RaggedTensor [[], [odd], []]>)
    """
    sidecar.check_path("path", path)
    beside = f"{name_of(path)}{SIDECAR_SUFFIX}"
    schema_path = beside if schema_path is None else schema_path
    sidecar.check_path("schema_path", schema_path)
    options = compression_to_write(path, compression)
    check_storage_options(storage_options, path, schema_path)
    if is_same_file(name_of(path), name_of(schema_path), storage_options):
        detail = "schema_path must be another file than the data"
        raise argument_error(detail, source=name_of(path))
    given = None if schema is None else Schema(schema)
    if given is not None:
        check_originals(given)
    are_columns = isinstance(data, _COLUMNS) or is_frame(data) or is_series(data)
    if not are_columns and (
        isinstance(data, str | bytes | np.generic) or not isinstance(data, Iterable)
    ):
        raise TypeError(f"data must be columns or rows, not {type(data).__name__}")
    file = open_output(path, atomic=True, storage_options=storage_options)
    try:
        target: Any = FingerprintingFile(file)
        with TFRecordWriter(target, options) as writer:
            try:
                write = _write_columns if are_columns else _write_rows
                written = _named(write, writer, data, given, name_of(path))
            except BaseException:
                target.abandon()
                raise
        file.finish()
        written = written._replace(fingerprint=target.fingerprint)
        described = sidecar.write(schema_path, written, storage_options)
        try:
            _commit(file, described)
        except BaseException:
            described.abandon()
            raise
    except BaseException:
        file.abandon()
        raise
    if not is_same_file(beside, name_of(schema_path), storage_options):
        remove(beside, storage_options)
    return written.schema


def _commit(data: OutputFile, described: OutputFile) -> None:
    """Let both files appear, the sidecar first.

    Beside other data a sidecar is rejected, while our data without it would be read as byte
    strings.
    """
    is_new = not described.replaces(described.name)
    try:
        described.commit()
        data.commit()
    except BaseException:
        # The data may be in place already when an interrupt comes; then both stay.
        if is_new and not data.is_placed:
            described.take_back()
        raise


def _named(
    write: Callable[..., Sidecar],
    writer: TFRecordWriter,
    data: Any,
    given: Schema | None,
    name: str,
) -> Sidecar:
    """Write the data; errors about them name the file."""
    try:
        return write(writer, data, given)
    except InvalidArgumentError as error:
        raise error.at(source=name) from None


def _write_columns(writer: TFRecordWriter, data: Any, given: Schema | None) -> Sidecar:
    described = describe_frame(data)
    structure, columns = flatten(data) if described is None else (None, data)
    columns, traits = open_columns(columns)
    if given is None:
        made = {name: normalize(name, column, "strict") for name, column in columns.items()}
        schema = with_traits(schema_of(made), traits)
    else:
        made, schema = GivenSchema(given).add_columns(columns), given
        structure = None if structure is None else completed(structure, given)
    if made:
        writer.write_examples(made, schema)
    else:  # no columns, or nothing but None in them
        first = next(iter(columns.values()), ())
        for _ in range(len(first) if described is None else num_rows(data)):
            writer.write(b"")
    return Sidecar(schema, structure, dataframe=described)


def _write_rows(writer: TFRecordWriter, rows: Iterable[Any], given: Schema | None) -> Sidecar:
    stream = StreamSchema() if given is None else GivenSchema(given)
    n_rows = 0
    for batch in row_batches(rows):
        columns, schema = stream.add(batch)
        if columns:
            try:
                writer.write_examples(columns, schema)
            except InvalidArgumentError as error:
                index = None if error.index is None else n_rows + error.index
                raise error.at(index=index) from None
        else:  # nothing but None and empty lists
            for _ in batch:
                writer.write(b"")
        n_rows += len(batch)
    structure = stream.structure
    return Sidecar(stream.schema, {} if structure is None else structure)
