"""Records as text: features in columns, other messages as trees, text as it is, the rest in hex.

Everything is cut to the width of the terminal and to a few lines, unless asked for in full; whatever is cut is marked.

Or as JSON, one object a record, as the page of the command line has it. A float always has a point or an exponent, an
int64 never, and reading it as float32 gives the value stored: nothing is lost except the kind of a list without values,
and the payload of a NaN.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

import tfrecord_lite as tfr
from tfrecord_lite.apps import outline
from tfrecord_lite.apps.outline import Row, Section, Tree
from tfrecord_lite.arrays import AnyArray
from tfrecord_lite.cli.console import aligned
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.extension import Content, ContentType, is_list, is_sequence, parse_message
from tfrecord_lite.schema import Kind
from tfrecord_lite.sniff import content_text, recognize_value, text_of
from tfrecord_lite.texts import plural, printable, shown_name

_HEX_ROW_BYTES = 16
_MAX_HEX_ROWS = 8
_MAX_TEXT_LINES = 12
_MAX_EXAMPLES = 4  # of an ExampleListWithContext
_MIN_ROOM = 24  # characters for a feature's values, however long the names are
_MAX_STRING = 32  # characters for one of several byte strings
_MAX_HEX_BYTES = 8  # of a byte string among values
_MAX_TREE_LINES = 60


def record_lines(
    content: Content, width: int | None, tree: Tree | None, restored: Mapping[str, AnyArray]
) -> Iterator[str]:
    """Yield the lines that show a record, or the tree of its fields, in that many characters; in full if None."""
    if tree is not None:
        lines = tree_lines(tree, width)
        yield from islice(lines, None if width is None else _MAX_TREE_LINES)
        if next(lines, None) is not None:
            yield "  ... --full prints all fields"
    elif content.message is not None:
        most = None if width is None else _MAX_EXAMPLES
        shown = outline.sections(content.message, most, restored)
        yield from feature_lines(shown, width, with_values=True)
    elif content.type is ContentType.TEXT:
        yield from _text_lines(content.record.decode(), width)
    elif (array := _tensor_of(content)) is not None:
        yield from _tensor_lines(content, array, width)
    elif width is not None and (label := content_text(content.record)) is not None:
        yield f"  {label}"
    else:
        yield from _hex_lines(content.record, None if width is None else _MAX_HEX_ROWS)


def _tensor_of(content: Content) -> AnyArray | None:
    """Return the array that a record is; None if it is not, or of a dtype that is not read."""
    if content.type is ContentType.TENSOR:
        with suppress(InvalidArgumentError, ImportError):
            return tfr.parse_tensor(content.record)
    return None


def _tensor_lines(content: Content, array: AnyArray, width: int | None) -> Iterator[str]:
    what = recognize_value(content.record)
    label = f"  {what.label} {what.details}  "
    room = None if width is None else max(width - len(label), _MIN_ROOM)
    values = array.reshape(-1)[: _enough(room)]
    if array.dtype.hasobject:
        most = room if array.size == 1 else room and min(room, _MAX_STRING)
        texts = [bytes_text(value, most) for value in values.tolist()]
    else:
        texts = list(map(str, values))
    yield f"{label}{_joined(texts, room) if texts else ''}".rstrip()


def feature_lines(parts: list[Section], width: int | None, *, with_values: bool) -> Iterator[str]:
    """Yield a line for each feature of a message: name, kind, count, and maybe values."""
    for section in parts:
        indent = "    " if section.title else "  "
        if section.title:
            yield f"  {section.title}"
        if not section.rows:
            yield f"{indent}(no features)"
        columns = [(shown_name(r.name), r.kind, r.size_text) for r in section.rows]
        for row, line in zip(section.rows, aligned(columns, "<<>"), strict=True):
            used = len(indent) + len(line) + 2
            room = None if width is None else max(width - used, _MIN_ROOM)
            values = _row_values(row, room) if with_values else ""
            yield f"{indent}{line}  {values}".rstrip()


def tree_lines(tree: Tree, width: int | None, indent: str = "  ") -> Iterator[str]:
    """Yield a line for the values of each field, and for each message the lines of its fields."""
    for name, values in outline.grouped(tree).items():
        label = f"{indent}{shown_name(name)}:"
        messages = [value for value in values if isinstance(value, list)]
        others = [value for value in values if not isinstance(value, list)]
        if others:
            room = None if width is None else max(width - len(label) - 1, _MIN_ROOM)
            width_of_one = room if room is None or len(others) == 1 else min(room, _MAX_STRING)
            texts = [_leaf_text(value, width_of_one) for value in others[: _enough(room)]]
            yield f"{label} {_joined(texts, room)}"
        most = None if width is None else _MAX_EXAMPLES
        for i, message in enumerate(messages[:most]):
            of = f" ({i} of {len(messages):,})" if len(messages) > 1 else ""
            yield f"{indent}{shown_name(name)}{of}:"
            yield from tree_lines(message, width, indent + "  ")
        if most is not None and len(messages) > most:
            yield f"{label} ... {len(messages) - most:,} more"


def _leaf_text(value: Any, room: int | None) -> str:
    """Show one value of a tree; an unsigned number of fixed size in hex, as protoc does."""
    if isinstance(value, (bytes, str)):
        return bytes_text(value.encode() if isinstance(value, str) else value, room)
    if isinstance(value, np.unsignedinteger):
        return f"0x{value:0{2 * value.itemsize}x}"
    return str(value)


def _hex_lines(data: bytes, max_rows: int | None) -> Iterator[str]:
    shown = data if max_rows is None else data[: max_rows * _HEX_ROW_BYTES]
    for at in range(0, len(shown), _HEX_ROW_BYTES):
        row = shown[at : at + _HEX_ROW_BYTES]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"  {at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  {text}"
    if len(shown) < len(data):
        yield f"  ... {plural(len(data) - len(shown), 'byte')} more"


def _text_lines(text: str, width: int | None) -> Iterator[str]:
    lines = text.splitlines()
    most = len(lines) if width is None else _MAX_TEXT_LINES
    for line in lines[:most]:
        shown = printable(line.expandtabs())
        if width is not None and len(shown) > width - 2:
            shown = shown[: width - 5] + "..."
        yield f"  {shown}".rstrip()
    if len(lines) > most:
        yield f"  ... {plural(len(lines) - most, 'line')} more"


def _row_values(row: Row, room: int | None) -> str:
    """Show the values of a row; of a list, each step's in brackets."""
    if row.restored is not None:
        return _joined([str(value) for value in row.restored.ravel()[: _enough(room)]], room)
    if not row.is_list:
        return _values(row.steps[0], room)
    return _joined([f"[{_values(step, room)}]" for step in islice(row.steps, _enough(room))], room)


