"""A batch of Example messages: layouts first, the general way for the rest.

A batch of a few goes to the protobuf runtime (:mod:`.few`). Of a larger one:
the first message that has not been read yet, and some more, teach a
:class:`~.layout.Layout`; all messages that match it are read by it. So it goes on
while layouts pay; :class:`~.lists.GeneralMessages` reads what is left. What layouts
there were is remembered, so the next batch learns nothing anew.

Batches with every key they have, when nobody has said which.

A table of keys grows with what turns out not to be in it. What was found stays for
the batches that follow, so that nearly all of them are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from tfrecord_lite.example.decode.general import GeneralMessages
from tfrecord_lite.example.decode.learn import learn
from tfrecord_lite.example.decode.oneof import FeatureValues, ListValues, merge
from tfrecord_lite.wire.fields import renumbered
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfrecord_lite.arrays import BoolArray, Int64Array, Uint8Array
    from tfrecord_lite.example.decode.layout import Layout, LayoutMatch
    from tfrecord_lite.example.decode.runtime import RuntimeMessages
    from tfrecord_lite.schema import Kind

_MAX_LAYOUTS = 4
_MAX_FAILED = 2
"""So many layouts are learnt in vain before the rest is read the general way."""
_LONGEST_PAUSE = 31
"""So many batches are read without learning, at the most, once it was in vain often enough."""
_SAMPLES = 4
FEW = 4
"""So many messages are read by the protobuf runtime, which has no start-up to pay for."""
_WORTH_A_LAYOUT = 5
"""Fewer messages than these are read the general way at once."""
_MOST_CELLS = 4_000_000
"""Features times messages that are read the general way in one go; sets the memory that takes."""


class LayoutMemory:
    """What is remembered from one batch to the next of the same kind.

    Learning in vain costs as much as reading some hundred messages. So after a batch in
    which no layout was worth it, the next ones do without; after two such, twice as many,
    and so on up to :data:`_LONGEST_PAUSE`.
    """

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        """The layouts that the last batch used."""
        self._pause = 0
        self._left = 0

    def may_learn(self) -> bool:
        """Say whether the next batch should try to learn layouts."""
        self._left -= 1
        return self._left < 0

    def note(self, used: list[Layout], *, tried: bool) -> None:
        """Remember which layouts a batch used, and whether it tried to learn some."""
        self.layouts = used
        if used:
            self._pause = self._left = 0
        elif tried:
            self._pause = self._left = min(2 * self._pause + 1, _LONGEST_PAUSE)


class MessageBatch:
    """The features of a batch of messages.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The buffer; a block's spare bytes follow the last message.
    starts, stops : int64, shape (n,)
    table : KeyTable
        The keys of the features asked for.
    memory : LayoutMemory
        That of earlier batches with this table; brought up to date.

    Raises
    ------
    WireError
        For a message that is malformed, here or when values are asked for; not
        always the first such.
    """

    def __init__(
        self,
        data: Uint8Array,
        starts: Int64Array,
        stops: Int64Array,
        table: KeyTable,
        memory: LayoutMemory,
    ) -> None:
        self.n_messages = starts.size
        self.data = data
        self._parts: list[tuple[Int64Array, LayoutMatch | GeneralMessages | RuntimeMessages]] = []
        left = np.arange(starts.size)
        if 0 < left.size <= FEW and (few := _read_few(data, starts, stops, table)):
            self._parts.append((left, few))
            return
        left = self._read_by_layouts(starts, stops, table, memory, left)
        most = max(_MOST_CELLS // max(len(table.keys), 1), 1)
        for first in range(0, left.size, most):
            rest = left[first : first + most]
            with renumbered(rest):
                self._parts.append((rest, GeneralMessages(data, starts[rest], stops[rest], table)))

    def _read_by_layouts(
        self,
        starts: Int64Array,
        stops: Int64Array,
        table: KeyTable,
        memory: LayoutMemory,
        left: Int64Array,
    ) -> Int64Array:
        """Read what layouts can read of the messages that are left; return the others."""
        if left.size < _WORTH_A_LAYOUT:
            return left
        used: list[Layout] = []
        remembered = memory.layouts[:]
        n_failed, most_failed = 0, _MAX_FAILED if memory.may_learn() else 0
        while left.size >= _WORTH_A_LAYOUT and len(used) < _MAX_LAYOUTS:
            is_new = not remembered
            if is_new and n_failed >= most_failed:
                break
            if is_new:
                # Around the middle, and elsewhere the next time: the first may be an odd one.
                places = np.linspace(0, left.size - 1, _SAMPLES + n_failed).astype(np.int64)
                some = left[np.roll(places, -(_SAMPLES // 2))]
                layout = learn(self.data, starts[some], stops[some], table)
            else:
                layout = remembered.pop(0)
            match = layout.match(self.data, starts[left], stops[left]) if layout else None
            if layout is None or match is None or match.n_messages < _WORTH_A_LAYOUT:
                n_failed += is_new
                continue
            used.append(layout)
            if match.chosen is None:
                self._parts.append((left, match))
                left = left[:0]
                break
            self._parts.append((left[match.chosen], match))
            is_left = np.ones(left.size, np.bool_)
            is_left[match.chosen] = False
            left = left[is_left]
        memory.note(used, tried=n_failed > 0)
        return left

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the keys of messages that are not in the table, about `limit` at the most."""
        found = (key for _, part in self._parts for key in part.unknown_keys(limit))
        return list(dict.fromkeys(found))

    def present(self, feature: int) -> BoolArray:
        """Return whether each message has a feature, be it without a kind; shape (n,)."""
        present = np.zeros(self.n_messages, np.bool_)
        for chosen, part in self._parts:
            present[chosen] = part.present(feature)
        return present

    def kinds(self, feature: int) -> Uint8Array | int:
        """Return the kind of a feature in each message, 0 for none."""
        if len(self._parts) == 1:
            return self._parts[0][1].kinds(feature)
        kinds = np.zeros(self.n_messages, np.uint8)
        for chosen, part in self._parts:
            kinds[chosen] = part.kinds(feature)
        return kinds

    def lists(self, feature: int, kind: Kind) -> FeatureValues:
        """Return the lists of a feature, with the values of those of one kind.

        Raises
        ------
        WireError
            For a value that is malformed.
        """
        found: list[ListValues] = []
        for chosen, part in self._parts:
            with renumbered(chosen):
                found.append(part.values(feature, kind))
        kinds = self.kinds(feature)
        if len(found) == 1:
            return FeatureValues(self.n_messages, kinds, found[0])
        parts = [(chosen, values) for (chosen, _), values in zip(self._parts, found, strict=True)]
        return FeatureValues(self.n_messages, kinds, merge(kind, self.n_messages, parts))


