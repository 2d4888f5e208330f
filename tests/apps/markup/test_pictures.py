"""Thumbnails are small, whatever the image; what cannot be decoded has none."""

import base64
import io
import sys
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.shown_html import parsed
from tfrecord_lite.apps.markup.cells import Budget, Cells, Thumbnail, picture, thumbnail
from tfrecord_lite.sniff import Media, recognize

NOISE = Random(0).randbytes(400 * 300)


def encoded(mode: str, format: str) -> bytes:  # noqa: A002
    from PIL import Image

    grey = Image.frombytes("L", (400, 300), NOISE)
    made = grey.convert("I").point(lambda v: v * 100) if mode == "I;16" else grey
    out = io.BytesIO()
    (made.convert("P") if mode == "P" else made.convert(mode)).save(out, format)
    return out.getvalue()


def small(data: bytes, **options: Any) -> Thumbnail | str:
    media = recognize(data)
    assert media is not None
    return thumbnail(data, media, Budget(), **options)


@pytest.mark.needs("image")
@pytest.mark.parametrize(("mode", "format"), [
    ("RGB", "JPEG"), ("L", "JPEG"), ("CMYK", "JPEG"), ("RGB", "PNG"), ("RGBA", "PNG"), ("P", "PNG"),
    ("I;16", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("RGB", "WEBP"), ("RGB", "BMP"), ("1", "PNG"),
])  # fmt: skip
def test_an_image_of_any_mode_has_a_thumbnail(mode: str, format: str) -> None:  # noqa: A002
    from PIL import Image

    made = small(encoded(mode, format))
    assert isinstance(made, Thumbnail)
    shown = Image.open(io.BytesIO(made.data))
    assert shown.size == made[2:] == (128, 96)
    assert made.mime == ("image/png" if "A" in mode else "image/jpeg")
    assert len(made.data) < 64 << 10
    levels = shown.convert("L").tobytes()  # wide numbers are seen from the smallest to the largest
    assert min(levels) < 90
    assert max(levels) > 160


def test_without_pillow_there_are_no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    jpeg, tiff = Media("JPEG", "image/jpeg", ".jpg"), Media("TIFF", "image/tiff", ".tif")
    assert thumbnail(bytes(100), jpeg, Budget()) == "not shown without Pillow"
    assert thumbnail(bytes(100), tiff, Budget()) == "TIFF is not shown here"
    assert "… 784 values" in Cells().form(np.zeros((28, 28), np.uint8)).html


@pytest.mark.needs("image")
@given(st.integers(9000, 60_000), st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "BMP"]))
def test_a_damaged_image_has_no_thumbnail_or_one_of_what_is_left(cut: int, name: str) -> None:
    made = small(encoded("RGB", name)[:cut])
    assert isinstance(made, str) or len(made.data) < 64 << 10


def test_a_picture_is_part_of_the_page() -> None:
    page = parsed(picture(Thumbnail(b"GIF89a", "image/gif", 3, 2), '"a" <b>', 3))
    assert page.sources == ["data:image/gif;base64," + base64.b64encode(b"GIF89a").decode()]
    assert ("img", "alt", '"a" <b>') in page.attributes
