"""SequenceExamples as users meet them: parsers, dictionaries, files, errors."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tests.support.example_messages import len_field, plain_sequence, some_sequence
from tests.support.reference_example import BYTES, FLOAT, INT64, NO_KIND, Feature, Sequence
from tests.support.small_files import write_records
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.example.decode import batch as engine_batch

DTYPES = {BYTES: np.dtype(object), FLOAT: np.dtype(np.float32), INT64: np.dtype(np.int64)}
KINDS = {"O": "bytes", "f": "float", "i": "int64"}


def message(number: int, n_steps: int) -> bytes:
    steps = range(n_steps)
    lists: Any = {
        "tokens": [number + i for i in steps],
        "vectors": [np.array([1, 2], np.float32)] * n_steps,
        "names": [b"x" * i for i in steps],
    }
    return tl.encode_sequence_example({"context": {"id": number}, "feature_lists": lists})


CONTEXT: dict[str, Any] = {"id": tl.FixedLenFeature([], "int64")}
LISTS: dict[str, Any] = {
    "tokens": tl.FixedLenSequenceFeature([], "int64"),
    "vectors": tl.FixedLenSequenceFeature([2], "float32"),
    "names": tl.RaggedFeature("string"),
}
BATCH = [message(i, i % 7) for i in range(50)]


def plain(results: Any) -> Any:
    return [
        {name: value.to_list() if hasattr(value, "to_list") else value.tolist()
         for name, value in part.items()}
        for part in results
    ]  # fmt: skip


def test_one_message_is_parsed_without_the_dimension_of_the_batch() -> None:
    context: Any
    lists: Any
    context, lists = tl.parse_single_sequence_example(BATCH[2], CONTEXT, LISTS)
    assert context["id"].shape == ()
    assert lists["tokens"].tolist() == [2, 3]
    assert lists["vectors"].tolist() == [[1.0, 2.0]] * 2
    assert lists["names"].to_list() == [[b""], [b"x"]]
    for result in tl.parse_sequence_example(BATCH[2], CONTEXT, LISTS)[2].values():
        assert result.shape == ()


@given(st.integers(1, 40), st.integers(0, 12))
def test_a_batch_is_what_its_messages_are(n: int, longest: int) -> None:
    batch = [message(i, (i * 5) % (longest + 1)) for i in range(n)]
    parser = tl.SequenceExampleParser(CONTEXT, LISTS)
    context: Any
    context, lists, lengths = parser(batch)
    for form in (tuple(batch), np.array(batch, object), tl.Block.from_records(batch)):
        assert plain(parser(form)) == plain((context, lists, lengths))
    results: Any = lists
    for i, record in enumerate(batch):
        one: Any
        one_context, one, _ = parser.parse_single(record)
        assert one_context["id"] == context["id"][i]
        n_steps = lengths["tokens"][i]
        assert (results["tokens"][i, :n_steps] == one["tokens"]).all()
        assert not results["tokens"][i, n_steps:].any()
        assert (results["vectors"][i, :n_steps] == one["vectors"]).all()
        assert results["names"][i].to_list() == one["names"].to_list()


def test_lists_are_not_padded_unless_asked_for_and_strings_come_as_columns() -> None:
    parser = tl.SequenceExampleParser(CONTEXT, LISTS, pad=False, strings="BytesColumn")
    lists: Any
    _, lists, lengths = parser(BATCH)
    assert lengths == {}
    assert isinstance(lists["names"].flat_values, tl.BytesColumn)
    assert lists["names"].to_list() == [[[b"x" * k] for k in range(i % 7)] for i in range(50)]
    assert lists["tokens"].to_list() == [[i + k for k in range(i % 7)] for i in range(50)]
    assert lists["vectors"].to_list() == [[[1.0, 2.0]] * (i % 7) for i in range(50)]


def test_results_of_one_list_share_no_memory() -> None:
    record = tl.encode_sequence_example({"feature_lists": {"list": [[1, 2], [3]]}})
    specs = {name: tl.RaggedFeature("int64", value_key="list") for name in "ab"}
    specs["c"] = tl.RaggedFeature("int64", "list", [tl.RaggedFeature.UniformRowLength(1)])
    lists: Any = tl.SequenceExampleParser({}, specs)([record] * 9)[1]
    flat = [lists["a"].flat_values, lists["b"].flat_values, lists["c"].flat_values]
    assert not any(np.shares_memory(x, y) for x, y in combinations(flat, 2))


def test_a_parser_is_pickled_and_shared_by_threads() -> None:
    parser = tl.SequenceExampleParser(CONTEXT, LISTS)
    expected = plain(parser(BATCH))
    assert plain(pickle.loads(pickle.dumps(parser))(BATCH)) == expected
    with ThreadPoolExecutor(4) as pool:
        assert all(plain(r) == expected for r in pool.map(parser, [BATCH] * 16))


def test_a_schema_is_a_mapping_of_features_too() -> None:
    context, lists, _ = tl.SequenceExampleParser(tl.Schema(CONTEXT), tl.Schema(LISTS))(BATCH)
    assert (context.keys(), lists.keys()) == (CONTEXT.keys(), LISTS.keys())
    raised(InvalidArgumentError, tl.SequenceExampleParser, tl.Schema({}), tl.Schema({}))


def test_features_are_mappings_of_names_and_strings_have_two_forms() -> None:
    raised(InvalidArgumentError, tl.SequenceExampleParser, CONTEXT, strings="arrow")
    for wrong in ([1], {b"a": tl.VarLenFeature("int64")}):
        raised(TypeError, tl.SequenceExampleParser, None, wrong)


def bad_messages() -> dict[str, tuple[bytes, Reason, str | None]]:
    lists = {b"tokens": [Feature(INT64, (1,))], b"vectors": [], b"names": []}
    context = {b"id": Feature(INT64, (1,))}
    two = {**lists, b"tokens": [Feature(INT64, (1,)), Feature(INT64, (1, 2))]}
    other = {**lists, b"tokens": [Feature(FLOAT, (1,))]}
    return {
        "malformed": (message(1, 2)[:-3], Reason.MALFORMED, None),
        "context": (plain_sequence(Sequence({}, lists)), Reason.MISSING, "id"),
        "list": (plain_sequence(Sequence(context, {})), Reason.MISSING, "tokens"),
        "count": (plain_sequence(Sequence(context, two)), Reason.WRONG_COUNT, "tokens"),
        "kind": (plain_sequence(Sequence(context, other)), Reason.WRONG_KIND, "tokens"),
    }


@pytest.mark.parametrize("name", bad_messages())
@pytest.mark.parametrize("place", [0, 1, 3, 30])
def test_an_error_says_which_record_of_which_file(tmp_path: Path, name: str, place: int) -> None:
    bad, reason, key = bad_messages()[name]
    later = bad_messages()["malformed"][0]
    path = tmp_path / "file"
    records = [*BATCH[:place], bad, *BATCH[place:40], later]
    write_records(path, records)
    (block,) = tl.TFRecordReader(path).blocks()
    error = raised(InvalidArgumentError, tl.SequenceExampleParser(CONTEXT, LISTS), block)
    assert (error.reason, error.key, error.index, error.source) == (reason, key, place, str(path))
    assert error.offset == sum(len(record) + 16 for record in records[:place])


def test_of_a_ragged_list_and_its_partition_the_partition_is_checked_first() -> None:
    wrong = tl.encode_sequence_example({"feature_lists": {"v": [[1.5]], "n": [[0.5]]}})
    lists = {"r": tl.RaggedFeature("int64", "v", [tl.RaggedFeature.RowLengths("n")])}
    error = raised(InvalidArgumentError, tl.parse_sequence_example, [wrong], None, lists)
    assert error.key == "n"


def test_errors_name_the_example_and_the_step() -> None:
    bad = bad_messages()["count"][0]
    with pytest.raises(InvalidArgumentError) as caught:
        tl.parse_sequence_example([BATCH[0], bad], CONTEXT, LISTS, ["first", "second"])
    assert "second" in str(caught.value)
    assert "step 1" in str(caught.value)
    with pytest.raises(InvalidArgumentError) as caught:
        tl.parse_sequence_example([BATCH[0], bad_messages()["kind"][0]], CONTEXT, LISTS)
    assert caught.value.detail == "in step 0 of the list: found float32, expected int64"


def assert_row_is(row: Any, expected: Sequence) -> None:
    context = {k.decode(): f for k, f in expected.context.items() if f.kind != NO_KIND}
    assert row.keys() == {"context", "feature_lists"}
    assert row["context"].keys() == context.keys()
    for name, feature in context.items():
        assert_array_is(row["context"][name], feature, feature.kind)
    assert row["feature_lists"].keys() == {key.decode() for key in expected.lists}
    for key, steps in expected.lists.items():
        found = row["feature_lists"][key.decode()]
        assert type(found) is list
        assert len(found) == len(steps)
        first = next((step.kind for step in steps if step.kind), FLOAT)
        for array, step in zip(found, steps, strict=True):
            assert_array_is(array, step, step.kind or first)


def assert_array_is(array: Any, feature: Feature, kind: int) -> None:
    assert array.dtype == DTYPES[kind]
    assert array.ndim == 1
    values = array.view(np.uint32) if kind == FLOAT else array
    assert tuple(values.tolist()) == feature.values


def test_a_wrong_message_of_a_file_is_named_after_those_before_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    broken = len_field(2, len_field(1, b"\xff"))
    write_records(path, [*BATCH, broken, BATCH[0]])
    found = iter(tl.TFRecordReader(path).sequence_examples())
    rows = [next(found) for _ in BATCH]
    assert [row["context"]["id"].tolist() for row in rows] == [[i] for i in range(len(BATCH))]
    for read, index in (
        (lambda: next(found), len(BATCH)),
        (lambda: tl.decode_sequence_examples([broken]), 0),
        (lambda: tl.decode_sequence_examples([BATCH[0], broken]), 1),
        (lambda: tl.decode_sequence_example(broken), 0),
    ):
        error = raised(InvalidArgumentError, read)
        assert (error.reason, error.index) == (Reason.MALFORMED, index)


@given(st.lists(st.randoms(use_true_random=False), min_size=1, max_size=12), st.integers(1, 9))
def test_dictionaries_hold_what_messages_do(randoms: Any, times: int) -> None:
    sequences = [some_sequence(rng.randrange) for rng in randoms] * times
    batch = [plain_sequence(sequence) for sequence in sequences]
    for row, expected in zip(tl.decode_sequence_examples(batch), sequences, strict=True):
        assert_row_is(row, expected)
    assert_row_is(tl.decode_sequence_example(batch[0]), sequences[0])


def test_more_keys_than_a_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_batch, "_MAX_KEYS", 3)
    five = Feature(INT64, (5,))
    sequences = [
        Sequence({b"c%d" % i: five}, {b"k%d" % (i + k): [five] * i for k in range(i % 5)})
        for i in range(20)
    ]
    rows = tl.decode_sequence_examples([plain_sequence(s) for s in sequences])
    for row, expected in zip(rows, sequences, strict=True):
        assert_row_is(row, expected)
    broken = plain_sequence(sequences[15]).replace(b"\x0a\x01\x05", b"\x0a\x01\x85")
    for decode in (tl.decode_examples, tl.decode_sequence_examples):
        error = raised(InvalidArgumentError, decode, [*map(plain_sequence, sequences[:15]), broken])
        assert (error.reason, error.index) == (Reason.MALFORMED, 15)
    # A message alone may have any number; with a NaN it is not left to the runtime.
    nan = Feature(FLOAT, (0x7FA12345,))
    many = {b"k%d" % i: nan for i in range(9)}
    alone = Sequence(many, {key: [nan] for key in many})
    assert_row_is(tl.decode_sequence_example(plain_sequence(alone)), alone)


@pytest.mark.parametrize("file", corpus_files("sequence_example"))
@pytest.mark.parametrize("times", [1, 20])
def test_keys_kinds_and_counts_are_tensorflows(file: CorpusFile, times: int) -> None:
    block = tl.Block.concat(list(tl.TFRecordReader(file.path).blocks()))
    found: dict[str, dict[str, list[int]]] = {}
    lengths: dict[str, list[int]] = {}
    for row in tl.decode_sequence_examples(tl.Block.concat([block] * times))[-len(block) :]:
        features = [(f"context:{name}", [values]) for name, values in row["context"].items()]
        for name, steps in row["feature_lists"].items():
            features.append((f"sequence:{name}", steps))
            count = lengths.setdefault(f"sequence:{name}", [0, len(steps), len(steps)])
            count[:] = [count[0] + 1, min(count[1], len(steps)), max(count[2], len(steps))]
        for name, arrays in features:
            for values in arrays:
                kinds = found.setdefault(name, {})
                label = KINDS[values.dtype.kind]
                n, least, most = kinds.setdefault(label, [0, values.size, values.size])
                kinds[label] = [n + 1, min(least, values.size), max(most, values.size)]
    assert found == file.truth["keys"]
    assert lengths == file.truth["steps"]


@pytest.mark.parametrize(
    "one", [b"", BATCH[1], "", "text", bytearray(BATCH[1]), memoryview(b""), None, 5, {b"": 1}]
)
@pytest.mark.parametrize("read", [
    tl.ExampleParser({"id": CONTEXT["id"]}), tl.SequenceExampleParser(CONTEXT, LISTS),
    tl.decode_examples, tl.decode_sequence_examples,
])  # fmt: skip
def test_one_message_where_many_are_asked_for_is_a_type_error(read: Any, one: Any) -> None:
    raised(TypeError, read, one, match="a sequence of messages")


@pytest.mark.parametrize("dtype", ["int64", "string"])
def test_too_much_padding_names_the_longest(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [1, 5000, *[3] * 60]  # so that nothing else is as large as what is padded
    lists: Any = {"a": [[b"x" if dtype == "string" else 1] * n for n in sizes]}
    features = {"a": tl.FixedLenSequenceFeature([], dtype, allow_missing=True)}
    as_examples = tl.ExampleParser(features), tl.encode_examples(lists)
    as_sequences = tl.SequenceExampleParser(None, features), tl.encode_sequence_examples({}, lists)
    for name in ("zeros", "full", "empty"):
        make = getattr(np, name)

        def less(shape: Any, *rest: Any, make: Any = make, **named: Any) -> Any:
            if np.prod(shape) >= len(sizes) * 5000:
                raise MemoryError
            return make(shape, *rest, **named)

        monkeypatch.setattr(np, name, less)
    for parser, block in (as_examples, as_sequences):
        error = raised(InvalidArgumentError, parser, block)
        assert (error.reason, error.key, error.index) == (Reason.TENSOR_TOO_LARGE, "a", 1)


def test_steps_that_are_arrays() -> None:
    frames = [np.arange(12, dtype=np.uint8).reshape(3, 2, 2), np.ones((1, 2, 2), np.uint8)]
    means = [np.array([i], np.float64).tobytes() for i in range(2)]
    steps = [[frame.tobytes() for frame in video] for video in frames]
    block = tl.encode_sequence_examples({"mean": means}, {"rgb": steps})
    features: Any = {"mean": tl.RawFeature([1], "float64")}, {"rgb": tl.RawFeature([2, 2], "uint8")}

    found: Any = tl.parse_sequence_example(block, *features)
    context, lists, lengths = found
    unpadded: Any = tl.SequenceExampleParser(*features, pad=False)(block)[1]
    ragged = unpadded["rgb"]
    single: Any = tl.parse_single_sequence_example(block[0], *features)

    assert context["mean"].tolist() == [[0.0], [1.0]]
    assert lists["rgb"].dtype == ragged.dtype == np.uint8
    assert lists["rgb"][0].tolist() == single[1]["rgb"].tolist() == frames[0].tolist()
    assert lists["rgb"][1].tolist() == [*frames[1].tolist(), *np.zeros((2, 2, 2)).tolist()]
    assert ragged.to_list() == [video.tolist() for video in frames]
    assert lengths["rgb"].tolist() == [3, 1]
    with pytest.raises(InvalidArgumentError, match=r"in step 0 .* found 4 bytes, exp") as caught:
        tl.parse_sequence_example(block[1:], {}, {"rgb": tl.RawFeature([3], "uint8")})
    assert (caught.value.reason, caught.value.key) == (Reason.WRONG_COUNT, "rgb")
