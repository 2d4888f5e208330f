"""Directories of TensorFlow Datasets: what they hold, and their splits, or slices of them, as columns."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import Any

from tfrecord_lite import extension as ext
from tfrecord_lite import infer_schema
from tfrecord_lite.block import Block
from tfrecord_lite.described import sidecar
from tfrecord_lite.described.formats import tfds
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, errors_at
from tfrecord_lite.extension import Library, Source, StorageOptions
from tfrecord_lite.options import hinted
from tfrecord_lite.reader import TFRecordReader
from tfrecord_lite.schema import Schema
from tfrecord_lite.texts import abridged, listed, nearest, plural, repr_html

__all__ = ["TfdsInfo", "load_tfds", "tfds_info"]

Path = str | os.PathLike[str]

_OF_FOLDER = "name", "config", "version", "supervised_keys"
_OF_FEATURES = "schema", "num_classes", "bbox_formats", "texts"
_LABELS = ".labels.txt"
_TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_FIELD = re.compile(r"\{(DATASET|SPLIT|FILEFORMAT|SHARD_INDEX|NUM_SHARDS|SHARD_X_OF_Y)\}")
_FILE_NAME = re.compile(r"(?!\.{1,2}$)[^/\\{}\0]+")
_DASHES = str.maketrans("/.", "--")


@hinted
@dataclass(frozen=True)
class TfdsInfo:
    """A directory of TensorFlow Datasets, as :func:`tfds_info` describes it.

    Attributes
    ----------
    directory : str
        The directory with the ``dataset_info.json``.
    name, config, version : str or None
    splits : dict of str to int
        Number of records of each split.
    schema : Schema
        How to parse the records, with their original dtypes and shapes.
    label_names, num_classes : dict of str to list of str, and to int
        The names of the labels 0, 1, ... and their number, for each feature that is a ClassLabel.
    bbox_formats : dict of str to str
        For each feature that is a BBoxFeature, the declared format: ``"REL_YXYX"``. What is
        stored is always ymin, xmin, ymax, xmax as they were given.
    supervised_keys : nested tuples and dicts of str, or None
        The features that are input and target, as ``as_supervised`` of TensorFlow Datasets yields them.
    texts : list of str
        The features that are Text, which :func:`load_tfds` can return as str.
    refused : dict of str to str
        The features that cannot be read, and are not in `schema`, each with the reason.

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
    name: str | None
    config: str | None
    version: str | None
    splits: dict[str, int]
    schema: Schema
    label_names: dict[str, list[str]]
    num_classes: dict[str, int]
    bbox_formats: dict[str, str]
    supervised_keys: Any
    texts: list[str]
    refused: dict[str, str]
    _files: dict[str, list[str]] = field(repr=False)

    def __repr__(self) -> str:
        """Return all members on one line, without the middle of long ones."""
        members = {f.name: repr(getattr(self, f.name)) for f in fields(self) if f.repr}
        members["schema"] = f"<Schema of {listed(self.schema, 'feature')}>"
        return f"TfdsInfo({', '.join(f'{name}={abridged(text, 800)}' for name, text in members.items())})"

    _repr_html_ = repr_html

    def files(self, split: str) -> list[str]:
        """Return the paths of the files that store a split; InvalidArgumentError (``BAD_ARGUMENT``) for another name.

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
        parts = parts_of(split, {name: [count] for name, count in self.splits.items()})
        if any((start, stop) != (0, self.splits[name]) for name, start, stop in parts):
            detail = f"{split!r} is a slice, but files hold whole splits; use load_tfds"
            raise argument_error(detail)
        return [file for name, _, _ in parts for file in self._files[name]]


@hinted
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
        Its schema is inferred from all records if there is no ``features.json``, as before release 4.0.

    Raises
    ------
    FileNotFoundError
        If there is no ``dataset_info.json``.
    InvalidArgumentError
        ``BAD_ARGUMENT`` if there are several data sets below the directory, or a file of its
        description is damaged or names a file elsewhere; ``UNSUPPORTED`` if the data are not in
        TFRecord files, or no feature can be read.

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
    folder = Directory(directory, storage_options)
    features = folder.features()
    return TfdsInfo(
        directory=folder.path,
        splits={name: sum(n for _, n in files) for name, files in folder.splits.items()},
        label_names=folder.label_names(features.schema),
        **{name: getattr(folder, name) for name in _OF_FOLDER},
        **{name: getattr(features, name) for name in _OF_FEATURES},
        refused={name: str(error.detail) for name, error in features.refused.items()},
        _files={name: [path for path, n in files if n] for name, files in folder.splits.items()},
    )


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
        The features to load; the others are not parsed. One that cannot be read is an error only if it
        is named here.
    text : bool or sequence of str, optional
        Whether the features that are Text in the ``features.json`` are str, or the names of those that are
        to be; by default they are bytes, but str in a data frame.
    as_ : {"pandas", "polars", "arrow"}, optional
        Return a data frame of this library, as :func:`load`.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    dict of str to column, or a data frame
        As :func:`load`, in the order of the files, with the original dtypes and shapes. Names of
        nested features are joined by ``/``. Images are the bytes of their files, and labels are
        numbers, whose names :func:`tfds_info` has.

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
    parsed; records after it are not read.

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


def files_of(name: str, storage_options: StorageOptions = None) -> list[Source]:
    """List the files of a name as readers do; for such a directory, those of all splits, then other data files."""
    try:
        return ext.expand(name, storage_options)
    except IsADirectoryError:
        places = ext.expand(name, storage_options, folders="keep")
    if len(places) > 1:
        return [file for place in places for file in files_of(ext.name_of(place), storage_options)]
    folder = Directory(ext.name_of(places[0]), storage_options)
    counts = {file: count for files in folder.splits.values() for file, count in files}
    others = filter(ext.is_data, ext.listing(folder.path, storage_options).files)
    names = [file for file, count in counts.items() if count]
    return [*names, *(file for file in others if file not in counts)]


class Directory:
    """A directory with a ``dataset_info.json``."""

    def __init__(self, directory: Path, storage_options: StorageOptions) -> None:
        ext.check_storage_options(storage_options, directory)
        self.options: StorageOptions = storage_options
        self.path: str = sidecar.tfds_directory(directory, storage_options)
        self._folder = f"{self.path}/" if self.path else ""
        place = f"{self._folder}dataset_info.json"
        with errors_at(source=place):
            self._read(sidecar.content_of(place, storage_options))

    def _read(self, document: bytes) -> None:
        try:
            fields: Any = json.loads(document)
        except ValueError as error:
            raise argument_error(f"not valid JSON ({type(error).__name__})") from None
        is_named = isinstance(fields, dict) and isinstance(fields.get("name"), str | None)
        if not is_named or not {"name", "splits"} & fields.keys():
            detail = "not a dataset_info.json, which has the name of a data set, or its splits"
            raise argument_error(detail)
        file_format = fields.get("fileFormat") or "tfrecord"
        if file_format != "tfrecord":
            detail = f"the data files are {file_format!r}, expected tfrecord"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        self.name: str | None = fields.get("name") or None
        self.config: str | None = fields.get("configName") or None
        self.version: str | None = fields.get("version") or None
        self.supervised_keys: Any = _keys_of(fields.get("supervisedKeys"))
        self.splits: dict[str, list[tuple[str, int]]] = {}
        """The files of each split, each with the number of its records."""
        try:
            for item in fields.get("splits") or []:
                self.splits[item["name"]] = self._files_of(item)
        except InvalidArgumentError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError):
            detail = "the splits of this dataset_info.json are damaged, or from before 2020"
            raise argument_error(detail) from None

    def _files_of(self, item: dict[str, Any]) -> list[tuple[str, int]]:
        """Return the files of a split; JSON has their numbers of records as strings."""
        # The oldest releases have "numShards" instead.
        lengths = item["shardLengths"] if "numShards" in item else item.get("shardLengths") or []
        template = item.get("filepathTemplate") or _TEMPLATE
        width = max(len(str(len(lengths))), 5)
        n_shards = f"{len(lengths):0{width}}"
        files = []
        for number, length in enumerate(lengths):
            index = f"{number:0{width}}"
            words = {"DATASET": self.name, "SPLIT": item["name"], "FILEFORMAT": "tfrecord"}
            words |= {"SHARD_INDEX": index, "NUM_SHARDS": n_shards}
            words["SHARD_X_OF_Y"] = f"{index}-of-{n_shards}"
            if self.name is None and "{DATASET}" in template:
                raise argument_error("this dataset_info.json names no data set, for {DATASET}")
            # Literally: in a format, {SPLIT.x} would be an attribute.
            name = _FIELD.sub(lambda field, words=words: words[field[1]], template)
            if not _FILE_NAME.fullmatch(name) or os.path.basename(name) != name:  # noqa: PTH119
                detail = f"the filepathTemplate {template!r} makes {name!r}, which is not the "
                raise argument_error(f"{detail}name of a file in this folder")
            files.append((self._folder + name, int(length)))
        return files

    def features(self) -> tfds.Features:
        """Return what is known of the features: how the records are parsed."""
        place = f"{self._folder}features.json"
        try:
            with errors_at(source=place):
                return tfds.from_json(sidecar.content_of(place, self.options))
        except FileNotFoundError:
            return tfds.Features(infer_schema(self._whole()), {}, [], {}, {})

    def _whole(self) -> TFRecordReader:
        counts = {path: count for files in self.splits.values() for path, count in files}
        paths = [path for path, n in counts.items() if n and sidecar.is_there(path, self.options)]
        if not paths:
            detail = "there is no features.json, and there are no data files to look at"
            raise argument_error(detail, source=self.path)
        # Damage is reported when the data are read, not before.
        return TFRecordReader(paths, on_error=lambda _: None, storage_options=self.options)

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


def _keys_of(document: Any) -> Any:
    """Return supervised keys as nested tuples and dicts of names; None for what is neither."""
    match document:
        case {"input": str() as key, "output": str() as target}:  # of the oldest releases
            return key, target
        case {"tuple": {"items": [*items]}}:
            return tuple(map(_keys_of, items))
        case {"dict": {"dict": dict() as items}}:
            return {name: _keys_of(item) for name, item in items.items()}
        case {"featureKey": str() as key}:
            return key
    return None


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


# ------------------------------------------------------------------------ parts of splits

_PART = re.compile(r"(?P<split>[\w.\-]+)(\[(?P<ends>[^\[\]]*)\])?")
_END = re.compile(r"(?P<number>-?(\d[\d_]*|(\d+\.\d*|\.\d+)(?=%)))(?P<unit>%|shard)?", re.ASCII)


def parts_of(split: object, lengths: Mapping[str, Sequence[int]]) -> list[tuple[str, int, int]]:
    """Return the splits that an expression such as ``train[:75%]+test`` names, each with its first record and the end.

    `lengths` are the numbers of records in the files of each split.
    """
    choices = "; there are " + ", ".join(map(repr, lengths))
    if not isinstance(split, str):
        raise TypeError(f"split must be a str, not {type(split).__name__}{choices}")
    parts: list[tuple[str, int, int]] = []
    for text in map(str.strip, split.split("+")):
        match = _PART.fullmatch(text)
        if match is None:
            raise _syntax_error(text)
        name, ends = match["split"], match["ends"]
        if name == "all" and name not in lengths:
            if ends is not None:
                raise argument_error("'all' cannot be sliced; slice each split")
            parts += [(name, 0, sum(counts)) for name, counts in lengths.items()]
        elif name not in lengths:
            raise argument_error(f"no split {name!r}{nearest(name, list(lengths)) or choices}")
        elif ends is None:
            parts.append((name, 0, sum(lengths[name])))
        else:
            parts.append((name, *_slice(text, name, ends, lengths[name])))
    return parts


def _slice(text: str, name: str, ends: str, lengths: Sequence[int]) -> tuple[int, int]:
    """Return the first record and the end of a slice."""
    bounds = ends.split(":")
    matches = [_END.fullmatch(end) for end in bounds]
    digits = [match and match["number"] for match in matches]
    numbers: list[Any] = [n and (float if "." in n else int)(n) for n in digits]
    units = {match["unit"] or "" for match in matches if match}
    if len(units) > 1:
        raise argument_error(f"both ends of {text!r} must be in the same unit")
    if len(bounds) == 1 and units == {"shard"}:
        numbers.append(((numbers[0] or 0) + 1) or None)
    if len(numbers) != 2 or [*map(bool, bounds)] != [*map(bool, matches)]:
        raise _syntax_error(text)
    start, stop = numbers
    total = sum(lengths)
    if units == {"%"}:
        if any(abs(number or 0) > 100 for number in numbers):
            raise argument_error(f"the percents of {text!r} must be between -100 and 100")
        start, stop = (bound and round(bound * total / 100) for bound in (start, stop))
    elif units == {"shard"}:
        start, stop = sum(lengths[: start or 0]), sum(lengths[:stop])
    start, stop = start or 0, total if stop is None else stop
    has = f"{name!r} has {plural(total, 'record')}"
    if max(abs(start), abs(stop)) > total:
        raise argument_error(f"{text!r} is out of range: {has}")
    start, stop = start + total * (start < 0), stop + total * (stop < 0)
    if start >= stop:
        raise argument_error(f"{text!r} has no records: {has}")
    return start, stop


def _syntax_error(text: str) -> InvalidArgumentError:
    known = "'train', 'train[:10%]', 'train[100:200]', 'train[-5%:]', 'train[0shard]', 'train+test'"
    return argument_error(f"{text!r} is not a split; expected such as {known} or 'all'")
