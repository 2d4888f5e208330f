"""Rows, one at a time, to batches of columns that are stored alike.

The first batch decides how each column is stored; the schema may become wider with later
ones, as far as what was written stays readable by it (:mod:`.widening`). A row that does
not fit is refused, with its number and the column's name.

The schemas of two batches to one that fits both, as long as both are stored alike.

How a column is stored depends on its dtype and on how many of its dimensions vary, but not
on the size of its first dimension, nor on whether a record may lack it. So a schema may
become wider after records have been written by it:

=======================================  ==============================================
(3,) and (5,)                            any length
always there, and missing somewhere      a masked array
int32 and uint8; float16 and float32     the dtype that holds both, if stored alike
``U3`` and ``U5``                        ``U5``
=======================================  ==============================================
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.convert.lossless import RAW, is_raw, original_dtype, schema_of, with_values
from tfrecord_lite.convert.normalize import normalize
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import (
    FixedLenFeature,
    Kind,
    Original,
    RaggedFeature,
    Schema,
    SparseFeature,
    kind_of,
)
from tfrecord_lite.storage.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfrecord_lite.schema import FeatureSpec
    from tfrecord_lite.storage.structure import Structure


_BATCH_ROWS = 1024
_BATCH_BYTES = 4 * 1024 * 1024
_LOOK_EVERY = 16
"""Rows are weighed one out of so many, as long as they are light."""
_LIGHT_BYTES = 16 * 1024


def row_batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of at most 1,024, and of a few megabytes unless one row is larger."""
    batch: list[Any] = []
    weight = step = 0
    for row in rows:
        batch.append(row)
        if step == 0:
            one = _weight(row)
            step = 1 if one > _LIGHT_BYTES else _LOOK_EVERY
            weight += one * step
        step -= 1
        if len(batch) == _BATCH_ROWS or weight >= _BATCH_BYTES:
            yield batch
            batch, weight, step = [], 0, 0
    if batch:
        yield batch


def _weight(item: Any) -> int:
    """Return about how many bytes a row holds."""
    if isinstance(item, Mapping):
        return sum(map(_weight, item.values()))
    if isinstance(item, tuple | list):
        return 8 * len(item) + sum(map(_weight, item[:1])) * len(item)
    size = getattr(item, "nbytes", None)
    if size is None and isinstance(item, bytes | str):
        size = len(item)
    return 8 if size is None else int(size)


