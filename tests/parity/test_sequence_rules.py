"""Rules Q and L of SequenceExamples as data: messages, features, and what either side makes of them."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

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
from tests.parity.parsing import Parsing, agree, error_name, in_one
from tests.parity.rules import deviation, parameters, rule
from tests.parity.test_example_rules import DTYPES, MAKE, OTHERS, REJECTS, SOME
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.sequence.parse import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from tfrecord_lite.messages import SequenceExample
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

RowLengths = RaggedFeature.RowLengths
Uniform = RaggedFeature.UniformRowLength

NOTHING = sequence()
KEYED: dict[Any, tuple[list[int], ...]] = {
    RaggedFeature.RowSplits: ([0, 1, 1, 3], [0], [0, 2]), RowLengths: ([1, 0, 2], [], [2]),
    RaggedFeature.RowStarts: ([0, 1, 1], [], [0]), RaggedFeature.RowLimits: ([1, 1, 3], [], [2]),
    RaggedFeature.ValueRowIds: ([0, 2, 2], [], [0, 0]),
}  # fmt: skip
"""Steps of the rows [[1], [], [2, 3]], [] and [[4, 5]], said in each way."""
CONTEXT = {"a": VarLenFeature("int64")}
LISTS = {"s": RaggedFeature("int64")}
ONE = sequence(entry("a", ints(1)), list_of("s", ints(2), ints(3)))
GROUP = field(11, 3) + field(2, 0, b"\x05") + field(11, 4)
LONG = chunk(1, chunk(1, b"abc", length=2**20))


@pytest.fixture(name="both")
def both_fixture(sequences: Parsing) -> Parsing:
    return sequences


def context_of(feature: bytes) -> bytes:
    return sequence(entry("a", feature))


def steps(*features: bytes) -> bytes:
    return sequence(b"", list_of("s", *features))


def rows(dtype: str, *counts: int) -> bytes:
    """Return a message with a list of that many values per step."""
    return steps(*(MAKE[dtype](*SOME[dtype][:count]) for count in counts))


def padded(shape: Any = (), dtype: str = "int64", **named: Any) -> dict[str, Any]:
    return {"s": FixedLenSequenceFeature(shape, dtype, **named)}


def ragged(*partitions: Any, validate: bool = False) -> dict[str, Any]:
    return {"r": RaggedFeature("int64", "v", partitions, validate=validate)}


def read_alike() -> Iterator[tuple[str, list[bytes], Any, Any]]:
    """Give rule, messages, context and lists; each message is asked about by itself, too."""
    lists: Any
    for dtype in DTYPES:
        make, some = MAKE[dtype], SOME[dtype]
        there = context_of(make(some[0]))
        yield "Q5", [there, NOTHING], {"a": FixedLenFeature([], dtype, some[1])}, None
        for feature in (NO_KIND, make()):
            yield "Q6", [context_of(feature)], {"a": FixedLenFeature([0], dtype)}, None
        yield "Q7", [context_of(make(*some[:2]))], {"a": FixedLenFeature([1, 2], dtype)}, None
        one = {"v": VarLenFeature(dtype), "a": RaggedFeature(dtype)}
        yield "Q10", [there, NOTHING, context_of(NO_KIND), context_of(make())], one, None
        batch = [rows(dtype, *([2] * n)) for n in (2, 0, 3, 1)]
        for shape in ([2], [2, 1], 2):
            yield "L1", batch, None, padded(shape, dtype)
        two, empty = rows(dtype, 1, 1), steps()
        yield "L2", [two, NOTHING], None, padded([], dtype, allow_missing=True)
        uneven = [rows(dtype, 2, 0, 1), NOTHING, empty, steps(NO_KIND, make(some[0]))]
        yield "L2", [NOTHING, two], None, {"s": VarLenFeature(dtype)}  # these may always be missing
        yield "L4", uneven, None, {"s": VarLenFeature(dtype)}
        yield "L5", uneven, None, {"s": RaggedFeature(dtype, row_splits_dtype="int64")}
    lists = {"s": FixedLenSequenceFeature([], "int64")}
    batch = [steps(ints(1), ints(2)), sequence(entry("s", ints(3)), list_of("s"))]
    yield "Q4", batch, {"s": FixedLenFeature([], "int64", 7)}, lists  # a key may be in both

    values = list_of("v", ints(1, 2, 3), ints(), ints(4, 5))
    for (kind, said), validate in product(KEYED.items(), (False, True)):
        message = sequence(b"", values + list_of("n", *(ints(*part) for part in said)))
        yield "L5", [message, NOTHING, message], None, ragged(kind("n"), validate=validate)
    lengths = list_of("n", ints(1, 1), ints(), ints(2, 0))
    deep = sequence(b"", list_of("v", ints(1, 2), ints(), ints(3, 4)) + lengths)
    yield "L5", [deep, NOTHING], None, ragged(Uniform(1), Uniform(2), RowLengths("n"))

    a, s = sequence(entry("a", ints(1))), sequence(b"", list_of("s", ints(2)))
    other = sequence(entry("b", ints(1)), list_of("t", ints(2)))
    for record in (
        s + a, other + s + a, a + s + other, a + sequence(entry("a", ints(5, 6))),
        s + sequence(b"", list_of("s", ints(5, 6), ints(7))), s + sequence(b"", list_of("s")),
        sequence(entry("a", ints(5, 6)) + entry("a", ints(7))),
        sequence(b"", list_of("s", ints(5, 6)) + list_of("s", ints(7))),
    ):  # fmt: skip
        yield "Q11", [record, ONE], CONTEXT, LISTS
    for unknown in (
        field(11, 0, varint(300)), field(12, 1, bytes(8)), chunk(500, b"abc"),
        field(13, 5, bytes(4)),
    ):  # fmt: skip
        for record in (unknown + ONE, ONE + unknown, unknown):
            yield "Q13", [record, ONE], CONTEXT, LISTS
    for make in (ints, ints_one_by_one):
        whole = make(1, -1, 2**63 - 1)
        yield "Q14", [sequence(entry("a", whole), list_of("s", whole, make(5)))], CONTEXT, LISTS
    junk = chunk(3, b"\xff\xff")
    for record in (
        sequence(
            entry("a", ints(1)) + entry("z", junk), list_of("s", ints(1)) + list_of("z", junk)
        ),
        sequence(entry("z", strings(b"x")), list_of("z", floats(1), NO_KIND) + list_of("s")),
        sequence(b"", chunk(1, key_of("z") + value_of(b"\xff\xff"))),
    ):
        yield "Q16", [record, ONE], CONTEXT, LISTS


@pytest.mark.parametrize(("records", "context", "lists"), parameters(read_alike()))
def test_both_read_the_same(both: Parsing, records: list[bytes], context: Any, lists: Any) -> None:
    found = both.batch(records, context, lists)
    # A list that must be there is padded in a batch alone; by itself a message may lack it.
    for record in records:
        both.single(record, context, lists)
        both.batch([record], context, lists)
    padded_lists = [n for n, s in (lists or {}).items() if isinstance(s, FixedLenSequenceFeature)]
    lengths = {name for name in found if name.startswith("lengths")}
    assert lengths == {f"lengths {name}" for name in padded_lists}


def rejected() -> Iterator[tuple[Any, ...]]:
    """Give rule, messages of which the last is wrong, context, lists, reason, TensorFlow's class."""
    spec: Any
    for dtype in DTYPES:
        make, some = MAKE[dtype], SOME[dtype]
        one, two = (context_of(make(*some[:n])) for n in (1, 2))
        scalar = {"a": FixedLenFeature([], dtype)}
        for before in ([], [one] * 50):
            yield "Q5", [*before, NOTHING], scalar, None, Reason.MISSING
            yield "Q7", [*before, two], scalar, None, Reason.WRONG_COUNT
            for feature, default in product((NO_KIND, make()), (None, some[0])):
                spec = {"a": FixedLenFeature([], dtype, default)}
                yield "Q6", [*before, context_of(feature)], spec, None, Reason.WRONG_COUNT
        yield "Q5", [NOTHING], {"a": FixedLenFeature([2, 0], dtype)}, None, Reason.MISSING
        there = rows(dtype, 1, 1)
        yield "L2", [*[there] * 50, NOTHING], None, padded([], dtype), Reason.MISSING
        for counts in ((1, 0), (1, 1, 2), (0, 2)):
            batch = [there, rows(dtype, *counts)]
            yield "L3", batch, None, padded([], dtype), Reason.WRONG_COUNT
        without = steps(make(some[0]), NO_KIND)
        yield "L3", [without], None, padded([], dtype), Reason.WRONG_COUNT
        default = padded([], dtype, default_value=some[0])
        yield "L1", [there], None, default, Reason.BAD_ARGUMENT, "ValueError"
    for (dtype, other), n_values in product(OTHERS, (0, 1)):
        wrong = MAKE[other](*SOME[other][:n_values])
        default = SOME[dtype][0]
        for spec in (FixedLenFeature([], dtype, default), VarLenFeature(dtype)):
            yield "Q8", [context_of(wrong)], {"a": spec}, None, Reason.WRONG_KIND
        bad = [rows(dtype, 1), steps(MAKE[dtype](default), wrong)]
        for spec in (FixedLenSequenceFeature([], dtype), VarLenFeature(dtype)):
            yield "L6", bad, None, {"s": spec}, Reason.WRONG_KIND
    yield "L1", [NOTHING], None, padded(None), Reason.BAD_ARGUMENT, "ValueError"
    sparse, missing = SparseFeature("i", "v", "int64", 5), padded(allow_missing=True)["s"]
    for spec in (sparse, missing, FixedLenFeature([], "int64"), "x", None):
        reason = Reason.BAD_ARGUMENT if spec in ("x", None) else Reason.UNSUPPORTED
        if not isinstance(spec, FixedLenFeature):
            yield "Q3", [NOTHING], {"a": spec}, None, reason, "ValueError"
        if not isinstance(spec, FixedLenSequenceFeature):
            yield "Q3", [NOTHING], None, {"a": spec}, reason, "ValueError"
    yield "Q3", [NOTHING], {"a": VarLenFeature("int32")}, None, Reason.UNSUPPORTED
    yield "Q3", [NOTHING], None, padded(dtype="float64"), Reason.UNSUPPORTED
    odd = chunk(2, chunk(1, bytes(7)))  # part of a float
    yield "Q14", [context_of(odd)], {"a": VarLenFeature("float32")}, None, Reason.MALFORMED
    yield "Q14", [steps(odd)], None, {"s": RaggedFeature("float32")}, Reason.MALFORMED
    long = sequence(entry("a", LONG), list_of("s", LONG))
    yield "Q15", [long], {"a": FixedLenFeature([], "string")}, None, Reason.MALFORMED
    yield "Q15", [long], None, padded([], "string"), Reason.MALFORMED
    yield "Q15", [long], None, {"s": RaggedFeature("string")}, Reason.MALFORMED


