"""Type: what the values of a feature are, and which list of an Example holds them; how types become wider.

The schemas of several files are merged in the same way, except that a feature which a file lacks is missing there, or
an empty row where lengths vary.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfrecord_lite.schema.features import FixedLenFeature, RaggedFeature, RawFeature, SparseFeature
from tfrecord_lite.schema.kinds import EXTRA_FLOATS, Kind, is_float, nearest_of_numpy, numpy_dtype
from tfrecord_lite.schema.schema import Original, SchemaItem

Shape: TypeAlias = tuple[int | None, ...]
"""The shape of one record's value, with None for a dimension that varies."""

_members = attrgetter(*(field.name for field in fields(Original)))
"""The values of what Original and Type have in common, in their order."""
MISSING_ROW = "a value is missing where lengths vary; give an empty list instead"


class IncompatibleError(Exception):
    """No type holds the values of both, for the reason in the text; users never see this error."""


class Type(NamedTuple):
    """What the values of a feature are: :class:`.Original` with the list that holds them.

    Internal, and not checked: an Original is what users give and get.
    """

    kind: Kind | None
    """The list that holds the values; None if there were no values."""
    dtype: str = ""
    """A name as in Original: ``"float16"``, ``"datetime64[s]"``, ``"string"``."""
    shape: Shape | None = None
    """The shape of one record's value, None for dimensions that vary, which are the first ones;
    None if it is not known."""
    text: str | None = None
    missing: bool = False
    zone: str | None = None
    categories: tuple[Any, ...] | None = None
    ordered: bool = False
    compression: str | None = None

    @classmethod
    def of(cls, item: SchemaItem) -> Type:
        """Return the type of a schema's feature."""
        if item.original is None:
            return WIRE[item.kind]
        return cls(item.kind, *_members(item.original))

    @property
    def original(self) -> Original:
        """The type without its list, as users know it."""
        return Original(*self[1:])

    @property
    def is_raw(self) -> bool:
        """Whether values are stored as their bytes: numbers in a list of strings."""
        return self.kind is Kind.BYTES and self.dtype != "string"

    @property
    def rank(self) -> int:
        """How many dimensions of a record vary."""
        return (self.shape or ()).count(None)

    @property
    def size(self) -> int:
        """How many values the dimensions that do not vary hold together."""
        return math.prod(n for n in self.shape or () if n is not None)

    def item(self, name: str, splits_dtype: Any = np.int64) -> SchemaItem:
        """Return the feature of a schema that has this type."""
        return SchemaItem(self.specification(name, splits_dtype), self.original)

    def specification(
        self, name: str, splits_dtype: Any = np.int64
    ) -> FixedLenFeature | RaggedFeature | RawFeature:
        """Return the specification that reads the values, in canonical form; without a kind, of byte strings."""
        kind, rank, is_raw = self.kind or Kind.BYTES, self.rank, self.is_raw
        if self.missing:
            return RaggedFeature(kind.dtype)
        if is_raw and not rank:
            return RawFeature(self.shape, numpy_dtype(self.dtype))
        if is_raw and rank == 1:  # a row is one string; one without values may be left out
            return FixedLenFeature((), kind.dtype, b"")
        if not rank:
            return FixedLenFeature(self.shape, kind.dtype)
        keys = [f"{name}/row_lengths_{level}" for level in range(1, rank - is_raw)]
        partitions = tuple(map(RaggedFeature.RowLengths, keys))
        return RaggedFeature(kind.dtype, None, partitions, splits_dtype, validate=True)

    def widened(self, other: Type, *, missing_as_empty: bool = False) -> Type:
        """Return the type of what was stored by this one, and then by another; or raise IncompatibleError.

        How values are stored depends on their dtype and on how many dimensions vary, but not on the size
        of the first dimension, nor on whether values are missing. So a type may become wider after
        records have been written by it, and they remain readable:

        =======================================  ==============================================
        before and now                           wider
        =======================================  ==============================================
        (3,) and (5,)                            any length
        always there, and sometimes missing      a masked array
        int32 and uint8; float16 and float32     the dtype that holds both, if stored alike
        ``U3`` and ``U5``                        ``U5``
        ``U3`` and str; ``S3`` and bytes         str; bytes
        no values, so no kind                    the other's kind
        =======================================  ==============================================

        A missing value, where lengths vary, is an error, or an empty row.
        """
        if self == other:
            return self
        missing = self.missing or other.missing
        if self.kind is None or other.kind is None:
            typed, empty = (self, other) if other.kind is None else (other, self)
            both = typed._replace(shape=_shape_with_empty(typed, empty), missing=missing)
        else:
            if (self.kind, self.is_raw) != (other.kind, other.is_raw):
                detail = f"{other} here, but {self} before"
                if self.dtype.startswith(("int", "uint")) and is_float(other.dtype):
                    detail += "; give a schema, or a float in the first record"
                raise IncompatibleError(detail)
            dtype, shape, text = _dtype(self, other), _shape(self, other), _text(self, other)
            both = Type(self.kind, dtype, shape, text, missing, **_traits(self, other))
        if not both.missing or not (both.rank or 0 in (both.shape or ())):
            return both
        if not missing_as_empty:
            raise IncompatibleError(MISSING_ROW)
        return both._replace(missing=False)

    def __str__(self) -> str:
        """Return dtype and shape, for error texts."""
        word = "missing" if self.missing else self.text or self.dtype
        return f"{word} [{', '.join('?' if n is None else str(n) for n in self.shape or ())}]"


