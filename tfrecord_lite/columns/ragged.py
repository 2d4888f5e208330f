"""RaggedTensor: rows of any length, in any number of levels.

::

    [[1, 2], [], [3]]             RaggedTensor(values=[1, 2, 3], row_splits=[0, 2, 2, 3])

    [[[1, 2], []], [[3]]]         RaggedTensor(
                                      values=RaggedTensor([1, 2, 3], [0, 2, 2, 3]),
                                      row_splits=[0, 2, 3])

The values of all rows lie end to end in one array, ``flat_values``; each ragged level
adds a vector of splits. Slicing, padding and comparing are array operations on these;
only :meth:`RaggedTensor.to_list` and iteration make objects.

Splits may disagree with the values, if nobody asked for them to be validated (rule G6).
They are kept as they are; what a row holds is then the part of its range that exists.

The ways to make a RaggedTensor, one for each way to give its rows.

A base class of :class:`~tfrecord_lite.columns.ragged.RaggedTensor` and nothing else: all
of them turn what they are given into splits, and then call the class.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, ranges
from tfrecord_lite.columns import partitions
from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.dense import fill_value
from tfrecord_lite.columns.partitions import as_partition, refuse
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from tfrecord_lite.columns.partitions import Splits

SHOWN_ROWS = 10
"""Rows, and values in a row, that ``repr`` shows before it leaves out the middle."""


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RaggedTensor(RowConstructors):
    """Rows of any length, with TensorFlow's names and layout.

    Parameters
    ----------
    values : any dtype, shape (n_values, ...), BytesColumn or RaggedTensor
        The rows of all, end to end. Held, not copied.
    row_splits : int32 or int64, shape (nrows + 1,)
        Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``. Held, not copied, and
        not compared with the values: that is what ``from_row_splits`` does.
    uniform_row_length : int, optional
        The length all rows have, if they are known to have one.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for splits that are no vector of int32 or int64, empty, or of
        another dtype than those of `values`.

    Examples
    --------
    >>> rt = RaggedTensor.from_row_lengths([1, 2, 3, 4], [2, 0, 2])
    >>> rt
    <RaggedTensor [[1, 2], [], [3, 4]]>
    >>> rt[0], rt[:, 1:], rt.shape
    (array([1, 2]), <RaggedTensor [[2], [], [4]]>, (3, None))
    >>> rt.to_tensor(default_value=-1).tolist()
    [[1, 2], [-1, -1], [3, 4]]
    """

    values: Values
    row_splits: Splits
    uniform_row_length: int | None = None

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Arrays leave the comparison to us, instead of comparing each element with a whole column.
    __array_ufunc__: ClassVar[None] = None

    if TYPE_CHECKING:

        def __init__(
            self, values: Any, row_splits: Any, uniform_row_length: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make arrays of what is none, and check dtypes and ranks."""
        values = as_values(self.values)
        preferred = values.row_splits.dtype if isinstance(values, RaggedTensor) else None
        splits = as_partition("row_splits", self.row_splits, preferred)
        if not splits.size:
            raise refuse("row_splits must not be empty; for no rows they are [0]")
        if preferred is not None and splits.dtype != preferred:
            raise refuse(f"row_splits are {splits.dtype}, those of the values {preferred}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "row_splits", splits)

    # ---------------------------------------------------------------------- properties

    @property
    def nested_row_splits(self) -> tuple[Splits, ...]:
        """The splits of all levels, outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def flat_values(self) -> AnyArray | BytesColumn:
        """The values below all levels."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def ragged_rank(self) -> int:
        """The number of levels, at least 1."""
        return 1 + (self.values.ragged_rank if isinstance(self.values, RaggedTensor) else 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values; objects for byte strings."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """One number a dimension, None where rows differ or may differ."""
        return (self.nrows(), self.uniform_row_length, *self.values.shape[1:])

    def nrows(self) -> int:
        """Return the number of rows; so does ``len``."""
        return self.row_splits.size - 1

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.nrows()

    def row_starts(self) -> Splits:
        """Return where each row begins; a view of the splits."""
        return self.row_splits[:-1]

    def row_limits(self) -> Splits:
        """Return where each row ends; a view of the splits."""
        return self.row_splits[1:]

    def row_lengths(self, axis: int = 1) -> Any:
        """Return the lengths of rows.

        Parameters
        ----------
        axis : int, default 1
            Along which dimension; negative ones count from the last.

        Returns
        -------
        dtype of row_splits, shape (nrows,)
            Owns its memory. For `axis` above 1 a RaggedTensor of them, for 0 an int.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for an axis that is not there.
        """
        rank = len(self.shape)
        if not -rank <= axis < rank:
            raise refuse(f"axis {axis} of a tensor with {rank} dimensions")
        axis %= rank
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return np.diff(self.row_splits)
        if isinstance(self.values, RaggedTensor):
            return RaggedTensor(self.values.row_lengths(axis - 1), self.row_splits)
        # What lies below the ragged levels is dense: one length everywhere.
        shape = self.values.shape
        return RaggedTensor(
            np.full(shape[: axis - 1], shape[axis - 1], self.row_splits.dtype), self.row_splits
        )

    def nested_row_lengths(self) -> tuple[Splits, ...]:
        """Return the lengths of rows of all levels, outermost first."""
        lengths: Any = tuple(map(np.diff, self.nested_row_splits))
        return cast("tuple[Splits, ...]", lengths)

    def value_rowids(self) -> Splits:
        """Return the row number of each value that a row holds; a new array."""
        starts, limits = self._bounds()
        numbers: Any = np.arange(self.nrows(), dtype=self.row_splits.dtype)
        return cast("Splits", np.repeat(numbers, limits - starts))

    def bounding_shape(self, axis: int | None = None) -> Any:
        """Return the shape of the smallest dense array that holds all rows.

        Parameters
        ----------
        axis : int, optional
            For one dimension alone, as an int.

        Returns
        -------
        dtype of row_splits, shape (rank,)
            Owns its memory.
        """
        inner = self.values
        if isinstance(inner, RaggedTensor):
            below = inner.bounding_shape()[1:].tolist()
        else:
            below = list(inner.shape[1:])
        longest = int(self.row_lengths().max(initial=0))
        whole = np.array([self.nrows(), longest, *below], self.row_splits.dtype)
        return whole if axis is None else int(whole[axis])

    # ------------------------------------------------------------------------- slicing

    def __getitem__(self, key: Any) -> Any:
        """Return a row, some of the rows, or a part of each.

        ``rt[i]`` is row `i`: an array, a BytesColumn, or a RaggedTensor of one level less.
        ``rt[a:b:c]`` is a RaggedTensor of some rows, ``rt[:, a:b:c]`` one of a part of
        every row, ``rt[i, j]`` a value; and so on for further dimensions, with ``...`` for
        all that are not named. Rows and slices with step 1 are views; the rest is copied.
        ``rt[:, j]`` needs rows that are known to have one length.

        Raises
        ------
        IndexError
            For a row that is not there, and more indices than dimensions.
        InvalidArgumentError
            ``UNSUPPORTED`` for a single value out of each of several ragged rows.
        TypeError
            For indices that are neither int, slice nor ``...``.
        """
        keys = self._expand(key if isinstance(key, tuple) else (key,))
        first, *rest = keys
        if isinstance(first, slice):
            rows = self._slice_rows(first)
            return rows._inner(rest) if rest else rows  # noqa: SLF001 - one of us
        row = self._row(first)
        if not rest:
            return row
        return row[rest[0] if isinstance(row, BytesColumn) else tuple(rest)]

    def _expand(self, keys: tuple[Any, ...]) -> list[int | slice]:
        """Write out ``...`` and check the types of indices and their number."""
        rank = len(self.shape)
        dots = [i for i, key in enumerate(keys) if key is Ellipsis]
        if dots:
            fill = (slice(None),) * (rank - len(keys) + 1)
            keys = keys[: dots[0]] + fill + keys[dots[0] + 1 :]
        checked: list[int | slice] = []
        for key in keys:
            if not isinstance(key, slice):
                if isinstance(key, bool | np.bool) or not hasattr(key, "__index__"):
                    raise TypeError(f"an index must be an int, a slice or ..., not {key!r}")
                key = operator.index(key)  # noqa: PLW2901 - the same, as Python's own
            checked.append(key)
        if len(checked) > rank:
            raise IndexError(f"{len(checked)} indices for a tensor of {rank} dimensions")
        return checked or [slice(None)]

    def _bounds(self) -> tuple[Int64Array, Int64Array]:
        """Return the begins and ends of what the rows hold of the values there are."""
        splits = np.clip(self.row_splits.astype(np.int64), 0, len(self.values))
        return splits[:-1], np.maximum(splits[1:], splits[:-1])

    def _row(self, i: int) -> Any:
        """Return one row."""
        count = self.nrows()
        if not -count <= i < count:
            raise IndexError(f"row {i} of a tensor of {count}")
        i %= count
        size = len(self.values)
        start, limit = (min(max(int(split), 0), size) for split in self.row_splits[i : i + 2])
        return self.values[start : max(start, limit)]

    def _slice_rows(self, key: slice) -> RaggedTensor:
        """Return some of the rows."""
        starts, limits = (bound[key] for bound in self._bounds())
        return self._of_ranges(starts, limits - starts, self.uniform_row_length)

    def _of_ranges(
        self,
        starts: Int64Array,
        lengths: Int64Array,
        uniform: int | None,
        step: int = 1,
    ) -> RaggedTensor:
        """Return rows made of ranges of the values; a view if these follow each other."""
        splits = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=splits[1:])
        low = int(starts[0]) if starts.size else 0
        if step == 1 and np.array_equal(starts, splits[:-1] + low):
            values = self.values[low : low + int(splits[-1])]
        else:
            values = _take(self.values, ranges(starts, lengths, step))
        return RaggedTensor(values, splits.astype(self.row_splits.dtype, copy=False), uniform)

    def _inner(self, keys: list[int | slice]) -> Any:
        """Apply indices to what lies below the rows: the first of them to every row."""
        first, *rest = keys
        if isinstance(first, slice):
            part = self._slice_each(first)
            if not rest:
                return part
            inner = _beside_rows(part.values, rest)
            return RaggedTensor(inner, part.row_splits, part.uniform_row_length)
        if self.uniform_row_length is None:
            detail = (
                f"rows may be shorter than {first}; take a slice of each, [:, {first}:{first + 1}]"
            )
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        length = self.uniform_row_length
        if not -length <= first < length:
            raise IndexError(f"value {first} of rows of {length}")
        chosen = _take(self.values, self._bounds()[0] + first % length)
        return _beside_rows(chosen, rest) if rest else chosen

    def _slice_each(self, key: slice) -> RaggedTensor:
        """Return the same slice of every row."""
        starts, limits = self._bounds()
        starts, lengths, step = _slice_ranges(starts, limits - starts, key)
        uniform = self.uniform_row_length
        if uniform is not None:
            uniform = len(range(*key.indices(uniform)))
        return self._of_ranges(starts, lengths, uniform, step)

    # ---------------------------------------------------------------------- conversion

    def __iter__(self) -> Iterator[Any]:
        """Yield every row, as ``rt[i]`` gives it."""
        starts, limits = self._bounds()
        for start, limit in zip(starts.tolist(), limits.tolist(), strict=True):
            yield self.values[start:limit]

    def to_list(self) -> list[Any]:
        """Return nested lists of Python numbers or ``bytes``."""
        values = self.values
        flat = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
        starts, limits = self._bounds()
        return [flat[a:b] for a, b in zip(starts.tolist(), limits.tolist(), strict=True)]

    def numpy(self) -> AnyArray:
        """Return an array of the rows.

        Returns
        -------
        object, shape (nrows,)
            An array a row, a view where possible; or, if all rows have one length, simply
            a dense array.
        """
        inner = self.values
        values = inner.numpy() if isinstance(inner, RaggedTensor) else _objects(inner)
        starts, limits = self._bounds()
        rows = [values[a:b] for a, b in zip(starts.tolist(), limits.tolist(), strict=True)]
        if not rows:
            return np.empty((0, 0, *values.shape[1:]), values.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.stack(rows)
        array = np.empty(len(rows), object)
        array[:] = rows
        return array

    def to_tensor(self, default_value: Any = None, *, shape: Any = None) -> AnyArray:
        """Return a dense array, the shorter rows filled up.

        Parameters
        ----------
        default_value : scalar or array-like, optional
            What to fill with: 0 or ``b""`` by default. For values that are arrays it may
            be one, too.
        shape : sequence of int or None, optional
            The shape to have, None for as large as needed. Rows that are longer are cut.

        Returns
        -------
        dtype, shape (nrows, longest, ...) or `shape`
            Owns its memory.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for a shape of another rank, negative, or other than that of the
            values below the ragged levels; for a default that does not fit.
        TypeError
            For a default of another kind than the values.
        """
        wanted = self._wanted(shape)
        flat = self.flat_values
        below = flat.shape[1:]
        for size, there in zip(wanted[1 + self.ragged_rank :], below, strict=True):
            if size not in {None, there}:
                raise refuse(f"values of shape {list(below)} cannot become {wanted}")
        return self._padded(fill_value(default_value, flat.dtype, below), wanted)

    def _wanted(self, shape: Any) -> list[int | None]:
        """Return the shape asked for, with None where nothing was."""
        rank = len(self.shape)
        if shape is None or getattr(shape, "rank", rank) is None:  # TensorFlow's unknown shape
            return [None] * rank
        sizes = list(shape) if hasattr(shape, "__iter__") else [shape]
        if len(sizes) != rank:
            raise refuse(f"a shape of {len(sizes)} dimensions for a tensor of {rank}")
        checked = [None if size is None else operator.index(size) for size in sizes]
        if any(size is not None and size < 0 for size in checked):
            raise refuse(f"a dimension of the shape {checked} is negative")
        return checked

    def _padded(self, fill: Any, wanted: list[int | None]) -> AnyArray:
        """Return a dense array of all rows, innermost level first."""
        compact = self._compact()
        if isinstance(compact.values, RaggedTensor):
            values = compact.values._padded(fill, [None, *wanted[2:]])  # noqa: SLF001 - one of us
        else:
            values = _objects(compact.values)
        lengths = np.diff(compact.row_splits)
        height = self.nrows() if wanted[0] is None else wanted[0]
        width = int(lengths.max(initial=0)) if wanted[1] is None else wanted[1]
        lengths = lengths[:height]
        values = values[: compact.row_splits[lengths.size]]
        if (lengths > width).any():
            column = np.arange(len(values)) - np.repeat(compact.row_starts()[:height], lengths)
            values = values[column < width]
        out = np.full((height, width, *values.shape[1:]), fill, values.dtype)
        out[: lengths.size][np.arange(width) < lengths[:, None]] = values
        return out

    def _compact(self) -> RaggedTensor:
        """Return a tensor of the same rows whose splits agree with its values."""
        splits = self.row_splits
        ascending = splits[0] == 0 and splits[-1] == len(self.values)
        if ascending and (splits[1:] >= splits[:-1]).all():
            return self
        return self._slice_rows(slice(None))

    # ------------------------------------------------------------- comparison and text

    def __eq__(self, other: object) -> bool:
        """Compare all rows and values; how they are kept does not matter."""
        if not isinstance(other, RaggedTensor):
            return NotImplemented
        ours, theirs = self._compact(), other._compact()
        if not np.array_equal(ours.row_splits, theirs.row_splits):
            return False
        if isinstance(ours.values, RaggedTensor) or isinstance(theirs.values, RaggedTensor):
            both = isinstance(ours.values, RaggedTensor) and ours.values == theirs.values
            return bool(both)
        return np.array_equal(_objects(ours.values), _objects(theirs.values))

    def __repr__(self) -> str:
        """Show the rows, the middle of many left out."""
        return f"<RaggedTensor {_text(self)}>"


Values: TypeAlias = AnyArray | BytesColumn | RaggedTensor
"""What a RaggedTensor divides into rows."""


def _beside_rows(values: Any, keys: list[int | slice]) -> Any:
    """Apply indices to what lies below the first dimension of values."""
    return values[(slice(None), *keys)]


def _take(values: Values, indices: Int64Array) -> Values:
    """Return chosen values, or rows, in a new column."""
    if isinstance(values, BytesColumn):
        return values.take(indices)
    if isinstance(values, np.ndarray):
        return values[indices]
    starts, limits = values._bounds()  # noqa: SLF001 - one of us
    lengths = (limits - starts)[indices]
    return values._of_ranges(starts[indices], lengths, values.uniform_row_length)  # noqa: SLF001


def _objects(values: Any) -> AnyArray:
    array: AnyArray = values.to_numpy() if isinstance(values, BytesColumn) else values
    return array


def _text(item: Any) -> str:
    """Write rows and values with brackets; of many, the first and the last."""
    if not isinstance(item, RaggedTensor | BytesColumn | np.ndarray):
        return repr(item) if isinstance(item, bytes) else str(item)
    if len(item) <= SHOWN_ROWS:
        parts = [_text(part) for part in item]
    else:
        half = SHOWN_ROWS // 2
        parts = [*map(_text, item[:half]), "...", *map(_text, item[-half:])]
    return f"[{', '.join(parts)}]"


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


def _slice_ranges(
    starts: Int64Array, sizes: Int64Array, key: slice
) -> tuple[Int64Array, Int64Array, int]:
    """Take the same slice of every range, as ``slice.indices`` would of each.

    Parameters
    ----------
    starts, sizes : int64, shape (n_ranges,)
        Range ``i`` is ``starts[i]``, ``starts[i] + 1``, and so on, `sizes[i]` numbers.
    key : slice
        Of ints and None.

    Returns
    -------
    starts, lengths : int64, shape (n_ranges,)
        New arrays.
    step : int
        From each number of a new range to its next.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for a step of 0.
    TypeError
        For a slice of anything but ints.

    Examples
    --------
    >>> starts, lengths, step = _slice_ranges(np.array([0, 10]), np.array([3, 1]), slice(1, None))
    >>> starts.tolist(), lengths.tolist(), step
    ([1, 11], [2, 0], 1)
    """
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail="a slice's step must not be 0")
    # Where the ends may lie: backwards, a range may end before its first number.
    low, high = (np.zeros_like(sizes), sizes) if step > 0 else (np.full_like(sizes, -1), sizes - 1)
    first, last = (low, high) if step > 0 else (high, low)
    begin = first if key.start is None else np.clip(_from_front(key.start, sizes), low, high)
    end = last if key.stop is None else np.clip(_from_front(key.stop, sizes), low, high)
    lengths = np.maximum((end - begin + step - (1 if step > 0 else -1)) // step, 0)
    return starts + begin, lengths, step


def _from_front(number: int, sizes: Int64Array) -> Int64Array:
    """Count one end of a slice from the front of each range."""
    bounded = max(min(operator.index(number), 2**62), -(2**62))
    return sizes + bounded if bounded < 0 else np.full_like(sizes, bounded)
