"""tf.train: the messages in records, which are protobuf classes, as in TensorFlow."""

from tfrecord_lite.messages import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from tfrecord_lite.tf._unavailable import Unavailable, unavailable

__all__ = [
    "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "SequenceExample",
]  # fmt: skip

__getattr__: Unavailable = unavailable(__name__, "use TensorFlow itself, torch or jax for training")
