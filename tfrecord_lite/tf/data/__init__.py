"""tf.data: data sets of tensors, and what is in ``experimental``."""

from __future__ import annotations

from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.data import experimental
from tfrecord_lite.tf.data._dataset import AUTOTUNE, Dataset, Options, TFRecordDataset

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "Options",
    "TFRecordDataset",
    "experimental",
]

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

__getattr__: Unavailable = unavailable(
    __name__,
    {
        "TextLineDataset": "use Dataset.from_generator over an open file",
        "FixedLengthRecordDataset": "use numpy.fromfile and Dataset.from_tensor_slices",
        "Iterator": "use iter(dataset)",
    },
    otherwise="use Dataset.from_generator",
)
