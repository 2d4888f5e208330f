"""The Features of many FeatureLists: where each step is, and what stands in it.

::

    FeatureList   1 feature ─> Feature   1 bytes_list, 2 float_list, 3 int64_list

Steps follow one another, so where one is found depends on the one before it. Nearly
every step is short and written as programs write it, though. Then all of it but its kind
and its values follows from its size::

    0a r  (0a | 12 | 1a) r-2  0a r-4  values ...
          r bytes, up to the next step

Two guesses at all steps of a list, made without going from one to the next, are checked
as a whole: that they all have the size of the first; and that they are where bytes look
like the head of one. A guess is right if heads and sizes lead from the start of the list
to its end. Lists for which neither is right go step by step, in lockstep with each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tfrecord_lite.example.entries import KIND_OF_TAG, errors_of, join
from tfrecord_lite.wire.fields import LEN, Fields, tokenise
from tfrecord_lite.wire.lanes import lanes
from tfrecord_lite.wire.ragged import gather, ranges, row_splits
from tfrecord_lite.wire.repeated import repeated_len

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["find_steps"]

FEATURE = 1
_LIST_DEPTH, _FEATURE_DEPTH = 3, 4

_TAG = 0x0A
# The head of a plain step is linear in its number of bytes r, but for the kind.
_HEAD_KNOWN = np.uint64(0xFFFFFF00FFFF)
_HEAD_PER_BYTE = np.uint64(1 << 8 | 1 << 24 | 1 << 40)
_HEAD = np.uint64((0x0A - (2 << 24) + (0x0A << 32) - (4 << 40)) % 2**64)
_HEAD_BYTES = 6
_SHORTEST, _LONGEST = 4, 0x7F
_SEARCHED = 40
"""Longer steps are not searched for: looking at every byte would cost more than walking."""


def find_steps(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Fields]:
    """Find the steps of many FeatureLists, and the fields of their Features.

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
    counts = np.zeros(starts.size, np.int64)
    parts: list[tuple[npt.NDArray[np.int64], Fields]] = []
    left = np.flatnonzero(stops > starts)
    for guess in (_even, _searched):
        if left.size:
            is_right, n_steps, found = guess(data, starts[left], stops[left])
            counts[left[is_right]] = n_steps
            parts.append((left[is_right], found))
            left = left[~is_right]
    if left.size:
        with errors_of(left):
            n_steps, found = _walked(data, starts[left], stops[left])
        counts[left] = n_steps
        parts.append((left, found))
    return counts, _merge(parts, row_splits(counts), counts)


