"""Columns and dictionaries to messages: what comes out is what the protobuf runtime writes."""

from io import BytesIO
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.specifications import tables
from tfrecord_lite import testing
from tfrecord_lite.block import SPARE_BYTES
from tfrecord_lite.convert.lossless import schema_of
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.encode import columns as encode_columns
from tfrecord_lite.messages import Example

keys = testing.keys()
int64s = testing.int64s()
floats = testing.float32s(allow_nan=False)
strings = testing.byte_strings()
Table = tuple[dict[str, Any], list[Example]]


def serialized(example: Example) -> bytes:
    return example.SerializeToString(deterministic=True)


def in_byte_order(example: Example) -> bool:
    """Whether protobuf's runtimes agree on the order of keys: upb puts a prefix last."""
    raw = [key.encode() for key in example.features.feature]
    return not any(a != b and b.startswith(a) for a in raw for b in raw)


@given(tables(min_rows=0, allow_nan=False))
def test_columns_become_the_messages_that_protobuf_makes(table: Table) -> None:
    columns, examples = table
    block = tl.encode_examples(columns)
    assert len(block) == len(examples)
    for record, wanted in zip(block.to_list(), examples, strict=True):
        assert Example.FromString(record) == wanted
        assert len(record) == wanted.ByteSize()
        if in_byte_order(wanted):
            assert record == serialized(wanted)


@given(tables())
def test_a_block_has_its_spare_bytes_and_the_same_bytes_every_time(table: Table) -> None:
    columns, _ = table
    block = tl.encode_examples(columns)
    backwards = tl.encode_examples(dict(reversed(columns.items())))
    assert block.data.size - SPARE_BYTES >= (block.offsets + block.lengths).max()
    assert block.data.flags.owndata
    assert backwards.to_list() == block.to_list()


