"""Digests of records, or of the values of some features: what splits and duplicates go by.

A digest is computed in the same way by every version, on every machine::

    hashlib.blake2b(data, digest_size=16, key=b"0").digest()     the key is the seed in decimal digits

`data` are the bytes of the record, or of its values, feature after feature::

    kind     count                       values
    b"b"     8 bytes, little-endian      each: its length in 8 bytes, then its bytes
    b"i"     8 bytes, little-endian      each: int64, 8 bytes, little-endian
    b"f"     8 bytes, little-endian      each: float32, 4 bytes, little-endian; -0.0 as 0.0, every NaN as 0x7fc00000
    b"n"     none                        none: a record without a value of the feature
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from tfrecord_lite.arrays import Uint64Array
from tfrecord_lite.block import Block
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.restore import objects_of
from tfrecord_lite.errors import argument_error, require_int
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.decode.entries import kinds_in
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.survey import Survey, check_of_either
from tfrecord_lite.schema import Kind
from tfrecord_lite.texts import choices
from tfrecord_lite.wire.keys import KeyTable

_CONTEXT = "context/"
_MISSING = b"n"


class Digests:
    """Computes a digest of 128 bits for each record of a block; not thread-safe.

    Parameters
    ----------
    by : str or sequence of str, optional
        Features of Examples, or of the context of SequenceExamples, as ``label`` or ``context/label``.
        None digests the bytes of the record.
    seed : int
    """

    def __init__(self, by: str | Sequence[str] | None = None, seed: int = 0) -> None:
        names = [by] if isinstance(by, str) else by
        if names is not None and not (names and all(isinstance(name, str) for name in names)):
            raise TypeError(f"by must be the name of a feature, or several, not {by!r}")
        self._names = names
        self._key = b"%d" % (require_int("seed", seed, 0) % 2**64)
        keys = [name.encode() for name in names or ()]
        keys += [name.removeprefix(_CONTEXT).encode() for name in names or ()]
        self._table = KeyTable(list(dict.fromkeys(keys)))
        self._memory = LayoutMemory()
        self._check_type = check_of_either()
        self._unseen = set(names or ())
        self._known: list[str] | None = None  # the features of the first block

    def __call__(self, block: Block) -> Uint64Array:
        """Return the digests as two big-endian words each, uint64, shape (n_records, 2).

        Raises
        ------
        InvalidArgumentError
            ``MALFORMED`` about the first record that is not an Example or SequenceExample.
        """
        items: Iterable[Any] = block.views()
        if self._names is not None:
            self._check_type(block)
            items = parse_or_first_error(block, None, self._values)
            if self._unseen and self._known is None and len(block):
                self._known = _names_in(block)
        digests = b"".join(blake2b(item, digest_size=16, key=self._key).digest() for item in items)
        return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)

    def check(self) -> None:
        """Raise InvalidArgumentError about a feature that no record has had a value of, with the nearest name."""
        for name in self._unseen if self._known is not None else ():
            what = "no record has a value of the feature"
            raise argument_error(f"{what} {name!r} to go by{choices(name, self._known or ())}")

    def _values(self, block: Block) -> list[bytes]:
        """Return the bytes that are hashed for the values of each record."""
        stops = block.offsets + block.lengths
        batch = MessageBatch(block.data, block.offsets, stops, self._table, self._memory)
        columns = []
        for name in self._names or ():
            column = self._column(batch, name)
            if b"" in column:
                others = self._column(batch, name.removeprefix(_CONTEXT))
                column = [own or other for own, other in zip(column, others, strict=True)]
            if any(column):
                self._unseen.discard(name)
            columns.append([value or _MISSING for value in column])
        return list(map(b"".join, zip(*columns, strict=True)))

    def _column(self, batch: MessageBatch, name: str) -> list[bytes]:
        """Return the bytes for one feature of each record; empty without a value."""
        number = self._table.index[name.encode()]
        column = [b""] * batch.n_messages
        for kind, having in kinds_in(batch.kinds(number), batch.n_messages):
            values = _bytes_of(batch.lists(number, kind), kind)
            for i in range(len(column)) if having is None else having.tolist():
                column[i] = values[i]
        return column


def _names_in(block: Block) -> list[str]:
    """Return the features that records may go by."""
    survey = Survey()
    survey.add(block)
    summary: Any = survey.summary()
    context = getattr(summary, "context", None)
    return list(summary) if context is None else [f"{_CONTEXT}{name}" for name in context]


def _bytes_of(lists: Lists, kind: Kind) -> list[bytes]:
    """Return the bytes for the values of each record; empty without any."""
    bounds = list(pairwise(lists.splits().tolist()))
    if kind is Kind.BYTES:
        items = objects_of(lists.flat)
        own = [b"".join(struct.pack("<Q", len(x)) + x for x in items[a:b]) for a, b in bounds]
    else:
        flat = lists.flat + 0  # -0.0 becomes 0.0
        if kind is Kind.FLOAT:
            flat[np.isnan(flat)] = np.nan
        size, data = flat.itemsize, flat.astype(flat.dtype.newbyteorder("<")).tobytes()
        own = [data[a * size : b * size] for a, b in bounds]
    head = kind.name[:1].lower().encode()
    heads = [head + struct.pack("<Q", b - a) for a, b in bounds]
    return [first + one if one else b"" for first, one in zip(heads, own, strict=True)]
