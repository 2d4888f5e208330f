"""Every exception of the package.

::

    TFRecordError                      the base: catch this to catch all of ours
    ├── DataLossError                  bytes that break the format
    ├── InvalidArgumentError           a well-formed thing that does not fit what was asked
    └── FailedPreconditionError        use of something after its close

    DataLossWarning                    a UserWarning: damage that was passed over, as asked for

The names are TensorFlow's (``tf.errors``); each is also a :class:`ValueError`.
Where Python has the word, Python's exception is used instead:
:class:`FileNotFoundError`, :class:`IsADirectoryError`, :class:`PermissionError`,
:class:`TypeError` for an argument of the wrong type, and :class:`ImportError`
with the ``pip install`` line for an extra that is not there.

Callers branch on :class:`Reason`, never on the text. The text says what is
wrong, where, what was expected and what was found; it never holds the payload,
which may be megabytes, or private.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "DataLossError",
    "DataLossWarning",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "Reason",
    "TFRecordError",
]


class Reason(StrEnum):
    """Why something was refused. A closed set: tests and recovery branch on it."""

    LENGTH_CRC = "length CRC mismatch"
    DATA_CRC = "data CRC mismatch"
    TRUNCATED = "truncated"
    RECORD_TOO_LARGE = "record larger than the limit"
    COMPRESSION = "not a stream of the expected compression"
    COMPRESSED_TRUNCATED = "compressed stream cut short"
    COMPRESSED_CORRUPT = "compressed stream corrupt"
    INFLATED_TOO_LARGE = "inflated data larger than the limit"
    TRAILING_DATA = "data after the end of the compressed stream"
    MALFORMED = "not a message of the expected type"
    MISSING = "required feature is missing"
    WRONG_KIND = "feature holds another kind of values"
    WRONG_COUNT = "number of values does not fit"
    BAD_PARTITION = "partition does not fit the values"
    BAD_INDEX = "sparse index does not fit"
    WRONG_DTYPE = "tensor of another dtype"
    BAD_SHAPE = "shape does not fit"
    TENSOR_TOO_LARGE = "tensor larger than the limit"
    UNREPRESENTABLE = "value that would not come back as it is"
    BAD_ARGUMENT = "argument out of range"
    UNSUPPORTED = "not supported here"
    CLOSED = "closed"
    IN_USE = "in use by another writer"
    NOT_SEEKABLE = "cannot be read a second time"
    STALE_INDEX = "index does not fit the file"


class TFRecordError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    reason : Reason
        The machine-readable cause.
    offset : int, optional
        Bytes from the start of the *decompressed* stream to the first byte of
        the unit that is broken; for a record, to its header, whichever part of
        it is at fault (TensorFlow names the data's offset for a bad data CRC,
        rule R5).
    source : str, optional
        Path or URL the bytes came from.
    index : int, optional
        Number of the record in `source`, from 0.
    key : str, optional
        Name of the feature.
    detail : str, optional
        What was expected, what was found, how to go on.
    """

    def __init__(
        self,
        reason: Reason,
        offset: int | None = None,
        source: str | None = None,
        index: int | None = None,
        key: str | None = None,
        detail: str | None = None,
    ) -> None:
        # All fields go to args, so that the error survives pickling out of a worker process.
        super().__init__(reason, offset, source, index, key, detail)
        self.reason = reason
        self.offset = offset
        self.source = source
        self.index = index
        self.key = key
        self.detail = detail

    def __str__(self) -> str:
        """Say what, where, and the detail, in one line."""
        where = [f"feature {self.key!r}"] if self.key is not None else []
        if self.index is not None:
            where.append(f"record {self.index}")
        if self.offset is not None:
            where.append(f"byte {self.offset}")
        text = str(self.reason) + (" at " + ", ".join(where) if where else "")
        text += f" of {self.source}" if self.source is not None else ""
        return f"{text}: {self.detail}" if self.detail else text


class DataLossError(TFRecordError, ValueError):
    """Bytes that break the format: a wrong CRC, a cut record, a corrupt stream."""


class InvalidArgumentError(TFRecordError, ValueError):
    """A value that is well formed but does not fit what was asked for."""


class FailedPreconditionError(TFRecordError, ValueError):
    """An operation the object's state does not allow, such as a write after close."""


class DataLossWarning(UserWarning):
    """Damaged bytes were passed over; with ``on_error="skip"``, once at the end of an iteration."""