@pytest.mark.parametrize(
    ("records", "context", "lists", "reason", "theirs"), parameters(rejected(), REJECTS)
)
def test_both_reject(
    both: Parsing, records: list[bytes], context: Any, lists: Any, reason: Reason, theirs: str
) -> None:
    error = both.rejected(records, context, lists, reason=reason, theirs=theirs)
    assert error.index in {None, len(records) - 1}
    assert error.key in {None, *(context or lists)}


LAST_VALUE = chunk(1, ints(1))
ODD_ENTRIES = [
    chunk(1, value_of(LAST_VALUE) + key_of("s")), chunk(1, key_of("s")),
    chunk(1, value_of(LAST_VALUE)), chunk(1, key_of("s") + key_of("s") + value_of(LAST_VALUE)),
    chunk(1, key_of("s") + value_of(LAST_VALUE) + value_of(chunk(1, ints(2)))),
    chunk(1, key_of("s") + value_of(LAST_VALUE) + field(3, 0, b"\x05")),
    chunk(1, key_of("s") + GROUP + value_of(LAST_VALUE)), chunk(1, b""), field(5, 0, b"\x05"),
]  # fmt: skip
ODD_FEATURES = [
    ints(1) + ints(2), floats(1) + ints(2), ints(1) + floats(2),
    chunk(3, packed_ints(1) + packed_ints(2)), field(9, 0, b"\x01") + ints(1),
    chunk(3, field(9, 0, b"\x01") + packed_ints(1)), ints(1) + b"\xff", b"\xff", b"\x1a",
    chunk(3, packed_ints(1), length=9),
]  # fmt: skip
BETWEEN_STEPS = LAST_VALUE + field(2, 0, b"\x05") + LAST_VALUE


