"""SequenceExamples in the engine: forms that once were, or might have been, read wrong."""

import pytest
from google.protobuf.internal import api_implementation

from tests.support.agreement import SEQUENCES
from tests.support.example_messages import len_field, plain_sequence, varint
from tests.support.reference_example import INT64, Feature, Sequence
from tfrecord_lite.example.sequence import batch as sequences

FIVE = Feature(INT64, (5,))
SIX = Feature(INT64, (6,))

assert_engine_agrees = SEQUENCES.assert_engine_agrees


STEP = len_field(1, len_field(3, len_field(1, b"\5")))
FLOATS = len_field(1, len_field(2, len_field(1, bytes(range(8)))))
UNPACKED = len_field(1, len_field(2, b"\x0d1234\x0d5678"))  # as long
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
        FLOATS * 5,
        FLOATS * 3 + UNPACKED + FLOATS,
        FLOATS + b"\x12" + FLOATS[1:] + FLOATS * 3,  # a field of a list that looks like a step
        FLOATS * 4 + FLOATS[:2] + b"\x1a" + FLOATS[3:],
        FLOATS * 4 + len_field(1, len_field(2, len_field(1, bytes(4)))),
        len_field(1, len_field(2, len_field(1, bytes(12)))) + FLOATS * 4,
        b"",
    ],
)
@pytest.mark.parametrize("n", [1, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("at_once", [4, 10**6])
def test_odd_steps(content: bytes, n: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "_AT_ONCE", at_once)
    odd = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, content)))
    good = plain_sequence(Sequence({}, {b"a": [FIVE, SIX] * 5}))
    others = [good, plain_sequence(Sequence({}, {b"a": [Feature(INT64, (300,)), SIX]}))]
    floats = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, FLOATS * 5)))
    assert_engine_agrees([odd] * n)
    assert_engine_agrees([*others, odd, *others] * n)
    for batch in ([odd, *[floats] * 6], [*[floats] * 3, b"", odd, floats], [*[floats] * 6, odd]):
        assert_engine_agrees(batch * n)


def test_a_first_step_of_another_kind_is_read_too() -> None:
    content = len_field(1, len_field(2, len_field(1, bytes(4)))) + STEP * 3
    odd = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, content)))
    others = [plain_sequence(Sequence({}, {b"a": [Feature(INT64, (300,)), SIX]}))] * 9
    assert_engine_agrees([odd, *others, odd])


@pytest.mark.parametrize(
    "entry",
    [
        len_field(1, b"a") + len_field(3, STEP),  # no list, but an unknown field
        len_field(1, b"\7") + b"\x12\x05" + STEP,  # the key ends in the true length
    ],
)
def test_entries_that_look_like_a_key_and_a_list(entry: bytes) -> None:
    odd = len_field(2, len_field(1, entry))
    others = [plain_sequence(Sequence({}, {b"a": [FIVE]}))] * 9
    assert_engine_agrees([*others, odd, *others], [], [b"a", b"\7"])


def test_a_step_must_not_take_bytes_of_the_next_list() -> None:
    # Laid end to end, the lists below look like whole steps all the same.
    first = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, STEP * 2 + STEP[:3])))
    second = len_field(2, len_field(1, len_field(1, b"a") + len_field(2, STEP[3:] + STEP)))
    for batch in ([first, second], [second, first], [first] * 30 + [second] * 30):
        assert_engine_agrees(batch)


@pytest.mark.parametrize("depth", [90, 94, 95, 96, 97, 98, 99, 100, 101])
def test_groups_nest_as_deep_as_for_the_runtime(depth: int) -> None:
    group = b"\x4b" * depth + b"\x4c" * depth
    inners = [group, len_field(2, group), len_field(2, len_field(1, group))]
    inners.append(len_field(2, len_field(1, len_field(3, group))))
    entries = [len_field(2, len_field(1, len_field(1, b"a") + inner)) for inner in inners]
    for message in (group, len_field(2, group), *entries):
        assert_engine_agrees([message])
        if api_implementation.Type() != "python":
            SEQUENCES.assert_reference_agrees(message)


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
