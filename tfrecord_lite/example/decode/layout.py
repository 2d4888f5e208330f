"""Example messages that look alike, read by predicting every byte but the values.

A file's messages are written by one program: the same features in the same
order, each with its lengths in as many bytes. A :class:`Layout`, learnt from a few
messages (:mod:`.learning`), says what stands where::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ·· | 0a 0f 0a 05 label 12 ...
           ╰────────── slot ──────────────────╯   ╰─ slot ───────────

One *slot* a map entry: its known bytes, the holes for lengths that vary with
the value, and the *form* the value has. Slots of fixed size are joined into one
stretch, so that ten float features come in with one gather.

Matching checks every byte that is not a value, so a message that matches means
what the general way (:mod:`.lists`) would find in it. All others are left to that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    lanes,
    rows,
)
from tfrecord_lite.example.decode.oneof import LIST_READERS, NO_VALUES, ListValues
from tfrecord_lite.example.proto import FEATURES_TAG, LIST_VALUE
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.repeated import varint_runs
from tfrecord_lite.wire.template import MAX_TEMPLATE_BYTES, Hole, Template
from tfrecord_lite.wire.varint import read_varints

if TYPE_CHECKING:
    from tfrecord_lite.example.decode.oneof import Flat
    from tfrecord_lite.wire.template import TemplateRows

    _Payload: TypeAlias = AnyArray | ByteRanges

_IN_ROW_BYTES = 64


class ValueForm(Enum):
    """How a slot's value is stored, and so how it is read."""

    FIXED = auto()
    """As many bytes in every message: nothing, floats, or what nobody asked for."""
    VARINT = auto()
    """One number."""
    STRING = auto()
    """One byte string."""
    CHUNK = auto()
    """A packed chunk of numbers."""
    LIST = auto()
    """A list message in any other form."""
    SKIPPED = auto()
    """A Feature nobody asked for."""


@dataclass(frozen=True, slots=True)
class LayoutEntry:
    """One map entry of a layout."""

    key: bytes
    feature: int
    """Number of its key in the table, -1 if not there."""
    kind: int
    """The :class:`Kind` of its list, 0 for none."""
    form: ValueForm
    head: bytes
    """The entry up to its payload."""
    holes: tuple[Hole, ...]
    """The lengths around the payload, outermost first; places count from the entry's start."""
    length: int
    """Bytes of payload in the message it was learnt from."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What is matched with one gather."""

    template: Template
    fixed: tuple[tuple[LayoutEntry, int], ...]
    """Slots whose payload of fixed size is in the stretch, and where."""
    last: LayoutEntry | None
    """The slot whose payload follows the stretch."""


class Layout:
    """How some messages look.

    Parameters
    ----------
    slots : list of LayoutEntry
        The map entries, in order.
    """

    def __init__(self, slots: list[LayoutEntry]) -> None:
        self._steps = _join(slots)
        self.unknown = [slot.key for slot in slots if slot.feature < 0]
        """The keys that are not in the table."""

    def match(
        self,
        data: Uint8Array,
        starts: Int64Array,
        stops: Int64Array,
    ) -> LayoutMatch:
        """Read the messages that look like this.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
            The buffer; a block's spare bytes follow the last message.
        starts, stops : int64, shape (n,)

        Returns
        -------
        LayoutMatch
        """
        lengths, sizes = read_varints(lanes(data), starts + 1)
        at = starts + 1 + sizes
        bad = (data[starts] != FEATURES_TAG[0]) | (at + lengths.view(np.int64) != stops)
        match = LayoutMatch(self, data)
        for step in self._steps:
            # A message that has gone astray goes on from its start, where all loads are safe.
            at = np.where(bad, starts, at) if bad.any() else at
            stretch = step.template.match(data, at)
            for slot, place in step.fixed:
                match.add(slot, stretch.fixed(place, slot.length))
            at = at + step.template.n_bytes
            if step.last is not None:
                at = match.add_last(step.last, stretch, at)
            if stretch.wrong is not None:
                bad |= stretch.wrong
            bad |= at > stops
        bad |= at != stops
        match.keep(~bad)
        return match


