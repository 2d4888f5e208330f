"""decode_sequence_example(s): messages to dictionaries, without specifications.

::

    {"context":       {"id": array([7])},
     "feature_lists": {"tokens": [array([5, 6]), array([7, 8, 9])]}}

As for Examples (:mod:`tfrecord_lite.example.to_dicts`), a batch is read with all the keys it
has, and a single message by the protobuf runtime.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from tfrecord_lite.arrays import AnyArray, Uint8Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.example.decode.batch import FEW, DiscoveredKeys, by_runtime
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import as_block, as_bytes
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch
from tfrecord_lite.example.to_dicts import Arrays, ExampleDecoder, by_halves, split
from tfrecord_lite.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfrecord_lite.example.decode.batch import LayoutMemory
    from tfrecord_lite.example.decode.reader import Serialized
    from tfrecord_lite.example.to_dicts import Row
    from tfrecord_lite.wire.keys import KeyTable

__all__ = ["SequenceRow", "decode_sequence_example", "decode_sequence_examples"]

_ROWS_AT_ONCE = 16
"""Dictionaries that are made in one go."""


class SequenceRow(TypedDict):
    """A decoded SequenceExample."""

    context: dict[str, AnyArray]
    feature_lists: dict[str, list[AnyArray]]


class SequenceExampleDecoder:
    """Decodes batches of SequenceExamples, and remembers their keys; not thread-safe."""

    def __init__(self) -> None:
        self._context = ExampleDecoder()
        self._keys = DiscoveredKeys()

    def __call__(self, block: Block) -> Iterator[SequenceRow]:
        """Decode the messages of a block, as :meth:`parts`."""
        return chain.from_iterable(self.parts(block))

    def parts(self, block: Block) -> Iterator[list[SequenceRow]]:
        """Decode the messages of a block.

        All messages are read by this call; the iterator only makes the dictionaries. Raises
        InvalidArgumentError about the first malformed message.
        """
        rows = _rows_by_runtime(block) if len(block) <= FEW else None
        if rows is not None:
            return iter([rows])
        batches = parse_or_first_error(block, None, self._read, "SequenceExample")
        return chain.from_iterable(map(_DecodedBatch.rows, batches))

    def _read(self, block: Block) -> list[_DecodedBatch]:
        """Read a block, in several batches if it has too many keys for one table.

        Raises WireError about one of the malformed messages, maybe not the first.
        """
        stops = block.offsets + block.lengths

        def read(table: KeyTable, _: LayoutMemory) -> SequenceMessageBatch:
            return SequenceMessageBatch(block.data, block.offsets, stops, table)

        batch = self._keys.read(len(block), read)
        if batch is None:
            return by_halves(self._read, block)
        contexts = self._context.rows(
            Block(block.data, block.offsets, batch.context_stops - block.offsets)
        )
        keys = enumerate(self._keys.table.keys)
        lists = [_DecodedList(batch, number, key.decode()) for number, key in keys]
        return [_DecodedBatch(contexts, lists)]


class _DecodedBatch:
    """Messages that were read together: their contexts, and the feature lists of some of them."""

    def __init__(self, contexts: list[Row], lists: list[_DecodedList]) -> None:
        self._contexts = contexts
        self._lists = lists

    def rows(self) -> Iterator[list[SequenceRow]]:
        """Make the dictionaries, a few at a time.

        Users drop most of the arrays soon, and the next ones reuse that memory while it is in the
        cache.
        """
        n_rows = len(self._contexts)
        for first in range(0, n_rows, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, n_rows)
            rows: list[SequenceRow] = [
                {"context": context, "feature_lists": {}} for context in self._contexts[first:last]
            ]
            for steps in self._lists:
                steps.add_to(rows, first)
            yield rows


class _DecodedList:
    """The steps of one feature list in all messages of a batch, as arrays."""

    def __init__(self, batch: SequenceMessageBatch, number: int, name: str) -> None:
        self._name = name
        kinds = batch.kinds(number)
        present = [kinds] if isinstance(kinds, int) else np.flatnonzero(np.bincount(kinds)).tolist()
        wanted = [Kind(kind) for kind in present if kind] or [Kind.FLOAT]
        lists = batch.lists(number, wanted[0])
        self._splits = row_splits(lists.n_steps).tolist()
        self._is_present = None if lists.is_present.all() else lists.is_present.tolist()
        arrays = Arrays(lists.steps)
        self._some = arrays.some
        if len(wanted) > 1:
            steps = arrays.some(0, lists.steps.n_messages)
            for kind in wanted[1:]:
                others = split(batch.lists(number, kind).steps)
                for i in np.flatnonzero(kinds == kind).tolist():
                    steps[i] = others[i]
            self._some = lambda first, last: steps[first:last]
        has_empty = len(present) > 1 and present[0] == 0
        self._kinds = lists.steps.kind if has_empty else None

    def add_to(self, rows: list[SequenceRow], first: int) -> None:
        """Add the list to those rows that have it; the first row is number `first`."""
        splits = self._splits[first : first + len(rows) + 1]
        steps = self._some(splits[0], splits[-1])
        for i, row in enumerate(rows):
            if self._is_present is None or self._is_present[first + i]:
                own = slice(splits[i] - splits[0], splits[i + 1] - splits[0])
                row["feature_lists"][self._name] = steps[own]
                if self._kinds is not None:
                    kinds = self._kinds[splits[i] : splits[i + 1]]
                    _match_empty(row["feature_lists"][self._name], kinds)


def _match_empty(steps: list[AnyArray], kinds: Uint8Array) -> None:
    """Give steps without a kind the dtype of the first that has one, or float32."""
    first = next((Kind(kind) for kind in kinds.tolist() if kind), Kind.FLOAT)
    for i in np.flatnonzero(kinds == 0).tolist():
        steps[i] = np.empty(0, first.dtype)


def _row_of(runtime: Any, serialized: bytes) -> SequenceRow:
    """Decode one message with the protobuf runtime; raises UnsureError."""
    message = runtime.sequence_of(serialized)
    lists: dict[str, Any] = {}
    for name, feature_list in message.feature_lists.feature_list.items():
        steps = [runtime.array_of(feature) for feature in feature_list.feature]
        lists[name] = [values for _, values in steps]
        _match_empty(lists[name], np.array([kind for kind, _ in steps], np.uint8))
    return {"context": runtime.arrays_of(message.context), "feature_lists": lists}


def _rows_by_runtime(records: Iterable[bytes]) -> list[SequenceRow] | None:
    """Decode a few messages with the protobuf runtime; None if it is unsure of one."""
    return by_runtime(lambda runtime: [_row_of(runtime, record) for record in records])


def decode_sequence_example(serialized: bytes | str) -> SequenceRow:
    r"""Decode one SequenceExample message into dictionaries, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict
        ``{"context": {...}, "feature_lists": {...}}``. The context is what
        :func:`decode_example` returns for an Example; each feature list is a list of
        arrays, one per step: int64 or float32, shape (n_values,), or an object array of
        ``bytes``. A step without a kind has no values; its dtype is that of the first step
        in its list with a kind, or float32.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are not a SequenceExample.

    Examples
    --------
    >>> row = {"context": {"id": 1}, "feature_lists": {"tokens": [[5, 6], [7]]}}
    >>> decode_sequence_example(encode_sequence_example(row))
    {'context': {'id': array([1])}, 'feature_lists': {'tokens': [array([5, 6]), array([7])]}}
    """
    record = as_bytes(serialized)
    rows = _rows_by_runtime([record]) or list(SequenceExampleDecoder()(as_block([record])))
    return rows[0]


def decode_sequence_examples(serialized: Serialized) -> list[SequenceRow]:
    """Decode a batch of SequenceExample messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict
        Each message as :func:`decode_sequence_example` returns it. Short arrays may be
        views of one array of the batch; no two overlap.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED``, about the first malformed message.
    TypeError
        For one message instead of a sequence of them, and for messages that are not bytes.

    Examples
    --------
    >>> block = encode_sequence_examples({"id": [1, 2]}, {"tokens": [[5, 6], [7]]})
    >>> for row in decode_sequence_examples(block):
    ...     print(row["context"]["id"], row["feature_lists"]["tokens"])
    [1] [array([5]), array([6])]
    [2] [array([7])]
    """
    return list(SequenceExampleDecoder()(as_block(serialized)))
