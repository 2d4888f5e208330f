"""Row partitions: five ways to say how values are divided into rows, made one.

::

    values        a b | | c d e f      three rows
    row_splits    0 2 2 6              begin of each row, and the end of the last
    row_lengths   2 0 4
    row_starts    0 2 2
    row_limits    2 2 6
    value_rowids  0 0 2 2 2 2          one a value

A RaggedTensor keeps splits; the functions here make splits of the other four. With
`validate` they check that the partition covers all values, each once and in order;
without, they keep what they are given (rule G6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.arrays import Int64Array

    Splits = npt.NDArray[np.int32] | Int64Array

MAX_IMPLIED_ROWS = 1 << 28
"""Rows that a row number alone may call into being (2 GiB of splits)."""


def refuse(detail: str) -> InvalidArgumentError:
    """Return the error that a partition is refused with."""
    return InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)


def as_partition(name: str, given: Any, preferred: np.dtype[Any] | None = None) -> Splits:
    """Return a partition as a vector of int32 or int64.

    Parameters
    ----------
    name : str
        What to call it in errors.
    given : array-like of int
        int32 and int64 arrays stay what they are and are not copied.
    preferred : dtype, optional
        What anything else becomes; int64 by default.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for another rank, and for anything but integers.
    """
    array = np.asarray(given)
    if array.ndim != 1:
        raise refuse(f"{name} must be a vector, not of shape {array.shape}")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype.kind not in "iu" and (array.size or isinstance(given, np.ndarray)):
        raise refuse(f"{name} must be int32 or int64, not {array.dtype}")
    converted: Splits = array.astype(preferred or np.int64)
    return converted


def check_splits(splits: Splits, n_values: int) -> None:
    """Refuse splits that do not begin at 0, rise, and end with the values (rule G7)."""
    if splits[0] != 0:
        raise refuse(f"row_splits must begin with 0, not {splits[0]}")
    _check_ascending("row_splits", splits)
    if splits[-1] != n_values:
        raise refuse(f"the rows end at {splits[-1]}, but there are {n_values} values")


def _check_ascending(name: str, numbers: Splits) -> None:
    wrong = np.flatnonzero(numbers[1:] < numbers[:-1])
    if wrong.size:
        i = int(wrong[0])
        raise refuse(f"{name} must not fall, but {numbers[i + 1]} follows {numbers[i]} at {i + 1}")


def splits_of_lengths(lengths: Splits, n_values: int, *, validate: bool) -> Splits:
    """Return the splits of rows with these lengths."""
    if validate:
        if lengths.size and lengths.min() < 0:
            raise refuse(f"row_lengths must not be negative, but one is {lengths.min()}")
        # Each alone first, so that their sum cannot wrap around.
        total = lengths.sum(dtype=np.int64) if lengths.max(initial=0) <= n_values else -1
        if total != n_values:
            raise refuse(f"the row_lengths do not add up to the {n_values} values there are")
    splits = np.zeros(lengths.size + 1, lengths.dtype)
    np.cumsum(lengths, dtype=lengths.dtype, out=splits[1:])
    return splits


def splits_of_rowids(rowids: Splits, n_values: int, nrows: int | None, *, validate: bool) -> Splits:
    """Return the splits of rows from a row number for each value."""
    if rowids.size != n_values:
        raise refuse(f"{rowids.size} value_rowids for {n_values} values")
    implied = int(rowids[-1]) + 1 if rowids.size else 0
    if rowids.size and rowids.min() < 0:
        raise refuse(f"value_rowids must not be negative, but one is {rowids.min()}")
    if validate:
        _check_ascending("value_rowids", rowids)
    if nrows is None:
        if implied > MAX_IMPLIED_ROWS:
            raise refuse(f"value_rowids call for {implied} rows; give nrows if that is meant")
        nrows = implied
    if nrows < implied:
        raise refuse(f"nrows is {nrows}, but value_rowids go up to {implied - 1}")
    # Numbers out of order may exceed the last one; those have no row (rule G6).
    counts = np.bincount(rowids[rowids < nrows], minlength=nrows)
    lengths: Any = counts.astype(rowids.dtype)
    return splits_of_lengths(lengths, n_values, validate=False)


def splits_of_starts(starts: Splits, n_values: int, *, validate: bool) -> Splits:
    """Return the splits of rows that begin at these values."""
    splits = np.append(starts, np.asarray(n_values, starts.dtype))
    if validate:
        check_splits(splits, n_values)
    return splits


def splits_of_limits(limits: Splits, n_values: int, *, validate: bool) -> Splits:
    """Return the splits of rows that end before these values."""
    splits = np.append(np.zeros(1, limits.dtype), limits)
    if validate:
        check_splits(splits, n_values)
    return splits


def splits_of_uniform(
    length: int, n_values: int, nrows: int | None, dtype: np.dtype[Any], *, validate: bool
) -> Splits:
    """Return the splits of rows of one length."""
    if length < 0:
        raise refuse(f"uniform_row_length must not be negative, but is {length}")
    if nrows is None:
        nrows = n_values // length if length else 0
    if nrows < 0:
        raise refuse(f"nrows must not be negative, but is {nrows}")
    if validate and nrows * length != n_values:
        raise refuse(f"{nrows} rows of {length} values are not the {n_values} values there are")
    splits: Splits = np.arange(nrows + 1, dtype=dtype) * dtype.type(length)
    return splits
