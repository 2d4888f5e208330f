"""Images, sounds and broken ones for tests of what the viewer shows."""

import io
import struct
import wave
import zlib

import numpy as np

__all__ = [
    "FORMATS", "gif_bomb", "gif_with_small_canvas", "image", "many_scans", "png_bomb", "sound",
]  # fmt: skip

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")


def image(width: int = 60, height: int = 40, format_: str = "PNG") -> bytes:
    from PIL import Image

    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x * 255 // width, y * 255 // height, (x + y) % 256], -1).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format_)
    return out.getvalue()


def sound(n_samples: int = 800) -> bytes:
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


def gif_with_small_canvas(side: int) -> bytes:
    """Return a GIF whose picture is much larger than its canvas."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("L", (side, side)).save(out, "GIF")
    data = bytearray(out.getvalue())
    data[6:10] = struct.pack("<HH", 1, 1)
    return bytes(data)


def many_scans(side: int, n_scans: int) -> bytes:
    """Return a grey progressive JPEG that goes over its pixels very often, in some bytes each."""

    def segment(marker: int, content: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content

    def scan(header: list[int], bits: str) -> bytes:
        bits += "1" * (-len(bits) % 8)
        coded = int(bits, 2).to_bytes(len(bits) // 8).replace(b"\xff", b"\xff\0")
        return segment(0xDA, bytes(header)) + coded

    n_blocks = (side // 8) ** 2
    one_code = bytes([1] + [0] * 15)
    parts = [
        b"\xff\xd8",
        segment(0xDB, b"\0" + bytes([1] * 64)),
        segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + bytes([1, 0x11, 0])),
        segment(0xC4, b"\0" + one_code + b"\0"),
        segment(0xC4, b"\x10" + one_code + b"\xe0"),  # the end of 16,384 blocks at once
        scan([1, 1, 0, 0, 0, 0], "0" * n_blocks),
        scan([1, 1, 0, 1, 63, 0], "0" * 15 * -(-n_blocks // 16384)) * n_scans,
        b"\xff\xd9",
    ]
    return b"".join(parts)
