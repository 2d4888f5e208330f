"""Without a schema: Example messages to dictionaries, whatever features they have.

A batch is read like any other once its keys are known: those of earlier batches, and the new ones
found in it. The result is a dictionary per record.

A single message is read by the protobuf runtime, which is faster than a lockstep of one.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, ByteRanges, Int64Array, row_splits
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.batch import FEW, DiscoveredKeys, by_runtime
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import as_block, as_bytes
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.block import Block
    from tfrecord_lite.example.decode.batch import MessageBatch
    from tfrecord_lite.example.decode.oneof import FeatureValues
    from tfrecord_lite.example.decode.reader import Serialized

    Row = dict[str, AnyArray]


AnyRow = TypeVar("AnyRow")

__all__ = ["decode_example", "decode_examples"]

_ROWS_AT_ONCE = 256
_BYTES_AT_ONCE = 1024 * 1024
"""Dictionaries made at a time, and about the bytes of their messages."""
_WIDE_BYTES = 256
"""Rows of this size and more are copied, so that one row does not keep its batch in memory."""


class ExampleDecoder:
    """Decode batches of Examples into dictionaries; remembers the keys, so it is not thread-safe."""

    def __init__(self) -> None:
        self._keys = DiscoveredKeys()

    def __call__(self, block: Block) -> list[Row]:
        """Decode a block, as :func:`decode_examples`."""
        return list(chain.from_iterable(self.parts(block)))

    def parts(self, block: Block) -> Iterator[list[Row]]:
        """Read a block, and return an iterator that makes its dictionaries, a few at a time.

        Users drop most of the arrays soon, and the next ones reuse that memory while it is in the
        cache. The block must stay as it is until then.
        """
        rows = _rows_by_runtime(block) if len(block) <= FEW else None
        if rows is not None:
            return iter([rows])
        batches = parse_or_first_error(block, None, self._read)
        n_bytes = max(int(block.lengths.sum()), 1)
        at_once = min(_BYTES_AT_ONCE * len(block) // n_bytes + 1, _ROWS_AT_ONCE)
        return chain.from_iterable(batch.parts(at_once) for batch in batches)

    def rows(self, block: Block) -> list[Row]:
        """Decode a batch; raises WireError about any of the messages that are malformed."""
        return [
            row for batch in self._read(block) for rows in batch.parts(len(block)) for row in rows
        ]

    def _read(self, block: Block) -> list[_DecodedBatch | _Rows]:
        """Read a batch, in several ones if it has too many keys for one table."""
        batch = self._keys.read_examples(block)
        if batch is not None:
            return [_DecodedBatch(batch, self._keys.table.keys)]
        one_by_one = _rows_by_runtime(block)
        return by_halves(self._read, block) if one_by_one is None else [_Rows(one_by_one)]


class _DecodedBatch:
    """Messages that were read together: the features of all, and those that only some have."""

    def __init__(self, batch: MessageBatch, keys: tuple[bytes, ...]) -> None:
        self._n_rows = batch.n_messages
        self._names: list[str] = []
        self._arrays: list[Arrays] = []
        self._partial: list[tuple[str, Int64Array, Arrays]] = []
        for number, key in enumerate(keys):
            kinds = batch.kinds(number)
            for kind in Kind:
                if isinstance(kinds, int):
                    if kinds == kind:
                        self._names.append(key.decode())
                        self._arrays.append(Arrays(batch.lists(number, kind)))
                elif (having := np.flatnonzero(kinds == kind)).size:
                    arrays = Arrays(batch.lists(number, kind))
                    self._partial.append((key.decode(), having, arrays))

    def parts(self, at_once: int) -> Iterator[list[Row]]:
        """Make the dictionaries, so many at a time."""
        for first in range(0, self._n_rows, max(at_once, 1)):
            yield self._rows(first, min(first + at_once, self._n_rows))

    def _rows(self, first: int, last: int) -> list[Row]:
        names = self._names
        rows: list[Row] = [{} for _ in range(first, last)]
        if names:
            columns = [arrays.some(first, last) for arrays in self._arrays]
            rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        for name, having, arrays in self._partial:
            some = having[slice(*np.searchsorted(having, (first, last)))].tolist()
            if not some:
                continue
            values = arrays.some(some[0], some[-1] + 1)
            for i in some:
                rows[i - first][name] = values[i - some[0]]
        return rows


class _Rows:
    """Dictionaries that were made otherwise, in the place of a :class:`_DecodedBatch`."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def parts(self, at_once: int) -> Iterator[list[Row]]:
        """Return all."""
        return iter([self._rows])


