"""The engine reads SequenceExamples as the protobuf runtime and a slow reference do, on any bytes.

As for Examples, the reference stands between the two others, since releases of the
runtime do not agree on everything with one another.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from google.protobuf.internal import api_implementation
from hypothesis import given
from hypothesis import strategies as st

from tests import long_run
from tests.support.agreement import SEQUENCES
from tests.support.effort import some
from tests.support.example_messages import KEYS, len_field, mutate, varint
from tests.support.example_strategies import BORDERS, examples, features, keys
from tests.support.reference_example import (
    ABSENT,
    BYTES,
    FLOAT,
    INT64,
    Feature,
    Sequence,
)
from tests.support.sequence_messages import (
    SequenceReencoder,
    look_alike_list,
    plain_list,
    plain_sequence,
    read_sequences,
    some_sequence,
)
from tests.support.skips import in_c
from tfrecord_lite.testing.reencode import chooser

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


FIVE = Feature(INT64, (5,))
SIX = Feature(INT64, (6,))

sequences = st.builds(
    Sequence,
    examples,
    st.dictionaries(keys, st.lists(features, max_size=6), max_size=3),
)


@st.composite
def encodings(draw: DrawFn, length_bytes: int = 5) -> bytes:
    """Return a SequenceExample in some legal encoding."""
    reencoder = SequenceReencoder(chooser(draw), draw(st.sampled_from([20, 6, 3])), length_bytes)
    return reencoder.sequence(draw(sequences))


@st.composite
def large_encodings(draw: DrawFn, length_bytes: int = 5) -> bytes:
    """Return one whose content and encoding come from a seed."""
    below = random.Random(draw(st.integers(0, 2**16))).randrange
    reencoder = SequenceReencoder(below, draw(st.sampled_from([100, 20, 6])), length_bytes)
    return reencoder.sequence(some_sequence(below))


@st.composite
def damaged(draw: DrawFn) -> bytes:
    below = chooser(draw)
    message = draw(st.one_of(sequences.map(plain_sequence), encodings(), large_encodings()))
    other = draw(sequences.map(plain_sequence))
    for _ in range(draw(st.integers(1, 2))):
        message = mutate(below, message, other)
    return message


messages = st.one_of(encodings(10), large_encodings(10), damaged(), st.binary(max_size=40))


@st.composite
def look_alikes(draw: DrawFn) -> list[bytes]:
    """Return messages as a program writes them, with a few others among them."""
    names = draw(st.lists(keys, min_size=1, max_size=3, unique=True))
    kinds = [draw(st.sampled_from([BYTES, FLOAT, INT64])) for _ in names]
    counts = [draw(st.sampled_from([1, 1, None, 0, 2, 8, *BORDERS[:5]])) for _ in names]
    longest = draw(st.sampled_from([0, 1, 3, 20, 60]))
    below = random.Random(draw(st.integers(0, 2**16))).randrange
    batch = []
    for number in range(draw(st.integers(1, 40))):
        lists = {
            name: look_alike_list(below, kind, count, longest)
            for name, kind, count in zip(names, kinds, counts, strict=True)
        }
        batch.append(plain_sequence(Sequence({b"id": Feature(INT64, (number,))}, lists)))
    for _ in range(draw(st.integers(0, 3))):
        place = below(len(batch))
        batch[place] = draw(
            st.one_of(encodings(), large_encodings(), st.just(mutate(below, batch[place])))
        )
    return batch


assert_engine_agrees = SEQUENCES.assert_engine_agrees


# --- any bytes


@in_c
@given(messages)
def test_any_bytes_mean_to_the_reference_what_they_mean_to_the_runtime(message: bytes) -> None:
    SEQUENCES.assert_reference_agrees(message)


@given(messages, st.sampled_from([1, 2, 40]))
def test_the_engine_reads_or_rejects_any_bytes(message: bytes, n: int) -> None:
    assert_engine_agrees([message] * n)


@given(st.lists(messages, min_size=1, max_size=8))
def test_a_batch_of_any_messages(batch: list[bytes]) -> None:
    assert_engine_agrees(batch)


@given(st.lists(encodings(), max_size=4))
def test_a_few_messages_are_read_by_the_runtime_alike(batch: list[bytes]) -> None:
    assert_engine_agrees(batch, few=4)


@given(look_alikes(), st.sampled_from([b"\0", b"\xff", b"\x0a\x05", b"\x80"]))
def test_messages_of_one_program(batch: list[bytes], fill: bytes) -> None:
    assert_engine_agrees(batch, between=fill, fill=fill)


@given(look_alikes(), st.sets(st.sampled_from(KEYS)), st.sets(st.sampled_from(KEYS)))
def test_only_some_keys_are_asked_for(
    batch: list[bytes], context: set[bytes], lists: set[bytes]
) -> None:
    assert_engine_agrees(batch, context, lists)


# --- forms that once were, or might have been, read wrong


STEP = len_field(1, len_field(3, len_field(1, b"\5")))
LOOKS_LIKE_A_STEP = len_field(1, len_field(1, len_field(1, STEP)))


@pytest.mark.parametrize(
    "content",
    [
        STEP * 40,
        STEP * 39 + STEP[:-1],
        STEP[:-1] + b"\x80" + STEP * 3,  # a number that does not end
        STEP + b"\x0a\x00" + STEP,  # a step of no kind
        STEP + b"\x0a\x02\x1a\x00" + STEP,  # an empty one
        STEP + b"\x10\x01" + STEP,  # an unknown field between steps
        LOOKS_LIKE_A_STEP * 3,
        LOOKS_LIKE_A_STEP + len_field(1, len_field(1, len_field(1, STEP[:3]))),
        len_field(1, len_field(3, len_field(1, STEP + STEP + STEP))),  # numbers like two steps
        len_field(1, len_field(3, len_field(1, b"\1" * 120))) * 3,
        len_field(1, len_field(3, len_field(1, b"\1" * 123))) * 3,
        len_field(1, len_field(3, len_field(1, b"\1" * 124))) * 3,
        len_field(1, len_field(2, len_field(1, b"\1" * 31))) * 3,  # part of a float
        len_field(1, len_field(3, len_field(1, b"\5") + len_field(1, b"\6"))) * 5,
        len_field(1, len_field(3, len_field(1, b"\5")) + len_field(3, len_field(1, b"\6"))) * 5,
        len_field(1, len_field(3, len_field(1, b"\5")) + len_field(2, b"")) * 5,
        STEP * 3 + len_field(1, len_field(2, len_field(1, b"\1" * 4))),
        b"\x0a\x85\x00" + STEP[2:] + STEP * 3,  # an over-long length
        b"\x8a\x00\x05" + STEP[2:] + STEP * 3,  # an over-long tag
        STEP + b"\x0a",
        STEP + b"\x0a\x7f",
        b"\x0b\x0c" + STEP,
        b"",
    ],
)
@pytest.mark.parametrize("n", [1, 30])
def test_lists_of_odd_steps(content: bytes, n: int) -> None:
    odd = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, content)))
    good = plain_sequence(Sequence({}, {b"a": [FIVE, SIX] * 5}))
    others = [good, plain_sequence(Sequence({}, {b"a": [Feature(INT64, (300,)), SIX]}))]
    assert_engine_agrees([odd] * n)
    assert_engine_agrees([*others, odd, *others] * n)


def test_a_step_must_not_take_bytes_of_the_next_list() -> None:
    # Laid end to end, the lists below look like whole steps all the same.
    first = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, STEP * 2 + STEP[:3])))
    second = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, STEP[3:] + STEP)))
    for batch in ([first, second], [second, first], [first] * 30 + [second] * 30):
        assert_engine_agrees(batch)


def test_the_last_list_with_a_key_counts_whole() -> None:
    one, two = plain_list(b"a", [FIVE] * 3), plain_list(b"a", [SIX])
    aside = len_field(1, len_field(1, b"a") + len_field(2, STEP) + b"\x18\x01")
    broken = len_field(1, len_field(1, b"a") + len_field(2, b"\x0a\x05"))
    for parts in ([one, two], [two, one], [one, aside], [aside], [broken, one], [one, broken]):
        message = len_field(2, b"".join(parts))
        assert_engine_agrees([message] * 30)
        assert_engine_agrees([b"".join(len_field(2, part) for part in parts)])


def test_values_of_one_entry_are_joined() -> None:
    entry = len_field(1, b"a") + len_field(2, STEP * 2) + len_field(2, b"") + len_field(2, STEP)
    message = len_field(2, len_field(1, entry))

    assert_engine_agrees([message] * 30)
    (found,) = read_sequences([message], [], [b"a"])
    assert found.lists == {b"a": [FIVE] * 3}


def test_the_context_may_come_anywhere_and_in_parts() -> None:
    lists = len_field(2, plain_list(b"a", [FIVE]))
    one, two = (plain_sequence(Sequence({key: FIVE}, {}))[:-2] for key in (b"x", b"y"))
    for parts in ([lists, one], [one, lists, two], [lists, one, two, lists], [b"\x18\1", one]):
        assert_engine_agrees([b"".join(parts)] * 30)


@pytest.mark.parametrize("n_messages", [1, 40])
def test_lists_are_missing_or_without_steps(n_messages: int) -> None:
    batch = [
        plain_sequence(Sequence({}, {b"a": []})),
        b"",
        plain_sequence(Sequence({}, {b"a": [ABSENT]})),
        b"\x12\x00",
    ] * n_messages
    assert_engine_agrees(batch, [b"x"], [b"a"])
    assert_engine_agrees([batch[0]] * n_messages, [], [b"a", b"b"])


@pytest.mark.parametrize("depth", [90, 94, 95, 96, 97, 98, 99, 100, 101])
def test_groups_nest_as_deep_as_for_the_runtime(depth: int) -> None:
    group = b"\x4b" * depth + b"\x4c" * depth
    forms = [
        group,
        len_field(2, group),
        len_field(2, len_field(1, len_field(1, b"a") + group)),
        len_field(2, len_field(1, len_field(1, b"a") + len_field(2, group))),
        len_field(2, len_field(1, len_field(1, b"a") + len_field(2, len_field(1, group)))),
        len_field(
            2,
            len_field(
                1,
                len_field(1, b"a") + len_field(2, len_field(1, len_field(3, group))),
            ),
        ),
    ]
    for message in forms:
        assert_engine_agrees([message])
        if api_implementation.Type() != "python":
            SEQUENCES.assert_reference_agrees(message)


def test_a_list_of_many_steps() -> None:
    rng = random.Random(1)
    steps = [Feature(INT64, (rng.randrange(2**20),)) for _ in range(5_000)]
    odd = [*steps, ABSENT, *steps]
    for content in (steps, odd):
        assert_engine_agrees([plain_sequence(Sequence({}, {b"a": content}))])


@pytest.mark.parametrize("n_cut", range(1, 11))
@pytest.mark.parametrize("n_others", [0, 20])
@pytest.mark.parametrize("length", [2**64 - 1, 2**64 - 2, 2**64 - 10, 2**63, 1])
def test_a_list_whose_length_is_cut_is_rejected(length: int, n_cut: int, n_others: int) -> None:
    """What follows the message completes the length, which counts back from there to its end."""
    whole = b"\x0a\x01a\x12" + varint(length, 10)
    kept, rest = whole[:-n_cut], whole[-n_cut:]
    cut = len_field(2, len_field(1, kept))
    others = [plain_sequence(Sequence({}, {b"a": [FIVE]}))] * n_others
    for batch in ([cut] * 3, [*others, cut, *others], [*others, cut]):
        assert_engine_agrees(batch, [], [b"a"], between=rest, fill=rest)


def test_a_length_that_is_a_lie_takes_no_memory() -> None:
    lie = b"\x12\x0c\x0a\x0a\x0a\x01a\x12" + varint(2**62)
    assert_engine_agrees([lie] * 30, [], [b"a"])


@in_c
@pytest.mark.parametrize("seed", some(1, range(3)))
def test_random_messages_are_read_as_the_runtime_reads_them(seed: int) -> None:
    count = long_run.run(SEQUENCES, 300, seed)
    assert min(count["accepted"], count["rejected"]) > 0
