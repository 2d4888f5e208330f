"""Any encoding means to the engine what it means to the protobuf runtime: one harness for both messages.

::

    bytes ─┬─> runtime      protobuf's own parser
           ├─> reference    a page of plain Python; releases of the runtime differ on some bytes
           └─> engine       by its fastest way, or the one that is asked for

All three give a Sequence; an Example is one without lists. Messages of any content in any encoding
come from ``encoding``, and those of one program from ``program``; Hypothesis draws what they decide.
"""

import random
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.support import reference_example as reference
from tests.support.example_messages import (
    KEYS,
    RUNTIME,
    AnyReencoder,
    Pattern,
    features_of,
    len_field,
    look_alike,
    look_alike_list,
    mutate,
    plain,
    plain_entry,
    plain_sequence,
    read,
    read_sequences,
    runtime,
    runtime_sequence,
    seen,
    some_feature,
    some_features,
    some_sequence,
)
from tests.support.reference_example import BYTES, FLOAT, INT64, Feature, RejectedError, Sequence
from tfrecord_lite.messages import Example, SequenceExample
from tfrecord_lite.testing.reencode import chooser
from tfrecord_lite.wire.scalar import WireError


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
    ways: list[dict[str, Any]]
    """What the engine takes to read in each of its ways; the last is without the runtime and layouts."""
    encoding: Callable[..., bytes]
    """Makes a message of any content in any legal encoding, given chance, how seldom it is odd, and
    the most bytes of a length."""
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
            self.engine([message], *keys, **self.ways[-1])
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
    return keys, kinds, [rng.choice((None, 0, 1, 1, 2, 8, 33, 130)) for _ in keys]


def _program_of_examples(rng: random.Random) -> Callable[[int], bytes]:
    keys, kinds, counts = _features_in_common(rng)
    widths = tuple(rng.choice((1, 3, 9, 120, 126, 128)) for _ in keys)
    if rng.randrange(10) == 0:  # where a length takes a third byte
        widths = (rng.choice((16378, 16386)), *widths[1:])
    pattern = Pattern(tuple(keys), tuple(kinds), tuple(counts), widths)
    return lambda _: plain(look_alike(rng.randrange, pattern))


def program_in_any_order(rng: random.Random) -> Callable[[], bytes]:
    """Make a program that writes its features in an order of their own each time, and not always all."""
    letters, longest = (
        rng.choice(("ab", "abcdefgh", "0123456789", "a\0é")),
        rng.choice((2, 9, 40, 90)),
    )
    names = (
        rng.choices(letters, k=rng.randrange(longest)) for _ in range(rng.choice((1, 8, 17, 40)))
    )
    keys = sorted({"".join(name).encode() for name in names})
    kinds = [rng.choice((BYTES, FLOAT, INT64)) for _ in keys]
    counts = [rng.choice((None, 0, 1, 1, 1, 2)) for _ in keys]
    pattern = Pattern(tuple(keys), tuple(kinds), tuple(counts), (3,) * len(keys))

    def write() -> bytes:
        features = list(look_alike(rng.randrange, pattern).items())
        rng.shuffle(features)
        if rng.randrange(5) == 0:
            features = features[rng.randrange(len(features)) :]
        if rng.randrange(30) == 0:
            new = rng.choice((b"new", "käse".encode(), b"x" * rng.randrange(130), keys[0]))
            features.insert(0, (new, some_feature(rng.randrange)))
        entries = [plain_entry(key, feature) for key, feature in features]
        return len_field(1, b"".join(entries))

    return write


def _program_of_sequences(rng: random.Random) -> Callable[[int], bytes]:
    features = list(zip(*_features_in_common(rng), strict=True))
    longest = rng.choice((1, 5, 60))

    def write(number: int) -> bytes:
        lists = {key: look_alike_list(rng.randrange, kind, c, longest) for key, kind, c in features}
        return plain_sequence(Sequence({b"id": Feature(INT64, (number,))}, lists))

    return write


EXAMPLES = MessageType(
    numbers=(1,),
    reference=_example_of_reference,
    runtime=lambda message: Sequence(runtime(message), {}),
    engine=_examples_of_engine,
    ways=[{"way": way} for way in ("fastest", "plain", "general")],
    encoding=lambda below, *how: AnyReencoder(below, *how).message(
        plain(some_features(below)), Example.DESCRIPTOR
    ),
    program=_program_of_examples,
)
SEQUENCES = MessageType(
    numbers=(1, 2),
    reference=reference.parse_sequence,
    runtime=runtime_sequence,
    engine=lambda *batch, **how: (read_sequences(*batch, **how), 0),
    ways=[{}],
    encoding=lambda below, *how: AnyReencoder(below, *how).message(
        plain_sequence(some_sequence(below)), SequenceExample.DESCRIPTOR
    ),
    program=_program_of_sequences,
)


@st.composite
def encodings(draw: DrawFn, of: MessageType, length_bytes: int = 5) -> bytes:
    """Return a message in some legal encoding: as drawn, or a larger one from a seed."""
    below = chooser(draw)
    if draw(st.booleans()):
        below = random.Random(draw(st.integers(0, 2**16))).randrange
    return of.encoding(below, draw(st.sampled_from([20, 6, 3])), length_bytes)


@st.composite
def damaged(draw: DrawFn, of: MessageType) -> bytes:
    """Return a message with one or two damages, most of them not fatal to all of it."""
    message, other = draw(encodings(of)), draw(encodings(of))
    for _ in range(draw(st.integers(1, 2))):
        message = mutate(chooser(draw), message, other)
    return message


def messages(of: MessageType) -> st.SearchStrategy[bytes]:
    """Return messages in any encoding, damaged ones, and noise."""
    return st.one_of(encodings(of, 10), damaged(of), st.binary(max_size=40))


def look_alikes(of: MessageType, n_messages: int) -> st.SearchStrategy[list[bytes]]:
    """Return messages as one program writes them; their values come from a seed, so shrink little."""
    seeds = st.integers(0, 2**16)
    return seeds.map(lambda seed: list(map(of.program(random.Random(seed)), range(n_messages))))


@st.composite
def batches(draw: DrawFn, of: MessageType) -> list[bytes]:
    """Return messages of one program with a few others put in anywhere, or in place of some."""
    batch = draw(look_alikes(of, draw(st.integers(1, 80))))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.sampled_from([0, len(batch) // 2, len(batch) - 1]))
        changed = mutate(chooser(draw), batch[place])
        other = draw(st.one_of(encodings(of), damaged(of), st.sampled_from([b"", changed])))
        if draw(st.booleans()):
            batch[place] = other
        else:
            batch.insert(place + draw(st.integers(0, 1)), other)
    return batch
