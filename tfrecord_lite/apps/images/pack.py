"""pack_images: a folder or list of images to TFRecord files.

::

    folder ───find_images───╮
    manifest ─read_manifest─┴─> Pictures ──numbered──threads: read, check──> rows ──save──> shards, sidecars

Records have the features of TensorFlow's scripts for ImageNet and slim.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from tfrecord_lite import errors, schema_of
from tfrecord_lite import extension as ext
from tfrecord_lite.apps.endings import format_of
from tfrecord_lite.apps.images.image import image_features, require_pillow, threads_of
from tfrecord_lite.apps.tables.formats import open_source
from tfrecord_lite.apps.tables.table import check_columns
from tfrecord_lite.errors import InvalidArgumentError, argument_error, optional_int, require_int
from tfrecord_lite.extension import StorageOptions
from tfrecord_lite.options import ReadSettings, WriteOptions
from tfrecord_lite.progress import Meter, Progress, check_progress, metered
from tfrecord_lite.schema import Schema
from tfrecord_lite.sniff import recognize
from tfrecord_lite.storage import save
from tfrecord_lite.texts import nearest, plural

Path = str | os.PathLike[str]

__all__ = ["pack_images"]

LABELS_NAME = "labels.txt"
_READ_AHEAD = 8
"""Images that are read at a time, of each thread."""
_MAX_BYTES = 2**31 - 2**20
"""No Example of 2 GB or more can be read."""


class ImageOptions(WriteOptions, total=False):
    """Keywords of :func:`pack_images` that are rarely needed."""

    path_column: str
    label_column: str
    root: str | os.PathLike[str]
    num_threads: int | None


class NotPackedError(InvalidArgumentError):
    """Nothing was written, as images cannot be packed, which `report` lists."""

    report: ImageReport


_OF_MANIFEST = ("path_column", "label_column", "root")
"""The options of `pack_images` that are about a manifest."""


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
        A folder with a folder of images, at any depth, for each class, or with images only, which then
        have no class. Links are followed. Or a *manifest*: a ``.csv``, ``.tsv``, ``.parquet`` or
        ``.jsonl`` file with a row per image.
    path : str or PathLike
        The file to write, or shards (``"train@8.tfrecord"``), as for :func:`save`.
    labels : str, PathLike or sequence of str, optional
        The names of the classes by number, or a file with one per line; by default all, sorted.
    check : bool, default True
        Decode each image. False reads the headers only.
    shuffle : bool, default True
        False keeps the images sorted by class and name, or in the order of the manifest.
    seed : int, default 0
        One seed gives one order, on every machine.
    num_shards, overwrite, progress
        As for :func:`save`; `progress` counts images.
    on_error : {"raise", "skip"}, optional
        What to do about files that are damaged, empty, unreadable or not images: raise an error and write
        nothing, or leave them out and list them in the report.
    **options
        For a manifest: `path_column`, by default ``"path"``; `label_column`, by default ``"label"`` if it has
        one, with the names of classes, or with integers, which are kept; and `root`, the folder that its
        paths are relative to, by default its own. Other columns become features of their names.
        `num_threads`: how many images to read and check at a time, by default one per processor. See
        :class:`WriteOptions` for how files are written.

    Returns
    -------
    ImageReport

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` with ``on_error="raise"`` about the first image that cannot be packed, or if none
        can; ``BAD_ARGUMENT`` for a manifest or labels that do not fit, and if no image is found.
    FileExistsError
        If a file would be replaced, without `overwrite`; also a labels file with other names.
    OSError, ImportError
        If a file cannot be read or written; if Pillow (the extra ``image``), or for a manifest pyarrow
        (``arrow``), is not installed.

    Notes
    -----
    The features are ``image/encoded`` (the file's content), ``image/format`` (``jpeg``, ``png``,
    ``gif``, ``bmp`` or ``webp``, by the content), ``image/height``, ``image/width``,
    ``image/channels``, ``image/colorspace`` (``RGB`` or ``grayscale``), ``image/filename`` (the
    path in the folder of its class, or the last part of a manifest's path), ``image/class/label`` (int64) and
    ``image/class/text``. A sidecar with the schema is beside each file, and ``labels.txt`` with
    the names of the classes, one per line, beside them all. All files of a call appear together, or none does.

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
    settings: dict[str, Any] = {**options}  # what is left of them in the end is checked by `save`
    num_threads = threads_of(settings.pop("num_threads", None))
    optional_int("num_shards", num_shards, 1)
    require_int("seed", seed)
    check_progress(progress)
    start = time.monotonic()
    require_pillow()
    source, target = os.fspath(source), os.fspath(path)
    of_manifest = {name: settings.pop(name) for name in _OF_MANIFEST if name in settings}
    storage_options = settings.get("storage_options")
    report, more = ImageReport(), None
    if os.path.isdir(source):
        pictures = find_images(source, report)
    else:
        pictures, more = read_manifest(source, report, **of_manifest)
    pictures, classes = numbered(pictures, None if labels is None else read_labels(labels))
    if not pictures and not report.problems:
        others = f"{report.num_other:,} of other kinds" if report.num_other else "none"
        raise argument_error(f"no image was found; files: {others}", source=source)
    if shuffle:
        key = (ext.seed_of(seed),)
        pictures = [pictures[i] for i in ext.permutation(key, len(pictures)).tolist()]
    paths = ext.data_names(target, num_shards)
    labels_path = os.path.join(os.path.dirname(target), LABELS_NAME) if classes else None
    has_labels = False
    with contextlib.suppress(OSError, ValueError):
        has_labels = labels_path is None or read_labels(labels_path) == classes
    if not overwrite:
        _check_free(paths, storage_options)
        if labels_path is not None and not has_labels:
            others = "lists other classes; give it as labels to number them alike, or name another folder if they differ on purpose"
            _check_free([labels_path], storage_options, f", and {others}")
    with metered(progress, source, "images") as meter:
        rows = _Rows(pictures, report, meter, num_threads, check, on_error == "raise")
        try:
            schema = _schema(pictures, more)
            save(target, rows, schema=schema, num_shards=num_shards, progress=False, **settings)
        except _NothingWrittenError:
            raise _not_packed(report) from None
        if labels_path is not None and not has_labels:
            _write_labels(labels_path, classes, storage_options)
        meter.finish()
    report.problems.sort()
    report.classes, report.paths, report.labels_path = classes, paths, labels_path
    report.seconds = time.monotonic() - start
    return report


def _check_free(paths: Iterable[str], storage_options: StorageOptions, more: str = "") -> None:
    for path in paths:
        if ext.is_url(path):
            filesystem, place = ext.remote_place(path, storage_options)
            is_taken = bool(filesystem.exists(place))
        else:
            is_taken = os.path.lexists(path)
        if is_taken:
            raise FileExistsError(errno.EEXIST, f"{os.strerror(errno.EEXIST)}{more}", path)


def _write_labels(path: str, classes: list[str], storage_options: StorageOptions) -> None:
    file = ext.open_output(path, atomic=True, storage_options=storage_options)
    file.write(["".join(f"{name}\n" for name in classes).encode()])
    file.finish()
    file.commit()


def _not_packed(report: ImageReport) -> NotPackedError:
    report.problems.sort()
    first, n_bad = report.problems[0], plural(len(report.problems), "image")
    advice = "; on_error='skip' leaves them out" if report.num_images else ""
    detail = f"{first.detail} ({n_bad} cannot be packed, and nothing was written{advice})"
    error = NotPackedError(errors.Reason.MALFORMED, source=first.path, detail=detail)
    error.report = report
    return error


class _NothingWrittenError(Exception):
    """Ends `save` before anything appears, as images cannot be packed."""


def _schema(pictures: list[Picture], more: Schema | None) -> Schema:
    one = np.zeros(1, np.int64)
    columns: dict[str, Any] = {"image/encoded": [b""], "image/format": [""]}
    columns |= {f"image/{name}": one for name in ("height", "width", "channels")}
    columns |= {"image/colorspace": [""], FILENAME_KEY: [""]}
    if any(picture.number is not None for picture in pictures):
        columns[LABEL_KEY] = one
    if any(picture.text is not None for picture in pictures):
        columns[TEXT_KEY] = [""]
    own, more = schema_of(columns), more or Schema({})
    return Schema({**own, **more}, {**own.originals, **more.originals})


@dataclass
class _Rows:
    """The features of each image that can be packed, which are counted in the report.

    Its length, which includes images left out, lets `save` divide the rows while they are read.
    """

    pictures: list[Picture]
    report: ImageReport
    meter: Meter
    num_threads: int
    is_checked: bool
    is_strict: bool
    """Whether nothing is written if an image is left out."""

    def __len__(self) -> int:
        return len(self.pictures)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; raise in the end if these are not enough."""
        report, num_threads = self.report, self.num_threads
        read = partial(_read, is_checked=self.is_checked)
        done, n_at_a_time = 0, _READ_AHEAD * num_threads
        # Reading files, and nearly all of Pillow's decoding, lets other threads run.
        with ThreadPoolExecutor(num_threads, thread_name_prefix="tfrecord-images") as pool:
            while pictures := self.pictures[done : done + n_at_a_time]:
                paths = [picture.path for picture in pictures]
                for picture, content in zip(pictures, pool.map(read, paths), strict=True):
                    done += 1
                    self.meter.update(done, len(self))
                    if isinstance(content, str):
                        report.problems.append(ImageProblem(picture.path, content))
                        continue
                    report.num_images += 1
                    report.num_bytes += len(content["image/encoded"])
                    yield _row(picture, content)
        if not report.num_images or (self.is_strict and report.problems):
            raise _NothingWrittenError