def read_as_protobuf() -> Iterator[tuple[str, bytes, str | None]]:
    """Give rule, message, and what TensorFlow does: reads it, rejects it, or either (None)."""
    broken = chunk(1, key_of("s") + value_of(chunk(1, chunk(3, b"\x0a\x05"))))
    yield "Q11", sequence(b"", broken + list_of("s", ints(1))), None
    for odd in ODD_ENTRIES:
        yield "Q12", sequence(entry("a", ints(4)), odd), "rejects"
    yield "Q12", sequence(chunk(1, value_of(ints(1)) + key_of("a"))), None
    yield "Q12", sequence(b"", list_of(b"\xff", ints(1))), "reads"
    yield "Q12", sequence(entry(b"\xff", ints(1))), "reads"
    for record in (GROUP + ONE, ONE + GROUP, b"bogus"):
        yield "Q13", record, None
    for feature in ODD_FEATURES:
        yield "Q14", context_of(feature), None
        yield "Q14", steps(ints(1), feature), None
    yield "Q14", sequence(b"", chunk(1, key_of("s") + value_of(BETWEEN_STEPS))), "rejects"
    yield "Q14", sequence(b"", chunk(1, key_of("s") + value_of(b"\x0a"))), "rejects"


@pytest.mark.parametrize(
    ("record", "what_theirs_do"), parameters(read_as_protobuf(), mark=deviation)
)
def test_we_read_as_protobuf(both: Parsing, record: bytes, what_theirs_do: str | None) -> None:
    theirs, ours = both.only_ours([record], CONTEXT, LISTS)
    try:
        message = SequenceExample.FromString(record)
    except DecodeError:
        for answer in ours:
            assert_reason(answer, Reason.MALFORMED)
    else:
        message.DiscardUnknownFields()
        plain, _ = both.only_ours([message.SerializeToString()], CONTEXT, LISTS)
        for wanted, answer in zip(plain, ours, strict=True):
            agree(wanted, answer)
    if what_theirs_do is not None:
        assert {error_name(answer) for answer in theirs} == (
            {"NoneType"} if what_theirs_do == "reads" else {REJECTS}
        )


