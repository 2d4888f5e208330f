"""Files of Examples as tables of Arrow, and files of other formats to and from them.

::

    table        scan: a lazy table over files
    batches      blocks of records to record batches
    partitions   the parts of a table that tasks read; parts: the files that tasks write
    conversion   files of one format to files of another: shards, processes, resuming
    formats      the formats, by name: how a file of each is opened
      record_format, columnar_formats   TFRecords; Parquet and Arrow
      text_formats, texts               CSV and JSON lines: read; written
    byte_files   compressed files as file objects
"""

from __future__ import annotations

from tfrecord_lite.apps.tables.partitions import PartitionReader, TablePartition
from tfrecord_lite.apps.tables.table import TFRecordTable, scan

__all__ = ["PartitionReader", "TFRecordTable", "TablePartition", "scan"]
