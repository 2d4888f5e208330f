"""A batch of SequenceExample messages: their contexts, and the steps of their feature lists.

A message up to the end of its context *is* an Example: both have their Features in field 1. The map entries
of all messages are one flat batch, and so are the steps of all lists. As for the protobuf runtime, of several
lists with one key the last counts, whole; several values in one entry are joined.

A step starts where the one before it ends, so a list has to be walked. But programs write
all steps of a list alike. A *plain* step holds one string, or one packed run of numbers,
after a prefix of known form, and its content goes on to the next step::

    0a r  (0a | 12 | 1a) r-2  0a r-4  content ...
    ╰─────────── prefix ───────────╯
          r bytes, up to the next step

:func:`find_plain` guesses all steps of many lists in one go: either all have the size of the first, or they
start where bytes look like a prefix. A guess is right for a list if prefixes and sizes lead from its start
exactly to its end. The other lists are walked in lockstep by :func:`find_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import BoolArray, ByteRanges, Int64Array, Uint8Array
from tfrecord_lite.block import Block
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.example import proto
from tfrecord_lite.example.decode import entries
from tfrecord_lite.example.decode.batch import DiscoveredKeys
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.repeated import repeated_len, sums_of
from tfrecord_lite.wire.scalar import content_start, read_length

_STEP_DEPTH, _FEATURE_DEPTH, _LIST_DEPTH = 3, 4, 5

_PREFIX_BYTES = 6
"""The prefix of a short step."""
_SHORTEST, _LONGEST = 4, 0x7F
_SEARCHED = 40
"""Longer steps are not searched for: looking at every byte would cost more than walking."""
_AT_ONCE = 8 * 1024
"""The number of steps that are looked at together; they stay in the cache."""
_TYPICAL = 8
"""About the bytes of a step that is searched for."""
_MOST_WRONG = 0.5
"""The share of lists that a guess may be wrong for before another one is made."""


def find_plain(data: Uint8Array, starts: Int64Array, stops: Int64Array) -> PlainSteps | None:
    """Find the FeatureLists that have plain steps only; best if all are of one key.

    Lists without steps count as plain. None if there are no others, or the guess is right for none.
    """
    filled = np.flatnonzero(stops > starts)
    if not filled.size:
        return None
    sample = filled[filled.size // 2]
    view = memoryview(data)[int(starts[sample]) : int(stops[sample])]  # type: ignore[arg-type]
    first = _first_step(view)
    if first is None:
        return None
    some_starts, some_stops = starts[filled], stops[filled]
    step_counts = _even(data, some_starts, some_stops, first)
    if step_counts is not None:
        begin = arrays.ranges(some_starts + len(first.prefix), step_counts, first.size)
        contents = ByteRanges(data, begin, np.broadcast_to(first.length, begin.shape))
    elif first.size > _SEARCHED:
        return None
    else:
        step_counts, contents = _searched(data, some_starts, some_stops, first.kind)
        if not len(contents):
            return None
    is_plain = stops == starts
    is_plain[filled] = step_counts > 0
    counts = np.zeros(starts.size, np.int64)
    counts[filled] = step_counts
    return PlainSteps(is_plain, first.kind, counts[is_plain], contents)


class _StepForm(NamedTuple):
    """The form of a plain step."""

    kind: Kind
    prefix: bytes
    """Its bytes before the content."""
    length: int
    """Bytes of the content."""

    @property
    def size(self) -> int:
        return len(self.prefix) + self.length


def _first_step(view: memoryview) -> _StepForm | None:
    """Return the form of a list's first step; None if that is not plain."""
    feature = content_start(view, 0, None, proto.STEP_TAG[0])
    if feature is None or feature >= len(view):
        return None
    stop = feature + read_length(view, 0)[0]
    tag = view[feature] if feature < stop <= len(view) else 0
    values = content_start(view, feature, stop, tag)
    if values is None or not proto.KIND_OF_TAG[tag]:
        return None
    content = content_start(view, values, stop, proto.LIST_VALUE_TAG[0])
    if content is None:
        return None
    kind, length = Kind(int(proto.KIND_OF_TAG[tag])), stop - content
    if kind is Kind.FLOAT and length % 4:
        return None
    return _StepForm(kind, bytes(view[:content]), length)