class Batches:
    """Turns batches of rows into columns, and remembers the schema that fits all so far.

    Attributes
    ----------
    structure : Structure or None
        Of every row; None before the first.
    """

    def __init__(self) -> None:
        self.structure: Structure | None = None
        self._names: list[str] = []
        self._take: Callable[[Any], tuple[Any, ...]] | None = None
        self._features: dict[str, Feature] = {}
        self._lacking: set[str] = set()
        """Columns of which some row is None."""
        self._empty: set[str] = set()
        """Columns of which some row is an empty list."""
        self._n_rows = 0

    @property
    def schema(self) -> Schema:
        """What every row so far can be read with; columns in the order of the structure.

        A column that had no values yet is one of byte strings.
        """
        features = dict(self._features)
        for name in self._names:
            if name not in features:
                nothing: list[Any] = [None] if name in self._lacking else [[]]
                made = schema_of({name: nothing})
                features[name] = (made[name], made.originals[name])
        originals = {name: original for name, (_, original) in features.items() if original}
        return Schema({name: features[name][0] for name in self._names}, originals)

    def add(self, rows: list[Any]) -> tuple[dict[str, Any], Schema]:
        """Turn rows into columns.

        Returns
        -------
        columns : dict of str to column
            Those that have values; a column of nothing but None or empty lists is left out.
        schema : Schema
            What to write just these with.

        Raises
        ------
        InvalidArgumentError
            For the first row that does not fit those before it: `index` is its number, `key`
            the column.
        """
        columns = {}
        for name, values in self._columns(rows).items():
            made = self._made(name, values)
            if made is not None:
                columns[name] = made
        self._n_rows += len(rows)
        return columns, self.schema.select(columns)

    # ------------------------------------------------------------------ rows to columns

    def _columns(self, rows: list[Any]) -> dict[str, list[Any]]:
        """Return the values of each column."""
        if self.structure is None:
            self.structure, leaves = flatten(rows[0])
            self._names = list(leaves)
            is_flat = isinstance(rows[0], dict) and list(rows[0]) == self._names
            if is_flat and self._names:
                get = itemgetter(*self._names)
                self._take = get if len(self._names) > 1 else lambda row: (get(row),)
        if self._take is not None:
            values = self._taken(rows)
            if values is not None:
                return dict(zip(self._names, values, strict=True))
        columns: dict[str, list[Any]] = {name: [] for name in self._names}
        for i, row in enumerate(rows):
            structure, leaves = flatten(row)
            if structure != self.structure:
                self._refuse_structure(i, leaves)
            for name, value in leaves.items():
                columns[name].append(value)
        return columns

    def _taken(self, rows: list[Any]) -> list[list[Any]] | None:
        """Return the columns of flat dicts; None if some row is something else."""
        size = len(self._names)
        if not all(type(row) is dict and len(row) == size for row in rows):
            return None
        try:
            columns = list(map(list, zip(*map(self._take or tuple, rows), strict=True)))
        except KeyError:
            return None
        is_nested = any(issubclass(cls, Mapping) for col in columns for cls in set(map(type, col)))
        return None if is_nested else columns

    def _refuse_structure(self, i: int, leaves: Mapping[str, Any]) -> NoReturn:
        """Say in what a row differs from the first one."""
        for name in self._names:
            if name not in leaves:
                detail = "the row has no such value; give None where one is missing"
                raise self._error(Reason.MISSING, i, name, detail)
        for name in leaves:
            if name not in self._names:
                raise self._error(
                    Reason.BAD_ARGUMENT, i, name, "the rows before have no such value"
                )
        detail = "the row is nested in another way than those before it"
        raise self._error(Reason.BAD_ARGUMENT, i, None, detail)

    def _error(
        self, reason: Reason, i: int | None, key: str | None, detail: str | None
    ) -> InvalidArgumentError:
        index = None if i is None else self._n_rows + i
        return InvalidArgumentError(reason, None, None, index, key, detail)

    # --------------------------------------------------------------- one column at a time

    def _made(self, name: str, values: list[Any]) -> Any:
        """Return a column as arrays, None if it has no values; widen the schema to fit it."""
        try:
            made = self._fitted(name, normalize(name, values, "strict"))
            feature = self._widened(name, made)
        except (Conflict, InvalidArgumentError) as error:
            self._refuse(name, values, error)
        if feature is None:
            return None
        self._features[name] = feature
        return made

    def _fitted(self, name: str, made: Any) -> Any:
        """Return integers as floats where the column is one of floats, and holds them exactly."""
        original = self._features[name][1] if name in self._features else None
        flat = getattr(made, "flat_values", made)
        if original is None or getattr(flat, "dtype", np.dtype(object)).kind not in "iu":
            return made
        if original.dtype not in ("float16", "float32", *RAW):
            return made
        dtype = original_dtype(original.dtype)

        def change(numbers: Any) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):
                floats = numbers.astype(dtype)
                exact = floats.real.astype(numbers.dtype) == numbers
            # At the upper end of a type, the way back may wrap around to the same number.
            if not exact.all() or (numbers.size and abs(floats).max() >= 2.0**63):
                raise Conflict(f"an integer that no {original.dtype} holds")
            return floats

        return with_values(made, change)

    def _widened(self, name: str, made: Any) -> Feature | None:
        """Return what fits the column and all before it; None if nothing has had values yet."""
        known = self._features.get(name)
        is_masked = isinstance(made, np.ma.MaskedArray)
        is_lacking = is_masked and bool(np.ma.getmaskarray(made).all()) and made.dtype == object
        is_empty = isinstance(made, RaggedTensor) and _is_nothing(made)
        if not (is_lacking or is_empty):
            described = schema_of({name: made})
            new = (described[name], described.originals[name])
            known = new if known is None else widened(name, known, new)
        self._lacking |= {name} if is_masked and np.ma.getmaskarray(made).any() else set()
        self._empty |= {name} if is_empty else set()
        if name in self._lacking and name in self._empty:
            raise Conflict("None and an empty list, which cannot be told apart; give one of them")
        if known is not None and name in self._lacking:
            known = as_missing(name, known)
        if known is not None and name in self._empty:
            known = as_ragged(name, known)
        if is_lacking or is_empty:
            if known is not None:
                self._features[name] = known
            return None
        return known

    def _refuse(self, name: str, values: list[Any], error: Exception) -> NoReturn:
        """Find the first row that does not fit, and say why."""
        i, cause = _first_misfit(self, name, values)
        cause = cause or error
        if isinstance(cause, InvalidArgumentError):
            raise self._error(cause.reason, i, name, cause.detail) from None
        raise self._error(Reason.WRONG_KIND, i, name, str(cause)) from None


