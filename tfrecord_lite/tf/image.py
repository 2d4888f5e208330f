"""tf.image: decoding and encoding of images."""

from tfrecord_lite.tf._unavailable import HINTS, Unavailable, unavailable
from tfrecord_lite.tf.io import decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png

__all__ = ["decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"]

__getattr__: Unavailable = unavailable(__name__, HINTS["image"])
