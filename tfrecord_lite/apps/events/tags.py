"""The tags of an event run: a number for each, and the metadata of the tag's first value.

Every value repeats its tag, so a file of a hundred thousand scalars has a hundred thousand,
nearly all of them known already. They are looked up many at once, and only new tags are decoded.

A tag's *metadata* says what the tag is for, and needs to be stored with its first value only. The
first metadata found counts for all values of the tag, also those before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from tfrecord_lite.arrays import ByteRanges, Int64Array
    from tfrecord_lite.messages.summary_pb2 import SummaryMetadata

_FEW = 8
"""How many unknown tags are decoded in the first round; four times as many in each further one."""
_MAX_IN_TABLE = 4096
"""How many tags are looked up many at once. The table is built again for new tags: without this
limit, a run of very many tags would take quadratic time."""


class Tags:
    """The tags seen so far, and their metadata."""

    def __init__(self) -> None:
        self.names: list[str] = []  # by number, in the order they were first seen
        self.metadata: dict[int, SummaryMetadata] = {}  # by number of the tag
        self._numbers: dict[bytes, int] = {}
        self._table = KeyTable([])  # of the first tags

    def numbers(self, tags: ByteRanges, owner: Int64Array) -> Int64Array:
        """Return the number of each tag, int64, shape (n,); new tags get one.

        Raises WireError for a tag that is not UTF-8, with the number of its message in `owner`.
        """
        found = self._table.find(tags)
        unknown = np.flatnonzero(found < 0)
        n_looked_at = _FEW
        while unknown.size and len(self._table.keys) < _MAX_IN_TABLE:
            for i in unknown[: min(n_looked_at, _MAX_IN_TABLE)].tolist():
                self._number(tags, i, owner)
            self._table = KeyTable([*self._numbers])
            some = self._table.find(tags.take(unknown))
            found[unknown] = some
            unknown = unknown[some < 0]
            n_looked_at *= 4
        for i in unknown.tolist():
            found[i] = self._number(tags, i, owner)
        return found

    def _number(self, tags: ByteRanges, i: int, owner: Int64Array) -> int:
        """Return the number of one tag; a new tag gets one."""
        tag = _bytes_of(tags, i)
        number = self._numbers.get(tag)
        if number is None:
            try:
                self.names.append(tag.decode())
            except UnicodeDecodeError:
                detail = "a tag is not UTF-8"
                raise WireError(int(owner[i]), int(tags.starts[i]), detail) from None
            number = self._numbers[tag] = len(self._numbers)
        return number

    def learn(self, numbers: Int64Array, metadata: ByteRanges, owner: Int64Array) -> None:
        """Keep the first metadata of each tag that had none; `numbers` has their tags.

        Raises WireError for malformed metadata, with the number of its message in `owner`.
        """
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

        from tfrecord_lite.messages.summary_pb2 import SummaryMetadata  # noqa: PLC0415

        tags, firsts = np.unique(numbers, return_index=True)
        for tag, i in zip(tags.tolist(), firsts.tolist(), strict=True):
            if tag in self.metadata:
                continue
            try:
                self.metadata[tag] = SummaryMetadata.FromString(_bytes_of(metadata, i))
            except (DecodeError, UnicodeDecodeError):
                detail = "the metadata of a value is not a SummaryMetadata"
                raise WireError(int(owner[i]), int(metadata.starts[i]), detail) from None

    def plugin(self, tag: int) -> str:
        """Return the name of the plugin that a tag is for; empty if unknown."""
        metadata = self.metadata.get(tag)
        return "" if metadata is None else metadata.plugin_data.plugin_name


def _bytes_of(ranges: ByteRanges, i: int) -> bytes:
    start = int(ranges.starts[i])
    return ranges.data[start : start + int(ranges.lengths[i])].tobytes()
