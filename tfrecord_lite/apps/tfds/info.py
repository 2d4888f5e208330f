"""tfds_info: a directory of TensorFlow Datasets, with its splits, files, schema and label names.

::

    dataset_info.json  ── splits ─────────> splits, files
    features.json      ── load_schema ────> schema; without it infer_schema, from the records
    *.labels.txt       ───────────────────> label names
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfrecord_lite.apps.tfds import splits
from tfrecord_lite.apps.tfds.splits import Split
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.names import StorageOptions, check_storage_options
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.schema import Schema
from tfrecord_lite.shown import repr_html
from tfrecord_lite.storage import sidecar
from tfrecord_lite.storage.infer import infer_schema

if TYPE_CHECKING:
    Path = str | os.PathLike[str]

_LABELS = ".labels.txt"
_DASHES = str.maketrans("/.", "--")


@dataclass(frozen=True)
class TfdsInfo:
    """A directory of TensorFlow Datasets, as :func:`tfds_info` describes it.

    Attributes
    ----------
    directory : str
        The directory with the ``dataset_info.json``.
    name : str
    config, version : str or None
    splits : dict of str to int
        Number of records of each split.
    schema : Schema
        How to parse the records, with their original dtypes and shapes.
    label_names : dict of str to list of str
        Of each feature that is a ClassLabel, the names of the labels 0, 1, ...

    Examples
    --------
    >>> import json, os
    >>> os.makedirs("people/1.0.0")  # a directory as TensorFlow Datasets writes it
    >>> _ = save("people/1.0.0/people-train.tfrecord-00000-of-00001", {"age": [36, 41, 37]})
    >>> splits = [{"name": "train", "shardLengths": ["3"]}]
    >>> with open("people/1.0.0/dataset_info.json", "w") as file:
    ...     json.dump({"name": "people", "version": "1.0.0", "splits": splits}, file)
    >>> info = tfds_info("people")
    >>> info.name, info.version, list(info.schema)
    ('people', '1.0.0', ['age'])
    """

    directory: str
    name: str
    config: str | None
    version: str | None
    splits: dict[str, int]
    schema: Schema
    label_names: dict[str, list[str]]
    _files: dict[str, list[str]] = field(repr=False)

    _repr_html_ = repr_html

    def files(self, split: str) -> list[str]:
        """Return the paths of the files that store a split, for any reader of this library.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if there is no such split.

        Examples
        --------
        >>> import json, os
        >>> os.makedirs("people/1.0.0")  # a directory as TensorFlow Datasets writes it
        >>> _ = save("people/1.0.0/people-train.tfrecord-00000-of-00001", {"age": [36, 41, 37]})
        >>> splits = [{"name": "train", "shardLengths": ["3"]}]
        >>> with open("people/1.0.0/dataset_info.json", "w") as file:
        ...     json.dump({"name": "people", "version": "1.0.0", "splits": splits}, file)
        >>> [len(list(TFRecordReader(path))) for path in tfds_info("people").files("train")]
        [3]
        """
        parts = splits.parts_of(split, list(self._files))
        if not all(part.is_whole for part in parts):
            raise argument_error(
                f"{split!r} is a slice, but files hold whole splits; use load_tfds"
            )
        return [file for part in parts for file in self._files[part.split]]


def tfds_info(directory: Path, *, storage_options: StorageOptions = None) -> TfdsInfo:
    """Describe a directory that TensorFlow Datasets has written, without that package.

    Parameters
    ----------
    directory : str or PathLike
        The directory with the ``dataset_info.json``, or one above it if there is only one
        version and configuration below. A path or URL.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    TfdsInfo

    Raises
    ------
    FileNotFoundError
        If no ``dataset_info.json`` is there.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if there are several data sets below the directory, or a file of its
        description is damaged; ``UNSUPPORTED`` if the data are not in TFRecord files, or a
        feature cannot be read.

    Notes
    -----
    Releases before 4.0 wrote no ``features.json``. Then the schema is inferred from all records.

    Examples
    --------
    >>> import json, os
    >>> os.makedirs("people/1.0.0")  # a directory as TensorFlow Datasets writes it
    >>> _ = save("people/1.0.0/people-train.tfrecord-00000-of-00001", {"age": [36, 41, 37]})
    >>> splits = [{"name": "train", "shardLengths": ["3"]}]
    >>> with open("people/1.0.0/dataset_info.json", "w") as file:
    ...     json.dump({"name": "people", "version": "1.0.0", "splits": splits}, file)
    >>> tfds_info("people").splits
    {'train': 3}
    """
    found = Directory(directory, storage_options)
    info, schema = found.info, found.schema()
    return TfdsInfo(
        found.path,
        info.name,
        info.config,
        info.version,
        {
            name: sum(found.lengths(split)) if split.n_records is None else split.n_records
            for name, split in info.splits.items()
        },
        schema,
        found.label_names(schema),
        {name: split.files_with_records() for name, split in info.splits.items()},
    )


class Directory:
    """A directory with a ``dataset_info.json``, whose parts are read when they are asked for."""

    def __init__(self, directory: Path, storage_options: StorageOptions) -> None:
        check_storage_options(storage_options, directory)
        self.options: StorageOptions = storage_options
        self.path: str = sidecar.tfds_directory(directory, storage_options)
        self._folder = f"{self.path}/" if self.path else ""
        place = f"{self._folder}dataset_info.json"
        try:
            document = sidecar.content_of(place, storage_options)
            self.info: splits.DatasetInfo = splits.from_json(document, self._folder)
        except InvalidArgumentError as error:
            raise error.at(source=place) from None

    def lengths(self, split: Split) -> tuple[int, ...]:
        """Return the number of records in each file; count them if it is not recorded."""
        if split.lengths is not None:
            return split.lengths
        counts = []
        for file in split.files:
            reader = TFRecordReader(file, verify=False, storage_options=self.options)
            counts.append(sum(map(len, reader.blocks())))
        if split.n_records not in (None, sum(counts)):
            raise count_error(f"split {split.name!r}", sum(counts), split.n_records)
        return tuple(counts)

    def schema(self) -> Any:
        """Return how the records are parsed."""
        try:
            return sidecar.read(f"{self._folder}features.json", self.options).schema
        except FileNotFoundError:
            pass
        there = [
            file
            for split in self.info.splits.values()
            for file in split.files_with_records()
            if sidecar.is_there(file, self.options)
        ]
        if not there:
            detail = "there is no features.json, and there are no data files to look at"
            raise argument_error(detail, source=self.path)
        # Damage is reported when the data are read, not before.
        reader = TFRecordReader(there, on_error=lambda _: None, storage_options=self.options)
        return infer_schema(reader)

    def label_names(self, schema: Schema) -> dict[str, list[str]]:
        """Return the label names by the feature that they are of."""
        features = {name.translate(_DASHES): name for name in schema}
        named = {}
        for path in sidecar.matches(self.path, f"*{_LABELS}", self.options):
            stem = os.path.basename(path).removesuffix(_LABELS)  # noqa: PTH119 - may be a URL
            text = sidecar.content_of(path, self.options).decode("utf-8", "replace")
            labels = [line.strip() for line in text.split("\n")]
            named[features.get(stem.translate(_DASHES), stem)] = [*filter(None, labels)]
        return named


def count_error(what: str, found: int, expected: int | None) -> InvalidArgumentError:
    """Return the error about files that hold another number of records than recorded."""
    detail = f"{what} holds {found:,} records, but dataset_info.json says {expected:,}"
    return InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)
