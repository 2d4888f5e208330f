"""tf.io.TFRecordWriter: the library's writer, with TensorFlow's rule for compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite import writer

if TYPE_CHECKING:
    from tfrecord_lite.files.compression import CompressionType
    from tfrecord_lite.files.names import Source


class TFRecordWriter(writer.TFRecordWriter):
    """Writes records to one file, compressed only if the options say so, whatever its name."""

    def __init__(self, path: Source, options: CompressionType = None) -> None:
        super().__init__(path, "" if options is None else options)
