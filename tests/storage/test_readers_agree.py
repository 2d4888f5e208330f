"""What was saved comes back in every reader with its dtype, shape, text and times."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfrecord_lite as tl
from tests.storage.joined import join
from tests.support.columns import same
from tests.support.errors import raised
from tfrecord_lite.convert.lists import row_of
from tfrecord_lite.described.inferred import FOR_BATCHES
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.index.file import parser_of
from tfrecord_lite.schema import FixedLenFeature, Original, Schema, SequenceSchema

N = 7
NUMBERS = np.arange(N)
MASK = NUMBERS % 3 == 1
SPLITS = [0, 2, 2, 3, 3, 6, 6, 7]


def text(*words: str) -> Any:
    return np.array([words[i % len(words)] for i in range(N)], object)


COLUMNS: dict[str, Any] = {
    **{name: NUMBERS.astype(name) for name in "?bhilBHILefdFD"},
    "large": np.uint64(2**64 - 1) - NUMBERS.astype("u8"),
    "bfloat16": NUMBERS.astype(ml_dtypes.bfloat16),
    "times": NUMBERS.astype("M8[ns]"),
    "weeks": NUMBERS.astype("m8[W]"),
    "pixels": (NUMBERS[:, None, None] + np.zeros((N, 2, 3))).astype("u1"),
    "float64 matrices": NUMBERS[:, None, None] / np.full((N, 2, 2), 3),
    "bytes": text("a", "b").astype("S1").astype(object),
    "S": text("a", "bc").astype("S"),
    "U": text("ä", "bc").astype("U"),
    "T": text("ä", "bc").astype(np.dtypes.StringDType()),
    "str": text("ä", "", "bc"),
    "masked": np.ma.MaskedArray(NUMBERS / 3, MASK),
    "masked times": np.ma.MaskedArray(NUMBERS.astype("M8[s]"), MASK),
    "masked str": np.ma.MaskedArray(text("ä", "bc"), MASK),
    "masked bytes": np.ma.MaskedArray(text("a").astype("S1").astype(object), MASK),
    "ragged": tl.RaggedTensor(NUMBERS.astype("u1"), SPLITS),
    "ragged float64": tl.RaggedTensor(NUMBERS / 3, SPLITS),
    "ragged rows": tl.RaggedTensor(np.arange(21, dtype="f4").reshape(N, 3), SPLITS),
    "ragged str": tl.RaggedTensor(text("ä", "bc"), SPLITS),
    "ragged twice": tl.RaggedTensor(tl.RaggedTensor(NUMBERS / 3, SPLITS), np.arange(N + 1)),
    "sparse": tl.SparseTensor([[1, 0], [4, 1]], np.array([0.5, 1 / 3]), (N, 2)),
}  # fmt: skip

READERS: dict[str, Callable[[Any, Schema], list[dict[str, Any]]]] = {
    "load": lambda path, _: [tl.load(path)],
    "load, with a schema": lambda path, schema: [tl.load(path, schema=schema)],
    "parse_example": lambda path, schema: [tl.parse_example(list(tl.TFRecordReader(path)), schema)],
    "batches": lambda path, schema: list(tl.TFRecordReader(path).batches(schema, 3)),
    "read_batches": lambda path, schema: list(tl.read_batches(path, schema, 3)),
    "a process": lambda path, schema: list(tl.read_batches(path, schema, 3, num_workers=1)),
    "a data set": lambda path, schema: list(
        tl.TFRecordDataset(path).batch(3).parse_example(schema)
    ),
    "TFRecordFile": lambda path, schema: [tl.TFRecordFile(path).parse(range(N), schema)],
    "batches, alone": lambda path, _: list(tl.TFRecordReader(path).batches(batch_size=3)),
    "read_batches, alone": lambda path, _: list(tl.read_batches(path, batch_size=3)),
    "TFRecordFile, alone": lambda path, _: [tl.TFRecordFile(path).parse(range(N))],
    "a schema file": lambda path, _: list(tl.read_batches(path, f"{path}.schema.json")),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("columns")
    made = {name: folder / f"{i}.tfrecord" for i, name in enumerate(COLUMNS)}
    for name, path in made.items():
        tl.save(path, {"x": COLUMNS[name]}, lossless=True)
    return made


@pytest.mark.parametrize("reader", READERS)
def test_every_dtype_is_the_same_in_every_reader(paths: dict[str, Path], reader: str) -> None:
    names = list(COLUMNS)
    if reader == "a process":  # starting one takes long
        names = ["?", "bfloat16", "times", "T", "masked str", "ragged float64", "sparse"]
    for name in names:
        schema = tl.load_schema(f"{paths[name]}.schema.json")
        found = READERS[reader](paths[name], schema)
        same(join([batch["x"] for batch in found]), COLUMNS[name])


def test_batches_that_are_parsed_at_once_are_cut_whatever_was_saved(paths: dict[str, Path]) -> None:
    for name, column in COLUMNS.items():
        found = list(tl.read_batches(paths[name], batch_size=1))
        assert len(found) == N
        same(join([batch["x"] for batch in found]), column)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_single_record_is_its_row_of_the_batch(paths: dict[str, Path], name: str) -> None:
    schema = tl.load_schema(f"{paths[name]}.schema.json")
    rows = list(tl.TFRecordDataset(paths[name]).parse_example(schema))
    for i, row in enumerate(rows):
        same(row["x"], row_of(COLUMNS[name], i))


def test_batches_of_rows_keep_what_is_missing_and_share_no_memory(paths: dict[str, Path]) -> None:
    schema = tl.load_schema(f"{paths['masked']}.schema.json")
    rows = tl.TFRecordDataset(paths["masked"]).parse_example(schema).batch(3)
    same(join([batch["x"] for batch in rows]), COLUMNS["masked"])
    schema = tl.load_schema(f"{paths['ragged float64']}.schema.json")
    first, second, _ = (batch["x"] for batch in tl.read_batches(paths["ragged float64"], schema, 3))
    first.values[:] = -1
    second.values[:] = -2
    assert set(first.values) == {-1}


def test_a_file_keeps_the_parser_of_the_last_schema(paths: dict[str, Path]) -> None:
    file = tl.TFRecordFile(paths["l"])
    features: dict[str, Any] = {"x": "int64"}
    assert list(file.parse([1], features)) == ["x"]
    assert parser_of(file, features) is parser_of(file, {"x": "int64"})
    features["y"] = FixedLenFeature([], "int64", 7)
    assert list(file.parse([1], features)) == ["x", "y"]


def test_the_context_of_sequences_has_its_originals() -> None:
    lists = tl.FixedLenSequenceFeature([], "int64")
    schema = SequenceSchema(
        Schema({"t": FixedLenFeature([], "int64")}, {"t": Original("datetime64[s]", [])}),
        {"x": lists},
    )
    block = tl.encode_sequence_examples({"t": [5, 6]}, {"x": [[1], [2, 3]]})
    context, _, lengths = tl.SequenceExampleParser(*schema)(block)
    same(context["t"], np.array([5, 6], "M8[s]"))
    assert lengths["x"].tolist() == [1, 2]
    assert tl.SequenceExampleParser(*schema).parse_single(block[1])[0]["t"] == np.datetime64(6, "s")


@pytest.mark.parametrize("strings", ["ndarray", "BytesColumn"])
def test_the_first_misfit_of_an_original_is_named(tmp_path: Path, strings: Any) -> None:
    path = tmp_path / "x.tfrecord"
    tl.save(path, {"x": [1, 2, 3, 300, 5, 600]})
    schema = Schema({"x": FixedLenFeature([], "int64")}, {"x": Original("uint8", [])})
    batches = tl.TFRecordReader(path).batches(schema, 2, strings=strings)
    same(next(batches)["x"], np.array([1, 2], "u1"))
    for read in (lambda: next(batches), lambda: tl.TFRecordFile(path).parse([0, 3, 5], schema)):
        error = raised(InvalidArgumentError, read)
        assert (error.reason, error.key, error.index) == (Reason.UNREPRESENTABLE, "x", 3)
        assert error.source == str(path)
    (block,) = tl.TFRecordReader(path).blocks()
    with pytest.raises(InvalidArgumentError) as caught:
        tl.ExampleParser(schema, strings=strings).parse_batches(block, [0, 2, 3, 6])
    assert caught.value.index == 3


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    with tl.TFRecordWriter(path) as writer:
        for row in rows:
            writer.write_example(row)
    return path


def test_without_files_beside_the_data_the_first_records_are_the_schema(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [{"n": i, "tags": ["a"] * (i % 3)} for i in range(9)])
    batches = tl.read_batches(path, batch_size=5, label_key="n")
    (features, label), _ = batches
    assert label.tolist() == [0, 1, 2, 3, 4]
    assert features["tags"].to_list() == [[], [b"a"], [b"a"] * 2, [], [b"a"]]


@pytest.mark.parametrize(
    ("late", "reason"), [({"n": 1, "new": 2}, Reason.WRONG_KIND), ({}, Reason.MISSING)]
)
def test_a_record_unlike_the_sample_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: Any, reason: Reason
) -> None:
    of_two = FOR_BATCHES._replace(num_records=2)
    monkeypatch.setattr("tfrecord_lite.described.inferred.FOR_BATCHES", of_two)
    path = written(tmp_path / "a", [{"n": 1}, {"n": 2}, {"n": 3}, late])
    batches = pickle.loads(pickle.dumps(tl.read_batches(path, batch_size=1)))
    with pytest.raises(
        InvalidArgumentError, match="comes from a sample, the first records: pass schema"
    ) as caught:
        list(batches)
    assert (caught.value.reason, caught.value.index) == (reason, 3)


def test_a_schema_of_sequences_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with tl.TFRecordWriter(path) as writer:
        for i in range(5):
            writer.write_sequence_examples({"id": [i]}, {"x": [[i] * i]})
    schema = SequenceSchema({"id": FixedLenFeature([], "int64")}, {"x": tl.RaggedFeature("int64")})
    for given in (schema, None):
        found = [context["id"].tolist() for context, *_ in tl.read_batches(path, given, 2)]
        assert found == [[0, 1], [2, 3], [4]]
        assert len(list(tl.TFRecordReader(path).batches(given, 2))) == 3
    with pytest.raises(InvalidArgumentError, match="label_key is for Examples") as caught:
        tl.read_batches(path, schema, 2, label_key="id")
    assert caught.value.reason is Reason.UNSUPPORTED


def test_the_features_of_tensorflow_datasets_beside_the_data_are_used(tmp_path: Path) -> None:
    path = written(tmp_path / "d-train.tfrecord", [{"steps/action": [0.5] * 28}] * 2)
    action = {"type": "Tensor", "content": {"shape": [7], "dtype": "float32"}}
    inner = {"type": "FeaturesDict", "content": {"action": action}}
    steps = {"type": "Dataset", "content": {"feature": inner}}
    document = {"type": "FeaturesDict", "content": {"steps": steps}}
    (tmp_path / "features.json").write_text(json.dumps(document))
    for found in (tl.load(path), *tl.read_batches(path), *tl.TFRecordReader(path).batches()):
        assert found["steps/action"].shape == (2, None, 7)
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other" / "a", [{"steps/action": [0.5] * 28}])
    assert tl.load([path, other])["steps/action"].shape == (3, 28)  # they are of one folder
    (tmp_path / "features.json").write_text('{"of": "another program"}')
    assert tl.load(path)["steps/action"].shape == (2, 28)
    (tmp_path / "dataset_info.json").write_text("{}")
    raised(InvalidArgumentError, tl.load, path, match="not a schema")


def test_the_first_records_alone(tmp_path: Path) -> None:
    paths = [tmp_path / "0", tmp_path / "1"]
    for path in paths:
        tl.save(path, {"n": np.arange(5, dtype="u1"), "s": ["a", "b", "c", "d", "e"]})
    first = written(tmp_path / "first", [{"n": 1, "s": "ä"}, {"n": 2, "s": "b"}, {"m": 3}])

    for n in (1, 5, 7, 10, 99):
        same(tl.load(paths, num_records=n)["n"], np.array([0, 1, 2, 3, 4] * 2, "u1")[:n])
    same(tl.load(first, num_records=2)["n"], np.array([1, 2]))  # nothing after them is read
    assert tl.load(first, ["s"], num_records=2, text=True)["s"].tolist() == ["ä", "b"]
    assert tl.load(first, ["s"], num_records=1, text=["s"])["s"].tolist() == ["ä"]
    assert tl.load(first, ["s"], num_records=1)["s"].tolist() == ["ä".encode()]
    assert tl.load(first, ["n"], num_records=1, text=True)["n"].tolist() == [1]
    assert (
        tl.load(paths, text=True)["n"].tolist() == [0, 1, 2, 3, 4] * 2
    )  # what may be text is text
    raised(InvalidArgumentError, tl.load, first, text=["t"], match="'t' in text")
    raised(InvalidArgumentError, tl.load, first, num_records=0, match="num_records")

    assert tl.TFRecordReader(first).take(2) == list(tl.TFRecordReader(first))[:2]
    assert tl.TFRecordReader(first).take(0) == []
    file = tl.TFRecordFile(paths)
    assert [file.example(i)["s"].item() for i in (0, 6, -1)] == [b"a", b"b", b"e"]


def test_a_record_by_number_that_is_no_example_is_named(tmp_path: Path) -> None:
    paths = [written(tmp_path / "0", [{"n": 1}] * 3), tmp_path / "1"]
    with tl.TFRecordWriter(paths[1]) as writer:
        writer.write(b"no Example")
    error = raised(InvalidArgumentError, tl.TFRecordFile(paths).example, 3)
    assert (error.source, error.index, error.reason) == (str(paths[1]), 0, Reason.MALFORMED)


def test_a_stream_that_cannot_seek_needs_a_schema(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: Any) -> int:
            raise io.UnsupportedOperation("seek")

        tell = seek

    content = written(tmp_path / "a", [{"n": 1}, {"n": 2}]).read_bytes()
    for read in (tl.load, lambda pipe: list(tl.TFRecordReader(pipe).batches())):
        raised(InvalidArgumentError, read, Pipe(content), match="give schema")
    assert tl.load(Pipe(content), schema={"n": int})["n"].tolist() == [1, 2]
    assert tl.load(io.BytesIO(content))["n"].tolist() == [1, 2]
