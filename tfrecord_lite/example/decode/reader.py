"""Prepared specifications and messages to results, for the parsers of both messages; and what they take as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from tfrecord_lite.arrays import AnyArray, first_true, keep_freed_pages
from tfrecord_lite.block import Block
from tfrecord_lite.columns import BytesColumn, Column
from tfrecord_lite.columns.bytes import owned_slice
from tfrecord_lite.convert.lists import Lists, SparseLists
from tfrecord_lite.convert.restore import outer_rank, values_of
from tfrecord_lite.errors import Reason, argument_error, require_int
from tfrecord_lite.example.decode import build
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.decode.first_error import MisfitError, misfits
from tfrecord_lite.schema import FeatureLike, Kind
from tfrecord_lite.schema.prepare import Padded, Prepared, Sparse, keys_to_read
from tfrecord_lite.schema.schema import known_items
from tfrecord_lite.schema.types import Type
from tfrecord_lite.wire.keys import KeyTable

Serialized: TypeAlias = "Block | Sequence[bytes | str] | AnyArray"
StringForm: TypeAlias = 'Literal["ndarray", "BytesColumn"]'


_MOST_OTHERS = 64
"""Keys that are not asked for, and are looked at in one go."""


class ColumnReader:
    """Keys to read as columns: the kind and number of each, and a table of them; prepared once."""

    result: Callable[..., Any]
    """Makes the result of a feature, by name, from the lists of one batch or several that were joined."""
    _column: Callable[..., Lists]
    """Reads the values of a key of a batch."""
    _read: Callable[..., Lists | SparseLists]
    """Checks and divides a feature of a batch, given what reads its columns."""

    def __init__(
        self,
        prepared: Mapping[str, Prepared],
        features: Mapping[str, FeatureLike],
        strings: StringForm,
    ) -> None:
        keep_freed_pages()
        if strings not in ("ndarray", "BytesColumn"):
            raise argument_error(f"strings is {strings!r}, expected 'ndarray' or 'BytesColumn'")
        self.prepared = prepared
        self.strings = strings
        self.kinds: dict[str, Kind] = keys_to_read(prepared)
        self.numbers: dict[str, int] = {key: number for number, key in enumerate(self.kinds)}
        self.table: KeyTable = KeyTable([key.encode() for key in self.kinds])
        types = {name: build.own_type(feature) for name, feature in prepared.items()}
        self._own: dict[str, Type] = types
        """What the values of a feature are by its specification."""
        self._originals: dict[str, Type] = {}
        """What they were before they were stored; for a feature list, the type of a step."""
        for name, item in known_items(features).items():
            if item.original is None:
                continue
            original = Type.of(item)
            if self._is_stored_so(original, types[name]):
                # Time zone and categories make no difference.
                types[name] = original._replace(shape=types[name].shape)
            else:
                self._originals[name] = original
        keys: set[str] = set()
        self._again: set[str] = set()
        """Features that share their values with another feature."""
        for name, feature in prepared.items():
            key = feature.value_key if isinstance(feature, Sparse) else feature.key
            self._again |= {name} if key in keys else set()
            keys |= {key for key, _ in feature.reads()}

    def results_of(
        self, whole: Mapping[str, Lists | SparseLists], splits: list[int]
    ) -> list[dict[str, Any]]:
        """Build the results of several batches, given the lists of all; no two share memory."""
        if len(splits) == 2:
            return [{name: self.result(name, lists) for name, lists in whole.items()}]
        columns = [self._cut(name, lists, splits) for name, lists in whole.items()]
        parts = zip(*columns, strict=True) if columns else [()] * (len(splits) - 1)
        return [dict(zip(whole, part, strict=True)) for part in parts]

    def lists(self, batch: Any, *, single: bool = False) -> dict[str, Lists | SparseLists]:
        """Read features as they were before they were stored; WireError or MisfitError about any message that is wrong."""
        columns: dict[str, Lists] = {}

        def column(key: str) -> Lists:
            if key not in columns:
                columns[key] = self._column(batch, key)
            return columns[key]

        results: dict[str, Lists | SparseLists] = {}
        for name in self.prepared:
            lists = self._read(batch, name, column, single=single)
            results[name] = lists.owned() if name in self._again else lists
        return results

    def _cut(self, name: str, lists: Lists | SparseLists, splits: list[int]) -> Iterable[Any]:
        """Return the results of several batches."""
        if isinstance(lists, Lists) and not outer_rank(lists.type.shape or ()):
            whole = self.result(name, lists)
            if isinstance(whole, np.ndarray | BytesColumn):  # cheaper to cut
                return [owned_slice(whole, start, stop) for start, stop in pairwise(splits)]
        if isinstance(lists, Lists):  # strings are made at once
            lists = lists.with_(flat=values_of(lists, with_objects=self.strings == "ndarray"))
        return [self.result(name, part) for part in lists.copies(splits)]

    def _is_stored_so(self, original: Type, own: Type) -> bool:
        """Return whether values are read as what they were: arrays of one shape are."""
        return own.is_raw


class FeatureReader(ColumnReader):
    """Reads features out of batches of Examples: of a Schema with their original dtypes and shapes.

    A feature without a kind is missing in an Example (rule X3), but not in the context of a SequenceExample (rule Q6).
    """

    def __init__(
        self,
        prepared: Mapping[str, Prepared],
        features: Mapping[str, FeatureLike],
        strings: StringForm,
        *,
        no_kind_is_missing: bool = True,
    ) -> None:
        super().__init__(prepared, features, strings)
        self._no_kind_is_missing = no_kind_is_missing
        self._learnt = self.table, LayoutMemory()  # one attribute, as several threads may set it
        self.rejects_others = False
        """Whether a feature that is not asked for, and has values, is an error."""

    def read(self, block: Block, splits: list[int], *, single: bool) -> list[dict[str, Column]]:
        """Parse the messages of several batches at once; raises the same errors as :meth:`lists`."""
        return self.results_of(self.lists(self._messages(block), single=single), splits)

    def lists_of(self, block: Block) -> dict[str, Lists | SparseLists]:
        """Read features as :meth:`lists`, with memory of their own."""
        return {name: apart(lists) for name, lists in self.lists(self._messages(block)).items()}

    def _messages(self, block: Block) -> MessageBatch:
        table, memory = self._learnt
        extents = block.data, block.offsets, block.offsets + block.lengths
        batch = MessageBatch(*extents, table, memory)
        while self.rejects_others and (others := self._others(batch, table)):
            table, memory = KeyTable([*table.keys, *others]), LayoutMemory()
            self._learnt = table, memory
            batch = MessageBatch(*extents, table, memory)
        return batch

    def _read(
        self, batch: MessageBatch, name: str, column: Callable[[str], Lists], *, single: bool
    ) -> Lists | SparseLists:
        feature, original = self.prepared[name], self._originals.get(name)
        lists = build.divided(feature, self._own[name], column, single=single)
        if original is None:
            return lists
        with misfits():
            return build.restored(feature, lists, original)

    def result(self, name: str, lists: Lists | SparseLists) -> Column:
        """Make the result of a feature."""
        feature, original = self.prepared[name], self._originals.get(name)
        column: Any = build.finished(feature, lists, with_objects=self.strings == "ndarray")
        shape = None if original is None else original.shape
        if not isinstance(feature, Padded) or shape is None or None in shape:
            return column  # type: ignore[no-any-return]
        try:
            return column.reshape(lists.n, *shape)  # type: ignore[no-any-return]
        except ValueError as error:
            detail = f"no array can have the shape of its original: {error}"
            raise argument_error(detail, key=name) from None

    def _is_stored_so(self, original: Type, own: Type) -> bool:
        is_alike = original.shape in (None, own.shape) and original.dtype == own.dtype
        return own.is_raw or (is_alike and original.text is None and not original.missing)

    def _others(self, batch: MessageBatch, table: KeyTable) -> list[bytes]:
        """Return keys of a batch that are not in its table; raises MisfitError about one that has values."""
        for number, key in enumerate(table.keys[len(self.kinds) :], len(self.kinds)):
            if (first := first_true(np.atleast_1d(batch.kinds(number)) != 0)) is not None:
                name, detail = key.decode(errors="replace"), "a feature that is not in the schema"
                raise MisfitError(first, Reason.WRONG_KIND, name, detail)
        return sorted(batch.unknown_keys(_MOST_OTHERS))

    def _column(self, batch: MessageBatch, key: str) -> Lists:
        kind, number = self.kinds[key], self.numbers[key]
        lists, kinds = batch.lists(number, kind), batch.kinds(number)
        if isinstance(kinds, int) and kinds == kind:
            return lists
        check_kinds(key, kind, kinds)
        is_filled = np.not_equal(kinds, 0)
        present = is_filled if self._no_kind_is_missing else batch.present(number)
        lists.present = np.broadcast_to(present, lists.n)
        return lists


def check_kinds(key: str, kind: Kind, kinds: Any) -> None:
    """Raise MisfitError about the first message with a feature of another kind (rules X6, V2)."""
    if isinstance(kinds, int) and kinds in (kind, 0):
        return
    all_kinds = np.atleast_1d(kinds)
    if (first := first_true((all_kinds != kind) & (all_kinds != 0))) is not None:
        detail = f"found {Kind(int(all_kinds[first])).label}, expected {kind.label}"
        raise MisfitError(first, Reason.WRONG_KIND, key, detail)


def apart(lists: Any) -> Any:
    """Return lists, or sparse lists, that do not lie in the read buffer."""
    flat = lists.flat if isinstance(lists, Lists) else lists.values.flat
    return lists if isinstance(flat, np.ndarray) else lists.owned()


def as_block(serialized: Serialized) -> Block:
    """Return messages in any form as a block; BAD_ARGUMENT for an array of another rank than 1 (rule E1)."""
    if isinstance(serialized, Block):
        return serialized
    is_one = isinstance(serialized, (bytes, str, bytearray, memoryview, Mapping))
    if is_one or not hasattr(serialized, "__iter__"):
        actual = type(serialized).__name__
        raise TypeError(f"expected a sequence of messages, got {actual}; put one into a list")
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
    name_array = np.asarray([] if names is None else names, object)
    if name_array.size == 0:
        return None
    if name_array.shape != shape:
        expected = f"one name for each of the {shape[0]} messages" if shape else "one name"
        shape_text = list(name_array.shape)
        detail = f"example_names has the shape {shape_text}, expected {expected}, or none"
        raise argument_error(detail)
    return list(name_array.ravel())


def is_one_message(serialized: object) -> bool:
    """Whether this is one message, not a vector of them."""
    return isinstance(serialized, (bytes, str, bytearray, memoryview)) or (
        isinstance(serialized, np.ndarray) and serialized.ndim == 0
    )


def as_one_message(serialized: object, instead: str) -> bytes:
    """Return the only message as bytes; the error for a vector says to use `instead`."""
    is_array = isinstance(serialized, np.ndarray) and serialized.ndim > 0
    if is_array or isinstance(serialized, (list, tuple, Block)):
        raise argument_error(f"expected one message, got several; use {instead}")
    return as_bytes(serialized)
