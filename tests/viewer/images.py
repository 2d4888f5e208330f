"""Images, sounds and broken ones for tests of what the viewer shows."""

from __future__ import annotations

import io
import struct
import wave
import zlib

import numpy as np

__all__ = ["FORMATS", "gif_bomb", "image", "png_bomb", "sound"]

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")


def image(width: int = 60, height: int = 40, format_: str = "PNG") -> bytes:
    """Return an image with a gradient."""
    from PIL import Image

    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x * 255 // width, y * 255 // height, (x + y) % 256], -1).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format_)
    return out.getvalue()


def sound(n_samples: int = 800) -> bytes:
    """Return a WAV file."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * n_samples))
    return out.getvalue()


def png_bomb(width: int, height: int, n_rows: int = 100) -> bytes:
    """Return a PNG of one colour and any size, with the first of its rows."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)  # one bit per pixel
    compressor = zlib.compressobj(9)
    row = bytes(width // 8 + 2)
    rows = b"".join(compressor.compress(row) for _ in range(n_rows)) + compressor.flush()
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def gif_bomb() -> bytes:
    """Return a GIF whose canvas is much larger than its picture."""
    data = bytearray(image(8, 8, "GIF"))
    data[6:10] = struct.pack("<HH", 65535, 65535)
    return bytes(data)
