"""Thumbnails are small, whatever the image; what cannot be decoded has none."""

from __future__ import annotations

import base64
import io
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apps.viewer.images import png_bomb
from tests.support.shown_html import parsed
from tfrecord_lite.apps.markup.pictures import Budget, Thumbnail, picture, thumbnail
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
@pytest.mark.parametrize(
    ("mode", "format"),
    [("RGB", "JPEG"), ("L", "JPEG"), ("CMYK", "JPEG"), ("RGB", "PNG"), ("RGBA", "PNG"), ("P", "PNG"),
     ("I;16", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("RGB", "WEBP"), ("RGB", "BMP"), ("1", "PNG")],
)  # fmt: skip
def test_an_image_of_any_mode_has_a_thumbnail(mode: str, format: str) -> None:  # noqa: A002
    from PIL import Image

    made = small(encoded(mode, format))

    assert isinstance(made, Thumbnail)
    assert Image.open(io.BytesIO(made.data)).size == (128, 96)
    assert made.mime == ("image/png" if "A" in mode else "image/jpeg")
    assert len(made.data) < 64 << 10


@pytest.mark.needs("image")
def test_wide_numbers_are_seen_from_the_smallest_to_the_largest() -> None:
    from PIL import Image

    made = small(encoded("I;16", "PNG"))
    assert isinstance(made, Thumbnail)
    levels = Image.open(io.BytesIO(made.data)).convert("L").tobytes()

    assert min(levels) < 60
    assert max(levels) > 180


@pytest.mark.needs("image")
def test_an_image_of_few_bytes_is_used_as_it_is_if_it_may_be() -> None:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (300, 200)).save(out, "PNG")

    assert small(out.getvalue()) == Thumbnail(out.getvalue(), "image/png")
    assert small(out.getvalue(), is_kept=False) != Thumbnail(out.getvalue(), "image/png")


def test_without_pillow_an_image_is_used_as_it_is_unless_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    jpeg, tiff = Media("JPEG", "image/jpeg", ".jpg"), Media("TIFF", "image/tiff", ".tif")

    assert thumbnail(bytes(60_000), jpeg, Budget()) == Thumbnail(bytes(60_000), "image/jpeg")
    assert thumbnail(bytes(70_000), jpeg, Budget()) == "not shown without Pillow"
    assert thumbnail(bytes(100), tiff, Budget()) == "TIFF is not shown here"


@pytest.mark.needs("image")
def test_an_image_of_too_many_pixels_is_not_decoded() -> None:
    assert small(png_bomb(60_000, 60_000)) == "not decoded, as 3,600,000,000 pixels are too many"


@pytest.mark.needs("image")
@given(st.integers(9000, 60_000), st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "BMP"]))
def test_a_damaged_image_has_no_thumbnail_or_one_of_what_is_left(cut: int, name: str) -> None:
    made = small(encoded("RGB", name)[:cut])

    assert isinstance(made, str) or len(made.data) < 64 << 10


def test_a_picture_is_part_of_the_page() -> None:
    page = parsed(picture(Thumbnail(b"GIF89a", "image/gif"), '"a" <b>', (3, 2)))

    assert page.sources == ["data:image/gif;base64," + base64.b64encode(b"GIF89a").decode()]
    assert ("img", "alt", '"a" <b>') in page.attributes
