"""What messages look like, learnt from a few of them: a layout, or that there is none.

:func:`learn` reads each sample entry by entry, in plain Python: its map entry, the key, the
Feature, the list, the packed chunk, each a field of wire type LEN whose length is a *hole*
if it varies with the value::

    0a n | 0a 0d 0a 03 age 12 06 1a 04 0a 02 ··
              ╰─ entry      ╰─ Feature ╰─ chunk
                    ╰─ key        ╰─ list

The first sample that another looks like is the layout; the others say which sizes vary. What
programs do not write (keys twice, unknown fields, a value before its key) has no layout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tfrecord_lite.example.decode.layout import Layout, LayoutEntry, ValueForm
from tfrecord_lite.example.proto import (
    ENTRY_TAG,
    FEATURES_TAG,
    KEY_TAG,
    KIND_OF_TAG,
    LIST_VALUE_TAG,
    VALUE_TAG,
)
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.scalar import read_varint
from tfrecord_lite.wire.template import MAX_TEMPLATE_BYTES, Hole

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint8Array
    from tfrecord_lite.wire.keys import KeyTable

_MAX_HOLE_BYTES = 5
_MAY_BE_FIXED = (ValueForm.CHUNK, ValueForm.SKIPPED)


def learn(
    data: Uint8Array,
    starts: Int64Array,
    stops: Int64Array,
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
        slots.append(replace(slot, form=ValueForm.FIXED) if is_fixed or not slot.holes else slot)
    return Layout(slots)


def _most_alike(
    samples: list[list[LayoutEntry]],
) -> tuple[list[LayoutEntry], list[list[LayoutEntry]]]:
    """Return the first sample that others look like, and those; nothing if there is none."""
    for i, first in enumerate(samples):
        like = [other for other in samples[i + 1 :] if _is_like(first, other)]
        if like or len(samples) == 1:
            return first, like
    return [], []


def _is_like(first: list[LayoutEntry], other: list[LayoutEntry]) -> bool:
    """Whether two messages have the same features in the same order and form."""
    return [(slot.feature, slot.form, slot.kind) for slot in first] == [
        (slot.feature, slot.form, slot.kind) for slot in other
    ]


def _slots(view: memoryview, table: KeyTable) -> list[LayoutEntry] | None:
    """Read a message's entries; None if they are not as programs write them."""
    body = nested(view, 0, len(view), FEATURES_TAG[0])
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


def _slot(view: memoryview, entry: int, table: KeyTable) -> tuple[LayoutEntry | None, int]:
    """Read the map entry at a place; return it, and where the next one starts."""
    none = None, 0
    at = nested(view, entry, None, ENTRY_TAG[0])
    if at is None:
        return none
    stop = at + length_before(view, entry)
    starts = [entry]  # of the nested fields around the payload
    key = nested(view, at, None, KEY_TAG[0])
    if key is None or stop > len(view):
        return none
    value = key + length_before(view, at)
    if value > stop or not _is_utf8(view[key:value]):
        return none
    payload = nested(view, value, stop, VALUE_TAG[0])
    if payload is None:
        return none
    starts.append(value)
    feature = table.index.get(bytes(view[key:value]), -1)
    kind, form = 0, ValueForm.SKIPPED
    if feature >= 0 and payload < stop:
        kind = int(KIND_OF_TAG[view[payload]])
        content = nested(view, payload, stop, view[payload])
        if not kind or content is None:
            return none
        starts.append(payload)
        payload, form = content, ValueForm.LIST
        chunk = nested(view, content, stop, LIST_VALUE_TAG[0]) if content < stop else None
        if chunk is not None:
            starts.append(content)
            payload = chunk
            form = _form(kind, view[chunk:stop])
            if kind == Kind.FLOAT and (stop - chunk) % 4:
                return none
    length = stop - payload
    is_bare = (
        payload == stop and form is not ValueForm.STRING
    )  # an empty string is a value like any
    holes = [] if is_bare else [_hole(view, start, entry, length) for start in starts]
    if any(hole.width > _MAX_HOLE_BYTES for hole in holes):
        return none
    head, name = bytes(view[entry:payload]), bytes(view[key:value])
    return LayoutEntry(name, feature, kind, form, head, tuple(holes), length), stop


def _form(kind: int, chunk: memoryview) -> ValueForm:
    if kind == Kind.BYTES:
        return ValueForm.STRING
    is_number = kind == Kind.INT64 and sum(byte < 0x80 for byte in chunk[:11]) == 1
    return (
        ValueForm.VARINT if is_number and chunk[-1] < 0x80 and len(chunk) <= 10 else ValueForm.CHUNK
    )


def _hole(view: memoryview, start: int, entry: int, length: int) -> Hole:
    value, stop = _read_length(view, start)
    return Hole(start + 1 - entry, stop - start - 1, value - length)


def length_before(view: memoryview, start: int) -> int:
    """Return the length that the LEN field at a place says it has."""
    return _read_length(view, start)[0]


def _read_length(view: memoryview, start: int) -> tuple[int, int]:
    """Read the length of the LEN field at a place; -1 as its end if it is cut or too long."""
    return read_varint(view, start + 1, min(start + 1 + _MAX_HOLE_BYTES, len(view)))


def nested(view: memoryview, start: int, stop: int | None, tag: int) -> int | None:
    """Return where the content of the LEN field at a place starts; None if it is no such field.

    With `stop`, the field must end there.
    """
    if start + 1 >= len(view) or view[start] != tag:
        return None
    length, content = _read_length(view, start)
    if content < 0 or (content + length != stop if stop is not None else False):
        return None
    return content


def _is_utf8(key: memoryview) -> bool:
    try:
        str(key, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
