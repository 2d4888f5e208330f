"""Stored lists come back as what they were; results do not depend on the form of lists, or on blocks."""

import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.columns import same
from tests.support.errors import raised
from tfrecord_lite import (
    ExampleParser,
    FixedLenSequenceFeature,
    RaggedFeature,
    RaggedTensor,
    SparseFeature,
    SparseTensor,
    VarLenFeature,
    encode_example,
    encode_examples,
    parse_example,
)
from tfrecord_lite.arrays import ByteItems, ByteRanges
from tfrecord_lite.convert.lists import Lists
from tfrecord_lite.convert.restore import restore, result
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.sequence.parse import ListsParser
from tfrecord_lite.schema import FixedLenFeature, Kind, Original, RawFeature, Schema
from tfrecord_lite.schema.types import Type

FLOATS = np.arange(12, dtype=np.float32)
WORDS = ["", "a", "ä", "bc", "日本", "x" * 300] * 2


def strings(words: list[str], *, as_items: bool) -> Any:
    """Return texts as byte strings that lie backwards in a buffer, or as objects."""
    items = [word.encode() for word in words]
    if as_items:
        return ByteItems.of(items)
    lengths = np.array([*map(len, items)], np.int64)
    ends = np.cumsum(lengths[::-1])[::-1]
    return ByteRanges(np.frombuffer(b"".join(items[::-1]), np.uint8), ends - lengths, lengths)


SHAPES: list[tuple[tuple[int | None, ...], tuple[Any, ...]]] = [
    ((), ()), ((None,), (2,)), ((2, 3), (2, 3)), ((None, 3), (2, 3)), ((None, None), (3, 2)),
    ((None, 2, None), (1, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "levels"), SHAPES)
@pytest.mark.parametrize("text", [None, "str", "U300", "T", ""])
@pytest.mark.parametrize("with_objects", [True, False])
def test_a_number_for_lengths_and_either_form_of_strings_give_the_same_result(
    shape: Any, levels: Any, text: Any, *, with_objects: bool
) -> None:
    n = 12 // int(np.prod(levels, dtype=int))
    kind = (
        Type(Kind.BYTES, "string", shape, text or None)
        if text != ""
        else Type(Kind.FLOAT, "float32", shape)
    )
    found = []
    for as_items in (True, False):
        flat = FLOATS if text == "" else strings(WORDS, as_items=as_items)
        rows, lengths = n, []
        for level in levels:
            lengths.append(np.full(rows, level))
            rows *= level
        found += [
            result(Lists(n, kind, form, flat), with_objects=with_objects)
            for form in (levels, tuple(lengths))
        ]
    for other in found[1:]:
        if with_objects:
            same(other, found[0])
        else:
            assert type(other) is type(found[0])
            listed = [
                each.tolist() if isinstance(each, np.ndarray) else each.to_list()
                for each in (other, found[0])
            ]
            assert listed[0] == listed[1]


def test_row_splits_have_the_dtype_asked_for_if_it_has_room_for_them() -> None:
    for n, dtype in ((2**31 - 1, np.int32), (2**31, np.int64)):  # as of many blocks together
        flat = np.broadcast_to(np.zeros(1, np.int8), n)
        lists = Lists(1, Type(Kind.INT64, "int8", (None,)), (n,), flat)
        column = result(lists, with_objects=True, splits_dtype=np.int32)
        assert column.row_splits.dtype == dtype
        assert column.row_splits[-1] == n


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "dense": st.integers(0, 255),
            "text": st.text(max_size=3),
            "ragged": st.lists(st.integers(-5, 5), max_size=3),
            "words": st.lists(st.binary(max_size=3), max_size=3),
            "raw": st.lists(st.floats(width=32), min_size=2, max_size=2),
        },
        optional={"masked": st.integers(0, 9), "filled": st.integers(0, 9)},
    ),
    min_size=1,
    max_size=8,
)
SCHEMA = Schema(
    {
        "dense": FixedLenFeature([], int),
        "text": FixedLenFeature([], bytes),
        "ragged": RaggedFeature(int, row_splits_dtype="int32"),
        "words": RaggedFeature(bytes),
        "raw": RawFeature([2], "float64"),
        "masked": RaggedFeature(int),
        "filled": FixedLenFeature([], int, 7),
        "padded": FixedLenSequenceFeature([], int, default_value=9, allow_missing=True),
        "var": VarLenFeature(bytes),
        "sparse": SparseFeature("places", "values", float, 9),
    },
    {
        "dense": Original("uint8", ()),
        "text": Original("string", (), "str"),
        "ragged": Original("int8", (None,)),
        "words": Original("string", (None,)),
        "masked": Original("datetime64[s]", (), missing=True),
        "padded": Original("int16", (None,)),
    },
)


