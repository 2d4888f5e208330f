"""Small pictures that look like something, with what is where in them, and a few sounds."""

from __future__ import annotations

import io
import math
import random
import wave
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Thing", "encoded", "landscape", "sound", "walker"]


class Thing(NamedTuple):
    """Something in a picture: its name, and left, top, right and bottom in pixels."""

    name: str
    box: tuple[float, float, float, float]


def landscape(number: int, width: int = 320, height: int = 240) -> tuple[Image, list[Thing]]:
    """Draw hills under a sky with a sun and some houses and trees, different per number."""
    from PIL import Image, ImageDraw

    rng = random.Random(number)
    rows = np.linspace((70, 130, 200), (215, 232, 245), height)[:, None]
    sky = np.broadcast_to(rows, (height, width, 3)).astype(np.uint8)
    image = Image.fromarray(np.ascontiguousarray(sky))
    draw = ImageDraw.Draw(image)
    sun, radius = rng.uniform(0.1, 0.9) * width, height * 0.08
    things = [Thing("sun", (sun - radius, height * 0.07, sun + radius, height * 0.23))]
    draw.ellipse(things[0].box, fill=(255, 236, 170))
    for depth in range(3):
        phase, level = rng.uniform(0, 7), 0.5 + 0.13 * depth
        top = [(x, height * (level + 0.06 * math.sin(phase + x / 40))) for x in range(0, width, 4)]
        draw.polygon([*top, (width, height), (0, height)], (60 + 20 * depth, 100 + 25 * depth, 60))
    for place in sorted(rng.sample(range(4), rng.randint(1, 3))):
        name, size = rng.choice(["house", "tree"]), height * rng.uniform(0.2, 0.32)
        left, base = (place + 0.2) * width / 4.4, height * rng.uniform(0.82, 0.95)
        box = (left, base - size, left + size * 0.85, base)
        middle, eaves = (box[0] + box[2]) / 2, base - size * 0.5
        if name == "tree":
            draw.rectangle((middle - 4, eaves, middle + 4, base), fill=(90, 62, 40))
            draw.ellipse((box[0], box[1], box[2], base - size * 0.25), fill=(45, 105, 55))
        else:
            draw.rectangle((box[0], eaves, box[2], base), fill=(225, 205, 170))
            draw.polygon([(box[0], eaves), (middle, box[1]), (box[2], eaves)], fill=(110, 55, 45))
        things.append(Thing(name, box))
    return image, things


def walker(step: int, of: int, size: int = 96) -> Image:
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
    stream = io.BytesIO()
    image.save(stream, name)
    return stream.getvalue()


def sound(pitch: float, seconds: float = 0.5, rate: int = 8000) -> bytes:
    times = np.arange(int(seconds * rate)) / rate
    samples = np.sin(2 * np.pi * pitch * times) * np.exp(-4 * times / seconds) * 20_000
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return stream.getvalue()
