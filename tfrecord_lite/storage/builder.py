"""Batches as columns, and the one schema that fits all of them.

The first batch decides how each column is stored; later batches may widen that (:meth:`.Type.widened`). With a
given schema, batches are brought into its form (:mod:`~tfrecord_lite.convert.store`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

from tfrecord_lite.convert.arrow import Frame
from tfrecord_lite.convert.lists import Lists, SparseLists, cleared
from tfrecord_lite.convert.lossless import item_of, splits_dtype_of, with_carried
from tfrecord_lite.convert.normalize import opened
from tfrecord_lite.convert.restore import original_dtype
from tfrecord_lite.convert.store import BYTE_SIZED, RAW, type_of
from tfrecord_lite.convert.types import exact
from tfrecord_lite.described.structure import Structure, completed, flatten
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, Schema, SchemaItem
from tfrecord_lite.schema.schema import checked_item
from tfrecord_lite.schema.types import IncompatibleError, Type, widened
from tfrecord_lite.texts import nearest

_NOTHING = SchemaItem(FixedLenFeature((), bytes), Original("string", ()))
"""The item of a column before the first row."""
_BATCH_ROWS = 1024
_BATCH_BYTES = 4 * 1024 * 1024
_LIGHT_BYTES = 16 * 1024
_WEIGH_EVERY = 16
"""Only one in this many light rows is weighed."""


def row_batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of at most 1,024, and of about 4 MB."""
    batch: list[Any] = []
    weight = step = 0
    for row in rows:
        batch.append(row)
        if step == 0:
            one = _weight(row)
            step = 1 if one > _LIGHT_BYTES else _WEIGH_EVERY
            weight += one * step
        step -= 1
        if len(batch) == _BATCH_ROWS or weight >= _BATCH_BYTES:
            yield batch
            batch, weight, step = [], 0, 0
    if batch:
        yield batch


def _weight(item: Any) -> int:
    """Estimate the bytes that a row holds."""
    if isinstance(item, Mapping):
        return sum(map(_weight, item.values()))
    if isinstance(item, tuple | list):
        return 8 * len(item) + sum(map(_weight, item[:1])) * len(item)
    if isinstance(item, bytes | str):
        return len(item)
    with contextlib.suppress(RuntimeError):  # of a sparse tensor
        return int(getattr(item, "nbytes", None) or 8)
    return 8


