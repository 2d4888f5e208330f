"""Example messages that look alike, read by predicting every byte but the values.

A file's messages are written by one program: the same features in the same order, each with its
lengths in as many bytes. A :class:`Layout`, learnt from a few messages (:mod:`.learn`), says
which bytes stand where::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ·· | 0a 0f 0a 05 label 12 ...
           ╰────────── entry ─────────────────╯   ╰─ entry ──────────

A :class:`LayoutEntry` has the known bytes of a map entry, the holes for lengths that vary with
the value, and the *form* of the value. Entries of fixed size are joined into one stretch, so
that ten float features are read by one gather.

Matching checks every byte that is not a value, so a message that matches has the values that the
general way (:mod:`.general`) would find in it. All others go to `general`.
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
    """How a value is stored, and so how it is read."""

    FIXED = auto()
    """As many bytes in every message: no value, floats, or a Feature that is not asked for."""
    VARINT = auto()
    """One number."""
    STRING = auto()
    """One byte string."""
    CHUNK = auto()
    """A packed chunk of numbers."""
    LIST = auto()
    """A list message in any other form."""
    SKIPPED = auto()
    """A Feature that is not asked for."""


@dataclass(frozen=True, slots=True)
class LayoutEntry:
    """One map entry of a layout."""

    key: bytes
    feature: int
    """Number of its key in the table, -1 if it is not there."""
    kind: int
    """The :class:`Kind` of its list, 0 for none."""
    form: ValueForm
    prefix: bytes
    """The bytes of the entry up to its payload."""
    holes: tuple[Hole, ...]
    """The lengths around the payload, outermost first; places count from the entry's start."""
    length: int
    """Bytes of payload in the message it was learnt from."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Entries that are matched with one gather."""

    template: Template
    fixed: tuple[tuple[LayoutEntry, int], ...]
    """Entries with a payload of fixed size in the stretch, and its offset there."""
    last: LayoutEntry | None
    """The entry whose payload follows the stretch."""


class Layout:
    """The map entries of messages that look alike, in order."""

    def __init__(self, entries: list[LayoutEntry]) -> None:
        self._stretches = _join(entries)
        self.unknown: list[bytes] = [entry.key for entry in entries if entry.feature < 0]
        """The keys that are not in the table."""

    def match(self, data: Uint8Array, starts: Int64Array, stops: Int64Array) -> LayoutMatch:
        """Read the messages that look like this; spare bytes follow the last in `data`."""
        lengths, sizes = read_varints(lanes(data), starts + 1)
        at = starts + 1 + sizes
        bad = (data[starts] != FEATURES_TAG[0]) | (at + lengths.view(np.int64) != stops)
        match = LayoutMatch(self, data)
        for stretch in self._stretches:
            # A message that does not match goes on from its start, where all loads are safe.
            at = np.where(bad, starts, at) if bad.any() else at
            found = stretch.template.match(data, at)
            for entry, place in stretch.fixed:
                match.add(entry, found.fixed(place, entry.length))
            at = at + stretch.template.n_bytes
            if stretch.last is not None:
                at = match.add_last(stretch.last, found, at)
            if found.wrong is not None:
                bad |= found.wrong
            bad |= at > stops
        bad |= at != stops
        match.keep(~bad)
        return match


