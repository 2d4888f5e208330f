"""load_tfds: splits of a TensorFlow Datasets directory, and slices of them, as columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite.apps.tfds.info import Directory, parts_of
from tfrecord_lite.block import Block
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.extension import Library, StorageOptions
from tfrecord_lite.options import hinted
from tfrecord_lite.reader import TFRecordReader

Path = str | os.PathLike[str]


@hinted
def load_tfds(
    directory: Path,
    split: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    text: bool | Sequence[str] | None = None,
    as_: Library | None = None,
    storage_options: StorageOptions = None,
) -> Any:
    """Load a split that TensorFlow Datasets has written, or a part of it, without that package.

    Parameters
    ----------
    directory : str or PathLike
        As for :func:`tfds_info`.
    split : str
        ``"train"``; a slice by number ``"train[100:200]"``, percent ``"train[:10%]"``,
        ``"train[-5%:]"``, or shard ``"train[:2shard]"``; several joined by ``+``; ``"all"``.
        Percents, which may have a fraction, are rounded to the nearest record, as TensorFlow Datasets does.
        It must be given: without it, the error lists the splits.
    columns : sequence of str, optional
        The names of the features to load; the others are not parsed. One that cannot be read
        is an error only if it is asked for.
    text : bool or sequence of str, optional
        Whether the features that are Text in the ``features.json`` are str, or the names of those that are
        to be; by default they are bytes, but str in a data frame.
    as_ : {"pandas", "polars", "arrow"}, optional
        Return a data frame of this library instead of a dict, as :func:`load`.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    dict of str to column
        As :func:`load`, in the order of the files, with the original dtypes and shapes. Names of
        nested features are joined by ``/``. Images are the bytes of their files, and labels are
        numbers, whose names :func:`tfds_info` has. With `as_` a data frame.

    Raises
    ------
    FileNotFoundError
        If there is no ``dataset_info.json``, or a file of the split is missing.
    DataLossError
        If a file is damaged.
    InvalidArgumentError
        As :func:`tfds_info` and :func:`load`; ``BAD_ARGUMENT`` for an unknown split or one out of
        range or without records, and for a file name that leads out of the directory; ``UNSUPPORTED``
        for a feature that cannot be read; ``WRONG_COUNT`` if a file that was read to its end does not
        hold the number of records that the ``dataset_info.json`` says.
    TypeError
        If `split` is not a str; the text lists the splits.
    ImportError
        If the library of `as_` is not installed.

    Notes
    -----
    Only the files with records of the slice are opened. Records before it in a file are read but not
    parsed; records after it are not read. For batches, see :meth:`TfdsInfo.files` and
    :func:`read_batches`.

    Examples
    --------
    >>> import json, os
    >>> os.makedirs("people/1.0.0")  # a directory as TensorFlow Datasets writes it
    >>> _ = save("people/1.0.0/people-train.tfrecord-00000-of-00001", {"age": [36, 41, 37]})
    >>> splits = [{"name": "train", "shardLengths": ["3"]}]
    >>> with open("people/1.0.0/dataset_info.json", "w") as file:
    ...     json.dump({"name": "people", "version": "1.0.0", "splits": splits}, file)
    >>> load_tfds("people", "train[:67%]")
    {'age': array([36, 41])}
    """
    if as_ is not None:
        ext.check_library(as_)
    folder = Directory(directory, storage_options)
    lengths = {name: [count for _, count in files] for name, files in folder.splits.items()}
    parts = parts_of(split, lengths)
    features = folder.features()
    described = ext.Sidecar(features.schema, refused=features.refused)
    if text is True or (text is None and as_ is not None):
        text = [name for name in features.texts if columns is None or name in columns]
    if text:
        described = ext.with_text(described, text, list)
    return ext.Loader(described, columns, as_).whole(_blocks(folder, parts))


def _blocks(directory: Directory, parts: list[tuple[str, int, int]]) -> Iterator[Block]:
    """Yield the records of parts of splits; raise if a file holds another number than it should."""
    for name, first, end in parts:
        for file, length in directory.splits[name]:
            start, stop = max(first, 0), min(end, length)
            first, end = first - length, end - length  # noqa: PLW2901 - in the next file
            if start >= stop:
                continue
            n_seen = 0
            blocks: Any = TFRecordReader(file, storage_options=directory.options).blocks()
            with closing(blocks):
                for block in blocks:
                    part = block[max(start - n_seen, 0) : max(stop - n_seen, 0)]
                    n_seen += len(block)
                    if len(part):
                        yield part
                    if n_seen >= stop < length:
                        break
            if n_seen < stop or stop == length < n_seen:
                detail = f"the file holds {n_seen:,} records, but dataset_info.json says {length:,}"
                raise InvalidArgumentError(Reason.WRONG_COUNT, source=file, detail=detail)
