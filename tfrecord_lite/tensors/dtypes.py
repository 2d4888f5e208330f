"""The dtypes of tensors: TensorFlow's numbers for them, and NumPy's dtypes.

The elements of a TensorProto are either all in ``tensor_content``, little-endian, or listed in the field for
its dtype (rules T4 and T5). ml_dtypes, which has those that NumPy lacks, is imported when one is first used.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema.kinds import EXTRA_DTYPES, extra_dtype, numpy_dtype

if TYPE_CHECKING:
    from tfrecord_lite.arrays import AnyArray, Uint8Array


@dataclass(frozen=True, slots=True)
class TensorType:
    """One dtype that a tensor may have."""

    number: int
    """TensorFlow's number for it."""
    name: str
    """Its name, the same for NumPy, ml_dtypes and TensorFlow."""
    field: str
    """The field of a TensorProto that lists its elements."""
    is_extra: bool = False
    """Whether it comes from ml_dtypes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype, in the machine's byte order; byte strings are objects. May raise ImportError."""
        if self is STRING:
            return np.dtype(object)
        return extra_dtype(self.name) if self.is_extra else np.dtype(self.name)


STRING = TensorType(7, "string", "string_val")
"""Byte strings, the only dtype whose elements differ in size."""

TYPES = (
    TensorType(1, "float32", "float_val"),
    TensorType(2, "float64", "double_val"),
    TensorType(3, "int32", "int_val"),
    TensorType(4, "uint8", "int_val"),
    TensorType(5, "int16", "int_val"),
    TensorType(6, "int8", "int_val"),
    STRING,
    TensorType(8, "complex64", "scomplex_val"),
    TensorType(9, "int64", "int64_val"),
    TensorType(10, "bool", "bool_val"),
    TensorType(14, "bfloat16", "half_val", is_extra=True),
    TensorType(17, "uint16", "int_val"),
    TensorType(18, "complex128", "dcomplex_val"),
    TensorType(19, "float16", "half_val"),
    TensorType(22, "uint32", "uint32_val"),
    TensorType(23, "uint64", "uint64_val"),
    TensorType(24, "float8_e5m2", "float8_val", is_extra=True),
    TensorType(25, "float8_e4m3fn", "float8_val", is_extra=True),
    TensorType(26, "float8_e4m3fnuz", "float8_val", is_extra=True),
    TensorType(27, "float8_e4m3b11fnuz", "float8_val", is_extra=True),
    TensorType(28, "float8_e5m2fnuz", "float8_val", is_extra=True),
    TensorType(29, "int4", "int_val", is_extra=True),
    TensorType(30, "uint4", "int_val", is_extra=True),
    TensorType(31, "int2", "int_val", is_extra=True),
    TensorType(32, "uint2", "int_val", is_extra=True),
    TensorType(33, "float4_e2m1fn", "float8_val", is_extra=True),
)
"""Every dtype that is read and written. Elements smaller than a byte take a whole byte."""

_BY_NUMBER = {kind.number: kind for kind in TYPES}
_BY_NAME = {kind.name: kind for kind in TYPES}
# TensorFlow's other dtypes: quantized numbers, and handles that mean something in one process only.
_UNSUPPORTED = {11: "qint8", 12: "quint8", 13: "qint32", 15: "qint16", 16: "quint16"}
_UNSUPPORTED |= {20: "resource", 21: "variant"}
_OTHER_NAMES = EXTRA_DTYPES | set(_UNSUPPORTED.values())
_FIRST_REF, _LAST_REF = 101, 133
MOST_DIMS = 64
"""The most dimensions that a NumPy array can have."""
_MOST_BYTES = 2**63 - 1

# Names and Python types that mean something else to NumPy, or nothing at all.
_WORDS: dict[Any, str] = dict.fromkeys(["bytes", "str", bytes, str, object], "string")
_WORDS |= {"half": "float16", "float": "float32", float: "float32", "double": "float64"}


def type_of_number(number: int, subject: str = "the tensor has dtype") -> TensorType:
    """Return the dtype for the number in a TensorProto; UNSUPPORTED for others (rule T3)."""
    kind = _BY_NUMBER.get(number)
    if kind is not None:
        return kind
    if _FIRST_REF <= number <= _LAST_REF:
        detail = f"dtype number {number} is a reference, which cannot be stored"
    elif number in _UNSUPPORTED:
        detail = f"tensors of {_UNSUPPORTED[number]} (dtype number {number}) are not supported"
    else:
        detail = f"{subject} number {number}, which is not a dtype"
    raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)


def tensor_type(name_or_type: object) -> TensorType:
    """Return the dtype that a user means: NumPy's, ml_dtypes', TensorFlow's, a name or a number.

    ``float`` is float32, as in TensorFlow. Raises UNSUPPORTED for a dtype that tensors do not
    have here, and TypeError if `name_or_type` is not a dtype at all.

    >>> tensor_type(np.float16).number, tensor_type("bfloat16").number, tensor_type(bytes).name
    (19, 14, 'string')
    """
    if isinstance(name_or_type, int) and not isinstance(name_or_type, bool):
        return type_of_number(int(name_or_type), "the dtype is")
    # Look at the class: the property of some of TensorFlow's dtypes raises.
    word: Any = name_or_type
    if hasattr(type(name_or_type), "as_numpy_dtype"):
        word = word.name
    if isinstance(word, str | type):
        word = _WORDS.get(word, word)
    if isinstance(word, str) and (word in _BY_NAME or word in _OTHER_NAMES):
        name = word
    else:
        dtype = numpy_dtype(word)
        name = "string" if dtype.kind in "OSUT" else dtype.name
    if name not in _BY_NAME:
        detail = f"tensors of {name} are not supported"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    return _BY_NAME[name]


def check_shape(shape: tuple[int, ...], item_bytes: int) -> None:
    """Raise BAD_SHAPE if no NumPy array can have this shape: negative sizes, too many dimensions or bytes."""
    largest = prod(size for size in shape if size) * item_bytes
    if len(shape) > MOST_DIMS or min(shape, default=0) < 0 or largest > _MOST_BYTES:
        text = f"{len(shape)} dimensions" if len(shape) > MOST_DIMS else f"the shape {list(shape)}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=f"an array cannot have {text}")


def from_bytes(raw: Uint8Array, kind: TensorType, *, little_endian: bool = True) -> AnyArray:
    """View bytes (uint8, contiguous) as numbers of any dtype but string, shape (n_values,).

    Numbers of the other byte order are swapped in place; of complex ones each half (rule D4).
    Bools are copied: any byte but zero is true.
    """
    dtype = kind.dtype
    part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    if part > 1 and little_endian != (sys.byteorder == "little"):
        raw.view(f"u{part}").byteswap(inplace=True)
    values: AnyArray = raw != 0 if dtype == np.bool_ else raw.view(dtype)
    return values