class LayoutMatch:
    """The values that a layout found in the messages that match it."""

    def __init__(self, layout: Layout, data: Uint8Array) -> None:
        self._layout = layout
        self._data = data
        self.chosen: Int64Array | None = None
        """The messages that match; None for all."""
        self.n_messages: int = 0
        self._found: dict[int, tuple[LayoutEntry, _Payload]] = {}

    def add(self, entry: LayoutEntry, payload: _Payload) -> None:
        """Keep the payloads of an entry that is asked for."""
        if entry.feature >= 0:
            self._found[entry.feature] = entry, payload

    def add_last(self, entry: LayoutEntry, found: TemplateRows, at: Int64Array) -> Int64Array:
        """Keep the payloads that follow a stretch; return where they end."""
        is_fixed = entry.form is ValueForm.FIXED
        lengths = np.full(at.size, entry.length) if is_fixed else found.lengths()
        if entry.form is ValueForm.VARINT:
            values, sizes = found.varints()
            found.mark_wrong(sizes != lengths)
            self.add(entry, values)
        else:
            self.add(entry, ByteRanges(self._data, at, lengths))
            if entry.form is ValueForm.CHUNK and entry.kind == Kind.FLOAT:
                found.mark_wrong(lengths & 3 != 0)
        return at + lengths

    def keep(self, good: BoolArray) -> None:
        """Drop the messages that do not match."""
        self.n_messages = good.size
        if good.all():
            return
        self.chosen = np.flatnonzero(good)
        self.n_messages = self.chosen.size
        for feature, (entry, payload) in self._found.items():
            self._found[feature] = entry, _take(payload, self.chosen)

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, without regard to the limit."""
        return self._layout.unknown

    def present(self, feature: int) -> bool:
        """Return whether every message has a feature, with or without a kind; else none has."""
        return feature in self._found

    def kinds(self, feature: int) -> int:
        """Return the :class:`Kind` of a feature in every message, 0 for none."""
        return self._found[feature][0].kind if feature in self._found else 0

    def values(self, feature: int, kind: Kind) -> ListValues:
        """Read the values of a feature in each message; none if it is of another kind.

        Raises WireError for a malformed value, the only thing that matching does not check.
        """
        if self.kinds(feature) != kind:
            return ListValues(0, NO_VALUES[kind])
        entry, payload = self._found[feature]
        if entry.form is ValueForm.FIXED:
            return ListValues(entry.length // 4, self._fixed(entry, payload))
        if entry.form is ValueForm.STRING or not isinstance(payload, ByteRanges):
            return ListValues(1, payload)  # one string, or one number, which is decoded already
        if entry.form is ValueForm.LIST:
            stops = payload.starts + payload.lengths
            counts, flat = LIST_READERS[kind](self._data, payload.starts, stops, LIST_VALUE, 4)
        elif kind is Kind.INT64:
            counts, flat = varint_runs(payload)
        else:
            counts, flat = payload.lengths >> 2, payload.joined()
        return ListValues(counts, flat.view("<f4") if kind is Kind.FLOAT else flat)

    def _fixed(self, entry: LayoutEntry, payload: _Payload) -> Flat:
        if entry.length == 0:
            return NO_VALUES[Kind(entry.kind)]
        if isinstance(payload, ByteRanges):
            payload = rows(self._data, entry.length)[payload.starts].view(np.uint8)
        return payload.reshape(-1).view("<f4")


def _take(payload: _Payload, chosen: Int64Array) -> _Payload:
    return payload.take(chosen) if isinstance(payload, ByteRanges) else payload[chosen]


def _join(entries: list[LayoutEntry]) -> list[_Stretch]:
    """Join entries into stretches, each as long as it may be."""
    stretches: list[_Stretch] = []
    known = b""
    unknown: list[tuple[int, int]] = []
    fixed: list[tuple[LayoutEntry, int]] = []

    def end(last: LayoutEntry | None, holes: list[Hole]) -> None:
        nonlocal known, unknown, fixed
        stretches.append(_Stretch(Template(known, unknown, holes), tuple(fixed), last))
        known, unknown, fixed = b"", [], []

    for entry in entries:
        if known and len(known) + len(entry.prefix) > MAX_TEMPLATE_BYTES:
            end(None, [])
        place = len(known)
        known += entry.prefix
        if entry.form is not ValueForm.FIXED:
            end(entry, [replace(hole, place=place + hole.place) for hole in entry.holes])
        elif len(known) + entry.length > MAX_TEMPLATE_BYTES or entry.length > _IN_ROW_BYTES:
            end(entry, [])
        else:
            fixed.append((entry, len(known)))
            unknown.append((len(known), entry.length))
            known += bytes(entry.length)
    if known:
        end(None, [])
    return stretches
