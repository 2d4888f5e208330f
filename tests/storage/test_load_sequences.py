"""SequenceExamples without a schema: summarize, infer_schema and load say what was written."""

import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tfrecord_lite as tl
from tests.support.errors import raised
from tests.support.small_files import write as write_records
from tests.support.specifications import sequence_feature_specs
from tests.support.untyped import infer_schema, load, summarize
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.schema import Kind, Original, SequenceSummary
from tfrecord_lite.testing import sequence_examples_for

EXAMPLE = tl.encode_example({"a": 1})


def video(i: int) -> dict[str, Any]:
    n_frames = i % 3 + 1
    return {
        "context": {"id": b"v%d" % i, "label": i},
        "feature_lists": {
            "frames": [b"jpeg %d" % t for t in range(n_frames)],
            "audio": [np.full(4, t, np.float32) for t in range(n_frames)],
            "words": [[b"w"] * (t % 2) for t in range(n_frames)],
        },
    }


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with tl.TFRecordWriter(path) as writer:
        writer.write_sequence_examples(rows)
    return path


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    return write(tmp_path / "videos.tfrecord", [video(i) for i in range(10)])


def error_of(call: Any, *args: Any, **keywords: Any) -> InvalidArgumentError:
    return raised(InvalidArgumentError, call, *args, **keywords)


def test_the_schema_is_what_a_parser_takes(videos: Path) -> None:
    schema = infer_schema(videos)
    assert schema == tl.SequenceSchema(
        {"id": tl.FixedLenFeature([], bytes), "label": tl.FixedLenFeature([], "int64")},
        {
            "audio": tl.FixedLenSequenceFeature([4], "float32"),
            "frames": tl.FixedLenSequenceFeature([], bytes),
            "words": tl.RaggedFeature(bytes, row_splits_dtype="int64"),
        },
    )
    context, lists, lengths = tl.parse_sequence_example(list(tl.TFRecordReader(videos)), *schema)
    assert context["label"].tolist() == list(range(10))  # type: ignore[union-attr]
    assert lists["audio"].shape == (10, 3, 4)
    assert lengths["frames"].tolist() == [i % 3 + 1 for i in range(10)]
    assert infer_schema(videos, variable="varlen").feature_lists["words"] == tl.VarLenFeature(bytes)


def test_what_some_records_lack_is_masked_or_has_no_steps(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"context": {"a": 1, "n": [1, 2]}, "feature_lists": {"x": [5, 6], "y": [1.5]}},
        {"context": {"n": []}, "feature_lists": {"y": [0.5, 2.5]}},
    ]
    path = write(tmp_path / "d", rows)
    schema, data = infer_schema(path), load(path)
    assert schema.context.originals == {
        "a": Original("int64", [], missing=True),
        "n": Original("int64", [2], missing=True),
    }
    assert schema.feature_lists["x"] == tl.FixedLenSequenceFeature([], "int64", allow_missing=True)
    assert schema.feature_lists["y"] == tl.FixedLenSequenceFeature([], "float32")
    assert data["context"]["a"].tolist() == [1, None]
    assert data["feature_lists"]["x"].to_list() == [[5, 6], []]
    assert infer_schema(path, defaults={"a": -1}).context["a"] == tl.FixedLenFeature([], int, -1)


def values_of(column: Any, i: int) -> list[Any]:
    value = (column.to_list() if isinstance(column, tl.RaggedTensor) else column.tolist())[i]
    return [each for each in (value if isinstance(value, list) else [value]) if each is not None]


def steps_of(column: Any, i: int) -> list[list[Any]]:
    return [step if isinstance(step, list) else [step] for step in column.to_list()[i]]


@given(st.data())
def test_every_value_comes_back(data: st.DataObject) -> None:
    specs = data.draw(sequence_feature_specs())
    one = sequence_examples_for(*specs, allow_nan=False)
    messages = data.draw(st.lists(one, min_size=1, max_size=8))
    filled = [message for message in messages if message.ByteSize()]
    assume(filled and all(message.HasField("feature_lists") for message in filled))
    with_kind = {
        part: {key for key, features in lists if any(f.WhichOneof("kind") for f in features)}
        for part, lists in {
            "context": [(k, [f]) for m in messages for k, f in m.context.feature.items()],
            "feature_lists": [
                (k, list(v.feature))
                for m in messages
                for k, v in m.feature_lists.feature_list.items()
            ],
        }.items()
    }
    assume(any(with_kind.values()))
    with tempfile.TemporaryDirectory() as folder:
        path = write_records(Path(folder) / "d", [m.SerializeToString() for m in messages])
        loaded = load(path)

    assert {part: set(loaded[part]) for part in loaded} == with_kind
    rows = tl.decode_sequence_examples([message.SerializeToString() for message in messages])
    for i, row in enumerate(rows):
        for key, column in loaded["context"].items():
            wanted = row["context"].get(key, np.empty(0))
            assert values_of(column, i) == wanted.tolist()
        for key, column in loaded["feature_lists"].items():
            wanted_steps = row["feature_lists"].get(key, [])
            assert steps_of(column, i) == [step.tolist() for step in wanted_steps]


