"""The Features of many FeatureLists: where each step is, and what stands in it.

::

    FeatureList   1 feature ─> Feature   1 bytes_list, 2 float_list, 3 int64_list

Steps follow one another, so where one is found depends on the one before it. But programs
write all steps of a list alike: behind a head of known form there are the values, one
string or one packed chunk, up to the next step::

    0a r  (0a | 12 | 1a) r-2  0a r-4  values ...
          r bytes, up to the next step

Two guesses at all steps of many lists, made without going from one to the next, are checked
as a whole: that all have the size of the first; and that they are where bytes look like the
head of one. A guess is right for a list if heads and sizes lead from its start to its end.
Lists for which neither is right go step by step, in lockstep with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.example.cells import Values
from tfrecord_lite.example.entries import KIND_OF_TAG, errors_of, join
from tfrecord_lite.example.layout import length_before, nested
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import LEN, Fields, tokenise
from tfrecord_lite.wire.lanes import lanes, rows
from tfrecord_lite.wire.ragged import gather, ranges, row_splits
from tfrecord_lite.wire.repeated import Extents, repeated_len, varint_runs

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    _Found: TypeAlias = tuple[
        npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64] | int
    ]

__all__ = ["PlainSteps", "find_plain", "find_steps"]

FEATURE = 1
_LIST_DEPTH, _FEATURE_DEPTH = 3, 4

_TAG = 0x0A
# The head of a short step is linear in its number of bytes r.
_HEAD_BYTES = 6
_HEAD_KNOWN = np.uint64(0xFFFFFFFFFFFF)
_HEAD_PER_BYTE = np.uint64(1 << 8 | 1 << 24 | 1 << 40)
_HEAD = 0x0A - (2 << 24) + (0x0A << 32) - (4 << 40)
_SHORTEST, _LONGEST = 4, 0x7F
_SEARCHED = 40
"""Longer steps are not searched for: looking at every byte would cost more than walking."""
_MOST_WRONG = 0.5
"""If a guess is wrong for more of the lists than this, another is made."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainSteps:
    """Steps of many lists that are one string, or one packed chunk, of one kind each."""

    is_plain: npt.NDArray[np.bool_]
    """Which of the lists have such steps, and no others; shape (n_lists,)."""
    kind: Kind
    """Of all steps."""
    counts: npt.NDArray[np.int64]
    """Steps of each of these lists; shape (is_plain.sum(),)."""
    start: npt.NDArray[np.int64]
    """Where the content of each step starts; shape (n_steps,)."""
    length: npt.NDArray[np.int64] | int
    """Bytes of it; a plain number if all have as many."""

    def values(self, data: npt.NDArray[np.uint8], kind: Kind) -> Values:
        """Read the values of all steps; none if they are of another kind.

        Raises
        ------
        WireError
            Its `message` is the number of the list.
        """
        if kind != self.kind:
            none: Any = np.empty(0, np.int64)
            is_bytes = kind is Kind.BYTES
            return Values(0, Extents(none, none) if is_bytes else none.astype(kind.dtype))
        if kind is Kind.FLOAT and isinstance(self.length, int):
            if not self.length:
                return Values(0, np.empty(0, np.float32))
            found = rows(data, self.length)[self.start]
            return Values(self.length // 4, found.view("<f4"))
        lengths = np.broadcast_to(self.length, self.start.shape)
        if kind is Kind.BYTES:
            return Values(1, Extents(self.start, lengths))
        if kind is Kind.FLOAT:
            return Values(lengths >> 2, gather(data, self.start, lengths).view("<f4"))
        with (
            errors_of(np.flatnonzero(self.is_plain)),
            errors_of(np.repeat(np.arange(self.counts.size), self.counts)),
        ):
            counts, numbers = varint_runs(data, self.start, lengths)
        return Values(1 if (counts == 1).all() else counts, numbers)


def find_plain(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> PlainSteps | None:
    """Find the lists whose steps a guess is right for.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer; a block's spare bytes follow the last list.
    starts, stops : int64, shape (n_lists,)
        FeatureLists that are likely to be alike: those of one key.

    Returns
    -------
    PlainSteps or None
        Lists without steps count as plain. None if it is right for no others.
    """
    filled = np.flatnonzero(stops > starts)
    if not filled.size:
        return None
    sample = filled[filled.size // 2]
    view = memoryview(data)[int(starts[sample]) : int(stops[sample])]  # type: ignore[arg-type]
    first = _first_step(view)
    if first is None:
        return None
    is_plain = stops == starts
    some_starts, some_stops = starts[filled], stops[filled]
    found: _Found | None = _even(data, some_starts, some_stops, first)
    if found is None and first.size <= _SEARCHED:
        found = _searched(data, some_starts, some_stops, first.kind)
    if found is None:
        return None
    is_right, start, length = found
    is_plain[filled] = is_right > 0
    counts = np.zeros(starts.size, np.int64)
    counts[filled] = is_right
    return PlainSteps(is_plain, first.kind, counts[is_plain], start, length)


@dataclass(frozen=True, slots=True)
class _Step:
    """What the first step of a list looks like."""

    kind: Kind
    head: bytes
    """All of it up to its content."""
    length: int
    """Bytes of its content."""

    @property
    def size(self) -> int:
        return len(self.head) + self.length


def _first_step(view: memoryview) -> _Step | None:
    """Look at the step a list starts with; None if it is not plain."""
    feature = nested(view, 0, None, _TAG)
    if feature is None or feature >= len(view):
        return None
    stop = feature + length_before(view, 0)
    tag = view[feature] if feature < stop <= len(view) else 0
    values = nested(view, feature, stop, tag)
    content = nested(view, values, stop, _TAG) if values is not None else None
    if content is None or not KIND_OF_TAG[tag]:
        return None
    kind, length = Kind(int(KIND_OF_TAG[tag])), stop - content
    if kind is Kind.FLOAT and length % 4:
        return None
    return _Step(kind, bytes(view[:content]), length)


def _even(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    first: _Step,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int] | None:
    """Find steps that are all as the first; None if sizes tell that not all lists are so.

    Returns
    -------
    counts : int64, shape (n_lists,)
        Steps of each list; 0 where the guess is wrong.
    start : int64, shape (n_steps,)
        Where the content of each step of the others starts.
    length : int
        Of that.
    """
    length = stops - starts
    if (length % first.size).any():
        return None
    counts = length // first.size
    at = ranges(starts, counts, first.size)
    words = lanes(data)
    differs = np.zeros(at.size, np.bool_)
    for place in range(0, len(first.head), 8):
        part = first.head[place : place + 8]
        unused = np.uint64(64 - 8 * len(part))
        loaded = words[at + place] if place else words[at]
        loaded ^= np.uint64(int.from_bytes(part, "little"))
        loaded <<= unused
        differs |= loaded != 0
    if differs.any():
        which = np.repeat(np.arange(starts.size), counts)
        is_bad = np.zeros(starts.size, np.bool_)
        is_bad[which[differs]] = True
        if is_bad.mean() > _MOST_WRONG:
            return None
        at = at[~is_bad[which]]
        counts[is_bad] = 0
    at += len(first.head)
    return counts, at, first.length


def _searched(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    kind: Kind,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Find short steps of one kind by what their heads look like; as :func:`_even`."""
    splits = row_splits(stops - starts)
    joined = np.concatenate([gather(data, starts, stops - starts), np.zeros(8, np.uint8)])
    # Three bytes of a head do not vary; comparing bytes that lie side by side costs little.
    looks = joined[:-8] == _TAG
    looks &= joined[2:-6] == kind << 3 | LEN
    looks &= joined[4:-4] == _TAG
    place = np.flatnonzero(looks)
    if not place.size:
        return None
    head = lanes(joined)[place]
    room = head >> np.uint64(8)
    room &= np.uint64(0xFF)
    head -= room * _HEAD_PER_BYTE + np.uint64((_HEAD + ((kind << 3 | LEN) << 16)) % 2**64)
    room -= np.uint64(_SHORTEST)
    size = room.view(np.int64)  # of the content; very large for a room that is too small
    is_broken = head & _HEAD_KNOWN != 0
    is_broken |= room > np.uint64(_LONGEST - _SHORTEST)
    bounds = np.searchsorted(place, splits)
    counts = np.diff(bounds)
    some = counts > 0
    following = np.empty_like(place)
    following[:-1] = place[1:]
    following[bounds[1:][some] - 1] = splits[1:][some]
    following -= place
    following -= size
    is_broken |= following != _HEAD_BYTES
    if kind is Kind.FLOAT:
        is_broken |= size & 3 != 0
    is_bad = np.append(place, -1)[bounds[:-1]] != splits[:-1]  # starts with something else
    if is_broken.any() or is_bad.any():
        which = np.repeat(np.arange(starts.size), counts)
        is_bad[which[is_broken]] = True
        if is_bad.all():
            return None
        is_good = ~is_bad[which]
        place, size = place[is_good], size[is_good]
        counts[is_bad] = 0
    place += np.repeat(starts - splits[:-1] + _HEAD_BYTES, counts)
    return counts, place, size


def find_steps(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Fields]:
    """Find the steps of many FeatureLists, of any form, and the fields of their Features.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer; a block's spare bytes follow the last list.
    starts, stops : int64, shape (n_lists,)

    Returns
    -------
    counts : int64, shape (n_lists,)
        Steps of each list.
    found : Fields
        The fields of all Features, by step; the owner is the number of the step.

    Raises
    ------
    WireError
        For a list that is malformed, or a Feature in it; its `message` is the number of
        the list.
    """
    counts, features = repeated_len(data, starts, stops, FEATURE, _LIST_DEPTH)
    with errors_of(np.repeat(np.arange(starts.size), counts)):
        return counts, _fields_of(data, features.start, features.start + features.length)


def _fields_of(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> Fields:
    """Split Features into fields: one look says that most are one list, or empty."""
    length = stops - starts
    head = lanes(data)[starts]
    kind = KIND_OF_TAG[(head & np.uint64(0xFF)).view(np.int64)]
    is_one = (head >> np.uint64(8)) & np.uint64(0xFF) == (length - 2).view(np.uint64)
    is_one &= (kind != 0) & (length <= _LONGEST + 2)
    one = np.flatnonzero(is_one)
    types = np.full(one.size, LEN, np.uint8)
    found = Fields(one, kind[one].astype(np.int32), types, starts[one] + 2, stops[one])
    odd = np.flatnonzero(~is_one & (length > 0))
    if not odd.size:
        return found
    with errors_of(odd):
        rest = tokenise(data, starts[odd], stops[odd], _FEATURE_DEPTH)
    return join([found, replace(rest, owner=odd[rest.owner])])
