"""Example messages that look alike, read by predicting every byte but the values.

A file's messages are written by one program: the same features in the same
order, each with its lengths in as many bytes. A :class:`Layout` is learnt from
a few messages and says what stands where::

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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.example.cells import LIST_READERS, LIST_VALUE, Values
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.lanes import lanes, rows
from tfrecord_lite.wire.ragged import gather
from tfrecord_lite.wire.repeated import Extents, varint_runs
from tfrecord_lite.wire.template import MAX_TEMPLATE_BYTES, Hole, Template
from tfrecord_lite.wire.varint import read_varints

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfrecord_lite.example.cells import Flat
    from tfrecord_lite.wire.keys import KeyTable
    from tfrecord_lite.wire.template import Rows

    _Payload: TypeAlias = npt.NDArray[Any] | Extents

__all__ = ["Layout", "Match", "learn", "length_before", "nested"]

_LEN_1, _LEN_2 = 0x0A, 0x12  # the tags of fields 1 and 2 of wire type LEN
_IN_ROW_BYTES = 64
_MAX_HOLE_BYTES = 5


class Form(Enum):
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
class Slot:
    """One map entry of a layout."""

    key: bytes
    feature: int
    """Number of its key in the table, -1 if not there."""
    kind: int
    """The :class:`Kind` of its list, 0 for none."""
    form: Form
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
    fixed: tuple[tuple[Slot, int], ...]
    """Slots whose payload of fixed size is in the stretch, and where."""
    last: Slot | None
    """The slot whose payload follows the stretch."""


class Layout:
    """How some messages look.

    Parameters
    ----------
    slots : list of Slot
        The map entries, in order.
    """

    def __init__(self, slots: list[Slot]) -> None:
        self._steps = _join(slots)
        self.unknown = [slot.key for slot in slots if slot.feature < 0]
        """The keys that are not in the table."""

    def match(
        self,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        stops: npt.NDArray[np.int64],
    ) -> Match:
        """Read the messages that look like this.

        Parameters
        ----------
        data : uint8, shape (n_bytes,)
            The buffer; a block's spare bytes follow the last message.
        starts, stops : int64, shape (n,)

        Returns
        -------
        Match
        """
        lengths, sizes = read_varints(lanes(data), starts + 1)
        at = starts + 1 + sizes
        bad = (data[starts] != _LEN_1) | (at + lengths.view(np.int64) != stops)
        match = Match(self, data)
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


class Match:
    """What a layout found in the messages that match it."""

    def __init__(self, layout: Layout, data: npt.NDArray[np.uint8]) -> None:
        self._layout = layout
        self._data = data
        self.chosen: npt.NDArray[np.int64] | None = None
        """Numbers of the messages that match; None for all."""
        self.n_messages = 0
        self._found: dict[int, tuple[Slot, _Payload]] = {}

    def add(self, slot: Slot, payload: _Payload) -> None:
        """Take in the payloads of a slot."""
        if slot.feature >= 0:
            self._found[slot.feature] = slot, payload

    def add_last(
        self, slot: Slot, stretch: Rows, at: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Take in the payloads that follow a stretch; return where they end."""
        is_fixed = slot.form is Form.FIXED
        lengths = np.full(at.size, slot.length) if is_fixed else stretch.lengths()
        if slot.form is Form.VARINT:
            values, sizes = stretch.varints()
            stretch.refuse(sizes != lengths)
            self.add(slot, values)
        else:
            self.add(slot, Extents(at, lengths))
            if slot.form is Form.CHUNK and slot.kind == Kind.FLOAT:
                stretch.refuse(lengths & 3 != 0)
        return at + lengths

    def keep(self, good: npt.NDArray[np.bool_]) -> None:
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

    def values(self, feature: int, kind: Kind) -> Values:
        """Read the values of a feature in each message; none if it is of another kind.

        Raises
        ------
        WireError
            For a value nothing but which is malformed.
        """
        if self.kinds(feature) != kind:
            return Values(0, _NO_VALUES[kind])
        slot, payload = self._found[feature]
        if slot.form is Form.FIXED:
            return Values(slot.length // 4, self._fixed(slot, payload))
        if slot.form is Form.STRING or not isinstance(payload, Extents):
            return Values(1, payload)  # one string, or one number, which is decoded already
        if slot.form is Form.LIST:
            stops = payload.start + payload.length
            counts, flat = LIST_READERS[kind](self._data, payload.start, stops, LIST_VALUE, 4)
        elif kind is Kind.INT64:
            counts, flat = varint_runs(self._data, payload.start, payload.length)
        else:
            counts, flat = payload.length >> 2, gather(self._data, payload.start, payload.length)
        return Values(counts, flat.view("<f4") if kind is Kind.FLOAT else flat)

    def _fixed(self, slot: Slot, payload: _Payload) -> Flat:
        if slot.length == 0:
            return _NO_VALUES[Kind(slot.kind)]
        if isinstance(payload, Extents):
            payload = rows(self._data, slot.length)[payload.start].view(np.uint8)
        return payload.reshape(-1).view("<f4")


def _take(payload: _Payload, chosen: npt.NDArray[np.int64]) -> _Payload:
    if isinstance(payload, Extents):
        return Extents(payload.start[chosen], payload.length[chosen])
    return payload[chosen]


def _join(slots: list[Slot]) -> list[_Step]:
    """Join slots into stretches, each as long as it may be."""
    steps: list[_Step] = []
    known = b""
    unknown: list[tuple[int, int]] = []
    fixed: list[tuple[Slot, int]] = []

    def end(last: Slot | None, holes: list[Hole]) -> None:
        nonlocal known, unknown, fixed
        steps.append(_Step(Template(known, unknown, holes), tuple(fixed), last))
        known, unknown, fixed = b"", [], []

    for slot in slots:
        if known and len(known) + len(slot.head) > MAX_TEMPLATE_BYTES:
            end(None, [])
        place = len(known)
        known += slot.head
        if slot.form is not Form.FIXED:
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


def learn(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    table: KeyTable,
) -> Layout | None:
    """Learn how messages look, from a few of them.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
    starts, stops : int64, shape (n,)
        The messages. The first that some other looks like says what the layout is, the
        others what varies in it.
    table : KeyTable
        The keys of the features asked for.

    Returns
    -------
    Layout or None
        None if no two messages look alike, or they have another form than programs write:
        keys twice, unknown fields, a value before its key.
    """
    view = memoryview(data)  # type: ignore[arg-type]
    extents = zip(starts.tolist(), stops.tolist(), strict=True)
    samples = [_slots(view[start:stop], table) for start, stop in extents]
    first, like = _most_alike([sample for sample in samples if sample is not None])
    if not first or max(len(slot.head) for slot in first) > MAX_TEMPLATE_BYTES:
        return None
    slots = []
    for i, slot in enumerate(first):
        varies = any(other[i].length != slot.length for other in like)
        is_fixed = slot.form in _MAY_BE_FIXED and slot.kind != Kind.INT64 and not varies
        slots.append(replace(slot, form=Form.FIXED) if is_fixed or not slot.holes else slot)
    return Layout(slots)


def _most_alike(samples: list[list[Slot]]) -> tuple[list[Slot], list[list[Slot]]]:
    """Return the first sample that others look like, and those; nothing if there is none."""
    for i, first in enumerate(samples):
        like = [other for other in samples[i + 1 :] if _is_like(first, other)]
        if like or len(samples) == 1:
            return first, like
    return [], []


def _is_like(first: list[Slot], other: list[Slot]) -> bool:
    """Whether two messages have the same features in the same order and form."""
    return [(slot.feature, slot.form, slot.kind) for slot in first] == [
        (slot.feature, slot.form, slot.kind) for slot in other
    ]


def _slots(view: memoryview, table: KeyTable) -> list[Slot] | None:
    """Read a message's entries; None if they are not as programs write them."""
    body = nested(view, 0, len(view), _LEN_1)
    if body is None:
        return None
    at = body
    slots = []
    while at < len(view):
        slot, at = _slot(view, at, table)
        if slot is None:
            return None
        slots.append(slot)
    known = [slot.feature for slot in slots if slot.feature >= 0]
    return slots if slots and len(set(known)) == len(known) else None


def _slot(view: memoryview, entry: int, table: KeyTable) -> tuple[Slot | None, int]:
    """Read the map entry at a place; return it, and where the next one starts."""
    none = None, 0
    at = nested(view, entry, None, _LEN_1)
    if at is None:
        return none
    stop = at + length_before(view, entry)
    starts = [entry]  # of the nested fields around the payload
    key = nested(view, at, None, _LEN_1)
    if key is None or stop > len(view):
        return none
    value = key + length_before(view, at)
    if value > stop or not _is_utf8(view[key:value]):
        return none
    payload = nested(view, value, stop, _LEN_2)
    if payload is None:
        return none
    starts.append(value)
    feature = table.index.get(bytes(view[key:value]), -1)
    kind, form = 0, Form.SKIPPED
    if feature >= 0 and payload < stop:
        tag = view[payload]
        content = nested(view, payload, stop, tag)
        if tag not in _KIND_OF_TAG or content is None:
            return none
        starts.append(payload)
        kind, payload, form = _KIND_OF_TAG[tag], content, Form.LIST
        chunk = nested(view, content, stop, _LEN_1) if content < stop else None
        if chunk is not None:
            starts.append(content)
            payload = chunk
            form = _form(kind, view[chunk:stop])
            if kind == Kind.FLOAT and (stop - chunk) % 4:
                return none
    length = stop - payload
    is_bare = payload == stop and form is not Form.STRING  # an empty string is a value like any
    holes = [] if is_bare else [_hole(view, start, entry, length) for start in starts]
    if any(hole.width > _MAX_HOLE_BYTES for hole in holes):
        return none
    head, name = bytes(view[entry:payload]), bytes(view[key:value])
    return Slot(name, feature, kind, form, head, tuple(holes), length), stop


def _form(kind: int, chunk: memoryview) -> Form:
    if kind == Kind.BYTES:
        return Form.STRING
    is_number = kind == Kind.INT64 and sum(byte < 0x80 for byte in chunk[:11]) == 1
    return Form.VARINT if is_number and chunk[-1] < 0x80 and len(chunk) <= 10 else Form.CHUNK


def _hole(view: memoryview, start: int, entry: int, length: int) -> Hole:
    value, size = _varint(view, start + 1)
    return Hole(start + 1 - entry, size, value - length)


def length_before(view: memoryview, start: int) -> int:
    """Return the length that the LEN field at a place says it has."""
    return _varint(view, start + 1)[0]


def nested(view: memoryview, start: int, stop: int | None, tag: int) -> int | None:
    """Return where the content of the LEN field at a place starts; None if it is no such field.

    With `stop`, the field must end there.
    """
    if start + 1 >= len(view) or view[start] != tag:
        return None
    length, size = _varint(view, start + 1)
    content = start + 1 + size
    if size == 0 or (content + length != stop if stop is not None else False):
        return None
    return content


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """Read a varint of a length: its value and size, size 0 if it is cut or too long."""
    value = 0
    for place, byte in enumerate(view[at : at + _MAX_HOLE_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, place + 1
    return 0, 0


def _is_utf8(key: memoryview) -> bool:
    try:
        str(key, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


_KIND_OF_TAG = {0x0A: Kind.BYTES, 0x12: Kind.FLOAT, 0x1A: Kind.INT64}
_MAY_BE_FIXED = (Form.CHUNK, Form.SKIPPED)
_NO_VALUES: dict[Kind, Flat] = {
    Kind.BYTES: Extents(np.empty(0, np.int64), np.empty(0, np.int64)),
    Kind.FLOAT: np.empty(0, np.float32),
    Kind.INT64: np.empty(0, np.int64),
}
