"""parse_tensor, parse_tensors: the bytes of TensorProtos to arrays.

What is a TensorProto, the protobuf runtime says. Of many that were serialised alike,
nearly all bytes are known before they are read::

    08 dtype  12 n  12 n 08 size  12 n 08 size  22 n   content
    ╰────────────── the same in all of them ─────────╯

So the first is parsed, and its head built from what it turned out to be. Those that
begin with these bytes, and are as long, hold such a tensor too; their contents are
copied at once. The others are parsed one by one.
"""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, require_int
from tfrecord_lite.tensors.dtypes import (
    STRING,
    TensorType,
    check_shape,
    from_bytes,
    tensor_type,
    type_of_number,
)
from tfrecord_lite.tensors.serialize import head_of
from tfrecord_lite.tensors.strings import as_strings
from tfrecord_lite.tensors.values import LARGEST_FACTOR, array_of, check_fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfrecord_lite.arrays import AnyArray, Int64Array, Uint8Array
    from tfrecord_lite.tensors.strings import Strings

__all__ = ["MAX_FILL_BYTES", "parse_tensor", "parse_tensors"]

MAX_FILL_BYTES = 2**28
"""How large an array of repeated values may be, unless the caller says otherwise: 256 MB."""


def parse_tensor(
    serialized: bytes | str,
    out_type: object = None,
    name: str | None = None,  # noqa: ARG001
    *,
    max_bytes: int = MAX_FILL_BYTES,
) -> AnyArray:
    r"""Parse a serialised tensor, as ``tf.io.parse_tensor`` (rules T3 to T8).

    Parameters
    ----------
    serialized : bytes or str
        A TensorProto, as :func:`~tfrecord_lite.tensors.serialize.serialize_tensor` or
        TensorFlow writes it, or in any other form that protobuf allows.
    out_type : dtype, optional
        The dtype it must have; without it, whichever it has.
    name : str, optional
        Ignored; TensorFlow names its operation so.
    max_bytes : int, optional
        How large the array may be if the message repeats a value (rule T5), which takes no
        bytes in the message. An array whose elements are all stored has no limit but this:
        it takes at most 8 bytes for each of the message.

    Returns
    -------
    array
        Of the tensor's dtype and shape; strings are objects. Owns its memory.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are no TensorProto, or bools are neither 0 nor 1;
        ``WRONG_DTYPE`` if the tensor is of another dtype; ``UNSUPPORTED`` for a dtype that
        is none, or is not supported; ``BAD_SHAPE`` if `serialized` is no scalar, or the
        shape one that no array can have; ``WRONG_COUNT`` if there are not as many elements
        as the shape says; ``TENSOR_TOO_LARGE`` above `max_bytes`.
    TypeError
        For what is not bytes, or no dtype.
    ImportError
        For a dtype of ml_dtypes, if that is not installed.

    Examples
    --------
    >>> parse_tensor(bytes.fromhex("0801 1200 2204 0000c03f"), np.float32)
    array(1.5, dtype=float32)
    """
    strings = as_strings(serialized)
    if strings.shape:
        detail = f"expected a scalar, got the shape {list(strings.shape)}; see parse_tensors"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
    wanted = None if out_type is None else tensor_type(out_type)
    return _parse(strings.item(0), wanted, require_int("max_bytes", max_bytes))[0]


def parse_tensors(
    serialized: object,
    out_type: object = None,
    *,
    shape: Sequence[int] | None = None,
    max_bytes: int = MAX_FILL_BYTES,
) -> AnyArray:
    r"""Parse many serialised tensors of one dtype and shape into one array.

    Parameters
    ----------
    serialized : sequence or array of bytes, BytesColumn or Block
        TensorProtos, an array of them of any shape.
    out_type : dtype, optional
        The dtype they must have; without it, that of the first.
    shape : sequence of int, optional
        The shape each must have; without it, that of the first.
    max_bytes : int, optional
        As for :func:`parse_tensor`; of the whole array.

    Returns
    -------
    array, shape (\*shape of serialized, \*shape of a tensor)
        Owns its memory.

    Raises
    ------
    InvalidArgumentError, TypeError, ImportError
        As :func:`parse_tensor`, with the number of the tensor as `index`, or that of the
        record for a block that was read. Besides, ``BAD_SHAPE`` for a tensor of another
        shape, and ``BAD_ARGUMENT`` if there is none, and `out_type` is not given.

    Notes
    -----
    Tensors that TensorFlow's ``serialize_tensor`` or ours wrote are recognised by their
    first bytes and copied at once, at the speed of memory. Others cost some microseconds
    each.

    Examples
    --------
    >>> rows = [serialize_tensor(np.full(2, i, np.int16)) for i in range(3)]
    >>> parse_tensors(rows, np.int16)
    array([[0, 0],
           [1, 1],
           [2, 2]], dtype=int16)
    """
    strings = as_strings(serialized)
    wanted = None if out_type is None else tensor_type(out_type)
    wanted_shape = None if shape is None else tuple(operator.index(size) for size in shape)
    limit = require_int("max_bytes", max_bytes)
    n_tensors = prod(strings.shape)
    if not n_tensors:
        if wanted is None:
            detail = "no tensors to tell the dtype by; give out_type"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        stacked = (*strings.shape, *(wanted_shape or ()))
        check_shape(stacked, wanted.dtype.itemsize)
        return np.empty(stacked, wanted.dtype)
    batch = _Batch(strings, n_tensors, limit)
    first, kind = batch.parse(0, wanted, wanted_shape)
    stacked = (*strings.shape, *first.shape)
    check_shape(stacked, first.dtype.itemsize)
    return batch.stack(first, kind).reshape(stacked)