class LayoutMatch:
    """What a layout found in the messages that match it."""

    def __init__(self, layout: Layout, data: Uint8Array) -> None:
        self._layout = layout
        self._data = data
        self.chosen: Int64Array | None = None
        """Numbers of the messages that match; None for all."""
        self.n_messages = 0
        self._found: dict[int, tuple[LayoutEntry, _Payload]] = {}

    def add(self, slot: LayoutEntry, payload: _Payload) -> None:
        """Take in the payloads of a slot."""
        if slot.feature >= 0:
            self._found[slot.feature] = slot, payload

    def add_last(self, slot: LayoutEntry, stretch: TemplateRows, at: Int64Array) -> Int64Array:
        """Take in the payloads that follow a stretch; return where they end."""
        is_fixed = slot.form is ValueForm.FIXED
        lengths = np.full(at.size, slot.length) if is_fixed else stretch.lengths()
        if slot.form is ValueForm.VARINT:
            values, sizes = stretch.varints()
            stretch.mark_wrong(sizes != lengths)
            self.add(slot, values)
        else:
            self.add(slot, ByteRanges(self._data, at, lengths))
            if slot.form is ValueForm.CHUNK and slot.kind == Kind.FLOAT:
                stretch.mark_wrong(lengths & 3 != 0)
        return at + lengths

    def keep(self, good: BoolArray) -> None:
        """Forget the messages that do not match."""
        self.n_messages = good.size
        if good.all():
            return
        self.chosen = np.flatnonzero(good)
        self.n_messages = self.chosen.size
        for feature, (slot, payload) in self._found.items():
            self._found[feature] = slot, _take(payload, self.chosen)

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the keys that are not in the table, about so many at the most."""
        return self._layout.unknown

    def present(self, feature: int) -> bool:
        """Return whether every message has a feature, be it without a kind, or none."""
        return feature in self._found

    def kinds(self, feature: int) -> int:
        """Return the :class:`Kind` a feature has in every message, 0 for none."""
        return self._found[feature][0].kind if feature in self._found else 0

    def values(self, feature: int, kind: Kind) -> ListValues:
        """Read the values of a feature in each message; none if it is of another kind.

        Raises
        ------
        WireError
            For a value nothing but which is malformed.
        """
        if self.kinds(feature) != kind:
            return ListValues(0, NO_VALUES[kind])
        slot, payload = self._found[feature]
        if slot.form is ValueForm.FIXED:
            return ListValues(slot.length // 4, self._fixed(slot, payload))
        if slot.form is ValueForm.STRING or not isinstance(payload, ByteRanges):
            return ListValues(1, payload)  # one string, or one number, which is decoded already
        if slot.form is ValueForm.LIST:
            stops = payload.starts + payload.lengths
            counts, flat = LIST_READERS[kind](self._data, payload.starts, stops, LIST_VALUE, 4)
        elif kind is Kind.INT64:
            counts, flat = varint_runs(payload)
        else:
            counts, flat = payload.lengths >> 2, payload.joined()
        return ListValues(counts, flat.view("<f4") if kind is Kind.FLOAT else flat)

    def _fixed(self, slot: LayoutEntry, payload: _Payload) -> Flat:
        if slot.length == 0:
            return NO_VALUES[Kind(slot.kind)]
        if isinstance(payload, ByteRanges):
            payload = rows(self._data, slot.length)[payload.starts].view(np.uint8)
        return payload.reshape(-1).view("<f4")


def _take(payload: _Payload, chosen: Int64Array) -> _Payload:
    return payload.take(chosen) if isinstance(payload, ByteRanges) else payload[chosen]


def _join(slots: list[LayoutEntry]) -> list[_Step]:
    """Join slots into stretches, each as long as it may be."""
    steps: list[_Step] = []
    known = b""
    unknown: list[tuple[int, int]] = []
    fixed: list[tuple[LayoutEntry, int]] = []

    def end(last: LayoutEntry | None, holes: list[Hole]) -> None:
        nonlocal known, unknown, fixed
        steps.append(_Step(Template(known, unknown, holes), tuple(fixed), last))
        known, unknown, fixed = b"", [], []

    for slot in slots:
        if known and len(known) + len(slot.head) > MAX_TEMPLATE_BYTES:
            end(None, [])
        place = len(known)
        known += slot.head
        if slot.form is not ValueForm.FIXED:
            end(slot, [replace(hole, place=place + hole.place) for hole in slot.holes])
        elif len(known) + slot.length > MAX_TEMPLATE_BYTES or slot.length > _IN_ROW_BYTES:
            end(slot, [])
        else:
            fixed.append((slot, len(known)))
            unknown.append((len(known), slot.length))
            known += bytes(slot.length)
    if known:
        end(None, [])
    return steps
