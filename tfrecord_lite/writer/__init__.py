"""Files of records that are written: one, or the shards of a data set.

::

    single     TFRecordWriter: one file, new, replaced or appended to; MessageWriter: Examples from columns and rows
    sharded    ShardedTFRecordWriter: files that appear when all are complete
    beside     the sidecar of a file that a writer replaces or appends to
"""

from __future__ import annotations

from tfrecord_lite.writer.sharded import ShardedTFRecordWriter
from tfrecord_lite.writer.single import MessageWriter, TFRecordWriter

__all__ = ["MessageWriter", "ShardedTFRecordWriter", "TFRecordWriter"]
