"""Feature specifications: which feature to read, and the column to make of it.

Names, arguments, their order and defaults are TensorFlow's. Specifications compare and hash by meaning, so that
``[2]`` equals ``(2,)`` and ``np.float32`` equals ``"float32"``. All but :class:`RaggedFeature` and :class:`RawFeature`
accept any arguments, which are checked when they are used (rule E8).
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.options import hinted, take_over
from tfrecord_lite.schema.kinds import EXTRA_DTYPES, Kind, kind_of, numpy_dtype


class FeatureSpec:
    """Base of all feature specifications: comparison, hash and text.

    Examples
    --------
    >>> from tfrecord_lite.schema import FeatureSpec
    >>> isinstance(FixedLenFeature([], int), FeatureSpec)
    True
    """

    __slots__ = ()

    @property
    def kind(self) -> Kind:
        """The kind of the list that holds the values."""
        return kind_of(self.dtype)  # type: ignore[attr-defined]

    @property
    def dtype_name(self) -> str:
        """The name of the dtype, as specifications print it."""
        return self.kind.label

    def _identity(self) -> tuple[Any, ...]:
        return tuple((name, _meaning(name, value)) for name, value in arguments_of(self))

    def __eq__(self, other: object) -> bool:
        """Compare the class and the meaning of all fields."""
        if not isinstance(other, FeatureSpec):
            return NotImplemented
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Return a hash that agrees with ``==``."""
        return hash((type(self), self._identity()))

    def __repr__(self) -> str:
        """Return the call that creates an equal specification."""
        texts = []
        for name, value in arguments_of(self):
            text = repr(value.name) if isinstance(value, np.dtype) else repr(value)
            if name == "dtype":
                with contextlib.suppress(TypeError, ValueError):
                    text = repr(kind_of(value).label)
            texts.append(f"{name}={text}")
        return f"{type(self).__name__}({', '.join(texts)})"


def arguments_of(spec: FeatureSpec) -> list[tuple[str, Any]]:
    """Return names and values of the fields, in order, without keys that are the name of the specification."""
    may_lack = () if isinstance(spec, RaggedFeature) else ("value_key", "shape_key")
    return [
        (field.name, value)
        for field in fields(spec)  # type: ignore[arg-type]
        if (value := getattr(spec, field.name)) is not None or field.name not in may_lack
    ]


