"""Without a schema: SequenceExample messages to dictionaries, whatever they hold.

::

    {"context":       {"id": array([7])},
     "feature_lists": {"tokens": [array([5, 6]), array([7, 8, 9])]}}

As for Examples (:mod:`.decode`): a batch is read once it is known which keys there are,
a single message by the protobuf runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from tfrecord_lite.block import Block
from tfrecord_lite.example.batch import FEW
from tfrecord_lite.example.blame import first_wrong
from tfrecord_lite.example.decode import ExampleDecoder, by_halves, by_runtime, split
from tfrecord_lite.example.discover import Keys
from tfrecord_lite.example.reading import as_block, as_bytes
from tfrecord_lite.example.sequences import SequenceBatch
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.ragged import row_splits

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.example.batch import Memory
    from tfrecord_lite.example.reading import Serialized
    from tfrecord_lite.wire.keys import KeyTable

__all__ = [
    "SequenceExampleDecoder",
    "SequenceRow",
    "decode_sequence_example",
    "decode_sequence_examples",
]


class SequenceRow(TypedDict):
    """What a SequenceExample is decoded to."""

    context: dict[str, npt.NDArray[Any]]
    feature_lists: dict[str, list[npt.NDArray[Any]]]


class SequenceExampleDecoder:
    """Decodes batches of SequenceExample messages; remembers what keys there are.

    Notes
    -----
    Not thread-safe; one a thread is cheap.
    """

    def __init__(self) -> None:
        self._context = ExampleDecoder()
        self._keys = Keys()

    def __call__(self, block: Block) -> list[SequenceRow]:
        """Decode the messages of a block.

        Returns
        -------
        list of dict
            As :func:`decode_sequence_examples`.

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED``, about the first message that is.
        """
        rows = by_runtime(_row_of, block) if len(block) <= FEW else None
        return first_wrong(block, None, self.rows) if rows is None else rows

    def rows(self, block: Block) -> list[SequenceRow]:
        """Decode a batch, in parts if it has too many keys for one table.

        Raises
        ------
        WireError
            About one of the messages that are malformed, maybe not the first.
        """
        stops = block.offsets + block.lengths

        def read(table: KeyTable, _: Memory) -> SequenceBatch:
            return SequenceBatch(block.data, block.offsets, stops, table)

        batch = self._keys.read(len(block), read)
        if batch is None:
            return by_halves(self.rows, block)
        contexts = self._context.rows(
            Block(block.data, block.offsets, batch.context_stops - block.offsets)
        )
        rows: list[SequenceRow] = [
            {"context": context, "feature_lists": {}} for context in contexts
        ]
        for number, key in enumerate(self._keys.table.keys):
            _add_list(rows, batch, number, key.decode())
        return rows


def _add_list(rows: list[SequenceRow], batch: SequenceBatch, number: int, name: str) -> None:
    """Give each row the steps of one feature list, if it has it."""
    kinds = batch.kinds(number)
    present = np.unique(kinds)
    wanted = [Kind(int(kind)) for kind in present if kind] or [Kind.FLOAT]
    lists = batch.lists(number, wanted[0])
    steps = split(batch.data, lists.steps)
    for kind in wanted[1:]:
        others = split(batch.data, batch.lists(number, kind).steps)
        for i in np.flatnonzero(kinds == kind).tolist():
            steps[i] = others[i]
    splits = row_splits(lists.n_steps).tolist()
    has_list = lists.is_present
    everyone = range(len(rows)) if has_list.all() else np.flatnonzero(has_list).tolist()
    for i in everyone:
        rows[i]["feature_lists"][name] = steps[splits[i] : splits[i + 1]]
    if present.size > 1 and present[0] == 0:
        kinds = lists.steps.kind
        for i in everyone:
            _match_empty(rows[i]["feature_lists"][name], kinds[splits[i] : splits[i + 1]])


def _match_empty(steps: list[npt.NDArray[Any]], kinds: npt.NDArray[np.uint8]) -> None:
    """Give steps without a kind the dtype of the first that has one, or float32."""
    first = next((Kind(kind) for kind in kinds.tolist() if kind), Kind.FLOAT)
    for i in np.flatnonzero(kinds == 0).tolist():
        steps[i] = np.empty(0, first.dtype)


def _row_of(serialized: bytes) -> SequenceRow:
    """Decode one message with the protobuf runtime.

    Raises
    ------
    NotSure
    """
    from tfrecord_lite.example.few import array_of, sequence_of  # noqa: PLC0415 - not light

    message = sequence_of(serialized)
    found = {name: array_of(each) for name, each in message.context.feature.items()}
    lists: dict[str, Any] = {}
    for name, feature_list in message.feature_lists.feature_list.items():
        steps = [array_of(feature) for feature in feature_list.feature]
        lists[name] = [values for _, values in steps]
        _match_empty(lists[name], np.array([kind for kind, _ in steps], np.uint8))
    context = {name: values for name, (_, values) in found.items() if values is not None}
    return {"context": context, "feature_lists": lists}


def decode_sequence_example(serialized: bytes | str) -> SequenceRow:
    r"""Decode one SequenceExample message into dictionaries, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict
        ``{"context": {...}, "feature_lists": {...}}``. The context as
        :func:`decode_example` gives an Example's features; of each feature list a list
        of arrays, one a step: int64 or float32, shape (n_values,), or an object array
        of ``bytes``. A step with no kind set has no values; its dtype is that of the
        first step of its list that has a kind, or float32.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are no SequenceExample.

    Examples
    --------
    >>> from tfrecord_lite import SequenceExample
    >>> message = SequenceExample()
    >>> for step in ([5, 6], [7, 8, 9]):
    ...     feature = message.feature_lists.feature_list["my_ints"].feature.add()
    ...     feature.int64_list.value.extend(step)
    >>> decode_sequence_example(message.SerializeToString())
    {'context': {}, 'feature_lists': {'my_ints': [array([5, 6]), array([7, 8, 9])]}}
    """
    record = as_bytes(serialized)
    rows = by_runtime(_row_of, [record]) or SequenceExampleDecoder()(as_block([record]))
    return rows[0]


def decode_sequence_examples(serialized: Serialized) -> list[SequenceRow]:
    """Decode a batch of SequenceExample messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict
        For each message, as :func:`decode_sequence_example` gives it. Short arrays may
        be views of one array of the batch; no two overlap.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED``, about the first message that is.
    """
    return SequenceExampleDecoder()(as_block(serialized))
