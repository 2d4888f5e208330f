"""The pipeline: files to shuffled batches of columns, epoch after epoch, resumable.

How elements flow::

    files ──RecordStream──> Files ──> Shuffle ──> Batch ──> Parse ──> DatasetIterator ──> user
             blocks of         chunks of records, batches, columns       one element
             records           (records never become objects on the way)

Modules, starting with what users meet first::

    tfrecords      TFRecordDataset: the records of files; read_batches: files to batches in one call
    dataset        Dataset: the stages that users chain; DatasetIterator: one iteration, resumable
    plan           frozen descriptions of data sets; a run is one iteration over a plan
    sources        where plans begin: files, or all records in random order
    turns          the records of files one after the other, or of several in turns
    stages         take, skip, shard, enumerate, map, filter, repeat, cache, prefetch
    shuffle        random order with a buffer
    mixtures       several data sets as one: mixed, one after the other, or side by side
    random_order   the rule that makes random orders
    batching       batches, and the columns parsed from them
    lengths        batches of similar lengths, and sequences packed into blocks
    workers        processes that run a plan together
    sharding       divide a plan among workers
    cutting        the elements of a stage, cut to any size, and the states between them
    chunks         many elements at a time
"""

from __future__ import annotations

from tfrecord_lite.dataset.dataset import Dataset, DatasetIterator
from tfrecord_lite.dataset.tfrecords import TFRecordDataset, read_batches

__all__ = ["Dataset", "DatasetIterator", "TFRecordDataset", "read_batches"]
