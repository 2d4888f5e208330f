"""SequenceExamples on the wire: rules Q11 to Q16, asked of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.message import DecodeError

from tests.parity.answers import Answer, ask
from tests.parity.building import (
    NO_KIND,
    chunk,
    entry,
    field,
    floats,
    ints,
    ints_one_by_one,
    key_of,
    list_of,
    packed_ints,
    sequence,
    strings,
    value_of,
    varint,
)
from tests.parity.parsing import Parsing, agree, error_name
from tests.parity.rules import deviation, rule
from tests.parity.sequence_parsing import SequenceParsing, in_one
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.sequence.parse import parse_sequence_example
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT = {"a": VarLenFeature("int64")}
LISTS = {"s": RaggedFeature("int64")}
ONE = sequence(entry("a", ints(1)), list_of("s", ints(2), ints(3)))
GROUP = field(11, 3) + field(2, 0, b"\x05") + field(11, 4)


@pytest.fixture(name="both")
def both_fixture(parsing: Parsing) -> SequenceParsing:
    return SequenceParsing(parsing)


def as_protobuf(record: bytes) -> bytes | None:
    """Return a message without unknown fields, by the runtime; None if that rejects it."""
    try:
        found = SequenceExample.FromString(record)
    except DecodeError:
        return None
    found.DiscardUnknownFields()
    return found.SerializeToString()


def differ(both: SequenceParsing, record: bytes) -> list[Answer]:
    """Check that we read a message as protobuf does, and TensorFlow does not; return its answers."""
    theirs, ours = both.only_ours([record], CONTEXT, LISTS)
    plain = as_protobuf(record)
    if plain is None:
        for answer in ours:
            assert isinstance(answer.error, InvalidArgumentError)
            assert answer.error.reason is Reason.MALFORMED
    else:
        for wanted, answer in zip(both.only_ours([plain], CONTEXT, LISTS)[0], ours, strict=True):
            agree(wanted, answer)
        assert any(answer.error for answer in theirs)
    return theirs


@rule("Q11")
def test_fields_come_in_any_order_and_number(both: SequenceParsing) -> None:
    context, lists = sequence(entry("a", ints(1))), sequence(b"", list_of("s", ints(2)))
    other = sequence(entry("b", ints(1)), list_of("t", ints(2)))
    for parts in (
        [lists, context],
        [other, lists, context],
        [context, lists, other],
        [context, sequence(entry("a", ints(5, 6)))],
        [lists, sequence(b"", list_of("s", ints(5, 6), ints(7)))],
        [lists, sequence(b"", list_of("s"))],
        [sequence(entry("a", ints(5, 6)) + entry("a", ints(7)))],
        [sequence(b"", list_of("s", ints(5, 6)) + list_of("s", ints(7)))],
    ):
        both.batch([b"".join(parts), ONE], CONTEXT, LISTS)
        both.single(b"".join(parts), CONTEXT, LISTS)


@deviation("Q11")
def test_of_a_key_that_comes_twice_both_must_be_intact(both: SequenceParsing) -> None:
    broken = chunk(1, key_of("s") + value_of(chunk(1, chunk(3, b"\x0a\x05"))))
    differ(both, sequence(b"", broken + list_of("s", ints(1))))


ODD_ENTRIES = [
    chunk(1, value_of(chunk(1, ints(1))) + key_of("s")),
    chunk(1, key_of("s")),
    chunk(1, value_of(chunk(1, ints(1)))),
    chunk(1, key_of("s") + key_of("s") + value_of(chunk(1, ints(1)))),
    chunk(1, key_of("s") + value_of(chunk(1, ints(1))) + value_of(chunk(1, ints(2)))),
    chunk(1, key_of("s") + value_of(chunk(1, ints(1))) + field(3, 0, b"\x05")),
    chunk(1, key_of("s") + GROUP + value_of(chunk(1, ints(1)))),
    chunk(1, b""),
    field(5, 0, b"\x05"),
    list_of(b"\xff", ints(1)),
]


@deviation("Q12")
@pytest.mark.parametrize("odd", ODD_ENTRIES[:-1])
def test_entries_are_as_protobuf_has_them(both: SequenceParsing, odd: bytes) -> None:
    for theirs in differ(both, sequence(entry("a", ints(4)), odd)):
        assert error_name(theirs) == "InvalidArgumentError"
    backwards = chunk(1, value_of(ints(1)) + key_of("a"))
    differ(both, sequence(backwards))


@deviation("Q12")
def test_keys_are_utf_8(both: SequenceParsing) -> None:
    for message in (sequence(b"", ODD_ENTRIES[-1]), sequence(entry(b"\xff", ints(1)))):
        assert {answer.error for answer in differ(both, message)} == {None}


@rule("Q13")
@pytest.mark.parametrize(
    "unknown",
    [field(11, 0, varint(300)), field(12, 1, bytes(8)), chunk(500, b"abc"), field(13, 5, bytes(4))],
)
def test_unknown_fields_at_the_top_are_skipped(both: SequenceParsing, unknown: bytes) -> None:
    for record in (unknown + ONE, ONE + unknown, unknown):
        both.batch([record, ONE], CONTEXT, LISTS)
        both.single(record, CONTEXT, LISTS)


@deviation("Q13")
@pytest.mark.parametrize("record", [GROUP + ONE, ONE + GROUP, b"bogus"])
def test_what_is_no_message_is_rejected_and_groups_are_not(
    both: SequenceParsing, record: bytes
) -> None:
    differ_or_reject(both, record)


def differ_or_reject(both: SequenceParsing, record: bytes) -> None:
    """Check that we are protobuf's side, where TensorFlow may or may not be."""
    plain = as_protobuf(record)
    _, ours = both.only_ours([record], CONTEXT, LISTS)
    if plain is None:
        assert all(isinstance(answer.error, InvalidArgumentError) for answer in ours)
        return
    for wanted, answer in zip(both.only_ours([plain], CONTEXT, LISTS)[0], ours, strict=True):
        agree(wanted, answer)


