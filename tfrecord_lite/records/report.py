"""What was read of files, and what was lost: the words in which damage is reported."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfrecord_lite.errors import DataLossWarning

if TYPE_CHECKING:
    from tfrecord_lite.errors import InvalidArgumentError, Reason

__all__ = ["MOST_SPANS", "DamageReport", "DamagedSpan", "FileReport", "warn_of"]

MOST_SPANS = 10_000
"""How many spans of one file a report keeps; the others are only counted."""


@dataclass(frozen=True, slots=True)
class DamagedSpan:
    """Bytes of a file that were passed over, because what they hold is damaged.

    Examples
    --------
    >>> from tfrecord_lite.errors import Reason
    >>> span = DamagedSpan("a.tfrecord", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
    >>> print(span)
    data CRC mismatch at record 1, byte 24 of a.tfrecord: 19 bytes passed over
    """

    source: str
    """Path or URL."""
    offset: int
    """Bytes from the start of the decompressed stream to the first one passed over, which
    is that of a record's header."""
    length: int
    """How many bytes; 0 if it is only the compressed stream that is damaged there."""
    reason: Reason
    """What is wrong with the first record of the span."""
    detail: str | None
    """What was expected, and what was found."""
    index: int
    """Number of that record in the file, each damaged span before it counted as one."""
    records_before: int
    """Sound records of the file before it."""
    records_after: int | None = None
    """Sound records of the file behind it; None while these are not read."""

    def __str__(self) -> str:
        """Say where it is, and what is wrong."""
        where = f"at record {self.index}, byte {self.offset} of {self.source}"
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.reason} {where}{detail}: {self.length} bytes passed over"


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was read of one file, and what was lost."""

    source: str
    """Path or URL."""
    records: int
    """Sound records."""
    record_bytes: int
    """Bytes of these, without heads and feet."""
    spans: tuple[DamagedSpan, ...] = ()
    """Where it is damaged; the first :data:`MOST_SPANS` places."""
    n_damaged: int = 0
    """How many places there are."""
    lost_bytes: int = 0
    """Bytes in all of them, of the decompressed stream."""
    message_errors: tuple[InvalidArgumentError, ...] = ()
    """What is wrong with sound records as messages, if that was asked; as many at the most."""
    n_message_errors: int = 0
    """How many such records there are."""
    failure: Exception | None = None
    """Why the file could not be read, or not to its end, if that is no damage."""

    @property
    def is_sound(self) -> bool:
        """Whether the file was read, nothing is damaged, and no message is wrong."""
        return not (self.n_damaged or self.n_message_errors or self.failure)


@dataclass(frozen=True, slots=True)
class DamageReport:
    """What was read of some files, and what was lost.

    Examples
    --------
    >>> report = DamageReport((FileReport("a", 10, 990), FileReport("b", 5, 400)))
    >>> report.records, report.is_sound
    (15, True)
    """

    files: tuple[FileReport, ...]
    """One for each file that was begun, in order."""

    @property
    def records(self) -> int:
        """Sound records of all files."""
        return sum(file.records for file in self.files)

    @property
    def spans(self) -> tuple[DamagedSpan, ...]:
        """The damaged places of all files, as far as they are kept."""
        return tuple(span for file in self.files for span in file.spans)

    @property
    def n_damaged(self) -> int:
        """How many damaged places there are."""
        return sum(file.n_damaged for file in self.files)

    @property
    def lost_bytes(self) -> int:
        """Bytes in all of them."""
        return sum(file.lost_bytes for file in self.files)

    @property
    def is_sound(self) -> bool:
        """Whether all files are."""
        return all(file.is_sound for file in self.files)

    def summary(self) -> str:
        """Say in one line what was passed over.

        Examples
        --------
        >>> from tfrecord_lite.errors import Reason
        >>> span = DamagedSpan("a", 24, 19, Reason.DATA_CRC, None, 1, 1, 8)
        >>> DamageReport((FileReport("a", 9, 72, (span,), 1, 19),)).summary().partition(";")[0]
        '1 damaged place with 19 bytes was passed over in 1 of 1 files, and 9 records read'
        """
        n_files = sum(file.n_damaged > 0 for file in self.files)
        places = "damaged place" if self.n_damaged == 1 else "damaged places"
        was = "was" if self.n_damaged == 1 else "were"
        first = f"; the first: {self.spans[0]}" if self.spans else ""
        return (
            f"{self.n_damaged} {places} with {self.lost_bytes} bytes {was} passed over in "
            f"{n_files} of {len(self.files)} files, and {self.records} records read{first}"
        )


def warn_of(report: DamageReport) -> None:
    """Warn of what was lost, if anything was, where the caller's code is."""
    if report.n_damaged:
        warnings.warn(report.summary(), DataLossWarning, stacklevel=_levels_to_caller())


def _levels_to_caller() -> int:
    """Return the `stacklevel` that names the first caller outside the package."""
    package, frame, level = __name__.partition(".")[0], inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
