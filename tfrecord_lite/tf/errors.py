"""tf.errors: TensorFlow's names for the errors raised here.

Some are Python's own exceptions. ``OpError`` is a tuple of all of them, for ``except`` and
``isinstance``.
"""

from __future__ import annotations

from tfrecord_lite.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    TFRecordError,
)
from tfrecord_lite.tf._unavailable import Unavailable, unavailable

__all__ = [
    "AlreadyExistsError", "DataLossError", "FailedPreconditionError", "InvalidArgumentError",
    "NotFoundError", "OpError", "OutOfRangeError", "PermissionDeniedError", "UnimplementedError",
]  # fmt: skip

AlreadyExistsError = FileExistsError
NotFoundError = FileNotFoundError
PermissionDeniedError = PermissionError
UnimplementedError = NotImplementedError
OutOfRangeError = EOFError
OpError: tuple[type[Exception], ...] = (TFRecordError, OSError, EOFError, NotImplementedError)

__getattr__: Unavailable = unavailable(__name__, otherwise="nothing here raises it")
