"""Sparse features: rules Z1 to Z6, asked of both."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.parity.building import entry, example, floats, ints, strings
from tests.parity.parsing import Parsing, agree
from tests.parity.rules import deviation, rule
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import SparseFeature, VarLenFeature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.parity.answers import Answer

NOTHING = example()


def points(values: Sequence[float], *indices: list[int]) -> bytes:
    """Return an Example of values "v" and their indices "i", "j", "k"."""
    keys = zip("ijk", indices, strict=False)
    return example(entry("v", floats(*values)), *(entry(key, ints(*at)) for key, at in keys))


def sparse(size: Any = 10, **named: Any) -> dict[str, Any]:
    return {"s": SparseFeature("i", "v", "float32", size, **named)}


def sparse_2d(size: Any = (10, 20), **named: Any) -> dict[str, Any]:
    return {"s": SparseFeature(["i", "j"], "v", "float32", size, **named)}


def triple(answer: Answer) -> tuple[Any, ...]:
    """Return indices, values and shape in an answer of either side."""
    assert answer.error is None, answer
    found = answer.value["s"]
    parts = (found.indices, found.values, found.dense_shape)
    return tuple(np.asarray(part).tolist() for part in parts)


def only_ours_reject(parsing: Parsing, records: list[bytes], specs: Any) -> tuple[Any, ...]:
    """Check that only we reject a batch, and return what TensorFlow makes of it."""
    theirs, ours = parsing.ask_batch(records, specs)
    assert isinstance(ours.error, InvalidArgumentError), ours
    assert ours.error.reason is Reason.BAD_INDEX
    if len(records) == 1:
        single, our_single = parsing.ask_single(records[0], specs)
        assert single.error is None
        assert isinstance(our_single.error, InvalidArgumentError)
    return triple(theirs)


@rule("Z1")
@pytest.mark.parametrize("dtype", ["float32", "int64", "string"])
def test_values_and_their_indices_make_a_sparse_tensor(parsing: Parsing, dtype: str) -> None:
    values = {"float32": floats(1, 2), "int64": ints(1, 2), "string": strings(b"x", b"")}[dtype]
    given = example(
        entry("v", values), entry("i", ints(0, 9)), entry("j", ints(19, 0)), entry("k", ints(1, 1))
    )
    for keys, size in (
        ("i", 10),
        (["i"], [10]),
        (("i", "j"), (10, 20)),
        (["k", "i", "j"], [2, 10, 20]),
    ):
        specs = {"s": SparseFeature(keys, "v", dtype, size)}
        n_dims = 1 if keys == "i" else len(keys)
        assert parsing.single(given, specs)["s"].indices.shape == (2, n_dims)
        found = parsing.batch([given, NOTHING, given] * 15, specs)["s"]
        assert found.indices.shape == (60, n_dims + 1)
        assert found.dense_shape.tolist() == [45, *np.atleast_1d(size)]
        parsing.single(NOTHING, specs)
        parsing.batch([NOTHING], specs)
    assert parsing.single(points([], []), sparse(0))["s"].dense_shape.tolist() == [0]


@rule("Z2")
@pytest.mark.parametrize("already_sorted", [False, True])
def test_entries_are_sorted_by_index_and_stable(parsing: Parsing, already_sorted: bool) -> None:
    specs, specs_2d = (
        sparse(already_sorted=already_sorted),
        sparse_2d(already_sorted=already_sorted),
    )
    given = [
        points([1, 2, 3, 4], [5, 2, 2, 0], list(order)) for order in permutations((0, 0, 3, 1))
    ]

    for record in given[::5]:
        parsing.single(record, specs)
        parsing.single(record, specs_2d)
    for four in (given[:4], given[3::6]):
        agree(*parsing.ask_batch(four, specs))
        agree(*parsing.ask_batch(four, specs_2d))
    distinct = [points([1, 2, 3], list(order)) for order in permutations((7, 0, 3))]
    parsing.batch(distinct * 10, specs)
    found = parsing.single(given[0], specs)["s"]
    if already_sorted:
        assert found.values.tolist() == [1, 2, 3, 4]
    else:
        assert found.values.tolist() == [4, 2, 3, 1]  # the two at index 2 in their order
        assert found.indices.tolist() == [[0], [2], [2], [5]]


@deviation("Z2")
def test_of_many_entries_too_the_order_of_equal_ones_is_kept_here(parsing: Parsing) -> None:
    record = points(list(range(100)), [number % 3 for number in range(100)])
    theirs, ours = parsing.ask_single(record, sparse())
    indices, values, shape = triple(ours)
    their_indices, their_values, their_shape = triple(theirs)

    assert (their_indices, their_shape) == (indices, shape)
    assert values == sorted(range(100), key=lambda number: number % 3)
    assert their_values != values
    assert sorted(their_values) == sorted(values)


@deviation("Z3")
@pytest.mark.parametrize("index", [10, 11, -1, 2**61, -(2**62)])
def test_an_index_out_of_range_is_an_error_here(parsing: Parsing, index: int) -> None:
    for already_sorted in (False, True):
        theirs = only_ours_reject(
            parsing, [points([1], [index])], sparse(already_sorted=already_sorted)
        )
        assert theirs == ([[0, index]], [1], [1, 10])
        records = [points([1], [3])] * 40 + [points([1, 2], [4, index])]
        only_ours_reject(parsing, records, sparse(already_sorted=already_sorted))
    only_ours_reject(parsing, [points([1], [0], [2 * index])], sparse_2d([10, 20]))


@rule("Z4")
def test_indices_and_values_of_different_numbers_are_an_error(parsing: Parsing) -> None:
    for values, index in (([1, 2, 3], [1, 1]), ([1], []), ([], [1]), ([1, 2], [0, 1, 2])):
        parsing.rejected([points(values, index)], sparse(), Reason.BAD_INDEX, "ValueError")
    only_values, only_indices = example(entry("v", floats(1))), example(entry("i", ints(1)))
    parsing.rejected([only_values], sparse(), Reason.BAD_INDEX, "ValueError")
    parsing.rejected([only_indices], sparse(), Reason.BAD_INDEX, "ValueError")
    uneven, even = points([1, 2], [1, 2], [1]), points([1, 2], [1], [1])
    parsing.rejected([uneven], sparse_2d(), Reason.BAD_INDEX)
    parsing.rejected([even], sparse_2d(), Reason.BAD_INDEX, "ValueError")


@deviation("Z4")
def test_numbers_are_compared_message_by_message_here(parsing: Parsing) -> None:
    records = [points([1], [1, 2]), points([2, 3], [4])]
    indices, values, _ = only_ours_reject(parsing, records, sparse())
    assert indices == [[0, 1], [0, 2], [1, 4]]
    assert values == [1, 2, 3]  # the second value was one of the second message's


@rule("Z5")
def test_sizes_must_match_index_keys(parsing: Parsing) -> None:
    record = points([1], [2], [3])
    for size in (np.int32(10), 10, 2**63 - 1):
        parsing.batch([record], sparse(size))
    for sizes in ([10, 20], (10, 20), np.array([10, 20])):
        parsing.batch([record], sparse_2d(sizes))
    for specs in (sparse([10]), sparse((10,)), sparse(10.0), sparse(None), sparse("10")):
        parsing.rejected([record], specs, None, "TypeError")
    parsing.rejected([record], sparse_2d(10), None, "TypeError")
    for sizes in ([10], [10, 20, 30], []):
        parsing.rejected([record], sparse_2d(sizes), Reason.BAD_ARGUMENT, "ValueError")
    for index_key, value_key in (("", "v"), ([], "v"), (None, "v"), ("i", ""), ("i", None)):
        specs = {"s": SparseFeature(index_key, value_key, "float32", 10)}  # type: ignore[arg-type]
        parsing.rejected([record], specs, Reason.BAD_ARGUMENT, "ValueError")
    no_dtype = {"s": SparseFeature("i", "v", None, 10)}
    parsing.rejected([record], no_dtype, Reason.BAD_ARGUMENT, "ValueError")


@deviation("Z5")
def test_a_negative_size_is_an_error_here(parsing: Parsing) -> None:
    for specs in (sparse(-1), sparse_2d([10, -1])):
        theirs, ours = parsing.ask_batch([NOTHING], specs)
        assert triple(theirs)[-1][-1] == -1
        assert isinstance(ours.error, InvalidArgumentError)
        assert ours.error.reason is Reason.BAD_ARGUMENT


@rule("Z6")
def test_the_keys_it_reads_are_not_in_the_result_unless_asked_for(parsing: Parsing) -> None:
    record = points([1, 2], [3, 0])
    assert set(parsing.single(record, sparse())) == {"s"}
    more = {**sparse(), "v": VarLenFeature("float32")}
    assert set(parsing.batch([record], more)) == {"s", "v"}
    own_key = {"v": SparseFeature("i", "v", "float32", 10), **sparse()}
    assert parsing.single(record, own_key)["v"].dense_shape.tolist() == [10]
    for keys in ("i", ["i", "i"]):
        size = 10 if keys == "i" else [10, 10]
        parsing.batch([record], {"s": SparseFeature(keys, "i", "int64", size)})
    agree(*parsing.ask_single(record, {"i": SparseFeature("i", "i", "float32", 10)}))
