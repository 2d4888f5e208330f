"""For each of many Features: which list counts, and its values.

::

    Feature    1 bytes_list, 2 float_list, 3 int64_list ─> 1 value, repeated

    found      Fields: all lists of all Features; the owner says of which
    kind       the kind of the last list of each owner
    counting   the lists of that kind with no other kind after them; their values are joined

That is what the protobuf runtime makes of a oneof whose members are messages. An *owner* is one
feature of one Example, or one step of a feature list.

The values come as ``ListValues`` (some lists), ``FeatureValues`` (a feature of N messages) or
``FeatureListValues`` (a feature list of N messages).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    BoolArray,
    ByteRanges,
    Float32Array,
    Int64Array,
    Uint8Array,
    ranges,
    row_splits,
)
from tfrecord_lite.example.proto import LIST_VALUE
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.fields import Fields, renumbered
from tfrecord_lite.wire.repeated import (
    repeated_fixed32,
    repeated_len,
    repeated_varint,
)
from tfrecord_lite.wire.scalar import LEN, WireError

if TYPE_CHECKING:
    from collections.abc import Callable


Flat: TypeAlias = "Float32Array | Int64Array | ByteRanges"


NO_VALUES: dict[Kind, Flat] = {
    Kind.BYTES: ByteRanges(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)),
    Kind.FLOAT: np.empty(0, np.float32),
    Kind.INT64: np.empty(0, np.int64),
}


@dataclass(frozen=True, slots=True, eq=False)
class ListValues:
    """The values of many lists, end to end."""

    counts: Int64Array | int
    """Values of each list; one number if all have as many."""
    flat: Flat
    """All of them; byte strings are ByteRanges of the buffer, or an object array."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureValues:
    """One feature of N messages.

    Nearly always its kind and its count are the same in all; then each is one number.
    """

    n_messages: int
    kinds: Uint8Array | int
    """The :class:`~tfrecord_lite.schema.Kind` in each message, 0 for none; shape (n,)."""
    values: ListValues
    """Of each message; no values where the kind is not the one asked for."""

    @property
    def kind(self) -> Uint8Array:
        """The kind in each message, 0 for none; shape (n,)."""
        if isinstance(self.kinds, int):
            return np.full(self.n_messages, self.kinds, np.uint8)
        return self.kinds

    @property
    def counts(self) -> Int64Array:
        """Values in each message; shape (n,)."""
        if isinstance(self.values.counts, int):
            return np.full(self.n_messages, self.values.counts)
        return self.values.counts

    @property
    def flat(self) -> Flat:
        """All values, end to end, as in :class:`ListValues`."""
        return self.values.flat


@dataclass(frozen=True, slots=True, eq=False)
class FeatureListValues:
    """One feature list of N messages."""

    is_present: BoolArray
    """Whether each message has the list; shape (n_messages,)."""
    n_steps: Int64Array
    """Steps in each message, 0 where it lacks the list; shape (n_messages,)."""
    steps: FeatureValues
    """The Features of all steps, by message; each step is a "message" in it."""


