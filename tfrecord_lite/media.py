"""What encoded images, sounds and films are, by their first bytes and headers: ``recognize``.

Nothing is decoded. Each row of :data:`_FORMATS` has the pattern that a format begins with, and the
function that reads its header: the size of the picture, the rate and length of the sound::

    JPEG  ff d8, then segments  ff marker length ...  up to the start of the frame, which has the size
    PNG, GIF, BMP, WebP         the size is at fixed offsets
    TIFF                        a directory of tags, anywhere in the bytes
    WAV, AVI                    RIFF: chunks        name  length  content
    MP4, AVIF, JPEG 2000        boxes in boxes      length  name  content
    FLAC, OGG, MP3              fixed offsets, after an ID3 tag if there is one

The bytes may be anything: whatever is cut or contradictory has no size. The work is bounded by
:data:`_MAX_STEPS` segments, chunks, boxes or tags, so it does not depend on how many bytes there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from struct import error as StructError  # noqa: N812
from struct import unpack_from
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_STEPS = 2000
"""Segments, chunks, boxes or tags to look at; a JPEG with a colour profile has some hundred."""
_LAST_BYTES = 1 << 16
"""Where the last page of an OGG stream begins: it is no longer than this."""
_MAX_DEPTH = 8  # of boxes in boxes


@dataclass(frozen=True, slots=True)
class Media:
    """What some encoded bytes are; None for what their header does not tell."""

    format: str
    """Its usual name: ``"JPEG"``, ``"PNG"``, ``"WAV"``, ``"MP4"``."""
    kind: Literal["image", "audio", "video"]
    mime: str
    """The media type, such as ``"image/jpeg"``."""
    ending: str
    """The usual ending of the names of such files, such as ``".jpg"``."""
    width: int | None = None
    """Of the picture, in pixels."""
    height: int | None = None
    """Of the picture, in pixels."""
    seconds: float | None = None
    """How long the sound or film is."""
    sample_rate: int | None = None
    """Of the sound, in Hz."""
    n_channels: int | None = None
    """Of the sound."""

    @property
    def details(self) -> str:
        """Size, sample rate and length, as far as they are known; may be empty."""
        parts = []
        if self.width is not None and self.height is not None:
            parts.append(f"{self.width} x {self.height}")
        if self.sample_rate is not None:
            parts.append(f"{self.sample_rate} Hz")
        if self.n_channels is not None:
            usual = {1: "mono", 2: "stereo"}
            parts.append(usual.get(self.n_channels, f"{self.n_channels} channels"))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.1f} s")
        return ", ".join(parts)

    def __str__(self) -> str:
        """Name the format, with size, sample rate and length: ``JPEG 640 x 480``."""
        return f"{self.format} {self.details}".rstrip()


def recognize(data: bytes) -> Media | None:
    r"""Recognise an encoded image, sound or film; None if the bytes are not of a known format.

    Truncated bytes are recognised by their beginning, without what the missing part would tell.

    Examples
    --------
    >>> found = recognize(b"GIF89a\x80\x02\xe0\x01")
    >>> str(found), found.mime, found.width
    ('GIF 640 x 480', 'image/gif', 640)
    >>> recognize(b"text")
    """
    form = next((form for form in _FORMATS if form.begins.match(data)), None)
    if form is None:
        return None
    try:
        details = form.read(data)
    except StructError:  # cut within the header
        details = {}
    return None if details is None else replace(form.media, **details)


_Details: TypeAlias = "dict[str, Any] | None"
"""The known fields of a Media; None if the bytes are not of the format after all."""


def _size(width: int, height: int) -> dict[str, Any]:
    """Return a size, unless a side is zero, which no picture has."""
    return {"width": width, "height": height} if width > 0 and height > 0 else {}


def _sound(rate: int, channels: int | None, n_samples: float | None) -> dict[str, Any]:
    """Return a sound's rate, channels and length, unless they are zero."""
    if not rate:
        return {}
    seconds = n_samples / rate if n_samples else None
    return {"sample_rate": rate, "n_channels": channels or None, "seconds": seconds}


