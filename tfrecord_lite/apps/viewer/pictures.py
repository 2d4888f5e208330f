"""Pictures and sounds: encoded ones, arrays of pixels, and numbers as strips and heat maps.

::

    JPEG, PNG, WebP, GIF, BMP  ─ decoded, made small ─> thumbnail, and a larger one
    WAV, FLAC, MP3, OGG        ─ as they are ─────────> <audio controls>
    pixels (h, w, c)           ─ as PNG ──────────────> as an image
    numbers (n,) or (h, w)     ─ colours ─────────────> strip or heat map, one pixel per number

Nothing that is encoded reaches the page without being decoded here, except sounds. Numbers have
the colours of :data:`_BELOW` and :data:`_ABOVE`, as opaque as they are far from zero, so that they suit a
light page and a dark one; numbers all on one side of zero go from the smallest to the largest.

Classes: ``v-picture`` (around <img>, with ``v-pixelated`` if pixels are to be seen), ``v-strip`` and
``v-heat`` (around <img>), ``v-audio`` (<audio>), ``v-caption``.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from tfrecord_lite.apps.markup.charts import short_numbers
from tfrecord_lite.apps.markup.pictures import (
    SHOWN_BY_BROWSERS,
    Thumbnail,
    is_too_large,
    pixels_to_decode,
    thumbnail,
    thumbnail_of_pixels,
)
from tfrecord_lite.apps.markup.pictures import picture as img
from tfrecord_lite.apps.viewer.parts import NO_MARKUP, Form, caption, note
from tfrecord_lite.errors import plural
from tfrecord_lite.sniff import recognize

if TYPE_CHECKING:
    from tfrecord_lite.apps.viewer.parts import Budget
    from tfrecord_lite.arrays import Float64Array, Uint8Array
    from tfrecord_lite.sniff import Media

THUMBNAIL_SIZE = 128
_LARGE_SIZE = 1024
_TINY_SIZE = 64
"""An image that is no larger is shown with its pixels, enlarged."""
_ENLARGED_SIZE = 256
_MAX_SOUND_BYTES = 2 << 20
_MAX_STRIP, _MAX_HEAT = 256, 120
_STRIP_HEIGHT = 16
_BELOW, _ABOVE = (37, 99, 235), (234, 88, 12)  # blue and orange, told apart by nearly everybody
_UNKNOWN = (128, 128, 128, 255)  # NaN


def media_form(
    value: bytes,
    media: Media,
    text: str,
    budget: Budget,
    size: int = THUMBNAIL_SIZE,
) -> Form:
    """Show an encoded image or sound; `text` says what it is, in a line."""
    if media.kind == "image":
        return _image_form(value, media, text, budget, size)
    if media.kind == "audio":
        return Form(_sound(value, media, budget) + _captioned(text, size), text)
    return Form(caption(text), text)


def _captioned(text: str, size: int) -> Markup:
    """Return a caption; none for one of several small pictures or sounds, which say it by themselves."""
    return caption(text) if size >= THUMBNAIL_SIZE else NO_MARKUP


def _sound(value: bytes, media: Media, budget: Budget) -> Markup:
    """Return an element that plays a sound, or why there is none."""
    if len(value) > _MAX_SOUND_BYTES:
        return note("too large to play here")
    if not budget.take(detail_bytes=len(value)):
        return note("not here: the page is full")
    return Markup(
        '<audio class="v-audio" controls preload="none" aria-label="{}" src="data:{};base64,{}"></audio>'
    ).format(str(media), media.mime, base64.b64encode(value).decode())


def _image_form(value: bytes, media: Media, text: str, budget: Budget, size: int) -> Form:
    """Show an encoded image: small, and larger in the details."""
    small = _made(value, media, size, budget)
    if isinstance(small, str):
        return Form(note(small) + caption(text), f"{small} {text}")
    side = max(media.width or 0, media.height or 0)
    # A caption is not said twice.
    name = f"{media.format} image" if size >= THUMBNAIL_SIZE else text
    html = framed(small, name, size) + _captioned(text, size)
    large = small
    if side > size:
        made = _made(value, media, _LARGE_SIZE, budget, is_detail=True)
        large = small if isinstance(made, str) else made
    if large is small:
        return Form(html, text)
    return Form(html, text, framed(large, f"{text}, larger", _LARGE_SIZE))


def _made(
    value: bytes, media: Media, size: int, budget: Budget, *, is_detail: bool = False
) -> Thumbnail | str:
    """Return an image of at most `size` pixels each way, or why there is none."""
    if media.mime not in SHOWN_BY_BROWSERS:
        return f"{media.format} is not shown here"
    n_said = (media.width or 0) * (media.height or 0)
    if is_too_large(media.mime, n_said):
        return f"not decoded: {n_said:,} pixels are too many"
    n_pixels = pixels_to_decode(value)
    if n_pixels is None:
        return f"broken {media.format}: it cannot be decoded"
    if is_too_large(media.mime, n_pixels):
        return "not decoded: it would take too long"
    if not budget.take(pictures=1, pixels=n_pixels):
        return "not shown: the page has enough pictures"
    made = thumbnail(value, media.mime, size, as_is_bytes=0)
    if made is None:
        return f"broken {media.format}: it cannot be decoded"
    pot = "detail_bytes" if is_detail else "picture_bytes"
    return made if budget.take(**{pot: len(made.data)}) else "not shown: the page is full"


def framed(shown: Thumbnail, alternative: str, room: int = THUMBNAIL_SIZE) -> Markup:
    """Return an image in a frame, enlarged if it is tiny."""
    made = recognize(shown.data)
    width, height = (made.width or 1, made.height or 1) if made else (1, 1)
    is_tiny = max(width, height) <= _TINY_SIZE
    scale = max(min(room, _ENLARGED_SIZE) // max(width, height), 1) if is_tiny else 1
    size = width * scale, height * scale
    name = "v-picture v-pixelated" if is_tiny else "v-picture"
    return Markup('<span class="{}">{}</span>').format(name, img(shown, alternative, size))


def pixels_form(pixels: Uint8Array, budget: Budget) -> Form:
    """Show pixels of shape (height, width, channels), 1, 3 or 4 of these."""
    height, width, n_channels = pixels.shape
    text = f"{width} x {height} pixels, {plural(n_channels, 'channel')}"
    if pixels.max() == 1:  # a mask
        pixels, text = pixels * np.uint8(255), f"{text}, each 0 or 1"
    step = max(height, width) // _LARGE_SIZE + 1
    if not budget.take(pictures=1, pixels=height * width // step):
        return Form(note("not shown: the page has enough pictures") + caption(text), text)
    png = _png(pixels[::step, ::step])
    small = thumbnail(png, "image/png", THUMBNAIL_SIZE, as_is_bytes=0)
    if small is None or not budget.take(picture_bytes=len(small.data)):
        return Form(note("not shown: the page is full") + caption(text), text)
    html = framed(small, "the pixels as an image") + caption(text)
    is_larger = max(height, width) > THUMBNAIL_SIZE
    large = thumbnail(png, "image/png", _LARGE_SIZE, as_is_bytes=0) if is_larger else None
    if large is None or not budget.take(detail_bytes=len(large.data)):
        return Form(html, text)
    return Form(html, text, framed(large, "the pixels as a larger image", room=_LARGE_SIZE))


def strip(values: Float64Array, budget: Budget, what: str = "") -> Form:
    """Show numbers of shape (n,) as a strip of colours; more than fit by the largest of several."""
    shown = _reduced(values[None, :], 1, _MAX_STRIP)
    scale = _STRIP_HEIGHT, max(min(_MAX_STRIP // shown.size, 8), 1)
    return _map("v-strip", shown, scale, values, what, budget)


def heat_map(values: Float64Array, budget: Budget) -> Form:
    """Show numbers of shape (height, width) by their colours, as squares."""
    shown = _reduced(values, _MAX_HEAT, 2 * _MAX_HEAT)
    height, width = shown.shape
    side = min(max(_MAX_HEAT // height, 1), max(2 * _MAX_HEAT // width, 1), 12)
    return _map("v-heat", shown, (side, side), values, "", budget)


def _map(
    name: str,
    shown: Float64Array,
    scale: tuple[int, int],
    values: Float64Array,
    what: str,
    budget: Budget,
) -> Form:
    """Show numbers as rectangles of `scale` pixels; the caption has `what` and the extent of all."""
    text = f"{what or plural(values.size, 'value')}, {extent_text(values)}"
    found = colours(shown, *_extent(values))
    png = _png(np.repeat(np.repeat(found, scale[0], axis=0), scale[1], axis=1))
    if not budget.take(pictures=1, picture_bytes=len(png)):
        return Form(caption(text), text)
    size = shown.shape[1] * scale[1], shown.shape[0] * scale[0]
    alternative = f"the values as a {'strip' if name == 'v-strip' else 'map'} of colours"
    image = img(Thumbnail(png, "image/png"), alternative, size)
    return Form(Markup('<span class="{}">{}</span>').format(name, image) + caption(text), text)


def extent_text(values: Float64Array) -> str:
    """Return the smallest and largest number in words, and what is not a number.

    >>> extent_text(np.array([1, 2.5, np.nan])), extent_text(np.array([7.0, 7.0]))
    ('1 to 2.5, 1 NaN', 'all 7')
    """
    finite = values[np.isfinite(values)]
    parts = []
    if finite.size:
        low, high = short_numbers([float(finite.min()), float(finite.max())])
        parts.append(f"all {low}" if low == high else f"{low} to {high}")
    for count, name in ((np.isnan(values).sum(), "NaN"), (np.isinf(values).sum(), "infinite")):
        if count:
            parts.append(f"{count:,} {name}")
    return ", ".join(parts) or "no values"


def _extent(values: Float64Array) -> tuple[float, float]:
    """Return the smallest and the largest finite number; two zeros if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def colours(values: Float64Array, low: float, high: float) -> Uint8Array:
    """Return a colour for each number between `low` and `high`: uint8, (height, width, 4)."""
    with np.errstate(all="ignore"):
        if low < 0 < high:
            share = values / max(-low, high)
        else:  # halved, so that no difference overflows
            width = high / 2 - low / 2
            share = (values / 2 - low / 2) / width if width > 0 else np.full(values.shape, 0.5)
            share = np.where(np.isinf(values), np.sign(values), share)
    is_below = (share < 0) if low < 0 < high else np.full(values.shape, high <= 0 and low < 0)
    if high <= 0 and low < 0:
        share = 1 - share.clip(0, 1)  # the farther from zero, the more opaque
    alpha = np.nan_to_num(np.abs(share).clip(0, 1) * 235 + 20)
    found = np.empty((*values.shape, 4), np.uint8)
    found[..., :3] = np.where(is_below[..., None], _BELOW, _ABOVE)
    found[..., 3] = alpha.astype(np.uint8)
    found[np.isnan(values)] = _UNKNOWN
    return found


def _reduced(values: Float64Array, max_rows: int, max_columns: int) -> Float64Array:
    """Return at most so many rows and columns, each the number farthest from zero of several."""
    for axis, most in ((0, max_rows), (1, max_columns)):
        n = values.shape[axis]
        if n > most:
            starts = np.linspace(0, n, most, endpoint=False).astype(np.int64)
            low = np.fmin.reduceat(values, starts, axis=axis)
            high = np.fmax.reduceat(values, starts, axis=axis)
            values = np.where(-low > high, low, high)
    return values


def _png(pixels: Uint8Array) -> bytes:
    """Encode pixels of shape (height, width, channels) as PNG, all of them."""
    return thumbnail_of_pixels(pixels, max(pixels.shape[:2])).data
