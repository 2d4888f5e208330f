"""DType: a dtype with TensorFlow's name, equal to NumPy's and accepted in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.tensors.dtypes import TYPES, TensorType, tensor_type


@dataclass(frozen=True, eq=False, repr=False)
class DType:
    """A dtype, as ``tf.DType``.

    Examples
    --------
    >>> from tfrecord_lite import tf
    >>> tf.int64, tf.int64 == np.int64, np.dtype(tf.int64), tf.uint8.max
    (tf.int64, True, dtype('int64'), 255)
    """

    name: str
    """The name, such as ``"float32"`` or ``"string"``."""
    as_datatype_enum: int
    """TensorFlow's number for the dtype."""
    _type: TensorType

    @property
    def is_bool(self) -> bool:
        """Whether the dtype is bool."""
        return self.name == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.name.startswith(("int", "uint"))

    @property
    def is_unsigned(self) -> bool:
        """Whether elements are unsigned integers."""
        return self.name.startswith("uint")

    @property
    def is_floating(self) -> bool:
        """Whether elements are floating-point numbers."""
        return "float" in self.name

    @property
    def is_complex(self) -> bool:
        """Whether elements are complex numbers."""
        return self.name.startswith("complex")

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; object for byte strings."""
        return self._type.dtype

    @property
    def as_numpy_dtype(self) -> type:
        """NumPy's scalar type; ``object`` for byte strings."""
        return object if self.name == "string" else self.dtype.type

    @property
    def size(self) -> int:
        """Bytes per element; 0 for byte strings."""
        return 0 if self.name == "string" else self.dtype.itemsize

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
        return self.as_datatype_enum

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name."""
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        """Format as TensorFlow does."""
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        """Format as scripts write it."""
        return f"tf.{self.name}"


ALL = {type_.name: DType(type_.name, type_.number, type_) for type_ in TYPES}


def as_dtype(type_value: object) -> DType:
    """Return a dtype, given its name, NumPy's dtype, a Python type or TensorFlow's number."""
    return ALL[tensor_type(type_value).name]