def _even(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, first: _StepForm
) -> Int64Array | None:
    """Count the steps of each list, 0 where not all have the form of the first; None if most do not fit it."""
    length = stops - starts
    counts = length // first.size
    if (counts * first.size != length).any():
        return None
    wrong = np.zeros(starts.size, np.bool_)
    words = arrays.lanes(data)
    for span in _slices(counts):
        at = arrays.ranges(starts[span], counts[span], first.size)  # where each step would start
        differs = np.zeros(at.size, np.bool_)
        for place in range(0, len(first.prefix), 8):
            part = first.prefix[place : place + 8]
            unused = np.uint64(64 - 8 * len(part))
            loaded = words[at + place] if place else words[at]
            loaded ^= np.uint64(int.from_bytes(part, "little"))
            loaded <<= unused
            differs |= loaded != 0
        if differs.any():
            wrong[span][np.repeat(np.arange(counts[span].size), counts[span])[differs]] = True
    if wrong.mean() > _MOST_WRONG:
        return None
    return np.where(wrong, 0, counts)


def _slices(counts: Int64Array) -> Iterator[slice]:
    """Divide lists into slices of about :data:`_AT_ONCE` steps, or of one list."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def _searched(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, kind: Kind
) -> tuple[Int64Array, ByteRanges]:
    """Find short steps of one kind by what their prefixes look like: the steps of each list, 0 where the guess is wrong."""
    spans = _slices((stops - starts) // _TYPICAL)
    parts = [_search(data, starts[span], stops[span], kind) for span in spans]
    counts, start, length = (np.concatenate(column) for column in zip(*parts, strict=True))
    return counts, ByteRanges(data, start, length)


def _search(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, kind: Kind
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Search some of the lists: the steps of each, and start and length of each content."""
    splits = arrays.row_splits(stops - starts)
    joined = np.concatenate([arrays.gather(data, starts, stops - starts), np.zeros(8, np.uint8)])
    # Whether a prefix starts at each byte of the lists, end to end.
    room = joined[1:]
    looks = joined[:-8] == proto.STEP_TAG[0]
    looks &= joined[2:-6] == proto.KIND_TAGS[kind][0]
    looks &= joined[4:-4] == proto.LIST_VALUE_TAG[0]
    looks &= room[:-7] - joined[3:-5] == np.uint8(2)
    looks &= room[:-7] - joined[5:-3] == np.uint8(4)
    place = np.flatnonzero(looks)  # of each prefix, in the lists end to end
    bounds = np.searchsorted(place, splits)
    counts = np.diff(bounds)
    has_values = counts > 0
    size = np.empty_like(place)  # of the content: up to the next prefix, or the end of the list
    size[:-1] = place[1:]
    size[bounds[1:][has_values] - 1] = splits[1:][has_values]
    size -= place
    size -= _PREFIX_BYTES
    rooms = room[place]
    is_broken = size != rooms - np.uint8(_SHORTEST)
    is_broken |= rooms - np.uint8(_SHORTEST) > _LONGEST - _SHORTEST
    if kind is Kind.FLOAT:
        is_broken |= size & 3 != 0
    is_bad = np.append(place, -1)[bounds[:-1]] != splits[:-1]  # does not start with a prefix
    if is_broken.any() or is_bad.any():
        which = np.repeat(np.arange(starts.size), counts)
        is_bad[which[is_broken]] = True
        is_good = ~is_bad[which]
        place, size = place[is_good], size[is_good]
        counts[is_bad] = 0
    place += np.repeat(starts - splits[:-1] + _PREFIX_BYTES, counts)
    return counts, place, size


def find_steps(
    data: Uint8Array, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, Fields]:
    """Find the steps of many FeatureLists, of any form; WireError has the number of the list.

    Returns the steps of each list, and the fields of all Features, whose owner is the number of the step.
    """
    counts, features = repeated_len(data, starts, stops, proto.STEP, _STEP_DEPTH)
    with renumbered(np.repeat(np.arange(starts.size), counts)):
        stops = features.starts + features.lengths
        return counts, tokenise(data, features.starts, stops, _FEATURE_DEPTH)


