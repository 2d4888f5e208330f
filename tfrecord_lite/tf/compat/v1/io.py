"""tf.compat.v1.io: the names of tf.io, and those that only TensorFlow 1 had."""

from __future__ import annotations

from typing import Any

from tfrecord_lite.extension import TFRecordCompressionType
from tfrecord_lite.reader import tf_record_iterator
from tfrecord_lite.tf import io as _io

__all__ = ["TFRecordCompressionType", "parse_example", "parse_single_example", "tf_record_iterator"]


def parse_example(
    serialized: Any, features: _io.Features, name: Any = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse a batch of Examples; the last two arguments are in TensorFlow 1's order."""
    return _io.parse_example(serialized, features, example_names, name)


def parse_single_example(
    serialized: Any, features: _io.Features, name: Any = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse one Example; the last two arguments are in TensorFlow 1's order."""
    return _io.parse_single_example(serialized, features, example_names, name)


def __getattr__(name: str) -> Any:
    """Look up any other name in tf.io."""
    return getattr(_io, name)
