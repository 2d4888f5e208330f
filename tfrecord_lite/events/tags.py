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

from tfrecord_lite.wire.fields import WireError
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.messages.summary_pb2 import SummaryMetadata
    from tfrecord_lite.wire.repeated import Extents

__all__ = ["Tags"]

_FEW = 8
"""So many unknown tags are looked at first; four times as many in each further round."""


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
        self._table = KeyTable([])

    def numbers(
        self, data: npt.NDArray[np.uint8], tags: Extents, owner: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the number of each of many tags; those that are new get one.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        tags : Extents
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
        found = self._table.find(data, tags.start, tags.length)
        unknown = np.flatnonzero(found < 0)
        n_looked_at = _FEW
        while unknown.size:
            new: dict[bytes, str] = {}
            for i in unknown[:n_looked_at].tolist():
                start = int(tags.start[i])
                tag = data[start : start + int(tags.length[i])].tobytes()
                if tag not in new:
                    new[tag] = _decoded(tag, int(owner[i]), start)
            self._add(new)
            some = self._table.find(data, tags.start[unknown], tags.length[unknown])
            found[unknown] = some
            unknown = unknown[some < 0]
            n_looked_at *= 4
        return found

    def _add(self, new: dict[bytes, str]) -> None:
        self.names += new.values()
        self._table = KeyTable([*self._table.keys, *new])

    def learn(
        self,
        data: npt.NDArray[np.uint8],
        numbers: npt.NDArray[np.int64],
        metadata: Extents,
        owner: npt.NDArray[np.int64],
    ) -> None:
        """Keep the first metadata of each tag that had none.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        numbers : int64, shape (n,)
            The tag that each metadata is about.
        metadata : Extents
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
            start = int(metadata.start[i])
            stored = data[start : start + int(metadata.length[i])].tobytes()
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