class PlainSteps(NamedTuple):
    """The plain steps of many lists, all of one kind."""

    is_plain: BoolArray
    """Which lists have plain steps only."""
    kind: Kind
    counts: Int64Array
    """Steps of each of these lists."""
    contents: ByteRanges
    """The content of each of their steps."""

    def lists(self, kind: Kind) -> Lists:
        """Read the values of all steps, none if they are of another kind; WireError has the number of the list."""
        contents = self.contents
        n = len(contents)
        if kind != self.kind:
            return Lists(n, WIRE[kind], (0,), entries.NO_VALUES[kind])
        if kind is Kind.FLOAT:
            longest = int(contents.lengths.max(initial=0))
            if longest and (contents.lengths == longest).all():
                flat = arrays.rows(contents.data, longest)[contents.starts].view("<f4")
                return Lists(n, WIRE[kind], (longest >> 2,), flat)
        with (
            renumbered(np.flatnonzero(self.is_plain)),
            renumbered(np.repeat(np.arange(self.counts.size), self.counts)),
        ):
            counts, values = entries.chunk_values(kind, contents)
        is_single = not isinstance(counts, int) and bool((counts == 1).all())
        return Lists(n, WIRE[kind], (1 if is_single else counts,), values)


_MOST_GUESSED = 64
"""With more keys than this, the steps are found for all lists together: a guess is for one key."""


def _steps_of(
    data: Uint8Array, map_entries: entries.MapEntries, chosen: Int64Array
) -> tuple[Int64Array, entries.MergedFeatures]:
    """Return the number of steps of each chosen entry, and their Features."""
    values = map_entries.values(chosen)
    message = map_entries.message[chosen]
    if not chosen.size:
        return chosen, entries.MergedFeatures(data, values, 0, lambda cells: cells, _LIST_DEPTH)
    with renumbered(message[values.owner]):
        counts, fields = find_steps(data, values.start, values.stop)
    n_steps = sums_of(values.owner, chosen.size, counts)
    ends = np.cumsum(n_steps)

    def message_of(steps: Int64Array) -> Int64Array:
        return message[np.searchsorted(ends, steps, side="right")]

    n_all = int(n_steps.sum())
    return n_steps, entries.MergedFeatures(data, fields, n_all, message_of, _LIST_DEPTH)