def _row(picture: Picture, content: dict[str, Any]) -> dict[str, Any]:
    names = {FILENAME_KEY: picture.filename, LABEL_KEY: picture.number, TEXT_KEY: picture.text}
    color = {"image/colorspace": "RGB" if content["image/channels"] > 2 else "grayscale"}
    row: dict[str, Any] = {**content, **color, **names, **picture.more}
    return {name: value for name, value in row.items() if value is not None}


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


# -------------------------------------------------------------------------------- lists

LABEL_KEY, TEXT_KEY, FILENAME_KEY = "image/class/label", "image/class/text", "image/filename"
_OTHER_FEATURES = ("encoded", "format", "height", "width", "channels", "colorspace")
FEATURES = {LABEL_KEY, TEXT_KEY, FILENAME_KEY, *(f"image/{name}" for name in _OTHER_FEATURES)}
"""The features of a record."""

ENDINGS: dict[str, tuple[str, ...]] = {
    "bmp": (".bmp", ".dib"),
    "gif": (".gif",),
    "jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "png": (".png", ".apng"),
    "webp": (".webp",),
}
"""The endings of the names of each format's files, the usual one first."""
_OTHER_ENDINGS = (".avif", ".heic", ".heif", ".ico", ".j2k", ".jp2", ".jxl", ".pbm", ".pgm", ".pnm", ".ppm", ".psd", ".svg", ".tga", ".tif", ".tiff")  # fmt: skip
IMAGE_ENDINGS: frozenset[str] = frozenset(_OTHER_ENDINGS).union(*ENDINGS.values())

