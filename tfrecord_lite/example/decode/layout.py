"""Example messages that look alike, read by predicting every byte but the values.

A :class:`Layout`, learnt from a few messages of one writer, says which bytes are where::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ·· | 0a 0f 0a 05 label 12 ...
           ╰────────── entry ─────────────────╯   ╰─ entry ──────────

Entries of fixed size are joined into one *stretch*; a value of variable size ends a stretch. A walk finds
where each stretch begins. Then all stretches of about one size are compared at once, in all messages::

    places      stretch x message          walked: place + bytes of the stretch + length of its value
    rows        stretch x message x word   one gather
    expected    known bytes, and length bytes: the value's length plus a constant each, without a carry

Only stretches with lengths of several bytes are compared one by one (:class:`Template`).
Every byte that is not a value is checked, so a message that matches has the values that :mod:`.entries`
would find in it.

:func:`learn` reads each sample entry by entry. The layout is the first sample that matches another; the rest
show which sizes vary. Messages that programs do not write (keys twice, unknown fields, a value before
its key) have no layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import LANE_BYTES, AnyArray, BoolArray, Int64Array, Uint8Array
from tfrecord_lite.convert.lists import Level, Lists
from tfrecord_lite.example import proto
from tfrecord_lite.example.decode.entries import (
    LIST_READERS,
    NO_VALUES,
    Flat,
    chunk_values,
    is_utf8,
)
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.fields import only_field
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import MAX_VARINT_BYTES, content_start, read_length
from tfrecord_lite.wire.varint import Hole, read_sized

_MAX_INLINE_PAYLOAD = 64
"""Bytes of the longest payload that is part of a stretch; a longer one ends it."""
_MAX_ONE_BYTE_LENGTH = 0x7F
_AT_ONCE, _BYTES_AT_ONCE = 1024, 512 * 1024
"""Messages that are compared at once, and their bytes, so that the arrays stay in the cache."""
_REPEATED_WORDS = 64
"""What rows of up to so many words must be is repeated per message; for longer ones it is broadcast."""
_LONGEST_STRETCH = 64 * 1024
_AHEAD_BYTES = 3 * LANE_BYTES
"""Bytes that may be read after a stretch; a block has more of them to spare."""
_MAX_TEMPLATE_BYTES = 256
"""Longest stretch with a length of several bytes; a row of it and two words more are within a block's spare bytes."""
_FURTHEST = _MAX_TEMPLATE_BYTES + _AHEAD_BYTES
"""Bytes that may be read from the start of a stretch with a length of several bytes."""
_SIZE_CLASS_WORDS = 4
"""Stretches are compared together by size class, each of so many words."""
_MOST_TOGETHER = 64
"""Stretches that are compared together, so that their rows stay in the cache as well."""


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
    """A Feature that is not asked for, of varying size."""


class LayoutEntry(NamedTuple):
    """One map entry of a layout."""

    key: bytes
    feature: int
    """Number of its key in the table, -1 if the table lacks it."""
    kind: int
    """The :class:`Kind` of its list, 0 for none."""
    form: ValueForm
    prefix: bytes
    """The bytes of the entry up to its payload."""
    holes: tuple[Hole, ...]
    """The lengths around the payload, outermost first; places count from the entry's start."""
    length: int
    """Bytes of payload in the message it was learnt from."""

    def __str__(self) -> str:
        """Return key, kind, form, and the bytes of payload and before it."""
        kind, n_before = Kind(self.kind).label if self.kind else "no kind", len(self.prefix)
        return f"{self.key!r}, {kind}, {self.form.name}, {self.length} bytes after {n_before}"