def test_some_columns_are_chosen_by_path_and_in_order(videos: Path) -> None:
    names = ["feature_lists/frames", "context/label"]
    data = load(videos, columns=names)
    assert list(data) == names
    assert data["context/label"].tolist() == list(range(10))
    assert load(videos, columns=[]) == {}
    error = error_of(load, videos, columns=["label"])
    assert error.reason is Reason.BAD_ARGUMENT
    assert "'context/label'" in str(error)
    raised(TypeError, load, videos, columns="context/label", match="columns")


def test_a_schema_may_be_given(videos: Path) -> None:
    schema = tl.SequenceSchema({"label": "int64"}, {"words": tl.VarLenFeature(bytes)})
    data = load(videos, schema=schema)
    assert data["context"].keys() == {"label"}
    assert isinstance(data["feature_lists"]["words"], tl.SparseTensor)
    wrong = tl.SequenceSchema(None, {"audio": tl.FixedLenSequenceFeature([3], "float32")})
    error = error_of(load, videos, schema=wrong)
    assert (error.reason, error.index, error.key) == (Reason.WRONG_COUNT, 0, "audio")
    missing = tl.SequenceSchema(None, {"none": tl.FixedLenSequenceFeature([], "float32")})
    assert error_of(load, videos, schema=missing).reason is Reason.MISSING


def test_a_schema_may_come_from_a_file(videos: Path) -> None:
    schema = tl.SequenceSchema({"label": tl.FixedLenFeature([], "int64")})
    other = videos.with_name("s.json")
    other.write_text(schema.to_json())
    assert tl.load_schema(other) == schema
    assert load(videos, schema=other)["feature_lists"] == {}
    (beside := Path(f"{videos}.schema.json")).write_text(infer_schema(videos).to_json())
    assert list(load(videos)["feature_lists"]) == ["audio", "frames", "words"]
    beside.write_text(schema.to_json())
    assert load(videos)["feature_lists"] == {}


def test_several_files_are_one_data_set(tmp_path: Path) -> None:
    first = write(tmp_path / "0", [{"feature_lists": {"x": [1, 2]}}])
    second = write(tmp_path / "1", [{"feature_lists": {"x": [[1, 2]]}}])
    data = load([first, second])
    assert data["feature_lists"]["x"].to_list() == [[[1], [2]], [[1, 2]]]
    Path(f"{first}.schema.json").write_text(infer_schema(first).to_json())
    assert error_of(load, [first, second]).source == str(second)
    Path(f"{second}.schema.json").write_text(infer_schema(first).to_json())
    assert error_of(load, [first, second]).reason is Reason.WRONG_COUNT
    Path(f"{second}.schema.json").write_text(infer_schema(second).to_json())
    assert "schema differs" in str(error_of(load, [first, second]))


@pytest.mark.needs("dataframes")
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_data_frame_is_that_of_scan(videos: Path, library: Any) -> None:
    frame = load(videos, as_=library)
    assert frame.equals(getattr(tl.scan(videos), f"to_{library}")())
    assert frame.shape == (10, 5)


@pytest.mark.parametrize("read", [load, pytest.param(tl.scan, marks=pytest.mark.needs("arrow"))])
@pytest.mark.parametrize("columns", [None, ["context/id", "feature_lists/words"]])
@pytest.mark.parametrize("text", [True, ["context/id", "feature_lists/words"]])
def test_texts_are_str(videos: Path, read: Any, text: Any, columns: Any) -> None:
    found = read(videos, columns, text=text)
    if read is tl.scan:
        found = found.to_arrow().to_pydict()
    elif columns is None:
        found = {f"{part}/{name}": found[part][name] for part in found for name in found[part]}
    assert list(found["context/id"]) == [f"v{i}" for i in range(10)]
    words = found["feature_lists/words"]
    assert list(words[1] if read is tl.scan else words[1].to_list()) == [[], ["w"]]
    assert "'context/id'" in str(error_of(read, videos, text=["id"]))


def test_a_schema_of_examples_does_not_read_sequences(videos: Path) -> None:
    error = error_of(load, videos, schema=tl.Schema({"label": tl.FixedLenFeature([], "int64")}))
    assert error.reason is Reason.UNSUPPORTED
    assert "SequenceSchema" in str(error)


