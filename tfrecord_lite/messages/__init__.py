"""The messages that records usually hold, as protobuf classes.

``Example`` and ``SequenceExample`` and the parts they are made of, byte for byte
what TensorFlow's classes of the same names read and write. The classes come
from ``proto/`` and live in a descriptor pool of their own
(:mod:`tfrecord_lite.messages._pool`), so they never clash with TensorFlow's in
the same process.

Importing this package loads the protobuf runtime, which nothing below it does.
"""

from __future__ import annotations

from tfrecord_lite.messages.example_pb2 import Example, SequenceExample
from tfrecord_lite.messages.feature_pb2 import (
    BytesList,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
)

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