class MergedFeatures:
    """The Features of many owners, each reduced to the list that counts.

    `found` has the fields of all Features, by owner; a block's spare bytes follow the last message
    in `data`. `message_of` returns the messages that some owners are in, for errors; `depth` is how
    many messages the lists are nested in.

    Raises WireError for a malformed list that does not count; those that count are read when their
    values are asked for.
    """

    def __init__(
        self,
        data: Uint8Array,
        found: Fields,
        n_owners: int,
        message_of: Callable[[Int64Array], Int64Array],
        depth: int,
    ) -> None:
        self._data = data
        self._message_of = message_of
        self._depth = depth
        is_list = (found.number <= Kind.INT64) & (found.wire_type == LEN)
        found = found.only(is_list)
        self.kind: Uint8Array = np.zeros(n_owners, np.uint8)
        """The :class:`Kind` of each owner, 0 for none; shape (n_owners,)."""
        self.kind[found.owner] = found.number  # of several assignments to one place, the last stays
        is_other = found.number != self.kind[found.owner]
        if is_other.any():  # a list counts if no other kind comes after it
            last_other = np.full(n_owners, -1, np.int64)
            last_other[found.owner[is_other]] = np.flatnonzero(is_other)
            counts = np.arange(found.owner.size) > last_other[found.owner]
            aside, found = found.only(~counts), found.only(counts)
            for kind in Kind:
                self._read_lists(aside.only(aside.number == kind), kind)
        self._lists = found
        self._values: dict[Kind, tuple[Int64Array, Flat]] = {}

    def _read_lists(self, lists: Fields, kind: Kind) -> tuple[Int64Array, Any]:
        """Read the values of lists of one kind: the count of each list, and all values."""
        try:
            with renumbered(lists.owner):
                read = LIST_READERS[kind]
                return read(self._data, lists.start, lists.stop, LIST_VALUE, self._depth)
        except WireError as error:
            message = self._message_of(np.array([error.message]))
            raise WireError(int(message[0]), error.offset, error.detail) from None

    def check(self) -> None:
        """Read all lists, only to raise WireError if one is malformed."""
        for kind in Kind:
            self._read(kind)

    def values(self, first: int, last: int, kind: Kind) -> ListValues:
        """Read the values of a range of owners; none where one is of another kind."""
        if kind not in self._values:
            self._values[kind] = self._read(kind)
        splits, flat = self._values[kind]
        splits = splits[first : last + 1]
        some = slice(int(splits[0]), int(splits[-1]))
        return ListValues(
            np.diff(splits), flat.take(some) if isinstance(flat, ByteRanges) else flat[some]
        )

    def _read(self, kind: Kind) -> tuple[Int64Array, Flat]:
        """Read the values of all lists of one kind: the row splits of the owners, and all values."""
        lists = self._lists.only(self._lists.number == kind)
        per_list, flat = self._read_lists(lists, kind)
        counts = np.zeros(self.kind.size, np.int64)
        if (lists.owner[1:] > lists.owner[:-1]).all():
            counts[lists.owner] = per_list
        else:  # several lists of one owner, to be joined
            np.add.at(counts, lists.owner, per_list)
        return row_splits(counts), flat.view("<f4") if kind is Kind.FLOAT else flat


def merge(kind: Kind, n_lists: int, parts: list[tuple[Int64Array, ListValues]]) -> ListValues:
    """Merge values that were read apart: pairs of the numbers of some lists, and their values."""
    counts = np.zeros(n_lists, np.int64)
    for chosen, values in parts:
        counts[chosen] = values.counts
    splits = row_splits(counts)
    places = [ranges(splits[chosen], counts[chosen]) for chosen, _ in parts]
    found = [values for _, values in parts]
    return ListValues(counts, _merge(kind, int(splits[-1]), places, found))


def _merge(kind: Kind, n_values: int, places: list[Int64Array], found: list[ListValues]) -> Flat:
    """Put the values of each part at its places among `n_values`."""
    flats = [values.flat for values in found]
    if not n_values:
        return NO_VALUES[kind]
    if kind is Kind.BYTES:
        extents = [flat for flat in flats if isinstance(flat, ByteRanges)]
        data = common_buffer(extents)
        starts = _scatter(np.dtype(np.int64), n_values, places, [e.starts for e in extents])
        lengths = _scatter(np.dtype(np.int64), n_values, places, [e.lengths for e in extents])
        return ByteRanges(data, starts, lengths)
    arrays = [flat for flat in flats if isinstance(flat, np.ndarray)]
    return _scatter(kind.dtype, n_values, places, arrays)


def common_buffer(parts: list[ByteRanges]) -> Uint8Array:
    """Return the buffer of all ranges; parts without any may have an empty one."""
    return max((part.data for part in parts), key=len)


def _scatter(
    dtype: np.dtype[Any], n_values: int, places: list[Int64Array], arrays: list[AnyArray]
) -> AnyArray:
    out = np.empty(n_values, dtype)
    for place, array in zip(places, arrays, strict=True):
        out[place] = array
    return out


LIST_READERS: dict[Kind, Callable[..., tuple[Int64Array, Any]]] = {
    Kind.BYTES: repeated_len,
    Kind.FLOAT: repeated_fixed32,
    Kind.INT64: repeated_varint,
}
