"""A batch of Example messages to the values of each feature, by the fastest reader that can.

::

    up to FEW messages ────────────────────────> runtime    if it can, and for them all
    ┌─> the layouts that the last batch used ──> layout     for all messages that match
    ├─> a layout learnt from those left ───────> layout     again while it pays
    ├─> those left with short entries ─────────> plain      in any order
    └─> those left ────────────────────────────> entries

Without a schema, :class:`DiscoveredKeys` reads batches with every key they have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array
from tfrecord_lite.block import Block
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.example.decode.entries import Features, GeneralMessages, merge
from tfrecord_lite.example.decode.layout import Layout, learn
from tfrecord_lite.example.decode.plain import MOST_KEYS, KnownKeys, PlainMatch
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import renumbered
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from tfrecord_lite.example.sequence.batch import SequenceMessageBatch

Found = TypeVar("Found")
AnyBatch = TypeVar("AnyBatch", "MessageBatch", "SequenceMessageBatch")

_MAX_LAYOUTS = 4
_MAX_FAILED = 2
"""Layouts learnt in vain before the rest is read the general way."""
_LONGEST_PAUSE = 31
"""Most batches in a row that are read without learning, after it was in vain often enough."""
_SAMPLES = 4
FEW = 4
"""Most messages that the protobuf runtime reads: it has no cost per batch."""
_WORTH_A_LAYOUT = 5
"""Fewer messages than this are read the general way at once."""
_WORTH_PLAIN = 16
"""Fewer messages than this are not worth looking for plain entries."""
_BYTES_PER_CELL = 4
"""Messages with fewer bytes per feature of the table have few of the features, and most cells would be
empty."""
_FEW_LEFT = 32
"""Of plain messages one in so many may have keys that are not known; else these are learnt."""
_MAX_CELLS = 4_000_000
"""Most features times messages that are read the general way at once; bounds the memory."""


class _Pace:
    """When to try what may be in vain: after each time that it was, twice as many batches later.

    Learning a layout in vain costs as much as reading some hundred messages. So after a batch for which it
    did not pay, one batch does not try; after the next, three; and so on, up to :data:`_LONGEST_PAUSE`.
    """

    def __init__(self) -> None:
        self._pause = 0
        self._left = 0

    def may_try(self) -> bool:
        """Return whether the next batch should try; call once per batch."""
        self._left -= 1
        return self._left < 0

    def note(self, *, paid: bool) -> None:
        """Remember whether it paid."""
        self._pause = 0 if paid else min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._left = self._pause


class LayoutMemory:
    """What earlier batches from the same writer were like."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        """The layouts that the last batch used."""
        self.learning: _Pace = _Pace()
        self.plain: _Pace = _Pace()
        self.known: KnownKeys | None = None
        """The keys that plain entries had."""


class MessageBatch:
    """The features of a batch of messages: :class:`~.entries.Features`, by the readers that can.

    Message i is ``data[starts[i] : stops[i]]``, and a block's spare bytes follow the last; `table` has
    the keys of the features asked for; `memory`, of earlier batches with this table, is updated.
    """

    def __init__(
        self,
        data: Uint8Array,
        starts: Int64Array,
        stops: Int64Array,
        table: KeyTable,
        memory: LayoutMemory,
    ) -> None:
        self.n_messages: int = starts.size
        self._messages = data, starts, stops
        self._table, self._memory = table, memory
        self._parts: list[tuple[Int64Array, Features]] = []
        left = np.arange(starts.size)
        if 0 < left.size <= FEW:
            few = by_runtime(lambda runtime: runtime.RuntimeMessages(data, starts, stops, table))
            if few is not None:
                self._parts.append((left, few))
                return
        left = self._read_by_layouts(left)
        most = max(_MAX_CELLS // max(len(table.keys), 1), 1)
        for first in range(0, left.size, most):
            rest = self._read_plain(left[first : first + most])
            if rest.size:
                with renumbered(rest):
                    general = GeneralMessages(data, starts[rest], stops[rest], table)
                self._parts.append((rest, general))

    def _read_plain(self, left: Int64Array) -> Int64Array:
        """Read the messages in `left` that have plain entries only; return the others."""
        (data, starts, stops), table, memory = self._messages, self._table, self._memory
        n_keys, n_bytes = len(table.keys), int((stops - starts)[left].sum())
        is_sparse = n_keys * left.size * _BYTES_PER_CELL > n_bytes
        is_worth_it = left.size >= _WORTH_PLAIN and not is_sparse and 0 < n_keys <= MOST_KEYS
        if not is_worth_it or not memory.plain.may_try():
            return left
        known = memory.known or KnownKeys(table)
        plain = PlainMatch(data, starts[left], stops[left], known)
        if left.size - plain.n_messages > left.size // _FEW_LEFT:
            unread = left[~plain.is_read][:_FEW_LEFT]
            with renumbered(unread):
                sample = GeneralMessages(data, starts[unread], stops[unread], table)
            others = dict.fromkeys([*known.others, *sample.unknown_keys(MOST_KEYS)])
            if len(known.others) < len(others) <= MOST_KEYS - n_keys:
                known = KnownKeys(table, list(others))
                plain = PlainMatch(data, starts[left], stops[left], known)
        memory.known = known
        memory.plain.note(paid=plain.n_messages > left.size // 2)
        if plain.n_messages:
            self._parts.append((left[plain.is_read], plain))
        return left[~plain.is_read]

    def _read_by_layouts(self, left: Int64Array) -> Int64Array:
        """Read the messages in `left` that layouts can read; return the others."""
        if left.size < _WORTH_A_LAYOUT:
            return left
        (data, starts, stops), memory = self._messages, self._memory
        used: list[Layout] = []
        remembered = memory.layouts[:]
        n_failed, max_failed = 0, _MAX_FAILED if memory.learning.may_try() else 0
        while left.size >= _WORTH_A_LAYOUT and len(used) < _MAX_LAYOUTS:
            is_new = not remembered
            if is_new and n_failed >= max_failed:
                break
            if is_new:
                # From the middle on, and others each time: the first message may be an odd one.
                places = np.linspace(0, left.size - 1, _SAMPLES + n_failed).astype(np.int64)
                samples = left[np.roll(places, -(_SAMPLES // 2))]
                layout = learn(data, starts[samples], stops[samples], self._table)
            else:
                layout = remembered.pop(0)
            match = layout.match(data, starts[left], stops[left]) if layout else None
            if layout is None or match is None or match.n_messages < _WORTH_A_LAYOUT:
                n_failed += is_new
                continue
            used.append(layout)
            if match.chosen is None:
                self._parts.append((left, match))
                left = left[:0]
                break
            self._parts.append((left[match.chosen], match))
            left = np.delete(left, match.chosen)
        memory.layouts = used
        if used or n_failed:
            memory.learning.note(paid=bool(used))
        return left

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, about `limit` at the most."""
        keys = (key for _, part in self._parts for key in part.unknown_keys(limit))
        return list(dict.fromkeys(keys))

    def present(self, feature: int) -> BoolArray:
        """Return which messages have a feature, with or without a kind; shape (n_messages,)."""
        present = np.zeros(self.n_messages, np.bool_)
        for chosen, part in self._parts:
            present[chosen] = part.present(feature)
        return present

    def kinds(self, feature: int) -> Uint8Array | int:
        """Return the kind of a feature in each message, 0 for none; one number if all agree."""
        if len(self._parts) == 1:
            return self._parts[0][1].kinds(feature)
        kinds = np.zeros(self.n_messages, np.uint8)
        for chosen, part in self._parts:
            kinds[chosen] = part.kinds(feature)
        return kinds

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Return a feature of all messages, with the values of one kind."""
        if len(self._parts) == 1:  # of all messages
            return self._parts[0][1].lists(feature, kind)
        parts: list[tuple[Int64Array, Lists]] = []
        for numbers, part in self._parts:
            with renumbered(numbers):
                parts.append((numbers, part.lists(feature, kind)))
        return merge(kind, self.n_messages, parts)


def by_runtime(read: Callable[[Any], Found]) -> Found | None:
    """Read a few messages: `read` is given :mod:`.runtime`. None if that is unsure of a message."""
    from tfrecord_lite.example.decode import runtime  # noqa: PLC0415 - not light

    try:
        return read(runtime)
    except runtime.UnsureError:
        return None


_MAX_KEYS = 20_000
"""Most keys that a table may have."""
_FEW_KEYS = 256
_BYTES_PER_KEY = 2
"""More than a few keys must each be in many of the messages, or the columns are nearly empty: at
most one key per pair of bytes in the average message."""
_ANY_NUMBER = 2**63


class DiscoveredKeys:
    """The keys found in batches: `table` has at least the keys of the last batch."""

    def __init__(self) -> None:
        self.table: KeyTable = KeyTable([])
        self._memory = LayoutMemory()

    def read_examples(self, block: Block) -> MessageBatch | None:
        """Read a block of Examples; None as :meth:`read`."""
        extents = block.data, block.offsets, block.offsets + block.lengths
        return self.read(len(block), partial(MessageBatch, *extents), int(block.lengths.sum()))

    def read(
        self,
        n_messages: int,
        read: Callable[[KeyTable, LayoutMemory], AnyBatch],
        n_bytes: int | None = None,
    ) -> AnyBatch | None:
        """Read a batch with all the keys it has; None if those are too many, given the bytes of all messages."""
        limit = min(_MAX_KEYS, _MAX_CELLS // n_messages) if n_messages > 1 else _ANY_NUMBER
        if n_messages > 1 and n_bytes is not None:
            limit = min(limit, max(_FEW_KEYS, n_bytes // (n_messages * _BYTES_PER_KEY)))
        is_fresh = not self.table.keys
        while True:
            batch = read(self.table, self._memory)
            unknown: list[bytes] = batch.unknown_keys(limit)
            if not unknown:
                return batch
            keys = [*self.table.keys, *unknown]
            if len(keys) > limit:
                keys = []  # forget the keys of earlier batches
                if is_fresh:
                    self.table, self._memory = KeyTable([]), LayoutMemory()
                    return None
                is_fresh = True
            self.table, self._memory = KeyTable(keys), LayoutMemory()
