"""The pipeline: files to shuffled batches of columns, epoch after epoch, resumable.

::

    batched     make_batched_features_dataset, read_batches
    tfrecords   TFRecordDataset, where pipelines begin    dataset   Dataset: what users chain
    iterator    one pass, which can be resumed            arguments   checked alike
    spread      the same plan for one of several workers     workers   processes of our own
    records, interleave, shuffle, stages, batching, prefetch, cache      a generator a stage
    plan        stages and what they take their elements from
    feed        chunks cut to any size, and the state between any two elements
    chunks      many elements at a time                      order     random order, by rule
"""

from __future__ import annotations

from tfrecord_lite.dataset.batched import make_batched_features_dataset, read_batches
from tfrecord_lite.dataset.dataset import Dataset
from tfrecord_lite.dataset.iterator import DatasetIterator
from tfrecord_lite.dataset.tfrecords import TFRecordDataset

__all__ = [
    "Dataset",
    "DatasetIterator",
    "TFRecordDataset",
    "make_batched_features_dataset",
    "read_batches",
]
