"""tf.compat.v1: the names of tf, and those that TensorFlow 1 had at its top level, or in ``io``."""

from __future__ import annotations

import importlib
from typing import Any

from tfrecord_lite.tf import io as _io
from tfrecord_lite.tf import python_io
from tfrecord_lite.tf.compat.v1 import io
from tfrecord_lite.tf.compat.v1.io import parse_example, parse_single_example

__all__ = [
    "disable_eager_execution",
    "enable_eager_execution",
    "enable_v2_behavior",
    "io",
    "parse_example",
    "parse_single_example",
    "python_io",
]


def enable_eager_execution(*_: Any, **__: Any) -> None:
    """Do nothing, as everything runs eagerly."""


enable_v2_behavior = enable_eager_execution


def disable_eager_execution() -> None:
    """Raise NotImplementedError, as everything runs eagerly."""
    raise NotImplementedError("there are no graphs here: everything runs eagerly")


def __getattr__(name: str) -> Any:
    """Look up any other name in tf.io, then in tf."""
    is_of_io = name in _io.__all__ and name != "gfile"
    return getattr(_io if is_of_io else importlib.import_module("tfrecord_lite.tf"), name)
