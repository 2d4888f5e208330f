"""Errors about the steps of feature lists, as errors about the records that have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfrecord_lite.arrays import row_splits
from tfrecord_lite.convert.types import record_of
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.example.decode.first_error import MisfitError

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array


@contextmanager
def in_steps(n_steps: Int64Array) -> Iterator[None]:
    """Turn an error about one of all steps into one about its record, which names the step.

    `n_steps` has the steps of each record, shape (n_records,).

    >>> with in_steps(np.array([2, 3])):
    ...     raise InvalidArgumentError(Reason.WRONG_COUNT, index=4, detail="too short")
    Traceback (most recent call last):
    tfrecord_lite.errors.InvalidArgumentError: record 1: in step 2 of the list: too short
    """
    try:
        yield
    except MisfitError as misfit:
        record, detail = _in_record(n_steps, misfit.message, misfit.detail)
        raise MisfitError(record, misfit.reason, misfit.key, detail) from None
    except InvalidArgumentError as error:
        if error.index is None:
            raise
        record, detail = _in_record(n_steps, error.index, error.detail)
        raise error.at(index=record, detail=detail) from None


def _in_record(n_steps: Int64Array, step: int, detail: str | None) -> tuple[int, str]:
    """Return the record that has a step, and the detail that says which of its steps it is."""
    splits = row_splits(n_steps)
    record = record_of(splits, step)
    return record, f"in step {step - int(splits[record])} of the list: {detail}"
