"""Rows in batches of columns, and the one schema that fits all of them.

The first batch decides how each column is stored; what comes later may widen that, see
:mod:`~tfrecord_lite.storage.widening`. A row that does not fit raises an error with its
number and the column's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from tfrecord_lite.convert.lossless import (
    RAW,
    inexact_integers,
    original_dtype,
    schema_of,
    with_values,
)
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.storage.given import given_column, unknown_error
from tfrecord_lite.storage.structure import completed, flatten
from tfrecord_lite.storage.widening import (
    MISSING_ROW,
    IncompatibleError,
    SchemaItem,
    as_missing,
    as_ragged,
    is_empty_lists,
    is_untyped,
    items_of,
    schema_of_items,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.schema import Schema
    from tfrecord_lite.storage.structure import Structure

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
    """Turns batches of rows into columns, and remembers the schema that fits all so far.

    With a schema that is given, rows are brought into its form, and may lack features.
    """

    def __init__(self, given: Schema | None = None) -> None:
        self._given = given
        self._structure: Structure | None = None
        self._columns: dict[str, _Column] = {}
        self._take: Callable[[Any], tuple[Any, ...]] | None = None
        self._n_rows = 0

    @property
    def schema(self) -> Schema:
        """The schema of every row so far, with the columns in the order of the structure."""
        if self._given is not None:
            return self._given
        return schema_of_items({name: column.described() for name, column in self._columns.items()})

    @property
    def structure(self) -> Structure:
        """Structure of the rows, with all features of a schema that is given; flat without rows."""
        found = {} if self._structure is None else self._structure
        return found if self._given is None else completed(found, self._given)

    def add(self, rows: list[Any]) -> tuple[dict[str, Any], Schema]:
        """Return rows as columns, and the schema to write these with.

        Both omit columns with nothing but None or empty lists. Raises InvalidArgumentError
        about the first row that does not fit the schema, or those before it.
        """
        columns = {}
        given = None if self._given is None else items_of(self._given)
        found = self._values_of(rows) if given is None else self._found_in(rows)
        for name, values in found.items():
            make: Any = self._columns[name].with_values if given is None else None
            if given is not None:
                make = partial(given_column, name, item=given[name])
            try:
                made = make(values)
            except (IncompatibleError, InvalidArgumentError) as error:
                number, cause = first_misfit(values, make, error)
                if isinstance(cause, IncompatibleError):
                    cause = InvalidArgumentError(Reason.WRONG_KIND, detail=str(cause))
                raise cause.at(index=self._n_rows + number, key=name) from None
            if given is None:
                self._columns[name], made = made
            if made is not None:
                columns[name] = made
        self._n_rows += len(rows)
        return columns, self.schema.select(columns) if given is None else self.schema

    def _values_of(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Return the values of each column."""
        if self._structure is None:
            self._structure, leaves = flatten(rows[0])
            names = list(leaves)
            self._columns = {name: _Column(name) for name in names}
            if names and isinstance(rows[0], dict) and list(rows[0]) == names:
                get = itemgetter(*names)
                self._take = get if len(names) > 1 else lambda row: (get(row),)
        if self._take is not None:
            values = self._values_of_flat_dicts(rows, self._take)
            if values is not None:
                return dict(zip(self._columns, values, strict=True))
        columns: dict[str, list[Any]] = {name: [] for name in self._columns}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            if structure != self._structure:
                raise self._structure_error(i, leaves)
            for name, value in leaves.items():
                columns[name].append(value)
        return columns

    def _found_in(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Return the values of each feature of the schema; None where a row lacks it."""
        values: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.schema}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            self._structure = structure if self._structure is None else self._structure
            for name, value in leaves.items():
                if name not in values:
                    raise unknown_error(name, self.schema).at(index=self._n_rows + i)
                values[name][i] = value
        return values

    def _values_of_flat_dicts(
        self, rows: list[Any], take: Callable[[Any], tuple[Any, ...]]
    ) -> list[list[Any]] | None:
        """Return the values of each column; None if a row is not a flat dict like the first."""
        size = len(self._columns)
        if not all(type(row) is dict and len(row) == size for row in rows):
            return None
        try:
            columns = list(map(list, zip(*map(take, rows), strict=True)))
        except KeyError:
            return None
        is_nested = any(issubclass(cls, Mapping) for col in columns for cls in set(map(type, col)))
        return None if is_nested else columns

    def _structure_error(self, i: int, leaves: Mapping[str, Any]) -> InvalidArgumentError:
        """Return the error about a row of another structure than the first."""
        index = self._n_rows + i
        for name in self._columns:
            if name not in leaves:
                detail = "the row lacks this value; give None for a missing one"
                return InvalidArgumentError(Reason.MISSING, index=index, key=name, detail=detail)
        added = next((name for name in leaves if name not in self._columns), None)
        detail = "the row has this value, but earlier rows do not"
        if added is None:
            detail = "the row is nested differently than earlier rows"
        return InvalidArgumentError(Reason.BAD_ARGUMENT, index=index, key=added, detail=detail)


_Misfit = TypeVar("_Misfit", bound=Exception)


def first_misfit(
    values: list[Any], make: Callable[[list[Any]], object], error: _Misfit
) -> tuple[int, _Misfit]:
    """Return the number of the first value that `make` rejects, and its error; all raise `error`."""
    low, high = 0, len(values)  # values[:low] fit, values[:high] do not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            make(values[:middle])
        except (IncompatibleError, InvalidArgumentError) as cause:
            high, error = middle, cast("_Misfit", cause)
        else:
            low = middle
    return high - 1, error


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the rows so far."""

    name: str
    item: SchemaItem | None = None
    """None while no row has a value."""
    has_missing: bool = False
    has_empty: bool = False

    def described(self) -> SchemaItem:
        """Return the schema's item; a column without values is one of byte strings."""
        if self.item is not None:
            return self.item
        nothing: list[Any] = [None] if self.has_missing else [[]]
        return items_of(schema_of({self.name: nothing}))[self.name]

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
            new = items_of(schema_of({self.name: made}))[self.name]
            if text is not None and new.original is not None:
                new = new._replace(original=replace(new.original, text=text))
            item = new if item is None else widened(self.name, item, new)
        if item is not None and has_missing:
            if item.original is not None and 0 in (item.original.shape or ()):
                raise IncompatibleError(MISSING_ROW)
            item = as_missing(self.name, item)
        if item is not None and has_empty:
            item = as_ragged(self.name, item)
        column = _Column(self.name, item, has_missing, has_empty)
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