# -------------------------------------------------------------------------------- images


def _jpeg(data: bytes) -> _Details:
    """Read the first start of a frame: SOF0 to SOF15, but for the three that are something else."""
    at = 2
    for _ in range(_MAX_STEPS):
        prefix, marker = unpack_from(">BB", data, at)
        if prefix != 0xFF or marker in (0xD9, 0xDA):  # lost, the end, or a scan without a frame
            return {}
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # no length
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = unpack_from(">HH", data, at + 5)
            return _size(width, height)
        else:
            at += 2 + unpack_from(">H", data, at + 2)[0]
    return {}


def _png(data: bytes) -> _Details:
    return _size(*unpack_from(">II", data, 16)) if data[12:16] == b"IHDR" else {}


def _gif(data: bytes) -> _Details:
    return _size(*unpack_from("<HH", data, 6))


def _bmp(data: bytes) -> _Details:
    """Read either header; rows stored from the top down have a negative height."""
    (header_bytes,) = unpack_from("<I", data, 14)
    if header_bytes == 12:
        return _size(*unpack_from("<HH", data, 18))
    width, height = unpack_from("<ii", data, 18)
    return _size(width, abs(height))


def _webp(data: bytes) -> _Details:
    """Read the first chunk: lossy, lossless or extended."""
    form = data[12:16]
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", data, 26)
        return _size(width & 0x3FFF, height & 0x3FFF)
    if form == b"VP8L" and data[20:21] == b"\x2f":
        (bits,) = unpack_from("<I", data, 21)
        return _size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if form == b"VP8X":
        low, high, low2, high2 = unpack_from("<HBHB", data, 24)
        return _size((high << 16 | low) + 1, (high2 << 16 | low2) + 1)
    return {}


_TIFF_NUMBERS = {1: "B", 3: "H", 4: "I", 16: "Q"}
"""struct's letters for the types of TIFF's numbers."""


def _tiff(data: bytes) -> _Details:
    """Find width and height among the tags of the first directory; a BigTIFF has wider offsets."""
    order = "<" if data.startswith(b"II") else ">"
    is_big = 43 in data[2:4]
    (at,) = unpack_from(order + ("Q" if is_big else "I"), data, 8 if is_big else 4)
    if at >= len(data):
        return {}
    (n_tags,) = unpack_from(order + ("Q" if is_big else "H"), data, at)
    at, tag_bytes, value_at = (at + 8, 20, 12) if is_big else (at + 2, 12, 8)
    found: dict[int, int] = {}
    for _ in range(min(n_tags, _MAX_STEPS)):
        tag, number_type = unpack_from(order + "HH", data, at)
        if tag in (256, 257) and number_type in _TIFF_NUMBERS:
            letter = _TIFF_NUMBERS[number_type]
            (found[tag],) = unpack_from(order + letter, data, at + value_at)
        at += tag_bytes
        if len(found) == 2 or tag > 257:  # tags are sorted
            break
    return _size(found[256], found[257]) if len(found) == 2 else {}


# ------------------------------------------------------------------------ chunks and boxes


class _Part(NamedTuple):
    """A chunk or box: its name, and where its content is."""

    name: bytes
    start: int
    stop: int
    """As its header says; may be after the end of the data."""


def _chunks(data: bytes) -> Iterator[_Part]:
    """Yield the chunks of a RIFF file, until the data are cut."""
    at = 12
    for _ in range(_MAX_STEPS):
        if at + 8 > len(data):
            return
        name, n_bytes = unpack_from("<4sI", data, at)
        yield _Part(name, at + 8, at + 8 + n_bytes)
        at += 8 + n_bytes + n_bytes % 2