_MANIFESTS = ("csv", "tsv", "parquet", "jsonl")


class ImageProblem(NamedTuple):
    """An image that was left out, and why."""

    path: str
    detail: str


@dataclass
class ImageReport:
    """What :func:`pack_images` or :func:`unpack_images` has done.

    Examples
    --------
    >>> import os
    >>> os.makedirs("pets/cat")
    >>> with open("pets/cat/one.png", "wb") as file:
    ...     n_bytes = file.write(encode_image(np.zeros((4, 6), np.uint8)))
    >>> report = pack_images("pets", "pets.tfrecord")
    >>> report.num_images, report.classes, report.problems
    (1, ['cat'], [])
    """

    num_images: int = 0
    """Images that were written."""
    num_bytes: int = 0
    """Bytes of these images."""
    classes: list[str] = field(default_factory=list)
    """Names of their classes; :func:`pack_images` has them in the order of their numbers."""
    paths: list[str] = field(default_factory=list)
    """The files of records, or the folder of images, that were written."""
    labels_path: str | None = None
    """The file with the names of the classes."""
    problems: list[ImageProblem] = field(default_factory=list)
    """Images, or records, that were left out, each with its `path` and `detail`."""
    num_hidden: int = 0
    """Hidden files and folders in the folder of images."""
    num_other: int = 0
    """Files in the folder of images that are not images by their names."""
    damage: errors.DamageReport | None = None
    """Of :func:`unpack_images` with ``on_error="skip"``: damage in the files of records."""
    seconds: float = 0.0

    def __repr__(self) -> str:
        """Count images, classes and problems."""
        parts = [plural(self.num_images, "image"), plural(len(self.classes), "class", "classes")]
        parts += [plural(len(self.problems), "problem")] if self.problems else []
        return f"<ImageReport: {', '.join(parts)}>"


