"""Many byte strings in one of two forms: Python objects, or byte ranges of one buffer.

Both forms have the same methods: which strings begin alike, and the bytes of many from one offset
on as one array. So the code that reads numbers out of strings does not depend on their form. For
objects that is a join, for byte ranges a gather of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array, gather, rows
from tfrecord_lite.block import Block, Place
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.dtypes import MOST_DIMS

_WIDE_BYTES = 2048
"""Strings of this size and more are copied one by one rather than joined."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectStrings:
    """An array of byte strings that are Python objects."""

    shape: tuple[int, ...]
    items: list[bytes]

    @property
    def lengths(self) -> Int64Array:
        """Bytes of each string; shape (n,)."""
        return np.fromiter(map(len, self.items), np.int64, len(self.items))

    def item(self, i: int) -> bytes:
        """Return one string."""
        return self.items[i]

    def begin_with(self, prefix: bytes) -> BoolArray:
        """Say which strings begin with `prefix`; shape (n,)."""
        return np.fromiter((item.startswith(prefix) for item in self.items), np.bool_)

    def slices(self, start: int, n_bytes: int, chosen: Int64Array | None = None) -> Uint8Array:
        """Copy `n_bytes` of each string from `start` on, end to end; each must have them.

        With `chosen`, only of the strings with these numbers.
        """
        items = self.items if chosen is None else [self.items[i] for i in chosen.tolist()]
        n, stop = len(items), start + n_bytes
        width = len(items[0]) if n else 0
        if width < _WIDE_BYTES and set(map(len, items)) <= {width}:
            whole = np.frombuffer(bytearray().join(items), np.uint8)
            return np.ascontiguousarray(whole.reshape(n, width)[:, start:stop]).reshape(-1)
        # NumPy asks for large pages, a bytearray does not; faulting in small ones costs
        # several times as much as the copy.
        out = np.empty(n * n_bytes, np.uint8)
        view = memoryview(out)  # type: ignore[arg-type]
        for i, item in enumerate(items):
            view[i * n_bytes : (i + 1) * n_bytes] = memoryview(item)[start:stop]
        return out

    def padded(self, n_bytes: int) -> Uint8Array:
        """Copy the first `n_bytes` of each string end to end; a shorter one is padded with 0."""
        if min(map(len, self.items), default=0) >= n_bytes:
            return self.slices(0, n_bytes)
        parts = [item[:n_bytes].ljust(n_bytes, b"\0") for item in self.items]
        return np.frombuffer(bytearray().join(parts), np.uint8)

    def place(self, _: int) -> Place | None:
        """Return None: the string came from memory."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class BufferStrings(ByteRanges):
    """Byte strings that are byte ranges of one contiguous buffer, which is never changed."""

    block: Block | None = None
    """The block that the strings are the records of, for errors."""

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.starts.size,)

    def item(self, i: int) -> bytes:
        """Copy one string."""
        start = int(self.starts[i])
        return self.data[start : start + int(self.lengths[i])].tobytes()

    def begin_with(self, prefix: bytes) -> BoolArray:
        """Say which strings begin with `prefix`; shape (n,)."""
        found = self.lengths >= len(prefix)
        if prefix and found.any():
            firsts = _rows(self.data, self.starts[found], len(prefix))
            found[found] = (firsts == np.frombuffer(prefix, np.uint8)).all(axis=1)
        return found

    def slices(self, start: int, n_bytes: int, chosen: Int64Array | None = None) -> Uint8Array:
        """Copy `n_bytes` of each string from `start` on, end to end; each must have them.

        With `chosen`, only of the strings with these numbers.
        """
        starts = self.starts if chosen is None else self.starts[chosen]
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

    def place(self, i: int) -> Place | None:
        """Return where a string came from, if that is known."""
        return self.block.place(i) if self.block is not None else None


def _rows(data: Uint8Array, starts: Int64Array, n_bytes: int) -> Uint8Array:
    """Copy `n_bytes` from each place; shape (n, n_bytes)."""
    return rows(data, n_bytes)[starts].view(np.uint8).reshape(starts.size, n_bytes)


Strings = ObjectStrings | BufferStrings


def as_strings(given: object) -> Strings:
    """Take a Block, BytesColumn, array, nested sequences, bytes or str; text becomes UTF-8.

    Raises BAD_SHAPE for uneven or too deeply nested sequences, TypeError for what is neither
    bytes nor str.
    """
    if isinstance(given, Block):
        return BufferStrings(given.data, given.offsets, given.lengths, given)
    if isinstance(given, BytesColumn):
        data = np.ascontiguousarray(given.data)
        return BufferStrings(data, given.offsets[:-1], given.lengths)
    if isinstance(given, np.ndarray):
        return ObjectStrings(given.shape, _all_bytes(given.ravel().tolist()))
    if not isinstance(given, str | bytes | bytearray | memoryview) and hasattr(given, "__array__"):
        return as_strings(np.asarray(given))
    if isinstance(given, list) and set(map(type, given)) == {bytes}:
        return ObjectStrings((len(given),), given)
    shape, items = flatten(given)
    return ObjectStrings(shape, _all_bytes(items))


def _all_bytes(items: list[Any]) -> list[bytes]:
    if set(map(type, items)) <= {bytes}:  # nearly always
        return items
    return [_bytes_of(item) for item in items]


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

    Raises BAD_SHAPE if sequences of one level differ in length or depth, or there are more
    levels than an array has dimensions, as in a list that contains itself.

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
    """Raise for too many levels, going by the first sequence of each: all others are as deep.

    This comes before any level is made: each may have many times the items of the one before.
    """
    for _ in range(MOST_DIMS):
        if not _is_nested(value) or not len(value):
            return
        value = value[0]
    if _is_nested(value):
        detail = f"nested too deeply: an array has at most {MOST_DIMS} dimensions"
        raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)


def _is_nested(item: object) -> bool:
    return isinstance(item, list | tuple | range) or (
        isinstance(item, np.ndarray) and item.ndim > 0
    )