def _boxes(data: bytes, start: int, stop: int) -> Iterator[_Part]:
    """Yield the boxes between two offsets; a length of 0 is up to the end, of 1 is given in 64 bits."""
    at = start
    stop = min(stop, len(data))
    while at + 8 <= stop:
        n_bytes, name = unpack_from(">I4s", data, at)
        begin = at + 8
        if n_bytes == 1:
            (n_bytes,) = unpack_from(">Q", data, begin)
            begin += 8
        end = at + n_bytes if n_bytes else stop
        if end < begin:
            return
        yield _Part(name, begin, end)
        at = end


_CONTAINERS = {
    b"moov": 0, b"trak": 0, b"mdia": 0, b"minf": 0, b"stbl": 0,
    b"meta": 4, b"iprp": 0, b"ipco": 0, b"jp2h": 0,
}  # fmt: skip
"""Boxes that hold boxes, and how many bytes come before these."""


def _all_boxes(data: bytes, start: int, stop: int, depth: int = 0) -> Iterator[_Part]:
    """Yield boxes and those within them, in the order of their places."""
    for box in _boxes(data, start, stop):
        yield box
        if box.name in _CONTAINERS and depth < _MAX_DEPTH:
            inner = box.start + _CONTAINERS[box.name]
            yield from _all_boxes(data, inner, min(box.stop, stop), depth + 1)


def _some_boxes(data: bytes) -> Iterator[_Part]:
    return islice(_all_boxes(data, 0, len(data)), _MAX_STEPS)


def _wav(data: bytes) -> _Details:
    """Read the format, and the length of the samples; a stream does not know that when it begins."""
    channels = rate = byte_rate = 0
    for name, start, stop in _chunks(data):
        if name == b"fmt ":
            channels, rate, byte_rate = unpack_from("<HII", data, start + 2)
        elif name == b"data" and byte_rate:
            is_known = stop - start < 0xFFFFFFFF
            n_bytes = (stop if is_known else len(data)) - start
            return _sound(rate, channels, n_bytes / byte_rate * rate)
    return _sound(rate, channels, None)


def _avi(data: bytes) -> _Details:
    """Read the main header, which comes first."""
    if data[12:16] != b"LIST" or data[20:28] != b"hdrlavih":
        return {}
    return _size(*unpack_from("<II", data, 64))


def _mp4(data: bytes) -> _Details:
    """Read the length, and the size of the largest track: that of a sound is 0 x 0."""
    seconds, width, height = None, 0, 0
    for name, start, stop in _some_boxes(data):
        if name == b"mvhd":
            is_wide = data[start : start + 1] == b"\1"
            numbers, at = (">IQ", start + 20) if is_wide else (">II", start + 12)
            scale, duration = unpack_from(numbers, data, at)
            is_known = scale and duration not in (0, 2**32 - 1, 2**64 - 1)
            seconds = duration / scale if is_known else None
        elif name == b"tkhd" and start + 8 <= stop <= len(data):
            wide, high = unpack_from(">II", data, stop - 8)
            width, height = max((width, height), (wide >> 16, high >> 16))
    return {**_size(width, height), "seconds": seconds}


def _heif(data: bytes) -> _Details:
    """Read the largest size among the properties of a picture and of its tiles."""
    sizes = [
        unpack_from(">II", data, start + 4)
        for name, start, _ in _some_boxes(data)
        if name == b"ispe"
    ]
    return _size(*max(sizes, key=lambda size: size[0] * size[1], default=(0, 0)))


def _jpeg_2000(data: bytes) -> _Details:
    for name, start, _ in _some_boxes(data):
        if name == b"ihdr":
            height, width = unpack_from(">II", data, start)
            return _size(width, height)
    return {}


def _codestream(data: bytes) -> _Details:
    """Read the size of the grid of JPEG 2000, less its offset."""
    right, bottom, left, top = unpack_from(">IIII", data, 8)
    return _size(right - left, bottom - top)


# -------------------------------------------------------------------------------- sounds


def _flac(data: bytes) -> _Details:
    """Read STREAMINFO, which comes first: 20 bits of rate, 3 of channels, 36 of samples."""
    if data[4:5] not in (b"\0", b"\x80"):
        return {}
    (bits,) = unpack_from(">Q", data, 18)
    return _sound(bits >> 44, (bits >> 41 & 7) + 1, bits & (1 << 36) - 1)


