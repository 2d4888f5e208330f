"""What callers say about columns: which they ask for, and which of byte strings are text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

from tfrecord_lite.arrays import views
from tfrecord_lite.block import Block
from tfrecord_lite.described.sidecar import Sidecar
from tfrecord_lite.errors import argument_error
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.schema import Kind, Original, Schema, SchemaItem, SequenceSchema
from tfrecord_lite.texts import choices, nearest

TextChoice: TypeAlias = bool | Sequence[str]
"""What the argument `text` of readers may be."""


def names_of(columns: Sequence[str]) -> list[str]:
    """Return a choice of columns as a list; raise for a single name, and for a description of features."""
    if isinstance(columns, str):
        from tfrecord_lite.convert.arrow import Library  # noqa: PLC0415 - for an error

        hint = f"; give it as as_={columns!r}" if columns in get_args(Library) else ""
        raise TypeError(f"columns must be a list of names, not the str {columns!r}{hint}")
    if isinstance(columns, (Mapping, SequenceSchema)):
        actual = type(columns).__name__
        raise TypeError(f"columns must be a list of names, not a {actual}; give it as schema=")
    return list(columns)


def known_columns(
    columns: Sequence[str], known: Collection[str], hint: str | None = None
) -> list[str]:
    """Return the columns asked for; raise about the first that is not known, with those that are, and `hint`."""
    columns = names_of(columns)
    unknown = [name for name in columns if name not in known]
    if unknown:
        nested = next((path for path in known if "/" in path), None)
        paths = "" if nested is None else f"; nested names are paths, such as {nested!r}"
        inside = [path for path in known if path.startswith(f"{unknown[0]}/")]
        below = f"; name what is below it: {', '.join(map(repr, inside[:10]))}"
        others = below if inside else choices(unknown[0], known) + paths
        sampled = f"; {hint}" if hint and not inside and not nearest(unknown[0], known) else ""
        raise argument_error(f"no column {unknown[0]!r}{others}{sampled}")
    return columns


def names_asked_for(columns: list[str] | None, text: TextChoice) -> list[str] | None:
    """Return the features that a schema needs to have for a choice of columns; None for all."""
    if columns is None or isinstance(text, bool | str):
        return columns
    return [*columns, *text]


def with_text(
    described: Sidecar,
    text: Sequence[str] | Literal[True],
    sample: Callable[[], Iterable[Block]],
    columns: Collection[str] | None = None,
) -> Sidecar:
    """Return a schema that says which columns of byte strings are text.

    `text` is their names; or True for all `columns` whose strings in the sample are printable UTF-8.
    """
    if isinstance(text, str):
        raise TypeError(f"text must be a bool or a list of names, not the str {text!r}")
    items = items_of(described.schema)
    candidates = [name for name, item in items.items() if _may_be_text(item)]
    if text is True:
        asked = {name: items[name] for name in candidates if columns is None or name in columns}
        names = _texts_in(schema_like(described.schema, asked), sample()) if asked else []
    else:
        names = list(text)
    for name in names:
        if getattr(getattr(items.get(name), "original", None), "text", None):
            continue  # it is text already
        if name not in candidates:
            detail = f"{name!r} in text is not a column of byte strings{nearest(name, candidates)}"
            raise argument_error(detail)
        spec, original = items[name]
        lengths = [getattr(part, "length", None) for part in getattr(spec, "partitions", ())]
        original = original or Original("string", getattr(spec, "shape", (None, *lengths)))
        items[name] = SchemaItem(spec, replace(original, text="str"))
    return described._replace(schema=schema_like(described.schema, items))


def with_columns(described: Sidecar, columns: Sequence[str]) -> Sidecar:
    """Return a schema of some columns."""
    items = items_of(described.schema)
    chosen = {name: items[name] for name in known_columns(columns, items)}
    return described._replace(schema=schema_like(described.schema, chosen))


def items_of(schema: Schema | SequenceSchema) -> dict[str, SchemaItem]:
    """Return what describes each column, in SequenceExamples named by part: ``context/label``."""
    if isinstance(schema, Schema):
        return schema.to_items()
    parts = schema._asdict().items()
    return {f"{part}/{name}": item for part, own in parts for name, item in own.to_items().items()}


def schema_like(
    schema: Schema | SequenceSchema, items: Mapping[str, SchemaItem]
) -> Schema | SequenceSchema:
    """Return a schema of the same class with columns as :func:`items_of` returns them."""
    if isinstance(schema, Schema):
        return Schema.of_items(dict(items))
    return SequenceSchema(*(_below(f"{part}/", items) for part in schema._fields))


def _below(prefix: str, items: Mapping[str, SchemaItem]) -> Schema:
    own = {path: item for path, item in items.items() if path.startswith(prefix)}
    return Schema.of_items({path.removeprefix(prefix): item for path, item in own.items()})


def _may_be_text(item: SchemaItem) -> bool:
    if item.original is not None:
        return item.original.dtype == "string" and item.original.text is None
    return item.kind is Kind.BYTES


def _texts_in(schema: Schema | SequenceSchema, blocks: Iterable[Block]) -> list[str]:
    """Return the columns whose byte strings are all printable text, and some not empty."""
    from tfrecord_lite.convert.lists import SparseLists  # noqa: PLC0415 - for text=True
    from tfrecord_lite.example.sequence.parse import ListsParser, SequenceExampleParser  # noqa: PLC0415 - for text=True
    from tfrecord_lite.sniff import text_of  # noqa: PLC0415 - for text=True

    if isinstance(schema, Schema):
        lists_of = ListsParser(ExampleParser(schema))
    else:
        lists_of = ListsParser(SequenceExampleParser(*schema))
    is_text = dict.fromkeys(items_of(schema), True)
    has_any = dict.fromkeys(is_text, False)
    for block in blocks:
        for name, lists in lists_of(block).items():
            flat: Any = (lists.values if isinstance(lists, SparseLists) else lists).flat
            ranges = flat.to_ranges()
            strings = list(map(bytes, views(ranges.data, ranges.starts, ranges.lengths)))
            has_any[name] |= any(strings)
            is_text[name] &= all(text_of(string) is not None for string in strings)
    return [name for name in is_text if has_any[name] and is_text[name]]
