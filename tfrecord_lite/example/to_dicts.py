"""Without a schema: messages to dictionaries, whatever features they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypedDict

import numpy as np

from tfrecord_lite.arrays import AnyArray, Uint8Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.restore import objects_of
from tfrecord_lite.example.decode.batch import FEW, DiscoveredKeys, MessageBatch, by_runtime
from tfrecord_lite.example.decode.entries import kinds_in
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import Serialized, as_block, as_bytes
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch, read_sequences
from tfrecord_lite.options import hinted
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered

Row = dict[str, AnyArray]


class SequenceRow(TypedDict):
    """A decoded SequenceExample."""

    context: Row
    feature_lists: dict[str, list[AnyArray]]


_WIDE_BYTES = 256
"""Rows of this size and more are copied, so that one row does not keep its batch in memory."""


class Decoder:
    """Decodes batches of Examples, or of SequenceExamples, into dictionaries; remembers keys, so not thread-safe."""

    def __init__(self, *, of_sequences: bool = False) -> None:
        self._of_sequences = of_sequences
        self._keys, self._list_keys = DiscoveredKeys(), DiscoveredKeys()

    def __call__(self, block: Block) -> list[Any]:
        """Decode a block, as :func:`decode_examples` or :func:`decode_sequence_examples`."""
        rows = self._by_runtime(block) if len(block) <= FEW else None
        if rows is not None:
            return rows
        message_type = "SequenceExample" if self._of_sequences else "Example"
        return parse_or_first_error(block, None, self._read, message_type)

    def one(self, serialized: bytes | str) -> Any:
        """Decode one message."""
        record = as_bytes(serialized)
        return (self._by_runtime([record]) or self(as_block([record])))[0]

    def _by_runtime(self, records: Iterable[bytes]) -> list[Any] | None:
        """Decode a few messages with the protobuf runtime; None if it is unsure of one."""

        def read(runtime: Any) -> list[Any]:
            if not self._of_sequences:
                return [runtime.row_of(record) for record in records]
            return [_sequence_row(runtime, record) for record in records]

        return by_runtime(read)

    def _read(self, block: Block) -> list[Any]:
        """Read a block, a half at a time if it has too many keys for one table; raises WireError."""
        if not self._of_sequences:
            batch = self._keys.read_examples(block)
            if batch is not None:
                return _rows_of(batch, self._keys.table.keys)
        elif (sequences := read_sequences(self._list_keys, block)) is not None:
            batch = self._keys.read_examples(sequences.contexts(block))
            if batch is not None:
                contexts = _rows_of(batch, self._keys.table.keys)
                rows: list[SequenceRow] = [{"context": c, "feature_lists": {}} for c in contexts]
                for number, key in enumerate(self._list_keys.table.keys):
                    _add_list(rows, sequences, number, key.decode())
                return rows
        few = self._by_runtime(block)
        if few is not None:
            return few
        middle = len(block) // 2
        first = self._read(block[:middle])
        with renumbered(middle):
            return first + self._read(block[middle:])


def _sequence_row(runtime: Any, serialized: bytes) -> SequenceRow:
    """Decode a SequenceExample with the protobuf runtime; raises UnsureError."""
    from tfrecord_lite.messages import SequenceExample  # noqa: PLC0415 - not light

    message = runtime.parsed(SequenceExample, serialized)
    lists: dict[str, Any] = {}
    feature_lists = message.feature_lists.feature_list
    for name in sorted(feature_lists):
        steps = [runtime.array_of(feature) for feature in feature_lists[name].feature]
        lists[name] = [values for _, values in steps]
        _match_empty(lists[name], np.array([kind for kind, _ in steps], np.uint8))
    return {"context": runtime.arrays_of(message.context), "feature_lists": lists}


def _rows_of(batch: MessageBatch, keys: tuple[bytes, ...]) -> list[Row]:
    """Make dictionaries of messages that were read together, given all their keys."""
    names: list[str] = []  # of the features that every message has
    columns: list[Any] = []
    partial: list[tuple[str, list[int], Any]] = []
    for number, key in enumerate(keys):
        for kind, having in kinds_in(batch.kinds(number), batch.n_messages):
            arrays = _arrays_of(batch.lists(number, kind))
            if having is None:
                names.append(key.decode())
                columns.append(arrays)
            else:
                partial.append((key.decode(), having.tolist(), arrays))
    rows: list[Row] = [{} for _ in range(batch.n_messages)]
    if names:
        rows = list(map(_dict_maker(tuple(names)), *columns))
    for name, numbers, arrays in partial:
        for i in numbers:
            rows[i][name] = arrays[i]
    return rows


@lru_cache(maxsize=64)
def _dict_maker(names: tuple[str, ...]) -> Callable[..., Row]:
    """Return ``lambda a0, a1: {"age": a0, "name": a1}``, which takes half the time of ``dict(zip(names, values))``."""
    arguments = [f"a{i}" for i in range(len(names))]
    items = ", ".join(f"{name!r}: {value}" for name, value in zip(names, arguments, strict=True))
    return eval(f"lambda {', '.join(arguments)}: {{{items}}}")  # type: ignore[no-any-return]  # noqa: S307


def _add_list(rows: list[SequenceRow], batch: SequenceMessageBatch, number: int, name: str) -> None:
    """Add the steps of one feature list to the messages that have it."""
    kinds, (first, *others) = batch.kinds(number), batch.kinds_present(number)
    lists = batch.lists(number, first)
    steps = list(_arrays_of(lists.below()))
    for kind in others:
        arrays = _arrays_of(batch.lists(number, kind).below())
        for i in np.flatnonzero(kinds == kind).tolist():
            steps[i] = arrays[i]
    with_empty = None if isinstance(kinds, int) or kinds.all() else kinds
    present = [True] * lists.n if lists.present is None else lists.present.tolist()
    bounds = pairwise(row_splits(lists.lengths).tolist())
    for row, is_there, (start, stop) in zip(rows, present, bounds, strict=True):
        if is_there:
            row["feature_lists"][name] = own = steps[start:stop]
            if with_empty is not None:
                _match_empty(own, with_empty[start:stop])


def _match_empty(steps: list[AnyArray], kinds: Uint8Array) -> None:
    """Give steps without a kind the dtype of the first that has one, or float32."""
    first = next((Kind(kind) for kind in kinds.tolist() if kind), Kind.FLOAT)
    for i in np.flatnonzero(kinds == 0).tolist():
        steps[i] = np.empty(0, first.dtype)


def _arrays_of(lists: Lists) -> Any:
    """Divide the values of a feature into an array per message, in a list or an array; short ones are views."""
    count = lists.levels[0]
    flat: Any = objects_of(lists.flat) if lists.kind is Kind.BYTES else lists.flat
    if isinstance(count, int):
        rows: Any = flat.reshape(lists.n, count)
    else:
        rows = [flat[start:stop] for start, stop in pairwise(row_splits(count).tolist())]
    return [row.copy() for row in rows] if lists.n_bytes > _WIDE_BYTES * lists.n else rows


@hinted
def decode_example(serialized: bytes | str) -> Row:
    """Decode one Example message into a dictionary, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict of str to ndarray
        One entry per feature: int64 or float32, shape (n_values,), or an object array of
        ``bytes``. A feature without a kind counts as missing (X3).

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
    row: Row = Decoder().one(serialized)
    return row


