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

Steps of one known form: where they are, and their values.

The steps of a list nearly always have a head of one form, with their content behind it, up
to the next step. If all contents have one length, they lie at even distances, and no more
than where the first is and how many there are need be known of a list. So evenly placed
floats are padded without a look at any step::

    in the buffer      h 1 h 2 h 3 ..      h 4 ......      (h: a head)
    a copy a list      h 1 h 2 h 3         h 4 x x x x     as long as the longest
    heads left out       1   2   3           4   x   x     a view, with strides
    the rest is 0        1   2   3           4   0   0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import (
    BoolArray,
    Float32Array,
    Int64Array,
    Uint8Array,
    gather,
    lanes,
    ranges,
    row_splits,
    rows,
)
from tfrecord_lite.example.decode.entries import join
from tfrecord_lite.example.decode.learn import length_before, nested
from tfrecord_lite.example.decode.oneof import Values
from tfrecord_lite.example.proto import KIND_OF_TAG, KIND_TAGS, LIST_VALUE_TAG, STEP, STEP_TAG
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise
from tfrecord_lite.wire.repeated import Extents, repeated_len, varint_runs
from tfrecord_lite.wire.scalar import LEN

if TYPE_CHECKING:
    from collections.abc import Iterator


_LIST_DEPTH, _FEATURE_DEPTH = 3, 4

_HEAD_BYTES = 6
"""Of the head of a short step."""
_SHORTEST, _LONGEST = 4, 0x7F
_SEARCHED = 40
"""Longer steps are not searched for: looking at every byte would cost more than walking."""
_AT_ONCE = 8 * 1024
"""So many steps are looked at together, for the same reason."""
_TYPICAL = 8
"""Bytes of a step that is searched for, more or less."""
_MOST_WRONG = 0.5
"""If a guess is wrong for more of the lists than this, another is made."""


def find_plain(data: Uint8Array, starts: Int64Array, stops: Int64Array) -> PlainSteps | None:
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
    counts = np.zeros(starts.size, np.int64)
    where: EvenPlaces | AnyPlaces
    even = _even(data, some_starts, some_stops, first)
    if even is not None:
        is_plain[filled] = even > 0
        counts[filled] = even
        where = EvenPlaces(starts[is_plain] + len(first.head), first.size, first.length)
    else:
        searched = None
        if first.size <= _SEARCHED:
            searched = _searched(data, some_starts, some_stops, first.kind)
        if searched is None:
            return None
        found, where = searched
        is_plain[filled] = found > 0
        counts[filled] = found
    return PlainSteps(is_plain, first.kind, counts[is_plain], where)


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
    feature = nested(view, 0, None, STEP_TAG[0])
    if feature is None or feature >= len(view):
        return None
    stop = feature + length_before(view, 0)
    tag = view[feature] if feature < stop <= len(view) else 0
    values = nested(view, feature, stop, tag)
    content = nested(view, values, stop, LIST_VALUE_TAG[0]) if values is not None else None
    if content is None or not KIND_OF_TAG[tag]:
        return None
    kind, length = Kind(int(KIND_OF_TAG[tag])), stop - content
    if kind is Kind.FLOAT and length % 4:
        return None
    return _Step(kind, bytes(view[:content]), length)


def _even(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
    first: _Step,
) -> Int64Array | None:
    """Count steps that are all as the first; None if sizes tell that not all lists are so.

    Returns
    -------
    int64, shape (n_lists,)
        Steps of each list; 0 where the guess is wrong.
    """
    length = stops - starts
    counts = length // first.size
    if (counts * first.size != length).any():
        return None
    wrong = np.zeros(starts.size, np.bool_)
    words = lanes(data)
    for some in _slices(counts):
        at = ranges(starts[some], counts[some], first.size)
        differs = np.zeros(at.size, np.bool_)
        for place in range(0, len(first.head), 8):
            part = first.head[place : place + 8]
            unused = np.uint64(64 - 8 * len(part))
            loaded = words[at + place] if place else words[at]
            loaded ^= np.uint64(int.from_bytes(part, "little"))
            loaded <<= unused
            differs |= loaded != 0
        if differs.any():
            wrong[some][np.repeat(np.arange(counts[some].size), counts[some])[differs]] = True
    if wrong.mean() > _MOST_WRONG:
        return None
    return np.where(wrong, 0, counts)


