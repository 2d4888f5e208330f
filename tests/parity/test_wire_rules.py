"""The wire of Examples: rules W1 to W21, asked of both.

TensorFlow reads Examples with a parser of its own. Where that differs from the protobuf
runtime, this library does as the runtime, and the test holds both answers.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.parity.answers import Answer, ask
from tests.parity.building import (
    NO_KIND,
    chunk,
    entry,
    example,
    field,
    floats,
    ints,
    ints_one_by_one,
    key_of,
    packed_floats,
    packed_ints,
    strings,
    value_of,
    varint,
)
from tests.parity.parsing import COPIES, Parsing, error_name
from tests.parity.rules import deviation, rule
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.parse import parse_example, parse_single_example
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

FLOAT = {"a": VarLenFeature("float32")}
INT = {"a": VarLenFeature("int64")}
STRING = {"a": VarLenFeature("string")}
NOTHING = b"\x5a\x00"  # an unknown field: number 11, of no bytes

UNKNOWN = [
    field(11, 0, varint(300)),
    field(11, 1, bytes(8)),
    field(11, 2, varint(3) + b"abc"),
    field(11, 5, bytes(4)),
]
GROUP = field(11, 3) + field(1, 0, b"\x05") + field(11, 4)


def values(answer: Answer) -> list[Any]:
    """Return the values of the feature "a" in an answer of either side."""
    assert answer.error is None, answer
    result = answer.value["a"]
    return np.asarray(getattr(result, "values", result)).ravel().tolist()


def both_values(parsing: Parsing, record: bytes, specs: Any) -> tuple[list[Any], list[Any]]:
    """Return TensorFlow's values and ours, which the two calls must agree on."""
    theirs, ours = parsing.ask_single(record, specs)
    their_batch, our_batch = parsing.ask_batch([record], specs)
    assert values(their_batch) == values(theirs)
    for copies, answer in ((1, our_batch), *ours_of_many(record, specs)):
        assert values(answer) == values(ours) * copies
    return values(theirs), values(ours)


def ours_of_many(record: bytes, specs: Any) -> list[tuple[int, Answer]]:
    """Return our answers for several of the same message."""
    return [(copies, ask(parse_example, [record] * copies, specs)) for copies in COPIES]


def same_values(parsing: Parsing, record: bytes, specs: Any) -> list[Any]:
    """Check that both calls give the same results on both sides, and return the values."""
    parsing.batch([record], specs)
    return values(Answer(parsing.single(record, specs)))


def only_ours_reject(parsing: Parsing, record: bytes, specs: Any = FLOAT) -> list[Any]:
    """Check that we reject what is not a message, as protobuf does; return TensorFlow's values."""
    with pytest.raises(Exception, match=r"(?i)pars"):
        Example.FromString(record)
    theirs, ours = parsing.ask_single(record, specs)
    their_batch, our_batch = parsing.ask_batch([record], specs)
    many = [answer for _, answer in ours_of_many(record, specs)]
    for answer in (ours, our_batch, *many):
        assert isinstance(answer.error, InvalidArgumentError)
        assert answer.error.reason is Reason.MALFORMED
    assert values(their_batch) == values(theirs)
    return values(theirs)


def only_theirs_reject(parsing: Parsing, record: bytes, specs: Any = FLOAT) -> list[Any]:
    """Check that only TensorFlow rejects it; return our values, and check them with protobuf."""
    theirs, ours = parsing.ask_single(record, specs)
    their_batch, our_batch = parsing.ask_batch([record], specs)
    for answer in (theirs, their_batch):
        assert error_name(answer) == "InvalidArgumentError", answer
    found = Example.FromString(record).features.feature["a"]
    kind = found.WhichOneof("kind")
    expected = list(getattr(found, kind).value) if kind else []
    assert values(ours) == values(our_batch) == expected
    for copies, answer in ours_of_many(record, specs):
        assert values(answer) == expected * copies
    return values(ours)