def block_of(rows: list[dict[str, Any]]) -> Any:
    made = []
    for row in rows:
        places = np.arange(len(row["ragged"]))
        more = {"padded": row["ragged"], "var": row["words"], "places": places}
        values = {"values": places.astype("f4"), "raw": np.array(row["raw"]).tobytes()}
        made.append({**row, **more, **values})
    kinds = {"raw": bytes, "text": bytes}
    features: dict[str, Any] = {
        name: kinds.get(name, bytes if name in ("words", "var") else int)
        for name in (*SCHEMA, "places", "values")
        if name != "sparse"
    }
    features["values"] = float
    ragged = {"ragged", "words", "padded", "var", "places", "values", "masked", "filled"}
    specs = {
        name: RaggedFeature(dtype) if name in ragged else FixedLenFeature([], dtype)
        for name, dtype in features.items()
    }
    columns = {name: [row.get(name) for row in made] for name in features}
    return encode_examples(columns, specs)


@given(ROWS, st.data())
def test_blocks_that_are_joined_at_any_border_are_one_block(rows: Any, data: Any) -> None:
    block = block_of(rows)
    whole = parse_example(block, SCHEMA)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=3).map(sorted))
    parser = ListsParser(ExampleParser(SCHEMA))
    bounds = [0, *cuts, len(rows)]
    parts = [parser(block[a:b]) for a, b in pairwise(bounds)]
    for name in SCHEMA:
        lists: Any = parts[0][name]
        same(parser.result(name, type(lists).join([part[name] for part in parts])), whole[name])


def memories(column: Any) -> list[Any]:
    match column:
        case np.ma.MaskedArray():
            return [np.asarray(column.data), np.ma.getmaskarray(column)]
        case np.ndarray():
            return [column]
        case RaggedTensor():
            return [*memories(column.values), column.row_splits]
        case SparseTensor():
            return [column.indices, *memories(column.values), column.dense_shape]
        case _:
            return [column.data, column.offsets]


@given(ROWS)
def test_results_share_no_memory_with_each_other_or_with_the_records(rows: Any) -> None:
    block = block_of(rows)
    again = Schema(
        {**SCHEMA, "ragged too": RaggedFeature(int, "ragged", row_splits_dtype="int32")},
        dict(SCHEMA.originals),
    )
    before = block.data.copy()
    for batches in (
        [parse_example(block, again)],
        ExampleParser(again).parse_batches(block, [0, 1, len(block)]),
    ):
        arrays = [array for batch in batches for c in batch.values() for array in memories(c)]
        for i, array in enumerate(arrays):
            assert not np.shares_memory(array, block.data)
            assert not any(np.shares_memory(array, other) for other in arrays[:i])
            array[...] = b"" if array.dtype == object else np.ones(1, "i8").astype(array.dtype)
    assert (block.data == before).all()


def test_a_callers_array_stays_as_it_is() -> None:
    values = np.array([0, 1, 250])
    for dtype in ("uint8", "datetime64[s]", "bool", "float16", "bfloat16", "uint64"):
        flat = values % 2 if dtype == "bool" else values.copy()
        before = flat.copy()
        lists = Lists(3, Type(Kind.INT64, shape=(None,)), (1,), flat)
        restore("x", lists, Type(Kind.INT64, dtype, (), missing=True))
        assert (flat == before).all()


@pytest.mark.parametrize(("values", "dtype"), [
    (2**53 + 1, "float64"), (-(2**53) - 1, "float64"), (2**63 - 1, "float64"),
    (2**24 + 1, "float32"), (2**53 + 1, "complex128"), (2**24 + 1, "complex64"), (2049, "float16"),
    (70000, "float16"), (-(2**63), "float16"), (257, "bfloat16"), (300, "float8_e4m3fn"),
    (2, "bool"), (256, "uint8"), (8, "int4"), (0.5, "int64"), (0.5, "datetime64[s]"),
    (float("nan"), "timedelta64[s]"), (float("inf"), "int64"), (2.0**63, "int64"), (0.1, "float16"),
])  # fmt: skip
@pytest.mark.parametrize(
    "form", ["dense", "ragged", "nested", "masked", "sparse", "var_len", "padded"]
)
def test_a_number_beyond_the_original_is_never_rounded(values: Any, dtype: str, form: str) -> None:
    kind = type(values)
    features, shape = FORMS[form](kind)
    schema = Schema({"x": features}, {"x": Original(dtype, shape, missing=form == "masked")})
    rows = [
        [kind(0)], [kind(1)], [kind(1), values] if form not in ("dense", "masked") else [values],
    ]  # fmt: skip
    columns: dict[str, Any] = {"x": rows, "n": [[len(row)] for row in rows]}
    columns["i"] = [[*range(len(row))] for row in rows]
    specs = {"x": RaggedFeature(kind), "n": RaggedFeature(int), "i": RaggedFeature(int)}
    block = encode_examples(columns, specs)
    for splits in ([0, 3], [0, 1, 2, 3]):
        error = raised(InvalidArgumentError, ExampleParser(schema).parse_batches, block, splits)
        assert (error.reason, error.index, error.key) == (Reason.UNREPRESENTABLE, 2, "x")
    assert len(parse_example(block[:2], schema)) == 1


