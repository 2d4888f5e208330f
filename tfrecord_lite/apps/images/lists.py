"""Lists of image files, found in a folder of classes or read from a manifest; classes in numbers; reports.

A *manifest* is a CSV, Parquet or JSON-lines file with a row per image: its path, its label, and
other columns, which become features.

::

    folder ───find_images───╮                    ╭─ labels file, one name per line
    manifest ─read_manifest─┴─> Pictures ──number_classes──> label numbers, class names
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
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
    """The files of records, or the folder of images, that were written; empty if nothing was."""
    labels_path: str | None = None
    """The file with the names of the classes, or the manifest."""
    problems: list[ImageProblem] = field(default_factory=list)
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

    def leave_out(self, path: str, detail: str) -> None:
        """Remember an image that cannot be written."""
        self.problems.append(ImageProblem(path, detail))

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
    more: Mapping[str, Any] = {}
    """Its values in the other columns of a manifest."""


def sniff(head: bytes) -> str | None:
    """Return the key in :data:`ENDINGS` of the format that an image's first 32 bytes tell, or None.

    >>> sniff(b"GIF89a"), sniff(b"text")
    ('gif', None)
    """
    found = recognize(head)
    name = "" if found is None else found.format.lower()
    return name if name in ENDINGS else None


# ------------------------------------------------------------------------------- folders


def find_images(folder: str, report: ImageReport) -> list[Picture]:
    """List the images below a folder, sorted; the folders in it are the classes."""
    with os.scandir(folder):  # raises if there is none
        pass
    found = []
    for path in _walk(folder, report, ()):
        ending = os.path.splitext(path)[1].lower()
        if ending not in IMAGE_ENDINGS and (ending or not _begins_as_image(path)):
            report.num_other += 1
            continue
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        if not _is_utf8(name):
            report.leave_out(path, "its name is not UTF-8")
            continue
        text, is_below, below = name.partition("/")
        found.append(Picture(path, below, sys.intern(text)) if is_below else Picture(path, name))
    if any(picture.text is not None for picture in found):
        for picture in found:
            if picture.text is None:
                report.leave_out(picture.path, "not in the folder of a class, as others are")
        found = [picture for picture in found if picture.text is not None]
    return sorted(found, key=lambda picture: (picture.text or "", picture.filename))


def _walk(folder: str, report: ImageReport, above: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths of all files below a folder, but for hidden ones; follow links, but not in circles."""
    here = os.path.realpath(folder)
    if here in above:
        report.leave_out(folder, "a link to a folder that it is in")
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        report.leave_out(folder, error.strerror or str(error))
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
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ----------------------------------------------------------------------------- manifests


def read_manifest(
    path: str,
    report: ImageReport,
    *,
    path_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    root: Path | None = None,
) -> tuple[list[Picture], Schema | None]:
    """Return the images of a manifest, and the schema of its other columns; `columns` are those to keep."""
    os.stat(path)  # raises if there is none
    kind = format_of(path)
    if kind not in ("csv", "tsv", "parquet", "jsonl"):
        detail = "expected a folder, or a manifest: a .csv, .tsv, .parquet or .jsonl file"
        raise argument_error(detail, source=path)
    with closing(open_source(path, kind, ReadSettings())) as source:
        types = source.schema
    for name in (path_column, label_column, *(columns or ())):
        if name is not None and name not in types.names:
            detail = f"there is no such column{nearest(name, types.names)}"
            raise argument_error(detail, key=name, source=path)
    by_lower = {name.lower(): name for name in reversed(types.names)}
    usual = [by_lower[name] for name in _PATH_NAMES if name in by_lower]
    if not (path_column or usual):
        detail = "no column is called as paths usually are; give path_column, one of: "
        raise argument_error(detail + (", ".join(types.names) or "none"), source=path)
    paths_name = path_column or usual[0]
    usual = [by_lower[name] for name in _LABEL_NAMES if name in by_lower]
    labels_name = label_column or next(iter(usual), None)
    texts = {paths_name, FILENAME_KEY, labels_name if LABEL_KEY in types.names else None}
    table = _values_of(path, kind, types, texts - {LABEL_KEY})
    numbers = table.get(LABEL_KEY)
    labels = numbers if labels_name is None else table[labels_name]
    are_named = any(isinstance(label, str) for label in labels or ())
    used = {paths_name, labels_name, LABEL_KEY, FILENAME_KEY, *DERIVED_KEYS}
    more = {}
    for name in types.names if columns is None else columns:
        values = table[name]
        if name not in used and any(value is not None for value in values):
            is_list = any(isinstance(value, list) for value in values)
            more[name] = [[] if v is None else v for v in values] if is_list else values
    try:
        schema = schema_of(more, lossless=False) if more else None
    except InvalidArgumentError as error:
        raise error.at(source=path) from None
    folder = os.path.dirname(path) if root is None else os.fspath(root)
    found = []
    for row, image in enumerate(table[paths_name]):
        place = f"{path}: row {row + 1}"
        label = labels and labels[row]
        number = numbers[row] if numbers else None if are_named else label
        if not isinstance(image, str) or not _is_utf8(image) or "\0" in image:
            report.leave_out(place, "the path is missing, or not a text")
        elif (labels and label is None) or (numbers and number is None):
            report.leave_out(place, f"the label of {image} is missing")
        else:
            filename = FILENAME_KEY in table and table[FILENAME_KEY][row]
            name = filename if isinstance(filename, str) else os.path.basename(image)
            text = str(label) if are_named else None
            number = None if number is None else _whole(number, place)
            others = {key: values[row] for key, values in more.items()}
            found.append(Picture(os.path.join(folder, image), name, text, number, others))
    return found, schema


def _values_of(path: str, kind: str, types: Any, texts: set[str | None]) -> dict[str, list[Any]]:
    """Return the columns of a manifest; those of CSV that are no numbers or lists as texts."""
    pa = arrow.imported()

    def is_text(field: Any) -> bool:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        return field.name in texts or not (is_number or pa.types.is_nested(field.type))

    given = [pa.field(field.name, pa.string()) for field in types if is_text(field)]
    chosen = pa.schema(given) if kind in ("csv", "tsv") else None
    found: dict[str, list[Any]] = {name: [] for name in types.names}
    with closing(open_source(path, kind, ReadSettings(), types=chosen)) as source:
        for batch in source.batches():
            for name, values in batch.to_pydict().items():
                found[name] += values
    return found


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
        if all(name.startswith(f"{i}:") for i, name in enumerate(names)):
            names = [name.partition(":")[2] for name in names]
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
        number, text = picture.number or 0, picture.text
        if text is None and names is not None:
            if not 0 <= number < len(names):
                detail = f"the label {number} of {picture.path} is not in the labels file, which"
                raise argument_error(f"{detail} has {plural(len(names), 'name')}")
            text = names[number]
        made.append(picture._replace(text=text, number=number + offset))
    if names is not None:
        return made, names
    pairs = sorted({(picture.number or 0, picture.text or "") for picture in made})
    texts = [text for _, text in pairs if text and not {"\n", "\r"} & {*text}]
    first = pairs[0][0]
    are_consecutive = [number for number, _ in pairs] == [*range(first, first + len(pairs))]
    are_told = are_consecutive and len(set(texts)) == len(pairs)
    return made, texts if are_told else []
