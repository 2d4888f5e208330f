"""Directories of TensorFlow Datasets.

::

    info     what a directory holds: splits, features, names of labels
    loading  :func:`load_tfds`, splits and slices of them
"""

from __future__ import annotations

from tfrecord_lite.apps.tfds.info import TfdsInfo, tfds_info
from tfrecord_lite.apps.tfds.loading import load_tfds

__all__ = ["TfdsInfo", "load_tfds", "tfds_info"]
