"""After an error an iteration raises again: a retry never looks like the end of the data."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import itertools
import json
import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import reference
from tests.support.effort import pick
from tests.support.file_objects import LostConnection, Pipe
from tests.support.interrupts import interrupt_at
from tfrecord_lite import (
    FailedPreconditionError,
    FixedLenFeature,
    Reason,
    Schema,
    TFRecordFile,
    TFRecordReader,
    TFRecordWriter,
    encode_example,
    encode_sequence_example,
    load,
    load_tfds,
    tf_record_iterator,
)
from tfrecord_lite.messages import Example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAYS: dict[str, Callable[[TFRecordReader], Iterator[Any]]] = {
    "records": iter,
    "blocks": lambda reader: reader.blocks(),
    "blocks of two": lambda reader: reader.blocks(2),
    "examples": lambda reader: reader.examples(),
    "sequence examples": lambda reader: reader.sequence_examples(),
    "messages": lambda reader: reader.messages(Example),
}
ROWS = [encode_example({"n": i}) for i in range(5)]
SEQUENCES = [encode_sequence_example({"context": {"n": i}}) for i in range(5)]


def stream_for(way: str) -> bytes:
    return reference.encode(SEQUENCES if way == "sequence examples" else ROWS)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def drain(items: Iterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Take items up to an error."""
    taken: list[Any] = []
    try:
        taken.extend(items)
    except (OSError, ValueError, KeyboardInterrupt) as error:
        return taken, error
    return taken, None


def test_a_read_error_is_raised_again(way: str) -> None:
    stream = stream_for(way)
    lost = LostConnection(stream, len(stream) - 3, ConnectionResetError(104, "reset"))
    items = WAYS[way](TFRecordReader(lost))

    taken, error = drain(items)
    again = [drain(items) for _ in range(2)]

    assert taken
    assert isinstance(error, ConnectionResetError)
    assert again == [([], error)] * 2


def test_damage_is_raised_again(way: str) -> None:
    items = WAYS[way](TFRecordReader(io.BytesIO(stream_for(way)[:-1])))

    taken, error = drain(items)
    again = [drain(items) for _ in range(2)]

    assert taken
    assert getattr(error, "reason", None) is Reason.TRUNCATED
    assert again == [([], error)] * 2


@pytest.mark.parametrize("way", ["examples", "messages"])
def test_a_wrong_message_is_raised_again(way: str) -> None:
    block_bytes = reference.encode([*ROWS, b"\xff"]) + reference.encode(ROWS) * 20_000
    items = WAYS[way](TFRecordReader(io.BytesIO(block_bytes)))

    taken, error = drain(items)

    assert len(taken) == 5
    assert getattr(error, "reason", None) is Reason.MALFORMED
    assert drain(items) == ([], error)


def tfds_batches(path: Path) -> Iterator[Any]:
    """Load a file as the only one of a directory of TensorFlow Datasets."""
    info = {"name": "numbers", "splits": [{"name": "train", "shardLengths": ["5"]}]}
    number = {"pythonClassName": "x.Tensor", "tensor": {"dtype": "int64", "shape": {}}}
    features = {"pythonClassName": "x.FeaturesDict", "featuresDict": {"features": {"n": number}}}
    (path.parent / "dataset_info.json").write_text(json.dumps(info))
    (path.parent / "features.json").write_text(json.dumps(features))
    path.rename(path.parent / "numbers-train.tfrecord-00000-of-00001")
    return load_tfds(path.parent, "train", batch_size=2)


