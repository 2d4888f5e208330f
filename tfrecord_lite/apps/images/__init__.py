"""Images: encoded ones to pixels and back, folders of them to files of records and back.

::

    image   encoded images to pixels and back, with Pillow
    pack    folders and lists of images to files of records
    unpack  files of records to folders of images
"""

from tfrecord_lite.apps.images.image import decode_image, decode_images, encode_image, image_row
from tfrecord_lite.apps.images.pack import ImageReport, pack_images
from tfrecord_lite.apps.images.unpack import unpack_images

__all__ = [
    "ImageReport", "decode_image", "decode_images", "encode_image", "image_row", "pack_images", "unpack_images",
]  # fmt: skip