FORMS: dict[str, Callable[[type], tuple[Any, Any]]] = {
    "dense": lambda kind: (FixedLenFeature([], kind), ()),
    "ragged": lambda kind: (RaggedFeature(kind), (None,)),
    "nested": lambda kind: (
        RaggedFeature(kind, "x", [RaggedFeature.RowLengths("n")]),
        (None, None),
    ),
    "masked": lambda kind: (RaggedFeature(kind), ()),
    "sparse": lambda kind: (SparseFeature("i", "x", kind, 9), (9,)),
    "var_len": lambda kind: (VarLenFeature(kind), (None,)),
    "padded": lambda kind: (FixedLenSequenceFeature([], kind, allow_missing=True), (None,)),
}


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**60, 0, -1])
def test_a_stored_integer_that_a_float_has_is_that_float(value: int) -> None:
    schema = Schema({"x": FixedLenFeature([], int)}, {"x": Original("float64", ())})
    same(parse_example(encode_examples({"x": [value]}), schema)["x"], np.array([float(value)]))


@pytest.mark.parametrize("text", ["str", "T", "U9"])
@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
@pytest.mark.parametrize("form", FORMS)
def test_a_text_that_is_not_utf8_is_named_in_every_form(text: str, strings: Any, form: str) -> None:
    features, shape = FORMS[form](bytes)
    schema = Schema(
        {"x": features}, {"x": Original("string", shape, text, missing=form == "masked")}
    )
    is_one = form in ("dense", "masked")
    # The second and third are one character together.
    for wrong in ([b"\xc3", b"\xa4"], [b"ok", b"\xff"]):
        rows = [[b"a"], ["ä".encode()], wrong[1:] if is_one else wrong]
        columns: dict[str, Any] = {"x": rows, "n": [[len(row)] for row in rows]}
        columns["i"] = [[*range(len(row))] for row in rows]
        specs = {"x": RaggedFeature(bytes), "n": RaggedFeature(int), "i": RaggedFeature(int)}
        with pytest.raises(InvalidArgumentError, match="not UTF-8") as caught:
            ExampleParser(schema, strings=strings)(encode_examples(columns, specs))
        error = caught.value
        assert (error.reason, error.index, error.key) == (Reason.BAD_ARGUMENT, 2, "x")


def test_the_default_of_padding_is_what_the_values_were() -> None:
    block = encode_examples(
        {"x": [[1], [2, 3]], "s": [[b"a"], [b"b", b"c"]]},
        {"x": RaggedFeature(int), "s": RaggedFeature(bytes)},
    )
    schema = Schema(
        {
            "x": FixedLenSequenceFeature([], int, allow_missing=True, default_value=-9),
            "s": FixedLenSequenceFeature([], bytes, allow_missing=True, default_value="ä"),
        },
        {"x": Original("int8", (None,)), "s": Original("string", (None,), "str")},
    )
    found = parse_example(block, schema)
    same(found["x"], np.array([[1, -9], [2, 3]], "i1"))
    same(found["s"], np.array([["a", "ä"], ["b", "c"]], object))


# Specifications of arrays of int16, and how many dimensions of the shape are sequences of arrays.
ARRAYS: dict[str, tuple[Any, tuple[int | None, ...], int]] = {
    "a dimension that varies": (FixedLenFeature([], bytes), (None, 2), 0),
    "not the first": (FixedLenFeature([], bytes), (2, None), 0),
    "in the middle, as a list": (RaggedFeature(int), (2, None, 3), 0),
    "sequence": (RaggedFeature(bytes), (None, 2, 2), 1),
    "sequences": (
        RaggedFeature(bytes, "v", [RaggedFeature.RowLengths("n")]),
        (None, None, 2, None),
        2,
    ),
    "sequences, as a list": (
        RaggedFeature(int, "v", [RaggedFeature.RowLengths("n"), RaggedFeature.UniformRowLength(3)]),
        (None, None, 3),
        2,
    ),
    "shape in a feature": (RawFeature((None, 2, None), "int16", "v", "s"), (None, 2, None), 0),
}


