"""The tags of a run: a number for each, and what the first value of a tag says of it.

A tag stands with every value, so a file of a hundred thousand scalars has a hundred
thousand of them, of which nearly all are known already: they are looked up, many at
once, and only one that is new is ever decoded.

What a tag is for, its *metadata*, need stand with the tag's first value only. The first
that is found counts for all values of the tag, those before it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    from tfrecord_lite.arrays import ByteRanges, Int64Array, Uint8Array
    from tfrecord_lite.messages.summary_pb2 import SummaryMetadata

_FEW = 8
"""So many unknown tags are looked at first; four times as many in each further round."""
_MOST_AT_ONCE = 4096
"""So many tags are looked up many at once. A run that has more is odd; the table, which is
made anew for new tags, would cost it the square of their number."""


class Tags:
    """The tags that were seen so far, by number, and their metadata.

    Attributes
    ----------
    names : list of str
        By number, in the order they were first seen.
    metadata : dict of int to SummaryMetadata
        Of the tags that have some, by their number.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.metadata: dict[int, SummaryMetadata] = {}
        self._numbers: dict[bytes, int] = {}
        self._table = KeyTable([])  # of the first ones

    def numbers(self, data: Uint8Array, tags: ByteRanges, owner: Int64Array) -> Int64Array:
        """Return the number of each of many tags; those that are new get one.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        tags : ByteRanges
            Where the tags are in `data`.
        owner : int64, shape (n,)
            Numbers of their messages, for errors.

        Returns
        -------
        int64, shape (n,)

        Raises
        ------
        WireError
            For a tag that is not UTF-8.
        """
        found = self._table.find(tags)
        unknown = np.flatnonzero(found < 0)
        n_looked_at = _FEW
        while unknown.size and len(self._table.keys) < _MOST_AT_ONCE:
            for i in unknown[: min(n_looked_at, _MOST_AT_ONCE)].tolist():
                self._number(data, int(tags.starts[i]), int(tags.lengths[i]), int(owner[i]))
            self._table = KeyTable([*self._numbers])
            some = self._table.find(tags.take(unknown))
            found[unknown] = some
            unknown = unknown[some < 0]
            n_looked_at *= 4
        for i in unknown.tolist():
            found[i] = self._number(data, int(tags.starts[i]), int(tags.lengths[i]), int(owner[i]))
        return found

    def _number(self, data: Uint8Array, start: int, length: int, owner: int) -> int:
        """Return the number of one tag, which it gets if it is new."""
        tag = data[start : start + length].tobytes()
        number = self._numbers.get(tag)
        if number is None:
            self.names.append(_decoded(tag, owner, start))
            number = self._numbers[tag] = len(self._numbers)
        return number

    def learn(
        self,
        data: Uint8Array,
        numbers: Int64Array,
        metadata: ByteRanges,
        owner: Int64Array,
    ) -> None:
        """Keep the first metadata of each tag that had none.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        numbers : int64, shape (n,)
            The tag that each metadata is about.
        metadata : ByteRanges
            Where they are in `data`.
        owner : int64, shape (n,)
            Numbers of their messages, for errors.

        Raises
        ------
        WireError
            For one that is malformed.
        """
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - not light

        from tfrecord_lite.messages.summary_pb2 import SummaryMetadata  # noqa: PLC0415

        tags, firsts = np.unique(numbers, return_index=True)
        for tag, i in zip(tags.tolist(), firsts.tolist(), strict=True):
            if tag in self.metadata:
                continue
            start = int(metadata.starts[i])
            stored = data[start : start + int(metadata.lengths[i])].tobytes()
            try:
                self.metadata[tag] = SummaryMetadata.FromString(stored)
            except (DecodeError, UnicodeDecodeError):
                detail = "the metadata of a value is no SummaryMetadata"
                raise WireError(int(owner[i]), start, detail) from None

    def plugin(self, tag: int) -> str:
        """Return the name of the plugin that a tag is for, empty if nothing says so."""
        metadata = self.metadata.get(tag)
        return "" if metadata is None else metadata.plugin_data.plugin_name


def _decoded(tag: bytes, owner: int, start: int) -> str:
    try:
        return tag.decode()
    except UnicodeDecodeError:
        raise WireError(owner, start, "a tag that is not UTF-8") from None