def _ogg(data: bytes) -> _Details:
    """Read the first packet, and the position of the last page, which counts samples."""
    (n_segments,) = unpack_from("B", data, 26)
    first = data[27 + n_segments : 27 + n_segments + 64]
    is_opus = first.startswith(b"OpusHead")
    if first.startswith(b"\x01vorbis"):
        channels, rate = unpack_from("<BI", first, 11)
    elif is_opus:
        (channels,), rate = unpack_from("B", first, 9), 48_000
    else:
        return _theora(first) if first.startswith(b"\x80theora") else {}
    last = data.rfind(b"OggS", max(len(data) - _LAST_BYTES, 0))
    position = unpack_from("<q", data, last + 6)[0] if last >= 0 else 0
    if is_opus:  # samples that a decoder drops at the beginning
        position -= unpack_from("<H", first, 10)[0]
    return _sound(rate, channels, position if position > 0 else None)


def _theora(first: bytes) -> _Details:
    """Read the size of the picture: 24 bits each."""
    high, low, high2, low2 = unpack_from(">BHBH", first, 14)
    size = _size(high << 16 | low, high2 << 16 | low2)
    return {"format": "OGG video", "kind": "video", "mime": "video/ogg", "ending": ".ogv", **size}


class _Mp3Frame(NamedTuple):
    """The header of a frame of MPEG audio layer III."""

    rate: int
    n_channels: int
    n_samples: int
    n_bytes: int
    side_bytes: int
    """Between the header and the count of frames, if the first frame has one."""


_MP3_KBITS = (
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
)
_MP3_RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


def _mp3_frame(data: bytes, at: int) -> _Mp3Frame | None:
    """Read the header of a frame; None if there is none at this place."""
    (bits,) = unpack_from(">I", data, at)
    version, layer, kbits, rate = bits >> 19 & 3, bits >> 17 & 3, bits >> 12 & 15, bits >> 10 & 3
    if bits >> 21 != 0x7FF or version == 1 or layer != 1 or not 0 < kbits < 15 or rate == 3:
        return None
    hertz, is_mono, is_first = _MP3_RATES[version][rate], bits >> 6 & 3 == 3, version == 3
    n_samples = 1152 if is_first else 576
    n_bytes = n_samples // 8 * _MP3_KBITS[is_first][kbits] * 1000 // hertz + (bits >> 9 & 1)
    side_bytes = {(True, False): 32, (True, True): 17, (False, False): 17, (False, True): 9}
    return _Mp3Frame(hertz, 1 if is_mono else 2, n_samples, n_bytes, side_bytes[is_first, is_mono])


def _mp3(data: bytes) -> _Details:
    """Read the first frame; without a second one right after it, chance may have made it."""
    frame = _mp3_frame(data, 0)
    if frame is None:
        return None
    if len(data) < frame.n_bytes:
        return None
    if len(data) >= frame.n_bytes + 4 and _mp3_frame(data, frame.n_bytes) is None:
        return None
    return _mp3_sound(data, 0, frame)


def _id3(data: bytes) -> _Details:
    """Read the first frame after an ID3 tag, whose length has 7 bits in each byte."""
    a, b, c, d = unpack_from("BBBB", data, 6)
    at = 10 + (a << 21 | b << 14 | c << 7 | d)
    for place in range(at, min(at + _MAX_STEPS, len(data))):
        if data[place]:  # zeros may follow the tag
            frame = _mp3_frame(data, place)
            return {} if frame is None else _mp3_sound(data, place, frame)
    return {}


def _mp3_sound(data: bytes, at: int, frame: _Mp3Frame) -> _Details:
    """Read the number of frames, which most encoders put into the first."""
    at += 4 + frame.side_bytes
    n_frames = 0
    if data[at : at + 4] in (b"Xing", b"Info") and len(data) >= at + 12:
        flags, n_frames = unpack_from(">II", data, at + 4)
        n_frames *= flags & 1
    return _sound(frame.rate, frame.n_channels, n_frames * frame.n_samples)


