"""Calls, dense and variable-length features of Examples: rules E, X, S and V, asked of both."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.parity.answers import ask
from tests.parity.building import NO_KIND, entry, example, floats, ints, strings
from tests.parity.parsing import Parsing, agree, error_name
from tests.parity.rules import deviation, rule
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.parse import parse_example, parse_single_example
from tfrecord_lite.schema import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

DTYPES = ["float32", "int64", "string"]
MAKE: dict[str, Any] = {"float32": floats, "int64": ints, "string": strings}
SOME: dict[str, list[Any]] = {
    "float32": [1.5, -2.0, 0.0, 3.0, 4.0, 5.0],
    "int64": [1, -2, 0, 2**63 - 1, -(2**63), 5],
    "string": [b"x", b"", b"\xff\0", b"yy", b"z" * 300, b"w"],
}
NOTHING = example()


def record(dtype: str, n_values: int | None) -> bytes:
    """Return an Example whose feature "a" has that many values, or is missing if None."""
    if n_values is None:
        return NOTHING
    return example(entry("a", MAKE[dtype](*SOME[dtype][:n_values])))


def sequence(shape: Any, dtype: str, default: Any = None) -> FixedLenSequenceFeature:
    return FixedLenSequenceFeature(shape, dtype, allow_missing=True, default_value=default)


# Calls


@rule("E1")
def test_one_message_or_a_vector_of_them(parsing: Parsing) -> None:
    one = record("float32", 1)
    specs = {"a": FixedLenFeature([1], "float32")}

    for given in (one, np.array(one, object), np.bytes_(one)):
        assert parsing.single(given, specs)["a"].shape == (1,)
        assert parsing.batch(given, specs)["a"].shape == (1,)  # a scalar gives single results
    for many in ([one, one], (one, one), np.array([one, one], object)):
        assert parsing.batch(many, specs)["a"].shape == (2, 1)
        theirs, ours = parsing.ask_single(many, specs)
        assert type(theirs.error) is ValueError
        agree(theirs, ours)
    for deep in ([[one]], np.array([[one]], object), np.empty((0, 1), object)):
        theirs, ours = parsing.ask_batch(deep, specs)
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
    for text in ("", [""], np.array([""])):
        parsing.batch(text, {"a": VarLenFeature("int64")})
    parsing.single("", {"a": VarLenFeature("int64")})


@deviation("E1")
def test_bytes_in_any_object_are_taken_here_and_what_is_none_is_a_type_error(
    parsing: Parsing,
) -> None:
    one = record("float32", 1)
    specs = {"a": FixedLenFeature([1], "float32")}
    for answers in (
        parsing.ask_single(bytearray(one), specs),
        parsing.ask_batch(bytearray(one), specs),
    ):
        assert [type(answer.error) for answer in answers] == [ValueError, type(None)]
    for wrong in (5, None, [5], [None]):
        theirs, ours = parsing.ask_batch(wrong, specs)
        assert type(theirs.error) in {ValueError, TypeError}
        assert type(ours.error) is TypeError


@rule("E2")
@pytest.mark.parametrize(
    "specs", [None, {}, {"a": "x"}, {"a": None}, {"a": np.uint8}, {"a": FixedLenFeature}]
)
def test_features_must_be_there_and_be_features(parsing: Parsing, specs: Any) -> None:
    for answers in (parsing.ask_single(NOTHING, specs), parsing.ask_batch([NOTHING], specs)):
        assert type(answers[0].error) is ValueError
        agree(*answers)


@deviation("E2")
def test_keys_are_text_here(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_batch([NOTHING], {b"a": VarLenFeature("int64")})
    assert theirs.error is None
    assert type(ours.error) is TypeError


@deviation("E2")
def test_a_dtype_is_a_feature_here(parsing: Parsing) -> None:
    specs: Any = {"a": np.float32}
    theirs, ours = parsing.ask_batch([record("float32", 1)], specs)
    assert type(theirs.error) is ValueError
    assert ours.error is None


@rule("E3")
def test_example_names_have_the_shape_of_the_messages(parsing: Parsing) -> None:
    specs = {"a": FixedLenFeature([1], "float32")}
    one = record("float32", 1)
    names: Any
    for names in ([], None, "n"):
        parsing.single(one, specs, example_names=names)
    for names in ([], None, ["n", "m"], np.array(["n", "m"])):
        parsing.batch([one, one], specs, example_names=names)
    wrong: list[tuple[Any, Any, Any]] = [
        (parsing.ask_single, one, ["n"]),
        (parsing.ask_single, one, ["n", "m"]),
        (parsing.ask_batch, one, ["n"]),
        (parsing.ask_batch, [one], "n"),
        (parsing.ask_batch, [one], [["n"]]),
        (parsing.ask_batch, [one, one], ["n"]),
        (parsing.ask_batch, [one, one], "nm"),
        (parsing.ask_batch, [], ["n"]),
    ]
    for asking, given, names in wrong:
        theirs, ours = asking(given, specs, example_names=names)
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
        assert ours.error.reason is Reason.BAD_ARGUMENT


@rule("E3")
def test_example_names_are_in_the_errors(parsing: Parsing) -> None:
    specs = {"a": FixedLenFeature([1], "float32")}
    records = [record("float32", n) for n in (1, 2, 1)]
    for answer in parsing.ask_batch(records, specs, example_names=["n0", "n1", "n2"]):
        assert re.search(r"\bn1\b", str(answer.error))
        assert not re.search(r"\bn[02]\b", str(answer.error))
    _, ours = parsing.ask_single(NOTHING, specs, example_names="single")
    assert "single" in str(ours.error)


@rule("E4")
def test_results_are_a_dict_of_the_features_asked_for(parsing: Parsing) -> None:
    specs = {
        "z": SparseFeature("i", "v", "float32", 5),
        "b": FixedLenFeature([], "int64"),
        "r": RaggedFeature("float32", "w", [RaggedFeature.RowLengths("n")]),
        "a": VarLenFeature("int64"),
    }
    given = example(entry("b", ints(1)), entry("more", ints(2)), entry("i", ints()))

    for results in (parsing.single(given, specs), parsing.batch([given], specs)):
        assert type(results) is dict
        assert set(results) == set(specs)


@rule("E5")
@pytest.mark.parametrize("n_messages", [3, 60])
@pytest.mark.parametrize("bad", [None, 2])
@pytest.mark.parametrize("later", [None, 2, "kind", "junk"])
def test_an_error_is_that_of_the_first_message_that_is_wrong(
    parsing: Parsing, n_messages: int, bad: int | None, later: Any
) -> None:
    others = {"kind": example(entry("a", ints(1))), "junk": b"\xff"}
    records = [record("float32", 1)] * n_messages
    first = n_messages // 2
    records[first] = record("float32", bad)
    records[-1] = others[later] if later in others else record("float32", later)
    specs = {"b": VarLenFeature("string"), "a": FixedLenFeature([1], "float32")}

    error = parsing.rejected(records, specs, Reason.MISSING if bad is None else Reason.WRONG_COUNT)

    assert error.index == first
    assert error.key == "a"


@deviation("E5")
def test_of_several_faults_of_a_message_another_may_be_told_here(parsing: Parsing) -> None:
    bad = example(entry("b", ints(1)))
    specs = {"a": FixedLenFeature([1], "float32"), "b": FixedLenFeature([1], "float32")}

    theirs, ours = parsing.ask_batch([bad], specs)

    assert "Key: b" in str(theirs.error)
    assert isinstance(ours.error, InvalidArgumentError)
    assert (ours.error.key, ours.error.reason) == ("a", Reason.MISSING)


@rule("E6")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_batch_of_no_messages(parsing: Parsing, dtype: str) -> None:
    uniform = RaggedFeature.UniformRowLength(2)
    specs = {
        "scalar": FixedLenFeature([], dtype),
        "dense": FixedLenFeature([2, 3], dtype),
        "padded": sequence([2], dtype),
        "var": VarLenFeature(dtype),
        "sparse": SparseFeature(["i", "j"], "v", dtype, [5, 6]),
        "ragged": RaggedFeature(dtype),
        "deep": RaggedFeature(dtype, "w", [RaggedFeature.RowLengths("n"), uniform]),
    }

    results = parsing.batch([], specs)

    assert results["dense"].shape == (0, 2, 3)
    assert results["padded"].shape == (0, 0, 2)
    assert results["var"].dense_shape.tolist() == [0, 0]
    assert results["ragged"].row_splits.tolist() == [0]


@rule("E7")
def test_features_that_may_share_a_key(parsing: Parsing) -> None:
    sparse = SparseFeature("i", "v", "float32", 5)
    splits = RaggedFeature.RowLengths("n")
    given = example(entry("i", ints(3, 1)), entry("v", floats(1, 2)), entry("n", ints(1, 1)))
    for specs in (
        {"s": sparse, "i": VarLenFeature("int64"), "v": VarLenFeature("float32")},
        {"s": sparse, "t": SparseFeature("i", "v", "float32", 9, already_sorted=True)},
        {"r": RaggedFeature("float32", "v", [splits]), "n": RaggedFeature("int64")},
        {"r": RaggedFeature("float32", "v", [splits]), "q": RaggedFeature("float32", "v")},
    ):
        parsing.single(given, specs)
        parsing.batch([given] * 2, specs)


@rule("E7")
def test_features_that_may_not_share_a_key(parsing: Parsing) -> None:
    dense, padded = FixedLenFeature([1], "int64"), sequence([], "int64")
    var, var_float = VarLenFeature("int64"), VarLenFeature("float32")
    splits = RaggedFeature.RowLengths("a")
    clashes: list[tuple[Any, Any]] = [
        (dense, RaggedFeature("int64", "a")),
        (padded, RaggedFeature("int64", "z", [splits])),
        (dense, SparseFeature("a", "z", "int64", 5)),
        (padded, SparseFeature("z", "a", "int64", 5)),
        (var, RaggedFeature("int64", "a")),
        (var, RaggedFeature("int64", "z", [splits])),
        (var_float, SparseFeature("a", "z", "int64", 5)),
        (var, SparseFeature("z", "a", "float32", 5)),
        (RaggedFeature("float32"), RaggedFeature("int64", "a")),
        (RaggedFeature("int64"), RaggedFeature("int64", "a", row_splits_dtype="int64")),
        (RaggedFeature("float32"), RaggedFeature("int64", "z", [splits])),
        (RaggedFeature("int64"), SparseFeature("a", "z", "int64", 5)),
    ]
    for one, other in clashes:
        for specs in ({"a": one, "b": other}, {"b": other, "a": one}):
            parsing.rejected([NOTHING], specs, Reason.BAD_ARGUMENT, "ValueError")


@rule("E8")
def test_ragged_features_alone_check_their_arguments_when_made(parsing: Parsing) -> None:
    cases: list[tuple[Any, ...]] = [
        ("float64",),
        ("int32",),
        ("int64", ""),
        ("int64", 5),
        ("int64", "v", 5),
        ("int64", "v", [5]),
        ("int64", "v", ["n"]),
        ("int64", "v", (), "float32"),
        ("int64", "v", (), "int32", "yes"),
        ("int64", "v", (), "int32", 1),
    ]
    for arguments in cases:
        dtype, *others = arguments
        if len(others) > 2:
            others[2] = parsing.tf.as_dtype(others[2])
        theirs = ask(parsing.tf.io.RaggedFeature, parsing.tf.as_dtype(dtype), *others)
        assert theirs.error is not None
        agree(theirs, ask(RaggedFeature, *arguments))


@rule("E8")
def test_other_features_are_checked_when_used(parsing: Parsing) -> None:
    for spec, error in (
        (FixedLenFeature(None, "float32"), "ValueError"),
        (FixedLenFeature([None], "float32"), "ValueError"),
        (FixedLenFeature([2], "float32", [1]), "InvalidArgumentError"),
        (FixedLenFeature([1], "float64"), "InvalidArgumentError"),
        (FixedLenSequenceFeature([], "float32"), "ValueError"),
        (VarLenFeature(None), "ValueError"),
        (VarLenFeature("int32"), "InvalidArgumentError"),
        (SparseFeature(None, "v", "float32", 5), "ValueError"),
        (SparseFeature("i", "v", "uint8", 5), "InvalidArgumentError"),
    ):
        for theirs, ours in (
            parsing.ask_single(NOTHING, {"a": spec}),
            parsing.ask_batch([NOTHING], {"a": spec}),
        ):
            assert error_name(theirs) == error
            agree(theirs, ours)


# FixedLenFeature


@rule("X1")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [1], [6], [2, 3], [3, 1, 2], [0], [2, 0]])
@pytest.mark.parametrize("n_messages", [1, 3, 40])
def test_a_dense_feature_has_its_shape(
    parsing: Parsing, dtype: str, shape: list[int], n_messages: int
) -> None:
    given = record(dtype, int(np.prod(shape)))
    specs = {"a": FixedLenFeature(shape, dtype)}

    assert parsing.single(given, specs)["a"].shape == tuple(shape)
    assert parsing.batch([given] * n_messages, specs)["a"].shape == (n_messages, *shape)


@rule("X2")
def test_shapes_that_can_and_cannot_be(parsing: Parsing) -> None:
    shape_of = parsing.tf.TensorShape
    for shape in ([2], (2,), 2, np.int64(2), np.array([2]), shape_of([2]), [np.int32(2)]):
        parsing.batch([record("float32", 2)], {"a": FixedLenFeature(shape, "float32")})
    for wrong in (None, [None], [None, 2], [2, None], [-1], [2, -1], -1, shape_of(None)):
        spec = FixedLenFeature(wrong, "float32")
        parsing.rejected([record("float32", 2)], {"a": spec}, Reason.BAD_ARGUMENT, "ValueError")
    for wrong in ("2", 2.0, [2.0], ["2"], [True], [[2]]):
        spec = FixedLenFeature(wrong, "float32")
        for theirs, ours in (
            parsing.ask_single(record("float32", 2), {"a": spec}),
            parsing.ask_batch([record("float32", 2)], {"a": spec}),
        ):
            assert theirs.error is not None
            agree(theirs, ours)
    no_dtype = {"a": FixedLenFeature([2], None)}
    parsing.rejected([record("float32", 2)], no_dtype, Reason.BAD_ARGUMENT, "ValueError")


@rule("X3")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("missing", [NOTHING, example(entry("a", NO_KIND)), b""])
def test_what_is_missing_or_has_no_kind_takes_the_default(
    parsing: Parsing, dtype: str, missing: bytes
) -> None:
    default = SOME[dtype][1:3]
    specs = {"a": FixedLenFeature([2], dtype, default), "b": FixedLenFeature([], dtype, default[0])}

    assert parsing.single(missing, specs)["a"].tolist() == default
    mixed = [record(dtype, 2), missing] * 30
    results = parsing.batch(mixed, specs)
    assert results["a"].tolist() == [SOME[dtype][:2], default] * 30
    assert results["b"].tolist() == [default[0]] * 60
    parsing.rejected([missing], {"a": FixedLenFeature([2], dtype)}, Reason.MISSING)


@rule("X4")
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_list_is_not_missing(parsing: Parsing, dtype: str) -> None:
    empty = record(dtype, 0)
    for default in (None, SOME[dtype][:1]):
        spec = FixedLenFeature([1], dtype, default)
        parsing.rejected([empty], {"a": spec}, Reason.WRONG_COUNT)
        parsing.rejected([record(dtype, 1)] * 40 + [empty], {"a": spec}, Reason.WRONG_COUNT)
    assert parsing.single(empty, {"a": FixedLenFeature([0], dtype)})["a"].shape == (0,)


@rule("X5")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n_values", "shape"), [(3, [2]), (1, [2]), (2, []), (5, [2, 3]), (1, [0])]
)
def test_another_number_of_values_is_an_error(
    parsing: Parsing, dtype: str, n_values: int, shape: list[int]
) -> None:
    size = int(np.prod(shape))
    spec = FixedLenFeature(shape, dtype)

    parsing.rejected([record(dtype, n_values)], {"a": spec}, Reason.WRONG_COUNT)

    records = [record(dtype, size)] * 40
    records[35] = record(dtype, n_values)
    error = parsing.rejected(records, {"a": spec}, Reason.WRONG_COUNT)
    assert (error.index, error.key) == (35, "a")


@rule("X6")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("n_values", [0, 1])
def test_another_kind_is_an_error(parsing: Parsing, dtype: str, other: str, n_values: int) -> None:
    if dtype == other:
        return
    for spec in (
        FixedLenFeature([1], dtype),
        FixedLenFeature([1], dtype, SOME[dtype][:1]),
        FixedLenFeature([0], dtype),
        sequence([], dtype),
    ):
        parsing.rejected([record(other, n_values)], {"a": spec}, Reason.WRONG_KIND)
        n_right = 0 if spec.shape == [0] else 1
        records = [record(dtype, n_right)] * 50 + [record(other, n_values)]
        parsing.rejected(records, {"a": spec}, Reason.WRONG_KIND)


GOOD_DEFAULTS: list[tuple[str, list[int], Any]] = [
    ("float32", [], 1),
    ("float32", [], True),
    ("float32", [], [1.5]),
    ("float32", [1], 1.5),
    ("float32", [2, 1], [1, 2]),
    ("float32", [2], [[1], [2]]),
    ("float32", [2], np.array([1, 2], np.int16)),
    ("float32", [2], np.array([True, False])),
    ("float32", [], 1e40),
    ("float32", [], float("nan")),
    ("int64", [], True),
    ("int64", [], 2**63 - 1),
    ("int64", [], np.uint8(200)),
    ("int64", [1, 2], np.array([1.0, 2.0])),
    ("int64", [2], (1, 2)),
    ("string", [], "ä"),
    ("string", [], b"\xff"),
    ("string", [2], ["x", b"y"]),
    ("string", [2, 1], np.array(["x", "y"])),
    ("string", [2], np.array([b"x", b"y"], object)),
    ("string", [1], np.bytes_(b"x")),
]
BAD_DEFAULTS: list[tuple[str, list[int], Any]] = [
    ("float32", [2], 1),
    ("float32", [2], [1]),
    ("float32", [], [1, 2]),
    ("float32", [], []),
    ("float32", [], "x"),
    ("float32", [], b"x"),
    ("float32", [], 1j),
    ("float32", [2], [[1], [2, 3]]),
    ("float32", [], 10**400),
    ("int64", [], 1.0),
    ("int64", [2], [1, 2.0]),
    ("int64", [], "1"),
    ("int64", [], 2**63),
    ("int64", [], -(2**63) - 1),
    ("string", [], 1),
    ("string", [], 1.0),
    ("string", [], True),
    ("string", [2], "x"),
]


@rule("X7")
@pytest.mark.parametrize(("dtype", "shape", "default"), GOOD_DEFAULTS)
def test_defaults_are_converted_and_reshaped(
    parsing: Parsing, dtype: str, shape: list[int], default: Any
) -> None:
    spec = FixedLenFeature(shape, dtype, default)
    assert parsing.single(NOTHING, {"a": spec})["a"].shape == tuple(shape)
    parsing.batch([NOTHING, record(dtype, int(np.prod(shape)))], {"a": spec})


@rule("X7")
@pytest.mark.parametrize(("dtype", "shape", "default"), BAD_DEFAULTS)
def test_defaults_that_do_not_fit_are_an_error_even_if_not_needed(
    parsing: Parsing, dtype: str, shape: list[int], default: Any
) -> None:
    spec = FixedLenFeature(shape, dtype, default)
    full = record(dtype, int(np.prod(shape)))
    for given in (NOTHING, full):
        for theirs, ours in (
            parsing.ask_single(given, {"a": spec}),
            parsing.ask_batch([given], {"a": spec}),
        ):
            assert theirs.error is not None
            agree(theirs, ours)


@deviation("X7")
@pytest.mark.parametrize(
    ("dtype", "default", "theirs_give"),
    [
        ("int64", np.array([1.5]), 1),
        ("int64", np.array([2**63], np.uint64), -(2**63)),
        ("int64", np.uint64(2**64 - 1), -1),
    ],
)
def test_defaults_that_would_be_cut_are_an_error_here(
    parsing: Parsing, dtype: str, default: Any, theirs_give: int
) -> None:
    theirs, ours = parsing.ask_single(NOTHING, {"a": FixedLenFeature([], dtype, default)})
    assert int(theirs.value["a"]) == theirs_give
    assert isinstance(ours.error, InvalidArgumentError)
    assert ours.error.reason is Reason.BAD_ARGUMENT


@deviation("X7")
def test_defaults_of_mixed_kinds_are_a_type_error_here(parsing: Parsing) -> None:
    for dtype, default in (
        ("float32", [1, "x"]),
        ("float32", np.array(["x"])),
        ("string", ["x", 1]),
    ):
        spec = FixedLenFeature([len(default)], dtype, default)
        theirs, ours = parsing.ask_single(NOTHING, {"a": spec})
        assert type(theirs.error) is ValueError
        assert type(ours.error) is TypeError


@rule("X8")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[0], [2, 0]])
def test_a_shape_of_no_values_has_no_default(
    parsing: Parsing, dtype: str, shape: list[int]
) -> None:
    spec = FixedLenFeature(shape, dtype, np.empty(shape, "S1" if dtype == "string" else dtype))
    parsing.rejected([NOTHING], {"a": spec}, Reason.MISSING)
    assert parsing.single(record(dtype, 0), {"a": spec})["a"].shape == tuple(shape)


# FixedLenSequenceFeature


@rule("S1")
def test_a_sequence_has_to_be_allowed_to_be_missing(parsing: Parsing) -> None:
    spec = FixedLenSequenceFeature([], "float32")
    parsing.rejected([record("float32", 2)], {"a": spec}, Reason.UNSUPPORTED, "ValueError")


@rule("S2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [1], [2], [2, 1]])
def test_sequences_are_padded_in_a_batch(parsing: Parsing, dtype: str, shape: list[int]) -> None:
    size = int(np.prod(shape))
    counts = [2 * size, None, 0, size, 4 * size if size == 1 else 2 * size]
    for default in (None, SOME[dtype][1]):
        specs = {"a": sequence(shape, dtype, default)}
        records = [record(dtype, n) for n in counts] + [example(entry("a", NO_KIND))]
        longest = max(n or 0 for n in counts) // size
        assert parsing.batch(records, specs)["a"].shape == (6, longest, *shape)
        assert parsing.batch(records * 10, specs)["a"].shape == (60, longest, *shape)
        for given, n_values in zip(records, [*counts, 0], strict=True):
            assert len(parsing.single(given, specs)["a"]) == (n_values or 0) // size
        assert parsing.batch([NOTHING] * 2, specs)["a"].shape == (2, 0, *shape)


@deviation("S2")
def test_the_shape_of_a_block_may_be_a_number_here(parsing: Parsing) -> None:
    theirs, ours = parsing.ask_batch([record("float32", 2)], {"a": sequence(2, "float32")})
    assert type(theirs.error) is TypeError
    assert ours.value["a"].shape == (1, 1, 2)
    theirs, ours = parsing.ask_batch([record("float32", 2)], {"a": sequence(None, "float32")})
    assert type(theirs.error) is TypeError
    assert type(ours.error) is InvalidArgumentError


@rule("S3")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_values", [1, 3, 5])
def test_part_of_a_block_is_an_error(parsing: Parsing, dtype: str, n_values: int) -> None:
    specs = {"a": sequence([2], dtype)}
    parsing.rejected([record(dtype, n_values)], specs, Reason.WRONG_COUNT)
    records = [record(dtype, 4)] * 40
    records[36] = record(dtype, n_values)
    assert parsing.rejected(records, specs, Reason.WRONG_COUNT).index == 36


@rule("S4")
@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_is_one_value(parsing: Parsing, dtype: str) -> None:
    value = SOME[dtype][0]
    records = [record(dtype, 4), NOTHING]
    for one in (value, [value], [[value]]):
        parsing.batch(records, {"a": sequence([2], dtype, one)})
        parsing.single(records[0], {"a": sequence([2], dtype, one)})
    for wrong in ([], [value, value], [[value], [value]]):
        specs = {"a": sequence([2], dtype, wrong)}
        theirs, ours = parsing.ask_batch(records, specs)
        assert error_name(theirs) == "InvalidArgumentError"
        agree(theirs, ours)
        agree(*parsing.ask_single(records[0], specs))


@deviation("S5")
@pytest.mark.parametrize("shape", [[0], [2, 0]])
@pytest.mark.parametrize("given", [NOTHING, record("float32", 0), record("float32", 2)])
def test_blocks_of_no_values_are_an_error(shape: list[int], given: bytes) -> None:
    # Never asked of TensorFlow, which divides by their size and dies.
    specs = {"a": sequence(shape, "float32")}
    for answer in (
        ask(parse_example, [given], specs),
        ask(parse_single_example, given, specs),
    ):
        assert isinstance(answer.error, InvalidArgumentError)
        assert answer.error.reason is Reason.BAD_ARGUMENT


# VarLenFeature


@rule("V1")
@pytest.mark.parametrize("dtype", DTYPES)
def test_variable_lengths_are_a_sparse_matrix(parsing: Parsing, dtype: str) -> None:
    specs = {"a": VarLenFeature(dtype)}
    no_kind = example(entry("a", NO_KIND))
    for missing in (NOTHING, no_kind, record(dtype, 0)):
        assert parsing.single(missing, specs)["a"].dense_shape.tolist() == [0]
        assert parsing.batch([missing] * 2, specs)["a"].dense_shape.tolist() == [2, 0]
    assert parsing.single(record(dtype, 3), specs)["a"].indices.tolist() == [[0], [1], [2]]
    records = [record(dtype, 2), NOTHING, record(dtype, 3), no_kind, record(dtype, 0)]
    found = parsing.batch(records, specs)["a"]
    assert found.indices.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]
    assert found.dense_shape.tolist() == [5, 3]
    assert found.indices.dtype == found.dense_shape.dtype == np.int64
    parsing.batch(records * 12, specs)


@rule("V2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("n_values", [0, 1])
def test_another_kind_is_an_error_for_variable_lengths(
    parsing: Parsing, dtype: str, other: str, n_values: int
) -> None:
    if dtype == other:
        return
    wrong = record(other, n_values)
    for spec in (VarLenFeature(dtype), RaggedFeature(dtype)):
        parsing.rejected([wrong], {"a": spec}, Reason.WRONG_KIND)
        parsing.rejected([record(dtype, 1)] * 50 + [wrong], {"a": spec}, Reason.WRONG_KIND)
