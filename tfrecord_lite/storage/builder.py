"""Batches as columns, and the one schema that fits all of them.

The first batch decides how each column is stored; what comes later may widen that, see
:mod:`~tfrecord_lite.described.widening`. A table's schema depends on its types, and on whether anything
is null: of a stream each batch has one, and they are widened to that of the whole table. With a
schema that is given, batches are brought into its form, see :mod:`~tfrecord_lite.convert.conform`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.arrow import Frame, Traits, check_traits, with_traits
from tfrecord_lite.convert.lists import MaskedRows, with_values
from tfrecord_lite.convert.lossless import (
    RAW,
    check_exact,
    item_of,
    schema_of,
    stored_alike,
    with_carried,
)
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.convert.restore import original_dtype
from tfrecord_lite.convert.types import inexact_integers
from tfrecord_lite.described.structure import Structure, completed, flatten
from tfrecord_lite.described.widening import (
    MISSING_ROW,
    IncompatibleError,
    as_missing,
    as_ragged,
    is_empty_lists,
    is_untyped,
    widened,
)
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import Kind, Original, Schema, SchemaItem
from tfrecord_lite.schema.text import nearest

_BATCH_ROWS = 1024
_BATCH_BYTES = 4 * 1024 * 1024
_LIGHT_BYTES = 16 * 1024
_WEIGH_EVERY = 16
"""Only one in this many light rows is weighed."""


def row_batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of at most 1,024, and of about 4 MB unless a single row is larger."""
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
    size = getattr(item, "nbytes", None)
    if size is None and isinstance(item, bytes | str):
        size = len(item)
    return 8 if size is None else int(size)


