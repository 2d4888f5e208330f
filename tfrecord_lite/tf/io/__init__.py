"""tf.io: records, messages, the contents of byte strings, and local files (``gfile``)."""

from __future__ import annotations

from typing import Any

from tfrecord_lite import writer
from tfrecord_lite.files.compression import CompressionType, TFRecordOptions
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.io import gfile
from tfrecord_lite.tf.io._bytes import (
    decode_bmp,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_raw,
    encode_jpeg,
    encode_png,
    parse_tensor,
    read_file,
    serialize_tensor,
    write_file,
)
from tfrecord_lite.tf.io._parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_bmp",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "gfile",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


class TFRecordWriter(writer.TFRecordWriter):
    """Writes records to one file, compressed only if the options say so, whatever its name."""

    def __init__(self, path: Any, options: CompressionType = None) -> None:
        super().__init__(path, "" if options is None else options)


__getattr__: Unavailable = unavailable(
    __name__,
    {
        "TFRecordCompressionType": "use tf.compat.v1.io.TFRecordCompressionType",
        "decode_gif": "use Pillow to read animations",
        "matching_files": "use tf.io.gfile.glob",
        "tf_record_iterator": "use tf.compat.v1.io.tf_record_iterator, or tf.data.TFRecordDataset",
        "write_graph": "leave it out, as there are no graphs here",
    },
    otherwise="use tfrecord_lite itself, or NumPy on the array that .numpy() returns",
)
