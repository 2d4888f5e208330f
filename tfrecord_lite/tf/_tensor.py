"""Tensors: arrays with ``.numpy()``, printed as TensorFlow does, that compute as NumPy does.

Inside the library, and between the stages of a data set, values are *plain*: arrays, NumPy's
scalars, ``bytes``, and the library's ragged and sparse columns. ``wrap`` turns plain values
into tensors and ``unwrap`` turns tensors into plain values, through dictionaries and tuples,
where a script calls or is called.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.columns import RaggedTensor as RaggedColumn
from tfrecord_lite.columns import SparseTensor as SparseColumn
from tfrecord_lite.tensors.serialize import as_tensor
from tfrecord_lite.tf._dtype import DType, as_dtype
from tfrecord_lite.tf._shape import TensorShape, fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfrecord_lite.arrays import AnyArray


class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, a number or a byte string, as ``tf.Tensor``.

    NumPy's functions and Python's operators accept tensors; operators return tensors.

    Parameters
    ----------
    value : array, NumPy scalar or bytes
        Not copied.

    Examples
    --------
    >>> from tfrecord_lite import tf
    >>> t = tf.constant([1, 2])
    >>> t + 1
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 3], dtype=int32)>
    >>> t.numpy()
    array([1, 2], dtype=int32)
    >>> tf.constant("text").numpy()
    b'text'
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        is_scalar = isinstance(value, np.ndarray) and not value.ndim
        self._value = value[()] if is_scalar else value

    def numpy(self) -> Any:
        """Return the array without copying it; without dimensions, NumPy's scalar or bytes."""
        return self._value

    @property
    def dtype(self) -> DType:
        """The dtype, by TensorFlow's name."""
        return as_dtype("string" if isinstance(self._value, bytes) else self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(np.shape(self._value))

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape, which is always known here.

        Raises
        ------
        ValueError
            If the tensor has another shape.
        """
        wanted = None if shape is None else tuple(shape)
        if wanted is not None and not fits(self.shape, wanted):
            raise ValueError(f"the tensor has the shape {self.shape}, expected {wanted}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the array, for NumPy's functions."""
        is_bytes = isinstance(self._value, bytes)
        array = np.asarray(self._value, object if is_bytes else None)
        return np.array(array, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """Compute as NumPy does; operators are ufuncs too."""
        return wrap(getattr(ufunc, method)(*map(_operand, inputs), **settings))

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError that says where NumPy's methods are."""
        detail = f"'Tensor' object has no attribute {name!r}; .numpy() is the array"
        raise AttributeError(detail, name=name, obj=self)

    def __getitem__(self, key: Any) -> Tensor:
        """Return elements, as an array does."""
        if isinstance(self._value, bytes):
            raise TypeError("a tensor of one string cannot be indexed; .numpy() is the string")
        return Tensor(self._value[unwrap_key(key)])

    def __len__(self) -> int:
        """Return the size of the first dimension."""
        if not self.shape:
            raise TypeError("a tensor without dimensions has no len()")
        return len(self._value)

    def __iter__(self) -> Iterator[Tensor]:
        """Yield the rows."""
        if not self.shape:
            raise TypeError("cannot iterate over a tensor without dimensions")
        return map(Tensor, self._value)

    def __bool__(self) -> bool:
        """Return whether the only element is true."""
        return bool(self._value)

    def __int__(self) -> int:
        """Return the only element."""
        return int(self._value)

    def __float__(self) -> float:
        """Return the only element."""
        return float(self._value)

    def __complex__(self) -> complex:
        """Return the only element."""
        return complex(self._value)

    def __index__(self) -> int:
        """Return the only element."""
        return operator.index(self._value)

    def __format__(self, spec: str) -> str:
        """Format the value."""
        return format(self._value, spec)

    def __str__(self) -> str:
        """Format as TensorFlow does."""
        text = str(self._value)
        text = "\n" + text if "\n" in text else text
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        """Format as TensorFlow does."""
        is_scalar = isinstance(self._value, np.generic)
        text = repr(self._value.item() if is_scalar else self._value)
        text = "\n" + text if "\n" in text else text
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"


def _operand(value: Any) -> Any:
    value = unwrap_key(value)
    if isinstance(value, (bytes, str)):
        return np.array(value.encode() if isinstance(value, str) else value, object)
    return value


def unwrap_key(value: Any) -> Any:
    """Return the arrays of tensors, also in a tuple; return anything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(unwrap_key, value))
    return unwrap(value) if isinstance(value, (Tensor, _Composite)) else value


class _Composite:
    """A ragged or sparse tensor: a column whose attributes and methods return tensors."""

    __slots__ = ("_column",)
    _column: Any

    def __getattr__(self, name: str) -> Any:
        """Return the column's attribute or method, with tensors for arrays."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._column, name)
        return functools.partial(_call, found) if callable(found) else wrap(found)

    @property
    def dtype(self) -> DType:
        """The dtype of the values, by TensorFlow's name."""
        return as_dtype(self._column.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape; None where rows differ in length."""
        return TensorShape(self._column.shape)

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the column."""
        return wrap, (self._column,)


def _call(method: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    settings = {name: unwrap_key(value) for name, value in settings.items()}
    return wrap(method(*map(unwrap_key, arguments), **settings))


class SparseTensor(_Composite):
    """Values and their indices, as ``tf.sparse.SparseTensor``.

    The attributes and methods are those of :class:`tfrecord_lite.SparseTensor` (``indices``,
    ``values``, ``dense_shape``, ...), with tensors for arrays.

    Parameters
    ----------
    indices, values, dense_shape : array-like
    """

    __slots__ = ()

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        parts = (plain_array(part) for part in (indices, values, dense_shape))
        self._column = SparseColumn(*parts)

    def __repr__(self) -> str:
        """Format the three tensors."""
        names = ("indices", "values", "dense_shape")
        return f"SparseTensor({', '.join(f'{name}={getattr(self, name)!s}' for name in names)})"


def _maker(name: str) -> Callable[..., RaggedTensor]:
    """Return RaggedColumn's constructor of that name, as one that accepts tensors."""

    def make(values: Any, *partition: Any, **settings: Any) -> Any:
        values = values if isinstance(values, _Composite) else Tensor(plain_array(values))
        return _call(getattr(RaggedColumn, name), values, *partition, **settings)

    return staticmethod(make)


class RaggedTensor(_Composite):
    """Rows of any length, as ``tf.RaggedTensor``.

    The attributes and methods are those of :class:`tfrecord_lite.RaggedTensor` (``values``,
    ``row_splits``, ``to_tensor()``, ...), with tensors for arrays.
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("use tf.RaggedTensor.from_row_splits, from_row_lengths, ...")

    from_row_splits: ClassVar[Callable[..., RaggedTensor]] = _maker("from_row_splits")
    from_row_lengths: ClassVar[Callable[..., RaggedTensor]] = _maker("from_row_lengths")
    from_row_starts: ClassVar[Callable[..., RaggedTensor]] = _maker("from_row_starts")
    from_row_limits: ClassVar[Callable[..., RaggedTensor]] = _maker("from_row_limits")
    from_value_rowids: ClassVar[Callable[..., RaggedTensor]] = _maker("from_value_rowids")
    from_uniform_row_length: ClassVar[Callable[..., RaggedTensor]] = _maker(
        "from_uniform_row_length"
    )
    from_nested_row_splits: ClassVar[Callable[..., RaggedTensor]] = _maker("from_nested_row_splits")

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists of Python numbers or ``bytes``."""
        return self._column.to_list()  # type: ignore[no-any-return]

    def numpy(self) -> Any:
        """Return the rows as an object array; as a plain array if all have one length."""
        return self._column.numpy()

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return self._column.ragged_rank  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        """Return one or more rows."""
        return wrap(self._column[unwrap_key(key)])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._column)

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows."""
        return map(wrap, self._column)

    def __repr__(self) -> str:
        """Format the rows."""
        return f"<tf.RaggedTensor {self.to_list()}>"


def map_structure(function: Callable[[Any], Any], value: Any) -> Any:
    """Call a function with each leaf of nested dictionaries and tuples; return the same structure."""
    if not isinstance(value, (dict, tuple)) or isinstance(value, TensorShape):
        return function(value)
    if isinstance(value, dict):
        made = {name: map_structure(function, item) for name, item in value.items()}
        return made if type(value) is dict else type(value)(made)
    items = [map_structure(function, item) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _wrap_one(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic, bytes)):
        return Tensor(value)
    if isinstance(value, (SparseColumn, RaggedColumn)):
        out: Any = object.__new__(SparseTensor if isinstance(value, SparseColumn) else RaggedTensor)
        object.__setattr__(out, "_column", value)
        return out
    if isinstance(value, BytesColumn):
        return Tensor(value.to_numpy())
    if isinstance(value, (bool, int, float, str)):
        return Tensor(plain_array(value))
    return value


def wrap(value: Any) -> Any:
    """Turn plain values into tensors, through dictionaries and tuples."""
    return map_structure(_wrap_one, value)


def unwrap(value: Any) -> Any:
    """Turn tensors, and anything that can become one, into plain values."""
    return map_structure(_unwrap_one, value)


def _unwrap_one(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, _Composite):
        return value._column  # noqa: SLF001 - of this module
    if isinstance(value, (SparseColumn, RaggedColumn)):
        return value
    return plain_array(value)


def plain_array(value: Any, dtype: object = None) -> Any:
    """Return the array, scalar or bytes that ``tf.constant`` makes of a value.

    Python's ints become int32, or int64 if one is too large, floats float32, strings bytes.
    With `dtype`, numbers are converted to it if it can hold them.
    """
    if isinstance(value, Tensor):
        array: Any = np.asarray(value)
    else:
        if isinstance(value, (list, tuple)):
            value = _without_tensors(value)
        array = as_tensor(value)[0]
    if dtype is not None:
        array = _as(array, as_dtype(dtype), is_given=hasattr(value, "dtype"))
    return array[()] if isinstance(array, np.ndarray) else array


def _without_tensors(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        items = [_without_tensors(item) for item in value]
        is_arrays = any(isinstance(item, np.ndarray) for item in items)
        return np.stack(items) if is_arrays else items
    return value.numpy() if isinstance(value, Tensor) else value


def _as(array: AnyArray, wanted: DType, *, is_given: bool) -> AnyArray:
    """Convert to `wanted`; Python's own numbers (not `is_given`) only if they keep their values."""
    found = as_dtype(array.dtype)
    if found == wanted:
        return array
    is_safe = wanted.is_floating or wanted.is_complex or found.is_integer or not array.size
    if "string" in {found.name, wanted.name} or not (is_given or is_safe):
        raise TypeError(f"cannot make a {wanted.name} tensor of {found.name} values")
    converted = array.astype(wanted.dtype)
    if wanted.is_integer and not is_given and not np.array_equal(converted, array):
        raise TypeError(f"{wanted.name} cannot hold all of these numbers")
    return converted
