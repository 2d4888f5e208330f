"""Batches of Examples to results and dictionaries: what does not need TensorFlow to be told."""

import itertools
import pickle
import random
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.agreement import EXAMPLES, batches, damaged, encodings
from tests.support.cases import Case, cases
from tests.support.errors import raised
from tests.support.example_messages import examples, plain
from tests.support.reference_example import BYTES, FLOAT, INT64, Feature
from tests.support.small_files import write_records
from tfrecord_lite.errors import InvalidArgumentError, Reason

parse: Any = tl.parse_example
parse_one: Any = tl.parse_single_example
NO_MESSAGE = b"\x0a\xff"


def number(value: int, key: bytes = b"n") -> bytes:
    return plain({key: Feature(INT64, (value,))})


def rows_of(result: Any) -> list[Any]:
    """Divide a result by message; floats as their bits, so that NaN is itself."""
    if isinstance(result, tl.SparseTensor):
        rows: list[list[Any]] = [[] for _ in range(int(result.dense_shape[0]))]
        for index, value in zip(result.indices.tolist(), bits(result.values), strict=True):
            rows[index[0]].append((index[1:], value))
        return rows
    if isinstance(result, tl.RaggedTensor):
        shape = [getattr(row, "shape", None) for row in result]
        flat: Any = result.flat_values
        if flat.dtype == np.float32:
            splits = result.nested_row_splits
            result = tl.RaggedTensor.from_nested_row_splits(flat.view(np.uint32), splits)
        return list(zip(shape, result.to_list(), strict=True))
    return [(result.shape[1:], bits(result[i : i + 1])) for i in range(len(result))]


def bits(array: Any) -> list[Any]:
    array = np.ascontiguousarray(array)
    values: list[Any] = (
        (array.view(np.uint32) if array.dtype == np.float32 else array).ravel().tolist()
    )
    return values


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except InvalidArgumentError as error:
        return error


@given(cases())
def test_a_batch_gives_what_its_messages_give_one_by_one(case: Case) -> None:
    features = {
        name: spec
        for name, spec in case.parts[0].items()
        if not isinstance(spec, tl.FixedLenSequenceFeature)  # padded: see below
    }
    if not features or not case.records:
        return
    try:
        parser = tl.ExampleParser(features)
    except (InvalidArgumentError, TypeError):
        return
    alone = [outcome(parser, [record]) for record in case.records]
    batch = outcome(parser, case.records)

    wrong = [i for i, result in enumerate(alone) if isinstance(result, InvalidArgumentError)]
    if wrong:
        assert isinstance(batch, InvalidArgumentError)
        first = alone[wrong[0]]
        if first.index is not None:
            assert (batch.index, batch.reason, batch.key) == (wrong[0], first.reason, first.key)
        return
    assert not isinstance(batch, InvalidArgumentError), batch
    for name in features:
        each = [row for result in alone for row in rows_of(result[name])]
        assert rows_of(batch[name]) == each


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), max_size=40))
def test_sequences_are_padded_to_the_longest(values: list[list[int]]) -> None:
    records = [plain({b"s": Feature(INT64, tuple(row))}) for row in values]
    spec = tl.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-5)
    result = parse(records, {"s": spec})["s"]
    longest = max(map(len, values), default=0)
    assert result.shape == (len(values), longest)
    assert result.tolist() == [row + [-5] * (longest - len(row)) for row in values]


@pytest.mark.parametrize("padding", [b"\0", b"a\0\0", b""])
def test_padding_keeps_its_nuls(padding: bytes) -> None:
    records = [plain({b"s": Feature(BYTES, row)}) for row in ((b"x\0", b""), ())]
    spec = tl.FixedLenSequenceFeature([], bytes, allow_missing=True, default_value=padding)
    assert parse(records, {"s": spec})["s"].tolist() == [[b"x\0", b""], [padding] * 2]


@given(batches(EXAMPLES) | st.lists(encodings(EXAMPLES) | damaged(EXAMPLES), max_size=6))
def test_dictionaries_of_a_batch_are_those_of_its_messages(batch: list[bytes]) -> None:
    def plain_row(row: dict[str, Any]) -> dict[str, Any]:
        return {name: (values.dtype, bits(values)) for name, values in row.items()}

    alone = [outcome(tl.decode_example, message) for message in batch]
    rows = outcome(tl.decode_examples, batch)
    wrong = [i for i, row in enumerate(alone) if isinstance(row, InvalidArgumentError)]
    if wrong:
        assert isinstance(rows, InvalidArgumentError)
        assert (rows.reason, rows.index) == (Reason.MALFORMED, wrong[0])
    else:
        assert [plain_row(row) for row in rows] == [plain_row(row) for row in alone]


