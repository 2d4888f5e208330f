"""SequenceExample messages in every legal encoding, look-alikes, and what decodes them.

As :mod:`tests.support.example_messages`, whose words it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from unittest import mock

import numpy as np
from google.protobuf.message import DecodeError

from tests.support.example_messages import (
    KEYS,
    Below,
    buffer_of,
    features_in,
    flat_values,
    len_field,
    plain,
    plain_feature,
    runtime,
    some_feature,
    some_features,
    with_a_kind,
)
from tests.support.reference_example import NO_KIND, Feature, RejectedError, Sequence
from tfrecord_lite.example.decode import batch as engine_batch
from tfrecord_lite.example.decode.batch import LayoutMemory, MessageBatch
from tfrecord_lite.example.sequence.batch import SequenceMessageBatch
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.schema import Kind
from tfrecord_lite.wire.keys import KeyTable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Many

Lists: TypeAlias = dict[bytes, list[Feature]]

EMPTY = Sequence({}, {})

# --- plain encoding


def plain_list(key: bytes, steps: Many[Feature]) -> bytes:
    """Encode the map entry of a feature list as protobuf does."""
    value = b"".join(len_field(1, plain_feature(step)) for step in steps)
    return len_field(1, len_field(1, key) + len_field(2, value))


def plain_sequence(sequence: Sequence) -> bytes:
    """Encode a SequenceExample as protobuf does."""
    lists = b"".join(plain_list(*item) for item in sequence.lists.items())
    return plain(sequence.context) + len_field(2, lists)


# --- random ones


def some_list(below: Below) -> list[Feature]:
    """Return the steps of a feature list: mostly of one kind, and often of one size."""
    kind = below(4)
    n_values = (None, 1, 1, 2, 0)[below(5)]
    steps = [some_feature(below, kind, n_values) for _ in range((0, 1, 2, 3, 9)[below(5)])]
    if steps and below(6) == 5:
        steps[below(len(steps))] = some_feature(below)
    return steps


def some_sequence(below: Below, keys: Many[bytes] = KEYS) -> Sequence:
    lists = {keys[below(len(keys))]: some_list(below) for _ in range(below(4))}
    return Sequence(some_features(below, keys, 3), lists)


def look_alike_list(below: Below, kind: int, n_values: int | None, longest: int) -> list[Feature]:
    """Return steps as a program writes them; `n_values` None for steps of any length."""
    return [some_feature(below, kind, n_values) for _ in range(below(longest + 1))]


# --- what the protobuf runtime makes of bytes


def runtime_sequence(message: bytes) -> Sequence:
    """Parse with the protobuf runtime; the bits of floats are exact."""
    try:
        parsed = SequenceExample.FromString(message)
    except (DecodeError, UnicodeDecodeError) as error:
        raise RejectedError(str(error)) from None
    lists = {}
    for key, feature_list in parsed.feature_lists.feature_list.items():
        steps = []
        for feature in feature_list.feature:
            holder = Example()
            holder.features.feature["step"].CopyFrom(feature)
            steps.append(runtime(holder.SerializeToString())[b"step"])
        lists[key.encode()] = steps
    holder = Example()
    holder.features.CopyFrom(parsed.context)
    return Sequence(runtime(holder.SerializeToString()), lists)


# --- what the engine makes of bytes


def steps_of(batch: SequenceMessageBatch, number: int) -> list[list[Feature] | None]:
    """Return the steps of one feature list of all messages; None where it is missing."""
    n_all = batch.lists(number, Kind.INT64).steps.n_messages
    kinds = np.broadcast_to(batch.kinds(number), (n_all,))
    steps = [Feature(NO_KIND, ())] * kinds.size
    lists: Any = None
    for kind in Kind:
        lists = batch.lists(number, kind)
        assert (lists.steps.kind == kinds).all()
        values = flat_values(lists.steps)
        stop = 0
        for step, count in enumerate(lists.steps.counts.tolist()):
            start, stop = stop, stop + count
            if kinds[step] == kind:
                steps[step] = Feature(kind, tuple(values[start:stop]))  # type: ignore[arg-type]
            else:
                assert not count
        assert stop == len(values)
    found: list[list[Feature] | None] = []
    stop = 0
    for is_present, n_steps in zip(lists.is_present, lists.n_steps.tolist(), strict=True):
        start, stop = stop, stop + n_steps
        assert is_present or not n_steps
        found.append(steps[start:stop] if is_present else None)
    assert stop == len(steps)
    return found


def read_sequences(
    messages: Many[bytes],
    context: Iterable[bytes],
    lists: Iterable[bytes],
    *,
    few: int = 0,
    between: bytes = b"",
    fill: bytes = b"\0",
) -> list[Sequence]:
    """Read a batch with the engine; features of no kind left out of the context.

    With `few`, batches of so many go to the protobuf runtime.
    """
    names, list_names = list(context), list(lists)
    buffer = buffer_of(messages, between, fill)
    with mock.patch.object(engine_batch, "FEW", few):
        batch = SequenceMessageBatch(*buffer, KeyTable(list_names))
        features = MessageBatch(
            buffer.data, buffer.starts, batch.context_stops, KeyTable(names), LayoutMemory()
        )
    found = [Sequence(row, {}) for row in features_in(features, names)]
    for number, key in enumerate(list_names):
        for sequence, steps in zip(found, steps_of(batch, number), strict=True):
            if steps is not None:
                sequence.lists[key] = steps
    return found


def seen(sequence: Sequence, context: Iterable[bytes], lists: Iterable[bytes]) -> Sequence:
    """Return the parts of a sequence that the engine returns for these keys."""
    wanted = set(lists)
    return Sequence(
        with_a_kind(sequence.context, context),
        {key: steps for key, steps in sequence.lists.items() if key in wanted},
    )
