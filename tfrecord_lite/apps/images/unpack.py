"""unpack_images: the images in TFRecord files to a folder.

::

    records ──decode_examples──> contents ──> FOLDER/class/name
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from tfrecord_lite import decode_examples, decode_sequence_example
from tfrecord_lite.apps.images import pack
from tfrecord_lite.apps.images.pack import ImageReport
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.extension import Sources, name_of
from tfrecord_lite.options import ReadOptions, read_settings
from tfrecord_lite.progress import Progress, check_progress, metered, title_of
from tfrecord_lite.reader import reader_with
from tfrecord_lite.texts import choices, plural

__all__ = ["unpack_images"]


_USUAL = {
    "format": ("image/format", "format"),
    "filename": (pack.FILENAME_KEY, "filename", "file_name", "image/source_id", "image_name"),
    "label": (pack.LABEL_KEY, "label", "class", "image/label"),
    "text": (pack.TEXT_KEY, "class_name", "label_name", "class/text"),
}


def unpack_images(
    paths: Sources,
    folder: str | os.PathLike[str],
    *,
    image_key: str | None = None,
    filename_key: str | None = None,
    label_key: str | None = None,
    text_key: str | None = None,
    progress: Progress = None,
    **options: Unpack[ReadOptions],
) -> ImageReport:
    """Unpack the images of TFRecord files into a folder, with a folder for each class.

    Parameters
    ----------
    paths : str, PathLike, binary file object, or an iterable of them
        As for :class:`TFRecordReader`.
    folder : str or PathLike
        The folder to make; it must not exist, or be empty. It appears complete or not at all.
    image_key, filename_key, label_key, text_key : str, optional
        The features with the image, its file's name, the number and the name of its class. By default as
        :func:`pack_images` and others name them; or the only feature whose bytes begin as an image does.
    progress : bool or callable, optional
        As for :func:`load`; counts records.
    **options
        See :class:`ReadOptions`. Records without an image are left out too, unless `on_error` is ``"raise"``.

    Returns
    -------
    ImageReport

    Raises
    ------
    InvalidArgumentError
        ``MISSING`` with ``on_error="raise"`` about a record without an image, and if there is none at all;
        ``MALFORMED`` for a record that is not an Example.
    DataLossError, OSError
        For a damaged record; if `folder` is not empty or cannot be written, or a file cannot be read.

    Notes
    -----
    Nothing is written outside of `folder`, whatever the records say: a name with ``..``, or an absolute one,
    is cut to its last part. Equal names get numbers. Names that Windows reserves begin with an underscore.
    A name without an image's ending gets that of the format; the default name is the record's number.
    Contents are not changed or checked. Other features are not written.

    Examples
    --------
    >>> import os
    >>> with TFRecordWriter("pets.tfrecord") as writer:
    ...     writer.write_example(image_row(np.zeros((4, 6), np.uint8), label=3))
    >>> unpack_images("pets.tfrecord", "pets")
    <ImageReport: 1 image, 1 class>
    >>> os.listdir("pets"), os.listdir("pets/3")
    (['3'], ['00000000.png'])
    """
    settings = read_settings(options)
    keys = {"image": image_key, "filename": filename_key, "label": label_key, "text": text_key}
    start = time.monotonic()
    check_progress(progress)
    reader = reader_with(paths, settings)
    report = ImageReport(paths=[os.fspath(folder)])
    classes: set[str] = set()
    numbers: dict[str, int] = {}
    n_records, advice, features = 0, "", dict[str, None]()
    with (
        _new_folder(Path(os.path.abspath(folder))) as temporary,
        metered(progress, title_of(reader.sources), "records") as meter,
        closing(reader.blocks()) as blocks,  # type: ignore[type-var]
    ):
        for block in blocks:
            for i, row in enumerate(decode_examples(block)):
                features |= dict.fromkeys(row)
                images = _images_in(row, keys, n_records)
                n_records += 1
                meter.update(n_records)
                if isinstance(images, str):
                    place = block.place(i)
                    advice = advice or _advice(row, block[i])
                    if settings.on_error == "raise":
                        error = InvalidArgumentError(Reason.MISSING, detail=images + advice)
                        raise place.locate(error)
                    where = f"{place.source}: record {place.index}"
                    report.problems.append(pack.ImageProblem(where, images))
                    continue
                for image in images:
                    _write(temporary, image.parts, image.content, numbers)
                    report.num_bytes += len(image.content)
                classes |= {image.class_name for image in images if image.class_name}
                report.num_images += len(images)
        for name, key in keys.items():
            if key not in (None, *features):
                others = choices(key, features)
                raise argument_error(f"{name}_key: no record has a feature {key!r}{others}")
        if not report.num_images:
            source = name_of(reader.sources[0]) if len(reader.sources) == 1 else None
            reason = f"; in the first {report.problems[0].detail}" if report.problems else ""
            detail = f"no image in {plural(n_records, 'record')}{reason}{advice}"
            raise InvalidArgumentError(Reason.MISSING, source=source, detail=detail)
        meter.finish()
    report.classes = sorted(classes)
    report.damage, report.seconds = reader.report, time.monotonic() - start
    return report


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


class _Image(NamedTuple):
    content: bytes
    parts: list[str]
    """The ending of its path."""
    class_name: str
    """Empty if it has none."""


def _images_in(row: dict[str, Any], keys: dict[str, str | None], number: int) -> list[_Image] | str:
    """Return the images of a record; or why there is none."""
    image_key = keys["image"] or _image_key(row)
    contents = row[image_key].tolist() if image_key in row else []
    if not contents or not isinstance(contents[0], bytes):
        what = "is missing" if image_key not in row else "has no byte strings"
        return f"the feature {image_key!r} {what}"
    values: dict[str, Any] = {}
    for name, usual in _USUAL.items():
        column = row.get(keys.get(name) or next(filter(row.__contains__, usual), ""))
        values[name] = column.tolist()[0] if column is not None and len(column) == 1 else None
    class_name = _text(values["text"]) or _text(values["label"])
    if not class_name and isinstance(values["label"], int):
        class_name = str(values["label"])
    images = []
    for content in contents:
        kind = pack.sniff(content[:32])
        ending = f".{_text(values['format'])}".lower() if kind is None else pack.ENDINGS[kind][0]
        if ending not in pack.IMAGE_ENDINGS:
            return f"the feature {image_key!r} is not an image of a known format"
        parts = _parts(_text(values["filename"]) or f"{number:08d}")
        if os.path.splitext(parts[-1])[1].lower() not in pack.IMAGE_ENDINGS:
            parts[-1] += ending
        images.append(_Image(content, [class_name, *parts] if class_name else parts, class_name))
    return images


def _advice(row: dict[str, Any], record: bytes) -> str:
    if decode_sequence_example(record)["feature_lists"]:
        return "; SequenceExamples are not unpacked, read_batches and decode_images do it"
    names = sorted(_bytes_keys(row))[:20]
    is_like_one = any(pack.sniff(row[name][0][:32]) for name in names)
    lead = "" if is_like_one else "; no feature begins as an image does"
    return f"{lead}; give image_key, one of: {', '.join(map(repr, names))}" if names else lead


def _write(root: Path, parts: list[str], content: bytes, numbers: dict[str, int]) -> None:
    """Write a file below a folder under a name that is free.

    `numbers` has the last number that was added to a name, by paths.
    """
    parts = [_component(part) for part in parts]
    folder = root.joinpath(*parts[:-1])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):  # a file has the name of a folder
        parts = ["_".join(parts[:-1])[:100] + "_", parts[-1]]
        folder = root / parts[0]
        folder.mkdir(exist_ok=True)
    stem, ending = os.path.splitext(parts[-1])
    key = "/".join(parts)
    while True:
        number = numbers.get(key, 0)
        name = _fitted(stem, f"-{number}{ending}" if number else ending)
        try:
            with open(folder / name, "xb") as file:
                file.write(content)
        except FileExistsError:
            numbers[key] = number + 1
        else:
            return


def _text(value: Any) -> str:
    """Return a byte string that is text; an empty text for other values."""
    with contextlib.suppress(AttributeError, UnicodeDecodeError):
        return str(value.decode())
    return ""


def _image_key(row: dict[str, Any]) -> str:
    """Return the usual key of images, or else the only one whose bytes begin as an image does."""
    if "image/encoded" in row:
        return "image/encoded"
    keys = [name for name in _bytes_keys(row) if pack.sniff(row[name][0][:32])]
    return keys[0] if len(keys) == 1 else "image/encoded"


def _bytes_keys(row: dict[str, Any]) -> list[str]:
    return [name for name, values in row.items() if values.dtype == object and values.size]


_UNSAFE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
_SEPARATOR = re.compile(r"[/\\]")
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?")
_FORBIDDEN = re.compile(r'[\0-\x1f<>:"|?*/\\]' if os.name == "nt" else r"[\0/\\]")
_MAX_NAME, _MAX_PARTS, _MAX_PATH = 255, 16, 1000


def _parts(filename: str) -> list[str]:
    """Return the parts of a file's name, only the last one if others may lead elsewhere."""
    parts = [part for part in _SEPARATOR.split(filename) if part not in ("", ".")] or ["unnamed"]
    is_unsafe = _UNSAFE.match(filename) is not None or ".." in parts
    is_long = len(parts) > _MAX_PARTS or len(filename.encode()) > _MAX_PATH
    return parts[-1:] if is_unsafe or is_long else parts


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
    return stem.encode()[: _MAX_NAME - len(ending.encode())].decode(errors="ignore") + ending
