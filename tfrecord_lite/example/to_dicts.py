"""Without a schema: messages to dictionaries, whatever features they have.

::

    Example            {"id": array([7])}
    SequenceExample    {"context":       {"id": array([7])},
                        "feature_lists": {"tokens": [array([5, 6]), array([7, 8, 9])]}}

A batch is read like any other once its keys are known: those of earlier batches, and the new ones
found in it. The result is a dictionary per record, made a few at a time: users drop most of the arrays
soon, and the next ones reuse that memory while it is in the cache.

A single message is read by the protobuf runtime, which is faster than a lockstep of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np

from tfrecord_lite.arrays import AnyArray, ByteStrings, Int64Array, Uint8Array, row_splits
from tfrecord_lite.block import Block
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.restore import objects_of
from tfrecord_lite.example.decode.batch import FEW, DiscoveredKeys, MessageBatch, by_runtime
from tfrecord_lite.example.decode.features import kinds_in
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.decode.reader import as_block, as_bytes
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch, read_sequences
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered

if TYPE_CHECKING:
    from tfrecord_lite.example.decode.reader import Serialized

__all__ = [
    "SequenceRow",
    "decode_example",
    "decode_examples",
    "decode_sequence_example",
    "decode_sequence_examples",
]

Row = dict[str, AnyArray]


class SequenceRow(TypedDict):
    """A decoded SequenceExample."""

    context: Row
    feature_lists: dict[str, list[AnyArray]]


_ROWS_AT_ONCE = 256
_BYTES_AT_ONCE = 1024 * 1024
"""Dictionaries made at a time, and about the bytes of their messages."""
_SEQUENCES_AT_ONCE = 16
_WIDE_BYTES = 256
"""Rows of this size and more are copied, so that one row does not keep its batch in memory."""


class Decoder:
    """Decodes batches of Examples, or of SequenceExamples, into dictionaries.

    Remembers the keys of the last batch, so it is not thread-safe.
    """

    def __init__(self, *, of_sequences: bool = False) -> None:
        self._of_sequences = of_sequences
        self._keys, self._list_keys = DiscoveredKeys(), DiscoveredKeys()

    def __call__(self, block: Block) -> list[Any]:
        """Decode a block, as :func:`decode_examples` or :func:`decode_sequence_examples`."""
        return list(chain.from_iterable(self.parts(block)))

    def one(self, serialized: bytes | str) -> Any:
        """Decode one message."""
        record = as_bytes(serialized)
        return (self._by_runtime([record]) or self(as_block([record])))[0]

    def parts(self, block: Block) -> Iterator[list[Any]]:
        """Read a block, and return an iterator that makes its dictionaries, a few at a time.

        The block must stay as it is until then.
        """
        rows = self._by_runtime(block) if len(block) <= FEW else None
        if rows is not None:
            return iter([rows])
        message_type = "SequenceExample" if self._of_sequences else "Example"
        batches = parse_or_first_error(block, None, self._read, message_type)
        at_once = _SEQUENCES_AT_ONCE
        if not self._of_sequences:
            n_bytes = max(int(block.lengths.sum()), 1)
            at_once = min(_BYTES_AT_ONCE * len(block) // n_bytes + 1, _ROWS_AT_ONCE)
        return chain.from_iterable(parts(at_once) for parts in batches)

    def _by_runtime(self, records: Iterable[bytes]) -> list[Any] | None:
        """Decode a few messages with the protobuf runtime; None if it is unsure of one."""

        def read(runtime: Any) -> list[Any]:
            if not self._of_sequences:
                return [runtime.row_of(record) for record in records]
            return [_sequence_row(runtime, record) for record in records]

        return by_runtime(read)

    def _read(self, block: Block) -> list[Callable[[int], Iterator[list[Any]]]]:
        """Read a block; return functions that make its dictionaries, so many at a time.

        Several if it has too many keys for one table. Raises WireError about one of the malformed
        messages, maybe not the first.
        """
        if not self._of_sequences:
            batch = self._keys.read_examples(block)
            if batch is not None:
                return [_Decoded(batch, self._keys.table.keys, None).parts]
        elif (sequences := read_sequences(self._list_keys, block)) is not None:
            batch = self._keys.read_examples(sequences.contexts(block))
            if batch is not None:
                keys = enumerate(self._list_keys.table.keys)
                lists = [_DecodedList(sequences, number, key.decode()) for number, key in keys]
                return [_Decoded(batch, self._keys.table.keys, lists).parts]
        rows = self._by_runtime(block)
        if rows is not None:
            return [lambda _: iter([rows])]
        middle = len(block) // 2
        found = self._read(block[:middle])
        with renumbered(middle):
            return found + self._read(block[middle:])


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


class _Decoded:
    """Messages that were read together: the features of all, and those that only some have.

    Of SequenceExamples, these are the contexts, and `lists` the feature lists.
    """

    def __init__(
        self, batch: MessageBatch, keys: tuple[bytes, ...], lists: list[_DecodedList] | None
    ) -> None:
        self._n_rows = batch.n_messages
        self._lists = lists
        self._names: list[str] = []
        self._arrays: list[_Arrays] = []
        self._partial: list[tuple[str, Int64Array, _Arrays]] = []
        for number, key in enumerate(keys):
            for kind, having in kinds_in(batch.kinds(number), batch.n_messages):
                arrays = _Arrays(batch.lists(number, kind))
                if having is None:
                    self._names.append(key.decode())
                    self._arrays.append(arrays)
                else:
                    self._partial.append((key.decode(), having, arrays))

    def parts(self, at_once: int) -> Iterator[list[Any]]:
        """Make the dictionaries, so many at a time."""
        for first in range(0, self._n_rows, max(at_once, 1)):
            rows: list[Any] = self._rows(first, min(first + at_once, self._n_rows))
            if self._lists is not None:
                rows = [{"context": row, "feature_lists": {}} for row in rows]
                for steps in self._lists:
                    steps.add_to(rows, first)
            yield rows

    def _rows(self, first: int, last: int) -> list[Row]:
        rows: list[Row] = [{} for _ in range(first, last)]
        if self._names:
            columns = [arrays.some(first, last) for arrays in self._arrays]
            rows = list(map(_dict_maker(tuple(self._names)), *columns))
        for name, having, arrays in self._partial:
            some = having[slice(*np.searchsorted(having, (first, last)))].tolist()
            if not some:
                continue
            values = arrays.some(some[0], some[-1] + 1)
            for i in some:
                rows[i - first][name] = values[i - some[0]]
        return rows


@lru_cache(maxsize=64)
def _dict_maker(names: tuple[str, ...]) -> Callable[..., Row]:
    """Return ``lambda a0, a1: {"age": a0, "name": a1}``, which takes half the time of ``dict(zip(names, values))``."""
    arguments = [f"a{i}" for i in range(len(names))]
    items = ", ".join(f"{name!r}: {value}" for name, value in zip(names, arguments, strict=True))
    return eval(f"lambda {', '.join(arguments)}: {{{items}}}")  # type: ignore[no-any-return]  # noqa: S307


class _DecodedList:
    """The steps of one feature list in all messages of a batch, as arrays."""

    def __init__(self, batch: SequenceMessageBatch, number: int, name: str) -> None:
        self._name = name
        kinds = batch.kinds(number)
        wanted = batch.kinds_present(number)
        lists = batch.lists(number, wanted[0])
        self._splits = row_splits(lists.lengths).tolist()
        present = lists.present
        self._is_present = None if present is None or present.all() else present.tolist()
        below = lists.below()
        arrays = _Arrays(below)
        self._some = arrays.some
        if len(wanted) > 1:
            steps = list(arrays.some(0, below.n))
            for kind in wanted[1:]:
                others = _Arrays(batch.lists(number, kind).below()).some(0, below.n)
                for i in np.flatnonzero(kinds == kind).tolist():
                    steps[i] = others[i]
            self._some = lambda first, last: steps[first:last]
        self._kinds = None
        if not isinstance(kinds, int) and not kinds.all():
            self._kinds = kinds  # some steps have no kind

    def add_to(self, rows: list[SequenceRow], first: int) -> None:
        """Add the list to those rows that have it; the first row is number `first`."""
        splits = self._splits[first : first + len(rows) + 1]
        steps = list(self._some(splits[0], splits[-1]))
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


class _Arrays:
    """The values of a feature, to be divided into an array per message."""

    def __init__(self, lists: Lists) -> None:
        flat: Any = lists.flat
        count = lists.levels[0]
        self._splits = row_splits(count) if not isinstance(count, int) else None
        self._count = count
        self._flat: Any = None
        self._long: ByteStrings | None = None
        self._is_wide = False
        if lists.kind is Kind.BYTES:
            if int(flat.lengths.sum()) > _WIDE_BYTES * len(flat):
                self._long = flat  # objects are made when they are asked for
                return
            flat = objects_of(flat)
        if self._splits is None:
            flat = flat.reshape(lists.n, count)
        self._flat = flat
        self._is_wide = flat.nbytes > _WIDE_BYTES * max(lists.n, 1)

    def some(self, first: int, last: int) -> Any:
        """Return the arrays of a range of messages, in a list or an array; short ones are views."""
        if self._splits is None:
            count = cast("int", self._count)
            if self._long is not None:
                some = self._long.take(slice(first * count, last * count))
                return list(objects_of(some).reshape(-1, count))
            rows = self._flat[first:last]
        else:
            splits = self._splits[first : last + 1]
            flat = self._flat
            if self._long is not None:
                some = self._long.take(slice(int(splits[0]), int(splits[-1])))
                flat, splits = objects_of(some), splits - splits[0]
            rows = [flat[a:b] for a, b in pairwise(splits.tolist())]
        return [row.copy() for row in rows] if self._is_wide else rows


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
    row: Row = Decoder().one(serialized)
    return row


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
    return Decoder()(as_block(serialized))


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
    row: SequenceRow = Decoder(of_sequences=True).one(serialized)
    return row


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
    return Decoder(of_sequences=True)(as_block(serialized))
