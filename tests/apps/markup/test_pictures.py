"""Thumbnails are small, whatever the image; what cannot be decoded has none."""

from __future__ import annotations

import base64
import io
import sys
import zlib
from random import Random
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.shown_html import parsed
from tfrecord_lite.apps.markup.pictures import Thumbnail, picture, thumbnail

NOISE = Random(0).randbytes(400 * 300)


def encoded(mode: str, format: str, size: tuple[int, int] = (400, 300)) -> bytes:  # noqa: A002
    from PIL import Image

    grey = Image.frombytes("L", (400, 300), NOISE).resize(size)
    made = grey.convert("I").point(lambda v: v * 100) if mode == "I;16" else grey
    out = io.BytesIO()
    (made.convert("P") if mode == "P" else made.convert(mode)).save(out, format)
    return out.getvalue()


@pytest.mark.needs("image")
@pytest.mark.parametrize(
    ("mode", "format"),
    [("RGB", "JPEG"), ("L", "JPEG"), ("CMYK", "JPEG"), ("RGB", "PNG"), ("RGBA", "PNG"), ("P", "PNG"),
     ("I;16", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("RGB", "WEBP"), ("RGB", "BMP"), ("1", "PNG")],
)  # fmt: skip
def test_an_image_of_any_mode_has_a_thumbnail(mode: str, format: str) -> None:  # noqa: A002
    from PIL import Image

    small = thumbnail(encoded(mode, format), f"image/{format.lower()}")

    assert small is not None
    assert Image.open(io.BytesIO(small.data)).size == (128, 96)
    assert small.mime == ("image/png" if "A" in mode else "image/jpeg")
    assert len(small.data) < 64 << 10


@pytest.mark.needs("image")
def test_wide_numbers_are_seen_from_the_smallest_to_the_largest() -> None:
    from PIL import Image

    small = thumbnail(encoded("I;16", "PNG"), "image/png")
    assert small is not None
    levels = Image.open(io.BytesIO(small.data)).convert("L").tobytes()

    assert min(levels) < 60
    assert max(levels) > 180


def test_an_image_of_few_bytes_is_used_as_it_is() -> None:
    assert thumbnail(b"few", "image/gif") == Thumbnail(b"few", "image/gif")


def test_without_pillow_an_image_is_used_as_it_is_unless_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)

    assert thumbnail(bytes(60_000), "image/jpeg") == Thumbnail(bytes(60_000), "image/jpeg")
    assert thumbnail(bytes(70_000), "image/jpeg") is None
    assert thumbnail(bytes(100), "image/tiff") is None


@pytest.mark.needs("image")
def test_an_image_of_too_many_pixels_is_not_decoded() -> None:
    header = pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(1_000_000))), (b"IEND", b"")]
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )

    assert thumbnail(bomb + bytes(10_000), "image/png") is None


@pytest.mark.needs("image")
@given(st.integers(9000, 60_000), st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "BMP"]))
def test_a_damaged_image_has_no_thumbnail_or_one_of_what_is_left(cut: int, name: str) -> None:
    small = thumbnail(encoded("RGB", name)[:cut], "image/" + name.lower())

    assert small is None or len(small.data) < 64 << 10


def test_a_picture_is_part_of_the_page() -> None:
    page = parsed(picture(Thumbnail(b"GIF89a", "image/gif"), '"a" <b>', (3, 2)))

    assert page.sources == ["data:image/gif;base64," + base64.b64encode(b"GIF89a").decode()]
    assert ("img", "alt", '"a" <b>') in page.attributes