class SchemaBuilder:
    """Turns batches, all of rows or all of frames, into columns; widens one schema for all."""

    def __init__(self, given: Schema | None = None, *, lossless: bool = True) -> None:
        self.given: Schema | None = given
        self._lossless = lossless
        self._structure: Structure | None = None
        self._columns: dict[str, _Column] = {}
        self._n_rows = 0
        self.originals: dict[str, Original] = {}
        """Those that columns of frames have by themselves, if a schema is given."""
        self.rounded: dict[str, None] = {}
        """Columns without a given schema, of which a float64 was not exact in float32."""
        self.negative: dict[str, None] = {}
        """Columns for others that see integers from 2**63 on as negative numbers."""

    @property
    def schema(self) -> Schema:
        """The schema of everything so far, with the columns in the order of the first batch."""
        if self.given is not None:
            return self.given
        return Schema.of_items({name: column.described() for name, column in self._columns.items()})

    @property
    def structure(self) -> Structure:
        """Structure of the rows, with all features of a schema that is given; flat without rows."""
        return self.nested({} if self._structure is None else self._structure)

    def nested(self, structure: Structure) -> Structure:
        """Return a structure with all features of a schema that is given."""
        return structure if self.given is None else completed(structure, self.given)

    def add_rows(self, rows: list[Any]) -> tuple[dict[str, Any], Schema]:
        """Return rows as columns, and the schema to write these with.

        Both omit columns with nothing but None or empty lists. Raises InvalidArgumentError
        about the first row that does not fit the schema, or those before it.
        """
        if self.given is not None:
            found = self._found_in(rows, self.given)
            self._n_rows += len(rows)
            return found, self.given
        columns = {}
        for name, values in self._values_of(rows).items():
            make = self._columns[name].with_values
            try:
                self._columns[name], made = make(values)
            except (IncompatibleError, InvalidArgumentError) as error:
                number, cause = first_misfit(values, make, error)
                if isinstance(cause, IncompatibleError):
                    cause = InvalidArgumentError(Reason.WRONG_KIND, detail=str(cause))
                raise cause.at(index=self._n_rows + number, key=name) from None
            if made is not None:
                columns[name] = made
        self._n_rows += len(rows)
        schema = self.schema.select(columns)
        self._note_changed(columns, schema)
        return {name: _without_empty_rows(made) for name, made in columns.items()}, schema

    def add_frame(self, frame: Frame) -> tuple[dict[str, Any], Schema]:
        """Return a batch of Arrow data as columns, and the schema to write these with.

        Both omit columns of nothing but empty lists. An error has the record's number in the batch.
        """
        if self.given is not None:
            check_traits(frame.columns, frame.traits, self.given)
            self.originals |= _originals_of(frame.columns, frame.traits)
            return frame.columns, self.given
        frame, carried = with_carried(frame)
        check_exact(frame.columns, carried)
        own = {n: column for n, column in frame.columns.items() if n not in carried}
        own = {name: normalize(name, column, "strict") for name, column in own.items()}
        schema = (
            carried | with_traits(schema_of(own, lossless=self._lossless), frame.traits)
        ).select(frame.columns)
        for name, item in schema.to_items().items():
            # Without rows there were no categories.
            old = self._columns[name].item if self._n_rows else None
            both = item if old is None or old.original is None else old
            try:
                if old is not None and None not in (old.original, item.original):
                    both = widened(name, old, item)
            except IncompatibleError as error:
                detail = f"this batch differs from those before it: {error}"
                raise InvalidArgumentError(
                    Reason.WRONG_KIND, index=0, key=name, detail=detail
                ) from None
            self._columns[name] = _Column(name, both)
        self._n_rows += frame.n_rows
        made = {name: frame.columns[name] for name in carried} | own
        self._note_changed(own, schema)
        made = {
            name: _without_empty_rows(column)
            for name, column in made.items()
            if not is_empty_lists(column)
        }
        return made, schema.select(made)

    def _note_changed(self, columns: Mapping[str, Any], schema: Schema) -> None:
        for name, column in columns.items():
            flat = getattr(column, "flat_values", getattr(column, "values", column))
            dtype = getattr(flat, "dtype", None)
            if dtype == np.uint64 and not self._lossless:
                if np.ma.compressed(flat).max(initial=0) >= 2**63:
                    self.negative[name] = None
            elif dtype == np.float64 and schema[name].kind is Kind.FLOAT:
                values = np.ma.compressed(flat)
                with np.errstate(over="ignore", under="ignore"):
                    floats = values.astype(np.float32)
                if not np.array_equal(floats, values, equal_nan=True):
                    self.rounded[name] = None

    def _values_of(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Return the values of each column."""
        if self._structure is None:
            self._structure, leaves = flatten(rows[0])
            self._columns = {name: _Column(name, lossless=self._lossless) for name in leaves}
        names = list(self._columns)
        if (flat := _values_of_flat_dicts(rows, names)) is not None:
            return flat
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            if structure != self._structure:
                raise self._structure_error(leaves).at(index=self._n_rows + i)
            for name, value in leaves.items():
                columns[name].append(value)
        return columns

    def _structure_error(self, leaves: Mapping[str, Any]) -> InvalidArgumentError:
        """Return the error about a row of another structure than the first."""
        for name in self._columns:
            if name not in leaves:
                detail = "the row lacks this value; give None for a missing one"
                return InvalidArgumentError(Reason.MISSING, key=name, detail=detail)
        added = next((name for name in leaves if name not in self._columns), None)
        detail = "the row has this value, but earlier rows do not"
        if added is None:
            detail = "the row is nested differently than earlier rows"
        return InvalidArgumentError(Reason.BAD_ARGUMENT, key=added, detail=detail)

    def _found_in(self, rows: list[Any], given: Schema) -> dict[str, list[Any]]:
        """Return the values of each feature of the schema; None where a row lacks it."""
        values: dict[str, list[Any]] = {name: [None] * len(rows) for name in given}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            self._structure = structure if self._structure is None else self._structure
            for name, value in leaves.items():
                if name not in values:
                    detail = f"this feature is not in the schema{nearest(name, given)}"
                    raise argument_error(detail, key=name).at(index=self._n_rows + i)
                values[name][i] = value
        return values


def _without_empty_rows(column: Any) -> Any:
    """Return a column whose empty rows are records without the feature.

    Rows that came before any value are so too, as nothing told their kind; where batches end makes no difference.
    """
    if not isinstance(column, RaggedTensor):
        return column
    empty: Any = np.diff(column.row_splits) == 0
    return MaskedRows(column, empty) if empty.any() else column


def _values_of_flat_dicts(rows: list[Any], names: list[str]) -> dict[str, list[Any]] | None:
    """Return the values of each column; None if a row is not a flat dict of these names."""
    if not names or not all(type(row) is dict and len(row) == len(names) for row in rows):
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
    """Return the number of the first value that `make` rejects, and its error; all raise `error`."""
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
    """One column of the batches so far."""

    name: str
    item: SchemaItem | None = None
    """None while no row has a value."""
    has_missing: bool = False
    has_empty: bool = False
    lossless: bool = True

    def described(self) -> SchemaItem:
        """Return the schema's item; a column without values is one of byte strings."""
        if self.item is not None:
            return self.item
        nothing: list[Any] = [None] if self.has_missing else [[]]
        return item_of(self.name, normalize(self.name, nothing, "strict"))

    def with_values(self, values: list[Any]) -> tuple[_Column, Any]:
        """Return the column with more rows, and these rows as arrays (None without any value).

        Raises IncompatibleError or InvalidArgumentError if some row does not fit.
        """
        made = self._as_floats(normalize(self.name, values, "strict"))
        mask = np.ma.getmaskarray(made) if isinstance(made, np.ma.MaskedArray) else np.False_
        is_missing = bool(mask.all()) and made.dtype == object
        is_empty = is_empty_lists(made)
        text = None
        if is_untyped(made) and self.item is not None and self.item.original is not None:
            text = self.item.original.text
            dtype = original_dtype(self.item.original.dtype)
            made = with_values(made, lambda values: values.astype(dtype))
        has_missing = self.has_missing or bool(mask.any())
        has_empty = self.has_empty or is_empty
        if has_missing and has_empty:
            raise IncompatibleError("None cannot be told from an empty list here; give one of them")
        item = self.item
        if not (is_missing or is_empty):
            new = item_of(self.name, made, lossless=self.lossless)
            if text is not None and new.original is not None:
                new = new._replace(original=replace(new.original, text=text))
            item = (
                new
                if item is None
                else widened(self.name, item, stored_alike(self.name, item, new))
            )
        if item is not None and has_missing:
            if item.original is not None and 0 in (item.original.shape or ()):
                raise IncompatibleError(MISSING_ROW)
            item = as_missing(self.name, item)
        if item is not None and has_empty:
            item = as_ragged(self.name, item)
        column = replace(self, item=item, has_missing=has_missing, has_empty=has_empty)
        return column, None if is_missing or is_empty else made

    def _as_floats(self, made: Any) -> Any:
        """Return integers as floats if the column is one of floats, and holds them exactly."""
        original = self.item.original if self.item is not None else None
        flat = getattr(made, "flat_values", made)
        if original is None or getattr(flat, "dtype", np.dtype(object)).kind not in "iu":
            return made
        if original.dtype not in ("float16", "float32", *RAW):
            return made
        dtype = original_dtype(original.dtype)

        def change(numbers: Any) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):
                floats = numbers.astype(dtype)
                inexact = inexact_integers(numbers, floats.real)
            if inexact.any():
                raise IncompatibleError(f"this integer is not exact in {original.dtype}")
            return floats

        return with_values(made, change)


def _originals_of(columns: Mapping[str, Any], traits: Traits) -> dict[str, Original]:
    """Return the originals that columns have by themselves; without those that have none."""
    found: dict[str, Original] = {}
    for name, column in columns.items():
        with contextlib.suppress(InvalidArgumentError):
            schema = with_traits(schema_of({name: column}), {name: traits.get(name, {})})
            found |= schema.originals
    return found