WIRE: dict[Kind | None, Type] = {kind: Type(kind, kind.label, (None,)) for kind in Kind}
WIRE[None] = Type(None)
"""The types of stored lists."""


def _shape_with_empty(typed: Type, empty: Type) -> Shape | None:
    """Return the shape of values, and of records without any: missing ones, or empty lists."""
    own, other = typed.shape, empty.shape
    if own is None:
        raise IncompatibleError(_NOT_MISSING)
    if not other:
        if typed.kind is None and own and empty.missing:
            raise IncompatibleError(_MISSING_AND_EMPTY)
        return own
    if not own:
        both = typed.kind is None and typed.missing
        raise IncompatibleError(_MISSING_AND_EMPTY if both else _NOT_EMPTY)
    return _shape(typed, empty) if len(other) > len(own) else (None, *own[1:])


_NOT_MISSING = "a value is missing, which this column cannot store"
_NOT_EMPTY = "an empty list in a column of single values"
_MISSING_AND_EMPTY = "None cannot be distinguished from an empty list here; give one of them"


def _traits(before: Type, after: Type) -> dict[str, Any]:
    if before.zone != after.zone:
        zones = [own.zone or "no time zone" for own in (after, before)]
        raise IncompatibleError(f"times with {zones[0]} here, but with {zones[1]} before")
    if before.categories is None or after.categories is None:  # any values go with plain ones
        return {"zone": before.zone}
    both = tuple(dict.fromkeys((*before.categories, *after.categories)))
    is_ordered = before.ordered or after.ordered
    if is_ordered and (before.ordered, before.categories) != (after.ordered, after.categories):
        raise IncompatibleError("other categories here than before, or in another order")
    return {"zone": before.zone, "categories": both, "ordered": is_ordered}


def _dtype(before: Type, after: Type) -> str:
    names = {before.dtype, after.dtype}
    if len(names) == 1:
        return before.dtype
    families = {_family(name) for name in names}
    incompatible = IncompatibleError(f"{after.dtype} here, but {before.dtype} before")
    if before.is_raw or len(families) > 1 or families == {None}:
        raise incompatible
    if names & EXTRA_FLOATS:
        return "float32"
    both = np.result_type(*map(np.dtype, map(nearest_of_numpy, names))).name
    if _family(both) not in families:
        raise incompatible
    return both


def _family(name: str) -> str | None:
    """Return the family of dtypes within which one may be widened."""
    if name in ("float16", "float32") or name in EXTRA_FLOATS:
        return "float"
    return "int" if name.startswith(("int", "uint")) else None


def _text(before: Type, after: Type) -> str | None:
    old, new = before.text, after.text
    if old == new:
        return old
    if old and new and old[0] == new[0]:  # S, or U
        return max(old, new, key=lambda text: int(text[1:]))
    are_bytes = {text is None or text[0] == "S" for text in (old, new)}
    if len(are_bytes) == 1:  # of several types, objects of Python's
        return None if True in are_bytes else "str"
    raise IncompatibleError(f"strings of {new or 'bytes'} here, but of {old or 'bytes'} before")


def _shape(before: Type, after: Type) -> Shape:
    old, new = before.shape, after.shape
    if old == new and old is not None:
        return old
    if old and new and old[1:] == new[1:]:
        return (None, *old[1:])
    detail = f"the shape {list(new or ())} here, but {list(old or ())} before; "
    raise IncompatibleError(f"{detail}only the first dimension may vary between batches")


# ------------------------------------------------ one feature for what was stored by either of two


def widened(
    name: str, old: SchemaItem, new: SchemaItem, *, missing_as_empty: bool = False
) -> SchemaItem:
    """Return the item that reads what was stored by either of two, or raise IncompatibleError.

    A missing value, where lengths vary, is an error, or an empty row.
    """
    if old == new:
        return old
    both = (new, old)
    if any(i.original is None or isinstance(i.spec, SparseFeature) for i in both):
        words = [Type.of(i) if i.original else type(i.spec).__name__ for i in both]
        raise IncompatibleError(f"{words[0]} here, but {words[1]} before")
    return Type.of(old).widened(Type.of(new), missing_as_empty=missing_as_empty).item(name)


def as_missing(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that a record may lack."""
    original = item.original
    if original is None or original.shape is None or isinstance(item.spec, SparseFeature):
        raise IncompatibleError(_NOT_MISSING)
    return widened(name, item, item._replace(original=replace(original, missing=True)))


def as_absent(name: str, item: SchemaItem) -> SchemaItem:
    """Return the item for a feature that whole files lack: missing values, or empty rows."""
    if isinstance(item.spec, SparseFeature):
        return item
    varies = item.original is not None and None in (item.original.shape or ())
    return as_ragged(name, item) if varies else as_missing(name, item)


def as_ragged(name: str, item: SchemaItem, *, missing_as_empty: bool = False) -> SchemaItem:
    """Return the item for a feature that may be an empty list in some records."""
    original = item.original
    if original is None or not original.shape:
        raise IncompatibleError(_NOT_EMPTY)
    empty = item._replace(original=replace(original, shape=(None, *original.shape[1:])))
    if item != empty:
        return widened(name, item, empty, missing_as_empty=missing_as_empty)
    return Type.of(empty).item(name, getattr(item.spec, "row_splits_dtype", np.int64))