def _slices(counts: Int64Array) -> Iterator[slice]:
    """Divide lists so that about :data:`_AT_ONCE` steps, or one list, are in each slice."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def _searched(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
    kind: Kind,
) -> tuple[Int64Array, AnyPlaces] | None:
    """Find short steps of one kind by what their heads look like.

    Returns
    -------
    counts : int64, shape (n_lists,)
        Steps of each list; 0 where the guess is wrong.
    where : AnyPlaces
        The steps of the others. None instead if there are no others.
    """
    parts = [
        _search(data, starts[some], stops[some], kind)
        for some in _slices((stops - starts) // _TYPICAL)
    ]
    counts, start, length = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (counts, AnyPlaces(start, length)) if start.size else None


def _search(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
    kind: Kind,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Search some of the lists: steps of each, and start and length of the content of each step."""
    splits = row_splits(stops - starts)
    joined = np.concatenate([gather(data, starts, stops - starts), np.zeros(8, np.uint8)])
    # Comparing bytes that lie side by side costs little, so all of a head is.
    room = joined[1:]
    looks = joined[:-8] == STEP_TAG[0]
    looks &= joined[2:-6] == KIND_TAGS[kind][0]
    looks &= joined[4:-4] == LIST_VALUE_TAG[0]
    looks &= room[:-7] - joined[3:-5] == np.uint8(2)
    looks &= room[:-7] - joined[5:-3] == np.uint8(4)
    place = np.flatnonzero(looks)
    bounds = np.searchsorted(place, splits)
    counts = np.diff(bounds)
    some = counts > 0
    size = np.empty_like(place)  # of the content: up to the next head, or the end of the list
    size[:-1] = place[1:]
    size[bounds[1:][some] - 1] = splits[1:][some]
    size -= place
    size -= _HEAD_BYTES
    rooms = room[place]
    is_broken = size != rooms - np.uint8(_SHORTEST)
    is_broken |= rooms - np.uint8(_SHORTEST) > _LONGEST - _SHORTEST
    if kind is Kind.FLOAT:
        is_broken |= size & 3 != 0
    is_bad = np.append(place, -1)[bounds[:-1]] != splits[:-1]  # starts with something else
    if is_broken.any() or is_bad.any():
        which = np.repeat(np.arange(starts.size), counts)
        is_bad[which[is_broken]] = True
        is_good = ~is_bad[which]
        place, size = place[is_good], size[is_good]
        counts[is_bad] = 0
    place += np.repeat(starts - splits[:-1] + _HEAD_BYTES, counts)
    return counts, place, size


def find_steps(
    data: Uint8Array, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Fields]:
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
    counts, features = repeated_len(data, starts, stops, STEP, _LIST_DEPTH)
    with renumbered(np.repeat(np.arange(starts.size), counts)):
        return counts, _fields_of(data, features.start, features.start + features.length)


def _fields_of(data: Uint8Array, starts: Int64Array, stops: Int64Array) -> Fields:
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
    with renumbered(odd):
        rest = tokenise(data, starts[odd], stops[odd], _FEATURE_DEPTH)
    return join([found, replace(rest, owner=odd[rest.owner])])


