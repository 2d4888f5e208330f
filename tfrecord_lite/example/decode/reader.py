"""Prepared specifications and messages to results, for the parsers of both messages.

::

    list of bytes ─┐
    Block ─────────┴─> MessageBatch ─> Lists ─> result
                                       one per key      one per feature
                           wire        kinds checked    build

Also what a caller may pass as messages: :func:`as_block`, :func:`as_bytes`, :func:`as_one_message`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tfrecord_lite.arrays import (
    AnyArray,
    ByteRanges,
    Int64Array,
    Uint8Array,
    keep_freed_pages,
)
from tfrecord_lite.block import Block
from tfrecord_lite.columns import Column
from tfrecord_lite.columns.bytes import FlatValues, as_array, owned_slice
from tfrecord_lite.convert.lists import Lists, row_of, with_values
from tfrecord_lite.errors import InvalidArgumentError, Reason, argument_error, require_int
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.decode.first_error import MisfitError
from tfrecord_lite.schema import FeatureLike, Kind, Schema
from tfrecord_lite.schema.prepare import (
    Dense,
    Padded,
    Prepared,
    Ragged,
    Sparse,
    VarLen,
    keys_to_read,
)
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    Serialized: TypeAlias = Block | Sequence[bytes | str] | AnyArray
    StringForm: TypeAlias = Literal["ndarray", "BytesColumn"]


_LARGE_BYTES = 4096
"""From this size on moving a byte string costs little more than its bytes."""
_MOST_OTHERS = 64
"""Keys that are not asked for, and are looked at in one go."""


class ColumnReader:
    """Keys to read as columns: the kind and number of each, and a table of them; prepared once."""

    def __init__(self, prepared: Mapping[str, Prepared], strings: StringForm) -> None:
        keep_freed_pages()
        if strings not in ("ndarray", "BytesColumn"):
            raise argument_error(f"strings is {strings!r}, expected 'ndarray' or 'BytesColumn'")
        self.prepared = prepared
        self.strings = strings
        self.kinds: dict[str, Kind] = keys_to_read(prepared)
        self.numbers: dict[str, int] = {key: number for number, key in enumerate(self.kinds)}
        self.table: KeyTable = KeyTable([key.encode() for key in self.kinds])
        self._raw = {f.key for f in prepared.values() if isinstance(f, Dense | Padded) and f.raw}

    def _form(self, key: str) -> StringForm:
        """Return the form to read byte strings in; those that are arrays are never objects."""
        return "BytesColumn" if key in self._raw else self.strings

    def results(
        self, batch: Any, splits: list[int], *, single: bool, but: str | None = None
    ) -> list[dict[str, Any]]:
        """Build the results of several batches, which were read as one, `but` that; `splits` are theirs.

        No two results share memory. Raises WireError or MisfitError about one of the messages that
        are wrong, maybe not the first.
        """
        is_cut = len(splits) != 2
        found: dict[str, list[Any]] = {}
        used: set[tuple[str, int]] = set()

        def column(key: str) -> Any:
            if key not in found:
                whole = self._column(batch, key)
                found[key] = whole.cut(splits) if is_cut else [whole]
            if (key, number) in used:
                n_messages = splits[number + 1] - splits[number]
                return found[key][number].cut([0, n_messages])[0]
            used.add((key, number))
            return found[key][number]

        results: list[dict[str, Any]] = [{} for _ in splits[1:]]
        for name, feature in self.prepared.items():
            if name == but:
                continue
            whole = self._at_once(batch, name, single=single)
            if whole is not None and not is_cut:
                results[0][name] = whole
                continue
            for number, (start, stop) in enumerate(pairwise(splits)):
                if whole is not None:
                    results[number][name] = owned_slice(whole, start, stop)
                    continue
                try:
                    results[number][name] = self._build(feature, column, single=single)
                except MisfitError as misfit:
                    raise misfit.moved(start) from None
        return results

    def _at_once(self, batch: Any, name: str, *, single: bool) -> Any:
        """Build the result of a feature of which nothing needs to be checked; None of another."""

    def _column(self, batch: Any, key: str) -> Any:
        """Read a column, which has the method ``cut``."""
        raise NotImplementedError

    def _build(self, feature: Prepared, column: Callable[[str], Any], *, single: bool) -> Any:
        """Build the result of a feature, given what reads its columns."""
        raise NotImplementedError


class FeatureReader(ColumnReader):
    """Reads features out of batches of Examples: of a Schema with their original dtypes and shapes.

    A feature without a kind counts as missing in an Example (rule X3), but not in the context
    of a SequenceExample (rule Q6).
    """

    def __init__(
        self,
        prepared: Mapping[str, Prepared],
        features: Mapping[str, FeatureLike],
        strings: StringForm,
        *,
        no_kind_is_missing: bool = True,
    ) -> None:
        originals = features.originals if isinstance(features, Schema) else {}
        # Raw values must be in one column: an object per string would only slow this down.
        super().__init__(prepared, "BytesColumn" if originals else strings)
        self._items = features.to_items() if originals else {}  # type: ignore[attr-defined]
        self._with_objects = strings == "ndarray"
        self._no_kind_is_missing = no_kind_is_missing
        self._learnt = self.table, LayoutMemory()  # one attribute, as several threads may set it
        reads = Counter(key for feature in prepared.values() for key, _ in feature.reads())
        self._dense: dict[str, tuple[Dense, int, int]] = {
            name: (feature, self.numbers[feature.key], feature.size)
            for name, feature in prepared.items()
            if isinstance(feature, Dense) and reads[feature.key] == 1
        }
        """Features of one size that nothing else reads, their numbers and sizes."""
        self.rejects_others = False
        """Whether a feature that is not asked for, and has values, is an error."""

    def read(
        self,
        data: Uint8Array,
        starts: Int64Array,
        stops: Int64Array,
        splits: list[int],
        *,
        single: bool,
        is_owned: bool = False,
    ) -> list[dict[str, Column]]:
        """Parse the messages of several batches at once; as :meth:`results`.

        If the buffer `is_owned`, byte strings that fill most of it, as images do, become a column there, in the
        last step: nothing else can be read from it afterwards.
        """
        batch = self._messages(data, starts, stops)
        large = self._large(batch, data.size) if is_owned and len(splits) == 2 else None
        if large is not None:
            name, (dense, _, _), values = large
            (others,) = self.results(batch, splits, single=single, but=name)
            column = build.strings_in_place(values)
            others[name] = build.shaped(column, dense, batch.n_messages, single=single)
            return [{key: others[key] for key in self.prepared}]
        if not self._items:
            return self.results(batch, splits, single=single)
        found = self.results(batch, splits, single=False)
        restored = [
            self._restored(columns, start) for columns, start in zip(found, splits, strict=False)
        ]
        if not single:
            return restored
        (row,) = self.results(batch, splits, single=True)
        for name, item in self._items.items():
            row[name] = (
                as_array(row[name]) if item.original is None else row_of(restored[0][name], 0)
            )
        return [row]

    def _restored(self, columns: dict[str, Column], start: int) -> dict[str, Column]:
        """Return columns with their original dtypes and shapes; the first record has the number `start`."""
        from tfrecord_lite.convert.lossless import restored  # noqa: PLC0415 - few need it

        try:
            found = restored(columns, self._items, with_objects=self._with_objects)
        except InvalidArgumentError as error:
            if error.index is None:
                raise
            detail = error.detail or ""
            raise MisfitError(start + error.index, error.reason, error.key, detail) from None
        except (ValueError, OverflowError) as error:
            # From NumPy, about shapes that no array can have.
            raise argument_error(f"no array can have the schema's originals: {error}") from None
        if not self._with_objects:
            return found
        return {name: with_values(column, as_array) for name, column in found.items()}

    def _large(self, batch: MessageBatch, n_bytes: int) -> tuple[str, Any, ByteRanges] | None:
        """Return a feature with a long byte string in each message, if it fills most of the buffer, and its values."""
        if self._items or n_bytes < _LARGE_BYTES * batch.n_messages:
            return None
        for name, found in self._dense.items():
            if self._form(found[0].key) != "BytesColumn":
                continue
            values = batch.even(found[1], found[0].kind)
            flat = None if values is None or values.levels[0] != found[2] else values.flat
            if isinstance(flat, ByteRanges) and 4 * int(flat.lengths.sum()) > 3 * n_bytes:
                return name, found, flat
        return None

    def _messages(self, data: Uint8Array, starts: Int64Array, stops: Int64Array) -> MessageBatch:
        table, memory = self._learnt
        batch = MessageBatch(data, starts, stops, table, memory)
        while self.rejects_others and (others := self._others(batch, table)):
            self._learnt = table, memory = KeyTable([*table.keys, *others]), LayoutMemory()
            batch = MessageBatch(data, starts, stops, table, memory)
        return batch

    def _at_once(self, batch: MessageBatch, name: str, *, single: bool) -> Any:
        if name not in self._dense:
            return None
        dense, number, size = self._dense[name]
        values = batch.even(number, dense.kind)
        if values is None or values.levels[0] != size:
            return None
        flat: Any = values.flat
        if dense.kind is Kind.BYTES:
            flat = owned_values(flat, dense.kind, self._form(dense.key))
        return build.shaped(flat, dense, batch.n_messages, single=single)

    def _others(self, batch: MessageBatch, table: KeyTable) -> list[bytes]:
        """Return keys of a batch that are not in its table.

        Raises MisfitError about a feature that is not asked for. One without values is not missed.
        """
        for number, key in enumerate(table.keys[len(self.kinds) :], len(self.kinds)):
            found = np.flatnonzero(batch.kinds(number))
            if found.size:
                name = key.decode(errors="replace")
                detail = "a feature that is not in the schema"
                raise MisfitError(int(found[0]), Reason.WRONG_KIND, name, detail)
        return sorted(batch.unknown_keys(_MOST_OTHERS))

    def _column(self, batch: MessageBatch, key: str) -> Lists:
        kind, number = self.kinds[key], self.numbers[key]
        lists, kinds = batch.lists(number, kind), batch.kinds(number)
        check_kinds(key, kind, kinds)
        lists.flat = owned_values(lists.flat, kind, self._form(key))
        if not (isinstance(kinds, int) and kinds):
            is_filled = np.not_equal(kinds, 0)
            present = is_filled if self._no_kind_is_missing else batch.present(number)
            lists.present = np.broadcast_to(present, lists.n)
        return lists

    def _build(self, feature: Prepared, column: Callable[[str], Lists], *, single: bool) -> Column:
        match feature:
            case Dense():
                return build.dense(feature.key, column(feature.key), feature, single=single)
            case Padded():
                return build.padded(feature.key, column(feature.key), feature, single=single)
            case VarLen():
                return build.var_len(column(feature.key), single=single)
            case Sparse():
                indices = {key: column(key) for key in feature.index_keys}
                return build.sparse(column(feature.value_key), indices, feature, single=single)
            case Ragged():
                keys = [key for key, _ in feature.reads()[1:]]
                partitions = {key: column(key) for key in keys}
                return build.ragged(column(feature.key), partitions, feature, single=single)


def check_kinds(key: str, kind: Kind, kinds: Any) -> None:
    """Raise MisfitError about the first message with a feature of another kind (rules X6, V2)."""
    if isinstance(kinds, int):
        if kinds in (kind, 0):
            return
        first, wrong = 0, kinds
    else:
        found = np.flatnonzero((kinds != kind) & (kinds != 0))
        if not found.size:
            return
        first = int(found[0])
        wrong = int(kinds[first])
    detail = f"found {Kind(wrong).label}, expected {kind.label}"
    raise MisfitError(first, Reason.WRONG_KIND, key, detail)


def owned_values(flat: Any, kind: Kind, strings: str) -> FlatValues:
    """Return values that do not refer to the buffer, byte strings in the form asked for."""
    if kind is Kind.BYTES:
        return build.strings(flat, as_column=strings == "BytesColumn")
    return flat  # type: ignore[no-any-return]


def as_block(serialized: Serialized) -> Block:
    """Return messages in any form as a block; a Block is returned as it is.

    Raises BAD_ARGUMENT for an array of another rank than 1 (rule E1), and TypeError for anything but
    a sequence of messages, such as one message.
    """
    if isinstance(serialized, Block):
        return serialized
    is_one = isinstance(serialized, (bytes, str, bytearray, memoryview, Mapping))
    if is_one or not hasattr(serialized, "__iter__"):
        found = type(serialized).__name__
        raise TypeError(f"expected a sequence of messages, got {found}; put one into a list")
    if isinstance(serialized, np.ndarray) and serialized.ndim != 1:
        detail = f"expected a vector of messages, got the shape {list(serialized.shape)}"
        raise argument_error(detail)
    return Block.from_records([as_bytes(item) for item in serialized])


def as_bytes(message: object) -> bytes:
    """Return one message as bytes; BAD_ARGUMENT for a list or an array of several."""
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        return message.encode()
    if isinstance(message, np.ndarray) and message.ndim == 0:
        return as_bytes(message.item())
    if isinstance(message, (bytearray, memoryview)):
        return bytes(message)
    if isinstance(message, (list, tuple, np.ndarray)):
        raise argument_error("expected a vector of messages, got a vector of vectors")
    raise TypeError(f"a serialised message must be bytes, not {type(message).__name__}")


def checked_splits(splits: Sequence[int], n_messages: int) -> list[int]:
    """Return where batches begin and end among messages; BAD_ARGUMENT if some are left out."""
    bounds = [require_int("a split", split) for split in splits]
    if bounds[:1] != [0] or bounds[-1] != n_messages or bounds != sorted(bounds):
        raise argument_error(f"splits must ascend from 0 to the number of messages, {n_messages}")
    return bounds


def checked_names(names: Any, shape: tuple[int, ...]) -> Sequence[str] | None:
    """Return names of the same shape as the messages (E3) as a flat list; None for no names."""
    given = np.asarray([] if names is None else names, object)
    if given.size == 0:
        return None
    if given.shape != shape:
        wanted = f"one name for each of the {shape[0]} messages" if shape else "one name"
        detail = f"example_names has the shape {list(given.shape)}, expected {wanted}, or none"
        raise argument_error(detail)
    return list(given.ravel())


def is_one_message(serialized: object) -> bool:
    """Whether this is one message, not a vector of them."""
    return isinstance(serialized, (bytes, str, bytearray, memoryview)) or (
        isinstance(serialized, np.ndarray) and serialized.ndim == 0
    )


def as_one_message(serialized: object, instead: str) -> bytes:
    """Return the only message as bytes; the error for a vector says to use `instead`."""
    is_vector = isinstance(serialized, (list, tuple, Block)) or (
        isinstance(serialized, np.ndarray) and serialized.ndim > 0
    )
    if is_vector:
        raise argument_error(f"expected one message, got several; use {instead}")
    return as_bytes(serialized)
