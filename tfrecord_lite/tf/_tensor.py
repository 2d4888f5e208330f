"""Tensors: arrays with ``.numpy()``, printed as TensorFlow does, that compute as NumPy does.

Inside the library, and between the stages of a data set, values are *plain*: arrays, NumPy's
scalars, ``bytes``, and the library's ragged and sparse columns. ``wrap`` turns plain values
into tensors and ``unwrap`` turns tensors into plain values, through dictionaries and tuples,
where a script calls or is called.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.columns import RaggedTensor as RaggedColumn
from tfrecord_lite.columns import SparseTensor as SparseColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.tensors.serialize import as_tensor
from tfrecord_lite.tensors.strings import byte_strings, flatten
from tfrecord_lite.tf._dtype import DType, as_dtype
from tfrecord_lite.tf._unavailable import shape_error, unsupported


class TensorShape(tuple[int | None, ...]):
    """A shape, as ``tf.TensorShape``: a tuple of sizes, None where unknown."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self)

    def as_list(self) -> list[int | None]:
        """Return the sizes."""
        return list(self)

    def __eq__(self, other: object) -> bool:
        """Compare with any tuple or list."""
        return isinstance(other, (tuple, list)) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        """Compare with any tuple or list."""
        return not self == other

    def __hash__(self) -> int:
        """Hash as a tuple."""
        return tuple.__hash__(self)

    def __str__(self) -> str:
        """Format as a tuple."""
        return tuple.__repr__(self)

    def __repr__(self) -> str:
        """Format as TensorFlow does."""
        return f"TensorShape({list(self)})"