_COPIED_BYTES = 128 * 1024
"""So many bytes of lists are copied at once; they stay in the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class EvenPlaces:
    """Contents of one length, as far from each other in all lists."""

    first: Int64Array
    """Where that of the first step of each list starts; shape (n_lists,)."""
    size: int
    """Bytes from one step to the next."""
    length: int

    def start(self, counts: Int64Array) -> Int64Array:
        """Return where each content starts, given the steps of each list; shape (n_steps,)."""
        return ranges(self.first, counts, self.size)

    def pad(
        self,
        data: Uint8Array,
        counts: Int64Array,
        out: Float32Array,
    ) -> None:
        """Copy all contents, as :meth:`PlainSteps.pad`.

        As many bytes as the longest list has are copied from the start of each list; in
        that copy, contents lie at the same places for all, so no step is looked at.
        """
        n_lists, longest = out.shape[:2]
        step = np.dtype((np.void, self.length))
        to = out.reshape(-1).view(step).reshape(n_lists, longest)
        width = (longest - 1) * self.size + self.length
        last = data.size - width  # starts behind it are copied from a buffer with more room
        is_late = self.first > last
        base = max(last, 0)
        tail = np.concatenate([data[base:], np.zeros(width, np.uint8)])
        for source, which, first in (
            (data, np.flatnonzero(~is_late), self.first),
            (tail, np.flatnonzero(is_late), self.first - base),
        ):
            for begin in range(0, which.size, at_once := max(_COPIED_BYTES // width, 1)):
                some = which[begin : begin + at_once]
                copied = rows(source, width)[first[some]]
                strides = (width, self.size)
                steps = np.ndarray((some.size, longest), step, copied, strides=strides)
                steps[np.arange(longest) >= counts[some, None]] = np.zeros((), step)
                to[some] = steps


@dataclass(frozen=True, slots=True, eq=False)
class AnyPlaces:
    """Contents of any lengths, anywhere."""

    starts: Int64Array
    """Where each starts; shape (n_steps,)."""
    length: Int64Array
    """Bytes of each; shape (n_steps,)."""

    def start(self, _: Int64Array) -> Int64Array:
        """Return where each content starts; shape (n_steps,)."""
        return self.starts


@dataclass(frozen=True, slots=True, eq=False)
class PlainSteps:
    """Steps of many lists that are one string, or one packed chunk, of one kind each."""

    is_plain: BoolArray
    """Which of the lists have such steps, and no others; shape (n_lists,)."""
    kind: Kind
    """Of all steps."""
    counts: Int64Array
    """Steps of each of these lists; shape (is_plain.sum(),)."""
    where: EvenPlaces | AnyPlaces
    """Where the content of each step is."""

    def values(self, data: Uint8Array, kind: Kind) -> Values:
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
        start, length = self.where.start(self.counts), self.where.length
        if kind is Kind.FLOAT and isinstance(length, int):
            if not length:
                return Values(0, np.empty(0, np.float32))
            return Values(length // 4, rows(data, length)[start].view("<f4"))
        lengths = np.broadcast_to(length, start.shape)
        if kind is Kind.BYTES:
            return Values(1, Extents(start, lengths))
        if kind is Kind.FLOAT:
            return Values(lengths >> 2, gather(data, start, lengths).view("<f4"))
        with (
            renumbered(np.flatnonzero(self.is_plain)),
            renumbered(np.repeat(np.arange(self.counts.size), self.counts)),
        ):
            counts, numbers = varint_runs(data, start, lengths)
        return Values(1 if (counts == 1).all() else counts, numbers)

    def are_floats(self, n_values: int) -> bool:
        """Whether all lists have steps of so many floats, and they lie evenly."""
        return (
            self.kind is Kind.FLOAT
            and isinstance(self.where, EvenPlaces)
            and self.where.length == 4 * n_values > 0
            and bool(self.is_plain.all())
        )

    def pad(self, data: Uint8Array, out: Float32Array) -> None:
        """Store the steps of each list in a row, and zeros behind them; if :meth:`are_floats`.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
        out : float32, shape (n_lists, longest, n_values)
            Contiguous; at least as long as the longest list.
        """
        if isinstance(self.where, EvenPlaces):
            self.where.pad(data, self.counts, out)
