"""SparseTensor: values and where they stand in an array that is mostly empty.

::

    indices      [[0, 1], [2, 0]]     int64, a row a value, a column a dimension
    values       [7, 8]
    dense_shape  [3, 2]

    dense        0 7
                 0 0
                 8 0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.columns.bytes import BytesColumn
from tfrecord_lite.columns.dense import fill_value
from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from tfrecord_lite.arrays import AnyArray, Int64Array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparseTensor:
    """Values and their coordinates, with TensorFlow's names and layout.

    Parameters
    ----------
    indices : int64, shape (n_values, rank)
        Where each value stands.
    values : any dtype, shape (n_values,), or BytesColumn
        What stands there.
    dense_shape : int64, shape (rank,)
        Shape of the array it would be. The three are held, and copied only if they are
        not yet arrays of these dtypes.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` for shapes that do not fit together and a negative dimension.
        Whether indices are within `dense_shape` is not looked at before it matters.
    TypeError
        For indices or a shape that are not integers.

    Examples
    --------
    >>> st = SparseTensor([[0, 1], [2, 0]], [7, 8], [3, 2])
    >>> st
    SparseTensor(indices=[[0, 1], [2, 0]], values=[7, 8], dense_shape=[3, 2])
    >>> st.to_dense().tolist()
    [[0, 7], [0, 0], [8, 0]]
    """

    indices: Int64Array
    values: AnyArray | BytesColumn
    dense_shape: Int64Array

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Arrays leave the comparison to us, instead of comparing each element with a whole column.
    __array_ufunc__: ClassVar[None] = None

    if TYPE_CHECKING:

        def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None: ...

    def __post_init__(self) -> None:
        """Make arrays of the three, and check that they fit together."""
        indices = _int64("indices", self.indices)
        shape = _int64("dense_shape", self.dense_shape)
        values = self.values
        if not isinstance(values, BytesColumn):
            values = np.asarray(values)
        if indices.ndim != 2 or len(values.shape) != 1 or shape.ndim != 1:
            found = f"{indices.shape}, {values.shape}, {shape.shape}"
            _refuse(f"indices, values, dense_shape must be (n, rank), (n,), (rank,), not {found}")
        if indices.shape != (len(values), shape.size):
            _refuse(
                f"indices of shape {indices.shape} for {len(values)} values of rank {shape.size}"
            )
        if shape.size and shape.min() < 0:
            _refuse(f"a dimension of dense_shape is {shape.min()}")
        for name, value in (("indices", indices), ("values", values), ("dense_shape", shape)):
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dense shape, as NumPy has it."""
        return tuple(self.dense_shape.tolist())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values; objects for byte strings."""
        return self.values.dtype

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.dense_shape.size

    def to_dense(self, default_value: Any = None, *, validate_indices: bool = True) -> AnyArray:
        """Return the whole array.

        Parameters
        ----------
        default_value : scalar, optional
            What stands where no value is: 0 or ``b""`` by default.
        validate_indices : bool, default True
            Whether to refuse indices that are repeated or out of order. Without it, the
            last of several values at one place stays.

        Returns
        -------
        dtype, shape (*dense_shape,)
            Owns its memory: all of it, however sparse the values.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for an index outside of `dense_shape`, with its number; for
            repeated or unordered indices; for a shape larger than any array.
        TypeError
            For a `default_value` of another kind than the values.
        """
        shape = self.shape
        if math.prod(max(n, 1) for n in shape) > 2**60:
            _refuse(f"no array is as large as {list(shape)}")
        fill = fill_value(default_value, self.dtype, ())
        self._check_range()
        flat = np.zeros(len(self.indices), np.int64)
        for i, size in enumerate(shape):
            flat = flat * size + self.indices[:, i]
        if validate_indices:
            self._check_order(flat)
        dense = np.full(shape, fill, self.dtype)
        values = self.values.to_numpy() if isinstance(self.values, BytesColumn) else self.values
        dense.reshape(-1)[flat] = values
        return dense

    def _check_range(self) -> None:
        """Refuse an index outside of the shape."""
        outside = ((self.indices < 0) | (self.indices >= self.dense_shape)).any(axis=1)
        if outside.any():
            i = int(outside.argmax())
            where = self.indices[i].tolist()
            _refuse(f"index {where} of value {i} is outside of the shape {list(self.shape)}")

    def _check_order(self, flat: Int64Array) -> None:
        """Refuse indices that do not rise."""
        wrong = np.flatnonzero(flat[1:] <= flat[:-1])
        if wrong.size:
            i = int(wrong[0]) + 1
            how = "repeated" if flat[i] == flat[i - 1] else "out of order"
            _refuse(
                f"index {self.indices[i].tolist()} of value {i} is {how}; "
                "validate_indices=False lets the last value stay"
            )

    def __eq__(self, other: object) -> bool:
        """Compare indices, values and shape, in the order they are kept."""
        if not isinstance(other, SparseTensor):
            return NotImplemented
        return (
            np.array_equal(self.dense_shape, other.dense_shape)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(_objects(self.values), _objects(other.values))
        )

    def __repr__(self) -> str:
        """Show the three arrays, the middle of long ones left out."""
        parts = (f"{name}={_text(getattr(self, name))}" for name in self.__slots__)
        return f"SparseTensor({', '.join(parts)})"


def _refuse(detail: str) -> None:
    raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)


def _int64(name: str, given: Any) -> Int64Array:
    """Return integers as an int64 array, without a copy if they are one."""
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and (array.size or isinstance(given, np.ndarray)):
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return array.astype(np.int64, copy=False)


def _objects(values: AnyArray | BytesColumn) -> AnyArray:
    return values.to_numpy() if isinstance(values, BytesColumn) else values


def _text(array: AnyArray | BytesColumn) -> str:
    if isinstance(array, BytesColumn):
        return repr(array)
    text = np.array2string(array, separator=", ", threshold=40, edgeitems=3, max_line_width=10**6)
    return " ".join(text.split())