class SequenceMessageBatch:
    """A batch of SequenceExample messages: where their contexts end, and the feature lists with keys in `table`.

    A *cell* is one list of one message; its number is ``key * n_messages + message``. Raises WireError for a
    message that the protobuf runtime would reject, not always the first, here or when values are read.
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        self._data = data
        self.n_messages: int = starts.size
        fields = tokenise(data, starts, stops)
        self.context_stops: Int64Array = starts.copy()
        """Where the context of each message ends: up to there it is an Example."""
        context = entries.submessages(fields, proto.FEATURES)
        self.context_stops[context.owner] = context.stop  # of several, the last remains
        lists = entries.submessages(fields, proto.FEATURE_LISTS)
        map_entries = entries.MapEntries(data, lists, of_features=False)
        located = map_entries.locate(table, starts.size)
        self._unknown = located.unknown
        self._is_present = np.zeros(len(table.keys) * starts.size, np.bool_)
        self._is_present[located.cell] = True
        self._n_steps = np.zeros(self._is_present.size, np.int64)
        self._plain: dict[int, PlainSteps] = {}
        left = np.ones(located.cell.size, np.bool_)
        if len(table.keys) <= _MOST_GUESSED:
            self._guess(map_entries, located, left)
        # The lists for which no guess was right.
        chosen = np.flatnonzero(left)
        n_steps, self._cells = _steps_of(data, map_entries, located.entry[chosen])
        self._n_steps[located.cell[chosen]] = n_steps
        in_cells = np.zeros(self._n_steps.size, np.int64)
        in_cells[located.cell[chosen]] = n_steps
        self._splits = arrays.row_splits(in_cells)
        if located.aside.size:  # lists that do not count must be well formed, too
            _steps_of(data, map_entries, located.aside)[1].check()

    def contexts(self, block: Block) -> Block:
        """Return the block as far as the contexts, which are Examples."""
        return replace(block, lengths=self.context_stops - block.offsets)

    def kinds_present(self, number: int) -> list[Kind]:
        """Return the kinds that steps of a list have; one to read it with if they have none."""
        n_steps = int(self._n_steps[self._cells_of(number)].sum())
        return [kind for kind, _ in entries.kinds_in(self.kinds(number), n_steps)] or [Kind.FLOAT]

    def _guess(
        self, map_entries: entries.MapEntries, located: entries.LocatedEntries, left: BoolArray
    ) -> None:
        """Find the lists of each key that have plain steps only, and unmark them in `left`."""
        values = map_entries.values(located.entry)
        if values.owner.size != left.size or (values.owner[1:] == values.owner[:-1]).any():
            return  # an entry has several values, or none
        firsts = np.arange(0, self._n_steps.size + 1, max(self.n_messages, 1))
        bounds = np.searchsorted(located.cell, firsts)
        for number, (first, last) in enumerate(pairwise(bounds.tolist())):
            plain = find_plain(self._data, values.start[first:last], values.stop[first:last])
            if plain is not None:
                self._n_steps[located.cell[first:last][plain.is_plain]] = plain.counts
                self._plain[number] = plain
                left[first:last] = ~plain.is_plain

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return keys that are not in the table, `limit` at the most."""
        return entries.distinct(self._unknown, limit)

    def lists(self, number: int, kind: Kind) -> Lists:
        """Return one list of each message, with the values of the steps of one kind."""
        cells = self._cells_of(number)
        n_steps = self._n_steps[cells]
        first, last = self._in_cells(cells)
        parts = []
        if number in self._plain:
            with renumbered(np.flatnonzero(self._is_present[cells])):
                parts.append(self._plain[number].lists(kind))
        if first < last or not parts:
            parts.append(self._cells.lists(first, last, kind))
        values = parts[0]
        if len(parts) > 1:
            places = [self._places(number, in_cells=in_cells) for in_cells in (False, True)]
            values = entries.merge(kind, int(n_steps.sum()), list(zip(places, parts, strict=True)))
        levels, present = (n_steps, *values.levels), self._is_present[cells]
        return Lists(self.n_messages, values.type, levels, values.flat, present)

    def kinds(self, number: int) -> Uint8Array | int:
        """Return the kind of each step of a list, one number if all are of one."""
        cells = self._cells_of(number)
        cell_kinds = self._cells.kind[slice(*self._in_cells(cells))]
        if number not in self._plain:
            return cell_kinds
        kind = self._plain[number].kind
        if not cell_kinds.size:
            return kind
        kinds = np.full(int(self._n_steps[cells].sum()), kind, np.uint8)
        kinds[self._places(number, in_cells=True)] = cell_kinds
        return kinds

    def _cells_of(self, number: int) -> slice:
        return slice(number * self.n_messages, (number + 1) * self.n_messages)

    def _in_cells(self, cells: slice) -> tuple[int, int]:
        """Return the first and last of the steps in cells for which no guess was right."""
        return int(self._splits[cells.start]), int(self._splits[cells.stop])

    def _places(self, number: int, *, in_cells: bool) -> Int64Array:
        """Return which steps of a list are in cells; or which are plain, and so are not."""
        cells = self._cells_of(number)
        n_steps = self._n_steps[cells]
        left = np.diff(self._splits[cells.start : cells.stop + 1])
        return arrays.ranges(arrays.row_splits(n_steps)[:-1], left if in_cells else n_steps - left)


def read_sequences(keys: DiscoveredKeys, block: Block) -> SequenceMessageBatch | None:
    """Read a block of SequenceExamples with all feature lists; None if it has too many keys."""
    return keys.read(len(block), lambda table, _: sequences_in(block, table))


def sequences_in(block: Block, table: KeyTable) -> SequenceMessageBatch:
    """Read a block of SequenceExamples, with the feature lists whose keys are in a table."""
    return SequenceMessageBatch(block.data, block.offsets, block.offsets + block.lengths, table)