@hinted
def decode_examples(serialized: Serialized) -> list[Row]:
    """Decode a batch of Example messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict of str to ndarray
        One for each message, as :func:`decode_example` returns it. Short arrays may be views
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
    return Decoder()(as_block(serialized))


@hinted
def decode_sequence_example(serialized: bytes | str) -> SequenceRow:
    """Decode one SequenceExample message into dictionaries, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict
        ``{"context": {...}, "feature_lists": {...}}``. The context is what :func:`decode_example`
        returns for an Example; each feature list is a list of such arrays, one per step. A step
        without a kind has no values, and the dtype of the first step of its list that has a kind, or float32.

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
    row: SequenceRow = Decoder(of_sequences=True).one(serialized)
    return row


@hinted
def decode_sequence_examples(serialized: Serialized) -> list[SequenceRow]:
    """Decode a batch of SequenceExample messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict
        Each message as :func:`decode_sequence_example` returns it, with the memory and the errors
        of :func:`decode_examples`.

    Examples
    --------
    >>> block = encode_sequence_examples({"id": [1, 2]}, {"tokens": [[5, 6], [7]]})
    >>> for row in decode_sequence_examples(block):
    ...     print(row["context"]["id"], row["feature_lists"]["tokens"])
    [1] [array([5]), array([6])]
    [2] [array([7])]
    """
    return Decoder(of_sequences=True)(as_block(serialized))