def _meaning(name: str, value: Any) -> Any:
    """Return a hashable form of `value`, equal for values with the same meaning."""
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
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "nan"
    return value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedLenFeature(FeatureSpec):
    """A feature with the same number of values in every example (rules X1 to X8).

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one example's values; ``[]`` for a single value.
    dtype : dtype
        float32, int64 or string.
    default_value : array-like, optional
        Value for examples without the feature, with as many values as `shape` holds; by default
        such an example is an error.
    value_key : str, optional
        The feature to read, by default the one with the name of this specification; not in TensorFlow.

    Examples
    --------
    >>> FixedLenFeature([2], np.float32, [0, 0])
    FixedLenFeature(shape=[2], dtype='float32', default_value=[0, 0])
    """

    shape: Any
    dtype: Any
    default_value: Any = None
    value_key: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VarLenFeature(FeatureSpec):
    """A feature with any number of values in each example, possibly none (rules V1, V2).

    Parameters
    ----------
    dtype : dtype
        float32, int64 or string.
    value_key : str, optional
        As for :class:`FixedLenFeature`.

    Examples
    --------
    >>> VarLenFeature(bytes)
    VarLenFeature(dtype='string')
    """

    dtype: Any
    value_key: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedLenSequenceFeature(FeatureSpec):
    """A feature of any number of blocks, each of one shape (rules S1 to S5).

    Parameters
    ----------
    shape : sequence of int
        Shape of one block; ``[]`` for a single value.
    dtype : dtype
        float32, int64 or string.
    allow_missing : bool, default False
        Whether a missing feature means no blocks. Must be True for an Example.
    default_value : scalar, optional
        Pads the shorter examples of a batch; 0 or ``b""`` by default.

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
        The int64 feature with the coordinates; a list has one per dimension.
    value_key : str
        The feature with the values.
    dtype : dtype
        float32, int64 or string.
    size : int or list of int
        The dense shape; a list if and only if `index_key` is one. -1 where it is not known, and
        it is the largest index of the batch.
    already_sorted : bool, default False
        Whether the coordinates are known to be in order.

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


@dataclass(frozen=True, slots=True)
class KeyedPartition:
    """A partition that is a feature of its own."""

    key: str

    def __init_subclass__(cls) -> None:
        """Let errors about arguments name the partition."""
        take_over(cls, "__init__")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RaggedFeature(FeatureSpec):
    """A feature of any number of values, divided into rows (rules G1 to G8).

    Parameters
    ----------
    dtype : dtype
        float32, int64 or string.
    value_key : str, optional
        As for :class:`FixedLenFeature`.
    partitions : list or tuple of partitions
        The partitions of the values, outermost first.
    row_splits_dtype : dtype
        dtype of the ``row_splits`` in the result: int32 or int64.
    validate : bool, default False
        Whether to check that values and partitions agree.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for another `dtype` or `row_splits_dtype`, ``BAD_ARGUMENT`` if
        `value_key` is not a string or is empty.
    TypeError
        If another argument is of the wrong type.

    Examples
    --------
    >>> RaggedFeature(float, "v", [RaggedFeature.RowLengths("n")]).partitions
    (RaggedFeature.RowLengths(key='n'),)
    """

    class RowSplits(KeyedPartition):
        """Row ``i`` is ``values[splits[i]:splits[i + 1]]``; `key` is the int64 feature with the splits."""

        __slots__ = ()

    class RowLengths(KeyedPartition):
        """Rows follow each other; `key` is the int64 feature with the length of each."""

        __slots__ = ()

    class RowStarts(KeyedPartition):
        """Each row ends where the next one starts; `key` is the int64 feature with the number of each row's first value."""

        __slots__ = ()

    class RowLimits(KeyedPartition):
        """Each row starts where the previous one ended; `key` is the int64 feature with the number after each row's last value."""

        __slots__ = ()

    class ValueRowIds(KeyedPartition):
        """Each value has the number of its row; `key` is the int64 feature with these numbers, ascending."""

        __slots__ = ()

    @dataclass(frozen=True, slots=True)
    class UniformRowLength:
        """All rows have `length` values."""

        length: int

    dtype: Any
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False

    def __post_init__(self) -> None:
        """Check the arguments, and normalize dtypes and partitions."""
        key = self.value_key
        if key is not None and not (isinstance(key, str) and key):
            raise argument_error(f"value_key must be a non-empty string, not {self.value_key!r}")
        if self.dtype is None or self.row_splits_dtype is None:
            raise TypeError("dtype and row_splits_dtype must be dtypes, not None")
        if not isinstance(self.partitions, list | tuple):
            raise TypeError(f"partitions must be a list or tuple, not {self.partitions!r}")
        for partition in self.partitions:
            if not isinstance(partition, PARTITIONS):
                names = ", ".join(t.__name__ for t in PARTITIONS)
                raise TypeError(f"{partition!r} is not a partition; RaggedFeature has {names}")
        if not isinstance(self.validate, bool):
            raise TypeError(f"validate must be a bool, not {self.validate!r}")
        object.__setattr__(self, "dtype", kind_of(self.dtype).dtype)
        splits_dtype = numpy_dtype(self.row_splits_dtype)
        if splits_dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            detail = f"row_splits_dtype must be int32 or int64, not {splits_dtype.name}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        object.__setattr__(self, "row_splits_dtype", splits_dtype)
        object.__setattr__(self, "partitions", tuple(self.partitions))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RawFeature(FeatureSpec):
    """A byte string in every example that is an array: little-endian numbers, row after row.

    What ``array.tobytes()`` stored, and ``tf.io.decode_raw`` reads. In a feature list each step is such a string, and
    lists are padded with zeros, as for a :class:`FixedLenSequenceFeature`.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one example's array; ``[]`` for a single number. One dimension may be None:
        then results are RaggedTensors.
    dtype : dtype
        Of NumPy's numbers or bools, or of ml_dtypes such as ``"bfloat16"``.
    value_key : str, optional
        As for :class:`FixedLenFeature`.
    shape_key : str, optional
        The int64 feature with each array's shape; then any dimension may be None.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for another `dtype`, or one that is big-endian; ``BAD_ARGUMENT`` for a
        dimension that is negative, or for several that are not known.
    TypeError
        If `dtype` is not a dtype, or `shape` not made of ints.

    Examples
    --------
    >>> digits = encode_examples({"image": [bytes([0, 1, 2])]})
    >>> parse_example(digits, {"image": RawFeature([3], "uint8")})["image"]
    array([[0, 1, 2]], dtype=uint8)
    """

    shape: Any
    dtype: Any
    value_key: str | None = None
    shape_key: str | None = None

    def __post_init__(self) -> None:
        """Check and normalize the arguments."""
        dtype = numpy_dtype(self.dtype)
        is_number = dtype.kind in "biufc" or dtype.name in EXTRA_DTYPES
        if dtype.newbyteorder("<") != dtype or not is_number:
            detail = f"a RawFeature holds little-endian numbers or bools, not {dtype}"
            raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
        shape = (self.shape,) if hasattr(self.shape, "__index__") else tuple(self.shape)
        if shape.count(None) > 1 and self.shape_key is None:
            detail = "only one dimension of a RawFeature may be None, not several as in"
            raise argument_error(f"{detail} {list(shape)}; with a shape_key any may be")
        try:
            shape = tuple(dim if dim is None else operator.index(dim) for dim in shape)
        except TypeError:
            raise TypeError(f"shape must be a list of integers, not {self.shape!r}") from None
        known = [dim for dim in shape if dim is not None]
        if min(known, default=0) < 0:
            raise argument_error(f"a dimension must not be negative, as in {list(shape)}")
        if None in shape and 0 in known:
            raise argument_error(
                f"rows of the shape {known} hold nothing, so they cannot be counted"
            )
        object.__setattr__(self, "dtype", dtype.newbyteorder("="))
        object.__setattr__(self, "shape", shape)

    @property
    def kind(self) -> Kind:
        """The kind of the list that holds the values: strings."""
        return Kind.BYTES

    @property
    def dtype_name(self) -> str:
        """The name of the dtype of the array."""
        return str(self.dtype.name)

    @property
    def varies(self) -> bool:
        """Whether arrays may have several shapes."""
        return None in self.shape or self.shape_key is not None

    @property
    def n_bytes(self) -> int:
        """The length of the byte string; of one that varies, of each row."""
        return int(math.prod([dim for dim in self.shape if dim is not None]) * self.dtype.itemsize)


