"""Lists of image files, found in a folder of classes or read from a manifest; classes in numbers; reports.

A *manifest* is a CSV, Parquet or JSON-lines file with a row per image: its path, its label, and
other columns, which become features.

::

    folder ──find_images──╮                         ╭─ labels file, one name per line
    manifest ─read_manifest─┴─> ImageList ──number_classes──> label numbers, class names
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tfrecord_lite.apps.tables.formats import format_of, open_source
from tfrecord_lite.convert import arrow
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import DamageReport, InvalidArgumentError, argument_error, plural
from tfrecord_lite.files.names import name_of
from tfrecord_lite.options import ReadSettings
from tfrecord_lite.schema import Schema
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.sniff import recognize

if TYPE_CHECKING:
    Path = str | os.PathLike[str]

LABEL_KEY, TEXT_KEY, FILENAME_KEY = "image/class/label", "image/class/text", "image/filename"
DERIVED_KEYS = frozenset(
    f"image/{name}" for name in ("encoded", "format", "height", "width", "channels", "colorspace")
)
"""Features that the image itself tells."""

ENDINGS: dict[str, tuple[str, ...]] = {
    "bmp": (".bmp", ".dib"),
    "gif": (".gif",),
    "jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "png": (".png", ".apng"),
    "webp": (".webp",),
}
"""The endings of the names of each format's files, the usual one first."""
_OTHER_ENDINGS = (".avif", ".heic", ".heif", ".ico", ".j2k", ".jp2", ".jxl", ".pbm", ".pgm", ".pnm", ".ppm", ".psd", ".svg", ".tga", ".tif", ".tiff")  # fmt: skip
IMAGE_ENDINGS: frozenset[str] = frozenset(
    [*_OTHER_ENDINGS, *(end for ends in ENDINGS.values() for end in ends)]
)

_PATH_NAMES = ("path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path", "image_file", "img", "img_path")  # fmt: skip
_LABEL_NAMES = ("label", "class", "category", "class_name", "label_name", "target", TEXT_KEY)
_SLIM_LABEL = re.compile(r"(\d+):(.*)")


class ImageProblem(NamedTuple):
    """An image that was left out, and why."""

    path: str
    detail: str


@dataclass(frozen=True)
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


class Picture(NamedTuple):
    """An image to pack."""

    path: str
    filename: str
    text: str | None = None
    """Name of its class."""
    number: int | None = None
    """Number of its class."""
    row: int = 0
    """Of the manifest."""


@dataclass
class ImageList:
    """The images of a folder or manifest, and what was left out."""

    pictures: list[Picture] = field(default_factory=list)
    problems: list[ImageProblem] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    """Other columns of a manifest, with a value per row."""
    schema: Schema | None = None
    """Of these columns."""
    num_hidden: int = 0
    num_other: int = 0

    def leave_out(self, path: str, detail: str) -> None:
        """Remember an image that cannot be packed."""
        self.problems.append(ImageProblem(path, detail))


def sniff(head: bytes) -> str | None:
    """Return the key in :data:`ENDINGS` of the format that an image's first 32 bytes tell, or None.

    >>> sniff(b"GIF89a"), sniff(b"text")
    ('gif', None)
    """
    found = recognize(head)
    name = "" if found is None else found.format.lower()
    return name if name in ENDINGS else None


# ------------------------------------------------------------------------------- folders


def find_images(folder: str) -> ImageList:
    """List the images below a folder, sorted; the folders in it are the classes."""
    found = ImageList()
    with os.scandir(folder):  # raises if there is none
        pass
    for path in _walk(folder, found, ()):
        ending = os.path.splitext(path)[1].lower()
        if ending not in IMAGE_ENDINGS and (ending or not _begins_as_image(path)):
            found.num_other += 1
            continue
        text, *below = os.path.relpath(path, folder).replace(os.sep, "/").split("/", 1)
        name = below[0] if below else text
        if _is_utf8(text + name):
            found.pictures.append(Picture(path, name, sys.intern(text) if below else None))
        else:
            found.leave_out(path, "its name is not UTF-8")
    if any(picture.text is not None for picture in found.pictures):
        for picture in found.pictures:
            if picture.text is None:
                found.leave_out(picture.path, "not in the folder of a class, as others are")
        found.pictures = [picture for picture in found.pictures if picture.text is not None]
    found.pictures.sort(key=lambda picture: (picture.text or "", picture.filename))
    return found