@rule("Q14")
@pytest.mark.parametrize("make", [ints, ints_one_by_one])
def test_lists_are_packed_or_not(both: SequenceParsing, make: Callable[..., bytes]) -> None:
    values = [1, -1, 2**63 - 1]
    record = sequence(entry("a", make(*values)), list_of("s", make(*values), make(5)))
    both.batch([record, ONE], CONTEXT, LISTS)
    both.single(record, CONTEXT, LISTS)


@rule("Q14")
def test_part_of_a_float_is_rejected(both: SequenceParsing) -> None:
    odd = chunk(2, chunk(1, bytes(7)))
    specs = {"a": VarLenFeature("float32")}, {"s": RaggedFeature("float32")}
    for record in (sequence(entry("a", odd)), sequence(b"", list_of("s", odd))):
        both.rejected([record], *specs, reason=Reason.MALFORMED)


@deviation("Q14")
@pytest.mark.parametrize(
    "feature",
    [
        ints(1) + ints(2),
        floats(1) + ints(2),
        ints(1) + floats(2),
        chunk(3, packed_ints(1) + packed_ints(2)),
        field(9, 0, b"\x01") + ints(1),
        chunk(3, field(9, 0, b"\x01") + packed_ints(1)),
        ints(1) + b"\xff",
        b"\xff",
        b"\x1a",
        chunk(3, packed_ints(1), length=9),
    ],
)
def test_lists_are_read_as_protobuf_reads_them(both: SequenceParsing, feature: bytes) -> None:
    differ_or_reject(both, sequence(entry("a", feature)))
    differ_or_reject(both, sequence(b"", list_of("s", ints(1), feature)))


@deviation("Q14")
def test_unknown_fields_between_steps_are_skipped(both: SequenceParsing) -> None:
    value = chunk(1, ints(1)) + field(2, 0, b"\x05") + chunk(1, ints(2))
    differ(both, sequence(b"", chunk(1, key_of("s") + value_of(value))))
    theirs, ours = both.only_ours(
        [sequence(b"", chunk(1, key_of("s") + value_of(b"\x0a")))], None, LISTS
    )
    assert all(answer.error for answer in [*theirs, *ours])


LONG = chunk(1, chunk(1, b"abc", length=2**20))


@deviation("Q15")
@pytest.mark.parametrize(
    ("code", "specs"),
    [
        ("context_features={'a': tf.io.VarLenFeature(tf.string)}", ("a", VarLenFeature("string"))),
        ("sequence_features={'s': tf.io.VarLenFeature(tf.string)}", ("s", VarLenFeature("string"))),
    ],
)
def test_a_string_that_leaves_its_list_ends_the_process(
    died: Callable[[str], bool], code: str, specs: tuple[str, Any]
) -> None:
    record = sequence(entry("a", LONG), list_of("s", LONG))
    assert died(f"tf.io.parse_sequence_example([{record!r}], {code})")
    key, spec = specs
    features = ({"a": spec}, None) if key == "a" else (None, {"s": spec})
    ours = ask(lambda: in_one(parse_sequence_example([record], *features)))
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.MALFORMED


@rule("Q15")
def test_a_string_that_leaves_its_list_is_rejected(both: SequenceParsing) -> None:
    record = sequence(entry("a", LONG), list_of("s", LONG))
    fixed = {"a": FixedLenFeature([], "string")}
    both.rejected([record], fixed, reason=Reason.MALFORMED)
    for spec in (FixedLenSequenceFeature([], "string"), RaggedFeature("string")):
        both.rejected([record], None, {"s": spec}, reason=Reason.MALFORMED)


@rule("Q16")
def test_other_keys_are_not_looked_at(both: SequenceParsing) -> None:
    junk = chunk(3, b"\xff\xff")
    for record in (
        sequence(
            entry("a", ints(1)) + entry("z", junk), list_of("s", ints(1)) + list_of("z", junk)
        ),
        sequence(entry("z", strings(b"x")), list_of("z", floats(1), NO_KIND) + list_of("s")),
        sequence(b"", chunk(1, key_of("z") + value_of(b"\xff\xff"))),
    ):
        both.batch([record, ONE], CONTEXT, LISTS)
        both.batch([record] * 8, CONTEXT, LISTS)
