"""Random access: where each record of a file is, and reading any of them.

::

    scan ─> extents: RecordIndex, two arrays <─> text: DALI's "offset size" lines
                │     (choice: one there is, or a new one)
    handles ────┴─> frames: many records into one buffer, checked
    (pread)              └─> file: TFRecordFile        offsets: tf_record_random_reader
"""

from __future__ import annotations

from tfrecord_lite.index.file import RandomReader, TFRecordFile, tf_record_random_reader
from tfrecord_lite.index.index import RecordIndex

__all__ = ["RandomReader", "RecordIndex", "TFRecordFile", "tf_record_random_reader"]
