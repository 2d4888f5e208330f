"""Small pictures in a page: thumbnails of encoded images and of pixels, as part of the HTML.

Pillow makes them, of the formats that browsers show. A picture is bounded in bytes, and so is the work:
images of too many pixels are not decoded, nor JPEGs that go over them too often.
"""

from __future__ import annotations

import base64
import io
import sys
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfrecord_lite.apps.markup.tables import Html, escaped
from tfrecord_lite.arrays import Uint8Array
from tfrecord_lite.sniff import Media

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "WEBP")
"""Shown by browsers, as Pillow names them."""
_MAX_PIXELS, _MAX_JPEG_PIXELS = 16 << 20, 64 << 20
"""Larger images are not decoded. For a JPEG, an eighth of the rows may be enough."""
_MAX_ENCODED_BYTES = 64 << 20
_START_OF_SCAN = b"\xff\xda"
_FREE_SCANS = 16
"""A progressive JPEG has about ten scans; in a few bytes it may have thousands, each over all pixels."""
EXACT_SIZE = 64
"""Images of at most so many pixels each way lose nothing: their pixels may be seen one by one."""


@dataclass(slots=True)
class Budget:
    """What the contents of one page may still take, all together; cells take it as they are made."""

    characters: int = 8_000_000
    """Of markup, without pictures and sounds."""
    card_characters: int = 4_000_000
    """The most characters of the cards and the schema."""
    pictures: int = 1000
    pixels: int = 300_000_000
    """That may be decoded, which takes some seconds for all of them; a JPEG's count a quarter."""
    picture_bytes: int = 8 << 20
    """The most bytes of thumbnails and strips."""
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
    width: int
    height: int


def thumbnail(
    data: bytes, media: Media, budget: Budget, size: int = 128, *, is_detail: bool = False
) -> Thumbnail | str:
    """Return an image of at most `size` pixels each way, or why there is none.

    Its size is taken from the budget; details have a part of their own.
    """
    n_pixels, broken = sys.maxsize, f"broken {media.format}, which cannot be decoded"
    if media.format.upper() not in _FORMATS:
        return f"{media.format} is not shown here"
    try:
        opened = _opened(data)
        n_pixels = _n_pixels(opened, data)
    except ImportError:
        return "not shown without Pillow"
    except Exception as error:  # noqa: BLE001 - decoders raise anything
        if type(error).__name__ != "DecompressionBombError":
            return broken
    limit = _MAX_JPEG_PIXELS if media.format == "JPEG" else _MAX_PIXELS
    if n_pixels > limit or len(data) > _MAX_ENCODED_BYTES:
        return "not decoded, as it would take too long"
    if not budget.take(pictures=1, pixels=n_pixels // (4 if media.format == "JPEG" else 1)):
        return "not shown, as there are enough pictures"
    try:
        encoded = _encoded(_shrunk(opened, (size, size)))
    except Exception:  # noqa: BLE001 - decoders raise anything
        return broken
    pot = "detail_bytes" if is_detail else "picture_bytes"
    return encoded if budget.take(**{pot: len(encoded.data)}) else "not shown: the page is full"


def thumbnail_of_pixels(pixels: Uint8Array, size: int = 128) -> Thumbnail:
    """Encode pixels (height, width) or (height, width, 1, 3 or 4) as PNG, every n-th if they are many."""
    from PIL import Image  # noqa: PLC0415 - optional

    step = max(-(-max(pixels.shape[:2]) // size), 1)
    small = pixels[::step, ::step]
    if small.shape[2:] == (1,):
        small = small[:, :, 0]
    return _encoded(Image.fromarray(np.ascontiguousarray(small)), is_exact=True)


def _encoded(image: Any, *, is_exact: bool = False) -> Thumbnail:
    """Encode an image of Pillow's: as PNG if it may be transparent or is tiny, otherwise as JPEG."""
    is_exact = is_exact or image.mode == "RGBA" or max(image.size) <= EXACT_SIZE
    out = io.BytesIO()
    image.save(out, "PNG" if is_exact else "JPEG", quality=85)
    return Thumbnail(out.getvalue(), "image/png" if is_exact else "image/jpeg", *image.size)


def picture(shown: Thumbnail, text: str, size: tuple[int, int], name: str = "v-picture") -> Html:
    """Return an element with an image, shown with a width and height, and the text in its place."""
    encoded, text = base64.b64encode(shown.data).decode(), escaped(text)
    return Html(
        f'<img class="{name}" src="data:{shown.mime};base64,{encoded}" alt="{text}" '
        f'title="{text}" width="{size[0]}" height="{size[1]}">'
    )


def _shrunk(opened: Any, size: tuple[int, int]) -> Any:
    """Return a smaller image, in colours; of wide numbers in grey, from the smallest to the largest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened.draft("RGB", size)
        is_clear = "A" in opened.mode or "a" in opened.mode or "transparency" in opened.info
        if opened.mode[:1] in {"I", "F"}:
            low, high = opened.getextrema()
            scale = 255 / (high - low) if high > low else 0
            opened = opened.convert("F").point(lambda value: value * scale - low * scale)
            opened, is_clear = opened.convert("L"), False
        small = opened.convert("RGBA" if is_clear else "RGB")
        small.thumbnail(size)
        return small


def _opened(data: bytes) -> Any:
    from PIL import Image  # noqa: PLC0415 - optional

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers that are odd, or sizes, which are checked
        return Image.open(io.BytesIO(data), formats=_FORMATS)


def _n_pixels(opened: Any, data: bytes) -> int:
    n_scans = data.count(_START_OF_SCAN) if opened.format in {"JPEG", "MPO"} else 1
    return int(opened.width * opened.height) * max(-(-n_scans // _FREE_SCANS), 1)
