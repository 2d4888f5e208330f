"""The pipeline: files to shuffled batches of columns, epoch after epoch, resumable.

How elements flow::

    files ──RecordStream──> Files ──> Shuffle ──> Batch ──> Parse ──> DatasetIterator ──> user
             blocks of         chunks of records, batches, columns       one element
             records           (records never become objects on the way)

Modules, starting with what users meet first::

    batch_readers  read_batches: files to batches in one call
    tfrecords      TFRecordDataset: the records of files
    dataset        Dataset: the stages that users chain, as methods
    iterator       DatasetIterator: one iteration, which can be resumed
    plan           frozen descriptions of data sets; a run is one iteration over a plan
    records        where plans begin: files in order, or all records in random order
    interleave     several files in turns
    stages         take, skip, shard, enumerate, map, filter, repeat
    shuffle        random order with a buffer
    random_order   the rule that makes random orders
    batching       batches, and the columns parsed from them
    cache          keep the elements of an epoch
    prefetch       work ahead in a thread
    workers        processes that run a plan together
    worker_damage  the damage that those processes meet, merged
    sharding       divide a plan among workers
    feed           the elements of a stage, cut to any size, and the states between them
    chunks         many elements at a time
"""

from __future__ import annotations

from tfrecord_lite.dataset.batch_readers import read_batches
from tfrecord_lite.dataset.dataset import Dataset
from tfrecord_lite.dataset.iterator import DatasetIterator
from tfrecord_lite.dataset.tfrecords import TFRecordDataset

__all__ = [
    "Dataset",
    "DatasetIterator",
    "TFRecordDataset",
    "read_batches",
]
