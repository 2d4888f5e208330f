"""Python's operators on tensors, with TensorFlow's rules: both sides have one dtype, and errors.

An operand that is not a tensor takes the dtype of the one that is. Integers wrap around, and division
by zero is an error for integers alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.tf._dtype import DType, as_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.arrays import AnyArray


class Operation(NamedTuple):
    """An operator, and the dtypes that it is for."""

    name: str
    compute: Callable[..., Any]
    """Of one or two arrays."""
    kinds: str
    """Of dtypes: int, uint, float, complex, bool, string, by their first letters."""


def _true_divide(x: AnyArray, y: AnyArray) -> Any:
    """Divide; integers of up to 16 bits become float32, larger ones float64."""
    dtype = as_dtype(x.dtype)
    if dtype.is_integer:
        wanted = np.float32 if dtype.size <= 2 else np.float64
        return np.true_divide(x.astype(wanted), y.astype(wanted))
    return np.true_divide(x, y)


def _floor_divide(x: AnyArray, y: AnyArray) -> Any:
    if not as_dtype(x.dtype).is_integer:
        return np.floor(np.true_divide(x, y))
    _check_divisor(x, y)
    return np.floor_divide(x, y)


def _remainder(x: AnyArray, y: AnyArray) -> Any:
    if as_dtype(x.dtype).is_integer:
        _check_divisor(x, y)
    return np.remainder(x, y)


def _check_divisor(x: AnyArray, y: AnyArray) -> None:
    if x.size and not np.all(y):
        raise argument_error("division of an integer by zero")


def _power(x: AnyArray, y: AnyArray) -> Any:
    if as_dtype(x.dtype).is_integer and np.any(y < 0):
        raise argument_error("an integer cannot be raised to a negative power; use floats")
    return np.power(x, y)


def _matmul(x: AnyArray, y: AnyArray) -> Any:
    if min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-2]:
        raise argument_error(f"matrices of the shapes {x.shape} and {y.shape} cannot be multiplied")
    return np.matmul(x, y)


_ADD = Operation("+", np.add, "iufcs")
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
_EQ = Operation("==", np.equal, "iufcbs")
_NE = Operation("!=", np.not_equal, "iufcbs")
_NEG = Operation("-", np.negative, "ifc")
_ABS = Operation("abs", np.absolute, "ifc")
_INVERT = Operation("~", np.invert, "iub")


def computed(operation: Operation, *arrays: AnyArray) -> Any:
    """Return the result of an operator for arrays of one dtype, or raise."""
    dtype = as_dtype(arrays[0].dtype)
    _check_kind(operation, dtype)
    for array in arrays[1:]:
        if as_dtype(array.dtype) != dtype:
            other = as_dtype(array.dtype).name
            raise argument_error(
                f"the operands of {operation.name} have different dtypes, {dtype.name} and {other}; "
                "convert one with tf.cast"
            )
    if operation is not _MATMUL:
        _check_shapes(operation, *arrays)
    with np.errstate(all="ignore"):
        return operation.compute(*arrays)


def _check_kind(operation: Operation, dtype: DType) -> None:
    kind = "u" if dtype.is_unsigned else "f" if dtype.is_floating else dtype.name[0]
    if kind in operation.kinds:
        return
    detail = f"{operation.name} is not for tensors of dtype {dtype.name}"
    if operation is _TRUEDIV:
        raise TypeError(detail)
    raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


def _check_shapes(operation: Operation, *arrays: AnyArray) -> None:
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays)
        detail = f"the operands of {operation.name} have the incompatible shapes {shapes}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail) from None


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
    __array_priority__ = 100
    """Above that of arrays, whose operators then leave it to these."""

    __add__, __radd__ = _binary(_ADD), _reflected(_ADD)
    __sub__, __rsub__ = _binary(_SUB), _reflected(_SUB)
    __mul__, __rmul__ = _binary(_MUL), _reflected(_MUL)
    __truediv__, __rtruediv__ = _binary(_TRUEDIV), _reflected(_TRUEDIV)
    __floordiv__, __rfloordiv__ = _binary(_FLOORDIV), _reflected(_FLOORDIV)
    __mod__, __rmod__ = _binary(_MOD), _reflected(_MOD)
    __pow__, __rpow__ = _binary(_POW), _reflected(_POW)
    __matmul__, __rmatmul__ = _binary(_MATMUL), _reflected(_MATMUL)
    __and__, __rand__ = _binary(_AND), _reflected(_AND)
    __or__, __ror__ = _binary(_OR), _reflected(_OR)
    __xor__, __rxor__ = _binary(_XOR), _reflected(_XOR)
    __lt__, __le__, __gt__, __ge__ = map(_binary, (_LT, _LE, _GT, _GE))
    __eq__, __ne__ = map(_equality, (_EQ, _NE))
    __neg__, __abs__, __invert__ = map(_unary, (_NEG, _ABS, _INVERT))
    __hash__ = None  # type: ignore[assignment]
