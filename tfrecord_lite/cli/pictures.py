"""Images of records on the terminal, for ``tfrecord head --images``.

Each character is the half block U+2580, whose colour is one pixel, and the background's the pixel below.
Pillow decodes the images and makes them smaller, within the limits of
:mod:`tfrecord_lite.apps.markup.pictures`; nothing of their bytes reaches the terminal as it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.apps.markup.pictures import shrunk
from tfrecord_lite.example.content import Content
from tfrecord_lite.example.outline import sections
from tfrecord_lite.sniff import recognize

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Uint8Array
    from tfrecord_lite.cli.console import Console

_MAX_IMAGES = 4
"""Per record."""
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP", "TIFF", "JPEG2000", "AVIF")
"""As Pillow names them."""
_MAX_ENCODED_BYTES = 64 << 20
_MAX_COLUMNS, _MAX_LINES = 64, 20


def can_draw(console: Console) -> bool:
    """Whether images can be drawn; complain if only Pillow is missing."""
    if not (console.has_colour and console.is_utf8):
        return False
    try:
        import PIL  # noqa: F401, PLC0415 - optional
    except ImportError:
        console.complain("--images needs Pillow: pip install pillow")
        return False
    return True


def draw_all(content: Content, console: Console) -> None:
    """Write the name and the picture of each image in a record, up to :data:`_MAX_IMAGES`."""
    found = _images(content)
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


def _images(content: Content) -> Iterator[tuple[str, bytes]]:
    """Yield the encoded images of a record: the feature's name, with step and number if there are several."""
    values = [("record", content.record)] if content.message is None else []
    for section in sections(content.message) if content.message is not None else ():
        for row in section.rows:
            for step, feature in enumerate(row.steps):
                for i, value in enumerate(feature.bytes_list.value):
                    place = f"-{step:04d}" * row.is_list
                    place += f"-{i:04d}" * (len(feature.bytes_list.value) > 1)
                    values.append((row.name + place, value))
    for name, value in values:
        if (media := recognize(value)) is not None and media.kind == "image":
            yield name, value


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
