"""Records for people: features in columns, text as text, anything else as hex.

Everything is cut to the width of the terminal and to a few lines, unless asked
for in full; what was cut is said.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tfrecord_lite.cli.content import Kind, text_of
from tfrecord_lite.cli.features import float_texts, kind_of, sections, values_of
from tfrecord_lite.cli.table import aligned, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfrecord_lite.cli.content import Content
    from tfrecord_lite.cli.features import Row
    from tfrecord_lite.messages import Feature

_ROW_BYTES = 16
_MOST_ROWS = 8
_MOST_LINES = 12
_MOST_EXAMPLES = 4  # of a list of them
_LEAST_ROOM = 24  # characters for a feature's values, however long the names are
_ONE_OF_MANY = 32  # characters for one of several byte strings
_HEX_AT_MOST = 8  # bytes


def record_lines(content: Content, width: int | None) -> Iterator[str]:
    """Yield the lines that show a record.

    Parameters
    ----------
    content : Content
        What it holds.
    width : int or None
        Characters a line; None to show everything in full.
    """
    if content.message is not None:
        most = None if width is None else _MOST_EXAMPLES
        yield from feature_lines(content, width, with_values=True, most_examples=most)
    elif content.kind is Kind.TEXT:
        yield from _text_lines(content.record.decode(), width)
    else:
        yield from hex_lines(content.record, None if width is None else _MOST_ROWS)


def feature_lines(
    content: Content,
    width: int | None,
    *,
    with_values: bool,
    most_examples: int | None = None,
) -> Iterator[str]:
    """Yield a line for each feature of a message: name, kind, count, and maybe values."""
    if content.message is None:
        return
    for section in sections(content.message, most_examples):
        indent = "  "
        if section.title:
            yield f"  {section.title}"
            indent = "    "
        if not section.rows:
            yield f"{indent}(no features)"
        cells = [(_name(row.name), row.kind, row.count) for row in section.rows]
        for row, line in zip(section.rows, aligned(cells, "<<>"), strict=True):
            room = None if width is None else max(width - len(indent + line) - 2, _LEAST_ROOM)
            values = _row_values(row, room) if with_values else ""
            yield f"{indent}{line}  {values}".rstrip()


def hex_lines(data: bytes, most_rows: int | None) -> Iterator[str]:
    """Yield bytes in rows: offset, hex, and what of it is printable ASCII."""
    shown = data if most_rows is None else data[: most_rows * _ROW_BYTES]
    for at in range(0, len(shown), _ROW_BYTES):
        row = shown[at : at + _ROW_BYTES]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"  {at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  {text}"
    if len(shown) < len(data):
        yield f"  ... {plural(len(data) - len(shown), 'byte')} more"


def _text_lines(text: str, width: int | None) -> Iterator[str]:
    """Yield the lines of a text; without their ends, and with no character but printable ones."""
    lines = text.splitlines()
    most = len(lines) if width is None else _MOST_LINES
    for line in lines[:most]:
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line.expandtabs())
        if width is not None and len(shown) > width - 2:
            shown = shown[: width - 5] + "..."
        yield f"  {shown}".rstrip()
    if len(lines) > most:
        yield f"  ... {plural(len(lines) - most, 'line')} more"


def _name(name: str) -> str:
    can_be_seen = name.isprintable() and name == name.strip() != ""
    return name if can_be_seen else repr(name)


def _row_values(row: Row, room: int | None) -> str:
    """Show the values of a row: of a list, each step's in brackets."""
    if not row.is_list:
        return _values(row.steps[0], room)
    steps = islice(row.steps, _most(room))
    return _joined([f"[{_values(step, room)}]" for step in steps], room)


def _most(room: int | None) -> int | None:
    """Return how many values are surely more than there is room for, separators included."""
    return None if room is None else room // 3 + 2


def _values(feature: Feature, room: int | None) -> str:
    """Show the first values of a feature, as many as there is room for."""
    kind, most = kind_of(feature), _most(room)
    if kind == "bytes":
        values = feature.bytes_list.value
        each = room if room is None or len(values) == 1 else min(room, _ONE_OF_MANY)
        return _joined([_bytes(value, each) for value in islice(values, most)], room)
    if kind == "float":
        return _joined(float_texts(feature.float_list.value, most), room)
    return _joined(list(map(str, islice(values_of(feature), most))), room)


def _joined(texts: list[str], room: int | None) -> str:
    """Join texts by commas, as many as there is room for, the first in any case."""
    whole = ", ".join(texts)
    if room is None or len(whole) <= room or len(texts) == 1:
        return whole
    joined = texts[0]
    for text in texts[1:]:
        if len(joined) + 2 + len(text) + len(", ...") > room:
            break
        joined += f", {text}"
    return f"{joined}, ..."


def _bytes(data: bytes, room: int | None) -> str:
    """Show a byte string: text in quotes, anything else by its length and first bytes."""
    text = text_of(data)
    if text is None:
        shown = data if room is None else data[:_HEX_AT_MOST]
        dots = " ..." if len(shown) < len(data) else ""
        return f"<{plural(len(data), 'byte')}: {shown.hex(' ')}{dots}>"
    if room is None or (len(text) <= room and len(repr(text)) <= room):
        return repr(text)
    size = f"... ({plural(len(data), 'byte')})"
    n_shown = max(room - len(size), 1)
    while n_shown > 1 and len(repr(text[:n_shown])) + len(size) > room:
        n_shown -= 1
    return repr(text[:n_shown]) + size
