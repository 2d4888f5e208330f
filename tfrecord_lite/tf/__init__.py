"""TensorFlow's names for records, for scripts that use TensorFlow for nothing else.

``from tfrecord_lite import tf`` replaces ``import tensorflow as tf``. Everything here has
TensorFlow's signature, accepts and returns tensors (with ``.numpy()``), and runs eagerly. Any other
name of TensorFlow is an ``AttributeError`` that says what to use instead.

::

    train                  messages                errors       exceptions
    io, python_io          records, features       dtypes       float32, ...
    data                   data sets               sparse       to_dense
    compat                 names of TensorFlow 1   image        decoding and encoding
"""

from tfrecord_lite.tf import _ops, compat, data, dtypes, errors, image, io, python_io, sparse, train
from tfrecord_lite.tf._ops import *  # noqa: F403
from tfrecord_lite.tf._tensor import RaggedTensor, SparseTensor, Tensor, TensorShape
from tfrecord_lite.tf._unavailable import HINTS, Unavailable, unavailable
from tfrecord_lite.tf.dtypes import *  # noqa: F403

__all__ = [
    "RaggedTensor", "SparseTensor", "Tensor", "TensorShape", "compat", "data", "dtypes", "errors",
    "image", "io", "python_io", "sparse", "train",
]  # fmt: skip
__all__ += dtypes.__all__
__all__ += _ops.__all__

__version__ = "2.21.0"
"""The version of TensorFlow whose rules are followed."""

__getattr__: Unavailable = unavailable(__name__, hints=HINTS)
