"""tf.compat.v1: the names of tf, and those that TensorFlow 1 had at its top level, or in ``io``."""

from __future__ import annotations

import importlib
from typing import Any

from tfrecord_lite.tf import io as _io
from tfrecord_lite.tf import python_io
from tfrecord_lite.tf.compat.v1 import io
from tfrecord_lite.tf.compat.v1.io import parse_example, parse_single_example

__all__ = ["io", "parse_example", "parse_single_example", "python_io"]


def __getattr__(name: str) -> Any:
    """Look up any other name in tf.io, then in tf."""
    is_of_io = name in _io.__all__ and name != "gfile"
    return getattr(_io if is_of_io else importlib.import_module("tfrecord_lite.tf"), name)
