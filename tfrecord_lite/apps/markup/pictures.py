"""Small pictures in a page: thumbnails of encoded images, as part of the HTML.

Pillow makes the thumbnails if it is installed, of the formats that browsers show. Without it, and of
what is small anyway, the image itself is used. A picture is bounded in bytes, and so is the work:
images of too many pixels are not decoded, nor JPEGs that go over them too often.
"""

from __future__ import annotations

import base64
import io
import struct
import sys
import warnings
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfrecord_lite.apps.markup.tables import Html, escaped

if TYPE_CHECKING:
    from tfrecord_lite.sniff import Media

    Uint8Array = npt.NDArray[np.uint8]

_SHOWN_BY_BROWSERS = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp")
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")  # the same as Pillow names them

_SMALL_BYTES, _LARGEST_BYTES = 8 << 10, 64 << 10
"""An image of so many bytes is used as it is; without Pillow, one of up to the second."""
_MAX_PIXELS, _MAX_JPEG_PIXELS = 16 << 20, 64 << 20
"""Images of more are not decoded. Of a JPEG, only an eighth of the rows may have to be computed."""
_MAX_ENCODED_BYTES = 64 << 20
_START_OF_SCAN = b"\xff\xda"
_FREE_SCANS = 16
"""A progressive JPEG has about ten scans; in a few bytes it may have thousands, each over all pixels."""
_EXACT_SIZE = 64
"""Images of at most so many pixels each way lose nothing: their pixels may be seen one by one."""


@dataclass(slots=True)
class Budget:
    """What the contents of one page may still take, all together; cells take it as they are made."""

    characters: int = 8_000_000
    """Of markup, without pictures and sounds."""
    card_characters: int = 4_000_000
    """Of the cards and the schema."""
    pictures: int = 1000
    pixels: int = 300_000_000
    """That may be decoded, which takes some seconds for all of them; a JPEG's count a quarter."""
    picture_bytes: int = 8 << 20
    """Of thumbnails and strips."""
    detail_bytes: int = 16 << 20
    """Of large pictures and sounds."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is shown."""
        return self.characters <= 0

    def take(self, **amounts: int) -> bool:
        """Take some of each; return whether all was left, otherwise nothing is taken."""
        if any(getattr(self, name) < amount for name, amount in amounts.items()):
            return False
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) - amount)
        return True


class Thumbnail(NamedTuple):
    """An encoded image that is small enough to be part of a page."""

    data: bytes
    mime: str