def assert_reason(answer: Answer, reason: Reason) -> None:
    assert isinstance(answer.error, InvalidArgumentError), answer
    assert answer.error.reason is reason


@rule("Q1")
def test_names_of_arguments_and_of_messages(both: Parsing) -> None:
    specs = {"a": FixedLenFeature([], "int64", 5)}
    names: Any
    both.batch([NOTHING, NOTHING], specs, example_names=["n", "m"], name="operation")
    both.single(NOTHING, specs, example_name="n", name="operation")
    for names in (["n"], ["n", "m", "o"]):
        theirs, ours = both.ask_batch([NOTHING, NOTHING], specs, example_names=names)
        assert error_name(theirs) == REJECTS
        agree(theirs, ours)
    named: Any = {"context_features": specs, "sequence_features": None}
    assert len(parse_sequence_example(serialized=[NOTHING], **named)) == 3
    assert len(parse_single_sequence_example(serialized=NOTHING, **named)) == 2


@rule("Q2")
@pytest.mark.parametrize("context", [None, {}])
@pytest.mark.parametrize("lists", [None, {}])
def test_there_must_be_features(both: Parsing, context: Any, lists: Any) -> None:
    for theirs, ours in (
        both.ask_batch([NOTHING], context, lists),
        both.ask_single(NOTHING, context, lists),
    ):
        assert type(theirs.error) is ValueError
        agree(theirs, ours)


