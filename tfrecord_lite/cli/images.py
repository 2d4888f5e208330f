"""Encoded images of records: drawn on the terminal (``head --images``), or written to files (``--image``).

On the terminal they are half blocks: each character is U+2580, whose colour is one pixel, and the
background's the pixel below. Pillow decodes them and makes them smaller, within the limits of
:mod:`tfrecord_lite.apps.markup.pictures`; nothing of their bytes reaches the terminal as it is.

A file is named by its record's file and number, and what comes before the image in the record::

    train-000007.jpg            the feature of record 7 in train.tfrecord
    train-000007-0003.jpg       step 3 of a feature list; or value 3, if a feature has several
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.apps.markup.pictures import shrunk
from tfrecord_lite.cli.console import Status
from tfrecord_lite.errors import human_bytes, plural
from tfrecord_lite.example.content import ContentType, detect
from tfrecord_lite.example.outline import sections
from tfrecord_lite.schema.text import nearest
from tfrecord_lite.sniff import recognize, recognize_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.arrays import Uint8Array
    from tfrecord_lite.cli.console import Console
    from tfrecord_lite.example.content import Content

_MAX_IMAGES = 4
"""Per record, on the terminal."""
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP", "TIFF", "JPEG2000", "AVIF")
"""As Pillow names them."""
_MAX_ENCODED_BYTES = 64 << 20
_MAX_COLUMNS, _MAX_LINES = 64, 20
_ENDING = re.compile(r"(\.tfrecords?|\.tfr)?(\.(gz|zlib|zst|bz2))?$", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_STEM = 100


def _values(content: Content) -> Iterator[tuple[str, str, bytes]]:
    """Yield a record's byte strings: the feature's name, what tells it apart in it, the bytes."""
    if content.message is None:
        yield "record", "", content.record
        return
    for number, section in enumerate(sections(content.message)):
        part = f"-{number:04d}" if content.type is ContentType.EXAMPLE_LIST else ""
        for row in section.rows:
            for step, feature in enumerate(row.steps):
                place = f"{part}-{step:04d}" if row.is_list else part
                values = feature.bytes_list.value
                for i, value in enumerate(values):
                    yield row.name, f"{place}-{i:04d}" if len(values) > 1 else place, value


# ------------------------------------------------------------------------------ terminal


def can_draw(console: Console) -> bool:
    """Whether images can be drawn; complain if only Pillow is missing."""
    if not (console.has_colour and console.is_utf8):
        return False
    try:
        import PIL  # noqa: F401, PLC0415 - optional
    except ImportError:
        console.complain("--images needs Pillow: pip install 'tfrecord-numpy[image]'")
        return False
    return True


def draw_all(content: Content, console: Console) -> None:
    """Write the name and the picture of each image in a record, up to :data:`_MAX_IMAGES`."""
    found = (
        (name + place, value)
        for name, place, value in _values(content)
        if (media := recognize(value)) is not None and media.kind == "image"
    )
    for name, data in islice(found, _MAX_IMAGES):
        console.say(f"  {name}:")
        try:
            picture = drawn(data)
        except Exception:  # noqa: BLE001 - decoders raise anything
            picture = None
        if picture is None:
            console.say("  (cannot be decoded, or has too many pixels)")
        else:
            console.draw(picture)
    if next(found, None) is not None:
        console.say("  ... more images")


def drawn(data: bytes) -> str | None:
    """Return an encoded image in half blocks; None if it has too many pixels.

    Raises anything that Pillow does.
    """
    columns, _ = shutil.get_terminal_size((80, 24))
    size = max(min(columns - 3, _MAX_COLUMNS), 1), 2 * _MAX_LINES
    image = None if len(data) > _MAX_ENCODED_BYTES else shrunk(data, size, _FORMATS)
    if image is None:
        return None
    pixels: Uint8Array = np.asarray(image.convert("RGBA"))
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, np.zeros_like(pixels[:1])])
    lines = []
    for upper, lower in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        line, before = "", ""
        for top, low in zip(upper, lower, strict=True):
            colours, char = _cell(top, low)
            # Colours last until others come: write them where they change.
            line += char if colours == before else f"\x1b[{colours}m{char}"
            before = colours
        lines.append(f"  {line}\x1b[0m")
    return "\n".join(lines)


def _cell(top: list[int], low: list[int]) -> tuple[str, str]:
    """Return the colours and the character of two pixels; a transparent one has no colour."""
    has_top, has_low = top[3] >= 128, low[3] >= 128
    if has_top and has_low:
        return f"{_colour(38, top)};{_colour(48, low)}", "\u2580"
    if has_top or has_low:
        return f"0;{_colour(38, top if has_top else low)}", "\u2580" if has_top else "\u2584"
    return "0", " "


def _colour(layer: int, pixel: list[int]) -> str:
    """Return the code of a colour: 24 bits, or the nearest of the cube of 6 x 6 x 6."""
    red, green, blue, _ = pixel
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return f"{layer};2;{red};{green};{blue}"
    red, green, blue = (0 if x < 48 else 1 if x < 115 else (x - 35) // 40 for x in pixel[:3])
    return f"{layer};5;{16 + 36 * red + 6 * green + blue}"


# --------------------------------------------------------------------------------- files


class ImageFiles:
    """Writes the images that one feature holds, file by file, and never over another file."""

    def __init__(self, console: Console, key: str, folder: str, *, as_json: bool) -> None:
        self._console = console
        self._key = key
        self._folder = Path(folder)
        self._as_json = as_json
        self.begin()

    def begin(self) -> None:
        """Begin with another file of records."""
        self._likely: ContentType | None = None
        self._n_records = 0
        self._n_without = 0
        self._names: set[str] = set()

    def show(self, record: bytes, index: int, source: str) -> None:
        """Write the images of a record, given its number and the name of its file."""
        content = detect(record, self._likely)
        if content.type is not ContentType.EMPTY:
            self._likely = content.type
        self._n_records += 1
        if content.message is not None:
            self._names.update(row.name for part in sections(content.message) for row in part.rows)
        values = [(place, value) for name, place, value in _values(content) if name == self._key]
        self._n_without += not values
        for place, value in values:
            found = recognize_value(value)
            media = found.media
            if media is None:
                where = f"{source}: record {index}, feature {self._key!r}"
                self._console.complain(f"{where}: expected an encoded image, found {found}")
                continue
            path = self._folder / f"{_stem(source)}-{index:06d}{place}{media.ending}"
            self._write(path, value)
            if self._as_json:
                self._console.say_json(
                    {
                        "file": source,
                        "record": index,
                        "image": str(path),
                        "format": media.format,
                        "bytes": len(value),
                        "width": media.width,
                        "height": media.height,
                    }
                )
            else:
                self._console.say(f"{path}  {media}, {human_bytes(len(value))}")

    def _write(self, path: Path, data: bytes) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            detail = "is not a folder; name one with -o"
            raise NotADirectoryError(errno.ENOTDIR, detail, str(self._folder)) from None
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            detail = "exists; remove it, or name another folder with -o"
            raise FileExistsError(errno.EEXIST, detail, str(path)) from None

    def finish(self, source: str) -> None:
        """Report the records of a file that lack the feature."""
        if not self._n_without:
            return
        of = f"{self._n_without:,} of {plural(self._n_records, 'record')}"
        has_none = self._n_without == self._n_records
        hint = nearest(self._key, self._names - {self._key}) if has_none else ""
        status = Status.FAILED if has_none else Status.INTACT
        text = f"{source}: {of} without byte strings in a feature {self._key!r}{hint}"
        self._console.complain(text, status)


def _stem(source: str) -> str:
    """Return a data file's name without its ending, as part of the name of an image's file."""
    base = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    return _UNSAFE.sub("_", _ENDING.sub("", base))[-_MAX_STEM:].strip("_.") or "record"
