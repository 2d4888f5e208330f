"""tf.image: decoding and encoding of images."""

from tfrecord_lite.tf._unavailable import HINTS, unavailable
from tfrecord_lite.tf.io import decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png

__all__ = ["decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"]

__getattr__ = unavailable(__name__, HINTS["image"])