NUMBERS = Schema({"n": FixedLenFeature([], "int64")})
OTHER_WAYS: dict[str, Callable[[Path], Iterator[Any]]] = {
    "load in batches": lambda path: load(path, NUMBERS, batch_size=2),
    "load_tfds in batches": tfds_batches,
    "TFRecordFile": lambda path: iter(TFRecordFile(path)),
}


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_damage_is_raised_again_wherever_records_are_iterated(tmp_path: Path, way: str) -> None:
    path = tmp_path / "damaged.tfrecord"
    stream = bytearray(reference.encode(ROWS))
    stream[-5] ^= 1  # in the data of the last record
    path.write_bytes(stream)
    items = OTHER_WAYS[way](path)

    _, error = drain(items)
    again = [drain(items) for _ in range(2)]

    assert getattr(error, "reason", None) is Reason.DATA_CRC
    assert again == [([], error)] * 2


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # interrupted between opening and closing
@pytest.mark.parametrize("way", OTHER_WAYS)
def test_after_an_interrupt_no_iteration_has_ended(tmp_path: Path, way: str) -> None:
    path = tmp_path / "five.tfrecord"
    for step in itertools.count(0, pick(101, 7)):
        path.write_bytes(reference.encode(ROWS))
        items = OTHER_WAYS[way](path)
        gc.collect()  # an interrupt while generators of the last step are collected would be lost
        with interrupt_at(step) as interrupt:
            for _ in items:
                pass
        if not interrupt.came:
            break
        with contextlib.suppress(KeyboardInterrupt, FailedPreconditionError):
            next(items)
        with pytest.raises(FailedPreconditionError, match="begin another one"):
            next(items)
    assert step > 101


@pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="no such pipes here")
def test_a_pipe_that_does_not_wait_has_not_ended() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with open(read_end, "rb", buffering=0) as file:  # noqa: PTH123
        os.write(write_end, reference.encode([b"one"]))
        records = iter(TFRecordReader(file, ""))
        assert next(records) == b"one"
        for _ in range(3):
            with pytest.raises(BlockingIOError):
                next(records)
    os.close(write_end)


# A dropped generator is entered once more, and an interrupt then is lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_an_interrupt_nothing_looks_like_the_end(way: str) -> None:
    stream = stream_for(way)
    whole = len(list(WAYS[way](TFRecordReader(io.BytesIO(stream)))))
    for step in itertools.count(0, pick(7, 1)):
        items = WAYS[way](TFRecordReader(io.BytesIO(stream)))
        taken: list[Any] = []
        with interrupt_at(step) as outcome:
            taken.extend(items)
        if not outcome.came:
            break
        rest, error = drain(items)
        if error is None:  # the interrupt came after the end, or before the start
            assert len(taken) + len(rest) in (0, whole)
        else:
            assert isinstance(error, FailedPreconditionError)
            assert error.reason is Reason.CLOSED
            assert drain(items)[1] is error
    assert step > 20
    assert len(taken) == whole


def test_after_an_interrupt_the_iterator_of_one_file_is_reopened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(reference.encode(ROWS))
    for step in itertools.count():
        items = tf_record_iterator(path)
        taken: list[bytes] = []
        with interrupt_at(step) as outcome:
            for item in items:
                taken.append(item)  # noqa: PERF402 - what was taken before the interrupt counts
        if not outcome.came:
            break
        rest, error = drain(items)
        if error is not None:
            assert isinstance(error, FailedPreconditionError)
            items.reopen()
            rest += list(items)
        assert taken + rest == ROWS
        items.close()
    assert step > 20


def test_an_error_keeps_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(reference.encode(ROWS)[:-1])
    gc.collect()
    gc.disable()
    try:
        reader = TFRecordReader(path)
        items = iter(reader)
        _, error = drain(items)
        assert error is not None
        assert not reader._open_streams
    finally:
        gc.enable()


def test_a_forgotten_or_closed_iteration_closes_its_file(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(stream_for(way) * 2)
    reader = TFRecordReader(path)
    for end in (lambda items: items.close(), lambda _: None):
        items: Any = WAYS[way](reader)
        next(items)
        end(items)
        del items
        assert not reader._open_streams


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_iteration_is_not_copied(tmp_path: Path, way: str, copied: Callable[[Any], Any]) -> None:
    path = tmp_path / "a"
    with TFRecordWriter(path) as writer:
        writer.write(b"one")
    for items in (WAYS[way](TFRecordReader(path)), tf_record_iterator(path)):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            copied(items)


def test_a_pipe_is_read_once_more_only_by_an_error() -> None:
    items = iter(TFRecordReader(Pipe(reference.encode(ROWS))))

    assert list(items) == ROWS
    assert list(items) == []
