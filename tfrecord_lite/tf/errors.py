"""tf.errors: TensorFlow's names of errors, for what is raised here.

Where Python has the word, Python's exception is raised; ``OpError`` is all of them, for
``except`` and ``isinstance``.
"""

from __future__ import annotations

from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    TFRecordError,
)
from tfrecord_lite.tf._missing import missing

__all__ = [
    "AlreadyExistsError",
    "DataLossError",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "UnimplementedError",
]

AlreadyExistsError = FileExistsError
NotFoundError = FileNotFoundError
PermissionDeniedError = PermissionError
UnimplementedError = NotImplementedError
OutOfRangeError = EOFError
OpError = (TFRecordError, OSError, EOFError, NotImplementedError)

__getattr__ = missing(__name__, otherwise="nothing here raises it")