@given(examples)
def test_a_dictionary_holds_every_feature_that_has_a_kind(content: dict[bytes, Feature]) -> None:
    row = tl.decode_example(plain(content))
    assert row.keys() == {key.decode() for key, feature in content.items() if feature.kind}
    for name, values in row.items():
        feature = content[name.encode()]
        dtype = {BYTES: object, FLOAT: np.float32, INT64: np.int64}[feature.kind]
        assert values.dtype == dtype
        assert bits(values) == list(feature.values)


@pytest.mark.parametrize(("wanted", "found"), [*permutations(["string", "float32", "int64"], 2)])
def test_an_error_about_the_kind_says_which_was_found_and_expected(wanted: str, found: str) -> None:
    made = (Feature(BYTES, (b"x",)), Feature(FLOAT, (0,)), Feature(INT64, (7,)))
    of = dict(zip(("string", "float32", "int64"), made, strict=True))
    right, wrong = plain({b"a": of[wanted]}), plain({b"a": of[found]})
    padded = tl.FixedLenSequenceFeature([], wanted, allow_missing=True)
    specs = (
        tl.FixedLenFeature([], wanted), tl.VarLenFeature(wanted), tl.RaggedFeature(wanted), padded,
    )  # fmt: skip
    for spec, n in itertools.product(specs, [0, 40]):
        error = outcome(parse, [right] * n + [wrong], {"a": spec})
        assert error.reason is Reason.WRONG_KIND
        assert str(error) == f"record {n}, feature 'a': found {found}, expected {wanted}"


def test_of_several_misfits_the_first_message_counts() -> None:
    features = {"a": tl.FixedLenFeature([], int), "b": tl.FixedLenFeature([], int)}
    both = plain({b"a": Feature(INT64, (1,)), b"b": Feature(INT64, (1,))})
    no_a, no_b = number(1, b"b"), number(1, b"a")
    for batch, index, key in (
        ([both, no_b, no_a], 1, "b"),
        ([both, no_a, no_b], 1, "a"),
        ([both] * 50 + [no_b] + [NO_MESSAGE] * 9 + [no_a], 50, "b"),
    ):
        error = outcome(parse, batch, features)
        assert (error.reason, error.index, error.key) == (Reason.MISSING, index, key)


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("reason", [Reason.MALFORMED, Reason.MISSING, Reason.WRONG_COUNT])
def test_an_error_names_file_offset_and_record(tmp_path: Path, n: int, reason: Reason) -> None:
    path = tmp_path / "some.tfrecord"
    short = plain({b"n": Feature(BYTES, (bytes(5),))})
    wrong = {Reason.MALFORMED: NO_MESSAGE, Reason.MISSING: b""}.get(reason, short)
    right = plain({b"n": Feature(BYTES, (bytes(6),))})
    write_records(path, [right] * n + [wrong, right])
    reader = tl.TFRecordReader(path)
    parser = tl.ExampleParser({"n": tl.RawFeature([3], "int16")})
    calls: list[Callable[[], Any]] = [
        lambda: list(map(parser, reader.blocks())),
        lambda: list(map(parser, reader.blocks(2))),
        lambda: list(reader.batches(parser, 7)),
        *[lambda: list(reader.examples())] * (wrong == NO_MESSAGE),
    ]
    for call in calls:
        error = outcome(call)
        assert (error.reason, error.source, error.index) == (reason, str(path), n)
        assert error.offset == n * (len(right) + 16)


def test_an_example_name_is_in_the_error() -> None:
    features = {"n": tl.FixedLenFeature([], int)}
    with pytest.raises(InvalidArgumentError, match="second"):
        parse([number(1), b""], features, example_names=["first", "second"])


EVERY_FEATURE = {
    "n": tl.FixedLenFeature([], int), "v": tl.RaggedFeature(int),
    "again": tl.RaggedFeature(int, "v"),
    "third": tl.RaggedFeature(int, "v", [tl.RaggedFeature.RowLengths("lengths")]),
    "list": tl.VarLenFeature(int),
    "sparse": tl.SparseFeature("index", "value", "int64", 10, already_sorted=True),
    "other": tl.SparseFeature("index", "value", "int64", 12, already_sorted=True),
    "text": tl.FixedLenFeature([], bytes), "texts": tl.RaggedFeature(bytes),
    "same": tl.RaggedFeature(bytes, "texts"),
}  # fmt: skip


