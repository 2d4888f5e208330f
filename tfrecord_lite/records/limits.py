"""How large what is read may be: one bundle, which all that read records hand on.

A file says itself how long its records are, and a compressed one becomes as large as it
likes. The limits are checked once, where a user gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int
from tfrecord_lite.files.inflate import InflationLimits
from tfrecord_lite.records.framing import MAX_RECORD_BYTES


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How large records, and what is inflated, may be.

    Parameters
    ----------
    max_record_bytes : int, optional
    max_inflated_bytes : int, optional
    max_inflated_ratio : float, optional
        As for :class:`TFRecordReader`.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a limit that is none.
    TypeError
        For one that is no number; but for the ratio, no whole one.

    Examples
    --------
    >>> ReadingLimits(max_inflated_bytes=10).inflation
    InflationLimits(max_bytes=10, max_ratio=None)
    """

    max_record_bytes: int = MAX_RECORD_BYTES
    max_inflated_bytes: int | None = None
    max_inflated_ratio: float | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        n_bytes = require_int("max_record_bytes", self.max_record_bytes)
        if not 0 <= n_bytes < 2**64:
            detail = f"max_record_bytes is {n_bytes}, expected 0 to 2**64 - 1"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if self.max_inflated_bytes is not None:
            require_int("max_inflated_bytes", self.max_inflated_bytes)
        ratio = self.max_inflated_ratio
        if ratio is not None and not hasattr(ratio, "__float__"):
            detail = f"max_inflated_ratio must be a number, not {type(ratio).__name__}"
            raise TypeError(detail)
        _ = self.inflation  # checks them

    def as_arguments(self) -> dict[str, Any]:
        """Return them by the names that users know."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def inflation(self) -> InflationLimits:
        """The limits of what is inflated."""
        return InflationLimits(self.max_inflated_bytes, self.max_inflated_ratio)
