"""The outcome of reading: the records, and the loss that ended them, if any."""

from collections.abc import Iterable
from typing import NamedTuple

from tests.support.reference import HEAD, Loss
from tfrecord_lite.errors import DataLossError, Reason


class Outcome(NamedTuple):
    """The records read, then the loss; compares equal to a plain tuple."""

    records: list[bytes]
    loss: Loss | None


def loss_of(error: DataLossError, n_bytes: int = HEAD) -> Loss:
    """Return the same loss as the reference states it, which recognises no other formats.

    To it, a file of another format is a damaged header, or too short for one.
    """
    if error.reason is Reason.NOT_A_TFRECORD:
        return Loss(Reason.LENGTH_CRC if n_bytes >= HEAD else Reason.TRUNCATED, 0, 0)
    assert error.offset is not None
    assert error.index is not None
    return Loss(error.reason, error.offset, error.index)


def outcome_of(items: Iterable[bytes], n_bytes: int = HEAD) -> Outcome:
    """Collect records until they end, or are damaged; `n_bytes` is the size of the file."""
    records: list[bytes] = []
    try:
        for item in items:
            records.append(item)  # noqa: PERF402 - what comes before an error counts
    except DataLossError as error:
        return Outcome(records, loss_of(error, n_bytes))
    return Outcome(records, None)