def both_reject(parsing: Parsing, record: bytes, specs: Any = FLOAT) -> None:
    """Check that nobody takes this for an Example."""
    with pytest.raises(Exception, match=r"(?i)pars"):
        Example.FromString(record)
    parsing.rejected([record], specs, Reason.MALFORMED)


# Example and Features


@rule("W1")
def test_entries_of_several_features_are_pooled(parsing: Parsing) -> None:
    specs = {"a": VarLenFeature("float32"), "b": FixedLenFeature([1], "int64")}
    record = example(entry("a", floats(1))) + NOTHING + example() + example(entry("b", ints(2)))

    assert parsing.single(record, specs)["b"].tolist() == [2]
    assert parsing.batch([record] * 3, specs)["b"].tolist() == [[2]] * 3
    twice = example(entry("a", floats(1))) + example(entry("a", floats(2, 3)))
    assert same_values(parsing, twice, FLOAT) == [2, 3]


@rule("W2")
@pytest.mark.parametrize(
    "earlier",
    [
        floats(9),
        ints(1, 2),
        floats(),
        NO_KIND,
    ],
    ids=["same", "other kind", "empty list", "no kind"],
)
def test_the_last_of_several_entries_with_a_key_counts(parsing: Parsing, earlier: bytes) -> None:
    record = example(entry("a", earlier), entry("b", ints(7)), entry("a", floats(1, 2)))

    for spec in (
        FixedLenFeature([2], "float32"),
        FixedLenSequenceFeature([], "float32", allow_missing=True),
        VarLenFeature("float32"),
        RaggedFeature("float32"),
    ):
        assert same_values(parsing, record, {"a": spec}) == [1, 2]


@deviation("W2")
@pytest.mark.parametrize(
    "earlier",
    [
        chunk(2, chunk(1, b"\x00\x00\x80\x3f", length=99)),
        chunk(3, b"\x0a\x01\xff"),
    ],
    ids=["cut list", "cut varint"],
)
def test_an_entry_that_does_not_count_must_be_intact_here(parsing: Parsing, earlier: bytes) -> None:
    record = example(entry("a", earlier), entry("b", ints(7)), entry("a", floats(1, 2)))

    for spec in (
        FixedLenFeature([2], "float32"),
        FixedLenSequenceFeature([], "float32", allow_missing=True),
        VarLenFeature("float32"),
        RaggedFeature("float32"),
    ):
        for theirs, ours in (
            parsing.ask_single(record, {"a": spec}),
            parsing.ask_batch([record], {"a": spec}),
        ):
            assert values(theirs) == [1, 2]
            assert error_name(ours) == "InvalidArgumentError"


@deviation("W3")
def test_a_last_entry_without_kind_is_a_missing_feature_here(parsing: Parsing) -> None:
    record = example(entry("a", floats(1)), entry("a", NO_KIND))

    for spec in (VarLenFeature("float32"), RaggedFeature("float32")):
        theirs, ours = parsing.ask_single(record, {"a": spec})
        assert (values(theirs), values(ours)) == ([1], [])
        theirs, ours = parsing.ask_batch([record], {"a": spec})
        assert (values(theirs), values(ours)) == ([], [])
    assert both_values(parsing, record, {"a": FixedLenFeature([1], "float32", [5])}) == ([1], [5])
    padded = FixedLenSequenceFeature([], "float32", allow_missing=True)
    assert both_values(parsing, record, {"a": padded}) == ([1], [])
    theirs, ours = parsing.ask_batch([record], {"a": FixedLenFeature([1], "float32")})
    assert values(theirs) == [1]
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.MISSING


@rule("W4")
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_fields_of_an_example_are_skipped(parsing: Parsing, unknown: bytes) -> None:
    body = example(entry("a", floats(1)))
    for record in (unknown + body, body + unknown, unknown * 2 + body + unknown):
        assert same_values(parsing, record, FLOAT) == [1]
    other_wire_type = field(1, 0, b"\x05") + body
    assert same_values(parsing, other_wire_type, FLOAT) == [1]


