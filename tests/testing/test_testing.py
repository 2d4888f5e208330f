"""tfrecord_lite.testing: each strategy draws what it says, and the assertions find mutants."""

import random
from collections.abc import Callable, Iterable
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.internal import api_implementation
from google.protobuf.message import Message
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import tfrecord_lite as tl
from tests.support import reference, reference_example
from tests.support.errors import raised
from tests.support.reference_example import RejectedError
from tests.support.specifications import feature_specs, sequence_feature_specs, tables
from tests.support.streams import any_stream
from tests.support.subprocesses import run_fresh
from tfrecord_lite import testing
from tfrecord_lite.errors import InvalidArgumentError
from tfrecord_lite.messages import Event, Example, HistogramProto, SequenceExample, Summary
from tfrecord_lite.records.framing import frame
from tfrecord_lite.testing import (
    assert_damage_is_noticed,
    assert_round_trip,
    assert_same,
    damaged_messages,
    encodings,
)
from tfrecord_lite.testing.reencode import Reencoder
from tfrecord_lite.testing.strategies import is_intact

ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs the extra dtypes")

in_c = pytest.mark.skipif(
    api_implementation.Type() == "python",
    reason="the runtime in Python knows no fields with over-long tags",
)


def some(strategy: SearchStrategy[Any], condition: Callable[[Any], bool]) -> Any:
    """Find an example that meets a condition; fail if there seems to be none."""
    quick = settings(
        max_examples=2000,
        database=None,
        phases=[Phase.generate],  # any will do, not only the smallest
        suppress_health_check=list(HealthCheck),
    )
    return find(strategy, condition, settings=quick, random=random.Random(0))


HISTOGRAM = HistogramProto(min=-1, bucket=[1, 2], bucket_limit=[3, 4])
VALUES = [Summary.Value(tag="a", simple_value=0.5), Summary.Value(histo=HISTOGRAM), Summary.Value()]
MANY_KINDS = Event(wall_time=1.5, step=-3, summary=Summary(value=VALUES))
OF_PROTO2 = FileDescriptorProto()
descriptor_pb2.DESCRIPTOR.CopyToProto(OF_PROTO2)
del OF_PROTO2.message_type[4:], OF_PROTO2.enum_type[:]


any_messages = st.one_of(
    testing.examples(), testing.sequence_examples(), st.sampled_from([MANY_KINDS, OF_PROTO2])
)


@in_c
@given(any_messages, st.booleans(), st.data())
def test_encodings_are_equal(message: Message, may_be_unknown: bool, data: st.DataObject) -> None:
    encoded = data.draw(encodings(message, unknown_fields=may_be_unknown))
    parsed = type(message).FromString(encoded)
    if may_be_unknown:
        parsed.DiscardUnknownFields()
    plain = message.SerializeToString(deterministic=True)
    assert parsed.SerializeToString(deterministic=True) == plain


@pytest.mark.parametrize(
    "message", [MANY_KINDS, OF_PROTO2, Example()], ids=lambda m: type(m).__name__
)
def test_the_plainest_encoding_is_the_runtimes(message: Message) -> None:
    plain = message.SerializeToString(deterministic=True)
    assert Reencoder(lambda n: 0).message(plain, message.DESCRIPTOR) == plain  # noqa: ARG005


def features_of(message: bytes) -> dict[bytes, Any]:
    try:
        return reference_example.parse(message)
    except RejectedError:
        return {}


INTS = Example()
INTS.features.feature["a"].int64_list.value.extend([1, 2, 300])
INTS.features.feature["b"].bytes_list.value.append(b"x")


def fields_of_a(message: bytes) -> list[reference_example.Field]:
    """Return the fields of the Int64Lists of feature a."""
    return [
        field
        for key, contents, _ in reference_example.entries(message)
        for content in contents
        for stored in reference_example.submessages(content, 3, reference_example.PACKAGE, 0)
        for field in reference_example.fields(stored)
        if key == b"a" and field.number == 1
    ]


