"""tf.image: decoding and encoding of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tfrecord_lite.tf._unavailable import HINTS, unavailable
from tfrecord_lite.tf.io._bytes import (
    decode_bmp,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["decode_bmp", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"]

__getattr__: Callable[[str], NoReturn] = unavailable(__name__, otherwise=HINTS["image"])