def _merge(
    parts: list[tuple[npt.NDArray[np.int64], Fields]],
    splits: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> Fields:
    """Bring fields of steps that are numbered within some lists into the order of all."""
    parts = [part for part in parts if part[1].owner.size]
    moved = []
    for lists, found in parts:
        if lists.size == counts.size:
            return found
        step = ranges(splits[lists], counts[lists])
        moved.append(replace(found, owner=step[found.owner]))
    if not moved:
        none = np.empty(0, np.int64)
        return _plain_fields(none, none, none.astype(np.uint8))
    return join(moved)


def _plain_fields(
    start: npt.NDArray[np.int64], stop: npt.NDArray[np.int64], kind: npt.NDArray[np.uint8]
) -> Fields:
    """Return the fields of plain steps: one list each."""
    types = np.full(start.size, LEN, np.uint8)
    return Fields(np.arange(start.size), kind.astype(np.int32), types, start + 4, stop)


def _is_head(head: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """Say which words start a plain step, of any kind, and how many bytes it then has."""
    room = (head >> np.uint64(8)) & np.uint64(0xFF)
    is_head = head & _HEAD_KNOWN == room * _HEAD_PER_BYTE + _HEAD
    is_head &= room - np.uint64(_SHORTEST) <= np.uint64(_LONGEST - _SHORTEST)
    return is_head, room


def _kind(head: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Return the kind of plain steps, 0 for none that there is."""
    return KIND_OF_TAG[((head >> np.uint64(16)) & np.uint64(0xFF)).view(np.int64)]


def _even(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], Fields]:
    """Find steps that are plain and all of one size in each list.

    Returns
    -------
    is_right : bool, shape (n_lists,)
        For which lists this is so.
    counts : int64, shape (is_right.sum(),)
        Steps of each of them.
    found : Fields
        Of their steps.
    """
    words = lanes(data)
    head = words[starts]
    is_right, room = _is_head(head)
    kind = _kind(head)
    is_right &= kind != 0
    size = room.view(np.int64) + 2
    length = stops - starts
    is_right &= length % size == 0
    chosen = np.flatnonzero(is_right)
    counts = length[chosen] // size[chosen]
    at = _arithmetic(starts[chosen], size[chosen], counts)
    wanted = np.repeat(head[chosen], counts)
    wanted ^= words[at]
    differs = wanted << np.uint64(64 - 8 * _HEAD_BYTES) != 0
    if differs.any():
        which = np.repeat(np.arange(chosen.size), counts)
        is_bad = np.zeros(chosen.size, np.bool_)
        is_bad[which[differs]] = True
        is_right[chosen[is_bad]] = False
        at = at[~is_bad[which]]
        chosen, counts = chosen[~is_bad], counts[~is_bad]
    stop = at + np.repeat(size[chosen], counts)
    return is_right, counts, _plain_fields(at, stop, np.repeat(kind[chosen], counts))


def _arithmetic(
    starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return where the steps of lists are, if those of each list have one size."""
    splits = row_splits(counts)
    at = np.arange(splits[-1])
    if sizes.size and (sizes == sizes[0]).all():
        at *= sizes[0]
        at += np.repeat(starts - splits[:-1] * sizes, counts)
        return at
    at -= np.repeat(splits[:-1], counts)
    at *= np.repeat(sizes, counts)
    at += np.repeat(starts, counts)
    return at


def _searched(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], Fields]:
    """Find steps that are plain and of one kind in each list; as :func:`_even`."""
    head = lanes(data)[starts]
    is_plain, room = _is_head(head)
    kind = _kind(head)
    is_plain &= room <= np.uint64(_SEARCHED)
    is_right = np.zeros(starts.size, np.bool_)
    counts = np.zeros(starts.size, np.int64)
    parts = []
    for one in np.unique(kind[is_plain & (kind != 0)]).tolist():
        chosen = np.flatnonzero(is_plain & (kind == one))
        n_steps, found = _search(data, starts[chosen], stops[chosen], one)
        counts[chosen] = n_steps
        is_right[chosen] = n_steps > 0
        parts.append((chosen, found))
    return is_right, counts[is_right], _merge(parts, row_splits(counts), counts)


def _search(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    kind: int,
) -> tuple[npt.NDArray[np.int64], Fields]:
    """Find the plain steps of lists of one kind: how many, 0 if not all are plain; and fields."""
    splits = row_splits(stops - starts)
    joined = np.concatenate([gather(data, starts, stops - starts), np.zeros(8, np.uint8)])
    # Three bytes of a head do not vary; comparing bytes that lie side by side costs little.
    looks = joined[:-8] == _TAG
    looks &= joined[2:-6] == kind << 3 | LEN
    looks &= joined[4:-4] == _TAG
    place = np.flatnonzero(looks)
    is_head, room = _is_head(lanes(joined)[place])
    bounds = np.searchsorted(place, splits)
    counts = np.diff(bounds)
    some = counts > 0
    following = np.append(place[1:], 0)
    following[bounds[1:][some] - 1] = splits[1:][some]
    is_broken = ~is_head | (place + room.view(np.int64) + 2 != following)
    is_bad = np.append(place, -1)[bounds[:-1]] != splits[:-1]  # starts with something else
    which = np.repeat(np.arange(starts.size), counts)
    is_bad[which[is_broken]] = True
    if is_bad.any():
        keep = ~is_bad[which]
        place, room, which = place[keep], room[keep], which[keep]
        counts[is_bad] = 0
    at = place + (starts - splits[:-1])[which]
    return counts, _plain_fields(at, at + room.view(np.int64) + 2, np.full(at.size, kind, np.uint8))


def _walked(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Fields]:
    """Find steps of any form, one after the other; counts and fields, as :func:`find_steps`."""
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