class SchemaBuilder:
    """Turns batches, all of rows or all of frames, into columns; widens one schema for all.

    In frames a null among rows of any length is an error, or becomes an empty row.
    """

    def __init__(
        self,
        given: Schema | None = None,
        *,
        lossless: bool = False,
        raw_images: bool = True,
        null_as_empty: bool = False,
    ) -> None:
        self.given_schema: Schema | None = given
        self._null_as_empty = null_as_empty
        self._lossless = lossless
        self._type_of = partial(type_of, lossless=lossless, raw_images=raw_images)
        self._item_of = partial(item_of, lossless=lossless, raw_images=raw_images)
        self._structure: Structure | None = None
        self._columns: dict[str, _Column] = {}
        self._schema: Schema | None = None  # of the columns, if none has become wider since
        self._n_rows = 0
        self.originals: dict[str, Original] = {}
        """The frame's own, if a schema is given."""
        self.rounded: dict[str, None] = {}
        """Columns with a float64 that was not exact in float32."""
        self.negative: dict[str, None] = {}
        """Columns with integers from 2**63 on."""

    @property
    def schema(self) -> Schema:
        """The schema of everything so far."""
        if self.given_schema is not None:
            return self.given_schema
        if self._schema is None:
            items = {name: column.item for name, column in self._columns.items()}
            self._schema = Schema.of_items(items)
        return self._schema

    @property
    def structure(self) -> Structure:
        """Structure of the rows; flat without rows."""
        return self.nested({} if self._structure is None else self._structure)

    def nested(self, structure: Structure) -> Structure:
        """Return a structure with all features of a schema that is given."""
        return structure if self.given_schema is None else completed(structure, self.given_schema)

    def add_rows(self, rows: list[Any]) -> tuple[dict[str, Any], Schema]:
        """Return rows as columns, and the schema to write these with.

        Both omit columns with nothing but None, or empty lists whose kind is unknown. Raises InvalidArgumentError
        about the first row that does not fit the schema, or those before it.
        """
        if self.given_schema is not None:
            own_columns = self._columns_of(rows, self.given_schema)
            self._n_rows += len(rows)
            return own_columns, self.given_schema
        columns = {}
        for name, values in self._values_of(rows).items():
            add = self._columns[name].with_values
            try:
                column, lists = add(values)
            except (IncompatibleError, InvalidArgumentError) as error:
                number, cause = first_misfit(values, add, error)
                if isinstance(cause, IncompatibleError):
                    cause = argument_error(str(cause), Reason.WRONG_KIND)
                raise cause.at(index=self._n_rows + number, key=name) from None
            if column is not self._columns[name]:
                self._columns[name], self._schema = column, None
            if lists is not None:
                columns[name] = lists
        self._n_rows += len(rows)
        schema = self.schema.select(columns)
        self._note_negative(columns)
        return columns, schema

    def add_frame(self, frame: Frame) -> tuple[dict[str, Any], Schema]:
        """Return a batch of Arrow data as columns, and the schema to write these with.

        Both omit columns of empty lists whose type has no kind. An error has the record's number in the batch.
        """
        if self.given_schema is not None:
            self.originals |= _originals_of(frame.columns)
            return frame.columns, self.given_schema
        frame, carried = with_carried(frame)
        items, columns = carried.to_items(), {}
        for name, column in frame.columns.items():
            lists = column if self._null_as_empty else opened(name, column, "strict")
            if name not in items or (self._lossless and items[name].is_narrowed):
                items[name] = self._item_of(name, lists, splits_dtype_of(column))
            columns[name] = lists
        schema = Schema.of_items(items).select(columns)
        for name, item in schema.to_items().items():
            # Without rows there were no categories.
            old = self._columns[name].item if self._n_rows else None
            both = item if old is None or old.original is None else old
            try:
                if old is not None and None not in (old.original, item.original):
                    both = widened(name, old, item)
            except IncompatibleError as error:
                detail = f"this batch differs from those before it: {error}"
                raise argument_error(detail, Reason.WRONG_KIND, index=0, key=name) from None
            self._columns[name], self._schema = _Column(name, both), None
        self._n_rows += frame.n_rows
        self._note_negative({name: lists for name, lists in columns.items() if name not in carried})
        filled = {name: lists for name, lists in columns.items() if not _is_empty(lists)}
        return filled, schema.select(filled)

    def _note_negative(self, columns: Mapping[str, Lists | SparseLists]) -> None:
        for name, column in () if self._lossless else columns.items():
            values = column.values if isinstance(column, SparseLists) else column
            if values.type.dtype == "uint64" and cleared(values).flat.max(initial=0) >= 2**63:
                self.negative[name] = None

    def _values_of(self, rows: list[Any]) -> dict[str, list[Any]]:
        if self._structure is None:
            self._structure, leaves = flatten(rows[0])
            type_of = self._type_of
            self._columns = {name: _Column(name, _NOTHING, type_of=type_of) for name in leaves}
        if (flat := _values_of_flat_dicts(rows, list(self._columns))) is not None:
            return flat
        columns: dict[str, list[Any]] = {name: [] for name in self._columns}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            if structure != self._structure:
                raise self._structure_error(leaves).at(index=self._n_rows + i)
            for name, value in leaves.items():
                columns[name].append(value)
        return columns

    def _structure_error(self, leaves: Mapping[str, Any]) -> InvalidArgumentError:
        for name in self._columns:
            if name not in leaves:
                detail = "the row lacks this value; give None for a missing one"
                return argument_error(detail, Reason.MISSING, key=name)
        for name in leaves:
            if name not in self._columns:
                return argument_error("the row has this value, but earlier rows do not", key=name)
        return argument_error("the row is nested differently than earlier rows")

    def _columns_of(self, rows: list[Any], schema: Schema) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {name: [None] * len(rows) for name in schema}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            self._structure = structure if self._structure is None else self._structure
            for name, value in leaves.items():
                if name not in values:
                    detail = f"this feature is not in the schema{nearest(name, schema)}"
                    raise argument_error(detail, key=name).at(index=self._n_rows + i)
                values[name][i] = value
        return values