@rule("W4")
@pytest.mark.parametrize(
    "junk", [b"\x00", field(11, 4), field(11, 6), field(11, 7), b"\x80", b"\x5a", b"\x59\x00"]
)
def test_junk_behind_an_example_is_an_error(parsing: Parsing, junk: bytes) -> None:
    both_reject(parsing, example(entry("a", floats(1))) + junk)


@deviation("W4")
def test_what_is_no_message_is_an_error_here_where_tensorflow_takes_it(parsing: Parsing) -> None:
    body = example(entry("a", floats(1)))
    assert only_ours_reject(parsing, b"bogus") == []
    assert only_ours_reject(parsing, body + chunk(11, b"abc", length=4)) == [1]
    assert only_ours_reject(parsing, b"\x00\x00" + body) == [1]  # there is no field 0


@deviation("W4")
def test_groups_are_skipped_here_and_over_long_tags_understood(parsing: Parsing) -> None:
    body = example(entry("a", floats(1)))
    assert only_theirs_reject(parsing, body + GROUP) == [1]
    assert only_theirs_reject(parsing, GROUP + body) == [1]
    over_long = b"\x8a\x00" + body[1:]
    assert both_values(parsing, over_long, FLOAT) == ([], [1])


@deviation("W5")
@pytest.mark.parametrize("unknown", [*UNKNOWN, GROUP])
def test_unknown_fields_of_features_are_skipped_here(parsing: Parsing, unknown: bytes) -> None:
    one = entry("a", floats(1))
    for content in (unknown + one, one + unknown, one + b"\x8a\x00" + entry("b", ints(1))[1:]):
        assert only_theirs_reject(parsing, chunk(1, content)) == [1]


@rule("W6")
@pytest.mark.parametrize("n_bytes", [1, 2, 5, 10])
def test_over_long_lengths_and_values_are_fine(parsing: Parsing, n_bytes: int) -> None:
    def longer(tag: bytes, data: bytes) -> bytes:
        return tag + varint(len(data), n_bytes) + data

    numbers = longer(b"\x0a", varint(5, n_bytes) + varint(-1, n_bytes))
    value = longer(b"\x12", longer(b"\x1a", numbers))
    record = longer(b"\x0a", longer(b"\x0a", longer(b"\x0a", b"a") + value))

    assert same_values(parsing, record, INT) == [5, -1]
    loose = chunk(3, field(1, 0, varint(5, n_bytes)) + field(1, 0, varint(-1)))
    assert same_values(parsing, example(entry("a", loose)), INT) == [5, -1]


@rule("W6")
def test_wrong_lengths_are_errors(parsing: Parsing) -> None:
    one = entry("a", floats(1))
    both_reject(parsing, b"\x0a" + b"\x80" * 10 + b"\x01" + one)
    both_reject(parsing, chunk(1, one, length=len(one) - 1))
    for wrong in (2**31, 2**63, 2**64 - 1, 200):
        both_reject(parsing, example(chunk(1, chunk(1, b"a", length=wrong) + value_of(floats(1)))))
        both_reject(parsing, example(chunk(1, key_of("a") + chunk(2, floats(1), length=wrong))))


@deviation("W6")
def test_a_cut_example_is_an_error_here_wherever_it_is_cut(parsing: Parsing) -> None:
    first, second = entry("a", floats(1)), entry("b", ints(1, 2))
    whole = example(first, second)
    edges = {2: [], 2 + len(first): [1.0]}

    for cut in range(1, len(whole)):
        record = whole[:cut]
        if cut in edges:
            assert only_ours_reject(parsing, record) == edges[cut]
        else:
            both_reject(parsing, record)
    assert same_values(parsing, b"", FLOAT) == []
    for too_long in (5, 2**31, 2**63):
        assert only_ours_reject(parsing, chunk(1, b"", length=too_long)) == []
        assert only_ours_reject(parsing, chunk(1, first, length=100 + too_long)) == [1]


@rule("W7")
def test_a_value_may_come_before_its_key(parsing: Parsing) -> None:
    backwards = chunk(1, value_of(floats(1)) + key_of("a"))
    assert same_values(parsing, example(backwards), FLOAT) == [1]
    assert same_values(parsing, example(backwards, entry("a", floats(2))), FLOAT) == [2]


