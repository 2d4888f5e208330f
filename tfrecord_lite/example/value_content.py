"""What a byte string of a feature is, in a word and in a line: ``recognize_value``.

::

    JPEG                 JPEG 640 x 480, 42.1 KiB
    WAV                  WAV 16000 Hz, mono, 2.5 s, 78.2 KiB
    float32 tensor       float32 tensor [3, 4], 48 bytes       a TensorProto
    uint8 array          uint8 array [28, 28], 784 bytes       a .npy file
    text                 text, 12 bytes
    bytes                12 bytes

That is a guess from the beginning of the bytes, made in bounded time: nothing is decoded.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from math import prod

import numpy as np

from tfrecord_lite.errors import human_bytes, plural
from tfrecord_lite.example.content import text_of
from tfrecord_lite.media import Media, recognize
from tfrecord_lite.tensors.header import read_header

OTHER_LABELS = ("text", "bytes", "empty")
"""The labels of byte strings that are in no format."""

_MAX_TEXT_BYTES = 1 << 16
_MAX_HEADER_BYTES = 1 << 12
_MAX_DIMS_SHOWN = 8
_NPY = b"\x93NUMPY"
_NPY_DTYPE = re.compile(rb"'descr':\s*'([<>|=]?[A-Za-z]\d{0,4})'")
_NPY_SHAPE = re.compile(rb"'shape':\s*\(([\d, ]{0,1300})\)")


@dataclass(frozen=True, slots=True)
class ValueContent:
    """What a byte string is."""

    label: str
    """Its format in a word or two, such as ``"JPEG"``, ``"float32 tensor"``, ``"text"``, ``"bytes"``."""
    details: str
    """The size of a picture, the shape of a tensor, ...; may be empty."""
    n_bytes: int
    """Of the byte string; of a tensor or array of numbers, those of its elements."""
    media: Media | None = None
    """Of an encoded image, sound or film."""
    shape: tuple[int, ...] | None = None
    """Of a tensor or array."""

    def __str__(self) -> str:
        """Say all of it in one line."""
        if not self.n_bytes and not self.details:
            return self.label
        n_bytes = plural(self.n_bytes, "byte")
        size = n_bytes if self.n_bytes < 1024 else human_bytes(self.n_bytes)
        what = f"{self.label} {self.details}".rstrip()
        return size if what == "bytes" else f"{what}, {size}"


def recognize_value(value: bytes) -> ValueContent:
    r"""Recognise what a byte string is; never fails, whatever the bytes are.

    A long text is judged by its first 64 KiB.

    Examples
    --------
    >>> print(recognize_value(b"GIF89a\x80\x02\xe0\x01"))
    GIF 640 x 480, 10 bytes
    >>> recognize_value(b"text").label, recognize_value(b"\xff").label, recognize_value(b"").label
    ('text', 'bytes', 'empty')
    """
    n_bytes = len(value)
    if not value:
        return ValueContent("empty", "", 0)
    if (media := recognize(value)) is not None:
        return ValueContent(media.format, media.details, n_bytes, media)
    if (tensor := read_header(value)) is not None:
        size = n_bytes if tensor.nbytes is None else tensor.nbytes
        details = _brackets(tensor.shape)
        return ValueContent(f"{tensor.dtype} tensor", details, size, shape=tensor.shape)
    if value.startswith(_NPY) and (array := _npy(value)) is not None:
        return array
    return ValueContent("text" if is_text(value) else "bytes", "", n_bytes)


def is_text(value: bytes) -> bool:
    r"""Return whether the first 64 KiB are UTF-8 without control characters but ``\t\n\r``."""
    if len(value) <= _MAX_TEXT_BYTES:
        return text_of(value) is not None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        start = decoder.decode(value[:_MAX_TEXT_BYTES])  # may end within a character
    except UnicodeDecodeError:
        return False
    return text_of(start.encode()) is not None


def _npy(value: bytes) -> ValueContent | None:
    """Read the header of a .npy file, a dictionary in Python's syntax; None if it is another."""
    header = value[len(_NPY) : _MAX_HEADER_BYTES]
    descr, shape = _NPY_DTYPE.search(header), _NPY_SHAPE.search(header)
    if descr is None or shape is None:
        return None
    try:
        dtype = np.dtype(descr[1].decode())
    except (TypeError, ValueError):
        return None
    digits: list[bytes] = re.findall(rb"\d+", shape[1])
    if max(map(len, digits), default=0) > 18:
        return None
    sizes = tuple(map(int, digits))
    n_bytes = prod(sizes) * dtype.itemsize
    if n_bytes >= 2**63:
        return None
    return ValueContent(f"{dtype.name} array", _brackets(sizes), n_bytes, shape=sizes)


def _brackets(shape: tuple[int, ...]) -> str:
    """Write a shape, cut if it has many dimensions."""
    shown = [str(size) for size in shape[:_MAX_DIMS_SHOWN]]
    return f"[{', '.join(shown + ['...'] * (len(shape) > _MAX_DIMS_SHOWN))}]"