def _enough(room: int | None) -> int | None:
    """Return a number of values that is more than there is room for, separators included."""
    return None if room is None else room // 3 + 2


def _values(feature: tfr.messages.Feature, room: int | None) -> str:
    """Show the first values of a feature, as many as there is room for."""
    kind, most = outline.kind_of(feature), _enough(room)
    if kind == Kind.BYTES.label:
        values = feature.bytes_list.value
        width_of_one = room if room is None or len(values) == 1 else min(room, _MAX_STRING)
        return _joined([bytes_text(value, width_of_one) for value in islice(values, most)], room)
    if kind == Kind.FLOAT.label:
        return _joined(outline.float_texts(feature.float_list.value, most), room)
    return _joined(list(map(str, islice(outline.values_of(feature), most))), room)


def _joined(texts: list[str], room: int | None) -> str:
    """Join texts by commas, as many as there is room for; always the first."""
    whole = ", ".join(texts)
    if room is None or len(whole) <= room or len(texts) == 1:
        return whole
    joined = texts[0]
    for text in texts[1:]:
        if len(joined) + 2 + len(text) + len(", ...") > room:
            break
        joined += f", {text}"
    return f"{joined}, ..."


def bytes_text(data: bytes, room: int | None) -> str:
    """Show a byte string: text in quotes, anything else by what it is, or its first bytes."""
    text = text_of(data)
    if text is None:
        label = content_text(data)
        if room is not None and label is not None:
            return f"<{label}>"
        shown = data if room is None else data[:_MAX_HEX_BYTES]
        dots = " ..." if len(shown) < len(data) else ""
        return f"<{label or plural(len(data), 'byte')}: {shown.hex(' ')}{dots}>"
    if room is None or (len(text) <= room and len(repr(text)) <= room):
        return repr(text)
    size = f"... ({plural(len(data), 'byte')})"
    n_shown = max(room - len(size), 1)
    while n_shown > 1 and len(repr(text[:n_shown])) + len(size) > room:
        n_shown -= 1
    return repr(text[:n_shown]) + size


