"""What callers say about columns: which they ask for, and which of byte strings are text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.example.parse import ExampleParser
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, Schema, SchemaItem, SequenceSchema
from tfrecord_lite.schema.text import choices, nearest

if TYPE_CHECKING:
    from tfrecord_lite.block import Block
    from tfrecord_lite.described.sidecar import Sidecar

__all__ = ["names_asked_for", "names_of", "with_text"]


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


def known_columns(columns: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the columns asked for; raise about the first that is not known, with those that are."""
    columns = names_of(columns)
    unknown = [name for name in columns if name not in known]
    if unknown:
        nested = next((path for path in known if "/" in path), None)
        paths = "" if nested is None else f"; nested names are paths, such as {nested!r}"
        raise argument_error(f"no column {unknown[0]!r}{choices(unknown[0], known)}{paths}")
    return columns


def names_asked_for(
    columns: list[str] | None,
    text: bool | Sequence[str],  # noqa: FBT001 - as of `load`
) -> list[str] | None:
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
    schema = described.schema
    if isinstance(schema, SequenceSchema):
        detail = "text is for Examples; columns of SequenceExamples are byte strings"
        raise InvalidArgumentError(Reason.UNSUPPORTED, detail=detail)
    if isinstance(text, str):
        raise TypeError(f"text must be a bool or a list of names, not the str {text!r}")
    items = schema.to_items()
    candidates = [name for name, item in items.items() if _may_be_text(item)]
    if text is True:
        asked = [name for name in candidates if columns is None or name in columns]
        names = _texts_in(schema.select(asked), sample()) if asked else []
    else:
        names = list(text)
    for name in names:
        if name not in candidates:
            detail = f"{name!r} in text is not a column of byte strings{nearest(name, candidates)}"
            raise argument_error(detail)
        item = items[name]
        if item.original is not None:
            original = replace(item.original, text="str")
        else:
            partitions = getattr(item.spec, "partitions", ())
            shape = (None, *(getattr(part, "length", None) for part in partitions))
            if isinstance(item.spec, FixedLenFeature):
                shape = item.spec.shape
            original = Original("string", shape, "str")
        items[name] = item._replace(original=original)
    return described._replace(schema=Schema.of_items(items))


def _may_be_text(item: SchemaItem) -> bool:
    """Return whether a feature has byte strings that nothing says are text."""
    if item.original is not None:
        return item.original.dtype == "string" and item.original.text is None
    return item.kind is Kind.BYTES


def _texts_in(schema: Schema, blocks: Iterable[Block]) -> list[str]:
    """Return the columns whose byte strings are all printable text, and some not empty."""
    from tfrecord_lite.sniff import text_of  # noqa: PLC0415 - for text=True

    parse = ExampleParser(schema)
    is_text = dict.fromkeys(schema, True)
    has_any = dict.fromkeys(schema, False)
    for block in blocks:
        for name, column in parse(block).items():
            flat: Any = getattr(column, "flat_values", getattr(column, "values", column))
            strings = np.ma.compressed(flat).tolist()
            has_any[name] |= any(strings)
            is_text[name] &= all(text_of(string) is not None for string in strings)
    return [name for name in schema if has_any[name] and is_text[name]]