@deviation("W7")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (key_of("a"), []),
        (value_of(floats(1)), []),
        (key_of("a") + value_of(floats(1)) + NOTHING, []),
        (NOTHING + key_of("a") + value_of(floats(1)), []),
        (key_of("b") + key_of("a") + value_of(floats(1)), [1]),
        (key_of("a") + value_of(floats(1)) + value_of(floats(2)), [1, 2]),
        (key_of("b") + key_of("a") + value_of(ints(1)) + value_of(floats(2)), [2]),
    ],
)
def test_entries_of_any_form_are_read_here_as_protobuf_does(
    parsing: Parsing, content: bytes, expected: list[float]
) -> None:
    assert only_theirs_reject(parsing, example(chunk(1, content))) == expected


@deviation("W7")
def test_tensorflow_takes_two_keys_or_two_values_as_an_entry(parsing: Parsing) -> None:
    keys = example(chunk(1, key_of("b") + key_of("a")))
    assert both_values(parsing, keys, {"a": FixedLenFeature([1], "float32", [5])}) == ([5], [5])
    two_values = example(chunk(1, value_of(floats(1)) + value_of(floats(2))))
    theirs, ours = parsing.ask_batch([two_values], {"": VarLenFeature("float32")})
    assert np.asarray(theirs.value[""].values).tolist() == [2]
    assert ours.value[""].values.tolist() == [1, 2]


@rule("W8")
def test_keys_are_compared_byte_by_byte(parsing: Parsing) -> None:
    keys = ["a", "a\0", "A", "b", "", "ä", "a" * 40, "a" * 39 + "b", "a" * 8, "a" * 9, "\0"]
    specs = {key: FixedLenFeature([], "int64", -1) for key in keys}
    record = example(*(entry(key, ints(n)) for n, key in enumerate(keys)))
    fewer = example(*(entry(key, ints(n)) for n, key in enumerate(keys[1:])))

    for given in (record, fewer):
        parsing.batch([given] * 40, specs)
        parsing.single(given, specs)
    assert parsing.single(record, specs)["a"].tolist() == 0
    assert parsing.single(fewer, specs)["a"].tolist() == -1


@deviation("W8")
@pytest.mark.parametrize("key", [b"\xff", b"a\x80", b"\xed\xa0\x80"])
def test_a_key_that_is_not_utf8_is_an_error_here(parsing: Parsing, key: bytes) -> None:
    record = example(entry("a", floats(1)), entry(key, ints(1)))
    assert only_ours_reject(parsing, record) == [1]


@deviation("W9")
def test_an_error_is_ours_where_tensorflow_fails_to_word_its_own(parsing: Parsing) -> None:
    for bad in (b"\xff", b"\xc3(", b"\xf0" * 5):
        for theirs, ours in (parsing.ask_single(bad, FLOAT), parsing.ask_batch([bad], FLOAT)):
            assert type(theirs.error) is UnicodeDecodeError
            assert type(ours.error) is InvalidArgumentError


# Features and lists


@rule("W10")
def test_a_feature_of_no_bytes_has_no_kind(parsing: Parsing) -> None:
    record = example(entry("a", NO_KIND))
    assert same_values(parsing, record, FLOAT) == []
    assert same_values(parsing, record, INT) == []
    assert same_values(parsing, record, {"a": FixedLenFeature([1], "string", [b"d"])}) == [b"d"]
    parsing.rejected([record], {"a": FixedLenFeature([1], "float32")}, Reason.MISSING)


@rule("W11")
def test_the_first_byte_says_the_kind(parsing: Parsing) -> None:
    assert same_values(parsing, example(entry("a", strings(b"x", b""))), STRING) == [b"x", b""]
    assert same_values(parsing, example(entry("a", floats(1.5))), FLOAT) == [1.5]
    assert same_values(parsing, example(entry("a", ints(7))), INT) == [7]


