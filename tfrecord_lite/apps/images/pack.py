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
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfrecord_lite.apps.images.image import image_info, require_pillow
from tfrecord_lite.apps.images.lists import (
    FILENAME_KEY,
    LABEL_KEY,
    TEXT_KEY,
    ImageReport,
    find_images,
    number_classes,
    read_labels,
    read_manifest,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.dataset.random_order import permutation, seed_of
from tfrecord_lite.errors import (
    InvalidArgumentError,
    Reason,
    argument_error,
    plural,
    require_int,
)
from tfrecord_lite.files.names import is_url
from tfrecord_lite.files.output import open_output
from tfrecord_lite.files.remote import remote_place
from tfrecord_lite.options import WriteOptions
from tfrecord_lite.progress import check_progress, metered
from tfrecord_lite.schema import Schema
from tfrecord_lite.storage import save
from tfrecord_lite.storage.data_files import data_names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from typing_extensions import Unpack

    from tfrecord_lite.apps.images.image import ImageInfo
    from tfrecord_lite.apps.images.lists import ImageList, Picture
    from tfrecord_lite.files.names import StorageOptions
    from tfrecord_lite.progress import Meter, Progress

__all__ = ["pack_images"]

LABELS_NAME = "labels.txt"
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
    offset = require_int("label_offset", options.pop("label_offset", 0))
    require_int("seed", seed)
    bytes_per_shard = options.pop("bytes_per_shard", None)
    num_threads = options.pop("num_threads", None)
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
    path_column = options.pop("path_column", None)
    label_column = options.pop("label_column", None)
    columns, root = options.pop("columns", None), options.pop("root", None)
    # What is left of the options is checked by `save`.
    written: WriteOptions = options
    storage_options = written.get("storage_options")
    if os.path.isdir(source):
        images = find_images(source)
    else:
        images = read_manifest(
            source,
            path_column=path_column,
            label_column=label_column,
            columns=columns,
            root=root,
        )
    pictures, classes = number_classes(images.pictures, _names_of_labels(labels), offset)
    if not pictures and not images.problems:
        found = f"{images.num_other:,} of other kinds" if images.num_other else "none"
        raise argument_error(f"no image was found; files: {found}", source=source)
    if shuffle:
        order = permutation((seed_of(seed),), len(pictures))
        pictures = [pictures[i] for i in order.tolist()]
    if bytes_per_shard is not None:
        total = 0
        for picture in pictures:
            with contextlib.suppress(OSError):  # which is reported when it is read
                total += os.stat(picture.path).st_size
        num_shards = max(1, -(-total // bytes_per_shard))
    paths = data_names(target, num_shards)
    folder = os.path.dirname(target)
    if folder and not is_url(target) and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if not overwrite:
        _check_free(paths, storage_options)
    packing = _Packing(images, num_threads, check=check, is_strict=on_error == "raise")
    labels_path = os.path.join(folder, LABELS_NAME) if classes else None
    try:
        with (
            _labels_file(labels_path, classes, storage_options, overwrite=overwrite),
            metered(progress, source, "images") as meter,
        ):
            save(
                target,
                _Rows(packing.rows(pictures, meter), len(pictures)),
                schema=packing.schema(pictures),
                num_shards=num_shards,
                progress=False,
                **written,
            )
    except _NothingWrittenError:
        paths, labels_path = [], None
    report = ImageReport(
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
    if not paths:
        first = report.problems[0]
        n_bad = plural(len(report.problems), "image")
        how = "; on_error='skip' leaves them out" if report.num_images else ""
        detail = f"{first.detail} ({n_bad} cannot be packed, and nothing was written{how})"
        not_packed = NotPackedError(Reason.MALFORMED, source=first.path, detail=detail)
        not_packed.report = report
        raise not_packed
    return report


def _names_of_labels(labels: str | os.PathLike[str] | Sequence[str] | None) -> list[str] | None:
    if isinstance(labels, str | os.PathLike):
        return read_labels(labels)
    names = None if labels is None else list(labels)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise TypeError("labels must be the path of a file, or a sequence of str")
    if names is not None and len(set(names)) < len(names):
        raise argument_error("two of the labels are the same")
    return names


def _check_free(paths: Iterable[str], storage_options: StorageOptions) -> None:
    """Raise FileExistsError if a file would be replaced."""
    for path in paths:
        if is_url(path):
            filesystem, place = remote_place(path, storage_options)
            is_taken = bool(filesystem.exists(place))
        else:
            is_taken = os.path.lexists(path)
        if is_taken:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


@contextlib.contextmanager
def _labels_file(
    path: str | None, classes: list[str], storage_options: StorageOptions, *, overwrite: bool
) -> Iterator[None]:
    """Write the names of the classes, and let the file appear when the block has ended well."""
    is_there = False
    if path is not None:
        with contextlib.suppress(OSError, ValueError):
            is_there = read_labels(path) == classes
    if path is None or is_there:
        yield
        return
    try:
        if not overwrite:
            _check_free([path], storage_options)
    except FileExistsError as error:
        detail = (
            f"{error.strerror}, and lists other classes; give it as labels to number them alike"
        )
        raise FileExistsError(errno.EEXIST, detail, path) from None
    with contextlib.ExitStack() as stack:
        file = open_output(path, atomic=True, storage_options=storage_options)
        stack.callback(file.abandon)
        file.write(["".join(f"{name}\n" for name in classes).encode()])
        file.finish()
        yield
        file.commit()


class _Rows:
    """Rows, and how many there will be if none is left out, so that they are divided as they come."""

    def __init__(self, rows: Iterator[dict[str, Any]], n_rows: int) -> None:
        self._rows, self._n_rows = rows, n_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._rows

    def __len__(self) -> int:
        return self._n_rows


class _NothingWrittenError(Exception):
    """Ends `save` before anything appears, as images cannot be packed."""


class _Packing:
    """The rows of one call, and what is known when they have been written."""

    def __init__(
        self, images: ImageList, num_threads: int, *, check: bool, is_strict: bool
    ) -> None:
        self._images, self._num_threads = images, num_threads
        self._is_checked, self._is_strict = check, is_strict
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

    def rows(self, pictures: Sequence[Picture], meter: Meter) -> Iterator[dict[str, Any]]:
        """Yield the features of each image that can be packed."""
        total = len(pictures)
        read = _in_order(
            lambda picture: _read(picture.path, is_checked=self._is_checked),
            pictures,
            self._num_threads,
        )
        with closing(read):
            for done, (picture, found) in enumerate(zip(pictures, read, strict=True), 1):
                if isinstance(found, str):
                    self._images.leave_out(picture.path, found)
                else:
                    yield self._row(picture, *found)
                meter.update(done, total)
        if not self.n_images or (self._is_strict and self._images.problems):
            raise _NothingWrittenError
        meter.finish()

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