WAYS: dict[str, Callable[[bytes], bool]] = {
    "packed in two chunks": lambda m: [f.wire_type for f in fields_of_a(m)] == [2, 2],
    "unpacked": lambda m: {f.wire_type for f in fields_of_a(m)} == {0},
    "a mixture": lambda m: {f.wire_type for f in fields_of_a(m)} == {0, 2},
    "reordered": lambda m: [e.key for e in reference_example.entries(m)] == [b"b", b"a"],
    "a key twice": lambda m: len(reference_example.entries(m)) == 3,
    "features in two parts": lambda m: [f.number for f in reference_example.fields(m)] == [1, 1],
    "an unknown field": lambda m: {f.number for f in reference_example.fields(m)} > {1},
    "a group": lambda m: 3 in {f.wire_type for f in reference_example.fields(m)},
    "a known field of another type": lambda m: any(
        f.number == 1 and f.wire_type != 2 for f in reference_example.fields(m)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_encodings_come_in_every_way(way: str) -> None:
    message = some(encodings(INTS), WAYS[way])
    assert features_of(message)[b"a"].values == (1, 2, 300)


@given(feature_specs(), st.data())
def test_examples_for_features_parse(features: dict[str, Any], data: st.DataObject) -> None:
    examples = data.draw(st.lists(testing.examples_for(features), min_size=1, max_size=6))
    serialized = [example.SerializeToString() for example in examples]
    columns = tl.ExampleParser(features)(serialized)
    assert columns.keys() == features.keys()
    for message in serialized:
        tl.parse_single_example(message, features)


@given(
    testing.examples(max_features=2),
    testing.sequence_examples(max_features=1, max_steps=2),
    sequence_feature_specs(max_size=1),
    tables(min_rows=2, max_rows=4),
    testing.records(min_size=1, max_size=3, max_bytes=5),
    feature_specs().flatmap(lambda features: testing.columns(features, 2, 3)),
)
def test_limits_are_kept(
    example: Example, sequence: SequenceExample, specs: Any, table: Any, records: Any, batch: Any
) -> None:
    assert len(example.features.feature) <= 2
    lists = sequence.feature_lists.feature_list
    assert max(len(sequence.context.feature), len(lists)) <= 1
    assert all(len(steps.feature) <= 2 for steps in lists.values())
    assert 1 <= len(specs[0]) + len(specs[1]) <= 2
    assert max(map(len, specs)) == 1
    columns, examples = table
    assert (2 <= len(examples) <= 4, 1 <= len(columns) <= 5) == (True, True)
    assert all(set(each.features.feature) <= set(columns) for each in examples)
    assert 1 <= len(records) <= 3
    assert max(map(len, records)) <= 5
    for name, column in batch.items():
        assert isinstance(column, (np.ndarray, tl.RaggedTensor, tl.SparseTensor)), name
        n_rows = column.dense_shape[0] if isinstance(column, tl.SparseTensor) else len(column)
        assert 2 <= n_rows <= 3


@given(testing.examples(allow_nan=False), testing.sequence_examples(allow_nan=False))
def test_without_nan_messages_equal_themselves(example: Example, sequence: SequenceExample) -> None:
    assert Example.FromString(example.SerializeToString()) == example
    assert SequenceExample.FromString(sequence.SerializeToString()) == sequence


@given(sequence_feature_specs(), st.data())
def test_sequence_examples_for_features_parse_with_them(specs: Any, data: st.DataObject) -> None:
    one = testing.sequence_examples_for(*specs)
    messages = data.draw(st.lists(one, min_size=1, max_size=4))
    serialized = [message.SerializeToString() for message in messages]
    context, lists, _ = tl.SequenceExampleParser(*specs)(serialized)
    assert (context.keys(), lists.keys()) == tuple(spec.keys() for spec in specs)
    for message in serialized:
        tl.parse_single_sequence_example(message, *specs)


def steps_of(message: SequenceExample) -> list[Any] | None:
    lists = message.feature_lists.feature_list
    return list(lists["a"].feature) if "a" in lists else None


def n_steps_of(message: SequenceExample) -> int | None:
    steps = steps_of(message)
    return None if steps is None else len(steps)


def content_of(feature: Any) -> tuple[str | None, bool]:
    """Return the kind of a Feature, and whether it has values."""
    kind = feature.WhichOneof("kind")
    return kind, bool(kind and getattr(feature, kind).value)


def result_of(damaged: bytes) -> str:
    found = features_of(damaged).keys()
    return "rejected" if not found else "more" if found > {b"a"} else "as it was"


Drawn: TypeAlias = "tuple[SearchStrategy[Any], Callable[[Any], Any], Iterable[Any]]"


def drawn() -> Iterable[Drawn]:
    """Give strategies, what is looked at in what they draw, and what has to be seen there."""
    classes = ["FixedLenF", "VarLenF", "FixedLenSequenceF", "SparseF", "RaggedF"]
    kinds = ["RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds"]
    yield feature_specs(), repr, [*classes, *kinds, "UniformRowLength"]
    context = ["{},", "FixedLenFeature", "VarLenFeature", "RaggedFeature"]
    yield sequence_feature_specs(1), lambda specs: f"{specs[0]},", context
    lists = ["{},", "FixedLenSequenceFeature", "VarLenFeature", "RaggedFeature"]
    yield sequence_feature_specs(1), lambda specs: f"{specs[1]},", lists
    one = testing.examples_for({"a": tl.FixedLenFeature([], int, 7)})
    yield one, lambda example: {"a" in example.features.feature}, [True, False]
    every = product(("bytes_list", "float_list", "int64_list"), (True, False))
    yield testing.feature_messages(), lambda one: {content_of(one)}, [(None, False), *every]
    forms = [np.ndarray, np.ma.MaskedArray, list, tl.BytesColumn, tl.RaggedTensor, tl.SparseTensor]
    yield tables(max_rows=2), lambda table: set(map(type, table[0].values())), forms
    optional = tl.FixedLenSequenceFeature([2], "int64", allow_missing=True)
    for spec in (optional, tl.VarLenFeature("float32"), tl.RaggedFeature("string")):
        some_steps = testing.sequence_examples_for(None, {"a": spec}, max_steps=2)
        yield some_steps, lambda message: {n_steps_of(message)}, [None, 0, 1, 2]
    steps = testing.sequence_examples_for(None, {"a": tl.VarLenFeature("float32")})
    without = [(None, False), ("float_list", False)]
    yield steps, lambda message: set(map(content_of, steps_of(message) or [])), without
    yield damaged_messages(INTS), result_of, ["rejected", "more"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "look", "wanted"),
    [(strategy, look, each) for strategy, look, wanted in drawn() for each in wanted],
)
def test_everything_is_drawn_sooner_or_later(strategy: Any, look: Any, wanted: Any) -> None:
    some(strategy, lambda found: wanted in look(found))


@given(testing.examples_for({"a": tl.FixedLenFeature([], int)}))
def test_a_feature_that_must_be_there_is(example: Example) -> None:
    assert "a" in example.features.feature


REQUIRED = {"a": tl.FixedLenSequenceFeature([2], "int64")}


@given(testing.sequence_examples_for(None, REQUIRED, max_steps=2))
def test_a_list_that_must_be_there_is(message: SequenceExample) -> None:
    steps = steps_of(message)
    assert steps is not None
    assert len(steps) <= 2
    assert all(len(step.int64_list.value) == 2 for step in steps)


@pytest.mark.parametrize("specs", [
    ({"a": tl.FixedLenSequenceFeature([], "int64")}, None),
    (None, {"a": tl.FixedLenFeature([], "int64")}),
    (None, {"a": tl.SparseFeature("i", "v", "int64", 3)}), (None, None),
])  # fmt: skip
@given(data=st.data())
def test_features_that_no_parser_takes_are_rejected(specs: Any, data: st.DataObject) -> None:
    raised(InvalidArgumentError, data.draw, testing.sequence_examples_for(*specs))


@given(any_stream())
def test_sound_is_what_the_reference_reads_to_its_end(stream: bytes) -> None:
    assert is_intact(stream) == (reference.decode(stream)[1] is None)


@given(testing.records(min_size=1), st.data())
def test_a_damaged_file_is_never_intact(records: list[bytes], data: st.DataObject) -> None:
    stream = bytes(frame(records))
    damaged = data.draw(testing.damaged(stream))
    assert reference.decode(damaged)[1] is not None


NAN = float("nan")
TEXT = np.dtypes.StringDType(na_object=NAN)


def masked(values: Any, mask: Any, dtype: Any = None) -> Any:
    return np.ma.MaskedArray(np.array(values, dtype), mask)


SAME: list[tuple[Any, Any]] = [
    (b"a", bytearray(b"a")), (b"a", memoryview(b"a")), ([1, (2,)], [1, (2,)]), (NAN, NAN),
    (np.float32(NAN), -np.float32(NAN)), (np.array(NAN), np.array(NAN)),
    (np.array([NAN, 1], ml_dtypes.bfloat16), np.array([-NAN, 1], ml_dtypes.bfloat16)),
    (np.array([3, -1], ml_dtypes.int4), np.array([3, -1], ml_dtypes.int4)),
    (np.array([complex(NAN, 2)], ">c8"), np.array([complex(-NAN, 2)], ">c8")),
    (np.array(["NaT", 0], "M8[s]"), np.array(["NaT", 0], "M8[s]")),
    (np.array([b"a", b""]), np.array([b"a", b""])),
    (np.array(["a", NAN], TEXT), np.array(["a", -NAN], TEXT)),
    (masked([1.0, 2.0], [0, 1]), masked([1.0, 3.0], [0, 1])),
    (masked([1.0, NAN], [1, 0]), masked([NAN, NAN], [1, 0])),
    (masked([b"a", 7], [0, 1], object), masked([b"a", None], [0, 1], object)),
    (np.ma.masked, np.ma.masked), ({1: NAN, "a": 2, None: 3}, {None: 3, "a": 2, 1: NAN}),
    (np.array([NAN, 1.5], np.float32), np.array([-NAN, 1.5], np.float32)),
    ({"a": np.arange(3)}, {"a": np.arange(3)}), (Example(), Example()),
    (tl.BytesColumn.from_list([b"a", b"b", b"c"])[1:], tl.BytesColumn.from_list([b"b", b"c"])),
    (tl.RaggedTensor(np.array([NAN]), [0, 1]), tl.RaggedTensor(np.array([NAN]), [0, 1])),
    (tl.SparseTensor([[0]], [NAN], [2]), tl.SparseTensor([[0]], [NAN], [2])),
    (np.empty((0, 2)), np.empty((0, 2))),
]  # fmt: skip
DIFFERENT: list[tuple[Any, Any]] = [
    (b"a", b"b"), (b"a", "a"), (1, 1.0), (1, True), (0.0, -0.0), ([1], [1, 1]),
    (np.arange(3), [0, 1, 2]), (np.arange(3), np.arange(3.0)),
    (np.arange(3), np.arange(3, dtype=np.int32)), (np.zeros(3), np.zeros((3, 1))),
    (np.zeros(1), -np.zeros(1)), (np.array([NAN]), np.array([1.0])),
    (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object)), ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 1, "b": 2}), (Example(), SequenceExample()),
    (INTS, Example()),
    (tl.BytesColumn.from_list([b"ab", b""]), tl.BytesColumn.from_list([b"a", b"b"])),
    (tl.RaggedTensor(np.array([1, 2]), [0, 1, 2]), tl.RaggedTensor(np.array([1, 2]), [0, 0, 2])),
    (tl.SparseTensor([[0]], [1], [2]), tl.SparseTensor([[1]], [1], [2])),
    (np.array([complex(0.0, -0.0)]), np.array([complex(0.0, 0.0)])), (None, 0), ([1], (1,)),
    ({"a": [1]}, {"a": (1,)}), ({1: 0}, {True: 0}), ({1: 0, "a": 0, None: 0}, {2: 0, b"a": 0}),
    (np.float32(0.0), -np.float32(0.0)), (np.float32(0.0), np.float64(0.0)), (np.float64(0.0), 0.0),
    (np.array([complex(NAN, 1)]), np.array([complex(NAN, 2)])),
    (np.array(["NaT"], "M8[s]"), np.array([0], "M8[s]")),
    (np.array(["a"], TEXT), np.array([NAN], TEXT)), (np.array(["a"]), np.array(["b"])),
    (np.array([NAN], object), np.array([np.float64(NAN)], object)),
    (masked([1, 2], [0, 1]), masked([1, 2], [1, 1])),
    (masked([1, 2], [0, 1]), masked([2, 2], [0, 1])), (masked([1, 2], [0, 0]), np.array([1, 2])),
    (masked([b"a", b"b"], [0, 1], object), masked([b"a", b"b"], [0, 0], object)),
    (np.ma.masked, masked(0.0, True)), (tl.BytesColumn.from_list([b"a"]), np.array([b"a"], object)),
    (tl.RaggedTensor(np.array([1]), [0, 1]), {"flat_values": np.array([1]), "row_splits": [np.array([0, 1])]}),
    (tl.SparseTensor([[0]], [1], [2]), {"indices": np.array([[0]]), "values": np.array([1]), "dense_shape": np.array([2])}),
    (Example(), {"tensorflow.Example": b""}),
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), SAME)
def test_same(found: Any, expected: Any) -> None:
    assert_same(found, expected)
    assert_same(expected, found)


