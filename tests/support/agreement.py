"""Any encoding means to the engine what it means to the protobuf runtime: one harness for both messages.

::

    bytes ─┬─> runtime      protobuf's own parser
           ├─> reference    a page of plain Python; releases of the runtime differ on some bytes
           └─> engine       by its fastest way, or the one that is asked for

All three give a Sequence; an Example is one without lists. The generators are those of
:mod:`tests.support.example_strategies` and, from a seed, ``encoding`` and ``program`` below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import reference_example as reference
from tests.support.example_messages import (
    KEYS,
    RUNTIME,
    ExampleReencoder,
    Pattern,
    features_of,
    look_alike,
    plain,
    read,
    runtime,
    some_features,
)
from tests.support.reference_example import BYTES, FLOAT, INT64, Feature, RejectedError, Sequence
from tests.support.sequence_messages import (
    SequenceReencoder,
    look_alike_list,
    plain_sequence,
    read_sequences,
    runtime_sequence,
    seen,
    some_sequence,
)
from tfrecord_lite.wire.scalar import WireError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from collections.abc import Sequence as Many


@dataclass
class MessageType:
    """One of the two messages: who reads it, and who writes it."""

    numbers: tuple[int, ...]
    """Its fields that have map entries."""
    reference: Callable[..., Sequence]
    """Takes a message, and the keys of context and lists that are asked for; None for all."""
    runtime: Callable[[bytes], Sequence]
    engine: Callable[..., tuple[list[Sequence], int]]
    """Takes a batch and these keys; also returns how many messages were read a fast way."""
    general: dict[str, Any]
    """What the engine takes to read without the runtime and without layouts."""
    encoding: Callable[[Callable[[int], int], int], bytes]
    """Makes a message of any content in any legal encoding, given chance and how seldom it is odd."""
    program: Callable[[random.Random], Callable[[int], bytes]]
    """Makes a program, which writes its messages alike."""

    def keys_in(self, batch: Iterable[bytes], number: int) -> list[bytes]:
        """Return all keys in a field of those messages that are sound as far as their keys."""
        found: set[bytes] = set()
        for message in batch if number in self.numbers else ():
            try:
                found |= {entry.key for entry in reference.entries(message, number=number)}
            except RejectedError:
                continue
        return sorted(found)

    def wanted(self, message: bytes) -> Sequence | None:
        """Return what the runtime reads; None if it rejects."""
        try:
            return self.runtime(message)
        except RejectedError:
            return None

    def is_rejected(self, message: bytes) -> bool:
        """Whether the engine rejects a message, asked for all it has."""
        keys = [self.keys_in([message], number) for number in (1, 2)]
        try:
            self.engine([message], *keys, **self.general)
        except WireError:
            return True
        return False

    def runtimes_differ(self, message: bytes) -> bool:
        """Whether versions of the runtime differ on a message, so that the engine may."""
        outcomes = set()
        for dialect in (reference.PACKAGE, RUNTIME):
            try:
                self.reference(message, dialect=dialect)
            except RejectedError:
                outcomes.add("rejected")
            else:
                outcomes.add("accepted")
        return len(outcomes) > 1

    def assert_reference_agrees(self, message: bytes) -> None:
        """Read a message by the reference as the runtime does."""
        try:
            found = self.reference(message, dialect=RUNTIME)
        except RejectedError:
            found = None
        assert found == self.wanted(message)

    def assert_engine_agrees(
        self,
        batch: Many[bytes],
        context: Iterable[bytes] | None = None,
        lists: Iterable[bytes] | None = None,
        **how: Any,
    ) -> int:
        """Read a batch as the reference does; return how many messages were read a fast way."""
        context = self.keys_in(batch, 1) if context is None else list(context)
        lists = self.keys_in(batch, 2) if lists is None else list(lists)
        asked = set(context), set(lists)
        try:
            expected = [seen(self.reference(m, *asked), context, lists) for m in batch]
        except RejectedError:
            with pytest.raises(WireError) as caught:
                self.engine(batch, context, lists, **how)
            with pytest.raises(RejectedError):
                self.reference(batch[caught.value.message], *asked)
            return 0
        found, n_fast = self.engine(batch, context, lists, **how)
        assert found == expected
        return n_fast


def _examples_of_engine(
    batch: Many[bytes], context: Iterable[bytes], _: Iterable[bytes], **how: Any
) -> tuple[list[Sequence], int]:
    reading = read(batch, context, **how)
    n_fast = reading.n_plain if how.get("way") == "plain" else reading.n_by_layout
    return [Sequence(features, {}) for features in features_of(reading)], n_fast


def _example_of_reference(
    message: bytes,
    context: set[bytes] | None = None,
    _: set[bytes] | None = None,
    dialect: reference.Dialect = reference.PACKAGE,
) -> Sequence:
    return Sequence(reference.parse(message, context, dialect), {})


def _features_in_common(rng: random.Random) -> tuple[list[bytes], list[int], list[int | None]]:
    keys = rng.sample(KEYS, rng.randrange(1, 4))
    kinds = [rng.choice((BYTES, FLOAT, INT64)) for _ in keys]
    return keys, kinds, [rng.choice((None, 0, 1, 1, 2, 8, 33)) for _ in keys]


def _program_of_examples(rng: random.Random) -> Callable[[int], bytes]:
    keys, kinds, counts = _features_in_common(rng)
    widths = tuple(rng.choice((1, 3, 9, 130)) for _ in keys)
    pattern = Pattern(tuple(keys), tuple(kinds), tuple(counts), widths)
    return lambda _: plain(look_alike(rng.randrange, pattern))


def _program_of_sequences(rng: random.Random) -> Callable[[int], bytes]:
    features = list(zip(*_features_in_common(rng), strict=True))
    longest = rng.choice((1, 5, 60))

    def write(number: int) -> bytes:
        lists = {
            key: look_alike_list(rng.randrange, kind, count, longest)
            for key, kind, count in features
        }
        return plain_sequence(Sequence({b"id": Feature(INT64, (number,))}, lists))

    return write


EXAMPLES = MessageType(
    numbers=(1,),
    reference=_example_of_reference,
    runtime=lambda message: Sequence(runtime(message), {}),
    engine=_examples_of_engine,
    general={"way": "general"},
    encoding=lambda below, oddity: ExampleReencoder(below, oddity).example(some_features(below)),
    program=_program_of_examples,
)
SEQUENCES = MessageType(
    numbers=(1, 2),
    reference=reference.parse_sequence,
    runtime=runtime_sequence,
    engine=lambda *batch, **how: (read_sequences(*batch, **how), 0),
    general={},
    encoding=lambda below, oddity: SequenceReencoder(below, oddity).sequence(some_sequence(below)),
    program=_program_of_sequences,
)