@rule("Q9")
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_messages_at_all(both: Parsing, dtype: str) -> None:
    required = {"a": FixedLenFeature([2], dtype)}
    both.rejected([], required, reason=Reason.MISSING)
    both.rejected([], required, padded(), reason=Reason.MISSING)
    any_of = {"v": VarLenFeature(dtype), "r": RaggedFeature(dtype)}
    default = FixedLenFeature([2], dtype, SOME[dtype][:2])
    context = {**any_of, "d": default, "n": FixedLenFeature([0], dtype)}
    lists = {**any_of, **padded([2], dtype), "p": RaggedFeature(dtype, "w", [RowLengths("n")])}
    assert both.batch([], context, lists)["list s"].shape == (0, 0, 2)


@deviation("L1")
@pytest.mark.parametrize("shape", [[0], [2, 0]])
def test_a_step_must_have_room_for_values(died: Callable[[str], bool], shape: list[int]) -> None:
    spec = f"tf.io.FixedLenSequenceFeature({shape}, tf.int64, allow_missing=True)"
    assert died(f"tf.io.parse_sequence_example([b''], None, {{'s': {spec}}})")
    ours = ask(parse_sequence_example, [NOTHING], None, padded(shape, allow_missing=True))
    assert_reason(ours, Reason.BAD_ARGUMENT)


@deviation("L5")
@pytest.mark.parametrize("kind", KEYED)
@pytest.mark.parametrize("validate", [False, True])
def test_partitions_have_a_step_for_each_value(both: Parsing, kind: Any, validate: bool) -> None:
    for lists in (
        list_of("v", ints(1, 2, 3), ints(4)) + list_of("n", ints(*KEYED[kind][0])),
        list_of("v", ints(1, 2, 3)),
    ):
        specs = ragged(kind("n"), validate=validate)
        theirs, ours = both.only_ours([sequence(b"", lists)], None, specs)
        assert validate is False or all(answer.error for answer in theirs)
        for answer in ours:
            assert_reason(answer, Reason.BAD_PARTITION)


@deviation("L5")
def test_values_stay_in_their_step(both: Parsing) -> None:
    # As in a batch of Examples, rule G4.
    message = sequence(b"", list_of("v", ints(1), ints(3)))
    theirs, ours = both.only_ours([message], None, ragged(Uniform(2)))
    assert {answer.error for answer in theirs} == {None}
    for answer in ours:
        assert_reason(answer, Reason.BAD_PARTITION)


@deviation("Q15")
@pytest.mark.parametrize(("part", "key"), [("context", "a"), ("sequence", "s")])
def test_strings_beyond_lists_are_fatal(died: Callable[[str], bool], part: str, key: str) -> None:
    record = sequence(entry("a", LONG), list_of("s", LONG))
    code = f"{part}_features={{{key!r}: tf.io.VarLenFeature(tf.string)}}"
    assert died(f"tf.io.parse_sequence_example([{record!r}], {code})")
    named: Any = {f"{part}_features": {key: VarLenFeature("string")}}
    ours = ask(lambda: in_one(parse_sequence_example([record], **named)))
    assert_reason(ours, Reason.MALFORMED)
