"""Files of Examples as tables of Arrow, and files of other formats to and from them.

::

    table        scan: a lazy table over files, blocks as record batches, and the parts that tasks read
    conversion   files of one format to files of another: shards, processes, resuming
    formats      how a file of each format is opened, compressed ones as file objects
      record_format      TFRecords, also those that tasks write
      table_formats      CSV, JSON lines, Parquet and Arrow
"""

from __future__ import annotations

from tfrecord_lite.apps.tables.table import PartitionReader, TablePartition, TFRecordTable, scan

__all__ = ["PartitionReader", "TFRecordTable", "TablePartition", "scan"]
