"""TensorFlow's names for records, for scripts that use TensorFlow for nothing else.

``from tfrecord_lite import tf`` replaces ``import tensorflow as tf``. Everything here has
TensorFlow's signature, accepts and returns tensors (with ``.numpy()``), runs eagerly, and
calls the functions of :mod:`tfrecord_lite`; nothing is implemented twice. Any other name of
TensorFlow is an ``AttributeError`` that says what to use instead.

::

    train                  messages                errors       exceptions
    io, python_io          records, features       dtypes       float32, ...
    data                   data sets               sparse       to_dense
    compat                 names of TensorFlow 1   image        decoding and encoding
"""

from __future__ import annotations

from tfrecord_lite.tf import compat, data, dtypes, errors, image, io, python_io, sparse, train
from tfrecord_lite.tf._dtype import DType, as_dtype
from tfrecord_lite.tf._ops import (
    TensorSpec,
    cast,
    constant,
    convert_to_tensor,
    ensure_shape,
    executing_eagerly,
    expand_dims,
    is_tensor,
    numpy_function,
    py_function,
    reshape,
    shape,
    squeeze,
    stack,
)
from tfrecord_lite.tf._tensor import RaggedTensor, SparseTensor, Tensor, TensorShape
from tfrecord_lite.tf._unavailable import HINTS, Unavailable, unavailable
from tfrecord_lite.tf.dtypes import (
    bfloat16,
    bool,  # noqa: A004 - TensorFlow's name
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "DType",
    "RaggedTensor",
    "SparseTensor",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "compat",
    "complex64",
    "complex128",
    "constant",
    "convert_to_tensor",
    "data",
    "double",
    "dtypes",
    "ensure_shape",
    "errors",
    "executing_eagerly",
    "expand_dims",
    "float16",
    "float32",
    "float64",
    "half",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_tensor",
    "numpy_function",
    "py_function",
    "python_io",
    "reshape",
    "shape",
    "sparse",
    "squeeze",
    "stack",
    "string",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

__version__ = "2.21.0"
"""The version of TensorFlow whose rules are followed."""

__getattr__: Unavailable = unavailable(__name__, HINTS)
