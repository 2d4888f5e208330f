"""Find the next intact record after damage, without a loop over bytes.

A record proves itself by two CRCs, so where framing is lost, every offset is a *candidate* until one of them
rules it out.

1. *Headers*: NumPy looks at all offsets of a piece at once. Few of them hold a length
   whose upper half is within the limit (zero for records below 4 GiB); for these, the CRC
   of the 8 length bytes is a handful of table look-ups.
2. *Data*: the CRC of any stretch follows from the CRCs of the stream up to the stretch's
   start and end (:func:`~tfrecord_lite.records.crc32c.crcs_between`). So reading the
   bytes once checks all candidates, even long ones that overlap.

Results are kept for the next damage. So the work is linear in the bytes of the stream, whatever they hold.
Memory is bounded by the earliest undecided candidate, at most one record, and about 20 bytes per candidate in it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tfrecord_lite.arrays import AnyArray, Int64Array, Uint8Array, Uint32Array, at_every_byte
from tfrecord_lite.block import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES
from tfrecord_lite.records.crc32c import crc32c, crcs_between, length_crcs, unmask
from tfrecord_lite.records.framing import FOOTER

_PIECE_BYTES = 64 * 1024
"""How many offsets are looked at together."""
_HIGHEST_LENGTH = 2**62
"""Offsets are int64, and no stream is longer."""


def find_headers(data: Uint8Array, max_record_bytes: int) -> tuple[Int64Array, Int64Array]:
    """Find all offsets where a length within the limit is followed by its CRC.

    Returns the offsets, ascending, and the lengths; int64, shapes (n_headers,).
    """
    n_places = data.size - HEADER_BYTES + 1
    if n_places <= 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    limit = min(max_record_bytes, _HIGHEST_LENGTH)
    words = at_every_byte(data, FOOTER)
    starts = np.flatnonzero(words[4 : 4 + n_places] <= limit >> 32)
    lengths = at_every_byte(data, np.dtype("<u8"))[starts]
    has_crc = (lengths <= limit) & (length_crcs(lengths) == words[starts + 8])
    return starts[has_crc], lengths[has_crc].astype(np.int64)


_CANDIDATE = np.dtype([("start", "i8"), ("stop", "i8"), ("crc", "u4"), ("is_intact", "?")])
"""A header whose data is intact or not checked yet: where the data starts and stops, and the CRC up to the start."""


class RecordFinder:
    """Find the next intact record, again and again, in a stream that is read piece by piece."""

    def __init__(self, max_record_bytes: int) -> None:
        self._max_record_bytes = max_record_bytes
        self.scanned: int = 0  # in the stream: where the next header is looked for
        self._crc = 0  # of the stream from anywhere up to _frontier
        self._candidates: AnyArray = np.empty(0, _CANDIDATE)  # by offset

    @property
    def _frontier(self) -> int:
        """The end of the bytes that `_crc` covers: one byte before the data of the next header."""
        return self.scanned + HEADER_BYTES - 1

    @property
    def wanted_from(self) -> int:
        """The first offset of the stream that :meth:`find` has to see again."""
        if self._candidates.size:
            return int(self._candidates["start"][0]) - HEADER_BYTES
        return self.scanned

    def n_intact(self, offset: int, n_records: int) -> int:
        """Count the records from an offset on that are known to be intact, at most `n_records`.

        `offset` is not before the last record that was found.
        """
        candidates, count, place = self._candidates, 0, offset + HEADER_BYTES
        while count < n_records:
            i = int(np.searchsorted(candidates["start"], place))
            is_known = i < candidates.size and candidates["start"][i] == place
            if not is_known or not candidates["is_intact"][i]:
                break
            count, place = count + 1, int(candidates["stop"][i]) + OVERHEAD_BYTES
        return count

    def find(
        self, data: Uint8Array, base: int, first: int, *, is_end: bool, through: int = 0
    ) -> int | None:
        """Return the offset in the stream of the first intact record that starts at `first` or later.

        The stream's end if there is none; None if more bytes are needed to tell. `data` is the stream
        from offset `base` on, which is at most `first`, in a further call for the same record `wanted_from`.
        `first` is never lower than in an earlier call; `is_end` means that the stream ends after `data`. All
        before `through` is scanned, even if a record was found already.
        """
        end = base + data.size
        self._forget_before(first)
        last = end - OVERHEAD_BYTES + 1  # a header that starts here or later has no room
        through = min(through, last)
        while True:
            candidates = self._candidates
            if candidates["is_intact"][:1].any() and self.scanned >= through:
                return int(candidates["start"][0]) - HEADER_BYTES
            until = self._next_edge()
            if until > last and not is_end:
                return None
            if self.scanned < last:
                self._scan(data, base, min(until, last))
                continue
            # Undecided records reach past the end of the stream.
            self._candidates = candidates = candidates[candidates["is_intact"]]
            if not candidates.size:
                return end

    def find_run(self, data: Uint8Array, base: int, first: int, stop: int) -> int:
        """Return the offset of the first intact record from which a run of them ends at `stop`, else `stop`.

        Each record of a run begins where the previous one ends. `data` reaches to `stop` at least; otherwise
        as for :meth:`find`.
        """
        self._forget_before(first)
        last = stop - OVERHEAD_BYTES + 1  # a header that starts here or later has no room
        while self.scanned < last:
            self._scan(data, base, min(self._next_edge(), last))
        candidates = self._candidates
        candidates = candidates[: np.searchsorted(candidates["start"], stop)]  # of a search before
        candidates = candidates[candidates["is_intact"]]
        starts, ends = candidates["start"] - HEADER_BYTES, candidates["stop"] + FOOTER_BYTES
        # The number of the record that begins where each one ends; one more than all, for none.
        following = np.searchsorted(starts, ends)
        none = starts.size
        is_next = np.append(starts, -1)[following] == ends
        following = np.append(np.where(is_next, following, none), none)
        # Look twice as many records ahead each time, so that a run of n takes log2(n) rounds.
        ends_there = np.append(ends == stop, False)
        while (following != none).any():
            ends_there |= ends_there[following]
            following = following[following]
        runs = np.flatnonzero(ends_there)
        return int(starts[runs[0]]) if runs.size else stop

    def _forget_before(self, first: int) -> None:
        if first > self.scanned:
            self.scanned, self._crc, self._candidates = first, 0, self._candidates[:0]
        n_before = np.searchsorted(self._candidates["start"], first + HEADER_BYTES)
        self._candidates = self._candidates[n_before:]

    def _next_edge(self) -> int:
        """Return up to where to scan next: twice as far each time while a long record is undecided."""
        return self.scanned + max(_PIECE_BYTES, self.scanned - self.wanted_from)

    def _scan(self, data: Uint8Array, base: int, until: int) -> None:
        """Look for headers up to an offset, and decide on the data that ends there or before."""
        piece = data[self.scanned - base : until - base + HEADER_BYTES - 1]
        headers, lengths = find_headers(piece, self._max_record_bytes)
        starts = headers + (self.scanned + HEADER_BYTES)
        stops = starts + lengths
        old, frontier = self._candidates, self._frontier
        self.scanned = until

        # The offsets in this piece, in order, up to which the stream's CRC is needed.
        edges = np.concatenate([starts, stops, old["stop"]])
        edges = np.unique(edges[(edges > frontier) & (edges <= self._frontier)])
        crcs = self._crcs_up_to(data, base, frontier, edges)
        new = np.zeros(starts.size, _CANDIDATE)
        new["start"], new["stop"] = starts, stops
        new["crc"] = crcs[np.searchsorted(edges, starts)]
        both = np.concatenate([old, new])

        is_due = ~both["is_intact"] & (both["stop"] <= self._frontier)
        due = both[is_due]
        crcs_at_stops = crcs[np.searchsorted(edges, due["stop"])]
        computed = crcs_between(due["crc"], crcs_at_stops, due["stop"] - due["start"])
        stored = unmask(at_every_byte(data, FOOTER)[due["stop"] - base])
        both["is_intact"][is_due] = computed == stored
        self._candidates = both[both["is_intact"] | ~is_due]

    def _crcs_up_to(
        self, data: Uint8Array, base: int, frontier: int, edges: Int64Array
    ) -> Uint32Array:
        """Return the CRC of the stream up to each edge, and advance it to the new frontier."""
        view = memoryview(data)  # type: ignore[arg-type]
        places = [frontier - base, *(edges - base).tolist(), self._frontier - base]
        crcs = []
        crc = self._crc
        for start, stop in pairwise(places):
            crc = crc32c(view[start:stop], crc)
            crcs.append(crc)
        self._crc = crc
        return np.array(crcs[:-1], np.uint32)
