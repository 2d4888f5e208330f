"""Batches of Arrow data as columns, and the one schema that fits all of them.

A table's schema depends on its types, and on whether anything is null. Of a stream each batch has
one, and they are widened to one that reads all: it is the schema that the whole table has.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfrecord_lite.convert.arrow import check_traits, with_traits
from tfrecord_lite.convert.lossless import check_exact, schema_of, with_carried
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.storage.given import given_columns
from tfrecord_lite.storage.widening import (
    IncompatibleError,
    is_empty_lists,
    items_of,
    schema_of_items,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfrecord_lite.convert.arrow import Frame, Traits
    from tfrecord_lite.schema import Original, Schema
    from tfrecord_lite.storage.widening import SchemaItem


class FrameSchema:
    """Turns batches of Arrow data into columns, and remembers the schema that fits all so far."""

    def __init__(self, given: Schema | None, *, lossless: bool = True) -> None:
        self._given, self._lossless = given, lossless
        self._items: dict[str, SchemaItem] = {}
        self._n_rows = 0
        self.originals: dict[str, Original] = {}
        """Those that the columns have by themselves, if a schema is given."""

    @property
    def schema(self) -> Schema:
        """The schema of every batch so far."""
        return schema_of_items(self._items) if self._given is None else self._given

    def add(self, frame: Frame) -> tuple[dict[str, Any], Schema]:
        """Return a batch as columns, and the schema to write these with.

        Both omit columns of nothing but empty lists. An error has the record's number in the batch.
        """
        if self._given is not None:
            check_traits(frame.columns, frame.traits, self._given)
            self.originals |= originals_of(frame.columns, frame.traits)
            return given_columns(frame.columns, self._given), self._given
        frame, carried = with_carried(frame)
        kept = {name: frame.columns[name] for name in carried}
        check_exact(kept, carried, carried.originals)
        own = {
            name: normalize(name, column, "strict")
            for name, column in frame.columns.items()
            if name not in carried
        }
        schema = carried | with_traits(schema_of(own, lossless=self._lossless), frame.traits)
        self._widen(schema.select(frame.columns))
        self._n_rows += frame.n_rows
        made = given_columns(kept, carried) | own
        made = {name: column for name, column in made.items() if not is_empty_lists(column)}
        return made, schema.select(made)

    def _widen(self, schema: Schema) -> None:
        if not self._n_rows:  # without rows there were no categories
            self._items = items_of(schema)
            return
        for name, new in items_of(schema).items():
            old = self._items[name]
            try:
                self._items[name] = _widened(name, old, new)
            except IncompatibleError as error:
                detail = f"this batch differs from those before it: {error}"
                raise InvalidArgumentError(
                    Reason.WRONG_KIND, index=0, key=name, detail=detail
                ) from None


def _widened(name: str, old: SchemaItem, new: SchemaItem) -> SchemaItem:
    """Return the item for both; one without original gets one if records lack the feature."""
    if old.original is None or new.original is None:
        return new if old.original is None else old
    return widened(name, old, new)


def originals_of(columns: Mapping[str, Any], traits: Traits) -> dict[str, Original]:
    """Return the originals that columns have by themselves; without those that have none."""
    found: dict[str, Original] = {}
    for name, column in columns.items():
        with contextlib.suppress(InvalidArgumentError):
            schema = with_traits(schema_of({name: column}), {name: traits.get(name, {})})
            found |= schema.originals
    return found