def _is_empty(lists: Lists | SparseLists) -> bool:
    if isinstance(lists, SparseLists) or lists.kind is not None:
        return False
    return not lists.levels or not lists.below().n


def _values_of_flat_dicts(rows: list[Any], names: list[str]) -> dict[str, list[Any]] | None:
    if not names or {*map(type, rows)} - {dict} or {*map(len, rows)} - {len(names)}:
        return None
    try:
        columns = {name: list(map(itemgetter(name), rows)) for name in names}
    except KeyError:
        return None
    types = {cls for column in columns.values() for cls in set(map(type, column))}
    return None if any(issubclass(cls, Mapping) for cls in types) else columns


def first_misfit(
    values: list[Any], make: Callable[[list[Any]], object], error: Exception
) -> tuple[int, Any]:
    """Return the number of the first value that `make` rejects, and its error."""
    low, high = 0, len(values)  # values[:low] fit, values[:high] do not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            make(values[:middle])
        except (IncompatibleError, InvalidArgumentError) as cause:
            high, error = middle, cause
        else:
            low = middle
    return high - 1, error


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    item: SchemaItem
    """How the schema has it; a column without values is one of byte strings."""
    type: Type | None = None
    """That of the rows so far; None before the first, and of frames."""
    type_of: Callable[..., Type] = type_of

    def _as(self, own: Type) -> _Column:
        if own == self.type:
            return self
        item = checked_item(self.name, own.specification(self.name), own.original)
        return replace(self, item=item, type=own)

    def with_values(self, values: list[Any]) -> tuple[_Column, Lists | None]:
        """Return the column with more rows, and these rows as lists (None if their kind is unknown).

        Raises IncompatibleError or InvalidArgumentError if some row does not fit.
        """
        lists, old = opened(self.name, values, "strict"), self.type
        if _is_empty(lists):
            own = lists.type if old is None else old.widened(lists.type)
            is_told = own.kind is not None and lists.levels
            return self._as(own), lists if is_told else None
        if lists.kind is None:  # empty lists in lists
            known, shape = old or Type(Kind.BYTES, "string"), lists.type.shape
            kind = known.kind or Kind.BYTES
            lists.type = known._replace(kind=kind, shape=shape, missing=False)
        elif old is not None:
            lists = self._as_floats(lists, old)
        own = self.type_of(self.name, lists)
        if old is not None:
            is_bytes = old.kind is Kind.INT64 or (old.is_raw and old.dtype in BYTE_SIZED)
            if own.dtype in BYTE_SIZED and is_bytes:
                own = own._replace(kind=old.kind)  # as the first rows, whose size decided it
            own = old.widened(own)
        return self._as(own), lists

    def _as_floats(self, lists: Lists, old: Type) -> Lists:
        are_floats = old.kind is Kind.FLOAT or (old.is_raw and old.dtype in RAW)
        if not are_floats or lists.kind is not Kind.INT64 or lists.flat.dtype.kind not in "iu":
            return lists
        flat = exact(cleared(lists).flat, original_dtype(old.dtype))
        return lists.with_(flat=flat, type=lists.type._replace(kind=Kind.FLOAT, dtype=old.dtype))


def _originals_of(columns: Mapping[str, object]) -> dict[str, Original]:
    originals: dict[str, Original] = {}
    for name, column in columns.items():
        with contextlib.suppress(InvalidArgumentError):
            originals[name] = type_of(name, opened(name, column, "strict"), lossless=True).original
    return originals
