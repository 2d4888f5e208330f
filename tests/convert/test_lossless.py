"""Columns of any dtype and shape, stored with their schema, come back as they were."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.columns import DTYPES, columns_of, same
from tests.support.errors import raised
from tfrecord_lite import (
    BytesColumn,
    ExampleParser,
    FixedLenFeature,
    RaggedFeature,
    RaggedTensor,
    RawFeature,
    Schema,
    SparseTensor,
    VarLenFeature,
    encode_examples,
    parse_example,
)
from tfrecord_lite.convert.lossless import restore, schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Original


def parsed_with(block: Any, features: Any) -> dict[str, Any]:
    return dict(parse_example(block, features))


def back(columns: dict[str, Any], schema: Schema | None = None) -> dict[str, Any]:
    schema = schema_of(columns, lossless=True) if schema is None else schema
    again = Schema.from_json(schema.to_json())
    return parsed_with(encode_examples(columns, schema), again)


@given(st.integers(0, 4).flatmap(columns_of))
def test_a_column_comes_back(column: Any) -> None:
    same(back({"x": column})["x"], column)


@given(st.lists(st.binary(max_size=5), max_size=5))
def test_a_column_of_bytes_comes_back_as_objects(raw: list[bytes]) -> None:
    column = BytesColumn.from_list(raw)
    same(back({"x": column})["x"], column)


def test_numbers_are_rounded_unless_every_bit_is_asked_for() -> None:
    columns = {"x": np.array([[0.1, np.inf]]), "z": np.array([1j])}
    exact, rounded = schema_of(columns, lossless=True), schema_of(columns)
    assert exact["x"] == RawFeature([2], "float64")
    assert rounded["x"] == FixedLenFeature([2], "float32")
    assert rounded["z"] == RawFeature([], "complex128")
    found = back(columns, rounded)
    assert found["x"].dtype == np.float64
    assert found["x"].tolist() == [[float(np.float32(0.1)), np.inf]]
    assert found["z"].tolist() == [1j]


ROWS = RaggedFeature(int, row_splits_dtype=np.int64, validate=True)


@pytest.mark.parametrize(("column", "spec", "usual"), [
    (np.ones((2, 16), np.uint8), RawFeature([16], "uint8"), FixedLenFeature([16], int)),
    (np.ones((2, 2, 8), np.int8), RawFeature([2, 8], "int8"), FixedLenFeature([2, 8], int)),
    (np.ones((0, 4, 4), bool), RawFeature([4, 4], "bool"), FixedLenFeature([4, 4], int)),
    (np.ones((2, 4, 4), np.uint8), RawFeature([4, 4], "uint8"), RawFeature([4, 4], "uint8")),
    (np.ones((2, 5, 3), np.uint8), FixedLenFeature([5, 3], int), FixedLenFeature([5, 3], int)),
    (np.ones((2, 15), np.uint8), FixedLenFeature([15], int), FixedLenFeature([15], int)),
    (np.ones((2, 16), np.int16), FixedLenFeature([16], int), FixedLenFeature([16], int)),
    (RaggedTensor(np.ones((3, 16), bool), [0, 2, 3]), FixedLenFeature([], bytes, b""), None),
    (RaggedTensor(np.ones(40, np.uint8), [0, 20, 40]), ROWS, ROWS),
    (np.ma.MaskedArray(np.ones((1, 16), bool), [[True] * 16]), RaggedFeature(bytes), None),
])  # fmt: skip
def test_images_are_stored_as_their_bytes_and_other_one_byte_numbers_if_asked_for(
    column: Any, spec: Any, usual: Any
) -> None:
    schema = schema_of({"x": column})
    assert schema_of({"x": column}, lossless=True)["x"] == spec
    assert usual in (None, schema["x"])
    same(back({"x": column})["x"], column)
    same(back({"x": column}, schema)["x"], column)


@pytest.mark.parametrize("form", [
    lambda values: values, lambda values: np.ma.MaskedArray(values, [False, True, False, False]),
    lambda values: RaggedTensor(values[[0, 0, 3]], [0, 2, 2, 2, 3]),
    lambda values: SparseTensor([[0, 0], [3, 0]], values[[0, 3]], [4, 1]),
])  # fmt: skip
def test_rounding_never_makes_a_number_infinite(form: Any) -> None:
    column = form(np.array([0.1, np.nan, -np.inf, -1e300]))
    schema = schema_of({"x": column})
    with pytest.raises(InvalidArgumentError, match=r"beyond float32.*lossless=True") as caught:
        encode_examples({"x": column}, schema)
    error = caught.value
    assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 3)


def test_raw_bytes_are_little_endian() -> None:
    schema = schema_of({"x": np.zeros((1, 2))}, lossless=True)
    block = encode_examples({"x": np.array([[1.0, 2.0]], ">f8")}, schema)
    found = parsed_with(block, {"x": FixedLenFeature([], bytes)})["x"]
    assert found.tolist() == [np.array([1.0, 2.0], "<f8").tobytes()]


def test_large_unsigned_numbers_are_stored_in_twos_complement() -> None:
    column = np.array([2**64 - 1, 2**63, 5], np.uint64)
    schema = schema_of({"x": column})
    found = parsed_with(encode_examples({"x": column}, schema), schema.features)
    assert found["x"].tolist() == [-1, -(2**63), 5]
    assert restore(found, schema)["x"].tolist() == column.tolist()


@pytest.mark.parametrize(("column", "wanted"), [
    ([0.1, 2], np.array([0.1, 2])), ([2**64 - 1, 1], np.array([2**64 - 1, 1], np.uint64)),
    ([1j], np.array([1j])),
    (["a", None], np.ma.MaskedArray(np.array(["a", ""], object), [False, True])),
    ([None, 1.5], np.ma.MaskedArray([0, 1.5], [True, False])),
    ([[1], [2, 3], []], RaggedTensor(np.array([1, 2, 3]), [0, 1, 3, 3])),
    ([[[1], []], []], RaggedTensor(RaggedTensor(np.array([1]), [0, 1, 1]), [0, 2, 2])),
    ([np.array([1, 2]), np.array([3, 4])], np.array([[1, 2], [3, 4]])),
    ([np.array([1.0]), np.array([1.0, 2])], RaggedTensor(np.array([1.0, 1, 2]), [0, 1, 3])),
    ([np.array([1, 2]), None], np.ma.MaskedArray([[1, 2], [0, 0]], [[False] * 2, [True] * 2])),
], ids=str)  # fmt: skip
def test_lists_come_back_as_arrays(column: Any, wanted: Any) -> None:
    found = back({"x": column})["x"]
    if np.ma.isMA(wanted) and wanted.dtype == object:
        assert found.tolist() == wanted.tolist()
    else:
        same(found, wanted)


def test_features_without_an_original_stay_as_they_are() -> None:
    schema = Schema({"x": FixedLenFeature([], "int64"), "y": VarLenFeature("int64")})
    parsed = parsed_with(encode_examples({"x": [1], "y": [[1, 2]]}, schema), schema)
    assert restore(parsed, schema) == parsed
    assert list(restore({"y": parsed["y"]}, schema)) == ["y"]


@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
def test_arrays_that_others_parsed_as_strings_are_restored(strings: Any) -> None:
    columns = {
        "x": np.arange(12).reshape(2, 2, 3) / 3,
        "b": np.arange(32, dtype="u1").reshape(2, 16),
    }
    schema = schema_of(columns, lossless=True)
    features = dict.fromkeys(columns, FixedLenFeature([], bytes))
    parsed = ExampleParser(features, strings=strings)(encode_examples(columns, schema))
    same(restore(parsed, schema), columns)


def test_inner_rows_can_be_read_by_anyone() -> None:
    column = RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2, 3], [0, 2, 2, 3]])
    schema = schema_of({"x": column})
    block = encode_examples({"x": column}, schema)
    features = {"x": RaggedFeature("int64"), "x/row_lengths_1": RaggedFeature("int64")}
    plain = parsed_with(block, features)
    assert plain["x"].to_list() == [[1, 2], [3]]
    assert plain["x/row_lengths_1"].to_list() == [[2, 0], [1]]


PARTITIONS = [
    RaggedFeature.RowLengths("n"), RaggedFeature.RowSplits("n"), RaggedFeature.RowStarts("n"),
    RaggedFeature.RowLimits("n"), RaggedFeature.ValueRowIds("n"),
]  # fmt: skip


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda p: type(p).__name__)
def test_every_partition_is_written_as_it_is_read(partition: Any) -> None:
    # Value row ids cannot say that there is an empty row at the end.
    column = RaggedTensor.from_nested_row_splits([1, 2, 3, 4], [[0, 3, 3, 4], [0, 1, 1, 3, 4]])
    features = {"x": RaggedFeature("int64", "v", [partition], validate=True)}
    block = encode_examples({"x": column}, features)
    assert parsed_with(block, features)["x"].to_list() == column.to_list()


def test_uniform_rows_need_no_key_and_are_checked() -> None:
    features = {"x": RaggedFeature("int64", None, [RaggedFeature.UniformRowLength(2)])}
    even, odd = [[[1, 2]], [[3, 4]]], [[[1, 2]], [[3]]]
    assert parsed_with(encode_examples({"x": even}, features), features)["x"].to_list() == even
    error = raised(InvalidArgumentError, encode_examples, {"x": odd}, features)
    assert (error.reason, error.key, error.index) == (Reason.WRONG_COUNT, "x", 1)


@pytest.mark.parametrize(("original", "record", "reason"), [
    (Original("float64", [2]), bytes(9), Reason.WRONG_COUNT),
    (Original("float64", [2]), bytes(8), Reason.WRONG_COUNT),
    (Original("float64", [None, 2]), bytes(8), Reason.WRONG_COUNT),
    (Original("string", [], "str"), b"\xff", Reason.BAD_ARGUMENT),
])  # fmt: skip
def test_what_is_no_original_is_refused(original: Original, record: bytes, reason: Reason) -> None:
    features = {"x": FixedLenFeature([], bytes)}
    parsed = parsed_with(encode_examples({"x": [bytes(16), record]}), features)
    sound = {"x": parsed["x"][:1]}
    schema = Schema(features, {"x": original})
    assert restore(sound, schema)["x"].shape[0] == 1
    error = raised(InvalidArgumentError, restore, parsed, schema)
    assert error.reason == reason
    if reason is Reason.WRONG_COUNT:
        assert (error.key, error.index) == ("x", 1)


EXTRAS = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
    "float6_e2m3fn", "float6_e3m2fn", "int1", "uint1", "int2", "uint2", "int4", "uint4",
]  # fmt: skip


def all_of(name: str) -> Any:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    dtype = np.dtype(getattr(ml_dtypes, name))
    if "int" in name:
        n_bits = int(name[-1])
        low = 0 if name[0] == "u" else -(2 ** (n_bits - 1))
        return np.arange(low, low + 2**n_bits).astype(dtype)
    n_bits = {"float4": 4, "float6": 6}.get(name[:6], 8 * dtype.itemsize)
    return np.arange(2**n_bits, dtype=f"u{dtype.itemsize}").view(dtype)


@pytest.mark.parametrize("name", EXTRAS)
def test_every_number_of_ml_dtypes_comes_back_to_the_bit(name: str) -> None:
    values = all_of(name)
    half = len(values) // 2
    columns = {
        "array": values.reshape(half, -1),
        "masked": np.ma.MaskedArray(values, np.arange(len(values)) % 2 == 1)[:half],
        "rows": RaggedTensor(values, [*range(half), len(values)]),
        "sparse": SparseTensor([[i, 0] for i in range(half)], values[:half], [half, 1]),
        "scalars": [list(values[:1])] * half,
    }
    same(back(columns), columns | {"scalars": RaggedTensor(values[[0] * half], range(half + 1))})


@pytest.mark.parametrize("name", EXTRAS)
def test_no_number_is_rounded_to_an_extra_dtype(name: str) -> None:
    schema = schema_of({"x": all_of(name)})
    columns: list[Any] = [[0, 400]] if "int" in name else [[1, 257], [1.0, 0.1], [1.0, 3e38]]
    columns += [[1.0, np.inf]] if "fn" in name else []  # without infinity
    for column in columns:
        if name in ("bfloat16", "float8_e8m0fnu") and column[1] > 300:
            continue
        for values in (column, np.array(column, np.int64 if "int" in name else np.float32)):
            error = raised(InvalidArgumentError, encode_examples, {"x": values}, schema)
            assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 1)
        raised(InvalidArgumentError, restore, {"x": values}, schema, match=f"is not a {name}")


@pytest.mark.parametrize("dtype", ["f8", "c8", "M8[s]", "m8[D]", "u8", "i4", "f4", "?", "U1"])
def test_a_batch_without_values_fits_the_schema_of_another(dtype: str) -> None:
    values = np.zeros(1, dtype)
    masked = schema_of({"x": np.ma.MaskedArray(values, [True])})
    rows = schema_of({"x": RaggedTensor(values, [0, 1])})
    levels = schema_of({"x": RaggedTensor(RaggedTensor(values, [0, 1]), [0, 1])})
    missing = back({"x": [None, None]}, masked)["x"]
    assert (np.ma.count(missing), len(missing), missing.dtype) == (0, 2, values.dtype)
    columns: list[Any] = [[[], []], np.array([[], None], object)[:1]]
    for column in columns:
        assert back({"x": column}, rows)["x"].to_list() == [[]] * len(column)
        found = back({"x": column}, levels)["x"]
        assert (found.to_list(), found.ragged_rank) == ([[]] * len(column), 2)
    assert back({"x": [[[]], [], [[], []]]}, levels)["x"].to_list() == [[[]], [], [[], []]]
    deep = RaggedTensor(RaggedTensor(RaggedTensor(values, [0, 1]), [0, 1]), [0, 1])
    found = back({"x": [[[]], []]}, schema_of({"x": deep}))["x"]
    assert (found.to_list(), found.ragged_rank) == ([[[]], []], 3)


def test_the_nan_of_another_program_is_one_of_ours() -> None:
    values = all_of("float8_e5m2")
    schema = schema_of({"x": values})
    wide = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32).view(np.float32)
    found = restore({"x": wide}, schema)["x"]
    assert np.isnan(found.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("dtype", "wider"), [("longdouble", "float64"), ("clongdouble", "complex128")]
)
def test_an_error_about_a_dtype_names_one_that_can_be_stored(dtype: str, wider: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"astype\\('{wider}'\\)") as caught:
        schema_of({"x": np.zeros(2, dtype)})
    assert (caught.value.reason, caught.value.key) == (Reason.UNSUPPORTED, "x")


def test_integers_among_raw_floats_must_be_exact() -> None:
    schema = schema_of({"x": np.zeros(1)})
    for column in ([0, 2**53 + 1], np.array([0, 2**63 - 1]), np.array([0, 2**64 - 1], np.uint64)):
        error = raised(InvalidArgumentError, encode_examples, {"x": column}, schema)
        assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 1)
    rows = schema_of({"x": RaggedTensor(np.zeros(1), [0, 1])})
    with pytest.raises(InvalidArgumentError) as caught:
        encode_examples({"x": RaggedTensor(np.array([1, 2, 2**53 + 1]), [0, 2, 3])}, rows)
    assert caught.value.index == 1
    assert back({"x": np.array([1, 2**53])}, schema)["x"].tolist() == [1.0, 2.0**53]


@pytest.mark.parametrize("size", [1, 3])
def test_raw_arrays_of_another_size_are_refused(size: int) -> None:
    columns: list[Any] = [np.zeros((1, size)), [None, [0.0] * size]]
    for column in columns:
        with pytest.raises(InvalidArgumentError) as caught:
            encode_examples({"x": column}, schema_of({"x": np.zeros((1, 2))}))
        assert caught.value.key == "x"


def test_times_of_another_unit_are_not_counted_in_this_one() -> None:
    for dtype, other in (("M8[s]", "M8[ns]"), ("m8[D]", "m8[s]"), ("M8[s]", "m8[s]")):
        schema = schema_of({"x": np.zeros(1, dtype)})
        with pytest.raises(InvalidArgumentError, match="astype") as caught:
            encode_examples({"x": np.array([5], other)}, schema)
        assert (caught.value.reason, caught.value.key) == (Reason.WRONG_KIND, "x")
        same(back({"x": np.array([5], dtype)}, schema)["x"], np.array([5], dtype))


MISFITS: list[tuple[str, list[Any], list[Any]]] = [
    ("u1", [300, -1], [255, 0]), ("u1", [0, -1], [255, 0]), ("i1", [127, 128], [127, -128]),
    ("u4", [1, -1], [2**32 - 1, 0]), ("i4", [0, 2**31], [2**31 - 1, -(2**31)]),
    ("?", [1, 7], [1, 0]), ("f2", [1.0, 65520.0], [float("inf"), float("nan")]),
    ("f2", [1, 2049], [2048, 2050]), ("f2", [1.0, 0.1], [-0.0, 2.0**-24]),
    ("U1", ["a", "äb"], ["a", "ä"]), ("U1", ["a", "éé"], ["é", "\N{SNOWMAN}"]),
    ("S1", [b"a", b"ab"], [b"a", b""]), ("S1", [b"a", b"\x80\x80"], [b"\x80", b""]),
]  # fmt: skip


def stored(dtype: str, values: list[Any]) -> np.ndarray[Any, Any]:
    """Return values as the array that a parser makes of them."""
    if dtype[0] in "US":
        array = np.empty(len(values), object)
        array[:] = [v.encode() if isinstance(v, str) else v for v in values]
        return array
    return np.array(values, np.float32 if dtype == "f2" else np.int64)


@pytest.mark.parametrize(("dtype", "bad", "good"), MISFITS, ids=repr)
def test_what_a_dtype_does_not_have_is_refused(dtype: str, bad: list[Any], good: list[Any]) -> None:
    wrong = next(i for i, v in enumerate(bad) if v not in (0, 1, 1.0, 127, "a", b"a"))
    schema = schema_of({"x": np.zeros(1, dtype)})
    missing = schema_of({"x": np.ma.MaskedArray(np.zeros(1, dtype), [True])})
    rows = schema_of({"x": RaggedTensor(np.zeros(1, dtype), [0, 1])})
    levels = schema_of({"x": RaggedTensor(RaggedTensor(np.zeros(1, dtype), [0, 1]), [0, 1])})
    sparse = schema_of({"x": SparseTensor([[0, 0]], np.zeros(1, dtype), [1, 1])})

    def forms(values: Any) -> list[tuple[Schema, Any]]:
        return [
            (schema, values),
            (missing, RaggedTensor(values, [0, 1, 2])),
            (rows, RaggedTensor(values, [0, 1, 2])),
            (levels, RaggedTensor(RaggedTensor(values, [0, 1, 2]), [0, 1, 2])),
            (sparse, SparseTensor([[0, 0], [1, 0]], values, [2, 1])),
        ]

    for made, column in forms(stored(dtype, bad)):
        if made.originals["x"].text is None and dtype[0] in "US":
            continue  # strings of rows are bytes of any length
        error = raised(InvalidArgumentError, restore, {"x": column}, made)
        assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", wrong)
    for made, column in forms(stored(dtype, good)):
        restore({"x": column}, made)
    columns = [bad, stored(dtype, bad)]
    columns += [np.array(bad)] if dtype[0] in "US" else []
    for column in columns:
        error = raised(InvalidArgumentError, encode_examples, {"x": column}, schema)
        assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", wrong)
    hidden = np.ma.MaskedArray(stored(dtype, bad), True)  # looked at no more
    assert len(encode_examples({"x": hidden}, missing)) == 2
    array = np.array(good, dtype)
    same(back({"x": array}, schema)["x"], array)


def test_negative_numbers_are_no_uint64() -> None:
    schema = schema_of({"x": np.zeros(1, np.uint64)})
    for column in ([1, -1], np.array([1, -1]), np.array([1, -1], np.int8)):
        error = raised(InvalidArgumentError, encode_examples, {"x": column}, schema)
        assert (error.reason, error.index) == (Reason.UNREPRESENTABLE, 1)
    assert back({"x": [1, 5]}, schema)["x"].tolist() == [1, 5]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0,), (0, 0), (3, 0, 2), (3, 2, 0)])
def test_masked_arrays_without_values_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    column: Any = np.ma.MaskedArray(np.zeros(shape, dtype), np.ones(shape, np.bool_))
    same(back({"x": column})["x"], column)
