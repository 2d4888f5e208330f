"""Rows in batches of columns, and the one schema that fits all of them.

The first batch decides how each column is stored: that depends on its dtype and on how many of
its dimensions vary, but not on the size of its first dimension, nor on whether values are
missing. So the schema may become wider after records have been written by it, and they remain
readable:

=======================================  ==============================================
before and now                           wider
=======================================  ==============================================
(3,) and (5,)                            any length
always there, and sometimes missing      a masked array
int32 and uint8; float16 and float32     the dtype that holds both, if stored alike
``U3`` and ``U5``                        ``U5``
``U3`` and str; ``S3`` and bytes         str; bytes
=======================================  ==============================================

A row that does not fit raises an error with its number and the column's name. The schemas of
several files are merged in the same way, except that a feature which a file lacks is missing there, or
an empty row where lengths vary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lossless import (
    RAW,
    inexact_integers,
    is_raw,
    original_dtype,
    schema_of,
    with_values,
)
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    Schema,
    SequenceSchema,
    SparseFeature,
    kind_of,
)
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, EXTRA_INTEGERS
from tfrecord_lite.storage.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.schema import FeatureSpec
    from tfrecord_lite.storage.structure import Structure


_BATCH_ROWS = 1024
_BATCH_BYTES = 4 * 1024 * 1024
_LIGHT_BYTES = 16 * 1024
_WEIGH_EVERY = 16
"""Only one in this many light rows is weighed."""
_MISSING_ROW = "a value is missing where lengths vary; give an empty list instead"


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


class StreamSchema:
    """Turns batches of rows into columns, and remembers the schema that fits all so far."""

    def __init__(self) -> None:
        self.structure: Structure | None = None
        """Structure of every row; None before the first."""
        self._columns: dict[str, _Column] = {}
        self._take: Callable[[Any], tuple[Any, ...]] | None = None
        self._n_rows = 0

    @property
    def schema(self) -> Schema:
        """The schema of every row so far, with the columns in the order of the structure."""
        return schema_of_items({name: column.described() for name, column in self._columns.items()})

    def add(self, rows: list[Any]) -> tuple[dict[str, Any], Schema]:
        """Return rows as columns, and the schema to write these with.

        Both omit columns with nothing but None or empty lists. Raises InvalidArgumentError
        about the first row that does not fit those before it.
        """
        columns = {}
        for name, values in self._values_of(rows).items():
            try:
                self._columns[name], made = self._columns[name].with_values(values)
            except (IncompatibleError, InvalidArgumentError) as error:
                raise self._misfit_error(name, values, error) from None
            if made is not None:
                columns[name] = made
        self._n_rows += len(rows)
        return columns, self.schema.select(columns)

    def _values_of(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Return the values of each column."""
        if self.structure is None:
            self.structure, leaves = flatten(rows[0])
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
            if structure != self.structure:
                raise self._structure_error(i, leaves)
            for name, value in leaves.items():
                columns[name].append(value)
        return columns

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

    def _misfit_error(
        self, name: str, values: list[Any], error: IncompatibleError | InvalidArgumentError
    ) -> InvalidArgumentError:
        """Return the error about the first row that does not fit."""
        number, error = first_misfit(values, self._columns[name].with_values, error)
        if isinstance(error, IncompatibleError):
            error = InvalidArgumentError(Reason.WRONG_KIND, detail=str(error))
        return error.at(index=self._n_rows + number, key=name)


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


class SchemaItem(NamedTuple):
    """A feature's specification and its original, as a schema has them."""

    spec: FeatureSpec
    original: Original | None

    @property
    def kind(self) -> Kind:
        """The kind of the list that is stored."""
        return kind_of(self.spec.dtype)  # type: ignore[attr-defined]

    @property
    def is_raw(self) -> bool:
        """Whether values are stored as their bytes."""
        return is_raw(self.original, self.kind)

    def __str__(self) -> str:
        """Return dtype and shape, for error texts."""
        if self.original is None:
            return type(self.spec).__name__
        word = self.original.text or self.original.dtype
        word = "missing" if self.original.missing else word
        shape = ", ".join("?" if dim is None else str(dim) for dim in self.original.shape or ())
        return f"{word} [{shape}]"


def items_of(schema: Schema) -> dict[str, SchemaItem]:
    """Return the items of a schema by name."""
    originals = schema.originals
    return {name: SchemaItem(spec, originals.get(name)) for name, spec in schema.items()}


