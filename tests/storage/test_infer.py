"""Inference: a summary says what the protobuf runtime finds in the records."""

import itertools
import pickle
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import assume, given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.agreement import EXAMPLES, batches, damaged, encodings, look_alikes
from tests.support.corpus import CorpusFile, corpus_files
from tests.support.errors import raised
from tests.support.small_files import write_records as write
from tfrecord_lite.errors import DataLossError, InvalidArgumentError, Reason
from tfrecord_lite.messages import Example
from tfrecord_lite.schema import Kind, Original, Summary

KINDS = {"bytes_list": Kind.BYTES, "float_list": Kind.FLOAT, "int64_list": Kind.INT64}


def example(**features: Any) -> bytes:
    return tl.encode_example(features)


Found = dict[str, dict[Kind, list[tuple[int, Any]]]]


def found_by_protobuf(records: list[bytes]) -> Found:
    """For each key and kind: of every record that has it, the count and the values."""
    found: Found = {}
    for record in records:
        for key, feature in Example.FromString(record).features.feature.items():
            kinds = found.setdefault(key, {})
            word = feature.WhichOneof("kind")
            if word is not None:
                values = list(getattr(feature, word).value)
                kinds.setdefault(KINDS[word], []).append((len(values), values))
    return found


@pytest.mark.parametrize("n", [1, 40])
def test_an_entry_put_aside_is_not_a_feature(n: int) -> None:
    aside = b"\n\r\n\x0b\x08\x01a\x12\x06\n\x04\n\x02xx"  # a field 1 that is not a key, then more
    summary = tl.summarize([aside, *[example(a=[1])] * n])
    assert set(summary) == {"a"}
    assert set(found_by_protobuf([aside])) == set()


def check(summary: Summary, records: list[bytes]) -> None:
    found = found_by_protobuf(records)
    assert summary.n_records == len(records)
    assert set(summary) == set(found)
    for key, kinds in found.items():
        assert set(summary[key].lists) == set(kinds)
        assert summary[key].n_records == sum(map(len, kinds.values()))
        for kind, lists in kinds.items():
            ours = summary[key].lists[kind]
            counts = [count for count, _ in lists]
            assert ours.n_records == len(counts)
            assert ours.lengths == (min(counts), max(counts))
            values = [len(v) if kind is Kind.BYTES else v for _, vs in lists for v in vs]
            values = [v for v in values if v == v]  # noqa: PLR0124 - not NaN
            assert ours.values == ((min(values), max(values)) if values else None)


def first_misfit(records: list[bytes]) -> int | None:
    """Return the number of the first record that is not an Example; leave out what may be SequenceExamples."""
    for number, record in enumerate(records):
        try:
            unknown: Any = UnknownFieldSet(Example.FromString(record))
        except DecodeError:
            return number
        assume(all((field.field_number, field.wire_type) != (2, 2) for field in unknown))
    return None


def summary_of(records: list[bytes]) -> Any:
    """Summarize records; Examples of mostly unknown fields look like others, and are left out.

    So are those with a field 0 in an unknown group, which protobuf's runtime alone skips.
    """
    try:
        return tl.summarize(records)
    except InvalidArgumentError as error:
        assume(not re.search("look like|are no messages|has the number 0", str(error)))
        raise


@given(st.one_of(batches(EXAMPLES), st.lists(encodings(EXAMPLES) | damaged(EXAMPLES), max_size=9)))
def test_a_summary_is_what_protobuf_finds(records: list[bytes]) -> None:
    if first_misfit(records) is None:
        check(summary_of(records), records)
    else:
        error = raised(InvalidArgumentError, tl.summarize, records)
        assert error.reason in {Reason.MALFORMED, Reason.UNSUPPORTED}


@given(batches(EXAMPLES), st.data())
def test_summaries_of_shards_add_up(records: list[bytes], data: st.DataObject) -> None:
    assume(first_misfit(records) is None)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=3)))
    edges = [0, *cuts, len(records)]
    shards = [summary_of(records[a:b]) for a, b in pairwise(edges)]
    whole = summary_of(records)
    added = sum(shards[1:], shards[0])
    assert added.describe()["records"] == whole.n_records
    assert dict(added.describe()["features"]) == dict(whole.describe()["features"])