@pytest.mark.parametrize(("found", "expected"), DIFFERENT)
def test_different(found: Any, expected: Any) -> None:
    for one, other in ((found, expected), (expected, found)):
        raised(AssertionError, assert_same, one, other)


def test_the_error_says_where() -> None:
    with pytest.raises(AssertionError, match="value differs at 1 of 2 values, first 1"):
        assert_same(np.array([1, 2]), np.array([1, 3]))
    with pytest.raises(AssertionError, match="value, mask differs at 1 of 2 values, first 0"):
        assert_same(masked([1, 2], [0, 1]), masked([1, 2], [1, 1]))
    with pytest.raises(AssertionError, match="item 3, key 'a', value 1 has the dtype float64"):
        assert_same({"a": [1, np.zeros(2)]}, {"a": [1, np.zeros(2, np.float32)]}, "item 3")


def write(path: str, records: Iterable[bytes]) -> None:
    with tl.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def of_stubborn_reader(path: str) -> list[bytes]:
    """Read what comes before damage, and say nothing of it."""
    found = []
    try:
        for record in tl.TFRecordReader(path):
            found.append(record)  # noqa: PERF402
    except ValueError:
        pass
    return found


class Once:
    """A reader that reads a file once."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def __call__(self, path: str) -> list[bytes]:
        records = [] if path in self.read else list(tl.TFRecordReader(path))
        self.read.add(path)
        return records


ITEMS = [b"one\0", b"", b"\xff", b"one\0"]
MUTANTS: dict[str, Callable[[list[bytes]], Iterable[bytes]]] = {
    "loses the last": lambda items: items[:-1],
    "repeats the last": lambda items: [*items, items[-1]],
    "drops twins": dict.fromkeys,
    "strips NULs": lambda items: [item.rstrip(b"\0") for item in items],
    "gives text": lambda items: [item.decode("latin-1") for item in items],  # type: ignore[misc]
    "gives nothing": lambda items: [],  # noqa: ARG005
}


@given(testing.records())
def test_our_own_files_make_the_round_trip(records: list[bytes]) -> None:
    assert_round_trip(write, tl.TFRecordReader, records)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_reader_or_writer_fails(mutant: Callable[[list[bytes]], Iterable[bytes]]) -> None:
    with pytest.raises(AssertionError):
        assert_round_trip(write, lambda path: mutant(list(tl.TFRecordReader(path))), ITEMS)
    if mutant is not MUTANTS["gives text"]:
        with pytest.raises(AssertionError):
            assert_round_trip(
                lambda path, items: write(path, mutant(items)), tl.TFRecordReader, ITEMS
            )


def test_a_reader_that_reads_once_is_found_out() -> None:
    raised(AssertionError, assert_round_trip, write, Once(), ITEMS, match="second reading")


def test_what_is_read_may_have_another_form() -> None:
    def lengths(path: str) -> list[int]:
        return [len(record) for record in tl.TFRecordReader(path)]

    assert_round_trip(write, lengths, ITEMS, expected=[4, 0, 1, 4])
    raised(AssertionError, assert_round_trip, write, lengths, ITEMS)


@given(testing.records(min_size=1), st.data())
def test_our_reader_notices_damage(records: list[bytes], data: st.DataObject) -> None:
    intact = bytes(frame(records))
    assert_damage_is_noticed(tl.TFRecordReader, intact, data.draw(testing.damaged(intact)))


@pytest.mark.parametrize("reader", [
    of_stubborn_reader, lambda path: tl.TFRecordReader(path, verify=False),
    lambda path: chain([b"more"], tl.TFRecordReader(path)),
    lambda path: sorted(of_stubborn_reader(path)),
], ids=["stops in silence", "checks no data", "makes data up", "sorts"])  # fmt: skip
def test_a_reader_that_takes_damage_for_data_is_found_out(reader: Any) -> None:
    intact = bytes(frame([b"one", b"two", b"three"]))
    flipped = bytearray(intact)
    flipped[19 + 12] ^= 1  # in the data of the second record
    assert_damage_is_noticed(tl.TFRecordReader, intact, bytes(flipped))
    with pytest.raises(AssertionError):
        assert_damage_is_noticed(
            lambda path: reader(path) if "damaged" in Path(path).name else tl.TFRecordReader(path),
            intact,
            bytes(flipped),
        )


def test_it_is_not_loaded_with_the_package_and_says_what_it_needs() -> None:
    out = run_fresh(
        "import sys, tfrecord_lite\n"
        "print('hypothesis' in sys.modules, 'tfrecord_lite.testing' in sys.modules)\n"
        "sys.modules['hypothesis'] = None\n"
        "try:\n"
        "    import tfrecord_lite.testing\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    assert out == ("False False\nstrategies need Hypothesis: pip install hypothesis\n")


@given(st.data())
def test_arrays_in_byte_strings_are_drawn(data: st.DataObject) -> None:
    features = {"a": tl.RawFeature([2, 2], "int16"), "b": tl.RawFeature([3], "bool")}
    columns: Any = data.draw(testing.columns(features))
    assert (columns["a"].dtype, columns["a"].shape[1:]) == (np.int16, (2, 2))
    sequence = data.draw(testing.sequence_examples_for(features, features))
    message = sequence.SerializeToString()
    context, lists = tl.parse_single_sequence_example(message, features, features)
    assert context["b"].shape == (3,)
    assert lists["a"].shape[1:] == (2, 2)
