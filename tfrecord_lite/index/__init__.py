"""Random access: an index of where each record of a file is, and reading any of them.

::

    index      RecordIndex: the extents of a file's records, from a scan or an index file
    counting   the number of records, without their data where the file allows
    handles    files read at any offset: local ones, and URLs by range requests
    sampling   draw_sample: some records of files of any size
    parts      parts of files, cut at borders of records, for tasks elsewhere
    file       TFRecordFile: records by number; tf_record_random_reader: by offset
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfrecord_lite.lazy import names_from

if TYPE_CHECKING:
    from tfrecord_lite.index.file import RandomReader, TFRecordFile, tf_record_random_reader
    from tfrecord_lite.index.index import RecordIndex

__all__ = ["RandomReader", "RecordIndex", "TFRecordFile", "tf_record_random_reader"]

if not TYPE_CHECKING:
    _HOMES = {**dict.fromkeys(__all__, "index.file"), "RecordIndex": "index.index"}
    __getattr__ = names_from(__name__, _HOMES)