@pytest.mark.parametrize("n_empty", [0, 1, 50])
def test_empty_records_decide_nothing(n_empty: int) -> None:
    empty = [b""] * n_empty
    assert isinstance(infer_schema([*empty, EXAMPLE, *empty]), tl.Schema)
    sequence = tl.encode_sequence_example(video(0))
    summary = summarize([*empty, sequence, *empty])
    assert isinstance(summary, SequenceSummary)
    assert summary.n_records == 2 * n_empty + 1


@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("other", [b"\x0a\xff", b"\x12\x04\x0a\x02\x0a\x05"])
def test_what_is_no_sequence_among_sequences_is_rejected(n: int, other: bytes) -> None:
    records = [tl.encode_sequence_example(video(i)) for i in range(n)]
    error = error_of(infer_schema, [*records, other, *records])
    assert (error.reason, error.index) == (Reason.MALFORMED, n)


@pytest.mark.filterwarnings("ignore:feature .* holds")
def test_a_list_of_two_kinds_is_rejected_with_its_record(tmp_path: Path) -> None:
    rows = [{"feature_lists": {"x": [1, 2]}}] * 5 + [{"feature_lists": {"x": [0.5]}}]
    path = write(tmp_path / "d", rows)
    error = error_of(infer_schema, path)
    assert (error.reason, error.index, error.key) == (Reason.WRONG_KIND, 5, "x")
    assert "10 other steps" in str(error)
    assert summarize(path).feature_lists["x"].kind is None


def test_lists_without_a_value_are_left_out() -> None:
    records = [tl.encode_sequence_example({"feature_lists": {"x": [[], []], "y": [1]}})]
    assert list(infer_schema(records).feature_lists) == ["y"]
    assert summarize(records).feature_lists["x"].steps == (2, 2)
    nothing = [tl.encode_sequence_example({"feature_lists": {"x": [[], []]}})]
    assert error_of(infer_schema, nothing).reason is Reason.BAD_ARGUMENT


def test_a_summary_counts_records_steps_and_values() -> None:
    rows: list[dict[str, Any]] = [
        {"feature_lists": {"x": [[1, 2], [3], []]}},
        {"feature_lists": {"x": [[4]], "y": [b"abc"]}},
        {"feature_lists": {"x": []}},
    ]
    summary = summarize(list(map(tl.encode_sequence_example, rows)))
    x = summary.feature_lists["x"]
    assert (x.n_records, x.n_steps, x.steps) == (3, 4, (0, 3))
    assert (x.values.lengths, x.values.lists[Kind.INT64].values) == ((0, 2), (1, 4))
    described = json.loads(json.dumps(summary.describe()))
    assert described["feature_lists"]["x"]["max_steps"] == 3


@given(st.data())
def test_summaries_of_shards_add_up(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 40))
    records = [tl.encode_sequence_example(video(data.draw(st.integers(0, 99)))) for _ in range(n)]
    cut = data.draw(st.integers(1, n - 1))
    whole = summarize(records)
    parts = [summarize(records[:cut]), summarize(records[cut:])]
    assert str(sum(parts, start=0)) == str(parts[0] + parts[1]) == str(whole)
    assert parts[0] + parts[1] != parts[0]
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert infer_schema(whole) == infer_schema(records)
    without_lists = summarize([EXAMPLE])  # counts as contexts
    for both in (whole + without_lists, without_lists + whole):
        assert both.schema() == summarize([*records, EXAMPLE]).schema()


@given(sequence_feature_specs())
def test_a_schema_survives_json_and_pickle(specs: Any) -> None:
    schema = tl.SequenceSchema(*specs)
    assert tl.SequenceSchema.from_json(schema.to_json()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(schema) == hash(tl.SequenceSchema(*specs))
    assert schema.to_json(None).count("\n") == 0


def test_a_schema_of_anything_but_features_is_refused() -> None:
    raised(TypeError, tl.SequenceSchema, 5)


@given(st.data())
def test_lists_without_padding_have_the_same_steps(data: st.DataObject) -> None:
    specs = data.draw(sequence_feature_specs())
    one = sequence_examples_for(*specs, allow_nan=False)
    records = [m.SerializeToString() for m in data.draw(st.lists(one, min_size=1, max_size=8))]
    padded, lengths = tl.SequenceExampleParser(*specs)(records)[1:]
    _, rows, none = tl.SequenceExampleParser(*specs, pad=False)(records)
    assert none == {}
    for name, n_steps in lengths.items():
        assert np.diff(rows[name].row_splits).tolist() == n_steps.tolist()  # type: ignore[union-attr]
        for wide, row, n in zip(padded[name], rows[name], n_steps, strict=True):  # type: ignore[arg-type]
            assert row.tolist() == wide[:n].tolist()
