"""tf.train: the messages of records. They are protobuf classes, as TensorFlow's are."""

from __future__ import annotations

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
from tfrecord_lite.tf._missing import missing

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

__getattr__ = missing(__name__, otherwise="training is for TensorFlow itself, torch or jax")
