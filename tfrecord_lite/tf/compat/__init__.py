"""tf.compat: the names of TensorFlow 1 (``v1``), and conversions between bytes and str."""

from __future__ import annotations

from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.compat import v1

__all__ = ["as_bytes", "as_str", "as_text", "v1"]


def as_bytes(bytes_or_text: bytes | str, encoding: str = "utf-8") -> bytes:
    """Return text as bytes; bytes as they are."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes_or_text


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Return bytes as text; text as it is."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes_or_text.decode(encoding)


as_str = as_text

__getattr__: Unavailable = unavailable(__name__, "only v1, as_bytes, as_str and as_text are here")
