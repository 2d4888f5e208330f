"""RaggedTensor: rows of any length, in any number of levels.

::

    [[1, 2], [], [3]]             RaggedTensor(values=[1, 2, 3], row_splits=[0, 2, 2, 3])

    [[[1, 2], []], [[3]]]         RaggedTensor(
                                      values=RaggedTensor([1, 2, 3], [0, 2, 2, 3]),
                                      row_splits=[0, 2, 3])

The other ways to say where rows are become splits::

    values        a b | | c d e f      three rows
    row_splits    0 2 2 6              the start of each row, and the end of the last
    row_lengths   2 0 4
    row_starts    0 2 2
    row_limits    2 2 6
    value_rowids  0 0 2 2 2 2          one per value

Splits that nobody asked to validate may disagree with the values (rule G6). They are kept
as given, and a row then holds the part of its range that exists.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int32Array, Int64Array, objects, ranges
from tfrecord_lite.arrays import row_splits as splits_without_gaps
from tfrecord_lite.columns.bytes import BytesColumn, FlatValues, as_array, fill_value
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.texts import plural, repr_html, value_text

Splits: TypeAlias = Int32Array | Int64Array

MAX_IMPLIED_ROWS = 1 << 28
"""Most rows that the largest row number may imply (2 GiB of splits)."""
SHOWN_ROWS = 10
"""Most rows, and values per row, that ``repr`` shows."""
SHOWN_CHARACTERS = 2000
_VALUE_CHARACTERS = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RaggedTensor:
    """Rows of any length, with TensorFlow's names and layout.

    Parameters
    ----------
    values : any dtype, shape (n_values, ...), BytesColumn or RaggedTensor
        The rows, end to end. Held, not copied.
    row_splits : int32 or int64, shape (nrows + 1,)
        Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``. Held, not copied; only
        ``from_row_splits`` compares them with the values.
    uniform_row_length : int, optional
        The length of every row, if they are known to have the same.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the splits are not a vector of int32 or int64, are empty, or have
        another dtype than the splits of `values`.

    Examples
    --------
    >>> rt = RaggedTensor.from_row_lengths([1, 2, 3, 4], [2, 0, 2])
    >>> rt
    <RaggedTensor [[1, 2], [], [3, 4]]>
    >>> rt[0], rt[:, 1:], rt.shape
    (array([1, 2]), <RaggedTensor [[2], [], [4]]>, (3, None))
    """

    values: RaggedValues
    row_splits: Splits
    uniform_row_length: int | None = None

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Makes array == tensor call our __eq__ instead of comparing element by element.
    __array_ufunc__: ClassVar[None] = None

    if TYPE_CHECKING:

        def __init__(
            self, values: Any, row_splits: Any, uniform_row_length: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        """Convert values and splits to arrays, and check dtypes and ranks."""
        values = _as_values(self.values)
        preferred = values.row_splits.dtype if isinstance(values, RaggedTensor) else None
        splits = as_partition("row_splits", self.row_splits, preferred)
        if not splits.size:
            raise argument_error("row_splits must not be empty; use [0] for no rows")
        if splits.dtype != (preferred or splits.dtype):
            detail = f"row_splits must be {preferred} as in the values, not {splits.dtype}"
            raise argument_error(detail)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "row_splits", splits)

    # -------------------------------------------------------------------- constructors

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, *, validate: bool = True) -> Self:
        """Divide values by the splits between rows.

        Parameters
        ----------
        values : array-like, BytesColumn or RaggedTensor
            The rows, end to end.
        row_splits : int, shape (nrows + 1,)
            0, then the end of each row.
        validate : bool, default True
            Whether to check that the rows cover all values.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if they do not.

        Examples
        --------
        >>> RaggedTensor.from_row_splits([5, 7, 9], [0, 2, 2, 3])
        <RaggedTensor [[5, 7], [], [9]]>
        """
        ragged = cls(values, row_splits)
        if validate:
            check_splits(ragged.row_splits, len(ragged.values))
        return ragged

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, *, validate: bool = True) -> Self:
        """Divide values by the length of each row; otherwise as :meth:`from_row_splits`.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([b"a", b"b", b"c"], [1, 0, 2])
        <RaggedTensor [[b'a'], [], [b'b', b'c']]>
        """
        held, lengths = _operands(values, "row_lengths", row_lengths)
        if validate:
            least, n_values = lengths.min(initial=0), len(held)
            if least < 0:
                raise argument_error(f"row_lengths must not be negative, but the least is {least}")
            # Each is compared first, so that the sum cannot overflow.
            total = lengths.sum(dtype=np.int64) if lengths.max(initial=0) <= n_values else -1
            if total != n_values:
                total = lengths.astype(object).sum()
                detail = f"row_lengths must add up to {n_values}, the number of values, not {total}"
                raise argument_error(detail)
        splits = np.zeros(lengths.size + 1, lengths.dtype)
        np.cumsum(lengths, dtype=lengths.dtype, out=splits[1:])
        return cls(held, splits)

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: int | None = None, *, validate: bool = True
    ) -> Self:
        """Divide values by the row number of each; otherwise as :meth:`from_row_splits`.

        Parameters
        ----------
        value_rowids : int, shape (n_values,)
            Ascending; a number that does not occur is an empty row.
        nrows : int, optional
            The number of rows, if there are empty rows at the end.

        Examples
        --------
        >>> RaggedTensor.from_value_rowids([5, 7, 9], [0, 0, 2], nrows=4)
        <RaggedTensor [[5, 7], [], [9], []]>
        """
        held, rowids = _operands(values, "value_rowids", value_rowids)
        if rowids.size != len(held):
            detail = f"expected {len(held)} value_rowids, one per value, not {rowids.size}"
            raise argument_error(detail)
        if (least := rowids.min(initial=0)) < 0:
            raise argument_error(f"value_rowids must not be negative, but the least is {least}")
        implied = int(rowids[-1]) + 1 if rowids.size else 0
        if validate:
            _check_ascending("value_rowids", rowids)
        if nrows is None and implied > MAX_IMPLIED_ROWS:
            detail = f"value_rowids imply {plural(implied, 'row')}; give nrows if that is intended"
            raise argument_error(detail)
        n_rows = implied if nrows is None else operator.index(nrows)
        if n_rows < implied:
            detail = f"nrows must be at least {implied}, as value_rowids imply, not {n_rows}"
            raise argument_error(detail)
        # Numbers out of order may exceed the last one; their values get no row (rule G6).
        counts: Any = np.bincount(rowids[rowids < n_rows], minlength=n_rows)
        return cls(held, splits_without_gaps(counts).astype(rowids.dtype))

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, *, validate: bool = True) -> Self:
        """Divide values by the start of each row; otherwise as :meth:`from_row_splits`.

        Examples
        --------
        >>> RaggedTensor.from_row_starts([5, 7, 9], [0, 2, 2])
        <RaggedTensor [[5, 7], [], [9]]>
        """
        held, starts = _operands(values, "row_starts", row_starts)
        splits = np.append(starts, starts.dtype.type(len(held)))
        return cls.from_row_splits(held, splits, validate=validate)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, *, validate: bool = True) -> Self:
        """Divide values by the end of each row; otherwise as :meth:`from_row_splits`.

        Examples
        --------
        >>> RaggedTensor.from_row_limits([5, 7, 9], [2, 2, 3])
        <RaggedTensor [[5, 7], [], [9]]>
        """
        held, limits = _operands(values, "row_limits", row_limits)
        return cls.from_row_splits(held, np.append(limits.dtype.type(0), limits), validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: int,
        nrows: int | None = None,
        *,
        validate: bool = True,
        row_splits_dtype: np.typing.DTypeLike | None = None,
    ) -> Self:
        """Divide values into rows of one length; otherwise as :meth:`from_row_splits`.

        Parameters
        ----------
        uniform_row_length : int
            Values per row.
        nrows : int, optional
            Required only if the length is 0.
        validate : bool, default True
            Whether to check that the rows cover all values; if not, left-over values get no row.
        row_splits_dtype : int32 or int64, optional
            By default the dtype in `values` if they are ragged, otherwise int64.

        Examples
        --------
        >>> RaggedTensor.from_uniform_row_length([5, 7, 9, 8], 2)
        <RaggedTensor [[5, 7], [9, 8]]>
        """
        held = _as_values(values)
        length, n_values = operator.index(uniform_row_length), len(held)
        if length < 0:
            raise argument_error(f"uniform_row_length must not be negative, but is {length}")
        n_rows = operator.index(n_values // length if length and nrows is None else nrows or 0)
        if n_rows < 0:
            raise argument_error(f"nrows must not be negative, but is {n_rows}")
        if validate and n_rows * length != n_values:
            rows, values_per_row = plural(n_rows, "row"), plural(length, "value")
            detail = f"{rows} of {values_per_row} do not cover {plural(n_values, 'value')} exactly"
            raise argument_error(detail)
        inner = held.row_splits.dtype if isinstance(held, RaggedTensor) else np.dtype(np.int64)
        dtype = inner if row_splits_dtype is None else np.dtype(row_splits_dtype)
        return cls(held, np.arange(n_rows + 1, dtype=dtype) * dtype.type(length), length)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[Any], *, validate: bool = True
    ) -> Self:
        """Divide values by the splits of several levels, outermost first.

        Examples
        --------
        >>> RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2, 3], [0, 2, 2, 3]])
        <RaggedTensor [[[1, 2], []], [[3]]]>
        """
        if not len(nested_row_splits):
            raise argument_error("nested_row_splits must hold at least one vector of splits")
        ragged = flat_values
        for splits in reversed(nested_row_splits):
            ragged = cls.from_row_splits(ragged, splits, validate=validate)
        return ragged  # type: ignore[no-any-return]

    # ---------------------------------------------------------------------- properties

    @property
    def nested_row_splits(self) -> tuple[Splits, ...]:
        """The splits of all levels, outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def flat_values(self) -> FlatValues:
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
        """One number per dimension; None where rows differ or may differ."""
        return (self.nrows(), self.uniform_row_length, *self.values.shape[1:])

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.row_splits.size - 1

    def nrows(self) -> int:
        """Return the number of rows; so does ``len``.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).nrows()
        3
        """
        return len(self)

    def row_starts(self) -> Splits:
        """Return the start of each row; a view of the splits.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).row_starts()
        array([0, 2, 2])
        """
        return self.row_splits[:-1]

    def row_limits(self) -> Splits:
        """Return the end of each row; a view of the splits.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).row_limits()
        array([2, 2, 3])
        """
        return self.row_splits[1:]

    def row_lengths(self, axis: int = 1) -> Any:
        """Return the lengths of rows.

        Parameters
        ----------
        axis : int, default 1
            The dimension; negative numbers count from the last.

        Returns
        -------
        dtype of row_splits, shape (nrows,)
            Owns its memory. For `axis` above 1 a RaggedTensor of them, for 0 an int.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if there is no such axis.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).row_lengths()
        array([2, 0, 1])
        """
        rank = len(self.shape)
        if not -rank <= axis < rank:
            raise argument_error(f"axis is {axis}, but the tensor has {plural(rank, 'dimension')}")
        axis %= rank
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return np.diff(self.row_splits)
        if isinstance(self.values, RaggedTensor):
            return RaggedTensor(self.values.row_lengths(axis - 1), self.row_splits)
        # Dimensions below the ragged levels are dense: the same length everywhere.
        shape = self.values.shape
        lengths = np.full(shape[: axis - 1], shape[axis - 1], self.row_splits.dtype)
        return RaggedTensor(lengths, self.row_splits)

    def nested_row_lengths(self) -> tuple[Splits, ...]:
        """Return the row lengths of all levels, outermost first.

        Examples
        --------
        >>> nested = RaggedTensor.from_nested_row_splits([5, 7, 9], [[0, 2, 3], [0, 2, 2, 3]])
        >>> nested.nested_row_lengths()
        (array([2, 1]), array([2, 0, 1]))
        """
        return tuple(inner[1:] - inner[:-1] for inner in self.nested_row_splits)

    def value_rowids(self) -> Splits:
        """Return the row number of each value that is in a row; a new array.

        Examples
        --------
        >>> scores = RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1])
        >>> np.bincount(scores.value_rowids(), weights=scores.values, minlength=3)  # a sum per row
        array([12.,  0.,  9.])
        """
        starts, limits = self._bounds()
        numbers: Any = np.arange(len(self), dtype=self.row_splits.dtype)
        return np.repeat(numbers, limits - starts)

    def bounding_shape(self, axis: int | None = None) -> Any:
        """Return the shape of the smallest dense array that holds all rows.

        Parameters
        ----------
        axis : int, optional
            Return only the size of this dimension, as an int.

        Examples
        --------
        >>> scores = RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1])
        >>> scores.bounding_shape(), scores.bounding_shape(axis=1)
        (array([3, 2]), 2)
        """
        longest = [int(lengths.max(initial=0)) for lengths in self.nested_row_lengths()]
        sizes = [self.nrows(), *longest, *self.flat_values.shape[1:]]
        return np.array(sizes, self.row_splits.dtype) if axis is None else sizes[axis]

    # ------------------------------------------------------------------------- slicing

    def __getitem__(self, key: Any) -> Any:
        """Return one row, some rows, or a part of each row.

        ``rt[i]`` is row `i`: an array, a BytesColumn, or a RaggedTensor with one level less.
        ``rt[a:b:c]`` is a RaggedTensor of some rows, ``rt[:, a:b:c]`` of a part of every
        row, ``rt[i, j]`` is a value; and so on for further dimensions, with ``...`` for all
        that are not named. Rows and slices with step 1 are views; the rest is copied.

        Raises
        ------
        IndexError
            If there is no such row, or there are more indices than dimensions.
        InvalidArgumentError
            ``UNSUPPORTED`` for ``rt[:, j]``, unless the rows are known to have the same length.
        TypeError
            If an index is not an int, a slice or ``...``.
        """
        first, *rest = self._expand(key if isinstance(key, tuple) else (key,))
        if isinstance(first, slice):
            rows = self._slice_rows(first)
            return rows._index_each(rest) if rest else rows  # noqa: SLF001 - this class
        row = self._row(first)
        if not rest:
            return row
        return row[rest[0] if isinstance(row, BytesColumn) else tuple(rest)]

    def _expand(self, keys: tuple[Any, ...]) -> list[int | slice]:
        """Expand ``...``, and check the types of indices and their number."""
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
                key = operator.index(key)  # noqa: PLW2901 - the same number as an int
            checked.append(key)
        if len(checked) > rank:
            indices = plural(len(checked), "index", "indices")
            raise IndexError(f"{indices}, but the tensor has {plural(rank, 'dimension')}")
        return checked or [slice(None)]

    def _bounds(self) -> tuple[Int64Array, Int64Array]:
        """Return the start and end of each row, cut to the values that exist; int64 (nrows,)."""
        splits = np.clip(self.row_splits.astype(np.int64), 0, len(self.values))
        return splits[:-1], np.maximum(splits[1:], splits[:-1])

    def _row(self, i: int) -> Any:
        count = self.nrows()
        if not -count <= i < count:
            raise IndexError(f"row {i} of a tensor of {plural(count, 'row')}")
        i %= count
        size = len(self.values)
        start, limit = (min(max(int(split), 0), size) for split in self.row_splits[i : i + 2])
        return self.values[start : max(start, limit)]

    def _slice_rows(self, key: slice) -> RaggedTensor:
        starts, limits = (bound[key] for bound in self._bounds())
        return self._of_ranges(starts, limits - starts, self.uniform_row_length)

    def _of_ranges(
        self, starts: Int64Array, lengths: Int64Array, uniform: int | None, step: int = 1
    ) -> RaggedTensor:
        """Return rows that are ranges of the values; a view if the ranges are adjacent."""
        splits = splits_without_gaps(lengths)
        low = int(starts[0]) if starts.size else 0
        if step == 1 and np.array_equal(starts, splits[:-1] + low):
            values = self.values[low : low + int(splits[-1])]
        else:
            values = _take(self.values, ranges(starts, lengths, step))
        return RaggedTensor(values, splits.astype(self.row_splits.dtype, copy=False), uniform)

    def _index_each(self, keys: list[int | slice]) -> Any:
        first, *rest = keys
        if isinstance(first, slice):
            part = self._slice_each(first)
            if not rest:
                return part
            values: Any = part.values
            return replace(part, values=values[(slice(None), *rest)])
        if self.uniform_row_length is None:
            cut = f"[:, {first}:{first + 1}]"
            detail = f"rows may have no value {first}; take a slice of each, {cut}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        length = self.uniform_row_length
        if not -length <= first < length:
            raise IndexError(f"value {first} of rows of length {length}")
        chosen: Any = _take(self.values, self._bounds()[0] + first % length)
        return chosen[(slice(None), *rest)] if rest else chosen

    def _slice_each(self, key: slice) -> RaggedTensor:
        starts, limits = self._bounds()
        starts, lengths, step = _slice_ranges(starts, limits - starts, key)
        length = self.uniform_row_length
        uniform = None if length is None else len(range(*key.indices(length)))
        return self._of_ranges(starts, lengths, uniform, step)

    # ---------------------------------------------------------------------- conversion

    def __iter__(self) -> Iterator[Any]:
        """Yield every row, as ``rt[i]`` returns it."""
        for start, limit in self._row_bounds():
            yield self.values[start:limit]

    def _row_bounds(self) -> Iterator[tuple[int, int]]:
        return zip(*(bound.tolist() for bound in self._bounds()), strict=True)

    def to_list(self) -> list[Any]:
        """Return nested lists of Python numbers or ``bytes``.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).to_list()
        [[5, 7], [], [9]]
        """
        values = self.values
        flat = values.tolist() if isinstance(values, np.ndarray) else values.to_list()
        return [flat[start:limit] for start, limit in self._row_bounds()]

    def numpy(self) -> AnyArray:
        """Return an object array of one array per row, or a dense array if all have one length.

        Examples
        --------
        >>> RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1]).numpy()
        array([array([5, 7]), array([], dtype=int64), array([9])], dtype=object)
        """
        inner = self.values
        values = inner.numpy() if isinstance(inner, RaggedTensor) else as_array(inner)
        rows = [values[start:limit] for start, limit in self._row_bounds()]
        if not rows:
            return np.empty((0, 0, *values.shape[1:]), values.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.stack(rows)
        return objects(rows)

    def to_tensor(self, default_value: Any = None, *, shape: Any = None) -> AnyArray:
        """Return a dense array, with shorter rows padded.

        Parameters
        ----------
        default_value : scalar or array-like, optional
            Fills shorter rows: 0, ``b""`` or NaT by default. If the values are arrays, it may be an
            array as well.
        shape : sequence of int or None, optional
            The shape of the result, with None for as large as needed. Longer rows are cut.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` if the shape has another rank, is negative, or differs from the shape of
            the values below the ragged levels; or if the default does not fit.
        TypeError
            If the default is not of the type of the values.

        Examples
        --------
        >>> scores = RaggedTensor.from_row_lengths([5, 7, 9], [2, 0, 1])
        >>> scores.to_tensor(default_value=-1).tolist()
        [[5, 7], [-1, -1], [9, -1]]
        >>> scores.to_tensor(shape=[None, 1]).tolist()
        [[5], [0], [9]]
        """
        sizes = self._target_sizes(shape)
        flat = self.flat_values
        below = flat.shape[1:]
        for size, inner_size in zip(sizes[1 + self.ragged_rank :], below, strict=True):
            if size not in {None, inner_size}:
                raise argument_error(f"values of shape {list(below)} do not fit the shape {sizes}")
        return self._padded(fill_value(default_value, flat.dtype, below), sizes)

    def _target_sizes(self, shape: Any) -> list[int | None]:
        rank = len(self.shape)
        if shape is None or getattr(shape, "rank", rank) is None:  # TensorFlow's unknown shape
            return [None] * rank
        sizes = list(shape) if hasattr(shape, "__iter__") else [shape]
        if len(sizes) != rank:
            detail = f"shape has {plural(len(sizes), 'dimension')}, but the tensor has {rank}"
            raise argument_error(detail)
        checked = [None if size is None else operator.index(size) for size in sizes]
        if any(size is not None and size < 0 for size in checked):
            raise argument_error(f"shape must not be negative, but is {checked}")
        return checked

    def _padded(self, fill: Any, sizes: list[int | None]) -> AnyArray:
        """Return a dense array of all rows, innermost level first."""
        compact = self._compact()
        if isinstance(compact.values, RaggedTensor):
            values = compact.values._padded(fill, [None, *sizes[2:]])  # noqa: SLF001 - this class
        else:
            values = as_array(compact.values)
        lengths = np.diff(compact.row_splits)
        height = self.nrows() if sizes[0] is None else sizes[0]
        width = int(lengths.max(initial=0)) if sizes[1] is None else sizes[1]
        lengths = lengths[:height]
        values = values[: compact.row_splits[lengths.size]]
        if (lengths > width).any():
            # The place of each value in its row.
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
        """Compare all rows and values; how they are stored does not matter."""
        if not isinstance(other, RaggedTensor):
            return NotImplemented
        ours, theirs = self._compact(), other._compact()
        if not np.array_equal(ours.row_splits, theirs.row_splits):
            return False
        if isinstance(ours.values, RaggedTensor) or isinstance(theirs.values, RaggedTensor):
            return bool(ours.values == theirs.values)
        return np.array_equal(as_array(ours.values), as_array(theirs.values))

    def __repr__(self) -> str:
        """Show the rows, without the middle of many."""
        room = SHOWN_CHARACTERS
        while len(text := _text(self, len(self.shape), room)) > SHOWN_CHARACTERS and room:
            room //= 2  # the values were longer than expected
        return f"<RaggedTensor {text}>"

    _repr_html_ = repr_html


RaggedValues: TypeAlias = FlatValues | RaggedTensor
"""The values that a RaggedTensor divides into rows."""


def _take(values: RaggedValues, indices: Int64Array) -> RaggedValues:
    if isinstance(values, BytesColumn):
        return values.take(indices)
    if isinstance(values, np.ndarray):
        return values[indices]
    starts, limits = values._bounds()  # noqa: SLF001 - this class
    lengths = (limits - starts)[indices]
    return values._of_ranges(starts[indices], lengths, values.uniform_row_length)  # noqa: SLF001


def _text(item: Any, n_levels: int, room: int) -> str:
    """Format rows and values with `n_levels` of brackets, in about `room` characters."""
    if not isinstance(item, RaggedTensor | BytesColumn | np.ndarray):
        return value_text(item)
    # What a part needs at least: its first and its last part, and so on.
    n_each = 2 * _VALUE_CHARACTERS if item.dtype == object else _VALUE_CHARACTERS
    least = 2 ** (n_levels - 1) * n_each
    n_shown = min(max(room // least, 1), SHOWN_ROWS)
    n_first, is_cut = (n_shown + 1) // 2, len(item) > n_shown
    shown = (*item[:n_first], *item[len(item) - n_shown // 2 :]) if is_cut else item
    parts = [_text(part, n_levels - 1, room // n_shown) for part in shown]
    if is_cut:
        parts.insert(n_first, "...")
    return f"[{', '.join(parts)}]"


def _as_values(values: Any) -> Any:
    """Convert values to an array, strings to objects; keep columns as they are."""
    if isinstance(values, RaggedTensor | BytesColumn):
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise argument_error("values must not be masked; drop the missing ones, or fill them")
    array = np.asarray(values)
    if array.dtype.kind in "SUT":
        # Not from the array: NumPy's own byte strings lose their last zero bytes.
        strings = np.array(values, object)
        flat = [v.encode() if isinstance(v, str) else v for v in strings.ravel().tolist()]
        array = objects(flat).reshape(strings.shape)
    if array.ndim == 0:
        raise argument_error("values must have at least one dimension, not be a scalar")
    return array


def _operands(values: Any, name: str, partition: Any) -> tuple[Any, Splits]:
    """Convert values and partition; lists of numbers become the dtype of inner splits."""
    held = _as_values(values)
    preferred = held.row_splits.dtype if isinstance(held, RaggedTensor) else None
    if preferred is not None and not isinstance(partition, np.ndarray):
        partition = np.array(partition, preferred)
    return held, as_partition(name, partition, preferred)


def _slice_ranges(
    starts: Int64Array, sizes: Int64Array, key: slice
) -> tuple[Int64Array, Int64Array, int]:
    """Apply one slice to ranges, by their starts and sizes; return new starts, sizes and the step.

    >>> starts, lengths, step = _slice_ranges(np.array([0, 10]), np.array([3, 1]), slice(1, None))
    >>> starts.tolist(), lengths.tolist(), step
    ([1, 11], [2, 0], 1)
    """
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise argument_error("a slice's step must not be 0")
    # The limits of both ends, counted from the start of each range; a backward slice may end at
    # -1, before the first number.
    low, high = (np.zeros_like(sizes), sizes) if step > 0 else (np.full_like(sizes, -1), sizes - 1)
    first, last = (low, high) if step > 0 else (high, low)
    begin = first if key.start is None else np.clip(_from_front(key.start, sizes), low, high)
    end = last if key.stop is None else np.clip(_from_front(key.stop, sizes), low, high)
    lengths = np.maximum((end - begin + step - (1 if step > 0 else -1)) // step, 0)
    return starts + begin, lengths, step


def _from_front(number: int, sizes: Int64Array) -> Int64Array:
    bounded = max(min(operator.index(number), 2**62), -(2**62))
    return sizes + bounded if bounded < 0 else np.full_like(sizes, bounded)


# ------------------------------------------------------------------------------ partitions


def as_partition(name: str, partition: Any, preferred: np.dtype[Any] | None = None) -> Splits:
    """Convert a partition to a vector of int32 or int64.

    Arrays of these dtypes are not copied; other integers become `preferred`, or int64.
    """
    array = np.asarray(partition)
    if array.ndim != 1:
        raise argument_error(f"{name} must be a vector, not of shape {array.shape}")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.dtype.kind not in "iu" and (array.size or isinstance(partition, np.ndarray)):
        raise argument_error(f"{name} must be int32 or int64, not {array.dtype}")
    return array.astype(preferred or np.int64)


def check_splits(splits: Splits, n_values: int) -> None:
    """Check that splits begin at 0, do not fall, and end with the values (rule G7)."""
    if splits[0] != 0:
        raise argument_error(f"row_splits must begin with 0, not {splits[0]}")
    _check_ascending("row_splits", splits)
    if splits[-1] != n_values:
        detail = f"row_splits must end at {n_values}, the number of values, not {splits[-1]}"
        raise argument_error(detail)


def _check_ascending(name: str, numbers: Splits) -> None:
    wrong = np.flatnonzero(numbers[1:] < numbers[:-1])
    if wrong.size:
        i = int(wrong[0])
        pair = f"{numbers[i + 1]} follows {numbers[i]} at {i + 1}"
        raise argument_error(f"{name} must be ascending, but {pair}")
