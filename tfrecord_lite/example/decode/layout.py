"""Example messages that look alike, read by predicting every byte but the values.

A file's messages are written by one program: the same features in the same order, each with its
lengths in as many bytes. A :class:`Layout`, learnt from a few messages, says
which bytes are where::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ·· | 0a 0f 0a 05 label 12 ...
           ╰────────── entry ─────────────────╯   ╰─ entry ──────────

A :class:`LayoutEntry` has the known bytes of a map entry, the holes for lengths that vary with
the value, and the *form* of the value. Entries of fixed size are joined into one *stretch*, so
that ten float features are read by one gather; a value of variable size ends a stretch.

A walk finds where each stretch begins, by one byte of length per stretch. Then all stretches of
about one size are compared at once, in all messages, whatever their number::

    places      stretch x message          walked: place + bytes of the stretch + length of its value
    rows        stretch x message x word   one gather
    expected    known bytes, and length bytes: the value's length plus a constant each, without a carry

Only stretches with lengths of several bytes are compared one by one (:mod:`~tfrecord_lite.wire.template`).

Matching checks every byte that is not a value, so a message that matches has the values that the
general way (:mod:`.entries`) would find in it. All others go to `entries`.

Learning (:func:`learn`):

:func:`learn` reads each sample entry by entry, in plain Python: its map entry, the key, the
Feature, the list, the packed chunk. Each is a field of wire type LEN, and its length is a *hole*
if it varies with the value::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ··
              ╰─ entry      ╰─ Feature ╰─ chunk
                    ╰─ key        ╰─ list

The layout is the first sample that matches another; the rest show which sizes vary. Messages that
programs do not write (keys twice, unknown fields, a value before its key) have no layout.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np

from tfrecord_lite import arrays
from tfrecord_lite.arrays import LANE_BYTES, AnyArray, BoolArray, Int64Array, Uint8Array
from tfrecord_lite.convert.lists import Level, Lists
from tfrecord_lite.example import proto
from tfrecord_lite.example.decode.entries import LIST_READERS, NO_VALUES, Flat, chunk_values
from tfrecord_lite.schema import Kind
from tfrecord_lite.schema.types import WIRE
from tfrecord_lite.wire.keys import KeyTable
from tfrecord_lite.wire.scalar import MAX_VARINT_BYTES, content_start, read_length
from tfrecord_lite.wire.template import MAX_TEMPLATE_BYTES, Hole, Template
from tfrecord_lite.wire.varint import read_sized, read_varints

_IN_ROW_BYTES = 64
_LARGEST_BYTE = 0x7F
_AT_ONCE, _BYTES_AT_ONCE = 1024, 512 * 1024
"""Messages that are compared at once, and their bytes, so that the arrays stay in the cache."""
_TILED_WORDS = 64
"""What rows of up to so many words must be is repeated per message, of longer ones it is broadcast."""
_LONGEST_STRETCH = 64 * 1024
_AHEAD_BYTES = 3 * LANE_BYTES
"""Bytes that may be read after a stretch; a block has more of them to spare."""
_FURTHEST = MAX_TEMPLATE_BYTES + _AHEAD_BYTES
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


class _FloatRun:
    """Floats of features that lie evenly in a stretch, as many each: none, if the features are empty."""

    def __init__(self, place: int, n_bytes: int) -> None:
        self.place = place
        """Where the first feature's floats begin."""
        self.n_bytes = n_bytes
        """Bytes of each feature."""
        self.features: list[int] = []
        """The features, in order."""
        self.stride = 0
        """Bytes from one to the next."""
        self.number = 0
        """Among all runs of a layout."""

    def view(self, stretch_rows: AnyArray) -> AnyArray:
        """View the floats in rows of the stretch; shape (n_features, n_rows, n_values)."""
        return arrays.row_floats(
            stretch_rows, self.place, self.n_bytes, len(self.features), self.stride
        )


