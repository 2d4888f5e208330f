"""tfds_info: a directory of TensorFlow Datasets, with its splits, files, schema and label names.

::

    dataset_info.json  ── formats/dataset_info ──> splits, files
    features.json      ── formats/tfds ──────────> schema
      or else its schema and the first records ──>
    *.labels.txt       ──────────────────────────> label names
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.files.input import open_input
from tfrecord_lite.files.names import check_storage_options, expand, is_url, name_of
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, RaggedFeature, Schema, Summary
from tfrecord_lite.storage.content import content_of
from tfrecord_lite.storage.formats import dataset_info, tfds
from tfrecord_lite.storage.formats.natural import Shape, specification
from tfrecord_lite.storage.infer import infer_schema, summarize

if TYPE_CHECKING:
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.schema import FeatureSpec
    from tfrecord_lite.storage.formats.dataset_info import DatasetInfo, Split

    Path = str | os.PathLike[str]

_FEATURES, _INFO, _LABELS = "features.json", "dataset_info.json", ".labels.txt"
_LOOKED_AT = 100
"""Number of records that show how a described feature is stored."""
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
        parts = dataset_info.parts_of(split, list(self._files))
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
    Releases before 4.0 wrote no ``features.json``. Then the schema is that of the
    ``dataset_info.json``, and the first records show how each feature is stored. If a feature
    is not described there, as nested ones are not, the schema is inferred from all records.

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
    check_storage_options(storage_options, directory)
    found = Directory(directory, storage_options)
    return TfdsInfo(
        found.path,
        found.info.name,
        found.info.config,
        found.info.version,
        {name: found.n_records(split) for name, split in found.info.splits.items()},
        schema := found.schema(),
        found.label_names(schema),
        {name: found.files_with_records(split) for name, split in found.info.splits.items()},
    )


class Directory:
    """A directory with a ``dataset_info.json``, whose parts are read when they are asked for."""

    def __init__(self, directory: Path, storage_options: StorageOptions) -> None:
        self.options: StorageOptions = storage_options
        self.path: str = _version_of(os.fspath(directory), storage_options)
        self.info: DatasetInfo = self._parsed(_INFO)
        self._counted: dict[str, tuple[int, ...]] = {}

    def _parsed(self, name: str) -> DatasetInfo:
        path = _join(self.path, name)
        try:
            return dataset_info.from_json(content_of(path, self.options))
        except InvalidArgumentError as error:
            raise error.at(source=path) from None

    def files(self, split: Split) -> list[str]:
        """Return the paths of a split's files."""
        return [_join(self.path, file) for file in split.files]

    def files_with_records(self, split: Split) -> list[str]:
        """Return the paths of a split's files, without those that are known to be empty."""
        files = self.files(split)
        return files if split.lengths is None else [*compress(files, split.lengths)]

    def n_records(self, split: Split) -> int:
        """Return the number of records of a split."""
        return sum(self.lengths(split)) if split.n_records is None else split.n_records

    def lengths(self, split: Split) -> tuple[int, ...]:
        """Return the number of records in each file; count them if it is not recorded."""
        if split.lengths is not None:
            return split.lengths
        if split.name not in self._counted:
            counted = tuple(self._count(file) for file in self.files(split))
            if split.n_records not in (None, sum(counted)):
                raise count_error(f"split {split.name!r}", sum(counted), split.n_records)
            self._counted[split.name] = counted
        return self._counted[split.name]

    def _count(self, file: str) -> int:
        reader = TFRecordReader(file, verify=False, storage_options=self.options)
        return sum(len(block) for block in reader.blocks())

    def schema(self) -> Schema:
        """Return how the records are parsed."""
        path = _join(self.path, _FEATURES)
        try:
            document = content_of(path, self.options)
        except FileNotFoundError:
            return self._schema_of_records()
        try:
            return tfds.from_json(document)
        except InvalidArgumentError as error:
            raise error.at(source=path) from None

    def _schema_of_records(self) -> Schema:
        """Return the schema of an older release, from what it decodes to and what is stored."""
        files = [
            file
            for split in self.info.splits.values()
            for file in self.files_with_records(split)
            if _is_there(file, self.options)
        ]
        if not files:
            return self._schema_without_records()
        # Damage is reported when the data are read, not before.
        reader = TFRecordReader(files, on_error=lambda _: None, storage_options=self.options)
        decoded = self.info.decoded
        kinds: dict[str, Kind] = {}
        stored = summarize(reader, max_records=_LOOKED_AT)
        if not isinstance(stored, Summary):
            detail = "the records are SequenceExamples, which TensorFlow Datasets does not write"
            raise InvalidArgumentError(Reason.UNSUPPORTED, source=files[0], detail=detail)
        for name, found in stored.items():
            kinds.update((name, kind) for kind in found.lists)
        items = {
            name: _stored(name, kinds[name], *described)
            for name, described in decoded.items()
            if described is not None and name in kinds
        }
        if items.keys() != kinds.keys() or items.keys() != decoded.keys():
            inferred = infer_schema(reader)
            rest = {name: (inferred[name], inferred.originals.get(name)) for name in inferred}
            items = rest | {name: items[name] for name in rest.keys() & items.keys()}
        return _schema_of(items)

    def _schema_without_records(self) -> Schema:
        """Return the schema that the description alone suggests; what looks like an image is one."""
        items: dict[str, tuple[FeatureSpec, Original | None]] = {}
        for name, found in self.info.decoded.items():
            if found is None:
                items = {}
                break
            word, shape = found
            kind = {"INT": Kind.INT64, "FLOAT": Kind.FLOAT, "BYTES": Kind.BYTES}[word]
            is_image = len(shape) == 3 and shape[2] in (1, 3, 4) and kind is Kind.INT64
            items[name] = _stored(name, Kind.BYTES if is_image else kind, word, shape)
        if not items:
            detail = (
                f"there is no {_FEATURES}, {_INFO} does not describe all features, and there are no "
                "data files to look at"
            )
            raise argument_error(detail, source=self.path)
        return _schema_of(items)

    def label_names(self, schema: Schema) -> dict[str, list[str]]:
        """Return the label names by the feature that they are of."""
        features = {name.translate(_DASHES): name for name in schema}
        named = {}
        for path in _matches(self.path, f"*{_LABELS}", self.options):
            stem = os.path.basename(path).removesuffix(_LABELS)  # noqa: PTH119 - may be a URL
            text = content_of(path, self.options).decode("utf-8", "replace")
            labels = [line.strip() for line in text.split("\n")]
            named[features.get(stem.translate(_DASHES), stem)] = [
                label for label in labels if label
            ]
        return named


