"""serialize_tensor: an array to the bytes of a TensorProto, as TensorFlow writes them.

::

    08 dtype    12 length { 12 length { 08 size } ... }    22 length content
                                                           42 length string ...

Numbers go into ``tensor_content``, little-endian and row-major; each string into a field of its own (rule T1).
The protobuf runtime is not needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfrecord_lite.arrays import AnyArray, objects
from tfrecord_lite.columns import BytesColumn, RaggedTensor, SparseTensor
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema.kinds import array_of
from tfrecord_lite.tensors.dtypes import STRING, TensorType, tensor_type
from tfrecord_lite.tensors.strings import byte_strings, flatten
from tfrecord_lite.wire.scalar import varint

_MOST_BYTES = 2**31 - 1
_CONTENT, _STRING = b"\x22", b"\x42"
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def serialize_tensor(tensor: object, name: str | None = None) -> bytes:  # noqa: ARG001
    r"""Serialise an array with its dtype and shape, as ``tf.io.serialize_tensor`` (T1, T2).

    Parameters
    ----------
    tensor : array-like
        A NumPy array or scalar: numbers, bool, strings, objects that are ``bytes`` or
        ``str``, and the dtypes of ml_dtypes that TensorFlow has. Or Python values: ints
        become int32, or int64 if one of them needs it; floats float32. Or a BytesColumn.
    name : str, optional
        Ignored: the name of an operation in TensorFlow.

    Returns
    -------
    bytes
        A TensorProto, byte for byte what TensorFlow writes.

    Raises
    ------
    InvalidArgumentError
        ``UNSUPPORTED`` for a dtype that tensors do not have, and for ragged, sparse and
        masked arrays; ``BAD_SHAPE`` for nested lists of different lengths, or of more than
        64 levels; ``BAD_ARGUMENT`` for Python values of different types, or out of range;
        ``TENSOR_TOO_LARGE`` from 2 GB on, the limit of protobuf messages.
    TypeError
        For anything else.

    Examples
    --------
    >>> serialize_tensor(np.float32(1.5)).hex(" ")
    '08 01 12 00 22 04 00 00 c0 3f'
    >>> serialize_tensor([[b"one"], [b""]])
    b'\x08\x07\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01B\x03oneB\x00'
    """
    array, kind = as_tensor(tensor)
    n_bytes = 0
    parts = [leading_bytes(kind, array.shape)]
    if kind is STRING:
        for item in array.ravel().tolist():
            parts += (_STRING, varint(len(item)), item)
        n_bytes = sum(map(len, parts))
    elif array.size:
        n_bytes = array.nbytes
        _check_size(n_bytes)
        order = array.dtype.byteorder
        is_little = order == "<" or (order != ">" and sys.byteorder == "little")
        stored = array if is_little or array.dtype.itemsize == 1 else array.byteswap()
        parts += (_CONTENT, varint(n_bytes), stored.tobytes())
    _check_size(n_bytes)
    return b"".join(parts)


def leading_bytes(kind: TensorType, shape: Iterable[int], n_bytes: int = 0) -> bytes:
    """Return the bytes before the elements of a tensor, or before its content of `n_bytes`.

    >>> leading_bytes(tensor_type("uint8"), (2, 0)).hex(" ")
    '08 04 12 06 12 02 08 02 12 00'
    """
    sizes = [b"\x08" + varint(size) if size else b"" for size in shape]
    dims = b"".join(b"\x12" + varint(len(size)) + size for size in sizes)
    head = b"\x08" + varint(kind.number) + b"\x12" + varint(len(dims)) + dims
    return head + _CONTENT + varint(n_bytes) if n_bytes else head


def _check_size(n_bytes: int) -> None:
    if n_bytes > _MOST_BYTES:
        detail = f"the tensor has {n_bytes} bytes, more than the {_MOST_BYTES} of a message"
        raise InvalidArgumentError(Reason.TENSOR_TOO_LARGE, detail=detail)


def as_tensor(value: Any) -> tuple[AnyArray, TensorType]:
    """Return a value as an array, in its own byte order, and the dtype to write."""
    if isinstance(value, RaggedTensor | SparseTensor | np.ma.MaskedArray):
        detail = f"a {type(value).__name__} is not a single array; serialise its parts (rule T2)"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    if isinstance(value, BytesColumn):
        value = value.to_numpy()
    elif isinstance(value, bool | int | float | complex | bytes | str | list | tuple | range):
        if not isinstance(value, np.generic):
            value = _python_values(value)
    elif hasattr(value, "__array__"):
        value = array_of(value)
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"expected an array or Python values, not {type(value).__name__}")
    array = np.asarray(value)
    kind = tensor_type(array.dtype)
    if kind is STRING:
        shape, items = byte_strings(array)
        return objects(items).reshape(shape), kind
    return array, kind


def _python_values(value: Any) -> AnyArray:
    """Make an array of Python values, with TensorFlow's choice of dtype (rule T2)."""
    shape, leaves = flatten(value)
    groups = {_group_of(leaf) for leaf in leaves}
    if len(groups) > 1:
        raise argument_error(f"values of different types: {', '.join(sorted(groups))}")
    group = next(iter(groups), "numbers")
    if group == "strings":
        return objects(byte_strings(leaves)[1]).reshape(shape)
    if group == "numbers" and not any(isinstance(leaf, np.generic) for leaf in leaves):
        return _python_numbers(leaves).reshape(shape)
    return np.asarray(leaves).reshape(shape)  # NumPy's own values keep their dtype


def _group_of(leaf: object) -> str:
    if isinstance(leaf, bytes | str):
        return "strings"
    if isinstance(leaf, bool | np.bool_):
        return "bools"
    if isinstance(leaf, int | float | np.integer | np.floating):
        return "numbers"
    if isinstance(leaf, complex | np.complexfloating):
        return "complex numbers"
    raise TypeError(f"a tensor cannot hold a {type(leaf).__name__}")


def _python_numbers(leaves: list[Any]) -> AnyArray:
    if all(isinstance(leaf, int) for leaf in leaves) and leaves:
        for dtype in (np.int32, np.int64):
            limits = np.iinfo(dtype)
            if limits.min <= min(leaves) and max(leaves) <= limits.max:
                return np.array(leaves, dtype)
    elif not any(_FLOAT32_MAX < abs(leaf) < np.inf for leaf in leaves):
        return np.array(leaves, np.float32)
    detail = "a number is out of the range of int64 or float32; give an array with a dtype"
    raise argument_error(detail)
