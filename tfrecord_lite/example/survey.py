"""The features of many Examples: kinds, lengths and ranges, counted batch by batch.

::

    Block ── DiscoveredKeys ──> MessageBatch ── lists of every key ──> Summary
                                                                      counts, lengths, extremes

It takes as long as parsing every feature into columns: values are read, but nothing is built from
them.

Only Examples can be surveyed. A record with feature lists is a SequenceExample, whose context
would pass for the features of an Example; :func:`reject_sequences` tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfrecord_lite.arrays import ByteRanges, Int64Array, Uint8Array, lanes
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode.batch import DiscoveredKeys, MessageBatch
from tfrecord_lite.example.decode.first_error import parse_or_first_error
from tfrecord_lite.example.proto import FEATURE_LISTS, FEATURES_TAG
from tfrecord_lite.schema import FeatureSummary, Kind, ListSummary, Summary
from tfrecord_lite.wire.fields import tokenise
from tfrecord_lite.wire.scalar import LEN, WireError
from tfrecord_lite.wire.varint import read_varints

if TYPE_CHECKING:
    from tfrecord_lite.block import Block


class ExampleSurvey:
    """Survey the features of block after block; not thread-safe, but summaries can be added.

    >>> from tfrecord_lite import Block, Example
    >>> example = Example()
    >>> example.features.feature["age"].int64_list.value.append(7)
    >>> survey = ExampleSurvey()
    >>> survey.add(Block.from_records([example.SerializeToString()]))
    >>> print(survey.summary())
    1 record, 1 feature
    name  kind   records  length  values
    ----  -----  -------  ------  ------
    age   int64  all      1       7
    """

    def __init__(self) -> None:
        self._keys = DiscoveredKeys()
        self._n_records = 0
        self._found: dict[bytes, dict[Kind, ListSummary]] = {}

    def add(self, block: Block) -> None:
        """Survey the records of a block, which is not kept.

        Raises MALFORMED about the first record that is not an Example, and if some records are
        SequenceExamples; UNSUPPORTED if all are.
        """
        reject_sequences(block, is_first=self._n_records == 0)
        try:
            self._add(block)
        except WireError:
            parse_or_first_error(block, None, ExampleSurvey()._add)  # noqa: SLF001
            raise

    def _add(self, block: Block) -> None:
        batch = self._keys.read_examples(block)
        if batch is None:  # too many keys for one table
            middle = len(block) // 2
            for part in (block[:middle], block[middle:]):
                self._add(part)
            return
        for number, key in enumerate(self._keys.table.keys):
            kinds = batch.kinds(number)
            for kind, having in _kinds_of(kinds, len(block)):
                summary = _summary(batch, number, kind, having, block)
                found = self._found.setdefault(key, {})
                found[kind] = found[kind] + summary if kind in found else summary
            if key not in self._found and batch.present(number).any():
                self._found[key] = {}  # without a kind, or hidden by a later entry with the key
        self._n_records += len(block)

    def summary(self) -> Summary:
        """Return the summary so far, features sorted by name."""
        named = sorted((key.decode(), found) for key, found in self._found.items())
        return Summary(self._n_records, {name: FeatureSummary(found) for name, found in named})


def _kinds_of(kinds: Uint8Array | int, n_messages: int) -> list[tuple[Kind, Int64Array | None]]:
    """Return the kinds in a batch, with the messages that have each; None for all of them."""
    if isinstance(kinds, int):
        return [(Kind(kinds), None)] if kinds and n_messages else []
    found = [(kind, np.flatnonzero(kinds == kind)) for kind in Kind]
    return [(kind, having) for kind, having in found if having.size]


def _summary(
    batch: MessageBatch, number: int, kind: Kind, having: Int64Array | None, block: Block
) -> ListSummary:
    """Summarise the lists of one kind that a feature has in a batch."""
    values = batch.lists(number, kind).values
    counts = values.counts
    if isinstance(counts, int):
        lengths = (counts, counts)
    else:
        counts = counts if having is None else counts[having]
        lengths = (int(counts.min()), int(counts.max()))
    first = 0 if having is None else int(having[0])
    n_records = len(block) if having is None else having.size
    return ListSummary(n_records, lengths, _extremes(values.flat), block.place(first))


def _extremes(flat: Any) -> tuple[int, int] | tuple[float, float] | None:
    """Return the smallest and the largest value; for byte strings, of their lengths."""
    if isinstance(flat, ByteRanges):
        flat = flat.lengths
    elif flat.dtype == object:
        flat = np.fromiter(map(len, flat), np.int64, flat.size)
    if not flat.size:
        return None
    low, high = flat.min(), flat.max()
    if low != low:  # noqa: PLR0124 - NaN alone differs from itself
        flat = flat[~np.isnan(flat)]
        if not flat.size:
            return None
        low, high = flat.min(), flat.max()
    return low.item(), high.item()


def reject_sequences(block: Block, *, is_first: bool = True) -> None:
    """Raise InvalidArgumentError about the first record that has feature lists.

    The reason is ``UNSUPPORTED`` if all records have some and `is_first` says that no Examples
    came before; else ``MALFORMED``, as Examples and SequenceExamples are mixed.

    Costs next to nothing for Examples as programs write them: a record that is one field 1 from
    end to end is recognised by its first bytes. Malformed records are left to the parser. (An
    ExampleListWithContext has a field 2 as well, and is rejected.)
    """
    starts, stops = block.offsets, block.offsets + block.lengths
    if not starts.size:
        return
    lengths, sizes = read_varints(lanes(block.data), starts + 1)
    ends = starts + 1 + sizes + lengths.view(np.int64)
    is_plain = (block.data[starts] == FEATURES_TAG[0]) & (ends == stops)
    odd = np.flatnonzero(~is_plain & (block.lengths > 0))
    if not odd.size:
        return
    try:
        fields = tokenise(block.data, starts[odd], stops[odd])
    except WireError:
        return
    has_lists = (fields.number == FEATURE_LISTS) & (fields.wire_type == LEN)
    sequences = np.unique(fields.owner[has_lists])
    if not sequences.size:
        return
    place = block.place(int(odd[sequences[0]]))
    if is_first and sequences.size == len(block):
        reason = Reason.UNSUPPORTED
        detail = (
            "the records have feature lists, so they are SequenceExamples, not Examples; "
            "read them with SequenceExample.FromString"
        )
    else:
        reason = Reason.MALFORMED
        detail = (
            "this record has feature lists, as a SequenceExample has, but others have none; "
            "keep Examples and SequenceExamples in separate files"
        )
    raise place.locate(InvalidArgumentError(reason, detail=detail))
