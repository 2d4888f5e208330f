"""The pipeline: files to shuffled batches of columns, epoch after epoch, resumable.

::

    tfrecords      TFRecordDataset, read_batches
    dataset        Dataset: the stages that users chain; DatasetIterator: one iteration
    plan           descriptions of data sets, divided among workers; a run is one iteration over a plan
    sources        where plans begin: files in order or in turns, or all records in random order
    stages         take, skip, shard, enumerate, map, filter, repeat, cache, prefetch
    shuffle        random order with a buffer, by the rule of random_order
    mixtures       several data sets as one
    batching       batches, and the columns parsed from them
    lengths        batches of similar lengths, and sequences packed into blocks
    workers        processes that run a plan together
    cutting        the elements of a stage, cut to any size, and the states between them
    chunks         many elements at a time; records never become objects on the way
"""

from __future__ import annotations

from tfrecord_lite.dataset.dataset import Dataset, DatasetIterator
from tfrecord_lite.dataset.tfrecords import TFRecordDataset, read_batches

__all__ = ["Dataset", "DatasetIterator", "TFRecordDataset", "read_batches"]
