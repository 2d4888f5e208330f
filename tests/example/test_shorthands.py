"""A dtype, or a dtype and a shape, for a FixedLenFeature: wherever features are taken, except in tf."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecord_lite as tfr
from tests.support.errors import raised
from tfrecord_lite import tf

SHORT: dict[str, Any] = {"x": int, "v": ("float32", (3,)), "s": bytes}
LONG = {
    "x": tfr.FixedLenFeature([], "int64"),
    "v": tfr.FixedLenFeature([3], "float32"),
    "s": tfr.FixedLenFeature([], "string"),
}
COLUMNS = {"x": [1, 2], "v": np.ones((2, 3), np.float32), "s": ["a", "b"]}
CONTEXT: tuple[dict[str, Any], dict[str, Any]] = {"n": int}, {"t": int, "v": (float, 2)}
LONG_CONTEXT = (
    {"n": tfr.FixedLenFeature([], "int64")},
    {
        "t": tfr.FixedLenSequenceFeature([], "int64"),
        "v": tfr.FixedLenSequenceFeature([2], "float32"),
    },
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfr.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_examples(COLUMNS)
    return tmp_path / "x.tfrecord"


def block_of(path: Path) -> tfr.Block:
    return next(iter(tfr.TFRecordReader(path).blocks()))


def of_file(path: Path, features: Any) -> Any:
    with tfr.TFRecordFile(path) as file:
        return file.parse([1, 0], features)


ENTRIES: dict[str, Callable[[Path, Any], Any]] = {
    "parse_example": lambda path, some: tfr.parse_example(block_of(path), some),
    "parse_single_example": lambda path, some: tfr.parse_single_example(block_of(path)[1], some),
    "ExampleParser": lambda path, some: tfr.ExampleParser(some)(block_of(path)),
    "a pickled parser": lambda path, some: pickle.loads(pickle.dumps(tfr.ExampleParser(some)))(
        block_of(path)
    ),
    "read_batches": lambda path, some: list(tfr.read_batches(path, some, 1)),
    "Dataset.parse_example": lambda path, some: list(
        tfr.TFRecordDataset(path).batch(2).parse_example(some)
    ),
    "TFRecordFile.parse": of_file,
    "Schema": lambda path, some: tfr.parse_example(block_of(path), tfr.Schema(some)),
    "load": lambda path, some: tfr.load(path, schema=tfr.Schema(some)),
    "encode_examples": lambda _, some: tfr.encode_examples(COLUMNS, some).to_list(),
    "verify": lambda path, some: str(tfr.verify(path, schema=some)),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_dtype_is_taken_wherever_features_are(path: Path, name: str) -> None:
    entry = ENTRIES[name]
    assert repr(entry(path, SHORT)) == repr(entry(path, LONG))


def test_one_family_of_data_sets_is_the_same_with_either(path: Path) -> None:
    """The state of one resumes the other: the fingerprint of their features is one."""
    short, long = (iter(tfr.read_batches(path, some, 1)) for some in (SHORT, LONG))
    next(short)
    long.load_state_dict(short.state_dict())
    assert next(long)["x"].tolist() == [2]


def test_rows_are_checked_against_shorthands(tmp_path: Path) -> None:
    with tfr.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_example({"x": 1}, {"x": float})
        with pytest.raises(tfr.errors.InvalidArgumentError, match="x"):
            writer.write_example({"x": [1, 2]}, {"x": float})
    (row,) = tfr.TFRecordReader(tmp_path / "x.tfrecord").examples()
    assert row["x"].dtype == np.float32


def test_sequences_take_them_for_features_and_for_steps() -> None:
    lists = {"t": [[1, 2], [3]], "v": [np.ones((2, 2), np.float32), np.ones((1, 2), np.float32)]}
    block = tfr.encode_sequence_examples({"n": [2, 1]}, lists)
    for parse in (
        lambda *some: tfr.parse_sequence_example(block, *some),
        lambda *some: tfr.parse_single_sequence_example(block[0], *some),
        lambda *some: pickle.loads(pickle.dumps(tfr.SequenceExampleParser(*some)))(block),
    ):
        assert repr(parse(*CONTEXT)) == repr(parse(*LONG_CONTEXT))


def test_tf_is_as_strict_as_tensorflow(path: Path) -> None:
    block = block_of(path).to_list()
    for call in (
        lambda: tf.io.parse_example(block, SHORT),
        lambda: tf.io.parse_single_example(block[0], SHORT),
        lambda: tf.io.parse_sequence_example(block, *CONTEXT),
        lambda: tf.io.parse_single_sequence_example(block[0], *CONTEXT),
        lambda: tf.data.experimental.make_batched_features_dataset(str(path), 2, SHORT),
        lambda: tf.compat.v1.parse_example(block, SHORT),
    ):
        raised(ValueError, call, match="not a feature specification")


def test_a_parser_is_shown_in_a_line() -> None:
    many: dict[str, Any] = {f"feature number {i}" * 3: int for i in range(500)}
    assert repr(tfr.ExampleParser(SHORT)) == "ExampleParser(3 features: 'x', 'v', 's')"
    assert len(repr(tfr.ExampleParser(many))) < 120
    found = repr(tfr.SequenceExampleParser(*CONTEXT))
    assert found == "SequenceExampleParser(1 context feature: 'n'; 2 feature lists: 't', 'v')"


NOT_FEATURES: list[Any] = [["x"], {"x"}, "x", b"x", ("x", int), int, 3.5]
TAKERS: list[Any] = [
    ENTRIES["parse_example"],
    ENTRIES["parse_single_example"],
    lambda path, some: tfr.parse_sequence_example(block_of(path), some),
]


@pytest.mark.parametrize("take", TAKERS)
@pytest.mark.parametrize("features", NOT_FEATURES, ids=repr)
def test_features_are_a_dict(path: Path, take: Callable[[Path, Any], Any], features: Any) -> None:
    with pytest.raises(TypeError, match="features must be a dict of names to specifications"):
        take(path, features)


@pytest.mark.parametrize("take", TAKERS)
def test_sequences_have_schemas_in_two_parts(path: Path, take: Callable[[Path, Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"parse_sequence_example\(records, \*schema\)"):
        take(path, tfr.SequenceSchema({"x": int}))
