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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.apps.markup.tables import Html, escaped

if TYPE_CHECKING:
    import numpy.typing as npt

    Uint8Array = npt.NDArray[np.uint8]

SHOWN_BY_BROWSERS = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp")
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")  # the same as Pillow names them

_SMALL_BYTES, _LARGEST_BYTES = 8 << 10, 64 << 10
"""An image of so many bytes is used as it is; one of more than the second only as a thumbnail."""
_MAX_PIXELS, _MAX_JPEG_PIXELS = 16 << 20, 64 << 20
"""Images of more are not decoded. Of a JPEG, only an eighth of the rows may have to be computed."""
_MAX_ENCODED_BYTES = 64 << 20
_START_OF_SCAN = b"\xff\xda"
_FREE_SCANS = 16
"""A progressive JPEG has about ten scans; in a few bytes it may have thousands, each over all pixels."""
_EXACT_SIZE = 64
"""Images of at most so many pixels each way lose nothing: their pixels may be seen one by one."""


class Thumbnail(NamedTuple):
    """An encoded image that is small enough to be part of a page."""

    data: bytes
    mime: str


def is_too_large(mime: str, n_pixels: int) -> bool:
    """Return whether :func:`thumbnail` does not decode an image, because of its pixels."""
    return n_pixels > (_MAX_JPEG_PIXELS if mime == "image/jpeg" else _MAX_PIXELS)


def pixels_to_decode(data: bytes) -> int | None:
    """Return how many pixels it takes to decode an image; None if it cannot be opened.

    That is Pillow's size, which may be larger than the one that the image begins with; the pixels of
    a JPEG of very many scans count several times. Raises ImportError without Pillow.
    """
    from PIL import Image  # noqa: PLC0415 - optional

    try:
        return _n_pixels(_opened(data, _FORMATS), data)
    except Image.DecompressionBombError:
        return sys.maxsize
    except Exception:  # noqa: BLE001 - decoders raise anything
        return None


def thumbnail(
    data: bytes, mime: str, size: int = 128, *, as_is_bytes: int = _SMALL_BYTES
) -> Thumbnail | None:
    """Return an image of at most `size` pixels each way; None if it cannot be made.

    `mime` is that of `data`, as `media.recognize` finds it. An image of at most `as_is_bytes` is
    returned as it is, of any size in pixels; without Pillow, one of somewhat more too.
    """
    if mime not in SHOWN_BY_BROWSERS or len(data) > _MAX_ENCODED_BYTES:
        return None
    if len(data) <= as_is_bytes:
        return Thumbnail(data, mime)
    try:
        return _made(data, size)
    except ImportError:
        return Thumbnail(data, mime) if len(data) <= _LARGEST_BYTES else None
    except Exception:  # noqa: BLE001 - decoders raise anything
        return None


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


def _made(data: bytes, size: int) -> Thumbnail | None:
    """Encode a smaller image: PNG if it may be transparent or is tiny, otherwise JPEG."""
    small = shrunk(data, (size, size))
    if small is None:
        return None
    is_exact = small.mode == "RGBA" or max(small.size) <= _EXACT_SIZE
    out = io.BytesIO()
    small.save(out, "PNG" if is_exact else "JPEG", quality=85)
    return Thumbnail(out.getvalue(), "image/png" if is_exact else "image/jpeg")


def shrunk(data: bytes, size: tuple[int, int], formats: tuple[str, ...] = _FORMATS) -> Any:
    """Decode an image and make it smaller, if it is larger; Pillow's, RGB or RGBA.

    None if it has too many pixels, or scans over them. `formats` are those allowed, as Pillow names
    them. Raises ImportError without Pillow, and anything for bytes that are not an image.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = _opened(data, formats)
        if is_too_large(f"image/{opened.format.lower()}", _n_pixels(opened, data)):
            return None
        opened.draft("RGB", size)
        small = _in_colour(opened)
        small.thumbnail(size)
        return small.convert("RGBA" if small.mode == "RGBA" else "RGB")


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
