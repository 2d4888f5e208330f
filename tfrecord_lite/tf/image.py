"""tf.image: images decoded and encoded, and nothing else."""

from __future__ import annotations

from tfrecord_lite.tf._missing import HINTS, missing
from tfrecord_lite.tf.io._bytes import (
    decode_bmp,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)

__all__ = [
    "decode_bmp",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
]

__getattr__ = missing(__name__, otherwise=HINTS["image"])
