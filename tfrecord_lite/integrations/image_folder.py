"""Folders of images to TFRecord files, and back: pack_images and unpack_images.

::

    folder or manifest ─image_list─> Pictures ──threads: read, check──> rows ──save──> shards, sidecars
    records ──decode_examples──> contents ──> FOLDER/class/name, manifest

A record has the features of TensorFlow's scripts for ImageNet and slim; ``image/encoded`` is the
file's content as it is. All files of a call appear together, or none does.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.dataset.random_order import permutation, seed_of
from tfrecord_lite.errors import (
    InvalidArgumentError,
    Reason,
    argument_error,
    plural,
    require_int,
)
from tfrecord_lite.example.to_dicts import decode_examples
from tfrecord_lite.files.names import expand, is_url, name_of
from tfrecord_lite.files.output import open_output
from tfrecord_lite.files.remote import remote_place
from tfrecord_lite.integrations.image import image_info, require_pillow
from tfrecord_lite.integrations.image_list import (
    DERIVED_KEYS,
    ENDINGS,
    FILENAME_KEY,
    IMAGE_ENDINGS,
    LABEL_KEY,
    TEXT_KEY,
    ImageProblem,
    find_images,
    number_classes,
    read_labels,
    read_manifest,
    sniff,
)
from tfrecord_lite.reader import reader_with
from tfrecord_lite.records.options import ReadOptions
from tfrecord_lite.records.progress import check_progress, reporting
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage import save
from tfrecord_lite.storage.data_files import data_names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Sources, StorageOptions
    from tfrecord_lite.integrations.image import ImageInfo
    from tfrecord_lite.integrations.image_list import ImageList, Picture
    from tfrecord_lite.records.damage import DamageReport
    from tfrecord_lite.records.progress import Progress, Report

__all__ = ["ImageProblem", "ImageReport", "pack_images", "unpack_images"]

LABELS_NAME = "labels.txt"
_MAX_BYTES = 2**31 - 2**20
"""No Example of 2 GB or more can be read."""


@dataclass(frozen=True)
class ImageReport:
    """What :func:`pack_images` or :func:`unpack_images` has done."""

    num_images: int
    """Images that were written."""
    num_bytes: int
    """Bytes of these images."""
    classes: list[str]
    """Names of their classes; :func:`pack_images` has them in the order of their numbers."""
    paths: list[str]
    """The files of records, or the folder of images, that were written; empty if nothing was."""
    labels_path: str | None
    """The file with the names of the classes, or the manifest."""
    problems: list[ImageProblem]
    """Images, or records, that were left out, each with its `path` and `detail`."""
    num_hidden: int = 0
    """Hidden files and folders in the folder of images."""
    num_other: int = 0
    """Files in the folder of images that are not images by their names."""
    left_out: list[str] = field(default_factory=list)
    """Features that the manifest cannot hold."""
    damage: DamageReport | None = None
    """Of :func:`unpack_images` with ``on_error="skip"``: damaged places in the files of records."""
    seconds: float = 0.0
    """How long it took."""

    def __repr__(self) -> str:
        """Count images, classes and problems."""
        parts = [plural(self.num_images, "image"), plural(len(self.classes), "class", "classes")]
        if self.problems:
            parts.append(plural(len(self.problems), "problem"))
        return f"<ImageReport: {', '.join(parts)}>"


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """The keywords of :func:`pack_images`."""

    labels: str | os.PathLike[str] | Sequence[str] | None = None
    label_offset: int = 0
    path_column: str | None = None
    label_column: str | None = None
    columns: Sequence[str] | None = None
    root: str | os.PathLike[str] | None = None
    check: bool = True
    shuffle: bool = True
    seed: int = 0
    num_shards: int | None = None
    bytes_per_shard: int | None = None
    compression: CompressionType = "infer"
    num_threads: int | None = None
    is_strict: bool = True
    overwrite: bool = False
    progress: Progress = False
    storage_options: StorageOptions = None

    def __post_init__(self) -> None:
        """Check numbers."""
        require_int("label_offset", self.label_offset)
        require_int("seed", self.seed)
        for name in ("num_shards", "bytes_per_shard", "num_threads"):
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), 1)
        if self.num_shards is not None and self.bytes_per_shard is not None:
            raise argument_error("give num_shards or bytes_per_shard, not both")
        check_progress(self.progress)

    @property
    def threads(self) -> int:
        """How many images to check at a time."""
        return (os.cpu_count() or 1) if self.num_threads is None else self.num_threads


def pack_images(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | Sequence[str] | None = None,
    label_offset: int = 0,
    path_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    check: bool = True,
    shuffle: bool = True,
    seed: int = 0,
    num_shards: int | None = None,
    bytes_per_shard: int | None = None,
    compression: CompressionType = "infer",
    num_threads: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    overwrite: bool = False,
    progress: Progress = False,
    storage_options: StorageOptions = None,
) -> ImageReport:
    """Pack a folder of images, or those that a manifest lists, into TFRecord files.

    Parameters
    ----------
    source : str or PathLike
        A folder with a folder of images for each class, at any depth, or with images only, which
        then have no class. Links are followed. Or a *manifest*: a ``.csv``, ``.tsv``,
        ``.parquet`` or ``.jsonl`` file with a row per image.
    path : str or PathLike
        The file to write, or shards (``"train@8.tfrecord"``), as for :func:`save`.
    labels : str, PathLike or sequence of str, optional
        The names of the classes in the order of their numbers, or a file with one per line;
        by default all names that are found, sorted.
    label_offset : int, default 0
        What is added to each label; 1 leaves 0 to the background, as scripts for ImageNet do.
    path_column, label_column : str, optional
        The manifest's columns of paths and labels; by default the first with a usual name (path,
        file, filename, image, ...; label, class, category, ...). Labels are texts, the names of
        classes, or integers, which are kept.
    columns : sequence of str, optional
        The manifest's other columns to store as features of their names; by default all. Those
        called ``image/class/label`` and ``image/filename`` replace these features.
    root : str or PathLike, optional
        The folder that the manifest's paths are relative to; by default that of the manifest.
    check : bool, default True
        Decode each image. False reads the headers only.
    shuffle : bool, default True
        Shuffle the images; False keeps them sorted by class and name, or as in the manifest.
    seed : int, default 0
        One seed gives one order, on every machine.
    num_shards : int, optional
        As for :func:`save`. Images go to shards in turn.
    bytes_per_shard : int, optional
        About how large a shard is; chooses the number of shards.
    compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordWriter`: by default the ending of the name decides.
    num_threads : int, optional
        Images to read and check at a time; by default one per processor. The files are the same.
    on_error : {"raise", "skip"}, optional
        What to do about images that are damaged, empty, cannot be read or are not images: raise
        an error and write nothing, or leave them out and list them in the report.
    overwrite : bool, default False
        Replace files that exist.
    progress : bool or callable, optional
        As for :func:`save`; counts images.
    storage_options : dict, optional
        Options for fsspec, which opens a URL given as `path`.

    Returns
    -------
    ImageReport
        Numbers of images, bytes and classes, the files, and what was left out.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` with ``on_error="raise"`` about the first of the images that cannot be
        packed, or if none can; ``BAD_ARGUMENT`` for a manifest or a labels file that does not
        fit, if no image is found, and as :func:`save`.
    FileExistsError
        If a file would be replaced, without `overwrite`; also a labels file with other names.
    OSError
        If `source` cannot be read, or the files cannot be written.
    ImportError
        If Pillow is not installed (the extra ``image``), or pyarrow for Parquet.

    Notes
    -----
    The features are ``image/encoded`` (the file's content), ``image/format`` (``jpeg``, ``png``,
    ``gif``, ``bmp`` or ``webp``, by the content), ``image/height``, ``image/width``,
    ``image/channels``, ``image/colorspace`` (``RGB`` or ``grayscale``), ``image/filename`` (the
    path in the folder of its class; of a manifest's path the last part), ``image/class/label`` (int64) and
    ``image/class/text``. A sidecar with the schema is beside each file, and ``labels.txt`` with
    the names of the classes, one per line, beside them all.

    Memory holds a few images at a time. Hidden files, and files with names that are not those
    of images, are counted.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("cat", "dog"):
    ...     os.makedirs(os.path.join(folder, "pets", name))
    ...     with open(os.path.join(folder, "pets", name, "one.png"), "wb") as file:
    ...         _ = file.write(encode_image(np.zeros((4, 6), np.uint8)))
    >>> pack_images(os.path.join(folder, "pets"), os.path.join(folder, "pets.tfrecord"))
    <ImageReport: 2 images, 2 classes>
    >>> columns = load(os.path.join(folder, "pets.tfrecord"))
    >>> sorted(zip(columns["image/class/label"].tolist(), columns["image/class/text"].tolist()))
    [(0, 'cat'), (1, 'dog')]
    """
    if on_error not in ("raise", "skip"):
        raise argument_error(f"on_error is {on_error!r}, expected 'raise' or 'skip'")
    options = PackOptions(
        labels=labels,
        label_offset=label_offset,
        path_column=path_column,
        label_column=label_column,
        columns=columns,
        root=root,
        check=check,
        shuffle=shuffle,
        seed=seed,
        num_shards=num_shards,
        bytes_per_shard=bytes_per_shard,
        compression=compression,
        num_threads=num_threads,
        is_strict=on_error == "raise",
        overwrite=overwrite,
        progress=progress,
        storage_options=storage_options,
    )
    report = pack(source, path, options)
    if not report.paths:
        first = report.problems[0]
        n_bad = plural(len(report.problems), "image")
        how = "; on_error='skip' leaves them out" if report.num_images else ""
        detail = f"{first.detail} ({n_bad} cannot be packed, and nothing was written{how})"
        raise InvalidArgumentError(Reason.MALFORMED, source=first.path, detail=detail)
    return report


def pack(
    source: str | os.PathLike[str], path: str | os.PathLike[str], options: PackOptions
) -> ImageReport:
    """Pack images; if some cannot be, and that is not accepted, write nothing and report them."""
    start = time.monotonic()
    require_pillow()
    source, target = os.fspath(source), os.fspath(path)
    images = _list_images(source, options)
    names = _names_of_labels(options.labels)
    pictures, classes = number_classes(images.pictures, names, options.label_offset)
    if not pictures and not images.problems:
        found = f"{images.num_other:,} of other kinds" if images.num_other else "none"
        raise argument_error(f"no image was found; files: {found}", source=source)
    if options.shuffle:
        order = permutation((seed_of(options.seed),), len(pictures))
        pictures = [pictures[i] for i in order.tolist()]
    n_shards = options.num_shards
    if options.bytes_per_shard is not None:
        n_shards = max(1, -(-_total_bytes(pictures) // options.bytes_per_shard))
    paths = data_names(target, n_shards)
    folder = os.path.dirname(target)
    if folder and not is_url(target) and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    _check_free(paths, options)
    packing = _Packing(images, options)
    labels_path = os.path.join(folder, LABELS_NAME) if classes else None
    try:
        with (
            _labels_file(labels_path, classes, options),
            reporting(options.progress, source) as report,
        ):
            save(
                target,
                packing.rows(pictures, report),
                schema=packing.schema(pictures),
                num_shards=n_shards,
                compression=options.compression,
                storage_options=options.storage_options,
            )
    except _NothingWrittenError:
        paths, labels_path = [], None
    return ImageReport(
        packing.n_images,
        packing.n_bytes,
        classes,
        paths,
        labels_path,
        sorted(images.problems),
        images.num_hidden,
        images.num_other,
        seconds=time.monotonic() - start,
    )


def _list_images(source: str, options: PackOptions) -> ImageList:
    if os.path.isdir(source):
        return find_images(source)
    return read_manifest(
        source,
        path_column=options.path_column,
        label_column=options.label_column,
        columns=options.columns,
        root=options.root,
    )


def _names_of_labels(labels: str | os.PathLike[str] | Sequence[str] | None) -> list[str] | None:
    if isinstance(labels, str | os.PathLike):
        return read_labels(labels)
    names = None if labels is None else list(labels)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise TypeError("labels must be the path of a file, or a sequence of str")
    if names is not None and len(set(names)) < len(names):
        raise argument_error("two of the labels are the same")
    return names


def _total_bytes(pictures: Iterable[Picture]) -> int:
    total = 0
    for picture in pictures:
        with contextlib.suppress(OSError):  # which is reported when it is read
            total += os.stat(picture.path).st_size
    return total


def _check_free(paths: Iterable[str], options: PackOptions) -> None:
    """Raise FileExistsError if a file would be replaced."""
    for path in () if options.overwrite else paths:
        if is_url(path):
            filesystem, place = remote_place(path, options.storage_options)
            is_taken = bool(filesystem.exists(place))
        else:
            is_taken = os.path.lexists(path)
        if is_taken:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


@contextlib.contextmanager
def _labels_file(path: str | None, classes: list[str], options: PackOptions) -> Iterator[None]:
    """Write the names of the classes, and let the file appear when the block has ended well."""
    if path is None or _lists(path, classes):
        yield
        return
    try:
        _check_free([path], options)
    except FileExistsError as error:
        detail = (
            f"{error.strerror}, and lists other classes; give it as labels to number them alike"
        )
        raise FileExistsError(errno.EEXIST, detail, path) from None
    with contextlib.ExitStack() as stack:
        file = open_output(path, atomic=True, storage_options=options.storage_options)
        stack.callback(file.abandon)
        file.write(["".join(f"{name}\n" for name in classes).encode()])
        file.finish()
        yield
        file.commit()


def _lists(path: str, classes: list[str]) -> bool:
    """Whether a labels file is there, and lists these classes."""
    with contextlib.suppress(OSError, ValueError):
        return read_labels(path) == classes
    return False


class _NothingWrittenError(Exception):
    """Ends `save` before anything appears, as images cannot be packed."""


class _Packing:
    """The rows of one call, and what is known when they have been written."""

    def __init__(self, images: ImageList, options: PackOptions) -> None:
        self._images = images
        self._options = options
        self.n_images = 0
        self.n_bytes = 0

    def schema(self, pictures: Sequence[Picture]) -> Schema:
        """Return the schema of all rows."""
        one = np.zeros(1, np.int64)
        columns: dict[str, Any] = {"image/encoded": [b""], "image/format": [""]}
        columns |= {f"image/{name}": one for name in ("height", "width", "channels")}
        columns |= {"image/colorspace": [""], FILENAME_KEY: [""]}
        if any(picture.number is not None for picture in pictures):
            columns[LABEL_KEY] = one
        if any(picture.text is not None for picture in pictures):
            columns[TEXT_KEY] = [""]
        own, more = schema_of(columns), self._images.schema
        if more is None:
            return own
        return Schema({**own, **more}, {**own.originals, **more.originals})

    def rows(self, pictures: Sequence[Picture], report: Report) -> Iterator[dict[str, Any]]:
        """Yield the features of each image that can be packed."""
        total = len(pictures)
        is_checked = self._options.check
        read = _in_order(
            lambda picture: _read(picture.path, is_checked=is_checked),
            pictures,
            self._options.threads,
        )
        with closing(read):
            for done, (picture, found) in enumerate(zip(pictures, read, strict=True), 1):
                if isinstance(found, str):
                    self._images.leave_out(picture.path, found)
                else:
                    yield self._row(picture, *found)
                report(done, total)
        if not self.n_images or (self._options.is_strict and self._images.problems):
            raise _NothingWrittenError

    def _row(self, picture: Picture, content: bytes, info: ImageInfo) -> dict[str, Any]:
        self.n_images += 1
        self.n_bytes += len(content)
        row: dict[str, Any] = {
            "image/encoded": content,
            "image/format": info.format,
            "image/height": info.height,
            "image/width": info.width,
            "image/channels": info.channels,
            "image/colorspace": "RGB" if info.channels > 2 else "grayscale",
            FILENAME_KEY: picture.filename,
        }
        if picture.number is not None:
            row[LABEL_KEY] = picture.number
        if picture.text is not None:
            row[TEXT_KEY] = picture.text
        return row | {name: values[picture.row] for name, values in self._images.columns.items()}


def _read(path: str, *, is_checked: bool) -> tuple[bytes, ImageInfo] | str:
    """Return a file's content and what its header says; or why it cannot be packed."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # to open a pipe would wait for ever
            return "not a file"
        if not 0 < status.st_size <= _MAX_BYTES:
            return "larger than a record can be (2 GB)" if status.st_size else "the file is empty"
        with open(path, "rb") as file:
            content = file.read()
        return content, image_info(content, is_checked=is_checked)
    except OSError as error:
        return error.strerror or str(error)
    except InvalidArgumentError as error:
        return error.detail or str(error)


def _in_order(
    work: Callable[[Picture], Any], items: Iterable[Picture], num_threads: int
) -> Generator[Any]:
    """Yield the results of `work` in the order of the items; a few are made ahead by threads."""
    if num_threads == 1:
        yield from map(work, items)
        return
    # Reading files, and nearly all of Pillow's decoding, lets other threads run.
    with ThreadPoolExecutor(num_threads, thread_name_prefix="tfrecord-images") as pool:
        waiting: deque[Any] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


# -------------------------------------------------------------------------------- unpack


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Names of features; None for the usual ones."""

    image: str | None = None
    format: str | None = None
    filename: str | None = None
    label: str | None = None
    text: str | None = None


_USUAL = {
    "format": ("image/format", "format"),
    "filename": (FILENAME_KEY, "filename", "file_name", "image/source_id", "image_name"),
    "label": (LABEL_KEY, "label", "class", "image/label"),
    "text": (TEXT_KEY, "class_name", "label_name", "class/text"),
}


def unpack_images(
    paths: Sources,
    folder: str | os.PathLike[str],
    *,
    image_key: str | None = None,
    format_key: str | None = None,
    filename_key: str | None = None,
    label_key: str | None = None,
    text_key: str | None = None,
    manifest: str = "manifest.csv",
    compression: CompressionType = "infer",
    on_error: Literal["raise", "skip"] = "raise",
    progress: Progress = False,
    storage_options: StorageOptions = None,
) -> ImageReport:
    """Unpack the images of TFRecord files into a folder, with a folder for each class.

    Parameters
    ----------
    paths : str, PathLike, binary file object, or an iterable of them
        As for :class:`TFRecordReader`.
    folder : str or PathLike
        The folder to make; it must not exist, or be empty. It appears complete or not at all.
    image_key, format_key, filename_key, label_key, text_key : str, optional
        The features with the image, its format, its file's name, the number and the name of its
        class. By default those of :func:`pack_images`, or others with a usual name; the image is
        else the one feature whose bytes begin as an image does.
    manifest : str, default "manifest.csv"
        Name of a file in `folder` that lists the images, which :func:`pack_images` reads:
        ``.csv`` with all features that have one value, or ``.jsonl`` with lists too.
    compression : str, int, TFRecordOptions or None, optional
        As for :class:`TFRecordReader`.
    on_error : {"raise", "skip"}, optional
        What to do about damaged records, and records without an image.
    progress : bool or callable, optional
        As for :func:`save`.
    storage_options : dict, optional
        Options for fsspec, which opens URLs.

    Returns
    -------
    ImageReport
        Numbers of images and bytes, the classes' names, the folder and the manifest, and what was left out.

    Raises
    ------
    InvalidArgumentError
        ``MISSING`` with ``on_error="raise"`` about a record without an image, and if there is
        none at all; ``MALFORMED`` for a record that is not an Example; ``BAD_ARGUMENT`` for
        another kind of manifest.
    DataLossError
        With ``on_error="raise"`` about a damaged record.
    OSError
        If `folder` is not empty or cannot be written, or a file cannot be read.

    Notes
    -----
    Nothing is written outside of `folder`, whatever the records say. A name with ``..``, or an
    absolute one, is cut to its last part; of two equal names the second gets a number. Names
    that Windows reserves begin with an underscore. A name without an image's ending gets that
    of the format; without a name, it is the record's number. Contents are not changed or checked.

    Packing the manifest without a shuffle writes the same features again, except for those that
    are neither numbers nor text (`left_out` in the report).

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pets.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     row = image_row(np.zeros((4, 6), np.uint8), label=3)
    ...     writer.write_example(row)
    >>> folder = path.replace(".tfrecord", "")
    >>> unpack_images(path, folder)
    <ImageReport: 1 image, 1 class>
    >>> sorted(os.listdir(folder)), os.listdir(os.path.join(folder, "3"))
    (['3', 'manifest.csv'], ['00000000.png'])
    """
    if on_error not in ("raise", "skip"):
        raise argument_error(f"on_error is {on_error!r}, expected 'raise' or 'skip'")
    options = ReadOptions(compression, on_error=on_error, storage_options=storage_options)
    keys = Keys(
        image=image_key, format=format_key, filename=filename_key, label=label_key, text=text_key
    )
    return unpack(paths, folder, keys, options, manifest=manifest, progress=progress)


def unpack(
    paths: Sources,
    folder: str | os.PathLike[str],
    keys: Keys,
    options: ReadOptions,
    *,
    manifest: str,
    progress: Progress,
) -> ImageReport:
    """Unpack images, with all options for reading."""
    start = time.monotonic()
    check_progress(progress)
    if not manifest.endswith((".csv", ".jsonl")) or {*manifest} & {"/", "\\"}:
        detail = f"manifest is {manifest!r}, expected the name of a .csv or .jsonl file"
        raise argument_error(detail)
    reader = reader_with(expand(paths, options.storage_options), options)
    place = Path(os.path.abspath(folder))
    with _new_folder(place) as temporary, contextlib.ExitStack() as stack:
        lines = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
        unpacking = _Unpacking(temporary, keys, manifest, lines)
        report = stack.enter_context(reporting(progress, place.name))
        n_records = 0
        with closing(reader.blocks()) as blocks:  # type: ignore[type-var]
            for block in blocks:
                for i, row in enumerate(decode_examples(block)):
                    problem = unpacking.add(row, n_records + i)
                    if problem is not None:
                        unpacking.leave_out(block.place(i), problem)
                    if options.on_error == "raise" and unpacking.n_images:
                        unpacking.raise_first()
                n_records += len(block)
                if options.on_error == "raise" and unpacking.problems:
                    break
                report(n_records, None)
        report(n_records, n_records)
        if not unpacking.n_images:
            unpacking.raise_empty(reader.sources, n_records)
        left_out = unpacking.write_manifest()
    return ImageReport(
        unpacking.n_images,
        unpacking.n_bytes,
        sorted(unpacking.classes),
        [os.fspath(folder)],
        os.path.join(folder, manifest),
        unpacking.problems,
        left_out=left_out,
        damage=reader.report,
        seconds=time.monotonic() - start,
    )


@contextlib.contextmanager
def _new_folder(place: Path) -> Iterator[Path]:
    """Make a folder under a temporary name, and move it to its place when the block has ended well."""
    if os.path.lexists(place) and not place.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(place))
    if place.is_dir() and any(place.iterdir()):
        detail = "the folder is not empty; name another one"
        raise OSError(errno.ENOTEMPTY, detail, os.fspath(place))
    temporary = place.parent / f".{place.name}.{os.urandom(4).hex()}.tmp"
    try:
        temporary.mkdir()
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(place)) from None
    try:
        yield temporary
        if place.is_dir():
            place.rmdir()
        temporary.rename(place)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


class _Unpacking:
    """The images of one call, and the rows of its manifest."""

    def __init__(self, folder: Path, keys: Keys, manifest: str, lines: IO[str]) -> None:
        self._folder = folder
        self._keys = keys
        self._manifest = manifest
        self._lines = lines
        self._columns: dict[str, None] = {}
        self._left_out: dict[str, None] = {}
        self._numbers: dict[str, int] = {}  # the last number that was added to a name
        self._seen: tuple[str, ...] = ()
        self.n_images = 0
        self.n_bytes = 0
        self.classes: set[str] = set()
        self.problems: list[ImageProblem] = []
        self._first: InvalidArgumentError | None = None  # about the first of them

    def add(self, row: dict[str, Any], number: int) -> str | None:
        """Write the image of a record; return why there is none."""
        self._seen = self._seen or tuple(row)
        image_key = self._keys.image or _image_key(row)
        content = _scalar(row.get(image_key))
        if not isinstance(content, bytes):
            given = row.get(image_key)
            what = "is missing" if given is None else "is not one byte string"
            return f"the feature {image_key!r} {what}"
        keys = {name: self._key(name, row) for name in _USUAL}
        values = {name: _plain(_scalar(row.get(key or ""))) for name, key in keys.items()}
        ending = _ending(content, values["format"])
        if ending is None:
            return f"the feature {image_key!r} is not an image of a known format"
        text = next(
            (values[name] for name in ("text", "label") if isinstance(values[name], str)), None
        )
        label = values["label"] if isinstance(values["label"], int) else None
        folder = text if text is not None else "" if label is None else str(label)
        filename = values["filename"] if isinstance(values["filename"], str) else ""
        parts = [
            *([folder] if folder or text is not None else []),
            *_parts(filename or f"{number:08d}"),
        ]
        path = self._write(_with_ending(parts, ending), content)
        self.n_images += 1
        self.n_bytes += len(content)
        described: dict[str, Any] = {"path": path}
        if folder or text is not None:
            self.classes.add(folder)
            described["label"] = label if text is None else text
        if text is not None and label is not None:
            described[LABEL_KEY] = label
        if filename:
            described[FILENAME_KEY] = filename
        used = {image_key, *keys.values()} | (DERIVED_KEYS if image_key in DERIVED_KEYS else set())
        self._describe(described, {name: v for name, v in row.items() if name not in used})
        return None

    def _key(self, name: str, row: dict[str, Any]) -> str | None:
        given: str | None = getattr(self._keys, name)
        return given or next((key for key in _USUAL[name] if key in row), None)

    def _describe(self, described: dict[str, Any], others: dict[str, Any]) -> None:
        """Add a row to the manifest."""
        for name, values in others.items():
            value = [_plain(value) for value in values.tolist()]
            is_told = not any(isinstance(item, bytes) for item in value)
            is_told &= name not in described and (len(value) == 1 or self._manifest.endswith("l"))
            if is_told:
                described[name] = value[0] if len(value) == 1 else value
            elif value:
                self._left_out[name] = None
        self._columns |= dict.fromkeys(described)
        self._lines.write(json.dumps(described, ensure_ascii=False) + "\n")

    def _write(self, parts: list[str], content: bytes) -> str:
        """Write a file below the folder under a name that is free; return its path there."""
        parts = [_component(part) for part in parts]
        if parts[0].casefold() == self._manifest.casefold():
            parts[0] = f"_{parts[0]}"
        folder = self._folder.joinpath(*parts[:-1])
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):  # a file has the name of a folder
            parts = ["_".join(parts[:-1])[:100] + "_", parts[-1]]
            folder = self._folder / parts[0]
            folder.mkdir(exist_ok=True)
        stem, ending = os.path.splitext(parts[-1])
        key = "/".join(parts)
        number = self._numbers.get(key, 0)
        while True:
            name = _fitted(stem, f"-{number}{ending}" if number else ending)
            try:
                with open(folder / name, "xb") as file:
                    file.write(content)
            except FileExistsError:
                number += 1
                self._numbers[key] = number
            else:
                return "/".join([*parts[:-1], name])

    def leave_out(self, place: Any, detail: str) -> None:
        """Remember a record without an image."""
        source = None if place.source is None else name_of(place.source)
        self.problems.append(ImageProblem(f"{source}: record {place.index}", detail))
        if self._first is None:
            self._first = InvalidArgumentError(
                Reason.MISSING, source=source, index=place.index, detail=f"{detail}{self._how()}"
            )

    def raise_first(self) -> None:
        """Raise about the first record without an image, if there is one."""
        if self._first is not None:
            raise self._first

    def raise_empty(self, sources: Sequence[Any], n_records: int) -> None:
        """Raise as there is no image at all in the records that were read."""
        source = name_of(sources[0]) if len(sources) == 1 else None
        reason = "" if self._first is None else f"; in the first {self.problems[0].detail}"
        detail = f"no image in {plural(n_records, 'record')}{reason}{self._how()}"
        raise InvalidArgumentError(Reason.MISSING, source=source, detail=detail)

    def _how(self) -> str:
        names = ", ".join(map(repr, sorted(self._seen)[:20]))
        return f"; give image_key, one of: {names}" if names else ""

    def write_manifest(self) -> list[str]:
        """Write the manifest; return the names of the features that it cannot hold."""
        self._lines.seek(0)
        with open(self._folder / self._manifest, "x", encoding="utf-8", newline="") as file:
            if self._manifest.endswith(".jsonl"):
                shutil.copyfileobj(self._lines, file)
            else:
                first = [name for name in ("path", "label") if name in self._columns]
                names = list(dict.fromkeys([*first, *self._columns]))
                writer = csv.DictWriter(file, names, lineterminator="\n")
                writer.writeheader()
                writer.writerows(map(json.loads, self._lines))
        return sorted(self._left_out)


def _scalar(values: Any) -> Any:
    """Return the value of a feature with one; None for others."""
    return values.tolist()[0] if values is not None and len(values) == 1 else None


def _plain(value: Any) -> Any:
    """Return a value of a record as JSON has it; bytes that are not text as they are."""
    if isinstance(value, float):  # float32 with as few digits as tell it
        return float(str(np.float32(value)))
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _image_key(row: dict[str, Any]) -> str:
    """Return the usual key of images, or else the only one whose bytes begin as an image does."""
    if "image/encoded" in row:
        return "image/encoded"
    found = []
    for name, values in row.items():
        value = _scalar(values) if values.dtype == object else None
        if isinstance(value, bytes) and sniff(value[:16]):
            found.append(name)
    return found[0] if len(found) == 1 else "image/encoded"


def _ending(content: bytes, named: Any) -> str | None:
    """Return the ending of the name of an image's file; None if nothing tells it."""
    name = sniff(content[:16])
    if name is not None:
        return ENDINGS[name][0]
    ending = f".{named}".lower() if isinstance(named, str) else ""
    return ending if ending in IMAGE_ENDINGS else None


_UNSAFE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
_SEPARATOR = re.compile(r"[/\\]")
_DEVICE = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)
_FORBIDDEN = re.compile(r'[\0-\x1f<>:"|?*/\\]' if os.name == "nt" else r"[\0/\\]")
_MAX_NAME, _MAX_PARTS, _MAX_PATH = 255, 16, 1000