def by_halves(rows_of: Callable[[Block], list[AnyRow]], block: Block) -> list[AnyRow]:
    """Decode one half of a batch, then the other."""
    middle = len(block) // 2
    rows = rows_of(block[:middle])
    with renumbered(middle):
        return rows + rows_of(block[middle:])


def _rows_by_runtime(records: Iterable[bytes]) -> list[Row] | None:
    """Decode a few messages with the protobuf runtime; None if it is unsure of one."""
    return by_runtime(lambda runtime: [runtime.row_of(record) for record in records])


class Arrays:
    """The values of a feature, to be divided into an array per message."""

    def __init__(self, lists: FeatureValues) -> None:
        flat: Any = lists.flat
        count = lists.values.counts
        self._splits = row_splits(count) if not isinstance(count, int) else None
        self._count = count
        self._flat: Any = None
        self._long: ByteRanges | None = None
        self._is_wide = False
        if isinstance(flat, ByteRanges):
            if int(flat.lengths.sum()) > _WIDE_BYTES * len(flat):
                self._long = flat  # objects are made when they are asked for
                return
            flat = build.strings(flat, as_column=False)
        if self._splits is None:
            flat = flat.reshape(lists.n_messages, count)
        self._flat = flat
        self._is_wide = flat.nbytes > _WIDE_BYTES * max(lists.n_messages, 1)

    def some(self, first: int, last: int) -> list[AnyArray]:
        """Return the arrays of a range of messages; short ones are views."""
        if self._splits is None:
            count = cast("int", self._count)
            if self._long is not None:
                some = self._long.take(slice(first * count, last * count))
                return list(build.strings(some, as_column=False).reshape(-1, count))  # type: ignore[union-attr]
            rows = list(self._flat[first:last])
        else:
            splits = self._splits[first : last + 1]
            flat = self._flat
            if self._long is not None:
                some = self._long.take(slice(int(splits[0]), int(splits[-1])))
                flat, splits = build.strings(some, as_column=False), splits - splits[0]
            rows = [flat[a:b] for a, b in pairwise(splits.tolist())]
        return [row.copy() for row in rows] if self._is_wide else rows


def split(lists: FeatureValues) -> list[AnyArray]:
    """Divide the values of a feature into an array per message."""
    return Arrays(lists).some(0, lists.n_messages)


def decode_example(serialized: bytes | str) -> Row:
    r"""Decode one Example message into a dictionary, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict of str to ndarray
        One entry per feature: int64 or float32, shape (n_values,), or an object array of
        ``bytes``. A feature without a kind is left out: it counts as missing (X3).

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are not an Example.

    Examples
    --------
    >>> ada = encode_example({"age": 36})
    >>> decode_example(ada)
    {'age': array([36])}
    """
    record = as_bytes(serialized)
    rows = _rows_by_runtime([record]) or ExampleDecoder()(as_block([record]))
    return rows[0]


def decode_examples(serialized: Serialized) -> list[Row]:
    """Decode a batch of Example messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict of str to ndarray
        Of each message, as :func:`decode_example` returns it. Short arrays may be views
        of one array of the batch; no two overlap.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED``, about the first malformed message.
    TypeError
        For one message instead of a sequence of them, and for messages that are not bytes.

    Examples
    --------
    >>> people = encode_examples({"name": ["Ada", "Alan", "Grace"], "age": [36, 41, None]})
    >>> for row in decode_examples(people):
    ...     print(row["name"], row.get("age"))
    [b'Ada'] [36]
    [b'Alan'] [41]
    [b'Grace'] None
    """
    return ExampleDecoder()(as_block(serialized))
