"""The pipeline: files to shuffled batches of columns, epoch after epoch, resumable.

::

    batched     make_batched_features_dataset, read_batches
    dataset     Dataset, TFRecordDataset: what users chain; the iterator
    spread      the same plan for one of several workers     workers   processes of our own
    records, interleave, shuffle, stages, batching, prefetch             a generator a stage
    plan        stages and what they take their elements from
    feed        chunks cut to any size, and the state between any two elements
    chunks      many elements at a time                      order     random order, by rule
"""

from __future__ import annotations

from tfrecord_lite.dataset.batched import make_batched_features_dataset, read_batches
from tfrecord_lite.dataset.dataset import Dataset, DatasetIterator, TFRecordDataset

__all__ = [
    "Dataset",
    "DatasetIterator",
    "TFRecordDataset",
    "make_batched_features_dataset",
    "read_batches",
]
