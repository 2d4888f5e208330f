"""The features of many messages: kinds, lengths and ranges, counted batch by batch.

An *observer* gets the values of each block too, once all of the block is known to be sound.

A record with feature lists is a SequenceExample, and then all records are: one without lists has the
bytes of an Example, whose features are its context.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfrecord_lite import schema
from tfrecord_lite.arrays import BoolArray, ByteItems, ByteRanges, Int64Array, row_splits
from tfrecord_lite.block import Block, Place
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.types import record_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.content import ContentType, error_about, type_error
from tfrecord_lite.example.decode.batch import DiscoveredKeys
from tfrecord_lite.example.decode.entries import kinds_in
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.proto import FEATURE_LISTS, FEATURES_TAG
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch, read_sequences
from tfrecord_lite.wire.fields import only_field, tokenise
from tfrecord_lite.wire.scalar import LEN, WireError


class Observer(Protocol):
    """Gets what a survey reads, block by block; byte strings are in the block's memory."""

    def add_lists(self, key: bytes, lists: Lists, *, is_step: bool) -> object:
        """Take the lists of one kind of a feature, from the records, or the steps of a feature list, that have it."""

    def add_steps(self, key: bytes, n_steps: Int64Array) -> object:
        """Take the numbers of steps of one feature list, in the records that have it."""


class Survey:
    """Survey Examples or SequenceExamples, block after block; not thread-safe.

    A block that raises an error leaves no trace.

    >>> example = Example()
    >>> example.features.feature["age"].int64_list.value.append(7)
    >>> survey = Survey()
    >>> survey.add(Block.from_records([example.SerializeToString()]))
    >>> print(survey.summary())
    1 record, 1 feature
    name  kind   records  length  values
    ----  -----  -------  ------  ------
    age   int64  all      1       7
    """

    def __init__(self, observer: Observer | None = None) -> None:
        self._observer = observer
        self._check_type = check_of_either()
        self._is_sequence = False  # until a record has feature lists
        self._reader = _Reader()
        self._n_records = 0
        self._features: dict[bytes, dict[schema.Kind, schema.ListSummary]] = {}
        self._feature_lists: dict[bytes, schema.FeatureListSummary] = {}

    def add(self, block: Block) -> None:
        """Survey the records of a block; MALFORMED about the first that is neither an Example nor a SequenceExample."""
        self._check_type(block)
        has_lists = _has_feature_lists(block)
        is_sequence = self._is_sequence or bool(has_lists.any())
        try:
            parts = self._reader.read(block, is_sequence=is_sequence)
        except WireError:
            message_type = "SequenceExample" if is_sequence else "Example"
            again = partial(_Reader().read, is_sequence=is_sequence)
            parse_or_first_error(block, None, again, message_type)
            raise
        self._is_sequence = is_sequence
        self._n_records += len(block)
        for key, n_steps, lists, summary in parts:
            if isinstance(summary, schema.FeatureListSummary):
                before = self._feature_lists.get(key)
                self._feature_lists[key] = summary if before is None else before + summary
            else:
                kinds = self._features.setdefault(key, {})
                for kind, one in summary.items():
                    kinds[kind] = kinds[kind] + one if kind in kinds else one
            if self._observer is not None:
                if n_steps is not None:
                    self._observer.add_steps(key, n_steps)
                for one_kind in lists:
                    self._observer.add_lists(key, one_kind, is_step=n_steps is not None)

    def summary(self) -> schema.Summary | schema.SequenceSummary:
        """Return the summary so far, features sorted by name."""
        own = self._features.items()
        features = {key.decode(): schema.FeatureSummary(value) for key, value in own}
        summary = schema.Summary(self._n_records, dict(sorted(features.items())))
        if not self._is_sequence:
            return summary
        lists = {key.decode(): value for key, value in self._feature_lists.items()}
        return schema.SequenceSummary(summary, dict(sorted(lists.items())))


class _FeatureParts(NamedTuple):
    """One feature, or one feature list, of a block."""

    key: bytes
    n_steps: Int64Array | None
    """For each record with the feature list; None for a feature."""
    lists: list[Lists]
    """One per kind, of the records or steps that have it; none if there is no kind in any record."""
    summary: schema.FeatureListSummary | dict[schema.Kind, schema.ListSummary]


