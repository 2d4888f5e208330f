"""SequenceExamples: calls, context and feature lists, rules Q1 to Q10 and L, asked of both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.parity.answers import ask
from tests.parity.building import NO_KIND, entry, floats, ints, list_of, sequence, strings
from tests.parity.parsing import Parsing, agree, error_name
from tests.parity.rules import deviation, rule
from tests.parity.sequence_parsing import SequenceParsing
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.sequence.parse import (
    parse_sequence_example,
    parse_single_sequence_example,
)
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

if TYPE_CHECKING:
    from collections.abc import Callable

RowSplits = RaggedFeature.RowSplits
RowLengths = RaggedFeature.RowLengths
RowStarts = RaggedFeature.RowStarts
RowLimits = RaggedFeature.RowLimits
ValueRowIds = RaggedFeature.ValueRowIds
Uniform = RaggedFeature.UniformRowLength

DTYPES = ["float32", "int64", "string"]
MAKE: dict[str, Any] = {"float32": floats, "int64": ints, "string": strings}
SOME: dict[str, list[Any]] = {
    "float32": [1.5, -2.0, 0.0, 3.0, 4.0, 5.0],
    "int64": [1, -2, 0, 2**63 - 1, -(2**63), 5],
    "string": [b"x", b"", b"\xff\0", b"yy", b"z" * 300, b"w"],
}
NOTHING = sequence()
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture(name="both")
def both_fixture(parsing: Parsing) -> SequenceParsing:
    return SequenceParsing(parsing)


def context_of(feature: bytes) -> bytes:
    return sequence(entry("a", feature))


def steps(*features: bytes) -> bytes:
    return sequence(b"", list_of("s", *features))


def rows(dtype: str, *counts: int) -> bytes:
    """Return a message with a list of that many values per step."""
    return steps(*(MAKE[dtype](*SOME[dtype][:count]) for count in counts))


def padded(shape: Any = (), dtype: str = "int64", **named: Any) -> dict[str, Any]:
    return {"s": FixedLenSequenceFeature(shape, dtype, **named)}


# Calls


@rule("Q1")
def test_one_message_or_a_vector_of_them(both: SequenceParsing) -> None:
    one = rows("float32", 1, 1)
    specs = padded([1], "float32")

    for given in (one, np.array(one, object), np.bytes_(one)):
        assert both.single(given, None, specs)["list s"].shape == (2, 1)
        found = both.batch(given, None, specs)  # a scalar gives single results
        assert found["list s"].shape == (2, 1)
        assert found["lengths s"].shape == ()
    for many in ([one, one], (one, one), np.array([one, one], object)):
        assert both.batch(many, None, specs)["list s"].shape == (2, 2, 1)
        theirs, ours = both.ask_single(many, None, specs)
        assert type(theirs.error) is ValueError
        agree(theirs, ours)
    for deep in ([[one]], np.array([[one]], object)):
        theirs, ours = both.ask_batch(deep, None, specs)
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
    for text in ("", [""]):
        both.batch(text, {"a": VarLenFeature("int64")})


@rule("Q1")
def test_arguments_have_the_names_and_the_order_of_tensorflow(both: SequenceParsing) -> None:
    specs = {"a": FixedLenFeature([], "int64", 5)}
    for answer, ours in (
        both.ask_batch(
            serialized_free := [NOTHING],
            context_features := specs,
            example_names=["n"],
            name="operation",
        ),
        both.ask_single(NOTHING, specs, example_name="n", name="operation"),
    ):
        agree(answer, ours)
        assert ours.error is None
    assert serialized_free
    assert context_features
    for module in (both.tf.io, None):
        batch = module.parse_sequence_example if module else parse_sequence_example
        single = module.parse_single_sequence_example if module else parse_single_sequence_example
        given: Any = (
            {"s": both.tf.io.VarLenFeature(both.tf.int64)}
            if module
            else {"s": VarLenFeature("int64")}
        )
        named: Any = {"context_features": None, "sequence_features": given}
        assert len(batch(serialized=[NOTHING], **named)) == 3
        assert len(single(serialized=NOTHING, **named)) == 2


@rule("Q1")
def test_example_names_have_the_shape_of_the_messages(both: SequenceParsing) -> None:
    specs = {"a": FixedLenFeature([], "int64", 5)}
    names: Any
    for names in ([], None, ["n", "m"]):
        both.batch([NOTHING, NOTHING], specs, example_names=names)
    for names in (None, "n", ["n"]):
        both.single(NOTHING, specs, example_name=names)
    for names in (["n"], ["n", "m", "o"]):
        theirs, ours = both.ask_batch([NOTHING, NOTHING], specs, example_names=names)
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
    required = {"a": FixedLenFeature([], "int64"), "v": VarLenFeature("int64")}
    batch = [context_of(ints(1)), context_of(floats(1)), NOTHING]
    for answer in both.ask_batch(batch, required, example_names=["n0", "n1", "n2"]):
        assert re.search(r"\bn1\b", str(answer.error))


@rule("Q2")
@pytest.mark.parametrize("context", [None, {}])
@pytest.mark.parametrize("lists", [None, {}])
def test_there_must_be_features(both: SequenceParsing, context: Any, lists: Any) -> None:
    for theirs, ours in (
        both.ask_batch([NOTHING], context, lists),
        both.ask_single(NOTHING, context, lists),
    ):
        assert type(theirs.error) is ValueError
        agree(theirs, ours)


@rule("Q3")
@pytest.mark.parametrize(
    "spec",
    [
        SparseFeature("i", "v", "int64", 5),
        FixedLenSequenceFeature([], "int64", allow_missing=True),
        "x",
        None,
    ],
)
def test_what_cannot_be_in_a_context(both: SequenceParsing, spec: Any) -> None:
    reason = Reason.BAD_ARGUMENT if spec in ("x", None) else Reason.UNSUPPORTED
    error = both.rejected([NOTHING], {"a": spec}, reason=reason, theirs="ValueError")
    assert error.key == "a"


@rule("Q3")
@pytest.mark.parametrize(
    "spec", [SparseFeature("i", "v", "int64", 5), FixedLenFeature([], "int64"), "x", None]
)
def test_what_cannot_be_a_feature_list(both: SequenceParsing, spec: Any) -> None:
    reason = Reason.BAD_ARGUMENT if spec in ("x", None) else Reason.UNSUPPORTED
    both.rejected([NOTHING], None, {"a": spec}, reason=reason, theirs="ValueError")


@rule("Q3")
def test_dtypes_are_the_three(both: SequenceParsing) -> None:
    for specs in (({"a": VarLenFeature("int32")}, None), (None, padded(dtype="float64"))):
        both.rejected([NOTHING], *specs, reason=Reason.UNSUPPORTED)


@rule("Q4")
def test_lengths_are_those_of_padded_lists(both: SequenceParsing) -> None:
    lists = {
        "s": FixedLenSequenceFeature([], "int64"),
        "t": FixedLenSequenceFeature([2], "float32", allow_missing=True),
        "v": VarLenFeature("int64"),
        "r": RaggedFeature("int64"),
    }
    context = {"s": FixedLenFeature([], "int64", 7)}  # a key may be in both
    batch = [steps(ints(1), ints(2)), sequence(entry("s", ints(3)), list_of("s"))]

    found = both.batch(batch, context, lists)

    assert {name for name in found if name.startswith("lengths")} == {"lengths s", "lengths t"}
    assert found["lengths s"].tolist() == [2, 0]
    assert found["lengths t"].dtype == np.int64
    assert found["context s"].tolist() == [7, 3]


# Context


@rule("Q5")
@every_dtype
def test_a_context_feature_is_missing(both: SequenceParsing, dtype: str) -> None:
    there = context_of(MAKE[dtype](SOME[dtype][0]))
    required = {"a": FixedLenFeature([], dtype)}
    with_default = {"a": FixedLenFeature([], dtype, SOME[dtype][1])}

    for batch in ([NOTHING], [there, NOTHING], [there] * 50 + [NOTHING]):
        assert both.rejected(batch, required, reason=Reason.MISSING).key == "a"
        both.batch(batch, with_default)
    both.single(NOTHING, with_default)
    for shape in ([0], [2, 0]):
        both.rejected([NOTHING], {"a": FixedLenFeature(shape, dtype)}, reason=Reason.MISSING)


@rule("Q6")
@every_dtype
@pytest.mark.parametrize("default", [None, 1])
def test_no_kind_is_not_missing(both: SequenceParsing, dtype: str, default: Any) -> None:
    specs = {"a": FixedLenFeature([], dtype, default and SOME[dtype][0])}
    there = context_of(MAKE[dtype](SOME[dtype][0]))
    for feature in (NO_KIND, MAKE[dtype]()):
        bad = context_of(feature)
        for batch in ([bad], [there, bad], [there] * 50 + [bad]):
            both.rejected(batch, specs, reason=Reason.WRONG_COUNT)
        none = {"a": FixedLenFeature([0], dtype)}
        assert both.batch([bad], none)["context a"].shape == (1, 0)
        both.single(bad, none)


@rule("Q7")
@every_dtype
def test_a_context_feature_has_another_count(both: SequenceParsing, dtype: str) -> None:
    one, two = (context_of(MAKE[dtype](*SOME[dtype][:n])) for n in (1, 2))
    for batch in ([two], [one, two], [two, one]):
        error = both.rejected(batch, {"a": FixedLenFeature([], dtype)}, reason=Reason.WRONG_COUNT)
        assert error.index == batch.index(two)
    both.rejected([one], {"a": FixedLenFeature([2], dtype)}, reason=Reason.WRONG_COUNT)
    both.batch([two], {"a": FixedLenFeature([1, 2], dtype)})


@rule("Q8")
@every_dtype
def test_a_context_feature_is_of_another_kind(both: SequenceParsing, dtype: str) -> None:
    for other in DTYPES:
        for n_values in (0, 1):
            if other == dtype:
                continue
            bad = context_of(MAKE[other](*SOME[other][:n_values]))
            for spec in (
                FixedLenFeature([], dtype, SOME[dtype][0]),
                VarLenFeature(dtype),
                RaggedFeature(dtype),
            ):
                both.rejected([bad], {"a": spec}, reason=Reason.WRONG_KIND)


@rule("Q9")
@every_dtype
def test_no_messages_at_all(both: SequenceParsing, dtype: str) -> None:
    required = {"a": FixedLenFeature([2], dtype)}
    both.rejected([], required, reason=Reason.MISSING)
    both.rejected([], required, padded(), reason=Reason.MISSING)
    context = {
        "d": FixedLenFeature([2], dtype, SOME[dtype][:2]),
        "n": FixedLenFeature([0], dtype),
        "v": VarLenFeature(dtype),
        "r": RaggedFeature(dtype),
    }
    lists = {
        "s": FixedLenSequenceFeature([2], dtype),
        "v": VarLenFeature(dtype),
        "r": RaggedFeature(dtype),
        "p": RaggedFeature(dtype, "w", [RowLengths("n")]),
    }
    assert both.batch([], context, lists)["list s"].shape == (0, 0, 2)


@rule("Q10")
@every_dtype
def test_the_context_is_as_an_example(both: SequenceParsing, dtype: str) -> None:
    values = MAKE[dtype](*SOME[dtype][:3])
    lengths = ints(1, 0, 2)
    message = sequence(entry("a", values) + entry("n", lengths))
    specs = {
        "v": VarLenFeature(dtype),
        "a": RaggedFeature(dtype),
        "p": RaggedFeature(dtype, "a", [RowLengths("n")]),
        "n": RaggedFeature("int64"),
    }
    both.batch([message, NOTHING, context_of(NO_KIND), context_of(MAKE[dtype]())], specs)
    for one in (message, NOTHING, context_of(NO_KIND)):
        both.single(one, specs)
        both.single(one, {"a": VarLenFeature(dtype)})
        both.batch([one, message], {"a": VarLenFeature(dtype)})


# Feature lists


@rule("L1")
@every_dtype
@pytest.mark.parametrize("shape", [[], [1], [2], [2, 1], [1, 2, 3]])
def test_padded_lists(both: SequenceParsing, dtype: str, shape: list[int]) -> None:
    n_values = int(np.prod(shape))
    batch = [rows(dtype, *([n_values] * n)) for n in (2, 0, 3, 1)]
    specs = padded(shape, dtype)

    found = both.batch(batch, None, specs)["list s"]

    assert found.shape == (4, 3, *shape)
    assert set(found[1].ravel().tolist()) <= {0, b""}
    both.batch(batch[:1] * 3, None, specs)
    for one in batch:
        both.single(one, None, specs)


@rule("L1")
@every_dtype
def test_lists_have_no_default(both: SequenceParsing, dtype: str) -> None:
    specs = padded([], dtype, default_value=SOME[dtype][0])
    both.rejected([rows(dtype, 1)], None, specs, reason=Reason.BAD_ARGUMENT, theirs="ValueError")
    none = padded(None, dtype)
    both.rejected([NOTHING], None, none, reason=Reason.BAD_ARGUMENT, theirs="ValueError")
    assert both.batch([rows(dtype, 3)], None, padded(3, dtype))["list s"].shape == (1, 1, 3)


@deviation("L1")
@pytest.mark.parametrize("shape", [[0], [2, 0]])
def test_a_step_must_have_room_for_values(died: Callable[[str], bool], shape: list[int]) -> None:
    spec = f"tf.io.FixedLenSequenceFeature({shape}, tf.int64, allow_missing=True)"
    assert died(f"tf.io.parse_sequence_example([b''], None, {{'s': {spec}}})")
    ours = ask(parse_sequence_example, [NOTHING], None, padded(shape, allow_missing=True))
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.BAD_ARGUMENT


@rule("L2")
@every_dtype
def test_a_list_is_missing(both: SequenceParsing, dtype: str) -> None:
    there, empty = rows(dtype, 1, 1), steps()
    for batch in ([NOTHING], [there, NOTHING], [there] * 50 + [NOTHING]):
        error = both.rejected(batch, None, padded([], dtype), reason=Reason.MISSING)
        assert error.index == len(batch) - 1
        both.batch(batch, None, padded([], dtype, allow_missing=True))
    for specs in (padded([], dtype), {"s": VarLenFeature(dtype)}, {"s": RaggedFeature(dtype)}):
        both.single(empty, None, specs)
        both.batch([empty, there], None, specs)
    for spec in (VarLenFeature(dtype), RaggedFeature(dtype)):  # these may always be missing
        both.single(NOTHING, None, {"s": spec})
        both.batch([NOTHING, there], None, {"s": spec})


@rule("L3")
@every_dtype
def test_every_step_has_its_number_of_values(both: SequenceParsing, dtype: str) -> None:
    for counts in ((2,), (1, 0), (1, 1, 2), (0, 2)):
        error = both.rejected(
            [rows(dtype, 1), rows(dtype, *counts)],
            None,
            padded([], dtype),
            reason=Reason.WRONG_COUNT,
        )
        assert (error.index, error.key) == (1, "s")
    both.rejected([rows(dtype, 1, 3)], None, padded([2], dtype), reason=Reason.WRONG_COUNT)
    without = steps(MAKE[dtype](SOME[dtype][0]), NO_KIND)
    both.rejected([without], None, padded([], dtype), reason=Reason.WRONG_COUNT)


@rule("L4")
@every_dtype
def test_lists_of_any_length_are_sparse(both: SequenceParsing, dtype: str) -> None:
    specs = {"s": VarLenFeature(dtype)}
    without = steps(NO_KIND, MAKE[dtype](SOME[dtype][0]), NO_KIND)
    batch = [rows(dtype, 2, 0, 1), NOTHING, steps(), without, rows(dtype, 0), rows(dtype, 6)]

    found = both.batch(batch, None, specs)["list s"]

    assert found.dense_shape.tolist() == [6, 3, 6]
    for one in batch:
        both.single(one, None, specs)
        both.batch([one], None, specs)


@rule("L5")
@every_dtype
@pytest.mark.parametrize("splits_dtype", ["int32", "int64"])
def test_lists_of_any_length_are_ragged(
    both: SequenceParsing, dtype: str, splits_dtype: str
) -> None:
    specs = {"s": RaggedFeature(dtype, row_splits_dtype=splits_dtype)}
    without = steps(NO_KIND, MAKE[dtype](SOME[dtype][0]))
    batch = [rows(dtype, 2, 0, 1), NOTHING, steps(), without, rows(dtype, 6)]

    assert both.batch(batch, None, specs)["list s"].ragged_rank == 2
    for one in batch:
        assert both.single(one, None, specs)["list s"].ragged_rank == 1


KEYED: dict[Any, tuple[list[int], ...]] = {
    RowSplits: ([0, 1, 1, 3], [0], [0, 2]),
    RowLengths: ([1, 0, 2], [], [2]),
    RowStarts: ([0, 1, 1], [], [0]),
    RowLimits: ([1, 1, 3], [], [2]),
    ValueRowIds: ([0, 2, 2], [], [0, 0]),
}
"""Steps of the rows [[1], [], [2, 3]], [] and [[4, 5]], said in each way."""


@rule("L5")
@pytest.mark.parametrize("kind", KEYED)
@pytest.mark.parametrize("validate", [False, True])
def test_partitions_divide_each_step(both: SequenceParsing, kind: Any, validate: bool) -> None:
    values = list_of("v", ints(1, 2, 3), ints(), ints(4, 5))
    message = sequence(b"", values + list_of("n", *(ints(*part) for part in KEYED[kind])))
    specs = {"r": RaggedFeature("int64", "v", [kind("n")], validate=validate)}

    found = both.batch([message, NOTHING, message], None, specs)["list r"]

    rows_of_message = [[[1], [], [2, 3]], [], [[4, 5]]]
    assert found.to_list() == [rows_of_message, [], rows_of_message]
    assert both.single(message, None, specs)["list r"].to_list() == rows_of_message
    both.single(NOTHING, None, specs)


@rule("L5")
@pytest.mark.parametrize("validate", [False, True])
def test_partitions_in_several_levels(both: SequenceParsing, validate: bool) -> None:
    values = list_of("v", ints(1, 2), ints(), ints(3, 4))
    shallow = sequence(b"", values + list_of("n", ints(1), ints(), ints(0, 1)))
    deep = sequence(b"", values + list_of("n", ints(1, 1), ints(), ints(2, 0)))
    for message, partitions in (
        (shallow, (Uniform(2),)),
        (shallow, (RowLengths("n"), Uniform(2))),
        (deep, (Uniform(2), RowLengths("n"))),
        (deep, (Uniform(1), Uniform(2), RowLengths("n"))),
        (shallow, (Uniform(1), Uniform(2))),
    ):
        specs = {"r": RaggedFeature("int64", "v", partitions, validate=validate)}
        both.single(message, None, specs)
        both.batch([message], None, specs)
        both.batch([message, NOTHING, message], None, specs)


@deviation("L5")
@pytest.mark.parametrize("kind", KEYED)
@pytest.mark.parametrize("validate", [False, True])
def test_partitions_have_a_step_for_each_of_the_values(
    both: SequenceParsing, kind: Any, validate: bool
) -> None:
    specs = {"r": RaggedFeature("int64", "v", [kind("n")], validate=validate)}
    for lists in (
        list_of("v", ints(1, 2, 3), ints(4)) + list_of("n", ints(*KEYED[kind][0])),
        list_of("v", ints(1, 2, 3)),
    ):
        theirs, ours = both.only_ours([sequence(b"", lists)], None, specs)
        assert validate is False or all(answer.error for answer in theirs)
        for answer in ours:
            assert isinstance(answer.error, InvalidArgumentError)
            assert answer.error.reason is Reason.BAD_PARTITION


@deviation("L5")
def test_values_stay_in_their_step(both: SequenceParsing) -> None:
    # As in a batch of Examples, rule G4.
    message = sequence(b"", list_of("v", ints(1), ints(3)))
    theirs, ours = both.only_ours([message], None, {"r": RaggedFeature("int64", "v", [Uniform(2)])})
    assert {str(answer.error) for answer in theirs} == {"None"}
    for answer in ours:
        assert isinstance(answer.error, InvalidArgumentError)
        assert answer.error.reason is Reason.BAD_PARTITION


@rule("L6")
@every_dtype
def test_a_step_is_of_another_kind(both: SequenceParsing, dtype: str) -> None:
    good = MAKE[dtype](SOME[dtype][0])
    for other in DTYPES:
        for n_values in (0, 1):
            if other == dtype:
                continue
            bad = steps(good, MAKE[other](*SOME[other][:n_values]))
            for spec in (
                FixedLenSequenceFeature([], dtype),
                VarLenFeature(dtype),
                RaggedFeature(dtype),
            ):
                error = both.rejected(
                    [steps(good), bad], None, {"s": spec}, reason=Reason.WRONG_KIND
                )
                assert (error.index, error.key) == (1, "s")
                assert "step 1" in str(error)
