"""DataFrames of pandas from record files and back, as the library's own ``read_parquet`` and ``to_parquet``.

::

    read_tfrecord    files as a DataFrame
    to_tfrecord      a DataFrame as a file, or shards
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.tables.table import scan
from tfrecord_lite.convert.dataframes.common import library
from tfrecord_lite.options import MAX_RECORD_BYTES
from tfrecord_lite.progress import check_progress
from tfrecord_lite.storage.saving import save

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources, StorageOptions
    from tfrecord_lite.options import OnError
    from tfrecord_lite.progress import Progress
    from tfrecord_lite.schema import FeatureLike, FeatureSpec, Schema, SequenceSchema

__all__ = ["read_tfrecord", "to_tfrecord"]


def read_tfrecord(
    paths: Sources,
    features: str | os.PathLike[str] | Mapping[str, FeatureLike] | SequenceSchema | None = None,
    columns: Sequence[str] | None = None,
    *,
    text: bool | Sequence[str] = False,
    sample: int | None = 10_000,
    batch_size: int | None = None,
    num_workers: int = 0,
    compression: CompressionType = "infer",
    on_error: OnError = "raise",
    max_errors: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_inflated_bytes: int | None = None,
    max_inflated_ratio: float | None = None,
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> Any:
    """Read files of Examples or SequenceExamples into a ``pandas.DataFrame``.

    Parameters
    ----------
    paths : str, PathLike, or a list of them
    features : path, mapping of str to feature specification, or SequenceSchema, optional
    columns : sequence of str, optional
    text, sample, batch_size, num_workers, compression, on_error, max_errors : optional
    max_record_bytes, max_inflated_bytes, max_inflated_ratio, storage_options : optional
        As for :func:`scan`.
    progress : bool or callable, optional
        As for :func:`load`; counts records.

    Returns
    -------
    pandas.DataFrame
        One that was saved comes back as it was: index, dtypes, time zones, categories. Of other data,
        integers and bools with missing values have pandas' nullable dtypes (``Int64``), so that no value changes;
        lists of any length are arrays.

    Raises
    ------
    ImportError
        If pandas or pyarrow is not installed (the extra ``dataframes``).
    FileNotFoundError, InvalidArgumentError, DataLossError
        As :func:`scan`, and as :func:`load` about records.

    See Also
    --------
    to_tfrecord : the way back.
    scan : a table of which a part is read, or batch by batch.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [36, 41, 37]}, index=pd.Index(["Ada", "Alan", "Grace"]))
    >>> schema = to_tfrecord(people, "people.tfrecord")
    >>> read_tfrecord("people.tfrecord")
           age
    Ada     36
    Alan    41
    Grace   37
    """
    library("pandas")  # before anything is read
    check_progress(progress)
    table = scan(
        paths,
        features,
        columns,
        text=text,
        sample=sample,
        batch_size=batch_size,
        num_workers=num_workers,
        compression=compression,
        on_error=on_error,
        max_errors=max_errors,
        max_record_bytes=max_record_bytes,
        max_inflated_bytes=max_inflated_bytes,
        max_inflated_ratio=max_inflated_ratio,
        storage_options=storage_options,
    )
    return table.to_pandas(progress=progress)


def to_tfrecord(
    frame: Any,
    path: str | os.PathLike[str],
    *,
    schema: Mapping[str, FeatureSpec] | None = None,
    num_shards: int | None = None,
    compression: CompressionType = "infer",
    progress: Progress = None,
    storage_options: StorageOptions = None,
) -> Schema:
    """Write a ``pandas.DataFrame`` to a TFRecord file, one Example per row.

    Parameters
    ----------
    frame : pandas.DataFrame
        With columns and levels of the index that are numbers, bools, texts, bytes, times, categories, or
        lists and arrays of them. An index other than the default one is stored as columns.
    path : str or PathLike
        The file; it appears complete or not at all, with a sidecar beside it, from which the
        frame comes back.
    schema, num_shards, compression, progress, storage_options : optional
        As for :func:`save`.

    Returns
    -------
    Schema
        The schema in the sidecar.

    Raises
    ------
    TypeError
        If this is not a DataFrame of pandas.
    InvalidArgumentError
        As :func:`save`, for a value or a type of column that cannot be stored.

    See Also
    --------
    read_tfrecord : the way back, with an example.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [36, 41, 37]}, index=pd.Index(["Ada", "Alan", "Grace"]))
    >>> schema = to_tfrecord(people, "people.tfrecord")
    >>> read_tfrecord("people.tfrecord").equals(people)
    True
    """
    if not isinstance(frame, library("pandas").DataFrame):
        kind = type(frame)
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}".removeprefix("builtins.")
        detail = f"expected a pandas.DataFrame, not {name}"
        raise TypeError(f"{detail}; save(path, data) takes other data")
    return save(
        path,
        frame,
        schema=schema,
        num_shards=num_shards,
        compression=compression,
        progress=progress,
        storage_options=storage_options,
    )
