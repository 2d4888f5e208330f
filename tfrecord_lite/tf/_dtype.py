"""DType: a dtype by TensorFlow's name, equal to NumPy's and taken wherever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.tensors.dtypes import TYPES, tensor_type

if TYPE_CHECKING:
    from tfrecord_lite.tensors.dtypes import TensorType

__all__ = ["ALL", "DType", "as_dtype"]


class DType:
    """A dtype, as ``tf.DType``.

    Examples
    --------
    >>> from tfrecord_lite import tf
    >>> tf.int64, tf.int64 == np.int64, np.dtype(tf.int64), tf.uint8.max
    (tf.int64, True, dtype('int64'), 255)
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: TensorType) -> None:
        self._kind = kind

    @property
    def name(self) -> str:
        """Its name, such as ``"float32"`` or ``"string"``."""
        return self._kind.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; objects for byte strings."""
        return self._kind.dtype

    @property
    def as_numpy_dtype(self) -> type:
        """NumPy's type of an element; ``object`` for byte strings."""
        return object if self._kind.name == "string" else self._kind.dtype.type

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number of it."""
        return self._kind.number

    @property
    def base_dtype(self) -> DType:
        """Itself."""
        return self

    @property
    def size(self) -> int:
        """Bytes an element; 0 for byte strings, which differ."""
        return 0 if self._kind.name == "string" else self._kind.dtype.itemsize

    @property
    def is_bool(self) -> bool:
        """Whether it is bool."""
        return self.name == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether its elements are whole numbers."""
        return self.name.lstrip("u").startswith("int")

    @property
    def is_unsigned(self) -> bool:
        """Whether these cannot be negative."""
        return self.name.startswith("uint")

    @property
    def is_floating(self) -> bool:
        """Whether its elements are real numbers."""
        return "float" in self.name

    @property
    def is_complex(self) -> bool:
        """Whether its elements are complex numbers."""
        return self.name.startswith("complex")

    @property
    def min(self) -> Any:
        """The least number it has."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The greatest number it has."""
        return self._limits().max

    def _limits(self) -> Any:
        if self._kind.is_extra:
            import ml_dtypes  # noqa: PLC0415 - optional

            return (ml_dtypes.finfo if self.is_floating else ml_dtypes.iinfo)(self.dtype)
        if not (self.is_integer or self.is_floating):
            raise TypeError(f"{self!r} has no least and greatest number")
        return np.iinfo(self.dtype) if self.is_integer else np.finfo(self.dtype)

    def __eq__(self, other: object) -> bool:
        """Compare with any way to name a dtype."""
        try:
            return tensor_type(other) is self._kind
        except (TypeError, InvalidArgumentError):
            return False

    def __hash__(self) -> int:
        """Agree with ``==`` among these."""
        return self._kind.number

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name."""
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        """Write it as TensorFlow does."""
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        """Write it as scripts do."""
        return f"tf.{self.name}"


ALL = {kind.name: DType(kind) for kind in TYPES}


def as_dtype(type_value: object) -> DType:
    """Return the dtype that a name, NumPy's dtype, a Python type or a number means.

    Raises
    ------
    TypeError, InvalidArgumentError
        If it means none.
    """
    return ALL[tensor_type(type_value).name]
