"""Records of another type than asked for: examples(), sequence_examples(), load, verify, ..."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tfrecord_lite as tl
from tests.cli.samples import event, feature, features, flower, ranking, sequence, write
from tests.support.errors import raised
from tfrecord_lite.errors import InvalidArgumentError, Reason
from tfrecord_lite.messages import Example, ExampleListWithContext, SequenceExample

EVENTS = "TensorBoard events, not {}s; tfrecord_lite.apps.events.read_events reads them"
LISTS = ".messages(tfrecord_lite.messages.ExampleListWithContext)"
NO_FEATURES = Example(features=features()).SerializeToString()
ALONE = ExampleListWithContext(
    examples=[Example(features=features(relevance=feature(1)))]
).SerializeToString()
CONTEXT_ONLY = SequenceExample(context=features(id=feature(7))).SerializeToString()


def raised_by(call: Callable[[], Any]) -> InvalidArgumentError:
    return raised(InvalidArgumentError, call)


@pytest.mark.parametrize("n_empty", [0, 2])
@pytest.mark.parametrize(("record", "said"), [
    (sequence(2), "SequenceExamples, not Examples; read them with sequence_examples()"),
    (event(1), EVENTS.format("Example")), (ranking(2), LISTS), (ALONE, LISTS),
    (b"a line of text", "the records look like text, not like Examples"),
])  # fmt: skip
def test_examples_of_other_records(tmp_path: Path, record: bytes, said: str, n_empty: int) -> None:
    path = write(tmp_path / "a", [b""] * n_empty + [record] * 3)
    rows: list[Any] = []
    error = raised_by(lambda: rows.extend(tl.TFRecordReader(path).examples()))
    assert (error.reason, error.source, error.index) == (Reason.MALFORMED, str(path), n_empty)
    assert said in (error.detail or "")
    assert rows == [{}] * n_empty


@pytest.mark.parametrize("feature", [
    tl.FixedLenSequenceFeature([], "int64", allow_missing=True), tl.VarLenFeature(bytes),
    tl.RaggedFeature(int),
])  # fmt: skip
def test_batches_without_a_value_of_other_records(tmp_path: Path, feature: Any) -> None:
    path = write(tmp_path / "a", [sequence(i) for i in range(4)])
    empty = write(tmp_path / "b", [b"", NO_FEATURES] * 2)
    for batches in (
        tl.read_batches(path, {"word": feature}, 3),
        tl.read_batches(path, {"word": feature}, 3, shuffle=True, seed=1),
        tl.TFRecordReader(path).batches({"word": feature}, 3),
    ):
        error = raised_by(partial(list, batches))
        assert (error.reason, error.source) == (Reason.MALFORMED, str(path))
        assert "batches of them with read_batches or parse_sequence_example" in (error.detail or "")
    (key,) = tl.decode_sequence_example(sequence(0))["context"]
    assert (
        len(list(tl.read_batches(path, {key: tl.VarLenFeature(int)}, 3))) == 2
    )  # may be what is meant
    assert len(list(tl.read_batches(empty, {"word": feature}, 3))) == 2


@pytest.mark.parametrize(
    ("record", "said"), [(event(1), EVENTS.format("SequenceExample")), (ranking(2), LISTS)]
)
def test_sequence_examples_of_other_records(tmp_path: Path, record: bytes, said: str) -> None:
    path = write(tmp_path / "a", [record] * 3)
    error = raised_by(lambda: list(tl.TFRecordReader(path).sequence_examples()))
    assert (error.reason, error.source, error.index) == (Reason.MALFORMED, str(path), 0)
    assert said in (error.detail or "")


def test_sequences_are_noticed_after_one_without_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [CONTEXT_ONLY, sequence(1)])
    error = raised_by(lambda: list(tl.TFRecordReader(path).examples()))
    assert (error.reason, error.index) == (Reason.MALFORMED, 1)


@pytest.mark.parametrize("first", [b"", NO_FEATURES, b"\x1a\x00" + flower(1)])
def test_examples_need_not_begin_with_features(tmp_path: Path, first: bytes) -> None:
    path = write(tmp_path / "a", [first, flower(0), flower(1)])
    assert [row.get("label") for row in tl.TFRecordReader(path).examples()][1:] == [[0], [1]]
    assert len(list(tl.TFRecordReader(path).sequence_examples())) == 3
    assert tl.summarize(path).n_records == 3
    assert tl.load(path)["label"].shape[0] == 3
    assert tl.verify(path, messages=True).is_sound


def test_events_are_not_valid_examples(tmp_path: Path) -> None:
    (file,) = tl.verify(write(tmp_path / "a", [event(1)] * 3), messages=True).files
    assert not file.is_sound
    assert [error.index for error in file.message_errors] == [0, 1, 2]
    assert EVENTS.format("Example") in (file.message_errors[0].detail or "")