def count_error(what: str, found: int, expected: int | None) -> InvalidArgumentError:
    """Return the error about files that hold another number of records than recorded."""
    detail = f"{what} holds {found:,} records, but {_INFO} says {expected:,}"
    return InvalidArgumentError(Reason.WRONG_COUNT, detail=detail)


def _schema_of(items: dict[str, tuple[FeatureSpec, Original | None]]) -> Schema:
    originals = {name: original for name, (_, original) in items.items() if original is not None}
    return Schema({name: spec for name, (spec, _) in items.items()}, originals)


def _stored(name: str, kind: Kind, word: str, shape: Shape) -> tuple[FeatureSpec, Original | None]:
    """Return the specification of a feature that is stored as one kind and decoded to a shape."""
    if kind is not Kind.BYTES or word == "BYTES":
        return specification(
            name, {Kind.INT64: "int64", Kind.FLOAT: "float32"}.get(kind, "string"), shape
        )
    # Numbers in strings: an image, or with one more dimension the frames of a video.
    if len(shape) < 4:
        return FixedLenFeature((), kind.dtype), None
    if shape[0] is not None:
        return FixedLenFeature(shape[:1], kind.dtype), None
    return RaggedFeature(kind.dtype, row_splits_dtype=np.int64), None


# ------------------------------------------------------------------------------ directories

_MOST_SHOWN = 8


def _version_of(directory: str, storage_options: StorageOptions) -> str:
    """Return the directory with the description: this one, or the only one below."""
    directory = directory.rstrip("/") or directory
    directory = directory if is_url(directory) else os.path.expanduser(directory)  # noqa: PTH111
    if os.path.basename(directory) == _INFO:  # noqa: PTH119 - may be a URL
        return os.path.dirname(directory)  # noqa: PTH120
    if _is_there(_join(directory, _INFO), storage_options):
        return directory
    for below in ("*", "*/*"):
        found = _matches(directory, f"{below}/{_INFO}", storage_options)
        folders = [os.path.dirname(path) for path in found]  # noqa: PTH120
        if len(folders) > 1:
            names = ", ".join(folder[len(directory) + 1 :] for folder in folders[:_MOST_SHOWN])
            more = ", ..." * (len(folders) > _MOST_SHOWN)
            detail = f"several data sets or versions are below, give one of {names}{more}"
            raise argument_error(detail, source=directory)
        if folders:
            return folders[0]
    if not is_url(directory) and not os.path.isdir(directory):  # noqa: PTH112
        raise FileNotFoundError(f"no directory {directory!r}")
    detail = f"no {_INFO} in {directory!r} or below; expected a directory of TensorFlow Datasets"
    raise FileNotFoundError(detail)


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _is_there(path: str, storage_options: StorageOptions) -> bool:
    try:
        open_input(path, storage_options).close()
    except FileNotFoundError:
        return False
    return True


def _matches(directory: str, pattern: str, storage_options: StorageOptions) -> list[str]:
    """Return the files of a directory that match a pattern, sorted."""
    if not is_url(directory):
        names = sorted(glob.glob(pattern, root_dir=directory or None))  # noqa: PTH207
        return [_join(directory, name) for name in names]
    try:
        return [name_of(found) for found in expand(_join(directory, pattern), storage_options)]
    except FileNotFoundError:
        return []
