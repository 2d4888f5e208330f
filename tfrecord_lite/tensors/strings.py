"""Many byte strings, in whatever form they come: objects, or extents of one buffer.

Both forms answer the same questions, so that what is made of the strings does not
depend on how they came: which begin alike, and the bytes of many at the same place as
one array. For objects that is a join, for extents a gather of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array, gather, rows
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.tensors.dtypes import MOST_DIMS

if TYPE_CHECKING:
    from tfrecord_lite.block import Place

_WIDE_BYTES = 2048
"""From this size on, strings are copied one by one rather than joined."""


def flatten(value: object) -> tuple[tuple[int, ...], list[Any]]:
    """Take nested sequences apart: their shape, and what is in the innermost ones.

    Raises
    ------
    InvalidArgumentError
        ``BAD_SHAPE`` if sequences next to each other differ in length or depth, or there
        are more levels than an array has dimensions, as in a list that contains itself.

    Examples
    --------
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
            detail = f"sequences of several lengths or depths, {len(shape)} levels down"
            raise InvalidArgumentError(Reason.BAD_SHAPE, detail=detail)
        shape.append(len(level[0]))
        level = list(chain.from_iterable(level))


def _items(leaves: list[Any]) -> list[Any]:
    """Take what is in arrays without a dimension, such as a parsed feature of one record is."""
    if not any(issubclass(cls, np.ndarray) for cls in set(map(type, leaves))):
        return leaves
    return [leaf[()] if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]


def _check_depth(value: Any) -> None:
    """Refuse too many levels, by the first sequence of each: all others are as deep.

    Before any level is made, as each may have many times the items of the one before.
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


def _all_bytes(items: list[Any]) -> list[bytes]:
    if set(map(type, items)) <= {bytes}:  # nearly always, and told at once
        return items
    return [_bytes_of(item) for item in items]


def _bytes_of(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytearray | memoryview):
        return bytes(item)
    if isinstance(item, np.ndarray):  # of no dimensions
        return _bytes_of(item.item())
    raise TypeError(f"expected bytes, not {type(item).__name__}")


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Byte strings that are objects.

    Parameters
    ----------
    shape : tuple of int
        Of the array that they are.
    items : list of bytes
    """

    shape: tuple[int, ...]
    items: list[bytes]

    @property
    def lengths(self) -> Int64Array:
        """int64, shape (n,): bytes of each."""
        return np.fromiter(map(len, self.items), np.int64, len(self.items))

    def item(self, i: int) -> bytes:
        """Return one."""
        return self.items[i]

    def take(self, chosen: Int64Array) -> Objects:
        """Return some."""
        return Objects((chosen.size,), [self.items[i] for i in chosen.tolist()])

    def begins(self, head: bytes) -> BoolArray:
        """Say which begin with some bytes; shape (n,)."""
        return np.fromiter((item.startswith(head) for item in self.items), np.bool_)

    def joined(self, start: int, n_bytes: int) -> Uint8Array:
        """Copy as many bytes of each, from a place on, end to end; each must have them."""
        n, stop = len(self.items), start + n_bytes
        width = len(self.items[0]) if n else 0
        if width < _WIDE_BYTES and set(map(len, self.items)) <= {width}:
            whole = np.frombuffer(bytearray().join(self.items), np.uint8)
            return np.ascontiguousarray(whole.reshape(n, width)[:, start:stop]).reshape(-1)
        # NumPy asks for large pages, a bytearray does not; faulting in small ones costs
        # several times as much as the copy.
        out = np.empty(n * n_bytes, np.uint8)
        view = memoryview(out)  # type: ignore[arg-type]
        for i, item in enumerate(self.items):
            view[i * n_bytes : (i + 1) * n_bytes] = memoryview(item)[start:stop]
        return out

    def padded(self, n_bytes: int) -> Uint8Array:
        """Copy the first bytes of each end to end; zeros follow one that is shorter."""
        if min(map(len, self.items), default=0) >= n_bytes:
            return self.joined(0, n_bytes)
        parts = [item[:n_bytes].ljust(n_bytes, b"\0") for item in self.items]
        return np.frombuffer(bytearray().join(parts), np.uint8)

    def place(self, i: int) -> Place | None:
        """Return nothing: it came from memory."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """Byte strings that are parts of one buffer.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        Contiguous. Never changed.
    starts, lengths : int64, shape (n,)
    block : Block, optional
        Where they come from, for errors.
    """

    data: Uint8Array
    starts: Int64Array
    lengths: Int64Array
    block: Block | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.starts.size,)

    def item(self, i: int) -> bytes:
        """Copy one."""
        start = int(self.starts[i])
        return self.data[start : start + int(self.lengths[i])].tobytes()

    def take(self, chosen: Int64Array) -> Extents:
        """Return some."""
        return Extents(self.data, self.starts[chosen], self.lengths[chosen])

    def begins(self, head: bytes) -> BoolArray:
        """Say which begin with some bytes; shape (n,)."""
        found = self.lengths >= len(head)
        if head and found.any():
            cells = _rows(self.data, self.starts[found], len(head))
            found[found] = (cells == np.frombuffer(head, np.uint8)).all(axis=1)
        return found

    def joined(self, start: int, n_bytes: int) -> Uint8Array:
        """Copy as many bytes of each, from a place on, end to end; each must have them."""
        if not n_bytes or not self.starts.size:
            return np.empty(0, np.uint8)
        return _rows(self.data, self.starts + start, n_bytes).reshape(-1)

    def padded(self, n_bytes: int) -> Uint8Array:
        """Copy the first bytes of each end to end; zeros follow one that is shorter."""
        kept = np.minimum(self.lengths, n_bytes)
        if (kept == n_bytes).all():
            return self.joined(0, n_bytes)
        out = np.zeros((self.starts.size, n_bytes), np.uint8)
        out[np.arange(n_bytes) < kept[:, None]] = gather(self.data, self.starts, kept)
        return out.reshape(-1)

    def place(self, i: int) -> Place | None:
        """Say where one came from, if that is known."""
        return self.block.place(i) if self.block is not None else None


def _rows(data: Uint8Array, starts: Int64Array, n_bytes: int) -> Uint8Array:
    """Copy as many bytes from each of many places; shape (n, n_bytes)."""
    return rows(data, n_bytes)[starts].view(np.uint8).reshape(starts.size, n_bytes)


Strings = Objects | Extents


def as_strings(given: object) -> Strings:
    """Take byte strings in any form.

    Parameters
    ----------
    given : Block, BytesColumn, array, nested sequences, bytes or str
        Arrays are of objects, or of NumPy's strings. Text is encoded as UTF-8.

    Raises
    ------
    InvalidArgumentError
        ``BAD_SHAPE`` for nested sequences of several lengths, or nested too deeply.
    TypeError
        For what is neither bytes nor str.
    """
    if isinstance(given, Block):
        return Extents(given.data, given.offsets, given.lengths, given)
    if isinstance(given, BytesColumn):
        data = np.ascontiguousarray(given.data)
        return Extents(data, given.offsets[:-1], given.lengths)
    if isinstance(given, np.ndarray):
        return Objects(given.shape, _all_bytes(given.ravel().tolist()))
    if not isinstance(given, str | bytes | bytearray | memoryview) and hasattr(given, "__array__"):
        return as_strings(np.asarray(given))
    if isinstance(given, list) and set(map(type, given)) == {bytes}:
        return Objects((len(given),), given)
    shape, items = flatten(given)
    return Objects(shape, _all_bytes(items))