class Picture(NamedTuple):
    """An image to pack."""

    path: str
    filename: str
    text: str | None = None
    """Name of its class."""
    number: int | None = None
    """Number of its class."""
    more: Mapping[str, Any] = {}
    """Its values in the other columns of a manifest."""


def sniff(head: bytes) -> str | None:
    """Return the key in :data:`ENDINGS` of the format by an image's first 32 bytes, or None.

    >>> sniff(b"GIF89a"), sniff(b"text")
    ('gif', None)
    """
    media = recognize(head)
    return media.format.lower() if media and media.format.lower() in ENDINGS else None


# ------------------------------------------------------------------------------- folders


def find_images(folder: str, report: ImageReport) -> list[Picture]:
    """List the images below a folder, sorted; the folders in it are the classes."""
    os.scandir(folder).close()  # raises if there is none
    pictures = []
    for path in _walk(folder, report, ()):
        ending = os.path.splitext(path)[1].lower()
        if ending not in IMAGE_ENDINGS and (ending or not _begins_as_image(path)):
            report.num_other += 1
            continue
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        if not _is_utf8(name):
            report.problems.append(ImageProblem(path, "its name is not UTF-8"))
            continue
        text, is_below, below = name.partition("/")
        pictures.append(Picture(path, below, sys.intern(text)) if is_below else Picture(path, name))
    classed = [picture for picture in pictures if picture.text is not None]
    if classed:
        detail = "not in the folder of a class, as others are"
        report.problems += [ImageProblem(p.path, detail) for p in pictures if p.text is None]
    return sorted(classed or pictures, key=lambda picture: (picture.text or "", picture.filename))