def _read_few(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
    table: KeyTable,
) -> RuntimeMessages | None:
    from tfrecord_lite.example.decode.runtime import RuntimeMessages, UnsureError  # noqa: PLC0415 - not light

    try:
        return RuntimeMessages(data, starts, stops, table)
    except UnsureError:
        return None


_MOST_KEYS = 20_000
"""Limit on the table of a batch: its keys."""
_FEW_KEYS = 256
_BYTES_A_KEY = 2
"""Beyond so few, keys must be in many of the messages, or a table of all is nearly empty: not
more of them than messages have pairs of bytes on average."""
_ANY_NUMBER = 2**63


class _HasKeys(Protocol):
    def unknown_keys(self, limit: int) -> list[bytes]: ...


AnyBatch = TypeVar("AnyBatch", bound=_HasKeys)


class DiscoveredKeys:
    """The keys that batches were seen to have.

    Attributes
    ----------
    table : KeyTable
        The keys of the last batch, at least.
    """

    def __init__(self) -> None:
        self.table = KeyTable([])
        self._memory = LayoutMemory()

    def read(
        self,
        n_messages: int,
        read: Callable[[KeyTable, LayoutMemory], AnyBatch],
        n_bytes: int | None = None,
    ) -> AnyBatch | None:
        """Read a batch with all the keys it has; None if those are too many for several.

        With `n_bytes`, the size of all messages, also None if few messages have each key.
        """
        limit = min(_MOST_KEYS, _MOST_CELLS // n_messages) if n_messages > 1 else _ANY_NUMBER
        if n_messages > 1 and n_bytes is not None:
            limit = min(limit, max(_FEW_KEYS, n_bytes // (n_messages * _BYTES_A_KEY)))
        is_fresh = not self.table.keys
        while True:
            batch = read(self.table, self._memory)
            unknown = batch.unknown_keys(limit)
            if not unknown:
                return batch
            keys = [*self.table.keys, *unknown]
            if len(keys) > limit:
                keys = []  # forget those of earlier batches
                if is_fresh:
                    self.table, self._memory = KeyTable([]), LayoutMemory()
                    return None
                is_fresh = True
            self.table, self._memory = KeyTable(keys), LayoutMemory()
