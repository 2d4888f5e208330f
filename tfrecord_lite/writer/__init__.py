"""Files of records that are written: one (``single``), or the shards of a data set (``sharded``)."""

from __future__ import annotations

from tfrecord_lite.writer.sharded import ShardedTFRecordWriter
from tfrecord_lite.writer.single import MessageWriter, TFRecordWriter

__all__ = ["MessageWriter", "ShardedTFRecordWriter", "TFRecordWriter"]