Partition: TypeAlias = KeyedPartition | RaggedFeature.UniformRowLength
"""One level of a :class:`RaggedFeature`."""

DenseSpec: TypeAlias = FixedLenFeature | FixedLenSequenceFeature | RawFeature
"""The specifications whose results are arrays."""

DType: TypeAlias = str | type[Any] | np.dtype[Any]
Shorthand: TypeAlias = DType | tuple[DType, int | Sequence[int]]
"""A short form of a FixedLenFeature: its dtype, or ``(dtype, shape)``."""

FeatureLike: TypeAlias = FeatureSpec | Shorthand
Features: TypeAlias = Mapping[str, FeatureLike]
"""What a `features` argument may be."""
DenseLike: TypeAlias = DenseSpec | Shorthand

SparseSpec: TypeAlias = VarLenFeature | SparseFeature
"""The specifications whose results are sparse tensors."""

SPECIFICATIONS: tuple[type[FeatureSpec], ...]
SPECIFICATIONS = FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
SPECIFICATIONS += SparseFeature, RaggedFeature, RawFeature
for _specification in SPECIFICATIONS:
    hinted(_specification)
PARTITIONS: tuple[type[Partition], ...]
PARTITIONS = (*KeyedPartition.__subclasses__(), RaggedFeature.UniformRowLength)