@given(look_alikes(EXAMPLES, 40))
def test_what_is_inferred_parses_all_it_was_inferred_from(records: list[bytes]) -> None:
    summary = tl.summarize(records)
    if any(len(found.lists) > 1 for found in summary.values()) or not any(
        found.lists for found in summary.values()
    ):
        return
    for variable in ("ragged", "varlen", "padded"):
        schema = tl.infer_schema(records, variable=variable)

        columns: dict[str, Any] = dict(tl.ExampleParser(schema)(records))

        assert set(columns) == {name for name, found in summary.items() if found.lists}
        for name, spec in schema.items():
            low, high = summary[name].lengths
            is_everywhere = summary[name].n_records == len(records)
            assert isinstance(spec, tl.FixedLenFeature) == (is_everywhere and 0 < low == high)
            if variable == "ragged":
                protobuf = [Example.FromString(record).features.feature[name] for record in records]
                counts = [f.ByteSize() and len(_values(f)) for f in protobuf]
                column = columns[name]
                ours = (
                    [high] * len(records)
                    if isinstance(spec, tl.FixedLenFeature)
                    else column.row_lengths().tolist()
                )
                assert ours == counts


def _values(feature: Any) -> Any:
    word = feature.WhichOneof("kind")
    return getattr(feature, word).value if word else []


def test_one_length_is_dense_and_others_are_what_was_asked_for() -> None:
    records = [example(one=[i], two=[0.5, 1.5], many=[b"x"] * (i + 1)) for i in range(3)]
    assert tl.infer_schema(records) == tl.Schema(
        {
            "one": tl.FixedLenFeature([], "int64"),
            "two": tl.FixedLenFeature([2], "float32"),
            "many": tl.RaggedFeature("string", row_splits_dtype="int64"),
        }
    )
    assert tl.infer_schema(records, variable="varlen")["many"] == tl.VarLenFeature(bytes)
    assert tl.infer_schema(records, variable="padded")["many"] == tl.FixedLenSequenceFeature(
        [], bytes, allow_missing=True
    )


def test_a_feature_that_some_record_lacks_is_never_given_values_unasked() -> None:
    records = [example(a=[1], b=[2]), example(b=[3]), example(a=None, b=[4])]
    assert tl.infer_schema(records)["a"] == tl.RaggedFeature("int64", row_splits_dtype="int64")
    assert tl.infer_schema(records)["b"] == tl.FixedLenFeature([], "int64")
    assert tl.infer_schema(records).originals == {"a": Original("int64", [], missing=True)}
    assert tl.infer_schema(records, variable="varlen").originals == {}
    with_default = tl.infer_schema(records, defaults={"a": -1})
    assert with_default["a"] == tl.FixedLenFeature([], "int64", -1)
    parsed: Any = tl.ExampleParser(with_default)(records)
    assert parsed["a"].tolist() == [1, -1, -1]


def test_a_summary_is_a_mapping_that_pickles() -> None:
    summary = tl.summarize([example(age=[1])])
    assert pickle.loads(pickle.dumps(summary)) == summary
    assert dict(summary) == {"age": summary["age"]}
    with pytest.raises(KeyError, match="nearest: 'age'"):
        summary["ago"]


def test_files_patterns_readers_and_records_say_the_same(tmp_path: Path) -> None:
    records = [example(a=[i], b=[0.5] * (i % 3 + 1)) for i in range(200)]
    first = write(tmp_path / "x-0.tfrecord", records[:120])
    second = write(tmp_path / "x-1.tfrecord", records[120:], "GZIP")
    expected = tl.infer_schema(records)
    with (tmp_path / "all").open("w+b") as file:
        write(tmp_path / "all", records)
        sources: list[Any] = [
            str(tmp_path / "x-*.tfrecord"), [first, second], iter([str(first), str(second)]),
            tl.TFRecordReader([first, second]), tl.Block.from_records(records),
            np.array(records, object), iter(records), file,
            tl.summarize(first) + tl.summarize(second),
        ]  # fmt: skip
        for source in sources:
            assert tl.infer_schema(source) == expected
    raised(DataLossError, tl.infer_schema, second, compression="")


