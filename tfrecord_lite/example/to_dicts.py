"""Without a schema: Example messages to dictionaries, whatever features they have.

A batch is read like any other once its keys are known: those of earlier batches, and the new ones
found in it. The result is a dictionary per record.

A single message is read by the protobuf runtime, which is faster than a lockstep of one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.arrays import AnyArray, ByteRanges, Int64Array, row_splits
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.batch import FEW, DiscoveredKeys, by_runtime
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import as_block, as_bytes
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfrecord_lite.block import Block
    from tfrecord_lite.example.decode.oneof import FeatureValues
    from tfrecord_lite.example.decode.reader import Serialized

    Row = dict[str, AnyArray]


AnyRow = TypeVar("AnyRow")

__all__ = ["decode_example", "decode_examples"]

_WIDE_BYTES = 256
"""Rows of this size and more are copied, so that one row does not keep its batch in memory."""


class ExampleDecoder:
    """Decode batches of Examples into dictionaries; remembers the keys, so it is not thread-safe."""

    def __init__(self) -> None:
        self._keys = DiscoveredKeys()

    def __call__(self, block: Block) -> list[Row]:
        """Decode a block, as :func:`decode_examples`."""
        rows = _rows_by_runtime(block) if len(block) <= FEW else None
        return parse_or_first_error(block, None, self.rows) if rows is None else rows

    def rows(self, block: Block) -> list[Row]:
        """Decode a batch, in halves if it has too many keys for one table.

        Raises WireError about any of the messages that are malformed.
        """
        batch = self._keys.read_examples(block)
        if batch is None:
            one_by_one = _rows_by_runtime(block)
            return by_halves(self.rows, block) if one_by_one is None else one_by_one
        names: list[str] = []
        columns: list[list[AnyArray]] = []
        partial: list[tuple[str, Int64Array, list[AnyArray]]] = []
        for number, key in enumerate(self._keys.table.keys):
            kinds = batch.kinds(number)
            for kind in Kind:
                if isinstance(kinds, int):
                    if kinds == kind:
                        names.append(key.decode())
                        columns.append(split(batch.lists(number, kind)))
                elif (having := np.flatnonzero(kinds == kind)).size:
                    lists = batch.lists(number, kind)
                    partial.append((key.decode(), having, split(lists)))
        if names:
            rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        else:
            rows = [{} for _ in range(len(block))]
        for name, having, values in partial:
            for i in having.tolist():
                rows[i][name] = values[i]
        return rows


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
        if isinstance(flat, ByteRanges):
            flat = build.strings(flat, as_column=False)
        count = lists.values.counts
        self._splits: Int64Array | None = None
        if isinstance(count, int):
            flat = flat.reshape(lists.n_messages, count)
        else:
            self._splits = row_splits(count)
        self._flat = flat
        self._is_wide = flat.nbytes > _WIDE_BYTES * max(lists.n_messages, 1)

    def some(self, first: int, last: int) -> list[AnyArray]:
        """Return the arrays of a range of messages; short ones are views."""
        if self._splits is None:
            rows = list(self._flat[first:last])
        else:
            bounds = self._splits[first : last + 1].tolist()
            rows = [self._flat[a:b] for a, b in pairwise(bounds)]
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
    >>> decode_example(b"\x0a\x0c\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x0a\x01\x07")
    {'a': array([7])}
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
    """
    return ExampleDecoder()(as_block(serialized))