def every_message(i: int) -> bytes:
    return plain(
        {
            b"n": Feature(INT64, (i,)),
            b"v": Feature(INT64, (i, i + 1)),
            b"lengths": Feature(INT64, (2,)),
            b"list": Feature(INT64, (i,) * 3),
            b"index": Feature(INT64, (3,)),
            b"value": Feature(INT64, (-i,)),
            b"text": Feature(BYTES, (b"text %d" % i,)),
            b"texts": Feature(BYTES, (b"a", b"bc")),
        }
    )


def arrays_of(result: Any) -> list[Any]:
    match result:
        case tl.SparseTensor():
            return [result.indices, result.values, result.dense_shape]
        case tl.RaggedTensor():
            return [*arrays_of(result.flat_values), *result.nested_row_splits]
        case tl.BytesColumn():
            return [result.offsets, result.data]
        case _:
            return [result]


@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
@pytest.mark.parametrize("splits", [[0, 1], [0, 40], [0, 20, 40]])
def test_results_own_their_memory(splits: list[int], strings: Any) -> None:
    block = tl.Block.from_records([every_message(i) for i in range(splits[-1])])
    parser = tl.ExampleParser(EVERY_FEATURE, strings=strings)
    batches = parser.parse_batches(block, splits) if len(splits) > 2 else [parser(block)]
    arrays = [
        ((n, name), array)
        for n, batch in enumerate(batches)
        for name, result in batch.items()
        for array in arrays_of(result)
    ]
    for name, array in arrays:
        assert not np.shares_memory(array, block.data), name
    for (one, first), (other, second) in combinations(arrays, 2):
        assert one == other or not np.shares_memory(first, second), (one, other)


@pytest.mark.parametrize("n", [1, 4, 5, 100])
def test_strings_pickling_and_features_not_asked_for_change_nothing(n: int) -> None:
    batch = [every_message(i) for i in range(n)]
    everything = parse(batch, EVERY_FEATURE)
    parser: Any = pickle.loads(pickle.dumps(tl.ExampleParser(EVERY_FEATURE, strings="BytesColumn")))
    columns = parser(batch)
    assert isinstance(columns["text"], tl.BytesColumn)
    for name, spec in EVERY_FEATURE.items():
        assert rows_of(columns[name]) == rows_of(everything[name])
        assert rows_of(parse(batch, {name: spec})[name]) == rows_of(everything[name])


def test_values_of_features_not_asked_for_are_not_looked_into() -> None:
    broken = plain({b"n": Feature(INT64, (1,)), b"x": Feature(BYTES, (b"abc",))})
    broken = broken.replace(b"\x0a\x03abc", b"\x0f\x03abc")
    assert parse([broken] * 9, {"n": tl.FixedLenFeature([], int)})["n"].tolist() == [1] * 9
    raised(InvalidArgumentError, parse, [broken] * 9, {"x": tl.VarLenFeature(bytes)})


def test_row_ids_alone_take_no_memory() -> None:
    ids = tl.RaggedFeature(int, "v", [tl.RaggedFeature.ValueRowIds("i")])

    def message(row: int) -> bytes:
        return plain({b"v": Feature(INT64, (1,)), b"i": Feature(INT64, (row,))})

    assert parse([message(1000)] * 2000, {"r": ids})["r"][1999].nrows() == 1001
    assert parse([message(2**20)], {"r": ids})["r"].flat_values.tolist() == [1]
    error = outcome(parse, [message(2**20)] * 200, {"r": ids})
    assert (error.reason, error.index, error.key) == (Reason.BAD_PARTITION, 1, "i")
    for row in (2**31 - 1, 2**62, 2**63 - 1):
        wide = tl.RaggedFeature(int, "v", ids.partitions, row_splits_dtype="int64")
        error = outcome(parse, [message(row)] * 9, {"r": wide})
        assert (error.reason, error.index) == (Reason.BAD_PARTITION, 0)


@pytest.mark.parametrize(("size", "bounds"), [(-1, "0 or more"), (7, "0 to 6")])
def test_an_error_about_an_index_says_its_bounds(size: int, bounds: str) -> None:
    records = tl.encode_examples({"v": [[1.0]], "i": [[-3]]})
    with pytest.raises(InvalidArgumentError, match=f"'i': an index is -3, expected {bounds}$"):
        parse(records, {"s": tl.SparseFeature("i", "v", np.float32, size)})


