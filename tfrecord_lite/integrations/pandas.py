"""DataFrames of pandas from record files and back, as the library's own ``read_parquet`` and ``to_parquet``.

::

    read_tfrecord    files as a DataFrame
    to_tfrecord      a DataFrame as a file, or shards
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from tfrecord_lite.convert.dataframes.common import library
from tfrecord_lite.storage.saving import save
from tfrecord_lite.tables.table import scan

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources, StorageOptions
    from tfrecord_lite.integrations.polars import ScanOptions
    from tfrecord_lite.records.progress import Progress
    from tfrecord_lite.schema import FeatureLike, FeatureSpec, Schema, SequenceSchema

    class SaveOptions(TypedDict, total=False):
        """The options that are handed on to ``save``."""

        schema: Mapping[str, FeatureSpec] | None
        num_shards: int | None
        compression: CompressionType
        progress: Progress
        storage_options: StorageOptions


__all__ = ["read_tfrecord", "to_tfrecord"]


def read_tfrecord(
    paths: Sources,
    features: str | os.PathLike[str] | Mapping[str, FeatureLike] | SequenceSchema | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[ScanOptions],
) -> Any:
    """Read files of Examples or SequenceExamples into a ``pandas.DataFrame``.

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
    >>> import os, tempfile
    >>> import pandas as pd
    >>> path = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
    >>> frame = pd.DataFrame({"label": [3, 7]}, index=pd.Index(["a", "b"], name="key"))
    >>> schema = to_tfrecord(frame, path)
    >>> read_tfrecord(path).loc["b", "label"].item()
    7
    """
    library("pandas")  # before anything is read
    return scan(paths, features, columns, **options).to_pandas()


def to_tfrecord(frame: Any, path: str | os.PathLike[str], **options: Unpack[SaveOptions]) -> Schema:
    """Write a ``pandas.DataFrame`` to a TFRecord file, one Example per row.

    Parameters
    ----------
    frame : pandas.DataFrame
        With columns and levels of the index that are numbers, bools, texts, bytes, times, categories, or
        lists and arrays of them. An index other than the default one is stored as columns.
    path : str or PathLike
        The file; it appears complete or not at all, with a sidecar beside it, from which the
        frame comes back.
    **options
        As for :func:`save`: `schema`, `num_shards`, `compression`, `progress`, `storage_options`.

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
    """
    if not isinstance(frame, library("pandas").DataFrame):
        kind = type(frame)
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}".removeprefix("builtins.")
        detail = f"expected a pandas.DataFrame, not {name}"
        raise TypeError(f"{detail}; save(path, data) takes other data")
    return save(path, frame, **options)
