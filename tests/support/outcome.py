"""What a reader gives before it ends, and what it ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.support.reference import Loss
from tfrecord_lite import DataLossError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Outcome(NamedTuple):
    """Records, then the loss that ended them, if any; compares equal to a plain tuple."""

    records: list[bytes]
    loss: Loss | None


def loss_of(error: DataLossError) -> Loss:
    """Return what the reference gives for the same loss."""
    assert error.offset is not None
    assert error.index is not None
    return Loss(error.reason, error.offset, error.index)


def outcome_of(items: Iterable[bytes]) -> Outcome:
    """Take records until they end, or are damaged."""
    records: list[bytes] = []
    try:
        for item in items:
            records.append(item)  # noqa: PERF402 - what comes before an error counts
    except DataLossError as error:
        return Outcome(records, loss_of(error))
    return Outcome(records, None)
