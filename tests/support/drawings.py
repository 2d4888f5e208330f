"""Small pictures that look like something, with what is where in them, and a few sounds."""

from __future__ import annotations

import io
import math
import random
import wave
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

__all__ = ["Thing", "encoded", "landscape", "sound", "walker"]

Colour = tuple[int, int, int]


class Thing(NamedTuple):
    """Something in a picture: its name, and left, top, right and bottom in pixels."""

    name: str
    box: tuple[float, float, float, float]


def landscape(number: int, width: int = 320, height: int = 240) -> tuple[Image, list[Thing]]:
    """Draw hills under a sky with houses and trees, or waves with boats, different per number."""
    from PIL import Image, ImageDraw

    rng = random.Random(number)
    top, bottom = rng.choice(_SKIES)
    rows = np.linspace(0, 1, height)[:, None] * np.subtract(bottom, top) + np.array(top)
    sky = np.broadcast_to(rows[:, None], (height, width, 3)).astype(np.uint8)
    image = Image.fromarray(np.ascontiguousarray(sky))
    draw = ImageDraw.Draw(image)
    sun, radius = rng.uniform(0.1, 0.9) * width, height * 0.08
    things = [Thing("sun", (sun - radius, height * 0.07, sun + radius, height * 0.23))]
    draw.ellipse(things[0].box, fill=(255, 236, 170))
    ground = rng.choice(_GROUNDS)
    for depth in range(3):
        _hills(draw, rng, width, height, 0.5 + 0.13 * depth, _shade(ground, 0.6 + 0.2 * depth))
    for place in sorted(rng.sample(range(4), rng.randint(1, 3))):
        name = "boat" if ground == _WATER else rng.choice(["house", "tree", "tree"])
        size = height * rng.uniform(0.2, 0.32)
        left = (place + rng.uniform(0.05, 0.3)) * width / 4.4
        base = height * rng.uniform(0.82, 0.95)
        box = (left, base - size, left + size * 0.85, base)
        _PAINTERS[name](draw, box, rng)
        things.append(Thing(name, box))
    return image, things


_SKIES: list[tuple[Colour, Colour]] = [
    ((70, 130, 200), (215, 232, 245)),
    ((35, 45, 95), (240, 150, 110)),
    ((120, 170, 190), (240, 240, 225)),
]
_WATER: Colour = (90, 135, 130)
_GROUNDS: list[Colour] = [(95, 150, 80), (150, 140, 85), _WATER]


def _shade(colour: Colour, by: float) -> Colour:
    red, green, blue = (min(int(part * by), 255) for part in colour)
    return red, green, blue


def _hills(
    draw: ImageDraw, rng: random.Random, width: int, height: int, level: float, colour: Colour
) -> None:
    phase, waves = rng.uniform(0, 7), rng.uniform(1, 2.5)
    top = [
        (x, height * (level + 0.06 * math.sin(phase + waves * 2 * math.pi * x / width)))
        for x in range(0, width + 8, 8)
    ]
    draw.polygon([*top, (width + 8, height), (0, height)], fill=colour)


def _house(draw: ImageDraw, box: tuple[float, float, float, float], rng: random.Random) -> None:
    left, top, right, base = box
    eaves, third = top + (base - top) * 0.42, (right - left) / 3
    draw.rectangle((left, eaves, right, base), fill=rng.choice([(225, 205, 170), (200, 110, 90)]))
    draw.polygon([(left - 3, eaves), ((left + right) / 2, top), (right + 3, eaves)], (110, 55, 45))
    draw.rectangle(
        (left + third, base - (base - eaves) * 0.7, left + 2 * third, base), (80, 60, 50)
    )


def _tree(draw: ImageDraw, box: tuple[float, float, float, float], rng: random.Random) -> None:
    left, top, right, base = box
    middle, trunk = (left + right) / 2, (right - left) / 9
    draw.rectangle((middle - trunk, (top + base) / 2, middle + trunk, base), fill=(90, 62, 40))
    green = rng.choice([(45, 105, 55), (75, 125, 45)])
    draw.ellipse((left, top, right, top + (base - top) * 0.75), fill=green)


def _boat(draw: ImageDraw, box: tuple[float, float, float, float], rng: random.Random) -> None:
    left, top, right, base = box
    deck, mast = base - (base - top) * 0.25, left + (right - left) * 0.55
    hull = [(left, deck), (right, deck), (right - 12, base), (left + 12, base)]
    draw.polygon(hull, fill=rng.choice([(150, 40, 45), (35, 60, 110)]))
    draw.polygon([(mast, top), (mast, deck - 4), (left + 6, deck - 4)], fill=(245, 245, 240))


_PAINTERS: dict[str, Callable[..., None]] = {"house": _house, "tree": _tree, "boat": _boat}


def walker(step: int, of: int, size: int = 96) -> Image:
    """Draw a frame of a short film: a figure walks from left to right."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size * 4 // 3, size), (222, 230, 236))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, size * 0.85, image.width, size), fill=(120, 135, 110))
    x, swing = image.width * (0.12 + 0.76 * step / max(of - 1, 1)), 8 * math.sin(step * 1.6)
    hip, foot = size * 0.6, size * 0.85
    draw.line([(x + swing, foot), (x, hip), (x - swing, foot)], fill=(40, 50, 80), width=4)
    draw.line([(x, hip), (x, size * 0.35)], fill=(180, 70, 60), width=8)
    draw.ellipse((x - 7, size * 0.2, x + 7, size * 0.34), fill=(235, 190, 150))
    return image


def encoded(image: Image, name: str) -> bytes:
    """Return a picture as a file of that format: JPEG, PNG, WebP, GIF or another of Pillow's."""
    stream = io.BytesIO()
    image.save(stream, name)
    return stream.getvalue()


def sound(pitch: float, seconds: float = 0.5, rate: int = 8000) -> bytes:
    """Return a tone that fades, as a WAV file."""
    times = np.arange(int(seconds * rate)) / rate
    samples = np.sin(2 * np.pi * pitch * times) * np.exp(-4 * times / seconds) * 20_000
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return stream.getvalue()