def _walk(folder: str, found: ImageList, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Yield the paths of all files below a folder, but for hidden ones; follow links, but not in circles."""
    try:
        status = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        found.leave_out(folder, error.strerror or str(error))
        return
    here = (status.st_dev, status.st_ino)
    if here in above:
        found.leave_out(folder, "a link to a folder that it is in")
        return
    for entry in entries:
        if entry.name.startswith("."):
            found.num_hidden += 1
        elif entry.is_dir():
            yield from _walk(entry.path, found, (*above, here))
        else:
            yield entry.path


def _begins_as_image(path: str) -> bool:
    with contextlib.suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return sniff(file.read(32)) is not None
    return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ----------------------------------------------------------------------------- manifests


def read_manifest(
    path: str,
    *,
    path_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    root: Path | None = None,
) -> ImageList:
    """Read the rows of a manifest; `columns` are the others to keep, by default all."""
    os.stat(path)  # raises if there is none
    kind = format_of(path)
    if kind not in ("csv", "tsv", "parquet", "jsonl"):
        detail = "expected a folder, or a manifest: a .csv, .tsv, .parquet or .jsonl file"
        raise argument_error(detail, source=path)
    with closing(open_source(path, kind, ReadSettings())) as source:
        names, types = source.names or [], source.schema
    paths_name = _choose("path_column", path_column, _PATH_NAMES, names, path)
    if paths_name is None:
        detail = "no column is called as paths usually are; give path_column, one of: "
        raise argument_error(detail + (", ".join(names) or "none"), source=path)
    labels_name = _choose("label_column", label_column, _LABEL_NAMES, names, path)
    kept = names if columns is None else list(columns)
    for name in kept:
        if name not in names:
            detail = f"there is no such column{nearest(name, names)}"
            raise argument_error(detail, key=name, source=path)
    texts = {paths_name, FILENAME_KEY, labels_name if LABEL_KEY in names else None} - {LABEL_KEY}
    table = _values_of(path, kind, types, texts)
    numbers = table.get(LABEL_KEY)
    labels = numbers if labels_name is None else table[labels_name]
    are_named = any(isinstance(label, str) for label in labels or ())
    folder = os.path.dirname(path) if root is None else os.fspath(root)
    found = ImageList()
    for row, image in enumerate(table[paths_name]):
        place = f"{path}: row {row + 1}"
        label = labels and labels[row]
        number = numbers[row] if numbers else None if are_named else label
        if not isinstance(image, str) or not _is_utf8(image) or "\0" in image:
            found.leave_out(place, "the path is missing, or not a text")
        elif (labels and label is None) or (numbers and number is None):
            found.leave_out(place, f"the label of {image} is missing")
        else:
            filename = FILENAME_KEY in table and table[FILENAME_KEY][row]
            name = filename if isinstance(filename, str) else os.path.basename(image)
            text = str(label) if are_named else None
            number = None if number is None else _whole(number, place)
            found.pictures.append(Picture(os.path.join(folder, image), name, text, number, row))
    used = {paths_name, labels_name, LABEL_KEY, FILENAME_KEY, *DERIVED_KEYS}
    for name in kept:
        values = table[name]
        if name not in used and any(value is not None for value in values):
            is_list = any(isinstance(value, list) for value in values)
            found.columns[name] = [[] if v is None else v for v in values] if is_list else values
    try:
        found.schema = schema_of(found.columns, lossless=False) if found.columns else None
    except InvalidArgumentError as error:
        raise error.at(source=path) from None
    return found


def _values_of(path: str, kind: str, types: Any, texts: set[str | None]) -> dict[str, list[Any]]:
    """Return the columns of a manifest; those of CSV that are no numbers or lists as texts."""
    pa = arrow.imported()

    def is_text(field: Any) -> bool:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        return field.name in texts or not (is_number or pa.types.is_nested(field.type))

    given = [pa.field(field.name, pa.string()) for field in types if is_text(field)]
    found: dict[str, list[Any]] = {name: [] for name in types.names}
    is_typed = kind in ("parquet", "jsonl")
    types = None if is_typed else pa.schema(given)
    with closing(open_source(path, kind, ReadSettings(), types=types)) as source:
        for batch in source.batches():
            for name, values in batch.to_pydict().items():
                found[name] += values
    return found


def _choose(
    argument: str, given: str | None, usual: Sequence[str], names: Sequence[str], path: str
) -> str | None:
    """Return the name of the column that an argument names, or of the first with a usual name."""
    if given is None:
        by_lower = {name.lower(): name for name in reversed(names)}
        return next((by_lower[name] for name in usual if name in by_lower), None)
    if given not in names:
        detail = f"there is no column {given!r}{nearest(given, names)}, which {argument} names"
        raise argument_error(detail, source=path)
    return given


def _whole(label: Any, place: str) -> int:
    """Return the number of a label, which may be a float where others are missing."""
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
        source = name_of(labels)
        with open(labels, encoding="utf-8-sig") as file:
            names = file.read().removesuffix("\n").split("\n")
        pairs = [match for match in map(_SLIM_LABEL.fullmatch, names) if match]
        if len(pairs) == len(names) and [int(pair[1]) for pair in pairs] == [*range(len(names))]:
            names = [pair[2] for pair in pairs]
    else:
        names = list(labels)
        if not all(isinstance(name, str) for name in names):
            raise TypeError("labels must be the path of a file, or a sequence of str")
    if len(set(names)) < len(names):
        raise argument_error("two of the labels are the same", source=source)
    return names


def number_classes(
    pictures: list[Picture], names: list[str] | None, offset: int
) -> tuple[list[Picture], list[str]]:
    """Return the images with the name and number of each class, and the names by number.

    Numbers that a manifest has are kept. There are no names if they do not tell the numbers.
    """
    if any(picture.number is not None for picture in pictures):
        return _with_names(pictures, names, offset)
    found = sorted({picture.text for picture in pictures if picture.text is not None})
    classes = found if names is None else names
    numbers = {name: i for i, name in enumerate(classes, offset)}
    for name in found:
        if name not in numbers:
            detail = f"the class {name!r} is not in the labels file{nearest(name, classes)}"
            raise argument_error(detail)
        if "\n" in name or "\r" in name:
            raise argument_error(f"the name of the class {name!r} has a line break; rename it")
    return [
        picture if picture.text is None else picture._replace(number=numbers[picture.text])
        for picture in pictures
    ], classes


def _with_names(
    pictures: list[Picture], names: list[str] | None, offset: int
) -> tuple[list[Picture], list[str]]:
    """Name classes that have numbers only, and add the offset to these."""
    made = []
    for picture in pictures:
        number = picture.number or 0
        if picture.text is None and names is not None:
            if not 0 <= number < len(names):
                detail = (
                    f"the label {number} of {picture.path} is not in the labels file, which has"
                )
                raise argument_error(f"{detail} {plural(len(names), 'name')}")
            picture = picture._replace(text=names[number])  # noqa: PLW2901
        made.append(picture._replace(number=number + offset))
    if names is not None:
        return made, names
    pairs = sorted({(picture.number or 0, picture.text) for picture in made})
    numbers = [number for number, _ in pairs]
    texts = [text for _, text in pairs if text is not None and not {"\n", "\r"} & {*text}]
    start = numbers[0]
    are_told = numbers == [*range(start, start + len(set(texts)))] and len(texts) == len(pairs)
    return made, texts if are_told else []