@deviation("W11")
def test_all_lists_of_a_feature_count_here(parsing: Parsing) -> None:
    twice = example(entry("a", floats(1) + floats(2, 3)))
    assert both_values(parsing, twice, FLOAT) == ([1], [1, 2, 3])
    two_kinds = example(entry("a", ints(1) + floats(2)))
    theirs, ours = parsing.ask_batch([two_kinds], INT)
    assert values(theirs) == [1]
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.WRONG_KIND
    assert only_theirs_reject(parsing, two_kinds) == [2]
    three = example(entry("a", floats(1) + ints(5) + floats(2)))
    assert both_values(parsing, three, FLOAT) == ([1], [2])
    unknown_behind = example(entry("a", floats(1) + GROUP + NOTHING))
    assert both_values(parsing, unknown_behind, FLOAT) == ([1], [1])


@deviation("W11")
def test_junk_behind_a_list_is_an_error_here(parsing: Parsing) -> None:
    for junk in (b"\x00", b"\xff", b"\x0b", b"\x12\x05"):
        assert only_ours_reject(parsing, example(entry("a", floats(1) + junk))) == [1]


@deviation("W12")
@pytest.mark.parametrize("unknown", [*UNKNOWN, GROUP])
def test_an_unknown_field_before_the_kind_is_skipped_here(parsing: Parsing, unknown: bytes) -> None:
    assert only_theirs_reject(parsing, example(entry("a", unknown + floats(1)))) == [1]
    assert only_theirs_reject(parsing, example(entry("a", unknown))) == []
    shadowed = example(entry("a", unknown), entry("a", floats(1)))
    assert only_theirs_reject(parsing, shadowed) == [1]
    over_long_tag = b"\x92\x00" + floats(1)[1:]
    assert only_theirs_reject(parsing, example(entry("a", over_long_tag))) == [1]


@rule("W12")
def test_other_features_may_be_of_any_form(parsing: Parsing) -> None:
    for other in (UNKNOWN[0], UNKNOWN[2], GROUP):
        record = example(entry("b", other), entry("a", floats(1)))
        assert same_values(parsing, record, FLOAT) == [1]


@rule("W13")
def test_a_list_is_empty_or_packed_or_unpacked(parsing: Parsing) -> None:
    unpacked = chunk(2, b"".join(field(1, 5, struct.pack("<f", x)) for x in (1, 2, 3)))
    assert same_values(parsing, example(entry("a", unpacked)), FLOAT) == [1, 2, 3]
    assert same_values(parsing, example(entry("a", floats(1, 2))), FLOAT) == [1, 2]
    assert same_values(parsing, example(entry("a", floats())), FLOAT) == []
    assert same_values(parsing, example(entry("a", chunk(2, chunk(1, b"")))), FLOAT) == []
    ones = [0, 1, -1, 2**63 - 1, -(2**63), 300]
    assert same_values(parsing, example(entry("a", ints_one_by_one(*ones))), INT) == ones
    assert same_values(parsing, example(entry("a", ints(*ones))), INT) == ones
    assert same_values(parsing, example(entry("a", ints())), INT) == []
    assert same_values(parsing, example(entry("a", chunk(3, chunk(1, b"")))), INT) == []


@deviation("W13")
def test_everything_in_a_list_of_numbers_counts_here(parsing: Parsing) -> None:
    one, two = packed_floats(1), packed_floats(2, 3)
    loose = field(1, 5, struct.pack("<f", 4))
    for content, expected in (
        (one + two, [1, 2, 3]),
        (one + loose, [1, 4]),
        (one + NOTHING, [1]),
        (one + GROUP + two, [1, 2, 3]),
    ):
        record = example(entry("a", chunk(2, content)))
        assert both_values(parsing, record, FLOAT) == ([1], expected)
    for content in (loose + one, NOTHING + one, GROUP + one):
        assert only_theirs_reject(parsing, example(entry("a", chunk(2, content))))[-1] == 1
    many, single = packed_ints(1, 2), field(1, 0, varint(300))
    for content, expected in ((many + many, [1, 2, 1, 2]), (many + single, [1, 2, 300])):
        record = example(entry("a", chunk(3, content)))
        assert both_values(parsing, record, INT) == ([1, 2], expected)
    for content in (single + many, NOTHING + single):
        record = example(entry("a", chunk(3, content)))
        assert only_theirs_reject(parsing, record, INT)