def fits(shape: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Return whether a shape equals the wanted one, in which None is any size."""
    if len(shape) != len(expected):
        return False
    return all(size in (have, None) for have, size in zip(shape, expected, strict=True))


# --- Python's operators, with TensorFlow's rules: both sides have one dtype. An operand that is not a tensor takes
# the dtype of the other. Integers wrap around, and division by zero is an error for integers alone.

_Method: TypeAlias = Callable[..., Any]


def _true_divide(x: AnyArray, y: AnyArray) -> Any:
    """Divide; integers of up to 16 bits become float32, larger ones float64."""
    if x.dtype.kind in "iu":
        target = np.float32 if x.itemsize <= 2 else np.float64
        return np.true_divide(x.astype(target), y.astype(target))
    return np.true_divide(x, y)


def _floor_divide(x: AnyArray, y: AnyArray) -> Any:
    if x.dtype.kind not in "iu":
        return np.floor(np.true_divide(x, y))
    _check_divisor(x, y)
    return np.floor_divide(x, y)


def _remainder(x: AnyArray, y: AnyArray) -> Any:
    if x.dtype.kind in "iu":
        _check_divisor(x, y)
    return np.remainder(x, y)


def _check_divisor(x: AnyArray, y: AnyArray) -> None:
    if x.size and not np.all(y):
        raise argument_error("division of an integer by zero")


def _power(x: AnyArray, y: AnyArray) -> Any:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise argument_error("an integer cannot be raised to a negative power; use floats")
    return np.power(x, y)


def _operator(symbol: str, compute: Callable[..., Any], kinds: str) -> Any:
    """Return the method of an operator for dtypes of these kinds: NumPy's letters, O for strings."""

    def method(self: Any, *others: object) -> Any:
        try:
            operands = [self, *map(self._operand, others)]
        except TypeError as error:
            if symbol == "+":  # the one that reports so
                raise argument_error(f"the operands of + have different dtypes: {error}") from None
            raise
        arrays: list[AnyArray] = [operand._array() for operand in operands]  # noqa: SLF001 - of tensors
        dtype = self.dtype
        if arrays[0].dtype.kind not in kinds and not (dtype.is_floating and "f" in kinds):
            detail = f"{symbol} is not for tensors of dtype {dtype.name}"
            raise TypeError(detail) if symbol == "/" else unsupported(detail)
        if len({array.dtype for array in arrays}) > 1:
            names = " and ".join(operand.dtype.name for operand in operands)
            start = f"the operands of {symbol} have different dtypes"
            raise argument_error(f"{start}, {names}; use tf.cast")
        try:
            with np.errstate(all="ignore"):
                return Tensor(compute(*arrays))
        except ValueError as error:
            if isinstance(error, InvalidArgumentError):
                raise
            shapes = " and ".join(str(array.shape) for array in arrays)
            start = f"the operands of {symbol} have the incompatible shapes"
            raise shape_error(f"{start} {shapes}") from None

    return method


def _reflected(method: _Method) -> Any:
    return lambda self, other: method(self._operand(other), self)


def _equality(method: _Method, *, differs: bool) -> Any:
    """Make == or != of a comparison: nothing equals None, nor a tensor of another shape."""

    def compare(self: Any, other: object) -> Any:
        if other is None:
            return differs
        try:
            return method(self, other)
        except InvalidArgumentError as error:
            if error.reason is not Reason.BAD_SHAPE:
                raise
            return Tensor(np.bool_(differs))

    return compare


class Tensor:  # noqa: PLW1641 - as arrays, whose elements == compares
    """An array, a number or a byte string, as ``tf.Tensor``.

    Python's operators return tensors, and accept others of the same dtype and anything that can
    become one. NumPy's functions accept tensors and return arrays.

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
    __array_priority__ = 100
    """Higher than the priority of arrays, whose operators then leave it to these."""

    __add__: ClassVar[_Method] = _operator("+", np.add, "iufcO")
    __sub__: ClassVar[_Method] = _operator("-", np.subtract, "iufc")
    __mul__: ClassVar[_Method] = _operator("*", np.multiply, "iufcb")
    __truediv__: ClassVar[_Method] = _operator("/", _true_divide, "iufc")
    __floordiv__: ClassVar[_Method] = _operator("//", _floor_divide, "iuf")
    __mod__: ClassVar[_Method] = _operator("%", _remainder, "iuf")
    __pow__: ClassVar[_Method] = _operator("**", _power, "iufc")
    __and__: ClassVar[_Method] = _operator("&", np.bitwise_and, "iub")
    __or__: ClassVar[_Method] = _operator("|", np.bitwise_or, "iub")
    __xor__: ClassVar[_Method] = _operator("^", np.bitwise_xor, "iub")
    __radd__: ClassVar[_Method] = _reflected(__add__)
    __rsub__: ClassVar[_Method] = _reflected(__sub__)
    __rmul__: ClassVar[_Method] = _reflected(__mul__)
    __rtruediv__: ClassVar[_Method] = _reflected(__truediv__)
    __rfloordiv__: ClassVar[_Method] = _reflected(__floordiv__)
    __rmod__: ClassVar[_Method] = _reflected(__mod__)
    __rpow__: ClassVar[_Method] = _reflected(__pow__)
    __rand__: ClassVar[_Method] = _reflected(__and__)
    __ror__: ClassVar[_Method] = _reflected(__or__)
    __rxor__: ClassVar[_Method] = _reflected(__xor__)
    __lt__: ClassVar[_Method] = _operator("<", np.less, "iuf")
    __le__: ClassVar[_Method] = _operator("<=", np.less_equal, "iuf")
    __gt__: ClassVar[_Method] = _operator(">", np.greater, "iuf")
    __ge__: ClassVar[_Method] = _operator(">=", np.greater_equal, "iuf")
    __eq__: ClassVar[_Method] = _equality(_operator("==", np.equal, "iufcbO"), differs=False)
    __ne__: ClassVar[_Method] = _equality(_operator("!=", np.not_equal, "iufcbO"), differs=True)
    __neg__: ClassVar[_Method] = _operator("-", np.negative, "ifc")
    __abs__: ClassVar[_Method] = _operator("abs", np.absolute, "ifc")
    __invert__: ClassVar[_Method] = _operator("~", np.invert, "iub")

    def __init__(self, value: Any) -> None:
        is_scalar = isinstance(value, np.ndarray) and not value.ndim
        self._value = value[()] if is_scalar else value

    def numpy(self) -> Any:
        """Return the array without copying it; without dimensions, NumPy's scalar or bytes."""
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the value."""
        return Tensor, (self._value,)

    @property
    def dtype(self) -> DType:
        """The dtype, by TensorFlow's name."""
        return as_dtype("string" if isinstance(self._value, bytes) else self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(np.shape(self._value))

    def set_shape(self, shape: Any) -> None:
        """Raise ValueError if the tensor, whose shape is always known here, has another one."""
        if shape is not None and not fits(self.shape, tuple(shape)):
            raise ValueError(f"the tensor has the shape {self.shape}, expected {tuple(shape)}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the array, for NumPy's functions."""
        return np.array(self._array(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        """Hand the array itself to another library, as ``torch.as_tensor`` asks for it."""
        return np.asarray(self._array()).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where the array is: in main memory."""
        return np.asarray(self._array()).__dlpack_device__()

    def _operand(self, value: Any) -> Tensor:
        """Return what an operator shall combine with this tensor: a value becomes one of its dtype."""
        if isinstance(value, Tensor):
            return value
        dtype = self._array().dtype
        if _is_plain_number(value, dtype):
            with contextlib.suppress(OverflowError):  # larger integers wrap around
                return Tensor(dtype.type(value))
        is_text = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "OSUT"
        target = None if is_text and self.dtype.name == "string" else self.dtype
        return Tensor(plain_array(value, target))

    def _array(self) -> AnyArray:
        return as_array(self._value)

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError that says where NumPy's methods are."""
        detail = f"'Tensor' object has no attribute {name!r}; .numpy() is the array"
        raise AttributeError(detail, name=name, obj=self)

    def __getitem__(self, key: Any) -> Tensor:
        """Return elements, as an array does."""
        array = self._array()
        if not array.ndim and key is not Ellipsis:
            detail = "a tensor without dimensions cannot be indexed; .numpy() is its value"
            raise argument_error(detail)
        if isinstance(key, (str, bytes, float)):
            raise TypeError(f"an index must be an integer, slice, ..., None or tensor, not {key!r}")
        try:
            return Tensor(array[key if type(key) is int else unwrap_key(key)])
        except (IndexError, ValueError) as error:
            raise argument_error(f"for a tensor of shape {self.shape}: {error}") from None

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
        """Return whether the only element is true; False without elements."""
        return bool(np.size(self._value)) and bool(self._value)

    def __int__(self) -> int:
        """Return the value of a tensor without dimensions."""
        return int(self._scalar())

    def __float__(self) -> float:
        """Return the value of a tensor without dimensions."""
        return float(self._scalar())

    def _scalar(self) -> Any:
        if self.shape:
            raise TypeError("only a tensor without dimensions is a number")
        return self._value

    def __index__(self) -> int:
        """Return the only element."""
        return operator.index(self._value)

    def __format__(self, spec: str) -> str:
        """Format the value."""
        return format(self._value, spec)

    def __str__(self) -> str:
        """Format as TensorFlow does."""
        text = _own_lines(str(self._value))
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        """Format as TensorFlow does."""
        value = self._value.item() if isinstance(self._value, np.generic) else self._value
        text = _own_lines(repr(value))
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"


def as_array(plain: Any) -> AnyArray:
    """Return a plain value as an array."""
    return np.asarray(plain, object if isinstance(plain, bytes) else None)


def _own_lines(text: str) -> str:
    return "\n" + text if "\n" in text else text


_FLOAT32_MAX = 3e38


def _is_plain_number(value: Any, dtype: np.dtype[Any]) -> bool:
    if dtype.kind in "iu":
        return type(value) is int
    is_wide_float = dtype.kind == "f" and dtype.itemsize >= 4
    return is_wide_float and type(value) in (int, float) and abs(value) < _FLOAT32_MAX


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
        attribute = getattr(self._column, name)
        return functools.partial(_call, attribute) if callable(attribute) else wrap(attribute)

    @property
    def dtype(self) -> DType:
        """The dtype of the values, by TensorFlow's name."""
        return as_dtype(self._column.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape; None where rows differ in length."""
        return TensorShape(self._column.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the column."""
        return wrap, (self._column,)


def _call(method: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    settings = {name: unwrap_key(value) for name, value in settings.items()}
    return wrap(method(*map(unwrap_key, arguments), **settings))


class SparseTensor(_Composite):
    """Values and their indices, as ``tf.sparse.SparseTensor``.

    The attributes and methods are as in :class:`tfrecord_lite.SparseTensor` (``indices``,
    ``values``, ``dense_shape``, ...), with tensors for arrays.

    Parameters
    ----------
    indices, values, dense_shape : array-like
    """

    __slots__ = ()

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._column = SparseColumn(*(plain_array(part) for part in (indices, values, dense_shape)))

    def __repr__(self) -> str:
        """Format the three tensors."""
        names = ("indices", "values", "dense_shape")
        return f"SparseTensor({', '.join(f'{name}={getattr(self, name)!s}' for name in names)})"


def _maker(name: str) -> Callable[..., RaggedTensor]:

    def make(values: Any, *partition: Any, **settings: Any) -> Any:
        values = values if isinstance(values, _Composite) else Tensor(plain_array(values))
        return _call(getattr(RaggedColumn, name), values, *partition, **settings)

    return staticmethod(make)


class RaggedTensor(_Composite):
    """Rows of any length, as ``tf.RaggedTensor``.

    The attributes and methods are as in :class:`tfrecord_lite.RaggedTensor` (``values``,
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
        mapped = {name: map_structure(function, item) for name, item in value.items()}
        return mapped if type(value) is dict else type(value)(mapped)
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
    return Tensor(plain_array(value)) if isinstance(value, (bool, int, float, str)) else value


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
    return value if isinstance(value, (SparseColumn, RaggedColumn)) else plain_array(value)


def plain_array(value: Any, dtype: object = None) -> Any:
    """Return the array, scalar or bytes that ``tf.constant`` makes of a value.

    Python's ints become int32, or int64 if one is too large, floats float32, strings bytes.
    With `dtype`, Python's numbers become that, as far as TensorFlow converts them; ints that are
    too large for it wrap around. An array is converted to any dtype of numbers.
    """
    target = None if dtype is None else as_dtype(dtype)
    if isinstance(value, (list, tuple)):
        value = _without_tensors(value)
    is_python = isinstance(value, _PYTHON_VALUES) and not isinstance(value, np.generic)
    array: Any
    if isinstance(value, Tensor):
        array = np.asarray(value)
    elif target is not None and is_python:
        array = _of_python(value, target)
    else:
        try:
            array = as_tensor(value)[0]
        except TypeError as error:
            raise argument_error(str(error)) from None
    if target is not None and (actual := as_dtype(array.dtype)) != target:
        if "string" in {actual.name, target.name}:
            raise TypeError(f"cannot make a {target.name} tensor of {actual.name} values")
        with np.errstate(all="ignore"):  # integers wrap around, fractions are cut off
            array = array.astype(target.dtype)
    return array[()] if isinstance(array, np.ndarray) else array


_PYTHON_VALUES = (bool, int, float, complex, bytes, str, list, tuple, range)


def _without_tensors(value: Any) -> Any:
    """Return lists without tensors and NumPy's integers, which count as Python's there."""
    if isinstance(value, (list, tuple)):
        items = [_without_tensors(item) for item in value]
        return np.stack(items) if any(isinstance(item, np.ndarray) for item in items) else items
    if isinstance(value, np.integer):
        return int(value)
    return value.numpy() if isinstance(value, Tensor) else value


def _of_python(value: Any, target: DType) -> AnyArray:
    shape, leaves = flatten(value)
    for leaf in leaves:
        if not _fits(leaf, target):
            if len({isinstance(leaf, (bytes, str)) for leaf in leaves}) > 1:
                raise argument_error("values of different types: numbers, strings")
            raise TypeError(f"cannot make a {target.name} tensor of {leaf!r:.80}")
    if target.name == "string":
        array = np.empty(len(leaves), object)
        array[:] = byte_strings(leaves)[1]
        return array.reshape(shape)
    if target.is_integer:
        whole = np.dtype("uint64" if target.name == "uint64" else "int64")
        limits = np.iinfo(whole)
        if leaves and not (limits.min <= min(leaves) and max(leaves) <= limits.max):
            raise argument_error(f"an integer is out of the range of {whole}")
        return np.array(leaves, whole).reshape(shape).astype(target.dtype)
    try:
        numbers = np.array(leaves, np.complex128 if target.is_complex else np.float64)
    except OverflowError:
        raise argument_error("an integer is too large for a float") from None
    with np.errstate(all="ignore"):
        return numbers.reshape(shape).astype(target.dtype)


def _fits(leaf: Any, target: DType) -> bool:
    if leaf is None or not isinstance(leaf, (*_PYTHON_VALUES, np.generic)):
        raise argument_error(f"a tensor cannot hold a {type(leaf).__name__}")
    if isinstance(leaf, (bytes, str)):
        return target.name == "string"
    if isinstance(leaf, (bool, np.bool_)):
        return target.name in _OF_BOOLS
    if isinstance(leaf, (int, np.integer)):
        return target.is_integer or target.is_floating or target.is_complex
    if isinstance(leaf, (float, np.floating)):
        return target.is_floating or target.is_complex
    return target.is_complex


_OF_BOOLS = {"bool", "int32", "int64", "uint64", "float16", "float32", "float64"}