@dataclass(slots=True, eq=False, repr=False)
class _FloatRun:
    """Floats of features that lie evenly in a stretch: equally many of each, perhaps none."""

    offset: int
    """Where the first feature's floats begin in the stretch."""
    n_bytes: int
    """Bytes of each feature."""
    features: list[int]
    """The features, in order."""
    stride: int = 0
    """Bytes from one to the next."""
    number: int = 0
    """Among all runs of a layout."""

    def takes(self, entry: LayoutEntry, offset: int) -> bool:
        """Add a feature if it lies where the next one must."""
        n_features, distance = len(self.features), offset - self.offset
        stride = self.stride if n_features > 1 else distance
        if self.n_bytes != entry.length or distance != stride * n_features:
            return False
        self.stride = stride
        self.features.append(entry.feature)
        return True

    def view(self, stretch_rows: AnyArray) -> AnyArray:
        """View the floats in rows of the stretch; shape (n_features, n_rows, n_values)."""
        n_features = len(self.features)
        return arrays.row_floats(stretch_rows, self.offset, self.n_bytes, n_features, self.stride)


class Template:
    """A stretch with lengths of several bytes: one gather of rows, and a comparison of whole words under a mask.

    `known`, `unknown` and `holes` are a stretch's; the holes are innermost last, and there is at least one.
    """

    def __init__(self, known: bytes, unknown: list[tuple[int, int]], holes: list[Hole]) -> None:
        self.holes = holes
        n_words = -(-len(known) // LANE_BYTES)
        self.row_size: int = -(-(len(known) + 2 * LANE_BYTES) // LANE_BYTES) * LANE_BYTES
        mask, expected = np.zeros((2, n_words * LANE_BYTES), np.uint8)
        mask[: len(known)] = 0xFF
        expected[: len(known)] = np.frombuffer(known, np.uint8)
        for offset, length in unknown:
            mask[offset : offset + length] = 0
        for hole in holes:  # the top bits of its bytes give its width
            mask[hole.offset : hole.offset + hole.width] = 0x80
            expected[hole.offset : hole.offset + hole.width] = [0x80] * (hole.width - 1) + [0]
        self._mask, self._expected = mask.view("<u8"), (expected & mask).view("<u8")

    def bytes_at(self, data: Uint8Array, at: Int64Array) -> Uint8Array:
        """Copy the `row_size` bytes from each of many places on; owned, shape (n, row_size)."""
        return arrays.rows(data, self.row_size)[at].view(np.uint8).reshape(at.size, -1)

    def match(self, byte_rows: Uint8Array) -> tuple[Int64Array, BoolArray]:
        """Compare the bytes of many messages; return the length of the payload after each, and which do not match."""
        words = byte_rows.view("<u8")[:, : self._mask.size]
        wrong: BoolArray = ((words & self._mask) != self._expected).any(1)
        *outer, inner = self.holes
        n_bytes = inner.lengths(byte_rows)
        for hole in outer:
            wrong |= hole.lengths(byte_rows) != n_bytes + hole.more
        return n_bytes, wrong


class _Stretch:
    """Entries that are matched with one gather.

    `known` has its bytes, of which those of holes and payloads have no meaning; `fixed` its entries of fixed
    size, each with the offset of the payload; `holes` the lengths around the payload that follows, outermost
    first: none if that has a fixed size.
    """

    def __init__(
        self,
        known: bytes,
        fixed: list[tuple[LayoutEntry, int]],
        last: LayoutEntry | None,
        holes: list[Hole],
    ) -> None:
        self.known, self.holes = known, holes
        self.unknown: list[tuple[int, int]] = [(offset, entry.length) for entry, offset in fixed]
        """The offset and length of each payload of fixed size in it."""
        self.runs: list[_FloatRun] = []
        """The runs of floats asked for."""
        for entry, offset in fixed:
            if entry.feature >= 0 and not (self.runs and self.runs[-1].takes(entry, offset)):
                self.runs.append(_FloatRun(offset, entry.length, [entry.feature]))
        self.last: LayoutEntry | None = last
        """The entry whose payload follows the stretch."""
        self.size: int = len(known)
        after = last.length if last is not None and not holes else 0
        self.advance: int = self.size + after
        """Bytes up to the payload that follows, or with it if its size is fixed."""
        form = None if last is None else (last.form, last.kind)
        self.ends_with_floats: bool = form == (ValueForm.CHUNK, Kind.FLOAT)
        """Whether the payload that follows must be whole floats."""
        self.n_words: int = -(-self.size // LANE_BYTES)
        is_wide = any(hole.width > 1 for hole in holes)
        self.template: Template | None = Template(known, self.unknown, holes) if is_wide else None
        """To compare it alone; None if no length takes more than a byte: it is *short*."""
        self.number: int = -1
        """Among the short stretches of a layout, by size."""


class _StretchGroup:
    """Short stretches of about one size; their bytes, one row each.

    A row must equal ``expected + per_length * length`` where `mask` has bits. All three are words, shape
    (n_stretches, 1, n_words); `wrong` repeats the first two per message.
    """

    def __init__(self, stretches: list[_Stretch]) -> None:
        self.stretches = stretches
        n_bytes = max(stretch.n_words for stretch in stretches) * LANE_BYTES
        mask, expected, per_length = np.zeros((3, len(stretches), 1, n_bytes), np.uint8)
        self.longest: Uint8Array = np.full((len(stretches), 1), _MAX_ONE_BYTE_LENGTH, np.uint8)
        """The longest payload that leaves all lengths in one byte; shape (n_stretches, 1)."""
        for number, stretch in enumerate(stretches):
            size = stretch.size
            mask[number, 0, :size] = 0xFF
            expected[number, 0, :size] = np.frombuffer(stretch.known, np.uint8)
            for offset, length in stretch.unknown:
                mask[number, 0, offset : offset + length] = 0
            for hole in stretch.holes:
                expected[number, 0, hole.offset] = hole.more
                per_length[number, 0, hole.offset] = 1
            most = max((hole.more for hole in stretch.holes), default=0)
            self.longest[number] = _MAX_ONE_BYTE_LENGTH - most
        self._per_length: AnyArray = per_length.view("<u8")
        self._length_words: list[int] = np.flatnonzero(self._per_length.any(axis=(0, 1))).tolist()
        """The words that hold a length in some stretch."""
        self._n_words = n_bytes // LANE_BYTES
        self._mask_expected: tuple[AnyArray, AnyArray] = mask.view("<u8"), expected.view("<u8")

    def words_at(self, data: Uint8Array, places: Int64Array) -> AnyArray:
        """Copy the rows at the places of each stretch; words, shape (n_stretches, n, n_words)."""
        row_bytes = arrays.rows(data, self._n_words * LANE_BYTES)[places.reshape(-1)]
        return row_bytes.view("<u8").reshape(*places.shape, self._n_words)

    def wrong(self, row_words: AnyArray, lengths: Uint8Array) -> BoolArray | None:
        """Return which messages lack known bytes; None if none does."""
        n_messages = row_words.shape[1]
        mask, expected = self._mask_expected
        if mask.shape[1] < n_messages and self._n_words <= _REPEATED_WORDS:
            # Flat operations are faster than broadcast ones.
            mask = np.repeat(mask[:, :1], n_messages, axis=1)
            expected = np.repeat(expected[:, :1], n_messages, axis=1)
            self._mask_expected = mask, expected
        words: AnyArray = row_words & mask[:, :n_messages]
        if self._length_words:
            size = lengths.astype(np.uint64)
            for word in self._length_words:
                words[:, :, word] -= self._per_length[:, :, word] * size
        unequal = words != expected[:, :n_messages]
        wrong: Any = np.any(unequal, axis=2) if np.count_nonzero(unequal) else None
        too_long = lengths > self.longest
        if np.count_nonzero(too_long):
            wrong = _either(wrong, too_long)
        return None if wrong is None else np.any(wrong, axis=0)


class _Kept(Enum):
    """What a :class:`LayoutMatch` keeps of an entry."""

    FLOATS = auto()
    NUMBER = auto()
    EXTENT = auto()
    """Start and length of the payload; the values are read on demand."""


class _Slot(NamedTuple):
    """Where the values of an entry that is asked for are kept."""

    entry: LayoutEntry
    kept: _Kept
    number: int
    """The number among values kept alike; for floats, the number of their run."""
    number_in_run: int = 0


class _Payloads:
    """Payloads that follow short stretches: read at once, since each is at one offset from its stretch in all messages."""

    def __init__(self, pairs: list[tuple[int, _Stretch]]) -> None:
        self.kept_rows: list[int] = [number for number, _ in pairs]
        """The row of each among the values kept alike, in an array of a match."""
        self.stretch_numbers: list[int] = [stretch.number for _, stretch in pairs]
        """The number of the stretch before each, among the short ones."""
        sizes = [[stretch.size] for _, stretch in pairs]
        self.offsets: Int64Array = np.array(sizes, np.int64)
        """Where the payload starts in a row of its stretch; shape (n, 1)."""


class Layout:
    """The map entries of messages that look alike, in order."""

    def __init__(self, entries: list[LayoutEntry]) -> None:
        self.entries: list[LayoutEntry] = entries
        self.unknown: list[bytes] = [entry.key for entry in entries if entry.feature < 0]
        """The keys that are not in the table."""
        self.stretches: list[_Stretch] = _join(entries)
        short = [stretch for stretch in self.stretches if stretch.template is None]
        short.sort(key=attrgetter("n_words"))
        for number, stretch in enumerate(short):
            stretch.number = number
        self.n_short: int = len(short)
        self.groups: list[_StretchGroup] = []
        for _, of_size in groupby(short, key=lambda s: s.n_words // _SIZE_CLASS_WORDS):
            while together := list(islice(of_size, _MOST_TOGETHER)):
                self.groups.append(_StretchGroup(together))
        n_read = [stretch.n_words * LANE_BYTES + _AHEAD_BYTES for stretch in short]
        self.furthest: Int64Array = np.array(n_read, np.int64).reshape(-1, 1)
        """Bytes that may be read from the place of each short stretch on; shape (n_short, 1)."""
        n_bytes = sum(stretch.size for stretch in self.stretches)
        self.at_once: int = max(min(_AT_ONCE, _BYTES_AT_ONCE // n_bytes), 1)
        """Messages that are compared at once."""
        self.slots: dict[int, _Slot] = {}
        """By feature asked for: where its values are kept."""
        self.runs: list[_FloatRun] = []
        by_feature = {entry.feature: entry for entry in entries}
        # The payloads after short stretches: the number among values kept alike, and the stretch.
        numbers: list[tuple[int, _Stretch]] = []
        extents: list[tuple[int, _Stretch]] = []
        self.n_extents: int = 0
        for stretch in self.stretches:
            for run in stretch.runs:
                run.number = len(self.runs)
                self.runs.append(run)
                for number, feature in enumerate(run.features):
                    entry = by_feature[feature]
                    self.slots[feature] = _Slot(entry, _Kept.FLOATS, run.number, number)
            last, is_short = stretch.last, stretch.template is None
            if last is None or last.feature < 0:
                continue
            if last.form is ValueForm.VARINT and is_short:
                self.slots[last.feature] = _Slot(last, _Kept.NUMBER, len(numbers))
                numbers.append((len(numbers), stretch))
            else:
                self.slots[last.feature] = _Slot(last, _Kept.EXTENT, self.n_extents)
                extents += [(self.n_extents, stretch)] if is_short else []
                self.n_extents += 1
        self.number_payloads: _Payloads = _Payloads(numbers)
        self.extent_payloads: _Payloads = _Payloads(extents)
        with_floats = [stretch for _, stretch in extents if stretch.ends_with_floats]
        self.before_floats: list[int] = [stretch.number for stretch in with_floats]
        """The short stretches, by number, whose payloads must be whole floats."""

    def describe(self, message: bytes | None = None) -> str:
        """Return what was learnt, a line per entry; or, for a message, the first entry that differs."""
        if message is None:
            return "\n".join(map(str, self.entries))
        table, view = KeyTable([entry.key for entry in self.entries]), memoryview(message)
        at = content_start(view, 0, len(view), proto.FEATURES_TAG[0])
        if at is None:
            return "not one Features message"
        for number, expected in enumerate(self.entries):
            entry, stop = _entry(view, at, table, like=expected) if at < len(view) else (None, at)
            is_unread = expected.feature < 0 and entry is not None and entry.key == expected.key
            if entry is None or not (is_unread or _has_form_of(entry, expected)):
                return f"entry {number}: {entry or 'none that can be learnt'}; expected {expected}"
            at = stop
        n_left = len(view) - at
        return f"{n_left} bytes after the last entry" if n_left else "no difference"

    def match(self, data: Uint8Array, starts: Int64Array, stops: Int64Array) -> LayoutMatch:
        """Read the messages that look like this; spare bytes follow the last in `data`."""
        match = LayoutMatch(self, data, starts.size)
        if int(self.furthest.max(initial=0)) > data.size:
            match.keep(np.empty(0, np.int64))
            return match
        is_wrong = np.zeros(starts.size, np.bool_)
        for first in range(0, starts.size, self.at_once):
            span = slice(first, first + self.at_once)
            wrong = match.read(span, starts[span], stops[span])
            if wrong is not None:
                is_wrong[span] = wrong
        if np.count_nonzero(is_wrong):
            match.keep(np.flatnonzero(~is_wrong))
        return match


class LayoutMatch:
    """The values that a layout found in the messages that match it."""

    def __init__(self, layout: Layout, data: Uint8Array, n_messages: int) -> None:
        self._layout = layout
        self._data = data
        self.chosen: Int64Array | None = None
        """The messages that match; None for all."""
        self.n_messages: int = n_messages
        shapes = [(len(run.features), n_messages, run.n_bytes // 4) for run in layout.runs]
        self._floats = [np.empty(shape, "<f4") for shape in shapes]
        self._numbers = np.empty((len(layout.number_payloads.kept_rows), n_messages), np.int64)
        self._starts, self._lengths = np.empty((2, layout.n_extents, n_messages), np.int64)

    def read(self, span: slice, starts: Int64Array, stops: Int64Array) -> BoolArray | None:
        """Read some messages; return which do not match, None if all do."""
        layout, data = self._layout, self._data
        at, wrong = bodies(data, starts, stops)
        places = np.empty((layout.n_short, at.size), np.int64)
        lengths = np.zeros((layout.n_short, at.size), np.uint8)
        for stretch in layout.stretches:
            # In a message that does not match, these may be any places.
            if stretch.template is not None:
                at, wrong_here = self._read_long(stretch, span, at)
                wrong = _either(wrong, wrong_here)
                continue
            places[stretch.number] = start = at
            at = start + stretch.advance
            if stretch.holes:
                payload_lengths = lengths[stretch.number]
                data[stretch.holes[-1].offset :].take(start, out=payload_lengths, mode="clip")
                at += payload_lengths
        wrong_ends = at != stops
        if np.count_nonzero(wrong_ends):
            wrong = _either(wrong, wrong_ends)
        if wrong is not None:
            np.minimum(places, data.size - layout.furthest, out=places)
        return _either(wrong, self._read_short(span, places, lengths))

    def _read_long(
        self, stretch: _Stretch, span: slice, at: Int64Array
    ) -> tuple[Int64Array, BoolArray | None]:
        """Read a stretch with lengths of several bytes; return where it ends, and which messages do not match."""
        template = cast("Template", stretch.template)
        byte_rows = template.bytes_at(self._data, np.minimum(at, self._data.size - _FURTHEST))
        self._keep_floats(stretch, span, byte_rows)
        lengths, wrong = template.match(byte_rows)
        at = at + stretch.advance
        if stretch.last is not None and stretch.last.feature >= 0:
            number = self._layout.slots[stretch.last.feature].number
            self._starts[number, span], self._lengths[number, span] = at, lengths
        if stretch.ends_with_floats:
            wrong |= (lengths & 3) != 0
        return at + lengths, wrong if np.count_nonzero(wrong) else None

    def _read_short(self, span: slice, places: Int64Array, lengths: Uint8Array) -> BoolArray | None:
        """Compare the short stretches, and keep their payloads; return which messages do not match."""
        layout, wrong = self._layout, None
        first = 0
        for group in layout.groups:
            stop = first + len(group.stretches)
            row_words = group.words_at(self._data, places[first:stop])
            wrong = _either(wrong, group.wrong(row_words, lengths[first:stop]))
            for number_in_group, stretch in enumerate(group.stretches):
                self._keep_floats(stretch, span, row_words[number_in_group])
            first = stop
        extents = layout.extent_payloads
        if extents.stretch_numbers:
            self._starts[extents.kept_rows, span] = (
                places[extents.stretch_numbers] + extents.offsets
            )
            # The length is 0 where it is fixed.
            self._lengths[extents.kept_rows, span] = lengths[extents.stretch_numbers]
        if layout.before_floats:
            wrong_lengths = lengths[layout.before_floats] & 3
            if np.count_nonzero(wrong_lengths):
                wrong = _either(wrong, np.any(wrong_lengths, axis=0))
        numbers = layout.number_payloads
        if not numbers.stretch_numbers:
            return wrong
        sizes = lengths[numbers.stretch_numbers]
        at = places[numbers.stretch_numbers] + numbers.offsets
        lanes = arrays.lanes(self._data)
        values, wrong_numbers = read_sized(lanes, at.reshape(-1), sizes.reshape(-1))
        self._numbers[:, span] = values.reshape(at.shape)
        if wrong_numbers is not None:
            wrong = _either(wrong, np.any(wrong_numbers.reshape(at.shape), axis=0))
        return wrong

    def _keep_floats(self, stretch: _Stretch, span: slice, stretch_rows: AnyArray) -> None:
        """Copy the floats out of the rows of a stretch."""
        for run in stretch.runs:
            self._floats[run.number][:, span] = run.view(stretch_rows)

    def keep(self, good: Int64Array) -> None:
        """Drop the messages that do not match."""
        self.chosen, self.n_messages = good, good.size
        self._floats = [floats[:, good] for floats in self._floats]
        self._numbers = self._numbers[:, good]
        self._starts, self._lengths = self._starts[:, good], self._lengths[:, good]

    def unknown_keys(self, limit: int) -> list[bytes]:
        """Return the different keys that are not in the table, without regard to the limit."""
        return self._layout.unknown

    def present(self, feature: int) -> bool:
        """Return whether every message has a feature, with or without a kind; else none has."""
        return feature in self._layout.slots

    def kinds(self, feature: int) -> int:
        """Return the :class:`Kind` of a feature in every message, 0 for none."""
        slots = self._layout.slots
        return slots[feature].entry.kind if feature in slots else 0

    def lists(self, feature: int, kind: Kind) -> Lists:
        """Read the values of a feature in each message, none if it is of another kind; WireError for a malformed value."""
        slot = self._layout.slots.get(feature)
        if slot is None or slot.entry.kind != kind:
            return Lists(self.n_messages, WIRE[kind], (0,), NO_VALUES[kind])
        counts, flat = self._values(slot, kind)
        return Lists(self.n_messages, WIRE[kind], (counts,), flat)

    def _values(self, slot: _Slot, kind: Kind) -> tuple[Level, Flat]:
        entry, kept, number, number_in_run = slot
        if entry.form is ValueForm.FIXED and entry.length == 0:
            return 0, NO_VALUES[kind]
        if kept is _Kept.FLOATS:
            return entry.length // 4, self._floats[number][number_in_run].flatten()
        if kept is _Kept.NUMBER:
            return 1, self._numbers[number].copy()
        data, starts, lengths = self._data, self._starts[number], self._lengths[number]
        if entry.form is ValueForm.FIXED:
            return entry.length // 4, arrays.rows(data, entry.length)[starts].view("<f4")
        if entry.form is ValueForm.LIST:
            read = LIST_READERS[kind]
            return read(data, starts, starts + lengths, proto.LIST_VALUE, proto.LIST_DEPTH)
        return chunk_values(kind, arrays.ByteRanges(data, starts, lengths))


def bodies(
    data: Uint8Array, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, BoolArray | None]:
    """Find where the map entries of each message start; and which messages hold anything else."""
    sizes = stops - starts
    smallest, largest = int(np.minimum.reduce(sizes)), int(np.maximum.reduce(sizes))
    for n_before in (2, 3, 4):  # bytes of the tag and a length, mostly the same for all
        fewest, most = 1 << (7 * (n_before - 2)), (1 << (7 * (n_before - 1))) - 1
        if n_before + fewest <= smallest and largest <= n_before + most:
            sizes -= n_before
            expected = np.full(sizes.size, proto.FEATURES_TAG[0])
            for place in range(1, n_before):
                more = 0x80 if place < n_before - 1 else 0
                expected += ((sizes & 0x7F) | more) << (8 * place)
                sizes >>= 7
            known = np.uint32((1 << (8 * n_before)) - 1)
            wrong = (arrays.short_lanes(data)[starts] & known) != expected
            return starts + n_before, wrong if np.count_nonzero(wrong) else None
    at, is_whole = only_field(data, starts, stops, proto.FEATURES_TAG[0])
    return at, None if np.count_nonzero(is_whole) == at.size else ~is_whole


def _either(one: BoolArray | None, other: BoolArray | None) -> BoolArray | None:
    """Return which are in one or the other; None is none of them."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def _join(entries: list[LayoutEntry]) -> list[_Stretch]:
    """Join entries into stretches, each as long as it may be."""
    stretches: list[_Stretch] = []
    known = bytearray()
    fixed: list[tuple[LayoutEntry, int]] = []

    def end(last: LayoutEntry | None, holes: list[Hole]) -> None:
        nonlocal known, fixed
        stretches.append(_Stretch(bytes(known), fixed, last, holes))
        known, fixed = bytearray(), []

    for entry in entries:
        is_wide = any(hole.width > 1 for hole in entry.holes)
        longest = _MAX_TEMPLATE_BYTES if is_wide else _LONGEST_STRETCH
        if known and len(known) + len(entry.prefix) > longest:
            end(None, [])
        offset = len(known)
        known += entry.prefix
        if entry.form is not ValueForm.FIXED:
            end(entry, [hole._replace(offset=offset + hole.offset) for hole in entry.holes])
        elif entry.length > _MAX_INLINE_PAYLOAD:
            end(entry, [])
        else:
            fixed.append((entry, len(known)))
            known += bytes(entry.length)
    if known:
        end(None, [])
    return stretches


_MAY_BE_FIXED = (ValueForm.CHUNK, ValueForm.SKIPPED)
_MOST_VARYING = 1000
"""For messages with more entries of varying size, a layout costs more than it gains."""


class _Sample:
    """A message that is read entry by entry."""

    def __init__(self, view: memoryview, at: int) -> None:
        self.view, self.at = view, at
        self.entries: list[LayoutEntry] = []


def learn(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
) -> Layout | None:
    """Learn how messages look, from a few of them.

    None if no two of several look alike, or they have a form that programs do not write.
    """
    whole = memoryview(data)  # type: ignore[arg-type]
    samples = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        view = whole[start:stop]
        body = content_start(view, 0, len(view), proto.FEATURES_TAG[0])
        if body is not None:
            samples.append(_Sample(view, body))
    fewest = min(len(samples), 2)
    ended: list[_Sample] = []
    n_varying = 0
    while samples is not ended:
        # One entry of each, and on with those that look alike.
        groups: dict[Any, list[_Sample]] = {}
        ended = []
        entry = None
        for sample in samples:
            if sample.at == len(sample.view):
                ended.append(sample)
                continue
            # What one sample has is likely in the next.
            entry, sample.at = _entry(sample.view, sample.at, table, like=entry)
            if entry is not None:
                sample.entries.append(entry)
                form = entry.key, entry.form, entry.kind
                groups.setdefault(form, []).append(sample)
        n_varying += entry is not None and len(entry.holes) > 0 and entry.kind != Kind.FLOAT
        samples = max([ended, *groups.values()], key=len)
        if len(samples) < fewest or n_varying > _MOST_VARYING:
            return None
    lists = [sample.entries for sample in samples]
    known = [entry.feature for entry in lists[0] if entry.feature >= 0] if lists else []
    if not lists or not lists[0] or len(set(known)) < len(known):
        return None
    if any(len(entry.prefix) > _MAX_TEMPLATE_BYTES for entry in lists[0]):
        return None
    entries = []
    for entry, *others in zip(*lists, strict=True):
        varies = any(other.length != entry.length for other in others)
        # Floats have one size; other values that have it in a few messages may not in the next.
        is_fixed = entry.form in _MAY_BE_FIXED and entry.kind == Kind.FLOAT and not varies
        is_fixed = is_fixed or not entry.holes
        entries.append(entry._replace(form=ValueForm.FIXED) if is_fixed else entry)
    return Layout(entries)


def _has_form_of(entry: LayoutEntry, expected: LayoutEntry) -> bool:
    """Whether an entry is read as another one: with other lengths, unless these are fixed."""
    if expected.form is ValueForm.FIXED:
        ours, theirs = (entry.key, entry.kind), (expected.key, expected.kind)
        return ours == theirs and entry.length == expected.length
    return (entry.key, entry.kind, entry.form) == (expected.key, expected.kind, expected.form)


def _begins_with(view: memoryview, start: int, entry: LayoutEntry) -> bool:
    """Return whether an entry like another, and as long, is at `start`; False if unsure."""
    payload = start + len(entry.prefix)
    stop = payload + entry.length
    if stop > len(view) or view[start:payload] != entry.prefix:
        return False
    if entry.form is ValueForm.SKIPPED:
        return payload == stop or proto.KIND_OF_TAG[view[payload]] == entry.kind
    return entry.form is ValueForm.CHUNK and entry.kind == Kind.FLOAT


def _entry(
    view: memoryview, start: int, table: KeyTable, like: LayoutEntry | None
) -> tuple[LayoutEntry | None, int]:
    """Read the map entry at `start`, likely `like` another, and where the next one starts; None for an unusual one."""
    if like is not None and _begins_with(view, start, like):
        return like, start + len(like.prefix) + like.length
    unusual = None, 0
    entry_at = content_start(view, start, None, proto.ENTRY_TAG[0])
    if entry_at is None:
        return unusual
    stop = entry_at + read_length(view, start)[0]
    key_at = content_start(view, entry_at, None, proto.KEY_TAG[0])
    if key_at is None or stop > len(view):
        return unusual
    value_at = key_at + read_length(view, entry_at)[0]
    if value_at > stop or not is_utf8(view[key_at:value_at]):
        return unusual
    payload = content_start(view, value_at, stop, proto.VALUE_TAG[0])
    if payload is None:
        return unusual
    key = bytes(view[key_at:value_at])
    feature = table.index.get(key, -1)
    kind, form = 0, ValueForm.SKIPPED
    # The fields around the payload, which all end with the entry: start and content of each.
    around = [(start, entry_at), (value_at, payload)]
    if feature < 0 and payload < stop:
        kind = int(proto.KIND_OF_TAG[view[payload]])
    elif payload < stop:
        located = _feature(view, payload, stop)
        if located is None:
            return unusual
        kind, form, inner = located
        around += inner
        payload = inner[-1][1]
    has_payload = payload < stop or form is ValueForm.STRING  # which may be an empty one
    fields = around if has_payload else ()
    holes = [Hole(tag + 1 - start, body - tag - 1, payload - body) for tag, body in fields]
    prefix = bytes(view[start:payload])
    return LayoutEntry(key, feature, kind, form, prefix, tuple(holes), stop - payload), stop


def _feature(
    view: memoryview, start: int, stop: int
) -> tuple[int, ValueForm, list[tuple[int, int]]] | None:
    """Read a Feature: kind, form, and the fields around the payload, each with its content's start."""
    kind = int(proto.KIND_OF_TAG[view[start]])
    content = content_start(view, start, stop, view[start])
    if not kind or content is None:
        return None
    chunk = content_start(view, content, stop, proto.LIST_VALUE_TAG[0]) if content < stop else None
    if chunk is None:
        return kind, ValueForm.LIST, [(start, content)]
    if kind == Kind.FLOAT and (stop - chunk) % 4:
        return None
    return kind, _form(kind, view[chunk:stop]), [(start, content), (content, chunk)]


def _form(kind: int, chunk: memoryview) -> ValueForm:
    """Return the form of the only value, or chunk of values, in a list."""
    if kind == Kind.BYTES:
        return ValueForm.STRING
    is_number = kind == Kind.INT64 and 0 < len(chunk) <= MAX_VARINT_BYTES
    is_number = is_number and chunk[-1] < 0x80 and sum(byte < 0x80 for byte in chunk) == 1
    return ValueForm.VARINT if is_number else ValueForm.CHUNK