def test_a_sample_reads_no_further(tmp_path: Path) -> None:
    records = [example(a=[i]) for i in range(10)]
    path = write(tmp_path / "cut", records)
    path.write_bytes(path.read_bytes()[:-5])
    assert tl.summarize(path, num_records=9).n_records == 9
    assert tl.summarize([*records, b"junk"], num_records=10).n_records == 10
    assert raised(DataLossError, tl.summarize, path, num_records=10).reason is Reason.TRUNCATED


@pytest.mark.parametrize("source", [b"path or record?", bytearray(b"x"), 5, [5], None, [{}, b"x"]])
def test_what_is_not_a_source_is_a_type_error(source: Any) -> None:
    raised(TypeError, tl.infer_schema, source)


@pytest.mark.parametrize("num_records", ["3", 1.5, True])
def test_a_number_of_records_is_an_int(num_records: Any) -> None:
    with pytest.raises(TypeError, match="num_records"):
        tl.infer_schema([{"a": 1}, {"a": 2}], num_records=num_records)


@pytest.mark.parametrize("ask", [tl.summarize, tl.infer_schema])
@pytest.mark.parametrize("num_records", [None, np.int64(2)])
def test_rows_may_come_from_any_iterable(ask: Any, num_records: Any) -> None:
    rows = [{"a": i, "b": [i] * i} for i in range(5)]
    expected = ask(rows, num_records=num_records)
    assert ask(tuple(rows), num_records=num_records) == expected
    assert ask((row for row in rows), num_records=num_records) == expected
    assert ask(itertools.islice(rows, 5), num_records=num_records) == expected
    records = [example(a=[i]) for i in range(5)]
    assert ask(iter(records), num_records=num_records) == ask(records, num_records=num_records)


def error_of(records: Any, **arguments: Any) -> InvalidArgumentError:
    return raised(InvalidArgumentError, tl.infer_schema, records, **arguments)


def test_a_feature_of_two_kinds_is_rejected_with_the_place_of_the_rarer(tmp_path: Path) -> None:
    path = write(tmp_path / "f", [*[example(a=[1])] * 20, example(a=[1.0]), *[example(a=[1])] * 9])
    error = error_of(path)
    assert (error.reason, error.key, error.index) == (Reason.WRONG_KIND, "a", 20)
    assert (error.source, error.offset) == (str(path), 20 * (len(example(a=[1])) + 16))
    assert tl.summarize(path)["a"].kind is None


@pytest.mark.parametrize("sample", corpus_files(kind="elwc"))
def test_real_lists_of_examples_are_not_examples(sample: CorpusFile) -> None:
    assert error_of(sample.path).reason in {Reason.UNSUPPORTED, Reason.MALFORMED}


@pytest.mark.parametrize("n_before", [0, 1, 40])
def test_junk_is_rejected_with_its_place(n_before: int) -> None:
    error = error_of([*[example(a=[1])] * n_before, b"\x0a\xff", example(a=[1])])
    assert (error.reason, error.index) == (Reason.MALFORMED, n_before)


@pytest.mark.parametrize("records", [[], [b""], [b"", b""]])
def test_from_nothing_nothing_is_inferred(records: list[bytes]) -> None:
    assert error_of(records).reason is Reason.BAD_ARGUMENT
    assert tl.summarize(records).n_records == len(records)


@pytest.mark.parametrize(("arguments", "key"), [
    ({"variable": "sparse"}, None), ({"num_records": 0}, None), ({"defaults": {"b": 1}}, "b"),
    ({"defaults": {"many": 1}}, "many"), ({"defaults": {"a": [1, 2]}}, "a"),
])  # fmt: skip
def test_invalid_arguments_are_rejected(arguments: dict[str, Any], key: str | None) -> None:
    records = [example(a=[1], many=[1]), example(many=[1, 2])]
    error = error_of(records, **arguments)
    assert (error.reason, error.key) == (Reason.BAD_ARGUMENT, key)


@pytest.mark.parametrize("sample", corpus_files(kind="example"))
def test_real_files_have_the_keys_kinds_and_counts_tensorflow_finds(sample: CorpusFile) -> None:
    summary = tl.summarize(sample.path)
    found = {
        name: {
            {"string": "bytes", "float32": "float", "int64": "int64"}[kind.label]: [
                lists.n_records,
                *lists.lengths,
            ]
            for kind, lists in feature.lists.items()
        }
        for name, feature in summary.items()
    }
    assert found == sample.truth["keys"]
    assert summary.n_records == sample.truth["records"]