def _parts(filename: str) -> list[str]:
    """Return the parts of a file's name, only the last one if others may lead elsewhere."""
    parts = [part for part in _SEPARATOR.split(filename) if part not in ("", ".")] or ["unnamed"]
    is_unsafe = _UNSAFE.match(filename) is not None or ".." in parts
    is_long = len(parts) > _MAX_PARTS or len(filename.encode()) > _MAX_PATH
    return parts[-1:] if is_unsafe or is_long else parts


def _with_ending(parts: list[str], ending: str) -> list[str]:
    has_ending = os.path.splitext(parts[-1])[1].lower() in IMAGE_ENDINGS
    return parts if has_ending else [*parts[:-1], f"{parts[-1]}{ending}"]


def _component(name: str) -> str:
    """Return a part of a path as every system can have it, and as no hidden name."""
    name = _FORBIDDEN.sub("_", name)
    if os.name == "nt":
        name = name.rstrip(". ")
    if not name or name.startswith("."):
        name = f"_{name[1:]}"
    if _DEVICE.fullmatch(name):
        name = f"_{name}"
    stem, ending = os.path.splitext(name)
    return _fitted(stem, ending) if len(ending) < 16 else _fitted(name, "")


def _fitted(stem: str, ending: str) -> str:
    """Return a name of at most 255 bytes."""
    room = _MAX_NAME - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore") + ending
