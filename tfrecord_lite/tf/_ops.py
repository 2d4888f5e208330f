"""The operations on tensors that programs about records need; for others there is NumPy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.errors import argument_error
from tfrecord_lite.texts import plural
from tfrecord_lite.tf import _tensor as tensors
from tfrecord_lite.tf._dtype import DType, as_dtype
from tfrecord_lite.tf._tensor import Tensor, plain_array, unwrap, wrap
from tfrecord_lite.tf._unavailable import shape_error

__all__ = [
    "TensorSpec", "cast", "constant", "convert_to_tensor", "ensure_shape", "executing_eagerly",
    "expand_dims", "is_tensor", "numpy_function", "one_hot", "py_function", "reshape", "shape",
    "squeeze", "stack",
]  # fmt: skip


class TensorSpec:
    """The shape and dtype of a tensor, as ``tf.TensorSpec``; None for an unknown size or shape."""

    def __init__(self, shape: Any, dtype: object = "float32", name: str | None = None) -> None:
        self.shape: tensors.TensorShape | None = (
            None if shape is None else tensors.TensorShape(shape)
        )
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
        If a value is not of `dtype`, or there are not as many as `shape` needs.
    InvalidArgumentError
        For values of several types or lengths, values that cannot be in a tensor, and integers
        that int64 cannot hold; integers too large for another dtype wrap around.
    """
    if shape is None:
        return Tensor(plain_array(value, dtype))
    array, sizes = _array(value, dtype), _sizes(shape)
    if any(size < 0 for size in sizes):
        raise argument_error(f"a shape must have sizes of 0 or more, not {sizes}")
    if array.size != 1 and array.size != math.prod(sizes):
        raise TypeError(f"{plural(array.size, 'value')} cannot have the shape {sizes}")
    if array.size == 1:
        return Tensor(np.full(sizes, array.ravel()[0], array.dtype))
    return Tensor(array.reshape(sizes))


def convert_to_tensor(value: Any, dtype: object = None, name: str | None = None) -> Tensor:
    """Make a tensor of any value, as ``tf.convert_to_tensor``; a tensor is returned as it is."""
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype != dtype:
            target = as_dtype(dtype).name
            raise argument_error(f"the tensor is {value.dtype.name}, not {target}; use tf.cast")
        return value
    return constant(value, dtype)


def is_tensor(x: object) -> bool:
    """Return whether a value is a tensor, sparse and ragged ones included."""
    return isinstance(x, (Tensor, tensors.SparseTensor, tensors.RaggedTensor))