# ------------------------------------------------------------------------------ the table


class _Format(NamedTuple):
    """How a format begins, what it is, and how to read its header."""

    begins: re.Pattern[bytes]
    media: Media
    read: Callable[[bytes], _Details]


def _begins(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


def _nothing(data: bytes) -> _Details:  # noqa: ARG001
    return {}


_JPEG_2000 = Media("JPEG 2000", "image", "image/jp2", ".jp2")
_FTYP = rb"\0\0[\0-\x03].ftyp"
"""The start of a box of few bytes; a text may have these letters at its fifth byte."""
_FORMATS = (
    _Format(_begins(rb"\xff\xd8\xff"), Media("JPEG", "image", "image/jpeg", ".jpg"), _jpeg),
    _Format(_begins(rb"\x89PNG\r\n\x1a\n"), Media("PNG", "image", "image/png", ".png"), _png),
    _Format(_begins(rb"GIF8[79]a"), Media("GIF", "image", "image/gif", ".gif"), _gif),
    _Format(_begins(rb"RIFF....WEBP"), Media("WebP", "image", "image/webp", ".webp"), _webp),
    _Format(
        # a text may begin with BM: the second header has one of these lengths
        _begins(rb"BM.{12}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0"),
        Media("BMP", "image", "image/bmp", ".bmp"),
        _bmp,
    ),
    _Format(
        _begins(rb"II[\x2a\x2b]\0|MM\0[\x2a\x2b]"),
        Media("TIFF", "image", "image/tiff", ".tif"),
        _tiff,
    ),
    _Format(_begins(_FTYP + rb"avi[fs]"), Media("AVIF", "image", "image/avif", ".avif"), _heif),
    _Format(
        _begins(_FTYP + rb"(hei[cmsx]|hev[cmsx]|mif1|msf1)"),
        Media("HEIC", "image", "image/heic", ".heic"),
        _heif,
    ),
    _Format(_begins(rb"\0\0\0\x0cjP  \r\n\x87\n"), _JPEG_2000, _jpeg_2000),
    _Format(_begins(rb"\xff\x4f\xff\x51"), replace(_JPEG_2000, ending=".j2k"), _codestream),
    _Format(
        _begins(rb"\0\0\0\x0cJXL \r\n\x87\n"),
        Media("JPEG XL", "image", "image/jxl", ".jxl"),
        _nothing,
    ),
    _Format(_begins(rb"(RIFF|RF64)....WAVE"), Media("WAV", "audio", "audio/wav", ".wav"), _wav),
    _Format(_begins(rb"fLaC"), Media("FLAC", "audio", "audio/flac", ".flac"), _flac),
    _Format(_begins(rb"OggS\0"), Media("OGG", "audio", "audio/ogg", ".ogg"), _ogg),
    _Format(
        _begins(rb"ID3[\x02-\x04].[\x00-\xff][\x00-\x7f]{4}"),
        Media("MP3", "audio", "audio/mpeg", ".mp3"),
        _id3,
    ),
    _Format(
        _begins(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb].."),
        Media("MP3", "audio", "audio/mpeg", ".mp3"),
        _mp3,
    ),
    _Format(_begins(_FTYP + rb"M4A "), Media("M4A", "audio", "audio/mp4", ".m4a"), _mp4),
    _Format(
        _begins(_FTYP + rb"qt  "), Media("QuickTime", "video", "video/quicktime", ".mov"), _mp4
    ),
    _Format(_begins(_FTYP), Media("MP4", "video", "video/mp4", ".mp4"), _mp4),
    _Format(_begins(rb"RIFF....AVI "), Media("AVI", "video", "video/x-msvideo", ".avi"), _avi),
    _Format(
        _begins(rb"\x1a\x45\xdf\xa3.{0,40}webm"),
        Media("WebM", "video", "video/webm", ".webm"),
        _nothing,
    ),
)
