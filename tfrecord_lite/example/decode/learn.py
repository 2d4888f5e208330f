"""A layout, learnt from a few messages.

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
from tfrecord_lite.wire.scalar import (
    MAX_LENGTH_BYTES,
    MAX_VARINT_BYTES,
    content_start,
    read_length,
)
from tfrecord_lite.wire.template import MAX_TEMPLATE_BYTES, Hole

if TYPE_CHECKING:
    from tfrecord_lite.arrays import Int64Array, Uint8Array
    from tfrecord_lite.wire.keys import KeyTable

_MAY_BE_FIXED = (ValueForm.CHUNK, ValueForm.SKIPPED)


def learn(
    data: Uint8Array, starts: Int64Array, stops: Int64Array, table: KeyTable
) -> Layout | None:
    """Learn how messages look, from a few of them.

    `table` has the keys of the features asked for. None if no two messages look alike, or they have
    a form that programs do not write.
    """
    view = memoryview(data)  # type: ignore[arg-type]
    extents = zip(starts.tolist(), stops.tolist(), strict=True)
    samples = [_entries(view[start:stop], table) for start, stop in extents]
    first, like = _most_alike([sample for sample in samples if sample is not None])
    if not first or max(len(entry.prefix) for entry in first) > MAX_TEMPLATE_BYTES:
        return None
    entries = []
    for entry, *others in zip(first, *like, strict=True):
        varies = any(other.length != entry.length for other in others)
        # Floats have one size; other values that have it in a few messages may not in the next.
        is_fixed = entry.form in _MAY_BE_FIXED and entry.kind == Kind.FLOAT and not varies
        is_fixed = is_fixed or not entry.holes
        entries.append(replace(entry, form=ValueForm.FIXED) if is_fixed else entry)
    return Layout(entries)


def _most_alike(
    samples: list[list[LayoutEntry]],
) -> tuple[list[LayoutEntry], list[list[LayoutEntry]]]:
    """Return the first sample that others look like, and those; nothing if there is none."""
    forms = [[(entry.feature, entry.form, entry.kind) for entry in sample] for sample in samples]
    for i, first in enumerate(samples):
        like = [samples[k] for k in range(i + 1, len(samples)) if forms[k] == forms[i]]
        if like or len(samples) == 1:
            return first, like
    return [], []


def _entries(view: memoryview, table: KeyTable) -> list[LayoutEntry] | None:
    """Read a message's entries; None if they are not as programs write them."""
    body = content_start(view, 0, len(view), FEATURES_TAG[0])
    if body is None:
        return None
    at = body
    entries = []
    while at < len(view):
        entry, at = _entry(view, at, table)
        if entry is None:
            return None
        entries.append(entry)
    known = [entry.feature for entry in entries if entry.feature >= 0]
    return entries if entries and len(set(known)) == len(known) else None


def _entry(view: memoryview, start: int, table: KeyTable) -> tuple[LayoutEntry | None, int]:
    """Read the map entry at `start`, and where the next one starts; None for an unusual one."""
    none = None, 0
    at = content_start(view, start, None, ENTRY_TAG[0])
    if at is None:
        return none
    stop = at + read_length(view, start)[0]
    key = content_start(view, at, None, KEY_TAG[0])
    if key is None or stop > len(view):
        return none
    value = key + read_length(view, at)[0]
    if value > stop or not _is_utf8(view[key:value]):
        return none
    payload = content_start(view, value, stop, VALUE_TAG[0])
    if payload is None:
        return none
    name = bytes(view[key:value])
    feature = table.index.get(name, -1)
    kind, form, around = 0, ValueForm.SKIPPED, [start, value]
    if feature < 0 and payload < stop:
        kind = int(KIND_OF_TAG[view[payload]])
    elif payload < stop:
        found = _feature(view, payload, stop)
        if found is None:
            return none
        kind, form, payload, inner = found
        around += inner
    length = stop - payload
    has_payload = payload < stop or form is ValueForm.STRING  # which may be an empty one
    holes = [_hole(view, field, start, length) for field in around] if has_payload else []
    if any(hole.width > MAX_LENGTH_BYTES for hole in holes):
        return none
    prefix = bytes(view[start:payload])
    return LayoutEntry(name, feature, kind, form, prefix, tuple(holes), length), stop


def _feature(
    view: memoryview, start: int, stop: int
) -> tuple[int, ValueForm, int, list[int]] | None:
    """Read a Feature: kind, form, where the payload starts, and the fields around that."""
    kind = int(KIND_OF_TAG[view[start]])
    content = content_start(view, start, stop, view[start])
    if not kind or content is None:
        return None
    chunk = content_start(view, content, stop, LIST_VALUE_TAG[0]) if content < stop else None
    if chunk is None:
        return kind, ValueForm.LIST, content, [start]
    if kind == Kind.FLOAT and (stop - chunk) % 4:
        return None
    return kind, _form(kind, view[chunk:stop]), chunk, [start, content]


def _form(kind: int, chunk: memoryview) -> ValueForm:
    """Return the form of the only value, or chunk of values, in a list."""
    if kind == Kind.BYTES:
        return ValueForm.STRING
    is_number = kind == Kind.INT64 and sum(byte < 0x80 for byte in chunk[:11]) == 1
    is_number = is_number and chunk[-1] < 0x80 and len(chunk) <= MAX_VARINT_BYTES
    return ValueForm.VARINT if is_number else ValueForm.CHUNK


def _hole(view: memoryview, start: int, entry: int, length: int) -> Hole:
    value, stop = read_length(view, start)
    return Hole(start + 1 - entry, stop - start - 1, value - length)


def _is_utf8(key: memoryview) -> bool:
    try:
        str(key, "utf-8")
    except UnicodeDecodeError:
        return False
    return True
