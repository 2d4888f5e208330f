"""A batch of SequenceExample messages: their contexts, and the steps of their feature lists.

::

    SequenceExample  1 context ─> Features   (as an Example's)
                     2 feature_lists ─> FeatureLists  1 feature_list ─> entry

    entry            1 key   ─> string
                     2 value ─> FeatureList  1 feature ─> Feature, one per step

A message up to the end of its context *is* an Example: both have their Features in field 1,
and an Example's reader skips all other fields. So contexts are read as Examples. Feature lists
are read in lockstep: the map entries of all messages are one flat batch, and so are the steps
of all lists.

The protobuf runtime decides what a message means, as for Examples: of several lists with one
key the last counts, whole; several values in one entry are joined.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tfrecord_lite.arrays import (
    BoolArray,
    ByteRanges,
    Float32Array,
    Int64Array,
    Uint8Array,
    ranges,
    row_splits,
)
from tfrecord_lite.example.decode import batch
from tfrecord_lite.example.decode.entries import MapEntries, distinct, submessages
from tfrecord_lite.example.decode.oneof import (
    FeatureListValues,
    FeatureValues,
    ListValues,
    MergedFeatures,
    common_buffer,
    merge,
)
from tfrecord_lite.example.proto import FEATURE_LISTS, FEATURES
from tfrecord_lite.example.sequence.steps import find_plain, find_steps
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import Fields, renumbered, tokenise

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.block import Block
    from tfrecord_lite.example.decode.batch import DiscoveredKeys
    from tfrecord_lite.example.decode.entries import LocatedEntries
    from tfrecord_lite.example.decode.oneof import Flat
    from tfrecord_lite.example.decode.runtime import RuntimeSequences
    from tfrecord_lite.example.sequence.steps import PlainSteps
    from tfrecord_lite.wire.keys import KeyTable

_Number = TypeVar("_Number", bound=np.generic)

_LIST_DEPTH = 5
_FEW = 2
"""Most messages that the protobuf runtime reads: it takes longer for many steps."""
_GROUP_BYTES = 2**23
"""Bytes of messages that are read in one go; this bounds the memory used."""
_MOST_CELLS = 1_000_000
_MOST_GUESSED = 64
"""With more keys than this, the steps are found for all lists together: a guess is for one key."""


class FeatureLists:
    """The feature lists of some keys in many messages, however they are encoded.

    `maps` are the ``feature_lists`` fields of all messages; their owner is the message. A
    *cell* is one list of one message; its number is ``key * n_messages + message``. Raises
    WireError for a message that the protobuf runtime would reject, here or when values are
    read.
    """

    def __init__(self, data: Uint8Array, maps: Fields, n_messages: int, table: KeyTable) -> None:
        self._data = data
        self.n_messages = n_messages
        entries = MapEntries(data, maps, of_features=False)
        located = entries.locate(table, n_messages)
        self._unknown = located.unknown
        self._is_present = np.zeros(len(table.keys) * n_messages, np.bool_)
        self._is_present[located.cell] = True
        self._n_steps = np.zeros(self._is_present.size, np.int64)
        self._plain: dict[int, PlainSteps] = {}
        left = np.ones(located.cell.size, np.bool_)
        if len(table.keys) <= _MOST_GUESSED:
            self._guess(entries, located, left)
        # The lists for which no guess was right.
        chosen = np.flatnonzero(left)
        n_steps, self._cells = _steps_of(data, entries, located.entry[chosen])
        self._n_steps[located.cell[chosen]] = n_steps
        in_cells = np.zeros(self._n_steps.size, np.int64)
        in_cells[located.cell[chosen]] = n_steps
        self._splits = row_splits(in_cells)
        if located.aside.size:  # lists that do not count must be well formed, too
            _steps_of(data, entries, located.aside)[1].check()

    def _guess(self, entries: MapEntries, located: LocatedEntries, left: BoolArray) -> None:
        """Find the lists of each key that have plain steps only, and unmark them in `left`."""
        values = entries.values(located.entry)
        if values.owner.size != left.size or (values.owner[1:] == values.owner[:-1]).any():
            return  # an entry has several values, or none
        bounds = np.searchsorted(
            located.cell, np.arange(0, self._n_steps.size + 1, max(self.n_messages, 1))
        )
        for number, (first, last) in enumerate(pairwise(bounds.tolist())):
            plain = find_plain(self._data, values.start[first:last], values.stop[first:last])
            if plain is not None:
                cell = located.cell[first:last][plain.is_plain]
                self._n_steps[cell] = plain.counts
                self._plain[number] = plain
                left[first:last] = ~plain.is_plain

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return keys that are not in the table, `limit` at the most."""
        return distinct(self._unknown, limit)

    def lists(self, number: int, kind: Kind) -> FeatureListValues:
        """Return one list of each message, with the values of the steps of one kind."""
        cells = self._cells_of(number)
        n_steps = self._n_steps[cells]
        first, last = int(self._splits[cells.start]), int(self._splits[cells.stop])
        found = []
        if number in self._plain:
            with renumbered(np.flatnonzero(self._is_present[cells])):
                found.append(self._plain[number].values(kind))
        if first < last or not found:
            found.append(self._cells.values(first, last, kind))
        values = found[0]
        if len(found) > 1:
            places = [self._places(number, in_cells=in_cells) for in_cells in (False, True)]
            values = merge(kind, int(n_steps.sum()), list(zip(places, found, strict=True)))
        steps = FeatureValues(int(n_steps.sum()), self.kinds(number), values)
        return FeatureListValues(self._is_present[cells], n_steps, steps)

    def even_floats(self, number: int, n_values: int) -> PlainSteps | None:
        """Return a list, not read yet, if each message has it with steps of `n_values` floats."""
        plain = self._plain.get(number)
        if plain is None or plain.is_plain.size != self.n_messages:
            return None
        return plain if plain.are_floats(n_values) else None

    def n_steps(self, number: int) -> int:
        """Return the steps of a list in all messages together."""
        return int(self._n_steps[self._cells_of(number)].sum())

    def kinds(self, number: int) -> Uint8Array | int:
        """Return the kind of each step of a list, one number if all are of one."""
        cells = self._cells_of(number)
        first, last = int(self._splits[cells.start]), int(self._splits[cells.stop])
        found = self._cells.kind[first:last]
        if number not in self._plain:
            return found
        kind = self._plain[number].kind
        if not found.size:
            return kind
        kinds = np.full(int(self._n_steps[cells].sum()), kind, np.uint8)
        kinds[self._places(number, in_cells=True)] = found
        return kinds

    def _cells_of(self, number: int) -> slice:
        return slice(number * self.n_messages, (number + 1) * self.n_messages)

    def _places(self, number: int, *, in_cells: bool) -> Int64Array:
        """Return which steps of a list are in cells; or which are plain, and so are not."""
        cells = self._cells_of(number)
        n_steps = self._n_steps[cells]
        left = np.diff(self._splits[cells.start : cells.stop + 1])
        counts = left if in_cells else n_steps - left
        return ranges(row_splits(n_steps)[:-1], counts)


