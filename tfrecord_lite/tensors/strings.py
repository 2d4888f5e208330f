"""Many byte strings as byte ranges of one buffer, from which numbers are taken at once: a gather of rows."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array, gather, rows
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.dtypes import MOST_DIMS

_WIDE_BYTES = 2048
"""Strings of this size and more are copied one by one rather than joined."""


class Strings(ByteRanges):
    """An array of byte strings in one contiguous buffer, which is never changed.

    `block` is the block whose records the strings are, for errors; `is_copy` says whether the buffer
    holds these strings, end to end, and nobody else knows it.
    """

    __slots__ = ("block", "is_copy", "shape")

    def __init__(
        self,
        data: Uint8Array,
        starts: Int64Array,
        lengths: Int64Array,
        shape: tuple[int, ...] = (),
        block: Block | None = None,
        *,
        is_copy: bool = False,
    ) -> None:
        super().__init__(data, starts, lengths)
        self.shape: tuple[int, ...] = shape
        self.block: Block | None = block
        self.is_copy: bool = is_copy

    def item(self, i: int) -> bytes:
        """Copy one string."""
        start = int(self.starts[i])
        return self.data[start : start + int(self.lengths[i])].tobytes()

    def begin_with(self, prefix: bytes) -> BoolArray:
        """Say which strings begin with `prefix`; shape (n,)."""
        begins = self.lengths >= len(prefix)
        if prefix and begins.any():
            firsts = _rows(self.data, self.starts[begins], len(prefix))
            begins[begins] = (firsts == np.frombuffer(prefix, np.uint8)).all(axis=1)
        return begins

    def slices(self, start: int, n_bytes: int, chosen: Int64Array | None = None) -> Uint8Array:
        """Take `n_bytes` of each string from `start` on, end to end; each must have them.

        With `chosen`, only of the strings with these numbers. The result is the caller's.
        """
        starts = self.starts if chosen is None else self.starts[chosen]
        if self.is_copy and n_bytes * starts.size == self.data.size:
            return self.data
        if not n_bytes or not starts.size:
            return np.empty(0, np.uint8)
        return _rows(self.data, starts + start, n_bytes).reshape(-1)

    def padded(self, n_bytes: int) -> Uint8Array:
        """Copy the first `n_bytes` of each string end to end; a shorter one is padded with 0."""
        kept = np.minimum(self.lengths, n_bytes)
        if (kept == n_bytes).all():
            return self.slices(0, n_bytes)
        out = np.zeros((self.starts.size, n_bytes), np.uint8)
        out[np.arange(n_bytes) < kept[:, None]] = gather(self.data, self.starts, kept)
        return out.reshape(-1)


def _rows(data: Uint8Array, starts: Int64Array, n_bytes: int) -> Uint8Array:
    """Copy `n_bytes` from each place; shape (n, n_bytes)."""
    return rows(data, n_bytes)[starts].view(np.uint8).reshape(starts.size, n_bytes)


def as_strings(value: object) -> Strings:
    """Take a Block, a BytesColumn, or what :func:`byte_strings` takes."""
    if isinstance(value, Block):
        return Strings(value.data, value.offsets, value.lengths, (len(value),), value)
    if isinstance(value, BytesColumn):
        data = np.ascontiguousarray(value.data)
        return Strings(data, value.offsets[:-1], value.lengths, (len(value),))
    shape, items = byte_strings(value)
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    ends = np.cumsum(lengths)
    if lengths.max(initial=0) < _WIDE_BYTES:
        data = np.frombuffer(bytearray().join(items), np.uint8)
    else:
        # NumPy asks for large pages, a bytearray does not; faulting in small ones costs
        # several times as much as the copy.
        data = np.empty(int(ends[-1]), np.uint8)
        view = memoryview(data)  # type: ignore[arg-type]
        for item, end in zip(items, ends.tolist(), strict=True):
            view[end - len(item) : end] = item
    return Strings(data, ends - lengths, lengths, shape, is_copy=True)


def byte_strings(value: object) -> tuple[tuple[int, ...], list[bytes]]:
    """Return the shape of an array, nested sequences, bytes or str, and the strings in it; text becomes UTF-8."""
    if not isinstance(value, str | bytes | bytearray | memoryview) and hasattr(value, "__array__"):
        array = np.asarray(value)
        shape, items = array.shape, array.ravel().tolist()
    elif isinstance(value, list) and set(map(type, value)) == {bytes}:
        return (len(value),), value
    else:
        shape, items = flatten(value)
    if set(map(type, items)) <= {bytes}:  # nearly always
        return shape, items
    return shape, [_bytes_of(item) for item in items]


def _bytes_of(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytearray | memoryview):
        return bytes(item)
    if isinstance(item, np.ndarray):  # without dimensions
        return _bytes_of(item.item())
    raise TypeError(f"expected bytes, not {type(item).__name__}")


def flatten(value: object) -> tuple[tuple[int, ...], list[Any]]:
    """Take nested sequences apart: their shape, and the items of the innermost ones.

    Raises BAD_SHAPE if sequences of one level differ in length or depth, or there are too many levels.

    >>> flatten([[b"a", b"b"], [b"c", b"d"]])
    ((2, 2), [b'a', b'b', b'c', b'd'])
    """
    _check_depth(value)
    shape: list[int] = []
    level: list[Any] = [value]
    while True:
        nested = [_is_nested(item) for item in level]
        if not any(nested):
            return tuple(shape), _items(level)
        if not all(nested) or len({len(item) for item in level}) > 1:
            detail = f"the sequences {len(shape)} levels down differ in length or depth"
            raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
        shape.append(len(level[0]))
        level = list(chain.from_iterable(level))


def _items(leaves: list[Any]) -> list[Any]:
    """Take items out of arrays without dimensions, as a parsed feature of one record is."""
    if not any(issubclass(cls, np.ndarray) for cls in set(map(type, leaves))):
        return leaves
    return [leaf[()] if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]


def _check_depth(value: Any) -> None:
    """Raise for too many levels, as in a list that contains itself, by the first sequence of each."""
    for _ in range(MOST_DIMS):
        if not _is_nested(value) or not len(value):
            return
        value = value[0]
    if _is_nested(value):
        detail = f"nested too deeply: an array has at most {MOST_DIMS} dimensions"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)


def _is_nested(item: object) -> bool:
    if isinstance(item, list | tuple | range):
        return True
    return isinstance(item, np.ndarray) and item.ndim > 0
