"""Every exception of the package, and the reports about damage.

The names are TensorFlow's (``tf.errors``); each is also a :class:`ValueError`.
Where Python has the word, Python's exception is used instead: :class:`FileNotFoundError`,
:class:`IsADirectoryError`, :class:`PermissionError`, :class:`TypeError` for an argument of the wrong type, and
:class:`ImportError` with the ``pip install`` line for a missing extra.

Callers branch on :class:`Reason`, never on the text, which is ``<source>: record 3, byte 24, feature 'x': <detail>``.
It never holds the payload, which may be megabytes, or private.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from tfrecord_lite.texts import plural, repr_html, short_name

__all__ = [
    "DamageReport", "DamagedSpan", "DataLossError", "DataLossWarning", "FailedPreconditionError", "FileReport",
    "InvalidArgumentError", "Reason", "TFRecordError", "argument_error", "errors_at", "lost_of", "require_int",
]  # fmt: skip


class Reason(StrEnum):
    """Why an error was raised. A closed set: tests and recovery branch on it.

    Examples
    --------
    >>> try:
    ...     parse_example(encode_examples({"age": [36, None, 37]}), {"age": int})
    ... except TFRecordError as error:
    ...     print(error.reason is Reason.MISSING, error.reason.value)
    True required feature is missing
    """

    LENGTH_CRC = "length CRC mismatch"
    DATA_CRC = "data CRC mismatch"
    TRUNCATED = "truncated"
    NOT_A_TFRECORD = "not a TFRecord file"
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
    IN_USE = "in use"
    NOT_SEEKABLE = "cannot be read a second time"
    STALE_INDEX = "index does not fit the file"


STREAM_DAMAGE = (Reason.COMPRESSED_TRUNCATED, Reason.COMPRESSED_CORRUPT, Reason.TRAILING_DATA)
"""Damage of the compressed stream, which ends there."""


class TFRecordError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    reason : Reason
        The machine-readable cause.
    offset : int, optional
        Bytes from the start of the *decompressed* stream to what is broken; for a record, to its header
        (TensorFlow names the data's offset for a bad data CRC, rule R5).
    source : str, optional
        Path or URL the bytes came from.
    index : int, optional
        Number of the record in `source`, from 0.
    key : str, optional
        Name of the feature.
    detail : str, optional
        What is wrong, what was expected, how to go on; by default the reason's words.

    Examples
    --------
    >>> error = InvalidArgumentError(Reason.MISSING, source="people.tfrecord", index=2, key="age")
    >>> isinstance(error, TFRecordError), isinstance(error, ValueError)
    (True, True)
    >>> print(error)
    people.tfrecord: record 2, feature 'age': required feature is missing
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

    def at(
        self,
        *,
        offset: int | None = None,
        source: str | None = None,
        index: int | None = None,
        key: str | None = None,
        detail: str | None = None,
    ) -> Self:
        """Return the same error with a more exact place.

        None keeps what this error has, so a field cannot be cleared.

        Examples
        --------
        >>> error = InvalidArgumentError(Reason.MISSING, key="age")
        >>> print(error.at(source="people.tfrecord", index=2))
        people.tfrecord: record 2, feature 'age': required feature is missing
        """
        _, *own = self.args
        more_exact: Any = zip((offset, source, index, key, detail), own, strict=True)
        place = (before if new is None else new for new, before in more_exact)
        return type(self)(self.reason, *place)

    def __str__(self) -> str:
        """Return the place, then the cause, in one line."""
        places = [] if self.index is None else [f"record {self.index}"]
        if self.offset is not None:
            places.append(f"byte {self.offset}")
        if self.key is not None:
            places.append(f"feature {self.key!r}")
        parts = [self.source, ", ".join(places), self.detail or str(self.reason)]
        return ": ".join(part for part in parts if part)


class DataLossError(TFRecordError, ValueError):
    """Bytes that break the format: a wrong CRC, a cut record, a corrupt stream.

    Examples
    --------
    >>> from pathlib import Path
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> file = Path("names.tfrecord")
    >>> _ = file.write_bytes(file.read_bytes().replace(b"Alan", b"Elan"))
    >>> list(TFRecordReader(file))
    Traceback (most recent call last):
        ...
    tfrecord_lite.errors.DataLossError: names.tfrecord: record 1, byte 19: data CRC mismatch: ...
    """


class InvalidArgumentError(TFRecordError, ValueError):
    """A value that is well formed but does not fit what was asked for.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> try:
    ...     parse_example(people, {"age": int})
    ... except InvalidArgumentError as error:
    ...     print(error.reason.name, error.key, error.index)
    MISSING age 2
    """


class FailedPreconditionError(TFRecordError, ValueError):
    """An operation the object's state does not allow, such as a write after close.

    Examples
    --------
    >>> writer = TFRecordWriter("names.tfrecord")
    >>> writer.close()
    >>> writer.write(b"Ada")
    Traceback (most recent call last):
        ...
    tfrecord_lite.errors.FailedPreconditionError: names.tfrecord: the writer is closed; open another
    """


class DataLossWarning(UserWarning):
    """Damaged bytes were skipped, or records that do not fit were dropped, as asked for.

    Given once at the end of an iteration, with ``on_error="skip"`` or ``on_misfit="drop"``.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> with TFRecordWriter("names.tfrecord") as writer:
    ...     writer.write(Block.from_records([b"Ada", b"Alan", b"Grace"]))
    >>> file = Path("names.tfrecord")
    >>> _ = file.write_bytes(file.read_bytes().replace(b"Alan", b"Elan"))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", DataLossWarning)
    ...     list(TFRecordReader(file, on_error="skip"))
    [b'Ada', b'Grace']
    >>> str(caught[0].message).partition(";")[0]
    'skipped 1 damaged place (20 bytes) in 1 of 1 file, and read 2 records'
    """


@dataclass(frozen=True, slots=True)
class DamagedSpan:
    """Bytes of a file that were skipped because they are damaged; of records, all that are neighbours.

    Examples
    --------
    >>> span = DamagedSpan("a.tfrecord", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
    >>> print(span)
    a.tfrecord: record 1, byte 24: data CRC mismatch; 19 bytes skipped
    """

    source: str
    """Path or URL."""
    offset: int
    """Bytes from the start of the decompressed stream to the first one skipped, where a
    record's header is expected."""
    length: int
    """Number of bytes; 0 if only the compressed stream is damaged there."""
    reason: Reason
    """What is wrong with the first record of the span."""
    detail: str | None
    """The cause in words."""
    index: int | None
    """Number of that record in the file; None if it is not known."""
    records_before: int
    """Number of intact records of the file before it."""
    records_after: int | None = None
    """Number of intact records of the file after it; None until they are read."""
    num_records: int = 1
    """How many records with wrong data follow one another; of other damage, 1."""

    @property
    def breaks_off(self) -> bool:
        """Whether the file or its compressed stream ends too soon, so that more than `length` is lost."""
        return self.reason is Reason.TRUNCATED or self.reason in STREAM_DAMAGE

    def error(self) -> DataLossError:
        """Return the error that a reader which stops at damage raises here.

        Examples
        --------
        >>> span = DamagedSpan("a.tfrecord", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
        >>> span.error().reason.name
        'DATA_CRC'
        """
        error = DataLossError(self.reason, source=self.source, detail=self.detail)
        if self.reason is Reason.NOT_A_TFRECORD:  # without records there are no places in them
            return error
        return error.at(offset=self.offset, index=self.index)

    def joined(self, after: DamagedSpan) -> DamagedSpan | None:
        """Return one span of this and the next one, if only records with wrong data CRCs are in them.

        Examples
        --------
        >>> first = DamagedSpan("a", 0, 20, Reason.DATA_CRC, None, 0, 0)
        >>> first.joined(DamagedSpan("a", 20, 20, Reason.DATA_CRC, None, 1, 0)).num_records
        2
        """
        is_next = after.offset == self.offset + self.length
        if not is_next or not self.reason is after.reason is Reason.DATA_CRC:
            return None
        length, num_records = self.length + after.length, self.num_records + after.num_records
        return replace(self, length=length, num_records=num_records)

    @property
    def description(self) -> str:
        """The place, and what is wrong there, in one line."""
        if self.num_records == 1:
            return str(self.error())
        first, n = self.index, self.num_records
        records = f"{n} records" if first is None else f"records {first} to {first + n - 1}"
        return f"{self.source}: {records}, byte {self.offset}: {self.reason}"

    def __str__(self) -> str:
        """Return the place, what is wrong there, and how much was skipped, in one line."""
        return f"{self.description}; {plural(self.length, 'byte')} skipped"


MAX_SPANS = 10_000
"""How many spans of one file a report keeps; the others are only counted."""


@dataclass(frozen=True, slots=True, repr=False)
class FileReport:
    """What was read of one file, and what was lost; true if the file is sound.

    Examples
    --------
    >>> _ = save("people.tfrecord", {"name": ["Ada", "Alan", "Grace"], "age": [36, 41, 37]})
    >>> (report,) = verify("people.tfrecord").files
    >>> report.source, report.records, bool(report)
    ('people.tfrecord', 3, True)
    """

    source: str
    """Path or URL."""
    records: int
    """Number of intact records."""
    record_bytes: int
    """Bytes of their data, without headers and footers."""
    spans: tuple[DamagedSpan, ...] = ()
    """The damaged spans; the first :data:`MAX_SPANS` of them."""
    num_damaged: int = 0
    """Number of damaged places; each record of a span counts."""
    lost_bytes: int = 0
    """Bytes in all of them, of the decompressed stream; more may be lost if `breaks_off`."""
    message_errors: tuple[InvalidArgumentError, ...] = ()
    """Errors of intact records that are wrong messages, if that was checked; as many at most. With
    ``on_misfit="drop"`` those that were dropped, which `records` does not count."""
    num_message_errors: int = 0
    failure: Exception | None = None
    """Why the file could not be read to its end, if not because of damage."""

    @property
    def is_sound(self) -> bool:
        """Whether the file was read to its end, without damage or wrong messages."""
        return not (self.num_damaged or self.num_message_errors or self.failure)

    @property
    def breaks_off(self) -> bool:
        """Whether one of `spans` does: then an unknown number of bytes came after."""
        return any(span.breaks_off for span in self.spans)

    def __bool__(self) -> bool:
        """Return `is_sound`."""
        return self.is_sound

    def __repr__(self) -> str:
        """Return the name of the file and what was found, in numbers."""
        return f"<FileReport of {short_name(self.source)}: {_found((self,))}>"


@dataclass(frozen=True, slots=True, repr=False)
class DamageReport:
    """What was read of some files, and what was lost; true if all files are sound.

    Examples
    --------
    >>> report = DamageReport((FileReport("a", 10, 990), FileReport("b", 5, 400)))
    >>> report
    <DamageReport of 2 files: 15 records, sound>
    >>> report.records, report.is_sound, bool(report)
    (15, True, True)
    """

    files: tuple[FileReport, ...]
    """One for each file that was opened, in order."""

    @property
    def records(self) -> int:
        """Number of intact records in all files."""
        return sum(file.records for file in self.files)

    @property
    def spans(self) -> tuple[DamagedSpan, ...]:
        """The damaged spans of all files, as far as they are kept."""
        return tuple(span for file in self.files for span in file.spans)

    @property
    def num_damaged(self) -> int:
        """Number of damaged places."""
        return sum(file.num_damaged for file in self.files)

    @property
    def message_errors(self) -> tuple[InvalidArgumentError, ...]:
        """The errors of records that are wrong messages, as far as they are kept."""
        return tuple(error for file in self.files for error in file.message_errors)

    @property
    def num_message_errors(self) -> int:
        """Number of such records."""
        return sum(file.num_message_errors for file in self.files)

    @property
    def lost_bytes(self) -> int:
        """Bytes in all of them; more may be lost if `breaks_off`."""
        return sum(file.lost_bytes for file in self.files)

    @property
    def breaks_off(self) -> bool:
        """Whether a file breaks off."""
        return any(file.breaks_off for file in self.files)

    @property
    def is_sound(self) -> bool:
        """Whether all files are sound."""
        return all(file.is_sound for file in self.files)

    def __bool__(self) -> bool:
        """Return `is_sound`; compare with None to ask whether there is a report."""
        return self.is_sound

    def __repr__(self) -> str:
        """Return what was found, in numbers; `summary` says more."""
        return f"<DamageReport of {plural(len(self.files), 'file')}: {_found(self.files)}>"

    _repr_html_ = repr_html

    def summary(self) -> str:
        """Return in one line what was skipped.

        Examples
        --------
        >>> span = DamagedSpan("a", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
        >>> DamageReport((FileReport("a", 9, 72, (span,), 1, 19),)).summary().partition(";")[0]
        'skipped 1 damaged place (19 bytes) in 1 of 1 file, and read 9 records'
        """
        n_misfits = self.num_message_errors
        files = plural(len(self.files), "file")
        parts: list[str] = []
        firsts: list[Any] = []
        if self.num_damaged or not n_misfits:
            n_files = sum(file.num_damaged > 0 for file in self.files)
            places = plural(self.num_damaged, "damaged place")
            parts.append(f"skipped {places} ({lost_of(self)}) in {n_files:,} of {files}")
            firsts += self.spans[:1]
        if n_misfits:
            n_files = sum(file.num_message_errors > 0 for file in self.files)
            misfits = plural(n_misfits, "record that does not fit", "records that do not fit")
            parts.append(f"dropped {misfits} in {n_files:,} of {files}")
            firsts += self.message_errors[:1]
        parts.append(f"and read {plural(self.records, 'record')}")
        return "; the first: ".join([", ".join(parts), *map(str, firsts)])


def lost_of(report: FileReport | DamageReport, in_words: Callable[[int], str] | None = None) -> str:
    """Return how many bytes were lost, at least."""
    n_bytes = report.lost_bytes
    lost = in_words(n_bytes) if in_words else plural(n_bytes, "byte")
    if not report.breaks_off:
        return lost
    return f"at least {lost}" if n_bytes else "an unknown number of bytes"


def _found(files: tuple[FileReport, ...]) -> str:
    damaged = sum(file.num_damaged for file in files)
    wrong = sum(file.num_message_errors for file in files)
    parts = [plural(sum(file.records for file in files), "record")]
    if damaged:
        parts.append(f"{plural(damaged, 'damaged place')} ({lost_of(DamageReport(files))})")
    if wrong:
        parts.append(plural(wrong, "wrong message"))
    if n_failed := sum(file.failure is not None for file in files):
        parts.append(f"{plural(n_failed, 'file')} not read to the end")
    return ", ".join(parts if len(parts) > 1 else [*parts, "sound"])


class errors_at:  # noqa: N801 - as context managers of the standard library
    """Give a place to errors about values from inside; a function for `index` changes an error's own."""

    __slots__ = ("_index", "_key", "_source")

    def __init__(
        self,
        *,
        index: int | Callable[[int], int] | None = None,
        key: str | None = None,
        source: str | None = None,
    ) -> None:
        self._index, self._key, self._source = index, key, source

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Change the place in an error about a value."""
        if isinstance(error, InvalidArgumentError):
            index = self._index
            if callable(index):
                index = None if error.index is None else index(error.index)
            placed = error.at(index=index, key=self._key, source=self._source)
            InvalidArgumentError.__init__(error, *placed.args)


def argument_error(
    detail: str, reason: Reason = Reason.BAD_ARGUMENT, **place: Any
) -> InvalidArgumentError:
    """Return the error about an argument or a value."""
    return InvalidArgumentError(reason, detail=detail, **place)


def require_int(name: str, value: Any, at_least: int | None = None) -> int:
    """Return an integer argument as an int; raise if it is a bool, another type, or below `at_least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = operator.index(value)
    if at_least is not None and number < at_least:
        raise argument_error(f"{name} is {number}, expected {at_least} or more")
    return number


def warn_user(text: str) -> None:
    """Give a UserWarning at the first caller outside the package."""
    warnings.warn(text, UserWarning, stacklevel=levels_to_caller())


def optional_int(name: str, value: Any, at_least: int) -> int | None:
    """Return an integer argument as :func:`require_int` does, or None."""
    return None if value is None else require_int(name, value, at_least)


def levels_to_caller() -> int:
    """Return the `stacklevel` that names the first caller outside the package."""
    package, frame, level = __name__.partition(".")[0], inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
