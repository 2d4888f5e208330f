"""What two batches, or two files, cannot be stored as together: one test for each reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import raised
from tests.support.untyped import load
from tfrecord_lite import (
    FixedLenFeature,
    RaggedFeature,
    RaggedTensor,
    SparseFeature,
    SparseTensor,
    VarLenFeature,
    save,
)
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original, SchemaItem
from tfrecord_lite.schema.types import IncompatibleError, as_absent, as_missing, as_ragged, widened


def item(column: Any) -> SchemaItem:
    return schema_of({"x": column}).to_items()["x"]


def ints(dtype: str = "int64", shape: Any = (), **members: Any) -> SchemaItem:
    """An item of an int64 list."""
    return SchemaItem(FixedLenFeature([], int), Original(dtype, shape, **members))


def strings(text: str | None, **members: Any) -> SchemaItem:
    return SchemaItem(FixedLenFeature([], bytes), Original("string", (), text, **members))


def raw(dtype: str) -> SchemaItem:
    """An item of numbers that are stored as their bytes."""
    return SchemaItem(FixedLenFeature([], bytes), Original(dtype, (2,)))


PLAIN = SchemaItem(FixedLenFeature([], int), None)
SPARSE = item(SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0), (1, 3)))
WIDER_SPARSE = item(SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0), (1, 4)))
RAGGED = item(RaggedTensor(np.arange(2), np.array([0, 2])))
DAYS = "datetime64[D]"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        # How they are stored.
        (PLAIN, ints(), r"int64 \[\] here, but FixedLenFeature before"),
        (ints(), PLAIN, r"FixedLenFeature here, but int64 \[\] before"),
        (SPARSE, WIDER_SPARSE, r"float64 \[4\] here, but float64 \[3\] before"),
        (SPARSE, item(np.zeros((1, 3))), r"float64 \[3\] here"),
        (item(np.zeros(1, np.float32)), item(np.zeros(1, int)), r"int64 \[\] here, but float32"),
        (item(np.zeros(1)), item(np.array(["a"])), r"U1 \[\] here, but float64 \[\] before"),
        # Dtypes.
        (raw("float64"), raw("complex128"), "complex128 here, but float64 before"),
        (raw("uint8"), raw("int8"), "int8 here, but uint8 before"),
        (ints("bool"), ints("int8"), "int8 here, but bool before"),
        (ints(DAYS), ints("datetime64[s]"), r"datetime64\[s\] here, but datetime64\[D\] before"),
        (ints("int64"), ints("uint64"), "uint64 here, but int64 before"),
        # Types of strings.
        (strings("S3"), strings("U3"), "strings of U3 here, but of S3 before"),
        (strings("str"), strings(None), "strings of bytes here, but of str before"),
        (strings(None), strings("T"), "strings of T here, but of bytes before"),
        # Shapes.
        (ints(shape=(2,)), ints(shape=()), r"the shape \[\] here, but \[2\] before"),
        (ints(shape=(2, 3)), ints(shape=(2, 4)), r"\[2, 4\] here.*only the first dimension"),
        (ints(shape=(2, 3)), ints(shape=(2,)), r"the shape \[2\] here, but \[2, 3\] before"),
        (ints(shape=None), ints("int8", shape=None), r"the shape \[\] here, but \[\] before"),
        # Missing values.
        (ints(shape=(2,), missing=True), ints(shape=(3,)), "a value is missing where lengths vary"),
        (RAGGED, ints(shape=(3,), missing=True), "a value is missing where lengths vary"),
        # What data frames know besides.
        (ints(DAYS), ints(DAYS, zone="Asia/Tokyo"), "with Asia/Tokyo here, but with no time zone"),
        (ints(DAYS, zone="Asia/Tokyo"), ints(DAYS), "with no time zone here, but with Asia/Tokyo"),
        (
            strings("str", categories=["a", "b"], ordered=True),
            strings("str", categories=["b", "a"], ordered=True),
            "or in another order",
        ),
    ],
)  # fmt: skip
def test_items_that_no_schema_fits(old: SchemaItem, new: SchemaItem, text: str) -> None:
    raised(IncompatibleError, widened, "x", old, new, match=text)


@pytest.mark.parametrize(("change", "old", "text"), [
    (as_missing, PLAIN, "which this column cannot store"),
    (as_missing, ints(shape=None), "which this column cannot store"),
    (as_missing, SPARSE, "which this column cannot store"),
    (as_missing, RAGGED, "a value is missing where lengths vary"),
    (as_absent, PLAIN, "which this column cannot store"),
    (as_ragged, PLAIN, "an empty list in a column of single values"),
    (as_ragged, ints(), "an empty list in a column of single values"),
    (as_ragged, ints(shape=(2,), missing=True), "a value is missing where lengths vary"),
])  # fmt: skip
def test_columns_never_none(change: Callable[..., SchemaItem], old: SchemaItem, text: str) -> None:
    raised(IncompatibleError, change, "x", old, match=text)


@pytest.mark.parametrize(("old", "new", "dtype", "shape", "text"), [
    (ints("int8"), ints("uint8"), "int16", (), None),
    (item(np.zeros(1, "f2")), item(np.zeros(1, "f4")), "float32", (), None),
    (ints("uint32"), ints("int32"), "int64", (), None),
    (ints(shape=(2, 3)), ints(shape=(4, 3)), "int64", (None, 3), None),
    (RAGGED, ints(shape=(3,)), "int64", (None,), None),
    (strings("U3"), strings("U12"), "string", (), "U12"),
    (strings("U3"), strings("str"), "string", (), "str"),
    (strings("T"), strings("str"), "string", (), "str"),
    (strings("S3"), strings(None), "string", (), None),
])  # fmt: skip
def test_items_that_one_schema_fits(old: Any, new: Any, dtype: str, shape: Any, text: Any) -> None:
    for pair in ((old, new), (new, old)):
        both = widened("x", *pair)
        assert both.original == Original(dtype, shape, text)
        assert widened("x", both, old) == widened("x", both, new) == both


def test_a_missing_value_of_a_file_may_be_an_empty_row() -> None:
    missing, longer = ints(shape=(2,), missing=True), ints(shape=(3,))
    for pair in ((missing, longer), (longer, missing), (missing, RAGGED)):
        both = widened("x", *pair, missing_as_empty=True)
        assert both.original == Original("int64", (None,))
        assert isinstance(both.spec, RaggedFeature)
    assert as_ragged("x", missing, missing_as_empty=True).original == Original("int64", (None,))
    assert as_absent("x", RAGGED).original == RAGGED.original
    assert as_absent("x", SPARSE) == SPARSE
    assert isinstance(SPARSE.spec, SparseFeature)
    assert as_absent("x", longer).original == Original("int64", (3,), missing=True)


@pytest.mark.parametrize(("values", "index", "text"), [
    ([None, 1, []], 2, "single values and lists are mixed"),
    ([None] * 2048 + [[]], 2048, "None cannot be distinguished from an empty list"),
    ([[]] * 2048 + [None], 2048, "None cannot be distinguished from an empty list"),
    ([np.float32(1)] * 2048 + [2**24 + 1], 2048, "not exact in float32"),
    ([0.5] * 2048 + [2**64 - 1], 2048, "not exact in float64"),
    ([np.float16(0.5)] * 2048 + [2049], 2048, "not exact in float16"),
    ([1] * 2048 + [0.5], 2048, "here, but int64"),
])  # fmt: skip
def test_a_later_misfit_is_named(tmp_path: Path, values: list[Any], index: int, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text) as caught:
        save(tmp_path / "d", ({"x": value} for value in values))
    assert (caught.value.index, caught.value.key) == (index, "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [2**63, -(2**63), 2**60, 0])
def test_integers_that_are_exact_become_floats(tmp_path: Path, value: int) -> None:
    save(tmp_path / "d", [{"x": 0.5}] * 2048 + [{"x": value}])
    assert load(tmp_path / "d")["x"][-1] == value


def test_lists_of_empty_lists_are_kept(tmp_path: Path) -> None:
    save(tmp_path / "0", [{"x": [[], []]}, {"x": []}])
    save(tmp_path / "1", [{"x": [[1]]}] * 2048 + [{"x": [[], []]}])
    save(tmp_path / "3", [{"x": [["a"]]}] * 2048 + [{"x": [[], []]}])
    assert load(tmp_path / "3")["x"].to_list()[2047:] == [[["a"]], [[], []]]
    assert load(tmp_path / "0")["x"].to_list() == [[[], []], []]
    assert load(tmp_path / "1")["x"].to_list()[-1] == [[], []]
    raised(InvalidArgumentError, load, [tmp_path / "0", tmp_path / "1"], match="schema=")
    with pytest.raises(InvalidArgumentError) as caught:
        save(tmp_path / "2", [{"x": [[]]}] * 2048 + [{"x": [[1]]}])
    assert caught.value.reason is Reason.WRONG_KIND
    schema = schema_of({"x": [[[1]]]})
    save(tmp_path / "2", [{"x": [[]]}] * 2048 + [{"x": [[1]]}], schema=schema)
    assert load(tmp_path / "2")["x"].to_list()[2047:] == [[[]], [[1]]]


@pytest.mark.parametrize(
    ("dtype", "one", "other"), [("U1", "a", "b"), ("T", "a", "b"), ("S1", b"a", b"b")]
)
def test_arrays_of_strings_keep_a_type(tmp_path: Path, dtype: str, one: Any, other: Any) -> None:
    single, double = np.array([one], dtype), np.array([other, one], dtype)
    cases: dict[str, tuple[Any, Any]] = {
        "columns": ({"x": [single, double]}, [[one], [other, one]]),
        "levels": ({"x": [[single], [single, single]]}, [[[one]], [[one], [one]]]),
        "rows": ([{"x": single}, {"x": double}] * 1025, [[one], [other, one]] * 1025),
        "later": ([{"x": double}] * 1024 + [{"x": single}], [[other, one]] * 1024 + [[one]]),
    }
    for name, (data, wanted) in cases.items():
        save(tmp_path / name, data)
        assert load(tmp_path / name)["x"].to_list() == wanted


def test_a_varlen_feature_is_not_widened() -> None:
    other = SchemaItem(VarLenFeature(int), None)
    assert widened("x", other, other) is other
    raised(IncompatibleError, widened, "x", other, ints())


@pytest.mark.parametrize(
    ("sizes", "is_raw"), [([20, 3, 16], True), ([3, 20, 15], False), ([16] * 5, True)]
)
def test_the_first_rows_decide_about_bytes(sizes: list[int], is_raw: bool, tmp_path: Path) -> None:
    values = [np.arange(size, dtype=np.uint8) for size in sizes for _ in range(1024)]
    schema = save(tmp_path / "x", ({"x": value} for value in values), lossless=True)
    assert schema.to_items()["x"].is_raw == is_raw
    found = load(tmp_path / "x")["x"]
    assert found.dtype == np.uint8
    assert [row.tolist() for row in found] == [value.tolist() for value in values]
