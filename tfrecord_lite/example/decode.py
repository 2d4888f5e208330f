"""Without a schema: Example messages to dictionaries, whatever features they have.

A batch is read like any other, once it is known which keys there are: those seen
in earlier batches, and those that this one turns out to have besides. What comes
out is a dictionary a record.

A single message is read by the protobuf runtime, which is faster than a lockstep
of one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example import build
from tfrecord_lite.example.discover import KeyFinder
from tfrecord_lite.example.parse import as_block, as_bytes
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import WireError
from tfrecord_lite.wire.ragged import row_splits
from tfrecord_lite.wire.repeated import Extents

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.block import Block
    from tfrecord_lite.example.batch import Batch, Lists
    from tfrecord_lite.example.parse import Serialized

    Row = dict[str, npt.NDArray[Any]]

__all__ = ["ExampleDecoder", "decode_example", "decode_examples"]

_FEW = 4
"""So few messages are read one by one."""
_WIDE_BYTES = 256
"""Rows from this size on are copied out of their batch, which else would live as long as one."""


class ExampleDecoder:
    """Decodes batches of Example messages into dictionaries; remembers what keys there are.

    Notes
    -----
    Not thread-safe; one a thread is cheap.
    """

    def __init__(self) -> None:
        self._finder = KeyFinder()

    def __call__(self, block: Block) -> list[Row]:
        """Decode the messages of a block.

        Returns
        -------
        list of dict
            As :func:`decode_examples`.

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED``, about the first message that is.
        """
        if len(block) <= _FEW:
            return [_decode_one(block[i], block, i) for i in range(len(block))]
        try:
            return self._rows(block)
        except WireError as error:
            number, detail = error.message, error.detail
        if number:
            self(block[:number])
        raise _malformed(block, number, detail)

    def _rows(self, block: Block) -> list[Row]:
        """Decode a batch, in parts if it has too many keys for one table."""
        batch = self._finder.batch(block)
        if batch is None:
            middle = len(block) // 2
            if middle == 0:
                return [_decode_one(block[0], block, 0)]
            return self._rows(block[:middle]) + self._rows(block[middle:])
        names: list[str] = []
        columns: list[list[npt.NDArray[Any]]] = []
        partial: list[tuple[str, npt.NDArray[np.int64], list[npt.NDArray[Any]]]] = []
        for number, key in enumerate(self._finder.keys):
            kinds = batch.kinds(number)
            for kind in Kind:
                if isinstance(kinds, int):
                    if kinds == kind:
                        names.append(key.decode())
                        columns.append(_split(batch, batch.lists(number, kind)))
                elif (having := np.flatnonzero(kinds == kind)).size:
                    lists = batch.lists(number, kind)
                    partial.append((key.decode(), having, _split(batch, lists)))
        if names:
            rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        else:
            rows = [{} for _ in range(len(block))]
        for name, having, values in partial:
            for i in having.tolist():
                rows[i][name] = values[i]
        return rows


def _decode_one(serialized: bytes, block: Block | None = None, i: int = 0) -> Row:
    """Decode one message, with the protobuf runtime where that knows all."""
    from tfrecord_lite.example.few import NotSure, array_of, features_of  # noqa: PLC0415

    try:
        row = {}
        for name, feature in features_of(serialized).items():
            kind, values = array_of(feature)
            if kind and values is not None:
                row[name] = values
    except NotSure:
        block = as_block([serialized]) if block is None else block[i : i + 1]
        try:
            return ExampleDecoder()._rows(block)[0]  # noqa: SLF001
        except WireError as error:
            raise _malformed(block, 0, error.detail) from None
    return row


def _split(batch: Batch, lists: Lists) -> list[npt.NDArray[Any]]:
    """Divide the values of a feature into an array a message."""
    flat: Any = lists.flat
    if isinstance(flat, Extents):
        flat = build.strings(batch.data, flat, as_column=False)
    count = lists.values.counts
    if isinstance(count, int):
        rows = list(flat.reshape(lists.n_messages, count))
    else:
        rows = [flat[a:b] for a, b in pairwise(row_splits(count).tolist())]
    is_wide = flat.nbytes > _WIDE_BYTES * max(len(rows), 1)
    return [row.copy() for row in rows] if is_wide else rows


def _malformed(block: Block, i: int, detail: str) -> InvalidArgumentError:
    place = block.place(i)
    fields = (place.offset, place.source, place.index)
    return InvalidArgumentError(Reason.MALFORMED, *fields, None, detail)


def decode_example(serialized: bytes | str) -> Row:
    r"""Decode one Example message into a dictionary, without a schema.

    Parameters
    ----------
    serialized : bytes or str

    Returns
    -------
    dict of str to ndarray
        One entry a feature: int64 or float32, shape (n_values,), or an object array of
        ``bytes``. A feature with no kind set is left out: it counts as missing (X3).

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED`` if the bytes are no Example.

    Examples
    --------
    >>> decode_example(b"\x0a\x0c\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x0a\x01\x07")
    {'a': array([7])}
    """
    return _decode_one(as_bytes(serialized))


def decode_examples(serialized: Serialized) -> list[Row]:
    """Decode a batch of Example messages, without a schema.

    Parameters
    ----------
    serialized : Block, sequence of bytes, or object array of bytes

    Returns
    -------
    list of dict of str to ndarray
        For each message, as :func:`decode_example` gives it. Short arrays may be views
        of one array of the batch; no two overlap.

    Raises
    ------
    InvalidArgumentError
        ``MALFORMED``, about the first message that is.
    """
    return ExampleDecoder()(as_block(serialized))