@deviation("W13")
def test_junk_behind_a_packed_list_is_an_error_here(parsing: Parsing) -> None:
    record = example(entry("a", chunk(2, packed_floats(1) + b"\xff")))
    assert only_ours_reject(parsing, record) == [1]
    record = example(entry("a", chunk(3, packed_ints(1) + b"\x00")))
    assert only_ours_reject(parsing, record, INT) == [1]


@deviation("W14")
@pytest.mark.parametrize("n_extra", [1, 2, 3])
def test_floats_of_part_of_their_bytes_are_an_error_here(parsing: Parsing, n_extra: int) -> None:
    data = struct.pack("<2f", 1, 2) + b"\x7f" * n_extra
    record = example(entry("a", chunk(2, chunk(1, data))))
    assert only_ours_reject(parsing, record) == [1, 2]
    assert only_ours_reject(parsing, record, {"a": FixedLenFeature([2], "float32")}) == [1, 2]


@rule("W15")
def test_packed_floats_that_leave_their_list_are_an_error(parsing: Parsing) -> None:
    for length in (8, 100, 10**6):
        record = example(entry("a", chunk(2, chunk(1, bytes(4), length=length))))
        for spec in (VarLenFeature("float32"), FixedLenFeature([1], "float32")):
            both_reject(parsing, record, {"a": spec})


@deviation("W15")
def test_packed_floats_of_any_wrong_length_are_an_error_here(parsing: Parsing) -> None:
    for length in (5, 7):
        record = example(entry("a", chunk(2, chunk(1, bytes(4), length=length))))
        assert only_ours_reject(parsing, record) == [0]
    for length in (2**31, 2**32 - 1):  # never asked of TensorFlow, which dies of them
        record = example(entry("a", chunk(2, chunk(1, bytes(4), length=length))))
        with pytest.raises(InvalidArgumentError) as caught:
            parse_example([record], FLOAT)
        assert caught.value.reason is Reason.MALFORMED


@deviation("W15")
def test_packed_integers_that_leave_their_list_are_an_error_here(parsing: Parsing) -> None:
    for length in (3, 100, 2**31):
        record = example(entry("a", chunk(3, chunk(1, b"\x01\x02", length=length))))
        assert only_ours_reject(parsing, record, INT) == [1, 2]


@rule("W16")
def test_integers_are_varints_of_up_to_ten_bytes(parsing: Parsing) -> None:
    def record(data: bytes) -> bytes:
        return example(entry("a", chunk(3, chunk(1, data))))

    for exponent in range(64):
        value = 1 << exponent
        for number in (value - 1, value, -value):
            if number < 2**63:
                assert same_values(parsing, record(varint(number)), INT) == [number]
    assert same_values(parsing, record(b"\xff" * 9 + b"\x7f"), INT) == [-1]  # excess bits
    assert same_values(parsing, record(b"\x80" * 9 + b"\x7e"), INT) == [0]
    for data in (b"\x80", b"\x01\xff\xff", b"\x80" * 10 + b"\x01", b"\xff" * 11):
        both_reject(parsing, record(data), INT)
        both_reject(parsing, example(entry("a", chunk(3, b"\x08" + data))), INT)


@rule("W17")
def test_a_list_of_strings_is_of_any_length(parsing: Parsing) -> None:
    for given in ([], [b""], [b"", b"a", b""], [bytes(range(256)) * 9]):
        assert same_values(parsing, example(entry("a", strings(*given))), STRING) == given
    for cut in (b"\x0a", b"\x0a\x02x", b"\x0a\x01x\x0a\x05"):
        both_reject(parsing, example(entry("a", chunk(1, cut))), STRING)