def cast(x: Any, dtype: object, name: str | None = None) -> Any:
    """Convert numbers, as ``tf.cast``; fractions are cut off. Also for sparse and ragged tensors."""
    target = as_dtype(dtype)
    if isinstance(x, tensors.SparseTensor):
        return tensors.SparseTensor(x.indices, cast(x.values, target), x.dense_shape)
    if isinstance(x, tensors.RaggedTensor):
        values = cast(x.flat_values, target)
        return tensors.RaggedTensor.from_nested_row_splits(values, x.nested_row_splits)
    array = _array(x)
    if (array.dtype.kind == "O") != (target.name == "string"):
        raise NotImplementedError(f"cannot cast {as_dtype(array.dtype).name} to {target.name}")
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        return Tensor(array.astype(target.dtype))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor in another shape, as ``tf.reshape``; -1 stands for the remaining size."""
    array, sizes = _array(tensor), _sizes(shape)
    if min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        raise argument_error(f"a shape has sizes of 0 or more, and at most one -1; not {sizes}")
    known = math.prod(size for size in sizes if size != -1)
    if known == 0 and array.size == 0:
        sizes = [1 if size == -1 else size for size in sizes]
    elif array.size != known if -1 not in sizes else not known or array.size % known:
        elements = plural(array.size, "element")
        raise shape_error(f"a tensor of {elements} cannot have the shape {sizes}")
    return Tensor(array.reshape(sizes))


def shape(input: Any, out_type: object = "int32", name: str | None = None) -> Tensor:  # noqa: A002
    """Return the shape as a tensor, as ``tf.shape``."""
    target = as_dtype(out_type)
    if target.name not in ("int32", "int64"):
        raise argument_error(f"out_type must be int32 or int64, not {target.name}")
    return Tensor(np.array(_array(input).shape, target.dtype))


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor; InvalidArgumentError unless it has the shape, in which None is any size."""
    tensor = convert_to_tensor(x)
    try:
        tensor.set_shape(shape)
    except ValueError as error:
        raise shape_error(str(error)) from None
    return tensor


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Remove dimensions of size 1, as ``tf.squeeze``; InvalidArgumentError for any other `axis`."""
    array = _array(input)
    listed = [] if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    axes = {_axis(dim, array.ndim) for dim in listed}
    for dim in axes:
        if array.shape[dim] != 1:
            raise argument_error(f"dimension {dim} of the shape {array.shape} is not 1")
    return Tensor(array.squeeze(tuple(axes) or None))


def expand_dims(input: Any, axis: int, name: str | None = None) -> Tensor:  # noqa: A002
    """Add a dimension of size 1, as ``tf.expand_dims``."""
    array = _array(input)
    return Tensor(np.expand_dims(array, _axis(axis, array.ndim + 1)))


def stack(values: Sequence[Any], axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors of one shape along a new dimension, as ``tf.stack``.

    Values that are not tensors take the dtype of the first tensor.

    Raises
    ------
    InvalidArgumentError
        For tensors of several dtypes or shapes, or if `axis` is out of range.
    TypeError
        If a value cannot have the dtype.
    """
    if not isinstance(values, (list, tuple)):
        whole = convert_to_tensor(values)
        if not whole.ndim:
            return whole
        values = list(whole)
    dtypes = {value.dtype.name: value.dtype for value in values if isinstance(value, Tensor)}
    if len(dtypes) > 1:
        raise argument_error(f"tensors of the dtypes {', '.join(dtypes)} cannot be stacked")
    dtype = next(iter(dtypes.values()), None)
    if dtype is None and values:
        value_dtypes = [as_dtype(_array(value).dtype) for value in values]
        dtype = value_dtypes[0]
        if dtype.is_integer:
            dtype = max(value_dtypes, key=lambda of_value: of_value.size)
            if any(of_value.is_floating for of_value in value_dtypes):
                dtype = as_dtype("float32")
    arrays = [_array(value, dtype) for value in values]
    if not arrays:
        return Tensor(np.empty(0, np.float32))
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise shape_error(f"tensors of the shapes {', '.join(map(str, shapes))} cannot be stacked")
    return Tensor(np.stack(arrays, _axis(axis, arrays[0].ndim + 1)))


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: object = None,
    name: str | None = None,
) -> Tensor:
    """Make rows of zeros with a one at each index that is in range, as ``tf.one_hot``."""
    array, n_classes = _array(indices), int(depth)
    if (array.dtype.kind not in "iu" and array.size) or n_classes < 0:
        raise argument_error("one_hot takes integers, and a depth of 0 or more")
    sample = next((value for value in (on_value, off_value) if value is not None), np.float32(0))
    target = as_dtype(_array(sample).dtype if dtype is None else dtype)
    on = _array(1 if on_value is None else on_value, target)
    off = _array(0 if off_value is None else off_value, target)
    hot = array[..., None] == np.arange(n_classes)
    last = -1 if axis is None else axis
    return Tensor(np.moveaxis(np.where(hot, on, off), -1, _axis(last, hot.ndim)))


def executing_eagerly() -> bool:
    """Return True, as everything runs eagerly."""
    return True


def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a function with tensors, as ``tf.py_function``, and convert what it returns.

    ``Dataset.map`` calls Python functions directly, so this is never needed there.
    """
    return _typed(func(*(wrap(unwrap(item)) for item in inp)), Tout)


def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a function with arrays, as ``tf.numpy_function``, and convert what it returns."""
    return _typed(func(*map(unwrap, inp)), Tout)


def _typed(result: Any, dtypes: DType | Sequence[DType]) -> Any:
    if isinstance(dtypes, (list, tuple)):
        if not dtypes:
            return []
        return [constant(item, dtype) for item, dtype in zip(result, dtypes, strict=True)]
    return constant(result, dtypes)


def _array(value: Any, dtype: object = None) -> AnyArray:
    return tensors.as_array(plain_array(value, dtype))


def _sizes(shape: Any) -> list[int]:
    """Return the sizes of a shape, which may be a tensor, a number, or a sequence of these."""
    if isinstance(shape, (list, tuple)):
        if all(type(size) is int for size in shape):
            return list(shape)
        shape = [int(size) if isinstance(size, Tensor) else size for size in shape]
    array = np.asarray(plain_array(shape)) if np.size(shape) else np.zeros(0, int)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise argument_error(f"a shape must be made of integers, not {shape!r:.80}")
    return [int(size) for size in array.ravel()]


def _axis(axis: Any, ndim: int) -> int:
    """Return the number of a dimension, counted from 0."""
    plain = axis.numpy() if isinstance(axis, Tensor) else axis
    if isinstance(plain, np.ndarray) and plain.size == 1:
        plain = plain.item()
    if isinstance(plain, float) or not hasattr(plain, "__index__"):
        raise TypeError(f"an axis must be an integer, not {plain!r:.80}")
    if not -ndim <= int(plain) < ndim:
        raise argument_error(f"axis {int(plain)} is out of range, expected {-ndim} to {ndim - 1}")
    return int(plain) % ndim
