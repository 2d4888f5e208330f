"""The feature specifications: which feature to read, and what to make of it.

================================  =======================================================
:class:`FixedLenFeature`          the same number of values in every example: an ndarray
:class:`FixedLenSequenceFeature`  any number of blocks of one shape: an ndarray, padded
:class:`VarLenFeature`            any number of values: a SparseTensor
:class:`SparseFeature`            values and their coordinates: a SparseTensor
:class:`RaggedFeature`            values and how to divide them: a RaggedTensor
================================  =======================================================

Names, arguments, their order and defaults are TensorFlow's. dtypes are given as NumPy
has them, or by name. Specifications are immutable; they compare and hash by meaning,
so that ``[2]`` is ``(2,)`` and ``np.float32`` is ``"float32"``, and they pickle.
All but :class:`RaggedFeature` take what they are given and leave the checks to the
moment they are used (rule E8).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.kinds import kind_of, numpy_dtype


class FeatureSpec:
    """What all feature specifications have in common: comparison, hash, text."""

    __slots__ = ()

    def _items(self) -> list[tuple[str, Any]]:
        """Return names and values of the fields, in order."""
        return [(f.name, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]

    def _identity(self) -> tuple[Any, ...]:
        """Return the fields as something that compares by meaning and has a hash."""
        return tuple(_meaning(name, value) for name, value in self._items())

    def __eq__(self, other: object) -> bool:
        """Compare class and meaning of all fields."""
        if not isinstance(other, FeatureSpec):
            return NotImplemented
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Agree with ``==``."""
        return hash((type(self), self._identity()))

    def __repr__(self) -> str:
        """Write the call that makes an equal one."""
        items = (f"{name}={_dtype_text(name, value)}" for name, value in self._items())
        return f"{type(self).__name__}({', '.join(items)})"


def _meaning(name: str, value: Any) -> Any:
    """Return a hashable stand-in for `value`, equal for values that mean the same."""
    if name == "dtype":
        try:
            return kind_of(value)
        except (TypeError, ValueError):
            return repr(value)
    if isinstance(value, list | tuple):
        return tuple(_meaning("", item) for item in value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, np.ndarray):
        return (value.shape, _meaning("", value.ravel().tolist()))
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return "nan"
    return value