@given(st.data(), st.sampled_from([*ARRAYS]), st.sampled_from([None, "zlib"]))
def test_arrays_of_any_shape_come_back(data: st.DataObject, name: str, how: str | None) -> None:
    spec, shape, n_sequences = ARRAYS[name]
    how = how if spec.kind is Kind.BYTES else None
    schema = Schema({"x": spec}, {"x": Original("int16", shape, compression=how)})

    drawn_sizes: list[list[int]] = []

    def drawn(dims: tuple[int | None, ...], n_outer: int) -> Any:
        if n_outer:
            count = data.draw(st.integers(0, 3))
            return [drawn(dims[1:], n_outer - 1) for _ in range(count)]
        sizes = [data.draw(st.integers(0, 3)) if dim is None else dim for dim in dims]
        drawn_sizes.append(sizes)
        return data.draw(hnp.arrays(np.int16, tuple(sizes))).tolist()

    rows = [drawn(shape, n_sequences) for _ in range(data.draw(st.integers(1, 4)))]
    if isinstance(spec, RawFeature):
        with pytest.raises(InvalidArgumentError, match="a shape_key is only read"):
            encode_examples({"x": rows}, schema)
        raw = [np.asarray(row, np.int16).tobytes() for row in rows]
        strings = [zlib.compress(each) if how else each for each in raw]
        sizes = [drawn_sizes.pop(0) for _ in rows]
        block = encode_examples({"v": strings, "s": sizes})
    else:
        block = encode_examples({"x": rows}, schema)

    found: Any = parse_example(block, schema)["x"]
    assert found.to_list() == rows
    assert (found.dtype, found.shape) == (np.int16, (len(rows), *shape))
    assert Schema.from_json(schema.to_json()) == schema


WRONG_ARRAYS: list[tuple[Any, dict[str, Any], Reason, str]] = [
    ((2,), {"x": zlib.compress(b"abcd")[:-5]}, Reason.COMPRESSED_CORRUPT, "zlib cannot decompress"),
    ((2,), {"x": b"abcd"}, Reason.COMPRESSED_CORRUPT, "zlib cannot decompress"),
    ((2,), {"x": zlib.compress(bytes(10**6))}, Reason.WRONG_COUNT, "5 bytes do not make up"),
    ((2,), {"x": zlib.compress(b"ab")}, Reason.WRONG_COUNT, "1 value, but the shape"),
    ((2, None), {"x": zlib.compress(b"abcdef")}, Reason.WRONG_COUNT, "3 values cannot be divided"),
    *[
        ((None, None, 2), {"v": zlib.compress(b"abcd"), "s": shape}, Reason.WRONG_COUNT, text)
        for shape, text in [
            ([1, 1], "found 2 values, expected 3 for shape"),
            ([1, 2, 2], r"the shape \[1, 2, 2\] for 2 values, expected \[any, any, 2\]"),
            ([2, 1, 1], r"the shape \[2, 1, 1\] for 2 values"),
            ([-1, -1, 2], r"the shape \[-1, -1, 2\]"),
            ([2**32, 2**32, 2], "the shape"),
        ]
    ],
    ((None, None, 2), {"v": zlib.compress(b""), "s": [2**40, 0, 2]}, Reason.WRONG_COUNT, "shape"),
    ((None, None, 2), {"v": zlib.compress(b"")}, Reason.MISSING, "'s' is missing"),
]


@pytest.mark.parametrize(("shape", "row", "reason", "text"), WRONG_ARRAYS)
def test_a_misfit_is_named(shape: Any, row: dict[str, Any], reason: Reason, text: str) -> None:
    spec = FixedLenFeature([], bytes) if "x" in row else RawFeature(shape, "int16", "v", "s")
    schema = Schema({"x": spec}, {"x": Original("int16", shape, compression="zlib")})
    rows = [{"x": zlib.compress(bytes(4)), "v": zlib.compress(bytes(4)), "s": [1, 1, 2]}, row]
    with pytest.raises(InvalidArgumentError, match=text) as caught:
        parse_example(list(map(encode_example, rows)), schema)
    assert (caught.value.reason, caught.value.index) == (reason, 1)