def _walk(folder: str, report: ImageReport, above: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths of all files below a folder that are not hidden; follow links, but not in circles."""
    here = os.path.realpath(folder)
    if here in above:
        report.problems.append(ImageProblem(folder, "a link to a folder that it is in"))
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        report.problems.append(ImageProblem(folder, error.strerror or str(error)))
        return
    for entry in entries:
        if entry.name.startswith("."):
            report.num_hidden += 1
        elif entry.is_dir():
            yield from _walk(entry.path, report, (*above, here))
        else:
            yield entry.path


def _begins_as_image(path: str) -> bool:
    with contextlib.suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return sniff(file.read(32)) is not None
    return False


def _is_utf8(text: str) -> bool:
    return text.encode(errors="ignore").decode() == text


# ----------------------------------------------------------------------------- manifests


def read_manifest(
    path: str,
    report: ImageReport,
    path_column: str = "path",
    label_column: str | None = None,
    root: Path | None = None,
) -> tuple[list[Picture], Schema | None]:
    """Return the images of a manifest, and the schema of its other columns."""
    os.stat(path)  # raises if there is none
    kind = format_of(path)
    if kind not in _MANIFESTS:
        detail = "expected a folder, or a manifest: a .csv, .tsv, .parquet or .jsonl file"
        raise argument_error(detail, source=path)
    table = _table_of(path, kind, path_column)
    names = table.column_names
    if label_column is None and "label" in names:
        label_column = "label"
    columns = [name for name in (path_column, label_column) if name is not None]
    check_columns(columns, names, path)
    others = [name for name in names if name not in {*columns, *FEATURES}]
    others = [name for name in others if table[name].null_count < len(table)]
    with errors.errors_at(source=path):
        schema = _with_float32(schema_of(table.select(others))) if others else None
    images = table[path_column].to_pylist()
    labels = [None] * len(table) if label_column is None else table[label_column].to_pylist()
    are_texts = any(isinstance(label, str) for label in labels)
    folder = os.path.dirname(path) if root is None else os.fspath(root)
    pictures = []
    rows = zip(images, labels, table.select(others).to_pylist(), strict=True)
    for number, (image, label, more) in enumerate(rows, 1):
        place = f"{path}: row {number}"
        if not isinstance(image, str) or not _is_utf8(image) or "\0" in image:
            report.problems.append(ImageProblem(place, "the path is missing, or not a text"))
        elif label is None and label_column is not None:
            report.problems.append(ImageProblem(place, f"the label of {image} is missing"))
        else:
            text, whole = (label, None) if are_texts else (None, _whole(label, place))
            names = os.path.join(folder, image), os.path.basename(image)
            pictures.append(Picture(*names, text, whole, more))
    return pictures, schema


def _with_float32(schema: Schema) -> Schema:
    """Return a schema whose floats come back as what is stored: in a manifest they are text, or Python's."""
    items = schema.to_items()
    for name, item in items.items():
        if item.original is not None and item.original.dtype == "float64":
            items[name] = item._replace(original=replace(item.original, dtype="float32"))
    return Schema.of_items(items)


def _table_of(path: str, kind: str, path_column: str) -> Any:
    """Return a manifest as a table of Arrow; paths are texts, whatever is in them."""
    pa, coalesce = ext.imported(), ext.imported("pyarrow.compute").coalesce
    types = pa.schema([(path_column, pa.string())]) if kind in ("csv", "tsv") else None
    with closing(open_source(path, kind, ReadSettings(), None, types)) as source:
        table = pa.Table.from_batches(source.batches(), source.schema)
    for i, column in enumerate(table.schema):
        if ext.form_of(column.type) == "list":  # a list that is missing is empty
            empty = pa.scalar([], column.type)
            table = table.set_column(i, column, coalesce(table.column(i), empty))
    return table


def _whole(label: Any, place: str) -> int | None:
    """Return the number of a label, which may be a float where others are missing; None without labels."""
    if label is None:
        return None
    if isinstance(label, int | float) and label == label // 1 and abs(label) < 2**63:
        return int(label)
    detail = f"the label is {label!r:.40}, expected a text or an integer; name another label_column"
    raise argument_error(detail, source=place)


# ------------------------------------------------------------------------------- classes


def read_labels(labels: Path | Sequence[str]) -> list[str]:
    """Return the names of classes in their order.

    In a file, they are one per line; or lines ``0:name``, as slim writes them.
    """
    source = None
    if isinstance(labels, str | os.PathLike):
        source = ext.name_of(labels)
        with open(labels, encoding="utf-8-sig") as file:
            names = file.read().removesuffix("\n").split("\n")
        if all(name.startswith(f"{i}:") for i, name in enumerate(names)):
            names = [name.partition(":")[2] for name in names]
    else:
        names = list(labels)
        if not all(isinstance(name, str) for name in names):
            raise TypeError("labels must be the path of a file, or a sequence of str")
    if len(set(names)) < len(names):
        raise argument_error("two of the labels are the same", source=source)
    return names


def numbered(pictures: list[Picture], names: list[str] | None) -> tuple[list[Picture], list[str]]:
    """Return the images with the name and number of each class, and the names by number.

    Numbers that a manifest has are kept, and named if there are names.
    """
    if any(picture.number is not None for picture in pictures):
        return [_named(picture, names) for picture in pictures] if names else pictures, names or []
    own_names = sorted({picture.text for picture in pictures if picture.text is not None})
    classes = own_names if names is None else names
    numbers: dict[str | None, int] = {name: i for i, name in enumerate(classes)}
    for name in own_names:
        if name not in numbers:
            detail = f"the class {name!r} is not in the labels file{nearest(name, classes)}"
            raise argument_error(detail)
        if "\n" in name or "\r" in name:
            raise argument_error(f"the name of the class {name!r} has a line break; rename it")
    return [p._replace(number=numbers.get(p.text)) for p in pictures], classes


def _named(picture: Picture, names: list[str]) -> Picture:
    number = picture.number or 0
    if not 0 <= number < len(names):
        detail = f"the label {number} of {picture.path} is not in the labels file, which has"
        raise argument_error(f"{detail} {plural(len(names), 'name')}")
    return picture._replace(text=names[number])
