"""Row partitions: the ways to divide values into rows, all converted to row splits.

::

    values        a b | | c d e f      three rows
    row_splits    0 2 2 6              the start of each row, and the end of the last
    row_lengths   2 0 4
    row_starts    0 2 2
    row_limits    2 2 6
    value_rowids  0 0 2 2 2 2          one per value

A RaggedTensor holds splits; the functions here compute them from the other forms, or from
one length for all rows. With `validate` they check that the partition covers all values, each
once and in order; without, they keep what they are given (rule G6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import argument_error, plural

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.arrays import Int64Array

    Splits = npt.NDArray[np.int32] | Int64Array

MAX_IMPLIED_ROWS = 1 << 28
"""Most rows that the largest row number may imply (2 GiB of splits)."""


def as_partition(name: str, given: Any, preferred: np.dtype[Any] | None = None) -> Splits:
    """Convert a partition to a vector of int32 or int64.

    Arrays of these dtypes are not copied; other integers become `preferred`, or int64.
    """
    array = np.asarray(given)
    if array.ndim != 1:
        raise argument_error(f"{name} must be a vector, not of shape {array.shape}")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype.kind not in "iu" and (array.size or isinstance(given, np.ndarray)):
        raise argument_error(f"{name} must be int32 or int64, not {array.dtype}")
    converted: Splits = array.astype(preferred or np.int64)
    return converted


def check_splits(splits: Splits, n_values: int) -> None:
    """Check that splits begin at 0, do not fall, and end with the values (rule G7)."""
    if splits[0] != 0:
        raise argument_error(f"row_splits must begin with 0, not {splits[0]}")
    _check_ascending("row_splits", splits)
    if splits[-1] != n_values:
        raise argument_error(
            f"row_splits must end at {n_values}, the number of values, not {splits[-1]}"
        )


def _check_ascending(name: str, numbers: Splits) -> None:
    wrong = np.flatnonzero(numbers[1:] < numbers[:-1])
    if wrong.size:
        i = int(wrong[0])
        raise argument_error(
            f"{name} must be ascending, but {numbers[i + 1]} follows {numbers[i]} at {i + 1}"
        )


def splits_of_lengths(lengths: Splits, n_values: int, *, validate: bool) -> Splits:
    """Compute splits from the length of each row."""
    if validate:
        if lengths.size and lengths.min() < 0:
            raise argument_error(
                f"row_lengths must not be negative, but the least is {lengths.min()}"
            )
        # Each is compared first, so that the sum cannot overflow.
        total = lengths.sum(dtype=np.int64) if lengths.max(initial=0) <= n_values else -1
        if total != n_values:
            total = lengths.astype(object).sum()
            raise argument_error(
                f"row_lengths must add up to {n_values}, the number of values, not {total}"
            )
    splits = np.zeros(lengths.size + 1, lengths.dtype)
    np.cumsum(lengths, dtype=lengths.dtype, out=splits[1:])
    return splits


def splits_of_rowids(rowids: Splits, n_values: int, nrows: int | None, *, validate: bool) -> Splits:
    """Compute splits from a row number for each value."""
    if rowids.size != n_values:
        raise argument_error(f"expected {n_values} value_rowids, one per value, not {rowids.size}")
    implied = int(rowids[-1]) + 1 if rowids.size else 0
    if rowids.size and rowids.min() < 0:
        raise argument_error(f"value_rowids must not be negative, but the least is {rowids.min()}")
    if validate:
        _check_ascending("value_rowids", rowids)
    if nrows is None:
        if implied > MAX_IMPLIED_ROWS:
            raise argument_error(
                f"value_rowids imply {plural(implied, 'row')}; give nrows if that is intended"
            )
        nrows = implied
    if nrows < implied:
        raise argument_error(
            f"nrows must be at least {implied}, as value_rowids imply, not {nrows}"
        )
    # Numbers out of order may exceed the last one; their values get no row (rule G6).
    counts = np.bincount(rowids[rowids < nrows], minlength=nrows)
    lengths: Any = counts.astype(rowids.dtype)
    return splits_of_lengths(lengths, n_values, validate=False)


def splits_of_starts(starts: Splits, n_values: int, *, validate: bool) -> Splits:
    """Compute splits from the start of each row."""
    splits = np.append(starts, np.asarray(n_values, starts.dtype))
    if validate:
        check_splits(splits, n_values)
    return splits


def splits_of_limits(limits: Splits, n_values: int, *, validate: bool) -> Splits:
    """Compute splits from the end of each row."""
    splits = np.append(np.zeros(1, limits.dtype), limits)
    if validate:
        check_splits(splits, n_values)
    return splits


def splits_of_uniform(
    length: int, n_values: int, nrows: int | None, dtype: np.dtype[Any], *, validate: bool
) -> Splits:
    """Compute splits from one length for all rows."""
    if length < 0:
        raise argument_error(f"uniform_row_length must not be negative, but is {length}")
    if nrows is None:
        nrows = n_values // length if length else 0
    if nrows < 0:
        raise argument_error(f"nrows must not be negative, but is {nrows}")
    if validate and nrows * length != n_values:
        raise argument_error(
            f"{plural(nrows, 'row')} of {plural(length, 'value')} do not cover "
            f"{plural(n_values, 'value')} exactly"
        )
    splits: Splits = np.arange(nrows + 1, dtype=dtype) * dtype.type(length)
    return splits