def _steps_of(
    data: Uint8Array, entries: MapEntries, chosen: Int64Array
) -> tuple[Int64Array, MergedFeatures]:
    """Return the number of steps of each chosen entry, and their Features."""
    values = entries.values(chosen)
    message = entries.message[chosen]
    if not chosen.size:
        return chosen, MergedFeatures(data, values, 0, lambda cells: cells, _LIST_DEPTH)
    with renumbered(message[values.owner]):
        counts, found = find_steps(data, values.start, values.stop)
    if values.owner.size == chosen.size and (values.owner[1:] > values.owner[:-1]).all():
        n_steps = counts
    else:  # several values of one entry, to be joined, or none
        n_steps = np.zeros(chosen.size, np.int64)
        np.add.at(n_steps, values.owner, counts)
    ends = np.cumsum(n_steps)

    def message_of(steps: Int64Array) -> Int64Array:
        return message[np.searchsorted(ends, steps, side="right")]

    return n_steps, MergedFeatures(data, found, int(n_steps.sum()), message_of, _LIST_DEPTH)


class SequenceMessageBatch:
    """A batch of SequenceExample messages: where their contexts end, and their feature lists.

    `starts` and `stops` are int64, shape (n_messages,); `table` has the keys of the lists to
    read. Raises WireError for a malformed message, not always the first, here or when values
    are read.
    """

    def __init__(
        self, data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
    ) -> None:
        self.data = data
        self.n_messages: int = starts.size
        fields = tokenise(data, starts, stops)
        self.context_stops: Int64Array = starts.copy()
        """Where the context of each message ends: up to there it is an Example."""
        context = submessages(fields, FEATURES)
        self.context_stops[context.owner] = context.stop  # of several, the last remains
        maps = submessages(fields, FEATURE_LISTS)
        self._groups: list[tuple[int, FeatureLists | RuntimeSequences]] = []
        if 0 < starts.size <= min(_FEW, batch.FEW):
            few = batch.by_runtime(
                lambda runtime: runtime.RuntimeSequences(data, starts, stops, table)
            )
            if few is not None:
                self._groups.append((0, few))
                return
        bounds = _bounds(stops - starts, len(table.keys))
        places = np.searchsorted(maps.owner, bounds)
        for i, first in enumerate(bounds[:-1].tolist()):
            some = maps.take(np.arange(places[i], places[i + 1]))
            some.owner[:] -= first
            with renumbered(first):
                group = FeatureLists(data, some, int(bounds[i + 1]) - first, table)
            self._groups.append((first, group))

    def contexts(self, block: Block) -> Block:
        """Return the block as far as the contexts, which are Examples."""
        return replace(block, lengths=self.context_stops - block.offsets)

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return keys of lists that are not in the table, about `limit` at the most."""
        found = (key for _, group in self._groups for key in group.unknown_keys(limit))
        return list(dict.fromkeys(found))

    def kinds(self, number: int) -> Uint8Array | int:
        """Return the kind of each step of a list, one number if all are of one."""
        sizes = [group.n_steps(number) for _, group in self._groups]
        return _one_or_all([group.kinds(number) for _, group in self._groups], sizes)

    def kinds_present(self, number: int) -> list[Kind]:
        """Return the kinds that steps of a list have; one to read it with if they have none."""
        kinds = self.kinds(number)
        found = [kinds] if isinstance(kinds, int) else np.flatnonzero(np.bincount(kinds)).tolist()
        return [Kind(kind) for kind in found if kind] or [Kind.FLOAT]

    def padded_floats(
        self, number: int, n_values: int, *, most_times: int | None = None
    ) -> tuple[Float32Array, Int64Array] | None:
        """Return the steps of a list, float32, padded with 0, and the number of each message's.

        The shapes are (n_messages, longest, n_values) and (n_messages,). None if a message
        lacks the list, or the steps are not all `n_values` floats, stored alike; or if padding
        makes more than `most_times` as many steps.
        """
        parts = []
        for first, group in self._groups:
            part = group.even_floats(number, n_values) if isinstance(group, FeatureLists) else None
            if part is None:
                return None
            parts.append((first, part))
        if not parts:
            return None
        n_steps = np.concatenate([part.counts for _, part in parts])
        longest = int(n_steps.max(initial=0))
        if most_times is not None and longest * n_steps.size > most_times * int(n_steps.sum()):
            return None
        try:
            out = np.empty((self.n_messages, longest, n_values), np.float32)
        except (MemoryError, ValueError):
            return None  # the general way raises, and names the longest message
        for first, part in parts:
            part.pad(out[first : first + part.counts.size])
        return out, n_steps

    def lists(self, number: int, kind: Kind) -> FeatureListValues:
        """Return one list of each message, with the values of the steps of one kind."""
        parts = []
        for first, group in self._groups:
            with renumbered(first):
                parts.append(group.lists(number, kind))
        if len(parts) == 1:
            return parts[0]
        sizes = [part.steps.n_messages for part in parts]
        kinds = _one_or_all([part.steps.kinds for part in parts], sizes)
        counts = _one_or_all([part.steps.values.counts for part in parts], sizes)
        values = ListValues(counts, _joined([part.steps.flat for part in parts]))
        return FeatureListValues(
            np.concatenate([part.is_present for part in parts]),
            np.concatenate([part.n_steps for part in parts]),
            FeatureValues(sum(sizes), kinds, values),
        )


def read_sequences(keys: DiscoveredKeys, block: Block) -> SequenceMessageBatch | None:
    """Read a block of SequenceExamples with all feature lists; None if it has too many keys."""
    stops = block.offsets + block.lengths

    def read(table: KeyTable, _: object) -> SequenceMessageBatch:
        return SequenceMessageBatch(block.data, block.offsets, stops, table)

    return keys.read(len(block), read)


def _one_or_all(
    numbers: list[npt.NDArray[_Number] | int], sizes: list[int]
) -> npt.NDArray[_Number] | int:
    """Join the numbers of several groups, of some sizes; one number if all are that."""
    some = [number for number, size in zip(numbers, sizes, strict=True) if size]
    if some and all(isinstance(number, int) and number == some[0] for number in some):
        return int(some[0])
    dtype = next((n.dtype for n in numbers if not isinstance(n, int)), None)
    parts = [np.full(size, n, dtype) for n, size in zip(numbers, sizes, strict=True)]
    return np.concatenate(parts)


def _joined(flats: list[Flat]) -> Flat:
    """Join the values of several groups."""
    strings = [flat for flat in flats if isinstance(flat, ByteRanges)]
    if strings:
        starts = np.concatenate([flat.starts for flat in strings])
        lengths = np.concatenate([flat.lengths for flat in strings])
        return ByteRanges(common_buffer(strings), starts, lengths)
    flat: Flat = np.concatenate([flat for flat in flats if isinstance(flat, np.ndarray)])
    return flat


def _bounds(lengths: Int64Array, n_keys: int) -> Int64Array:
    """Divide messages into groups; return where each starts and the last ends."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    cuts = [np.array([0]), np.searchsorted(ends, np.arange(_GROUP_BYTES, total, _GROUP_BYTES))]
    most = max(_MOST_CELLS // max(n_keys, 1), 1)
    cuts.append(np.arange(most, lengths.size, most))
    cuts.append(np.array([lengths.size]))
    bounds = sorted(set(np.concatenate(cuts).tolist()))
    return np.array(bounds if lengths.size else [0, 0])
