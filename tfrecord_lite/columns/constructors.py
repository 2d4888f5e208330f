"""The ways to make a RaggedTensor, one for each way to give its rows.

A base class of :class:`~tfrecord_lite.columns.ragged.RaggedTensor` and nothing else: all
of them turn what they are given into splits, and then call the class.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from tfrecord_lite.columns import partitions
from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.partitions import as_partition, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tfrecord_lite.columns.partitions import Splits

__all__ = ["RowConstructors", "as_values"]


class RowConstructors:
    """The ``from_`` constructors of RaggedTensor."""

    __slots__ = ()

    if TYPE_CHECKING:
        values: Any
        row_splits: Any

        def __init__(
            self, values: Any, row_splits: Any, uniform_row_length: int | None = None
        ) -> None: ...

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, *, validate: bool = True) -> Self:
        """Divide values by where rows begin and end.

        Parameters
        ----------
        values : array-like, BytesColumn or RaggedTensor
            The rows, end to end.
        row_splits : int, shape (nrows + 1,)
            0, the ends of all rows.
        validate : bool, default True
            Whether to check that the rows cover the values; one pass over the splits.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if they do not.
        """
        made = cls(values, row_splits)
        if validate:
            partitions.check_splits(made.row_splits, len(made.values))
        return made

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, *, validate: bool = True) -> Self:
        """Divide values by the lengths of rows; otherwise as :meth:`from_row_splits`.

        Examples
        --------
        >>> from tfrecord_lite.columns import RaggedTensor
        >>> RaggedTensor.from_row_lengths([b"a", b"b", b"c"], [1, 0, 2])
        <RaggedTensor [[b'a'], [], [b'b', b'c']]>
        """
        held, lengths = _operands(values, "row_lengths", row_lengths)
        return cls(held, partitions.splits_of_lengths(lengths, len(held), validate=validate))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: int | None = None, *, validate: bool = True
    ) -> Self:
        """Divide values by the row number of each; otherwise as :meth:`from_row_splits`.

        Parameters
        ----------
        values : array-like, BytesColumn or RaggedTensor
            The rows, end to end.
        value_rowids : int, shape (n_values,)
            Ascending; numbers left out are empty rows.
        nrows : int, optional
            For empty rows at the end.
        validate : bool, default True
            Whether to check that the numbers are in order.
        """
        held, rowids = _operands(values, "value_rowids", value_rowids)
        count = None if nrows is None else operator.index(nrows)
        splits = partitions.splits_of_rowids(rowids, len(held), count, validate=validate)
        return cls(held, splits)

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, *, validate: bool = True) -> Self:
        """Divide values by where rows begin; otherwise as :meth:`from_row_splits`."""
        held, starts = _operands(values, "row_starts", row_starts)
        return cls(held, partitions.splits_of_starts(starts, len(held), validate=validate))

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, *, validate: bool = True) -> Self:
        """Divide values by where rows end; otherwise as :meth:`from_row_splits`."""
        held, limits = _operands(values, "row_limits", row_limits)
        return cls(held, partitions.splits_of_limits(limits, len(held), validate=validate))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: int,
        nrows: int | None = None,
        *,
        validate: bool = True,
        row_splits_dtype: npt.DTypeLike | None = None,
    ) -> Self:
        """Divide values into rows of one length; otherwise as :meth:`from_row_splits`.

        Parameters
        ----------
        values : array-like, BytesColumn or RaggedTensor
            The rows, end to end.
        uniform_row_length : int
            Values a row.
        nrows : int, optional
            Needed only when the length is 0.
        validate : bool, default True
            Whether to check that they come out even; without, what is over has no row.
        row_splits_dtype : int32 or int64, optional
            By default that of `values`, if they are ragged, else int64.
        """
        held = as_values(values)
        length = operator.index(uniform_row_length)
        count = None if nrows is None else operator.index(nrows)
        inner = held.row_splits.dtype if isinstance(held, RowConstructors) else np.dtype(np.int64)
        dtype = inner if row_splits_dtype is None else np.dtype(row_splits_dtype)
        splits = partitions.splits_of_uniform(length, len(held), count, dtype, validate=validate)
        return cls(held, splits, length)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[Any], *, validate: bool = True
    ) -> Self:
        """Divide values in several levels, outermost first.

        Examples
        --------
        >>> from tfrecord_lite.columns import RaggedTensor
        >>> RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2, 3], [0, 2, 2, 3]])
        <RaggedTensor [[[1, 2], []], [[3]]]>
        """
        if not len(nested_row_splits):
            raise refuse("nested_row_splits must hold at least one vector of splits")
        made = flat_values
        for splits in reversed(nested_row_splits):
            made = cls.from_row_splits(made, splits, validate=validate)
        return cast("Self", made)


def as_values(given: Any) -> Any:
    """Return values as an array; strings as objects."""
    if isinstance(given, RowConstructors | BytesColumn):
        return given
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise refuse("values must not be masked; leave out what is missing, or fill it")
    array = np.asarray(given)
    if array.dtype.kind in "SUT":
        # From what was given, for a list: NumPy's own bytes lose their last zeros.
        objects = np.array(given, object)
        flat = [v.encode() if isinstance(v, str) else v for v in objects.ravel().tolist()]
        array = np.empty(objects.size, object)
        array[:] = flat
        array = array.reshape(objects.shape)
    if array.ndim == 0:
        raise refuse("values must have at least one dimension, but are a scalar")
    return array


def _operands(values: Any, name: str, partition: Any) -> tuple[Any, Splits]:
    """Return values and partition as arrays; lists of numbers take the dtype of inner splits."""
    held = as_values(values)
    preferred = held.row_splits.dtype if isinstance(held, RowConstructors) else None
    if preferred is not None and not isinstance(partition, np.ndarray):
        return held, as_partition(name, np.array(partition, preferred))
    return held, as_partition(name, partition, preferred)