def _parse(serialized: bytes, wanted: TensorType | None, limit: int) -> tuple[AnyArray, TensorType]:
    """Parse one tensor; return its dtype too."""
    # Not at the head of the module: an array is serialised without the protobuf runtime.
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    from tfrecord_lite.messages.tensor_pb2 import TensorProto  # noqa: PLC0415

    try:
        message = TensorProto.FromString(serialized)
    except DecodeError:
        detail = f"{len(serialized)} bytes that are no TensorProto"
        raise InvalidArgumentError(Reason.MALFORMED, detail=detail) from None
    kind = type_of_number(message.dtype)
    if wanted is not None and kind is not wanted:
        detail = f"the tensor is of {kind.name}, not {wanted.name}"
        raise InvalidArgumentError(Reason.WRONG_DTYPE, detail=detail)
    return array_of(message, kind, _limit(limit, len(serialized))), kind


def _limit(max_bytes: int, stored_bytes: int) -> int:
    """Return how large an array may be: all that its messages can store is allowed."""
    return max(max_bytes, LARGEST_FACTOR * stored_bytes)


def _check_shape(shape: tuple[int, ...], wanted: tuple[int, ...] | None) -> None:
    if wanted is not None and shape != wanted:
        detail = f"a tensor of shape {list(shape)}, not {list(wanted)}"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)


class _Batch:
    """Serialised tensors that are to become one array."""

    def __init__(self, strings: Strings, n_tensors: int, limit: int) -> None:
        self._strings = strings
        self._n_tensors = n_tensors
        self._limit = limit

    def parse(
        self, i: int, kind: TensorType | None, shape: tuple[int, ...] | None
    ) -> tuple[AnyArray, TensorType]:
        """Parse one, which must be of a dtype and a shape, if any are given."""
        try:
            array, kind = _parse(self._strings.item(i), kind, self._limit)
            _check_shape(array.shape, shape)
        except InvalidArgumentError as error:
            raise self._located(error, i) from None
        return array, kind

    def stack(self, first: AnyArray, kind: TensorType) -> AnyArray:
        """Parse all, which must be as the first is; shape (n_tensors, n_values)."""
        chosen, contents = self._alike(first, kind)
        if chosen.size == self._n_tensors:
            return from_bytes(contents.reshape(-1), kind).reshape(chosen.size, -1)
        stored_bytes = int(self._strings.lengths.sum())
        check_fill(self._n_tensors * first.nbytes, _limit(self._limit, stored_bytes))
        out = np.empty((self._n_tensors, first.size), kind.dtype)
        is_left = np.ones(self._n_tensors, np.bool_)
        is_left[chosen] = False
        for i in np.flatnonzero(is_left).tolist():
            out[i] = self.parse(i, kind, first.shape)[0].ravel()
        if chosen.size:
            out[chosen] = from_bytes(contents.reshape(-1), kind).reshape(chosen.size, -1)
        return out

    def _alike(self, first: AnyArray, kind: TensorType) -> tuple[Int64Array, Uint8Array]:
        """Find those that are serialised as the first would be; return numbers and contents."""
        strings, n_bytes = self._strings, first.nbytes
        if kind is STRING or not n_bytes:
            return np.empty(0, np.int64), np.empty((0, 0), np.uint8)
        head = head_of(kind, first.shape, n_bytes)
        chosen = np.flatnonzero((strings.lengths == len(head) + n_bytes) & strings.begins(head))
        if chosen.size < self._n_tensors:
            strings = strings.take(chosen)
        contents = strings.joined(len(head), n_bytes).reshape(chosen.size, n_bytes)
        if kind.name == "bool" and contents.max(initial=0) > 1:  # refused when parsed alone (T4)
            is_sound = contents.max(axis=1) <= 1
            chosen, contents = chosen[is_sound], contents[is_sound]
        return chosen, contents

    def _located(self, error: InvalidArgumentError, i: int) -> InvalidArgumentError:
        place = self._strings.place(i)
        return error.at(index=i) if place is None else place.locate(error)