def schema_of_items(items: Mapping[str, SchemaItem]) -> Schema:
    """Return the schema with these items."""
    originals = {name: item.original for name, item in items.items() if item.original is not None}
    return Schema({name: item.spec for name, item in items.items()}, originals)


def check_originals(schema: Schema | SequenceSchema) -> None:
    """Raise about the first original whose shape its specification cannot have."""
    schema = schema.context if isinstance(schema, SequenceSchema) else schema
    for name, item in items_of(schema).items():
        shape = None if item.original is None else item.original.shape
        if shape is not None and not _can_have(item, shape):
            detail = f"the original shape {list(shape)} does not go with the {_described(item)}"
            raise argument_error(detail, key=name)


def _can_have(item: SchemaItem, shape: tuple[Any, ...]) -> bool:
    """Return whether the values that a specification reads can make up a shape."""
    rank = next((i for i, dim in enumerate(shape) if dim is not None), len(shape))
    is_whole = None not in shape
    if isinstance(item.spec, FixedLenFeature):
        if item.is_raw:
            inner = shape[1:] if rank else shape
            return item.spec.shape == () and None not in inner and (is_whole or 0 not in inner)
        return not is_whole or math.prod(shape) == math.prod(item.spec.shape)
    if isinstance(item.spec, RaggedFeature):
        if item.original is not None and item.original.missing:
            return is_whole
        return None not in shape[rank:] and (is_whole or 0 not in shape[rank:])
    return True


def _described(item: SchemaItem) -> str:
    """Return a specification's class and shape, for error texts."""
    shape = getattr(item.spec, "shape", None)
    of = "" if shape is None else f" of shape {list(shape)}"
    raw = ", which reads raw values" if item.is_raw else ""
    return f"{type(item.spec).__name__}{of}{raw}"


class IncompatibleError(Exception):
    """No schema fits both batches, for the reason in the text; users never see this error."""


def is_empty_lists(column: Any) -> bool:
    """Return whether rows are empty lists, and nothing tells what they are lists of."""
    return _is_untyped(column) and len(column.values) == 0


def _is_untyped(column: Any) -> bool:
    if not isinstance(column, RaggedTensor):
        return False
    flat = column.flat_values
    return isinstance(flat, np.ndarray) and flat.dtype == object and not len(flat)


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
        if _is_untyped(made) and self.item is not None and self.item.original is not None:
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
                raise IncompatibleError(_MISSING_ROW)
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


def widened(
    name: str, old: SchemaItem, new: SchemaItem, *, missing_as_empty: bool = False
) -> SchemaItem:
    """Return the item that reads what was stored by either of two, or raise IncompatibleError.

    A missing value, where lengths vary, is an error, or an empty row.
    """
    if old == new:
        return old
    before, after = old.original, new.original
    if (
        before is None
        or after is None
        or SparseFeature in (type(old.spec), type(new.spec))
        or (old.kind, old.is_raw) != (new.kind, new.is_raw)
    ):
        raise IncompatibleError(f"{new} here, but {old} before")
    dtype = _dtype(before, after, raw=old.is_raw)
    text = _text(before, after)
    shape = _shape(before, after)
    missing = before.missing or after.missing
    traits = _traits(before, after)
    if missing and None in shape:
        if not missing_as_empty:
            raise IncompatibleError(_MISSING_ROW)
        missing = False
    splits = [getattr(item.spec, "row_splits_dtype", None) for item in (old, new)]
    longest = np.int64 if np.dtype(np.int64) in splits else None
    original = Original(dtype, shape, text, missing, **traits)
    return SchemaItem(_specification(name, old.kind, original, longest, raw=old.is_raw), original)


