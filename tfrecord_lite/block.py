"""Block: many records in one buffer, the unit that flows through the package.

::

    data     ...[head]record 0[foot][head]record 1[foot][head]record 2[foot]...spare
    offsets           ^                   ^                   ^
    lengths           |------|            |------|            |------|

A block is one contiguous buffer and the extents of the records in it. What
lies between the records does not matter here: record heads and feet when the
block was read from a file, anything at all otherwise. Behind the last record
there are always at least :data:`SPARE_BYTES` bytes, so that a load of several
bytes at once may run past a record's end without leaving the buffer.

Python objects, one a record, are made only for a caller who iterates.

No I/O, no knowledge of what a record holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, overload

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from typing_extensions import Buffer

__all__ = ["SPARE_BYTES", "Block", "Place", "Span"]

SPARE_BYTES = 512
"""Bytes that follow the last record of every block; their content means nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record came from: what an error about it says."""

    source: str | None
    """Path or URL, None for records that came from memory."""
    index: int | None
    """Number of the record in `source`, from 0; in the block, for records from memory."""
    offset: int | None
    """Bytes from the start of the decompressed stream to the record's header."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of a block's records that stood in this order in one source."""

    first: int
    """Number, in the block, of the run's first record."""
    source: str | None
    """Path or URL."""
    index: int
    """Number of that first record in `source`."""
    base: int | None
    """What to add to a record's `offsets` entry to get its header's offset in the stream;
    None for records from memory, which have no stream."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Many records in one contiguous buffer.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer. Held, not copied; must not change while the block lives.
        At least :data:`SPARE_BYTES` bytes follow the end of the last record.
    offsets : int64, shape (n_records,)
        Where in `data` each record's first byte is.
    lengths : int64, shape (n_records,)
        Bytes of each record, 0 allowed.
    spans : tuple of Span, optional
        Where the records came from, for errors. Empty for records from memory.

    Raises
    ------
    InvalidArgumentError
        ``BAD_ARGUMENT`` if the arrays differ in length or an extent leaves the
        buffer, its spare bytes included.

    Examples
    --------
    >>> block = Block.from_records([b"one", b"", b"three"])
    >>> len(block), block[2], list(block[:2])
    (3, b'three', [b'one', b''])
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    spans: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        """Check the extents."""
        if self.offsets.shape != self.lengths.shape or self.offsets.ndim != 1:
            detail = f"{self.offsets.shape} offsets for {self.lengths.shape} lengths"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)
        if self.offsets.size == 0:
            return
        room = self.data.size - SPARE_BYTES
        low = min(self.offsets.min(), self.lengths.min())
        # Each alone first, so that their sum cannot wrap around.
        high = max(self.offsets.max(), self.lengths.max())
        if low < 0 or high > room or (self.offsets + self.lengths).max() > room:
            detail = f"an extent leaves the {room} bytes that records may take"
            raise InvalidArgumentError(Reason.BAD_ARGUMENT, detail=detail)

    @classmethod
    def from_records(cls, records: Sequence[Buffer]) -> Block:
        """Copy records from memory into one buffer.

        Parameters
        ----------
        records : sequence of bytes-like
            A list of ``bytes``, an object array of them, and so on.

        Returns
        -------
        Block
            Owns its memory.
        """
        lengths = np.fromiter(map(len, records), np.int64, len(records))  # type: ignore[arg-type]
        offsets = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(records) else lengths
        data = np.frombuffer(b"".join([*records, bytes(SPARE_BYTES)]), np.uint8)
        return cls(data, offsets, lengths)

    @classmethod
    def concat(cls, blocks: Sequence[Block]) -> Block:
        """Copy several blocks into one, in order.

        Parameters
        ----------
        blocks : sequence of Block
            May be empty, and may hold empty blocks.

        Returns
        -------
        Block
            Owns its memory, and knows where each record came from.
        """
        blocks = [block for block in blocks if len(block)]
        if len(blocks) == 1:
            return blocks[0]
        if not blocks:
            return cls.from_records([])
        return cls._joined(blocks)

    def copy(self) -> Block:
        """Return the same records in as much memory as they take.

        Returns
        -------
        Block
            Owns its memory, where this one may keep alive a buffer that it shares.
        """
        return self._joined([self]) if len(self) else self.from_records([])

    @classmethod
    def _joined(cls, blocks: Sequence[Block]) -> Block:
        """Copy blocks that are not empty into one."""
        starts = [int(block.offsets.min()) for block in blocks]
        stops = [int((block.offsets + block.lengths).max()) for block in blocks]
        parts = [b.data[lo:hi] for b, lo, hi in zip(blocks, starts, stops, strict=True)]
        data = np.concatenate([*parts, np.zeros(SPARE_BYTES, np.uint8)])
        shifts = [
            at - start
            for at, start in zip(accumulate(map(len, parts), initial=0), starts, strict=False)
        ]
        firsts = accumulate(map(len, blocks), initial=0)
        spans = tuple(
            replace(
                span,
                first=first + span.first,
                base=None if span.base is None else span.base - shift,
            )
            for block, shift, first in zip(blocks, shifts, firsts, strict=False)
            for span in block.spans or (Span(0, None, 0, None),)
        )
        offsets = np.concatenate([b.offsets + s for b, s in zip(blocks, shifts, strict=True)])
        return cls(data, offsets, np.concatenate([b.lengths for b in blocks]), spans)

    @property
    def n_bytes(self) -> int:
        """Bytes of all records together, without what lies between them."""
        return int(self.lengths.sum())

    def __len__(self) -> int:
        """Return the number of records."""
        return self.offsets.size

    def __iter__(self) -> Iterator[bytes]:
        """Yield each record as ``bytes`` of its own."""
        return iter(self.to_list())

    def to_list(self) -> list[bytes]:
        """Copy every record into a ``bytes`` object of its own."""
        return [view.tobytes() for view in self.views()]

    def views(self) -> list[memoryview]:
        """Return a view of every record; each keeps the whole buffer alive."""
        view = memoryview(self.data)  # type: ignore[arg-type]
        stops = (self.offsets + self.lengths).tolist()
        return [view[a:b] for a, b in zip(self.offsets.tolist(), stops, strict=True)]

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> Block: ...
    def __getitem__(self, key: int | slice) -> bytes | Block:
        """Return one record as ``bytes``, or a range of them as a block on the same buffer."""
        if not isinstance(key, slice):
            start, length = int(self.offsets[key]), int(self.lengths[key])
            return self.data[start : start + length].tobytes()
        start, stop, step = key.indices(len(self))
        offsets, lengths = self.offsets[key], self.lengths[key]
        if step != 1:
            return Block(self.data, offsets, lengths)
        return Block(self.data, offsets, lengths, self._spans_between(start, stop))

    def _spans_between(self, start: int, stop: int) -> tuple[Span, ...]:
        """Return the spans of records `start` to `stop`, renumbered from `start`."""
        kept = []
        lasts = [span.first for span in self.spans[1:]] + [len(self)]
        for span, last in zip(self.spans, lasts, strict=False):
            if last > start and span.first < stop:
                skipped = max(start - span.first, 0)
                first = span.first + skipped - start
                kept.append(replace(span, first=first, index=span.index + skipped))
        return tuple(kept)

    def place(self, i: int) -> Place:
        """Say where record `i` came from.

        Parameters
        ----------
        i : int
            Number of the record in this block, from 0.

        Returns
        -------
        Place
            With `source` and `offset` None when the block does not know.
        """
        for span in reversed(self.spans):
            if span.first <= i and span.base is not None:
                index = span.index + i - span.first
                return Place(span.source, index, span.base + int(self.offsets[i]))
            if span.first <= i:
                break
        return Place(None, i, None)
