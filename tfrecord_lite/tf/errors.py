"""tf.errors: TensorFlow's names for the errors raised here.

Some are Python's own exceptions. ``OpError`` is a tuple of all of them, for ``except`` and
``isinstance``.
"""

from tfrecord_lite import errors as _errors
from tfrecord_lite.tf._unavailable import Unavailable, unavailable

__all__ = [
    "AlreadyExistsError", "DataLossError", "FailedPreconditionError", "InvalidArgumentError",
    "NotFoundError", "OpError", "OutOfRangeError", "PermissionDeniedError", "UnimplementedError",
]  # fmt: skip

DataLossError = _errors.DataLossError
FailedPreconditionError = _errors.FailedPreconditionError
InvalidArgumentError = _errors.InvalidArgumentError
AlreadyExistsError = FileExistsError
NotFoundError = FileNotFoundError
PermissionDeniedError = PermissionError
UnimplementedError = NotImplementedError
OutOfRangeError = EOFError
OpError: tuple[type[Exception], ...] = (
    _errors.TFRecordError,
    OSError,
    EOFError,
    NotImplementedError,
)

__getattr__: Unavailable = unavailable(__name__, "nothing here raises it")
