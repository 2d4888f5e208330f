"""Python's operators on tensors, with TensorFlow's rules: both sides have one dtype, and errors.

An operand that is not a tensor takes the dtype of the one that is. Integers wrap around, and division
by zero is an error for integers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.tf._dtype import DType, as_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.arrays import AnyArray

    _Method: TypeAlias = Callable[..., Any]


class Operation(NamedTuple):
    """An operator, and the dtypes that it is for."""

    name: str
    compute: Callable[..., Any]
    """Of one or two arrays."""
    kinds: str
    """Of dtypes, by NumPy's letters; O for strings."""


def _true_divide(x: AnyArray, y: AnyArray) -> Any:
    """Divide; integers of up to 16 bits become float32, larger ones float64."""
    if x.dtype.kind in "iu":
        wanted = np.float32 if x.itemsize <= 2 else np.float64
        return np.true_divide(x.astype(wanted), y.astype(wanted))
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


def _matmul(x: AnyArray, y: AnyArray) -> Any:
    if min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-2]:
        raise argument_error(f"matrices of the shapes {x.shape} and {y.shape} cannot be multiplied")
    return np.matmul(x, y)


_ADD = Operation("+", np.add, "iufcO")
_SUB = Operation("-", np.subtract, "iufc")
_MUL = Operation("*", np.multiply, "iufcb")
_TRUEDIV = Operation("/", _true_divide, "iufc")
_FLOORDIV = Operation("//", _floor_divide, "iuf")
_MOD = Operation("%", _remainder, "iuf")
_POW = Operation("**", _power, "iufc")
_MATMUL = Operation("@", _matmul, "iufc")
_AND = Operation("&", np.bitwise_and, "iub")
_OR = Operation("|", np.bitwise_or, "iub")
_XOR = Operation("^", np.bitwise_xor, "iub")
_LT = Operation("<", np.less, "iuf")
_LE = Operation("<=", np.less_equal, "iuf")
_GT = Operation(">", np.greater, "iuf")
_GE = Operation(">=", np.greater_equal, "iuf")
_EQ = Operation("==", np.equal, "iufcbO")
_NE = Operation("!=", np.not_equal, "iufcbO")
_NEG = Operation("-", np.negative, "ifc")
_ABS = Operation("abs", np.absolute, "ifc")
_INVERT = Operation("~", np.invert, "iub")


def computed(operation: Operation, *arrays: AnyArray) -> Any:
    """Return the result of an operator for arrays of one dtype, or raise."""
    dtype = arrays[0].dtype
    if dtype.kind not in operation.kinds:
        _check_kind(operation, as_dtype(dtype))
    if len(arrays) == 2 and arrays[1].dtype != dtype:
        names = f"{as_dtype(dtype).name} and {as_dtype(arrays[1].dtype).name}"
        detail = f"the operands of {operation.name} have different dtypes, {names}; use tf.cast"
        raise argument_error(detail)
    try:
        with np.errstate(all="ignore"):
            return operation.compute(*arrays)
    except ValueError as error:
        if isinstance(error, InvalidArgumentError):
            raise
        shapes = " and ".join(str(array.shape) for array in arrays)
        detail = f"the operands of {operation.name} have the incompatible shapes {shapes}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail) from None


def _check_kind(operation: Operation, dtype: DType) -> None:
    """Raise unless an operator is for a dtype whose kind NumPy does not know."""
    if dtype.is_floating and "f" in operation.kinds:
        return
    detail = f"{operation.name} is not for tensors of dtype {dtype.name}"
    if operation is _TRUEDIV:
        raise TypeError(detail)
    raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


def _binary(operation: Operation) -> Any:
    def method(self: Any, other: object) -> Any:
        try:
            converted = self._operand(other)
        except TypeError:
            if operation is _ADD:  # the one that reports so
                detail = f"the operands of + have different dtypes; this one is {self.dtype.name}"
                raise argument_error(detail) from None
            raise
        return self._computed(operation, self, converted)

    return method


def _reflected(operation: Operation) -> Any:
    def method(self: Any, other: object) -> Any:
        return self._computed(operation, self._operand(other), self)

    return method


def _unary(operation: Operation) -> Any:
    def method(self: Any) -> Any:
        return self._computed(operation, self)

    return method


def _equality(operation: Operation) -> Any:
    """Return == or !=: nothing equals None, nor a tensor of another shape."""
    differs = operation is _NE

    def method(self: Any, other: object) -> Any:
        if other is None:
            return differs
        try:
            return self._computed(operation, self, self._operand(other))
        except InvalidArgumentError as error:
            if error.reason is not Reason.BAD_SHAPE:
                raise
            return type(self)(np.bool_(differs))

    return method


class Operators:
    """The operators of a class that has ``_operand`` and ``_computed``."""

    __slots__ = ()
    __array_priority__: ClassVar[int] = 100
    """Above that of arrays, whose operators then leave it to these."""

    __add__: ClassVar[_Method] = _binary(_ADD)
    __radd__: ClassVar[_Method] = _reflected(_ADD)
    __sub__: ClassVar[_Method] = _binary(_SUB)
    __rsub__: ClassVar[_Method] = _reflected(_SUB)
    __mul__: ClassVar[_Method] = _binary(_MUL)
    __rmul__: ClassVar[_Method] = _reflected(_MUL)
    __truediv__: ClassVar[_Method] = _binary(_TRUEDIV)
    __rtruediv__: ClassVar[_Method] = _reflected(_TRUEDIV)
    __floordiv__: ClassVar[_Method] = _binary(_FLOORDIV)
    __rfloordiv__: ClassVar[_Method] = _reflected(_FLOORDIV)
    __mod__: ClassVar[_Method] = _binary(_MOD)
    __rmod__: ClassVar[_Method] = _reflected(_MOD)
    __pow__: ClassVar[_Method] = _binary(_POW)
    __rpow__: ClassVar[_Method] = _reflected(_POW)
    __matmul__: ClassVar[_Method] = _binary(_MATMUL)
    __rmatmul__: ClassVar[_Method] = _reflected(_MATMUL)
    __and__: ClassVar[_Method] = _binary(_AND)
    __rand__: ClassVar[_Method] = _reflected(_AND)
    __or__: ClassVar[_Method] = _binary(_OR)
    __ror__: ClassVar[_Method] = _reflected(_OR)
    __xor__: ClassVar[_Method] = _binary(_XOR)
    __rxor__: ClassVar[_Method] = _reflected(_XOR)
    __lt__: ClassVar[_Method] = _binary(_LT)
    __le__: ClassVar[_Method] = _binary(_LE)
    __gt__: ClassVar[_Method] = _binary(_GT)
    __ge__: ClassVar[_Method] = _binary(_GE)
    __eq__: ClassVar[_Method] = _equality(_EQ)
    __ne__: ClassVar[_Method] = _equality(_NE)
    __neg__: ClassVar[_Method] = _unary(_NEG)
    __abs__: ClassVar[_Method] = _unary(_ABS)
    __invert__: ClassVar[_Method] = _unary(_INVERT)
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
