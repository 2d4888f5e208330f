"""pack_images: a folder of images, or those of a list, to TFRecord files.

::

    folder or manifest ─image_list─> Pictures ──threads: read, check──> rows ──save──> shards, sidecars

A record has the features of TensorFlow's scripts for ImageNet and slim; ``image/encoded`` is the
file's content as it is. All files of a call appear together, or none does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from tfrecord_lite.apps.images.image import image_features, require_pillow
from tfrecord_lite.apps.images.lists import (
    FILENAME_KEY,
    LABEL_KEY,
    TEXT_KEY,
    ImageReport,
    Picture,
    find_images,
    number_classes,
    read_labels,
    read_manifest,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.dataset.random_order import permutation, seed_of
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, plural, require_int
from tfrecord_lite.files.names import StorageOptions, is_url, local_size
from tfrecord_lite.files.output import open_output
from tfrecord_lite.files.remote import remote_place
from tfrecord_lite.options import WriteOptions
from tfrecord_lite.progress import Meter, Progress, check_progress, metered
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage import save
from tfrecord_lite.storage.data_files import data_names

__all__ = ["pack_images"]

LABELS_NAME = "labels.txt"
_READ_AHEAD = 8
"""Images that are read at a time, of each thread."""
_MAX_BYTES = 2**31 - 2**20
"""No Example of 2 GB or more can be read."""


class ImageOptions(WriteOptions, total=False):
    """Keywords of :func:`pack_images` that are rarely needed."""

    label_offset: int
    path_column: str | None
    label_column: str | None
    columns: Sequence[str] | None
    root: str | os.PathLike[str] | None
    bytes_per_shard: int | None
    num_threads: int | None


class NotPackedError(InvalidArgumentError):
    """Nothing was written, as images cannot be packed, which `report` lists."""

    report: ImageReport


def pack_images(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | Sequence[str] | None = None,
    check: bool = True,
    shuffle: bool = True,
    seed: int = 0,
    num_shards: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    overwrite: bool = False,
    progress: Progress = None,
    **options: Unpack[ImageOptions],
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
    check : bool, default True
        Decode each image. False reads the headers only.
    shuffle : bool, default True
        Shuffle the images; False keeps them sorted by class and name, or as in the manifest.
    seed : int, default 0
        One seed gives one order, on every machine.
    num_shards : int, optional
        As for :func:`save`.
    on_error : {"raise", "skip"}, optional
        What to do about images that are damaged, empty, cannot be read or are not images: raise
        an error and write nothing, or leave them out and list them in the report.
    overwrite : bool, default False
        Replace files that exist.
    progress : bool or callable, optional
        As for :func:`save`; counts images.
    **options
        Of a manifest: `path_column` and `label_column`, by default the first with a usual name
        (path, file, filename, image, ...; label, class, category, ...), where labels are texts, the
        names of classes, or integers, which are kept; `columns`, the others to store as features of
        their names, by default all, of which ``image/class/label`` and ``image/filename`` replace these
        features; and `root`, the folder that its paths are relative to, by default its own.
        `label_offset` is added to each label: 1 leaves 0 to the background, as scripts for ImageNet do.
        `bytes_per_shard`, about how large a shard is, chooses the number of shards. `num_threads` are
        the images to read and check at a time, by default one per processor. How files are written,
        see :class:`WriteOptions`.

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
        If Pillow is not installed (the extra ``image``), or pyarrow for a manifest (``arrow``).

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
    >>> import os
    >>> for name in ("cat", "dog"):
    ...     os.makedirs(f"pets/{name}")
    ...     with open(f"pets/{name}/one.png", "wb") as file:
    ...         n_bytes = file.write(encode_image(np.zeros((4, 6), np.uint8)))
    >>> pack_images("pets", "pets.tfrecord")
    <ImageReport: 2 images, 2 classes>
    >>> sorted(load("pets.tfrecord")["image/class/text"].tolist())
    ['cat', 'dog']
    """
    if on_error not in ("raise", "skip"):
        raise argument_error(f"on_error is {on_error!r}, expected 'raise' or 'skip'")
    given: dict[str, Any] = {"label_offset": 0, **options}
    offset = require_int("label_offset", given.pop("label_offset"))
    require_int("seed", seed)
    bytes_per_shard = given.pop("bytes_per_shard", None)
    num_threads = given.pop("num_threads", None)
    num_threads = (os.cpu_count() or 1) if num_threads is None else num_threads
    counts = {"num_shards": num_shards, "bytes_per_shard": bytes_per_shard}
    for name, count in {**counts, "num_threads": num_threads}.items():
        if count is not None:
            require_int(name, count, 1)
    if None not in counts.values():
        raise argument_error("give num_shards or bytes_per_shard, not both")
    check_progress(progress)
    start = time.monotonic()
    require_pillow()
    source, target = os.fspath(source), os.fspath(path)
    names = ("path_column", "label_column", "columns", "root")
    of_manifest = {name: given.pop(name, None) for name in names}
    # What is left of the options is checked by `save`.
    storage_options = given.get("storage_options")
    report, more = ImageReport(), None
    if os.path.isdir(source):
        pictures = find_images(source, report)
    else:
        pictures, more = read_manifest(source, report, **of_manifest)
    class_names = None if labels is None else read_labels(labels)
    pictures, classes = number_classes(pictures, class_names, offset)
    if not pictures and not report.problems:
        found = f"{report.num_other:,} of other kinds" if report.num_other else "none"
        raise argument_error(f"no image was found; files: {found}", source=source)
    if shuffle:
        order = permutation((seed_of(seed),), len(pictures))
        pictures = [pictures[i] for i in order.tolist()]
    if bytes_per_shard is not None:
        sizes = (local_size(picture.path) or 0 for picture in pictures)
        num_shards = max(1, -(-sum(sizes) // bytes_per_shard))
    paths = data_names(target, num_shards)
    folder = os.path.dirname(target)
    if folder and not is_url(target) and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    labels_path = os.path.join(folder, LABELS_NAME) if classes else None
    has_labels = False
    with contextlib.suppress(OSError, ValueError):
        has_labels = labels_path is None or read_labels(labels_path) == classes
    if not overwrite:
        _check_free(paths, storage_options)
        if labels_path is not None and not has_labels:
            others = "lists other classes; give it as labels to number them alike"
            _check_free([labels_path], storage_options, f", and {others}")
    with metered(progress, source, "images") as meter:
        rows = _Rows(pictures, report, meter, num_threads, is_checked=check, on_error=on_error)
        try:
            schema = _schema(pictures, more)
            save(target, rows, schema=schema, num_shards=num_shards, progress=False, **given)
        except _NothingWrittenError:
            report.problems.sort()
            first, n_bad = report.problems[0], plural(len(report.problems), "image")
            how = "; on_error='skip' leaves them out" if report.num_images else ""
            detail = f"{first.detail} ({n_bad} cannot be packed, and nothing was written{how})"
            error = NotPackedError(Reason.MALFORMED, source=first.path, detail=detail)
            error.report = report
            raise error from None
        if labels_path is not None and not has_labels:
            file = open_output(labels_path, atomic=True, storage_options=storage_options)
            file.write(["".join(f"{name}\n" for name in classes).encode()])
            file.finish()
            file.commit()
        meter.finish()
    report.problems.sort()
    report.classes, report.paths, report.labels_path = classes, paths, labels_path
    report.seconds = time.monotonic() - start
    return report


def _check_free(paths: Iterable[str], storage_options: StorageOptions, more: str = "") -> None:
    """Raise FileExistsError if a file would be replaced."""
    for path in paths:
        if is_url(path):
            filesystem, place = remote_place(path, storage_options)
            is_taken = bool(filesystem.exists(place))
        else:
            is_taken = os.path.lexists(path)
        if is_taken:
            raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}{more}", path)


class _NothingWrittenError(Exception):
    """Ends `save` before anything appears, as images cannot be packed."""


def _schema(pictures: list[Picture], more: Schema | None) -> Schema:
    """Return the schema of all rows, with that of the other columns of a manifest."""
    one = np.zeros(1, np.int64)
    columns: dict[str, Any] = {"image/encoded": [b""], "image/format": [""]}
    columns |= {f"image/{name}": one for name in ("height", "width", "channels")}
    columns |= {"image/colorspace": [""], FILENAME_KEY: [""]}
    if any(picture.number is not None for picture in pictures):
        columns[LABEL_KEY] = one
    if any(picture.text is not None for picture in pictures):
        columns[TEXT_KEY] = [""]
    own = schema_of(columns)
    if more is None:
        return own
    return Schema({**own, **more}, {**own.originals, **more.originals})


class _Rows:
    """The features of each image that can be packed; what was packed is counted in the report.

    Its length is how many rows there are if none is left out, so that they are divided as they come.
    """

    def __init__(
        self,
        pictures: list[Picture],
        report: ImageReport,
        meter: Meter,
        num_threads: int,
        *,
        is_checked: bool,
        on_error: str,
    ) -> None:
        self._pictures, self._report, self._meter = pictures, report, meter
        self._num_threads, self._is_checked = num_threads, is_checked
        self._is_strict = on_error == "raise"

    def __len__(self) -> int:
        return len(self._pictures)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; raise in the end if these are not enough."""
        report, num_threads = self._report, self._num_threads
        read = partial(_read, is_checked=self._is_checked)
        done, n_at_a_time = 0, _READ_AHEAD * num_threads
        # Reading files, and nearly all of Pillow's decoding, lets other threads run.
        with ThreadPoolExecutor(num_threads, thread_name_prefix="tfrecord-images") as pool:
            while pictures := self._pictures[done : done + n_at_a_time]:
                paths = [picture.path for picture in pictures]
                for picture, each in zip(pictures, pool.map(read, paths), strict=True):
                    done += 1
                    self._meter.update(done, len(self))
                    if isinstance(each, str):
                        report.leave_out(picture.path, each)
                        continue
                    report.num_images += 1
                    report.num_bytes += len(each["image/encoded"])
                    is_coloured = each["image/channels"] > 2
                    row: dict[str, Any] = {
                        **each,
                        "image/colorspace": "RGB" if is_coloured else "grayscale",
                        FILENAME_KEY: picture.filename,
                        LABEL_KEY: picture.number,
                        TEXT_KEY: picture.text,
                        **picture.more,
                    }
                    yield {name: value for name, value in row.items() if value is not None}
        if not report.num_images or (self._is_strict and report.problems):
            raise _NothingWrittenError


def _read(path: str, *, is_checked: bool) -> dict[str, Any] | str:
    """Return an image and what its header says; or why it cannot be packed."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # to open a pipe would wait for ever
            return "not a file"
        if not 0 < status.st_size <= _MAX_BYTES:
            return "larger than a record can be (2 GB)" if status.st_size else "the file is empty"
        with open(path, "rb") as file:
            content = file.read()
        return image_features(content, is_checked=is_checked)
    except OSError as error:
        return error.strerror or str(error)
    except InvalidArgumentError as error:
        return error.detail or str(error)
