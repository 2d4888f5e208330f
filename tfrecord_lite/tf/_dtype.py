"""DType: a dtype with TensorFlow's name, equal to NumPy's and accepted in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.tensors.dtypes import TYPES, TensorType, tensor_type


class DType:
    """A dtype, as ``tf.DType``.

    Examples
    --------
    >>> from tfrecord_lite import tf
    >>> tf.int64, tf.int64 == np.int64, np.dtype(tf.int64), tf.uint8.max
    (tf.int64, True, dtype('int64'), 255)
    """

    def __init__(self, type_: TensorType) -> None:
        self._type = type_
        self.name: str = type_.name
        """The name, such as ``"float32"`` or ``"string"``."""
        self.as_datatype_enum: int = type_.number
        """TensorFlow's number for the dtype."""
        self.is_bool: bool = self.name == "bool"
        """Whether the dtype is bool."""
        self.is_integer: bool = self.name.lstrip("u").startswith("int")
        """Whether elements are integers."""
        self.is_unsigned: bool = self.name.startswith("uint")
        """Whether elements are unsigned integers."""
        self.is_floating: bool = "float" in self.name
        """Whether elements are floating-point numbers."""
        self.is_complex: bool = self.name.startswith("complex")
        """Whether elements are complex numbers."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; object for byte strings."""
        return self._type.dtype

    @property
    def as_numpy_dtype(self) -> type:
        """NumPy's scalar type; ``object`` for byte strings."""
        return object if self._type.name == "string" else self._type.dtype.type

    @property
    def size(self) -> int:
        """Bytes per element; 0 for byte strings."""
        return 0 if self._type.name == "string" else self._type.dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest number; ValueError for a dtype without numbers."""
        return (np.iinfo if self.is_integer else np.finfo)(self.dtype).min

    @property
    def max(self) -> Any:
        """The largest number; ValueError for a dtype without numbers."""
        return (np.iinfo if self.is_integer else np.finfo)(self.dtype).max

    def __eq__(self, other: object) -> bool:
        """Compare with a dtype in any form: DType, NumPy's, name or number."""
        try:
            return tensor_type(other) is self._type
        except (TypeError, InvalidArgumentError):
            return False

    def __hash__(self) -> int:
        """Return the hash, equal for equal DTypes."""
        return self._type.number

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name."""
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        """Format as TensorFlow does."""
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        """Format as scripts write it."""
        return f"tf.{self.name}"


ALL = {type_.name: DType(type_) for type_ in TYPES}


def as_dtype(type_value: object) -> DType:
    """Return a dtype, given its name, NumPy's dtype, a Python type or TensorFlow's number."""
    return ALL[tensor_type(type_value).name]