class _Reader:
    """Reads all features of blocks, and their feature lists; remembers the keys of both."""

    def __init__(self) -> None:
        self._features, self._lists = DiscoveredKeys(), DiscoveredKeys()

    def read(self, block: Block, *, is_sequence: bool) -> list[_FeatureParts]:
        """Read a block; raises WireError about one of the malformed records."""
        contexts, step_lists = block, []
        if is_sequence:
            batch = read_sequences(self._lists, block)
            if batch is None:  # too many keys for one table
                return self._read_halves(block, is_sequence=True)
            contexts = batch.contexts(block)
            keys = enumerate(self._lists.table.keys)
            parts = [_feature_list(batch, number, key, block) for number, key in keys]
            step_lists = [part for part in parts if part is not None]
        features = self._features.read_examples(contexts)
        if features is None:
            return self._read_halves(contexts, is_sequence=False) + step_lists
        for number, key in enumerate(self._features.table.keys):
            kinds = kinds_in(features.kinds(number), len(block))
            # A feature may be present without a kind, or hidden by a later entry with the key.
            if not kinds and not features.present(number).any():
                continue
            lists, summary = [], {}
            for kind, having in kinds:
                values = _having(features.lists(number, kind), having)
                lists.append(values)
                summary[kind] = _summary_of(values, block.place(_first(having)))
            step_lists.append(_FeatureParts(key, None, lists, summary))
        return step_lists

    def _read_halves(self, block: Block, *, is_sequence: bool) -> list[_FeatureParts]:
        halves = block[: len(block) // 2], block[len(block) // 2 :]
        return [one for half in halves for one in self.read(half, is_sequence=is_sequence)]


def _feature_list(
    batch: SequenceMessageBatch, number: int, key: bytes, block: Block
) -> _FeatureParts | None:
    """Read one feature list of a batch; None if no record has it."""
    kinds = batch.kinds(number)
    lists = {kind: batch.lists(number, kind) for kind in batch.kinds_present(number)}
    one = next(iter(lists.values()))
    present = one.present
    if present is not None and not present.any():
        return None
    splits = row_splits(one.lengths)
    n_steps = int(splits[-1])
    steps: list[Lists] = []
    summaries: dict[schema.Kind, schema.ListSummary] = {}
    for kind, having in kinds_in(kinds, n_steps):
        values = _having(lists[kind].below(), having)
        steps.append(values)
        summaries[kind] = _summary_of(values, block.place(record_of(splits, _first(having))))
    step_counts = one.lengths if present is None else one.lengths[present]
    spread = int(step_counts.min()), int(step_counts.max())
    all_steps = schema.FeatureSummary(summaries)
    summary = schema.FeatureListSummary(step_counts.size, n_steps, spread, all_steps)
    return _FeatureParts(key, step_counts, steps, summary)


def _first(having: Int64Array | None) -> int:
    """Return the first of the records, or steps, that have a kind; None for all."""
    return 0 if having is None else int(having[0])


def _having(lists: Lists, having: Int64Array | None) -> Lists:
    """Return the lists of the records, or steps, that have a kind; the others have no values."""
    if having is None:
        return lists
    level = lists.levels[0]
    own = level if isinstance(level, int) else level[having]
    return Lists(having.size, lists.type, (own,), lists.flat)


def _summary_of(lists: Lists, place: Place) -> schema.ListSummary:
    """Summarize lists of one kind; the first is in the record at a place."""
    level = lists.levels[0]
    spread = (level, level) if isinstance(level, int) else (int(level.min()), int(level.max()))
    return schema.ListSummary(lists.n, spread, _extremes(lists.flat), place)


def _extremes(flat: Any) -> tuple[int, int] | tuple[float, float] | None:
    """Return the smallest and the largest value; for byte strings, of their lengths."""
    if isinstance(flat, ByteRanges | ByteItems):
        flat = flat.lengths
    if not flat.size:
        return None
    low, high = flat.min(), flat.max()
    if low != low:  # noqa: PLR0124 - NaN alone differs from itself
        return _extremes(flat[~np.isnan(flat)])
    return low.item(), high.item()


class TypeCheck:
    """Rejects records of another type, by the first of each file that is not empty.

    If no SequenceExamples are wanted, a later record with feature lists is rejected too.
    """

    def __init__(self, *expected: ContentType) -> None:
        self._expected = expected
        self._checked: set[str | None] = set()  # the last file

    def __call__(self, block: Block) -> None:
        """Raise InvalidArgumentError about the first record of another type."""
        filled = np.flatnonzero(block.lengths)
        if not filled.size:
            return
        number = int(filled[0])
        source = block.place(number).source
        if source not in self._checked:
            if (error := type_error(block, number, *self._expected)) is not None:
                raise error
            self._checked = {source}
        if ContentType.SEQUENCE_EXAMPLE not in self._expected:
            has_lists = _has_feature_lists(block)
            if has_lists.any():
                place = block.place(int(has_lists.argmax()))
                raise error_about(place, ContentType.SEQUENCE_EXAMPLE)


def check_of_either() -> TypeCheck:
    """Return a check for Examples or SequenceExamples."""
    return TypeCheck(ContentType.EXAMPLE, ContentType.SEQUENCE_EXAMPLE)


def check_either(block: Block) -> None:
    """Raise InvalidArgumentError about the first record that is neither an Example nor a SequenceExample."""
    Survey().add(block)


def reject_sequences(block: Block, *, is_first: bool = True) -> None:
    """Raise InvalidArgumentError about the first record that has feature lists.

    The reason is ``UNSUPPORTED`` if all records have some and `is_first` says that no Examples
    came before; else ``MALFORMED``, as Examples and SequenceExamples are mixed.
    """
    has_lists = _has_feature_lists(block)
    if not has_lists.any():
        return
    place = block.place(int(has_lists.argmax()))
    if is_first and has_lists.all():
        detail = "the records have feature lists, so they are SequenceExamples, not Examples; a "
        detail += "Schema reads Examples, a SequenceSchema SequenceExamples"
        raise place.locate(InvalidArgumentError(Reason.UNSUPPORTED, detail=detail))
    detail = "this record has feature lists, as a SequenceExample has, but others have none; keep Examples "
    detail += "and SequenceExamples in separate files, or give a SequenceSchema if the others have empty lists"
    raise place.locate(InvalidArgumentError(Reason.MALFORMED, detail=detail))


def _has_feature_lists(block: Block) -> BoolArray:
    """Return which records have feature lists; none if some are malformed.

    A record that is one field 1 from end to end is recognised by its first bytes. (An
    ExampleListWithContext has a field 2 as well.)
    """
    has_lists = np.zeros(len(block), np.bool_)
    starts, stops = block.offsets, block.offsets + block.lengths
    _, is_plain = only_field(block.data, starts, stops, FEATURES_TAG[0])
    odd = np.flatnonzero(~is_plain & (block.lengths > 0))
    if odd.size:
        try:
            fields = tokenise(block.data, starts[odd], stops[odd])
        except WireError:
            return has_lists
        is_list = (fields.number == FEATURE_LISTS) & (fields.wire_type == LEN)
        has_lists[odd[fields.owner[is_list]]] = True
    return has_lists
