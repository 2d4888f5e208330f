"""SparseTensor: values and their coordinates in an array that is mostly empty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, first_true
from tfrecord_lite.columns.bytes import BytesColumn, FlatValues, as_array, fill_value
from tfrecord_lite.errors import argument_error
from tfrecord_lite.texts import repr_html, value_text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparseTensor:
    """Values and their coordinates, with TensorFlow's names and layout.

    Parameters
    ----------
    indices : int64, shape (n_values, rank)
        The coordinates of each value.
    values : any dtype, shape (n_values,), or BytesColumn
        The values.
    dense_shape : int64, shape (rank,)
        Shape of the dense array. All three are copied only if they are not arrays of these dtypes.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the three shapes do not fit together, or a dimension is negative.
        Only :meth:`to_dense` checks that indices are within `dense_shape`.
    TypeError
        If the indices or the shape are not integers.

    Examples
    --------
    >>> st = SparseTensor([[0, 1], [2, 0]], [7, 8], [3, 2])
    >>> st
    SparseTensor(indices=[[0, 1], [2, 0]], values=[7, 8], dense_shape=[3, 2])
    >>> st.to_dense().tolist()
    [[0, 7], [0, 0], [8, 0]]
    """

    indices: Int64Array
    values: FlatValues
    dense_shape: Int64Array

    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Makes array == tensor call our __eq__ instead of comparing element by element.
    __array_ufunc__: ClassVar[None] = None

    if TYPE_CHECKING:

        def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None: ...

    def __post_init__(self) -> None:
        """Convert all three to arrays, and check that they fit together."""
        indices = _int64("indices", self.indices)
        shape = _int64("dense_shape", self.dense_shape)
        held = self.values
        values = held if isinstance(held, BytesColumn) else np.asarray(held)
        if indices.ndim != 2 or len(values.shape) != 1 or shape.ndim != 1:
            actual = f"{indices.shape}, {values.shape}, {shape.shape}"
            shapes = "indices, values, dense_shape must be (n, rank), (n,), (rank,)"
            raise argument_error(f"{shapes}, not {actual}")
        if indices.shape != (expected := (len(values), shape.size)):
            raise argument_error(f"indices must have shape {expected}, not {indices.shape}")
        if shape.size and shape.min() < 0:
            raise argument_error(f"dense_shape must not be negative, but has {shape.min()}")
        for name, value in (("indices", indices), ("values", values), ("dense_shape", shape)):
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dense shape, as a tuple of int."""
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
            Fills the places without a value: 0, ``b""`` or NaT by default.
        validate_indices : bool, default True
            Whether to reject indices that are repeated or out of order. If not, the last of
            several values at one place is kept.

        Returns
        -------
        dtype, shape (*dense_shape,)
            Owns its memory.

        Raises
        ------
        InvalidArgumentError
            ``BAD_ARGUMENT`` for an index outside `dense_shape`, with its number; for repeated
            or unordered indices; for a shape larger than any array.
        TypeError
            If `default_value` is not of the type of the values.

        Examples
        --------
        >>> SparseTensor([[0, 1], [1, 0]], [7, 9], [2, 2]).to_dense(default_value=-1).tolist()
        [[-1, 7], [9, -1]]
        """
        shape = self.shape
        if math.prod(max(n, 1) for n in shape) > 2**60:
            raise argument_error(f"no array can have the shape {list(shape)}")
        fill = fill_value(default_value, self.dtype, ())
        outside = ((self.indices < 0) | (self.indices >= self.dense_shape)).any(axis=1)
        if (i := first_true(outside)) is not None:
            where = self.indices[i].tolist()
            raise argument_error(f"index {where} of value {i} is outside the shape {list(shape)}")
        flat = np.zeros(len(self.indices), np.int64)  # the place of each value in C order
        for i, size in enumerate(shape):
            flat = flat * size + self.indices[:, i]
        wrong = np.flatnonzero(flat[1:] <= flat[:-1])
        if validate_indices and wrong.size:
            i = int(wrong[0]) + 1
            fault = "repeated" if flat[i] == flat[i - 1] else "out of order"
            detail = f"index {self.indices[i].tolist()} of value {i} is {fault}; "
            raise argument_error(f"{detail}validate_indices=False keeps the last value")
        dense = np.full(shape, fill, self.dtype)
        dense.reshape(-1)[flat] = as_array(self.values)
        return dense

    def __eq__(self, other: object) -> bool:
        """Compare indices, values and shape; their order counts."""
        if not isinstance(other, SparseTensor):
            return NotImplemented
        if self.shape != other.shape or not np.array_equal(self.indices, other.indices):
            return False
        return np.array_equal(as_array(self.values), as_array(other.values))

    def __repr__(self) -> str:
        """Show the three arrays, without the middle of long ones."""
        parts = (f"{name}={_text(getattr(self, name))}" for name in self.__slots__)
        return f"SparseTensor({', '.join(parts)})"

    _repr_html_ = repr_html


def _int64(name: str, values: Any) -> Int64Array:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and (array.size or isinstance(values, np.ndarray)):
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return array.astype(np.int64, copy=False)


def _text(array: FlatValues) -> str:
    if isinstance(array, BytesColumn):
        return repr(array)
    strings: Any = {"object": value_text}
    text = np.array2string(
        array, separator=", ", threshold=40, edgeitems=3, max_line_width=10**6, formatter=strings
    )
    return " ".join(text.split())