def _is_nothing(made: RaggedTensor) -> bool:
    """Whether rows of lists hold no value, so that nothing says what they are lists of."""
    flat = made.flat_values
    return len(flat) == 0 and flat.dtype == object


def _first_misfit(
    batches: Batches, name: str, values: list[Any]
) -> tuple[int | None, Exception | None]:
    """Return the first row with which those before it do not go together, and the error."""
    low, high = 0, len(values)  # values[:low] fit, values[:high] do not
    cause: Exception | None = None
    while high - low > 1:
        middle = (low + high) // 2
        trial = Batches()
        trial._features = dict(batches._features)  # noqa: SLF001 - one of us
        trial._lacking, trial._empty = set(batches._lacking), set(batches._empty)  # noqa: SLF001
        try:
            part = values[:middle]
            trial._widened(name, trial._fitted(name, normalize(name, part, "strict")))  # noqa: SLF001
        except (Conflict, InvalidArgumentError) as error:
            high, cause = middle, error
        else:
            low = middle
    return high - 1, cause


Feature = tuple["FeatureSpec", "Original | None"]


class Conflict(Exception):  # noqa: N818 - not an error a user sees, but the makings of one
    """Two batches that one schema cannot fit; its text says why."""


def widened(name: str, old: Feature, new: Feature) -> Feature:
    """Return a feature's specification and original that fit what two others fit.

    Raises
    ------
    Conflict
        If what is stored by the one cannot be read by any that the other is read by.
    """
    if old == new:
        return old
    (spec, before), (other, after) = old, new
    if before is None or after is None or SparseFeature in (type(spec), type(other)):
        raise Conflict(f"{_text(after, other)}, where others are {_text(before, spec)}")
    kind = kind_of(spec.dtype)  # type: ignore[attr-defined]
    raw = is_raw(before, kind)
    stored = (kind_of(other.dtype), is_raw(after, kind_of(other.dtype)))  # type: ignore[attr-defined]
    if stored != (kind, raw):
        raise Conflict(f"{_text(after, other)}, where others are {_text(before, spec)}")
    dtype = _dtype(before, after, raw=raw)
    text = _strings(before, after)
    shape = _shape(before, after)
    missing = before.missing or after.missing
    if missing and None in shape:
        raise Conflict("missing here or before, and of varying length; give an empty list")
    splits = [getattr(s, "row_splits_dtype", None) for s in (spec, other)]
    longest = np.int64 if np.dtype(np.int64) in splits else None
    original = Original(dtype, shape, text, missing)
    return _specification(name, kind, original, longest, raw=raw), original


