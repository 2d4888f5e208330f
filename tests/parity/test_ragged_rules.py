"""Ragged features: rules G1 to G8, asked of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.answers import Answer, ask
from tests.parity.building import NO_KIND, entry, example, floats, ints, strings
from tests.parity.parsing import Parsing, agree, error_name
from tests.parity.rules import deviation, rule
from tfrecord_lite.columns import RaggedTensor
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.parse import parse_example, parse_single_example
from tfrecord_lite.schema import RaggedFeature

RowSplits = RaggedFeature.RowSplits
RowLengths = RaggedFeature.RowLengths
RowStarts = RaggedFeature.RowStarts
RowLimits = RaggedFeature.RowLimits
ValueRowIds = RaggedFeature.ValueRowIds
Uniform = RaggedFeature.UniformRowLength

KEYED = [RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds]
every_kind = pytest.mark.parametrize("kind", KEYED)
validated = pytest.mark.parametrize("validate", [False, True])
NOTHING = example()

SAME: dict[Any, list[int]] = {
    RowSplits: [0, 1, 1, 3],
    RowLengths: [1, 0, 2],
    RowStarts: [0, 1, 1],
    RowLimits: [1, 1, 3],
    ValueRowIds: [0, 2, 2],
}
"""The rows [[1], [], [2, 3]], said in each way."""


def rows(n_values: int, *partitions: list[int]) -> bytes:
    """Return an Example of values 1, 2, ... "v", and partitions "n", "m"."""
    keyed = zip("nm", partitions, strict=False)
    values = floats(*range(1, n_values + 1))
    return example(entry("v", values), *(entry(key, ints(*part)) for key, part in keyed))


def ragged(*partitions: Any, **named: Any) -> dict[str, Any]:
    return {"r": RaggedFeature("float32", "v", partitions, **named)}


def plain(answer: Answer) -> tuple[Any, ...]:
    """Return all splits and the values in an answer of either side."""
    assert answer.error is None, answer
    found = answer.value["r"]
    if not hasattr(found, "nested_row_splits"):
        return (np.asarray(found).tolist(),)
    parts = (*found.nested_row_splits, found.flat_values)
    return tuple(np.asarray(part).tolist() for part in parts)


def only_ours_reject(parsing: Parsing, records: list[bytes], specs: Any) -> list[tuple[Any, ...]]:
    """Check that only we reject; return what TensorFlow makes of a batch, and of one message."""
    answers = [parsing.ask_batch(records, specs)]
    if len(records) == 1:
        answers.append(parsing.ask_single(records[0], specs))
    for _, ours in answers:
        assert isinstance(ours.error, InvalidArgumentError), ours
        assert ours.error.reason is Reason.BAD_PARTITION
    return [plain(theirs) for theirs, _ in answers]


@rule("G1")
@pytest.mark.parametrize("dtype", ["float32", "int64", "string"])
def test_without_partitions(parsing: Parsing, dtype: str) -> None:
    values = {"float32": floats(1, 2), "int64": ints(1, 2), "string": strings(b"x", b"")}[dtype]
    records = [example(entry("v", values)), NOTHING, example(entry("v", NO_KIND))] * 15
    for splits_dtype in ("int32", "int64"):
        specs = {"r": RaggedFeature(dtype, "v", row_splits_dtype=splits_dtype)}
        for record in records[:3]:
            assert isinstance(parsing.single(record, specs)["r"], np.ndarray)
        found = parsing.batch(records, specs)["r"]
        assert found.row_splits.dtype == splits_dtype
        assert found.row_splits.tolist()[:5] == [0, 2, 2, 2, 4]
        parsing.batch([], specs)
    assert RaggedFeature("int64").row_splits_dtype == np.int32
    own_name = {"v": RaggedFeature(dtype)}
    parsing.batch(records, own_name)


@rule("G2")
@every_kind
@validated
@pytest.mark.parametrize("splits_dtype", ["int32", "int64"])
def test_a_partition_of_each_kind(
    parsing: Parsing, kind: Any, validate: bool, splits_dtype: str
) -> None:
    specs = ragged(kind("n"), validate=validate, row_splits_dtype=splits_dtype)
    records = [rows(3, SAME[kind]), NOTHING, rows(3, SAME[kind])]

    assert parsing.single(records[0], specs)["r"].to_list() == [[1], [], [2, 3]]
    found = parsing.batch(records, specs)["r"]
    assert found.to_list() == [[[1], [], [2, 3]], [], [[1], [], [2, 3]]]
    assert found.ragged_rank == 2
    assert found.row_splits.dtype == splits_dtype
    parsing.batch(records * 20, specs)


@rule("G2")
@pytest.mark.parametrize("outer", KEYED)
@pytest.mark.parametrize("inner", KEYED)
def test_partitions_are_outermost_first(parsing: Parsing, outer: Any, inner: Any) -> None:
    specs = ragged(outer("n"), inner("m"), validate=True)
    record = rows(3, SAME[outer], SAME[inner])

    assert parsing.single(record, specs)["r"].to_list() == [[[1]], [], [[], [2, 3]]]
    found = parsing.batch([record, NOTHING] * 20, specs)["r"]
    assert found.ragged_rank == 3
    assert found.to_list()[:2] == [[[[1]], [], [[], [2, 3]]], []]


@rule("G2")
@every_kind
def test_numbers_of_partitions_wrap_around_in_32_bits(parsing: Parsing, kind: Any) -> None:
    far = [number + 2**32 for number in SAME[kind]]
    found = parsing.batch([rows(3, far)], ragged(kind("n")))["r"]
    assert found.to_list() == [[[1], [], [2, 3]]]
    parsing.single(rows(3, far), ragged(kind("n"), validate=True))


@rule("G3")
@validated
def test_uniform_rows_of_a_plain_vector_reshape_it(parsing: Parsing, validate: bool) -> None:
    for partitions, n_values, shape in (
        ([Uniform(2)], 6, (3, 2)),
        ([Uniform(6)], 6, (1, 6)),
        ([Uniform(1)], 6, (6, 1)),
        ([Uniform(3), Uniform(2)], 12, (2, 3, 2)),
        ([Uniform(2)], 0, (0, 2)),
        ([Uniform(0)], 0, (1, 0)),
    ):
        specs = ragged(*partitions, validate=validate)
        assert parsing.single(rows(n_values), specs)["r"].shape == shape
        if shape != (1, 0):
            found = parsing.batch([rows(n_values), NOTHING] * 20, specs)["r"]
            assert found.ragged_rank == 1
            assert found.flat_values.shape == (20 * shape[0], *shape[1:])
    odd = ragged(Uniform(2), validate=validate)
    parsing.rejected([rows(3)], odd, Reason.BAD_PARTITION, copies=(1, 5, 41))
    parsing.rejected([rows(3)], ragged(Uniform(0), validate=validate), Reason.BAD_PARTITION)


@rule("G3")
@every_kind
@validated
def test_uniform_rows_above_and_below_ragged_ones(
    parsing: Parsing, kind: Any, validate: bool
) -> None:
    below = ragged(kind("n"), Uniform(2), validate=validate)
    found = parsing.single(rows(6, SAME[kind]), below)["r"]
    assert np.asarray(found.flat_values).shape == (3, 2)
    parsing.batch([rows(6, SAME[kind]), NOTHING] * 20, below)

    above = ragged(Uniform(3), kind("n"), validate=validate)
    found = parsing.single(rows(3, SAME[kind]), above)["r"]
    assert found.shape == (1, 3, None)
    assert parsing.batch([rows(3, SAME[kind])] * 40, above)["r"].shape == (40, None, 3, None)
    twice = ragged(Uniform(1), Uniform(3), kind("n"), validate=validate)
    parsing.batch([rows(3, SAME[kind])] * 2, twice)
    parsing.single(rows(3, SAME[kind]), twice)


@rule("G4")
@validated
def test_rows_of_length_0_or_negative_are_an_error_in_a_batch(
    parsing: Parsing, validate: bool
) -> None:
    for records in ([NOTHING], [NOTHING] * 40, []):
        theirs, ours = parsing.ask_batch(records, ragged(Uniform(0), validate=validate))
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
    parsing.rejected([rows(2)], ragged(Uniform(-1), validate=validate), Reason.BAD_ARGUMENT)


@deviation("G4")
@validated
def test_uniform_rows_that_cross_messages_are_an_error_here(
    parsing: Parsing, validate: bool
) -> None:
    specs = ragged(Uniform(2), validate=validate)
    assert only_ours_reject(parsing, [rows(1), rows(1)], specs) == [([0, 0, 1], [[1, 1]])]
    assert only_ours_reject(parsing, [rows(3), rows(1)], specs) == [([0, 1, 2], [[1, 2], [3, 1]])]
    above = ragged(Uniform(2), RowLengths("n"), validate=validate)
    [theirs] = only_ours_reject(parsing, [rows(3, [1, 1, 1]), rows(1, [1])], above)
    assert theirs[:2] == ([0, 1, 2], [0, 2, 4])


@rule("G5")
def test_the_first_split_of_a_message_in_a_batch_is_not_looked_at(parsing: Parsing) -> None:
    for validate in (False, True):
        specs = ragged(RowSplits("n"), validate=validate)
        records = [rows(3, [1, 3]), rows(2, [9, 1, 2]), rows(3, [0, 1, 3])]
        assert parsing.batch(records, specs)["r"].to_list() == [
            [[1, 2, 3]],
            [[1], [2]],
            [[1], [2, 3]],
        ]
    rejected = ragged(RowSplits("n"), validate=True)
    theirs, ours = parsing.ask_single(rows(3, [1, 3]), rejected)
    assert error_name(theirs) == "InvalidArgumentError"
    agree(theirs, ours)


@rule("G5")
def test_row_ids_may_leave_rows_empty(parsing: Parsing) -> None:
    specs = ragged(ValueRowIds("n"))
    records = [rows(2, [1, 4]), NOTHING, rows(1, [0]), rows(2, [2, 2])]
    found = parsing.batch(records, specs)["r"]
    assert found.to_list() == [[[], [1], [], [], [2]], [], [[1]], [[], [], [1, 2]]]
    parsing.single(records[0], specs)


@deviation("G5")
@pytest.mark.parametrize("far", [2**31 - 2, 2**40, 2**63 - 1])
def test_row_ids_do_not_take_memory_on_their_word(far: int) -> None:
    # Never asked of TensorFlow, which takes it.
    specs = ragged(ValueRowIds("n"), row_splits_dtype="int64")
    for answer in (
        ask(parse_example, [rows(2, [0, 1]), rows(2, [0, far])], specs),
        ask(parse_single_example, rows(1, [far]), specs),
    ):
        assert isinstance(answer.error, InvalidArgumentError)
        assert answer.error.reason is Reason.BAD_PARTITION


@rule("G5")
def test_many_rows_may_be_empty(parsing: Parsing) -> None:
    specs = ragged(ValueRowIds("n"))
    assert parsing.single(rows(2, [0, 10**5]), specs)["r"].nrows() == 10**5 + 1
    assert parsing.batch([rows(2, [7, 10**4])], specs)["r"].shape == (1, None, None)


INCONSISTENT: list[tuple[Any, list[int]]] = [
    (RowSplits, [0, 1]),
    (RowSplits, [0, 2, 1, 3]),
    (RowSplits, [0, 9]),
    (RowLengths, [1, 1]),
    (RowLengths, [4]),
    (RowLengths, [5, -2]),
    (RowStarts, [1, 2]),
    (RowStarts, [0, 2, 1]),
    (RowStarts, [0, 9]),
    (RowLimits, [1, 2]),
    (RowLimits, [4]),
    (RowLimits, [2, 1, 3]),
    (ValueRowIds, [0, 1, 0]),
]


@deviation("G6")
@pytest.mark.parametrize(("kind", "numbers"), INCONSISTENT)
def test_partitions_that_do_not_fit_are_an_error_here(
    parsing: Parsing, kind: Any, numbers: list[int]
) -> None:
    theirs = only_ours_reject(parsing, [rows(3, numbers)], ragged(kind("n")))
    assert [found[-1] for found in theirs] == [[1, 2, 3]] * 2
    only_ours_reject(parsing, [rows(3, SAME[kind])] * 40 + [rows(3, numbers)], ragged(kind("n")))


@deviation("G6")
@validated
def test_rows_that_cross_messages_are_an_error_here(parsing: Parsing, validate: bool) -> None:
    specs = ragged(RowLengths("n"), validate=validate)
    records = [rows(3, [2]), rows(1, [2])]
    assert only_ours_reject(parsing, records, specs) == [([0, 1, 2], [0, 2, 4], [1, 2, 3, 1])]
    specs = ragged(RowStarts("n"), validate=validate)
    records = [rows(2, [0]), rows(2, [1])]
    assert only_ours_reject(parsing, records, specs) == [([0, 1, 2], [0, 3, 4], [1, 2, 1, 2])]
    for kind in (RowSplits, RowLimits):
        specs = ragged(kind("n"), validate=validate)
        limits = [[0, 1], [0, 2]] if kind is RowSplits else [[1], [2]]
        records = [rows(2, limits[0]), rows(2, limits[1])]
        [theirs] = only_ours_reject(parsing, records, specs)
        assert theirs == ([0, 1, 2], [0, 1, 4], [1, 2, 1, 2])


@deviation("G6")
def test_a_first_split_other_than_0_is_an_error_here_for_one_message(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_single(rows(3, [1, 3]), ragged(RowSplits("n")))
    assert plain(theirs) == ([1, 3], [1, 2, 3])
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.BAD_PARTITION


@deviation("G6")
def test_rows_of_length_0_above_others_are_an_error_here(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_single(rows(3, [3]), ragged(Uniform(0), RowLengths("n")))
    assert plain(theirs) == ([0], [0, 3], [1, 2, 3])
    assert isinstance(ours.error, InvalidArgumentError)


@rule("G6")
@validated
def test_row_ids_of_another_number_are_an_error(parsing: Parsing, validate: bool) -> None:
    specs = ragged(ValueRowIds("n"), validate=validate)
    for numbers in ([], [0], [0, 0, 1, 1]):
        parsing.rejected([rows(3, numbers)], specs, Reason.BAD_PARTITION, "ValueError")
    parsing.rejected([rows(3, [0, -1, 2])], specs, Reason.BAD_PARTITION)


@rule("G7")
@pytest.mark.parametrize(("kind", "numbers"), INCONSISTENT)
def test_validation_rejects_partitions_that_do_not_fit(
    parsing: Parsing, kind: Any, numbers: list[int]
) -> None:
    specs = ragged(kind("n"), validate=True)
    parsing.rejected([rows(3, numbers)], specs, Reason.BAD_PARTITION)


@rule("G8")
@every_kind
@validated
def test_values_and_partition_missing_make_no_rows(
    parsing: Parsing, kind: Any, validate: bool
) -> None:
    specs = ragged(kind("n"), validate=validate)
    assert parsing.batch([NOTHING] * 2, specs)["r"].to_list() == [[], []]
    if kind is not RowSplits:
        assert parsing.single(NOTHING, specs)["r"].to_list() == []


@deviation("G8")
def test_missing_splits_make_no_rows_here(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_single(NOTHING, ragged(RowSplits("n")))
    assert plain(theirs) == ([], [])
    assert plain(ours) == ([0], [])
    assert isinstance(ours.value["r"], RaggedTensor)
    theirs, ours = parsing.ask_single(NOTHING, ragged(RowSplits("n"), validate=True))
    assert error_name(theirs) == "InvalidArgumentError"
    assert plain(ours) == ([0], [])


@deviation("G8")
@pytest.mark.parametrize(
    ("kind", "splits"), [(RowSplits, []), (RowLengths, [0]), (RowLimits, [0]), (RowStarts, [3])]
)
def test_values_without_their_partition_are_an_error_here(
    parsing: Parsing, kind: Any, splits: list[int]
) -> None:
    batch, single = only_ours_reject(parsing, [rows(3)], ragged(kind("n")))
    assert single == (splits, [1, 2, 3])
    assert batch[0] == [0, 0]
    if kind is RowStarts:  # nor does it help TensorFlow to validate
        only_ours_reject(parsing, [rows(3)], ragged(kind("n"), validate=True))
    else:
        specs = ragged(kind("n"), validate=True)
        parsing.rejected([rows(3)], specs, Reason.BAD_PARTITION)
