"""Iterations keep no file open after an error, after close, or when they are forgotten."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import reference
from tfrecord_lite import TFRecordReader, encode_example, encode_sequence_example
from tfrecord_lite.errors import DataLossError
from tfrecord_lite.messages import Example

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


def test_an_error_that_is_kept_keeps_no_file_open(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(stream_for(way)[:-1])
    reader = TFRecordReader(path)

    with pytest.raises(DataLossError):
        list(WAYS[way](reader))
    assert not reader._open_streams


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