def as_missing(name: str, feature: Feature) -> Feature:
    """Return a feature that a record may lack."""
    spec, original = feature
    if original is None or original.shape is None or isinstance(spec, SparseFeature):
        raise Conflict("missing, where that cannot be stored")
    if None in original.shape:
        raise Conflict("missing, where others vary in length; give an empty list")
    lacking = Original(original.dtype, original.shape, original.text, missing=True)
    return widened(name, feature, (spec, lacking))


def as_ragged(name: str, feature: Feature) -> Feature:
    """Return a feature of which a record may be an empty list."""
    spec, original = feature
    if original is None or not original.shape:
        raise Conflict("an empty list, where others are single values")
    empty = Original(original.dtype, (None, *original.shape[1:]), original.text, original.missing)
    if original != empty:
        return widened(name, feature, (spec, empty))
    kind = kind_of(spec.dtype)  # type: ignore[attr-defined]
    splits_dtype = getattr(spec, "row_splits_dtype", None)
    raw = is_raw(empty, kind)
    return _specification(name, kind, empty, splits_dtype, raw=raw), empty


def _text(original: Original | None, spec: FeatureSpec) -> str:
    if original is None:
        return type(spec).__name__
    word = "missing" if original.missing else original.text or original.dtype
    shape = ", ".join("?" if dim is None else str(dim) for dim in original.shape or ())
    return f"{word} [{shape}]"


def _dtype(before: Original, after: Original, *, raw: bool) -> str:
    """Return the dtype that holds both."""
    names = {before.dtype, after.dtype}
    if len(names) == 1:
        return cast("str", before.dtype)
    families = {_family(name) for name in names}
    if raw or len(families) > 1 or families == {None}:
        raise Conflict(f"{after.dtype}, where others are {before.dtype}")
    if "bfloat16" in names:
        return "float32"
    both: Any = np.result_type(*map(original_dtype, names))
    if _family(both.name) not in families:
        raise Conflict(f"{after.dtype}, where others are {before.dtype}")
    return cast("str", both.name)


def _family(name: str) -> str | None:
    """Return what a dtype may be widened within."""
    if name in ("bfloat16", "float16", "float32"):
        return "float"
    return "int" if name.startswith(("int", "uint")) else None


def _strings(before: Original, after: Original) -> str | None:
    """Return which strings hold both."""
    old, new = before.text, after.text
    if old == new:
        return old
    if old and new and old[0] == new[0] in ("S", "U"):
        return max(old, new, key=lambda text: int(text[1:]))
    raise Conflict(f"strings of {new or 'bytes'}, where others are {old or 'bytes'}")


def _shape(before: Original, after: Original) -> tuple[int | None, ...]:
    """Return the shape that fits both; only the first dimension may vary."""
    old, new = before.shape, after.shape
    if old == new and old is not None:
        return cast("tuple[int | None, ...]", old)
    if old and new and len(old) == len(new) and old[1:] == new[1:]:
        return (None, *old[1:])
    raise Conflict(
        f"the shape {list(new or ())}, where others are {list(old or ())}; "
        "only the first dimension may vary between batches"
    )


def _specification(
    name: str, kind: Kind, original: Original, splits_dtype: Any, *, raw: bool
) -> FeatureSpec:
    """Return how such values are stored, as schema_of has it."""
    shape = original.shape
    rank = next((i for i, dim in enumerate(shape) if dim is not None), len(shape))
    if original.missing:
        return RaggedFeature(kind.dtype)
    if rank == 0:
        return FixedLenFeature(() if raw else shape, kind.dtype)
    if raw and rank == 1:
        # Rows of nothing, before it was known of what, have been written without the feature.
        return FixedLenFeature([], bytes, b"")
    partitions = [
        RaggedFeature.RowLengths(f"{name}/row_lengths_{level}") for level in range(1, rank - raw)
    ]
    dtype = np.int64 if splits_dtype is None else splits_dtype
    return RaggedFeature(kind.dtype, partitions=partitions, row_splits_dtype=dtype, validate=True)