@given(tables(), st.integers(1, 6))
def test_batches_are_the_whole_in_parts(table: Table, n: int) -> None:
    columns, rows = table
    with mock.patch.multiple(encode_columns, _MIN_RECORDS=n, _MAX_RECORDS=n):
        blocks = list(encode_columns.encode_column_batches(columns, None))
    records = [record for block in blocks for record in block.to_list()]
    assert records == tl.encode_examples(columns).to_list()
    assert len(blocks) == -(-len(rows) // n)


@pytest.mark.parametrize("size", [*range(100, 135), *range(16_370, 16_390), 2_097_140, 2_097_160])
def test_lengths_around_those_that_take_a_byte_more(size: int) -> None:
    # Each record of another class, so that one batch has all of them.
    values = [bytes(size), b"", bytes(size // 2), bytes(1)]
    records = tl.encode_examples({"key": values, "n": [1, 2, 3, 4]}).to_list()
    for number, (value, record) in enumerate(zip(values, records, strict=True), 1):
        wanted = Example()
        wanted.features.feature["key"].bytes_list.value.append(value)
        wanted.features.feature["n"].int64_list.value.append(number)
        assert record == serialized(wanted)


values = st.one_of(
    int64s,
    floats,
    strings,
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.none(),
    st.lists(int64s, max_size=50),
    st.lists(floats, max_size=5),
    st.lists(strings, max_size=5),
    st.lists(int64s, max_size=70).map(lambda v: np.array(v, np.int64)),
    st.lists(floats, max_size=70).map(lambda v: np.array(v, np.float32)),
    st.binary(min_size=1020, max_size=1030),
    floats.map(np.float32),
    int64s.map(np.int64),
)


@given(st.dictionaries(keys, values, max_size=6))
def test_one_dictionary_is_encoded_as_a_column_of_one_is(row: dict[str, Any]) -> None:
    record = tl.encode_example(row)
    found = {key: value for key, value in row.items() if value is not None}
    if found:
        assert tl.encode_examples({key: [value] for key, value in row.items()})[0] == record
    assert set(Example.FromString(record).features.feature) == set(found)


def test_what_was_left_out_of_a_sequence_is_not_in_the_message() -> None:
    assert tl.encode_sequence_example({}) == b""
    assert tl.encode_sequence_example({"context": {}}) == b"\x0a\x00"
    assert tl.encode_sequence_example({"feature_lists": {"a": []}}).endswith(b"\x12\x00")
    assert tl.decode_sequence_example(b"") == {"context": {}, "feature_lists": {}}


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (np.array([True, False]), [1, 0]),
        (np.array([1, 255], np.uint8), [1, 255]),
        (np.array([-1, 2], ">i4"), [-1, 2]),
        (np.array([2**63 - 1, 0], np.uint64), [2**63 - 1, 0]),
        (np.array([1.5, -2], np.float16), [1.5, -2]),
        (np.array([1.5, -2], ">f8"), [1.5, -2]),
        (np.array(["ab", "ü"]), [b"ab", "ü".encode()]),
        (np.array(["a\U0001f600", ""], ">U2"), ["a\U0001f600".encode(), b""]),
        (np.array([b"ab", b"c\0d"], "S3"), [b"ab", b"c\0d"]),
        (np.array(["ab", "ü"], np.dtypes.StringDType()), [b"ab", "ü".encode()]),
        (np.array(["1970-01-02", "1969-12-31"], "M8[D]"), [1, -1]),
        (np.array([5, 6], "m8[s]"), [5, 6]),
        ([np.timedelta64(5, "s"), np.timedelta64(6, "s")], [5, 6]),
        (np.array([1, True], object), [1, 1]),
        (["ab", b"c"], [b"ab", b"c"]),
        ([bytearray(b"x"), memoryview(b"yz")], [b"x", b"yz"]),
        ([np.float32(0.1), np.float32(2)], [float(np.float32(0.1)), 2]),
        ([1, 2.5], [1, 2.5]),
        ([0.1, 1e-46], [float(np.float32(0.1)), 0]),
        (np.arange(4, dtype=np.int64)[::2], [0, 2]),
        (np.arange(4, dtype=np.float32)[::-2], [3, 1]),
    ],
)
def test_what_numpy_has_becomes_lists(column: Any, wanted: list[Any]) -> None:
    block = tl.encode_examples({"x": column})
    assert [tl.decode_example(record)["x"].tolist() for record in block] == [[v] for v in wanted]


@pytest.mark.parametrize("view", [
    np.arange(1000).data, np.asfortranarray(np.ones((2, 3), np.float32)).data, np.array(5).data,
    memoryview(b"abcdef")[::2],
], ids=["large", "fortran", "scalar", "strided"])  # fmt: skip
def test_a_memoryview_of_any_items_is_stored_as_all_its_bytes(view: memoryview) -> None:
    whole = view.tobytes()
    for column in ([view, b"tail"], ["head", view, b"tail"], [[b"x", view], [b"tail"]]):
        rows = tl.decode_examples(tl.encode_examples({"x": column}))
        assert whole in [value for row in rows for value in row["x"].tolist()]
        assert rows[-1]["x"].tolist() == [b"tail"]
    assert tl.decode_example(tl.encode_example({"x": view}))["x"].tolist() == [whole]
    sequence = tl.encode_sequence_example({"feature_lists": {"x": [[view, b"tail"]]}})
    (step,) = tl.decode_sequence_example(sequence)["feature_lists"]["x"]
    assert step.tolist() == [whole, b"tail"]


def test_a_float32_keeps_its_bits() -> None:
    bits = np.array([0x7FA12345, 0xFFC00001, 1, 0x80000000], np.uint32)
    odd = bits.view(np.float32)
    row: Any = {"context": {"x": odd}, "feature_lists": {"y": [odd, odd[:1]]}}
    found = tl.decode_sequence_example(tl.encode_sequence_example(row))
    for values in (
        np.concatenate([tl.decode_example(r)["x"] for r in tl.encode_examples({"x": odd})]),
        tl.decode_example(tl.encode_example({"x": odd}))["x"],
        found["context"]["x"],
        found["feature_lists"]["y"][0],
    ):
        assert values.view(np.uint32).tolist() == bits.tolist()


def test_several_levels_and_dimensions_are_flattened() -> None:
    rows = tl.RaggedTensor.from_nested_row_splits(
        np.arange(8).reshape(4, 2), [[0, 2, 2], [0, 3, 4]]
    )
    block = tl.encode_examples({"x": rows, "y": np.arange(8).reshape(2, 2, 2)})
    found = [tl.decode_example(record) for record in block]
    assert [row["x"].tolist() for row in found] == [list(range(8)), []]
    assert [row["y"].tolist() for row in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_large_strings_and_what_is_missing_between_them() -> None:
    large = [bytes([i]) * (5000 + i) for i in range(30)]
    items = [None if i % 7 == 3 else item for i, item in enumerate(large)]
    block = tl.encode_examples({"x": items, "n": np.arange(30)})
    pairs = tl.encode_examples({"x": [[item, item] for item in large]})
    assert block.to_list() == [tl.encode_example({"x": x, "n": n}) for n, x in enumerate(items)]
    assert [tl.decode_example(r)["x"].tolist() for r in pairs] == [[item, item] for item in large]


def test_no_records_are_an_empty_block_and_no_values_no_kind() -> None:
    assert (
        tl.encode_examples({"x": np.zeros((0, 3), np.float32), "y": [], "z": None}).to_list() == []
    )
    (record,) = tl.encode_examples({"x": [[]]})
    assert record == tl.encode_example({"x": []}) == b"\x0a\x07\x0a\x05\x0a\x01x\x12\x00"


MASKED = np.ma.MaskedArray([1, 2, 3], [True, True, True])


@pytest.mark.parametrize("value", [np.ma.masked, MASKED, np.ma.MaskedArray(5, True), None])
def test_what_is_masked_is_missing(value: Any) -> None:
    rows = [{"k": value, "n": 1}, {"k": np.ma.MaskedArray([7, 8], [False, False]), "n": 2}] * 3
    file = BytesIO()
    with tl.TFRecordWriter(file) as writer:
        writer.write_examples(rows)
    written = list(tl.TFRecordReader(BytesIO(file.getvalue())))
    assert written == list(map(tl.encode_example, rows))
    found = [{key: v.tolist() for key, v in row.items()} for row in tl.decode_examples(written)]
    assert found == [{"n": [1]}, {"k": [7, 8], "n": [2]}] * 3
    found = tl.decode_examples(tl.encode_examples({"k": [1, value, 3]}))
    assert [row["k"].tolist() if "k" in row else None for row in found] == [[1], None, [3]]
    with pytest.raises(InvalidArgumentError) as caught:
        tl.encode_example({"k": value}, {"k": tl.FixedLenFeature([], "int64")})
    assert caught.value.reason == Reason.MISSING
    optional = {"k": tl.FixedLenFeature([], "int64", 7)}
    assert tl.decode_example(tl.encode_example({"k": value}, optional)) == {}


@pytest.mark.parametrize("hidden", [2**63, "a", None, [1]])
@pytest.mark.parametrize("kept", [7, 0.5, b"a", [1, 2]])
def test_masked_records_of_an_object_array_are_missing(kept: Any, hidden: Any) -> None:
    data = np.empty(2, object)
    data[0], data[1] = kept, hidden
    rows = tl.decode_examples(tl.encode_examples({"k": np.ma.MaskedArray(data, [False, True])}))
    wanted = tl.decode_example(tl.encode_example({"k": kept}))
    assert [[v.tolist() for v in row.values()] for row in rows] == [[wanted["k"].tolist()], []]


def test_a_masked_value_is_missing_in_a_column_that_is_stored() -> None:
    column = [1, np.ma.masked, np.ma.MaskedArray(3, False)]
    schema = schema_of({"k": column})
    found: Any = tl.parse_example(tl.encode_examples({"k": column}, schema), schema)["k"]
    assert found.tolist() == [1, None, 3]


def test_masked_values_of_sequences() -> None:
    part = np.ma.MaskedArray([[1, 2], [3, 4]], [[False, False], [False, True]])
    whole = np.ma.MaskedArray([[1, 2], [3, 4]], [[False, False], [True, True]])
    none = np.ma.MaskedArray([[1, 2], [3, 4]], False)
    for steps, wanted in (
        (whole, [[1, 2], []]),
        (none, [[1, 2], [3, 4]]),
        ([1, np.ma.masked, None, 3], [[1], [], [], [3]]),
        ([[1, 2], np.ma.masked, MASKED], [[1, 2], [], []]),
    ):
        row: Any = {"context": {"c": np.ma.masked, "n": 1}, "feature_lists": {"x": steps}}
        record = tl.encode_sequence_example(row)
        found = tl.decode_sequence_example(record)
        assert found["context"].keys() == {"n"}
        assert [step.tolist() for step in found["feature_lists"]["x"]] == wanted
        context = {"c": [np.ma.masked], "n": [1]}
        assert tl.encode_sequence_examples(context, {"x": [steps]}).to_list() == [record]
    for bad in (part, [[1, np.ma.masked]], [np.ma.MaskedArray([1, 2], [True, False])]):
        for call in (
            lambda bad=bad: tl.encode_sequence_example({"feature_lists": {"x": bad}}),
            lambda bad=bad: tl.encode_sequence_examples(None, {"x": [bad]}),
            lambda bad=bad: tl.encode_sequence_examples({}, {"x": [none, bad]}),
            lambda bad=bad: tl.encode_sequence_example({"context": {"x": bad}}),
        ):
            error = raised(InvalidArgumentError, call)
            assert (error.reason, error.key) == (Reason.UNREPRESENTABLE, "x")
    raised(TypeError, tl.encode_sequence_example, {"feature_lists": {"x": np.ma.masked}})
    assert len(tl.encode_sequence_examples(None, {"x": [np.ma.masked, [1]]})) == 2


def test_lists_of_mixed_depth_are_flattened() -> None:
    found = tl.decode_examples(tl.encode_examples({"x": [[1, [2, [3]]], [[[4]]]]}))
    assert [row["x"].tolist() for row in found] == [[1, 2, 3], [4]]
