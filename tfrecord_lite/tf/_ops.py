"""The operations on tensors that programs about records need; for others there is NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.tf._dtype import as_dtype
from tfrecord_lite.tf._shape import TensorShape
from tfrecord_lite.tf._tensor import RaggedTensor, SparseTensor, Tensor, plain_array, unwrap, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfrecord_lite.arrays import AnyArray
    from tfrecord_lite.tf._dtype import DType


class TensorSpec:
    """The shape and dtype of a tensor, as ``tf.TensorSpec``, for ``from_generator``.

    Parameters
    ----------
    shape : sequence of int or None, or None
        None for an unknown size, or an unknown shape.
    dtype : dtype, optional
    name : str, optional
        Kept, but not used.
    """

    def __init__(self, shape: Any, dtype: object = "float32", name: str | None = None) -> None:
        self.shape: TensorShape | None = None if shape is None else TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        """Format as TensorFlow does."""
        shape = "<unknown>" if self.shape is None else self.shape
        return f"TensorSpec(shape={shape}, dtype={self.dtype!r}, name={self.name!r})"


def constant(value: Any, dtype: object = None, shape: Any = None, name: str = "Const") -> Tensor:
    """Make a tensor, as ``tf.constant``: ints become int32, floats float32, strings bytes.

    Raises
    ------
    TypeError
        If a value is not of `dtype`, or cannot be in a tensor.
    InvalidArgumentError
        For values of several types or lengths, or out of the dtype's range.
    """
    array = plain_array(value, dtype)
    if shape is None:
        return Tensor(array)
    array = np.asarray(array, object) if isinstance(array, bytes) else np.asarray(array)
    is_one = array.size == 1
    return Tensor(np.full(shape, array.ravel()[0]) if is_one else array.reshape(shape))


def convert_to_tensor(value: Any, dtype: object = None, name: str | None = None) -> Tensor:
    """Make a tensor of any value, as ``tf.convert_to_tensor``; a tensor is returned as it is."""
    if isinstance(value, Tensor) and (dtype is None or value.dtype == dtype):
        return value
    return constant(value, dtype)


def is_tensor(x: object) -> bool:
    """Return whether a value is a tensor, sparse and ragged ones included."""
    return isinstance(x, (Tensor, SparseTensor, RaggedTensor))


def cast(x: Any, dtype: object, name: str | None = None) -> Any:
    """Convert numbers, as ``tf.cast``; fractions are cut off. Also for sparse and ragged tensors."""
    wanted = as_dtype(dtype)
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, wanted), x.dense_shape)
    if isinstance(x, RaggedTensor):
        return RaggedTensor.from_nested_row_splits(cast(x.flat_values, wanted), x.nested_row_splits)
    array = _array(x)
    if (array.dtype.kind == "O") != (wanted.name == "string"):
        raise TypeError(f"cannot cast {as_dtype(array.dtype).name} to {wanted.name}")
    return Tensor(array.astype(wanted.dtype))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor in another shape, as ``tf.reshape``; -1 stands for the remaining size."""
    return Tensor(_array(tensor).reshape(_sizes(shape)))


def shape(input: Any, out_type: object = "int32", name: str | None = None) -> Tensor:  # noqa: A002
    """Return the shape as a tensor, as ``tf.shape``."""
    return Tensor(np.array(_array(input).shape, as_dtype(out_type).dtype))


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor, or raise ValueError unless it has the shape, in which None is any size."""
    tensor = convert_to_tensor(x)
    tensor.set_shape(shape)
    return tensor


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Remove dimensions of size 1, as ``tf.squeeze``."""
    return Tensor(_array(input).squeeze(tuple(axis) if isinstance(axis, list) else axis))


def expand_dims(input: Any, axis: int, name: str | None = None) -> Tensor:  # noqa: A002
    """Add a dimension of size 1, as ``tf.expand_dims``."""
    return Tensor(np.expand_dims(_array(input), axis))


def stack(values: Sequence[Any], axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors of one shape along a new dimension, as ``tf.stack``."""
    return Tensor(np.stack([_array(value) for value in values], axis))


def executing_eagerly() -> bool:
    """Return True, as everything runs eagerly."""
    return True


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a function with tensors, as ``tf.py_function``, and convert what it returns.

    ``Dataset.map`` calls Python functions directly, so this is never needed there.
    """
    return _typed(func(*(wrap(unwrap(item)) for item in inp)), Tout)


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803 - TensorFlow's name
    name: Any = None,
) -> Any:
    """Call a function with arrays, as ``tf.numpy_function``, and convert what it returns."""
    return _typed(func(*map(unwrap, inp)), Tout)


def _typed(result: Any, wanted: DType | Sequence[DType]) -> Any:
    if isinstance(wanted, (list, tuple)):
        if not wanted:
            return []
        return [constant(item, dtype) for item, dtype in zip(result, wanted, strict=True)]
    return constant(result, wanted)


def _array(value: Any) -> AnyArray:
    plain = plain_array(value)
    return np.asarray(plain, object if isinstance(plain, bytes) else None)


def _sizes(shape: Any) -> list[int]:
    """Return the sizes of a shape, which may be a tensor, a number, or a sequence of these."""
    return [int(size) for size in (shape if np.ndim(shape) else [shape])]