@deviation("W17")
def test_unknown_fields_in_a_list_of_strings_are_skipped_here(parsing: Parsing) -> None:
    one = chunk(1, b"x")
    over_long_tag = b"\x8a\x00\x01y"
    for content, expected in (
        (NOTHING + one, [b"x"]),
        (one + UNKNOWN[0], [b"x"]),
        (one + GROUP + one, [b"x", b"x"]),
        (field(1, 0, b"\x05") + one, [b"x"]),
        (one + over_long_tag, [b"x", b"y"]),
    ):
        record = example(entry("a", chunk(1, content)))
        assert only_theirs_reject(parsing, record, STRING) == expected


@rule("W18")
@pytest.mark.parametrize(
    ("dtype", "broken"),
    [
        ("float32", chunk(2, chunk(1, bytes(3), length=8))),
        ("int64", chunk(3, b"\x0a\x02\x80\x80")),
        ("string", chunk(1, b"\x0a\x05abc")),
    ],
)
def test_a_broken_list_is_an_error_of_its_example(
    parsing: Parsing, dtype: str, broken: bytes
) -> None:
    good = {"float32": floats(1), "int64": ints(1), "string": strings(b"x")}[dtype]
    for spec in (
        FixedLenFeature([1], dtype),
        FixedLenSequenceFeature([], dtype, allow_missing=True),
        VarLenFeature(dtype),
        RaggedFeature(dtype),
    ):
        both_reject(parsing, example(entry("a", broken)), {"a": spec})
        records = [example(entry("a", good))] * 40
        records[33] = example(entry("a", broken))
        error = parsing.rejected(records, {"a": spec}, Reason.MALFORMED)
        theirs, _ = parsing.ask_batch(records, {"a": spec})
        assert "Index: 33" in str(theirs.error)
        assert error.index == 33
    sparse = SparseFeature("i", "a", dtype, 10)
    both_reject(parsing, example(entry("a", broken), entry("i", ints(0))), {"s": sparse})


@rule("W19")
def test_features_not_asked_for_are_not_looked_into(parsing: Parsing) -> None:
    for broken in (b"\xff", b"\x12\xff", chunk(2, b"\x0a\x03abc"), b"\x08\x01", b"\x0b"):
        record = example(entry("b", broken), entry("a", floats(1)), entry("a\0", broken))
        assert same_values(parsing, record, FLOAT) == [1]
        assert parsing.batch([record] * 40, FLOAT)["a"].values.tolist() == [1] * 40


@deviation("W20")
@pytest.mark.parametrize("n_values", [2, 10, 200])
def test_too_many_unpacked_floats_are_an_error(n_values: int) -> None:
    # Never asked of TensorFlow, which writes past the end of its memory.
    loose = field(1, 5, struct.pack("<f", 1)) * n_values
    record = example(entry("a", chunk(2, loose)))
    specs = {"a": FixedLenFeature([1], "float32")}

    answers = [answer for _, answer in ours_of_many(record, specs)]
    answers += [ask(parse_single_example, record, specs), ask(parse_example, [record], specs)]
    for answer in answers:
        assert isinstance(answer.error, InvalidArgumentError)
        assert answer.error.reason is Reason.WRONG_COUNT


@rule("W21")
def test_bits_of_floats_are_kept(parsing: Parsing) -> None:
    words = [0x7FA12345, 0xFFA12345, 0x7FC00001, 0x80000000, 0, 1, 0x007FFFFF, 0x7F800000]
    data = struct.pack(f"<{len(words)}I", *words)
    record = example(entry("a", chunk(2, chunk(1, data))))

    for spec in (
        FixedLenFeature([len(words)], "float32"),
        FixedLenSequenceFeature([], "float32", allow_missing=True),
        VarLenFeature("float32"),
        RaggedFeature("float32"),
    ):
        for result in (
            parsing.single(record, {"a": spec})["a"],
            parsing.batch([record] * 40, {"a": spec})["a"],
        ):
            found = np.asarray(getattr(result, "values", result))
            assert found.tobytes()[: len(data)] == data
