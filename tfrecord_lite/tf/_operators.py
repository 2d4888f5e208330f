"""Python's operators on tensors, with TensorFlow's rules: both sides have one dtype, and errors.

An operand that is not a tensor takes the dtype of the one that is. Integers wrap around, and division
by zero is an error for integers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.tf._unavailable import shape_error, unsupported

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
                return type(self)(compute(*arrays))
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
            return type(self)(np.bool_(differs))

    return compare


class Operators:
    """The operators of a class that has ``dtype``, ``_operand`` and ``_array``."""

    __slots__ = ()
    __array_priority__: ClassVar[int] = 100
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
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