# ---------------------------------------------------------------------------------- JSON

_NOT_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_of(
    content: Content, message_class: Any = None, columns: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the object that shows a record as JSON; for a message of a class, protobuf's JSON."""
    if message_class is not None:
        fields = _fields_as_json(parse_message(content.record, message_class))
        return {name: fields[name] for name in fields if columns is None or name in columns}
    message = content.message
    if content.type is ContentType.EVENT:
        with suppress(InvalidArgumentError):
            event = _event_as_json(content.record)
            return {name: event[name] for name in event if columns is None or name in columns}
    array = _tensor_of(content)
    if array is not None:
        dtype = "string" if array.dtype.hasobject else array.dtype.name
        return {"dtype": dtype, "shape": [*array.shape], "values": _array_as_json(array)}
    if message is None:
        value = _bytes_as_json(content.record)
        return value if isinstance(value, dict) else {"text": value}
    if is_list(message):
        examples = [_features_as_json(example.features.feature) for example in message.examples]
        context = _features_as_json(message.context.features.feature)
        return {"context": context, "examples": examples}
    if is_sequence(message):
        lists = sorted(message.feature_lists.feature_list.items())
        steps = {name: list(map(_values_as_json, items.feature)) for name, items in lists}
        return {"context": _features_as_json(message.context.feature), "feature_lists": steps}
    return _features_as_json(message.features.feature)


def _features_as_json(features: Mapping[str, tfr.messages.Feature]) -> dict[str, Any]:
    return {name: _values_as_json(features[name]) for name in sorted(features)}


def _values_as_json(feature: tfr.messages.Feature) -> list[Any] | None:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "bytes_list":
        return [_bytes_as_json(value) for value in feature.bytes_list.value]
    if kind == "float_list":
        texts = outline.float_texts(feature.float_list.value)
        return [{"float": _NOT_JSON[text]} if text in _NOT_JSON else float(text) for text in texts]
    return list(outline.values_of(feature))


def _fields_as_json(message: Any) -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - not light

    return MessageToDict(message, preserving_proto_field_name=True)


def _event_as_json(record: bytes) -> dict[str, Any]:
    event = parse_message(record, tfr.messages.Event)
    fields = _fields_as_json(event)
    if fields.pop("summary", None) is not None:
        values = event.summary.value
        fields["values"] = [{"tag": value.tag, "value": _summary_value(value)} for value in values]
    times = {"wall_time": event.wall_time, "step": event.step}
    return times | fields | times


def _summary_value(value: Any) -> Any:
    """Return what a value of a summary stores: numbers and texts as they are, others as protobuf's JSON."""
    form = value.WhichOneof("value")
    if form == "simple_value":
        return _array_as_json(np.array(value.simple_value, np.float32))
    if form == "tensor":
        with suppress(InvalidArgumentError, ImportError):
            return _array_as_json(tfr.parse_tensor(value.tensor.SerializeToString()))
    return _fields_as_json(value).get(form)


def _array_as_json(array: AnyArray) -> Any:
    if array.ndim:
        return [_array_as_json(np.asarray(part, array.dtype)) for part in array]
    if array.dtype == object:
        return _bytes_as_json(array.item())
    if array.dtype.kind in "biu":
        return array.item()
    text = str(array)
    if text in _NOT_JSON:
        return {"float": _NOT_JSON[text]}
    return float(text) if array.dtype.kind == "f" else text


def _bytes_as_json(data: bytes) -> str | dict[str, str]:
    text = text_of(data)
    return {"base64": b2a_base64(data, newline=False).decode()} if text is None else text
