"""tf.compat.v1: the names of tf, and those that only TensorFlow 1 had.

Its modules ``io`` and ``gfile`` likewise extend ``tf.io`` and ``tf.io.gfile``.
"""

from __future__ import annotations

import importlib
from typing import Any

from tfrecord_lite.tf import python_io
from tfrecord_lite.tf.compat.v1 import gfile, io
from tfrecord_lite.tf.compat.v1.io import parse_example, parse_single_example
from tfrecord_lite.tf.io import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    decode_raw,
    parse_single_sequence_example,
    parse_tensor,
    serialize_tensor,
)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_raw",
    "disable_eager_execution",
    "enable_eager_execution",
    "enable_v2_behavior",
    "gfile",
    "io",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "python_io",
    "serialize_tensor",
]


def enable_eager_execution(*_: Any, **__: Any) -> None:
    """Do nothing, as everything runs eagerly."""


enable_v2_behavior = enable_eager_execution


def disable_eager_execution() -> None:
    """Raise NotImplementedError, as everything runs eagerly."""
    raise NotImplementedError("there are no graphs here: everything runs eagerly")


def __getattr__(name: str) -> Any:
    """Look up any other name in tf."""
    return getattr(importlib.import_module("tfrecord_lite.tf"), name)