@pytest.mark.parametrize("n", [1, 9])
def test_the_first_row_starts_at_0(n: int) -> None:
    features = {"r": tl.RaggedFeature(int, "v", [tl.RaggedFeature.RowStarts("i")])}

    def message(*starts: int) -> bytes:
        return plain({b"v": Feature(INT64, (1,)), b"i": Feature(INT64, starts)})

    assert parse([message(0)] * n, features)["r"].to_list() == [[[1]]] * n
    for starts in ((1,), (1, 1), (0, 2)):
        error = outcome(parse, [message(0)] * n + [message(*starts)], features)
        assert (error.reason, error.index, error.key) == (Reason.BAD_PARTITION, n, "i")
        assert ("the first row starts at 1, expected 0" in str(error)) == (starts[0] == 1)


@pytest.mark.parametrize(
    "partitions",
    [[tl.RaggedFeature.UniformRowLength(2**62)], [tl.RaggedFeature.UniformRowLength(1)] * 70],
)
def test_rows_that_no_array_can_have_are_an_error(partitions: Sequence[Any]) -> None:
    features = {"r": tl.RaggedFeature(int, "v", partitions)}
    for batch in ([b""] * 3, [number(1, b"v")] * 3):
        error = outcome(parse, batch, features)
        if isinstance(error, InvalidArgumentError):
            assert error.reason in {Reason.BAD_ARGUMENT, Reason.BAD_PARTITION}
        else:
            assert isinstance(error["r"], tl.RaggedTensor)


def test_a_batch_comes_in_any_form() -> None:
    features = {"n": tl.FixedLenFeature([], int)}
    records = [number(i) for i in range(9)]
    array = np.array([*records, None], object)[:-1]
    forms: list[Any] = [records, tuple(records), array, tl.Block.from_records(records)]
    for form in forms:
        assert parse(form, features)["n"].tolist() == list(range(9))
        assert [row["n"][0] for row in tl.decode_examples(form)] == list(range(9))
    assert parse([], features)["n"].tolist() == []
    assert parse_one(records[3], features)["n"] == 3
    assert tl.decode_examples([]) == []


RAW_DTYPES = [
    "uint8", "int8", "bool", "int16", "uint64", "float32", "float64", "complex64", "bfloat16",
]  # fmt: skip


@given(
    st.sampled_from(RAW_DTYPES),
    st.sampled_from([(), (3,), (2, 0), (2, 1, 3)]),
    st.integers(0, 40),
    st.data(),
)
def test_a_raw_feature_is_the_array(dtype: str, shape: tuple[int, ...], n: int, data: Any) -> None:
    spec = tl.RawFeature(shape, dtype)
    raw = np.frombuffer(random.Random(n).randbytes(n * spec.n_bytes), np.uint8)
    array = ((raw & 1) != 0 if dtype == "bool" else raw.view(spec.dtype)).reshape(n, *shape)
    features: Any = {"x": spec, "n": int}
    block = tl.encode_examples({"x": array, "n": range(n)}, features)

    strings = {"x": [row.tobytes() for row in array], "n": range(n)}
    assert list(block) == list(tl.encode_examples(strings, {"x": bytes, "n": int}))
    found = parse(block, features)["x"]
    assert (found.dtype, found.shape, found.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )
    assert found.flags.writeable
    splits = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=3))), n]
    parts: list[Any] = [p["x"] for p in tl.ExampleParser(features).parse_batches(block, splits)]
    assert [part.tobytes() for part in parts] == [
        array[a:b].tobytes() for a, b in itertools.pairwise(splits)
    ]
    if n:
        one = parse_one(block[n - 1], features)["x"]
        assert (one.dtype, one.shape, one.tobytes()) == (array.dtype, shape, array[-1].tobytes())


def test_arrays_of_a_raw_feature_are_written_as_their_bytes() -> None:
    schema = {"x": tl.RawFeature([2], "uint8")}
    assert parse(tl.encode_examples({"x": [[1, 2]]}, schema), {"x": bytes})["x"].tolist() == [
        b"\1\2"
    ]
    assert tl.encode_example({"x": [1, 2]}, schema) == tl.encode_example({"x": b"\1\2"})
    for limits in (np.iinfo("int64"), np.iinfo("uint64")):
        values = np.array([limits.min, limits.max - 1, limits.max], limits.dtype)
        spec = {"x": tl.RawFeature([], limits.dtype)}
        assert parse(tl.encode_examples({"x": values}, spec), spec)["x"].tolist() == list(values)
