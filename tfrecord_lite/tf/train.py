"""tf.train: the messages in records, which are protobuf classes, as in TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

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
from tfrecord_lite.tf._unavailable import unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

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

__getattr__: Callable[[str], NoReturn] = unavailable(
    __name__, otherwise="use TensorFlow itself, torch or jax for training"
)