def as_missing(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that a record may lack."""
    original = item.original
    if original is None or original.shape is None or isinstance(item.spec, SparseFeature):
        raise IncompatibleError("a value is missing, which this column cannot store")
    lacking = replace(original, missing=True)
    return widened(name, item, item._replace(original=lacking))


def as_absent(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that whole files lack: missing values, or empty rows."""
    original = item.original
    if isinstance(item.spec, SparseFeature):
        return item
    if original is not None and None in (original.shape or ()):
        return as_ragged(name, item)
    return as_missing(name, item)


def as_ragged(name: str, item: SchemaItem, *, missing_as_empty: bool = False) -> SchemaItem:
    """Return the item for a feature that may be an empty list in some records."""
    original = item.original
    if original is None or not original.shape:
        raise IncompatibleError("an empty list in a column of single values")
    empty = replace(original, shape=(None, *original.shape[1:]))
    if original != empty:
        varying = item._replace(original=empty)
        return widened(name, item, varying, missing_as_empty=missing_as_empty)
    splits_dtype = getattr(item.spec, "row_splits_dtype", None)
    return SchemaItem(_specification(name, item.kind, empty, splits_dtype, raw=item.is_raw), empty)


def _traits(before: Original, after: Original) -> dict[str, Any]:
    """Return the time zone and the categories that fit both."""
    if before.zone != after.zone:
        zones = [original.zone or "no time zone" for original in (after, before)]
        raise IncompatibleError(f"times with {zones[0]} here, but with {zones[1]} before")
    if before.categories is None or after.categories is None:  # any values go with plain ones
        return {"zone": before.zone}
    both = tuple(dict.fromkeys((*before.categories, *after.categories)))
    is_ordered = before.ordered or after.ordered
    if is_ordered and (before.ordered, before.categories) != (after.ordered, after.categories):
        raise IncompatibleError("other categories here than before, or in another order")
    return {"zone": before.zone, "categories": both, "ordered": is_ordered}


def _dtype(before: Original, after: Original, *, raw: bool) -> str:
    """Return the dtype that holds both."""
    names = {before.dtype, after.dtype}
    if len(names) == 1:
        return cast("str", before.dtype)
    families = {_family(name) for name in names}
    incompatible = IncompatibleError(f"{after.dtype} here, but {before.dtype} before")
    if raw or len(families) > 1 or families == {None}:
        raise incompatible
    if names & EXTRA_FLOATS:
        return "float32"
    names = {name.rstrip("124") + "8" if name in EXTRA_INTEGERS else name for name in names}
    both: Any = np.result_type(*map(original_dtype, names))
    if _family(both.name) not in families:
        raise incompatible
    return cast("str", both.name)


def _family(name: str) -> str | None:
    """Return the family of dtypes within which one may be widened."""
    if name in ("float16", "float32") or name in EXTRA_FLOATS:
        return "float"
    return "int" if name.startswith(("int", "uint")) else None


def _text(before: Original, after: Original) -> str | None:
    """Return the type of strings that holds both."""
    old, new = before.text, after.text
    if old == new:
        return old
    if old and new and old[0] == new[0]:  # S, or U
        return max(old, new, key=lambda text: int(text[1:]))
    are_bytes = {text is None or text[0] == "S" for text in (old, new)}
    if len(are_bytes) == 1:  # of several types, objects of Python's
        return None if True in are_bytes else "str"
    raise IncompatibleError(f"strings of {new or 'bytes'} here, but of {old or 'bytes'} before")


def _shape(before: Original, after: Original) -> tuple[int | None, ...]:
    """Return the shape that fits both; only the first dimension may vary."""
    old, new = before.shape, after.shape
    if old == new and old is not None:
        return cast("tuple[int | None, ...]", old)
    if old and new and old[1:] == new[1:]:
        return (None, *old[1:])
    raise IncompatibleError(
        f"the shape {list(new or ())} here, but {list(old or ())} before; "
        "only the first dimension may vary between batches"
    )


def _specification(
    name: str, kind: Kind, original: Original, splits_dtype: Any, *, raw: bool
) -> FeatureSpec:
    """Return the specification of such values, as schema_of has it."""
    shape = original.shape
    # The number of leading dimensions that vary.
    rank = next((i for i, dim in enumerate(shape) if dim is not None), len(shape))
    if original.missing:
        return RaggedFeature(kind.dtype)
    if rank == 0:
        return FixedLenFeature(() if raw else shape, kind.dtype)
    if raw and rank == 1:
        # Empty rows written before the dtype was known are records without the feature.
        return FixedLenFeature([], bytes, b"")
    partitions = [
        RaggedFeature.RowLengths(f"{name}/row_lengths_{level}") for level in range(1, rank - raw)
    ]
    dtype = np.int64 if splits_dtype is None else splits_dtype
    return RaggedFeature(kind.dtype, partitions=partitions, row_splits_dtype=dtype, validate=True)