def thumbnail(
    data: bytes,
    media: Media,
    budget: Budget,
    size: int = 128,
    *,
    is_detail: bool = False,
    is_kept: bool = True,
) -> Thumbnail | str:
    """Return an image of at most `size` pixels each way, or why there is none.

    A small one is returned as it is if `is_kept`, of any size in pixels. What it takes is taken from
    the budget, of which details have a part of their own.
    """
    n_pixels = (media.width or 0) * (media.height or 0)
    broken = f"broken {media.format}, which cannot be decoded"
    made: Thumbnail | None = None
    if media.mime not in _SHOWN_BY_BROWSERS:
        return f"{media.format} is not shown here"
    if _is_too_large(media.format, n_pixels):
        return f"not decoded, as {n_pixels:,} pixels are too many"
    try:
        opened = _opened(data, _FORMATS)
        n_pixels = max(n_pixels, _n_pixels(opened, data))  # it may be more than the image says
    except ImportError:
        if len(data) > _LARGEST_BYTES:
            return "not shown without Pillow"
        made = Thumbnail(data, media.mime)
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        if type(error).__name__ != "DecompressionBombError":
            return broken
        n_pixels = sys.maxsize
    if _is_too_large(media.format, n_pixels) or len(data) > _MAX_ENCODED_BYTES:
        return "not decoded, as it would take too long"
    if not budget.take(pictures=1, pixels=n_pixels // 4 if media.format == "JPEG" else n_pixels):
        return "not shown, as there are enough pictures"
    if is_kept and len(data) <= _SMALL_BYTES:
        made = Thumbnail(data, media.mime)
    if made is None:
        try:
            small = _shrunk(opened, (size, size))
        except Exception:  # noqa: BLE001 - decoders raise anything
            return broken
        # PNG if it may be transparent or is tiny, otherwise JPEG.
        is_exact = small.mode == "RGBA" or max(small.size) <= _EXACT_SIZE
        out = io.BytesIO()
        small.save(out, "PNG" if is_exact else "JPEG", quality=85)
        made = Thumbnail(out.getvalue(), "image/png" if is_exact else "image/jpeg")
    pot = "detail_bytes" if is_detail else "picture_bytes"
    return made if budget.take(**{pot: len(made.data)}) else "not shown: the page is full"


def thumbnail_of_pixels(pixels: Uint8Array, size: int = 128) -> Thumbnail:
    """Encode pixels (height, width) or (height, width, 1, 3 or 4) as PNG, every n-th if they are many."""
    step = max(-(-max(pixels.shape[:2]) // size), 1)
    small = np.ascontiguousarray(pixels[::step, ::step])
    height, width = small.shape[:2]
    colour = {1: 0, 3: 2, 4: 6}[small.shape[2] if small.ndim == 3 else 1]
    lines = np.zeros((height, 1 + small[0].size), np.uint8)  # each line after its filter, none
    lines[:, 1:] = small.reshape(height, -1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    ]
    encoded = [
        struct.pack(">I", len(content)) + name + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    ]  # fmt: skip
    return Thumbnail(b"\x89PNG\r\n\x1a\n" + b"".join(encoded), "image/png")


def picture(
    shown: Thumbnail, alternative: str, size: tuple[int, int], name: str = "v-picture"
) -> Html:
    """Return an element with an image, shown with a width and height, and the text that stands for it."""
    encoded = base64.b64encode(shown.data).decode()
    text = escaped(alternative)
    sides = f'width="{size[0]}" height="{size[1]}"'
    return Html(
        f'<img class="{name}" src="data:{escaped(shown.mime)};base64,{encoded}" alt="{text}" title="{text}" {sides}>'
    )


def shrunk(data: bytes, size: tuple[int, int], formats: tuple[str, ...] = _FORMATS) -> Any:
    """Decode an image and make it smaller, if it is larger; Pillow's, RGB or RGBA.

    None if it has too many pixels, or scans over them. `formats` are those allowed, as Pillow names
    them. Raises ImportError without Pillow, and anything for bytes that are not an image.
    """
    opened = _opened(data, formats)
    return None if _is_too_large(opened.format, _n_pixels(opened, data)) else _shrunk(opened, size)


def _shrunk(opened: Any, size: tuple[int, int]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened.draft("RGB", size)
        small = _in_colour(opened)
        small.thumbnail(size)
        return small.convert("RGBA" if small.mode == "RGBA" else "RGB")


def _is_too_large(format_name: str, n_pixels: int) -> bool:
    return n_pixels > (_MAX_JPEG_PIXELS if format_name == "JPEG" else _MAX_PIXELS)


def _opened(data: bytes, formats: tuple[str, ...]) -> Any:
    """Open an image, which reads its header."""
    from PIL import Image  # noqa: PLC0415 - optional

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers that are odd, or sizes, which are checked
        return Image.open(io.BytesIO(data), formats=formats)


def _n_pixels(opened: Any, data: bytes) -> int:
    n_pixels: int = opened.width * opened.height
    if opened.format not in {"JPEG", "MPO"}:
        return n_pixels
    return n_pixels * max(-(-data.count(_START_OF_SCAN) // _FREE_SCANS), 1)


def _in_colour(opened: Any) -> Any:
    """Return an image in a mode that can be made smaller; wide numbers as grey from end to end."""
    if opened.mode[:1] in {"I", "F"}:
        low, high = opened.getextrema()
        scale = 255 / (high - low) if high > low else 0
        return opened.convert("F").point(lambda value: value * scale - low * scale).convert("L")
    is_clear = "A" in opened.mode or "a" in opened.mode or "transparency" in opened.info
    return opened.convert("RGBA" if is_clear else "RGB")
