"""Type: what the values of a feature are, and which list of an Example holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tfrecord_lite.schema.kinds import Kind
from tfrecord_lite.schema.schema import Original, SchemaItem


@dataclass(frozen=True, slots=True)
class Type:
    """What the values of a feature are: :class:`.Original` with the list that holds them.

    Internal, and not checked: an Original is what users give and get.
    """

    kind: Kind | None
    """The list that holds the values; None where there were no values to tell it."""
    dtype: str = ""
    """A name as in Original: ``"float16"``, ``"datetime64[s]"``, ``"string"``."""
    shape: tuple[int | None, ...] | None = None
    """The shape of one record's value, None for dimensions that vary, which are the first ones;
    None if it is not known."""
    text: str | None = None
    missing: bool = False
    zone: str | None = None
    categories: tuple[Any, ...] | None = None
    ordered: bool = False

    @classmethod
    def of(cls, item: SchemaItem) -> Type:
        """Return the type of a schema's feature."""
        original, kind = item.original, item.kind
        if original is None:
            return WIRE[kind]
        return cls(
            kind,
            original.dtype,
            original.shape,
            original.text,
            original.missing,
            original.zone,
            original.categories,
            original.ordered,
        )

    @property
    def original(self) -> Original:
        """The type without its list, as users know it."""
        return Original(
            self.dtype,
            self.shape,
            self.text,
            self.missing,
            self.zone,
            self.categories,
            self.ordered,
        )

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


WIRE: dict[Kind | None, Type] = {
    None: Type(None),
    **{kind: Type(kind, kind.label, (None,)) for kind in Kind},
}
"""The types of stored lists."""