def _dtype_text(name: str, value: Any) -> str:
    """Write a field's value; a dtype by its name, where it has one."""
    if name == "dtype":
        try:
            return repr(kind_of(value).label)
        except (TypeError, ValueError):
            return repr(value)
    return repr(value.name) if isinstance(value, np.dtype) else repr(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedLenFeature(FeatureSpec):
    """A feature with the same number of values in every example (rules X1 to X8).

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one example's values, ``[]`` for a single one.
    dtype : dtype
        float32, int64 or string.
    default_value : array-like, optional
        What an example without the feature gets: as many values as `shape` holds.
        Without it, such an example is an error.

    Examples
    --------
    >>> FixedLenFeature([2], np.float32, [0, 0])
    FixedLenFeature(shape=[2], dtype='float32', default_value=[0, 0])
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VarLenFeature(FeatureSpec):
    """A feature with any number of values in each example, none included (rules V1, V2).

    Parameters
    ----------
    dtype : dtype
        float32, int64 or string.

    Examples
    --------
    >>> VarLenFeature(bytes)
    VarLenFeature(dtype='string')
    """

    dtype: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedLenSequenceFeature(FeatureSpec):
    """A feature of any number of blocks, each of one shape (rules S1 to S5).

    Parameters
    ----------
    shape : sequence of int
        Shape of one block, ``[]`` for a single value.
    dtype : dtype
        float32, int64 or string.
    allow_missing : bool, default False
        Whether a missing feature means no blocks. For an Example it has to be True.
    default_value : scalar, optional
        What pads the shorter examples of a batch; 0 or ``b""`` by default.

    Examples
    --------
    >>> FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-1)
    FixedLenSequenceFeature(shape=[], dtype='int64', allow_missing=True, default_value=-1)
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparseFeature(FeatureSpec):
    """Values in one feature and their coordinates in others (rules Z1 to Z6).

    Parameters
    ----------
    index_key : str or list of str
        The int64 feature with the coordinates; one for each dimension if a list.
    value_key : str
        The feature with the values.
    dtype : dtype
        float32, int64 or string.
    size : int or list of int
        The dense shape: a list if and only if `index_key` is one.
    already_sorted : bool, default False
        Whether the coordinates may be trusted to be in order.

    Examples
    --------
    >>> SparseFeature(["row", "column"], "value", float, [100, 3]).size
    [100, 3]
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RaggedFeature(FeatureSpec):
    """A feature of any number of values, divided into rows by others (rules G1 to G8).

    Parameters
    ----------
    dtype : dtype
        float32, int64 or string.
    value_key : str, optional
        The feature with the values; by default the one this specification is named by.
    partitions : list or tuple of partitions
        How to divide the values, outermost first: :class:`RowSplits`, :class:`RowLengths`,
        :class:`RowStarts`, :class:`RowLimits` and :class:`ValueRowIds` name an int64
        feature, :class:`UniformRowLength` gives a number.
    row_splits_dtype : dtype
        int32 or int64, of the ``row_splits`` in the result.
    validate : bool, default False
        Whether to check that values and partitions agree.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for another `dtype` or `row_splits_dtype`, ``BAD_ARGUMENT`` for a
        `value_key` that is no string or empty.
    TypeError
        If `partitions` is no list or tuple of partitions, `validate` no bool, or a
        dtype no dtype.

    Examples
    --------
    >>> RaggedFeature(float, "v", [RaggedFeature.RowLengths("n")]).partitions
    (RaggedFeature.RowLengths(key='n'),)
    """

    @dataclass(frozen=True, slots=True)
    class RowSplits:
        """Row ``i`` is ``values[splits[i]:splits[i + 1]]``.

        Parameters
        ----------
        key : str
            The int64 feature with the splits: 0, ..., number of values.
        """

        key: str

    @dataclass(frozen=True, slots=True)
    class RowLengths:
        """Rows follow each other and have these lengths.

        Parameters
        ----------
        key : str
            The int64 feature with one length a row.
        """

        key: str

    @dataclass(frozen=True, slots=True)
    class RowStarts:
        """Each row begins at a given value and ends where the next begins.

        Parameters
        ----------
        key : str
            The int64 feature with the first value's number, one a row.
        """

        key: str

    @dataclass(frozen=True, slots=True)
    class RowLimits:
        """Each row ends before a given value and begins where the last one ended.

        Parameters
        ----------
        key : str
            The int64 feature with the number behind the last value, one a row.
        """

        key: str

    @dataclass(frozen=True, slots=True)
    class ValueRowIds:
        """Each value says in which row it is.

        Parameters
        ----------
        key : str
            The int64 feature with a row number for each value, ascending.
        """

        key: str

    @dataclass(frozen=True, slots=True)
    class UniformRowLength:
        """All rows have one length.

        Parameters
        ----------
        length : int
            How many values a row has.
        """

        length: int

    dtype: Any
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False

    def __post_init__(self) -> None:
        """Check the arguments, and put dtypes and partitions into their final form."""
        if self.value_key is not None and (
            not isinstance(self.value_key, str) or not self.value_key
        ):
            detail = f"value_key must be a string that is not empty, not {self.value_key!r}"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if self.dtype is None or self.row_splits_dtype is None:
            raise TypeError("None is not a dtype; leave row_splits_dtype out for int32")
        if not isinstance(self.partitions, list | tuple):
            raise TypeError(f"partitions must be a list or tuple, not {self.partitions!r}")
        for partition in self.partitions:
            if not isinstance(partition, _PARTITIONS):
                names = ", ".join(t.__name__ for t in _PARTITIONS)
                raise TypeError(f"{partition!r} is no partition; RaggedFeature has {names}")
        if not isinstance(self.validate, bool):
            raise TypeError(f"validate must be a bool, not {self.validate!r}")
        object.__setattr__(self, "dtype", kind_of(self.dtype).dtype)
        object.__setattr__(self, "row_splits_dtype", _splits_dtype(self.row_splits_dtype))
        object.__setattr__(self, "partitions", tuple(self.partitions))


Partition: TypeAlias = (
    RaggedFeature.RowSplits
    | RaggedFeature.RowLengths
    | RaggedFeature.RowStarts
    | RaggedFeature.RowLimits
    | RaggedFeature.ValueRowIds
    | RaggedFeature.UniformRowLength
)
"""One level of a :class:`RaggedFeature`."""

_PARTITIONS = (
    RaggedFeature.RowSplits,
    RaggedFeature.RowLengths,
    RaggedFeature.RowStarts,
    RaggedFeature.RowLimits,
    RaggedFeature.ValueRowIds,
    RaggedFeature.UniformRowLength,
)


def _splits_dtype(dtype: Any) -> np.dtype[Any]:
    """Return int32 or int64 as a NumPy dtype, or say why not."""
    found = numpy_dtype(dtype)
    if found not in (np.dtype(np.int32), np.dtype(np.int64)):
        detail = f"row_splits_dtype must be int32 or int64, not {found.name}"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return found
