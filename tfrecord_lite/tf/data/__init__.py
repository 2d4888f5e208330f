"""tf.data: data sets of tensors, and what is in ``experimental``."""

from tfrecord_lite.tf._unavailable import Unavailable, unavailable
from tfrecord_lite.tf.data import experimental
from tfrecord_lite.tf.data._dataset import AUTOTUNE, Dataset, Options, TFRecordDataset

__all__ = ["AUTOTUNE", "Dataset", "Options", "TFRecordDataset", "experimental"]

__getattr__: Unavailable = unavailable(
    __name__,
    "use Dataset.from_generator",
    {
        "TextLineDataset": "use Dataset.from_generator over an open file",
        "FixedLengthRecordDataset": "use numpy.fromfile and Dataset.from_tensor_slices",
        "INFINITE_CARDINALITY": "cardinality() is -2 there",
        "Iterator": "use iter(dataset)",
        "UNKNOWN_CARDINALITY": "compare with -2",
    },
)