class _Stretch:
    """Entries that are matched with one gather."""

    def __init__(
        self,
        known: bytes,
        fixed: list[tuple[LayoutEntry, int]],
        last: LayoutEntry | None,
        holes: list[Hole],
    ) -> None:
        self.known: bytes = known
        """Its bytes; the bytes of holes and payloads have no meaning."""
        self.unknown: list[tuple[int, int]] = [(place, entry.length) for entry, place in fixed]
        """The offset and length of each payload of fixed size in it."""
        self.runs: list[_FloatRun] = []
        """The runs of floats asked for."""
        for entry, place in fixed:
            if entry.feature < 0:
                continue
            run = self.runs[-1] if self.runs else None
            if run is not None and run.n_bytes == entry.length:
                n_run = len(run.features)
                stride = run.stride if n_run > 1 else place - run.place
                if place - run.place == stride * n_run:
                    run.stride = stride
                    run.features.append(entry.feature)
                    continue
            self.runs.append(_FloatRun(place, entry.length))
            self.runs[-1].features.append(entry.feature)
        self.last: LayoutEntry | None = last
        """The entry whose payload follows the stretch."""
        self.holes: list[Hole] = holes
        """The lengths around that payload, outermost first; none if it has a fixed size."""
        self.size: int = len(known)
        after = last.length if last is not None and not holes else 0
        self.advance: int = self.size + after
        """Bytes up to the payload that follows, or with it if its size is fixed."""
        self.own_length_place: int = holes[-1].place if holes else 0
        """The place of the payload's own length."""
        is_chunk = last is not None and last.form is ValueForm.CHUNK
        self.ends_with_floats: bool = is_chunk and last is not None and last.kind == Kind.FLOAT
        """Whether the payload that follows must be whole floats."""
        self.n_words: int = -(-self.size // LANE_BYTES)
        self.template: Template | None = None
        """To compare it alone; None if no length takes more than a byte."""
        if any(hole.width > 1 for hole in holes):
            self.template = Template(known, self.unknown, holes)


class _ShortStretches:
    """Stretches of about one size whose lengths are of one byte; their bytes, one row each.

    A length is the payload's plus a constant, so a row must equal ``expected + per_length * length``
    where `mask` has bits. All three are words, shape (n_stretches, 1, n_words).
    """

    def __init__(self, stretches: list[_Stretch]) -> None:
        self.stretches = stretches
        n_bytes = max(stretch.n_words for stretch in stretches) * LANE_BYTES
        mask, expected, per_length = np.zeros((3, len(stretches), 1, n_bytes), np.uint8)
        longest = np.full((len(stretches), 1), _LARGEST_BYTE, np.uint8)
        for number, stretch in enumerate(stretches):
            size = stretch.size
            mask[number, 0, :size] = 0xFF
            expected[number, 0, :size] = np.frombuffer(stretch.known, np.uint8)
            for place, length in stretch.unknown:
                mask[number, 0, place : place + length] = 0
            for hole in stretch.holes:
                expected[number, 0, hole.place] = hole.more
                per_length[number, 0, hole.place] = 1
                longest[number] = min(longest[number, 0], _LARGEST_BYTE - hole.more)
        self.mask: AnyArray = mask.view("<u8")
        self.expected: AnyArray = (expected & mask).view("<u8")
        self.per_length: AnyArray = per_length.view("<u8")
        self.length_words: list[int] = np.flatnonzero(self.per_length.any(axis=(0, 1))).tolist()
        """The words that hold a length in some stretch."""
        self.longest: Uint8Array = longest
        """The longest payload that leaves all lengths in one byte; shape (n_stretches, 1)."""
        self._tiles: tuple[AnyArray, AnyArray] | None = None

    def words_at(self, data: Uint8Array, places: Int64Array) -> AnyArray:
        """Copy the rows at the places of each stretch; words, shape (n_stretches, n, n_words)."""
        n_words = self.mask.shape[2]
        row_bytes = arrays.rows(data, n_words * LANE_BYTES)[places.reshape(-1)]
        return row_bytes.view("<u8").reshape(*places.shape, n_words)

    def tiles(self, n_messages: int) -> tuple[AnyArray, AnyArray]:
        """Return mask and words once per message, as flat operations are faster than broadcast ones."""
        if self.mask.shape[2] > _TILED_WORDS:
            return self.mask, self.expected
        if self._tiles is None or self._tiles[0].shape[1] < n_messages:
            mask = np.repeat(self.mask, n_messages, axis=1)
            self._tiles = mask, np.repeat(self.expected, n_messages, axis=1)
        mask, expected = self._tiles
        return mask[:, :n_messages], expected[:, :n_messages]

    def wrong(self, row_words: AnyArray, lengths: Uint8Array) -> BoolArray | None:
        """Return which messages lack known bytes; None if none does."""
        mask, expected = self.tiles(row_words.shape[1])
        words: AnyArray = row_words & mask
        if self.length_words:
            size = lengths.astype(np.uint64)
            for word in self.length_words:
                words[:, :, word] -= self.per_length[:, :, word] * size
        unequal = words != expected
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
    """For floats, the number of the feature in the run."""


class _Payloads(NamedTuple):
    """Payloads that follow short stretches: read at once, since they are all at one place of a row."""

    numbers: list[int]
    """The number of each among the values kept alike."""
    stretches: list[int]
    """The number of the stretch of each, among the short ones."""
    places: Int64Array
    """Where the payload starts in a row of it; shape (n, 1)."""

    @classmethod
    def of(cls, payloads: list[tuple[int, int, _Stretch]]) -> _Payloads:
        """Make them of their numbers, and of stretches with theirs."""
        numbers = [number for number, _, _ in payloads]
        stretches = [short_number for _, short_number, _ in payloads]
        places = [[stretch.size] for _, _, stretch in payloads]
        return cls(numbers, stretches, np.array(places, np.int64))


class Layout:
    """The map entries of messages that look alike, in order."""

    def __init__(self, entries: list[LayoutEntry]) -> None:
        self.entries: list[LayoutEntry] = entries
        self.unknown: list[bytes] = [entry.key for entry in entries if entry.feature < 0]
        """The keys that are not in the table."""
        stretches = _join(entries)
        short = sorted((s for s in stretches if s.template is None), key=lambda s: s.n_words)
        by_size = groupby(short, key=lambda s: s.n_words // _SIZE_CLASS_WORDS)
        self.groups: list[_ShortStretches] = []
        for own in (list(stretches_of_size) for _, stretches_of_size in by_size):
            for first in range(0, len(own), _MOST_TOGETHER):
                self.groups.append(_ShortStretches(own[first : first + _MOST_TOGETHER]))
        n_read = [stretch.n_words * LANE_BYTES + _AHEAD_BYTES for stretch in short]
        self.furthest: Int64Array = np.array(n_read, np.int64).reshape(-1, 1)
        """Bytes that may be read from the place of each short stretch on; shape (n_short, 1)."""
        n_bytes = sum(stretch.size for stretch in stretches)
        self.at_once: int = max(min(_AT_ONCE, _BYTES_AT_ONCE // n_bytes), 1)
        """Messages that are compared at once."""
        short_numbers = {id(stretch): number for number, stretch in enumerate(short)}
        self.walk: list[tuple[_Stretch, int | None]] = [
            (stretch, short_numbers.get(id(stretch))) for stretch in stretches
        ]
        """The stretches in order; and the number of each among the short ones, by size, or None."""
        self.n_short: int = len(short)
        self.slots: dict[int, _Slot] = {}
        """By feature asked for: where its values are kept."""
        self.runs: list[_FloatRun] = []
        by_feature = {entry.feature: entry for entry in entries}
        numbers: list[tuple[int, int, _Stretch]] = []
        extents: list[tuple[int, int, _Stretch]] = []
        self.n_numbers: int = 0
        self.n_extents: int = 0
        for stretch, short_number in self.walk:
            for run in stretch.runs:
                run.number = len(self.runs)
                self.runs.append(run)
                for number_in_run, feature in enumerate(run.features):
                    entry = by_feature[feature]
                    self.slots[feature] = _Slot(entry, _Kept.FLOATS, run.number, number_in_run)
            last = stretch.last
            if last is None or last.feature < 0:
                continue
            if last.form is ValueForm.VARINT and short_number is not None:
                self.slots[last.feature] = _Slot(last, _Kept.NUMBER, self.n_numbers)
                numbers.append((self.n_numbers, short_number, stretch))
                self.n_numbers += 1
            else:
                self.slots[last.feature] = _Slot(last, _Kept.EXTENT, self.n_extents)
                if short_number is not None:
                    extents.append((self.n_extents, short_number, stretch))
                self.n_extents += 1
        self.numbers: _Payloads = _Payloads.of(numbers)
        self.extents: _Payloads = _Payloads.of(extents)
        self.before_floats: list[int] = [n for _, n, own in extents if own.ends_with_floats]
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
        self._numbers = np.empty((layout.n_numbers, n_messages), np.int64)
        self._starts, self._lengths = np.empty((2, layout.n_extents, n_messages), np.int64)

    def read(self, span: slice, starts: Int64Array, stops: Int64Array) -> BoolArray | None:
        """Read some messages; return which do not match, None if all do."""
        layout, data = self._layout, self._data
        at, wrong = bodies(data, starts, stops)
        places = np.empty((layout.n_short, at.size), np.int64)
        lengths = np.zeros((layout.n_short, at.size), np.uint8)
        for stretch, short_number in layout.walk:
            # In a message that does not match, these may be any places.
            if short_number is None:
                at, wrong_here = self._read_long(stretch, span, at)
                wrong = _either(wrong, wrong_here)
                continue
            places[short_number] = at
            at = at + stretch.advance
            if stretch.holes:
                length_bytes = data[stretch.own_length_place :]  # by the place of the stretch
                own = lengths[short_number]
                length_bytes.take(places[short_number], out=own, mode="clip")
                at += own
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
        row_bytes = template.bytes_at(self._data, np.minimum(at, self._data.size - _FURTHEST))
        self._keep_floats(stretch, span, row_bytes)
        lengths, wrong = template.match(row_bytes)
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
        own = layout.extents
        if own.stretches:
            self._starts[own.numbers, span] = places[own.stretches] + own.places
            self._lengths[own.numbers, span] = lengths[own.stretches]  # 0 if it is always the same
        if layout.before_floats:
            wrong_lengths = lengths[layout.before_floats] & 3
            if np.count_nonzero(wrong_lengths):
                wrong = _either(wrong, np.any(wrong_lengths, axis=0))
        own = layout.numbers
        if not own.stretches:
            return wrong
        sizes = lengths[own.stretches]
        at = places[own.stretches] + own.places
        values, wrong_numbers = read_sized(
            arrays.lanes(self._data), at.reshape(-1), sizes.reshape(-1)
        )
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
        """Read the values of a feature in each message; none if it is of another kind.

        Raises WireError for a malformed value, the only thing that matching does not check.
        """
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
            return LIST_READERS[kind](
                data, starts, starts + lengths, proto.LIST_VALUE, proto.LIST_DEPTH
            )
        return chunk_values(kind, arrays.ByteRanges(data, starts, lengths))


def bodies(
    data: Uint8Array, starts: Int64Array, stops: Int64Array
) -> tuple[Int64Array, BoolArray | None]:
    """Find where the map entries of each message start; and which messages hold anything else."""
    sizes = stops - starts
    smallest, largest = int(np.minimum.reduce(sizes)), int(np.maximum.reduce(sizes))
    for width in (1, 2, 3):
        n_before = 1 + width  # the tag, and a length of so many bytes
        fewest, most = 1 << (7 * (width - 1)), (1 << (7 * width)) - 1
        if n_before + fewest <= smallest and largest <= n_before + most:
            # The first bytes of each message must be the tag and its length.
            sizes -= n_before
            expected = np.full(sizes.size, proto.FEATURES_TAG[0])
            for place in range(1, n_before):
                more = 0x80 if place < width else 0
                expected += ((sizes & 0x7F) | more) << (8 * place)
                sizes >>= 7
            known = np.uint32((1 << (8 * n_before)) - 1)
            wrong = (arrays.short_lanes(data)[starts] & known) != expected
            return starts + n_before, wrong if np.count_nonzero(wrong) else None
    lengths, n_bytes = read_varints(arrays.lanes(data), starts + 1)
    at = starts + 1 + n_bytes
    return at, (data[starts] != proto.FEATURES_TAG[0]) | (at + lengths.view(np.int64) != stops)


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
        longest = MAX_TEMPLATE_BYTES if is_wide else _LONGEST_STRETCH
        if known and len(known) + len(entry.prefix) > longest:
            end(None, [])
        place = len(known)
        known += entry.prefix
        if entry.form is not ValueForm.FIXED:
            end(entry, [hole._replace(place=place + hole.place) for hole in entry.holes])
        elif entry.length > _IN_ROW_BYTES:
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

    `table` has the keys of the features asked for. None if no two messages look alike, or they have
    a form that programs do not write.
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
    if any(len(entry.prefix) > MAX_TEMPLATE_BYTES for entry in lists[0]):
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
    """Whether at `start` is an entry that looks like another, and is as long; False if unsure."""
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
    """Read the map entry at `start`, and where the next one starts; None for an unusual one.

    It may look `like` another one, and then is that.
    """
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
    if value_at > stop or not _is_utf8(view[key_at:value_at]):
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


def _is_utf8(key: memoryview) -> bool:
    try:
        str(key, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
